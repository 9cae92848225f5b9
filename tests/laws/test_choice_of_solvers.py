"""What `auto` takes is the best solver there is for a shape of table, or not much slower."""

import time
import warnings

import numpy as np
import pytest
from benchmarks.solvers import SOLVERS, shapes
from benchmarks.solvers import seconds as seconds_of
from scipy import sparse
from sklearn import svm

import likelier as lk
from likelier.choose_solver import SolverChoice
from likelier.estimators import validation
from likelier.solve import Terms, solve

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
SOME = [3, 29, 45, 90, 118, 130, 153, 196]


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


SLOW_ONCE = [  # rows, columns, classes, cells in a row (0: dense) that took up to minutes
    (50, 4, 3, 0),
    (150, 13, 3, 0),
    (1000, 50, 2, 0),
    (2000, 30, 6, 0),
    (20_000, 10, 2, 0),
    (300, 900, 2, 0),
    (1500, 700, 2, 20),
]


@pytest.mark.parametrize("shape", SLOW_ONCE, ids=str)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_margins_take_no_longer_than_liblinear(shape, loss):
    """By the time of this process, and some times that of LIBLINEAR: machines differ."""
    n, p, K, cells = shape
    X, y = table(n, p, K)
    if cells:
        X = sparse.random_array((n, p), density=cells / p, rng=np.random.default_rng(0), format="csr")
    theirs, ours = svm.LinearSVC(loss=loss), lk.LinearSVC(loss=loss)
    theirs.converged_ = True
    assert seconds(ours, X, y) <= 5 * seconds(theirs, X, y) + LATE


THIN = [  # rows, columns, cells in a row: LIBLINEAR's own ground
    (3000, 300, 6),
    (2000, 5000, 3),
    (1500, 1000, 10),
    (600, 400, 20),
    (5000, 200, 10),
]


@pytest.mark.parametrize("shape", THIN, ids=str)
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_rows_of_few_cells_are_solved_by_these(shape, C, kind):
    """At most some times as slow as the better of two solvers, and for dense rows as the sparse ones."""
    n, p, cells = shape
    rng = np.random.default_rng(p)
    rows, columns = np.repeat(np.arange(n), cells), rng.integers(0, p, n * cells)
    X = sparse.csr_array((rng.integers(1, 4, n * cells).astype(float), (rows, columns)), shape=(n, p))
    y = rng.integers(0, 2, n)
    others = [seconds(lk.LinearSVC(C=C, solver=name), X, y) for name in ("dual", "semismooth")]
    given = X.toarray() if kind == "dense" else X
    assert seconds(lk.LinearSVC(C=C), given, y) <= 3 * min(others) + LATE


def corners(kind: str) -> tuple[np.ndarray, np.ndarray, dict]:
    """Tables on which a line with a margin is hard to find, or is not the only one."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 4))
    y = rng.integers(0, 3, 90)
    X[np.arange(90), y] += 1.0
    how: dict = {}
    if kind == "sorted":
        order = np.argsort(y)
        X, y = X[order], y[order]
    elif kind == "twice":
        X, y = np.repeat(X[:30], 3, axis=0), np.repeat(y[:30], 3)
    elif kind == "a class of one row":
        y = np.where(np.arange(90) == 7, 2, y % 2)
    elif kind == "by class":
        how["class_weight"] = {0: 5.0, 1: 0.2, 2: 1.0}
    elif kind.startswith("C="):
        how["C"] = float(kind[2:])
    elif kind == "units":
        X = X * [1e-3, 1.0, 1e3, 10.0]
    elif kind == "few rows":
        X, y = X[:5], np.array([0, 1, 2, 0, 1])
    elif kind == "equal rows":
        X = np.ones_like(X)
    elif kind == "few values":
        X = np.round(X)
    return X, y, how


CORNERS = (
    "plain|sorted|twice|a class of one row|by class|C=0.001|C=1000|units|few rows|equal rows|few values"
)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("kind", CORNERS.split("|"))
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("layout", [np.asarray, np.float32, sparse.csr_array])
def test_lines_with_a_margin_are_as_near_as_they_say(kind, loss, layout):
    """No value is above that of LIBLINEAR, whose intercept is penalised, by more than tol allows."""
    X, y, how = corners(kind)
    model = lk.LinearSVC(loss=loss, **how).fit(layout(X), y)
    other = svm.LinearSVC(loss=loss, **how, max_iter=20_000).fit(X, y)
    assert model.solver_ == "semismooth"
    assert model.converged_, model.stop_reason_
    w = np.array([how.get("class_weight", {}).get(k, 1.0) for k in model.classes_])
    C, n = how.get("C", 1.0), len(y)
    values = []
    for each in (model, other):
        Z = X @ each.coef_.T + each.intercept_
        own = y[:, None] == each.classes_
        short = np.maximum(1 - np.where(own, Z, -Z), 0.0)
        loss_of = (short if loss == "hinge" else short**2) * np.where(own, w, 1.0)
        values.append(C * loss_of.sum(axis=0) + (each.coef_**2).sum(axis=1) / 2)
    slack = 1e-8 * C * n * max(1.0, w.max()) + (1e-4 * values[1] if layout is np.float32 else 0.0)
    assert (values[0] <= values[1] + slack).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("layout", ["dense", "few columns", "many columns"])
def test_lines_at_once_are_lines_one_by_one(loss, layout):
    """Whoever asks for each step, as callbacks and a progress bar do, gets the same bits."""
    X, y = table(400, 12, 4)
    if layout != "dense":
        p = 12 if layout == "few columns" else 700
        X = sparse.random_array((1500, p), density=8 / p, rng=np.random.default_rng(2), format="csr")
        y = np.random.default_rng(3).integers(0, 4, 1500)
    solver = "semismooth"
    quiet, loud = (lk.LinearSVC(loss=loss, solver=solver, verbose=v).fit(X, y) for v in (0, 1))
    np.testing.assert_array_equal(quiet.coef_, loud.coef_)
    np.testing.assert_array_equal(quiet.intercept_, loud.intercept_)
    np.testing.assert_array_equal(quiet.trace_, loud.trace_)
    assert quiet.stop_reason_ == loud.stop_reason_
    assert quiet.n_iter_ == loud.n_iter_


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("columns", [None, "some"])
def test_columns_that_are_alike_are_solved_in_the_span_of_the_rows(K, columns):
    """A dual ascent is slow there; Newton's method in n columns is not, and ends at the same optimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5)) @ rng.normal(size=(5, 250)) + 0.1 * rng.normal(size=(50, 250))
    y = rng.integers(0, K, 50)
    by = None if columns is None else rng.uniform(0.5, 2.0, 250)
    model = lk.LogisticRegression(penalty_weights=by)
    posed = model._objective(model._rows(validation.training(model, X, y, None)))
    choice = SolverChoice("dual", "it was told to", "newton")
    found = solve(posed, np.zeros(posed.size), choice, Terms(1e-4, 100))
    assert "in the span of the rows" in found.why
    assert found.converged
    assert len(found.trace) == found.iterations + 1
    other = lk.LogisticRegression(solver="newton", penalty_weights=by).fit(X, y)
    np.testing.assert_allclose(found.last.value, other.trace_[-1, 0], atol=1e-9)
    W = found.last.theta.reshape(len(other.coef_), -1)[:, :-1]
    np.testing.assert_allclose(W, other.coef_, atol=1e-5)
    np.testing.assert_allclose(model.fit(X, y).trace_[-1, 0], other.trace_[-1, 0], atol=5e-9)
