"""Linear discriminant analysis: Gaussian classes with one covariance."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from likelier import links
from likelier.data import Arrays, Dense, NonFinite, Source
from likelier.estimators import door
from likelier.estimators.collections import by_block
from likelier.estimators.discriminant import Discriminant, covariance_by
from likelier.estimators.generative import Contributions
from likelier.estimators.linear import LinearClassifier
from likelier.estimators.onepass import Names
from likelier.families import (
    Discriminants,
    OneCovariance,
    Tied,
    TiedGaussian,
    by_eigen,
    by_least_squares,
    by_svd,
)
from likelier.families.discriminants import parts_about
from likelier.model import Bayes, ask, log_of
from likelier.scores import Affine, Scores

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LinearBayes(Bayes):
    """A Bayes classifier whose scores are also known as weights and axes."""

    lines: Discriminants = field(kw_only=True)


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Discriminant):
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
            return TiedGaussian(tol=float(self.tol), by_class=by_class, rows=True)
        return TiedGaussian(self.shrinkage, weights=given)

    def _check_enough(self, statistics: Any, source: Source, target: NDArray[Any]) -> None:
        n, K = source.rows, len(target)
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
            door.number("n_components", self.n_components, 1, whole=True)
            if self.n_components > min(K - 1, p):
                raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")

    def _model_of(self, statistics: Any) -> Bayes:
        family = self._family(len(statistics.n))
        params = family.estimate(statistics)
        self._check_components(*params.shape)
        between = family.total(statistics) - params.cov if self.solver == "eigen" else None
        return self._linear_model(params, log_of(self._prior(statistics.n)), between, self.tol)

    def _custom(self, n: Floats, mean: Floats, cov: Floats, X: Floats) -> Bayes:
        prior = self._prior(n)
        params = Tied(mean, np.tensordot(prior, cov, axes=1))
        between = covariance_by(self.covariance_estimator, X) - params.cov
        return self._linear_model(params, log_of(prior), between, self.tol)

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
            weighed = replace(self._family(K), weights=model.prior)
            cov = model.params.cov if statistics is None else weighed.within(statistics)
            shown["covariance_"] = model.covariance(cov)
        return shown

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        assert isinstance(model.params, OneCovariance)
        rank, p = model.params.rank, model.params.shape[1]
        if rank < p:
            still = np.flatnonzero(model.params.variances == 0)
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

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """X coef_ᵀ + intercept_: (n, K), of two classes (n,).

        Where cells are missing: ln p(what is there, C_k), which differs by what all classes share.
        """
        door.fitted(self)
        if len(self.classes_) == 2:
            return super().decision_function(X)
        scores = self._model.by_gaps(self._lines.shown()).plus(self._model.log_prior)
        return self._answers(scores, X, links.identity)

    @by_block
    def transform(self, X: Any) -> Floats:
        """The rows on the axes that separate the classes best, (n, n_components).

        Where cells are missing: the place that is expected of the row, given what is there.
        """
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        door.fitted(self)
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
        """What each column adds, (n, K, p), beside ln p(C_k): together they are ln p(x, C_k).

        With c a point among the class means, e_k = m_k - c, d = x - c and W_k = Σ⁻¹e_k: column j adds
        W_kj (d_j - ½ e_kj), and what all classes share, -½ d_j (Σ⁻¹d)_j and an equal part of the constant.
        A missing cell contributes 0; Σ is then that of the columns that are there.
        """
        lines, params = self._lines, self._model.params
        assert isinstance(params, OneCovariance)
        rows = door.dense_rows(self, X, gaps=True)
        values = self._model.parts(rows, lambda X: parts_about(params, lines, X))
        return Contributions.of(self, values, self._model.log_prior)

    def to_linear(self) -> LinearClassifier:
        """The weights alone, as a classifier that predicts the same."""
        lines, names = self._lines, getattr(self, "feature_names_in_", None)
        W = self._model.outside(lines.W, -1)
        b = lines.b + self._model.log_prior - lines.W @ lines.centre
        if len(self.classes_) == 2:
            W, b = W[1:] - W[:1], b[1:] - b[:1]
        return LinearClassifier(W, b, self.classes_, names)
