"""Gaussian classes: independent columns, one covariance for all classes, or one for each."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likelier import scores as terms
from likelier.data import Chunk, Dense
from likelier.families.base import Columns, Conditioned, Floats, Params
from likelier.families.covariance import (
    Factors,
    exceeds,
    factors,
    ledoit_wolf,
    lifted,
    regress,
    shrunk,
    upper_whitenings,
)
from likelier.scores import Scores
from likelier.states import HigherMoments, Moments

LOG_2PI = float(np.log(2 * np.pi))
Shrinkage = float | Literal["auto"] | None


def log_density(params: Params, x: Floats) -> Floats:
    """ln p(x | C_k) (K,) of one row."""
    Z = np.empty((1, params.shape[0]))
    params.scores().write(Chunk(Dense(x[None, :])), Z)
    return np.asarray(Z[0])


@dataclass(frozen=True)
class _Gaussian(ABC):
    mean: Floats  # (K, p)

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.mean.shape
        return K, p

    @abstractmethod
    def scores(self) -> Scores: ...

    @abstractmethod
    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats: ...

    @abstractmethod
    def marginal(self, columns: Columns) -> Params: ...

    @abstractmethod
    def _rest(self, rest: Columns, given: Columns, values: Floats) -> Params: ...

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        if not given:
            return Conditioned(self, np.zeros(self.shape[0]))
        columns = np.array(list(given), dtype=np.intp)
        values = np.array(list(given.values()), dtype=np.float64)
        rest = np.setdiff1d(np.arange(self.shape[1]), columns)
        seen = log_density(self.marginal(columns), values)
        return Conditioned(self._rest(rest, columns, values), seen)


# ---- independent columns -------------------------------------------------------------------------
@dataclass(frozen=True)
class Diagonal(_Gaussian):
    """N(x_j; m_kj, v_kj) for every column j."""

    var: Floats  # (K, p)

    def scores(self) -> Scores:
        scale = 1 / np.sqrt(self.var)
        b = np.log(scale).sum(axis=1) - 0.5 * self.shape[1] * LOG_2PI
        return Scores((terms.Diagonal(b, self.mean, scale),))

    def parts(self, X: Floats) -> Floats:
        """ln p(x_j | C_k), column by column: (n, K, p)."""
        z = (X[:, None, :] - self.mean) ** 2 / self.var
        return np.asarray(-0.5 * (z + np.log(self.var) + LOG_2PI))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal((len(codes), self.shape[1]))
        return np.asarray(self.mean[codes] + np.sqrt(self.var[codes]) * noise)

    def marginal(self, columns: Columns) -> "Diagonal":
        return Diagonal(self.mean[:, columns], self.var[:, columns])

    def _rest(self, rest: Columns, given: Columns, values: Floats) -> "Diagonal":
        return self.marginal(rest)


@dataclass(frozen=True)
class DiagonalGaussian:
    """Means and variances by class; to each variance is added a share of the largest one of all rows."""

    var_smoothing: float = 1e-9

    def stats(self, K: int, p: int) -> Moments:
        return Moments.start(K, p, "diagonal")

    def floor(self, stats: Moments) -> float:
        """var_smoothing times the largest column variance of all rows (1 if all columns are constant)."""
        total = stats.n.sum()
        if total == 0:
            return self.var_smoothing
        top = float((stats.within() + stats.between()).max() / total)
        return self.var_smoothing * (top if top > 0 else 1.0)

    def estimate(self, stats: Moments) -> Diagonal:
        n = np.where(stats.n > 0, stats.n, 1.0)
        var = stats.S / n[:, None] + self.floor(stats)
        return Diagonal(stats.mean.copy(), np.maximum(var, 1e-150))  # without smoothing it may be 0


# ---- one covariance for all ----------------------------------------------------------------------
@dataclass(frozen=True)
class Tied(_Gaussian):
    """N(x; m_k, Σ). Directions in which Σ vanishes are left out: the density is on the others."""

    cov: Floats  # (p, p)
    tol: float = 1e-7  # smallest standard deviation, of standardised columns, that counts

    @cached_property
    def _factors(self) -> Factors:
        return factors(self.cov, self.tol)

    @property
    def whitening(self) -> Floats:
        """A (r, p) with A Σ Aᵀ = I."""
        return self._factors.A

    def scores(self) -> Scores:
        (A, _, log_det), shift = self._factors, self.mean.mean(axis=0)
        b = np.full(self.shape[0], -0.5 * (log_det + len(A) * LOG_2PI))
        return Scores((terms.Whitened(b, A, shift, (self.mean - shift) @ A.T),))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        F = self._factors.F
        return np.asarray(self.mean[codes] + rng.standard_normal((len(codes), F.shape[1])) @ F.T)

    def marginal(self, columns: Columns) -> "Tied":
        return Tied(self.mean[:, columns], self.cov[np.ix_(columns, columns)], self.tol)

    def _rest(self, rest: Columns, given: Columns, values: Floats) -> "Tied":
        gain, cov = regress(self.cov, rest, given, self.tol)
        return Tied(self.mean[:, rest] + (values - self.mean[:, given]) @ gain.T, cov, self.tol)


@dataclass(frozen=True)
class TiedGaussian:
    """Means by class, one covariance: Σ_k weight_k Σ_k, each Σ_k shrunk.

    weights: None stands for the classes' own shares. Ledoit-Wolf ("auto") and other weights need a
    scatter per class; all else is linear in Σ_k, and one scatter does.
    """

    shrinkage: Shrinkage = None
    weights: Floats | None = None  # (K,), sum 1
    tol: float = 1e-7
    by_class: bool = False  # keep a scatter per class in any case

    def stats(self, K: int, p: int) -> Moments | HigherMoments:
        if self.shrinkage == "auto":
            return HigherMoments.start(K, p)
        tied = self.weights is None and not self.by_class
        return Moments.start(K, p, "tied" if tied else "full")

    def estimate(self, stats: Moments | HigherMoments) -> Tied:
        return Tied(stats.mean.copy(), self.within(stats), self.tol)

    def within(self, stats: Moments | HigherMoments) -> Floats:
        """The covariance of rows about their class means."""
        weights = stats.n / stats.n.sum() if self.weights is None else self.weights
        if isinstance(stats, HigherMoments):
            return np.asarray(np.tensordot(weights, ledoit_wolf(stats), axes=1))
        if stats.shape == "tied":
            cov = stats.S / stats.n.sum()
        else:
            share = np.divide(weights, stats.n, out=np.zeros_like(stats.n), where=stats.n > 0)
            cov = np.tensordot(share, stats.S, axes=1)
        return cov if self.shrinkage is None else shrunk(cov, float(self.shrinkage))

    def total(self, stats: Moments | HigherMoments) -> Floats:
        """The covariance of all rows, classes forgotten, shrunk in the same way."""
        if isinstance(stats, HigherMoments):
            return np.asarray(ledoit_wolf(stats.pooled())[0])
        cov = (stats.within() + stats.between()) / stats.n.sum()
        return cov if self.shrinkage is None else shrunk(cov, float(self.shrinkage))


# ---- a covariance each ---------------------------------------------------------------------------
@dataclass(frozen=True)
class Full(_Gaussian):
    """N(x; m_k, Σ_k)."""

    cov: Floats  # (K, p, p), each of full rank
    deficient: tuple[int, ...] = ()  # classes whose covariance was not, and had to be lifted

    @classmethod
    def of(cls, mean: Floats, cov: Floats, floor: float = 0.0) -> Self:
        """Covariances with every eigenvalue above `floor`: those that are not are lifted to it."""
        deficient = tuple(k for k, S in enumerate(cov) if not exceeds(S, floor))
        if deficient:
            cov = cov.copy()
            for k in deficient:
                cov[k] = lifted(cov[k], floor)
        return cls(mean, cov, deficient)

    @cached_property
    def spectrum(self) -> tuple[Floats, Floats]:
        """Variances (K, p), falling, along the axes (K, p, p)."""
        values, axes = np.linalg.eigh(self.cov)
        return values[:, ::-1], axes[:, :, ::-1]

    def scores(self) -> Scores:
        U, log_det = upper_whitenings(self.cov)
        b = -0.5 * (log_det + self.shape[1] * LOG_2PI)
        shift = self.mean.mean(axis=0)
        at = (U @ (self.mean - shift)[:, :, None])[:, :, 0]
        if np.abs(at).max() > 1e5:  # deviations
            return Scores((terms.Apart(b, np.ascontiguousarray(self.mean), U),))
        return Scores((terms.Quadratic(b, shift, U, np.ascontiguousarray(at)),))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        X = rng.standard_normal((len(codes), self.shape[1]))
        for k in np.unique(codes):
            at = codes == k
            X[at] = self.mean[k] + X[at] @ np.linalg.cholesky(self.cov[k]).T
        return X

    def marginal(self, columns: Columns) -> "Full":
        return Full.of(self.mean[:, columns], self.cov[:, columns[:, None], columns])

    def _rest(self, rest: Columns, given: Columns, values: Floats) -> "Full":
        parts = [regress(S, rest, given, tol=0.0) for S in self.cov]
        moved = [gain @ (values - m) for (gain, _), m in zip(parts, self.mean[:, given], strict=True)]
        return Full.of(self.mean[:, rest] + np.stack(moved), np.stack([S for _, S in parts]))


@dataclass(frozen=True)
class FullGaussian:
    """Means and covariances by class, shrunk, or lifted: (1 - lift) Σ + lift I."""

    shrinkage: Shrinkage = None
    lift: float = 0.0
    floor: float = 0.0

    def stats(self, K: int, p: int) -> Moments | HigherMoments:
        return HigherMoments.start(K, p) if self.shrinkage == "auto" else Moments.start(K, p, "full")

    def estimate(self, stats: Any) -> Full:
        if isinstance(stats, HigherMoments):
            cov = ledoit_wolf(stats)
        else:
            n = np.where(stats.n > 0, stats.n, 1.0)
            cov = stats.S / n[:, None, None]
            if self.shrinkage is not None:
                cov = shrunk(cov, float(self.shrinkage))
        if self.lift:
            cov = (1 - self.lift) * cov + self.lift * np.eye(cov.shape[1])
        return Full.of(stats.mean.copy(), cov, self.floor)
