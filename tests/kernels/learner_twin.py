"""The online learner in plain Python: the definitions, with numbers rounded where the table rounds them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

Row = Sequence[tuple[int, float]]


def f32(x: float) -> float:
    return float(np.float32(x))


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def push(loss: str, m: float) -> float:
    """Minus the slope of the loss at margin m."""
    return {
        "log_loss": sigmoid(-m),
        "hinge": float(m < 1),
        "squared_hinge": 2 * max(1 - m, 0),
        "perceptron": float(m <= 0),
        "modified_huber": 4.0 if m < -1 else 2 * max(1 - m, 0),
    }[loss]


def whole_move(loss: str, m: float, h: float, w: float) -> float:
    """Where dm/ds = push(m) gets to in time h, less m; the perceptron takes a row of weight w so often."""
    if loss == "perceptron":
        moved, one = 0.0, h / w
        while w > 0 and m + moved <= 0:
            moved += one * min(1, w)
            w -= min(1, w)
        return moved
    if loss == "log_loss":
        return brentq(lambda d: d + math.exp(m) * math.expm1(d) - h, 0, h + 1e-12, xtol=1e-13)
    if loss == "hinge":
        return min(h, max(1 - m, 0))
    line = min(h, (-1 - m) / 4) if loss == "modified_huber" and m < -1 else 0.0
    return 4 * line + max(1 - m - 4 * line, 0) * -math.expm1(-2 * (h - line))


def softmax(Z: Sequence[float]) -> np.ndarray:
    E = np.exp(np.asarray(Z) - max(Z))
    return E / E.sum()


class Twin:
    """Rows one by one; what has been learned is forgotten by scaling all of it down at every row."""

    def __init__(self, *, bits: int, optimizer: str, loss: str, rate: float, **others: Any) -> None:
        self.mask = (1 << bits) - 1
        self.optimizer, self.loss, self.rate = optimizer, loss, rate
        self.power, self.beta = others.get("power", 0.5), others.get("beta", 1.0)
        self.l1, self.l2 = others.get("l1", 0.0), others.get("l2", 0.0)
        self.fade = 0.5 ** (1 / others["half_life"]) if others.get("half_life") else 1.0
        self.normalised, self.invariant = others.get("normalised", True), others.get("invariant", True)
        self.K = self.steps = 0
        self.total = self.norms = self.past = 0.0
        self.slots: dict[int, dict[str, Any]] = {}
        self.intercept = self._new()

    def _new(self) -> dict[str, Any]:
        q = self.q
        return {"most": 0.0, "seen": 0.0, "mean": 0.0, "square": 0.0, "w": [0.0] * q, "G": [0.0] * q}

    @property
    def q(self) -> int:
        return self.K if self.K > 2 else 1

    def slot(self, key: int) -> dict[str, Any]:
        return self.slots.setdefault(key & self.mask, self._new())

    # ---- scores ----------------------------------------------------------------------------------------
    def weight(self, slot: dict[str, Any], k: int) -> float:
        if self.optimizer != "ftrl":
            return slot["w"][k]
        z, n = slot["w"][k], slot["G"][k]
        l1, l2 = (0.0, 0.0) if slot is self.intercept else (self.l1, self.l2)
        return (
            0.0 if abs(z) <= l1 else -(z - math.copysign(l1, z)) / ((self.beta + n**0.5) / self.rate + l2)
        )

    def reached(self, slot: dict[str, Any], x: float) -> float:
        if not self.normalised:
            return x
        x = max(-slot["most"], min(slot["most"], x))
        return x / slot["square"] ** 0.5 if self.optimizer == "ftrl" and x else x

    def scores(self, row: Row) -> list[float]:
        Z = []
        for k in range(self.q):
            parts = [self.reached(self.slot(key), x) * self.weight(self.slot(key), k) for key, x in row]
            Z.append(max(-50.0, min(50.0, self.weight(self.intercept, k) + sum(parts))))
        return Z

    def answer(self, row: Row) -> np.ndarray:
        Z = self.scores(row)
        if self.q > 1 and self.loss == "log_loss":
            return softmax(Z)
        each = [(max(-1, min(1, z)) + 1) / 2 if self.loss == "modified_huber" else sigmoid(z) for z in Z]
        if self.q == 1:
            return np.array([1 - each[0], each[0]])
        return np.array(each) / sum(each) if sum(each) else np.full(self.q, 1 / self.q)

    # ---- steps -----------------------------------------------------------------------------------------
    def grow(self, K: int) -> None:
        """Pairs of scores that answer as the one did; further ones are zeros."""
        if K > 2:
            for slot in [*self.slots.values(), self.intercept]:
                if self.q == 1:
                    w, G = slot["w"][0] * (0.5 if self.loss == "log_loss" else 1), slot["G"][0]
                    slot["w"], slot["G"] = [-w, w], [G, G]
                slot["w"] += [0.0] * (K - len(slot["w"]))
                slot["G"] += [0.0] * (K - len(slot["G"]))
        self.K = K

    def learn(self, row: Row, code: int, w: float) -> np.ndarray:
        P = self.answer(row) if self.K != 1 else np.array([1.0, 0.0])
        if code >= self.K:
            if self.K >= 1:
                P = np.append(P[: self.K] * self.K / (self.K + 1), 1 / (self.K + 1))
            self.grow(code + 1)
        Z = self.scores(row)
        signs = [1.0 if code == (1 if self.q == 1 else k) else -1.0 for k in range(self.q)]
        if self.q > 1 and self.loss == "log_loss":
            pushes = list((np.arange(self.q) == code) - softmax(Z))
        else:
            pushes = [t * push(self.loss, t * z) for t, z in zip(signs, Z, strict=True)]
        if self.optimizer == "ftrl":
            self._follow(row, w, pushes)
        else:
            self._descend(row, code, w, Z, signs, pushes)
        self.steps += 1
        self._forget([self.slot(key) for key, _ in row])
        return P

    def _forget(self, met: list[dict[str, Any]]) -> None:
        """Of the slots that were met, sums fade as of all others, and weights do not."""
        if self.fade == 1:
            return
        self.total, self.norms = self.total * self.fade, self.norms * self.fade
        for slot in [*self.slots.values(), self.intercept]:
            slot["seen"] *= self.fade
            slot["G"] = [G * self.fade for G in slot["G"]]
            if self.optimizer == "ftrl" or not any(slot is one for one in [*met, self.intercept]):
                slot["w"] = [w * self.fade for w in slot["w"]]

    def _count(self, slot: dict[str, Any], x: float, w: float) -> None:
        part = w / (slot["seen"] + w)
        slot["most"] = max(slot["most"], f32(abs(x)))
        slot["mean"] = f32(slot["mean"] + part * (x - slot["mean"]))
        slot["square"] = f32(slot["square"] + part * (x * x - slot["square"]))
        slot["seen"] = f32(slot["seen"] + w)

    def _descend(
        self, row: Row, code: int, w: float, Z: list[float], signs: list[float], pushes: list[float]
    ) -> None:
        self.past = self.steps if self.fade == 1 else self.total
        self.total += w
        found = []  # slot, u, 1 / s, centre
        for key, x in row:
            slot = self.slot(key)
            if not self.normalised:
                found.append((slot, x, 1.0, 0.0))
                continue
            if abs(x) > slot["most"] > 0:
                slot["w"] = [f32(v * slot["most"] / abs(x)) for v in slot["w"]]
            self._count(slot, x, w)
            centre = (slot["seen"] / (self.total + 1)) ** 2 * slot["mean"]
            over = slot["square"] ** -0.5
            found.append((slot, (x - centre) * over, over, centre))
        self.norms += w * (1 + sum(u * u for _, u, _, _ in found))
        base = self.rate * ((self.total / self.norms) ** 0.5 if self.normalised else 1)
        found.append((self.intercept, 1.0, 1.0, 0.0))
        for slot, u, _, _ in found:
            slot["G"] = [f32(G + w * g * g * u * u) for G, g in zip(slot["G"], pushes, strict=True)]
        rates = np.array([[self._rate(slot, k, base) for slot, *_ in found] for k in range(self.q)])
        lengths = rates @ np.array([u * u for _, u, _, _ in found])
        moves = self._moves(code, w, Z, signs, pushes, lengths)
        for k in range(self.q):
            back = 0.0
            for (slot, u, over, centre), r in zip(found, rates[k], strict=True):
                by = moves[k] / lengths[k] * r * u * over
                back += by * centre
                shrink = 1 + w * self.l2 * r * over**2 if slot is not self.intercept else 1
                slot["w"][k] = f32((slot["w"][k] + by - (back if slot is self.intercept else 0)) / shrink)

    def _rate(self, slot: dict[str, Any], k: int, base: float) -> float:
        lift = 4 if self.normalised and slot is self.intercept else 1
        if self.optimizer == "sgd":
            return lift * base * (1 + self.past) ** -self.power
        return lift * base * (self.beta + slot["G"][k]) ** -self.power

    def _moves(
        self,
        code: int,
        w: float,
        Z: list[float],
        signs: list[float],
        pushes: list[float],
        lengths: np.ndarray,
    ) -> list[float]:
        h = w * lengths
        if not self.invariant:
            return [float(a * b) for a, b in zip(h, pushes, strict=True)]
        if self.q > 1 and self.loss == "log_loss":
            y = np.arange(self.q) == code
            path = solve_ivp(lambda _, z: h * (y - softmax(z)), (0, 1), Z, rtol=1e-10, atol=1e-12)
            return list(path.y[:, -1] - Z)
        return [t * whole_move(self.loss, t * z, float(a), w) for t, z, a in zip(signs, Z, h, strict=True)]

    def _follow(self, row: Row, w: float, pushes: list[float]) -> None:
        self.total += w
        for key, x in [*row, (None, 1.0)]:
            slot = self.intercept if key is None else self.slot(key)
            if key is not None and self.normalised:
                self._count(slot, x, w)
            x = 1.0 if key is None else self.reached(slot, x)
            for k, p in enumerate(pushes):
                g, n = -w * p * x, slot["G"][k]
                weight = self.weight(slot, k)
                slot["G"][k] = f32(n + g * g)
                back = ((n + g * g) ** 0.5 - n**0.5) / self.rate * weight
                slot["w"][k] = f32(slot["w"][k] + g - back)
