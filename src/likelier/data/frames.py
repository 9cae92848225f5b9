"""Frames of pandas, polars and Arrow as NumPy columns: each is copied once, and only if it must be."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple

import narwhals
import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likelier import _core
from likelier.data.labels import Factor, code, first_seen
from likelier.data.matrix import Columns, Dense, readable

# Arrow columns as NumPy arrays, without a loop over rows: numbers, and labels as codes.


def values_type(kind: Any) -> Any:
    """The type of the cells, whether or not they are stored as a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: Any) -> bool:
    """Strings of any kind."""
    cells, types = values_type(kind), pa.types
    return any(test(cells) for test in (types.is_string, types.is_large_string, types.is_string_view))


def is_date(kind: Any) -> bool:
    """Dates, with or without the time of the day."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def described(name: str, kind: Any) -> str:
    """The type of a column for whoever wants numbers of it."""
    return f"{kind}; days since 1970 by types={{{name!r}: 'date'}}" if is_date(kind) else str(kind)


def plain(column: Any) -> Any:
    """The cells themselves, where they are stored as a dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def is_boolean(kind: Any) -> bool:
    """Truth values."""
    return bool(pa.types.is_boolean(values_type(kind)))


def same_type(a: Any, b: Any) -> bool:
    """Whether labels of both types can be those of one list."""
    return values_type(a) == values_type(b) or (is_text(a) and is_text(b))


def same_kind(a: Any, b: Any) -> bool:
    """Whether cells of both types can stand in one column: numbers do not mix with booleans."""
    return same_type(a, b) or (is_number(a) and is_number(b) and is_boolean(a) == is_boolean(b))


def is_number(kind: Any) -> bool:
    """Numbers and booleans; a column with no value at all is one of missing numbers."""
    cells, types = values_type(kind), pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(cells) for test in tests)


def is_fractional(kind: Any) -> bool:
    """Floats and decimals."""
    cells = values_type(kind)
    return bool(pa.types.is_floating(cells) or pa.types.is_decimal(cells))


def is_label(kind: Any) -> bool:
    """What a class can be called: a number, a string or a date."""
    return is_text(kind) or is_date(values_type(kind)) or is_number(kind)


def width(kind: Any) -> int:
    """Bytes of a cell once it is an array."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # of any length: as codes
        return 4


def arrow_numbers(column: Any) -> NDArray[Any]:
    """The cells, NaN where one is missing; not copied where none is."""
    column = plain(column)
    exact = pa.types.is_decimal(column.type)
    if column.null_count or exact:
        column = column.cast(pa.float64(), safe=False)  # safe: refuses integers beyond 2^53
    cells: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return cells


def encoded(column: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels as codes, -1 where one is missing, and the values that the codes stand for."""
    if not (column.null_count or is_text(column.type) or pa.types.is_dictionary(column.type)):
        return _without_missing(*first_seen(column.to_numpy(zero_copy_only=False)))
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    listed = coded.dictionary
    if is_text(listed.type):
        values = np.array(listed.to_pylist(), dtype=str)
    else:
        values = listed.to_numpy(zero_copy_only=False)
    return _without_missing(codes, values)


