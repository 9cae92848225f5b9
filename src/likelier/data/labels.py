"""Labels and categories as codes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Codes, Floats

# Labels to codes: one native pass over the rows, and a sort of the levels alone.


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


def sums_by_code(codes: NDArray[Any], w: NDArray[np.float64] | None, K: int) -> NDArray[np.float64]:
    """(K,), the weight of each code's rows; without weights, how many they are."""
    return np.bincount(codes, w, K).astype(np.float64, copy=False)


def tallied(y: NDArray[Any], w: NDArray[np.float64] | None) -> "Tallied":
    """Labels as codes, and what there is of each, from one pass over the rows."""
    codes, seen = first_seen(y)
    rows = sums_by_code(codes, None, len(seen))
    n = rows if w is None else sums_by_code(codes, w, len(seen))
    levels = levels_of(seen[n > 0])
    at = code(seen, levels)  # of the labels alone
    _core.recode(codes, at)
    there = np.argsort(at, kind="stable")[len(at) - len(levels) :]
    return Tallied(codes, levels, n[there], rows[there])


def label_counts(
    codes: NDArray[Any], values: NDArray[Any], w: NDArray[np.float64] | None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The values that some row has, and of each the weight and the number of its rows (values, 2).

    codes: the place of each row's value among the values, which may repeat.
    """
    rows = sums_by_code(codes, None, len(values))
    n = rows if w is None else sums_by_code(codes, w, len(values))
    used = rows > 0
    return values[used], np.column_stack([n[used], rows[used]])


def with_weight(labels: NDArray[Any], counts: NDArray[np.float64]) -> NDArray[Any]:
    """Those of which some row has a weight, by what `label_counts` found; text as wide as the longest."""
    some = labels[counts[:, 0] > 0]
    return np.array(some.tolist(), dtype=str) if some.dtype.kind == "U" else some


class Tallied(NamedTuple):
    """Rows by their labels: the place of each among the labels of rows with a weight, -1 for any other."""

    codes: Codes  # (n,)
    levels: NDArray[Any]  # (K,), sorted
    n: NDArray[np.float64]  # (K,), the weight of their rows
    rows: NDArray[np.float64]  # (K,), how many they are, whatever their weights


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


# Columns of categories, as codes.

_EXACT = 2.0**53  # whole numbers up to here are doubles


@dataclass(frozen=True, slots=True)
class Factor:
    """A column of categories: the place of each row's among the sorted levels.

    -1 where it is missing; one past the last where it is none of the levels, which is not the same: see
    `coded`. Every method keeps the two apart.
    """

    codes: Codes  # (n,)
    levels: NDArray[Any]  # objects, each once

    @classmethod
    def of(cls, codes: NDArray[Any], values: list[Any]) -> Self:
        """From places among values in any order, which may repeat or be None; -1: missing."""
        held = np.empty(len(values), dtype=object)
        held[:] = values
        levels = levels_of(held[[value is not None for value in values]])
        return cls(_places(levels, values, -1)[codes], levels)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.codes[rows], self.levels)

    @property
    def itemsize(self) -> int:
        return self.codes.itemsize

    def used(self) -> NDArray[Any]:
        """The levels that some row has."""
        return np.asarray(self.levels[self._met()])

    def compact(self) -> Self:
        """The same with no other levels than some row has."""
        met = self._met()
        if met.all():
            return self
        used = np.flatnonzero(met)
        place = np.full(len(self.levels) + 2, -1, dtype=np.int32)  # the last: of a missing cell
        place[used], place[-2] = np.arange(len(used)), len(used)
        return type(self)(place[self.codes], self.levels[used])

    def _met(self) -> NDArray[np.bool_]:
        """Of each level, whether some row has it."""
        return np.asarray(np.bincount(self.codes + 1, minlength=len(self.levels) + 2)[1:-1] > 0)

    def numbers(self) -> Floats:
        """The codes as numbers, NaN where one is missing."""
        return np.where(self.codes < 0, np.nan, self.codes)

    def coded(self, levels: NDArray[Any]) -> Self:
        """The same by other sorted levels: -1 where missing, and one more than theirs where unknown.

        The two differ in what they say: of a missing value nothing is known; an unknown one is none of
        the levels, and a model may have kept some probability for that.
        """
        if levels is self.levels or np.array_equal(levels, self.levels):
            return type(self)(self.codes, levels)
        return type(self)(_places(levels, self.levels, len(levels))[self.codes], levels)


def numbers_among(values: NDArray[Any], levels: NDArray[Any]) -> Factor | None:
    """Numbers as places among sorted levels that are numbers too; None: some of these are not.

    A search for each value, where to list the different values first is to sort them all.
    """
    if not all(isinstance(level, int | float) and abs(level) <= _EXACT for level in levels.tolist()):
        return None
    held, x = levels.astype(np.float64), np.asarray(values, dtype=np.float64)
    at = np.searchsorted(held, x)
    met = np.append(held, np.nan)[at] == x  # of NaN, which nothing equals, too
    codes = np.where(met, at, np.where(np.isnan(x), -1, len(held)))
    return Factor(codes.astype(np.int32), levels)


def _places(levels: NDArray[Any], values: Iterable[Any], other: int) -> Codes:
    """The place of each value among the levels, or `other`.

    At the end stand `other`, for the code of what is none of the values, and -1, which a code of -1 takes.
    """
    place = {level: i for i, level in enumerate(levels)}
    return np.array([*(place.get(value, other) for value in values), other, -1], dtype=np.int32)
