"""Separation: directions in which the likelihood grows for ever, so that it has no maximum.

A direction d separates if no row has a negative margin, (d_y - d_k)·x >= 0 for its class y and every other
k, and some row has a positive one: completely, if all are positive (Albert & Anderson 1984).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, hstack, vstack

from likelier.array_types import Floats, rows_that_count
from likelier.data import Arrays, Chunk
from likelier.engines import chunks, run
from likelier.losses import squared
from likelier.objective import FULL_METRIC, Objective
from likelier.solvers import Iterate, Solution, newton, run_solver, solved
from likelier.states import Expansion, Setting

Kind = Literal["complete", "quasi-complete"]


@dataclass(frozen=True)
class Separation:
    """How the classes of a fit are linearly separated.

    Attributes
    ----------
    kind : {"complete", "quasi-complete"}
        Whether all rows are strictly separated, or some lie on the boundary.
    columns : tuple of int
        Positions of the columns that separate.
    classes : tuple of int
        Positions in `classes_` of the classes whose coefficients grow without bound.
    """

    kind: Kind
    columns: tuple[int, ...]
    classes: tuple[int, ...]  # codes, of the weights that grow


def separation_of(objective: Objective, solution: Solution) -> Separation | None:
    """Whether, and how, the rows of a fit are separated; None: they are not, or penalties hold the weights.

    A maximum that exists is found by Newton's method in steps that vanish; without one, margins grow by
    about 1 in each step, for ever. So ordinary fits cost nothing here, and only the others are looked at:
    exactly, by linear programming (Konis 2007), where the rows are few, and else by the directions in
    which the Hessian has gone to 0, held against all rows.
    """
    held = _held(objective)
    if held[:-1].all():  # intercepts alone separate no classes that have rows
        return None
    last = solution.last
    if last.hessian is None or not solution.converged:
        if objective.size > FULL_METRIC:
            return None
        last = run_solver(newton, objective, last.theta, tol=1e-7, max_iter=FURTHER).last
    if not _runs_away(last):
        return None
    if _cells(objective) <= EXACT:
        return _by_programming(objective, held)
    return _by_curvature(objective, last, held)


FURTHER = 40  # Newton steps, to see where other solvers were heading
EXACT = 1_000_000  # numbers in the programme up to which it is solved


def _held(objective: Objective) -> NDArray[np.bool_]:
    """(p + 1,): whether a penalty keeps the weights of a column finite, or there are none."""
    penalty, P = objective.penalty, objective.setting.p + 1
    held = (penalty.l2 + penalty.l1)[:P] > 0
    held[-1] |= not objective.intercept
    return held


def _runs_away(last: Iterate) -> bool:
    """Whether Newton's next step is still a noticeable share of some weight, or hardly any loss is left."""
    assert last.gradient is not None
    assert last.hessian is not None
    step = np.abs(solved(last.hessian, last.gradient))
    return last.value < 1e-6 or bool((~(step <= 1e-3 * np.abs(last.theta))).any())


# ---- few rows: exactly ---------------------------------------------------------------------------
def _cells(objective: Objective) -> float:
    """How many numbers the programme has."""
    source, setting = objective.source, objective.setting
    if not isinstance(source, Arrays):
        return np.inf
    return float(len(source) * max(setting.q - 1, 1) * 2 * (setting.p + 1))


class Margins(NamedTuple):
    """G d, for d (q, p + 1) flat, are the margins of all rows with each other class."""

    G: csr_array  # (r, m)
    y: NDArray[Any]  # (r,), the class of each row
    q: int

    def take(self, rows: NDArray[np.bool_]) -> "Margins":
        return Margins(self.G[rows], self.y[rows], self.q)

    def of(self, columns: NDArray[np.bool_]) -> csr_array:
        """Of some columns alone, (r, q c)."""
        return self.G[:, np.flatnonzero(np.tile(columns, self.q))]


