"""Newton, truncated Newton by products with the Hessian, and L-BFGS."""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv, dtrtrs

from likelier.array_types import Floats
from likelier.solvers.base import Iterate, Metric, Oracle, enough, shorter
from likelier.solvers.first_order import NO_STEP, Measure, ratio, stepped

# Newton's method: a weighted least-squares problem in each step.


NO_NEWTON_STEP = "no step along Newton's direction decreases the objective: rounding has the last word"


SLOPING = 1e-12  # of the decrement squared: more than rounding makes of a slope that is 0


def newton(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """θ -= η H⁻¹ g: Newton–Raphson, iteratively reweighted least squares. η = 1 wherever it works.

    The norm is Newton's decrement √(gᵀ H⁻¹ g). A unit step costs one pass, which is also the next
    expansion; a shorter one costs one or two passes more.
    """
    F, g, H = oracle.hessian(theta)
    step = 0.0
    while True:
        d = -solved(H, g)
        slope = float(g @ d)
        norm = float(np.sqrt(max(-slope, 0.0)))
        here = Iterate(theta, F, norm, step, g, H)
        yield here
        ahead = oracle.hessian(theta + d)
        step = 1.0
        if not (np.isfinite(ahead[0]) and enough(F, ahead[0], slope)):
            step = shorter(oracle, theta, d, F, slope)
            if step == 0.0:
                yield here._replace(stuck=NO_NEWTON_STEP)
                return
            ahead = oracle.hessian(theta + step * d)
        theta = theta + step * d
        F, g, H = ahead


def solved(H: Floats, g: Floats) -> Floats:
    """H⁻¹ g: by Cholesky of H in its own units; where H is singular, the shortest solution in them."""
    scale = np.sqrt(np.diagonal(H))
    scale = np.where(scale > 0, scale, 1.0)
    A = H / np.outer(scale, scale)
    b = g / scale
    nothing = np.flatnonzero((np.diagonal(H) == 0) & (g == 0))  # a column that is constant: it has no step
    A[nothing, nothing] = 1.0
    factor, x, bad = dposv(A, b, lower=1)
    diagonal = np.diagonal(factor)
    if bad or not diagonal.min() >= 1e-7 * diagonal.max():
        return shortest(A, b) / scale
    return np.asarray(x / scale)


def shortest(A: Floats, b: Floats) -> Floats:
    """A⁺ b, of a symmetric A that is not negative.

    A direction whose curvature is lost in rounding, but not its slope, is no free one: it has the least
    curvature that could be seen, so that the step goes that way and the decrement knows of it.
    """
    if not np.isfinite(A).all():
        return np.full_like(b, np.nan)
    s, V = eigh(A, check_finite=False)
    least = len(s) * np.finfo(np.float64).eps * s[-1]
    along = V.T @ b
    kept = (s > least) | (along**2 > SLOPING * least)
    return np.asarray((V[:, kept] / np.maximum(s[kept], least)) @ along[kept])


# Truncated Newton: the Hessian is met by its products alone.


MOST = 100  # products for one direction
ROUGH = 0.7  # of the gradient: what is left where the Hessian does not hold as far as the step goes


def newton_cg(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """θ += η d with H d ≈ -g, by conjugate gradients that end early (Dembo, Eisenstat & Steihaug 1982).

    A direction is sought no further than it pays: to a residual of min(½, √norm) of the gradient, so
    that convergence is still faster than linear; after a step that had to be shortened, less far. A step
    costs a pass for each product and one more.

    The norm's κ is gᵀH⁻¹g / gᵀM⁻¹g of the last direction.
    """
    metric = oracle.metric()
    F, g = oracle.gradient(theta)
    measure, kappa, length = Measure(metric), 1.0, 0.0
    while True:
        Mg = metric.solve(g)
        size = float(g @ Mg)
        here = Iterate(theta, F, measure.norm(size, kappa), length, g)
        yield here
        share = ROUGH if 0 < length < 1 else min(0.5, here.norm**0.5)
        d = truncated(oracle, metric, theta, g, Mg, share)
        slope = float(g @ d)
        kappa = ratio(-slope, size)
        step = stepped(oracle, theta, d, F, slope)
        if step is None:
            yield here._replace(stuck=NO_STEP)
            return
        length, theta, F, g = step


def truncated(oracle: Oracle, metric: Metric, theta: Floats, g: Floats, Mg: Floats, share: float) -> Floats:
    """d with |H d + g| <= share |g|, both in the metric: conjugate gradients (Hestenes & Stiefel 1952)."""
    d = np.zeros_like(g)
    r, v = g.copy(), -Mg  # what is left to solve, the next direction
    size = float(g @ Mg)
    enough = share**2 * size
    for _ in range(MOST):
        Hv = oracle.product(theta, v)
        bend = float(v @ Hv)
        if not bend > 0:  # flat as far as rounding can tell
            break
        t = size / bend
        d += t * v
        r += t * Hv
        Mr = metric.solve(r)
        before, size = size, float(r @ Mr)
        if size <= enough:
            break
        v = -Mr + (size / before) * v
    return d if d.any() else -Mg


# L-BFGS: Newton's method with a Hessian guessed from the last few steps.

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
