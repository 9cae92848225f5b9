"""The laws of missing cells (NaN): they add nothing to a sum, and are integrated out of a density."""

import copy
from functools import partial
from inspect import signature
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws import test_states
from laws.comparing import (
    arrays_of,
    assert_close,
    assert_same_bits,
    moments_by_pattern,
    of_pattern,
)
from laws.generators import (
    DENSE,
    GAPS,
    LARGE,
    LAYOUTS,
    SEEDS,
    SPARSE,
    Table,
    cut_gappy_tables,
    gappy_tables,
    large_table,
)
from laws.test_states import STATES, Kind
from likelier.data import Chunk, Columns, Dense, NonFinite
from likelier.states import ColumnMoments, Moments, PatternMoments, TooManyPatterns

some = settings(max_examples=max(10, settings.default.max_examples // 2))
fewer = settings(max_examples=max(10, settings.default.max_examples // 6))

GAPPY = [kind for kind in STATES if kind.gaps]
every_gappy_state = pytest.mark.parametrize("kind", GAPPY, ids=lambda kind: kind.name)
every_pattern_state = pytest.mark.parametrize("shape", ["full", "tied"])


# ---- the laws of states --------------------------------------------------------------------------
WEIGHTS = {
    "test_a_weight_of_2_is_the_row_twice": ("whole",),
    "test_a_weight_of_0_is_the_row_absent": ("whole", "mostly 0", "all 0"),
}
LAWS = {
    name: law.hypothesis.inner_test
    for name, law in vars(test_states).items()
    if hasattr(law, "hypothesis") and "kind" in signature(law).parameters
}


def arguments(name: str) -> dict[str, Any]:
    """What a law of states takes beside the state, tables with gaps for tables."""
    how = {"weights": WEIGHTS[name]} if name in WEIGHTS else {}
    known = {
        "rows": gappy_tables(**how),
        "cut": cut_gappy_tables(**how),
        "data": st.data(),
        "seed": SEEDS,
        "layout": st.sampled_from(list(LAYOUTS)),
    }
    return {given: known[given] for given in signature(LAWS[name]).parameters if given != "kind"}


@every_gappy_state
@pytest.mark.parametrize("name", list(LAWS))
def test_the_laws_of_states_hold_with_gaps(kind, name):
    def law(**drawn: Any) -> None:
        LAWS[name](kind=kind, **drawn)

    fewer(given(**arguments(name))(law))()


def test_all_laws_of_states_are_among_them():
    assert len(LAWS) > 12
    assert WEIGHTS.keys() <= LAWS.keys()


def large_gappy_table(n: int, p: int, K: int, way: str, weights: str = "none") -> Table:
    rows = large_table(n, p, K, weights)
    return rows.lacking(GAPS[way](np.random.default_rng(n), rows))


@every_gappy_state
@pytest.mark.parametrize(
    ("size", "way"),
    [*product(LARGE, ["some patterns", "a column of one class"]), (LARGE[0], "few"), (LARGE[1], "few")],
    ids=str,
)
def test_tables_of_several_tiles_obey_too(kind, size, way):
    rows = large_gappy_table(*size, way, "fractional")
    whole = kind.of(rows)
    assert_close(kind.of(*rows.cut([1, len(rows) // 2, len(rows) - 64])), whole, rows)
    assert_close(kind.of(rows.take(np.argsort(rows.X[:, 0]))), whole, rows)
    for layout in DENSE:
        assert_same_bits(kind.of(rows, layout=layout), whole)
    for layout in SPARSE:
        assert_close(kind.of(rows, layout=layout), whole, rows)


@every_gappy_state
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_update_leaves_the_chunk_unchanged(kind, layout):
    rows = large_gappy_table(200, 9, 3, "some patterns", "fractional")
    chunk = kind.view(rows, layout)
    X = [getattr(chunk.X, name) for name in chunk.X.__slots__ if name != "p"]
    held = [chunk.y, chunk.w, *(X[0] if isinstance(chunk.X, Columns) else X)]
    before = [value.copy() for value in held]
    for value in held:
        value.flags.writeable = False
    kind.start(rows.K, rows.p).update(chunk)
    for value, was in zip(held, before, strict=True):
        np.testing.assert_array_equal(value, was)


@every_gappy_state
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_the_first_infinity_is_named_whatever_is_missing(kind, layout):
    """In a row that is complete, in one that is not, and among rows of NaN."""
    for place in [(0, 0), (3, 2), (1500, 1), (1999, 2)]:
        X = np.random.default_rng(0).standard_normal((2000, 3))
        X[1::3, 0] = X[2::5, 1] = X[10:40] = np.nan
        X[place], X[1999, 2] = np.inf, -np.inf
        state = kind.start(2, 3)
        with pytest.raises(NonFinite) as refused:
            state.update(Chunk(LAYOUTS[layout](X), np.zeros(2000, np.int32), None, first=7))
        if kind.whole:  # parts look for it one after another, each in columns of its own
            assert (refused.value.row, refused.value.column) == (7 + place[0], place[1])
            assert_same_bits(state, kind.start(2, 3))


# ---- columns -------------------------------------------------------------------------------------
def column_moments(rows: Table) -> ColumnMoments:
    """Class by class and column by column, in NumPy."""
    total = ColumnMoments.start(rows.K, rows.p)
    for k in range(rows.K):
        counts = (rows.y == k) & (rows.weights > 0)
        total.n[k] = rows.weights[counts].sum()
        for j in range(rows.p):
            there = counts & ~np.isnan(rows.X[:, j])
            if there.any():
                x, w = rows.X[there, j], rows.weights[there]
                mean = x[0] + np.average(x - x[0], weights=w)
                total.seen[k, j], total.mean[k, j], total.S[k, j] = w.sum(), mean, w @ (x - mean) ** 2
    return total


@given(rows=gappy_tables(), layout=st.sampled_from(list(LAYOUTS)))
def test_columns_have_the_moments_of_the_cells_that_are_there(rows, layout):
    state = Kind("columns", ColumnMoments.start).of(rows, layout=layout)
    assert_close(state, column_moments(rows), rows)


@given(rows=gappy_tables(weights=("none",)))
def test_columns_are_numpys_nanmean_and_nanvar(rows):
    state = Kind("columns", ColumnMoments.start).of(rows)
    for k, j in product(range(rows.K), range(rows.p)):
        cells = rows.X[rows.y == k, j]
        assert state.seen[k, j] == (~np.isnan(cells)).sum()
        if state.seen[k, j]:
            first = cells[~np.isnan(cells)][0]
            room = 1e-12 + 64 * np.finfo(float).eps * abs(first)
            np.testing.assert_allclose(state.mean[k, j] - first, np.nanmean(cells - first), 1e-9, room)
            np.testing.assert_allclose(
                state.S[k, j] / state.seen[k, j], np.nanvar(cells - first), 1e-9, room**2
            )


def shared(rows: Table, R: np.ndarray) -> Table:
    """Soft labels as hard ones: every row once for each class, with its share of the weight."""
    K = R.shape[1]
    classes = np.repeat(np.arange(K, dtype=np.int32), len(rows))
    return Table(np.tile(rows.X, (K, 1)), classes, (rows.weights[:, None] * R).T.ravel(), K)


@given(rows=gappy_tables(), seed=SEEDS)
def test_soft_labels_share_cells_among_the_classes(rows, seed):
    R = np.random.default_rng(seed).dirichlet(np.full(rows.K, 0.5), len(rows))
    state = ColumnMoments.start(rows.K, rows.p)
    state.update(rows.chunk()._replace(y=R))
    assert_close(state, column_moments(shared(rows, R)), shared(rows, R))


@given(rows=gappy_tables())
def test_pooled_columns_forget_the_classes(rows):
    labelled = rows.take(rows.y >= 0)
    one = Table(labelled.X, np.zeros(len(labelled), np.int32), labelled.w, 1)
    columns = Kind("columns", ColumnMoments.start)
    all_rows = columns.of(one)
    seen, mean, S = columns.of(labelled).pooled()
    assert_close(ColumnMoments(all_rows.n, seen[None], mean[None], S[None]), all_rows, one)


# ---- patterns ------------------------------------------------------------------------------------
def complete_moments(rows: Table, shape: str) -> Moments:
    """Of a table without gaps, in NumPy."""
    total = Moments.start(rows.K, rows.p, shape)
    for k in range(rows.K):
        at = (rows.y == k) & (rows.weights > 0)
        if at.any():
            X, w = rows.X[at], rows.weights[at]
            total.n[k], total.mean[k] = w.sum(), X[0] + np.average(X - X[0], axis=0, weights=w)
            d = X - total.mean[k]
            S = (w[:, None] * d).T @ d
            total.S[...] += S if shape == "tied" else 0
            if shape == "full":
                total.S[k] = S
    return total


def assert_counts(state: PatternMoments, rows: Table) -> None:
    """By class and pattern: what there is to know of the rows, straight from them."""
    counts = rows.take((rows.y >= 0) & (rows.weights > 0))
    gone = np.isnan(counts.X)
    complete = counts.take(~gone.any(axis=1))
    assert_close(state.whole, complete_moments(complete, state.shape), complete)
    empty = counts.take(gone.all(axis=1))
    np.testing.assert_allclose(state.blank, np.bincount(empty.y, empty.weights, rows.K), rtol=1e-12)
    np.testing.assert_allclose(state.n, np.bincount(counts.y, counts.weights, rows.K), rtol=1e-12)
    assert state.complete == (not gone.any())
    some = counts.X[gone.any(axis=1) & ~gone.all(axis=1)]
    found = moments_by_pattern(state)
    assert found.keys() == {tuple(np.flatnonzero(~np.isnan(x)).tolist()) for x in some}
    for here, moments in found.items():
        of_rows = of_pattern(counts, here)
        assert_close(moments, complete_moments(of_rows, "full"), of_rows)
    assert_close(state.columns(), column_moments(counts), counts, tied=state.shape == "tied")


def pattern_kind(shape: str) -> Kind:
    return Kind(shape, partial(PatternMoments.start, shape=shape), gaps=True)


@every_pattern_state
@some
@given(cut=cut_gappy_tables(), layout=st.sampled_from(list(LAYOUTS)))
def test_patterns_keep_what_their_rows_say(shape, cut, layout):
    rows, pieces = cut
    assert_counts(pattern_kind(shape).of(rows, layout=layout), rows)
    assert_counts(pattern_kind(shape).of(*pieces, layout=layout), rows)


@every_pattern_state
@some
@given(rows=gappy_tables(), seed=SEEDS)
def test_soft_labels_share_patterns_among_the_classes(shape, rows, seed):
    R = np.random.default_rng(seed).dirichlet(np.full(rows.K, 0.5), len(rows))
    state = PatternMoments.start(rows.K, rows.p, shape)
    state.update(rows.chunk()._replace(y=R))
    assert_counts(state, shared(rows, R))


@every_pattern_state
@pytest.mark.parametrize("count", [2, 3, 4, 5, 50])
def test_rows_of_a_pattern_are_kept_until_they_are_more_than_its_columns(shape, count):
    rng = np.random.default_rng(count)
    X = rng.standard_normal((count, 5))
    X[:, [1, 4]] = np.nan  # three columns are there
    rows = Table(X, np.zeros(count, np.int32), rng.exponential(size=count), 1)
    for state in (pattern_kind(shape).of(rows), pattern_kind(shape).of(*rows.cut(list(range(1, count))))):
        kept = count <= 3
        assert (len(state.w), len(state.S)) == ((count, 0) if kept else (1, 1))
        assert_counts(state, rows)


@every_pattern_state
def test_kept_rows_and_counted_ones_go_together(shape):
    """Patterns on both sides of the line at once, met by merges from either side."""
    rows = large_gappy_table(600, 4, 3, "some patterns", "fractional")
    rare = rows.take(slice(0, 9)).lacking(np.arange(9)[:, None] % 4 == np.arange(4))
    table = Table(*(np.concatenate([getattr(t, name) for t in (rows, rare)]) for name in "Xyw"), 3)
    kind = pattern_kind(shape)
    a, b, c = (kind.of(piece) for piece in table.cut([300, 603]))
    whole = kind.of(table)
    assert (whole.spread >= 0).any()
    assert (whole.spread < 0).any()
    for order in ((a, b, c), (c, b, a), (b, c, a)):
        total = copy.deepcopy(order[0])
        for other in order[1:]:
            total.merge(other)
        assert_counts(total, table)


@every_pattern_state
def test_a_state_stays_small_however_many_rows_share_a_pattern(shape):
    rows = large_gappy_table(9001, 3, 3, "some patterns")
    state = pattern_kind(shape).of(*rows.cut(list(range(0, 9001, 100))))
    assert len(state.w) <= 3 * 2**3 * 3
    assert_counts(state, rows)


@every_pattern_state
def test_too_many_patterns_are_refused(shape):
    """The limit is on what is kept: once patterns repeat, no number of rows is too many."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 40))
    X[rng.random(X.shape) < 0.5] = np.nan
    y = np.zeros(500, np.int32)
    few = PatternMoments.start(1, 40, shape, most=100 * 40 * 8)
    few.update(Chunk(Dense(X[:100]), y[:100]))
    with pytest.raises(TooManyPatterns, match="101 rows"):
        few.update(Chunk(Dense(X[100:101]), y[:1]))
    with pytest.raises(ValueError, match="too many ways"):
        PatternMoments.start(1, 40, shape, most=50_000).update(Chunk(Dense(X), y))
    X[:] = np.where(np.arange(40) < 3, np.nan, rng.standard_normal(X.shape))
    PatternMoments.start(1, 40, shape, most=50_000).update(Chunk(Dense(X), y))


def test_what_is_worked_out_does_not_count_as_a_statistic():
    state = pattern_kind("full").of(large_gappy_table(200, 3, 2, "few"))
    assert "solved" not in arrays_of(state)
