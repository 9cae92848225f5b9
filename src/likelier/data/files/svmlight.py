"""Sparse rows in the text formats of svmlight and Vowpal Wabbit."""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats, row_weights
from likelier.data.chunk import PART_BYTES, Chunk, Part
from likelier.data.errors import CONTINUOUS, CROWDED, MOST_EXACT
from likelier.data.files import base
from likelier.data.files.base import ClusterFiles, Span, reading
from likelier.data.files.locations import Stamp, check_packing, stamp
from likelier.data.labels import code, first_seen, label_counts
from likelier.data.matrix import CSR, Dense, Rows

# Rows by the keys of their features, as a stream of the same text has them.


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Cells by 64-bit keys, row after row; only online models can use them."""

    keys: NDArray[np.uint64]
    values: Floats
    starts: NDArray[np.int64]  # (n + 1,)
    skipped: int = 0  # cells that were no finite numbers

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts) - 1, 0

    def take(self, rows: Rows) -> Self:
        places = np.arange(len(self.keys))
        some = CSR(self.values, places, self.starts, len(places)).take(rows)
        at = some.columns[some.starts[0] : some.starts[-1]]
        return type(self)(self.keys[at], self.values[at], some.starts - some.starts[0])

    def hashed(self, codes: NDArray[np.int32] | None, w: Floats | None) -> "_core.HashedRows":
        """For a learner; codes: of labels, None where there are none."""
        n = len(self.starts) - 1
        rows = _core.HashedRows()
        rows.extend(
            self.keys,
            self.values,
            self.starts,
            np.full(n, -1, dtype=np.int32) if codes is None else codes,
            row_weights(w, n),
        )
        return rows


def keyed(kind: str, block: bytes, crosses: Any, finite: bool) -> tuple[Any, ...]:
    """Labels (NaN: none), weights and rows of whole lines, and what is wrong with the first that is."""
    parser = _core.TextParser(kind, crosses=crosses, finite=finite)
    rows = _core.HashedRows()
    parser.parse(block, rows, True)
    keys, values, starts, codes, weights = _core.cells_of(rows)
    bad = parser.first_bad[0] if parser.first_bad else None
    try:
        numbers = [float(label) for label in parser.labels]
    except ValueError as problem:
        bad = bad or (1, f"a label is not a number ({problem})", "")
        numbers = [np.nan for _ in parser.labels]
    y = np.array([*numbers, np.nan])[codes]
    return y, weights, KeyedRows(keys, values, starts, rows.skipped), bad


# Sparse rows in svmlight's and VW's text format, larger than memory: columns that go by number.

BLOCK_BYTES = 1 << 20  # of text, a chunk
VW_BITS = 18  # of a feature's key, which are its column: as many as a learner has by default
TARGET = "label"  # what messages call it

_LARGEST = (1 << 31) - 2  # an index is a number of 32 bits
_COMMENT: Mapping[str, bytes] = {"svmlight": b"#", "vw": b""}


class SparseFile(NamedTuple):
    """A file of one row a line."""

    path: str
    kind: str
    seen: Stamp

    @property
    def census(self) -> base.Census:
        return base.census(self.path, self.seen, self.kind == "svmlight", base.UNIT)

    @property
    def rows(self) -> int:
        return sum(self.census.rows)

    def spans(self, size: int) -> list[Span]:
        """Cut into parts of about so many bytes, where the file can be cut."""
        if not base.can_be_cut(self.path):
            return [Span()]
        found = self.census
        return found.spans(size * self.rows // max(1, found.starts[-1]))

    def place(self, row: int) -> str:
        """How to find a row."""
        line = base.row_line(self.path, row, _COMMENT[self.kind])
        return f"row {row}{f' (line {line})' if line else ''} of {self.path}"

    def bad(self, offset: int, line: int, why: str, text: str) -> ValueError:
        """What is wrong with a line of the block that begins at `offset`."""
        number = base.line_at(self.path, offset) + line - 1
        return ValueError(f"{self.path}, line {number}: {why}: {text!r}. Mend or drop it.")


@dataclass(frozen=True)
class SparseReader:
    """What is made of lines: X of so many columns or nothing, and y as numbers, labels or codes."""

    kind: str
    shift: int  # an index less this is its column
    p: int
    X: Literal["none", "columns", "keys"] = "columns"
    y: Literal["none", "numbers", "labels", "codes"] = "numbers"
    levels: NDArray[Any] | None = None
    partly: bool = False  # labels may be missing
    crosses: Sequence[Sequence[str]] = ()  # of features that go by their keys
    finite: bool = False  # a number that is not is refused

    def chunks(self, file: SparseFile, number: int, span: Span, size: int) -> Iterator[Chunk]:
        """The rows of a span, `number` being that of the file's first row."""
        at = span.first
        with reading(file.path, file.seen):
            for offset, block in base.read(file.path, file.seen, span, size):
                y, w, X, bad = self._rows(block)
                if bad is not None:
                    raise file.bad(offset, *bad)
                if len(y):
                    yield self._chunk(X, y, w if self.kind == "vw" else None, file, at, number)
                at += len(y)

    def _rows(self, block: bytes) -> tuple[Any, ...]:
        if self.X == "keys":
            return keyed(self.kind, block, self.crosses, self.finite)
        y, w, starts, columns, values, bad = (
            _core.svmlight_rows(block, self.shift, self.X != "none")
            if self.kind == "svmlight"
            else _core.vw_rows(block, self.p.bit_length() - 1)
        )
        X = CSR(values, columns, starts, self.p) if self.X == "columns" else _nothing(len(y))
        return y, w, X, bad

    def _chunk(
        self,
        X: Any,
        y: Floats,
        w: Floats | None,
        file: SparseFile,
        at: int,
        number: int,
    ) -> Chunk:
        if self.y == "none":
            return Chunk(X, None, None, number + at)
        if self.y == "codes":
            assert self.levels is not None
            return Chunk(X, code(y, self.levels), w, number + at)
        if not self.partly:
            _refuse(np.isnan(y), file, at, "the line has no label. Every row to train on needs one.")
        if self.y == "numbers":
            return Chunk(X, y, w, number + at)
        there = ~np.isnan(y)
        _refuse(there & (y != np.floor(y)), file, at, f"the label is not an integer. {CONTINUOUS}")
        _refuse(there & (np.abs(y) >= MOST_EXACT), file, at, f"the label is too large. {CROWDED}")
        labels, counts = label_counts(*first_seen(y[there]), None if w is None else w[there])
        return Chunk(_nothing(len(y)), labels, counts, number + at)


