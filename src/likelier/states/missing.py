"""Class moments of rows with missing values, and the sums that shrinkage needs."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats, row_weights
from likelier.data import Chunk, Dense, NonFinite, by_gaps
from likelier.states.moments import ColumnMoments, Deviations, HigherMoments, Moments, Shape

# Class moments of rows in which cells may be missing.

MOST_BYTES = 256 << 20  # of rows with gaps, and scatters of them, that one state keeps


class TooManyPatterns(ValueError):
    """Cells are missing in so many ways that to count them would be to keep the rows."""


class Groups(NamedTuple):
    """Which items are of one class and one pattern: order[start[g] : start[g + 1]], by class."""

    order: NDArray[np.intp]  # (r,)
    start: NDArray[np.int64]  # (g + 1,)


@dataclass
class PatternMoments:
    """The moments of complete rows, and of each class and pattern of missing columns those of its rows.

    Incomplete rows are items: a row, its class and weight. Once a pattern has more of them than columns
    they become one item: their mean, their weight, and the scatter of the columns that are there. So
    nothing is lost that a likelihood could ask for, and EM on the items equals EM on the rows (Little &
    Rubin 2002, ch. 11).
    """

    whole: Moments | Deviations
    X: Floats  # (r, p), NaN where missing
    codes: NDArray[np.int32]  # (r,)
    w: Floats  # (r,)
    spread: NDArray[np.int64]  # (r,), place of the item's scatter in S; -1 for one row, which has none
    S: Floats  # (c, p, p), 0 where missing
    blank: Floats  # (K,), weight of rows with nothing in them
    most: int = MOST_BYTES
    # What complete rows would have had, and columns, once they have been worked out; not statistics.
    solved: Moments | None = field(default=None, init=False, repr=False, compare=False)
    _columns: ColumnMoments | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def start(cls, K: int, p: int, shape: Shape, most: int = MOST_BYTES, *, rows: bool = False) -> Self:
        """rows: fewer complete rows than columns are kept as such (of classes that share a scatter)."""
        return cls(
            Deviations.start(K, p) if rows else Moments.start(K, p, shape),
            np.zeros((0, p)),
            np.zeros(0, dtype=np.int32),
            np.zeros(0),
            np.zeros(0, dtype=np.int64),
            np.zeros((0, p, p)),
            np.zeros(K),
            most,
        )

    @property
    def nbytes(self) -> int:
        return self.whole.nbytes

    @property
    def shape(self) -> Shape:
        return self.whole.shape

    @property
    def n(self) -> Floats:
        """The weight of all rows, (K,)."""
        n = self.whole.n + self.blank
        np.add.at(n, self.codes, self.w)
        return n

    @property
    def complete(self) -> bool:
        """Whether no cell was missing."""
        return len(self.w) == 0 and not self.blank.any()

    def update(self, chunk: Chunk) -> None:
        self.solved = self._columns = None
        try:
            self.whole.update(chunk)
        except NonFinite as bad:
            if not np.isnan(bad.value):
                raise
            self.merge(self.apart(chunk))

    def apart(self, chunk: Chunk) -> Self:
        """The state of a chunk alone: its complete rows as ever, an item for each of the others."""
        kept = isinstance(self.whole, Deviations)
        new = type(self).start(len(self.blank), chunk.X.shape[1], self.shape, self.most, rows=kept)
        whole, some, _ = by_gaps(chunk)
        new.whole.update(whole)
        X = some.X.to_array()
        rows, codes, w = members(some)
        gaps = np.isnan(X)
        blank = gaps[rows].all(axis=1)
        np.add.at(new.blank, codes[blank], w[blank])
        new.X, new.codes, new.w = X[rows[~blank]], codes[~blank], w[~blank]
        new.spread = np.full(len(new.w), -1)
        return new

    def merge(self, other: Self) -> None:
        self.solved = self._columns = None
        self.whole.merge(other.whole)
        self.blank = self.blank + other.blank
        if len(other.w) == 0:
            return
        moved = np.where(other.spread < 0, -1, other.spread + len(self.S))
        self.spread = np.concatenate([self.spread, moved])
        for name in ("X", "codes", "w", "S"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)]))
        self._condense()
        size = self.X.nbytes + self.S.nbytes
        if size > self.most:
            raise TooManyPatterns(
                f"cells are missing in too many ways to count them: {len(self.w)} rows, {size >> 20} MB of "
                "them, lack columns that few others lack. A fit without shrinkage='auto' reads them in "
                "several passes; for all else drop columns with many gaps, or use GaussianNB."
            )

    def pooled(self) -> Self:
        """All classes as one, of the incomplete rows alone."""
        one = type(self).start(1, self.X.shape[1], self.shape, self.most)
        one.X, one.w, one.spread, one.S = self.X, self.w, self.spread.copy(), self.S
        one.codes, one.blank = np.zeros_like(self.codes), self.blank.sum(keepdims=True)
        one._condense()
        return one

    def groups(self) -> Groups:
        """Items of one class and pattern together."""
        pattern = _core.code_bytes(np.packbits(np.isnan(self.X), axis=1))[0].astype(np.int64)
        key = self.codes * (pattern.max(initial=0) + 1) + pattern
        order = np.argsort(key, kind="stable")
        cuts = np.flatnonzero(np.diff(key[order])) + 1
        ends = [len(key)] if len(key) else []
        return Groups(order, np.concatenate([[0], cuts, ends]).astype(np.int64))

    def _condense(self) -> None:
        """One item instead of many wherever that is less to keep."""
        if len(self.w) == 0:
            return
        order, start = self.groups()
        columns = (~np.isnan(self.X[order[start[:-1]]])).sum(axis=1)
        counted = np.maximum.reduceat(self.spread[order], start[:-1]) >= 0
        size = np.diff(start)
        dense = np.flatnonzero((size > columns) | (counted & (size > 1)))
        if len(dense) == 0:
            return
        members = [order[start[g] : start[g + 1]] for g in dense]
        pooled = [self._pooled(at) for at in members]
        stay = np.ones(len(self.w), dtype=bool)
        stay[np.concatenate(members)] = False
        kept = stay & (self.spread >= 0)
        S = [*self.S[self.spread[kept]], *(scatter for _, _, scatter in pooled)]
        self.spread[kept] = np.arange(kept.sum())
        places = kept.sum() + np.arange(len(pooled))
        self.X = np.concatenate([self.X[stay], [mean for _, mean, _ in pooled]])
        self.codes = np.concatenate([self.codes[stay], self.codes[[at[0] for at in members]]])
        self.w = np.concatenate([self.w[stay], [weight for weight, _, _ in pooled]])
        self.spread = np.concatenate([self.spread[stay], places])
        self.S = np.stack(S)

    def _pooled(self, items: NDArray[np.intp]) -> tuple[float, Floats, Floats]:
        """Weight, mean (p,) and scatter (p, p) of items of one pattern."""
        X, w = self.X[items], self.w[items]
        weight = float(w.sum())
        # From one of the items: columns far from 0 keep their digits, constant ones their value.
        mean = X[0] + w @ (X - X[0]) / weight
        d = np.nan_to_num(X - mean)
        S = (w[:, None] * d).T @ d
        spread = self.spread[items]
        return weight, mean, S + self.S[spread[spread >= 0]].sum(axis=0)

    def columns(self) -> ColumnMoments:
        """Column by column, of the cells that are there; tied, all scatter counts for the first class."""
        if self._columns is None:
            self._columns = self._by_column()
        return self._columns

    def _by_column(self) -> ColumnMoments:
        K, p = self.whole.mean.shape
        total, whole = ColumnMoments.start(K, p), self.whole
        if isinstance(whole, Deviations):
            alone = whole.squares()
        else:
            alone = np.diagonal(whole.S, axis1=-2, axis2=-1)
        total.n, total.mean = self.n, self.whole.mean.copy()
        total.seen = np.repeat(self.whole.n[:, None], p, axis=1)
        if self.shape == "tied":
            total.S[0] = alone
        else:
            total.S[...] = alone
        rows = ColumnMoments.start(K, p)
        rows.update(Chunk(Dense(self.X), self.codes, self.w))
        counted = self.spread >= 0
        own = np.einsum("cii->ci", self.S[self.spread[counted]])
        np.add.at(rows.S, self.codes[counted], np.where(np.isnan(self.X[counted]), 0.0, own))
        n = total.n
        total.merge(rows)
        total.n = n
        return total

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, PatternMoments) and self.shape == other.shape

    def finite(self) -> bool:
        """False if squares or weights have overflowed."""
        return self.whole.finite() and all(np.isfinite(a).all() for a in (self.w, self.S, self.blank))

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        blank = np.zeros(K)
        blank[at] = self.blank
        codes = np.asarray(at, dtype=np.int32)[self.codes]
        return replace(self, whole=self.whole.widened(K, at), codes=codes, blank=blank)


def members(chunk: Chunk) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats]:
    """The rows that count, with class and weight; once for each class that has a share."""
    assert chunk.y is not None
    y, n = chunk.y, chunk.X.shape[0]
    w = row_weights(chunk.w, n)
    if y.ndim == 1:
        at = np.flatnonzero((y >= 0) & (w > 0))
        return at, y[at].astype(np.int32), w[at]
    R = w[:, None] * y
    at, codes = np.nonzero(R > 0)
    return at, codes.astype(np.int32), R[at, codes]


# What shrinkage by the rows' own judgement needs of them.


@dataclass
class ShrinkageMoments:
    """Moments to the fourth order of the complete rows; of incomplete ones those of their patterns."""

    higher: HigherMoments
    gaps: PatternMoments  # its complete rows are none

    @classmethod
    def start(cls, K: int, p: int) -> Self:
        return cls(HigherMoments.start(K, p), PatternMoments.start(K, p, "full"))

    @property
    def nbytes(self) -> int:
        return self.higher.nbytes + self.gaps.nbytes

    @property
    def n(self) -> Floats:
        """The weight of all rows, (K,)."""
        return self.higher.n + self.gaps.n

    def update(self, chunk: Chunk) -> None:
        self.gaps.solved = None
        try:
            self.higher.update(chunk)
        except NonFinite as bad:
            if not np.isnan(bad.value):
                raise
            self._take_apart(chunk)

    def _take_apart(self, chunk: Chunk) -> None:
        whole, some, _ = by_gaps(chunk)
        rows = self.gaps.apart(some)
        self.higher.update(whole)
        self.gaps.merge(rows)

    def merge(self, other: Self) -> None:
        self.higher.merge(other.higher)
        self.gaps.merge(other.gaps)

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, ShrinkageMoments)

    def finite(self) -> bool:
        """False if fourth powers or weights have overflowed."""
        return self.higher.finite() and self.gaps.finite()

    def joint(self) -> PatternMoments:
        """All rows, to the second order."""
        h = self.higher
        return replace(self.gaps, whole=Moments(h.n, h.mean, h.S, "full"))

    def pooled(self) -> Self:
        """All classes as one."""
        return type(self)(self.higher.pooled(), self.gaps.pooled())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return type(self)(self.higher.widened(K, at), self.gaps.widened(K, at))
