"""What flows through a pass: chunks of rows, read by lazy parts that a source cuts; arrays as a source."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data.errors import NonFinite
from likelier.data.labels import code
from likelier.data.matrix import CSR, Block, Dense, Rows

# What flows through a pass: chunks of rows, read by lazy parts, which a source cuts.

# As long as nobody has counted the rows before theirs, rows have numbers from here on, a range of so many
# for each file or partition: enough to find a row by, but nothing may be drawn by what depends on the cut.
UNNUMBERED = 1 << 40


class Chunk(NamedTuple):
    """Some rows in memory.

    y: (n,) codes (int32, -1 = unlabelled), (n, K) soft labels, or, before they are coded, raw labels.
    first: number of the first row in the whole source. offset: added to each row's scores, (n,) or (n, q).
    """

    X: Block
    y: NDArray[Any] | None = None
    w: Floats | None = None
    first: int = 0
    offset: Floats | None = None

    def take(self, rows: Rows) -> "Chunk":
        """Some of its rows; `first` is right for a run of them."""
        y = None if self.y is None else self.y[rows]
        w = None if self.w is None else self.w[rows]
        first = self.first + int(rows.start or 0) if isinstance(rows, slice) else self.first
        offset = None if self.offset is None else self.offset[rows]
        return self._replace(X=self.X.take(rows), y=y, w=w, first=first, offset=offset)


def by_gaps(chunk: Chunk) -> tuple[Chunk, Chunk, NDArray[np.bool_]]:
    """The rows that are complete, those that lack a cell, and which these are. Infinite cells: refused."""
    where = _core.infinite(chunk.X.native())
    if where is not None:
        raise NonFinite(chunk.first + where[0], where[1], chunk.X.cell(*where))
    gone = chunk.X.gappy()
    return chunk.take(np.flatnonzero(~gone)), chunk.take(np.flatnonzero(gone)), gone


# A part reads itself, in whichever worker runs it: lazy and picklable.
Part = Callable[[], Iterable[Chunk]]


class Source(Protocol):
    """Rows that can be read again and again, cut into parts.

    The cut is a function of the data and the size of the state that will absorb them, never of the
    number of workers: so the same rows are always added up in the same order.
    """

    @property
    def p(self) -> int:
        """How many columns X has."""

    @property
    def names(self) -> NDArray[Any] | None:
        """Their names, if they have any."""

    @property
    def rows(self) -> int | None:
        """How many rows; None: not known before they are read."""

    @property
    def y_shape(self) -> tuple[int, ...]:
        """The shape of a row of y: () for one label or number."""

    def coded(self, levels: NDArray[Any], /) -> "Source":
        """The same with labels as codes: their places among the sorted `levels`, -1 for any other."""

    def labels(self) -> "Source":
        """For the survey: of each chunk every label, once, and as w (labels, 2) the weight and number of
        its rows; of X only how many rows. Or the rows as they are, which the survey then counts.
        """

    def place(self, row: int, /) -> str:
        """How to find a row, from its number."""

    def parts(self, state_bytes: int, /) -> Sequence[Part]: ...


@runtime_checkable
class Stored(Source, Protocol):
    """A source that users pass: its y and weights come with it."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns of y."""

    def taking(self, features: Sequence[str], /, *, y: bool) -> Self:
        """The same rows with these columns as X, with or without y and weights."""

    def partly(self) -> Self:
        """The same rows, of which some may lack a label."""

    def others(self, columns: Sequence[str], /) -> Mapping[str, str]:
        """Which of these columns are no numbers, and what they are."""

    def texts(self, columns: Sequence[str], /) -> frozenset[str]:
        """Which of these columns are text, and could be categories."""

    def categorised(self, columns: Collection[str], /) -> Self:
        """The same with these columns as categories."""

    def worded(self) -> Self:
        """The same with text and booleans as categories."""


@runtime_checkable
class Widening(Stored, Protocol):
    """A stored source that does not say how many columns there are, only how many have been met."""

    def widened(self, p: int, /) -> Self:
        """The same rows with p columns, of which the last may be 0 throughout."""


