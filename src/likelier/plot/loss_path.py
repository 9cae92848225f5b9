"""The paths of solvers over the contours of a loss."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likelier.array_types import Floats
from likelier.choose_solver import chosen
from likelier.estimators import validation
from likelier.estimators.discriminative.logistic import LogisticRegression
from likelier.objective import Objective
from likelier.plot.axes import Table, axes, color, ink, marker, titled
from likelier.solve import Terms, solve
from likelier.solvers import Iterate
from likelier.states import Setting

GRID = 160  # points along each axis
LEVELS = 14
AROUND = 0.08  # of the window, left around it
STEPS = 1000
MARKED = 20  # steps up to so many are marked


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
    solvers: str | Sequence[str] = ("steepest", "newton"),
    C: float = 1.0,
    tol: float = 1e-6,
    ax: Any = None,
) -> Any:
    """Draw the paths of solvers from 0 to the minimum of the loss of logistic regression, on its contours.

    There are two weights: those of the two columns of X, without an intercept, or the weight of its one
    column and the intercept.

    Parameters
    ----------
    X : array or data frame of shape (n, 1) or (n, 2)
        The rows.
    y : array of shape (n,)
        The labels, of two classes.
    solvers : str or list of str, default=("steepest", "newton")
        Solvers of `LogisticRegression`, and "steepest": textbook gradient descent with exact line search,
        in the units of the weights. "gradient" preconditions its steps.
    C : float, default=1.0
        The inverse of the regularisation strength, as in `LogisticRegression`.
    tol : float, default=1e-6
        The tolerance at which the solvers stop.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = lk.plot.loss_path(X[50:, 2:], y[50:], solvers=["steepest", "newton"])
    """
    table = Table.of(X)
    if table.shape[1] not in (1, 2):
        raise ValueError(
            "X must have two columns, of two weights, or one, of a weight and the intercept; got shape "
            f"{table.shape}."
        )
    solvers = [solvers] if isinstance(solvers, str) else solvers
    if not solvers:
        raise ValueError("solvers is empty: name one at least")
    objective = _objective(table.values, y, C)
    paths = [_steepest(objective, tol) if s == "steepest" else _path(objective, s, tol) for s in solvers]
    ax = axes(ax)
    _contours(ax, objective, *_window(objective, paths))
    for i, path in enumerate(paths):
        # Where paths meet, all of them are seen; many short steps are not hidden by their marks.
        width = (4 + 4 * 0.5**i) / 3
        size = 3 * width if len(path.weights) <= MARKED else 1.5 * width
        style = {"color": color(i), "marker": marker(i), "markersize": size, "linewidth": width}
        ax.plot(*path.weights.T, label=path.label, **style)
    ax.set_xlabel(f"weight of {table.name(0)}")
    ax.set_ylabel(f"weight of {table.name(1)}" if table.shape[1] == 2 else "intercept")
    ax.legend(framealpha=0.9)
    return titled(ax, "Loss and solver paths")


def _objective(X: Floats, y: Any, C: float) -> Objective:
    model = LogisticRegression(C=C, fit_intercept=X.shape[1] == 1)
    rows = model._rows(validation.training(model, X, y, None))
    if len(rows.classes) != 2:
        raise ValueError(f"y has {len(rows.classes)} classes: two weights suffice for two classes only")
    return model._objective(rows)


def _path(objective: Objective, solver: str, tol: float) -> Path:
    seen: list[Floats] = []

    def watch(number: int, iterate: Iterate) -> None:
        seen.append(_shown(iterate.theta, objective.setting))

    choice = chosen(solver, objective)
    start = np.zeros(objective.size)
    found = solve(objective, start, choice, Terms(tol, STEPS, fresh=False), watch)
    return Path(solver, np.array(seen), found.converged)


def _steepest(objective: Objective, tol: float) -> Path:
    """θ -= η ∇F in the weights as they are shown (Cauchy 1847), η by which F is least along the line."""
    setting, seen = objective.setting, [np.zeros(2)]
    way = _hidden(np.eye(2), setting) - _hidden(np.zeros((1, 2)), setting)  # (2, m)
    for _ in range(STEPS):
        at = _hidden(seen[-1][None], setting)[0]
        _, g, H = objective.hessian(at)
        down = -way @ g
        if np.linalg.norm(down) <= tol:
            return Path("steepest", np.array(seen), True)
        bend = float(down @ way @ H @ way.T @ down)
        eta = float(down @ down) / bend if bend > 0 else 1.0
        for wide in (10.0, 1.15):  # roughly, then finely
            trial = eta * np.geomspace(1 / wide, wide, 41)
            F = objective.value(_hidden(seen[-1] + trial[:, None] * down, setting))
            eta = float(trial[F.argmin()])
        seen.append(seen[-1] + eta * down)
    return Path("steepest", np.array(seen), False)


# ---- two weights ---------------------------------------------------------------------------------
def _shown(theta: Floats, setting: Setting) -> Floats:
    """(2,): of θ as solvers have it, the weights; or weight and intercept at x = 0."""
    return theta[:2] if setting.p == 2 else np.array([theta[0], theta[1] - theta[0] * setting.shift[0]])


def _hidden(shown: Floats, setting: Setting) -> Floats:
    """The way back, of (T, 2)."""
    if setting.p == 2:
        return np.column_stack([shown, np.zeros(len(shown))])
    return np.column_stack([shown[:, 0], shown[:, 1] + shown[:, 0] * setting.shift[0]])


def _window(objective: Objective, paths: Sequence[Path]) -> tuple[Floats, Floats]:
    """The lower left and the upper right corner: all paths are in it, and as much of the contour through
    their start as there would be if the surface were a paraboloid.
    """
    setting, seen = objective.setting, np.vstack([path.weights for path in paths])
    F = objective.value(_hidden(seen, setting))
    best = seen[F.argmin()]
    _, _, H = objective.hessian(_hidden(best[None], setting)[0])
    way = _hidden(np.eye(2), setting) - _hidden(np.zeros((1, 2)), setting)  # (2, m)
    A = way @ H @ way.T
    unit = np.sqrt(np.diagonal(A))
    unit = np.where(unit > 0, unit, 1.0)
    wide = np.diagonal(np.linalg.pinv(A / np.outer(unit, unit), hermitian=True))  # a trough has no far end
    reach = np.sqrt(2 * (F[0] - F.min()) * wide) / unit
    low, high = np.minimum(seen.min(axis=0), best - reach), np.maximum(seen.max(axis=0), best + reach)
    around = AROUND * np.where(high > low, high - low, 1.0)
    return low - around, high + around


def _contours(ax: Any, objective: Objective, low: Floats, high: Floats) -> None:
    """The loss, at levels that crowd towards its least."""
    across, up = np.meshgrid(*(np.linspace(*ends, GRID) for ends in zip(low, high, strict=True)))
    at = _hidden(np.column_stack([across.ravel(), up.ravel()]), objective.setting)
    F = np.concatenate([objective.value(some) for some in np.array_split(at, GRID)])
    levels = F.min() + (F.max() - F.min()) * (np.arange(1, LEVELS) / LEVELS) ** 3
    drawn = ax.contour(across, up, F.reshape(GRID, GRID), levels, colors=[ink(ax, 0.35)], linewidths=0.8)
    ax.clabel(drawn, levels[::2], fmt="%.2g", fontsize=8)
