"""LinearClassifier: a linear classifier with given weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from likelier.array_types import Floats
from likelier.estimators import exports, posteriors, validation
from likelier.estimators.base import InNotebooks
from likelier.estimators.to_sklearn import to_sklearn
from likelier.export.describe import Scored
from likelier.links import Link
from likelier.model import ask
from likelier.scores import Affine, Scores


class LinearClassifier(ClassifierMixin, InNotebooks):
    """Linear classifier with given weights: scores X coef_ᵀ + intercept_, and their softmax.

    It is the result of `to_linear()` of another model, already fitted, and has nothing to learn.

    Parameters
    ----------
    coef : array-like of shape (n_classes, n_features), or (1, n_features) for binary problems
        Weights of the columns.
    intercept : array-like of shape (n_classes,), or (1,) for binary problems
        Constant terms of the scores.
    classes : array-like of shape (n_classes,)
        Class labels.
    feature_names : array-like of shape (n_features,), default=None
        Column names; None: the columns have none.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features_in_), or (1, n_features_in_) for binary problems
        Weights of the columns.
    intercept_ : ndarray of shape (n_classes,), or (1,) for binary problems
        Constant terms of the scores.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names; only if they are known.

    Examples
    --------
    >>> from likelier import MultinomialNB
    >>> model = MultinomialNB().fit([[3, 0], [0, 2]], ["a", "b"])
    >>> model.to_linear().predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    _takes_blocks = True  # of chunks, in place of X

    to_sklearn = to_sklearn
    decision_function = posteriors.decision_function
    predict = posteriors.predict
    predict_proba = posteriors.predict_proba
    predict_log_proba = posteriors.predict_log_proba
    decide = posteriors.decide
    adapt_priors = posteriors.adapt_priors
    _training_shares = posteriors.training_shares

    def __init__(self, coef: Any, intercept: Any, classes: Any, feature_names: Any = None) -> None:
        self.coef = coef
        self.intercept = intercept
        self.classes = classes
        self.feature_names = feature_names

    @property
    def coef_(self) -> Floats:
        """Weights of the columns, (n_classes, n_features), or (1, n_features) for binary problems."""
        return np.atleast_2d(np.asarray(self.coef, dtype=np.float64))

    @property
    def intercept_(self) -> Floats:
        """Constant terms of the scores, (n_classes,), or (1,) for binary problems."""
        return np.atleast_1d(np.asarray(self.intercept, dtype=np.float64))

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels, (n_classes,)."""
        return np.asarray(self.classes)

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return int(self.coef_.shape[1])

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Column names, if they are known."""
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

    to_sql = exports.to_sql

    def _scored(self) -> Scored:
        """For exports."""
        return Scored(self._scores(), "softmax")

    def _ask(self, X: Any, link: Link) -> NDArray[Any]:
        rows = validation.known_rows(self, X)
        with validation.naming(rows):
            return ask(self._scores(), rows, link).out
