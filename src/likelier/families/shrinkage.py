"""Shrinkage whose strength the rows themselves call for."""

import numpy as np
from numpy.typing import NDArray

from likelier.families.covariance import deviations, shrunk
from likelier.families.missing import completed
from likelier.states import HigherMoments, ShrinkageMoments

Floats = NDArray[np.float64]


def ledoit_wolf(stats: ShrinkageMoments) -> Floats:
    """Covariances (K, p, p), each shrunk by as much as its own rows call for, on standardised columns.

    With z the standardised rows, C = Σ zzᵀ/n and μ = tr C / p, the strength is β/δ, where
    β = (Σ_ij (Σ z_i² z_j² / n - C_ij²)) / (n p) is the variance of C, and δ = |C - μI|² / p
    (Ledoit & Wolf 2004). Where cells are missing, C is the most likely one, and the variance of zzᵀ that
    of the complete rows; a class that has none of these gets that of a Gaussian.
    """
    rows = completed(stats)
    K, p = rows.mean.shape
    cov = np.zeros((K, p, p))
    for k in np.flatnonzero(rows.n > 0):
        C, scale = _correlation(rows.S[k] / rows.n[k])
        mu = np.trace(C) / p
        delta = ((C - mu * np.eye(p)) ** 2).sum() / p
        beta = min(_variance(stats.higher, int(k), C) / (rows.n[k] * p), delta)
        strength = beta / delta if beta > 0 else 0.0
        cov[k] = shrunk(C, strength) * scale
    return cov


def _correlation(cov: Floats) -> tuple[Floats, Floats]:
    """C and the scale that makes it the covariance again."""
    sd = deviations(cov)
    scale = np.outer(sd, sd)
    return cov / scale, scale


def _variance(higher: HigherMoments, k: int, C: Floats) -> float:
    """Σ_ij (E[z_i² z_j²] - C_ij²)."""
    n = higher.n[k]
    if n == 0:
        return float((1 + C**2).sum())
    own, scale = _correlation(higher.S[k] / n)
    return float((higher.Q[k] / scale**2).sum() / n - (own**2).sum())
