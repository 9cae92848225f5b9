"""Classifiers that minimise a loss over rows plus a penalty: the fit, the weights, predictions."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from tqdm import tqdm

from likelier.array_types import Floats
from likelier.choose_solver import chosen
from likelier.data import Arrays, Source, code
from likelier.data.units import source_in_units
from likelier.engines import reached
from likelier.estimators import validation
from likelier.estimators.base import Attributes, Names, Observable, Publishing, Resumable, steps
from likelier.estimators.common import (
    Contributions,
    LinearClassifier,
    LinearScores,
    Scoring,
    class_totals,
    weighed,
    weights_by_class,
)
from likelier.estimators.precision import single as single
from likelier.links import Link
from likelier.losses import Loss
from likelier.model import ask
from likelier.objective import Objective, shift_of, units_of
from likelier.penalties import Penalty, shares
from likelier.scores import Affine, Scores
from likelier.solve import Terms, solve
from likelier.solvers import Iterate, Solution, Watch
from likelier.states import Setting
from likelier.warning_location import outside

# What a discriminative fit leaves: weights, and how they were come by.


@dataclass(frozen=True)
class Course:
    """The way of a solver: a row for each step (objective, gradient norm, step), and why it ended."""

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
    """z = W (x - shift) + b. Two classes are one row."""

    W: Floats  # (q, p)
    b: Floats  # (q,)
    shift: Floats  # (p,)
    course: Course
    single: bool = False  # the rows were of single precision: so are the weights that are shown

    @property
    def free(self) -> int:
        """Weights and intercepts other than 0."""
        return int(np.count_nonzero(self.W) + np.count_nonzero(self.b))

    @classmethod
    def of(cls, solution: Solution, setting: Setting, *, single: bool = False) -> Self:
        return cls.at(
            solution.last.theta.reshape(setting.q, -1), setting, Course.of(solution), single=single
        )

    @classmethod
    def at(cls, T: Floats, setting: Setting, course: Course, *, single: bool = False) -> Self:
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


# Classifiers whose model is weights: what they show and answer, however the weights were come by.


class Weighted(LinearScores, Scoring, Publishing):
    """z = W x + b; two classes are one row of W."""

    _model: Weights
    _single_answers = frozenset({"predict_proba", "predict_log_proba", "decision_function"})
    _target: NDArray[Any]  # the classes
    _statistics: Any  # what more than answers needs: `summary`, learning on
    n_features_in_: int
    coef_: Any
    intercept_: Any

    def _shown(self, model: Weights, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        return {"classes_": target, "n_features_in_": model.W.shape[1]} | model.shown

    def _remarks(self, model: Any, statistics: Any, target: Any, names: Names) -> Iterator[str]:
        yield from ()

    # ---- answers -----------------------------------------------------------------------------------
    def _ask(self, X: Any, link: Link) -> NDArray[Any]:
        validation.fitted(self)
        rows = validation.known_rows(self, X)
        with validation.naming(rows):
            return ask(self._written().scores, rows, link).out

    def _written(self) -> Weights:
        """The model; as in scikit-learn, `coef_` and `intercept_` may have been written to."""
        if "coef_" not in vars(self):  # weights that vote are not shown as one
            return self._model
        return self._model.assigned(self.coef_, self.intercept_)

    def sparsify(self) -> Self:
        """Show `coef_` as a sparse matrix; answers do not change."""
        validation.fitted(self)
        self.coef_: Any = csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Show `coef_` as an array again."""
        validation.fitted(self)
        self.coef_ = self._model.shown["coef_"]
        return self

    def to_linear(self) -> LinearClassifier:
        """The weights alone, as a classifier that predicts the same."""
        validation.fitted(self)
        model = self._written()
        return LinearClassifier(
            model.W, model.intercept, self.classes_, getattr(self, "feature_names_in_", None)
        )

    def contributions(self, X: Any) -> Contributions:
        """What each column adds to each class's score, (n, K, p), beside a base (K,): the intercepts.

        Of two classes the first scores 0 throughout.
        """
        validation.fitted(self)
        rows = validation.dense_rows(self, X)
        model = self._written()
        W, b = by_class(model.W, model.intercept)
        return Contributions.of(self, rows[:, None, :] * W, b)


# Classifiers that minimise a loss over rows, plus a penalty on their weights.

Fitted = Callable[[Iterate], Attributes | None]


