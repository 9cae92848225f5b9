"""The laws of folds: each row in one, wherever rows are cut; all but one without a subtraction."""

import copy
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from laws.comparing import assert_close, assert_same_bits
from laws.generators import LAYOUTS, SEEDS, Table, tables
from laws.test_qr import assert_close as assert_close_triangles
from laws.test_qr import targets
from laws.test_states import every_state
from likelier.data import (
    Chunk,
    Columns,
    Dense,
    HashedFolds,
    ListedFolds,
    NonFinite,
    consecutive,
    runs,
    stratified,
)
from likelier.states import Folds, Moments, StateGroup, Triangle, all_but_one

CUTS = st.lists(st.integers(0, 60), max_size=5)


def drawn(rows: Table, seed: int, count: int = 4) -> ListedFolds:
    numbers = np.random.default_rng(seed).integers(0, count, len(rows)).astype(np.int32)
    return ListedFolds(np.sort(numbers) if seed % 3 == 0 else numbers, count)


def chunks(rows: Table, cuts: list[int], layout: str = "C", view=Table.chunk) -> list[Chunk]:
    ends = [0, *sorted(min(at, len(rows)) for at in cuts), len(rows)]
    return [view(rows.take(slice(a, b)), layout)._replace(first=a) for a, b in pairwise(ends)]


def absorbed(state, pieces):
    for piece in pieces:
        state.update(piece)
    return state


# ---- the state -----------------------------------------------------------------------------------
@every_state
@given(rows=tables(), seed=SEEDS, cuts=CUTS)
def test_each_fold_is_the_state_of_its_rows_however_they_are_cut(kind, rows, seed, cuts):
    folds = drawn(rows, seed)
    empty = lambda: kind.start(rows.K, rows.p)  # noqa: E731
    pieces = chunks(rows, cuts, view=kind.view)
    carried = absorbed(Folds.start(folds, empty), pieces)
    merged = Folds.start(folds, empty)
    for piece in pieces:
        merged.merge(absorbed(Folds.start(folds, empty), [piece]))
    for fold in range(folds.count):
        alone = rows.take(folds.numbers == fold)
        expected = kind.of(alone) if len(alone) else empty()
        assert_close(carried.states[fold], expected, alone)
        assert_close(merged.states[fold], expected, alone)


@given(rows=tables(), seed=SEEDS, cuts=CUTS)
def test_so_for_the_triangle_of_a_regression(rows, seed, cuts):
    folds, Y = drawn(rows, seed), targets(rows)
    pieces = [piece._replace(y=Y[piece.first :][: piece.X.shape[0]]) for piece in chunks(rows, cuts)]
    empty = lambda: Triangle.start(rows.p, Y.shape[1])  # noqa: E731
    found = absorbed(Folds.start(folds, empty), pieces)
    for fold in range(folds.count):
        at = folds.numbers == fold
        alone = absorbed(empty(), [Chunk(Dense(rows.X[at]), Y[at], rows.take(at).w)])
        assert_close_triangles(found.states[fold], alone, rows.take(at))


@every_state
@given(rows=tables(), seed=SEEDS)
def test_all_but_one_is_the_state_of_all_other_rows(kind, rows, seed):
    folds = drawn(rows, seed)
    states = [kind.of(rows.take(folds.numbers == fold)) for fold in range(folds.count)]
    before = copy.deepcopy(states)
    rests = list(all_but_one(states, lambda: kind.start(rows.K, rows.p)))
    assert len(rests) == folds.count
    for fold, rest in enumerate(rests):
        others = rows.take(folds.numbers != fold)
        assert_close(rest, kind.of(others), others)
        assert_same_bits(states[fold], before[fold])


@given(rows=tables())
def test_states_together_are_each_as_alone(rows):
    starts = [lambda s=shape: Moments.start(rows.K, rows.p, s) for shape in ("diagonal", "full", "tied")]
    both = absorbed(StateGroup.start(starts), [rows.chunk()])
    both.merge(absorbed(StateGroup.start(starts), [rows.chunk()]))
    for start, state in zip(starts, both.states, strict=True):
        alone = absorbed(start(), [rows.chunk()])
        alone.merge(absorbed(start(), [rows.chunk()]))
        assert_same_bits(state, alone)
    assert both.nbytes == sum(state.nbytes for state in both.states)


