"""Tables as the columns of a formula: terms are products of factors, and factors expressions of columns."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from likelier.array_types import Codes, Floats, Indices
from likelier.data.design import Design, DesignNames, as_factor
from likelier.data.errors import NonFinite, NoValue
from likelier.data.expressions import Basis, States, parsed, value_of
from likelier.data.labels import Factor
from likelier.data.matrix import CSR, Block, Columns, Dense
from likelier.data.table_columns import of_kind

# While the shape of a prediction is found by rows that are made up, of which no formula can know whether
# its functions have a value there: all columns are 0.
MADE_UP: ContextVar[bool] = ContextVar("MADE_UP", default=False)

# How a factor becomes columns.


class Cells(NamedTuple):
    """Rows of a block of columns: m values a row, and in which column each is; all others are 0.

    One row of places, or one value, stands for all rows.
    """

    places: NDArray[np.int64]  # (n, m) or (1, m)
    values: Floats  # (n, m) or (1, 1)
    width: int

    def times(self, other: "Cells") -> "Cells":
        """The products of each column of one and each of the other, those of this one varying fastest."""
        places = self.places[:, None, :] + self.width * other.places[:, :, None]
        values = self.values[:, None, :] * other.values[:, :, None]
        flat = (-1, places.shape[1] * places.shape[2])
        values = np.broadcast_to(values, (len(values), *places.shape[1:]))
        return Cells(places.reshape(flat), values.reshape(flat), self.width * other.width)


@dataclass(frozen=True)
class FormulaFactor:
    """An expression of columns, and how its values become columns.

    Numbers are one column, or, of a basis, those of its columns that are `kept`. Categories have a column
    for each of their levels (`places`), or a row of `coding` each.
    """

    expression: str
    plain: bool  # whether the expression is the name of a column
    labels: tuple[str, ...]
    states: States = field(default_factory=dict)  # what its functions learned of the rows of the fit
    kept: tuple[int, ...] = ()
    levels: NDArray[Any] | None = None  # (L,)
    places: Codes | None = None  # (L,), -1: the level has none
    coding: Floats | None = None  # (L, k)

    @property
    def columns(self) -> list[str]:
        """The columns of the table that it needs."""
        return [self.expression] if self.plain else list(parsed(self.expression).columns.values())

    def value(self, values: Mapping[str, Any]) -> Any:
        """The expression, computed."""
        return values[self.expression] if self.plain else value_of(self.expression, values, self.states)

    def cells(self, value: Any, n: int) -> tuple[Cells, Any]:
        """Its columns, and a level that was not in fit, or None."""
        if self.levels is None:
            return self._numbers(value, n), None
        codes, unseen = self._coded(value)
        known = (codes >= 0) & (codes < len(self.levels))
        if self.coding is not None:
            rows = np.vstack([self.coding, np.zeros(self.coding.shape[1])])[np.where(known, codes, -1)]
            return Cells(np.arange(self.coding.shape[1])[None], rows, self.coding.shape[1]), unseen
        assert self.places is not None
        place = np.append(self.places, -1)[np.where(known, codes, -1)].astype(np.int64)[:, None]
        return Cells(np.maximum(place, 0), (place >= 0).astype(np.float64), len(self.labels)), unseen

    def _numbers(self, value: Any, n: int) -> Cells:
        if isinstance(value, Factor):
            raise ValueError(
                f"Input X has categories in {self.expression!r}, such as {value.used()[:1].tolist()}, "
                "which held numbers in fit."
            )
        if isinstance(value, Basis):
            return Cells(np.arange(len(self.kept))[None], value.cells[:, list(self.kept)], len(self.kept))
        column = np.broadcast_to(np.asarray(value, dtype=np.float64), n)[:, None]
        return Cells(np.zeros((1, 1), dtype=np.int64), column, 1)

    def _coded(self, value: Any) -> tuple[Codes, Any]:
        assert self.levels is not None
        if not isinstance(value, Factor) and isinstance(self.levels[0], bool):
            value = booleans(value)
        factor = as_factor(_Levels(self.expression, self.levels), value)  # type: ignore[arg-type]
        codes = factor.coded(self.levels).codes
        strange = codes == len(self.levels)
        if not strange.any():
            return codes, None
        if not isinstance(value, Factor):
            return codes, value[int(np.argmax(strange))]
        return codes, value.levels[value.codes[int(np.argmax(strange))]]


class _Levels(NamedTuple):
    """The levels of a factor, as those of a column are asked for."""

    name: str
    levels: NDArray[Any]


def booleans(value: Any) -> Factor:
    """Booleans as categories; those of a file may have been read as numbers."""
    numbers = np.asarray(value, dtype=np.float64)
    levels = np.array([False, True], dtype=object)
    codes = np.where(np.isnan(numbers), -1, np.where((numbers == 0) | (numbers == 1), numbers, 2))
    return Factor(codes.astype(np.int32), levels)


# The design.


@dataclass(frozen=True)
class FormulaProduct:
    """A product of factors, by their numbers, times a scale."""

    scale: float
    factors: tuple[int, ...]


@dataclass(frozen=True)
class FormulaTerm:
    """A term of a formula by its name; what makes its columns."""

    name: str
    products: tuple[FormulaProduct, ...]


@dataclass(frozen=True)
class FormulaDesign(Design):
    """The columns of a formula, of the columns of a table that it names."""

    formula: str = ""
    factors: tuple[FormulaFactor, ...] = ()
    products: tuple[FormulaTerm, ...] = ()

    @cached_property
    def _labels(self) -> list[list[str]]:
        """The names of the columns of each term."""
        return [[x for one in term.products for x in self.named_columns(one)] for term in self.products]

    def named_columns(self, product: FormulaProduct) -> list[str]:
        """The names of the columns of a product."""
        names = [""]
        for i in product.factors:
            names = [f"{a}:{b}" if a else b for b in self.factors[i].labels for a in names]
        return names

    @cached_property
    def names(self) -> DesignNames:
        """The names of its columns."""
        return DesignNames.of([name for term in self._labels for name in term], self)

    @cached_property
    def p(self) -> int:
        """The number of its columns."""
        return len(self.names)

    @property
    def by_name(self) -> dict[str, list[int]]:
        """The columns of each term."""
        ends = np.cumsum([0, *map(len, self._labels)]).tolist()
        return {
            term.name: list(range(start, stop))
            for term, start, stop in zip(self.products, ends, ends[1:], strict=False)
        }

    @property
    def owners(self) -> Indices:
        """Of each of its columns, the first column of the table that it comes from."""
        first = [
            self.names_in.index(next(name for i in one.factors for name in self.factors[i].columns))
            for term in self.products
            for one in term.products
            for _ in self.named_columns(one)
        ]
        return np.array(first, dtype=np.intp)

    @property
    def same_columns(self) -> bool:
        """A formula may say anything of them."""
        return False

    def unlike(self, other: Design) -> str | None:
        """What differs from another design; None: they are the same."""
        if not isinstance(other, FormulaDesign) or other.formula != self.formula:
            return f"one has the formula {self.formula!r}, the other has not"
        if self.table != other.table or self.names.tolist() != other.names.tolist():
            return "the columns of the table, or their levels, differ"
        same = repr([f.states for f in self.factors]) == repr([f.states for f in other.factors])
        return None if same else "functions of the formula learned something else"

    # ---- rows --------------------------------------------------------------------------------------
    def rows(
        self, X: Columns, *, sparse: bool | None = None, threads: int = 1, quiet: bool = False
    ) -> Block:
        """The table as the columns of the formula."""
        n = X.shape[0]
        if MADE_UP.get():
            return Dense(np.zeros((n, self.p)))
        values = {
            column.name: of_kind(column, cells) for column, cells in zip(self.table, X.arrays, strict=True)
        }
        columns, unseen = [], []
        for factor in self.factors:
            value = factor.value(values)
            self._check(factor, value, values)
            cells, strange = factor.cells(value, n)
            columns.append(cells)
            unseen += [(factor.expression, strange)] if strange is not None else []
        if not quiet:
            self._say(unseen)
        blocks = [self._product(one, columns) for term in self.products for one in term.products]
        return _sparse(blocks, n) if (self.sparse if sparse is None else sparse) else _dense(blocks, n)

    @staticmethod
    def _product(product: FormulaProduct, columns: Sequence[Cells]) -> Cells:
        found = reduce(Cells.times, [columns[i] for i in product.factors])
        return found._replace(values=product.scale * found.values)

    def _check(self, factor: FormulaFactor, value: Any, values: Mapping[str, Any]) -> None:
        """Refuse rows in which a factor has no finite value, by the column that is to blame."""
        names, bad = factor.columns, np.zeros(0, dtype=np.bool_)
        for name in names:
            cells = values[name]
            bad = cells.codes < 0 if isinstance(cells, Factor) else np.isnan(np.asarray(cells, dtype=float))
            if bad.any():
                raise NonFinite(int(np.argmax(bad)), self.names_in.index(name), np.nan, name)
        if not isinstance(value, Factor):
            cells = np.asarray(value.cells if isinstance(value, Basis) else value, dtype=np.float64)
            bad = ~np.isfinite(cells.reshape(len(cells), -1)).all(axis=1) if cells.ndim else bad
        if bad.any():
            row = int(np.argmax(bad))
            held = ", ".join(f"{name} = {_shown(values[name], row)}" for name in names)
            why = f"{factor.expression!r} has no finite value where {held}, as"
            raise NoValue(row, self.names_in.index(names[0]), np.nan, names[0], why=why)


def _shown(cells: Any, row: int) -> str:
    return str(cells.levels[cells.codes[row]] if isinstance(cells, Factor) else cells[row])[:40]


def _dense(blocks: Sequence[Cells], n: int) -> Dense:
    out = np.zeros((n, sum(block.width for block in blocks)))
    start, each = 0, np.arange(n)[:, None]
    for places, values, width in blocks:
        if len(places) == 1:
            out[:, start + places[0]] = values
        else:
            out[each, start + places] = values
        start += width
    return Dense(out)


def _sparse(blocks: Sequence[Cells], n: int) -> CSR:
    p = sum(block.width for block in blocks)
    starts = np.cumsum([0, *(block.width for block in blocks)])
    shapes = [(n, block.places.shape[1]) for block in blocks]
    places = np.hstack(
        [np.broadcast_to(b.places + s, m) for b, s, m in zip(blocks, starts, shapes, strict=False)]
    )
    values = np.hstack([np.broadcast_to(b.values, m) for b, m in zip(blocks, shapes, strict=True)])
    met = values != 0
    ends = np.concatenate([[0], np.cumsum(met.sum(axis=1))])
    found = csr_array((values[met], places[met].astype(np.int32), ends.astype(np.int32)), shape=(n, p))
    found.sort_indices()
    return CSR(found.data, found.indices, found.indptr, p)
