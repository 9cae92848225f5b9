"""Linear classifiers by a step at every row, in epochs over shuffled rows, as scikit-learn's are."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from tqdm import tqdm

from likelier.callers import outside
from likelier.cores import cores
from likelier.data import Arrays, Chunk, Source
from likelier.engines import run
from likelier.estimators import door
from likelier.estimators.callbacks import Observable, called, listened_to, steps
from likelier.estimators.chance import at_once
from likelier.estimators.discriminative import precoded, single
from likelier.estimators.scoring import refuse_new
from likelier.estimators.sources import stored
from likelier.estimators.strides import SEEDS, Epochs, Journey, Route, Strides
from likelier.estimators.weighing import ClassTotals, weights_by_class
from likelier.estimators.weighted import Weighted
from likelier.estimators.weights import Course as Way
from likelier.estimators.weights import Weights
from likelier.online.stochastic import Course, Rows, Stand, Watch

Floats = NDArray[np.float64]


class Striding(Observable, Weighted):
    """Steps, and the weights that they lead to. A subclass says how they are taken (`_course`)."""

    max_iter: int
    tol: float | None
    verbose: int
    n_jobs: int | None
    random_state: Any
    early_stopping: bool
    validation_fraction: float
    class_weight: Any
    warm_start: bool
    _statistics: Strides | None

    @abstractmethod
    def _course(self) -> Course:
        """How steps are taken, checked."""

    def _apart(self, K: int) -> bool:
        """Whether each of K classes is told from the rest by itself."""
        return K > 2

    # ---- fitting -----------------------------------------------------------------------------------
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit to rows X and their labels y, or to a source that has both.

        A source is read part by part in its order; rows are shuffled within a part only.
        """
        if listened_to(self):  # a decorator would move the lines that warnings point at
            rows = (X, y, coef_init, intercept_init)
            called(Striding.fit, self, rows, {"sample_weight": sample_weight})
            return self
        course = self._course()
        most = int(door.number("max_iter", self.max_iter, 1, whole=True))
        source = door.training(self, X, y, sample_weight)
        target = self._target_of(source)
        if len(target) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data: the number of "
                f"classes has to be greater than one; got one class: {target[0]}"
            )
        start = self._begun(course, target, source.p, coef_init, intercept_init)
        with door.naming(source):
            found = self._fitted(precoded(source, target), target, course, start, most)
        self._warn_of_end(found, most)
        return self._publish(self._led(found, course, single(source)), found.strides, target, source.names)

    def _fitted(
        self, source: Source, target: NDArray[Any], course: Course, start: Strides, most: int
    ) -> Journey:
        """Steps, and whatever follows them."""
        return self._travel(source, target, course, start, most)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows: one epoch of steps, from where the last ones led.

        `classes`, all labels that can ever come, are needed at the first call. class_weight="balanced"
        goes by the classes seen so far.
        """
        course = self._course()
        if door.truth("early_stopping", self.early_stopping):
            raise ValueError(
                "early_stopping should be False with partial_fit: one epoch has nothing to stop"
            )
        known = self._known_classes(classes)
        if len(known) < 2:
            raise ValueError(f"the number of classes has to be greater than one; got {known.tolist()}")
        source = door.training(self, X, y, sample_weight, known="_model" in vars(self))
        refuse_new(source, known)
        start = self._go_on(course, known, source.p)
        with door.naming(source):
            found = self._travel(precoded(source, known), known, course, start, 1)
        self._warn_of_end(found, 0)
        names = getattr(self, "feature_names_in_", source.names)
        return self._publish(self._led(found, course, single(source)), found.strides, known, names)

    def _travel(
        self, source: Source, target: NDArray[Any], course: Course, start: Strides, most: int
    ) -> Journey:
        """At most so many epochs over all rows."""
        K = len(target)
        start = replace(start, n=start.n + counted(source, K))
        factor = weights_by_class(self.class_weight, target, start.n)
        route = self._route(course, K, factor)
        if not isinstance(source, Arrays):
            if self.early_stopping:
                raise ValueError(
                    "early_stopping holds rows out of those in memory, and X is a source: load its rows, "
                    "or set early_stopping=False."
                )
            with self._watching(most) as watch:
                return self._epochs(route, source)(source, start, self._seeds(K, None)[0], most, watch)
        if source.w is not None:
            door.weighty(source.w)
        (chunk,) = source.parts(len(source) * source.X.row_bytes)[0]()
        seeds, held = self._seeds(K, chunk)
        with self._watching(most * len(seeds)) as watch:
            return route.whole(Rows.of(chunk, held), start, seeds, most, watch)

    @contextmanager
    def _watching(self, most: int) -> Iterator[Watch | None]:
        """Epochs shown on a progress bar, and told to callbacks, if they are wanted.

        A callback is told that an epoch is over, not where it led: each class may be in another one.
        """
        with steps(self, "epoch") as step, progress(self.verbose, most) as watch:
            if step is None:
                yield watch
                return
            step(None)

            def told(loss: float) -> None:
                if watch is not None:
                    watch(loss)
                step(None)

            yield told

    def _epochs(self, route: Route, source: Source) -> Epochs:
        """How rows that are not in memory are gone through."""
        return route.by_parts

    def _route(self, course: Course, K: int, factor: Floats | None) -> "Route":
        return Route(course, K, self._apart(K), factor, self._workers())

    def _workers(self) -> int:
        if self.n_jobs is None:
            return cores()
        jobs = int(door.number("n_jobs", self.n_jobs, -np.inf, whole=True))
        if jobs == 0:
            raise ValueError("n_jobs=0: it is None, a number of workers, or -1 for all cores")
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
        if chunk is None or not door.truth("early_stopping", self.early_stopping):
            return None
        share = door.number("validation_fraction", self.validation_fraction, 0, 1)
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
                f"{len(test)} to judge by: change it, or set early_stopping=False."
            )
        held = np.zeros(len(chunk.y), dtype=np.uint8)
        held[test] = 1
        return held

    # ---- where to begin ----------------------------------------------------------------------------
    def _begun(self, course: Course, target: NDArray[Any], p: int, coef: Any, intercept: Any) -> Strides:
        before: Weights | None = vars(self).get("_model")
        if door.truth("warm_start", self.warm_start) and before is not None:
            coef = before.W if coef is None else coef
            intercept = before.intercept if intercept is None else intercept
        K = len(target)
        q = 1 if K == 2 else K
        theta = np.zeros((q, p + 1))
        theta[:, :p] = _given("coef_init", coef, (q, p))
        theta[:, p] = _given("intercept_init", intercept, (q,))
        return _fresh(course, theta, K)

    def _go_on(self, course: Course, known: NDArray[Any], p: int) -> Strides:
        before: Strides | None = vars(self).get("_statistics")
        K = len(known)
        if before is None:
            if "_model" in vars(self):
                raise ValueError(
                    f"this {type(self).__name__} was saved without statistics: it predicts, and cannot "
                    "learn on. Save it with them."
                )
            return _fresh(course, np.zeros((1 if K == 2 else K, p + 1)), K)
        if course.average and before.mean is None:
            raise ValueError(
                "average: no mean of the weights so far was kept. Set average=False, or fit again with it."
            )
        # Settings may have changed since: what is no longer wanted goes, and sums of squares begin here.
        begun = _fresh(course, before.theta, K)
        squares = begun.squares if before.squares is None or begun.squares is None else before.squares
        return replace(before, mean=before.mean if course.average else None, squares=squares)

    # ---- what is shown -----------------------------------------------------------------------------
    def _led(self, found: Journey, course: Course, of_single: bool) -> Weights:
        strides = found.strides
        averaged = strides.mean is not None and course.average <= strides.t - 1
        theta = strides.mean if averaged else strides.theta
        assert theta is not None
        epochs = len(found.losses)
        trace = np.full((epochs + 1, 3), np.nan)
        trace[1:, 0] = found.losses
        reason = "nothing more was gained" if found.ended else f"{epochs} epochs made"
        reason += "; steps in each part, averaged" if found.pooled else ""
        way = found.way or Way(trace, found.ended, reason, "sgd", "a step at every row")
        return Weights(
            theta[:, :-1].copy(), theta[:, -1].copy(), np.zeros(theta.shape[1] - 1), way, of_single
        )

    def _shown(self, model: Weights, statistics: Strides | None, target: NDArray[Any]) -> dict[str, Any]:
        shown = super()._shown(model, statistics, target) | {"n_iter_": len(model.course.trace) - 1}
        for name in ("solver_", "solver_reason_"):
            del shown[name]
        if statistics is not None:
            shown["t_"] = statistics.t
            if model.course.solver != "averaged":  # whose steps count no mistakes
                shown["mistakes_"] = statistics.mistakes
        return shown

    def _warn_of_end(self, found: Journey, most: int) -> None:
        if found.clipped:
            warnings.warn(
                f"{type(self).__name__}: steps diverge: {found.clipped} of them were so steep (1e12) that "
                "they were cut. Scale the columns (StandardScaler), or lower eta0: smaller steps.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        elif found.way is not None and not found.way.converged:
            warnings.warn(
                f"{type(self).__name__}: {found.way.reason}. Raise max_iter, loosen tol, or penalise more "
                "(a larger alpha).",
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


class RowTotals(ClassTotals):
    """The number of each class's rows, (K,)."""

    def update(self, chunk: Chunk) -> None:
        super().update(chunk._replace(w=None))


def counted(source: Source, K: int) -> Floats:
    """Rows of each class, whatever they weigh."""
    if isinstance(source, Arrays):
        assert source.y is not None
        return np.bincount(source.y + 1, minlength=K + 1)[1:].astype(np.float64)  # the first: no label
    rows = source.taking([], y=True) if stored(source) else source
    return run(rows, lambda: RowTotals(np.zeros(K))).n


def _fresh(course: Course, theta: Floats, K: int) -> Strides:
    q, width = theta.shape
    stand = Stand.start(q, width - 1, course, theta)
    return Strides(stand.theta, stand.mean, stand.squares, 1.0, np.zeros(K), 0)


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
