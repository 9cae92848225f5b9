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
    (Ledoit & Wolf 2004). Where cells are missing, C is the most likely one, and incomplete rows count in
    the variance of zzᵀ as rows of a Gaussian do: Σ_ij (1 + C_ij²). Rows with nothing in them do not
    count: they say nothing of C.
    """
    rows = completed(stats)
    K, p = rows.mean.shape
    cov, told = np.zeros((K, p, p)), stats.n - stats.gaps.blank
    for k in np.flatnonzero(rows.n > 0):
        C, scale = _correlation(rows.S[k] / rows.n[k])
        mu = np.trace(C) / p
        delta = ((C - mu * np.eye(p)) ** 2).sum() / p
        n = told[k] if told[k] > 0 else rows.n[k]
        whole = stats.higher.n[k] / n
        variance = whole * _variance(stats.higher, int(k)) + (1 - whole) * (1 + C**2).sum()
        beta = min(variance / (n * p), delta)
        strength = beta / delta if beta > 0 else 0.0
        cov[k] = shrunk(C, strength) * scale
    return cov


def _correlation(cov: Floats) -> tuple[Floats, Floats]:
    """C and the scale that makes it the covariance again."""
    sd = deviations(cov)
    scale = np.outer(sd, sd)
    return cov / scale, scale


def _variance(higher: HigherMoments, k: int) -> float:
    """Σ_ij (Σ z_i² z_j² / n - C_ij²) of the complete rows of a class; 0 if there are none."""
    n = higher.n[k]
    if n == 0:
        return 0.0
    C, scale = _correlation(higher.S[k] / n)
    return float((higher.Q[k] / scale**2).sum() / n - (C**2).sum())
