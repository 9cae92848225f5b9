"""What a column is to a comparison: numbers, categories or text; and those that no model should learn from."""

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.data import Factor

Floats = NDArray[np.float64]
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
    """What became of a column, in words for the reader; None: there is nothing to say, or nothing left."""

    column: Column | None
    note: str | None = None


def seen(name: str, values: NDArray[Any] | Factor) -> Seen:
    """A column as models may use it."""
    return _factor(name, values) if isinstance(values, Factor) else _numbers(name, values)


def dates(name: str, values: NDArray[np.datetime64]) -> Seen:
    """Times as days since 1970, NaN where missing."""
    days = np.where(np.isnat(values), np.nan, (values - np.datetime64(0, "D")) / DAY)
    found = _numbers(name, days)
    return found if found.column is None else Seen(found.column, "is a date: used as a number of days")


def _numbers(name: str, values: NDArray[Any]) -> Seen:
    x = np.asarray(values, dtype=np.float64)
    there = x[~np.isnan(x)]
    if not len(there) or there.min() == there.max():
        return Seen(None, _constant(there))
    steps = np.diff(there)
    if len(x) >= FEW and len(there) == len(x) and (there == np.floor(there)).all() and (steps > 0).all():
        return Seen(None, "looks like an id (whole numbers that only grow): left out")
    return Seen(Column(name, "number", x))


def _factor(name: str, values: Factor) -> Seen:
    used, n = values.used(), int((values.codes >= 0).sum())
    if len(used) <= 1:
        return Seen(None, _constant(used))
    texts = [str(level) for level in used]
    if all(DATE.fullmatch(text) for text in texts):
        return dates(name, _parsed(values))
    words = float(np.mean([text.count(" ") + 1 for text in texts]))
    if words >= WORDS and len(used) > n / 2:
        return Seen(Column(name, "text", values))
    if n >= FEW and len(used) > 0.9 * n:
        return Seen(None, f"looks like an id ({len(used)} different values in {n} rows): left out")
    return Seen(Column(name, "category", values))


def _parsed(values: Factor) -> NDArray[np.datetime64]:
    known = [np.datetime64(str(level).rstrip("Z").replace(" ", "T"), "s") for level in values.levels]
    return np.array([*known, np.datetime64("NaT")], dtype="datetime64[s]")[values.codes]


def _constant(values: NDArray[Any]) -> str:
    return f"has one value ({values[0]}): left out" if len(values) else "is empty: left out"


def gathered_notes(said: list[tuple[str, str]], quoted: Callable[[list[str]], str]) -> tuple[str, ...]:
    """One line for each thing that is said of columns."""
    by: dict[str, list[str]] = {}
    for name, note in said:
        by.setdefault(note, []).append(name)
    return tuple(f"{quoted(names)} {note}" for note, names in by.items())
