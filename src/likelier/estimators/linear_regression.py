"""Least squares: LinearRegression and Ridge."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_array

from likelier import links
from likelier.array_types import Floats
from likelier.data import Source, frames
from likelier.estimators import exports, formulas, validation
from likelier.estimators.base import in_precision, repeated_for_gaps
from likelier.estimators.design_matrix import fitted_design
from likelier.estimators.discriminative.base import same
from likelier.estimators.one_pass import (
    NamedModel,
    Names,
    OnePass,
    Start,
    check,
    check_statistics,
    numbered_models,
)
from likelier.estimators.predictions import evaluated_by_value, itself
from likelier.estimators.regression_inference import Asked, intervals_of, summaries, term_tests_of
from likelier.estimators.sources import brought, by_block, gathered, numeric, stored
from likelier.estimators.to_sklearn import to_sklearn
from likelier.evaluation import ValueFoldMetrics
from likelier.export.describe import Scored
from likelier.inference import (
    Covariance,
    Solution,
    Summary,
    bounded,
    conjugate,
    penalised,
    ridge,
    singular_values,
    solve,
)
from likelier.inference.predictions import PredictionInterval
from likelier.inference.terms import TermTests
from likelier.model import ask
from likelier.scores import Affine, Scores
from likelier.states import Equations, RowsOrTriangle, Triangle
from likelier.states.design_survey import DesignSettings
from likelier.threads import one_blas_thread

# Lines through rows, from one pass: what every least-squares estimator does.


@dataclass(frozen=True)
class LinearParams:
    """ŷ = at + B (x - shift), for q targets at once: what a fit leaves."""

    B: Floats  # (q, p)
    at: Floats  # (q,)
    shift: Floats  # (p,)
    intercept: Floats  # (q,), ŷ at x = 0
    solution: Solution
    single: bool = False  # the rows were of single precision

    @classmethod
    def of(cls, equations: Equations, solution: Solution, *, intercept: bool) -> Self:
        """Through the means, or through 0."""
        p, b, row = equations.p, solution.b, equations.shift
        B, shift = np.ascontiguousarray(b.T), row[:p].copy()
        if not intercept:
            return cls(B, shift @ b, shift, np.zeros(len(B)), solution)
        mean, gap = equations.mean, equations.gap
        return cls(B, row[p:] + (gap[p:] - gap[:p] @ b), shift, mean[p:] - mean[:p] @ b, solution)

    @property
    def free(self) -> int:
        """Weights and intercepts other than 0."""
        return int(np.count_nonzero(self.B) + np.count_nonzero(self.intercept))

    @property
    def scores(self) -> Scores:
        return Scores((Affine(self.at, self.B, self.shift),))

    def __getstate__(self) -> dict[str, Any]:
        """What it is made of, not what it has worked out since."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def coef(self, *, flat: bool) -> Floats:
        """A copy of the coefficients, which users may write to."""
        return self.B[0].copy() if flat else self.B.copy()

    def assigned(self, coef: Any, intercept: Any) -> "LinearParams":
        """The same, or the model of other coefficients if the shown ones were overwritten."""
        B, b = self._compared
        given = coef[None] if type(coef) is np.ndarray and coef.ndim == 1 else np.atleast_2d(coef)
        if same(given, B) and np.asarray(intercept == b).all():
            return self
        at = np.broadcast_to(np.asarray(intercept, dtype=np.float64), len(given)).copy()
        W = np.array(given, dtype=np.float64, order="C")
        return replace(self, B=W, at=at, shift=np.zeros(W.shape[1]), intercept=at)

    @cached_property
    def _compared(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """What is shown, as long as nobody has written to it."""
        lines = {"B": self.B, "intercept": self.intercept}
        shown = in_precision(self, lines, frozenset(lines))
        return shown["B"], shown["intercept"]


class LeastSquares(MultiOutputMixin, RegressorMixin, OnePass):
    """Base of `LinearRegression` and `Ridge`: the statistics are the rows, or their triangular factor.

    A subclass solves the equations with its hyper-parameters (`_solve`) and defines the attributes
    (`_shown`).
    """

    _card = ValueFoldMetrics
    _takes_blocks = True  # of chunks, in place of X
    _single_shown = frozenset({"coef_", "intercept_", "singular_"})
    _single_answers = frozenset({"predict"})
    fit_intercept: bool
    positive: bool
    _model: LinearParams
    _statistics: RowsOrTriangle
    _target: tuple[int, ...]  # the shape of a row of y

    design_ = property(fitted_design)
    from_formula = classmethod(formulas.from_formula)
    formula_ = property(formulas.formula_of)
    to_sklearn = to_sklearn

    def _design_settings(self) -> DesignSettings:
        """How columns of a table become those of a design matrix."""
        return DesignSettings()

    def _solve(self, equations: Equations) -> Solution:
        raise NotImplementedError

    def _alpha(self, target: int) -> float:
        """The penalty on a target's coefficients."""
        return 0.0

    def _cut(self) -> float:
        """Directions of X of at most this share of the largest count as none."""
        return 0.0

    @repeated_for_gaps
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with more rows: the result is that of one `fit` to all rows so far.

        Collinear columns are treated as in `fit`, but without a warning, because more rows may follow.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Training rows.
        y : array-like of shape (n,) or (n, q), default=None
            Targets. A source has its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.

        Returns
        -------
        self : estimator
            The estimator itself.
        """
        first = "_model" not in vars(self)
        if not first:
            self._needs_statistics("partial_fit")
        source = self._source(X, y, sample_weight, known=not first)
        return self._take_in(source, self._target_of(source))

    def merge(self, *others: Self) -> Self:
        """Merge models that were fitted to different rows: the result equals one fit to all these rows.

        Parameters
        ----------
        *others : estimators of the same class
            Fitted with the same hyper-parameters, columns and number of targets.

        Returns
        -------
        estimator
            A new fitted estimator; the merged ones are not changed.
        """
        return self._join(numbered_models(self, others))

    def _join(self, models: Sequence[NamedModel], classes: Any = None) -> Self:
        check(models)
        if classes is not None:
            raise ValueError(
                f"classes must be None for a {type(self).__name__}, which has none; got {classes!r}."
            )
        for name, other in models[1:]:
            if self._target != other._target:
                shapes = f"{self._target} in {models[0].name} and {other._target} in {name}"
                raise ValueError(f"targets differ: rows of y have shapes {shapes}")
        check_statistics(models)
        return self._merge(models, [model._statistics for _, model in models], self._target)

    @by_block
    def predict(self, X: Any) -> Floats:
        """Predict the targets.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,) or (n, q)
            Predictions.
        """
        validation.fitted(self)
        rows = validation.known_rows(self, X)
        model = self._model.assigned(self.coef_, self.intercept_)
        with validation.naming(rows):
            Y = ask(model.scores, rows, links.identity).out
        return np.asarray(Y[:, 0]) if np.ndim(self.coef_) == 1 else np.asarray(Y)

    to_sql = exports.to_sql

    def _scored(self) -> Scored:
        """For exports."""
        return Scored(self._model.assigned(self.coef_, self.intercept_).scores, "targets")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R², the coefficient of determination: the share of the variance of y that is explained.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Rows with the columns of the fit.
        y : array-like of shape (n,) or (n, q), default=None
            Their true targets. A source has its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.

        Returns
        -------
        float
            At most 1; the mean over the targets if there are several.
        """
        X, y, sample_weight = gathered(X, y, sample_weight)
        if stored(X):
            validation.fitted(self)
            source = self._source(X, y, sample_weight, known=True)
            return float(evaluated_by_value(self, source, itself).r2.mean())
        return float(super().score(X, y, sample_weight))

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        cov: Covariance = "classical",
        level: float = 0.95,
        sample_weight: Any = None,
        *,
        groups: Any = None,
    ) -> Summary | list[Summary]:
        """Coefficients with standard errors, t-tests and confidence intervals.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p), default=None
            The rows of the fit. Needed for robust errors only.
        y : array-like of shape (n,) or (n, q), default=None
            Their targets.
        cov : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="classical"
            "classical": errors of equal variance. "HC0" to "HC3": heteroscedasticity-consistent errors, for
            fits without a penalty. "cluster": errors that hold where rows of one cluster depend on each
            other, with t on as many degrees of freedom as there are clusters, less one.
        level : float, default=0.95
            Level of the confidence intervals.
        sample_weight : array-like of shape (n,), default=None
            The weights of the rows in the fit, if it had any.
        groups : array-like of shape (n,), default=None
            With `cov="cluster"`: the cluster of each row.

        Returns
        -------
        Summary or list of Summary
            The table; a list with one for each target if y had columns.

        Raises
        ------
        ValueError
            If `positive=True`, if the model was saved without its statistics, or if rows are needed and not
            given.

        References
        ----------
        - White, H. (1980). A heteroskedasticity-consistent covariance matrix estimator and a direct test
          for heteroskedasticity. Econometrica 48, 817-838.
        - MacKinnon, J. G. and White, H. (1985). Some heteroskedasticity-consistent covariance matrix
          estimators with improved finite sample properties. Journal of Econometrics 29, 305-325.
        """
        found = list(summaries(self, Asked(X, y, sample_weight, cov, groups, level)))
        return found if self._target else found[0]

    def prediction_interval(self, X: Any, level: float = 0.95) -> PredictionInterval:
        """Predictions with confidence intervals of the mean and intervals of a new observation.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, p)
            Rows with the columns of the fit, in memory.
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        PredictionInterval
            Predictions, their standard errors and both kinds of intervals.

        Raises
        ------
        ValueError
            If `positive=True`, or if the model was saved without its statistics.

        Notes
        -----
        An observation is taken to have the residual variance of the fit, that of a row of weight 1. With a
        penalty intervals leave the bias of the predictions out.

        Examples
        --------
        >>> from likelier import LinearRegression
        >>> model = LinearRegression().fit([[1.0], [2.0], [3.0], [4.0]], [1.1, 1.9, 3.2, 3.9])
        >>> found = model.prediction_interval([[5.0]])
        >>> found.low.round(2), found.mean.round(2), found.high.round(2)
        (array([3.74]), array([4.95]), array([6.16]))
        """
        return intervals_of(self, X, level)

    def term_tests(
        self,
        X: Any = None,
        y: Any = None,
        terms: Mapping[str, Any] | None = None,
        cov: Covariance = "classical",
        sample_weight: Any = None,
        *,
        groups: Any = None,
    ) -> TermTests | list[TermTests]:
        """Joint tests of the coefficients of each term: whether the model needs it.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p), default=None
            The rows of the fit. Needed for robust errors only.
        y : array-like of shape (n,) or (n, q), default=None
            Their targets.
        terms : dict of str to column names or numbers, default=None
            The columns of each term. None: each column of the table, with all columns that encode it.
        cov : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="classical"
            The covariance of the F tests, as in `summary`. Likelihood-ratio tests go with "classical".
        sample_weight : array-like of shape (n,), default=None
            The weights of the rows in the fit, if it had any.
        groups : array-like of shape (n,), default=None
            With `cov="cluster"`: the cluster of each row.

        Returns
        -------
        TermTests or list of TermTests
            The F test and the likelihood-ratio test of each term; a list with one for each target if y had
            columns.

        Raises
        ------
        ValueError
            Where `summary` raises it, and if the fit has a penalty.

        Examples
        --------
        >>> import likelier as lk
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = lk.LinearRegression().fit(X, y)
        >>> blood = ["s1", "s2", "s3", "s4", "s5", "s6"]
        >>> tests = model.term_tests(terms={"blood": blood, "age": "age"})
        >>> tests.wald_p.round(3)
        array([0.   , 0.867])
        """
        asked = Asked(X, y, sample_weight, cov, groups, call="term_tests")
        found = list(term_tests_of(self, asked, terms))
        return found if self._target else found[0]

    # ---- how ---------------------------------------------------------------------------------------
    def _source(self, X: Any, y: Any, sample_weight: Any, *, known: bool) -> Source:
        X, y, sample_weight = gathered(X, y, sample_weight)
        if stored(X):
            numeric(self, X, X.targets)
            source = brought(self, X, y, sample_weight, known=known)
            self._check_targets(source.y_shape, known=known)
            return source
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        Y = _targets_of(self, y)
        self._check_targets(Y.shape[1:], known=known)
        return validation.supervised(self, X, Y, sample_weight, known=known)

    def _check_targets(self, shape: tuple[int, ...], *, known: bool) -> None:
        if known and shape != self._target:
            raise ValueError(f"y must have rows of shape {self._target}, as before; got {shape}.")

    def _target_of(self, source: Source) -> tuple[int, ...]:
        """() for one target, (q,) for a table of them."""
        return source.y_shape

    def _start(self, source: Source, target: tuple[int, ...]) -> Start:
        return partial(RowsOrTriangle.start, source.p, math.prod(target))

    def _labelled(self, source: Source, target: tuple[int, ...]) -> Source:
        return source

    def _scores(self, model: LinearParams) -> Scores:
        return model.scores

    def _model_of(self, statistics: RowsOrTriangle | Triangle) -> LinearParams:
        intercept = bool(self.fit_intercept)
        found = self._by_steps(statistics) if isinstance(statistics, RowsOrTriangle) else None
        if found is not None:
            with one_blas_thread():  # its products are small, and others are slow to come to a busy core
                return LinearParams.of(found[1], found[0], intercept=intercept)
        equations = statistics.equations(centred=intercept)
        return LinearParams.of(equations, self._solve(equations), intercept=intercept)

    def _by_steps(self, statistics: RowsOrTriangle) -> tuple[Solution, Equations] | None:
        """The solution and where the rows lie, if an iteration finds them sooner than the direct way."""
        return None

    def _publish(self, model: Any, statistics: Any | None, target: Any, names: Names) -> Self:
        # Files of earlier versions hold the triangle itself.
        kept = RowsOrTriangle.of(statistics) if isinstance(statistics, Triangle) else statistics
        return super()._publish(model, kept, target, names)

    def _remarks(
        self, model: LinearParams, statistics: RowsOrTriangle, target: tuple[int, ...], names: Names
    ) -> Iterator[str]:
        free = model.solution.free
        if not len(free):
            return
        open_ = (np.abs(free) > 1e-6).any(axis=0)
        if self.fit_intercept and not (constant := statistics.constant()).all():
            # Beside an intercept the coefficient of a constant column is 0, which surprises nobody.
            open_ &= ~constant
        at = np.flatnonzero(open_)
        if len(at):
            yield (
                f"the rows do not determine the coefficients of {len(at)} of {free.shape[1]} columns "
                f"({validation.named(names, at)}): "
                "they are constant, depend on each other, or there are too "
                f"few rows. Rank {model.solution.rank}; of all solutions this is the shortest. Drop "
                "columns, or penalise: Ridge with alpha > 0."
            )


