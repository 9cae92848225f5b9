"""Families as users name them, where no rows are needed to settle anything."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from likelier.families import Categorical, Family, MixedFamily
from likelier.families.named import BY_COLUMN, NEEDS_ROWS, OF_GROUPS, Settled, Smoothing
from likelier.families.named import family_of as named

KNOWN = [name for name in (*BY_COLUMN, *OF_GROUPS) if name not in NEEDS_ROWS] + ["categorical"]


def family_of(given: Any, names: Any = None) -> Family:
    """A family: by its name, as it is, or one for each group of columns, {column or columns: family}.

    Columns are named, if `names` (p,) are known, or numbered. "categorical" is of codes, whole numbers from
    0 on: as many categories as are met.
    """
    if isinstance(given, Mapping) and given:
        return MixedFamily(tuple((_numbers(key, names), family_of(value)) for key, value in given.items()))
    if isinstance(given, str) and given == "categorical":
        return Categorical(None)
    if isinstance(given, str) and given in KNOWN:
        return named(given, [Settled(given)], Smoothing(lent=0.0))
    if isinstance(given, str | type) or not (hasattr(given, "stats") and hasattr(given, "estimate")):
        raise ValueError(
            f"families={given!r:.80}: it is a Family, one of {', '.join(KNOWN)}, or a dict of them by the "
            "names or numbers of columns"
        )
    family: Family = given
    return family


def _numbers(key: Any, names: Any) -> np.ndarray[Any, np.dtype[np.intp]]:
    known = {} if names is None else {str(name): j for j, name in enumerate(names)}
    listed = tuple(known.get(each, each) for each in (key if isinstance(key, tuple) else (key,)))
    if not listed or not all(isinstance(j, int | np.integer) and j >= 0 for j in listed):
        raise ValueError(f"families: {key!r:.80} is no name or number of a column, and no tuple of them")
    return np.array(listed, dtype=np.intp)
