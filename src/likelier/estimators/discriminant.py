"""Discriminant analysis: Gaussian classes with one covariance (linear) or one each (quadratic)."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from likelier import links
from likelier.data import Arrays, code
from likelier.estimators import door
from likelier.estimators.generative import Generative
from likelier.estimators.linear import LinearClassifier
from likelier.estimators.naive_bayes import Contributions
from likelier.estimators.onepass import Names
from likelier.families import (
    LOG_2PI,
    Discriminants,
    Full,
    FullGaussian,
    Tied,
    TiedGaussian,
    by_eigen,
    by_least_squares,
    by_svd,
)
from likelier.model import Bayes, log_of
from likelier.scores import Affine, Scores

Floats = NDArray[np.float64]


class _Discriminant(Generative):
    """What the two share: their parameters, and covariances by an estimator of the user's."""

    solver: str
    shrinkage: Any
    covariance_estimator: Any
    priors: Any
    tol: float

    def _check_solver(self, solvers: tuple[str, ...]) -> None:
        if self.solver not in solvers:
            raise ValueError(f"solver={self.solver!r}: it is one of {', '.join(solvers)}")
        s = self.shrinkage
        if isinstance(s, str) and s != "auto":
            raise ValueError(f"shrinkage={s!r}: it is None, 'auto' or a number from 0 to 1")
        if s is not None and not isinstance(s, str):
            door.number("shrinkage", s, 0.0, 1.0)
        if self.solver == "svd" and s is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.covariance_estimator is not None:
            if self.solver == "svd":
                raise ValueError(
                    "covariance_estimator is not supported with solver='svd'. Try "
                    f"solver={solvers[-1]!r} instead."
                )
            if s is not None and s != 0:
                raise ValueError(
                    "covariance_estimator and shrinkage parameters are not None. "
                    "Only one of the two can be set."
                )
        door.number("tol", self.tol, 0.0)

    def _prior(self, n: Floats) -> Floats:
        return np.asarray(n / n.sum()) if self.priors is None else self._given_priors(len(n))

    def _given_priors(self, K: int) -> Floats:
        return door.priors_of(self.priors, K, strict=False)

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        if self.priors is not None and abs(np.sum(self.priors) - 1) > 1e-5:
            yield "The priors do not sum to 1. Renormalizing"

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        if self.covariance_estimator is not None:
            raise ValueError("partial_fit needs statistics, and a covariance_estimator keeps none.")
        return super().partial_fit(X, y, classes, sample_weight)

    def _fitted(self, source: Arrays, target: NDArray[Any]) -> tuple[Bayes, Any | None]:
        if self.covariance_estimator is None:
            return super()._fitted(source, target)
        self._family(len(target))
        if source.w is not None:
            raise ValueError("sample_weight cannot be passed on to a covariance_estimator.")
        X = door.finite(source)
        assert source.y is not None
        codes = code(source.y, target)
        by_class = [X[codes == k] for k in range(len(target))]
        n = np.array([len(rows) for rows in by_class], dtype=np.float64)
        mean = np.stack([rows.mean(axis=0) for rows in by_class])
        cov = np.stack([_covariance(self.covariance_estimator, rows) for rows in by_class])
        return self._custom(n, mean, cov, X), None

    def _custom(self, n: Floats, mean: Floats, cov: Floats, X: Floats) -> Bayes:
        raise NotImplementedError


def _covariance(estimator: Any, rows: Floats) -> Floats:
    fitted = clone(estimator).fit(rows)
    if not hasattr(fitted, "covariance_"):
        raise ValueError(f"{type(estimator).__name__} does not have a covariance_ attribute")
    return np.atleast_2d(fitted.covariance_)


@dataclass(frozen=True)
class LinearBayes(Bayes):
    """A Bayes classifier whose scores are also known as weights and axes."""

    lines: Discriminants = field(kw_only=True)


