"""What each term of a description adds to a SELECT: for each class lines of its sum, one for each feature.

`writer` is the writer of the statement (`sql.py`), which names columns and adds steps before the sums.
"""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from likelier.export.evaluate import dirichlet_scores
from likelier.export.program import (
    Bins,
    Code,
    Dirichlet,
    Draws,
    IfComplete,
    Linear,
    LogSumExp,
    Lookup,
    NotExpressible,
    Quadratic,
    Ratios,
    Squares,
)

Lines = list[list[str]]  # of each class

MOST_COMPONENTS = 1000  # that a statement can have: PostgreSQL has 1664 columns at most
GROUP = 200  # expressions that are added in one go
LEAST_EXPONENT = "-700"  # below which e^x is too small for a number
NO_GAPS = "A row in which a column of a covariance or of shares is missing has NULL: see the documentation."


def minus(x: str, shift: float, number: Any) -> str:
    """x - shift."""
    if shift == 0:
        return x
    return f"({x} - {number(shift)})" if shift > 0 else f"({x} + {number(-shift)})"


def total(parts: Sequence[str], between: str = " ") -> str:
    """The sum of some expressions, in groups: databases refuse expressions of more than 1000 levels."""
    groups = [list(parts[i : i + GROUP]) for i in range(0, len(parts), GROUP)]
    if len(groups) < 2:
        return f"{between}+ ".join(parts)
    return f"{between}+ ".join(f"({total(group, between)})" for group in groups)


def _entry(row: Sequence[float], unseen: float, code: float) -> float:
    return row[int(code)] if 0 <= code < len(row) else unseen


@singledispatch
def lines(term: Any, writer: Any) -> Lines:
    """What a term adds to the sum of each class: a line for each feature."""
    raise NotExpressible(f"SQL cannot be written of a {type(term).__name__} term.")


@lines.register
def _(term: Linear, writer: Any) -> Lines:
    found: list[list[str]] = [[] for _ in term.W]
    for i, j in enumerate(term.columns.tolist()):
        if not (term.W[:, i].any() or term.constant[:, i].any()):
            continue
        x = writer.x(j)
        for own, w, c in zip(found, term.W[:, i].tolist(), term.constant[:, i].tolist(), strict=True):
            if w or c:
                own.append(_of_number(writer, x, w, c, float(term.shift[i]), term))
    return found


def _of_number(writer: Any, x: str, w: float, c: float, shift: float, term: Linear) -> str:
    if term.above is not None:
        t = writer.number(term.above)
        return (
            f"CASE WHEN {x} > {t} THEN {writer.number(c + w * (1 - shift))} "
            f"WHEN {x} <= {t} THEN {writer.number(c - w * shift)} ELSE 0.0 END"
        )
    code = f"{writer.number(w)} * {x if shift == 0 else minus(x, shift, writer.number)}"
    code = code if c == 0 else f"{writer.number(c)} + {code}"
    return f"COALESCE({code}, 0.0)" if term.skip else code


@lines.register
def _(term: Squares, writer: Any) -> Lines:
    K = len(term.mean)
    found: list[list[str]] = [[] for _ in range(K)]
    for i, j in enumerate(term.columns.tolist()):
        x = writer.x(j)
        for k in range(K):
            d = minus(x, float(term.mean[k, i]), writer.number)
            h = writer.number(0.5 * float(term.scale[k, i]) ** 2)
            found[k].append(f"COALESCE({writer.number(float(term.constant[k, i]))} - {h} * {d} * {d}, 0.0)")
    return found


@lines.register
def _(term: Quadratic, writer: Any) -> Lines:
    columns = [writer.x(j) for j in term.columns.tolist()]
    writer.remarks.append(NO_GAPS)
    axes: dict[int, list[str]] = {}
    for u in range(len(term.U)):
        shift = term.shift[u % len(term.shift)]
        axes[u] = [_axis(writer, columns, row, shift) for row in term.U[u]]
    found = []
    for k in range(len(term.at)):
        each = axes[k % len(term.U)]
        found.append(
            [
                f"-0.5 * {minus(axis, at, writer.number)} * {minus(axis, at, writer.number)}"
                for axis, at in zip(each, term.at[k].tolist(), strict=True)
            ]
        )
    return found


