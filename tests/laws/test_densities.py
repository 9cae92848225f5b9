"""The laws of a Family whose columns are of any kind: an estimate that is stationary, densities in all.

Gaussian families with covariances have laws of their own, in test_families.py.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from laws.comparing import assert_same_bits
from laws.generators import SEEDS
from likelier.data import Chunk, Columns, Dense, block
from likelier.families import (
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    Family,
    Gamma,
    Geometric,
    Histogram,
    Kernel,
    MixedFamily,
    Params,
    Poisson,
    ProductKernel,
)
from likelier.families.gaussian import RidgedDiagonal, RidgedSpherical
from likelier.states import edges_of

K = 3
Points = tuple[np.ndarray, np.ndarray]  # rows (m, q), and the volume that each stands for (m,)


@dataclass(frozen=True)
class Case:
    """A family under test, of p columns.

    draw: rows of these classes, all of them possible. points: rows over which a sum of the density of
    some columns, each times its volume, is the integral of it, or the sum over all values. moved: the
    parameters, one of them moved by a small step in a random direction, for a family that smooths nothing.
    """

    name: str
    family: Family
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    points: Callable[[Params, int], Points]
    moved: Callable[[Any, np.random.Generator, float], Params] | None = None
    p: int = 3
    likeliest: bool = False  # categories: a missing cell is filled with the likeliest, not with a mean
    group: bool = False  # the columns make one density: no column of its own stands for itself


# ---- how -----------------------------------------------------------------------------------------
def fitted(case: Case, seed: int = 0, weighted: bool = False) -> tuple[Params, Chunk]:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(90) % K).astype(np.int32)
    w = rng.integers(1, 4, len(y)).astype(np.float64) if weighted else None
    chunk = Chunk(Dense(case.draw(rng, y)), y, w)
    state = case.family.stats(K, case.p)
    state.update(chunk)
    return case.family.estimate(state), chunk


def log_density(params: Params, X: np.ndarray) -> np.ndarray:
    """ln p(x | C_k), (n, K)."""
    Z = np.full((len(X), params.shape[0]), np.nan)
    params.scores().write(Chunk(Dense(X)), Z)
    return Z


def gaussian_points(params: Any, j: int) -> Points:
    low, high = params.mean[:, j].min(), params.mean[:, j].max()
    sd = np.sqrt(params.var[:, j])
    x = np.arange(low - 9 * sd.max(), high + 9 * sd.max(), sd.min() / 4)
    return x[:, None], np.full(len(x), x[1] - x[0])


def log_spaced_points(params: Any, j: int) -> Points:
    """All numbers above 0, by the midpoint rule in ln x."""
    t = np.arange(-80.0, 12.0, 0.01)
    return np.exp(t)[:, None], 0.01 * np.exp(t)


def logistic_points(params: Any, j: int) -> Points:
    """All numbers between 0 and 1, by the midpoint rule in ln x/(1-x)."""
    x = 1 / (1 + np.exp(-np.arange(-36.0, 36.0, 0.01)))
    return x[:, None], 0.01 * x * (1 - x)


def mixed_points(params: Any, j: int) -> Points:
    for columns, part in params.groups:
        if j in columns:
            return gaussian_points(part, int(np.flatnonzero(columns == j)[0]))
    raise AssertionError(j)


def kernel_points(params: Any, j: int) -> Points:
    if not hasattr(params, "points"):
        return kernel_points(params.groups[j].params, 0)
    c, h = params.points[:, j], params.h[:, j]
    x = np.arange(np.nanmin(c) - 9 * h.max(), np.nanmax(c) + 9 * h.max(), h.min() / 3)
    return x[:, None], np.full(len(x), x[1] - x[0])


def gaussians(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return rng.standard_normal((len(y), 3)) * [1.0, 2.0, 0.5] + y[:, None]


def gammas(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return rng.gamma([0.8, 2.0, 30.0], size=(len(y), 3)) * (1 + y[:, None])


def betas(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return rng.beta([2.0, 1.5, 20.0], 1.5 + y[:, None], size=(len(y), 3))


def shares(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    drawn = rng.gamma([2.0, 1.0, 0.7] + y[:, None])
    return drawn / drawn.sum(axis=1, keepdims=True)


def scaled(*names: str) -> Callable[[Any, np.random.Generator, float], Params]:
    """Positive parameters, each moved by a share of itself."""

    def moved(params: Any, rng: np.random.Generator, by: float) -> Params:
        held = {name: getattr(params, name) for name in names}
        return replace(params, **{n: v * (1 + by * rng.standard_normal(v.shape)) for n, v in held.items()})

    return moved


def categories(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return (rng.random((len(y), 3)) ** (1 + y[:, None]) * [3, 5, 4] // 1).astype(np.float64)


def category_points(params: Any, j: int) -> Points:
    x = np.arange(params.sizes[j], dtype=np.float64)
    return x[:, None], np.ones(len(x))


def with_atoms(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Some cells are 0, the least of the second column, and some 2.5, the most of the third."""
    X = rng.standard_normal((len(y), 3)) + y[:, None]
    X[:, 1] = np.where(rng.random(len(y)) < 0.4, 0.0, np.abs(X[:, 1]))
    X[:, 2] = np.where(rng.random(len(y)) < 0.4, 2.5, np.minimum(X[:, 2], 2.5))
    return X


