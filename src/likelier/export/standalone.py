"""What standalone code computes: a program as calls of functions with constants, for any language."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from likelier.export.program import (
    Bins,
    Computed,
    Dirichlet,
    Draws,
    GaussianMarginal,
    IfComplete,
    Linear,
    LogSumExp,
    Lookup,
    NotExpressible,
    Number,
    Quadratic,
    Ratios,
    Squares,
    Sum,
)


@dataclass(frozen=True)
class Call:
    """One function of the runtime, and its arguments after z and x: numbers and arrays."""

    function: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Choice:
    """One sum where no column is missing, another where one is."""

    columns: Any
    complete: Sum
    gaps: Sum


@dataclass(frozen=True)
class Nested:
    """The logarithm of a sum of exponentials over the components of each class."""

    components: Sum
    owner: Any
    weight: float


@singledispatch
def call_of(term: Any) -> Call | Choice | Nested:
    """What computes a term."""
    raise NotExpressible(f"standalone code cannot be written of a {type(term).__name__} term.")


@call_of.register
def _(term: Linear) -> Call:
    held = (term.columns, term.W, term.shift, term.constant)
    return Call("linear", (*held, term.skip)) if term.above is None else Call("steps", (*held, term.above))


@call_of.register
def _(term: Squares) -> Call:
    return Call("squares", (term.columns, term.mean, term.scale, term.constant))


@call_of.register
def _(term: Quadratic) -> Call:
    return Call("quadratic", (term.columns, term.shift, term.U, term.at))


@call_of.register
def _(term: GaussianMarginal) -> Call:
    return Call("marginal", (term.columns, term.mean, term.cov, term.tol, term.weight))


@call_of.register
def _(term: IfComplete) -> Choice:
    return Choice(term.columns, term.complete, term.gaps)


@call_of.register
def _(term: Lookup) -> Call:
    return Call("lookup", (term.column, term.table, term.unseen, term.missing))


@call_of.register
def _(term: Bins) -> Call:
    return Call("bins", (term.column, term.cuts, term.table))


@call_of.register
def _(term: Ratios) -> Call:
    return Call("ratios", (term.columns, term.origin, term.A, term.B, term.constant, term.complement))


@call_of.register
def _(term: Draws) -> Call:
    return Call("draws", (term.columns, term.log_theta, term.weight))


@call_of.register
def _(term: Dirichlet) -> Call:
    return Call("dirichlet", (term.columns, term.alpha, term.rest, term.whole, term.weight))


@call_of.register
def _(term: LogSumExp) -> Nested:
    return Nested(term.components, term.owner, term.weight)


# How numbers are written, and a column of them.


def number_of(value: float, infinity: str) -> str:
    """A constant, to the last bit; `infinity`: what the language calls it."""
    value = float(value)
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return infinity if value > 0 else f"-{infinity}"
    return repr(value)


def numbers_of(values: Sequence[float], infinity: str) -> str:
    """Constants, with commas between them."""
    if all(map(math.isfinite, values)):
        return repr(list(values))[1:-1]  # many at once
    return ", ".join(number_of(value, infinity) for value in values)


def number_column(column: Number, cell: str, use: Callable[[str], str], write: Callable[[Any], str]) -> str:
    """A number, scaled and limited by functions of the runtime; `write`: how constants are written."""
    found = cell
    if (column.shift, column.scale) != (0.0, 1.0) or not math.isnan(column.fill):
        given = ", ".join(map(write, (column.shift, column.scale, column.fill)))
        found = f"{use('scaled')}({found}, {given})"
    if (column.low, column.high, column.whole) != (-math.inf, math.inf, False):
        given = ", ".join(map(write, (column.low, column.high)))
        found = f"{use('limited')}({found}, {given}, {int(column.whole)})"
    return found


SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


def computed(
    cell: Any, column: Callable[[Any], str], write: Callable[[Any], str], functions: Mapping[str, str]
) -> str:
    """An expression of columns; `functions`: what the language calls those that are no arithmetic."""
    if isinstance(cell, float):
        return write(cell)
    if not isinstance(cell, Computed):
        return column(cell)
    parts = [computed(each, column, write, functions) for each in cell.of]
    if cell.operation == "same":
        return parts[0]
    if cell.operation in SIGNS:
        return f"({parts[0]} {SIGNS[cell.operation]} {parts[1]})"
    return f"{functions[cell.operation]}({', '.join(parts)})"