def _nothing(n: int) -> Dense:
    """X where no column of it is asked for."""
    return Dense(np.empty((n, 0)))


def _refuse(bad: NDArray[np.bool_], file: SparseFile, at: int, why: str) -> None:
    if bad.any():
        raise ValueError(f"{file.place(at + int(np.argmax(bad)))}: {why}")


def scan_lines(paths: Sequence[str], kind: str) -> "SparseScan":
    """The rows of files, after one reading that finds how many columns they have."""
    files = []
    for path in paths:
        with reading(path):
            seen = stamp(path)
            check_packing(path)
        files.append(SparseFile(path, kind, seen))
    if not any(file.rows for file in files):
        beside = f", nor in the {len(files) - 1} other files" if len(files) > 1 else ""
        raise ValueError(f"{files[0].path}: no rows{beside}.")
    if kind == "vw":
        return SparseScan(tuple(files), SparseReader(kind, 0, 1 << VW_BITS))
    lowest, highest = _indices(files)
    shift = min(lowest, 1)
    return SparseScan(tuple(files), SparseReader(kind, shift, highest - shift + 1))


def _indices(files: Sequence[SparseFile]) -> tuple[int, int]:
    """The smallest and the largest index of all files."""
    found: list[int] = []
    for file in files:
        low, high = file.census.lowest, file.census.highest
        if low is None or high is None:
            continue
        if high > _LARGEST:  # the pass that reads the lines finds the first that is wrong
            for _ in SparseReader("svmlight", 0, _LARGEST).chunks(file, 0, Span(), BLOCK_BYTES):
                pass
        found += [low, high]
    if not found:
        raise ValueError(f"{files[0].path}: no line has an index:value: there are no columns.")
    return min(found), max(found)


