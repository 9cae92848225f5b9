"""The columns of a description as ONNX operators: from the inputs of a graph to one matrix of doubles."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likelier.export.onnx_dates import part_of
from likelier.export.onnx_graph import ML, Graph
from likelier.export.program import (
    Bin,
    Code,
    Column,
    Computed,
    Indicator,
    Input,
    Missing,
    NotExpressible,
    Number,
    Program,
)

MISSING = ""  # what a missing category is in a tensor of strings, which has no null
TABLE = "X"  # the one input, where all columns are numbers


class Cells(NamedTuple):
    """What is made of the inputs, by their numbers."""

    numbers: dict[int, str]  # (n, 1), doubles
    places: dict[int, str]  # (n, 1), of categories: the level, L: none of them, L + 1: missing


def one_matrix(program: Program) -> bool:
    """Whether all inputs are numbers, so that the graph takes one matrix."""
    return all(each.kind != "category" for each in program.inputs)


def kind_of_levels(each: Input) -> str:
    """What tensor a category comes in: strings, or whole numbers."""
    kinds = {type(level) for level in each.levels}
    if kinds <= {str}:
        return "STRING"
    if kinds <= {int} or kinds <= {bool}:
        return "INT64" if kinds <= {int} else "BOOL"
    if kinds <= {int, float, bool} and all(float(level).is_integer() for level in each.levels):
        return "DOUBLE"
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise NotExpressible(
        f"this model cannot be written as ONNX: the levels of column {each.name!r} are of type {names}; "
        "categories are strings or whole numbers. Fit the model to the column as strings."
    )


def cells(graph: Graph, program: Program) -> Cells:
    """The inputs as doubles, and as places of levels."""
    numbers: dict[int, str] = {}
    places: dict[int, str] = {}
    if one_matrix(program):
        whole = graph.cast(TABLE)
        return Cells({-1: whole}, {})
    for j, each in enumerate(program.inputs):
        if each.kind == "category":
            places[j] = _places(graph, each)
        else:
            numbers[j] = graph.cast(each.name)
    return Cells(numbers, places)


def _places(graph: Graph, each: Input) -> str:
    L, kind = len(each.levels), kind_of_levels(each)
    if kind == "STRING":
        keys, values = list(each.levels), list(range(L))
        if MISSING not in keys:
            keys, values = [*keys, MISSING], [*values, L + 1]
        return graph.op(
            "LabelEncoder", each.name, domain=ML, keys_strings=keys, values_int64s=values, default_int64=L
        )
    if kind == "BOOL":
        x, missing = graph.cast(each.name, "INT64"), None
    elif kind == "INT64":
        x, missing = each.name, None
    else:
        as_number = each.name
        missing = graph.op("IsNaN", as_number)
        x = graph.cast(graph.where_missing(as_number, -1.0), "INT64")
    keys = [int(level) for level in each.levels]
    found = graph.op(
        "LabelEncoder", x, domain=ML, keys_int64s=keys, values_int64s=list(range(L)), default_int64=L
    )
    return found if missing is None else graph.op("Where", missing, graph.whole(L + 1), found)


def matrix(graph: Graph, program: Program, found: Cells) -> str:
    """All columns side by side, (n, P), in the units of the inputs."""
    numbers = [j for j, column in enumerate(program.columns) if isinstance(column, Number)]
    groups: list[tuple[list[int], str]] = []
    if numbers:
        held: Any = [program.columns[j] for j in numbers]
        groups.append((numbers, _numbers(graph, program, found, held)))
    tables: dict[int, list[int]] = {}
    for j, column in enumerate(program.columns):
        if isinstance(column, Number):
            continue
        if isinstance(column, Computed):
            groups.append(([j], _finite(graph, _computed(graph, program, found, column))))
        elif program.inputs[column.input].kind == "category" and not isinstance(column, Bin):
            tables.setdefault(column.input, []).append(j)
        else:
            groups.append(([j], _single(graph, program, found, column)))
    for i, own in tables.items():
        rows = np.stack([_by_place(program.columns[j], len(program.inputs[i].levels)) for j in own], axis=1)
        at = graph.reshape(found.places[i], -1)
        groups.append((own, graph.take(graph.number(rows), at, axis=0)))
    return _side_by_side(graph, groups, len(program.columns))


def _side_by_side(graph: Graph, groups: Sequence[tuple[list[int], str]], count: int) -> str:
    order = [j for own, _ in groups for j in own]
    parts = [name for _, name in groups]
    whole = parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)
    return whole if order == list(range(count)) else graph.take(whole, np.argsort(order))


def _by_place(column: Column, L: int) -> Any:
    """What a column is for each level, for none of them, and for a missing cell."""
    row = np.zeros(L + 2)
    if isinstance(column, Code):
        row[:L], row[L], row[L + 1] = column.codes, column.unseen, column.missing
    elif isinstance(column, Indicator):
        row[list(column.levels)] = 1.0
        row[L], row[L + 1] = column.unseen, column.missing
    else:
        assert isinstance(column, Missing)
        row[L], row[L + 1] = column.unseen, 1.0
    return row


# ---- terms of formulas ---------------------------------------------------------------------------
OPERATIONS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "power": "Pow",
    "log": "Log",
    "exp": "Exp",
    "sqrt": "Sqrt",
    "abs": "Abs",
}


def _computed(graph: Graph, program: Program, found: Cells, cell: Any) -> str:
    """A column that is computed from others, (n, 1)."""
    if isinstance(cell, float):
        return graph.number([[cell]])
    if isinstance(cell, Number):
        return _numbers(graph, program, found, [cell])
    if isinstance(cell, Code):
        rows = _by_place(cell, len(program.inputs[cell.input].levels))[:, None]
        return graph.take(graph.number(rows), graph.reshape(found.places[cell.input], -1), axis=0)
    assert isinstance(cell, Computed)
    parts = [_computed(graph, program, found, each) for each in cell.of]
    return parts[0] if cell.operation == "same" else graph.op(OPERATIONS[cell.operation], *parts)


def _finite(graph: Graph, x: str) -> str:
    return graph.op("Where", graph.op("IsInf", x), graph.number(np.nan), x)


# ---- numbers -------------------------------------------------------------------------------------
def _numbers(graph: Graph, program: Program, found: Cells, columns: Sequence[Number]) -> str:
    """Columns of numbers, all in one go: the same operators, with a constant for each column."""
    x = _raw(graph, program, found, columns)
    shift, scale, fill = (
        np.array([[getattr(c, name) for c in columns]]) for name in ("shift", "scale", "fill")
    )
    if shift.any():
        x = graph.op("Sub", x, graph.number(shift))
    if (scale != 1).any():
        x = graph.op("Div", x, graph.number(scale))
    if not np.isnan(fill).all():
        x = graph.op("Where", graph.op("IsNaN", x), graph.number(fill), x)
    return _limited(graph, x, columns)


def _limited(graph: Graph, x: str, columns: Sequence[Number]) -> str:
    """Values that a family does not have are missing."""
    low, high = (np.array([[getattr(c, name) for c in columns]]) for name in ("low", "high"))
    whole = np.array([[c.whole for c in columns]])
    outside = []
    if not np.isneginf(low).all():
        outside.append(graph.op("Less", x, graph.number(low)))
    if not np.isposinf(high).all():
        outside.append(graph.op("Greater", x, graph.number(high)))
    if whole.any():
        broken = graph.op("Not", graph.op("Equal", x, graph.op("Floor", x)))
        outside.append(graph.op("And", broken, graph.constant(whole)))
    for i, each in enumerate(outside[1:], 1):
        outside[0] = graph.op("Or", outside[i - 1] if i == 1 else outside[0], each)
    return graph.op("Where", outside[0], graph.number(np.nan), x) if outside else x


def _raw(graph: Graph, program: Program, found: Cells, columns: Sequence[Number]) -> str:
    plain = all(not column.part for column in columns)
    inputs = [column.input for column in columns]
    if plain and -1 in found.numbers:
        whole = found.numbers[-1]
        return whole if inputs == list(range(len(program.inputs))) else graph.take(whole, inputs)
    each = [_cell(graph, program, found, column.input, column.part) for column in columns]
    return each[0] if len(each) == 1 else graph.op("Concat", *each, axis=1)


def _cell(graph: Graph, program: Program, found: Cells, j: int, part: str) -> str:
    x = graph.take(found.numbers[-1], [j]) if -1 in found.numbers else found.numbers[j]
    return part_of(graph, program.inputs[j], x, part) if part else x


def _single(graph: Graph, program: Program, found: Cells, column: Any) -> str:
    x = _cell(graph, program, found, column.input, getattr(column, "part", ""))
    if isinstance(column, Missing):
        return graph.cast(graph.op("IsNaN", x))
    assert isinstance(column, Bin)
    above = graph.cast(graph.op("Greater", x, graph.number(column.cuts[None])))
    count = graph.op("ReduceSum", above, graph.whole([1]), keepdims=1)
    return graph.op("Where", graph.op("IsNaN", x), graph.number(np.nan), count)
