"""Weights of the columns of a naive Bayes model, fitted to the classes of rows that are left out.

a_k(x) = b_k + ln p(C_k) + Σ_j w_j ln p_j(x_j | C_k), w_j >= 0

The densities stay those of the generative model (Raina, Shen, Ng & McCallum 2003; Zaidi, Cerquides, Carman
& Webb 2013). Of every training row the densities are those of a model without it, in closed form, so that
what is minimised is the log loss of rows left out, and a penalty. With s the common weight,

f(w, b) = Σ_i v_i (ln Σ_k e^{a_k(x_i)} - a_{y_i}(x_i)) + ½ λ Σ_j (w_j - s)² + ½ μ (s - 1)² + ½ ν |b|²,

minimised over s as well; v_i are the weights of the rows. f is convex. The strength λ is that of the
largest evidence (Laplace's approximation; MacKay 1992).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from likelier.array_types import Floats
from likelier.data import Chunk, Dense
from likelier.estimators.generative.family_choice import Plan, PlannedBayes, PlannedParts
from likelier.families import Mixed, MixedFamily
from likelier.families.leave_one_out import ColumnsLeftOut, Rows, blocks_left_out
from likelier.families.registry import Smoothing
from likelier.families.weighted import weighted_scores
from likelier.links import log_sum_exp
from likelier.scores import Scores
from likelier.states.rows import Reservoir

MOST_ROWS = 1 << 15  # by which weights are fitted: with 30 columns they cost 0.0005 nats a row
MOST_DENSITIES = 1 << 23  # log densities of these rows, of all columns and classes: 64 MB
FEWEST_ROWS = 512  # that are kept however many columns and classes there are

STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)  # λ, from the strongest penalty
COMMON = 10.0  # μ, towards a common weight of 1
BIASES = 0.1  # ν
DIFFERENCE = 1e5  # in nats, which densities of two classes differ by at most

AT_ONCE = 1 << 18  # log densities that are added up together: they stay in the cache
TOLERANCE = 1e-10  # of the gradient, per row
MOST_STEPS = 200


def rows_kept(K: int, p: int) -> int:
    """How many rows the weights of so many columns are fitted to."""
    return int(np.clip(MOST_DENSITIES // max(K * p, 1), FEWEST_ROWS, MOST_ROWS))


# Statistics, a sample of the rows beside them, and the model that they make.


@dataclass
class WeightedParts(PlannedParts):
    """Statistics of all rows, and some of the rows themselves, to which weights are fitted."""

    reservoir: Reservoir

    @classmethod
    def beside(cls, plan: Plan, how: Smoothing, K: int, p: int, reservoir: Callable[[], Reservoir]) -> Self:
        """Without rows yet; reservoir: makes one."""
        parts = PlannedParts.start(plan, how, K, p)
        return cls(parts.columns, parts.states, plan, reservoir())

    def update(self, chunk: Chunk) -> None:
        super().update(chunk)  # first: it may refuse the chunk
        self.reservoir.update(chunk)

    def merge(self, other: Self) -> None:
        super().merge(other)
        self.reservoir.merge(other.reservoir)

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        return replace(super().widened(K, at), reservoir=self.reservoir.widened(K, at))


@dataclass(frozen=True)
class WeightedBayes(PlannedBayes):
    """The generative model, and the weights by which its densities predict classes."""

    weights: Floats = field(kw_only=True)  # (p,)
    bias: Floats = field(kw_only=True)  # (K,)
    strength: float = field(kw_only=True)  # λ

    @property
    def free(self) -> int:
        return super().free + len(self.weights) + len(self.bias) - 1

    def with_priors(self, log_prior: Floats) -> Scores:
        return self._asked(weighted_scores(self.params, self.weights).plus(log_prior + self.bias))

    def unweighted(self, log_prior: Floats) -> Scores:
        """Scores whose softmax are the class probabilities of the generative model."""
        return super().with_priors(log_prior)

    def marginal(self, columns: NDArray[np.intp]) -> "WeightedBayes":
        new: Any = super().marginal(columns)
        return WeightedBayes(
            new.params,
            new.log_prior,
            units=new.units,
            plan=new.plan,
            weights=self.weights[columns],
            bias=self.bias,
            strength=self.strength,
        )


def weighted(model: PlannedBayes, family: MixedFamily, statistics: WeightedParts) -> WeightedBayes:
    """The model of these statistics, with weights that are fitted to the rows beside them."""
    assert isinstance(model.params, Mixed)
    found = fitted(Problem.of(family, statistics, model.params))
    return WeightedBayes(
        model.params,
        model.log_prior,
        plan=model.plan,
        weights=found.weights,
        bias=found.bias,
        strength=found.strength,
    )


# The problem: log densities of rows, each left out of its class.


@dataclass(frozen=True)
class Problem:
    """Rows, and what each column says of their classes. u densities, each of one column or of a group."""

    L: Floats  # (n, K, u), ln p of each row left out of its class
    offset: Floats  # (n, K), ln p(C_k) without the row
    y: NDArray[np.intp]  # (n,)
    w: Floats  # (n,)
    columns: tuple[NDArray[np.intp], ...]  # of each density
    p: int
    unit: float  # the weight of a row, at most 1

    @classmethod
    def of(cls, family: MixedFamily, statistics: WeightedParts, params: Mixed) -> "Problem":
        """Of the rows that were kept beside the statistics."""
        held = statistics.reservoir.in_order()
        y, out = held.codes.astype(np.intp), np.minimum(held.w, 1.0)
        with np.errstate(all="ignore"):  # a density may be 0, and its logarithm -inf
            blocks = blocks_left_out(family, statistics, params, Rows(Dense(held.X), y, out))
        L = np.concatenate([np.empty((len(y), held.K, 0)), *(block.values for block in blocks)], axis=2)
        columns = tuple(part for block in blocks for part in _columns_of(block))
        offset = log_priors(statistics.n, y, out)
        return cls(_finite(L), offset, y, held.w, columns, params.shape[1], statistics.plan.unit)

    @property
    def K(self) -> int:
        return int(self.L.shape[1])

    @property
    def u(self) -> int:
        return int(self.L.shape[2])

    def penalty(self, strength: float) -> Floats:
        """Its Hessian over weights and biases, (u + K, u + K), the common weight minimised over."""
        Q = np.zeros((self.u + self.K, self.u + self.K))
        ones = np.ones((self.u, self.u))
        Q[: self.u, : self.u] = strength * (
            np.eye(self.u) - ones * (strength / (strength * self.u + COMMON))
        )
        Q[self.u :, self.u :] = BIASES * np.eye(self.K)
        return self.unit * Q

    def by_column(self, weights: Floats) -> Floats:
        """The weights of densities as those of columns, (p,); 0 for columns alike in all classes."""
        found = np.zeros(self.p)
        for weight, columns in zip(weights.tolist(), self.columns, strict=True):
            found[columns] = weight
        return found


def _columns_of(block: ColumnsLeftOut) -> list[NDArray[np.intp]]:
    return [block.columns] if block.joint else [np.array([j]) for j in block.columns.tolist()]


def _finite(L: Floats) -> Floats:
    """Differences of classes, bounded: a density of 0 costs much, and not everything."""
    top = L.max(axis=1, keepdims=True, initial=-np.inf)
    L = L - np.where(np.isfinite(top), top, 0.0)
    return np.asarray(np.clip(np.nan_to_num(L, nan=0.0, neginf=-DIFFERENCE), -DIFFERENCE, 0.0))


def log_priors(n: Floats, y: NDArray[np.intp], out: Floats) -> Floats:
    """ln p(C_k) (m, K) of rows that are left out with these weights; n (K,): of all rows.

    A class of which nothing else is left keeps the row.
    """
    rest = n[y] - out
    left = np.where(rest > 1e-9 * out, rest, out)
    with np.errstate(divide="ignore"):
        logs = np.log(n) - np.log(n.sum() - n[y] + left)[:, None]
        logs[np.arange(len(y)), y] += np.log(left / n[y])
    return np.asarray(logs)


# Its solution: Newton's steps in the weights that are not held at 0 (Bertsekas 1982).


class Point(NamedTuple):
    """Weights and biases x (u + K,), and f there."""

    x: Floats
    value: float
    Z: Floats  # (n, K), the scores


class Solution(NamedTuple):
    """Weights of columns, biases of classes, and the strength of the penalty."""

    weights: Floats  # (p,)
    bias: Floats  # (K,)
    strength: float


def fitted(problem: Problem) -> Solution:
    """The minimum of f under the strength that has the largest evidence."""
    u, x, best, most = problem.u, _start(problem), Solution(np.empty(0), np.empty(0), 0.0), -np.inf
    for strength in STRENGTHS:
        at, H = minimum(problem, strength, x)
        evidence, x = _evidence(problem, strength, at, H), at.x
        if evidence <= most:
            break
        best, most = Solution(problem.by_column(x[:u]), x[u:], strength), evidence
    return best


def _start(problem: Problem) -> Floats:
    """The best of a few common weights."""
    x = [np.concatenate([np.full(problem.u, s), np.zeros(problem.K)]) for s in (1.0, 0.5, 0.2, 0.05)]
    Q = problem.penalty(STRENGTHS[0])
    return min(x, key=lambda one: _point(problem, Q, one).value)


def minimum(problem: Problem, strength: float, start: Floats) -> tuple[Point, Floats]:
    """Where f is least, and its Hessian there."""
    u, Q = problem.u, problem.penalty(strength)
    low = np.concatenate([np.zeros(u), np.full(problem.K, -np.inf)])
    at = _point(problem, Q, start)
    tolerance = TOLERANCE * max(float(problem.w.sum()), 1e-300)
    for _ in range(MOST_STEPS):
        g, H = _slopes(problem, Q, at)
        free = ~((at.x <= low) & (g > 0))
        if np.abs(g[free]).max(initial=0.0) <= tolerance:
            break
        step = np.zeros_like(g)
        step[free] = -cho_solve(_factor(H[np.ix_(free, free)]), g[free])
        new = _along(problem, Q, at, g, step, low)
        if new is None:
            break
        at = new
    return at, H


def _along(problem: Problem, Q: Floats, at: Point, g: Floats, step: Floats, low: Floats) -> Point | None:
    """A point on the projected way that is low enough (Armijo); None: rounding leaves nothing to gain."""
    for halvings in range(40):
        x = np.maximum(at.x + 0.5**halvings * step, low)
        new, descent = _point(problem, Q, x), float(g @ (x - at.x))
        if new.value <= at.value + 1e-4 * descent:
            return new if new.value < at.value else None
        if -descent <= 1e-13 * abs(at.value):
            return None
    return None


def _factor(H: Floats) -> Any:
    """Its Cholesky factor; a class without rows has a bias of no curvature but the penalty's."""
    return cho_factor(H + 1e-12 * np.trace(H) / len(H) * np.eye(len(H)))


