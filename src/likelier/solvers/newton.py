"""Newton's method: a weighted least-squares problem in each step."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv

from likelier.solvers.base import Iterate, Oracle, enough, shorter

Floats = NDArray[np.float64]

NO_STEP = "no step along Newton's direction decreases the objective: rounding has the last word"


SLOPING = 1e-12  # of the decrement squared: more than rounding makes of a slope that is 0


def newton(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """θ -= η H⁻¹ g: Newton–Raphson, iteratively reweighted least squares. η = 1 wherever it works.

    The norm is Newton's decrement √(gᵀ H⁻¹ g). A unit step costs one pass, which is also the next
    expansion; a shorter one costs one or two passes more.
    """
    F, g, H = oracle.hessian(theta)
    step = 0.0
    while True:
        d = -solved(H, g)
        slope = float(g @ d)
        norm = float(np.sqrt(max(-slope, 0.0)))
        here = Iterate(theta, F, norm, step, g, H)
        yield here
        ahead = oracle.hessian(theta + d)
        step = 1.0
        if not (np.isfinite(ahead[0]) and enough(F, ahead[0], slope)):
            step = shorter(oracle, theta, d, F, slope)
            if step == 0.0:
                yield here._replace(stuck=NO_STEP)
                return
            ahead = oracle.hessian(theta + step * d)
        theta = theta + step * d
        F, g, H = ahead


def solved(H: Floats, g: Floats) -> Floats:
    """H⁻¹ g: by Cholesky of H in its own units; where H is singular, the shortest solution in them."""
    scale = np.sqrt(np.diagonal(H))
    scale = np.where(scale > 0, scale, 1.0)
    A = H / np.outer(scale, scale)
    b = g / scale
    nothing = np.flatnonzero((np.diagonal(H) == 0) & (g == 0))  # a column that is constant: it has no step
    A[nothing, nothing] = 1.0
    factor, x, bad = dposv(A, b, lower=1)
    diagonal = np.diagonal(factor)
    if bad or not diagonal.min() >= 1e-7 * diagonal.max():
        return shortest(A, b) / scale
    return np.asarray(x / scale)


def shortest(A: Floats, b: Floats) -> Floats:
    """A⁺ b, of a symmetric A that is not negative.

    A direction whose curvature is lost in rounding, but not its slope, is no free one: it has the least
    curvature that could be seen, so that the step goes that way and the decrement knows of it.
    """
    if not np.isfinite(A).all():
        return np.full_like(b, np.nan)
    s, V = eigh(A, check_finite=False)
    least = len(s) * np.finfo(np.float64).eps * s[-1]
    along = V.T @ b
    kept = (s > least) | (along**2 > SLOPING * least)
    return np.asarray((V[:, kept] / np.maximum(s[kept], least)) @ along[kept])
