"""What a discriminative fit leaves: weights, and how they were come by."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.scores import Affine, Scores
from likelier.solvers import Solution
from likelier.states import Setting

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Course:
    """The way of a solver: a row for each step (objective, gradient norm, step), and why it ended."""

    trace: Floats  # (steps + 1, 3)
    converged: bool
    reason: str
    solver: str
    why: str  # it was this solver

    @classmethod
    def of(cls, solution: Solution) -> Self:
        return cls(solution.trace, solution.converged, solution.reason, solution.solver, solution.why)

    @property
    def shown(self) -> dict[str, Any]:
        """As fitted attributes."""
        return {
            "n_iter_": np.array([max(len(self.trace) - 1, 0)], dtype=np.int32),
            "trace_": self.trace,
            "converged_": self.converged,
            "stop_reason_": self.reason,
            "solver_": self.solver,
            "solver_reason_": self.why,
        }


@dataclass(frozen=True)
class Weights:
    """z = W (x - shift) + b. Two classes are one row."""

    W: Floats  # (q, p)
    b: Floats  # (q,)
    shift: Floats  # (p,)
    course: Course
    single: bool = False  # the rows were of single precision: so are the weights that are shown

    @property
    def free(self) -> int:
        """Weights and intercepts other than 0."""
        return int(np.count_nonzero(self.W) + np.count_nonzero(self.b))

    @classmethod
    def of(cls, solution: Solution, setting: Setting, *, single: bool = False) -> Self:
        T = solution.last.theta.reshape(setting.q, -1)
        return cls(T[:, :-1].copy(), T[:, -1].copy(), setting.shift, Course.of(solution), single)

    @property
    def intercept(self) -> Floats:
        """z at x = 0."""
        return np.asarray(self.b - self.W @ self.shift)

    @property
    def scores(self) -> Scores:
        """A score for each class: of two, 0 and z, whose softmax is σ(z)."""
        W, b = by_class(self.W, self.b)
        return Scores((Affine(b, np.ascontiguousarray(W), self.shift),))

    def theta(self, setting: Setting) -> Floats:
        """About another shift, flat."""
        b = self.b + self.W @ (setting.shift - self.shift)
        return np.column_stack([self.W, b]).ravel()

    @property
    def shown(self) -> dict[str, Any]:
        """As fitted attributes."""
        W, b = self.W, self.intercept
        # Of float32 rows in float32, as scikit-learn shows them, but for weights that would be infinite.
        most = max(np.abs(W).max(initial=0.0), np.abs(b).max(initial=0.0))
        kind = np.float32 if self.single and most <= np.finfo(np.float32).max else np.float64
        lines = {"coef_": W.astype(kind), "intercept_": b.astype(kind)}
        return lines | self.course.shown


def by_class(W: Floats, b: Floats) -> tuple[Floats, Floats]:
    """A row for each class: of two classes the first scores 0."""
    return (np.vstack([np.zeros_like(W), W]), np.append(0.0, b)) if len(W) == 1 else (W, b)
