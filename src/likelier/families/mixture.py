"""Classes that are mixtures: p(x | C_k) = Σ_m w_m p_m(x) over the components m of class k."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core, links
from likelier.array_types import Floats
from likelier.data import BadCell, Chunk, Dense, NonFinite, by_gaps
from likelier.families.base import Columns, Conditioned, Params, Support
from likelier.families.covariance import steady_precision
from likelier.scores import Scores, TermWithConstant, stacked, write_comparable
from likelier.states import Moments, Parts, PatternMoments
from likelier.states.moments import refuse, weights

# Statistics of rows with soft memberships, where cells may be missing: the expectation of EM.
#
# Columns that are independent given the class need nothing: statistics of the cells that are there are
# all that maximisation asks for. Where columns know of each other, what a row lacks has, under each
# component, a mean and a covariance, and both are counted (Ghahramani & Jordan 1994).

TOO_FAR = 1e4  # squared deviations that a mean may move in one step: four digits of a variance


def absorb(stats: Any, chunk: Chunk, params: Params) -> None:
    """Add rows with memberships R (n, K) to statistics; missing cells as `params` expect them."""
    if isinstance(stats, Parts):
        groups: Any = params.groups  # type: ignore[attr-defined]
        for columns, state, group in zip(stats.columns, stats.states, groups, strict=True):
            try:
                absorb(state, chunk._replace(X=chunk.X.select(columns)), group.params)
            except BadCell as bad:
                raise bad.among(columns) from None
    elif isinstance(stats, PatternMoments):
        assert isinstance(stats.whole, Moments)
        _absorb_rows(stats.whole, chunk, params)
    else:
        stats.update(chunk)


def _absorb_rows(whole: Moments, chunk: Chunk, params: Params) -> None:
    try:
        _absorb_complete(whole, chunk, params)
    except NonFinite as bad:
        if not np.isnan(bad.value):
            raise
        complete, some, _ = by_gaps(chunk)
        _absorb_complete(whole, complete, params)
        whole.merge(expected(some, params, whole))


def _absorb_complete(whole: Moments, chunk: Chunk, params: Any) -> None:
    """About the means so far, each row read once; where those turn out to be far off, from scratch."""
    assert chunk.y is not None
    K, p = params.shape
    new, first = Moments.start(K, p, whole.shape), np.zeros((K, p))
    R, tied = np.ascontiguousarray(chunk.y), whole.shape == "tied"
    mean = np.ascontiguousarray(params.mean)
    X = chunk.X.native()
    refuse(chunk, _core.centred_sums(X, R, weights(chunk), mean, tied, new.n, first, new.S))
    d = first / np.where(new.n > 0, new.n, 1.0)[:, None]
    off = new.n[:, None] * d * d  # what second moments about the old mean have too much
    variance = np.diagonal(new.S, axis1=-2, axis2=-1)
    if (TOO_FAR * (variance - (off.sum(axis=0) if tied else off)) < off).any():
        whole.update(chunk)
        return
    new.mean = mean + d
    new.S -= (new.n[:, None] * d).T @ d if tied else (new.n[:, None] * d)[:, :, None] * d[:, None, :]
    if whole.n.any():
        whole.merge(new)
    else:  # a merge with nothing is what is new
        whole.n, whole.mean, whole.S = new.n, new.mean, new.S


def expected(chunk: Chunk, params: Any, like: Moments) -> Moments:
    """The moments that rows with gaps are expected to have under Gaussians, by component."""
    (K, p), tied = params.shape, like.shape == "tied"
    assert chunk.y is not None
    R = chunk.y if chunk.w is None else chunk.w[:, None] * chunk.y
    X, order, start = _by_pattern(chunk.X.to_array())
    groups = len(start) - 1
    code, alone = np.zeros(groups, dtype=np.int32), np.full(groups, -1, dtype=np.int64)
    new, inverse = Moments.start(K, p, like.shape), None
    for k in range(K):
        n = R[:, k].sum()
        if n == 0:
            continue
        if inverse is None or not tied:
            inverse = steady_precision(params.cov if tied else params.cov[k])
        assert inverse is not None
        first, second = np.zeros((1, p)), np.zeros((p, p))
        w = np.ascontiguousarray(R[order, k])
        nothing = np.zeros((0, p, p))
        mean = np.ascontiguousarray(params.mean[k : k + 1])
        _core.expect(X, w, start, code, alone, nothing, mean, inverse[0], first, second)
        d = first[0] / n
        new.n[k], new.mean[k] = n, mean[0] + d
        S = second - n * np.outer(d, d)
        np.fill_diagonal(S, np.maximum(np.diagonal(S), 0.0))  # rounding may take a variance below 0
        if tied:
            new.S += S
        else:
            new.S[k] = S
    return new


def _by_pattern(X: Floats) -> tuple[Floats, NDArray[np.intp], NDArray[np.int64]]:
    """Rows that lack the same columns together: the rows, their order, and where each group starts."""
    codes, _ = _core.code_bytes(np.packbits(np.isnan(X), axis=1))
    order = np.argsort(codes, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    return np.ascontiguousarray(X[order]), order, start.astype(np.int64)


# Classes that are mixtures: p(x | C_k) = Σ_m w_m p_m(x) over the components m of class k.

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
class ComponentSum(TermWithConstant):
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
            scores=stacked([o.scores for o in every]),
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
        return Scores((ComponentSum(zero, self.owner, scores.plus(self.log_weight)),))

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
