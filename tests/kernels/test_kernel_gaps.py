"""Kernels for rows with missing cells (NaN) against their twins: sums, scores, and what to expect."""

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import LAYOUTS, matrix, name_of
from kernels.test_kernel_moments import CLASSES, COLUMNS, LABELS, ROWS, data

Where = tuple[int, int] | None
SOME_COLUMNS = [1, 7, 8, 9, 17, 33]


def lacking(X: np.ndarray, share: float = 0.3) -> np.ndarray:
    """Cells missing at random, in some rows all of them, in some none."""
    n, p = X.shape
    rng = np.random.default_rng([n, p])
    gone = (rng.random((n, p)) < share) & (rng.random((n, 1)) < 0.8)
    gone[rng.random(n) < 0.1] = True
    return np.where(gone, np.nan, X)


def assert_close(ours: Any, theirs: Any, what: Any, room: float = 1e-12) -> None:
    theirs = np.asarray(theirs)
    size = max(1.0, np.abs(theirs).max(initial=0))
    np.testing.assert_allclose(ours, theirs, rtol=room, atol=room * size, err_msg=str(what))


# ---- sums ----------------------------------------------------------------------------------------
def column_moments(core: Any, X: Any, who: dict[str, Any], K: int, p: int) -> tuple[Any, ...]:
    found = np.zeros(K), *(np.zeros((K, p)) for _ in range(3))
    bad = core.column_moments(X, **who, n=found[0], seen=found[1], mean=found[2], S=found[3])
    return *found, bad


@cache
def expected_columns(n: int, p: int, K: int, labels: str) -> tuple[np.ndarray, ...]:
    X, _, R = data(n, p, K, labels)
    return twins.column_moments(lacking(X), R)


def check_columns(core: Any, n: int, p: int, K: int, labels: str, layout: Any = ("C", np.float64)) -> None:
    X, who, _ = data(n, p, K, labels)
    *found, bad = column_moments(core, matrix(core, lacking(X), layout), who, K, p)
    assert bad is None
    for ours, theirs in zip(found, expected_columns(n, p, K, labels), strict=True):
        assert_close(ours, theirs, (n, p, K, labels))


@pytest.mark.parametrize("p", COLUMNS)
@pytest.mark.parametrize("labels", LABELS)
def test_column_moments_equal_their_twin(core, labels, p):
    for i, n in enumerate(ROWS):
        check_columns(core, n, p, CLASSES[(i + p) % len(CLASSES)], labels)


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_every_layout_has_the_same_column_moments(core, layout):
    for size, labels in product([(1, 1, 1), (65, 9, 2), (700, 50, 7), (4100, 3, 2)], LABELS):
        check_columns(core, *size, labels, layout)


def test_without_gaps_column_moments_are_the_moments(core):
    X, who, _ = data(655, 9, 2, "hard, weighted")
    n, mean, S = np.zeros(2), np.zeros((2, 9)), np.zeros((2, 9))
    core.moments(matrix(core, X), **who, tied=False, n=n, mean=mean, S=S)
    *found, _ = column_moments(core, matrix(core, X), who, 2, 9)
    for ours, theirs in zip(found, (n, np.repeat(n[:, None], 9, 1), mean, S), strict=True):
        assert_close(ours, theirs, "")


def test_far_from_0_a_column_keeps_its_digits(core):
    rng = np.random.default_rng(0)
    near = np.where(rng.random((9000, 3)) < 0.4, np.nan, rng.integers(-8, 9, (9000, 3)) / 8.0)
    who = {"codes": rng.integers(0, 2, 9000).astype(np.int32), "R": None, "weights": None}
    *_, S, _ = column_moments(core, matrix(core, 2.0**30 + near), who, 2, 3)  # exact: no digit is cut off
    *_, expected = twins.column_moments(near, twins.memberships(who["codes"], None, None, 9000, 2))
    np.testing.assert_allclose(S, expected, rtol=1e-12)


@pytest.mark.parametrize("constant", [0.0, 0.1, -3.3, 1e8 + 0.1])
def test_a_constant_column_has_no_scatter_at_all(core, constant):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((9000, 2)) < 0.3, np.nan, constant)
    who = {
        "codes": rng.integers(0, 2, 9000).astype(np.int32),
        "R": None,
        "weights": rng.exponential(size=9000),
    }
    _, _, mean, S, _ = column_moments(core, matrix(core, X), who, 2, 2)
    np.testing.assert_array_equal(mean, constant)
    np.testing.assert_array_equal(S, 0)


