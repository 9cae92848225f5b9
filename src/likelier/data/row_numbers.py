"""The numbers of rows in a table that is cut into pieces: files, or partitions of a Dask collection."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from likelier.data.chunk import UNNUMBERED, Chunk, Part
from likelier.data.matrix import Dense
from likelier.data.transforms import Partitions

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
class Uncounted:
    """The pieces that nobody has counted, as a source of rows without cells."""

    pieces: Sequence[Part]
    cluster: Any
    partitions: Partitions | None = None
    rows: None = None

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return self.pieces
