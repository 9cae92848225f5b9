"""Dual coordinate ascent for margin losses: a step at every row, in its own dual variable."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf, spotrs
from scipy.sparse import csr_array

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR, Arrays
from likelier.objective import Objective
from likelier.row_solvers.sgd import ContiguousRows, on_line
from likelier.solvers import Iterate

# The optimum of the hinge's dual problem on the face where an ascent has come to: one linear system.
#
# Of its rows some have the margin 1, with dual variables a strictly within [0, w]; all others are at an
# end. Which ones are which an ascent finds soon; how much each of the former is takes it long.


TURNS = 12  # of rows that leave the face, or join it
FEWER = 0.6  # of the rows that did so in the turn before: there is an end to it
WIDEST_FACE = 1500  # rows with the margin 1: the system costs the cube of it
NEAR = 1e-9  # of a margin
SOLVED = 1e-10  # of what a system asks for
LITTLE, REFINED = 1e-11, 4  # of the mean of a diagonal; steps of refinement
LITTLE_SINGLE, REFINED_SINGLE = 1e-6, 12  # the same of a factor in single precision
LARGE = 1e30  # beyond it, or its inverse, numbers have no place in single precision
SLOWEST = 0.3  # of what is left, after a step of refinement
FACTORS: dict[type, tuple[Any, Any]] = {np.float32: (spotrf, spotrs), np.float64: (dpotrf, dpotrs)}
MOST_DEPENDENT = 200  # rows on a face that is solved by pivots, if no factor serves
ROUNDING = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Face:
    """Rows times their signs, and what ties W to them: W = Σ a t x / λ."""

    rows: ContiguousRows
    X: NDArray[np.floating] | csr_array
    t: Floats  # (n,), 1 and -1
    w: Floats  # (n,), the most that each a may be
    known: Floats  # (n,), the part of each margin that no weight changes
    inverse: float
    intercept: bool

    @classmethod
    def of(cls, rows: ContiguousRows, inverse: float, *, intercept: bool) -> "Face":
        t = np.where(rows.codes == 1, 1.0, -1.0)
        w = np.ones(len(t)) if rows.w is None else rows.w
        known = np.zeros(len(t)) if rows.offset is None else t * rows.offset.reshape(-1)
        block = rows.X
        if isinstance(block, CSR):
            X = csr_array((block.values, block.columns, block.starts), shape=block.shape)
            return cls(rows, X, t, w, known, inverse, intercept)
        return cls(rows, block.array, t, w, known, inverse, intercept)

    @cached_property
    def _turned(self) -> tuple[Any, Any]:
        """Xᵀ, and of the sizes of its cells: of sparse rows each costs more to make than to use."""
        return self.X.T, abs(self.X).T

    def weights(self, a: Floats) -> Floats:
        """W (p,), exactly 0 where it is rounding alone: classes that tie then tie for all."""
        ta, shift, (X, sizes) = self.t * a, self.rows.shift, self._turned
        W = np.asarray(X @ ta - ta.sum() * shift, dtype=np.float64)
        size = np.asarray(sizes @ a + a.sum() * np.abs(shift), dtype=np.float64)
        return np.where(np.abs(W) > ROUNDING * size, self.inverse * W, 0.0)

    def margins(self, W: Floats, b: float) -> Floats:
        return np.asarray(self.t * (self.X @ W - float(self.rows.shift @ W) + b) + self.known)

    def gram(self, at: NDArray[np.intp]) -> Floats:
        """What some rows, each times its sign, change of each other's margins: the upper triangle."""
        t, some, shift = self.t[at], self.X[at], self.rows.shift
        if isinstance(some, csr_array) and not shift.any():
            turned, G = some.tocsc(), np.zeros((len(at), len(at)))
            signed = (np.sqrt(self.inverse) * t)[turned.indices] * turned.data
            columns = CSR(signed, turned.indices, turned.indptr, len(at)).native()
            _core.sparse_gram(columns, np.ones(turned.shape[1]), G)
            return G
        dense = some.toarray() if isinstance(some, csr_array) else some
        about = np.asarray(dense - shift, dtype=np.float64)
        G = about @ about.T
        G *= self.inverse * t
        G *= t[:, None]
        return G


def solved_face(face: Face, a: Floats, b: float) -> Iterator[tuple[Floats, float]]:
    """Dual variables and an intercept, each better than the last: rows that overstep join their end."""
    a, on = a.copy(), (a > 0) & (a < face.w)
    changes: float = np.inf
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
        before, changes = changes, float(np.count_nonzero(over) + np.count_nonzero(wrong))
        if len(at) > MOST_DEPENDENT and changes > FEWER * before:  # dear, and not the face yet
            return


