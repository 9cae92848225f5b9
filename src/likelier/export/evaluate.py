"""The description of a model, evaluated in NumPy: the definition that every export is held against.

It is written to be read, not to be fast: a row of `Program` means what is computed here.
"""

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data.table_columns import DATE_PARTS, TableColumn
from likelier.data.transforms import in_units
from likelier.export.program import (
    Bin,
    Bins,
    Code,
    Computed,
    Dirichlet,
    Draws,
    GaussianMarginal,
    IfComplete,
    Indicator,
    Input,
    Linear,
    LogSumExp,
    Lookup,
    Missing,
    Number,
    Program,
    Quadratic,
    Ratios,
    Squares,
    Sum,
)
from likelier.families.covariance import factors
from likelier.families.gamma_beta_dirichlet import stirling
from likelier.states.sums import excess

Cells = Sequence[Any] | NDArray[Any]  # of one column; None and NaN are missing


def proba(program: Program, table: Mapping[str, Cells]) -> Floats:
    """Class probabilities (n, K) of the rows of a table."""
    Z = scores(program, table)
    if program.answer == "clipped":
        return _clipped(Z)
    if program.answer == "sigmoids":
        with np.errstate(all="ignore"):
            Z = -np.logaddexp(0.0, -Z)  # ln σ(z): not 0 for all, however far
    with np.errstate(all="ignore"):
        P = np.exp(Z - Z.max(axis=1, keepdims=True))
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def _clipped(Z: Floats) -> Floats:
    if Z.shape[1] == 2:
        P = (np.clip(Z[:, 1:] - Z[:, :1], -1, 1) + 1) / 2
        return np.hstack([1 - P, P])
    P = (np.clip(Z, -1, 1) + 1) / 2
    P[P.sum(axis=1) == 0] = 1.0
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def labels(program: Program, table: Mapping[str, Cells]) -> list[Any]:
    """The first class of the largest score, of each row."""
    return [program.classes[k] for k in scores(program, table).argmax(axis=1).tolist()]


NEARER = -200  # the power of two by which rows are drawn towards 0, as `scores.write_comparable` does


def scores(program: Program, table: Mapping[str, Cells]) -> Floats:
    """Scores (n, K): NaN in rows that have none."""
    X = columns_of(program, table)
    Z = _added(program, X)
    if not program.draws_near:
        return Z
    far = np.flatnonzero(~np.isfinite(Z).any(axis=1))
    while len(far) and (np.abs(X[far]) > 1).any():
        X[far] = np.ldexp(X[far], NEARER)
        Z[far] = _added(program, X[far])
        far = far[~np.isfinite(Z[far]).any(axis=1) & (np.abs(X[far]) > 1).any(axis=1)]
    return Z


def _added(program: Program, X: Floats) -> Floats:
    X = X.copy()
    for j, column in enumerate(program.columns):
        if isinstance(column, Number) and column.power:
            X[:, j] = in_units(X[:, j], column.power)
    with np.errstate(all="ignore"):
        return total(program.scores, X)


def total(found: Sum, X: Floats) -> Floats:
    """The sum of all terms, (n, K)."""
    Z = np.tile(found.bias, (len(X), 1))
    for term in found.terms:
        Z += added(term, X)
    return Z


# ---- columns -------------------------------------------------------------------------------------
def columns_of(program: Program, table: Mapping[str, Cells]) -> Floats:
    """The numbers that scores are computed from, (n, P); in units of powers of two only later."""
    held = [_cells(each, table[each.name]) for each in program.inputs]
    if not program.columns:
        return np.empty((len(held[0]) if held else 0, 0))
    return np.stack([_column(column, program, held) for column in program.columns], axis=1)


OPERATIONS: dict[str, Any] = {
    "same": np.positive,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
}


def _column(column: Any, program: Program, held: Sequence[Floats]) -> Floats:
    if not isinstance(column, Computed):
        return encoded(column, program.inputs[column.input], held[column.input])
    with np.errstate(all="ignore"):
        found = _computed(column, program, held)
    return np.where(np.isfinite(found), found, np.nan)


