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

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from likelier.array_types import Floats
from likelier.families.covariance import WELL, deviations, precision
from likelier.families.em_acceleration import Climbed, Point, Singular, climb

if TYPE_CHECKING:
    from likelier.families.missing import Problem


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
        for first, at in zip(X[begin[:-1]], spread, strict=True):
            if at >= 0:
                F = _deviations(S[at] / np.outer(sd, sd), np.isnan(first))
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
    values, axes = np.linalg.eigh(S[np.ix_(here, here)])
    keep = values > len(values) * np.finfo(float).eps * values[-1]
    F = np.full((int(keep.sum()), len(gone)), np.nan)
    F[:, here] = (axes[:, keep] * np.sqrt(values[keep])).T
    return F


@dataclass(frozen=True)
class Patterns:
    """Sets of missing columns of one size, and the weight of the rows that lack them."""

    columns: NDArray[np.intp]  # (g, size)
    w: Floats  # (g,)

    @classmethod
    def of(cls, gone: NDArray[np.bool_], w: Floats) -> "list[Patterns]":
        which, code = np.unique(gone[w > 0], axis=0, return_inverse=True)
        weight, size = np.bincount(code.ravel(), w[w > 0], len(which)), which.sum(axis=1)
        return [
            cls(np.nonzero(which[size == s])[1].reshape(-1, s), weight[size == s])
            for s in np.unique(size[size > 0])
        ]

    def spread(self, inverse: Floats, out: Floats) -> float:
        """Add the covariance of what is missing to `out` (m, m); returns Σ w ln|(Ψ⁻¹)_GG|."""
        pairs = (self.columns[:, :, None], self.columns[:, None, :])
        L = np.linalg.cholesky(inverse[pairs])
        half = np.linalg.inv(L)
        np.add.at(out, pairs, self.w[:, None, None] * (half.transpose(0, 2, 1) @ half))
        roots = np.diagonal(L, axis1=1, axis2=2)
        return float(2 * self.w @ np.log(roots).sum(axis=1))


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
    patterns: list[Patterns]
    R: Floats  # (m, m)
    G: Floats  # (r, m)
    Q: Floats  # (r, r)
    E: Floats  # (r, K), roots of the shares of rows in their class
    unseen: NDArray[np.bool_]  # (K, m), columns of which a class has no cell

    @cached_property
    def at(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Row and column of each missing cell."""
        row, column = np.nonzero(self.gone)
        return row, column

    @cached_property
    def _among(self) -> Floats:
        """Q for each pair of missing cells.

        Where a class has no cell of a column, no Ψ tells its mean: a price on moving it keeps it where it
        was at the start, and changes nothing else.
        """
        row, column = self.at
        found = self.Q[row[:, None], row]
        for k, j in np.argwhere(self.unseen):
            at = np.flatnonzero((column == j) & (self.E[row, k] > 0))
            e = self.E[row[at], k]
            found[np.ix_(at, at)] += np.outer(e, e)
        return found

    @cached_property
    def _pull(self) -> Floats:
        return self.G - self.Q @ self.X

    def complete(self, inverse: Floats) -> Floats:
        """The rows (r, m), completed as is most likely for Ψ⁻¹."""
        column = self.at[1]
        H = self._among * inverse[column[:, None], column]
        size = 0.0 if self.ridge else np.abs(H).sum(axis=0).max(initial=0.0)
        # A matrix and its transpose are one, and LAPACK takes the transpose without another copy.
        L, info = lapack.dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
        if info != 0 or (not self.ridge and lapack.dpocon(L, size, uplo="L")[0] < WELL):
            raise Singular
        V = self.X.copy()
        V[self.at] = lapack.dpotrs(L, (self._pull @ inverse)[self.at], lower=1)[0]
        return V

    def scatter(self, V: Floats) -> Floats:
        """R(V)."""
        cross = V.T @ self.G
        return np.asarray(self.R - cross - cross.T + V.T @ self.Q @ V)

    def inverse(self, cov: Floats) -> tuple[Floats, float]:
        """Ψ⁻¹ and ln|Ψ|."""
        if not self.ridge:
            found = precision(cov)
            if found is None or np.diagonal(cov).min() < WELL:
                raise Singular
            return found
        L, info = lapack.dpotrf(cov, lower=1)
        if info != 0:
            raise Singular
        half = np.tril(lapack.dtrtri(L, lower=1)[0])
        return half.T @ half, 2 * float(np.log(np.diagonal(L)).sum())

    def step(self, at: list[Point]) -> tuple[float, list[Point]]:
        """The log-likelihood of Ψ, but for a constant, and its successor."""
        inverse, log_det = self.inverse(at[0].cov)
        R = self.scatter(self.complete(inverse))
        R += self.n * self.ridge * np.eye(len(R))
        fit, logs = self.n * log_det + float((inverse * R).sum()), 0.0
        for one in self.patterns:
            logs += one.spread(inverse, R)
        return -0.5 * (fit + logs), [Point(at[0].mean, (R + R.T) / (2 * self.n))]

    def tried(self, at: list[Point]) -> tuple[float, list[Point]]:
        """`step`; a point that is no covariance is less likely than any."""
        if lapack.dpotrf(at[0].cov, lower=1)[1] != 0:
            return -np.inf, at
        return self.step(at)


@dataclass(frozen=True)
class Regression:
    """The regression of columns that lack a cell on those that do not, and on the classes."""

    start: Point
    sd: Floats
    M: NDArray[np.intp]  # columns that lack a cell
    C: NDArray[np.intp]  # those that do not
    N: Floats  # (K,), weight of all rows
    centre: Floats  # (K, p), means: of M those of complete rows, times their share
    S: Floats  # (c, c), scatter of all rows in C
    L: Floats  # its factor, the ridge added
    Y: Floats  # (m, c), of complete rows, L⁻¹ times the scatter of C with M
    Z: Floats  # (r, c), of incomplete rows, L⁻¹ times their deviations in C
    E: Floats  # (r, K)
    cells: Cells

    @classmethod
    def of(cls, problem: "Problem", start: Point, ridge: float) -> "Regression":
        sd = deviations(start.cov)
        rows = Rows.of(problem, start, sd)
        lacking = np.isnan(rows.X)
        M, C = np.flatnonzero(lacking.any(axis=0)), np.flatnonzero(~lacking.any(axis=0))
        mean = np.where(problem.n[:, None] > 0, (problem.mean - start.mean) / sd, 0.0)
        S = problem.S / np.outer(sd, sd)
        N = problem.n + (rows.E**2).sum(axis=0)
        X = rows.root[:, None] * np.where(lacking, 0.0, rows.X)
        share = np.where(N > 0, N, 1.0)[:, None]
        centre = (problem.n[:, None] * mean + rows.E.T @ X) / share
        centre[:, M] = problem.n[:, None] * mean[:, M] / share
        D = X[:, C] - rows.E @ centre[:, C]
        off = mean[:, C] - centre[:, C]
        inner = S[np.ix_(C, C)] + (problem.n[:, None] * off).T @ off + D.T @ D
        L = _factor(inner, N.sum() * ridge)
        cross = S[np.ix_(C, M)] + (problem.n[:, None] * off).T @ mean[:, M]
        Y = _solved(L, cross).T
        Z = _solved(L, D.T).T
        T = share * centre[:, M]
        R = S[np.ix_(M, M)] + (problem.n[:, None] * mean[:, M]).T @ mean[:, M]
        cells = Cells(
            float(N.sum()), ridge, X[:, M], lacking[:, M],
            Patterns.of(lacking[:, M], (rows.E**2).sum(axis=1)),
            R - T.T @ (T / share) - Y @ Y.T,
            rows.E @ (T / share) + Z @ Y.T,
            np.eye(len(X)) - (rows.E / share.T) @ rows.E.T - Z @ Z.T,
            rows.E / np.sqrt(share.T),
            (problem.n[:, None] == 0) & (rows.E.T @ ~lacking[:, M] == 0),
        )  # fmt: skip
        return cls(start, sd, M, C, N, centre, inner, L, Y, Z, rows.E, cells)

    def parameters(self, psi: Floats) -> Point:
        """Of all columns, from Ψ."""
        p, M, C, n = len(self.sd), self.M, self.C, self.cells.n
        V = self.cells.complete(self.cells.inverse(psi)[0])
        mean, cov, Y = self.centre.copy(), np.empty((p, p)), self.Y + V.T @ self.Z
        mean[:, M] += self.E.T @ V / np.where(self.N > 0, self.N, 1.0)[:, None]
        cov[np.ix_(C, C)] = self.S / n
        cov[np.ix_(C, M)] = np.tril(self.L) @ Y.T / n
        cov[np.ix_(M, C)] = cov[np.ix_(C, M)].T
        cov[np.ix_(M, M)] = psi - self.cells.ridge * np.eye(len(M)) + Y @ Y.T / n
        return Point(self.start.mean + self.sd * mean, cov * np.outer(self.sd, self.sd))


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
    counted = spread >= 0
    first = gone[begin[:-1]].sum(axis=1)
    cells = gone.sum() + (first * (X.shape[1] - first))[counted].sum()
    rows, p = len(X), X.shape[1]
    return bool(0 < cells <= MOST and cells**3 / 3 <= 4 * (1.5 * p**3 + rows * p**2) + 1e6)


def solve_cells(problem: "Problem", start: Point, ridge: float) -> Climbed:
    """The most likely parameters of one problem all of whose columns vary."""
    whole = Regression.of(problem, start, ridge)
    m = len(whole.M)
    end = climb(whole.cells.tried, [Point(np.zeros((0, m)), np.eye(m))])
    return end._replace(ends=[whole.parameters(end.ends[0].cov)])
