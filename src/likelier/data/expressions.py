"""Expressions of the columns of a table: arithmetic, comparisons and known functions, and nothing else.

What a formula says of a column, such as log(fare + 1), is evaluated here, node by node. It never reaches
Python's own evaluation: there are no attributes, no subscripts and no other names than those of columns.
"""

import ast
import difflib
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier import optional
from likelier.data.labels import Factor

Values = Mapping[str, Any]  # of each column: an array of numbers or booleans, or a factor
States = dict[str, Any]  # what functions that learn have learned, by the call

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        *("log", "log10", "log2", "log1p", "exp", "exp2", "expm1", "sqrt", "cbrt", "square", "abs"),
        *("sign", "floor", "ceil", "round", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
        *("sinh", "cosh", "tanh", "minimum", "maximum", "power", "clip", "where"),
    )
}
LEARNING = ("center", "scale", "standardize", "poly", "bs", "cr", "cs", "cc")  # formulaic's own
NUMPY = ("np", "numpy")  # np.log(x) means log(x)

OPERATIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: np.logical_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Parsed(NamedTuple):
    """An expression, of which all nodes are known, and the columns that it names."""

    node: ast.expr
    columns: dict[str, str]  # by the names that stand for them in the node


class Basis(NamedTuple):
    """Several columns that a function makes of one, such as those of a polynomial."""

    cells: NDArray[np.float64]  # (n, k)
    labels: tuple[str, ...]  # as in bs(x, df=4)[1]
    spans: bool  # whether they add up to a constant
    dropped: int  # which of them is left out where a constant is there already


# Reading and checking.


