"""Categories by their frequencies, and numbers as histograms."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import Block, Chunk, Dense, refuse_cells
from likelier.data.matrix import Cells
from likelier.families.base import Columns, Conditioned, Support, given_and_rest, log_density
from likelier.scores import Scores, TermWithConstant
from likelier.states.counts import (
    Beyond,
    BinCounts,
    Bins,
    Counts,
    Sizes,
    codes_of,
    lowest,
    places,
    refuse_code,
    resized,
)

# Densities that are looked up: a table of probabilities for each column.


@dataclass(frozen=True)
class TableTerm(TermWithConstant):
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
class BinTableTerm(TableTerm):
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

    def described(self, column: int) -> str:
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
class TableDensity(ABC):
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


# Categories, by their frequencies.

TINY = 1e-300  # a pseudo-count that no frequency notices, and that has a logarithm


@dataclass(frozen=True)
class Categories(TableDensity):
    """p(x_j = l | C_k). With `unknown`, the last of each column stands for all codes from there on.

    Without, such codes say nothing of the class.
    """

    levels: Sizes  # (p,): how many probabilities each column has
    unknown: bool

    @property
    def sizes(self) -> Sizes:
        return self.levels

    @property
    def support(self) -> Support | None:
        return Codes()

    @property
    def _beyond(self) -> Beyond:
        return "last" if self.unknown else "missing"

    def scores(self) -> Scores:
        zero = np.zeros(self.shape[0])
        return Scores((TableTerm(zero, with_gap(self.log_p), self.levels, self._beyond),))

    def discriminants(self) -> Scores | None:
        return None

    def marginal(self, columns: Columns) -> Self:
        return type(self)(self.of(columns), self.levels[columns], self.unknown)

    def _likely(self, j: int) -> Floats:
        """The unknown category is drawn never: it has no value."""
        likely = super()._likely(j)
        if self.unknown and len(likely) > 1:
            likely[-1] = 0
        return likely

    def _drawn(self, j: int, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return codes.astype(np.float64)

    def _filled(self, j: int, P: Floats) -> Floats:
        """The likeliest."""
        return np.asarray(np.argmax(P @ self._likely(j).T, axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Categorical:
    """p(x_j = l | C_k) = (N_kl + α) / (N_k + α L), with N_k cells that are there (Laplace).

    sizes: how many categories each column has; None: as many as were met, at least `least`. With
    `unknown`, all codes from there on are one category more, so that probability is kept for it.
    """

    sizes: Any  # (p,) or None
    alpha: float = 1.0
    unknown: bool = True
    least: Any = 0

    def stats(self, K: int, p: int) -> Counts:
        if self.sizes is None:
            return Counts.growing(K, p)
        held = np.broadcast_to(np.asarray(self.sizes, dtype=np.int64), (p,))
        return Counts.start(K, held + 1, "last") if self.unknown else Counts.start(K, held)

    def probability(self, own: Tally, every: Tally, size: NDArray[Any]) -> Floats:
        """A class without a cell of a column has the frequencies of all classes."""
        alpha, blank = max(self.alpha, TINY), own.total <= 0
        count, total = np.where(blank, every.count, own.count), np.where(blank, every.total, own.total)
        return np.asarray((count + alpha) / (total + alpha * size))

    def estimate(self, stats: Counts) -> Categories:
        """A class without any rows takes all categories for equally likely."""
        sizes = np.maximum(stats.sizes, np.maximum(self.least, 1)).astype(np.int64)
        own, every = tallies(resized(stats.counts, stats.sizes, sizes), sizes)
        size = np.repeat(sizes, sizes)[:, None]
        p = np.where(stats.n > 0, self.probability(own, every, size), 1 / size)
        return Categories(np.log(p), sizes, stats.beyond == "last")


# Numbers of no known shape, by the frequencies of bins.


@dataclass(frozen=True)
class TailTerm(TermWithConstant):
    """b_k - Σ_j (how far x_j lies beyond the outermost edges) / tail_j: the same for all classes."""

    bins: tuple[Bins, ...]

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        X = chunk.X.to_array()
        refuse_cells(X, gaps=True, first=chunk.first)
        low, high = (np.array([one.edges[end] for one in self.bins]) for end in (0, -1))
        beyond = np.maximum(np.maximum(low - X, X - high), 0) / [one.tail for one in self.bins]
        z = self.b - np.nansum(beyond, axis=1)[:, None]
        Z[...] = Z + z if add else z


@dataclass(frozen=True)
class Histograms(TableDensity):
    """p(x_j | C_k) = p(bin | C_k) / width; beyond the outermost edges it falls exponentially.

    The outermost bins weigh so much less between their edges that each has its probability in all. An
    atom has a probability instead: ln p(x) is then that of a mass.
    """

    bins: tuple[Bins, ...]

    @property
    def sizes(self) -> Sizes:
        return np.array([len(one) for one in self.bins], dtype=np.int64)

    def scores(self) -> Scores:
        widths = np.concatenate([np.empty(0), *(one.widths for one in self.bins)])
        density = self._term(self.log_p - np.log(widths)[:, None])
        return Scores((density, TailTerm(np.zeros(self.shape[0]), self.bins)))

    def discriminants(self) -> Scores | None:
        """Widths and tails are the same for all classes."""
        return Scores((self._term(self.log_p),))

    def _term(self, table: Floats) -> BinTableTerm:
        return BinTableTerm(np.zeros(self.shape[0]), with_gap(table), self.sizes, "missing", self.bins)

    def marginal(self, columns: Columns) -> Self:
        return type(self)(self.of(columns), tuple(self.bins[j] for j in columns))

    def _drawn(self, j: int, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Anywhere between the edges of a bin, or in its tail."""
        bins = self.bins[j]
        left, right, tail = bins.edges[:-1][codes], bins.edges[1:][codes], bins.tail
        below, above = np.where(codes == 0, tail, 0.0), np.where(codes == len(bins) - 1, tail, 0.0)
        u = rng.random(len(codes)) * (below + (right - left) + above) - below
        far = rng.exponential(tail, len(codes))
        x = np.where(u < 0, left - far, np.where(u < right - left, left + u, right + far))
        return np.asarray(np.where(bins.atoms[codes], left, x))

    def _filled(self, j: int, P: Floats) -> Floats:
        return np.asarray(P @ (self._likely(j).T @ self.bins[j].means))


