"""A source whose categories are coded alike throughout."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.data.chunk import Chunk, Part
from likelier.data.factors import Factor, numbers_among
from likelier.data.matrix import Block, Columns
from likelier.data.wrapped import Wrapped


@dataclass(frozen=True)
class Recoded(Wrapped):
    """The same rows with some columns as categories, by levels known for all of them.

    Without levels, each chunk has its own: for the survey that finds them.
    """

    categories: frozenset[int]
    levels: Mapping[int, NDArray[Any]] | None = None

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(X=self._recoded(chunk.X))

    def _recoded(self, X: Block) -> Block:
        if not self.categories and not isinstance(X, Columns):
            return X
        arrays = X.arrays if isinstance(X, Columns) else tuple(X.to_array().T)
        return Columns(tuple(self._column(j, column) for j, column in enumerate(arrays)))

    def _column(self, j: int, column: Any) -> Any:
        if j not in self.categories:
            if self.levels is not None and isinstance(column, Factor):
                name = j if self.names is None else repr(str(self.names[j]))
                some = column.levels[0] if len(column.levels) else None
                raise ValueError(
                    f"Input X has categories in column {name}, such as {some!r}, which held numbers in fit."
                )
            return column
        if self.levels is not None and not isinstance(column, Factor) and len(self.levels[j]):
            found = numbers_among(column, self.levels[j])
            if found is not None:
                return found
        factor = column if isinstance(column, Factor) else factor_of(column)
        return factor if self.levels is None else factor.coded(self._alike(j, factor.levels))

    def _alike(self, j: int, held: NDArray[Any]) -> NDArray[Any]:
        """The levels of column j; text for numbers, or numbers for text, would be unknown throughout."""
        assert self.levels is not None
        levels = self.levels[j]
        if len(held) and len(levels) and isinstance(held[0], str) != isinstance(levels[0], str):
            name = j if self.names is None else repr(str(self.names[j]))
            raise ValueError(
                f"Input X has {held[0]!r} in column {name}, whose categories in fit were of another type, "
                f"such as {levels[0]!r}."
            )
        return levels


def factor_of(values: NDArray[Any]) -> Factor:
    """Numbers as categories, missing where they are NaN."""
    levels, codes = np.unique(values, return_inverse=True)
    return Factor.of(codes, [None if level != level else level for level in levels.tolist()])
