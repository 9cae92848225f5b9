"""Mistakes over time."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likelier.plot.axes import COLORS, axes


def mistakes(model: Any, *, bound: Any = None, ax: Any = None) -> Any:
    """How many mistakes a model had made after 1, 2, 4, … rows, with a line for each problem.

    bound: what `mistake_bound` found, drawn as a level that they stay below.
    """
    check_is_fitted(model)
    if not hasattr(model, "mistake_curve_"):
        raise ValueError(
            f"this {type(model).__name__} has no mistake_curve_: a Perceptron has, unless it was saved "
            "without its statistics."
        )
    ax = axes(ax)
    turns, *counts = model.mistake_curve_.T
    classes = [str(label) for label in model.classes_][-len(counts) :]
    levels: Any = [] if bound is None else np.atleast_1d(bound.bound)
    for k, (label, count) in enumerate(zip(classes, counts, strict=True)):
        color = COLORS[k % len(COLORS)]
        ax.plot(turns, count, "o-", color=color, markersize=4, label=f"{label} against the rest")
        if len(levels):
            ax.axhline(levels[k], color=color, linestyle="--", linewidth=1)
    ax.plot(turns, turns, color="0.7", linewidth=1, label="always mistaken", zorder=0)
    ax.set(xscale="log", yscale="log", xlabel="rows seen", ylabel="mistakes")
    ax.legend(frameon=False)
    return ax
