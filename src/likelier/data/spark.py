"""Spark data frames as sources: a partition is a part, whose rows stay where Spark has them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from likelier.data import frames
from likelier.data.chunk import Part
from likelier.data.dask import DaskRows, PartitionReader
from likelier.data.row_numbers import firsts
from likelier.data.transforms import Partitions

# A data frame is kept as blocks of rows: of each column a cell holds the values of a block, in Arrow's
# format. Spark turns its rows into columns once, then; a pass is brought bytes, of the columns it needs.

BLOCK_ROWS = 1 << 16


def packed(batches: Iterable[pa.RecordBatch], number: int) -> Iterator[pa.RecordBatch]:
    """The blocks of partition `number`: it, how many rows they have, the first few of all, the columns."""
    for i, block in enumerate(_blocks(batches)):
        few = _bytes_of(block.slice(0, FEW_ROWS)) if i == 0 else None
        cells = [_bytes_of(block.select([name])) for name in block.column_names]
        arrays = [pa.array([number], pa.int64()), pa.array([block.num_rows], pa.int64())]
        arrays += [pa.array([cell], pa.binary()) for cell in (few, *cells)]
        yield pa.RecordBatch.from_arrays(arrays, names=[NUMBER, ROWS, FEW, *block.column_names])


NUMBER, ROWS, FEW = "number", "rows", "few"
FEW_ROWS = 4  # that say what columns are


def packed_schema(names: Iterable[str]) -> str:
    """The columns of blocks, in Spark's words."""
    columns = ", ".join(f"{name} binary" for name in (FEW, *names))
    return f"{NUMBER} long, {ROWS} long, {columns}"


def _blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= BLOCK_ROWS:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def _bytes_of(rows: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return memoryview(sink.getvalue())


def unpacked(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """The rows of a partition, of those columns whose blocks were brought."""
    return pa.table({name: _column_of(batches, name) for name in batches[0].schema.names})


def _column_of(batches: Iterable[pa.RecordBatch], name: str) -> pa.ChunkedArray:
    cells = (cell for batch in batches for cell in batch.column(name))
    held = [pa.ipc.open_stream(cell.as_buffer()).read_all().column(0) for cell in cells]
    return pa.chunked_array([chunk for column in held for chunk in column.chunks])


@dataclass(frozen=True)
class RoleReader:
    """What the columns of a partition are for: ("X", ("a", "b")), ("y", ("c",))."""

    roles: tuple[tuple[str, tuple[str, ...]], ...]
    places: dict[str, str]  # names of columns that no reader of Spark's has to quote

    def __call__(self, rows: pa.Table) -> tuple[Any, ...]:
        """X, y and weights of a partition, as readers of partitions take them."""
        return tuple(self._of(role, names, rows) for role, names in self.roles)

    def _of(self, role: str, names: tuple[str, ...], rows: pa.Table) -> Any:
        if role == "X":
            return rows.select([self.places[name] for name in names]).rename_columns(list(names))
        each = [frames.values_of(rows.column(self.places[name])) for name in names]
        return each[0] if len(each) == 1 else np.column_stack(each)


class Brought(NamedTuple):
    """A data frame of which each partition is brought to a task, and what its columns are there."""

    frame: Any
    reader: RoleReader


@dataclass(frozen=True, eq=False)
class SparkTable:
    """A data frame, what its columns are for, and how many rows each partition has."""

    frame: Any = field(repr=False, compare=False)  # of blocks
    places: dict[str, str]  # of each column: its name in the frame
    features: tuple[str, ...]
    targets: tuple[str, ...]
    weight: str | None
    lengths: tuple[int, ...]
    known: dict[int, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many partitions there are."""
        return len(self.lengths)

    @property
    def keys(self) -> dict[str, Sequence[int]]:
        """As of Dask's collections: a key for each partition."""
        return {"X": range(self.count)}

    def bringing(self, brings: tuple[str, ...], columns: Sequence[str]) -> Brought:
        """The columns that a pass needs, and no others."""
        weight = () if self.weight is None else (self.weight,)
        each = {"X": tuple(columns) or self.features[:1], "y": self.targets, "w": weight}
        roles = tuple((role, each[role]) for role in brings)
        names = tuple(dict.fromkeys(name for _, own in roles for name in own))
        frame = self.frame.select(*(self.places[name] for name in names))
        return Brought(frame, RoleReader(roles, self.places))


@dataclass(frozen=True, repr=False, eq=False)
class SparkRows(DaskRows):
    """The rows of a Spark data frame, cut into parts as its partitions are: a source that brings y."""

    held: SparkTable  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Spark data frame: {self.rows} rows, {self.p} features, {self.held.count} partitions>"

    def __getstate__(self) -> dict[str, Any]:
        """The data frame does not travel: parts are brought their rows."""
        return vars(self) | {"held": replace(self.held, frame=None)}

    @property
    def cluster(self) -> Any:
        """The session of the data frame."""
        return None if self.held.frame is None else self.held.frame.sparkSession

    @property
    def partitions(self) -> Partitions:
        names = [self.held.features[j] for j in self._columns]
        brought: Any = self.held.bringing(self.reading.brings, names)
        return Partitions(brought, [(number,) for number in range(self.held.count)])

    def parts(self, state_bytes: int) -> Sequence[Part]:
        # X is brought with the columns that are wanted, and no others.
        reading = self.reading if self.reading.columns == () else replace(self.reading, columns=None)
        pairs = zip(firsts(self.held.lengths), self.held.lengths, strict=True)
        return [
            partial(reading.chunks, number, first, length, state_bytes)
            for number, (first, length) in enumerate(pairs)
        ]


def rows_of_table(table: SparkTable, few: pa.Table) -> SparkRows:
    """A source of a data frame; few: some of its rows, which say what its columns are."""
    held: Any = frames.frame(few.select(list(table.features)))
    kinds = tuple(
        (frames.read(series).kind, _described(few.schema.field(name).type))
        for name, series in zip(table.features, held.iter_columns(), strict=True)
    )
    brings = ("X", *(["y"] if table.targets else []), *(["w"] if table.weight is not None else []))
    shape = (len(table.targets),) if len(table.targets) > 1 else ()
    names = np.array(table.features, dtype=object)
    return SparkRows(table, kinds, names, shape, PartitionReader(brings=tuple(brings)))


def _described(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return f"datetime64[us{'' if kind.tz is None else f', {kind.tz}'}]"
    return str(kind)
