"""The optimum of the hinge's dual problem on the face where an ascent has come to: one linear system.

Of its rows some have the margin 1, with dual variables a strictly within [0, w]; all others are at an end.
Which ones are which an ascent finds soon; how much each of the former is takes it long.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.sparse import csr_array

from likelier.data import CSR
from likelier.online.laid import Laid

Floats = NDArray[np.float64]

TURNS = 12  # of rows that leave the face, or join it
WIDEST_FACE = 600  # rows with the margin 1: the system costs the cube of it
NEAR = 1e-9  # of a margin
SOLVED = 1e-10  # of what a system asks for
ROUNDING = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Face:
    """Rows times their signs, and what ties W to them: W = Σ a t x / λ."""

    rows: Laid
    X: NDArray[np.floating] | csr_array
    t: Floats  # (n,), 1 and -1
    w: Floats  # (n,), the most that each a may be
    known: Floats  # (n,), the part of each margin that no weight changes
    inverse: float
    intercept: bool

    @classmethod
    def of(cls, rows: Laid, inverse: float, *, intercept: bool) -> "Face":
        t = np.where(rows.codes == 1, 1.0, -1.0)
        w = np.ones(len(t)) if rows.w is None else rows.w
        known = np.zeros(len(t)) if rows.offset is None else t * rows.offset.reshape(-1)
        block = rows.X
        if isinstance(block, CSR):
            X = csr_array((block.values, block.columns, block.starts), shape=block.shape)
            return cls(rows, X, t, w, known, inverse, intercept)
        return cls(rows, block.array, t, w, known, inverse, intercept)

    def weights(self, a: Floats) -> Floats:
        """W (p,), exactly 0 where it is rounding alone: classes that tie then tie for all."""
        ta, shift = self.t * a, self.rows.shift
        W = np.asarray(ta @ self.X - ta.sum() * shift, dtype=np.float64)
        size = np.asarray(a @ abs(self.X) + a.sum() * np.abs(shift), dtype=np.float64)
        return np.where(np.abs(W) > ROUNDING * size, self.inverse * W, 0.0)

    def margins(self, W: Floats, b: float) -> Floats:
        return np.asarray(self.t * (self.X @ W - float(self.rows.shift @ W) + b) + self.known)

    def signed(self, at: NDArray[np.intp]) -> Floats:
        """Some rows, each times its sign."""
        some = self.X[at]
        dense = some.toarray() if isinstance(some, csr_array) else some
        return np.asarray(self.t[at, None] * (dense - self.rows.shift), dtype=np.float64)


def solved_face(face: Face, a: Floats, b: float) -> Iterator[tuple[Floats, float]]:
    """Dual variables and an intercept, each better than the last: rows that overstep join their end."""
    a, on = a.copy(), (a > 0) & (a < face.w)
    for _ in range(TURNS):
        at = np.flatnonzero(on)
        if not 0 < len(at) <= WIDEST_FACE:
            return
        here, b = _solution(face, a, at, b)
        if not (np.isfinite(here).all() and np.isfinite(b)):
            return
        over = (here < 0) | (here > face.w[at])
        a[at] = np.clip(here, 0.0, face.w[at])
        on[at[over]] = False
        margins = face.margins(face.weights(a), b)
        # At an end, but on the wrong side of the margin for it.
        wrong = (
            np.where(a <= 0, margins < 1 - NEAR, (a >= face.w) & (margins > 1 + NEAR)) & ~on & (face.w > 0)
        )
        if not over.any():
            yield a, b
            if not wrong.any():
                return
        wrong[at[over]] = False
        on |= wrong


def _solution(face: Face, a: Floats, at: NDArray[np.intp], b: float) -> tuple[Floats, float]:
    """a of the rows on the face, and b, that give them the margin 1 and Σ t a = 0; others keep theirs.

    As a change of what they are: the shortest, where rows depend on each other.
    """
    Y, t = face.signed(at), face.t[at]
    lacking = 1 - face.known[at] - (Y @ face.weights(a) + t * b)
    G = face.inverse * (Y @ Y.T)
    if not face.intercept:
        return a[at] + _solved(G, lacking), b
    size = np.sqrt(max(float(np.trace(G)) / len(at), np.finfo(np.float64).tiny))
    A = np.zeros((len(at) + 1, len(at) + 1))
    A[:-1, :-1] = G
    A[-1, :-1] = A[:-1, -1] = size * t
    change = _solved(A, np.append(lacking, -size * float(face.t @ a)))
    return a[at] + change[:-1], b + size * float(change[-1])


def _solved(A: Floats, c: Floats) -> Floats:
    """By elimination; where rows depend on each other the shortest."""
    with suppress(np.linalg.LinAlgError):
        found = np.linalg.solve(A, c)
        if np.linalg.norm(A @ found - c) <= SOLVED * np.linalg.norm(c):
            return np.asarray(found)
    found = lstsq(A, c, cond=1e-12, check_finite=False, lapack_driver="gelsy")[0]
    return np.asarray(found)