# ---- independent columns -------------------------------------------------------------------------
@cache
def diagonal_problem(n: int, p: int, K: int) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    rng = np.random.default_rng([n, p, K])
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.7)
    X = lacking(X.astype(np.float32).astype(np.float64))
    parameters = (
        rng.standard_normal((K, p)),
        rng.exponential(size=(K, p)),
        rng.standard_normal((K, p)),
        rng.standard_normal(K),
    )
    return X, parameters, twins.diagonal_gaps(X, *parameters)


def check_diagonal(
    core: Any, size: tuple[int, int, int], add: bool, layout: Any = ("C", np.float64)
) -> None:
    X, parameters, expected = diagonal_problem(*size)
    Z = np.full(expected.shape, 0.25 if add else np.nan)  # written over, or added to
    assert core.diagonal_gaps(matrix(core, X, layout), *parameters, Z, add) is None
    assert_close(Z, expected + (0.25 if add else 0), size)


@pytest.mark.parametrize("p", COLUMNS)
@pytest.mark.parametrize("add", [False, True])
def test_diagonal_scores_equal_their_twin(core, p, add):
    for i, n in enumerate(ROWS):
        for K in (CLASSES[(i + p) % 5], CLASSES[(i + p + 2) % 5]):
            check_diagonal(core, (n, p, K), add)


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_every_layout_has_the_same_diagonal_scores(core, layout):
    for size, add in product([(0, 3, 2), (1, 1, 1), (63, 9, 7), (65, 8, 2), (130, 50, 13)], [False, True]):
        check_diagonal(core, size, add, layout)


# ---- Gaussians -----------------------------------------------------------------------------------
class Gaussians(NamedTuple):
    """As the kernel takes them, beside what they are."""

    mean: np.ndarray  # (K, p)
    cov: np.ndarray  # (K, p, p)
    native: Any
    constant: np.ndarray  # (K,)


def gaussians(core: Any, p: int, K: int, tied: bool) -> Gaussians:
    rng = np.random.default_rng([p, K, tied])
    A = np.eye(p) + 0.4 * rng.uniform(-1, 1, (1 if tied else K, p, p)) / np.sqrt(p)
    own, mean, shift = A @ A.transpose(0, 2, 1), rng.standard_normal((K, p)), rng.standard_normal(p)
    inverse = np.linalg.inv(own)
    U = np.linalg.cholesky(inverse).transpose(0, 2, 1)  # upper triangular, UᵀU = Σ⁻¹
    native = core.GappyGaussians(mean - shift, shift, np.ascontiguousarray(U), inverse)
    cov = np.repeat(own, K, axis=0) if tied else own
    constant = -0.5 * (np.linalg.slogdet(cov)[1] + p * np.log(2 * np.pi))
    return Gaussians(mean, cov, native, constant)


def gappy(n: int, p: int) -> np.ndarray:
    X = 2 * np.random.default_rng([n, p]).standard_normal((n, p))
    X[np.abs(X) < 0.5] = 0
    return lacking(X.astype(np.float32).astype(np.float64))


def check_scores(
    core: Any, n: int, p: int, K: int, tied: bool, add: bool, layout: Any = ("C", np.float64)
) -> None:
    laws, X = gaussians(core, p, K, tied), gappy(n, p)
    b = np.linspace(-1, 1, K)
    Z = np.full((n, K), 0.25 if add else np.nan)
    assert laws.native.scores(matrix(core, X, layout), b + laws.constant, Z, add) is None
    each = [[twins.log_density(x, m, S) for m, S in zip(laws.mean, laws.cov, strict=True)] for x in X]
    expected = np.array(each).reshape(n, K) + b + (0.25 if add else 0)
    assert_close(Z, expected, (n, p, K), 1e-11)


every_tie = pytest.mark.parametrize("tied", [False, True], ids=["own", "tied"])


@every_tie
@pytest.mark.parametrize("p", SOME_COLUMNS)
def test_gappy_scores_equal_their_twin(core, tied, p):
    for i, n in enumerate([0, 1, 63, 64, 65, 130]):
        check_scores(core, n, p, CLASSES[i % 3], tied, add=bool(i % 2))


@every_tie
@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_every_layout_has_the_same_gappy_scores(core, tied, layout):
    for size, add in product([(1, 1, 1), (65, 9, 2)], [False, True]):
        check_scores(core, *size, tied, add, layout)


