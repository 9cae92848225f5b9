"""The survey: what must be known of labels and categories before the pass that counts."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk, Columns, levels_of


@dataclass
class Survey:
    """The distinct labels, sorted, of all rows that have a weight."""

    levels: NDArray[Any] | None = field(default=None)

    @property
    def nbytes(self) -> int:
        return 0 if self.levels is None else self.levels.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        y = chunk.y if chunk.w is None else chunk.y[chunk.w > 0]
        self.merge(type(self)(levels_of(y)))

    def merge(self, other: Self) -> None:
        if self.levels is None or other.levels is None:
            self.levels = other.levels if self.levels is None else self.levels
        elif not np.array_equal(self.levels, other.levels):
            self.levels = levels_of(np.concatenate([self.levels, other.levels]))


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
