"""Kernel densities: bandwidths, the sum over rows, and its terms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from likelier import _core
from likelier.array_types import Floats
from likelier.data import Chunk, Dense, refuse_cells
from likelier.data.transforms import Units, in_units
from likelier.families.base import Columns, Conditioned, Support, given_and_rest
from likelier.families.gaussian import LOG_2PI
from likelier.families.mixed import Mixed, MixedFamily
from likelier.scores import NEARER, Scores, TermWithConstant
from likelier.states import ColumnMoments, Parts, StoredRows
from likelier.states.moments import refuse
from likelier.threads import cores

# Sums of kernels as terms of a score: in full, or, of many points of one column, looked up.

ALONE = 1 << 20  # kernels that are not worth a second thread
MANY = 1024  # points of a single column from which on its density is tabulated
STEPS = 32  # of the table, in a bandwidth
REACH = 10  # bandwidths about a point that the table covers
MOST_CELLS = 1 << 14  # of a bandwidth each, that a table covers
ROWS = 1 << 16  # looked up at a time

LeaveOneOutScores = tuple[
    NDArray[np.int64], Floats
]  # a point for each row, and ln of the share of it that stays


@dataclass(frozen=True)
class KernelSum(TermWithConstant):
    """b_k + ln Σ_i w_i Π_j N(x_j; c_ij, h_kj²) over the points i of class k.

    A missing cell of a row leaves its column out of the product. Where a point lacks a cell (inf), it has
    the density of that column alone, of the points of its class that have one.
    """

    cells: Floats  # (m, p)
    log_w: Floats  # (m,)
    log_v: Floats  # (m,)
    start: NDArray[np.int64]  # (K + 1,)
    h: Floats  # (K, p)

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        n, p = chunk.X.shape
        if p > 1 or n < 2:
            self.ask(chunk, Z, add=add)
            return
        x = chunk.X.to_array()
        refuse_cells(x, gaps=True, first=chunk.first)
        # Points of one column are sorted: rows that are, too, see but those that are near.
        order = np.argsort(x[:, 0], kind="stable")
        z = np.empty_like(Z)
        self.ask(Chunk(Dense(x[order])), z, add=False)
        if add:
            Z[order] += z
        else:
            Z[order] = z

    def ask(self, chunk: Chunk, Z: Floats, *, add: bool, left_out: LeaveOneOutScores | None = None) -> None:
        """The kernel itself; `left_out`: each row without a point."""
        own, less = (None, None) if left_out is None else left_out
        threads = cores() if len(Z) * len(self.log_w) > ALONE else 1
        h = np.maximum(self.h, np.finfo(np.float64).tiny)  # of a lesser one there is no inverse
        scale, constant = 1 / (np.sqrt(2) * h), -np.log(h) - 0.5 * LOG_2PI
        points = (self.cells, self.log_w, self.log_v, self.start, scale, constant)
        refuse(chunk, _core.kernels(chunk.X.native(), *points, own, less, self.b, Z, add, threads))

    def of_class(self, k: int) -> "KernelSum":
        """The same of one class, without its constant."""
        own = slice(int(self.start[k]), int(self.start[k + 1]))
        start = np.array([0, own.stop - own.start])
        return KernelSum(
            np.zeros(1), self.cells[own], self.log_w[own], self.log_v[own], start, self.h[k : k + 1]
        )


@dataclass(frozen=True)
class Tabulated(KernelSum):
    """The same for many points of one column: ln f_k by cubics through its values, 1/32 bandwidth apart.

    The table covers what lies within 10 bandwidths of a point; elsewhere the sum itself answers. A cubic
    is off by at most 0.0234 δ⁴ times the fourth derivative: with δ = h/32, less than 2e-7 of the largest
    density.
    """

    cell: Floats  # (c,): cells of one bandwidth, numbered from a class's first point, class by class
    cell_start: NDArray[np.int64]  # (K + 1,)
    values: Floats  # (c, STEPS + 3): from one step before the cell to one after it

    @classmethod
    def of(cls, sum: KernelSum) -> Self:
        cells, values = [], []
        for k in range(len(sum.b)):
            one = sum.of_class(k)
            at = _covered(one)
            cells.append(at)
            x = one.cells[0, 0] + (at[:, None] + np.arange(-1, STEPS + 2) / STEPS) * one.h[0, 0]
            found = np.empty((x.size, 1))
            one.write(Chunk(Dense(x.reshape(-1, 1))), found, add=False)
            values.append(found.reshape(x.shape))
        start = np.cumsum([0, *map(len, cells)])
        held = {f.name: getattr(sum, f.name) for f in fields(sum)}
        return cls(**held, cell=np.concatenate(cells), cell_start=start, values=np.concatenate(values))

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        x = chunk.X.to_array()
        refuse_cells(x, gaps=True, first=chunk.first)
        for first in range(0, len(x), ROWS):
            self._look_up(x[first : first + ROWS, 0], Z[first : first + ROWS], add)

    def _look_up(self, x: Floats, Z: Floats, add: bool) -> None:
        z, found = np.zeros_like(Z), np.zeros(Z.shape, dtype=np.bool_)
        for k in range(len(self.b)):
            z[:, k], found[:, k] = self._of_class(k, x)
        found |= np.isnan(x)[:, None]
        rest = np.flatnonzero(~found.all(axis=1))
        if len(rest):
            exact = np.empty((len(rest), z.shape[1]))
            super().write(Chunk(Dense(x[rest, None])), exact, add=False)
            z[rest] = np.where(found[rest], z[rest], exact - self.b)
        z += self.b
        Z[...] = Z + z if add else z

    def _of_class(self, k: int, x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """ln f_k and whether the table has it; 0 where not."""
        own = slice(int(self.cell_start[k]), int(self.cell_start[k + 1]))
        cell = self.cell[own]
        if len(cell) == 0:
            return np.zeros_like(x), np.zeros(len(x), dtype=np.bool_)
        u = (x - self.cells[self.start[k], 0]) / self.h[k, 0]
        whole = np.floor(u)
        at = np.minimum(np.searchsorted(cell, whole), len(cell) - 1)
        found = cell[at] == whole
        t = np.where(found, (u - whole) * STEPS, 0.0)
        i = np.minimum(t.astype(np.intp), STEPS - 1)
        s, row = t - i, own.start + at
        weights = (
            -s * (s - 1) * (s - 2) / 6,
            (s + 1) * (s - 1) * (s - 2) / 2,
            -(s + 1) * s * (s - 2) / 2,
            (s + 1) * s * (s - 1) / 6,
        )
        z = sum(weight * self.values[row, i + o] for o, weight in enumerate(weights))
        return np.where(found, z, 0.0), found


def _covered(one: KernelSum) -> Floats:
    """The cells within reach of a point; none if the points are few or too far apart for a table."""
    x, h = one.cells[:, 0], one.h[0, 0]
    near = np.unique(np.floor((x - x[0]) / h))
    if len(x) <= MANY or len(near) * (2 * REACH + 1) > 8 * MOST_CELLS:
        return np.empty(0)
    cells = np.unique(near[:, None] + np.arange(-REACH, REACH + 1))
    return np.asarray(cells if len(cells) <= MOST_CELLS else np.empty(0))


# Densities made of kernels: a Gaussian about every row that was seen.

BLOCK = 1 << 20  # cells of a table of rows by points, in NumPy


@dataclass(frozen=True)
class Kernels:
    """p(x | C_k) = Σ_i w_i Π_j N(x_j; c_ij, h_kj²): points, one class after another, and bandwidths.

    A point that lacks a cell has in its place the density of that column alone, Σ_i v_i N(x_j; c_ij, h_kj²)
    over the points of its class that have one: all of p(x | C_k) is a density, whose marginals are those of
    the same points.
    """

    points: Floats  # (m, p), NaN where missing; each class has some cell of each column
    log_w: Floats  # (m,), ln of the shares of their class
    log_v: Floats  # (m,), the same, as they were before anything was known
    start: NDArray[np.int64]  # (K + 1,): class k has the points from start[k] to start[k + 1]
    h: Floats  # (K, p)

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.h.shape
        return K, p

    @property
    def support(self) -> Support | None:
        return None

    @property
    def free(self) -> int:
        """The cells that are kept."""
        return int(np.count_nonzero(~np.isnan(self.points)))

    def discriminants(self) -> Scores | None:
        return None

    @cached_property
    def sum(self) -> KernelSum:
        cells = np.where(np.isnan(self.points), np.inf, self.points)
        return KernelSum(np.zeros(len(self.h)), cells, self.log_w, self.log_v, self.start, self.h)

    def scores(self) -> Scores:
        if self.shape[1] == 1 and np.diff(self.start).max() > MANY:
            return Scores((Tabulated.of(self.sum),))
        return Scores((self.sum,))

    def parts(self, X: Floats) -> Floats:
        """ln p(x_j | C_k) of a single column, (n, K, 1); 0 where it is missing."""
        Z = np.empty((len(X), self.shape[0]))
        self.scores().write(Chunk(Dense(X)), Z)
        return Z[:, :, None]

    def _of(self, k: int) -> slice:
        return slice(int(self.start[k]), int(self.start[k + 1]))

    @cached_property
    def means(self) -> Floats:
        """E[x_j | C_k] of each column alone, (K, p)."""
        there, shares = ~np.isnan(self.points), np.exp(self.log_v)[:, None]
        seen = np.add.reduceat(shares * there, self.start[:-1])
        half = self.points / 2  # so that no difference overflows
        first = half[self.start[:-1]]  # about a point: digits far from 0
        about = np.where(np.isnan(first), 0.0, first)
        off = np.where(there, half - np.repeat(about, np.diff(self.start), axis=0), 0.0)
        return np.asarray(2 * (about + np.add.reduceat(shares * off, self.start[:-1]) / seen))

    @property
    def expected(self) -> Floats:
        """E[x_j | C_k], (K, p)."""
        means = np.repeat(self.means, np.diff(self.start), axis=0)
        off = np.where(np.isnan(self.points), 0.0, self.points / 2 - means / 2)
        w = np.exp(self.log_w)[:, None]
        return np.asarray(2 * (self.means / 2 + np.add.reduceat(w * off, self.start[:-1])))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """A point, and a Gaussian step from it."""
        X = np.empty((len(codes), self.shape[1]))
        for k in np.unique(codes):
            rows, own = np.flatnonzero(codes == k), self._of(k)
            points, w = self.points[own], np.exp(self.log_w[own])
            X[rows] = points[rng.choice(len(w), len(rows), p=w / w.sum())]
            for j in np.flatnonzero(np.isnan(points).any(axis=0)):
                lacking = rows[np.isnan(X[rows, j])]
                v = np.where(np.isnan(points[:, j]), 0.0, np.exp(self.log_v[own]))
                X[lacking, j] = points[rng.choice(len(v), len(lacking), p=v / v.sum()), j]
        return X + self.h[codes] * rng.standard_normal(X.shape)

    def marginal(self, columns: Columns) -> "Kernels":
        points = np.ascontiguousarray(self.points[:, columns])  # as kernels read them
        return replace(self, points=points, h=np.ascontiguousarray(self.h[:, columns]))

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        """Points weighed by how near they are to what is known."""
        columns, values, rest = given_and_rest(given, self.shape[1])
        K = len(self.h)
        if len(columns) == 0:
            return Conditioned(self, np.zeros(K))
        known, seen, log_w = self.marginal(columns), np.empty(K), np.empty_like(self.log_w)
        for k in range(K):
            a = known._exponents(k, values[None, :])[0]
            seen[k] = logsumexp(a)
            log_w[self._of(k)] = a - seen[k]
        return Conditioned(replace(self.marginal(rest), log_w=log_w), seen)

    def _exponents(self, k: int, X: Floats) -> Floats:
        """ln (w_i Π_j N(x_j; c_ij, h_kj²)) of every point of a class, (n, m_k)."""
        own = self._of(k)
        a = np.repeat(self.log_w[None, own], len(X), axis=0)
        for j, h in enumerate(self.h[k]):
            c, known = self.points[own, j], np.flatnonzero(~np.isnan(X[:, j]))
            part = -0.5 * (((X[known, j, None] - c) / h) ** 2 + LOG_2PI) - np.log(h)
            gone = np.isnan(c)
            if gone.any():
                v = self.log_v[own][~gone]
                part[:, gone] = logsumexp(part[:, ~gone] + (v - logsumexp(v)), axis=1)[:, None]
            a[known] += part
        return a

    def _comparable(self, k: int, X: Floats) -> Floats:
        """`_exponents`, of rows so far off that all squares overflow those of rows drawn towards 0."""
        with np.errstate(over="ignore"):
            a, rows = self._exponents(k, X), np.arange(len(X))
            while len(rows := rows[np.isneginf(a[rows]).all(axis=1) & (np.abs(X[rows]) > 1).any(axis=1)]):
                X = X.copy()
                X[rows] = np.ldexp(X[rows], NEARER)
                a[rows] = self._exponents(k, X[rows])
        return a

    def fill(self, X: Floats, P: Floats) -> Floats:
        """The mean of the points, weighed by how near they are to what is there."""
        refuse_cells(X, gaps=True)
        out, (rows, columns) = X.copy(), np.nonzero(np.isnan(X))
        out[rows, columns] = 0.0
        lacking = np.unique(rows)
        for k in range(len(self.h)):
            own = self._of(k)
            points = np.where(np.isnan(self.points[own]), self.means[k], self.points[own])
            step = max(1, BLOCK // max(1, len(points)))
            for some in (lacking[i : i + step] for i in range(0, len(lacking), step)):
                a = self._comparable(k, X[some])
                r = np.exp(a - logsumexp(a, axis=1, keepdims=True))  # (n, m_k)
                out[some] += np.where(np.isnan(X[some]), P[some, k, None] * (r @ points), 0.0)
        return out


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

    def stats(self, K: int, p: int) -> StoredRows:
        return StoredRows.start(K, p)

    def estimate(self, stats: StoredRows) -> Kernels:
        rows, spread = points_of(stats)
        if rows.X.shape[1] > 1:
            return kernels_of(rows, self._h(rows, spread))
        few = _different(rows) if self.bandwidth == "cv" else rows.n
        h = self._h(_condensed(rows, spread.times(scott(few, 1)) / CLOSE), spread)
        return kernels_of(_condensed(rows, h / FINE), h)

    def _h(self, rows: StoredRows, spread: Spread) -> Floats:
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


def points_of(stats: StoredRows) -> tuple[StoredRows, Spread]:
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
    return StoredRows(rows.K, X[order], codes[order], w[order]), Spread.of(moments, units)


def kernels_of(rows: StoredRows, h: Floats) -> Kernels:
    """A kernel about each of these rows, which are sorted by class."""
    start = np.searchsorted(rows.codes, np.arange(rows.K + 1)).astype(np.int64)
    with np.errstate(divide="ignore"):  # a share may be too small for a number
        log_w = np.log(rows.w / rows.n[rows.codes])
    return Kernels(rows.X, log_w, log_w, start, h)


def _condensed(rows: StoredRows, width: Floats) -> StoredRows:
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
    return StoredRows(rows.K, X[:, None], codes, w)


def _by_leaving_out(rows: StoredRows, k: int, spread: Spread, start: float) -> float:
    """The factor that makes the rows of a class likeliest, each evaluated by the others."""
    own = rows.codes == k
    units = np.frexp(spread.sd[k])[1]  # so that the search is the same to the last bit in any of them
    X, w, sd = in_units(rows.X[own], units), rows.w[own], in_units(spread.sd[k], units)
    if len(w) < 2:
        return float(start)
    asked = np.unique(np.linspace(0, len(w) - 1, min(len(w), ASKED)).astype(np.int64))
    kept = StoredRows(1, X, np.zeros(len(w), np.int32), w)
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


def _different(rows: StoredRows) -> Floats:
    """How many rows each class has, whatever their weights."""
    return np.asarray(np.bincount(rows.codes, minlength=rows.K), dtype=np.float64)


class LeftOutRows(NamedTuple):
    """Rows, each under the density of all others."""

    codes: NDArray[np.int32]  # (n,)
    w: Floats  # (n,)
    Z: Floats  # (n, K), ln p(x | C_k)


def left_out_scores(stats: StoredRows, h: Floats, most: int) -> LeftOutRows:
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
    return LeftOutRows(codes, w, Z)


def left_out(term: KernelSum, X: Floats, gone: tuple[NDArray[np.int64], Floats]) -> Floats:
    """ln Σ over the points but, for each row, some of one of them: (n, K), not divided by what is left."""
    Z = np.empty((len(X), len(term.b)))
    term.ask(Chunk(Dense(X)), Z, add=False, left_out=gone)
    return Z
