"""A perceptron epoch by epoch: what it learned, how often it was mistaken, and which weights are reported."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import CSR
from likelier.data.matrix import Block
from likelier.online.votes import Epoch, Numbers, Voters, weighted_sum

Floats = NDArray[np.float64]


class Native(Protocol):
    """The epochs of one problem, in the core."""

    @property
    def ended(self) -> bool: ...

    @property
    def bad(self) -> int: ...

    @property
    def t(self) -> float: ...

    @property
    def diary_turns(self) -> Numbers: ...

    @property
    def diary_rows(self) -> Numbers: ...

    def run(self, most: int) -> None: ...

    def theta(self, out: Floats) -> None: ...


@dataclass(frozen=True)
class Tally:
    """How a problem went: turns taken, mistakes (steps taken), epochs, and mistakes after 1, 2, 4, … turns."""

    turns: int = 0
    mistakes: int = 0
    epochs: int = 0
    doublings: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (d,)

    def after(self, epoch: Epoch) -> Self:
        turns = self.turns + epoch.turns
        new = 2 ** np.arange(len(self.doublings), turns.bit_length())  # in this epoch
        counts = self.mistakes + np.searchsorted(epoch.at, new - self.turns, side="right")
        return type(self)(
            turns,
            self.mistakes + len(epoch.at),
            self.epochs + 1,
            np.append(self.doublings, counts).astype(np.int64),
        )

    def at(self, turns: Numbers) -> Numbers:
        """Mistakes after so many turns, which are doublings or beyond the last."""
        held = np.append(self.doublings, self.mistakes)
        place = [min(int(t).bit_length() - 1, len(self.doublings)) for t in turns]
        return np.where(turns >= self.turns, self.mistakes, held[place])


def curve(tallies: tuple[Tally, ...]) -> Numbers:
    """(c, 1 + q): turns, doubling up to the last, and the mistakes of each problem by then."""
    last = max(tally.turns for tally in tallies)
    turns = np.unique(np.append(2 ** np.arange(last.bit_length()), last))
    return np.column_stack([turns, *(tally.at(turns) for tally in tallies)]).astype(np.int64)


# ---- which weights are reported --------------------------------------------------------------------
class Pool(NamedTuple):
    """Rows by number: those kept from before, and then those at hand."""

    kept: CSR
    X: Block

    def sum(self, rows: Numbers, steps: Floats) -> Floats:
        """Σ_i steps_i x_i, (p,)."""
        old = rows < self.kept.shape[0]
        before = weighted_sum(self.kept, rows[old], steps[old])
        return before + weighted_sum(self.X, rows[~old] - self.kept.shape[0], steps[~old])


class Follower:
    """What is kept of the weight vectors beside the last, and their mean: nothing."""

    def before(self, native: Native) -> None:
        """An epoch that begins."""

    def after(self, epoch: Epoch, turns: int) -> None:
        """An epoch that began after so many turns in all."""


@dataclass
class Poll(Follower):
    """All of them; beyond `most` mistakes, the latest."""

    voters: Voters
    pool: Pool
    worth: Floats  # (n,), of a step at each row
    most: int
    decay: float
    forgotten: int = 0

    def after(self, epoch: Epoch, turns: int) -> None:
        rows, steps = epoch.rows + self.pool.kept.shape[0], self.worth[epoch.rows]
        voters = self.voters.after(epoch, rows, steps)
        d = max(len(voters.rows) - self.most, 0)
        self.forgotten += d
        moved = self.pool.sum(voters.rows[:d], voters.steps[:d])
        self.voters = voters.without_first(d, moved, self.decay)


@dataclass
class Draw(Follower):
    """One of them, each turn's as likely as another's.

    A turn of an epoch replaces the one drawn before with the chance that it is among all turns so far.
    """

    drawn: Floats  # (p + 1,)
    X: Block
    worth: Floats  # (n,), of a step at each row
    decay: float
    seed: tuple[int, ...]
    theta: Floats = field(default_factory=lambda: np.empty(0))  # at the beginning of the epoch

    def before(self, native: Native) -> None:
        self.theta = np.empty_like(self.drawn)
        native.theta(self.theta)

    def after(self, epoch: Epoch, turns: int) -> None:
        rng = np.random.default_rng([*self.seed, turns])
        turn = int(rng.integers(turns + 1 + epoch.turns)) - turns  # w_0 is one of them
        if turn < 1:
            return
        rows = epoch.rows[: np.searchsorted(epoch.at, turn, side="right")]
        steps = self.worth[rows]
        self.drawn = self.theta + np.append(weighted_sum(self.X, rows, steps), self.decay * steps.sum())


# ---- the run -----------------------------------------------------------------------------------------
def follow(
    native: Native, tally: Tally, most: int, follower: Follower, watch: Callable[[Tally], None]
) -> Tally:
    """At most so many epochs; the last is one without a mistake, or one after which nothing is gained."""
    for _ in range(most):
        begun = int(native.t)
        follower.before(native)
        native.run(1)
        if native.bad >= 0:
            break
        epoch = Epoch(int(native.t) - begun, native.diary_turns - begun + 1, native.diary_rows)
        follower.after(epoch, tally.turns)
        tally = tally.after(epoch)
        watch(tally)
        if native.ended:
            break
    return tally
