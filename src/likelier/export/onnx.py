"""The description of a model as an ONNX model: inputs, scores, answers.

All arithmetic is in double precision, whatever comes in and goes out: a score is a difference of large
numbers, of which single precision would leave few digits.
"""

from typing import Any

import numpy as np

from likelier.export import onnx_columns as columns
from likelier.export.onnx_graph import IR, ML, ML_OPSET, OPSET, Graph
from likelier.export.onnx_terms import Scoring
from likelier.export.program import Program

TYPES = {"float32": "FLOAT", "float64": "DOUBLE"}


# From scores to answers.


def _softmax(graph: Graph, Z: str) -> str:
    e = graph.op("Exp", graph.op("Sub", Z, graph.op("ReduceMax", Z, axes=[1], keepdims=1)))
    return graph.op("Div", e, graph.op("ReduceSum", e, graph.whole([1]), keepdims=1))


def _sigmoids(graph: Graph, Z: str) -> str:
    """ln σ(z) = min(z, 0) - ln(1 + e^-|z|), and their softmax."""
    op, number = graph.op, graph.number
    log = op("Log", op("Add", number(1.0), op("Exp", op("Neg", op("Abs", Z)))))
    return _softmax(graph, op("Sub", op("Min", Z, number(0.0)), log))


def _clipped(graph: Graph, Z: str, K: int) -> str:
    op, number = graph.op, graph.number

    def cut(z: str) -> str:
        held = op("Min", op("Max", z, number(-1.0)), number(1.0))
        return op("Div", op("Add", held, number(1.0)), number(2.0))

    if K == 2:
        p = cut(op("Sub", graph.take(Z, [1]), graph.take(Z, [0])))
        return op("Concat", op("Sub", number(1.0), p), p, axis=1)
    P = cut(Z)
    total = op("ReduceSum", P, graph.whole([1]), keepdims=1)
    P = op("Where", op("Equal", total, number(0.0)), number(1.0), P)
    return op("Div", P, op("ReduceSum", P, graph.whole([1]), keepdims=1))


def _labels(graph: Graph, program: Program, Z: str) -> tuple[str, str]:
    """The label of the first of the largest scores, and its type."""
    at = graph.op("ArgMax", Z, axis=1, keepdims=0)
    kinds = {type(label) for label in program.classes}
    if kinds <= {bool}:
        return graph.take(graph.constant(np.array(program.classes, dtype=bool)), at, axis=0), "BOOL"
    if kinds <= {int}:
        return graph.take(graph.whole(program.classes), at, axis=0), "INT64"
    if kinds <= {int, float}:
        return graph.take(graph.number(program.classes), at, axis=0), "DOUBLE"
    names = np.array([str(label) for label in program.classes], dtype=object)
    return graph.take(graph.constant(names), at, axis=0), "STRING"


# ---- the whole graph -----------------------------------------------------------------------------
NEARER, TIMES = 2.0**-200, 8  # how rows far off are drawn towards 0, and how often at most


