"""The minimum that the race measures against: what it claims is checked by other means."""

import numpy as np
import pytest
from benchmarks.race import penalised
from benchmarks.race.penalised import excess, minima, objective, slopes
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from sklearn.linear_model import LogisticRegression


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(penalised, "CACHE", tmp_path / "optima")


def rows(K, n=400, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.geomspace(0.3, 3, p)
    Z = X @ rng.standard_normal((p, K)) + rng.gumbel(size=(n, K))
    return X, Z.argmax(axis=1)


def flat(X, y, K, C, l1_ratio=0.0):
    """F of all weights in one vector, row by row, each with its intercept last."""
    q = 1 if K == 2 else K

    def F(theta):
        theta = theta.reshape(q, -1)
        return objective(X, y, theta[:, :-1], theta[:, -1], C, l1_ratio)

    return F, q * (X.shape[1] + 1)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_slopes_are_those_of_the_objective(K, l1_ratio):
    X, y = rows(K)
    F, size = flat(X, y, K, 0.3, l1_ratio)
    theta = np.random.default_rng(1).standard_normal(size)
    each = theta.reshape(-1, X.shape[1] + 1)
    found = slopes(X, y, each[:, :-1], each[:, -1], 0.3, l1_ratio).ravel()
    np.testing.assert_allclose(found, approx_fprime(theta, F, 1e-6), rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("K", [2, 4])
def test_objective_is_the_one_of_scikit_learn(K):
    """Of all points, F has its least value where scikit-learn stops."""
    X, y = rows(K)
    model = LogisticRegression(C=0.3, solver="newton-cholesky", tol=1e-12).fit(X, y)
    assert np.abs(slopes(X, y, model.coef_, model.intercept_, 0.3)).max() < 1e-8


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("K", [2, 4])
def test_ridge_minimum_is_that_of_another_method(K, form):
    X, y = rows(K)
    F, size = flat(X, y, K, 0.3)
    other = minimize(F, np.zeros(size), method="BFGS", options={"gtol": 1e-3})
    found = minima(form(X), y, [0.3])
    assert found == pytest.approx([other.fun], rel=1e-9)


def test_elastic_minimum_is_that_of_another_method():
    X, y = rows(2, p=12)
    Cs = np.geomspace(0.003, 1, 5)
    for C, least in zip(Cs, minima(X, y, Cs, 0.5), strict=True):
        other = LogisticRegression(
            C=C, l1_ratio=0.5, solver="saga", tol=1e-9, max_iter=100_000, random_state=0
        )
        other.fit(X, y)
        F = objective(X, y, other.coef_, other.intercept_, C, 0.5)
        assert least == pytest.approx(F, rel=1e-9)


@given(seed=st.integers(0, 1000), K=st.sampled_from([2, 3]), far=st.floats(1e-6, 3))
def test_excess_is_no_less_than_the_distance(seed, K, far):
    X, y = rows(K, n=100, p=3, seed=seed)
    model = LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-12).fit(X, y)
    rng = np.random.default_rng(seed)
    W = model.coef_ + far * rng.standard_normal(model.coef_.shape)
    least = objective(X, y, model.coef_, model.intercept_, 0.1)
    above = objective(X, y, W, model.intercept_, 0.1) - least
    assert above <= excess(X, y, W, model.intercept_, 0.1) + 1e-9 * least


def test_minimum_is_found_once(monkeypatch):
    X, y = rows(2)
    first = minima(X, y, [0.3, 1.0])
    others = [minima(2 * X, y, [0.3]), minima(X, 1 - y, [0.5]), minima(X, y, [0.3], 0.5)]
    assert len({first[0], *(float(each[0]) for each in others)}) == 4
    assert len(list(penalised.CACHE.iterdir())) == 4
    for name in ("_ridge", "_elastic"):
        monkeypatch.setattr(penalised, name, None)
    np.testing.assert_array_equal(minima(X, y, [0.3, 1.0]), first)


def test_minimum_that_is_not_certain_is_refused(monkeypatch):
    monkeypatch.setattr(penalised, "TOLERANCES", (1e-1,))
    X, y = rows(3)
    with pytest.raises(RuntimeError, match="C = 1 is known to"):
        minima(X, y, [1.0])
    assert not penalised.CACHE.exists()