def _solution(face: Face, a: Floats, at: NDArray[np.intp], b: float) -> tuple[Floats, float]:
    """a of the rows on the face, and b, that give them the margin 1 and Σ t a = 0; others keep theirs.

    As a change of what they are: the shortest, where rows depend on each other.
    """
    t, G = face.t[at], face.gram(at)  # its upper triangle
    lacking = 1 - face.margins(face.weights(a), b)[at]
    if not face.intercept:
        return a[at] + _solved(_whole(G), lacking), b
    if (whole := _bordered(G, t, lacking, -float(face.t @ a))) is not None:
        return a[at] + whole[0], b + whole[1]
    if len(at) > MOST_DEPENDENT:
        return np.full(len(at), np.nan), b
    size = np.sqrt(max(float(np.trace(G)) / len(at), np.finfo(np.float64).tiny))
    A = np.zeros((len(at) + 1, len(at) + 1))
    A[:-1, :-1] = _whole(G)
    A[-1, :-1] = A[:-1, -1] = size * t
    change = _solved(A, np.append(lacking, -size * float(face.t @ a)))
    return a[at] + change[:-1], b + size * float(change[-1])


def _whole(G: Floats) -> Floats:
    return np.triu(G) + np.triu(G, 1).T


def _bordered(G: Floats, t: Floats, c: Floats, s: float) -> tuple[Floats, float] | None:
    """x and b with G x + t b = c and t·x = s, by a factor of G; None where rounding leaves too few digits.

    The factor is one of single precision, if steps of refinement bring that to what is asked for, else of
    double. Where rows depend on each other G is singular, but the equations have a solution: a little on
    its diagonal makes a factor of it, and refinement undoes that as well.
    """
    mean = float(np.diagonal(G).mean())
    for dtype, little, most in ((np.float32, LITTLE_SINGLE, REFINED_SINGLE), (np.float64, LITTLE, REFINED)):
        if dtype is np.float32 and not 1 / LARGE < mean < LARGE:
            continue
        K: Any = G.astype(dtype)
        K[np.diag_indices_from(K)] += little * mean
        potrf, potrs = FACTORS[dtype]
        L, info = potrf(K.T, lower=True, overwrite_a=True, clean=False)
        if info == 0 and (found := _refined(G, t, c, s, partial(potrs, L, lower=True), most)) is not None:
            return found
    return None


def _times(G: Floats, x: Floats) -> Floats:
    """G x of an upper triangle."""
    return np.asarray(dsymv(1.0, G.T, x, lower=1))


def _refined(
    G: Floats, t: Floats, c: Floats, s: float, by_factor: Callable[[Floats], Any], most: int
) -> tuple[Floats, float] | None:
    """The same by steps that a factor of about G makes; None: they do not get there."""
    x, b, along = np.zeros(len(c)), 0.0, by_factor(t)[0].astype(np.float64)
    asked, before = SOLVED * float(np.linalg.norm(c)), np.inf
    for _ in range(most):
        left = c - _times(G, x) - b * t
        size = float(np.linalg.norm(left))
        if size <= asked or not size < SLOWEST * before:
            break
        before = size
        step = by_factor(left)[0]
        more = (float(t @ step) - s + float(t @ x)) / float(t @ along)
        x, b = x + step - more * along, b + more
    return (x, b) if np.linalg.norm(_times(G, x) + b * t - c) <= asked else None


def _solved(A: Floats, c: Floats) -> Floats:
    """By elimination; where rows depend on each other the shortest."""
    with suppress(np.linalg.LinAlgError):
        found = np.linalg.solve(A, c)
        if np.linalg.norm(A @ found - c) <= SOLVED * np.linalg.norm(c):
            return np.asarray(found)
    found = lstsq(A, c, cond=1e-12, check_finite=False, lapack_driver="gelsy")[0]
    return np.asarray(found)


# Dual coordinate ascent: a step at every row, in the dual variables that are its own.


# τ, in units of what a typical row has of ‖x‖²/λ: more makes the intercept restless; and of the inverse
# curvature that all rows together have in it: less makes it slow. Typical is the harmonic mean: a few long
# rows have most of the arithmetic one, and steps at the others would move little but the intercept.
RESTLESS, SLOW = 0.1, 10.0
SHORT = 1e-3  # of the mean square: rows below it count as that

# An iteration is a round of epochs: as many as make this number of cells, so that small tables do not pay
# for Python between them; of a hinge some more, as these meet only the rows that move.
CELLS, MOST_EPOCHS, OF_HINGES = 100_000, 50, 4

