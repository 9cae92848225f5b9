"""What `auto` takes is the best solver there is for a shape of table, or not much slower."""

import time
import warnings

import numpy as np
import pytest
from benchmarks.solvers import SOLVERS, shapes
from benchmarks.solvers import seconds as seconds_of
from scipy import sparse

import likelier as lk

SHAPES = [  # rows, columns, classes: wide ones, square ones, many classes, tall ones
    (40, 600, 2),
    (60, 300, 3),
    (120, 500, 2),
    (300, 300, 2),
    (450, 280, 6),
    (600, 40, 8),
    (2000, 20, 2),
]
LATE = 0.03  # seconds of this process, which no other one lengthens: less does not matter


def table(n: int, p: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + p + K)
    y = rng.integers(0, K, n)
    y[: 2 * K] = np.repeat(np.arange(K), 2)
    return rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(K, p))[y], y


def seconds(model, X, y) -> float:
    best = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solver that comes nowhere is none that could be missed
        for _ in range(3):
            start = time.process_time()
            model.fit(X, y)
            best = min(best, time.process_time() - start)
    return best if model.converged_ else np.inf


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "make",
    [lk.LogisticRegression, lambda solver: lk.LogisticRegression(C=100.0, solver=solver), lk.LinearSVC],
    ids=["logistic", "C=100", "squared_hinge"],
)
def test_auto_is_not_much_slower_than_the_best(make, shape):
    X, y = table(*shape)
    cheap = [name for name in ("newton", "lbfgs", "dual") if name != "newton" or shape[1] * shape[2] <= 600]
    others = [seconds(make(solver=name), X, y) for name in cheap]
    auto = seconds(make(solver="auto"), X, y)
    assert auto <= 4 * min(others) + LATE


# Of those that `make solvers` goes through: sparse rows of few cells, and classes that overlap.
SOME = [3, 45, 90, 118, 130, 153, 196]


@pytest.mark.parametrize("number", SOME)
def test_auto_is_at_most_twice_as_slow_as_the_best(number):
    shape = shapes(max(SOME) + 1)[number]
    X, y = shape.table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = [seconds_of(name, shape, X, y)[0] for name in SOLVERS if name != "newton"]
        assert seconds_of("auto", shape, X, y)[0] <= 2 * min(others) + LATE


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_what_a_diagonal_metric_promises_holds(K, C):
    """Sparse rows of more columns than a matrix may have: the norm is a guess, and a careful one."""
    rng = np.random.default_rng(K)
    X = sparse.random_array((3000, 2100), density=0.01, format="csr", rng=rng)
    X.data[:] = 1 + np.floor(3 * X.data)
    y = rng.integers(0, K, 3000)
    model = lk.LogisticRegression(C=C, solver="lbfgs", max_iter=2000).fit(X, y)
    best = lk.LogisticRegression(C=C, solver="newton-cg", tol=1e-7, max_iter=2000).fit(X, y)
    assert model.converged_
    assert model.trace_[-1, 0] - best.trace_[-1, 0] <= 1e-8


@pytest.mark.parametrize("shape", [(40, 600, 2), (120, 120, 3), (150, 13, 3), (300, 30, 2)], ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_hinge_is_at_its_optimum_whoever_solves_it(shape, kind, weighted):
    X, y = table(*shape)
    w = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else None
    models = [lk.LinearSVC(loss="hinge", solver=s).fit(kind(X), y, w) for s in ("auto", "smoothing")]
    values = []
    for model in models:
        assert model.converged_
        Z = model.decision_function(X).reshape(len(X), -1)
        signs = np.where(y[:, None] == model.classes_[-Z.shape[1] :], 1.0, -1.0)
        loss = np.maximum(1 - signs * Z, 0.0) * (1.0 if w is None else w[:, None])
        values.append(loss.sum(axis=0) + (model.coef_**2).sum(axis=1) / 2)
    n = len(X) if w is None else w.sum()
    np.testing.assert_allclose(values[0] / n, values[1] / n, atol=2e-8)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("columns", [None, "some"])
def test_columns_that_are_alike_are_solved_in_the_span_of_the_rows(K, columns):
    """A dual ascent is slow there; Newton's method in n columns is not, and ends at the same optimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5)) @ rng.normal(size=(5, 250)) + 0.1 * rng.normal(size=(50, 250))
    y = rng.integers(0, K, 50)
    by = None if columns is None else rng.uniform(0.5, 2.0, 250)
    model = lk.LogisticRegression(penalty_weights=by).fit(X, y)
    assert "in the span of the rows" in model.solver_reason_
    assert model.converged_
    assert len(model.trace_) == model.n_iter_[0] + 1
    other = lk.LogisticRegression(solver="newton", penalty_weights=by).fit(X, y)
    np.testing.assert_allclose(model.trace_[-1, 0], other.trace_[-1, 0], atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-5)
