"""What every linear classifier answers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.estimators.collections import by_block
from likelier.estimators.decisions import Decisions
from likelier.links import Link

Floats = NDArray[np.float64]


class LinearScores:
    """Labels and scores; a subclass asks its own scores (`_ask`)."""

    _takes_blocks = True  # of chunks, in place of X
    classes_: Any

    def _ask(self, X: Any, link: Link) -> NDArray[Any]:
        raise NotImplementedError

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """The score of each class, (n, K); of two classes their difference, (n,)."""
        Z = self._ask(X, links.identity)
        return np.asarray(Z[:, 1] - Z[:, 0]) if len(self.classes_) == 2 else Z

    @by_block
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of the largest score."""
        found = self._ask(X, links.argmax)  # refuses to answer before `fit`
        return np.asarray(self.classes_[found])


class LinearProbabilities(Decisions, LinearScores):
    """And probabilities: the softmax of the scores."""

    @by_block
    def predict_proba(self, X: Any) -> Floats:
        """p(C_k | x), (n, K)."""
        return self._ask(X, links.softmax)

    @by_block
    def predict_log_proba(self, X: Any) -> Floats:
        """ln p(C_k | x), (n, K)."""
        return self._ask(X, links.log_softmax)
