"""Truncated Newton: the Hessian is met by its products alone."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from likelier.solvers.base import Iterate, Metric, Oracle
from likelier.solvers.steps import NO_STEP, Measure, ratio, stepped

Floats = NDArray[np.float64]

MOST = 100  # products for one direction
ROUGH = 0.7  # of the gradient: what is left where the Hessian does not hold as far as the step goes


def newton_cg(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """θ += η d with H d ≈ -g, by conjugate gradients that end early (Dembo, Eisenstat & Steihaug 1982).

    A direction is sought no further than it pays: to a residual of min(½, √norm) of the gradient, so
    that convergence is still faster than linear; after a step that had to be shortened, less far. A step
    costs a pass for each product and one more.

    The norm's κ is gᵀH⁻¹g / gᵀM⁻¹g of the last direction.
    """
    metric = oracle.metric()
    F, g = oracle.gradient(theta)
    measure, kappa, length = Measure(metric), 1.0, 0.0
    while True:
        Mg = metric.solve(g)
        size = float(g @ Mg)
        here = Iterate(theta, F, measure.norm(size, kappa), length, g)
        yield here
        share = ROUGH if 0 < length < 1 else min(0.5, here.norm**0.5)
        d = truncated(oracle, metric, theta, g, Mg, share)
        slope = float(g @ d)
        kappa = ratio(-slope, size)
        step = stepped(oracle, theta, d, F, slope)
        if step is None:
            yield here._replace(stuck=NO_STEP)
            return
        length, theta, F, g = step


def truncated(oracle: Oracle, metric: Metric, theta: Floats, g: Floats, Mg: Floats, share: float) -> Floats:
    """d with |H d + g| <= share |g|, both in the metric: conjugate gradients (Hestenes & Stiefel 1952)."""
    d = np.zeros_like(g)
    r, v = g.copy(), -Mg  # what is left to solve, the next direction
    size = float(g @ Mg)
    enough = share**2 * size
    for _ in range(MOST):
        Hv = oracle.product(theta, v)
        bend = float(v @ Hv)
        if not bend > 0:  # flat as far as rounding can tell
            break
        t = size / bend
        d += t * v
        r += t * Hv
        Mr = metric.solve(r)
        before, size = size, float(r @ Mr)
        if size <= enough:
            break
        v = -Mr + (size / before) * v
    return d if d.any() else -Mg
