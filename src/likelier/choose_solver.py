"""Which solver for which problem."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from likelier.array_types import Floats
from likelier.data import CSR, Arrays, Source
from likelier.losses import criterion
from likelier.objective import Objective
from likelier.row_solvers import (
    MANY,
    by_stored_cells,
    dual,
    enough_rows,
    epochs,
    polish,
    semismooth,
    sgd,
    takes_rows,
    truncated,
)
from likelier.solvers import (
    Iterate,
    cg,
    gradient,
    iterative_scaling,
    lbfgs,
    newton,
    pocket,
    proximal,
    smoothing,
    subgradient,
)

# A batch solver sees no more of an `Objective` than its `Oracle`; a row solver reads its rows.
Method = Callable[[Objective, Floats], Iterator[Iterate]]


@dataclass(frozen=True)
class SolverSpec:
    """A solver, and the problems that it can solve."""

    make: Callable[[int, float], Method]  # from a seed and the tolerance
    smooth: bool = True  # the loss must have a slope everywhere
    curved: bool = False  # and a bend
    l1: bool = False  # takes |θ| in the penalty
    l2: bool = False  # cannot do without θ² in it
    losses: tuple[str, ...] = ()  # these alone
    in_memory: bool = False  # reads row by row, in an order of its own
    sharpness: float = 1.0  # it is held to this share of tol
    guesses: bool = False  # its norm is no more than a guess by its last steps
    samples: bool = False  # where rows are many, it begins with a few of them
    measures: bool = False  # it begins with the metric
    averages: bool = False  # it begins with averaged steps

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
    n: int  # rows, or about as many
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

    @property
    def by_stored_cells(self) -> bool:
        """Whether lines with a margin are found by what sparse rows store."""
        source = self.objective.source
        return isinstance(source, Arrays) and by_stored_cells(source.X, self.objective.setting.loss.name)

    @classmethod
    def of(cls, objective: Objective) -> "Problem":
        source: Source = objective.source
        memory = isinstance(source, Arrays)
        sparse = isinstance(source, Arrays) and isinstance(source.X, CSR)
        return cls(objective, round(objective.n) if source.rows is None else source.rows, sparse, memory)


LOOSE = 10.0  # of ‖x‖² by the penalty: more lets each row's step undo what those before it have done


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


def _averaging(objective: Objective, theta: Floats, *, seed: int, tol: float) -> Iterator[Iterate]:
    """From averaged steps to the optimum; where a corner is in the way, more of them."""
    if objective.setting.loss.smooth:
        return polish(objective)(objective, theta)
    return epochs(objective, theta, seed=seed, tol=tol)


# A new solver joins here.
SOLVER_SPECS: dict[str, SolverSpec] = {
    # Its last step squares the error: to ask for more costs one pass at most.
    "newton": SolverSpec(_always(newton), curved=True, sharpness=0.1, samples=True),
    "proximal": SolverSpec(_always(proximal), curved=True, l1=True, sharpness=0.1),
    "newton-cg": SolverSpec(lambda seed, tol: partial(truncated, tol=tol), curved=True),
    "lbfgs": SolverSpec(_always(lbfgs), samples=True, measures=True),
    "cg": SolverSpec(_always(cg), guesses=True),
    "gradient": SolverSpec(_always(_descent), smooth=False, guesses=True),
    "smoothing": SolverSpec(_always(smoothing), smooth=False, l2=True, losses=("hinge",)),
    "iterative-scaling": SolverSpec(_always(iterative_scaling), losses=("log_loss", "softmax")),
    "dual": SolverSpec(
        lambda seed, tol: partial(dual, seed=seed, tol=tol),
        smooth=False,
        l2=True,
        losses=("log_loss", "softmax", "hinge", "squared_hinge", "squared_error"),
        in_memory=True,
    ),
    "semismooth": SolverSpec(
        lambda seed, tol: partial(semismooth, tol=tol),
        smooth=False,
        l2=True,
        losses=("hinge", "squared_hinge"),
        in_memory=True,
    ),
    # Its steps are noise at last: a hundredth of what the others are asked for is a hundred epochs more.
    "sgd": SolverSpec(
        lambda seed, tol: partial(sgd, seed=seed), smooth=False, l1=True, in_memory=True, sharpness=100.0
    ),
    "averaged": SolverSpec(
        lambda seed, tol: partial(_averaging, seed=seed, tol=tol), smooth=False, l1=True, averages=True
    ),
}

# scikit-learn's names.
ALIASES = {"newton-cholesky": "newton", "liblinear": "auto", "sag": "auto", "saga": "auto"}


class SolverChoice(NamedTuple):
    """A solver's name, and why it was chosen."""

    name: str
    why: str
    then: str = ""  # the solver to continue with where this one is too slow


