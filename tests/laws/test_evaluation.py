"""Evaluation is a pass: any cut, order and tree gives the same figures, and they are scikit-learn's."""

import copy
import pickle
from contextlib import nullcontext
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.naive_bayes import MultinomialNB as TheirMultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as TheirLinearSVC

import likelier as lk
from laws.generators import SEEDS
from likelier.comparison.cross_validate import mean_auc
from likelier.data import Chunk, Dense
from likelier.estimators.predictions import ClassCodes, _of_chunk, _start, class_predictions, itself
from likelier.evaluation import ClassPredictions, LabelSums, ValueSums
from likelier.evaluation.metrics import ranked, unranked

PROMISED = {"rtol": 1e-12, "atol": 1e-12}


# ---- the sums are a State --------------------------------------------------------------------------
def answers(seed, n, K, kind):
    """Rows as a model might answer them: sure and unsure, ties, impossible classes; some without labels."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(K, 0.3), n)
    P[rng.random(n) < 0.1] = 1 / K
    P[rng.random(n) < 0.1] = np.eye(K)[0]
    codes = rng.integers(-1, K + 1, n).astype(np.int32)
    w = rng.integers(0, 4, n).astype(np.float64)
    if kind == "margins":
        margin = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)
        return ClassPredictions((margin > 0).astype(np.int32), margin=margin), codes, w
    L = np.log(np.maximum(P, 1e-40))
    return ClassPredictions(P.argmax(axis=1), P, logs=lambda rows: L[rows]), codes, w


def taken(predicted, rows):
    def part(values):
        return None if values is None else values[rows]

    at = np.arange(len(predicted.best))[rows]
    logs = None if predicted.logs is None else lambda some: predicted.logs(at[some])
    return ClassPredictions(predicted.best[rows], part(predicted.P), part(predicted.margin), logs)


def label_sums(predicted, codes, w, K, cuts=()):
    sums = LabelSums.start(K, apart=True)
    edges = [0, *sorted(cuts), len(codes)]
    for a, b in pairwise(edges):
        sums.add(taken(predicted, slice(a, b)), codes[a:b], None if w is None else w[a:b])
    return sums


def assert_same(a, b):
    assert a.rows == b.rows
    np.testing.assert_allclose(a.confusion, b.confusion, rtol=1e-12)
    np.testing.assert_allclose(a.excess, b.excess, rtol=1e-12)
    assert len(a.apart) == len(b.apart)
    for mine, theirs in zip([a.figures, *a.apart], [b.figures, *b.apart], strict=True):
        for name in ("totals", "classes", "bins"):
            np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), **PROMISED)


kinds = st.sampled_from(["probabilities", "margins"])


@given(seed=SEEDS, n=st.integers(0, 60), K=st.integers(2, 5), kind=kinds, data=st.data())
def test_any_cut_order_and_tree_of_label_sums_is_the_same(seed, n, K, kind, data):
    K = 2 if kind == "margins" else K
    rows = answers(seed, n, K, kind)
    cuts = data.draw(st.lists(st.integers(0, n), max_size=4))
    whole = label_sums(*rows, K)
    assert_same(label_sums(*rows, K, cuts), whole)
    order = np.random.default_rng(seed).permutation(n)
    predicted, codes, w = rows
    assert_same(label_sums(taken(predicted, order), codes[order], w[order], K), whole)
    edges = [0, *sorted(cuts), n]
    pieces = [label_sums(taken(predicted, slice(a, b)), codes[a:b], w[a:b], K) for a, b in pairwise(edges)]
    for tree in (pieces, pieces[::-1]):
        total = LabelSums.start(K, apart=True)
        for piece in tree:
            total.merge(piece)
        assert_same(total, whole)
    before = copy.deepcopy(pieces[0])
    LabelSums.start(K, apart=True).merge(pieces[0])
    assert_same(pieces[0], before)


@given(seed=SEEDS, n=st.integers(1, 60), K=st.integers(2, 5), kind=kinds)
def test_weights_are_repetitions_and_0_or_no_label_is_absent(seed, n, K, kind):
    K = 2 if kind == "margins" else K
    predicted, codes, w = answers(seed, n, K, kind)
    times = np.where(codes >= 0, w, 0).astype(int)
    rows = np.repeat(np.arange(n), times)
    repeated = label_sums(taken(predicted, rows), codes[rows], None, K)
    found = label_sums(predicted, codes, w, K)
    found.rows = repeated.rows  # rows, not weights
    for mine, theirs in zip(
        [found.figures, *found.apart], [repeated.figures, *repeated.apart], strict=True
    ):
        mine.totals[0] = theirs.totals[0]
    assert_same(found, repeated)


@given(seed=SEEDS, n=st.integers(0, 40), q=st.integers(1, 3), data=st.data())
def test_any_cut_and_weights_of_value_sums(seed, n, q, data):
    rng = np.random.default_rng(seed)
    Y, F, w = 1e6 + rng.normal(size=(n, q)), 1e6 + rng.normal(size=(n, q)), rng.integers(0, 3, n) * 1.0
    Y[rng.random(n) < 0.1] = np.nan
    whole, pieces = ValueSums.start(q), ValueSums.start(q)
    whole.add(F, Y, w)
    cut = data.draw(st.integers(0, n))
    for a, b in ((0, cut), (cut, n)):
        piece = ValueSums.start(q)
        piece.add(F[a:b], Y[a:b], w[a:b])
        pieces.merge(piece)
    rows = np.repeat(np.arange(n), w.astype(int))
    repeated = ValueSums.start(q)
    repeated.add(F[rows], Y[rows])
    for other in (pieces, repeated):
        assert other.weight == whole.weight
        for name in ("squares", "sizes"):
            np.testing.assert_allclose(getattr(other, name), getattr(whole, name), rtol=1e-12)
        np.testing.assert_allclose(other.spread.S, whole.spread.S, rtol=1e-7, atol=1e-7)


@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=30))
def test_margins_keep_their_order_and_come_back(margins):
    d = np.sort(np.array(margins))
    P = ranked(d)
    assert (np.diff(P[:, 1]) >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-15)
    large = np.abs(d) > 1e-6
    np.testing.assert_allclose(unranked(P[large, 1]), d[large], rtol=1e-4)


# ---- figures are scikit-learn's --------------------------------------------------------------------
def assert_as_scikit_learn(found, model, X, y, w=None):
    """Every figure that both have."""
    P, best = model.predict_proba(X), model.predict(X)
    classes = model.classes_
    how = {"sample_weight": w}
    n = float(len(y) if w is None else w.sum())
    assert found.weight == pytest.approx(n, rel=1e-12)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(y, best, **how), rel=1e-12)
    assert found.error == pytest.approx(1 - found.accuracy, abs=1e-12)
    np.testing.assert_allclose(found.confusion, metrics.confusion_matrix(y, best, labels=classes, **how))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        y, best, labels=classes, zero_division=np.nan, **how
    )
    np.testing.assert_allclose(found.precision, precision, **PROMISED)
    np.testing.assert_allclose(found.recall, recall, **PROMISED)
    np.testing.assert_allclose(found.f1, f1, **PROMISED)
    np.testing.assert_allclose(found.expected, np.average(P, axis=0, weights=w), **PROMISED)
    own = P[np.arange(len(y)), np.searchsorted(classes, y)]
    if own.min() > 1e-15:  # theirs is cut off at 2e-16
        assert found.log_loss == pytest.approx(metrics.log_loss(y, P, labels=classes, **how), rel=1e-12)
    if len(classes) == 2:
        assert found.brier == pytest.approx(
            metrics.brier_score_loss(y, P[:, 1], pos_label=classes[1], **how), rel=1e-12, abs=1e-13
        )
        theirs = metrics.roc_auc_score(y, P[:, 1], **how)
        assert abs(found.auc - theirs) <= found.auc_error + 1e-15
        assert found.auc_error < 0.03  # of models that are sure of most rows
    else:
        check_auc_by_class(found, P, np.searchsorted(classes, y), w)


def check_auc_by_class(found, Z, codes, w):
    """That of each class against all others is scikit-learn's to within bins, and auc is their mean."""
    each = []
    for k, label in enumerate(found.classes.tolist()):
        if 0 < np.sum(codes == k) < len(codes):
            theirs = metrics.roc_auc_score(codes == k, Z[:, k], sample_weight=w)
            assert abs(found.aucs[k] - theirs) <= found.sums.apart[k].auc_error + 1e-12
            curve = found.roc(label)
            assert np.trapezoid(curve.true_positive, curve.false_positive) == pytest.approx(found.aucs[k])
            each.append(theirs)
    assert abs(found.auc - np.mean(each)) <= found.auc_error + 1e-12
    assert abs(found.auc - mean_auc(Z, codes, w)) <= found.auc_error + 1e-12  # as lk.compare has it
    with pytest.raises(ValueError, match="positive must be one of the classes"):
        found.roc()


