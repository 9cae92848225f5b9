"""The description of a model as one file of C99 that needs nothing but the mathematical library."""

from functools import partial
from typing import Any

import numpy as np

from likelier.export.c_runtime import RUNTIME
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

HEAD = """\
/* {model} as C99: compile it with -lm, and declare what is not static below in a header of your own.

   A row is an array of {inputs} numbers, in this order; NAN is a missing value:
{rows}
   A category is the number that likelier_level (of text) or likelier_level_of (of a number) finds. */

#include <math.h>
#include <stddef.h>
#include <string.h>

#define INPUTS {inputs}
#define COLUMNS {columns}
#define SCORES {K}
"""


FUNCTIONS = {"log": "log", "exp": "exp", "sqrt": "sqrt", "abs": "fabs", "power": "pow"}


def to_c(program: Program) -> str:
    """The source of one file."""
    return _Source(program).written()


class _Source:
    """Collects constants and functions of the sums, and which of the runtime they use."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.used: dict[str, None] = {}
        self.constants: list[str] = []
        self.sums: list[str] = []

    def written(self) -> str:
        """All of it."""
        program = self.program
        columns = self._columns()
        main = self._sum(program.scores)
        answers, levels = self._answers(main), self._levels()
        rows = "".join(f"     {j}: {_comment(each)}\n" for j, each in enumerate(program.inputs))
        head = HEAD.format(
            model=program.model,
            inputs=len(program.inputs),
            rows=rows,
            columns=max(1, len(program.columns)),
            K=program.K,
        )
        parts = [head, self._runtime(), *self.constants, "", levels, columns, *self.sums, answers]
        return "\n".join(parts)

    def _runtime(self) -> str:
        found: dict[str, str] = {}

        def need(name: str) -> None:
            for other in RUNTIME[name].needs:
                need(other)
            found.setdefault(name, RUNTIME[name].source)

        for name in self.used:
            need(name)
        return "\n".join(found.values())

    def _use(self, name: str) -> str:
        self.used[name] = None
        return name

    def _array(self, values: Any) -> str:
        """A constant array; its name."""
        array = np.asarray(values)
        kind = "int" if array.dtype.kind in "iub" else "double"
        if kind == "int":
            cells = ", ".join(str(int(v)) for v in array.ravel().tolist())
        else:
            cells = numbers_of(array.ravel().tolist(), "INFINITY")
        name = f"A{len(self.constants)}"
        held = cells or "0"  # C has no empty arrays
        self.constants.append(f"static const {kind} {name}[{max(1, array.size)}] = {{{held}}};")
        return name

    # ---- columns -----------------------------------------------------------------------------------
    def _levels(self) -> str:
        """Which number a category is."""
        text, numbers = [], []
        for j, each in enumerate(self.program.inputs):
            if each.kind != "category":
                continue
            count = len(each.levels)
            if all(isinstance(level, str) for level in each.levels):
                names = ", ".join(_string(level) for level in each.levels) or '""'
                self.constants.append(f"static const char *const L{j}[] = {{{names}}};")
                text.append(f"    case {j}: return level_among(L{j}, {count}, text);")
            else:
                values = self._array([float(level) for level in each.levels])
                numbers.append(f"    case {j}: return level_of_number({values}, {count}, value);")
        found = []
        if text:
            found.append(_LEVEL.format(cases="\n".join(text)))
        if numbers:
            found.append(_LEVEL_OF.format(cases="\n".join(numbers)))
        return "\n".join(found)

    def _columns(self) -> str:
        lines = ["static void columns_of(const double *cells, double *x) {"]
        for i, column in enumerate(self.program.columns):
            about = (
                _plain(column.name)
                if isinstance(column, Computed)
                else _comment(self.program.inputs[column.input])
            )
            lines.append(f"    x[{i}] = {self._column(column)}; /* {about} */")
        if not self.program.columns:
            lines.append("    (void)cells; x[0] = 0;")
        return "\n".join([*lines, "}\n"])

    def _column(self, column: Any) -> str:
        if isinstance(column, Computed):
            return f"{self._use('finite')}({computed(column, self._column, _number, FUNCTIONS)})"
        each: Input = self.program.inputs[column.input]
        cell = f"cells[{column.input}]"
        part = getattr(column, "part", "")
        if part:
            if each.zone is not None:
                raise NotExpressible(
                    f"C cannot be written: the parts of the dates in column {each.name!r} are by the clock "
                    f"of {each.zone}, and C knows no time zones. Fit the model to times without a zone."
                )
            cell = f'{self._use("date_part")}({cell}, "{part}")'
        if isinstance(column, Number):
            return number_column(column, cell, self._use, _number)
        count = len(each.levels)
        if isinstance(column, Missing):
            if each.kind != "category":
                return f"{self._use('is_missing')}({cell})"
            return f"{self._use('is_missing_level')}({cell}, {count}, {int(column.unseen)})"
        if isinstance(column, Indicator):
            levels = self._array(np.array(column.levels, dtype=np.int64))
            how = f"{levels}, {len(column.levels)}, {int(column.missing)}, {int(column.unseen)}"
            return f"{self._use('indicator')}({cell}, {count}, {how})"
        if isinstance(column, Code):
            codes = self._array(np.array(column.codes, dtype=np.float64))
            how = f"{codes}, {count}, {_number(column.unseen)}, {_number(column.missing)}"
            return f"{self._use('coded')}({cell}, {how})"
        assert isinstance(column, Bin)
        return f"{self._use('binned')}({cell}, {self._array(column.cuts)}, {len(column.cuts)})"

    # ---- sums --------------------------------------------------------------------------------------
    def _sum(self, found: Sum) -> str:
        """Writes the function of a sum; its name."""
        K, lines = found.K, []
        for term in found.terms:
            lines += self._lines(call_of(term), K)
        start = f"    memcpy(z, {self._array(found.bias)}, {K} * sizeof *z);"
        unused = [] if found.terms else ["    (void)x;"]
        name = f"sum_{len(self.sums)}"
        self.sums.append(
            "\n".join([f"static void {name}(const double *x, double *z) {{", start, *unused, *lines, "}\n"])
        )
        return name

    def _lines(self, call: Call | Choice | Nested, K: int) -> list[str]:
        if isinstance(call, Choice):
            complete, gaps = self._sum(call.complete), self._sum(call.gaps)
            columns = self._array(call.columns)
            test = f"{self._use('any_missing')}(x, {columns}, {len(call.columns)})"
            body = (
                f"if ({test}) {gaps}(x, y); else {complete}(x, y); for (k = 0; k < {K}; ++k) z[k] += y[k];"
            )
            return [f"    {{ double y[{K}]; int k; {body} }}"]
        if isinstance(call, Nested):
            inner, M = self._sum(call.components), call.components.K
            given = f"y, {M}, {self._array(call.owner)}, {_number(call.weight)}"
            found = f"{self._use('log_sum_exp')}(z, {K}, {given});"
            return [f"    {{ static double y[{M}]; {inner}(x, y); {found} }}"]
        given = ", ".join(self._arguments(call))
        return [f"    {self._use(call.function)}(z, x, {K}, {given});"]

    def _arguments(self, call: Call) -> list[str]:
        """The arguments, an array followed by a size where the runtime needs one."""
        a = call.arguments
        array, number = self._array, _number
        q = str(np.size(a[0]))
        match call.function:
            case "linear":
                return [array(a[0]), q, *map(array, a[1:4]), str(int(a[4]))]
            case "steps":
                return [array(a[0]), q, *map(array, a[1:4]), number(a[4])]
            case "squares":
                return [array(a[0]), q, *map(array, a[1:])]
            case "quadratic":
                shift, U, at = a[1:]
                sizes = str(len(shift)), str(len(U)), str(at.shape[1])
                return [array(a[0]), q, array(shift), sizes[0], array(U), sizes[1], array(at), sizes[2]]
            case "marginal":
                size = 2 * int(q) ** 2 + 3 * int(q)
                room = f"R{len(self.constants)}"
                self.constants.append(f"static double {room}[{size}];")
                held = [array(a[0]), q, array(a[1]), array(a[2]), str(len(a[2]))]
                return [*held, number(a[3]), number(a[4]), room]
            case "lookup":
                return [str(a[0]), array(a[1]), str(len(a[1])), array(a[2]), array(a[3])]
            case "bins":
                return [str(a[0]), array(a[1]), str(len(a[1])), array(a[2])]
            case "ratios":
                return [array(a[0]), q, *map(array, a[1:5]), str(int(a[5]))]
            case "draws":
                return [array(a[0]), q, array(a[1]), number(a[2])]
            case "dirichlet":
                return [array(a[0]), q, array(a[1]), array(a[2]), number(a[3]), number(a[4])]
        raise AssertionError(call.function)

    # ---- answers -----------------------------------------------------------------------------------
    def _answers(self, main: str) -> str:
        program = self.program
        powers = [getattr(column, "power", 0) for column in program.columns]
        found = ["static void added(const double *given, double *z) {", "    double x[COLUMNS];"]
        found.append("    memcpy(x, given, sizeof x);")
        if any(powers):
            held, use = self._array(np.array(powers, dtype=np.int64)), self._use("in_units")
            found.append(f"    {{ int j; for (j = 0; j < COLUMNS; ++j) x[j] = {use}(x[j], {held}[j]); }}")
        found += [f"    {main}(x, z);", "}\n"]
        found.append(_NEARER if program.draws_near else _SCORES)
        if not program.classes:
            return "\n".join(found)
        found.append(_PREDICT)
        if all(isinstance(label, str) for label in program.classes):
            names = ", ".join(_string(label) for label in program.classes)
            found.append(_CLASSES.format(names=names))
        elif all(isinstance(label, int | float) for label in program.classes):
            names = ", ".join(_number(float(label)) for label in program.classes)
            found.append(_NUMBERS.format(names=names))
        if program.probable:
            found.append(_PROBA.format(answer=self._use(program.answer)))
        return "\n".join(found)


_LEVEL = """\
static double level_among(const char *const *levels, int count, const char *text) {{
    int i;
    if (text == NULL) return NAN;
    for (i = 0; i < count; ++i)
        if (!strcmp(levels[i], text)) return i;
    return count;
}}

