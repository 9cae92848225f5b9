"""From the scores of a fitted model to the description of what it computes, term by term.

A new family joins by one function: `described_term.register` for its kind of term, or, for a density that
is scored in NumPy cell by cell, `described_density.register` for its parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier import scores as terms
from likelier.data.design import BinTerm, CategoryTerm, CodeTerm, Design, LeftOut, NumberTerm
from likelier.data.documents import WordsTerm
from likelier.data.formula import FormulaDesign
from likelier.data.table_columns import TableColumn
from likelier.data.transforms import Units
from likelier.export.formula import formula_columns
from likelier.export.program import (
    Answer,
    Bin,
    Bins,
    Code,
    Column,
    Dirichlet,
    Draws,
    GaussianMarginal,
    IfComplete,
    Indicator,
    Indices,
    Input,
    Linear,
    LogSumExp,
    Lookup,
    Missing,
    NotExpressible,
    Number,
    Program,
    Quadratic,
    Ratios,
    Squares,
    Sum,
)
from likelier.families.base import CellByCell, Range
from likelier.families.categorical import BinTableTerm, Codes, TableTerm, TailTerm
from likelier.families.counts import DrawsGaps, Factorials
from likelier.families.gamma_beta_dirichlet import Dirichlets, RatioGaps, Shares, SinglePart, TwoShares
from likelier.families.gamma_beta_dirichlet import Ratios as RatioTerm
from likelier.families.gaussian import LOG_2PI, OneCovariance
from likelier.families.kernel import KernelSum
from likelier.families.missing import Gaps
from likelier.families.mixed import ConstantTerm, RepeatedTerm, Supports
from likelier.families.mixture import ComponentSum
from likelier.families.weighted import TimesWeight
from likelier.scores import Scores


class Scored(NamedTuple):
    """What an estimator hands over: its scores, and how rows and answers relate to them."""

    scores: Scores
    answer: Answer
    support: Any = None  # which values count as missing
    draws_near: bool = True  # see `Program`
    levels: Mapping[int, NDArray[Any]] = {}  # of the columns of categories, without a design


def program_of(
    model: str,
    scored: Scored,
    *,
    p: int,
    classes: NDArray[Any] | None,
    names: Sequence[Any] | None,
    design: Design | None,
) -> Program:
    """The description of a fitted model with p input columns."""
    scores, units = _out_of_units(scored.scores)
    inputs, columns = _columns(p, names, design, scored.levels)
    columns = _limited(columns, scored.support)
    columns = _in_units(columns, units)
    found = described(scores, np.arange(len(columns)))
    more = list(columns)
    found = _by_levels(found, inputs, more)
    labels = () if classes is None else tuple(np.asarray(classes).tolist())
    draws_near = scored.draws_near and scored.support is None and classes is not None
    return Program(model, tuple(inputs), tuple(more), found, scored.answer, labels, draws_near)


# ---- columns -------------------------------------------------------------------------------------
def _columns(
    p: int, names: Sequence[Any] | None, design: Design | None, levels: Mapping[int, NDArray[Any]]
) -> tuple[list[Input], list[Column]]:
    if isinstance(design, FormulaDesign):
        return formula_columns(design)
    if design is None:
        held = [str(name) for name in names] if names is not None else [f"c{j}" for j in range(p)]
        inputs = [Input(name, "category", _plain(levels[j])) if j in levels else Input(name)
                  for j, name in enumerate(held)]  # fmt: skip
        return inputs, [_number_or_code(j, each) for j, each in enumerate(inputs)]
    found: list[Input] = []
    columns: list[Column] = []
    encodings = iter(design.terms)
    for j, column in enumerate(design.table):
        own = list(islice(encodings, len(column.derived_names)))
        name = column.name if design.named else f"c{j}"
        found.append(_input(name, column, own))
        for part, term in zip(column.parts or ("",), own, strict=True):
            columns += _encoded(j, part, term, column)
    return found, columns


def _number_or_code(j: int, each: Input) -> Column:
    """A column that no design has encoded: categories by their place, unseen ones after the last."""
    count = len(each.levels)
    return Code(j, tuple(map(float, range(count))), float(count)) if each.kind == "category" else Number(j)


def _plain(levels: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(levels, dtype=object).tolist())


def _input(name: str, column: TableColumn, own: Sequence[Any]) -> Input:
    if column.kind == "ordered":
        return Input(name, "category", tuple(column.order))
    if column.kind == "category" or column.kind == "text":  # text is refused where it is encoded
        held = next((term.levels for term in own if isinstance(term, CategoryTerm | CodeTerm)), ())
        return Input(name, "category", _plain(held))
    return Input(name, column.kind, zone=column.zone)


def _encoded(j: int, part: str, term: Any, column: TableColumn) -> list[Column]:
    part = "" if part == "days" else part
    if isinstance(term, NumberTerm):
        ordered = column.kind == "ordered"
        gap: list[Column] = [Missing(j, unseen=ordered)] if term.gaps else []
        if not ordered:
            return [Number(j, part, term.shift, term.scale, term.fill), *gap]
        ranks = ((np.arange(len(column.order)) - term.shift) / term.scale).tolist()
        return [Code(j, tuple(ranks), term.fill, term.fill), *gap]
    if isinstance(term, CategoryTerm):
        return [
            Indicator(
                j, tuple(np.flatnonzero(term.places == i).tolist()), term.missing == i, term.rare == i
            )
            for i in range(len(term.labels))
        ]
    if isinstance(term, BinTerm):
        return [Bin(j, term.cuts, part)]
    if isinstance(term, CodeTerm):
        return [Code(j, tuple(map(float, range(len(term.levels)))))]
    if isinstance(term, LeftOut):
        return []
    raise NotExpressible(
        f"this model cannot be exported: column {column.name!r} holds texts, which only likelier cuts into "
        "words as in the fit."
        if isinstance(term, WordsTerm)
        else f"this model cannot be exported: column {column.name!r} reaches it without being encoded."
    )


def _limited(columns: list[Column], support: Any) -> list[Column]:
    """Values outside of the support of a family are missing."""
    found = list(columns)
    for at, one in _ranges(support, np.arange(len(columns))):
        for j in at.tolist():
            column = found[j]
            if isinstance(column, Number):  # `replace` takes several times as long, for 200,000 of them
                c, limits = column, (one.low, one.high, one.whole)
                found[j] = Number(c.input, c.part, c.shift, c.scale, c.fill, *limits, c.power)
    return found


def _ranges(support: Any, columns: Indices) -> list[tuple[Indices, Range]]:
    if support is None or isinstance(support, Shares):  # of shares the term itself knows
        return []
    if isinstance(support, Supports):
        return [pair for own, each in support.groups for pair in _ranges(each, columns[own])]
    if isinstance(support, Codes):
        return [(columns, Range("categorical", support.values, low=0.0, whole=True))]
    if isinstance(support, Range):
        return [(columns, support)]
    raise _unknown(support, "the support")


def _out_of_units(scores: Scores) -> tuple[Scores, Units | None]:
    """Columns in units of powers of two: the units, and the scores in them."""
    first = scores.terms[0]
    if not isinstance(first, terms.InUnits):
        return scores, None
    return first.scores.plus(first.b), first.units


def _in_units(columns: list[Column], units: Units | None) -> list[Column]:
    if units is None or not units.any():
        return columns
    return [
        replace(column, power=unit) if isinstance(column, Number) else column
        for column, unit in zip(columns, units.tolist(), strict=True)
    ]


# ---- terms ---------------------------------------------------------------------------------------
ALSO_COMPLETE = (terms.DiagonalGaps, RatioGaps, DrawsGaps)  # which say of complete rows what others say


def described(scores: Scores, columns: Indices) -> Sum:
    """The sum that scores of these columns are, up to what all classes share."""
    gaps: Any = scores.gaps
    shares = isinstance(gaps, Gaps) and isinstance(gaps.law.params, Dirichlets)
    if shares or isinstance(gaps, ALSO_COMPLETE):
        return described_term(gaps, columns)
    found = Sum(np.zeros(scores.K))
    for term in scores.terms:
        found = found.plus(described_term(term, columns))
    if scores.gaps is None:
        return found
    return Sum(np.zeros(scores.K), (IfComplete(columns, found, described_term(scores.gaps, columns)),))


@singledispatch
def described_term(term: Any, columns: Indices) -> Sum:
    """One term of the scores; columns: those of the program that it is of."""
    raise _unknown(term, "a term of its scores")


@singledispatch
def described_density(params: Any, columns: Indices) -> Sum:
    """Parameters of a density that is scored cell by cell in NumPy: those of users' own families."""
    raise _unknown(params, "its density")