def chosen(name: str, objective: Objective) -> SolverChoice:
    """The solver of this name, or that suits best; trios that do not go together are refused."""
    problem = Problem.of(objective)
    asked = ALIASES.get(name, name)
    if asked == "auto":
        return best(problem)
    if asked not in SOLVER_SPECS:
        known = ", ".join(map(repr, ("auto", *SOLVER_SPECS, *ALIASES)))
        raise ValueError(f"solver must be one of {known}; got {name!r}.")
    if asked == "sgd" and not problem.in_memory:
        return _instead(problem.objective)
    lacking = SOLVER_SPECS[asked].lacks(problem)
    if lacking:
        able = [other for other, ability in SOLVER_SPECS.items() if not ability.lacks(problem)]
        raise ValueError(
            f"solver={name!r} does not fit here: {lacking}. Those that do: {', '.join(able) or 'none'}."
        )
    return SolverChoice(asked, f"solver={name!r} was asked for")


def _instead(objective: Objective) -> SolverChoice:
    """Of steps in an order of their own, where rows are read part by part."""
    smooth, l1 = objective.setting.loss.smooth, not objective.penalty.smooth
    then = "proximal Newton" if l1 else "L-BFGS"
    way = f"one pass of steps in each part, averaged, then {then}" if smooth else "epochs of averaged steps"
    return SolverChoice("averaged", f"solver='sgd' was asked for, and the rows are not in memory: {way}")


def best(problem: Problem) -> SolverChoice:
    """The solver that is expected to need the least work."""
    if problem.l1:
        return SolverChoice("proximal", "the penalty has an l1 part")
    loss, q, p = problem.objective.setting.loss, problem.objective.setting.q, problem.objective.setting.p
    if not SOLVER_SPECS["semismooth"].lacks(problem) and _low(problem):
        return SolverChoice(
            "semismooth", f"{problem.n} rows of {p} columns: few of them are near the margin"
        )
    if not loss.smooth:
        return _cornered(problem)
    work = SolverCost.of(problem)
    if problem.in_memory and work.step < TINY:
        return SolverChoice("newton", f"{q} x {p} weights: few steps, and the Hessian is cheap")
    if takes_rows(problem.objective) and problem.l2 and not _tall(problem):
        if problem.sparse and p > FEW_COLUMNS and (_apart(problem) or _held(problem)):
            return SolverChoice(
                "dual", f"{p} columns, most of their cells 0: row by row is fastest", "newton-cg"
            )
        return SolverChoice(
            "newton-cg", f"{problem.n} rows of {p} columns: few steps, each of a few products"
        )
    if problem.sparse and p > FEW_COLUMNS:
        if not SOLVER_SPECS["dual"].lacks(problem) and (_wide(problem) or _held(problem)):
            margin = not SOLVER_SPECS["semismooth"].lacks(problem)
            then = "semismooth" if margin else "newton-cg"
            return SolverChoice("dual", f"{p} columns, most of their cells 0: row by row is fastest", then)
        why = f"{p} columns, most of their cells 0: a Hessian would be too large"
        return SolverChoice("lbfgs", why, "newton-cg" if problem.in_memory else "")
    if _wide(problem) and not SOLVER_SPECS["dual"].lacks(problem):
        why = f"{problem.n} rows of {p} columns: row by row is fastest"
        return SolverChoice("dual", why, "newton" if work.newton < work.lbfgs else "lbfgs")
    if q * (p + 1) > LARGEST_HESSIAN or work.lbfgs < work.newton:
        # Classes that are nearly separated bend far less than the metric says: then a Hessian pays. Its
        # products do not where each of them reads the rows anew.
        slow = "newton-cg" if problem.in_memory else ""
        then = "newton" if q * (p + 1) <= NEXT_HESSIAN and work.step < work.products else slow
        why = f"{q} x {p} weights: the Hessian costs more than the steps it would save"
        return SolverChoice("lbfgs", why, then)
    return SolverChoice("newton", f"{q} x {p} weights: few steps, and the Hessian is cheap")


