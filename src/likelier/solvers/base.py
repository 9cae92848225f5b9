"""The interface of batch solvers (`Oracle`), their driver, and the metrics that scale gradients."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from likelier.array_types import Floats
from likelier.penalties import Penalty

# What a batch solver sees of a problem, and how it is driven.


class Metric(Protocol):
    """A matrix M for every Hessian, by its inverse: the units in which a gradient is measured."""

    @property
    def bounds(self) -> bool:
        """Whether M is at least as large as the Hessian in every direction, or as near as rows tell."""

    def solve(self, g: Floats) -> Floats:
        """M⁻¹ g."""


class Oracle(Protocol):
    """All that a batch solver knows of data: F(θ) but for its l1 part. Each call is one pass over rows."""

    penalty: Penalty

    @property
    def size(self) -> int:
        """The length m of θ, flat."""

    def value(self, thetas: Floats) -> Floats:
        """F at each of (T, m): a line search costs one pass."""

    def gradient(self, theta: Floats) -> tuple[float, Floats]:
        """F and its gradient."""

    def hessian(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """F, its gradient and its Hessian (m, m), free directions closed by a gauge term."""

    def nearby(self, theta: Floats) -> tuple[float, Floats, Floats, bool]:
        """The same, but the Hessian may be one from nearby, if there is one at hand; True: it is not."""

    def product(self, theta: Floats, v: Floats) -> Floats:
        """The Hessian times v: where m is large there is no Hessian."""

    def metric(self) -> Metric:
        """The bound on all Hessians: one pass, the first time."""

    def diagonal(self) -> Floats:
        """The diagonal of that bound (m,): one pass, the first time."""

    @property
    def width(self) -> int:
        """The length of a row of θ: its columns, and the intercept last."""

    def restricted(self, columns: NDArray[np.intp]) -> tuple["Oracle", NDArray[np.intp]]:
        """The same problem in some columns, all others at weight 0, and where its θ is in the whole."""


class Iterate(NamedTuple):
    """Where a solver is."""

    theta: Floats
    value: float  # F(θ), all of it
    norm: float  # of the gradient, √(gᵀ M⁻¹ g): about √(2 (F - F*))
    step: float = 0.0  # that led here
    gradient: Floats | None = None
    hessian: Floats | None = None
    stuck: str = ""  # why there is no way on, if there is none


Seen = TypeVar("Seen", bound=Oracle)
Solver = Callable[[Seen, Floats], Iterator[Iterate]]
Watch = Callable[[int, Iterate], None]


@dataclass(frozen=True)
class Solution:
    """Where a solver ended, how it came there, and why it stopped."""

    last: Iterate
    trace: Floats  # (iterations + 1, 3): objective, gradient norm, step
    converged: bool
    reason: str
    solver: str = ""
    why: str = ""  # it was this solver

    @property
    def iterations(self) -> int:
        return len(self.trace) - 1


def run_solver(
    solver: Solver[Seen],
    oracle: Seen,
    theta: Floats,
    *,
    tol: float,
    max_iter: int,
    watch: Watch | None = None,
    done: int = 0,
) -> Solution:
    """Follow a solver until the gradient norm is at most `tol`, or `max_iter` steps are done.

    done: how many of them another solver has taken already.
    """
    trace: list[tuple[float, float, float]] = []
    last: Iterate | None = None
    for number, iterate in enumerate(solver(oracle, theta), done):
        if not np.isfinite(iterate.value):
            return _ended(last or iterate, trace, "the objective is no longer finite")
        last = iterate
        trace.append((iterate.value, iterate.norm, iterate.step))
        if watch is not None:
            watch(number, iterate)
        if iterate.norm <= tol:
            return _ended(last, trace, f"gradient norm {iterate.norm:.2g} <= tol {tol:g}", converged=True)
        if iterate.stuck:
            return _ended(last, trace, iterate.stuck)
        if number == max_iter:
            return _ended(last, trace, f"max_iter={max_iter} steps done, gradient norm {iterate.norm:.2g}")
    assert last is not None
    return _ended(last, trace, "the solver has no further step")


def _ended(
    last: Iterate, trace: list[tuple[float, float, float]], reason: str, *, converged: bool = False
) -> Solution:
    return Solution(last, np.array(trace).reshape(-1, 3), converged, reason)


# ---- steps ---------------------------------------------------------------------------------------
ARMIJO = 1e-4  # the share of the promised decrease that a step must keep


def enough(before: float, after: float, promised: float) -> bool:
    """Whether a step decreased F as its slope promised (Armijo 1966), rounding aside."""
    return bool(after <= before + ARMIJO * promised + 4 * np.finfo(np.float64).eps * abs(before))


def shorter(oracle: Oracle, theta: Floats, d: Floats, before: float, slope: float) -> float:
    """The longest of the steps ½, ¼, ⅛ … along d that decreases F enough; 0: none does. Few passes."""
    t = 0.5 ** np.arange(1.0, 11.0)
    for _ in range(4):
        thetas = theta + t[:, None] * d
        F = oracle.value(thetas) + np.abs(thetas) @ oracle.penalty.l1
        for each, value in zip(t, F, strict=True):
            if np.isfinite(value) and enough(before, value, each * slope):
                return float(each)
        t = t * 0.5**10
    return 0.0


# Matrices in whose units gradients are measured, by their inverses.


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
