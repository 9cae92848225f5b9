"""Class moments of rows that are fewer than their columns."""

import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats, rows_that_count
from likelier.data import Chunk
from likelier.states.moments import Moments, Shape, memberships, refuse, shares, weights

LEAST = 64  # columns from which on their scatter is large enough to be put off


@dataclass
class Deviations:
    """Weight n (K,), mean (K, p), and rows D with DᵀD = S, the tied scatter, until they are p; then S.

    Rows of D are √w (x - m_k). A merge adds one for each class, √(n n'/(n + n')) (m_k' - m_k): the last
    term of Chan, Golub & LeVeque (1983). So n < p rows take their own memory, and a scatter of p² cells is
    made only of as many rows, or where it is asked for.
    """

    n: Floats
    mean: Floats
    D: tuple[Floats, ...] = ()  # pieces (m, p), never changed once they are here
    scatter: Floats | None = None  # (p, p)

    @classmethod
    def start(cls, K: int, p: int) -> Self:
        return cls(np.zeros(K), np.zeros((K, p)))

    def __deepcopy__(self, memo: Any) -> Self:
        """Pieces are shared: nobody changes them."""
        return type(self)(self.n.copy(), self.mean.copy(), self.D, copy.copy(self.scatter))

    @property
    def shape(self) -> Shape:
        return "tied"

    @property
    def nbytes(self) -> int:
        """At most: with the scatter."""
        p = self.mean.shape[1]
        return int(self.n.nbytes + self.mean.nbytes + 8 * p * p)

    @property
    def S(self) -> Floats:
        """The scatter (p, p)."""
        if self.scatter is not None:
            return self.scatter
        D = self.rows()
        return np.asarray(D.T @ D)

    def rows(self) -> Floats:
        """D, all pieces in one."""
        if len(self.D) == 1:
            return self.D[0]
        return np.concatenate([np.zeros((0, self.mean.shape[1])), *self.D])

    def update(self, chunk: Chunk) -> None:
        self.merge(self._of(chunk))

    def _of(self, chunk: Chunk) -> "Deviations | Moments":
        """The moments of a chunk alone; of so many rows that a scatter is smaller, with that."""
        assert chunk.y is not None
        (K, p), X, w = self.mean.shape, chunk.X.native(), weights(chunk)
        codes, R = memberships(chunk)
        held = sum(map(len, self.D)) + chunk.X.shape[0]
        if self.scatter is not None or R is not None or held >= p:
            new = Moments.start(K, p, "tied")
            refuse(chunk, _core.moments(X, codes, R, w, True, new.n, new.mean, new.S))
            return new
        n, mean, squares = np.zeros(K), np.zeros((K, p)), np.zeros((K, p))
        refuse(chunk, _core.moments(X, codes, R, w, False, n, mean, squares))
        assert codes is not None
        counts = rows_that_count(codes >= 0, w)
        if not counts.all():
            at = np.flatnonzero(counts)
            chunk, codes = chunk.take(at), codes[at]
            w = None if w is None else w[at]
        D = chunk.X.to_array() - mean[codes]
        if w is not None:
            D *= np.sqrt(w)[:, None]
        return Deviations(n, mean, (D,))

    def merge(self, other: "Deviations | Moments") -> None:
        f = shares(self.n, other.n)
        d = other.mean - self.mean  # (K, p)
        blend = self.n * f  # n n' / (n + n')
        both = blend > 0
        between = np.sqrt(blend[both])[:, None] * d[both]
        D = self.D if isinstance(other, Moments) else (*self.D, *other.D)
        D = (*D, between) if len(between) else D
        kept = self.scatter is None and isinstance(other, Deviations) and other.scatter is None
        if kept and sum(map(len, D)) < d.shape[1]:
            self.D = D
        else:
            S = other.S + between.T @ between
            self.D, self.scatter = (), self.S + S if self.n.any() else S
        self.mean = self.mean + f[:, None] * d
        self.n = self.n + other.n

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, Deviations) or (isinstance(other, Moments) and other.shape == "tied")

    def finite(self) -> bool:
        """False if squares or weights have overflowed."""
        squares = self.squares()
        return all(np.isfinite(a).all() for a in (self.n, self.mean, squares))

    def squares(self) -> Floats:
        """The diagonal of S, (p,)."""
        if self.scatter is not None:
            return np.diagonal(self.scatter)
        return np.asarray(sum((np.einsum("ij,ij->j", D, D) for D in self.D), np.zeros(self.mean.shape[1])))

    def between(self) -> Floats:
        """Σ_k n_k (m_k - m)(m_k - m)ᵀ: the scatter of the class means."""
        return self.moments().between()

    def within(self) -> Floats:
        """The scatter of all rows about their class means."""
        return self.S

    def moments(self) -> Moments:
        """The same with the scatter."""
        return Moments(self.n, self.mean, self.S, "tied")

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = type(self).start(K, self.mean.shape[1])
        wide.n[at], wide.mean[at] = self.n, self.mean
        wide.D, wide.scatter = self.D, copy.copy(self.scatter)
        return wide
