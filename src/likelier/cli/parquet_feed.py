"""Parquet files as batches of hashed rows: the one stream that needs Arrow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data.frames import frame_columns
from likelier.streams.reader import NUMBER, WORD, FeedProgress, Fill, ReadOptions

ROWS = 2048  # of a batch


@dataclass
class ParquetFeed:
    """Files one after another; types are theirs."""

    paths: Sequence[str]
    read_options: ReadOptions
    labels: Sequence[str] = ()
    columns: dict[str, str] = field(default_factory=dict)
    _read: int = 0

    def __post_init__(self) -> None:
        self._codes = {label: code for code, label in enumerate(self.labels)}
        self._intake = _core.Intake(
            [list(cross) for cross in self.read_options.crosses], self.read_options.finite, False
        )

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(Path(path).stat().st_size for path in self.paths)

    def fills(self) -> Iterator[Fill[FeedProgress]]:
        """Each puts the next rows into a batch."""
        for path in self.paths:
            size = Path(path).stat().st_size
            with pq.ParquetFile(path) as file:
                names, n = file.schema_arrow.names, file.metadata.num_rows
                self.read_options.check(path, names)
                for batch in file.iter_batches(ROWS, columns=[name for name in names if self._takes(name)]):
                    yield partial(self._fill, path, pa.Table.from_batches([batch]), size * len(batch) // n)

    def _takes(self, name: str) -> bool:
        read_options = self.read_options
        wanted = read_options.features is None or name in read_options.features
        return name in (read_options.target, read_options.weight) or (
            wanted and name not in read_options.ignored
        )

    def _fill(
        self, path: str, table: Any, length: int, rows: _core.HashedRows
    ) -> tuple[_core.HashedRows, FeedProgress]:
        try:
            made = self._hashed(table)
        except (ValueError, TypeError) as problem:
            raise ValueError(f"{path}: {problem}") from problem
        self._read += length
        return made, FeedProgress(self.labels, self.columns, 0, (), 0, self._read)

    def _hashed(self, table: Any) -> _core.HashedRows:
        named = {
            name: table[name]
            for name in (self.read_options.target, self.read_options.weight)
            if name is not None
        }
        features = table.drop_columns(list(named))
        for at, (name, type_) in enumerate(zip(features.column_names, features.schema.types, strict=True)):
            if _is_number(type_) and self.columns.setdefault(name, NUMBER) == WORD:
                features = features.set_column(at, name, features[name].cast(pa.string()))
            self.columns.setdefault(name, WORD)
        columns = frame_columns(nw.from_native(features, eager_only=True), strict=self.read_options.finite)
        weights = (
            None
            if self.read_options.weight is None
            else _weights(self.read_options.weight, named[self.read_options.weight])
        )
        codes = (
            None
            if self.read_options.target is None
            else self._coded(named[self.read_options.target], weights)
        )
        return self._intake.columns(columns, 0, table.num_rows, codes, weights)

    def _coded(self, column: Any, weights: Floats | None) -> NDArray[np.int32]:
        """Labels by their codes; rows that weigh nothing are not learned from, and have none."""
        there = np.ones(len(column), dtype=bool) if weights is None else weights > 0
        found = column.filter(pa.array(there)).combine_chunks().dictionary_encode()
        table = [-1 if level is None else self._code(str(level)) for level in found.dictionary.to_pylist()]
        places = found.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)
        codes = np.full(len(column), -1, dtype=np.int32)
        codes[there] = np.array([*table, -1], dtype=np.int32)[places]
        return codes

    def _code(self, label: str) -> int:
        if label not in self._codes:
            self._codes[label] = len(self._codes)
            self.labels = [*self.labels, label]
        return self._codes[label]


def _is_number(kind: Any) -> bool:
    return any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


def _weights(name: str, column: Any) -> Floats:
    w = np.ascontiguousarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    bad = ~(np.isfinite(w) & (w >= 0))
    if bad.any():
        raise ValueError(f"Weights in column {name!r} must be finite numbers >= 0; got {w[bad][0]}.")
    return w
