"""A linear SVM of log count ratios."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin

from likelier.array_types import Floats
from likelier.estimators import validation
from likelier.estimators.discriminative.linear_svc import LinearSVC
from likelier.estimators.linear_classifier import LinearClassifier
from likelier.estimators.sources import stored
from likelier.threads import cores


class LogCountSVM(ClassifierMixin, BaseEstimator):
    """For each class against the rest an SVM of x_j r_j, where r_j = ln (p_j / q_j).

    p_j is the share of term j among those of the class, q_j among those of the rest, both smoothed (Wang
    and Manning 2012). Their mixture of the weights with the mean size of all is left out: its scores need
    another bias, without which classes of unequal size are predicted worse.
    """

    classes_: NDArray[Any]

    def __init__(self, C: float = 1.0, alpha: float = 1.0) -> None:
        self.C = C
        self.alpha = alpha

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows of terms."""
        if stored(X):
            raise ValueError("model='nb-svm' reads its rows several times: load the documents into memory.")
        X = sparse.csr_matrix(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        w = validation.weights_of(sample_weight, len(codes))
        ones = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        # Each has a matrix of its own, and its solver one thread.
        with ThreadPoolExecutor(min(cores(), len(ones))) as pool:
            found = list(pool.map(lambda k: self._against_rest(X, codes == k, w), ones))
        self.coef_ = np.vstack([weights for weights, _ in found])
        self.intercept_ = np.array([bias for _, bias in found])
        return self

    def _against_rest(self, X: Any, own: NDArray[np.bool_], w: Floats | None) -> tuple[Floats, float]:
        ratio = log_count_ratio(X, own, w, self.alpha)
        scaled = sparse.csr_matrix((X.data * ratio[X.indices], X.indices, X.indptr), shape=X.shape)
        model = LinearSVC(C=self.C).fit(scaled, own.astype(np.int64), w)
        return model.coef_[0] * ratio, float(model.intercept_[0])

    def _become(self, linear: LinearClassifier) -> Self:
        """Fitted to these weights."""
        self.classes_, self.coef_, self.intercept_ = linear.classes_, linear.coef_, linear.intercept_
        return self

    def _linear(self) -> LinearClassifier:
        return LinearClassifier(self.coef_, self.intercept_, self.classes_)

    def decision_function(self, X: Any) -> Floats:
        """The scores of the classes."""
        return np.asarray(self._linear().decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        return np.asarray(self._linear().predict(X))


def log_count_ratio(X: Any, own: NDArray[np.bool_], w: Floats | None, alpha: float) -> Floats:
    """ln of the share of each column among all counts of some rows, over that among those of the others."""
    weights = np.ones(len(own)) if w is None else w
    p, q = (alpha + X.T @ np.where(rows, weights, 0.0) for rows in (own, ~own))
    return np.asarray(np.log(p / p.sum()) - np.log(q / q.sum()))
