"""Paths: every solution along one is that of the problem by itself, and passes are few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.test_proximal import assert_optimal, objective, solution
from likelier import objective as objectives
from likelier.engines import run
from likelier.penalties import ElasticNet
from likelier.solve import CachingObjective, Terms, path


def penalties(problem, count=8, ratio=0.5):
    q, p = problem.setting.q, problem.setting.p
    return [ElasticNet.of(q, p, (1 - ratio) * s, ratio * s) for s in np.geomspace(0.3, 1e-4, count)]


@given(
    seed=st.integers(0, 10**6),
    K=st.sampled_from([2, 3]),
    ratio=st.sampled_from([0.0, 0.5, 1.0]),
    sparse=st.booleans(),
)
def test_every_solution_is_an_optimum(seed, K, ratio, sparse):
    problem = objective(seed, K=K, odd=False, sparse=sparse)
    along = penalties(problem, ratio=ratio)
    found = list(path(problem, along, "auto", Terms(1e-8, 100)))
    for penalty, each in zip(along, found, strict=True):
        assert each.converged
        assert_optimal(CachingObjective.of(problem).beneath(penalty), each.last.theta)


@pytest.mark.parametrize("solver", ["proximal", "newton", "lbfgs"])
def test_alone_or_along_a_path(solver):
    problem = objective(3, n=200, p=8, K=3, odd=False)
    along = penalties(problem, ratio=0.0)
    for penalty, each in zip(along, path(problem, along, solver, Terms(1e-9, 200)), strict=True):
        alone = solution(CachingObjective.of(problem).beneath(penalty))
        np.testing.assert_allclose(each.last.theta, alone.last.theta, atol=1e-6)


def test_another_penalty_at_the_same_point_costs_no_pass():
    problem = CachingObjective.of(objective(4, K=3))
    theta = np.random.default_rng(0).normal(size=problem.size) / 1e4
    first, second = (problem.beneath(penalty) for penalty in penalties(problem, 2))
    first.hessian(theta)
    F, g, H = second.hessian(theta)
    assert (first.passes, second.passes) == (1, 0)
    plain = objective(4, K=3)
    plain.penalty = second.penalty
    expected = plain.hessian(theta)
    assert F == expected[0]
    np.testing.assert_array_equal(g, expected[1])
    np.testing.assert_array_equal(H, expected[2])


def test_what_is_recalled_is_of_the_same_rows():
    """A few rows to begin with, or some of the columns, are another problem at the same θ."""
    problem = CachingObjective.of(objective(5, n=3000, odd=False))
    theta = np.zeros(problem.size)
    few = problem.sampled(2)
    assert few.gradient(theta)[1] != pytest.approx(problem.gradient(theta)[1])
    some, at = problem.restricted(np.array([0, 2]))
    np.testing.assert_allclose(some.gradient(theta[at])[1], problem.gradient(theta)[1][at])


def test_a_path_of_twenty_takes_few_passes(monkeypatch):
    problem, passes = objective(6, n=2000, p=30, odd=False), []
    monkeypatch.setattr(objectives, "run", lambda *how: passes.append(how) or run(*how))
    found = list(path(problem, penalties(problem, 20), "auto", Terms(1e-4, 100)))
    assert all(each.converged for each in found)
    assert 20 < len(passes) <= 60