def test_a_bad_cell_has_the_number_that_its_row_has_in_the_source():
    X, y = np.zeros((20, 2)), np.zeros(20, dtype=np.int32)
    X[13, 1] = np.nan
    folds = ListedFolds((np.arange(30) % 3).astype(np.int32), 3)
    state = Folds.start(folds, lambda: Moments.start(1, 2, "full"))
    with pytest.raises(NonFinite, match=r"row 18, column 1"):
        state.update(Chunk(Dense(X), y, None, 5))


# ---- rows of a fold ------------------------------------------------------------------------------
@given(rows=tables(), seed=SEEDS, cuts=CUTS)
def test_every_row_is_in_the_fold_of_its_number_and_in_no_other(rows, seed, cuts):
    folds = drawn(rows, seed)
    for piece in chunks(rows, cuts):
        found = np.full(piece.X.shape[0], -1)
        for fold, at in runs(piece, folds):
            assert (found[at] == -1).all()
            found[at] = fold
        np.testing.assert_array_equal(found, folds.of(piece.first, len(found)))


def test_rows_that_adjoin_are_a_slice_and_so_not_copied():
    chunk = Chunk(Dense(np.zeros((10, 2))), first=5)
    found = dict(runs(chunk, consecutive(20, 4)))
    assert found == {1: slice(0, 5), 2: slice(5, 10)}
    assert np.shares_memory(chunk.take(found[1]).X.to_array(), chunk.X.to_array())
    assert chunk.take(found[2]).first == 10


@pytest.mark.parametrize("layout", [*LAYOUTS, "columns"])
@pytest.mark.parametrize("rows", [slice(2, 6), slice(0, 0), np.array([7, 0, 3, 3]), np.array([], int)])
def test_any_block_gives_some_of_its_rows(layout, rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 5)) * (rng.random((9, 5)) < 0.5)
    block = Columns(tuple(X.T)) if layout == "columns" else LAYOUTS[layout](X)
    taken = block.take(rows)
    np.testing.assert_array_equal(taken.to_array(), X[rows])
    assert taken.shape == X[rows].shape


# ---- which fold ----------------------------------------------------------------------------------
def of_splitter(splitter, y):
    numbers = np.empty(len(y), dtype=np.int32)
    for fold, (_, test) in enumerate(splitter.split(np.zeros((len(y), 1)), y)):
        numbers[test] = fold
    return numbers


@given(data=st.data(), K=st.integers(1, 6), count=st.integers(2, 9))
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_stratified_folds_are_scikit_learns(data, K, count):
    more = data.draw(st.lists(st.integers(0, K - 1), max_size=60))
    y = np.array([0] * count + more)
    y = y[np.random.default_rng(data.draw(SEEDS)).permutation(len(y))]
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(first))[codes].astype(np.int32)
    expected = of_splitter(StratifiedKFold(count), y)
    np.testing.assert_array_equal(stratified(by_appearance, count).numbers, expected)


@given(n=st.integers(2, 60), data=st.data())
def test_consecutive_folds_are_scikit_learns(n, data):
    count = data.draw(st.integers(2, n))
    np.testing.assert_array_equal(consecutive(n, count).numbers, of_splitter(KFold(count), np.zeros(n)))


def splitmix64(state: int) -> int:
    """In whole numbers of any size, as published."""
    mask = 2**64 - 1
    z = state & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


@given(first=st.integers(0, 2**40), seed=st.integers(0, 2**63 - 1), count=st.integers(2, 1000))
def test_hashed_folds_are_the_same_on_every_machine_and_in_every_cut(first, seed, count):
    found = HashedFolds(count, seed).of(first, 5)
    for i, fold in enumerate(found):
        z = splitmix64(seed + (first + i + 1) * 0x9E3779B97F4A7C15)
        assert fold == (z >> 32) * count >> 32
    np.testing.assert_array_equal(found[2:], HashedFolds(count, seed).of(first + 2, 3))


def test_the_first_numbers_of_splitmix64():
    assert splitmix64(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF  # seed 0, from its author's code


def test_hashed_folds_are_even_and_differ_by_seed():
    sizes = np.bincount(HashedFolds(10).of(0, 100_000))
    assert sizes.min() > 9_600
    assert sizes.max() < 10_400
    assert 0.05 < (HashedFolds(10, 1).of(0, 10_000) == HashedFolds(10, 2).of(0, 10_000)).mean() < 0.15
