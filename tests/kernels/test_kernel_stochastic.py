"""Epochs of steps beside their twin: the plain algorithm, all weights touched at every turn."""

from typing import Any

import numpy as np
import pytest

from kernels.layouts import LAYOUTS, SPARSE, matrix, name_of

ROW_LAYOUTS = [layout for layout in LAYOUTS if layout[0] in ("C", "wide", *SPARSE)]
LOSSES = [
    *("logistic", "softmax", "hinge", "squared_hinge", "perceptron", "squared"),
    *("modified_huber", "huber", "insensitive", "squared_insensitive"),
]
RATES = ["constant", "optimal", "invscaling", "adaptive", "pa1", "pa2", "adagrad"]
PLAIN = {
    "t": 1.0, "positive": 1, "K": 1, "loss": 0, "epsilon": 0.1, "rate": 0, "eta0": 0.05, "power": 0.5,
    "alpha": 0.01, "t0": 2000.0, "strength": 1.0, "l2": 0.0, "l1": 0.0, "average": 0, "intercept": True,
    "decay": 1.0, "shuffle": False, "seed": 7, "tol": -np.inf, "patience": 5, "still": False,
    "diary": False, "in_order": False, "refusal": 1.0,
}  # fmt: skip


# ---- the twin --------------------------------------------------------------------------------------
def loss_at(name: str, m: float, e: float) -> tuple[float, float]:
    """The value of a loss at a margin, and its slope."""
    r = abs(1 - m)
    side = np.sign(m - 1)
    return {
        "logistic": (np.logaddexp(0, -m), -1 / (1 + np.exp(m))),
        "hinge": (max(0.0, 1 - m), -1.0 if m <= 1 else 0.0),
        "squared_hinge": (max(0.0, 1 - m) ** 2, -2 * max(0.0, 1 - m)),
        "perceptron": (max(0.0, -m), -1.0 if m <= 0 else 0.0),
        "squared": ((1 - m) ** 2 / 2, m - 1),
        "modified_huber": (-4 * m if m < -1 else max(0, 1 - m) ** 2, -4 if m < -1 else -2 * max(0, 1 - m)),
        "huber": (r**2 / 2 if r <= e else e * (r - e / 2), side * min(r, e)),
        "insensitive": (max(0.0, r - e), side * (r > e)),
        "squared_insensitive": (max(0.0, r - e) ** 2, 2 * side * max(0.0, r - e)),
    }[name]


def shuffled(order: list[int], seed: int) -> list[int]:
    """Fisher and Yates from the front, by a xorshift of 32 bits."""
    order = list(order)
    for i in range(len(order) - 1):
        seed ^= seed << 13 & 0xFFFFFFFF
        seed ^= seed >> 17
        seed ^= seed << 5 & 0xFFFFFFFF
        j = i + (seed & 0x7FFFFFFF) % (len(order) - i)
        order[i], order[j] = order[j], order[i]
    return order