BREAST = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
MODELS = [
    lk.GaussianNB(),
    lk.LinearDiscriminantAnalysis(),
    lk.LogisticRegression(C=0.01),
    lk.NaiveBayes(families="histogram"),
    lk.SGDClassifier(loss="log_loss", random_state=0),
    lk.OnlineClassifier(bits=10),
    RandomForestClassifier(7, max_depth=2, random_state=0),
    make_pipeline(StandardScaler(), RandomForestClassifier(3, max_depth=2, random_state=0)),
]


@pytest.mark.parametrize("rows", [BREAST, IRIS], ids=["two classes", "three"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_figures_are_those_of_scikit_learn(model, rows, weighted):
    X, y = rows
    X, labels = X / X.std(axis=0), np.array(["a", "bb", "ccc"])[y]
    model = clone(model).fit(X[::2], labels[::2])
    w = np.random.default_rng(0).integers(0, 4, len(y)) / 2 if weighted else None
    assert_as_scikit_learn(lk.evaluate(model, X, labels, w), model, X, labels, w)


def test_log_loss_is_not_cut_off():
    X, y = BREAST
    model = lk.GaussianNB().fit(X[:60], y[:60])
    own = model.predict_log_proba(X)[np.arange(len(y)), y]
    assert own.min() < -40
    assert lk.evaluate(model, X, y).log_loss == pytest.approx(-own.mean(), rel=1e-12)
    sure = RandomForestClassifier(3, random_state=0).fit(X[:300], y[:300])
    assert lk.evaluate(sure, X, y).log_loss == np.inf


@pytest.mark.parametrize("model", [lk.LinearSVC(), TheirLinearSVC(), lk.Perceptron()], ids=str)
def test_scores_of_more_classes_have_an_auc(model):
    X, y = IRIS
    model = clone(model).fit(X[:, :2], y)
    found = lk.evaluate(model, X[:, :2], y)
    check_auc_by_class(found, model.decision_function(X[:, :2]), y, None)
    assert list(found.figures) == ["error", "accuracy", "auc", "auc_error"]


def test_either_of_two_classes_has_a_curve():
    X, y = BREAST
    found = lk.evaluate(lk.GaussianNB().fit(X, y), X, y)
    for label in (0, 1):
        curve = found.roc(label)
        assert np.trapezoid(curve.true_positive, curve.false_positive) == pytest.approx(found.auc)
        assert (np.diff(curve.threshold[1:]) < 0).all()
    with pytest.raises(ValueError, match=r"positive must be .*; got 'x'"):
        found.roc("x")


@pytest.mark.parametrize("model", [lk.LinearSVC(), TheirLinearSVC(), lk.Perceptron()], ids=str)
def test_margins_have_errors_and_auc(model):
    X, y = BREAST
    X = X / X.std(axis=0)
    model = clone(model).fit(X, y)
    found = lk.evaluate(model, X, y)
    theirs = metrics.roc_auc_score(y, model.decision_function(X))
    assert abs(found.auc - theirs) <= found.auc_error + 1e-15
    assert found.auc_error < 1e-3
    assert found.accuracy == pytest.approx(model.score(X, y))
    assert np.isnan([found.log_loss, found.brier, found.calibration_error]).all()
    assert list(found.figures) == ["error", "accuracy", "auc", "auc_error"]
    with pytest.raises(ValueError, match="no probabilities"):
        found.calibration()
    thresholds = found.roc().threshold[1:]
    d = model.decision_function(X)
    assert thresholds.min() == pytest.approx(d.min(), rel=0.05)
    assert thresholds.max() == pytest.approx(d.max(), rel=0.05)


@pytest.mark.parametrize("q", [None, 1, 3])
@pytest.mark.parametrize("model", [lk.Ridge(), lk.LinearRegression(), TheirRidge()], ids=str)
def test_values_are_judged_as_scikit_learn_does(model, q):
    X, y = load_diabetes(return_X_y=True)
    Y = y if q is None else np.column_stack([y, X[:, 0] * 50, y**2])[:, :q]
    w = np.random.default_rng(1).integers(0, 4, len(y)) / 2
    model = clone(model).fit(X[::2], Y[::2])
    found, F = lk.evaluate(model, X, Y, w), model.predict(X)
    assert found.rmse == pytest.approx(metrics.root_mean_squared_error(Y, F, sample_weight=w), rel=1e-12)
    assert found.mae == pytest.approx(metrics.mean_absolute_error(Y, F, sample_weight=w), rel=1e-12)
    assert found.r2 == pytest.approx(metrics.r2_score(Y, F, sample_weight=w), rel=1e-12)
    assert found.to_frame().shape == (q or 1, 5)
    assert "rmse" in str(found)


def test_a_constant_target_and_a_single_row():
    model = lk.LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    assert lk.evaluate(model, [[1.0], [1.0]], [1.0, 1.0]).r2 == pytest.approx(1)
    assert lk.evaluate(model, [[1.0], [0.5]], [1.0, 1.0]).r2 == 0
    assert np.isnan(lk.evaluate(model, [[1.0]], [1.0]).r2)


def test_texts_are_judged_by_whatever_takes_them():
    texts, y = ["good film", "bad film", "very good", "bad, bad"] * 3, [1, 0, 1, 0] * 3
    model = make_pipeline(CountVectorizer(), TheirMultinomialNB()).fit(texts, y)
    assert lk.evaluate(model, texts, y).error == 0


# ---- curves ----------------------------------------------------------------------------------------
def test_the_area_below_the_curve_is_the_auc():
    X, y = BREAST
    model = lk.LinearDiscriminantAnalysis().fit(X[::3], y[::3])
    found = lk.evaluate(model, X, y)
    x, t, threshold = found.roc()
    assert np.trapezoid(t, x) == pytest.approx(found.auc, rel=1e-12)
    assert (x[0], t[0], x[-1], t[-1]) == (0, 0, 1, 1)
    assert (np.diff(threshold) < 0).all()
    p = model.predict_proba(X)[:, 1]
    for i in (5, 50, 100):  # bins are narrow: rows above a threshold are those of the bins above
        assert t[i] == pytest.approx(np.mean(p[y == 1] >= threshold[i]), abs=0.02)
    groups = found.calibration(10)
    assert groups.weight.sum() == len(y)
    assert groups.weight @ groups.rate == pytest.approx(y.sum())
    assert groups.weight @ groups.p == pytest.approx(p.sum())
    with pytest.raises(ValueError, match="positive must be one of the classes"):
        lk.evaluate(lk.GaussianNB().fit(*IRIS), *IRIS).roc()


# ---- sources -----------------------------------------------------------------------------------------
@pytest.fixture
def table(tmp_path):
    """Two classes of words, a weight, gaps, categories; in row groups, and as CSV."""
    rng = np.random.default_rng(3)
    n = 3000
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n) + y,
            "b": rng.normal(size=n) * (1 + y),
            "w": rng.integers(0, 4, n) / 2,
            "y": np.array(["no", "yes"])[y],
        }
    )
    frame.loc[::17, "a"] = np.nan
    frame["sky"] = np.where(rng.random(n) < 0.3 + 0.4 * y, "clear", "clouds")
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet", row_group_size=400)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return frame, tmp_path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("model", [lk.LinearDiscriminantAnalysis(), lk.NaiveBayes(), lk.OnlineClassifier()])
def test_a_source_is_judged_as_its_rows_in_memory(kind, model, table, monkeypatch):
    frame, folder = table
    columns = ["a", "b"] if isinstance(model, lk.LinearDiscriminantAnalysis) else ["a", "b", "sky"]
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", 1 << 13)  # parts of many threads
    source = lk.scan(folder / f"rows.{kind}", "y", columns, "w")
    model = clone(model).fit(source)
    found = lk.evaluate(model, source)
    whole = lk.evaluate(model, frame[columns], frame["y"], frame["w"])
    assert_same(found.sums, whole.sums)
    assert found.accuracy == model.score(source)
    assert_as_scikit_learn(found, model, frame[columns], frame["y"].to_numpy(), frame["w"].to_numpy())
    again = lk.evaluate(model, source)
    assert again.sums.figures.totals.tobytes() == found.sums.figures.totals.tobytes()


