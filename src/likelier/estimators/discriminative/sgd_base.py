"""Stochastic gradient descent in epochs over shuffled rows: what its estimators share."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from threading import local
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from tqdm import tqdm

from likelier.array_types import Floats
from likelier.data import Arrays, Chunk, Source
from likelier.engines import chunks
from likelier.estimators import validation
from likelier.estimators.base import called, column_names, listened_to, repeated_for_gaps, steps
from likelier.estimators.discriminative.base import (
    LabelledRows,
    LinearModel,
    SolverTrace,
    Weights,
    labelled,
    labelled_as,
)
from likelier.estimators.priors import weights_by_class
from likelier.estimators.validation import known_classes
from likelier.row_solvers.sklearn_sgd import (
    EpochResult,
    Rows,
    SGDPoint,
    SGDSettings,
    Task,
    Watch,
    run_all_epochs,
)
from likelier.states.design_survey import DesignSettings
from likelier.threads import cores
from likelier.warning_location import outside

# Generators of random numbers, as scikit-learn makes them.

_here = local()


def at_once(random_state: Any) -> np.random.RandomState:
    """The generator that `random_state` means, to be drawn from before anyone else asks for one.

    A number seeds one that each thread keeps: to make one takes fifty times as long.
    """
    if not isinstance(random_state, Integral):
        made: np.random.RandomState = check_random_state(random_state)
        return made
    if not hasattr(_here, "rng"):
        _here.rng = np.random.RandomState()
    rng: np.random.RandomState = _here.rng
    rng.seed(int(random_state))
    return rng


# How steps are taken, as the settings say that all who take them have in common.

PENALTIES = ("l2", "l1", "elasticnet", None)


def settings_of(estimator: Any, **own: Any) -> SGDSettings:
    """The settings of an estimator, validated, together with those that it has in addition."""
    alpha = validation.number("alpha", estimator.alpha, 0)
    l2, l1 = shares(estimator.penalty, estimator.l1_ratio)
    return SGDSettings(
        eta0=validation.number("eta0", estimator.eta0, np.finfo(np.float64).tiny),
        alpha=alpha,
        strength=alpha,
        l2=l2,
        l1=l1,
        intercept=validation.boolean("fit_intercept", estimator.fit_intercept),
        shuffle=validation.boolean("shuffle", estimator.shuffle),
        tol=None if estimator.tol is None else validation.number("tol", estimator.tol, 0),
        patience=int(validation.number("n_iter_no_change", estimator.n_iter_no_change, 1, whole=True)),
        **own,
    )


def one_of(name: str, value: Any, words: Sequence[str | None]) -> None:
    """Validate a hyper-parameter that has a fixed set of values."""
    if not any(value is word or (isinstance(value, str) and value == word) for word in words):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}; got {value!r}.")


def shares(penalty: str | None, l1_ratio: float | None) -> tuple[float, float]:
    """Of l2 and l1 in the penalty α ((1 - r) ‖w‖²/2 + r ‖w‖₁)."""
    one_of("penalty", penalty, PENALTIES)
    if penalty is None:
        return 0.0, 0.0
    if penalty == "elasticnet" and l1_ratio is None:
        raise ValueError("l1_ratio must be set when penalty is 'elasticnet'")
    ratio = 0.0 if l1_ratio is None else validation.number("l1_ratio", l1_ratio, 0, 1)
    ratio = {"l2": 0.0, "l1": 1.0}.get(penalty, ratio)
    return 1 - ratio, ratio


# Where steps lead: of each class against the rest, or of all at once; in memory, or part by part.


SEEDS = np.iinfo(np.int32).max  # scikit-learn draws its seeds below this
NEVER = 1 << 62  # epochs without a gain, of who is not to end


@dataclass(frozen=True)
class SGDState:
    """The state from which training can continue."""

    theta: Floats  # (q, p + 1)
    mean: Floats | None  # (q, p + 1)
    squares: Floats | None  # (q, p + 1), Σg²
    t: float  # the next turn
    n: Floats  # (K,), rows of each class so far
    mistakes: int

    def points(self, apart: bool) -> list[SGDPoint]:
        """Of one problem, or of one for each class."""
        parts = [slice(k, k + 1) for k in range(len(self.theta))] if apart else [slice(None)]

        def of(array: Floats | None, part: slice) -> Floats | None:
            return None if array is None else np.ascontiguousarray(array[part])

        return [
            SGDPoint(self.theta[part].copy(), of(self.mean, part), of(self.squares, part), self.t)
            for part in parts
        ]

    def after(self, results: Sequence[EpochResult], turns: int) -> "SGDState":
        def all_of(arrays: list[Floats | None]) -> Floats | None:
            kept = [array for array in arrays if array is not None]
            return np.concatenate(kept) if kept else None

        return replace(
            self,
            theta=np.concatenate([result.point.theta for result in results]),
            mean=all_of([result.point.mean for result in results]),
            squares=all_of([result.point.squares for result in results]),
            t=self.t + turns,
            mistakes=self.mistakes + int(sum(result.mistakes.sum() for result in results)),
        )


class EpochsResult(NamedTuple):
    """Where epochs have led, the mean loss of each, and whether they ended by themselves."""

    state: SGDState
    losses: Floats
    ended: bool
    clipped: int  # steps that had to be cut
    steps: int  # rows that moved weights
    pooled: bool = False  # each part by itself, averaged
    trace: SolverTrace | None = None  # of a solver that went on from there
    results: Sequence[EpochResult] = ()  # of each problem, over rows in memory

    @classmethod
    def of(cls, start: SGDState, rows: Rows, results: Sequence[EpochResult]) -> "EpochsResult":
        """Over rows in memory."""
        losses = mean_losses([result.losses for result in results if len(result.losses)])
        state = start.after(results, len(losses) * rows.coded)
        ended, clipped = all(result.ended for result in results), sum(result.clipped for result in results)
        steps = int(sum(result.steps.sum() for result in results))
        return cls(state, losses, ended, clipped, steps, results=results)


def mean_losses(of_problems: Sequence[Any]) -> Floats:
    """By epoch; a problem that ended before others keeps its last."""
    padded = np.empty((len(of_problems), max(map(len, of_problems))))
    for row, losses in zip(padded, of_problems, strict=True):
        row[: len(losses)], row[len(losses) :] = losses, losses[-1]
    return np.asarray(padded.mean(axis=0))


@dataclass
class EpochStopping:
    """Of one problem whose epochs are read part by part: when it ends, as over rows in memory."""

    settings: SGDSettings
    stepped: Any = None  # as in `SGDPoint`
    losses: list[float] = field(default_factory=list)  # by epoch
    best: float = np.inf
    idle: int = 0
    ended: bool = False
    loss: float = 0.0  # sums over the epoch so far
    objective: float = 0.0
    steps: int = 0

    def add(self, result: EpochResult, rows: int) -> None:
        """The steps at some rows of an epoch."""
        if self.ended:
            return
        self.stepped = result.point.stepped
        self.loss += float(result.losses[0]) * rows
        self.objective += result.objective
        self.steps += int(result.steps[0])

    def close(self, rows: int) -> None:
        """The epoch is over: so many rows had their turn."""
        if self.ended:
            return
        cost, settings = self.objective / rows, self.settings
        gained = settings.tol is None or not cost > self.best - settings.tol
        self.idle = 0 if gained else self.idle + 1
        self.best = min(self.best, cost)
        if self.idle >= settings.patience:
            self.ended = settings.rate != "adaptive" or settings.eta0 <= 1e-6
            self.settings, self.idle = replace(settings, eta0=settings.eta0 / 5), 0
        self.ended = self.ended or (settings.still and self.steps == 0)
        self.losses.append(self.loss / rows)
        self.loss, self.objective, self.steps = 0.0, 0.0, 0


Reading = Callable[["OneVsRest", SGDState], EpochsResult]  # of all rows, once


# Source, where to start, a seed for each problem, the most epochs, and who wants to hear of each.
Epochs = Callable[[Source, SGDState, Sequence[int], int, Watch | None], "EpochsResult"]


@dataclass(frozen=True)
class OneVsRest:
    """The one-vs-rest problems, or the single one, and how they are trained."""

    settings: SGDSettings
    K: int
    apart: bool
    factor: Floats | None  # (K,)
    workers: int
    endings: Sequence[EpochStopping] = field(default=(), kw_only=True)  # of the problems, read part by part

    @property
    def settings_of_each(self) -> list[SGDSettings]:
        """Of each problem. Those that are read part by part end when their epoch is over, not before."""
        if self.endings:
            return [replace(one.settings, patience=NEVER) for one in self.endings]
        return [self.settings] * (self.K if self.apart else 1)

    def begun(self, points: list[SGDPoint]) -> list[SGDPoint]:
        """With what is left over from steps at rows before these."""
        if not self.endings:
            return points
        return [replace(s, stepped=one.stepped) for s, one in zip(points, self.endings, strict=True)]

    def epochs_of(self, most: int) -> list[int]:
        """Of each problem, how many at most."""
        if self.endings:
            return [0 if one.ended else most for one in self.endings]
        return [most] * (self.K if self.apart else 1)

    def tasks(self, seeds: Sequence[int]) -> list[Task]:
        factor = np.ones(self.K) if self.factor is None else self.factor
        if self.apart:  # as in scikit-learn, the weight of a class counts where it is the one
            return [Task(seed, k, (1.0, float(factor[k]))) for k, seed in enumerate(seeds)]
        return [Task(seed, 1, tuple(factor.tolist())) for seed in seeds]

    def whole(
        self, rows: Rows, start: SGDState, seeds: Sequence[int], most: int, watch: Watch | None
    ) -> EpochsResult:
        """Epochs over rows in memory."""
        points, tasks = self.begun(start.points(self.apart)), self.tasks(seeds)
        results = run_all_epochs(
            rows, self.settings_of_each, points, tasks, self.epochs_of(most), self.workers, watch
        )
        return EpochsResult.of(start, rows, results)

    def by_parts(
        self, source: Source, start: SGDState, seeds: Sequence[int], most: int, watch: Watch | None
    ) -> EpochsResult:
        """Epochs over rows that are read part by part, and shuffled within a part; each problem ends by
        itself, as it does over rows in memory.
        """
        rngs = [check_random_state(seed) for seed in seeds]
        endings = [EpochStopping(self.settings) for _ in seeds]
        once, state, clipped, steps = replace(self, endings=endings), start, 0, 0
        while not all(one.ended or len(one.losses) == most for one in endings):
            found = once.one_reading(source, state, rngs)
            state, clipped, steps = found.state, clipped + found.clipped, steps + found.steps
            if watch is not None:
                watch(float(np.mean([one.losses[-1] for one in endings])))
        ended = all(one.ended for one in endings)
        return EpochsResult(state, mean_losses([one.losses for one in endings]), ended, clipped, steps)

    def epochs(self, reading: Reading, start: SGDState, most: int, watch: Watch | None) -> EpochsResult:
        """Readings of all rows, each an epoch, until nothing more is gained."""
        settings, state, losses, values = self.settings, start, list[float](), list[float]()
        idle, ended, clipped, steps = 0, False, 0, 0
        while len(losses) < most and not ended:
            once = replace(self, settings=replace(settings, tol=None))
            found = reading(once, state)
            state, clipped, steps = found.state, clipped + found.clipped, steps + found.steps
            losses.append(float(found.losses[0]))
            values.append(losses[-1] + self.penalty(state))
            if watch is not None:
                watch(losses[-1])
            ended = settings.still and not found.steps
            gained = (
                settings.tol is None or not values[-1] > min(values[:-1], default=np.inf) - settings.tol
            )
            idle = 0 if gained else idle + 1
            if idle >= settings.patience:
                ended = ended or settings.rate != "adaptive" or settings.eta0 <= 1e-6
                settings, idle = replace(settings, eta0=settings.eta0 / 5), 0
        return EpochsResult(state, np.array(losses), ended, clipped, steps)

    def one_reading(self, source: Source, state: SGDState, rngs: Sequence[Any]) -> EpochsResult:
        """An epoch, each part in an order of its own."""
        n, clipped, steps = 0, 0, 0
        for chunk in chunks(source):
            seeds = [int(rng.randint(SEEDS)) for rng in rngs]
            rows = Rows.of(chunk)
            if not rows.coded:
                continue
            found = self.whole(rows, state, seeds, 1, None)
            state, clipped, steps = found.state, clipped + found.clipped, steps + found.steps
            n += rows.coded
            for one, result in zip(self.endings, found.results, strict=True):
                one.add(result, rows.coded)
        for one in self.endings:
            one.close(n)
        return EpochsResult(state, np.empty(0), False, clipped, steps)

    def penalty(self, state: SGDState) -> float:
        """Of the weights as they are: the mean of the problems', as their losses are."""
        W, settings = state.theta[:, :-1], self.settings
        whole = settings.strength * (settings.l2 / 2 * np.sum(W**2) + settings.l1 * np.abs(W).sum())
        return float(whole) / (len(W) if self.apart else 1)


