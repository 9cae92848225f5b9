"""What an online model has met so far."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.streams.model import Online, labels_array

Floats = NDArray[np.float64]


class Met:
    """Counts of rows, mistakes and cells, and the weights of single features, as fitted attributes."""

    _model: Online

    def _known(self, name: str) -> Online:
        if "_model" not in vars(self):
            raise AttributeError(f"{name} is there once a row has been learned from")
        return self._model

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of `predict_proba`."""
        return labels_array(self._known("classes_").labels)

    @property
    def class_count_(self) -> Floats:
        """The weight of the rows of each class."""
        model = self._known("class_count_")
        counts = model.intake.counts
        return np.array(counts + [0.0] * (model.K - len(counts)))

    @property
    def mistakes_(self) -> int:
        """Rows whose label, before it was learned from, was not the answer."""
        return self._known("mistakes_").intake.mistakes

    @property
    def skipped_(self) -> int:
        """Cells of rows learned from that were NaN or infinite."""
        return self._known("skipped_").intake.skipped

    @property
    def steps_(self) -> int:
        """Rows learned from."""
        return self._known("steps_").learner.counters["steps"]

    @property
    def clipped_(self) -> int:
        """Steps cut short, lest weights run away."""
        return self._known("clipped_").learner.counters["clipped"]

    @property
    def used_(self) -> int:
        """How many of the 2^bits weights features have taken."""
        return self._known("used_").learner.counters["used"]

    @property
    def collision_rate_(self) -> float:
        """The share of cells learned from that met another feature's weight."""
        counted = self._known("collision_rate_").learner.counters
        return counted["collisions"] / max(counted["cells"], 1)

    @property
    def nonzero_(self) -> int:
        """How many weights are not 0: fewer than `used_` where l1 has taken them away."""
        return _core.online_nonzero(self._known("nonzero_").learner)

    def weight_of(self, name: str, word: Any = None) -> dict[Any, float]:
        """What a number of this name, or this word, adds to the score of each class (of two: the second).

        Features that share a slot share the weight.
        """
        model = self._known("weight_of")
        text = None if word is None else str(word)
        W = _core.online_weights(model.learner, _core.key_of(str(name), text))
        return dict(zip(model.labels if len(W) > 1 else model.labels[1:2], W, strict=False))
