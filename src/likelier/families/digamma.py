"""Gamma functions without cancellation, and the maximum likelihood equations that they make."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, polygamma

Floats = NDArray[np.float64]

_LARGE = 15.0  # from here on a few terms of Stirling's series are exact
# B_2i, the numbers of Bernoulli, from the last one needed to the first.
_BERNOULLI = np.array([7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6])
_TWICE = 2.0 * np.arange(len(_BERNOULLI), 0, -1)  # 2i
_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
_MOST_STEPS = 100
_TOL = 1e-13


def log_gap(a: Floats) -> Floats:
    """ln a - ψ(a) = 1/2a + Σ B_2i / (2i a^2i): falls from infinity to 0."""
    large = np.maximum(a, _LARGE)
    series = np.polyval(_BERNOULLI / _TWICE, large**-2) * large**-2 + 0.5 / large
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(a < _LARGE, np.log(a) - digamma(a), series))


def log_gap_slope(a: Floats) -> Floats:
    """1/a - ψ'(a) = -1/2a² - Σ B_2i / a^(2i+1)."""
    large = np.maximum(a, _LARGE)
    series = -(np.polyval(_BERNOULLI, large**-2) / large + 0.5) * large**-2
    return np.asarray(np.where(a < _LARGE, 1 / a - polygamma(1, a), series))


def stirling(a: Floats) -> Floats:
    """a ln a - a - ln Γ(a) = ½ ln(a / 2π) - Σ B_2i / (2i (2i-1) a^(2i-1))."""
    large = np.maximum(a, _LARGE)
    series = np.polyval(_BERNOULLI / (_TWICE * (_TWICE - 1)), large**-2) / large
    return np.where(
        a < _LARGE, a * np.log(a) - a - gammaln(a), 0.5 * np.log(large) - _HALF_LOG_2PI - series
    )


def gamma_shape(s: Floats) -> Floats:
    """a with ln a - ψ(a) = s, by Newton's steps in 1/a (Minka 2002)."""
    a = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(_MOST_STEPS):
        new = 1 / (1 / a + (log_gap(a) - s) / (a * a * log_gap_slope(a)))
        done = np.abs(new - a) <= _TOL * a
        a = new
        if done.all():
            break
    return np.asarray(a)


def dirichlet_alpha(mean: Floats, s: Floats) -> Floats:
    """α (…, q) with ψ(α_j) - ψ(A) = ln m_j - s_j, A = Σ α_j; Σ m_j = 1 and s > 0.

    Newton's steps, by the inverse of a diagonal and a rank-one matrix (Minka 2000): concave, so shorter
    ones wherever a step would go too far. Kept are A and α_j / (A m_j) - 1, for α large the small one.
    """
    mean = np.maximum(mean, 1e-250)  # its inverse times a share must not overflow
    A = (mean.shape[-1] - 1) / (2 * (mean * s).sum(axis=-1, keepdims=True))
    alpha = np.maximum(A * mean, 1 / (10 + 2 * (s - np.log(mean))))  # for α small -ψ(α) is about 1/α
    A = alpha.sum(axis=-1, keepdims=True)
    off = alpha / (A * mean) - 1
    off -= (mean * off).sum(axis=-1, keepdims=True)  # 0 but for rounding, which steps would keep
    for _ in range(_MOST_STEPS):
        alpha = A * mean * (1 + off)
        g = log_gap(alpha) - log_gap(A) - np.log1p(off) - s  # the slope of the likelihood, (…, q)
        step = _newton(alpha, A, g)
        least = (step / alpha).min(axis=-1, keepdims=True)
        size = np.abs(step / alpha).max(axis=-1, keepdims=True)
        t = np.minimum(1.0, np.divide(-0.9, least, out=np.ones_like(A), where=least < 0))
        while True:  # as far as the way goes up
            new = A + t * step.sum(axis=-1, keepdims=True)
            moved = (A * off + t * (step / mean - step.sum(axis=-1, keepdims=True))) / new
            ahead = log_gap(new * mean * (1 + moved)) - log_gap(new) - np.log1p(moved) - s
            slope, was = ((each * step).sum(axis=-1, keepdims=True) for each in (ahead, g))
            # Near the end steps are right, and slopes are rounding.
            beyond = (slope < -0.5 * np.abs(was)) & (t * size > 1e-6)
            if not beyond.any():
                break
            t = np.where(beyond, t / 2, t)
        A, off = new, moved
        if (t * size <= _TOL).all():
            break
    return np.asarray(A * mean * (1 + off))


def _newton(alpha: Floats, A: Floats, g: Floats) -> Floats:
    """-H⁻¹ g of H = -diag ψ'(α) + ψ'(A) 1 1ᵀ.

    With r(a) = a - 1/ψ'(a):  1/ψ'(A) - Σ 1/ψ'(α_j) = Σ r(α_j) - r(A), of which nothing cancels.
    """
    r, whole = ((-a * a * d / (1 - a * d)) for a, d in ((a, log_gap_slope(a)) for a in (alpha, A)))
    inverse = alpha - r  # 1/ψ'(α)
    shared = (inverse * g).sum(axis=-1, keepdims=True) / (r.sum(axis=-1, keepdims=True) - whole)
    return np.asarray(inverse * (g + shared))
