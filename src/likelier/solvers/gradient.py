"""Gradient descent, and subgradient descent for losses with a corner."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likelier.solvers.base import Iterate, Oracle
from likelier.solvers.steps import NO_STEP, Measure, stepped

Floats = NDArray[np.float64]


def gradient(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """θ -= η M⁻¹ g: each row enters the gradient by its doubt. η = 1 at first, which the metric allows.

    Then η = s·Δg / Δgᵀ M⁻¹ Δg, what the curvature along the last step s makes of it (Barzilai & Borwein
    1988), shortened until F decreases. The norm's κ is η.
    """
    metric = oracle.metric()
    F, g = oracle.gradient(theta)
    Mg = metric.solve(g)
    measure, first, length = Measure(metric), 1.0, 0.0
    while True:
        size = float(g @ Mg)
        here = Iterate(theta, F, measure.norm(size, first), length, g)
        yield here
        step = stepped(oracle, theta, -Mg, F, -size, first)
        if step is None:
            yield here._replace(stuck=NO_STEP)
            return
        before, Mg = Mg, metric.solve(step.gradient)
        change = step.gradient - g
        bend = float(change @ (Mg - before))
        first = float((step.theta - theta) @ change) / bend if bend > 0 else 2 * step.length
        length, theta, F, g = step


# ---- corners -------------------------------------------------------------------------------------
PATH = 3.0  # how far to go towards a level, in √(θᵀMθ): about as large as the scores are


def subgradient(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """θ -= η M⁻¹ g, g one of many slopes (Shor 1962): F need not decrease, and the best iterate is shown.

    Best is the least F, by the steps of `Level`; the norm is √(2δ), what may be left to gain.
    """
    metric = oracle.metric()
    F, g = oracle.gradient(theta)
    level = Level(F, F, (abs(F) or 1.0) / 2)
    best, length = Iterate(theta, np.inf, np.inf), 0.0
    while True:
        Mg = metric.solve(g)
        size = max(float(g @ Mg), 0.0)
        if F < best.value:
            best = Iterate(theta, F, np.inf, length, g)
        length = level.step(F, size)
        best = best._replace(norm=float(np.sqrt(2 * level.delta)) if size > 0 else 0.0)
        yield best
        theta = theta - length * Mg
        F, g = oracle.gradient(theta)


@dataclass
class Level:
    """Polyak's (1969) step towards a level: δ below the least F so far.

    δ halves where a path of length `PATH` did not come half the way: as δ goes to 0, the least F goes
    to the minimum (Goffin & Kiwiel 1999).
    """

    least: float
    record: float  # the least F when the path began
    delta: float
    path: float = 0.0

    def step(self, F: float, size: float) -> float:
        """η from F and gᵀ M⁻¹ g, (F - level) / gᵀM⁻¹g; 0 where that is 0."""
        self.least = min(self.least, F)
        reached = self.least <= self.record - self.delta / 2
        if reached or self.path > PATH:
            self.delta *= 1.0 if reached else 0.5
            self.record, self.path = self.least, 0.0
        if not size > 0:
            return 0.0
        eta = (F - self.record + self.delta) / size
        self.path += eta * float(np.sqrt(size))
        return eta
