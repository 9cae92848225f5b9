"""Columns whose kind a user has said, whatever the file makes of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np
import pyarrow as pa

from likelier.data import arrow
from likelier.data.stored import File, Span

Kind = Literal["number", "category", "text", "date"]

DAY = 86_400_000_000  # microseconds
MOMENT = pa.timestamp("us")
WORDS = ("category", "text")
_TYPES = {"number": pa.float64(), "date": pa.float64(), **dict.fromkeys(WORDS, pa.string())}


def kinds(given: Mapping[str, Any]) -> dict[str, Kind]:
    """Kinds of columns by their names, checked."""
    for name, kind in given.items():
        if kind not in get_args(Kind):
            raise ValueError(f"types={{{name!r}: {kind!r}}}: it is one of {', '.join(get_args(Kind))}")
    return dict(given)


@dataclass(frozen=True)
class Told:
    """A file of which some columns are numbers, words or dates because somebody says so.

    Dates are days since 1970, with their fractions.
    """

    file: File
    kinds: Mapping[str, Kind]

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def names(self) -> tuple[str, ...]:
        return self.file.names

    @property
    def types(self) -> Mapping[str, Any]:
        return {**self.file.types, **{name: _TYPES[kind] for name, kind in self.kinds.items()}}

    @property
    def index(self) -> tuple[str, ...]:
        return tuple(name for name in self.file.index if name not in self.kinds)

    @property
    def rows(self) -> int | None:
        return self.file.rows

    def counted(self) -> int | None:
        return self.file.counted()

    def count(self) -> int:
        return self.file.count()

    def spans(self, rows: int) -> Sequence[Span]:
        return self.file.spans(rows)

    def read(
        self, numbers: Sequence[str], labels: Sequence[str], span: Span, size: int, rows: int
    ) -> Iterator[Any]:
        told = [name for name in numbers if name in self.kinds]
        others = [name for name in numbers if name not in self.kinds]
        at = span.first
        for batch in self.file.read(others, [*labels, *told], span, size, rows):
            names = batch.schema.names
            columns = [self._column(name, batch.column(name), at) for name in names]
            yield pa.record_batch(columns, names=names)
            at += batch.num_rows

    def _column(self, name: str, column: Any, at: int) -> Any:
        kind = self.kinds.get(name)
        if kind is None or (arrow.is_text(column.type) and kind in WORDS):
            return column
        try:
            return _cast(column, kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            row = next((i for i, cell in enumerate(arrow.plain(column)) if not _fits(cell, kind)), 0)
            what = f"{self.file.place(at + row)}, column {name!r}: {str(column[row])[:40]!r}"
            raise ValueError(f"{what} is no {kind}, which the column is said to be{_HINTS[kind]}") from None

    def verbatim(self, names: Sequence[str]) -> Self:
        rest = {name: kind for name, kind in self.kinds.items() if name not in names or kind in WORDS}
        return replace(self, file=self.file.verbatim(names), kinds=rest)

    def described(self, name: str) -> str:
        return self.kinds[name] if name in self.kinds else self.file.described(name)

    def place(self, row: int) -> str:
        return self.file.place(row)


_HINTS = {"number": ".", "category": ".", "text": ".", "date": " (2024-12-31, or 2024-12-31 23:59:00)."}


def _cast(column: Any, kind: Kind) -> Any:
    return days(column) if kind == "date" else arrow.plain(column).cast(_TYPES[kind], safe=False)


def _fits(cell: Any, kind: Kind) -> bool:
    try:
        _cast(pa.array([cell.as_py()], cell.type), kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def days(column: Any) -> Any:
    """Dates, times or their text as days since 1970."""
    column = arrow.plain(column)
    if arrow.is_text(column.type):
        column = column.cast(MOMENT)
    elif not arrow.is_date(column.type):
        raise pa.ArrowInvalid(f"{column.type} is no date")
    moments = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
    ticks = moments.cast(pa.int64())
    gone = ticks.is_null().to_numpy(zero_copy_only=False)
    found = ticks.fill_null(0).to_numpy(zero_copy_only=False) / DAY
    return pa.array(np.where(gone, np.nan, found), from_pandas=True)
