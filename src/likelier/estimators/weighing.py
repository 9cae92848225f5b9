"""Weights by class."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.callers import outside
from likelier.data import Arrays, Chunk, Part, Source
from likelier.data.wrapped import Wrapped
from likelier.engines import run
from likelier.estimators.sources import stored

Floats = NDArray[np.float64]


@dataclass
class ClassTotals:
    """The weight of each class's rows, (K,)."""

    n: Floats

    @property
    def nbytes(self) -> int:
        return self.n.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        known = chunk.y >= 0
        w = None if chunk.w is None else chunk.w[known]
        self.n = self.n + np.bincount(chunk.y[known], w, len(self.n))

    def merge(self, other: Self) -> None:
        self.n = self.n + other.n


def class_totals(source: Source, K: int) -> Floats:
    """The weight of each class, from labels and weights alone."""
    if stored(source):
        source = source.taking([], y=True)
    return run(source, lambda: ClassTotals(np.zeros(K))).n


def weights_by_class(class_weight: Any, classes: NDArray[Any], n: Floats) -> Floats | None:
    """scikit-learn's `class_weight`: None, a number for each label (1 if not named), or "balanced"."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight={class_weight!r}: it is None, 'balanced', or a dict")
        seen = n > 0  # `partial_fit` may know of classes that have not come yet
        return np.where(seen, n.sum() / (len(n) * np.where(seen, n, 1.0)), 0.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight={class_weight!r}: it is None, 'balanced', or a dict by label")
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    missed = [label for label in known if label not in class_weight]
    if unknown and missed:  # a label misspelt, most likely
        raise ValueError(
            f"The classes, {missed}, are not in class_weight, which has {unknown} that y does not have"
        )
    found = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    if not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(f"class_weight={class_weight!r}: weights are finite and not negative")
    return found


@dataclass(frozen=True)
class ByClass(Wrapped):
    """The same rows, each class's weights times a number."""

    factor: Floats  # (K,)

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(w=times(self.factor, chunk.y, chunk.w))


def times(factor: Floats, y: Any, w: Floats | None) -> Floats:
    """The weights of rows, times the number of their class."""
    each = np.where(y >= 0, factor[y], 0.0)
    return each if w is None else each * w


def weighed(source: Source, totals: Floats, factor: Floats | None) -> tuple[Source, Floats]:
    """Rows and class weights, times a number by class; of rows in memory once and for all passes."""
    if factor is None:
        return source, totals
    if isinstance(source, Arrays):
        return replace(source, w=times(factor, source.y, source.w)), totals * factor
    return ByClass(source, factor), totals * factor


def warn_of_many(K: int, n: int) -> None:
    """As scikit-learn does, where most rows have a class of their own."""
    if n > 20 and K > n / 2:
        warnings.warn(
            f"The number of unique classes is greater than 50% of the number of samples: {K} classes in "
            f"{n} rows. `y` could represent a regression problem, not a classification problem, "
            "or it is an id.",
            UserWarning,
            stacklevel=outside(),
        )
