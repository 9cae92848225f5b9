"""The fit itself: where a solver begins, and who goes on if it is slow."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.abilities import ABILITIES, Choice, Method, Problem
from likelier.data import Arrays
from likelier.objective import Objective
from likelier.online import MANY, averaged, begun
from likelier.solvers import Iterate, Solution, Watch, run_solver

Floats = NDArray[np.float64]

SAMPLED = 16  # of so many runs of rows one is enough to begin with


class Terms(NamedTuple):
    """When to stop, and how to begin."""

    tol: float
    max_iter: int
    seed: int = 0
    fresh: bool = True  # θ is 0, no knowledge, so that it may pay to begin with a few of the rows


def solve(
    objective: Objective, theta: Floats, choice: Choice, terms: Terms, watch: Watch | None = None
) -> Solution:
    """Minimise, from θ on."""
    found = _followed(objective, theta, choice, terms, watch)
    return _gone_on(objective, theta, choice, terms, watch, found) if found.last.stuck == SLOW else found


def _followed(
    objective: Objective, theta: Floats, choice: Choice, terms: Terms, watch: Watch | None, done: int = 0
) -> Solution:
    able = ABILITIES[choice.name]
    # Without a penalty it is errors and tests that a fit is for: what costs a pass at most is asked twice.
    sharp = able.sharpness if objective.penalised else min(able.sharpness, able.sharpness**2)
    tol, max_iter = terms.tol * sharp, terms.max_iter
    method = able.make(terms.seed, tol)
    if choice.then:
        method = partial(_while_it_pays, method, tol=tol, max_iter=max_iter)
    drive = partial(run_solver, method, objective, tol=tol, max_iter=max_iter, watch=watch, done=done)
    start, said = theta, ""
    if terms.fresh and max_iter:
        start, said = _beginning(objective, theta, choice, terms.seed)
    found = drive(start)
    if start is not theta and not found.trace[0, 0] <= _known_value(objective):
        found, said = drive(theta), ""  # the few rows misled
    return replace(found, solver=choice.name, why=choice.why + (f"; begun at {said}" if said else ""))


SLOW = "it would need too many steps"
PATIENCE = 10  # steps, by which the others are foretold


def _while_it_pays(
    method: Method, objective: Objective, theta: Floats, *, tol: float, max_iter: int
) -> Iterator[Iterate]:
    """Until the last steps foretell more than twice as many as are left."""
    logs: list[float] = []
    for number, iterate in enumerate(method(objective, theta)):
        logs.append(float(np.log(max(iterate.norm, tol, np.finfo(np.float64).tiny))))
        gain = logs[-1 - PATIENCE] - logs[-1] if number >= PATIENCE else np.inf
        left = logs[-1] - np.log(max(tol, np.finfo(np.float64).tiny))
        slow = left * PATIENCE > 2 * (max_iter - number) * gain and number < max_iter
        yield iterate._replace(stuck=SLOW) if slow else iterate


def _gone_on(
    objective: Objective,
    theta: Floats,
    choice: Choice,
    terms: Terms,
    watch: Watch | None,
    before: Solution,
) -> Solution:
    """The same by another solver, from where F is less: the start, or what the slow one came to."""
    ends = np.stack([theta, before.last.theta])
    F = objective.value(ends)
    better = ends[np.argmin(np.where(np.isfinite(F), F, np.inf))]
    why = f"{choice.why}; after {before.iterations} steps of {choice.name}, which was too slow"
    then, rest = Choice(choice.then, why), terms._replace(fresh=False)
    found = _followed(objective, better, then, rest, watch, done=before.iterations)
    return replace(found, trace=np.concatenate([before.trace, found.trace[1:]]))


def _beginning(objective: Objective, theta: Floats, choice: Choice, seed: int) -> tuple[Floats, str]:
    """Near the optimum, at a part of the cost; and what it is, if passes were to be saved."""
    problem, able = Problem.of(objective), ABILITIES[choice.name]
    if able.averages and objective.setting.loss.smooth:
        start = averaged(objective, theta, seed=seed, measured=objective.penalty.smooth)
        return (start, "") if np.isfinite(start).all() else (theta, "")
    if not able.samples or problem.n < MANY:
        return theta, ""
    if problem.in_memory:  # the solution for a few of the rows
        method = able.make(0, 1e-2)
        found = run_solver(method, objective.sampled(SAMPLED), theta, tol=1e-2, max_iter=30)
        start, said = found.last.theta, ""
    else:
        start, said = begun(objective, theta, measured=able.measures)
    return (start, said) if np.isfinite(start).all() else (theta, "")


def _known_value(objective: Objective) -> float:
    """F(0), which needs no rows; with offsets it is not known."""
    source, setting = objective.source, objective.setting
    if isinstance(source, Arrays) and source.offset is not None:
        return np.inf
    return float(setting.loss.value(np.zeros((1, setting.q)), np.zeros(1, dtype=np.int32))[0])