class Twin:
    def __init__(
        self, X: np.ndarray, y: np.ndarray, w: np.ndarray, by_class: list[float], how: Any
    ) -> None:
        self.X, self.y, self.w, self.by_class, self.how = X, y, w, by_class, how
        self.W = np.zeros((how["K"], X.shape[1] + 1))
        self.mean, self.squares, self.cut = (np.zeros_like(self.W) for _ in range(3))
        self.t, self.owed, self.order = how["t"], 0.0, list(range(len(y)))
        self.losses, self.mistakes, self.diary = [], [], []
        self.dense = True  # cells of 0 are met, too

    def epoch(self) -> None:
        if self.how["shuffle"]:
            self.order = shuffled(self.order, self.how["seed"])
        found = [self.turn(i) for i in self.order]
        self.losses.append(np.mean([loss for loss, _ in found]))
        self.mistakes.append(sum(mistaken for _, mistaken in found))

    def slopes(self, i: int) -> tuple[np.ndarray, float, bool]:
        """By the scores, (q,); the loss; whether the row is on the wrong side."""
        Z = self.W[:, :-1] @ self.X[i] + self.W[:, -1]
        name = LOSSES[self.how["loss"]]
        if name == "softmax":
            P = np.exp(Z - np.logaddexp.reduce(Z))
            own = np.arange(len(Z)) == self.y[i]
            return P - own, -np.log(P[self.y[i]]), Z.argmax() != self.y[i]
        t = 1.0 if self.y[i] == self.how["positive"] else -1.0
        value, slope = loss_at(name, t * Z[0], self.how["epsilon"])
        return np.array([t * slope]), value, t * Z[0] <= 0

    def turn(self, i: int) -> tuple[float, bool]:
        how, x = self.how, self.X[i]
        D, loss, mistaken = self.slopes(i)
        label = self.y[i] if how["K"] > 1 else int(self.y[i] == how["positive"])
        D = D * self.w[i] * self.by_class[label]
        rate, square = RATES[how["rate"]], float(x @ x)
        l2, l1 = how["strength"] * how["l2"], how["strength"] * how["l1"]
        if rate == "adagrad":
            self.adapt(D, x)
        else:
            eta = {
                "optimal": 1 / (how["alpha"] * (how["t0"] + self.t - 1)),
                "invscaling": how["eta0"] / self.t ** how["power"],
            }.get(rate, how["eta0"])
            pace = {
                "pa1": min(how["eta0"], loss / square) if square else 0.0,
                "pa2": loss / (square + 0.5 / how["eta0"]),
            }.get(rate, eta)
            self.W[:, :-1] *= max(0.0, 1 - eta * l2)
            self.W -= pace * D[:, None] * np.append(x, how["decay"] * how["intercept"])
            if l1:
                self.owed += eta * l1
                self.clip((x != 0) | self.dense)
        if D.any():
            self.diary.append((int(self.t), i))
        if 0 < how["average"] <= self.t:
            self.mean += (self.W - self.mean) / (self.t - how["average"] + 1)
        self.t += 1
        return loss, bool(mistaken)

    def adapt(self, D: np.ndarray, x: np.ndarray) -> None:
        """Penalties at the pace of each weight: l2 by proximal steps, l1 cumulative."""
        how = self.how
        with np.errstate(divide="ignore", invalid="ignore"):
            G = D[:, None] * np.append(x, 1.0 * how["intercept"])
            self.squares += G**2
            self.W -= np.where(G != 0, how["eta0"] * G / np.sqrt(self.squares), 0.0)
            pace = np.where(self.squares > 0, how["eta0"] / np.sqrt(self.squares), 0.0)[:, :-1]
        self.W[:, :-1] /= 1 + pace * how["strength"] * how["l2"]
        self.owed = self.owed + pace * how["strength"] * how["l1"]
        self.clip(self.squares[:, :-1] > 0)

    def clip(self, met: np.ndarray) -> None:
        W, cut = self.W[:, :-1], self.cut[:, :-1]
        up = np.where(W > 0, np.maximum(0, W - (self.owed + cut)), W)
        down = np.where(W < 0, np.minimum(0, W + (self.owed - cut)), up)
        cut += np.where(met, down - W, 0)
        W[:] = np.where(met, down, W)


def problem(n: int = 40, p: int = 5, K: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, p)) < 0.7, rng.standard_normal((n, p)), 0.0).round(2)
    y = rng.integers(0, K, n).astype(np.int32)
    X[:, 0] += y
    return X, y


def both(
    core: Any, X: np.ndarray, y: np.ndarray, layout: Any = ("C", np.float64), epochs: int = 2, **some: Any
):
    """The kernel after some epochs, with its weights, and the twin."""
    how = PLAIN | some
    how |= {"loss": LOSSES.index(some["loss"]), "rate": RATES.index(some.get("rate", "constant"))}
    w = how.pop("weights", np.ones(len(y)))
    by_class = how.pop("by_class", [1.0] * max(2, how["K"]))
    shape = (how["K"], X.shape[1] + 1)
    mean = np.zeros(shape) if how["average"] else None
    squares = np.zeros(shape) if RATES[how["rate"]] == "adagrad" else None
    X = X.astype(layout[1]).astype(np.float64)
    native = core.Stochastic(
        matrix(core, X, layout), y, w, None, np.array(by_class), np.zeros(shape), mean, squares, **how
    )
    native.run(epochs)
    twin = Twin(X, y, w, by_class, how)
    twin.dense = layout[0] not in SPARSE
    for _ in range(epochs):
        twin.epoch()
    return native, read(native.theta, shape), twin


