"""LogisticRegression: the fit, partial_fit by stochastic steps, and the summary of coefficients."""

import copy
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import SeparationWarning, Source
from likelier.engines import chunks
from likelier.estimators import deprecated, formulas, posteriors, validation
from likelier.estimators.base import Names, column_names, repeated_for_gaps, resumable
from likelier.estimators.deprecated import NOT_GIVEN, Strength, strength_of
from likelier.estimators.discriminative.base import PenalisedModel, Weights, begun, labelled_as, with_offset
from likelier.estimators.discriminative.inference import (
    Asked,
    effects_of,
    separated,
    summary_of,
    term_tests_of,
)
from likelier.estimators.priors import weighted, weights_by_class
from likelier.estimators.validation import known_classes
from likelier.inference import Information, LikelihoodSummary, separation_of
from likelier.inference.least_squares import Covariance
from likelier.inference.marginal_effects import MarginalEffects
from likelier.inference.terms import TermTests
from likelier.losses import Loss, logistic, softmaxed
from likelier.objective import Objective
from likelier.row_solvers import Descent
from likelier.solvers import Iterate, Solution
from likelier.states import Values
from likelier.states.design_survey import DesignSettings
from likelier.warning_location import outside

# Probabilities: the softmax of the scores.


class LogisticModel(PenalisedModel):
    """Posterior probabilities p(C_k | x) = e^{z_k} / Σ e^z.

    Other class priors turn it into p(C_k | x) π_k / π⁰_k, normalised to sum to 1, where π⁰ are the class
    frequencies of the training rows.
    """

    def _loss(self, K: int) -> Loss:
        return logistic if K == 2 else softmaxed

    predict = posteriors.predict
    predict_proba = posteriors.predict_proba
    predict_log_proba = posteriors.predict_log_proba
    decide = posteriors.decide
    adapt_priors = posteriors.adapt_priors
    _training_shares = posteriors.training_shares


# What logistic regression says of its coefficients.


def concluded(
    model: Any, objective: Objective, solution: Solution, target: NDArray[Any], names: Names
) -> tuple[Solution, Information]:
    """The end of a fit: with separated classes there is no maximum, so it has not converged, and warns."""
    separation = None if objective.held else separation_of(objective, solution)
    if separation is not None:
        why = f"{separation.kind} separation: the likelihood has no maximum"
        solution = replace(solution, converged=False, reason=why)
    found = Information.of(objective, solution, separation)
    if separation is not None:
        warnings.warn(
            f"{type(model).__name__}: {separated(separation, target, names)} The likelihood has no "
            "maximum; these are the last weights. Penalise (a finite C), or drop columns.",
            SeparationWarning,
            stacklevel=outside(),
        )
    elif not solution.converged:
        model._warn_of_end(solution)
    return solution, found


# Learning on: a stochastic step at each new row.


WHY = "partial_fit takes a step at each row"
HELD = ("theta", "mean", "squares", "cells", "steps")  # of a descent, from batch to batch
SETTLED = 10_000_000  # steps that a fit counts for at most: its weight may be any number


@dataclass(frozen=True)
class LogisticSGDState:
    """The state of `partial_fit`: weights, the scales of the columns, and the losses of the batches."""

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
        """The solution so far; its trace has a row for each batch: the mean loss before its steps."""
        trace = np.array([(loss, np.nan, 1.0) for loss in [np.nan, *self.losses]])
        last = Iterate(self.mean.ravel(), float(self.losses[-1]), np.nan)
        return Solution(last, trace, False, f"{self.steps} steps so far", "sgd", WHY)


def stepped(posed: Objective, descent: Descent, losses: Floats, totals: Floats) -> LogisticSGDState:
    """One step at each row, starting from `descent`; losses: those of the batches before."""
    loss, n = 0.0, 0.0
    for chunk in chunks(posed.source):
        # Of the weights that are shown: those that move are restless, and their losses higher.
        seen = Values.start(descent.setting, descent.mean[None])
        seen.update(chunk)
        loss += float(seen.f[0])
        descent.update(chunk)
        n += chunk.X.shape[0] if chunk.w is None else float(chunk.w.sum())
    if not (np.isfinite(descent.theta).all() and np.isfinite(descent.mean).all()):
        raise ValueError("the updates overflow: X has values that are too large. Rescale it.")
    held = {name: getattr(descent, name) for name in HELD}
    losses = np.append(losses, loss / n if n else np.nan)
    return LogisticSGDState(**held, intercept=posed.intercept, n=totals, losses=losses)


