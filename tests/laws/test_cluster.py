"""The laws of the Dask engine, on a scheduler and two worker processes: the same bits, whatever happens."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import likelier as lk
from laws.comparing import assert_same_bits, assert_same_model
from laws.elsewhere import Deadly, Elsewhere, Failing, Light, Slow, nothing_left
from laws.generators import large_table
from laws.parts import parts_of
from laws.test_files import pieces_of
from laws.test_states import every_state
from likelier.data import Arrays, Chunk, Dense, NonFinite
from likelier.engines import chunks, first_chunk, run, serial, watching
from likelier.engines import dask as dask_engine
from likelier.states import ColumnMoments, Moments


# ---- the tree ------------------------------------------------------------------------------------
@dataclass
class Tree:
    """A state that remembers who was merged with whom."""

    said: str = ""
    nbytes: int = 0

    def update(self, chunk: Chunk) -> None:
        self.said += str(chunk.first)

    def merge(self, other: "Tree") -> None:
        self.said = f"({self.said} {other.said})"


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("tasks", [1, 2, 5])
def test_the_tree_is_that_of_merging_in_order_however_parts_are_grouped(threads, tasks, monkeypatch):
    monkeypatch.setattr(dask_engine, "TASKS", tasks)
    lengths = set()
    for count in range(1, 41):
        source = Elsewhere(Dense(np.zeros((count, 1))), cluster=dask.get)
        with parts_of(8):
            made = dask_engine.Pass.of(source, Tree, threads, lambda task: task)
            alike = serial(source, Tree).said
        lengths.add(-(-count // len(made.leaves)))
        assert dask.get(made.graph, made.root).said == alike
        assert len(made.leaves) >= min(count, tasks * threads)
    assert len(lengths) > 1 or tasks * threads > 10


def test_a_run_is_a_power_of_two_and_not_too_long():
    for parts in (1, 7, 100, 5000, 10**6):
        for threads in (0, 1, 2, 64, 1000):
            length = dask_engine.run_length(parts, threads)
            assert length & (length - 1) == 0
            assert length <= dask_engine.MOST_PARTS
            assert length == 1 or parts >= length * dask_engine.TASKS * max(1, threads)


def test_merging_leaves_what_was_merged_as_it_was():
    """A task may be run again."""
    rows = large_table(50, 2, 3)
    a, b = (ColumnMoments.start(rows.K, rows.p) for _ in range(2))
    a.update(rows.chunk())
    b.update(rows.chunk())
    before = a.mean.copy(), a.S.copy(), a.n.copy()
    total = dask_engine.merged(a, b)
    assert_same_bits(dask_engine.merged(a, b), total)
    for held, was in zip((a.mean, a.S, a.n), before, strict=True):
        np.testing.assert_array_equal(held, was)
    np.testing.assert_array_equal(total.n, 2 * a.n)


# ---- the same result -----------------------------------------------------------------------------
@every_state
def test_every_state_is_the_same_bit_for_bit(kind, client):
    rows = large_table(1500, 3, 3, weights="fractional")
    chunk, start = kind.view(rows, "C"), partial(kind.start, rows.K, rows.p)
    with parts_of(256):
        assert len(Arrays(chunk.X).parts(start().nbytes)) > 7
        found = run(Elsewhere.of(chunk, client), start)
        assert_same_bits(found, serial(Arrays(chunk.X, chunk.y, chunk.w), start))


FEATURES = ["a", "b", "c"]
LDA, QDA = lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
ESTIMATORS = [
    lk.GaussianNB(),
    lk.NaiveBayes(),
    LDA(solver="lsqr", shrinkage="auto"),
    QDA(),
    lk.KernelDensityClassifier(0.7),
    lk.BernoulliNB(),
    lk.MixtureDiscriminantAnalysis(2, random_state=0, max_iter=2),
    lk.GaussianMixture(2, random_state=0, max_iter=2),
    lk.LogisticRegression(max_iter=2),
    lk.LogisticRegression(l1_ratio=1.0, C=0.1, max_iter=2),
    lk.LinearSVC(C=0.1, max_iter=2),
    lk.LogisticRegression(solver="sgd", max_iter=1),
    lk.Perceptron(max_iter=1, tol=None, random_state=0),
    lk.LinearRegression(),
    lk.Ridge(),
]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    X = rng.normal(size=(600, 3)) + y[:, None]
    return pa.table(
        {name: X[:, j] for j, name in enumerate(FEATURES)} | {"y": y, "w": rng.integers(0, 3, 600)}
    )


@pytest.fixture(scope="module")
def stored(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    for i in range(3):
        pq.write_table(table.slice(200 * i, 200), folder / f"{i}.parquet", row_group_size=40)
    return folder


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
def test_every_estimator_is_the_same_bit_for_bit(model, client, stored):
    target = None if isinstance(model, lk.GaussianMixture) else "y"
    here = lk.scan(stored, target=target, weight="w", features=FEATURES)
    with pieces_of(1200):
        one, other = clone(model).fit(here), clone(model).fit(here.on(client))
        answers = [fitted.predict(here.on(where)) for fitted, where in ((one, client), (other, client))]
        np.testing.assert_array_equal(answers[0], one.predict(here))
    np.testing.assert_array_equal(*answers)
    assert_same_model(one, other)
    if hasattr(one, "is_outlier"):
        np.testing.assert_array_equal(*(fitted.is_outlier(here, 0.1) for fitted in (one, other)))
    assert nothing_left(client)


@pytest.mark.parametrize("ending", ["jsonl", "svm", "vw"])
def test_text_of_every_format_is_the_same_bit_for_bit(client, table, tmp_path, ending):
    form = {
        "jsonl": '{{"a": {a}, "b": {b}, "c": {c}, "y": {y}}}\n',
        "svm": "{y} 1:{a} 2:{b} 3:{c}\n",
        "vw": "{y} {w} |n a:{a} b:{b} c:{c}\n",
    }[ending]
    rows = [dict(zip("abcyw", row.values(), strict=True)) for row in table.to_pylist()]
    (tmp_path / f"t.{ending}").write_text("".join(form.format(**row) for row in rows))
    with pieces_of(1200), pytest.MonkeyPatch.context() as patch:
        patch.setattr("likelier.data.files.base.UNIT", 1200)
        patch.setattr("likelier.data.files.svmlight.PART_BYTES", 2400)
        here = lk.scan(tmp_path, **({"target": "y"} if ending == "jsonl" else {}))
        assert len(here.parts(0)) > 5
        for model in (lk.BernoulliNB(), lk.OnlineClassifier(shuffle=False)):
            one, other = clone(model).fit(here), clone(model).fit(here.on(client))
            np.testing.assert_array_equal(one.predict(here), other.predict(here.on(client)))
            np.testing.assert_array_equal(one.predict_proba(here), other.predict_proba(here))
    assert nothing_left(client)


def test_cross_validation_scores_and_priors_are_the_same(client, stored):
    here = lk.scan(stored, target="y", weight="w", features=FEATURES)
    there = here.on(client)
    with pieces_of(1200):
        one, other = (
            lk.GaussianNB().cross_validate(rows, cv=3, return_predictions=True) for rows in (here, there)
        )
        np.testing.assert_array_equal(one.predictions, other.predictions)
        assert repr(one) == repr(other)
        model = lk.GaussianNB().fit(here)
        assert model.score(here) == model.score(there)
        judged = [lk.evaluate(model, rows).sums.figures for rows in (here, there)]
        for name in ("totals", "classes", "bins"):
            np.testing.assert_array_equal(*(getattr(one, name) for one in judged))
        np.testing.assert_array_equal(*(model.adapt_priors(rows, tol=1e-3) for rows in (here, there)))
        batches = [
            lk.GaussianNB().partial_fit(rows, classes=[0, 1, 2]).partial_fit(rows) for rows in (here, there)
        ]
    assert_same_model(*batches)


def test_rows_are_fetched_in_order(client):
    X = np.arange(300.0).reshape(100, 3)
    with parts_of(240):
        there = Elsewhere(Dense(X), np.arange(100), cluster=client)
        assert [chunk.first for chunk in chunks(there)] == list(range(0, 100, 10))
        np.testing.assert_array_equal(np.concatenate([c.X.to_array() for c in chunks(there)]), X)
        np.testing.assert_array_equal(first_chunk(there, 4).X.to_array(), X[:4])
        few = chunks(there)
        next(few)
        few.close()
    assert nothing_left(client)


# ---- faults --------------------------------------------------------------------------------------
def test_the_earliest_failure_is_raised_and_the_rest_is_off(client, tmp_path):
    there = Elsewhere(Dense(np.zeros((200, 1))), np.zeros(200, np.int32), cluster=client)
    with parts_of(8), pytest.raises(OSError, match=r"^part 11$"):
        run(Failing(there, tmp_path, (11, 14, 15, 150)), partial(ColumnMoments.start, 1, 1))
    assert nothing_left(client)
    assert len(list(tmp_path.iterdir())) < 120


def test_a_bad_cell_comes_back_as_it_is(client):
    X = np.ones((100, 3))
    X[90, 0] = X[77, 2] = X[77, 1] = np.inf
    there = Elsewhere(Dense(X), np.zeros(100, np.int32), cluster=client)
    with parts_of(64), pytest.raises(NonFinite) as bad:
        run(there, partial(Moments.start, 1, 3, "full"))
    assert (bad.value.row, bad.value.column, bad.value.value) == (77, 1, np.inf)
    assert nothing_left(client)


def test_a_missing_file_is_named(client, table, tmp_path):
    for i in range(3):
        pq.write_table(table, tmp_path / f"{i}.parquet")
    there = lk.scan(tmp_path, target="y", features=FEATURES).on(client)
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(ValueError, match=r"1\.parquet: the file has been removed since it was scanned"):
        lk.GaussianNB().fit(there)
    assert nothing_left(client)


def test_a_label_that_a_glimpse_has_missed_ends_the_pass_there_too(client, tmp_path):
    labels = ["a", "b"] * 40 + ["zz"] * 2 + ["b", "a"] * 700
    rows = "".join(f"{i % 7},{i * i % 11},{label}\n" for i, label in enumerate(labels))
    (tmp_path / "t.csv").write_text("x,z,y\n" + rows)
    with pieces_of(400):
        here = lk.scan(tmp_path, target="y")
        assert here.glimpse().tolist() == ["a", "b"]
        found = lk.GaussianNB().fit(here.on(client))
        assert found.classes_.tolist() == ["a", "b", "zz"]
        assert_same_model(found, lk.GaussianNB().fit(here))
    assert nothing_left(client)


def test_an_interrupted_pass_leaves_nothing(client, tmp_path, monkeypatch):
    def interrupted(leaves: Any, done: Any) -> None:
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(dask_engine, "watch", interrupted)
    there = Elsewhere(Dense(np.zeros((100, 1))), np.zeros(100, np.int32), cluster=client)
    with parts_of(8), pytest.raises(KeyboardInterrupt):
        run(Slow(there, tmp_path), partial(ColumnMoments.start, 1, 1))
    assert nothing_left(client)
    assert len(list(tmp_path.iterdir())) < 60


def test_weights_of_some_megabytes_are_no_reason_for_a_warning(client):
    there = Elsewhere(Dense(np.zeros((20, 1))), cluster=client)
    with parts_of(8), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(there, Light(np.ones(1_500_000))).total == 20
    assert nothing_left(client)


# ---- whether it can ------------------------------------------------------------------------------
class Pretending:
    """A client that says what its workers have."""

    status = "running"

    def __init__(self, **workers: Any) -> None:
        self.workers = workers

    def run(self, function: Callable[[], Any]) -> dict[str, Any]:
        return self.workers


def test_a_worker_without_likelier_is_named():
    with pytest.raises(RuntimeError, match="likelier is not installed on worker b and 1 others: install"):
        dask_engine.check_workers(Pretending(a=("1", "v4"), c=None, b=None))


def test_levels_that_differ_are_said_once():
    differing = Pretending(a=("1", "v4"), b=("1", "v3"), c=("1", "v4"))
    with pytest.warns(
        UserWarning, match="1 at level v4 on .*; likelier|1 at level v4 on c; 1 at level v3 on b"
    ):
        dask_engine.check_workers(differing)
    dask_engine.check_workers(differing)
    dask_engine.check_workers(Pretending(a=("1", "v4"), b=("1", "v4")))


def test_the_workers_here_are_as_this_process_is(client):
    dask_engine.CHECKED.discard(client)
    dask_engine.check_workers(client)
    assert client in dask_engine.CHECKED


# ---- passes that are observed, and kept ----------------------------------------------------------
class Cut(BaseException):
    """What comes from outside."""


class Ending:
    """An observer that hears of each task, and cuts the fit off in some pass."""

    def __init__(self, fatal: int) -> None:
        self.fatal, self.passes = fatal, []

    def begin(self, what: Any) -> None:
        self.passes.append([what.parts, 0])

    def done(self, *, parts: int, rows: int) -> None:
        self.passes[-1][1] += parts
        if len(self.passes) == self.fatal and self.passes[-1][1] == 2:
            raise Cut

    def end(self) -> None: ...

    def reached(self, figure: str, value: float) -> None: ...


def test_a_fit_that_is_cut_off_goes_on_there_or_here_with_the_pass_that_was_not_done(
    client, stored, tmp_path
):
    here, path = lk.scan(stored, target="y", weight="w", features=FEATURES), tmp_path / "fit.ck"
    with pieces_of(1200):
        whole = lk.LogisticRegression(tol=0.01).fit(here)
        with watching(heard := Ending(4)), pytest.raises(Cut):
            lk.LogisticRegression(tol=0.01).fit(here.on(client), checkpoint=path)
        assert all(parts == done for parts, done in heard.passes[:3])
        assert path.exists()
        with watching(more := Ending(2)), pytest.raises(Cut):
            lk.LogisticRegression(tol=0.01).fit(here.on(client), checkpoint=path)
        with watching(rest := Ending(0)):
            again = lk.LogisticRegression(tol=0.01).fit(here, checkpoint=path)
        with watching(alone := Ending(0)):
            lk.LogisticRegression(tol=0.01).fit(here)
    assert len(rest.passes) + (len(heard.passes) - 1) + (len(more.passes) - 1) == len(alone.passes)
    assert_same_model(again, whole)
    assert nothing_left(client)


# ---- clients in odd places -----------------------------------------------------------------------
def fitted_within(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A task that fits on the cluster that runs it."""
    from dask.array import from_array

    return lk.GaussianNB().fit(from_array(X, chunks=(100, -1)), from_array(y, chunks=100)).theta_


