"""Types of arrays for the signatures of the whole package, and weights where none are given."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Codes = NDArray[np.int32]


def row_weights(w: ArrayLike | None, n: int) -> Floats:
    """The weights of n rows: 1 each where none are given."""
    return np.ones(n) if w is None else np.asarray(w, dtype=np.float64)


def rows_that_count(known: NDArray[np.bool_], w: Floats | None) -> NDArray[np.bool_]:
    """Which of some known rows weigh anything."""
    return known if w is None else known & (w > 0)