def read(what: Any, shape: tuple[int, int]) -> np.ndarray:
    out = np.empty(shape)
    what(out)
    return out


def check(native: Any, W: np.ndarray, twin: Twin) -> None:
    np.testing.assert_allclose(W, twin.W, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(native.losses, twin.losses, rtol=1e-9, atol=1e-12)
    assert native.mistakes.tolist() == twin.mistakes
    assert native.t == twin.t


# ---- tests -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", ROW_LAYOUTS, ids=name_of)
@pytest.mark.parametrize("p", [1, 5, 8, 20])
def test_steps_equal_their_twin_wherever_X_lies(core, layout, p):
    X, y = problem(p=p)
    for in_order in (False, True):
        check(*both(core, X, y, layout, loss="logistic", l2=0.1, shuffle=True, in_order=in_order))


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "softmax"])
@pytest.mark.parametrize("in_order", [False, True])
def test_steps_equal_their_twin_for_every_loss_and_rate(core, loss, in_order):
    X, y = problem(p=11)
    rng = np.random.default_rng(3)
    how = {"weights": rng.choice([0.0, 0.5, 2.0], len(y)), "by_class": [0.7, 1.5], "in_order": in_order}
    for rate in RATES:
        if rate not in ("pa1", "pa2") or loss == "hinge":
            check(*both(core, X, y, loss=loss, rate=rate, **how))
            check(*both(core, X, y, loss=loss, rate=rate, l2=0.7, strength=0.1, decay=0.01, **how))
    check(*both(core, X, y, loss=loss, l1=0.02, l2=0.1, **how))
    check(*both(core, X, y, loss=loss, intercept=False, **how))


@pytest.mark.parametrize("rate", ["constant", "optimal", "adagrad"])
@pytest.mark.parametrize("layout", ROW_LAYOUTS, ids=name_of)
def test_softmax_equals_its_twin(core, rate, layout):
    for K in (3, 9):
        X, y = problem(p=6, K=K)
        some = {"loss": "softmax", "K": K, "rate": rate, "by_class": list(np.linspace(0.5, 2, K))}
        check(*both(core, X, y, layout, l2=0.05, **some))
        check(*both(core, X, y, layout, l1=0.01, shuffle=True, **some))


@pytest.mark.parametrize("rate", ["constant", "adagrad"])
@pytest.mark.parametrize("average", [1, 30, 10_000])
def test_the_mean_is_that_of_all_weights(core, average, rate):
    for K, loss in ((1, "logistic"), (4, "softmax"), (1, "perceptron")):
        X, y = problem(K=max(K, 2))
        for l2 in (0.0, 0.3) if rate == "constant" else (0.0,):
            native, W, twin = both(
                core, X, y, K=K, loss=loss, average=average, rate=rate, l2=l2, shuffle=True
            )
            check(native, W, twin)
            np.testing.assert_allclose(read(native.mean, W.shape), twin.mean, rtol=1e-9, atol=1e-11)


def test_an_l2_penalty_that_takes_all_leaves_all(core):
    X, y = problem()
    for average in (0, 1):
        native, W, twin = both(core, X, y, loss="hinge", l2=30.0, eta0=0.1, average=average)
        check(native, W, twin)
        if average:
            np.testing.assert_allclose(read(native.mean, W.shape), twin.mean, rtol=1e-9, atol=1e-11)


