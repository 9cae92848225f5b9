"""The rows of a regression, or the triangle that is left of them: whichever is smaller."""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import CSR, Block, Chunk, Dense
from likelier.states.moments import weights
from likelier.states.qr import Equations, Triangle, lengths, refuse_cell

Held = NDArray[Any] | CSR
EPS = float(np.finfo(np.float64).eps)
SPARSE_ROOM = 2**27  # bytes of sparse rows that are kept, if their triangle is not even larger,
THIN = 1 / 8  # as long as no larger share of their cells is stored


class Rows(NamedTuple):
    """Rows X (n, p), targets Y (n, q) and weights w (n,), all above 0."""

    X: Dense | CSR
    Y: Floats
    w: Floats


@dataclass
class RowsOrTriangle:
    """Rows as they came while they take less memory than their triangle, and from then on the triangle.

    Of n < p rows the rows themselves are the smallest thing to know. Sparse ones are kept for longer, up to
    `SPARSE_ROOM`: folding them costs n p² operations, and a penalised solution some readings of what is
    stored. Merging is one after another; so nothing of what is derived depends on how rows were cut.
    """

    p: int
    q: int
    X: tuple[Held, ...] = ()  # pieces (m, p), dense or CSR; never changed once they are here
    Y: tuple[Floats, ...] = ()  # (m, q)
    w: tuple[Floats, ...] = ()  # (m,)
    triangle: Triangle | None = None

    @classmethod
    def start(cls, p: int, q: int) -> Self:
        return cls(p, q)

    @classmethod
    def of(cls, triangle: Triangle) -> Self:
        return cls(triangle.p, len(triangle.shift) - triangle.p, triangle=triangle)

    def __deepcopy__(self, memo: Any) -> Self:
        """Pieces are shared: nobody changes them."""
        return type(self)(self.p, self.q, self.X, self.Y, self.w, copy.deepcopy(self.triangle, memo))

    @property
    def n(self) -> float:
        kept = float(sum(float(w.sum()) for w in self.w))
        return kept if self.triangle is None else self.triangle.n

    @property
    def nbytes(self) -> int:
        """At most: what the triangle takes."""
        return 8 * (1 + self.p + self.q) * (2 + self.p + self.q)

    @property
    def _held(self) -> int:
        return sum(map(_bytes, self.X)) + sum(
            Y.nbytes + w.nbytes for Y, w in zip(self.Y, self.w, strict=True)
        )

    @property
    def _thin(self) -> bool:
        """Whether all rows that are here have few stored cells."""
        return all(isinstance(X, CSR) and _thin(X) for X in self.X)

    def _room(self, thin: bool) -> int:
        """The bytes up to which rows are kept."""
        if self.triangle is not None:
            return 0
        return max(self.nbytes, SPARSE_ROOM) if thin else self.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        n = chunk.X.shape[0]
        thin = self._thin and _thin(chunk.X)
        if self._held + _block_bytes(chunk.X) + 8 * n * (1 + self.q) < self._room(thin):
            self._keep(chunk)
            return
        triangle = self.folded()
        triangle.update(chunk)  # or not at all: a chunk that is refused leaves no trace
        self._become(triangle)

    def _keep(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        n, w = chunk.X.shape[0], weights(chunk)
        y = chunk.y if chunk.y.ndim == 2 else chunk.y[:, None]
        X, Y = _own(chunk.X), y.astype(np.float64)
        cells = X.values if isinstance(X, CSR) else X
        if not np.isfinite(cells.sum()) and not np.isfinite(cells).all():
            row, column = min(zip(*chunk.X.where(lambda x: ~np.isfinite(x)), strict=True))
            refuse_cell(chunk, Dense(Y), (int(row), int(column)), self.p)
        if not np.isfinite(Y).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(Y))[0])
            refuse_cell(chunk, Dense(Y), (row, self.p + column), self.p)
        if w is None:
            w = np.ones(n)
        elif not w.all():
            at = np.flatnonzero(w)
            X, Y, w = (X.take(at) if isinstance(X, CSR) else X[at]), Y[at], w[at]
        if len(w):
            self.X, self.Y, self.w = (*self.X, X), (*self.Y, Y), (*self.w, w + 0.0)

    def merge(self, other: Self) -> None:
        room = 0 if other.triangle is not None else self._room(self._thin and other._thin)
        if self._held + other._held < room:
            self.X, self.Y, self.w = self.X + other.X, self.Y + other.Y, self.w + other.w
            return
        triangle = self.folded()
        if other.triangle is None:
            for chunk in other._chunks():
                triangle.update(chunk)
        else:
            triangle.merge(other.triangle)
        self._become(triangle)

    def _become(self, triangle: Triangle) -> None:
        self.X, self.Y, self.w, self.triangle = (), (), (), triangle

    def _chunks(self) -> list[Chunk]:
        pieces = zip(self.X, self.Y, self.w, strict=True)
        return [Chunk(X if isinstance(X, CSR) else Dense(X), Y, w) for X, Y, w in pieces]

    def folded(self) -> Triangle:
        """The triangle of all rows."""
        if self.triangle is not None:
            return self.triangle
        found = Triangle.start(self.p, self.q)
        for chunk in self._chunks():
            found.update(chunk)
        return found

    def finite(self) -> bool:
        """False if weights have overflowed."""
        return bool(np.isfinite(self.n)) and (self.triangle is None or self.triangle.finite())

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, RowsOrTriangle) and (self.p, self.q) == (other.p, other.q)

    @property
    def sparse(self) -> bool:
        """Whether all rows are here, as CSR."""
        return self.triangle is None and bool(self.X) and all(isinstance(X, CSR) for X in self.X)

    def rows(self) -> Rows | None:
        """All rows, if they are still here."""
        if self.triangle is not None or not self.w:
            return None
        Y, w = np.concatenate(self.Y), np.concatenate(self.w)
        blocks = [X if isinstance(X, CSR) else Dense(X) for X in self.X]
        if len(blocks) == 1:
            return Rows(blocks[0], Y, w)
        sparse = [X for X in blocks if isinstance(X, CSR)]
        if len(sparse) == len(blocks):
            return Rows(CSR.stack(sparse), Y, w)
        return Rows(Dense(np.concatenate([X.to_array() for X in blocks])), Y, w)

    def constant(self) -> NDArray[np.bool_]:
        """The columns that have one value, but for rounding errors of a triangle."""
        if self.triangle is not None:
            e = self.triangle.equations(centred=True)
            return np.asarray(lengths(e.R) <= EPS * (16 + np.sqrt(e.rows) / 4) * e.size)
        ends = [(_extreme(X, np.minimum), _extreme(X, np.maximum)) for X in self.X]
        least, most = (np.array(some) for some in zip(*ends, strict=True))
        return np.asarray(least.min(axis=0) == most.max(axis=0))

    def equations(self, *, centred: bool) -> Equations:
        """What is left to solve: for columns about their means, or (a model through 0) as they are."""
        rows = self.rows()
        if rows is None or len(rows.w) - centred >= self.p:
            return self.folded().equations(centred=centred)
        return wide(rows, centred=centred)