def _margins(objective: Objective) -> Margins:
    """Of rows that have weight, each column brought to one size."""
    q, pieces = objective.setting.q, []
    for chunk in chunks(objective.source):
        assert chunk.y is not None
        counts = rows_that_count(chunk.y >= 0, chunk.w)
        pieces.append((chunk.X.to_array()[counts], chunk.y[counts]))
    X, y = (np.concatenate(several) for several in zip(*pieces, strict=True))
    X = X - X.mean(axis=0) if objective.intercept else X
    size = np.sqrt((X**2).mean(axis=0))
    X = np.column_stack([X / np.where(size > 0, size, 1.0), np.ones(len(X))])
    if q == 1:
        return Margins(csr_array(X * np.where(y == 1, 1.0, -1.0)[:, None]), y, 1)
    blocks, labels = [], []
    for k in range(q):
        mine = csr_array(X[y == k])
        none = csr_array(mine.shape)
        for other in (j for j in range(q) if j != k):
            blocks.append(hstack([mine if j == k else -mine if j == other else none for j in range(q)]))
            labels.append(np.full(mine.shape[0], k))
    return Margins(csr_array(vstack(blocks)), np.concatenate(labels), q)


def _by_programming(objective: Objective, held: NDArray[np.bool_]) -> Separation | None:
    """Columns of which none can be spared; with quasi-complete separation, of one set after another.

    Rows that one direction separates are settled: what separates the rest separates all, if the first is
    followed far enough.
    """
    margins, K = _margins(objective), max(objective.setting.q, 2)
    found = _fewest(margins, ~held, complete=True) or _fewest(margins, ~held, complete=False)
    columns, classes = set[int](), set[int]()
    while found is not None:
        d, strict = found
        columns.update(np.flatnonzero((d[:, :-1] != 0).any(axis=0)).tolist())
        classes.update(_told_apart(d, np.bincount(margins.y[strict], minlength=K)))
        margins = margins.take(~strict)
        found = _fewest(margins, ~held, complete=False) if margins.G.shape[0] else None
    kind: Kind = "quasi-complete" if margins.G.shape[0] else "complete"
    return Separation(kind, tuple(sorted(columns)), tuple(sorted(classes))) if classes else None


class Found(NamedTuple):
    """A direction that separates, (q, p + 1), and which margins are positive in it."""

    d: Floats
    strict: NDArray[np.bool_]


def _fewest(margins: Margins, columns: NDArray[np.bool_], *, complete: bool) -> Found | None:
    """A direction in columns of which none can be spared, the intercept apart."""
    found = _programme(margins, columns, complete=complete)
    if found is None:
        return None
    tried: set[int] = {len(columns) - 1}
    while True:
        weight = np.abs(found.d).sum(axis=0)
        left = [j for j in np.argsort(weight) if weight[j] > 0 and int(j) not in tried]
        if not left:
            return found
        tried.add(int(left[0]))
        fewer = (weight > 0) & (np.arange(len(weight)) != left[0])
        fewer[-1] = columns[-1]
        found = _programme(margins, fewer, complete=complete) or found


def _programme(margins: Margins, columns: NDArray[np.bool_], *, complete: bool) -> Found | None:
    """min Σ|d| over d with G d >= 1, or, if not complete, with G d >= 0 that is 1 on average."""
    from scipy.optimize import linprog  # slow to load, and seldom wanted

    G, P = margins.of(columns), len(columns)
    if not G.shape[1]:
        return None
    G2 = hstack([G, -G])  # d = u - v, both from 0
    cost = np.tile(np.tile((np.arange(P) < P - 1)[columns].astype(float), margins.q), 2)
    mean = np.asarray(G2.sum(axis=0))[None, :] / G.shape[0]
    below = np.full(G.shape[0], -1.0 if complete else 0.0)
    also = {} if complete else {"A_eq": mean, "b_eq": [1.0]}
    end = linprog(cost, A_ub=-G2, b_ub=below, **also, method="highs")
    if end.status != 0:
        return None
    d = end.x[: G.shape[1]] - end.x[G.shape[1] :]
    for candidate in (np.where(np.abs(d) > NEAR * np.abs(d).max(), d, 0.0), d):
        found = _upright(G, candidate)
        if found is not None:
            whole = np.zeros((margins.q, P))
            whole[:, columns] = found[0].reshape(margins.q, -1)
            return Found(whole, found[1])
    return None


NEAR = 1e-6  # of the mean margin, and of the largest weight: what the programme may leave of a 0


