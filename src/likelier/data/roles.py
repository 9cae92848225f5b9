"""Which columns of a table are what, and the chunks that its rows become."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likelier.data import arrow
from likelier.data.chunk import Chunk
from likelier.data.labels import levels_of
from likelier.data.matrix import Columns, Dense
from likelier.data.problems import CONTINUOUS, CROWDED, MOST_EXACT
from likelier.data.stored import File, Span


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
        numeric = (name for name in self.features if name not in self.categories)
        numbers = (*numeric, *(self.targets if as_numbers else ()), *self._weights)
        others = tuple(name for name in self.features if name in self.categories)
        at = span.first
        for batch in file.read(numbers, (*others, *(() if as_numbers else self.targets)), span, size, rows):
            if batch.num_rows:
                yield self._chunk(batch, file, at, number)
            at += batch.num_rows

    def _chunk(self, batch: Any, file: File, at: int, number: int) -> Chunk:
        w = None
        if self.weight is not None:
            w = np.ascontiguousarray(arrow.numbers(batch.column(self.weight)), dtype=np.float64)
            _refuse_rows(~(np.isfinite(w) & (w >= 0)), w, file, at, self.weight, _WEIGHT)
        if self.y == "labels":
            found = self._labels(batch, w, file, at)
            return Chunk(_nothing(batch.num_rows), found, None, number + at)
        columns = tuple(
            (arrow.factor if name in self.categories else arrow.numbers)(batch.column(name))
            for name in self.features
        )
        X = Columns(columns) if columns else _nothing(batch.num_rows)
        if self.levels is not None:
            column = batch.column(self.targets[0])
            return Chunk(X, arrow.recoded(column, self.levels), w, number + at)
        return Chunk(X, self._numbers(batch, file, at), w, number + at)

    def _labels(self, batch: Any, w: NDArray[np.float64] | None, file: File, at: int) -> NDArray[Any]:
        """The labels of all rows that have a weight, each once: all that a survey needs."""
        (name,) = self.targets
        codes, values = arrow.encoded(batch.column(name))
        there = codes >= 0
        if not self.partly:
            _refuse_rows(~there, None, file, at, name, "Input y contains NaN: every row needs a label.")
        if values.dtype.kind == "f":
            broken = ~np.isfinite(values) | (values != np.floor(values))
            for bad, why in ((broken, CONTINUOUS), (np.abs(values) >= MOST_EXACT, CROWDED)):
                shown = np.append(values, np.nan)[codes]
                _refuse_rows(np.append(bad, False)[codes], shown, file, at, name, why)
        counted = there if w is None else there & (w > 0)
        used = np.bincount(codes if counted.all() else codes[counted], minlength=len(values)) > 0
        some = values[used]
        if some.dtype.kind == "U":  # as wide as the longest that is used
            some = np.array(some.tolist(), dtype=str)
        return levels_of(some)

    def _numbers(self, batch: Any, file: File, at: int) -> NDArray[Any] | None:
        if not self.targets:
            return None
        columns = [arrow.numbers(batch.column(name)) for name in self.targets]
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
