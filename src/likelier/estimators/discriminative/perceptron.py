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
from likelier.estimators.discriminative.base import LabelledRows, Weights, labelled_as
from likelier.estimators.discriminative.sgd_base import (
    EpochsResult,
    OneVsRest,
    SGDModel,
    SGDState,
    one_of,
    settings_of,
)
from likelier.estimators.linear_classifier import LinearClassifier
from likelier.estimators.predictions import Contributions
from likelier.evaluation import BinaryProblem, MistakeBound, mistake_bound
from likelier.export.describe import Scored
from likelier.export.program import NotExpressible
from likelier.row_solvers.perceptron import (
    AllVotes,
    DrawnVote,
    EpochRecorder,
    Pool,
    Tally,
    VoteRecorder,
    Voters,
    Votes,
    curve,
    gathered,
    none_kept,
)
from likelier.row_solvers.sklearn_sgd import (
    SPARSE_DECAY,
    Rows,
    SGDPoint,
    SGDSettings,
    Task,
    Watch,
    run_all_epochs,
)
from likelier.scores import Scores
from likelier.warning_location import outside

# What a perceptron leaves: weights or voters, and how it went.


@dataclass(frozen=True, kw_only=True)
class VotedWeights(Weights):
    """All weight vectors vote; W and b are the last of them."""

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
        """As fitted attributes: there is no single weight vector to show."""
        return self.course.shown


@dataclass(frozen=True)
class PerceptronState(SGDState):
    """The state from which training can continue. Rows that are kept for votes belong to the model."""

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
    def begun(cls, kind: str, at: SGDState, *, plain: bool) -> Self:
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

    def points(self, apart: bool) -> list[SGDPoint]:
        """Each at a turn of its own: a problem that ended early took fewer."""
        turns = [tally.turns for tally in self.tallies]
        return [replace(s, t=1.0 + T) for s, T in zip(super().points(apart), turns, strict=True)]

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
class RecordingOneVsRest(OneVsRest):
    """A route on which every mistake is noted."""

    most: int = 0  # mistakes to keep, of each problem

    def whole(
        self, rows: Rows, start: SGDState, seeds: Sequence[int], most: int, watch: Watch | None
    ) -> EpochsResult:
        """Epochs over rows in memory."""
        assert isinstance(start, PerceptronState)
        decay = 0.0 if not self.settings.intercept else SPARSE_DECAY if isinstance(rows.X, CSR) else 1.0
        if start.voters and start.decay not in (None, decay):
            raise ValueError(
                "the rows so far were dense where these are sparse, or the other way round, or "
                "fit_intercept was another: intercepts of voters move in one way. Continue with "
                "rows of the same kind."
            )
        tasks, points = self.tasks(seeds), self.begun(start.points(self.apart))
        followers = [self._follower(rows, start, k, task, decay) for k, task in enumerate(tasks)]
        records = [EpochRecorder.of(*one) for one in zip(points, start.tallies, followers, strict=True)]
        epochs = self.epochs_of(most)
        results = run_all_epochs(
            rows, self.settings_of_each, points, tasks, epochs, self.workers, watch, records
        )
        found = EpochsResult.of(start, rows, results)
        after = found.state
        assert isinstance(after, PerceptronState)
        plain = (
            start.plain and start.decay in (None, decay) and (rows.w is None or bool((rows.w == 1).all()))
        )
        out = 0 if rows.held is None else int(rows.held.sum())
        tallies = tuple(
            replace(record.tally, passed=record.tally.passed + out * len(result.losses))
            for record, result in zip(records, results, strict=True)
        )
        after = replace(after, tallies=tallies, decay=decay, plain=plain)
        return found._replace(state=_with_weights(after, rows, followers))

    def _follower(
        self, rows: Rows, start: PerceptronState, k: int, task: Task, decay: float
    ) -> VoteRecorder:
        if start.kind not in ("voted", "random"):
            return VoteRecorder()
        own = rows.codes == task.positive
        worth = np.where(own, task.by_class[1], -task.by_class[0]) * (1.0 if rows.w is None else rows.w)
        worth *= self.settings.eta0
        if start.drawn is not None:
            return DrawnVote(start.drawn[k], rows.X, worth, decay, (task.seed, k))
        assert start.kept is not None
        return AllVotes(start.voters[k], Pool(start.kept, rows.X), worth, self.most, decay)


