"""A linear classifier, however it was come by."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from likelier.estimators import door
from likelier.estimators.answers import LinearProbabilities
from likelier.estimators.notebook import InNotebooks
from likelier.links import Link
from likelier.model import ask
from likelier.scores import Affine, Scores

Floats = NDArray[np.float64]


class LinearClassifier(LinearProbabilities, ClassifierMixin, InNotebooks):
    """Scores X coef_ᵀ + intercept_: the reading of a model as weights, with nothing else in it.

    It comes from `to_linear()`, fitted. Two classes are one weight vector, as in scikit-learn, or two.
    """

    def __init__(self, coef: Any, intercept: Any, classes: Any, feature_names: Any = None) -> None:
        self.coef = coef
        self.intercept = intercept
        self.classes = classes
        self.feature_names = feature_names

    @property
    def coef_(self) -> Floats:
        return np.atleast_2d(np.asarray(self.coef, dtype=np.float64))

    @property
    def intercept_(self) -> Floats:
        return np.atleast_1d(np.asarray(self.intercept, dtype=np.float64))

    @property
    def classes_(self) -> NDArray[Any]:
        return np.asarray(self.classes)

    @property
    def n_features_in_(self) -> int:
        return int(self.coef_.shape[1])

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        if self.feature_names is None:
            raise AttributeError("fitted without feature names")
        return np.asarray(self.feature_names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _scores(self) -> Scores:
        W, b = self.coef_, self.intercept_
        if len(W) == 1 and len(self.classes_) == 2:  # sigma(a) is the softmax of (0, a)
            W, b = np.vstack([np.zeros_like(W), W]), np.array([0.0, b[0]])
        return Scores((Affine(b, np.ascontiguousarray(W), np.zeros(W.shape[1])),))

    def _ask(self, X: Any, link: Link) -> NDArray[Any]:
        rows = door.known_rows(self, X)
        with door.naming(rows):
            return ask(self._scores(), rows, link).out
