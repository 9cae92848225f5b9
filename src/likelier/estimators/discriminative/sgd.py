"""SGDClassifier: linear classifiers by stochastic gradient descent, in memory or part by part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.metaestimators import available_if

from likelier import links
from likelier.array_types import Floats
from likelier.choose_solver import SolverChoice
from likelier.data import Chunk, Source
from likelier.data.transforms import cluster_of
from likelier.engines import run
from likelier.estimators import deprecated, posteriors, validation
from likelier.estimators.discriminative.base import LabelledRows, SolverTrace, Weights
from likelier.estimators.discriminative.sgd_base import (
    SEEDS,
    Epochs,
    EpochsResult,
    OneVsRest,
    SGDModel,
    SGDState,
    one_of,
    settings_of,
)
from likelier.estimators.posteriors import learned_shares, priors_for
from likelier.estimators.priors import weighted, weights_by_class
from likelier.estimators.sources import by_block
from likelier.export.describe import Scored
from likelier.losses import LOSSES as BATCH
from likelier.losses import Loss, logistic
from likelier.objective import Objective, shift_of
from likelier.penalties import ElasticNet
from likelier.row_solvers.averaged import PooledWeights
from likelier.row_solvers.sgd import column_squares
from likelier.row_solvers.sklearn_sgd import LOSSES, RATES, Rows, SGDSettings, Watch
from likelier.solve import Terms, solve
from likelier.solvers import Solution
from likelier.states import Setting

# From averaged steps to the optimum of what they descend: by L-BFGS, over all parts.


# Losses that are smooth, and that sums over rows are known of.
SMOOTH: dict[str, Loss] = {name: loss for name, loss in BATCH.items() if loss.smooth and name in LOSSES}
TOL = 1e-4  # of the gradient's norm, where no tol is asked for
CHOICE = SolverChoice("averaged", "steps in each part, averaged, then a batch solver")


def polished(one_vs_rest: OneVsRest, source: Source, start: SGDState, most: int, seed: int) -> EpochsResult:
    """Weights at the optimum: of averaged steps, which find their own pace, then of a batch solver.

    Σ w ℓ / Σ w + α R(w), the weights of classes beside those of rows: with rows that weigh 1 it is what
    stochastic steps descend.
    """
    settings, theta, n = one_vs_rest.settings, start.theta, start.n.sum()
    objectives = problems(one_vs_rest, source, float(n), len(theta))
    tol = TOL if settings.tol is None else settings.tol
    solutions, rows = [], []
    for number, objective in enumerate(objectives):
        part = theta[number : number + 1] if one_vs_rest.apart else theta
        solutions.append(
            solve(
                objective, _about(part, objective.setting), CHOICE, Terms(tol, most, seed, not part.any())
            )
        )
        rows.append(_about_zero(solutions[-1], objective.setting))
    end = np.concatenate(rows)
    mean = None if start.mean is None else end
    state = replace(start, theta=end, mean=mean, t=start.t + int(n))
    return EpochsResult(state, np.empty(0), True, 0, 0, pooled=True, trace=_trace(solutions, settings))


def problems(one_vs_rest: OneVsRest, source: Source, n: float, q: int) -> list[Objective]:
    """One, or one for each class against the rest."""
    settings, K = one_vs_rest.settings, one_vs_rest.K
    shift = shift_of(source) if settings.intercept else np.zeros(source.p)
    loss = logistic if q == 1 and settings.loss == "softmax" else SMOOTH[settings.loss]
    scores = 1 if one_vs_rest.apart else q
    penalty = ElasticNet.of(
        scores, source.p, settings.strength * settings.l2, settings.strength * settings.l1
    )
    found = []
    for k in range(K) if one_vs_rest.apart else [1]:
        factor = one_vs_rest.factor
        if (
            factor is not None and one_vs_rest.apart
        ):  # as in scikit-learn it counts where the class is the one
            factor = np.where(np.arange(K) == k, factor, 1.0)
        rows, _ = weighted(source, np.zeros(K), factor)
        found.append(Objective(rows, Setting(loss, scores, shift, k), penalty, n, settings.intercept))
    return found


def _about(theta: Floats, setting: Setting) -> Floats:
    """Weights of x, as weights of x - shift, flat."""
    b = theta[:, -1] + theta[:, :-1] @ setting.shift
    return np.column_stack([theta[:, :-1], b]).ravel()


def _about_zero(solution: Solution, setting: Setting) -> Floats:
    model = Weights.of(solution, setting)
    return np.column_stack([model.W, model.intercept])


def _trace(solutions: list[Solution], settings: SGDSettings) -> SolverTrace:
    """Of the problem that took longest; converged, if all did."""
    longest = max(solutions, key=lambda solution: (not solution.converged, solution.iterations))
    then = "L-BFGS" if not settings.l1 else "proximal Newton"
    reason = f"steps in each part, averaged, then {then}: {longest.reason}"
    return replace(SolverTrace.of(longest), reason=reason)


# Steps where the rows are: each part from the same weights, and the average of where they led.


class Tally(NamedTuple):
    """Sums over parts."""

    parts: int = 0
    turns: int = 0
    loss: float = 0.0
    mistakes: int = 0
    clipped: int = 0
    steps: int = 0
    squares: Any = 0.0  # (q, p + 1), Σg² of AdaGrad

    def plus(self, other: "Tally") -> "Tally":
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass
class PartSGDState:
    """Weights that the rows of each part have moved, averaged by what each part knows of a column: a state.

    That is Σ x², with AdaGrad Σ g², and for the intercept the number of rows. Merging is associative up to
    rounding; what comes out depends on how the rows are cut into parts.
    """

    one_vs_rest: OneVsRest
    begun: SGDState
    seed: int
    now: SGDState
    known: Floats  # (p + 1,)
    own: Tally
    others: PooledWeights
    tally: Tally  # of others

    @classmethod
    def start(cls, one_vs_rest: OneVsRest, begun: SGDState, seed: int) -> Self:
        stacked = _stacked(begun)
        q, width = stacked.shape
        return cls(
            one_vs_rest,
            begun,
            seed,
            begun,
            np.zeros(width),
            Tally(),
            PooledWeights.start(q, width),
            Tally(),
        )

    @property
    def nbytes(self) -> int:
        return 4 * self.others.total.nbytes

    def update(self, chunk: Chunk) -> None:
        rows = Rows.of(chunk)
        if not rows.coded:
            return
        rng = np.random.default_rng([self.seed, int(self.begun.t), chunk.first])
        seeds = rng.integers(SEEDS, size=len(self.begun.theta) if self.one_vs_rest.apart else 1).tolist()
        found = self.one_vs_rest.whole(rows, self.now, seeds, 1, None)
        squares, _ = column_squares(chunk, np.zeros(chunk.X.shape[1]))
        self.known = self.known + np.append(squares, rows.coded)
        mistakes, turns = found.state.mistakes - self.now.mistakes, rows.coded
        loss, self.now = float(found.losses[0]) * turns, found.state
        self.own = self.own.plus(Tally(0, turns, loss, mistakes, found.clipped, found.steps))
        self.own = self.own._replace(parts=1, squares=_squares(self.now))

    def merge(self, other: Self) -> None:
        self.others = self.others.merged(other._pooled())
        self.tally = self.tally.plus(other.tally).plus(other.own)

    def _pooled(self) -> PooledWeights:
        known = self.known[None] if self.now.squares is None else _repeated(self.now, self.now.squares)
        return self.others.plus(_stacked(self.now), known * (self.own.parts > 0))

    @property
    def epochs_result(self) -> EpochsResult:
        """Where the epoch has led."""
        all_of, q = self.tally.plus(self.own), len(self.begun.theta)
        found = self._pooled().mean(_stacked(self.begun))
        state = replace(
            self.begun,
            theta=found[:q],
            mean=None if self.begun.mean is None else found[q:],
            squares=None if self.begun.squares is None else all_of.squares / max(1, all_of.parts),
            t=self.begun.t + all_of.turns,
            mistakes=self.begun.mistakes + all_of.mistakes,
        )
        losses = np.array([all_of.loss / max(1, all_of.turns)])
        return EpochsResult(state, losses, False, all_of.clipped, all_of.steps)


def _squares(state: SGDState) -> Any:
    return 0.0 if state.squares is None else state.squares


def _stacked(state: SGDState) -> Floats:
    """θ, and below it its mean over turns, if there is one."""
    return state.theta if state.mean is None else np.concatenate([state.theta, state.mean])


def _repeated(state: SGDState, known: Floats) -> Floats:
    return known if state.mean is None else np.concatenate([known, known])


@dataclass(frozen=True)
class PooledEpochs:
    """A reading of a source: an epoch of steps, averaged."""

    source: Source
    seed: int

    def __call__(self, one_vs_rest: OneVsRest, state: SGDState) -> EpochsResult:
        alone = replace(one_vs_rest, workers=1)  # parts are side by side already
        return run(self.source, partial(PartSGDState.start, alone, state, self.seed)).epochs_result


def averaged_epochs(
    one_vs_rest: OneVsRest,
    source: Source,
    start: SGDState,
    seeds: Sequence[int],
    most: int,
    watch: Watch | None,
) -> EpochsResult:
    """Epochs, each from the average of the one before (McDonald, Hall & Mann 2010)."""
    return one_vs_rest.epochs(PooledEpochs(source, seeds[0]), start, most, watch)._replace(pooled=True)


# Linear classifiers by stochastic gradient descent.


PROBABLE = ("log_loss", "modified_huber", "softmax")
OWN = ("softmax",)  # losses that scikit-learn's class has not


def _probable(self: Any) -> bool:
    if self.loss not in PROBABLE:
        raise AttributeError(
            f"probability estimates are not available for loss={self.loss!r}: use one of "
            f"{', '.join(PROBABLE)}"
        )
    return True


class SGDClassifier(SGDModel):
    """Linear classifiers by stochastic gradient descent: min Σ ℓ(y, w·x + b) / n + α R(w).

    Drop-in for scikit-learn's class, with the same weights for the same `random_state`. For more than two
    classes it fits each class against the rest, in parallel. In addition: loss="softmax",
    learning_rate="adagrad", class_weight="balanced" in `partial_fit`, and rows from files. On a Dask
    cluster each part takes its own steps and the weights are averaged; smooth losses are then brought to
    their optimum by L-BFGS (with an l1 penalty: proximal Newton).

    Parameters
    ----------
    loss : str, default="hinge"
        The loss. "hinge" is a linear SVM, "log_loss" logistic regression, "modified_huber" a smooth loss
        with probabilities, "squared_hinge" and "perceptron" are other margin losses; "softmax" is
        multinomial logistic regression, one model of all classes. "squared_error", "huber",
        "epsilon_insensitive" and "squared_epsilon_insensitive" are losses of regression, applied to labels
        of -1 and 1.
    penalty : {"l2", "l1", "elasticnet"} or None, default="l2"
        The penalty R on the coefficients.
    alpha : float, default=0.0001
        Strength of the penalty: the larger, the stronger. learning_rate="optimal" depends on it too.
    l1_ratio : float or None, default=0.15
        Share of the l1 penalty in "elasticnet", from 0 to 1; other penalties do not use it.
    fit_intercept : bool, default=True
        Whether to add an intercept to the scores.
    max_iter : int, default=1000
        Maximum number of epochs in `fit`; `partial_fit` makes one.
    tol : float or None, default=1e-3
        `fit` stops after `n_iter_no_change` epochs in a row that lower the objective (with
        `early_stopping`: raise the validation score) by less than `tol`. None: it makes all `max_iter`
        epochs.
    shuffle : bool, default=True
        Whether the rows are shuffled before each epoch.
    verbose : int, default=0
        If not 0, show a progress bar.
    epsilon : float, default=0.1
        Threshold of the losses "huber", "epsilon_insensitive" and "squared_epsilon_insensitive".
    n_jobs : int, default=None
        Number of one-vs-rest problems that are fitted at the same time. None and -1: as many as there are
        cores.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows, and of the validation rows.
    learning_rate : str, default="optimal"
        The step length η at step t. "optimal": 1 / (alpha (t0 + t)), with t0 by Bottou's rule; "constant":
        eta0; "invscaling": eta0 / t^power_t; "adaptive": eta0, divided by 5 each time that training stops
        improving; "pa1" and "pa2": passive-aggressive steps of at most, or regularised by, eta0 (for
        loss="hinge"); "adagrad": eta0 / √Σg², for each coefficient.
    eta0 : float, default=0.01
        Initial step length, above 0; "optimal" does not use it. 0.1 is a good start for "adagrad".
    power_t : float, default=0.5
        Exponent of "invscaling".
    early_stopping : bool, default=False
        Whether to hold out a stratified share of the rows and stop when their score stops improving. Needs
        rows in memory.
    validation_fraction : float, default=0.1
        The share of rows to hold out, if `early_stopping`.
    n_iter_no_change : int, default=5
        Number of epochs without improvement before training stops.
    class_weight : dict or "balanced", default=None
        Weights of the classes, {label: weight}; "balanced" weights each class inversely to its frequency.
        In one-vs-rest problems a weight applies where its class is the positive one.
    warm_start : bool, default=False
        Whether `fit` starts from the coefficients of the previous fit.
    average : bool or int, default=False
        True: report the mean of the weights over all steps. An integer: averaging begins once that many
        rows were seen.
    encode : bool, default=True
        Whether a data frame or a source with categories, dates or missing values becomes a matrix of
        numbers, as by `DesignMatrix`, with standardised numbers. False: such a table is refused.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels, sorted.
    coef_ : ndarray of shape (1, p) or (K, p)
        Coefficients of the features; for binary problems one row, for `classes_[1]`.
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts; 0 if `fit_intercept=False`.
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
        1 + the number of steps so far (rows times epochs).
    trace_ : ndarray of shape (n_iter_ + 1, 3)
        In the first column the mean loss of each epoch, each row's before its step; the first row and the
        other columns are NaN. After a fit on a cluster to the optimum: objective, gradient norm and step
        length of each iteration.
    converged_ : bool
        Whether training stopped by itself, before `max_iter`.
    stop_reason_ : str
        Why training stopped.
    mistakes_ : int
        Number of rows, over all epochs and problems, that were misclassified before their step. Not
        available after a fit on a cluster to the optimum.

    See Also
    --------
    LogisticRegression, LinearSVC : The same objectives, minimised to a tolerance.
    OnlineClassifier : Rows one by one, with features of any type.
    Perceptron : With averaged and voted weights.

    References
    ----------
    - Bottou, L. (2012). Stochastic gradient descent tricks. In: Neural Networks: Tricks of the Trade.
      Springer.
    - Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and
      stochastic optimization. Journal of Machine Learning Research 12, 2121-2159.
    - McDonald, R., Hall, K. and Mann, G. (2010). Distributed training strategies for the structured
      perceptron. NAACL.

    Examples
    --------
    >>> from likelier import SGDClassifier
    >>> X, y = [[-2.0, 0.0], [-1.0, 1.0], [1.0, -1.0], [2.0, 0.0]], ["a", "a", "b", "b"]
    >>> model = SGDClassifier(random_state=0).fit(X, y)
    >>> model.predict([[-1.5, 0.0], [1.5, 0.0]]).tolist()
    ['a', 'b']
    >>> stream = SGDClassifier("log_loss", random_state=0).partial_fit(X, y, classes=["a", "b"])
    >>> stream.predict_proba(X).shape
    (4, 2)
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
        encode: bool = True,
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
        self.encode = encode

    def _sgd_settings(self) -> SGDSettings:
        self._check_words()
        deprecated.warn(deprecated.of_sgd(self))
        average = int(self.average) if isinstance(self.average, bool | np.bool_) else self.average
        return settings_of(
            self,
            loss=self.loss,
            rate=self.learning_rate,
            power=validation.number("power_t", self.power_t, -np.inf),
            epsilon=validation.number("epsilon", self.epsilon, 0),
            average=int(validation.number("average", average, 0, whole=True)),
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
        self, rows: LabelledRows, settings: SGDSettings, start: SGDState, most: int
    ) -> EpochsResult:
        source, K = rows.source, len(rows.classes)
        if cluster_of(source) is None or self.loss not in SMOOTH:
            return super()._fitted(rows, settings, start, most)
        start = replace(start, n=rows.rows)
        factor = weights_by_class(self.class_weight, rows.classes, start.n)
        seed = self._seeds(K, None)[0][0]
        return polished(self._one_vs_rest(settings, K, factor), source, start, most, seed)

    def _epochs(self, one_vs_rest: OneVsRest, source: Source) -> Epochs:
        if cluster_of(source) is None:
            return super()._epochs(one_vs_rest, source)
        return partial(averaged_epochs, one_vs_rest)

    # ---- probabilities -----------------------------------------------------------------------------
    @available_if(_probable)  # type: ignore[untyped-decorator]
    @by_block
    def predict_proba(self, X: Any) -> Floats:
        """The posterior probabilities p(C_k | x), for loss "log_loss", "modified_huber" or "softmax".

        "log_loss": 1 / (1 + e^-z), for more than two classes divided by their sum (Zadrozny & Elkan 2002);
        "modified_huber": (z + 1) / 2 with z clipped to [-1, 1], divided likewise (Zhang 2004); "softmax":
        e^z / Σ e^z.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, K)
            Probabilities, with columns in the order of `classes_`.
        """
        if self.loss == "modified_huber":
            return self._cut(X)
        return np.exp(self.predict_log_proba(X)) if self._normalised() else self._ask(X, links.softmax)

    @available_if(_probable)  # type: ignore[untyped-decorator]
    @by_block
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the posterior probabilities, for losses that have them.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, K)
            Log-probabilities, with columns in the order of `classes_`; -inf for a probability of 0.
        """
        if self.loss == "modified_huber":
            with np.errstate(divide="ignore"):  # a class that is cut off: ln 0 = -inf
                return np.asarray(np.log(self._cut(X)))
        if not self._normalised():
            return self._ask(X, links.log_softmax)
        L = -np.logaddexp(0.0, -self._ask(X, links.identity))  # ln σ(z): not 0 for all, however far
        return np.asarray(L - logsumexp(L, axis=1, keepdims=True))

    def _scored(self) -> Scored:
        scored = super()._scored()
        if self.loss == "modified_huber":
            return scored._replace(answer="clipped")
        return scored._replace(answer="sigmoids") if self._normalised() else scored

    def _normalised(self) -> bool:
        """Whether each class has a σ(z) of its own."""
        validation.fitted(self)
        return self.loss == "log_loss" and len(self.classes_) > 2

    def _cut(self, X: Any) -> Floats:
        Z = self.decision_function(X)
        P = (np.clip(Z, -1.0, 1.0) + 1.0) / 2.0
        if P.ndim == 1:
            return np.column_stack([1.0 - P, P])
        P[P.sum(axis=1) == 0] = 1.0  # a row that all classes refuse
        return np.asarray(P / P.sum(axis=1, keepdims=True))

    decide = available_if(_probable)(posteriors.decide)

    @available_if(_probable)  # type: ignore[untyped-decorator]
    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """Estimate the class priors of unlabelled rows by maximum likelihood (label shift).

        For rows in which each class looks as it did in training, but is more or less frequent. It uses the
        posterior probabilities alone, which must be calibrated. The model is not changed.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Unlabelled rows with the columns of the fit.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        tol : float, default=1e-10
            Stop once the mean log-likelihood of the rows is within `tol` of its maximum.
        max_iter : int, default=1000
            Maximum number of iterations.

        Returns
        -------
        ndarray of shape (K,)
            The priors, in the order of `classes_`.

        References
        ----------
        - Saerens, M., Latinne, P. and Decaestecker, C. (2002). Adjusting the outputs of a classifier to new
          a priori probabilities: a simple procedure. Neural Computation 14, 21-41.
        """
        n = None if self._statistics is None else self._statistics.n
        logs, shares = partial(self.predict_log_proba, X), partial(learned_shares, self, n)
        return priors_for(self, logs, shares, sample_weight, tol, max_iter)
