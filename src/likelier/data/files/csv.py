"""CSV and TSV files: encoding, delimiter and header found, cut where rows end, read in blocks."""

import codecs
import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from likelier import _core
from likelier.data.files.base import FIRST_BYTES, Span, Unnumbered, ahead, joined, reading
from likelier.data.files.columns import MOMENT
from likelier.data.files.locations import Stamp, check_packing, is_url, opened, packing, stamp, stream
from likelier.data.frames import described, is_date, is_number, is_text
from likelier.threads import cores

# What delimited text says of itself: its encoding, what stands between cells, the names of columns.

UTF8 = "utf-8"
_WIDE = {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # the marks that such files begin with
_OTHERS = ";\t|"  # what else programs write between cells
_SOME = 1 << 12  # bytes, among which a binary file has a zero
_UNREADABLE = "\ufffd"  # what stands for bytes that are no text


class Dialect(NamedTuple):
    """How lines are made: what stands between cells, as was `said` or by the format, and if the first line
    names the columns."""

    delimiter: str
    said: bool = False
    header: bool = True


class Heading(NamedTuple):
    """The first record of a file, and how it was read."""

    names: tuple[str, ...]
    delimiter: str
    encoding: str


def heading(path: str, how: Dialect, encoding: str | None) -> Heading:
    """The names of the columns; no encoding: UTF-16 by its mark, else UTF-8.

    Unless the delimiter was said, a first line without commas that has semicolons, tabs or bars is split at
    these. Columns of a file without a header are called "0", "1", "2", ...
    """
    code, delimiter = _encoding(path, encoding), how.delimiter
    names = _first(path, delimiter, code)
    if not names and not how.header:
        raise ValueError(f"{path}: the file is empty: its number of columns is unknown.")
    if not names:
        raise ValueError(f"{path}: the file is empty: it needs a line with the names of its columns.")
    sure = how.said or delimiter != "," or len(names) > 1
    other = next((one for one in _OTHERS if not sure and one in names[0]), None)
    if other is not None:
        names, delimiter = _first(path, other, code), other
    if not how.header:
        return Heading(tuple(map(str, range(len(names)))), delimiter, code)
    if any(_UNREADABLE in name for name in names):
        raise ValueError(
            f"{path}: the names of its columns are not {code.upper()} text: say how it is written, as in "
            "encoding='latin-1'."
        )
    return Heading(names, delimiter, code)


def _encoding(path: str, given: str | None) -> str:
    with stream(path) as file:
        start = file.read(_SOME)
    marked = next((name for mark, name in _WIDE.items() if start.startswith(mark)), None)
    if given is None and marked is None and b"\0" in start:
        line = start[: start.index(0)].count(b"\n") + 1
        raise ValueError(
            f"{path}, line {line}: a zero byte: this is not text. Say what the file is by its name or by "
            "format=; text of another encoding needs encoding='utf-16'."
        )
    try:
        return codecs.lookup(given or marked or UTF8).name
    except LookupError:
        raise ValueError(
            "encoding must be the name of a codec, such as 'utf-8', 'latin-1', 'cp1252' or 'utf-16'; got "
            f"{given!r}."
        ) from None


def _first(path: str, delimiter: str, encoding: str) -> tuple[str, ...]:
    return tuple(next(records(path, delimiter, encoding), (0, []))[1])


def records(path: str, delimiter: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The header and all rows, each with the line on which it begins; blank lines are none."""
    code = "utf-8-sig" if encoding == UTF8 else encoding
    with stream(path) as raw, io.TextIOWrapper(raw, encoding=code, errors="replace", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter)
        line = 1
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1


# Where a file of delimited text can be cut into pieces: at the ends of rows.

UNIT = 4 << 20  # a file can be cut after the first row that ends in each block of so many bytes

_MARK = b"\xef\xbb\xbf"  # of UTF-8, which some programs write first
_OUTSIDE = 0  # of quotation marks


class Cuts(NamedTuple):
    """Where the pieces of a file begin, and the last one ends; the rows of each."""

    starts: tuple[int, ...]
    rows: tuple[int, ...]

    def spans(self, rows: int) -> list[Span]:
        """Pieces, joined until they have so many rows."""
        starts = self.starts
        return [Span(first, starts[i], starts[j]) for first, i, j in joined(self.rows, rows)]


class _BlockEnds(NamedTuple):
    """What is in a block: how many rows end, where the first of them does, and whether quotes are open."""

    rows: int
    first: int  # -1: none ends
    quotes: int


# Kept: each pass asks for it, and a file that has not changed need not be looked at again.
@lru_cache(maxsize=4096)
def cuts_of(path: str, seen: Stamp, delimiter: str, unit: int, header: bool = True) -> Cuts:
    """One look at all bytes of a file, by several threads; what is found depends on the file alone."""
    with reading(path, seen), Path(path).open("rb") as file:
        begin = len(_MARK) if file.read(len(_MARK)) == _MARK else 0
        blocks = _Blocks(file.fileno(), delimiter, begin, seen[0], unit)
        return blocks.cuts(header)


def count_rows(file: BinaryIO, delimiter: str, encoding: str, header: bool) -> int:
    """The rows of a file that can only be read from beginning to end."""
    rows, before, quotes = 0, ord("\n"), _OUTSIDE
    for block in _in_utf8(file, encoding):
        found = _BlockEnds(*_core.row_ends(np.frombuffer(block, np.uint8), delimiter, before, quotes))
        rows, before, quotes = rows + found.rows, block[-1], found.quotes
    return max(0, rows + (before not in b"\r\n") - header)


def _in_utf8(file: BinaryIO, encoding: str) -> Iterator[bytes]:
    """The text of a file as UTF-8, a block at a time, none of them empty."""
    mark, decoder = _MARK, codecs.getincrementaldecoder(encoding)(errors="replace")
    while block := file.read(UNIT):
        if encoding != UTF8:
            block = decoder.decode(block).encode()
        block, mark = block.removeprefix(mark), b""
        if block:
            yield block


class _Blocks(NamedTuple):
    """A file, a block at a time."""

    file: int
    delimiter: str
    begin: int
    end: int
    unit: int

    def cuts(self, header: bool) -> Cuts:
        places, behind, rows, quotes = [], [], 0, _OUTSIDE
        blocks = range(self.begin, self.end, self.unit)
        for at, ends in zip(blocks, self._guessed(blocks), strict=True):
            if quotes != _OUTSIDE:
                ends = self._look(at, quotes)
            if ends.first >= 0:
                places.append(at + ends.first)
                behind.append(rows + 1)  # so many rows
            rows, quotes = rows + ends.rows, ends.quotes
        rows += self._unended()
        if behind and behind[-1] == rows:  # nothing but blank lines
            places, behind = places[:-1], behind[:-1]
        if not header:  # the first row ends where the first cut would be
            places, behind = [self.begin, *places], [0, *behind]
        return Cuts((*places, self.end), tuple(np.diff([*behind, rows]).tolist()))

    def _guessed(self, blocks: range) -> list[_BlockEnds]:
        """As if each block began outside of quotation marks: so that they can be looked at side by side."""
        if len(blocks) < 2:
            return [self._look(at) for at in blocks]
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(self._look, blocks))

    def _look(self, at: int, quotes: int = _OUTSIDE) -> _BlockEnds:
        """What is in a block depends on the byte before it, too."""
        before = b"\n" if at == self.begin else os.pread(self.file, 1, at - 1)
        text = np.empty(min(self.unit, self.end - at), np.uint8)
        if os.preadv(self.file, [text.data], at) < len(text):
            raise OSError("the file ends unexpectedly")
        return _BlockEnds(*_core.row_ends(text, self.delimiter, before[0], quotes))

    def _unended(self) -> bool:
        """Whether the last row lacks a line end."""
        return self.end > self.begin and os.pread(self.file, 1, self.end - 1) not in (b"\n", b"\r")


# CSV and TSV files: cut at the ends of rows, read in blocks, by the types that the first rows have.

# A block of text is a chunk: small enough to stay in the cache while it is parsed and converted. It holds
# at least one line: of each of its columns, so many bytes.
BLOCK_BYTES = 1 << 20
CELL_BYTES = 1 << 10
LARGEST_BLOCK = 1 << 30

# What stands for a missing cell, unless somebody says otherwise: Arrow's list, UCI's, pandas's and MySQL's.
# An empty cell always does.
MARKS = (*(mark for mark in arrow_csv.ConvertOptions().null_values if mark), "?", "<NA>", "\\N")

_ALL = Span()  # of a file, with its header
_ENCODED = "say how it is written, as in encoding='latin-1'"
_ENCODING = re.compile(r"In CSV column #(\d+):.*invalid UTF8 data", re.S)
_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)")
_FOREIGN = re.compile(r"In CSV column #(\d+):.*conversion error to (.+?): invalid value '(.*)'", re.S)


@dataclass(frozen=True)
class Delimited(Unnumbered):
    """The header of a file, and the types of its columns."""

    path: str
    delimiter: str
    names: tuple[str, ...]
    seen: Stamp
    known: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = MARKS
    encoding: str = UTF8
    decimal: str = "."
    header: bool = True  # the first record names the columns
    declared: frozenset[str] = frozenset()  # columns whose types are not those that the first rows have

    @classmethod
    def open(
        cls, path: str, how: Dialect, missing: Sequence[str] | None = None, encoding: str | None = None
    ) -> Self:
        with reading(path):
            seen = stamp(path)
            check_packing(path)
            names, delimiter, code = heading(path, how, encoding)
        marks = MARKS if missing is None else tuple(missing)
        return cls(path, delimiter, names, seen, missing=marks, encoding=code, header=how.header)

    def typed(self) -> Self | None:
        """The same with the types that the first rows have; None: there are no rows.

        Where semicolons stand between cells, commas are decimal if that makes more columns numbers.
        """
        found = self._first_types()
        if found is None or self.delimiter != ";":
            return None if found is None else replace(self, known=found)
        other = replace(self, decimal=",")
        comma = other._first_types() or {}
        more = sum(map(is_number, comma.values())) > sum(map(is_number, found.values()))
        return replace(other, known=comma) if more else replace(self, known=found)

    def like(self, first: Self) -> Self:
        """The same with the types of another file's columns."""
        return replace(self, known=first.known, decimal=first.decimal)

    def with_types(self, kinds: Mapping[str, str]) -> Self:
        """The same, columns of these kinds read as such."""
        known = dict(self.known)
        for name, kind in kinds.items():
            if kind == "date":
                found = self.known.get(name)
                zoned = is_date(found) and getattr(found, "tz", None) is not None
                known[name] = found if zoned else MOMENT
            else:
                known[name] = pa.float64() if kind == "number" else pa.string()
        return replace(self, known=known, declared=self.declared | frozenset(kinds))

    @property
    def types(self) -> dict[str, Any]:
        return {name: self.known.get(name, pa.null()) for name in self.names}

    def _first_types(self) -> dict[str, Any] | None:
        with self._naming(), self._open({}, self.names, FIRST_BYTES) as reader:
            if not any(batch.num_rows for batch in reader):
                return None
            return dict(zip(reader.schema.names, reader.schema.types, strict=True))

    def spans(self, rows: int) -> list[Span]:
        """Bytes that begin and end with a row; all of a file that cannot be read from any place."""
        cuts = self._cuts()
        return [Span()] if cuts is None else cuts.spans(rows)

    def counted(self) -> int | None:
        cuts = self._cuts()
        return None if cuts is None else sum(cuts.rows)

    def count(self) -> int:
        cuts = self._cuts()
        if cuts is not None:
            return sum(cuts.rows)
        with reading(self.path, self.seen), stream(self.path) as file:
            return count_rows(file, self.delimiter, self.encoding, self.header)

    def _cuts(self) -> Cuts | None:
        """Where the file can be cut; None: it cannot be read from any place."""
        if packing(self.path) is not None or is_url(self.path) or self.encoding != UTF8:
            return None
        return cuts_of(self.path, self.seen, self.delimiter, UNIT, self.header)

    def read(
        self, numbers: Sequence[str], labels: Sequence[str], span: Span, size: int, rows: int
    ) -> Iterator[Any]:
        # What looks whole in the first rows need not be so in the last: numbers are read as floats.
        boolean = pa.bool_()
        types = {name: boolean if self.known[name] == boolean else pa.float64() for name in numbers}
        for name in labels:
            known = self.known[name]
            text = is_text(known) or pa.types.is_null(known)
            types[name] = pa.dictionary(pa.int32(), pa.string()) if text else known
        with self._naming(), self._open(types, tuple(types), size, span) as reader:
            # Arrow's own threads do not read ahead: they parse when asked. Pieces are read side by side.
            yield from reader if span.stop else ahead(iter(reader))

    def verbatim(self, names: Sequence[str]) -> Self:
        return replace(self, known={**self.known, **dict.fromkeys(names, pa.string())})

    def described(self, name: str) -> str:
        """The type; where it is text, the first cell that is no number, and of dates how to use them."""
        kind = self.known[name]
        if pa.types.is_binary(kind):
            line = self._line(lambda number, cells: any("\ufffd" in cell for cell in cells))
            return f"binary{_on(line)}: no {self.encoding.upper()}; {_ENCODED}"
        found = self._no_number(name) if is_text(kind) else None
        return described(name, kind) if found is None else f"{kind}: {found}"

    def _no_number(self, name: str) -> str | None:
        """The first cell of a column that is neither missing nor a number."""
        at, missing = self.names.index(name), self._marks()
        seen: list[str] = []

        def wanted(number: int, cells: list[str]) -> bool:
            seen[:] = cells[at : at + 1]
            return bool(seen) and seen[0] not in missing and not _is_number(seen[0], self.decimal)

        line = self._line(wanted)
        return None if line is None else f"{_short(seen[0])} on line {line}"

    def place(self, row: int) -> str:
        line = self._line(lambda number, cells: number == row)
        return f"row {row}{f' (line {line})' if line else ''} of {self.path}"

    def _open(self, types: Mapping[str, Any], columns: Sequence[str], size: int, span: Span = _ALL) -> Any:
        block = min(max(size, CELL_BYTES * len(self.names)), LARGEST_BLOCK)
        names = list(self.names) if span.stop or not self.header else None  # a piece has no header
        return arrow_csv.open_csv(
            self._bytes(span),
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=block, column_names=names, encoding=self.encoding
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict(types),
                include_columns=list(columns),
                strings_can_be_null=True,
                null_values=self._marks(),
                decimal_point=self.decimal,
            ),
        )

    def _marks(self) -> list[str]:
        """All cells that are missing: also marks behind a blank, as in `39, ?, 77516`."""
        return [f"{blank}{mark}" for mark in ("", *self.missing) for blank in ("", " ")]

    def _bytes(self, span: Span) -> Any:
        if not span.stop:
            return stream(self.path)
        return opened(self.path).get_stream(span.start, span.stop - span.start)

    # ---- what is wrong, and on which line: found by reading once more, slowly ------------------------
    @contextmanager
    def _naming(self) -> Iterator[None]:
        with reading(self.path, self.seen):
            try:
                yield
            except pa.ArrowInvalid as error:
                raise ValueError(self._explained(str(error))) from error

    def _explained(self, error: str) -> str:
        if found := _RAGGED.search(error):
            width = len(self.names)
            line = self._line(lambda number, cells: len(cells) != width)
            return (
                f"{self.path}{_on(line)}: the line has {found[2]} cells, and the {self._first} {width}. "
                "Mend or drop it; a cell that contains the delimiter must stand in quotation marks."
            )
        if found := _FOREIGN.search(error):
            at, kind, value = int(found[1]), found[2], found[3]
            line = self._line(lambda number, cells: at < len(cells) and cells[at] == value)
            name = self.names[at]
            whence, words = "is declared to be, or was in training", ""
            if name not in self.declared:
                whence = "has in the first rows"
                words = f", and if the column holds words, by types={{{name!r}: 'category'}}"
            return (
                f"{self.path}{_on(line)}, column {name!r}: {_short(value)} is not of type {kind}, which "
                f"the column {whence}. Mend it; if it stands for a missing cell, say so by "
                f"missing=[{value!r:.40}]{words}."
            )
        if found := _ENCODING.search(error):
            at = int(found[1])
            line = self._line(lambda number, cells: at < len(cells) and "\ufffd" in cells[at])
            return (
                f"{self.path}{_on(line)}, column {self.names[at]!r}: this is not "
                f"{self.encoding.upper()} text: "
                f"{_ENCODED}"
            )
        if "straddl" in error:
            return f"{self.path}: a line is too long to be one: is a quotation mark left open? ({error})"
        return f"{self.path}: cannot be read: {error}"

    @property
    def _first(self) -> str:
        return "header" if self.header else "first line"

    def _line(self, wanted: Callable[[int, list[str]], bool]) -> int | None:
        """The line on which the first row begins that is wanted; None: it cannot be said."""
        try:
            rows = records(self.path, self.delimiter, self.encoding)
            if self.header:
                next(rows)
            for number, (line, cells) in enumerate(rows):
                if wanted(number, cells):
                    return line
        except (OSError, StopIteration, csv.Error):
            pass
        return None


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return True


def _on(line: int | None) -> str:
    return "" if line is None else f", line {line}"
