"""Models that are asked and taught row by row."""

import inspect
import math
from collections.abc import Hashable, Mapping
from typing import Any

Answer = dict[Any, float]  # p by label; empty: the model has nothing to say

OFF = 1e-4  # probabilities sum to 1 up to this
WEIGHTS = ("sample_weight", "w", "weight")  # names that a weight has in `learn_one`


class Asked:
    """A model with `learn_one(x, y)` and `predict_proba_one(x)` or `predict_one(x)`, of whatever make.

    A model that foretells labels only is taken to be sure of them.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.taught: dict[Any, int] = {}  # labels in the order in which they were first learned
        self._takes = _weight_name(model)
        self._sure = not hasattr(model, "predict_proba_one")
        if not hasattr(model, "learn_one") or (self._sure and not hasattr(model, "predict_one")):
            raise TypeError(
                f"{type(model).__name__} has no learn_one and predict_proba_one or predict_one: such a "
                f"model cannot answer and learn row by row"
            )

    def ask(self, x: Any) -> Answer:
        """The probability of each label."""
        if not self._sure:
            try:
                return _checked(self.model.predict_proba_one(x))
            except NotImplementedError:  # as River's models say that they have labels only
                self._sure = True
        label = self.model.predict_one(x)
        return {} if label is None else {label: 1.0}

    def teach(self, x: Any, y: Any, weight: float = 1.0) -> None:
        """One row; a weight of 0 teaches nothing."""
        check_label(y)
        check_weight(weight)
        if weight == 0:
            return
        if weight == 1:
            self.model.learn_one(x, y)
        elif self._takes is None:
            raise TypeError(f"{type(self.model).__name__}.learn_one takes no weight: leave weights out")
        else:
            self.model.learn_one(x, y, **{self._takes: weight})
        self.taught.setdefault(y, len(self.taught))


def _weight_name(model: Any) -> str | None:
    try:
        parameters = inspect.signature(model.learn_one).parameters
    except (AttributeError, TypeError, ValueError):  # none, or native without a signature
        return None
    return next((name for name in WEIGHTS if name in parameters), None)


def _checked(answer: Mapping[Any, float]) -> Answer:
    total = sum(answer.values())
    if total == 0:
        return {}
    if not abs(total - 1) <= OFF or min(answer.values()) < 0:
        raise ValueError(f"the model answered {dict(answer)}: probabilities are at least 0 and sum to 1")
    return dict(answer)


def check_label(y: Any) -> None:
    """Whether it can be one."""
    if y is None or not isinstance(y, Hashable) or y != y:
        raise TypeError(f"the label {y!r:.80} is none: labels are strings, numbers or truth values")


def check_weight(weight: float) -> None:
    """Whether it can be one."""
    if not 0 <= weight < math.inf:
        raise ValueError(f"the weight {weight!r} is none: weights are finite and at least 0")
