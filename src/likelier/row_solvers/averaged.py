"""Steps taken part by part and averaged, and the start that they give to batch solvers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from likelier import _core
from likelier.array_types import Floats
from likelier.data import Chunk
from likelier.engines import run
from likelier.objective import Objective
from likelier.penalties import Penalty
from likelier.row_solvers.sgd import ContiguousRows, Descent
from likelier.solvers import FullMetric, Iterate, Solver, lbfgs, newton, proximal, run_solver
from likelier.states import Expansion, Gram, Setting, Squares, StateGroup, Values

# Steps taken part by part, and averaged: what every engine can run, wherever the rows are.


PATIENCE = 5  # epochs without a gain
NO_GAIN = f"{PATIENCE} epochs of averaged steps in a row gained no more than tol"


@dataclass
class PooledWeights:
    """A mean of weights that were learned separately, by what each has learned of a column.

    θ_j = Σ_k s_kj θ_kj / Σ_k s_kj (Agarwal, Chapelle, Dudík & Langford 2014).
    """

    total: Floats  # (q, p + 1), Σ s θ
    known: Floats  # (q or 1, p + 1), Σ s

    @classmethod
    def start(cls, q: int, width: int) -> Self:
        return cls(np.zeros((q, width)), np.zeros((1, width)))

    def plus(self, theta: Floats, known: Floats) -> "PooledWeights":
        return PooledWeights(self.total + known * theta, self.known + known)

    def merged(self, other: "PooledWeights") -> "PooledWeights":
        return PooledWeights(self.total + other.total, self.known + other.known)

    def mean(self, otherwise: Floats) -> Floats:
        """(q, p + 1); of a column that none has met, `otherwise`."""
        met = self.known > 0
        return np.where(met, self.total / np.where(met, self.known, 1.0), otherwise)


@dataclass
class AveragedSGD:
    """Weights that the rows of each part have moved from one θ, averaged: a state.

    Parts count by Σ x² of a column, for the intercept by their rows. Merging is associative up to rounding;
    what comes out depends on how the rows are cut into parts, and on nothing else.
    """

    descent: Descent
    others: PooledWeights  # what was merged into this one
    seed: int
    first: int  # the number of steps that each part counts from
    parts: int = 0  # merged into this one, which have met rows,
    turns: int = 0  # and their steps

    @classmethod
    def start(
        cls,
        setting: Setting,
        penalty: Penalty,
        theta: Floats,
        *,
        intercept: bool = True,
        seed: int = 0,
        first: int = 0,
    ) -> Self:
        descent = Descent.start(setting, penalty, theta, intercept=intercept)
        descent.steps = first
        return cls(descent, PooledWeights.start(setting.q, setting.p + 1), seed, first)

    @property
    def nbytes(self) -> int:
        return 3 * self.others.total.nbytes + 2 * self.others.known.nbytes

    def update(self, chunk: Chunk) -> None:
        """Steps at its rows, in an order drawn by the number of the first."""
        self.descent.survey(chunk)
        rows = ContiguousRows.from_chunk(chunk, self.descent.setting, self.descent.scale())
        order = np.arange(chunk.X.shape[0])
        drawn = np.random.SeedSequence([self.seed, self.first, chunk.first])
        _core.deal(order, int(drawn.generate_state(1, np.uint64)[0]) >> 1)
        self.descent.run(rows, order)

    def merge(self, other: Self) -> None:
        own, turns = other._own(), other.descent.steps - self.first
        self.others = self.others.merged(other.others).plus(other.descent.mean, own)
        self.parts += other.parts + (turns > 0)
        self.turns += other.turns + turns

    def _own(self) -> Floats:
        return np.append(self.descent.squares, float(self.descent.steps - self.first))

    @property
    def theta(self) -> Floats:
        """(q, p + 1)."""
        return self.others.plus(self.descent.mean, self._own()).mean(self.descent.theta)

    @property
    def steps(self) -> int:
        """By how many steps a part has come further, on average: where the next epoch counts from."""
        own = self.descent.steps - self.first
        return self.first + (self.turns + own) // max(1, self.parts + (own > 0))


class Stage(NamedTuple):
    """Where epochs of averaged steps are."""

    theta: Floats
    steps: int = 0
    number: int = 0


def averaging(objective: Objective, stage: Stage, seed: int) -> partial[AveragedSGD]:
    """What absorbs the rows in an epoch."""
    return partial(
        AveragedSGD.start,
        objective.setting,
        objective.penalty,
        stage.theta,
        intercept=objective.intercept,
        seed=seed,
        first=stage.steps,
    )


def averaged(objective: Objective, theta: Floats, *, seed: int = 0, measured: bool = False) -> Floats:
    """θ after one pass of averaged steps; measured: the same pass finds the metric, too."""
    objective.passes += 1
    steps = averaging(objective, Stage(theta), seed)
    if not measured:
        return run(objective.source, steps).theta.ravel()
    both = run(objective.source, partial(StateGroup.start, (steps, objective.measuring)))
    found, sums = both.states
    objective.know(objective.measured(sums))
    return np.asarray(found.theta.ravel())


def epochs(objective: Objective, theta: Floats, *, seed: int = 0, tol: float = 1e-4) -> Iterator[Iterate]:
    """Averaged steps, each epoch from the average of the one before (McDonald, Hall & Mann 2010).

    A pass takes the steps of an epoch, and the value of what it began with. It ends where nothing more is
    gained, with the best.
    """
    stage, best, idle = Stage(theta), Iterate(theta, np.inf, np.inf), 0
    while True:
        objective.passes += 1
        at = stage.theta.reshape(1, objective.setting.q, -1)
        starts = (partial(Values.start, objective.setting, at), averaging(objective, stage, seed))
        values, found = run(objective.source, partial(StateGroup.start, starts)).states
        F = float(values.f[0]) / objective.n + objective.penalty.value(stage.theta)
        here = Iterate(stage.theta, F, np.inf, float(stage.number > 0))
        idle = 0 if F < best.value - tol else idle + 1
        best = min(best, here, key=lambda iterate: iterate.value)
        if idle == PATIENCE or not np.isfinite(found.theta).all():
            yield best._replace(stuck=NO_GAIN)
            return
        yield here
        stage = Stage(found.theta.ravel(), found.steps, stage.number + 1)


def polish(objective: Objective) -> Solver[Objective]:
    """What takes averaged weights of a smooth loss to the optimum."""
    return lbfgs if objective.penalty.smooth else proximal


# The Hessian of some rows, brought to the Gram matrix of all rows.


ALIKE = 2.0  # times the variance of all rows, or a part of it: no more than chance makes of a few rows
NOTHING = 1e-4  # the size of a combination of columns of size 1 that depend on each other
LACKING = 0.01  # of the variance of all rows: with less than this, a few rows say nothing of a direction


def metric_like(
    objective: Objective, gram: Gram | Squares, few: Objective, gram_few: Gram | Squares, last: Iterate
) -> tuple[FullMetric, bool]:
    """A metric for all rows from the Hessian of a few, (m, m), where these have their solution.

    And whether the few are like all rows: whether a column varies among them about as much.

    Whitened by the Gram matrix G of all rows, that of the few is UΛUᵀ. Were the few rows x moved to
    G^½ U Λ^-½ Uᵀ G^-½ x, they would have the Gram matrix of all rows, and J H Jᵀ is their Hessian.
    Directions that the few rows lack have the mean curvature of the others. So the metric is bounded as
    every Hessian is, and singular only where all rows leave a direction open.
    """
    q, P = objective.setting.q, objective.width
    moved = np.eye(P)  # from rows about the shift of the few to rows about that of all
    moved[:-1, -1] = few.setting.shift - objective.setting.shift
    G, G_few = _matrix(gram) / objective.n, moved @ (_matrix(gram_few) / few.n) @ moved.T
    unit = np.sqrt(np.diagonal(G))
    unit = np.where(unit > 0, unit, 1.0)
    L = cholesky(G / np.outer(unit, unit) + 1e-10 * np.eye(P), lower=True)
    s, U = eigh(_whitened(L, G_few / np.outer(unit, unit)))
    there = s > LACKING
    kept, gone = U[:, there], U[:, ~there]
    rows = kept / np.sqrt(s[there]) @ kept.T
    J = unit[:, None] * (L @ rows @ solve_triangular(L, np.eye(P), lower=True)) / unit @ moved
    assert last.hessian is not None
    blocks = few.curvature(last.hessian).reshape(q, P, q, P)
    M = np.einsum("ia,kalb,jb->kilj", J, blocks, J, optimize=True)
    inverse = solve_triangular(L, np.diag(1 / unit), lower=True)
    mean = np.einsum("ai,kilj,aj->kl", inverse, M, inverse, optimize=True) / max(1, there.sum())
    N = unit[:, None] * (L @ gone)
    M += np.einsum("kl,ia,ja->kilj", mean, N, N, optimize=True)
    alike = bool(((s > 1 / ALIKE) & (s < ALIKE) | (_lengths(L, U) < NOTHING)).all())
    return objective.metric_of(M.reshape(q * P, q * P)), alike


def _matrix(found: Gram | Squares) -> Floats:
    assert isinstance(found, Gram)
    assert found.H is not None
    return found.H


def _whitened(L: Floats, A: Floats) -> Floats:
    """L⁻¹ A L⁻ᵀ."""
    half = solve_triangular(L, A, lower=True)
    return np.asarray(solve_triangular(L, half.T, lower=True))


def _lengths(L: Floats, U: Floats) -> Floats:
    """Of the combinations of columns that U's directions are, with weights of length 1."""
    weights = solve_triangular(L, U, lower=True, trans="T")
    return np.asarray(1 / np.linalg.norm(weights, axis=0))