def test_scikit_learns_models_read_sources_too(table):
    frame, folder = table
    frame = frame.dropna()
    frame.to_parquet(folder / "whole.parquet")
    X, y = frame[["a", "b"]], frame["y"].to_numpy()
    source = lk.scan(folder / "whole.parquet", "y", ["b", "a"])
    for rows in (X, X[["b", "a"]].to_numpy()):  # by their names, or in the order of the source
        model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(rows, y)
        with nullcontext() if rows is X else pytest.warns(UserWarning, match="feature names"):
            found = lk.evaluate(model, source)
        assert found.accuracy == model.score(rows, y)
    ridge = TheirRidge().fit(X[["a"]], X["b"])
    found = lk.evaluate(ridge, lk.scan(folder / "whole.parquet", "b", ["a"]))
    assert found.r2 == pytest.approx(ridge.score(X[["a"]], X["b"]), rel=1e-12)


@pytest.mark.parametrize("model", [lk.LinearDiscriminantAnalysis(), lk.NaiveBayes(), lk.OnlineClassifier()])
def test_a_dask_collection_is_judged_as_its_rows(model, table):
    dd = pytest.importorskip("dask.dataframe")
    frame, _ = table
    X, y, w = frame[["a", "b"]], frame["y"], frame["w"]
    model = clone(model).fit(X, y)
    there = [dd.from_pandas(one, npartitions=4) for one in (X, y, w)]
    found = lk.evaluate(model, *there)
    assert_same(found.sums, lk.evaluate(model, X, y, w).sums)
    assert model.score(*there) == found.accuracy