def _targets_of(estimator: Any, y: Any) -> NDArray[Any]:
    """Real targets, (n,) or (n, q); whether they are finite, the kernel sees."""
    if np.ma.is_masked(y):
        raise ValueError("Input y contains masked cells: drop such rows first.")
    validation.no_name(y)
    Y = y = frames.values_of(y)
    if type(y) is not np.ndarray or y.dtype.kind not in "fiub":
        how = {"ensure_2d": False, "ensure_all_finite": False, "input_name": "y", "estimator": estimator}
        try:
            Y = check_array(y, dtype="numeric", **how)
        except (ValueError, TypeError) as error:
            if "y" in str(error).split():
                raise
            raise ValueError(f"Input y is not made of numbers, as a regression needs: {error}") from None
        if Y.dtype.kind in "mM":
            raise ValueError("Input y contains dates or times: convert them to numbers.")
    if Y.ndim not in (1, 2) or Y.shape[1:] == (0,):
        raise ValueError(f"y must have shape (n,), or (n, q) for q targets; got {Y.shape}.")
    return np.asarray(Y)


# Least squares, plain and with a penalty.


ROUNDING = 1e-6  # the default of `tol`, scikit-learn's: rounding errors alone decide the rank


class LinearRegression(LeastSquares):
    """Ordinary least squares: the b that minimises Σ w (y - b₀ - b·x)².

    Drop-in for scikit-learn's class, with `partial_fit`, `merge` and `summary` in addition. It is solved by
    orthogonal transformations of the rows, never by way of XᵀX. If columns are collinear the solution of
    least norm is taken, with a warning that names them.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit the intercept b₀; otherwise it is 0.
    copy_X : bool, default=True
        Accepted for compatibility and has no effect: X is never changed.
    tol : float, default=1e-6
        The rank. With the default it is that of X with columns scaled to length 1, up to rounding errors.
        With any other value, directions with singular values of at most `tol` times the largest are left
        out.
    n_jobs : int, default=None
        Accepted for compatibility and has no effect: all cores are used.
    positive : bool, default=False
        Whether the coefficients must not be negative.
    encode : bool, default=True
        Whether a data frame or a source with categories, dates or missing values becomes a matrix of
        numbers, as by `DesignMatrix`, without the first category of each column if there is an intercept.
        False: such a table is refused.

    Attributes
    ----------
    coef_ : ndarray of shape (p,) or (q, p)
        Coefficients; (q, p) if y had columns.
    intercept_ : float or ndarray of shape (q,)
        Intercept; 0.0 if `fit_intercept=False`.
    rank_ : int
        Rank of X, centred if there is an intercept. Not available with `positive=True`.
    singular_ : ndarray
        Singular values of X, centred if there is an intercept. Not available with `positive=True`.
    n_features_in_ : int
        Number of columns seen in `fit`.
    design_ : DesignMatrix
        The design matrix that the table of `fit` became, whose `get_feature_names_out` names its columns;
        only if that table was not of numbers alone. `feature_names_in_` are then the table's columns.
    feature_names_in_ : ndarray of shape (p,)
        Names of the columns, if X had names.
    formula_ : str
        The formula, after `from_formula` only.

    See Also
    --------
    Ridge : Least squares with an l2 penalty.

    References
    ----------
    - Legendre, A. M. (1805). Nouvelles méthodes pour la détermination des orbites des comètes. Paris.
    - Gauss, C. F. (1809). Theoria motus corporum coelestium. Hamburg.

    Examples
    --------
    >>> from likelier import LinearRegression
    >>> height = [[1.47], [1.60], [1.73], [1.83]]
    >>> model = LinearRegression().fit(height, [52.2, 58.5, 66.2, 74.4])
    >>> model.predict([[1.70]]).round(2)
    array([65.42])
    >>> print(model.summary())
    4 rows, 2 residual degrees of freedom; classical errors
               estimate  std. error     t       p     2.5 %    97.5 %
    intercept  -38.2887     8.15486  -4.7  0.0425  -73.3763  -3.20116
    x0          61.0037     4.90361  12.4  0.0064   39.9052   82.1023
    R² 0.98724, adjusted 0.98086; residual standard deviation 1.32919
    F(1, 2) = 154.768, p 0.0064; AIC 14.86, BIC 13.63
    """

    assumes = "linear; errors of one variance"

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
        encode: bool = True,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.encode = encode

    def _design_settings(self) -> DesignSettings:
        """Without a penalty, indicators of all categories would be collinear with an intercept."""
        return DesignSettings(drop="first" if self.fit_intercept else None)

    def _solve(self, equations: Equations) -> Solution:
        return bounded(equations) if self.positive else solve(equations, self._cut())

    def _cut(self) -> float:
        if not self.tol >= 0:
            raise ValueError(f"tol must be >= 0; got {self.tol!r}.")
        return 0.0 if self.tol == ROUNDING else float(self.tol)

    def _shown(self, model: LinearParams, statistics: Any, target: tuple[int, ...]) -> dict[str, Any]:
        flat = target == ()
        shown: dict[str, Any] = {"coef_": model.coef(flat=flat), "intercept_": 0.0}
        shown["n_features_in_"] = model.B.shape[1]
        if self.fit_intercept:
            shown["intercept_"] = model.intercept[0] if flat else model.intercept
        if not self.positive:
            shown["rank_"] = model.solution.rank
        return shown

    @property
    def singular_(self) -> Floats:
        """The singular values of X, centred if there is an intercept; computed on access."""
        if self.positive or getattr(self, "_statistics", None) is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'singular_'")
        found = singular_values(self._statistics.equations(centred=bool(self.fit_intercept)))
        shown = in_precision(self._model, {"singular_": found}, self._single_shown)
        return np.asarray(shown["singular_"])


SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


class Ridge(LeastSquares):
    """Ridge regression: the b that minimises Σ w (y - b₀ - b·x)² + α|b|².

    Drop-in for scikit-learn's class, with `partial_fit`, `merge` and `summary` in addition. The intercept
    is never penalised. The solution is exact whatever `solver` is: from the triangular factor of the rows,
    in the span of the rows where they are fewer than columns, and for sparse rows by a sparse Gram matrix
    or conjugate gradients, to eight digits or more.

    Parameters
    ----------
    alpha : float or array-like of shape (q,), default=1.0
        Strength of the penalty, at least 0; one for all targets, or one for each.
    fit_intercept : bool, default=True
        Whether to fit the intercept b₀; otherwise it is 0.
    copy_X : bool, default=True
        Accepted for compatibility and has no effect: X is never changed.
    max_iter : int, default=None
        Accepted for compatibility and has no effect.
    tol : float, default=1e-4
        Accepted for compatibility and has no effect.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        Accepted for compatibility, and repeated in `solver_`: the algorithm is chosen by the shape of the
        table.
    positive : bool, default=False
        Whether the coefficients must not be negative.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility and has no effect.
    encode : bool, default=True
        Whether a data frame or a source with categories, dates or missing values becomes a matrix of
        numbers, as by `DesignMatrix`. False: such a table is refused.

    Attributes
    ----------
    coef_ : ndarray of shape (p,) or (q, p)
        Coefficients; (q, p) if y had several columns.
    intercept_ : float or ndarray of shape (q,)
        Intercept; 0.0 if `fit_intercept=False`.
    n_iter_ : ndarray of shape (q,)
        Number of iterations for each target; 1 for direct solutions.
    solver_ : str
        With solver="auto" the algorithm that was used ("qr", "cholesky", "svd" or "sparse_cg"), otherwise
        `solver`.
    n_features_in_ : int
        Number of columns seen in `fit`.
    design_ : DesignMatrix
        The design matrix that the table of `fit` became, whose `get_feature_names_out` names its columns;
        only if that table was not of numbers alone. `feature_names_in_` are then the table's columns.
    feature_names_in_ : ndarray of shape (p,)
        Names of the columns, if X had names.
    formula_ : str
        The formula, after `from_formula` only.

    See Also
    --------
    LinearRegression : Without a penalty.

    References
    ----------
    - Hoerl, A. E. and Kennard, R. W. (1970). Ridge regression: biased estimation for nonorthogonal
      problems. Technometrics 12, 55-67.

    Examples
    --------
    >>> from likelier import Ridge
    >>> Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).coef_.round(3)
    array([0.667])
    """

    assumes = "linear; errors of one variance; small coefficients"

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: Literal["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"] = "auto",
        positive: bool = False,
        random_state: Any = None,
        encode: bool = True,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.encode = encode

    def _alphas(self, q: int) -> Floats:
        """One penalty for each target; the hyper-parameters are checked here."""
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}; got {self.solver!r}.")
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim > 1 or (alpha.ndim == 1 and alpha.size not in (1, q)):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: {alpha.size} != {q}. "
                "alpha is a number, or one for each target."
            )
        if not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise ValueError(f"alpha must be finite and >= 0; got {self.alpha!r}.")
        return np.broadcast_to(alpha, q)

    def _alpha(self, target: int) -> float:
        return float(self._alphas(len(self._model.B))[target])

    def _solve(self, equations: Equations) -> Solution:
        alphas = self._alphas(equations.r.shape[1])
        b = np.empty((equations.p, equations.r.shape[1]))
        found = []
        for alpha in np.unique(alphas):
            at = np.flatnonzero(alphas == alpha)
            found.append(self._solve_one(equations.take(at), float(alpha)))
            b[:, at] = found[-1].b
        return min(found, key=lambda one: one.rank)._replace(b=b)

    def _by_steps(self, statistics: RowsOrTriangle) -> tuple[Solution, Equations] | None:
        alphas = self._alphas(statistics.q)
        rows = None if self.positive or not statistics.sparse else statistics.rows()
        return None if rows is None else conjugate(rows, alphas, centred=bool(self.fit_intercept))

    def _solve_one(self, equations: Equations, alpha: float) -> Solution:
        if self.positive:
            return bounded(penalised(equations, alpha) if alpha > 0 else equations)
        return ridge(equations, alpha) if alpha > 0 else solve(equations)

    def _shown(self, model: LinearParams, statistics: Any, target: tuple[int, ...]) -> dict[str, Any]:
        # A single column of y leaves flat coefficients but not a flat intercept: so in scikit-learn.
        shown: dict[str, Any] = {"coef_": model.coef(flat=len(model.B) == 1), "intercept_": 0.0}
        if self.fit_intercept:
            shown["intercept_"] = model.intercept[0] if target == () else model.intercept
        # A solver that was asked for by scikit-learn's name is repeated; else it is the one that the shape
        # of the table called for.
        solution = model.solution
        way = {"cg": "sparse_cg"}.get(solution.how, solution.how)
        steps = np.full(len(model.B), max(1, solution.steps), dtype=np.int64)
        shown |= {"n_iter_": steps, "solver_": way if self.solver == "auto" else self.solver}
        return shown | {"n_features_in_": model.B.shape[1]}
