"""Least squares: the R factor of the rows of a regression by QR, or the rows while they are fewer."""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats, row_weights
from likelier.data import CSR, Block, Chunk, Dense
from likelier.states.moments import refuse, weights

Powers = NDArray[np.int64]  # of 2

# A column of R that is shorter than this may have lost digits to squares that underflow.
SHORT = 2.0**-300
SMALLEST_SQUARE, LARGEST_SQUARE = 2.0**-800, 2.0**800  # between which sums of squares keep their digits
NOTHING = -(1 << 40)  # the exponent of 0
UNSAID = -(1 << 41)


def upper(Z: Floats) -> Floats:
    """The R factor of a small array."""
    R: Any = np.linalg.qr(Z, mode="r")
    return np.asarray(R)


class Equations(NamedTuple):
    """|r - R b|² + rest, the sum of squares of n rows, as small as can be: p columns, q targets.

    Columns of R and r are divided by powers of 2, so that squares neither overflow nor underflow: this
    costs no rounding, and b comes out in units that `in_units` turns into those of the rows.
    """

    R: Floats  # (m, p): upper and m = p, or as many rows as there are, m < p
    r: Floats  # (m, q)
    rest: Floats  # (q,) what no b can change
    size: Floats  # (p,) the lengths of the columns before they were centred: their rounding errors' scale
    n: float
    rows: float  # that n is the weight of
    shift: Floats  # (p + q,) a row, and the means less that row
    gap: Floats  # (p + q,)
    power: Powers  # (p + q,) of 2: what columns are divided by

    @property
    def p(self) -> int:
        return int(self.R.shape[1])

    @property
    def mean(self) -> Floats:
        return self.shift + self.gap

    def take(self, targets: NDArray[np.intp]) -> "Equations":
        """Those of some targets."""
        at = np.concatenate([np.arange(self.p), self.p + targets])
        some = {name: getattr(self, name)[at] for name in ("shift", "gap", "power")}
        return self._replace(r=self.r[:, targets], rest=self.rest[targets], **some)

    def in_units(self, b: Floats) -> Floats:
        """Coefficients (p, q) in the units of the rows."""
        p = self.p
        if not self.power.any():
            return b
        with np.errstate(over="ignore"):
            found = np.ldexp(b, self.power[None, p:] - self.power[:p, None])
        if not np.isfinite(found).all():
            raise ValueError(
                "Coefficients are too large for dtype('float64'): rescale the columns of X that are tiny, "
                "or y."
            )
        return np.asarray(found)

    def squares(self, values: Floats) -> Floats:
        """Sums of squares of the targets (q,), in the units of the rows."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.ldexp(values, 2 * self.power[self.p :]))


@dataclass
class Triangle:
    """Weight n, and the R factor of the rows √w (1, x - shift, y - shift), shift being their first row.

    A reflection keeps all inner products, so RᵀR = Σ w zzᵀ without its squares ever being formed. The
    column of ones leads: its row of R is √n (1, mean - shift), and below it stands the factor of the
    centred columns. Moving the shift by d adds √n d to that row and changes nothing else; two triangles
    on one shift merge by factoring one above the other (Golub 1965; TSQR, Demmel et al. 2012).

    Columns whose squares would overflow or underflow are divided by powers of 2: reflections are the same,
    bit for bit, whatever the columns are multiplied with.
    """

    n: float
    shift: Floats  # (p + q,)
    R: Floats  # (1 + p + q, 1 + p + q), upper, its diagonal not negative
    p: int
    rows: float = 0.0  # that n is the weight of; 0: not known, as many as n says
    power: Powers | None = None  # (1 + p + q,) what columns of R are divided by; None: by nothing

    @classmethod
    def start(cls, p: int, q: int) -> Self:
        return cls(0.0, np.zeros(p + q), np.zeros((1 + p + q, 1 + p + q)), p)

    @property
    def nbytes(self) -> int:
        return self.shift.nbytes + self.R.nbytes

    def __post_init__(self) -> None:
        P = 1 + len(self.shift)
        good = self.R.shape == (P, P) and self.R.flags.c_contiguous and self.R.dtype == np.float64
        if not good or (self.power is not None and self.power.shape != (P,)):
            raise ValueError(f"R has shape {self.R.shape}, which does not fit {P - 1} columns.")

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        w = weights(chunk)
        Y = Dense(chunk.y if chunk.y.ndim == 2 else chunk.y[:, None])
        if (chunk.X.shape[1], Y.shape[1]) != (self.p, len(self.shift) - self.p):  # kernels do not look
            raise ValueError(
                f"rows have {chunk.X.shape[1]} columns and {Y.shape[1]} targets, not as before."
            )
        rows = Weighted(chunk.X, Y, w)
        if chunk.X.shape[0] == 0:
            return
        # Weightless rows may be anything: the shift is a row that counts, if there is one.
        shift = self.shift if self.n else rows.row(0 if w is None else int(np.argmax(w > 0)))
        R, power = self.R.copy(), self.power  # a chunk that is refused leaves no trace
        refuse_cell(chunk, Y, rows.fold(shift, power, R), self.p)
        at = doubtful(R)
        if len(at) and (found := self._powers(rows.exponents(shift, at), R)) is not None:
            power, R = found, self._rescaled(found)
            rows.fold(shift, power, R)
        self.shift, self.R, self.power = shift, R, power
        self.n += float(chunk.X.shape[0] if w is None else w.sum())
        self.rows += float(chunk.X.shape[0] if w is None else np.count_nonzero(w))

    def finite(self) -> bool:
        """False if weights have overflowed."""
        return bool(np.isfinite(self.n) and np.isfinite(self.R).all())

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, Triangle) and (self.p, self.R.shape) == (other.p, other.R.shape)

    def merge(self, other: Self) -> None:
        if other.n == 0:
            return
        if self.n == 0:
            self.n, self.shift, self.R = other.n, other.shift.copy(), other.R.copy()
            self.rows, self.power = other.rows, other.power
            return
        R, power = self._joined(other, self.power), self.power
        unlike = other.power is not None and not np.array_equal(other.power, _zeros_for(power, R))
        if (unlike or len(doubtful(R))) and (found := self._united(other, R)) is not None:
            power, R = found, self._joined(other, found)
        self.R, self.power = R, power
        self.n, self.rows = self.n + other.n, self.rows + other.rows

    def _joined(self, other: Self, power: Powers | None) -> Floats:
        """R of both, their columns divided by these powers of 2."""
        R, below = self._rescaled(power), other._rescaled(power)
        below[0, 1:] += below[0, 0] * (_scaled(other.shift, power) - _scaled(self.shift, power))
        _core.fold_factor(Dense(below).native(), R)
        return R

    def _exponents(self) -> Powers:
        """Of 2: about the length of each column."""
        return _exponents(np.abs(self.R).max(axis=0)) + _zeros_for(self.power, self.R)

    def _powers(self, exponents: Powers, R: Floats) -> Powers | None:
        """What to divide columns by that hold what is here and something of these sizes.

        None: what they are divided by now. Columns of which no size is given are as in R.
        """
        now = _zeros_for(self.power, self.R)
        with np.errstate(invalid="ignore"):
            seen = _exponents(np.abs(R).max(axis=0)) + now
        both = np.where(exponents == UNSAID, seen, np.maximum(self._exponents(), exponents))
        found = np.where((both > NOTHING // 2) & (np.abs(both) > 300), both, 0)
        return None if np.array_equal(found, now) else found

    def _united(self, other: Self, R: Floats) -> Powers | None:
        """What to divide columns by that hold what is here and in another; R is a first try."""
        apart = _exponents(0.5 * other.shift - 0.5 * self.shift) + 1
        first = other._exponents()[0]
        return self._powers(np.maximum(other._exponents(), np.append(NOTHING, apart + first)), R)

    def _rescaled(self, power: Powers | None) -> Floats:
        """A copy of R with its columns divided by other powers of 2."""
        if power is None and self.power is None:
            return self.R.copy()
        return np.asarray(np.ldexp(self.R, _zeros_for(self.power, self.R) - _zeros_for(power, self.R)))

    @property
    def gap(self) -> Floats:
        """The means less the shift, (p + q,)."""
        power = _zeros_for(self.power, self.R)
        return np.asarray(np.ldexp(self.R[0, 1:] / self.R[0, 0], power[1:] - power[0]))

    @property
    def mean(self) -> Floats:
        return self.shift + self.gap

    def equations(self, *, centred: bool) -> Equations:
        """What is left to solve: for columns about their means, or (a model through 0) as they are."""
        p, power = self.p, _zeros_for(self.power, self.R)
        whole = self.R[:, 1:].copy()
        whole[0] += self.R[0, 0] * _scaled(self.shift, self.power)
        R = self.R[1:, 1:]
        if not centred:
            extra = np.where(np.abs(top := _exponents(np.abs(whole).max(axis=0))) > 300, top, 0)
            extra[top == NOTHING] = 0
            whole = np.ldexp(whole, -extra)
            R, power = upper(whole), power + np.append(0, extra)
        rest = (R[p:, p:] ** 2).sum(axis=0)
        size = lengths(whole[:, :p])
        rows = self.rows or self.n
        return Equations(
            R[:p, :p], R[:p, p:], rest, size, self.n, rows, self.shift, self.gap, power[1:].copy()
        )


# ---- powers of 2 -----------------------------------------------------------------------------------
def _exponents(x: Floats) -> Powers:
    """e with 2^(e-1) <= |x| < 2^e; far below all others where x is 0."""
    return np.where(x != 0, np.frexp(x)[1].astype(np.int64), NOTHING)


def _zeros_for(power: Powers | None, R: Floats) -> Powers:
    return np.zeros(len(R), dtype=np.int64) if power is None else power


def _scaled(shift: Floats, power: Powers | None) -> Floats:
    """A row as the columns of R have it."""
    return shift if power is None else np.asarray(np.ldexp(shift, power[0] - power[1:]))


def doubtful(R: Floats) -> NDArray[np.intp]:
    """The columns in which squares may have overflowed (then all are) or underflowed."""
    top = np.abs(R).max(axis=0)
    if not top.max() < np.inf:
        return np.arange(len(R))
    return np.flatnonzero(top <= SHORT)


def lengths(Z: Floats) -> Floats:
    """The lengths of columns, whatever their squares are."""
    squares = np.einsum("ij,ij->j", Z, Z)
    if ((squares > SMALLEST_SQUARE) & (squares < LARGEST_SQUARE)).all():
        return np.asarray(np.sqrt(squares))
    top = np.abs(Z).max(axis=0, initial=0.0)
    unit = np.where(top > 0, top, 1.0)
    return np.asarray(unit * np.linalg.norm(Z / unit, axis=0))


class Weighted(NamedTuple):
    """Rows of X and of targets Y, with their weights (None: all 1)."""

    X: Block
    Y: Dense
    w: Floats | None

    def row(self, i: int) -> Floats:
        return np.concatenate([block.rows(i, i + 1).to_array()[0] for block in (self.X, self.Y)])

    def fold(self, shift: Floats, power: Powers | None, R: Floats) -> tuple[int, int] | None:
        """Fold √w (1, x - shift, y - shift) into R; the first cell that is not finite, if any."""
        if power is None:
            return _core.fold(self.X.native(), self.Y.native(), self.w, shift, R)
        p = self.X.shape[1]
        w = row_weights(self.w, len(self.Y.array))
        units = power[0] - power[1:]
        X, Y = np.ldexp(self.X.to_array(), units[:p]), np.ldexp(self.Y.to_array(), units[p:])
        w = np.ldexp(w, -2 * power[0])
        return _core.fold(Dense(X).native(), Dense(Y).native(), w, _scaled(shift, power), R)

    def exponents(self, shift: Floats, at: NDArray[np.intp]) -> Powers:
        """Of 2: the largest of √w, and of √w |x - shift| in each column; of those at `at`, (1 + p + q,)."""
        p, w = self.X.shape[1], row_weights(self.w, len(self.Y.array))
        root = _exponents(np.sqrt(w))
        found = np.full(1 + len(shift), UNSAID)
        found[0] = root.max()
        for block, before in ((self.X, 1), (self.Y, 1 + p)):
            columns = at[(at >= before) & (at < before + block.shape[1])] - before
            if len(columns):
                Z, centre = block.select(columns).to_array(), shift[before - 1 + columns]
                each = _exponents(0.5 * Z - 0.5 * centre) + 1 + root[:, None]
                found[before + columns] = each.max(axis=0)
        return found


def refuse_cell(chunk: Chunk, Y: Dense, where: tuple[int, int] | None, p: int) -> None:
    """Raise if [X Y] has a cell that is not finite."""
    if where is not None and where[1] >= p:
        row, value = chunk.first + where[0], Y.cell(where[0], where[1] - p)
        what = "NaN" if np.isnan(value) else "infinity or a value too large for dtype('float64')"
        raise ValueError(f"Input y contains {what}: row {row} is {value}.")
    refuse(chunk, where)


# The rows of a regression, or the triangle that is left of them: whichever is smaller.

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
