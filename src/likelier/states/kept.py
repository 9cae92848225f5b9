"""The rows themselves, for densities that are made of them."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk, Dense, NonFinite
from likelier.data.units import Units, in_units, magnitudes, needed
from likelier.states.columns import ColumnMoments
from likelier.states.moments import Floats
from likelier.states.patterns import members


@dataclass
class Kept:
    """Rows X (m, p), NaN where a cell is missing, each with class and weight; merge: one after another."""

    K: int
    X: Floats
    codes: NDArray[np.int32]  # (m,)
    w: Floats  # (m,), all above 0

    @classmethod
    def start(cls, K: int, p: int) -> Self:
        return cls(K, np.zeros((0, p)), np.zeros(0, dtype=np.int32), np.zeros(0))

    @property
    def n(self) -> Floats:
        """The weight of each class's rows, (K,)."""
        return np.asarray(np.bincount(self.codes, self.w, self.K), dtype=np.float64)

    @property
    def nbytes(self) -> int:
        return self.X.nbytes + self.codes.nbytes + self.w.nbytes

    def update(self, chunk: Chunk) -> None:
        rows, codes, w = members(chunk)
        X = chunk.X.to_array()[rows] + 0.0  # -0 is 0: they are one value
        bad = np.argwhere(np.isinf(X))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            raise NonFinite(chunk.first + int(rows[row]), column, float(X[row, column]))
        self._append(X, codes, w)

    def merge(self, other: Self) -> None:
        self._append(other.X, other.codes, other.w)

    def _append(self, X: Floats, codes: NDArray[np.int32], w: Floats) -> None:
        self.X = np.concatenate([self.X, X])
        self.codes = np.concatenate([self.codes, codes])
        self.w = np.concatenate([self.w, w])

    def distinct(self) -> Self:
        """The same rows sorted by class, then by column, equal ones as one: whatever order they came in."""
        order = np.lexsort((*self.X.T[::-1], self.codes))
        X, codes = self.X[order], self.codes[order]
        same = (X[1:] == X[:-1]) | (np.isnan(X[1:]) & np.isnan(X[:-1]))
        first = np.flatnonzero(np.append(True, ~same.all(axis=1) | (codes[1:] != codes[:-1])))
        if len(codes) == 0:
            return replace(self)
        return replace(self, X=X[first], codes=codes[first], w=np.add.reduceat(self.w[order], first))

    def moments(self) -> tuple[ColumnMoments, Units]:
        """Weight, mean and scatter by class and column, of the columns in the units that they need."""
        p = self.X.shape[1]
        found, units = ColumnMoments.start(self.K, p), np.zeros(p, dtype=np.int64)
        if len(self.w):
            wanted = needed(magnitudes(Dense(self.X)), together=False)
            X = self.X if wanted is None else in_units(self.X, wanted)
            units = units if wanted is None else wanted
            found.update(Chunk(Dense(X), self.codes, self.w))
        return found, units

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, Kept)

    def finite(self) -> bool:
        """False if weights overflow; squares are taken in units of the columns."""
        return bool(np.isfinite(self.n).all())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return replace(self, K=K, codes=np.asarray(at, dtype=np.int32)[self.codes])
