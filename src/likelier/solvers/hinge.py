"""Losses with a corner: the hinge by smoothing, and the perceptron criterion with pocket weights."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import pinvh

from likelier.array_types import Floats
from likelier.losses import Loss, criterion, mistakes, smooth_hinge, squared
from likelier.solvers.base import Iterate, Oracle, enough, run_solver, shorter
from likelier.solvers.newton import solved

# The perceptron criterion in batch, and the weights with the fewest mistakes.


WIDE = 2000  # columns from which the second moments are too many
PATIENCE = 200  # steps without a new best: what is in the pocket stays there


class RecastOracle(Oracle, Protocol):
    """A problem whose rows can be evaluated by another loss."""

    def under(self, loss: Loss) -> Oracle:
        """Of the same rows, without the penalty."""


def pocket(problem: RecastOracle, theta: Floats) -> Iterator[Iterate]:
    """θ -= M⁻¹ g, g the mean of -t x over mistakes, and the best θ so far kept (Gallant 1990).

    Weights of 0 minimise the criterion, so it is not what tells iterates apart, but their share of
    mistakes is: the norm is √(2 share), 0 where no row asks for a change. The length of a step only
    scales θ; M, the rows' second moments, makes the path one and the same in any units of the columns.
    """
    solve, mistake_rate = _moments(problem), problem.under(mistakes)
    best, least, since = Iterate(theta, np.inf, np.inf), np.inf, 0
    while since < PATIENCE:
        F, g = problem.gradient(theta)
        share = float(mistake_rate.value(theta[None])[0])
        since += 1
        if share < least:
            step = 0.0 if least == np.inf else 1.0
            best, least, since = Iterate(theta, F, float(np.sqrt(2 * share)), step), share, 0
        yield best
        theta = theta - solve(g)
    yield best._replace(stuck=f"no fewer mistakes in {PATIENCE} steps")


def _moments(problem: RecastOracle) -> Callable[[Floats], Floats]:
    """M⁻¹ g. Where M is singular, no g leaves its range, and of all solutions it is the shortest."""
    if problem.size > WIDE:
        return problem.metric().solve
    # The Hessian of least squares, which depends on no label: the mean of x xᵀ.
    M = problem.under(squared).hessian(np.zeros(problem.size))[2]
    scale = np.sqrt(np.diagonal(M))
    scale = np.where(scale > 0, scale, 1.0)
    inverse = pinvh(M / np.outer(scale, scale), rtol=1e-10)
    return lambda g: np.asarray(inverse @ (g / scale) / scale)


# The hinge, whose corner Newton's method cannot take: by hinges with a round one, ever sharper.


WIDEST, SHARPER, NARROWEST = 2.0, 0.1, 1e-11
INNER = 1e-8  # of each width: its next step would gain less than rounding does
REACH = 0.1
STEPS = 100  # of Newton's, at most, for each width
SHARPEST = "the corner is as sharp as numbers can be: rounding has the last word"


class MarginOffsetOracle(Oracle, Protocol):
    """A problem whose margins m can be looked at closely about 1."""

    def with_margin_offset(self, loss: Loss, width: float) -> Oracle:
        """Of a loss of 1 + (m - 1) / width, at θ / width; times width it is on the scale of F."""


def smoothing(problem: MarginOffsetOracle, theta: Floats) -> Iterator[Iterate]:
    """Minimise the mean of h ψ((1 - m) / h) for widths h that fall to 0 (Chapelle 2007).

    ψ rounds the corner: h ψ((1 - m) / h) = max over a in [0, 1] of a (1 - m) - h a²/2. The a at its
    minimum are a solution of the hinge's dual problem, though not the best: what they are worth there
    is a bound below F*, so that the norm √(2 (F - bound)) is no estimate. Minima move on straight
    lines in h while no row changes its side of a corner, so that two of them point to that at h = 0.
    """
    F, low, width = float(problem.value(theta[None])[0]), 0.0, WIDEST
    best, path = Iterate(theta, F, float(np.sqrt(2 * F))), MinimaPath()
    size = np.sqrt(
        np.diagonal(problem.with_margin_offset(smooth_hinge, WIDEST).hessian(np.zeros_like(theta))[2])
    )
    yield best
    while width > NARROWEST:
        steps = partial(_steps, size=size, width=width)
        start = path.at(width, theta) / width
        found = run_solver(
            steps, problem.with_margin_offset(smooth_hinge, width), start, tol=INNER, max_iter=STEPS
        ).last
        here = found.theta * width
        path = path.on(width, here)
        low = max(low, _worth(problem, found, width))
        tried = np.array([best.theta, here, path.at(0.0, here)])
        values = problem.value(tried)
        F = float(values.min())
        best = Iterate(tried[values.argmin()], F, float(np.sqrt(2 * max(F - low, 0.0))), width)
        yield best
        width *= SHARPER
    yield best._replace(stuck=SHARPEST)


def _steps(oracle: Oracle, theta: Floats, *, size: Floats, width: float) -> Iterator[Iterate]:
    """θ -= η (H + λ D²)⁻¹ g, λ going to 0 with g (Li, Fukushima, Qi & Yamashita 2004), D the columns' size.

    Where no row is on the round of the corner, H is 0, or the penalty alone, and Newton's step none, or
    as long as from here to the moon. With λ it is some units of scores, and shorter if need be.
    """
    F, g, H = oracle.hessian(theta)
    step = 0.0
    while True:
        damping = REACH * width * np.linalg.norm(g / size)
        d = -solved(H + np.diag(damping * size**2), g)
        slope = float(g @ d)
        yield Iterate(theta, F, float(np.sqrt(max(-slope * width, 0.0))), step, g)
        step = 1.0
        ahead = oracle.hessian(theta + d)
        if not enough(F, ahead[0], slope):
            step = shorter(oracle, theta, d, F, slope)
            if step == 0.0:
                return
            ahead = oracle.hessian(theta + step * d)
        theta = theta + step * d
        F, g, H = ahead


def _worth(problem: MarginOffsetOracle, found: Iterate, width: float) -> float:
    """The dual's value at the a of this minimum: h (2 mean ψ(u) - mean (u - 1)₊) + penalty, u = (1 - m)/h.

    It is the minimum, F_h, plus h/2 mean a², and a² = 2 (ψ(u) - (u - 1)₊); the latter is the perceptron
    criterion of the margin 1 - u. What the next step would gain is not the dual's yet.
    """
    beyond = float(problem.with_margin_offset(criterion, width).value(found.theta[None])[0])
    return width * (2 * found.value - beyond) - found.norm**2


class MinimaPath(NamedTuple):
    """The last two minima, by width."""

    before: tuple[float, Floats] | None = None
    last: tuple[float, Floats] | None = None

    def on(self, width: float, theta: Floats) -> "MinimaPath":
        return MinimaPath(self.last, (width, theta))

    def at(self, width: float, theta: Floats) -> Floats:
        """On the line through both; of one: there; of none: `theta`."""
        if self.last is None:
            return theta
        b, y = self.last
        if self.before is None:
            return y
        a, x = self.before
        return y + (y - x) * ((width - b) / (b - a))
