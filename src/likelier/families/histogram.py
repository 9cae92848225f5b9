"""Numbers of no known shape, by the frequencies of bins."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk, refuse_cells
from likelier.families.base import Columns, Floats
from likelier.families.categorical import TINY
from likelier.families.tabled import BinTable, Tabled, Tally, tallies, with_gap
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
    """p(b | C_k) = (N f_kb + α) / (N + α B): frequencies f_kb among B bins of N cells.

    f_kb = (N_kb + lent f_b) / (N_k + lent), as if each class had besides its own rows `lent` rows more like
    those of all classes, f_b = Σ_k N_kb / N: of a class of one or two rows little else is known. Of N, not
    of N_k: a bin without rows is then as likely in every class, and speaks for none. (Laplace's
    (N_kb + α) / (N_k + α B) has it speak for the smallest class.)
    """

    bins: tuple[Bins, ...]  # p of them
    alpha: float = 4.0
    lent: float = 0.0

    def stats(self, K: int, p: int) -> BinCounts:
        return BinCounts.start(K, self.bins)

    def probability(self, own: Tally, every: Tally, size: NDArray[Any]) -> Floats:
        """A class without a cell of a column has the frequencies of all classes."""
        some, there = every.total > 0, own.total + self.lent > 0
        of_all = np.divide(every.count, every.total, out=np.zeros(every.count.shape), where=some)
        f = (own.count + self.lent * of_all) / np.where(there, own.total + self.lent, 1.0)
        f = np.where(there & some, f, of_all)
        alpha = max(self.alpha, TINY)
        return np.asarray((every.total * f + alpha) / (every.total + alpha * size))

    def estimate(self, stats: BinCounts) -> Histograms:
        sizes = stats.counts.sizes
        own, every = tallies(stats.counts.counts, sizes)
        return Histograms(
            np.log(self.probability(own, every, np.repeat(sizes, sizes)[:, None])), stats.bins
        )
