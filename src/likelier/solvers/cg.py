"""Nonlinear conjugate gradients."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from likelier.solvers.base import Iterate, Oracle, enough
from likelier.solvers.steps import NO_STEP, Measure, Step, ratio, stepped

Floats = NDArray[np.float64]

LEVEL = 0.1  # of the slope: this much may be left at the end of a step
TRIALS = 8  # passes to come there


def cg(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """d = -M⁻¹g + β d, β = (Δgᵀ M⁻¹ g / previous gᵀ M⁻¹ g)₊ (Polak & Ribière 1969; Powell 1984 for the ₊).

    Where d would not descend, it begins anew with -M⁻¹g. Directions stay conjugate only if steps end
    near the minimum along them: most cost two passes. The norm's κ is the length of the last step.
    """
    metric = oracle.metric()
    F, g = oracle.gradient(theta)
    Mg = metric.solve(g)
    size = float(g @ Mg)
    measure, d, first, length = Measure(metric), -Mg, 1.0, 0.0
    while True:
        here = Iterate(theta, F, measure.norm(size, length), length, g)
        yield here
        if not float(g @ d) < 0:
            d = -Mg
        step = levelled(oracle, theta, d, F, float(g @ d), first)
        if step is None:
            yield here._replace(stuck=NO_STEP)
            return
        change = step.gradient - g
        length, theta, F, g = step
        Mg = metric.solve(g)
        beta = max(float(change @ Mg) / size, 0.0)
        first, size = length, float(g @ Mg)
        d = -Mg + beta * d


def levelled(oracle: Oracle, theta: Floats, d: Floats, F: float, slope: float, first: float) -> Step | None:
    """A step along d that ends where F is all but level; None: no step decreases it.

    The slope increases along d, as F is convex: its root is bracketed, and sought by secants.
    """
    low, high = (0.0, slope), (np.inf, np.inf)  # where F still falls, and where it rises
    best, t = None, first
    for _ in range(TRIALS):
        at = theta + t * d
        value, g = oracle.gradient(at)
        after = float(g @ d)
        fine = bool(np.isfinite(value) and np.isfinite(after))
        if fine and enough(F if best is None else best.value, value, t * slope if best is None else 0.0):
            best = Step(t, at, value, g)
        if fine and abs(after) <= -LEVEL * slope:
            break
        before = low
        low, high = ((t, after), high) if fine and after < 0 else (low, (t, after if fine else np.inf))
        t = between(before, low, high)
    return best or stepped(oracle, theta, d, F, slope, first)


def between(before: tuple[float, float], low: tuple[float, float], high: tuple[float, float]) -> float:
    """Where the secant of two slopes is 0, well within the bracket; beyond `low` where it is open."""
    if np.isinf(high[0]):
        steeper = low[1] - before[1]
        t = low[0] + (low[0] - before[0]) * ratio(-low[1], steeper)
        return float(np.clip(t, 1.5 * low[0], 10 * low[0]))
    width = high[0] - low[0]
    share = -low[1] / (high[1] - low[1])
    return low[0] + width * float(np.clip(share, 0.05, 0.95))
