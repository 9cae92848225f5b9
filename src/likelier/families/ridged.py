"""Gaussians of four shapes, to whose every variance a constant is added: what Gaussian mixtures are of."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from likelier.families.base import Family, Floats
from likelier.families.covariance import exceeds
from likelier.families.covaried import FullGaussian, TiedGaussian
from likelier.families.gaussian import Diagonal, above_nothing
from likelier.states import ColumnMoments

CovarianceType = Literal["full", "tied", "diag", "spherical"]
SHAPES: tuple[CovarianceType, ...] = get_args(CovarianceType)


@dataclass(frozen=True)
class RidgedDiagonal:
    """N(x_j; m_kj, S_kj / n_kj + ridge); a class without a cell of a column has that of all classes."""

    ridge: float = 0.0

    def stats(self, K: int, p: int) -> ColumnMoments:
        return ColumnMoments.start(K, p)

    def estimate(self, stats: ColumnMoments, among: ColumnMoments | None = None) -> Diagonal:
        among = stats if among is None else among
        mean, var = self._moments(stats, among)
        total, _, S = among.pooled()
        spread = np.divide(S, total, out=np.ones_like(S), where=total > 0)
        return Diagonal(mean, above_nothing(var + self.ridge, spread))  # without a ridge it may be 0

    def _moments(self, stats: ColumnMoments, among: ColumnMoments) -> tuple[Floats, Floats]:
        total, pooled, S = among.pooled()
        spread = np.divide(S, total, out=np.ones_like(S), where=total > 0)
        seen = stats.seen > 0
        var = np.where(seen, stats.S / np.where(seen, stats.seen, 1.0), spread)
        return np.where(seen, stats.mean, pooled), var


@dataclass(frozen=True)
class RidgedSpherical(RidgedDiagonal):
    """N(x; m_k, v_k I), v_k = Σ_j S_kj / Σ_j n_kj + ridge: one variance for all columns of a class."""

    def _moments(self, stats: ColumnMoments, among: ColumnMoments) -> tuple[Floats, Floats]:
        mean, spread = super()._moments(stats, among)
        seen = stats.seen.sum(axis=1)
        own = np.divide(stats.S.sum(axis=1), seen, out=spread.mean(axis=1), where=seen > 0)
        return mean, np.repeat(own[:, None], mean.shape[1], axis=1)


def ridged(shape: CovarianceType, ridge: float) -> Family:
    """The family of a covariance shape."""
    family: Family
    match shape:
        case "full":
            family = FullGaussian(ridge=ridge)
        case "tied":
            family = TiedGaussian(ridge=ridge)
        case "diag":
            family = RidgedDiagonal(ridge)
        case "spherical":
            family = RidgedSpherical(ridge)
    return family


def variances_exceed(params: Any, floor: float) -> bool:
    """Whether the variance in every direction of every class is above `floor`."""
    if isinstance(params, Diagonal):
        return bool((params.var > floor).all())
    return all(exceeds(S, floor) for S in params.cov.reshape(-1, *params.cov.shape[-2:]))
