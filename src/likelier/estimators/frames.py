"""Frames of the user's library, in and out: names, types and index kept."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _get_feature_names

from likelier.data import frames

LIBRARIES = ("pandas", "polars", "pyarrow")


def opened(X: Any) -> Any:
    """Frames of whatever library as frames of one kind; all else as it is."""
    if type(X) is np.ndarray or issparse(X):
        return X
    _no_record(X)
    frame = frames.frame(X)
    return X if frame is None else frame


def _no_record(X: Any) -> None:
    """Refuse what people pass for a table, and say how to make one of it."""
    if isinstance(X, str | PathLike):
        raise ValueError(
            f"Expected 2D array, got a string instead: X={str(X)!r:.80}. If it is a file, scan it, y "
            f"included: fit(likelier.scan({str(X)!r:.80}, target='y'))."
        )
    if isinstance(X, Mapping) and not hasattr(X, "tocsr"):  # a DOK matrix is both
        raise ValueError(
            "Expected 2D array, got a dict instead. If it is one row, make a table of it: "
            "pandas.DataFrame([row]); if its values are columns: pandas.DataFrame(X)."
        )
    if isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        raise ValueError(
            "Expected 2D array, got a list of dicts instead. Make a table of them: pandas.DataFrame(rows)."
        )


def feature_names(X: Any) -> NDArray[Any] | None:
    """The column names of a frame, if they are strings."""
    if type(X) is np.ndarray:
        return None
    names = _get_feature_names(X)
    return None if names is None else np.asarray(names, dtype=object)


def check_library(output: str | None) -> None:
    """Refuse what no frame can be made by."""
    if output is not None and output not in LIBRARIES:
        raise ValueError(f"output must be None or one of {', '.join(LIBRARIES)}; got {output!r}.")


def is_frame(X: Any) -> bool:
    """Whether X is a frame in memory."""
    return type(X) is not np.ndarray and frames.frame(X) is not None


def selected_columns(X: Any, names: list[str]) -> Any:
    """Some columns of a frame, which is of the same library."""
    frame = frames.frame(X)
    assert frame is not None
    return frame.select(names).to_native()


def filled_in(X: Any, filled: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    """The frame X with its missing cells taken from `filled` (n, p)."""
    frame = frames.frame(X)
    assert frame is not None
    native = frame.to_native()
    at = np.flatnonzero(missing.any(axis=0)).tolist()
    if nw.dependencies.is_pandas_dataframe(native):
        new = native.copy(deep=False)  # whose columns may have names of any type
        for j in at:
            new[new.columns[j]] = _pandas_like(native.iloc[:, j], filled[:, j], missing[:, j])
        return new
    names = frame.columns
    return frame.with_columns(*(_like(frame.get_column(names[j]), filled[:, j]) for j in at)).to_native()


def _pandas_like(column: Any, values: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    """A column of pandas, its index kept: floats where it holds numbers, else of its own type."""
    found = _typed(values)
    if isinstance(found, np.ndarray):
        keeps = isinstance(column.dtype, np.dtype) and column.dtype.kind == "f"
        return found.astype(column.dtype if keeps else np.float64)
    try:
        made = column.copy()
        made[missing] = values[missing]
    except TypeError:  # categories that the column does not have
        made = column.astype(object)
        made[missing] = values[missing]
    return made


def _like(series: Any, values: NDArray[Any]) -> Any:
    """Values as a column of the type that this one has: floats where it holds numbers."""
    dtype, found = series.dtype, _typed(values)
    if isinstance(found, np.ndarray):
        floats = dtype if dtype.is_float() else nw.Float64
        return nw.new_series(series.name, found, floats, backend=series.implementation)
    made = nw.new_series(series.name, found, backend=series.implementation)
    if dtype in (nw.Categorical, nw.Enum) and set(found) <= set(series.cat.get_categories()):
        return made.cast(dtype)
    return made


def new_frame(rows: NDArray[Any], names: NDArray[Any] | None, library: Any) -> Any:
    """Rows as a frame: each column of a type of its own."""
    named = [f"x{j}" for j in range(rows.shape[1])] if names is None else [str(name) for name in names]
    columns = {name: _typed(rows[:, j]) for j, name in enumerate(named)}
    return nw.from_dict(columns, backend=library).to_native()


def _typed(column: NDArray[Any]) -> Any:
    """Numbers as an array, categories as a list."""
    if column.dtype.kind != "O":
        return column
    values = column.tolist()
    # Whole numbers that are categories come back as integers, beside observed cells that are floats.
    numbers = all(type(value) in (float, int) for value in values)
    return np.array(values) if numbers else values
