"""What holds for OnlineClassifier, whatever rows come as."""

import copy
import math
import pickle
import string
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from likelier.saving import online as kept
from likelier.streams.model import few_slots

Online = lk.OnlineClassifier
# FTRL and SGD know no units, and values here are of any size.
pytestmark = pytest.mark.filterwarnings("ignore::likelier.ClippedWarning")
WAYS = [
    Online(bits=8),
    Online(optimizer="ftrl", bits=8, l1=0.01),
    Online(optimizer="sgd", bits=8, half_life=50),
    Online("hinge", bits=8, interactions=[("a", "w")]),
    Online("modified_huber", bits=8, class_weight="balanced"),
    Online(bits=8, class_weight={"x": 2.0}),
]
ways = st.sampled_from(WAYS)


def bits(model):
    """All that a model has learned, as bytes."""
    return {key: np.asarray(value).tobytes() for key, value in model._model.state().items()}


@st.composite
def tables(draw, labels="xyz"):
    """Columns of every type, with gaps, and labels and weights."""
    n = draw(st.integers(1, 12))
    some = {
        "a": st.floats(-1e3, 1e3) | st.none(),
        "i": st.integers(-(2**40), 2**40),
        "w": st.sampled_from(["", "u", "vwxyz", "ä ö"]) | st.none(),
        "b": st.booleans(),
        "t": st.booleans() | st.none(),
    }
    columns = {name: draw(st.lists(of, min_size=n, max_size=n)) for name, of in some.items()}
    y = draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
    w = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n))
    return columns, y, np.array(w)


def dicts(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


SCHEMA = pa.schema({"a": pa.float64(), "i": pa.int64(), "w": pa.string(), "b": pa.bool_(), "t": pa.bool_()})


def arrow(columns):
    return pa.table(columns, schema=SCHEMA)


def pandas_arrow(columns):
    return arrow(columns).to_pandas(types_mapper=pd.ArrowDtype)


def pandas_objects(columns):
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def categorical(columns):
    """Words as categories, which lie in another order."""
    frame = pl.from_arrow(arrow(columns))
    return frame.with_columns(pl.col("w").cast(pl.Enum(["vwxyz", "u", "ä ö", ""])))


FRAMES = [
    arrow,
    lambda columns: arrow(columns).to_batches()[0],
    lambda columns: pl.from_arrow(arrow(columns)),
    pandas_arrow,
    categorical,
]


# ---- one row or many -----------------------------------------------------------------------------------
@given(ways, tables())
def test_many_rows_are_one_row_after_the_other_bit_for_bit(estimator, table):
    columns, y, w = table
    one = clone(estimator).partial_fit([{}], ["x"], classes=["x", "y", "z"], sample_weight=[0.0])
    for x, label, weight in zip(dicts(columns), y, w, strict=True):
        one.learn_one(x, label, weight)
    many = clone(estimator).partial_fit(dicts(columns), y, ["x", "y", "z"], w)
    assert bits(one) == bits(many)
    assert one.mistakes_ == many.mistakes_
    P = many.predict_proba(dicts(columns))
    assert [list(one.predict_proba_one(x).values()) for x in dicts(columns)] == P.tolist()
    assert [one.predict_one(x) for x in dicts(columns)] == many.predict(dicts(columns)).tolist()


@given(st.sampled_from(FRAMES), tables())
def test_a_frame_is_a_list_of_dicts_bit_for_bit(frame, table):
    columns, y, w = table
    model = Online(bits=8, interactions=[("a", "w"), ("w", "b")])
    by_dicts = clone(model).partial_fit(dicts(columns), y, ["x", "y", "z"], w)
    by_frame = clone(model).partial_fit(frame(columns), y, ["x", "y", "z"], w)
    assert bits(by_dicts) == bits(by_frame)
    np.testing.assert_array_equal(
        by_dicts.predict_proba(dicts(columns)), by_frame.predict_proba(frame(columns))
    )


@given(tables())
def test_plain_pandas_is_its_records(table):
    columns, y, _ = table
    plain = pd.DataFrame({"a": pd.Series(columns["a"], dtype=float), "i": columns["i"], "w": columns["w"]})
    mixed = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    for frame in (plain, mixed[["a", "w"]].assign(t=mixed["t"].astype(object))):
        by_frame = Online(bits=8).partial_fit(frame, y, list("xyz"))
        rows = frame.to_dict("records")
        rows = [
            {k: None if k in "wt" and v is not None and v != v else v for k, v in x.items()} for x in rows
        ]
        assert bits(by_frame) == bits(Online(bits=8).partial_fit(rows, y, list("xyz")))


@given(st.integers(0, 2**32 - 1))
def test_dense_and_sparse_rows_are_dicts_by_number(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 5)) * (rng.random((20, 5)) < 0.6)
    y = rng.integers(0, 3, 20)
    by_dicts = Online(bits=6).partial_fit([dict(enumerate(x)) for x in X.tolist()], y, [0, 1, 2])
    for rows in (X, np.asfortranarray(X), X[::-1][::-1], csr_array(X), X.tolist()):
        assert bits(Online(bits=6).partial_fit(rows, y, [0, 1, 2])) == bits(by_dicts)
    single = Online(bits=6, random_state=0).fit(X.astype(np.float32), y)
    sparse = Online(bits=6, random_state=0).fit(csr_array(X.astype(np.float32)), y)
    assert bits(single) == bits(sparse)


