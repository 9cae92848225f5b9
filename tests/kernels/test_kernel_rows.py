"""The row loops: dual ascent by what its steps must achieve, gradient descent against its twin."""

from typing import Any

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import DENSE, LAYOUTS, SPARSE, matrix, name_of

ROW_LAYOUTS = [layout for layout in LAYOUTS if layout[0] in (*DENSE, *SPARSE)]
MARGINS = {"logistic": 0, "hinge": 2, "squared hinge": 3, "squared": 5}


def rows(n: int, p: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, many of them 0, which every layout holds exactly; row 0 is empty."""
    rng = np.random.default_rng([n, p, K, seed])
    X = np.round(2 * rng.standard_normal((n, p))) * (rng.random((n, p)) < 0.7)
    X[:1] = 0
    return X, rng.integers(K, size=n).astype(np.int32)


def shift_for(layout: tuple[str, Any], p: int) -> np.ndarray:
    return np.zeros(p) if layout[0] in SPARSE else np.linspace(-1, 1, p)


def width(core: Any, q: int) -> int:
    return 1 if q == 1 else -(-q // core.lanes) * core.lanes


class Ascent:
    """A problem, its dual rows, and where they start."""

    def __init__(self, core: Any, X: np.ndarray, y: np.ndarray, loss: int, K: int, **how: Any) -> None:
        n, p = X.shape
        layout = how.get("layout", ("C", np.float64))
        self.shift = shift_for(layout, p)
        self.X, self.y, self.loss, self.K = X - self.shift, y, loss, K
        self.w, self.offset = how.get("w"), how.get("offset")
        self.inverse, self.tau = how.get("inverse", 0.5), how.get("tau", 0.25)
        squares = (self.X**2).sum(axis=1)
        self.native = core.DualRows(
            matrix(core, X, layout), self.shift, y, self.w, self.offset, squares, loss, K, self.inverse,
            self.tau,
        )  # fmt: skip
        self.W, self.a = np.zeros((p + 1, width(core, K))), np.zeros((n, width(core, K)))
        if K > 1:
            self.a[np.arange(n), y] = 1

    def run(self, order: Any, move: bool = True) -> tuple[float, float]:
        return self.native.epoch(np.asarray(order, dtype=np.int64), self.W, self.a, move)

    @property
    def scores(self) -> np.ndarray:
        Z = self.X @ self.W[:-1, : self.K] + self.W[-1, : self.K]
        return Z if self.offset is None else Z + self.offset.reshape(Z.shape)

    @property
    def weights(self) -> np.ndarray:
        return np.ones(len(self.y)) if self.w is None else self.w

    def pulls(self) -> np.ndarray:
        """What the dual variables add to the weights for a row of 1: (n, K)."""
        if self.K == 1:
            return np.where(self.y == 1, 1.0, -1.0)[:, None] * self.a
        return self.weights[:, None] * (np.eye(self.K)[self.y] - self.a[:, : self.K])


def cases(core: Any) -> Any:
    for loss in MARGINS.values():
        yield loss, 1, *rows(23, 5, 2)
    for K in (2, 3, 8, 9, 30, 41):
        yield 1, K, *rows(40, 5, K)


@pytest.mark.parametrize("layout", ROW_LAYOUTS, ids=name_of)
def test_an_epoch_keeps_weights_and_dual_variables_together(core, layout):
    """λ W = Σ a x and b = τ Σ a, wherever X lies; rows of weight 0 move nothing."""
    for loss, K, X, y in cases(core):
        rng = np.random.default_rng(loss)
        w = rng.choice([0.0, 0.5, 2.0], len(y))
        offset = rng.standard_normal((len(y), K))
        ascent = Ascent(core, X, y, loss, K, w=w, offset=offset, layout=layout)
        before = ascent.a.copy()
        for _ in range(3):
            ascent.run(rng.permutation(len(y)))
        pulls = ascent.pulls()
        expected = np.vstack([ascent.inverse * ascent.X.T @ pulls, ascent.tau * pulls.sum(axis=0)])
        np.testing.assert_allclose(ascent.W[:, :K], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(ascent.W[:, K:], 0)
        np.testing.assert_array_equal(ascent.a[w == 0], before[w == 0])
        assert (ascent.a != before).any()


def test_sums_equal_their_twin(core):
    for loss, K, X, y in cases(core):
        rng = np.random.default_rng(loss)
        w, offset = rng.choice([0.0, 0.5, 2.0], len(y)), rng.standard_normal((len(y), K))
        ascent = Ascent(core, X, y, loss, K, w=w, offset=offset)
        ascent.run(rng.permutation(len(y)))
        W, a = ascent.W.copy(), ascent.a.copy()
        found = ascent.run(np.arange(len(y)), move=False)
        np.testing.assert_array_equal(ascent.W, W)
        np.testing.assert_array_equal(ascent.a, a)
        expected = twins.dual_sums(ascent.scores, y, w, a[:, :K], loss)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_the_gap_closes(core):
    """At the optimum the gap is 0, and the dual variables are the slopes of the losses."""
    for loss, K, X, y in cases(core):
        ascent = Ascent(core, X, y, loss, K, w=np.linspace(0.5, 2, len(y)))
        rng = np.random.default_rng(loss)
        for _ in range(3000):
            ascent.run(rng.permutation(len(y)))
        total, gap = ascent.run(np.arange(len(y)), move=False)
        assert 0 <= gap + 1e-12 <= 1e-9 * total, (loss, K, gap)
        if loss != 2:
            slopes = twins.LOSSES[loss](ascent.scores, y, 1)[1] * ascent.weights[:, None]
            np.testing.assert_allclose(ascent.pulls(), -slopes, atol=1e-5)


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e4])
def test_a_step_closes_the_gap_of_its_row(core, size, weight):
    """Whatever the curvature Q = ‖x‖²/λ of a row is, and wherever its variables are.

    But for what a margin that is 1e-3 off may leave.
    """
    for loss, K, X, y in cases(core):
        offset = 20 * np.random.default_rng(loss).standard_normal((len(y), K))
        w = np.full(len(y), weight)
        ascent = Ascent(core, X, y, loss, K, w=w, offset=offset, inverse=size, tau=size / 4)
        for turn in range(2):
            for i in range(len(y)):
                ascent.W[:] = 0 if turn == 0 else ascent.W
                _, before = ascent.run([i])
                _, after = ascent.run([i], move=False)
                assert after <= max(0.3 * before, 1e-6 * weight), (loss, K, i, before, after)
                assert (ascent.a[i] >= 0).all() or loss == 5


def test_a_start_says_what_the_weights_say(core):
    for loss, K, X, y in cases(core):
        rng = np.random.default_rng(K)
        w, offset = rng.choice([0.0, 0.5, 2.0], len(y)), rng.standard_normal((len(y), K))
        ascent = Ascent(core, X, y, loss, K, w=w, offset=offset)
        start = np.zeros_like(ascent.W)
        start[:, :K] = rng.standard_normal((X.shape[1] + 1, K))
        ascent.native.begin(np.arange(len(y)), start, ascent.W, ascent.a)
        Z = ascent.X @ start[:-1, :K] + start[-1, :K] + offset
        pulls = -twins.LOSSES[loss](Z, y, 1)[1] * w[:, None]
        np.testing.assert_allclose(ascent.pulls()[w > 0], pulls[w > 0], rtol=1e-12, atol=1e-13)
        expected = np.vstack([ascent.inverse * ascent.X.T @ pulls, ascent.tau * pulls.sum(axis=0)])
        np.testing.assert_allclose(ascent.W[:, :K], expected, rtol=1e-11, atol=1e-12)


# ---- gradient descent ----------------------------------------------------------------------------
def descend(core: Any, X: np.ndarray, y: np.ndarray, loss: int, K: int, **how: Any) -> tuple[Any, ...]:
    """Weights, their mean, loss and number of steps: the kernel's, and those of the twin."""
    n, p = X.shape
    layout = how.pop("layout", ("C", np.float64))
    shift = shift_for(layout, p)
    rng = np.random.default_rng(p)
    W = np.zeros((p + 1, width(core, K)))
    W[:, :K] = 0.1 * rng.standard_normal((p + 1, K))
    mean = np.zeros_like(W)
    task = {
        "weights": None, "offset": None, "order": rng.permutation(n), "rate": 0.3, "power": 0.5,
        "horizon": 7.0, "bound": 0.0, "intercept": True, "l2": np.zeros(p), "l1": np.zeros(p),
        "every": 1, "taken": 3, **how,
    }  # fmt: skip
    squares = ((X - shift) ** 2).sum(axis=1)
    expected = twins.sgd(X - shift, y, squares, loss, W=W[:, :K], **task)
    found = core.sgd_epoch(
        matrix(core, X, layout), shift, y, squares=squares, loss=loss, K=K, W=W, mean=mean, **task
    )
    return (W, mean, *found), expected


def check(found: tuple[Any, ...], expected: tuple[Any, ...], K: int) -> None:
    for array, twin in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(array[:, :K], twin, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(array[:, K:], 0)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-10)
    assert found[3] == expected[3]


@pytest.mark.parametrize("layout", ROW_LAYOUTS, ids=name_of)
def test_descent_equals_its_twin_wherever_X_lies(core, layout):
    for loss, K in ((0, 1), (1, 3), (1, 30)):
        X, y = rows(20, 5, max(K, 2))
        check(*descend(core, X, y, loss, K, layout=layout), K)


@pytest.mark.parametrize("every", [1, 4, 100])
def test_descent_equals_its_twin_for_every_loss(core, every):
    for loss, K in ((0, 1), (1, 2), (1, 9), (2, 1), (3, 1), (4, 1), (5, 1)):
        X, y = rows(23, 6, max(K, 2))
        rng = np.random.default_rng(loss)
        how = {
            "weights": rng.choice([0.0, 0.5, 3.0], len(y)),
            "offset": rng.standard_normal((len(y), K)),
            "l2": rng.choice([0.0, 0.1, 2.0], 6),
            "l1": rng.choice([0.0, 0.01, 0.2], 6),
            "bound": {0: 0.25, 1: 0.5, 3: 2.0, 5: 1.0}.get(loss, 0.0),
            "every": every,
        }
        check(*descend(core, X, y, loss, K, **how), K)
        check(*descend(core, X, y, loss, K, intercept=False, **how), K)


# ---- rows ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", ROW_LAYOUTS, ids=name_of)
def test_squares_equal_their_twin(core, layout):
    X, _ = rows(30, 7, 2)
    shift, out = shift_for(layout, 7), np.full(30, np.nan)
    core.square_norms(matrix(core, X, layout), shift, out)
    np.testing.assert_allclose(out, ((X - shift) ** 2).sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 1024, 1025, 5000])
def test_rows_are_dealt_in_an_order_of_the_seed(core, n):
    first, again, other = (np.full(n, -1) for _ in range(3))
    core.deal(first, 5)
    core.deal(again, 5)
    core.deal(other, 6)
    np.testing.assert_array_equal(np.sort(first), np.arange(n))
    np.testing.assert_array_equal(first, again)
    if n > 30:
        assert (first != other).any()
        assert (first != np.arange(n)).any()


def test_rows_far_apart_come_near_each_other(core):
    """Labels in order must not come in order: halves of the rows are mixed in every thousand steps."""
    order = np.empty(20_000, dtype=np.int64)
    core.deal(order, 1)
    share = (order < 10_000).reshape(20, 1000).mean(axis=1)
    assert share.min() > 0.2
    assert share.max() < 0.8


def test_columns_that_do_not_adjoin_are_refused(core):
    X = core.Matrix.columns((np.ones(3), np.ones(3, dtype=np.int32)))
    with pytest.raises(ValueError, match="rows that adjoin"):
        core.square_norms(X, np.zeros(2), np.zeros(3))
