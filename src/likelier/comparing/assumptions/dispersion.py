"""Whether counts vary as the models of counts have it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtrc

from likelier.comparing.assumptions.chances import LEVEL, holm
from likelier.comparing.assumptions.sample import FEWEST, Sample

Floats = NDArray[np.float64]

SOME, MUCH = 1.25, 2.0  # times the variance that the model expects, or that much less
LEAST_MEAN = 0.5  # rows of smaller counts do not follow χ²


@dataclass(frozen=True)
class Dispersion:
    """The variance of counts over what is expected, (K, p); NaN where counts are too small to tell.

    Poisson: s²/m, about χ² over n - 1 (Fisher 1925). Multinomial: the mean of (x - Nq)² / (Nq(1 - q)), N
    the sum of a row and q the column's share in the class.
    """

    index: Floats
    p: Floats  # corrected

    @property
    def departs(self) -> NDArray[np.bool_]:
        return np.asarray((self.p < LEVEL) & (self.off >= np.log(SOME)))

    @property
    def far(self) -> NDArray[np.bool_]:
        return np.asarray(self.departs & (self.off >= np.log(MUCH)))

    @property
    def off(self) -> Floats:
        """|ln index|, 0 where there is none."""
        return np.abs(np.log(np.maximum(np.nan_to_num(self.index, nan=1.0), 1e-300)))


def are_counts(sample: Sample) -> bool:
    """Whether all numbers are whole, from 0 on."""
    there = sample.X[~np.isnan(sample.X)]
    return bool(len(there)) and bool((there >= 0).all()) and bool((there == np.floor(there)).all())


def dispersions_of(sample: Sample) -> tuple[Dispersion, Dispersion] | None:
    """As Poisson counts, and as multinomial ones; None where columns are no counts."""
    if not are_counts(sample):
        return None
    K, p = len(sample.members), len(sample.names)
    poisson, multinomial = np.full((2, K, p), np.nan), np.full((2, K, p), np.nan)
    for k, rows in enumerate(sample.members):
        X = sample.X[rows]
        for j, x in enumerate(X.T):
            there = x[~np.isnan(x)]
            if len(there) >= FEWEST and there.mean() >= LEAST_MEAN:
                poisson[:, k, j] = _against(((there - there.mean()) ** 2 / there.mean()).sum(), len(there))
        multinomial[:, k] = _multinomial(X[~np.isnan(X).any(axis=1)])
    return Dispersion(poisson[0], holm(poisson[1])), Dispersion(multinomial[0], holm(multinomial[1]))


def _against(statistic: float, n: int) -> tuple[float, float]:
    """Over its degrees of freedom, and both-sided."""
    p = 2 * min(chdtr(n - 1, statistic), chdtrc(n - 1, statistic))
    return float(statistic) / (n - 1), float(min(p, 1.0))


def _multinomial(X: Floats) -> Floats:
    """(2, p) index and p-value of each column, given the sums of rows."""
    N = X.sum(axis=1)
    X, N = X[N > 0], N[N > 0]
    found = np.full((2, X.shape[1]), np.nan)
    if len(X) < FEWEST:
        return found
    q = X.sum(axis=0) / N.sum()
    for j in np.flatnonzero((q < 1) & (q * N.mean() >= LEAST_MEAN)):
        expected = N * q[j]
        found[:, j] = _against(((X[:, j] - expected) ** 2 / (expected * (1 - q[j]))).sum(), len(X))
    return found
