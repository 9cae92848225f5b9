"""The laws of a Family: its estimate maximises the likelihood, and is a density in every question."""

import copy
from dataclasses import dataclass, fields, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from laws.comparing import UNIT, arrays_of, assert_same_bits
from laws.generators import SEEDS
from likelier.data import Chunk, Dense
from likelier.families import DiagonalGaussian, Family, FullGaussian, Params, TiedGaussian

K = 3


@dataclass(frozen=True)
class Case:
    """A family under test. likeliest: it smooths nothing, so that its estimate has the most likelihood."""

    name: str
    family: Family
    likeliest: bool = False


# A new family joins here.
FAMILIES = [
    Case("diagonal", DiagonalGaussian(0.0), likeliest=True),
    Case("diagonal, smoothed", DiagonalGaussian(1e-2)),
    Case("tied", TiedGaussian(), likeliest=True),
    Case("tied, by class", TiedGaussian(by_class=True), likeliest=True),
    Case("tied, shrunk", TiedGaussian(0.3)),
    Case("tied, auto", TiedGaussian("auto")),
    Case("tied, weighed", TiedGaussian(weights=np.array([0.2, 0.5, 0.3]))),
    Case("tied, weighed and shrunk", TiedGaussian(0.3, weights=np.array([0.2, 0.5, 0.3]))),
    Case("full", FullGaussian(), likeliest=True),
    Case("full, shrunk", FullGaussian(0.3)),
    Case("full, lifted", FullGaussian(lift=0.1)),
    Case("full, auto", FullGaussian("auto")),
]
every_family = pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.name)
every_likeliest = pytest.mark.parametrize(
    "case", [case for case in FAMILIES if case.likeliest], ids=lambda case: case.name
)


# ---- how -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Fit:
    params: Params
    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None

    @property
    def mean(self) -> np.ndarray:
        return self.params.mean

    @property
    def cov(self) -> np.ndarray:
        """Covariances (K, p, p), however the parameters hold them."""
        if hasattr(self.params, "var"):
            return np.stack([np.diag(v) for v in self.params.var])
        return np.broadcast_to(self.params.cov, (K, *self.params.cov.shape[-2:]))

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(np.einsum("kii->ki", self.cov))


