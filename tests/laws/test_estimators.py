"""The laws of an Estimator: scikit-learn's own, one answer from any cut, and Bayes' rule throughout."""

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.generators import LAYOUTS, SEEDS
from laws.parts import parts_of
from likelier.families import DiagonalGaussian

LDA, QDA = lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis

# A new estimator joins here.
ESTIMATORS = [
    lk.GaussianNB(),
    lk.GaussianNB(var_smoothing=1e-2),
    lk.NaiveBayes("gaussian"),
    LDA(),
    LDA(store_covariance=True),
    LDA(solver="lsqr"),
    LDA(solver="lsqr", shrinkage=0.3),
    LDA(solver="lsqr", shrinkage="auto"),
    LDA(solver="eigen"),
    LDA(solver="eigen", shrinkage=0.3),
    LDA(solver="eigen", shrinkage="auto"),
    QDA(),
    QDA(reg_param=0.1),
    QDA(store_covariance=True),
    QDA(solver="eigen"),
    QDA(solver="eigen", shrinkage=0.3),
    QDA(solver="eigen", shrinkage="auto"),
    lk.KernelDensityClassifier(),
    lk.KernelDensityClassifier(0.7),
    lk.KernelDensityClassifier("cv"),
]
LINEAR = [estimator for estimator in ESTIMATORS if isinstance(estimator, LDA)]
ADDITIVE = [estimator for estimator in ESTIMATORS if hasattr(estimator, "contributions")]

