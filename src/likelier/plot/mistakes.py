"""Mistakes over time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likelier.plot.axes import MUTED, axes, color, ink, marker


def mistakes(found: Any, *, bound: Any = None, ax: Any = None) -> Any:
    """Mistakes so far against rows so far: the flatter the line, the better the model has become.

    found: a fitted `Perceptron`, with a line for each of its problems; or what `lk.progressive` returned,
    or a `Pending`, or several of these by name. bound: what `mistake_bound` found of the perceptron, drawn
    as levels that its mistakes stay below.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = lk.Perceptron(random_state=0).fit(X, y)
    >>> ax = lk.plot.mistakes(model, bound=model.mistake_bound(X, y))
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
        style = {"color": color(k), "marker": marker(k), "markersize": 4}
        ax.plot(turns, count, label=f"{label} against the rest", **style)
        if len(levels):
            ax.axhline(levels[k], color=color(k), linestyle="--", linewidth=1)
    ax.plot(turns, turns, color=ink(ax, MUTED), linewidth=1, label="always mistaken", zorder=0)
    ax.set(xscale="log", yscale="log", xlabel="rows seen", ylabel="mistakes")
    ax.legend(frameon=False)
    return ax


def _of_streams(found: Any, ax: Any) -> Any:
    for i, (name, each) in enumerate(_named(found).items()):
        curve = each.curve
        if not len(curve.rows):
            raise ValueError(f"{name} was judged by no row: there is nothing to draw")
        label = f"{name}: {curve.mistakes[-1]:.10g} mistakes, {100 * each.figures.error:.2f} %"
        ax.plot([0, *curve.rows], [0, *curve.mistakes], color=color(i), label=label)
    ax.set(xlabel="rows", ylabel="mistakes")
    ax.set_ylim(bottom=0)
    ax.legend(framealpha=0.9)
    return ax


def _named(found: Any) -> Mapping[str, Any]:
    """Results by name, checked: one alone is that of the model."""
    several = found if isinstance(found, Mapping) else {"the model": found}
    if not several:
        raise ValueError("there is nothing to draw: give one result at least")
    for each in several.values():
        if not (hasattr(each, "figures") and hasattr(each, "curve")):
            raise TypeError(f"a {type(each).__name__} has no figures: draw what lk.progressive returned")
    return several