def binned(bins: int) -> Histogram:
    rng = np.random.default_rng(3)
    X = with_atoms(rng, np.arange(200) % K)
    return Histogram(tuple(edges_of(x, None, bins) for x in X.T))


def bin_points(params: Any, j: int) -> Points:
    """Middles of bins (in 40 pieces, for their moments), atoms, and tails up to 40 times their mean."""
    bins = params.bins[j]
    x, volume = [bins.edges[:-1][bins.atoms]], [np.ones(bins.atoms.sum())]
    for a, b in np.stack([bins.edges[:-1], bins.edges[1:]], axis=1)[~bins.atoms]:
        pieces = np.linspace(a, b, 41)
        x.append((pieces[:-1] + pieces[1:]) / 2)
        volume.append(np.diff(pieces))
    t, w = np.polynomial.laguerre.laggauss(60)
    for edge, way in ((bins.edges[0], -1.0), (bins.edges[-1], 1.0)):
        x.append(edge + way * bins.tail * t)
        volume.append(bins.tail * w * np.exp(t))
    return np.concatenate(x)[:, None], np.concatenate(volume)


def counts(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return rng.poisson(np.array([0.6, 2.0, 5.0]) * (1 + y[:, None])).astype(np.float64)


def truths(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return (rng.random((len(y), 3)) < (1 + y[:, None]) / 5).astype(np.float64)


def times(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return rng.exponential(np.array([0.1, 1.0, 30.0]) * (1 + y[:, None]))


BOTH = np.array([[0.0], [1.0]]), np.ones(2)  # all the values that a truth has


def whole_points(params: Any, j: int) -> Points:
    x = np.arange(1000.0)
    return x[:, None], np.ones(len(x))


def exponential_points(params: Any, j: int) -> Points:
    """The middles of short steps: their error is that of the steps squared."""
    step = params.mean[:, j].min() / 5000
    x = np.arange(step / 2, 36 * params.mean[:, j].max(), step)
    return x[:, None], np.full(len(x), step)


def moved_odds(params: Any, rng: np.random.Generator, by: float) -> Params:
    odds = np.exp(params.log_yes - params.log_no)
    odds = odds * (1 + by * rng.standard_normal(odds.shape))
    return replace(params, log_yes=-np.log1p(1 / odds), log_no=-np.log1p(odds))


# A new family joins here.
DENSITIES = [
    Case("bernoulli", Bernoulli(0.0), truths, lambda params, j: BOTH, moved_odds),
    Case("bernoulli, smoothed", Bernoulli(1.0, 0.5), truths, lambda params, j: BOTH),
    Case("poisson", Poisson(0.0), counts, whole_points, scaled("rate")),
    Case("poisson, smoothed", Poisson(np.array([0.5, 1.0, 2.0])), counts, whole_points),
    Case("geometric", Geometric(0.0), counts, whole_points, scaled("odds")),
    Case("exponential", Exponential(0.0), times, exponential_points, scaled("mean")),
    Case("gaussian", DiagonalGaussian(0.0), gaussians, gaussian_points, scaled("mean", "var")),
    Case("diag", RidgedDiagonal(), gaussians, gaussian_points, scaled("mean", "var")),
    Case("spherical", RidgedSpherical(0.1), gaussians, gaussian_points),
    Case(
        "mixed",
        MixedFamily(((np.array([2, 0]), DiagonalGaussian()), (np.array([1]), DiagonalGaussian()))),
        gaussians,
        mixed_points,
    ),
    Case(
        "categorical",
        Categorical([3, 5, 4], unknown=False),
        categories,
        category_points,
        likeliest=True,
    ),
    Case("histogram", binned(8), with_atoms, bin_points),
    Case("histogram of one bin", binned(1), with_atoms, bin_points),
    Case("gamma", Gamma(smoothing=0), gammas, log_spaced_points, scaled("a", "mean")),
    Case("beta", Beta(smoothing=0), betas, logistic_points, scaled("a", "b")),
    Case("dirichlet", Dirichlet(smoothing=0), shares, logistic_points, scaled("alpha"), group=True),
    Case("kernel", Kernel(), gaussians, kernel_points),
    Case("kernel, cv", Kernel("cv"), gaussians, kernel_points),
    Case("product of kernels", ProductKernel(), gaussians, kernel_points, group=True),
]
every_density = pytest.mark.parametrize("case", DENSITIES, ids=lambda case: case.name)
every_likeliest = pytest.mark.parametrize(
    "case", [case for case in DENSITIES if case.moved], ids=lambda case: case.name
)
every_by_column = pytest.mark.parametrize(
    "case", [case for case in DENSITIES if not case.group], ids=lambda case: case.name
)


# ---- estimates -----------------------------------------------------------------------------------
@every_likeliest
@given(seed=SEEDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["each once", "weighted"])
def test_no_parameters_are_likelier_than_the_estimate(case, seed, weighted):
    params, rows = fitted(case, seed % 100, weighted)
    X, w = rows.X.to_array(), np.ones(len(rows.y)) if rows.w is None else rows.w

    def likelihood(one: Params) -> float:
        return float(log_density(one, X)[np.arange(len(X)), rows.y] @ w)

    best = likelihood(params)
    for by in (1e-3, -1e-3):  # one direction, both ways: a slope would show as a gain in one of them
        moved = case.moved(params, np.random.default_rng(seed), by)
        assert likelihood(moved) < best


@every_density
def test_the_statistics_know_nothing_of_the_smoothing(case):
    _, rows = fitted(case)
    state = case.family.stats(K, case.p)
    state.update(rows)
    before = copy.deepcopy(state)
    case.family.estimate(state)
    assert_same_bits(state, before)


@every_density
def test_a_class_without_rows_is_no_obstacle(case):
    """It has some finite density, which no prior will ask for."""
    _, rows = fitted(case)
    state = case.family.stats(K + 1, case.p)
    state.update(rows)
    found = log_density(case.family.estimate(state), rows.X.to_array()[:5])
    assert np.isfinite(found).all()


# ---- densities -----------------------------------------------------------------------------------
@every_by_column
def test_each_column_integrates_to_1(case):
    params, _ = fitted(case, 1)
    for j in range(case.p):
        points, volume = case.points(params, j)
        total = volume @ np.exp(log_density(params.marginal(np.array([j])), points))
        np.testing.assert_allclose(total, 1, rtol=1e-8)


@every_by_column
def test_samples_have_the_moments_of_the_density(case):
    """Within 5 standard errors; those of a variance by the fourth moment."""
    params, _ = fitted(case, 2)
    n = 20_000
    for k in range(K):
        X = params.sample(np.full(n, k), np.random.default_rng(k))
        for j in range(case.p):
            points, volume = case.points(params, j)
            x = points[:, 0]
            f = volume * np.exp(log_density(params.marginal(np.array([j])), points)[:, k])
            mean = f @ x
            second, fourth = f @ (x - mean) ** 2, f @ (x - mean) ** 4
            assert abs(X[:, j].mean() - mean) <= 5 * np.sqrt(second / n) + 1e-9
            assert abs(X[:, j].var() - second) <= 5 * np.sqrt((fourth - second**2) / n) + 1e-9


@every_density
def test_samples_repeat_with_the_generator_and_are_possible(case):
    params, _ = fitted(case)
    codes = np.arange(60) % K
    one, same = (params.sample(codes, np.random.default_rng(s)) for s in (1, 1))
    np.testing.assert_array_equal(one, same)
    assert np.isfinite(log_density(params, one)[np.arange(60), codes]).all()
    if params.support is not None:
        assert len(params.support.outside(Dense(one))[0]) == 0


@every_density
@pytest.mark.parametrize("kind", ["float32", "columns", "sparse", "reversed"])
def test_however_the_rows_lie_they_get_the_same(case, kind):
    params, rows = fitted(case)
    X = rows.X.to_array().astype(np.float32).astype(np.float64)
    if case.group:
        X = X / X.sum(axis=1, keepdims=True)
        kind = "columns" if kind == "float32" else kind
    held = {
        "float32": Dense(X.astype(np.float32)),
        "columns": Columns(tuple(X.T.copy())),
        "sparse": block(sparse.csr_array(X)),
        "reversed": Dense(X[:, ::-1].copy()[:, ::-1]),
    }[kind]
    for scores in filter(None, (params.scores(), params.discriminants())):
        Z, same = np.empty((2, len(X), K))
        scores.write(Chunk(Dense(X)), Z)
        scores.write(Chunk(held), same)
        np.testing.assert_allclose(same, Z, rtol=1e-12, atol=1e-12)


@every_density
def test_discriminants_differ_from_densities_by_what_all_classes_share(case):
    params, rows = fitted(case)
    cheaper = params.discriminants()
    if cheaper is None:
        return
    X = rows.X.to_array()[:20].copy()
    X[::3, 1] = np.nan
    Z, D = np.empty((2, len(X), K))
    params.scores().write(Chunk(Dense(X)), Z)
    cheaper.write(Chunk(Dense(X)), D)
    np.testing.assert_allclose((Z - D) - (Z - D)[:, :1], 0, atol=1e-10 * (1 + np.abs(Z).max()))


# ---- what is missing, and what is known ----------------------------------------------------------
@every_density
def test_what_is_missing_is_integrated_out(case):
    params, rows = fitted(case)
    X = rows.X.to_array()[:20].copy()
    X[:, 1] = np.nan
    X[::2, 0] = np.nan
    for some, kept in ((slice(0, None, 2), [2]), (slice(1, None, 2), [0, 2])):
        left = log_density(params.marginal(np.array(kept)), X[some][:, kept])
        np.testing.assert_allclose(log_density(params, X)[some], left, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(log_density(params, np.full((2, case.p), np.nan)), 0, atol=1e-12)


@every_density
def test_the_joint_is_the_given_times_the_rest(case):
    params, rows = fitted(case)
    x = rows.X.to_array()[7]
    rest, seen = params.condition({2: x[2], 0: x[0]})
    marginal = log_density(params.marginal(np.array([0, 2])), x[None, [0, 2]])[0]
    np.testing.assert_allclose(seen, marginal, rtol=1e-10, atol=1e-10)
    left = np.array([j for j in range(case.p) if j not in (0, 2)])
    np.testing.assert_allclose(
        seen + log_density(rest, x[None, left])[0], log_density(params, x[None])[0], rtol=1e-10, atol=1e-10
    )


@every_by_column
def test_missing_cells_are_filled_with_what_is_expected(case):
    params, rows = fitted(case)
    X = rows.X.to_array()[:6].copy()
    X[:, 1] = np.nan
    P = np.random.default_rng(0).dirichlet(np.ones(K), len(X))
    filled = params.fill(X, P)
    np.testing.assert_array_equal(filled[:, [0, 2]], X[:, [0, 2]])
    points, volume = case.points(params, 1)
    f = volume[:, None] * np.exp(log_density(params.marginal(np.array([1])), points))  # (m, K)
    if case.likeliest:
        np.testing.assert_array_equal(filled[:, 1], points[np.argmax(P @ f.T, axis=1), 0])
    else:
        np.testing.assert_allclose(filled[:, 1], P @ (f.T @ points[:, 0]), rtol=1e-7)
