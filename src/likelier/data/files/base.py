"""What files of all formats share, and text files in which a line is a row."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, Self

import pyarrow as pa

from likelier import _core
from likelier.data.files.locations import Stamp, is_url, opened, packing, stamp, stream
from likelier.data.transforms import is_session

# What files of every format have in common.

# Types are inferred from so much text of the first file that has rows, and hold for all.
FIRST_BYTES = 8 << 20


class Span(NamedTuple):
    """Some consecutive rows of a file that are read as one part.

    start, stop: row groups, or bytes of text, of which a stop at 0 means all.
    """

    first: int = 0
    start: int = 0
    stop: int = 0


class File(Protocol):
    """A table on disk: columns of a name and a type, read again and again."""

    @property
    def path(self) -> str: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def types(self) -> Mapping[str, Any]: ...

    @property
    def index(self) -> tuple[str, ...]:
        """Columns that only number the rows."""

    @property
    def rows(self) -> int | None:
        """None: not known before they are read."""

    def counted(self) -> int | None:
        """How many rows there are, if that is known once the file is cut; None: only reading tells."""

    def count(self) -> int:
        """How many rows there are, if need be by reading all of them."""

    def spans(self, rows: int, /) -> Sequence[Span]:
        """Cut into parts of at least so many rows, where the file can be cut."""

    def read(
        self, numbers: Sequence[str], labels: Sequence[str], span: Span, size: int, rows: int, /
    ) -> Iterator[Any]:
        """Record batches of the columns named: of at most so many rows, or about `size` bytes of text."""

    def verbatim(self, names: Sequence[str], /) -> Self:
        """The same file, these columns read as they are written in it."""

    def described(self, name: str, /) -> str:
        """The type of a column, for a message."""

    def place(self, row: int, /) -> str:
        """How to find a row."""


class ClusterFiles:
    """Files that are read here, or by the workers of a cluster."""

    files: Sequence[Any]
    cluster: Any

    @property
    def _held(self) -> str:
        """Which files, for a person."""
        n, first, last = len(self.files), self.files[0].path, self.files[-1].path
        return str(first) if n == 1 else f"{n} files, {first} to {last}"

    def __getstate__(self) -> dict[str, Any]:
        """A connection does not travel."""
        return vars(self) | {"cluster": None}

    def on(self, client: Any) -> Self:
        """The same rows, read by the workers of a cluster, which must be able to reach the files.

        Only statistics (sums and counts) are sent back. The result is the same as without a cluster, bit
        for bit.

        Parameters
        ----------
        client : distributed.Client or SparkSession
            A connection to a Dask cluster, to Spark, or to another engine (`likelier.engines.register`).

        Returns
        -------
        Scan or SparseScan
            A new source; this one is unchanged.

        Raises
        ------
        TypeError
            If client is not a connection to a cluster.
        """
        if not (hasattr(client, "submit") or is_session(client)):
            raise TypeError(
                f"scan(...).on takes a distributed.Client or a SparkSession; got {type(client).__name__}."
            )
        new: Self = replace(self, cluster=client)  # type: ignore[type-var]
        return new


class Unnumbered:
    """Text: none of its columns only numbers the rows, and how many these are is not known before."""

    @property
    def index(self) -> tuple[str, ...]:
        return ()

    @property
    def rows(self) -> None:
        return None


@contextmanager
def reading(path: str, seen: Stamp | None = None) -> Iterator[None]:
    """Errors name the file; it must be as it was when it was `seen`, from beginning to end."""
    try:
        _check_same(path, seen)
        yield
    except Exception as error:  # of filesystems elsewhere it can be any
        _check_same(path, seen)  # what has changed meanwhile is why
        known = isinstance(error, OSError | pa.ArrowException)
        if not known and (path in str(error) or not is_url(path)):
            raise
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        kind = ValueError if isinstance(error, pa.ArrowException) else OSError
        raise kind(f"{path}: cannot be read: {why}") from error
    _check_same(path, seen)


def joined(counts: Sequence[int], rows: int) -> Iterator[tuple[int, int, int]]:
    """Pieces of a file, joined until they have so many rows: first row, first piece, and the next one."""
    first, start, held = 0, 0, 0
    for i, n in enumerate(counts, 1):
        held += n
        if held >= rows or (held and i == len(counts)):
            yield first, start, i
            first, start, held = first + held, i, 0


def ahead(items: Iterator[Any]) -> Iterator[Any]:
    """The same items, each fetched while the one before it is in use."""
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item


def _check_same(path: str, seen: Stamp | None) -> None:
    if seen is None:
        return
    try:
        same = stamp(path) == seen
    except FileNotFoundError:
        raise ValueError(f"{path}: the file has been removed since it was scanned. Scan again.") from None
    if not same:
        raise ValueError(f"{path}: the file has changed since it was scanned. Scan again.")


# Text files in which a line is a row: cut at the ends of lines, read in blocks of whole lines.

UNIT = 1 << 20  # a file can be cut after the line that ends so many bytes
LONGEST = 1 << 30  # bytes of a line

_MARK = b"\xef\xbb\xbf"  # of UTF-8, which some programs write first


class Census(NamedTuple):
    """What a first look at a file has found: where its pieces begin, the rows of each, and the indices."""

    starts: tuple[int, ...]
    rows: tuple[int, ...]
    lowest: int | None = None  # None: there is no index
    highest: int | None = None

    def spans(self, rows: int) -> list[Span]:
        """Pieces, joined until they have so many rows."""
        starts = self.starts
        return [Span(first, starts[i], starts[j]) for first, i, j in joined(self.rows, rows)]


# Kept: each fit asks for it, and a file that has not changed need not be read for that.
@lru_cache(maxsize=1 << 16)
def census(path: str, seen: Stamp, indices: bool, unit: int = UNIT) -> Census:
    """One reading; indices: those of svmlight's format are looked at, too."""
    starts, rows, low, high, end = [], [], [], [], 0
    with reading(path, seen):
        for at, block in ahead(blocks(path, 0, None, unit)):
            n, lowest, highest = _core.survey_lines(block, indices)
            starts.append(at)
            rows.append(n)
            end = at + len(block)
            if lowest <= highest:
                low.append(lowest)
                high.append(highest)
    return Census((*starts, end), tuple(rows), min(low, default=None), max(high, default=None))


