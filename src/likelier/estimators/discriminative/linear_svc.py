"""LinearSVC: linear classifiers with margin losses, one-vs-rest or Crammer-Singer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.choose_solver import SolverChoice, chosen
from likelier.data import Arrays, Source
from likelier.data.chunk import compressed
from likelier.engines import reached
from likelier.estimators import validation
from likelier.estimators.base import followed, resumable
from likelier.estimators.deprecated import Strength
from likelier.estimators.discriminative.base import LabelledRows, PenalisedModel, SolverTrace, Weights
from likelier.estimators.priors import weighted, weights_by_class
from likelier.losses import LOSSES, Loss, softmaxed
from likelier.objective import Objective
from likelier.penalties import ElasticNet
from likelier.row_solvers import Margins
from likelier.row_solvers.newton import FEW_COLUMNS
from likelier.solvers import Solution, Watch, run_solver
from likelier.threads import cores

# The margin of several classes at once (Crammer & Singer 2001), by softmax regressions that sharpen.
#
# The loss of a row is max_j (z_j + [j ≠ y]) - z_y. Softened by μ, it is μ ln Σ_j exp((z_j + [j ≠ y]) / μ)
# - z_y, at most μ ln K more: the log-loss of softmax, of scores z / μ, with what is known of each row
# added to them. So each μ is a problem that is solved already, and begins where the one before it ended.

Solve = Callable[[Objective, Weights | None], Solution]
FALL = 0.25  # of μ, from one problem to the next
MOST_EXACT = 1e-6  # the least tol: beyond it, corners are as sharp as rounding


def crammer_singer(objective: Objective, solve: Solve, tol: float) -> tuple[Weights, Solution]:
    """Weights whose objective is within `tol` of the least, and the last solution; objective: softmax."""
    source = objective.source
    if not isinstance(source, Arrays):
        raise ValueError(
            "multi_class='crammer_singer' needs the rows in memory, and X is a source: load its rows, or "
            "use multi_class='ovr'."
        )
    assert source.y is not None
    q, (n,) = objective.setting.q, source.y.shape
    margin = np.ones((n, q))
    margin[np.arange(n), source.y] = 0.0
    last = max(tol, MOST_EXACT) / np.log(q)
    mu, weights = 1.0, None
    traces: list[Floats] = []
    while True:
        soft = replace(source, offset=margin / mu)
        penalty = objective.penalty
        problem = replace(objective, source=soft, penalty=ElasticNet(penalty.l2 * mu, penalty.l1))
        solution = solve(problem, None if weights is None else _scaled(weights, 1 / mu))
        weights = _scaled(Weights.of(solution, problem.setting), mu)
        traces.append(solution.trace[bool(traces) :] * [mu, mu, 1.0])
        if mu <= last:
            break
        mu = max(mu * FALL, last)
    whole = replace(solution, trace=np.concatenate(traces))
    return replace(weights, course=SolverTrace.of(whole)), whole


def _scaled(weights: Weights, factor: float) -> Weights:
    return replace(weights, W=weights.W * factor, b=weights.b * factor)


# Linear classifiers that ask for a margin.


# The losses, and the penalties that go with them. The perceptron criterion is least at weights of 0, so
# that any penalty leads there: it has none, and the default is taken as no wish.
PENALTIES = {"squared_hinge": ("l2", "l1"), "hinge": ("l2",), "perceptron": ("l2",)}


class LinearSVC(PenalisedModel):
    """Linear support vector machine: minimises |w|²/2 + C Σ (1 - y (w·x + b))₊², or another margin loss.

    Drop-in for scikit-learn's class, solved in the primal or the dual as suits, except that the intercept
    is never penalised. For more than two classes it fits each class against the rest, or all at once
    (`multi_class="crammer_singer"`).

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        The penalty on the coefficients. "l1", which leads to sparse ones, goes with loss="squared_hinge".
    loss : {"squared_hinge", "hinge", "perceptron"}, default="squared_hinge"
        The loss of the margin m = y (w·x + b): (1 - m)₊² or (1 - m)₊. "perceptron" is (-m)₊, without a
        penalty; of all weights on the way those with the fewest training errors are kept.
    dual : bool or "auto", default="auto"
        Accepted for compatibility and has no effect: `solver` decides.
    tol : float, default=1e-4
        Stop once the norm of the gradient of the objective per unit of row weight, scaled by its curvature,
        or for losses with a corner a bound on the distance from the optimum, is at most `tol`.
    C : float, default=1.0
        Inverse of the strength of regularisation: the smaller, the stronger.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        For more than two classes. "ovr": each class against the rest. "crammer_singer": minimises
        Σ_k |w_k|²/2 + C Σ max_j (z_j + [j ≠ y]) - z_y, whatever `loss` and `penalty` are; it needs rows in
        memory.
    fit_intercept : bool, default=True
        Whether to add an intercept to the scores.
    intercept_scaling : float, default=1
        Accepted for compatibility and has no effect: the intercept is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes, {label: weight}; "balanced" weights each class inversely to its frequency.
        In one-vs-rest problems a weight applies where its class is the positive one.
    verbose : int, default=0
        If not 0, show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which solvers that visit single rows ("dual", "sgd", "averaged") take them.
        None is one fixed seed, so that fits are reproducible.
    max_iter : int, default=1000
        Maximum number of iterations of the solver.
    solver : str, default="auto"
        The algorithm: "auto" chooses by loss, penalty and size (see `solver_reason_`). Others are
        "semismooth", "dual", "newton", "newton-cg", "lbfgs", "cg", "gradient", "smoothing" (hinge),
        "proximal" (l1), "sgd" and "averaged"; one that does not suit the loss or penalty is refused.
    encode : bool, default=True
        Whether a data frame or a source with categories, dates or missing values becomes a matrix of
        numbers, as by `DesignMatrix`. False: such a table is refused.

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
        Number of iterations; for one-vs-rest problems the largest.
    trace_ : ndarray of shape (n_iter_ + 1, 3)
        Objective, gradient norm and step length before the first and after each iteration; for one-vs-rest
        problems those of the class that took most iterations.
    converged_ : bool
        Whether the solver met `tol`, for all classes.
    stop_reason_ : str
        Why the solver stopped.
    solver_ : str
        The solver that was used.
    solver_reason_ : str
        Why it was chosen.

    See Also
    --------
    SGDClassifier : The same losses by stochastic gradient descent.
    LogisticRegression : Has probabilities.
    Perceptron : Rosenblatt's rule, with the weights that scikit-learn finds.

    References
    ----------
    - Cortes, C. and Vapnik, V. (1995). Support-vector networks. Machine Learning 20, 273-297.
    - Chapelle, O. (2007). Training a support vector machine in the primal. Neural Computation 19,
      1155-1178.
    - Crammer, K. and Singer, Y. (2001). On the algorithmic implementation of multiclass kernel-based vector
      machines. Journal of Machine Learning Research 2, 265-292.

    Examples
    --------
    >>> from likelier import LinearSVC
    >>> model = LinearSVC().fit([[-2.0, 0.0], [-1.0, 1.0], [1.0, -1.0], [2.0, 0.0]], ["a", "a", "b", "b"])
    >>> model.predict([[-1.5, 0.0], [1.5, 0.0]]).tolist()
    ['a', 'b']
    >>> model.decision_function([[0.0, 0.0]]).round(6) + 0.0
    array([0.])
    """

    assumes = "discriminative; a margin between the classes; linear boundary"
    _few_columns = FEW_COLUMNS

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        solver: str = "auto",
        encode: bool = True,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.encode = encode

    @resumable
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit the model to labelled rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Training rows. A source, such as `likelier.scan("*.parquet", target="y")`, is read in passes and
            need not fit into memory.
        y : array-like of shape (n,), default=None
            Class labels. A source has its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.
        checkpoint : str or path-like, default=None
            A file in which finished passes are stored. A fit that was interrupted resumes from it.

        Returns
        -------
        self : LinearSVC
            The fitted estimator.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before it met `tol`.
        """
        self._check_pair()
        rows = self._rows(validation.training(self, X, y, sample_weight))
        with validation.naming(rows.source):
            if self.multi_class == "crammer_singer" and len(rows.classes) > 2:
                model, worst = crammer_singer(self._objective(rows), self._solve, self.tol)
            else:
                model, worst = self._lines(rows)
        self._warn_of_end(worst)
        return self._publish(model, None, rows.classes, rows.source.names)

    def _check_pair(self) -> None:
        if self.multi_class not in ("ovr", "crammer_singer"):
            raise ValueError(f"multi_class must be 'ovr' or 'crammer_singer'; got {self.multi_class!r}.")
        if self.multi_class == "crammer_singer":  # which has a loss and a penalty of its own
            return
        if self.loss not in PENALTIES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, PENALTIES))}; got {self.loss!r}.")
        if self.penalty not in PENALTIES[self.loss]:
            pairs = ", ".join(f"{p} with {loss}" for loss, ps in PENALTIES.items() for p in ps)
            raise ValueError(
                f"Unsupported set of arguments: penalty={self.penalty!r} does not go with "
                f"loss={self.loss!r} (dual={self.dual!r} changes nothing). Those that do: {pairs}."
            )

    def _lines(self, rows: LabelledRows) -> tuple[Weights, Solution]:
        """One linear model for binary problems, else one for each class; and the worst solution."""
        source, target, totals = compressed(rows.source, self._few_columns), rows[1], rows[2]
        K = len(target)
        if K == 2:
            problem = self._objective(rows)
            if self.multi_class == "crammer_singer":  # w is w₁ - w₀, and w₀ = -w₁
                problem = _halved(problem)
            first, one, factor = problem, 1, None
        else:
            factor = weights_by_class(self.class_weight, target, totals)
            first, one = self._posed(source, totals, 2, 0), 0
        choice = chosen(self.solver, first)
        if choice.name == "semismooth" and not (self.verbose or followed(self)):
            return self._at_once(first, choice, one, 1 if K == 2 else K, factor)
        problems = [first] if K == 2 else self._problems(source, totals, factor, first)
        solutions = self._each(problems, side_by_side=choice.name == "dual")
        return _together(problems, solutions), _worst(solutions)

    def _each(self, problems: list[Objective], *, side_by_side: bool) -> list[Solution]:
        """Solve all problems; in parallel where a solver has one thread and its steps are not observed."""
        workers = min(cores(), len(problems))
        if workers == 1 or not side_by_side or self.verbose or followed(self):
            return [self._solve(problem, None) for problem in problems]
        with ThreadPoolExecutor(workers) as pool:
            solutions = list(pool.map(lambda problem: self._solve(problem, None), problems))
        for solution in solutions:
            reached("objective", solution.last.value)
        return solutions

    def _problems(
        self, source: Source, totals: Floats, factor: Floats | None, first: Objective
    ) -> list[Objective]:
        """Of each class against the rest; `first`: of class 0, without weights by class."""
        K = len(totals)
        if factor is None:
            return [replace(first, setting=replace(first.setting, positive=k)) for k in range(K)]
        # As in LIBLINEAR, the weight of a class counts where it is the one, not among the rest.
        each = [np.where(np.arange(K) == k, factor, 1.0) for k in range(K)]
        return [self._posed(*weighted(source, totals, each[k]), 2, k) for k in range(K)]

    def _at_once(
        self, first: Objective, choice: SolverChoice, one: int, count: int, factor: Floats | None
    ) -> tuple[Weights, Solution]:
        """All linear models, from class `one` on, in a single call of the native core."""
        terms = self._terms()
        if factor is not None:
            assert first.totals is not None
            validation.weighty(float((first.n + (factor - 1) * first.totals).min()))
        lines = Margins.of(first).lines(one, count, factor, terms.tol, terms.max_iter)
        longest = int(lines.lengths.argmax())
        worst = int(lines.norms.argmax()) if (lines.norms > terms.tol).any() else longest

        def report(k: int, watch: Watch | None = None) -> Solution:
            found = run_solver(
                lambda objective, theta: lines.iterates(k),
                first,
                lines.theta[k],
                tol=terms.tol,
                max_iter=terms.max_iter,
                watch=watch,
            )
            return replace(found, solver=choice.name, why=choice.why)

        end = report(worst)
        course = SolverTrace.of(
            report(longest, lambda number, iterate: reached("objective", iterate.value))
        )
        course = replace(course, converged=end.converged, reason=end.reason)
        return Weights.at(lines.theta, first.setting, course), end

    def _loss(self, K: int) -> Loss:
        if self.multi_class == "crammer_singer":
            return softmaxed if K > 2 else LOSSES["hinge"]
        return LOSSES[self.loss]

    def _strength(self) -> Strength:
        C, one_vs_rest = validation.allowance("C", self.C), self.multi_class == "ovr"
        if one_vs_rest and self.loss == "perceptron":  # which has no penalty
            C = np.inf
        return Strength(C, float(one_vs_rest and self.penalty == "l1"))

    def _warn_of_end(self, solution: Solution) -> None:
        # Rows that no line parts leave mistakes, and there is nothing to raise or to loosen.
        if not (self.loss == "perceptron" and solution.last.stuck):
            super()._warn_of_end(solution)

    def _shown(self, model: Weights, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        return super()._shown(model, statistics, target) | {"n_iter_": len(model.course.trace) - 1}


def _halved(objective: Objective) -> Objective:
    penalty = ElasticNet(objective.penalty.l2 / 2, objective.penalty.l1)
    return replace(objective, penalty=penalty)


def _worst(solutions: list[Solution]) -> Solution:
    """One that did not converge, if any; else that which took longest."""
    return max(solutions, key=lambda solution: (not solution.converged, solution.iterations))


def _together(problems: list[Objective], solutions: list[Solution]) -> Weights:
    """A row of weights for each problem, all about the shift of the first."""
    setting = problems[0].setting
    each = [Weights.of(s, o.setting).theta(setting) for o, s in zip(problems, solutions, strict=True)]
    longest, worst = max(solutions, key=lambda solution: solution.iterations), _worst(solutions)
    course = replace(SolverTrace.of(longest), converged=worst.converged, reason=worst.reason)
    return Weights.at(np.array(each), setting, course)
