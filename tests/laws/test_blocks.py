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
