"""Fisher's information of a maximum likelihood fit, the sandwich, and the covariance of the weights."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from scipy.special import xlogy

from likelier.array_types import Floats
from likelier.data import Arrays, Chunk, block
from likelier.engines import run
from likelier.inference.clusters import Clusters, ClusterScores
from likelier.inference.least_squares import Covariance
from likelier.inference.separation import Separation
from likelier.losses import squared
from likelier.objective import Objective
from likelier.penalties import ElasticNet
from likelier.scores import Affine
from likelier.solvers import Solution, newton, run_solver
from likelier.states import Expansion, Setting
from likelier.states.moments import weights

# What a fit by maximum likelihood keeps beside its weights.


KEPT = 1024  # parameters up to which a fit keeps the Hessian that its solver had: 8 MB
MOST = 10_000  # and up to which one is made when errors are asked for


@dataclass(frozen=True)
class Information:
    """What a likelihood fit leaves beside its weights θ: all that errors without rows need.

    H is Σ w ∂²ℓ/∂θ², without the penalty, at the θ that was found: Fisher's information (1922).
    """

    n: Floats  # (K,), the weight of each class
    log_likelihood: float
    null: float  # the same of a model without columns
    l2: Floats  # (m,), the penalty ½ Σ l2 θ² beside the summed loss
    l1: bool
    intercept: bool
    iterations: int
    converged: bool
    separation: Separation | None = None
    H: Floats | None = None  # (m, m); None: the solver knew none

    @classmethod
    def of(cls, objective: Objective, solution: Solution, separation: Separation | None) -> Self:
        """Of an end that is known already: no pass over rows, unless there are offsets."""
        last, n, penalty = solution.last, objective.n, objective.penalty
        assert objective.totals is not None
        ordinary = objective.setting.unit is None  # else the squares of units may be no numbers
        null, steps, H = null_log_likelihood(objective), solution.iterations, last.hessian
        kept = H is not None and objective.size <= KEPT and ordinary
        return cls(
            objective.totals,
            -n * (last.value - penalty.value(last.theta)),
            null,
            n * penalty.l2,
            not penalty.smooth,
            objective.intercept,
            steps,
            solution.converged,
            separation,
            objective.curvature(H) * n if kept and H is not None else None,
        )

    def again(self, objective: Objective, theta: Floats) -> Self:
        """The same with the Hessian of the rows of the fit, read once more; others are refused."""
        if objective.size > MOST:
            raise ValueError(
                f"standard errors are computed for at most {MOST} parameters, as they need a matrix of as "
                f"many rows and columns; got {objective.size}."
            )
        F, _, H = objective.hessian(theta.ravel())
        found = -objective.n * (F - objective.penalty.quadratic(theta.ravel()))
        n, before = objective.n, self.log_likelihood
        if not np.isclose(n, self.n.sum()) or abs(found - before) > 1e-7 * abs(before) + 1e-9 * n:
            raise ValueError(
                "X and y (and sample_weight and offset) are not the rows that were fitted: these are "
                f"{n:g} rows of log-likelihood {found:.6g}, those were {self.n.sum():g} of {before:.6g}."
            )
        return replace(self, H=objective.curvature(H) * n)


def null_log_likelihood(objective: Objective) -> float:
    """Of the model that knows no column: Σ n_k ln(n_k / n), or n ln(1/K) without an intercept.

    With offsets the intercepts are sought, or there is nothing to seek.
    """
    n, setting, source = objective.n, objective.setting, objective.source
    assert objective.totals is not None
    if not (isinstance(source, Arrays) and source.offset is not None):
        shares = objective.totals / n if objective.intercept else np.full(1, 1 / len(objective.totals))
        return float(xlogy(objective.totals, shares).sum())
    # One column of zeros, of which no score depends.
    rows = replace(source, X=block(np.zeros((len(source), 1))), names=None)
    alone = replace(setting, shift=np.zeros(1))
    none = ElasticNet.of(setting.q, 1, 0.0, 0.0)
    bare = replace(objective, source=rows, setting=alone, penalty=none, passes=0, _gauge=None)
    start = np.zeros(bare.size)
    if not objective.intercept:
        return -n * float(bare.value(start)[0])
    return -n * run_solver(newton, bare, start, tol=1e-9, max_iter=50).last.value


# A square root of Fisher's information, from rows.


CELLS = 1 << 20  # of the rows that are factored at once


@dataclass
class Root:
    """R (r, m) with RᵀR = Σ w ∂²ℓ/∂θ² at θ, of logistic and softmax losses, by QR: a state.

    The curvature of a row is x xᵀ ⊗ (diag(P) - P Pᵀ) = (x ⊗ B)ᵀ(x ⊗ B), B = diag(√P) - √P Pᵀ; for one
    score x xᵀ P (1 - P). Columns that are alike to 1e-8 have a condition of 1e8 here, in the sum 1e16.
    """

    setting: Setting
    theta: Floats  # (q, p + 1)
    intercept: bool
    R: Floats

    @classmethod
    def start(cls, setting: Setting, theta: Floats, intercept: bool) -> Self:
        return cls(setting, theta, intercept, np.zeros((0, setting.m)))

    @property
    def nbytes(self) -> int:
        return 8 * self.setting.m**2

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        n, q = chunk.X.shape[0], self.setting.q
        w = weights(chunk)
        w = np.where(chunk.y >= 0, 1.0 if w is None else w, 0.0)
        step = max(1, CELLS // (q * self.setting.m))
        for start in range(0, n, step):
            at = slice(start, start + step)
            X = np.column_stack([chunk.X.take(at).to_array() - self.setting.shift, np.ones(len(w[at]))])
            Z = X @ self.theta.T
            if chunk.offset is not None:
                Z += chunk.offset[at].reshape(Z.shape)
            X[:, -1] = self.intercept
            self._absorb((_half(Z) * np.sqrt(w[at])[:, None, None])[..., None] * X[:, None, None, :])

    def _absorb(self, rows: Floats) -> None:
        stacked = np.vstack([self.R, rows.reshape(-1, self.setting.m)])
        self.R = np.asarray(np.linalg.qr(stacked, mode="r"))

    def merge(self, other: Self) -> None:
        self._absorb(other.R)


def _half(Z: Floats) -> Floats:
    """(n, q, q), whose square is the curvature of the loss in the scores."""
    if Z.shape[1] == 1:
        return np.asarray(1 / (np.exp(Z / 2) + np.exp(-Z / 2)))[..., None]
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    s = np.sqrt(P)
    return np.asarray(s[:, :, None] * (np.eye(Z.shape[1]) - P[:, None, :]))


# Errors that hold where a likelihood is not the true one.


EPS = float(np.finfo(np.float64).eps)
POWERS = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}


@dataclass
class Meat:
    """Σ w g(h) s sᵀ, with s = ∂ℓ/∂θ of a row: between two inverses of H it is the covariance of θ,
    whatever the true one of the labels is (Huber 1967; White 1982).

    g is 1, 1/(1-h) or 1/(1-h)² for HC0, HC2 and HC3, with h = ℓ'' xᵀ H⁻¹ x, the leverage of the row in
    the last of the weighted least-squares problems (MacKinnon & White 1985; Pregibon 1981). A block of it
    is a sum of x xᵀ with weights s_k s_l: differences of squares, which are weights as any other.
    """

    setting: Setting
    theta: Floats  # (q, p + 1)
    root: Floats | None  # L with H⁻¹ = Lᵀ L, if leverages count
    power: int  # of 1/(1-h)
    pairs: list[Expansion]  # for each k <= l, of (s_k + s_l)²; of s_k² where they are the same

    @classmethod
    def start(cls, setting: Setting, theta: Floats, V: Floats, power: int) -> Self:
        plain, none = replace(setting, loss=squared, q=1), np.zeros((1, setting.p + 1))
        count = setting.q * (setting.q + 1) // 2
        pairs = [Expansion.start(plain, none, curved=True) for _ in range(count)]
        return cls(setting, theta, _root(V) if power else None, power, pairs)

    @property
    def nbytes(self) -> int:
        return sum(pair.nbytes for pair in self.pairs)

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        loss, Z, y = self.setting.loss, self._scores(chunk, self.theta), np.maximum(chunk.y, 0)
        if chunk.offset is not None:
            Z += chunk.offset.reshape(len(Z), -1)
        g = np.where(chunk.y >= 0, 1.0 if chunk.w is None else chunk.w, 0.0)
        if self.root is not None:
            room = 1 - loss.curvature(Z, y)[:, 0, 0] * (self._scores(chunk, self.root) ** 2).sum(axis=1)
            tight = (g > 0) & (room <= 64 * EPS)
            if tight.any():
                raise ValueError(
                    f"row {chunk.first + int(np.argmax(tight))} alone decides a coefficient (leverage 1): "
                    "HC2 and HC3 do not exist; HC0 and HC1 do."
                )
            g = g / np.where(g > 0, room, 1.0) ** self.power
        S, alone = loss.gradient(Z, y), chunk._replace(offset=None)
        for (k, m), pair in zip(self._places, self.pairs, strict=True):
            each = S[:, k] if k == m else S[:, k] + S[:, m]
            pair.update(alone._replace(w=g * each**2))

    def _scores(self, chunk: Chunk, theta: Floats) -> Floats:
        """θ [x - shift, 1], (n, rows of θ)."""
        Z = np.empty((chunk.X.shape[0], len(theta)))
        term = Affine(theta[:, -1].copy(), np.ascontiguousarray(theta[:, :-1]), self.setting.shift)
        term.write(chunk, Z, add=False)
        return Z

    @property
    def _places(self) -> list[tuple[int, int]]:
        return list(combinations_with_replacement(range(self.setting.q), 2))

    def merge(self, other: Self) -> None:
        for pair, its in zip(self.pairs, other.pairs, strict=True):
            pair.merge(its)

    @property
    def M(self) -> Floats:
        """(m, m)."""
        q, P = self.setting.q, self.setting.p + 1
        found = {place: np.asarray(pair.H) for place, pair in zip(self._places, self.pairs, strict=True)}
        M = np.empty((q, P, q, P))
        for (k, m), H in found.items():
            M[k, :, m] = M[m, :, k] = H if k == m else (H - found[k, k] - found[m, m]) / 2
        return M.reshape(q * P, q * P)


def _root(V: Floats) -> Floats:
    """L with V = Lᵀ L, in units in which the diagonal of V is 1."""
    unit = np.sqrt(np.diagonal(V))
    unit = np.where(unit > 0, unit, 1.0)
    s, U = eigh(V / np.outer(unit, unit))
    return np.asarray(np.sqrt(np.maximum(s, 0.0))[:, None] * U.T * unit)


# The covariance of the weights of a fit by maximum likelihood, and of combinations of them.

SMALL = 1e-9  # of a variance: no more doubt than this is left where rows are at hand


class WeightsCovariance(NamedTuple):
    """V of the weights θ in a basis R (m, m') without the free direction of softmax."""

    theta: Floats  # (m,), without that direction
    R: Floats
    V: Floats  # (m', m')
    half: Floats | None  # B with V = B Bᵀ, if known
    free: Floats  # (f, m') directions that the rows leave open, in units
    unit: Floats  # (m',)
    used: float  # parameters, or effective ones
    doubt: float  # the part of the variances that rounding may have changed
    groups: int = 0  # clusters of rows, if errors are of clusters

    def of(self, C: Floats) -> tuple[Floats, Floats, Floats]:
        """Of combinations C (b, m) of θ: the covariance, how far each lies in open directions, its unit."""
        C = C @ self.R
        size = np.linalg.norm(C / self.unit, axis=1)
        V = C @ self.V @ C.T if self.half is None else (C @ self.half) @ (C @ self.half).T
        away = (C / self.unit) @ self.free.T / np.where(size > 0, size, 1.0)[:, None]
        return V, away, size


def weights_covariance(
    found: Information, theta: Floats, rows: Objective | None, cov: Covariance, clusters: Clusters | None
) -> WeightsCovariance:
    """V = H⁻¹, (H + λ)⁻¹, or H⁻¹ M H⁻¹, in coordinates that know no free direction of softmax."""
    assert found.H is not None
    q, P = theta.shape
    R: Floats = np.asarray(np.kron(differences(q), np.eye(P)), dtype=np.float64)  # (m, m')
    H, l2 = R.T @ found.H @ R, np.tile(found.l2[:P], R.shape[1] // P)
    V, free, unit = _inverse(H + np.diag(l2))
    doubt, half = _doubt(H + np.diag(l2), free, unit), None
    if doubt > SMALL and rows is not None:  # the square root has half as many digits to lose
        root = run(rows.source, partial(Root.start, rows.setting, theta, found.intercept)).R @ R
        half, free, unit = _inverse_of_root(np.vstack([root, np.diag(np.sqrt(l2))]))
        V, doubt = half @ half.T, 0.0
    used = float(np.einsum("ij,ji->", H, V)) if l2.any() else float(len(unit) - len(free))
    groups = 0
    if cov != "classical":
        assert rows is not None
        M, factor, groups = _meat(found, theta, rows, R @ V @ R.T, cov, clusters, used)
        V, half = V @ (R.T @ M @ R) @ V * factor, None
    at = np.asarray(R @ (R.T @ theta.ravel()), dtype=np.float64)
    return WeightsCovariance(at, R, V, half, free, unit, used, doubt, groups)


def _meat(
    found: Information,
    theta: Floats,
    rows: Objective,
    V: Floats,
    cov: Covariance,
    clusters: Clusters | None,
    used: float,
) -> tuple[Floats, float, int]:
    """What stands between two inverses of H, the factor for few rows, and the number of clusters."""
    n = float(found.n.sum())
    if cov == "cluster":
        assert clusters is not None
        start = partial(ClusterScores.start, rows.setting, theta, found.intercept, clusters)
        scores = run(rows.source, start)
        return scores.sums.T @ scores.sums, *scores.correction(n, used)
    M = run(rows.source, partial(Meat.start, rows.setting, theta, V, POWERS[cov])).M
    return M, n / (n - used) if cov == "HC1" else 1.0, 0


def _inverse(A: Floats) -> tuple[Floats, Floats, Floats]:
    """A⁻¹; the directions (f, m) that A leaves open, in which it is 0 instead; their units (m,).

    Decided in units in which the diagonal is 1. A combination that is at a right angle to all open
    directions has the same variance by any inverse that A may have (Rao 1962).
    """
    unit = np.sqrt(np.maximum(np.diagonal(A), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    s, U = eigh(A / np.outer(unit, unit))
    kept = s > 4 * len(s) * EPS * s[-1]
    V = (U[:, kept] / s[kept]) @ U[:, kept].T / np.outer(unit, unit)
    return np.asarray(V), np.asarray(U[:, ~kept].T), unit


def _inverse_of_root(R: Floats) -> tuple[Floats, Floats, Floats]:
    """The same of A = RᵀR, but a half B of A⁻¹ = BBᵀ: what A has lost in rounding R may still have."""
    unit = np.linalg.norm(R, axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    _, s, W = np.linalg.svd(R / unit, full_matrices=False)
    kept = s > 4 * len(s) * EPS * s[0]
    return np.asarray(W[kept].T / s[kept] / unit[:, None]), W[~kept], unit


def _doubt(A: Floats, free: Floats, unit: Floats) -> float:
    """What rounding may have made of A⁻¹, as a part of it: its condition, in columns of size 1, times ε."""
    there = np.flatnonzero(np.diagonal(A) > 0)  # not an intercept that the model lacks
    s = np.linalg.eigvalsh((A / np.outer(unit, unit))[np.ix_(there, there)])
    lost = len(free) > len(A) - len(there)
    return 1.0 if lost else float(len(s) * EPS * s[-1] / max(s[0], EPS * s[-1]))


def differences(q: int) -> Floats:
    """An orthonormal basis (q, q - 1) of what is left when one vector added to all rows of θ counts as
    nothing (Helmert 1876); of one row itself."""
    if q == 1:
        return np.eye(1)
    below = np.triu(np.ones((q, q - 1))) - np.diag(np.arange(1.0, q), -1)[:, : q - 1]
    return np.asarray(below / np.linalg.norm(below, axis=0))