@every_tie
def test_rows_that_lack_nothing_have_the_scores_of_the_quadratic_kernel(core, tied):
    p, K, n = 9, 3, 130
    laws = gaussians(core, p, K, tied)
    X, Z, expected = np.nan_to_num(gappy(n, p)), np.empty((n, K)), np.empty((n, K))
    assert laws.native.scores(matrix(core, X), laws.constant, Z, False) is None
    U = np.linalg.cholesky(np.linalg.inv(laws.cov)).transpose(0, 2, 1).copy()
    at = np.einsum("kij,kj->ki", U, laws.mean)
    core.quadratic(matrix(core, X), np.zeros(p), U, at, laws.constant, expected, False)
    assert_close(Z, expected, "", 1e-11)


def check_fill(core: Any, n: int, p: int, K: int, tied: bool, layout: Any = ("C", np.float64)) -> None:
    laws, X = gaussians(core, p, K, tied), gappy(n, p)
    P = np.random.default_rng(n).dirichlet(np.ones(K), n)
    out = np.full((n, p), np.nan)
    assert laws.native.fill(matrix(core, X, layout), P, out) is None
    classes = list(zip(laws.mean, laws.cov, strict=True))
    each = np.array([[twins.completed(x, m, S)[0] for m, S in classes] for x in X]).reshape(n, K, p)
    assert_close(out, np.einsum("nk,nkp->np", P, each), (n, p, K), 1e-11)
    there = ~np.isnan(X)
    np.testing.assert_array_equal(out[there], X[there])  # bit for bit


@every_tie
@pytest.mark.parametrize("p", SOME_COLUMNS)
def test_filling_in_equals_its_twin(core, tied, p):
    for i, n in enumerate([0, 1, 63, 65]):
        check_fill(core, n, p, CLASSES[i % 3], tied)


@every_tie
@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_every_layout_is_filled_in_alike(core, tied, layout):
    check_fill(core, 65, 9, 2, tied, layout)


def test_patterns_are_known_again(core):
    """Asked twice, and by rows in another order: the same bits."""
    laws, X = gaussians(core, 9, 2, False), gappy(300, 9)
    once, again, backwards = (np.empty((300, 2)) for _ in range(3))
    laws.native.scores(matrix(core, X), laws.constant, once, False)
    laws.native.scores(matrix(core, X), laws.constant, again, False)
    laws.native.scores(matrix(core, X[::-1]), laws.constant, backwards, False)
    np.testing.assert_array_equal(again, once)
    np.testing.assert_array_equal(backwards[::-1], once)


def test_a_kernel_of_gaussians_keeps_its_own_arrays(core):
    laws, X = gaussians(core, 33, 3, False), gappy(65, 33)
    arrays = [np.array(a) for a in (laws.mean, np.zeros(33), laws.cov, laws.cov)]
    arrays[2] = np.linalg.cholesky(np.linalg.inv(laws.cov)).transpose(0, 2, 1).copy()
    arrays[3] = np.linalg.inv(laws.cov)
    native, Z, later = core.GappyGaussians(*arrays), np.empty((65, 3)), np.empty((65, 3))
    native.scores(matrix(core, X), laws.constant, Z, False)
    for array in arrays:
        array[:] = np.nan
    del arrays
    native.scores(matrix(core, X), laws.constant, later, False)
    np.testing.assert_array_equal(later, Z)


# ---- what to expect ------------------------------------------------------------------------------
class Groups(NamedTuple):
    """Rows by class and pattern; some groups stand for more rows, with a scatter of their own."""

    X: np.ndarray
    w: np.ndarray
    start: np.ndarray
    code: np.ndarray
    spread: np.ndarray
    S: np.ndarray


def groups(p: int, K: int, sizes: list[int], seed: int = 0) -> Groups:
    rng = np.random.default_rng([p, K, seed])
    X = rng.standard_normal((sum(sizes), p))
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    code = np.sort(rng.integers(0, K, len(sizes))).astype(np.int32)
    gone = rng.random((len(sizes), p)) < 0.4
    gone[-1:] = True
    spread, S = np.full(len(sizes), -1, np.int64), []
    for g, size in enumerate(sizes):
        X[start[g] : start[g + 1], gone[g]] = np.nan
        if size == 1:
            A = rng.standard_normal((p, p)) * ~gone[g][:, None]
            spread[g] = len(S)
            S.append(A @ A.T)
    return Groups(X, rng.exponential(size=sum(sizes)), start, code, spread, np.array(S).reshape(-1, p, p))


