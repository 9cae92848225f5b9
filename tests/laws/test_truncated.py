"""Truncated Newton on rows in memory: what single precision finds, doubles confirm."""

import numpy as np
import pytest
from scipy import sparse

import likelier as lk
from laws.test_solvers import objective_of
from likelier.losses import logistic
from likelier.objective import Objective
from likelier.row_solvers.newton import native_rows, truncated

PROMISED = 1e-8  # F - F* at tol=1e-4: about 5e-9


def rows(n: int, p: int, K: int, kind: str, *, noisy: bool = True) -> tuple[object, np.ndarray]:
    rng = np.random.default_rng(n + p + K)
    if kind == "sparse":
        X = sparse.random_array((n, p), density=min(1.0, 20 / p), format="csr", rng=rng)
        X.data[:] = 1 + np.floor(3 * X.data)
    else:
        X = rng.normal(size=(n, p)) + (2 * rng.normal(size=(n, 1)) if kind == "alike" else 0.0)
    y = rng.integers(0, K, n) if noisy else np.asarray(X @ rng.normal(size=(p, K))).argmax(axis=1)
    y[:K] = np.arange(K)
    return X, y


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("noisy", [True, False])
@pytest.mark.parametrize(
    "shape",
    [(40, 300, 2, "dense"), (300, 40, 3, "alike"), (200, 200, 2, "alike"), (300, 400, 4, "sparse")],
    ids=str,
)
def test_what_tol_promises_holds(shape, noisy, C):
    X, y = rows(*shape, noisy=noisy)
    model = lk.LogisticRegression(C=C, solver="newton-cg").fit(X, y)
    best = lk.LogisticRegression(C=C, solver="newton-cg", tol=1e-8, max_iter=1000).fit(X, y)
    assert model.converged_
    assert model.trace_[-1, 0] - best.trace_[-1, 0] <= PROMISED
    if len(model.classes_) > 2:  # exactly: single precision and unequal metrics have no part in it
        np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-12 * abs(model.coef_).max())


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("K", [2, 3])
def test_weights_offsets_and_no_intercept_are_taken_as_by_others(kind, K):
    X, y = rows(150, 60, K, kind)
    rng = np.random.default_rng(0)
    how = {
        "sample_weight": rng.integers(0, 4, 150).astype(float),
        "offset": rng.normal(size=(150, K) if K > 2 else 150),
    }
    for intercept in (True, False):
        a, b = (
            lk.LogisticRegression(solver=s, fit_intercept=intercept, tol=1e-7, max_iter=500).fit(
                X, y, **how
            )
            for s in ("newton-cg", "newton")
        )
        np.testing.assert_allclose(a.coef_, b.coef_, atol=2e-6)
        np.testing.assert_allclose(a.intercept_, b.intercept_, atol=2e-6)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_columns_that_floats_cannot_hold_are_left_to_doubles(size):
    X, y = rows(100, 8, 2, "dense")
    X = X * np.append(np.ones(7), size)
    assert native_rows(objective_of(X, y, logistic, 1e-2)) is None
    model = lk.LogisticRegression(solver="newton-cg", max_iter=500).fit(X, y)
    other = lk.LogisticRegression(solver="newton", max_iter=500).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("cell", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_cell_that_is_no_number_is_named(kind, cell):
    X, y = rows(100, 30, 2, kind)
    if kind == "sparse":
        X.data[5] = cell
    else:
        X[7, 3] = cell
    with pytest.raises(ValueError, match="row"):
        lk.LogisticRegression(solver="newton-cg").fit(X, y)


@pytest.mark.parametrize(
    "shape",
    [(1000, 50, 2, "dense"), (400, 800, 2, "alike"), (600, 600, 2, "dense"), (900, 840, 2, "sparse")],
)
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_auto_needs_few_passes(shape, C):
    """Steps of which each asks the objective for nothing: it once took up to 80 passes of doubles."""
    X, y = rows(*shape)
    model = lk.LogisticRegression(C=C).fit(X, y)
    assert model.solver_ == "newton-cg"
    assert model.converged_
    assert model.n_iter_[0] <= 30


def test_a_start_at_the_optimum_stays_there():
    X, y = rows(300, 100, 3, "dense")
    model = lk.LogisticRegression(solver="newton-cg", warm_start=True).fit(X, y)
    before = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_[0] <= 1
    np.testing.assert_allclose(model.coef_, before, atol=1e-3)


@pytest.mark.parametrize("C", [100.0, 1000.0])
@pytest.mark.parametrize(
    "shape", [(300, 400, 2, "dense"), (200, 600, 2, "dense"), (200, 600, 2, "alike")], ids=str
)
def test_what_single_precision_ends_alone_is_the_end_of_doubles(shape, C, monkeypatch):
    """Where rounding is bounded the objective is not asked, and its gradient is as small as promised."""
    X, y = rows(*shape, noisy=False)
    asked = []
    gradient = Objective.gradient
    monkeypatch.setattr(Objective, "gradient", lambda self, theta: asked.append(1) or gradient(self, theta))
    objective = objective_of(X, y, logistic, 1 / (C * len(y)))
    last = next(each for each in truncated(objective, np.zeros(objective.size)) if each.norm <= 1e-4)
    assert not asked
    _, g, H = objective.hessian(last.theta)
    assert np.sqrt(g @ np.linalg.solve(H, g)) <= 1e-4


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_change_no_bit(kind, monkeypatch):
    X, y = rows(2000, 300, 3, kind)
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("LIKELIER_THREADS", threads)
        found.append(lk.LogisticRegression(solver="newton-cg").fit(X, y).coef_)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
