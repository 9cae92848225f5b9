"""The fit of a penalised loss: where a solver starts, which one takes over, paths of penalties."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from likelier.array_types import Floats
from likelier.choose_solver import (
    LARGEST_HESSIAN,
    SOLVER_SPECS,
    Method,
    Problem,
    SolverChoice,
    SolverSpec,
    chosen,
)
from likelier.data import CSR, Arrays, Dense, Source
from likelier.data.transforms import largest, source_in_units
from likelier.losses import Loss
from likelier.objective import Objective, glance, mean_near, units_of
from likelier.penalties import ElasticNet, Penalty
from likelier.row_solvers import MANY, averaged, begun, takes_rows
from likelier.solvers import Iterate, Solution, Watch, newton, run_solver
from likelier.states import Expansion, Setting
from likelier.threads import one_thread_if

# A problem, from rows, a loss and a penalty.


def posed(
    source: Source,
    totals: Floats,
    loss: Loss,
    penalty: Callable[[int, int, float], Penalty],
    *,
    positive: int = 1,
    intercept: bool = True,
    in_units: bool = True,
) -> Objective:
    """Mean loss and penalty of rows in their final weights, `totals` (K,) by class.

    penalty: of q scores of p columns, beside rows that weigh n. Of two classes one has the code `positive`.
    in_units: no rows will follow, so that columns may have units by their sizes.
    """
    (X, w), n, p = glance(source), float(totals.sum()), source.p
    sizes, rows = largest(X) if in_units else None, None if isinstance(X, CSR) else X.to_array()
    q = len(totals) if loss.by_class else 1
    of_weights = penalty(q, p, n)
    units = None if sizes is None else units_of(source, of_weights.l2[:p], sizes)
    if units is not None:
        source = source_in_units(source, units)
        (X, w) = glance(source)
        rows = None if isinstance(X, CSR) else X.to_array()
    unit = None if units is None else np.exp2(units)
    shift = mean_near(rows, w, p) if intercept else np.zeros(p)
    setting = Setting(loss, q, shift, positive, unit)
    return Objective(source, setting, of_weights.scaled(unit), n, intercept, totals)


# Fewer rows than columns: with an l2 penalty the weights lie in the span of the rows.


class RowSpan(NamedTuple):
    """The same problem in as many columns as there are rows, and the way back to all of them."""

    objective: Objective
    back: Floats  # (r, p)

    @classmethod
    def of(cls, objective: Objective) -> "RowSpan | None":
        """None: rows are not in memory, or sparse, or no fewer than columns; or a weight has no l2 penalty.

        With A the rows about their shift, in columns of unit penalty, and A Aᵀ = V S Vᵀ, W = Aᵀ V S^-½ v
        has the scores V S^½ v, and the same penalty as v.
        """
        source, setting = objective.source, objective.setting
        l2 = objective.penalty.l2[: setting.p]
        if not isinstance(source, Arrays) or isinstance(source.X, CSR) or len(source) >= setting.p:
            return None
        if not (l2 > 0).all() or not objective.penalty.smooth:
            return None
        scale = 1 / np.sqrt(l2)
        A = (source.X.to_array() - setting.shift) * scale
        s, V = eigh(A @ A.T, check_finite=False)
        kept = s > len(s) * np.finfo(np.float64).eps * s[-1]
        if not kept.any():
            return None
        root = np.sqrt(s[kept])
        r = len(root)
        few = replace(
            objective,
            source=replace(source, X=Dense(np.ascontiguousarray(V[:, kept] * root)), names=None),
            setting=replace(setting, shift=np.zeros(r), unit=None),
            penalty=ElasticNet.of(setting.q, r, 1.0, 0.0),
            passes=0,
            _gauge=None,
        )
        return cls(few, (V[:, kept] / root).T @ A * scale)

    def lifted(self, theta: Floats) -> Floats:
        """θ of the whole problem."""
        T = theta.reshape(self.objective.setting.q, -1)
        return np.column_stack([T[:, :-1] @ self.back, T[:, -1]]).ravel()


# The fit itself: where a solver begins, and which continues if it is slow.


FEW_WEIGHTS = 800  # up to which no factorisation is worth the threads of BLAS
SAMPLED = 16  # of so many runs of rows one is enough to begin with,
ENOUGH, PER_WEIGHT = 500, 20  # if that has so many rows, and so many for each weight


class Terms(NamedTuple):
    """When to stop, and how to begin."""

    tol: float
    max_iter: int
    seed: int = 0
    fresh: bool = True  # θ is 0, no knowledge, so that it may pay to begin with a few of the rows


def solve(
    objective: Objective, theta: Floats, choice: SolverChoice, terms: Terms, watch: Watch | None = None
) -> Solution:
    """Minimise, from θ on."""
    with one_thread_if(_largest_system(objective, choice) <= FEW_WEIGHTS):
        found = _followed(objective, theta, choice, terms, watch)
        slow = found.last.stuck == SLOW
        return _gone_on(objective, theta, choice, terms, watch, found) if slow else found


def _largest_system(objective: Objective, choice: SolverChoice) -> int:
    """How many equations a solver solves at once: where they are few, threads cost more than they save."""
    if SOLVER_SPECS[choice.name].curved:
        return objective.size if choice.name != "newton-cg" else 0
    return objective.width if choice.name != "dual" and objective.fully_measured else 0


def _followed(
    objective: Objective,
    theta: Floats,
    choice: SolverChoice,
    terms: Terms,
    watch: Watch | None,
    done: int = 0,
) -> Solution:
    able = SOLVER_SPECS[choice.name]
    # Without a penalty it is errors and tests that a fit is for: what costs a pass at most is asked twice.
    sharp = able.sharpness if objective.penalised else min(able.sharpness, able.sharpness**2)
    tol, max_iter = terms.tol * sharp, terms.max_iter
    method = able.make(terms.seed, tol)
    if choice.then:
        method = partial(_while_it_pays, method, tol=tol, max_iter=max_iter)

    def drive(method: Method, theta: Floats) -> Solution:
        return run_solver(method, objective, theta, tol=tol, max_iter=max_iter, watch=watch, done=done)

    start, said = theta, ""
    if terms.fresh and max_iter:
        start, said = _beginning(objective, theta, choice, terms.seed)
    first = method if start is theta else partial(_unless_misled, method)
    found = drive(first, start)
    if start is not theta and found.last.stuck not in ("", SLOW):
        found, said = drive(method, theta), ""  # the few rows misled
    if found.converged and _doubted(objective, found, able):
        found = _checked(objective, found, tol, max_iter, watch)
    return replace(found, solver=choice.name, why=choice.why + (f"; begun at {said}" if said else ""))


CHECKED = 2000  # entries of θ, up to which an end is checked by a Hessian


def _doubted(objective: Objective, found: Solution, able: SolverSpec) -> bool:
    """Whether the norm that ended a fit may be far from √(2 (F - F*)), and a Hessian can be had to see it.

    It may, where it rests on rows that are not like all, or on the length of the last steps. Without a
    penalty the end is looked at in any case: for errors, tests and separated classes.
    """
    if found.last.hessian is not None or objective.size > CHECKED or not objective.setting.loss.curved:
        return False
    fell = found.trace[0, 0] - found.last.value
    return objective.penalty.smooth and (
        not objective.penalised or able.guesses or fell > objective.promised
    )


def _checked(
    objective: Objective, before: Solution, tol: float, max_iter: int, watch: Watch | None
) -> Solution:
    """The end by the Hessian of all rows: where it was, or some steps of Newton's method further on."""
    sharp = tol if objective.penalised else tol * SOLVER_SPECS["newton"].sharpness ** 2
    done, theta = before.iterations, before.last.theta
    found = run_solver(newton, objective, theta, tol=sharp, max_iter=max_iter, watch=watch, done=done)
    there = found.last.norm <= tol
    reason = found.reason if found.converged or not there else before.reason
    trace = np.concatenate([before.trace[:-1], found.trace])
    return replace(found, trace=trace, converged=found.converged or there, reason=reason)


