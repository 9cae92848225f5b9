"""What every family of class-conditional densities offers, and families with independent columns."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import Block, Chunk, Dense, OutOfSupport, refuse_cells
from likelier.data.matrix import Cells
from likelier.scores import Scores, TermWithConstant
from likelier.states import Statistics

# What every family of class-conditional densities offers.

Columns = NDArray[np.intp]
LEAST = float(np.nextafter(0.0, 1.0))  # "above 0" as "from the least number above 0 on"


class Support(Protocol):
    """Which values a density is for."""

    def outside(self, X: Block, /) -> Cells:
        """The cells whose values it is not for. A missing cell (NaN) is none of them."""

    def described(self, column: int, /) -> str:
        """Of a column: the family, and what values it takes."""


@dataclass(frozen=True)
class Range:
    """All columns alike: values from low to high, both included; `whole`: whole numbers only."""

    family: str
    values: str  # in words
    low: float = -np.inf
    high: float = np.inf
    whole: bool = False

    def described(self, column: int) -> str:
        return f"{self.family} takes {self.values}"

    def outside(self, X: Block) -> Cells:
        if not _core.any_outside(X.native(), (self.low, self.high), self.whole):  # nearly always
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        return X.where(self._excludes)

    def _excludes(self, x: NDArray[Any]) -> NDArray[np.bool_]:
        out = (x < self.low) | (x > self.high)
        if self.whole and x.dtype.kind == "f":
            out |= (x != np.floor(x)) & ~np.isnan(x)
        return np.asarray(out & ~np.isinf(x))  # infinite cells are no values: they are refused


def refuse_outside(support: Support, chunk: Chunk) -> None:
    """Raise at the first cell outside a support."""
    rows, columns = support.outside(chunk.X)
    if len(rows):
        row, column = min(zip(rows.tolist(), columns.tolist(), strict=True))
        value = chunk.X.cell(row, column)
        raise OutOfSupport(chunk.first + row, column, value, why=support.described(column))


class Params(Protocol):
    """p(x | C_k) for K classes over p columns: immutable."""

    @property
    def shape(self) -> tuple[int, int]:
        """K, p."""

    @property
    def support(self) -> Support | None:
        """None: all finite numbers."""

    @property
    def free(self) -> int:
        """How many numbers were free to be chosen; a symmetric matrix counts once, a sum of 1 one less."""

    def scores(self) -> Scores:
        """ln p(x | C_k), exactly; of rows in which cells are missing, of what is there."""

    def discriminants(self) -> Scores | None:
        """ln p(x | C_k) but for what all classes share, if that is cheaper: enough for a posterior."""

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """A row of each of these classes."""

    def marginal(self, columns: Columns) -> "Params":
        """The density of these columns alone."""

    def condition(self, given: Mapping[int, float]) -> "Conditioned":
        """The density of the other columns, knowing these."""

    def fill(self, X: Floats, P: Floats) -> Floats:
        """X with E[x_j | what is there, C_k] for each missing cell, the classes weighed by P (n, K).

        Of categories, the likeliest.
        """


class Conditioned(NamedTuple):
    """p(rest | given, C_k), and ln p(given | C_k) (K,), by which the classes are weighed anew."""

    params: Params
    log_given: Floats


class Family(Protocol):
    """Smoothing, floors and shrinkage act in `estimate` only: the statistics stay what was seen.

    The statistics refuse values outside the support (`OutOfSupport`), and take rows by their codes or by
    their memberships (n, K), of which mixtures make use.
    """

    def stats(self, K: int, p: int) -> Statistics: ...

    def estimate(self, stats: Any) -> Params: ...


def log_density(params: Params, x: Floats) -> Floats:
    """ln p(x | C_k) (K,) of one row."""
    Z = np.empty((1, params.shape[0]))
    params.scores().write(Chunk(Dense(x[None, :])), Z)
    return np.asarray(Z[0])


def given_and_rest(given: Mapping[int, float], p: int) -> tuple[Columns, Floats, Columns]:
    """The columns that are known, their values, and the other columns."""
    columns = np.array(list(given), dtype=np.intp)
    values = np.array(list(given.values()), dtype=np.float64)
    return columns, values, np.setdiff1d(np.arange(p), columns)


# What follows if the columns are independent given the class.


@dataclass(frozen=True)
class Independent(ABC):
    """p(x | C_k) = Π_j p(x_j | C_k), columns all of one family. A subclass's fields are arrays (K, p)."""

    @property
    def shape(self) -> tuple[int, int]:
        K, p = getattr(self, fields(self)[0].name).shape
        return K, p

    @property
    def support(self) -> Support | None:
        return None

    @property
    def free(self) -> int:
        return sum(getattr(self, each.name).size for each in fields(self))

    @property
    @abstractmethod
    def expected(self) -> Floats:
        """E[x_j | C_k], (K, p)."""

    def scores(self) -> Scores:
        """By `each`, in NumPy; a family with a kernel of its own says so here."""
        return Scores((CellByCell(np.zeros(self.shape[0]), self),))

    @abstractmethod
    def each(self, x: Floats) -> Floats:
        """ln p of single cells, x (…, p) held against the parameters (K, p); NaN where x is missing."""

    def parts(self, X: Floats) -> Floats:
        """ln p(x_j | C_k), column by column: (n, K, p); 0 where x_j is missing."""
        return np.asarray(np.nan_to_num(self.each(X[:, None, :]), nan=0.0))

    @abstractmethod
    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats: ...

    def discriminants(self) -> Scores | None:
        return None

    def marginal(self, columns: Columns) -> Self:
        return replace(self, **{f.name: getattr(self, f.name)[:, columns] for f in fields(self)})

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        """What is known says nothing of the rest."""
        columns, values, rest = given_and_rest(given, self.shape[1])
        if len(columns) == 0:
            return Conditioned(self, np.zeros(self.shape[0]))
        return Conditioned(self.marginal(rest), log_density(self.marginal(columns), values))

    def fill(self, X: Floats, P: Floats) -> Floats:
        refuse_cells(X, gaps=True)
        return np.where(np.isnan(X), P @ self.expected, X)


AT_ONCE = 1 << 16  # numbers that are computed together: they stay in the cache


@dataclass(frozen=True)
class CellByCell(TermWithConstant):
    """b_k + Σ_j ln p(x_j | C_k) over the columns that are not missing: for families without a kernel."""

    params: Independent

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        X, (K, p) = chunk.X.to_array(), self.params.shape
        refuse_cells(X, gaps=True, first=chunk.first)
        step = max(1, AT_ONCE // (K * p))
        for first in range(0, len(X), step):
            rows = slice(first, first + step)
            z = self.b + self.params.parts(X[rows]).sum(axis=2)
            Z[rows] = Z[rows] + z if add else z
