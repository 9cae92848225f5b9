"""Densities of training rows without themselves: each row is taken out of its class in closed form."""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import CSR, Block, Chunk, Columns, Dense, Factor
from likelier.families.base import Columns as Numbers
from likelier.families.base import Independent
from likelier.families.categorical import Categorical, Histogram, Tally, left_out, tallies
from likelier.families.counts import AffineColumns, Complement, Multinomial
from likelier.families.covariance import common_deviations, deviations
from likelier.families.gaussian import Full, FullGaussian, Tied, TiedGaussian
from likelier.families.kernel import Kernel, Kernels, ProductKernel
from likelier.families.missing import by_pattern, completed
from likelier.families.mixed import Mixed, MixedFamily, PooledFamily, SharedDensity
from likelier.states import ShrinkageMoments, Sums
from likelier.states.counts import codes_of, resized

# Gaussian densities without one of the rows that their covariance was estimated from.
#
# With d = x - m, N the weight of the class and w that of the row, the mean of the others is m - d w/(N -
# w), and their scatter S - ddᵀ w N/(N - w). So the covariance is a diagonal one, in axes that all rows
# share, less c ddᵀ, whose determinant and inverse are known (Sherman & Morrison 1950): with q = dᵀB⁻¹d,
# ln|B - c ddᵀ| = ln|B| + ln(1 - c q) and dᵀ(B - c ddᵀ)⁻¹d = q / (1 - c q).

LOST = 1e-9  # 1 - c q at or below which no other row varies in the direction that the row alone has
EPS = float(np.finfo(np.float64).eps)


class Rows(NamedTuple):
    """Rows, their classes, and how much of each is left out."""

    X: Block
    y: NDArray[Any]  # (n,), codes
    w: Floats  # (n,)

    def take(self, some: slice) -> "Rows":
        return Rows(self.X.take(some), self.y[some], self.w[some])


class Axes(NamedTuple):
    """A covariance: what rows tell and what was added, both diagonal in axes of scaled columns."""

    W: Floats  # (p, r): from columns to axes
    data: Floats  # (r,), variances that rows tell
    added: Floats  # (r,), by shrinkage, or in directions without any
    floor: float | None  # of a direction without variance; None if it is left out

    def at(self, d: Floats) -> Floats:
        return np.asarray(d @ self.W)


class CovarianceUpdate(NamedTuple):
    """What becomes of the covariance if a row is left out, (n,) each: a Σ + t T - c ddᵀ."""

    a: Floats  # of what rows tell
    t: Floats  # of what was added
    c: Floats
    stretch: Floats  # of the row's distance from its mean


def axes_of(data: Floats, added: Floats, sd: Floats, floor: float, *, lift: bool = True) -> Axes:
    """data (p, p), what rows tell of the covariance; added (p,), to its variances.

    Scaled so that what was added is 1 in every column, or, if nothing was, by `sd`; then variances at or
    below `floor` are lifted to it, or their axes left out.
    """
    shrunk = bool((added > 0).all())
    scale = np.sqrt(added) if shrunk else sd
    values, V = np.linalg.eigh(data / np.outer(scale, scale))
    values, W = np.maximum(values, 0.0), V / scale[:, None]
    if shrunk:
        return Axes(W, values, np.ones_like(values), None)
    floor = max(floor, 64 * len(sd) * EPS * float(values.max(initial=0.0)), np.finfo(np.float64).tiny)
    still = values <= floor
    if lift:
        return Axes(W, np.where(still, 0.0, values), np.where(still, floor, 0.0), floor)
    return Axes(W[:, ~still], values[~still], np.zeros(int((~still).sum())), None)


