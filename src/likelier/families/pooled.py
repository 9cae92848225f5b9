"""Columns that are the same in all classes: they say how likely a row is, and nothing of its class."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk
from likelier.families.base import Columns, Conditioned, Family, Floats, Params, Support
from likelier.scores import Based, Scores
from likelier.states.moments import weights


@dataclass
class OfAll:
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
        return isinstance(other, OfAll) and bool(self.state.mergeable(other.state))

    def finite(self) -> bool:
        """False if squares or weights have overflowed."""
        return bool(np.isfinite(self.n).all() and self.state.finite())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = np.zeros(K)
        wide[at] = self.n
        return replace(self, n=wide)


@dataclass(frozen=True)
class Nothing(Based):
    """b_k."""

    by_class = ("b",)

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        Z[...] = Z + self.b if add else self.b


@dataclass(frozen=True)
class Repeated(Based):
    """b_k + z(x): one score for all classes."""

    scores: Scores

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        z = np.empty((len(Z), 1))
        self.scores.write(chunk, z)
        Z[...] = Z + (z + self.b) if add else z + self.b


@dataclass(frozen=True)
class Shared:
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
        return Scores((Repeated(np.zeros(self.K), self.params.scores()),))

    def discriminants(self) -> Scores | None:
        return Scores((Nothing(np.zeros(self.K)),))

    def parts(self, X: Floats) -> Floats:
        """ln p(x_j), column by column: (n, K, p); 0 where x_j is missing."""
        each: Floats = self.params.parts(X)  # type: ignore[attr-defined]
        return np.repeat(each, self.K, axis=1)

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return self.params.sample(np.zeros_like(codes), rng)

    def marginal(self, columns: Columns) -> "Shared":
        return Shared(self.params.marginal(columns), self.K)

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        params, seen = self.params.condition(given)
        return Conditioned(Shared(params, self.K), np.repeat(seen, self.K))

    def fill(self, X: Floats, P: Floats) -> Floats:
        return self.params.fill(X, np.ones((len(X), 1)))


@dataclass(frozen=True)
class Pooled:
    """A family, estimated from all classes together."""

    family: Family

    def stats(self, K: int, p: int) -> OfAll:
        return OfAll(np.zeros(K), self.family.stats(1, p))

    def estimate(self, stats: OfAll) -> Shared:
        return Shared(self.family.estimate(stats.state), len(stats.n))