def test_a_pass_of_judging_travels():
    cloudpickle = pytest.importorskip("cloudpickle")
    X, y = IRIS
    model = lk.GaussianNB().fit(X, y)
    start = partial(
        _start,
        LabelSums.start,
        3,
        partial(_of_chunk, class_predictions, model, ClassCodes.of(model), itself),
        None,
    )
    state = cloudpickle.loads(cloudpickle.dumps(start))()
    state.update(Chunk(Dense(X), y.astype(np.int32)))
    back = pickle.loads(pickle.dumps(state))
    assert back.answer is None  # the sums alone
    assert back.sums.accuracy == model.score(X, y)
    assert len(pickle.dumps(state)) < 110_000


def test_lines_are_scored_in_one_pass(table):
    frame, folder = table
    frame.dropna().to_csv(folder / "whole.csv", index=False)
    source = lk.scan(folder / "whole.csv", ["a"], ["b"], "w")
    model = lk.LinearRegression().fit(source)
    X, y, w = (frame.dropna()[name] for name in (["b"], ["a"], "w"))
    theirs = metrics.r2_score(y, model.predict(X), sample_weight=w)
    assert model.score(source) == pytest.approx(theirs, rel=1e-12)
    assert lk.evaluate(model, source).targets == ("a",)


# ---- labels that are new, and evaluations that meet ----------------------------------------------------
def test_labels_that_the_model_does_not_know_are_counted_apart(table):
    frame, folder = table
    model = lk.NaiveBayes().fit(frame[["b", "sky"]], frame["y"])
    frame.loc[:99, "y"] = "perhaps"
    frame.to_parquet(folder / "new.parquet")
    rest = lk.evaluate(model, frame[["b", "sky"]][100:], frame["y"][100:])
    in_memory = lk.evaluate(model, frame[["b", "sky"]], frame["y"])
    for found in (in_memory, lk.evaluate(model, lk.scan(folder / "new.parquet", "y", ["b", "sky"]))):
        assert (found.unknown, found.unknown_labels, found.rows) == (100, ("perhaps",), 3000)
        assert found.error == pytest.approx((rest.error * 2900 + 100) / 3000, rel=1e-12)
        assert found.log_loss == pytest.approx(rest.log_loss, rel=1e-12)
        np.testing.assert_array_equal(found.confusion, rest.confusion)
        np.testing.assert_array_equal(found.recall, rest.recall)
        assert (found.precision < rest.precision).all()
        assert "rows of weight 100 have labels that the model does not know ('perhaps')" in str(found)


