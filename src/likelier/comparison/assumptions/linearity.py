"""Checks of linearity: log odds linear in the columns, and residuals of least squares."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from likelier.array_types import Floats, Indices
from likelier.comparison.assumptions.columns import FAR, MILD, gaussian, merged
from likelier.comparison.assumptions.sample import LEVEL, Sample, chi2, f_ratio, informative
from likelier.estimators.discriminative.logistic import LogisticRegression

# Columns that bend: |x - m|, beside x, lets a slope change at m.


def kinks(sample: Sample, held: Indices) -> tuple[Floats, list[str]]:
    """(n, q) of those of the columns that have values on both sides of their middle, and their names.

    Less their mean, which stands where a cell is missing. Of others a bend would be one more slope.
    """
    found, names = [], []
    for j in held:
        z = sample.Z[:, j]
        middle = _middle(z[~np.isnan(z)])
        if middle is not None:
            kink = np.abs(z - middle)
            found.append(np.nan_to_num(kink - np.nanmean(kink)))
            names.append(sample.names[j])
    return np.column_stack(found) if found else np.empty((len(sample.Z), 0)), names


def _middle(z: Floats) -> float | None:
    """The median; where that is the least or the largest value, the median of the others."""
    low, high = z.min(), z.max()
    middle = np.median(z)
    if middle in (low, high) and low < high:
        middle = np.median(z[z != middle])
    return float(middle) if low < middle < high else None


# Whether the log odds of classes are linear in the columns.


MOST_NONLINEAR, MOST_SLOPES = (
    30,
    150,
)  # columns that may bend, those that tell most; and slopes, one for a class
MOST_FITTED = 4000  # rows
FEWEST_FITTED = 20
PENALTIES = (1.0, 10.0, 100.0)  # C: a penalty too strong would gain by more columns, one too weak by fewer
SOME_BEND, MUCH_BEND = 0.03, 0.15  # of the held-out log-loss, which bends save


@dataclass(frozen=True)
class Linearity:
    """Logistic regression on half of the rows, evaluated on the others, without and with a slope of each
    column that changes at its median (a broken line, as in Friedman 1991).

    gain: how much less the held-out log-loss is with bends, as a share of it; p: of no gain.
    """

    log_loss: float  # without
    gain: float
    p: float
    error: float  # the share of mistakes without bends
    column: str  # that bends most
    columns: int  # of numbers, that were looked at

    @property
    def nonlinear(self) -> bool:
        return self.p < LEVEL and self.gain >= SOME_BEND

    @property
    def far(self) -> bool:
        return self.nonlinear and self.gain >= MUCH_BEND


class _HeldOutLoss(NamedTuple):
    losses: Floats
    mistakes: NDArray[np.bool_]
    W: Floats  # the size of weights, of both fits


def linearity_of(sample: Sample, seed: int) -> Linearity | str:
    """What bends gain; or why that was not found out."""
    if not sample.names:
        return "no column holds numbers, and each category or word has a weight of its own"
    rows, y, half = _halves(sample, seed)
    if len(sample.groups) < 2 or len(rows) < FEWEST_FITTED:
        return "there are too few rows"
    held = informative(sample, min(MOST_NONLINEAR, MOST_SLOPES // len(sample.groups)))
    linear = _numbers_and_indicators(sample, held, rows)
    kink, names = kinks(sample, held)
    straight = _best(linear, y, half)
    broken = _best(np.hstack([linear, kink[rows]]), y, half) if names else straight
    saved = straight.losses - broken.losses
    deviation = float(saved.std(ddof=1))
    z = saved.mean() * np.sqrt(len(saved)) / deviation if deviation > 0 else 0.0
    sizes = broken.W[:, -len(names) :].sum(axis=0)
    loss = float(straight.losses.mean())
    return Linearity(
        loss,
        float(saved.mean()) / loss if loss > 0 else 0.0,
        float(ndtr(-z)),
        float(straight.mistakes.mean()),
        names[int(np.argmax(sizes))] if names else "",
        len(held),
    )


def _halves(sample: Sample, seed: int) -> tuple[Indices, NDArray[np.int64], NDArray[np.int64]]:
    """Some rows of each class, their class, and which half they are in: every class is in both."""
    draw = np.random.default_rng(seed)
    share = min(MOST_FITTED / max(sum(map(len, sample.members)), 1), 1.0)
    found = [draw.permutation(rows)[: max(round(share * len(rows)), 4)] for rows in sample.members]
    y = np.repeat(np.arange(len(found)), [len(rows) for rows in found])
    half = np.concatenate([np.arange(len(rows)) % 2 for rows in found]) if found else y
    return np.concatenate([*found, np.empty(0, dtype=np.intp)]), y, half


def _numbers_and_indicators(sample: Sample, held: Indices, rows: Indices) -> Floats:
    """Numbers, and indicators of categories."""
    blocks = [np.nan_to_num(sample.Z[np.ix_(rows, held)])]
    for codes in sample.codes[rows].T:
        common = merged(codes + 1)  # missing is a category too
        blocks.append(common[:, None] == np.arange(common.max() + 1))
    return np.hstack(blocks).astype(np.float64)


def _best(X: Floats, y: NDArray[np.int64], half: NDArray[np.int64]) -> _HeldOutLoss:
    """With the penalty that suits the columns."""
    return min((_held_out_loss(X, y, half, C) for C in PENALTIES), key=lambda found: found.losses.mean())


def _held_out_loss(X: Floats, y: NDArray[np.int64], half: NDArray[np.int64], C: float) -> _HeldOutLoss:
    """Each half by the fit to the other."""
    losses, mistakes, W = np.empty(len(y)), np.empty(len(y), dtype=np.bool_), np.zeros(())
    for test in (half == 0, half == 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whether it converged to the last digit does not matter here
            model = LogisticRegression(C=C).fit(X[~test], y[~test])
        log_p, codes = model.predict_log_proba(X[test]), y[test]
        losses[test] = -log_p[np.arange(len(codes)), codes]
        mistakes[test] = log_p.argmax(axis=1) != codes
        W = W + np.abs(model.coef_)
    return _HeldOutLoss(losses, mistakes, W)


# Whether what least squares leaves is noise: straight, of one variance, Gaussian.


MOST_COLUMNS = 100
SOME_STRUCTURE, MUCH_STRUCTURE = 0.03, 0.15  # of the variance that is left, which bends explain
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
    adjusted_r2: (
        float  # the share of the variance that the line explains, adjusted; and the p-value of nothing
    )
    linear_p: float
    nonlinear: float
    nonlinear_p: float
    column: str
    uneven: float
    larger: bool  # whether residuals grow with the fitted values
    uneven_p: float
    skewness: float
    kurtosis: float
    distance: float
    gaussian_p: float

    @property
    def is_nonlinear(self) -> bool:
        return self.nonlinear_p < LEVEL and self.nonlinear >= SOME_STRUCTURE

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
    held = informative(sample, MOST_COLUMNS)
    X, (kink, names) = _design_with_intercept(sample, held), kinks(sample, held)
    n, slopes = len(y), X.shape[1] + kink.shape[1] - 1
    if X.shape[1] == 1:
        return "no column holds numbers or categories"
    if n < slopes + 11:
        return f"{n} rows are too few for {slopes} slopes and bends"
    left, rank, fitted = _left(X, y)
    rss, whole = float(left @ left), float(y @ y)
    if rss <= 1e-20 * whole:
        return "the columns give the target exactly: nothing is left to be looked at"
    nonlinear, nonlinear_p = _nonlinear(_left(np.hstack([X, kink]), y), rss, n, rank)
    low, high = _ends(left, fitted)
    squares = left**2 / (rss / n)
    explained = 1 - _rss(X, squares) / float(((squares - squares.mean()) ** 2).sum())
    return Residuals(
        n,
        1 - rss / (n - rank) / (whole / (n - 1)),
        f_ratio((whole - rss) / max(rank - 1, 1) / (rss / (n - rank)), rank - 1, n - rank),
        nonlinear,
        nonlinear_p,
        _most_nonlinear(X, kink, left, names),
        max(high / low, low / high) if min(low, high) > 0 else np.inf,
        high > low,
        chi2(n * explained, rank - 1),
        *gaussian(left),
    )


def _design_with_intercept(sample: Sample, held: Indices) -> Floats:
    """An intercept, numbers, and indicators of all categories but the first."""
    blocks = [np.ones((len(sample.y), 1)), np.nan_to_num(sample.Z[:, held])]
    for codes in sample.codes.T:
        common = merged(codes + 1)  # missing is a category too
        blocks.append((common[:, None] == np.arange(1, common.max() + 1)).astype(np.float64))
    return np.hstack(blocks)


def _nonlinear(
    with_bends: tuple[Floats, int, Floats], rss: float, n: int, rank: int
) -> tuple[float, float]:
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


def _most_nonlinear(X: Floats, kink: Floats, left: Floats, names: list[str]) -> str:
    """The column whose bend, beside all slopes, explains most of what is left."""
    if not names:
        return ""
    K = kink - X @ np.linalg.lstsq(X, kink, rcond=None)[0]
    norms = (K**2).sum(axis=0)
    shares = (left @ K) ** 2 / np.where(norms > 1e-12 * len(left), norms, np.inf)
    return names[int(np.argmax(shares))]