FACE_ROWS = 8  # on a face, for each epoch so far,
FACE_CELLS = 100  # the same of sparse rows: of their number cubed, for each cell met
NEAR_ROUNDS = 8  # as good as the last one: if no more are left, no face of the dual is looked at


def dual(objective: Objective, theta: Floats, *, tol: float = 1e-4, seed: int = 0) -> Iterator[Iterate]:
    """W = Σ_i a_i x_i / λ, each a_i in turn set to what maximises the dual (Shalev-Shwartz & Zhang 2013).

    The norm is √(2 gap), gap that of the pairs of row and dual variable (Fenchel), which bounds F - F*.
    An iterate has it as the first epoch of its round met the rows, so has it the value; where that promises
    to be within `tol`, of a pass at the end. Rows come in an order drawn by `seed`. Of the hinge, every now
    and then, the face of the dual that it has come to is tried for the optimum.
    """
    ascent = Ascent.start(objective, theta)
    start = ascent.seen(*ascent.first_sums(), 0.0)
    yield start
    before, faces = start.norm, Faces.of(ascent)
    for number in count(1):
        loss, gap = ascent.round(seed, number)
        met = ascent.norm(gap)
        if met * min(met, before) <= tol * before:  # once more as much less
            loss, gap = ascent.sums()
        slow = met > tol * (before / max(met, tol)) ** NEAR_ROUNDS
        if faces is not None and slow and ascent.norm(gap) > tol and faces.due(number):
            loss, gap = faces.tried(tol)
        before = met
        yield ascent.seen(loss, gap, 1.0)


def typical(squares: Floats) -> float:
    """The harmonic mean of the squared lengths of rows, of which none counts as next to nothing."""
    most = float(squares.mean())
    return 1 / float(np.mean(1 / np.maximum(squares, SHORT * most))) if most > 0 else 0.0


