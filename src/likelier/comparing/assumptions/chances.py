"""p-values that several checks share."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, log_ndtr, ndtr, stdtr

Floats = NDArray[np.float64]

LEVEL = 0.01  # of every test, corrected for how many there are


def holm(p: Floats) -> Floats:
    """p-values, each corrected for all of them (Holm 1979); NaN where there was no test."""
    found = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p.flat[tested], kind="stable")]
    left = np.arange(len(order), 0, -1)
    found.flat[order] = np.minimum(np.maximum.accumulate(left * p.flat[order]), 1.0)
    return found


def chi2(x: float, df: float) -> float:
    """P(χ² ≥ x)."""
    return float(chdtrc(df, max(x, 0.0))) if df > 0 else np.nan


def f_ratio(F: float, df: float, rest: float) -> float:
    """P(F ≥ x)."""
    return float(fdtrc(df, rest, max(F, 0.0))) if df > 0 and rest > 0 else np.nan


def normal(z: float) -> float:
    """P(|Z| ≥ |z|)."""
    return float(2 * ndtr(-abs(z)))


def of_correlation(r: Floats, n: Floats) -> Floats:
    """Two-sided p-values of no correlation, by t = r √((n - 2)/(1 - r²))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(r) * np.sqrt((n - 2) / np.maximum(1 - r**2, 0.0))
        return np.where(n > 2, 2 * stdtr(np.maximum(n - 2, 1), -t), np.nan)


def anderson_darling(z: Floats) -> float:
    """A² = -n - Σ (2i - 1)/n (ln Φ(z_i) + ln(1 - Φ(z_(n+1-i)))) of sorted z (Anderson and Darling 1954)."""
    n = len(z)
    odd = 2 * np.arange(n) + 1
    return float(-n - (odd * (log_ndtr(z) + log_ndtr(-z[::-1]))).sum() / n)


def of_anderson_darling(A: float, n: int) -> float:
    """Its p-value, mean and deviation being those of the rows (D'Agostino and Stephens 1986, table 4.9)."""
    A = min(A * (1 + 0.75 / n + 2.25 / n**2), 150.0)  # the last parabola turns beyond that
    if A < 0.2:
        return float(1 - np.exp(-13.436 + 101.14 * A - 223.73 * A**2))
    if A < 0.34:
        return float(1 - np.exp(-8.318 + 42.796 * A - 59.938 * A**2))
    if A < 0.6:
        return float(np.exp(0.9177 - 4.279 * A - 1.38 * A**2))
    return float(np.exp(1.2937 - 5.709 * A + 0.0186 * A**2))
