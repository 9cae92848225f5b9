"""The laws of Dask collections: partitions are parts, and answers are lazy."""

import pickle
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import wait
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import likelier as lk
from laws.comparing import assert_same_bits, assert_same_model
from laws.elsewhere import counting, nothing_left
from laws.generators import SEEDS, large_table
from laws.test_states import BY_CLASS
from likelier.data import Chunk, Dense
from likelier.data.dask import collected
from likelier.data.transforms import partitions_of
from likelier.engines import chunks, first_chunk, run
from likelier.engines.run import absorb, numbered
from likelier.model import levels
from likelier.states import ColumnMoments, LabelTotals
from likelier.states.base import merge_in_order

NAMES = ["a", "b", "c"]
SCHEDULERS = ["synchronous", "threads"]
may_be_degenerate = pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
fewer = settings(max_examples=max(10, settings.default.max_examples // 4))


def problem(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    return rng.normal(size=(n, 3)) + y[:, None], y, rng.integers(0, 3, n) / 2


def spread(*arrays: np.ndarray, sizes: tuple[int, ...]) -> list[da.Array]:
    return [da.from_array(a, chunks=(sizes, *a.shape[1:])) for a in arrays]


def table(n: int = 300) -> pd.DataFrame:
    """Numbers, text and categories, some of each missing, a target and weights."""
    X, y, w = problem(n)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=NAMES)
    frame.loc[::7, "b"] = np.nan
    frame["sky"] = np.array(["clear", "clouds", None], dtype=object)[rng.integers(0, 3, n)]
    frame["wind"] = pd.Categorical(np.array(["north", "south", "east"])[y])
    return frame.assign(y=np.array(["red", "green", "blue"])[y], w=w)


# ---- fits ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("kind", BY_CLASS, ids=lambda kind: kind.name)
def test_every_state_is_that_of_its_partitions_merged_in_order(kind, scheduler):
    rows = large_table(200, 3, 3, weights="fractional")
    X, w = kind.view(rows, "C").X.to_array(), rows.weights
    start, sizes = partial(kind.start, rows.K, rows.p), (50, 1, 0, 99, 30, 20)
    ends = np.cumsum([0, *sizes])
    pieces = [
        absorb(start, partial(iter, [Chunk(Dense(X[i:j]), rows.y[i:j], w[i:j], int(i))] if j > i else []))
        for i, j in pairwise(ends)
    ]
    source = collected(*spread(X, rows.y, w, sizes=sizes)).coded(np.arange(rows.K))
    with dask.config.set(scheduler=scheduler):
        assert_same_bits(run(source, start), merge_in_order(pieces))


@fewer
@given(cuts=st.lists(st.integers(0, 60), max_size=5), seed=SEEDS, weighted=st.booleans())
def test_however_rows_are_cut_the_fit_is_the_same_but_for_rounding(cuts, seed, weighted):
    X, y, w = problem(60, seed)
    ends = [0, *sorted(cuts), 60]
    Xd, yd, wd = spread(X, y, w, sizes=tuple(np.diff(ends).tolist()))
    with dask.config.set(scheduler="synchronous"):
        found = lk.GaussianNB().fit(Xd, yd, sample_weight=wd if weighted else None)
        P = found.predict_proba(Xd).compute()
    whole = lk.GaussianNB().fit(X, y, sample_weight=w if weighted else None)
    np.testing.assert_allclose(found.theta_, whole.theta_, rtol=1e-12)
    np.testing.assert_allclose(found.var_, whole.var_, rtol=1e-12)
    np.testing.assert_allclose(P, whole.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.is_outlier(X, 0.1), whole.is_outlier(X, 0.1))


ESTIMATORS: list[Any] = [
    lk.LinearDiscriminantAnalysis(),
    lk.QuadraticDiscriminantAnalysis(),
    lk.NaiveBayes(),
    lk.KernelDensityClassifier(0.7),
    lk.MixtureDiscriminantAnalysis(2, random_state=0, max_iter=3),
    lk.GaussianMixture(2, random_state=0, max_iter=3),
    lk.LogisticRegression(),
    lk.LinearSVC(C=0.1),
    lk.LogisticRegressionCV(
        Cs=2, cv=2, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
    ),
    lk.LinearRegression(),
    lk.Ridge(),
]


@may_be_degenerate
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
def test_estimators_fit_answer_and_score_as_they_do_in_memory(model):
    X, y, _ = problem()
    Xd, yd = spread(X, y, sizes=(100, 150, 50))
    given, there = ((X,), (Xd,)) if isinstance(model, lk.GaussianMixture) else ((X, y), (Xd, yd))
    one, other = clone(model).fit(*given), clone(model).fit(*there)
    assert other.score(*there) == pytest.approx(one.score(*given), rel=1e-6)
    answers = other.predict(Xd)
    assert isinstance(answers, da.Array)
    assert answers.chunks == ((100, 150, 50),)
    assert answers.dtype == other.predict(X).dtype
    np.testing.assert_allclose(answers.compute(), one.predict(X), rtol=1e-6)
    np.testing.assert_array_equal(answers.compute(), other.predict(X))


def test_steps_at_rows_go_by_partitions_and_say_what_they_cannot():
    X, y, _ = problem()
    Xd, yd = spread(X, y, sizes=(100, 200))
    found = lk.SGDClassifier(max_iter=5, tol=None, random_state=0).fit(Xd, yd)
    again = lk.SGDClassifier(max_iter=5, tol=None, random_state=0).fit(Xd, yd)
    assert_same_model(found, again)
    assert found.score(Xd, yd) > 0.5
    with pytest.raises(ValueError, match="early_stopping holds rows out of those in memory"):
        lk.SGDClassifier(early_stopping=True).fit(Xd, yd)
    with pytest.raises(ValueError, match="offset requires rows in memory"):
        lk.LogisticRegression().fit(Xd, yd, offset=np.zeros(300))
    with pytest.raises(ValueError, match="Dask collection, and BayesClassifier takes rows in memory"):
        lk.BayesClassifier(lk.GaussianMixture(1)).fit(Xd, yd)


def test_cross_validation_batches_summaries_and_priors():
    X, y, w = problem()
    Xd, yd, wd = spread(X, y, w, sizes=(100, 150, 50))
    found = lk.GaussianNB().cross_validate(Xd, yd, cv=3, sample_weight=wd)
    assert found.best_estimator_.class_count_.sum() == pytest.approx(w.sum())
    batches = lk.GaussianNB().partial_fit(Xd, yd, classes=[0, 1, 2]).partial_fit(Xd, yd, sample_weight=wd)
    np.testing.assert_allclose(batches.class_count_.sum(), 300 + w.sum())
    here = lk.LinearRegression().fit(X, y).summary(X, y, cov="HC1").to_frame()
    there = lk.LinearRegression().fit(Xd, yd).summary(Xd, yd, cov="HC1").to_frame()
    np.testing.assert_allclose(there, here, rtol=1e-8)
    model = lk.GaussianNB().fit(X, y)
    np.testing.assert_allclose(
        model.adapt_priors(Xd, sample_weight=wd), model.adapt_priors(X, sample_weight=w), rtol=1e-6
    )


def test_several_targets_are_a_table():
    X, y, _ = problem()
    Y = np.column_stack([y, X.sum(axis=1)])
    Xd, Yd = spread(X, Y, sizes=(100, 200))
    found = lk.LinearRegression().fit(Xd, Yd.rechunk({1: 1}))
    np.testing.assert_allclose(found.coef_, lk.LinearRegression().fit(X, Y).coef_, atol=1e-12)
    assert found.predict(Xd).shape == (300, 2)


def test_columns_in_several_chunks_are_brought_together():
    X, y, _ = problem()
    wide = da.from_array(X, chunks=(100, 2))
    (yd,) = spread(y, sizes=(100,) * 3)
    found = lk.GaussianNB().fit(wide, yd)
    np.testing.assert_allclose(found.theta_, lk.GaussianNB().fit(X, y).theta_, rtol=1e-13)
    assert found.predict_proba(wide).compute().shape == (300, 3)


def test_sparse_blocks_stay_sparse():
    X, y, _ = problem()
    X[np.abs(X) < 1] = 0
    Xd, yd = spread(X, y, sizes=(100, 200))
    Xd = Xd.map_blocks(sp.csr_matrix)
    assert type(first_chunk(collected(Xd, yd)).X).__name__ == "CSR"
    for model in (lk.LogisticRegression(), lk.MultinomialNB()):
        if isinstance(model, lk.MultinomialNB):
            Xd = abs(Xd)
        here = sp.csr_matrix(Xd.compute())
        one, other = clone(model).fit(here, y), clone(model).fit(Xd, yd)
        np.testing.assert_allclose(other.predict_proba(Xd).compute(), one.predict_proba(here), rtol=1e-6)


# ---- frames --------------------------------------------------------------------------------------
@may_be_degenerate
@pytest.mark.parametrize("npartitions", [1, 4])
def test_frames_of_any_columns_are_as_they_are_in_memory(npartitions):
    frame = table()
    there = dd.from_pandas(frame, npartitions=npartitions)
    columns = [*NAMES, "sky", "wind"]
    one = lk.NaiveBayes().fit(frame[columns], frame["y"], sample_weight=frame["w"])
    other = lk.NaiveBayes().fit(there[columns], there["y"], sample_weight=there["w"])
    assert list(other.feature_names_in_) == columns
    assert list(other.classes_) == ["blue", "green", "red"]
    assert repr(other.families_) == repr(one.families_)
    P = other.predict_proba(there[columns])
    assert P.shape[1] == 3
    assert np.isnan(P.shape[0])
    np.testing.assert_allclose(P.compute(), one.predict_proba(frame[columns]), rtol=1e-9)
    assert other.score(there[columns], there["y"]) == one.score(frame[columns], frame["y"])
    np.testing.assert_array_equal(other.predict(there[columns]).compute(), one.predict(frame[columns]))


def test_arrays_beside_frames_and_names_that_are_numbers():
    frame = table()
    there = dd.from_pandas(frame, npartitions=3)
    lengths = tuple(there.map_partitions(len).compute())
    (y,) = spread(problem()[1], sizes=lengths)
    found = lk.GaussianNB().fit(there[NAMES], y)
    np.testing.assert_allclose(found.theta_, lk.GaussianNB().fit(frame[NAMES], problem()[1]).theta_)
    numbered = there[NAMES].rename(columns={"a": 0, "b": 1, "c": 2})
    plain = lk.GaussianNB().fit(numbered, y)
    assert not hasattr(plain, "feature_names_in_")
    np.testing.assert_array_equal(plain.theta_, found.theta_)


def test_partitions_that_a_filter_has_emptied():
    frame = table()
    there = dd.from_pandas(frame, npartitions=4)
    some = there[there["a"] > np.sort(frame["a"])[-20]].assign(b=0.0)
    kept = frame[frame["a"] > np.sort(frame["a"])[-20]].assign(b=np.arange(19) * 0.0)
    found = lk.LinearRegression().fit(some[["a", "c"]], some["w"])
    here = lk.LinearRegression().fit(kept[["a", "c"]], kept["w"])
    np.testing.assert_allclose(found.coef_, here.coef_, atol=1e-10)
    assert found.predict(some[["a", "c"]]).compute().shape == (19,)
    first = there[there["a"] > 1e9]
    none = dd.concat([first[["a", "c"]], some[["a", "c"]]])
    y = dd.concat([first["w"], some["w"]])
    np.testing.assert_allclose(lk.LinearRegression().fit(none, y).coef_, here.coef_, atol=1e-10)


def test_rows_are_numbered_and_found():
    frame = table()
    there = collected(dd.from_pandas(frame[NAMES], npartitions=3))
    assert there.rows is None
    numbers = [chunk.first for chunk in chunks(there)]
    assert numbers == [1 << 40, 2 << 40, 3 << 40]  # nothing may be drawn by these
    assert there.place(numbers[2] + 5) == "row 5 of partition 2"
    exact = [chunk.first for chunk in chunks(numbered(there))]
    assert exact == [0, 100, 200]
    assert there.place(exact[2] + 5) == "row 5 of partition 2"
    known = collected(*spread(problem()[0], sizes=(100, 200)))
    assert (known.rows, known.place(150)) == (300, "row 150")
    assert [chunk.first for chunk in chunks(known)] == [0, 100]


def test_a_large_partition_is_several_chunks(monkeypatch):
    monkeypatch.setattr("likelier.data.dask.PART_BYTES", 24 * 64)
    X, y, _ = problem()
    source = collected(*spread(X, y, sizes=(100, 200)))
    assert [(c.first, len(c.y)) for c in chunks(source)] == [
        (0, 64),
        (64, 36),
        (100, 64),
        (164, 64),
        (228, 64),
        (292, 8),
    ]
    np.testing.assert_array_equal(np.concatenate([c.X.to_array() for c in chunks(source)]), X)


# ---- lazily --------------------------------------------------------------------------------------
METHODS = {
    "predict": (),
    "predict_proba": (3,),
    "predict_log_proba": (3,),
    "predict_joint_log_proba": (3,),
    "decision_function": (3,),
    "score_samples": (),
    "is_outlier": (),
    "decide": (),
    "impute": (3,),
}


def refuse(block: np.ndarray) -> np.ndarray:
    if len(block):
        raise AssertionError("something was computed")
    return block


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["array", "frame"])
def test_answers_are_lazy_and_of_the_right_shape(method, kind):
    X, y, _ = problem()
    frame = pd.DataFrame(X, columns=NAMES)
    given = X if kind == "array" else frame
    model = lk.QuadraticDiscriminantAnalysis().fit(given, y)
    (there,) = spread(X, sizes=(100, 200)) if kind == "array" else (dd.from_pandas(frame, npartitions=2),)
    never = there.map_blocks(refuse, dtype=float, meta=X[:0]) if kind == "array" else there
    if kind == "frame":
        never = there.map_partitions(refuse, meta=frame[:0], enforce_metadata=False)
    lazy = getattr(model, method)(never)
    framed = kind == "frame" and method == "impute"  # the table itself, filled in
    assert isinstance(lazy, dd.DataFrame if framed else da.Array)
    assert lazy.shape[1:] == METHODS[method]
    if kind == "array":
        assert lazy.chunks[0] == (100, 200)
    with pytest.raises(AssertionError, match="something was computed"):
        lazy.compute()
    found, plain = getattr(model, method)(there), getattr(model, method)(given)
    assert (found.dtypes == plain.dtypes).all() if framed else found.dtype == plain.dtype
    np.testing.assert_array_equal(found.compute(), plain)


def test_what_travels_is_small():
    X, y, w = problem(3000)
    source = collected(*spread(X, y, w, sizes=(10,) * 300)).coded(np.arange(3))
    assert len(pickle.dumps(source.parts(0)[7])) < 2000
    assert len(pickle.dumps(source)) < 40_000  # its keys
    assert partitions_of(source).keys[7][0][1] == 7


def test_labels_alone_need_no_x():
    """The survey computes y and weights only."""
    X, y, w = problem()
    Xd, yd, wd = spread(X, y, w, sizes=(100, 200))
    source = collected(Xd.map_blocks(refuse, dtype=float, meta=X[:0]), yd, wd)
    assert levels(source).tolist() == [0, 1, 2]
    counted = run(source.labels(), LabelTotals)
    np.testing.assert_allclose(counted.n, np.bincount(y, w))


# ---- on a cluster --------------------------------------------------------------------------------
def counted(folder: Path, kind: str) -> tuple[Any, Any]:
    """X and y in two partitions of which each computation leaves a mark."""
    X, y, _ = problem()
    mark = partial(counting, folder)
    if kind == "array":
        Xd, yd = spread(X, y, sizes=(150, 150))
        return Xd.map_blocks(mark, dtype=float, meta=X[:0]), yd
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y)
    there = dd.from_pandas(frame, npartitions=2).map_partitions(mark, meta=frame[:0])
    return there[NAMES], there["y"]


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_persisted_parts_are_reused_and_others_are_computed_anew(kind, client, tmp_path):
    def marks() -> int:
        return len(list(tmp_path.iterdir()))

    with client.as_current():
        X, y = counted(tmp_path, kind)
        before = lk.QuadraticDiscriminantAnalysis().fit(X, y)
        # Of an array in one pass of two; of a frame also in the survey, as its y comes from the same marks.
        assert marks() == (2 if kind == "array" else 4)
        X, y = dask.persist(X, y)
        wait([X, y])
        held = marks()
        found = lk.QuadraticDiscriminantAnalysis().fit(X, y)
        lk.LinearDiscriminantAnalysis().fit(X, y)
        assert found.predict_proba(X).compute().shape == (300, 3)
        assert marks() == held
        assert_same_model(found, before)
    with dask.config.set(scheduler="synchronous"):
        assert_same_model(found, lk.QuadraticDiscriminantAnalysis().fit(*counted(tmp_path, kind)))
    del X, y
    assert nothing_left(client)


def test_collections_run_where_the_active_client_is(client):
    X, y, w = problem()
    Xd, yd, wd = spread(X, y, w, sizes=(100, 50, 150))
    source = collected(Xd, yd, wd).coded(np.arange(3))
    start = partial(ColumnMoments.start, 3, 3)
    here = run(source, start)
    assert callable(source.cluster)
    with client.as_current():
        assert source.cluster is client
        assert_same_bits(run(source, start), here)
        assert [chunk.first for chunk in chunks(source)] == [0, 100, 150]
    assert nothing_left(client)