def _upright(G: csr_array, d: Floats) -> tuple[Floats, NDArray[np.bool_]] | None:
    """d, if no margin G d is negative but by rounding, and which are positive; None: some are negative.

    A programme is solved to a tolerance, in which classes that overlap by a little count as parted. So the
    margins that it leaves near 0 are made 0, where there is a direction that can: rows on the boundary
    have one, rows that are on the wrong side of it by however little have none. Or they are made positive,
    as they can be where there is a gap between the classes, however small.
    """
    near = np.abs(G @ d) <= NEAR
    for at in _nearby(G[near].toarray(), d) if near.any() else (d,):
        r, rounding = G @ at, ROUNDING * (abs(G) @ np.abs(at))
        strict = r > rounding
        if strict.any() and (r >= -rounding).all():
            return at, strict
    return None


ROUNDING = 256 * float(np.finfo(np.float64).eps)  # of the terms of a margin


def _nearby(A: Floats, d: Floats) -> Iterator[Floats]:
    """Directions near d that may be upright for rows A, whose margins are near 0."""
    yield _flattened(A, d)
    yield d
    lifted = _lifted(A, d)
    if lifted is not None:
        yield lifted


def _lifted(A: Floats, d: Floats) -> Floats | None:
    """d, turned by so little that all margins of A are positive; None: no direction makes them so.

    Sought in the coordinates in which the rows of A are orthonormal, where no gap is small.
    """
    from scipy.optimize import linprog

    at = np.flatnonzero(d)
    U, s, V = np.linalg.svd(A[:, at], full_matrices=False)
    kept = s > len(at) * np.finfo(np.float64).eps * s.max(initial=0.0)
    U = U[:, kept]
    end = linprog(np.ones(2 * U.shape[1]), A_ub=np.hstack([-U, U]), b_ub=-np.ones(len(A)), method="highs")
    if end.status != 0:
        return None
    v = end.x[: U.shape[1]] - end.x[U.shape[1] :]
    lifted = d.copy()
    lifted[at] += 2 * np.abs(A @ d).max() * (V[kept].T @ (v / s[kept]))
    return lifted


def _flattened(A: Floats, d: Floats) -> Floats:
    """The direction nearest to d, with its weights of 0, in which all rows of A have margin 0."""
    at = np.flatnonzero(d)
    _, s, V = np.linalg.svd(A[:, at], full_matrices=False)
    kept = V[s > len(at) * np.finfo(np.float64).eps * s.max(initial=0.0)]
    flat = np.zeros_like(d)
    flat[at] = d[at] - kept.T @ (kept @ d[at])
    return flat


def _told_apart(d: Floats, strict: NDArray[Any]) -> Iterator[int]:
    """Which classes weights grow for: if possible, such as have rows beyond the boundary."""
    beyond = strict > 0
    size = np.abs(d - np.median(d, axis=0)).max(axis=1)
    apart = beyond if len(d) == 1 else size > 1e-5 * size.max()
    both = apart & beyond
    yield from np.flatnonzero(both if both.any() else apart).tolist()


# ---- many rows: where the Hessian has gone to 0 --------------------------------------------------
FLAT = 1e-5  # mean curvature of the loss, per row that a direction concerns, below which it may be none
SLIGHT = 1e-6  # of the terms of a margin: no more than rounding
ASIDE = 1e-5  # of the largest weight of a direction, each in its column's unit: taken for 0 at first


def _by_curvature(objective: Objective, last: Iterate, held: NDArray[np.bool_]) -> Separation | None:
    """Of the flat directions those in which the weights, or the next step, lie: held against all rows."""
    setting, theta = objective.setting, last.theta.reshape(objective.setting.q, -1)
    assert last.gradient is not None
    assert last.hessian is not None
    step = -solved(last.hessian, last.gradient).reshape(theta.shape)
    M = _gram(objective)
    flat = _flat(objective.opened(last.hessian), M, setting.q, ~held)  # (f, q', p + 1)
    unit = np.sqrt(np.diagonal(M))
    for whole in _candidates(flat, M, (theta, step)):
        seen = run(objective.source, partial(Sides.start, setting, whole))
        if seen.against or not seen.strict.any():
            continue
        share = np.abs(whole - np.median(whole, axis=0) if setting.q > 1 else whole).max(axis=0)
        share = (share * unit)[:-1]
        columns = np.flatnonzero(share > ASIDE * share.max()).tolist()
        kind: Kind = "quasi-complete" if seen.on else "complete"
        return Separation(kind, tuple(columns), tuple(sorted(_told_apart(whole, seen.strict))))
    return None


