"""affine, diagonal and quadratic against their twins; and how kernels refuse what is not finite."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import LAYOUTS, matrix, name_of
from kernels.test_kernel_moments import CLASSES, COLUMNS, LABELS, ROWS, SHAPES, data
from kernels.test_kernel_moments import run as run_moments

Parameters = tuple[np.ndarray, ...]


def affine(rng: np.random.Generator, p: int, K: int) -> Parameters:
    return rng.standard_normal((K, p)), rng.standard_normal(K), rng.standard_normal(p)


def diagonal(rng: np.random.Generator, p: int, K: int) -> Parameters:
    return rng.standard_normal((K, p)), rng.exponential(size=(K, p)), rng.standard_normal(K)


def quadratic(rng: np.random.Generator, p: int, K: int) -> Parameters:
    U = np.triu(rng.standard_normal((K, p, p)))
    return rng.standard_normal(p), U, rng.standard_normal((K, p)), rng.standard_normal(K)


KERNELS: dict[str, Callable[..., Parameters]] = {
    "affine": affine,
    "diagonal": diagonal,
    "quadratic": quadratic,
}
every_kernel = pytest.mark.parametrize("kernel", list(KERNELS))


@cache
def problem(kernel: str, n: int, p: int, K: int) -> tuple[np.ndarray, Parameters, np.ndarray]:
    """X, the parameters, and the scores."""
    rng = np.random.default_rng([n, p, K])
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.7)
    X, parameters = X.astype(np.float32).astype(np.float64), KERNELS[kernel](rng, p, K)
    return X, parameters, getattr(twins, kernel)(X, *parameters) if K else np.empty((n, 0))


def check(core: Any, kernel: str, size: tuple[int, int, int], add: bool, layout: Any = ("C", np.float64)):
    X, parameters, expected = problem(kernel, *size)
    Z = np.full(expected.shape, 0.25 if add else np.nan)  # written over, or added to
    bad = getattr(core, kernel)(matrix(core, X, layout), *parameters, Z, add)
    room = 1e-12 * max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(Z, expected + (0.25 if add else 0), rtol=1e-12, atol=room, err_msg=str(size))
    assert bad is None


@every_kernel
@pytest.mark.parametrize("p", COLUMNS)
@pytest.mark.parametrize("add", [False, True])
def test_scores_equal_their_twin(core, kernel, p, add):
    for i, n in enumerate(ROWS):
        for K in (CLASSES[(i + p) % 5], CLASSES[(i + p + 2) % 5]):
            check(core, kernel, (n, p, K), add)


@every_kernel
@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_every_layout_has_the_same_scores(core, kernel, layout):
    for size in [(0, 3, 2), (1, 1, 1), (63, 9, 7), (65, 8, 2), (130, 50, 13), (200, 7, 6)]:
        for add in (False, True):
            check(core, kernel, size, add, layout)


@pytest.mark.parametrize("size", [(9, 3, 1), (70, 4, 2), (600, 13, 1), (66, 30, 7), (40, 21, 3)], ids=str)
def test_affine_scores_of_a_row_are_the_same_bits_alone_and_in_any_layout(core, size):
    """Beside them, whatever the number of lines, a first class without one scores its constant."""
    X, (W, b, shift), expected = problem("affine", *size)
    whole = np.empty_like(expected)
    assert core.affine(matrix(core, X), W, b, shift, whole, False) is None
    for layout in (layout for layout in LAYOUTS if "CSR" not in str(layout[0])):
        Z = np.empty_like(expected)
        assert core.affine(matrix(core, X, layout), W, b, shift, Z, False) is None
        np.testing.assert_array_equal(Z, whole, err_msg=str(layout))
    one, wide = np.empty((1, size[2])), np.empty((size[0], size[2] + 1))
    for r in range(size[0]):
        core.affine(matrix(core, X[r : r + 1]), W, b, shift, one, False)
        np.testing.assert_array_equal(one[0], whole[r])
    core.affine(matrix(core, X), W, np.append(0.5, b), shift, wide, False)
    np.testing.assert_array_equal(wide, np.column_stack([np.full(size[0], 0.5), whole]))


@pytest.mark.parametrize("K", [2, 3])
def test_few_sparse_cells_score_as_many_do(core, K):
    """Weights are turned over only where there are more cells than columns: no bit may tell."""
    X, (W, b, shift), _ = problem("affine", 130, 50, K)
    whole, one = np.empty((130, K)), np.empty((1, K))
    core.affine(matrix(core, X, ("CSR, 32 bit", np.float64)), W, b, shift, whole, False)
    for r in range(130):
        core.affine(matrix(core, X[r : r + 1], ("CSR, 32 bit", np.float64)), W, b, shift, one, False)
        np.testing.assert_array_equal(one[0], whole[r])


@every_kernel
@pytest.mark.parametrize("size", [(5, 3, 0), (5, 0, 0), (0, 0, 0)], ids=str)
def test_no_classes_are_fine(core, kernel, size):
    """All columns constant: no direction is left to whiten."""
    check(core, kernel, size, add=False)


@pytest.mark.parametrize("kernel", ["diagonal", "quadratic"])
def test_without_columns_the_constants_are_all_there_is(core, kernel):
    _, parameters, _ = problem(kernel, 5, 0, 2)
    Z = np.full((5, 2), np.nan)
    assert getattr(core, kernel)(matrix(core, np.ones((5, 0))), *parameters, Z, False) is None
    np.testing.assert_array_equal(Z, np.broadcast_to(parameters[-1], (5, 2)))


def test_a_matrix_keeps_its_arrays_alive(core):
    """Arrays that only the matrix knows of: freed too early, the sanitizer would see them read."""
    for layout in LAYOUTS:
        X, parameters, _ = problem("affine", 3000, 9, 2)
        held, Z = matrix(core, X, layout), np.empty((3000, 2))
        np.full(30_000, np.nan)  # room that was freed would be taken again
        assert core.affine(held, *parameters, Z, False) is None
        np.testing.assert_allclose(Z, twins.affine(X, *parameters), atol=1e-12)


# ---- cells that are not finite -------------------------------------------------------------------
def refused(core: Any, kernel: str, X: Any, n: int, p: int) -> Any:
    """The cell that a kernel names."""
    if kernel in KERNELS:
        return getattr(core, kernel)(X, *problem(kernel, n, p, 2)[1], np.empty((n, 2)), False)
    shape, labels = kernel.split(": ")
    _, who, _ = data(n, p, 2, labels)
    # Every row counts: whether one that does not may hold what it likes is not settled here.
    least = {"codes": 0, "R": 0.1, "weights": 0.1}
    who = {name: value if value is None else np.maximum(value, least[name]) for name, value in who.items()}
    return run_moments(core, X, who, shape, p, 2)[-1]


ALL_KERNELS = [*KERNELS, *(f"{shape}: {labels}" for shape in SHAPES for labels in LABELS)]
N, P = 1100, 65  # tiles of 64 and of 504 rows
CELLS = [(0, 0), (0, 64), (63, 64), (64, 0), (503, 1), (504, 7), (700, 63), (1099, 64)]


@pytest.mark.parametrize("kernel", ALL_KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_the_first_cell_that_is_not_finite_is_named(core, kernel, layout):
    """First by row, then by column, whatever else is wrong further on."""
    rng = np.random.default_rng(0)
    for i, first in enumerate(CELLS):
        X = 1 + rng.random((N, P))
        X[first] = [np.nan, np.inf, -np.inf][i % 3]
        for later in CELLS[i + 1 :]:
            X[later] = [np.inf, -np.inf, np.nan][i % 3]
        assert refused(core, kernel, matrix(core, X, layout), N, P) == first


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_infinities_that_cancel_are_found_too(core, kernel):
    X = np.ones((70, 9))
    X[3, 4], X[5, 4] = np.inf, -np.inf
    assert refused(core, kernel, matrix(core, X), 70, 9) == (3, 4)


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_large_finite_cells_are_not_refused(core, kernel):
    """Their squares overflow, but they are numbers: what becomes of them is the model's business."""
    X = np.ones((70, 9))
    X[3, 4], X[5, 4] = 1e200, -1e200
    assert refused(core, kernel, matrix(core, X), 70, 9) is None
