"""Laws of least squares on every shape: rows kept or folded, units, weights, few rows, sparse rows."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import likelier as lk
from laws.generators import LAYOUTS, SEEDS
from laws.parts import parts_of
from likelier.data import Arrays, Chunk, Dense, block
from likelier.engines import serial, threads
from likelier.states import RowsOrTriangle

pytestmark = pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")

MODELS = [
    lk.LinearRegression(),
    lk.LinearRegression(fit_intercept=False),
    lk.Ridge(),
    lk.Ridge(alpha=1e-3, fit_intercept=False),
    lk.Ridge(alpha=[1.0, 30.0]),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)
SHAPES = [(1, 3), (2, 40), (19, 20), (20, 20), (21, 20), (22, 20), (25, 20), (7, 90), (60, 5)]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def table(n, p, q=2, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-1, 1, p) + offset
    return X, rng.normal(size=(n, q)), rng.exponential(size=n)


def reference(model, X, Y, w):
    """By pseudo-inverses, in the units of the rows."""
    w = np.ones(len(X)) if w is None else w
    mean, centre = (np.average(Z, axis=0, weights=w) if model.fit_intercept else 0.0 for Z in (X, Y))
    A, B = np.sqrt(w)[:, None] * (X - mean), np.sqrt(w)[:, None] * (Y - centre)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > 1e-11 * max(s[0], 1e-300)
    alphas = np.broadcast_to(getattr(model, "alpha", 0.0), B.shape[1])
    b = [
        Vt[kept].T @ (s[kept] / (s[kept] ** 2 + a) * (U[:, kept].T @ t))
        for a, t in zip(alphas, B.T, strict=True)
    ]
    return np.array(b), centre - np.array(b) @ mean if model.fit_intercept else 0.0


def assert_near(ours, wanted, rtol=1e-9):
    wanted = np.asarray(wanted)
    assert np.shape(ours) == wanted.shape
    assert np.linalg.norm(ours - wanted) <= rtol * np.linalg.norm(wanted) + 1e-300


# ---- the solution -----------------------------------------------------------------------------------
@every_model
@every_shape
@pytest.mark.parametrize("weighted", [False, True])
def test_the_solution_is_that_of_the_pseudo_inverse(model, shape, weighted):
    X, Y, w = table(*shape)
    fitted = clone(model).fit(X, Y, w if weighted else None)
    b, b0 = reference(model, X, Y, w if weighted else None)
    assert_near(fitted.coef_, b)
    if model.fit_intercept:
        assert_near(fitted.intercept_, b0, 1e-8)
    assert_near(fitted.predict(X), X @ b.T + b0, 1e-9)


@pytest.mark.parametrize("model", [one for one in MODELS if one.fit_intercept], ids=str)
@every_shape
def test_columns_far_from_0_keep_their_digits(model, shape):
    X, Y, _ = table(*shape)
    far = np.round(X * 2**20) / 2**20 + 2.0**26  # exactly representable: the same rows, elsewhere
    near, moved = clone(model).fit(far - 2.0**26, Y), clone(model).fit(far, Y)
    assert_near(moved.coef_, near.coef_, 1e-7)
    assert_near(moved.predict(far), near.predict(far - 2.0**26), 1e-7)


@given(
    seed=SEEDS, n=st.integers(1, 50), p=st.integers(1, 50), cuts=st.lists(st.integers(0, 50), max_size=5)
)
def test_any_cut_gives_the_same_from_few_rows_to_many(seed, n, p, cuts):
    """Chunks, partial_fit and merge, from fewer rows than columns across to more."""
    X, Y, w = table(n, p, seed=seed)
    w *= np.random.default_rng(seed).random(n) < 0.8
    w[0] = 1
    pieces = [
        (X[rows], Y[rows], w[rows]) for rows in np.split(np.arange(n), sorted(min(c, n) for c in cuts))
    ]
    pieces = [piece for piece in pieces if piece[2].any()]
    for model in (lk.LinearRegression(), lk.Ridge(0.1, fit_intercept=False)):
        whole, batches = clone(model).fit(X, Y, w), clone(model)
        for piece in pieces:
            batches.partial_fit(*piece)
        merged = lk.merge([clone(model).fit(*piece) for piece in pieces])
        for other in (batches, merged):
            assert_near(other.predict(X[w > 0]), whole.predict(X[w > 0]), 1e-6)
            assert other._statistics.n == pytest.approx(whole._statistics.n, rel=1e-13)


# ---- the state --------------------------------------------------------------------------------------
def gathered(*pieces, layout="C"):
    state = RowsOrTriangle.start(pieces[0][0].shape[1], pieces[0][1].shape[1])
    for X, Y, w in pieces:
        state.update(Chunk(LAYOUTS[layout](X), Y, w))
    return state


def squares(state):
    """RᵀR of its rows about a common row."""
    t = state.folded()
    R = t.R.copy()
    R[0, 1:] += R[0, 0] * t.shift
    return R.T @ R


@every_shape
def test_pieces_in_any_order_have_the_same_sums_of_squares(shape):
    X, Y, w = table(*shape)
    n = len(X)
    whole = gathered((X, Y, w))
    for at in {0, 1, n // 2, n}:
        a, b = gathered((X[:at], Y[:at], w[:at])), gathered((X[at:], Y[at:], w[at:]))
        for first, second in ((a, b), (b, a)):
            total = copy.deepcopy(first)
            total.merge(second)
            np.testing.assert_allclose(squares(total), squares(whole), rtol=1e-11, atol=1e-11)
        a.update(Chunk(Dense(X[at:]), Y[at:], w[at:]))
        np.testing.assert_allclose(squares(a), squares(whole), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(5, 40), (39, 40), (80, 40)], ids=str)
def test_every_layout_has_the_same_solution(layout, shape):
    X, Y, w = table(*shape)
    X[np.abs(X) < 0.3] = 0
    a, b = (gathered((X, Y, w), layout=one) for one in ("C", layout))
    np.testing.assert_allclose(squares(b), squares(a), rtol=1e-12, atol=1e-12)
    c, d = (lk.Ridge(0.1)._model_of(state).B for state in (a, b))
    assert_near(d, c, 1e-11)


def test_rows_are_kept_while_they_are_fewer_than_columns_and_no_longer():
    X, Y, w = table(100, 20)
    few, many = gathered((X[:20], Y[:20], w[:20])), gathered((X, Y, w))
    assert few.triangle is None
    assert many.triangle is not None
    assert not many.X
    assert few._held < few.nbytes
    crossed = copy.deepcopy(few)
    crossed.update(Chunk(Dense(X[20:]), Y[20:], w[20:]))
    assert crossed.triangle is not None
    np.testing.assert_allclose(squares(crossed), squares(many), rtol=1e-12, atol=1e-12)
    assert few.triangle is None  # the copy crossed, not this one


def test_sparse_rows_are_kept_while_they_are_smaller_than_the_triangle():
    X = sparse.random_array((5000, 400), density=0.01, rng=np.random.default_rng(0), format="csr")
    state = RowsOrTriangle.start(400, 1)
    state.update(Chunk(block(X), np.zeros((5000, 1)), None))
    assert state.triangle is None
    assert state._held < 400 * 400 * 8


def test_thin_sparse_rows_are_kept_for_a_penalised_solution_and_full_ones_are_folded():
    """Folding costs n p² operations, and steps some readings of what is stored."""
    rng = np.random.default_rng(0)
    thin = sparse.random_array((2000, 100), density=0.05, rng=rng, format="csr")
    full = sparse.random_array((2000, 100), density=0.5, rng=rng, format="csr")
    y = rng.standard_normal(2000)
    for X, kept in ((thin, True), (full, False)):
        model = lk.Ridge().fit(X, y)
        assert (model._statistics.triangle is None) == kept
        assert_near(model.coef_, lk.Ridge().fit(X.toarray(), y).coef_, 1e-8)
        halves = lk.merge([lk.Ridge().fit(X[:900], y[:900]), lk.Ridge().fit(X[900:], y[900:])])
        assert (halves._statistics.triangle is None) == kept
        assert_near(halves.coef_, model.coef_, 1e-8)
    mixed = lk.Ridge().fit(thin, y).partial_fit(full, y)
    assert mixed._statistics.triangle is not None
    both = lk.Ridge().fit(sparse.vstack([thin, full]).toarray(), np.tile(y, 2))
    assert_near(mixed.coef_, both.coef_, 1e-8)


def test_the_choice_of_a_way_is_the_fastest_or_near_it():
    """By counts of operations, whatever the clock says: steps for thin rows, factors for near ties."""
    thin = sparse.random_array((3000, 600), density=0.03, rng=np.random.default_rng(0), format="csr")
    y = np.random.default_rng(1).standard_normal(3000)
    assert lk.Ridge().fit(thin, y).solver_ == "sparse_cg"
    hard = sparse.random_array((300, 300), density=0.1, rng=np.random.default_rng(0), format="csr")
    assert lk.Ridge(1e-3).fit(hard, y[:300]).solver_ == "cholesky"


def test_what_was_kept_is_not_what_the_user_changes_later():
    X, Y, _ = table(5, 30)
    model = lk.Ridge().fit(X, Y)
    X[:] = 0
    again = model.partial_fit(*table(5, 30, seed=1)[:2])
    rows = [table(5, 30, seed=i) for i in range(2)]
    both = lk.Ridge().fit(np.vstack([X for X, _, _ in rows]), np.vstack([Y for _, Y, _ in rows]))
    assert_near(again.coef_, both.coef_)


@pytest.mark.parametrize("shape", [(8, 30), (30, 8)], ids=str)
def test_files_and_pickles_keep_what_was_kept(shape, tmp_path):
    X, Y, w = table(*shape)
    for rows in (X, sparse.csr_array(X), X.astype(np.float32)):
        model = lk.Ridge().fit(rows, Y, w)
        lk.save(model, tmp_path / "m.lk")
        for again in (lk.load(tmp_path / "m.lk"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(again.coef_, model.coef_)
            more = clone(model).fit(rows, Y, w).partial_fit(X[:3], Y[:3])
            assert_near(again.partial_fit(X[:3], Y[:3]).coef_, more.coef_, 1e-12)


def test_threads_give_the_same_bits_with_few_rows():
    X, Y, w = table(300, 400)
    start = partial(RowsOrTriangle.start, 400, 2)
    with parts_of(1 << 16):
        a, b = (run(Arrays(Dense(X), Y, w), start) for run in (threads(3), serial))
    for x, y in zip(a.equations(centred=True)[:4], b.equations(centred=True)[:4], strict=True):
        np.testing.assert_array_equal(x, y)


# ---- units ------------------------------------------------------------------------------------------
POWERS = [0, 1, -40, 300, -300, 660, -660, 900, -900]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("power", POWERS)
def test_a_column_times_a_power_of_2_changes_no_prediction_bit(power, intercept):
    X, Y, w = table(60, 5)
    scaled = X.copy()
    scaled[:, 2] = np.ldexp(X[:, 2], power)
    scaled[:, 4] = np.ldexp(X[:, 4], -power)
    one, other = (lk.LinearRegression(fit_intercept=intercept).fit(Z, Y, w) for Z in (X, scaled))
    assert_near(np.ldexp(other.coef_, [0, 0, power, 0, -power]), one.coef_, 1e-13)
    assert_near(other.predict(scaled), one.predict(X), 1e-13)
    assert other.rank_ == 5
    assert_near(
        np.ldexp(other.summary()[0].errors[intercept:], [0, 0, power, 0, -power]),
        one.summary()[0].errors[intercept:],
        1e-12,
    )


@every_model
@every_shape
@pytest.mark.parametrize("power", POWERS)
def test_y_times_a_power_of_2_is_the_answer_times_it(model, shape, power):
    X, Y, w = table(*shape)
    one, other = clone(model).fit(X, Y, w), clone(model).fit(X, np.ldexp(Y, power), w)
    assert_near(np.ldexp(other.coef_, -power), one.coef_, 1e-13)
    assert_near(np.ldexp(other.predict(X), -power), one.predict(X), 1e-13)


@every_shape
@pytest.mark.parametrize("power", [0, 1, -40, 300, -300, 490, -490])
def test_all_columns_and_the_penalty_times_powers_of_2(shape, power):
    X, Y, w = table(*shape)
    scaled = np.ldexp(X, power)
    one, other = lk.Ridge(2.0).fit(X, Y, w), lk.Ridge(float(np.ldexp(2.0, 2 * power))).fit(scaled, Y, w)
    assert_near(np.ldexp(other.coef_, power), one.coef_, 1e-13)
    line, moved = lk.LinearRegression().fit(X, Y, w), lk.LinearRegression().fit(scaled, Y, w)
    assert_near(np.ldexp(moved.coef_, power), line.coef_, 1e-13)
    assert moved.rank_ == line.rank_
    np.testing.assert_allclose(np.ldexp(moved.singular_, -power), line.singular_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e300, 1e-300])
@every_shape
def test_huge_and_tiny_rows_have_a_solution(shape, size):
    X, Y, _ = table(*shape)
    b = lk.LinearRegression().fit(X, Y)
    assert_near(lk.LinearRegression().fit(X * size, Y).predict(X * size), b.predict(X), 1e-9)
    ridge = lk.Ridge().fit(X * size, Y)
    assert np.isfinite(ridge.coef_).all()
    if size > 1:
        assert_near(ridge.predict(X * size), b.predict(X), 1e-9)  # the penalty is nothing beside such rows
    else:
        np.testing.assert_allclose(
            ridge.predict(X * size), np.broadcast_to(Y.mean(axis=0), Y.shape), atol=1e-12
        )


@every_model
@every_shape
@pytest.mark.parametrize("scale", [1e30, 1e-30, 2.0**400, 2.0**-400, 1e60])
def test_the_scale_of_weights_changes_nothing(model, shape, scale):
    X, Y, w = table(*shape)
    penalties = {"alpha": np.asarray(model.alpha) * scale} if isinstance(model, lk.Ridge) else {}
    one, other = clone(model).fit(X, Y, w), clone(model).set_params(**penalties).fit(X, Y, w * scale)
    assert_near(other.coef_, one.coef_, 1e-9)
    if not penalties:
        assert other.rank_ == one.rank_


def test_precise_measurements_leave_all_columns():
    x = np.linspace(1, 10, 50)
    X, y = np.column_stack([x, x**2, x**3]), 1 + 2 * x - 0.3 * x**2 + 0.01 * x**3
    for w in (1.0, 1e30, 1e60, 1e-30):
        model = lk.LinearRegression().fit(X, y, np.full(50, w))
        assert model.rank_ == 3
        np.testing.assert_allclose(model.coef_, [2, -0.3, 0.01], rtol=1e-9)


# ---- what the rows leave open -----------------------------------------------------------------------
def test_a_constant_column_beside_an_intercept_is_no_reason_to_warn():
    X, Y, _ = table(40, 3)
    biased = np.column_stack([np.ones(40), X])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = lk.LinearRegression().fit(biased, Y)
    assert model.rank_ == 3
    np.testing.assert_array_equal(model.coef_[:, 0], 0)
    assert_near(model.coef_[:, 1:], lk.LinearRegression().fit(X, Y).coef_, 1e-12)


def test_of_dependent_columns_only_those_are_named():
    X, Y, _ = table(40, 3)
    X = np.column_stack([np.full(40, 0.1), X, X[:, 0] + X[:, 1]])
    with pytest.warns(lk.DegenerateWarning, match=r"3 of 5 columns \(1, 2, 4\)"):
        lk.LinearRegression().fit(X, Y)
    with pytest.warns(lk.DegenerateWarning, match=r"2 of 2 columns \(0, 1\)"):
        lk.LinearRegression(fit_intercept=False).fit(np.ones((40, 2)), Y)


# ---- sparse rows ------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(30, 300), (300, 400), (900, 300), (3000, 500)], ids=str)
@pytest.mark.parametrize("density", [0.005, 0.05, 0.3])
@pytest.mark.parametrize(
    "how", ["plain", "weights", "no intercept", "two penalties", "bias", "tiny penalty"]
)
def test_sparse_rows_have_the_solution_of_dense_ones(shape, density, how):
    X = sparse.random_array(shape, density=density, rng=np.random.default_rng(1), format="csr")
    X.data[:] = 1 + np.floor(3 * X.data)
    if how == "bias":
        X = sparse.hstack([X, np.full((shape[0], 1), 3.0)], format="csr")
    _, Y, w = table(shape[0], 1)
    model = lk.Ridge(
        {"two penalties": [0.3, 5.0], "tiny penalty": 1e-9}.get(how, 1.0),
        fit_intercept=how != "no intercept",
    )
    w = w if how == "weights" else None
    a, b = (clone(model).fit(Z, Y, w) for Z in (X, X.toarray()))
    assert_near(a.coef_, b.coef_, 1e-8 if how != "tiny penalty" else 1e-5)
    assert_near(a.predict(X), b.predict(X), 1e-8)
    if how == "bias":
        np.testing.assert_allclose(a.coef_[:, -1], 0, atol=1e-12)


@pytest.mark.parametrize("alpha", [1e-12, 1e-16, 1e-100, float(np.finfo(np.float64).tiny)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(24, 12), (100, 50), (50, 100), (12, 12)])
def test_a_penalty_of_almost_nothing_is_least_squares(shape, intercept, alpha):
    """√α beside the diagonal of the triangle, whose signs are any, is nothing but rounding."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = X @ rng.standard_normal(shape[1]) + 10
    ridge = lk.Ridge(alpha=alpha, fit_intercept=intercept).fit(X, y)
    plain = lk.LinearRegression(fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(ridge.coef_, plain.coef_, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ridge.intercept_, plain.intercept_, rtol=1e-7, atol=1e-7)
