"""Ridge regression of sparse rows, from what is stored and nothing else."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpocon as pocon
from scipy.linalg.lapack import dpotrf as potrf
from scipy.linalg.lapack import dpotrs as potrs
from scipy.sparse import csr_array

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR
from likelier.inference.least_squares import EPS, SMALL, WELL, Solution
from likelier.states import Equations
from likelier.states.least_squares import Rows
from likelier.threads import cores, one_blas_thread, one_thread_if

ERROR = 1e-8  # of coefficients, as a share of them, that may be left
LEAST = 1e-11  # share of the first residuals, in units of their scale, to which they fall at most
NEAR = 1e-9  # or this one, if that is as far as rounding lets them fall
FAR = 100.0  # a mean so many standard deviations from 0 costs digits where columns are not shifted
# What operations of each kind cost, in seconds: of a factorisation, each cell of its matrix (which is read
# some times), a product of two stored cells; in a step, a stored cell and a row or column; of reflections.
FACTOR, SQUARE, PRODUCT, CELL, NUMBER, FOLD = 1e-10, 5e-9, 2e-9, 1.5e-9, 2e-9, 5e-11
SHARED = 300_000  # stored cells, from which threads share a product
TURN = 500  # steps that are taken at once
ROOM = 2**31  # bytes of rows that may be written out


@dataclass(frozen=True)
class Operator:
    """A = √w (X - mean), of which X alone is stored."""

    rows: CSR
    root: Floats  # √w (n,)
    mean: Floats  # (p,), 0 for a model through 0
    squares: Floats  # (p,), lengths² of the columns; 0 for constant ones

    @cached_property
    def X(self) -> csr_array:
        """Times √w."""
        X = self.rows
        values = X.values * np.repeat(self.root, np.diff(X.starts))
        return csr_array((values, X.columns, X.starts), shape=X.shape)

    @cached_property
    def turned(self) -> csr_array:
        """Its transpose."""
        return self.X.T.tocsr()

    def times(self, v: Floats) -> Floats:
        return np.asarray(self.X @ v - self.root[:, None] * (self.mean @ v))

    def turned_times(self, u: Floats) -> Floats:
        found = self.turned @ u - self.mean[:, None] * (self.root @ u)
        found[self.squares == 0] = 0.0  # constant columns, exactly
        return np.asarray(found)

    def gram(self, *, of_rows: bool) -> Floats:
        """A Aᵀ or AᵀA, the upper triangle."""
        X = self.turned if of_rows else self.X
        G = np.zeros((X.shape[1], X.shape[1]))
        _core.sparse_gram(CSR(X.data, X.indices, X.indptr, X.shape[1]).native(), np.ones(X.shape[0]), G)
        if not of_rows:
            G -= np.outer(self.mean, self.mean) * (self.root @ self.root)
            return G
        v = self.X @ self.mean
        G -= np.outer(v, self.root)
        G -= np.outer(self.root, v - (self.mean @ self.mean) * self.root)
        return G


def operator(X: CSR, w: Floats, *, centred: bool) -> Operator | None:
    """None where columns are so far from 0, or so large or small, that implicit centring costs digits."""
    n, p = X.shape
    root, mean, squares = np.sqrt(w), np.zeros(p), np.zeros(p)
    top = max(X.values.max(initial=0.0), -X.values.min(initial=0.0))
    if not (1e-50 < root.min() and root.max() < 1e50 and top < 1e50 and (top > 1e-50 or top == 0)):
        return None
    W = float(w.sum())
    _core.sparse_spread(X.native(), w, centred, mean, squares)
    constant = squares <= (16 * EPS) ** 2 * n * W * mean**2
    if (W * mean**2 > FAR**2 * squares)[~constant].any():
        return None
    return Operator(X, root, mean, np.where(constant, 0.0, squares))


def conjugate(rows: Rows, alphas: Floats, *, centred: bool) -> tuple[Solution, Equations] | None:
    """The solution for all targets, and where the rows lie; None where dense rows are faster or surer."""
    X, way = rows.X, None
    if isinstance(X, CSR) and (alphas > 0).all():
        way = _way(X, alphas)
    if not isinstance(X, CSR) or way is None:
        return None
    A = operator(X, rows.w, centred=centred)
    if A is None:
        return None
    with one_blas_thread():
        centre = rows.w @ rows.Y / rows.w.sum() if centred else np.zeros(len(alphas))
    y, found = A.root[:, None] * (rows.Y - centre), None
    if way == "gram":
        found = _factored(A, y, alphas)
    if found is None:
        dense = 8.0 * X.shape[0] * X.shape[1] < ROOM
        found = _descended(A, y, alphas, 1000 if dense else 100_000)
    return None if found is None else (found, _at(A, centre, float(rows.w.sum())))


def _way(X: CSR, alphas: Floats) -> str | None:
    """Which way takes least: factors of a Gram matrix ("gram"), steps ("steps"), or dense rows (None).

    The number of steps is guessed from the shape, as if the cells were drawn independently: the squares of
    the singular values of such rows lie between (1 ± √ρ)² of their middle, ρ = n/p or p/n (Marchenko &
    Pastur 1967), the penalty adds to all of them, and steps grow with the root of their ratio.
    """
    (n, p), stored = X.shape, len(X.values)
    few, many = min(n, p), max(n, p)
    spread = np.sqrt(few / many)
    # Without BLAS, whose threads are slow to come where a core is busy.
    middle = float(np.einsum("i,i->", X.values, X.values, dtype=np.float64)) / few
    ratio = (middle * (1 + spread) ** 2 + alphas) / (middle * (1 - spread) ** 2 + alphas)
    fall = np.maximum(ERROR / np.maximum(10, ratio), LEAST)
    steps = (np.sqrt(ratio) / 2 * np.log(2 / fall) + 1).sum()
    seconds = {
        "steps": steps * (stored * CELL + (n + p) * NUMBER),
        "gram": few**3 / 3 * FACTOR + few**2 * SQUARE + stored * (stored / many) * PRODUCT,
    }
    if 8.0 * n * p < ROOM:
        seconds["dense"] = (2.0 * n * p * few) * FOLD
    best = min(seconds, key=lambda way: seconds[way])
    return None if best == "dense" else best


def _at(A: Operator, centre: Floats, n: float) -> Equations:
    """No equations, but where the rows lie."""
    p, q = len(A.mean), len(centre)
    none = np.zeros((0, p)), np.zeros((0, q)), np.zeros(q), np.zeros(p)
    at, power = np.concatenate([A.mean, centre]), np.zeros(p + q, dtype=np.int64)
    return Equations(*none, n, float(len(A.root)), np.zeros(p + q), at, power)


def _solution(b: Floats, how: str, steps: int = 1) -> Solution:
    return Solution(b, len(b), np.zeros((0, len(b))), how, steps)


# ---- a Gram matrix, factored -----------------------------------------------------------------------
def _factored(A: Operator, y: Floats, alphas: Floats) -> Solution | None:
    """By Cholesky factors of A Aᵀ + α I, or of AᵀA + α I, whichever is smaller, and refinement."""
    of_rows = A.rows.shape[0] < A.rows.shape[1]
    G = A.gram(of_rows=of_rows)
    b = np.empty((A.rows.shape[1], y.shape[1]))
    for alpha in np.unique(alphas):
        at = np.flatnonzero(alphas == alpha)
        with one_thread_if(len(G) ** 3 / 3 < SMALL):
            found = _refined(A, y[:, at], float(alpha), G, of_rows=of_rows)
        if found is None:
            return None
        b[:, at] = found
    return _solution(b, "cholesky")


def _refined(A: Operator, y: Floats, alpha: float, G: Floats, *, of_rows: bool) -> Floats | None:
    K = G + alpha * np.eye(len(G))
    S = 1 / np.sqrt(np.diagonal(K))
    K *= S
    K *= S[:, None]
    sizes = np.triu(np.abs(K))
    norm = (sizes.sum(axis=0) + sizes.sum(axis=1)).max() - 1  # of both triangles; the diagonal is 1
    # In Fortran's order the upper triangle is the lower one of the same memory.
    L, info = potrf(K.T, lower=True, overwrite_a=True, clean=False)
    if info != 0 or pocon(L, norm, uplo="L")[0] < WELL:
        return None
    S = S[:, None]
    b, c = np.zeros((A.rows.shape[1], y.shape[1])), np.zeros_like(y)
    for _ in range(3):
        left = y - A.times(b)
        if of_rows:
            step = S * potrs(L, S * (left - alpha * c), lower=True)[0]
            b, c = b + A.turned_times(step), c + step
        else:
            b = b + S * potrs(L, S * (A.turned_times(left) - alpha * b), lower=True)[0]
    b[A.squares == 0] = 0.0
    return b


# ---- conjugate gradients ---------------------------------------------------------------------------
def _descended(A: Operator, y: Floats, alphas: Floats, most: int) -> Solution | None:
    """Target by target, natively; each residual in units of its curvature. None if `most` steps are not
    enough."""
    b, steps = np.zeros((len(alphas), A.rows.shape[1])), 0
    for one, target, alpha in zip(b, y.T, alphas, strict=True):
        taken = _descend(A, target, float(alpha), one, most)
        if taken is None:
            return None
        steps = max(steps, taken)
    return _solution(np.ascontiguousarray(b.T), "cg", steps)


def _descend(A: Operator, target: Floats, alpha: float, b: Floats, most: int) -> int | None:
    """Writes b; the number of steps. In turns of some steps, so that a signal is heard between them."""
    n, p = A.rows.shape
    X, by_rows = A.rows.native(), n < p
    r, d, now = target.copy(), np.zeros(n if by_rows else p), np.full(5, -1.0)
    where, how = (A.root, A.mean, A.squares, alpha), (np.array([ERROR, LEAST, NEAR]), b, r, d, now)
    threads = cores() if len(A.rows.values) >= SHARED else 1
    steps = 0
    while steps < most:
        taken = _core.ridge_steps(X, *where, by_rows, min(TURN, most - steps), *how, threads)
        steps += abs(taken)
        if taken < 0:
            return steps
    return None
