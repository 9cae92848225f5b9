"""Gaussian classes with independent columns, and what all Gaussian classes share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likelier import scores as terms
from likelier.families.base import (
    Columns,
    Conditioned,
    Floats,
    Params,
    Support,
    given_and_rest,
    log_density,
)
from likelier.families.independent import Independent
from likelier.scores import Scores
from likelier.states import ColumnMoments

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Gaussian(ABC):
    """N(x; m_k, ·): means, and what follows from a subclass's covariances."""

    mean: Floats  # (K, p)

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.mean.shape
        return K, p

    @property
    def support(self) -> Support | None:
        return None

    @property
    @abstractmethod
    def free(self) -> int: ...

    def discriminants(self) -> Scores | None:
        return None

    @abstractmethod
    def scores(self) -> Scores: ...

    @abstractmethod
    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats: ...

    @abstractmethod
    def marginal(self, columns: Columns) -> Params: ...

    @abstractmethod
    def fill(self, X: Floats, P: Floats) -> Floats: ...

    @abstractmethod
    def _rest(self, rest: Columns, given: Columns, values: Floats) -> Params: ...

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        columns, values, rest = given_and_rest(given, self.shape[1])
        if len(columns) == 0:
            return Conditioned(self, np.zeros(self.shape[0]))
        seen = log_density(self.marginal(columns), values)
        return Conditioned(self._rest(rest, columns, values), seen)


@dataclass(frozen=True)
class Diagonal(Independent):
    """N(x_j; m_kj, v_kj) for every column j."""

    mean: Floats  # (K, p)
    var: Floats  # (K, p)

    @property
    def expected(self) -> Floats:
        return self.mean

    def scores(self) -> Scores:
        scale = 1 / np.sqrt(self.var)
        constant = np.log(scale) - 0.5 * LOG_2PI
        gaps = terms.DiagonalGaps(np.zeros(self.shape[0]), self.mean, scale, constant)
        return Scores((terms.Diagonal(constant.sum(axis=1), self.mean, scale),), gaps)

    def each(self, x: Floats) -> Floats:
        z = ((x - self.mean) / np.sqrt(self.var)) ** 2
        return np.asarray(-0.5 * (z + np.log(self.var) + LOG_2PI))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal((len(codes), self.shape[1]))
        return np.asarray(self.mean[codes] + np.sqrt(self.var[codes]) * noise)


@dataclass(frozen=True)
class DiagonalGaussian:
    """Means and variances by class; to each variance is added a share of the largest one of all rows.

    With `lent` rows, v_k = (1 + 1/N_k) (S_k + lent v) / (N_k - 1 + lent): the variance of a further row of
    the class, its mean known from N_k rows, its variance from these and from `lent` rows that vary by v, as
    all classes do about their means. Of a class of one row this is 2 v. (The predictive density under a
    conjugate prior, with a Gaussian of its spread for Student's t: Gelman et al. 2013, 3.3.)
    """

    var_smoothing: float = 1e-9
    by_column: bool = False  # a share of each column's own variance instead
    lent: float = 0.0
    unit: float = 1.0  # the weight of a row

    def stats(self, K: int, p: int) -> ColumnMoments:
        return ColumnMoments.start(K, p)

    def floor(self, stats: ColumnMoments) -> float | Floats:
        """var_smoothing times the largest column variance of all rows (1 if all columns are constant)."""
        total, _, S = stats.pooled()
        return self._floor(total, S)

    def _floor(self, total: Floats, S: Floats) -> float | Floats:
        """The same from the weight and scatter of each column."""
        var = np.divide(S, total, out=np.zeros_like(S), where=total > 0)
        if self.by_column:
            return np.asarray(self.var_smoothing * np.where(var > 0, var, 1.0))
        top = float(var.max())
        return self.var_smoothing * (top if top > 0 else 1.0)

    def estimate(self, stats: ColumnMoments, among: ColumnMoments | None = None) -> Diagonal:
        """A class without a cell of a column has that of all classes: it says nothing of the class.

        among: the statistics of all classes, if `stats` are not.
        """
        among = stats if among is None else among
        total, pooled, S = among.pooled()
        spread = np.divide(S, total, out=np.ones_like(S), where=total > 0)
        seen = stats.seen > 0
        mean = np.where(seen, stats.mean, pooled)
        N = np.where(seen, stats.seen, 1.0)
        own = stats.S / N
        if self.lent:
            v = within(among, spread, self.unit)
            own = predictive(stats.S, N, self.lent * self.unit, v, self.unit)
        var = np.where(seen, own, spread) + self._floor(total, S)
        return Diagonal(mean, above_nothing(var, spread))  # without smoothing it may be 0


def within(stats: ColumnMoments, spread: Floats, unit: float = 1.0) -> Floats:
    """The variance within classes (p,), about their own means, with `spread`, that of all rows, for a row.

    So few rows as classes, or classes that do not vary at all, leave what is known: how all rows vary.
    """
    free = np.maximum(stats.seen - unit, 0.0).sum(axis=0)
    return np.asarray((stats.S.sum(axis=0) + unit * spread) / (free + unit))


def predictive(S: Floats, N: Floats, lent: float, v: Floats, unit: float = 1.0) -> Floats:
    """How a further row varies about the mean of rows of weight N and scatter S; `lent` rows vary by v."""
    N = np.maximum(N, unit)
    return np.asarray((1 + unit / N) * (S + lent * v) / (N - unit + lent))


def above_nothing(var: Floats, spread: Floats) -> Floats:
    """Variances (K, p) above 0: at least 1e-150 of the variance (p,) of all rows in the column."""
    least = 1e-150 * np.where(spread > 0, spread, 1.0)
    return np.maximum(var, np.maximum(least, np.finfo(np.float64).tiny))