def log_density(axes: Axes, d: Floats, less: CovarianceUpdate) -> Floats:
    """-½ (ln|Σ'| + dᵀΣ'⁻¹d), (n,), but for the scales: of rows d = x - m (n, p) that are left out."""
    z = axes.at(d)
    b = less.a[:, None] * axes.data + less.t[:, None] * axes.added
    q, log_det = (z * z / b).sum(axis=1), np.log(b).sum(axis=1)
    left = 1 - less.c * q
    lost = left <= LOST
    safe = np.where(lost, 1.0, left)
    square = q / safe
    if lost.any():  # along k no other row varies: the determinant without it is |B| c |k|²
        k = z / b
        kk = np.where(lost, (k * k).sum(axis=1), 1.0)
        u = z - k * (q / kk)[:, None]
        flat = (u * u / b).sum(axis=1)
        log_det = log_det + np.log(np.where(lost, less.c * kk, 1.0))
        if axes.floor is not None:
            flat += q * q / kk / axes.floor
            log_det = log_det + np.where(lost, np.log(axes.floor), 0.0)
        square = np.where(lost, flat, square)
    return np.asarray(-0.5 * (log_det + np.log(safe) + less.stretch**2 * square))


def unchanged(n: int, a: float = 1.0, t: float = 1.0) -> CovarianceUpdate:
    """Of n rows that are not left out."""
    one = np.ones(n)
    return CovarianceUpdate(a * one, t * one, 0 * one, one)


def full_without(family: FullGaussian, stats: Any, params: Full, rows: Rows) -> Floats:
    """The change of ln p(x | C_k), (n,), of each row's own class."""
    held, X = completed(stats), rows.X.to_array()
    found = np.zeros(len(X))
    sd = common_deviations(params.mean, params.cov)
    for k in np.unique(rows.y).tolist():
        own, N = np.flatnonzero(rows.y == k), held.n[k]
        if N <= 0:
            continue
        w = np.minimum(rows.w[own], N * (1 - 1e-9))  # of a class of this row alone nothing is left
        cov, d = held.S[k] / N, X[own] - params.mean[k]
        if family.shrinkage == "auto":
            found[own] = _by_strength(_share(cov, params.cov[k]), stats.higher, k, cov, d, w)
            continue
        share = 1.0 - float(family.lift if family.shrinkage is None else family.shrinkage)
        more = family.lift or family.ridge or family.shrinkage
        added = np.maximum(np.diagonal(params.cov[k] - share * cov), 0.0) if more else np.zeros(len(cov))
        for some, here, _ in by_pattern(d):
            axes = axes_of(share * cov[np.ix_(here, here)], added[here], sd[here], family.floor)
            e = d[np.ix_(some, here)]
            a, c = N / (N - w[some]), N * w[some] / (N - w[some]) ** 2
            t = _follows(family.shrinkage, a, c, e, np.diagonal(cov)[here])
            less = CovarianceUpdate(a, t, share * c, a)
            found[own[some]] = log_density(axes, e, less) - log_density(axes, e, unchanged(len(e)))
    return found


def _share(cov: Floats, fitted: Floats) -> float:
    """How much of the covariance of the rows is left in the fitted one, outside of the diagonal."""
    sd = deviations(cov)
    scale = np.outer(sd, sd)
    ours, theirs = cov / scale, fitted / scale
    np.fill_diagonal(ours, 0.0)
    size = float((ours * ours).sum())
    return 1.0 if size == 0 else float(np.clip((ours * theirs).sum() / size, 0.0, 1.0))


def _by_strength(share: float, higher: Any, k: int, cov: Floats, d: Floats, w: Floats) -> Floats:
    """Of standardised columns, shrunk by as much as the rows call for: without each, by another strength.

    In units of the deviations that are left; C' is taken for C - c zzᵀ there, but for its diagonal of ones.
    """
    N, found = higher.n[k] if higher.n[k] > 0 else 1.0, np.zeros(len(d))
    w, var = np.minimum(w, N * (1 - 1e-9)), deviations(cov) ** 2
    for some, here, _ in by_pattern(d):
        e, a, c = d[np.ix_(some, here)], N / (N - w[some]), N * w[some] / (N - w[some]) ** 2
        left = np.maximum(a[:, None] - c[:, None] * e * e / var[here], EPS)  # of each variance
        kept = np.full(len(e), share)
        if len(here) == len(var):
            kept = 1 - _strengths(higher, k, e, w[some])
        axes = axes_of(cov[np.ix_(here, here)], var[here], var[here], 0.0)
        z = e / np.sqrt(left)
        more = kept * c * (z * z / var[here]).mean(axis=1) if len(here) else 0.0
        less = CovarianceUpdate(kept, 1 - kept + more, kept * c, a)
        found[some] = log_density(axes, z, less) - 0.5 * np.log(left).sum(axis=1)
        found[some] -= log_density(axes, e, unchanged(len(e), share, 1 - share))
    return found


