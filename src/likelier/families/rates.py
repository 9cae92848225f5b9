"""Counts and waiting times: Poisson, geometric and exponential columns, independent in each class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from likelier import scores as terms
from likelier.families.base import Floats
from likelier.families.counts import AffineColumns, Factorials, counted, ratio
from likelier.states import Sums

LEAST = 1e-150  # of a rate or a mean: neither it nor its inverse overflows


@dataclass(frozen=True)
class Poissons(AffineColumns):
    """ln p(x | C_k) = Σ_j x_j ln λ_kj - λ_kj - ln x_j!."""

    rule = "poisson"

    rate: Floats  # (K, p), λ

    @property
    def constant(self) -> Floats:
        return -self.rate

    @property
    def W(self) -> Floats:
        return np.asarray(np.log(self.rate))

    @property
    def expected(self) -> Floats:
        return self.rate

    def base(self) -> terms.Term | None:
        return Factorials(np.zeros(self.shape[0]))

    def each(self, x: Floats) -> Floats:
        return np.asarray(super().each(x) - gammaln(x + 1))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return rng.poisson(self.rate[codes]).astype(np.float64)


@dataclass(frozen=True)
class Poisson:
    """λ_k = (Σx + α m) / (n + α): α rows more, of the mean m = (Σx + α) / (n + α) over all classes.

    The mean of a gamma posterior (shape α m, rate α a priori): a rate is 0 only if α is, and then it is
    taken for a very small one.
    """

    alpha: float | Floats = 1.0  # or of each column, (p,)

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "poisson")

    def estimate(self, stats: Sums, among: Sums | None = None) -> Poissons:
        (total, seen), every = counted(stats), stats if among is None else among
        of_all = ratio(every.total.sum(axis=0) + self.alpha, every.seen().sum(axis=0) + self.alpha, 1.0)
        rate = ratio(total + self.alpha * of_all, seen + np.asarray(self.alpha), 1.0)
        return Poissons(np.maximum(rate, LEAST))


@dataclass(frozen=True)
class Geometrics(AffineColumns):
    """p(x_j | C_k) = q_kj (1 - q_kj)^x_j: how often nothing happens before something does."""

    rule = "geometric"

    odds: Floats  # (K, p), (1 - q)/q: the mean

    @property
    def constant(self) -> Floats:
        return -np.log1p(self.odds)

    @property
    def W(self) -> Floats:
        return -np.log1p(1 / self.odds)

    @property
    def expected(self) -> Floats:
        return self.odds

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return rng.geometric(1 / (1 + self.odds[codes])).astype(np.float64) - 1


@dataclass(frozen=True)
class Geometric:
    """q = (n + α) / (n + Σx + 2α), the mean of a beta posterior: as if α rows more had been 1 each."""

    alpha: float = 1.0

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "geometric")

    def estimate(self, stats: Sums, among: Sums | None = None) -> Geometrics:
        total, seen = counted(stats)
        return Geometrics(np.maximum(ratio(total + self.alpha, seen + self.alpha, 1.0), LEAST))


@dataclass(frozen=True)
class Exponentials(AffineColumns):
    """ln p(x | C_k) = Σ_j -ln m_kj - x_j / m_kj."""

    rule = "exponential"

    mean: Floats  # (K, p)

    @property
    def constant(self) -> Floats:
        return -np.log(self.mean)

    @property
    def W(self) -> Floats:
        return -1 / self.mean

    @property
    def expected(self) -> Floats:
        return self.mean

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return rng.exponential(self.mean[codes])


@dataclass(frozen=True)
class Exponential:
    """m_k = (Σx + α m) / (n + α): α rows more, of the mean m over all classes."""

    alpha: float = 1.0

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "exponential")

    def estimate(self, stats: Sums, among: Sums | None = None) -> Exponentials:
        (total, seen), every = counted(stats), stats if among is None else among
        of_all = ratio(every.total.sum(axis=0), every.seen().sum(axis=0), 1.0)
        mean = ratio(total + self.alpha * of_all, seen + self.alpha, 1.0)
        # In units of the column. (A mean below 1e-307 would have an inverse that overflows.)
        least = LEAST * np.where(of_all > 0, of_all, 1.0)
        return Exponentials(np.maximum(mean, np.maximum(least, 1e-307)))
