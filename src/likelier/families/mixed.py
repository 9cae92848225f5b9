"""Groups of columns, independent given the class, each with a family of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from likelier.data import Block, Chunk, Dense
from likelier.data.matrix import Cells
from likelier.families.base import Columns, Conditioned, Family, Floats, Params, Support, log_density
from likelier.families.gaps import share_out
from likelier.families.independent import Independent
from likelier.families.tabled import Tabled
from likelier.scores import Among, Scores
from likelier.states import Parts


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

    def said(self, column: int) -> str:
        for columns, support in self.groups:
            if column in columns:
                return support.said(int(np.flatnonzero(columns == column)[0]))
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
            if not isinstance(params, Independent | Tabled):
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
