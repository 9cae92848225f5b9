"""Truths: columns that are 0 or 1, independent in each class."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from likelier import scores as terms
from likelier.families.base import Columns, Floats, Support
from likelier.families.counts import TINY, AffineColumns, counted, log_of, range_of, ratio
from likelier.scores import Scores
from likelier.states import Sums


@dataclass(frozen=True)
class Bernoullis(AffineColumns):
    """ln p(x | C_k) = Σ_j x_j ln p_kj + (1 - x_j) ln(1 - p_kj).

    With a threshold, x_j stands for 1[x_j > threshold]. Affine in it: W = ln p/(1 - p).
    """

    log_yes: Floats  # (K, p), ln p
    log_no: Floats  # (K, p), ln(1 - p)
    threshold: float | None = None

    @property
    def support(self) -> Support | None:
        return range_of("bernoulli") if self.threshold is None else None

    @property
    def constant(self) -> Floats:
        return np.maximum(self.log_no, np.log(TINY))

    @property
    def W(self) -> Floats:
        return np.asarray(np.maximum(self.log_yes, np.log(TINY)) - self.constant)

    @property
    def expected(self) -> Floats:
        return np.asarray(np.exp(self.log_yes) * self._true)

    @property
    def _true(self) -> float:
        """A value that is above the threshold."""
        return 1.0 if self.threshold is None or self.threshold < 1 else float(np.floor(self.threshold) + 1)

    def _affine(self) -> Scores:
        above = -np.inf if self.threshold is None else self.threshold
        return Scores((terms.Additive(np.zeros(self.shape[0]), self.W, self.constant, above),))

    def each(self, x: Floats) -> Floats:
        return super().each(x if self.threshold is None else np.where(np.isnan(x), x, x > self.threshold))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        drawn = rng.random((len(codes), self.shape[1])) < np.exp(self.log_yes)[codes]
        return np.asarray(drawn * self._true)

    def marginal(self, columns: Columns) -> Self:
        return replace(self, log_yes=self.log_yes[:, columns], log_no=self.log_no[:, columns])


@dataclass(frozen=True)
class Bernoulli:
    """p = (Σx + α) / (n + 2α): as if α rows more were 1 and as many were 0."""

    alpha: float | Floats = 1.0  # or of each column, (p,)
    binarize: float | None = None

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "bernoulli" if self.binarize is None else "numbers", self.binarize)

    def estimate(self, stats: Sums, among: Sums | None = None) -> Bernoullis:
        total, seen = counted(stats)
        whole = seen + 2 * np.asarray(self.alpha)
        yes, no = (ratio(part + self.alpha, whole, 0.5) for part in (total, np.maximum(seen - total, 0.0)))
        return Bernoullis(log_of(yes), log_of(no), self.binarize)
