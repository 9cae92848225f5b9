"""Rows to learn from come in a random order, whatever order they lie in, and each of them once."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris

import likelier as lk
from likelier.comparison.cross_validate import grow_training_rows
from likelier.estimators.online import shuffle as shuffling

Online = lk.OnlineClassifier


def bits(model):
    """All that a model has learned, as bytes."""
    return {key: np.asarray(value).tobytes() for key, value in model._model.state().items()}


def sorted_rows(n=3000, K=3, p=4, seed=0):
    """Classes one after another, about means of their own."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, K, n))
    return rng.normal(size=(n, p)) + 1.5 * rng.normal(size=(K, p))[y], y


# ---- in memory -------------------------------------------------------------------------------------
def test_rows_sorted_by_class_are_learned_as_others_are():
    X, y = load_iris(return_X_y=True)
    assert Online(random_state=0).fit(X, y).score(X, y) > 0.85
    assert Online(shuffle=False).fit(X, y).score(X, y) < 0.4  # as they lie


@pytest.mark.parametrize("optimizer", ["adagrad", "ftrl", "sgd"])
@pytest.mark.parametrize("K", [2, 5])
def test_sorted_and_shuffled_rows_give_about_the_same(optimizer, K):
    X, y = sorted_rows(K=K)
    order = np.random.default_rng(1).permutation(len(y))
    found = Online(optimizer=optimizer, random_state=0).fit(X, y).score(X, y)
    best = Online(optimizer=optimizer, shuffle=False).fit(X[order], y[order]).score(X, y)
    assert found > best - 0.03


def test_other_calls_keep_the_order():
    X, y = sorted_rows(200)
    rows = [dict(enumerate(x)) for x in X.tolist()]
    one = Online(bits=8, random_state=3)
    for x, label in zip(rows, y.tolist(), strict=True):
        one.learn_one(x, label)
    many = Online(bits=8).partial_fit(X, y, classes=[0, 1, 2])
    lain = Online(bits=8, shuffle=False).fit(X, y)
    assert bits(many) == bits(lain)
    assert one.classes_.tolist() == [0, 1, 2]
    by_stream = Online(bits=8)
    lk.progressive(by_stream, zip(rows, y.tolist(), strict=True))
    assert bits(by_stream) == bits(one)


def test_a_seed_says_the_order_whatever_rows_come_as(tmp_path):
    X, y = sorted_rows(500)
    names = list("abcd")
    frame = pd.DataFrame(X, columns=names)
    frame.assign(y=y).to_parquet(tmp_path / "t.parquet")
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False, float_format="%.17g")

    def fit(*rows):
        return Online(bits=8, random_state=5, passes=2).fit(*rows)

    whole = fit(frame, y)
    ways = [
        (pl.from_pandas(frame), y),
        (pa.table(frame), y),
        (frame.to_dict("records"), y),
        (lk.scan(tmp_path / "t.parquet", target="y"),),
        (lk.scan(tmp_path / "t.csv", target="y"),),
    ]
    for rows in ways:
        assert bits(fit(*rows)) == bits(whole)
    assert bits(fit(X, y)) == bits(fit(csr_array(X), y))
    assert bits(Online(bits=8, random_state=6, passes=2).fit(frame, y)) != bits(whole)


def test_every_row_is_learned_once_from_blocks_and_pools(monkeypatch, tmp_path):
    """Where there are too many cells to shuffle all at once: the same rows, each once a pass."""
    monkeypatch.setattr(shuffling, "POOL", 1000)
    X, y = sorted_rows(4321)
    w = np.arange(4321) % 3 / 2
    pq.write_table(
        pa.table({"a": X[:, 0], "b": X[:, 1], "y": y, "w": w}), tmp_path / "t.parquet", row_group_size=500
    )
    for passes in (1, 2):
        model = Online(passes=passes, random_state=0)
        for rows in ((X, y, w), (csr_array(X), y, w), (lk.scan(tmp_path / "t.parquet", "y", weight="w"),)):
            model.fit(*rows)
            assert model.steps_ == passes * np.count_nonzero(w)
            np.testing.assert_allclose(model.class_count_, passes * np.bincount(y, w))


