"""Columns of categories, as codes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data.labels import Codes, levels_of

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

    def numbers(self) -> NDArray[np.float64]:
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
