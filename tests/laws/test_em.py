"""The laws of fits to rows with missing cells (NaN): the most likely parameters, however found."""

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.base import clone

import likelier as lk
from laws.comparing import assert_same_bits
from laws.generators import SEEDS, Table, gappy_tables
from laws.parts import parts_of
from laws.test_estimators import ESTIMATORS, LDA, QDA, every_estimator, problem
from likelier import _core, em
from likelier.data import Arrays, Dense
from likelier.em import completed_by_passes
from likelier.families import FullGaussian, TiedGaussian, completed
from likelier.families.covariance import exceeds, regress, steady_precision
from likelier.families.em_acceleration import MOST_STEPS, AndersonMixing, Point, find_fixed_point
from likelier.families.few_missing import pays
from likelier.families.missing import expect, maximise, problems
from likelier.states import Moments, PatternMoments, TooManyPatterns

few = settings(max_examples=max(5, settings.default.max_examples // 10))
every_shape = pytest.mark.parametrize("shape", ["full", "tied"])
may_be_degenerate = pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")


# ---- problems ------------------------------------------------------------------------------------
def gappy_rows(seed: int = 0, K: int = 2, p: int = 3, n: int = 60, share: float = 0.2) -> Table:
    """Correlated Gaussian classes with weights: enough is there to make the estimates well-conditioned."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K).astype(np.int32)
    mix = np.eye(p) + 0.4 * rng.uniform(-1, 1, (K, p, p))
    X = np.einsum("nij,nj->ni", mix[y], rng.standard_normal((n, p))) + 2 * rng.standard_normal((K, p))[y]
    units = 10 ** rng.uniform(-1, 1, p)
    rows = Table(units * X, y, rng.integers(1, 4, n).astype(np.float64), K)
    return rows.lacking((rng.random((n, p)) < share) & (rng.random((n, 1)) < 0.9))


def state_of(rows: Table, shape: str, most: int = 1 << 28) -> PatternMoments:
    state = PatternMoments.start(rows.K, rows.p, shape, most)
    state.update(rows.chunk())
    return state


def covariances(moments: Moments) -> np.ndarray:
    """(K, p, p), tied or not."""
    if moments.shape == "tied":
        return np.broadcast_to(moments.S / moments.n.sum(), (len(moments.n), *moments.S.shape))
    return moments.S / np.where(moments.n > 0, moments.n, 1.0)[:, None, None]


# ---- a twin --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Twin:
    """Expectation and maximisation row by row, as the books have it, with Σ_oo⁻¹ and without haste."""

    rows: Table
    tied: bool

    def expected(self, x: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row completed, and the covariance of what it lacks."""
        gone, here = np.flatnonzero(np.isnan(x)), np.flatnonzero(~np.isnan(x))
        gain = np.linalg.solve(cov[np.ix_(here, here)], cov[np.ix_(here, gone)]).T
        full, spread = x.copy(), np.zeros_like(cov)
        full[gone] = mean[gone] + gain @ (x - mean)[here]
        spread[np.ix_(gone, gone)] = cov[np.ix_(gone, gone)] - gain @ cov[np.ix_(here, gone)]
        return full, spread

    def step(self, mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        K, p = mean.shape
        new, S, n = np.zeros_like(mean), np.zeros((K, p, p)), np.zeros(K)
        done = [self.expected(x, mean[k], cov[k]) for x, k in zip(self.rows.X, self.rows.y, strict=True)]
        for (x, _), k, w in zip(done, self.rows.y, self.rows.weights, strict=True):
            new[k] += w * x
            n[k] += w
        new /= n[:, None]
        for (x, spread), k, w in zip(done, self.rows.y, self.rows.weights, strict=True):
            S[k] += w * (np.outer(x - new[k], x - new[k]) + spread)
        if self.tied:
            return new, np.repeat(S.sum(axis=0)[None] / n.sum(), K, axis=0)
        return new, S / n[:, None, None]

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        rows, K = self.rows, self.rows.K
        mean = np.stack([np.nanmean(rows.X[rows.y == k], axis=0) for k in range(K)])
        cov = np.stack([np.diag(np.nanvar(rows.X, axis=0))] * K)
        sd = np.nanstd(rows.X, axis=0)
        for _ in range(2000):
            last, (mean, cov) = (mean, cov), self.step(mean, cov)
            moved = np.abs((mean - last[0]) / sd).max(), np.abs((cov - last[1]) / np.outer(sd, sd)).max()
            if max(moved) < 1e-13:
                return mean, cov
        raise AssertionError("the twin has not converged")


def log_likelihood(rows: Table, mean: np.ndarray, cov: np.ndarray) -> float:
    """Of what is there."""
    total = 0.0
    for x, k, w in zip(rows.X, rows.y, rows.weights, strict=True):
        here = np.flatnonzero(~np.isnan(x))
        if len(here):
            S = cov[k][np.ix_(here, here)]
            total += w * multivariate_normal.logpdf(x[here], mean[k][here], S)
    return float(total)


def assert_parameters(moments: Moments, mean: np.ndarray, cov: np.ndarray, room: float) -> None:
    """Means and covariances to a share of the deviations."""
    sd = np.sqrt(np.einsum("kii->ki", cov))
    sd = np.where(sd > 0, sd, 1.0)
    scale = sd[:, :, None] * sd[:, None, :]
    assert np.abs((moments.mean - mean) / sd).max() < room
    assert np.abs((covariances(moments) - cov) / scale).max() < room


def assert_same_moments(a: Moments, b: Moments, room: float = 1e-9) -> None:
    np.testing.assert_allclose(a.n, b.n, rtol=1e-12)
    assert a.shape == b.shape
    assert_parameters(a, b.mean, covariances(b), room)


TWINS = [
    (0, 2, 3, 60, 0.2),
    (1, 1, 2, 40, 0.3),
    (2, 3, 4, 90, 0.1),
    (3, 2, 5, 60, 0.1),
    (4, 1, 1, 20, 0.3),
    (5, 1, 8, 80, 0.1),
]


@every_shape
@pytest.mark.parametrize("how", TWINS, ids=str)
def test_the_most_likely_parameters_are_those_of_the_twin(shape, how):
    rows = gappy_rows(*how)
    found = completed(state_of(rows, shape))
    mean, cov = Twin(rows, tied=shape == "tied").run()
    assert found.converged
    assert_parameters(found, mean, cov, 1e-10)
    np.testing.assert_allclose(found.n, np.bincount(rows.y, rows.weights, rows.K))
    best = log_likelihood(rows, mean, cov)
    assert log_likelihood(rows, found.mean, covariances(found)) >= best - 1e-9


@every_shape
@pytest.mark.parametrize("seed", range(2))
def test_the_likelihood_does_not_rise_in_any_direction(shape, seed):
    """Five-point difference quotients about the result, in units of the deviations: all of them 0."""
    rows = gappy_rows(seed, K=2, p=3, n=50, share=0.3)
    found = completed(state_of(rows, shape))
    mean, cov = found.mean, covariances(found)
    sd, rng, h = np.sqrt(np.einsum("kii->ki", cov)), np.random.default_rng(seed), 1e-3
    for _ in range(6):
        dm = rng.standard_normal(mean.shape) * sd
        D = rng.standard_normal(cov.shape)
        D[:] = D[0] if shape == "tied" else D
        L = np.linalg.cholesky(cov)
        dS = L @ (D + D.transpose(0, 2, 1)) @ L.transpose(0, 2, 1) / 2
        for a, b in ((1, 0), (0, 1)):
            f = {
                i: log_likelihood(rows, mean + i * h * a * dm, cov + i * h * b * dS) for i in (-2, -1, 1, 2)
            }
            slope = (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)
            curve = abs(f[1] + f[-1] - 2 * log_likelihood(rows, mean, cov)) / h**2
            assert abs(slope) < 1e-7 * curve


@every_shape
def test_each_step_is_likelier_than_the_last(shape):
    rows = gappy_rows(1, K=2, p=4, n=40, share=0.5)
    for problem_ in problems(state_of(rows, shape)):
        K, p = problem_.mean.shape
        at, last = Point(np.zeros((K, p)), np.eye(p)), -np.inf
        for _ in range(30):
            sums = expect(problem_, at)
            assert sums.log_likelihood >= last - 1e-9
            last, at = sums.log_likelihood, maximise(sums, at)


@every_shape
def test_the_likelihood_on_the_way_is_that_of_the_rows(shape):
    rows = gappy_rows(3, K=3, p=4, n=80, share=0.4)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    at, total = Point(rng.standard_normal((3, 4)), A @ A.T + np.eye(4)), 0.0
    for k, problem_ in enumerate(problems(state_of(rows, shape))):
        mean = at.mean if shape == "tied" else at.mean[k : k + 1]
        total += expect(problem_, Point(mean, at.cov)).log_likelihood
    np.testing.assert_allclose(total, log_likelihood(rows, at.mean, np.stack([at.cov] * 3)), rtol=1e-12)


def expect_by_regression(items: Any, at: Point, first: np.ndarray, second: np.ndarray) -> None:
    """The kernel's twin, group by group."""
    for g, k in enumerate(items.code):
        rows = slice(items.start[g], items.start[g + 1])
        X, w = items.X[rows], items.w[rows]
        here, gone = np.flatnonzero(~np.isnan(X[0])), np.flatnonzero(np.isnan(X[0]))
        gain, spread = regress(at.cov, gone, here, tol=1e-7)
        d = X - at.mean[k]
        d[:, gone] = d[:, here] @ gain.T
        first[k] += w @ d
        second += (w[:, None] * d).T @ d
        second[np.ix_(gone, gone)] += w.sum() * spread
        if items.spread[g] >= 0:
            M = np.zeros((len(at.cov), len(here)))  # completes a deviation
            M[here, np.arange(len(here))], M[gone] = 1, gain
            second += M @ items.S[items.spread[g]][np.ix_(here, here)] @ M.T


@every_shape
@few
@given(rows=gappy_tables(least=1, most=40), seed=SEEDS)
def test_expectation_is_a_regression_of_what_is_missing_on_what_is_there(shape, rows, seed):
    rng, p = np.random.default_rng(seed), rows.p
    spread = 1 + np.nan_to_num(np.nanmax(np.abs(rows.X), axis=0, initial=0))
    A = (np.eye(p) + 0.3 * rng.standard_normal((p, p)) / np.sqrt(p)) * spread[:, None]
    for problem_ in problems(state_of(rows, shape)):
        at = Point(spread * rng.standard_normal(problem_.mean.shape), A @ A.T)
        native, slow = expect(problem_, at), [np.zeros_like(at.mean), np.zeros_like(at.cov)]
        expect_by_regression(problem_.items, at, *slow)
        d = problem_.mean - at.mean
        slow[0] += problem_.n[:, None] * d
        slow[1] += problem_.S + (problem_.n[:, None] * d).T @ d
        size = 1 + problem_.total.sum()
        assert (np.abs(native.first - slow[0]) <= 1e-10 * size * spread).all()
        assert (np.abs(native.second - slow[1]) <= 1e-10 * size * np.outer(spread, spread)).all()
        np.testing.assert_allclose(native.n, problem_.total)


# ---- one answer ----------------------------------------------------------------------------------
@every_shape
@few
@given(seed=SEEDS, share=st.sampled_from([0.05, 0.2, 0.4]), cuts=st.lists(st.integers(0, 60), max_size=5))
def test_any_cut_and_order_gives_the_same(shape, seed, share, cuts):
    rows = gappy_rows(seed, share=share)
    whole = completed(state_of(rows, shape))
    order = np.random.default_rng(seed).permutation(len(rows))
    pieces = [state_of(piece, shape) for piece in rows.take(order).cut(cuts)]
    for some in (pieces, pieces[::-1]):
        total = copy.deepcopy(some[0])
        for other in some[1:]:
            total.merge(other)
        assert_same_moments(completed(total), whole)
    stepwise = PatternMoments.start(rows.K, rows.p, shape)
    for piece in rows.cut(cuts):
        stepwise.update(piece.chunk())
    assert_same_moments(completed(stepwise), whole)


@every_shape
@few
@given(seed=SEEDS, share=st.sampled_from([0.1, 0.3]))
def test_a_weight_is_a_number_of_repetitions(shape, seed, share):
    rows = gappy_rows(seed, share=share)
    repeated = rows.take(np.repeat(np.arange(len(rows)), rows.w.astype(int))).reweighed(None)
    assert_same_moments(completed(state_of(repeated, shape)), completed(state_of(rows, shape)))
    found, doubled = (completed(state_of(rows.reweighed(f * rows.w), shape)) for f in (1, 2))
    np.testing.assert_allclose(doubled.n, 2 * found.n)
    assert_parameters(doubled, found.mean, covariances(found), 1e-9)


@every_shape
@given(rows=gappy_tables())
def test_without_gaps_it_is_the_moments_themselves(shape, rows):
    filled = Table(np.nan_to_num(rows.X), rows.y, rows.w, rows.K)
    plain = Moments.start(rows.K, rows.p, shape)
    plain.update(filled.chunk())
    assert_same_bits(completed(state_of(filled, shape)), plain)


@every_shape
def test_what_has_been_worked_out_is_forgotten_with_the_next_rows(shape):
    rows = gappy_rows(0)
    state = state_of(rows.take(slice(0, 30)), shape)
    completed(state)
    state.update(rows.take(slice(30, 60)).chunk())
    assert_same_moments(completed(state), completed(state_of(rows, shape)))
    merged = state_of(rows.take(slice(0, 30)), shape)
    completed(merged)
    merged.merge(state_of(rows.take(slice(30, 60)), shape))
    assert_same_moments(completed(merged), completed(state_of(rows, shape)))
    assert completed(state) is completed(state)


@every_shape
@pytest.mark.parametrize("centre", [1e4, 1e6])
def test_columns_far_from_0_keep_their_digits(shape, centre):
    """Cells moved by a power of 2 are the same cells to 1e-16 of the centre."""
    rows = gappy_rows(0)
    X = rows.X.astype(np.float32).astype(np.float64)
    near, far = (completed(state_of(Table(X + c, rows.y, rows.w, rows.K), shape)) for c in (0.0, centre))
    far.mean -= centre
    sd = np.sqrt(np.einsum("kii->ki", covariances(near))).min()
    assert_same_moments(far, near, 1e-10 + 1e-14 * centre / sd)


# ---- where little is there -----------------------------------------------------------------------
def assert_sound(moments: Moments) -> None:
    """Defined: finite, symmetric, and no variance below 0."""
    cov = covariances(
        Moments(np.where(moments.n > 0, moments.n, 1), moments.mean, moments.S, moments.shape)
    )
    assert np.isfinite(moments.mean).all()
    assert np.isfinite(cov).all()
    scale = np.abs(cov).max(initial=0)
    np.testing.assert_allclose(cov, cov.transpose(0, 2, 1), rtol=1e-9, atol=1e-12 * scale)
    for S in cov:
        sd = np.sqrt(np.diagonal(S))
        sd = np.where(sd > 0, sd, 1.0)
        assert np.linalg.eigvalsh(S / np.outer(sd, sd)).min() > -1e-8


@every_shape
def test_a_column_that_was_never_seen_has_a_place_and_a_variance(shape):
    rows = gappy_rows(0, p=3)
    rest = completed(state_of(Table(rows.X[:, [0, 2]], rows.y, rows.w, rows.K), shape))
    found = completed(state_of(rows.lacking(np.broadcast_to(np.arange(3) == 1, rows.X.shape)), shape))
    assert_sound(found)
    seen = np.ix_([0, 2], [0, 2])
    cov = covariances(found)
    part = Moments(found.n, found.mean[:, [0, 2]], np.stack([S[seen] for S in cov]), "full")
    part.S *= found.n[:, None, None]
    assert_parameters(part, rest.mean, covariances(rest), 1e-9)
    assert (cov[:, 1, 1] > 0).all()


@every_shape
def test_a_class_without_a_cell_of_a_column_borrows_from_the_others(shape):
    rows = gappy_rows(0, K=3, p=3, n=90)
    some = rows.lacking((rows.y == 1)[:, None] & (np.arange(3) == 2))
    found = completed(state_of(some, shape))
    assert_sound(found)
    lows, highs = np.nanmin(some.X[:, 2]), np.nanmax(some.X[:, 2])
    assert lows <= found.mean[1, 2] <= highs
    if shape == "full":  # no class is the worse for it
        own = completed(state_of(some.take(some.y == 0), shape))
        assert_parameters(
            Moments(own.n[:1], found.mean[:1], found.S[:1], "full"),
            own.mean[:1],
            covariances(own)[:1],
            1e-9,
        )


@every_shape
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8 + 0.1])
def test_a_constant_column_stays_constant(shape, constant):
    rows = gappy_rows(0, p=3)
    X = rows.X.copy()
    X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, constant)
    found = completed(state_of(Table(X, rows.y, rows.w, rows.K), shape))
    assert_sound(found)
    np.testing.assert_array_equal(found.mean[:, 1], constant)
    np.testing.assert_array_equal(covariances(found)[:, 1], 0)
    np.testing.assert_array_equal(covariances(found)[:, :, 1], 0)


