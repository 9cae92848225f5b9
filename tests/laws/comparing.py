"""When two states are the same: bit for bit, or as near as rounding allows."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from laws.generators import Array, Table, positive
from likelier.families.mixed import PooledStatistics
from likelier.states import (
    ColumnMoments,
    Deviations,
    Extent,
    LabelTotals,
    Moments,
    Parts,
    PatternMoments,
    PositiveMoments,
    ShrinkageMoments,
    StoredRows,
)

UNIT = np.finfo(np.float64).eps / 2  # the most that one rounding moves a number, relatively
PROMISED = 1e-12


def arrays_of(state: Any) -> dict[str, Array]:
    """All that a state holds, by name; what it has only worked out is not compared."""
    held = {}
    for name in [f.name for f in fields(state) if f.compare]:
        held |= _held(name, getattr(state, name))
    return held


def _held(name: str, value: Any) -> dict[str, Array]:
    if is_dataclass(value):
        return {f"{name}.{inner}": array for inner, array in arrays_of(value).items()}
    if isinstance(value, dict | tuple):
        items = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
        return {key: array for i, one in items for key, array in _held(f"{name}[{i}]", one).items()}
    return {name: np.asarray(value)}


def assert_same_bits(a: Any, b: Any) -> None:
    ours, theirs = arrays_of(a), arrays_of(b)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value.dtype == theirs[name].dtype, name
        np.testing.assert_array_equal(value, theirs[name], err_msg=name, strict=True)
        if value.dtype.kind != "O":
            assert value.tobytes() == theirs[name].tobytes(), name


def shown(model: Any) -> dict[str, Any]:
    """All that a fitted model shows."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name[0] != "_"}


def assert_same_model(a: Any, b: Any) -> None:
    ours, theirs = shown(a), shown(b)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_equal(value, theirs[name], err_msg=name)


def assert_close(a: Any, b: Any, rows: Table, tied: bool = False) -> None:
    """Equal up to rounding, as states of `rows`; what has no tolerance must be equal."""
    if isinstance(a, PatternMoments):
        assert_mean_the_same(a, b, rows)
        return
    if isinstance(a, ShrinkageMoments):
        gone = np.isnan(rows.X).any(axis=1)
        assert_close(a.higher, b.higher, rows.take(~gone))
        assert_mean_the_same(a.gaps, b.gaps, rows.take(gone))
        return
    if isinstance(a, Parts):
        for columns, one, like in zip(a.columns, a.states, b.states, strict=True):
            assert_close(one, like, replace(rows, X=rows.X[:, columns]))
        return
    if isinstance(a, PooledStatistics):
        np.testing.assert_allclose(a.n, b.n, rtol=PROMISED)
        assert_close(a.state, b.state, replace(rows, y=np.minimum(rows.y, 0), K=1))
        return
    if isinstance(a, LabelTotals):  # whose classes are the labels that came
        np.testing.assert_array_equal(a.levels, b.levels)
        np.testing.assert_allclose(a.n, b.n, rtol=PROMISED)
        return
    if isinstance(a, Extent):
        rows = replace(rows, y=np.zeros_like(rows.y), K=1)
    if isinstance(a, Deviations):
        assert_close(a.moments(), b.moments(), rows)
        return
    if isinstance(a, PositiveMoments):
        rows = positive(rows)
    if isinstance(a, StoredRows):
        a, b = a.distinct(), b.distinct()
        np.testing.assert_allclose(a.w, b.w, rtol=PROMISED)
        b.w = a.w
    ours, theirs, allowed = arrays_of(a), arrays_of(b), tolerances(rows)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        own = name.rsplit(".")[-1]  # within a state that is part of another
        if own not in allowed or value.dtype == object:
            np.testing.assert_array_equal(value, theirs[name], err_msg=name)
            continue
        assert np.isfinite(value).all(), name
        room = _kept(allowed[own], a) + np.finfo(np.float64).tiny  # products may underflow
        if tied and name == "S":  # of columns that a tied state knows: the scatter of all classes
            value, theirs[name], room = (v.sum(axis=0) for v in (value, theirs[name], room))
        excess = np.abs(value - theirs[name]) - room
        assert (excess <= 0).all(), f"{name} differs by {excess.max():g} more than rounding explains"


def _kept(room: Array, state: Any) -> Array:
    """The tolerance of sums (K, p, p), for a state that keeps a part of them."""
    if room.ndim < 3:
        return room
    if isinstance(state, ColumnMoments):
        return np.einsum("kii->ki", room)
    return room.sum(axis=0) if getattr(state, "shape", "full") == "tied" else room


# ---- patterns ------------------------------------------------------------------------------------
Columns = tuple[int, ...]


