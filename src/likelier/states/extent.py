"""How far the numbers of each column reach."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import CSR, Chunk, Columns, Factor

Floats = NDArray[np.float64]
FEW = 64


@dataclass
class Extent:
    """Least and largest number of each column, in all rows that have a weight, and whether all are whole.

    A column without a number: inf and -inf.
    """

    low: Floats  # (p,)
    high: Floats
    whole: NDArray[np.bool_]
    n: float = 0.0  # the weight of the rows

    @classmethod
    def start(cls, p: int) -> Self:
        return cls(np.full(p, np.inf), np.full(p, -np.inf), np.ones(p, dtype=np.bool_))

    @property
    def nbytes(self) -> int:
        return self.low.nbytes + self.high.nbytes + self.whole.nbytes

    def update(self, chunk: Chunk) -> None:
        if chunk.w is not None and not (chunk.w > 0).all():
            chunk = chunk.take(np.flatnonzero(chunk.w > 0))
        X = chunk.X
        with np.errstate(over="ignore"):  # what overflows is refused when it is counted
            self.n += float(X.shape[0] if chunk.w is None else chunk.w.sum())
        if X.shape[0] == 0:
            return
        if isinstance(X, CSR):
            X = Columns(tuple(X.to_array().T))
        if not isinstance(X, Columns):
            self._take(slice(None), X.array)
            return
        for j, column in enumerate(X.arrays):
            if not isinstance(column, Factor):
                self._take(slice(j, j + 1), column[:, None])

    def _take(self, j: slice, x: NDArray[Any]) -> None:
        """Columns x (n, q), which stand at j."""
        if x.dtype.kind == "b":
            x = x.view(np.uint8)
        # Of -0 and 0 either may be found: as a sum they are one.
        self.low[j] = np.fmin(self.low[j], np.fmin.reduce(x, axis=0)) + 0.0
        self.high[j] = np.fmax(self.high[j], np.fmax.reduce(x, axis=0)) + 0.0
        if x.dtype.kind == "f":
            whole = self.whole[j]  # a view
            for some in (x[:FEW], x[FEW:]):  # few rows show most columns that are not
                at = np.flatnonzero(whole)
                cells = some if len(at) == some.shape[1] else some[:, at]
                whole[at] = ((cells == np.rint(cells)) | np.isnan(cells)).all(axis=0)

    def merge(self, other: Self) -> None:
        self.low = np.fmin(self.low, other.low)
        self.high = np.fmax(self.high, other.high)
        self.whole = self.whole & other.whole
        self.n += other.n