def _strengths(higher: Any, k: int, d: Floats, w: Floats) -> Floats:
    """How much the covariance is shrunk without each row, (n,): `ledoit_wolf`, about the mean of all rows.

    With C the correlations, Q the mean of z_i² z_j², and v the variances that are left as shares, inverse:
    Σ C'² = a² vᵀ(C∘C)v - 2 a c (v∘z)ᵀC(v∘z) + c² (Σ v z²)².
    """
    N, p = higher.n[k], d.shape[1]
    cov = higher.S[k] / N
    sd = deviations(cov)
    C, Q, z = cov / np.outer(sd, sd), higher.Q[k] / np.outer(sd**2, sd**2), d / sd
    a, c, left = (N / (N - w))[:, None], (N * w / (N - w) ** 2)[:, None], N - w
    v = 1 / np.maximum(a - c * z * z, EPS)
    vz, vzz = v * z, (v * z * z).sum(axis=1)
    squares = a[:, 0] ** 2 * ((v @ (C * C)) * v).sum(axis=1)
    squares += -2 * (a * c)[:, 0] * ((vz @ C) * vz).sum(axis=1) + (c[:, 0] * vzz) ** 2
    variance = (((v @ Q) * v).sum(axis=1) - w * vzz**2) / left - squares
    delta = np.maximum(squares - p, EPS) / p
    return np.asarray(np.clip(variance / (left * p) / delta, 0.0, 1 - 1e-9))


def _follows(shrinkage: Any, a: Floats, c: Floats, d: Floats, var: Floats) -> Floats:
    """How what was added changes with the rows, (n,): by their mean variance, or, standardised, by each."""
    if shrinkage is None:
        return np.ones_like(a)
    var = np.where(var > 0, var, np.inf)
    if shrinkage == "auto":
        return np.asarray(np.maximum(a - c * (d * d / var).mean(axis=1), EPS))
    var = var[np.isfinite(var)]
    return np.maximum(a - c * (d * d).sum(axis=1) / var.sum(), EPS) if len(var) else np.ones_like(a)


# ---- one covariance for all classes --------------------------------------------------------------
def tied_without(family: TiedGaussian, stats: Any, params: Tied, rows: Rows) -> Floats:
    """The change of ln p(x | C_k), (n, K): the covariance is that of all classes."""
    held, X = completed(stats), rows.X.to_array()
    found = np.zeros((len(X), params.shape[0]))
    cov, share = _informative(family, stats, params)
    more = np.maximum(np.diagonal(params.cov - cov), 0.0)
    added = more if family.ridge or family.shrinkage else np.zeros_like(more)
    N = np.maximum(held.n, np.finfo(float).tiny)[rows.y]
    w = np.minimum(rows.w, N * (1 - 1e-9))
    if family.weights is None:
        total = float(held.n.sum())
        total_left = np.maximum(total - w, 1e-9 * total)
        a, c = total / total_left, N * w / ((N - w) * total_left)
    else:
        a, c = 1 + family.weights[rows.y] * w / (N - w), family.weights[rows.y] * N * w / (N - w) ** 2
    for some, here, _ in by_pattern(X):
        if len(here) == 0:
            continue
        pair = np.ix_(here, here)
        axes = axes_of(cov[pair], added[here], deviations(cov[pair]), family.tol**2, lift=False)
        x, mean = X[np.ix_(some, here)], params.mean[:, here]
        var = np.diagonal(cov)[here] / max(share.max(), EPS)
        t = _follows(family.shrinkage, a[some], c[some], x - mean[rows.y[some]], var)
        less = CovarianceUpdate(a[some], t, share[rows.y[some]] * c[some], (N / (N - w))[some])
        found[some] = _tied_change(axes, x, mean, rows.y[some], less)
    return found


