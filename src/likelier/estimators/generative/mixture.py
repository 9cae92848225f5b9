"""Mixtures: densities that are sums of others, and clusters, by EM."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from likelier.em import Blend, Selection
from likelier.estimators import validation
from likelier.estimators.base import Names
from likelier.estimators.generative import mixture_init
from likelier.estimators.generative.mixture_base import Candidate, Components, check_starts
from likelier.families import SHAPES, Family, ridged, variances_exceed
from likelier.families.registry import family_of
from likelier.model import Bayes, log_of


class GaussianMixture(Components):
    """A mixture of Gaussians by EM: p(x) = Σ_m w_m N(x; μ_m, Σ_m).

    Drop-in for scikit-learn's, from the same starts by the same steps, with weights, missing cells (NaN),
    rows in files (the start is chosen from a sample of 20 000 of them), batches (`partial_fit`), and
    conditional questions. Beyond it: select="bic" (or "aic") fits 1 to `n_components` components, for the
    covariance shape given, a list of shapes, or "all", and keeps the fit of least BIC (AIC), which is that
    of `bic(X)` (`aic(X)`) for the training rows; `selection_` tells of all.
    `trace_`: the mean log-likelihood before each step, and whether `reg_covar` held a variance up in it:
    but for that it never falls.

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

    # ---- what is tried -----------------------------------------------------------------------------
    def _candidates(self, names: Names) -> list[Candidate]:
        check_starts(self, mixture_init.INITS)
        most = int(validation.number("n_components", self.n_components, 1, whole=True))
        ridge = validation.number("reg_covar", self.reg_covar, 0.0)
        if self.select is None:
            if self.covariance_type not in SHAPES:
                known = ", ".join(map(repr, SHAPES))
                raise ValueError(f"covariance_type must be one of {known}; got {self.covariance_type!r}.")
            return [Candidate(most, self.covariance_type, ridged(self.covariance_type, ridge))]
        self._check_select()
        kinds = [shape for shape in SHAPES if self._wanted(shape)]
        return [Candidate(M, shape, ridged(shape, ridge)) for shape in kinds for M in range(1, most + 1)]

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

    def _given(self, candidate: Candidate, p: int) -> Bayes | None:
        if self.weights_init is None or self.means_init is None or self.precisions_init is None:
            return None
        M, shape = candidate.M, candidate.shape
        cov = mixture_init.covariances_of(self.precisions_init, shape, M, p)
        params = mixture_init.gaussians(mixture_init.means_of(self.means_init, M, p), cov, shape)
        return Bayes(params, log_of(mixture_init.weights_of(self.weights_init, M)))

    def _adjusted(self, start: Bayes, candidate: Candidate) -> Bayes:
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

    def _from_before(self, candidate: Candidate) -> Blend | None:
        before: Blend | None = vars(self).get("_model")
        if not self.warm_start or before is None:
            return None
        same = (len(before.log_prior), before.shape) == (candidate.M, candidate.shape)
        if not same:
            raise ValueError(
                f"warm_start continues from {len(before.log_prior)} {before.shape} components, and "
                f"{candidate.M} {candidate.shape} ones are asked for: fit a new estimator."
            )
        return before

    def _family_of(self, model: Blend, names: Names) -> Family:
        return ridged(model.shape, float(self.reg_covar))  # type: ignore[arg-type]

    def _floor_acts(self, params: Any) -> bool:
        return not variances_exceed(params, mixture_init.NEAR * float(self.reg_covar))

    def _free(self, shape: str, M: int, model: Bayes) -> int:
        return mixture_init.free_parameters(shape, M, model.params.shape[1])

    # ---- what is shown -----------------------------------------------------------------------------
    def _shown(self, model: Blend, statistics: Any | None, target: Any) -> dict[str, Any]:
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

    def _remarks(self, model: Blend, statistics: Any, target: Any, names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        floor = 2 * float(self.reg_covar)
        if getattr(model.params, "deficient", ()) or not variances_exceed(model.params, floor):
            yield mixture_init.no_variance(self.reg_covar)

    def aic(self, X: Any) -> float:
        """-2 ln p(X) + 2 d, d being the number of free parameters (Akaike 1974)."""
        Z = self.score_samples(X)
        return float(-2 * Z.sum() + 2 * self._d())

    def bic(self, X: Any) -> float:
        """-2 ln p(X) + d ln n (Schwarz 1978)."""
        Z = self.score_samples(X)
        return float(-2 * Z.sum() + self._d() * np.log(len(Z)))

    def _d(self) -> int:
        M, p = self._model.params.shape
        return mixture_init.free_parameters(self._model.shape, M, p)


class Mixture(Components):
    """A mixture of any family by EM: p(x) = Σ_m w_m p_m(x).

    families: a `Family`, the name of one, or a dict of them by the names or numbers of columns, as in
    {("a", "b"): "categorical", "age": "gaussian"}; categories are codes, whole numbers from 0 on, and of
    nothing else it is an analysis of latent classes. Starts are by k-means of standardised columns, or
    "random". Families estimate with pseudo-counts, so that EM may make the rows less likely by a little, in
    steps that `trace_["floored"]` marks.

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

    def _candidates(self, names: Names) -> list[Candidate]:
        check_starts(self, ("kmeans", "random"))
        M = int(validation.number("n_components", self.n_components, 1, whole=True))
        return [Candidate(M, "", family_of(self.families, names))]

    def _family_of(self, model: Blend, names: Names) -> Family:
        return family_of(self.families, names)
