"""Counts of categories by class and column, and bins that make categories of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats, row_weights, rows_that_count
from likelier.data import Block, Chunk, Columns, NonFinite, OutOfSupport
from likelier.states.moments import memberships, refuse, weights

# Bins: a column of numbers as one of few codes.

MOST_BINS = 64
LEAST_ROWS = 5  # that a bin should have: fewer make no frequency


@dataclass(frozen=True)
class Bins:
    """Bins [e_b, e_b+1) of a column, the outermost of which also hold all that lies beyond their edges.

    Some are atoms: they hold one value alone, from that to the next number there is, and have a
    probability rather than a density. An edge belongs to the bin on its right.
    """

    edges: Floats  # (B + 1,), sorted; the inner ones differ
    atoms: NDArray[np.bool_]  # (B,)

    def __len__(self) -> int:
        return len(self.atoms)

    @property
    def cuts(self) -> Floats:
        """What parts the bins: a value's bin is the number of cuts that are at most it."""
        return self.edges[1:-1]

    @property
    def tail(self) -> float:
        """By how much beyond the outermost edges a density falls to 1/e of itself: a mean width."""
        low, high = self.edges[0], self.edges[-1]
        return float(high / len(self) - low / len(self)) or max(abs(float(low)), 1.0)

    @property
    def widths(self) -> Floats:
        """What a probability is to be divided by for the density at a bin's height; 1 for atoms."""
        with np.errstate(over="ignore"):
            wide = np.diff(self.edges)
            wide[0] += self.tail
            wide[-1] += self.tail
        return np.where(self.atoms, 1.0, np.minimum(wide, np.finfo(np.float64).max))

    @property
    def means(self) -> Floats:
        """The mean of each bin: flat between its edges, and an exponential tail beyond the outermost."""
        largest = max(abs(self.edges[0]), abs(self.edges[-1]), self.tail)
        unit = np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)
        edges, tail = self.edges / unit, self.tail / unit  # at most 2: no product of two overflows
        left, right = edges[:-1], edges[1:]
        middle = left + (right - left) / 2
        mass, moment = np.diff(edges), np.zeros(len(self))  # moments are about the middle
        for b, edge, way in ((0, left[0], -1.0), (-1, right[-1], 1.0)):
            mass[b] += tail
            moment[b] += tail * (edge + way * tail - middle[b])
        mean = middle + moment / np.where(self.atoms | (mass == 0), 1.0, mass)
        return np.where(self.atoms, self.edges[:-1], mean * unit)


def codes_of(bins: Sequence[Bins], chunk: Chunk) -> Columns:
    """The bin of each cell, -1 where it is missing."""
    n, p = chunk.X.shape
    if len(bins) != p:  # a model file may say so, and the kernel would read on
        raise ValueError(f"bins of {len(bins)} columns, and rows of {p}")
    start = np.cumsum([0, *(len(one.cuts) for one in bins)], dtype=np.int64)
    cuts = np.concatenate([np.empty(0), *(one.cuts for one in bins)])
    codes = np.empty((p, n), dtype=np.int32)
    refuse(chunk, _core.find_bins(chunk.X.native(), cuts, start, codes))
    return Columns(tuple(codes))


def bins_for(rows: float) -> int:
    """How many bins suit so many rows: 3/2 times the cube root, 64 at most."""
    return int(min(round(1.5 * rows ** (1 / 3)), MOST_BINS))


def edges_of(x: NDArray[Any], w: Floats | None = None, bins: int | None = None) -> Bins:
    """About `bins` bins of equal weight, from values (those that are finite) and their weights.

    By default as many as suit the rows.

    A value that weighs more than a bin should, is an atom; the bins left share what is left, so that
    further values may become atoms (compressed histograms: Poosala, Ioannidis, Haas & Shekita 1996).
    Edges lie half-way between values; bins that would weigh less than 5 rows are not made.
    """
    values, weights = _distinct(np.asarray(x, dtype=np.float64), w)
    if len(values) == 0:
        return Bins(np.zeros(2), np.zeros(1, dtype=np.bool_))
    wanted = _wanted(weights.sum(), bins)
    alone = _heavy(weights, wanted)
    cuts = [values[alone], np.nextafter(values[alone], np.inf)]
    rest = max(wanted - int(alone.sum()), 1)
    cuts.append(_quantiles(values, np.where(alone, 0.0, weights), alone, rest))
    found = np.unique(np.concatenate(cuts))
    inner = found if len(found) else values
    ends = min(values[0], inner[0]), max(values[-1], inner[-1])
    edges = np.concatenate([ends[:1], found, ends[1:]])
    atoms = np.isin(edges[:-1], values[alone]) & (edges[1:] == np.nextafter(edges[:-1], np.inf))
    return Bins(edges, atoms)


