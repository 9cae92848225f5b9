"""Families by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.families.base import Family
from likelier.families.bernoulli import Bernoulli
from likelier.families.beta import Beta
from likelier.families.categorical import Categorical
from likelier.families.covaried import FullGaussian
from likelier.families.dirichlet import Dirichlet
from likelier.families.gamma import Gamma
from likelier.families.gaussian import DiagonalGaussian
from likelier.families.histogram import Histogram
from likelier.families.kernel import Kernel
from likelier.families.multinomial import Multinomial
from likelier.families.pooled import Pooled
from likelier.families.rates import Exponential, Geometric, Poisson
from likelier.states.bins import Bins

BIN_ALPHA = 4.0  # pseudo-counts of a bin, times alpha
BIN_LENT = 1.0  # rows that are as those of all classes, for each class besides its own


@dataclass(frozen=True)
class Smoothing:
    """What keeps estimates from few rows sane: pseudo-counts, and a share of each column's variance.

    unit: the weight of a row, at most 1. (A larger weight is so many rows.) lent: rows that vary as all
    classes do, for each class besides its own.
    """

    alpha: float = 1.0
    var_smoothing: float = 1e-9
    unit: float = 1.0
    lent: float = 5.0


@dataclass(frozen=True)
class Settled:
    """The family of a column as the first rows settled it: its name, with levels or bins if need be."""

    family: str
    levels: NDArray[Any] | None = None  # of a categorical
    bins: Bins | None = None  # of a histogram
    pooled: bool = False  # the same in all classes

    def __repr__(self) -> str:
        held = f"({_counted(len(self.levels), 'level')})" if self.levels is not None else ""
        held += f"({_said(self.bins)})" if self.bins is not None else ""
        return f"{'pooled ' if self.pooled else ''}{self.family}{held}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settled) and all(
            _same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _said(bins: Bins) -> str:
    """Of a column of few values, how many: the bins between them hold none."""
    gaps = ~bins.atoms
    if bins.atoms.any() and not (gaps[1:] & gaps[:-1]).any():
        return _counted(int(bins.atoms.sum()), "value")
    return _counted(len(bins), "bin")


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Bins) and isinstance(b, Bins):
        return np.array_equal(a.edges, b.edges) and np.array_equal(a.atoms, b.atoms)
    return type(a) is type(b) and np.array_equal(a, b)


def _categorical(columns: Sequence[Settled], how: Smoothing) -> Family:
    sizes = [len(column.levels) for column in columns if column.levels is not None]
    return Categorical(np.array(sizes, dtype=np.int64), how.alpha)


def _histogram(columns: Sequence[Settled], how: Smoothing) -> Family:
    bins = tuple(column.bins for column in columns if column.bins is not None)
    return Histogram(bins, BIN_ALPHA * how.alpha, BIN_LENT * how.unit)


Maker = Callable[[Sequence[Settled], Smoothing], Family]

# Families of one column: many of a kind are counted and scored together.
BY_COLUMN: Mapping[str, Maker] = {
    "gaussian": lambda columns, how: DiagonalGaussian(how.var_smoothing, True, how.lent, how.unit),
    "bernoulli": lambda columns, how: Bernoulli(how.alpha),
    "categorical": _categorical,
    "poisson": lambda columns, how: Poisson(how.alpha),
    "geometric": lambda columns, how: Geometric(how.alpha),
    "exponential": lambda columns, how: Exponential(how.alpha),
    "gamma": lambda columns, how: Gamma(lent=how.lent, unit=how.unit),
    "beta": lambda columns, how: Beta(lent=how.lent, unit=how.unit),
    "kernel": lambda columns, how: Kernel(),
    "histogram": _histogram,
}
# Families of several columns together.
OF_GROUPS: Mapping[str, Maker] = {
    "multinomial": lambda columns, how: Multinomial(how.alpha),
    "dirichlet": lambda columns, how: Dirichlet(),
    "gaussian-full": lambda columns, how: FullGaussian(floor=1e-4),
}


NEEDS_ROWS = ("categorical", "histogram", "kernel")  # levels, bins and points are those of some rows


def family_of(name: str, columns: Sequence[Settled], how: Smoothing) -> Family:
    """The family of this name, for these columns."""
    family = {**BY_COLUMN, **OF_GROUPS}[name](columns, how)
    return Pooled(family) if columns[0].pooled else family
