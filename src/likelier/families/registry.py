"""Families by the names that users give them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.families.base import Columns, Family
from likelier.families.categorical import Categorical, Histogram
from likelier.families.counts import Bernoulli, Exponential, Geometric, Multinomial, Poisson
from likelier.families.gamma_beta_dirichlet import Beta, Dirichlet, Gamma
from likelier.families.gaussian import DiagonalGaussian, FullGaussian
from likelier.families.kernel import Kernel
from likelier.families.mixed import MixedFamily, PooledFamily
from likelier.states.counts import Bins

# Families by name.

BIN_ALPHA = 12.0  # pseudo-counts of a bin, times alpha: sums over columns are less sure with many
BIN_PRIOR_ROWS = 1.0  # rows that are as those of all classes, for each class besides its own


@dataclass(frozen=True)
class Smoothing:
    """What keeps estimates from few rows sane: pseudo-counts, and a share of each column's variance.

    unit: the weight of a row, at most 1. (A larger weight is so many rows.) prior_rows: rows that
    vary as all classes do, which each class has besides its own.
    """

    alpha: float = 1.0
    var_smoothing: float = 1e-9
    unit: float = 1.0
    prior_rows: float = 5.0


@dataclass(frozen=True)
class ColumnFamily:
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
        return isinstance(other, ColumnFamily) and all(
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


def _categorical(columns: Sequence[ColumnFamily], how: Smoothing) -> Family:
    sizes = [len(column.levels) for column in columns if column.levels is not None]
    return Categorical(np.array(sizes, dtype=np.int64), how.alpha)


def _histogram(columns: Sequence[ColumnFamily], how: Smoothing) -> Family:
    bins = tuple(column.bins for column in columns if column.bins is not None)
    return Histogram(bins, BIN_ALPHA * how.alpha, BIN_PRIOR_ROWS * how.unit)


Maker = Callable[[Sequence[ColumnFamily], Smoothing], Family]


class FamilyInfo(NamedTuple):
    """A family that users name: how it is made, and what the choice among families must know of it."""

    make: Maker  # many columns of a kind are counted and scored together
    tried_on: tuple[str, ...] = ()  # the kinds of columns for which `NaiveBayes("auto")` tries it
    parameters: int = 1  # of each class, for a column
    table: bool = False  # its scores are those of a table: whatever comes, it is never sure of much
    needs_rows: bool = False  # its levels, bins or points are those of some rows
    grouped: bool = False  # it is for several columns together


NUMBERS, POSITIVE, SHARES, COUNTS = "numbers", "positive numbers", "shares", "counts"  # kinds of columns

# By the names that users give them, the simplest first. A new family joins here, and what is saved of it in
# saving/schema.py.
FAMILIES: dict[str, FamilyInfo] = {
    "bernoulli": FamilyInfo(lambda columns, how: Bernoulli(how.alpha), ("booleans",), table=True),
    "categorical": FamilyInfo(_categorical, ("categories",), table=True, needs_rows=True),
    "poisson": FamilyInfo(lambda columns, how: Poisson(how.alpha), (COUNTS,)),
    "geometric": FamilyInfo(lambda columns, how: Geometric(how.alpha), (COUNTS,)),
    "beta": FamilyInfo(lambda columns, how: Beta(prior_rows=how.prior_rows, unit=how.unit), (SHARES,), 2),
    "exponential": FamilyInfo(lambda columns, how: Exponential(how.alpha), (SHARES, POSITIVE)),
    "gamma": FamilyInfo(
        lambda columns, how: Gamma(prior_rows=how.prior_rows, unit=how.unit), (SHARES, POSITIVE), 2
    ),
    "gaussian": FamilyInfo(
        lambda columns, how: DiagonalGaussian(how.var_smoothing, True, how.prior_rows, how.unit),
        (COUNTS, SHARES, POSITIVE, NUMBERS, "nothing"),
        2,
    ),
    "histogram": FamilyInfo(_histogram, (COUNTS, SHARES, POSITIVE, NUMBERS), table=True, needs_rows=True),
    "kernel": FamilyInfo(lambda columns, how: Kernel(), needs_rows=True),
    "multinomial": FamilyInfo(lambda columns, how: Multinomial(how.alpha), grouped=True),
    "dirichlet": FamilyInfo(lambda columns, how: Dirichlet(), grouped=True),
    "gaussian-full": FamilyInfo(lambda columns, how: FullGaussian(floor=1e-4), grouped=True),
}


def family_names(*, grouped: bool) -> list[str]:
    """The families of several columns together, or those of one column."""
    return [name for name, info in FAMILIES.items() if info.grouped == grouped]


def is_grouped(name: Any) -> bool:
    """Whether this names a family of several columns together."""
    return isinstance(name, str) and name in FAMILIES and FAMILIES[name].grouped


COARSE = "coarse histogram"  # a candidate: histograms of two bins, beside values that are frequent


def is_table(name: str) -> bool:
    """Whether a family's scores are those of a table."""
    return name == COARSE or (name in FAMILIES and FAMILIES[name].table)