def test_an_array_of_objects_is_dicts_by_number():
    X = np.array([[1.5, "u", True], [None, "v", False], [2.0, None, True]], dtype=object)
    y = [0, 1, 1]
    by_dicts = Online(bits=8, random_state=0).fit([dict(enumerate(x)) for x in X.tolist()], y)
    assert bits(Online(bits=8, random_state=0).fit(X, y)) == bits(by_dicts)
    words = np.array([["u", "1"], ["v", "2"], ["u", "1"]])
    assert Online(bits=8).fit(words, y).weight_of("1", "2") != {1: 0.0}


def test_batches_of_any_size_give_the_same_bits(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    whole = Online(bits=10, shuffle=False).fit(X, y)
    monkeypatch.setattr("likelier.estimators.online.rows.ROWS", 7)
    for rows in (X, csr_array(X), [dict(enumerate(x)) for x in X.tolist()]):
        assert bits(Online(bits=10, shuffle=False).fit(rows, y)) == bits(whole)
        again = Online(bits=10).partial_fit(X[:100], y[:100], [0, 1]).partial_fit(X[100:], y[100:])
        assert bits(again) == bits(whole)
    np.testing.assert_array_equal(whole.predict_proba(X), whole.predict_proba(csr_array(X)))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_frames(suffix, tmp_path):
    rng = np.random.default_rng(1)
    words = rng.choice(["u", "v", "w"], 500)
    frame = pl.DataFrame(
        {
            "n": rng.normal(size=500),
            "w": words,
            "b": rng.random(500) < 0.5,
            "y": rng.choice(["no", "yes"], 500),
        }
    ).with_columns(pl.when(pl.col("n") > 1).then(None).otherwise(pl.col("b")).alias("t"))
    path = tmp_path / f"rows.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    source = lk.scan(path, target="y")
    frame = pl.read_csv(path) if suffix == "csv" else frame
    model = Online(bits=8, random_state=0).fit(source)
    by_frame = Online(bits=8, random_state=0).fit(frame.drop("y"), frame["y"])
    assert bits(model) == bits(by_frame)
    np.testing.assert_array_equal(model.predict_proba(source), by_frame.predict_proba(frame.drop("y")))
    assert model.score(source) == by_frame.score(frame.drop("y"), frame["y"])
    again = Online(bits=8).partial_fit(source, classes=["no", "yes"])
    assert bits(again) == bits(Online(bits=8, shuffle=False).fit(source))


# ---- what an answer is -----------------------------------------------------------------------------------
@given(ways, tables())
def test_answers_change_nothing_and_are_probabilities(estimator, table):
    columns, y, w = table
    model = clone(estimator).partial_fit(dicts(columns), y, list("xyz"), w)
    before = bits(model)
    P = model.predict_proba(arrow(columns))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (P >= 0).all()
    for x in dicts(columns):
        model.predict_one(x)
        model.predict_proba_one(x)
    model.decision_function(dicts(columns))
    assert bits(model) == before


def test_columns_go_by_name():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "w": ["u", "v", "u"]})
    model = Online(bits=8).fit(frame, [0, 1, 1])
    np.testing.assert_allclose(
        model.predict_proba(frame.select("w", "a", pl.lit("other").alias("new"))),
        model.predict_proba(frame),
    )
    assert model.predict_proba(frame.select("w")).shape == (3, 2)
    assert model.feature_names_in_.tolist() == ["a", "w"]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(np.ones((2, 2)))


