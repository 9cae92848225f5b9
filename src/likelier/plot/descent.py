"""How solvers find their way."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likelier.estimators.logistic import LogisticRegression
from likelier.objective import Objective
from likelier.plot.axes import COLORS, MARKERS, Floats, Table, axes
from likelier.solvers import Iterate
from likelier.solving import Terms, chosen, solve
from likelier.states import Setting

GRID = 160  # points along each axis
LEVELS = 12
STEPS = 1000


class Path(NamedTuple):
    """Where a solver has been, and whether it arrived."""

    solver: str
    weights: Floats  # (steps + 1, 2)
    arrived: bool

    @property
    def label(self) -> str:
        steps = len(self.weights) - 1
        return f"{self.solver}: {steps} step{'s' * (steps != 1)}{'' if self.arrived else ', not there yet'}"


def loss_path(
    X: Any,
    y: Any,
    *,
    solvers: Sequence[str] = ("gradient", "newton"),
    C: float = 1.0,
    tol: float = 1e-6,
    ax: Any = None,
) -> Any:
    """The ways of solvers from weights of 0 to the least of logistic regression's loss, on its contours.

    Two weights: those of the two columns of X without an intercept, or of its one column and the
    intercept. C as in `LogisticRegression`.
    """
    table = Table.of(X)
    if table.values.ndim != 2 or table.values.shape[1] not in (1, 2):
        shape = table.values.shape
        raise ValueError(f"X has shape {shape}: two columns are two weights, or one and the intercept")
    objective = _objective(table.values, y, C)
    paths = [_path(objective, solver, tol) for solver in solvers]
    ax = axes(ax)
    _contours(ax, objective, np.vstack([path.weights for path in paths]))
    for i, path in enumerate(paths):
        color, marker = COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]
        ax.plot(*path.weights.T, color=color, marker=marker, markersize=4.5, label=path.label)
    names = [f"weight of {name}" for name in table.names or ["column 0", "column 1"]]
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1] if table.values.shape[1] == 2 else "intercept")
    ax.legend(framealpha=0.9)
    return ax


def _objective(X: Floats, y: Any, C: float) -> Objective:
    model = LogisticRegression(C=C, fit_intercept=X.shape[1] == 1)
    source, target = model._rows(X, y, None)
    if len(target) != 2:
        raise ValueError(f"y has {len(target)} classes: two weights tell two apart")
    return model._objective(source, target)


def _path(objective: Objective, solver: str, tol: float) -> Path:
    seen: list[Floats] = []

    def watch(number: int, iterate: Iterate) -> None:
        seen.append(_shown(iterate.theta, objective.setting))

    choice = chosen(solver, objective)
    start = np.zeros(objective.size)
    found = solve(objective, start, choice, Terms(tol, STEPS, fresh=False), watch)
    return Path(solver, np.array(seen), found.converged)


# ---- two weights ---------------------------------------------------------------------------------
def _shown(theta: Floats, setting: Setting) -> Floats:
    """(2,): of θ as solvers have it, the weights; or weight and intercept at x = 0."""
    return theta[:2] if setting.p == 2 else np.array([theta[0], theta[1] - theta[0] * setting.shift[0]])


def _hidden(shown: Floats, setting: Setting) -> Floats:
    """The way back, of (T, 2)."""
    if setting.p == 2:
        return np.column_stack([shown, np.zeros(len(shown))])
    return np.column_stack([shown[:, 0], shown[:, 1] + shown[:, 0] * setting.shift[0]])


def _contours(ax: Any, objective: Objective, seen: Floats) -> None:
    """The loss about where solvers have been, at levels that crowd towards its least."""
    low, high = seen.min(axis=0), seen.max(axis=0)
    around = 0.25 * np.where(high > low, high - low, 1.0)
    sides = [np.linspace(*ends, GRID) for ends in zip(low - around, high + around, strict=True)]
    across, up = np.meshgrid(*sides)
    at = _hidden(np.column_stack([across.ravel(), up.ravel()]), objective.setting)
    F = np.concatenate([objective.value(some) for some in np.array_split(at, GRID)])
    least = float(objective.value(_hidden(seen, objective.setting)).min())
    steps = np.linspace(0, 1, LEVELS + 1)[1:] ** 2
    drawn = ax.contour(
        across, up, F.reshape(GRID, GRID), least + (F.max() - least) * steps, colors="0.7", linewidths=0.8
    )
    ax.clabel(drawn, drawn.levels[::3], fmt="%.2g", fontsize=8)
