"""The share of rows whose class is found."""

from typing import Any

from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from likelier.data import Source
from likelier.estimators import door
from likelier.estimators.sources import stored
from likelier.model import levels, targets


class Scoring(ClassifierMixin):
    """scikit-learn's `score`, of rows in memory and of sources."""

    def _target_of(self, source: Source) -> NDArray[Any]:
        """The classes of a source."""
        found = levels(source)
        door.weighty(len(found))
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is found; a source brings y and weights along."""
        if stored(X):
            door.fitted(self)
            door.training(self, X, y, sample_weight, known=True)
            labels = X.taking([], y=True)
            found = self._target_of(labels)
            codes, sample_weight = targets(labels.coded(found))
            y = found[codes]
        return float(super().score(X, y, sample_weight))
