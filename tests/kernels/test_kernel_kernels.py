"""Sums of kernels against their twin: rows and points with and without gaps, points left out, threads."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import LAYOUTS, matrix, name_of

SIZES = [(0, 1, 1), (1, 1, 2), (33, 2, 3), (64, 5, 2), (130, 9, 3), (200, 17, 1)]  # n, p, K


class Problem(NamedTuple):
    X: np.ndarray
    points: tuple[Any, ...]  # cells, log_w, log_v, start, scale, constant
    b: np.ndarray


@cache
def problem(n: int, p: int, K: int, gaps: bool = False, holes: bool = False) -> Problem:
    """Classes of 1, 33, 66, ... points: below, at and beyond a block."""
    rng = np.random.default_rng([n, p, K, gaps, holes])
    counts = 1 + 33 * np.arange(K)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    cells = rng.standard_normal((start[-1], p)).astype(np.float32).astype(np.float64)
    if holes:
        gone = rng.random(cells.shape) < 0.3
        gone[start[:-1]] = False  # each class has a cell of each column
        cells[gone] = np.inf
    log_w, log_v = np.log(rng.dirichlet(np.ones(start[-1]), 2))
    h = rng.uniform(0.3, 1.5, (K, p))
    scale, constant = 1 / (np.sqrt(2) * h), -np.log(h * np.sqrt(2 * np.pi))
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.8)
    if gaps:
        X = np.where(rng.random((n, p)) < 0.3, np.nan, X)
    X = X.astype(np.float32).astype(np.float64)
    return Problem(X, (cells, log_w, log_v, start, scale, constant), rng.standard_normal(K))


def ask(core: Any, X: Any, n: int, data: Problem, own=None, less=None, add=False, threads=1) -> np.ndarray:
    Z = np.full((n, len(data.b)), 0.25 if add else np.nan)
    assert core.kernels(X, *data.points, own, less, data.b, Z, add, threads) is None
    return Z


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("gaps", [False, True], ids=["whole rows", "gaps in rows"])
@pytest.mark.parametrize("holes", [False, True], ids=["whole points", "gaps in points"])
@pytest.mark.parametrize("add", [False, True])
def test_sums_of_kernels_equal_their_twin(core, size, gaps, holes, add):
    data = problem(*size, gaps, holes)
    expected = twins.kernels(data.X, *data.points, None, None, data.b) + (0.25 if add else 0)
    Z = ask(core, matrix(core, data.X), size[0], data, add=add)
    np.testing.assert_allclose(Z, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
@pytest.mark.parametrize("gaps", [False, True])
def test_every_layout_has_the_same_sums(core, layout, gaps):
    data = problem(130, 9, 3, gaps)
    expected = ask(core, matrix(core, data.X), 130, data)
    np.testing.assert_array_equal(ask(core, matrix(core, data.X, layout), 130, data), expected)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_point_can_be_left_out_of_each_row(core, share):
    data = problem(130, 5, 3)
    own = np.random.default_rng(0).integers(-1, 102, 130)
    less = np.full(130, np.log(share) if share else -np.inf)
    expected = twins.kernels(data.X, *data.points, own, less, data.b)
    assert np.isneginf(expected).any() == (share == 0)  # class 0 has one point: without it there is nothing
    np.testing.assert_allclose(ask(core, matrix(core, data.X), 130, data, own, less), expected, rtol=1e-12)


def test_threads_do_not_change_a_bit(core):
    data = problem(2000, 5, 3, gaps=True)
    one, *others = (ask(core, matrix(core, data.X), 2000, data, threads=t) for t in (1, 2, 3, 8))
    for Z in others:
        np.testing.assert_array_equal(Z, one)


@pytest.mark.parametrize("far", [1e2, 1e4, 1e8])
def test_far_from_all_points_nothing_is_lost(core, far):
    """Points that are passed by are those that do not count: not where all of them are far."""
    rng = np.random.default_rng(0)
    cells = np.sort(rng.standard_normal(500))[:, None]
    log_w = np.full(500, -np.log(500))
    points = (cells, log_w, log_w, np.array([0, 500]), np.full((1, 1), 2.0), np.zeros((1, 1)))
    X = np.concatenate([cells[::50] - far, cells[::50], cells[::50] + far])
    data = Problem(X, points, np.zeros(1))
    expected = twins.kernels(X, *points, None, None, data.b)
    np.testing.assert_allclose(ask(core, matrix(core, X), len(X), data), expected, rtol=1e-12)


def test_sorted_rows_see_few_points_and_the_same_sum(core):
    rng = np.random.default_rng(1)
    cells = np.sort(rng.uniform(-100, 100, 3000))[:, None]
    log_w = np.full(3000, -np.log(3000))
    points = (cells, log_w, log_w, np.array([0, 3000]), np.full((1, 1), 2.0), np.zeros((1, 1)))
    X = np.sort(rng.uniform(-110, 110, 1000))[:, None]
    expected = twins.kernels(X, *points, None, None, np.zeros(1))
    found = ask(core, matrix(core, X), 1000, Problem(X, points, np.zeros(1)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_infinite_cell_is_named(core, threads):
    data = problem(2000, 5, 3)
    X = data.X.copy()
    X[1500, 1] = X[700, 3] = X[700, 4] = np.inf
    X[3, 2] = np.nan
    Z = np.empty((2000, 3))
    bad = core.kernels(matrix(core, X), *data.points, None, None, data.b, Z, False, threads)
    assert bad == (700, 3)
