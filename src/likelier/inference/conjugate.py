"""Ridge regression of sparse rows, from what is stored and nothing else."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpocon as pocon
from scipy.linalg.lapack import dpotrf as potrf
from scipy.linalg.lapack import dpotrs as potrs
from scipy.sparse import csr_array

from likelier.cores import one_thread_if
from likelier.data import CSR
from likelier.inference.least_squares import EPS, SMALL, WELL, Solution
from likelier.states import Equations
from likelier.states.gathered import Rows

Floats = NDArray[np.float64]

GAIN = 1e-11  # residuals, in units of their scale, fall to this share of the first
NEAR = 1e-9  # or to this one, if that is as far as rounding lets them fall
FAR = 100.0  # a mean so many standard deviations from 0 costs digits where columns are not shifted
# What operations of each kind cost, in seconds, and a step beside its products.
FACTOR, PRODUCT, STORED, STEP = 5e-11, 5e-9, 1e-9, 6e-5
ROOM = 2**31  # bytes of rows that may be written out


class Operator(NamedTuple):
    """A = √w (X - mean), of which X alone is stored."""

    X: csr_array  # times √w
    turned: csr_array  # its transpose
    root: Floats  # √w (n,)
    mean: Floats  # (p,), 0 for a model through 0
    squares: Floats  # (p,), lengths² of the columns; 0 for constant ones

    def times(self, v: Floats) -> Floats:
        return np.asarray(self.X @ v - self.root[:, None] * (self.mean @ v))

    def turned_times(self, u: Floats) -> Floats:
        found = self.turned @ u - self.mean[:, None] * (self.root @ u)
        found[self.squares == 0] = 0.0  # constant columns, exactly
        return np.asarray(found)

    def row_squares(self) -> Floats:
        """The lengths² of the rows (n,)."""
        X, mean = self.X, self.mean
        own = np.asarray(X.multiply(X).sum(axis=1)) - 2 * self.root * (X @ mean)
        return np.asarray(own + self.root**2 * (mean @ mean))

    def gram(self, *, of_rows: bool) -> Floats:
        """A Aᵀ or AᵀA."""
        if not of_rows:
            G = (self.turned @ self.X).toarray()
            G -= np.outer(self.mean, self.mean) * (self.root @ self.root)
            return np.asarray(G)
        G, v = (self.X @ self.turned).toarray(), self.X @ self.mean
        G -= np.outer(v, self.root)
        G -= np.outer(self.root, v - (self.mean @ self.mean) * self.root)
        return np.asarray(G)


def operator(X: CSR, w: Floats, *, centred: bool) -> Operator | None:
    """None where columns are so far from 0, or so large or small, that implicit centring costs digits."""
    n, p = X.shape
    root, values, at = np.sqrt(w), X.values.astype(np.float64), X.columns
    top = np.abs(values).max(initial=0.0)
    if not (1e-50 < root.min() and root.max() < 1e50 and top < 1e50 and (top > 1e-50 or top == 0)):
        return None
    each, W = np.repeat(np.arange(n), np.diff(X.starts)), float(w.sum())
    weights = w[each]
    mean = np.bincount(at, weights * values, p) / W if centred else np.zeros(p)
    absent = np.maximum(W - np.bincount(at, weights, p), 0)
    squares = np.bincount(at, weights * (values - mean[at]) ** 2, p) + absent * mean**2
    constant = squares <= (16 * EPS) ** 2 * n * W * mean**2
    if (W * mean**2 > FAR**2 * squares)[~constant].any():
        return None
    scaled = csr_array((values * root[each], at, X.starts), shape=(n, p))
    return Operator(scaled, scaled.T.tocsr(), root, mean, np.where(constant, 0.0, squares))


def conjugate(rows: Rows, alphas: Floats, *, centred: bool) -> tuple[Solution, Equations] | None:
    """The solution for all targets, and where the rows lie; None where dense rows are faster or surer."""
    X, way = rows.X, None
    if isinstance(X, CSR) and (alphas > 0).all():
        way = _way(X, len(alphas))
    if not isinstance(X, CSR) or way is None:
        return None
    A = operator(X, rows.w, centred=centred)
    if A is None:
        return None
    centre = rows.w @ rows.Y / rows.w.sum() if centred else np.zeros(len(alphas))
    y, found = A.root[:, None] * (rows.Y - centre), None
    if way == "gram":
        found = _factored(A, y, alphas)
    if found is None:
        dense = 8.0 * A.X.shape[0] * A.X.shape[1] < ROOM
        descend = _by_rows if X.shape[0] < X.shape[1] else _by_columns
        found = descend(A, y, alphas, 1000 if dense else 100_000)
    return None if found is None else (found, _at(A, centre, float(rows.w.sum())))


def _way(X: CSR, q: int) -> str | None:
    """Which way takes least: factors of a Gram matrix ("gram"), steps ("steps"), or dense rows (None).

    The number of steps is guessed from the shape, as if the cells were drawn independently: the singular
    values of such rows lie between 1 - √ρ and 1 + √ρ of their middle, ρ = n/p or p/n (Marchenko & Pastur).
    """
    (n, p), stored = X.shape, len(X.values)
    few, many = min(n, p), max(n, p)
    spread = np.sqrt(few / many)
    steps = 14 * (1 + spread) / max(1 - spread, 0.03)
    seconds = {
        "steps": steps * (4 * stored * q * STORED + STEP),
        "gram": few**3 / 3 * FACTOR + stored * (stored / many) * PRODUCT,
    }
    if 8.0 * n * p < ROOM:
        seconds["dense"] = (2.0 * n * p * few) * FACTOR
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
    of_rows = A.X.shape[0] < A.X.shape[1]
    G = A.gram(of_rows=of_rows)
    b = np.empty((A.X.shape[1], y.shape[1]))
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
    norm = np.abs(K).sum(axis=0).max()
    L, info = potrf(K, lower=True, overwrite_a=True, clean=False)
    if info != 0 or pocon(L, norm, uplo="L")[0] < WELL:
        return None
    S = S[:, None]
    b, c = np.zeros((A.X.shape[1], y.shape[1])), np.zeros_like(y)
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
def _ratio(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


class Falling:
    """Whether squared residuals, one for each target, have fallen as far as they are to, or can."""

    def __init__(self, first: Floats) -> None:
        self.first = self.best = first
        self.since = 0

    def enough(self, now: Floats) -> bool:
        self.since = 0 if (now < self.best / 2).any() else self.since + 1
        self.best = np.minimum(self.best, now)
        if (now <= GAIN**2 * self.first).all():
            return True
        return self.since > 20 and bool((now <= NEAR**2 * self.first).all())


def _by_columns(A: Operator, r: Floats, alphas: Floats, most: int) -> Solution | None:
    """For least squares with the residuals of rows at hand, so that AᵀA is not formed (Hestenes & Stiefel
    1952); each coefficient in units of its curvature. None if `most` steps are not enough."""
    M = 1 / (A.squares[:, None] + alphas)
    b, gradient = np.zeros_like(M), A.turned_times(r)
    d = M * gradient
    gamma = (gradient * d).sum(axis=0)
    falling = Falling(gamma)
    for step in range(1, most + 1):
        t = A.times(d)
        a = _ratio(gamma, (t**2).sum(axis=0) + alphas * (d**2).sum(axis=0))
        b, r = b + a * d, r - a * t
        gradient = A.turned_times(r) - alphas * b
        z = M * gradient
        before, gamma = gamma, (gradient * z).sum(axis=0)
        if falling.enough(gamma):
            return _solution(b, "cg", step)
        d = z + _ratio(gamma, before) * d
    return None


def _by_rows(A: Operator, r: Floats, alphas: Floats, most: int) -> Solution | None:
    """b = Aᵀc with (A Aᵀ + α I) c = y, each row in units of its length; for fewer rows than columns."""
    M = 1 / (A.row_squares()[:, None] + alphas)
    b = np.zeros((A.X.shape[1], r.shape[1]))
    d = M * r
    gamma = (r * d).sum(axis=0)
    falling = Falling(gamma)
    for step in range(1, most + 1):
        u = A.turned_times(d)
        t = A.times(u) + alphas * d
        a = _ratio(gamma, (d * t).sum(axis=0))
        b, r = b + a * u, r - a * t
        z = M * r
        before, gamma = gamma, (r * z).sum(axis=0)
        if falling.enough(gamma):
            return _solution(b, "cg", step)
        d = z + _ratio(gamma, before) * d
    return None
