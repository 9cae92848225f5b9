"""What a model expects of features above and below 0: the sums of iterative scaling."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likelier.data import CSR, Chunk
from likelier.states.expansion import Setting
from likelier.states.moments import refuse

Floats = NDArray[np.float64]


@dataclass
class Halves:
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
        slope = setting.loss.slope(Z, codes)  # P - T
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
class Reach:
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