def _computed(cell: Any, program: Program, held: Sequence[Floats]) -> Any:
    if isinstance(cell, float):
        return cell
    if not isinstance(cell, Computed):
        return _column(cell, program, held)
    return OPERATIONS[cell.operation](*(_computed(each, program, held) for each in cell.of))


def _cells(each: Input, values: Cells) -> Any:
    """Numbers, NaN where missing; of categories the place of the level, -1 missing, L none of them."""
    if each.kind != "category":
        return np.array([np.nan if value is None else float(value) for value in values])
    places = {level: float(i) for i, level in enumerate(each.levels)}
    return np.array(
        [-1.0 if v is None or v != v else places.get(v, float(len(places))) for v in values], dtype=float
    )


@singledispatch
def encoded(column: Any, each: Input, cells: Floats) -> Floats:
    """The numbers of one column."""
    raise AssertionError(column)


def _part(each: Input, part: str, cells: Floats) -> Floats:
    if not part:
        return cells
    moments = TableColumn(each.name, "date", each.zone)._moments(cells)
    found = DATE_PARTS[part](moments).cast("double")
    return np.asarray(found.to_numpy(zero_copy_only=False))


@encoded.register
def _(column: Number, each: Input, cells: Floats) -> Floats:
    x = (_part(each, column.part, cells) - column.shift) / column.scale
    x = np.where(np.isnan(x), column.fill, x)
    with np.errstate(invalid="ignore"):
        outside = (x < column.low) | (x > column.high) | (column.whole & (x != np.floor(x)))
    return np.where(outside & np.isfinite(x), np.nan, x)


@encoded.register
def _(column: Missing, each: Input, cells: Floats) -> Floats:
    if each.kind == "category":
        return np.asarray((cells < 0) | (column.unseen & (cells == len(each.levels))), dtype=np.float64)
    return np.isnan(cells).astype(np.float64)


@encoded.register
def _(column: Indicator, each: Input, cells: Floats) -> Floats:
    found = np.isin(cells, column.levels)
    found |= (cells < 0) & column.missing
    found |= (cells == len(each.levels)) & column.unseen
    return np.asarray(found, dtype=np.float64)


@encoded.register
def _(column: Code, each: Input, cells: Floats) -> Floats:
    return np.asarray(np.array([*column.codes, column.unseen, column.missing])[cells.astype(np.intp)])


@encoded.register
def _(column: Bin, each: Input, cells: Floats) -> Floats:
    x = _part(each, column.part, cells)
    return np.where(np.isnan(x), np.nan, np.searchsorted(column.cuts, x))


# ---- terms ---------------------------------------------------------------------------------------
@singledispatch
def added(term: Any, X: Floats) -> Floats:
    """What a term adds to the scores, (n, K); NaN where a row has none."""
    raise AssertionError(term)


@added.register
def _(term: Linear, X: Floats) -> Floats:
    x = X[:, term.columns]
    if term.above is not None:
        x = np.where(np.isnan(x), x, x > term.above)
    there = ~np.isnan(x)
    if not term.skip:
        z = (x - term.shift) @ term.W.T + term.constant.sum(axis=1)
        z[~there.all(axis=1)] = np.nan
        return np.asarray(z)
    return np.asarray(np.where(there, x - term.shift, 0.0) @ term.W.T + there @ term.constant.T)


@added.register
def _(term: Squares, X: Floats) -> Floats:
    Z = np.zeros((len(X), len(term.mean)))
    for i, j in enumerate(term.columns.tolist()):
        each = term.constant[:, i] - ((X[:, j, None] - term.mean[:, i]) * term.scale[:, i]) ** 2 / 2
        Z += np.where(np.isnan(X[:, j, None]), 0.0, each)
    return Z


@added.register
def _(term: Quadratic, X: Floats) -> Floats:
    K = len(term.at)
    x, each = X[:, term.columns], []
    for k in range(K):
        U, shift = term.U[k % len(term.U)], term.shift[k % len(term.shift)]
        u = (x - shift) @ U.T - term.at[k]
        each.append(-0.5 * (u * u).sum(axis=1))
    return np.stack(each, axis=1)


