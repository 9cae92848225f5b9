"""Mixtures: densities that are sums of others, and clusters, by EM."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from likelier.em import FittedMixture, Selection
from likelier.estimators import validation
from likelier.estimators.base import Names
from likelier.estimators.design_matrix import dense_settings, fitted_design
from likelier.estimators.generative import mixture_init
from likelier.estimators.generative.mixture_base import Components, MixtureCandidate, check_starts
from likelier.families import SHAPES, Family, ridged, variances_exceed
from likelier.families.registry import family_of
from likelier.model import Bayes, log_of


class GaussianMixture(Components):
    """Gaussian mixture, fitted by EM: p(x) = Σ_m w_m N(x; μ_m, Σ_m).

    Drop-in for scikit-learn's class, from the same starts by the same steps, with sample weights, missing
    values (NaN), rows in files (the start is chosen from a sample of 20 000 of them), batches
    (`partial_fit`) and conditional models. With `select` it also chooses the number of components and the
    covariance type.

    Parameters
    ----------
    n_components : int, default=1
        Number of components; with `select` the largest number to try.
    covariance_type : {"full", "tied", "diag", "spherical"}, list or "all", default="full"
        Form of the covariances: one matrix for each component, one for all, one diagonal or one variance
        for each. With `select` also a list of them, or "all".
    tol : float, default=1e-3
        EM stops when the mean log-likelihood changes by less than this.
    reg_covar : float, default=1e-6
        Added to the diagonal of the covariances, so that they stay positive definite.
    max_iter : int, default=100
        Largest number of EM steps of each start.
    n_init : int, default=1
        Number of starts; the one with the largest likelihood is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        How the start is found: by k-means, by its seeding alone, from random responsibilities, or from
        random rows as means.
    weights_init : array-like of shape (n_components,), default=None
        Weights to start from, in place of those of `init_params`.
    means_init : array-like of shape (n_components, n_features), default=None
        Means to start from.
    precisions_init : array-like, default=None
        Inverse covariances to start from, in the shape of `precisions_`.
    random_state : int, RandomState or None, default=None
        Seed of the random starts. An int gives the same result each time; `checkpoint` needs one.
    warm_start : bool, default=False
        Whether `fit` starts from the result of the previous `fit`.
    verbose : int, default=0
        If not 0, print the log-likelihood during the fit.
    verbose_interval : int, default=10
        Number of steps between two printed lines.
    select : {"bic", "aic"} or None, default=None
        Fit 1 to `n_components` components with each covariance type, and keep the fit with the least BIC
        (or AIC) on the training rows.
    encode : bool, default=True
        Whether a data frame or a source with columns of categories or dates becomes a matrix of numbers, as
        by `DesignMatrix`, without the first category of each column. False: such a table is refused.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Weights of the components; they sum to 1.
    means_ : ndarray of shape (n_components, n_features_in_)
        Mean of each component.
    covariances_ : ndarray
        Covariances, of shape (n_components, n_features_in_, n_features_in_) for "full",
        (n_features_in_, n_features_in_) for "tied", (n_components, n_features_in_) for "diag" and
        (n_components,) for "spherical".
    precisions_ : ndarray
        Inverses of the covariances, in the same shape.
    precisions_cholesky_ : ndarray
        Cholesky factors of the precisions, in the same shape.
    covariance_type_ : str
        Covariance type of the fitted mixture.
    selection_ : dict
        With `select`, the mixtures that were tried, by columns: "n_components", "covariance_type",
        "log_likelihood", "bic", "aic", "converged". Prints as a table; `to_frame()` gives a pandas table.
    converged_ : bool
        Whether the best start reached `tol` within `max_iter` steps.
    n_iter_ : int
        Number of EM steps of the best start.
    lower_bound_ : float
        Mean log-likelihood per row in the last step.
    lower_bounds_ : list of float
        Mean log-likelihood per row before each step.
    trace_ : dict
        "log_likelihood", the mean log-likelihood before each step, and "floored", whether the step was
        changed by regularisation; the log-likelihood can decrease only in such steps.
    stop_reason_ : str
        Why EM stopped.
    n_features_in_ : int
        Number of columns seen in `fit`.
    design_ : DesignMatrix
        The design matrix that the table of `fit` became, whose `get_feature_names_out` names its columns;
        only if that table was not of numbers alone. `feature_names_in_` are then the table's columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    Mixture : Mixtures of other families, also for categories and counts.
    MixtureDiscriminantAnalysis : A mixture for each class.

    References
    ----------
    .. [1] Dempster, A. P., Laird, N. M. and Rubin, D. B. (1977). Maximum likelihood from incomplete data
       via the EM algorithm. Journal of the Royal Statistical Society B 39, 1-38.
    .. [2] Schwarz, G. (1978). Estimating the dimension of a model. Annals of Statistics 6, 461-464.

    Examples
    --------
    >>> from likelier import GaussianMixture
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = GaussianMixture(4, select="bic", covariance_type="all", random_state=0).fit(X)
    >>> len(model.weights_), model.covariance_type_
    (2, 'full')
    >>> model.condition({0: 7.0}).weights_.round(2)
    array([0., 1.])
    """

    assumes = "a density: a sum of Gaussians"
    design_ = property(fitted_design)
    _design_settings = dense_settings
    _single_shown = frozenset(
        {"weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"}
        | {"lower_bound_", "lower_bounds_"}
    )
    _single_answers = frozenset({"predict_proba", "score_samples"})

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: Any = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        select: str | None = None,
        encode: bool = True,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.select = select
        self.encode = encode

    # ---- what is tried -----------------------------------------------------------------------------
    def _candidates(self, names: Names) -> list[MixtureCandidate]:
        check_starts(self, mixture_init.INITS)
        most = int(validation.number("n_components", self.n_components, 1, whole=True))
        ridge = validation.number("reg_covar", self.reg_covar, 0.0)
        if self.select is None:
            if self.covariance_type not in SHAPES:
                known = ", ".join(map(repr, SHAPES))
                raise ValueError(f"covariance_type must be one of {known}; got {self.covariance_type!r}.")
            return [MixtureCandidate(most, self.covariance_type, ridged(self.covariance_type, ridge))]
        self._check_select()
        kinds = [shape for shape in SHAPES if self._wanted(shape)]
        return [
            MixtureCandidate(M, shape, ridged(shape, ridge)) for shape in kinds for M in range(1, most + 1)
        ]

    def _check_select(self) -> None:
        if self.select not in ("bic", "aic"):
            raise ValueError(f"select must be None, 'bic' or 'aic'; got {self.select!r}.")
        inits = ("weights_init", "means_init", "precisions_init")
        given = [name for name in inits if getattr(self, name) is not None]
        if given or self.warm_start:
            raise ValueError(
                f"select={self.select!r} chooses its own starts: leave out "
                f"{', '.join(given) or 'warm_start'}"
            )
        one = isinstance(self.covariance_type, str) or not np.iterable(self.covariance_type)
        asked = [self.covariance_type] if one else self.covariance_type
        unknown = [shape for shape in asked if shape not in (*SHAPES, "all")]
        if unknown or len(asked) == 0:
            known = ", ".join(map(repr, SHAPES))
            raise ValueError(
                f"covariance_type must be 'all' or some of {known}; got {self.covariance_type!r}."
            )

    def _chosen(self, table: Selection) -> int:
        return int((table.aic if self.select == "aic" and table.aic is not None else table.bic).argmin())

    def _wanted(self, shape: str) -> bool:
        kinds = self.covariance_type
        return kinds in ("all", shape) if isinstance(kinds, str) else shape in kinds or "all" in kinds

    def _given_starts(self) -> bool:
        given = (self.weights_init, self.means_init, self.precisions_init)
        return bool(self.warm_start) or any(each is not None for each in given)

    def _given(self, candidate: MixtureCandidate, p: int) -> Bayes | None:
        if self.weights_init is None or self.means_init is None or self.precisions_init is None:
            return None
        M, shape = candidate.M, candidate.shape
        cov = mixture_init.covariances_of(self.precisions_init, shape, M, p)
        params = mixture_init.gaussians(mixture_init.means_of(self.means_init, M, p), cov, shape)
        return Bayes(params, log_of(mixture_init.weights_of(self.weights_init, M)))

    def _adjusted(self, start: Bayes, candidate: MixtureCandidate) -> Bayes:
        params: Any = start.params
        (M, p), shape = params.shape, candidate.shape
        if self.weights_init is not None:
            start = replace(start, log_prior=log_of(mixture_init.weights_of(self.weights_init, M)))
        mean, cov = params.mean, mixture_init.covariances(params, shape)
        if self.means_init is not None:
            mean = mixture_init.means_of(self.means_init, M, p)
        if self.precisions_init is not None:
            cov = mixture_init.covariances_of(self.precisions_init, shape, M, p)
        return replace(start, params=mixture_init.gaussians(mean, cov, shape))

    def _from_before(self, candidate: MixtureCandidate) -> FittedMixture | None:
        before: FittedMixture | None = vars(self).get("_model")
        if not self.warm_start or before is None:
            return None
        same = (len(before.log_prior), before.shape) == (candidate.M, candidate.shape)
        if not same:
            raise ValueError(
                f"warm_start continues from {len(before.log_prior)} {before.shape} components, and "
                f"{candidate.M} {candidate.shape} ones are asked for: fit a new estimator."
            )
        return before

    def _family_of(self, model: FittedMixture, names: Names) -> Family:
        return ridged(model.shape, float(self.reg_covar))  # type: ignore[arg-type]

    def _floor_acts(self, params: Any) -> bool:
        return not variances_exceed(params, mixture_init.NEAR * float(self.reg_covar))

    def _free(self, shape: str, M: int, model: Bayes) -> int:
        return mixture_init.free_parameters(shape, M, model.params.shape[1])

    # ---- what is shown -----------------------------------------------------------------------------
    def _shown(self, model: FittedMixture, statistics: Any | None, target: Any) -> dict[str, Any]:
        params: Any = model.params
        cov = mixture_init.covariances(params, model.shape)
        roots = mixture_init.root_precisions(cov, model.shape)
        return super()._shown(model, statistics, target) | {
            "means_": model.outside(params.mean),
            "covariances_": mixture_init.outside(model, cov, 2),
            "precisions_cholesky_": mixture_init.outside(model, roots, -1),
            "precisions_": mixture_init.outside(model, mixture_init.precisions(roots, model.shape), -2),
            "covariance_type_": model.shape,
        }

    def _remarks(self, model: FittedMixture, statistics: Any, target: Any, names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        floor = 2 * float(self.reg_covar)
        if getattr(model.params, "deficient", ()) or not variances_exceed(model.params, floor):
            yield mixture_init.no_variance(self.reg_covar)

    def aic(self, X: Any) -> float:
        """Akaike information criterion, -2 ln p(X) + 2 d, with d free parameters; smaller is better.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        aic : float
            The criterion for these rows.
        """
        Z = self.score_samples(X)
        return float(-2 * Z.sum() + 2 * self._d())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion, -2 ln p(X) + d ln n, with d free parameters; smaller is better.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        bic : float
            The criterion for these rows.
        """
        Z = self.score_samples(X)
        return float(-2 * Z.sum() + self._d() * np.log(len(Z)))

    def _d(self) -> int:
        M, p = self._model.params.shape
        return mixture_init.free_parameters(self._model.shape, M, p)


