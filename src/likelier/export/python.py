"""The description of a model as Python source that needs nothing but Python."""

import ast
import inspect
from functools import partial
from typing import Any

import numpy as np

from likelier.export import python_runtime
from likelier.export.program import (
    Bin,
    Code,
    Computed,
    Indicator,
    Input,
    Missing,
    NotExpressible,
    Number,
    Program,
    Sum,
)
from likelier.export.standalone import (
    Call,
    Choice,
    Nested,
    call_of,
    computed,
    number_column,
    number_of,
    numbers_of,
)

HEAD = '''"""{model}, as plain Python: {what}.

A row is a dict of {count}, by name; None and NaN are missing values.
"""

import math
{imports}
NAN = float("nan")
INF = float("inf")
'''
IMPORTS = "from datetime import date, datetime, timezone\n"


FUNCTIONS = {"log": "math.log", "exp": "math.exp", "sqrt": "math.sqrt", "abs": "abs", "power": "pow"}


def to_python(program: Program) -> str:
    """The source of functions `scores`, `predict` and, where there are any, `predict_proba`."""
    return _Source(program).written()


class _Source:
    """Collects the functions of the sums, and which of the runtime they use."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.used: set[str] = set()
        self.sums: list[str] = []

    def written(self) -> str:
        """All of it."""
        program = self.program
        cells = self._cells()
        columns = self._columns()
        main = self._sum(program.scores)
        answers = self._answers(main)
        body = "\n\n".join([self._runtime(), cells, columns, *self.sums, answers])
        count = f"{len(program.inputs)} value{'s' if len(program.inputs) != 1 else ''}"
        what = "predict_proba(row), predict(row) and scores(row)"
        if not program.probable:
            what = "predict(row) and scores(row)" if program.classes else "predict(row)"
        dates = IMPORTS if any(each.kind == "date" for each in program.inputs) else ""
        head = HEAD.format(model=program.model, what=what, count=count, imports=dates)
        return f"{head}\n\n{body}"

    # ---- the runtime -------------------------------------------------------------------------------
    def _use(self, name: str) -> str:
        self.used.add(name)
        return name

    def _runtime(self) -> str:
        """The source of every function that is used, and of those that these use."""
        own = {name: f for name, f in vars(python_runtime).items() if inspect.isfunction(f)}
        own = {name: f for name, f in own.items() if f.__module__ == python_runtime.__name__}
        needed: set[str] = set()
        waiting = sorted(self.used)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                tree = ast.parse(inspect.getsource(own[name]))
                waiting += [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in own]
        return "\n\n".join(inspect.getsource(f) for name, f in own.items() if name in needed)

    # ---- inputs and columns ------------------------------------------------------------------------
    def _cells(self) -> str:
        lines = ["def cells_of(row):", '    """The cells of a row, as numbers and places of levels."""']
        lines.append("    return [")
        levels = []
        for j, each in enumerate(self.program.inputs):
            cell = f"row[{each.name!r}]"
            if each.kind == "category":
                places = ", ".join(f"{_value(one)}: {i}" for i, one in enumerate(each.levels))
                levels.append(f"LEVELS_{j} = {{{places}}}  # of {each.name!r}")
                lines.append(f"        {self._use('level')}({cell}, LEVELS_{j}),")
            elif each.kind == "date":
                lines.append(f"        {cell},")
            else:
                lines.append(f"        {self._use('number')}({cell}),")
        lines.append("    ]\n")
        return "\n".join([*levels, "", "", *lines]) if levels else "\n".join(lines)

    def _columns(self) -> str:
        lines = [
            "def columns_of(cells):",
            '    """The numbers that scores are computed from."""',
            "    return [",
        ]
        held = [(self._column(column), self._name_of(column)) for column in self.program.columns]
        lines += [f"        {code},  # {name!r}" for code, name in held]
        return "\n".join([*lines, "    ]\n"])

    def _name_of(self, column: Any) -> str:
        named: str = column.name if isinstance(column, Computed) else self.program.inputs[column.input].name
        return named

    def _column(self, column: Any) -> str:
        if isinstance(column, Computed):
            return f"{self._use('finite')}(lambda: {computed(column, self._column, _number, FUNCTIONS)})"
        each: Input = self.program.inputs[column.input]
        cell = f"cells[{column.input}]"
        if each.kind == "date" and not isinstance(column, Code | Indicator):
            part = getattr(column, "part", "")
            cell = f"{self._use('days')}({cell})"
            if part:
                cell = f"{self._use('date_part')}(cells[{column.input}], {part!r}, {each.zone!r})"
        if isinstance(column, Number):
            return number_column(column, cell, self._use, _number)
        if isinstance(column, Missing) and each.kind != "category":
            return f"{self._use('is_missing')}({cell})"
        count = len(each.levels)
        if isinstance(column, Missing):
            return f"{self._use('is_missing_level')}({cell}, {count}, {column.unseen})"
        if isinstance(column, Indicator):
            given = f"{cell}, {count}, {column.levels!r}, {column.missing}, {column.unseen}"
            return f"{self._use('indicator')}({given})"
        if isinstance(column, Code):
            codes = _literal(np.array(column.codes))
            others = f"{_number(column.unseen)}, {_number(column.missing)}"
            return f"{self._use('coded')}({cell}, {codes}, {others})"
        assert isinstance(column, Bin)
        return f"{self._use('binned')}({cell}, {_literal(column.cuts)})"

    # ---- sums --------------------------------------------------------------------------------------
    def _sum(self, found: Sum) -> str:
        """Writes the function of a sum; its name."""
        lines = [f"    z = {_literal(found.bias)}"]
        for term in found.terms:
            lines += self._lines(call_of(term))
        name = f"sum_{len(self.sums)}"
        self.sums.append(
            "\n".join([f"def {name}(x):", '    """Scores of a row x."""', *lines, "    return z\n"])
        )
        return name

    def _lines(self, call: Call | Choice | Nested) -> list[str]:
        if isinstance(call, Choice):
            complete, gaps = self._sum(call.complete), self._sum(call.gaps)
            test = f"{self._use('any_missing')}(x, {_literal(call.columns)})"
            return [f"    {self._use('add')}(z, {gaps}(x) if {test} else {complete}(x))"]
        if isinstance(call, Nested):
            owner = _literal(call.owner)
            inner = self._sum(call.components)
            return [f"    {self._use('log_sum_exp')}(z, {inner}(x), {owner}, {_number(call.weight)})"]
        given = ", ".join(map(_literal, call.arguments))
        return [f"    {self._use(call.function)}(z, x, {given})"]

    # ---- answers -----------------------------------------------------------------------------------
    def _answers(self, main: str) -> str:
        program = self.program
        powers = [getattr(column, "power", 0) for column in program.columns]
        units = (
            f"    x = [{self._use('in_units')}(v, p) for v, p in zip(x, POWERS)]\n" if any(powers) else ""
        )
        held = [f"POWERS = {powers!r}\n\n"] if units else []
        held.append(f'def added(x):\n    """The scores of numbers."""\n{units}    return {main}(x)\n\n')
        held.append(NEARER if program.draws_near else SCORES)
        if not program.classes:
            answer = "found[0]" if program.K == 1 else "found"
            held.append(
                f'\n\ndef predict(row):\n    """The predicted number."""\n    found = scores(row)\n'
                f"    return {answer}\n"
            )
            return "\n".join(held)
        labels = ", ".join(map(_value, program.classes))
        held.insert(0, f"CLASSES = [{labels}]\n\n")
        held.append(PREDICT)
        if program.probable:
            held.append(PROBA.format(answer=self._use(program.answer)))
        return "\n".join(held)


SCORES = '''def scores(row):
    """The scores of a row; NaN where a cell is missing that they need."""
    return added(columns_of(cells_of(row)))
'''
NEARER = '''def scores(row):
    """The scores of a row; NaN where a cell is missing that they need. A row so far off that no class has
    a finite score is drawn towards 0 until one has."""
    x = columns_of(cells_of(row))
    z = added(x)
    while not any(-INF < v < INF for v in z) and any(abs(v) > 1 for v in x):
        x = [v * 2.0**-200 for v in x]
        z = added(x)
    return z
'''
PREDICT = '''
def predict(row):
    """The class of the largest score; None if the row has none."""
    z = scores(row)
    return None if any(v != v for v in z) else CLASSES[z.index(max(z))]
'''
PROBA = '''
def predict_proba(row):
    """The probability of each of CLASSES."""
    return {answer}(scores(row))
'''


def _value(value: Any) -> str:
    """A level or a label."""
    if not isinstance(value, str | int | float | bool):
        raise NotExpressible(
            f"standalone code cannot be written: {value!r:.80} is of type {type(value).__name__}, and "
            "categories and labels must be strings, numbers or booleans."
        )
    return repr(value)


_number = partial(number_of, infinity="INF")


def _literal(value: Any) -> str:
    if isinstance(value, bool | int | np.integer):
        return repr(value)
    if isinstance(value, float):
        return _number(value)
    array = np.asarray(value)
    if array.ndim > 1:
        return f"[{', '.join(map(_literal, array))}]"
    if array.dtype.kind in "iu":
        return repr(array.tolist())
    return f"[{numbers_of(array.astype(np.float64).tolist(), 'INF')}]"
