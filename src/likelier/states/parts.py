"""A state for each of several groups of columns."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import BadCell, Chunk

Floats = NDArray[np.float64]


@dataclass
class Parts:
    """Statistics of groups of columns, each of a kind of its own, from one reading of the rows."""

    columns: tuple[NDArray[np.intp], ...]
    states: tuple[Any, ...]

    @property
    def n(self) -> Floats:
        """The weight of each class's rows, (K,)."""
        n: Floats = self.states[0].n
        return n

    @property
    def nbytes(self) -> int:
        return sum(state.nbytes for state in self.states)

    def update(self, chunk: Chunk) -> None:
        for columns, state in zip(self.columns, self.states, strict=True):
            try:
                state.update(chunk._replace(X=chunk.X.select(columns)))
            except BadCell as bad:
                raise bad.among(columns) from None

    def merge(self, other: Self) -> None:
        for state, like in zip(self.states, other.states, strict=True):
            state.merge(like)

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return (
            isinstance(other, Parts)
            and len(self.columns) == len(other.columns)
            and all(map(np.array_equal, self.columns, other.columns))
            and all(a.mergeable(b) for a, b in zip(self.states, other.states, strict=True))
        )

    def finite(self) -> bool:
        """False if squares or weights have overflowed."""
        return all(state.finite() for state in self.states)

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return type(self)(self.columns, tuple(state.widened(K, at) for state in self.states))
