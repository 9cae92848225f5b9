"""Linear classifiers by stochastic gradient descent."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.utils.metaestimators import available_if

from likelier import links
from likelier.data import Source
from likelier.data.wrapped import cluster_of
from likelier.estimators import deprecated, door
from likelier.estimators.adapting import Adapting
from likelier.estimators.collections import by_block
from likelier.estimators.courses import course_of, one_of
from likelier.estimators.decisions import Decisions
from likelier.estimators.polishing import SMOOTH, polished
from likelier.estimators.pooling import averaged_epochs
from likelier.estimators.stochastic import Striding, counted
from likelier.estimators.strides import Epochs, Journey, Route, Strides
from likelier.estimators.weighing import weights_by_class
from likelier.online.stochastic import LOSSES, RATES, Course

Floats = NDArray[np.float64]

PROBABLE = ("log_loss", "modified_huber", "softmax")
OWN = ("softmax",)  # losses that scikit-learn's class has not


def _probable(self: Any) -> bool:
    if self.loss not in PROBABLE:
        raise AttributeError(
            f"probability estimates are not available for loss={self.loss!r}: take one of "
            f"{', '.join(PROBABLE)}"
        )
    return True


class SGDClassifier(Adapting, Decisions, Striding):
    """min Σ ℓ(y, w·x + b) / n + α R(w), by a step against the slope of each row's loss in turn.

    Drop-in for scikit-learn's, with the same weights for the same `random_state` (Bottou 2012). More than
    two classes: one against the rest, each, side by side. Beyond it: loss="softmax", one model of all
    classes; learning_rate="adagrad", a pace for every weight (Duchi, Hazan & Singer 2011);
    class_weight="balanced" in `partial_fit`; files. `trace_` has the mean loss of each epoch, from before
    each step, in its first column; `mistakes_` counts rows that were on the wrong side before theirs. On a
    Dask cluster parts step by themselves and are averaged; smooth losses go on to their optimum by L-BFGS.
    """

    assumes = "discriminative; linear boundary; a step at every row"
    loss_functions: ClassVar = {name: name for name in LOSSES if name not in OWN}  # scikit-learn's names

    def __init__(
        self,
        loss: str = "hinge",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: str = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: bool | int = False,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average

    def _course(self) -> Course:
        self._check_words()
        deprecated.warn(deprecated.of_sgd(self))
        average = int(self.average) if isinstance(self.average, bool | np.bool_) else self.average
        return course_of(
            self,
            loss=self.loss,
            rate=self.learning_rate,
            power=door.number("power_t", self.power_t, -np.inf),
            epsilon=door.number("epsilon", self.epsilon, 0),
            average=int(door.number("average", average, 0, whole=True)),
        )

    def _check_words(self) -> None:
        one_of("loss", self.loss, LOSSES)
        one_of("learning_rate", self.learning_rate, RATES)
        if self.learning_rate == "optimal" and self.alpha == 0:
            raise ValueError(
                "alpha must be > 0 since learning_rate is 'optimal', which is 1 / (alpha (t0 + t)): with "
                "alpha=0 take 'invscaling', 'adaptive' or 'adagrad'."
            )
        if self.learning_rate in ("pa1", "pa2") and self.loss != "hinge":
            raise ValueError(f"Learning rate '{self.learning_rate}' only works with loss 'hinge'.")

    def _apart(self, K: int) -> bool:
        return K > 2 and self.loss != "softmax"

    # ---- on a cluster ------------------------------------------------------------------------------
    def _fitted(
        self, source: Source, target: NDArray[Any], course: Course, start: Strides, most: int
    ) -> Journey:
        if cluster_of(source) is None or self.loss not in SMOOTH:
            return super()._fitted(source, target, course, start, most)
        K = len(target)
        start = replace(start, n=counted(source, K))
        factor = weights_by_class(self.class_weight, target, start.n)
        seed = self._seeds(K, None)[0][0]
        return polished(self._route(course, K, factor), source, start, most, seed)

    def _epochs(self, route: Route, source: Source) -> Epochs:
        if cluster_of(source) is None:
            return super()._epochs(route, source)
        return partial(averaged_epochs, route)

    decide = available_if(_probable)(Decisions.decide)
    adapt_priors = available_if(_probable)(Adapting.adapt_priors)

    def _class_totals(self) -> Floats | None:
        return None if self._statistics is None else self._statistics.n

    # ---- probabilities -----------------------------------------------------------------------------
    @available_if(_probable)  # type: ignore[untyped-decorator]
    @by_block
    def predict_proba(self, X: Any) -> Floats:
        """p(C_k | x), (n, K).

        log_loss: σ(z), of more than two classes divided by its sum (Zadrozny & Elkan 2002); modified_huber:
        z cut to [-1, 1] as (z + 1) / 2, likewise (Zhang 2004); softmax: e^z / Σ e^z.
        """
        if self.loss == "modified_huber":
            return self._cut(X)
        return np.exp(self.predict_log_proba(X)) if self._normalised() else self._ask(X, links.softmax)

    @available_if(_probable)  # type: ignore[untyped-decorator]
    @by_block
    def predict_log_proba(self, X: Any) -> Floats:
        """ln p(C_k | x), (n, K)."""
        if self.loss == "modified_huber":
            with np.errstate(divide="ignore"):  # a class that is cut off: ln 0 = -inf
                return np.asarray(np.log(self._cut(X)))
        if not self._normalised():
            return self._ask(X, links.log_softmax)
        L = -np.logaddexp(0.0, -self._ask(X, links.identity))  # ln σ(z): not 0 for all, however far
        return np.asarray(L - logsumexp(L, axis=1, keepdims=True))

    def _normalised(self) -> bool:
        """Whether each class has a σ(z) of its own."""
        door.fitted(self)
        return self.loss == "log_loss" and len(self.classes_) > 2

    def _cut(self, X: Any) -> Floats:
        Z = self.decision_function(X)
        P = (np.clip(Z, -1.0, 1.0) + 1.0) / 2.0
        if P.ndim == 1:
            return np.column_stack([1.0 - P, P])
        P[P.sum(axis=1) == 0] = 1.0  # a row that all classes refuse
        return np.asarray(P / P.sum(axis=1, keepdims=True))
