"""Moments up to the fourth order, for shrinkage that estimates its own strength."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Chunk
from likelier.states.moments import Floats, memberships, refuse, shares, weights


@dataclass
class HigherMoments:
    """n (K,), mean (K, p), and about it S = Σ c cᵀ, T = Σ c² cᵀ, Q = Σ c² (c²)ᵀ, each (K, p, p).

    c² is taken column by column: T_ij = Σ c_i² c_j. Ledoit & Wolf (2004) need Q beyond S; Q cannot be
    moved to another mean without T.
    """

    n: Floats
    mean: Floats
    S: Floats
    T: Floats
    Q: Floats

    @classmethod
    def start(cls, K: int, p: int) -> Self:
        return cls(np.zeros(K), np.zeros((K, p)), *(np.zeros((K, p, p)) for _ in range(3)))

    @property
    def nbytes(self) -> int:
        return self.n.nbytes + self.mean.nbytes + 3 * self.S.nbytes

    def update(self, chunk: Chunk) -> None:
        K, p = self.mean.shape
        new = type(self).start(K, p)
        X, (codes, R), w = chunk.X.native(), memberships(chunk), weights(chunk)
        # Two readings of the chunk: the means first, so that the higher orders are centred on them.
        refuse(chunk, _core.moments(X, codes, R, w, False, new.n, new.mean, new.S))
        _core.higher_moments(X, codes, R, w, new.mean, new.T, new.Q)
        self.merge(new)

    def merge(self, other: Self) -> None:
        mean = self.mean + shares(self.n, other.n)[:, None] * (other.mean - self.mean)
        a, b = self._about(mean), other._about(mean)
        self.mean = mean
        self.n = self.n + other.n
        self.S, self.T, self.Q = a.S + b.S, a.T + b.T, a.Q + b.Q

    def _about(self, mean: Floats) -> Self:
        """The same sums about another point: c + d, d = our mean - `mean`, expanded."""
        d = self.mean - mean
        di, dj = d[:, :, None], d[:, None, :]
        n = self.n[:, None, None]
        v = np.einsum("kii->ki", self.S)
        vi, vj = v[:, :, None], v[:, None, :]
        Tt = self.T.transpose(0, 2, 1)
        S = self.S + n * di * dj
        T = self.T + dj * vi + 2 * di * self.S + n * di**2 * dj
        Q = self.Q + 2 * dj * self.T + 2 * di * Tt + dj**2 * vi + di**2 * vj
        Q += 4 * di * dj * self.S + n * di**2 * dj**2
        return type(self)(self.n, mean, S, T, Q)

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, HigherMoments)

    def finite(self) -> bool:
        """False if fourth powers or weights have overflowed."""
        return all(np.isfinite(a).all() for a in (self.n, self.mean, self.S, self.T, self.Q))

    def pooled(self) -> Self:
        """All classes as one."""
        total = type(self).start(1, self.mean.shape[1])
        for k in range(len(self.n)):
            at = slice(k, k + 1)
            total.merge(type(self)(self.n[at], self.mean[at], self.S[at], self.T[at], self.Q[at]))
        return total

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = type(self).start(K, self.mean.shape[1])
        for name in ("n", "mean", "S", "T", "Q"):
            getattr(wide, name)[at] = getattr(self, name)
        return wide
