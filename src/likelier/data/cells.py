"""Tables as columns of features: numbers as they are, text, categories and truths as words.

A dict of a row's cells by their columns' names gives the same features.
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likelier import _core
from likelier.data import frames
from likelier.data.factors import Factor
from likelier.data.matrix import Columns, Dense

_NATIVE = "fdbBhHiIlLqQ"  # the types of numbers that are read where they lie
_TRUTHS = ["False", "True"]


def frame_columns(X: frames.Frame, *, strict: bool) -> list["_core.Column"]:
    """The columns of a frame; dates and times are refused, by their names."""
    found, refused = [], []
    for series in X.iter_columns():
        column = _column(series, strict)
        if column is None:
            refused.append(f"{series.name!r} ({series.dtype})")
        else:
            found.append(column)
    if refused:
        raise ValueError(
            f"Input X has columns that are neither numbers nor words: {', '.join(refused)}. Drop them, or "
            f"{frames.ADVICE['time']}."
        )
    return found


def _column(series: Any, strict: bool) -> "_core.Column | None":
    name, plain = str(series.name), getattr(series.to_native(), "dtype", None)
    if isinstance(plain, np.dtype) and plain.kind == "O":  # each is read as a dict's values are
        return _core.Column.objects(name, series.to_list(), strict)
    kind, values = frames.read(series)
    if kind == "time":
        return None
    if kind == "bool":
        return _truths(name, series, values)
    if kind == "number" and values is not None:
        return _numbers(name, series, values)
    if series.dtype in (nw.Categorical, nw.Enum):
        if kind == "mixed" and series.implementation.is_pandas():
            cells = series.to_native().cat  # of any objects, such as the intervals of `cut`
            return _core.Column.coded(name, cells.codes.to_numpy(np.int32), [*map(str, cells.categories)])
        return _words(name, frames.factor(series))
    if series.dtype == nw.String:
        return _text(name, series.to_arrow())
    return _core.Column.objects(name, series.to_list(), strict)


def _numbers(name: str, series: Any, values: NDArray[Any]) -> "_core.Column":
    # A null is no feature, nor is 0; NaN is a number gone wrong. pandas' plain arrays have no nulls.
    if not isinstance(getattr(series.to_native(), "dtype", None), np.dtype) and series.null_count():
        values = np.where(series.is_null().to_numpy(), 0, values)
    return numbers(name, values)


def numbers(name: str, values: NDArray[Any]) -> "_core.Column":
    """A column of numbers of any type."""
    if values.dtype.char not in _NATIVE or not values.dtype.isnative:
        values = values.astype(np.float64)
    return _core.Column.numbers(name, values)


def _truths(name: str, series: Any, values: NDArray[Any] | None) -> "_core.Column":
    assert values is not None
    codes = np.where(np.isnan(values), -1, values) if values.dtype.kind == "f" else values
    return _core.Column.coded(name, codes.astype(np.int32), _TRUTHS)


def _words(name: str, factor: Factor) -> "_core.Column":
    return _core.Column.coded(name, factor.codes, [str(level) for level in factor.levels])


def _text(name: str, column: Any) -> "_core.Column":
    """Arrow's strings, where they lie: starts of words, and their bytes."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if column.type not in (pa.string(), pa.large_string()):
        column = column.cast(pa.large_string())
    width = np.int32 if column.type == pa.string() else np.int64
    _, starts, data = column.buffers()
    at, n = column.offset, len(column)
    found = np.zeros(1, width) if n == 0 else np.frombuffer(starts, width)[at : at + n + 1]
    there = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return _core.Column.text(name, found, content, there)


def block_columns(X: Dense | Columns, names: Sequence[str] | None, *, gaps: bool) -> list["_core.Column"]:
    """The columns of rows in memory; gaps: NaN is a cell that is not there."""
    names = [str(j) for j in range(X.shape[1])] if names is None else names
    arrays = X.arrays if isinstance(X, Columns) else [X.array[:, j] for j in range(X.shape[1])]
    found = []
    for name, values in zip(names, arrays, strict=True):
        if isinstance(values, Factor):
            found.append(_words(name, values))
        elif isinstance(X, Columns) and values.dtype.kind == "b":
            found.append(_core.Column.coded(name, values.astype(np.int32), _TRUTHS))
        else:
            found.append(numbers(name, np.where(np.isnan(values), 0, values) if gaps else values))
    return found
