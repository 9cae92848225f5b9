"""L-BFGS: Newton's method with a Hessian guessed from the last few steps."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.solvers.base import Iterate, Oracle
from likelier.solvers.steps import NO_STEP, Measure, ratio, stepped

Floats = NDArray[np.float64]

MEMORY = 20  # steps that are remembered


class Pair(NamedTuple):
    """A step s, how it changed the gradient, r, and that change in the metric, M⁻¹ r."""

    s: Floats
    r: Floats
    Mr: Floats
    sr: float  # s·r > 0


def lbfgs(oracle: Oracle, theta: Floats, *, memory: int = MEMORY) -> Iterator[Iterate]:
    """θ -= η B g, B ≈ H⁻¹ from the last steps, beginning with M⁻¹ (Liu & Nocedal 1989). η = 1 if it works.

    The metric M bounds every Hessian, so that the units of columns and their correlations do not
    matter. The norm's κ is gᵀBg / gᵀM⁻¹g. A unit step costs one pass.
    """
    metric = oracle.metric()
    pairs: deque[Pair] = deque(maxlen=memory)
    F, g = oracle.gradient(theta)
    Mg = metric.solve(g)
    measure, length = Measure(metric), 0.0
    while True:
        d = -turned(pairs, g, Mg)
        slope, size = float(g @ d), float(g @ Mg)
        here = Iterate(theta, F, measure.norm(size, ratio(-slope, size)), length, g)
        yield here
        step = stepped(oracle, theta, d, F, slope)
        if step is None and pairs:  # what was learned elsewhere misleads here
            pairs.clear()
            step = stepped(oracle, theta, -Mg, F, -size)
        if step is None:
            yield here._replace(stuck=NO_STEP)
            return
        before, Mg = Mg, metric.solve(step.gradient)
        s, r = step.theta - theta, step.gradient - g
        sr = float(s @ r)
        if sr > np.finfo(np.float64).eps * float(r @ (Mg - before)):
            pairs.append(Pair(s, r, Mg - before, sr))
        length, theta, F, g = step


def turned(pairs: Sequence[Pair], g: Floats, Mg: Floats) -> Floats:
    """B g by two loops over the pairs, between them γ M⁻¹; γ: how far H is below M along the last step.

    M⁻¹ of the first loop's result is a sum of known vectors: no system is solved here.
    """
    if not pairs:
        return Mg
    q, Mq = g.copy(), Mg.copy()
    alphas = []
    for pair in reversed(pairs):
        alpha = float(pair.s @ q) / pair.sr
        q -= alpha * pair.r
        Mq -= alpha * pair.Mr
        alphas.append(alpha)
    last = pairs[-1]
    B = Mq * (last.sr / float(last.r @ last.Mr))
    for pair, alpha in zip(pairs, reversed(alphas), strict=True):
        B += (alpha - float(pair.r @ B) / pair.sr) * pair.s
    return B
