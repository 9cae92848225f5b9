"""Whether two models differ by more than the luck of the folds (Nadeau and Bengio 2003).

Training sets of k folds share most of their rows, so that figures of folds are not independent, and the
variance of their mean is no 1/k of theirs: with n_test / n_train = 1 / (k - 1) it is taken as
(1/k + 1/(k - 1)) s².
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

Floats = NDArray[np.float64]
LEVEL = 0.05  # of the test, on both sides


def standard_error(figures: Floats) -> float:
    """Of the mean over folds, corrected for their overlap."""
    k = len(figures)
    if k < 2 or not np.isfinite(figures).all():
        return np.nan
    return float(np.sqrt((1 / k + 1 / (k - 1)) * figures.var(ddof=1)))


def p_value(one: Floats, other: Floats) -> float:
    """Of no difference between two models on the same folds: the corrected resampled t-test."""
    d = one - other
    if not np.isfinite(d).all():
        return np.nan
    error = standard_error(d)
    if error == 0:
        return 1.0 if d.mean() == 0 else 0.0
    return float(2 * stdtr(len(d) - 1, -abs(d.mean()) / error))


def indistinct(best: Floats, other: Floats) -> bool:
    """Whether the difference to the best could be luck."""
    return bool(p_value(best, other) >= LEVEL)
