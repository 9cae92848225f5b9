"""CSV and TSV files: cut at the ends of rows, read in blocks, by the types that the first rows have."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa
from pyarrow import csv as arrow_csv

from likelier.data import cutting
from likelier.data.arrow import described, is_date, is_number, is_text
from likelier.data.heading import UTF8, Dialect, heading, records
from likelier.data.places import Stamp, check_packing, is_url, opened, packing, stamp, stream
from likelier.data.stored import FIRST_BYTES, Span, Unnumbered, ahead, reading
from likelier.data.told import MOMENT

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

    def told(self, kinds: Mapping[str, str]) -> Self:
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
            return cutting.count(file, self.delimiter, self.encoding, self.header)

    def _cuts(self) -> cutting.Cuts | None:
        """Where the file can be cut; None: it cannot be read from any place."""
        if packing(self.path) is not None or is_url(self.path) or self.encoding != UTF8:
            return None
        return cutting.cuts(self.path, self.seen, self.delimiter, cutting.UNIT, self.header)

    def read(
        self, numbers: Sequence[str], labels: Sequence[str], span: Span, size: int, rows: int
    ) -> Iterator[Any]:
        # What looks whole in the first rows need not be so in the last: numbers are read as floats.
        truth = pa.bool_()
        types = {name: truth if self.known[name] == truth else pa.float64() for name in numbers}
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
                f"{self.path}{_on(line)}, column {self.names[at]!r}: this is no {self.encoding.upper()}: "
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
