"""The margin of several classes at once (Crammer & Singer 2001), by softmax regressions that sharpen.

The loss of a row is max_j (z_j + [j ≠ y]) - z_y. Softened by μ, it is μ ln Σ_j exp((z_j + [j ≠ y]) / μ)
- z_y, at most μ ln K more: the log-loss of softmax, of scores z / μ, with what is known of each row added
to them. So each μ is a problem that is solved already, and begins where the one before it ended.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from likelier.data import Arrays
from likelier.estimators.weights import Course, Weights
from likelier.objective import Objective
from likelier.solvers import Solution

Floats = NDArray[np.float64]
Solve = Callable[[Objective, Weights | None], Solution]
FALL = 0.25  # of μ, from one problem to the next
MOST_EXACT = 1e-6  # the least tol: beyond it, corners are as sharp as rounding


def crammer_singer(objective: Objective, solve: Solve, tol: float) -> tuple[Weights, Solution]:
    """Weights whose objective is within `tol` of the least, and the last solution; objective: softmax."""
    source = objective.source
    if not isinstance(source, Arrays):
        raise ValueError(
            "multi_class='crammer_singer' needs the rows in memory, and X is a source: load its rows, or "
            "use multi_class='ovr'."
        )
    assert source.y is not None
    q, (n,) = objective.setting.q, source.y.shape
    margin = np.ones((n, q))
    margin[np.arange(n), source.y] = 0.0
    last = max(tol, MOST_EXACT) / np.log(q)
    mu, weights = 1.0, None
    traces: list[Floats] = []
    while True:
        soft = replace(source, offset=margin / mu)
        penalty = objective.penalty
        problem = replace(objective, source=soft, penalty=replace(penalty, l2=penalty.l2 * mu))
        solution = solve(problem, None if weights is None else _scaled(weights, 1 / mu))
        weights = _scaled(Weights.of(solution, problem.setting), mu)
        traces.append(solution.trace[bool(traces) :] * [mu, mu, 1.0])
        if mu <= last:
            break
        mu = max(mu * FALL, last)
    whole = replace(solution, trace=np.concatenate(traces))
    return replace(weights, course=Course.of(whole)), whole


def _scaled(weights: Weights, factor: float) -> Weights:
    return replace(weights, W=weights.W * factor, b=weights.b * factor)
