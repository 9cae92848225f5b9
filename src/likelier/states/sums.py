"""Weights and sums by class and column, and logarithms of positive numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import BadCell, Block, Chunk, Dense, NonFinite, OutOfSupport
from likelier.states.moments import ColumnMoments, memberships, shares, weights

# Weights, means and logarithms of positive numbers by class and column, without a difference of logs.

BLOCK = 1 << 14  # cells whose logarithms are taken at once: they stay in the cache
_NEAR = 0.1
_ODD = [1 / k for k in range(17, 2, -2)]  # of artanh's series, from the end


def excess(u: Floats, c: Floats) -> Floats:
    """u/c - 1 - ln(u/c), to full relative accuracy: 0 at u = c, and nowhere else.

    Near c, with d = u/c - 1 and z = d / (2 + d):  d - ln(1 + d) = d z - 2 (z³/3 + z⁵/5 + …).
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        d, ratio = (u - c) / c, u / c
        e = d - np.log(ratio)
        near = np.abs(d) < _NEAR
        if near.any():
            z = d[near] / (2 + d[near])
            e[near] = d[near] * z - 2 * z * z * z * np.polyval(_ODD, z * z)
        tiny = ratio < np.finfo(np.float64).tiny  # the ratio has lost its digits
        if tiny.any():
            u, c = np.broadcast_arrays(u, c)
            e[tiny] = d[tiny] - (np.log(u[tiny]) - np.log(c[tiny]))
    return np.asarray(e)