def _own(X: Block) -> Held:
    """A copy of rows, in the precision that they have."""
    if isinstance(X, CSR):
        at = slice(X.starts[0], X.starts[-1])
        return CSR(X.values[at].copy(), X.columns[at].copy(), X.starts - X.starts[0], X.p)
    array = X.array if isinstance(X, Dense) else X.to_array()
    return np.array(
        array, dtype=array.dtype if array.dtype in (np.float32, np.float64) else np.float64, order="C"
    )


def _extreme(X: Held, of: np.ufunc) -> Floats:
    """The least or the largest cell of each column."""
    if not isinstance(X, CSR):
        return np.asarray(of.reduce(X, axis=0), dtype=np.float64)
    (n, p), values = X.shape, X.values.astype(np.float64)
    found = np.full(p, np.inf if of is np.minimum else -np.inf)
    of.at(found, X.columns, values)
    rare = np.bincount(X.columns, minlength=p) < n  # what is not stored is 0
    found[rare] = of(found[rare], 0.0)
    return found


def _thin(X: Block) -> bool:
    if not isinstance(X, CSR):
        return False
    n, p = X.shape
    return int(X.starts[-1] - X.starts[0]) <= THIN * n * p


def _bytes(X: Held) -> int:
    return X.values.nbytes + X.columns.nbytes + X.starts.nbytes if isinstance(X, CSR) else X.nbytes


def _block_bytes(X: Block) -> int:
    if isinstance(X, CSR):
        stored = int(X.starts[-1] - X.starts[0])
        return stored * (X.values.itemsize + X.columns.itemsize) + X.starts.nbytes
    n, p = X.shape
    return n * p * (4 if isinstance(X, Dense) and X.array.dtype == np.float32 else 8)


# ---- fewer rows than columns -----------------------------------------------------------------------
def wide(rows: Rows, *, centred: bool) -> Equations:
    """The equations of n <= p rows √w (x - s, y - s), s being the first: these rows themselves.

    Centred: one reflection takes √w, the column of ones, to its first entry; what stands in the other rows
    is orthogonal to it, that is centred, and one row fewer.
    """
    (n, p), q = rows.X.shape, rows.Y.shape[1]
    Z = np.empty((n, p + q))
    Z[:, :p], Z[:, p:] = rows.X.to_array(), rows.Y
    root, shift, power = np.sqrt(rows.w), np.zeros(p + q), np.zeros(p + q, dtype=np.int64)
    first = _harmful(np.array([root.max(), root.min()])).max()
    units = _harmful(np.maximum(Z.max(axis=0), -Z.min(axis=0)))
    if first or units.any():
        root, Z, power = np.ldexp(root, -first), np.ldexp(Z, -units), first + units
    if centred:
        shift = Z[0].copy()
        size = np.sqrt(np.einsum("i,ij,ij->j", root**2, Z[:, :p], Z[:, :p]))
        Z -= shift
        Z *= root[:, None]
        length = np.linalg.norm(root)
        v = root / length
        gap = v @ Z / length
        v[0] += 1
        along = v @ Z / v[0]
        for row, factor in zip(Z, v, strict=True):  # an outer product would be as large as the rows
            row -= factor * along
        Z = Z[1:]
    else:
        Z *= root[:, None]
        size, gap = lengths(Z[:, :p]), np.zeros(p + q)
    return Equations(
        Z[:, :p],
        Z[:, p:],
        np.zeros(q),
        size,
        float(rows.w.sum()),
        float(n),
        np.ldexp(shift, units),
        np.ldexp(gap, units),
        power,
    )


def _harmful(largest: Floats) -> NDArray[np.int64]:
    """The powers of 2 of numbers whose squares are too large or too small; 0 for all others."""
    exponent = np.frexp(largest)[1].astype(np.int64)
    return np.where((largest > 0) & (np.abs(exponent) > 200), exponent, 0)