def test_evaluations_of_rows_apart_merge():
    X, y = IRIS
    model = lk.LinearDiscriminantAnalysis().fit(X, y)
    whole, a, b = (lk.evaluate(model, X[at], y[at]) for at in (slice(None), slice(60), slice(60, None)))
    both = a.merge(b)
    assert_same(both.sums, whole.sums)
    assert (a.rows, b.rows) == (60, 90)
    assert str(both) == str(whole)
    other = lk.evaluate(lk.GaussianNB().fit(X[:100], y[:100]), X, y)
    with pytest.raises(ValueError, match="other classes"):
        whole.merge(other)
    F = load_diabetes(return_X_y=True)
    line = lk.Ridge().fit(*F)
    half = [lk.evaluate(line, F[0][at], F[1][at]) for at in (slice(200), slice(200, None))]
    assert half[0].merge(half[1]).r2 == pytest.approx(line.score(*F), rel=1e-12)
    with pytest.raises(ValueError, match="cannot be merged"):
        whole.merge(half[0])


def test_what_is_kept_is_small_and_travels():
    X, y = IRIS
    found = lk.evaluate(lk.GaussianNB().fit(X, y), X, y)
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    assert found.sums.nbytes < 100_000 * (1 + len(found.classes))
    assert list(found.to_frame()["class"]) == [0, 1, 2]
    assert "GaussianNB on 150 rows" in str(found)


