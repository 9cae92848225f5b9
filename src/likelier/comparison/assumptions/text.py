"""What was found about columns and pairs of them, in plain words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likelier.comparison.assumptions.columns import FEW_VALUES, MOST_COMMON, Pair, Shapes
from likelier.comparison.assumptions.evidence import Evidence
from likelier.display import some_of

SKEWED = 0.5
HEAVY, FLAT = 1.0, -0.8  # of the kurtosis


def column_sentences(found: Evidence) -> dict[str, str]:
    """Of each column of numbers whether it is Gaussian in the classes."""
    if found.shapes is None:
        return {}
    return {name: f"{name} {_of_column(found, j)}" for j, name in enumerate(found.names)}


def _of_column(found: Evidence, j: int) -> str:
    shapes = found.shapes
    assert shapes is not None
    checked = shapes.checked[:, j]
    departs = np.flatnonzero(shapes.departs[:, j] & checked)
    if not checked.any():
        return "has too few values to tell"
    if not len(departs):
        return f"looks Gaussian in every class{_sure(shapes, j)}"
    tied = _tied(shapes, j)
    if tied:
        return tied
    worst = _worst(shapes, j)
    others = [found.groups[k] for k in departs if k != worst]
    more = f"; not Gaussian in {_classes(others)} either" if others else ""
    return departure(found, worst, j) + more


def departure(found: Evidence, k: int, j: int) -> str:
    """How the numbers of a column are not Gaussian in a class."""
    shapes = found.shapes
    assert shapes is not None
    where = f"in class {found.groups[k]}"
    tied = _tied(shapes, j)
    if tied:
        return tied
    if shapes.deviation[k, j] == 0:
        return f"is always {shapes.mean[k, j]:.4g} {where}"
    skewness, kurtosis = shapes.skewness[k, j], shapes.kurtosis[k, j]
    if abs(skewness) >= SKEWED:
        side = "right" if skewness > 0 else "left"
        return f"is skewed to the {side} {where} (skewness {signed(skewness)})"
    if kurtosis >= HEAVY:
        return f"has heavy tails {where} (kurtosis {kurtosis:.1f} more than a Gaussian)"
    if kurtosis <= FLAT:
        return f"is flat or has several peaks {where} (kurtosis {-kurtosis:.1f} less than a Gaussian)"
    return f"misses a Gaussian {where} by {percent(shapes.distance[k, j])} of rows"


def worst_columns(found: Evidence, most: int) -> list[str]:
    """The columns farthest from Gaussian, each in its worst class, in words."""
    shapes = found.shapes
    assert shapes is not None
    departs = np.where(shapes.departs, np.nan_to_num(shapes.distance, nan=1.0), -1.0)
    order = np.argsort(-departs.max(axis=0, initial=-1.0), kind="stable")
    return [
        f"{found.names[j]} {departure(found, _worst(shapes, j), j)}"
        for j in order[:most]
        if departs[:, j].max() >= 0
    ]


def _worst(shapes: Shapes, j: int) -> int:
    departs = np.where(shapes.departs[:, j], np.nan_to_num(shapes.distance[:, j], nan=1.0), -1.0)
    return int(departs.argmax())


def _tied(shapes: Shapes, j: int) -> str:
    """What is no measurement; "": it could be one."""
    if shapes.values[j] == 2:
        return "takes two values only"
    if shapes.commonest[j] >= MOST_COMMON:
        return f"is {shapes.common[j]:.4g} in {percent(shapes.commonest[j])} of rows"
    if shapes.values[j] <= FEW_VALUES:
        return f"takes {shapes.values[j]} values only"
    return ""


def _sure(shapes: Shapes, j: int) -> str:
    n = int(shapes.n[:, j][shapes.checked[:, j]].min())
    return f", as far as {n} rows can tell" if n < 30 else ""


def signed(value: float, digits: int = 1) -> str:
    """With a minus that is one."""
    return f"{value:.{digits}f}".replace("-", "−")


def percent(share: float, digits: int = 0) -> str:
    """A share of a hundred."""
    return f"{100 * share:.{digits}f} %"


def some(columns: Any, one: str = "is", more: str = "are") -> str:
    """How many of all columns, with a verb."""
    n = int(np.sum(columns))
    return f"{n} of {len(columns)} columns {one if n == 1 else more}"


def times(value: float) -> str:
    """How many times as much, in two digits or so."""
    if value < 0.1:
        return f"{value:.1g} times"
    return f"{value:.1f} times" if value < 10 else f"{float(f'{value:.2g}'):,.0f} times"


def _classes(groups: Sequence[str]) -> str:
    return f"class{'' if len(groups) == 1 else 'es'} {some_of(groups, 3)}"


def said(pair: Pair) -> str:
    """How two columns depend on each other."""
    where = f"in class {pair.group}"
    if pair.measure == "r":
        return f"{pair.one} and {pair.other} correlate with r = {signed(pair.figure, 2)} {where}"
    if pair.measure == "V":
        return f"{pair.one} and {pair.other} go together {where} (Cramér's V = {pair.figure:.2f})"
    return f"{pair.one} differs between the categories of {pair.other} {where} (η = {pair.figure:.2f})"
