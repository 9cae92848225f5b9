"""Coefficients as a table: what every summary prints."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likelier.shown import Table

Floats = NDArray[np.float64]
Covariance = Literal["classical", "HC0", "HC1", "HC2", "HC3"]
Columns = Mapping[str, Floats]  # by heading

TESTS = ("t", "z", "p")  # of which three digits are enough


def interval(level: float) -> tuple[str, str]:
    """The headings of both ends."""
    tail = 50 * (1 - level)
    return f"{tail:g} %", f"{100 - tail:g} %"


def frame(names: Sequence[str], columns: Columns) -> Any:
    """As a pandas frame."""
    import pandas as pd

    return pd.DataFrame(dict(columns), index=list(names))


def cells(names: Sequence[str], columns: Columns) -> Table:
    """As they are shown: a row of headings, and one for each coefficient."""
    shown = [
        [f"{v:.3g}" if heading in TESTS else f"{v:.6g}" for v in values]
        for heading, values in columns.items()
    ]
    return Table([("", *columns), *zip(names, *shown, strict=True)])


def wald(b: Floats, V: Floats) -> float:
    """bᵀ V⁺ b (Wald 1943), the columns first brought to one unit, on which it does not depend."""
    unit = np.sqrt(np.diagonal(V))
    unit = np.where(unit > 0, unit, 1.0)
    C = V / np.outer(unit, unit)
    if not np.isfinite(C).all():
        return np.nan
    return float((b / unit) @ np.linalg.pinv(C, hermitian=True) @ (b / unit))
