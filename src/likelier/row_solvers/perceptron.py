"""Perceptron epochs: mistakes, and last, averaged, voted or pocket weights."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR, Chunk
from likelier.data.matrix import Block
from likelier.row_solvers.sklearn_sgd import SGDPoint
from likelier.scores import TermWithConstant
from likelier.states.moments import refuse

# The weight vectors of a perceptron, all of them, as the rows at which it was mistaken.

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Epoch:
    """What one epoch of one problem changed: a step at each mistake."""

    turns: int  # how many rows had their turn
    at: Numbers  # (m,), the turns at which a step was taken, from 1 on
    rows: Numbers  # (m,), whose turn it was


@dataclass(frozen=True)
class Voters:
    """w_k = start + Σ_{i <= k} steps_i x_i, and for how many turns each of them lasted.

    The lasting of all add up to the number of turns and 1: those before the first turn are weights, too.
    """

    start: Floats  # (p,)
    intercept: float  # beside start
    rows: Numbers  # (m,), among those that are kept
    steps: Floats  # (m,)
    lasting: Floats  # (m + 1,)

    @classmethod
    def of(cls, start: Floats, intercept: float) -> Self:
        """Before the first turn."""
        return cls(start, intercept, np.empty(0, dtype=np.int64), np.empty(0), np.ones(1))

    def after(self, epoch: Epoch, rows: Numbers, steps: Floats) -> Self:
        """With the steps of an epoch, each at a row that is kept."""
        ends = np.append(epoch.at, epoch.turns + 1)
        lasting = np.concatenate([self.lasting, np.diff(ends).astype(np.float64)])
        lasting[len(self.rows)] += ends[0] - 1
        rows, steps = np.append(self.rows, rows), np.append(self.steps, steps)
        return replace(self, rows=rows, steps=steps, lasting=lasting)

    def without_first(self, d: int, moved: Floats, decay: float) -> Self:
        """The first d steps, which have `moved` the start, and the votes before the last of them gone."""
        intercept = self.intercept + decay * float(self.steps[:d].sum())
        return type(self)(self.start + moved, intercept, self.rows[d:], self.steps[d:], self.lasting[d:])


@dataclass(frozen=True)
class Votes(TermWithConstant):
    """Σ_k lasting_k sign(w_k·x) / Σ_k lasting_k: the mean vote of all weights (Freund & Schapire 1999).

    A score of 0 is no vote. Of two classes the first scores 0.
    """

    kept: CSR
    voters: tuple[Voters, ...]  # one for two classes, or one for each
    decay: float  # of the intercept's steps

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        X, kept = chunk.X.native(), self.kept.native()
        if not add:
            Z[:] = 0.0
        Z += self.b
        votes = np.empty(chunk.X.shape[0])
        for k, one in enumerate(self.voters, self.K - len(self.voters)):
            told = (one.start, one.intercept, one.rows, one.steps, one.lasting)
            refuse(chunk, _core.votes(X, kept, *told, self.decay, votes))
            Z[:, k] += votes / one.lasting.sum()


def weighted_sum(X: Block, rows: Numbers, a: Floats) -> Floats:
    """Σ_i a_i x_i, (p,)."""
    by_row = np.bincount(rows, a, X.shape[0])
    if isinstance(X, CSR):
        at, stored = X._stored()
        cells = by_row[at] * X.values[stored]
        return np.asarray(np.bincount(X.columns[stored], cells, X.p), dtype=np.float64)
    used = np.flatnonzero(by_row)
    return np.asarray(by_row[used] @ X.take(used).to_array())


def sparse(X: Block) -> CSR:
    """Rows as the cells that are not 0."""
    if isinstance(X, CSR):
        at = X._stored()[1]
        values, columns, starts = X.values[at], X.columns[at], X.starts - X.starts[0]
    else:
        cells = X.to_array()
        rows, columns = np.nonzero(cells)
        values, starts = cells[rows, columns], np.searchsorted(rows, np.arange(len(cells) + 1))
    return CSR(values.astype(np.float64), columns.astype(np.int32), starts.astype(np.int32), X.shape[1])


def none_kept(p: int) -> CSR:
    """No rows yet."""
    return CSR(np.empty(0), np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int32), p)


def gathered(kept: CSR, X: Block, voters: Sequence[Voters]) -> tuple[CSR, tuple[Voters, ...]]:
    """The rows that voters need, of `kept` and, numbered on, of X; and the voters that know them so.

    Rows lie as they are first needed: kernels read what adjoins.
    """
    needed = np.concatenate([one.rows for one in voters])
    if needed.max(initial=-1) < kept.shape[0]:  # no mistake since
        return kept, tuple(voters)
    used, first, place = np.unique(needed, return_index=True, return_inverse=True)
    order = np.argsort(first)
    old = int(np.searchsorted(used, kept.shape[0]))
    new = sparse(X.take((used[old:] - kept.shape[0]).astype(np.intp)))
    rows = CSR.stack([kept.take(used[:old]), new]).take(order)
    place = np.argsort(order)[place]
    ends = np.cumsum([len(one.rows) for one in voters])[:-1]
    return rows, tuple(
        replace(one, rows=own) for one, own in zip(voters, np.split(place, ends), strict=True)
    )


# A perceptron epoch by epoch: how often it was mistaken, and what is kept of its weights.


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


class VoteRecorder:
    """What is kept of the weight vectors beside the last, and their mean: nothing."""

    each_epoch = False  # whether it is to see epochs one by one

    def after(self, epoch: Epoch, theta: Floats, turns: int) -> None:
        """An epoch that began at θ (p + 1,), after so many turns in all."""


@dataclass
class AllVotes(VoteRecorder):
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
class DrawnVote(VoteRecorder):
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
class EpochRecorder:
    """Told of each epoch, or of some, whose diary it takes: none is longer than one, or LONGEST."""

    theta: Floats  # (1, p + 1), where the next epoch begins,
    t: int  # and at which turn
    tally: Tally
    follower: VoteRecorder

    @classmethod
    def of(cls, point: SGDPoint, tally: Tally, follower: VoteRecorder) -> Self:
        return cls(point.theta.copy(), int(point.t), tally, follower)

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
