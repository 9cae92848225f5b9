"""Whether what least squares leaves is noise: straight, of one variance, Gaussian."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likelier.comparing.assumptions.chances import LEVEL, chi2, f_ratio
from likelier.comparing.assumptions.kinks import kinks
from likelier.comparing.assumptions.pairs import merged
from likelier.comparing.assumptions.sample import Sample, telling
from likelier.comparing.assumptions.shapes import FAR, MILD, gaussian

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

MOST_COLUMNS = 100
SOME, MUCH = 0.03, 0.15  # of the variance that is left, which bends explain
UNEVEN, VERY_UNEVEN = 1.5, 3.0  # the deviation where most is expected, over that where least is


@dataclass(frozen=True)
class Residuals:
    """Of a linear fit to all rows that are looked at.

    bent: the share of the variance left that slopes which change at medians explain (adjusted), with the
    p-value of the F-test. uneven: the deviation of residuals in the quarter of rows with the largest
    fitted values over that with the least (or its inverse, if larger), with the p-value of Breusch and
    Pagan (1979) as Koenker (1981) has it. distance, skewness, kurtosis, gaussian_p: as of columns.
    """

    n: int
    told: float  # the share of the variance that the line explains, adjusted; and the p-value of nothing
    told_p: float
    bent: float
    bent_p: float
    column: str
    uneven: float
    larger: bool  # whether residuals grow with the fitted values
    uneven_p: float
    skewness: float
    kurtosis: float
    distance: float
    gaussian_p: float

    @property
    def is_bent(self) -> bool:
        return self.bent_p < LEVEL and self.bent >= SOME

    @property
    def is_uneven(self) -> bool:
        return self.uneven_p < LEVEL and self.uneven >= UNEVEN

    @property
    def departs(self) -> bool:
        return self.gaussian_p < LEVEL and self.distance >= MILD

    @property
    def far(self) -> bool:
        return self.departs and self.distance >= FAR


def residuals_of(sample: Sample) -> Residuals | str:
    """Of y on the columns; or why there are none."""
    y = sample.y.astype(np.float64)
    y = (y - y.mean()) / (float(y.std()) or 1.0)
    held = telling(sample, MOST_COLUMNS)
    X, (kink, names) = _design(sample, held), kinks(sample, held)
    n, slopes = len(y), X.shape[1] + kink.shape[1] - 1
    if X.shape[1] == 1:
        return "no column holds numbers or categories"
    if n < slopes + 11:
        return f"{n} rows are too few for {slopes} slopes and bends"
    left, rank, fitted = _left(X, y)
    rss, whole = float(left @ left), float(y @ y)
    if rss <= 1e-20 * whole:
        return "the columns give the target exactly: nothing is left to be looked at"
    bent, bent_p = _bent(_left(np.hstack([X, kink]), y), rss, n, rank)
    low, high = _ends(left, fitted)
    squares = left**2 / (rss / n)
    explained = 1 - _rss(X, squares) / float(((squares - squares.mean()) ** 2).sum())
    return Residuals(
        n,
        1 - rss / (n - rank) / (whole / (n - 1)),
        f_ratio((whole - rss) / max(rank - 1, 1) / (rss / (n - rank)), rank - 1, n - rank),
        bent,
        bent_p,
        _most_bent(X, kink, left, names),
        max(high / low, low / high) if min(low, high) > 0 else np.inf,
        high > low,
        chi2(n * explained, rank - 1),
        *gaussian(left),
    )


def _design(sample: Sample, held: Indices) -> Floats:
    """An intercept, numbers, and indicators of all categories but the first."""
    blocks = [np.ones((len(sample.y), 1)), np.nan_to_num(sample.Z[:, held])]
    for codes in sample.codes.T:
        common = merged(codes + 1)  # missing is a category too
        blocks.append((common[:, None] == np.arange(1, common.max() + 1)).astype(np.float64))
    return np.hstack(blocks)


def _bent(with_bends: tuple[Floats, int, Floats], rss: float, n: int, rank: int) -> tuple[float, float]:
    """The share of the variance left that bends explain, adjusted, and the p-value of none."""
    left, more, _ = with_bends
    less, added = float(left @ left), more - rank
    if not added or less == 0:
        return 0.0, 1.0
    per = less / (n - more)
    return 1 - per / (rss / (n - rank)), f_ratio((rss - less) / added / per, added, n - more)


def _left(X: Floats, y: Floats) -> tuple[Floats, int, Floats]:
    """What is left of y, the rank of X, and what was fitted."""
    b, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    fitted = X @ b
    return y - fitted, int(rank), fitted


def _rss(X: Floats, y: Floats) -> float:
    return float((_left(X, y)[0] ** 2).sum())


def _ends(left: Floats, fitted: Floats) -> tuple[float, float]:
    """The deviation of residuals in the lowest and in the highest quarter of fitted values."""
    order = np.argsort(fitted, kind="stable")
    quarter = max(len(order) // 4, 2)
    return float(left[order[:quarter]].std()), float(left[order[-quarter:]].std())


def _most_bent(X: Floats, kink: Floats, left: Floats, names: list[str]) -> str:
    """The column whose bend, beside all slopes, explains most of what is left."""
    if not names:
        return ""
    K = kink - X @ np.linalg.lstsq(X, kink, rcond=None)[0]
    norms = (K**2).sum(axis=0)
    shares = (left @ K) ** 2 / np.where(norms > 1e-12 * len(left), norms, np.inf)
    return names[int(np.argmax(shares))]