def can_be_cut(path: str) -> bool:
    """Whether reading can begin at any place at once."""
    return packing(path) is None and not is_url(path)


def read(path: str, seen: Stamp, span: Span, size: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines of a span, about `size` bytes at a time, each block with the byte at which it begins."""
    with reading(path, seen):
        if span.stop:  # pieces are read side by side already
            yield from blocks(path, span.start, span.stop, size)
        else:
            yield from ahead(blocks(path, 0, None, size))


def blocks(path: str, start: int, stop: int | None, size: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines from one byte to another, about `size` bytes at a time, each with where it begins."""
    with opened(path) if can_be_cut(path) else stream(path) as file:
        if start:
            file.seek(start)
        at, held = start, b""
        while block := file.read(size if stop is None else min(size, stop - at - len(held))):
            cut = block.rfind(b"\n") + 1
            if cut:
                yield _unmarked(at, held + block[:cut])
                at, held = at + len(held) + cut, block[cut:]
            else:
                held += block
            if len(held) > LONGEST:
                raise ValueError(f"{path}: a line is longer than {LONGEST >> 30} GB.")
        if held:
            yield _unmarked(at, held)


def _unmarked(at: int, block: bytes) -> tuple[int, bytes]:
    """A block, and where it begins: behind a mark, or where the block ends would be wrong."""
    marked = at == 0 and block.startswith(_MARK)
    return (len(_MARK), block[len(_MARK) :]) if marked else (at, block)


def line_at(path: str, offset: int) -> int:
    """The number, from 1, of the line that begins at this byte."""
    return 1 + sum(block.count(b"\n") for at, block in blocks(path, 0, offset, UNIT) if at < offset)


def row_line(path: str, row: int, comment: bytes = b"") -> int | None:
    """The number, from 1, of the line that is this row, blank lines and comments being none."""
    number = 0
    for _, block in blocks(path, 0, None, UNIT):
        for line in block.split(b"\n")[: block.count(b"\n") + (not block.endswith(b"\n"))]:
            number += 1
            if (line.split(comment, 1)[0] if comment else line).strip(b" \t\r"):
                if row == 0:
                    return number
                row -= 1
    return None
