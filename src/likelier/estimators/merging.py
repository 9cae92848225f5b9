"""Models fitted apart, made one."""

from collections.abc import Sequence
from typing import Any, Literal


def merge(models: Sequence[Any], classes: Literal["union"] | None = None) -> Any:
    """One model, equal to a fit to the rows of all of them. See `merge` of the estimators."""
    if not models:
        raise ValueError("merge needs at least one model")
    first, *others = models
    return first.merge(*others) if classes is None else first.merge(*others, classes=classes)
