"""What linear and quadratic discriminant analysis share."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from likelier.data import Arrays, Source, code, refuse_cells
from likelier.estimators import door
from likelier.estimators.generative import Generative, Scaling, seen_only
from likelier.estimators.onepass import Names, Start
from likelier.model import Bayes

Floats = NDArray[np.float64]


def _counts(self: Any) -> bool:
    """Whether there are statistics to go on from."""
    if self.covariance_estimator is not None:
        raise AttributeError(
            f"{type(self).__name__} has no partial_fit, merge or cross_validate with a "
            "covariance_estimator: they need statistics, and it keeps none."
        )
    return True


class Discriminant(Generative):
    """What the two share: their parameters, and covariances by an estimator of the user's."""

    solver: str
    shrinkage: Any
    covariance_estimator: Any
    priors: Any
    tol: float
    _no_estimator = "covariance_estimator is not supported with solver='svd'."

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
                raise ValueError(f"{self._no_estimator} Try solver={solvers[-1]!r} instead.")
            if s is not None and s != 0:
                raise ValueError(
                    "covariance_estimator and shrinkage parameters are not None. "
                    "Only one of the two can be set."
                )
        door.number("tol", self.tol, 0.0)

    def _prior(self, n: Floats) -> Floats:
        if self.priors is None:
            return np.asarray(n / n.sum())
        return seen_only(self._given_priors(len(n)), n)

    def _given_priors(self, K: int) -> Floats:
        return door.priors_of(self.priors, K, strict=False, name="priors")

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

    partial_fit = available_if(_counts)(Generative.partial_fit)
    merge = available_if(_counts)(Generative.merge)
    cross_validate = available_if(_counts)(Generative.cross_validate)

    def _start(self, source: Source, target: NDArray[Any]) -> Start:
        if self.covariance_estimator is not None:  # in the grid of a cross-validation
            raise ValueError("cross_validate needs statistics, and a covariance_estimator keeps none.")
        return super()._start(source, target)

    def _fitted(self, source: Source, target: NDArray[Any]) -> tuple[Bayes, Any | None]:
        if self.covariance_estimator is None:
            return super()._fitted(source, target)
        self._family(len(target))
        if not isinstance(source, Arrays):
            raise ValueError("a covariance_estimator needs all rows in memory: fit it to arrays.")
        if source.w is not None:
            raise ValueError("sample_weight cannot be passed on to a covariance_estimator.")
        X = source.X.to_array()
        refuse_cells(X, gaps=False)
        assert source.y is not None
        codes = code(source.y, target)
        by_class = [X[codes == k] for k in range(len(target))]
        n = np.array([len(rows) for rows in by_class], dtype=np.float64)
        mean = np.stack([rows.mean(axis=0) for rows in by_class])
        cov = np.stack([covariance_by(self.covariance_estimator, rows) for rows in by_class])
        return self._custom(n, mean, cov, X), None

    def _custom(self, n: Floats, mean: Floats, cov: Floats, X: Floats) -> Bayes:
        raise NotImplementedError


def covariance_by(estimator: Any, rows: Floats) -> Floats:
    """The covariance that an estimator of the user's finds in these rows."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"covariance_estimator={estimator!r}: it is an object with a method fit, such as "
            "sklearn.covariance.OAS()"
        )
    fitted = clone(estimator, safe=False)  # it need not be one of scikit-learn's
    fitted.fit(rows)
    if not hasattr(fitted, "covariance_"):
        raise ValueError(f"{type(estimator).__name__} does not have a covariance_ attribute")
    return np.atleast_2d(fitted.covariance_)
