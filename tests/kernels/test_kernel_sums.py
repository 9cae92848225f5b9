"""sums, additive and sparse_affine against their twins."""

from typing import Any

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import LAYOUTS, SPARSE, matrix, name_of
from kernels.test_kernel_moments import CLASSES, COLUMNS, LABELS, ROWS, data

ANY = (-np.inf, np.inf)
NONE = -np.inf  # no threshold
EVERY = LAYOUTS
ONLY_SPARSE = [(name, kind) for name, kind in LAYOUTS if name in SPARSE]


def gappy(n: int, p: int, K: int, labels: str) -> tuple[np.ndarray, dict[str, Any], np.ndarray]:
    X, who, R = data(n, p, K, labels)
    gone = np.random.default_rng(7).random(X.shape) < 0.1
    return np.where(gone, np.nan, (X - 1).astype(np.float32)), who, R


def run(core: Any, X: Any, who: Any, p: int, K: int, threshold: float, gaps: bool, **rule: Any) -> Any:
    n, total, gone = np.zeros(K), np.zeros((K, p)), np.zeros((K, p)) if gaps else None
    how = {"ends": ANY, "whole": False} | rule
    bad = core.sums(X, **who, **how, threshold=threshold, n=n, total=total, gone=gone)
    return bad, n, total, gone


def check(core: Any, size: tuple[int, int, int], labels: str, threshold: float, gaps: bool, layout: Any):
    X, who, R = gappy(*size, labels) if gaps else data(*size, labels)
    bad, *found = run(core, matrix(core, X, layout), who, *size[1:], threshold, gaps)
    assert bad is None
    for ours, theirs in zip(found, twins.sums(X, R, threshold), strict=True):
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, err_msg=str(size))


@pytest.mark.parametrize("p", COLUMNS)
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gappy"])
def test_sums_equal_their_twin(core, labels, p, gaps):
    for i, n in enumerate(ROWS):
        K = CLASSES[(i + p) % len(CLASSES)]
        for threshold in (NONE, 0.5):
            check(core, (n, p, K), labels, threshold, gaps, ("C", np.float64))


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gappy"])
def test_every_layout_has_the_same_sums(core, layout, gaps):
    for size in [(0, 3, 2), (1, 1, 1), (63, 9, 7), (655, 8, 2), (130, 50, 13)]:
        for labels in LABELS:
            for threshold in (NONE, 0.5):
                check(core, size, labels, threshold, gaps, layout)


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_counts_are_exact(core, layout):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (5000, 7)).astype(np.float64) * rng.choice([1.0, 2.0**20], (5000, 7))
    codes = rng.integers(0, 3, 5000).astype(np.int32)
    who = {"codes": codes, "R": None, "weights": None}
    _, n, total, _ = run(core, matrix(core, X, layout), who, 7, 3, NONE, gaps=False)
    np.testing.assert_array_equal(n, np.bincount(codes))
    np.testing.assert_array_equal(total, [X[codes == k].astype(np.int64).sum(axis=0) for k in range(3)])


REFUSED = {
    "infinite": (np.inf, {}),
    "minus infinite": (-np.inf, {}),
    "below": (-0.5, {"ends": (0.0, np.inf)}),
    "above": (1.5, {"ends": (0.0, 1.0)}),
    "fractional": (0.5, {"ends": (0.0, np.inf), "whole": True}),
    "missing": (np.nan, {}),
}


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
@pytest.mark.parametrize("why", list(REFUSED))
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
def test_the_first_bad_cell_is_named(core, layout, why, soft):
    value, rule = REFUSED[why]
    n, p, K = 700, 5, 3
    X = (np.arange(n)[:, None] % np.array([2, 3, 2, 3, 2]) == 0).astype(np.float64)
    codes = (np.arange(n) % K).astype(np.int32)
    codes[3], w = -1, np.ones(n)
    w[5] = 0
    X[[3, 5], 0] = value  # rows that do not count are not looked at
    good = X.copy()
    X[600, 1] = X[400, 3] = X[401, 0] = value
    R = twins.memberships(codes, None, None, n, K) if soft else None
    who = {"codes": None if soft else codes, "R": R, "weights": w}
    run_on = {"who": who, "p": p, "K": K, "threshold": NONE, "gaps": False, **rule}
    assert run(core, matrix(core, good, layout), **run_on)[0] is None
    assert run(core, matrix(core, X, layout), **run_on)[0] == (400, 3)


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_cells_outside_a_range_are_found_and_missing_ones_pass(core, layout):
    X = np.zeros((300, 4))
    X[7, 1], X[8, 2] = np.nan, 1.0
    ends = (0.0, 1.0)
    assert not core.any_outside(matrix(core, X, layout), ends, True)
    for value, where, whole in ((-1.0, ends, False), (2.0, ends, False), (0.5, (-np.inf, np.inf), True)):
        bad = X.copy()
        bad[299, 3] = value
        assert core.any_outside(matrix(core, bad, layout), where, whole)
        assert not core.any_outside(matrix(core, bad, layout), (-np.inf, np.inf), False)
    assert core.any_outside(matrix(core, X, layout), (0.5, 1.0), False)


