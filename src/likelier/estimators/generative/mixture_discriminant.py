"""Mixture discriminant analysis: a mixture for each class, fitted to rows with labels and without."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from likelier.array_types import Floats
from likelier.data import Arrays
from likelier.em import EMProblem, EMResult, FittedMixture, StoppingRule, by_class
from likelier.engines.run import numbered
from likelier.estimators import posteriors, validation
from likelier.estimators.base import (
    NOT_ROUTED,
    CallbackSupportMixin,
    Names,
    Step,
    attributes_of,
    resumable,
    steps,
)
from likelier.estimators.design_matrix import dense_settings, fitted_design
from likelier.estimators.generative import mixture_init
from likelier.estimators.generative.base import GenerativeModel, scaling_of, units_for
from likelier.estimators.generative.mixture_base import (
    check_climb,
    check_sound,
    collapsed,
    counted_in,
    mean_log_unit,
)
from likelier.estimators.generative.outliers import ExpectedModel, RowSampling
from likelier.families import SHAPES, Family, Mixture, ridged, variances_exceed
from likelier.families.mixture import Owners
from likelier.families.registry import family_of
from likelier.model import Bayes, log_of
from likelier.warning_location import outside


class MixtureDiscriminantAnalysis(CallbackSupportMixin, ClassifierMixin, GenerativeModel):
    """Mixture discriminant analysis: each class is a mixture, p(x | C_k) = Σ_m w_m p_m(x), fitted by EM.

    Semi-supervised: rows without a label take part by their probabilities over all components of all
    classes [2]_. With one component for each class and every row labelled it is
    QuadraticDiscriminantAnalysis ("full"), LinearDiscriminantAnalysis ("tied") or GaussianNB ("diag").

    Parameters
    ----------
    n_components : int, array-like of shape (n_classes,) or dict, default=2
        Number of components of each class: one number for all, a list in the order of `classes_`, or
        {label: number}.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Form of the covariances, as in GaussianMixture; "tied" is one covariance for all components of all
        classes.
    families : str or Family, default=None
        Family of the components in place of Gaussians of that covariance type.
    tol : float, default=1e-4
        EM stops when the mean log-likelihood changes by less than this.
    max_iter : int, default=200
        Largest number of EM steps of each start.
    n_init : int, default=1
        Number of starts; the one with the largest likelihood is kept.
    reg_covar : float, default=1e-6
        Added to the diagonal of the covariances, so that they stay positive definite.
    priors : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; they must sum to 1. None: the class
        frequencies of the training rows.
    random_state : int, RandomState or None, default=None
        Seed of the random starts. An int gives the same result each time; `checkpoint` needs one.
    unlabelled : label, default=None
        Value of y that marks rows without a label, such as -1. None and NaN always do.
    encode : bool, default=True
        Whether a data frame or a source with columns of categories or dates becomes a matrix of numbers, as
        by `DesignMatrix`, without the first category of each column. False: such a table is refused.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    priors_ : ndarray of shape (n_classes,)
        Prior probability of each class.
    weights_ : ndarray of shape (n_all_components,)
        Weights of the components; those of a class sum to 1.
    component_classes_ : ndarray of shape (n_all_components,)
        Class of each component.
    means_ : ndarray of shape (n_all_components, n_features_in_)
        Mean of each component; not with `families`.
    covariances_ : ndarray
        Covariances, in the shapes of GaussianMixture; not with `families`.
    converged_ : bool
        Whether the best start reached `tol` within `max_iter` steps.
    n_iter_ : int
        Number of EM steps of the best start.
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
    QuadraticDiscriminantAnalysis : One Gaussian for each class.
    GaussianMixture : Mixtures without labels.
    KernelDensityClassifier : Class densities of any shape.

    References
    ----------
    .. [1] Hastie, T. and Tibshirani, R. (1996). Discriminant analysis by Gaussian mixtures. Journal of the
       Royal Statistical Society B 58, 155-176.
    .. [2] Miller, D. J. and Uyar, H. S. (1997). A mixture of experts classifier with learning based on both
       labelled and unlabelled data. NIPS 9, 571-577.

    Examples
    --------
    >>> import numpy as np
    >>> from likelier import MixtureDiscriminantAnalysis
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    >>> model = MixtureDiscriminantAnalysis(1, unlabelled=-1).fit(X, some)
    >>> round(model.score(X, y), 2)
    0.97
    """

    assumes = "generative; each class a mixture of Gaussians; boundary of any form"
    __metadata_request__fit: ClassVar[dict[str, str]] = NOT_ROUTED
    _model: FittedMixture
    _starts_at_random = True
    design_ = property(fitted_design)
    _design_settings = dense_settings

    def __init__(
        self,
        n_components: Any = 2,
        *,
        covariance_type: str = "full",
        families: Any = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 1,
        reg_covar: float = 1e-6,
        priors: Any = None,
        random_state: Any = None,
        unlabelled: Any = None,
        encode: bool = True,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.families = families
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.reg_covar = reg_covar
        self.priors = priors
        self.random_state = random_state
        self.unlabelled = unlabelled
        self.encode = encode

    # ---- fitting -----------------------------------------------------------------------------------
    @resumable
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit to rows of which some may have no label, by EM from `n_init` starts.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Training rows, in memory, as a Dask collection, or as a source of `likelier.scan`, which is read
            in chunks. NaN and None are missing values.
        y : array-like of shape (n_samples,), default=None
            Class labels; None, NaN and `unlabelled` mark rows without a label. Leave out if X is a source
            with a target column.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row given twice. None: all weights are 1.
        checkpoint : str or path, default=None
            File in which the progress is saved until the fit is complete. If the process stops, the same
            call resumes from it.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Warns
        -----
        ConvergenceWarning
            If EM did not converge within `max_iter` steps.
        """
        check_climb(self)
        family = self._family()
        source, classes = validation.partly_labelled(self, X, y, sample_weight, self.unlabelled)
        owner = np.repeat(np.arange(len(classes)), self._counts(classes))
        log_prior = self._log_prior(classes)
        units = units_for(source, scaling_of(family)) if isinstance(source, Arrays) else None
        sample = RowSampling(source)
        with validation.naming(source):
            rows = counted_in(numbered(source), units)
            problem = EMProblem(rows, family, len(owner), owner, log_prior, sample.beside)
            end = self._best(problem, owner, classes, source.names)
        mixtures = by_class(end.model, owner, len(classes))
        shape = self.covariance_type if self.families is None else ""
        model = FittedMixture(mixtures.params, mixtures.log_prior, shape=shape, way=end.way)
        model = model.counted_in(units, mean_log_unit(source, units), 0.0)
        counted = None if end.stats is None else ExpectedModel(family, end.stats)
        model = replace(model, typical=sample.typical(model, counted))
        if not end.way.converged and self.max_iter > 0:
            warnings.warn(
                f"{type(self).__name__}: EM did not converge ({end.way.reason}). Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        self._warn(model, end.stats, classes, source.names)
        return self._publish(model, None, classes, source.names)

    def _family(self) -> Family:
        ridge = validation.number("reg_covar", self.reg_covar, 0.0)
        if self.families is not None:
            return family_of(self.families)
        if self.covariance_type not in SHAPES:
            known = ", ".join(map(repr, SHAPES))
            raise ValueError(f"covariance_type must be one of {known}; got {self.covariance_type!r}.")
        return ridged(self.covariance_type, ridge)

    def _log_prior(self, classes: NDArray[Any]) -> Floats | None:
        if self.priors is None:
            return None
        prior = validation.priors_of(self.priors, len(classes), classes=classes)
        if not prior.all():
            label = classes[int(prior.argmin())]
            raise ValueError(
                f"priors: that of class {label} is 0, and there are rows of it. Pass such priors to "
                "predict_proba, or leave these rows out."
            )
        return log_of(prior)

    def _counts(self, classes: NDArray[Any]) -> list[int]:
        """How many components each class has."""
        given, labels = self.n_components, classes.tolist()
        if isinstance(given, Mapping):
            unknown = [label for label in given if label not in labels]
            missing = [label for label in labels if label not in given]
            if unknown or missing:
                what = f"no class {unknown[0]!r}" if unknown else f"nothing for class {missing[0]!r}"
                raise ValueError(f"n_components={given!r}: there is {what}; classes: {labels}")
            given = [given[label] for label in labels]
        listed = [given] * len(labels) if np.ndim(given) == 0 else list(given)
        if len(listed) != len(labels):
            raise ValueError(
                f"n_components lists {len(listed)} numbers for {len(labels)} classes: {labels}"
            )
        return [int(validation.number("n_components", each, 1, whole=True)) for each in listed]

    def _best(self, problem: EMProblem, owner: Owners, classes: NDArray[Any], names: Names) -> EMResult:
        """The best of several starts."""
        rows, random_state = mixture_init.rows_for(problem.source), check_random_state(self.random_state)
        ends = []
        for _ in range(self.n_init):
            codes = self._start(rows, owner, classes, random_state)
            stats = mixture_init.counted(rows, codes, problem.family, problem.M)
            with steps(self, "em-iter") as step:
                climb = StoppingRule(self.tol, self.max_iter, self._floor_acts, self.families is not None)
                if step is not None:
                    climb = replace(climb, watch=partial(self._tell, step, owner, classes, names))
                ends.append(climb(problem, problem.maximise(stats)))
        best = max(ends, key=lambda end: end.way.last)
        check_sound(best)
        return best

    def _tell(
        self,
        told: Step,
        owner: Owners,
        classes: NDArray[Any],
        names: Names,
        step: int,
        log_likelihood: float,
        at: Bayes,
    ) -> None:
        """Callbacks hear of each step, and may ask for the classes so far."""
        mixtures = by_class(at, owner, len(classes))
        shape = self.covariance_type if self.families is None else ""
        so_far = FittedMixture(mixtures.params, mixtures.log_prior, shape=shape)
        told(lambda: attributes_of(self, self._shown(so_far, None, classes), so_far, None, classes, names))

    def _start(
        self, rows: Arrays, owner: Owners, classes: NDArray[Any], random_state: Any
    ) -> NDArray[np.int32]:
        """The rows of each class in clusters, of standardised columns; rows without a label in none."""
        X = mixture_init.cells_of(rows)
        near = mixture_init.standardised(mixture_init.filled(X))
        assert rows.y is not None
        codes = np.full(len(X), -1, dtype=np.int32)
        for k, label in enumerate(classes.tolist()):
            at, own = np.flatnonzero(rows.y == k), np.flatnonzero(owner == k)
            mixture_init.check_enough(X[at], len(own), f" of class {label!r}")
            w = None if rows.w is None else rows.w[at]
            codes[at] = own[0] + mixture_init.clusters(near[at], w, len(own), random_state)
        return codes

    def _floor_acts(self, params: Any) -> bool:
        return self.families is None and not variances_exceed(
            params, mixture_init.NEAR * float(self.reg_covar)
        )

    decide = posteriors.decide

    def merge(self, *others: Any) -> NoReturn:
        """Not supported for mixtures: each step of EM depends on all rows.

        Fit to all rows instead; a source of `likelier.scan` can have many files.

        Parameters
        ----------
        *others : estimator
            Not used.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError(
            f"{type(self).__name__} cannot be merged: each step of EM depends on all rows. Fit to all of "
            "them: a source from scan may be of many files."
        )

    # ---- what is shown -----------------------------------------------------------------------------
    def _shown(self, model: FittedMixture, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        params, way = model.params, model.way
        assert isinstance(params, Mixture)
        shown = {
            "classes_": target,
            "n_features_in_": params.shape[1],
            "priors_": model.prior,
            "weights_": np.exp(params.log_weight),
            "component_classes_": target[params.owner],
            "converged_": way.converged,
            "n_iter_": len(way.log_likelihood),
            "trace_": {"log_likelihood": way.log_likelihood, "floored": way.floored},
            "stop_reason_": way.reason,
        }
        if model.shape:
            components: Any = params.components
            shown |= {
                "means_": model.outside(components.mean),
                "covariances_": self._covariances(model, mixture_init.covariances(components, model.shape)),
            }
        return shown

    def _covariances(self, model: FittedMixture, cov: Floats) -> Floats:
        match model.shape:
            case "spherical":
                return mixture_init.outside(model, cov, 2)
            case "diag":
                return model.outside(cov, 2)
        return model.covariance(cov)

    def _remarks(
        self, model: FittedMixture, statistics: Any, target: NDArray[Any], names: Names
    ) -> Iterator[str]:
        if len(target) == 1:
            yield f"all rows are of class {target[0]}: every answer will be that class"
        params = model.params
        assert isinstance(params, Mixture)
        if statistics is not None and (few := collapsed(model, statistics)).size:
            yield (
                f"a component of class {target[params.owner[few[0]]]} has collapsed: it has the weight of "
                "less than a row. Use fewer components, or more starts (n_init)."
            )
        if model.shape and not variances_exceed(params.components, 2 * float(self.reg_covar)):
            yield mixture_init.no_variance(self.reg_covar)
