"""First-order methods: gradient descent, conjugate gradients, iterative scaling, and their line search."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from likelier.array_types import Floats
from likelier.solvers.base import Iterate, Metric, Oracle, enough, shorter

# Generalised iterative scaling.


FARTHEST = 10.0  # in u = M δ: where a part is expected to be 0 and was seen, there is no balance
STANDS = "no weight moves any more, or none for the better: rounding has the last word"


class ScalingOracle(Oracle, Protocol):
    """An oracle of probabilities, which also knows what is expected of features above and below 0."""

    def halves(self, theta: Floats) -> tuple[float, Floats, Floats, Floats]:
        """F, its gradient, and the expected parts E⁺ and E⁻ of each feature, flat."""

    def centred(self, theta: Floats) -> Floats:
        """The same probabilities at the least penalty: weights of all classes sum to 0."""

    def reach(self) -> float:
        """M = max_i Σ_j |x_ij|."""


def iterative_scaling(oracle: ScalingOracle, theta: Floats) -> Iterator[Iterate]:
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
        ahead = oracle.centred(theta + balanced(up, down, flat, g) / reach)
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


# How far to go along a direction, at one pass if the first guess is right.


UNSEEN = 10.0  # of κ gᵀ M⁻¹ g, where M is diagonal
NO_STEP = "no step along the direction of descent decreases the objective: rounding has the last word"


class Measure:
    """√(κ gᵀ M⁻¹ g), about √(2 (F - F*)): κ is how far H lies below M, the most of the last few steps.

    Where rows are almost separable, H is a small part of M, and M alone would end a fit too early. A
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


# Nonlinear conjugate gradients.


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


# Gradient descent, and subgradient descent for losses with a corner.


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
