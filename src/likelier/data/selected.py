"""A source with some of its columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.data.arrays import Arrays
from likelier.data.chunk import Chunk, Part, Source
from likelier.data.wrapped import Wrapped

Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class Selected(Wrapped):
    """The same rows, these columns of them."""

    columns: Numbers

    @property
    def p(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> NDArray[Any] | None:
        return None if self.source.names is None else self.source.names[self.columns]

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(X=chunk.X.select(self.columns))


def selected(source: Source, columns: Numbers) -> Source:
    """Some columns of a source; of rows in memory once and for all passes."""
    if isinstance(source, Arrays):
        names = None if source.names is None else source.names[columns]
        return replace(source, X=source.X.select(columns), names=names)
    return Selected(source, columns)