/* The number of a category, given as text (UTF-8), in an input; NULL is missing. */
double likelier_level(int input, const char *text) {{
    switch (input) {{
{cases}
    }}
    return NAN;
}}
"""
_LEVEL_OF = """\
static double level_of_number(const double *levels, int count, double value) {{
    int i;
    if (isnan(value)) return NAN;
    for (i = 0; i < count; ++i)
        if (levels[i] == value) return i;
    return count;
}}

/* The number of a category that is a number by itself, in an input; NAN is missing. */
double likelier_level_of(int input, double value) {{
    switch (input) {{
{cases}
    }}
    return NAN;
}}
"""
_SCORES = """\
/* The scores of a row (for a regression the predictions); NAN where a cell is missing that they need. */
void likelier_scores(const double *cells, double *z) {
    double x[COLUMNS];
    columns_of(cells, x);
    added(x, z);
}
"""
_NEARER = """\
/* The scores of a row; NAN where a cell is missing that they need. A row so far off that no class has a
   finite score is drawn towards 0 until one has. */
void likelier_scores(const double *cells, double *z) {
    double x[COLUMNS];
    int j, k, defined, far;
    columns_of(cells, x);
    for (;;) {
        added(x, z);
        defined = far = 0;
        for (k = 0; k < SCORES; ++k) defined = defined || isfinite(z[k]);
        for (j = 0; j < COLUMNS; ++j) far = far || fabs(x[j]) > 1;
        if (defined || !far) return;
        for (j = 0; j < COLUMNS; ++j) x[j] = ldexp(x[j], -200);
    }
}
"""
_PREDICT = """\
/* The number of the class with the largest score; -1 if the row has none. */
int likelier_predict(const double *cells) {
    double z[SCORES];
    int best = 0, k;
    likelier_scores(cells, z);
    for (k = 0; k < SCORES; ++k) {
        if (isnan(z[k])) return -1;
        if (z[k] > z[best]) best = k;
    }
    return best;
}
"""
_CLASSES = """\
/* The label of a class. */
const char *likelier_class(int k) {{
    static const char *const classes[] = {{{names}}};
    return classes[k];
}}
"""
_NUMBERS = """\
/* The label of a class. */
double likelier_class(int k) {{
    static const double classes[] = {{{names}}};
    return classes[k];
}}
"""
_PROBA = """\
/* The probability of each class. */
void likelier_proba(const double *cells, double *p) {{
    likelier_scores(cells, p);
    {answer}(p, SCORES);
}}
"""


def _comment(each: Input) -> str:
    """The name of a column within a comment, whatever is in it."""
    what = {"category": "category", "date": "days since 1970", "bool": "0 or 1", "number": "number"}
    return f"{_plain(each.name)}, {what[each.kind]}"


def _plain(name: str) -> str:
    return ascii(name).replace("*/", "* /").replace("/*", "/ *")


def _string(text: str) -> str:
    """A constant of UTF-8: each byte that is no plain character as an octal escape."""
    if "\0" in text:
        raise NotExpressible(f"C cannot be written: {text!r:.80} contains a NUL character.")
    plain = set(range(32, 127)) - set(b'"\\?')
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'


_number = partial(number_of, infinity="INFINITY")
