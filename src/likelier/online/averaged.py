"""Steps taken part by part, and averaged: what every engine can run, wherever the rows are."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Chunk
from likelier.engines import run
from likelier.objective import Objective
from likelier.online.laid import Laid
from likelier.online.sgd import Descent
from likelier.penalties import Penalty
from likelier.solvers import Iterate, Solver, lbfgs, proximal
from likelier.states import Setting, Together, Values

Floats = NDArray[np.float64]

PATIENCE = 5  # epochs without a gain
NO_GAIN = f"{PATIENCE} epochs of averaged steps in a row gained no more than tol"


@dataclass
class Pooled:
    """A mean of weights that were learned apart, by what each has learned of a column.

    θ_j = Σ_k s_kj θ_kj / Σ_k s_kj (Agarwal, Chapelle, Dudík & Langford 2014).
    """

    total: Floats  # (q, p + 1), Σ s θ
    known: Floats  # (q or 1, p + 1), Σ s

    @classmethod
    def start(cls, q: int, width: int) -> Self:
        return cls(np.zeros((q, width)), np.zeros((1, width)))

    def plus(self, theta: Floats, known: Floats) -> "Pooled":
        return Pooled(self.total + known * theta, self.known + known)

    def merged(self, other: "Pooled") -> "Pooled":
        return Pooled(self.total + other.total, self.known + other.known)

    def mean(self, otherwise: Floats) -> Floats:
        """(q, p + 1); of a column that none has met, `otherwise`."""
        met = self.known > 0
        return np.where(met, self.total / np.where(met, self.known, 1.0), otherwise)


@dataclass
class Averaged:
    """Weights that the rows of each part have moved from one θ, averaged: a state.

    Parts count by Σ x² of a column, for the intercept by their rows. Merging is associative up to rounding;
    what comes out depends on how the rows are cut into parts, and on nothing else.
    """

    descent: Descent
    others: Pooled  # what was merged into this one
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
        return cls(descent, Pooled.start(setting.q, setting.p + 1), seed, first)

    @property
    def nbytes(self) -> int:
        return 3 * self.others.total.nbytes + 2 * self.others.known.nbytes

    def update(self, chunk: Chunk) -> None:
        """Steps at its rows, in an order drawn by the number of the first."""
        self.descent.survey(chunk)
        rows = Laid.from_chunk(chunk, self.descent.setting, self.descent.scale())
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


def averaging(objective: Objective, stage: Stage, seed: int) -> partial[Averaged]:
    """What absorbs the rows in an epoch."""
    return partial(
        Averaged.start,
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
    both = run(objective.source, partial(Together.start, (steps, objective.measuring)))
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
        values, found = run(objective.source, partial(Together.start, starts)).states
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
