"""Counts of words: a row is N draws, each with the same chances."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from likelier import scores as terms
from likelier.array_types import Floats
from likelier.data import Chunk, refuse_cells
from likelier.families.base import Columns, Conditioned, Support, given_and_rest, log_density
from likelier.families.counts import TINY, Factorials, counted, log_of, range_of, ratio
from likelier.scores import Affine, Based, Scores
from likelier.states import Sums

BLOCK = 1 << 22  # cells at once, of rows that lack some


@dataclass(frozen=True)
class DrawsGaps(Based):
    """b_k + Σ_j x_j ln(θ_kj / Σ θ_ki) over the columns that are there, i among them as well.

    exact: and the number of orders in which the draws can come.
    """

    by_class = ("b", "log_theta")
    shared = ("exact",)

    log_theta: Floats  # (K, p)
    exact: bool = False

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        n, p = chunk.X.shape
        theta, height = np.exp(self.log_theta), max(1, BLOCK // max(p, 1))
        for start in range(0, n, height):
            X = chunk.X.take(slice(start, start + height)).to_array()
            refuse_cells(X, gaps=True, first=chunk.first + start)
            there = ~np.isnan(X)
            x = np.where(there, X, 0.0)
            share = np.maximum(there @ theta.T, TINY)  # (n, K)
            z = self.b + x @ self.log_theta.T - x.sum(axis=1, keepdims=True) * np.log(share)
            rows = slice(start, start + height)
            Z[rows] = Z[rows] + z if add else z
        if self.exact:
            Factorials(np.zeros_like(self.b), drawn=True).write(chunk, Z, add=True)


@dataclass(frozen=True)
class Multinomials:
    """ln p(x | C_k, N) = ln N!/Πx_j! + Σ_j x_j ln θ_kj, given the total N = Σ_j x_j of the row.

    Of some columns alone it is the same with θ made to sum to 1 over them, given the total of these: so
    cells that are missing are dealt with. How many draws fall to which columns is not part of the model.
    """

    log_theta: Floats  # (K, p); may be -inf
    length: Floats  # (K,), the mean total of a row

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.log_theta.shape
        return K, p

    @property
    def support(self) -> Support | None:
        return range_of("multinomial")

    @property
    def free(self) -> int:
        K, p = self.shape
        return K * (p - 1)

    @property
    def W(self) -> Floats:
        return np.maximum(self.log_theta, np.log(TINY))

    @property
    def constant(self) -> Floats:
        return np.zeros(self.shape)

    def discriminants(self) -> Scores:
        zero, W = np.zeros(self.shape[0]), self.W
        return Scores((Affine(zero, W, np.zeros(self.shape[1])),), DrawsGaps(zero, W))

    def scores(self) -> Scores:
        """With the number of orders in which the draws can come."""
        zero, W = np.zeros(self.shape[0]), self.W
        line, orders = Affine(zero, W, np.zeros(self.shape[1])), Factorials(zero, drawn=True)
        return Scores((line, orders), DrawsGaps(zero, W, exact=True))

    def parts(self, X: Floats) -> Floats:
        """x_j ln θ_kj, column by column (n, K, p), θ over what is there; 0 where x_j is missing."""
        there = ~np.isnan(X)
        share = np.log(np.maximum(there @ np.exp(self.W).T, TINY))  # (n, K)
        own = self.W - np.where(there.all(axis=1, keepdims=True), 0.0, share)[:, :, None]
        return np.asarray(np.nan_to_num(X[:, None, :] * own, nan=0.0))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Rows of the mean total of their class, rounded."""
        theta = np.exp(self.log_theta)
        theta /= theta.sum(axis=1, keepdims=True)
        N = np.maximum(np.rint(self.length), 0).astype(np.int64)
        return rng.multinomial(N[codes], theta[codes]).astype(np.float64)

    def marginal(self, columns: Columns) -> "Multinomials":
        W = self.W[:, columns]
        share = np.exp(W).sum(axis=1)
        return Multinomials(W - np.log(share)[:, None], self.length * share)

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        """Each given the total of its own columns: p(given | its total), and p(rest | its total)."""
        columns, values, rest = given_and_rest(given, self.shape[1])
        if len(columns) == 0:
            return Conditioned(self, np.zeros(self.shape[0]))
        return Conditioned(self.marginal(rest), log_density(self.marginal(columns), values))

    def fill(self, X: Floats, P: Floats) -> Floats:
        """As many as the rest of the row leads one to expect: N θ_kj / Σ θ_ki, N and i of what is there.

        Of a row of which nothing is there, those of a row of mean length.
        """
        refuse_cells(X, gaps=True)
        there, theta = ~np.isnan(X), np.exp(self.log_theta)
        some = there.any(axis=1, keepdims=True)
        share = np.maximum(there @ theta.T, TINY)  # (n, K)
        draws = np.where(some, np.where(there, X, 0.0).sum(axis=1, keepdims=True) / share, self.length)
        return np.where(there, X, (P * draws) @ theta)


