"""Gaussians with missing values: marginal densities, and means and covariances by EM."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import Chunk, Dense, refuse_cells
from likelier.families.base import Params
from likelier.families.covariance import SMALL, WELL, deviations, exceeds, precision, upper_whitenings
from likelier.families.em_acceleration import (
    FixedPoint,
    Point,
    Singular,
    by_ridges,
    definite,
    find_fixed_point,
    put_back,
    taken,
    varying,
)
from likelier.families.few_missing import cell_solver, pays
from likelier.scores import Scores, TermWithConstant
from likelier.states import ColumnMoments, Deviations, Moments, PatternMoments, ShrinkageMoments
from likelier.states.moments import refuse
from likelier.threads import one_thread_if

# Densities of what is there, where cells of a row are missing: the rest is integrated out, exactly.


class Fillable(Params, Protocol):
    """Parameters that can also say what to expect of some columns, knowing others."""

    def expect(self, rest: NDArray[np.intp], given: NDArray[np.intp], X: Floats) -> Floats:
        """E[x_rest | x_given, C_k] of rows X (n, given): (K, n, rest)."""


def by_pattern(X: Floats) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
    """Rows that lack the same columns: their numbers, the columns that they have, those that they lack."""
    codes, first = _core.code_bytes(np.packbits(np.isnan(X), axis=1))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(first)))
    for i, rows in enumerate(np.split(order, ends[:-1])):
        gone = np.isnan(X[first[i]])
        yield rows, np.flatnonzero(~gone), np.flatnonzero(gone)


def share_out(parts: Floats, Z: Floats, X: Floats) -> None:
    """Give the cells of each row that are there equal shares of what their parts (n, K, p) lack of Z."""
    there = ~np.isnan(X)
    each = (Z - parts.sum(axis=2)) / np.maximum(there.sum(axis=1), 1)[:, None]
    parts += np.where(there[:, None, :], each[:, :, None], 0.0)


@dataclass(frozen=True)
class Marginals:
    """What any density offers: for each pattern, the density of the columns that it has."""

    params: Fillable

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # not what was kept

    @cached_property
    def _scores(self) -> dict[bytes, Scores]:
        return {}

    def _of(self, here: NDArray[np.intp]) -> Scores:
        """Kept for the next chunk, if they are not too many. (Threads share them: one may clear them.)"""
        key = here.tobytes()
        found = self._scores.get(key)
        if found is None:
            found = self.params.marginal(here).scores()
            if len(self._scores) >= 4096:
                self._scores.clear()
            self._scores[key] = found
        return found

    def write(self, chunk: Chunk, b: Floats, Z: Floats, *, add: bool) -> None:
        X = chunk.X.to_array()
        refuse_cells(X, gaps=True, first=chunk.first)
        for rows, here, _ in by_pattern(X):
            some = np.zeros((len(rows), len(b)))
            if len(here):
                self._of(here).write(Chunk(Dense(np.ascontiguousarray(X[np.ix_(rows, here)]))), some)
            Z[rows] = some + b + (Z[rows] if add else 0.0)

    def fill(self, X: Floats, P: Floats) -> Floats:
        """X with E[x_j | what is there] for what is missing, the classes weighed by P (n, K)."""
        refuse_cells(X, gaps=True)
        out = X.copy()
        for rows, here, gone in by_pattern(X):
            if len(gone):
                each = self.params.expect(gone, here, X[np.ix_(rows, here)])  # (K, n, m)
                out[np.ix_(rows, gone)] = np.einsum("nk,knm->nm", P[rows], each)
        return out


@dataclass(frozen=True)
class GaussianMarginals(Marginals):
    """The same for Gaussians, natively: a small factor for each pattern, made once and kept."""

    cov: Floats  # (K, p, p), or (1, p, p) that all classes share
    tol: float = 0.0  # deviations, of standardised columns, up to which a direction counts as none

    @cached_property
    def _varying(self) -> NDArray[np.intp]:
        """Columns with a variance: of the others a density says nothing."""
        return np.flatnonzero((np.diagonal(self.cov, axis1=1, axis2=2) > 0).all(axis=0))

    @cached_property
    def _native(self) -> tuple[_core.GappyGaussians, Floats] | None:
        """With ln p(x)'s own constant (K,). None where a covariance is all but singular.

        What exceeds tol in all columns does so in any of them (Cauchy's interlacing).
        """
        at = self._varying
        cov = np.ascontiguousarray(self.cov[:, at[:, None], at])
        if not all(exceeds(S / np.outer(sd, sd), self.tol**2) for S in cov for sd in [deviations(S)]):
            return None
        inverses = [precision(S) for S in cov] if len(at) else [None]
        found = [each for each in inverses if each is not None]
        if len(found) < len(inverses):
            return None
        mean = self._mean[:, at]
        (K, p), shift = mean.shape, mean.mean(axis=0)
        U, log_det = upper_whitenings(cov)
        if np.abs(U @ (mean - shift)[:, :, None]).max() > 1e5:  # deviations: one shift costs digits
            return None
        constant = np.broadcast_to(-0.5 * (log_det + p * np.log(2 * np.pi)), K)
        core = _core.GappyGaussians(mean - shift, shift, U, np.stack([each[0] for each in found]))
        return core, constant

    @property
    def _mean(self) -> Floats:
        mean: Floats = self.params.mean  # type: ignore[attr-defined]
        return mean

    def write(self, chunk: Chunk, b: Floats, Z: Floats, *, add: bool) -> None:
        if self._native is None:
            return super().write(chunk, b, Z, add=add)
        core, constant = self._native
        if len(self._varying) < chunk.X.shape[1]:
            chunk = chunk._replace(X=Dense(chunk.X.to_array()[:, self._varying]))
        refuse(chunk, core.scores(chunk.X.native(), b + constant, Z, add))
        return None

    def fill(self, X: Floats, P: Floats) -> Floats:
        if self._native is None:
            return super().fill(X, P)
        refuse_cells(X, gaps=True)
        out = np.where(np.isnan(X), P @ self._mean, X)
        some, filled = Dense(X[:, self._varying]), np.empty((len(X), len(self._varying)))
        self._native[0].fill(some.native(), np.ascontiguousarray(P), filled)
        out[:, self._varying] = filled
        return out


@dataclass(frozen=True)
class Gaps(TermWithConstant):
    """ln p(what is there | C_k) + b_k."""

    law: Marginals

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        self.law.write(chunk, self.b, Z, add=add)


# Means and covariances of rows in which cells are missing: expectation and maximisation.
#
# Expectation: given what a row has, what it lacks has a mean and a covariance; with d the row about its
# class mean, completed by the first, Σ w d and Σ w (ddᵀ + the second) are all that maximisation needs
# (Dempster, Laird & Rubin 1977; Little & Rubin 2002, ch. 11). Classes that share a covariance are one
# problem.


LOG_2PI = float(np.log(2 * np.pi))


@dataclass
class Completed(Moments):
    """Moments that complete rows would have had: those of the most likely means and covariances."""

    steps: int = 0
    converged: bool = True


class Items(NamedTuple):
    """Incomplete rows of K classes, as `_core.expect` takes them."""

    X: Floats  # (r, p)
    w: Floats  # (r,)
    start: NDArray[np.int64]  # (g + 1,)
    code: NDArray[np.int32]  # (g,)
    spread: NDArray[np.int64]  # (g,)
    S: Floats  # (c, p, p)


@dataclass(frozen=True)
class Problem:
    """Complete and incomplete rows of classes that share a covariance."""

    n: Floats  # (K,), mean and scatter of the complete rows
    mean: Floats  # (K, p)
    S: Floats  # (p, p), about their class means
    items: Items

    @property
    def total(self) -> Floats:
        """Weight of all rows, (K,)."""
        code = np.repeat(self.items.code, np.diff(self.items.start))
        return np.asarray(self.n + np.bincount(code, self.items.w, len(self.n)))

    @property
    def seen(self) -> NDArray[np.intp]:
        """Columns of which there is a cell; of the others rows say nothing."""
        if self.n.any():
            return np.arange(self.mean.shape[1])
        return np.flatnonzero(~np.isnan(self.items.X).all(axis=0))

    def take(self, columns: NDArray[np.intp]) -> "Problem":
        """The same of some columns alone; rows that have none of them stay, and say nothing."""
        if len(columns) == self.mean.shape[1]:
            return self
        X, w, start, code, spread, S = self.items
        pair = np.ix_(columns, columns)
        some = Items(
            np.ascontiguousarray(X[:, columns]), w, start, code, spread,
            np.ascontiguousarray(S[:, columns[:, None], columns]),
        )  # fmt: skip
        return Problem(self.n, self.mean[:, columns], self.S[pair], some)


class Sums(NamedTuple):
    """What is expected of all rows, about the means that it was expected under."""

    n: Floats  # (K,)
    first: Floats  # (K, p)
    second: Floats  # (p, p)
    log_likelihood: float

    def plus(self, other: "Sums") -> "Sums":
        return Sums(
            self.n + other.n,
            self.first + other.first,
            self.second + other.second,
            self.log_likelihood + other.log_likelihood,
        )


def problems(stats: PatternMoments) -> list[Problem]:
    """Class by class, or, tied, all classes in one."""
    order, start = stats.groups()
    first = order[start[:-1]]
    code, whole = stats.codes[first], stats.whole
    tied, K = stats.shape == "tied", len(whole.n)
    found = []
    for k in range(1 if tied else K):
        low, high = (0, K) if tied else (k, k + 1)
        a, b = np.searchsorted(code, [low, high])  # groups are ordered by class
        rows = order[start[a] : start[b]]
        items = Items(
            stats.X[rows],
            stats.w[rows],
            start[a : b + 1] - start[a],
            code[a:b] - np.int32(low),
            stats.spread[first[a:b]],
            stats.S,
        )
        S = whole.S if tied else whole.S[k]
        found.append(Problem(whole.n[low:high], whole.mean[low:high], S, items))
    return found


def expect(problem: Problem, at: Point, ridge: float = 0.0, var: Floats | None = None) -> Sums:
    """The sums that the rows of a problem are expected to have under these parameters.

    ridge: the share of the variances `var` (p,) that is in the covariance beside what rows say. Each row
    then counts as another that has this share as its scatter: a prior, and the likelihood with it.
    """
    first, second = np.zeros_like(at.mean), np.zeros_like(at.cov)
    if len(at.cov) == 0:  # no column varies
        return Sums(problem.total, first, second, 0.0)
    inverse = precision(at.cov, 0.0 if ridge else WELL)
    if inverse is None:
        raise Singular
    total = problem.total
    logs, lacking = _core.expect(*problem.items, at.mean, inverse[0], first, second)
    d = problem.mean - at.mean
    first += problem.n[:, None] * d
    second += problem.S + (problem.n[:, None] * d).T @ d
    n, p = total.sum(), len(at.cov)
    square = float((inverse[0] * second).sum()) - lacking
    if var is not None:
        square += n * ridge * float(np.diagonal(inverse[0]) @ var)
    likelihood = -0.5 * (n * inverse[1] + logs + (n * p - lacking) * LOG_2PI + square)
    return Sums(total, first, second, likelihood)


def maximise(sums: Sums, at: Point) -> Point:
    """The most likely parameters for these sums: means move by Σwd/n, and the scatter with them."""
    if not sums.n.any():
        return at
    n = np.where(sums.n > 0, sums.n, 1.0)
    d = sums.first / n[:, None]
    cov = (sums.second - (sums.n[:, None] * d).T @ d) / sums.n.sum()
    cov = (cov + cov.T) / 2
    np.fill_diagonal(cov, np.maximum(np.diagonal(cov), 0.0))  # rounding may take a variance below 0
    return Point(at.mean + d, cov)


# ---- to the end ----------------------------------------------------------------------------------
def solve(problem: Problem, start: Point) -> FixedPoint:
    """The most likely parameters of one problem."""
    columns = np.intersect1d(varying(start), problem.seen)
    p, whole = len(columns), len(columns) == len(start.cov)
    some, begin = problem.take(columns), start if whole else taken(start, columns)
    way = cell_solver(some, begin) if pays(some) else partial(solve_rows, some, begin)
    (end,), steps, converged = by_ridges(p, len(problem.n), float(problem.n.sum()), way)
    return FixedPoint([end if whole else put_back(end, columns, start)], steps, converged)


def solve_rows(problem: Problem, start: Point, ridge: float) -> FixedPoint:
    """By steps over all columns."""

    def step(at: list[Point]) -> tuple[float, list[Point]]:
        if not definite(at[0].cov):
            return -np.inf, at  # a point that is no covariance is less likely than any
        sums = expect(problem, at[0], ridge, var)
        return sums.log_likelihood, [ridged(maximise(sums, at[0]), ridge, var)]

    var = np.diagonal(start.cov)
    end = find_fixed_point(step, [ridged(start, ridge, var)])
    return end._replace(ends=[ridged(one, -ridge, var) for one in end.ends])


def ridged(at: Point, ridge: float, var: Floats) -> Point:
    """With a share of these variances (p,) added."""
    return Point(at.mean, at.cov + np.diag(ridge * var)) if ridge else at


def beginnings(columns: ColumnMoments, *, tied: bool) -> list[Point]:
    """Where to start: columns as if independent. A class without a cell of a column has that of all rows.

    What no row speaks of stays as it was at the start, so this is also the answer there.
    """
    total, pooled, S = columns.pooled()
    var = np.divide(S, total, out=np.ones_like(S), where=total > 0)
    mean = np.where(columns.seen > 0, columns.mean, pooled)
    if tied:
        within = np.divide(columns.S.sum(axis=0), total, out=np.ones_like(S), where=total > 0)
        return [Point(mean, np.diag(within))]
    seen = columns.seen > 0
    own = np.where(seen, columns.S / np.where(seen, columns.seen, 1.0), var)
    return [Point(m[None], np.diag(v)) for m, v in zip(mean, own, strict=True)]


Countable = Moments | Deviations | PatternMoments | ShrinkageMoments


def completed(stats: Countable) -> Moments | Deviations:
    """The moments of the rows; if cells are missing, those that they would have had without."""
    if isinstance(stats, Moments | Deviations):
        return stats
    if isinstance(stats, ShrinkageMoments):
        joint = stats.joint()
        joint.solved = stats.gaps.solved
        found = completed(joint)
        stats.gaps.solved = joint.solved
        return found
    if stats.complete:
        return stats.whole
    if stats.solved is None:
        stats.solved = _solved(stats)
    return stats.solved


def _solved(stats: PatternMoments) -> Completed:
    columns, tied = stats.columns(), stats.shape == "tied"
    start = beginnings(columns, tied=tied)
    with one_thread_if(len(start[0].cov) ** 3 < SMALL):
        found = [solve(*each) for each in zip(problems(stats), start, strict=True)]
    ends = [one.ends[0] for one in found]
    end = FixedPoint(ends, max(one.steps for one in found), all(one.converged for one in found))
    return assembled(end, columns, tied=tied)


def assembled(end: FixedPoint, columns: ColumnMoments, *, tied: bool) -> Completed:
    """Parameters as the moments of rows that would have them."""
    n, mean = columns.n, np.concatenate([one.mean for one in end.ends])
    cov = np.stack([one.cov for one in end.ends])
    S = n.sum() * cov[0] if tied else n[:, None, None] * cov
    return Completed(n.copy(), mean, S, "tied" if tied else "full", end.steps, end.converged)