def _informative(family: TiedGaussian, stats: Any, params: Tied) -> tuple[Floats, Floats]:
    """What rows tell of the covariance (p, p), and which share of each class's is left in it, (K,)."""
    held, K = completed(stats), params.shape[0]
    if not isinstance(stats, ShrinkageMoments):
        kept = 1.0 - float(family.shrinkage or 0.0)
        plain = TiedGaussian(weights=family.weights, tol=family.tol).within(stats)
        return kept * plain, np.full(K, kept)
    n = np.where(held.n > 0, held.n, 1.0)
    covs = held.S / n[:, None, None]
    weights = held.n / held.n.sum() if family.weights is None else family.weights
    mean = np.asarray(np.tensordot(weights, covs, axes=1))
    share = _share(mean, params.cov)
    return share * mean, np.full(K, share)


def _tied_change(axes: Axes, x: Floats, mean: Floats, y: Any, less: CovarianceUpdate) -> Floats:
    centre = mean.mean(axis=0)
    zx, zm = axes.at(x - centre), axes.at(mean - centre)
    z = zx - zm[y]
    b = less.a[:, None] * axes.data + less.t[:, None] * axes.added
    before = axes.data + axes.added
    q = (z * z / b).sum(axis=1)
    left = 1 - less.c * q
    lost = left <= LOST
    safe = np.where(lost, 1.0, left)
    across = _products(z, zx, zm, b)  # zᵀB⁻¹e, e the row about each class's mean
    squares = _squares(zx, zm, b)
    M = squares + (less.c / safe)[:, None] * across**2
    M[np.arange(len(M)), y] = less.stretch**2 * q / safe
    log_det = np.log(b).sum(axis=1) + np.log(safe)
    if lost.any():
        k = z / b
        kk = np.where(lost, (k * k).sum(axis=1), 1.0)[:, None]
        flat = squares - 2 * across / kk * _products(k, zx, zm, b)
        flat += (across / kk) ** 2 * (k * k / b).sum(axis=1)[:, None]
        flat[np.arange(len(M)), y] *= less.stretch**2
        M = np.where(lost[:, None], flat, M)
        rest = np.log(b).sum(axis=1) + np.log(np.where(lost, less.c * kk[:, 0], 1.0)) - np.log(2 * np.pi)
        log_det = np.where(lost, rest, log_det)
    plain = _squares(zx, zm, np.broadcast_to(before, zx.shape))
    return np.asarray(-0.5 * ((log_det - np.log(before).sum())[:, None] + M - plain))


def _products(z: Floats, zx: Floats, zm: Floats, b: Floats) -> Floats:
    """Σ z (x - m_k) / b, (n, K)."""
    return np.asarray((z * zx / b).sum(axis=1, keepdims=True) - (z / b) @ zm.T)


def _squares(zx: Floats, zm: Floats, b: Floats) -> Floats:
    """Σ (x - m_k)² / b, (n, K)."""
    return np.asarray(
        (zx * zx / b).sum(axis=1, keepdims=True) - 2 * (zx / b) @ zm.T + (1 / b) @ (zm * zm).T
    )


# How likely rows are without themselves: their class estimated from all rows but each one.
#
# Statistics are sums, so that a row is taken out of them exactly; where an estimate from what is left
# would take long (covariances), a formula for one row less stands in its place.

AT_ONCE = 64  # rows whose densities are estimated together: each is scored by those of all
CELLS = 1 << 18  # that these have at most: they stay in the cache


