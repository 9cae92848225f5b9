"""Where a classifier of two columns says what."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from likelier.plot.axes import COLORS, MARKERS, Floats, Table, axes

GRID = 300  # points along each axis
AROUND = 0.08  # of the range of X, left around it


def regions(
    model: Any, X: Any, y: Any, *, ax: Any = None, levels: float | Sequence[float] | None = None
) -> Any:
    """Points, boundaries (solid) and contours of the probabilities (dashed) of a fitted classifier.

    model: any with two columns. levels: of two classes, the probabilities of the second, by default 0.1,
    0.25, 0.75 and 0.9; of more, those of each class. Where a model has no probabilities they are scores
    of two classes, by default the margins -1 and 1; scores of more have none.
    """
    table, labels = Table.of(X), np.asarray(y)
    classes = _classes(model, table, labels)
    if levels is not None and len(classes) > 2 and not hasattr(model, "predict_proba"):
        raise ValueError(f"levels: scores of {len(classes)} classes have none, probabilities would")
    ax = axes(ax)
    across, up = (_range(column) for column in table.values.T)
    at = np.column_stack([each.ravel() for each in np.meshgrid(across, up)])
    S, kind = _answers(model, table.rows(at))  # (GRID², K)
    _fill(ax, across, up, S)
    for k, label in enumerate(classes):
        rows, color, marker = table.values[labels == label], _color(k), MARKERS[k % len(MARKERS)]
        ax.scatter(
            *rows.T, s=26, color=color, marker=marker, edgecolors="white", linewidths=0.5, label=label
        )
    _lines(ax, across, up, S, kind, None if levels is None else np.ravel(levels).tolist())
    ax.set(xlim=across[[0, -1]], ylim=up[[0, -1]])
    names = table.names or ["column 0", "column 1"]
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    ax.legend(framealpha=0.9)
    return ax


def _classes(model: Any, table: Table, labels: NDArray[Any]) -> NDArray[Any]:
    if table.values.ndim != 2 or table.values.shape[1] != 2:
        raise ValueError(f"X has shape {table.values.shape}: a plane has two columns")
    if labels.shape != (len(table.values),):
        raise ValueError(f"y has shape {labels.shape}: it is a label for each of {len(table.values)} rows")
    if not is_classifier(model):
        raise ValueError(f"{model!r:.80} is no classifier: regions are those of classes")
    check_is_fitted(model)
    unknown = set(labels.tolist()) - set(model.classes_.tolist())
    if unknown:
        some, known = (sorted(map(repr, each)) for each in (unknown, model.classes_.tolist()))
        raise ValueError(
            f"y has labels that the model does not know: {', '.join(some[:10])}; "
            f"it knows {', '.join(known[:10])}"
        )
    return np.asarray(model.classes_)


def _color(k: int) -> str:
    return COLORS[k % len(COLORS)]


def _range(column: Floats) -> Floats:
    low, high = np.nanmin(column), np.nanmax(column)
    around = AROUND * (high - low) if high > low else 1.0
    return np.linspace(low - around, high + around, GRID)


def _answers(model: Any, rows: Any) -> tuple[Floats, str]:
    """A column for each class, the largest its region: probabilities, or scores."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows)), "probability"
    Z = np.asarray(model.decision_function(rows))
    return np.column_stack([-Z, Z]) / 2 if Z.ndim == 1 else Z, "score"


def _fill(ax: Any, across: Floats, up: Floats, S: Floats) -> None:
    from matplotlib.colors import to_rgb

    tints = np.array([to_rgb(_color(k)) for k in range(S.shape[1])]) * 0.15 + 0.85
    picture = tints[S.argmax(axis=1)].reshape(GRID, GRID, 3)
    extent = (across[0], across[-1], up[0], up[-1])
    ax.imshow(picture, extent=extent, origin="lower", aspect="auto", interpolation="nearest", zorder=0)


def _lines(
    ax: Any, across: Floats, up: Floats, S: Floats, kind: str, levels: Sequence[float] | None
) -> None:
    def contour(field: Floats, at: Sequence[float], **how: Any) -> Any:
        inside = sorted(level for level in at if field.min() < level < field.max())
        return ax.contour(across, up, field.reshape(GRID, GRID), inside, **how) if inside else None

    K = S.shape[1]
    faint = {"linestyles": "dashed", "linewidths": 0.9}
    if K == 2:
        field = S[:, 1] if kind == "probability" else S[:, 1] - S[:, 0]
        usual = (0.1, 0.25, 0.75, 0.9) if kind == "probability" else (-1.0, 1.0)
        contour(field, [0.5 if kind == "probability" else 0.0], colors="0.15", linewidths=1.6)
        drawn = contour(field, usual if levels is None else levels, colors="0.35", **faint)
        if drawn is not None:
            ax.clabel(drawn, fmt="%g", fontsize=8)
        return
    for k in range(K):
        lead = S[:, k] - np.delete(S, k, axis=1).max(axis=1)
        contour(lead, [0.0], colors="0.15", linewidths=1.6)
        if kind == "probability":
            contour(S[:, k], (0.75, 0.9) if levels is None else levels, colors=_color(k), **faint)
