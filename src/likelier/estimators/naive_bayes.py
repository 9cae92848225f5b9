"""Naive Bayes: columns independent given the class."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.estimators import door
from likelier.estimators.generative import Contributions, Generative, Scaling, seen_only
from likelier.estimators.onepass import Names
from likelier.families import Diagonal, DiagonalGaussian
from likelier.model import Bayes, log_of

Floats = NDArray[np.float64]


class GaussianNB(Generative):
    """Gaussian naive Bayes: a_k(x) = ln p(C_k) + Σ_j ln N(x_j; m_kj, v_kj).

    Drop-in for scikit-learn's, with sparse input, merging, sampling and conditional questions. To every
    variance is added `epsilon_`, `var_smoothing` times the largest column variance of all rows so far:
    one fit and many `partial_fit`s agree.

    Examples
    --------
    >>> from likelier import GaussianNB
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> model.predict(X[[0, 70]])
    array([0, 2])
    >>> model.condition({2: 5.0}).predict_proba([[5.8, 3.0, 1.8]]).round(2)
    array([[0.  , 0.11, 0.89]])
    """

    assumes = "generative; Gaussian columns, independent in each class; quadratic boundary"
    _single_shown = frozenset({"class_count_", "class_prior_", "epsilon_", "theta_", "var_"})
    _single_answers = frozenset({"predict_proba", "predict_log_proba", "predict_joint_log_proba"})

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _family(self, K: int) -> DiagonalGaussian:
        return DiagonalGaussian(door.number("var_smoothing", self.var_smoothing, 0.0))

    def _scaling(self) -> Scaling:
        return "together" if self.var_smoothing else "column"

    def _model_of(self, statistics: Any) -> Bayes:
        K = len(statistics.n)
        if self.priors is None:
            prior = statistics.n / statistics.n.sum()
        else:
            prior = seen_only(door.priors_of(self.priors, K), statistics.n)
        return Bayes(self._family(K).estimate(statistics), log_of(prior))

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        params = model.params
        assert isinstance(params, Diagonal)
        shown = super()._shown(model, statistics, target)
        theta, var = model.outside(params.mean), model.outside(params.var, 2)
        shown |= {"theta_": theta, "var_": var, "class_prior_": model.prior}
        if statistics is not None:
            shown["class_count_"] = statistics.n.copy()
            floor = self._family(len(statistics.n)).floor(statistics)
            # With smoothing, all columns are in one unit.
            shown["epsilon_"] = float(model.outside(np.full(params.shape[1], floor), 2)[0])
        return shown

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        still = (statistics.S == 0) & (statistics.seen > 0)  # (K, p)
        if still.any():
            k = int(still.any(axis=1).argmax())
            columns = np.flatnonzero(still[k])
            yield (
                f"in class {target[k]}, {len(columns)} of {still.shape[1]} columns do not vary "
                f"({door.named(names, columns)}): their variance there is epsilon_, a small share of the "
                "largest. Drop columns that are constant, or raise var_smoothing."
            )

    def contributions(self, X: Any) -> Contributions:
        """ln N(x_j; m_kj, v_kj), (n, K, p), beside ln p(C_k): together they are ln p(x, C_k).

        A missing cell contributes 0.
        """
        door.fitted(self)
        params = self._model.params
        assert isinstance(params, Diagonal)
        rows = door.dense_rows(self, X, gaps=True)
        return Contributions.of(self, self._model.parts(rows, params.parts), self._model.log_prior)