def _unknown(thing: Any, what: str) -> NotExpressible:
    kind = type(thing)
    return NotExpressible(
        f"this model cannot be exported: {what} is {kind.__module__}.{kind.__qualname__}, of which no "
        "export knows how it is computed. Use the model itself, save it with likelier.save, or register a "
        "description of it with likelier.export.describe.described_density."
    )


@described_term.register
def _(term: terms.Affine, columns: Indices) -> Sum:
    gone = len(term.b) - len(term.W)
    W = np.vstack([np.zeros((gone, term.W.shape[1])), term.W])
    return Sum(term.b, (Linear(columns, W, term.shift, np.zeros_like(W), skip=False),))


@described_term.register
def _(term: terms.Additive, columns: Indices) -> Sum:
    above = None if np.isneginf(term.threshold) else float(term.threshold)
    zero = np.zeros(len(columns))
    return Sum(term.b, (Linear(columns, term.W, zero, term.constant, skip=True, above=above),))


@described_term.register
def _(term: terms.Diagonal, columns: Indices) -> Sum:
    return Sum(term.b, (Squares(columns, term.mean, term.scale, np.zeros_like(term.mean)),))


@described_term.register
def _(term: terms.DiagonalGaps, columns: Indices) -> Sum:
    return Sum(term.b, (Squares(columns, term.mean, term.scale, term.constant),))


