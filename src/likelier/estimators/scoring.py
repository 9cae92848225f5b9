"""What all classifiers do with labels: find the classes, and judge by them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from likelier.data import Source, code
from likelier.estimators import door
from likelier.estimators.collections import gathered
from likelier.estimators.saying import found_share, itself
from likelier.estimators.sources import stored
from likelier.estimators.weighing import warn_of_many
from likelier.model import levels, surveyed, targets


class Scoring(ClassifierMixin):
    """Classes, and scikit-learn's `score`, of rows in memory and of sources."""

    _target: NDArray[Any]  # the classes

    def _target_of(self, source: Source) -> NDArray[Any]:
        """The classes of a source."""
        found, rows = surveyed(source)
        door.weighty(len(found))
        warn_of_many(len(found), rows)
        return found

    def _known_classes(self, classes: Any) -> NDArray[Any]:
        given = None if classes is None else door.classes_of(self, classes)
        if "_model" not in vars(self):
            if given is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            return given
        if given is not None and not np.array_equal(self._target, given):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                f"{self._target!r}"
            )
        return self._target

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is found; a source brings y and weights along."""
        X, y, sample_weight = gathered(X, y, sample_weight)
        if not stored(X):
            return float(super().score(X, y, sample_weight))
        door.fitted(self)
        source = door.training(self, X, y, sample_weight, known=True)
        return found_share(self, source, itself)

    def _known_labels(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """y and weights, as they were given or as a source has them."""
        if not stored(X):
            return y, sample_weight
        door.fitted(self)
        door.training(self, X, y, sample_weight, known=True)
        labels = X.taking([], y=True)
        found = self._target_of(labels)
        codes, weights = targets(labels.coded(found))
        return found[codes], weights


def refuse_new(source: Source, known: NDArray[Any]) -> None:
    """Refuse labels that are none of the known ones."""
    found = levels(source)
    new = found[code(found, known) < 0]
    if len(new):
        raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {known}")