def test_large_tables_are_mixed_from_all_over(monkeypatch):
    monkeypatch.setattr(shuffling, "POOL", 20_000)
    X, y = sorted_rows(30_000)
    order = np.random.default_rng(1).permutation(len(y))
    best = Online(shuffle=False).fit(X[order], y[order]).score(X, y)
    assert Online(random_state=0).fit(X, y).score(X, y) > best - 0.02
    assert Online(random_state=0).fit(csr_array(X), y).score(X, y) > best - 0.02


def test_skipped_cells_are_counted_once():
    X, y = sorted_rows(100)
    X[::10, 1] = np.nan
    assert Online(random_state=0, passes=2).fit(X, y).skipped_ == 20
    assert Online(shuffle=False, passes=2).fit(X, y).skipped_ == 20


# ---- files and clusters ----------------------------------------------------------------------------
@pytest.mark.parametrize("group", [200, 2000, 40_000])
def test_sorted_files_give_about_the_accuracy_of_shuffled_ones(tmp_path, monkeypatch, group):
    """Parts that hold one class alone, and a pool that holds a part of the rows."""
    monkeypatch.setattr(shuffling, "POOL", 60_000)
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", group * 4 * 8)
    X, y = sorted_rows(40_000)
    frame = pd.DataFrame(X, columns=list("abcd"))
    table = frame.assign(y=y)
    table.to_parquet(tmp_path / "sorted.parquet", row_group_size=group)
    table.sample(frac=1, random_state=0).to_parquet(tmp_path / "mixed.parquet", row_group_size=group)
    found, best = (
        Online(random_state=0).fit(lk.scan(tmp_path / f"{name}.parquet", target="y")).score(frame, y)
        for name in ("sorted", "mixed")
    )
    assert found > best - 0.02


def test_several_sorted_files(tmp_path):
    """A file for each class."""
    X, y = load_digits(return_X_y=True)
    frame = pd.DataFrame(X).rename(columns=lambda j: f"c{j}")
    for k in range(10):
        frame[y == k].assign(y=k).to_csv(tmp_path / f"{k}.csv", index=False)
    source = lk.scan(str(tmp_path / "*.csv"), target="y")
    assert Online(random_state=0).fit(source).score(frame, y) > 0.9


# ---- what it is asked by ---------------------------------------------------------------------------
@pytest.mark.parametrize("shuffle", [None, "yes", 2])
def test_shuffle_is_true_or_false(shuffle):
    with pytest.raises(ValueError, match="shuffle"):
        Online(shuffle=shuffle).fit([[1.0], [2.0]], [0, 1])


def test_settings_of_fit_are_kept_in_files(tmp_path):
    model = Online(passes=2, shuffle=False, random_state=7).fit([[1.0], [2.0]], [0, 1])
    lk.save(model, tmp_path / "m.lk")
    assert lk.load(tmp_path / "m.lk").get_params() == model.get_params()
    model.set_params(random_state=np.random.RandomState(0))
    with pytest.raises(ValueError, match="random_state"):
        lk.save(model, tmp_path / "n.lk")
    assert lk.average([model, model]).get_params() == model.get_params()


def test_a_comparison_does_not_depend_on_the_order_of_rows():
    """Sorted by class or not, online learners are near what they are on shuffled rows."""
    X, y = load_iris(return_X_y=True)
    given = {"own": Online(random_state=0, passes=5), "as they lie": Online(shuffle=False, passes=5)}
    found = lk.compare(X, y, given)
    for name in given:
        assert found.result(name).mean("error") < 0.15
    curve = grow_training_rows(found, list(given), sizes=[30, 90], metric="error")
    assert (curve.mean[:, -1] < 0.2).all()


def test_parts_of_a_cluster_that_hold_one_class_alone_are_said():
    X, y = sorted_rows(600)
    order = np.random.default_rng(1).permutation(len(y))

    def parts(rows):
        return da.from_array(X[rows], chunks=(50, -1)), da.from_array(y[rows], chunks=50)

    with pytest.warns(lk.DegenerateWarning, match=r"1[012] of 12 parts have rows of one class alone"):
        Online(random_state=0, bits=8).fit(*parts(np.arange(600)))
    model, again = (Online(random_state=0, bits=8).fit(*parts(order)) for _ in range(2))
    assert bits(model) == bits(again)
    assert bits(Online(random_state=1, bits=8).fit(*parts(order))) != bits(model)
