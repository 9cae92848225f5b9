"""What a column is to a comparison: numbers, categories, text; and those that nobody should learn from."""

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.data import Factor

Kind = Literal["number", "category", "text"]

FEW = 20  # rows, among which values that are all different say nothing yet
WORDS = 4  # from so many to a cell, on average, cells are sentences
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z?)?")
DAY = np.timedelta64(1, "D")


class Column(NamedTuple):
    """A column that models learn from."""

    name: str
    kind: Kind
    values: Any  # float64, NaN where missing; or a Factor


class Seen(NamedTuple):
    """What became of a column; note: what a reader should know of that, None: nothing."""

    name: str
    column: Column | None
    note: str | None = None
    spare: Column | None = None  # left out, but better than nothing


def seen(name: str, values: NDArray[Any] | Factor) -> Seen:
    """A column as models may use it."""
    return _factor(name, values) if isinstance(values, Factor) else _numbers(name, values)


def dates(name: str, values: NDArray[np.datetime64]) -> Seen:
    """Times as days since 1970, NaN where missing."""
    return days(name, np.where(np.isnat(values), np.nan, (values - np.datetime64(0, "D")) / DAY))


def days(name: str, values: NDArray[np.float64]) -> Seen:
    """Days since 1970, NaN where missing; that each is there but once does not make them an id."""
    found = _numbers(name, values)
    if found.column is None and found.spare is None:
        return found
    return Seen(name, found.column or found.spare, "is a date: used as a number of days")


def _numbers(name: str, values: NDArray[Any]) -> Seen:
    x = np.asarray(values, dtype=np.float64)
    there = x[~np.isnan(x)]
    if np.isinf(there).any():
        raise ValueError(
            f"column {name!r} has an infinite value in row {int(np.argmax(np.isinf(x)))} of those compared "
            f"({int(np.isinf(x).sum())} in all): leave such rows out, or mark the cells as missing."
        )
    if not len(there) or there.min() == there.max():
        return Seen(name, None, _constant(there))
    column = Column(name, "number", x)
    if len(there) == len(x) >= FEW and _counts_rows(x):
        return Seen(name, None, "looks like an id (whole numbers, each once): left out", column)
    return Seen(name, column)


def _counts_rows(x: NDArray[np.float64]) -> bool:
    """Whether it numbers the rows: whole numbers that only grow, or all of a range."""
    if not (x == np.floor(x)).all():
        return False
    return bool((np.diff(x) > 0).all() or (np.diff(np.sort(x)) == 1).all())


def _factor(name: str, values: Factor) -> Seen:
    used, n = values.used(), int((values.codes >= 0).sum())
    if len(used) == 0 or (len(used) == 1 and n == len(values)):
        return Seen(name, None, _constant(used))
    texts = [str(level) for level in used]
    if all(DATE.fullmatch(text) for text in texts):
        return dates(name, _parsed(values))
    words = float(np.mean([text.count(" ") + 1 for text in texts]))
    if words >= WORDS and len(used) > n / 2:
        return Seen(name, Column(name, "text", values))
    column = Column(name, "category", values)
    if n >= FEW and len(used) > 0.9 * n:
        return Seen(name, None, "looks like an id (hardly a value comes twice): left out", column)
    return Seen(name, column)


def _parsed(values: Factor) -> NDArray[np.datetime64]:
    known = [np.datetime64(str(level).rstrip("Z").replace(" ", "T"), "s") for level in values.levels]
    return np.array([*known, np.datetime64("NaT")], dtype="datetime64[s]")[values.codes]


def _constant(values: NDArray[Any]) -> str:
    return f"has one value ({values[0]}): left out" if len(values) else "is empty: left out"


# ---- what is said of them --------------------------------------------------------------------------
def kept(found: Sequence[Seen]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns to learn from, and what a reader should know, one line for each thing that is said."""
    columns = tuple(each.column for each in found if each.column is not None)
    spares = tuple(each.spare for each in found if each.spare is not None)
    said: dict[str, list[str]] = {}
    for each in found:
        if each.note is not None:
            note = each.note if columns or each.spare is None else "looks like an id, and is all there is"
            said.setdefault(note, []).append(each.name)
    notes = tuple(f"{listed(names)}: {note}" for note, names in said.items())
    if not columns and not spares:
        raise ValueError(f"no column is left to learn from: {'; '.join(notes) or 'there is none'}.")
    return columns or spares, notes


def listed(names: Sequence[str], most: int = 10) -> str:
    """Names, of many the first few."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
