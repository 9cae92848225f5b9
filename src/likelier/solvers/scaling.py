"""Generalised iterative scaling."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from likelier.solvers.base import Iterate, Oracle, enough

Floats = NDArray[np.float64]

FARTHEST = 10.0  # in u = M δ: where a part is expected to be 0 and was seen, there is no balance
STANDS = "no weight moves any more, or none for the better: rounding has the last word"


class Halved(Oracle, Protocol):
    """An oracle of probabilities, which also knows what is expected of features above and below 0."""

    def halves(self, theta: Floats) -> tuple[float, Floats, Floats, Floats]:
        """F, its gradient, and the expected parts E⁺ and E⁻ of each feature, flat."""

    def reach(self) -> float:
        """M = max_i Σ_j |x_ij|."""


def iterative_scaling(oracle: Halved, theta: Floats) -> Iterator[Iterate]:
    """θ += δ, where E⁺ e^{Mδ} - E⁻ e^{-Mδ} + λ(θ + δ) = what was seen, for each weight alone.

    (Darroch & Ratcliff 1972; for features of any sign.) A bound on F is minimised in each step, one
    pass: F never increases, and slowly decreases.
    """
    metric, reach = oracle.metric(), oracle.reach()
    flat = oracle.penalty.l2 / reach
    length, before = 0.0, np.inf
    here: Iterate | None = None
    while True:
        F, g, up, down = oracle.halves(theta)
        if here is not None and not enough(before, F, 0.0):
            yield here._replace(stuck=STANDS)
            return
        here = Iterate(theta, F, float(np.sqrt(max(float(g @ metric.solve(g)), 0.0))), length, g)
        yield here
        ahead = theta + balanced(up, down, flat, g) / reach
        if np.array_equal(ahead, theta):
            yield here._replace(stuck=STANDS)
            return
        theta, before, length = ahead, F, 1.0


def balanced(up: Floats, down: Floats, flat: Floats, g: Floats) -> Floats:
    """u with E⁺(e^u - 1) - E⁻(e^-u - 1) + flat u + g = 0, which increases: Newton within a bracket."""
    low, high = np.where(g > 0, -FARTHEST, 0.0), np.where(g < 0, FARTHEST, 0.0)
    u = np.zeros_like(g)
    for _ in range(60):
        h = up * np.expm1(u) - down * np.expm1(-u) + flat * u + g
        low, high = np.where(h < 0, u, low), np.where(h > 0, u, high)
        bend = up * np.exp(u) + down * np.exp(-u) + flat
        ahead = u - np.divide(h, bend, out=np.zeros_like(h), where=bend > 0)
        ahead = np.where((ahead >= low) & (ahead <= high), ahead, (low + high) / 2)
        moved = np.abs(ahead - u).max(initial=0.0)
        u = ahead
        if moved <= 1e-12 * np.abs(u).max(initial=0.0):
            break
    return u
