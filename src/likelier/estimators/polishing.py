"""From averaged steps to the optimum of what they descend: by L-BFGS, over all parts."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from likelier.abilities import Choice
from likelier.data import Source
from likelier.estimators.strides import Journey, Route, Strides
from likelier.estimators.weighing import weighed
from likelier.estimators.weights import Course as Way
from likelier.estimators.weights import Weights
from likelier.losses import Loss, logistic, softmaxed, squared, squared_hinge
from likelier.objective import Objective, shift_of
from likelier.online.stochastic import Course
from likelier.penalties import Penalty
from likelier.solvers import Solution
from likelier.solving import Terms, solve
from likelier.states import Setting

Floats = NDArray[np.float64]

# Losses that are smooth, and that sums over rows are known of.
SMOOTH: dict[str, Loss] = {
    "log_loss": logistic,
    "softmax": softmaxed,
    "squared_hinge": squared_hinge,
    "squared_error": squared,
}
TOL = 1e-4  # of the gradient's norm, where no tol is asked for
CHOICE = Choice("averaged", "steps in each part, averaged, then a batch solver")


def polished(route: Route, source: Source, start: Strides, most: int, seed: int) -> Journey:
    """Weights at the optimum: of averaged steps, which find their own pace, then of a batch solver.

    Σ w ℓ / Σ w + α R(w), the weights of classes beside those of rows: with rows that weigh 1 it is what
    stochastic steps descend.
    """
    course, theta, n = route.course, start.theta, start.n.sum()
    objectives = problems(route, source, float(n), len(theta))
    tol = TOL if course.tol is None else course.tol
    solutions, rows = [], []
    for number, objective in enumerate(objectives):
        part = theta[number : number + 1] if route.apart else theta
        solutions.append(
            solve(
                objective, _about(part, objective.setting), CHOICE, Terms(tol, most, seed, not part.any())
            )
        )
        rows.append(_about_zero(solutions[-1], objective.setting))
    end = np.concatenate(rows)
    mean = None if start.mean is None else end
    strides = replace(start, theta=end, mean=mean, t=start.t + int(n))
    return Journey(strides, np.empty(0), True, 0, 0, pooled=True, way=_way(solutions, course))


def problems(route: Route, source: Source, n: float, q: int) -> list[Objective]:
    """One, or one for each class against the rest."""
    course, K = route.course, route.K
    shift = shift_of(source) if course.intercept else np.zeros(source.p)
    loss = logistic if q == 1 and course.loss == "softmax" else SMOOTH[course.loss]
    scores = 1 if route.apart else q
    penalty = Penalty.of(scores, source.p, course.strength * course.l2, course.strength * course.l1)
    found = []
    for k in range(K) if route.apart else [1]:
        factor = route.factor
        if factor is not None and route.apart:  # as in scikit-learn it counts where the class is the one
            factor = np.where(np.arange(K) == k, factor, 1.0)
        rows, _ = weighed(source, np.zeros(K), factor)
        found.append(Objective(rows, Setting(loss, scores, shift, k), penalty, n, course.intercept))
    return found


def _about(theta: Floats, setting: Setting) -> Floats:
    """Weights of x, as weights of x - shift, flat."""
    b = theta[:, -1] + theta[:, :-1] @ setting.shift
    return np.column_stack([theta[:, :-1], b]).ravel()


def _about_zero(solution: Solution, setting: Setting) -> Floats:
    model = Weights.of(solution, setting)
    return np.column_stack([model.W, model.intercept])


def _way(solutions: list[Solution], course: Course) -> Way:
    """Of the problem that took longest; converged, if all did."""
    longest = max(solutions, key=lambda solution: (not solution.converged, solution.iterations))
    then = "L-BFGS" if not course.l1 else "proximal Newton"
    reason = f"steps in each part, averaged, then {then}: {longest.reason}"
    return replace(Way.of(longest), reason=reason)
