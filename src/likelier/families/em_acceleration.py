"""Acceleration of EM: extrapolated steps towards the most likely means and covariances."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from likelier.array_types import Floats
from likelier.families.covariance import deviations

TOL = 1e-12  # of a deviation: the largest change of a mean or a covariance that ends the way
MOST_STEPS = 1000


class Point(NamedTuple):
    """Parameters on the way: the means of K classes and the covariance that they share."""

    mean: Floats  # (K, p)
    cov: Floats  # (p, p)


Step = Callable[[list[Point]], tuple[float, list[Point]]]


class FixedPoint(NamedTuple):
    """Where the way ended."""

    ends: list[Point]
    steps: int
    converged: bool


class AndersonMixing:
    """A shorter way to the fixed point of a map: the combination of the last few points that came nearest
    to being mapped to themselves (Anderson 1965; Walker & Ni 2011)."""

    MOST = 6

    def __init__(self) -> None:
        self.points: list[Floats] = []
        self.images: list[Floats] = []

    def next(self, point: Floats, image: Floats) -> Floats:
        self.points, self.images = self.points[-self.MOST :], self.images[-self.MOST :]
        self.points.append(point)
        self.images.append(image)
        G = np.stack(self.images)
        F = G - np.stack(self.points)  # (m, d)
        if len(F) == 1:
            return image
        gamma = np.linalg.lstsq(np.diff(F, axis=0).T, F[-1], rcond=1e-10)[0]
        return np.asarray(image - gamma @ np.diff(G, axis=0))


def _flat(at: list[Point], about: list[Point]) -> Floats:
    """Parameters as pure numbers, in units of `about`."""
    numbers = []
    for one, origin in zip(at, about, strict=True):
        sd = deviations(origin.cov)
        numbers += [((one.mean - origin.mean) / sd).ravel(), (one.cov / np.outer(sd, sd)).ravel()]
    return np.concatenate(numbers)


def _raised(numbers: Floats, about: list[Point]) -> list[Point]:
    """The way back."""
    found, used = [], 0
    for origin in about:
        (K, p), sd = origin.mean.shape, deviations(origin.cov)
        mean, cov = np.split(numbers[used : used + K * p + p * p], [K * p])
        found.append(Point(origin.mean + mean.reshape(K, p) * sd, cov.reshape(p, p) * np.outer(sd, sd)))
        used += K * p + p * p
    return found


def find_fixed_point(step: Step, start: list[Point], most: int = MOST_STEPS) -> FixedPoint:
    """To the most likely parameters. `step` maps parameters to their log-likelihood and their successors.

    Successors are never less likely; points by `AndersonMixing` may be, and then the last successor is the
    next point. A successor that is no covariance any more: Singular.
    """
    at, mixing, best, sure = start, AndersonMixing(), -np.inf, start
    least, stalled = np.inf, 0
    for steps in range(1, most + 1):
        likelihood, new = step(at)
        if at is sure and likelihood == -np.inf:
            raise Singular
        if likelihood < best - 1e-9 * abs(best):
            mixing, at, best = AndersonMixing(), sure, -np.inf
            continue
        best, sure = likelihood, new
        point, image = _flat(at, start), _flat(new, start)
        moved = float(np.abs(image - point).max(initial=0))
        stalled = 0 if moved < least / 2 else stalled + 1
        least = min(least, moved)
        # Rounding has the last word: near the end a step may not come nearer any more.
        if moved < TOL or (moved < 1e4 * TOL and stalled >= 5):
            return FixedPoint(new, steps, True)
        at = _raised(mixing.next(point, image), start)
        if not all(definite(one.cov) for one in at):
            at = new
    return FixedPoint(sure, steps, False)


def definite(cov: Floats) -> bool:
    """Whether all variances are above 0, in every direction."""
    return len(cov) == 0 or bool(lapack.dpotrf(cov, lower=1, clean=0)[1] == 0)


class Singular(ArithmeticError):
    """Columns follow from others, or rows are too few, so that the likelihood has no greatest value."""


# Variance added to each column, as a share of its own, where without any there is no end: as little as
# makes columns that follow from others harmless, and, where complete rows are too few to tell these from
# columns that only seem so, as much as lets such rows lead somewhere, and soon.
SLIGHT, STRONG = 1e-8, 1e-3


def ridge_for(p: int, K: int, complete: float) -> float:
    """The share for p columns of K classes with this weight of complete rows, wherever the rows are."""
    return SLIGHT if complete >= p + K else STRONG


def by_ridges(p: int, K: int, complete: float, way: Callable[[float], FixedPoint]) -> FixedPoint:
    """The end of a way, which is given the share of each variance to add."""
    for ridge in (0.0, ridge_for(p, K, complete)):
        try:
            end = way(ridge)
        except Singular:
            continue
        if end.converged or ridge:
            return end
    raise too_close(p)


def too_close(p: int) -> ValueError:
    """The error of columns that no share of their variances makes a covariance of."""
    return ValueError(
        f"cells are missing, and the {p} columns depend on each other so closely that what they would be "
        "cannot be told: drop columns that follow from others, or fill the cells in."
    )


def varying(at: Point) -> NDArray[np.intp]:
    """Columns with a variance: the others stay what they are."""
    return np.flatnonzero(np.diagonal(at.cov) > 0)


def put_back(some: Point, columns: NDArray[np.intp], at: Point) -> Point:
    """Parameters of some columns among those of all."""
    mean, cov = at.mean.copy(), at.cov.copy()
    mean[:, columns] = some.mean
    cov[np.ix_(columns, columns)] = some.cov
    return Point(mean, cov)


def taken(at: Point, columns: NDArray[np.intp]) -> Point:
    """Parameters of some columns."""
    return Point(np.ascontiguousarray(at.mean[:, columns]), at.cov[np.ix_(columns, columns)])
