"""Numbers of no known shape, by the frequencies of bins."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk, refuse_cells
from likelier.families.base import Columns, Floats
from likelier.families.categorical import TINY
from likelier.families.tabled import BinTable, Tabled, with_gap
from likelier.scores import Based, Scores
from likelier.states.bins import Bins
from likelier.states.counts import BinCounts, Sizes


@dataclass(frozen=True)
class Tails(Based):
    """b_k - Σ_j (how far x_j lies beyond the outermost edges) / tail_j: the same for all classes."""

    bins: tuple[Bins, ...]

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        X = chunk.X.to_array()
        refuse_cells(X, gaps=True, first=chunk.first)
        low, high = (np.array([one.edges[end] for one in self.bins]) for end in (0, -1))
        beyond = np.maximum(np.maximum(low - X, X - high), 0) / [one.tail for one in self.bins]
        z = self.b - np.nansum(beyond, axis=1)[:, None]
        Z[...] = Z + z if add else z


@dataclass(frozen=True)
class Histograms(Tabled):
    """p(x_j | C_k) = p(bin | C_k) / width; beyond the outermost edges it falls exponentially.

    The outermost bins weigh so much less between their edges that each has its probability in all. An
    atom has a probability instead: ln p(x) is then that of a mass.
    """

    bins: tuple[Bins, ...]

    @property
    def sizes(self) -> Sizes:
        return np.array([len(one) for one in self.bins], dtype=np.int64)

    def scores(self) -> Scores:
        widths = np.concatenate([np.empty(0), *(one.widths for one in self.bins)])
        density = self._term(self.log_p - np.log(widths)[:, None])
        return Scores((density, Tails(np.zeros(self.shape[0]), self.bins)))

    def discriminants(self) -> Scores | None:
        """Widths and tails are the same for all classes."""
        return Scores((self._term(self.log_p),))

    def _term(self, table: Floats) -> BinTable:
        return BinTable(np.zeros(self.shape[0]), with_gap(table), self.sizes, "missing", self.bins)

    def marginal(self, columns: Columns) -> Self:
        return type(self)(self.of(columns), tuple(self.bins[j] for j in columns))

    def _drawn(self, j: int, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Anywhere between the edges of a bin, or in its tail."""
        bins = self.bins[j]
        left, right, tail = bins.edges[:-1][codes], bins.edges[1:][codes], bins.tail
        below, above = np.where(codes == 0, tail, 0.0), np.where(codes == len(bins) - 1, tail, 0.0)
        u = rng.random(len(codes)) * (below + (right - left) + above) - below
        far = rng.exponential(tail, len(codes))
        x = np.where(u < 0, left - far, np.where(u < right - left, left + u, right + far))
        return np.asarray(np.where(bins.atoms[codes], left, x))

    def _filled(self, j: int, P: Floats) -> Floats:
        return np.asarray(P @ (self._likely(j).T @ self.bins[j].means))


@dataclass(frozen=True)
class Histogram:
    """p(b | C_k) = (N f_kb + α) / (N + α B): frequencies f_kb = N_kb / N_k among B bins of N cells.

    Of N, not of N_k: a bin without rows is then as likely in every class, and speaks for none. (Laplace's
    (N_kb + α) / (N_k + α B) has it speak for the smallest class.)
    """

    bins: tuple[Bins, ...]  # p of them
    alpha: float = 4.0

    def stats(self, K: int, p: int) -> BinCounts:
        return BinCounts.start(K, self.bins)

    def estimate(self, stats: BinCounts) -> Histograms:
        """A class without a cell of a column has the frequencies of all classes."""
        counted = stats.counts
        ends = np.cumsum(counted.sizes)
        tables = []
        for end, size in zip(ends, counted.sizes, strict=True):
            N = counted.counts[end - size : end]  # (B, K)
            pooled = N.sum(axis=1)
            total = pooled.sum()
            every = pooled / total if total > 0 else np.full(size, 1 / size)
            own = N.sum(axis=0)
            f = np.where(own > 0, N / np.where(own > 0, own, 1.0), every[:, None])
            alpha = max(self.alpha, TINY)
            tables.append((total * f + alpha) / (total + alpha * size))
        log_p = np.log(np.concatenate([np.empty((0, len(stats.n))), *tables]))
        return Histograms(log_p, stats.bins)