def blocks(n: int, q: int) -> Iterator[slice]:
    """n rows of q numbers, a few at a time."""
    step = max(1, BLOCK // q)
    return (slice(i, i + step) for i in range(0, n, step))


class Positives(Protocol):
    """How cells become positive numbers, q of them for each row."""

    def width(self, p: int, /) -> int:
        """q, of p columns."""

    def of(self, X: Block, /) -> Floats:
        """(n, q); NaN: missing."""

    def refuse(self, chunk: Chunk, /) -> None:
        """Raise at the first cell of which there is no such number."""


@dataclass
class PositiveMoments:
    """Weight n (K,) of the rows; of positive numbers u, where they are there, weight, mean and gap (K, q).

    gap = Σ w (u/m - 1 - ln u/m) = N (ln m - mean ln u), m the mean: what gamma, beta and Dirichlet
    densities need. Every term is positive, so nothing cancels, however little a column varies.
    merge:  gap += gap' + N excess(m, m*) + N' excess(m', m*),  m* the mean of both (Banerjee et al. 2005,
    for the divergence of Itakura & Saito).
    """

    positives: Positives
    n: Floats
    seen: Floats
    mean: Floats
    gap: Floats

    @classmethod
    def start(cls, K: int, p: int, positives: Positives) -> Self:
        width = positives.width(p)
        return cls(positives, np.zeros(K), *(np.zeros((K, width)) for _ in range(3)))

    @property
    def nbytes(self) -> int:
        return self.n.nbytes + 3 * self.gap.nbytes

    def update(self, chunk: Chunk) -> None:
        chunk = self._counting(chunk)
        U = self.positives.of(chunk.X)
        codes, R = memberships(chunk)
        if codes is not None:
            self.merge(self._of(U, codes, weights(chunk)))
            return
        assert R is not None
        w = R if chunk.w is None else R * chunk.w[:, None]
        for k in range(len(self.n)):
            rows = np.flatnonzero(w[:, k] > 0)
            self.merge(self._of(U[rows], np.full(len(rows), k, dtype=np.int32), w[rows, k]))

    def _counting(self, chunk: Chunk) -> Chunk:
        """The rows that have a label and a weight: what is in others does not matter."""
        assert chunk.y is not None
        counts = np.asarray(chunk.y >= 0 if chunk.y.ndim == 1 else chunk.y.any(axis=1))
        if chunk.w is not None:
            counts = counts & (chunk.w > 0)
        rows = np.flatnonzero(counts)
        some = chunk if len(rows) == len(counts) else chunk.take(rows)
        try:
            self.positives.refuse(some._replace(first=0))
        except BadCell as bad:
            row = chunk.first + int(rows[bad.row])
            raise type(bad)(row, bad.column, bad.value, why=bad.why) from None
        return some

    def _of(self, U: Floats, codes: NDArray[np.int32], w: Floats | None) -> Self:
        """Of rows that all count."""
        K, q = self.mean.shape
        about, E = ColumnMoments.start(K, q), np.empty_like(U)
        about.update(Chunk(Dense(U), codes, w))
        for rows in blocks(len(U), q):
            E[rows] = excess(U[rows], about.mean[codes[rows]])
        sums = ColumnMoments.start(K, q)
        sums.update(Chunk(Dense(E), codes, w))
        return replace(self, n=about.n, seen=about.seen, mean=about.mean, gap=sums.mean * sums.seen)

    def merge(self, other: Self) -> None:
        if not self.n.any():  # a merge with nothing is what is new
            self.n, self.seen = other.n.copy(), other.seen.copy()
            self.mean, self.gap = other.mean.copy(), other.gap.copy()
            return
        mean = self.mean + shares(self.seen, other.seen) * (other.mean - self.mean)
        self.gap += other.gap + (_between(self, mean) + _between(other, mean))
        self.mean, self.seen, self.n = mean, self.seen + other.seen, self.n + other.n

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, PositiveMoments) and self.positives == other.positives

    def finite(self) -> bool:
        """False if sums or weights have overflowed."""
        return all(np.isfinite(a).all() for a in (self.n, self.mean, self.gap))

    def pooled(self) -> Self:
        """The same, classes forgotten: K = 1."""
        seen = self.seen.sum(axis=0)
        share = np.divide(self.seen, seen, out=np.zeros_like(self.seen), where=seen > 0)
        mean = (share * self.mean).sum(axis=0)
        gap = (self.gap + _between(self, mean[None])).sum(axis=0)
        return replace(self, n=self.n.sum()[None], seen=seen[None], mean=mean[None], gap=gap[None])

    def without(self, X: Floats, codes: NDArray[Any], w: Floats) -> Self:
        """Of each row (n of them stand for classes), its class's statistics but for w of itself."""
        U, N, mean, gap = self.positives.of(Dense(X)), self.seen[codes], self.mean[codes], self.gap[codes]
        gone = np.where(np.isnan(U), 0.0, w[:, None])
        left = np.maximum(N - gone, 0.0)
        U = np.where(gone > 0, U, mean)
        share = np.divide(gone, left, out=np.zeros_like(left), where=left > 0)
        m = np.where(left > 0, np.maximum(mean - share * (U - mean), np.finfo(np.float64).tiny), mean)
        mean = np.where(mean > 0, mean, 1.0)  # no number is there
        m = np.where(m > 0, m, 1.0)
        gap = np.where(
            left > 0, gap - gone * excess(np.where(U > 0, U, 1.0), mean) - left * excess(m, mean), 0.0
        )
        n = np.maximum(self.n[codes] - w, 0.0)
        return replace(self, n=n, seen=left, mean=m, gap=np.maximum(gap, 0.0))

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = type(self)(self.positives, np.zeros(K), *np.zeros((3, K, self.mean.shape[1])))
        for name in ("n", "seen", "mean", "gap"):
            getattr(wide, name)[at] = getattr(self, name)
        return wide


def _between(state: PositiveMoments, mean: Floats) -> Floats:
    """What a state's numbers are farther from other means than from their own: N excess(m, m*)."""
    seen = state.seen > 0
    return state.seen * excess(np.where(seen, state.mean, 1.0), np.where(seen, mean, 1.0))


# Weights and sums by class and column.


class Rule(NamedTuple):
    """Which values are summed: from low to high, both included; whole: whole numbers only."""

    values: str  # in words
    low: float = 0.0
    high: float = np.inf
    whole: bool = False


# By family. Each rule allows 0: what a sparse matrix does not store need not be looked at.
RULES = {
    "numbers": Rule("finite numbers", low=-np.inf),
    "bernoulli": Rule("0 and 1 (or any numbers, with binarize)", high=1.0, whole=True),
    "multinomial": Rule("counts, which are 0 or more"),
    "complement": Rule("counts, which are 0 or more"),
    "poisson": Rule("whole numbers from 0 on", whole=True),
    "geometric": Rule("whole numbers from 0 on", whole=True),
    "exponential": Rule("numbers from 0 on"),
}


