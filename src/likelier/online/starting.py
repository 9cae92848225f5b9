"""Where to begin if every pass reads the rows anew: passes are what counts."""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.engines import run
from likelier.objective import Objective
from likelier.online.averaged import averaged
from likelier.online.likeness import metric_like
from likelier.solvers import Iterate, newton, run_solver
from likelier.states import Expansion, Together

Floats = NDArray[np.float64]

APART = 16  # of so many parts one is enough to begin with,
PER_WEIGHT = 10  # if it has so many rows for each weight,
MOST = 3000  # and there are no more weights than this,
MEASURED = 1000  # for a metric than this
MANY = 100_000  # rows, from which on it pays to begin with a few of them
STEPS = 30  # for a few rows
USUAL = 4  # times m/n: F at the solution for n rows is no further above the optimum, if all are like them
EXACT = 0.1  # of what few rows leave uncertain, √(m/n), is left to their solver


def begun(objective: Objective, theta: Floats, *, measured: bool) -> tuple[Floats, str]:
    """A θ near the optimum, and what it is. measured: for a solver that asks for the metric.

    The solution for every 16th part; where these rows are too few for the weights, one pass of averaged
    steps, which finds the metric as well.
    """
    found = of_few(objective, theta) if enough_rows(objective, measured=measured) else None
    if found is None:
        return averaged(objective, theta, measured=measured), "averaged steps"
    said = f"the solution for one of {APART} parts"
    if not measured:
        return found.start(objective), said
    return (found.start(objective), said) if _helps(objective, found) else (theta, "")


class Few(NamedTuple):
    """The problem of a few of the parts, and its solution."""

    objective: Objective
    last: Iterate

    def start(self, objective: Objective) -> Floats:
        """As θ of the problem of all rows."""
        return self.objective.carried(self.last.theta, objective)


def _helps(objective: Objective, found: Few) -> bool:
    """Whether F is less at the solution for a few of the parts than at 0; the metric is known afterwards.

    One pass finds F, its gradient and the Gram matrix of all rows. The Hessian of the few parts is a metric
    nearer to the truth than any bound, but it knows nothing of columns that are constant in those parts:
    it is brought to the Gram matrix of all rows. Where the parts mislead, the bound is the metric.
    """
    theta, few = found.start(objective), found.objective
    at = theta.reshape(objective.setting.q, -1)
    starts = (partial(Expansion.start, objective.setting, at, curved=False), objective.measuring)
    objective.passes += 1
    sums, gram = run(objective.source, partial(Together.start, starts)).states
    objective.recall(theta, sums)
    F, _ = objective.gradient(theta)
    if not objective.known_value() >= F:
        objective.know(objective.measured(gram), 0.0)
        return False
    metric, alike = metric_like(objective, gram, few, run(few.source, few.measuring), found.last)
    objective.know(metric, USUAL * objective.size / few.n if alike else 0.0)
    return True


def enough_rows(objective: Objective, *, measured: bool) -> bool:
    """Whether a few of the parts say where the optimum is."""
    m, n = objective.size, objective.n
    few = m <= (MEASURED if measured else MOST) and n >= max(MANY, APART * PER_WEIGHT * m)
    return few and _some(objective)


def _some(objective: Objective) -> bool:
    return len(objective.source.parts(0)) >= APART // 2


def of_few(objective: Objective, theta: Floats) -> Few | None:
    """The solution for a few of the parts, itself begun with a few of those; None: there was none."""
    few = objective.thinned(APART)
    start = objective.carried(theta, few)
    further = of_few(few, start) if few.n >= MANY and _some(few) else None
    start = start if further is None else further.start(few)
    tol = EXACT * float(np.sqrt(objective.size / few.n))
    found = run_solver(newton, few, start, tol=tol, max_iter=STEPS)
    return Few(few, found.last) if found.converged and np.isfinite(found.last.theta).all() else None
