"""Dirichlet columns: shares of a whole."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import Block, Chunk, OutOfSupport, refuse_cells
from likelier.data.matrix import Cells
from likelier.families.base import LEAST, Columns, Conditioned, Range, given_and_rest, log_density
from likelier.families.gamma_beta import Ratios, dirichlet_alpha, refuse_numbers, spreads, stirling
from likelier.families.missing import Gaps, Marginals
from likelier.scores import Scores
from likelier.states.sums import PositiveMoments

ROUNDING = 1e-6  # by how much a row's sum may be off


@dataclass(frozen=True)
class Shares:
    """Cells as shares of their row's whole. `rest`: of a whole that has more to it, the rest as well.

    Also the support: numbers above 0 whose sum is the whole, or, if there is a rest or a cell is missing,
    less. The whole of a row is 1, or what is left of it.
    """

    whole: float = 1.0
    rest: bool = False

    def width(self, p: int) -> int:
        return p + self.rest

    def of(self, X: Block) -> Floats:
        """Of rows that lack a cell, none."""
        x = X.to_array()
        if self.rest:
            left = np.maximum(self.whole - x.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            return np.hstack([x, left]) / self.whole
        return np.asarray(x / x.sum(axis=1, keepdims=True))

    def refuse(self, chunk: Chunk) -> None:
        refuse_numbers(Range("dirichlet", self._said(), low=LEAST), chunk)
        rows = np.flatnonzero(self._off(chunk.X.to_array()))
        if len(rows):
            row = int(rows[0])
            total = np.nansum(chunk.X.take(rows[:1]).to_array())
            why = f"dirichlet takes {self._said()}; those of this row come to {total:g}"
            raise OutOfSupport(chunk.first + row, 0, chunk.X.cell(row, 0), why=why)

    def outside(self, X: Block) -> Cells:
        """Cells that are not above 0; if the sum of the others is off, all of the row."""
        x = X.to_array()
        bad = x <= 0
        bad |= self._off(np.where(bad, np.nan, x))[:, None] & ~np.isnan(x)
        rows, columns = np.nonzero(bad)
        return rows, columns

    def described(self, column: int) -> str:
        return f"dirichlet takes {self._said()}"

    def _said(self) -> str:
        return f"numbers above 0 whose sum over its columns is {self.whole:g}"

    def _off(self, x: Floats) -> NDArray[np.bool_]:
        some = np.isnan(x).any(axis=1) | self.rest
        total = np.nansum(x, axis=1) / self.whole
        return np.asarray(np.where(some, total >= 1, np.abs(total - 1) > ROUNDING))


@dataclass(frozen=True)
class Dirichlets:
    """Γ(A) Π_j x_j^(α_j-1) / Γ(α_j), A = Σ α_j, over the rows whose sum is 1, as a density of all but one.

    Some of the columns have, with what is left to 1 as one more, again such a density, and so have the
    others, knowing some, as shares of what these leave: `rest` is the α of what is not among the columns
    (0: there is no such thing), `whole` what the columns and the rest sum to.
    """

    alpha: Floats  # (K, p)
    rest: Floats  # (K,)
    whole: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.alpha.shape
        return K, p

    @property
    def support(self) -> Shares:
        return Shares(self.whole, bool(self.rest.any()))

    @property
    def free(self) -> int:
        return self.alpha.size + int(np.count_nonzero(self.rest))

    def scores(self) -> Scores:
        """By shares of the whole, whose density has the whole's power besides."""
        alpha = np.hstack([self.alpha, self.rest[:, None]]) if self.support.rest else self.alpha
        A = alpha.sum(axis=1)
        b = -stirling(A) - (alpha.shape[1] - 1) * np.log(self.whole)
        term = Ratios(b, alpha, alpha / A[:, None], stirling(alpha), self.support)
        return Scores((term,), Gaps(np.zeros(self.shape[0]), Marginals(self)))

    def discriminants(self) -> Scores | None:
        return None

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Gamma numbers, by their logarithms, as shares: of a small α they would round to 0."""
        alpha = np.hstack([self.alpha, self.rest[:, None]])[codes]
        with np.errstate(divide="ignore"):  # of no rest, nothing: ln 0
            logs = np.log(rng.standard_gamma(alpha + 1)) + np.log1p(-rng.random(alpha.shape)) / alpha
        u = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares = (u / u.sum(axis=1, keepdims=True))[:, : self.shape[1]]
        return np.asarray(np.maximum(shares, np.finfo(np.float64).tiny) * self.whole)

    def marginal(self, columns: Columns) -> "Dirichlets":
        others = np.setdiff1d(np.arange(self.shape[1]), columns)
        return replace(
            self, alpha=self.alpha[:, columns], rest=self.rest + self.alpha[:, others].sum(axis=1)
        )

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        columns, values, rest = given_and_rest(given, self.shape[1])
        if len(columns) == 0:
            return Conditioned(self, np.zeros(self.shape[0]))
        left = replace(self, alpha=self.alpha[:, rest], whole=self.whole - float(values.sum()))
        return Conditioned(left, log_density(self.marginal(columns), values))

    def expect(self, rest: Columns, given: Columns, X: Floats) -> Floats:
        """E[x_rest | x_given, C_k] of rows X (n, given): (K, n, rest), shares of what is left."""
        alpha = self.alpha[:, rest]
        share = alpha / (alpha.sum(axis=1) + self.rest)[:, None]
        return np.asarray((self.whole - X.sum(axis=1))[:, None] * share[:, None, :])

    def fill(self, X: Floats, P: Floats) -> Floats:
        refuse_cells(X, gaps=True)
        return Marginals(self).fill(X, P)


@dataclass(frozen=True)
class Dirichlet:
    """The most likely α: ψ(α_j) - ψ(A) = mean ln x_j, by Newton's steps (Minka 2000), of complete rows.

    `smoothing` rows are added to each class that vary as all classes do; no spread is below `floor` times
    that of all rows.
    """

    smoothing: float = 1.0
    floor: float = 1e-9

    def stats(self, K: int, p: int) -> PositiveMoments:
        return PositiveMoments.start(K, p, Shares())

    def estimate(self, stats: PositiveMoments, among: PositiveMoments | None = None) -> Dirichlets:
        mean, gap = spreads(stats, self.smoothing, self.floor, together=True, among=among)
        alpha = dirichlet_alpha(mean / mean.sum(axis=1, keepdims=True), gap)
        return Dirichlets(alpha, np.zeros(len(alpha)))
