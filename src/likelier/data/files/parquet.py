"""Parquet files: cut at row groups, read column by column."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import pyarrow.parquet as pq

from likelier.data.files.base import Span, joined, reading
from likelier.data.files.locations import Stamp, opened, stamp
from likelier.data.frames import described, is_text

MAGIC = b"PAR1"
BUFFER = 16 << 10  # of each column that is being read: for headers of pages, which are read past it


@dataclass(frozen=True)
class Parquet:
    """What the footer of a file says."""

    path: str
    names: tuple[str, ...]
    types: Mapping[str, Any]
    index: tuple[str, ...]  # columns that pandas wrote to number its rows
    groups: tuple[int, ...]  # the rows of each row group
    seen: Stamp

    @classmethod
    def open(cls, path: str) -> Self:
        seen = _check_whole(path)
        with reading(path, seen):
            about = _footer(path, seen)
            schema = about.schema.to_arrow_schema()
        groups = tuple(about.row_group(i).num_rows for i in range(about.num_row_groups))
        types = dict(zip(schema.names, schema.types, strict=True))
        noted = (schema.pandas_metadata or {}).get("index_columns", [])
        index = tuple(name for name in noted if isinstance(name, str))
        return cls(path, tuple(schema.names), types, index, groups, seen)

    @property
    def rows(self) -> int:
        return sum(self.groups)

    def counted(self) -> int:
        return self.rows

    def count(self) -> int:
        return self.rows

    def spans(self, rows: int) -> list[Span]:
        """Row groups, joined until they have so many rows."""
        return [Span(*found) for found in joined(self.groups, rows)]

    def read(
        self, numbers: Sequence[str], labels: Sequence[str], span: Span, size: int, rows: int
    ) -> Iterator[Any]:
        # Text that is to be coded stays a dictionary, as it is stored. Without pre_buffer and with small
        # buffers, memory does not grow with the row group. Threads of Arrow's own would only compete: parts
        # are read side by side already.
        texts = [name for name in labels if is_text(self.types[name])]
        how = {"read_dictionary": texts, "pre_buffer": False, "buffer_size": BUFFER}
        with (
            reading(self.path, self.seen),
            opened(self.path) as where,
            pq.ParquetFile(where, metadata=_footer(self.path, self.seen), **how) as file,
        ):
            yield from file.iter_batches(
                batch_size=rows,
                row_groups=list(range(span.start, span.stop)),
                columns=[*numbers, *labels],
                use_threads=False,
            )

    def verbatim(self, names: Sequence[str]) -> Self:
        return self  # a column has its type, and text is text

    def described(self, name: str) -> str:
        return described(name, self.types[name])

    def place(self, row: int) -> str:
        return f"row {row} of {self.path}"


@lru_cache(maxsize=16)
def _footer(path: str, seen: Stamp) -> Any:
    """Kept, since a part opens its file anew, and the footer of a wide one takes longer than the part."""
    with opened(path) as where:
        return pq.read_metadata(where)


def _check_whole(path: str) -> Stamp:
    """Refuse what is no Parquet file, or not all of one: it begins and ends with the same four bytes."""
    with reading(path):
        seen = stamp(path)
        with opened(path) as file:
            begin = file.read(4)
            file.seek(max(0, seen[0] - 4))
            end = file.read(4)
    if not begin:
        raise ValueError(f"{path}: the file is empty.")
    if begin != MAGIC:
        raise ValueError(f"{path}: this is not a Parquet file (it begins with {begin!r}).")
    if end != MAGIC or seen[0] < 12:
        raise ValueError(
            f"{path}: the Parquet file is cut short: its end is missing. Copy or write it again."
        )
    return seen
