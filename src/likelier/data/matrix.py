"""X as the kernels take it, without a copy: dense (any strides, float32 kept), CSR, or columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data.labels import Factor, levels_of

Rows = slice | NDArray[np.intp]  # of a block: from one to another, or these
Cells = tuple[NDArray[np.intp], NDArray[np.intp]]  # the row and the column of each
Test = Callable[[NDArray[Any]], NDArray[np.bool_]]  # of values, one by one


@dataclass(frozen=True, slots=True)
class Dense:
    """Rows of a 2-D array. Numbers that are not floats are converted chunk by chunk, not before."""

    array: NDArray[Any]  # (n, p)

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.array.shape
        return n, p

    @property
    def single(self) -> bool:
        """Whether its cells are of single precision."""
        return self.array.dtype == np.float32

    @property
    def row_bytes(self) -> int:
        return int(self.array.shape[1] * self.array.dtype.itemsize)

    def rows(self, start: int, stop: int) -> Self:
        return type(self)(self.array[start:stop])

    def take(self, rows: Rows) -> Self:
        return type(self)(taken(self.array, rows))

    def select(self, columns: NDArray[np.intp]) -> Self:
        """Some of the columns, in this order; where they are evenly apart, without a copy."""
        return type(self)(self.array[:, _evenly(columns)])

    def where(self, test: Test) -> Cells:
        """The cells for whose values a test holds."""
        rows, columns = np.nonzero(test(self.array))
        return rows, columns

    def without(self, cells: Cells) -> Self:
        """The same with these cells missing."""
        array = self.to_array().copy()
        array[cells] = np.nan
        return type(self)(array)

    @classmethod
    def stack(cls, blocks: Sequence[Self]) -> Self:
        """One below the other."""
        return cls(np.concatenate([block.array for block in blocks]))

    def cell(self, row: int, column: int) -> float:
        return float(self.array[row, column])

    def gappy(self) -> NDArray[np.bool_]:
        """The rows that lack a cell: (n,)."""
        return np.asarray(np.isnan(self.array).any(axis=1))

    def to_array(self) -> Floats:
        return np.asarray(self.array, dtype=np.float64)

    def native(self) -> _core.Matrix:
        X = self.array
        if X.dtype.char not in "fd" or not X.dtype.isnative:
            X = X.astype(np.float64)
        elif not X.flags.aligned or not (X.flags.forc or _whole_steps(X)):
            X = np.ascontiguousarray(X)
        return _core.Matrix.dense(X)


def _whole_steps(X: NDArray[Any]) -> bool:
    """Whether cells are whole numbers of cells apart: of a field of records they need not be."""
    return all(step % X.itemsize == 0 for step in X.strides)


def _evenly(columns: NDArray[np.intp]) -> Rows:
    """Columns that are evenly apart as a slice: it takes no copy."""
    step = int(columns[1] - columns[0]) if len(columns) > 1 else 1
    if len(columns) == 0 or step < 1 or (np.diff(columns) != step).any():
        return columns
    return slice(int(columns[0]), int(columns[-1]) + 1, step)


def taken(array: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """array[rows], without the GIL where NumPy can."""
    if isinstance(rows, slice) or not array.flags.c_contiguous:
        return np.asarray(array[rows])
    return array.take(rows, axis=0)


@dataclass(frozen=True, slots=True)
class CSR:
    """Rows of a compressed sparse matrix; what is not stored is 0."""

    values: NDArray[Any]
    columns: NDArray[Any]
    starts: NDArray[Any]  # (n + 1,), of the columns' integer type
    p: int

    @property
    def single(self) -> bool:
        """Whether its cells are of single precision."""
        return self.values.dtype == np.float32

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts) - 1, self.p

    @property
    def row_bytes(self) -> int:
        n = max(len(self.starts) - 1, 1)
        return max(1, len(self.values) * (self.values.itemsize + self.columns.itemsize) // n)

    def rows(self, start: int, stop: int) -> Self:
        return type(self)(self.values, self.columns, self.starts[start : stop + 1], self.p)

    def take(self, rows: Rows) -> Self:
        if isinstance(rows, slice):
            return self.rows(*rows.indices(self.shape[0])[:2])
        sizes = np.diff(self.starts)[rows]
        starts = np.zeros(len(rows) + 1, dtype=self.starts.dtype)
        np.cumsum(sizes, out=starts[1:])
        at = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], sizes)
        return type(self)(self.values[at], self.columns[at], starts, self.p)

    def select(self, columns: NDArray[np.intp]) -> Self:
        """Some of the columns, in this order."""
        place = np.full(self.p, -1, dtype=self.columns.dtype)
        place[columns] = np.arange(len(columns))
        rows, at = self._stored()
        found = place[self.columns[at]]
        kept = found >= 0
        sizes = np.bincount(rows[kept], minlength=self.shape[0])
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(self.starts.dtype)
        return type(self)(self.values[at][kept], found[kept], starts, len(columns))

    def where(self, test: Test) -> Cells:
        """The cells for whose values a test holds."""
        if test(np.zeros(1))[0]:
            return Dense(self.to_array()).where(test)
        rows, at = self._stored()
        held = test(self.values[at])
        return rows[held], self.columns[at][held].astype(np.intp)

    def without(self, cells: Cells) -> "CSR | Dense":
        """The same with these cells missing."""
        if not _listed(self, cells):
            return Dense(self.to_array()).without(cells)
        rows, at = self._stored()
        values, p = self.values[at].astype(np.float64), np.int64(self.p)
        values[np.isin(rows * p + self.columns[at], cells[0] * p + cells[1])] = np.nan
        return type(self)(values, self.columns[at], self.starts - self.starts[0], self.p)

    @classmethod
    def stack(cls, blocks: Sequence[Self]) -> Self:
        """One below the other."""
        held = [block._stored()[1] for block in blocks]
        sizes = np.concatenate([[0], *(np.diff(block.starts) for block in blocks)])
        return cls(
            np.concatenate([b.values[at] for b, at in zip(blocks, held, strict=True)]),
            np.concatenate([b.columns[at] for b, at in zip(blocks, held, strict=True)]),
            np.cumsum(sizes).astype(blocks[0].starts.dtype),
            blocks[0].p,
        )

    def cell(self, row: int, column: int) -> float:
        at = slice(self.starts[row], self.starts[row + 1])
        return float(self.values[at][self.columns[at] == column].sum())

    def _stored(self) -> tuple[NDArray[np.intp], slice]:
        """The row of each cell that is stored, and where they are."""
        at = np.repeat(np.arange(self.shape[0]), np.diff(self.starts))
        return at, slice(self.starts[0], self.starts[-1])

    def gappy(self) -> NDArray[np.bool_]:
        """The rows that lack a cell: (n,)."""
        rows, at = self._stored()
        found = np.zeros(self.shape[0], dtype=np.bool_)
        found[rows[np.isnan(self.values[at])]] = True
        return found

    def to_array(self) -> Floats:
        rows, at = self._stored()
        X = np.zeros(self.shape)
        X[rows, self.columns[at]] = self.values[at]
        return X

    def native(self) -> _core.Matrix:
        return _core.Matrix.csr(self.values, self.columns, self.starts, self.p)


def _listed(X: CSR, cells: Cells) -> bool:
    """Whether all these cells are among those that are stored."""
    rows, at = X._stored()
    p = np.int64(X.p)
    return bool(np.isin(cells[0] * p + cells[1], rows * p + X.columns[at]).all())


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows of a table, each column an array of its own: numbers of any kind, NaN where one is missing.

    Categories are factors; kernels get their codes, which mean something once all chunks are coded by
    the same levels.
    """

    arrays: tuple[Any, ...]  # p of (n,): arrays and factors

    @property
    def single(self) -> bool:
        """Columns are of types of their own."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.arrays[0]), len(self.arrays)

    @property
    def row_bytes(self) -> int:
        return sum(column.itemsize for column in self.arrays)

    def rows(self, start: int, stop: int) -> Self:
        return type(self)(tuple(column[start:stop] for column in self.arrays))

    def take(self, rows: Rows) -> Self:
        return type(self)(tuple(column[rows] for column in self.arrays))

    def factors(self) -> dict[int, Factor]:
        """The columns of categories, by number."""
        return {j: column for j, column in enumerate(self.arrays) if isinstance(column, Factor)}

    def select(self, columns: NDArray[np.intp]) -> Self:
        """Some of the columns, in this order."""
        return type(self)(tuple(self.arrays[j] for j in columns))

    def where(self, test: Test) -> Cells:
        """The cells for whose values a test holds; no category is one."""
        rows = [
            np.flatnonzero(test(column)) if isinstance(column, np.ndarray) else np.empty(0, dtype=np.intp)
            for column in self.arrays
        ]
        columns = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
        return np.concatenate(rows), columns

    def without(self, cells: Cells) -> Self:
        """The same with these cells missing."""
        arrays = list(self.arrays)
        for j in np.unique(cells[1]):
            arrays[j] = arrays[j].astype(np.float64)
            arrays[j][cells[0][cells[1] == j]] = np.nan
        return type(self)(tuple(arrays))

    @classmethod
    def stack(cls, blocks: Sequence[Self]) -> Self:
        """One below the other."""
        return cls(tuple(_joined(each) for each in zip(*(b.arrays for b in blocks), strict=True)))

    def coded(self, levels: Mapping[int, NDArray[Any]]) -> Self:
        """The same with categories by the levels of each column."""
        coded = {j: factor.coded(levels[j]) for j, factor in self.factors().items()}
        return type(self)(tuple(coded.get(j, column) for j, column in enumerate(self.arrays)))

    def cell(self, row: int, column: int) -> float:
        held = self.arrays[column]
        return float(held.codes[row] if isinstance(held, Factor) else held[row])

    def gappy(self) -> NDArray[np.bool_]:
        """The rows that lack a cell: (n,)."""
        found = np.zeros(self.shape[0], dtype=np.bool_)
        for column in self.arrays:
            if isinstance(column, Factor):
                found |= column.codes < 0
            elif column.dtype.kind == "f":
                found |= np.isnan(column)
        return found

    def to_array(self) -> Floats:
        X = np.empty(self.shape)
        for j, column in enumerate(self.arrays):
            X[:, j] = column.numbers() if isinstance(column, Factor) else column
        return X

    def native(self) -> _core.Matrix:
        arrays = (c.codes if isinstance(c, Factor) else c for c in self.arrays)
        return _core.Matrix.columns(tuple(map(readable, arrays)))


def _joined(columns: Sequence[Any]) -> Any:
    """One column out of several."""
    first = columns[0]
    if not isinstance(first, Factor):
        return np.concatenate(columns)
    levels = first.levels
    if any(column.levels is not levels for column in columns):
        levels = levels_of(np.concatenate([column.levels for column in columns]))
    return Factor(np.concatenate([column.coded(levels).codes for column in columns]), levels)


def readable(column: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers as the kernels take it: of a type they have, and aligned."""
    if column.dtype.char not in "dfbBhHiIlLqQ?" or not column.dtype.isnative:
        return column.astype(np.float64)
    if not column.flags.aligned or column.strides[0] % column.itemsize:
        return column.copy()
    return column