def expected_sums(rows: Groups, mean: np.ndarray, cov: np.ndarray) -> tuple[Any, ...]:
    first, second, logs, lacking_ = np.zeros_like(mean), np.zeros_like(cov), 0.0, 0.0
    inverse, zero = np.linalg.inv(cov), np.zeros(len(cov))
    for g, k in enumerate(rows.code):
        for r in range(rows.start[g], rows.start[g + 1]):
            x, w = rows.X[r], rows.w[r]
            full, rest = twins.completed(x, mean[k], cov)
            first[k] += w * (full - mean[k])
            second += w * (np.outer(full - mean[k], full - mean[k]) + rest)
            gone = np.isnan(x)
            logs += w * np.linalg.slogdet(inverse[np.ix_(gone, gone)])[1]
            lacking_ += w * gone.sum()
        if rows.spread[g] >= 0:  # M S Mᵀ, M completes a deviation
            units = np.where(np.isnan(rows.X[rows.start[g]]), np.nan, np.eye(len(cov)))
            M = np.stack([twins.completed(u, zero, cov)[0] for u in units], axis=1)
            second += M @ rows.S[rows.spread[g]] @ M.T
    return first, second, logs, lacking_


@pytest.mark.parametrize("p", SOME_COLUMNS)
@pytest.mark.parametrize("K", [1, 3])
def test_what_is_expected_equals_its_twin(core, p, K):
    rng = np.random.default_rng(p)
    A = np.eye(p) + 0.4 * rng.uniform(-1, 1, (p, p)) / np.sqrt(p)
    cov, mean = A @ A.T, rng.standard_normal((K, p))
    for sizes in ([], [1], [3], [1, 5, 1, 2, 40, 1], [700, 1]):
        rows = groups(p, K, sizes)
        first, second = np.full((K, p), 0.5), np.full((p, p), 0.25)  # added to
        logs, lacking_ = core.expect(*rows, mean, np.linalg.inv(cov), first, second)
        expected = expected_sums(rows, mean, cov)
        assert_close(first, expected[0] + 0.5, (p, sizes), 1e-11)
        assert_close(second, expected[1] + 0.25, (p, sizes), 1e-11)
        assert_close([logs, lacking_], expected[2:], (p, sizes), 1e-11)


# ---- cells that are not finite -------------------------------------------------------------------
def refused(core: Any, kernel: str, X: Any, n: int, p: int) -> Where:
    """The cell that a kernel names."""
    if kernel in LABELS:
        _, who, _ = data(n, p, 2, kernel)
        least = {"codes": 0, "R": 0.1, "weights": 0.1}  # every row counts
        who = {name: v if v is None else np.maximum(v, least[name]) for name, v in who.items()}
        return column_moments(core, X, who, 2, p)[-1]
    if kernel == "diagonal":
        ones = np.ones((2, p))
        return core.diagonal_gaps(X, ones, ones, ones, np.ones(2), np.empty((n, 2)), False)
    one = np.eye(p)[None]
    native = core.GappyGaussians(np.ones((2, p)), np.zeros(p), one, one)
    if kernel == "scores":
        return native.scores(X, np.zeros(2), np.empty((n, 2)), False)
    return native.fill(X, np.full((n, 2), 0.5), np.empty((n, p)))


KERNELS = [*LABELS, "diagonal", "scores", "fill"]
N, P = 1100, 65  # tiles of 64 and of 504 rows
CELLS = [(0, 0), (63, 64), (64, 0), (504, 7), (1099, 64)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_the_first_infinite_cell_is_named_whatever_is_missing(core, kernel, layout):
    """First by row, then by column; NaN before it is no reason to stop."""
    rng = np.random.default_rng(0)
    for i, first in enumerate(CELLS):
        X = 1 + rng.random((N, P))
        X[:, 2:7:2] = np.nan  # the pattern of all rows, and one of its own for one of them
        X[first[0], 11] = np.nan
        X[first] = [np.inf, -np.inf][i % 2]
        for later in CELLS[i + 1 :]:
            X[later] = [-np.inf, np.inf][i % 2]
        assert refused(core, kernel, matrix(core, X, layout), N, P) == first


@pytest.mark.parametrize("kernel", KERNELS)
def test_infinities_that_cancel_are_found_too(core, kernel):
    X = np.ones((70, 9))
    X[3, 4], X[5, 4], X[4] = np.inf, -np.inf, np.nan
    assert refused(core, kernel, matrix(core, X), 70, 9) == (3, 4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_nan_and_large_finite_cells_are_not_refused(core, kernel):
    X = np.ones((70, 9))
    X[3, 4], X[5, 4], X[4], X[6, :8] = 1e200, -1e200, np.nan, np.nan
    assert refused(core, kernel, matrix(core, X), 70, 9) is None