def _candidates(flat: Floats, M: Floats, ways: Iterable[Floats]) -> Iterator[Floats]:
    """What of each way lies in flat directions, (q, p + 1), first without weights that may be rounding.

    Rows that lack a rare column have no other weight: of them rounding alone would choose the side.
    """
    unit = np.sqrt(np.diagonal(M))
    for way in ways:
        ahead = way if len(way) == 1 else way[1:] - way[0]
        d = np.einsum("f,fkj->kj", np.einsum("fki,ij,kj->f", flat, M, ahead), flat)
        if not d.any():
            continue
        whole = d if len(way) == 1 else np.vstack([np.zeros(d.shape[1]), d])
        whole = whole / np.abs(whole * unit).max()
        yield np.where(np.abs(whole * unit) > ASIDE, whole, 0.0)
        yield whole


def _gram(objective: Objective) -> Floats:
    """(1/n) Σ w x xᵀ, (p + 1, p + 1), about the shift."""
    plain = replace(objective.setting, loss=squared, q=1)
    start = partial(Expansion.start, plain, np.zeros((1, plain.p + 1)), curved=True)
    H = run(objective.source, start).H
    assert H is not None
    return H / objective.n


def _flat(H: Floats, M: Floats, q: int, columns: NDArray[np.bool_]) -> Floats:
    """Directions v with vᵀ H v <= FLAT vᵀ M v, (f, q', p + 1), as differences from the first class."""
    P, at = len(M), np.flatnonzero(columns)
    unit = np.sqrt(np.diagonal(M))
    unit = np.where(unit > 0, unit, 1.0)
    s, U = eigh((M / np.outer(unit, unit))[np.ix_(at, at)])
    kept = s > 4 * P * np.finfo(np.float64).eps * s[-1]
    L = np.zeros((P, int(kept.sum())))
    L[at] = U[:, kept] / np.sqrt(s[kept]) / unit[at, None]
    blocks = H.reshape(q, P, q, P)[min(q - 1, 1) :, :, min(q - 1, 1) :]
    B = np.einsum("ia,kilj,jb->kalb", L, blocks, L, optimize=True)
    k, r = B.shape[:2]
    mu, V = eigh(B.reshape(k * r, k * r))
    return np.asarray(np.einsum("kaf,ia->fki", V[:, mu <= FLAT].reshape(k, r, -1), L))


@dataclass
class Sides:
    """On which side of a direction rows are: how many against it, on it in part, and beyond it by class."""

    setting: Setting
    d: Floats  # (q, p + 1)
    against: int
    on: int
    strict: NDArray[np.int64]  # (K,)

    @classmethod
    def start(cls, setting: Setting, d: Floats) -> Self:
        return cls(setting, d, 0, 0, np.zeros(max(setting.q, 2), dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.d.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        counts = rows_that_count(chunk.y >= 0, chunk.w)
        X, y = chunk.X.to_array()[counts] - self.setting.shift, chunk.y[counts]
        Z = X @ self.d[:, :-1].T + self.d[:, -1]
        size = np.abs(X) @ np.abs(self.d[:, :-1].T) + np.abs(self.d[:, -1])
        if self.setting.q == 1:
            m, slight = np.where(y == 1, 1.0, -1.0)[:, None] * Z, SLIGHT * size
        else:
            mine = np.arange(len(y)), y
            m, slight = Z[mine][:, None] - Z, SLIGHT * (size[mine][:, None] + size)
            m[mine] = np.inf
        self.against += int((m < -slight).any(axis=1).sum())
        self.on += int((m <= slight).any(axis=1).sum())
        beyond = np.where(np.isinf(m), -1.0, m) > slight
        self.strict += np.bincount(y[beyond.any(axis=1)], minlength=len(self.strict))

    def merge(self, other: Self) -> None:
        self.against += other.against
        self.on += other.on
        self.strict += other.strict
