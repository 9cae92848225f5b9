"""Gamma, beta and Dirichlet densities: where shapes are tiny or huge, rows few, and columns still."""

import pickle
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import likelier as lk
from laws.generators import SEEDS
from likelier.data import Chunk, Dense, NonFinite, OutOfSupport
from likelier.families import Beta, Dirichlet, Dirichlets, Family, Gamma, MixedFamily, Params
from likelier.families.gamma_beta_dirichlet import (
    dirichlet_alpha,
    gamma_shape,
    log_gap,
    log_gap_derivative,
    stirling,
)
from likelier.scores import stacked
from likelier.states.sums import excess


def fitted(family: Family, X: Any, y: Any = None, w: Any = None, K: int = 1) -> Any:
    state: Any = family.stats(K, np.shape(X)[1])
    codes = np.zeros(len(X), np.int32) if y is None else np.asarray(y, np.int32)
    state.update(Chunk(Dense(np.asarray(X)), codes, w))
    return family.estimate(state)


def log_density(params: Params, X: Any) -> np.ndarray:
    Z = np.full((len(X), params.shape[0]), np.nan)
    params.scores().write(Chunk(Dense(np.asarray(X, dtype=np.float64))), Z)
    return Z


# ---- functions -----------------------------------------------------------------------------------
POSITIVE = st.floats(1e-300, 1e300)


@given(u=POSITIVE, c=POSITIVE, near=st.booleans(), off=st.floats(-1, 1), digits=st.integers(0, 15))
def test_the_excess_of_a_ratio_keeps_all_digits(u, c, near, off, digits):
    u = c * (1 + 0.9 * off * 10.0**-digits) if near else u
    with localcontext() as context:
        context.prec = 60
        ratio = Decimal(u) / Decimal(c)
        exact = ratio - 1 - ratio.ln()
        found = excess(np.array([u]), np.array([c]))[0]
        if exact < Decimal("1e308"):
            assert abs(Decimal(found) - exact) <= Decimal("2e-14") * exact


@given(exponent=st.floats(-3, 3))
def test_functions_of_gamma_obey_their_recurrences(exponent):
    """Γ(a+1) = a Γ(a), in each of its three disguises; ln(1+1/a) - 1/a = -excess(a+1, a)."""
    a = np.array([10.0**exponent])
    step, up = excess(a + 1, a), a + 1
    np.testing.assert_allclose(log_gap(a) - log_gap(up), step, rtol=1e-11, atol=1e-15)
    fall = -1 / (a * a * up)  # 1/a - 1/(a+1) - 1/a²
    np.testing.assert_allclose(log_gap_derivative(a) - log_gap_derivative(up), fall, rtol=1e-9, atol=1e-17)
    np.testing.assert_allclose(
        stirling(up) - stirling(a), up * np.log1p(1 / a) - 1, atol=1e-14 * (1 + abs(stirling(a)[0]))
    )


@given(exponent=st.floats(-20, 3))
def test_the_shape_solves_its_equation(exponent):
    s = np.array([10.0**exponent])
    np.testing.assert_allclose(log_gap(gamma_shape(s)), s, rtol=1e-13)


