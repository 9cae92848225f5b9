"""LogisticRegression: the fit, partial_fit by stochastic steps, and the summary of coefficients."""

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import DegenerateWarning, SeparationWarning, Source
from likelier.engines import chunks
from likelier.estimators import deprecated, validation
from likelier.estimators.base import Names, resumable
from likelier.estimators.common import (
    LinearProbabilities,
    class_totals,
    refuse_new,
    weighed,
    weights_by_class,
)
from likelier.estimators.deprecated import NOT_GIVEN, strength_of
from likelier.estimators.discriminative.base import (
    Discriminative,
    Weights,
    begun,
    precoded,
    single,
    with_offset,
)
from likelier.estimators.sources import stored
from likelier.inference import Information, LikelihoodSummary, Separation, separation_of
from likelier.inference.information import POWERS
from likelier.inference.least_squares import Covariance
from likelier.inference.likelihood import Point, likelihood_summary
from likelier.losses import Loss, logistic, softmaxed
from likelier.model import levels
from likelier.objective import Objective
from likelier.penalties import Penalty
from likelier.row_solvers import Descent
from likelier.solvers import Iterate, Solution
from likelier.states import Setting, Values
from likelier.warning_location import outside

# What logistic regression says of its coefficients.


class Inference(Discriminative):
    """Standard errors, tests and intervals, and a warning where classes are separated."""

    _statistics: Any  # Information, or the steps of `partial_fit`

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        cov: Covariance = "classical",
        level: float = 0.95,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> LikelihoodSummary:
        """Coefficients with errors, tests and intervals; of more than two classes, less the first one's.

        cov: "classical", from the Hessian, which Newton's method leaves; after other solvers it needs the
        rows of the fit again, and so do "HC0" to "HC3", errors that hold where the model does not
        (sample_weight and offset as they were in `fit`). With an l2 penalty: an approximate posterior.
        """
        validation.fitted(self)
        found, model, rows = self._summarised(cov, level), self._model, None
        theta, shift, unit = np.column_stack([model.W, model.b]), model.shift, None
        if X is not None:
            rows = self._rows_again(X, y, sample_weight, offset, found)
            theta, shift = model.theta(rows.setting).reshape(theta.shape), rows.setting.shift
            unit = rows.setting.unit
            found = found.again(rows, theta)
        elif y is not None or sample_weight is not None or offset is not None:
            raise ValueError("summary(X, y): y, sample_weight and offset go with X.")
        elif cov != "classical" or found.H is None:
            why = f"cov={cov!r}" if cov != "classical" else f"after solver {self.solver_!r} summary"
            raise ValueError(f"{why} needs the rows of the fit: summary(X, y, cov={cov!r}).")
        names = getattr(self, "feature_names_in_", None)
        shown = [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(map(str, names))
        at = Point(theta, shift, shown, [str(label) for label in self.classes_], unit)
        summary, left_open = likelihood_summary(found, at, rows, cov=cov, level=level)
        if len(left_open):
            warnings.warn(
                f"{type(self).__name__}: the rows do not determine the coefficients of {len(left_open)} of "
                f"{len(shown)} columns ({validation.named(names, left_open)}): "
                "they are constant or depend on "
                "each other. Their errors are NaN. Drop columns, or penalise (a finite C); if they only "
                "nearly depend on each other, summary(X, y) may find errors from the rows.",
                DegenerateWarning,
                stacklevel=outside(),
            )
        return summary

    # ---- how ---------------------------------------------------------------------------------------
    def _summarised(self, cov: str, level: float) -> Information:
        """What there is to summarise; refused where there is nothing that errors could be of."""
        if cov not in ("classical", *POWERS):
            raise ValueError(f"cov={cov!r}: it is one of classical, {', '.join(POWERS)}")
        if not 0 < level < 1:
            raise ValueError(f"level={level!r}: it lies between 0 and 1")
        found = self._statistics
        if not isinstance(found, Information):  # but the steps of `partial_fit`
            raise ValueError(
                "nothing is kept of the rows that these weights come from: summary is for what `fit` "
                "found, saved with its statistics if it was saved."
            )
        if found.l1:
            raise ValueError(
                "an l1 penalty chooses columns, and errors that leave the choice out would be too small: "
                "there is no summary. Use l1_ratio=0."
            )
        if found.separation is not None:
            raise ValueError(
                f"{_said(found.separation, self.classes_, getattr(self, 'feature_names_in_', None))} "
                "Coefficients that grow without end have no errors: drop columns, or penalise (a finite C) "
                "for an approximate posterior."
            )
        if cov != "classical" and found.l2.any():
            raise ValueError(f"cov={cov!r}: robust errors are for fits without a penalty, C=np.inf.")
        if POWERS.get(cov) and len(self.classes_) > 2:
            raise ValueError(f"cov={cov!r} is for two classes; HC0 and HC1 are for more.")
        return found

    def _rows_again(self, X: Any, y: Any, sample_weight: Any, offset: Any, found: Information) -> Objective:
        """The objective of the fit, from its rows."""
        if y is None and not stored(X):
            raise ValueError("summary(X, y): y goes with X.")
        source = validation.training(self, X, y, sample_weight, known=True)
        labels = levels(source)
        if not np.array_equal(labels, self.classes_):
            before = self.classes_.tolist()
            raise ValueError(f"y has the classes {labels.tolist()}; in fit it had {before}.")
        if offset is not None:
            source = with_offset(source, offset, labels)
        objective = self._objective(precoded(source, labels), labels)
        # As it was in `fit`, whatever C and fit_intercept are by now.
        l2, setting = found.l2 / found.n.sum(), objective.setting
        if not found.intercept:
            setting = replace(setting, shift=np.zeros(setting.p))
        penalty = Penalty(l2, np.zeros_like(l2))
        return replace(objective, penalty=penalty, setting=setting, intercept=found.intercept)

    def _concluded(
        self, objective: Objective, solution: Solution, target: NDArray[Any], names: Names
    ) -> tuple[Solution, Information]:
        """An end that is no maximum, because classes are separated, has not converged: that is said."""
        separation = separation_of(objective, solution)
        if separation is None:
            self._warn_of_end(solution)
        else:
            why = f"{separation.kind} separation: the likelihood has no maximum"
            solution = replace(solution, converged=False, reason=why)
            warnings.warn(
                f"{type(self).__name__}: {_said(separation, target, names)} The likelihood has no maximum; "
                "these are the last weights. Penalise (a finite C), or drop columns.",
                SeparationWarning,
                stacklevel=outside(),
            )
        return solution, Information.of(objective, solution, separation)

    def _shown(self, model: Weights, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        separation = statistics.separation if isinstance(statistics, Information) else None
        return {**super()._shown(model, statistics, target), "separation_": separation}


def _said(found: Separation, target: NDArray[Any], names: Names) -> str:
    """Which columns separate which classes, and how."""
    many = len(found.columns) > 1
    what = (
        f"column{'s' * many} {validation.named(names, found.columns)}" if found.columns else "the intercept"
    )
    said = f"{what} separate{'s' * (not many)} the classes"
    if found.kind == "complete":
        return f"{said} completely."
    labels = ", ".join(map(repr, target[list(found.classes)].tolist()[:10]))
    which = "" if len(found.classes) == len(target) else f": {labels} from the others"
    return f"{said} in part (quasi-complete separation){which}."


# Learning on: a stochastic step at each new row.


WHY = "partial_fit takes a step at each row"
HELD = ("theta", "mean", "squares", "cells", "steps")  # of a descent, from batch to batch
SETTLED = 10_000_000  # steps that a fit counts for at most: its weight may be any number


@dataclass(frozen=True)
class Steps:
    """What further rows go on from: weights, the sizes of columns, the losses of batches."""

    theta: Floats  # (q, p + 1)
    mean: Floats  # (q, p + 1)
    squares: Floats  # (p,)
    cells: Floats  # (p,)
    steps: int
    intercept: bool
    n: Floats  # (K,), the weight of each class so far
    losses: Floats  # (batches,)

    @property
    def solution(self) -> Solution:
        """Where the steps have led; the trace has a row for each batch: its mean loss before it."""
        trace = np.array([(loss, np.nan, 1.0) for loss in [np.nan, *self.losses]])
        last = Iterate(self.mean.ravel(), float(self.losses[-1]), np.nan)
        return Solution(last, trace, False, f"{self.steps} steps so far", "sgd", WHY)


class Stepping(Discriminative):
    """`partial_fit` by stochastic gradient steps, and the mean of where they led."""

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, offset: Any = None
    ) -> Self:
        """Learn from more rows, a step at each, in their order; after `fit`, from its weights on.

        `classes`, all labels that can ever come, are needed at the first call. One pass of steps comes near
        what `fit` finds for all rows so far, and is not equal to it. class_weight="balanced" goes by the
        classes seen so far. `trace_` has each batch's mean loss from before it was learned.
        """
        known = self._known_classes(classes)
        if len(known) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 classes; got {known.tolist()}")
        source = validation.training(self, X, y, sample_weight, known="_model" in vars(self))
        refuse_new(source, known)
        rows = precoded(source if offset is None else with_offset(source, offset, known), known)
        with validation.naming(source):
            steps, setting = self._stepped(rows, known)
        model = Weights.of(steps.solution, setting, single=single(source))
        names = getattr(self, "feature_names_in_", source.names)
        return self._publish(model, steps, known, names)

    def _stepped(self, rows: Source, known: NDArray[Any]) -> tuple[Steps, Setting]:
        """The steps so far and those of these rows, and about which shift they are."""
        K = len(known)
        totals = class_totals(rows, K)
        validation.weighty(totals)
        totals = totals + self._totals(K)
        factor = weights_by_class(self.class_weight, known, totals)
        posed = self._posed(*weighed(rows, totals, factor), K, all_rows=False)
        rows = posed.source
        descent, losses = self._descent(posed, K)
        loss, n = 0.0, 0.0
        for chunk in chunks(rows):
            # Of the weights that are shown: those that move are restless, and their losses higher.
            seen = Values.start(descent.setting, descent.mean[None])
            seen.update(chunk)
            loss += float(seen.f[0])
            descent.update(chunk)
            n += chunk.X.shape[0] if chunk.w is None else float(chunk.w.sum())
        if not (np.isfinite(descent.theta).all() and np.isfinite(descent.mean).all()):
            raise ValueError("steps at these rows lead to no numbers: X has cells too large. Rescale it.")
        held = {name: getattr(descent, name) for name in HELD}
        losses = np.append(losses, loss / n if n else np.nan)
        return Steps(**held, intercept=posed.intercept, n=totals, losses=losses), descent.setting

    def _descent(self, posed: Objective, K: int) -> tuple[Descent, Floats]:
        """To go on with, and the losses so far."""
        before = vars(self).get("_statistics")
        if isinstance(before, Steps) and before.intercept == posed.intercept:
            setting = replace(posed.setting, shift=self._model.shift)
            descent = Descent(
                setting, posed.penalty, **{name: copy.copy(getattr(before, name)) for name in HELD}
            )
            descent.intercept = posed.intercept
            return descent, before.losses
        model: Weights | None = vars(self).get("_model")
        start = np.zeros(posed.size) if model is None else begun(model, posed)
        descent = Descent.start(posed.setting, posed.penalty, start, intercept=posed.intercept)
        descent.steps = int(min(self._totals(K).sum(), SETTLED))
        return descent, np.empty(0)

    def _totals(self, K: int) -> Floats:
        """The weight of each class so far."""
        counted = vars(self).get("_statistics")
        return np.zeros(K) if counted is None else np.asarray(counted.n)


# Logistic regression, for two classes and for more.


class LogisticRegression(LinearProbabilities, Stepping, Inference):
    """Pr(y | x) = 1 / (1 + e^{-y w·x}), for K classes the softmax of W x, by maximum likelihood.

    Drop-in for scikit-learn's (Cox 1958 for two classes, Theil 1969 for more): minimises
    C Σ loss + (1 - l1_ratio) |w|²/2 + l1_ratio |w|₁, the intercept free of any penalty. C=np.inf: no
    penalty. `solver="auto"` chooses by the size of the problem, and `solver_reason_` says why. `penalty`
    ("l1", "l2", "elasticnet" or None) is translated to C and l1_ratio, with scikit-learn's warning.
    """

    assumes = "discriminative; linear in the log odds; linear boundary"

    def __init__(
        self,
        penalty: str | None = NOT_GIVEN,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        penalty_weights: Any = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.penalty_weights = penalty_weights

    def _loss(self, K: int) -> Loss:
        return logistic if K == 2 else softmaxed

    def _allowance(self) -> float:
        return strength_of(self).C

    def _ratio(self) -> float:
        return strength_of(self).l1_ratio

    def _column_penalties(self, source: Source) -> Floats | None:
        if self.penalty_weights is None:
            return None
        found = np.asarray(self.penalty_weights, dtype=np.float64)
        if found.shape != (source.p,) or not (np.isfinite(found) & (found >= 0)).all():
            raise ValueError(
                f"penalty_weights has shape {found.shape}: it is a finite number, from 0, for each "
                f"of the {source.p} columns"
            )
        return found

    @resumable
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        checkpoint: Any = None,
    ) -> Self:
        """Fit to rows X and their labels y, or to a source that has both.

        offset: (n,), for K classes (n, K), known already and added to the scores. checkpoint: a file for
        what is done so far: a fit that was cut off goes on from there.
        """
        deprecated.warn(deprecated.of_logistic(self))
        source, target = self._rows(X, y, sample_weight, offset)
        with validation.naming(source):
            objective = self._objective(source, target)
            fitted = self._at(objective, target, source.names, single=single(source))
            solution = self._solve(objective, self._start_from(target, source.p), fitted)
        solution, information = self._concluded(objective, solution, target, source.names)
        model = Weights.of(solution, objective.setting, single=single(source))
        return self._publish(model, information, target, source.names)
