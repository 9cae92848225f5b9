"""Logistic regression, for two classes and for more."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Source
from likelier.estimators import deprecated, door
from likelier.estimators.answers import LinearProbabilities
from likelier.estimators.checkpoints import resumable
from likelier.estimators.deprecated import NOT_GIVEN, strength_of
from likelier.estimators.discriminative import single
from likelier.estimators.logistic_summary import Inference
from likelier.estimators.stepping import Stepping
from likelier.estimators.weights import Weights
from likelier.losses import Loss, logistic, softmaxed

Floats = NDArray[np.float64]


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
        with door.naming(source):
            objective = self._objective(source, target)
            fitted = self._at(objective, target, source.names, single=single(source))
            solution = self._solve(objective, self._start_from(target, source.p), fitted)
        solution, information = self._concluded(objective, solution, target, source.names)
        model = Weights.of(solution, objective.setting, single=single(source))
        return self._publish(model, information, target, source.names)