def _axis(writer: Any, columns: list[str], row: Any, shift: Any) -> str:
    """A column of `axes`: U (x - shift)."""
    parts = [
        f"{writer.number(w)} * {minus(x, s, writer.number)}"
        for x, w, s in zip(columns, row.tolist(), shift.tolist(), strict=True)
        if w
    ]
    name = writer.names.new(f"axis {len(writer.steps[0])}")
    if len(writer.steps[0]) >= MOST_COMPONENTS:
        raise NotExpressible(
            f"SQL cannot be written: the covariances of {writer.program.model} have more than "
            f"{MOST_COMPONENTS:,} axes in all. Fit it to fewer columns."
        )
    writer.steps[0].append((name, total(parts) or "0.0"))
    return str(writer.quoted(name))


@lines.register
def _(term: IfComplete, writer: Any) -> Lines:
    """Of incomplete rows a Gaussian needs the inverse of a matrix: they have no score here."""
    writer.remarks.append(NO_GAPS)
    found: list[list[str]] = [[writer.number(b)] if b else [] for b in term.complete.bias.tolist()]
    for each in term.complete.terms:
        for own, more in zip(found, lines(each, writer), strict=True):
            own += more
        if isinstance(each, Linear):  # a column that a class has no weight for may be missing, too
            for own, w in zip(found, each.W, strict=True):
                own += [f"0.0 * {writer.x(j)}" for j in each.columns[w == 0].tolist()]
    return found


@lines.register
def _(term: Lookup, writer: Any) -> Lines:
    one: Any = writer.program.columns[term.column]
    found: Lines = []
    for k in range(term.table.shape[1]):
        row, unseen, missing = term.table[:, k].tolist(), float(term.unseen[k]), float(term.missing[k])
        if not (any(row) or unseen or missing):
            found.append([])
            continue
        if isinstance(one, Code):
            each = writer.program.inputs[one.input]
            values = [_entry(row, unseen, code) for code in one.codes]
            other = missing if np.isnan(one.unseen) else _entry(row, unseen, one.unseen)
            found.append([writer.of_levels(writer.cell(one.input), each.levels, values, other, missing)])
        else:
            numbers = [float(i) for i in range(len(row))]
            found.append([writer.of_levels(writer.x(term.column), numbers, row, unseen, missing)])
    return found


@lines.register
def _(term: Bins, writer: Any) -> Lines:
    x, found = writer.x(term.column), []
    for k in range(term.table.shape[1]):
        row = [writer.number(value) for value in term.table[:, k].tolist()]
        cuts = map(writer.number, term.cuts.tolist())
        cases = " ".join(f"WHEN {x} < {cut} THEN {value}" for cut, value in zip(cuts, row, strict=False))
        found.append([f"CASE WHEN {x} IS NULL THEN 0.0 {cases} ELSE {row[-1]} END"])
    return found


@lines.register
def _(term: Ratios, writer: Any) -> Lines:
    found: list[list[str]] = [[] for _ in term.A]
    for i, j in enumerate(term.columns.tolist()):
        x, o = writer.x(j), float(term.origin[i])
        u = f"(1 - {x})" if term.complement else x
        for k, own in enumerate(found):
            A, B, c = (float(each[k, i]) for each in (term.A, term.B, term.constant))
            # A d + B (d - ln(u/o)), d = u/o - 1
            parts = [writer.number(c + B * float(np.log(o)) - (A + B))]
            parts += [f"{writer.number(A + B)} * ({u} / {writer.number(o)})"] if A + B else []
            parts += [f"{writer.number(-B)} * LN({u})"] if B else []
            own.append(f"COALESCE({' + '.join(parts)}, 0.0)")
    return found