LITTLE = {
    "fewer rows than columns": {"n": 4, "p": 6, "K": 1, "share": 0.3},
    "as many rows as columns": {"n": 4, "p": 4, "K": 1, "share": 0.3},
    "one row": {"n": 1, "p": 3, "K": 1, "share": 0.3},
    "a row a class": {"n": 3, "p": 2, "K": 3, "share": 0.2},
    "hardly a cell": {"n": 12, "p": 3, "K": 2, "share": 0.8},
    "columns that never meet": {"n": 30, "p": 2, "K": 1, "share": 0.0},
}


@every_shape
@pytest.mark.parametrize("kind", LITTLE)
@pytest.mark.parametrize("seed", range(2))
def test_too_few_rows_end_in_something_defined(shape, kind, seed):
    rows = gappy_rows(seed, **LITTLE[kind])
    if kind == "columns that never meet":
        rows = rows.lacking(np.arange(2) == np.arange(30)[:, None] % 2)
    found = completed(state_of(rows, shape))
    assert_sound(found)
    assert found.n.sum() == rows.weights.sum()


@every_shape
@settings(max_examples=max(20, settings.default.max_examples // 3))
@given(rows=gappy_tables(most=25))
def test_any_table_ends_in_something_defined(shape, rows):
    rows = Table(np.clip(rows.X, -1e9, 1e9), rows.y, rows.w, rows.K)
    found = completed(state_of(rows, shape))
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.S).all()
    variances = np.einsum("...ii->...i", found.S)
    assert (variances >= 0).all()


@given(st.integers(1, 40), st.integers(1, 3), SEEDS)
@few
def test_every_covariance_of_any_rank_has_a_precision(p, rank, seed):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((p, rank)) * 10.0 ** rng.integers(-3, 3, (p, 1))
    inverse, log_det = steady_precision(F @ F.T)
    assert np.isfinite(inverse).all()
    assert np.isfinite(log_det)


@may_be_degenerate
def test_indicators_of_single_rows_beside_gaps_are_fitted():
    """More columns than rows: the lift that makes their covariance one of full rank grows with them."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((40, 2)), np.eye(40)[:, 1:]])
    X[::7, 0] = np.nan
    model = LDA().fit(X, np.arange(40) % 2)
    assert np.isfinite(model.predict_log_proba(X)).all()


# ---- by passes -----------------------------------------------------------------------------------
@every_shape
@pytest.mark.parametrize("size", [200, 1 << 20])
def test_passes_over_the_rows_find_the_same(shape, size):
    rows = gappy_rows(0, K=2, p=4, n=100, share=0.3)
    with parts_of(size):
        found = completed_by_passes(Arrays(Dense(rows.X), rows.y, rows.w), rows.K, shape)
    assert found.converged
    assert_same_moments(found, completed(state_of(rows, shape)), 1e-10)


@every_shape
def test_passes_cope_with_classes_in_which_nothing_varies(shape):
    """One class of one row, one without any: nothing moves there, and nothing fails."""
    rows = gappy_rows(1, K=4, p=3, n=80, share=0.2)
    X, y = rows.X.copy(), np.where(np.arange(len(rows)) == 5, 2, rows.y % 2).astype(np.int32)
    X[5] = [1.0, 0.5, 2.0]
    some = Table(X, y, rows.w, 4)
    found = completed_by_passes(Arrays(Dense(X), y, rows.w), 4, shape)
    assert_sound(found)
    assert_same_moments(found, completed(state_of(some, shape)), 1e-9)


def little_room(monkeypatch: Any, most: int = 2000) -> None:
    """States that may keep no more than this many bytes of rows with gaps."""
    for family in (FullGaussian, TiedGaussian):
        stats = family.stats
        monkeypatch.setattr(family, "stats", lambda self, K, p, s=stats: _narrow(s(self, K, p), most))


def _narrow(state: Any, most: int) -> Any:
    getattr(state, "gaps", state).most = most
    return state


# Those that count patterns, and no more than these.
COUNTING = [e for e in ESTIMATORS if isinstance(e, LDA | QDA) and e.shrinkage != "auto"]


def gappy_problem(seed: int = 0, share: float = 0.2, **how: Any) -> Any:
    data = problem(seed, **how)
    gone = np.random.default_rng(seed).random(data.X.shape) < share
    return type(data)(np.where(gone, np.nan, data.X), data.y)


@pytest.mark.parametrize("estimator", [LDA(), LDA(solver="eigen", shrinkage=0.3), QDA()], ids=repr)
def test_more_patterns_than_there_is_room_for_are_read_again(estimator, monkeypatch):
    data = gappy_problem(p=5, share=0.1)
    usual = clone(estimator).fit(data.X, data.y)
    little_room(monkeypatch)
    model = clone(estimator).fit(data.X, data.y)
    np.testing.assert_allclose(
        model.predict_log_proba(data.X), usual.predict_log_proba(data.X), rtol=1e-8, atol=1e-8
    )
    with pytest.raises(ValueError, match=r"statistics.*missing in more ways"):
        model.merge(model)
    with pytest.raises(ValueError, match="statistics"):
        model.partial_fit(data.X, data.y)


@pytest.mark.parametrize("estimator", [*COUNTING, QDA(solver="eigen", shrinkage="auto")], ids=repr)
def test_too_many_patterns_leave_a_model_as_it_was(estimator, monkeypatch):
    data, clean = gappy_problem(p=6), problem(p=6)
    little_room(monkeypatch)
    model = clone(estimator)
    with pytest.raises(TooManyPatterns):
        model.partial_fit(data.X, data.y, classes=data.classes)
    assert set(vars(model)) == set(model.get_params(deep=False))
    model.partial_fit(clean.X, clean.y, classes=clean.classes)
    P = model.predict_log_proba(clean.X)
    with pytest.raises(TooManyPatterns):
        model.partial_fit(data.X, data.y)
    np.testing.assert_array_equal(model.predict_log_proba(clean.X), P)
    twice = model.partial_fit(clean.X, clean.y)  # nor is there anything of them in the statistics
    expected = clone(estimator).fit(np.tile(clean.X, (2, 1)), np.tile(clean.y, 2))
    np.testing.assert_allclose(
        twice.predict_log_proba(clean.X), expected.predict_log_proba(clean.X), rtol=1e-9, atol=1e-9
    )


# ---- estimators ----------------------------------------------------------------------------------
def assert_same_answers(a: Any, b: Any, X: np.ndarray, room: float = 1e-8) -> None:
    for ask in ("predict_joint_log_proba", "predict_proba"):
        np.testing.assert_allclose(
            getattr(a, ask)(X), getattr(b, ask)(X), rtol=room, atol=room, err_msg=ask
        )


@may_be_degenerate
@every_estimator
def test_any_cut_gives_the_fit_of_all_rows(estimator):
    data = gappy_problem(1)
    rng = np.random.default_rng(1)
    whole, stepwise, models = clone(estimator).fit(data.X, data.y), clone(estimator), []
    for rows in np.array_split(rng.permutation(len(data.y)), 4):
        stepwise.partial_fit(data.X[rows], data.y[rows], classes=data.classes)
        models.append(clone(estimator).partial_fit(data.X[rows], data.y[rows], classes=data.classes))
    assert_same_answers(stepwise, whole, data.X)
    assert_same_answers(lk.merge(models), whole, data.X)
    assert_same_answers(lk.merge(models[::-1]), whole, data.X)


@every_estimator
def test_models_with_gaps_and_without_merge_to_the_fit_of_all_rows(estimator):
    clean, gappy = problem(1), gappy_problem(2)
    X, y = np.vstack([clean.X, gappy.X]), np.concatenate([clean.y, gappy.y])
    a, b = clone(estimator).fit(clean.X, clean.y), clone(estimator).fit(gappy.X, gappy.y)
    whole = clone(estimator).fit(X, y)
    assert_same_answers(a.merge(b), whole, X)
    assert_same_answers(b.merge(a), whole, X)
    assert_same_answers(a.partial_fit(gappy.X, gappy.y), whole, X)


@every_estimator
def test_rows_of_weight_0_may_lack_what_they_like(estimator):
    data = problem()
    w = np.ones(len(data.y))
    w[::4] = 0
    X = data.X.copy()
    X[::4, 1] = np.nan
    X[::8] = np.nan
    model = clone(estimator).fit(X, data.y, sample_weight=w)
    assert_same_answers(model, clone(estimator).fit(data.X[w > 0], data.y[w > 0]), data.X, 1e-11)


@pytest.mark.parametrize("estimator", [LDA(store_covariance=True), LDA(solver="eigen"), QDA()], ids=repr)
def test_the_attributes_are_the_most_likely_parameters(estimator):
    rows = gappy_rows(0, K=2, p=3, n=80)
    model = clone(estimator).fit(rows.X, rows.y, sample_weight=rows.weights)
    tied = isinstance(model, LDA)
    mean, cov = Twin(rows, tied=tied).run()
    if tied:
        np.testing.assert_allclose(model.covariance_, cov[0], rtol=1e-8, atol=1e-9)
    else:
        found = [(R * s) @ R.T for R, s in zip(model.rotations_, model.scalings_, strict=True)]
        np.testing.assert_allclose(found, cov, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.means_, mean, rtol=1e-7)


def test_naive_bayes_takes_each_column_by_itself():
    data = gappy_problem(share=0.5)
    model = lk.GaussianNB(var_smoothing=0.0).fit(data.X, data.y)
    for k, label in enumerate(model.classes_):
        rows = data.X[data.y == label]
        np.testing.assert_allclose(model.theta_[k], np.nanmean(rows, axis=0), rtol=1e-12)
        np.testing.assert_allclose(model.var_[k], np.nanvar(rows, axis=0), rtol=1e-12)


# ---- the way -------------------------------------------------------------------------------------
def contraction(d: int, seed: int, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x -> Ax + b, its fixed point, slowest at `rate`: steps of EM have such a map near their end."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = (Q * np.linspace(0.1, rate, d)) @ Q.T
    b = rng.standard_normal(d)
    return A, b, np.linalg.solve(np.eye(d) - A, b)


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_mixing_finds_the_fixed_point_of_a_linear_contraction(d, rate):
    A, b, end = contraction(d, d, rate)
    mixing, x = AndersonMixing(), np.zeros(d)
    for _ in range(60 if d <= AndersonMixing.MOST else 400):
        x = mixing.next(x, A @ x + b)
    np.testing.assert_allclose(x, end, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("p", [1, 2, 4])
def test_the_way_up_ends_where_a_linear_contraction_does(p, rate):
    A, b, end = contraction(p, p, rate)

    def step(at: list[Point]) -> tuple[float, list[Point]]:
        (one,) = at
        x = one.mean[0]
        return -float((x - end) @ (x - end)), [Point((A @ x + b)[None], one.cov)]

    (found,), steps, converged = find_fixed_point(step, [Point(np.zeros((1, p)), np.eye(p))])
    assert converged
    np.testing.assert_allclose(found.mean[0], end, rtol=1e-9, atol=1e-9)
    assert steps < 60


def test_a_way_without_end_is_given_up():
    def step(at: list[Point]) -> tuple[float, list[Point]]:
        return float(at[0].mean.sum()), [Point(at[0].mean + 1, at[0].cov)]

    (end,), steps, converged = find_fixed_point(step, [Point(np.zeros((1, 1)), np.eye(1))])
    assert not converged
    assert steps == MOST_STEPS
    assert np.isfinite(end.mean).all()


# ---- few missing cells ---------------------------------------------------------------------------
def by_rows(state: PatternMoments, monkeypatch: pytest.MonkeyPatch) -> Moments:
    """Expectation and maximisation over all columns, however few cells are missing."""
    with monkeypatch.context() as plain:
        plain.setattr("likelier.families.missing.pays", lambda _: False)
        again = copy.deepcopy(state)
        again.solved = None  # or it would be what has been worked out before
        return completed(again)


@every_shape
@pytest.mark.parametrize(
    ("n", "p", "K", "lacking", "cells"),
    [
        (200, 30, 2, 3, 40),
        (300, 40, 3, 40, 60),
        (150, 12, 1, 1, 70),
        (90, 5, 2, 2, 60),
        (400, 60, 2, 2, 300),
    ],
)
def test_few_cells_find_what_all_rows_do(shape, n, p, K, lacking, cells, monkeypatch):
    """Few columns or all, patterns kept row by row and counted ones."""
    rng = np.random.default_rng(n)
    rows = gappy_rows(n, K, p, n, 0.0)
    gone = np.zeros((n, p), bool)
    gone[rng.integers(0, n, cells), rng.integers(0, lacking, cells)] = True
    rows = rows.lacking(gone)
    state = state_of(rows, shape)
    assert all(pays(one) for one in problems(state) if len(one.items.w))
    found, plain = completed(state), by_rows(state, monkeypatch)
    assert found.converged
    assert_same_moments(found, plain, 1e-6)  # short steps over all columns end as far from the end
    assert (
        log_likelihood(rows, found.mean, covariances(found))
        >= log_likelihood(rows, plain.mean, covariances(plain)) - 1e-8
    )


def indicators(far: float = 0.0) -> Table:
    """Columns that follow from each other, some missing together."""
    rng = np.random.default_rng(0)
    sizes = (3, 4, 9, 2)
    blocks = [np.eye(k)[rng.integers(0, k, 400)] for k in sizes]
    X = np.concatenate([rng.standard_normal((400, 6)) + far, *blocks], axis=1)
    y = (X[:, 0] - far + X[:, 7] + rng.standard_normal(400) > 0).astype(np.int32)
    first = 6
    for size in sizes[:3]:
        X[rng.choice(400, 7, replace=False), first : first + size] = np.nan
        first += size
    X[rng.choice(400, 13, replace=False), 1] = np.nan
    return Table(X, y, None, 2)


def too_few() -> Table:
    """Rows that have all of some columns are fewer than columns: likelihoods without a greatest value."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 30)), (np.arange(60) % 2).astype(np.int32)
    for j in range(3):
        X[rng.choice(60, 25, replace=False), j] = np.nan
    return Table(X, y, None, 2)


@pytest.mark.parametrize("make", [indicators, too_few])
def test_cells_rows_and_passes_add_the_same_to_columns_that_follow_from_others(make, monkeypatch):
    """One rule for what is added where the likelihood has no greatest value, whoever takes the steps."""
    rows = make()
    state = state_of(rows, "tied")
    cells, steps = completed(copy.deepcopy(state)), by_rows(state, monkeypatch)
    passes = completed_by_passes(Arrays(Dense(rows.X), rows.y), rows.K, "tied")
    for found in (cells, steps, passes):
        assert found.converged
        assert_same_moments(found, steps, 1e-5)  # where likelihoods are flat, ends are that far apart


def sums(copied: bool) -> Table:
    """A column that is another one, or the sum of two, and few cells missing."""
    rng = np.random.default_rng(65)
    y = rng.integers(0, 3, 60).astype(np.int32)
    X = rng.standard_normal((60, 5)) + 0.5 * y[:, None]
    X[:, 2] = X[:, 0] + (0 if copied else X[:, 1])
    X[rng.integers(0, 60, 6), rng.integers(0, 5, 6)] = np.nan
    return Table(X, y, None, 3)


@every_shape
@pytest.mark.parametrize("copied", [True, False])
def test_passes_end_where_a_column_follows_from_others_in_every_class(copied, shape, monkeypatch):
    rows, runs = sums(copied), []

    def counted(*args: Any) -> Any:
        assert len(runs) < 10, "the same way is tried again and again"
        runs.append(args)
        return maximised(*args)

    maximised = em._maximised
    monkeypatch.setattr(em, "_maximised", counted)
    found = completed_by_passes(Arrays(Dense(rows.X), rows.y), rows.K, shape)
    assert found.converged
    assert_same_moments(found, completed(state_of(rows, shape)), 1e-5)


@pytest.mark.parametrize("make", [indicators, too_few])
def test_an_array_and_two_files_with_dependent_columns_make_one_model(make, tmp_path):
    rows = make()
    p = rows.X.shape[1]
    table = pa.table({f"x{j}": pa.array(rows.X[:, j], from_pandas=True) for j in range(p)} | {"y": rows.y})
    cut = len(rows.y) // 3
    for i, part in enumerate((table.slice(0, cut), table.slice(cut))):
        pq.write_table(part, tmp_path / f"{i}.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of directions that are left out
        ours = lk.LinearDiscriminantAnalysis().fit(rows.X, rows.y)
        theirs = lk.LinearDiscriminantAnalysis().fit(lk.scan(tmp_path / "*.parquet", target="y"))
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-7, atol=1e-7)
    a, b = (model._model.params.cov for model in (ours, theirs))
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@every_shape
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_completed_indicators_add_up_to_1(shape, far):
    found = completed(state_of(indicators(far), shape))
    assert found.converged
    assert found.steps < 60
    np.testing.assert_allclose(found.mean[:, 6:9].sum(axis=1), 1, atol=1e-6)
    one = np.zeros(found.mean.shape[1])
    one[6:9] = 1
    assert (np.abs(covariances(found) @ one) < 1e-6).all()


def application_forms() -> Table:
    """690 × 41: six numbers and four answers as indicators, a few cells of each missing together."""
    rng, n = np.random.default_rng(0), 690
    sizes = (9, 14, 3, 9)
    answers = [rng.integers(0, k, n) for k in sizes]
    blocks = [np.eye(k)[answer] for k, answer in zip(sizes, answers, strict=True)]
    X = np.column_stack([rng.gamma(2.0, 2.0, (n, 6)), *blocks])
    y = (X[:, 0] + 0.5 * answers[0] + rng.standard_normal(n) > 6).astype(np.int32)
    for columns, count in ((slice(6, 15), 3), (slice(15, 29), 1), (0, 13), (1, 13)):
        X[rng.choice(n, count, replace=False), columns] = np.nan
    return Table(X, y, None, 2)


@pytest.fixture
def steps_taken(monkeypatch):
    """The numbers of steps of all climbs, also of those that came to no end and were begun anew."""
    taken: list[int] = []

    class Core:
        code_bytes = _core.code_bytes

        @staticmethod
        def climb_cells(*system: Any) -> tuple[int, int]:
            end, steps = _core.climb_cells(*system)
            taken.append(steps)
            return end, steps

    def counted(*how: Any) -> Any:
        taken.append(1)
        return expect(*how)

    monkeypatch.setattr("likelier.families.few_missing._core", Core)
    monkeypatch.setattr("likelier.families.missing.expect", counted)
    return taken


@every_shape
@pytest.mark.parametrize("way", ["cells", "rows"])
@pytest.mark.parametrize("make", [indicators, application_forms])
def test_columns_that_follow_from_others_take_few_steps(make, way, shape, steps_taken, monkeypatch):
    """With too little added to their variances, or nothing, it is 1000 steps without an end."""
    state = state_of(make(), shape)
    found = completed(state) if way == "cells" else by_rows(state, monkeypatch)
    assert found.converged
    assert sum(steps_taken) < 25 * len(problems(state))


@pytest.mark.parametrize(("n", "p", "lacking", "cells"), [(300, 60, 4, 200), (120, 40, 4, 90)])
def test_few_columns_that_lack_many_cells_take_few_steps(n, p, lacking, cells, steps_taken, monkeypatch):
    """By Newton's method; those of expectation and maximisation are short where much is missing."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, p))
    X[rng.integers(0, n, cells), rng.integers(0, lacking, cells)] = np.nan
    state = state_of(Table(X, (np.arange(n) % 3).astype(np.int32), None, 3), "tied")
    found = completed(state)
    steps = sum(steps_taken)
    plain = by_rows(state, monkeypatch)
    assert found.converged
    assert plain.converged
    assert_same_moments(found, plain, 1e-6)
    assert steps <= 8
    assert sum(steps_taken) - steps > 2 * steps


@pytest.mark.parametrize("way", ["cells", "rows"])
@pytest.mark.parametrize("make", [indicators, application_forms])
def test_the_law_of_few_steps_is_broken_by_a_share_of_rounding(make, way, steps_taken, monkeypatch):
    monkeypatch.setattr("likelier.families.em_acceleration.ridge_for", lambda *_: 1e-13)
    state = state_of(make(), "tied")
    found = completed(state) if way == "cells" else by_rows(state, monkeypatch)
    assert not found.converged
    assert sum(steps_taken) >= MOST_STEPS


@pytest.mark.parametrize("shape", ["full", "tied"])
@pytest.mark.parametrize("lacking", [5, 120])
def test_few_cells_of_tables_with_hardly_more_rows_than_columns_have_an_end(shape, lacking):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 120)), (np.arange(200) % 3).astype(np.int32)
    X[rng.integers(0, 200, 150), rng.integers(0, lacking, 150)] = np.nan
    found = completed(state_of(Table(X, y, None, 3), shape))
    assert found.converged
    values = np.linalg.eigvalsh(covariances(found))
    assert np.isfinite(found.mean).all()
    assert values.min() > -1e-6
    np.testing.assert_allclose(
        found.mean, np.stack([np.nanmean(X[y == k], axis=0) for k in range(3)]), atol=1
    )


@pytest.mark.parametrize(
    ("rank", "where"), [(40, "all"), (200, "all"), (599, "all"), (600, "all"), (599, "last")]
)
def test_whether_eigenvalues_exceed_a_floor_is_seen_in_wide_matrices_too(rank, where):
    """Of 600 columns a part is looked at first: it may show that there are too few rows, or may not."""
    rng = np.random.default_rng(rank)
    A = rng.standard_normal((600, rank)) if where == "all" else np.eye(600)[:, :rank]
    cov = A @ A.T / rank + (1e-3 * np.eye(600) if rank == 600 else 0.0)
    before = cov.copy()
    least = np.linalg.eigvalsh(cov)[0]
    assert exceeds(cov, 1e-8) == (least > 1e-8)
    if rank == 600:
        assert exceeds(cov, 0.9 * least)
        assert not exceeds(cov, 1.1 * least)
    np.testing.assert_array_equal(cov, before)
