"""What logistic regression says of its coefficients."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.callers import outside
from likelier.data import DegenerateWarning, SeparationWarning
from likelier.estimators import door
from likelier.estimators.discriminative import Discriminative, precoded, with_offset
from likelier.estimators.publishing import Names
from likelier.estimators.sources import stored
from likelier.estimators.weights import Weights
from likelier.inference import Information, LikelihoodSummary, Separation, separation_of
from likelier.inference.likelihood import Point, likelihood_summary
from likelier.inference.sandwich import POWERS
from likelier.inference.table import Covariance
from likelier.model import levels
from likelier.objective import Objective
from likelier.penalties import Penalty
from likelier.solvers import Solution


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
        door.fitted(self)
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
                f"{len(shown)} columns ({door.named(names, left_open)}): they are constant or depend on "
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
        source = door.training(self, X, y, sample_weight, known=True)
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
    what = f"column{'s' * many} {door.named(names, found.columns)}" if found.columns else "the intercept"
    said = f"{what} separate{'s' * (not many)} the classes"
    if found.kind == "complete":
        return f"{said} completely."
    labels = ", ".join(map(repr, target[list(found.classes)].tolist()[:10]))
    which = "" if len(found.classes) == len(target) else f": {labels} from the others"
    return f"{said} in part (quasi-complete separation){which}."
