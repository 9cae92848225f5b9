"""Groups of columns, independent given the class, each with a family of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import Block, Chunk, Dense
from likelier.data.matrix import Cells
from likelier.families.base import Columns, Conditioned, Family, Independent, Params, Support, log_density
from likelier.families.categorical import TableDensity
from likelier.families.missing import share_out
from likelier.scores import Among, Scores, TermWithConstant
from likelier.states import Parts
from likelier.states.moments import weights

# Groups of columns, independent given the class, each with a family of its own.


@runtime_checkable
class ByColumn(Protocol):
    """Parameters of columns that are independent: each column adds its own part."""

    def parts(self, X: Floats) -> Floats: ...


class Group(NamedTuple):
    """The density of some columns."""

    columns: Columns
    params: Params


@dataclass(frozen=True)
class Supports:
    """Groups of columns, each with a support of its own, if it has any."""

    groups: tuple[tuple[Columns, Support], ...]

    def described(self, column: int) -> str:
        for columns, support in self.groups:
            if column in columns:
                return support.described(int(np.flatnonzero(columns == column)[0]))
        raise AssertionError(column)

    def outside(self, X: Block) -> Cells:
        found = [np.empty((2, 0), dtype=np.intp)]
        for columns, support in self.groups:
            rows, at = support.outside(X.select(columns))
            found.append(np.stack([rows, columns[at]]))
        rows, at = np.concatenate(found, axis=1)
        return rows, at


@dataclass(frozen=True)
class Mixed:
    """p(x | C_k) = Π_g p(x_g | C_k): groups of columns, which together are all of them."""

    groups: tuple[Group, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return self.groups[0].params.shape[0], sum(len(group.columns) for group in self.groups)

    @property
    def support(self) -> Support | None:
        some = [(columns, params.support) for columns, params in self.groups]
        held = tuple((columns, support) for columns, support in some if support is not None)
        return Supports(held) if held else None

    @property
    def free(self) -> int:
        return sum(group.params.free for group in self.groups)

    def scores(self) -> Scores:
        return self._sum(params.scores() for _, params in self.groups)

    def discriminants(self) -> Scores | None:
        cheaper = [params.discriminants() for _, params in self.groups]
        if not any(cheaper):
            return None
        return self._sum(
            params.scores() if found is None else found
            for found, (_, params) in zip(cheaper, self.groups, strict=True)
        )

    def _sum(self, each: Iterator[Scores]) -> Scores:
        zero, pairs = np.zeros(self.shape[0]), zip(self.groups, each, strict=True)
        return Scores(tuple(Among(zero, group.columns, scores) for group, scores in pairs))

    def parts(self, X: Floats) -> Floats:
        """What each column adds to ln p(x | C_k): (n, K, p); 0 where it is missing.

        What no column of a group adds by itself is shared equally by those of the group that are there.
        """
        out = np.zeros((len(X), *self.shape))
        for columns, params in self.groups:
            some = X[:, columns]
            own = np.zeros((len(X), self.shape[0], len(columns)))
            if isinstance(params, ByColumn):
                own = params.parts(some)
            if not isinstance(params, Independent | TableDensity):
                Z = np.empty((len(X), self.shape[0]))
                params.scores().write(Chunk(Dense(some)), Z)
                share_out(own, Z, some)
            out[:, :, columns] = own
        return out

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        X = np.empty((len(codes), self.shape[1]))
        for columns, params in self.groups:
            X[:, columns] = params.sample(codes, rng)
        return X

    def fill(self, X: Floats, P: Floats) -> Floats:
        out = X.copy()
        for columns, params in self.groups:
            out[:, columns] = params.fill(X[:, columns], P)
        return out

    def marginal(self, columns: Columns) -> "Mixed":
        place = {int(j): i for i, j in enumerate(columns)}
        groups = []
        for own, params in self.groups:
            kept = np.array([i for i, j in enumerate(own) if int(j) in place], dtype=np.intp)
            if len(kept):
                at = np.array([place[int(j)] for j in own[kept]], dtype=np.intp)
                whole = len(kept) == len(own)
                groups.append(Group(at, params if whole else params.marginal(kept)))
        return Mixed(tuple(groups))

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        """Each group by what is known of its own columns."""
        left = [j for j in range(self.shape[1]) if j not in given]
        place = {j: i for i, j in enumerate(left)}
        groups, log_given = [], np.zeros(self.shape[0])
        for own, params in self.groups:
            known = {i: given[int(j)] for i, j in enumerate(own) if int(j) in given}
            rest = np.array([place[int(j)] for j in own if int(j) not in given], dtype=np.intp)
            if not known:
                groups.append(Group(rest, params))
                continue
            if len(rest):
                params, seen = params.condition(known)
                groups.append(Group(rest, params))
            else:
                seen = log_density(params, np.array([known[i] for i in range(len(own))]))
            log_given += seen
        return Conditioned(Mixed(tuple(groups)), log_given)


@dataclass(frozen=True)
class MixedFamily:
    """A family for each group of columns."""

    groups: tuple[tuple[Columns, Family], ...]

    def stats(self, K: int, p: int) -> Parts:
        held = sorted(int(j) for columns, _ in self.groups for j in columns)
        if held != list(range(p)):
            raise ValueError(f"families: of {p} columns each needs one family; columns {held} have one")
        states = (family.stats(K, len(columns)) for columns, family in self.groups)
        return Parts(tuple(columns for columns, _ in self.groups), tuple(states))

    def estimate(self, stats: Parts) -> Mixed:
        pairs: Any = zip(self.groups, stats.states, strict=True)
        return Mixed(tuple(Group(columns, family.estimate(own)) for (columns, family), own in pairs))


# Columns that are the same in all classes: they say how likely a row is, and nothing of its class.


@dataclass
class PooledStatistics:
    """Statistics of all classes together, and the weight n (K,) of each."""

    n: Floats
    state: Any

    @property
    def nbytes(self) -> int:
        return int(self.n.nbytes + self.state.nbytes)

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        w = weights(chunk)
        if chunk.y.ndim == 2:
            n = chunk.y.sum(axis=0) if w is None else w @ chunk.y
            y: NDArray[Any] = chunk.y.sum(axis=1, keepdims=True)
        else:
            known = chunk.y >= 0
            n = np.bincount(chunk.y[known], None if w is None else w[known], len(self.n))
            y = np.minimum(chunk.y, 0)
        self.state.update(chunk._replace(y=y))  # first: it may refuse the chunk
        self.n = self.n + n

    def merge(self, other: Self) -> None:
        self.n = self.n + other.n
        self.state.merge(other.state)

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, PooledStatistics) and bool(self.state.mergeable(other.state))

    def finite(self) -> bool:
        """False if squares or weights have overflowed."""
        return bool(np.isfinite(self.n).all() and self.state.finite())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = np.zeros(K)
        wide[at] = self.n
        return replace(self, n=wide)


@dataclass(frozen=True)
class ConstantTerm(TermWithConstant):
    """b_k."""

    by_class = ("b",)

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        Z[...] = Z + self.b if add else self.b


@dataclass(frozen=True)
class RepeatedTerm(TermWithConstant):
    """b_k + z(x): one score for all classes."""

    scores: Scores

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        z = np.empty((len(Z), 1))
        self.scores.write(chunk, z)
        Z[...] = Z + (z + self.b) if add else z + self.b


@dataclass(frozen=True)
class SharedDensity:
    """p(x | C_k) = p(x)."""

    params: Params  # of one class
    K: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.K, self.params.shape[1]

    @property
    def support(self) -> Support | None:
        return self.params.support

    @property
    def free(self) -> int:
        return self.params.free

    def scores(self) -> Scores:
        return Scores((RepeatedTerm(np.zeros(self.K), self.params.scores()),))

    def discriminants(self) -> Scores | None:
        return Scores((ConstantTerm(np.zeros(self.K)),))

    def parts(self, X: Floats) -> Floats:
        """ln p(x_j), column by column: (n, K, p); 0 where x_j is missing."""
        each: Floats = self.params.parts(X)  # type: ignore[attr-defined]
        return np.repeat(each, self.K, axis=1)

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return self.params.sample(np.zeros_like(codes), rng)

    def marginal(self, columns: Columns) -> "SharedDensity":
        return SharedDensity(self.params.marginal(columns), self.K)

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        params, seen = self.params.condition(given)
        return Conditioned(SharedDensity(params, self.K), np.repeat(seen, self.K))

    def fill(self, X: Floats, P: Floats) -> Floats:
        return self.params.fill(X, np.ones((len(X), 1)))


@dataclass(frozen=True)
class PooledFamily:
    """A family, estimated from all classes together."""

    family: Family

    def stats(self, K: int, p: int) -> PooledStatistics:
        return PooledStatistics(np.zeros(K), self.family.stats(1, p))

    def estimate(self, stats: PooledStatistics) -> SharedDensity:
        return SharedDensity(self.family.estimate(stats.state), len(stats.n))
