"""Errors that hold where a likelihood is not the true one."""

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from likelier.data import Chunk
from likelier.losses import squared
from likelier.scores import Affine
from likelier.states import Expansion, Setting

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
POWERS = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}


@dataclass
class Meat:
    """Σ w g(h) s sᵀ, with s = ∂ℓ/∂θ of a row: between two inverses of H it is the covariance of θ,
    whatever the true one of the labels is (Huber 1967; White 1982).

    g is 1, 1/(1-h) or 1/(1-h)² for HC0, HC2 and HC3, with h = ℓ'' xᵀ H⁻¹ x, the leverage of the row in
    the last of the weighted least-squares problems (MacKinnon & White 1985; Pregibon 1981). A block of it
    is a sum of x xᵀ with weights s_k s_l: differences of squares, which are weights as any other.
    """

    setting: Setting
    theta: Floats  # (q, p + 1)
    root: Floats | None  # L with H⁻¹ = Lᵀ L, if leverages count
    power: int  # of 1/(1-h)
    pairs: list[Expansion]  # for each k <= l, of (s_k + s_l)²; of s_k² where they are the same

    @classmethod
    def start(cls, setting: Setting, theta: Floats, V: Floats, power: int) -> Self:
        plain, none = replace(setting, loss=squared, q=1), np.zeros((1, setting.p + 1))
        count = setting.q * (setting.q + 1) // 2
        pairs = [Expansion.start(plain, none, curved=True) for _ in range(count)]
        return cls(setting, theta, _root(V) if power else None, power, pairs)

    @property
    def nbytes(self) -> int:
        return sum(pair.nbytes for pair in self.pairs)

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        loss, Z, y = self.setting.loss, self._scores(chunk, self.theta), np.maximum(chunk.y, 0)
        if chunk.offset is not None:
            Z += chunk.offset.reshape(len(Z), -1)
        g = np.where(chunk.y >= 0, 1.0 if chunk.w is None else chunk.w, 0.0)
        if self.root is not None:
            room = 1 - loss.bend(Z, y)[:, 0, 0] * (self._scores(chunk, self.root) ** 2).sum(axis=1)
            tight = (g > 0) & (room <= 64 * EPS)
            if tight.any():
                raise ValueError(
                    f"row {chunk.first + int(np.argmax(tight))} alone decides a coefficient (leverage 1): "
                    "HC2 and HC3 do not exist; HC0 and HC1 do."
                )
            g = g / np.where(g > 0, room, 1.0) ** self.power
        S, alone = loss.slope(Z, y), chunk._replace(offset=None)
        for (k, m), pair in zip(self._places, self.pairs, strict=True):
            each = S[:, k] if k == m else S[:, k] + S[:, m]
            pair.update(alone._replace(w=g * each**2))

    def _scores(self, chunk: Chunk, theta: Floats) -> Floats:
        """θ [x - shift, 1], (n, rows of θ)."""
        Z = np.empty((chunk.X.shape[0], len(theta)))
        term = Affine(theta[:, -1].copy(), np.ascontiguousarray(theta[:, :-1]), self.setting.shift)
        term.write(chunk, Z, add=False)
        return Z

    @property
    def _places(self) -> list[tuple[int, int]]:
        return list(combinations_with_replacement(range(self.setting.q), 2))

    def merge(self, other: Self) -> None:
        for pair, its in zip(self.pairs, other.pairs, strict=True):
            pair.merge(its)

    @property
    def M(self) -> Floats:
        """(m, m)."""
        q, P = self.setting.q, self.setting.p + 1
        found = {place: np.asarray(pair.H) for place, pair in zip(self._places, self.pairs, strict=True)}
        M = np.empty((q, P, q, P))
        for (k, m), H in found.items():
            M[k, :, m] = M[m, :, k] = H if k == m else (H - found[k, k] - found[m, m]) / 2
        return M.reshape(q * P, q * P)


def _root(V: Floats) -> Floats:
    """L with V = Lᵀ L, in units in which the diagonal of V is 1."""
    unit = np.sqrt(np.diagonal(V))
    unit = np.where(unit > 0, unit, 1.0)
    s, U = eigh(V / np.outer(unit, unit))
    return np.asarray(np.sqrt(np.maximum(s, 0.0))[:, None] * U.T * unit)
