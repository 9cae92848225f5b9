"""The laws of the triangle, and of the regressions that are made of it."""

import copy
import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.generators import LARGE, LAYOUTS, SEEDS, cut_tables, large_table, tables
from laws.parts import parts_of
from likelier.data import Arrays, Chunk, Dense, NonFinite
from likelier.engines import serial, threads
from likelier.inference import penalised, solve
from likelier.states import Triangle

PROMISED = 1e-12
may_be_degenerate = pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")


def targets(rows):
    """Two targets: the last column, and the labels as numbers."""
    return np.column_stack([rows.X[:, -1], rows.y.astype(float)])


def triangle(*pieces, layout="C"):
    state = Triangle.start(pieces[0].p, 2)
    for rows in pieces:
        state.update(Chunk(LAYOUTS[layout](rows.X), targets(rows), rows.w))
    return state


def merged(first, *others):
    total = copy.deepcopy(first)
    for other in others:
        total.merge(other)
    return total


def moved(state, shift):
    """R on another shift."""
    R = state.R.copy()
    R[0, 1:] += R[0, 0] * (state.shift - shift)
    return R


def assert_close(a, b, rows):
    """RᵀR is Σ w zzᵀ: equal to 1e-12 of the weight times the ranges of the two columns."""
    used = rows.weights > 0
    np.testing.assert_allclose(a.n, b.n, rtol=PROMISED)
    if not used.any():
        assert not a.R.any()
        assert not b.R.any()
        return
    Z = np.column_stack([rows.X, targets(rows)])[used]
    span = np.append(1.0, np.ptp(Z, axis=0))
    room = PROMISED * a.n * np.outer(span, span) + np.finfo(float).tiny
    A, B = (moved(state, Z[0]) for state in (a, b))
    assert (np.abs(A.T @ A - B.T @ B) <= room).all()
    for state in (a, b):
        assert (np.tril(state.R, -1) == 0).all()
        assert (np.diagonal(state.R) >= 0).all()


def assert_same_bits(a, b):
    assert (a.n, a.p) == (b.n, b.p)
    np.testing.assert_array_equal(a.shift, b.shift)  # a 0 that CSR does not store has no sign
    np.testing.assert_array_equal(a.R, b.R)


# ---- the state -------------------------------------------------------------------------------------
@given(rows=tables(), data=st.data())
def test_merge_is_associative(rows, data):
    ends = st.integers(0, len(rows))
    a, b, c = (triangle(piece) for piece in rows.cut([data.draw(ends), data.draw(ends)]))
    assert_close(merged(merged(a, b), c), merged(a, merged(b, c)), rows)


@given(rows=tables(), data=st.data())
def test_merge_is_commutative(rows, data):
    a, b = (triangle(piece) for piece in rows.cut([data.draw(st.integers(0, len(rows)))]))
    assert_close(merged(a, b), merged(b, a), rows)


@given(rows=tables())
def test_start_is_the_identity_of_merge_bit_for_bit(rows):
    state = triangle(rows)
    if state.n:
        assert_same_bits(merged(state, Triangle.start(rows.p, 2)), state)
        assert_same_bits(merged(Triangle.start(rows.p, 2), state), state)


@given(rows=tables(), data=st.data())
def test_merge_leaves_the_other_as_it_was(rows, data):
    a, b = (triangle(piece) for piece in rows.cut([data.draw(st.integers(0, len(rows)))]))
    before = copy.deepcopy(b)
    merged(a, b).update(Chunk(Dense(rows.X), targets(rows), rows.w))
    assert_same_bits(b, before)


@given(cut=cut_tables())
def test_any_cut_into_chunks_gives_the_same(cut):
    rows, pieces = cut
    assert_close(triangle(*pieces), triangle(rows), rows)
    assert_close(merged(*(triangle(piece) for piece in pieces)), triangle(rows), rows)


@given(rows=tables(), seed=SEEDS)
def test_any_order_of_rows_gives_the_same(rows, seed):
    order = np.random.default_rng(seed).permutation(len(rows))
    assert_close(triangle(rows.take(order)), triangle(rows), rows)


