"""Weights, means and variances by class and column, of the cells that are there."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Chunk
from likelier.states.moments import Floats, memberships, refuse, shares, weights


@dataclass
class ColumnMoments:
    """Weight n (K,) of the rows; of each column's cells the weight, mean and central scatter (K, p).

    Columns are taken one by one, so a cell that is missing (NaN) is missing in its column alone.
    merge:  d = mean' - mean,  S += S' + d² N N'/(N + N'),  mean += d N'/(N + N').
    """

    n: Floats
    seen: Floats
    mean: Floats
    S: Floats

    @classmethod
    def start(cls, K: int, p: int) -> Self:
        return cls(np.zeros(K), *(np.zeros((K, p)) for _ in range(3)))

    @property
    def nbytes(self) -> int:
        return self.n.nbytes + 3 * self.S.nbytes

    def update(self, chunk: Chunk) -> None:
        K, p = self.mean.shape
        X, (codes, R), w = chunk.X.native(), memberships(chunk), weights(chunk)
        new = type(self).start(K, p)
        where = _core.moments(X, codes, R, w, False, new.n, new.mean, new.S)
        if where is None:
            new.seen = np.repeat(new.n[:, None], p, axis=1)
        else:  # a cell is missing, or infinite
            new = type(self).start(K, p)
            refuse(chunk, _core.column_moments(X, codes, R, w, new.n, new.seen, new.mean, new.S))
        self.merge(new)

    def merge(self, other: Self) -> None:
        if not self.n.any():  # a merge with nothing is what is new
            self.n, self.seen = other.n.copy(), other.seen.copy()
            self.mean, self.S = other.mean.copy(), other.S.copy()
            return
        f = shares(self.seen, other.seen)
        d = other.mean - self.mean
        self.S += other.S + self.seen * f * d * d
        self.mean += f * d
        self.seen += other.seen
        self.n = self.n + other.n

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, ColumnMoments)

    def finite(self) -> bool:
        """False if squares or weights have overflowed."""
        return all(np.isfinite(a).all() for a in (self.n, self.mean, self.S))

    def pooled(self) -> "tuple[Floats, Floats, Floats]":
        """Weight, mean and scatter of each column, classes forgotten: (p,) each."""
        total = self.seen.sum(axis=0)
        share = np.divide(self.seen, total, out=np.zeros_like(self.seen), where=total > 0)
        mean = (share * self.mean).sum(axis=0)
        return total, mean, (self.S + self.seen * (self.mean - mean) ** 2).sum(axis=0)

    def without(self, X: Floats, codes: NDArray[Any], w: Floats) -> Self:
        """Of each row (n of them stand for classes), its class's statistics but for w of itself."""
        N, mean, S = self.seen[codes], self.mean[codes], self.S[codes]
        gone = np.where(np.isnan(X), 0.0, w[:, None])
        left = np.maximum(N - gone, 0.0)
        d = np.where(gone > 0, X - mean, 0.0)
        share = np.divide(gone, left, out=np.zeros_like(left), where=left > 0)
        S = np.where(left > 0, np.maximum(S - gone * d * d * (1 + share), 0.0), 0.0)
        return type(self)(np.maximum(self.n[codes] - w, 0.0), left, mean - share * d, S)

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = type(self).start(K, self.mean.shape[1])
        for name in ("n", "seen", "mean", "S"):
            getattr(wide, name)[at] = getattr(self, name)
        return wide
