"""What a perceptron leaves: weights or voters, and how it went."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import CSR
from likelier.estimators.strides import Journey, Route, Strides
from likelier.estimators.weights import Weights
from likelier.online.perceptron import Draw, Follower, Poll, Pool, Record, Tally, curve
from likelier.online.stochastic import SPARSE_DECAY, Rows, Stand, Task, Watch, walk_all
from likelier.online.votes import Voters, Votes, gathered, none_kept
from likelier.scores import Scores

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Voted(Weights):
    """All weights have a vote; W and b are the last of them."""

    kept: CSR  # the mistaken rows, each once
    voters: tuple[Voters, ...]  # one for two classes, or one for each
    decay: float  # of the intercept's steps

    @property
    def scores(self) -> Scores:
        """The mean vote of each class's weights; of two classes, 0 and that of the second."""
        K = max(len(self.voters), 2)
        return Scores((Votes(np.zeros(K), self.kept, self.voters, self.decay),))

    @property
    def shown(self) -> dict[str, Any]:
        """As fitted attributes: there is no single line to show."""
        return self.course.shown


@dataclass(frozen=True)
class Progress(Strides):
    """What further rows go on from. Rows kept for voters are the model's, once it has them."""

    kind: str  # which weights are reported
    start: Floats  # (q, p + 1), θ before the first turn
    drawn: Floats | None  # (q, p + 1), one of all θ, where it is asked for
    tallies: tuple[Tally, ...]  # q
    decay: float | None  # of the intercept's steps, 0: there is none; None: not settled
    plain: bool  # steps from 0, no penalty and no weights, so that the bounds hold
    forgotten: int = 0  # mistakes beyond those that are kept
    kept: CSR | None = None
    voters: tuple[Voters, ...] = ()

    @classmethod
    def begun(cls, kind: str, at: Strides, *, plain: bool) -> Self:
        """Before the first turn."""
        theta, voted = at.theta, kind == "voted"
        q, p = len(theta), theta.shape[1] - 1
        return cls(
            **vars(at),
            kind=kind,
            start=theta,
            drawn=theta if kind == "random" else None,
            tallies=(Tally(),) * q,
            decay=None,
            plain=plain and not theta.any(),
            kept=none_kept(p) if voted else None,
            voters=tuple(Voters.of(line[:p].copy(), float(line[p])) for line in theta) if voted else (),
        )

    def stands(self, apart: bool) -> list[Stand]:
        """Each at a turn of its own: a problem that ended early took fewer."""
        turns = [tally.turns for tally in self.tallies]
        return [replace(s, t=1.0 + T) for s, T in zip(super().stands(apart), turns, strict=True)]

    @property
    def average(self) -> Floats:
        """The mean of w_0 … w_T: w - w_a / (T + 1), w_a the sum of all steps, each times its turn."""
        assert self.mean is not None
        T = np.array([[tally.turns] for tally in self.tallies])
        return np.asarray((T * self.mean + self.start) / (T + 1))

    @property
    def shown(self) -> dict[str, Any]:
        """As fitted attributes."""
        counts = np.array([tally.mistakes for tally in self.tallies])
        return {
            "mistakes_": int(counts.sum()),
            "class_mistakes_": counts,
            "mistake_curve_": curve(self.tallies),
            "t_": 1.0 + max(tally.turns + tally.passed for tally in self.tallies),
        }


@dataclass(frozen=True)
class Followed(Route):
    """A route on which every mistake is noted."""

    most: int = 0  # mistakes to keep, of each problem

    def whole(
        self, rows: Rows, start: Strides, seeds: Sequence[int], most: int, watch: Watch | None
    ) -> Journey:
        """Epochs over rows in memory."""
        assert isinstance(start, Progress)
        decay = 0.0 if not self.course.intercept else SPARSE_DECAY if isinstance(rows.X, CSR) else 1.0
        if start.voters and start.decay not in (None, decay):
            raise ValueError(
                "the rows so far were dense where these are sparse, or the other way round, or "
                "fit_intercept was another: intercepts of voters move in one way. Go on as it began."
            )
        tasks, stands = self.tasks(seeds), self.begun(start.stands(self.apart))
        followers = [self._follower(rows, start, k, task, decay) for k, task in enumerate(tasks)]
        records = [Record.of(*one) for one in zip(stands, start.tallies, followers, strict=True)]
        epochs = self.epochs_of(most)
        walks = walk_all(rows, self.courses, stands, tasks, epochs, self.workers, watch, records)
        found = Journey.of(start, rows, walks)
        after = found.strides
        assert isinstance(after, Progress)
        plain = (
            start.plain and start.decay in (None, decay) and (rows.w is None or bool((rows.w == 1).all()))
        )
        out = 0 if rows.held is None else int(rows.held.sum())
        tallies = tuple(
            replace(record.tally, passed=record.tally.passed + out * len(walk.losses))
            for record, walk in zip(records, walks, strict=True)
        )
        after = replace(after, tallies=tallies, decay=decay, plain=plain)
        return found._replace(strides=_with_weights(after, rows, followers))

    def _follower(self, rows: Rows, start: Progress, k: int, task: Task, decay: float) -> Follower:
        if start.kind not in ("voted", "random"):
            return Follower()
        own = rows.codes == task.positive
        worth = np.where(own, task.by_class[1], -task.by_class[0]) * (1.0 if rows.w is None else rows.w)
        worth *= self.course.eta0
        if start.drawn is not None:
            return Draw(start.drawn[k], rows.X, worth, decay, (task.seed, k))
        assert start.kept is not None
        return Poll(start.voters[k], Pool(start.kept, rows.X), worth, self.most, decay)


def _with_weights(after: Progress, rows: Rows, followers: Sequence[Follower]) -> Progress:
    """With what the followers have kept."""
    draws = [one.drawn for one in followers if isinstance(one, Draw)]
    if draws:
        return replace(after, drawn=np.array(draws))
    polls = [one for one in followers if isinstance(one, Poll)]
    if not polls:
        return after
    assert after.kept is not None
    kept, voters = gathered(after.kept, rows.X, [poll.voters for poll in polls])
    forgotten = after.forgotten + sum(poll.forgotten for poll in polls)
    return replace(after, kept=kept, voters=voters, forgotten=forgotten)
