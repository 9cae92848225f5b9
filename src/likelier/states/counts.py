"""How often each class has each category of each column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Block, Chunk, Columns, NonFinite, OutOfSupport
from likelier.states.bins import Bins, codes_of
from likelier.states.moments import Floats, memberships, weights

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
            counted = np.ones(len(X)) if chunk.w is None else chunk.w
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
