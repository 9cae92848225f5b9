"""Columns in other units."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from likelier.data.arrays import Arrays
from likelier.data.chunk import Chunk, Part, Source
from likelier.data.matrix import CSR, Block, Dense
from likelier.data.wrapped import Wrapped

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scaled(Wrapped):
    """The same rows, each column divided by its unit."""

    unit: Floats  # (p,), powers of two: nothing is rounded

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(X=divided(chunk.X, self.unit))


def scaled(source: Source, unit: Floats) -> Source:
    """Columns of a source in other units; of rows in memory once and for all passes."""
    if isinstance(source, Arrays):
        return replace(source, X=divided(source.X, unit))
    return Scaled(source, unit)


def divided(X: Block, unit: Floats) -> Block:
    """Each column divided by its unit."""
    if isinstance(X, CSR):
        return CSR(X.values / unit[X.columns], X.columns, X.starts, X.p)
    return Dense(X.to_array() / unit)


def largest(X: Block) -> Floats:
    """The largest |x| of each column, (p,)."""
    if not isinstance(X, CSR):
        rows = X.to_array()
        return np.asarray(np.maximum(rows.max(axis=0, initial=0.0), -rows.min(axis=0, initial=0.0)))
    at = slice(X.starts[0], X.starts[-1])
    found = np.zeros(X.p)
    np.maximum.at(found, X.columns[at], np.abs(X.values[at], dtype=np.float64))
    return found
