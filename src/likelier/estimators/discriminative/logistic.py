"""LogisticRegression: the fit, partial_fit by stochastic steps, and the summary of coefficients."""

import copy
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.array_types import Floats
from likelier.data import DegenerateWarning, SeparationWarning, Source
from likelier.engines import chunks
from likelier.estimators import deprecated, validation
from likelier.estimators.base import Names, cheapest, resumable
from likelier.estimators.common import known_classes, weighed, weights_by_class
from likelier.estimators.deprecated import NOT_GIVEN, Strength, strength_of
from likelier.estimators.discriminative.base import PenalisedModel, labelled, labelled_as, with_offset
from likelier.estimators.discriminative.weights import Weights, begun
from likelier.estimators.posterior_priors import priors_for
from likelier.estimators.sources import by_block, stored
from likelier.inference import Information, LikelihoodSummary, Separation, separation_of
from likelier.inference.information import POWERS
from likelier.inference.least_squares import Covariance
from likelier.inference.likelihood import Point, likelihood_summary
from likelier.losses import Loss, logistic, softmaxed
from likelier.model import log_of
from likelier.objective import Objective
from likelier.penalties import ElasticNet
from likelier.row_solvers import Descent
from likelier.solvers import Iterate, Solution
from likelier.states import Values
from likelier.warning_location import outside

# Probabilities: the softmax of the scores.


class LogisticModel(PenalisedModel):
    """p(C_k | x) = e^{z_k} / Σ e^z.

    Other class priors turn it into p(C_k | x) π_k / π⁰_k, made to sum to 1, π⁰ being the shares of the
    classes among the training rows.
    """

    def _loss(self, K: int) -> Loss:
        return logistic if K == 2 else softmaxed

    @by_block
    def predict(self, X: Any, priors: Any = None) -> NDArray[Any]:
        """The label of the largest score; under other class priors if they are given."""
        best = self._ask(X, links.argmax) if priors is None else self._reweighed(X, priors).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @by_block
    def predict_proba(self, X: Any, priors: Any = None) -> Floats:
        """p(C_k | x), (n, K); under other class priors, K of them or {label: prior}, if they are given."""
        if priors is None:
            return self._ask(X, links.softmax)
        Z = self._reweighed(X, priors)
        links.softmax.apply(Z, Z)
        return Z

    @by_block
    def predict_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """ln p(C_k | x), (n, K); under other class priors if they are given."""
        if priors is None:
            return self._ask(X, links.log_softmax)
        Z = self._reweighed(X, priors)
        links.log_softmax.apply(Z, Z)
        return Z

    @by_block
    def decide(self, X: Any, costs: Any = None, reject: float | None = None) -> NDArray[Any]:
        """The label of least expected cost for each row.

        costs: (K, K), what it costs to decide column k when the truth is row j; by default 1 for every
        mistake. reject: the cost of not deciding; a row for which every label is expected to cost more
        gets None.
        """
        return cheapest(self.predict_proba(X), self.classes_, costs, reject)

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """The class priors (K,) under which rows without labels are likeliest; pass them to predict_proba.

        For rows in which the classes come as before, but not as often (label shift); it needs the
        posteriors alone (Saerens, Latinne & Decaestecker 2002), and they must be calibrated. The likelihood
        per row is within `tol` of the best. The model stays as it is.
        """
        logs = partial(self._ask, X, links.log_softmax)
        return priors_for(self, logs, self._training_shares, sample_weight, tol, max_iter)

    def _reweighed(self, X: Any, priors: Any) -> Floats:
        """Scores whose softmax are the posteriors under other priors."""
        Z = self._ask(X, links.log_softmax)
        new = validation.priors_of(priors, len(self.classes_), classes=self.classes_)
        return np.asarray(Z + log_of(new) - log_of(self._training_shares()))

    def _training_shares(self) -> Floats:
        """(K,) of the classes, by weight, among the rows of the fit."""
        n = getattr(getattr(self, "_statistics", None), "n", None)
        if n is None:
            raise ValueError(
                f"Other priors are relative to the class frequencies of the training rows, which this "
                f"{type(self).__name__} does not keep: use a LogisticRegression that was fitted to them, "
                "or saved with its statistics."
            )
        return np.asarray(n / n.sum())


# What logistic regression says of its coefficients.


def summarised(model: Any, cov: str, level: float) -> Information:
    """What there is to summarise; refused where there is nothing that errors could be of."""
    if cov not in ("classical", *POWERS):
        raise ValueError(f"cov must be one of 'classical', {', '.join(map(repr, POWERS))}; got {cov!r}.")
    if not 0 < level < 1:
        raise ValueError(f"level must be a number between 0 and 1; got {level!r}.")
    found = model._statistics
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
            f"{_said(found.separation, model.classes_, getattr(model, 'feature_names_in_', None))} "
            "Coefficients that grow without end have no errors: drop columns, or penalise (a finite C) "
            "for an approximate posterior."
        )
    if cov != "classical" and found.l2.any():
        raise ValueError(f"cov={cov!r}: robust errors are for fits without a penalty, C=np.inf.")
    if POWERS.get(cov) and len(model.classes_) > 2:
        raise ValueError(f"cov={cov!r} is for two classes; HC0 and HC1 are for more.")
    return found


