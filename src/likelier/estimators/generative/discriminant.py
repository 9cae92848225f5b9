"""Linear and quadratic discriminant analysis."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if

from likelier import links
from likelier.array_types import Floats
from likelier.data import Arrays, Dense, NonFinite, Source, code, refuse_cells
from likelier.estimators import validation
from likelier.estimators.base import Names
from likelier.estimators.design_matrix import dense_settings, fitted_design
from likelier.estimators.generative.base import Scaling, prior_of
from likelier.estimators.generative.one_pass import Count, OnePassClassifier, Survey
from likelier.estimators.linear_classifier import LinearClassifier
from likelier.estimators.one_pass import Start
from likelier.estimators.predictions import Contributions
from likelier.estimators.sources import by_block
from likelier.families import (
    LOG_2PI,
    Discriminants,
    Full,
    FullGaussian,
    OneCovariance,
    Tied,
    TiedGaussian,
    by_eigen,
    by_least_squares,
    by_svd,
)
from likelier.families.covariance import SMALL
from likelier.families.lda import parts_about
from likelier.model import Bayes, ask, log_of
from likelier.scores import Affine, Scores
from likelier.states import PatternMoments, ShrinkageMoments
from likelier.states.base import plain
from likelier.threads import one_thread_if

# What linear and quadratic discriminant analysis share.


def _counts(self: Any) -> bool:
    """Whether there are statistics to continue from."""
    if self.covariance_estimator is not None:
        raise AttributeError(
            f"{type(self).__name__} has no partial_fit, merge or cross_validate with a "
            "covariance_estimator: they need statistics, and it keeps none."
        )
    return True


@dataclass(frozen=True)
class Covariances:
    """What an estimator of the user's found of each class, in place of statistics: it is not kept."""

    n: Floats  # (K,)
    mean: Floats  # (K, p)
    cov: Floats  # (K, p, p)
    X: Floats  # all rows

    def finite(self) -> bool:
        """It is up to that estimator."""
        return True


def _columns_of(statistics: Any) -> int:
    """How many columns these are statistics of."""
    state = plain(statistics)
    state = state.gaps if isinstance(state, ShrinkageMoments) else state
    counted = state.X if isinstance(state, PatternMoments) else state.mean
    return int(counted.shape[1])


