"""How far a pass has come: rows are counted as their chunks go by."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from likelier.data import Chunk, Part, Stored


@contextmanager
def watching(source: Stored) -> Iterator[Stored]:
    """The same source, which shows a bar on standard error; itself where that is no terminal."""
    if not sys.stderr.isatty():
        yield source
        return
    with rows_bar(source.rows) as bar:
        yield Watched(source, bar, Lock())


def rows_bar(total: int | None) -> Any:
    """A bar of rows; none where standard error is no terminal."""
    return tqdm(total=total, unit=" rows", unit_scale=True, disable=None, leave=False)


@dataclass(frozen=True, eq=False)
class Watched:
    """A source of whose every pass a bar is told."""

    source: Any
    bar: Any
    lock: Any
    surveys: bool = False  # chunks are lists of labels, not rows

    @property
    def p(self) -> int:
        return int(self.source.p)

    @property
    def names(self) -> NDArray[Any]:
        return np.asarray(self.source.names)

    @property
    def rows(self) -> int | None:
        rows: int | None = self.source.rows
        return rows

    @property
    def y_shape(self) -> tuple[int, ...]:
        return tuple(self.source.y_shape)

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.source.targets)

    def labels(self) -> Self:
        return replace(self, source=self.source.labels(), surveys=True)

    def partly(self) -> Self:
        return replace(self, source=self.source.partly())

    def coded(self, levels: NDArray[Any]) -> Self:
        return replace(self, source=self.source.coded(levels))

    def taking(self, features: Sequence[str], *, y: bool) -> Self:
        return replace(self, source=self.source.taking(features, y=y))

    def others(self, columns: Sequence[str]) -> Mapping[str, str]:
        found: Mapping[str, str] = self.source.others(columns)
        return found

    def texts(self, columns: Sequence[str]) -> frozenset[str]:
        found: frozenset[str] = self.source.texts(columns)
        return found

    def categorised(self, columns: Collection[str]) -> Self:
        return replace(self, source=self.source.categorised(columns))

    def worded(self) -> Self:
        return replace(self, source=self.source.worded())

    def place(self, row: int) -> str:
        return str(self.source.place(row))

    def parts(self, state_bytes: int) -> Sequence[Part]:
        self.bar.set_description_str("finding the classes" if self.surveys else "learning", refresh=False)
        self.bar.reset(total=self.rows)
        parts: Sequence[Part] = self.source.parts(state_bytes)
        return parts if self.surveys else [partial(self._read, part) for part in parts]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk
            with self.lock:
                self.bar.update(chunk.X.shape[0])
