"""Families as users name them, where no rows are needed to settle anything."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from likelier.families import Family, MixedFamily
from likelier.families.named import BY_COLUMN, NEEDS_ROWS, OF_GROUPS, Settled, Smoothing
from likelier.families.named import family_of as named

KNOWN = [name for name in (*BY_COLUMN, *OF_GROUPS) if name not in NEEDS_ROWS]


def family_of(given: Any) -> Family:
    """A family: by its name, as it is, or one for each group of columns, {number or numbers: family}."""
    if isinstance(given, Mapping) and given:
        return MixedFamily(tuple((_numbers(key), family_of(value)) for key, value in given.items()))
    if isinstance(given, str) and given in KNOWN:
        return named(given, [Settled(given)], Smoothing(lent=0.0))
    if isinstance(given, str | type) or not (hasattr(given, "stats") and hasattr(given, "estimate")):
        raise ValueError(
            f"families={given!r:.80}: it is a Family, one of {', '.join(KNOWN)}, or a dict of them by the "
            "numbers of columns"
        )
    family: Family = given
    return family


def _numbers(key: Any) -> np.ndarray[Any, np.dtype[np.intp]]:
    listed = key if isinstance(key, tuple) else (key,)
    if not listed or not all(isinstance(j, int | np.integer) and j >= 0 for j in listed):
        raise ValueError(f"families: {key!r:.80} is no number of a column, and no tuple of them")
    return np.array(listed, dtype=np.intp)