# ---- scores ----------------------------------------------------------------------------------------
def score(core: Any, X: np.ndarray, layout: Any, K: int, threshold: float, add: bool) -> tuple[Any, Any]:
    """The kernel's scores and its twin's."""
    rng = np.random.default_rng([*X.shape, K])
    W, c = rng.standard_normal((2, K, X.shape[1]))
    b = rng.standard_normal(K)
    Z = np.full((len(X), K), 0.25 if add else np.nan)
    held = matrix(core, X, layout)
    if layout[0] in SPARSE:
        turned = np.zeros((X.shape[1], -(-K // core.lanes) * core.lanes))
        turned[:, :K] = W.T
        bad = core.sparse_affine(held, turned, b + c.sum(axis=1), b, c, threshold, Z, add)
    else:
        bad = core.additive(held, W, c, b, threshold, Z, add)
    assert bad is None
    return Z, twins.additive(X, W, c, b, threshold) + (0.25 if add else 0)


@pytest.mark.parametrize("layout", EVERY, ids=name_of)
@pytest.mark.parametrize("threshold", [NONE, 0.5])
def test_additive_scores_equal_their_twin(core, layout, threshold):
    for i, (n, p) in enumerate([(0, 3), (1, 1), (63, 9), (65, 8), (130, 50), (200, 7)]):
        for K in (CLASSES[i % 5], 1 + 8 * (i % 3), 70):
            for make in (data, gappy):
                ours, theirs = score(core, make(n, p, 2, "hard")[0], layout, K, threshold, add=i % 2 == 0)
                np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-11, err_msg=str((n, p, K)))


@pytest.mark.parametrize("layout", EVERY, ids=name_of)
def test_a_complete_row_scores_the_same_beside_gappy_ones(core, layout):
    X = gappy(130, 9, 2, "hard")[0]
    whole = ~np.isnan(X).any(axis=1)
    assert 0 < whole.sum() < len(X)
    filled = np.where(np.isnan(X), 0.0, X)
    (some, _), (every, _) = (score(core, rows, layout, 3, NONE, add=False) for rows in (X, filled))
    np.testing.assert_array_equal(some[whole], every[whole])


@pytest.mark.parametrize("layout", EVERY, ids=name_of)
def test_scores_refuse_infinite_cells(core, layout):
    X = gappy(130, 9, 2, "hard")[0]
    X[70, 4] = np.inf
    W, c, b, Z = np.ones((3, 9)), np.zeros((3, 9)), np.zeros(3), np.empty((130, 3))
    held = matrix(core, X, layout)
    for threshold in (NONE, 0.5):
        if layout[0] in SPARSE:
            turned = np.ones((9, -(-3 // core.lanes) * core.lanes))
            assert core.sparse_affine(held, turned, b, b, c, threshold, Z, False) == (70, 4)
        else:
            assert core.additive(held, W, c, b, threshold, Z, False) == (70, 4)


@pytest.mark.parametrize("layout", ONLY_SPARSE, ids=name_of)
def test_without_constants_a_missing_cell_is_refused(core, layout):
    X = np.zeros((70, 9))
    X[40, 2], X[66, 4] = 3.0, np.nan
    turned, Z = np.ones((9, core.lanes)), np.empty((70, 1))
    held, zero = matrix(core, X, layout), np.zeros(1)
    assert core.sparse_affine(held, turned, zero, None, None, NONE, Z, False) == (66, 4)


@pytest.mark.parametrize("layout", EVERY, ids=name_of)
def test_a_row_of_which_nothing_is_there_scores_b_to_the_last_bit(core, layout):
    X = np.zeros((3, 9))
    X[1] = np.nan
    W, c, b = np.random.default_rng(0).standard_normal((3, 3, 9))
    Z, b = np.empty((3, 3)), np.ascontiguousarray(b[:, 0])
    held = matrix(core, X, layout)
    if layout[0] in SPARSE:
        turned = np.zeros((9, -(-3 // core.lanes) * core.lanes))
        turned[:, :3] = W.T
        assert core.sparse_affine(held, turned, b + c.sum(axis=1), b, c, NONE, Z, False) is None
    else:
        assert core.additive(held, W, c, b, NONE, Z, False) is None
    np.testing.assert_array_equal(Z[1], b)
