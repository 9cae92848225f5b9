"""Frames with categories and dates: what their columns are, and the columns themselves."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from likelier.data import frames
from likelier.data.design import DAY, TableColumn
from likelier.data.files.columns import days
from likelier.data.labels import Factor
from likelier.data.matrix import Columns

Table = tuple[tuple[TableColumn, ...], Columns]


def table_of(X: frames.Frame, names: Sequence[str] | None = None) -> Table:
    """The columns of a frame, and what they are; others than numbers, categories and dates are refused."""
    kinds, arrays, refused = [], [], []
    for name, series in zip(
        X.columns if names is None else names, frames.each_column(X, categories=True), strict=True
    ):
        if isinstance(series, Factor):
            found: Any = TableColumn(name, "category"), series
        elif isinstance(series, np.ndarray):
            found = TableColumn(name, "bool" if series.dtype.kind == "b" else "number"), series
        else:
            found = _of_series(name, series)
            if found is None:
                refused.append((frames.read(series).kind, series))
                continue
        kinds.append(found[0])
        arrays.append(found[1])
    if refused:
        raise ValueError(frames.refusal(refused))
    return tuple(kinds), Columns(tuple(arrays))


def _of_series(name: str, series: frames.Series) -> tuple[TableColumn, Any] | None:
    dtype = series.dtype
    if isinstance(dtype, nw.Datetime | nw.Date):
        zone = str(dtype.time_zone) if isinstance(dtype, nw.Datetime) and dtype.time_zone else None
        return TableColumn(name, "date", zone), frames.arrow_numbers(days(_chunked(series)))
    if isinstance(dtype, nw.Duration):
        ticks = _chunked(series).cast(pa.duration("us"), safe=False).cast(pa.int64())
        return TableColumn(name, "number"), frames.arrow_numbers(ticks.cast(pa.float64())) / DAY
    if dtype in (nw.Categorical, nw.Enum):
        ordered = _ordered(name, series)
        if ordered is not None:
            return ordered
    kind, values = frames.read(series)
    if values is not None:
        return TableColumn(name, "bool" if kind == "bool" else "number"), values
    if kind == "category":
        return TableColumn(name, "category"), frames.series_factor(series)
    return None


def _chunked(series: frames.Series) -> Any:
    column: Any = series.to_arrow()
    return column


def _ordered(name: str, series: frames.Series) -> tuple[TableColumn, Any] | None:
    """A column of ordered categories, or of categories that are no plain values (as `pandas.cut` makes)."""
    native: Any = series.to_native()
    if series.implementation.is_pandas():
        cells = native.cat
        plain = all(isinstance(level, str) for level in cells.categories)
        if not cells.ordered and (plain or not _odd(cells.categories)):
            return None
        levels = [str(level) for level in cells.categories]
        factor = Factor.of(cells.codes.to_numpy().astype(np.int64), levels)
        kind = TableColumn(name, "ordered", order=tuple(levels))
        return (kind if cells.ordered else TableColumn(name, "category")), factor
    ordered = series.dtype == nw.Enum or bool(getattr(getattr(native, "type", None), "ordered", False))
    if not ordered:
        return None
    levels = [str(level) for level in series.cat.get_categories().to_list()]
    return TableColumn(name, "ordered", order=tuple(levels)), frames.series_factor(series)


def _odd(categories: Any) -> bool:
    """Whether categories are neither numbers nor strings nor booleans."""
    return not all(isinstance(level, str | int | float | bool | np.generic) for level in categories)