def test_classes_grow_in_the_order_in_which_they_come():
    model = Online(bits=8)
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    for label in ("b", "a", "c", "a"):
        model.learn_one({"w": label}, label)
        assert model.predict_one({"w": label}) == label
    assert model.classes_.tolist() == ["b", "a", "c"]
    assert list(model.predict_proba_one({})) == ["b", "a", "c"]
    assert model.class_count_.tolist() == [1, 2, 1]
    assert model.steps_ == 4
    np.testing.assert_array_equal(
        model.predict_proba([{"w": "a"}])[0], list(model.predict_proba_one({"w": "a"}).values())
    )


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([3, 1, 2], "i"),
        (["b", "a"], "U"),
        ([True, False], "b"),
        ([1, "a"], "O"),
        ([np.int8(1), np.int64(2)], "i"),
        ([0, 2**63, 2**64 - 1], "u"),
    ],
)
def test_labels_are_of_any_plain_kind(labels, kind):
    model = Online(bits=4)
    for label in labels:
        model.learn_one({}, label)
    assert model.classes_.dtype.kind == kind
    assert model.classes_.tolist() == labels
    assert type(model.predict_one({})) in (int, str, bool)


def test_it_learns():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    assert Online(passes=5).fit(X[order], y[order]).score(X, y) > 0.9
    words = [
        {"w": string.ascii_lowercase[label], "noise": float(x[0])} for x, label in zip(X, y, strict=True)
    ]
    model = Online(bits=10)
    for i in order:
        model.learn_one(words[i], int(y[i]))
    assert model.mistakes_ < 30
    assert model.predict(words).tolist() == y.tolist()


def test_interactions_tell_apart_what_no_sum_can():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 2, (2000, 2))
    rows = [{"user": f"u{a}", "ad": f"a{b}"} for a, b in pairs]
    y = pairs[:, 0] ^ pairs[:, 1]
    assert Online(interactions=[("user", "ad")]).fit(rows, y).score(rows, y) == 1
    assert Online().fit(rows, y).score(rows, y) < 0.8


def test_a_half_life_follows_a_drift():
    rng = np.random.default_rng(0)
    x = rng.normal(size=6000)
    noisy = rng.random(6000) < 0.2
    noise = noisy[4000:].sum()
    y = np.where(np.arange(6000) < 4000, x > 0, x < 0) ^ noisy
    rows = [{"x": v} for v in x.tolist()]
    late = {}
    for half_life in (None, 500):
        model = Online(half_life=half_life, bits=4, shuffle=False).fit(rows[:4000], y[:4000])
        before = model.mistakes_
        late[half_life] = model.partial_fit(rows[4000:], y[4000:]).mistakes_ - before
    assert late[500] - noise < 0.8 * (late[None] - noise)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("settings", [{}, {"normalised": False}, {"l2": 0.01}, {"invariant": False}])