@given(seed=SEEDS, size=st.floats(-2, 12), q=st.sampled_from([2, 3, 40]))
def test_the_alphas_solve_their_equations(seed, size, q):
    """To 1e-12 of the gap, which of α = 1e12 is 1e-12 itself."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(q, 2.0)) * 10**size + 1e-3
    mean, A = true / true.sum(), true.sum(keepdims=True)
    s = (log_gap(true) - log_gap(A)) * rng.uniform(0.5, 2, q)
    alpha = dirichlet_alpha(mean[None], s[None])[0]
    A, share = alpha.sum(keepdims=True), alpha / alpha.sum()
    slope = log_gap(alpha) - log_gap(A) - np.log(share / mean) - s
    assert (np.abs(slope) <= 1e-12 * s + 1e-15).all()
    exact = dirichlet_alpha(mean[None], (log_gap(true) - log_gap(true.sum(keepdims=True)))[None])[0]
    np.testing.assert_allclose(exact, true, rtol=1e-11)


# ---- against SciPy -------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 7.0, 300.0, 1e4])
def test_gamma_is_as_scipy_has_it(shape):
    x = np.maximum(np.random.default_rng(1).gamma(shape, 3.0, 500), 1e-300)
    params = fitted(Gamma(smoothing=0), x[:, None])
    a, scale = params.a[0, 0], params.mean[0, 0] / params.a[0, 0]
    found = stats.gamma.fit(x, floc=0)
    np.testing.assert_allclose([a, scale], [found[0], found[2]], rtol=1e-7)
    exact = stats.gamma.logpdf(x, a, scale=scale)
    np.testing.assert_allclose(log_density(params, x[:, None])[:, 0], exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.2, 0.3), (1.0, 5.0), (40.0, 2.0), (3e3, 5e3)])
def test_beta_is_as_scipy_has_it(a, b):
    x = np.clip(np.random.default_rng(1).beta(a, b, 500), 1e-300, 1 - 1e-16)
    params = fitted(Beta(smoothing=0), x[:, None])
    found = params.a[0, 0], params.b[0, 0]
    other = stats.beta.fit(x, floc=0, fscale=1)[:2]
    best, near = (stats.beta.logpdf(x, *ab).sum() for ab in (found, other))
    assert best >= near - 1e-9 * abs(near)
    exact = stats.beta.logpdf(x, *found)
    np.testing.assert_allclose(log_density(params, x[:, None])[:, 0], exact, rtol=1e-9, atol=1e-9)


def test_dirichlet_is_as_scipy_has_it():
    X = np.random.default_rng(1).dirichlet([0.5, 2, 3, 1], 500)
    params = fitted(Dirichlet(smoothing=0), X)
    np.testing.assert_allclose(
        log_density(params, X)[:, 0], stats.dirichlet.logpdf(X.T, params.alpha[0]), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(params.alpha[0], [0.5, 2, 3, 1], rtol=0.15)
    two = fitted(Dirichlet(smoothing=0), np.column_stack([X[:, 0], 1 - X[:, 0]]))
    beta = fitted(Beta(smoothing=0), X[:, :1])
    np.testing.assert_allclose(two.alpha[0], [beta.a[0, 0], beta.b[0, 0]], rtol=1e-12)


# ---- extremes ------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [1e5, 1e8, 1e12])
def test_hardly_varying_columns_keep_their_shape(shape):
    """x = 1 ± d, both as often: a is 1/d² + 1/3 + …, found though ln mean - mean ln is 1e-12."""
    d = np.round(2.0**40 / np.sqrt(shape)) / 2.0**40  # 1 ± d are exact
    params = fitted(Gamma(smoothing=0), np.array([[1 - d], [1 + d]]))
    s = -0.5 * np.log1p(-d * d)
    np.testing.assert_allclose(log_gap(params.a), s, rtol=1e-12)
    half = np.array([[0.5 - d / 2], [0.5 + d / 2]])
    beta = fitted(Beta(smoothing=0), half)
    np.testing.assert_allclose(beta.a, beta.b, rtol=1e-12)
    np.testing.assert_allclose(log_gap(beta.a) - log_gap(2 * beta.a), s, rtol=1e-9)


FAMILIES = {"gamma": Gamma(), "beta": Beta(), "dirichlet": Dirichlet()}


def legal(name: str, X: np.ndarray) -> np.ndarray:
    """Positive numbers as rows of a family."""
    if name == "gamma":
        return X
    if name == "beta":
        return np.minimum(X / (1 + X), 1 - 1e-16)
    return X / X.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=SEEDS, shape=st.sampled_from([0.01, 1.0, 1e8]), rows=st.integers(1, 12), data=st.data())
def test_whatever_the_rows_every_class_has_a_finite_density(name, seed, shape, rows, data):
    rng = np.random.default_rng(seed)
    X = np.maximum(rng.gamma(shape, size=(rows, 3)) / shape, 1e-200)
    if data.draw(st.booleans()):
        X[:, 1] = 0.25  # a constant column
    if data.draw(st.booleans()):
        X[rng.integers(rows), 0] = 1e-300
    X, y = legal(name, X), np.minimum(np.arange(rows), 2)  # the first two classes have a row at most
    params = fitted(FAMILIES[name], X, y, K=3)
    Z = log_density(params, X)
    assert np.isfinite(Z).all()
    drawn = params.sample(np.arange(3), rng)
    assert len(params.support.outside(Dense(drawn))[0]) == 0
    assert np.isfinite(log_density(params, drawn)).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_class_of_one_row_varies_as_the_others_do(name):
    rng = np.random.default_rng(0)
    X = legal(name, rng.gamma([5.0, 3.0, 4.0], size=(101, 3)))
    y = np.append(np.zeros(100), 1)
    family = FAMILIES[name]
    params, alone = fitted(family, X, y, K=2), fitted(family, X[100:])
    apart = log_density(params, X[100:]) - log_density(params, X[:100]).mean(axis=0)
    assert np.abs(apart).max() < 15
    assert np.isfinite(log_density(alone, X[:100])).all()
    again = fitted(type(family)(smoothing=1e6), X, y, K=2)  # all spreads alike
    if name == "gamma":
        np.testing.assert_allclose(again.a[0], again.a[1], rtol=1e-3)


# ---- Dirichlet -----------------------------------------------------------------------------------
ALPHA = np.array([[0.8, 2.0, 3.0, 1.5], [4.0, 1.0, 1.0, 0.5]])
SHARES = Dirichlets(ALPHA, np.zeros(2))


def test_a_dirichlet_integrates_to_1_over_any_two_columns():
    pair = SHARES.marginal(np.array([2, 1]))

    def density(v: float, u: float) -> float:
        return float(np.exp(log_density(pair, [[u, v * (1 - u)]])[0, 0]) * (1 - u))

    total, _ = integrate.dblquad(density, 0, 1, 0, 1, epsabs=1e-7)
    assert total == pytest.approx(1, abs=1e-6)


def test_the_marginal_of_a_marginal_and_what_is_given_step_by_step():
    X = SHARES.sample(np.zeros(5, np.intp), np.random.default_rng(0))
    twice = SHARES.marginal(np.array([3, 0, 1])).marginal(np.array([2, 0]))
    once = SHARES.marginal(np.array([1, 3]))
    some = X[:, [1, 3]]
    np.testing.assert_allclose(log_density(twice, some), log_density(once, some), rtol=1e-13)
    at_once = SHARES.condition({0: X[0, 0], 2: X[0, 2]})
    first = SHARES.condition({0: X[0, 0]})
    second = first.params.condition({1: X[0, 2]})
    np.testing.assert_allclose(first.log_given + second.log_given, at_once.log_given, rtol=1e-12)
    rest = X[:1, [1, 3]]
    left = log_density(at_once.params, rest)
    np.testing.assert_allclose(log_density(second.params, rest), left, rtol=1e-11)


def test_shares_are_drawn_filled_in_and_known():
    n = 40_000
    X = SHARES.sample(np.zeros(n, np.intp), np.random.default_rng(0))
    np.testing.assert_allclose(X.sum(axis=1), 1, rtol=1e-12)
    mean = ALPHA[0] / ALPHA[0].sum()
    sd = np.sqrt(mean * (1 - mean) / (ALPHA[0].sum() + 1))
    assert (np.abs(X.mean(axis=0) - mean) < 5 * sd / np.sqrt(n)).all()
    np.testing.assert_allclose(X.std(axis=0), sd, rtol=0.03)
    gone = np.array([[0.1, np.nan, 0.3, np.nan], [0.1, 0.2, 0.3, np.nan], [np.nan] * 4])
    filled = SHARES.fill(gone, np.array([[1.0, 0], [0.5, 0.5], [1, 0]]))
    np.testing.assert_allclose(filled[0], [0.1, 0.6 * 2 / 3.5, 0.3, 0.6 * 1.5 / 3.5])
    np.testing.assert_allclose(filled[1], [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(filled[2], mean)
    one_gone = log_density(SHARES, [[0.1, 0.2, 0.3, np.nan]])  # nothing of it is unknown
    np.testing.assert_allclose(one_gone, log_density(SHARES, [[0.1, 0.2, 0.3, 0.4]]), rtol=1e-12)


def test_tiny_alphas_are_drawn_as_they_are():
    tiny = Dirichlets(np.full((1, 2), 0.01), np.zeros(1))
    X = tiny.sample(np.zeros(2000, np.intp), np.random.default_rng(0))
    middle = ((X[:, 0] > 0.01) & (X[:, 0] < 0.99)).mean()
    low, high = stats.beta.cdf([0.01, 0.99], 0.01, 0.01)
    assert middle == pytest.approx(high - low, abs=0.015)
    assert (X > 0).all()


# ---- what is refused -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "row", "column", "says"),
    [
        ("gamma", [1.0, -2.0, 1.0], 1, "column 1 is -2; gamma takes numbers above 0"),
        ("gamma", [0.0, 2.0, 1.0], 0, "gamma takes numbers above 0"),
        ("beta", [0.5, 0.5, 1.2], 2, "is 1.2; beta takes numbers above 0 and below 1"),
        ("beta", [0.5, 1.0, 0.2], 1, "beta takes"),
        ("dirichlet", [0.5, 0.5, 0.0], 2, "numbers above 0 whose sum over its columns is 1"),
        ("dirichlet", [0.5, 0.3, 0.4], 0, "those of this row come to 1.2"),
        ("dirichlet", [0.7, 0.4, np.nan], 0, "those of this row come to 1.1"),
    ],
)
def test_values_outside_the_support_are_refused_by_row_and_column(name, row, column, says):
    good = np.array([0.2, 0.3, 0.5])
    X = np.array([good, good, [-1, -1, -1], row])
    state: Any = FAMILIES[name].stats(2, 3)
    with pytest.raises(OutOfSupport) as refused:
        state.update(Chunk(Dense(X), np.array([0, 1, -1, 1], np.int32), first=40))
    assert (refused.value.row, refused.value.column) == (43, column)
    assert says in str(refused.value)
    assert state.n.sum() == 0
    w = np.array([1.0, 1, 0, 0])  # a row without weight may hold anything
    state.update(Chunk(Dense(X), np.array([0, 1, 1, 1], np.int32), w))
    assert state.n.sum() == 2
    with pytest.raises(NonFinite):
        state.update(Chunk(Dense(np.array([[np.inf, 1, 1]])), np.zeros(1, np.int32)))


def test_at_prediction_a_row_that_is_no_whole_counts_as_missing():
    good, far, none = [0.2, 0.3, 0.1, 0.4], [0.5, 0.5, 0.5, 0.1], [0.0, 0.3, 0.3, 0.4]
    X = np.array([good, far, none, [0.5, np.nan, 0.6, 0.1]])
    rows, columns = SHARES.support.outside(Dense(X))
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [
        *((1, j) for j in range(4)),
        *((2, j) for j in range(4)),  # what is left of it comes to 1: nothing is left for the first
        *((3, j) for j in (0, 2, 3)),
    ]


def test_rows_that_lack_a_cell_count_for_the_class_but_not_for_its_shares():
    X = np.random.default_rng(0).dirichlet([2.0, 3, 4], 30)
    gone = X.copy()
    gone[::3, 1] = np.nan
    state: Any = Dirichlet().stats(1, 3)
    state.update(Chunk(Dense(gone), np.zeros(30, np.int32)))
    assert state.n.tolist() == [30.0]
    assert state.seen.tolist() == [[20.0] * 3]
    whole = fitted(Dirichlet(), np.delete(X, np.s_[::3], axis=0))
    np.testing.assert_allclose(Dirichlet().estimate(state).alpha, whole.alpha, rtol=1e-12)


# ---- among others --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FAMILIES)
def test_several_models_are_scored_abreast_and_survive_pickle(name):
    rng = np.random.default_rng(0)
    X = legal(name, rng.gamma(3.0, size=(60, 3)))
    models = [fitted(FAMILIES[name], X[i::2], np.arange(30) % 2, K=2) for i in (0, 1)]
    gone = X[:9].copy()
    gone[::2, 1] = np.nan
    for rows in (X[:9], gone):
        Z = np.empty((9, 4))
        stacked([model.scores() for model in models]).write(Chunk(Dense(rows)), Z)
        apart = np.hstack([log_density(model, rows) for model in models])
        np.testing.assert_allclose(Z, apart, rtol=1e-10, atol=1e-10)
        again = pickle.loads(pickle.dumps(models[0].scores()))
        Z = np.empty((9, 2))
        again.write(Chunk(Dense(rows)), Z)
        np.testing.assert_array_equal(Z, log_density(models[0], rows))


def test_each_family_has_columns_of_its_own_in_a_mixture_of_them():
    rng = np.random.default_rng(0)
    groups = ((np.array([3, 0, 4]), Dirichlet()), (np.array([2]), Gamma()), (np.array([1]), Beta()))
    family, X = MixedFamily(groups), np.empty((80, 5))
    X[:, [3, 0, 4]] = rng.dirichlet([1, 2, 3], 80)
    X[:, 2], X[:, 1] = rng.gamma(2.0, size=80), rng.random(80)
    params = fitted(family, X, np.arange(80) % 2, K=2)
    parts = [log_density(group.params, X[:, group.columns]) for group in params.groups]
    np.testing.assert_allclose(log_density(params, X), sum(parts), rtol=1e-12)
    rest, seen = params.condition({4: X[0, 4], 2: X[0, 2]})
    joint = seen + log_density(rest, X[:1, [0, 1, 3]])
    np.testing.assert_allclose(joint, log_density(params, X[:1]), rtol=1e-11)
    bad = X.copy()
    bad[7, 2] = -1.0
    with pytest.raises(OutOfSupport, match=r"row 7, column 2 is -1; gamma") as refused:
        fitted(family, bad)
    assert refused.value.column == 2
    bad[7, 2], bad[9, 3] = 1.0, 0.9999
    with pytest.raises(OutOfSupport, match=r"row 9, column 3 is 0\.9999; dirichlet"):
        fitted(family, bad)
    rows, columns = params.support.outside(Dense(bad))
    assert sorted(zip(rows.tolist(), columns.tolist(), strict=True)) == [(9, 0), (9, 3), (9, 4)]


@pytest.mark.filterwarnings("ignore::likelier.SkippedWarning")
def test_shares_that_are_too_large_are_filled_as_if_they_were_missing():
    X = np.random.default_rng(0).dirichlet([1, 2, 3], 80)
    model = lk.NaiveBayes(families={(0, 1, 2): "dirichlet"}).fit(X, np.arange(80) % 2)
    filled = model.impute([[0.7, 0.4, np.nan], [np.nan] * 3])
    np.testing.assert_array_equal(filled[0], [0.7, 0.4, filled[1, 2]])


def test_a_share_that_does_not_vary_leaves_the_others_as_sure_as_they_are():
    rng = np.random.default_rng(0)
    half = rng.beta(4000, 6000, (20, 1)) / 2
    X = np.hstack([half, 0.5 - half, np.full((20, 1), 0.5)])
    alone = fitted(Dirichlet(), X[:, :2] * 2)
    sd = np.sqrt(stats.beta(*alone.alpha[0]).var()) / 2
    alpha = fitted(Dirichlet(), X).alpha[0]
    assert sd / 2 < stats.beta(alpha[0], alpha[1:].sum()).std() < 2 * sd
