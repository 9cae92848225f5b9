"""Arrow columns as NumPy arrays, without a loop over rows: numbers, and labels as codes."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likelier.data.factors import Factor
from likelier.data.labels import code, first_seen


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


def is_truth(kind: Any) -> bool:
    """Truth values."""
    return bool(pa.types.is_boolean(values_type(kind)))


def same_type(a: Any, b: Any) -> bool:
    """Whether labels of both types can be those of one list."""
    return values_type(a) == values_type(b) or (is_text(a) and is_text(b))


def same_kind(a: Any, b: Any) -> bool:
    """Whether cells of both types can stand in one column: a number is a number, and a truth is none."""
    return same_type(a, b) or (is_number(a) and is_number(b) and is_truth(a) == is_truth(b))


def is_number(kind: Any) -> bool:
    """Numbers and truths; a column with no value at all is one of missing numbers."""
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


def numbers(column: Any) -> NDArray[Any]:
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


def factor(column: Any) -> Factor:
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
