"""Densities made of kernels: a Gaussian about every row that was seen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from likelier.data import Chunk, Dense, refuse_cells
from likelier.families.base import Columns, Conditioned, Floats, Support, given_and_rest
from likelier.families.gaussian import LOG_2PI
from likelier.families.kernel_terms import MANY, KernelSum, Tabulated
from likelier.scores import NEARER, Scores

BLOCK = 1 << 20  # cells of a table of rows by points, in NumPy


@dataclass(frozen=True)
class Kernels:
    """p(x | C_k) = Σ_i w_i Π_j N(x_j; c_ij, h_kj²): points, one class after another, and bandwidths.

    A point that lacks a cell has in its place the density of that column alone, Σ_i v_i N(x_j; c_ij, h_kj²)
    over the points of its class that have one: all of p(x | C_k) is a density, whose marginals are those of
    the same points.
    """

    points: Floats  # (m, p), NaN where missing; each class has some cell of each column
    log_w: Floats  # (m,), ln of the shares of their class
    log_v: Floats  # (m,), the same, as they were before anything was known
    start: NDArray[np.int64]  # (K + 1,): class k has the points from start[k] to start[k + 1]
    h: Floats  # (K, p)

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.h.shape
        return K, p

    @property
    def support(self) -> Support | None:
        return None

    @property
    def free(self) -> int:
        """The cells that are kept."""
        return int(np.count_nonzero(~np.isnan(self.points)))

    def discriminants(self) -> Scores | None:
        return None

    @cached_property
    def sum(self) -> KernelSum:
        cells = np.where(np.isnan(self.points), np.inf, self.points)
        return KernelSum(np.zeros(len(self.h)), cells, self.log_w, self.log_v, self.start, self.h)

    def scores(self) -> Scores:
        if self.shape[1] == 1 and np.diff(self.start).max() > MANY:
            return Scores((Tabulated.of(self.sum),))
        return Scores((self.sum,))

    def parts(self, X: Floats) -> Floats:
        """ln p(x_j | C_k) of a single column, (n, K, 1); 0 where it is missing."""
        Z = np.empty((len(X), self.shape[0]))
        self.scores().write(Chunk(Dense(X)), Z)
        return Z[:, :, None]

    def _of(self, k: int) -> slice:
        return slice(int(self.start[k]), int(self.start[k + 1]))

    @cached_property
    def means(self) -> Floats:
        """E[x_j | C_k] of each column alone, (K, p)."""
        there, shares = ~np.isnan(self.points), np.exp(self.log_v)[:, None]
        seen = np.add.reduceat(shares * there, self.start[:-1])
        half = self.points / 2  # so that no difference overflows
        first = half[self.start[:-1]]  # about a point: digits far from 0
        about = np.where(np.isnan(first), 0.0, first)
        off = np.where(there, half - np.repeat(about, np.diff(self.start), axis=0), 0.0)
        return np.asarray(2 * (about + np.add.reduceat(shares * off, self.start[:-1]) / seen))

    @property
    def expected(self) -> Floats:
        """E[x_j | C_k], (K, p)."""
        means = np.repeat(self.means, np.diff(self.start), axis=0)
        off = np.where(np.isnan(self.points), 0.0, self.points / 2 - means / 2)
        w = np.exp(self.log_w)[:, None]
        return np.asarray(2 * (self.means / 2 + np.add.reduceat(w * off, self.start[:-1])))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """A point, and a Gaussian step from it."""
        X = np.empty((len(codes), self.shape[1]))
        for k in np.unique(codes):
            rows, own = np.flatnonzero(codes == k), self._of(k)
            points, w = self.points[own], np.exp(self.log_w[own])
            X[rows] = points[rng.choice(len(w), len(rows), p=w / w.sum())]
            for j in np.flatnonzero(np.isnan(points).any(axis=0)):
                lacking = rows[np.isnan(X[rows, j])]
                v = np.where(np.isnan(points[:, j]), 0.0, np.exp(self.log_v[own]))
                X[lacking, j] = points[rng.choice(len(v), len(lacking), p=v / v.sum()), j]
        return X + self.h[codes] * rng.standard_normal(X.shape)

    def marginal(self, columns: Columns) -> "Kernels":
        points = np.ascontiguousarray(self.points[:, columns])  # as kernels read them
        return replace(self, points=points, h=np.ascontiguousarray(self.h[:, columns]))

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        """Points weighed by how near they are to what is known."""
        columns, values, rest = given_and_rest(given, self.shape[1])
        K = len(self.h)
        if len(columns) == 0:
            return Conditioned(self, np.zeros(K))
        known, seen, log_w = self.marginal(columns), np.empty(K), np.empty_like(self.log_w)
        for k in range(K):
            a = known._exponents(k, values[None, :])[0]
            seen[k] = logsumexp(a)
            log_w[self._of(k)] = a - seen[k]
        return Conditioned(replace(self.marginal(rest), log_w=log_w), seen)

    def _exponents(self, k: int, X: Floats) -> Floats:
        """ln (w_i Π_j N(x_j; c_ij, h_kj²)) of every point of a class, (n, m_k)."""
        own = self._of(k)
        a = np.repeat(self.log_w[None, own], len(X), axis=0)
        for j, h in enumerate(self.h[k]):
            c, known = self.points[own, j], np.flatnonzero(~np.isnan(X[:, j]))
            part = -0.5 * (((X[known, j, None] - c) / h) ** 2 + LOG_2PI) - np.log(h)
            gone = np.isnan(c)
            if gone.any():
                v = self.log_v[own][~gone]
                part[:, gone] = logsumexp(part[:, ~gone] + (v - logsumexp(v)), axis=1)[:, None]
            a[known] += part
        return a

    def _comparable(self, k: int, X: Floats) -> Floats:
        """`_exponents`, of rows so far off that all squares overflow those of rows drawn towards 0."""
        with np.errstate(over="ignore"):
            a, rows = self._exponents(k, X), np.arange(len(X))
            while len(rows := rows[np.isneginf(a[rows]).all(axis=1) & (np.abs(X[rows]) > 1).any(axis=1)]):
                X = X.copy()
                X[rows] = np.ldexp(X[rows], NEARER)
                a[rows] = self._exponents(k, X[rows])
        return a

    def fill(self, X: Floats, P: Floats) -> Floats:
        """The mean of the points, weighed by how near they are to what is there."""
        refuse_cells(X, gaps=True)
        out, (rows, columns) = X.copy(), np.nonzero(np.isnan(X))
        out[rows, columns] = 0.0
        lacking = np.unique(rows)
        for k in range(len(self.h)):
            own = self._of(k)
            points = np.where(np.isnan(self.points[own]), self.means[k], self.points[own])
            step = max(1, BLOCK // max(1, len(points)))
            for some in (lacking[i : i + step] for i in range(0, len(lacking), step)):
                a = self._comparable(k, X[some])
                r = np.exp(a - logsumexp(a, axis=1, keepdims=True))  # (n, m_k)
                out[some] += np.where(np.isnan(X[some]), P[some, k, None] * (r @ points), 0.0)
        return out
