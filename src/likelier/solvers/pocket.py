"""The perceptron criterion in batch, and the weights with the fewest mistakes."""

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinvh

from likelier.losses import Loss, mistakes, squared
from likelier.solvers.base import Iterate, Oracle

Floats = NDArray[np.float64]

WIDE = 2000  # columns from which the second moments are too many
PATIENCE = 200  # steps without a new best: what is in the pocket stays there


class Recast(Oracle, Protocol):
    """A problem whose rows can be judged by another loss."""

    def under(self, loss: Loss) -> Oracle:
        """Of the same rows, without the penalty."""


def pocket(problem: Recast, theta: Floats) -> Iterator[Iterate]:
    """θ -= M⁻¹ g, g the mean of -t x over mistakes, and the best θ so far kept (Gallant 1990).

    Weights of 0 minimise the criterion, so it is not what tells iterates apart, but their share of
    mistakes is: the norm is √(2 share), 0 where no row asks for a change. The length of a step only
    scales θ; M, the rows' second moments, makes the path one and the same in any units of the columns.
    """
    solve, judge = _moments(problem), problem.under(mistakes)
    best, least, since = Iterate(theta, np.inf, np.inf), np.inf, 0
    while since < PATIENCE:
        F, g = problem.gradient(theta)
        share = float(judge.value(theta[None])[0])
        since += 1
        if share < least:
            step = 0.0 if least == np.inf else 1.0
            best, least, since = Iterate(theta, F, float(np.sqrt(2 * share)), step), share, 0
        yield best
        theta = theta - solve(g)
    yield best._replace(stuck=f"no fewer mistakes in {PATIENCE} steps")


def _moments(problem: Recast) -> Callable[[Floats], Floats]:
    """M⁻¹ g. Where M is singular, no g leaves its range, and of all solutions it is the shortest."""
    if problem.size > WIDE:
        return problem.metric().solve
    # The Hessian of least squares, which depends on no label: the mean of x xᵀ.
    M = problem.under(squared).hessian(np.zeros(problem.size))[2]
    scale = np.sqrt(np.diagonal(M))
    scale = np.where(scale > 0, scale, 1.0)
    inverse = pinvh(M / np.outer(scale, scale), rtol=1e-10)
    return lambda g: np.asarray(inverse @ (g / scale) / scale)