def candidates(kind: str) -> tuple[str, ...]:
    """The families that could fit such a column, the simplest first, tables last."""
    suited = [name for name, info in FAMILIES.items() if kind in info.tried_on]
    return tuple(sorted(suited, key=is_table))


def named_family(name: str, columns: Sequence[ColumnFamily], how: Smoothing) -> Family:
    """The family of this name, for these columns."""
    family = FAMILIES[name].make(columns, how)
    return PooledFamily(family) if columns[0].pooled else family


def mixed_family(
    parts: Iterable[tuple[Columns, Sequence[ColumnFamily], Any]], how: Smoothing
) -> MixedFamily:
    """One family for groups of columns: what is settled of each, and the `Family`, if users gave one."""
    groups = []
    for columns, settled, own in parts:
        groups.append((columns, named_family(settled[0].family, settled, how) if own is None else own))
    return MixedFamily(tuple(groups))


# Families as users name them, where no rows are needed to settle anything.


AUTO = (
    " 'auto' chooses families by how well they tell classes apart (NaiveBayes), and rows without labels "
    "have none to tell: name one family for each column, 'categorical' for codes of categories."
)


def family_of(given: Any, names: Any = None) -> Family:
    """A family: by its name, as it is, or one for each group of columns, {column or columns: family}.

    Columns are named, if `names` (p,) are known, or numbered. "categorical" is of codes, whole numbers from
    0 on: as many categories as are met.
    """
    if isinstance(given, Mapping) and given:
        return MixedFamily(tuple((_numbers(key, names), family_of(value)) for key, value in given.items()))
    if isinstance(given, str) and given == "categorical":
        return Categorical(None)
    known = [*(name for name, info in FAMILIES.items() if not info.needs_rows), "categorical"]
    if isinstance(given, str) and given in known:
        return named_family(given, [ColumnFamily(given)], Smoothing(prior_rows=0.0))
    if isinstance(given, str | type) or not (hasattr(given, "stats") and hasattr(given, "estimate")):
        raise ValueError(
            f"families must be a Family, one of {', '.join(known)}, or a dict of them by the names or "
            f"numbers of columns; got {given!r:.80}.{AUTO if given == 'auto' else ''}"
        )
    family: Family = given
    return family


def _numbers(key: Any, names: Any) -> np.ndarray[Any, np.dtype[np.intp]]:
    known = {} if names is None else {str(name): j for j, name in enumerate(names)}
    listed = tuple(known.get(each, each) for each in (key if isinstance(key, tuple) else (key,)))
    if not listed or not all(isinstance(j, int | np.integer) and j >= 0 for j in listed):
        raise ValueError(
            f"keys of families must be names or numbers of columns, or tuples of them; got {key!r:.80}."
        )
    return np.array(listed, dtype=np.intp)
