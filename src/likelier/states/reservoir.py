"""Labelled rows that are kept: all of them while they are few, then a sample of fixed size."""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats, row_weights
from likelier.data import Chunk
from likelier.data.row_numbers import check, keys_of

EVERY = 1 << 64  # above all hashes


@dataclass
class Reservoir:
    """The `most` rows with a class and a weight whose numbers have the least hashes (bottom-k).

    X (m, p) has categories as codes, and NaN where a cell is missing. Which rows are kept depends neither
    on cuts nor on threads. `before` is the number of the first row, `rows` how many rows there were;
    `enough` is a hash below which there are almost surely `most` of the rows to come.
    """

    K: int
    most: int
    keys: NDArray[np.uint64]  # (m,)
    X: Floats  # (m, p)
    codes: NDArray[np.int32]  # (m,)
    w: Floats  # (m,), all above 0
    before: int = 0
    rows: int = 0
    enough: int = EVERY

    @classmethod
    def start(cls, K: int, p: int, most: int, before: int = 0, expected: int | None = None) -> Self:
        """Room for `most` rows; expected: how many rows there will be, if that is known."""
        keys, codes = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int32)
        enough = EVERY if expected is None else _enough(most, expected)
        return cls(K, most, keys, np.empty((0, p)), codes, np.empty(0), before, 0, enough)

    @property
    def n(self) -> Floats:
        """The weight of each class's rows, (K,)."""
        return np.asarray(np.bincount(self.codes, self.w, self.K), dtype=np.float64)

    @property
    def nbytes(self) -> int:
        """Nothing: rows are cut into the same parts with and without it."""
        return 0

    def update(self, chunk: Chunk) -> None:
        check(chunk.first)
        n, first = chunk.X.shape[0], self.before + chunk.first
        self.rows += n
        below = self._below if chunk.w is not None else min(self._below, self.enough)
        rows = np.empty(n, dtype=np.int64)
        rows = rows[: _core.drawn(first, 0, below - 1, rows)]
        codes = np.asarray(chunk.y)[rows].astype(np.int32)
        w = row_weights(None if chunk.w is None else chunk.w[rows], len(rows))
        good = (codes >= 0) & (w > 0)
        some = rows[good].astype(np.intp)
        if len(some):
            X = chunk.X.take(slice(None) if len(some) == n else some).to_array().astype(np.float64)
            self._add(keys_of(first + some), X, codes[good], np.asarray(w[good], dtype=np.float64))

    def merge(self, other: Self) -> None:
        self.rows += other.rows
        self._add(other.keys, other.X, other.codes, other.w)

    def _add(self, keys: NDArray[np.uint64], X: Floats, codes: NDArray[np.int32], w: Floats) -> None:
        self.keys, self.X = np.concatenate([self.keys, keys]), np.concatenate([self.X, X])
        self.codes, self.w = np.concatenate([self.codes, codes]), np.concatenate([self.w, w])
        if len(self.keys) > self.most:
            self._keep(self._order()[: self.most])

    def _order(self) -> NDArray[np.intp]:
        """By all that is known of a row: which ones stay must not depend on who merges with whom."""
        return np.lexsort((np.nansum(self.X, axis=1), self.w, self.codes, self.keys))

    def _keep(self, order: NDArray[np.intp]) -> None:
        self.keys, self.X = self.keys[order], self.X[order]
        self.codes, self.w = self.codes[order], self.w[order]

    @property
    def _below(self) -> int:
        """The hash from which on a row is among so many no more."""
        return int(self.keys.max()) + 1 if len(self.keys) >= self.most else EVERY

    def in_order(self) -> Self:
        """The same rows, whatever order they came in."""
        found = replace(self)
        found._keep(self._order())
        return found

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, Reservoir) and self.X.shape[1] == other.X.shape[1]

    def finite(self) -> bool:
        """False if weights have overflowed."""
        return bool(np.isfinite(self.n).all())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return replace(self, K=K, codes=np.asarray(at, dtype=np.int32)[self.codes])


def _enough(most: int, rows: int) -> int:
    """The hash below which there are `most` of so many rows: too few of them but once in 10⁹ times."""
    share = (most + 6 * sqrt(most)) / max(rows, 1)
    return EVERY if share >= 1 else int(share * 2.0**64)