def fit(
    case: Case, p: int, seed: int = 0, scales: Any = 1.0, centre: Any = 0.0, weighted: bool = False
) -> Fit:
    """Estimates from 60 correlated rows about `centre`, in units of `scales`."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(60) % K).astype(np.int32)
    mix = np.eye(p) + 0.5 * rng.uniform(-1, 1, (K, p, p))
    noise = np.einsum("nij,nj->ni", mix[y], rng.standard_normal((60, p)))
    X = centre + scales * (noise + 2 * rng.standard_normal((K, p))[y])
    w = rng.integers(1, 4, 60).astype(np.float64) if weighted else None
    state = case.family.stats(K, p)
    state.update(Chunk(Dense(X), y, w))
    return Fit(case.family.estimate(state), X, y, w)


def log_density(params: Params, X: np.ndarray) -> np.ndarray:
    """ln p(x | C_k), (n, K)."""
    Z = np.full((len(X), params.shape[0]), np.nan)
    params.scores().write(Chunk(Dense(X)), Z)
    return Z


def near(fit: Fit, rng: np.random.Generator, n: int = 20) -> np.ndarray:
    """Points where all classes have a density worth the name."""
    p = fit.mean.shape[1]
    return fit.mean.mean(axis=0) + fit.sd.max(axis=0) * rng.uniform(-2, 2, (n, p))


def grid(fit: Fit, k: int, columns: Any) -> tuple[np.ndarray, float]:
    """Points a quarter of a deviation apart, out to 9, and the volume that each stands for.

    On smooth functions that vanish at both ends, such sums converge faster than any power.
    """
    axes = [fit.mean[k, j] + fit.sd[k, j] * np.arange(-9, 9.01, 0.25) for j in columns]
    points = np.array(list(product(*axes)))
    return points, float(np.prod([axis[1] - axis[0] for axis in axes]))


# ---- estimates -----------------------------------------------------------------------------------
def log_likelihood(params: Params, fit: Fit) -> float:
    own = log_density(params, fit.X)[np.arange(len(fit.y)), fit.y]
    return float(own @ (np.ones(len(own)) if fit.w is None else fit.w))


def moved(fit: Fit, name: str, rng: np.random.Generator, by: float) -> Params:
    """The parameters with one of them moved in a random direction, in units of the deviations."""
    value = getattr(fit.params, name)
    step = rng.standard_normal(value.shape)
    if name == "mean":
        step = step * fit.sd
    elif name == "var":
        step = step * fit.sd**2
    else:  # L (I + step) Lᵀ: symmetric, and a covariance still
        L = np.linalg.cholesky(value)
        step = L @ (step + np.swapaxes(step, -1, -2)) @ np.swapaxes(L, -1, -2)
    return replace(fit.params, **{name: value + by * step})


@every_likeliest
@given(seed=SEEDS, p=st.sampled_from([1, 2, 3, 5]), weighted=st.booleans())
def test_no_parameters_are_likelier_than_the_estimate(case, seed, p, weighted):
    found = fit(case, p, seed % 100, weighted=weighted)
    best = log_likelihood(found.params, found)
    for name in [f.name for f in fields(found.params) if f.name in ("mean", "var", "cov")]:
        for by in (1e-4, -1e-4):  # one direction, both ways: a slope would show as a gain in one of them
            assert log_likelihood(moved(found, name, np.random.default_rng(seed), by), found) < best, name


@every_family
@pytest.mark.parametrize("gaps", [False, True], ids=["no gaps", "gaps"])
def test_the_statistics_know_nothing_of_the_smoothing(case, gaps):
    """Smoothing acts in `estimate` only: the same statistics serve it twice."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    if gaps:
        X[3::5, 1] = np.nan
    state = case.family.stats(K, 2)
    state.update(Chunk(Dense(X), np.arange(30, dtype=np.int32) % K))
    before = copy.deepcopy(state)
    once, again = case.family.estimate(state), case.family.estimate(state)
    assert_same_bits(state, before)
    np.testing.assert_array_equal(once.mean, again.mean)
    for name, held in arrays_of(state).items():
        assert not np.shares_memory(once.mean, held), name


# ---- density -------------------------------------------------------------------------------------
@every_family
@pytest.mark.parametrize("centre", [0.0, 1e8])
@pytest.mark.parametrize("scales", [1.0, 1e-6, 1e5])
@pytest.mark.parametrize("p", [1, 2, 3, 9])
def test_scores_are_the_log_density_of_the_gaussian(case, p, scales, centre):
    found = fit(case, p, p, scales, centre if scales >= 1 else centre * 1e-6)
    X = near(found, np.random.default_rng(p))
    classes = zip(found.mean, found.cov, strict=True)
    expected = [stats.multivariate_normal.logpdf(X, m, S) for m, S in classes]
    np.testing.assert_allclose(log_density(found.params, X), np.transpose(expected), rtol=1e-10, atol=1e-10)


@every_family
@pytest.mark.parametrize("p", [1, 2])
def test_the_density_integrates_to_1(case, p):
    found = fit(case, p, seed=1)
    for k in range(K):
        points, volume = grid(found, k, range(p))
        assert abs(np.exp(log_density(found.params, points)[:, k]).sum() * volume - 1) < 1e-10


@every_family
def test_samples_have_the_moments(case):
    """Within 5 standard errors: sd/√n for a mean, √((Σ_ii Σ_jj + Σ_ij²)/n) for a covariance."""
    found, n = fit(case, 4, seed=2, scales=np.array([1.0, 1e-6, 1e4, 1.0])), 20_000
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(K), n))
    X = found.params.sample(codes, np.random.default_rng(1))
    for k in range(K):
        rows, S, v = X[codes == k], found.cov[k], found.sd[k] ** 2
        assert (np.abs(rows.mean(axis=0) - found.mean[k]) < 5 * found.sd[k] / np.sqrt(n)).all()
        assert (np.abs(np.cov(rows.T, bias=True) - S) < 5 * np.sqrt((np.outer(v, v) + S**2) / n)).all()


