"""Naive Bayes with fitted weights: what is minimised, that it is least there, and however rows come."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.parts import parts_of
from likelier.data import Chunk, Dense
from likelier.engines import run
from likelier.estimators.generative.column_weights import BIASES, COMMON, Problem
from likelier.families import DiagonalGaussian
from likelier.states import ColumnMoments
from likelier.states.rows import Reservoir

WEIGHTED = {"weighting": "discriminative"}


def table(n: int = 300, K: int = 2, seed: int = 0, gaps: float = 0.1) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns that repeat each other, columns of noise, numbers and categories; some cells are missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    x = rng.normal(y, 1.0)
    sky = (y + rng.integers(3, size=n)) % 4
    columns = {
        "bell": x,
        "twin": x + rng.normal(0, 0.1, n),
        "noise": rng.normal(0, 1, n),
        "truth": (rng.random(n) < 0.2 + 0.3 * (y % 2)).astype(float),
        "sky": np.array(["clear", "clouds", "fog", "rain"], dtype=object)[sky],
        "again": np.array(["a", "b", "c", "d"], dtype=object)[sky],
    }
    frame = pd.DataFrame(columns)
    return frame.mask(rng.random(frame.shape) < gaps), np.array(["u", "v", "w"])[y]


def fit(X: Any, y: Any, families: Any = "auto", **how: Any) -> lk.NaiveBayes:
    return lk.NaiveBayes(families, **WEIGHTED).fit(X, y, **how)


@pytest.fixture(scope="module", params=[2, 3], ids=["2 classes", "3 classes"])
def fitted(request) -> tuple[lk.NaiveBayes, pd.DataFrame, np.ndarray]:
    X, y = table(K=request.param)
    return fit(X, y), X, y


def problem_of(model: lk.NaiveBayes) -> Problem:
    return Problem.of(model._plan.family(model._smoothing()), model._statistics, model._model.params)


# ---- what is minimised ---------------------------------------------------------------------------
def objective(L, offset, y, strength, w=1.0):
    """As the docs say it, the common weight among the variables: (s, weights, biases)."""
    u = L.shape[2]

    def f(theta):
        s, weights, b = theta[0], theta[1 : 1 + u], theta[1 + u :]
        Z = offset + b + L @ weights
        loss = (w * (logsumexp(Z, axis=1) - Z[np.arange(len(y)), y])).sum()
        spread = strength * ((weights - s) ** 2).sum() + COMMON * (s - 1) ** 2 + BIASES * (b**2).sum()
        return loss + 0.5 * spread

    return f


def anew(X: pd.DataFrame, y: np.ndarray, families: Any) -> tuple[np.ndarray, np.ndarray]:
    """ln p_j(x_j | C_k) and ln p(C_k) of each row, by a model without weights fitted to all others."""
    L, offset = [], []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        model = lk.NaiveBayes(families).fit(X[rest], y[rest])
        found = model.contributions(X.iloc[[i]])
        L.append(np.moveaxis(found.values[0], 0, 0))
        offset.append(found.base)
    return np.array(L), np.array(offset)


@pytest.mark.parametrize("K", [2, 3])
def test_weights_are_those_of_scipy_on_models_fitted_anew_without_each_row(K):
    X, y = table(70, K)
    X = X[["truth", "sky", "again"]].assign(city=np.array(["x", "y"])[np.arange(70) % 2])
    model = fit(X, y, {"truth": "bernoulli"})
    families = model.families_
    L, offset = anew(X, y, families)
    kept = [j for j, choice in enumerate(families.values()) if not choice.pooled]
    codes = np.searchsorted(model.classes_, y)
    f = objective(L[:, :, kept], offset, codes, model.weight_penalty_)
    start = np.concatenate([np.ones(1 + len(kept)), np.zeros(K)])
    bounds = [(None, None), *[(0, None)] * len(kept), *[(None, None)] * K]
    found = minimize(f, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9})
    np.testing.assert_allclose(model.column_weights_[kept], found.x[1 : 1 + len(kept)], atol=2e-4)
    np.testing.assert_allclose(model.class_bias_, found.x[1 + len(kept) :], atol=2e-4)
    others = np.setdiff1d(np.arange(X.shape[1]), kept)
    np.testing.assert_array_equal(model.column_weights_[others], 0)


def test_the_weights_are_stationary(fitted):
    """KKT: no slope where a weight is above 0, none downwards where it is 0."""
    model, _, _ = fitted
    problem = problem_of(model)
    weights = np.array([model.column_weights_[columns[0]] for columns in problem.columns])
    strength, u = model.weight_penalty_, problem.u
    s = (strength * weights.sum() + COMMON) / (strength * u + COMMON)
    f = objective(problem.L, problem.offset, problem.y, strength, problem.w)
    slope = approx_fprime(np.concatenate([[s], weights, model.class_bias_]), f, 1e-6)
    assert abs(slope[0]) < 1e-3
    of_weights = slope[1 : 1 + u]
    assert np.abs(of_weights[weights > 1e-4]).max() < 1e-2
    assert (of_weights[weights == 0] > -1e-2).all()
    assert np.abs(slope[1 + u :]).max() < 1e-2
    assert (weights > 0).any()


def test_no_other_strength_of_the_penalty_has_more_evidence(fitted):
    from likelier.estimators.generative.column_weights import STRENGTHS, _evidence, minimum

    model, _, _ = fitted
    problem = problem_of(model)
    found = {}
    for strength in STRENGTHS:
        at, H = minimum(problem, strength, np.concatenate([np.ones(problem.u), np.zeros(problem.K)]))
        found[strength] = _evidence(problem, strength, at, H)
    at = STRENGTHS.index(model.weight_penalty_)
    near = [found[strength] for strength in STRENGTHS[max(at - 1, 0) : at + 2]]
    assert found[model.weight_penalty_] >= max(near) - 1e-6


EACH = ["bernoulli", "categorical", "poisson", "geometric", "gamma", "exponential", "gaussian", "histogram"]


@pytest.mark.parametrize("family", [*EACH, "kernel", "beta"])
def test_densities_are_those_of_models_without_the_row(family):
    """Exactly, but for what the row adds to what all classes share, or to the bandwidth of kernels."""
    rng = np.random.default_rng(3)
    y = np.arange(40) % 2
    x = {
        "bernoulli": rng.random(40) < 0.3 + 0.4 * y,
        "categorical": rng.integers(4, size=40),
        "poisson": rng.poisson(2 + y),
        "geometric": rng.poisson(2 + y),
        "beta": rng.beta(2 + y, 2),
    }.get(family, rng.gamma(2 + y, 1.0))
    X = pd.DataFrame({"x": np.asarray(x, dtype=float), "z": rng.normal(y, 1)})
    X.iloc[5, 0] = np.nan
    model = fit(X, y, {"x": family, "z": "gaussian"})
    families = model.families_ if family in ("categorical", "histogram") else model.families
    L, offset = anew(X, y, families)
    order = np.argsort([columns[0] for columns in problem_of(model).columns])
    problem = problem_of(model)
    rows = np.argsort(model._statistics.reservoir.in_order().keys)
    held = model._statistics.reservoir.in_order().X
    at = [int(np.flatnonzero(held[:, 1] == z)[0]) for z in X["z"]]
    found = problem.L[at][:, :, order]
    assert len(rows) == 40
    exact = 1e-6 if family in ("bernoulli", "categorical", "geometric") else 0.25
    np.testing.assert_allclose(
        found[:, 1, 0] - found[:, 0, 0], L[:, 1, 0] - L[:, 0, 0], atol=exact, rtol=exact
    )
    np.testing.assert_allclose(problem.offset[at], offset, rtol=1e-12)


# ---- what the model says -------------------------------------------------------------------------
def test_contributions_add_up_to_the_scores(fitted):
    model, X, _ = fitted
    found = model.contributions(X)
    Z = found.base + found.values.sum(axis=2)
    np.testing.assert_allclose(softmax(Z, axis=1), model.predict_proba(X), rtol=1e-9, atol=1e-12)
    pure = lk.NaiveBayes(model.families_).fit(X, fitted[2]).contributions(X)
    np.testing.assert_allclose(found.values, pure.values * model.column_weights_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.base, pure.base + model.class_bias_, rtol=1e-9)


def test_densities_are_those_of_the_model_without_weights(fitted):
    model, X, y = fitted
    pure = lk.NaiveBayes(model.families_).fit(X, y)
    for name in ("score_samples", "predict_joint_log_proba", "is_outlier"):
        np.testing.assert_array_equal(getattr(model, name)(X), getattr(pure, name)(X))
    pd.testing.assert_frame_equal(model.impute(X), pure.impute(X))
    for ours, theirs in zip(model.sample(20, random_state=1), pure.sample(20, random_state=1), strict=True):
        assert (ours == theirs).all()
    given = {"sky": "fog", "bell": 0.5}
    ours, theirs = model.condition(given), pure.condition(given)
    rest = X[list(ours.feature_names_in_)]
    np.testing.assert_array_equal(ours.predict_proba(rest), theirs.predict_proba(rest))
    assert ours.weighting is None
    assert not hasattr(ours, "column_weights_")


def test_a_missing_column_adds_nothing(fitted):
    model, X, _ = fitted
    some = model.marginal(["bell", "sky"])
    blank = X.assign(twin=np.nan, noise=np.nan, truth=np.nan, again=None)
    np.testing.assert_allclose(
        some.predict_proba(X[["bell", "sky"]]), model.predict_proba(blank), rtol=1e-9
    )
    nothing = X.iloc[:1].mask(np.ones((1, X.shape[1]), dtype=bool))
    expected = softmax(np.log(model.class_prior_) + model.class_bias_)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], expected, rtol=1e-12)


def test_other_priors_change_the_odds_alone(fitted):
    model, X, y = fitted
    K = len(model.classes_)
    given = np.arange(1, K + 1) / np.arange(1, K + 1).sum()
    P = model.predict_proba(X) * given / model.class_prior_
    np.testing.assert_allclose(
        model.predict_proba(X, priors=given), P / P.sum(axis=1, keepdims=True), rtol=1e-9
    )
    constructed = lk.NaiveBayes(priors=given, **WEIGHTED).fit(X, y)
    np.testing.assert_allclose(constructed.column_weights_, model.column_weights_, rtol=1e-9)
    np.testing.assert_allclose(
        constructed.predict_proba(X), model.predict_proba(X, priors=given), rtol=1e-9
    )
    adapted = model.adapt_priors(X)
    logs = model.predict_log_proba(X) - np.log(model.class_prior_)
    again = softmax(logs + np.log(adapted), axis=1).mean(axis=0)
    np.testing.assert_allclose(again, adapted, atol=1e-4)


def test_families_are_those_that_tell_most_alone(fitted):
    """Weights see to it that columns are not too sure together: a curve must be better by an error."""
    model, X, y = fitted
    for choice in model.selection_:
        alone = lk.NaiveBayes(**WEIGHTED).fit(X[[choice.column]], y).selection_[0]
        assert alone.picked == choice.picked
        np.testing.assert_allclose(list(alone.losses.values()), list(choice.losses.values()), rtol=1e-9)


def test_the_selection_says_which_columns_are_left_out(fitted):
    model, X, _ = fitted
    for choice, weight in zip(model.selection_, model.column_weights_, strict=True):
        assert choice.weight == weight
        assert ("left out" in str(choice)) == (weight == 0)
    assert "weight" not in str(lk.NaiveBayes().fit(X, fitted[2]).selection_[0])


@pytest.mark.parametrize("K", [2, 3])
def test_weights_of_statistics_predict_the_same(K):
    X, y = table(200, K, gaps=0.0)
    X = X[["truth", "sky", "again"]].assign(count=np.random.default_rng(0).poisson(3, 200))
    model = fit(X, y, {"count": "poisson", "truth": "bernoulli"})
    linear = model.to_linear()
    np.testing.assert_allclose(linear.predict_proba(model.statistics(X)), model.predict_proba(X), rtol=1e-9)


def test_groups_have_one_weight_and_kernels_have_weights():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.standard_normal((200, 9)) + y[:, None]
    X[:, 1] += X[:, 0]
    X[:, 5:8] = rng.dirichlet([1, 2, 3], 200)
    families = {(0, 1): "gaussian-full", 2: "kernel", (5, 6, 7): "dirichlet", 8: DiagonalGaussian(0.1)}
    model = fit(X, y, families)
    w = model.column_weights_
    assert w[0] == w[1] > 0
    assert w[5] == w[6] == w[7]
    assert (w[[2, 8]] > 0).all()
    X[3, [0, 2, 8]] = np.nan
    found = model.contributions(X)
    Z = found.base + found.values.sum(axis=2)
    np.testing.assert_allclose(softmax(Z, axis=1), model.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_twins_share_the_weight_of_one():
    """A column that is there twice counts once: naive Bayes counts it twice."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=3000)
    x = rng.normal(y, 1.0)
    X = np.column_stack([x, x, rng.normal(y, 1.0)])
    model = fit(X[:2000], y[:2000], "gaussian")
    np.testing.assert_allclose(model.column_weights_[:2].sum(), 1, atol=0.15)
    np.testing.assert_allclose(model.column_weights_[2], 1, atol=0.15)
    pure = lk.NaiveBayes("gaussian").fit(X[:2000], y[:2000])
    ours, theirs = (log_loss(y[2000:], one.predict_proba(X[2000:])) for one in (model, pure))
    assert ours < 0.99 * theirs