def _with_weights(after: PerceptronState, rows: Rows, followers: Sequence[VoteRecorder]) -> PerceptronState:
    """With what the followers have kept."""
    draws = [one.drawn for one in followers if isinstance(one, DrawnVote)]
    if draws:
        return replace(after, drawn=np.array(draws))
    polls = [one for one in followers if isinstance(one, AllVotes)]
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
            "weights='voted' has no single weight vector: all of them vote. Use "
            "weights='average', which is "
            "close to it."
        )
    return True


class Perceptron(SGDModel):
    """The perceptron: w += y x for every row with y w·x <= 0.

    Drop-in for scikit-learn's class, with the same weights. For more than two classes it fits each class
    against the rest. Training ends as in scikit-learn, and also after an epoch without a mistake.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"} or None, default=None
        The penalty on the coefficients.
    alpha : float, default=0.0001
        Strength of the penalty, if there is one.
    l1_ratio : float, default=0.15
        Share of the l1 penalty in "elasticnet", from 0 to 1.
    fit_intercept : bool, default=True
        Whether to add an intercept to the scores.
    max_iter : int, default=1000
        Maximum number of epochs in `fit`; `partial_fit` makes one.
    tol : float or None, default=1e-3
        `fit` stops after `n_iter_no_change` epochs in a row that lower the mean loss by less than `tol`.
        None: it stops only after an epoch without a mistake (if there is no penalty), or at `max_iter`.
    shuffle : bool, default=True
        Whether the rows are shuffled before each epoch.
    verbose : int, default=0
        If not 0, show a progress bar.
    eta0 : float, default=1.0
        Step length: a mistake adds eta0 y x, times the weight of the row.
    n_jobs : int, default=None
        Number of one-vs-rest problems that are fitted at the same time. None and -1: as many as there are
        cores.
    random_state : int, RandomState instance or None, default=0
        Seed of the order of the rows, of the validation rows, and of weights="random".
    early_stopping : bool, default=False
        Whether to hold out a stratified share of the rows and stop when their score stops improving. Needs
        rows in memory.
    validation_fraction : float, default=0.1
        The share of rows to hold out, if `early_stopping`.
    n_iter_no_change : int, default=5
        Number of epochs without improvement before training stops.
    class_weight : dict or "balanced", default=None
        Weights of the classes, {label: weight}; "balanced" weights each class inversely to its frequency.
    warm_start : bool, default=False
        Whether `fit` starts from the weights of the previous fit.
    weights : {"last", "average", "voted", "random"}, default="last"
        Which of all weight vectors predict. "last": the one after the last row. "average": the mean of the
        initial one and those after each row. "voted": all of them, each with as many votes as it lasted
        rows; the rows of the mistakes are stored in place of the weights. "random": one of them, drawn in
        proportion to the rows that it lasted. All but "last" need penalty=None.
    max_mistakes : int, default=100000
        For weights="voted", the number of mistakes of each problem to keep: beyond it only the latest
        weights vote.
    encode : bool, default=True
        Whether a data frame or a source with categories, dates or missing values becomes a matrix of
        numbers, as by `DesignMatrix`, with standardised numbers. False: such a table is refused.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels, sorted.
    coef_ : ndarray of shape (1, p) or (K, p)
        Coefficients of the features; for binary problems one row, for `classes_[1]`. Not available for
        weights="voted".
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts. Not available for weights="voted".
    n_features_in_ : int
        Number of columns seen in `fit`.
    design_ : DesignMatrix
        The design matrix that the table of `fit` became, whose `get_feature_names_out` names its columns;
        only if that table was not of numbers alone. `feature_names_in_` are then the table's columns.
    feature_names_in_ : ndarray of shape (p,)
        Names of the columns, if X had names.
    n_iter_ : int
        Number of epochs; for one-vs-rest problems the largest.
    t_ : float
        1 + the number of rows presented so far.
    trace_ : ndarray of shape (n_iter_ + 1, 3)
        In the first column the mean loss of each epoch, each row's before its step; the first row and the
        other columns are NaN.
    converged_ : bool
        Whether training stopped by itself, before `max_iter`.
    stop_reason_ : str
        Why training stopped.
    mistakes_ : int
        Number of mistakes, and so of steps, over all epochs and problems.
    class_mistakes_ : ndarray of shape (1,) or (K,)
        The mistakes of each problem.
    mistake_curve_ : ndarray of shape (c, 2) or (c, K + 1)
        Numbers of rows presented (1, 2, 4, ... and the last) in the first column, and the mistakes of each
        problem by then in the others.

    See Also
    --------
    SGDClassifier : Other losses, penalties and step lengths.
    OnlineClassifier : Rows one by one.

    References
    ----------
    - Rosenblatt, F. (1958). The perceptron: a probabilistic model for information storage and organization
      in the brain. Psychological Review 65, 386-408.
    - Freund, Y. and Schapire, R. E. (1999). Large margin classification using the perceptron algorithm.
      Machine Learning 37, 277-296.

    Examples
    --------
    >>> from likelier import Perceptron
    >>> X, y = [[-2.0, 0.0], [-1.0, 1.0], [1.0, -1.0], [2.0, 0.0]], [0, 0, 1, 1]
    >>> model = Perceptron().fit(X, y)
    >>> model.predict(X)
    array([0, 0, 1, 1])
    >>> model.stop_reason_
    'an epoch without a mistake'
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
        encode: bool = True,
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
        self.encode = encode

    # ---- how steps are taken -----------------------------------------------------------------------
    def _sgd_settings(self) -> SGDSettings:
        self._check_kind()
        return settings_of(
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

    def _one_vs_rest(self, settings: SGDSettings, K: int, factor: Floats | None) -> OneVsRest:
        most = int(validation.number("max_mistakes", self.max_mistakes, 1, whole=True))
        return RecordingOneVsRest(settings, K, self._apart(K), factor, self._workers(), most)

    # ---- where to begin, and to continue ----------------------------------------------------------------
    def _begun(
        self, settings: SGDSettings, target: NDArray[Any], p: int, coef: Any, intercept: Any
    ) -> SGDState:
        before = vars(self).get("_statistics")
        warm = validation.boolean("warm_start", self.warm_start) and coef is None and intercept is None
        if warm and before and before.theta.shape[1] == p + 1 and np.array_equal(self._target, target):
            # Classes are balanced as they are in these rows.
            return replace(self._go_on(settings, target, p), n=np.zeros(len(target)))
        fresh = super()._begun(settings, target, p, coef, intercept)
        return PerceptronState.begun(
            self.weights, fresh, plain=self.penalty is None and self.class_weight is None
        )

    def _go_on(self, settings: SGDSettings, known: NDArray[Any], p: int) -> SGDState:
        before = vars(self).get("_statistics")
        if isinstance(before, PerceptronState) and before.kind != self.weights:
            raise ValueError(
                f"weights={self.weights!r}: what was learned so far is kept for weights={before.kind!r}. "
                "Set them back, or fit again."
            )
        found = super()._go_on(settings, known, p)
        plain = self.penalty is None and self.class_weight is None
        if not isinstance(found, PerceptronState):
            return PerceptronState.begun(self.weights, found, plain=plain)
        model = self._model
        if isinstance(model, VotedWeights):
            found = replace(found, kept=model.kept, voters=model.voters)
        return replace(found, plain=found.plain and plain)

    def _travel(
        self, rows: LabelledRows, settings: SGDSettings, start: SGDState, most: int
    ) -> EpochsResult:
        found = super()._travel(rows, settings, start, most)
        before, after = start, found.state
        assert isinstance(before, PerceptronState)
        assert isinstance(after, PerceptronState)
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
    def _led(self, found: EpochsResult, settings: SGDSettings, of_single: bool) -> Weights:
        model, after = super()._led(found, settings, of_single), found.state
        assert isinstance(after, PerceptronState)
        theta = after.theta if after.drawn is None else after.drawn
        theta = after.average if after.mean is not None else theta
        way = replace(model.course, solver="perceptron", why="a step at every mistake")
        if found.ended and not any(tally.latest for tally in after.tallies):
            way = replace(way, reason="an epoch without a mistake")
        model = replace(model, W=theta[:, :-1].copy(), b=theta[:, -1].copy(), course=way)
        if after.kept is None:
            return model
        assert after.decay is not None
        return VotedWeights(**vars(model), kept=after.kept, voters=after.voters, decay=after.decay)

    def _publish(self, model: Any, statistics: Any | None, target: Any, names: Names) -> Self:
        if statistics is not None:  # the model has them
            statistics = replace(statistics, kept=None, voters=())
        return super()._publish(model, statistics, target, names)

    def _shown(self, model: Weights, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        shown = super()._shown(model, statistics, target)
        return shown if statistics is None else shown | statistics.shown

    # ---- where there is a line -----------------------------------------------------------------------
    def _scored(self) -> Scored:
        if isinstance(self._model, VotedWeights):
            raise NotExpressible(
                "Perceptron with weights='voted' cannot be exported: all of its weight vectors vote on "
                "each row. Fit it with weights='average'."
            )
        return super()._scored()

    @available_if(_has_line)  # type: ignore[untyped-decorator]
    def to_linear(self) -> LinearClassifier:
        """The coefficients alone, as a `LinearClassifier` that makes the same predictions.

        Not available for weights="voted", which has no single weight vector.

        Returns
        -------
        LinearClassifier
            A fitted classifier with `coef_`, `intercept_`, `classes_` and the feature names.
        """
        return super().to_linear()

    @available_if(_has_line)  # type: ignore[untyped-decorator]
    def contributions(self, X: Any) -> Contributions:
        """What each feature contributes to the score of each class: w_kj x_j.

        Not available for weights="voted", which has no single weight vector.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        Contributions
            `values` of shape (n, K, p) and `base` of shape (K,), the intercepts.
        """
        return super().contributions(X)

    @available_if(_has_line)  # type: ignore[untyped-decorator]
    def sparsify(self) -> Self:
        """Turn `coef_` into a sparse matrix; predictions do not change. Not available for weights="voted".

        Returns
        -------
        self : Perceptron
            The estimator itself.
        """
        return super().sparsify()

    @available_if(_has_line)  # type: ignore[untyped-decorator]
    def densify(self) -> Self:
        """Turn `coef_` back into an array, after `sparsify`. Not available for weights="voted".

        Returns
        -------
        self : Perceptron
            The estimator itself.
        """
        return super().densify()

    # ---- bounds --------------------------------------------------------------------------------------
    def mistake_bound(self, X: Any, y: Any = None, epochs: float | None = None) -> MistakeBound:
        """Upper bounds on the number of mistakes on the training rows, beside the mistakes that were made.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            The rows of the fit.
        y : array-like of shape (n,), default=None
            Their labels. A source has its own.
        epochs : float, default=None
            How often each row is presented. None: as often as in the fit; otherwise the mistakes made are
            not reported.

        Returns
        -------
        MistakeBound
            Numbers for binary problems, arrays with an entry for each class otherwise; prints as a table.

        Raises
        ------
        ValueError
            If the fit did not start at 0, had a penalty or weights of rows or classes, or mixed dense and
            sparse rows: the bounds do not apply then.
        """
        validation.fitted(self)
        counted = self._statistics
        if not isinstance(counted, PerceptronState) or counted.decay is None or not counted.plain:
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
            BinaryProblem(label, k, tally.turns + tally.passed, tally.mistakes)
            for k, (label, tally) in enumerate(
                zip(labels, counted.tallies, strict=True), len(self._target) - len(labels)
            )
        ]
        with validation.naming(source):
            return mistake_bound(rows.source, problems, float(np.sqrt(counted.decay)), epochs)