def _centre(problem: Problem) -> Floats:
    """Where the penalty is 0."""
    return np.concatenate([np.ones(problem.u), np.zeros(problem.K)])


def _point(problem: Problem, Q: Floats, x: Floats) -> Point:
    Z = problem.offset + x[problem.u :] + problem.L @ x[: problem.u]
    total = log_sum_exp.start(len(Z), 0)
    log_sum_exp.apply(Z, total)
    d = x - _centre(problem)
    loss = problem.w @ (total - Z[np.arange(len(Z)), problem.y])
    return Point(x, float(loss + 0.5 * d @ Q @ d), Z)


def _slopes(problem: Problem, Q: Floats, at: Point) -> tuple[Floats, Floats]:
    """Gradient and Hessian of f."""
    g, H = Q @ (at.x - _centre(problem)), Q.copy()
    for rows in _runs(problem):
        _add(problem, at.Z[rows], rows, g, H)
    return g, np.asarray((H + H.T) / 2)


def _runs(problem: Problem) -> Iterator[slice]:
    step = max(1, AT_ONCE // max(problem.K * problem.u, 1))
    return (slice(i, i + step) for i in range(0, len(problem.y), step))


def _add(problem: Problem, Z: Floats, rows: slice, g: Floats, H: Floats) -> None:
    """What some rows add: with C = L - Σ_k p_k L_k, Σ v p C and Σ v p C Cᵀ."""
    u, L, y, w = problem.u, problem.L[rows], problem.y[rows], problem.w[rows]
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    own = np.arange(len(y)), y
    mean = np.einsum("nk,nku->nu", P, L)
    V = P * w[:, None]  # (n, K)
    C = L - mean[:, None, :]
    g[:u] -= w @ C[own]
    g[u:] += V.sum(axis=0) - np.bincount(y, w, problem.K)
    A = (np.sqrt(V)[:, :, None] * C).reshape(V.size, u)
    H[:u, :u] += A.T @ A
    cross = np.einsum("nk,nku->uk", V, C)
    H[:u, u:] += cross
    H[u:, :u] += cross.T
    H[u:, u:] += np.diag(V.sum(axis=0)) - V.T @ P


def _evidence(problem: Problem, strength: float, at: Point, H: Floats) -> float:
    """ln of the evidence of a strength, but for a constant, by the weights that are above 0."""
    on = np.append(at.x[: problem.u] > 0, np.ones(problem.K, dtype=bool))
    among = np.ix_(on, on)
    prior, posterior = (np.linalg.slogdet(M[among])[1] for M in (problem.penalty(strength), H))
    return float(-at.value + 0.5 * (prior - posterior))