def _cornered(problem: Problem) -> SolverChoice:
    """The same where the loss has a corner."""
    loss, q, p = problem.objective.setting.loss, problem.objective.setting.q, problem.objective.setting.p
    rounded = not SOLVER_SPECS["smoothing"].lacks(problem) and q * (p + 1) <= LARGEST_HESSIAN
    by_rows = not SOLVER_SPECS["dual"].lacks(problem)
    few = problem.n <= HINGE_ROWS * p or problem.n * p <= HINGE_CELLS
    if by_rows and (not rounded or problem.sparse or few):
        many = problem.by_stored_cells and not SOLVER_SPECS["semismooth"].lacks(problem)
        then = "semismooth" if many else "smoothing" if rounded else ""
        return SolverChoice("dual", f"the {loss.name} loss has a corner: row by row", then)
    return SolverChoice("smoothing" if rounded else "gradient", f"the {loss.name} loss has a corner")


def _low(problem: Problem) -> bool:
    """Whether rows with a margin have so few columns that a matrix of these costs little beside them.

    Of a smooth loss, many rows of few columns are best left to passes on all threads.
    """
    n, p = problem.n, problem.objective.setting.p
    smooth = problem.objective.setting.loss.smooth
    if problem.by_stored_cells:  # by products, where steps row by row are slow
        held = any(n > few * p and _held(problem, loose) for few, loose in HELD_MARGINS)
        return n > SPARSE_MARGINS * p or (smooth and held)
    if n * p > MARGIN_CELLS or p > MARGIN_COLUMNS:
        return False
    if smooth and n >= MANY and p < FEW_MARGINS:
        return False
    return p <= FEW_MARGINS or n > WIDE * p


def _tall(problem: Problem) -> bool:
    """So many rows for their columns that all threads should share them, and a few tell most.

    Of sparse rows products with the Hessian cost as much as gradients, which a good metric makes few.
    """
    n, p = problem.n, problem.objective.setting.p
    few = p <= FEW_COLUMNS if problem.sparse else n * p > TALL_CELLS or p <= NARROW
    return n > TALL * p and few


def _apart(problem: Problem) -> bool:
    """Whether rows of several scores share so few columns that a step at one hardly changes the others."""
    return problem.objective.setting.q > 1 and problem.n <= APART * problem.objective.setting.p


def _wide(problem: Problem) -> bool:
    """So few rows for its columns that steps row by row are all but independent of each other.

    Of sparse rows and one score, steps of L-BFGS cost a part of those of rows: there must be fewer still,
    and each of them must tell something.
    """
    source, setting = problem.objective.source, problem.objective.setting
    if problem.by_stored_cells:  # the bend of a squared hinge is 2 or 0: its steps by rows are exact
        return problem.n <= SPARSE_MARGINS * setting.p
    if isinstance(source, Arrays) and isinstance(source.X, CSR) and setting.q == 1:
        return problem.n <= WIDE_SINGLE * setting.p and len(source.X.values) >= INFORMATIVE * problem.n
    return problem.n <= WIDE * setting.p


