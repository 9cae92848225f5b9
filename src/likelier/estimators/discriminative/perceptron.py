"""Perceptron: last, averaged, voted and pocket weights."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from likelier.array_types import Floats
from likelier.data import CSR, DegenerateWarning
from likelier.estimators import validation
from likelier.estimators.base import Names
from likelier.estimators.common import Contributions, LinearClassifier
from likelier.estimators.discriminative.base import LabelledRows, labelled_as
from likelier.estimators.discriminative.sgd_base import Journey, Route, SGDModel, Strides, course_of, one_of
from likelier.estimators.discriminative.weights import Weights
from likelier.evaluation import MistakeBound, Problem, mistake_bound
from likelier.row_solvers.perceptron import (
    Draw,
    Follower,
    Poll,
    Pool,
    Record,
    Tally,
    Voters,
    Votes,
    curve,
    gathered,
    none_kept,
)
from likelier.row_solvers.sklearn_sgd import SPARSE_DECAY, Course, Rows, Stand, Task, Watch, walk_all
from likelier.scores import Scores
from likelier.warning_location import outside

# What a perceptron leaves: weights or voters, and how it went.


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


# The perceptron, and the choice of which of its weights to report.


KINDS = ("last", "average", "voted", "random")


def _has_line(self: Any) -> bool:
    if self.weights == "voted":
        raise AttributeError(
            "weights='voted': no single line answers, but the votes of all weights. Take "
            "weights='average', which is near it."
        )
    return True


class Perceptron(SGDModel):
    """w += y x wherever y w·x <= 0 (Rosenblatt 1958): drop-in for scikit-learn's, to the same weights.

    weights: which of all its weights answer. "last": those after the last row. "average": the mean of those
    before the first row and after each. "voted": all of them, by the sign of the score, each as often as
    it lasted rows (Freund & Schapire 1999); the mistaken rows are kept, not the weights, and beyond
    `max_mistakes` of a problem the latest vote. "random": one of them, drawn by how long it lasted. More
    than two classes: one against the rest, each; by votes, the class with the largest mean vote.

    It ends as scikit-learn's does, and after an epoch without a mistake. The weight of a row scales its
    step; how long weights last is counted in rows. `mistakes_` counts steps, `class_mistakes_` those of
    each class's problem, `mistake_curve_` (c, 1 + q) how many there were after 1, 2, 4, … rows.
    """

    assumes = "discriminative; nothing of rows, which may come in any order; linear boundary"

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        weights: str = "last",
        max_mistakes: int = 100_000,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.weights = weights
        self.max_mistakes = max_mistakes

    # ---- how steps are taken -----------------------------------------------------------------------
    def _course(self) -> Course:
        self._check_kind()
        return course_of(
            self,
            loss="perceptron",
            rate="constant",
            average=int(self.weights == "average"),
            still=self.penalty is None,  # a penalty moves weights at every turn
            diary=True,
        )

    def _check_kind(self) -> None:
        one_of("weights", self.weights, KINDS)
        if self.weights != "last" and self.penalty is not None:
            raise ValueError(
                f"weights={self.weights!r} goes with penalty=None: a penalty moves weights at every row, "
                "not only at mistakes. SGDClassifier(loss='perceptron', average=True) has means of such."
            )

    def _route(self, course: Course, K: int, factor: Floats | None) -> Route:
        most = int(validation.number("max_mistakes", self.max_mistakes, 1, whole=True))
        return Followed(course, K, self._apart(K), factor, self._workers(), most)

    # ---- where to begin, and to go on ----------------------------------------------------------------
    def _begun(self, course: Course, target: NDArray[Any], p: int, coef: Any, intercept: Any) -> Strides:
        before = vars(self).get("_statistics")
        warm = validation.truth("warm_start", self.warm_start) and coef is None and intercept is None
        if warm and before and before.theta.shape[1] == p + 1 and np.array_equal(self._target, target):
            # Classes are balanced as they are in these rows.
            return replace(self._go_on(course, target, p), n=np.zeros(len(target)))
        fresh = super()._begun(course, target, p, coef, intercept)
        return Progress.begun(self.weights, fresh, plain=self.penalty is None and self.class_weight is None)

    def _go_on(self, course: Course, known: NDArray[Any], p: int) -> Strides:
        before = vars(self).get("_statistics")
        if isinstance(before, Progress) and before.kind != self.weights:
            raise ValueError(
                f"weights={self.weights!r}: what was learned so far is kept for weights={before.kind!r}. "
                "Set them back, or fit again."
            )
        found = super()._go_on(course, known, p)
        plain = self.penalty is None and self.class_weight is None
        if not isinstance(found, Progress):
            return Progress.begun(self.weights, found, plain=plain)
        model = self._model
        if isinstance(model, Voted):
            found = replace(found, kept=model.kept, voters=model.voters)
        return replace(found, plain=found.plain and plain)

    def _travel(self, rows: LabelledRows, course: Course, start: Strides, most: int) -> Journey:
        found = super()._travel(rows, course, start, most)
        before, after = start, found.strides
        assert isinstance(before, Progress)
        assert isinstance(after, Progress)
        if after.forgotten and not before.forgotten:
            warnings.warn(
                f"Perceptron: there were more than max_mistakes={self.max_mistakes} mistakes: the weights "
                "of the latest have a vote, those before them none. Raise max_mistakes, or take "
                "weights='average', which needs no memory.",
                DegenerateWarning,
                stacklevel=outside(),
            )
        return found

    # ---- what is shown -----------------------------------------------------------------------------
    def _led(self, found: Journey, course: Course, of_single: bool) -> Weights:
        model, after = super()._led(found, course, of_single), found.strides
        assert isinstance(after, Progress)
        theta = after.theta if after.drawn is None else after.drawn
        theta = after.average if after.mean is not None else theta
        way = replace(model.course, solver="perceptron", why="a step at every mistake")
        if found.ended and not any(tally.latest for tally in after.tallies):
            way = replace(way, reason="an epoch without a mistake")
        model = replace(model, W=theta[:, :-1].copy(), b=theta[:, -1].copy(), course=way)
        if after.kept is None:
            return model
        assert after.decay is not None
        return Voted(**vars(model), kept=after.kept, voters=after.voters, decay=after.decay)

    def _publish(self, model: Any, statistics: Any | None, target: Any, names: Names) -> Self:
        if statistics is not None:  # the model has them
            statistics = replace(statistics, kept=None, voters=())
        return super()._publish(model, statistics, target, names)

    def _shown(self, model: Weights, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        shown = super()._shown(model, statistics, target)
        return shown if statistics is None else shown | statistics.shown

    # ---- where there is a line -----------------------------------------------------------------------
    @available_if(_has_line)  # type: ignore[untyped-decorator]
    def to_linear(self) -> LinearClassifier:
        """The weights alone, as a classifier that predicts the same."""
        return super().to_linear()

    @available_if(_has_line)  # type: ignore[untyped-decorator]
    def contributions(self, X: Any) -> Contributions:
        """What each column adds to each class's score, (n, K, p), beside a base (K,): the intercepts."""
        return super().contributions(X)

    @available_if(_has_line)  # type: ignore[untyped-decorator]
    def sparsify(self) -> Self:
        """Show `coef_` as a sparse matrix; answers do not change."""
        return super().sparsify()

    @available_if(_has_line)  # type: ignore[untyped-decorator]
    def densify(self) -> Self:
        """Show `coef_` as an array again."""
        return super().densify()

    # ---- bounds --------------------------------------------------------------------------------------
    def mistake_bound(self, X: Any, y: Any = None, epochs: float | None = None) -> MistakeBound:
        """How many mistakes there could have been at most, and were, on the rows that it was fitted to.

        Two classes: numbers; more: an array, a problem for each class. epochs: how often each row is
        presented, if it is not as often as it was; then no mistakes are reported.
        """
        validation.fitted(self)
        counted = self._statistics
        if not isinstance(counted, Progress) or counted.decay is None or not counted.plain:
            raise ValueError(
                "bounds hold for weights that start at 0, without a penalty and without weights of rows or "
                "classes, of rows all dense or all sparse, and where mistakes were counted: fit a "
                "Perceptron so."
            )
        if epochs is not None:
            epochs = validation.number("epochs", epochs, 1)
        source = validation.training(self, X, y, None, known=True)
        rows = labelled_as(source, self._target)
        labels = [str(label) for label in self._target]
        labels = labels[1:] if len(labels) == 2 else labels
        problems = [
            Problem(label, k, tally.turns + tally.passed, tally.mistakes)
            for k, (label, tally) in enumerate(
                zip(labels, counted.tallies, strict=True), len(self._target) - len(labels)
            )
        ]
        with validation.naming(source):
            return mistake_bound(rows.source, problems, float(np.sqrt(counted.decay)), epochs)