# ---- the door ------------------------------------------------------------------------------------------
def test_what_cannot_be_judged_is_refused():
    X, y = IRIS
    model = lk.GaussianNB().fit(X, y)
    with pytest.raises(TypeError, match="got a str, which predicts no y"):
        lk.evaluate("model.lk", X, y)
    with pytest.raises(ValueError, match=r"strings, such as 'a', and .* numbers, such as 0:"):
        lk.evaluate(model, X, np.array(["a", "b", "c"])[y])
    with pytest.raises(TypeError, match="GaussianMixture, which predicts no y"):
        lk.evaluate(lk.GaussianMixture(2).fit(X), X, y)
    with pytest.raises(ValueError, match="not fitted"):
        lk.evaluate(lk.GaussianNB(), X, y)
    with pytest.raises(ValueError, match="requires y"):
        lk.evaluate(model, X)
    with pytest.raises(ValueError, match="expecting 4 features"):
        lk.evaluate(model, X[:, :2], y)
    with pytest.raises(ValueError, match=r"y holds strings, .*and the classes of the model are numbers"):
        lk.evaluate(model, X, np.array(["a", "b", "c"])[y])
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="y holds strings"):
        lk.evaluate(forest, X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        lk.evaluate(forest, X, y[:10])
    with pytest.raises(ValueError, match="all zero"):
        lk.evaluate(model, X, y, np.zeros(150))
    with pytest.raises(ValueError, match="Negative values"):
        lk.evaluate(model, X, y, -np.ones(150))
    with pytest.raises(ValueError, match="needs the y"):
        lk.evaluate(TheirRidge().fit(X, y), X)


def test_cells_and_labels_of_files_are_named(table):
    frame, folder = table
    model = lk.LinearDiscriminantAnalysis().fit(frame[["a", "b"]], frame["y"])
    frame.loc[2500, "b"] = np.inf
    frame.to_csv(folder / "far.csv", index=False)
    with pytest.raises(ValueError, match=r"row 2500 \(line 2502\) of .*far.csv, column 1 \('b'\)"):
        lk.evaluate(model, lk.scan(folder / "far.csv", "y", ["a", "b"]))
    frame.loc[2500, "b"] = 0
    frame.loc[2600, "y"] = None
    frame["n"] = range(3000)
    frame.to_csv(folder / "gone.csv", index=False)
    gone = lk.scan(folder / "gone.csv", "y", ["a", "b"])
    for ask in (model.score, lambda rows: lk.evaluate(model, rows)):
        with pytest.raises(ValueError, match=r"row 2600 \(line 2602\).*every row needs a label"):
            ask(gone)
    with pytest.raises(ValueError, match=r"y holds numbers, such as .*classes of the model are strings"):
        lk.evaluate(model, lk.scan(folder / "gone.csv", "n", ["a", "b"]))