def test_the_diary_has_every_step_with_its_turn(core):
    X, y = problem(60)
    native, _, twin = both(core, X, y, loss="perceptron", diary=True, shuffle=True, epochs=3, t=5.0)
    assert list(zip(native.diary_turns.tolist(), native.diary_rows.tolist(), strict=True)) == twin.diary
    assert native.steps.sum() == len(twin.diary) == native.mistakes.sum()
    silent, _, _ = both(core, X, y, loss="perceptron", epochs=3)
    assert len(silent.diary_turns) == 0
    assert silent.steps.sum() > 0


def test_an_epoch_without_a_step_is_the_last_if_asked(core):
    X = np.array([[1.0], [2.0], [-1.0]])
    y = np.array([1, 1, 0], dtype=np.int32)
    still, _, _ = both(core, X, y, loss="perceptron", still=True, epochs=50)
    assert still.ended
    assert still.steps[-1] == 0
    assert (still.steps[:-1] > 0).all()
    assert len(both(core, X, y, loss="perceptron", epochs=50)[0].steps) == 50


def test_runs_in_pieces_are_one_run(core):
    X, y = problem()
    how = {"loss": "logistic", "l2": 0.2, "average": 3, "shuffle": True}
    whole, W, _ = both(core, X, y, epochs=6, **how)
    pieces, _, _ = both(core, X, y, epochs=2, **how)
    pieces.run(1)
    pieces.run(3)
    np.testing.assert_array_equal(read(pieces.theta, W.shape), W)
    np.testing.assert_array_equal(read(pieces.mean, W.shape), read(whole.mean, W.shape))
    np.testing.assert_array_equal(pieces.losses, whole.losses)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", [("C", np.float64), ("CSR, 32 bit", np.float64)], ids=name_of)
def test_a_row_that_has_no_score_is_named(core, bad, layout):
    for loss, K, in_order in (("hinge", 1, True), ("perceptron", 1, False), ("softmax", 3, False)):
        X, y = problem(p=9, K=max(K, 2))
        X[17, 4] = bad
        how = PLAIN | {"loss": LOSSES.index(loss), "K": K, "in_order": in_order}
        zeros = np.zeros((K, 10))
        native = core.Stochastic(
            matrix(core, X, layout), y, None, None, np.ones(max(K, 2)), zeros, None, None, **how
        )
        native.run(3)
        assert native.bad == 17
        assert len(native.losses) == 0


def test_rows_of_no_class_have_no_turn(core):
    for loss, K in (("hinge", 1), ("softmax", 3)):
        X, y = problem(50, K=max(K, 2))
        none = np.arange(50) % 7 == 3
        how = {"loss": LOSSES.index(loss), "K": K, "shuffle": True, "average": 1}
        zeros = np.zeros((K, 6))
        native = core.Stochastic(
            matrix(core, X, ("C", np.float64)), np.where(none, -1, y).astype(np.int32), None, None,
            np.ones(max(K, 2)), zeros, zeros, None, **PLAIN | how,
        )  # fmt: skip
        native.run(2)
        _, W, twin = both(core, X[~none], y[~none], **how | {"loss": loss})
        check(native, read(native.theta, W.shape), twin)
    with pytest.raises(ValueError, match="no row is of a class"):
        both(core, X, np.full(50, -1, dtype=np.int32), loss="hinge")


def test_held_rows_are_judged_and_not_learned_from(core):
    X, y = problem(50)
    held = (np.arange(50) % 5 == 0).astype(np.uint8)
    w = np.random.default_rng(1).uniform(0.5, 2, 50)
    how = PLAIN | {"loss": LOSSES.index("hinge"), "tol": 1e-3, "patience": 2}
    native = core.Stochastic(
        matrix(core, X, ("C", np.float64)), y, w, held, np.ones(2), np.zeros((1, 6)), None, None, **how
    )
    native.run(1)
    kept = held == 0
    _, W, _ = both(core, X[kept], y[kept], weights=w[kept], loss="hinge", epochs=1)
    np.testing.assert_allclose(read(native.theta, (1, 6)), W, rtol=1e-12)
    right = (X @ W[0, :-1] + W[0, -1] > 0) == (y == 1)
    np.testing.assert_allclose(native.judged, [np.average(right[~kept], weights=w[~kept])])
    native.run(1000)
    assert native.ended