@dataclass
class Ascent:
    """Weights and dual variables that belong together, λ W = Σ a x, and the rows.

    The intercept has a penalty of its own, (b - c)²/2τ, whose centre c follows it (the proximal point
    method): b = c + τ Σ a. Columns are in units that make the l2 penalty of all of them the same.
    """

    objective: Objective
    scale: Floats | None  # (p,): these units
    native: _core.DualRows
    rows: ContiguousRows
    inverse: float  # 1/λ
    tau: float
    W: Floats  # (p + 1, width), intercepts last
    a: Floats  # (n, width); for softmax what is left to go: probabilities
    centre: Floats  # (width,)
    order: NDArray[np.int64]
    epochs: int  # of a round

    @classmethod
    def start(cls, objective: Objective, theta: Floats) -> "Ascent":
        source, setting = objective.source, objective.setting
        assert isinstance(source, Arrays)
        l2 = objective.penalty.l2[: setting.p]
        most = float(l2.max())
        scale = None if (l2 == most).all() else np.sqrt(most / l2)
        rows = ContiguousRows.of(source, setting, scale)
        n, q = len(rows.codes), setting.q
        inverse = 1 / (most * objective.n)
        bound = setting.loss.bound if np.isfinite(setting.loss.bound) else 1.0
        tau = max(RESTLESS * typical(rows.squares) * inverse, SLOW / (bound * objective.n))
        tau = tau if objective.intercept else 0.0
        native = _core.DualRows(
            rows.X.native(),
            rows.shift,
            rows.codes,
            rows.w,
            rows.offset,
            rows.squares,
            setting.loss.number,
            q,
            inverse,
            tau,
        )
        width = 1 if q == 1 else -(-q // _core.lanes) * _core.lanes
        W, a = on_line(setting.p + 1, width), on_line(n, width)
        if q > 1:
            a[np.arange(n), rows.codes] = 1
        cells = max(1, len(rows.X.values) if isinstance(rows.X, CSR) else n * setting.p)
        least = OF_HINGES if setting.loss.name in ("hinge", "squared_hinge") else 1
        epochs = min(max(CELLS // cells, least), MOST_EPOCHS)
        order = np.arange(n)
        found = cls(objective, scale, native, rows, inverse, tau, W, a, np.zeros(width), order, epochs)
        if theta.any():
            found._begin(theta, rows.codes)
        return found

    def _begin(self, theta: Floats, codes: NDArray[np.int32]) -> None:
        """Dual variables that say what θ says, as much of them as brings W nearest to θ."""
        start = on_line(*self.W.shape)
        start[:, : self.objective.setting.q] = theta.reshape(self.objective.setting.q, -1).T
        if self.scale is not None:
            start[:-1] /= self.scale[:, None]
        none = self.a.copy()
        self.native.begin(self.order, start, self.W, self.a)
        W, asked = self.W[:-1], start[:-1]
        length = float(np.vdot(W, W))
        share = min(max(float(np.vdot(W, asked)) / length, 0.0), 1.0) if length else 0.0
        self.a *= share
        self.a += (1 - share) * none
        self.W *= share
        self.centre = start[-1] - self.W[-1]
        self.W[-1] = start[-1]

    # ---- passes ------------------------------------------------------------------------------------
    def round(self, seed: int, number: int) -> tuple[float, float]:
        """A step at each row, then more at those that move: what loss and gap they had before."""
        drawn = (seed << 32) + number
        _core.deal(self.order, drawn)
        return self.native.round(self.order, self.epochs, drawn, self.W, self.a, self.centre)

    def sums(self) -> tuple[float, float]:
        """The loss and gap of all rows now."""
        return self.native.epoch(np.arange(len(self.order)), self.W, self.a, False)

    def first_sums(self) -> tuple[float, float]:
        """The same before any step, where without offsets all rows score 0: no pass is needed."""
        source, setting = self.objective.source, self.objective.setting
        if self.W.any() or not isinstance(source, Arrays) or source.offset is not None:
            return self.sums()
        each = float(setting.loss.value(np.zeros((1, setting.q)), np.zeros(1, dtype=np.int32))[0])
        return self.objective.n * each, self.objective.n * each

    # ---- what they say -----------------------------------------------------------------------------
    def norm(self, gap: float) -> float:
        """√(2 gap), with what the intercept has still to go."""
        if self.tau:
            gap += float(np.sum((self.W[-1] - self.centre) ** 2)) / self.tau
        return float(np.sqrt(2 * max(gap, 0.0) / self.objective.n))

    def seen(self, loss: float, gap: float, step: float) -> Iterate:
        W = self.W[:, : self.objective.setting.q].T.copy()
        if self.scale is not None:
            W[:, :-1] *= self.scale
        # Of weights in the units of the ascent the penalty is λ/2 for all. Without BLAS, whose threads are
        # slow to come where a core is busy.
        square = float(np.einsum("ij,ij->", self.W[:-1], self.W[:-1]))
        value = (loss + square / (2 * self.inverse)) / self.objective.n
        return Iterate(W.ravel(), value, self.norm(gap), step)


@dataclass
class Faces:
    """When to look for the optimum on a face of the dual: after rounds 2, 3, 5, 7, 10, and so on.

    Where the face is wide, after twice as many rounds each time.
    """

    ascent: Ascent
    next: int = 2

    @classmethod
    def of(cls, ascent: Ascent) -> "Faces | None":
        return cls(ascent) if ascent.objective.setting.loss.name == "hinge" else None

    @cached_property
    def face(self) -> Face:
        """Made when it is first wanted, which few tables need."""
        return Face.of(self.ascent.rows, self.ascent.inverse, intercept=self.ascent.tau > 0)

    def due(self, number: int) -> bool:
        """A face of m rows costs m²p, or of sparse ones m³/3, an epoch np, or what is stored: it may cost
        no more than the epochs so far."""
        if number < self.next:
            return False
        a, w = self.ascent.a[:, 0], 1.0 if self.ascent.rows.w is None else self.ascent.rows.w
        m, X = np.count_nonzero((a > 0) & (a < w)), self.ascent.rows.X
        if isinstance(X, CSR):
            dear = m**3 > FACE_CELLS * len(X.values) * number * self.ascent.epochs
        else:
            dear = m > FACE_ROWS * number * self.ascent.epochs
        if dear:
            return False
        self.next = 2 * number if m > MOST_DEPENDENT else number + 1 + number // 3
        return True

    def tried(self, tol: float) -> tuple[float, float]:
        """The loss and gap after it: of what was found, if it is nearer, else of what was."""
        ascent = self.ascent
        before = ascent.sums()
        kept = ascent.a.copy(), ascent.W.copy(), ascent.centre.copy()
        for a, b in solved_face(self.face, ascent.a[:, 0], float(ascent.W[-1, 0])):
            ascent.a[:, 0] = a
            ascent.W[:-1, 0] = self.face.weights(a)
            ascent.W[-1, 0] = b
            ascent.centre[0] = b - ascent.tau * float(self.face.t @ a)
            found = ascent.sums()
            if ascent.norm(found[1]) < min(tol, ascent.norm(before[1])):
                return found
        ascent.a[:], ascent.W[:], ascent.centre[:] = kept
        return before
