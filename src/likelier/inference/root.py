"""A square root of Fisher's information, from rows."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk
from likelier.states import Setting
from likelier.states.moments import weights

Floats = NDArray[np.float64]

CELLS = 1 << 20  # of the rows that are factored at once


@dataclass
class Root:
    """R (r, m) with RᵀR = Σ w ∂²ℓ/∂θ² at θ, of logistic and softmax losses, by QR: a state.

    The curvature of a row is x xᵀ ⊗ (diag(P) - P Pᵀ) = (x ⊗ B)ᵀ(x ⊗ B), B = diag(√P) - √P Pᵀ; for one
    score x xᵀ P (1 - P). Columns that are alike to 1e-8 have a condition of 1e8 here, in the sum 1e16.
    """

    setting: Setting
    theta: Floats  # (q, p + 1)
    intercept: bool
    R: Floats

    @classmethod
    def start(cls, setting: Setting, theta: Floats, intercept: bool) -> Self:
        return cls(setting, theta, intercept, np.zeros((0, setting.m)))

    @property
    def nbytes(self) -> int:
        return 8 * self.setting.m**2

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        n, q = chunk.X.shape[0], self.setting.q
        w = weights(chunk)
        w = np.where(chunk.y >= 0, 1.0 if w is None else w, 0.0)
        step = max(1, CELLS // (q * self.setting.m))
        for start in range(0, n, step):
            at = slice(start, start + step)
            X = np.column_stack([chunk.X.take(at).to_array() - self.setting.shift, np.ones(len(w[at]))])
            Z = X @ self.theta.T
            if chunk.offset is not None:
                Z += chunk.offset[at].reshape(Z.shape)
            X[:, -1] = self.intercept
            self._absorb((_half(Z) * np.sqrt(w[at])[:, None, None])[..., None] * X[:, None, None, :])

    def _absorb(self, rows: Floats) -> None:
        stacked = np.vstack([self.R, rows.reshape(-1, self.setting.m)])
        self.R = np.asarray(np.linalg.qr(stacked, mode="r"))

    def merge(self, other: Self) -> None:
        self._absorb(other.R)


def _half(Z: Floats) -> Floats:
    """(n, q, q), whose square is the curvature of the loss in the scores."""
    if Z.shape[1] == 1:
        return np.asarray(1 / (np.exp(Z / 2) + np.exp(-Z / 2)))[..., None]
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    s = np.sqrt(P)
    return np.asarray(s[:, :, None] * (np.eye(Z.shape[1]) - P[:, None, :]))
