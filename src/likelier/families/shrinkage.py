"""Covariances pulled towards a multiple of the identity."""

import numpy as np
from numpy.typing import NDArray

from likelier.states import HigherMoments

Floats = NDArray[np.float64]


def shrunk(cov: Floats, strength: float) -> Floats:
    """(1 - s) Σ + s (tr Σ / p) I, for one matrix or a stack of them."""
    p = cov.shape[-1]
    level = np.trace(cov, axis1=-2, axis2=-1) / p
    return np.asarray((1 - strength) * cov + strength * level[..., None, None] * np.eye(p))


def deviations(cov: Floats) -> Floats:
    """Standard deviations of the columns, 1 for a constant one: what to divide by."""
    sd = np.sqrt(np.diagonal(cov, axis1=-2, axis2=-1))
    return np.where(sd > 0, sd, 1.0)


def ledoit_wolf(stats: HigherMoments) -> Floats:
    """Covariances (K, p, p), each shrunk by as much as its own rows call for, on standardised columns.

    With z the standardised rows, C = Σ zzᵀ/n and μ = tr C / p, the strength is β/δ, where
    β = (Σ_ij (Σ z_i² z_j² / n - C_ij²)) / (n p) is the variance of C, and δ = |C - μI|² / p
    (Ledoit & Wolf 2004).
    """
    K, p = stats.mean.shape
    cov = np.zeros((K, p, p))
    for k in np.flatnonzero(stats.n > 0):
        n = stats.n[k]
        sd = deviations(stats.S[k] / n)
        C = stats.S[k] / n / np.outer(sd, sd)
        fourth = (stats.Q[k] / np.outer(sd, sd) ** 2).sum() / n
        mu = np.trace(C) / p
        delta = ((C - mu * np.eye(p)) ** 2).sum() / p
        beta = min((fourth - (C**2).sum()) / (n * p), delta)
        strength = beta / delta if beta > 0 else 0.0
        cov[k] = shrunk(C, strength) * np.outer(sd, sd)
    return cov