@singledispatch
def change(family: Any, stats: Any, params: Any, rows: Rows) -> Floats | None:
    """By how much ln p(x | C_k) changes if each row is left out of its class's statistics.

    rows: y are codes, w how much of a row is left out. (n,): of its own class; (n, K): of all classes;
    None: of this family that is not known.
    """
    if not hasattr(stats, "without"):
        return None
    if isinstance(rows.X, CSR) and isinstance(params, AffineColumns) and stats.gone is None:
        return _of_sparse_counts(family, stats, params, rows)
    n, p = rows.X.shape
    found, step = np.empty(n), int(np.clip(CELLS // max(p, 1), 1, AT_ONCE))
    within = np.empty((step, params.shape[0]))
    for i in range(0, n, step):
        part = rows.take(slice(i, i + step))
        X, y = part.X.to_array(), part.y
        Z = within[: len(X)]
        params.scores().write(Chunk(Dense(X)), Z)
        without = family.estimate(stats.without(X, y, part.w), stats)
        found[i : i + step] = _each_by_its_own(without, X) - Z[np.arange(len(X)), y]
    return found


def _each_by_its_own(params: Any, X: Floats) -> Floats:
    """ln p(x_i) by the i-th density."""
    Z = np.empty((len(X), len(X)))
    params.scores().write(Chunk(Dense(X)), Z)
    return np.asarray(np.diagonal(Z))


def _of_sparse_counts(family: Any, stats: Sums, params: AffineColumns, rows: Rows) -> Floats:
    """Of families whose scores are affine in x: of a row of zeros, and then of the other cells.

    Each cell stands for a column, and what its class has in it for all rows of one class.
    """
    y, w, X = rows.y, rows.w, rows.X
    assert isinstance(X, CSR)
    row, column, x = _stored(X)
    if stats.threshold is not None:
        x = (x > stats.threshold).astype(np.float64)
    weights, at = np.unique(w, return_inverse=True)
    found, zero = np.empty(len(y)), np.empty((len(weights), len(x)))
    for i, one in enumerate(weights.tolist()):  # as a rule all are 1
        less = family.estimate(replace(stats, n=np.maximum(stats.n - one, 0.0)), stats)
        found[at == i] = (less.constant - params.constant).sum(axis=1)[y[at == i]]
        zero[i] = less.constant[y[row], column]
    n = stats.n[y] - w
    alpha = np.asarray(family.alpha)
    cells = replace(
        stats,
        n=np.array([n.max()]),
        total=np.maximum(stats.total[y[row], column] - w[row] * x, 0.0)[None],
        gone=(n.max() - n[row])[None],
    )
    among = replace(stats, total=stats.total[:, column])
    one = replace(family, alpha=alpha[column] if alpha.ndim else family.alpha).estimate(cells, among)
    change = (
        one.W[0] * x - params.W[y[row], column] * x + one.constant[0] - zero[at[row], np.arange(len(x))]
    )
    return np.asarray(found + np.bincount(row, change, len(y)))


def _stored(X: CSR) -> tuple[NDArray[np.intp], NDArray[Any], Floats]:
    """Row, column and value of the cells that are stored."""
    cells = slice(X.starts[0], X.starts[-1])
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.starts))
    return row, X.columns[cells], X.values[cells].astype(np.float64)


@change.register
def _(family: Multinomial, stats: Any, params: Any, rows: Rows) -> Floats | None:
    """Of rows that are mostly zeros by the other cells alone: Σ x ln θ, θ = (Σx + α) / Σ_j (Σx + α)."""
    X = rows.X
    if not isinstance(X, CSR) or stats.gone is not None:
        found: Floats | None = change.dispatch(object)(family, stats, params, rows)
        return found
    row, column, x = _stored(X)
    alpha = np.broadcast_to(np.asarray(family.alpha, dtype=np.float64), stats.total.shape[1:])
    count = stats.total[rows.y[row], column] + alpha[column]
    all_counts = (stats.total.sum(axis=1) + alpha.sum())[rows.y]
    with np.errstate(divide="ignore", invalid="ignore"):
        cells = x * np.log(np.maximum(1 - rows.w[row] * x / count, 0.0))
        drawn = np.bincount(row, x, len(rows.y))
        cells = np.bincount(row, np.where(x > 0, cells, 0.0), len(rows.y))
        return np.asarray(cells - drawn * np.log(1 - rows.w * drawn / all_counts))


@change.register
def _(family: Complement, stats: Any, params: Any, rows: Rows) -> None:
    """Its scores are weights of the other classes' rows, and no densities."""


@change.register
def _(family: MixedFamily, stats: Any, params: Mixed, rows: Rows) -> Floats | None:
    total: Floats = np.zeros(1)
    for (columns, own), state, group in zip(family.groups, stats.states, params.groups, strict=True):
        found = change(own, state, group.params, rows._replace(X=rows.X.select(columns)))
        if found is not None:
            total = _plus(total, found, rows, params.shape[0])
    return total if total.size > 1 or len(rows.w) == 1 else None


