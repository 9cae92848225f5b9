"""A penalty that the library has not: a group lasso, by the protocol alone."""

from dataclasses import dataclass

import numpy as np
import pytest

from likelier.choose_solver import chosen
from likelier.data import Arrays, Dense
from likelier.losses import logistic
from likelier.penalties import ElasticNet
from likelier.solve import Terms, posed, solve


def ratio(a, b):
    return np.divide(a, b, where=b > 0, out=np.zeros_like(a))


@dataclass(frozen=True)
class GroupLasso:
    """λ Σ √size |θ_group|₂ (Yuan & Lin 2006): whole groups of weights are 0. groups (m,), -1: free."""

    groups: np.ndarray
    strength: float
    smooth = by_entry = False

    @property
    def l2(self):
        return np.zeros(len(self.groups))

    l1 = l2

    def scaled(self, unit):
        assert unit is None
        return self

    def quadratic(self, theta):
        return 0.0

    def _norms(self, v):
        """The length of each entry's group, and what it costs."""
        same = (self.groups[:, None] == self.groups) & (self.groups >= 0)
        return np.sqrt(same @ v**2), self.strength * np.sqrt(same.sum(axis=1))

    def value(self, theta):
        length, cost = self._norms(theta)
        return sum((cost * length)[self.groups == g][0] for g in set(self.groups[self.groups >= 0]))

    def shared(self, scale):
        most = {g: scale[self.groups == g].max() for g in self.groups}
        return np.array([most[g] if g >= 0 else each for g, each in zip(self.groups, scale, strict=True)])

    def corner_prox(self, v, scale):
        length, cost = self._norms(v)
        return v * np.maximum(
            1 - np.divide(cost / scale, length, where=length > 0, out=np.zeros_like(v)), 0
        )

    def residual(self, theta, gradient):
        length, cost = self._norms(theta)
        pull, _ = self._norms(gradient)
        inside = gradient * np.maximum(1 - ratio(cost, pull), 0)
        along = ratio(cost * theta, length)
        return np.where((length > 0) | (self.groups < 0), gradient + along, inside)


def problem(penalty, n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    y = (X[:, :2] @ [1.5, -1.0] + rng.normal(size=n) > 0).astype(np.int32)
    totals = np.bincount(y).astype(np.float64)
    return posed(Arrays(Dense(X), y), totals, logistic, lambda q, p, n: penalty)


def solution(penalty, tol=1e-8):
    objective = problem(penalty)
    start = np.zeros(objective.size)
    found = solve(objective, start, chosen("auto", objective), Terms(tol, 2000, fresh=False))
    assert found.converged
    return objective, found.last.theta


def test_weights_of_a_group_leave_together():
    groups = np.array([0, 0, 1, 1, 2, 2, -1])
    objective, theta = solution(GroupLasso(groups, 0.05))
    assert (theta[:2] != 0).all()
    assert (theta[2:6] == 0).all()
    residual = objective.penalty.residual(theta, objective.gradient(theta)[1])
    np.testing.assert_allclose(residual, 0, atol=1e-7)


@pytest.mark.parametrize("strength", [0.01, 0.1])
def test_groups_of_one_are_a_lasso(strength):
    alone = GroupLasso(np.array([0, 1, 2, 3, 4, 5, -1]), strength)
    lasso = ElasticNet.of(1, 6, 0.0, strength)
    np.testing.assert_allclose(solution(alone)[1], solution(lasso)[1], atol=1e-6)


def test_no_other_weights_cost_less():
    penalty = GroupLasso(np.array([0, 0, 0, 1, 1, 1, -1]), 0.02)
    objective, theta = solution(penalty)
    best = objective.value(theta[None])[0] + penalty.value(theta)
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-1):
        near = theta + size * rng.normal(size=(200, len(theta)))
        others = objective.value(near) + [penalty.value(each) for each in near]
        assert (others >= best - 1e-12).all()
