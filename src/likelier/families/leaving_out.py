"""How likely rows are without themselves: their class estimated from all rows but each one.

Statistics are sums, so that a row is taken out of them exactly; where an estimate from what is left would
take long (covariances), a formula for one row less stands in its place.
"""

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.data import CSR, Chunk, Columns, Dense, Factor
from likelier.families.base import Floats
from likelier.families.categorical import Categorical
from likelier.families.counts import AffineColumns
from likelier.families.covaried import FullGaussian, TiedGaussian
from likelier.families.downdating import Rows, full_without, tied_without
from likelier.families.histogram import Histogram
from likelier.families.kernel import Kernel, ProductKernel
from likelier.families.kernels import Kernels
from likelier.families.mixed import Mixed, MixedFamily
from likelier.families.multinomial import Complement, Multinomial
from likelier.families.pooled import Pooled, Shared
from likelier.families.tabled import Tally, tallies
from likelier.states import Sums
from likelier.states.bins import codes_of
from likelier.states.counts import resized

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
def _(family: Pooled, stats: Any, params: Shared, rows: Rows) -> Floats | None:
    """Of all classes alike, (n, 1)."""
    found = change(family.family, stats.state, params.params, rows._replace(y=np.zeros_like(rows.y)))
    return None if found is None else found[:, None]


@change.register
def _(family: Categorical, stats: Any, params: Any, rows: Rows) -> Floats:
    sizes = params.levels
    arrays = rows.X.arrays if isinstance(rows.X, Columns) else rows.X.to_array().T
    codes = np.stack([x.codes if isinstance(x, Factor) else _whole(x) for x in arrays], axis=1)
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
