"""The columns of files: their roles, declared types, and columns that a file lacks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import frames
from likelier.data.chunk import Chunk
from likelier.data.documents import Documents
from likelier.data.errors import CONTINUOUS, CROWDED, MOST_EXACT
from likelier.data.files.base import File, Span
from likelier.data.labels import label_counts
from likelier.data.matrix import Columns, Dense

# Files whose columns are others than those that they hold.


@dataclass(frozen=True)
class FileView:
    """The rows of a file, for classes that change its columns."""

    file: File

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def rows(self) -> int | None:
        return self.file.rows

    def counted(self) -> int | None:
        return self.file.counted()

    def count(self) -> int:
        return self.file.count()

    def spans(self, rows: int) -> Sequence[Span]:
        return self.file.spans(rows)

    def place(self, row: int) -> str:
        return self.file.place(row)


# Files that lack columns which a model knows: every cell of these is missing.


@dataclass(frozen=True)
class PaddedFile(FileView):
    """A file, and columns beside its own that have no cell: numbers, or, of those in `texts`, text."""

    lacks: tuple[str, ...]
    texts: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.file.names, *self.lacks)

    @property
    def types(self) -> Mapping[str, Any]:
        added = {name: pa.string() if name in self.texts else pa.float64() for name in self.lacks}
        return {**self.file.types, **added}

    @property
    def index(self) -> tuple[str, ...]:
        return self.file.index

    def read(
        self, numbers: Sequence[str], labels: Sequence[str], span: Span, size: int, rows: int
    ) -> Iterator[Any]:
        wanted, types = [*numbers, *labels], self.types
        numbers, labels = ([x for x in names if x not in self.lacks] for names in (numbers, labels))
        for batch in self.file.read(numbers, labels, span, size, rows):
            n = batch.num_rows
            cells = [
                pa.nulls(n, types[name]) if name in self.lacks else batch.column(name) for name in wanted
            ]
            yield pa.record_batch(cells, names=wanted)

    def verbatim(self, names: Sequence[str]) -> Self:
        return replace(self, file=self.file.verbatim([name for name in names if name not in self.lacks]))

    def described(self, name: str) -> str:
        return "missing throughout" if name in self.lacks else self.file.described(name)


# Which columns of a table are what, and the chunks that its rows become.


@dataclass(frozen=True)
class Roles:
    """Which columns are what, and what is made of y: numbers, the list of labels, or codes."""

    features: tuple[str, ...]
    targets: tuple[str, ...] = ()
    flat: bool = True  # one target, and not a list of one
    weight: str | None = None
    categories: frozenset[str] = frozenset()  # features that are not numbers
    y: Literal["numbers", "labels", "codes"] = "numbers"
    levels: NDArray[Any] | None = None
    partly: bool = False  # labels may be missing
    text: bool = False  # the feature is documents

    def __post_init__(self) -> None:
        twice = [name for name, times in Counter(self.columns).items() if times > 1]
        if twice:
            raise ValueError(f"columns named more than once in features, target and weight: {twice}")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.features, *self.targets, *self._weights)

    @property
    def _weights(self) -> tuple[str, ...]:
        return () if self.weight is None else (self.weight,)

    def chunks(self, file: File, number: int, span: Span, size: int, rows: int) -> Iterator[Chunk]:
        """The rows of a span, `number` being that of the file's first row."""
        as_numbers = self.y == "numbers"
        words = self.features if self.text else self.categories
        numeric = (name for name in self.features if name not in words)
        numbers = (*numeric, *(self.targets if as_numbers else ()), *self._weights)
        others = tuple(name for name in self.features if name in words)
        at = span.first
        for batch in file.read(numbers, (*others, *(() if as_numbers else self.targets)), span, size, rows):
            if batch.num_rows:
                yield self._chunk(batch, file, at, number)
            at += batch.num_rows

    def _chunk(self, batch: Any, file: File, at: int, number: int) -> Chunk:
        w = None
        if self.weight is not None:
            w = np.ascontiguousarray(frames.arrow_numbers(batch.column(self.weight)), dtype=np.float64)
            _refuse_rows(~(np.isfinite(w) & (w >= 0)), w, file, at, self.weight, _WEIGHT)
        if self.y == "labels":
            labels, counts = self._labels(batch, w, file, at)
            return Chunk(_nothing(batch.num_rows), labels, counts, number + at)
        X = self._features(batch, file, at)
        if self.levels is not None:
            column = batch.column(self.targets[0])
            return Chunk(X, frames.recoded(column, self.levels), w, number + at)
        return Chunk(X, self._numbers(batch, file, at), w, number + at)

    def _features(self, batch: Any, file: File, at: int) -> Any:
        if not self.features:
            return _nothing(batch.num_rows)
        if self.text:
            column = frames.plain(batch.column(self.features[0]))
            if column.null_count:
                gone = column.is_null().to_numpy(zero_copy_only=False)
                _refuse_rows(gone, None, file, at, self.features[0], "Every row needs a document.")
            return Documents(column)
        return Columns(
            tuple(
                (frames.arrow_factor if name in self.categories else frames.arrow_numbers)(
                    batch.column(name)
                )
                for name in self.features
            )
        )

    def _labels(self, batch: Any, w: Floats | None, file: File, at: int) -> tuple[NDArray[Any], Floats]:
        """The labels, each once, and the weight and number of their rows: all that a survey needs."""
        (name,) = self.targets
        codes, values = frames.encoded(batch.column(name))
        there = codes >= 0
        if not self.partly:
            _refuse_rows(~there, None, file, at, name, "Input y contains NaN: every row needs a label.")
        if values.dtype.kind == "f":
            broken = ~np.isfinite(values) | (values != np.floor(values))
            for bad, why in ((broken, CONTINUOUS), (np.abs(values) >= MOST_EXACT, CROWDED)):
                shown = np.append(values, np.nan)[codes]
                _refuse_rows(np.append(bad, False)[codes], shown, file, at, name, why)
        if not there.all():
            codes, w = codes[there], None if w is None else w[there]
        return label_counts(codes, values, w)

    def _numbers(self, batch: Any, file: File, at: int) -> NDArray[Any] | None:
        if not self.targets:
            return None
        columns = [frames.arrow_numbers(batch.column(name)) for name in self.targets]
        for name, y in zip(self.targets, columns, strict=True):
            _refuse_rows(~np.isfinite(y), y, file, at, name, "Input y contains NaN or infinity.")
        return columns[0] if self.flat else np.column_stack(columns)


