"""Terms of formulas in SQL, where a function outside of its domain is an error, not a missing value."""

from collections.abc import Callable
from typing import Any

from likelier.export.dialects import Dialect
from likelier.export.program import Computed

SIGNS = {"add": "+", "subtract": "-", "multiply": "*"}
MOST_FACTORS = 8  # up to which a power is a product
LARGEST_EXPONENT = 709.0  # whose exponential is a number


def expression(cell: Any, dialect: Dialect, column: Callable[[Any], str]) -> str:
    """An operation on columns and constants; NULL where it has no finite value."""
    if isinstance(cell, float):
        return dialect.number(cell) if cell >= 0 else f"({dialect.number(cell)})"
    if not isinstance(cell, Computed):
        return column(cell)
    parts = [expression(each, dialect, column) for each in cell.of]
    x = parts[0]
    if cell.operation == "same":
        return x
    if cell.operation in SIGNS:
        return f"({x} {SIGNS[cell.operation]} {parts[1]})"
    if cell.operation == "divide":
        return f"({x} / NULLIF({parts[1]}, {dialect.number(0.0)}))"
    if cell.operation == "power":
        return _power(x, cell.of[1], parts[1], dialect)
    zero, most = dialect.number(0.0), dialect.number(LARGEST_EXPONENT)
    return {
        "log": f"LN(CASE WHEN {x} > {zero} THEN {x} END)",
        "exp": f"EXP(CASE WHEN {x} <= {most} THEN {x} END)",
        "sqrt": f"SQRT(CASE WHEN {x} >= {zero} THEN {x} END)",
        "abs": f"ABS({x})",
    }[cell.operation]


def _power(x: str, exponent: Any, written: str, dialect: Dialect) -> str:
    zero = dialect.number(0.0)
    if isinstance(exponent, float) and exponent.is_integer() and 1 <= abs(exponent) <= MOST_FACTORS:
        product = f"({' * '.join([x] * int(abs(exponent)))})"
        return product if exponent > 0 else f"(1.0 / NULLIF({product}, {zero}))"
    return f"POWER(CASE WHEN {x} > {zero} THEN {x} END, {written})"