# Where to begin if every pass reads the rows anew: passes are what counts.


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


class SubsetProblem(NamedTuple):
    """The problem of a few of the parts, and its solution."""

    objective: Objective
    last: Iterate

    def start(self, objective: Objective) -> Floats:
        """As θ of the problem of all rows."""
        return self.objective.carried(self.last.theta, objective)


def _helps(objective: Objective, found: SubsetProblem) -> bool:
    """Whether F is less at the solution for a few of the parts than at 0; the metric is known afterwards.

    One pass finds F, its gradient and the Gram matrix of all rows. The Hessian of the few parts is a metric
    nearer to the true one than any bound, but it knows nothing of columns that are constant in those parts:
    it is brought to the Gram matrix of all rows. Where the parts mislead, the bound is the metric.
    """
    theta, few = found.start(objective), found.objective
    at = theta.reshape(objective.setting.q, -1)
    starts = (partial(Expansion.start, objective.setting, at, curved=False), objective.measuring)
    objective.passes += 1
    sums, gram = run(objective.source, partial(StateGroup.start, starts)).states
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


def of_few(objective: Objective, theta: Floats) -> SubsetProblem | None:
    """The solution for a few of the parts, itself begun with a few of those; None: there was none."""
    few = objective.thinned(APART)
    start = objective.carried(theta, few)
    further = of_few(few, start) if few.n >= MANY and _some(few) else None
    start = start if further is None else further.start(few)
    tol = EXACT * float(np.sqrt(objective.size / few.n))
    found = run_solver(newton, few, start, tol=tol, max_iter=STEPS)
    return (
        SubsetProblem(few, found.last) if found.converged and np.isfinite(found.last.theta).all() else None
    )