def edges_of_each(X: Floats, w: Floats | None, bins: Sequence[int]) -> list[Bins]:
    """`edges_of` of each column, those together that have nothing but different values.

    Of these the same places are cut, which takes no longer for a thousand columns than for one.
    """
    n, p = X.shape
    S = np.sort(X, axis=0)
    alike = n > 0 and (w is None or bool((w == w[0]).all()))
    ends = np.isfinite(S[:1]) & np.isfinite(S[-1:])
    plain: list[int] = np.flatnonzero((S[1:] > S[:-1]).all(axis=0) & ends.all(axis=0) & alike).tolist()
    found: dict[int, Bins] = {}
    for most in {bins[j] for j in plain}:
        columns = np.array([j for j in plain if bins[j] == most])
        weights = row_weights(w, n)
        wanted, none = _wanted(weights.sum(), most), np.zeros(n, dtype=np.bool_)
        V = S[:, columns]
        edges = np.vstack([V[:1], _between(V, _places(weights, none, wanted)), V[-1:]])
        for j, own in zip(columns.tolist(), np.ascontiguousarray(edges.T), strict=True):
            found[j] = Bins(own, np.zeros(len(own) - 1, dtype=np.bool_))
    return [found[j] if j in found else edges_of(X[:, j], w, bins[j]) for j in range(p)]