@described_term.register
def _(term: terms.Quadratic, columns: Indices) -> Sum:
    return Sum(term.b, (Quadratic(columns, term.shift[None], term.U, term.at),))


@described_term.register
def _(term: terms.CentredQuadratic, columns: Indices) -> Sum:
    return Sum(term.b, (Quadratic(columns, term.mean, term.U, np.zeros_like(term.mean)),))


@described_term.register
def _(term: terms.Whitened, columns: Indices) -> Sum:
    return Sum(term.b, (Quadratic(columns, term.shift[None], term.A[None], term.mean),))


@described_term.register
def _(term: Gaps, columns: Indices) -> Sum:
    params: Any = term.law.params
    if isinstance(params, Dirichlets):
        return Sum(term.b, (_dirichlet(params, columns),))
    if not hasattr(params, "cov"):
        raise _unknown(params, "the density of rows with missing values")
    tied = isinstance(params, OneCovariance)
    cov = params.cov[None] if tied else params.cov
    return Sum(term.b, (GaussianMarginal(columns, params.mean, cov, params.tol if tied else 0.0),))


@described_term.register
def _(term: terms.Among, columns: Indices) -> Sum:
    return Sum(term.b).plus(described(term.scores, columns[term.columns]))


@described_term.register
def _(term: TableTerm, columns: Indices) -> Sum:
    last, found, first = term.beyond == "last", [], 0
    zero = np.zeros(len(term.b))
    for column, size in zip(columns.tolist(), term.sizes.tolist(), strict=True):
        table = term.table[first : first + size]
        found.append(Lookup(column, table, table[-1] if last and size else zero, zero))
        first += size
    return Sum(term.b, tuple(found))


@described_term.register
def _(term: BinTableTerm, columns: Indices) -> Sum:
    ends = np.cumsum([0, *map(len, term.bins)])
    return Sum(
        term.b,
        tuple(
            Bins(column, bins.cuts, term.table[start:stop])
            for column, bins, start, stop in zip(columns.tolist(), term.bins, ends, ends[1:], strict=False)
        ),
    )


@described_term.register
def _(term: RatioTerm, columns: Indices) -> Sum:
    if isinstance(term.positives, Shares):
        raise AssertionError("shares are described by their density")
    origin, W, constant = term._affine
    A, B = np.hsplit(W, 2)
    if isinstance(term.positives, SinglePart):
        return Sum(term.b, (Ratios(columns, origin, A, B, constant),))
    if not isinstance(term.positives, TwoShares):
        raise _unknown(term.positives, "what its ratios are of")
    q = len(columns)
    return Sum(
        term.b,
        tuple(
            Ratios(columns, origin[at], A[:, at], B[:, at], constant[:, at], complement=i == 1)
            for i, at in enumerate((slice(None, q), slice(q, None)))
        ),
    )


def _dirichlet(params: Dirichlets, columns: Indices) -> Dirichlet:
    return Dirichlet(columns, params.alpha, params.rest, params.whole)


