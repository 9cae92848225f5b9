"""Which solver for which problem, and the fit itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.data import CSR, Arrays, Source
from likelier.losses import criterion
from likelier.objective import Objective
from likelier.online import dual, sgd
from likelier.solvers import (
    Iterate,
    Solution,
    Watch,
    cg,
    gradient,
    iterative_scaling,
    lbfgs,
    newton,
    newton_cg,
    pocket,
    proximal,
    run_solver,
    smoothing,
    subgradient,
)

Floats = NDArray[np.float64]

# A batch solver sees no more of an `Objective` than its `Oracle`; a row solver reads its rows.
Method = Callable[[Objective, Floats], Iterator[Iterate]]


@dataclass(frozen=True)
class Ability:
    """A solver, and the problems that it can solve."""

    make: Callable[[int, float], Method]  # from a seed and the tolerance
    smooth: bool = True  # the loss must have a slope everywhere
    curved: bool = False  # and a bend
    l1: bool = False  # takes |θ| in the penalty
    l2: bool = False  # cannot do without θ² in it
    losses: tuple[str, ...] = ()  # these alone
    in_memory: bool = False  # reads row by row, in an order of its own
    sharpness: float = 1.0  # it is held to this share of tol
    samples: bool = False  # where rows are many, it begins with a few of them

    def lacks(self, problem: "Problem") -> str:
        """Why it cannot solve this; "": it can."""
        loss = problem.objective.setting.loss
        if self.losses and loss.name not in self.losses:
            return f"it is for the losses {', '.join(self.losses)}"
        if self.curved and not loss.curved:
            return f"the {loss.name} loss has no curvature"
        if self.smooth and not loss.smooth:
            return f"the {loss.name} loss has a corner"
        if problem.l1 and not self.l1:
            return "the penalty has an l1 part"
        if self.l2 and not problem.l2:
            return "it needs an l2 penalty on every column"
        if self.in_memory and not problem.in_memory:
            return "it needs the rows in memory"
        return ""


class Problem(NamedTuple):
    """What of an objective decides which solver suits it."""

    objective: Objective
    n: int | None  # rows
    sparse: bool
    in_memory: bool

    @property
    def l1(self) -> bool:
        return not self.objective.penalty.smooth

    @property
    def l2(self) -> bool:
        """On every weight."""
        weights = self.objective.penalty.l2.reshape(self.objective.setting.q, -1)[:, :-1]
        return bool((weights > 0).all())

    @classmethod
    def of(cls, objective: Objective) -> "Problem":
        source: Source = objective.source
        memory = isinstance(source, Arrays)
        sparse = isinstance(source, Arrays) and isinstance(source.X, CSR)
        return cls(objective, source.rows, sparse, memory)


def _always(method: Method) -> Callable[[int, float], Method]:
    return lambda seed, tol: method


def _descent(objective: Objective, theta: Floats) -> Iterator[Iterate]:
    """Gradient descent, in the form that the loss admits.

    The perceptron criterion is least at θ = 0, which is of no use: the best has the fewest mistakes.
    """
    loss = objective.setting.loss
    if loss.smooth:
        return gradient(objective, theta)
    return (pocket if loss.name == criterion.name else subgradient)(objective, theta)


# A new solver joins here.
ABILITIES: dict[str, Ability] = {
    # Its last step squares the error: to ask for more costs one pass at most.
    "newton": Ability(_always(newton), curved=True, sharpness=0.1, samples=True),
    "proximal": Ability(_always(proximal), curved=True, l1=True, sharpness=0.1),
    "newton-cg": Ability(_always(newton_cg), curved=True),
    "lbfgs": Ability(_always(lbfgs), samples=True),
    "cg": Ability(_always(cg)),
    "gradient": Ability(_always(_descent), smooth=False),
    "smoothing": Ability(_always(smoothing), smooth=False, l2=True, losses=("hinge",)),
    "iterative-scaling": Ability(_always(iterative_scaling), losses=("logistic", "softmax")),
    "dual": Ability(
        lambda seed, tol: partial(dual, seed=seed, tol=tol),
        smooth=False,
        l2=True,
        losses=("logistic", "softmax", "hinge", "squared_hinge", "squared"),
        in_memory=True,
    ),
    # Its steps are noise at last: a hundredth of what the others are asked for is a hundred epochs more.
    "sgd": Ability(
        lambda seed, tol: partial(sgd, seed=seed), smooth=False, l1=True, in_memory=True, sharpness=100.0
    ),
}

# scikit-learn's names.
ALIASES = {"newton-cholesky": "newton", "liblinear": "auto", "sag": "auto", "saga": "auto"}


class Choice(NamedTuple):
    """A solver's name, and why it was chosen."""

    name: str
    why: str
    then: str = ""  # the solver to go on with where this one is too slow