@every_family
def test_samples_repeat_with_the_generator_and_differ_without(case):
    found, codes = fit(case, 2), np.arange(30) % K
    one, same, other = (found.params.sample(codes, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.isclose(one, other).any()


# ---- marginal and conditional densities ----------------------------------------------------------
@every_family
@pytest.mark.parametrize("kept", [[0], [2], [1, 0], [2, 0]], ids=str)
def test_the_marginal_is_the_integral_of_the_joint(case, kept):
    found = fit(case, 3, seed=3)
    gone = [j for j in range(3) if j not in kept]
    X = near(found, np.random.default_rng(0), n=3)[:, kept]
    marginal = np.exp(log_density(found.params.marginal(np.array(kept)), X))
    for k, x in product(range(K), range(len(X))):
        points, volume = grid(found, k, gone)
        joint = np.empty((len(points), 3))
        joint[:, kept], joint[:, gone] = X[x], points
        total = np.exp(log_density(found.params, joint)[:, k]).sum() * volume
        np.testing.assert_allclose(marginal[x, k], total, rtol=1e-9)


# Columns of one size; of the sizes that a table in mixed units has; far from 0. Conditioning moves the
# mean of the rest, which is held to u|mean|: so much is lost at a mean of 1e8, a few times over.
UNITS = {
    "alike": (np.ones(4), 0.0, 1e-10),
    "mixed": (np.array([1e-6, 1.0, 1e3, 10.0]), 0.0, 1e-10),
    "far": (np.ones(4), 1e8, 1e-10 + 64 * UNIT * 1e8),
}
every_unit = pytest.mark.parametrize("units", list(UNITS))


def assert_near(a: np.ndarray, b: np.ndarray, units: str, what: Any = "") -> None:
    room = UNITS[units][2]
    np.testing.assert_allclose(a, b, rtol=room, atol=room, err_msg=str(what))


def four_columns(case: Case, units: str) -> tuple[Fit, np.ndarray]:
    scales, centre, _ = UNITS[units]
    found = fit(case, 4, seed=4, scales=scales, centre=centre)
    return found, near(found, np.random.default_rng(5), n=1)[0]


@every_family
@every_unit
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_joint_is_the_given_times_the_rest(case, units, count):
    found, x = four_columns(case, units)
    joint = log_density(found.params, x[None])[0]
    for given_columns in combinations([3, 0, 2, 1], count):
        rest = [j for j in range(4) if j not in given_columns]
        conditional, log_given = found.params.condition({j: x[j] for j in given_columns})
        seen = log_density(found.params.marginal(np.array(given_columns)), x[None, list(given_columns)])
        np.testing.assert_allclose(log_given, seen[0], rtol=1e-10, atol=1e-10)
        assert_near(log_given + log_density(conditional, x[None, rest])[0], joint, units, given_columns)


@every_family
@every_unit
def test_conditions_one_by_one_are_conditions_at_once(case, units):
    found, x = four_columns(case, units)
    at_once = found.params.condition({0: x[0], 2: x[2]})
    first = found.params.condition({2: x[2]})
    then = first.params.condition({0: x[0]})
    rest = x[None, [1, 3]]
    assert_near(log_density(then.params, rest), log_density(at_once.params, rest), units)
    assert_near(first.log_given + then.log_given, at_once.log_given, units)


@every_family
@every_unit
def test_marginal_and_condition_commute(case, units):
    found, x = four_columns(case, units)
    condition_first = found.params.condition({2: x[2]}).params.marginal(np.array([1]))  # of 0, 1, 3
    marginal_first = found.params.marginal(np.array([2, 1])).condition({0: x[2]}).params
    rest = x[None, [1]]
    assert_near(log_density(condition_first, rest), log_density(marginal_first, rest), units)


@every_family
def test_the_marginal_of_all_columns_is_the_joint_reordered(case):
    found, _ = four_columns(case, "mixed")
    X, order = near(found, np.random.default_rng(0)), np.array([2, 0, 3, 1])
    np.testing.assert_allclose(
        log_density(found.params.marginal(order), X[:, order]), log_density(found.params, X), rtol=1e-10
    )
