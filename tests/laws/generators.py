"""Tables that are hard on a state: few rows or more than a tile, columns far from 0 or tiny or constant,
classes that are empty, weights that are fractional or 0; each in every layout that the kernels read."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy import sparse

from likelier.data import CSR, Block, Chunk, Columns, Dense, Factor, block

Array = NDArray[Any]
SEEDS = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Table:
    """X (n, p), codes y (n,) among K classes, -1 = unlabelled, and weights w (n,) or None."""

    X: Array
    y: Array
    w: Array | None
    K: int

    def __len__(self) -> int:
        return len(self.X)

    @property
    def p(self) -> int:
        return self.X.shape[1]

    @property
    def weights(self) -> Array:
        return np.ones(len(self)) if self.w is None else self.w

    @property
    def R(self) -> Array:
        """The labels as memberships (n, K): an unlabelled row belongs nowhere."""
        return (self.y[:, None] == np.arange(self.K)).astype(np.float64)

    def take(self, rows: Any) -> "Table":
        w = None if self.w is None else self.w[rows]
        return Table(self.X[rows], self.y[rows], w, self.K)

    def cut(self, at: list[int]) -> list["Table"]:
        """In pieces, in order; some may have no rows."""
        ends = [0, *sorted(at), len(self)]
        return [self.take(slice(a, b)) for a, b in pairwise(ends)]

    def chunk(self, layout: str = "C") -> Chunk:
        return Chunk(LAYOUTS[layout](self.X), self.y, self.w)

    def reweighed(self, w: Array | None) -> "Table":
        return replace(self, w=w)

    def lacking(self, cells: Array) -> "Table":
        """The same without these cells, (n, p)."""
        return replace(self, X=np.where(cells, np.nan, self.X))


# ---- layouts -------------------------------------------------------------------------------------
def _strided(X: Array) -> Array:
    """Every third row and second column of an array that holds NaN elsewhere: none may be read."""
    n, p = X.shape
    wide = np.full((3 * n, 2 * p), np.nan, dtype=X.dtype)
    wide[1::3, 1::2] = X
    return wide[1::3, 1::2]


def _csr(X: Array, kind: Any) -> CSR:
    found = sparse.csr_array(X)
    return CSR(found.data, found.indices.astype(kind), found.indptr.astype(kind), X.shape[1])


def _csr_from_the_middle(X: Array) -> Block:
    """Rows of a larger CSR: its starts do not begin at 0."""
    around = np.vstack([np.full((2, X.shape[1]), np.nan), X, np.full((1, X.shape[1]), np.nan)])
    return block(sparse.csr_array(around)).rows(2, 2 + len(X))


def _columns(X: Array) -> Columns:
    """Arrays of their own, with a gap between the cells of every third one."""
    return Columns(tuple(x.copy() if j % 3 else np.repeat(x, 2)[::2] for j, x in enumerate(X.T)))


def categories(X: Array) -> Columns:
    """Cells as a few words or numbers, some missing; levels in no order, and some that no row has."""

    def factor(j: int, x: Array) -> Factor:
        values: list[Any] = [None, 7, 3, 5, 1, 3] if j % 2 else [None, "x", "", "ab", "b", "a"]
        return Factor.of((np.abs(x) % 5).astype(np.int64), values)

    return Columns(tuple(factor(j, x) for j, x in enumerate(X.T)))


def positive(rows: Table) -> Table:
    """The same with cells without their sign; 1 for 0."""
    X = np.abs(rows.X)
    return replace(rows, X=np.where(X == 0, X.dtype.type(1), X))


DENSE: dict[str, Callable[[Array], Block]] = {
    "C": lambda X: Dense(np.ascontiguousarray(X)),
    "Fortran": lambda X: Dense(np.asfortranarray(X)),
    "strided": lambda X: Dense(_strided(X)),
    "backwards": lambda X: Dense(np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]),
    "columns": _columns,
    "columns of C order": lambda X: Columns(tuple(np.ascontiguousarray(X).T)),
}
SPARSE: dict[str, Callable[[Array], Block]] = {
    "CSR, 32 bit": lambda X: _csr(X, np.int32),
    "CSR, 64 bit": lambda X: _csr(X, np.int64),
    "CSR, from the middle": _csr_from_the_middle,
}
LAYOUTS = DENSE | SPARSE


# ---- columns -------------------------------------------------------------------------------------
CONSTANTS = (0.0, 0.1, -3.3, 1e8 + 0.1)
COLUMNS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "far": lambda rng, n: 1e8 + rng.standard_normal(n),
    "very far": lambda rng, n: -1e12 + rng.standard_normal(n),
    "tiny": lambda rng, n: 1e-6 * rng.standard_normal(n),
    "uneven": lambda rng, n: rng.standard_normal(n) * 10 ** rng.uniform(-3, 3, n),
    "constant": lambda rng, n: np.full(n, rng.choice(CONSTANTS)),
    "few values": lambda rng, n: rng.integers(-2, 3, n).astype(np.float64),
    "mostly 0": lambda rng, n: rng.standard_normal(n) * (rng.random(n) < 0.2),
}
WEIGHTS: dict[str, Callable[[np.random.Generator, int], Array | None]] = {
    "none": lambda rng, n: None,
    "whole": lambda rng, n: rng.integers(0, 4, n).astype(np.float64),
    "fractional": lambda rng, n: rng.exponential(size=n),
    "wide": lambda rng, n: 10 ** rng.uniform(-6, 6, n),
    "mostly 0": lambda rng, n: rng.random(n) * (rng.random(n) < 0.2),
    "all 0": lambda rng, n: np.zeros(n),
}
# How labels lie: mixed, or in runs; over all classes, or leaving some empty; or none at all.
LABELS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "mixed": lambda rng, n, K: rng.integers(0, K, n),
    "runs": lambda rng, n, K: np.sort(rng.integers(0, K, n)),
    "some classes": lambda rng, n, K: rng.choice(rng.permutation(K)[: (K + 1) // 2], n),
    "one class": lambda rng, n, K: np.full(n, rng.integers(0, K)),
    "some unlabelled": lambda rng, n, K: np.where(rng.random(n) < 0.3, -1, rng.integers(0, K, n)),
    "all unlabelled": lambda rng, n, K: np.full(n, -1),
}


def table(
    rng: Any, n: int, columns: list[str], K: int, labels: str = "mixed", weights: str = "none"
) -> Table:
    y, w = LABELS[labels](rng, n, K).astype(np.int32), WEIGHTS[weights](rng, n)
    X = np.empty((n, len(columns)))
    for j, kind in enumerate(columns):
        X[:, j] = COLUMNS[kind](rng, n)
    return Table(X, y, w, K)


_DRAWN = "drawn"  # cells that hypothesis chooses and shrinks itself

# Made once: making a strategy costs more than drawing from it.
_WIDTHS = st.sampled_from([1, 2, 3, 7, 8, 9, 12, 17])  # below, at and just above those of a vector
_CLASSES = st.sampled_from([1, 2, 3, 30])
_KINDS = st.sampled_from([*COLUMNS, _DRAWN])
_LABELS = st.sampled_from(list(LABELS))
_YES_OR_NO = st.booleans()
# Fourth powers must not underflow.
_CELLS = st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-30 else 0.0)


@cache
def _sizes(least: int, most: int) -> Any:
    return st.integers(least, least + 3) | st.integers(least, most)


@cache
def _of_width(p: int) -> Any:
    return st.lists(_KINDS, min_size=p, max_size=p)


@cache
def _cells(n: int) -> Any:
    return hnp.arrays(np.float64, n, elements=_CELLS)


@cache
def _any_of(names: tuple[str, ...]) -> Any:
    return st.sampled_from(names)


@cache
def _places(n: int) -> Any:
    """Where a table of n rows is cut."""
    return st.lists(st.integers(0, n), max_size=6)


@st.composite
def tables(draw: Any, weights: tuple[str, ...] = tuple(WEIGHTS), least: int = 0, most: int = 60) -> Table:
    """Small tables of every kind."""
    n, p, K = draw(_sizes(least, most)), draw(_WIDTHS), draw(_CLASSES)
    columns = draw(_of_width(p))
    rng = np.random.default_rng(draw(SEEDS))
    known = [kind if kind in COLUMNS else "normal" for kind in columns]
    rows = table(rng, n, known, K, draw(_LABELS), draw(_any_of(weights)))
    for j in [j for j, kind in enumerate(columns) if kind == _DRAWN]:
        rows.X[:, j] = draw(_cells(n))
    if n and draw(_YES_OR_NO):
        rows.X[:] = rows.X[rng.integers(0, (n + 1) // 2, n)]  # rows that repeat
    if draw(_YES_OR_NO):  # classes of different sizes: none may cost another its digits
        rows.X[:] *= 10.0 ** rng.integers(-3, 7, K + 1)[rows.y, None]
    if draw(_YES_OR_NO):  # rows that do not count are no reason to lose digits either
        rows.X[rows.weights == 0] *= 1e9
    return rows


@st.composite
def cut_tables(draw: Any, **how: Any) -> tuple[Table, list[Table]]:
    """A table, and the same in pieces."""
    rows = draw(tables(**how))
    return rows, rows.cut(draw(_places(len(rows))))


# ---- gaps ----------------------------------------------------------------------------------------
def _some_patterns(rng: np.random.Generator, rows: Table) -> Array:
    """Few ways to be incomplete, so that many rows share one."""
    ways = np.vstack([np.zeros(rows.p, bool), rng.random((3, rows.p)) < 0.4])
    return ways[rng.integers(0, 4, len(rows))]


def _one_column(rng: np.random.Generator, rows: Table) -> Array:
    return np.broadcast_to(np.arange(rows.p) == rng.integers(rows.p), rows.X.shape)


# Which cells are missing, (n, p).
GAPS: dict[str, Callable[[np.random.Generator, Table], Array]] = {
    "none": lambda rng, rows: np.zeros(rows.X.shape, bool),
    "few": lambda rng, rows: rng.random(rows.X.shape) < 0.05,
    "many": lambda rng, rows: rng.random(rows.X.shape) < 0.6,
    "some patterns": _some_patterns,
    "whole rows": lambda rng, rows: np.repeat(rng.random((len(rows), 1)) < 0.3, rows.p, axis=1),
    "a whole column": _one_column,
    "a column of one class": lambda rng, rows: (
        _one_column(rng, rows) & (rows.y == rng.integers(rows.K))[:, None]
    ),
    "where it does not count": lambda rng, rows: (
        (rng.random(rows.X.shape) < 0.5) & ((rows.weights == 0) | (rows.y < 0))[:, None]
    ),
    "all but one row": lambda rng, rows: np.arange(len(rows))[:, None] > np.zeros(rows.p),
    "all": lambda rng, rows: np.ones(rows.X.shape, bool),
}


_WAYS = st.lists(st.sampled_from(list(GAPS)), min_size=1, max_size=2)


@st.composite
def gappy_tables(draw: Any, **how: Any) -> Table:
    """Tables of every kind in which cells are missing in every way."""
    rows = draw(tables(**how))
    ways = draw(_WAYS)
    rng = np.random.default_rng(draw(SEEDS))
    for way in ways:
        rows = rows.lacking(GAPS[way](rng, rows))
    return rows


@st.composite
def cut_gappy_tables(draw: Any, **how: Any) -> tuple[Table, list[Table]]:
    rows = draw(gappy_tables(**how))
    return rows, rows.cut(draw(_places(len(rows))))


# More rows than one 256 KB tile holds: (n, p, K).
LARGE = [(4097, 1, 2), (9001, 3, 3), (3700, 9, 30), (1300, 50, 2)]


def large_table(n: int, p: int, K: int, weights: str = "none") -> Table:
    kinds = list(COLUMNS)
    columns = [kinds[j % len(kinds)] for j in range(p)]
    return table(np.random.default_rng(n + p), n, columns, K, "some unlabelled", weights)