def columns_of(source: Source) -> Sequence[Any]:
    """By which a source knows its columns: names, or, of those that have none, numbers."""
    return range(source.p) if source.names is None else [str(name) for name in source.names]


# The source over arrays in memory.

# A part is this much of X, or four times the state that absorbs it, whichever is more: enough work to
# be worth a task and a merge. One part is one chunk: the kernels cut it into cache-sized tiles.
PART_BYTES = 8 << 20


@dataclass(frozen=True)
class Arrays:
    """X, labels and weights in memory. With `levels`, the chunks carry codes instead of labels."""

    X: Block
    y: NDArray[Any] | None = None
    w: Floats | None = None
    levels: NDArray[Any] | None = None
    names: NDArray[Any] | None = None
    offset: Floats | None = None  # (n,) or (n, q)

    def __len__(self) -> int:
        return self.X.shape[0]

    @cached_property
    def p(self) -> int:
        return self.X.shape[1]

    @cached_property
    def rows(self) -> int:
        return len(self)

    @property
    def y_shape(self) -> tuple[int, ...]:
        return () if self.y is None else self.y.shape[1:]

    def labels(self) -> Self:
        return self

    def place(self, row: int) -> str:
        return f"row {row}"

    def coded(self, levels: NDArray[Any]) -> Self:
        return replace(self, levels=levels)

    @cached_property
    def whole(self) -> Chunk | None:
        """All rows as one chunk, where they are one part whatever state absorbs them; else None."""
        n = len(self)
        small = n <= max(1, PART_BYTES // max(1, self.X.row_bytes))
        return next(self._read(0, n)) if small else None

    def parts(self, state_bytes: int) -> Sequence[Part]:
        rows = max(1, max(PART_BYTES, 4 * state_bytes) // max(1, self.X.row_bytes))
        n = len(self)
        if n <= rows:
            return [partial(self._read, 0, n)]
        count = -(-n // rows)
        cuts = [n * i // count for i in range(count + 1)]
        return [partial(self._read, *ends) for ends in pairwise(cuts)]

    def _read(self, start: int, stop: int) -> Iterator[Chunk]:
        if stop - start == len(self):
            y = self.y if self.y is None or self.levels is None else code(self.y, self.levels)
            yield Chunk(self.X, y, self.w, start, self.offset)
            return
        y = None if self.y is None else self.y[start:stop]
        if y is not None and self.levels is not None:
            y = code(y, self.levels)
        w = None if self.w is None else self.w[start:stop]
        offset = None if self.offset is None else self.offset[start:stop]
        yield Chunk(self.X.rows(start, stop), y, w, start, offset)


def single(source: Source) -> bool:
    """Whether the rows are in memory, in single precision."""
    return isinstance(source, Arrays) and source.X.single


# Dense rows of which nearly all cells are 0, such as indicators of categories, as a compressed matrix.

FEW_COLUMNS = 500  # up to which rows are small enough as they are
FULL = 0.05  # of the cells, from which on dense rows are faster
GLANCED = 32  # rows that are looked at before all are


def compressed(source: Source, few_columns: int = FEW_COLUMNS) -> Source:
    """The same rows, where that makes passes over them cheaper; else the source itself."""
    if not isinstance(source, Arrays) or not isinstance(source.X, Dense):
        return source
    n, p = source.X.shape
    if p <= few_columns or n == 0 or not _mostly_zero(source.X.array[:: max(1, n // GLANCED)]):
        return source
    counts, native = np.empty(n, dtype=np.int64), source.X.native()
    _core.count_stored(native, counts)
    stored = int(counts.sum())
    if stored > FULL * n * p or stored > np.iinfo(np.int32).max:
        return source
    values, columns = np.empty(stored), np.empty(stored, dtype=np.int32)
    _core.store_cells(native, values, columns)
    starts = np.append(0, np.cumsum(counts)).astype(np.int32)
    return replace(source, X=CSR(values, columns, starts, p))


def _mostly_zero(rows: np.ndarray) -> bool:
    return bool(np.count_nonzero(rows) <= FULL * rows.size)