def _plus(total: Floats, found: Floats, rows: Rows, K: int) -> Floats:
    """Changes of the own class alone, and of all classes, added up."""
    if total.ndim < found.ndim:
        total, found = found, total
    if total.ndim == found.ndim:
        return np.asarray(total + found)
    total = np.repeat(total, K, axis=1) if total.shape[1] == 1 else total.copy()
    total[np.arange(len(total)), rows.y] += found
    return total


@change.register
def _(family: PooledFamily, stats: Any, params: SharedDensity, rows: Rows) -> Floats | None:
    """Of all classes alike, (n, 1)."""
    found = change(family.family, stats.state, params.params, rows._replace(y=np.zeros_like(rows.y)))
    return None if found is None else found[:, None]


@change.register
def _(family: Categorical, stats: Any, params: Any, rows: Rows) -> Floats:
    sizes = params.levels
    codes = _codes(rows.X)
    codes = np.where(codes >= sizes, sizes - 1 if params.unknown else -1, codes)
    return _of_tables(
        family, resized(stats.counts, stats.sizes, sizes), sizes, codes.astype(np.int64), rows
    )


def _whole(x: NDArray[Any]) -> NDArray[np.int64]:
    return np.where(np.isnan(x), -1, x).astype(np.int64) if x.dtype.kind == "f" else x.astype(np.int64)


@change.register
def _(family: Histogram, stats: Any, params: Any, rows: Rows) -> Floats:
    codes = np.stack(codes_of(family.bins, Chunk(rows.X)).arrays, axis=1).astype(np.int64)
    return _of_tables(family, stats.counts.counts, stats.counts.sizes, codes, rows)


