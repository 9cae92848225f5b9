"""The terms of a description as ONNX operators: what each adds to the scores."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from likelier.array_types import Floats
from likelier.export.onnx_graph import Graph
from likelier.export.program import (
    Bins,
    Code,
    Dirichlet,
    Draws,
    GaussianMarginal,
    IfComplete,
    Linear,
    LogSumExp,
    Lookup,
    NotExpressible,
    Program,
    Quadratic,
    Ratios,
    Squares,
    Sum,
)
from likelier.families.covariance import deviations, exceeds
from likelier.families.gamma_beta_dirichlet import stirling


class Scoring:
    """The scores of one description under construction."""

    def __init__(self, graph: Graph, program: Program, places: dict[int, str]) -> None:
        self.graph, self.program, self.places = graph, program, places
        self.X = ""  # the matrix of columns

    def taken(self, at: Any) -> str:
        """Some of the columns, (n, q)."""
        whole = np.array_equal(at, np.arange(len(self.program.columns)))
        return self.X if whole else self.graph.take(self.X, at)

    def total(self, found: Sum) -> str:
        """The sum of all terms, (n, K)."""
        graph = self.graph
        parts = [added(term, self) for term in found.terms]
        if not parts:  # as many rows as there are, of the bias alone
            none = graph.op("Mul", graph.where_missing(graph.take(self.X, [0]), 0.0), graph.number(0.0))
            parts = [none]
        bias = graph.number(found.bias[None])
        return graph.op("Sum", *parts, bias)


@singledispatch
def added(term: Any, scoring: Scoring) -> str:
    """What a term adds to the scores, (n, K); NaN where a row has none."""
    raise AssertionError(term)


@added.register
def _(term: Linear, scoring: Scoring) -> str:
    graph, x = scoring.graph, scoring.taken(term.columns)
    if term.above is not None:
        above = graph.cast(graph.op("Greater", x, graph.number(term.above)))
        x = graph.op("Where", graph.op("IsNaN", x), x, above)
    if term.shift.any():
        x = graph.op("Sub", x, graph.number(term.shift[None]))
    W = graph.number(term.W.T)
    if not term.skip:
        z = graph.op("MatMul", x, W)
        return (
            graph.op("Add", z, graph.number(term.constant.sum(axis=1)[None])) if term.constant.any() else z
        )
    missing = graph.op("IsNaN", x)
    z = graph.op("MatMul", graph.op("Where", missing, graph.number(0.0), x), W)
    if not term.constant.any():
        return z
    there = graph.cast(graph.op("Not", missing))
    return graph.op("Add", z, graph.op("MatMul", there, graph.number(term.constant.T)))


@added.register
def _(term: Squares, scoring: Scoring) -> str:
    graph = scoring.graph
    x = graph.op("Unsqueeze", scoring.taken(term.columns), graph.whole([1]))  # (n, 1, q)
    d = graph.op("Mul", graph.op("Sub", x, graph.number(term.mean[None])), graph.number(term.scale[None]))
    each = graph.op("Mul", graph.op("Mul", d, d), graph.number(-0.5))
    if term.constant.any():
        each = graph.op("Add", each, graph.number(term.constant[None]))
    return graph.sum(graph.op("Where", graph.op("IsNaN", x), graph.number(0.0), each), 2)


@added.register
def _(term: Quadratic, scoring: Scoring) -> str:
    graph, x = scoring.graph, scoring.taken(term.columns)
    r = term.at.shape[1]
    if len(term.shift) == 1:
        W = term.U.reshape(-1, term.U.shape[2]).T  # (q, K r) or (q, r)
        u = graph.op("MatMul", graph.op("Sub", x, graph.number(term.shift)), graph.number(W))
        u = graph.reshape(u, 0, len(term.U), r)  # (n, K or 1, r)
        u = graph.op("Sub", u, graph.number(term.at[None]))
    else:
        x = graph.op("Unsqueeze", x, graph.whole([0]))
        d = graph.op("Sub", x, graph.number(term.shift[:, None]))  # (K, n, q)
        u = graph.op("MatMul", d, graph.number(np.swapaxes(term.U, 1, 2)))
        u = graph.op("Sub", u, graph.number(term.at[:, None]))
        u = graph.op("Transpose", u, perm=[1, 0, 2])
    return graph.op("Mul", graph.sum(graph.op("Mul", u, u), 2), graph.number(-0.5))


WIDEST = 64  # columns of a covariance whose rows with missing cells are solved step by step


@added.register
def _(term: GaussianMarginal, scoring: Scoring) -> str:
    """By elimination, column by column, of the covariance in which missing columns are of their own.

    With correlations C and deviations s, Σ = s C s. Row and column of a missing cell become those of the
    identity and its deviation from the mean 0, so that they add nothing to Σ d²/pivot or to ln pivot.
    """
    graph, q = scoring.graph, len(term.columns)
    sd = np.stack([deviations(cov) for cov in term.cov])  # (K or 1, q)
    C = term.cov / (sd[:, :, None] * sd[:, None, :])
    if q > WIDEST or not all(exceeds(each, max(term.tol, 1e-7) ** 2) for each in C):
        why = f"it has {q} columns" if q > WIDEST else "a covariance has not full rank"
        raise NotExpressible(
            f"this model cannot be written as ONNX: of rows with missing values it needs the marginal "
            f"densities of correlated columns, and {why}. Drop columns, or use shrinkage."
        )
    x = graph.op("Unsqueeze", scoring.taken(term.columns), graph.whole([1]))  # (n, 1, q)
    there = graph.cast(graph.op("Not", graph.op("IsNaN", x)))
    scaled = graph.op("Div", graph.op("Sub", x, graph.number(term.mean[None])), graph.number(sd[None]))
    d = graph.op("Where", graph.op("IsNaN", x), graph.number(0.0), scaled)  # (n, K, q)
    mask = graph.op(
        "Mul",
        graph.op("Unsqueeze", there, graph.whole([3])),
        graph.op("Unsqueeze", there, graph.whole([2])),
    )
    off = C * (1 - np.eye(q))
    A = graph.op("Add", graph.op("Mul", graph.number(off[None]), mask), graph.number(np.eye(q)[None, None]))
    quadratic, log_det = _eliminated(graph, A, d, q)
    constant = np.log(sd) + 0.5 * np.log(2 * np.pi)
    each = graph.sum(graph.op("Mul", there, graph.number(constant[None])), 2)  # (n, K or 1)
    half = graph.op("Mul", graph.op("Add", quadratic, log_det), graph.number(-0.5))
    found = graph.op("Sub", half, each)
    return found if term.weight == 1 else graph.op("Mul", found, graph.number(term.weight))


def _eliminated(graph: Graph, A: str, d: str, q: int) -> tuple[str, str]:
    """dᵀA⁻¹d and ln |A|, by A = L D Lᵀ: A (n, K or 1, q, q), d (n, K, q)."""
    squares, logs = [], []
    for j in range(q):
        pivot = graph.op("Slice", A, graph.whole([0, 0]), graph.whole([1, 1]), graph.whole([2, 3]))
        head = graph.op("Slice", d, graph.whole([0]), graph.whole([1]), graph.whole([2]))  # (n, K, 1)
        flat = graph.op("Squeeze", pivot, graph.whole([3]))  # (n, K or 1, 1)
        squares.append(graph.op("Div", graph.op("Mul", head, head), flat))
        logs.append(graph.op("Log", flat))
        if j == q - 1:
            break
        many = graph.whole([np.iinfo(np.int64).max])
        below = graph.op("Slice", A, graph.whole([0]), graph.whole([1]), graph.whole([3]))
        below = graph.op("Slice", below, graph.whole([1]), many, graph.whole([2]))  # (n, K, rest, 1)
        step = graph.op("Div", below, pivot)
        rest = graph.op(
            "Slice", A, graph.whole([1, 1]), graph.whole([np.iinfo(np.int64).max] * 2), graph.whole([2, 3])
        )
        outer = graph.op("Mul", step, graph.op("Transpose", below, perm=[0, 1, 3, 2]))
        A = graph.op("Sub", rest, outer)
        tail = graph.op("Slice", d, graph.whole([1]), many, graph.whole([2]))
        d = graph.op("Sub", tail, graph.op("Mul", graph.op("Squeeze", step, graph.whole([3])), head))

    def over(parts: Sequence[str]) -> str:
        return graph.sum(parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=2), 2)

    return over(squares), over(logs)


@added.register
def _(term: IfComplete, scoring: Scoring) -> str:
    """Rows with missing cells are taken out, scored by themselves, and put back."""
    graph = scoring.graph
    Z = scoring.total(term.complete)
    missing = graph.cast(graph.op("IsNaN", scoring.taken(term.columns)), "INT64")
    some = graph.op("ReduceMax", missing, axes=[1], keepdims=0)  # (n,)
    at = graph.op("NonZero", some)  # (1, m)
    rows = graph.reshape(at, -1)
    inside = Scoring(graph, scoring.program, scoring.places)
    inside.X = graph.take(scoring.X, rows, axis=0)
    inside.places = {j: graph.take(name, rows, axis=0) for j, name in scoring.places.items()}
    found = inside.total(term.gaps)
    return graph.op("ScatterND", Z, graph.op("Transpose", at, perm=[1, 0]), found)


@added.register
def _(term: Lookup, scoring: Scoring) -> str:
    graph, L = scoring.graph, len(term.table)
    rows = np.vstack([term.table, term.unseen, term.missing])
    column = scoring.program.columns[term.column]
    if isinstance(column, Code) and column == _identity(column, L) and column.input in scoring.places:
        at = graph.reshape(scoring.places[column.input], -1)
        return graph.take(graph.number(rows), at, axis=0)
    x = graph.reshape(scoring.taken([term.column]), -1)
    at = graph.op("Min", graph.where_missing(x, 0.0), graph.number(float(L)))
    at = graph.op("Where", graph.op("IsNaN", x), graph.number(L + 1.0), at)
    return graph.take(graph.number(rows), graph.cast(at, "INT64"), axis=0)


def _identity(column: Code, L: int) -> Code:
    """The code of each level is its place, and what is missing is missing."""
    same = column.codes == tuple(map(float, range(L))) and column.unseen == L and np.isnan(column.missing)
    return column if same else Code(column.input, ())


@added.register
def _(term: Bins, scoring: Scoring) -> str:
    graph, x = scoring.graph, scoring.taken([term.column])
    reached = graph.cast(graph.op("GreaterOrEqual", x, graph.number(term.cuts[None])), "INT64")
    bin_ = graph.op("ReduceSum", reached, graph.whole([1]), keepdims=0)
    none = graph.whole(len(term.table))
    at = graph.op("Where", graph.reshape(graph.op("IsNaN", x), -1), none, bin_)
    return graph.take(graph.number(np.vstack([term.table, np.zeros(term.table.shape[1])])), at, axis=0)


MOST, NEAR = 1e290, 0.1
ODD = [1 / k for k in range(17, 2, -2)]  # of artanh's series, from the end


@added.register
def _(term: Ratios, scoring: Scoring) -> str:
    graph, x = scoring.graph, scoring.taken(term.columns)
    op, number = graph.op, graph.number
    u = op("Sub", number(1.0), x) if term.complement else x
    origin = number(term.origin[None])
    d = op("Div", op("Sub", u, origin), origin)
    e = op("Sub", d, op("Log", op("Div", u, origin)))
    z = op("Div", d, op("Add", d, number(2.0)))
    square, series = op("Mul", z, z), number(ODD[0])
    for each in ODD[1:]:
        series = op("Add", op("Mul", series, square), number(each))
    close = op("Sub", op("Mul", d, z), op("Mul", number(2.0), op("Mul", op("Mul", z, square), series)))
    e = op("Where", op("Less", op("Abs", d), number(NEAR)), close, e)
    found = []
    for value, weights in ((d, term.A), (e, term.B)):
        cut = op("Min", op("Max", value, number(-MOST)), number(MOST))
        there = op("Where", op("IsNaN", x), number(0.0), cut)
        found.append(op("MatMul", there, number(weights.T)))
    there = graph.cast(op("Not", op("IsNaN", x)))
    return op("Sum", *found, op("MatMul", there, number(term.constant.T)))


TINY = float(np.finfo(np.float64).tiny)


@added.register
def _(term: Draws, scoring: Scoring) -> str:
    graph, x = scoring.graph, scoring.taken(term.columns)
    missing = graph.op("IsNaN", x)
    there = graph.cast(graph.op("Not", missing))
    held = graph.op("Where", missing, graph.number(0.0), x)
    share = graph.op("MatMul", there, graph.number(np.exp(term.log_theta).T))
    log_share = graph.op("Log", graph.op("Max", share, graph.number(TINY)))
    n = graph.op("ReduceSum", held, graph.whole([1]), keepdims=1)
    some = graph.op("Equal", graph.op("ReduceMin", there, axes=[1], keepdims=1), graph.number(0.0))
    lost = graph.op("Where", some, graph.op("Mul", n, log_share), graph.number(0.0))
    found = graph.op("Sub", graph.op("MatMul", held, graph.number(term.log_theta.T)), lost)
    return found if term.weight == 1 else graph.op("Mul", found, graph.number(term.weight))


MASKED = 12  # columns of a Dirichlet density at most: a table has a row for each set of missing ones


@added.register
def _(term: Dirichlet, scoring: Scoring) -> str:
    """Σ α ln u, and what depends on which cells are there: looked up by the set of them."""
    graph, q = scoring.graph, len(term.columns)
    op, number = graph.op, graph.number
    if q > MASKED:
        raise NotExpressible(
            f"this model cannot be written as ONNX: a Dirichlet density of {q} columns, and at most "
            f"{MASKED} have a table of all sets of missing cells."
        )
    x = scoring.taken(term.columns)
    missing = op("Not", op("Greater", x, number(0.0)))
    there, held = graph.cast(op("Not", missing)), op("Where", missing, number(0.0), x)
    total = op("ReduceSum", held, graph.whole([1]), keepdims=1)  # (n, 1)
    code = graph.cast(op("MatMul", there, number(2.0 ** np.arange(q)[:, None])), "INT64")
    full = bool(not term.rest.any())
    constants, rests, kinds = _sets(term, q, full)
    at = graph.reshape(code, -1)
    constant, rest = (graph.take(number(each), at, axis=0) for each in (constants, rests))
    whole = graph.take(number(kinds[:, None]), at, axis=0)  # (n, 1): 1 where all cells are there
    over = op("Where", op("Greater", whole, number(0.5)), total, number(term.whole))
    logs = op("Log", op("Where", missing, number(1.0), op("Div", held, over)))
    z = op("MatMul", op("Mul", there, logs), number(term.alpha.T))
    left = op("Sub", number(1.0), op("Div", total, number(term.whole)))
    z = op("Add", z, op("Mul", rest, op("Log", op("Max", left, number(TINY)))))
    share = op("Div", total, number(term.whole))
    off = op("Greater", op("Abs", op("Sub", share, number(1.0))), number(1e-6))
    beyond = op("GreaterOrEqual", share, number(1.0))
    none = op("Equal", code, graph.whole(0))
    every = op("Greater", whole, number(0.5))
    bad = op("Or", op("And", every, off), op("And", op("Not", every), beyond))
    bad = op("Or", none, bad)
    found = op("Where", bad, number(0.0), op("Add", z, constant))
    return found if term.weight == 1 else op("Mul", found, number(term.weight))


def _sets(term: Dirichlet, q: int, full: bool) -> tuple[Floats, Floats, Floats]:
    """By the set of cells that are there: what it adds, α of the rest (2^q, K), and whether it is all."""
    K = len(term.alpha)
    constants, rests, kinds = np.zeros((2**q, K)), np.zeros((2**q, K)), np.zeros(2**q)
    for code in range(1, 2**q):
        there = (code >> np.arange(q)) % 2 == 1
        whole = bool(there.all()) and full
        alpha = term.alpha[:, there]
        if not whole:
            rests[code] = term.rest + term.alpha[:, ~there].sum(axis=1)
            alpha = np.column_stack([alpha, rests[code]])
        total = alpha.sum(axis=1, keepdims=True)
        each = stirling(alpha) - alpha * np.log(alpha / total)
        constants[code], kinds[code] = each.sum(axis=1) - stirling(total)[:, 0], whole
    return constants, rests, kinds


@added.register
def _(term: LogSumExp, scoring: Scoring) -> str:
    graph, z = scoring.graph, scoring.total(term.components)
    counts = np.bincount(term.owner)
    K, most = len(counts), int(counts.max())
    if (counts == most).all():
        parts = graph.reshape(z, 0, K, most)
    else:  # classes of fewer components have impossible ones besides
        at, M = np.full((K, most), len(term.owner)), len(term.owner)
        for k in range(K):
            at[k, : counts[k]] = np.flatnonzero(term.owner == k)
        none = graph.op("Mul", graph.take(z, [0]), graph.number(0.0))
        none = graph.op("Where", graph.op("IsNaN", none), graph.number(-np.inf), graph.number(-np.inf))
        parts = graph.take(graph.op("Concat", z, none, axis=1), at)
        assert at.max() <= M
    found = _log_sum_exp(graph, parts)
    return found if term.weight == 1 else graph.op("Mul", found, graph.number(term.weight))


def _log_sum_exp(graph: Graph, z: str) -> str:
    """Over the last of three axes; -inf where all are."""
    top = graph.op("ReduceMax", z, axes=[2], keepdims=1)
    most = graph.op("Where", graph.op("IsInf", top), graph.number(0.0), top)
    total = graph.sum(graph.op("Exp", graph.op("Sub", z, most)), 2)
    return graph.op("Add", graph.op("Log", total), graph.op("Squeeze", most, graph.whole([2])))