@lines.register
def _(term: Draws, writer: Any) -> Lines:
    columns = [writer.x(j) for j in term.columns.tolist()]
    drawn, complete = writer.names.new("drawn"), f"({total(columns)}) IS NOT NULL"
    writer.steps[0].append((drawn, total([f"COALESCE({x}, 0.0)" for x in columns])))
    found = []
    for row in term.log_theta:
        there = total(
            [
                f"CASE WHEN {x} IS NULL THEN 0.0 ELSE {writer.number(float(np.exp(w)))} END"
                for x, w in zip(columns, row.tolist(), strict=True)
            ]
        )
        share = writer.names.new(f"share {len(writer.steps[0])}")
        least = writer.dialect.most([there, writer.number(float(np.finfo(np.float64).tiny))])
        writer.steps[0].append((share, f"CASE WHEN {complete} THEN 1.0 ELSE {least} END"))
        each = [
            f"COALESCE({writer.number(term.weight * w)} * {x}, 0.0)"
            for x, w in zip(columns, row.tolist(), strict=True)
        ]
        lost = f"{writer.number(-term.weight)} * {writer.quoted(drawn)} * LN({writer.quoted(share)})"
        found.append([*each, lost])
    return found


@lines.register
def _(term: Dirichlet, writer: Any) -> Lines:
    """Rows whose shares are off add nothing; of those that lack one, the gamma function is needed."""
    if term.rest.any():
        raise NotExpressible("SQL cannot be written of a Dirichlet density of some of its columns.")
    columns = [writer.x(j) for j in term.columns.tolist()]
    writer.remarks.append(NO_GAPS)
    whole_sum = writer.names.new("sum of shares")
    sure = [f"CASE WHEN {x} > 0 THEN {x} END" for x in columns]
    writer.steps[0].append((whole_sum, total(sure)))
    T, whole = writer.quoted(whole_sum), writer.number(term.whole)
    none = " AND ".join(f"COALESCE({x}, 0.0) <= 0" for x in columns)
    A = term.alpha.sum(axis=1)
    flat = np.full(len(columns), 1 / len(columns))
    b = dirichlet_scores(term.alpha, flat) - (term.alpha * np.log(flat)).sum(axis=1)
    assert np.isfinite(A).all()
    found = []
    for k in range(len(term.alpha)):
        logs = " + ".join(
            f"{writer.number(term.weight * a)} * LN({x} / {T})"
            for x, a in zip(columns, term.alpha[k].tolist(), strict=True)
        )
        off = f"ABS({T} / {whole} - 1) > 1e-6"
        density = f"{writer.number(term.weight * float(b[k]))} + {logs}"
        found.append([f"CASE WHEN {none} OR {off} THEN 0.0 WHEN {T} IS NOT NULL THEN {density} END"])
    return found


@lines.register
def _(term: LogSumExp, writer: Any) -> Lines:
    M = len(term.owner)
    if len(writer.steps[1]) + M > MOST_COMPONENTS:
        raise NotExpressible(
            f"SQL cannot be written: {writer.program.model} is a sum over {M:,} components or kernels, "
            f"and a statement can have {MOST_COMPONENTS:,}. Fit a mixture with fewer, or another family."
        )
    z = []
    for code in writer.sums(term.components):
        name = writer.names.new(f"component {len(writer.steps[1])}")
        writer.steps[1].append((name, code))
        z.append(writer.quoted(name))
    found = []
    for k in range(int(term.owner[-1]) + 1):
        own = [z[m] for m in np.flatnonzero(term.owner == k)]
        name = writer.names.new(f"largest {len(writer.steps[2])}")
        writer.steps[2].append((name, writer.dialect.most(own)))
        top = writer.quoted(name)
        least = LEAST_EXPONENT + ".0"
        found_total = total([f"EXP({writer.dialect.most([f'{one} - {top}', least])})" for one in own])
        code = f"({top} + LN({found_total}))"
        found.append([code if term.weight == 1 else f"{writer.number(term.weight)} * {code}"])
    return found
