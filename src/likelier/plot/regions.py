"""Decision regions and boundaries, probabilities and scores over two columns."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from likelier.array_types import Floats
from likelier.plot.axes import (
    Columns,
    Table,
    axes,
    color,
    ink,
    label_rows,
    marker,
    nearest,
    support_of,
    tint,
    titled,
)

GRID = 300  # points along each axis
AROUND = 0.08  # of the range of X, left around it
EDGE = 1.6  # width of a boundary
CROWDED = 2000  # rows; of more, points are small and transparent
RUG = 0.035  # of an axis of probabilities, for the rows of each class below it


def decision_regions(
    model: Any,
    X: Any,
    y: Any,
    *,
    columns: Any = None,
    at: Mapping[Any, Any] | None = None,
    levels: float | Sequence[float] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the decision regions of a classifier: rows, boundaries (solid), probability contours (dashed).

    For one column, the probabilities are drawn against it.

    Parameters
    ----------
    model : estimator
        A fitted classifier.
    X : array or data frame
        The rows.
    y : array of shape (n,)
        The labels of the rows.
    columns : int, str or list of these, default=None
        The one or two columns to draw, by number or name; needed if X has more than two. For a generative
        model the others are integrated out (`model.marginal`); for other models they are fixed at their
        means, or most frequent values.
    at : dict of int or str to value, default=None
        Values at which the other columns are fixed, for generative models as well.
    levels : float or list of float, default=None
        The probabilities of the contours: for binary problems those of the second class, None is 0.1, 0.25,
        0.75 and 0.9; for more classes those of each class, None is 0.75 and 0.9. For binary models without
        probabilities they are scores, None is -1 and 1.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ValueError
        If levels are given for a model of more than two classes without probabilities.

    See Also
    --------
    probability_contours : The probability of one class.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = lk.QuadraticDiscriminantAnalysis().fit(X, y)
    >>> ax = lk.plot.decision_regions(model, X, y, columns=["petal length (cm)", "petal width (cm)"])
    >>> ax.get_xlabel()
    'petal length (cm)'
    """
    plane = Plane.of(model, X, columns, at)
    labels = label_rows(y, plane.n, plane.classes)
    if levels is not None and len(plane.classes) > 2 and not hasattr(model, "predict_proba"):
        raise ValueError(f"levels: scores of {len(plane.classes)} classes have none, probabilities would")
    ax = axes(ax)
    S, kind = plane.answers()
    if plane.up is None:
        return titled(_strips(ax, plane, labels, S, kind), "Decision regions")
    _fill(ax, plane, S)
    _points(ax, plane, labels)
    _lines(ax, plane, S, kind, None if levels is None else np.ravel(levels).tolist())
    return titled(_finished(ax, plane), "Decision regions")