@dataclass
class Sums:
    """Weight n (K,) of the rows, Σ w x (K, p), and the weight of missing cells, once there is one.

    With a threshold t it is Σ w 1[x > t]. Sums of whole numbers are exact below 2^53.
    """

    n: Floats
    total: Floats
    gone: Floats | None = None  # None: no cell is missing
    rule: str = "numbers"
    threshold: float | None = None

    @classmethod
    def start(cls, K: int, p: int, rule: str = "numbers", threshold: float | None = None) -> Self:
        return cls(np.zeros(K), np.zeros((K, p)), None, rule, threshold)

    @property
    def nbytes(self) -> int:
        return self.n.nbytes + self.total.nbytes + (0 if self.gone is None else self.gone.nbytes)

    def update(self, chunk: Chunk) -> None:
        """A second reading, if a cell is missing: most rows need no room for that."""
        new = self._empty()
        where = new._add(chunk)
        if where is not None and np.isnan(chunk.X.cell(*where)):
            new = self._empty()
            new.gone = np.zeros_like(new.total)
            where = new._add(chunk)
        if where is not None:
            self._refuse(chunk, *where)
        if new.gone is not None and not new.gone.any():
            new.gone = None
        if self.n.any():
            self.merge(new)
        else:  # a merge with nothing is what is new
            self.n, self.total, self.gone = new.n, new.total, new.gone

    def _empty(self) -> Self:
        K, p = self.total.shape
        return type(self).start(K, p, self.rule, self.threshold)

    def _add(self, chunk: Chunk) -> tuple[int, int] | None:
        codes, R = memberships(chunk)
        rule, threshold = RULES[self.rule], -np.inf if self.threshold is None else self.threshold
        how = (rule.low, rule.high), rule.whole, threshold
        held = self.n, self.total, self.gone
        w = weights(chunk)
        return _core.sums(chunk.X.native(), codes, R, w, *how, *held)

    def _refuse(self, chunk: Chunk, row: int, column: int) -> None:
        value = chunk.X.cell(row, column)
        if np.isinf(value):
            raise NonFinite(chunk.first + row, column, value)
        why = f"{self.rule} takes {RULES[self.rule].values}"
        raise OutOfSupport(chunk.first + row, column, value, why=why)

    def merge(self, other: Self) -> None:
        self.total += other.total
        self.n = self.n + other.n
        if other.gone is not None:
            self.gone = other.gone.copy() if self.gone is None else self.gone + other.gone

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, Sums) and (self.rule, self.threshold) == (other.rule, other.threshold)

    def finite(self) -> bool:
        """False if sums or weights have overflowed."""
        return all(np.isfinite(a).all() for a in (self.n, self.total, self.gone) if a is not None)

    def seen(self) -> Floats:
        """The weight of the cells that are there: (K, p), or (K, 1) if that is all of them."""
        n = self.n[:, None]
        return n if self.gone is None else np.asarray(np.maximum(n - self.gone, 0.0))

    def without(self, X: Floats, codes: NDArray[Any], w: Floats) -> Self:
        """Of each row (n of them stand for classes), its class's statistics but for w of itself."""
        missing = np.isnan(X)
        counted = X if self.threshold is None else X > self.threshold
        total = self.total[codes] - np.where(missing, 0.0, counted) * w[:, None]
        gone = None
        if self.gone is not None:
            gone = np.maximum(self.gone[codes] - missing * w[:, None], 0.0)
        total = np.maximum(total, RULES[self.rule].low)  # rounding must not lead out of the support
        return replace(self, n=np.maximum(self.n[codes] - w, 0.0), total=total, gone=gone)

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = type(self).start(K, self.total.shape[1], self.rule, self.threshold)
        wide.n[at], wide.total[at] = self.n, self.total
        if self.gone is not None:
            wide.gone = np.zeros_like(wide.total)
            wide.gone[at] = self.gone
        return wide
