"""Statistics of rows with soft memberships, where cells may be missing: the expectation of EM.

Columns that are independent given the class need nothing: statistics of the cells that are there are all
that maximisation asks for. Where columns know of each other, what a row lacks has, under each component,
a mean and a covariance, and both are counted (Ghahramani & Jordan 1994).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import BadCell, Chunk, NonFinite, by_gaps
from likelier.families.base import Params
from likelier.families.covariance import steady_precision
from likelier.states import Moments, Parts, PatternMoments
from likelier.states.moments import refuse, weights

Floats = NDArray[np.float64]
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