def chosen(name: str, objective: Objective) -> Choice:
    """The solver of this name, or that suits best; trios that do not go together are refused."""
    problem = Problem.of(objective)
    asked = ALIASES.get(name, name)
    if asked == "auto":
        return best(problem)
    if asked not in ABILITIES:
        raise ValueError(f"solver={name!r}: it is one of auto, {', '.join((*ABILITIES, *ALIASES))}")
    lacking = ABILITIES[asked].lacks(problem)
    if lacking:
        able = [other for other, ability in ABILITIES.items() if not ability.lacks(problem)]
        raise ValueError(
            f"solver={name!r} does not fit here: {lacking}. Those that do: {', '.join(able) or 'none'}."
        )
    return Choice(asked, f"solver={name!r} was asked for")


def best(problem: Problem) -> Choice:
    """The solver that is expected to need the least work."""
    if problem.l1:
        return Choice("proximal", "the penalty has an l1 part")
    loss, q, p = problem.objective.setting.loss, problem.objective.setting.q, problem.objective.setting.p
    if not loss.smooth:
        likely = ("smoothing", "dual") if q * (p + 1) <= LARGEST_HESSIAN else ("dual",)
        able = [name for name in likely if not ABILITIES[name].lacks(problem)]
        return Choice([*able, "gradient"][0], f"the {loss.name} loss has a corner")
    if problem.sparse and p > FEW_COLUMNS:
        if not ABILITIES["dual"].lacks(problem):
            return Choice("dual", f"{p} columns, most of their cells 0: row by row is fastest", "newton-cg")
        return Choice("lbfgs", f"{p} columns, most of their cells 0: a Hessian would be too large")
    steps, guessed = newton_work(q, p), lbfgs_work(q, p)
    small = problem.n is not None and problem.n * steps < SMALL_WORK
    if q * (p + 1) > LARGEST_HESSIAN or (steps > 2 * guessed and not small):
        # Classes that are nearly separated bend far less than the metric says: then a Hessian pays.
        then = "newton" if q * (p + 1) <= NEXT_HESSIAN else "newton-cg"
        why = f"{q} x {p} weights: the Hessian costs more than the steps it would save"
        return Choice("lbfgs", why, then)
    return Choice("newton", f"{q} x {p} weights: few steps, and the Hessian is cheap")


FEW_COLUMNS = 500  # up to which sparse rows are taken as any others
LARGEST_HESSIAN = 3000
NEXT_HESSIAN = 1000  # the same where Newton's method has to go on, because another was slow
SMALL_WORK = 3e9  # multiplications, a few tenths of a second: then the surest is the best


def newton_work(q: int, p: int) -> float:
    """Multiplications for a row, in all: the scatter of each pair of classes, eight times."""
    return 8 * (q * (q + 1) / 2 * p**2 / 2 + 2 * q * p)


def lbfgs_work(q: int, p: int) -> float:
    """The same: one scatter for the metric, then thirty gradients, bound by reading x where q is small."""
    return p**2 / 2 + 30 * (2 * q * p + 4 * p)


SAMPLED = 16  # of so many runs of rows one is enough to begin with
SAMPLE_FROM = 100_000  # rows


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
    start = _beginning(objective, theta, choice) if terms.fresh and max_iter else theta
    found = drive(start)
    if start is not theta and not found.trace[0, 0] <= _known_value(objective):
        found = drive(theta)  # the few rows misled
    return replace(found, solver=choice.name, why=choice.why)


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


def _beginning(objective: Objective, theta: Floats, choice: Choice) -> Floats:
    """The solution for a few of the rows: near that for all, at a sixteenth of the cost."""
    problem, able = Problem.of(objective), ABILITIES[choice.name]
    if not able.samples or not problem.in_memory or (problem.n or 0) < SAMPLE_FROM:
        return theta
    method = able.make(0, 1e-2)
    found = run_solver(method, objective.sampled(SAMPLED), theta, tol=1e-2, max_iter=30)
    end = found.last.theta
    return end if np.isfinite(end).all() else theta


def _known_value(objective: Objective) -> float:
    """F(0), which needs no rows; with offsets it is not known."""
    source, setting = objective.source, objective.setting
    if isinstance(source, Arrays) and source.offset is not None:
        return np.inf
    return float(setting.loss.value(np.zeros((1, setting.q)), np.zeros(1, dtype=np.int32))[0])
