"""How well the probabilities of a stream were meant."""

from collections.abc import Mapping
from typing import Any

from likelier.plot.axes import COLORS, MARKERS, axes
from likelier.streams.figures import GROUPS


def calibration(found: Any, *, groups: int = GROUPS, positive: Any = None, ax: Any = None) -> Any:
    """How often something came to pass against the probability that it had; on the diagonal is right.

    found: what `lk.progressive` returned, or a `Pending`; or several of them by name. Of two classes it is
    the class `positive`, by default the larger label; of more, that the likeliest class is right. groups:
    points, each of rows of about equal weight.
    """
    several = named(found)
    first = next(iter(several.values()))
    two = first.figures.K == 2
    if two and positive is None and first.classes:
        positive = _larger(first.classes)
    ax = axes(ax)
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
    for i, (name, each) in enumerate(several.items()):
        if not each.figures.rows:
            raise ValueError(f"{name} was judged by no row: there is nothing to draw")
        if two and positive not in each.classes:
            raise ValueError(f"positive={positive!r}: {name} has the classes {list(each.classes)}")
        code = each.classes.index(positive) if two else 1
        points = each.figures.calibration(groups, positive=code)
        style = {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)], "markersize": 5}
        label = f"{name}: off by {each.figures.calibration_error:.4f}"
        ax.plot(points.p, points.rate, label=label, **style)
    ax.set_xlabel(f"probability of {positive}" if two else "probability of the likeliest class")
    ax.set_ylabel(f"share of {positive}" if two else "share of rows where it is right")
    ax.legend(framealpha=0.9)
    return ax


def named(found: Any) -> Mapping[str, Any]:
    """Results by name, checked: one alone is that of the model."""
    several = found if isinstance(found, Mapping) else {"the model": found}
    if not several:
        raise ValueError("there is nothing to draw: give one result at least")
    for each in several.values():
        if not (hasattr(each, "figures") and hasattr(each, "curve")):
            raise TypeError(f"a {type(each).__name__} has no figures: draw what lk.progressive returned")
    return several


def _larger(classes: tuple[Any, ...]) -> Any:
    """Of two labels; the second where they have no order."""
    try:
        return max(classes)
    except TypeError:
        return classes[-1]