@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
def test_a_feature_that_does_not_come_again_counts_half_after_each_half_life(optimizer, settings, K):
    model = Online(bits=12, optimizer=optimizer, half_life=10, **settings)
    for i in range(100):
        model.learn_one({f"w{i % K}": 1.0}, i % K)
    before = {k: model.weight_of(f"w{k}") for k in range(K)}
    for turn in range(1, 301):  # past the point where sums are scaled down
        model.learn_one({"other": turn % 2, "n": 1.0}, turn % K)
        if turn % 10 == 0 or turn < 5:
            for k in range(K):
                for label, weight in model.weight_of(f"w{k}").items():
                    assert weight == pytest.approx(
                        before[k][label] * 2 ** (-turn / 10), rel=1e-5, abs=1e-30
                    )
    copied = pickle.loads(pickle.dumps(model))
    model.learn_one({"w0": 1.0}, 0)
    assert bits(copied.learn_one({"w0": 1.0}, 0)) == bits(model)


@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
def test_a_feature_of_every_row_does_not_fade(optimizer):
    """It is taught at each of them: without a slope its weight stays."""
    model = Online("hinge", optimizer=optimizer, half_life=5, bits=6)
    for i in range(400):
        model.learn_one({"a": 1.0 if i % 2 else -1.0}, i % 2)
    before = model.weight_of("a")[1]
    for i in range(100):
        model.learn_one({"a": 5.0 if i % 2 else -5.0}, i % 2)  # far on the right side
    after = model.weight_of("a")[1]
    assert before > 0.5
    assert after == pytest.approx(before / 5, rel=1e-4)  # what is said of the largest value stays


def test_rare_classes_weigh_more_when_balanced():
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.05).astype(int)
    rows = [{"x": v} for v in (rng.normal(size=3000) + y).tolist()]
    plain, balanced = Online().fit(rows, y), Online(class_weight="balanced").fit(rows, y)
    assert balanced.predict(rows).mean() > 5 * plain.predict(rows).mean()
    heavy = Online(class_weight={1: 19.0}).fit(rows, y)
    assert heavy.predict(rows).mean() > 5 * plain.predict(rows).mean()


def test_a_weight_of_nothing_changes_nothing():
    model = Online(bits=4).fit([{"a": 1}, {"a": 2}], [0, 1])
    before = bits(model)
    model.learn_one({"a": 5}, 1, 0.0).learn_one({"a": 5}, "new", 0.0)
    model.partial_fit([{"a": 5}], [1], sample_weight=[0.0])
    assert bits(model) == before
    assert model.classes_.tolist() == [0, 1]
    fresh = Online(bits=4).fit([{"a": 1}, {"a": 2}, {"a": 3}], [0, 1, 2], sample_weight=[1, 1, 0])
    assert fresh.classes_.tolist() == [0, 1]


def test_fit_starts_afresh_and_partial_fit_goes_on():
    X, y = load_iris(return_X_y=True)
    model = Online(bits=6, shuffle=False).fit(X, y)
    once = bits(model)
    assert bits(model.fit(X, y)) == once
    assert model.partial_fit(X, y).steps_ == 300
    assert bits(Online(bits=6, passes=2, shuffle=False).fit(X, y)) == bits(model)


# ---- copies ----------------------------------------------------------------------------------------
@given(ways, tables())
def test_copies_are_the_same_and_go_on_alone(estimator, table):
    columns, y, w = table
    model = clone(estimator).partial_fit(dicts(columns), y, list("xyz"), w)
    others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    before = bits(model)
    for other in others:
        assert bits(other) == before
        other.learn_one({"a": 1.0}, "new")
        assert bits(model) == before
    assert bits(model.learn_one({"a": 1.0}, "new")) == bits(others[0]) == bits(others[1])


