"""Which columns tell most of the target, each by itself; and the models that are looked at closely."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from likelier.comparing.columns import Column
from likelier.comparing.rows import Rows
from likelier.comparing.table import Comparison, Result
from likelier.data import code

MOST_ROWS = 4000  # that columns are told by


def telling(comparison: Comparison, most: int) -> list[Column]:
    """The columns of numbers that tell most: by η² of their ranks, the share of variance between classes
    (Kruskal & Wallis 1952), or by Spearman's ρ² where numbers are to be found.
    """
    rows = some(comparison.rows, MOST_ROWS, comparison.seed)
    columns = rows.of("number")
    told = [_told(column.values, rows.y, comparison.classes) for column in columns]
    order = np.argsort(-np.array(told), kind="stable")[:most]
    names = [columns[j].name for j in order]
    held = {column.name: column for column in comparison.rows.of("number")}
    return [held[name] for name in names]


def _told(x: Any, y: NDArray[Any], classes: NDArray[Any] | None) -> float:
    there = ~np.isnan(x)
    if there.sum() < 2:
        return 0.0
    rank = rankdata(x[there])
    rank -= rank.mean()
    total = float(rank @ rank)
    if not total:
        return 0.0
    if classes is None:
        other = rankdata(y[there])
        other -= other.mean()
        size = float(other @ other)
        return float(rank @ other) ** 2 / (total * size) if size else 0.0
    codes = code(y[there], classes)
    sums, n = np.bincount(codes, rank), np.bincount(codes)
    return float((sums[n > 0] ** 2 / n[n > 0]).sum()) / total * float(there.mean())


def some(rows: Rows, most: int, seed: int) -> Rows:
    """At most so many rows, drawn, in their order."""
    if len(rows) <= most:
        return rows
    at = np.sort(np.random.default_rng(seed).choice(len(rows), most, replace=False))
    return rows.take(at, "some rows are drawn")


def champions(comparison: Comparison, each: int = 1) -> list[list[Result]]:
    """The best generative and the best discriminative models, so many of each; of other kinds, the best."""
    able = [result for result in comparison.results if result.folds and not result.baseline]
    kinds = [
        [result for result in able if result.nature.kind == kind][:each]
        for kind in ("generative", "discriminative")
    ]
    return [kind for kind in kinds if kind] or ([able[:each]] if able else [])
