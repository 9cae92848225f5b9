"""How models become better with the number of rows that they learn from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.comparing.apart import standard_error
from likelier.comparing.judging import Folds, judged
from likelier.comparing.rows import Floats, Indices
from likelier.comparing.table import Comparison, Result
from likelier.data import code

POINTS = 7  # of a curve, if nothing else is asked for
LEAST = 10  # rows that a model learns from
LEAST_OF_CLASS = 3  # rows of a class, on average


@dataclass(frozen=True)
class LearningCurve:
    """Figures of held-out rows by the number of rows learned from, in each fold."""

    metric: str
    models: tuple[str, ...]
    sizes: Indices  # (S,) rising
    figures: Floats  # (M, S, F); NaN: there is none
    baseline: float  # of what knows y alone

    @property
    def mean(self) -> Floats:
        """(M, S), over folds."""
        return np.asarray(self.figures.mean(axis=2))

    @property
    def error(self) -> Floats:
        """(M, S), the standard error of that mean, corrected as in a comparison."""
        return np.array([[standard_error(folds) for folds in of_model] for of_model in self.figures])


def grown(
    comparison: Comparison,
    models: Sequence[str] | None = None,
    *,
    sizes: Sequence[int] | None = None,
    metric: str | None = None,
) -> LearningCurve:
    """Models of a comparison on the same folds, learning from fewer of the rows, and from all.

    models: by name, by default all but the baseline. sizes: numbers of rows, by default seven in even
    ratios up to all that folds leave. Smaller sets are parts of larger ones, with the classes in
    proportion.
    """
    metric = comparison.metric if metric is None else metric
    known = [each.name for each in comparison.metrics]
    if metric not in known:
        raise ValueError(f"metric={metric!r}: it is one of {', '.join(known)}")
    names = [r.model for r in _running(comparison)] if models is None else list(models)
    results = [comparison.result(name) for name in names]
    folds = Folds.of(comparison.rows, comparison.classes, comparison.cv, comparison.seed)
    whole = len(folds.number) - int(np.bincount(folds.number).max())  # all folds have as many
    at = _sizes(sizes, whole, 1 if comparison.classes is None else len(comparison.classes))
    order = _order(comparison.rows.y, comparison.classes, comparison.seed)
    figures = np.full((len(results), len(at), comparison.cv), np.nan)
    for s, size in enumerate(at):
        fewer = Fewer(folds.rows, folds.number, folds.count, order=order, size=int(size))
        for m, result in enumerate(results):
            entrant = None if size == whole else result.entrant  # of all rows it is known
            found = result if entrant is None else judged(entrant, fewer, comparison.classes)
            if found.folds:
                figures[m, s] = found.figures(metric)
    baseline = next((r.mean(metric) for r in comparison.results if r.baseline), float("nan"))
    return LearningCurve(metric, tuple(names), at, figures, baseline)


def _running(comparison: Comparison) -> list[Result]:
    return [r for r in comparison.results if r.folds and not r.baseline]


def _sizes(asked: Sequence[int] | None, whole: int, K: int) -> Indices:
    if asked is None:
        least = min(max(LEAST, LEAST_OF_CLASS * K), whole)
        return np.unique(np.geomspace(least, whole, POINTS).round().astype(np.intp))
    found = np.unique(np.asarray(asked))
    if not len(found) or found.dtype.kind not in "iu" or found[0] < 2:
        raise ValueError(f"sizes={asked!r}: they are whole numbers of rows, from 2 on")
    if found[-1] > whole:
        raise ValueError(
            f"sizes: {found[-1]} rows are more than the {whole} that the folds leave to learn from"
        )
    return found.astype(np.intp)


def _order(y: NDArray[Any], classes: NDArray[Any] | None, seed: int) -> Indices:
    """All rows, such that every beginning has the classes in proportion."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(len(y)).astype(np.float64)
    if classes is not None:
        codes = code(y, classes)
        for k in range(len(classes)):
            own = np.flatnonzero(codes == k)
            place[own] = (place[own].argsort().argsort() + rng.random()) / len(own)
    return place.argsort(kind="stable")


@dataclass(frozen=True)
class Fewer(Folds):
    """The same folds, of which less is learned from."""

    order: Indices = field(kw_only=True)  # in which rows are taken
    size: int = field(kw_only=True)

    def split(self, fold: int) -> tuple[Indices, Indices]:
        train = self.order[self.number[self.order] != fold][: self.size]
        return np.sort(train), np.flatnonzero(self.number == fold)