@given(estimator=ways, table=tables())
def test_a_saved_model_goes_on_bit_for_bit(estimator, table, tmp_path_factory):
    columns, y, w = table
    model = clone(estimator).partial_fit(dicts(columns), y, list("xyz"), w)
    path = tmp_path_factory.mktemp("m") / "m.lk"
    lk.save(model, path)
    again = lk.load(path)
    assert again.get_params() == model.get_params() | {"interactions": again.interactions}
    for one in (model, again):
        one.partial_fit(arrow(columns), y)
        one.learn_one({"w": "more"}, "new")
    assert bits(again) == bits(model)
    assert again.predict_proba(dicts(columns)).tolist() == model.predict_proba(dicts(columns)).tolist()


def test_a_file_is_as_large_as_what_was_learned(tmp_path):
    rows = [{"w": str(i)} for i in range(1000)]
    lk.save(Online(bits=18).fit(rows[:10], np.arange(10) % 2), tmp_path / "few.lk")
    lk.save(Online(bits=4).fit(rows, np.arange(1000) % 2), tmp_path / "full.lk")
    assert (tmp_path / "few.lk").stat().st_size < 8000
    assert lk.load(tmp_path / "full.lk").used_ == 16


def test_collisions_are_counted():
    rows = [{"w": str(i)} for i in range(64)]
    wide, narrow = (Online(bits=bits).fit(rows, np.arange(64) % 2) for bits in (24, 3))
    assert (wide.collision_rate_, wide.used_) == (0, 64)
    assert narrow.collision_rate_ == (64 - 8) / 64


# ---- averages --------------------------------------------------------------------------------------
@given(ways, tables())
def test_the_average_of_equals_is_each_of_them(estimator, table):
    columns, y, w = table
    model = clone(estimator).partial_fit(dicts(columns), y, list("xyz"), w)
    found = lk.average([model, copy.deepcopy(model)], weights=[3, 1])
    np.testing.assert_allclose(
        found.predict_proba(dicts(columns)), model.predict_proba(dicts(columns)), rtol=1e-4
    )
    assert found.steps_ == 2 * model.steps_
    assert found.used_ == model.used_


@pytest.mark.parametrize("optimizer", ["adagrad", "ftrl"])
def test_an_average_is_of_use_and_leaves_its_parts_alone(optimizer):
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = (X / X.max(axis=0))[order], y[order]
    parts = [Online(optimizer=optimizer, bits=10).fit(X[i::4], y[i::4]) for i in range(4)]
    before = [bits(part) for part in parts]
    found = lk.average(parts)
    assert found.score(X, y) > np.mean([part.score(X, y) for part in parts]) - 0.02
    assert [bits(part) for part in parts] == before
    assert found.partial_fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("half_life", [None, 30.0])
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
def test_a_model_that_never_met_a_feature_has_no_say_in_it(optimizer, normalised, half_life):
    made = Online(bits=10, optimizer=optimizer, normalised=normalised, half_life=half_life)
    a = clone(made).partial_fit([{"only": "here"}] * 20 + [{}] * 20, [1] * 20 + [0] * 20, [0, 1])
    b = clone(made).partial_fit([{}] * 40, [0, 1] * 20, [0, 1])
    assert lk.average([a, b]).weight_of("only", "here") == pytest.approx(a.weight_of("only", "here"))


# ---- scikit-learn ----------------------------------------------------------------------------------
def expected_failures(estimator):
    why = "each row is a step: a weight scales it, and is not a repetition"
    return {
        "check_sample_weight_equivalence_on_dense_data": why,
        "check_sample_weight_equivalence_on_sparse_data": why,
    }


@parametrize_with_checks(
    [Online(), Online(optimizer="ftrl", passes=10)], expected_failed_checks=expected_failures
)
def test_scikit_learn_takes_it_for_one_of_its_own(estimator, check):
    check(estimator)