@described_term.register
def _(term: DrawsGaps, columns: Indices) -> Sum:
    return Sum(term.b, (Draws(columns, term.log_theta),))


@described_term.register(Factorials)
@described_term.register(TailTerm)
def _(term: Any, columns: Indices) -> Sum:
    return Sum(term.b)  # and what all classes, and all components, share


@described_term.register
def _(term: RepeatedTerm, columns: Indices) -> Sum:
    return Sum(term.b)


@described_term.register
def _(term: ConstantTerm, columns: Indices) -> Sum:
    return Sum(term.b)


@described_term.register
def _(term: TimesWeight, columns: Indices) -> Sum:
    return Sum(term.b).plus(described(term.scores, columns).times(term.weight))


@described_term.register
def _(term: ComponentSum, columns: Indices) -> Sum:
    return Sum(term.b, (LogSumExp(term.owner, described(term.scores, columns)),))


@described_term.register
def _(term: KernelSum, columns: Indices) -> Sum:
    """A mixture of one Gaussian for each point. (A table of many points of one column stands for it.)"""
    if np.isinf(term.cells).any():
        raise NotExpressible(
            "this model cannot be exported: training rows of its kernel density lack cells, and a kernel "
            "without a cell has the density of the whole column in its place. Fit it to complete rows."
        )
    owner = np.repeat(np.arange(len(term.b)), np.diff(term.start))
    h = np.maximum(term.h, np.finfo(np.float64).tiny)[owner]
    squares = Squares(columns, term.cells, 1 / h, -np.log(h) - 0.5 * LOG_2PI)
    return Sum(term.b, (LogSumExp(owner, Sum(term.log_w, (squares,))),))


@described_term.register
def _(term: CellByCell, columns: Indices) -> Sum:
    return Sum(term.b).plus(described_density(term.params, columns))


# ---- indicators by their levels ------------------------------------------------------------------
def _by_levels(found: Sum, inputs: Sequence[Input], columns: list[Column]) -> Sum:
    """Weights of the indicators of one input as one table of its levels, each with a code of its own."""
    new: list[Any] = []
    for term in found.terms:
        if isinstance(term, Linear):
            new += _split(term, inputs, columns)
        elif isinstance(term, IfComplete):
            complete = _by_levels(term.complete, inputs, columns)
            new.append(IfComplete(term.columns, complete, term.gaps))
        else:
            new.append(term)
    return Sum(found.bias, tuple(new))


def _split(term: Linear, inputs: Sequence[Input], columns: list[Column]) -> list[Any]:
    owners = [
        column.input if isinstance(column, Indicator) else -1
        for column in (columns[j] for j in term.columns.tolist())
    ]
    if max(owners, default=-1) < 0 or term.above is not None:
        return [term]
    own = np.array(owners)
    rest = np.flatnonzero(own < 0)
    found: list[Any] = []
    if len(rest):
        cut = (term.columns[rest], term.W[:, rest], term.shift[rest], term.constant[:, rest])
        found.append(Linear(*cut, skip=term.skip))
    coded = dict.fromkeys(owner for owner in owners if owner >= 0)
    return found + [
        _lookup(term, np.flatnonzero(own == j), j, len(inputs[j].levels), columns) for j in coded
    ]


def _lookup(term: Linear, at: Indices, j: int, count: int, columns: list[Column]) -> Lookup:
    """What the indicators of input j add, by level."""
    base = term.constant[:, at].sum(axis=1) - term.W[:, at] @ term.shift[at]
    table = np.tile(base, (count, 1))
    unseen, missing = base.copy(), base.copy()
    for i in at.tolist():
        column: Any = columns[int(term.columns[i])]
        table[list(column.levels)] += term.W[:, i]
        unseen += column.unseen * term.W[:, i]
        missing += column.missing * term.W[:, i]
    code = Code(j, tuple(map(float, range(count))), float(count))
    if code not in columns:
        columns.append(code)
    return Lookup(columns.index(code), table, unseen, missing)


def points(program: Program) -> int:
    """How many components the largest mixture of a program has."""

    def largest(found: Sum) -> int:
        each = [0]
        for term in found.terms:
            if isinstance(term, LogSumExp):
                each.append(max(len(term.owner), largest(term.components)))
            elif isinstance(term, IfComplete):
                each += [largest(term.complete), largest(term.gaps)]
        return max(each)

    return largest(program.scores)
