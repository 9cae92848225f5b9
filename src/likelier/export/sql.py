"""The description of a model as one SELECT: a table expression for each step, a line for each feature.

`cells` reads the columns of the table, `features` encodes those that are no numbers by themselves, `scores`
adds up what each says of the classes, and the last steps turn scores into answers. NULL is a missing value
throughout: `COALESCE(…, 0)` is a feature that adds nothing where it is missing, and a row that a model
cannot answer has NULL for an answer.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likelier.export.dialects import Dialect, dialect_of
from likelier.export.program import (
    Bin,
    Bins,
    Code,
    Computed,
    Indicator,
    Linear,
    Lookup,
    Missing,
    NotExpressible,
    Number,
    Program,
    Sum,
)
from likelier.export.sql_expressions import expression
from likelier.export.sql_terms import LEAST_EXPONENT, lines, minus, total
from likelier.families.base import LEAST
from likelier.families.gamma_beta_dirichlet import MOST

OUTPUTS = ("proba", "score", "label")
MOST_COLUMNS = 10_000  # of a table, as in BigQuery; PostgreSQL and SQLite have fewer
FAR = 1e100  # beyond which a number is taken for this: its square must be a number


def to_sql(program: Program, table: Any, dialect: str, output: str | None, keep: Sequence[str] = ()) -> str:
    """The SELECT of a program; output: None for the most that it has."""
    spoken = dialect_of(dialect)
    output = _output_of(program, output)
    if len(program.inputs) > MOST_COLUMNS:
        raise NotExpressible(
            f"SQL cannot be written: {program.model} reads {len(program.inputs):,} columns, and tables "
            f"have at most {MOST_COLUMNS:,}. Use to_onnx, to_python or to_c, or fit it to fewer columns."
        )
    names = [table] if isinstance(table, str) else list(table)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(
            f"table must be a name, or a sequence of names such as ('schema', 'table'); got {table!r:.80}."
        )
    return _Writer(program, spoken, [str(name) for name in keep]).written(names, output)


def _output_of(program: Program, output: str | None) -> str:
    if output is None:
        return "proba" if program.probable else "label" if program.classes else "score"
    if output not in OUTPUTS:
        known = ", ".join(map(repr, OUTPUTS))
        raise ValueError(f"output must be None or one of {known}; got {output!r:.80}.")
    if output == "proba" and not program.probable:
        raise NotExpressible(f"{program.model} has no probabilities: ask for output='score' instead.")
    if output == "label" and not program.classes:
        raise NotExpressible(f"{program.model} predicts numbers: ask for output='score' instead.")
    return output


class _Names:
    """Names of columns, each once: databases compare 63 bytes of them, and not upper and lower case."""

    def __init__(self, taken: Sequence[str], dialect: Dialect) -> None:
        self._taken, self._dialect = {self._key(name) for name in taken}, dialect

    @staticmethod
    def _key(name: str) -> bytes:
        return name.casefold().encode()[:60]

    def new(self, name: str) -> str:
        name = self._dialect.column(name)
        found, i = name, 2
        while len(found.encode()) > 60 or self._key(found) in self._taken:
            found, i = self._dialect.column(f"{name[:12]} ({i})"), i + 1
        self._taken.add(self._key(found))
        return found


class _Writer:
    """Writes one statement: steps, each with the columns that it adds to those before it."""

    def __init__(self, program: Program, dialect: Dialect, keep: Sequence[str]) -> None:
        self.program, self.dialect, self.keep = program, dialect, keep
        self.number, self.quoted = dialect.number, dialect.identifier
        self.names = _Names(keep, dialect)
        computed = any(isinstance(column, Computed) for column in program.columns)
        self.squared = computed or _has_squares(program.scores)
        self.remarks: list[str] = []
        self.cells: dict[tuple[int, str], tuple[str, str]] = {}  # of an input, or part of one: name, code
        self.cut: dict[str, str] = {}  # what becomes of numbers that are far away, or of no family's
        self.features: dict[int, str] = {}  # of columns that are no cells: their names
        self.encoded: list[tuple[str, str]] = []
        self.steps: list[list[tuple[str, str]]] = [[], [], []]  # axes, components, their largest

    # ---- the statement -----------------------------------------------------------------------------
    def written(self, table: Sequence[str], output: str) -> str:
        """All of it."""
        scores = self._scores()
        source = ".".join(self.quoted(name) for name in table)
        kept = [(name, f"t.{self.quoted(name)}") for name in self.keep]
        held = [("cells", _select(self, [*kept, *self.cells.values()], f"{source} AS t"))]
        if self.cut:  # numbers first, so that each is named in what becomes of it
            rest = [(name, self.quoted(name)) for name, _ in (*kept, *self.cells.values())]
            cut = [(name, self.cut.get(name, code)) for name, code in rest]
            held = [("numbers", held[0][1]), ("cells", _select(self, cut, "numbers"))]
        for name, added in zip(
            ("features", "axes", "components", "largest"), [self.encoded, *self.steps], strict=True
        ):
            if added:
                held.append((name, _select(self, added, held[-1][0], every=True)))
        again = [(name, self.quoted(name)) for name in self.keep]
        held.append(("scores", _select(self, [*again, *scores], held[-1][0])))
        last = self._answers(output, [name for name, _ in scores], held, again)
        with_ = ",\n".join(f"{name} AS {self.dialect.materialized}(\n{body}\n)" for name, body in held)
        return f"{self._heading(output)}WITH {with_}\n{last}\n"

    def _heading(self, output: str) -> str:
        what = {"proba": "class probabilities", "score": "scores", "label": "labels"}[output]
        lines = [f"{self.program.model}: {what}, {self.dialect.name}", *dict.fromkeys(self.remarks)]
        return "".join(f"-- {line}\n" for line in lines)

    def _scores(self) -> list[tuple[str, str]]:
        """Of each class or target, the name and the sum."""
        classes = self.program.classes
        labels = classes or tuple(range(self.program.K))
        return [
            (self.names.new(f"score {_shown(label)}"), code)
            for label, code in zip(labels, self.sums(self.program.scores), strict=True)
        ]

    def sums(self, found: Sum) -> list[str]:
        """A sum for each class: the constant, and a line for each feature."""
        each: list[list[str]] = [[] for _ in range(found.K)]
        for term in found.terms:
            for held, own in zip(each, lines(term, self), strict=True):
                held += own
        return [
            total([f"CAST({self.number(float(b))} AS {self.dialect.double})", *own], "\n      ")
            for b, own in zip(found.bias.tolist(), each, strict=True)
        ]

    # ---- answers -----------------------------------------------------------------------------------
    def _answers(self, output: str, scores: list[str], held: list[Any], kept: list[Any]) -> str:
        """The last step; those before it are added to `held`."""
        z = [self.quoted(name) for name in scores]
        labels = [_shown(label) for label in self.program.classes]
        if output == "score":
            if not self.program.classes:
                one = ["prediction"] if len(z) == 1 else [f"prediction_{i}" for i in range(len(z))]
                return _select(self, [*kept, *zip(one, z, strict=True)], "scores")
            if len(z) == 2:
                return _select(self, [*kept, ("score", f"{z[1]} - {z[0]}")], "scores")
            named = list(zip(self._named("score", labels), z, strict=True))
            return _select(self, [*kept, *named], "scores")
        if output == "label":
            best = self._largest(held, "best", z)
            cases = " ".join(
                f"WHEN {one} = {best} THEN {self.dialect.literal(label)}"
                for one, label in zip(z, self.program.classes, strict=True)
            )
            return _select(self, [*kept, ("label", f"CASE {cases} END")], "best")
        parts = self._shares(held, z, labels)
        whole = total(parts)
        if self.program.answer == "clipped" and len(z) > 2:  # a row that all classes refuse
            parts = [f"CASE WHEN ({whole}) = 0 THEN 1.0 ELSE {part} END" for part in parts]
            whole = f"CASE WHEN ({whole}) = 0 THEN {len(z)}.0 ELSE {whole} END"
        named = [
            (name, f"{part} / ({whole})")
            for name, part in zip(self._named("proba", labels), parts, strict=True)
        ]
        return _select(self, [*kept, *named], held[-1][0])

    def _named(self, kind: str, labels: list[str]) -> list[str]:
        """Columns of the answer; by their numbers where labels have no name of their own."""
        found = [self.dialect.column(f"{kind}_{label}") for label in labels]
        return found if len(set(found)) == len(set(labels)) else [f"{kind}_{i}" for i in range(len(labels))]

    def _shares(self, held: list[Any], z: list[str], labels: list[str]) -> list[str]:
        """What the probabilities are in proportion to."""
        if self.program.answer == "clipped":
            margins = [f"({z[1]} - {z[0]})"] if len(z) == 2 else z
            cut = [
                f"(1 + CASE WHEN {m} > 1 THEN 1.0 WHEN {m} < -1 THEN -1.0 ELSE {m} END) / 2"
                for m in margins
            ]
            cut = [f"1 - ({cut[0]})", cut[0]] if len(z) == 2 else cut
            return self._added(held, "shares", "share", labels, cut)
        if self.program.answer == "sigmoids":  # ln σ(z)
            logs = [
                f"-({self.dialect.most([f'-{one}', '0.0'])} "
                f"+ LN(1 + EXP({self.dialect.most([f'-ABS({one})', LEAST_EXPONENT + '.0'])})))"
                for one in z
            ]
            z = self._added(held, "logs", "log", labels, logs)
        top = self._largest(held, "best", z)
        odds = [f"EXP({self.dialect.most([f'{one} - {top}', LEAST_EXPONENT + '.0'])})" for one in z]
        return self._added(held, "odds", "odds", labels, odds)

    def _largest(self, held: list[Any], step: str, z: list[str]) -> str:
        """The largest score; NULL if one of them is."""
        name = self.names.new("largest")
        there = f"({total(z)}) IS NOT NULL"
        code = f"CASE WHEN {there} THEN {self.dialect.most(z)} END"
        held.append((step, _select(self, [(name, code)], held[-1][0], every=True)))
        return self.quoted(name)

    def _added(
        self, held: list[Any], step: str, kind: str, labels: list[str], code: list[str]
    ) -> list[str]:
        """A column for each class, beside those of the step before."""
        names = [self.names.new(f"{kind} {label}") for label in labels]
        added = list(zip(names, code, strict=True))
        held.append((step, _select(self, added, held[-1][0], every=True)))
        return [self.quoted(name) for name in names]

    # ---- cells and features ------------------------------------------------------------------------
    def cell(self, j: int, part: str = "", limits: Number | None = None) -> str:
        """An input, or a part of a date, as `cells` has it."""
        if (j, part) not in self.cells:
            each = self.program.inputs[j]
            name = self.names.new(f"{each.name}.{part}" if part else each.name)
            self.cells[j, part] = name, self._read(each, part)
            if each.kind == "number" and (code := self._cut(self.quoted(name), limits)):
                self.cut[name] = code
        return self.quoted(self.cells[j, part][0])

    def _read(self, each: Any, part: str) -> str:
        x, double = f"t.{self.quoted(each.name)}", self.dialect.double
        if each.kind == "category":
            return self.dialect.without_nan(x) if _has_fractions(each.levels) else x
        if each.kind == "bool":
            return f"CAST(CAST({x} AS {_integer(self.dialect)}) AS {double})"
        if each.kind == "date":
            return f"CAST({self._of_date(each, part, x)} AS {double})"
        return f"CAST({x} AS {double})"

    def _cut(self, x: str, limits: Number | None) -> str | None:
        """NULL in place of NaN, of what a family cannot have, and numbers whose squares are numbers."""
        far = FAR if limits is None else min(np.ldexp(FAR, max(limits.power, 0)), 1e300)
        if limits is None or (limits.low, limits.high, limits.whole) == (-np.inf, np.inf, False):
            found = self._clamped(x, far) if self.squared else self.dialect.without_nan(x)
            return None if found == x else found
        return self._limited(x, limits, far)

    def _of_date(self, each: Any, part: str, x: str) -> str:
        if each.zone is not None and part:
            if self.dialect.zoned is None:
                raise NotExpressible(
                    f"{self.dialect.name} has no time zones, and the parts of the dates in column "
                    f"{each.name!r} are by the clock of {each.zone}: fit it to times without a zone."
                )
            x = self.dialect.zoned.format(x=x, zone=self.dialect.literal(each.zone))
        code = self.dialect.parts[part] if part else self.dialect.days
        return code.format(x=x)

    def _clamped(self, x: str, most: float) -> str:
        """A number whose square is one; NULL if it is NaN."""
        far = self.number(most)
        nan = "" if self.dialect.nan is None else f" WHEN {self.dialect.nan.format(x=x)} THEN NULL"
        ends = f"WHEN {x} > 0 THEN {far} WHEN {x} < 0 THEN -{far}"
        return f"CASE WHEN {x} BETWEEN -{far} AND {far} THEN {x}{nan} {ends} END"

    def _limited(self, x: str, limits: Number, most: float) -> str:
        """NULL outside of the support of a family."""
        low, high, far = limits.low, limits.high, self.number(most)
        above = f"{x} > 0" if low == LEAST else f"{x} >= {self.number(low)}" if np.isfinite(low) else ""
        below = f"{x} < 1" if high == MOST else f"{x} <= {self.number(min(high, most))}"
        whole = f"{x} = FLOOR({x})" if limits.whole else ""
        held = " AND ".join(condition for condition in (above, below, whole) if condition)
        beyond = ""
        if not np.isfinite(high):
            number = "" if self.dialect.nan is None else f" AND {x} < {self.dialect.infinity}"
            beyond = f" WHEN {x} > {far}{number} THEN {far}"
        return f"CASE WHEN {held} THEN {x}{beyond} END"

    def x(self, column: int) -> str:
        """A column of the program, NULL where it is missing."""
        one: Any = self.program.columns[column]
        if isinstance(one, Number) and one.as_it_is and np.isnan(one.fill):
            return self.cell(one.input, one.part, one)
        if column not in self.features:
            if isinstance(one, Computed):
                name, code = one.name, expression(one, self.dialect, self._of_column)
            else:
                name, code = self._encoded(one, self.program.inputs[one.input])
            self.features[column] = self.names.new(name)
            self.encoded.append((self.features[column], code))
        return self.quoted(self.features[column])

    def _of_column(self, one: Any) -> str:
        """The code of a column within an expression."""
        return self._encoded(one, self.program.inputs[one.input])[1]

    def _encoded(self, one: Any, each: Any) -> tuple[str, str]:
        cell = self.cell(one.input, getattr(one, "part", ""), one if isinstance(one, Number) else None)
        if isinstance(one, Number):
            return f"{each.name} encoded", self._number(one, cell)
        if isinstance(one, Missing):
            gone = f"{cell} IS NULL"
            if one.unseen:
                gone = f"{gone} OR {cell} NOT IN ({', '.join(map(self.dialect.literal, each.levels))})"
            return f"{each.name} is missing", f"CASE WHEN {gone} THEN 1.0 ELSE 0.0 END"
        if isinstance(one, Indicator):
            levels = [each.levels[i] for i in one.levels]
            name = f"{each.name}={_shown(levels[0])}" if levels else f"{each.name} is other"
            values = [float(i in one.levels) for i in range(len(each.levels))]
            return name, self.of_levels(cell, each.levels, values, float(one.unseen), float(one.missing))
        if isinstance(one, Code):
            return f"{each.name} coded", self.of_levels(
                cell, each.levels, one.codes, one.unseen, one.missing
            )
        assert isinstance(one, Bin)
        cases = " ".join(
            f"WHEN {cell} <= {self.number(c)} THEN {i}.0" for i, c in enumerate(one.cuts.tolist())
        )
        return (
            f"{each.name} binned",
            f"CASE WHEN {cell} IS NULL THEN NULL {cases} ELSE {len(one.cuts)}.0 END",
        )

    def _number(self, one: Number, cell: str) -> str:
        code = cell if one.shift == 0 else f"{minus(cell, one.shift, self.number)}"
        if one.scale != 1:
            code = f"{code} / {self.number(one.scale)}"
        if one.power:  # by factors that are numbers
            half = one.power // 2
            code = f"{code} / {self.number(2.0**half)} / {self.number(2.0 ** (one.power - half))}"
        return code if np.isnan(one.fill) else f"COALESCE({code}, {self.number(one.fill)})"

    def of_levels(self, cell: str, levels: Any, values: Any, unseen: float, missing: float) -> str:
        """A number for each level, for others, and for none."""

        def say(value: float) -> str:
            return "NULL" if np.isnan(value) else self.number(float(value))

        cases = " ".join(
            f"WHEN {self.dialect.literal(level)} THEN {say(value)}"
            for level, value in zip(levels, values, strict=True)
        )
        found = f"CASE {cell} {cases} ELSE {say(unseen)} END" if levels else say(unseen)
        if say(unseen) == say(missing):
            return found
        return f"CASE WHEN {cell} IS NULL THEN {say(missing)} ELSE {found} END"


def _has_squares(found: Sum) -> bool:
    """Whether numbers are squared somewhere, or go into other terms in which large ones must be cut."""
    return any(not isinstance(term, Linear | Lookup | Bins) for term in found.terms)


def _has_fractions(levels: Sequence[Any]) -> bool:
    """Whether cells are floating-point numbers, which may be NaN."""
    return any(isinstance(one, float) for one in levels)


def _integer(dialect: Dialect) -> str:
    return "INT64" if dialect.name == "bigquery" else "INTEGER"


def _shown(label: Any) -> str:
    return str(label)


def _select(
    writer: _Writer, columns: Sequence[tuple[str, str]], source: str, *, every: bool = False
) -> str:
    """SELECT columns FROM source; every: beside all that the source has."""
    named = [f"{code} AS {writer.quoted(name)}" for name, code in columns]
    named = [f"{source}.*", *named] if every else named
    return "  SELECT\n    " + ",\n    ".join(named or ["1 AS nothing"]) + f"\n  FROM {source}"