class Discriminant(OnePassClassifier):
    """What the two share: their parameters, and covariances by an estimator of the user's."""

    solver: str
    shrinkage: Any
    covariance_estimator: Any
    priors: Any
    tol: float
    design_ = property(fitted_design)
    _design_settings = dense_settings
    _no_estimator = "covariance_estimator is not supported with solver='svd'."

    def _check_solver(self, solvers: tuple[str, ...]) -> None:
        if self.solver not in solvers:
            raise ValueError(f"solver must be one of {', '.join(map(repr, solvers))}; got {self.solver!r}.")
        s = self.shrinkage
        if isinstance(s, str) and s != "auto":
            raise ValueError(f"shrinkage must be None, 'auto' or a number from 0 to 1; got {s!r}.")
        if s is not None and not isinstance(s, str):
            validation.number("shrinkage", s, 0.0, 1.0)
        if self.solver == "svd" and s is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.covariance_estimator is not None:
            if self.solver == "svd":
                raise ValueError(f"{self._no_estimator} Try solver={solvers[-1]!r} instead.")
            if s is not None and s != 0:
                raise ValueError(
                    "covariance_estimator and shrinkage parameters are not None. "
                    "Only one of the two can be set."
                )
        validation.number("tol", self.tol, 0.0)

    def _prior(self, n: Floats, classes: NDArray[Any]) -> Floats:
        return prior_of(self.priors, n, classes, strict=False, name="priors")

    def _estimate(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        """The model that statistics make; of few columns without the threads of BLAS.

        They gain nothing there, and wait for each other where another program has one of the cores.
        """
        with one_thread_if(_columns_of(statistics) ** 3 < SMALL):
            return super()._estimate(statistics, classes)

    def _scaling(self) -> Scaling:
        """Standardised columns are shrunk alike in any units, others by their common variance."""
        if self.covariance_estimator is not None or getattr(self, "reg_param", None):
            return "none"
        return "column" if self.shrinkage in (None, "auto") else "together"

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        given = list(self.priors.values()) if isinstance(self.priors, Mapping) else self.priors
        if given is not None and abs(np.sum(given) - 1) > 1e-5:
            yield "The priors do not sum to 1. Renormalizing"

    partial_fit = available_if(_counts)(OnePassClassifier.partial_fit)
    merge = available_if(_counts)(OnePassClassifier.merge)
    cross_validate = available_if(_counts)(OnePassClassifier.cross_validate)

    def _start(self, rows: Source, survey: Survey, earlier: Any = None) -> Start:
        if self.covariance_estimator is not None:  # in the grid of a cross-validation
            raise ValueError("cross_validate needs statistics, and a covariance_estimator keeps none.")
        return super()._start(rows, survey, earlier)

    def _count(self, source: Source, survey: Survey, earlier: Any = None, *, final: bool = False) -> Count:
        if self.covariance_estimator is None:
            return super()._count(source, survey, earlier, final=final)
        classes = survey.classes
        self._family(classes)
        if not isinstance(source, Arrays):
            raise ValueError("a covariance_estimator needs all rows in memory: fit it to arrays.")
        if source.w is not None:
            raise ValueError("sample_weight cannot be passed on to a covariance_estimator.")
        X = source.X.to_array()
        refuse_cells(X, gaps=False)
        assert source.y is not None
        codes = code(source.y, classes)
        by_class = [X[codes == k] for k in range(len(classes))]
        n = np.array([len(rows) for rows in by_class], dtype=np.float64)
        mean = np.stack([rows.mean(axis=0) for rows in by_class])
        cov = np.stack([covariance_by(self.covariance_estimator, rows) for rows in by_class])
        return Count(Covariances(n, mean, cov, X), None, None, source.X.single)

    def _typical(self, model: Bayes, *given: Any) -> Any:
        return None if self.covariance_estimator is not None else super()._typical(model, *given)


def covariance_by(estimator: Any, rows: Floats) -> Floats:
    """The covariance that an estimator of the user's finds in these rows."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            "covariance_estimator must be an object with a method fit, such as sklearn.covariance.OAS(); "
            f"got {estimator!r}."
        )
    fitted = clone(estimator, safe=False)  # it need not be one of scikit-learn's
    fitted.fit(rows)
    if not hasattr(fitted, "covariance_"):
        raise ValueError(f"{type(estimator).__name__} does not have a covariance_ attribute")
    return np.atleast_2d(fitted.covariance_)


# Linear discriminant analysis: Gaussian classes with one covariance.


@dataclass(frozen=True)
class LinearBayes(Bayes):
    """A Bayes classifier whose scores are also known as weights and axes."""

    lines: Discriminants = field(kw_only=True)


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Discriminant):
    """Linear discriminant analysis: Gaussian classes with a common covariance Σ, and linear boundaries.

    a_k(x) = m_kᵀΣ⁻¹x - ½ m_kᵀΣ⁻¹m_k + ln p(C_k). Drop-in for scikit-learn's class, from one pass over the
    rows with any solver, with sample weights, missing values, `partial_fit`, merging and conditional
    models.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        "svd" needs no shrinkage for singular covariances: directions without variance are left out. "lsqr"
        solves for the weights and has no `transform`. "eigen" solves the eigenproblem of the covariance
        between and within the classes. All give the same boundaries where the covariance has full rank and
        `priors` is None.
    shrinkage : "auto", float or None, default=None
        Shrinkage of the covariance towards a multiple of the identity: "auto" is the Ledoit-Wolf estimate
        on standardised columns, a number from 0 to 1 is the amount. Not for solver="svd".
    priors : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; rescaled, with a warning, if they do
        not sum to 1. None: the class frequencies of the training rows.
    n_components : int, default=None
        Number of axes of `transform`, at most min(n_classes - 1, n_features), which is also the default.
    store_covariance : bool, default=False
        Whether to compute `covariance_` with solver="svd" too; the other solvers always do.
    tol : float, default=1e-4
        Threshold for the rank with solver="svd": directions with smaller standard deviations, relative to
        standardised columns, are left out, and so are axes along which the class means differ by less than
        this share of the largest difference.
    covariance_estimator : estimator, default=None
        Object with `fit` and `covariance_`, such as sklearn.covariance.OAS(), that estimates the covariance
        of each class. It needs all rows in memory and no weights, and excludes `partial_fit`, `merge` and
        `cross_validate`. Not for solver="svd", nor together with `shrinkage`.
    encode : bool, default=True
        Whether a data frame or a source with columns of categories or dates becomes a matrix of numbers, as
        by `DesignMatrix`, without the first category of each column. False: such a table is refused.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    priors_ : ndarray of shape (n_classes,)
        Prior probability of each class.
    means_ : ndarray of shape (n_classes, n_features_in_)
        Mean of each class.
    xbar_ : ndarray of shape (n_features_in_,)
        Mean of all classes, weighted by the priors; only with solver="svd".
    covariance_ : ndarray of shape (n_features_in_, n_features_in_)
        Common covariance of the classes; with solver="svd" only if `store_covariance`.
    coef_ : ndarray of shape (n_classes, n_features_in_), or (1, n_features_in_) for binary problems
        Weights of the columns; for more than two classes up to a vector that all classes share, which
        depends on the solver.
    intercept_ : ndarray of shape (n_classes,), or (1,) for binary problems
        Constant terms of the scores.
    scalings_ : ndarray of shape (n_features_in_, n_axes)
        Discriminant axes, in columns; not with solver="lsqr".
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the variance between the classes along each axis; not with solver="lsqr".
    n_features_in_ : int
        Number of columns seen in `fit`.
    design_ : DesignMatrix
        The design matrix that the table of `fit` became, whose `get_feature_names_out` names its columns;
        only if that table was not of numbers alone. `feature_names_in_` are then the table's columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    QuadraticDiscriminantAnalysis : A covariance for each class.
    GaussianNB : Independent columns.
    LogisticRegression : Linear boundaries without the assumption of Gaussian classes.

    References
    ----------
    .. [1] Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics
       7, 179-188.
    .. [2] Rao, C. R. (1948). The utilization of multiple measurements in problems of biological
       classification. Journal of the Royal Statistical Society B 10, 159-203.
    .. [3] Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance
       matrices. Journal of Multivariate Analysis 88, 365-411.

    Examples
    --------
    >>> from likelier import LinearDiscriminantAnalysis
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.transform(X).shape
    (178, 2)
    """

    assumes = "generative; Gaussian classes, one covariance for all; linear boundary"
    _no_estimator = "covariance estimator is not supported with svd solver."
    _single_shown = frozenset(
        {"coef_", "intercept_", "means_", "priors_", "scalings_", "xbar_", "explained_variance_ratio_"}
        | {"covariance_"}
    )
    _single_answers = frozenset({"predict_proba", "predict_log_proba", "decision_function", "transform"})

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: float | Literal["auto"] | None = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        encode: bool = True,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.encode = encode

    def _family(self, classes: NDArray[Any]) -> TiedGaussian:
        self._check_solver(("svd", "lsqr", "eigen"))
        given = self.priors
        if given is not None:
            given = validation.priors_of(given, len(classes), strict=False, name="priors", classes=classes)
        if self.solver == "svd":
            by_class = given is not None and self.store_covariance
            return TiedGaussian(tol=float(self.tol), by_class=by_class, rows=True)
        return TiedGaussian(self.shrinkage, weights=given)

    def _check_enough(self, statistics: Any, source: Source, classes: NDArray[Any]) -> None:
        n, K = source.rows, len(classes)
        if isinstance(statistics, Covariances):
            return
        if statistics.n.sum() <= K and (n is None or n <= K):
            raise ValueError(
                f"The number of samples must be more than the number of classes; got n_samples={n} for {K}."
            )

    def _components(self, K: int, p: int) -> int:
        """How many axes `transform` shows: as many as were asked for and there can be."""
        most = min(K - 1, p)
        return most if self.n_components is None else min(self.n_components, most)

    def _check_components(self, K: int, p: int) -> None:
        if self.n_components is not None:
            validation.number("n_components", self.n_components, 1, whole=True)
            if self.n_components > min(K - 1, p):
                raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")

    def _model_of(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        prior = self._prior(statistics.n, classes)
        if isinstance(statistics, Covariances):
            own = Tied(statistics.mean, np.tensordot(prior, statistics.cov, axes=1))
            between = covariance_by(self.covariance_estimator, statistics.X) - own.cov
            return self._linear_model(own, log_of(prior), between, self.tol)
        family = self._family(classes)
        params = family.estimate(statistics)
        self._check_components(*params.shape)
        apart = family.total(statistics) - params.cov if self.solver == "eigen" else None
        return self._linear_model(params, log_of(prior), apart, self.tol)

    def _linear_model(
        self, params: OneCovariance, log_prior: Floats, between: Floats | None, tol: float
    ) -> "LinearBayes":
        prior = np.exp(log_prior)
        if self.solver == "svd":
            lines = by_svd(params, prior, tol)
        elif self.solver == "eigen":
            lines = by_eigen(params, prior, between)
        else:
            lines = by_least_squares(params)
        return LinearBayes(params, log_prior, lines.scores(), lines=lines)

    def _derived(self, model: Bayes, columns: NDArray[np.intp], given: Mapping[str, Any]) -> Any:
        assert isinstance(model.params, OneCovariance)
        # tol=0: priors that evidence has made tiny must not make the axes of their classes vanish.
        lines = self._linear_model(model.params, model.log_prior, None, tol=0.0)
        return super()._derived(replace(lines, units=model.units), columns, given)

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        assert isinstance(model, LinearBayes)
        assert isinstance(model.params, OneCovariance)
        lines, (K, p) = model.lines, model.params.shape
        W, b = lines.coef, lines.intercept + model.log_prior
        if K == 2:
            W, b = W[1:] - W[:1], b[1:] - b[:1]
        most = self._components(K, p)
        shown = super()._shown(model, statistics, target)
        shown |= {"means_": model.outside(model.params.mean), "priors_": model.prior}
        shown |= {"coef_": model.outside(W, -1), "intercept_": b, "_n_features_out": most}
        if self.solver == "svd":
            shown["xbar_"] = model.outside(lines.centre)
        else:
            shown["covariance_"] = model.covariance(model.params.cov)
        if lines.scalings is not None and lines.explained is not None:
            shown["scalings_"] = np.ascontiguousarray(model.outside(lines.scalings.T, -1).T)
            shown["explained_variance_ratio_"] = lines.explained[:most]
        if self.solver == "svd" and self.store_covariance:
            weighted = replace(self._family(target), weights=model.prior)
            cov = model.params.cov if statistics is None else weighted.within(statistics)
            shown["covariance_"] = model.covariance(cov)
        return shown

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        assert isinstance(model.params, OneCovariance)
        rank, p = model.params.rank, model.params.shape[1]
        if rank < p:
            still = np.flatnonzero(model.params.variances == 0)
            which = f"; constant: {validation.named(names, still)}" if len(still) else ""
            yield (
                f"within the classes, the {p} columns vary in {rank} directions only (too few rows, or "
                f"columns that are constant or depend on others{which}): the other directions were left "
                "out. Drop such columns, or set solver='lsqr' and shrinkage."
            )

    @property
    def _lines(self) -> Discriminants:
        validation.fitted(self)
        assert isinstance(self._model, LinearBayes)
        return self._model.lines

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes, X coef_ᵀ + intercept_.

        For a row with missing values the score is ln p(x, C_k) of the values that are present, up to a term
        that all classes share.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for binary problems
            For binary problems the log-odds of classes_[1].
        """
        validation.fitted(self)
        if len(self.classes_) == 2:
            return super().decision_function(X)
        scores = self._model.by_gaps(self._lines.shown()).plus(self._model.log_prior)
        return self._answers(scores, X, links.identity)

    @by_block
    def transform(self, X: Any) -> Floats:
        """Project the rows onto the discriminant axes, which separate the classes best.

        A row with missing values gets its expected projection, given the values that are present.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Coordinates on the axes, the most discriminating first.

        Raises
        ------
        NotImplementedError
            With solver="lsqr", which has no axes.
        """
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        validation.fitted(self)
        W = np.ascontiguousarray(self.scalings_[:, : self._n_features_out].T)
        centre = self.xbar_ if self.solver == "svd" else np.zeros(W.shape[1])
        if len(W) == 0:
            return np.empty((len(self.predict(X)), 0))
        axes = Scores((Affine(np.zeros(len(W)), W, centre),))
        try:
            return self._answers(axes, X, links.identity)
        except NonFinite as bad:
            if not np.isnan(bad.value):
                raise
            return ask(axes, Arrays(Dense(self._imputed(X)[0])), links.identity).out

    def contributions(self, X: Any) -> Contributions:
        """How much each column adds to the score of each class.

        The base is ln p(C_k); base and contributions add up to ln p(x, C_k). With c a point among the class
        means, e_k = m_k - c, d = x - c and W_k = Σ⁻¹e_k, column j adds W_kj (d_j - ½ e_kj), and the term
        that all classes share, -½ d_j (Σ⁻¹d)_j and an equal part of the constant. A missing value
        contributes 0, and Σ is then the covariance of the columns that are present.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        contributions : Contributions
            Named tuple of `values` (n_samples, n_classes, n_features) and `base` (n_classes,);
            base + values.sum(axis=2) is the score of each class. `to_frame()` gives a pandas table.
        """
        lines, params = self._lines, self._model.params
        assert isinstance(params, OneCovariance)
        rows = validation.dense_rows(self, X, gaps=True)
        values = self._model.parts(rows, lambda X: parts_about(params, lines, X))
        return Contributions.of(self, values, self._model.log_prior)

    def to_linear(self) -> LinearClassifier:
        """The model as a linear classifier with the same predictions on rows without missing values.

        Returns
        -------
        model : LinearClassifier
            Fitted linear classifier with `coef_` and `intercept_`, and without densities.
        """
        lines, names = self._lines, getattr(self, "feature_names_in_", None)
        W = self._model.outside(lines.W, -1)
        b = lines.b + self._model.log_prior - lines.W @ lines.centre
        if len(self.classes_) == 2:
            W, b = W[1:] - W[:1], b[1:] - b[:1]
        return LinearClassifier(W, b, self.classes_, names)


# Quadratic discriminant analysis: Gaussian classes, each with a covariance of its own.


class QuadraticDiscriminantAnalysis(Discriminant):
    """Quadratic discriminant analysis: Gaussian classes, each with its own covariance Σ_k.

    a_k(x) = ln p(C_k) - ½ ln|Σ_k| - ½ (x-m_k)ᵀΣ_k⁻¹(x-m_k). Drop-in for scikit-learn's class, from one pass
    over the rows, with sample weights, missing values, `partial_fit`, merging and conditional models. Where
    scikit-learn refuses a class whose covariance does not have full rank, its smallest variances are raised
    to `tol` times those of the columns, with a warning.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        "svd" regularises by `reg_param`, "eigen" by `shrinkage` or a `covariance_estimator`.
    shrinkage : "auto", float or None, default=None
        Shrinkage of each covariance towards a multiple of the identity: "auto" is the Ledoit-Wolf estimate
        on standardised columns, a number from 0 to 1 is the amount. Only for solver="eigen".
    priors : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; rescaled, with a warning, if they do
        not sum to 1. None: the class frequencies of the training rows.
    reg_param : float, default=0.0
        Regularisation with solver="svd": each covariance becomes (1 - reg_param) Σ_k + reg_param I.
    store_covariance : bool, default=False
        Whether to keep the covariances in `covariance_`.
    tol : float, default=1e-4
        Least variance in any direction, relative to the variances of the columns; smaller ones are raised
        to it.
    covariance_estimator : estimator, default=None
        Object with `fit` and `covariance_`, such as sklearn.covariance.OAS(), that estimates the covariance
        of each class. It needs all rows in memory and no weights, and excludes `partial_fit`, `merge` and
        `cross_validate`. Not for solver="svd", nor together with `shrinkage`.
    encode : bool, default=True
        Whether a data frame or a source with columns of categories or dates becomes a matrix of numbers, as
        by `DesignMatrix`, without the first category of each column. False: such a table is refused.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    priors_ : ndarray of shape (n_classes,)
        Prior probability of each class.
    means_ : ndarray of shape (n_classes, n_features_in_)
        Mean of each class.
    covariance_ : list of n_classes ndarrays of shape (n_features_in_, n_features_in_)
        Covariance of each class; only if `store_covariance`.
    scalings_ : list of n_classes ndarrays of shape (n_features_in_,)
        Variances of each class along its principal axes, in descending order.
    rotations_ : list of n_classes ndarrays of shape (n_features_in_, n_features_in_)
        Principal axes of each class, in columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    design_ : DesignMatrix
        The design matrix that the table of `fit` became, whose `get_feature_names_out` names its columns;
        only if that table was not of numbers alone. `feature_names_in_` are then the table's columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    LinearDiscriminantAnalysis : One covariance for all classes; needs fewer rows.
    MixtureDiscriminantAnalysis : Several Gaussians for each class.
    GaussianNB : Independent columns.

    References
    ----------
    .. [1] Hastie, T., Tibshirani, R. and Friedman, J. (2009). The Elements of Statistical Learning, 2nd
       ed., section 4.3. Springer.

    Examples
    --------
    >>> from likelier import QuadraticDiscriminantAnalysis
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y)
    0.98
    >>> rows, labels = model.sample(3, y=2, random_state=0)
    >>> rows.shape, labels
    ((3, 4), array([2, 2, 2]))
    """

    assumes = "generative; Gaussian classes, a covariance each; quadratic boundary"
    _single_shown = frozenset({"means_", "covariance_"})

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: float | Literal["auto"] | None = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        encode: bool = True,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.encode = encode

    def _family(self, classes: NDArray[Any]) -> FullGaussian:
        self._check_solver(("svd", "eigen"))
        lift = validation.number("reg_param", self.reg_param, 0.0, 1.0)
        if self.solver == "svd":
            return FullGaussian(lift=lift, floor=float(self.tol))
        return FullGaussian(self.shrinkage, floor=float(self.tol))

    def _start(self, rows: Source, survey: Survey, earlier: Any = None) -> Start:
        if (K := len(survey.classes)) < 2:
            raise ValueError(f"The number of classes has to be greater than one. Got {K} class.")
        return super()._start(rows, survey, earlier)

    def _model_of(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        log_prior = log_of(self._prior(statistics.n, classes))
        if isinstance(statistics, Covariances):
            return Bayes(Full.of(statistics.mean, statistics.cov, floor=float(self.tol)), log_prior)
        return Bayes(self._family(classes).estimate(statistics), log_prior)

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        assert isinstance(model.params, Full)
        if model.params.deficient:
            some = [str(target[k]) for k in model.params.deficient]
            which = ", ".join(some[:5]) + (f" and {len(some) - 5} more" if len(some) > 5 else "")
            way = "reg_param" if self.solver == "svd" else "shrinkage"
            yield (
                f"the covariance matrix of class {which} is not full rank (too few rows for "
                f"{model.params.shape[1]} columns, or columns that are constant or depend on others): its "
                f"smallest variances were lifted to tol={self.tol:g} of a column's. Increase `{way}`, drop "
                "such columns, or use LinearDiscriminantAnalysis or GaussianNB, which ask less of a class."
            )

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        params = model.params
        assert isinstance(params, Full)
        shown = super()._shown(model, statistics, target)
        shown |= {"means_": model.outside(params.mean), "priors_": model.prior}
        if self.store_covariance:
            shown["covariance_"] = list(model.covariance(params.cov))
        return shown

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes, ln p(x, C_k) + p/2 ln 2π, from the values that are present.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for binary problems
            For binary problems the log-odds of classes_[1].
        """
        Z = super().decision_function(X)
        return Z if Z.ndim == 1 else Z + 0.5 * self._model.params.shape[1] * LOG_2PI

    # An eigendecomposition costs more than all the rest of a fit, and only these two need it.
    @property
    def scalings_(self) -> list[Floats]:
        """Variances of each class along its principal axes, in descending order."""
        return self._as_shown(self._spectrum[0])

    @property
    def rotations_(self) -> list[Floats]:
        """Principal axes of each class, in columns."""
        return self._as_shown(self._spectrum[1])

    def _as_shown(self, values: Floats) -> list[Any]:
        return list(values.astype(np.float32) if self._model.single else values)

    @property
    def _spectrum(self) -> tuple[Floats, Floats]:
        if "_model" not in vars(self):
            raise AttributeError("not fitted yet")
        params, units = self._model.params, self._model.units
        assert isinstance(params, Full)
        if units is None:
            return params.spectrum
        most = int(units.max())  # one unit for all columns: axes are those of the columns as they are
        cov = replace(self._model, units=units - most).covariance(params.cov)
        values, axes = replace(params, cov=cov).spectrum
        with np.errstate(over="ignore"):
            return np.ldexp(values, 2 * most), axes
