"""Tables that users pass: opened, turned into design matrices, and given back as frames."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _get_feature_names, check_array

from likelier.data import (
    Arrays,
    Columns,
    DegenerateWarning,
    Factor,
    Source,
    Stored,
    columns_of,
    frames,
)
from likelier.data.dask import DaskRows, is_collection
from likelier.data.design import CategoryTerm, Design, Designed, LeftOut, encoding_threads
from likelier.data.files.scan import Scan
from likelier.data.matrix import readable
from likelier.data.table_columns import TableColumn, table_of
from likelier.display import some_of
from likelier.engines import run
from likelier.states.design_survey import DesignSettings, DesignSurvey, declared
from likelier.warning_location import outside

# Tables in memory: frames of any library, and arrays of numbers or of objects.


class NamedTable(NamedTuple):
    """The columns of a table, and its names if they are strings."""

    table: tuple[TableColumn, ...]
    columns: Columns
    names: NDArray[Any] | None


def table_in_memory(estimator: Any, X: Any) -> NamedTable:
    """What the columns of X are, and the columns."""
    X = opened(X)
    if isinstance(X, nw.DataFrame):
        _check_some(estimator, X.shape)
        names = feature_names(X)
        said = [str(name) for name in names] if names is not None else _numbered(X.shape[1])
        return NamedTable(*table_of(X, said), names)
    columns = _columns_of_array(estimator, X)
    kinds = [
        TableColumn(name, "number" if isinstance(values, np.ndarray) else "category")
        for name, values in zip(_numbered(len(columns.arrays)), columns.arrays, strict=True)
    ]
    return NamedTable(tuple(kinds), columns, None)


def _numbered(p: int) -> list[str]:
    return [f"x{j}" for j in range(p)]


def _check_some(estimator: Any, shape: tuple[int, int]) -> None:
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required by "
                f"{type(estimator).__name__}."
            )


def _columns_of_array(estimator: Any, X: Any) -> Columns:
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "OU" and X.size:
        return frames.of_objects(X)
    X = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    if X.dtype.kind in "OU":
        return frames.of_objects(X)
    if X.dtype.kind not in "fiub" or X.dtype.char == "g":
        X = X.astype(np.float64)
    return Columns(tuple(map(readable, X.T)))


# Tables in files and on clusters.


def table_in_parts(X: Stored) -> tuple[tuple[TableColumn, ...], Stored]:
    """What the columns of a source are, and the source with text as categories and dates as days."""
    columns = list(columns_of(X))
    names = [str(name) if X.names is not None else f"x{name}" for name in columns]
    texts, others = X.texts(columns), X.others(columns)
    zones = _zones(X, [str(name) for name in columns if str(name) in others and str(name) not in texts])
    lost = [str(name) for name in columns if str(name) in others and str(name) not in {*texts, *zones}]
    if lost:
        which = some_of([f"{name!r} ({others[name]})" for name in lost])
        raise ValueError(
            f"These columns hold neither numbers, categories nor dates: {which}. Leave them out, as in "
            "scan(path, features=[...])."
        )
    kinds = tuple(
        TableColumn(said, "category")
        if str(name) in texts
        else TableColumn(said, "date", zones[str(name)])
        if str(name) in zones
        else TableColumn(said, "number")
        for said, name in zip(names, columns, strict=True)
    )
    return kinds, _as_declared(X, texts, list(zones))


def _zones(X: Stored, columns: Sequence[str]) -> dict[str, str | None]:
    """The time zones of columns of dates."""
    if isinstance(X, Scan):
        types = X.files[0].types
        return {name: getattr(types[name], "tz", None) for name in X.dates(columns)}
    if isinstance(X, DaskRows):
        said = X.others(columns)
        dates = {name: re.fullmatch(r"datetime64\[\w+(?:, (.+))?\]", said[name]) for name in columns}
        return {name: match[1] for name, match in dates.items() if match is not None}
    return {}


def _as_declared(X: Stored, texts: Any, dates: Sequence[str]) -> Stored:
    if isinstance(X, Scan) and dates:
        X = X.with_types(dict.fromkeys(dates, "date"))
    return X.categorised(texts) if texts or (dates and isinstance(X, DaskRows)) else X


# Whether rows need a design, for which models.

# While a fit is repeated because a cell is missing: its table becomes a design matrix, whatever it holds.
_GAPS: ContextVar[bool] = ContextVar("_GAPS", default=False)


def encodes(estimator: Any) -> bool:
    """Whether a model turns tables into design matrices by itself."""
    if not hasattr(type(estimator), "_design_settings"):
        return False
    if not isinstance(estimator.encode, bool | np.bool_):
        raise ValueError(f"encode must be True or False; got {estimator.encode!r}.")
    return bool(estimator.encode)


@contextmanager
def filling_gaps() -> Iterator[None]:
    """While a fit is repeated because a cell is missing: its table becomes a design matrix."""
    token = _GAPS.set(True)
    try:
        yield
    finally:
        _GAPS.reset(token)


def can_fill(estimator: Any, X: Any) -> bool:
    """Whether a design matrix would have a number in place of what is missing in X."""
    if _GAPS.get() or not encodes(estimator) or estimator._design_settings().missing == "keep":
        return False
    return isinstance(X, Stored) or is_collection(X) or isinstance(opened(X), nw.DataFrame)


def learned_frame(estimator: Any, X: Any, w: NDArray[np.float64] | None) -> Arrays | None:
    """A frame as a design matrix, if it holds more than numbers; w: the weights of its rows."""
    if not (isinstance(X, nw.DataFrame) and encodes(estimator)):
        return None
    if not _GAPS.get() and all(_is_number(dtype) for dtype in X.schema.values()):
        return None
    found = table_in_memory(estimator, X)
    if not _GAPS.get() and all(column.kind in ("number", "bool") for column in found.table):
        return None
    _refuse_written(X, found)
    source = Arrays(found.columns, None, w, names=found.names)
    design = _learned(estimator, source, found.table, named=found.names is not None)
    return replace(designed(source, design), w=w)  # type: ignore[type-var,return-value]


def _refuse_written(X: frames.Frame, found: NamedTable) -> None:
    """Refuse numbers that are written as text: an indicator of each is hardly what is meant."""
    written: list[tuple[frames.Kind, Any]] = []
    for name, values in zip(X.columns, found.columns.arrays, strict=True):
        text = isinstance(values, Factor) and X.schema[name] in (nw.String, nw.Object)
        if text and len(values.levels) and all(map(_written, values.levels)):
            written.append(("category", X.get_column(name)))
    if written:
        raise ValueError(frames.refusal(written))


def _written(level: Any) -> bool:
    """Whether a string is a number; what begins with 0 is a code, such as a postcode."""
    try:
        float(level)
    except (TypeError, ValueError):
        return False
    return isinstance(level, str) and not (len(level) > 1 and level[0] == "0" and level[1].isdigit())


def _is_number(dtype: Any) -> bool:
    return bool(dtype.is_numeric()) or dtype == nw.Boolean


def learned_source(estimator: Any, X: Stored) -> Stored | None:
    """A source as design matrices, if it holds more than numbers."""
    if not encodes(estimator):
        return None
    columns = columns_of(X)
    if not (_GAPS.get() or X.others(columns)):
        return None
    table, source = table_in_parts(X)
    return Designed(source, _learned(estimator, source, table, named=X.names is not None))


def _learned(estimator: Any, source: Source, table: Sequence[TableColumn], *, named: bool) -> Design:
    found = surveyed(source, table, estimator._design_settings())
    if not found.n > 0:
        raise ValueError("Sample weights are all zero: no row is left to fit. Give some row a weight.")
    if not np.isfinite(found.moments.S).all():
        raise ValueError("Input X contains values so large that their sums of squares overflow.")
    design = replace(found.design(estimator._design_settings()), named=named)
    warn_of_left_out(estimator, design)
    _check_levels(estimator, design, found.n)
    return design


def warn_of_left_out(estimator: Any, design: Design) -> None:
    """Say which columns have no value at all."""
    names = [repr(term.name) for term in design.terms if isinstance(term, LeftOut)]
    if names:
        warnings.warn(
            f"{type(estimator).__name__}: column {', '.join(names)} has no value in any row, and is left "
            "out.",
            DegenerateWarning,
            stacklevel=outside(),
        )


MOST_LEVELS = 1000  # of a column whose indicators have covariances
MANY_LEVELS = 50  # from here on, a level for every second row or more looks like an identifier


def _check_levels(estimator: Any, design: Design, n: float) -> None:
    """Refuse a column of so many levels that their covariances fill memory; warn of an identifier."""
    name = type(estimator).__name__
    for term in design.terms:
        if not isinstance(term, CategoryTerm):
            continue
        count = len(term.levels)
        if count > MOST_LEVELS and estimator._design_settings().missing == "keep":
            raise ValueError(
                f"column {term.name!r} has {count:,} levels, and {name} has covariances between the "
                f"indicators of all of them: leave it out, or pool rare levels first: DesignMatrix("
                f"drop='first', min_count={max(2, int(n / 100))})."
            )
        if count > MANY_LEVELS and count > n / 2:
            warnings.warn(
                f"{name}: column {term.name!r} has {count:,} levels in {n:,.0f} rows: is it an identifier? "
                "It predicts little for other rows; leave it out.",
                DegenerateWarning,
                stacklevel=outside(),
            )


# Learning a design, and applying it.


def surveyed(source: Source, table: Sequence[TableColumn], settings: DesignSettings) -> DesignSurvey:
    """What must be known of a table before it becomes a design matrix, from one pass over its rows."""
    if isinstance(source, Scan | DaskRows):
        source = source.without_target()
    return run(source, partial(DesignSurvey.start, declared(table, settings)))


def designed(source: Source, design: Design) -> Source:
    """The rows of a table as those of a design matrix: in memory at once, others as they are read."""
    if isinstance(source, Arrays) and isinstance(source.X, Columns):
        rows = design.rows(source.X, threads=encoding_threads(len(source)))
        return replace(source, X=rows, names=design.names)
    return Designed(source, design)


def known_columns(estimator: Any, design: Design, X: Any) -> Columns:
    """The columns of a table in memory as in fit: by name and in any order, or by their places."""
    X = opened(X)
    if isinstance(X, nw.DataFrame):
        if hasattr(estimator, "feature_names_in_") and feature_names(X) is not None:
            lost = [name for name in design.names_in if name not in X.columns]
            if lost:
                raise ValueError(
                    "The feature names should match those that were passed during fit.\nFeature names seen "
                    f"at fit time, yet now missing:\n- {some_of(lost)}\n"
                )
            X = X.select(design.names_in)
        _check_width(estimator, design, X.shape[1])
        _check_some(estimator, X.shape)
        table, columns = table_of(X, design.names_in)
        _check_kinds(design, table, columns)
        return columns
    columns = _columns_of_array(estimator, X)
    _check_width(estimator, design, len(columns.arrays))
    return columns


def _check_width(estimator: Any, design: Design, p: int) -> None:
    if p != len(design.table):
        raise ValueError(
            f"X has {p} features, but {type(estimator).__name__} is expecting {len(design.table)} features "
            "as input."
        )


def _check_kinds(design: Design, table: Sequence[TableColumn], columns: Columns) -> None:
    """Refuse dates for numbers, numbers for dates, and times with a zone for times without one."""
    for known, now, values in zip(design.table, table, columns.arrays, strict=True):
        dates = known.kind == "date", now.kind == "date"
        if all(dates):
            if (known.zone is None) != (now.zone is None):
                zoned, plain = ("in fit", "now") if known.zone else ("now", "in fit")
                raise ValueError(
                    f"Input X has times in column {known.name!r} that had a time zone {zoned} "
                    f"({known.zone or now.zone}), and have none {plain}: give all of them one."
                )
        elif any(dates) and known.kind not in ("category", "ordered"):
            if isinstance(values, np.ndarray) and (np.isnan(values.astype(np.float64))).all():
                continue
            if isinstance(values, np.ndarray):
                held, has = ("dates", "numbers") if dates[0] else ("numbers", "dates")
                raise ValueError(f"Input X has {has} in column {known.name!r}, which held {held} in fit.")


def known_source(estimator: Any, design: Design, X: Stored, *, y: bool) -> Designed:
    """A source of the columns of a fit, as rows of its design matrix."""
    names = design.names_in if X.names is not None else list(columns_of(X))
    if X.names is None:
        _check_width(estimator, design, X.p)
    X = _of_fit(design, X.taking(names, y=y))
    _, declared = table_in_parts(X)
    texts = {column.name for column in design.table if column.kind in ("category", "ordered")}
    texts &= set(map(str, names))
    found = declared.categorised(texts | X.texts(names)) if texts else declared
    return Designed(found, design)


def _of_fit(design: Design, X: Stored) -> Stored:
    """A file whose cells are text by themselves, its columns read as they were in fit.

    A cell that is no number, in a column of numbers, is then named with its line.
    """
    if not (isinstance(X, Scan) and X.delimited):
        return X
    texts = X.texts(list(columns_of(X)))
    numbers = {c.name for c in design.table if c.kind in ("number", "bool")}
    dates = {c.name for c in design.table if c.kind == "date"}
    told = {**dict.fromkeys(texts & numbers, "number"), **dict.fromkeys(texts & dates, "date")}
    return X.with_types(told) if told else X  # type: ignore[arg-type]


# Frames of the user's library, in and out: names, types and index kept.

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
    # scikit-learn knows data frames of narwhals from 1.9 on, and what they wrap before.
    names = _get_feature_names(X.to_native() if isinstance(X, nw.DataFrame) else X)
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