# ---- however rows come ---------------------------------------------------------------------------
def alike(one: lk.NaiveBayes, other: lk.NaiveBayes, X: Any, rtol: float = 1e-6) -> None:
    np.testing.assert_allclose(other.column_weights_, one.column_weights_, rtol=rtol, atol=1e-8)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=rtol)


def test_weights_of_rows_mean_repetition(fitted):
    model, X, y = fitted
    w = np.random.default_rng(0).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), w)
    one = fit(X, y, model.families_, sample_weight=w)
    alike(one, fit(X.iloc[again], y[again], model.families_), X)
    alike(one, fit(X[w > 0], y[w > 0], model.families_, sample_weight=w[w > 0]), X)


def test_the_orders_of_rows_columns_and_labels_do_not_matter(fitted):
    model, X, y = fitted
    order = np.random.default_rng(0).permutation(len(y))
    alike(model, fit(X.iloc[order], y[order], model.families_), X)
    turned = X[X.columns[::-1]]
    other = fit(turned, y)
    np.testing.assert_allclose(other.column_weights_[::-1], model.column_weights_, rtol=1e-6, atol=1e-8)
    names = {"u": "z", "v": "y", "w": "x"}
    renamed = fit(X, np.array([names[label] for label in y]))
    np.testing.assert_allclose(renamed.predict_proba(X)[:, ::-1], model.predict_proba(X), rtol=1e-6)


