"""What flows through a pass: chunks of rows, read by lazy parts, which a source cuts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likelier.data.matrix import Block


class Chunk(NamedTuple):
    """Some rows in memory.

    y: (n,) codes (int32, -1 = unlabelled), (n, K) soft labels, or, before they are coded, raw labels.
    first: number of the first row in the whole source.
    """

    X: Block
    y: NDArray[Any] | None = None
    w: NDArray[np.float64] | None = None
    first: int = 0


# A part reads itself, in whichever worker runs it: lazy and picklable.
Part = Callable[[], Iterable[Chunk]]


class Source(Protocol):
    """Rows that can be read again and again, cut into parts.

    The cut is a function of the data and the size of the state that will absorb them, never of the
    number of workers: so the same rows are always added up in the same order.
    """

    def parts(self, state_bytes: int) -> Sequence[Part]: ...
