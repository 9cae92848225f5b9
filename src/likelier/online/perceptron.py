"""A perceptron epoch by epoch: how often it was mistaken, and what is kept of its weights."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import CSR
from likelier.data.matrix import Block
from likelier.online.stochastic import Stand
from likelier.online.votes import Epoch, Numbers, Voters, weighted_sum

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """How a problem went: turns, mistakes (steps taken), and how many there were after 1, 2, 4, … turns."""

    turns: int = 0
    mistakes: int = 0
    latest: int = 0  # mistakes of the last epoch
    passed: int = 0  # rows that were held out, as often as they were: they had no turn
    doublings: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (d,)

    def after(self, epoch: Epoch, latest: int | None = None) -> Self:
        """latest: the mistakes of the last of several epochs, if it stands for these."""
        turns = self.turns + epoch.turns
        new = 2 ** np.arange(len(self.doublings), turns.bit_length())  # in this epoch
        counts = self.mistakes + np.searchsorted(epoch.at, new - self.turns, side="right")
        return replace(
            self,
            turns=turns,
            mistakes=self.mistakes + len(epoch.at),
            latest=len(epoch.at) if latest is None else latest,
            doublings=np.append(self.doublings, counts).astype(np.int64),
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

    each_epoch = False  # whether it is to see epochs one by one

    def after(self, epoch: Epoch, theta: Floats, turns: int) -> None:
        """An epoch that began at θ (p + 1,), after so many turns in all."""


@dataclass
class Poll(Follower):
    """All of them; beyond `most` mistakes, the latest."""

    each_epoch = True

    voters: Voters
    pool: Pool
    worth: Floats  # (n,), of a step at each row
    most: int
    decay: float
    forgotten: int = 0

    def after(self, epoch: Epoch, theta: Floats, turns: int) -> None:
        rows, steps = epoch.rows + self.pool.kept.shape[0], self.worth[epoch.rows]
        self.voters = self.voters.after(epoch, rows, steps)
        d = len(self.voters.rows) - self.most
        if d > 0:
            self.forgotten += d
            moved = self.pool.sum(self.voters.rows[:d], self.voters.steps[:d])
            self.voters = self.voters.without_first(d, moved, self.decay)


@dataclass
class Draw(Follower):
    """One of them, each turn's as likely as another's.

    A turn of an epoch replaces the one drawn before with the chance that it is among all turns so far.
    """

    each_epoch = True

    drawn: Floats  # (p + 1,)
    X: Block
    worth: Floats  # (n,), of a step at each row
    decay: float
    seed: tuple[int, ...]

    def after(self, epoch: Epoch, theta: Floats, turns: int) -> None:
        rng = np.random.default_rng([*self.seed, turns])
        turn = int(rng.integers(turns + 1 + epoch.turns)) - turns  # w_0 is one of them
        if turn < 1:
            return
        rows = epoch.rows[: np.searchsorted(epoch.at, turn, side="right")]
        steps = self.worth[rows]
        self.drawn = theta + np.append(weighted_sum(self.X, rows, steps), self.decay * steps.sum())


LONGEST = 1 << 16  # turns that a diary of several epochs may have


# ---- the run -----------------------------------------------------------------------------------------
@dataclass
class Record:
    """Told of each epoch, or of some, whose diary it takes: none is longer than one, or LONGEST."""

    theta: Floats  # (1, p + 1), where the next epoch begins,
    t: int  # and at which turn
    tally: Tally
    follower: Follower

    @classmethod
    def of(cls, stand: Stand, tally: Tally, follower: Follower) -> Self:
        return cls(stand.theta.copy(), int(stand.t), tally, follower)

    def at_once(self, rows: int) -> int:
        """How many epochs over so many rows it can be told of together."""
        return 1 if self.follower.each_epoch else max(1, LONGEST // max(1, rows))

    def after(self, native: _core.Stochastic) -> None:
        """The next epochs."""
        epoch = Epoch(int(native.t) - self.t, native.diary_turns - self.t + 1, native.diary_rows)
        self.follower.after(epoch, self.theta[0], self.tally.turns)
        self.tally = self.tally.after(epoch, int(native.steps[-1]))
        self.t = int(native.t)
        native.theta(self.theta)
        native.forget()
