"""Files that lack columns which a model knows: every cell of these is missing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import pyarrow as pa

from likelier.data.stored import File, Span


@dataclass(frozen=True)
class Lacking:
    """A file, and columns beside its own that have no cell: numbers, or, of those in `texts`, text."""

    file: File
    lacks: tuple[str, ...]
    texts: frozenset[str]

    @property
    def path(self) -> str:
        return self.file.path

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

    def place(self, row: int) -> str:
        return self.file.place(row)