@dataclass(frozen=True)
class Histogram:
    """p(b | C_k) = (N f_kb + α) / (N + α B): frequencies f_kb among B bins of N cells.

    f_kb = (N_kb + r f_b) / (N_k + r), as if each class had besides its own rows r = `prior_rows` more like
    those of all classes, f_b = Σ_k N_kb / N: of a class of one or two rows little else is known. Of N, not
    of N_k: a bin without rows is then as likely in every class, and speaks for none. (Laplace's
    (N_kb + α) / (N_k + α B) has it speak for the smallest class.)
    """

    bins: tuple[Bins, ...]  # p of them
    alpha: float = 4.0
    prior_rows: float = 0.0

    def stats(self, K: int, p: int) -> BinCounts:
        return BinCounts.start(K, self.bins)

    def probability(self, own: Tally, every: Tally, size: NDArray[Any]) -> Floats:
        """A class without a cell of a column has the frequencies of all classes."""
        some, there = every.total > 0, own.total + self.prior_rows > 0
        of_all = np.divide(every.count, every.total, out=np.zeros(every.count.shape), where=some)
        f = (own.count + self.prior_rows * of_all) / np.where(there, own.total + self.prior_rows, 1.0)
        f = np.where(there & some, f, of_all)
        alpha = max(self.alpha, TINY)
        return np.asarray((every.total * f + alpha) / (every.total + alpha * size))

    def estimate(self, stats: BinCounts) -> Histograms:
        sizes = stats.counts.sizes
        own, every = tallies(stats.counts.counts, sizes)
        return Histograms(
            np.log(self.probability(own, every, np.repeat(sizes, sizes)[:, None])), stats.bins
        )
