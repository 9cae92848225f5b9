"""The survey before a pass: labels, categories, and the range of each column."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import CSR, Chunk, Columns, Factor, code, levels_of
from likelier.data.labels import first_seen, label_counts, sums_by_code, with_weight

# How far the numbers of each column reach.

FEW = 64


@dataclass
class Extent:
    """Least and largest number of each column, in all rows that have a weight, and whether all are whole.

    A column without a number: inf and -inf.
    """

    low: Floats  # (p,)
    high: Floats
    whole: NDArray[np.bool_]
    n: float = 0.0  # the weight of the rows

    @classmethod
    def start(cls, p: int) -> Self:
        return cls(np.full(p, np.inf), np.full(p, -np.inf), np.ones(p, dtype=np.bool_))

    @property
    def nbytes(self) -> int:
        return self.low.nbytes + self.high.nbytes + self.whole.nbytes

    def update(self, chunk: Chunk) -> None:
        if chunk.w is not None and not (chunk.w > 0).all():
            chunk = chunk.take(np.flatnonzero(chunk.w > 0))
        X = chunk.X
        with np.errstate(over="ignore"):  # what overflows is refused when it is counted
            self.n += float(X.shape[0] if chunk.w is None else chunk.w.sum())
        if X.shape[0] == 0:
            return
        if isinstance(X, CSR):
            X = Columns(tuple(X.to_array().T))
        if not isinstance(X, Columns):
            self._take(slice(None), X.array)
            return
        for j, column in enumerate(X.arrays):
            if not isinstance(column, Factor):
                self._take(slice(j, j + 1), column[:, None])

    def _take(self, j: slice, x: NDArray[Any]) -> None:
        """Columns x (n, q), which stand at j."""
        if x.dtype.kind == "b":
            x = x.view(np.uint8)
        # Of -0 and 0 either may be found: as a sum they are one.
        self.low[j] = np.fmin(self.low[j], np.fmin.reduce(x, axis=0)) + 0.0
        self.high[j] = np.fmax(self.high[j], np.fmax.reduce(x, axis=0)) + 0.0
        if x.dtype.kind == "f":
            whole = self.whole[j]  # a view
            for some in (x[:FEW], x[FEW:]):  # few rows show most columns that are not
                at = np.flatnonzero(whole)
                cells = some if len(at) == some.shape[1] else some[:, at]
                whole[at] = ((cells == np.rint(cells)) | np.isnan(cells)).all(axis=0)

    def merge(self, other: Self) -> None:
        self.low = np.fmin(self.low, other.low)
        self.high = np.fmax(self.high, other.high)
        self.whole = self.whole & other.whole
        self.n += other.n


# The survey: what must be known of labels and categories before the pass that counts.


@dataclass
class Survey:
    """The distinct labels, sorted, of all rows that have a weight."""

    levels: NDArray[Any] | None = field(default=None)

    @property
    def nbytes(self) -> int:
        return 0 if self.levels is None else self.levels.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        if chunk.w is None:
            y = chunk.y
        else:
            y = chunk.y[chunk.w > 0] if chunk.w.ndim == 1 else with_weight(chunk.y, chunk.w)
        self.merge(type(self)(levels_of(y)))

    def merge(self, other: Self) -> None:
        if self.levels is None or other.levels is None:
            self.levels = other.levels if self.levels is None else self.levels
        elif not np.array_equal(self.levels, other.levels):
            self.levels = levels_of(np.concatenate([self.levels, other.levels]))


@dataclass
class LabelTotals(Survey):
    """And the weight of the rows of each label."""

    n: Floats = field(default_factory=lambda: np.zeros(0))  # (K,)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.n.nbytes

    def update(self, chunk: Chunk) -> None:
        labels, counts = _counted(chunk)
        some = with_weight(labels, counts)
        levels, weight = levels_of(some), counts[counts[:, 0] > 0, 0]
        self.merge(type(self)(levels, sums_by_code(code(some, levels), weight, len(levels))))

    def merge(self, other: Self) -> None:
        before = self.levels
        super().merge(other)
        if self.levels is None:
            return
        ours, K = self.n, len(self.levels)
        if before is not None and len(before) < K:
            ours = sums_by_code(code(before, self.levels), self.n, K)
        elif before is None:
            ours = np.zeros(K)
        if other.levels is not None:
            ours = ours + sums_by_code(code(other.levels, self.levels), other.n, K)
        self.n = ours


def _counted(chunk: Chunk) -> tuple[NDArray[Any], Floats]:
    """The labels of a chunk, each once, and the weight and number of their rows."""
    assert chunk.y is not None
    if chunk.w is not None and chunk.w.ndim == 2:
        return chunk.y, chunk.w
    return label_counts(*first_seen(chunk.y), chunk.w)


@dataclass
class LabelRows:
    """The distinct labels, as they came, and how many rows have each, whatever their weights."""

    labels: NDArray[Any] | None = None
    rows: Floats = field(default_factory=lambda: np.zeros(0))  # (labels,)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + (0 if self.labels is None else self.labels.nbytes)

    def update(self, chunk: Chunk) -> None:
        labels, counts = _counted(chunk)
        self.merge(type(self)(labels, counts[:, 1]))

    def merge(self, other: Self) -> None:
        pairs = [(each.labels, each.rows) for each in (self, other) if each.labels is not None]
        if pairs:
            labels, rows = (np.concatenate(each) for each in zip(*pairs, strict=True))
            codes, self.labels = first_seen(labels)
            self.rows = sums_by_code(codes, rows, len(self.labels))

    def of(self, levels: NDArray[Any]) -> Floats:
        """How many rows have each of these."""
        if self.labels is None:
            return np.zeros(len(levels))
        at = code(self.labels, levels)
        return sums_by_code(at[at >= 0], self.rows[at >= 0], len(levels))


@dataclass
class RowCount:
    """How many rows there are, whatever their weights."""

    rows: int = 0

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        self.rows += chunk.X.shape[0]

    def merge(self, other: Self) -> None:
        self.rows += other.rows


@dataclass
class Levels:
    """The distinct categories, sorted, of each column that has any, in all rows that have a weight."""

    levels: dict[int, NDArray[Any]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return sum(levels.nbytes for levels in self.levels.values())

    def update(self, chunk: Chunk) -> None:
        factors = chunk.X.factors() if isinstance(chunk.X, Columns) else {}
        rows = slice(None) if chunk.w is None else chunk.w > 0
        self.merge(type(self)({j: factor[rows].used() for j, factor in factors.items()}))

    def merge(self, other: Self) -> None:
        for j, theirs in other.levels.items():
            ours = self.levels.get(j, theirs)
            self.levels[j] = ours if ours is theirs else levels_of(np.concatenate([ours, theirs]))
