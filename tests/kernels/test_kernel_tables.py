"""Counting codes by class, looking them up in tables, and finding the bins of numbers."""

from typing import Any

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import LAYOUTS, matrix, name_of

SIZES = [(0, 3, 2), (1, 1, 1), (63, 2, 3), (64, 9, 2), (65, 17, 30), (130, 5, 8), (200, 8, 9), (999, 3, 20)]
LABELS = ["hard", "hard, weighed", "soft", "soft, weighed"]


def problem(n: int, p: int, K: int, labels: str = "hard") -> dict[str, Any]:
    """Codes, some missing and some beyond the last, and who belongs where."""
    rng = np.random.default_rng([n, p, K])
    sizes = rng.integers(1, 6, p)
    X = rng.integers(0, 8, (n, p)).astype(np.float64)
    X[rng.random((n, p)) < 0.1] = np.nan
    codes, R = rng.integers(-1, K, n).astype(np.int32), None
    if labels.startswith("soft"):
        codes, R = None, rng.dirichlet(np.ones(K), n)
    w = rng.integers(0, 3, n) * rng.random(n) if "weighted" in labels else None
    return {"X": X, "sizes": sizes, "codes": codes, "R": R, "w": w, "K": K}


def slots(sizes: np.ndarray, last: bool) -> tuple[np.ndarray, ...]:
    first = np.cumsum(sizes) - sizes
    other = first + sizes - 1 if last else np.full(len(sizes), sizes.sum())
    return tuple(each.astype(np.float64) for each in (first, sizes, other, np.zeros(len(sizes))))


def count(core: Any, held: Any, given: dict[str, Any], last: bool) -> tuple[np.ndarray, np.ndarray, Any]:
    n, counts = np.zeros(given["K"]), np.zeros((given["sizes"].sum(), given["K"]))
    labels = given["codes"], given["R"], given["w"]
    bad = core.count_cells(held, *labels, *slots(given["sizes"], last), n, counts)
    return n, counts, bad


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("last", [False, True], ids=["beyond: missing", "beyond: the last"])
def test_counts_equal_their_twin(core, labels, last):
    for size in SIZES:
        given = problem(*size, labels)
        n, counts, bad = count(core, matrix(core, given["X"]), given, last)
        R = twins.memberships(given["codes"], given["R"], given["w"], size[0], size[2])
        expected = twins.counts(given["X"], given["sizes"], R, last)
        np.testing.assert_allclose(counts, expected, rtol=1e-13, atol=1e-13, err_msg=str(size))
        np.testing.assert_allclose(n, R.sum(axis=0), rtol=1e-13, atol=1e-13)
        assert bad is None


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_every_layout_has_the_same_counts_and_scores(core, layout):
    for size in SIZES:
        given = problem(*size)
        given["X"] = np.nan_to_num(given["X"])  # whole numbers may be of any type
        table, b = np.ones((given["sizes"].sum() + 1, size[2])).cumsum(axis=0), np.zeros(size[2])
        found = []
        for held in (matrix(core, given["X"]), matrix(core, given["X"], layout)):
            Z = np.full((size[0], size[2]), np.nan)
            assert core.look_up(held, *slots(given["sizes"], True), table, b, Z, False) is None
            found.append((*count(core, held, given, True)[:2], Z))
        for ours, same in zip(*found, strict=True):
            np.testing.assert_array_equal(ours, same)


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 70])
def test_scores_equal_their_twin(core, K, last, add):
    for n, p in [(0, 2), (1, 1), (64, 3), (65, 11), (200, 2)]:
        given = problem(n, p, K)
        rng = np.random.default_rng(K)
        table = np.vstack([rng.standard_normal((given["sizes"].sum(), K)), np.zeros(K)])
        b, Z = rng.standard_normal(K), np.full((n, K), 0.25 if add else np.nan)
        bad = core.look_up(matrix(core, given["X"]), *slots(given["sizes"], last), table, b, Z, add)
        expected = b + twins.look_up(given["X"], given["sizes"], table, last)
        np.testing.assert_allclose(Z, expected + (0.25 if add else 0), rtol=1e-13, atol=1e-13)
        assert bad is None