Block = Dense | CSR | Columns


def row_sums(X: Block, of: Callable[[NDArray[Any]], NDArray[Any]]) -> Floats:
    """Σ_j of(x_j) over the cells of each row that are there (n,), for a function that is 0 at 0."""
    if isinstance(X, CSR):
        rows, at = X._stored()
        found = np.nan_to_num(of(X.values[at].astype(np.float64, copy=False)), nan=0.0)
        return np.asarray(np.bincount(rows, weights=found, minlength=X.shape[0]), dtype=np.float64)
    return np.asarray(np.nansum(of(X.to_array()), axis=1))


def _check_structure(X: Any) -> None:
    """Refuse a matrix whose indices point outside it: SciPy lets them pass, and kernels follow them."""
    starts, columns = X.indptr, X.indices
    ordered = len(starts) == X.shape[0] + 1 and starts[0] == 0 and bool((starts[1:] >= starts[:-1]).all())
    if not ordered or starts[-1] > min(len(columns), len(X.data)):
        raise ValueError("Input X is a sparse matrix with a broken indptr: see X.check_format().")
    used = np.ascontiguousarray(columns[: starts[-1]])
    # Without a sign, negative ones are the largest of all: one reading finds both.
    if len(used) and used.view(f"u{used.itemsize}").max() >= X.shape[1]:
        raise ValueError(f"Input X is a sparse matrix with column indices outside 0 to {X.shape[1] - 1}.")


def block(X: Any) -> Block:
    """A NumPy array or a SciPy sparse matrix as the kernels take it."""
    if isinstance(X, np.ndarray):
        return Dense(X)
    X = X.tocsr()
    _check_structure(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = X.data if X.data.dtype.char in "fd" else X.data.astype(np.float64)
    kind = np.promote_types(X.indices.dtype, X.indptr.dtype)
    kind = kind if kind in (np.int32, np.int64) else np.dtype(np.int64)
    return CSR(values, X.indices.astype(kind, copy=False), X.indptr.astype(kind, copy=False), X.shape[1])
