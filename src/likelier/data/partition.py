"""What a task makes of the partitions of Dask collections that it is brought: chunks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from likelier.data import frames
from likelier.data.arrays import PART_BYTES
from likelier.data.chunk import Chunk
from likelier.data.labels import code, levels_of
from likelier.data.matrix import Block, Dense, block
from likelier.data.numbering import rows_of
from likelier.data.wrapped import AT_HAND

SAID = {"X": "X", "y": "y", "w": "sample_weight"}


@dataclass(frozen=True)
class Reading:
    """What is made of a partition's X, y and weights: all that travels."""

    columns: tuple[int, ...] | None = None  # by number; None: all of them
    categories: bool = False  # columns of text are such
    y: Literal["numbers", "labels", "codes", "count"] = (
        "numbers"  # "count": rows alone, none of their cells
    )
    levels: NDArray[Any] | None = None
    partly: bool = False  # labels may be missing
    brings: tuple[str, ...] = ()  # which of X, y and w a task is brought

    def chunks(self, number: int, first: int, length: int | None, state_bytes: int) -> Iterator[Chunk]:
        """The rows of partition `number`, the first of which has the number `first`."""
        held = dict(zip(self.brings, AT_HAND.get(), strict=True))
        n = self._length(held, number, length)
        if self.y == "count":
            yield rows_of(number, n)
        if n == 0 or self.y == "count":
            return
        w = None if "w" not in held else self._weights(held["w"], number)
        y: Any = None if "y" not in held else frames.values_of(held["y"])
        if self.y == "labels":
            found = self._labels(y, w, number)
            yield Chunk(Dense(np.empty((n, 0))), found, None, first)
            return
        X = self._block(held["X"], number) if self.columns != () else Dense(np.empty((n, 0)))
        y = None if y is None else self._numbers(y, number) if self.y == "numbers" else self._codes(y)
        whole = Chunk(X, y, w, first)
        rows = max(1, max(PART_BYTES, 4 * state_bytes) // max(1, X.row_bytes))
        for start in range(0, n, rows):
            yield whole if n <= rows else whole.take(slice(start, min(n, start + rows)))

    def _length(self, held: Mapping[str, Any], number: int, length: int | None) -> int:
        """How many rows there are: as many of one as of the others, and as was said."""
        first, *others = ((name, int(each.shape[0])) for name, each in held.items())
        for other in others:
            check_same(number, first, other)
        n = first[1]
        if length is not None and n != length:
            raise ValueError(
                f"partition {number} has {n} rows, and its collection said {length}: call "
                "compute_chunk_sizes() on it first, or persist() what is not the same each time."
            )
        return n

    def _block(self, X: Any, number: int) -> Block:
        frame = None if isinstance(X, np.ndarray) or issparse(X) else frames.frame(X)
        try:
            if frame is not None:
                some = frame if self.columns is None else frame[:, list(self.columns)]
                return frames.columns(some, categories=self.categories)
            if isinstance(X, np.ndarray) and X.dtype.kind in "OUT" and self.categories:
                found: Block = frames.of_objects(X)
            else:
                found = block(X if issparse(X) else _cells(X))
        except ValueError as wrong:
            raise ValueError(f"partition {number}: {wrong}") from None
        return found if self.columns is None else found.select(np.array(self.columns, dtype=np.intp))

    def _weights(self, w: Any, number: int) -> NDArray[np.float64]:
        found = np.ascontiguousarray(frames.values_of(w), dtype=np.float64)
        _refuse(~(np.isfinite(found) & (found >= 0)), found, number, "sample_weight", _WEIGHT)
        return found

    def _labels(self, y: NDArray[Any], w: NDArray[np.float64] | None, number: int) -> NDArray[Any]:
        """The labels of all rows that have a weight, each once: all that a survey needs."""
        gone = missing(y)
        if not self.partly:
            _refuse(gone, y, number, "y", "Input y contains NaN: every row to train on needs a label.")
        if y.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                _refuse(~gone & ~(np.floor(y) == y), y, number, "y", _CONTINUOUS)
                _refuse(np.isinf(y), y, number, "y", "Input y contains infinity.")
        elif y.dtype.kind == "c":
            _refuse(np.ones(len(y), dtype=np.bool_), y, number, "y", _CONTINUOUS)
        return levels_of(y[~gone if w is None else ~gone & (w > 0)])

    def _codes(self, y: NDArray[Any]) -> NDArray[np.int32]:
        assert self.levels is not None
        there = ~missing(y)
        if there.all():
            return code(y, self.levels)
        codes = np.full(len(y), -1, dtype=np.int32)
        codes[there] = code(y[there], self.levels)
        return codes

    def _numbers(self, y: NDArray[Any], number: int) -> NDArray[Any]:
        if y.dtype.kind not in "fiub":
            raise ValueError(f"partition {number}: y is of type {y.dtype}: a regression takes numbers.")
        bad = ~np.isfinite(y)
        _refuse(
            bad if y.ndim == 1 else bad.any(axis=1), y, number, "y", "Input y contains NaN or infinity."
        )
        return y


_WEIGHT = "Weights must be finite and not negative."
_CONTINUOUS = (
    "Unknown label type: continuous. Classes are whole numbers, strings or truths; for a target of real "
    "numbers use a regression."
)


def missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels are none: None, NaN, NaT or pandas' NA."""
    kind = y.dtype.kind
    if kind in "fc":
        return np.asarray(np.isnan(y))
    if kind in "mM":
        return np.asarray(np.isnat(y))
    if kind not in "OT":
        return np.zeros(len(y), dtype=np.bool_)
    return np.fromiter((_none(label) for label in y), np.bool_, len(y))


def _none(label: Any) -> bool:
    if label is None:
        return True
    same = label == label
    return not (isinstance(same, bool | np.bool_) and same)


def _cells(X: Any) -> NDArray[Any]:
    """A block of an array as the kernels take it."""
    cells: NDArray[Any] = np.asarray(X)
    if cells.dtype.kind in "mM":
        raise ValueError("Input X contains dates or times: give them as numbers.")
    return cells if cells.dtype.kind in "fiub" and cells.dtype.char != "g" else cells.astype(np.float64)


def _refuse(bad: NDArray[np.bool_], values: NDArray[Any], number: int, name: str, why: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row} of partition {number}: {name} is {values[row]}. {why}")


def check_same(number: int, one: tuple[str, int], other: tuple[str, int]) -> None:
    """Refuse a partition of which X, y and weights have not as many rows."""
    if one[1] != other[1]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: in partition {number}, "
            f"{SAID[one[0]]} has {one[1]} rows, {SAID[other[0]]} has {other[1]}."
        )