class Discriminative(Resumable, Observable, Weighted):
    """Model = loss + penalty + solver. A subclass says which loss, and what C and its like mean."""

    C: float
    tol: float
    fit_intercept: bool
    class_weight: Any
    random_state: Any
    max_iter: int
    verbose: int
    solver: str

    @abstractmethod
    def _loss(self, K: int) -> Loss:
        """The loss that tells K classes apart."""

    def _allowance(self) -> float:
        """C, checked: what losses weigh against the penalty; infinite, there is none."""
        return validation.allowance("C", self.C)

    def _ratio(self) -> float:
        """How much of the penalty is l1."""
        return 0.0

    def _column_penalties(self, source: Source) -> Floats | None:
        """How much of the penalty each column bears; None: all alike."""
        return None

    # ---- fitting -----------------------------------------------------------------------------------
    def _rows(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> tuple[Source, NDArray[Any]]:
        """The rows with coded labels and all weights, and the classes."""
        source = validation.training(self, X, y, sample_weight)
        found = self._target_of(source)
        if len(found) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {found[0]}"
            )
        if offset is not None:
            source = with_offset(source, offset, found)
        return precoded(source, found), found

    def _objective(self, source: Source, target: NDArray[Any]) -> Objective:
        """Mean loss and penalty, as the hyper-parameters say, which are checked here."""
        totals = class_totals(source, len(target))
        factor = weights_by_class(self.class_weight, target, totals)
        return self._posed(*weighed(source, totals, factor), len(target))

    def _posed(
        self, source: Source, totals: Floats, K: int, positive: int = 1, *, all_rows: bool = True
    ) -> Objective:
        """Of rows in their final weights, `totals` by class; of two classes one has the code `positive`.

        all_rows: none will follow, so that columns may have units by their sizes.
        """
        C, ratio = self._allowance(), self._ratio()
        n, p = float(totals.sum()), source.p
        validation.weighty(n)
        loss = self._loss(K)
        q = loss.scores(K)
        intercept = validation.truth("fit_intercept", self.fit_intercept)
        penalty = Penalty.of(q, p, *shares(C, n, ratio), self._column_penalties(source))
        units = units_of(source, penalty.l2[:p]) if all_rows else None
        source = source if units is None else source_in_units(source, units)
        unit = None if units is None else np.exp2(units)
        shift = shift_of(source) if intercept else np.zeros(p)
        setting = Setting(loss, q, shift, positive, unit)
        return Objective(source, setting, penalty.scaled(unit), n, intercept, totals)

    def _terms(self) -> Terms:
        """When to stop, checked."""
        tol = validation.number("tol", self.tol, 0.0)
        most = int(validation.number("max_iter", self.max_iter, 0, whole=True))
        return Terms(tol, most, seed_of(self.random_state))

    def _solve(
        self, objective: Objective, start: Weights | None, fitted: Fitted = lambda iterate: None
    ) -> Solution:
        """fitted: the attributes of the estimator at an iterate, for callbacks."""
        terms, choice = self._terms()._replace(fresh=start is None), chosen(self.solver, objective)
        theta = np.zeros(objective.size) if start is None else begun(start, objective)
        with steps(self, f"{choice.name}-iter") as step, watching(self.verbose, terms.max_iter) as watch:

            def told(number: int, iterate: Iterate) -> None:
                watch(number, iterate)
                if step is not None:
                    step(fitted(iterate))

            return solve(objective, theta, choice, terms, watch if step is None else told)

    def _at(self, objective: Objective, target: NDArray[Any], names: Names, *, single: bool) -> Fitted:
        """The attributes of the estimator at an iterate."""

        def fitted(iterate: Iterate) -> Attributes:
            here = Solution(iterate, np.empty((1, 3)), False, "the fit is under way")
            weights = Weights.of(here, objective.setting, single=single)
            return lambda: self._attributes(weights, None, target, names)

        return fitted

    def _start_from(self, target: NDArray[Any], p: int) -> Weights | None:
        """Where to begin: what `warm_start` finds, if it fits."""
        before: Weights | None = vars(self).get("_model") if getattr(self, "warm_start", False) else None
        if before is None or before.W.shape[1] != p or not np.array_equal(self._target, target):
            return None
        return before

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


def begun(start: Weights, objective: Objective) -> Floats:
    """θ at weights found before, less an intercept that is no longer wanted: no step would move it."""
    theta = start.theta(objective.setting)
    if not objective.intercept:
        theta[objective.setting.p :: objective.width] = 0.0
    return theta


# ---- rows ----------------------------------------------------------------------------------------
def precoded(source: Source, found: NDArray[Any]) -> Source:
    """Labels as codes; of rows in memory once and for all passes."""
    if isinstance(source, Arrays):
        assert source.y is not None
        return replace(source, y=code(source.y, found), levels=None)
    return source.coded(found)


def with_offset(source: Source, offset: Any, found: NDArray[Any]) -> Source:
    """Rows with something known added to their scores."""
    if not isinstance(source, Arrays):
        raise ValueError("offset goes with rows in memory, and X is a source: load its rows first.")
    known = np.ascontiguousarray(offset, dtype=np.float64)
    n, K = len(source), len(found)
    if known.shape != (n,) and known.shape != (n, K):
        raise ValueError(
            f"offset has shape {known.shape}: it is ({n},), or ({n}, {K}) with a number for each class"
        )
    if not np.isfinite(known).all():
        raise ValueError("offset contains NaN or infinity.")
    if K == 2 and known.ndim == 2:
        known = np.ascontiguousarray(known[:, 1] - known[:, 0])
    if K > 2 and known.ndim == 1:
        raise ValueError(f"offset (n,) says nothing of {K} classes: give it as ({n}, {K})")
    return replace(source, offset=known)


@contextmanager
def watching(verbose: int, most: int) -> Iterator[Watch]:
    """Steps said to whoever observes the passes, and on a progress bar, if one is wanted."""
    if not verbose:
        yield lambda number, iterate: reached("objective", iterate.value)
        return
    with tqdm(total=most, unit="step") as bar:

        def watch(number: int, iterate: Iterate) -> None:
            reached("objective", iterate.value)
            bar.update(number - bar.n)
            bar.set_postfix(objective=f"{iterate.value:.6g}", gradient=f"{iterate.norm:.2g}")

        yield watch
