"""What can be wrong with rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class DegenerateWarning(UserWarning):
    """The rows do not determine all of the model: what was done instead is defined, and said."""


class NonFinite(ValueError):
    """A cell of X is NaN or infinite."""

    def __init__(
        self, row: int, column: int, value: float, name: str | None = None, place: str = ""
    ) -> None:
        self.row, self.column, self.value, self.name, self.place = row, column, value, name, place
        what = "NaN" if np.isnan(value) else "infinity or a value too large for dtype('float64')"
        where = f"{place or f'row {row}'}, column {column}" + (f" ({name!r})" if name is not None else "")
        super().__init__(
            f"Input X contains {what}: {where} is {value}. Drop such rows, or fill the cell in first "
            "(for example with sklearn.impute.SimpleImputer)."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return NonFinite, (self.row, self.column, self.value, self.name, self.place)

    def named(self, name: str | None, place: str) -> "NonFinite":
        """The same, with the name of the column, and how to find the row."""
        return NonFinite(self.row, self.column, self.value, name, place)


def refuse_cells(X: NDArray[np.float64], *, gaps: bool, first: int = 0) -> None:
    """Raise at the first cell that is infinite or, unless gaps are allowed, missing."""
    bad = np.argwhere(np.isinf(X) if gaps else ~np.isfinite(X))
    if len(bad):
        row, column = (int(i) for i in bad[0])
        raise NonFinite(first + row, column, float(X[row, column]))