def test_fits_within_tasks_leave_their_threads_to_the_tasks_they_wait_for(client):
    X, y = np.arange(600.0).reshape(300, 2) % 7, np.arange(300) % 2
    threads = sum(client.nthreads().values())
    found = [client.submit(fitted_within, X, y, pure=False) for _ in range(threads)]
    for future in found:
        np.testing.assert_array_equal(future.result(timeout=30), fitted_within(X, y))


def test_a_client_that_is_closed_says_so(client, tmp_path):
    from distributed import Client

    (tmp_path / "t.csv").write_text("x,y\n1,0\n2,1\n3,0\n5,1\n")
    with Client(client.scheduler.address, set_as_default=False) as other:
        source = lk.scan(tmp_path / "t.csv", target="y").on(other)
        lk.GaussianNB().fit(source)
    with pytest.raises(RuntimeError, match="the Dask client is closed: connect"):
        lk.GaussianNB().fit(source)


def test_a_client_that_is_closed_during_a_pass_is_named_as_the_reason(client, tmp_path):
    from distributed import Client

    other = Client(client.scheduler.address, set_as_default=False)
    there = Elsewhere(Dense(np.zeros((400, 1))), np.zeros(400, np.int32), cluster=other)

    def close() -> None:
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        other.close()

    closing = Thread(target=close)
    closing.start()
    with parts_of(8), pytest.raises(RuntimeError, match="was the Dask client, or its cluster, closed"):
        run(Slow(there, tmp_path), partial(ColumnMoments.start, 1, 1))
    closing.join()
    assert nothing_left(client)


# ---- last, since the workers that come instead have all to load again -------------------------------
def test_a_worker_lost_in_mid_fit_changes_no_bit(client, tmp_path):
    rows = large_table(1500, 3, 3)
    start = partial(Moments.start, rows.K, rows.p, "full")
    with parts_of(256):
        here, there = Arrays(rows.chunk().X, rows.y), Elsewhere(rows.chunk().X, rows.y, cluster=client)
        deadly = Deadly(there, tmp_path, (3, len(there.parts(start().nbytes)) - 2))
        found = run(deadly, start)
        assert_same_bits(found, serial(here, start))
    assert len(list(tmp_path.iterdir())) == 2
    assert nothing_left(client)
