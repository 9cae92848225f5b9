"""The result of a discriminative fit: weights, and the trace of the solver."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from likelier.array_types import Floats
from likelier.objective import Objective
from likelier.scores import Affine, Scores
from likelier.solvers import Solution
from likelier.states import Setting


@dataclass(frozen=True)
class SolverTrace:
    """The trace of a solver: objective, gradient norm and step of each iteration, and why it stopped."""

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
    """z = W (x - shift) + b; for binary problems W has one row."""

    W: Floats  # (q, p)
    b: Floats  # (q,)
    shift: Floats  # (p,)
    course: SolverTrace
    single: bool = False  # the rows were of single precision: so are the weights that are shown

    @property
    def free(self) -> int:
        """Weights and intercepts other than 0."""
        return int(np.count_nonzero(self.W) + np.count_nonzero(self.b))

    @classmethod
    def of(cls, solution: Solution, setting: Setting, *, single: bool = False) -> Self:
        return cls.at(
            solution.last.theta.reshape(setting.q, -1), setting, SolverTrace.of(solution), single=single
        )

    @classmethod
    def at(cls, T: Floats, setting: Setting, course: SolverTrace, *, single: bool = False) -> Self:
        """From a row [w, b] for each score, in the units of a fit."""
        W, b, shift = T[:, :-1].copy(), T[:, -1].copy(), setting.shift
        if setting.unit is not None:
            W, shift = W / setting.unit, shift * setting.unit
        return cls(W, b, shift, course, single)

    def __getstate__(self) -> dict[str, Any]:
        """What it is made of, not what it has worked out since."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def assigned(self, coef: Any, intercept: Any) -> Self:
        """The same, or, where other weights were put in the place of those shown, a model of them.

        What is shown may be our own arrays: then whatever was written to them is what we are.
        """
        if issparse(coef) or (coef is self.W and intercept is self.b):
            return self
        W, b = self._compared
        if same(coef, W) and same(intercept, b):
            return self
        W = np.array(np.atleast_2d(coef), dtype=np.float64)
        b = np.broadcast_to(np.asarray(intercept, dtype=np.float64), len(W)).copy()
        return replace(self, W=W, b=b, shift=np.zeros(W.shape[1]))

    @property
    def intercept(self) -> Floats:
        """z at x = 0."""
        return np.asarray(self.b - self.W @ self.shift)

    @property
    def scores(self) -> Scores:
        """A score for each class: of two, 0 and z, whose softmax is σ(z)."""
        b = self.b
        if len(b) == 1:
            b = np.array([0.0, b[0]])
        return Scores((Affine(b, np.ascontiguousarray(self.W), self.shift),))

    def theta(self, setting: Setting) -> Floats:
        """About another shift, and in the units of another fit, flat."""
        unit = 1.0 if setting.unit is None else setting.unit
        b = self.b + self.W @ (setting.shift * unit - self.shift)
        return np.column_stack([self.W * unit, b]).ravel()

    @property
    def lines(self) -> dict[str, Any]:
        """The weights, as they are shown: our own arrays, unless they are about a shift or rounded."""
        if not self.single and not self.shift.any():
            return {"coef_": self.W, "intercept_": self.b}
        W, b = self._compared
        return {"coef_": W.copy(), "intercept_": b.copy()}

    @cached_property
    def _compared(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """What the weights that are shown would be, had nobody written to them."""
        W, b = self.W, self.intercept
        if not self.single:
            return W, b
        # Of float32 rows in float32, as scikit-learn shows them, but for weights that would be infinite.
        most = max(np.abs(W).max(initial=0.0), np.abs(b).max(initial=0.0))
        kind = np.float32 if most <= np.finfo(np.float32).max else np.float64
        return W.astype(kind), b.astype(kind)

    @property
    def shown(self) -> dict[str, Any]:
        """As fitted attributes."""
        return self.lines | self.course.shown


def same(given: Any, kept: NDArray[Any]) -> bool:
    """Whether what users may have written to is what it was."""
    if type(given) is np.ndarray and given.shape == kept.shape:
        return bool((given == kept).all())  # np.array_equal takes three times as long
    return np.array_equal(given, kept)


def by_class(W: Floats, b: Floats) -> tuple[Floats, Floats]:
    """A row for each class: of two classes the first scores 0."""
    return (np.vstack([np.zeros_like(W), W]), np.append(0.0, b)) if len(W) == 1 else (W, b)


def begun(start: Weights, objective: Objective) -> Floats:
    """θ at the weights of an earlier fit; an intercept that is no longer fitted is set to 0."""
    theta = start.theta(objective.setting)
    if not objective.intercept:
        theta[objective.setting.p :: objective.width] = 0.0
    return theta
