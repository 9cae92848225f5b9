"""Densities that are looked up: a table of probabilities for each column."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Block, Chunk, Dense
from likelier.data.matrix import Cells
from likelier.families.base import Columns, Conditioned, Floats, Support, given_and_rest, log_density
from likelier.scores import Based, Scores
from likelier.states.bins import Bins, codes_of
from likelier.states.counts import Beyond, Counts, Sizes, lowest, places, refuse_code


@dataclass(frozen=True)
class Table(Based):
    """b_k + Σ_j table[first_j + x_j, k]; a missing cell adds the last row of the table, which is 0."""

    table: Floats  # (Σ sizes + 1, K)
    sizes: Sizes  # (p,)
    beyond: Beyond

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        self._look_up(chunk, lowest(chunk.X), Z, add)

    def _look_up(self, chunk: Chunk, low: Floats, Z: Floats, add: bool) -> None:
        X, slots = chunk.X.native(), places(self.sizes, self.beyond)
        refuse_code(chunk, _core.look_up(X, *slots, low, self.table, self.b, Z, add))

    def beside(self, others: Sequence[Any]) -> Self | None:
        """Tables side by side, if they have the same rows."""
        every = (self, *others)
        if not all(np.array_equal(self.sizes, o.sizes) and self.beyond == o.beyond for o in others):
            return None
        table = np.concatenate([o.table for o in every], axis=1)
        return replace(self, b=np.concatenate([o.b for o in every]), table=table)


@dataclass(frozen=True)
class BinTable(Table):
    """The same of the bins that cells are in."""

    bins: tuple[Bins, ...]

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        codes = codes_of(self.bins, chunk)
        self._look_up(chunk._replace(X=codes), np.full(len(self.bins), -1.0), Z, add)

    def beside(self, others: Sequence[Any]) -> Self | None:
        same = all(
            np.array_equal(a.edges, b.edges)
            for other in others
            for a, b in zip(self.bins, other.bins, strict=True)
        )
        return super().beside(others) if same else None


def with_gap(table: Floats) -> Floats:
    """One more row, of zeros: what a missing cell adds."""
    return np.vstack([table, np.zeros(table.shape[1])])


class Frequencies(Protocol):
    """From counts to probabilities, entry by entry."""

    def probability(self, own: "Tally", every: "Tally", size: NDArray[Any], /) -> Floats:
        """Of a class that counts `own`, where all classes count `every`, in a column of `size` entries."""


@dataclass(frozen=True)
class Tally:
    """How many cells an entry has, and how many there are in all entries of its column."""

    count: Floats
    total: Floats

    def without(self, w: Floats) -> "Tally":
        """But for w of a cell that is in it."""
        return Tally(np.maximum(self.count - w, 0.0), np.maximum(self.total - w, 0.0))


def tallies(counts: Floats, sizes: Sizes) -> tuple[Tally, Tally]:
    """Of each entry of a table (Σ sizes, K), by class, and of all classes (Σ sizes, 1)."""
    first = np.cumsum(sizes) - sizes
    pooled = counts.sum(axis=1, keepdims=True)
    totals = (np.repeat(np.add.reduceat(each, first, axis=0), sizes, axis=0) for each in (counts, pooled))
    own, every = totals
    return Tally(counts, own), Tally(pooled, every)


def left_out(
    family: Frequencies, found: Counts, cells: NDArray[Any], codes: NDArray[Any], w: Floats
) -> Floats:
    """ln p(x_j | C_k) of cells, entries (n, q) of the table or -1, (n, K, q); 0 where one is missing.

    In its own class, of which `codes` (n,) are the numbers, each row is left out with a weight w (n,).
    """
    own, every = tallies(found.counts, found.sizes)
    size = np.repeat(found.sizes, found.sizes)[:, None]
    table = with_gap(np.log(family.probability(own, every, size)))
    Z = np.moveaxis(table[cells], 2, 1)  # (n, K, q)
    at = np.maximum(cells, 0), codes[:, None]
    mine = Tally(own.count[at], own.total[at]).without(w[:, None])
    rest = Tally(every.count[at[0], 0], every.total[at[0], 0]).without(w[:, None])
    p = family.probability(mine, rest, size[at[0], 0])
    Z[np.arange(len(Z)), codes] = np.where(cells < 0, 0.0, np.log(p))
    return np.asarray(Z)


@dataclass(frozen=True)
class Codes:
    """Category codes: whole numbers from 0 on. Which cells are none, one native pass says."""

    values: ClassVar[str] = "categories: whole numbers from 0 on"

    def said(self, column: int) -> str:
        return f"categorical takes {self.values}"

    def outside(self, X: Block) -> Cells:
        low = lowest(X)
        if _core.no_code(X.native(), low) is None:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        return X.where(_no_code)


def _no_code(x: NDArray[Any]) -> NDArray[np.bool_]:
    """Infinite cells are not among these: those are refused."""
    if x.dtype.kind in "bu":
        return np.zeros(x.shape, dtype=np.bool_)
    return np.asarray(np.isfinite(x) & ((x < 0) | (x != np.floor(x))))


@dataclass(frozen=True)
class Tabled(ABC):
    """p(x | C_k) = Π_j p(x_j | C_k), each column with a table of probabilities of its own size."""

    log_p: Floats  # (Σ sizes, K): the logarithms of each column's probabilities

    @property
    @abstractmethod
    def sizes(self) -> Sizes:
        """How many probabilities each column has, (p,)."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.log_p.shape[1], len(self.sizes)

    @property
    def support(self) -> Support | None:
        return None

    @property
    def free(self) -> int:
        K, p = self.shape
        return K * (int(self.sizes.sum()) - p)

    @abstractmethod
    def scores(self) -> Scores: ...

    @abstractmethod
    def discriminants(self) -> Scores | None: ...

    @abstractmethod
    def marginal(self, columns: Columns) -> Self: ...

    @abstractmethod
    def _drawn(self, j: int, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Values of column j, from the codes that were drawn."""

    @abstractmethod
    def _filled(self, j: int, P: Floats) -> Floats:
        """What is expected of column j, (n,), the classes weighed by P (n, K)."""

    def rows(self, j: int) -> slice:
        """Those of column j in the table."""
        end = int(self.sizes[: j + 1].sum())
        return slice(end - int(self.sizes[j]), end)

    def of(self, columns: Columns) -> Floats:
        """The tables of these columns, one below the other."""
        none = np.empty((0, self.log_p.shape[1]))
        return np.concatenate([none, *(self.log_p[self.rows(j)] for j in columns)])

    def _likely(self, j: int) -> Floats:
        """p(code | C_k) of column j, (size, K), from which codes are drawn."""
        return np.asarray(np.exp(self.log_p[self.rows(j)]))

    def parts(self, X: Floats) -> Floats:
        """ln p(x_j | C_k), column by column: (n, K, p); 0 where x_j is missing."""
        out = np.empty((*X.shape[:1], *self.shape))
        for j in range(self.shape[1]):
            one, Z = self.marginal(np.array([j])), np.empty((len(X), self.shape[0]))
            one.scores().write(Chunk(Dense(X[:, [j]])), Z)
            out[:, :, j] = Z
        return out

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        K, p = self.shape
        X = np.empty((len(codes), p))
        for j in range(p):
            u = rng.random(len(codes))
            up_to = np.cumsum(self._likely(j), axis=0)  # (size, K)
            drawn = np.zeros(len(codes), dtype=np.intp)
            for k in range(K):
                own = codes == k
                drawn[own] = np.searchsorted(up_to[:, k], u[own] * up_to[-1, k], side="right")
            X[:, j] = self._drawn(j, drawn, rng)
        return X

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        """What is known says nothing of the rest."""
        columns, values, rest = given_and_rest(given, self.shape[1])
        if len(columns) == 0:
            return Conditioned(self, np.zeros(self.shape[0]))
        return Conditioned(self.marginal(rest), log_density(self.marginal(columns), values))

    def fill(self, X: Floats, P: Floats) -> Floats:
        out = X.copy()
        for j in range(self.shape[1]):
            gone = np.isnan(X[:, j])
            if gone.any():
                out[gone, j] = self._filled(j, P[gone])
        return out
