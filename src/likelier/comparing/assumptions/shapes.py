"""Whether the numbers of a column are Gaussian in each class, and how far from it they are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from likelier.comparing.assumptions.chances import LEVEL, anderson_darling, holm, of_anderson_darling
from likelier.comparing.assumptions.sample import FEWEST, Sample

Floats = NDArray[np.float64]

MILD, FAR = 0.03, 0.08  # of the distance from a Gaussian: below, it does not matter; from there on, it does
CHANCE = 0.62  # √n times the distance that Gaussian rows have on average
FEW_VALUES = 10  # different ones, at most, are a scale more than a measurement
MOST_COMMON = 0.5  # the share of rows from which one value is the column


@dataclass(frozen=True)
class Shapes:
    """Of each class and column of numbers, (K, p); NaN where fewer than 8 cells are there.

    distance: sup |F_n(t) - Φ((t - m)/s)| (Kolmogorov 1933), less 0.62/√n, which Gaussian rows have on
    average: by so much a share of rows that a Gaussian expects is wrong. p: of the test of Anderson and
    Darling (1954) for a Gaussian of any mean and deviation, corrected for all columns and classes.
    """

    n: NDArray[np.int64]
    mean: Floats
    deviation: Floats
    skewness: Floats  # g₁ = m₃ / m₂^(3/2)
    kurtosis: Floats  # g₂ = m₄ / m₂² - 3
    distance: Floats
    p: Floats
    values: NDArray[np.int64]  # (p,) different ones
    commonest: Floats  # (p,) the share of cells that are the commonest value
    common: Floats  # (p,) that value

    @property
    def departs(self) -> NDArray[np.bool_]:
        """(K, p) that are not Gaussian, by more than could be chance and than would not matter."""
        constant = self.deviation == 0
        return np.asarray(((self.p < LEVEL) & (self.distance >= MILD)) | constant)

    @property
    def far(self) -> NDArray[np.bool_]:
        """(K, p) that are far from Gaussian."""
        return np.asarray(self.departs & ~(self.distance < FAR))

    @property
    def checked(self) -> NDArray[np.bool_]:
        return self.n >= FEWEST


def shapes_of(sample: Sample) -> Shapes:
    """Of all classes and columns of numbers."""
    K, p = len(sample.members), len(sample.names)
    found, units = np.full((4, K, p), np.nan), np.full((2, K, p), np.nan)
    n = np.zeros((K, p), dtype=np.int64)
    for k, rows in enumerate(sample.members):
        for j, (x, z) in enumerate(zip(sample.X[rows].T, sample.Z[rows].T, strict=True)):
            there = ~np.isnan(x)
            n[k, j] = there.sum()
            if n[k, j] >= FEWEST:
                found[:, k, j] = gaussian(z[there])
                with np.errstate(over="ignore"):
                    units[:, k, j] = _moments(x[there])
    skewness, kurtosis, distance, chance = found
    mean, deviation = units
    return Shapes(n, mean, deviation, skewness, kurtosis, distance, holm(chance), *_ties(sample.X))


def _moments(x: Floats) -> tuple[float, float]:
    """Mean and deviation, exactly 0 of a constant."""
    return float(x.mean()), 0.0 if (x == x[0]).all() else float(x.std(ddof=1))


def gaussian(x: Floats) -> tuple[float, float, float, float]:
    """Skewness, kurtosis, the distance from a Gaussian, and the p-value of being one; NaN of a constant."""
    n = len(x)
    centred = x - x.mean()
    squares = centred * centred
    m2 = float(squares.mean())
    if m2 == 0 or (x == x[0]).all():
        return np.nan, np.nan, np.nan, np.nan
    z = np.sort(centred) / np.sqrt(m2 * n / (n - 1))
    steps, expected = np.arange(n + 1) / n, ndtr(z)
    distance = max((steps[1:] - expected).max(), (expected - steps[:-1]).max())
    return (
        float((squares * centred).mean() / m2**1.5),
        float((squares * squares).mean() / m2**2 - 3),
        max(float(distance) - CHANCE / np.sqrt(n), 0.0),
        of_anderson_darling(anderson_darling(z), n),
    )


def _ties(X: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """(p,) how many different values there are; the share of the commonest; and which that is."""
    values, share, common = np.zeros(X.shape[1], dtype=np.int64), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for j, column in enumerate(X.T):
        different, often = np.unique(column[~np.isnan(column)], return_counts=True)
        values[j] = len(different)
        share[j], common[j] = often.max() / often.sum(), different[often.argmax()]
    return values, share, common
