"""Errors of rows: which cell is wrong, and why."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

CONTINUOUS = (
    "Unknown label type: continuous. Classes are whole numbers, strings or booleans; for a target of real "
    "numbers use a regression."
)
MOST_EXACT = 2.0**53  # from here on, a float stands for several whole numbers
CROWDED = "Whole numbers from 2^53 on are read as floats, which do not tell them apart: write them as text."


class DegenerateWarning(UserWarning):
    """The rows do not determine the whole model, for example because a class has too few of them.

    The message says what was done instead.
    """


class SeparationWarning(DegenerateWarning):
    """Some columns separate the classes perfectly: the likelihood has no finite maximum.

    Weights grow without bound unless there is a penalty.
    """


class SkippedWarning(UserWarning):
    """Values to predict lie outside the support of their column's density and were treated as missing."""


class BadCell(ValueError):
    """A cell of X that a model cannot use."""

    def __init__(
        self,
        row: int,
        column: int,
        value: float,
        name: str | None = None,
        place: str = "",
        why: str = "",
        whom: str = "",
    ) -> None:
        self.row, self.column, self.value = row, column, value
        self.name, self.place, self.why, self.whom = name, place, why, whom
        where = f"{place or f'row {row}'}, column {column}" + (f" ({name!r})" if name is not None else "")
        super().__init__(self._said(where))

    def _said(self, where: str) -> str:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        said = self.name, self.place, self.why, self.whom
        return type(self), (self.row, self.column, self.value, *said)

    def named(self, name: str | None, place: str, whom: str = "") -> Self:
        """The same, with the name of the column, how to find the row, and which model it was for."""
        return type(self)(self.row, self.column, self.value, name, place, self.why, whom)

    def below(self, first: int) -> Self:
        """The same, where X was the rows of another from this one on."""
        return type(self)(first + self.row, self.column, self.value, self.name, self.place, self.why)

    def among(self, columns: NDArray[np.intp]) -> Self:
        """The same, where X was these columns of another."""
        return type(self)(self.row, int(columns[self.column]), self.value, self.name, self.place, self.why)


class NonFinite(BadCell):
    """A cell of X is NaN or infinite."""

    def _said(self, where: str) -> str:
        what = "NaN" if np.isnan(self.value) else "infinity or a value too large for dtype('float64')"
        said = (
            f"Input X contains {what}: {where} is {self.value}. Drop such rows, or fill the cell in first "
            "(for example with sklearn.impute.SimpleImputer)"
        )
        if np.isnan(self.value):
            said += "; generative classifiers (GaussianNB, LinearDiscriminantAnalysis) take it as missing"
        return said + "."


class OutOfSupport(BadCell):
    """A cell of X is no value that its column's family can have; `why` names family and support."""

    def _said(self, where: str) -> str:
        said = f"Input X contains a value its family cannot have: {where} is {self.value:g}; {self.why}."
        if self.value < 0 and self.whom:
            return f"Negative values in data passed to {self.whom} (input X). {said}"
        return said


class NoValue(BadCell):
    """A row in which an expression of columns has no finite value; `why` says which, and of what."""

    def _said(self, where: str) -> str:
        row = self.place or f"row {self.row}"
        return f"Input X: {self.why} in {row}. Drop such rows, or change the formula."


class TooLarge(BadCell):
    """A cell of X is so large that no class has a finite score for its row."""

    def _said(self, where: str) -> str:
        return (
            f"Input X contains a value so large that the scores of its row overflow: {where} is "
            f"{self.value:g}. Divide the column before the fit, or drop such rows."
        )


def refuse_cells(X: NDArray[np.float64], *, gaps: bool, first: int = 0) -> None:
    """Raise at the first cell that is infinite or, unless gaps are allowed, missing."""
    bad = np.argwhere(np.isinf(X) if gaps else ~np.isfinite(X))
    if len(bad):
        row, column = (int(i) for i in bad[0])
        raise NonFinite(first + row, column, float(X[row, column]))
