"""Quadratic discriminant analysis: Gaussian classes, each with a covariance of its own."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likelier.data import Source
from likelier.estimators import door
from likelier.estimators.collections import by_block
from likelier.estimators.discriminant import Discriminant
from likelier.estimators.onepass import Names, Start
from likelier.families import LOG_2PI, Full, FullGaussian
from likelier.model import Bayes, log_of

Floats = NDArray[np.float64]


class QuadraticDiscriminantAnalysis(Discriminant):
    """Gaussian classes, each with its own covariance: ln p(C_k) - ½ ln|Σ_k| - ½ (x-m_k)ᵀΣ_k⁻¹(x-m_k).

    Drop-in for scikit-learn's, from one pass over the rows, with weights, `partial_fit`, merging and
    conditional questions. Where scikit-learn refuses a class whose covariance is not of full rank, its
    smallest variances are lifted to `tol` times those of the columns, with a warning.

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

    def _start(self, source: Source, target: NDArray[Any]) -> Start:
        if len(target) < 2:
            raise ValueError(f"The number of classes has to be greater than one. Got {len(target)} class.")
        return super()._start(source, target)

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
        """ln p(x, C_k) + p/2 ln 2π, x being what is there, (n, K); of two classes a_1 - a_0, (n,)."""
        Z = super().decision_function(X)
        return Z if Z.ndim == 1 else Z + 0.5 * self.n_features_in_ * LOG_2PI

    # An eigendecomposition costs more than all the rest of a fit, and only these two need it.
    @property
    def scalings_(self) -> list[Floats]:
        """The variances of each class along its axes, falling."""
        return self._as_shown(self._spectrum[0])

    @property
    def rotations_(self) -> list[Floats]:
        """The axes of each class, in columns."""
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