def _drawn_near(graph: Graph, scoring: Scoring, X: str) -> str:
    """The scores, in a loop: as long as rows have none, they are drawn nearer and all scored again."""
    from onnx import TensorProto, helper

    with graph.inner() as nodes:
        inside, seen = graph.name("x"), graph.name("z")
        Z = _scores(graph, scoring, inside)
        bad = graph.op("Or", graph.op("IsNaN", Z), graph.op("IsInf", Z))
        none = graph.op("ReduceMin", graph.cast(bad, "INT64"), axes=[1], keepdims=1)
        size = graph.where_missing(graph.op("Abs", inside), 0.0)
        large = graph.op("Greater", graph.op("ReduceMax", size, axes=[1], keepdims=1), graph.number(1.0))
        far = graph.op("And", graph.op("Equal", none, graph.whole(1)), large)
        X_out = graph.op("Where", far, graph.op("Mul", inside, graph.number(NEARER)), inside)
        again = graph.op("ReduceMax", graph.cast(far, "INT64"), keepdims=0)
        # Without rows there is no largest: the loop ends.
        go_on = graph.op("Greater", again, graph.whole(0))
    doubles = TensorProto.DOUBLE
    values = [
        helper.make_tensor_value_info(graph.name("i"), TensorProto.INT64, []),
        helper.make_tensor_value_info(graph.name("on"), TensorProto.BOOL, []),
        helper.make_tensor_value_info(inside, doubles, None),
        helper.make_tensor_value_info(seen, doubles, None),
    ]
    out = [
        helper.make_tensor_value_info(go_on, TensorProto.BOOL, []),
        helper.make_tensor_value_info(X_out, doubles, None),
        helper.make_tensor_value_info(Z, doubles, None),
    ]
    body = helper.make_graph(nodes, "scored", values, out)
    found, last = graph.name("scores"), graph.name("x")
    start = graph.number(np.zeros((1, 1)))
    always = graph.constant(np.array(True))
    graph.nodes.append(
        helper.make_node("Loop", [graph.whole(TIMES), always, X, start], [last, found], body=body)
    )
    return found


def _scores(graph: Graph, scoring: Scoring, X: str) -> str:
    """The scores of columns, which come in the units of the inputs."""
    powers = np.array([getattr(column, "power", 0) for column in scoring.program.columns], dtype=float)
    if powers.any():
        half = np.floor(powers / 2)  # a power of two of its own may be too large for a double
        for part in (half, powers - half):
            X = graph.op("Mul", X, graph.number(np.ldexp(1.0, -part.astype(int))[None]))
    scoring.X = X
    return scoring.total(scoring.program.scores)


def model_of(program: Program, dtype: str = "float64") -> Any:
    """The ONNX model of a description, checked."""
    import onnx
    from onnx import TensorProto, helper

    graph = Graph()
    found = columns.cells(graph, program)
    X = columns.matrix(graph, program, found)
    scoring = Scoring(graph, program, found.places)
    Z = _drawn_near(graph, scoring, X) if program.draws_near else _scores(graph, scoring, X)
    outputs = _outputs(graph, program, Z, dtype)
    kind = getattr(TensorProto, TYPES[dtype])
    made = helper.make_graph(graph.nodes, program.model, _inputs(program, kind), outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    model = helper.make_model(made, opset_imports=opsets, producer_name="likelier", ir_version=IR)
    onnx.checker.check_model(model)
    return model


def _inputs(program: Program, kind: int) -> list[Any]:
    from onnx import TensorProto, helper

    if columns.one_matrix(program):
        return [helper.make_tensor_value_info(columns.TABLE, kind, ["n", len(program.inputs)])]
    found = []
    for each in program.inputs:
        own = kind if each.kind != "category" else getattr(TensorProto, columns.kind_of_levels(each))
        found.append(helper.make_tensor_value_info(each.name, own, ["n", 1]))
    return found


def _outputs(graph: Graph, program: Program, Z: str, dtype: str) -> list[Any]:
    """Labels and probabilities; of models without these labels and scores; of a regression its values."""
    from onnx import TensorProto, helper

    kind = TYPES[dtype]

    def shown(name: str, value: str, of: str, shape: list[Any]) -> Any:
        graph.nodes.append(helper.make_node("Identity", [value], [name]))
        return helper.make_tensor_value_info(name, getattr(TensorProto, of), shape)

    if program.answer == "targets":
        return [shown("prediction", graph.cast(Z, kind), kind, ["n", program.K])]
    label, of = _labels(graph, program, Z)
    found = [shown("label", label, of, ["n"])]
    if not program.probable:
        return [*found, shown("scores", graph.cast(Z, kind), kind, ["n", program.K])]
    P = {"softmax": _softmax, "sigmoids": _sigmoids}.get(program.answer)
    answer = _clipped(graph, Z, program.K) if P is None else P(graph, Z)
    return [*found, shown("probabilities", graph.cast(answer, kind), kind, ["n", program.K])]