# Where rows are few, or columns constant, estimators say so; those tests are about something else.
may_be_degenerate = pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
# Kernels say so, too, where rows are few for so many columns: for them, all of these problems.
MARKED = [
    pytest.param(e, marks=may_be_degenerate if isinstance(e, lk.KernelDensityClassifier) else [])
    for e in ESTIMATORS
]
every_estimator = pytest.mark.parametrize("estimator", MARKED, ids=repr)
# Each example is a fit or two: fewer of them than for a state.
fewer = settings(max_examples=max(10, settings.default.max_examples // 5))


# ---- problems ------------------------------------------------------------------------------------
NAMES = {
    "numbers": lambda K: np.arange(K),
    "far numbers": lambda K: 10**9 * (np.arange(K) - 1),
    "strings": lambda K: np.array([f"class {chr(97 + k)}" for k in range(K)]),
    "objects": lambda K: np.array([f"{k}" for k in range(K)], dtype=object),
    "booleans": lambda K: np.arange(K) > 0 if K == 2 else np.arange(K),
}


@dataclass(frozen=True)
class Problem:
    X: np.ndarray
    y: np.ndarray

    def __getitem__(self, rows: Any) -> "Problem":
        return Problem(self.X[rows], self.y[rows])

    @property
    def classes(self) -> np.ndarray:
        return np.unique(self.y)


def problem(seed: int = 0, K: int = 3, p: int = 4, rows: int = 40, names: str = "strings") -> Problem:
    """Overlapping Gaussian classes of different shapes, in columns of different units; none degenerate."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.append(np.arange(K * rows) % K, np.zeros(rows, int)))  # twice as many of one
    mix = np.eye(p) + 0.5 * rng.uniform(-1, 1, (K, p, p)) / np.sqrt(p)
    noise = np.einsum("nij,nj->ni", mix[codes], rng.standard_normal((len(codes), p)))
    units = 10 ** rng.uniform(-0.5, 0.5, p)
    X = units * (noise + rng.standard_normal((K, p))[codes] + 3)
    return Problem(X, NAMES[names](K)[codes])


PROBLEMS = st.builds(
    problem,
    seed=SEEDS,
    K=st.sampled_from([2, 3, 5]),
    p=st.sampled_from([1, 2, 4, 9]),
    rows=st.integers(30, 60),
    names=st.sampled_from(list(NAMES)),
)


# ---- comparing -----------------------------------------------------------------------------------
def shown(model: Any) -> dict[str, Any]:
    """scikit-learn's fitted attributes."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_close(a: Any, b: Any, tolerance: float = 1e-10) -> None:
    """Relative to the largest of an array: small entries are differences of large ones."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    if a.dtype.kind != "f":
        np.testing.assert_array_equal(a, b)
        return
    size = max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0.0))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * size)


def assert_same_model(a: Any, b: Any, X: np.ndarray) -> None:
    """Up to rounding: parameters and answers."""
    assert shown(a).keys() == shown(b).keys()
    for name, value in shown(b).items():
        ours = getattr(a, name)
        if name == "scalings_":  # axes beyond K - 1 part no classes: any will do
            ours, value = ours[:, : len(b.classes_) - 1], value[:, : len(b.classes_) - 1]
        assert_close(ours, value)
    assert_close(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X))
    assert_close(a.predict_proba(X), b.predict_proba(X))


def assert_same_bits(a: Any, b: Any, X: np.ndarray) -> None:
    assert shown(a).keys() == shown(b).keys()
    for name, value in shown(b).items():
        np.testing.assert_array_equal(np.asarray(getattr(a, name)), np.asarray(value), err_msg=name)
    for ask in ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples"):
        np.testing.assert_array_equal(getattr(a, ask)(X), getattr(b, ask)(X), err_msg=ask)


def fit(estimator: Any, data: Problem, **how: Any) -> Any:
    return clone(estimator).fit(data.X, data.y, **how)


# ---- scikit-learn --------------------------------------------------------------------------------
# Not lsqr: as scikit-learn's own, it offers transform and then refuses.
CHECKED = [lk.GaussianNB(), LDA(), LDA("eigen", "auto"), QDA(), QDA(solver="eigen", shrinkage="auto")]
CHECKED += [lk.KernelDensityClassifier(), lk.BayesClassifier(KernelDensity())]
CHECKED += [lk.BayesClassifier(DiagonalGaussian())]


@may_be_degenerate
@parametrize_with_checks(CHECKED)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@every_estimator
def test_clone_is_unfitted_and_fits_the_same(estimator):
    data = problem()
    model = fit(estimator, data)
    again = clone(model)
    assert again.get_params() == estimator.get_params()
    assert not shown(again)
    with pytest.raises(NotFittedError):
        again.predict(data.X)
    assert_same_bits(again.fit(data.X, data.y), model, data.X)


@every_estimator
@fewer
@given(data=PROBLEMS)
def test_pickle_keeps_every_bit(estimator, data):
    model = fit(estimator, data)
    loaded = pickle.loads(pickle.dumps(model))
    assert_same_bits(loaded, model, data.X)
    assert_same_bits(loaded.merge(loaded), model.merge(model), data.X)  # the statistics, too


# ---- one answer ----------------------------------------------------------------------------------
@every_estimator
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_relabelling_permutes_the_columns(estimator, data, seed):
    K = len(data.classes)
    order = np.random.default_rng(seed).permutation(K)
    codes = np.searchsorted(data.classes, data.y)
    model, other = fit(estimator, data), fit(estimator, Problem(data.X, order[codes]))
    assert_close(other.predict_proba(data.X)[:, order], model.predict_proba(data.X))
    assert_close(other.predict_joint_log_proba(data.X)[:, order], model.predict_joint_log_proba(data.X))


@may_be_degenerate
@every_estimator
@fewer
@given(data=PROBLEMS, seed=SEEDS, count=st.integers(1, 5))
def test_any_cut_gives_the_fit_of_all_rows(estimator, data, seed, count):
    """By partial_fit, one piece after another, and by merging models of pieces, in any order."""
    rng = np.random.default_rng(seed)
    pieces = np.split(rng.permutation(len(data.y)), np.sort(rng.choice(len(data.y) - 1, count, False) + 1))
    whole, stepwise, models = fit(estimator, data), clone(estimator), []
    for rows in pieces:
        stepwise.partial_fit(data.X[rows], data.y[rows], classes=data.classes)
        models.append(clone(estimator).partial_fit(data.X[rows], data.y[rows], classes=data.classes))
    assert_same_model(stepwise, whole, data.X)
    assert_same_model(lk.merge(models), whole, data.X)


@may_be_degenerate
@every_estimator
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_models_of_different_classes_merge_to_their_union(estimator, data, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(data.classes)
    common, here = order[:2], np.isin(data.y, order[: 2 + (len(order) - 2) // 2])
    first = (np.isin(data.y, common) & (rng.random(len(data.y)) < 0.5)) | (~np.isin(data.y, common) & here)
    whole = fit(estimator, data)
    a, b = fit(estimator, data[first]), fit(estimator, data[~first])
    before = copy.deepcopy(a)
    assert_same_model(a.merge(b, classes="union"), whole, data.X)
    assert_same_model(b.merge(a, classes="union"), whole, data.X)
    assert_same_bits(a, before, data.X)
    if not np.array_equal(a.classes_, b.classes_):
        with pytest.raises(ValueError, match="union"):
            a.merge(b)


@every_estimator
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_a_weight_is_a_number_of_repetitions(estimator, data, seed):
    w = np.random.default_rng(seed).integers(0, 4, len(data.y))
    for label in data.classes:  # every class keeps rows enough for a covariance
        w[np.flatnonzero(data.y == label)[:12]] += 1
    repeated = data[np.repeat(np.arange(len(w)), w)]
    weighted = fit(estimator, data, sample_weight=w)
    assert_same_model(weighted, fit(estimator, repeated), data.X)
    present = fit(estimator, data[w > 0], sample_weight=w[w > 0])
    assert_same_model(weighted, present, data.X)


@may_be_degenerate
@every_estimator
@pytest.mark.parametrize("rows", [1, 2])
def test_weights_count_as_rows_where_rows_are_few(estimator, rows):
    """One or two rows a class, each of weight 3: what three times as many may do, they may."""
    X, y = np.array([[0.0], [4.0], [1.0], [5.5]])[: 2 * rows], np.array([0, 1, 0, 1])[: 2 * rows]
    repeated = clone(estimator).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert_same_model(clone(estimator).fit(X, y, sample_weight=3 * np.ones(len(y))), repeated, X)


@every_estimator
def test_threads_do_not_change_a_bit(estimator, monkeypatch):
    data, models = problem(rows=300), []
    with parts_of(512):
        for count in ("1", "2", "3"):
            monkeypatch.setenv("LIKELIER_THREADS", count)
            models.append(fit(estimator, data))
            assert_same_bits(models[-1], models[0], data.X)


@every_estimator
@fewer
@given(data=PROBLEMS)
def test_a_row_gets_the_same_answer_alone(estimator, data):
    model = fit(estimator, data)
    rows = range(0, len(data.y), 7)
    for ask in ("predict_joint_log_proba", "predict_proba", "predict_log_proba", "score_samples"):
        one_by_one = np.concatenate([getattr(model, ask)(data.X[[row]]) for row in rows])
        np.testing.assert_allclose(one_by_one, getattr(model, ask)(data.X)[rows], rtol=1e-12, atol=1e-300)


TABLES = {
    "Fortran": np.asfortranarray,
    "strided": lambda X: LAYOUTS["strided"](X).array,
    "backwards": lambda X: LAYOUTS["backwards"](X).array,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "big endian": lambda X: X.astype(">f8"),
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_matrix,
    "COO": sparse.coo_array,
    "list": lambda X: X.tolist(),
    "frame": lambda X: pd.DataFrame(X),
}


@every_estimator
@pytest.mark.parametrize("kind", list(TABLES))
def test_every_kind_of_table_gets_the_same_answers(estimator, kind):
    data = problem()
    X = data.X.astype(np.float16).astype(np.float64)  # digits that every type holds
    X[::3, 0] = X[1::4, 2] = 0
    model, same = clone(estimator).fit(X, data.y), clone(estimator).fit(TABLES[kind](X), data.y)
    for ask in ("predict_joint_log_proba", "predict_log_proba", "score_samples"):
        # Answers to single precision would be rounded to it, as scikit-learn's are.
        asked = X if kind == "float32" else TABLES[kind](X)
        assert_close(getattr(same, ask)(asked), getattr(model, ask)(X))


@may_be_degenerate
@every_estimator
def test_sparse_and_dense_agree_beside_a_column_of_ones(estimator):
    """Its variance is 0, or what smoothing makes of it: m²/v is huge, and must not be subtracted."""
    rng = np.random.default_rng(0)
    X = 0.1 * rng.random((300, 5)) * (rng.random((300, 5)) < 0.4)
    X[:, 4], y = 1.0, rng.integers(0, 2, 300)
    model, same = clone(estimator).fit(X, y), clone(estimator).fit(sparse.csr_array(X), y)
    assert_close(same.predict_log_proba(sparse.csr_array(X)), model.predict_log_proba(X))


# ---- columns that say nothing --------------------------------------------------------------------
@may_be_degenerate
@every_estimator
@pytest.mark.parametrize("constant", [0.1, -3.3, 1e8 + 0.1])
def test_what_a_constant_column_is_does_not_matter(estimator, constant):
    """0.1 is as constant as 1 is: rounding its mean must not make a direction out of it."""
    data = problem()
    tables = (np.column_stack([data.X, np.full(len(data.y), value)]) for value in (1.0, constant))
    P, Q = (clone(estimator).fit(X, data.y).predict_proba(X) for X in tables)
    assert_close(Q, P, 1e-8)


@every_estimator
def test_moving_the_origin_does_not_change_the_answers(estimator):
    data = problem()
    P = fit(estimator, data).predict_proba(data.X)
    moved = data.X + 2.0**20  # exact to 2^-32: that much of a column, and no more, is lost
    assert_close(clone(estimator).fit(moved, data.y).predict_proba(moved), P, 1e-7)


# ---- pure ----------------------------------------------------------------------------------------
QUESTIONS = {
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X, priors=[0.2, 0.3, 0.5]),
    "predict_log_proba": lambda model, X: model.predict_log_proba(X),
    "decision_function": lambda model, X: model.decision_function(X),
    "score_samples": lambda model, X: model.score_samples(X),
    "decide": lambda model, X: model.decide(X, reject=0.1),
    "sample": lambda model, X: model.sample(3, random_state=0)[0],
    "marginal": lambda model, X: model.marginal([0]).predict(X[:, :1]),
    "condition": lambda model, X: model.condition({0: 1.0}).predict(X[:, 1:]),
}


@every_estimator
@pytest.mark.parametrize("question", list(QUESTIONS))
def test_questions_change_nothing(estimator, question):
    data = problem()
    model = fit(estimator, data)
    before = copy.deepcopy(model)
    X = data.X.copy()
    X.flags.writeable = False
    first, second = (QUESTIONS[question](model, X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert vars(model).keys() == vars(before).keys()
    assert_same_bits(model, before, data.X)


@every_estimator
def test_a_failed_fit_leaves_the_model_as_it_was(estimator):
    data = problem()
    model = fit(estimator, data)
    before = copy.deepcopy(model)
    bad = data.X.copy()
    bad[5, 1] = np.inf
    gappy = bad.copy()
    gappy[3, 0] = gappy[5, 0] = np.nan
    for attempt in (model.fit, model.partial_fit):
        for table in (bad, gappy):
            with pytest.raises(ValueError, match=r"infinity.*row 5, column 1"):
                attempt(table, data.y)
            assert_same_bits(model, before, data.X)


@every_estimator
def test_partial_fit_touches_nothing_that_was_handed_out(estimator):
    """A copy made before keeps its statistics, and a step that fails leaves no trace in them."""
    data = problem()
    model = fit(estimator, data)
    kept, twice = copy.copy(model), model.merge(model)
    model.partial_fit(data.X, data.y)
    assert_same_bits(model, twice, data.X)
    assert_same_bits(kept.merge(kept), twice, data.X)
    with pytest.raises(ValueError, match="non-negative"):
        kept.set_params(priors=[-1, 1, 1]).partial_fit(data.X, data.y)
    kept.set_params(priors=None)
    assert_same_bits(kept.merge(kept), twice, data.X)


# ---- names ---------------------------------------------------------------------------------------
def frame(data: Problem) -> pd.DataFrame:
    return pd.DataFrame(data.X, columns=["a", "b", "c", "d"])


@every_estimator
def test_feature_names_are_kept_and_checked(estimator):
    data = problem()
    X = frame(data)
    model = clone(estimator).fit(X, data.y)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c", "d"])
    assert_same_bits(model, model, X)  # no warning: the names fit
    np.testing.assert_array_equal(model.predict_proba(X), fit(estimator, data).predict_proba(data.X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["b", "a", "c", "d"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(data.X)


@every_estimator
def test_names_are_the_names_of_columns_everywhere(estimator):
    data = problem()
    X = frame(data)
    model = clone(estimator).fit(X, data.y)
    assert_close(
        model.marginal(["d", "a"]).predict_proba(X[["d", "a"]]),
        model.marginal([3, 0]).predict_proba(X[["d", "a"]]),
    )
    assert_close(
        model.condition({"b": 1.0}).predict_proba(X[["a", "c", "d"]]),
        model.condition({1: 1.0}).predict_proba(X[["a", "c", "d"]]),
    )
    assert list(model.marginal(["d", "a"]).feature_names_in_) == ["d", "a"]
    assert list(model.condition({"b": 1.0}).feature_names_in_) == ["a", "c", "d"]
    for wrong in ("e", 4, -1):
        with pytest.raises(ValueError, match="no column"):
            model.marginal([wrong])
    X.loc[7, "c"] = np.inf
    for attempt in (model.fit, lambda X, y: model.predict(X)):
        with pytest.raises(ValueError, match=r"row 7, column 2 \('c'\)"):
            attempt(X, data.y)


@every_estimator
def test_models_of_other_columns_do_not_merge(estimator):
    data = problem()
    model = clone(estimator).fit(frame(data), data.y)
    other = clone(estimator).fit(frame(data).rename(columns={"a": "z"}), data.y)
    for wrong in (other, fit(estimator, data), fit(estimator, Problem(data.X[:, :3], data.y))):
        with pytest.raises(ValueError, match="columns differ"):
            model.merge(wrong)


# ---- what a score is made of ---------------------------------------------------------------------
@pytest.mark.parametrize("estimator", ADDITIVE, ids=repr)
@fewer
@given(data=PROBLEMS)
def test_contributions_sum_to_the_score(estimator, data):
    model = fit(estimator, data)
    values, base = model.contributions(data.X)
    K = len(data.classes)
    assert values.shape == (len(data.y), K, data.X.shape[1])
    scores = base + values.sum(axis=2)
    joint = model.predict_joint_log_proba(data.X)
    assert_close(scores, joint, 1e-9)
    decision = model.decision_function(data.X)
    if K == 2:
        assert_close(scores[:, 1] - scores[:, 0], decision)
    else:  # up to what all classes share
        gap = scores - decision
        assert_close(gap, np.broadcast_to(gap[:, :1], gap.shape), 1e-9)


@pytest.mark.parametrize("estimator", LINEAR, ids=repr)
@fewer
@given(data=PROBLEMS)
def test_the_linear_reading_predicts_the_same(estimator, data):
    model = fit(estimator, data)
    linear = model.to_linear()
    np.testing.assert_array_equal(linear.predict(data.X), model.predict(data.X))
    assert_close(linear.predict_proba(data.X), model.predict_proba(data.X))
    assert_close(linear.predict_log_proba(data.X), model.predict_log_proba(data.X), 1e-9)
    gap = np.atleast_2d((linear.decision_function(data.X) - model.decision_function(data.X)).T)
    assert_close(gap, np.broadcast_to(gap[:1], gap.shape), 1e-9)  # at most what all classes share
    if len(data.classes) == 2:
        assert_close(linear.decision_function(data.X), model.decision_function(data.X))
    by_hand = (data.X @ model.coef_.T + model.intercept_).reshape(model.decision_function(data.X).shape)
    assert_close(by_hand, model.decision_function(data.X))


@pytest.mark.parametrize("estimator", LINEAR, ids=repr)
def test_the_linear_reading_knows_the_names_too(estimator):
    data = problem()
    X = frame(data)
    model = clone(estimator).fit(X, data.y)
    np.testing.assert_array_equal(model.to_linear().predict(X), model.predict(X))


# ---- Bayes' rule ---------------------------------------------------------------------------------
@every_estimator
@fewer
@given(data=PROBLEMS)
def test_probabilities_are_the_joint_divided_by_its_sum(estimator, data):
    model = fit(estimator, data)
    joint = model.predict_joint_log_proba(data.X)
    total = logsumexp(joint, axis=1)
    assert_close(model.score_samples(data.X), total)
    assert_close(model.predict_log_proba(data.X), joint - total[:, None], 1e-9)
    assert_close(model.predict_proba(data.X), np.exp(joint - total[:, None]))
    assert_close(model.predict_proba(data.X).sum(axis=1), np.ones(len(data.y)))
    np.testing.assert_array_equal(model.predict(data.X), model.classes_[joint.argmax(axis=1)])


def prior_of(model: Any) -> np.ndarray:
    return model.class_prior_ if hasattr(model, "class_prior_") else model.priors_


@every_estimator
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_other_priors_follow_bayes_rule(estimator, data, seed):
    model = fit(estimator, data)
    priors = np.random.default_rng(seed).dirichlet(np.ones(len(data.classes)))
    P = model.predict_proba(data.X) * priors / prior_of(model)
    assert_close(model.predict_proba(data.X, priors=priors), P / P.sum(axis=1, keepdims=True))
    assert_close(np.exp(model.predict_log_proba(data.X, priors=priors)), P / P.sum(axis=1, keepdims=True))


@every_estimator
def test_a_class_of_prior_0_is_never_chosen(estimator):
    data = problem()
    P = fit(estimator, data).predict_proba(data.X, priors=[0.5, 0.0, 0.5])
    np.testing.assert_array_equal(P[:, 1], 0)
    assert np.isfinite(P).all()


@every_estimator
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_decisions_cost_the_least(estimator, data, seed):
    model, K = fit(estimator, data), len(data.classes)
    np.testing.assert_array_equal(model.decide(data.X), model.predict(data.X))
    costs = np.random.default_rng(seed).exponential(size=(K, K))
    P = model.predict_proba(data.X)
    expected = np.array([[sum(p[j] * costs[j, k] for j in range(K)) for k in range(K)] for p in P])
    best = model.classes_[expected.argmin(axis=1)]
    np.testing.assert_array_equal(model.decide(data.X, costs), best)
    limit = float(np.sort(expected.min(axis=1))[[K, K + 1]].mean())  # some below, some above, none at it
    decided = model.decide(data.X, costs, reject=limit)
    rejected = np.array([label is None for label in decided])
    np.testing.assert_array_equal(rejected, expected.min(axis=1) > limit)
    np.testing.assert_array_equal(decided[~rejected].astype(best.dtype), best[~rejected])


@every_estimator
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_conditioning_is_the_joint_with_some_columns_known(estimator, data, seed):
    model, p = fit(estimator, data), data.X.shape[1]
    if p == 1:
        return
    rng = np.random.default_rng(seed)
    given_columns = rng.permutation(p)[: rng.integers(1, p)]
    rest = np.setdiff1d(np.arange(p), given_columns)
    x = data.X[rng.integers(len(data.y))]
    known = model.condition({int(j): x[j] for j in given_columns})
    X = np.broadcast_to(x, data.X.shape).copy()
    X[:, rest] = data.X[:, rest]
    assert_close(known.predict_proba(X[:, rest]), model.predict_proba(X), 1e-9)
    seen = model.marginal(given_columns)
    assert_close(prior_of(known), seen.predict_proba(x[None, given_columns])[0], 1e-9)
    evidence = seen.score_samples(x[None, given_columns])
    assert_close(known.score_samples(X[:, rest]) + evidence, model.score_samples(X), 1e-9)


@every_estimator
def test_a_class_that_the_condition_all_but_excludes_can_come_back(estimator):
    """The third column says class 2 is 17 digits away; the second says it is that class all the same."""
    y = np.repeat([0, 1, 2], 200)
    centres = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 20.0, 9.0]])
    X = centres[y] + np.random.default_rng(0).standard_normal((600, 3))
    model = clone(estimator).fit(X, y)
    known = model.condition({2: 0.0}).predict_proba([[0.0, 20.0]])
    assert_close(known, model.predict_proba([[0.0, 20.0, 0.0]]), 1e-9)


def class_densities(model: Any) -> list[Any]:
    """The Gaussians of the classes, from what scikit-learn shows of them."""
    if isinstance(model, lk.GaussianNB):
        shapes = [np.diag(v) for v in model.var_]
        return [stats.multivariate_normal(m, S) for m, S in zip(model.theta_, shapes, strict=True)]
    if isinstance(model, QDA):
        shapes = [(R * s) @ R.T for R, s in zip(model.rotations_, model.scalings_, strict=True)]
    else:
        shapes = [model.covariance_] * len(model.means_)
    return [stats.multivariate_normal(m, S) for m, S in zip(model.means_, shapes, strict=True)]


GAUSSIAN = [e for e in ESTIMATORS if isinstance(e, lk.GaussianNB | LDA | QDA)]
SHOWN = [e for e in GAUSSIAN if not isinstance(e, LDA) or e.solver != "svd" or e.store_covariance]


@pytest.mark.parametrize("estimator", SHOWN, ids=repr)
@fewer
@given(data=PROBLEMS)
def test_answers_follow_from_the_attributes_by_hand(estimator, data):
    model = fit(estimator, data)
    densities = np.array([np.atleast_1d(law.logpdf(data.X)) for law in class_densities(model)]).T
    assert_close(model.predict_joint_log_proba(data.X), densities + np.log(prior_of(model)), 1e-9)


@pytest.mark.parametrize("estimator", SHOWN, ids=repr)
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_marginals_follow_from_the_attributes_by_hand(estimator, data, seed):
    model, p = fit(estimator, data), data.X.shape[1]
    rng = np.random.default_rng(seed)
    kept = rng.permutation(p)[: rng.integers(1, p + 1)]
    X = data.X[:, kept]
    densities = [
        np.atleast_1d(stats.multivariate_normal.logpdf(X, law.mean[kept], law.cov[np.ix_(kept, kept)]))
        for law in class_densities(model)
    ]
    joint = np.array(densities).T + np.log(prior_of(model))
    marginal = model.marginal(kept)
    assert_close(marginal.predict_joint_log_proba(X), joint, 1e-9)
    assert_close(marginal.predict_proba(X), np.exp(joint - logsumexp(joint, axis=1)[:, None]), 1e-9)


@pytest.mark.parametrize("columns", [[0], [0, 1], [2, 1, 3]], ids=str)
def test_axes_chosen_for_all_columns_do_not_forbid_a_marginal(columns):
    data = problem(K=4)
    model = LDA(n_components=3).fit(data.X, data.y)
    assert_close(
        model.marginal(columns).predict_proba(data.X[:, columns]),
        LDA().fit(data.X, data.y).marginal(columns).predict_proba(data.X[:, columns]),
    )


@every_estimator
def test_what_keeps_no_statistics_says_so(estimator):
    data = problem()
    derived = fit(estimator, data).marginal([0, 1])
    for attempt in (lambda: derived.merge(derived), lambda: derived.partial_fit(data.X[:, :2], data.y)):
        with pytest.raises(ValueError, match="statistics"):
            attempt()


# ---- samples -------------------------------------------------------------------------------------
@every_estimator
def test_samples_repeat_with_their_seed(estimator):
    model = fit(estimator, problem())
    (X, y), (same, labels), (other, _) = (model.sample(50, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(X, same)
    np.testing.assert_array_equal(y, labels)
    assert not np.isclose(X, other).all()
    assert X.shape == (50, 4)
    assert set(y) <= set(model.classes_)


@every_estimator
def test_samples_are_of_the_classes_asked_for(estimator):
    model = fit(estimator, problem())
    a, b, _ = model.classes_
    assert set(model.sample(20, y=b, random_state=0)[1]) == {b}
    X, y = model.sample(3, y=[b, a, b], random_state=0)
    np.testing.assert_array_equal(y, [b, a, b])
    assert X.shape == (3, 4)
    for wrong in ({"y": "no such class"}, {"n_samples": 0}, {"n_samples": 3, "y": [a, b]}):
        with pytest.raises(ValueError, match=r"class|sample|labels"):
            model.sample(**wrong)


@every_estimator
def test_samples_have_the_shares_and_means_of_the_classes(estimator):
    data, n = problem(), 20_000
    model = fit(estimator, data)
    X, y = model.sample(n, random_state=0)
    if isinstance(model, lk.NaiveBayes):
        means = [data.X[data.y == label].mean(axis=0) for label in model.classes_]
    else:
        means = model.theta_ if hasattr(model, "theta_") else model.means_
    for label, prior, mean in zip(model.classes_, prior_of(model), means, strict=True):
        rows = X[y == label]
        assert abs(len(rows) - n * prior) < 5 * np.sqrt(n * prior * (1 - prior))
        assert (np.abs(rows.mean(axis=0) - mean) < 5 * rows.std(axis=0) / np.sqrt(len(rows))).all()


@pytest.mark.parametrize("estimator", [lk.GaussianNB(), LDA(), QDA()], ids=repr)
def test_priors_that_pass_the_door_are_good_for_samples_too(estimator):
    """Thirds in 6 digits sum to 0.999999: near enough for `fit`, so for all that follows."""
    data = problem()
    model = clone(estimator).set_params(priors=[0.333333] * 3).fit(data.X, data.y)
    assert len(model.sample(5, random_state=0)[1]) == 5
    assert abs(prior_of(model).sum() - 1) < 1e-12


@pytest.mark.parametrize("estimator", [lk.GaussianNB(), LDA(), QDA()], ids=repr)
def test_a_condition_on_nothing_is_the_model_itself(estimator, capfd):
    data = problem()
    model = fit(estimator, data)
    assert_close(model.condition({}).predict_proba(data.X), model.predict_proba(data.X))
    assert capfd.readouterr() == ("", "")  # nor does LAPACK print its opinion
