"""Kernel densities: the rows that are kept, and their bandwidths."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from likelier.array_types import Floats
from likelier.data import Chunk, Dense
from likelier.data.units import Units, in_units
from likelier.families.kernel_terms import MANY, Kernels, KernelSum
from likelier.families.mixed import Mixed, MixedFamily
from likelier.states import ColumnMoments, Kept, Parts

# How wide the kernels of a density are.

NAMES = ("scott", "silverman", "cv")
WIDEST = 1e6  # deviations: kernels as wide as this do not tell rows apart


def scott(n: Floats, p: int) -> Floats:
    """n^(-1/(p+4)) (Scott 1992)."""
    return np.asarray(np.maximum(n, 1.0) ** (-1 / (p + 4)))


def silverman(n: Floats, p: int) -> Floats:
    """(n (p+2)/4)^(-1/(p+4)) (Silverman 1986)."""
    return scott(np.maximum(n, 1.0) * (p + 2) / 4, p)


class Spread(NamedTuple):
    """The deviation of each column, by class; where a class has none, that of all rows."""

    sd: Floats  # (K, p), above 0
    borrowed: NDArray[np.bool_]  # (K, p): the class's own rows do not vary
    constant: NDArray[np.bool_]  # (p,): nor do all rows: 1 stands for the deviation

    @classmethod
    def of(cls, moments: ColumnMoments, units: Units) -> "Spread":
        """Of columns that are counted in these units."""
        total, _, S = moments.pooled()
        pooled = np.sqrt(np.divide(S, total, out=np.zeros_like(S), where=total > 0))
        own = np.divide(moments.S, moments.seen, out=np.zeros_like(moments.S), where=moments.seen > 0)
        sd = np.sqrt(own)
        borrowed, constant = sd == 0, pooled == 0
        sd = np.ldexp(np.where(borrowed, pooled, sd), units)
        return cls(np.where(constant, 1.0, sd), borrowed, constant)

    def times(self, factor: Floats) -> Floats:
        """Bandwidths (K, p) from a factor of each class; a constant column has the same for all classes."""
        return np.where(self.constant, 1.0, factor[:, None] * self.sd)


def resolution(X: Floats, sd: Floats) -> float:
    """The smallest step between different values of a column, in its deviations; the least of all.

    Values that are the same but for rounding are not different.
    """
    least = np.inf
    for x, s in zip(X.T, sd, strict=True):
        known = np.sort(x[~np.isnan(x)])
        steps = np.diff(known)
        steps = steps[steps > 1e-9 * (known[-1] - known[0])] if len(known) else steps
        if len(steps):
            least = min(least, float(steps.min()) / s)
    return least


def likeliest(loss: Callable[[float], float], start: float, least: float) -> float:
    """The factor, from `least` on, at which a loss is least: by doublings of `start`, then bracketed.

    Further doublings are tried for as long as the largest factor is the best one.
    """
    low = max(least, start / 256) if np.isfinite(least) else start / 256
    grid = np.unique(np.clip(start * 2.0 ** np.arange(-8, 4), low, None))
    losses = [loss(t) for t in grid]
    while np.argmin(losses) == len(grid) - 1 and grid[-1] < WIDEST:
        grid = np.append(grid, 2 * grid[-1])
        losses.append(loss(grid[-1]))
    best = int(np.argmin(losses))
    around = grid[[max(best - 1, 0), min(best + 1, len(grid) - 1)]]
    found = minimize_scalar(
        lambda u: loss(float(np.exp(u))), bounds=np.log(around), method="bounded", options={"xatol": 1e-3}
    )
    return float(np.exp(found.x)) if found.fun < losses[best] else float(grid[best])


# From rows that were kept to densities of kernels: which points, and how wide.

Bandwidth = float | Literal["scott", "silverman", "cv"]
ASKED = 2000  # rows of a class on which a bandwidth is tried, at most
FINE = 256  # points of one column that are nearer than this share of a bandwidth become one
CLOSE = 1024  # the same while the bandwidth is looked for


@dataclass(frozen=True)
class ProductKernel:
    """A kernel about every row, Π_j N(x_j; c_j, h_kj²).

    bandwidth: a number is h itself; "scott" and "silverman" are a factor, from how many rows and columns
    there are, times each class's deviation in each column; "cv" is the factor at which each row of a class
    is likeliest under the others (Habbema, Hermans & van den Broek 1974). Rows equal to it are left out
    with it, and kernels are no narrower than the smallest step between values, or else a value that repeats
    would drive the bandwidth to 0.
    """

    bandwidth: Bandwidth = "scott"

    def stats(self, K: int, p: int) -> Kept:
        return Kept.start(K, p)

    def estimate(self, stats: Kept) -> Kernels:
        rows, spread = points_of(stats)
        if rows.X.shape[1] > 1:
            return kernels_of(rows, self._h(rows, spread))
        few = _different(rows) if self.bandwidth == "cv" else rows.n
        h = self._h(_condensed(rows, spread.times(scott(few, 1)) / CLOSE), spread)
        return kernels_of(_condensed(rows, h / FINE), h)

    def _h(self, rows: Kept, spread: Spread) -> Floats:
        """Bandwidths (K, p)."""
        p, n = rows.X.shape[1], rows.n
        if not isinstance(self.bandwidth, str):
            return np.full((rows.K, p), float(self.bandwidth))
        factor = silverman(n, p) if self.bandwidth == "silverman" else scott(n, p)
        if self.bandwidth == "cv":
            # Each row is left out with all of its weight, so that the scale of weights does not matter.
            start = scott(_different(rows), p)
            for k in range(rows.K):
                factor[k] = _by_leaving_out(rows, k, spread, start[k])
        return spread.times(factor)


@dataclass(frozen=True)
class Kernel:
    """Columns independent given the class, each with a density of kernels of its own: Π_j f_kj(x_j)."""

    bandwidth: Bandwidth = "scott"

    def _columns(self, p: int) -> MixedFamily:
        family = ProductKernel(self.bandwidth)
        return MixedFamily(tuple((np.array([j]), family) for j in range(p)))

    def stats(self, K: int, p: int) -> Parts:
        return self._columns(p).stats(K, p)

    def estimate(self, stats: Parts) -> Mixed:
        return self._columns(len(stats.states)).estimate(stats)


def points_of(stats: Kept) -> tuple[Kept, Spread]:
    """Different rows, sorted, each class with some and each column of it with a cell; their spread.

    A row with nothing in it says nothing. What a class lacks altogether is the mean of all rows.
    """
    rows = stats.distinct()
    moments, units = rows.moments()  # of the sorted rows: whatever order they came in, the same bits
    told = ~np.isnan(rows.X).all(axis=1)
    X, codes, w = rows.X[told], rows.codes[told], rows.w[told]
    pooled = np.ldexp(moments.pooled()[1], units)
    without = np.setdiff1d(np.arange(rows.K), codes)
    X = np.concatenate([X, np.broadcast_to(pooled, (len(without), len(pooled)))])
    codes = np.concatenate([codes, without.astype(np.int32)])
    w = np.concatenate([w, np.ones(len(without))])
    unseen = (moments.seen == 0)[codes] & np.isnan(X)
    X = np.where(unseen, pooled, X)
    order = np.argsort(codes, kind="stable")
    return Kept(rows.K, X[order], codes[order], w[order]), Spread.of(moments, units)


def kernels_of(rows: Kept, h: Floats) -> Kernels:
    """A kernel about each of these rows, which are sorted by class."""
    start = np.searchsorted(rows.codes, np.arange(rows.K + 1)).astype(np.int64)
    with np.errstate(divide="ignore"):  # a share may be too small for a number
        log_w = np.log(rows.w / rows.n[rows.codes])
    return Kernels(rows.X, log_w, log_w, start, h)


def _condensed(rows: Kept, width: Floats) -> Kept:
    """Where a class has many points of one column, those within a width (K, 1) of each other as their mean.

    The density moves by the variance within a cell: with h/256, by less than 7e-7 of its largest value.
    """
    pieces = []
    for k in range(rows.K):
        x, w = rows.X[rows.codes == k, 0], rows.w[rows.codes == k]
        if len(x) > MANY:
            cell = np.floor((x - x[0]) / width[k, 0])
            first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
            weight = np.add.reduceat(w, first)
            off = x - np.repeat(x[first], np.diff(np.append(first, len(x))))
            x, w = x[first] + np.add.reduceat(w * off, first) / weight, weight
        pieces.append((x, np.full(len(x), k, dtype=np.int32), w))
    X, codes, w = (np.concatenate(each) for each in zip(*pieces, strict=True))
    return Kept(rows.K, X[:, None], codes, w)


def _by_leaving_out(rows: Kept, k: int, spread: Spread, start: float) -> float:
    """The factor that makes the rows of a class likeliest, each judged by the others."""
    own = rows.codes == k
    units = np.frexp(spread.sd[k])[1]  # so that the search is the same to the last bit in any of them
    X, w, sd = in_units(rows.X[own], units), rows.w[own], in_units(spread.sd[k], units)
    if len(w) < 2:
        return float(start)
    asked = np.unique(np.linspace(0, len(w) - 1, min(len(w), ASKED)).astype(np.int64))
    kept = Kept(1, X, np.zeros(len(w), np.int32), w)
    log_rest = np.log(_others(w) / w.sum())

    def judged_at(factor: float, asked: NDArray[np.int64]) -> Floats:
        term = kernels_of(kept, (factor * sd)[None, :]).sum
        gone = asked, np.full(len(asked), -np.inf)
        return np.asarray(left_out(term, X[asked], gone)[:, 0] - log_rest[asked])

    # A row with the only cell of a column has no density without it, however wide the kernels are.
    asked = asked[np.isfinite(judged_at(float(start), asked))]
    if len(asked) == 0:
        return float(start)

    def loss(factor: float) -> float:
        return -float(np.average(judged_at(factor, asked), weights=w[asked]))

    return likeliest(loss, float(start), resolution(X, sd))


def _others(w: Floats) -> Floats:
    """The sum of all but each, added up and not subtracted: one weight may be far above the rest."""
    before, after = np.cumsum(w), np.cumsum(w[::-1])[::-1]
    return np.asarray(np.append(0.0, before[:-1]) + np.append(after[1:], 0.0))


def _different(rows: Kept) -> Floats:
    """How many rows each class has, whatever their weights."""
    return np.asarray(np.bincount(rows.codes, minlength=rows.K), dtype=np.float64)


class Judged(NamedTuple):
    """Rows, each under the density of all others."""

    codes: NDArray[np.int32]  # (n,)
    w: Floats  # (n,)
    Z: Floats  # (n, K), ln p(x | C_k)


def judged(stats: Kept, h: Floats, most: int) -> Judged:
    """Up to `most` of the rows, evenly among the sorted ones, each without its own kernel; bandwidths stay.

    A row of weight 2 is there twice: one of the two is left out.
    """
    (rows, _), n = points_of(stats), stats.n
    asked = np.flatnonzero(n[rows.codes] > 0)
    asked = asked[np.unique(np.linspace(0, len(asked) - 1, min(len(asked), most)).astype(np.intp))]
    codes, w, total = rows.codes[asked], rows.w[asked], rows.n[rows.codes[asked]]
    one = np.minimum(w, 1.0)
    with np.errstate(divide="ignore"):  # nothing is left of a row by itself: ln 0
        less, rest = np.log1p(-one / w), np.log1p(-one / total)
    Z = left_out(kernels_of(rows, h).sum, rows.X[asked], (asked.astype(np.int64), less))
    alone = np.isneginf(rest)
    own = np.arange(len(asked)), codes
    Z[own] = np.where(alone, -np.inf, Z[own] - np.where(alone, 0.0, rest))
    return Judged(codes, w, Z)


def left_out(term: KernelSum, X: Floats, gone: tuple[NDArray[np.int64], Floats]) -> Floats:
    """ln Σ over the points but, for each row, some of one of them: (n, K), not divided by what is left."""
    Z = np.empty((len(X), len(term.b)))
    term.ask(Chunk(Dense(X)), Z, add=False, left_out=gone)
    return Z
