"""The laws of answers to rows with missing cells (NaN): what is not known is integrated out, exactly."""

import copy
import pickle
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import clone

import likelier as lk
from laws.generators import LAYOUTS, SEEDS
from laws.parts import parts_of
from laws.test_estimators import (
    GAUSSIAN,
    LDA,
    PROBLEMS,
    QDA,
    SHOWN,
    Problem,
    class_densities,
    fewer,
    fit,
    frame,
    prior_of,
    problem,
)
from likelier.data import Chunk, Dense
from likelier.families import Full, Tied
from likelier.families.missing import GaussianMarginals, Marginals

# Kernels with gaps have their own laws, in test_kernels.py.
every_estimator = pytest.mark.parametrize("estimator", GAUSSIAN, ids=repr)
COVARIED = [estimator for estimator in GAUSSIAN if not isinstance(estimator, lk.GaussianNB)]
every_shown = pytest.mark.parametrize("estimator", SHOWN, ids=repr)
every_covaried = pytest.mark.parametrize("estimator", COVARIED, ids=repr)
ANSWERS = ["predict_joint_log_proba", "predict_proba", "predict_log_proba", "score_samples"]


# ---- problems ------------------------------------------------------------------------------------
def patterns(p: int) -> np.ndarray:
    """Every way in which a row of p columns can be incomplete, and that in which it is not: (2^p, p)."""
    return np.array(list(product([False, True], repeat=p)))


