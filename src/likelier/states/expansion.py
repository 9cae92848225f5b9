"""A loss about a point θ: its value, gradient and curvature, each a sum over rows.

Scores are Z = W (x - shift) + b + offset; θ (q, p + 1) has a row [w, b] for each of them.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import CSR, Chunk, refuse_cells
from likelier.losses import Loss
from likelier.states.moments import weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """What stays the same while θ moves. One loss for two classes: `positive` is the code of t = 1."""

    loss: Loss
    q: int
    shift: Floats  # (p,), 0 for CSR
    positive: int = 1

    @property
    def p(self) -> int:
        return len(self.shift)

    @property
    def m(self) -> int:
        return self.q * (self.p + 1)


@dataclass
class Expansion:
    """F, its gradient (q, p + 1), and, if asked for, its Hessian (m, m): sums over rows, times weights."""

    setting: Setting
    theta: Floats  # (q, p + 1)
    f: Floats  # (1,)
    g: Floats
    H: Floats | None

    @classmethod
    def start(cls, setting: Setting, theta: Floats, *, curved: bool) -> Self:
        m = setting.m
        H = np.zeros((m, m)) if curved else None
        return cls(setting, theta, np.zeros(1), np.zeros((setting.q, setting.p + 1)), H)

    @property
    def nbytes(self) -> int:
        return self.f.nbytes + self.g.nbytes + (0 if self.H is None else self.H.nbytes)

    def update(self, chunk: Chunk) -> None:
        X, Z, y, w = _rows(self.setting, self.theta, chunk)
        self.f += w @ self.setting.loss.value(Z, y)
        self.g += (w[:, None] * self.setting.loss.slope(Z, y)).T @ X
        if self.H is not None:
            B = self.setting.loss.bend(Z, y) * w[:, None, None]
            self.H += np.einsum("nkl,ni,nj->kilj", B, X, X, optimize=True).reshape(self.H.shape)

    def merge(self, other: Self) -> None:
        self.f += other.f
        self.g += other.g
        if self.H is not None:
            self.H += other.H


@dataclass
class Values:
    """F at several θ (T, q, p + 1): (T,)."""

    setting: Setting
    thetas: Floats
    f: Floats

    @classmethod
    def start(cls, setting: Setting, thetas: Floats) -> Self:
        return cls(setting, thetas, np.zeros(len(thetas)))

    @property
    def nbytes(self) -> int:
        return self.f.nbytes

    def update(self, chunk: Chunk) -> None:
        for i, theta in enumerate(self.thetas):
            _, Z, y, w = _rows(self.setting, theta, chunk)
            self.f[i] += w @ self.setting.loss.value(Z, y)

    def merge(self, other: Self) -> None:
        self.f += other.f


@dataclass
class Product:
    """The Hessian at θ times v (q, p + 1), without the Hessian."""

    setting: Setting
    theta: Floats
    v: Floats
    Hv: Floats

    @classmethod
    def start(cls, setting: Setting, theta: Floats, v: Floats) -> Self:
        return cls(setting, theta, v, np.zeros_like(v))

    @property
    def nbytes(self) -> int:
        return self.Hv.nbytes

    def update(self, chunk: Chunk) -> None:
        X, Z, y, w = _rows(self.setting, self.theta, chunk)
        B = self.setting.loss.bend(Z, y)
        self.Hv += (np.einsum("nkl,nl->nk", B, X @ self.v.T) * w[:, None]).T @ X

    def merge(self, other: Self) -> None:
        self.Hv += other.Hv


@dataclass
class Squares:
    """Σ w x_j² of each column, (p,), and Σ w last."""

    shift: Floats
    total: Floats  # (p + 1,)

    @classmethod
    def start(cls, shift: Floats) -> Self:
        return cls(shift, np.zeros(len(shift) + 1))

    @property
    def nbytes(self) -> int:
        return self.total.nbytes

    def update(self, chunk: Chunk) -> None:
        w = weights(chunk)
        w = np.ones(chunk.X.shape[0]) if w is None else w
        self.total[-1] += w.sum()
        if isinstance(chunk.X, CSR):
            starts = chunk.X.starts
            at = slice(starts[0], starts[-1])
            each = np.repeat(w, np.diff(starts)) * np.square(chunk.X.values[at], dtype=np.float64)
            self.total[:-1] += np.bincount(chunk.X.columns[at], each, len(self.shift))
        else:
            self.total[:-1] += w @ (chunk.X.to_array() - self.shift) ** 2

    def merge(self, other: Self) -> None:
        self.total += other.total


def _rows(setting: Setting, theta: Floats, chunk: Chunk) -> tuple[Floats, Floats, NDArray[Any], Floats]:
    """[x - shift, 1], scores, codes and weights of the rows that count."""
    assert chunk.y is not None
    known = chunk.y >= 0
    refuse_cells(chunk.X.to_array(), gaps=False, first=chunk.first)
    X = chunk.X.to_array()[known] - setting.shift
    X = np.column_stack([X, np.ones(len(X))])
    Z = X @ theta.T
    if chunk.offset is not None:
        Z += chunk.offset[known].reshape(len(Z), -1)
    y = chunk.y[known] if setting.q > 1 else (chunk.y[known] == setting.positive).astype(np.int32)
    w = np.ones(len(y)) if chunk.w is None else chunk.w[known]
    return X, Z, y, w
