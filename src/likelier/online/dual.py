"""Dual coordinate ascent: a step at every row, in the dual variables that are its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Arrays
from likelier.objective import Objective
from likelier.online.laid import Laid, on_line
from likelier.solvers import Iterate

Floats = NDArray[np.float64]

# τ, in units of what a typical row has of ‖x‖²/λ: more makes the intercept restless; and of the inverse
# curvature that all rows together have in it: less makes it slow.
RESTLESS, SLOW = 0.1, 10.0


def dual(objective: Objective, theta: Floats, *, tol: float = 1e-4, seed: int = 0) -> Iterator[Iterate]:
    """W = Σ_i a_i x_i / λ, each a_i in turn set to what maximises the dual (Shalev-Shwartz & Zhang 2013).

    The norm is √(2 gap), gap that of the pairs of row and dual variable (Fenchel), which bounds F - F*.
    An iterate has it as the epoch met the rows, so has it the value; where that promises to be within
    `tol`, of a pass at the end of the epoch. Rows come in an order drawn by `seed`.
    """
    ascent = Ascent.start(objective, theta)
    start = ascent.seen(*ascent.first_sums(), 0.0)
    yield start
    before = start.norm
    for number in count(1):
        loss, gap = ascent.epoch(seed, number)
        met = ascent.norm(gap)
        if met * min(met, before) <= tol * before:  # once more as much less
            loss, gap = ascent.sums()
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
    tau: float
    W: Floats  # (p + 1, width), intercepts last
    a: Floats  # (n, width); for softmax what is left to go: probabilities
    centre: Floats  # (width,)
    order: NDArray[np.int64]

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
        found = cls(objective, scale, native, tau, W, a, np.zeros(width), np.arange(n))
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
    def epoch(self, seed: int, number: int) -> tuple[float, float]:
        """A step at each row: what loss and gap they had before it."""
        _core.deal(self.order, (seed << 32) + number)
        b = self.W[-1].copy()
        self.W[-1] += b - self.centre
        self.centre = b
        return self.native.epoch(self.order, self.W, self.a, True)

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
