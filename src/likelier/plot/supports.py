"""Values that a density is for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.data import Dense
from likelier.plot.axes import Floats


def support_of(model: Any) -> Any:
    """Of a fitted model; None: all numbers, or it has no densities."""
    return getattr(getattr(getattr(model, "_model", None), "params", None), "support", None)


def outside(support: Any, values: Floats, place: int = 0, p: int = 1) -> NDArray[np.intp]:
    """Which of these values of one column, of p, a density is not for."""
    if support is None:
        return np.empty(0, dtype=np.intp)
    rows = np.full((len(values), p), np.nan)
    rows[:, place] = values
    found: NDArray[np.intp] = support.outside(Dense(rows))[0]
    return found


def is_whole(support: Any) -> bool:
    """Whether there is nothing between whole numbers, of a single column."""
    return bool(len(outside(support, np.array([0.5]))))


def nearest(support: Any, values: Floats, seen: Floats, place: int, p: int) -> Floats:
    """In place of values that a density is not for: whole ones, or those within what was seen."""
    found = values.copy()
    at = outside(support, found, place, p)
    found[at] = np.round(found[at])
    at = outside(support, found, place, p)
    found[at] = np.clip(found[at], np.nanmin(seen), np.nanmax(seen))
    return found
