"""Means and covariances of rows in which few cells are missing, at the cost of what is missing.

Of the m columns that lack a cell, complete rows say but three things about the covariance Ψ that these
columns have given all others: with V the rows completed in any way (each times the root of its weight),
the scatter about their regression on the other columns and the classes is

    R(V) = R₀ - VᵀG - GᵀV + VᵀQV,

Q = I - what the regression explains of incomplete rows. Means and slopes are those of the completed rows,
so for a given Ψ the most likely completion minimises tr Ψ⁻¹R, a linear system of as many unknowns as cells
are missing; Ψ follows by expectation and maximisation (ECME: Liu & Rubin 1994). Nothing of the size of the
table is touched after the first factor of the complete columns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from likelier import _core
from likelier.array_types import Floats
from likelier.families.covariance import WELL, deviations
from likelier.families.em_acceleration import MOST_STEPS, TOL, FixedPoint, Point, Singular

if TYPE_CHECKING:
    from likelier.families.missing import Problem


CONVERGED, SINGULAR = 0, 2  # as the core says how a climb has ended
EPS = float(np.finfo(np.float64).eps)
NOTHING = 1e-10  # of a scatter: rounding leaves more
MOST = 1500  # missing cells from which on a system of them costs more than the steps that it saves


@dataclass(frozen=True)
class Rows:
    """Incomplete rows in units of the columns' deviations, about the means of their classes at the start.

    A scatter of rows of one pattern counts as rows too, but as deviations that have no mean.
    """

    X: Floats  # (r, p), NaN where missing
    root: Floats  # (r,), roots of the weights
    E: Floats  # (r, K), the root in the column of the row's class; 0 for a deviation

    @classmethod
    def of(cls, problem: "Problem", start: Point, sd: Floats) -> "Rows":
        X, w, begin, code, spread, S = problem.items
        codes = np.repeat(code, np.diff(begin))
        E = np.sqrt(w)[:, None] * (codes[:, None] == np.arange(len(problem.n)))
        parts, roots, ones = [(X - start.mean[codes]) / sd], [np.sqrt(w)], [E]
        scatters: dict[bytes, Floats] = {}  # by pattern: classes that share a covariance add up
        for gone, at in zip(np.isnan(X[begin[:-1]]), spread, strict=True):
            if at >= 0:
                scatters[gone.tobytes()] = scatters.get(gone.tobytes(), 0.0) + S[at]
        for pattern, scatter in scatters.items():
            F = _deviations(scatter / sd[:, None] / sd, np.frombuffer(pattern, bool))
            parts.append(F)
            roots.append(np.ones(len(F)))
            ones.append(np.zeros((len(F), E.shape[1])))
        rows = cls(np.concatenate(parts), np.concatenate(roots), np.concatenate(ones))
        return rows.take(np.asarray((~np.isnan(rows.X)).any(axis=1)))  # the others say nothing

    def take(self, some: NDArray[np.bool_]) -> "Rows":
        return Rows(self.X[some], self.root[some], self.E[some])


def _deviations(S: Floats, gone: NDArray[np.bool_]) -> Floats:
    """Rows (d, p) whose squares add up to a scatter of the columns that are there."""
    here = np.flatnonzero(~gone)
    if len(here) == 0:
        return np.empty((0, len(gone)))
    U, pivots, rank, _ = lapack.dpstrf(S[here[:, None], here], lower=0)
    F = np.full((rank, len(gone)), np.nan)
    F[:, here[pivots - 1]] = np.triu(U)[:rank]
    return F


@dataclass(frozen=True)
class Patterns:
    """Sets of missing columns, and the weight of the rows that lack them."""

    start: NDArray[np.int64]  # (g + 1,)
    columns: NDArray[np.int32]  # of each pattern, one after another
    w: Floats  # (g,)

    @classmethod
    def of(cls, gone: NDArray[np.bool_], w: Floats) -> "Patterns":
        some = gone & (w > 0)[:, None]
        codes, first = _core.code_bytes(np.packbits(some, axis=1))
        which, weight = some[first], np.bincount(codes, w, len(first))
        size = which.sum(axis=1)
        start = np.append(0, np.cumsum(size[size > 0])).astype(np.int64)
        return cls(start, np.nonzero(which)[1].astype(np.int32), weight[size > 0])


@dataclass(frozen=True)
class Cells:
    """What is left of a problem for the columns that lack a cell: R₀, G and Q of the docstring above.

    ridge: variance added to every column, in units of its own, where columns follow from others. It is
    then the most likely covariance under a prior of n·ridge such rows, and always exists.
    """

    n: float
    ridge: float
    X: Floats  # (r, m), times the roots of the weights; 0 where missing
    gone: NDArray[np.bool_]  # (r, m)
    patterns: Patterns
    R: Floats  # (m, m)
    G: Floats  # (r, m)
    Q: Floats  # (r, r)
    E: Floats  # (r, K), roots of the shares of rows in their class
    unseen: NDArray[np.bool_]  # (K, m), columns of which a class has no cell

    def climb(self) -> tuple[FixedPoint, Floats]:
        """The most likely Ψ, and the rows (r, m) completed as is then most likely: in the core."""
        row, column = (each.astype(np.int32) for each in np.nonzero(self.gone))
        m, pull = len(self.R), self.G - self.Q @ self.X
        cross = self.X.T @ (self.G + pull)  # R(X) = R₀ - XᵀG - GᵀX + XᵀQX
        cov, cells = np.empty((m, m)), np.empty(len(row))
        end, steps = _core.climb_cells(
            self.n, self.ridge, WELL, row, column, self.Q, self._among(row, column), pull,
            self.R - (cross + cross.T) / 2, self.patterns.start, self.patterns.columns, self.patterns.w,
            MOST_STEPS, TOL, cov, cells,
        )  # fmt: skip
        if end == SINGULAR:
            raise Singular
        V = self.X.copy()
        V[row, column] = cells
        return FixedPoint([Point(np.zeros((0, m)), cov)], steps, end == CONVERGED), V

    def _among(self, row: NDArray[np.int32], column: NDArray[np.int32]) -> Floats:
        """Q for each pair of missing cells.

        Where a class has no cell of a column, no Ψ tells its mean: a price on moving it keeps it where it
        was at the start, and changes nothing else.
        """
        found = self.Q[row[:, None], row]
        for k, j in np.argwhere(self.unseen):
            at = np.flatnonzero((column == j) & (self.E[row, k] > 0))
            e = self.E[row[at], k]
            found[np.ix_(at, at)] += np.outer(e, e)
        return found


@dataclass(frozen=True)
class Standardised:
    """A problem in units of its columns' deviations, about the means at the start."""

    start: Point
    sd: Floats
    rows: Rows
    lacking: NDArray[np.bool_]  # (r, p)
    M: NDArray[np.intp]  # columns that lack a cell
    C: NDArray[np.intp]  # those that do not
    n: Floats  # (K,), weight of the complete rows, their means (K, p), and their scatter, C before M
    mean: Floats
    S: Floats  # (p, p)

    @classmethod
    def of(cls, problem: "Problem", start: Point) -> "Standardised":
        sd = deviations(start.cov)
        rows = Rows.of(problem, start, sd)
        lacking = np.isnan(rows.X)
        some = lacking.any(axis=0)
        M, C = np.flatnonzero(some), np.flatnonzero(~some)
        mean = np.where(problem.n[:, None] > 0, (problem.mean - start.mean) / sd, 0.0)
        order = np.concatenate([C, M])
        S = problem.S[order[:, None], order]
        S /= sd[order, None]
        S /= sd[order]
        return cls(start, sd, rows, lacking, M, C, problem.n, mean, S)

    def surely_singular(self) -> bool:
        """Whether the columns that lack no cell explain all of the others wherever a row has all of them.

        No other row has all of those columns, so that some combination of them is bounded by nothing: Ψ
        would lead there by many steps.
        """
        n, c = self.n.sum(), len(self.C)
        if not 0 < n <= 4 * len(self.S) or c == 0:
            return False
        U, pivots, rank, _ = lapack.dpstrf(self.S[:c, :c], lower=0, tol=c * EPS * n)
        first = pivots[:rank] - 1
        left = all_ = np.diagonal(self.S)[c:]
        if rank > 0:
            left = all_ - (lapack.dtrtrs(U[:rank, :rank], self.S[first, c:], trans=1)[0] ** 2).sum(axis=0)
        return bool((left <= NOTHING * all_).all())