def descent_of(
    posed: Objective, model: Weights | None, before: Any, so_far: Floats
) -> tuple[Descent, Floats]:
    """The state to continue from, and the losses so far.

    before: the statistics of the fit; so_far: the total weight of each class in it.
    """
    if isinstance(before, LogisticSGDState) and before.intercept == posed.intercept:
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
    """Logistic regression: Pr(y | x) = 1 / (1 + e^{-y w·x}), for K classes the softmax of W x.

    Minimises C Σ loss + (1 - l1_ratio) |w|²/2 + l1_ratio |w|₁; the intercept is never penalised. Drop-in
    for scikit-learn's class, with `summary`, `partial_fit`, class priors and rows from files in addition.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet"} or None, default="deprecated"
        Deprecated, as in scikit-learn: use `l1_ratio` and `C`. "l2" means l1_ratio=0, "l1" means
        l1_ratio=1, "elasticnet" the given `l1_ratio`, None means C=np.inf. A value other than the default
        warns.
    C : float, default=1.0
        Inverse of the strength of regularisation: the smaller, the stronger. np.inf: no penalty.
    l1_ratio : float, default=0.0
        Share of the l1 penalty, from 0 (l2 alone) to 1 (l1 alone); between them it is an elastic net.
    dual : bool, default=False
        Accepted for compatibility and has no effect.
    tol : float, default=1e-4
        Stop once the norm of the gradient of the objective per unit of row weight, scaled by its curvature,
        is at most `tol`. Newton-type solvers are held to a tenth of it.
    fit_intercept : bool, default=True
        Whether to add an intercept to the scores.
    intercept_scaling : float, default=1
        Accepted for compatibility and has no effect: the intercept is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes, {label: weight}, by which those of the rows are multiplied; labels that are
        not named have 1. "balanced" weights each class inversely to its frequency.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which solvers that visit single rows ("dual", "sgd", "averaged") take them;
        other solvers do not use it. None is one fixed seed, so that fits are reproducible.
    solver : str, default="auto"
        The algorithm: "auto" chooses by the size and kind of the problem (see `solver_reason_`). Others are
        "newton", "newton-cg", "lbfgs", "cg", "gradient", "iterative-scaling", "dual" (needs an l2 penalty
        and rows in memory), "proximal" (the choice for l1), "sgd" and "averaged". Of scikit-learn's names
        "newton-cholesky" means "newton", and "liblinear", "sag" and "saga" mean "auto".
    max_iter : int, default=100
        Maximum number of iterations of the solver.
    verbose : int, default=0
        If not 0, show a progress bar.
    warm_start : bool, default=False
        Whether `fit` starts from the coefficients of the previous fit, if classes and columns agree.
    n_jobs : int, default=None
        Accepted for compatibility and has no effect, apart from scikit-learn's deprecation warning: all
        cores are used.
    penalty_weights : array-like of shape (p,), default=None
        Factor of the penalty for each column; 0 leaves a column without penalty. None: 1 for all.
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
    formula_ : str
        The formula, after `from_formula` only.
    n_iter_ : ndarray of shape (1,)
        Number of iterations.
    trace_ : ndarray of shape (n_iter_ + 1, 3)
        Objective, gradient norm and step length before the first and after each iteration. After
        `partial_fit`: the mean loss of each batch, computed before training on it, in the first column.
    converged_ : bool
        Whether the solver met `tol`.
    stop_reason_ : str
        Why the solver stopped.
    solver_ : str
        The solver that was used.
    solver_reason_ : str
        Why it was chosen.
    separation_ : Separation or None
        If no penalty prevents it and the classes are linearly separable, so that the likelihood has no
        maximum: `kind` ("complete" or "quasi-complete"), and the positions of the `columns` and `classes`
        that separate. None otherwise.

    See Also
    --------
    LogisticRegressionCV : Chooses C and l1_ratio by cross-validation.
    SGDClassifier : Stochastic gradient descent, with this loss and others.
    LinearSVC : Margin losses in place of the logistic loss.

    References
    ----------
    - Cox, D. R. (1958). The regression analysis of binary sequences. Journal of the Royal Statistical
      Society B 20, 215-242.
    - Theil, H. (1969). A multinomial extension of the linear logit model. International Economic Review 10,
      251-259.

    Examples
    --------
    >>> from likelier import LogisticRegression
    >>> hours = [[0.5], [1.0], [1.5], [2.0], [2.5], [3.0], [3.5], [4.0]]
    >>> passed = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> model = LogisticRegression().fit(hours, passed)
    >>> model.predict([[1.0], [3.0]])
    array([0, 1])
    >>> model.predict_proba([[3.0]]).round(2)
    array([[0.3, 0.7]])
    >>> model.converged_
    True
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
        encode: bool = True,
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
        self.encode = encode

    from_formula = classmethod(formulas.from_formula)
    formula_ = property(formulas.formula_of)

    def _strength(self) -> Strength:
        return strength_of(self)

    def _design_settings(self) -> DesignSettings:
        """Without a penalty, indicators of all categories would be collinear with an intercept."""
        free = bool(self.fit_intercept) and np.isinf(self._strength()[0])
        return DesignSettings(drop="first" if free else None)

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
        offset : array-like of shape (n,) or (n, K), default=None
            Known terms that are added to the scores during the fit, (n, K) for more than two classes. Rows
            must be in memory.
        checkpoint : str or path-like, default=None
            A file in which finished passes are stored. A fit that was interrupted resumes from it.

        Returns
        -------
        self : LogisticRegression
            The fitted estimator.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before it met `tol`.
        SeparationWarning
            If the classes are linearly separable and no penalty bounds the coefficients.
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

    @repeated_for_gaps
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, offset: Any = None
    ) -> Self:
        """Update the model with more rows, by one stochastic gradient step per row in their order.

        After `fit`, training continues from its coefficients. One pass of such steps comes near to what
        `fit` finds for all rows so far, but does not equal it.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Training rows.
        y : array-like of shape (n,), default=None
            Class labels. A source has its own.
        classes : array-like of shape (K,), default=None
            All labels that can occur; required at the first call.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.
        offset : array-like of shape (n,) or (n, K), default=None
            Known terms that are added to the scores. Rows must be in memory.

        Returns
        -------
        self : LogisticRegression
            The estimator itself.

        Notes
        -----
        With class_weight="balanced" the frequencies are those of all rows so far.
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
            posed = self._posed(*weighted(rows.source, totals, factor), K, all_rows=False)
            descent, losses = descent_of(posed, vars(self).get("_model"), before, so_far)
            steps = stepped(posed, descent, losses, totals)
        model = Weights.of(steps.solution, descent.setting, single=rows.single)
        names = column_names(self) if "_model" in vars(self) else source.names
        return self._publish(model, steps, known, names)

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        cov: Covariance = "classical",
        level: float = 0.95,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        groups: Any = None,
        exp: bool = False,
    ) -> LikelihoodSummary:
        """Coefficients with standard errors, tests and confidence intervals.

        For more than two classes the coefficients are those of each class minus those of the first.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p), default=None
            The rows of the fit. Needed for robust errors, and after solvers that do not leave a Hessian,
            such as "lbfgs".
        y : array-like of shape (n,), default=None
            Their labels.
        cov : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="classical"
            "classical": errors from the Hessian. "HC0" to "HC3": robust (sandwich) errors, valid if the
            model is misspecified, for fits without a penalty; "HC2" and "HC3" are for binary problems.
            "cluster": robust errors that hold where rows of one cluster depend on each other.
        level : float, default=0.95
            Level of the confidence intervals.
        sample_weight : array-like of shape (n,), default=None
            The weights of the rows in the fit, if it had any.
        offset : array-like of shape (n,) or (n, K), default=None
            The offset of the fit, if it had one.
        groups : array-like of shape (n,), default=None
            With `cov="cluster"`: the cluster of each row.
        exp : bool, default=False
            Whether to show odds ratios, e to the power of the coefficients, with the ends of the intervals
            likewise and errors by the delta method. z and p stay those of the coefficients.

        Returns
        -------
        LikelihoodSummary
            The table. With an l2 penalty it describes an approximate posterior (Laplace) and has no tests.

        Raises
        ------
        ValueError
            If the penalty has an l1 part, the classes are separated, the coefficients come from
            `partial_fit`, or rows are needed and not given.

        References
        ----------
        - Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models.
          Biometrika 73, 13-22.

        Examples
        --------
        >>> import numpy as np
        >>> from likelier import LogisticRegression
        >>> hours = [[0.5], [1.0], [1.5], [2.0], [2.5], [3.0], [3.5], [4.0]]
        >>> model = LogisticRegression(C=np.inf).fit(hours, [0, 0, 0, 1, 0, 1, 1, 1])
        >>> summary = model.summary()
        >>> summary.names
        ('intercept', 'x0')
        >>> summary.p.round(2)
        array([0.15, 0.14])
        >>> model.summary(exp=True).estimates.round(2)
        array([ 0., 13.])
        """
        return summary_of(self, Asked(X, y, sample_weight, offset, cov, groups, level), exp=exp)

    def marginal_effects(
        self,
        X: Any,
        y: Any = None,
        cov: Covariance = "classical",
        level: float = 0.95,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        groups: Any = None,
        at: Literal["overall", "mean"] = "overall",
        discrete: bool = False,
    ) -> MarginalEffects:
        """By how much the class probabilities change with each column, on average over rows.

        Unlike odds ratios, effects are in units of probability, and can be compared between models.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, p)
            The rows to average over, in memory. With `y` they must be the rows of the fit.
        y : array-like of shape (n,), default=None
            The labels of the rows of the fit. Needed where `summary` needs rows: for robust errors, and
            after solvers that do not leave a Hessian.
        cov : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="classical"
            The standard errors of the coefficients, as in `summary`.
        level : float, default=0.95
            Level of the confidence intervals.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        offset : array-like of shape (n,) or (n, K), default=None
            The offset of the rows, if the fit had one.
        groups : array-like of shape (n,), default=None
            With `cov="cluster"`: the cluster of each row.
        at : {"overall", "mean"}, default="overall"
            "overall": the average of the effects in all rows. "mean": the effects in one row, their mean.
        discrete : bool, default=False
            Whether the effect of a column of zeros and ones is the difference of the probabilities at 1 and
            at 0; otherwise it is a derivative, like the others.

        Returns
        -------
        MarginalEffects
            Effects, standard errors by the delta method, tests and intervals.

        Raises
        ------
        ValueError
            Where `summary` raises it, and if X is not in memory.

        Examples
        --------
        >>> import numpy as np
        >>> from likelier import LogisticRegression
        >>> hours = [[0.5], [1.0], [1.5], [2.0], [2.5], [3.0], [3.5], [4.0]]
        >>> model = LogisticRegression(C=np.inf).fit(hours, [0, 0, 0, 1, 0, 1, 1, 1])
        >>> model.marginal_effects(hours).effects.round(3)
        array([[0.247]])
        """
        asked = Asked(X, y, sample_weight, offset, cov, groups, level, "marginal_effects")
        return effects_of(self, asked, at, discrete=discrete)

    def term_tests(
        self,
        X: Any = None,
        y: Any = None,
        terms: Mapping[str, Any] | None = None,
        cov: Covariance = "classical",
        sample_weight: Any = None,
        offset: Any = None,
        *,
        groups: Any = None,
    ) -> TermTests:
        """Joint tests of the coefficients of each term: whether the model needs it.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p), default=None
            The rows of the fit. Needed for likelihood-ratio tests, and where `summary` needs them.
        y : array-like of shape (n,), default=None
            Their labels.
        terms : dict of str to column names or numbers, default=None
            The columns of each term. None: each column of the table, with all columns that encode it.
        cov : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="classical"
            The covariance of Wald's tests, as in `summary`. Likelihood-ratio tests go with "classical".
        sample_weight : array-like of shape (n,), default=None
            The weights of the rows in the fit, if it had any.
        offset : array-like of shape (n,) or (n, K), default=None
            The offset of the fit, if it had one.
        groups : array-like of shape (n,), default=None
            With `cov="cluster"`: the cluster of each row.

        Returns
        -------
        TermTests
            Wald's and the likelihood-ratio test of each term.

        Raises
        ------
        ValueError
            Where `summary` raises it, and if the fit has a penalty.

        Examples
        --------
        >>> import numpy as np
        >>> from likelier import LogisticRegression
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(100, 3))
        >>> y = X[:, 0] + rng.logistic(size=100) > 0
        >>> model = LogisticRegression(C=np.inf).fit(X, y)
        >>> tests = model.term_tests(X, y, terms={"signal": 0, "noise": [1, 2]})
        >>> tests.df
        array([1., 2.])
        """
        asked = Asked(X, y, sample_weight, offset, cov, groups, call="term_tests")
        return term_tests_of(self, asked, terms)
