"""Families by the names that users give them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.families.base import Columns, Family
from likelier.families.categorical import Categorical, Histogram
from likelier.families.counts import Bernoulli, Exponential, Geometric, Poisson
from likelier.families.dirichlet import Dirichlet
from likelier.families.gamma_beta import Beta, Gamma
from likelier.families.gaussian import DiagonalGaussian, FullGaussian
from likelier.families.kernel import Kernel
from likelier.families.mixed import MixedFamily, Pooled
from likelier.families.multinomial import Multinomial
from likelier.states.counts import Bins

# Families by name.

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


def named_family(name: str, columns: Sequence[Settled], how: Smoothing) -> Family:
    """The family of this name, for these columns."""
    family = {**BY_COLUMN, **OF_GROUPS}[name](columns, how)
    return Pooled(family) if columns[0].pooled else family


def mixed_family(parts: Iterable[tuple[Columns, Sequence[Settled], Any]], how: Smoothing) -> MixedFamily:
    """One family for groups of columns: what is settled of each, and the `Family`, if users gave one."""
    groups = []
    for columns, settled, own in parts:
        groups.append((columns, named_family(settled[0].family, settled, how) if own is None else own))
    return MixedFamily(tuple(groups))


# Families as users name them, where no rows are needed to settle anything.

KNOWN = [name for name in (*BY_COLUMN, *OF_GROUPS) if name not in NEEDS_ROWS] + ["categorical"]


def family_of(given: Any, names: Any = None) -> Family:
    """A family: by its name, as it is, or one for each group of columns, {column or columns: family}.

    Columns are named, if `names` (p,) are known, or numbered. "categorical" is of codes, whole numbers from
    0 on: as many categories as are met.
    """
    if isinstance(given, Mapping) and given:
        return MixedFamily(tuple((_numbers(key, names), family_of(value)) for key, value in given.items()))
    if isinstance(given, str) and given == "categorical":
        return Categorical(None)
    if isinstance(given, str) and given in KNOWN:
        return named_family(given, [Settled(given)], Smoothing(lent=0.0))
    if isinstance(given, str | type) or not (hasattr(given, "stats") and hasattr(given, "estimate")):
        raise ValueError(
            f"families={given!r:.80}: it is a Family, one of {', '.join(KNOWN)}, or a dict of them by the "
            "names or numbers of columns"
        )
    family: Family = given
    return family


def _numbers(key: Any, names: Any) -> np.ndarray[Any, np.dtype[np.intp]]:
    known = {} if names is None else {str(name): j for j, name in enumerate(names)}
    listed = tuple(known.get(each, each) for each in (key if isinstance(key, tuple) else (key,)))
    if not listed or not all(isinstance(j, int | np.integer) and j >= 0 for j in listed):
        raise ValueError(f"families: {key!r:.80} is no name or number of a column, and no tuple of them")
    return np.array(listed, dtype=np.intp)
