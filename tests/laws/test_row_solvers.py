"""Solvers that step at every row: the optimum that Newton finds, the same each time, from any rows."""

from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC

import likelier as lk
from likelier import LogisticRegression
from likelier.choose_solver import chosen
from likelier.data import Arrays, Chunk, NonFinite, block
from likelier.losses import LOSSES
from likelier.objective import Objective, shift_of
from likelier.penalties import ElasticNet
from likelier.row_solvers import Descent, LearningRate, dual, sgd
from likelier.solvers import Solution, newton, run_solver
from likelier.states import Setting

LAYOUTS = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "float32": np.float32,
    "CSR": sparse.csr_array,
}


def problem(X: Any, y: Any, *, loss: str = "", l2: float = 0.1, **how: Any) -> Objective:
    """Mean loss plus penalty; the labels are codes."""
    K = how.get("K", int(np.max(y)) + 1)
    loss = loss or ("log_loss" if K <= 2 else "softmax")
    q = K if LOSSES[loss].by_class else 1
    w, intercept = how.get("w"), how.get("intercept", True)
    source = Arrays(block(X), np.asarray(y, dtype=np.int32), w, offset=how.get("offset"))
    p = source.p
    shift = shift_of(source) if intercept else np.zeros(p)
    penalty = ElasticNet.of(q, p, l2, how.get("l1", 0.0), how.get("columns"))
    n = float(len(y) if w is None else w.sum())
    return Objective(source, Setting(LOSSES[loss], q, shift), penalty, n, intercept)


def ascended(objective: Objective, *, tol: float = 1e-6, start: Any = None) -> Solution:
    theta = np.zeros(objective.size) if start is None else start
    return run_solver(partial(dual, tol=tol), objective, theta, tol=tol, max_iter=20_000)


