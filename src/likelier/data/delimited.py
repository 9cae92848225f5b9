"""CSV and TSV files: cut at the ends of rows, read in blocks, by the types that the first rows have."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa
from pyarrow import csv as arrow_csv

from likelier.data import cutting
from likelier.data.arrow import is_text
from likelier.data.places import Stamp, check_packing, is_url, opened, packing, stamp, stream
from likelier.data.stored import FIRST_BYTES, Span, Unnumbered, ahead, reading

# A block of text is a chunk: small enough to stay in the cache while it is parsed and converted. It holds
# at least one line: of each of its columns, so many bytes.
BLOCK_BYTES = 1 << 20
CELL_BYTES = 1 << 10
LARGEST_BLOCK = 1 << 30

_MISSING = frozenset(arrow_csv.ConvertOptions().null_values)

_ALL = Span()  # of a file, with its header
_UNREADABLE = "\ufffd"  # what stands for bytes that are no text
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

    @classmethod
    def open(cls, path: str, delimiter: str) -> Self:
        with reading(path):
            seen = stamp(path)
            check_packing(path)
            header = next(_records(path, delimiter), (0, []))[1]
        if not header:
            raise ValueError(f"{path}: the file is empty: it needs a line with the names of its columns.")
        if any(_UNREADABLE in name for name in header):
            raise ValueError(
                f"{path}: the names of its columns are not UTF-8 text: convert the file first."
            )
        return cls(path, delimiter, tuple(header), seen)

    @property
    def types(self) -> dict[str, Any]:
        return {name: self.known.get(name, pa.null()) for name in self.names}

    def first_types(self) -> dict[str, Any] | None:
        """The types of the columns as the first rows have them; None: there are no rows."""
        with self._naming(), self._open({}, self.names, FIRST_BYTES) as reader:
            if not any(batch.num_rows for batch in reader):
                return None
            return dict(zip(reader.schema.names, reader.schema.types, strict=True))

    def spans(self, rows: int) -> list[Span]:
        """Bytes that begin and end with a row; all of a file that cannot be read from any place."""
        if packing(self.path) is not None or is_url(self.path):
            return [Span()]
        return cutting.cuts(self.path, self.seen, self.delimiter, cutting.UNIT).spans(rows)

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
        """The type, and, where it is text, the first cell that is no number."""
        at, kind = self.names.index(name), self.known[name]
        seen: list[str] = []

        def wanted(number: int, cells: list[str]) -> bool:
            seen[:] = cells[at : at + 1]
            return bool(seen) and seen[0] not in _MISSING and not _is_number(seen[0])

        line = self._line(wanted) if is_text(kind) else None
        return str(kind) if line is None else f"{kind}: {_short(seen[0])} on line {line}"

    def place(self, row: int) -> str:
        line = self._line(lambda number, cells: number == row)
        return f"row {row}{f' (line {line})' if line else ''} of {self.path}"

    def _open(self, types: Mapping[str, Any], columns: Sequence[str], size: int, span: Span = _ALL) -> Any:
        block = min(max(size, CELL_BYTES * len(self.names)), LARGEST_BLOCK)
        names = list(self.names) if span.stop else None  # a piece has no header
        return arrow_csv.open_csv(
            self._bytes(span),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=block, column_names=names),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict(types), include_columns=list(columns), strings_can_be_null=True
            ),
        )

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
                f"{self.path}{_on(line)}: the line has {found[2]} cells, and the header {width}. Mend or "
                "drop it; a cell that contains the delimiter must stand in quotation marks."
            )
        if found := _FOREIGN.search(error):
            at, kind, value = int(found[1]), found[2], found[3]
            line = self._line(lambda number, cells: at < len(cells) and cells[at] == value)
            return (
                f"{self.path}{_on(line)}, column {self.names[at]!r}: {_short(value)} is not of type "
                f"{kind}, which the column has in the first rows. Mend it; a missing cell is left empty."
            )
        if "straddl" in error:
            return f"{self.path}: a line is too long to be one: is a quotation mark left open? ({error})"
        return f"{self.path}: cannot be read: {error}"

    def _line(self, wanted: Callable[[int, list[str]], bool]) -> int | None:
        """The line on which the first row begins that is wanted; None: it cannot be said."""
        try:
            records = _records(self.path, self.delimiter)
            next(records)
            for number, (line, cells) in enumerate(records):
                if wanted(number, cells):
                    return line
        except (OSError, StopIteration, csv.Error):
            pass
        return None


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _on(line: int | None) -> str:
    return "" if line is None else f", line {line}"


def _records(path: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The header and all rows, each with the line on which it begins; blank lines are none."""
    with (
        stream(path) as raw,
        io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="") as text,
    ):
        reader = csv.reader(text, delimiter=delimiter)
        line = 1
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
