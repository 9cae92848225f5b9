"""Steps where the rows are: each part from the same weights, and the average of where they led."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk, Source
from likelier.engines import run
from likelier.estimators.strides import SEEDS, Journey, Route, Strides
from likelier.online.averaged import Pooled
from likelier.online.sgd import column_squares
from likelier.online.stochastic import Rows, Watch

Floats = NDArray[np.float64]


class Tally(NamedTuple):
    """Sums over parts."""

    parts: int = 0
    turns: int = 0
    loss: float = 0.0
    mistakes: int = 0
    clipped: int = 0
    steps: int = 0
    squares: Any = 0.0  # (q, p + 1), Σg² of AdaGrad

    def plus(self, other: "Tally") -> "Tally":
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass
class Apart:
    """Weights that the rows of each part have moved, averaged by what each part knows of a column: a state.

    That is Σ x², with AdaGrad Σ g², and for the intercept the number of rows. Merging is associative up to
    rounding; what comes out depends on how the rows are cut into parts.
    """

    route: Route
    begun: Strides
    seed: int
    now: Strides
    known: Floats  # (p + 1,)
    own: Tally
    others: Pooled
    tally: Tally  # of others

    @classmethod
    def start(cls, route: Route, begun: Strides, seed: int) -> Self:
        stacked = _stacked(begun)
        q, width = stacked.shape
        return cls(route, begun, seed, begun, np.zeros(width), Tally(), Pooled.start(q, width), Tally())

    @property
    def nbytes(self) -> int:
        return 4 * self.others.total.nbytes

    def update(self, chunk: Chunk) -> None:
        rows = Rows.of(chunk)
        if not rows.coded:
            return
        rng = np.random.default_rng([self.seed, int(self.begun.t), chunk.first])
        seeds = rng.integers(SEEDS, size=len(self.begun.theta) if self.route.apart else 1).tolist()
        found = self.route.whole(rows, self.now, seeds, 1, None)
        squares, _ = column_squares(chunk, np.zeros(chunk.X.shape[1]))
        self.known = self.known + np.append(squares, rows.coded)
        mistakes, turns = found.strides.mistakes - self.now.mistakes, rows.coded
        loss, self.now = float(found.losses[0]) * turns, found.strides
        self.own = self.own.plus(Tally(0, turns, loss, mistakes, found.clipped, found.steps))
        self.own = self.own._replace(parts=1, squares=_squares(self.now))

    def merge(self, other: Self) -> None:
        self.others = self.others.merged(other._pooled())
        self.tally = self.tally.plus(other.tally).plus(other.own)

    def _pooled(self) -> Pooled:
        known = self.known[None] if self.now.squares is None else _repeated(self.now, self.now.squares)
        return self.others.plus(_stacked(self.now), known * (self.own.parts > 0))

    @property
    def journey(self) -> Journey:
        """Where the epoch has led."""
        all_of, q = self.tally.plus(self.own), len(self.begun.theta)
        found = self._pooled().mean(_stacked(self.begun))
        strides = replace(
            self.begun,
            theta=found[:q],
            mean=None if self.begun.mean is None else found[q:],
            squares=None if self.begun.squares is None else all_of.squares / max(1, all_of.parts),
            t=self.begun.t + all_of.turns,
            mistakes=self.begun.mistakes + all_of.mistakes,
        )
        losses = np.array([all_of.loss / max(1, all_of.turns)])
        return Journey(strides, losses, False, all_of.clipped, all_of.steps)


def _squares(strides: Strides) -> Any:
    return 0.0 if strides.squares is None else strides.squares


def _stacked(strides: Strides) -> Floats:
    """θ, and below it its mean over turns, if there is one."""
    return strides.theta if strides.mean is None else np.concatenate([strides.theta, strides.mean])


def _repeated(strides: Strides, known: Floats) -> Floats:
    return known if strides.mean is None else np.concatenate([known, known])


@dataclass(frozen=True)
class Pooling:
    """A reading of a source: an epoch of steps, averaged."""

    source: Source
    seed: int

    def __call__(self, route: Route, strides: Strides) -> Journey:
        alone = replace(route, workers=1)  # parts are side by side already
        return run(self.source, partial(Apart.start, alone, strides, self.seed)).journey


def averaged_epochs(
    route: Route, source: Source, start: Strides, seeds: Sequence[int], most: int, watch: Watch | None
) -> Journey:
    """Epochs, each from the average of the one before (McDonald, Hall & Mann 2010)."""
    return route.epochs(Pooling(source, seeds[0]), start, most, watch)._replace(pooled=True)