def _wanted(total: float, bins: int | None) -> int:
    """How many bins are to be made of this weight."""
    most = bins_for(total) if bins is None else bins
    return int(np.clip(total // LEAST_ROWS, 1, max(most, 1)))


def _distinct(x: Floats, w: Floats | None) -> tuple[Floats, Floats]:
    """The values that are there, sorted, and what each weighs."""
    there = rows_that_count(np.isfinite(x), w)
    values, at = np.unique(x[there], return_inverse=True)
    return values, np.bincount(at, None if w is None else w[there], len(values)).astype(np.float64)


def _heavy(weights: Floats, bins: int) -> NDArray[np.bool_]:
    """The values that weigh more than a bin should, once the heavier ones have one each."""
    order = np.argsort(-weights, kind="stable")[: bins - 1]
    heavier = np.cumsum(weights[order]) - weights[order]
    fair = (weights.sum() - heavier) / (bins - np.arange(len(order)))
    light = np.flatnonzero(weights[order] <= fair * (1 + 1e-9))
    heavy = order[: light[0]] if len(light) else order
    found = np.zeros(len(weights), dtype=np.bool_)
    found[heavy] = True
    return found


def _quantiles(values: Floats, weights: Floats, alone: NDArray[np.bool_], bins: int) -> Floats:
    """Cuts between values that make bins of about equal weight; where an atom parts them, none."""
    return _between(values, _places(weights, alone, bins))


def _places(weights: Floats, alone: NDArray[np.bool_], bins: int) -> NDArray[np.intp]:
    """After which of the sorted values there is a cut."""
    below = np.cumsum(weights)
    if bins == 1 or below[-1] == 0:
        return np.empty(0, dtype=np.intp)
    targets = below[-1] * (np.arange(1, bins) / bins)
    at = np.searchsorted(below, targets * (1 - 1e-12))  # the cut is above this value
    nearer = (at > 0) & (targets - below[at - 1] < below[at] - targets)
    at = np.unique(np.where(nearer, at - 1, at))
    at = at[at + 1 < len(weights)]
    return np.asarray(at[~alone[at] & ~alone[at + 1]], dtype=np.intp)


def _between(values: Floats, at: NDArray[np.intp]) -> Floats:
    """Half-way from these sorted values to the next."""
    middle = values[at] + (values[at + 1] - values[at]) / 2
    return np.asarray(np.where(middle > values[at], middle, values[at + 1]))


# How often each class has each category of each column.

# What becomes of codes beyond the last: they are missing, or all are the last, or there is room made.
Beyond = Literal["missing", "last", "room"]
Sizes = NDArray[np.int64]
MOST = 10_000_000  # codes of a column: beyond, they are no categories
SAID = f"categories are whole numbers from 0 to {MOST - 1:,}; code them, for example with OrdinalEncoder"


def lowest(X: Block) -> Floats:
    """The least code of each column (p,): a factor says by -1 that a cell is missing, numbers by NaN."""
    low = np.zeros(X.shape[1])
    if isinstance(X, Columns):
        low[list(X.factors())] = -1.0
    return low


def places(sizes: Sizes, beyond: Beyond) -> tuple[Floats, Floats, Floats]:
    """Where codes stand in a table of Σ sizes rows: from, how many, and those beyond; (p,) each."""
    first, gone = np.cumsum(sizes) - sizes, np.full(len(sizes), sizes.sum())
    other = first + sizes - 1 if beyond == "last" else gone
    return first.astype(np.float64), sizes.astype(np.float64), other.astype(np.float64)


def refuse_code(chunk: Chunk, where: tuple[int, int] | None) -> None:
    """Raise if a kernel met a cell that is no code."""
    if where is not None:
        row, column = where
        value = chunk.X.cell(row, column)
        if not np.isfinite(value):
            raise NonFinite(chunk.first + row, column, value)
        raise OutOfSupport(chunk.first + row, column, value, why=SAID)


def resized(table: Floats, sizes: Sizes, larger: Sizes) -> Floats:
    """A table (Σ sizes, K) with room for more codes of each column: 0 there."""
    wide = np.zeros((int(larger.sum()), table.shape[1]))
    first = np.cumsum(larger) - larger
    held = [first[j] + np.arange(size) for j, size in enumerate(sizes)]
    wide[np.concatenate([np.arange(0), *held])] = table
    return wide


@dataclass
class Counts:
    """Weight n (K,) of the rows; of column j's cells with code l, the weight in row first_j + l of counts.

    Missing cells count nowhere. merge: the sums of both; with `room` for any code, of the larger sizes.
    """

    n: Floats
    counts: Floats  # (Σ sizes, K)
    sizes: Sizes  # (p,)
    beyond: Beyond

    @classmethod
    def start(cls, K: int, sizes: Any, beyond: Beyond = "missing") -> Self:
        held = np.array(sizes, dtype=np.int64)
        return cls(np.zeros(K), np.zeros((int(held.sum()), K)), held, beyond)

    @classmethod
    def growing(cls, K: int, p: int) -> Self:
        """Of codes of which nothing is known yet."""
        return cls.start(K, np.zeros(p), "room")

    @property
    def nbytes(self) -> int:
        return self.n.nbytes + self.counts.nbytes + self.sizes.nbytes

    def update(self, chunk: Chunk) -> None:
        if self.beyond == "room":
            self._make_room(chunk)
        self.absorb(chunk, lowest(chunk.X))

    def absorb(self, chunk: Chunk, low: Floats) -> None:
        """Count cells that are codes; those of a column from its `low` to -1 are missing."""
        (codes, R), slots = memberships(chunk), places(self.sizes, self.beyond)
        X, w = chunk.X.native(), weights(chunk)
        refuse_code(chunk, _core.count_cells(X, codes, R, w, *slots, low, self.n, self.counts))

    def _make_room(self, chunk: Chunk) -> None:
        (codes, R), top = memberships(chunk), np.full(len(self.sizes), -1.0)
        _core.largest(chunk.X.native(), codes, R, weights(chunk), len(self.n), top)
        if (top >= MOST).any():
            X, j = chunk.X.to_array(), int(np.argmax(top >= MOST))
            counted = row_weights(chunk.w, len(X))
            refuse_code(chunk, (int(np.argmax((X[:, j] >= MOST) & (counted > 0))), j))
        self._grow(np.floor(top).astype(np.int64) + 1)

    def _grow(self, sizes: Sizes) -> None:
        larger = np.maximum(self.sizes, sizes)
        if not np.array_equal(larger, self.sizes):
            self.counts, self.sizes = resized(self.counts, self.sizes, larger), larger

    def merge(self, other: Self) -> None:
        if self.beyond == "room":
            self._grow(other.sizes)
        same = np.array_equal(self.sizes, other.sizes)
        self.counts += other.counts if same else resized(other.counts, other.sizes, self.sizes)
        self.n = self.n + other.n

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return (
            isinstance(other, Counts)
            and self.beyond == other.beyond
            and len(self.sizes) == len(other.sizes)
            and (self.beyond == "room" or np.array_equal(self.sizes, other.sizes))
        )

    def finite(self) -> bool:
        """False if weights have overflowed."""
        return bool(np.isfinite(self.n).all())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = type(self).start(K, self.sizes, self.beyond)
        wide.n[at], wide.counts[:, at] = self.n, self.counts
        return wide

    def seen(self) -> Floats:
        """The weight of each column's cells that are there, (K, p)."""
        tables = np.split(self.counts, np.cumsum(self.sizes)[:-1])
        return np.stack([table.sum(axis=0) for table in tables], axis=1)


@dataclass
class BinCounts:
    """The counts of bins rather than codes."""

    bins: tuple[Bins, ...]
    counts: Counts

    @classmethod
    def start(cls, K: int, bins: Sequence[Bins]) -> Self:
        return cls(tuple(bins), Counts.start(K, [len(one) for one in bins]))

    @property
    def n(self) -> Floats:
        """The weight of each class's rows, (K,)."""
        return self.counts.n

    @property
    def nbytes(self) -> int:
        return self.counts.nbytes + sum(one.edges.nbytes + one.atoms.nbytes for one in self.bins)

    def update(self, chunk: Chunk) -> None:
        codes = codes_of(self.bins, chunk)
        self.counts.absorb(chunk._replace(X=codes), np.full(len(self.bins), -1.0))

    def merge(self, other: Self) -> None:
        self.counts.merge(other.counts)

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return (
            isinstance(other, BinCounts)
            and self.counts.mergeable(other.counts)
            and all(np.array_equal(a.edges, b.edges) for a, b in zip(self.bins, other.bins, strict=True))
        )

    def finite(self) -> bool:
        """False if weights have overflowed."""
        return self.counts.finite()

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return type(self)(self.bins, self.counts.widened(K, at))
