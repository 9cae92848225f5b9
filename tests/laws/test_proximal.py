"""Proximal Newton: what it finds satisfies the conditions of an optimum, on problems of every kind."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression as Peer

from likelier.data import Arrays, block
from likelier.losses import logistic, softmaxed, squared, squared_hinge
from likelier.objective import Objective, shift_of
from likelier.penalties import ElasticNet
from likelier.solvers import newton, proximal, run_solver
from likelier.solvers.proximal import proximal_newton, spectral, working_sets
from likelier.states import Setting

SOLVERS = {"hessian": proximal_newton, "sets": working_sets, "gradients": spectral}


def objective(
    seed=0,
    n=60,
    p=6,
    K=2,
    *,
    loss=None,
    l1=0.02,
    l2=0.0,
    intercept=True,
    sparse=False,
    odd=True,
    columns=None,
):
    """Columns of all sizes, two of them equal, rows with weights and offsets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    W = rng.normal(size=(K, p)) * (rng.random(p) < 0.5) * 2
    y = np.argmax(X @ W.T + rng.gumbel(size=(n, K)), axis=1).astype(np.int32)
    w = offset = None
    loss = loss or (logistic if K == 2 else softmaxed)
    q = K if loss.by_class else 1
    if odd:
        X = X * 10.0 ** rng.integers(-3, 4, p)
        X[:, -1] = X[:, 0]
        if not sparse and intercept:
            X += rng.normal(size=p) * 100
        w = rng.integers(0, 4, n).astype(float)
        offset = rng.normal(size=(n, q))
    if sparse:
        X = csr_matrix(np.where(rng.random(X.shape) < 0.4, X, 0.0))
    source = Arrays(block(X), y, w, offset=offset)
    shift = shift_of(source) if intercept else np.zeros(p)
    scales = None
    if columns is not None:
        scales = columns(rng, p)
    S = float(n if w is None else w.sum())
    return Objective(source, Setting(loss, q, shift), ElasticNet.of(q, p, l2, l1, scales), S, intercept)


def plain(X, y, l1):
    source = Arrays(block(X), y)
    penalty = ElasticNet.of(1, X.shape[1], 0.0, l1)
    return Objective(source, Setting(logistic, 1, shift_of(source)), penalty, float(len(y)))


def sized(objective):
    """l1 and l2 in the units of each column, so that one number is neither 0 nor all to any of them."""
    D = np.sqrt(objective.diagonal())
    penalty = objective.penalty
    return replace(objective, penalty=ElasticNet(penalty.l2 * D**2, penalty.l1 * D))


def solution(objective, solver=proximal, tol=1e-9, most=500):
    return run_solver(solver, objective, np.zeros(objective.size), tol=tol, max_iter=most)


def assert_optimal(objective, theta, atol=1e-7):
    """0 is a subgradient: g_j = -l1_j sign θ_j where θ_j is not 0, and |g_j| <= l1_j where it is."""
    _, g = objective.gradient(theta)
    D, l1 = np.sqrt(objective.diagonal()), objective.penalty.l1
    on = theta != 0
    np.testing.assert_allclose((g + l1 * np.sign(theta))[on] / D[on], 0.0, atol=atol)
    assert (np.abs(g)[~on] / D[~on] <= l1[~on] / D[~on] + atol).all()


@given(
    seed=st.integers(0, 10**6),
    K=st.sampled_from([2, 3, 5]),
    l1=st.sampled_from([1e-3, 0.02, 0.2]),
    l2=st.sampled_from([0.0, 1e-4, 0.1]),
    intercept=st.booleans(),
    sparse=st.booleans(),
)
def test_it_ends_where_0_is_a_subgradient(seed, K, l1, l2, intercept, sparse):
    problem = sized(objective(seed, K=K, l1=l1, l2=l2, intercept=intercept, sparse=sparse))
    found = solution(problem)
    assert found.converged, found.reason
    assert_optimal(problem, found.last.theta)
    if not intercept:
        b = found.last.theta.reshape(-1, problem.width)[:, -1]
        np.testing.assert_allclose(b, 0.0, atol=1e-15)


@pytest.mark.parametrize("loss", [logistic, squared, squared_hinge])
def test_every_loss_with_a_bend(loss):
    problem = sized(objective(1, loss=loss, l1=0.05, l2=1e-3))
    found = solution(problem)
    assert found.converged
    assert_optimal(problem, found.last.theta)


