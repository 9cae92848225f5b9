"""moments and higher_moments against their twins."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import LAYOUTS, matrix, name_of

SHAPES = ["diagonal", "full", "tied"]
LABELS = ["hard", "hard, weighted", "soft", "soft, weighted"]
ROWS = [0, 1, 63, 64, 65, 655, 4097]  # around the heights of tiles: 64 for scores, 655 or 4096 for sums
COLUMNS = [1, 7, 8, 9, 50, 65]  # around the widths of vectors
CLASSES = [1, 2, 6, 7, 13]  # around the numbers that fit in registers


@cache
def data(n: int, p: int, K: int, labels: str) -> tuple[np.ndarray, dict[str, Any], np.ndarray]:
    """X, who belongs where, and the same as memberships (n, K).

    Some rows belong nowhere, some weights are 0, the last of several classes is empty.
    """
    rng = np.random.default_rng([n, p, K])
    X = 1 + rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.7)
    X = X.astype(np.float32).astype(np.float64)
    hard, weighted = labels.startswith("hard"), labels.endswith("weighted")
    codes = rng.integers(-1, max(1, K - 1), n).astype(np.int32) if hard else None
    R = None if hard else rng.dirichlet(np.ones(K), n) * (rng.random((n, K)) < 0.8)
    w = rng.exponential(size=n) * (rng.random(n) < 0.9) if weighted else None
    return X, {"codes": codes, "R": R, "weights": w}, twins.memberships(codes, R, w, n, K)


@cache
def expected_moments(n: int, p: int, K: int, labels: str) -> tuple[np.ndarray, ...]:
    X, _, R = data(n, p, K, labels)
    return twins.moments(X, R)


def kept(S: np.ndarray, shape: str) -> np.ndarray:
    return {"full": S, "tied": S.sum(axis=0), "diagonal": np.einsum("kii->ki", S)}[shape]


def run(core: Any, X: Any, who: dict[str, Any], shape: str, p: int, K: int) -> tuple[Any, ...]:
    """The kernel's n, mean and S, and the cell that it refused."""
    size = {"diagonal": (K, p), "full": (K, p, p), "tied": (p, p)}[shape]
    n, mean, S = np.zeros(K), np.zeros((K, p)), np.zeros(size)
    bad = core.moments(X, **who, tied=shape == "tied", n=n, mean=mean, S=S)
    return n, mean, S, bad


def assert_close(ours: np.ndarray, theirs: np.ndarray, what: Any) -> None:
    room = 1e-12 * max(1.0, np.abs(theirs).max(initial=0))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=room, err_msg=str(what))


@pytest.mark.parametrize("p", COLUMNS)
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_moments_equal_their_twin(core, shape, labels, p):
    for i, n in enumerate(ROWS):
        K = CLASSES[(i + p) % len(CLASSES)]
        X, who, _ = data(n, p, K, labels)
        *found, bad = run(core, matrix(core, X), who, shape, p, K)
        weight, mean, S = expected_moments(n, p, K, labels)
        for ours, theirs in zip(found, (weight, mean, kept(S, shape)), strict=True):
            assert_close(ours, theirs, (n, K))
        assert bad is None


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_layout_has_the_same_moments(core, shape, layout):
    for (n, p, K), labels in product([(1, 1, 1), (65, 9, 2), (700, 50, 7), (4100, 3, 2)], LABELS):
        X, who, _ = data(n, p, K, labels)
        *found, bad = run(core, matrix(core, X, layout), who, shape, p, K)
        weight, mean, S = expected_moments(n, p, K, labels)
        for ours, theirs in zip(found, (weight, mean, kept(S, shape)), strict=True):
            assert_close(ours, theirs, (n, p, K, labels))
        assert bad is None


@pytest.mark.parametrize("shape", SHAPES)
def test_far_from_0_the_scatter_keeps_its_digits(core, shape):
    rng = np.random.default_rng(0)
    near, codes = rng.integers(-8, 9, (3000, 9)) / 8.0, rng.integers(0, 2, 3000).astype(np.int32)
    who = {"codes": codes, "R": None, "weights": None}
    _, _, S, _ = run(core, matrix(core, 2.0**30 + near), who, shape, 9, 2)  # exact: no digit is cut off
    _, _, expected = twins.moments(near, twins.memberships(codes, None, None, 3000, 2))
    np.testing.assert_allclose(S, kept(expected, shape), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("labels", LABELS)
def test_more_classes_than_rows(core, shape, labels):
    n, p, K = 200, 9, 300
    X, who, _ = data(n, p, K, labels)
    *found, _ = run(core, matrix(core, X), who, shape, p, K)
    weight, mean, S = expected_moments(n, p, K, labels)
    for ours, theirs in zip(found, (weight, mean, kept(S, shape)), strict=True):
        assert_close(ours, theirs, K)


@cache
def expected_higher(n: int, p: int, K: int, labels: str) -> tuple[np.ndarray, ...]:
    X, _, R = data(n, p, K, labels)
    mean = expected_moments(n, p, K, labels)[1]
    return mean, *twins.higher_moments(X, R, mean)


def check_higher(core: Any, n: int, p: int, K: int, labels: str, layout: Any = ("C", np.float64)) -> None:
    X, who, _ = data(n, p, K, labels)
    mean, *expected = expected_higher(n, p, K, labels)
    found = [np.full((K, p, p), np.nan) for _ in range(2)]  # written over, whatever was there
    core.higher_moments(matrix(core, X, layout), **who, mean=mean, T=found[0], Q=found[1])
    for name, ours, theirs in zip("TQ", found, expected, strict=True):
        assert_close(ours, theirs, (name, n, K))


@pytest.mark.parametrize("p", COLUMNS)
@pytest.mark.parametrize("labels", LABELS)
def test_higher_moments_equal_their_twin(core, labels, p):
    for i, n in enumerate(ROWS):
        check_higher(core, n, p, CLASSES[(i + p) % len(CLASSES)], labels)


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_every_layout_has_the_same_higher_moments(core, layout):
    for (n, p, K), labels in product([(65, 9, 2), (700, 50, 3)], LABELS):
        check_higher(core, n, p, K, labels, layout)


def test_labels_are_hard_or_soft_and_not_both(core):
    X, who, R = data(5, 2, 2, "hard")
    for wrong in ({**who, "R": R}, {"codes": None, "R": None, "weights": None}):
        with pytest.raises(ValueError, match="either codes or R"):
            run(core, matrix(core, X), wrong, "diagonal", 2, 2)
