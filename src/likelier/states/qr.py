"""The triangle that is left of the rows of a regression."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Chunk, Dense
from likelier.states.moments import refuse, weights

Floats = NDArray[np.float64]


def upper(Z: Floats) -> Floats:
    """The R factor of a small array."""
    R: Any = np.linalg.qr(Z, mode="r")
    return np.asarray(R)


class Equations(NamedTuple):
    """|r - R b|² + rest, the sum of squares of n rows, as small as can be: p columns, q targets."""

    R: Floats  # (p, p), upper
    r: Floats  # (p, q)
    rest: Floats  # (q,) what no b can change
    size: Floats  # (p,) the lengths of the columns before they were centred: their rounding errors' scale
    n: float

    def take(self, targets: NDArray[np.intp]) -> "Equations":
        """Those of some targets."""
        return self._replace(r=self.r[:, targets], rest=self.rest[targets])


@dataclass
class Triangle:
    """Weight n, and the R factor of the rows √w (1, x - shift, y - shift), shift being their first row.

    A reflection keeps all inner products, so RᵀR = Σ w zzᵀ without its squares ever being formed. The
    column of ones leads: its row of R is √n (1, mean - shift), and below it stands the factor of the
    centred columns. Moving the shift by d adds √n d to that row and changes nothing else; two triangles
    on one shift merge by factoring one above the other (Golub 1965; TSQR, Demmel et al. 2012).
    """

    n: float
    shift: Floats  # (p + q,)
    R: Floats  # (1 + p + q, 1 + p + q), upper, its diagonal not negative
    p: int

    @classmethod
    def start(cls, p: int, q: int) -> Self:
        return cls(0.0, np.zeros(p + q), np.zeros((1 + p + q, 1 + p + q)), p)

    @property
    def nbytes(self) -> int:
        return self.shift.nbytes + self.R.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        X, w = chunk.X, weights(chunk)
        Y = Dense(chunk.y if chunk.y.ndim == 2 else chunk.y[:, None])
        if X.shape[0] == 0:
            return
        shift, R = self.shift, self.R.copy()  # a chunk that is refused leaves no trace
        if self.n == 0:
            # Weightless rows may be anything: the shift is a row that counts, if there is one.
            first = 0 if w is None else int(np.argmax(w > 0))
            row = [block.rows(first, first + 1).to_array()[0] for block in (X, Y)]
            shift = np.concatenate(row)
        where = _core.fold(X.native(), Y.native(), w, shift, R)
        if where is not None and where[1] >= self.p:
            row_number, value = chunk.first + where[0], Y.cell(where[0], where[1] - self.p)
            what = "NaN" if np.isnan(value) else "infinity or a value too large for dtype('float64')"
            raise ValueError(f"Input y contains {what}: row {row_number} is {value}.")
        refuse(chunk, where)
        if not np.isfinite(R).all():
            raise ValueError(
                "Input X or y contains values so large that their squares overflow: divide such columns."
            )
        self.shift, self.R = shift, R
        self.n += float(X.shape[0] if w is None else w.sum())

    def finite(self) -> bool:
        """False if squares or weights have overflowed."""
        return bool(np.isfinite(self.R).all())

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, Triangle) and (self.p, self.R.shape) == (other.p, other.R.shape)

    def merge(self, other: Self) -> None:
        if other.n == 0:
            return
        if self.n == 0:
            self.n, self.shift, self.R = other.n, other.shift.copy(), other.R.copy()
            return
        R = other.R.copy()
        R[0, 1:] += R[0, 0] * (other.shift - self.shift)
        _core.fold_factor(Dense(R).native(), self.R)
        self.n += other.n

    @property
    def gap(self) -> Floats:
        """The means less the shift, (p + q,)."""
        return np.asarray(self.R[0, 1:] / self.R[0, 0])

    @property
    def mean(self) -> Floats:
        return self.shift + self.gap

    def equations(self, *, centred: bool) -> Equations:
        """What is left to solve: for columns about their means, or (a model through 0) as they are."""
        p, whole = self.p, self.R[:, 1:].copy()
        whole[0] += self.R[0, 0] * self.shift
        R = self.R[1:, 1:] if centred else upper(whole)
        rest = (R[p:, p:] ** 2).sum(axis=0)
        return Equations(R[:p, :p], R[:p, p:], rest, np.linalg.norm(whole[:, :p], axis=0), self.n)