@given(rows=tables(weights=("whole",)))
def test_a_weight_of_2_is_the_row_twice(rows):
    repeated = rows.take(np.repeat(np.arange(len(rows)), rows.w.astype(int))).reweighed(None)
    assert_close(triangle(rows), triangle(repeated), repeated)


@given(rows=tables(weights=("mostly 0", "whole")))
def test_a_weight_of_0_is_the_row_absent(rows):
    assert_close(triangle(rows), triangle(rows.take(rows.w > 0)), rows.take(rows.w > 0))


@pytest.mark.parametrize("size", LARGE, ids=str)
@pytest.mark.parametrize("weights", ["none", "fractional"])
def test_every_layout_gives_the_same_bits(size, weights):
    rows = large_table(*size, weights=weights)
    whole = triangle(rows)
    assert_close(triangle(*rows.cut([1, len(rows) // 2, len(rows) - 64])), whole, rows)
    for layout in LAYOUTS:
        assert_same_bits(triangle(rows, layout=layout), whole)


def test_float32_rows_are_the_same_numbers_in_float64():
    X = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
    narrow, wide = Triangle.start(5, 1), Triangle.start(5, 1)
    narrow.update(Chunk(Dense(X), X[:, 0]))
    wide.update(Chunk(Dense(X.astype(np.float64)), X[:, 0].astype(np.float64)))
    assert_same_bits(narrow, wide)


@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 1000])
def test_it_is_lapacks_R_with_a_positive_diagonal(n):
    rng = np.random.default_rng(n)
    X, y, w = rng.normal(size=(n, 7)) + 5, rng.normal(size=n), rng.exponential(size=n)
    state = Triangle.start(7, 1)
    state.update(Chunk(Dense(X), y, w))
    Z = np.sqrt(w)[:, None] * np.column_stack([np.ones(n), X - X[0], y - y[0]])
    R = np.linalg.qr(Z, mode="r")[:9]
    k = min(n, 9)
    R *= np.where(np.diagonal(R) < 0, -1, 1)[:, None]
    np.testing.assert_allclose(state.R[:k], R[:k], rtol=0, atol=1e-13 * np.linalg.norm(Z))
    np.testing.assert_allclose(state.R[k:], 0, atol=1e-13 * np.linalg.norm(Z))
    np.testing.assert_allclose(
        state.mean, np.average(np.column_stack([X, y]), axis=0, weights=w), rtol=1e-13
    )


@pytest.mark.parametrize("mean", [0, 1e8, -1e12])
def test_centred_sums_are_exact_however_far_the_columns_are(mean):
    """Against rational arithmetic on the very doubles; in pieces that each have a shift of their own."""
    rng = np.random.default_rng(3)
    Z = mean + rng.normal(size=(300, 3))
    parts = [Triangle.start(2, 1) for _ in range(3)]
    for i, part in enumerate(parts):
        part.update(Chunk(Dense(Z[i::3, :2]), Z[i::3, 2]))
    R = merged(*parts).R[1:, 1:]
    exact = [[Fraction(v) for v in column] for column in Z.T.tolist()]
    centred = [[v - sum(column) / len(column) for v in column] for column in exact]
    for i, a in enumerate(centred):
        for j, b in enumerate(centred):
            true = float(sum(u * v for u, v in zip(a, b, strict=True)))
            np.testing.assert_allclose((R.T @ R)[i, j], true, rtol=0, atol=1e-12 * len(Z))


@pytest.mark.parametrize("where", [(0, 0), (70, 1), (99, 2)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_not_finite_is_named(where, value):
    Z = np.random.default_rng(0).normal(size=(100, 3))
    Z[where] = value
    state = Triangle.start(2, 1)
    what = NonFinite if where[1] < 2 else ValueError
    message = (
        f"row {7 + where[0]}, column {where[1]}" if where[1] < 2 else f"y contains.*row {7 + where[0]} "
    )
    with pytest.raises(what, match=message):
        state.update(Chunk(Dense(Z[:, :2]), Z[:, 2], None, 7))


@pytest.mark.parametrize("cut", [0, 1, 40, 100])
@pytest.mark.parametrize("powers", [(900, -900, 5), (-1000, 0, 800), (0, 0, -900)])
def test_columns_times_powers_of_2_have_the_same_triangle_bit_for_bit(powers, cut):
    """Also where squares overflow or underflow, in one piece, in chunks and merged."""
    Z = np.random.default_rng(0).normal(size=(100, 3))
    scaled = np.ldexp(Z, powers)

    def pieces(Z):
        apart = [Triangle.start(2, 1) for _ in range(2)]
        for state, rows in zip(apart, (Z[:cut], Z[cut:]), strict=True):
            state.update(Chunk(Dense(rows[:, :2]), rows[:, 2]))
        chunks = copy.deepcopy(apart[0])
        chunks.update(Chunk(Dense(Z[cut:, :2]), Z[cut:, 2]))
        return [merged(*apart), chunks]

    for a, b in zip(pieces(Z), pieces(scaled), strict=True):
        power = np.zeros(4, dtype=int) if b.power is None else b.power
        np.testing.assert_array_equal(a.R, np.ldexp(b.R, power - np.array([0, *powers])))
        np.testing.assert_array_equal(np.ldexp(a.mean, powers), b.mean)


def test_pickle_keeps_every_bit():
    state = triangle(large_table(*LARGE[1]))
    assert_same_bits(pickle.loads(pickle.dumps(state)), state)


def test_threads_give_the_same_bits_as_one_after_another():
    rows = large_table(9001, 3, 3, weights="fractional")
    source = Arrays(Dense(rows.X), targets(rows), rows.w)
    start = partial(Triangle.start, 3, 2)
    with parts_of(4096):
        assert_same_bits(threads(3)(source, start), serial(source, start))


# ---- solving ---------------------------------------------------------------------------------------
def dependent(n, seed=0, mean=0.0):
    """Six columns of rank 4: c = a + b, and a constant."""
    X = mean + np.random.default_rng(seed).normal(size=(n, 6))
    X[:, 4], X[:, 5] = X[:, 0] + X[:, 1], 0.1
    return X


@pytest.mark.parametrize("n", [10, 1000, 300_000])
@pytest.mark.parametrize("mean", [0.0, 1e6])
@pytest.mark.parametrize("units", [1.0, 1e-9, 1e9])
def test_the_rank_is_found_whatever_the_rows_the_means_and_the_units(n, mean, units):
    X = dependent(n, mean=mean)
    X[:, [1, 2]] *= units
    X[:, 4] = X[:, 0] + X[:, 1]
    state = Triangle.start(6, 1)
    state.update(Chunk(Dense(X), X[:, 3] + X[:, 0]))
    assert solve(state.equations(centred=True)).rank == 4


def test_columns_that_nearly_depend_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    X[:, 1] = X[:, 0] + 1e-10 * X[:, 1]
    state = Triangle.start(2, 1)
    state.update(Chunk(Dense(X), X @ [1.0, 1.0]))
    found = solve(state.equations(centred=True))
    assert found.rank == 2
    np.testing.assert_allclose(found.b[:, 0], 1.0, atol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(50, 6), (4, 6), (1, 3)])
def test_of_all_solutions_it_is_the_shortest(shape, intercept):
    rng = np.random.default_rng(1)
    X = dependent(*shape[:1])[:, : shape[1]] * 10.0 ** np.arange(shape[1])
    y = rng.normal(size=len(X))
    with pytest.warns(lk.DegenerateWarning):
        model = lk.LinearRegression(fit_intercept=intercept).fit(X, y)
    centre = X - X.mean(axis=0) if intercept else X
    best = np.linalg.pinv(centre, rcond=1e-13) @ (y - y.mean() if intercept else y)
    np.testing.assert_allclose(model.coef_, best, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e6])
def test_the_penalty_is_rows_below_the_triangle(alpha):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)) + 3, rng.normal(size=30)
    state = Triangle.start(4, 1)
    state.update(Chunk(Dense(X), y))
    found = solve(penalised(state.equations(centred=True), alpha)).b[:, 0]
    C = X - X.mean(axis=0)
    np.testing.assert_allclose(found, np.linalg.solve(C.T @ C + alpha * np.eye(4), C.T @ y), rtol=1e-10)


