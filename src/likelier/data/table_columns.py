"""Frames with categories and dates: what their columns are, and the columns themselves."""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from likelier.array_types import Floats
from likelier.data import frames
from likelier.data.errors import SkippedWarning
from likelier.data.files.columns import days
from likelier.data.labels import Factor
from likelier.data.matrix import Columns
from likelier.display import some_of
from likelier.warning_location import outside

# What the columns of a table are, and what is computed of each before it is encoded.

Kind = Literal["number", "bool", "category", "ordered", "date", "text"]
CODED = ("category", "text")  # whose cells are codes of strings
DAY = 86_400e6  # microseconds

DATE_PARTS: dict[str, Callable[[Any], Any]] = {
    "year": pc.year,
    "quarter": pc.quarter,
    "month": pc.month,
    "week": pc.iso_week,
    "day": pc.day,
    "weekday": pc.day_of_week,
    "yearday": pc.day_of_year,
    "hour": pc.hour,
    "minute": pc.minute,
}
DAYS = "days"  # the number of days since 1970, as a part beside others


@dataclass(frozen=True)
class TableColumn:
    """A column of a table: its name, and what it holds."""

    name: str
    kind: Kind
    zone: str | None = None  # of dates
    order: tuple[Any, ...] = ()  # of ordered categories, from the lowest on
    parts: tuple[str, ...] = ()  # of dates; none: the number of days

    @property
    def derived_names(self) -> list[str]:
        """The names of what is computed of it: mostly itself."""
        return [f"{self.name}.{part}" for part in self.parts] or [self.name]

    def derived(self, values: Any) -> list[Any]:
        """What is computed of its values: parts of dates, ranks of ordered categories, or themselves."""
        if self.kind == "ordered" and isinstance(values, Factor):
            return [self._ranks(values)]
        if not self.parts:
            return [values]
        moments = self._moments(values)
        return [values if part == DAYS else _numbers(DATE_PARTS[part](moments)) for part in self.parts]

    def _ranks(self, values: Factor) -> Floats:
        rank = {level: float(i) for i, level in enumerate(self.order)}
        unseen = [level for level in values.used() if level not in rank]
        if unseen:
            warn_of_unseen([(self.name, unseen[0])], "counted as missing")
        found = np.array([*(rank.get(level, np.nan) for level in values.levels), np.nan, np.nan])
        return np.asarray(found[values.codes])

    def _moments(self, days: Floats) -> Any:
        """Days since 1970 as points in time, by the clock of the zone."""
        gone = np.isnan(days)
        ticks = np.where(gone, 0.0, np.round(days * DAY)).astype(np.int64)
        moments = pa.array(ticks, pa.int64(), mask=gone).cast(pa.timestamp("us"))
        if self.zone is None:
            return moments
        return pc.local_timestamp(moments.cast(pa.timestamp("us", tz=self.zone)))


def _numbers(column: Any) -> Floats:
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))


# Frames with categories and dates.

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


# Values as a column of a design takes them, whatever they came as.


def of_kind(column: TableColumn, values: Any) -> Any:
    """The values of a column, refused where they are of another kind than in fit."""
    if column.kind in (*CODED, "ordered"):
        return values
    if isinstance(values, Factor):
        dated = column.kind == "date"
        return _dated(column.name, values) if dated else all_missing(column.name, values, "held numbers")
    return values


DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z?)?")


def _dated(name: str, factor: Factor) -> Floats:
    """Dates that are written as text, as days since 1970."""
    texts = [str(level) for level in factor.levels]
    odd = next((text for text in texts if not DATE.fullmatch(text)), None)
    if odd is not None and odd in map(str, factor.used()):
        raise ValueError(
            f"Input X has categories in column {name!r}, such as {odd!r}, which held dates in fit: write "
            "dates as 2026-01-31, or 2026-01-31T12:00."
        )
    days = [date_in(text) if DATE.fullmatch(text) else np.nan for text in texts]
    return np.asarray(np.array([*days, np.nan])[factor.codes])


def date_in(text: str) -> float:
    """Days since 1970 of a date in text."""
    moment = np.datetime64(text.rstrip("Z").replace(" ", "T"), "us")
    return float(moment.astype(np.int64) / DAY)


def all_missing(name: str, factor: Factor, held: str) -> Floats:
    """A column of categories for one of numbers: nothing but missing cells is allowed."""
    used = factor.used()
    if len(used):
        raise ValueError(
            f"Input X has categories in column {name!r}, such as {used[0]!r}, which {held} in fit."
        )
    return np.full(len(factor), np.nan)


def warn_of_unseen(unseen: list[tuple[str, Any]], what: str) -> None:
    """Say which columns have levels that were not there in the fit, and what becomes of them."""
    if unseen:
        some = some_of([f"{name!r} (such as {level!r})" for name, level in unseen])
        warnings.warn(
            f"Input X has categories that were not in fit, in column {some}: {what}.",
            SkippedWarning,
            stacklevel=outside(),
        )


def of_strings(values: Any, refusal: Callable[[float], str]) -> Factor:
    """A column of strings; one without any value was read as missing numbers.

    refusal: what is wrong with a number in it.
    """
    if isinstance(values, Factor):
        return values
    numbers = np.asarray(values, dtype=np.float64)
    there = numbers[~np.isnan(numbers)]
    if len(there):
        raise ValueError(refusal(float(there[0])))
    return Factor(np.full(len(numbers), -1, dtype=np.int32), np.empty(0, dtype=object))
