"""Weights, means and central scatter by class."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Chunk, NonFinite

Shape = Literal["full", "tied"]
Floats = NDArray[np.float64]


def memberships(chunk: Chunk) -> tuple[NDArray[np.int32] | None, Floats | None]:
    """(codes, None) for hard labels, (None, R) for soft ones: as the kernels take them."""
    assert chunk.y is not None
    if chunk.y.ndim == 2:
        return None, np.ascontiguousarray(chunk.y, dtype=np.float64)
    return np.ascontiguousarray(chunk.y, dtype=np.int32), None


def weights(chunk: Chunk) -> Floats | None:
    """As the kernels take them; None: all 1."""
    return None if chunk.w is None else np.ascontiguousarray(chunk.w, dtype=np.float64)


def refuse(chunk: Chunk, where: tuple[int, int] | None) -> None:
    """Raise if a kernel met a cell that is not finite."""
    if where is not None:
        row, column = where
        raise NonFinite(chunk.first + row, column, chunk.X.cell(row, column))


def shares(n: Floats, other: Floats) -> Floats:
    """n' / (n + n'), 0 where both are 0."""
    total = n + other
    return np.divide(other, total, out=np.zeros_like(total), where=total > 0)


@dataclass
class Moments:
    """Weight n (K,), mean (K, p) and central scatter S: (K, p, p) or, tied, (p, p).

    merge:  d = mean' - mean,  S += S' + d dᵀ n n'/(n + n'),  mean += d n'/(n + n')
    (Chan, Golub & LeVeque 1983). Tied: the scatters of all classes, each about its own mean, added up.
    """

    n: Floats
    mean: Floats
    S: Floats
    shape: Shape

    @classmethod
    def start(cls, K: int, p: int, shape: Shape) -> Self:
        S = np.zeros((p, p) if shape == "tied" else (K, p, p))
        return cls(np.zeros(K), np.zeros((K, p)), S, shape)

    @property
    def nbytes(self) -> int:
        return self.n.nbytes + self.mean.nbytes + self.S.nbytes

    def update(self, chunk: Chunk) -> None:
        K, p = self.mean.shape
        new = type(self).start(K, p, self.shape)
        codes, R = memberships(chunk)
        X, tied = chunk.X.native(), self.shape == "tied"
        refuse(chunk, _core.moments(X, codes, R, weights(chunk), tied, new.n, new.mean, new.S))
        if self.n.any():
            self.merge(new)
        else:  # a merge with nothing is what is new
            self.n, self.mean, self.S = new.n, new.mean, new.S

    def merge(self, other: Any) -> None:
        f = shares(self.n, other.n)
        d = other.mean - self.mean  # (K, p)
        blend = self.n * f  # n n' / (n + n')
        self.S += other.S
        if self.shape == "tied":
            self.S += (blend[:, None] * d).T @ d
        else:
            self.S += (blend[:, None] * d)[:, :, None] * d[:, None, :]
        self.mean += f[:, None] * d
        self.n = self.n + other.n

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, Moments) and self.shape == other.shape

    def finite(self) -> bool:
        """False if squares or weights have overflowed: no product is larger than both squares."""
        squares = np.diagonal(self.S, axis1=-2, axis2=-1)
        return all(np.isfinite(a).all() for a in (self.n, self.mean, squares))

    def between(self) -> Floats:
        """Σ_k n_k (m_k - m)(m_k - m)ᵀ: the scatter of the class means."""
        total = self.n.sum()
        d = self.mean - (self.n / total if total > 0 else self.n) @ self.mean
        return np.asarray((self.n[:, None] * d).T @ d)

    def within(self) -> Floats:
        """The scatter of all rows about their class means."""
        return self.S if self.shape == "tied" else np.asarray(self.S.sum(axis=0))

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = type(self).start(K, self.mean.shape[1], self.shape)
        wide.n[at], wide.mean[at] = self.n, self.mean
        if self.shape == "tied":
            wide.S[...] = self.S
        else:
            wide.S[at] = self.S
        return wide