def assert_mean_the_same(a: PatternMoments, b: PatternMoments, rows: Table) -> None:
    """Whatever rows are kept and whatever are counted: weight, mean and scatter by class and pattern."""
    assert (a.shape, a.most, a.complete) == (b.shape, b.most, b.complete)
    gone = np.isnan(rows.X)
    assert_close(a.whole, b.whole, rows.take(~gone.any(axis=1)))
    nothing = tolerances(rows.take(gone.all(axis=1)))["n"]
    assert (np.abs(a.blank - b.blank) <= nothing).all()
    assert (np.abs(a.n - b.n) <= tolerances(rows)["n"]).all()
    ours, theirs = moments_by_pattern(a), moments_by_pattern(b)
    assert ours.keys() == theirs.keys()
    for here, moments in ours.items():
        assert_close(moments, theirs[here], of_pattern(rows, here))
    assert_close(a.columns(), b.columns(), rows, tied=a.shape == "tied")


def of_pattern(rows: Table, here: Columns) -> Table:
    """Of the rows that have just these columns, these columns."""
    has = (np.isnan(rows.X) ^ np.isin(np.arange(rows.p), here)).all(axis=1)
    some = rows.take(has)
    return Table(some.X[:, list(here)], some.y, some.w, rows.K)


def moments_by_pattern(state: PatternMoments) -> dict[Columns, Moments]:
    """What incomplete rows have come to: for each set of columns that some have, their moments."""
    found: dict[Columns, Moments] = {}
    K = len(state.blank)
    for here in {tuple(np.flatnonzero(~np.isnan(x)).tolist()) for x in state.X}:
        at = (np.isnan(state.X) ^ np.isin(np.arange(state.X.shape[1]), here)).all(axis=1)
        found[here] = Moments.start(K, len(here), "full")
        for k in np.unique(state.codes[at]):
            items = np.flatnonzero(at & (state.codes == k))
            _put_together(state, items, list(here), int(k), found[here])
    return found


def _put_together(state: PatternMoments, items: Array, here: list[int], k: int, into: Moments) -> None:
    X, w, spread = state.X[np.ix_(items, here)], state.w[items], state.spread[items]
    mean = X[0] + np.average(X - X[0], axis=0, weights=w)
    d = X - mean
    S = state.S[spread[spread >= 0]]
    gone = np.setdiff1d(np.arange(state.X.shape[1]), here)
    assert (S[:, gone] == 0).all()
    assert (S[:, :, gone] == 0).all()
    into.n[k], into.mean[k] = w.sum(), mean
    into.S[k] = (w[:, None] * d).T @ d + S[:, here][:, :, here].sum(axis=0)


def tolerances(rows: Table) -> dict[str, Array]:
    """How far rounding alone may part two states of the same rows, whatever their order and cut.

    The weights, and every sum relative to the size of its terms, keep the promised 1e-12. Beyond that,
    a mean m is held to no better than u|m|, and a sum of n terms adds up to n such errors: each sum is
    one about a centre that is d = (n + 16) u max|x| off. A product of centred cells, none larger than a,
    moves from a·a to (a + d)·(a + d). For columns near 0 this is nothing; at a mean of 1e8 it is still
    10 digits better than E[x²] - E[x]² can be. Cells that are missing are not there.
    """
    K, p, w = rows.K, rows.p, rows.weights
    n, (seen, mean, size, total, gone, centre, low) = np.zeros(K), np.zeros((7, K, p))
    for k in range(K):
        at = (rows.y == k) & (w > 0)
        if not at.any():
            continue
        X, n[k] = rows.X[at], w[at].sum()
        there = ~np.isnan(X)
        gone[k] = w[at] @ ~there
        total[k] = w[at] @ np.abs(np.where(there, X, 0))
        first = np.nan_to_num(X[there.argmax(axis=0), np.arange(p)])
        X, share = np.where(there, X, first), there * w[at, None]
        seen[k] = share.sum(axis=0)
        middle = first + (share * (X - first)).sum(axis=0) / np.where(seen[k] > 0, seen[k], 1)
        centre[k], size[k] = middle, np.abs(X - middle).max(axis=0)
        mean[k] = (there.sum(axis=0) + 16) * UNIT * np.abs(X).max(axis=0)
        low[k] = np.log(middle / np.abs(X).min(axis=0)) if (X > 0).all() else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):  # in ratio to the mean, of positive numbers
        far, off = (np.nan_to_num(v / np.abs(centre), posinf=0.0) for v in (size, mean))
    i, j = (slice(None), slice(None), None), (slice(None), None, slice(None))
    a, b, both = size, size + mean, np.minimum(seen[i], seen[j])
    return {
        "n": PROMISED * n,
        "counts": PROMISED * n,  # (cells, K): none is more than all rows
        "seen": PROMISED * seen,
        "total": 2 * PROMISED * total,  # also of truths above ½, none of which is more than 2|x|
        "gone": PROMISED * gone,
        "mean": 2 * mean,
        "gap": 2 * seen * ((far + off) ** 2 - (1 - PROMISED) * far**2 + PROMISED * low),
        "S": 2 * both * (b[i] * b[j] - (1 - PROMISED) * a[i] * a[j]),
        "T": 4 * both * (b[i] ** 2 * b[j] - (1 - PROMISED) * a[i] ** 2 * a[j]),
        "Q": 8 * both * (b[i] ** 2 * b[j] ** 2 - (1 - PROMISED) * a[i] ** 2 * a[j] ** 2),
    }