MISLED = "F is above that at 0"


def _unless_misled(method: Method, objective: Objective, theta: Floats) -> Iterator[Iterate]:
    """From a start that is not to be worse than θ = 0."""
    iterates = method(objective, theta)
    first = next(iterates)
    yield first if first.value <= objective.known_value() else first._replace(norm=np.inf, stuck=MISLED)
    yield from iterates


SLOW = "it would need too many steps"
PATIENCE = 10  # steps, from which on the later half of them predicts the others


def _while_it_pays(
    method: Method, objective: Objective, theta: Floats, *, tol: float, max_iter: int
) -> Iterator[Iterate]:
    """Until the steps so far predict more than twice as many as are left.

    By the least norm yet: of some solvers it falls by fits and starts.
    """
    logs: list[float] = []
    for number, iterate in enumerate(method(objective, theta)):
        here = float(np.log(max(iterate.norm, tol, np.finfo(np.float64).tiny)))
        logs.append(min(here, logs[-1]) if logs else here)
        half = max(number // 2, PATIENCE)
        gain = logs[-1 - half] - logs[-1] if number >= PATIENCE else np.inf
        left = logs[-1] - np.log(max(tol, np.finfo(np.float64).tiny))
        slow = left * half > 2 * (max_iter - number) * gain and number < max_iter
        yield iterate._replace(stuck=SLOW) if slow else iterate


def _gone_on(
    objective: Objective,
    theta: Floats,
    choice: SolverChoice,
    terms: Terms,
    watch: Watch | None,
    before: Solution,
) -> Solution:
    """The same by another solver: in the span of the rows where these are few, else from where F is less.

    That is the start, or what the slow one came to.
    """
    spanned = _in_span(objective, choice, terms, watch, before)
    if spanned is not None:
        return spanned
    ends = np.stack([theta, before.last.theta])
    F = objective.value(ends)
    if choice.then == "newton-cg" and not takes_rows(objective):
        # A system in each of many steps: they are worth a good metric.
        objective.measure_fully()
    better = ends[np.argmin(np.where(np.isfinite(F), F, np.inf))]
    why = f"{choice.why}; after {before.iterations} steps of {choice.name}, which was too slow"
    then, rest = SolverChoice(choice.then, why), terms._replace(fresh=False)
    found = _followed(objective, better, then, rest, watch, done=before.iterations)
    return replace(found, trace=np.concatenate([before.trace, found.trace[1:]]))


def _in_span(
    objective: Objective, choice: SolverChoice, terms: Terms, watch: Watch | None, before: Solution
) -> Solution | None:
    """By Newton's method in as many columns as there are rows; None: it cannot, or rounding spoils it."""
    span = RowSpan.of(objective) if objective.setting.loss.curved else None
    if span is None or span.objective.size > LARGEST_HESSIAN:
        return None

    def lifted(iterate: Iterate) -> Iterate:
        return iterate._replace(theta=span.lifted(iterate.theta), gradient=None, hessian=None)

    def report(number: int, iterate: Iterate) -> None:
        if watch is not None:
            watch(number, lifted(iterate))

    why = f"{choice.why}; after {before.iterations} steps of {choice.name}, which was too slow"
    by, start = SolverChoice("newton", f"{why}, in the span of the rows"), np.zeros(span.objective.size)
    rest = terms._replace(fresh=False)
    found = _followed(span.objective, start, by, rest, report, done=before.iterations)
    last = lifted(found.last)
    there = float(objective.value(last.theta[None])[0])
    if not found.converged or abs(there - last.value) > terms.tol**2 / 2:
        return None
    trace = np.concatenate([before.trace, found.trace[1:]])
    return replace(found, last=last, trace=trace)


def _many(problem: Problem) -> bool:
    """Whether a part of the rows tells enough to begin with."""
    few = problem.n // SAMPLED
    return problem.n >= MANY or (
        problem.in_memory and few >= max(ENOUGH, PER_WEIGHT * problem.objective.size)
    )


def _beginning(objective: Objective, theta: Floats, choice: SolverChoice, seed: int) -> tuple[Floats, str]:
    """Near the optimum, at a part of the cost; and what it is, if passes were to be saved."""
    problem, able = Problem.of(objective), SOLVER_SPECS[choice.name]
    if able.averages and objective.setting.loss.smooth:
        start = averaged(objective, theta, seed=seed, measured=objective.penalty.smooth)
        return (start, "") if np.isfinite(start).all() else (theta, "")
    if not able.samples or not _many(problem):
        return theta, ""
    if problem.in_memory:  # the solution for a few of the rows
        method, few = able.make(0, 1e-2), objective.sampled(SAMPLED)
        found = run_solver(method, few, objective.carried(theta, few), tol=1e-2, max_iter=30)
        start, said = few.carried(found.last.theta, objective), ""
    else:
        start, said = begun(objective, theta, measured=able.measures)
    return (start, said) if np.isfinite(start).all() else (theta, "")


# One problem under one penalty after another.


class CachedSums(NamedTuple):
    """Sums over rows of a source at θ."""

    source: Source
    theta: Floats
    sums: Expansion


@dataclass
class CachingObjective(Objective):
    """An objective that recalls its last sums over rows: another penalty at the same θ costs no pass.

    And the last that had a Hessian: a solver may begin with it.
    """

    last: dict[bool, CachedSums] = field(default_factory=dict, repr=False)  # by whether there is a Hessian

    @classmethod
    def of(cls, objective: Objective) -> "CachingObjective":
        return cls(**{each.name: getattr(objective, each.name) for each in fields(Objective) if each.init})

    def beneath(self, penalty: Penalty) -> "CachingObjective":
        return replace(self, penalty=penalty, passes=0, _gauge=None)

    def nearby(self, theta: Floats) -> tuple[float, Floats, Floats, bool]:
        kept = self.last.get(True)
        if kept is None or kept.source is not self.source or np.array_equal(kept.theta, theta):
            return super().nearby(theta)
        assert kept.sums.H is not None
        H = self._curvature(kept.sums.H.copy())
        self._close(H)
        return *self.gradient(theta), H, False

    def _sums(self, theta: Floats, *, curved: bool) -> Expansion:
        for kept in (self.last[is_curved] for is_curved in (True, curved) if is_curved in self.last):
            if kept.source is self.source and np.array_equal(kept.theta, theta):
                break
        else:
            kept = self.last[curved] = CachedSums(self.source, theta, super()._sums(theta, curved=curved))
        sums = kept.sums
        H = sums.H.copy() if curved and sums.H is not None else None
        return replace(sums, f=sums.f.copy(), g=sums.g.copy(), H=H)


def path(
    objective: Objective, penalties: Sequence[Penalty], solver: str, terms: Terms
) -> Iterator[Solution]:
    """The solution under each of the penalties, from that of the one before: the strongest first.

    The curvature at the last solution is also that of the next problem there, so that its first step
    needs no pass; a small step along the path needs hardly another.
    """
    start, problem = np.zeros(objective.size), CachingObjective.of(objective)
    for penalty in penalties:
        problem = problem.beneath(penalty)
        found = solve(problem, start, chosen(solver, problem), terms)
        yield found
        start, terms = found.last.theta, terms._replace(fresh=False)
