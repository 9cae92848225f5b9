"""The laws of a State: it absorbs chunks in any cut and order, and merges with its like."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.comparing import UNIT, arrays_of, assert_close, assert_same_bits
from laws.generators import (
    CONSTANTS,
    DENSE,
    LARGE,
    LAYOUTS,
    SEEDS,
    SPARSE,
    Table,
    categories,
    cut_tables,
    large_table,
    positive,
    tables,
)
from likelier.data import Chunk, Columns, Dense, NonFinite
from likelier.families import DiagonalGaussian, Histogram, MixedFamily
from likelier.families.gamma_beta_dirichlet import SinglePart
from likelier.families.mixed import PooledFamily
from likelier.states import (
    BinCounts,
    Bins,
    ColumnMoments,
    Counts,
    Deviations,
    Extent,
    HigherMoments,
    LabelTotals,
    Levels,
    Moments,
    Parts,
    PatternMoments,
    PositiveMoments,
    ShrinkageMoments,
    StoredRows,
    Sums,
    Survey,
)


@dataclass(frozen=True)
class Kind:
    """A state under test.

    by_class: its labels are codes, hard or soft, of K classes; view: its rows. gaps: NaN is a missing cell.
    scatter: it keeps sums of squares about a mean.
    """

    name: str
    start: Callable[[int, int], Any]  # (K, p)
    by_class: bool = True
    view: Callable[[Table, str], Chunk] = Table.chunk
    gaps: bool = False
    scatter: bool = True
    whole: bool = True  # takes a chunk in or refuses it as a whole; parts leave that to their user

    def of(self, *pieces: Table, layout: str = "C") -> Any:
        """One state carried through all pieces."""
        state = self.start(pieces[0].K, pieces[0].p)
        for rows in pieces:
            state.update(self.view(rows, layout))
        return state


def of_categories(rows: Table, layout: str = "C") -> Chunk:
    return rows.chunk()._replace(X=categories(rows.X))


def of_positives(rows: Table, layout: str = "C") -> Chunk:
    return positive(rows).chunk(layout)


def of_codes(rows: Table, layout: str = "C") -> Chunk:
    """Cells as a few codes, some of them missing where a layout can say so."""
    codes = np.abs(rows.X) % 7 // 1
    return Table(np.where(codes == 6, np.nan, codes), rows.y, rows.w, rows.K).chunk(layout)


CUTS = Bins(np.array([-1.0, -1.0, 0.0, 5e-324, 2.0, 1e8, 1e9]), np.array([0, 0, 1, 0, 0, 0], dtype=bool))


def in_parts(K: int, p: int) -> Parts:
    """Every other column, and, if there are any, the others, as different states."""
    odd = np.arange(1, p, 2)
    groups = ((np.arange(0, p, 2), DiagonalGaussian()), (odd, Histogram((CUTS,) * len(odd))))
    return MixedFamily(groups if p > 1 else groups[:1]).stats(K, p)


# A new state joins here.
STATES = [
    Kind("column moments", ColumnMoments.start, gaps=True),
    Kind("moments, full", partial(Moments.start, shape="full")),
    Kind("moments, tied", partial(Moments.start, shape="tied")),
    Kind("deviations", Deviations.start),
    Kind("pattern moments, full", partial(PatternMoments.start, shape="full"), gaps=True),
    Kind("pattern moments, tied", partial(PatternMoments.start, shape="tied"), gaps=True),
    Kind("pattern moments, rows", partial(PatternMoments.start, shape="tied", rows=True), gaps=True),
    Kind("higher moments", HigherMoments.start),
    Kind("shrinkage moments", ShrinkageMoments.start, gaps=True),
    Kind("counts", lambda K, p: Counts.start(K, np.arange(p) % 5 + 1), by_class=False, view=of_codes),
    Kind(
        "open counts",
        lambda K, p: Counts.start(K, np.arange(p) % 5 + 1, "last"),
        by_class=False,
        view=of_codes,
    ),
    Kind("growing counts", Counts.growing, by_class=False, view=of_codes),
    Kind("bin counts", lambda K, p: BinCounts.start(K, (CUTS,) * p), by_class=False),
    Kind("sums", Sums.start, gaps=True, scatter=False),
    Kind("sums of truths", partial(Sums.start, threshold=0.5), gaps=True, scatter=False),
    Kind(
        "positive moments",
        partial(PositiveMoments.start, positives=SinglePart()),
        view=of_positives,
        gaps=True,
        scatter=False,
    ),
    Kind("kept rows", StoredRows.start, gaps=True),
    Kind("parts", in_parts, gaps=True, scatter=False, whole=False),
    Kind("all classes", PooledFamily(DiagonalGaussian()).stats, gaps=True, scatter=False),
    Kind("extent", lambda K, p: Extent.start(p), by_class=False),
    Kind("survey", lambda K, p: Survey(), by_class=False),
    Kind("label totals", lambda K, p: LabelTotals(), by_class=False),
    Kind("levels", lambda K, p: Levels(), by_class=False, view=of_categories),
]
BY_CLASS = [kind for kind in STATES if kind.by_class]

every_state = pytest.mark.parametrize("kind", STATES, ids=lambda kind: kind.name)
every_scatter = pytest.mark.parametrize(
    "kind", [kind for kind in BY_CLASS if kind.scatter], ids=lambda kind: kind.name
)
every_state_by_class = pytest.mark.parametrize("kind", BY_CLASS, ids=lambda kind: kind.name)


def merged(first: Any, *others: Any) -> Any:
    total = copy.deepcopy(first)
    for other in others:
        total.merge(other)
    return total


# ---- merging -------------------------------------------------------------------------------------
@every_state
@given(rows=tables(), data=st.data())
def test_merge_is_associative(kind, rows, data):
    ends = st.integers(0, len(rows))
    a, b, c = (kind.of(piece) for piece in rows.cut([data.draw(ends), data.draw(ends)]))
    assert_close(merged(merged(a, b), c), merged(a, merged(b, c)), rows)


@every_state
@given(rows=tables(), data=st.data())
def test_merge_is_commutative(kind, rows, data):
    a, b = (kind.of(piece) for piece in rows.cut([data.draw(st.integers(0, len(rows)))]))
    assert_close(merged(a, b), merged(b, a), rows)


@every_state
@given(rows=tables())
def test_start_is_the_identity_of_merge_bit_for_bit(kind, rows):
    state = kind.of(rows)
    assert_same_bits(merged(state, kind.start(rows.K, rows.p)), state)
    assert_same_bits(merged(kind.start(rows.K, rows.p), state), state)


@every_state
@given(rows=tables(), data=st.data())
def test_merge_leaves_the_other_as_it_was(kind, rows, data):
    a, b = (kind.of(piece) for piece in rows.cut([data.draw(st.integers(0, len(rows)))]))
    before = copy.deepcopy(b)
    total = merged(a, b)
    total.update(kind.view(rows, "C"))  # nor may the two share arrays from now on
    assert_same_bits(b, before)


# ---- cuts and orders -----------------------------------------------------------------------------
@every_state
@given(cut=cut_tables())
def test_any_cut_into_chunks_gives_the_same(kind, cut):
    rows, pieces = cut
    assert_close(kind.of(*pieces), kind.of(rows), rows)
    assert_close(merged(*(kind.of(piece) for piece in pieces)), kind.of(rows), rows)


@every_state
@given(rows=tables(), seed=SEEDS)
def test_any_order_of_rows_gives_the_same(kind, rows, seed):
    order = np.random.default_rng(seed).permutation(len(rows))
    assert_close(kind.of(rows.take(order)), kind.of(rows), rows)


@every_state
@pytest.mark.parametrize("size", LARGE, ids=str)
@pytest.mark.parametrize("weights", ["none", "fractional"])
def test_tables_of_several_tiles_obey_too(kind, size, weights):
    rows = large_table(*size, weights=weights)
    whole = kind.of(rows)
    assert_close(kind.of(*rows.cut([1, len(rows) // 2, len(rows) - 64])), whole, rows)
    assert_close(kind.of(rows.take(np.argsort(rows.X[:, 0]))), whole, rows)
    for layout in DENSE:
        assert_same_bits(kind.of(rows, layout=layout), whole)
    for layout in SPARSE:
        assert_close(kind.of(rows, layout=layout), whole, rows)


# ---- weights and labels --------------------------------------------------------------------------
@every_state
@given(rows=tables(weights=("whole",)))
def test_a_weight_of_2_is_the_row_twice(kind, rows):
    repeated = rows.take(np.repeat(np.arange(len(rows)), rows.w.astype(int))).reweighed(None)
    assert_close(kind.of(rows), kind.of(repeated), repeated)


@every_state
@given(rows=tables(weights=("whole", "mostly 0", "all 0")))
def test_a_weight_of_0_is_the_row_absent(kind, rows):
    assert_close(kind.of(rows), kind.of(rows.take(rows.w > 0)), rows)


@every_state_by_class
@given(rows=tables())
def test_an_unlabelled_row_is_absent(kind, rows):
    assert_close(kind.of(rows), kind.of(rows.take(rows.y >= 0)), rows)


@every_state_by_class
@given(rows=tables())
def test_soft_labels_of_0_and_1_are_hard_labels(kind, rows):
    soft = kind.start(rows.K, rows.p)
    soft.update(kind.view(rows, "C")._replace(y=rows.R))
    assert_close(soft, kind.of(rows), rows)


@every_state_by_class
@given(rows=tables(), seed=SEEDS)
def test_soft_labels_share_a_row_among_the_classes(kind, rows, seed):
    K, n = rows.K, len(rows)
    R = np.random.default_rng(seed).dirichlet(np.full(K, 0.5), n)
    soft = kind.start(K, rows.p)
    soft.update(kind.view(rows, "C")._replace(y=R))
    classes = np.repeat(np.arange(K, dtype=np.int32), n)
    shared = Table(np.tile(rows.X, (K, 1)), classes, (rows.weights[:, None] * R).T.ravel(), K)
    assert_close(soft, kind.of(shared), shared)


# ---- layouts and types ---------------------------------------------------------------------------
@every_state
@given(rows=tables(), layout=st.sampled_from(list(LAYOUTS)))
def test_every_layout_holds_the_same_numbers(kind, rows, layout):
    if layout in DENSE:
        assert_same_bits(kind.of(rows, layout=layout), kind.of(rows))
    else:
        assert_close(kind.of(rows, layout=layout), kind.of(rows), rows)


@every_state
@given(rows=tables(), layout=st.sampled_from(list(LAYOUTS)))
def test_float32_is_read_as_the_float64_it_is(kind, rows, layout):
    single = Table(rows.X.astype(np.float32), rows.y, rows.w, rows.K)
    double = Table(single.X.astype(np.float64), rows.y, rows.w, rows.K)
    assert_same_bits(kind.of(single, layout=layout), kind.of(double, layout=layout))


@every_state_by_class
@pytest.mark.parametrize("kind_of_number", [np.int8, np.int64, np.bool_, np.float16, ">f8"])
def test_other_numbers_are_read_as_float64(kind, kind_of_number):
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2, (50, 3)).astype(kind_of_number)
    codes = rng.integers(0, 2, 50).astype(np.int32)
    other, double = (Table(X, codes, None, 2) for X in (numbers, numbers.astype(np.float64)))
    assert_same_bits(kind.of(other), kind.of(double))


# ---- keeping -------------------------------------------------------------------------------------
@every_state
@given(rows=tables())
def test_pickle_keeps_every_bit(kind, rows):
    state = kind.of(rows)
    assert_same_bits(pickle.loads(pickle.dumps(state)), state)


def counted(state: Any) -> list[Any]:
    """The parts of a state that have one size. Rows with gaps come and go: they do not cut the parts."""
    if isinstance(state, ShrinkageMoments):
        return [state.higher, state.gaps.whole]
    if isinstance(state, Parts):
        return [part for one in state.states for part in counted(one)]
    one = state.whole if isinstance(state, PatternMoments) else state
    return [one.moments() if isinstance(one, Deviations) else one]  # the most that it may become


def held_by(state: Any) -> int:
    return sum(v.nbytes for v in arrays_of(state).values() if v.ndim)


@every_state
@given(rows=tables())
def test_nbytes_counts_all_arrays(kind, rows):
    state = kind.of(rows)
    assert state.nbytes == sum(held_by(part) for part in counted(state))


@every_state
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_update_leaves_the_chunk_unchanged(kind, layout):
    rows = positive(large_table(200, 9, 3, weights="fractional"))
    chunk = (kind.view if kind.view is of_codes else Table.chunk)(rows, layout)
    X = [getattr(chunk.X, name) for name in chunk.X.__slots__ if name != "p"]
    held = [chunk.y, chunk.w, *(X[0] if isinstance(chunk.X, Columns) else X)]
    before = [value.copy() for value in held]
    for value in held:
        value.flags.writeable = False  # to write is an error, not only a difference
    kind.start(rows.K, rows.p).update(chunk)
    for value, was in zip(held, before, strict=True):
        np.testing.assert_array_equal(value, was)


@every_state_by_class
@pytest.mark.parametrize("seen", [0, 100], ids=["empty", "with rows"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_refused_chunk_leaves_no_trace(kind, seen, bad):
    rows = large_table(5000, 2, 3)
    state = kind.of(rows.take(slice(0, seen)))
    before = copy.deepcopy(state)
    X = rows.X.copy()
    X[4999, 1], y = bad, np.maximum(rows.y, 0)  # in the second tile: the first is added up by then
    if kind.gaps:
        X[4999, 1], X[1::7, 0] = np.inf if np.isnan(bad) else bad, np.nan
    with pytest.raises(NonFinite) as refused:
        state.update(kind.view(Table(X, y, None, 3), "C")._replace(first=70))
    assert (refused.value.row, refused.value.column) == (70 + 4999, 1)
    if kind.whole:
        assert_same_bits(state, before)


# ---- what the states say -------------------------------------------------------------------------
@every_state_by_class
@given(rows=tables(), data=st.data())
def test_widened_places_the_classes(kind, rows, data):
    K = rows.K + data.draw(st.integers(0, 4))
    at = np.sort(data.draw(st.permutations(range(K)))[: rows.K]).astype(np.intp)
    placed = np.append(at, -1)[rows.y].astype(np.int32)  # code -1 takes the last: it stays -1
    wide = Table(rows.X, placed, rows.w, K)
    state = kind.of(rows)
    before = copy.deepcopy(state)
    assert_close(state.widened(K, at), kind.of(wide), wide)
    merged(state.widened(K, at), kind.of(wide))
    assert_same_bits(state, before)


@given(rows=tables())
def test_within_and_between_add_up_to_the_scatter_of_all_rows(rows):
    labelled = rows.take(rows.y >= 0)
    one = Table(labelled.X, np.zeros(len(labelled), np.int32), labelled.w, 1)
    for shape in ("full", "tied"):
        kind = Kind(shape, partial(Moments.start, shape=shape))
        state, all_rows = kind.of(labelled), kind.of(one)
        total = copy.deepcopy(all_rows)
        total.S = (state.within() + state.between()).reshape(all_rows.S.shape)
        assert_close(total, all_rows, one)


@given(rows=tables())
def test_pooled_columns_have_the_scatter_of_all_rows(rows):
    labelled = rows.take(rows.y >= 0)
    one = Table(labelled.X, np.zeros(len(labelled), np.int32), labelled.w, 1)
    columns = Kind("columns", ColumnMoments.start)
    all_rows = columns.of(one)
    seen, mean, S = columns.of(labelled).pooled()
    assert_close(ColumnMoments(all_rows.n, seen[None], mean[None], S[None]), all_rows, one)


@given(rows=tables())
def test_higher_moments_contain_the_lower_ones(rows):
    higher = HigherMoments.start(rows.K, rows.p)
    higher.update(rows.chunk())
    full = Kind("full", partial(Moments.start, shape="full"))
    assert_close(Moments(higher.n, higher.mean, higher.S, "full"), full.of(rows), rows)


@given(rows=tables())
def test_pooled_higher_moments_forget_the_classes(rows):
    labelled = rows.take(rows.y >= 0)
    one = Table(labelled.X, np.zeros(len(labelled), np.int32), labelled.w, 1)
    higher = Kind("higher", HigherMoments.start)
    assert_close(higher.of(labelled).pooled(), higher.of(one), one)


RAW_LABELS = {
    "strings": np.array(["bee", "ant", "", "cow", "bees"]),
    "objects": np.array(["bee", "ant", "", "cow", "bees"], dtype=object),
    "numbers": np.array([3, -1, 0, 2**40, -(2**40)]),
    "small numbers": np.array([3, -1, 0, 127, -128], dtype=np.int8),
    "unsigned": np.array([0, 2**64 - 1, 2**63, 1, 5], dtype=np.uint64),
    "floats": np.array([1.0, -0.0, 2.5, -7.0, 1e300]),
    "booleans": np.array([True, False]),
    "dates": np.array(["2020-01-02", "1969-12-31", "2020-01-01"], dtype="M8[D]"),
    "bytes": np.array([b"b", b"a", b"abc"]),
    "big endian": np.array([3, 1, 2], dtype=">i4"),
}


@pytest.mark.parametrize("levels", RAW_LABELS.values(), ids=list(RAW_LABELS))
def test_the_survey_finds_the_sorted_labels(levels):
    rng = np.random.default_rng(0)
    y = levels[rng.integers(0, len(levels), 500)]
    w = (y != levels[0]).astype(np.float64)  # the first of them never counts
    found, weighted = Survey(), Survey()
    for rows in np.array_split(np.arange(500), 7):
        found.update(Chunk(Dense(np.zeros((len(rows), 1))), y[rows]))
        weighted.update(Chunk(Dense(np.zeros((len(rows), 1))), y[rows], w[rows]))
    np.testing.assert_array_equal(found.levels, np.unique(y))
    np.testing.assert_array_equal(weighted.levels, np.unique(y[w > 0]))


@given(rows=tables())
def test_the_levels_are_the_sorted_values_of_the_rows_that_count(rows):
    state, counting = Levels(), rows.take(rows.weights > 0)
    state.update(of_categories(rows))
    coded = categories(counting.X).coded(state.levels)
    for j, (factor, new) in enumerate(zip(categories(counting.X).arrays, coded.arrays, strict=True)):
        values = [None if code < 0 else factor.levels[code] for code in factor.codes]
        assert state.levels[j].tolist() == sorted({value for value in values if value is not None})
        assert [None if code < 0 else state.levels[j][code] for code in new.codes] == values


# ---- digits --------------------------------------------------------------------------------------
@cache
def far_column(mean: float, n: int) -> tuple[Table, Fraction]:
    """Unit variance about a mean, and Σ (x - mean)² of the very numbers that the floats are."""
    x = mean + np.random.default_rng(n).standard_normal(n)
    cells = [Fraction(v) for v in x.tolist()]
    middle = sum(cells) / n
    return Table(x[:, None], np.zeros(n, np.int32), None, 1), sum((v - middle) ** 2 for v in cells)


def error(state: Any, exact: Fraction) -> float:
    """Relative, of the scatter."""
    return float(abs(Fraction(scatter(state).item()) - exact) / exact)


def scatter(state: Any) -> Any:
    """Of complete rows."""
    held = counted(state)[0]
    if isinstance(held, StoredRows):
        return held.moments()[0].S
    return held.gap if isinstance(held, PositiveMoments) else held.S


every_spread = pytest.mark.parametrize(
    "kind",
    [k for k in BY_CLASS if k.scatter or isinstance(k.start(2, 2), PositiveMoments)],
    ids=lambda kind: kind.name,
)


ROWS = [2, 10, 655, 4096, 4097, 20000]  # below, at and beyond one tile
every_mean = pytest.mark.parametrize("mean", [0.0, 1e4, 1e8, 1e12])


@every_scatter
@every_mean
@pytest.mark.parametrize("layout", ["C", "CSR, 32 bit"])
def test_one_chunk_keeps_its_variance_however_far_from_0(kind, mean, layout):
    """Centred before they are squared, cells lose nothing but (u mean)², to the rounding of the mean.

    (NumPy's own `var` is as good. Cells minus the first row are exact: that is all it takes.)
    """
    errors = {}
    for n in ROWS:
        rows, exact = far_column(mean, n)
        errors[n] = error(kind.of(rows, layout=layout), exact)
    assert max(errors.values()) < 1e-12 + 4 * (UNIT * mean) ** 2, errors


@every_scatter
@every_mean
def test_merged_chunks_keep_their_variance(kind, mean):
    """A mean is held to u|mean|, and so is the gap between two of them: that much and no more is lost."""
    errors = {}
    for n in ROWS:
        rows, exact = far_column(mean, n)
        errors[n] = error(kind.of(*rows.cut([n // 7, n // 3, n // 2])), exact)
    assert max(errors.values()) < 1e-12 + 8 * UNIT * mean, errors


@every_spread
@pytest.mark.parametrize("layout", ["C", "Fortran", "CSR, 32 bit"])
@pytest.mark.parametrize("weights", ["none", "fractional"])
def test_a_constant_column_has_no_scatter_at_all(kind, layout, weights):
    """Exactly none: by that alone is it told from a column that varies little."""
    found = {}
    for constant, n in product(CONSTANTS, [1, 3, 60, 1000, 5000]):
        rng = np.random.default_rng(n)
        w = None if weights == "none" else rng.exponential(size=n)
        rows = Table(np.full((n, 2), constant), rng.integers(0, 2, n).astype(np.int32), w, 2)
        state = kind.of(*rows.cut([n // 3]), layout=layout)
        found[constant, n] = np.abs(scatter(state)).max()
    assert max(found.values()) == 0, found
