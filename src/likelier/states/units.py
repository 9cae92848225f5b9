"""Statistics of columns that are counted in units of powers of two."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import Chunk
from likelier.data.units import Units, block_in_units, magnitudes


@dataclass
class Scaled:
    """The statistics that rows have in these units."""

    units: Units  # (p,)
    state: Any

    @property
    def n(self) -> Floats:
        n: Floats = self.state.n
        return n

    @property
    def nbytes(self) -> int:
        return int(self.state.nbytes)

    def update(self, chunk: Chunk) -> None:
        self.state.update(chunk._replace(X=block_in_units(chunk.X, self.units)))

    def merge(self, other: Self) -> None:
        self.state.merge(other.state)

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things, in the same units."""
        same = isinstance(other, Scaled) and np.array_equal(self.units, other.units)
        return same and bool(self.state.mergeable(other.state))

    def unlike(self, other: Any, names: NDArray[Any] | None = None) -> str:
        """Why they cannot be merged."""
        if not isinstance(other, Scaled) or not np.array_equal(self.units, other.units):
            return (
                "columns differ in magnitude: those of one model are so large or small that they were "
                "counted in units of their own. Multiply such columns by one power of two in all rows"
            )
        found: str = self.state.unlike(other.state, names)
        return found

    def finite(self) -> bool:
        return bool(self.state.finite())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return replace(self, state=self.state.widened(K, at))


@dataclass
class Magnitudes:
    """The largest magnitude in each column, of all rows that have a weight."""

    most: Floats  # (p,)

    @classmethod
    def start(cls, p: int) -> Self:
        return cls(np.zeros(p))

    @property
    def nbytes(self) -> int:
        return self.most.nbytes

    def update(self, chunk: Chunk) -> None:
        if chunk.w is not None and not chunk.w.all():
            chunk = chunk.take(np.flatnonzero(chunk.w))
        self.most = np.maximum(self.most, magnitudes(chunk.X))

    def merge(self, other: Self) -> None:
        self.most = np.maximum(self.most, other.most)


def plain(statistics: Any) -> Any:
    """The statistics themselves, in whatever units."""
    return statistics.state if isinstance(statistics, Scaled) else statistics
