"""descend against its twin, coordinate descent in NumPy, and against what makes a minimum one."""

import numpy as np
import pytest


def problem(m, seed, rank=None):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rank or m + 3, m)) * 10.0 ** rng.integers(-2, 3, m)
    H = A.T @ A
    g = A.T @ rng.normal(size=len(A))
    l1 = np.abs(g) * rng.choice([0.0, 0.3, 1.2], m)
    return H, g, l1, rng.normal(size=m) / np.sqrt(np.diagonal(H))


def twin(H, l1, most, tol, u, v):
    every = True
    for _ in range(most):
        moved = 0.0
        for j in range(len(u)):
            if not (every or u[j] != 0) or H[j, j] <= 0:
                continue
            at, reach = u[j] - v[j] / H[j, j], l1[j] / H[j, j]
            delta = np.sign(at) * max(abs(at) - reach, 0.0) - u[j]
            u[j] = 0.0 if abs(at) <= reach else u[j] + delta
            v += delta * H[j]
            moved += H[j, j] * delta**2
        if every and moved <= tol**2:
            return True
        every = moved <= tol**2
    return False


@pytest.mark.parametrize("m", [1, 2, 7, 33])
@pytest.mark.parametrize("most", [1, 4, 30])
def test_every_sweep_is_that_of_the_twin(core, m, most):
    H, g, l1, start = problem(m, m + most)
    u, v = start.copy(), g.copy()
    ended = core.descend(H, l1, most, 1e-3, u, v)
    u2, v2 = start.copy(), g.copy()
    assert ended == twin(H, l1, most, 1e-3, u2, v2)
    scale = np.sqrt(np.diagonal(H))
    np.testing.assert_allclose(u * scale, u2 * scale, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(u == 0, u2 == 0)
    np.testing.assert_allclose(v / scale, (g + H @ (u - start)) / scale, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("m", [1, 5, 20])
def test_it_ends_where_no_subgradient_is_left(core, m):
    H, g, l1, start = problem(m, m)
    u, v = start.copy(), g.copy()
    assert core.descend(H, l1, 10**6, 1e-12, u, v)
    scale = np.sqrt(np.diagonal(H))
    at_zero = np.maximum(np.abs(v) - l1, 0.0)
    rest = np.where(u != 0, v + l1 * np.sign(u), at_zero)
    np.testing.assert_allclose(rest / scale, 0.0, atol=1e-9)


def test_a_weight_without_curvature_stays(core):
    H = np.diag([2.0, 0.0, 1.0])
    u, v = np.array([1.0, 5.0, 1.0]), np.array([0.0, 0.0, 1.0])
    assert core.descend(H, np.zeros(3), 10, 0.0, u, v)
    np.testing.assert_array_equal(u, [1.0, 5.0, 0.0])


def test_equal_columns_under_l1_come_to_an_end(core):
    H, g = np.ones((2, 2)), np.array([-3.0, -3.0])
    u, v = np.zeros(2), g.copy()
    assert core.descend(H, np.ones(2), 100, 1e-12, u, v)
    assert u.sum() == pytest.approx(2.0)


def test_arrays_to_write_into_are_not_copied(core):
    H, l1 = np.eye(2), np.zeros(2)
    with pytest.raises(TypeError):
        core.descend(H, l1, 1, 0.0, np.zeros(2, dtype=np.float32), np.zeros(2))
