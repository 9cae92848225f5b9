"""The columns of a formula, described: numbers, codings of categories, arithmetic, and their products.

Expressions of comparisons, splines and other functions are refused by the name of their term.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np

from likelier.data.expressions import function_of, parsed, settings_of
from likelier.data.formula import FormulaDesign, FormulaFactor
from likelier.export.program import Code, Column, Computed, Input, NotExpressible, Number, Operation

Cell = Column | float

ARITHMETIC: dict[type[ast.AST], Operation] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
FUNCTIONS: dict[str, Callable[..., Cell]] = {
    "log": lambda x: _of("log", x),
    "log2": lambda x: _of("divide", _of("log", x), float(np.log(2.0))),
    "log10": lambda x: _of("divide", _of("log", x), float(np.log(10.0))),
    "log1p": lambda x: _of("log", _of("add", 1.0, x)),
    "exp": lambda x: _of("exp", x),
    "expm1": lambda x: _of("subtract", _of("exp", x), 1.0),
    "sqrt": lambda x: _of("sqrt", x),
    "square": lambda x: _of("power", x, 2.0),
    "abs": lambda x: _of("abs", x),
    "power": lambda x, y: _of("power", x, y),
}
LARGEST_DEGREE = 8  # of a polynomial: what computes it grows with each


def formula_columns(design: FormulaDesign) -> tuple[list[Input], list[Column]]:
    """The columns of the table, and what the formula makes of them."""
    names = [str(name) for name in design.names_in]
    inputs = [_input(design, *each) for each in zip(names, (c.kind for c in design.table), strict=True)]
    place = {name: j for j, name in enumerate(names)}
    factors = [_factor(factor, inputs, place) for factor in design.factors]
    found: list[Column] = []
    for term in design.products:
        for one in term.products:
            made = reduce(_products, (factors[i] for i in one.factors))
            found += [
                _named(cell, label, one.scale)
                for cell, label in zip(made, design.named_columns(one), strict=True)
            ]
    return inputs, found


def _of(operation: Operation, *cells: Cell) -> Computed:
    return Computed("", operation, cells)


def _products(cells: Sequence[Cell], more: Sequence[Cell]) -> list[Cell]:
    """Those of the first vary fastest, as in the design."""
    return [_of("multiply", a, b) for b in more for a in cells]


def _named(cell: Cell, label: str, scale: float) -> Column:
    if scale != 1:
        cell = _of("multiply", scale, cell)
    if isinstance(cell, Number):
        return cell
    return Computed(label, "same", (cell,))


def _input(design: FormulaDesign, name: str, kind: str) -> Input:
    """A column of the table; one whose numbers stand for categories is a category."""
    using = [factor for factor in design.factors if name in factor.columns]
    levels = [factor.levels for factor in using if factor.levels is not None and factor.plain]
    if kind in ("category", "ordered", "text") or (kind == "number" and levels):
        if len(levels) < len(using):
            other = next(f.expression for f in using if f.levels is None or not f.plain)
            raise _refused(other, f"column {name!r} is a category in one term and computed with in another")
        return Input(name, "category", tuple(np.asarray(levels[0], dtype=object).tolist()))
    if kind not in ("number", "bool"):
        raise _refused(name, f"column {name!r} holds values of kind {kind}")
    return Input(name, "bool" if kind == "bool" else "number")


def _refused(term: str, why: str) -> NotExpressible:
    return NotExpressible(
        f"this model cannot be exported: {why}, in the term {term!r} of its formula. Exports know columns, "
        "C(), + - * / ** and I() of numbers, log, log2, log10, log1p, exp, expm1, sqrt, square, abs, "
        "power, center, scale, standardize, poly, and products of these. Compute the term before the fit, "
        "as a column of the table."
    )


def _factor(factor: FormulaFactor, inputs: Sequence[Input], place: Mapping[str, int]) -> list[Cell]:
    """A cell for each column of a factor."""
    if factor.levels is not None:
        if not factor.plain:
            raise _refused(factor.expression, "an expression has categories")
        return _coded(factor, place[factor.expression], inputs[place[factor.expression]])
    if factor.plain:
        return [Number(place[factor.expression])]
    return _Expression(factor, place).cells()


def _coded(factor: FormulaFactor, j: int, each: Input) -> list[Cell]:
    assert factor.levels is not None
    if factor.coding is not None:
        coding = factor.coding
    else:
        assert factor.places is not None
        coding = (factor.places[:, None] == np.arange(len(factor.labels))).astype(np.float64)
    if each.kind == "bool":  # 0 and 1: a line through what they become
        return [
            _of("add", float(low), _of("multiply", float(high - low), Number(j))) for low, high in coding.T
        ]
    return [Code(j, tuple(column.tolist()), unseen=0.0) for column in coding.T]


class _Expression:
    """The expression of a factor, node by node."""

    def __init__(self, factor: FormulaFactor, place: Mapping[str, int]) -> None:
        found = parsed(factor.expression)
        self.factor, self.node = factor, found.node
        self.columns = {name: place[column] for name, column in found.columns.items()}

    def cells(self) -> list[Cell]:
        """One for each column of the factor."""
        if not self.factor.kept:
            return [self.cell(self.node)]
        if isinstance(self.node, ast.Call) and function_of(self.node) == "poly":
            made = self._polynomials(self.node)
            return [made[i] for i in self.factor.kept]
        raise self._no(self.node)

    def _no(self, node: ast.expr) -> NotExpressible:
        return _refused(self.factor.expression, f"{ast.unparse(node)!r} is computed by likelier alone")

    def cell(self, node: ast.expr) -> Cell:
        """What a node is."""
        if isinstance(node, ast.Name):
            return Number(self.columns[node.id])
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            return _of(ARITHMETIC[type(node.op)], self.cell(node.left), self.cell(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = self.cell(node.operand)
            if isinstance(node.op, ast.UAdd):
                return inner
            return -inner if isinstance(inner, float) else _of("multiply", -1.0, inner)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self._no(node)

    def _call(self, node: ast.Call) -> Cell:
        name = function_of(node)
        if name == "I":
            return self.cell(node.args[0])
        if name in FUNCTIONS:
            return FUNCTIONS[name](*map(self.cell, node.args))
        if name in ("center", "scale", "standardize"):
            state = self.factor.states[ast.unparse(node)]
            centre, scale = (state.get(key) for key in ("center", "scale"))
            x = self.cell(node.args[0])
            x = x if centre is None else _of("subtract", x, float(centre))
            return x if scale is None else _of("divide", x, float(scale))
        raise self._no(node)

    def _polynomials(self, node: ast.Call) -> list[Cell]:
        """Orthogonal ones by their recursion, whose coefficients the fit has found; or powers."""
        args, keywords = settings_of(node)
        degree, raw = (*args, *(keywords.get(key, default) for key, default in _POLY[len(args) :]))
        x = self.cell(node.args[0])
        if degree > LARGEST_DEGREE:
            raise _refused(self.factor.expression, f"its degree is above {LARGEST_DEGREE}")
        if raw:
            return [_of("power", x, float(i)) for i in range(1, degree + 1)]
        state = self.factor.states[ast.unparse(node)]
        alpha, norms = state["alpha"], state["norms2"]
        found: list[Cell] = [1.0]
        for i in range(degree):
            step: Cell = _of("multiply", _of("subtract", x, float(alpha[i])), found[i])
            if i:
                back = _of("multiply", float(norms[i] / norms[i - 1]), found[i - 1])
                step = _of("subtract", step, back)
            found.append(step)
        sizes = [float(np.sqrt(norms[i])) for i in range(1, degree + 1)]
        return [_of("divide", cell, size) for cell, size in zip(found[1:], sizes, strict=True)]


_POLY = (("degree", 1), ("raw", False))