def _held(problem: Problem, loose: float = LOOSE) -> bool:
    """Whether the penalty holds the step of a row, so that it leaves the scores of others as they are."""
    source, penalty = problem.objective.source, problem.objective.penalty
    if not (isinstance(source, Arrays) and isinstance(source.X, CSR)):
        return False
    some = source.X.values[:GLANCE].astype(np.float64)
    square = float(some @ some) * len(source.X.values) / max(len(some) * problem.n, 1)
    least = float(penalty.l2[: problem.objective.setting.p].min())
    return square <= loose * least * problem.objective.n


FEW_COLUMNS = 500  # up to which sparse rows are taken as any others
INFORMATIVE = 10  # cells of a sparse row
TALL, TALL_CELLS = 20, 3_000_000  # rows for a column, and cells: more are for passes on all threads
NARROW = 16  # columns, up to which a Hessian costs no more than a few products
APART = 0.8  # rows for a column, up to which sparse ones of several classes hardly meet
WIDE, WIDE_SINGLE = 2, 1.1  # rows for a column, up to which a dual ascent needs few epochs
MARGIN_COLUMNS = 600  # up to which lines with a margin are found by Newton's method on a copy of the rows,
MARGIN_CELLS = 50_000_000  # and cells, so that the copy is no burden,
SPARSE_MARGINS = 1.6  # sparse rows for a column, up to which a dual ascent and a face of it are faster,
# and of a squared hinge up to which that is so if a penalty does not hold ‖x‖² to this
HELD_MARGINS = ((1.1, 200.0), (0.3, 10.0))
FEW_MARGINS = 64  # and columns, up to which that is so whatever the rows
HINGE_ROWS = 20  # the same for a hinge, the faces of whose dual are looked at,
HINGE_CELLS = 5000  # and cells, up to which epochs cost nothing
LARGEST_HESSIAN = 3000
NEXT_HESSIAN = 1000  # the same where Newton's method continues, because another was slow
GLANCE = 100_000  # cells that are looked at to choose a solver
READING = 160  # multiplications in the time that a cell of a file takes to be read
TINY = 1e6  # multiplications in a step of Newton's method, up to which nothing is faster, or as exact
PASS = 3e5  # multiplications in the time that a pass takes beside its rows

# Steps of either solver. The bend of a squared hinge is 2 or 0: what a step tells of it may soon be wrong.
STEPS = {"squared_hinge": (12, 150)}
USUAL_STEPS = 8, 40
PRODUCTS = 100  # with the Hessian in a step: 40 are usual, and more where classes are nearly separated


class SolverCost(NamedTuple):
    """What two solvers cost, in all, in multiplications."""

    newton: float
    lbfgs: float
    step: float  # one step of Newton's method,
    products: float = np.inf  # and by products with the Hessian

    @classmethod
    def of(cls, problem: Problem) -> "SolverCost":
        n, loss = problem.n, problem.objective.setting.loss
        q, p = problem.objective.setting.q, problem.objective.setting.p
        hessian, gradient = q * (q + 1) / 2 * p**2 / 2, 2 * q * p
        if problem.in_memory:
            # The scatter of each pair of classes and a factorisation in each step; or one of both for the
            # metric, then gradients, bound by reading x where q is small.
            newton, lbfgs = STEPS.get(loss.name, USUAL_STEPS)
            step = n * (hessian + gradient) + (q * (p + 1)) ** 3 / 3
            return cls(
                newton * (step + PASS),
                n * p**2 / 2 + p**3 / 3 + lbfgs * (n * (2 * gradient + 8 * p) + PASS),
                step,
                PRODUCTS * (2 * n * gradient + PASS),
            )
        # Passes were counted: with a few of the parts to begin with, and without.
        reading = gradient + READING * p
        if not enough_rows(problem.objective, measured=True):
            return cls(7 * n * (hessian + reading), n * (p**2 / 2 + 20 * reading), n * (hessian + reading))
        few = n * (hessian / 3 + p**2 / 2 + 5 * reading)
        return cls(4 * n * (hessian + reading), few, n * (hessian + reading))
