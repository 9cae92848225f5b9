"""Categories, by their frequencies."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.families.base import Columns, Floats, Support
from likelier.families.tabled import Codes, Table, Tabled, Tally, tallies, with_gap
from likelier.scores import Scores
from likelier.states.counts import Beyond, Counts, Sizes, resized

TINY = 1e-300  # a pseudo-count that no frequency notices, and that has a logarithm


@dataclass(frozen=True)
class Categories(Tabled):
    """p(x_j = l | C_k). With `unknown`, the last of each column stands for all codes from there on.

    Without, such codes say nothing of the class.
    """

    levels: Sizes  # (p,): how many probabilities each column has
    unknown: bool

    @property
    def sizes(self) -> Sizes:
        return self.levels

    @property
    def support(self) -> Support | None:
        return Codes()

    @property
    def _beyond(self) -> Beyond:
        return "last" if self.unknown else "missing"

    def scores(self) -> Scores:
        zero = np.zeros(self.shape[0])
        return Scores((Table(zero, with_gap(self.log_p), self.levels, self._beyond),))

    def discriminants(self) -> Scores | None:
        return None

    def marginal(self, columns: Columns) -> Self:
        return type(self)(self.of(columns), self.levels[columns], self.unknown)

    def _likely(self, j: int) -> Floats:
        """The unknown category is drawn never: it has no value."""
        likely = super()._likely(j)
        if self.unknown and len(likely) > 1:
            likely[-1] = 0
        return likely

    def _drawn(self, j: int, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return codes.astype(np.float64)

    def _filled(self, j: int, P: Floats) -> Floats:
        """The likeliest."""
        return np.asarray(np.argmax(P @ self._likely(j).T, axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Categorical:
    """p(x_j = l | C_k) = (N_kl + α) / (N_k + α L), with N_k cells that are there (Laplace).

    sizes: how many categories each column has; None: as many as were met, at least `least`. With
    `unknown`, all codes from there on are one category more, so that probability is kept for it.
    """

    sizes: Any  # (p,) or None
    alpha: float = 1.0
    unknown: bool = True
    least: Any = 0

    def stats(self, K: int, p: int) -> Counts:
        if self.sizes is None:
            return Counts.growing(K, p)
        held = np.broadcast_to(np.asarray(self.sizes, dtype=np.int64), (p,))
        return Counts.start(K, held + 1, "last") if self.unknown else Counts.start(K, held)

    def probability(self, own: Tally, every: Tally, size: NDArray[Any]) -> Floats:
        """A class without a cell of a column has the frequencies of all classes."""
        alpha, blank = max(self.alpha, TINY), own.total <= 0
        count, total = np.where(blank, every.count, own.count), np.where(blank, every.total, own.total)
        return np.asarray((count + alpha) / (total + alpha * size))

    def estimate(self, stats: Counts) -> Categories:
        """A class without any rows takes all categories for equally likely."""
        sizes = np.maximum(stats.sizes, np.maximum(self.least, 1)).astype(np.int64)
        own, every = tallies(resized(stats.counts, stats.sizes, sizes), sizes)
        size = np.repeat(sizes, sizes)[:, None]
        p = np.where(stats.n > 0, self.probability(own, every, size), 1 / size)
        return Categories(np.log(p), sizes, stats.beyond == "last")
