"""L-BFGS: Newton's method with a Hessian guessed from the last few steps."""

from collections.abc import Iterator

import numpy as np
from scipy.linalg.lapack import dtrtrs

from likelier.array_types import Floats
from likelier.solvers.base import Iterate, Oracle
from likelier.solvers.first_order import NO_STEP, Measure, ratio, stepped

MEMORY, MOST_MEMORY = 20, 40  # steps that are remembered: the more, the fewer are needed,
CHEAP = 80_000  # and that many numbers of each kind are read faster than rows are


def lbfgs(oracle: Oracle, theta: Floats, *, memory: int | None = None) -> Iterator[Iterate]:
    """θ -= η B g, B ≈ H⁻¹ from the last steps, beginning with M⁻¹ (Liu & Nocedal 1989). η = 1 if it works.

    The metric M bounds every Hessian, so that the units of columns and their correlations do not
    matter. The norm's κ is gᵀBg / gᵀM⁻¹g. A unit step costs one pass.
    """
    metric = oracle.metric()
    pairs = Pairs(oracle.size, memory or int(np.clip(CHEAP // oracle.size, MEMORY, MOST_MEMORY)))
    F, g = oracle.gradient(theta)
    Mg = metric.solve(g)
    measure, length = Measure(metric), 0.0
    while True:
        d = -pairs.turned(g, Mg)
        slope, size = float(g @ d), float(g @ Mg)
        here = Iterate(theta, F, measure.norm(size, ratio(-slope, size)), length, g)
        yield here
        step = stepped(oracle, theta, d, F, slope)
        if step is None and pairs.count:  # what was learned elsewhere misleads here
            pairs.count = 0
            step = stepped(oracle, theta, -Mg, F, -size)
        if step is None:
            yield here._replace(stuck=NO_STEP)
            return
        before, Mg = Mg, metric.solve(step.gradient)
        pairs.add(step.theta - theta, step.gradient - g, Mg - before)
        length, theta, F, g = step


class Pairs:
    """Steps s, how each changed the gradient, r, and that change in the metric, M⁻¹ r; the oldest first.

    B = γ M⁻¹ + [S, γ M⁻¹R] [[U⁻ᵀ(D + γ RᵀM⁻¹R)U⁻¹, -U⁻ᵀ], [-U⁻¹, 0]] [S, γ M⁻¹R]ᵀ, U the upper triangle of
    SᵀR, D its diagonal, γ how far H is below M along the last step (Byrd, Nocedal & Schnabel 1994): the
    same as two loops over the pairs, in a few products of matrices.
    """

    def __init__(self, size: int, memory: int) -> None:
        self.memory, self.count = memory, 0
        # Twice the room, so that the oldest are dropped without a copy at each step.
        self._S, self._MR = np.empty((2 * memory, size)), np.empty((2 * memory, size))
        self._SR, self._RMR = np.empty((2, 2 * memory, 2 * memory))
        self._first = 0

    def add(self, s: Floats, r: Floats, Mr: Floats) -> None:
        """The last step, if it tells of a curvature at all."""
        sr, rMr = float(s @ r), float(r @ Mr)
        if not sr > np.finfo(np.float64).eps * rMr:
            return
        if self.count == 0:
            self._first = 0
        if self.count == self.memory:
            self._first, self.count = self._first + 1, self.count - 1
        if self._first + self.count == 2 * self.memory:
            self._to_front()
        at = self._first + self.count
        self.count += 1
        known = slice(self._first, at + 1)
        self._S[at], self._MR[at] = s, Mr
        self._SR[known, at] = self._S[known] @ r
        self._RMR[known, at] = self._RMR[at, known] = self._MR[known] @ r

    def _to_front(self) -> None:
        old, new = slice(self._first, self._first + self.count), slice(0, self.count)
        self._S[new], self._MR[new] = self._S[old], self._MR[old]
        self._SR[new, new] = self._SR[old, old].copy()
        self._RMR[new, new] = self._RMR[old, old].copy()
        self._first = 0

    def turned(self, g: Floats, Mg: Floats) -> Floats:
        """B g."""
        if not self.count:
            return Mg
        known = slice(self._first, self._first + self.count)
        S, MR, U, RMR = self._S[known], self._MR[known], self._SR[known, known], self._RMR[known, known]
        D = np.diagonal(U)
        gamma = D[-1] / RMR[-1, -1]
        a = _solved(U, S @ g)
        b = _solved(U, D * a + gamma * (RMR @ a - MR @ g), turned=True)
        return np.asarray(gamma * (Mg - a @ MR) + b @ S)


def _solved(U: Floats, x: Floats, *, turned: bool = False) -> Floats:
    """U⁻¹ x, or U⁻ᵀ x, of an upper triangle."""
    return np.asarray(dtrtrs(U, x, trans=int(turned))[0])