def _of_tables(family: Any, counts: Floats, sizes: Any, codes: NDArray[np.int64], rows: Rows) -> Floats:
    """Of cells with these codes (n, q), -1 where one is missing."""
    own, every = tallies(counts, sizes)
    cells = np.maximum(codes, 0) + (np.cumsum(sizes) - sizes)
    at, size = (cells, rows.y[:, None]), np.asarray(sizes)
    mine, rest = Tally(own.count[at], own.total[at]), Tally(every.count[cells, 0], every.total[cells, 0])
    w = rows.w[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.log(family.probability(mine.without(w), rest.without(w), size))
        change = without - np.log(family.probability(mine, rest, size))
    return np.asarray(np.where(codes < 0, 0.0, change).sum(axis=1))


@change.register
def _(family: Kernel, stats: Any, params: Mixed, rows: Rows) -> Floats | None:
    return change(family._columns(len(stats.states)), stats, params, rows)


@change.register
def _(family: ProductKernel, stats: Any, params: Kernels, rows: Rows) -> Floats | None:
    """Less its own kernel: (N p(x) - w Π_j 1 / (√2π h_j)) / (N - w), of a single column."""
    if params.shape[1] > 1:
        return None
    X = rows.X.to_array()
    there = ~np.isnan(X[:, 0])
    seen = np.bincount(stats.codes, stats.w * ~np.isnan(stats.X[:, 0]), stats.K)
    Z = np.zeros((len(X), params.shape[0]))
    params.scores().write(Chunk(Dense(X)), Z)
    N, w = seen[rows.y], rows.w
    peak = w / (np.sqrt(2 * np.pi) * params.h[rows.y, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        p = N * np.exp(Z[np.arange(len(Z)), rows.y])
        left = np.maximum(p - peak, 1e-12 * peak) / np.maximum(N - w, np.finfo(float).tiny)
        return np.where(there & (N > w), np.log(left) - np.log(p / N), 0.0)


@change.register
def _(family: FullGaussian, stats: Any, params: Any, rows: Rows) -> Floats:
    return full_without(family, stats, params, rows)


@change.register
def _(family: TiedGaussian, stats: Any, params: Any, rows: Rows) -> Floats:
    return tied_without(family, stats, params, rows)


# Blocks of columns left out, for the weights of columns.

CELLS_AT_ONCE = 1 << 18  # cells of a class that are estimated together: they stay in the cache


class ColumnsLeftOut(NamedTuple):
    """ln p of some columns: one density for each, or one for all of them together."""

    columns: Numbers
    values: Floats  # (n, K, q), or (n, K, 1) if the columns have one density together; 0 where missing

    @property
    def joint(self) -> bool:
        """Whether the columns have one density together."""
        return bool(self.values.shape[2] != len(self.columns))


class NotByRow(ValueError):
    """A family out of whose statistics no row can be taken."""

    def __init__(self, columns: Sequence[int]) -> None:
        super().__init__(f"columns {list(columns)}")
        self.columns = list(columns)


def blocks_left_out(family: MixedFamily, stats: Any, params: Mixed, rows: Rows) -> list[ColumnsLeftOut]:
    """ln p(x | C_k) of all columns that differ between classes, in the order of the groups.

    In its own class each row is left out, with the weight that `rows` says.
    """
    found = []
    for (columns, own), state, group in zip(family.groups, stats.states, params.groups, strict=True):
        if isinstance(own, PooledFamily):
            continue
        some = rows._replace(X=rows.X.select(columns))
        values = each_left_out(own, state, some)
        if values is None:
            values = _together(own, state, group.params, some, columns)
        found.append(ColumnsLeftOut(columns, values))
    return found


def _together(family: Any, stats: Any, params: Any, rows: Rows, columns: Numbers) -> Floats:
    """One density of all columns, (n, K, 1)."""
    Z = np.empty((len(rows.y), params.shape[0]))
    params.scores().write(Chunk(rows.X), Z)
    moved = change(family, stats, params, rows)
    if moved is None:
        raise NotByRow(columns.tolist())
    if moved.ndim == 2:
        Z += moved
    else:
        Z[np.arange(len(Z)), rows.y] += moved
    return Z[:, :, None]


@singledispatch
def each_left_out(family: Any, stats: Any, rows: Rows) -> Floats | None:
    """ln p(x_j | C_k) (n, K, q), each row left out of its own class; 0 where a cell is missing.

    None: the columns have one density together.
    """
    if not hasattr(stats, "without"):
        return None
    params = family.estimate(stats)
    if not isinstance(params, Independent):
        return None
    Z, q = np.empty((len(rows.y), *params.shape)), params.shape[1]
    step = max(1, CELLS_AT_ONCE // max(q, 1))
    for first in range(0, len(Z), step):
        some = rows.take(slice(first, first + step))
        X = some.X.to_array()
        z = params.parts(X)
        own = family.estimate(stats.without(X, some.y, some.w), stats).each(X)
        z[np.arange(len(z)), some.y] = np.nan_to_num(own, nan=0.0)
        Z[first : first + step] = z
    return Z


@each_left_out.register
def _(family: Categorical, stats: Any, rows: Rows) -> Floats:
    sizes = np.maximum(stats.sizes, np.maximum(family.least, 1)).astype(np.int64)
    counts = replace(stats, counts=resized(stats.counts, stats.sizes, sizes), sizes=sizes)
    codes = _codes(rows.X)
    beyond = sizes - 1 if stats.beyond == "last" else -1
    return left_out(family, counts, _places(np.where(codes >= sizes, beyond, codes), sizes), rows.y, rows.w)


@each_left_out.register
def _(family: Histogram, stats: Any, rows: Rows) -> Floats:
    codes = _codes(codes_of(family.bins, Chunk(rows.X)))
    return left_out(family, stats.counts, _places(codes, stats.counts.sizes), rows.y, rows.w)


@each_left_out.register
def _(family: Kernel, stats: Any, rows: Rows) -> Floats:
    each = family._columns(len(stats.states))
    blocks = blocks_left_out(each, stats, each.estimate(stats), rows)
    Z = np.empty((len(rows.y), blocks[0].values.shape[1], len(blocks)))
    for block in blocks:
        Z[:, :, block.columns] = block.values
    return Z


def _codes(X: Any) -> NDArray[np.int64]:
    """Cells as codes (n, q), -1 where one is missing."""
    arrays = X.arrays if isinstance(X, Columns) else X.to_array().T
    return np.stack([x.codes if isinstance(x, Factor) else _whole(x) for x in arrays], axis=1).astype(
        np.int64
    )


def _places(codes: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where cells stand in a table, (n, q); -1: missing."""
    return np.where(codes < 0, -1, codes + (np.cumsum(sizes) - sizes))