@dataclass(frozen=True)
class Multinomial:
    """θ = (Σx + α) / Σ_j (Σx + α): as if every word had been met α times more (Lidstone 1920).

    Where cells are missing, Σx is what it would be if they had been like those that are there.
    """

    alpha: float | Floats = 1.0  # or of each column, (p,)

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "multinomial")

    def estimate(self, stats: Sums, among: Sums | None = None) -> Multinomials:
        total = completed_counts(stats)
        smoothed = total + self.alpha
        whole = smoothed.sum(axis=1, keepdims=True)
        # A class without a count, and nothing to smooth it: all words alike.
        theta = smoothed / whole if whole.all() else ratio(smoothed, whole, 1 / total.shape[1])
        return Multinomials(log_of(theta), ratio(total.sum(axis=1), stats.n, 0.0))


def completed_counts(stats: Sums) -> Floats:
    """Σx as it would be if missing cells had been like those that are there."""
    if stats.gone is None:
        return stats.total
    total, seen = counted(stats)
    return total * ratio(stats.n[:, None], seen, 0.0)


@dataclass(frozen=True)
class Complements:
    """Weights -ln θ̃_kj from the words of all other classes; no density (Rennie et al. 2003)."""

    W: Floats  # (K, p)

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.W.shape
        return K, p

    @property
    def support(self) -> Support | None:
        return range_of("complement")

    @property
    def free(self) -> int:
        return self.W.size

    @property
    def constant(self) -> Floats:
        return np.zeros_like(self.W)

    def scores(self) -> Scores:
        """Σ_j W_kj x_j over the cells that are there."""
        return Scores((terms.Additive(np.zeros(self.shape[0]), self.W, self.constant),))

    def discriminants(self) -> Scores | None:
        return None

    def parts(self, X: Floats) -> Floats:
        return np.asarray(np.nan_to_num(self.W * X[:, None, :], nan=0.0))

    def _none(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AttributeError("complement naive Bayes has weights, and no density")

    sample = marginal = condition = fill = _none


@dataclass(frozen=True)
class Complement:
    """θ̃_k = (Σx of all other classes + α) / its sum; `norm`: the weights of a class made to sum to 1."""

    alpha: float | Floats = 1.0  # or of each column, (p,)
    norm: bool = False

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "complement")

    def estimate(self, stats: Sums) -> Complements:
        total = completed_counts(stats)
        others = np.maximum(total.sum(axis=0) - total, 0.0) + self.alpha
        theta = ratio(others, others.sum(axis=1, keepdims=True), 1 / total.shape[1])
        W = -np.log(np.maximum(theta, TINY))
        if self.norm:
            W = ratio(W, W.sum(axis=1, keepdims=True), 0.0)
        return Complements(W)
