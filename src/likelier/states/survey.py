"""The survey: what must be known of the labels before the pass that counts."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk, levels_of


@dataclass
class Survey:
    """The distinct labels, sorted, of all rows that have a weight."""

    levels: NDArray[Any] | None = field(default=None)

    @property
    def nbytes(self) -> int:
        return 0 if self.levels is None else self.levels.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        y = chunk.y if chunk.w is None else chunk.y[chunk.w > 0]
        self.merge(type(self)(levels_of(y)))

    def merge(self, other: Self) -> None:
        if self.levels is None or other.levels is None:
            self.levels = other.levels if self.levels is None else self.levels
        elif not np.array_equal(self.levels, other.levels):
            self.levels = levels_of(np.concatenate([self.levels, other.levels]))
