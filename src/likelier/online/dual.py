"""Dual coordinate ascent: a step at every row, in the dual variables that are its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import CSR, Arrays
from likelier.objective import Objective
from likelier.online.faces import Face, solved_face
from likelier.online.laid import Laid, on_line
from likelier.solvers import Iterate

Floats = NDArray[np.float64]

# τ, in units of what a typical row has of ‖x‖²/λ: more makes the intercept restless; and of the inverse
# curvature that all rows together have in it: less makes it slow.
RESTLESS, SLOW = 0.1, 10.0

# An iteration is a round of epochs: as many as make this number of cells, so that small tables do not pay
# for Python between them; of a hinge some more, as these meet only the rows that move.
CELLS, MOST_EPOCHS, OF_HINGES = 100_000, 50, 4

FACE_ROWS = 8  # on a face, for each epoch so far,
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
        if faces is not None and slow and ascent.norm(gap) > tol and faces.due(number, ascent):
            loss, gap = faces.tried(ascent, tol)
        before = met
        yield ascent.seen(loss, gap, 1.0)


@dataclass
class Ascent:
    """Weights and dual variables that belong together, λ W = Σ a x, and the rows.

    The intercept has a penalty of its own, (b - c)²/2τ, whose centre c follows it (the proximal point
    method): b = c + τ Σ a. Columns are in units that make the l2 penalty of all of them the same.
    """

    objective: Objective
    scale: Floats | None  # (p,): these units
    native: _core.DualRows
    rows: Laid
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
        rows = Laid.of(source, setting, scale)
        n, q = len(rows.codes), setting.q
        inverse = 1 / (most * objective.n)
        bound = setting.loss.bound if np.isfinite(setting.loss.bound) else 1.0
        tau = max(RESTLESS * float(rows.squares.mean()) * inverse, SLOW / (bound * objective.n))
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
        theta = W.ravel()
        value = loss / self.objective.n + self.objective.penalty.value(theta)
        return Iterate(theta, value, self.norm(gap), step)


@dataclass
class Faces:
    """When to look for the optimum on a face of the dual: after rounds 2, 3, 5, 7, 10, and so on."""

    face: Face
    next: int = 2

    @classmethod
    def of(cls, ascent: Ascent) -> "Faces | None":
        if ascent.objective.setting.loss.name != "hinge":
            return None
        return cls(Face.of(ascent.rows, ascent.inverse, intercept=ascent.tau > 0))

    def due(self, number: int, ascent: Ascent) -> bool:
        """A face of m rows costs m²p, an epoch np: it may cost no more than the epochs so far."""
        if number < self.next:
            return False
        a = ascent.a[:, 0]
        if np.count_nonzero((a > 0) & (a < self.face.w)) > FACE_ROWS * number * ascent.epochs:
            return False
        self.next = number + 1 + number // 3
        return True

    def tried(self, ascent: Ascent, tol: float) -> tuple[float, float]:
        """The loss and gap after it: of what was found, if it is nearer, else of what was."""
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
