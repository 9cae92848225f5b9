"""Mistakes over time."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likelier.plot.axes import COLORS, axes
from likelier.plot.progress import named


def mistakes(found: Any, *, bound: Any = None, ax: Any = None) -> Any:
    """Mistakes so far against rows so far: the flatter the line, the better the model has become.

    found: a fitted `Perceptron`, with a line for each of its problems; or what `lk.progressive` returned,
    or a `Pending`, or several of these by name. bound: what `mistake_bound` found of the perceptron, drawn
    as levels that its mistakes stay below.
    """
    if isinstance(found, BaseEstimator):
        return _of_perceptron(found, bound, axes(ax))
    if bound is not None:
        raise ValueError("bound: there is one for the mistakes of a Perceptron, and for no other model")
    return _of_streams(found, axes(ax))


def _of_perceptron(model: Any, bound: Any, ax: Any) -> Any:
    check_is_fitted(model)
    if not hasattr(model, "mistake_curve_"):
        raise ValueError(
            f"this {type(model).__name__} has no mistake_curve_: a Perceptron has, unless it was saved "
            "without its statistics. Of others draw what lk.progressive returned."
        )
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


def _of_streams(found: Any, ax: Any) -> Any:
    for i, (name, each) in enumerate(named(found).items()):
        curve = each.curve
        if not len(curve.rows):
            raise ValueError(f"{name} was judged by no row: there is nothing to draw")
        label = f"{name}: {curve.mistakes[-1]:.10g} mistakes, {100 * each.figures.error:.2f} %"
        ax.plot([0, *curve.rows], [0, *curve.mistakes], color=COLORS[i % len(COLORS)], label=label)
    ax.set(xlabel="rows", ylabel="mistakes")
    ax.set_ylim(bottom=0)
    ax.legend(framealpha=0.9)
    return ax