@dataclass(frozen=True)
class Regression:
    """The regression of columns that lack a cell on those that do not, and on the classes."""

    table: Standardised
    N: Floats  # (K,), weight of all rows
    centre: Floats  # (K, p), means: of M those of complete rows, times their share
    S: Floats  # (c, c), scatter of all rows in C
    L: Floats  # its factor, the ridge added
    Y: Floats  # (m, c), of complete rows, L⁻¹ times the scatter of C with M
    Z: Floats  # (r, c), of incomplete rows, L⁻¹ times their deviations in C
    cells: Cells

    @classmethod
    def of(cls, table: Standardised, ridge: float) -> "Regression":
        if not ridge and table.surely_singular():
            raise Singular
        rows, lacking, mean, S, n = table.rows, table.lacking, table.mean, table.S, table.n[:, None]
        M, C, c = table.M, table.C, len(table.C)
        N = table.n + (rows.E**2).sum(axis=0)
        X = rows.root[:, None] * np.where(lacking, 0.0, rows.X)
        share = np.where(N > 0, N, 1.0)[:, None]
        centre = (n * mean + rows.E.T @ X) / share
        centre[:, M] = n * mean[:, M] / share
        D = X[:, C] - rows.E @ centre[:, C]
        off = mean[:, C] - centre[:, C]
        weighted = n * off
        inner = S[:c, :c] + weighted.T @ off + D.T @ D
        L = _factor(inner, N.sum() * ridge)
        Y = _solved(L, S[:c, c:] + weighted.T @ mean[:, M]).T
        Z = _solved(L, D.T).T
        T = share * centre[:, M]
        R = S[c:, c:] + (n * mean[:, M]).T @ mean[:, M]
        cells = Cells(
            float(N.sum()), ridge, X[:, M], lacking[:, M],
            Patterns.of(lacking[:, M], (rows.E**2).sum(axis=1)),
            R - T.T @ (T / share) - Y @ Y.T,
            rows.E @ (T / share) + Z @ Y.T,
            np.eye(len(X)) - (rows.E / share.T) @ rows.E.T - Z @ Z.T,
            rows.E / np.sqrt(share.T),
            (n == 0) & (rows.E.T @ ~lacking[:, M] == 0),
        )  # fmt: skip
        return cls(table, N, centre, inner, L, Y, Z, cells)

    def parameters(self, psi: Floats, V: Floats) -> Point:
        """Of all columns, from Ψ and the rows completed."""
        M, C, n, sd, start = self.table.M, self.table.C, self.cells.n, self.table.sd, self.table.start
        mean, cov, Y = self.centre.copy(), np.empty_like(self.table.S), self.Y + V.T @ self.Z
        mean[:, M] += self.table.rows.E.T @ V / np.where(self.N > 0, self.N, 1.0)[:, None]
        cross = np.tril(self.L) @ Y.T / n
        cov[C[:, None], C] = self.S / n
        cov[C[:, None], M] = cross
        cov[M[:, None], C] = cross.T
        cov[M[:, None], M] = psi - self.cells.ridge * np.eye(len(M)) + Y @ Y.T / n
        cov *= sd[:, None]
        cov *= sd
        return Point(start.mean + sd * mean, cov)


