"""Labels to codes: one native pass over the rows, and a sort of the levels alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import _core

Codes = NDArray[np.int32]


def first_seen(y: NDArray[Any]) -> tuple[Codes, NDArray[Any]]:
    """Codes by first appearance, and the levels in that order."""
    if y.dtype.char == "g":  # wider than a double, and padded: not by its bytes
        levels, places = np.unique(y, return_inverse=True)
        return places.astype(np.int32), levels
    if y.dtype.kind == "T":  # strings of any length
        y = y.astype(object)
    kind = y.dtype.kind
    if kind == "O":
        table: dict[Any, int] = {}
        codes = np.fromiter((table.setdefault(v, len(table)) for v in y), np.int32, len(y))
        levels = np.empty(len(table), dtype=object)
        levels[:] = list(table)
        return codes, levels
    y = np.ascontiguousarray(y)
    if not y.dtype.isnative:
        y = y.astype(y.dtype.newbyteorder("="))
    if kind in "iu":
        codes, first = _core.code(y)
    elif kind == "f":
        bits = (y.astype(np.float64) + 0.0).view(np.int64)  # + 0.0: -0 is 0
        codes, first = _core.code(bits)
    else:  # bool, str, bytes, dates: so many bytes a label
        codes, first = _core.code_bytes(y.view(np.uint8).reshape(len(y), y.dtype.itemsize))
    return codes, y[first]


def levels_of(y: NDArray[Any]) -> NDArray[Any]:
    """The distinct labels, sorted."""
    levels = first_seen(y)[1]
    try:
        levels.sort()
    except TypeError:
        kinds = sorted({type(v).__name__ for v in levels})
        raise TypeError(
            f"labels of mixed types ({', '.join(kinds)}) cannot be ordered: make them all strings"
        ) from None
    return levels


def code(y: NDArray[Any], levels: NDArray[Any]) -> Codes:
    """The place of each label among the sorted `levels`; -1 if it is none of them."""
    codes, seen = first_seen(y)
    try:
        at = np.searchsorted(levels, seen)
    except TypeError:  # of another type: none of them
        return np.full(len(y), -1, dtype=np.int32)
    at[at == len(levels)] = 0
    known = levels[at] == seen if len(levels) else np.zeros(len(seen), dtype=bool)
    _core.recode(codes, np.where(known, at, -1).astype(np.int32))
    return codes