# ---- the estimators --------------------------------------------------------------------------------
ESTIMATORS = [
    lk.LinearRegression(),
    lk.LinearRegression(fit_intercept=False),
    lk.LinearRegression(positive=True),
    lk.Ridge(),
    lk.Ridge(alpha=[0.5, 3.0], fit_intercept=False),
    lk.Ridge(positive=True),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


def problem(n=300, q=2):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 5)) * [1, 10, 0.1, 1, 100] + [0, 5, 1, -1e3, 1e4]
    return X, X @ rng.normal(size=(5, q)) + rng.normal(size=(n, q)), rng.integers(0, 4, n).astype(float)


def assert_agree(a, b, X):
    for name in ("coef_", "intercept_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-11)


@may_be_degenerate
@parametrize_with_checks([lk.LinearRegression(), lk.LinearRegression(positive=True), lk.Ridge()])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@every_estimator
def test_batches_and_merges_equal_one_fit(estimator):
    X, Y, w = problem()
    whole = clone(estimator).fit(X, Y, w)
    batches = clone(estimator)
    for i in range(7):
        batches.partial_fit(X[i::7], Y[i::7], w[i::7])
    apart = [clone(estimator).fit(X[i::3], Y[i::3], sample_weight=w[i::3]) for i in range(3)]
    assert_agree(batches, whole, X)
    assert_agree(lk.merge(apart), whole, X)
    assert_agree(apart[0].merge(*apart[1:]), whole, X)


@every_estimator
def test_weights_are_repetition(estimator):
    X, Y, w = problem()
    again = np.repeat(np.arange(len(X)), w.astype(int))
    weighted, repeated = clone(estimator).fit(X, Y, w), clone(estimator).fit(X[again], Y[again])
    assert_agree(weighted, repeated, X)
    if not estimator.positive:
        for a, b in zip(weighted.summary(), repeated.summary(), strict=True):
            np.testing.assert_allclose(a.errors, b.errors, rtol=1e-9)
            np.testing.assert_allclose([a.n, a.df, a.aic, a.F], [b.n, b.df, b.aic, b.F], rtol=1e-9)


@every_estimator
def test_save_and_load_keep_every_answer(estimator):
    X, Y, _ = problem()
    model = clone(estimator).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert_agree(
        again.partial_fit(X[:50], Y[:50]), clone(estimator).partial_fit(X, Y).partial_fit(X[:50], Y[:50]), X
    )


@every_estimator
def test_targets_do_not_see_each_other(estimator):
    X, Y, _ = problem()
    both = clone(estimator).fit(X, Y)
    for i in range(2):
        alone = clone(estimator)
        if isinstance(alone, lk.Ridge) and np.ndim(alone.alpha):
            alone.set_params(alpha=alone.alpha[i])
        alone.fit(X, Y[:, i])
        np.testing.assert_allclose(both.coef_[i], alone.coef_, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(both.predict(X)[:, i], alone.predict(X), rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_bounded_coefficients_are_optimal(alpha):
    """Karush, Kuhn and Tucker: the gradient is 0 where b > 0, and points outwards where b = 0."""
    X, Y, _ = problem()
    model = (lk.Ridge(alpha, positive=True) if alpha else lk.LinearRegression(positive=True)).fit(
        X, Y[:, 0]
    )
    C, b = X - X.mean(axis=0), model.coef_
    gradient = C.T @ (C @ b - (Y[:, 0] - Y[:, 0].mean())) + alpha * b
    scale = np.linalg.norm(C, axis=0) * np.linalg.norm(Y[:, 0])
    assert (b >= 0).all()
    assert (b == 0).any()
    assert (np.abs(gradient) <= 1e-12 * scale)[b > 0].all()
    assert (gradient >= -1e-12 * scale)[b == 0].all()
