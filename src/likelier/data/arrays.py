"""The source over arrays in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data.chunk import Chunk, Part
from likelier.data.labels import code
from likelier.data.matrix import Block

# A part is this much of X, or four times the state that absorbs it, whichever is more: enough work to
# be worth a task and a merge. One part is one chunk: the kernels cut it into cache-sized tiles.
PART_BYTES = 8 << 20


@dataclass(frozen=True)
class Arrays:
    """X, labels and weights in memory. With `levels`, the chunks carry codes instead of labels."""

    X: Block
    y: NDArray[Any] | None = None
    w: NDArray[np.float64] | None = None
    levels: NDArray[Any] | None = None
    names: NDArray[Any] | None = None
    offset: NDArray[np.float64] | None = None  # (n,) or (n, q)

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def p(self) -> int:
        return self.X.shape[1]

    @property
    def rows(self) -> int:
        return len(self)

    @property
    def y_shape(self) -> tuple[int, ...]:
        return () if self.y is None else self.y.shape[1:]

    def labels(self) -> Self:
        return self

    def place(self, row: int) -> str:
        return f"row {row}"

    def coded(self, levels: NDArray[Any]) -> Self:
        return replace(self, levels=levels)

    def parts(self, state_bytes: int) -> Sequence[Part]:
        rows = max(1, max(PART_BYTES, 4 * state_bytes) // max(1, self.X.row_bytes))
        n = len(self)
        if n <= rows:
            return [partial(self._read, 0, n)]
        count = -(-n // rows)
        cuts = [n * i // count for i in range(count + 1)]
        return [partial(self._read, *ends) for ends in pairwise(cuts)]

    def _read(self, start: int, stop: int) -> Iterator[Chunk]:
        if stop - start == len(self):
            y = self.y if self.y is None or self.levels is None else code(self.y, self.levels)
            yield Chunk(self.X, y, self.w, start, self.offset)
            return
        y = None if self.y is None else self.y[start:stop]
        if y is not None and self.levels is not None:
            y = code(y, self.levels)
        w = None if self.w is None else self.w[start:stop]
        offset = None if self.offset is None else self.offset[start:stop]
        yield Chunk(self.X.rows(start, stop), y, w, start, offset)
