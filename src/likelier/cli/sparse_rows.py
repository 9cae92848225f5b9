"""Sparse rows of files to be answered: batches as those of a table, with a label and no names."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from likelier.data import Chunk, Part
from likelier.data.sparse_files import TARGET, SparseScan


class SparseBatch(NamedTuple):
    """A chunk, asked as a record batch is."""

    chunk: Chunk
    words: bool

    @property
    def num_rows(self) -> int:
        return int(self.chunk.X.shape[0])

    def select(self, names: Sequence[str]) -> Any:
        """X, whole."""
        return self.chunk.X

    def column(self, name: str) -> Any:
        """The labels, null where a line has none."""
        assert name == TARGET
        labels = pa.array(self.chunk.y, from_pandas=True)
        if not self.words:
            return labels
        return pa.array([None if y is None else f"{y:.15g}" for y in labels.to_pylist()], pa.string())


class SparseRows(NamedTuple):
    """Rows with all columns that a model knows; words: its labels are, as those of a stream."""

    source: SparseScan
    words: bool = False
    names: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return self.source.rows

    def batches(
        self, others: Sequence[str], verbatim: Sequence[str]
    ) -> Sequence[Callable[[], Iterator[tuple[int, SparseBatch]]]]:
        """Parts as batches, with the number of each one's first row."""
        return [partial(_batches, part, self.words) for part in self.source.partly().parts(0)]

    def place(self, row: int) -> str:
        return self.source.place(row)


def _batches(part: Part, words: bool) -> Iterator[tuple[int, SparseBatch]]:
    for chunk in part():
        yield chunk.first, SparseBatch(chunk, words)
