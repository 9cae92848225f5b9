"""What is known of y by itself: added up fold by fold, and the answers that need no X."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Assignment, Chunk, Dense, levels_of
from likelier.states import ColumnMoments

Floats = NDArray[np.float64]
MOST_CLASSES = 20


@dataclass
class Variety:
    """The distinct numbers in y; None once one is not whole, or they are too many to be classes."""

    levels: NDArray[Any] | None

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        if self.levels is not None:
            y = np.asarray(chunk.y, dtype=np.float64)
            self.merge(type(self)(levels_of(y) if (y == np.floor(y)).all() else None))

    def merge(self, other: Self) -> None:
        if self.levels is None or other.levels is None:
            self.levels = None
            return
        joint = levels_of(np.concatenate([self.levels, other.levels]))
        self.levels = joint if len(joint) <= MOST_CLASSES else None


@dataclass
class ClassCounts:
    """Rows and their weight by fold and class, (F, K)."""

    folds: Assignment
    rows: NDArray[np.int64]
    weight: Floats

    @classmethod
    def start(cls, folds: Assignment, K: int) -> Self:
        shape = (folds.count, K)
        return cls(folds, np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.weight.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        w = np.ones(len(chunk.y)) if chunk.w is None else chunk.w
        cells = (self.folds.of(chunk.first, len(w)), chunk.y)
        used = w > 0  # a class without weight has no code
        np.add.at(self.rows, tuple(cell[used] for cell in cells), 1)
        np.add.at(self.weight, tuple(cell[used] for cell in cells), w[used])

    def merge(self, other: Self) -> None:
        self.rows += other.rows
        self.weight += other.weight

    def majority(self) -> tuple[float, float]:
        """Error and log-loss of the shares of the classes in the other folds, means over folds."""
        others = np.array([np.delete(self.weight, f, axis=0).sum(axis=0) for f in range(len(self.weight))])
        n = self.weight.sum(axis=1)
        right = self.weight[np.arange(len(n)), others.argmax(axis=1)]
        share = others / others.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = np.where(self.weight > 0, -self.weight * np.log(share), 0.0)
        return float(np.mean(1 - right / n)), float(np.mean(lost.sum(axis=1) / n))


@dataclass
class ValueMoments:
    """Rows by fold, and the moments of y in each."""

    folds: Assignment
    rows: NDArray[np.int64]  # (F,)
    moments: ColumnMoments  # folds as classes

    @classmethod
    def start(cls, folds: Assignment) -> Self:
        return cls(folds, np.zeros(folds.count, dtype=np.int64), ColumnMoments.start(folds.count, 1))

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.moments.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        Y = np.asarray(chunk.y, dtype=np.float64).reshape(-1, 1)
        fold = self.folds.of(chunk.first, len(Y))
        self.moments.update(Chunk(Dense(Y), fold, chunk.w))
        self.rows += np.bincount(fold if chunk.w is None else fold[chunk.w > 0], minlength=len(self.rows))

    def merge(self, other: Self) -> None:
        self.rows += other.rows
        self.moments.merge(other.moments)

    def mean(self) -> tuple[float, float]:
        """RMSE and R² of the mean of the other folds, means over folds."""
        n, m, S = self.moments.n, self.moments.mean[:, 0], self.moments.S[:, 0]
        away = m - [np.average(np.delete(m, f), weights=np.delete(n, f)) for f in range(len(n))]
        squares = S + n * away**2
        r2 = 1 - np.divide(squares, S, out=np.where(squares > 0, 1.0, 0.0), where=S > 0)
        return float(np.mean(np.sqrt(squares / n))), float(np.mean(np.where(self.rows > 1, r2, np.nan)))
