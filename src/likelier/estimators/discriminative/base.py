"""Classifiers that minimise a loss over rows plus a penalty: the fit, the weights, predictions."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from tqdm import tqdm

from likelier import links
from likelier.array_types import Floats
from likelier.choose_solver import chosen
from likelier.data import Arrays, Source, code, levels_of
from likelier.data.chunk import FEW_COLUMNS, compressed
from likelier.data.labels import sums_by_code, tallied
from likelier.engines import reached, run
from likelier.engines.run import OBSERVER, counting
from likelier.estimators import exports, posteriors, validation
from likelier.estimators.base import (
    NOT_ROUTED,
    CallbackSupportMixin,
    Names,
    attributes_of,
    column_names,
    followed,
    publish,
    steps,
    with_caption,
)
from likelier.estimators.deprecated import Strength
from likelier.estimators.design_matrix import fitted_design
from likelier.estimators.linear_classifier import LinearClassifier
from likelier.estimators.predictions import Contributions, share_found
from likelier.estimators.priors import weighted, weights_by_class
from likelier.estimators.sources import by_block
from likelier.estimators.to_sklearn import to_sklearn
from likelier.estimators.validation import warn_of_many
from likelier.export.describe import Scored
from likelier.links import Link
from likelier.losses import Loss
from likelier.model import ask
from likelier.objective import Objective
from likelier.penalties import elastic_net
from likelier.scores import Affine, Scores
from likelier.solve import Terms, posed, solve
from likelier.solvers import Iterate, Solution, Watch
from likelier.states import LabelRows, LabelTotals, RowCount, Setting, StateGroup
from likelier.states.design_survey import DesignSettings
from likelier.warning_location import outside

# The result of a discriminative fit: weights, and the trace of the solver.


@dataclass(frozen=True)
class SolverTrace:
    """The trace of a solver: objective, gradient norm and step of each iteration, and why it stopped."""

    trace: Floats  # (steps + 1, 3)
    converged: bool
    reason: str
    solver: str
    why: str  # it was this solver

    @classmethod
    def of(cls, solution: Solution) -> Self:
        return cls(solution.trace, solution.converged, solution.reason, solution.solver, solution.why)

    @property
    def shown(self) -> dict[str, Any]:
        """As fitted attributes."""
        return {
            "n_iter_": np.array([max(len(self.trace) - 1, 0)], dtype=np.int32),
            "trace_": self.trace,
            "converged_": self.converged,
            "stop_reason_": self.reason,
            "solver_": self.solver,
            "solver_reason_": self.why,
        }


@dataclass(frozen=True)
class Weights:
    """z = W (x - shift) + b; for binary problems W has one row."""

    W: Floats  # (q, p)
    b: Floats  # (q,)
    shift: Floats  # (p,)
    course: SolverTrace
    single: bool = False  # the rows were of single precision: so are the weights that are shown

    @property
    def free(self) -> int:
        """Weights and intercepts other than 0."""
        return int(np.count_nonzero(self.W) + np.count_nonzero(self.b))

    @classmethod
    def of(cls, solution: Solution, setting: Setting, *, single: bool = False) -> Self:
        return cls.at(
            solution.last.theta.reshape(setting.q, -1), setting, SolverTrace.of(solution), single=single
        )

    @classmethod
    def at(cls, T: Floats, setting: Setting, course: SolverTrace, *, single: bool = False) -> Self:
        """From a row [w, b] for each score, in the units of a fit."""
        W, b, shift = T[:, :-1].copy(), T[:, -1].copy(), setting.shift
        if setting.unit is not None:
            W, shift = W / setting.unit, shift * setting.unit
        return cls(W, b, shift, course, single)

    def __getstate__(self) -> dict[str, Any]:
        """What it is made of, not what it has worked out since."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def assigned(self, coef: Any, intercept: Any) -> Self:
        """The same, or, where other weights were put in the place of those shown, a model of them.

        What is shown may be our own arrays: then whatever was written to them is what we are.
        """
        if issparse(coef) or (coef is self.W and intercept is self.b):
            return self
        W, b = self._compared
        if same(coef, W) and same(intercept, b):
            return self
        W = np.array(np.atleast_2d(coef), dtype=np.float64)
        b = np.broadcast_to(np.asarray(intercept, dtype=np.float64), len(W)).copy()
        return replace(self, W=W, b=b, shift=np.zeros(W.shape[1]))

    @property
    def intercept(self) -> Floats:
        """z at x = 0."""
        return np.asarray(self.b - self.W @ self.shift)

    @property
    def scores(self) -> Scores:
        """A score for each class: of two, 0 and z, whose softmax is σ(z)."""
        b = self.b
        if len(b) == 1:
            b = np.array([0.0, b[0]])
        return Scores((Affine(b, np.ascontiguousarray(self.W), self.shift),))

    def theta(self, setting: Setting) -> Floats:
        """About another shift, and in the units of another fit, flat."""
        unit = 1.0 if setting.unit is None else setting.unit
        b = self.b + self.W @ (setting.shift * unit - self.shift)
        return np.column_stack([self.W * unit, b]).ravel()

    @property
    def lines(self) -> dict[str, Any]:
        """The weights, as they are shown: our own arrays, unless they are about a shift or rounded."""
        if not self.single and not self.shift.any():
            return {"coef_": self.W, "intercept_": self.b}
        W, b = self._compared
        return {"coef_": W.copy(), "intercept_": b.copy()}

    @cached_property
    def _compared(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """What the weights that are shown would be, had nobody written to them."""
        W, b = self.W, self.intercept
        if not self.single:
            return W, b
        # Of float32 rows in float32, as scikit-learn shows them, but for weights that would be infinite.
        most = max(np.abs(W).max(initial=0.0), np.abs(b).max(initial=0.0))
        kind = np.float32 if most <= np.finfo(np.float32).max else np.float64
        return W.astype(kind), b.astype(kind)

    @property
    def shown(self) -> dict[str, Any]:
        """As fitted attributes."""
        return self.lines | self.course.shown


def same(given: Any, kept: NDArray[Any]) -> bool:
    """Whether what users may have written to is what it was."""
    if type(given) is np.ndarray and given.shape == kept.shape:
        return bool((given == kept).all())  # np.array_equal takes three times as long
    return np.array_equal(given, kept)


def by_class(W: Floats, b: Floats) -> tuple[Floats, Floats]:
    """A row for each class: of two classes the first scores 0."""
    return (np.vstack([np.zeros_like(W), W]), np.append(0.0, b)) if len(W) == 1 else (W, b)


def begun(start: Weights, objective: Objective) -> Floats:
    """θ at the weights of an earlier fit; an intercept that is no longer fitted is set to 0."""
    theta = start.theta(objective.setting)
    if not objective.intercept:
        theta[objective.setting.p :: objective.width] = 0.0
    return theta


# The rows of a fit: their classes are found and counted by one reading of the labels.


class LabelledRows(NamedTuple):
    """Rows with coded labels, their classes, and the totals of each class."""

    source: Source
    classes: NDArray[Any]  # (K,), sorted
    n: Floats  # (K,), the weight of their rows
    rows: Floats  # (K,), how many they are, whatever their weights
    single: bool = False  # whether X is of single precision


def labelled(source: Source) -> LabelledRows:
    """The classes of all rows with a positive weight, and the rows with their labels coded."""
    if isinstance(source, Arrays):
        assert source.y is not None
        codes, classes, n, rows = tallied(source.y, source.w)
        coded, count = replace(source, y=codes, levels=None), len(codes)
        found = LabelledRows(coded, classes, n, rows, source.X.single)
    else:
        start = partial(StateGroup.start, (LabelTotals, LabelRows, RowCount))
        totals, by_label, every = run(source.labels(), start, counting(source)).states
        classes, count = totals.levels, every.rows
        found = LabelledRows(source.coded(classes), classes, totals.n, by_label.of(classes))
    validation.weighty(len(classes))
    if 2 * len(classes) > count:
        warn_of_many(len(classes), count)
    return found


def labelled_as(source: Source, known: NDArray[Any]) -> LabelledRows:
    """The same for known classes: a row with a positive weight and another label raises an error."""
    K = len(known)
    if isinstance(source, Arrays):
        assert source.y is not None
        codes = code(source.y, known)
        at = codes + 1  # 0: another label
        n = sums_by_code(at, source.w, K + 1)
        new = levels_of(source.y[_unknown(codes, source.w)]) if n[0] else np.empty(0)
        coded: Source = replace(source, y=codes, levels=None)
        of_single = source.X.single
        n, rows = n[1:], sums_by_code(at, None, K + 1)[1:]
    else:
        start = partial(StateGroup.start, (LabelTotals, LabelRows))
        totals, by_label = run(source.labels(), start).states
        at = code(totals.levels, known)
        new, coded, rows = totals.levels[at < 0], source.coded(known), by_label.of(known)
        n, of_single = sums_by_code(at[at >= 0], totals.n[at >= 0], K), False
    if len(new):
        raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {known}")
    return LabelledRows(coded, known, n, rows, of_single)


def _unknown(codes: NDArray[np.int32], w: Floats | None) -> NDArray[np.bool_]:
    return codes < 0 if w is None else (codes < 0) & (w > 0)


def with_offset(rows: LabelledRows, offset: Any) -> LabelledRows:
    """Rows with an offset that is added to their scores."""
    source = rows.source
    if not isinstance(source, Arrays):
        raise ValueError("offset requires rows in memory, but X is a source: load its rows first.")
    known = np.ascontiguousarray(offset, dtype=np.float64)
    n, K = len(source), len(rows.classes)
    if known.shape != (n,) and known.shape != (n, K):
        raise ValueError(
            f"offset must have shape ({n},), or ({n}, {K}) with a number for each class; got {known.shape}."
        )
    if not np.isfinite(known).all():
        raise ValueError("offset contains NaN or infinity.")
    if K == 2 and known.ndim == 2:
        known = np.ascontiguousarray(known[:, 1] - known[:, 0])
    if K > 2 and known.ndim == 1:
        raise ValueError(f"offset must have shape ({n}, {K}) for {K} classes; got {known.shape}.")
    return rows._replace(source=replace(source, offset=known))


# Classifiers whose model is weights: what they show and answer, however the weights were come by.


class LinearModel(CallbackSupportMixin, ClassifierMixin, BaseEstimator, ABC):
    """Linear classifiers: z = W x + b; for binary problems W has one row."""

    _takes_blocks = True  # of chunks, in place of X
    _single_answers = frozenset({"predict_proba", "predict_log_proba", "decision_function"})
    _model: Weights
    _target: NDArray[Any]  # the classes
    _statistics: Any  # what more than answers needs: `summary`, learning on
    n_features_in_: int
    classes_: Any
    coef_: Any
    intercept_: Any
    encode: bool

    # ---- tables that are turned into numbers -------------------------------------------------------
    def _design_settings(self) -> DesignSettings:
        """How columns of a table become those of a design matrix."""
        return DesignSettings()

    design_ = property(fitted_design)

    # ---- how it becomes fitted, and is shown -------------------------------------------------------
    def _shown(self, model: Weights, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        """The fitted attributes, scikit-learn's."""
        return {"classes_": target, "n_features_in_": model.W.shape[1]} | model.shown

    def _publish(self, model: Any, statistics: Any | None, target: Any, names: Names) -> Self:
        """Become fitted, all at once."""
        publish(self, self._shown(model, statistics, target), model, statistics, target, names)
        return self

    def _html_repr(self) -> str:
        return with_caption(super()._html_repr(), self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- answers -----------------------------------------------------------------------------------
    to_sklearn = to_sklearn
    decision_function = posteriors.decision_function

    @by_block
    def predict(self, X: Any) -> NDArray[Any]:
        """Label of the largest score for each row.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. A source is the result of `likelier.scan`; a Dask collection gives a lazy result.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        found = self._ask(X, links.argmax)  # refuses to answer before `fit`
        return np.asarray(self.classes_[found])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy: the share of rows whose label is predicted correctly.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Rows with the columns of the fit.
        y : array-like of shape (n,), default=None
            Their true labels. A source has its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.

        Returns
        -------
        float
            The (weighted) accuracy, between 0 and 1.
        """
        return share_found(self, super().score, X, y, sample_weight)

    def _ask(self, X: Any, link: Link) -> NDArray[Any]:
        validation.fitted(self)
        rows = validation.known_rows(self, X)
        with validation.naming(rows):
            return ask(self._written().scores, rows, link).out

    to_sql = exports.to_sql

    def _scored(self) -> Scored:
        """For exports."""
        return Scored(self._written().scores, "softmax" if hasattr(self, "predict_proba") else "labels")

    def _written(self) -> Weights:
        """The model; as in scikit-learn, `coef_` and `intercept_` may have been written to."""
        if "coef_" not in vars(self):  # weights that vote are not shown as one
            return self._model
        return self._model.assigned(self.coef_, self.intercept_)

    # ---- the weights themselves --------------------------------------------------------------------
    def sparsify(self) -> Self:
        """Turn `coef_` into a sparse matrix, which saves memory if most coefficients are 0.

        Predictions do not change.

        Returns
        -------
        self : estimator
            The estimator itself.
        """
        validation.fitted(self)
        self.coef_: Any = csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Turn `coef_` back into an array, after `sparsify`.

        Returns
        -------
        self : estimator
            The estimator itself.
        """
        validation.fitted(self)
        self.coef_ = self._model.shown["coef_"]
        return self

    def to_linear(self) -> LinearClassifier:
        """The coefficients alone, as a `LinearClassifier` that makes the same predictions.

        Returns
        -------
        LinearClassifier
            A fitted classifier with `coef_`, `intercept_`, `classes_` and the feature names, and without
            anything that is needed to continue training.
        """
        validation.fitted(self)
        model = self._written()
        return LinearClassifier(model.W, model.intercept, self.classes_, column_names(self))

    def contributions(self, X: Any) -> Contributions:
        """What each feature contributes to the score of each class: w_kj x_j.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        Contributions
            `values` of shape (n, K, p) and `base` of shape (K,), the intercepts: `base +
            values.sum(axis=2)` are the scores. For binary problems the first class has a score of 0
            throughout.
        """
        validation.fitted(self)
        rows = validation.dense_rows(self, X)
        model = self._written()
        W, b = by_class(model.W, model.intercept)
        return Contributions.of(self, rows[:, None, :] * W, b)


# Classifiers that minimise a loss over rows, plus a penalty on their weights.


class PenalisedModel(LinearModel):
    """Linear models fitted by minimising loss + penalty. A subclass defines the loss and what C means."""

    __metadata_request__fit: ClassVar[dict[str, str]] = NOT_ROUTED
    C: float
    tol: float
    fit_intercept: bool
    class_weight: Any
    random_state: Any
    max_iter: int
    verbose: int
    solver: str
    _few_columns: ClassVar[int] = FEW_COLUMNS  # up to which dense rows that are mostly 0 stay dense

    @abstractmethod
    def _loss(self, K: int) -> Loss:
        """The loss for K classes."""

    @abstractmethod
    def _strength(self) -> Strength:
        """C (infinite: no penalty) and the share of the l1 penalty, validated."""

    def _column_penalties(self, source: Source) -> Floats | None:
        """The factor of the penalty for each column; None: 1 for all."""
        return None

    # ---- fitting -----------------------------------------------------------------------------------
    def _rows(self, source: Source, offset: Any = None) -> LabelledRows:
        """The rows with coded labels, and their classes."""
        rows = labelled(source)
        if len(rows.classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {rows.classes[0]}"
            )
        return rows if offset is None else with_offset(rows, offset)

    def _objective(self, rows: LabelledRows) -> Objective:
        """Mean loss plus penalty under the hyper-parameters, which are validated here."""
        source, n, K = compressed(rows.source, self._few_columns), rows.n, len(rows.classes)
        if self.class_weight is not None:
            source, n = weighted(source, n, weights_by_class(self.class_weight, rows.classes, n))
        return self._posed(source, n, K)

    def _posed(
        self, source: Source, totals: Floats, K: int, positive: int = 1, *, all_rows: bool = True
    ) -> Objective:
        """The objective for rows with their final weights; positive: the code of the positive class.

        totals: the total weight of each class.

        all_rows: no further rows will follow, so that columns may be scaled by their sizes.
        """
        loss, columns = self._loss(K), self._column_penalties(source)
        C, ratio = self._strength()
        validation.weighty(totals)
        intercept = validation.boolean("fit_intercept", self.fit_intercept)
        penalty = partial(elastic_net, C=C, ratio=ratio, columns=columns)
        return posed(
            source, totals, loss, penalty, positive=positive, intercept=intercept, in_units=all_rows
        )

    def _terms(self) -> Terms:
        """The stopping rules and the seed, validated."""
        seed = 0 if self.random_state is None else seed_of(self.random_state)
        tol = validation.number("tol", self.tol, 0.0)
        return Terms(tol, int(validation.number("max_iter", self.max_iter, 0, whole=True)), seed)

    def _solve(
        self, objective: Objective, start: Weights | None = None, rows: LabelledRows | None = None
    ) -> Solution:
        """Run the chosen solver; rows: those of the fit, for callbacks that ask for its attributes."""
        terms = self._terms()._replace(fresh=start is None)
        heard = self.verbose or followed(self) or OBSERVER.get() is not None
        choice = chosen(self.solver, objective)
        theta = np.zeros(objective.size) if start is None else begun(start, objective)
        if not heard:
            return solve(objective, theta, choice, terms)
        with steps(self, f"{choice.name}-iter") as step, watching(self.verbose, terms.max_iter) as watch:

            def report(number: int, iterate: Iterate) -> None:
                watch(number, iterate)
                if step is not None:
                    step(None if rows is None else partial(self._under_way, iterate, objective, rows))

            return solve(objective, theta, choice, terms, report)

    def _under_way(self, iterate: Iterate, objective: Objective, rows: LabelledRows) -> dict[str, Any]:
        """The attributes of the estimator at an iterate."""
        here = Solution(iterate, np.empty((1, 3)), False, "the fit is under way")
        model = Weights.of(here, objective.setting, single=rows.single)
        shown = self._shown(model, None, rows.classes)
        return attributes_of(self, shown, model, None, rows.classes, rows.source.names)

    def _start_from(self, rows: LabelledRows) -> Weights | None:
        """Where to begin: what `warm_start` finds, if it fits."""
        before: Weights | None = vars(self).get("_model")
        fits = before is not None and before.W.shape[1] == rows.source.p
        return before if fits and np.array_equal(self._target, rows.classes) else None

    def _warn_of_end(self, solution: Solution) -> None:
        if not solution.converged:
            last = solution.last
            # Where no step leads on, more of them do not help.
            advice = "Penalise more (a smaller C), drop columns, or try another solver."
            if not last.stuck:
                advice = (
                    "Increase the number of iterations (max_iter), loosen tol, penalise more (a smaller "
                    "C), or try another solver."
                )
            warnings.warn(
                f"{type(self).__name__}: {solution.solver} failed to converge after {solution.iterations} "
                f"iteration(s): {solution.reason} (tol={self.tol:g}; objective {last.value:.6g}). {advice}",
                ConvergenceWarning,
                stacklevel=outside(),
            )


def seed_of(random_state: Any) -> int:
    """Of the order of rows, where a solver takes them one by one; None: always the same one."""
    return 0 if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))


@contextmanager
def watching(verbose: int, most: int) -> Iterator[Watch]:
    """Report the iterations to observers of the passes, and on a progress bar if `verbose`."""
    if not verbose:
        yield lambda number, iterate: reached("objective", iterate.value)
        return
    with tqdm(total=most, unit="step") as bar:

        def watch(number: int, iterate: Iterate) -> None:
            reached("objective", iterate.value)
            bar.update(number - bar.n)
            bar.set_postfix(objective=f"{iterate.value:.6g}", gradient=f"{iterate.norm:.2g}")

        yield watch
