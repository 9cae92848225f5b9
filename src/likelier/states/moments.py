"""Moments of rows by class: weight, mean and scatter, up to the fourth order, or as rows while few."""

import copy
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats, rows_that_count
from likelier.data import Chunk, NonFinite

# Weights, means and central scatter by class.

Shape = Literal["full", "tied"]


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


# Weights, means and variances by class and column, of the cells that are there.


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
        (codes, R), w = memberships(chunk), weights(chunk)
        new, X = type(self).start(K, p), chunk.X.native()
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


# Moments up to the fourth order, for shrinkage that estimates its own strength.


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


# Class moments of rows that are fewer than their columns.

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
