"""The numbers of rows in the whole table, and folds that are drawn by them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from likelier.data.chunk import UNNUMBERED, Chunk, Part
from likelier.data.matrix import Dense, Rows
from likelier.data.transforms import Partitions

# The numbers of rows in a table that is cut into pieces: files, or partitions of a Dask collection.

Lengths = Sequence[int | None]  # rows of each piece; None: not counted


def firsts(lengths: Lengths) -> list[int]:
    """The number of each piece's first row: true ones if all rows before the last piece are counted."""
    known = [n for n in lengths[:-1] if n is not None]
    if len(known) < len(lengths) - 1:
        return [UNNUMBERED * (i + 1) for i in range(len(lengths))]
    return [0, *accumulate(known)]


def rows_of(piece: int, n: int) -> Chunk:
    """The rows of a piece, none of their cells."""
    return Chunk(Dense(np.empty((n, 0))), None, None, UNNUMBERED * (piece + 1))


def found(row: int, lengths: Lengths) -> tuple[int, int]:
    """The piece that a row is in, and its number there."""
    if row >= UNNUMBERED:
        return row // UNNUMBERED - 1, row % UNNUMBERED
    starts = firsts(lengths)
    at = bisect_right(starts, row) - 1
    return at, row - starts[at]


def check(first: int) -> None:
    """Rows by whose numbers something is drawn have true ones."""
    assert first < UNNUMBERED, "rows are drawn by their numbers, and are not numbered: use numbered(source)"


@dataclass(frozen=True)
class UncountedPieces:
    """The pieces that nobody has counted, as a source of rows without cells."""

    pieces: Sequence[Part]
    cluster: Any
    partitions: Partitions | None = None
    rows: None = None

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return self.pieces


# Which fold each row belongs to, by its number alone: the same however the rows are cut.

Numbers = NDArray[np.int32]


class Assignment(Protocol):
    """Rows to folds 0 to count - 1."""

    @property
    def count(self) -> int: ...

    def of(self, first: int, n: int, /) -> Numbers:
        """The folds of n rows, from row number `first` on."""


@dataclass(frozen=True)
class ListedFolds:
    """One number for each row, all known."""

    numbers: Numbers
    count: int

    def of(self, first: int, n: int) -> Numbers:
        return self.numbers[first : first + n]


def hashed(first: int, n: int, seed: int = 0) -> NDArray[np.uint64]:
    """A hash of each row's number, n of them from `first` on."""
    return keys_of(np.arange(first, first + n), seed)


def keys_of(numbers: NDArray[np.int64], seed: int = 0) -> NDArray[np.uint64]:
    """A hash of each row's number (splitmix64, Steele et al. 2014)."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


@dataclass(frozen=True)
class HashedFolds:
    """By chance, but always the same: a hash of the row's number."""

    count: int
    seed: int = 0

    def of(self, first: int, n: int) -> Numbers:
        check(first)
        z = hashed(first, n, self.seed)
        # The upper half as a fraction of 2^32: z mod count would favour the first folds.
        return ((z >> np.uint64(32)) * np.uint64(self.count) >> np.uint64(32)).astype(np.int32)


def consecutive(n: int, count: int) -> ListedFolds:
    """Runs of rows, the first n mod count of them one row longer: scikit-learn's KFold."""
    sizes = np.full(count, n // count)
    sizes[: n % count] += 1
    return ListedFolds(np.repeat(np.arange(count, dtype=np.int32), sizes), count)


def stratified(codes: NDArray[np.int32], count: int) -> ListedFolds:
    """Runs of the rows of each class, its rows shared out evenly: scikit-learn's StratifiedKFold.

    codes: of classes numbered as they first appear. With all rows sorted by class, fold i gets as many of
    a class as there are places i, i + count, i + 2 count ... among its own.
    """
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes))])  # (K + 1,)
    fold = np.arange(count)
    below = (ends[:, None] - fold + count - 1) // count  # how many of fold i's places lie before an end
    shares = np.diff(below, axis=0)  # (K, count)
    numbers = np.empty(len(codes), dtype=np.int32)
    numbers[_sorting(codes, len(shares))] = np.repeat(np.tile(fold, len(shares)), shares.ravel())
    return ListedFolds(numbers, count)


def _sorting(codes: NDArray[np.int32], count: int) -> NDArray[np.intp]:
    """The order of rows by code, 0 to count - 1, that of equals kept. (Narrow keys are sorted by radix.)"""
    return np.argsort(codes.astype(np.uint16) if count <= 1 << 16 else codes, kind="stable")


def runs(chunk: Chunk, folds: Assignment) -> Iterator[tuple[int, Rows]]:
    """The folds that a chunk has rows of, and which rows: as a slice where they adjoin."""
    numbers = folds.of(chunk.first, chunk.X.shape[0])
    order = _sorting(numbers, folds.count)
    ordered = numbers[order]
    present, starts = np.unique(ordered, return_index=True)
    for fold, (start, stop) in zip(present.tolist(), pairwise([*starts, len(order)]), strict=True):
        rows = order[start:stop]
        low, high = int(rows[0]), int(rows[-1]) + 1
        yield fold, slice(low, high) if high - low == len(rows) else rows