def gappy(X: np.ndarray, seed: int = 0, share: float = 0.4) -> np.ndarray:
    """Some cells missing, in some rows all of them, in some none."""
    rng = np.random.default_rng(seed)
    gone = (rng.random(X.shape) < share) & (rng.random((len(X), 1)) < 0.8)
    gone[:: max(2, len(X) // 3)] = True
    return np.where(gone, np.nan, X)


def by_hand(model: Any, x: np.ndarray) -> np.ndarray:
    """ln p(x_o, C_k) of one row by SciPy, from the attributes that scikit-learn shows."""
    here = np.flatnonzero(~np.isnan(x))
    if len(here) == 0:
        return np.log(prior_of(model))
    laws = class_densities(model)
    own = [multivariate_normal.logpdf(x[here], m.mean[here], m.cov[np.ix_(here, here)]) for m in laws]
    return np.array(own) + np.log(prior_of(model))


def assert_near(a: Any, b: Any, room: float, what: Any = "") -> None:
    np.testing.assert_allclose(a, b, rtol=room, atol=room, err_msg=str(what))


# ---- densities -----------------------------------------------------------------------------------
@every_shown
def test_the_density_of_a_row_is_that_of_the_columns_it_has(estimator):
    data = problem()
    model = fit(estimator, data)
    X = np.where(np.repeat(patterns(4), 5, axis=0), np.nan, data.X[:80])
    assert_near(model.predict_joint_log_proba(X), [by_hand(model, x) for x in X], 1e-10)


@every_shown
@fewer
@given(data=PROBLEMS, seed=SEEDS, share=st.sampled_from([0.05, 0.4, 0.9]))
def test_any_problem_with_any_gaps_too(estimator, data, seed, share):
    model, X = fit(estimator, data), gappy(data.X, seed, share)[:40]
    joint = np.array([by_hand(model, x) for x in X])
    assert_near(model.predict_joint_log_proba(X), joint, 1e-9)
    assert_near(model.score_samples(X), logsumexp(joint, axis=1), 1e-9)
    assert_near(model.predict_proba(X), np.exp(joint - logsumexp(joint, axis=1)[:, None]), 1e-9)


@every_estimator
@pytest.mark.parametrize("gone", [(0,), (2,), (0, 1), (1, 2)], ids=str)
def test_what_is_missing_is_integrated_out(estimator, gone):
    """Against a sum over points a quarter of a deviation apart, which for Gaussians is as good as exact."""
    data = problem(p=3)
    model = fit(estimator, data)
    rows, _ = model.sample(2000, random_state=0)
    spread, middle = rows.std(axis=0), rows.mean(axis=0)
    axes = [middle[j] + spread[j] * np.arange(-10, 10.01, 0.15) for j in gone]
    points, volume = np.array(list(product(*axes))), np.prod([axis[1] - axis[0] for axis in axes])
    for x in data.X[:3]:
        full = np.tile(x, (len(points), 1))
        full[:, gone] = points
        total = np.exp(model.predict_joint_log_proba(full)).sum(axis=0) * volume
        lacking = x.copy()
        lacking[list(gone)] = np.nan
        np.testing.assert_allclose(np.exp(model.predict_joint_log_proba([lacking])[0]), total, rtol=1e-9)


@every_estimator
def test_gaps_are_the_marginal_of_the_rest(estimator):
    data = problem()
    model = fit(estimator, data)
    for count in (1, 2, 3):
        for here in combinations(range(4), count):
            X = np.full_like(data.X[:20], np.nan)
            X[:, here] = data.X[:20][:, here]
            seen = model.marginal(list(here))
            for ask in ANSWERS:
                assert_near(getattr(model, ask)(X), getattr(seen, ask)(X[:, here]), 1e-10, (ask, here))
            np.testing.assert_array_equal(model.predict(X), seen.predict(X[:, here]))


@every_estimator
def test_a_row_of_which_nothing_is_known_has_the_priors(estimator):
    model, X = fit(estimator, problem()), np.full((3, 4), np.nan)
    assert_near(model.predict_proba(X), np.tile(prior_of(model), (3, 1)), 1e-14)
    assert_near(model.predict_proba(X, priors=[0.2, 0.3, 0.5]), np.tile([0.2, 0.3, 0.5], (3, 1)), 1e-14)
    assert_near(model.score_samples(X), np.zeros(3), 1e-14)
    np.testing.assert_array_equal(model.predict(X), model.classes_[[prior_of(model).argmax()] * 3])


@every_estimator
def test_other_priors_and_decisions_see_the_same_density(estimator):
    model, X = fit(estimator, problem()), gappy(problem().X)
    P = model.predict_proba(X) * [0.2, 0.3, 0.5] / prior_of(model)
    assert_near(model.predict_proba(X, priors=[0.2, 0.3, 0.5]), P / P.sum(axis=1, keepdims=True), 1e-10)
    np.testing.assert_array_equal(model.decide(X), model.predict(X))
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    gap = model.decision_function(X) - model.predict_joint_log_proba(X)
    assert_near(gap, np.broadcast_to(gap[:, :1], gap.shape), 1e-9)  # at most what all classes share


# ---- one answer ----------------------------------------------------------------------------------
@every_estimator
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_a_row_gets_the_same_answer_alone(estimator, data, seed):
    model, X = fit(estimator, data), gappy(data.X, seed)
    rows = range(0, len(X), 9)
    for ask in ANSWERS:
        alone = np.concatenate([getattr(model, ask)(X[[row]]) for row in rows])
        np.testing.assert_allclose(alone, getattr(model, ask)(X)[rows], 1e-12, 1e-12, err_msg=ask)


@every_estimator
@pytest.mark.parametrize("K", [2, 3])
def test_the_decision_function_of_a_row_is_the_same_alone(estimator, K):
    """Not only up to what all classes share: a complete row is where its coefficients put it."""
    data = problem(K=K)
    model, X = fit(estimator, data), gappy(data.X)
    alone = np.concatenate([model.decision_function(X[[row]]) for row in range(30)])
    np.testing.assert_allclose(alone, model.decision_function(X)[:30], 1e-12, 1e-12)


@every_estimator
@pytest.mark.parametrize("p", [1, 2, 3, 7, 8, 9, 17, 33])
def test_complete_rows_do_not_mind_incomplete_ones(estimator, p):
    """Below, at and above the width of a vector; more rows than a tile."""
    data = problem(p=p, rows=60)
    model = fit(estimator, data)
    X = np.vstack([data.X, gappy(data.X), data.X])
    n = len(data.X)
    for ask in ANSWERS:
        clean, mixed = getattr(model, ask)(data.X), getattr(model, ask)(X)
        np.testing.assert_allclose(mixed[:n], clean, 1e-11, 1e-11, err_msg=ask)
        np.testing.assert_allclose(mixed[2 * n :], clean, 1e-11, 1e-11, err_msg=ask)


@every_estimator
def test_threads_do_not_change_a_bit(estimator, monkeypatch):
    data, found = problem(rows=300), []
    X = gappy(data.X)
    with parts_of(512):
        for count in ("1", "2", "3"):
            monkeypatch.setenv("LIKELIER_THREADS", count)
            model = clone(estimator).fit(X, data.y)  # what patterns need is made once, by whoever is first
            found.append([getattr(model, ask)(X) for ask in ANSWERS])
    for other in found[1:]:
        for ours, theirs in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


TABLES = {
    **{name: lambda X, name=name: LAYOUTS[name](X).array for name in ("Fortran", "strided", "backwards")},
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
    "list": lambda X: X.tolist(),
    "frame": pd.DataFrame,
    "frame of nullable floats": lambda X: pd.DataFrame(X).astype("Float64"),
    "objects": lambda X: np.where(np.isnan(X), None, X.astype(object)),
}


@every_estimator
@pytest.mark.parametrize("kind", list(TABLES))
def test_every_kind_of_table_gets_the_same_answers(estimator, kind):
    data = problem()
    X = gappy(data.X, share=0.2).astype(np.float16).astype(np.float64)  # digits that every type holds
    X[::3, 0] = X[1::4, 2] = 0
    table = TABLES[kind](X)
    model, same = clone(estimator).fit(X, data.y), clone(estimator).fit(table, data.y)
    for ask in ANSWERS:
        # Answers to single precision would be rounded to it, as scikit-learn's are.
        asked = X if kind == "float32" else table
        assert_near(getattr(same, ask)(asked), getattr(model, ask)(X), 1e-8, ask)
        assert_near(getattr(model, ask)(table), getattr(model, ask)(X), 1e-11, ask)
    assert_near(model.impute(table), model.impute(X), 1e-11)


@every_estimator
def test_columns_far_from_0_keep_their_digits(estimator):
    data = problem()
    X = gappy(data.X)
    model, moved = fit(estimator, data), clone(estimator).fit(data.X + 2.0**20, data.y)
    assert_near(moved.predict_log_proba(X + 2.0**20), model.predict_log_proba(X), 1e-7)
    assert_near(moved.impute(X + 2.0**20) - 2.0**20, model.impute(X), 1e-7)


# ---- the native way and the plain one ------------------------------------------------------------
@dataclass(frozen=True)
class Pair:
    """Gaussians, and the two ways to their marginals."""

    params: Any
    plain: Marginals
    native: GaussianMarginals


def pair(kind: str, K: int, p: int, seed: int = 0, centre: float = 0.0) -> Pair:
    rng = np.random.default_rng(seed)
    A = np.eye(p) + 0.4 * rng.uniform(-1, 1, (K, p, p)) / np.sqrt(p)
    cov, mean = A @ A.transpose(0, 2, 1), centre + rng.standard_normal((K, p))
    params = Tied(mean, cov[0]) if kind == "tied" else Full.of(mean, cov)
    return Pair(params, Marginals(params), GaussianMarginals(params, cov[:1] if kind == "tied" else cov))


every_pair = pytest.mark.parametrize("kind", ["tied", "full"])


def rows_of(pair: Pair, n: int, seed: int, share: float = 0.4) -> np.ndarray:
    K, p = pair.params.shape
    rng = np.random.default_rng(seed)
    return gappy(pair.params.mean[rng.integers(0, K, n)] + 2 * rng.standard_normal((n, p)), seed, share)


def write(law: Marginals, X: np.ndarray, b: np.ndarray, add: bool = False) -> np.ndarray:
    Z = np.full((len(X), len(b)), 0.5 if add else np.nan)
    law.write(Chunk(Dense(X)), b, Z, add=add)
    return Z


@every_pair
@pytest.mark.parametrize("p", [1, 2, 3, 7, 8, 9, 17, 33])
@pytest.mark.parametrize("add", [False, True])
def test_the_native_way_is_the_plain_one(kind, p, add):
    for n, K in [(1, 1), (63, 2), (65, 7), (130, 3)]:
        both, b = pair(kind, K, p, seed=n), np.linspace(-1, 1, K)
        X = rows_of(both, n, seed=p)
        assert_near(write(both.native, X, b, add), write(both.plain, X, b, add), 1e-10, (n, K))
        P = np.random.default_rng(n).dirichlet(np.ones(K), n)
        assert_near(both.native.fill(X, P), both.plain.fill(X, P), 1e-10, (n, K))


@every_pair
def test_the_native_way_is_the_plain_one_far_from_0(kind):
    both = pair(kind, 3, 5, centre=1e6)
    X, b, P = rows_of(both, 100, 0), np.zeros(3), np.full((100, 3), 1 / 3)
    assert_near(write(both.native, X, b), write(both.plain, X, b), 1e-7)
    assert_near(both.native.fill(X, P), both.plain.fill(X, P), 1e-13)


@every_pair
def test_more_patterns_than_are_kept(kind):
    """64 MB of factors: some rows meet a pattern that is known, some one for which there is no room."""
    K, p, n = 3, 48, {"tied": 12000, "full": 4500}[kind]
    both, b = pair(kind, K, p), np.zeros(K)
    X = rows_of(both, n, 1, share=0.5)
    m = np.unique(np.isnan(X), axis=0).sum()
    assert 8 * m * (K + (1 if kind == "tied" else K) * (p + 1)) > 70 << 20
    Z = write(both.native, X, b)
    some = np.linspace(0, n - 1, 60).astype(int)
    assert_near(Z[some], write(both.plain, X[some], b), 1e-9)
    np.testing.assert_array_equal(write(both.native, X[::-1].copy(), b)[::-1], Z)
    fresh = GaussianMarginals(both.params, both.native.cov)
    np.testing.assert_array_equal(write(fresh, X[::-1].copy(), b)[::-1], Z)
    P = np.full((n, K), 1 / K)
    assert_near(both.native.fill(X, P)[some], both.plain.fill(X[some], P[some]), 1e-9)


def test_more_patterns_than_the_plain_way_keeps():
    both, b = pair("full", 2, 13), np.zeros(2)
    gone = patterns(13)[1:4200]
    X = np.where(gone, np.nan, np.random.default_rng(0).standard_normal(gone.shape))
    assert_near(write(both.plain, X, b), write(both.native, X, b), 1e-9)
    assert 0 < len(both.plain._scores) <= 4096


@every_pair
@pytest.mark.parametrize("add", [False, True])
def test_where_a_covariance_is_all_but_singular_the_plain_way_is_taken(kind, add):
    """Two columns that are nearly one: what there is of them is known all the same."""
    rng = np.random.default_rng(0)
    A = np.vstack([np.eye(3), [[1, 0, 1e-6]]]) + 0
    cov = np.stack([A @ A.T + 1e-13 * np.eye(4)] * 2)
    mean = rng.standard_normal((2, 4))
    params = Tied(mean, cov[0]) if kind == "tied" else Full.of(mean, cov)
    native = GaussianMarginals(params, cov[:1] if kind == "tied" else cov)
    assert native._native is None
    X = np.where(rng.random((20, 4)) < 0.5, np.nan, rng.standard_normal((20, 4)))
    X[:, 3] = np.nan
    b = np.array([-1.0, 1.0])
    Z = write(native, X, b, add)
    for x, z in zip(X, Z, strict=True):
        here = np.flatnonzero(~np.isnan(x))
        own = [
            multivariate_normal.logpdf(x[here], m[here], S[np.ix_(here, here)]) if len(here) else 0.0
            for m, S in zip(mean, cov, strict=True)
        ]
        assert_near(z, np.array(own) + b + (0.5 if add else 0), 1e-9)
    assert np.isfinite(native.fill(X, np.full((20, 2), 0.5))).all()


# ---- filling in ----------------------------------------------------------------------------------
def expected(model: Any, x: np.ndarray) -> np.ndarray:
    """Σ_k p(C_k | x_o) E[x_m | x_o, C_k] of one row: of the model of what is missing, given the rest."""
    gone = np.flatnonzero(np.isnan(x))
    filled = x.copy()
    if len(gone) == 0:
        return filled
    known = model.condition({int(j): x[j] for j in np.flatnonzero(~np.isnan(x))})
    means = known._model.params.mean
    filled[gone] = prior_of(known) @ means
    return filled


@every_estimator
@fewer
@given(data=PROBLEMS, seed=SEEDS, share=st.sampled_from([0.05, 0.4, 0.9]))
def test_what_is_missing_is_filled_in_by_what_is_expected(estimator, data, seed, share):
    model, X = fit(estimator, data), gappy(data.X, seed, share)
    filled = model.impute(X)
    assert filled.dtype == np.float64
    assert not np.isnan(filled).any()
    there = ~np.isnan(X)
    np.testing.assert_array_equal(filled[there], X[there])  # bit for bit
    for row in range(0, len(X), 11):
        assert_near(filled[row], expected(model, X[row]), 1e-9)


@every_estimator
def test_complete_rows_are_filled_in_with_themselves(estimator):
    data = problem()
    np.testing.assert_array_equal(fit(estimator, data).impute(data.X), data.X)


@every_estimator
def test_filling_in_leaves_the_table_as_it_was(estimator):
    data = problem()
    X = gappy(data.X)
    X.flags.writeable = False
    model = fit(estimator, data)
    assert not np.shares_memory(model.impute(X), X)
    assert not np.shares_memory(model.impute(data.X), data.X)


def test_independent_columns_are_filled_in_with_the_means_of_the_likely_classes():
    data = problem()
    model, X = fit(lk.GaussianNB(), data), gappy(data.X)
    means = model.predict_proba(X) @ model.theta_
    np.testing.assert_array_equal(np.isnan(X), model.impute(X) != X)
    assert_near(model.impute(X)[np.isnan(X)], means[np.isnan(X)], 1e-14)


@pytest.mark.parametrize("estimator", [e for e in COVARIED if isinstance(e, LDA) and e.solver != "lsqr"])
def test_a_row_stands_where_it_is_expected_on_the_axes(estimator):
    data = problem()
    model, X = fit(estimator, data), gappy(data.X)
    assert_near(model.transform(X), model.transform(model.impute(X)), 1e-10)
    np.testing.assert_allclose(model.transform(X[[5]]), model.transform(X)[[5]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        lk.LinearDiscriminantAnalysis("lsqr", "auto"),
        lk.LinearDiscriminantAnalysis(),
        lk.LinearDiscriminantAnalysis("lsqr", 0.3),
        lk.LinearDiscriminantAnalysis("eigen", "auto"),
        lk.LinearDiscriminantAnalysis(store_covariance=True),
        lk.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        lk.QuadraticDiscriminantAnalysis(),
        lk.GaussianNB(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_row_with_nothing_in_it_counts_for_the_prior_alone(model, share):
    """Given the priors, any number of such rows in any class changes nothing."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 3)) @ (np.eye(3) + 0.4) * (1 + y[:, None]) + y[:, None]
    X[rng.random(X.shape) < share] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    y = y[: len(X)]
    more, of = np.vstack([X, np.full((500, 3), np.nan)]), np.concatenate([y, np.ones(500, int)])
    one, other = clone(model).fit(X, y), clone(model).fit(more, of)
    assert_near(other.predict_proba(X, priors=[0.5, 0.5]), one.predict_proba(X, priors=[0.5, 0.5]), 1e-6)
    prior = getattr(other, "priors_", getattr(other, "class_prior_", None))
    assert_near(prior, np.bincount(of) / len(of), 1e-12)


# ---- what a score is made of ---------------------------------------------------------------------
@pytest.mark.parametrize("smoothing", [1e-9, 1e-2])
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_missing_cells_contribute_nothing(smoothing, data, seed):
    model, X = fit(lk.GaussianNB(var_smoothing=smoothing), data), gappy(data.X, seed)
    values, base = model.contributions(X)
    assert (values[np.broadcast_to(np.isnan(X)[:, None, :], values.shape)] == 0).all()
    assert_near(base + values.sum(axis=2), model.predict_joint_log_proba(X), 1e-10)
    whole, _ = model.contributions(data.X)
    there = np.broadcast_to(~np.isnan(X)[:, None, :], values.shape)
    np.testing.assert_array_equal(values[there], whole[there])


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_contributions_of_lda_are_the_density_of_the_cells_that_are_there(solver, data, seed):
    model, X = fit(lk.LinearDiscriminantAnalysis(solver), data), gappy(data.X, seed)
    values, base = model.contributions(X)
    assert (values[np.broadcast_to(np.isnan(X)[:, None, :], values.shape)] == 0).all()
    assert_near(base + values.sum(axis=2), model.predict_joint_log_proba(X), 1e-9)
    np.testing.assert_array_equal(base, model._model.log_prior)


def test_columns_of_a_group_contribute_if_they_are_there():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 4)) @ (np.eye(4) + 0.5), np.arange(80) % 2
    X = X + y[:, None]
    groups = {(0, 1, 2): "gaussian-full", 3: "gaussian"}
    model = lk.NaiveBayes(groups).fit(X, y)
    rows = np.array(
        [[np.nan, 1.0, np.nan, 0.0], [0.5, 1.0, np.nan, np.nan], [np.nan] * 4, [1.0, 2.0, 3.0, 4.0]]
    )
    values, base = model.contributions(rows)
    gone = np.broadcast_to(np.isnan(rows)[:, None, :], values.shape)
    assert (values[gone] == 0).all()
    assert (values[~gone] != 0).all()
    assert_near(base + values.sum(axis=2), model.predict_joint_log_proba(rows), 1e-12)
    alone = model.marginal([1]).predict_joint_log_proba(rows[:1, 1:2])
    assert_near(values[0, :, 1] + base, alone[0], 1e-12)


# ---- names ---------------------------------------------------------------------------------------
@every_estimator
def test_frames_with_gaps_keep_their_names(estimator):
    data = problem()
    table = frame(Problem(gappy(data.X, share=0.2), data.y))
    model = clone(estimator).fit(table, data.y)
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    assert_near(model.predict_proba(table), clone(estimator).fit(table.to_numpy(), data.y).predict_proba(
        table.to_numpy()), 1e-10)  # fmt: skip
    with pytest.raises(ValueError, match="feature names"):
        model.impute(table[["b", "a", "c", "d"]])


@every_covaried
def test_questions_of_rows_with_gaps_change_nothing(estimator):
    data = problem()
    model, X = fit(estimator, data), gappy(data.X)
    first = [getattr(model, ask)(X) for ask in [*ANSWERS, "decision_function", "impute"]]
    again = [getattr(model, ask)(X) for ask in [*ANSWERS, "decision_function", "impute"]]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


@every_covaried
def test_a_model_that_has_met_gaps_can_be_pickled_and_merged(estimator):
    data = problem()
    model, X = fit(estimator, data), gappy(data.X)
    P = model.predict_proba(X)  # factors of patterns are kept from here on
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), P)
    np.testing.assert_array_equal(copy.deepcopy(model).predict_proba(X), P)
    both = model.merge(model).predict_proba(X)
    np.testing.assert_array_equal(loaded.merge(model).predict_proba(X), both)


def test_all_kinds_of_models_are_asked():
    assert {type(e) for e in SHOWN} == {lk.GaussianNB, LDA, QDA}