@dataclass(frozen=True, repr=False, eq=False)
class SparseScan(ClusterFiles):
    """Sparse rows in svmlight or VW files, as returned by `scan`; files are split into parts at line ends.

    Compressed and remote files are one part each.

    Attributes
    ----------
    rows : int
        The number of rows.
    p : int
        The number of columns of X. They have no names.
    targets : tuple of str
        The name of the target, which stands first on each line; empty if the rows have no labels.

    See Also
    --------
    scan : Open files as a source.
    """

    files: tuple[SparseFile, ...]
    reading: SparseReader
    cluster: Any = field(default=None, compare=False)  # a Dask client, whose workers read; None: we do

    def __repr__(self) -> str:
        y = "" if self.reading.y == "none" else f", target={TARGET!r}"
        return f"<Scan of {self._held}: {self.rows} sparse rows, {self.p} features{y}>"

    @property
    def p(self) -> int:
        """The number of columns of X."""
        return 0 if self.reading.X == "none" else self.reading.p

    @property
    def names(self) -> None:
        return None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(file.rows for file in self.files)

    @property
    def y_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def targets(self) -> tuple[str, ...]:
        """The name of the target, which stands first on each line."""
        return () if self.reading.y == "none" else (TARGET,)

    def labels(self) -> Self:
        """The labels alone, each of a chunk once."""
        return self._reading(X="none", y="labels")

    def partly(self) -> Self:
        """The same rows, of which some may lack a label."""
        return self._reading(partly=True)

    def coded(self, levels: NDArray[Any]) -> Self:
        return self._reading(y="codes", levels=levels)

    def taking(self, features: Sequence[Any], *, y: bool) -> Self:
        """The same rows with all columns or none as X, with or without y and weights."""
        if len(features) not in (0, self.p):
            raise ValueError(f"{self.files[0].path}: its columns have no names: X is all of them, or none.")
        how = {} if y else {"y": "none"}
        return self._reading(**how, **({} if features else {"X": "none"}))

    def widened(self, p: int) -> Self:
        """The same rows with p columns, of which the last may be 0 throughout."""
        return self._reading(p=p)

    def _reading(self, **how: Any) -> Self:
        return replace(self, reading=replace(self.reading, **how))

    def others(self, columns: Sequence[str]) -> Mapping[str, str]:
        """All columns, and the target, are numbers."""
        return {}

    def texts(self, columns: Sequence[str]) -> frozenset[str]:
        return frozenset()

    def categorised(self, columns: Collection[str]) -> Self:
        return self

    def worded(self) -> Self:
        return self

    def keyed(self, crosses: Sequence[Sequence[str]], *, finite: bool) -> Self:
        """The same rows for online models: features by their keys, some of them taken together."""
        return self._reading(X="keys", crosses=tuple(crosses), finite=finite)

    def parts(self, state_bytes: int) -> Sequence[Part]:
        size = max(PART_BYTES, 4 * state_bytes)
        block = max(BLOCK_BYTES, 4 * state_bytes)
        return [
            partial(self.reading.chunks, file, number, span, block)
            for file, number in zip(self.files, self._numbers, strict=True)
            for span in file.spans(size)
        ]

    @property
    def _numbers(self) -> list[int]:
        """The number of each file's first row."""
        return [0, *accumulate(file.rows for file in self.files)][:-1]

    def place(self, row: int) -> str:
        at = bisect_right(self._numbers, row) - 1
        return self.files[at].place(row - self._numbers[at])