@lru_cache(maxsize=1024)
def parsed(text: str) -> Parsed:
    """An expression in Python's notation; names in backquotes are those of columns, whatever they hold."""
    quoted: dict[str, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        return quoted.setdefault(match[1], f"quoted_{len(quoted)}_")

    source = re.sub(r"`([^`]+)`", stand_in, text)
    try:
        node = ast.parse(source.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"formula: {text!r} is not an expression: {error.msg}.") from None
    names = {name: column for column, name in quoted.items()}
    found = {name: names.get(name, name) for name in _names(node, text)}
    return Parsed(node, found)


def _names(node: ast.expr, text: str) -> Iterator[str]:
    """The names of columns in an expression; anything that is not known is refused."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
        pass
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        yield from _names(node.left, text)
        yield from _names(node.right, text)
    elif isinstance(node, ast.UnaryOp):
        yield from _names(node.operand, text)
    elif isinstance(node, ast.Compare) and all(type(op) in OPERATIONS for op in node.ops):
        for each in (node.left, *node.comparators):
            yield from _names(each, text)
    elif isinstance(node, ast.Call):
        yield from _names_in_call(node, text)
    else:
        raise ValueError(
            f"formula: {ast.unparse(node)!r} in {text!r} is not allowed: expressions are made of columns, "
            "numbers, strings, arithmetic, comparisons, & and |, and known functions."
        )


def _names_in_call(node: ast.Call, text: str) -> Iterator[str]:
    name = function_of(node)
    if name not in FUNCTIONS and name not in LEARNING and name != "I":
        raise ValueError(_unknown(name, node, text))
    learns = name in LEARNING
    if not node.args or (node.keywords and not learns) or any(k.arg is None for k in node.keywords):
        raise ValueError(f"formula: {ast.unparse(node)!r} in {text!r} lacks an argument, or has others.")
    if learns:
        settings_of(node)
    for each in node.args[:1] if learns else node.args:
        yield from _names(each, text)


def _unknown(name: str | None, node: ast.Call, text: str) -> str:
    called = ast.unparse(node.func)
    if name == "C":
        return f"formula: {text!r}: C() says how a column is coded, and must be the whole factor."
    if name == "offset":
        return "formula: offset() is not part of a formula here: use fit(X, y, offset=...)."
    near = difflib.get_close_matches(called, [*FUNCTIONS, *LEARNING, "C", "I"], 1)
    maybe = f"; did you mean {near[0]!r}?" if near else "."
    known = ", ".join(sorted([*FUNCTIONS, *LEARNING, "C", "I"]))
    return f"formula: {called!r} in {text!r} is not a known function{maybe} Known are {known}."


def function_of(node: ast.Call) -> str | None:
    """The name of the function that is called; None: it has no plain name."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    of_numpy = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    if of_numpy and node.func.value.id in NUMPY and node.func.attr in FUNCTIONS:  # type: ignore[attr-defined]
        return str(node.func.attr)  # type: ignore[attr-defined]
    return None


def settings_of(node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    """What is said to a function beside its column: plain values only."""
    try:
        args = [ast.literal_eval(each) for each in node.args[1:]]
        return args, {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
    except (ValueError, TypeError):
        raise ValueError(
            f"formula: {ast.unparse(node)!r}: all arguments after the first must be plain values."
        ) from None


# Evaluating.


def value_of(text: str, values: Values, states: States) -> Any:
    """An expression of these columns: numbers, booleans, a factor, or a `Basis`.

    states: what its functions have learned; where there is nothing yet, they learn from these rows.
    """
    found = parsed(text)
    named = {name: values[column] for name, column in found.columns.items()}
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused by its row
            return _value(found.node, named, states)
    except (ArithmeticError, TypeError) as error:
        raise ValueError(f"formula: {text!r} cannot be computed: {error}.") from None


def _value(node: ast.expr, values: Values, states: States) -> Any:
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp):
        pair = [_number(_value(each, values, states), node) for each in (node.left, node.right)]
        return _computed(node.op, *pair)
    if isinstance(node, ast.UnaryOp):
        return _computed(node.op, _number(_value(node.operand, values, states), node))
    if isinstance(node, ast.Compare):
        return _compared(node, values, states)
    assert isinstance(node, ast.Call)
    name, first = function_of(node), _value(node.args[0], values, states)
    if name == "I":
        return first
    if name in LEARNING:
        return _basis(node, str(name), _number(first, node), states)
    rest = [_value(each, values, states) for each in node.args[1:]]
    return FUNCTIONS[str(name)](*(_number(each, node) for each in (first, *rest)))


def _computed(op: ast.AST, *operands: Any) -> Any:
    """Booleans are 0 and 1 in arithmetic, and stay booleans under &, | and ~."""
    if not isinstance(op, ast.BitAnd | ast.BitOr | ast.Invert | ast.Not):
        operands = tuple(np.asarray(each, dtype=np.float64) for each in operands)
    return OPERATIONS[type(op)](*operands)


def _number(value: Any, node: ast.expr) -> Any:
    """Numbers as doubles, so that whole ones neither overflow nor are refused; booleans as they are."""
    if isinstance(value, Factor | str):
        said = repr(value) if isinstance(value, str) else f"categories such as {value.levels[:1].tolist()}"
        raise ValueError(f"formula: {ast.unparse(node)!r} needs numbers; got {said}.")
    if isinstance(value, Basis):
        raise ValueError(f"formula: {ast.unparse(node)!r}: a basis of several columns stands by itself.")
    if isinstance(value, np.ndarray) and value.dtype.kind != "b":
        return value.astype(np.float64, copy=False)
    return float(value) if type(value) is int else value


def _compared(node: ast.Compare, values: Values, states: States) -> Any:
    sides = [_value(each, values, states) for each in (node.left, *node.comparators)]
    found: Any = True
    for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
        found = found & _comparison(OPERATIONS[type(op)], left, right, node)
    return found


def _comparison(compare: Callable[..., Any], left: Any, right: Any, node: ast.expr) -> Any:
    if isinstance(right, Factor) and not isinstance(left, Factor):
        left, right = right, left
        compare = {operator.lt: operator.gt, operator.gt: operator.lt}.get(compare, compare)
        compare = {operator.le: operator.ge, operator.ge: operator.le}.get(compare, compare)
    if not isinstance(left, Factor):
        return compare(_number(left, node), _number(right, node))
    if isinstance(right, Factor | np.ndarray) or (
        len(left.levels) and type(left.levels[0]) is not type(right)
    ):
        raise ValueError(
            f"formula: {ast.unparse(node)!r}: categories are compared with one of them, such as "
            f"{left.levels[0]!r}."
        )
    levels = np.array([bool(compare(level, right)) for level in left.levels] + [False, False])
    return levels[left.codes]


def _basis(node: ast.Call, name: str, x: Any, states: States) -> Any:
    """What one of formulaic's functions that learn makes of a column."""
    args, keywords = settings_of(node)
    function = _formulaic_function(name)
    state = states.setdefault(ast.unparse(node), {})
    try:
        found = function(x, *args, _state=state, **keywords)
    except (ValueError, TypeError) as error:
        raise ValueError(f"formula: {ast.unparse(node)!r}: {error}") from None
    about = getattr(found, "__formulaic_metadata__", None)
    held = getattr(found, "__wrapped__", found)
    if isinstance(held, dict):
        labels: Sequence[Any] = list(held)
        cells = np.column_stack([np.asarray(held[label], dtype=np.float64) for label in labels])
        dropped = about.drop_field if about is not None else labels[0]
        at = labels.index(dropped) if dropped in labels else 0
        return Basis(cells, tuple(map(str, labels)), bool(about.spans_intercept), at)  # type: ignore[union-attr]
    cells = np.asarray(held, dtype=np.float64)
    if cells.ndim == 1:
        return cells
    return Basis(cells, tuple(str(i + 1) for i in range(cells.shape[1])), False, 0)


def _formulaic_function(name: str) -> Callable[..., Any]:
    transforms = optional.load("formulaic.transforms", "formulas need", "likelier[formula]")
    function: Callable[..., Any] = transforms.TRANSFORMS[name]
    return function
