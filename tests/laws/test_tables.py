"""Counts of codes and bins by class, the bins themselves, and densities read off them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.comparing import assert_same_bits
from laws.generators import SEEDS, tables
from laws.test_states import of_codes
from likelier.data import Chunk, Columns, Dense, Factor, NonFinite, OutOfSupport
from likelier.families import Categorical, Histogram
from likelier.scores import stacked
from likelier.states import BinCounts, Bins, Counts, edges_of


def counted(chunk: Chunk, K: int, beyond: str = "room") -> Counts:
    p = chunk.X.shape[1]
    state = Counts.growing(K, p) if beyond == "room" else Counts.start(K, np.full(p, 4), beyond)
    state.update(chunk)
    return state


# ---- counts --------------------------------------------------------------------------------------
@given(rows=tables())
def test_an_unlabelled_row_is_absent(rows):
    absent = rows.take(rows.y >= 0)
    for beyond in ("room", "missing", "last"):
        assert_same_bits(counted(of_codes(rows), rows.K, beyond), counted(of_codes(absent), rows.K, beyond))


@given(rows=tables())
def test_soft_labels_of_0_and_1_are_hard_labels(rows):
    chunk = of_codes(rows)
    assert_same_bits(counted(chunk._replace(y=rows.R), rows.K), counted(chunk, rows.K))


@given(rows=tables(), data=st.data())
def test_widened_places_the_classes(rows, data):
    K = rows.K + data.draw(st.integers(0, 3))
    at = np.sort(data.draw(st.permutations(range(K)))[: rows.K]).astype(np.intp)
    placed = np.append(at, -1)[rows.y].astype(np.int32)
    chunk = of_codes(rows)
    wide = counted(chunk._replace(y=placed), K)
    assert_same_bits(counted(chunk, rows.K).widened(K, at), wide)


@given(rows=tables(weights=("none", "whole")))
def test_counts_are_those_of_the_cells_that_are_there(rows):
    chunk = of_codes(rows)
    X, state = chunk.X.to_array(), counted(chunk, rows.K)
    R = rows.R * rows.weights[:, None]
    ends = np.cumsum(state.sizes)
    for j, (end, size) in enumerate(zip(ends, state.sizes, strict=True)):
        own = state.counts[end - size : end]
        for code in range(size):
            np.testing.assert_array_equal(own[code], R[X[:, j] == code].sum(axis=0))
        np.testing.assert_array_equal(own.sum(axis=0), R[~np.isnan(X[:, j])].sum(axis=0))
        there = X[(R.sum(axis=1) > 0) & ~np.isnan(X[:, j]), j]
        assert size == there.max(initial=-1) + 1


def test_a_factor_says_by_its_codes_what_is_missing_and_what_unknown():
    levels = np.array(["a", "b", "c"], dtype=object)
    factor = Factor(np.array([0, -1, 2, 3, 2], dtype=np.int32), levels)
    y = np.zeros(5, dtype=np.int32)
    for unknown, expected in ((True, [1, 0, 2, 1]), (False, [1, 0, 2])):
        state = Categorical([3], unknown=unknown).stats(1, 1)
        state.update(Chunk(Columns((factor,)), y))
        np.testing.assert_array_equal(state.counts[:, 0], expected)


@pytest.mark.parametrize("beyond", ["room", "missing", "last"])
@pytest.mark.parametrize(
    ("bad", "kind"), [(-1.0, OutOfSupport), (0.5, OutOfSupport), (np.inf, NonFinite), (-np.inf, NonFinite)]
)
def test_a_refused_chunk_leaves_no_trace(beyond, bad, kind):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (500, 3)).astype(np.float64), rng.integers(0, 2, 500).astype(np.int32)
    state, same = (counted(Chunk(Dense(X), y), 2, beyond) for _ in range(2))
    X[400, 1] = bad
    with pytest.raises(kind) as refused:
        state.update(Chunk(Dense(X), y, first=70))
    assert (refused.value.row, refused.value.column) == (470, 1)
    assert_same_bits(state, same)


def test_a_code_that_is_no_category_is_refused_before_room_is_made_for_it():
    X = np.array([[0.0, 1.0], [1.0, 1e12]])
    with pytest.raises(OutOfSupport, match=r"row 1, column 1 is 1e\+12; .*OrdinalEncoder"):
        counted(Chunk(Dense(X), np.zeros(2, dtype=np.int32)), 1)
    state = counted(Chunk(Dense(X), np.zeros(2, dtype=np.int32), np.array([1.0, 0.0])), 1)
    np.testing.assert_array_equal(state.sizes, [1, 2])


# ---- bins ----------------------------------------------------------------------------------------
values = st.sampled_from(["normal", "whole", "half 0", "constant", "heavy tails", "far"])


def column(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.standard_normal(n)
    return {
        "normal": x,
        "whole": np.floor(4 * x),
        "half 0": np.where(rng.random(n) < 0.5, 0.0, np.abs(x)),
        "constant": np.full(n, x[0] if n else 0.0),
        "heavy tails": np.exp(9 * x),
        "far": 1e15 + np.floor(9 * x),
    }[kind]


@given(kind=values, seed=SEEDS, n=st.integers(0, 400), bins=st.none() | st.integers(1, 40))
def test_bins_are_sorted_and_every_value_has_one(kind, seed, n, bins):
    x = column(kind, np.random.default_rng(seed), n)
    found = edges_of(x, None, bins)
    assert (np.diff(found.edges) >= 0).all()
    assert (np.diff(found.cuts) > 0).all()
    assert (found.widths > 0).all()
    assert not found.atoms[[0, -1]].any()
    if n:
        assert found.edges[0] <= x.min()
        assert found.edges[-1] >= x.max()
    alone = found.edges[:-1][found.atoms]
    assert np.isin(alone, x).all()
    code = np.searchsorted(found.cuts, x, side="right")
    np.testing.assert_array_equal(found.atoms[code], np.isin(x, alone))


@given(kind=values, seed=SEEDS, n=st.integers(1, 200))
def test_a_weight_is_so_many_rows_and_what_is_missing_is_none(kind, seed, n):
    rng = np.random.default_rng(seed)
    x, w = column(kind, rng, n), rng.integers(0, 4, n).astype(np.float64)
    gappy = np.concatenate([x, [np.nan, np.inf, -np.inf]])
    ours, same = (
        edges_of(gappy, np.append(w, np.ones(3)), 8),
        edges_of(np.repeat(x, w.astype(int)), None, 8),
    )
    np.testing.assert_array_equal(ours.edges, same.edges)
    np.testing.assert_array_equal(ours.atoms, same.atoms)


@given(seed=SEEDS, bins=st.integers(2, 30))
def test_bins_without_atoms_weigh_about_the_same(seed, bins):
    x = np.random.default_rng(seed).standard_normal(600)
    found = edges_of(x, None, bins)
    assert len(found) == bins
    sizes = np.bincount(np.searchsorted(found.cuts, x, side="right"), minlength=bins)
    assert np.abs(sizes - 600 / bins).max() <= 1.0 + 1e-9


def test_frequent_values_become_atoms_and_the_rest_shares_the_bins():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.zeros(9200), np.full(300, 7.0), rng.exponential(3.0, 500)])
    found = edges_of(x, None, 10)
    np.testing.assert_array_equal(found.edges[:-1][found.atoms], [0.0, 7.0])
    sizes = np.bincount(np.searchsorted(found.cuts, x, side="right"))[~found.atoms]
    assert sizes[0] == 0  # below the least value
    assert (sizes[1:] < 80).all()


def test_the_columns_of_adult_have_the_atoms_that_they_should(data_file):
    pd = pytest.importorskip("pandas")
    adult = pd.read_csv(data_file("adult_train.csv.gz"))
    gain = edges_of(adult["capital_gain"].to_numpy())
    assert {0.0, 7298.0, 7688.0, 15024.0, 99999.0} <= set(gain.edges[:-1][gain.atoms])
    hours = edges_of(adult["hours_per_week"].to_numpy())
    assert {20.0, 35.0, 40.0, 45.0, 50.0, 60.0} <= set(hours.edges[:-1][hours.atoms])
    weight = edges_of(adult["fnlwgt"].to_numpy())
    assert not weight.atoms.any()
    assert len(weight) == 48  # 3/2 the cube root of 32561 rows


def test_no_values_are_one_bin():
    found = edges_of(np.full(3, np.nan))
    assert len(found) == 1
    assert found.widths == 2.0


# ---- densities -----------------------------------------------------------------------------------
def fitted(family, K, X, y):
    state = family.stats(K, X.shape[1])
    state.update(Chunk(Dense(X), y))
    return family.estimate(state)


def test_a_bin_without_rows_speaks_for_no_class():
    y = (np.arange(1000) % 10 == 0).astype(np.int32)
    bins = Bins(np.array([0.0, 1.0, 2.0, 3.0]), np.zeros(3, dtype=bool))
    params = fitted(Histogram((bins,)), 2, np.where(y, 0.5, 2.5)[:, None], y)
    Z = np.empty((2, 2))
    params.discriminants().write(Chunk(Dense(np.array([[1.5], [0.5]]))), Z)
    np.testing.assert_allclose(Z[0, 0], Z[0, 1], rtol=1e-14)
    assert Z[1, 1] > Z[1, 0] + 3


def test_frequencies_are_smoothed_as_the_formulas_say():
    X, y = np.array([[0.0], [0.0], [2.0], [1.0], [np.nan]]), np.array([0, 0, 0, 1, 1], dtype=np.int32)
    for unknown, L in ((True, 4), (False, 3)):
        params = fitted(Categorical([3], alpha=0.5, unknown=unknown), 2, X, y)
        expected = np.array([[2.5, 0.5], [0.5, 1.5], [1.5, 0.5], [0.5, 0.5]])[:L]
        expected = expected / (np.array([3, 1]) + 0.5 * L)
        np.testing.assert_allclose(np.exp(params.log_p), expected, rtol=1e-14)
    bins = Bins(np.array([0.0, 1.0, 2.0, 3.0]), np.zeros(3, dtype=bool))
    params = fitted(Histogram((bins,), alpha=2.0), 2, X, y)
    f = np.array([[2 / 3, 0], [0, 1], [1 / 3, 0]])
    np.testing.assert_allclose(np.exp(params.log_p), (4 * f + 2) / (4 + 6), rtol=1e-14)


def test_unknown_codes_have_the_mass_that_is_kept_for_them_or_say_nothing():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1], dtype=np.int32)
    new = Chunk(Dense(np.array([[9.0, 1.0], [2.0, np.nan]])))
    for unknown in (True, False):
        params, Z = fitted(Categorical([2, 2], unknown=unknown), 2, X, y), np.empty((2, 2))
        params.scores().write(new, Z)
        kept = np.log(1 / 4) if unknown else 0.0
        of_1 = np.log([2 / 4, 1 / 4]) if unknown else np.log([2 / 3, 1 / 3])
        np.testing.assert_allclose(Z, [kept + of_1, [kept, kept]], rtol=1e-14)
        drawn = params.sample(np.arange(500) % 2, np.random.default_rng(0))
        assert set(drawn.ravel()) == {0.0, 1.0}


def test_tables_stand_side_by_side_if_they_have_the_same_rows():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 2)).astype(np.float64), rng.integers(0, 3, 60).astype(np.int32)
    bins = tuple(edges_of(x, None, 3) for x in X.T)
    for make in (
        lambda alpha: Categorical([3, 3], alpha).stats,
        lambda alpha: Histogram(bins, alpha).stats,
    ):
        assert make(1.0)(3, 2).mergeable(make(2.0)(3, 2))
    for models in (
        [fitted(Categorical([3, 3], a), 3, X, y).scores() for a in (0.1, 1.0)],
        [fitted(Histogram(bins, a), 3, X, y).discriminants() for a in (0.1, 1.0)],
    ):
        joint, (one, two) = stacked(models), np.empty((2, 60, 3))
        Z = np.empty((60, 6))
        assert [type(t) for t in joint.terms] == [type(t) for t in models[0].terms]
        joint.write(Chunk(Dense(X)), Z)
        for model, out in zip(models, (one, two), strict=True):
            model.write(Chunk(Dense(X)), out)
        np.testing.assert_array_equal(Z, np.hstack([one, two]))
    larger = fitted(Categorical([3, 4]), 3, X, y).scores()
    assert larger.terms[0].beside([fitted(Categorical([3, 3]), 3, X, y).scores().terms[0]]) is None
    other = BinCounts.start(3, (edges_of(X[:, 0], None, 1),) * 2)
    assert not other.mergeable(Histogram(bins).stats(3, 2))