def test_decisions_are_by_cost():
    X, y = load_breast_cancer(return_X_y=True)
    model = Online().fit(X, y)
    careful = model.decide(X, costs=[[0, 100], [1, 0]])
    assert (careful == 0).sum() > (model.predict(X) == 0).sum()
    assert math.isclose(model.score(X, y), (model.predict(X) == y).mean())


# ---- threads -------------------------------------------------------------------------------------------
def test_threads_take_turns_and_classes_that_grow_meanwhile_get_codes_of_their_own():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 6)), rng.integers(0, 3, 4000)
    model = Online(bits=8).partial_fit(X, y, [0, 1, 2])

    def batches():
        for _ in range(5):
            model.partial_fit(X, y)

    def grow(name):
        for k in range(400):
            model.learn_one({"0": 1.0, "who": name}, f"{name} {k // 10}")

    def ask():
        for _ in range(10):
            P = model.predict_proba(X)
            np.testing.assert_allclose(P.sum(axis=1), 1)
            assert len(model._model.state()["table"]) == 2**8 + 1

    with ThreadPoolExecutor(4) as pool:
        work = [pool.submit(batches), pool.submit(grow, "a"), pool.submit(grow, "b"), pool.submit(ask)]
        for each in work:
            each.result()
    assert model.steps_ == 6 * 4000 + 800
    assert len(model.classes_) == model._model.learner.K == 3 + 80
    np.testing.assert_array_equal(model.class_count_[3:], 10)


@pytest.mark.parametrize("optimizer", ["adagrad", "ftrl", "sgd"])
@pytest.mark.parametrize("half_life", [None, 3.0])
def test_no_weight_is_so_large_that_the_model_breaks(optimizer, half_life):
    model = Online(optimizer=optimizer, bits=6, half_life=half_life)
    rows = [{"a": 1.0 + i % 3, "b": "x"} for i in range(30)]
    with pytest.warns(UserWarning, match="rescale the features or sample weights"):
        model.partial_fit(rows, [i % 3 for i in range(30)], [0, 1, 2], np.full(30, 1e300))
    assert np.isfinite(model._model.state()["table"]).all()
    for i in range(300):
        model.learn_one({"a": 1.0 + i % 3, "b": "x"}, i % 3)
    assert math.isclose(sum(model.predict_proba_one({"a": 1.0}).values()), 1)
    assert np.isfinite(model._model.state()["norms"])


def test_a_cell_of_objects_is_refused_with_its_row():
    frame = pd.DataFrame({"a": pd.Series([1.0, "u", b"v"], dtype=object)})
    with pytest.raises(TypeError, match="row 2: feature 'a' is b'v'"):
        Online().fit(frame, [0, 1, 0])


def test_categories_of_any_objects_are_their_text():
    cut = pd.cut(pd.Series([1, 2, 3, None]), 2)
    odd = pd.Categorical([1, "u", 1, None])
    rows = [
        {"c": None if c != c else str(c), "o": None if o != o else str(o)}
        for c, o in zip(cut, odd, strict=True)
    ]
    by_frame = Online(bits=8, random_state=0).fit(pd.DataFrame({"c": cut, "o": odd}), [0, 1, 0, 1])
    assert bits(by_frame) == bits(Online(bits=8, random_state=0).fit(rows, [0, 1, 0, 1]))


# ---- settings, numbers, sizes ----------------------------------------------------------------------
def test_settings_that_were_changed_are_refused_until_they_are_set_back():
    model = Online(bits=12).fit([{"a": 1}, {"a": 2}], [0, 1])
    same = Online(bits=12, random_state=0).fit([{"a": 1}, {"a": 2}], [0, 1])
    assert model.learn_one({"a": 1}, 0).steps_ == 3
    for change in (lambda: model.set_params(bits=10), lambda: setattr(model, "power", 0.3)):
        change()
        for _ in range(2):
            for label in (0, "new"):
                with pytest.raises(ValueError, match="settings were changed"):
                    model.learn_one({"a": 1}, label)
        assert model.predict_one({"a": 1}) == 0
        assert model.steps_ == 3
        model.set_params(bits=12, power=0.5)
    assert model.learn_one({"a": 1}, 0).learn_one({"a": 2}, 1).steps_ == 5
    assert model.set_params(bits=10).fit([{"a": 1}, {"a": 2}], [0, 1]).learn_one({"a": 1}, 0).steps_ == 3
    assert same.learn_one({"a": 1}, 0).steps_ == 3