@added.register
def _(term: GaussianMarginal, X: Floats) -> Floats:
    x, K = X[:, term.columns], len(term.mean)
    Z = np.zeros((len(x), K))
    for i, row in enumerate(x):
        here = np.flatnonzero(~np.isnan(row))
        for k in range(K if len(here) else 0):
            cov = term.cov[k % len(term.cov)][np.ix_(here, here)]
            A, _, log_det = factors(cov, term.tol)
            u = A @ (row[here] - term.mean[k, here])
            Z[i, k] = -0.5 * (u @ u + log_det + len(A) * np.log(2 * np.pi))
    return term.weight * Z


@added.register
def _(term: IfComplete, X: Floats) -> Floats:
    gone = np.isnan(X[:, term.columns]).any(axis=1)
    Z = np.empty((len(X), term.complete.K))
    Z[~gone], Z[gone] = total(term.complete, X[~gone]), total(term.gaps, X[gone])
    return Z


@added.register
def _(term: Lookup, X: Floats) -> Floats:
    x, L = X[:, term.column], len(term.table)
    rows = np.vstack([term.table, term.unseen, term.missing])
    at = np.where(np.isnan(x), L + 1, np.minimum(np.nan_to_num(x), L)).astype(int)
    return np.asarray(rows[at])


@added.register
def _(term: Bins, X: Floats) -> Floats:
    x = X[:, term.column]
    found = term.table[np.searchsorted(term.cuts, np.nan_to_num(x), side="right")]
    return np.where(np.isnan(x)[:, None], 0.0, found)


MOST = 1e290


@added.register
def _(term: Ratios, X: Floats) -> Floats:
    x = X[:, term.columns]
    u = 1 - x if term.complement else x
    d = np.clip((u - term.origin) / term.origin, -MOST, MOST)
    e = np.clip(excess(u, term.origin), -MOST, MOST)
    there = ~np.isnan(x)
    d, e = np.where(there, d, 0.0), np.where(there, e, 0.0)
    return np.asarray(d @ term.A.T + e @ term.B.T + there @ term.constant.T)


TINY = float(np.finfo(np.float64).tiny)


@added.register
def _(term: Draws, X: Floats) -> Floats:
    x = X[:, term.columns]
    there = ~np.isnan(x)
    share = np.log(np.maximum(there @ np.exp(term.log_theta).T, TINY))
    n = np.where(there, x, 0.0).sum(axis=1, keepdims=True)
    lost = np.where(there.all(axis=1, keepdims=True), 0.0, n * share)
    return np.asarray(term.weight * (np.where(there, x, 0.0) @ term.log_theta.T - lost))


@added.register
def _(term: Dirichlet, X: Floats) -> Floats:
    x = np.where(X[:, term.columns] > 0, X[:, term.columns], np.nan)
    Z = np.zeros((len(x), len(term.alpha)))
    for i, row in enumerate(x):
        there = ~np.isnan(row)
        whole = there.all() and not term.rest.any()
        of = row[there].sum() / term.whole
        if not there.any() or (abs(of - 1) > 1e-6 if whole else of >= 1):
            continue
        rest = term.rest + term.alpha[:, ~there].sum(axis=1)
        alpha = term.alpha[:, there] if whole else np.column_stack([term.alpha[:, there], rest])
        u = row[there] / (row.sum() if whole else term.whole)
        if not whole:
            u = np.append(u, max(1 - u.sum(), TINY))
        Z[i] = dirichlet_scores(alpha, u)
    return np.asarray(term.weight * Z)


def dirichlet_scores(alpha: Floats, u: Floats) -> Floats:
    """ln p(u) (K,) under Dirichlet densities, but for -Σ ln u, which all share."""
    A = alpha.sum(axis=1, keepdims=True)
    return np.asarray((stirling(alpha) + alpha * np.log(u / (alpha / A))).sum(axis=1) - stirling(A)[:, 0])


@added.register
def _(term: LogSumExp, X: Floats) -> Floats:
    z = total(term.components, X)
    Z = np.full((len(X), int(term.owner[-1]) + 1), -np.inf)
    for k in range(Z.shape[1]):
        own = z[:, term.owner == k]
        top = own.max(axis=1)
        most = np.where(np.isfinite(top), top, 0.0)
        found = most + np.log(np.exp(own - most[:, None]).sum(axis=1))
        Z[:, k] = np.where(np.isnan(top), np.nan, found)
    return term.weight * Z
