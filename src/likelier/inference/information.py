"""What a fit by maximum likelihood keeps beside its weights."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from likelier.data import Arrays, block
from likelier.inference.separation import Separation
from likelier.objective import Objective
from likelier.penalties import Penalty
from likelier.solvers import Solution, newton, run_solver

Floats = NDArray[np.float64]

KEPT = 1024  # parameters up to which a fit keeps the Hessian that its solver had: 8 MB
MOST = 10_000  # and up to which one is made when errors are asked for


@dataclass(frozen=True)
class Information:
    """What a likelihood fit leaves beside its weights θ: all that errors without rows need.

    H is Σ w ∂²ℓ/∂θ², without the penalty, at the θ that was found: Fisher's information (1922).
    """

    n: Floats  # (K,), the weight of each class
    log_likelihood: float
    null: float  # the same of a model without columns
    l2: Floats  # (m,), the penalty ½ Σ l2 θ² beside the summed loss
    l1: bool
    intercept: bool
    iterations: int
    converged: bool
    separation: Separation | None = None
    H: Floats | None = None  # (m, m); None: the solver knew none

    @classmethod
    def of(cls, objective: Objective, solution: Solution, separation: Separation | None) -> Self:
        """Of an end that is known already: no pass over rows, unless there are offsets."""
        last, n, penalty = solution.last, objective.n, objective.penalty
        assert objective.totals is not None
        ordinary = objective.setting.unit is None  # else the squares of units may be no numbers
        kept = last.hessian is not None and objective.size <= KEPT and ordinary
        return cls(
            objective.totals,
            -n * (last.value - penalty.value(last.theta)),
            null_log_likelihood(objective),
            n * penalty.l2,
            not penalty.smooth,
            objective.intercept,
            solution.iterations,
            solution.converged,
            separation,
            _curvature(objective, last.hessian) if kept and last.hessian is not None else None,
        )

    def again(self, objective: Objective, theta: Floats) -> Self:
        """The same with the Hessian of the rows of the fit, read once more; others are refused."""
        if objective.size > MOST:
            raise ValueError(
                f"errors of {objective.size} parameters need a matrix of as many rows and columns; "
                f"{MOST} are the most."
            )
        F, _, H = objective.hessian(theta.ravel())
        found = -objective.n * (F - objective.penalty.quadratic(theta.ravel()))
        n, before = objective.n, self.log_likelihood
        if not np.isclose(n, self.n.sum()) or abs(found - before) > 1e-7 * abs(before) + 1e-9 * n:
            raise ValueError(
                "X and y (and sample_weight and offset) are not the rows that were fitted: these are "
                f"{n:g} rows of log-likelihood {found:.6g}, those were {self.n.sum():g} of {before:.6g}."
            )
        return replace(self, H=_curvature(objective, H))


def _curvature(objective: Objective, H: Floats) -> Floats:
    """Of the summed loss alone, from the Hessian that solvers see."""
    return objective.curvature(H) * objective.n


def null_log_likelihood(objective: Objective) -> float:
    """Of the model that knows no column: Σ n_k ln(n_k / n), or n ln(1/K) without an intercept.

    With offsets the intercepts are sought, or there is nothing to seek.
    """
    n, setting, source = objective.n, objective.setting, objective.source
    assert objective.totals is not None
    if not (isinstance(source, Arrays) and source.offset is not None):
        shares = objective.totals / n if objective.intercept else np.full(1, 1 / len(objective.totals))
        return float(xlogy(objective.totals, shares).sum())
    # One column of zeros, of which no score depends.
    rows = replace(source, X=block(np.zeros((len(source), 1))), names=None)
    alone = replace(setting, shift=np.zeros(1))
    none = Penalty.of(setting.q, 1, 0.0, 0.0)
    bare = replace(objective, source=rows, setting=alone, penalty=none, passes=0, _gauge=None)
    start = np.zeros(bare.size)
    if not objective.intercept:
        return -n * float(bare.value(start)[0])
    return -n * run_solver(newton, bare, start, tol=1e-9, max_iter=50).last.value