@st.composite
def problems(draw: Any) -> Objective:
    """Random rows: weights, offsets, few of a class, columns twice, rows of zeros, any layout."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    K = draw(st.sampled_from([2, 2, 3, 5, 30]))
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.7)
    if draw(st.booleans()):
        X = np.column_stack([X, X[:, :1]])
    if draw(st.booleans()):
        X[0] = 0
    y = np.where(rng.random(n) < draw(st.sampled_from([0.1, 1.0])), rng.integers(K, size=n), 0)
    how = {
        "w": rng.choice([0.5, 1.0, 3.0], n) if draw(st.booleans()) else None,
        "offset": rng.standard_normal((n, K) if K > 2 else n) if draw(st.booleans()) else None,
        "intercept": draw(st.booleans()) and len(set(y)) > 1,
        "l2": draw(st.sampled_from([0.03, 1.0])),
        "columns": rng.choice([0.5, 1.0, 2.0], X.shape[1]) if draw(st.booleans()) else None,
    }
    if K > 2:
        y[: min(n, K)] = np.arange(K)[: min(n, K)]
    how["intercept"] = how["intercept"] and (K == 2 or n >= K)
    return problem(LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))](X), y, K=K, **how)


@given(problems())
@settings(max_examples=60, deadline=None)
def test_dual_ascent_reaches_the_optimum_of_newton(objective):
    found = ascended(objective)
    assert found.converged, found.reason
    best = run_solver(newton, objective, np.zeros(objective.size), tol=1e-9, max_iter=200).last
    # What the norm says, but for the intercepts, whose part in it is an estimate.
    assert found.last.value - best.value <= 4 * found.last.norm**2 + 1e-13
    np.testing.assert_allclose(found.last.value, best.value, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.last.theta, best.theta, atol=2e-4)


def words(n: int = 3000, p: int = 500, K: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Sparse rows of length 1 and labels that they say much about."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, p), density=0.04, rng=rng, format="csr")
    X = sparse.csr_array(X.multiply(1 / np.maximum(np.sqrt((X**2).sum(axis=1)), 1e-9)[:, None]))
    Z = 8 * X @ rng.standard_normal((p, K)) + rng.gumbel(size=(n, K))
    return X, Z.argmax(axis=1)


@pytest.mark.parametrize("K", [2, 30])
def test_dual_ascent_of_sparse_rows_takes_few_epochs(K):
    objective = problem(*words(K=K), l2=1 / 3000)
    found = ascended(objective, tol=1e-4)
    assert found.converged
    assert found.iterations < 20
    assert np.abs(objective.gradient(found.last.theta)[1]).max() < 1e-4


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared_error"])
def test_dual_ascent_of_margin_losses(loss):
    """Without an intercept, where LIBLINEAR penalises none either."""
    X, y = words(n=400, p=60)
    C, n = 2.0, 400
    objective = problem(X, y, loss=loss, l2=1 / (C * n), intercept=False)
    found = ascended(objective, tol=1e-5)
    assert found.converged
    if loss == "squared_error":
        best = run_solver(newton, objective, np.zeros(objective.size), tol=1e-9, max_iter=50).last.theta[
            :-1
        ]
    else:
        peer = LinearSVC(loss=loss, C=C, fit_intercept=False, dual=True, tol=1e-9, max_iter=200_000)
        best = peer.fit(X, y).coef_[0]
    np.testing.assert_allclose(found.last.theta[:-1], best, atol=1e-4)


def test_dual_ascent_of_the_hinge_with_an_intercept_is_optimal():
    """No direction leads down: the least objective among many steps from the solution is its own."""
    X, y = words(n=300, p=20)
    objective = problem(X, y, loss="hinge", l2=0.01)
    found = ascended(objective, tol=1e-5).last
    rng = np.random.default_rng(0)
    around = found.theta + rng.standard_normal((200, objective.size)) * 10.0 ** rng.uniform(-6, 0, (200, 1))
    assert (objective.value(around) >= found.value - 1e-9).all()
    np.testing.assert_allclose(objective.value(found.theta[None]), found.value, rtol=1e-12)


@pytest.mark.parametrize("solver", [dual, sgd])
def test_the_same_seed_gives_the_same_bits(solver):
    objective = problem(*words(K=3), l2=1e-3)
    start = np.zeros(objective.size)
    one, two, other = (list(islice(solver(objective, start, seed=seed), 4)) for seed in (1, 1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.theta, b.theta)
    assert (one[-1].theta != other[-1].theta).any()


def test_a_start_at_the_optimum_stays_there():
    objective = problem(*words(K=3), l2=1 / 3000, columns=np.linspace(0.5, 2, 500))
    cold = ascended(objective, tol=1e-5)
    warm = ascended(objective, tol=1e-4, start=cold.last.theta)
    assert warm.iterations <= 1
    np.testing.assert_allclose(warm.last.theta, cold.last.theta, atol=1e-3)


def test_a_start_from_another_penalty_helps():
    X, y = words()
    near = ascended(problem(X, y, l2=1 / 3000), tol=1e-3).last
    harder = problem(X, y, l2=1 / 9000)
    cold, warm = (list(islice(dual(harder, start), 3)) for start in (np.zeros(harder.size), near.theta))
    assert warm[0].value < cold[0].value
    assert warm[2].norm <= cold[2].norm


def test_rows_without_a_label_or_weight_are_absent():
    X, y = words(n=200, p=30)
    w = np.where(np.arange(200) % 3 == 0, 0.0, 2.0)
    known = np.where(np.arange(200) % 5 == 0, -1, y)
    kept = (w > 0) & (known >= 0)
    whole = problem(X, known, K=2, w=w)
    whole.n = float(w[kept].sum())
    some = problem(X[kept], y[kept], w=w[kept])
    for one, other in zip(ascended(whole).last[:1], ascended(some).last[:1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("solver", [dual, sgd])
@pytest.mark.parametrize("layout", ["dense", "CSR"])
def test_a_cell_that_is_no_number_is_named(solver, layout):
    X = np.ones((5, 3))
    X[3, 1] = np.nan
    objective = problem(LAYOUTS[layout](X), [0, 1, 0, 1, 0], intercept=False)
    with pytest.raises(NonFinite) as found:
        next(solver(objective, np.zeros(objective.size)))
    assert (found.value.row, found.value.column) == (3, 1)


@pytest.mark.parametrize("K", [2, 4])
def test_wide_sparse_rows_are_solved_row_by_row(K):
    """By auto and by name the same bits; and what L-BFGS finds."""
    X, y = words(n=1000, p=600, K=K)
    auto, named, batch = (
        LogisticRegression(solver=solver, tol=1e-5, random_state=0, max_iter=500).fit(X, y)
        for solver in ("auto", "dual", "lbfgs")
    )
    assert auto.solver_ == "dual"
    assert auto.converged_
    np.testing.assert_array_equal(auto.coef_, named.coef_)
    np.testing.assert_allclose(auto.coef_, batch.coef_, atol=2e-3)
    np.testing.assert_allclose(auto.intercept_, batch.intercept_, atol=2e-3)


def test_wide_rows_of_the_hinge_are_solved_by_their_dual():
    X, y = words(n=200, p=4000)
    choice = chosen("auto", problem(X, y, loss="hinge", l2=0.01))
    assert choice.name == "dual"


def test_dual_ascent_wants_a_penalty_on_every_column():
    X, y = words(n=50, p=4)
    with pytest.raises(ValueError, match="l2 penalty on every column"):
        chosen("dual", problem(X, y, columns=np.array([1.0, 0.0, 1.0, 1.0])))


# ---- gradient descent ----------------------------------------------------------------------------
@pytest.mark.parametrize(("l2", "l1"), [(0.01, 0.0), (0.0, 0.01), (0.005, 0.005)])
@pytest.mark.parametrize("layout", ["dense", "CSR"])
@pytest.mark.parametrize("loss", ["log_loss", "softmax", "squared_hinge", "squared_error"])
def test_descent_comes_near_the_optimum(loss, layout, l2, l1):
    """Columns of scales from 1e-6 to 1e6; with an l1 part the residual of the subgradient is small."""
    rng = np.random.default_rng(1)
    scale = 10.0 ** np.array([-6.0, -2.0, 0.0, 2.0, 6.0])
    X = rng.standard_normal((2000, 5)) + (layout == "dense")
    Z = X @ rng.standard_normal((5, 3)) + rng.gumbel(size=(2000, 3))
    y = Z.argmax(axis=1) if loss == "softmax" else (Z[:, 0] > Z[:, 1]).astype(int)
    columns = scale**2 if l1 == 0 else scale  # the same penalty in the columns' own units
    objective = problem(LAYOUTS[layout](X * scale), y, loss=loss, l2=l2, l1=l1, columns=columns)
    first, *_, last = islice(sgd(objective, np.zeros(objective.size)), 41)
    if l1 == 0:
        best = run_solver(newton, objective, np.zeros(objective.size), tol=1e-9, max_iter=100).last.value
        assert last.value - best < 0.01 * (first.value - best)
    assert last.norm < 0.1 * first.norm


@pytest.mark.parametrize("loss", ["hinge", "perceptron"])
def test_descent_of_losses_with_a_corner(loss):
    X, y = words(n=1000, p=50)
    objective = problem(X, y, loss=loss, l2=1e-3 if loss == "hinge" else 0.0)
    *_, last = islice(sgd(objective, np.zeros(objective.size)), 30)
    found = np.sign(X @ last.theta[:-1] + last.theta[-1])
    assert (found == np.where(y == 1, 1, -1)).mean() > 0.85
    assert last.norm == np.inf
    if loss == "hinge":
        assert last.value < 1.05 * ascended(objective, tol=1e-4).last.value


def perceptron(X: Any, y: Any, epochs: int) -> Any:
    """Rosenblatt (1958): at each mistake, w += t x."""
    theta = np.zeros(X.shape[1] + 1)
    for _ in range(epochs):
        for x, t in zip(np.column_stack([X, np.ones(len(X))]), np.where(y == 1, 1, -1), strict=True):
            if t * (theta @ x) <= 0:
                theta = theta + t * x
            yield theta


@pytest.mark.parametrize("layout", ["dense", "CSR"])
def test_step_1_on_the_criterion_is_the_perceptron(layout):
    """Update for update, and for whole numbers bit for bit."""
    rng = np.random.default_rng(3)
    X = rng.integers(-4, 5, size=(50, 4)).astype(float)
    y = (X @ [1.0, -2.0, 0.5, 1.0] + rng.standard_normal(50) > 0).astype(np.int32)
    setting = Setting(LOSSES["perceptron"], 1, np.zeros(4))
    descent = Descent.start(
        setting,
        ElasticNet.of(1, 4, 0, 0),
        np.zeros(5),
        pace=LearningRate(rate=1.0, power=0.0, scaled=False),
    )
    rows = block(LAYOUTS[layout](X))
    expected = perceptron(X, y, 4)
    for i in [*range(50)] * 3:
        descent.update(Chunk(rows.rows(i, i + 1), y[i : i + 1], None, i))
        np.testing.assert_array_equal(descent.theta[0], next(expected))
    descent.update(Chunk(rows, y))
    np.testing.assert_array_equal(descent.theta[0], list(expected)[-1])


@given(st.lists(st.integers(0, 60), max_size=4), st.sampled_from(["log_loss", "softmax", "hinge"]))
@settings(max_examples=20, deadline=None)
def test_descent_does_not_see_how_rows_are_cut(cuts, loss):
    """In the order of the rows, dense, at a given pace."""
    rng = np.random.default_rng(0)
    X, K = rng.standard_normal((60, 3)), 3 if loss == "softmax" else 2
    y = rng.integers(K, size=60).astype(np.int32)
    setting = Setting(LOSSES[loss], (K if LOSSES[loss].by_class else 1), np.zeros(3))
    penalty = ElasticNet.of(setting.q, 3, 0.1, 0.05)
    start, pace = np.zeros(setting.m), LearningRate(rate=0.2, horizon=10.0, scaled=False)
    whole, parts = (Descent.start(setting, penalty, start, pace=pace) for _ in range(2))
    before = whole.update(Chunk(block(X), y))
    ends = [0, *sorted(cuts), 60]
    pieces = [Chunk(block(X[a:b]), y[a:b], None, a) for a, b in pairwise(ends)]
    after = sum(parts.update(piece) for piece in pieces if piece.X.shape[0])
    np.testing.assert_array_equal(parts.theta, whole.theta)
    np.testing.assert_allclose(after, before, rtol=1e-12)
    assert parts.steps == whole.steps == 60


def test_rows_of_no_weight_leave_a_descent_as_it_is():
    setting = Setting(LOSSES["log_loss"], 1, np.zeros(2))
    descent = Descent.start(setting, ElasticNet.of(1, 2, 0.1, 0.1), np.array([1.0, -2.0, 3.0]))
    descent.update(
        Chunk(block(np.ones((3, 2))), np.array([0, 1, -1], dtype=np.int32), np.array([0.0, 0, 1]))
    )
    np.testing.assert_array_equal(descent.theta, [[1, -2, 3]])
    np.testing.assert_array_equal(descent.mean, [[1, -2, 3]])
    assert descent.steps == 0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_few_long_rows_do_not_make_the_intercept_restless(loss):
    """Counts of words in documents of very different lengths: it once took six times as many rounds."""
    rng = np.random.default_rng(0)
    lengths = np.where(np.arange(300) % 50 == 0, 3000, 60)
    words = (2000 * rng.random(lengths.sum()) ** 3).astype(int)
    X = sparse.csr_array(
        (np.ones(len(words)), (np.repeat(np.arange(300), lengths), words)), shape=(300, 2000)
    )
    y = (X @ rng.normal(size=2000) > 0).astype(int)
    model = lk.LinearSVC(loss=loss, solver="dual").fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 20