@pytest.mark.parametrize("bad", [-1.0, 0.5, 1e9 + 0.5, np.inf, -np.inf, -0.25])
def test_the_first_cell_that_is_no_code_is_named(core, bad):
    given = problem(300, 5, 3)
    given["codes"] = np.maximum(given["codes"], 0)
    X = given["X"]
    X[70, 3], X[70, 4], X[200, 0] = bad, bad, bad
    table, b, Z = np.zeros((given["sizes"].sum() + 1, 3)), np.zeros(3), np.empty((300, 3))
    n, counts, where = count(core, matrix(core, X), given, True)
    assert where == (70, 3)
    assert not n.any()
    assert not counts.any()
    assert core.look_up(matrix(core, X), *slots(given["sizes"], True), table, b, Z, False) == (70, 3)
    assert core.no_code(matrix(core, X), np.zeros(5)) == (70, 3)


def test_rows_that_do_not_count_may_hold_anything(core):
    given = problem(300, 5, 3, "hard, weighed")
    expected = count(core, matrix(core, given["X"]), given, True)
    gone = (given["w"] == 0) | (given["codes"] < 0)
    given["X"][gone] = np.inf
    found = count(core, matrix(core, given["X"]), given, True)
    for ours, same in zip(expected, found, strict=True):
        np.testing.assert_array_equal(ours, same)


def test_codes_below_0_are_missing_where_they_may_be(core):
    X = np.array([[-1.0, 2.0], [0.0, 1.0], [2.0**52 + 1, 0.0]])
    assert core.no_code(matrix(core, X), np.array([-1.0, 0.0])) is None
    assert core.no_code(matrix(core, X), np.zeros(2)) == (0, 0)
    table = np.arange(12.0).reshape(6, 2)
    table[-1], Z = 0, np.empty((3, 2))
    first, size, other, _ = slots(np.array([2, 3]), False)
    core.look_up(matrix(core, X), first, size, other, np.array([-1.0, 0.0]), table, np.zeros(2), Z, False)
    np.testing.assert_array_equal(Z, [table[4], table[0] + table[3], table[2]])


@pytest.mark.parametrize("labels", LABELS)
def test_the_largest_code_is_that_of_rows_that_count(core, labels):
    for size in SIZES:
        given = problem(*size, labels)
        R = twins.memberships(given["codes"], given["R"], given["w"], size[0], size[2])
        some = given["X"][R.sum(axis=1) > 0]
        top = np.full(size[1], -1.0)
        core.largest(matrix(core, given["X"]), given["codes"], given["R"], given["w"], size[2], top)
        np.testing.assert_array_equal(top, np.fmax.reduce(some, axis=0, initial=-1.0))


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_a_bin_is_the_number_of_cuts_at_most_the_value(core, layout):
    rng = np.random.default_rng(0)
    cuts = [np.unique(rng.integers(-9, 9, m).astype(np.float64)) for m in (0, 1, 2, 3, 7, 8, 40)]
    X = rng.integers(-12, 12, (131, len(cuts))) / 2
    X[rng.random(X.shape) < 0.2] = np.nan
    start = np.cumsum([0, *map(len, cuts)]).astype(np.int64)
    out = np.empty(X.T.shape, dtype=np.int32)
    assert core.find_bins(matrix(core, X, layout), np.concatenate(cuts), start, out) is None
    for j, own in enumerate(cuts):
        found = np.searchsorted(own, X[:, j], side="right")
        np.testing.assert_array_equal(out[j], np.where(np.isnan(X[:, j]), -1, found))


def test_infinity_has_no_bin(core):
    X = np.zeros((100, 2))
    X[70, 1] = -np.inf
    out = np.empty((2, 100), dtype=np.int32)
    assert core.find_bins(matrix(core, X), np.zeros(2), np.array([0, 1, 2]), out) == (70, 1)
