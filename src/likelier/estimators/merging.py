"""Models fitted apart, made one."""

from collections.abc import Sequence
from typing import Any, Literal

from likelier.estimators import door
from likelier.estimators.online import OnlineClassifier
from likelier.streams.averaging import averaged


def merge(models: Sequence[Any], classes: Literal["union"] | None = None) -> Any:
    """One model, equal to a fit to the rows of all of them. See `merge` of the estimators."""
    if not models:
        raise ValueError("merge needs at least one model")
    first, *others = models
    if hasattr(first, "learn_one"):
        raise TypeError(
            f"a {type(first).__name__} cannot be merged: each of its steps depends on those before it. "
            "likelier.average(models) is an approximation."
        )
    if not hasattr(first, "merge"):
        raise TypeError(
            f"a {type(first).__name__} cannot be merged: its fit is no sum over rows. Fit to all rows, "
            "or go on with partial_fit where it has one."
        )
    return first.merge(*others) if classes is None else first.merge(*others, classes=classes)


def average(models: Sequence[Any], weights: Sequence[float] | None = None) -> OnlineClassifier:
    """One online model from several that learned apart, with the same settings and classes.

    An approximation, not the model that all rows would have given: each weight is the mean of theirs, by
    how much each has learned of its feature. weights: of the models, by default all alike.
    """
    for i, model in enumerate(models):
        if not isinstance(model, OnlineClassifier):
            raise TypeError(
                f"average takes OnlineClassifiers, and model {i} is a {type(model).__name__}: "
                "likelier.merge joins models whose fit is a sum over rows, and exactly."
            )
        door.fitted(model)
    found = OnlineClassifier.of(averaged([model._model for model in models], weights), models[0].passes)
    for name in ("n_features_in_", "feature_names_in_"):
        if name in vars(models[0]):
            setattr(found, name, getattr(models[0], name))
    return found
