"""How well probabilities were meant."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from likelier.comparing import Comparison, Result
from likelier.estimators.evaluating import evaluate
from likelier.evaluation import LabelEvaluation
from likelier.plot.axes import MUTED, Floats, axes, color, ink, marker, tint
from likelier.streams.figures import GROUPS, Figures

SHARES = 20  # bars for the share of rows, along the axis of probabilities
HIGH = 0.2  # of the axes, for the highest of them
FEW = 3  # models up to which intervals are drawn by default
NORMAL = 1.959964  # between ± so many deviations are 95 % of a Gaussian


def calibration(
    found: Any,
    X: Any = None,
    y: Any = None,
    *,
    groups: int = GROUPS,
    positive: Any = None,
    intervals: bool | None = None,
    ax: Any = None,
) -> Any:
    """How often something came to pass against the probability that it had; on the diagonal is right.

    found: a fitted classifier, judged by the rows X and y; what `lk.evaluate` or `lk.progressive` returned;
    a `Pending`; several of any of these by name; or a `Comparison`. Of two classes it is the class
    `positive`, by default the larger label; of more, that the likeliest class is right. groups: points,
    each of rows of about equal weight. intervals: 95 % for each group, by Wilson (1927), by default of up
    to three models. Steps at the foot: where the rows are, the highest as high as a fifth of the axes.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = lk.GaussianNB().fit(X[::2], y[::2])
    >>> ax = lk.plot.calibration({"naive Bayes": model}, X[1::2], y[1::2])
    """
    several = {name: _judged(name, each, X, y) for name, each in _by_name(found).items()}
    first = next(iter(several.values()))
    two = first.figures.K == 2
    if two and positive is None and first.classes:
        positive = _larger(first.classes)
    ax = axes(ax)
    ax.plot([0, 1], [0, 1], color=ink(ax, MUTED), linewidth=1, linestyle="--")
    for i, (name, each) in enumerate(several.items()):
        if two and positive not in each.classes:
            raise ValueError(f"positive={positive!r}: {name} has the classes {list(each.classes)}")
        code = each.classes.index(positive) if two else 1
        points = each.figures.calibration(groups, positive=code)
        label = f"{name}: off by {each.figures.calibration_error:.4f}"
        ax.plot(points.p, points.rate, color=color(i), marker=marker(i), markersize=5, label=label)
        if intervals or (intervals is None and len(several) <= FEW):
            ends = wilson(points.rate, points.weight)
            ax.vlines(points.p, *ends, color=color(i), linewidth=1, alpha=0.6)
        _shares(ax, i, each.figures, code, alone=len(several) == 1)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_xlabel(f"probability of {positive}" if two else "probability of the likeliest class")
    ax.set_ylabel(f"share of {positive}" if two else "share of rows where it is right")
    ax.legend(framealpha=0.9, loc="upper left")
    return ax


# ---- what is drawn -------------------------------------------------------------------------------
class Judged(NamedTuple):
    """Sums over judged rows, and the classes that they number."""

    figures: Figures
    classes: tuple[Any, ...]


def _by_name(found: Any) -> Mapping[str, Any]:
    if isinstance(found, Comparison):
        return {result.model: result for result in found.results if result.P is not None}
    several = found if isinstance(found, Mapping) else {_name(found): found}
    if not several:
        raise ValueError("there is nothing to draw: give one result at least")
    return several


def _name(found: Any) -> str:
    return found.model if isinstance(found, Result | LabelEvaluation) else "the model"


def _judged(name: str, each: Any, X: Any, y: Any) -> Judged:
    if isinstance(each, BaseEstimator) and is_classifier(each):
        if X is None:
            raise ValueError(f"{name} is a classifier: its probabilities are judged by rows, give X and y")
        each = evaluate(each, X, y)
    elif X is not None or y is not None:
        raise ValueError(f"{name} has been judged: X and y are for fitted classifiers")
    if isinstance(each, Result):
        if each.sits_out is not None:
            raise ValueError(f"{name} sits out: {each.sits_out}")
        each = each.overall
    if isinstance(each, LabelEvaluation):
        if not each.probable:
            raise ValueError(f"{name} gives no probabilities: there is nothing to calibrate")
        found = Judged(each.sums.figures, tuple(each.classes.tolist()))
    elif isinstance(getattr(each, "figures", None), Figures):
        found = Judged(each.figures, tuple(each.classes))
    else:
        raise TypeError(
            f"a {type(each).__name__} has no figures: draw a fitted classifier, or what lk.evaluate, "
            "lk.progressive or lk.compare returned"
        )
    if not found.figures.rows:
        raise ValueError(f"{name} was judged by no row: there is nothing to draw")
    return found


def _larger(classes: tuple[Any, ...]) -> Any:
    """Of two labels; the second where they have no order."""
    try:
        return max(classes)
    except TypeError:
        return classes[-1]


# ---- how it looks --------------------------------------------------------------------------------
def wilson(rate: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Between which shares 95 % of samples of n rows have such a rate (Wilson 1927)."""
    z2 = NORMAL**2
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL / (1 + z2 / n) * np.sqrt(rate * (1 - rate) / n + z2 / (4 * n**2))
    return middle - half, middle + half


def _shares(ax: Any, i: int, figures: Figures, code: int, *, alone: bool) -> None:
    misses, hits, Q = figures.bins.T
    n = misses + hits
    there = n > 0
    p = Q[there] / n[there]
    share = np.histogram(1 - p if code == 0 and figures.K == 2 else p, SHARES, (0, 1), weights=n[there])[0]
    edges, heights = np.linspace(0, 1, SHARES + 1), HIGH * share / share.max()
    if alone:
        ax.stairs(heights, edges, fill=True, color=tint(ax, i, 0.25), zorder=0)
    else:
        ax.stairs(heights, edges, color=tint(ax, i, 0.6), linewidth=0.8, zorder=0)
