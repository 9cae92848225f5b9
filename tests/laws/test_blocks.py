"""Blocks of every layout are the array that they hold: some of it, its cells, one below another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.generators import LAYOUTS, categories, tables
from likelier.data import Columns, Dense, Factor

every_layout = pytest.mark.parametrize("layout", list(LAYOUTS))


def some_columns(p: int) -> st.SearchStrategy[list[int]]:
    """In any order, each once; those that are evenly apart among them."""
    return st.lists(st.integers(0, p - 1), min_size=1, max_size=p, unique=True)


@every_layout
@given(rows=tables(), data=st.data())
def test_selected_columns_are_those_of_the_array(layout, rows, data):
    columns = np.array(data.draw(some_columns(rows.p)), dtype=np.intp)
    found = LAYOUTS[layout](rows.X).select(columns)
    assert found.shape == (len(rows), len(columns))
    np.testing.assert_array_equal(found.to_array(), rows.X[:, columns])


@pytest.mark.parametrize("columns", [[0, 1, 2], [1, 3], [0, 2, 4], [2]], ids=str)
def test_columns_that_are_evenly_apart_are_not_copied(columns):
    X = np.zeros((4, 5))
    assert np.shares_memory(Dense(X).select(np.array(columns)).array, X)


@every_layout
@pytest.mark.parametrize("limit", [-0.5, 0.5], ids=["0 too", "not 0"])
@given(rows=tables())
def test_cells_are_found_where_the_array_has_them(layout, limit, rows):
    at, columns = LAYOUTS[layout](rows.X).where(lambda x: x > limit)
    order = np.lexsort((columns, at))
    np.testing.assert_array_equal(np.stack([at, columns], axis=1)[order], np.argwhere(rows.X > limit))


@every_layout
@given(rows=tables(), data=st.data())
def test_cells_that_are_taken_away_are_missing(layout, rows, data):
    gone = data.draw(st.lists(st.booleans(), min_size=rows.X.size, max_size=rows.X.size))
    mask = np.array(gone, dtype=bool).reshape(rows.X.shape)
    given_block = LAYOUTS[layout](rows.X)
    found = given_block.without(np.nonzero(mask))
    np.testing.assert_array_equal(found.to_array(), np.where(mask, np.nan, rows.X))
    np.testing.assert_array_equal(given_block.to_array(), rows.X)  # as it was
    np.testing.assert_array_equal(found.gappy(), mask.any(axis=1))


@every_layout
@given(rows=tables(), data=st.data())
def test_blocks_are_stacked_in_order(layout, rows, data):
    ends = st.integers(0, len(rows))
    pieces = [LAYOUTS[layout](piece.X) for piece in rows.cut([data.draw(ends), data.draw(ends)])]
    np.testing.assert_array_equal(type(pieces[0]).stack(pieces).to_array(), rows.X)


@given(rows=tables(), data=st.data())
def test_categories_of_different_levels_are_stacked_by_value(rows, data):
    """Each piece has the levels of its own rows; the values are what counts."""

    def own(piece: Columns) -> Columns:
        return Columns(tuple(factor.coded(factor.used()) for factor in piece.arrays))

    def values(block: Columns) -> list[list[object]]:
        return [[None if c < 0 else f.levels[c] for c in f.codes] for f in block.arrays]

    whole, at = categories(rows.X), data.draw(st.integers(0, len(rows)))
    stacked = Columns.stack([own(whole.rows(0, at)), own(whole.rows(at, len(rows)))])
    assert values(stacked) == values(whole)
    assert all(isinstance(column, Factor) for column in stacked.arrays)
    np.testing.assert_array_equal(stacked.gappy(), whole.gappy())


# ---- missing and unknown categories --------------------------------------------------------------
MISSING, UNKNOWN = "missing", "unknown"


@st.composite
def factors(draw: st.DrawFn) -> Factor:
    """Any codes among any levels, missing (-1) and unknown (one past the last) among them."""
    levels = np.array(sorted(draw(st.sets(st.sampled_from("abcdef"), max_size=6))), dtype=object)
    codes = draw(st.lists(st.integers(-1, len(levels)), max_size=12))
    return Factor(np.array(codes, dtype=np.int32), levels)


def meaning(factor: Factor) -> list[str]:
    """What each row says, whatever its codes are."""
    return [[*factor.levels.tolist(), UNKNOWN, MISSING][code] for code in factor.codes]


@given(factor=factors())
def test_a_factor_with_fewer_levels_says_the_same(factor):
    compact = factor.compact()
    assert meaning(compact) == meaning(factor)
    assert compact.levels.tolist() == factor.used().tolist()
    assert set(compact.levels) == set(meaning(factor)) - {MISSING, UNKNOWN}


@given(factor=factors(), data=st.data())
def test_some_rows_of_a_factor_say_what_they_said(factor, data):
    rows = data.draw(st.lists(st.integers(0, max(len(factor) - 1, 0)), max_size=len(factor)))
    at = np.array(rows, dtype=np.intp)
    assert meaning(factor[at].compact()) == [meaning(factor)[i] for i in rows]


@given(factor=factors(), levels=st.sets(st.sampled_from("abcdefgh")))
def test_by_other_levels_the_missing_stay_missing_and_the_unknown_unknown(factor, levels):
    by = np.array(sorted(levels), dtype=object)
    known = {*levels, MISSING}
    assert meaning(factor.coded(by)) == [v if v in known else UNKNOWN for v in meaning(factor)]


@given(pieces=st.lists(factors(), min_size=1, max_size=4), compact=st.booleans())
def test_stacked_factors_say_what_each_said(pieces, compact):
    blocks = [Columns((one.compact() if compact else one,)) for one in pieces]
    (stacked,) = Columns.stack(blocks).arrays
    assert meaning(stacked) == [said for one in pieces for said in meaning(one)]