def concluded(
    model: Any, objective: Objective, solution: Solution, target: NDArray[Any], names: Names
) -> tuple[Solution, Information]:
    """An end that is no maximum, because classes are separated, has not converged: that is said."""
    separation = None if objective.held else separation_of(objective, solution)
    if separation is not None:
        why = f"{separation.kind} separation: the likelihood has no maximum"
        solution = replace(solution, converged=False, reason=why)
    found = Information.of(objective, solution, separation)
    if separation is not None:
        warnings.warn(
            f"{type(model).__name__}: {_said(separation, target, names)} The likelihood has no maximum; "
            "these are the last weights. Penalise (a finite C), or drop columns.",
            SeparationWarning,
            stacklevel=outside(),
        )
    elif not solution.converged:
        model._warn_of_end(solution)
    return solution, found


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


def stepped(posed: Objective, descent: Descent, losses: Floats, totals: Floats) -> Steps:
    """A step at each row, from where a descent stands; losses: of the batches before."""
    loss, n = 0.0, 0.0
    for chunk in chunks(posed.source):
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
    return Steps(**held, intercept=posed.intercept, n=totals, losses=losses)


def descent_of(
    posed: Objective, model: Weights | None, before: Any, so_far: Floats
) -> tuple[Descent, Floats]:
    """To go on with, and the losses so far; before: the statistics of the fit, so_far: its class totals."""
    if isinstance(before, Steps) and before.intercept == posed.intercept:
        assert model is not None
        setting = replace(posed.setting, shift=model.shift)
        held = {name: copy.copy(getattr(before, name)) for name in HELD}
        descent = Descent(setting, posed.penalty, **held)
        descent.intercept = posed.intercept
        return descent, before.losses
    start = np.zeros(posed.size) if model is None else begun(model, posed)
    descent = Descent.start(posed.setting, posed.penalty, start, intercept=posed.intercept)
    descent.steps = int(min(so_far.sum(), SETTLED))
    return descent, np.empty(0)


# Logistic regression, for two classes and for more.


class LogisticRegression(LogisticModel):
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

    def _strength(self) -> Strength:
        return strength_of(self)

    def _column_penalties(self, source: Source) -> Floats | None:
        if self.penalty_weights is None:
            return None
        found = np.asarray(self.penalty_weights, dtype=np.float64)
        good = np.isfinite(found) & (found >= 0)
        if found.shape != (source.p,) or not good.all():
            wrong = f"shape {found.shape}" if found.shape != (source.p,) else f"{found[~good][0]:g}"
            raise ValueError(
                f"penalty_weights must be finite numbers >= 0, one for each of the {source.p} columns; got "
                f"{wrong}."
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
        source = validation.training(self, X, y, sample_weight)
        rows = self._rows(source, offset)
        target = rows.classes
        with validation.naming(source):
            objective = self._objective(rows)
            solution = self._solve(objective, self._start_from(rows) if self.warm_start else None, rows)
        solution, information = concluded(self, objective, solution, target, source.names)
        model = Weights.of(solution, objective.setting, single=rows.single)
        return self._publish(model, information, target, source.names)

    def _shown(self, model: Weights, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        separation = statistics.separation if isinstance(statistics, Information) else None
        return {**super()._shown(model, statistics, target), "separation_": separation}

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, offset: Any = None
    ) -> Self:
        """Learn from more rows, a step at each, in their order; after `fit`, from its weights on.

        `classes`, all labels that can ever come, are needed at the first call. One pass of steps comes near
        what `fit` finds for all rows so far, and is not equal to it. class_weight="balanced" goes by the
        classes seen so far. `trace_` has each batch's mean loss from before it was learned.
        """
        known = known_classes(self, classes)
        if len(known) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 classes; got {known.tolist()}")
        source = validation.training(self, X, y, sample_weight, known="_model" in vars(self))
        rows = labelled_as(source, known)
        rows = rows if offset is None else with_offset(rows, offset)
        before, K = vars(self).get("_statistics"), len(known)
        so_far = np.zeros(K) if before is None else np.asarray(before.n)
        with validation.naming(source):
            validation.weighty(rows.n)
            totals = rows.n + so_far
            factor = weights_by_class(self.class_weight, known, totals)
            posed = self._posed(*weighed(rows.source, totals, factor), K, all_rows=False)
            descent, losses = descent_of(posed, vars(self).get("_model"), before, so_far)
            steps = stepped(posed, descent, losses, totals)
        model = Weights.of(steps.solution, descent.setting, single=rows.single)
        names = getattr(self, "feature_names_in_", source.names)
        return self._publish(model, steps, known, names)

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
        found, model, rows = summarised(self, cov, level), self._model, None
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

    def _rows_again(self, X: Any, y: Any, sample_weight: Any, offset: Any, found: Information) -> Objective:
        """The objective of the fit, from its rows."""
        if y is None and not stored(X):
            raise ValueError("summary(X, y): y goes with X.")
        source = validation.training(self, X, y, sample_weight, known=True)
        rows = labelled(source)
        if not np.array_equal(rows.classes, self.classes_):
            before = self.classes_.tolist()
            raise ValueError(f"y has the classes {rows.classes.tolist()}; in fit it had {before}.")
        objective = self._objective(rows if offset is None else with_offset(rows, offset))
        # As it was in `fit`, whatever C and fit_intercept are by now.
        l2, setting = found.l2 / found.n.sum(), objective.setting
        if not found.intercept:
            setting = replace(setting, shift=np.zeros(setting.p))
        penalty = ElasticNet(l2, np.zeros_like(l2))
        return replace(objective, penalty=penalty, setting=setting, intercept=found.intercept)
