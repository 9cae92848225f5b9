"""How far to go along a direction, at one pass if the first guess is right."""

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.solvers.base import Metric, Oracle, enough, shorter

Floats = NDArray[np.float64]

UNSEEN = 10.0  # of κ gᵀ M⁻¹ g, where M is diagonal
NO_STEP = "no step along the direction of descent decreases the objective: rounding has the last word"


class Measure:
    """√(κ gᵀ M⁻¹ g), about √(2 (F - F*)): κ is how far H lies below M, the most of the last few steps.

    Where rows are all but told apart, H is a small part of M, and M alone would end a fit too early. A
    metric that bounds H allows no κ below 1, whatever a few steps seem to say; a diagonal one does, and
    knows less of H: what is left was found to be up to ten times κ gᵀ M⁻¹ g / 2 there.
    """

    def __init__(self, metric: Metric) -> None:
        self._least, self._unseen = (1.0, 1.0) if metric.bounds else (0.0, UNSEEN)
        self._kappas = deque([1.0], maxlen=10)

    def norm(self, size: float, kappa: float) -> float:
        """From gᵀ M⁻¹ g and what the last step says of κ."""
        self._kappas.append(kappa)
        return float(np.sqrt(max(self._unseen * max(*self._kappas, self._least) * size, 0.0)))


class Step(NamedTuple):
    """A step that decreases F, and what F is there."""

    length: float
    theta: Floats
    value: float
    gradient: Floats


def stepped(
    oracle: Oracle, theta: Floats, d: Floats, before: float, slope: float, first: float = 1.0
) -> Step | None:
    """The step `first`, or one that its slope suggests, or the longest of many halves; None: none does."""
    t = first
    for _ in range(2):
        at = theta + t * d
        F, g = oracle.gradient(at)
        if np.isfinite(F) and enough(before, F, t * slope):
            return Step(t, at, F, g)
        t = nearer(t, before, slope, F, float(g @ d))
    t = first * shorter(oracle, theta, first * d, before, first * slope)
    if t == 0.0:
        return None
    at = theta + t * d
    return Step(t, at, *oracle.gradient(at))


def nearer(t: float, before: float, slope: float, after: float, slope_after: float) -> float:
    """The minimum of the cubic through both ends of a step that went too far (Nocedal & Wright, 3.59)."""
    if not (np.isfinite(after) and np.isfinite(slope_after)):
        return 0.1 * t
    a = slope + slope_after - 3 * (after - before) / t
    b = np.sqrt(max(a * a - slope * slope_after, 0.0))
    below = slope_after - slope + 2 * b
    share = 1 - (slope_after + b - a) / below if below > 0 else 0.5
    return t * float(np.clip(share, 0.05, 0.9))


def ratio(a: float, b: float) -> float:
    """a / b, and 1 where there is nothing to compare."""
    return a / b if b > 0 else 1.0