def test_decimals_are_numbers():
    numbers, y = [1.5, -2.0, 1e30, 0.0, float("nan"), float("-inf")], [0, 1, 0, 1, 0, 1]
    by_decimals = [
        Decimal("1.5"),
        Decimal(-2),
        Decimal("1e30"),
        Decimal(0),
        Decimal("NaN"),
        Decimal("-Inf"),
    ]
    model = Online(bits=6).partial_fit([{"a": x} for x in numbers], y, [0, 1])
    for rows in ([{"a": x} for x in by_decimals], pd.DataFrame({"a": by_decimals}, dtype=object)):
        assert bits(Online(bits=6).partial_fit(rows, y, [0, 1])) == bits(model)
    strange = Online(bits=6).learn_one({"a": Decimal("sNaN"), "b": Decimal("1e999")}, 0)
    assert strange.skipped_ == 2
    with pytest.raises(ValueError, match="'a' is nan"):
        Online(non_finite="raise").learn_one({"a": Decimal("NaN")}, 0)


def test_pickles_hold_what_was_learned_and_no_empty_table():
    model = Online().fit([{"a": 1}, {"b": 2}], [0, 1])
    assert len(pickle.dumps(model)) < 10_000
    assert bits(pickle.loads(pickle.dumps(model))) == bits(model)
    full = Online(bits=3).fit([{str(i): 1.0} for i in range(99)], np.arange(99) % 3)
    assert bits(pickle.loads(pickle.dumps(full))) == bits(full)


@pytest.mark.parametrize("weight", [2, 3, 7])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_hinge", "perceptron", "modified_huber"])
def test_a_row_of_weight_2_is_the_row_twice_where_steps_are_of_one_length(loss, K, weight):
    settings = {"loss": loss, "optimizer": "sgd", "power": 0.0, "normalised": False, "learning_rate": 0.3}
    rng = np.random.default_rng(K * weight)
    heavy, often = (Online(bits=8, **settings) for _ in range(2))
    for k in range(K):
        heavy.learn_one({"a": 0.1}, k)
        often.learn_one({"a": 0.1}, k)
    for _ in range(30):
        x, y = {"a": rng.normal(), "b": rng.normal()}, int(rng.integers(K))
        heavy.learn_one(x, y, weight)
        for _ in range(weight):
            often.learn_one(x, y)
    for name in "ab":
        assert heavy.weight_of(name) == pytest.approx(often.weight_of(name), abs=2e-3)


@pytest.mark.parametrize("optimizer", ["adagrad", "sgd", "ftrl"])
def test_files_from_before_weights_faded_are_read_as_they_were_meant(optimizer):
    """Their weights were kept as they are, and not inflated as sums are; FTRL's are sums."""
    model = Online(optimizer=optimizer, half_life=20, bits=6)
    for i in range(50):
        model.learn_one({"a": 1.0, f"w{i % 2}": 1.0}, i % 2)
    state = model._model.state()
    assert state["inflation"] > 2
    table, tags = state.pop("table").copy(), state.pop("tags")
    if optimizer != "ftrl":
        table[:, 4::2] /= state["inflation"]
    parts = {"online": state, "table": few_slots(table, tags)}
    settings = model._model.settings
    again = Online.of(type(model._model).of(settings, [0, 1], {}, kept._state(settings, [0, 1], parts)))
    for name in ("a", "w0", "w1"):
        assert again.weight_of(name) == pytest.approx(model.weight_of(name), rel=1e-6)
