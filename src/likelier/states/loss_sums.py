"""A loss at given weights: its value, gradient and Hessian as sums over rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likelier import _core
from likelier.array_types import Floats, row_weights
from likelier.data import CSR, Chunk
from likelier.losses import Loss, squared
from likelier.states.moments import refuse, weights

# A loss about a point θ: its value, gradient and curvature, each a sum over rows.
#
# Scores are Z = W (x - shift) + b + offset; θ (q, p + 1) has a row [w, b] for each of them.

LossInputs = tuple[
    _core.Matrix, NDArray[Any], Floats | None, Floats | None, int, int, Floats, Floats, Floats
]  # X, codes, weights, offset, loss, positive, W, b, shift


@dataclass(frozen=True)
class Setting:
    """What stays the same while θ moves. One loss for two classes: `positive` is the code of t = 1."""

    loss: Loss
    q: int
    shift: Floats  # (p,), 0 for CSR
    positive: int = 1
    unit: Floats | None = (
        None  # (p,), by which the columns were divided, where they are very large or small
    )

    @cached_property
    def p(self) -> int:
        return len(self.shift)

    @cached_property
    def m(self) -> int:
        return self.q * (self.p + 1)

    def rows(self, chunk: Chunk, theta: Floats) -> LossInputs:
        """What all passes tell the kernels: rows, loss and θ (…, q, p + 1)."""
        assert chunk.y is not None
        offset = None if chunk.offset is None else np.ascontiguousarray(chunk.offset).reshape(-1, self.q)
        w, (W, b) = None if chunk.w is None else weights(chunk), split(theta)
        return chunk.X.native(), chunk.y, w, offset, self.loss.number, self.positive, W, b, self.shift


def split(theta: Floats) -> tuple[Floats, Floats]:
    """W (…, q, p) and b (…, q)."""
    return np.ascontiguousarray(theta[..., :-1]), np.ascontiguousarray(theta[..., -1])


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
        bad = _core.expand(*self.setting.rows(chunk, self.theta), self.f, self.g, self.H)
        if bad is not None:
            refuse(chunk, bad)

    def merge(self, other: Self) -> None:
        self.f += other.f
        self.g += other.g
        if self.H is not None and other.H is not None:
            self.H += other.H


@dataclass
class Gram(Expansion):
    """Σ w x xᵀ, of x with a 1 behind it: the Hessian of least squares, which depends on no label."""

    @classmethod
    def about(cls, shift: Floats) -> Self:
        return cls.start(Setting(squared, 1, shift), np.zeros((1, len(shift) + 1)), curved=True)

    def update(self, chunk: Chunk) -> None:
        super().update(chunk._replace(offset=None))  # of which another loss has another number


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
        refuse(chunk, _core.loss_values(*self.setting.rows(chunk, self.thetas), self.f))

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
        along = split(self.v)
        refuse(chunk, _core.curvature_product(*self.setting.rows(chunk, self.theta), *along, self.Hv))

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
        w = row_weights(w, chunk.X.shape[0])
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


@dataclass
class ColumnPowers:
    """How many rows with labels there are, their weight, and Σ w x_j² and Σ w x_j⁴ of each column."""

    shift: Floats
    count: float
    n: float
    second: Floats  # (p,)
    fourth: Floats  # (p,)

    @classmethod
    def start(cls, shift: Floats) -> Self:
        return cls(shift, 0.0, 0.0, np.zeros(len(shift)), np.zeros(len(shift)))

    @property
    def nbytes(self) -> int:
        return self.second.nbytes + self.fourth.nbytes

    @property
    def squares(self) -> Floats:
        """Σ w x⁴ / Σ w x², the x² of a row that a column matters to, and 1 for the intercept: (p + 1,)."""
        met = self.second > 0
        return np.append(
            np.divide(self.fourth, self.second, out=np.zeros_like(self.fourth), where=met), 1.0
        )

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        w = np.where(chunk.y >= 0, 1.0 if chunk.w is None else chunk.w, 0.0)
        self.count += float(np.count_nonzero(w))
        self.n += float(w.sum())
        if isinstance(chunk.X, CSR):
            starts = chunk.X.starts
            at = slice(starts[0], starts[-1])
            x2 = np.square(chunk.X.values[at], dtype=np.float64)
            each, columns = np.repeat(w, np.diff(starts)) * x2, chunk.X.columns[at]
            self.second += np.bincount(columns, each, len(self.shift))
            self.fourth += np.bincount(columns, each * x2, len(self.shift))
        else:
            x2 = chunk.X.to_array() - self.shift
            x2 *= x2
            self.second += w @ x2
            x2 *= x2
            self.fourth += w @ x2

    def merge(self, other: Self) -> None:
        self.count += other.count
        self.n += other.n
        self.second += other.second
        self.fourth += other.fourth


# What a model expects of features above and below 0: the sums of iterative scaling.


@dataclass
class ScalingSums:
    """Of a model of probabilities: the loss f, its gradient g, Σ w P x₊ and Σ w P x₋, each (q, p + 1)."""

    setting: Setting
    theta: Floats  # (q, p + 1)
    f: Floats  # (1,)
    g: Floats
    up: Floats
    down: Floats

    @classmethod
    def start(cls, setting: Setting, theta: Floats) -> Self:
        g, up, down = np.zeros((3, setting.q, setting.p + 1))
        return cls(setting, theta, np.zeros(1), g, up, down)

    @property
    def nbytes(self) -> int:
        return self.f.nbytes + 3 * self.g.nbytes

    def update(self, chunk: Chunk) -> None:
        setting, W, b = self.setting, self.theta[:, :-1], self.theta[:, -1]
        X, known, w = _features(setting.shift, chunk)
        Z = X @ W.T + b
        if chunk.offset is not None:
            Z += chunk.offset[known].reshape(Z.shape)
        assert chunk.y is not None
        y = chunk.y[known]
        T = y[:, None] == (np.arange(setting.q) if setting.q > 1 else setting.positive)  # (n, q)
        codes = y if setting.q > 1 else T[:, 0].astype(np.int32)
        slope = setting.loss.gradient(Z, codes)  # P - T
        self.f += w @ setting.loss.value(Z, codes)
        for total, weight, part in (
            (self.g, slope, X),
            (self.up, slope + T, _above(X)),
            (self.down, slope + T, _above(-X)),
        ):
            total[:, :-1] += (part.T @ (w[:, None] * weight)).T
        self.g[:, -1] += w @ slope
        self.up[:, -1] += w @ (slope + T)

    def merge(self, other: Self) -> None:
        self.f += other.f
        self.g += other.g
        self.up += other.up
        self.down += other.down


@dataclass
class MaxRowSum:
    """max_i Σ_j |x_ij| of the rows that weigh something, with 1 for the intercept."""

    shift: Floats
    most: Floats  # (1,)

    @classmethod
    def start(cls, shift: Floats) -> Self:
        return cls(shift, np.ones(1))

    @property
    def nbytes(self) -> int:
        return self.most.nbytes

    def update(self, chunk: Chunk) -> None:
        X, _, w = _features(self.shift, chunk)
        each = np.asarray(abs(X).sum(axis=1)).ravel()[w > 0]
        self.most = np.maximum(self.most, 1 + each.max(initial=0.0))

    def merge(self, other: Self) -> None:
        self.most = np.maximum(self.most, other.most)


def _features(shift: Floats, chunk: Chunk) -> tuple[Any, NDArray[np.bool_], Floats]:
    """x - shift, dense or sparse as it came, of the rows with a label; which these are, and weights."""
    assert chunk.y is not None
    known = chunk.y >= 0
    w = np.ones(int(known.sum())) if chunk.w is None else chunk.w[known]
    rows, columns = chunk.X.where(lambda values: ~np.isfinite(values))
    refuse(chunk, (int(rows[0]), int(columns[0])) if len(rows) else None)
    if not isinstance(chunk.X, CSR):
        return chunk.X.to_array()[known] - shift, known, w
    starts = chunk.X.starts
    at = slice(starts[0], starts[-1])
    values = chunk.X.values[at].astype(np.float64)
    X = sparse.csr_array((values, chunk.X.columns[at], starts - starts[0]), chunk.X.shape)
    return X[known], known, w


def _above(X: Any) -> Any:
    """max(x, 0) of each cell."""
    return X.maximum(0) if sparse.issparse(X) else np.maximum(X, 0)
