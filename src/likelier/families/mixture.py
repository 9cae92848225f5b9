"""Classes that are mixtures: p(x | C_k) = Σ_m w_m p_m(x) over the components m of class k."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.data import Chunk, Dense
from likelier.families.base import Columns, Conditioned, Floats, Params, Support
from likelier.scores import Based, Scores, abreast, write_comparable

Owners = NDArray[np.intp]  # (M,): the class of each component, from 0 on, rising


def by_owner(Z: Floats, owner: Owners, K: int) -> Floats:
    """ln Σ_m e^{z_m} over the components m of each class, (n, K)."""
    out = np.empty((len(Z), K))
    for k, (start, stop) in enumerate(_runs(owner, K)):
        own = np.empty(len(Z))
        links.log_sum_exp.apply(np.ascontiguousarray(Z[:, start:stop]), own)
        out[:, k] = own
    return out


def _runs(owner: Owners, K: int) -> list[tuple[int, int]]:
    ends = np.searchsorted(owner, np.arange(K + 1))
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


@dataclass(frozen=True)
class Pooled(Based):
    """b_k + ln Σ_m e^{z_m} over the components of class k; z: scores that deal with gaps themselves."""

    owner: Owners  # (M,)
    scores: Scores  # of M components

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        z = np.empty((len(Z), self.scores.K))
        self.scores.write(chunk, z)
        own = by_owner(z, self.owner, self.K) + self.b
        Z[...] = Z + own if add else own

    def beside(self, others: Sequence[Any]) -> Self | None:
        every = (self, *others)
        before = np.cumsum([0, *(o.K for o in every)])
        return replace(
            self,
            b=np.concatenate([o.b for o in every]),
            owner=np.concatenate([o.owner + first for o, first in zip(every, before, strict=False)]),
            scores=abreast([o.scores for o in every]),
        )


@dataclass(frozen=True)
class Mixture:
    """K mixtures: components of one family in one flat list, so that classes may have few or many."""

    components: Params  # M of them
    log_weight: Floats  # (M,), ln w_m; of each class the w_m sum to 1
    owner: Owners  # (M,)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.owner[-1]) + 1, self.components.shape[1]

    @property
    def support(self) -> Support | None:
        return self.components.support

    @property
    def free(self) -> int:
        return self.components.free + len(self.owner) - self.shape[0]

    def scores(self) -> Scores:
        return self._pooled(self.components.scores())

    def discriminants(self) -> Scores | None:
        """What all components share, all classes do."""
        cheaper = self.components.discriminants()
        return None if cheaper is None else self._pooled(cheaper)

    def _pooled(self, scores: Scores) -> Scores:
        zero = np.zeros(self.shape[0])
        return Scores((Pooled(zero, self.owner, scores.plus(self.log_weight)),))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """By the inverse of the distribution function of each class's weights."""
        found = np.empty(len(codes), dtype=np.intp)
        for k, (start, stop) in enumerate(_runs(self.owner, self.shape[0])):
            at = np.flatnonzero(codes == k)
            weight = np.exp(self.log_weight[start:stop])
            found[at] = start + rng.choice(stop - start, size=len(at), p=weight / weight.sum())
        return self.components.sample(found, rng)

    def marginal(self, columns: Columns) -> "Mixture":
        return replace(self, components=self.components.marginal(columns))

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        """Each component as it is given these values; of a class, those that expected them weigh more."""
        components, seen = self.components.condition(given)
        joint = self.log_weight + seen
        log_given = by_owner(joint[None, :], self.owner, self.shape[0])[0]
        return Conditioned(Mixture(components, joint - log_given[self.owner], self.owner), log_given)

    def fill(self, X: Floats, P: Floats) -> Floats:
        R = np.empty((len(X), len(self.owner)))
        write_comparable(self._joint, Chunk(Dense(X)), R)
        R -= by_owner(R, self.owner, self.shape[0])[:, self.owner]  # ln p(m | x, C_k)
        return self.components.fill(X, np.exp(R) * P[:, self.owner])

    @cached_property
    def _joint(self) -> Scores:
        return self.components.scores().plus(self.log_weight)
