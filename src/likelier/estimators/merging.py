"""Models fitted apart, made one."""

from collections.abc import Sequence
from typing import Any, Literal


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