# Linear classifiers by a step at every row, in epochs over shuffled rows, as scikit-learn's are.


class SGDModel(LinearModel):
    """Linear classifiers by stochastic gradient steps; a subclass defines the steps (`_sgd_settings`)."""

    max_iter: int
    tol: float | None
    verbose: int
    n_jobs: int | None
    random_state: Any
    early_stopping: bool
    validation_fraction: float
    class_weight: Any
    warm_start: bool
    _statistics: SGDState | None

    @abstractmethod
    def _sgd_settings(self) -> SGDSettings:
        """How steps are taken, checked."""

    def _apart(self, K: int) -> bool:
        """Whether each of K classes is a problem of its own, against the rest."""
        return K > 2

    # ---- fitting -----------------------------------------------------------------------------------
    def _design_settings(self) -> DesignSettings:
        """Steps of one size for all columns want columns of one size."""
        return DesignSettings(standardize=True)

    @repeated_for_gaps
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the model to labelled rows, in epochs over the shuffled rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Training rows. A source, such as `likelier.scan("*.parquet", target="y")`, is read part by part
            in every epoch; its rows are shuffled within each part only.
        y : array-like of shape (n,), default=None
            Class labels. A source has its own.
        coef_init : array-like of shape (1, p) or (K, p), default=None
            Coefficients to start from. None: 0, or with `warm_start` those of the previous fit.
        intercept_init : array-like of shape (1,) or (K,), default=None
            Intercepts to start from.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, which scale their steps. A source has its own.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` epochs were not enough, or steps diverged.
        """
        if listened_to(self):  # a decorator would move the lines that warnings point at
            given = (X, y, coef_init, intercept_init)
            called(SGDModel.fit, self, given, {"sample_weight": sample_weight})
            return self
        settings = self._sgd_settings()
        most = int(validation.number("max_iter", self.max_iter, 1, whole=True))
        source = validation.training(self, X, y, sample_weight)
        rows = labelled(source)
        target = rows.classes
        if len(target) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data: the number of "
                f"classes has to be greater than one; got one class: {target[0]}"
            )
        start = self._begun(settings, target, source.p, coef_init, intercept_init)
        with validation.naming(source):
            found = self._fitted(rows, settings, start, most)
        self._warn_of_end(found, most)
        return self._publish(self._led(found, settings, rows.single), found.state, target, source.names)

    def _fitted(
        self, rows: LabelledRows, settings: SGDSettings, start: SGDState, most: int
    ) -> EpochsResult:
        """Steps, and whatever follows them."""
        return self._travel(rows, settings, start, most)

    @repeated_for_gaps
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with more rows: one epoch, starting from the current weights.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Training rows.
        y : array-like of shape (n,), default=None
            Class labels. A source has its own.
        classes : array-like of shape (K,), default=None
            All labels that can occur; required at the first call.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.

        Returns
        -------
        self : estimator
            The estimator itself.

        Notes
        -----
        With class_weight="balanced" the frequencies are those of all rows so far. `early_stopping` must be
        False.
        """
        settings = self._sgd_settings()
        if validation.boolean("early_stopping", self.early_stopping):
            raise ValueError(
                "early_stopping should be False with partial_fit: one epoch has nothing to stop"
            )
        known = known_classes(self, classes)
        if len(known) < 2:
            raise ValueError(f"the number of classes has to be greater than one; got {known.tolist()}")
        source = validation.training(self, X, y, sample_weight, known="_model" in vars(self))
        rows = labelled_as(source, known)
        start = self._go_on(settings, known, source.p)
        with validation.naming(source):
            found = self._travel(rows, settings, start, 1)
        self._warn_of_end(found, 0)
        names = column_names(self) if "_model" in vars(self) else source.names
        return self._publish(self._led(found, settings, rows.single), found.state, known, names)

    def _travel(
        self, rows: LabelledRows, settings: SGDSettings, start: SGDState, most: int
    ) -> EpochsResult:
        """At most so many epochs over all rows."""
        source, K = rows.source, len(rows.classes)
        start = replace(start, n=start.n + rows.rows)
        factor = weights_by_class(self.class_weight, rows.classes, start.n)
        one_vs_rest = self._one_vs_rest(settings, K, factor)
        if not isinstance(source, Arrays):
            if self.early_stopping:
                raise ValueError(
                    "early_stopping holds rows out of those in memory, and X is a source: load its rows, "
                    "or set early_stopping=False."
                )
            with self._watching(most) as watch:
                return self._epochs(one_vs_rest, source)(
                    source, start, self._seeds(K, None)[0], most, watch
                )
        if source.w is not None:
            validation.weighty(source.w)
        (chunk,) = source.parts(len(source) * source.X.row_bytes)[0]()
        seeds, held = self._seeds(K, chunk)
        with self._watching(most * len(seeds)) as watch:
            return one_vs_rest.whole(Rows.of(chunk, held), start, seeds, most, watch)

    @contextmanager
    def _watching(self, most: int) -> Iterator[Watch | None]:
        """Show epochs on a progress bar and report them to callbacks, if there are any.

        A callback learns that an epoch is over, not where it led: each class may be in another one.
        """
        with steps(self, "epoch") as step, progress(self.verbose, most) as watch:
            if step is None:
                yield watch
                return
            step(None)

            def report(loss: float) -> None:
                if watch is not None:
                    watch(loss)
                step(None)

            yield report

    def _epochs(self, one_vs_rest: OneVsRest, source: Source) -> Epochs:
        """How rows that are not in memory are gone through."""
        return one_vs_rest.by_parts

    def _one_vs_rest(self, settings: SGDSettings, K: int, factor: Floats | None) -> "OneVsRest":
        return OneVsRest(settings, K, self._apart(K), factor, self._workers())

    def _workers(self) -> int:
        if self.n_jobs is None:
            return cores()
        jobs = int(validation.number("n_jobs", self.n_jobs, -np.inf, whole=True))
        if jobs == 0:
            raise ValueError("n_jobs must be None, a number of workers, or -1 for all cores; got 0.")
        return jobs if jobs > 0 else max(1, cores() + 1 + jobs)

    def _seeds(self, K: int, chunk: Chunk | None) -> tuple[list[int], NDArray[np.uint8] | None]:
        """A seed for each problem, and the rows held out, drawn as and when scikit-learn draws them."""
        if self._apart(K):
            held = self._held(chunk)
            drawn = at_once(self.random_state).randint(SEEDS, size=K)
            seeds = []
            for seed in drawn:
                rng = at_once(seed)
                rng.randint(1, SEEDS)  # the seed of an order that is never asked for
                seeds.append(int(rng.randint(SEEDS)))
            return seeds, held
        rng = at_once(self.random_state)
        rng.randint(1, SEEDS)
        held = self._held(chunk)
        return [int(rng.randint(SEEDS))], held

    def _held(self, chunk: Chunk | None) -> NDArray[np.uint8] | None:
        if chunk is None or not validation.boolean("early_stopping", self.early_stopping):
            return None
        share = validation.number("validation_fraction", self.validation_fraction, 0, 1)
        assert chunk.y is not None
        known = np.flatnonzero(chunk.y >= 0)  # rows of a class
        n = len(known)
        split = StratifiedShuffleSplit(test_size=share, random_state=self.random_state)
        train, test = (known[some] for some in next(split.split(np.zeros((n, 1)), chunk.y[known])))
        if chunk.w is not None and not chunk.w[test].any():
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a different random "
                "state."
            )
        if not (len(train) and len(test)):
            raise ValueError(
                f"{n} rows with validation_fraction={share:g} leave {len(train)} to learn from and "
                f"{len(test)} to evaluate on: change it, or set early_stopping=False."
            )
        held = np.zeros(len(chunk.y), dtype=np.uint8)
        held[test] = 1
        return held

    # ---- where to begin ----------------------------------------------------------------------------
    def _begun(
        self, settings: SGDSettings, target: NDArray[Any], p: int, coef: Any, intercept: Any
    ) -> SGDState:
        before: Weights | None = vars(self).get("_model")
        if validation.boolean("warm_start", self.warm_start) and before is not None:
            coef = before.W if coef is None else coef
            intercept = before.intercept if intercept is None else intercept
        K = len(target)
        q = 1 if K == 2 else K
        theta = np.zeros((q, p + 1))
        theta[:, :p] = _given("coef_init", coef, (q, p))
        theta[:, p] = _given("intercept_init", intercept, (q,))
        return _fresh(settings, theta, K)

    def _go_on(self, settings: SGDSettings, known: NDArray[Any], p: int) -> SGDState:
        before: SGDState | None = vars(self).get("_statistics")
        K = len(known)
        if before is None:
            if "_model" in vars(self):
                raise ValueError(
                    f"this {type(self).__name__} was saved without statistics: it predicts, and cannot "
                    "continue training. Save it with them."
                )
            return _fresh(settings, np.zeros((1 if K == 2 else K, p + 1)), K)
        if settings.average and before.mean is None:
            raise ValueError(
                "average: no mean of the weights so far was kept. Set average=False, or fit again with it."
            )
        # Settings may have changed since: what is no longer wanted goes, and sums of squares begin here.
        begun = _fresh(settings, before.theta, K)
        squares = begun.squares if before.squares is None or begun.squares is None else before.squares
        return replace(before, mean=before.mean if settings.average else None, squares=squares)

    # ---- what is shown -----------------------------------------------------------------------------
    def _led(self, found: EpochsResult, settings: SGDSettings, of_single: bool) -> Weights:
        state = found.state
        averaged = state.mean is not None and settings.average <= state.t - 1
        theta = state.mean if averaged else state.theta
        assert theta is not None
        epochs = len(found.losses)
        trace = np.full((epochs + 1, 3), np.nan)
        trace[1:, 0] = found.losses
        reason = "nothing more was gained" if found.ended else f"{epochs} epochs made"
        reason += "; steps in each part, averaged" if found.pooled else ""
        way = found.trace or SolverTrace(trace, found.ended, reason, "sgd", "a step at every row")
        return Weights(
            theta[:, :-1].copy(), theta[:, -1].copy(), np.zeros(theta.shape[1] - 1), way, of_single
        )

    def _shown(self, model: Weights, statistics: SGDState | None, target: NDArray[Any]) -> dict[str, Any]:
        shown = super()._shown(model, statistics, target) | {"n_iter_": len(model.course.trace) - 1}
        for name in ("solver_", "solver_reason_"):
            del shown[name]
        if statistics is not None:
            shown["t_"] = statistics.t
            if model.course.solver != "averaged":  # whose steps count no mistakes
                shown["mistakes_"] = statistics.mistakes
        return shown

    def _warn_of_end(self, found: EpochsResult, most: int) -> None:
        if found.clipped:
            warnings.warn(
                f"{type(self).__name__}: the updates diverge: {found.clipped} of them had "
                "gradients above 1e12 "
                "and were clipped. Scale the columns (StandardScaler), or lower eta0.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        elif found.trace is not None and not found.trace.converged:
            warnings.warn(
                f"{type(self).__name__}: {found.trace.reason}. Raise max_iter, loosen tol, or penalise "
                "more (a larger alpha).",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        elif self.tol is not None and len(found.losses) == most and not found.ended:
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to "
                f"improve the fit. ({type(self).__name__}: {most} epochs, tol={self.tol:g}, mean loss "
                f"{found.losses[-1]:.6g}. Scaling the columns may help too.)",
                ConvergenceWarning,
                stacklevel=outside(),
            )


def _fresh(settings: SGDSettings, theta: Floats, K: int) -> SGDState:
    q, width = theta.shape
    point = SGDPoint.start(q, width - 1, settings, theta)
    return SGDState(point.theta, point.mean, point.squares, 1.0, np.zeros(K), 0)


def _given(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Where to begin, in this shape; None: at 0."""
    if value is None:
        return np.zeros(shape)
    found = np.asarray(value, dtype=np.float64)
    if found.size != np.prod(shape) or (found.ndim > 1 and found.shape != shape):
        raise ValueError(
            f"Provided {name} does not match dataset: it has shape {found.shape}, not {shape}."
        )
    if not np.isfinite(found).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return found.reshape(shape)


@contextmanager
def progress(verbose: int, most: int) -> Iterator[Watch | None]:
    """A progress bar, if one is wanted."""
    if not verbose:
        yield None
        return
    with tqdm(total=most, unit="epoch") as bar:

        def watch(loss: float) -> None:
            bar.update()
            bar.set_postfix(loss=f"{loss:.6g}")

        yield watch