def probability_contours(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    label: Any = None,
    columns: Any = None,
    at: Mapping[Any, Any] | None = None,
    levels: Sequence[float] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the probability p(C | x) of a class as filled contours: the darker, the more likely.

    For one column, the probability is drawn against it.

    Parameters
    ----------
    model : estimator
        A fitted classifier with `predict_proba`.
    X : array or data frame
        The rows, which determine the range of the axes.
    y : array of shape (n,), default=None
        The labels of the rows; with them the rows are drawn on top.
    label : label, default=None
        The class. None is the second of two; for more classes, each where its probability is above 0.5.
    columns : int, str or list of these, default=None
        The one or two columns to draw, as in `decision_regions`.
    at : dict of int or str to value, default=None
        Values at which the other columns are fixed, as in `decision_regions`.
    levels : list of float, default=None
        The probabilities of the contours, at least two. None is every tenth.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    See Also
    --------
    decision_regions : The regions of all classes.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = lk.LinearDiscriminantAnalysis().fit(X[:, [0, 10]], y)
    >>> ax = lk.plot.probability_contours(model, X[:, [0, 10]], y, label=0)
    """
    plane = Plane.of(model, X, columns, at)
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"a {type(model).__name__} gives no probabilities: draw its decision_regions")
    labels = None if y is None else label_rows(y, plane.n, plane.classes)
    classes = plane.classes.tolist()
    if label is not None and label not in classes:
        raise ValueError(f"label must be one of the classes {classes}; got {label!r}.")
    ax = axes(ax)
    P, _ = plane.answers()
    one = classes[1] if label is None and len(classes) == 2 else label
    which = range(len(classes)) if one is None else [classes.index(one)]
    title = f"Probability of {'each class' if one is None else one}"
    if plane.up is None:
        _curves(ax, plane, P, which)
        return titled(_finished(ax, plane, labels), title)
    usual = np.linspace(0, 1, 11)
    bounds = usual[5 if one is None else 0 :] if levels is None else np.unique(levels)
    for k in which:
        _shade(ax, plane, P[:, k], bounds, k)
    if labels is not None:
        _points(ax, plane, labels)
    return titled(_finished(ax, plane), title)


# ---- a plane through the columns -----------------------------------------------------------------
class Plane(NamedTuple):
    """Two columns, or one, of a model that may have more."""

    model: Any  # of all columns, or marginal
    table: Table
    columns: Columns  # (2,) or (1,)
    across: Floats  # (GRID,)
    up: Floats | None
    held: dict[int, Any] | None  # the others; None: there are none, or they are integrated out

    @classmethod
    def of(cls, model: Any, X: Any, columns: Any, at: Mapping[Any, Any] | None) -> Self:
        if not is_classifier(model):
            raise ValueError(f"{model!r:.80} is not a classifier: decision regions need classes")
        check_is_fitted(model)
        table = Table.of(X)
        shown = table.drawn(columns)
        rest = np.setdiff1d(np.arange(table.shape[1]), shown)
        asked, held = model, None
        if len(rest) and at is None and hasattr(model, "marginal"):
            asked = model.marginal(table.keys(shown, model))
        elif len(rest) or at is not None:
            held = _held(table, rest, at or {})
        ranges = [_range(table.numbers(int(j))) for j in shown]
        return cls(asked, table, shown, ranges[0], ranges[1] if len(ranges) == 2 else None, held)

    @property
    def n(self) -> int:
        return self.table.shape[0]

    @property
    def classes(self) -> NDArray[Any]:
        return np.asarray(self.model.classes_)

    @property
    def points(self) -> Floats:
        """(n, 2) or (n, 1)."""
        return np.column_stack([self.table.numbers(int(j)) for j in self.columns])

    def answers(self) -> tuple[Floats, str]:
        """Of every point of the grid a column for each class, the largest its region: probabilities, or
        scores.
        """
        ends = [self.across] if self.up is None else [self.across, self.up]
        at = [each.ravel() for each in np.meshgrid(*map(self._asked, range(len(ends)), ends))]
        if self.held is None:
            rows = self.table.alone(self.columns, at)
        else:
            rows = self.table.filled(self.columns, at, self.held)
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(rows)), "probability"
        Z = np.asarray(self.model.decision_function(rows))
        return np.column_stack([-Z, Z]) / 2 if Z.ndim == 1 else Z, "score"

    def _asked(self, number: int, values: Floats) -> Floats:
        """What the model is asked about at these places of a column: counts are whole wherever they lie."""
        column = int(self.columns[number])
        place, p = (number, len(self.columns)) if self.held is None else (column, self.table.shape[1])
        return nearest(support_of(self.model), values, self.table.numbers(column), place, p)


def _held(table: Table, rest: Columns, at: Mapping[Any, Any]) -> dict[int, Any]:
    given = dict(zip(table.places(list(at)).tolist(), at.values(), strict=True))
    drawn = [table.name(j) for j in given if j not in rest]
    if drawn:
        raise ValueError(f"at: {', '.join(drawn)} is drawn on an axis and cannot be held at one value")
    return {int(j): given[j] if j in given else table.typical(int(j)) for j in rest}


def _range(column: Floats) -> Floats:
    low, high = np.nanmin(column), np.nanmax(column)
    around = AROUND * (high - low) if high > low else 1.0
    return np.linspace(low - around, high + around, GRID)


# ---- two columns ---------------------------------------------------------------------------------
def _fill(ax: Any, plane: Plane, S: Floats) -> None:
    assert plane.up is not None
    tints = np.array([tint(ax, k, 0.2) for k in range(S.shape[1])])
    picture = tints[S.argmax(axis=1)].reshape(GRID, GRID, 3)
    extent = (plane.across[0], plane.across[-1], plane.up[0], plane.up[-1])
    ax.imshow(picture, extent=extent, origin="lower", aspect="auto", interpolation="nearest", zorder=0)


def _points(ax: Any, plane: Plane, labels: NDArray[Any]) -> None:
    points, size = plane.points, 26 if plane.n <= 500 else 10
    style = {"s": size, "edgecolors": [ax.get_facecolor()], "linewidths": 0.5}
    if plane.n > CROWDED:  # points that lie on each other show how many they are
        style = {"s": 5, "linewidths": 0, "alpha": float(np.clip(CROWDED / plane.n, 0.08, 0.6))}
    for k, label in enumerate(plane.classes):
        ax.scatter(*points[labels == label].T, color=[color(k)], marker=marker(k), label=label, **style)


def _lines(ax: Any, plane: Plane, S: Floats, kind: str, levels: Sequence[float] | None) -> None:
    K = S.shape[1]
    faint = {"linestyles": "dashed", "linewidths": 0.9}
    if K == 2:
        field = S[:, 1] if kind == "probability" else S[:, 1] - S[:, 0]
        usual = (0.1, 0.25, 0.75, 0.9) if kind == "probability" else (-1.0, 1.0)
        _contour(
            ax, plane, field, [0.5 if kind == "probability" else 0.0], colors=[ink(ax)], linewidths=EDGE
        )
        drawn = _contour(
            ax, plane, field, usual if levels is None else levels, colors=[ink(ax, 0.75)], **faint
        )
        if drawn is not None:
            ax.clabel(drawn, fmt="%g", fontsize=8)
        return
    for k in range(K):
        lead = S[:, k] - np.delete(S, k, axis=1).max(axis=1)
        _contour(ax, plane, lead, [0.0], colors=[ink(ax)], linewidths=EDGE)
        if kind == "probability":
            at = (0.75, 0.9) if levels is None else levels
            _contour(ax, plane, S[:, k], at, colors=[color(k)], **faint)


def _contour(ax: Any, plane: Plane, field: Floats, at: Sequence[float], **how: Any) -> Any:
    inside = sorted(level for level in at if field.min() < level < field.max())
    if not inside:
        return None
    return ax.contour(plane.across, plane.up, field.reshape(GRID, GRID), inside, **how)


def _shade(ax: Any, plane: Plane, p: Floats, bounds: Floats, k: int) -> None:
    """Between each two levels a tint of the class, and a line at each."""
    if len(bounds) < 2:
        raise ValueError(f"levels={bounds.tolist()}: at least two are needed to fill between them")
    shares = 0.6 * (bounds[:-1] + bounds[1:]) / 2
    field = p.reshape(GRID, GRID)
    tints = [tint(ax, k, float(share)) for share in shares]
    ax.contourf(plane.across, plane.up, field, bounds, colors=tints, zorder=0)
    drawn = _contour(ax, plane, p, bounds.tolist(), colors=[ink(ax, 0.6)], linewidths=0.6)
    if drawn is not None:
        ax.clabel(drawn, fmt="%g", fontsize=8)


# ---- one column ----------------------------------------------------------------------------------
def _strips(ax: Any, plane: Plane, labels: NDArray[Any], S: Floats, kind: str) -> Any:
    """Regions as strips, with the curves of probabilities or scores."""
    said = S.argmax(axis=1)
    cuts = np.flatnonzero(np.diff(said))
    ends = [plane.across[0], *(plane.across[cuts] + plane.across[cuts + 1]) / 2, plane.across[-1]]
    for low, high, k in zip(ends[:-1], ends[1:], said[[0, *(cuts + 1)]], strict=True):
        ax.axvspan(low, high, color=tint(ax, int(k), 0.2), linewidth=0, zorder=0)
    for end in ends[1:-1]:
        ax.axvline(end, color=ink(ax), linewidth=EDGE)
    _curves(ax, plane, S, range(S.shape[1]), kind)
    return _finished(ax, plane, labels)


def _curves(ax: Any, plane: Plane, S: Floats, which: Sequence[int], kind: str = "probability") -> None:
    for k in which:
        ax.plot(plane.across, S[:, k], color=color(k), label=plane.classes[k])
    ax.set_ylabel(kind)
    if kind == "probability":
        ax.set_ylim(-0.02, 1.02)


def _finished(ax: Any, plane: Plane, labels: NDArray[Any] | None = None) -> Any:
    """Names and ends of the axes; of a single column, the rows below them."""
    ax.set_xlim(*plane.across[[0, -1]])
    ax.set_xlabel(plane.table.name(int(plane.columns[0])))
    if plane.up is not None:
        ax.set_ylim(*plane.up[[0, -1]])
        ax.set_ylabel(plane.table.name(int(plane.columns[1])))
    elif labels is not None:
        low, high = ax.get_ylim()
        for k, label in enumerate(plane.classes):
            x = plane.points[labels == label, 0]
            height = np.full(len(x), low - RUG * (k + 1) * (high - low))
            ax.scatter(x, height, s=18, color=[color(k)], marker="|", linewidths=0.8)
        ax.set_ylim(low - RUG * (len(plane.classes) + 1) * (high - low), high)
    shown = len(ax.get_legend_handles_labels()[0])
    if shown:
        ax.legend(framealpha=0.9, ncols=1 + shown // 6)
    return ax
