"""What standalone code computes: a program as calls of functions with constants, for any language."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from likelier.export.describe import NotExpressible
from likelier.export.program import (
    Bins,
    Dirichlet,
    Draws,
    GaussianMarginal,
    IfComplete,
    Linear,
    LogSumExp,
    Lookup,
    Quadratic,
    Ratios,
    Squares,
    Sum,
)


@dataclass(frozen=True)
class Call:
    """One function of the runtime, and its arguments after z and x: numbers and arrays."""

    function: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Choice:
    """One sum where no column is missing, another where one is."""

    columns: Any
    complete: Sum
    gaps: Sum


@dataclass(frozen=True)
class Nested:
    """The logarithm of a sum of exponentials over the components of each class."""

    components: Sum
    owner: Any
    weight: float


@singledispatch
def call_of(term: Any) -> Call | Choice | Nested:
    """What computes a term."""
    raise NotExpressible(f"standalone code cannot be written of a {type(term).__name__} term.")


@call_of.register
def _(term: Linear) -> Call:
    held = (term.columns, term.W, term.shift, term.constant)
    return Call("linear", (*held, term.skip)) if term.above is None else Call("steps", (*held, term.above))


@call_of.register
def _(term: Squares) -> Call:
    return Call("squares", (term.columns, term.mean, term.scale, term.constant))


@call_of.register
def _(term: Quadratic) -> Call:
    return Call("quadratic", (term.columns, term.shift, term.U, term.at))


@call_of.register
def _(term: GaussianMarginal) -> Call:
    return Call("marginal", (term.columns, term.mean, term.cov, term.tol, term.weight))


@call_of.register
def _(term: IfComplete) -> Choice:
    return Choice(term.columns, term.complete, term.gaps)


@call_of.register
def _(term: Lookup) -> Call:
    return Call("lookup", (term.column, term.table, term.unseen, term.missing))


@call_of.register
def _(term: Bins) -> Call:
    return Call("bins", (term.column, term.cuts, term.table))


@call_of.register
def _(term: Ratios) -> Call:
    return Call("ratios", (term.columns, term.origin, term.A, term.B, term.constant, term.complement))


@call_of.register
def _(term: Draws) -> Call:
    return Call("draws", (term.columns, term.log_theta, term.weight))


@call_of.register
def _(term: Dirichlet) -> Call:
    return Call("dirichlet", (term.columns, term.alpha, term.rest, term.whole, term.weight))


@call_of.register
def _(term: LogSumExp) -> Nested:
    return Nested(term.components, term.owner, term.weight)