@given(seed=st.integers(0, 10**6), K=st.sampled_from([2, 3]), sparse=st.booleans())
def test_without_l1_it_is_newton(seed, K, sparse):
    problem = sized(objective(seed, K=K, l1=0.0, l2=0.01, sparse=sparse))
    a, b = solution(problem), solution(problem, newton)
    assert a.converged
    assert b.converged
    assert a.iterations == b.iterations
    D = np.sqrt(problem.diagonal())
    np.testing.assert_allclose(a.last.theta * D, b.last.theta * D, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_with_few_columns_or_none_at_a_time_the_optimum_is_the_same(solver, K, sparse):
    problem = objective(2, n=150, p=40, K=K, l1=0.01, l2=1e-3, sparse=sparse, odd=False)
    best = solution(problem).last
    found = solution(problem, solver, tol=1e-7)
    assert found.converged, found.reason
    np.testing.assert_allclose(found.last.theta, best.theta, atol=1e-5)
    np.testing.assert_array_equal(found.last.theta == 0, best.theta == 0)
    assert (best.theta == 0).sum() > 5


def test_columns_free_of_the_penalty_are_never_0():
    problem = sized(objective(3, l1=0.5, columns=lambda rng, p: np.r_[0.0, np.ones(p - 2), 0.0]))
    found = solution(problem)
    assert found.converged
    assert found.last.theta[0] + found.last.theta[5] != 0  # equal columns: their sum is what counts
    assert_optimal(problem, found.last.theta)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("solver", [proximal_newton, working_sets])
def test_the_first_column_enters_at_the_largest_slope(K, solver):
    """With intercepts alone, λ_max = max |g_j|: above it all weights are 0, below it one is not."""
    null = objective(4, K=K, p=8, l1=1e6, odd=False)
    found = solution(null, solver)
    weights = found.last.theta.reshape(-1, null.width)[:, :-1]
    assert found.converged
    assert not weights.any()
    _, g = null.gradient(found.last.theta)
    G = np.abs(g.reshape(-1, null.width)[:, :-1])
    for factor, some in ((1 + 1e-6, False), (1 - 1e-6, True)):
        l1 = factor * G.max()
        at = replace(null, penalty=ElasticNet.of(null.setting.q, 8, 0.0, l1))
        W = solution(at, solver, tol=1e-10).last.theta.reshape(-1, null.width)[:, :-1]
        assert W.any() == some
        if some:
            assert (W != 0).ravel().tolist() == (G == G.max()).ravel().tolist()


def test_columns_that_are_nearly_the_same_do_not_slow_it():
    """Coordinate descent alone needs some 1e5 sweeps here."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(400, 1))
    X = common + 1e-3 * rng.normal(size=(400, 30))
    y = (X[:, 0] + X[:, 1] - 2 * X[:, 2] * 0.99 + rng.logistic(size=400) > 0).astype(np.int32)
    problem = plain(X, y, 1e-6)
    found = solution(problem, tol=1e-9, most=50)
    assert found.converged, found.reason
    assert_optimal(problem, found.last.theta)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_scikit_learn_finds_the_same(K, ratio):
    problem = objective(5, n=300, p=10, K=K, odd=False)
    X, y = problem.source.X.to_array(), problem.source.y
    C = 0.1
    peer = Peer(C=C, l1_ratio=ratio, solver="saga", tol=1e-12, max_iter=100_000).fit(X, y)
    penalty = ElasticNet.of(problem.setting.q, 10, (1 - ratio) / (C * 300), ratio / (C * 300))
    found = solution(replace(problem, penalty=penalty)).last.theta.reshape(-1, 11)
    np.testing.assert_allclose(found[:, :-1], peer.coef_, atol=1e-7)
    np.testing.assert_array_equal(found[:, :-1] == 0, peer.coef_ == 0)


def test_the_trace_never_rises_and_says_why_it_ended():
    found = solution(sized(objective(6, K=3, l1=1e-3)))
    assert (np.diff(found.trace[:, 0]) <= 1e-12).all()
    assert "gradient norm" in found.reason


def test_many_columns_are_read_once_in_a_round():
    """300 rows of 4000 columns, 5 of which matter: passes over all of them are few."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 4000))
    y = (X[:, :5].sum(axis=1) + rng.logistic(size=300) > 0).astype(np.int32)
    problem = plain(X, y, 0.05)
    found = solution(problem)
    assert found.converged
    assert_optimal(problem, found.last.theta)
    assert problem.passes < 20
