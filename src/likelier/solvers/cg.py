"""Nonlinear conjugate gradients."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from likelier.solvers.base import Iterate, Oracle, enough
from likelier.solvers.steps import NO_STEP, Step, stepped

Floats = NDArray[np.float64]

FLAT = 0.1  # of the slope: this much may be left at the end of a step


def cg(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """d = -M⁻¹g + β d, β = (Δgᵀ M⁻¹ g / previous gᵀ M⁻¹ g)₊ (Polak & Ribière 1969; Powell 1984 for the ₊).

    Where β is 0, or d would not descend, it begins anew with -M⁻¹g. Directions stay conjugate only if
    steps end near the minimum along them: a step costs one pass or two.

    The norm is √(η gᵀ M⁻¹ g), η the last step: how far H is below M where it last went.
    """
    metric = oracle.metric()
    F, g = oracle.gradient(theta)
    Mg = metric.solve(g)
    size = float(g @ Mg)
    d, t, length = -Mg, 1.0, 0.0
    while True:
        here = Iterate(theta, F, float(np.sqrt(max(max(length, 1.0) * size, 0.0))), length, g)
        yield here
        if not float(g @ d) < 0:
            d = -Mg
        slope = float(g @ d)
        step = levelled(oracle, theta, d, F, slope, t)
        if step is None:
            yield here._replace(stuck=NO_STEP)
            return
        length, theta, F, change = step.length, step.theta, step.value, step.gradient - g
        g = step.gradient
        Mg = metric.solve(g)
        beta = max(float(change @ Mg) / size, 0.0)
        size = float(g @ Mg)
        d = -Mg + beta * d
        t = length


def levelled(
    oracle: Oracle, theta: Floats, d: Floats, before: float, slope: float, t: float
) -> Step | None:
    """A step whose end is near the minimum along d: t, or where the slopes at 0 and t say it is."""
    step = stepped(oracle, theta, d, before, slope, t)
    if step is None:
        return None
    after = float(step.gradient @ d)
    if abs(after) <= -FLAT * slope or after == slope:
        return step
    t = min(step.length * slope / (slope - after), 10 * step.length) if after > slope else 10 * step.length
    at = theta + t * d
    F, g = oracle.gradient(at)
    better = np.isfinite(F) and enough(step.value, F, 0.0)
    return Step(t, at, F, g) if better else step
