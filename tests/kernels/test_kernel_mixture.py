"""responsibilities and centred_sums against their twins."""

from typing import Any

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import LAYOUTS, matrix, name_of

ROWS = [0, 1, 47, 64, 65, 655]
COLUMNS = [1, 7, 8, 9, 20, 65]
COMPONENTS = [1, 2, 7, 13]


def data(n: int, p: int, K: int, *, weighted: bool) -> tuple[np.ndarray, np.ndarray, Any, np.ndarray]:
    """X, memberships of which some are 0, weights of which some are, and centres near the rows."""
    rng = np.random.default_rng([n, p, K])
    X = (1 + rng.standard_normal((n, p))).astype(np.float32).astype(np.float64)
    R = rng.dirichlet(np.ones(K), n) * (rng.random((n, K)) < 0.8)
    w = rng.exponential(size=n) * (rng.random(n) < 0.9) if weighted else None
    return X, R, w, 1 + 0.3 * rng.standard_normal((K, p))


def run(core: Any, X: Any, R: Any, w: Any, centres: np.ndarray, *, tied: bool) -> tuple[Any, ...]:
    K, p = centres.shape
    n, first, second = np.zeros(K), np.zeros((K, p)), np.zeros((p, p) if tied else (K, p, p))
    bad = core.centred_sums(X, R, w, centres, tied, n, first, second)
    return n, first, second, bad


def assert_sums(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> None:
    assert ours[3] is None
    for a, b in zip(ours, theirs, strict=False):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(b).max(initial=0)))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("K", COMPONENTS)
def test_sums(core, K, weighted, tied):
    for n in ROWS:
        for p in COLUMNS:
            X, R, w, centres = data(n, p, K, weighted=weighted)
            ours = run(core, matrix(core, X), R, w, centres, tied=tied)
            assert_sums(ours, twins.centred_sums(X, R, w, centres, tied))


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_every_layout(core, layout):
    X, R, w, centres = data(130, 9, 3, weighted=True)
    ours = run(core, matrix(core, X, layout), R, w, centres, tied=False)
    assert_sums(ours, twins.centred_sums(X, R, w, centres, False))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_not_finite_is_named(core, value):
    X, R, _, centres = data(130, 9, 3, weighted=False)
    R += 0.1
    X[77, 4] = value
    assert run(core, matrix(core, X), R, None, centres, tied=False)[3] == (77, 4)


@pytest.mark.parametrize("K", COMPONENTS)
def test_responsibilities(core, K):
    for n in ROWS:
        Z = 50 * np.random.default_rng([n, K]).standard_normal((n, K)) - 900
        R, total = Z.copy(), np.empty(n)
        core.responsibilities(R, total)
        np.testing.assert_allclose(R, twins.softmax(Z), rtol=1e-12, atol=1e-280)
        if n:
            np.testing.assert_allclose(total, twins.log_sum_exp(Z), rtol=1e-13)


def test_a_row_that_no_component_allows_has_no_share(core):
    Z, total = np.array([[-np.inf, -np.inf], [0.0, -np.inf], [0.0, -669.0], [0.0, -600.0]]), np.empty(4)
    core.responsibilities(Z, total)
    np.testing.assert_array_equal(Z[:3], [[0, 0], [1, 0], [1, 0]])  # 1e-291 is none
    np.testing.assert_allclose(Z[3, 1], np.exp(-600), rtol=1e-12)
    np.testing.assert_array_equal(total[:2], [-np.inf, 0])