def _factor(S: Floats, ridge: float) -> Floats:
    """L with LLᵀ = S + ridge I."""
    if len(S) == 0:
        return S
    L, info = lapack.dpotrf(S + ridge * np.eye(len(S)), lower=1)
    if info != 0 or (not ridge and lapack.dpocon(L, np.abs(S).sum(axis=0).max(), uplo="L")[0] < WELL):
        raise Singular
    return np.asarray(L)


def _solved(L: Floats, B: Floats) -> Floats:
    """L⁻¹B."""
    if L.size == 0 or B.size == 0:
        return np.zeros_like(B)
    return np.asarray(lapack.dtrtrs(L, B, lower=1)[0])


def pays(problem: "Problem") -> bool:
    """Whether to go by cells costs less than to go by rows."""
    X, _, begin, _, spread, _ = problem.items
    gone = np.isnan(X)
    cells = int(gone.sum())
    if (spread >= 0).any():
        counted = np.unique(gone[begin[:-1]][spread >= 0], axis=0).sum(axis=1)  # lengths of patterns
        cells += int((counted * (X.shape[1] - counted)).sum())
    rows, p = len(X), X.shape[1]
    return bool(0 < cells <= MOST and cells**3 / 3 <= 4 * (1.5 * p**3 + rows * p**2) + 1e6)


def cell_solver(problem: "Problem", start: Point) -> Callable[[float], FixedPoint]:
    """The most likely parameters of one problem all of whose columns vary, as a function of the ridge."""
    table = Standardised.of(problem, start)

    def solve(ridge: float) -> FixedPoint:
        whole = Regression.of(table, ridge)
        end, V = whole.cells.climb()
        return end._replace(ends=[whole.parameters(end.ends[0].cov, V)])

    return solve
