"""Where to begin if every pass reads the rows anew: passes are what counts."""

import numpy as np
from numpy.typing import NDArray

from likelier.objective import Objective
from likelier.online.averaged import averaged
from likelier.solvers import FullMetric, Iterate, newton, run_solver

Floats = NDArray[np.float64]

APART = 16  # of so many parts one is enough to begin with,
PER_WEIGHT = 10  # if it has so many rows for each weight,
MOST = 3000  # and there are no more weights than this,
MEASURED = 1000  # for a metric than this
MANY = 100_000  # rows, from which on it pays to begin with a few of them
STEPS = 30  # for a few rows
EXACT = 0.1  # of what few rows leave uncertain, √(m/n), is left to their solver


def begun(objective: Objective, theta: Floats, *, measured: bool) -> tuple[Floats, str]:
    """A θ near the optimum, and what it is. measured: for a solver that asks for the metric.

    The solution for every 16th part, whose Hessian is a metric nearer to the truth than any bound; where
    these rows are too few for the weights, one pass of averaged steps, which finds the metric as well.
    """
    found = of_few(objective, theta) if enough_rows(objective, measured=measured) else None
    if found is None:
        return averaged(objective, theta, measured=measured), "averaged steps"
    if measured and found.hessian is not None:
        objective.know(FullMetric.of(found.hessian, 1))
    return found.theta, f"the solution for one of {APART} parts"


def enough_rows(objective: Objective, *, measured: bool) -> bool:
    """Whether a few of the parts say where the optimum is."""
    m, n = objective.size, objective.n
    few = m <= (MEASURED if measured else MOST) and n >= max(MANY, APART * PER_WEIGHT * m)
    return few and _some(objective)


def _some(objective: Objective) -> bool:
    return len(objective.source.parts(0)) >= APART // 2


def of_few(objective: Objective, theta: Floats) -> Iterate | None:
    """The solution for a few of the parts, itself begun with a few of those; None: there was none."""
    few = objective.thinned(APART)
    further = of_few(few, theta) if few.n >= MANY and _some(few) else None
    tol = EXACT * float(np.sqrt(objective.size / few.n))
    start = theta if further is None else further.theta
    found = run_solver(newton, few, start, tol=tol, max_iter=STEPS)
    return found.last if found.converged and np.isfinite(found.last.theta).all() else None