_WEIGHT = "Weights must be finite and not negative."


def _nothing(n: int) -> Dense:
    """X where no column of it is asked for."""
    return Dense(np.empty((n, 0)))


def _refuse_rows(
    bad: NDArray[np.bool_], values: NDArray[Any] | None, file: File, at: int, name: str, why: str
) -> None:
    """Raise if a row of a column is bad, and say which."""
    if bad.any():
        row = int(np.argmax(bad))
        what = "is missing" if values is None or np.isnan(values[row]) else f"is {values[row]}"
        raise ValueError(f"{file.place(at + row)}: {name!r} {what}. {why}")


# Columns whose kind a user has said, whatever the file makes of them.

Kind = Literal["number", "category", "text", "date"]

DAY = 86_400_000_000  # microseconds
MOMENT = pa.timestamp("us")
WORDS = ("category", "text")
_TYPES = {"number": pa.float64(), "date": pa.float64(), **dict.fromkeys(WORDS, pa.string())}


def kinds(given: Mapping[str, Any]) -> dict[str, Kind]:
    """Kinds of columns by their names, checked."""
    for name, kind in given.items():
        if kind not in get_args(Kind):
            known = ", ".join(map(repr, get_args(Kind)))
            raise ValueError(f"types[{name!r}] must be one of {known}; got {kind!r}.")
    return dict(given)


@dataclass(frozen=True)
class DeclaredTypes(FileView):
    """A file of which some columns are numbers, words or dates because somebody says so.

    Dates are days since 1970, with their fractions.
    """

    kinds: Mapping[str, Kind]

    @property
    def names(self) -> tuple[str, ...]:
        return self.file.names

    @property
    def types(self) -> Mapping[str, Any]:
        return {**self.file.types, **{name: _TYPES[kind] for name, kind in self.kinds.items()}}

    @property
    def index(self) -> tuple[str, ...]:
        return tuple(name for name in self.file.index if name not in self.kinds)

    def read(
        self, numbers: Sequence[str], labels: Sequence[str], span: Span, size: int, rows: int
    ) -> Iterator[Any]:
        with_types = [name for name in numbers if name in self.kinds]
        others = [name for name in numbers if name not in self.kinds]
        at = span.first
        for batch in self.file.read(others, [*labels, *with_types], span, size, rows):
            names = batch.schema.names
            columns = [self._column(name, batch.column(name), at) for name in names]
            yield pa.record_batch(columns, names=names)
            at += batch.num_rows

    def _column(self, name: str, column: Any, at: int) -> Any:
        kind = self.kinds.get(name)
        if kind is None or (frames.is_text(column.type) and kind in WORDS):
            return column
        try:
            return _cast(column, kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            row = next((i for i, cell in enumerate(frames.plain(column)) if not _fits(cell, kind)), 0)
            what = f"{self.file.place(at + row)}, column {name!r}: {str(column[row])[:40]!r}"
            raise ValueError(
                f"{what} is not a {kind}, the declared type of the column{_HINTS[kind]}"
            ) from None

    def verbatim(self, names: Sequence[str]) -> Self:
        rest = {name: kind for name, kind in self.kinds.items() if name not in names or kind in WORDS}
        return replace(self, file=self.file.verbatim(names), kinds=rest)

    def described(self, name: str) -> str:
        return self.kinds[name] if name in self.kinds else self.file.described(name)


_HINTS = {"number": ".", "category": ".", "text": ".", "date": " (2024-12-31, or 2024-12-31 23:59:00)."}


def _cast(column: Any, kind: Kind) -> Any:
    return days(column) if kind == "date" else frames.plain(column).cast(_TYPES[kind], safe=False)


def _fits(cell: Any, kind: Kind) -> bool:
    try:
        _cast(pa.array([cell.as_py()], cell.type), kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def days(column: Any) -> Any:
    """Dates, times or their text as days since 1970."""
    column = frames.plain(column)
    if frames.is_text(column.type):
        column = column.cast(MOMENT)
    elif not frames.is_date(column.type):
        raise pa.ArrowInvalid(f"{column.type} is not a date")
    moments = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
    ticks = moments.cast(pa.int64())
    gone = ticks.is_null().to_numpy(zero_copy_only=False)
    found = ticks.fill_null(0).to_numpy(zero_copy_only=False) / DAY
    return pa.array(np.where(gone, np.nan, found), from_pandas=True)