def test_files_frames_batches_merges_and_parts_give_the_same(fitted, tmp_path):
    model, X, y = fitted
    frame = pl.from_pandas(X)
    frame.with_columns(y=pl.Series(y)).write_parquet(tmp_path / "t.parquet", row_group_size=50)
    frame.with_columns(y=pl.Series(y)).write_csv(tmp_path / "t.csv")
    for name in ("t.parquet", "t.csv"):
        alike(model, fit(lk.scan(tmp_path / name, target="y"), None), X)
    alike(model, fit(frame, y), frame)
    batches = lk.NaiveBayes(model.families_, **WEIGHTED)
    for rows in (slice(0, 1), slice(1, 150), slice(150, None)):
        batches.partial_fit(X[rows], y[rows], classes=np.unique(y))
    alike(model, batches, X)
    parts = [fit(X[i::3], y[i::3], model.families_) for i in range(3)]
    alike(model, lk.merge(parts), X)
    with parts_of(256):
        alike(model, fit(X, y), X)


def test_dask_gives_the_same(fitted):
    dd = pytest.importorskip("dask.dataframe")
    model, X, y = fitted
    there = dd.from_pandas(X.assign(y=y), npartitions=3)
    alike(model, fit(there[list(X.columns)], there["y"]), X)


def test_saved_copied_and_pickled_models_are_the_same(fitted, tmp_path):
    model, X, y = fitted
    lk.save(model, tmp_path / "m.lk")
    for again in (lk.load(tmp_path / "m.lk"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for name in ("column_weights_", "class_bias_", "weight_penalty_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        assert again.selection_ == model.selection_
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        more = copy.deepcopy(model).partial_fit(X, y)
        np.testing.assert_array_equal(again.partial_fit(X, y).predict_proba(X), more.predict_proba(X))
    lk.save(model, tmp_path / "lean.lk", statistics=False)
    np.testing.assert_array_equal(lk.load(tmp_path / "lean.lk").predict_proba(X), model.predict_proba(X))
    lk.save(model.marginal(["sky"]), tmp_path / "part.lk")
    assert clone(model).weighting == "discriminative"


def test_cross_validation_fits_the_weights_anew_for_each_fold(fitted):
    model, X, y = fitted
    grid = {"weighting": [None, "discriminative"]}
    found = lk.NaiveBayes(model.families_).cross_validate(X, y, cv=4, param_grid=grid)
    losses = np.zeros((2, 4))
    for f, (train, test) in enumerate(StratifiedKFold(4).split(X, y)):
        for v, weighting in enumerate(grid["weighting"]):
            one = lk.NaiveBayes(model.families_, weighting=weighting).fit(X.iloc[train], y[train])
            losses[v, f] = log_loss(y[test], one.predict_proba(X.iloc[test]))
    np.testing.assert_allclose(found.scores["log_loss"], losses, rtol=1e-6)
    assert found.best_params_ == {"weighting": "discriminative"}
    np.testing.assert_allclose(found.best_estimator_.column_weights_, model.column_weights_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@parametrize_with_checks([lk.NaiveBayes(**WEIGHTED)])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


# ---- the rows that are kept ----------------------------------------------------------------------
def kept(source: Any, most: int) -> Reservoir:
    return run(source, lambda: Reservoir.start(2, source.p, most)).in_order()


def test_a_reservoir_is_the_same_sample_however_rows_are_cut():
    from likelier.data import Arrays

    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((500, 3)), rng.integers(2, size=500), rng.integers(0, 3, 500) * 1.0
    whole = kept(Arrays(Dense(X), y.astype(np.int32), w), 60)
    assert len(whole.w) == 60
    assert (whole.w > 0).all()
    with parts_of(64):
        cut = kept(Arrays(Dense(X), y.astype(np.int32), w), 60)
    halves = [Reservoir.start(2, 3, 60) for _ in range(2)]
    for state, rows in zip(halves, (slice(0, 200), slice(200, 500)), strict=True):
        state.update(Chunk(Dense(X[rows]), y[rows].astype(np.int32), w[rows], first=rows.start))
    halves[1].merge(halves[0])
    more = Reservoir.start(2, 3, 60, before=200, expected=300)
    more.update(Chunk(Dense(X[200:]), y[200:].astype(np.int32), w[200:]))
    more.merge(halves[0])
    for other in (cut, halves[1].in_order(), more.in_order()):
        for name in ("keys", "X", "codes", "w", "rows"):
            np.testing.assert_array_equal(getattr(other, name), getattr(whole, name))
    wide = whole.widened(3, np.array([2, 0]))
    np.testing.assert_array_equal(wide.n, [whole.n[1], 0, whole.n[0]])


def test_rows_beyond_the_reservoir_are_in_the_statistics(monkeypatch):
    monkeypatch.setattr("likelier.estimators.generative.column_weights.MOST_ROWS", 600)
    X, y = table(3000)
    model = fit(X, y)
    assert len(model._statistics.reservoir.w) == 600
    assert model.class_count_.sum() == 3000
    every = fit(*table(3000))
    again = lk.NaiveBayes(model.families_, **WEIGHTED)
    for rows in (slice(0, 1000), slice(1000, 3000)):
        again.partial_fit(X[rows], y[rows], classes=np.unique(y))
    alike(model, again, X)
    assert len(every._statistics.reservoir.w) == 600


def test_categories_that_the_first_rows_lacked_are_kept_as_unknown():
    X = pd.DataFrame({"city": ["Rome", "Oslo", "Bonn"] * 50, "x": np.arange(150) % 7})
    y = np.array([0, 1, 1] * 50)
    later = pd.DataFrame({"city": ["Rome", "Paris", None, "Paris"] * 25, "x": np.arange(100) % 7})
    model = fit(X, y).partial_fit(later, np.array([0, 1, 1, 1] * 25))
    P = model.predict_proba(pd.DataFrame({"city": ["Paris", "Lima", "Rome"], "x": [1, 1, 1]}))
    np.testing.assert_array_equal(P[0], P[1])
    assert P[2, 0] > P[0, 0]


# ---- bad input and odd shapes --------------------------------------------------------------------
def test_bad_weightings_are_refused():
    X, y = table(50)
    with pytest.raises(ValueError, match="weighting must be None or 'discriminative'; got 'yes'"):
        lk.NaiveBayes(weighting="yes").fit(X, y)
    model = lk.NaiveBayes().fit(X, y).set_params(**WEIGHTED)
    with pytest.raises(ValueError, match="counted"):
        model.partial_fit(X, y)
    pure = lk.NaiveBayes().fit(X, y)
    with pytest.raises(ValueError, match="weighting"):
        lk.merge([pure, fit(X, y, pure.families_)])


class Own(ColumnMoments):
    """Statistics out of which no row can be taken."""

    without = property()  # type: ignore[assignment]


class NoRowComesOut:
    """Gaussians by such statistics."""

    def stats(self, K: int, p: int) -> Own:
        return Own.start(K, p)

    def estimate(self, stats: Own) -> Any:
        return DiagonalGaussian().estimate(stats)


def test_families_out_of_which_no_row_can_be_taken_are_named():
    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
    with pytest.raises(ValueError, match=r"family of column 1 cannot give"):
        fit(X, y, {1: NoRowComesOut()})


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@pytest.mark.parametrize("n", [2, 3, 6])
def test_few_rows_have_finite_weights(n):
    X = np.random.default_rng(0).standard_normal((n, 3))
    model = fit(X, np.arange(n) % 2)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.column_weights_).all()
    assert (model.column_weights_ >= 0).all()


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_one_class_has_weights_of_one():
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = fit(X, np.zeros(30), "gaussian")
    np.testing.assert_allclose(model.column_weights_, 1, rtol=1e-9)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((30, 1)))


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_separable_constant_and_noisy_columns():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    parted = fit((y * 100.0 + rng.standard_normal(200))[:, None], y)
    assert 0 < parted.column_weights_[0] < 10
    assert np.isfinite(parted.predict_log_proba([[50.0]])).all()
    constant = fit(np.ones((200, 2)), y)
    np.testing.assert_array_equal(constant.column_weights_, 0)
    np.testing.assert_allclose(constant.predict_proba([[1.0, 1.0]]), 0.5, rtol=1e-6)
    X, fresh = rng.standard_normal((200, 4)), rng.standard_normal((5000, 4))
    ours, theirs = (
        log_loss(np.arange(5000) % 2, model.fit(X, y).predict_proba(fresh))
        for model in (lk.NaiveBayes("gaussian", **WEIGHTED), lk.NaiveBayes("gaussian"))
    )
    assert ours < theirs
    level = pd.DataFrame({"a": np.where(y & (np.arange(200) % 3 == 0), "only", "both"), "b": "c"})
    one = fit(level, y)
    assert np.isfinite(one.column_weights_).all()
    sharp = lk.NaiveBayes(alpha=0.0, **WEIGHTED).fit(level, y)
    assert np.isfinite(sharp.column_weights_).all()


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_many_columns_and_few_rows():
    rng = np.random.default_rng(0)
    y = np.arange(72) % 2
    X = rng.standard_normal((72, 1000)) + 0.3 * y[:, None] * (np.arange(1000) < 40)
    model = fit(X, y, "gaussian")
    test = rng.standard_normal((200, 1000)) + 0.3 * (np.arange(200) % 2)[:, None] * (np.arange(1000) < 40)
    ours = log_loss(np.arange(200) % 2, model.predict_proba(test))
    pure = log_loss(np.arange(200) % 2, lk.NaiveBayes("gaussian").fit(X, y).predict_proba(test))
    assert ours < pure


def test_classes_that_were_not_seen_yet_and_rare_ones():
    X, y = table(60)
    model = lk.NaiveBayes(**WEIGHTED).partial_fit(X, y, classes=["u", "v", "w"])
    P = model.predict_proba(X)
    assert (P[:, 2] == 0).all()
    assert model.class_bias_[2] == 0
    odd = y.copy()
    odd[0] = "w"
    rare = fit(X, odd)
    assert np.isfinite(rare.predict_log_proba(X)).all()


# ---- what it is worth ----------------------------------------------------------------------------
def test_adult_is_predicted_better_than_by_naive_bayes(data_file):
    train, test = (
        pd.read_csv(data_file(f"adult_{part}.csv.gz"), na_values="?") for part in ("train", "test")
    )
    P = fit(train.drop(columns="income"), train["income"]).predict_proba(test.drop(columns="income"))[:, 1]
    true = (test["income"] == ">50K").to_numpy()
    assert log_loss(true, P) <= 0.30
    tenth = np.minimum((10 * P).astype(int), 9)
    error = sum(abs((P - true)[tenth == i].sum()) for i in range(10)) / len(P)
    assert error <= 0.02


TARGETS = {"titanic": "survived", "hepatitis": "class", "vote": "class", "saheart": "chd", "glass": "type"}


@pytest.mark.parametrize("name", TARGETS)
def test_weights_never_cost_much(data_file, name):
    frame = pd.read_csv(data_file(f"{name}.csv"), na_values="?")
    X, y = frame.drop(columns=TARGETS[name]), frame[TARGETS[name]].to_numpy()
    losses = np.zeros(2)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        for v, weighting in enumerate([None, "discriminative"]):
            model = lk.NaiveBayes(weighting=weighting).fit(X.iloc[train], y[train])
            logs = model.predict_log_proba(X.iloc[test])
            losses[v] -= logs[np.arange(len(test)), np.searchsorted(model.classes_, y[test])].sum()
    assert losses[1] <= 1.02 * losses[0]