# ---- linear --------------------------------------------------------------------------------------
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Discriminant):
    """Gaussian classes with one covariance: a_k(x) = m_kᵀΣ⁻¹x - ½ m_kᵀΣ⁻¹m_k + ln p(C_k).

    Drop-in for scikit-learn's (Fisher 1936; Rao 1948), from one pass over the rows whatever the solver,
    with weights, `partial_fit`, merging and conditional questions.

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

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: float | Literal["auto"] | None = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _family(self, K: int) -> TiedGaussian:
        self._check_solver(("svd", "lsqr", "eigen"))
        given = None if self.priors is None else self._given_priors(K)
        if self.solver == "svd":
            by_class = given is not None and self.store_covariance
            return TiedGaussian(tol=float(self.tol), by_class=by_class)
        return TiedGaussian(self.shrinkage, weights=given)

    def _fitted(self, source: Arrays, target: NDArray[Any]) -> tuple[Bayes, Any | None]:
        n, K = len(source), len(target)
        if n <= K and (source.w is None or source.w.sum() <= K):
            raise ValueError(
                f"The number of samples must be more than the number of classes; got n_samples={n} for {K}."
            )
        return super()._fitted(source, target)

    def _components(self, K: int, p: int) -> int:
        """How many axes `transform` shows: as many as were asked for and there can be."""
        most = min(K - 1, p)
        return most if self.n_components is None else min(self.n_components, most)

    def _check_components(self, K: int, p: int) -> None:
        if self.n_components is not None:
            door.number("n_components", self.n_components, 1, whole=True)
            if self.n_components > min(K - 1, p):
                raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")

    def _model_of(self, statistics: Any) -> Bayes:
        K, p = statistics.mean.shape
        self._check_components(K, p)
        family = self._family(K)
        params = family.estimate(statistics)
        between = family.total(statistics) - params.cov if self.solver == "eigen" else None
        return self._linear_model(params, log_of(self._prior(statistics.n)), between, self.tol)

    def _custom(self, n: Floats, mean: Floats, cov: Floats, X: Floats) -> Bayes:
        prior = self._prior(n)
        params = Tied(mean, np.tensordot(prior, cov, axes=1))
        between = _covariance(self.covariance_estimator, X) - params.cov
        return self._linear_model(params, log_of(prior), between, self.tol)

    def _linear_model(
        self, params: Tied, log_prior: Floats, between: Floats | None, tol: float
    ) -> "LinearBayes":
        prior = np.exp(log_prior)
        if self.solver == "svd":
            lines = by_svd(params, prior, tol)
        elif self.solver == "eigen":
            lines = by_eigen(params, prior, between)
        else:
            lines = by_least_squares(params, prior)
        return LinearBayes(params, log_prior, lines.scores(), lines=lines)

    def _derived(self, model: Bayes, columns: NDArray[np.intp]) -> Any:
        assert isinstance(model.params, Tied)
        # tol=0: priors that evidence has made tiny must not make the axes of their classes vanish.
        return super()._derived(self._linear_model(model.params, model.log_prior, None, tol=0.0), columns)

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        assert isinstance(model, LinearBayes)
        assert isinstance(model.params, Tied)
        lines, (K, p) = model.lines, model.params.shape
        W, b = lines.coef, lines.intercept + model.log_prior
        if K == 2:
            W, b = W[1:] - W[:1], b[1:] - b[:1]
        most = self._components(K, p)
        shown = super()._shown(model, statistics, target)
        shown |= {"means_": model.params.mean, "priors_": model.prior}
        shown |= {"coef_": W, "intercept_": b, "_n_features_out": most}
        if self.solver == "svd":
            shown["xbar_"] = lines.centre
        else:
            shown["covariance_"] = model.params.cov
        if lines.scalings is not None and lines.explained is not None:
            shown["scalings_"] = lines.scalings
            shown["explained_variance_ratio_"] = lines.explained[:most]
        if self.solver == "svd" and self.store_covariance:
            weighed = replace(self._family(K), weights=model.prior)
            cov = model.params.cov if statistics is None else weighed.within(statistics)
            shown["covariance_"] = cov
        return shown

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        assert isinstance(model.params, Tied)
        rank, p = model.params.whitening.shape
        if rank < p:
            still = np.flatnonzero(np.diagonal(model.params.cov) == 0)
            which = f"; constant: {door.named(names, still)}" if len(still) else ""
            yield (
                f"within the classes, the {p} columns vary in {rank} directions only (too few rows, or "
                f"columns that are constant or depend on others{which}): the other directions were left "
                "out. Drop such columns, or set solver='lsqr' and shrinkage."
            )

    @property
    def _lines(self) -> Discriminants:
        door.fitted(self)
        assert isinstance(self._model, LinearBayes)
        return self._model.lines

    def decision_function(self, X: Any) -> Floats:
        """X coef_ᵀ + intercept_: (n, K), of two classes (n,)."""
        door.fitted(self)
        if len(self.classes_) == 2:
            return super().decision_function(X)
        return self._answers(self._lines.shown().plus(self._model.log_prior), X, links.identity)

    def transform(self, X: Any) -> Floats:
        """The rows on the axes that separate the classes best, (n, n_components)."""
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        door.fitted(self)
        W = np.ascontiguousarray(self.scalings_[:, : self._n_features_out].T)
        centre = self.xbar_ if self.solver == "svd" else np.zeros(W.shape[1])
        if len(W) == 0:
            return np.empty((len(door.known_rows(self, X)), 0))
        return self._answers(Scores((Affine(np.zeros(len(W)), W, centre),)), X, links.identity)

    def contributions(self, X: Any) -> Contributions:
        """coef_kj x_j, (n, K, p), beside intercept_ (K,): together they are the linear scores.

        They are ln p(x, C_k) up to -½ xᵀΣ⁻¹x, which all classes share.
        """
        lines = self._lines
        values = door.dense_rows(self, X)[:, None, :] * lines.coef
        return Contributions(values, lines.intercept + self._model.log_prior)

    def to_linear(self) -> LinearClassifier:
        """The weights alone, as a classifier that predicts the same."""
        door.fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return LinearClassifier(self.coef_, self.intercept_, self.classes_, names)


# ---- quadratic -----------------------------------------------------------------------------------
class QuadraticDiscriminantAnalysis(_Discriminant):
    """Gaussian classes, each with its own covariance: ln p(C_k) - ½ ln|Σ_k| - ½ (x-m_k)ᵀΣ_k⁻¹(x-m_k).

    Drop-in for scikit-learn's, from one pass over the rows, with weights, `partial_fit`, merging and
    conditional questions. Where scikit-learn refuses a class whose covariance is not of full rank, its
    smallest variances are lifted to `tol`, with a warning.

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
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _family(self, K: int) -> FullGaussian:
        self._check_solver(("svd", "eigen"))
        lift = door.number("reg_param", self.reg_param, 0.0, 1.0)
        if self.solver == "svd":
            return FullGaussian(lift=lift, floor=float(self.tol))
        return FullGaussian(self.shrinkage, floor=float(self.tol))

    def _count(self, source: Arrays, target: NDArray[Any]) -> Any:
        if len(target) < 2:
            raise ValueError(f"The number of classes has to be greater than one. Got {len(target)} class.")
        return super()._count(source, target)

    def _model_of(self, statistics: Any) -> Bayes:
        prior = self._prior(statistics.n)
        params = self._family(len(statistics.n)).estimate(statistics)
        return Bayes(params, log_of(prior))

    def _custom(self, n: Floats, mean: Floats, cov: Floats, X: Floats) -> Bayes:
        params = Full.of(mean, cov, floor=float(self.tol))
        return Bayes(params, log_of(self._prior(n)))

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
                f"smallest variances were lifted to tol={self.tol:g}. Increase `{way}`, drop such columns, "
                "or use LinearDiscriminantAnalysis or GaussianNB, which ask less of a class."
            )

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        params = model.params
        assert isinstance(params, Full)
        shown = super()._shown(model, statistics, target)
        shown |= {"means_": params.mean, "priors_": model.prior}
        if self.store_covariance:
            shown["covariance_"] = list(params.cov)
        return shown

    def decision_function(self, X: Any) -> Floats:
        """ln p(x, C_k) without the term p/2 ln 2π, (n, K); of two classes a_1 - a_0, (n,)."""
        Z = super().decision_function(X)
        return Z if Z.ndim == 1 else Z + 0.5 * self.n_features_in_ * LOG_2PI

    # An eigendecomposition costs more than all the rest of a fit, and only these two need it.
    @property
    def scalings_(self) -> list[Floats]:
        """The variances of each class along its axes, falling."""
        return list(self._spectrum[0])

    @property
    def rotations_(self) -> list[Floats]:
        """The axes of each class, in columns."""
        return list(self._spectrum[1])

    @property
    def _spectrum(self) -> tuple[Floats, Floats]:
        if "_model" not in vars(self):
            raise AttributeError("not fitted yet")
        assert isinstance(self._model.params, Full)
        return self._model.params.spectrum
