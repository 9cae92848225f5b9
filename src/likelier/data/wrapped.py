"""A source around another: the same rows, read in some other way."""

from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from likelier.data.chunk import Source

W = TypeVar("W", bound="Wrapped")


@dataclass(frozen=True)
class Wrapped:
    """All that a source is, as the one within it; `parts` is left to say."""

    source: Source

    @property
    def p(self) -> int:
        return self.source.p

    @property
    def names(self) -> NDArray[Any] | None:
        return self.source.names

    @property
    def rows(self) -> int | None:
        return self.source.rows

    @property
    def y_shape(self) -> tuple[int, ...]:
        return self.source.y_shape

    def labels(self) -> Source:
        return self.source.labels()

    def place(self, row: int) -> str:
        return self.source.place(row)

    def coded(self, levels: NDArray[np.generic]) -> Self:
        return replace(self, source=self.source.coded(levels))


def innermost(source: Source) -> Source:
    """The source that holds the rows."""
    while isinstance(source, Wrapped):
        source = source.source
    return source


def unwrapped(source: Source, kind: type[W]) -> W:
    """The wrapper of this kind, this one or one within."""
    while not isinstance(source, kind):
        assert isinstance(source, Wrapped)
        source = source.source
    return source