class Mixture(Components):
    """Mixture of any family, fitted by EM: p(x) = Σ_m w_m p_m(x).

    With categories alone this is latent class analysis. Starts measure distances in standardised columns.
    The families are estimated with pseudo-counts, so that the likelihood can decrease slightly, in steps
    that `trace_["floored"]` marks.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    families : str, Family or dict, default="gaussian"
        Distribution of the columns: a name, a `Family` object, or a dict of them by names or numbers of
        columns, as in {("a", "b"): "categorical", "age": "gaussian"}. Categories are integer codes from 0
        on.
    tol : float, default=1e-3
        EM stops when the mean log-likelihood changes by less than this.
    max_iter : int, default=100
        Largest number of EM steps of each start.
    n_init : int, default=1
        Number of starts; the one with the largest likelihood is kept.
    init_params : {"kmeans", "random"}, default="kmeans"
        How the start is found: by k-means of the standardised columns, or from random responsibilities.
    random_state : int, RandomState or None, default=None
        Seed of the random starts. An int gives the same result each time; `checkpoint` needs one.
    verbose : int, default=0
        If not 0, print the log-likelihood during the fit.
    verbose_interval : int, default=10
        Number of steps between two printed lines.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Weights of the components; they sum to 1.
    converged_ : bool
        Whether the best start reached `tol` within `max_iter` steps.
    n_iter_ : int
        Number of EM steps of the best start.
    lower_bound_ : float
        Mean log-likelihood per row in the last step.
    lower_bounds_ : list of float
        Mean log-likelihood per row before each step.
    trace_ : dict
        "log_likelihood", the mean log-likelihood before each step, and "floored", whether the step was
        changed by regularisation; the log-likelihood can decrease only in such steps.
    stop_reason_ : str
        Why EM stopped.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    GaussianMixture : Gaussian components with covariances, and a choice of their number.
    NaiveBayes : The same families with labels.

    References
    ----------
    .. [1] Dempster, A. P., Laird, N. M. and Rubin, D. B. (1977). Maximum likelihood from incomplete data
       via the EM algorithm. Journal of the Royal Statistical Society B 39, 1-38.
    .. [2] Lazarsfeld, P. F. and Henry, N. W. (1968). Latent Structure Analysis. Houghton Mifflin.

    Examples
    --------
    >>> from likelier import Mixture
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = Mixture(2, families="gaussian", random_state=0).fit(X)
    >>> model.weights_.round(2)
    array([0.33, 0.67])
    """

    assumes = "a density: a sum of others"
    _scaled = _smoothed = True

    def __init__(
        self,
        n_components: int = 1,
        *,
        families: Any = "gaussian",
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        random_state: Any = None,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.families = families
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.random_state = random_state
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _candidates(self, names: Names) -> list[MixtureCandidate]:
        check_starts(self, ("kmeans", "random"))
        M = int(validation.number("n_components", self.n_components, 1, whole=True))
        return [MixtureCandidate(M, "", family_of(self.families, names))]

    def _family_of(self, model: FittedMixture, names: Names) -> Family:
        return family_of(self.families, names)
