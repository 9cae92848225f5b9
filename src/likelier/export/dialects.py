"""What differs between SQL dialects: how names, strings and numbers are written, the names of functions."""

import math
from dataclasses import dataclass
from typing import Any

from likelier.export.program import NotExpressible


@dataclass(frozen=True)
class Dialect:
    """How a database is spoken to."""

    name: str
    double: str  # the type of numbers
    greatest: str  # of two or more
    infinity: str  # negated: -infinity
    nan: str | None  # whether {x} is NaN; None: there is none, for it becomes NULL
    days: str  # since 1970, of a point in time {x}
    parts: dict[str, str]  # of a date {x}
    zoned: str | None  # a point in time {x} by the clock of the zone {zone}; None: it knows none
    # Whether a step is computed once: some databases would else put its code wherever it is used.
    materialized: str = ""
    exponent: bool = False  # whether a number without an exponent is a decimal, with arithmetic of its own
    backslashes: bool = False  # whether strings have escapes, and names stand in backticks
    refused: str = ""  # characters that no name of a column may have

    def identifier(self, name: str) -> str:
        """A name, whatever is in it."""
        _refuse_nul(name, "name")
        if self.backslashes:
            return "`" + name.replace("\\", "\\\\").replace("`", "\\`").replace("\n", "\\n") + "`"
        return '"' + name.replace('"', '""') + '"'

    def column(self, name: str) -> str:
        """What a column of ours is called: without the characters that are refused."""
        return name.translate(str.maketrans(self.refused, "_" * len(self.refused)))

    def literal(self, value: Any) -> str:
        """A value of Python's, as a constant."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return self.number(value)
        if not isinstance(value, str):
            raise NotExpressible(
                f"SQL cannot be written: {value!r:.80} is of type {type(value).__name__}, and categories "
                "and labels must be strings, numbers or booleans."
            )
        return self._string(value)

    def _string(self, value: str) -> str:
        _refuse_nul(value, "category or label")
        if self.backslashes:
            escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
            return "'" + escaped.replace("\r", "\\r") + "'"
        return "'" + value.replace("'", "''") + "'"

    def number(self, x: float) -> str:
        """A number, to the last bit."""
        if math.isinf(x):
            return self.infinity if x > 0 else f"-{self.infinity}"
        x = float(x)
        shown = repr(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)
        if self.exponent and "e" not in shown:
            return f"{shown}e0"
        return shown if "." in shown or "e" in shown else f"{shown}.0"

    def without_nan(self, x: str) -> str:
        """NULL in place of NaN."""
        return x if self.nan is None else f"CASE WHEN NOT {self.nan.format(x=x)} THEN {x} END"

    def most(self, each: list[str]) -> str:
        """The largest of some expressions; in groups, for functions take so many arguments."""
        while len(each) > 1:
            groups = [each[i : i + 50] for i in range(0, len(each), 50)]
            each = [f"{self.greatest}({', '.join(one)})" if len(one) > 1 else one[0] for one in groups]
        return each[0]


def _refuse_nul(text: str, what: str) -> None:
    if "\0" in text:
        raise NotExpressible(f"SQL cannot be written: the {what} {text!r:.80} contains a NUL character.")


def _extracted(**other: str) -> dict[str, str]:
    named = ("year", "quarter", "month", "week", "day", "hour", "minute")
    return {name: f"EXTRACT({name.upper()} FROM {{x}})" for name in named} | other


_ISO = _extracted(weekday="EXTRACT(ISODOW FROM {x}) - 1", yearday="EXTRACT(DOY FROM {x})")
_THURSDAY = "date({x}, '-3 days', 'weekday 4')"  # of the week that a day is in: its year has the week
_SQLITE = {
    **{name: f"CAST(strftime('%{code}', {{x}}) AS INTEGER)" for name, code in
       {"year": "Y", "month": "m", "day": "d", "yearday": "j", "hour": "H", "minute": "M"}.items()},
    "quarter": "(CAST(strftime('%m', {x}) AS INTEGER) + 2) / 3",
    "weekday": "(CAST(strftime('%w', {x}) AS INTEGER) + 6) % 7",
    "week": f"(CAST(strftime('%j', {_THURSDAY}) AS INTEGER) - 1) / 7 + 1",
}  # fmt: skip

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "duckdb",
            "DOUBLE",
            "GREATEST",
            "CAST('Infinity' AS DOUBLE)",
            "isnan({x})",
            "EPOCH({x}) / 86400",
            _ISO,
            "timezone({zone}, {x})",
            exponent=True,
        ),
        Dialect(
            "sqlite",
            "REAL",
            "MAX",
            "9e999",
            None,
            "julianday({x}) - 2440587.5",
            _SQLITE,
            None,
            "MATERIALIZED ",
        ),
        Dialect(
            "postgres",
            "DOUBLE PRECISION",
            "GREATEST",
            "CAST('Infinity' AS DOUBLE PRECISION)",
            "({x} = 'NaN')",
            "EXTRACT(EPOCH FROM {x}) / 86400",
            _ISO,
            "({x} AT TIME ZONE {zone})",
            "MATERIALIZED ",
        ),
        Dialect(
            "bigquery",
            "FLOAT64",
            "GREATEST",
            "CAST('inf' AS FLOAT64)",
            "IS_NAN({x})",
            "UNIX_MICROS(CAST({x} AS TIMESTAMP)) / 86400e6",
            _extracted(
                week="EXTRACT(ISOWEEK FROM {x})",
                weekday="MOD(EXTRACT(DAYOFWEEK FROM {x}) + 5, 7)",
                yearday="EXTRACT(DAYOFYEAR FROM {x})",
            ),
            "DATETIME({x}, {zone})",
            exponent=True,
            backslashes=True,
            refused='!"$()*,./;?@[\\]^`{}~',
        ),
    )
}


def dialect_of(name: Any) -> Dialect:
    """A dialect by its name."""
    if not isinstance(name, str) or name not in DIALECTS:
        known = ", ".join(map(repr, DIALECTS))
        raise ValueError(f"dialect must be one of {known}; got {name!r:.80}.")
    return DIALECTS[name]
