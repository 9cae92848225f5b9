"""Matrices in whose units gradients are measured, by their inverses."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FullMetric:
    """The same (p + 1, p + 1) matrix for each score, by its Cholesky factor, in columns of unit size."""

    factor: tuple[Floats, bool]
    scale: Floats  # (p + 1,)
    q: int

    @classmethod
    def of(cls, M: Floats, q: int) -> "FullMetric":
        scale = np.sqrt(np.diagonal(M))
        if not np.isfinite(scale).all():
            raise ValueError("X has cells whose squares are too large for float64: rescale its columns.")
        scale = np.where(scale > 0, scale, 1.0)
        A = M / np.outer(scale, scale)
        A[np.diag_indices_from(A)] += 1e-10  # columns that depend on each other
        return cls(cho_factor(A, lower=True), scale, q)

    @property
    def bounds(self) -> bool:
        return True

    def solve(self, g: Floats) -> Floats:
        G = g.reshape(self.q, -1) / self.scale
        return np.asarray(cho_solve(self.factor, G.T, check_finite=False).T / self.scale).ravel()


@dataclass(frozen=True)
class DiagonalMetric:
    """A number for each entry of θ."""

    diagonal: Floats  # (m,)

    @property
    def bounds(self) -> bool:
        return False  # columns that are alike bend F more than each of them

    def solve(self, g: Floats) -> Floats:
        return g / self.diagonal