def _without_missing(codes: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    missing = values != values  # NaN
    if missing.any():
        codes = _places(np.where(missing, -1, np.arange(len(values))), codes)
    return codes, values


def arrow_factor(column: Any) -> Factor:
    """A column of categories."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks()
    codes = coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Factor.of(codes, coded.dictionary.to_pylist())


def recoded(column: Any, levels: NDArray[Any]) -> NDArray[np.int32]:
    """Labels as their places among the sorted `levels`, -1 for any other."""
    codes, values = encoded(column)
    return _places(code(values, levels), codes).astype(np.int32, copy=False)


def _places(of_values: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.append(of_values, -1)[codes])  # the last is for what is missing, whose code is -1


# Frames of pandas, polars and Arrow: each column where it lies, copied once, and only if it must be.
#
# narwhals says what a column is, whoever made the frame; what it cannot hand over as numbers is named.

Frame = nw.DataFrame[Any]
Series = narwhals.Series[Any]
Kind = Literal["number", "bool", "category", "time", "nested", "mixed"]

# What to do about columns that a model cannot use.
ADVICE: dict[str, str] = {
    "written": "turn text that holds numbers into numbers, with X.astype(float) or pandas.to_numeric",
    "category": "encode categories with likelier.DesignMatrix (with sklearn.preprocessing.OrdinalEncoder "
    "for CategoricalNB, and for a Mixture whose families call such columns 'categorical'); NaiveBayes "
    "takes them as they are",
    "time": "convert dates and times to numbers, for example to days since a first one",
    "nested": "make a column of each part of a nested one",
    "mixed": "make all values of a column numbers (or strings, for NaiveBayes)",
}


FEW_ROWS = 4096  # of a frame, up to which copies cost less than its columns one by one
FEW_CELLS = 1024  # up to which this holds for columns of several types
TEXT = ("object", "str", "string")  # the types of pandas' columns of text


class ReadColumn(NamedTuple):
    """What a column is, and its numbers, if it has any."""

    kind: Kind
    values: NDArray[Any] | None = None


def frame(X: Any) -> Frame | None:
    """X as a frame; None if it is none."""
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    try:
        found = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Input X has several columns of one name: rename them. {error}") from None
    if isinstance(found, nw.LazyFrame):
        raise TypeError(f"Input X is a {type(X).__name__} whose rows are not there yet: collect it first.")
    return found if isinstance(found, nw.DataFrame) else None


def columns(X: Frame, *, categories: bool = False) -> Columns:
    """The columns of a frame: numbers, booleans as 0 and 1, and, if wanted, categories as factors.

    All others are refused in one message, by their names.
    """
    found: list[Any] = []
    refused: list[tuple[Kind, Series]] = []
    for series in each_column(X, categories=categories):
        if isinstance(series, np.ndarray | Factor):
            found.append(series)
            continue
        kind, values = read(series)
        if values is not None:
            found.append(values)
        elif categories and kind == "category":
            found.append(series_factor(series))
        else:
            refused.append((kind, series))
    if refused:
        raise ValueError(refusal(refused))
    return Columns(tuple(found))


def each_column(X: Frame, *, categories: bool) -> Iterator[NDArray[Any] | Factor | Series]:
    """Columns of NumPy's numbers as they lie, which is most of what there is in pandas; others as series.

    A row at a time pays for every column: pandas takes 12 µs to hand one out, narwhals 45 µs to wrap it.
    So those of few rows of pandas come all at once, if they are of one type.
    """
    native: Any = X.to_native()
    if nw.dependencies.is_pandas_dataframe(native):
        few = native.shape[0] <= FEW_ROWS
        yield from _each_of_pandas(native, few=few, categories=categories)
    elif nw.dependencies.is_polars_dataframe(native):
        for column in native.get_columns():
            dtype = column.dtype
            if dtype.is_float() or (dtype.is_integer() and "128" not in str(dtype)):
                yield readable(column.to_numpy())
            else:
                yield nw.from_native(column, series_only=True)
    else:
        yield from X.iter_columns()


def _each_of_pandas(
    native: Any, *, few: bool, categories: bool
) -> Iterator[NDArray[Any] | Factor | Series]:
    if few:
        dtypes = native.dtypes.tolist()
        if len(set(dtypes)) == 1 and _of_numpy(dtypes[0]):
            yield from map(readable, native.to_numpy().T)
            return
        if native.size <= FEW_CELLS:
            yield from _unboxed(native, dtypes, categories=categories)
            return
    for _, column in native.items():  # noqa: PERF102 - a frame is not a dict
        if _of_numpy(column.dtype):
            yield readable(column.to_numpy())
        else:
            yield nw.from_native(column, series_only=True)


def _unboxed(
    native: Any, dtypes: list[Any], *, categories: bool
) -> Iterator[NDArray[Any] | Factor | Series]:
    """Columns of several types by way of Python's objects: of few cells, these are made in no time.

    Each goes back to the type of its column: whole numbers among floats keep their digits.
    """
    cells = native.to_numpy(dtype=object)
    for j, dtype in enumerate(dtypes):
        if _of_numpy(dtype):
            yield readable(cells[:, j].astype(dtype))
        elif categories and dtype in TEXT and all(type(cell) is str for cell in cells[:, j]):
            yield _column(cells[:, j].tolist(), j)
        else:
            yield nw.from_native(native.iloc[:, j], series_only=True)


def _of_numpy(dtype: Any) -> bool:
    """Whether a column is of NumPy's numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub"


def read(series: Series) -> ReadColumn:
    """A column's kind, and its numbers, NaN where one is missing."""
    native: Any = series.to_native()
    plain = getattr(native, "dtype", None)
    if isinstance(plain, np.dtype):  # pandas' most common columns: narwhals would take twice as long
        if plain.kind in "fiub":
            return ReadColumn("bool" if plain.kind == "b" else "number", readable(native.to_numpy()))
        if plain.kind == "O":
            return _objects(series)
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return ReadColumn("bool" if dtype == nw.Boolean else "number", _numbers(series))
    if dtype.is_temporal():
        return ReadColumn("time")
    if dtype.is_nested():
        return ReadColumn("nested")
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return ReadColumn("category" if dtype == nw.String or _plain_levels(series) else "mixed")
    values = series.to_numpy()  # types that narwhals has no name for: sparse columns, columns of nulls
    if values.dtype.kind in "fiub":
        return ReadColumn("number", readable(values))
    return _objects(series) if values.dtype.kind == "O" else ReadColumn("mixed")


def _plain_levels(series: Series) -> bool:
    """Whether categories are strings, numbers, booleans or times, all of one kind."""
    dtype = series.cat.get_categories().dtype
    return dtype == nw.String or dtype == nw.Boolean or dtype.is_numeric() or dtype.is_temporal()


def _numbers(series: Series) -> NDArray[Any]:
    dtype = series.dtype
    wide = dtype.is_decimal() or dtype in (nw.Int128, nw.UInt128)
    if wide or (dtype == nw.Boolean and series.null_count()):
        series = series.cast(nw.Float64)
    return readable(series.to_numpy())


def _objects(series: Series) -> ReadColumn:
    """Python objects: numbers, if each of them is one or missing; or strings."""
    values, missing = series.to_numpy(), series.is_null().to_numpy()
    kinds = set(map(type, values[~missing]))
    if kinds == {str}:
        return ReadColumn("category")
    if not all(issubclass(kind, Real | Decimal | np.bool_) for kind in kinds):
        return ReadColumn("mixed")
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = values[~missing]
    return ReadColumn("number", numbers)


def series_factor(series: Series) -> Factor:
    """A column of categories as codes."""
    column: Any = series.to_arrow()
    return arrow_factor(column)


def of_objects(X: NDArray[Any]) -> Columns:
    """A 2-D array of objects or strings: columns of numbers, if all of them are, or of categories."""
    return Columns(tuple(_column(X[:, j].tolist(), j) for j in range(X.shape[1])))


def _column(values: list[Any], j: int) -> Any:
    missing = np.array([value is None or value != value for value in values])
    kinds = {type(value) for value, gone in zip(values, missing, strict=True) if not gone}
    if all(issubclass(kind, Real | Decimal | np.bool_) for kind in kinds):
        return np.array([np.nan if gone else float(v) for v, gone in zip(values, missing, strict=True)])
    if kinds == {str}:
        place = {value: i for i, value in enumerate(dict.fromkeys(values))}
        codes = np.array([place[value] for value in values])
        return Factor.of(np.where(missing, -1, codes), [v if isinstance(v, str) else None for v in place])
    some = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ValueError(
        f"Input X has a column that is neither of numbers nor of strings: column {j} holds {some}."
    )


def values_of(y: Any) -> Any:
    """A series (of pandas, polars or Arrow) as a NumPy array of plain types; anything else as it is."""
    if type(y) is np.ndarray:
        return y
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(y, pyarrow.Array):
        y = pyarrow.chunked_array([y])
    series = nw.from_native(y, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return y
    if series.dtype in (nw.Categorical, nw.Enum):
        return _decoded(series_factor(series))
    values = read(series).values
    return series.to_numpy() if values is None else values


def _decoded(found: Factor) -> NDArray[Any]:
    """The categories themselves, None where missing; numbers stay numbers."""
    plain = np.array(found.levels.tolist())
    if plain.dtype.kind in "iufb" and (found.codes >= 0).all():
        return np.asarray(plain[found.codes])
    held = np.full(len(found.levels) + 1, None)  # code -1 takes the last
    held[:-1] = found.levels
    return np.asarray(held[found.codes])


def refusal(refused: list[tuple[Kind, Series]]) -> str:
    """The message about columns that a model cannot use."""
    shown = ", ".join(f"{series.name!r} ({_described(kind, series)})" for kind, series in refused)
    kinds = {"written" if kind == "category" and _written(series) else kind for kind, series in refused}
    advice = "; ".join(text for kind, text in ADVICE.items() if kind in kinds)
    return f"Input X has columns that are not numbers: {shown}. Drop them, or {advice}."


def _written(series: Series) -> bool:
    """Whether all cells of a column of text are numbers, as they are written."""
    try:
        numbers = [float(cell) for cell in series.drop_nulls().to_list()]
    except (ValueError, TypeError):
        return False
    return bool(numbers)


def _described(kind: Kind, series: Series) -> str:
    """The type of a column, and a value for example: if it is of mixed types, one that is no number."""
    native = series.to_native()
    dtype = str(getattr(native, "dtype", None) or getattr(native, "type", series.dtype))
    present = series.drop_nulls()
    if kind != "mixed":
        return f"{dtype}, such as {present.head(1).to_list()[0]!r}" if len(present) else dtype
    values = present.to_numpy()
    kinds = sorted({type(value).__name__ for value in values})
    odd = next(value for value in values if not isinstance(value, Real | Decimal | np.bool_))
    return f"{dtype} of {' and '.join(kinds)}, such as {odd!r}"


# Tables as columns of features: numbers as they are, text, categories and booleans as words.
#
# A dict of a row's cells by their columns' names gives the same features.

_NATIVE = "fdbBhHiIlLqQ"  # the types of numbers that are read where they lie
_BOOLEANS = ["False", "True"]


def frame_columns(X: Frame, *, strict: bool) -> list["_core.Column"]:
    """The columns of a frame; dates and times are refused, by their names."""
    found, refused = [], []
    for series in X.iter_columns():
        column = _native_column(series, strict)
        if column is None:
            refused.append(f"{series.name!r} ({series.dtype})")
        else:
            found.append(column)
    if refused:
        raise ValueError(
            f"Input X has columns that are neither numbers nor strings: {', '.join(refused)}. "
            f"Drop them, or {ADVICE['time']}."
        )
    return found


def _native_column(series: Any, strict: bool) -> "_core.Column | None":
    name, plain = str(series.name), getattr(series.to_native(), "dtype", None)
    if isinstance(plain, np.dtype) and plain.kind == "O":  # each is read as a dict's values are
        return _core.Column.objects(name, series.to_list(), strict)
    kind, values = read(series)
    if kind == "time":
        return None
    if kind == "bool":
        return _booleans(name, series, values)
    if kind == "number" and values is not None:
        return _native_without_nulls(name, series, values)
    if series.dtype in (nw.Categorical, nw.Enum):
        if kind == "mixed" and series.implementation.is_pandas():
            cells = series.to_native().cat  # of any objects, such as the intervals of `cut`
            return _core.Column.coded(name, cells.codes.to_numpy(np.int32), [*map(str, cells.categories)])
        return _words(name, series_factor(series))
    if series.dtype == nw.String:
        return _text(name, series.to_arrow())
    return _core.Column.objects(name, series.to_list(), strict)


def _native_without_nulls(name: str, series: Any, values: NDArray[Any]) -> "_core.Column":
    # A null is no feature, nor is 0; NaN is a number gone wrong. pandas' plain arrays have no nulls.
    if not isinstance(getattr(series.to_native(), "dtype", None), np.dtype) and series.null_count():
        values = np.where(series.is_null().to_numpy(), 0, values)
    return native_numbers(name, values)


def native_numbers(name: str, values: NDArray[Any]) -> "_core.Column":
    """A column of numbers of any type."""
    if values.dtype.char not in _NATIVE or not values.dtype.isnative:
        values = values.astype(np.float64)
    return _core.Column.numbers(name, values)


def _booleans(name: str, series: Any, values: NDArray[Any] | None) -> "_core.Column":
    assert values is not None
    codes = np.where(np.isnan(values), -1, values) if values.dtype.kind == "f" else values
    return _core.Column.coded(name, codes.astype(np.int32), _BOOLEANS)


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
    """The columns of rows in memory; gaps: NaN is a missing value."""
    names = [str(j) for j in range(X.shape[1])] if names is None else names
    arrays = X.arrays if isinstance(X, Columns) else [X.array[:, j] for j in range(X.shape[1])]
    found = []
    for name, values in zip(names, arrays, strict=True):
        if isinstance(values, Factor):
            found.append(_words(name, values))
        elif isinstance(X, Columns) and values.dtype.kind == "b":
            found.append(_core.Column.coded(name, values.astype(np.int32), _BOOLEANS))
        else:
            found.append(native_numbers(name, np.where(np.isnan(values), 0, values) if gaps else values))
    return found
