"""Proximal Newton for |θ| in the penalty: a quadratic with soft thresholds in each step."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.penalties import Penalty
from likelier.solvers.base import Iterate, Oracle, enough, shorter
from likelier.solvers.newton import solved

WIDE = 3000  # entries of θ up to which there is a Hessian of all of them
FEW = 500  # the same for columns that were picked out of many, whose rows are mostly 0: gradients are cheap
MANY = 64  # from where on a Hessian costs several gradients
KEPT = 0.1  # a Hessian is good enough as long as a step leaves no more of the optimality residual
INNER = 1e-6  # the part of the optimality residual that the quadratic may leave

NO_STEP = "no step along the proximal direction decreases the objective: rounding has the last word"
NO_COLUMN = "no set of columns decreases the objective further: rounding has the last word"


def proximal(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """θ₊ = argmin g·(u - θ) + ½ (u - θ)ᵀ H (u - θ) + Σ l1 |u| (Lee, Sun & Saunders 2014).

    The norm is that of the least subgradient in the units of the Hessian's diagonal or the decrement
    √(-g·d - l1·(|u| - |θ|)), d = u - θ, whichever is larger: without l1 this is Newton's method. Where
    the Hessian would be too large, by columns that matter (`working_sets`). Of penalties with corners of
    their own, by what they say of these (`spectral`).
    """
    if not oracle.penalty.by_entry:
        return spectral(oracle, theta)
    return proximal_newton(oracle, theta) if oracle.size <= WIDE else working_sets(oracle, theta)


def proximal_newton(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """With a Hessian of all entries, kept as long as steps by it leave little of the residual.

    As long as it is kept, a step needs no more than a gradient.
    """
    penalty, l1 = oracle.penalty, oracle.penalty.l1
    f, g, H, fresh = oracle.nearby(theta)
    step = 0.0
    while True:
        F = f + float(l1 @ np.abs(theta))
        rest = _size(penalty.residual(theta, g), np.diagonal(H))
        u = minimiser(H, g, theta, penalty, INNER * rest)
        d = u - theta
        slope = float(np.sum(g * d + l1 * (np.abs(u) - np.abs(theta))))
        here = Iterate(theta, F, max(float(np.sqrt(max(-slope, 0.0))), rest), step, g, H if fresh else None)
        yield here
        step, keep = 1.0, oracle.size >= MANY
        ahead = (*oracle.gradient(u), H) if keep else oracle.hessian(u)
        if not enough(F, ahead[0] + float(l1 @ np.abs(u)), slope):  # nor is NaN
            if not fresh:
                (f, g, H), fresh = oracle.hessian(theta), True
                continue
            step = shorter(oracle, theta, d, F, slope)
            if step == 0.0:
                yield here._replace(stuck=NO_STEP)
                return
            u = theta + step * d
            keep, ahead = False, oracle.hessian(u)
        if keep and _size(penalty.residual(u, ahead[1]), np.diagonal(H)) > KEPT * rest:
            keep, ahead = False, oracle.hessian(u)
        theta, fresh, (f, g, H) = u, not keep, ahead


def _size(r: Floats, h: Floats) -> float:
    """√(Σ r² / h), over entries that have a curvature."""
    return float(np.sqrt(np.sum(r[h > 0] ** 2 / h[h > 0])))


# ---- the quadratic -------------------------------------------------------------------------------
SWEEPS, LEAPS, ROUNDS = 100, 100, 50
FLAT = 1e-6  # the part of a slope that no curvature accounts for


def minimiser(H: Floats, g: Floats, theta: Floats, penalty: Penalty, tol: float) -> Floats:
    """argmin over u of g·(u - θ) + ½ (u - θ)ᵀ H (u - θ) + Σ l1 |u|.

    Coordinate descent finds which entries are not 0, and ends soon unless columns are alike: then these
    entries leap to their minimum among such as have the same signs, and descent sees whether others mind.
    """
    u, v = theta.copy(), g.copy()
    for _ in range(ROUNDS):
        if _core.descend(H, penalty.l1, SWEEPS, tol, u, v):
            break
        for _ in range(LEAPS):
            u, landed = _leapt(H, penalty.l1, u, v)
            v = g + H @ (u - theta)
            if landed:
                break
    return u


def _leapt(H: Floats, l1: Floats, u: Floats, v: Floats) -> tuple[Floats, bool]:
    """u at the minimum over its orthant (True), or, where that lies beyond it, nearer by some entries at 0.

    Newton's step projected onto the orthant (Bertsekas 1982): the best of several lengths.
    """
    h = np.diagonal(H)
    at = np.flatnonzero((h > 0) & ((u != 0) | (l1 == 0)))
    A, signs, here = H[np.ix_(at, at)], np.where(l1[at] > 0, np.sign(u[at]), 0.0), u[at]
    r = v[at] + l1[at] * signs
    d = -solved(A, r)
    left = r + A @ d
    flat = _size(left, h[at]) > FLAT * _size(r, h[at])
    if flat:  # columns that are alike: downhill to the end of the orthant
        d = -left / h[at]
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(d * signs < 0, -here / d, np.inf)
    first = float(ends.min(initial=np.inf))
    moved = u.copy()
    if first > 1 and not flat:
        moved[at] = here + d
        return moved, True
    if first == np.inf:
        return u, True
    t = np.append(first, [] if flat else 0.5 ** np.arange(8.0))
    tried = np.where(t[:, None] >= ends, 0.0, here + t[:, None] * d)
    steps = tried - here
    values = steps @ r + 0.5 * np.sum(steps @ A * steps, axis=1)
    moved[at] = tried[np.argmin(values)]
    return moved, False


# ---- many columns --------------------------------------------------------------------------------
ROUND, LEFT = 30, 0.05  # steps within a set of columns, and the part of the residual they may leave


def working_sets(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """Solve for the columns that matter, see by one pass over all columns which others do, repeat.

    Those that are not 0, and, at most twice as many, those nearest to becoming so: a column whose slope
    was λ_old can be expected to matter at λ only if |g_j| > 2λ - λ_old (the strong rule of Tibshirani et
    al. 2012). What it misses, the next pass finds.
    """
    penalty, P, D = oracle.penalty, oracle.width, oracle.diagonal()
    step = 0.0
    while True:
        f, g = oracle.gradient(theta)
        norm = _size(penalty.residual(theta, g), D)
        here = Iterate(theta, f + float(penalty.l1 @ np.abs(theta)), norm, step, g)
        yield here
        columns = _mattering(theta, g, penalty, P)
        few, at = (oracle, np.arange(oracle.size)) if len(columns) == P - 1 else oracle.restricted(columns)
        solver = proximal_newton if few.size <= FEW else spectral
        for inner in islice(solver(few, theta[at]), ROUND):
            if inner.norm <= LEFT * norm or inner.stuck:
                break
        moved, step = np.zeros_like(theta), 1.0
        moved[at] = inner.theta
        if np.array_equal(moved, theta):
            yield here._replace(stuck=NO_COLUMN)
            return
        theta = moved


def _mattering(theta: Floats, g: Floats, penalty: Penalty, P: int) -> NDArray[np.intp]:
    """The columns that are not 0 or free of l1, and the likeliest others; sorted."""
    T, G, L = (each.reshape(-1, P)[:, :-1] for each in (theta, np.abs(g), penalty.l1))
    kept = ((T != 0) | (L == 0)).any(axis=0)
    pull = np.max(np.divide(G, L, out=np.zeros_like(G), where=L > 0), axis=0)
    others = np.flatnonzero(~kept & (pull > 2 - pull[~kept].max(initial=1.0)))
    most = max(100, 2 * int(kept.sum()))
    others = others[np.argsort(-pull[others], kind="stable")[:most]]
    return np.sort(np.concatenate([np.flatnonzero(kept), others]))


def corners(penalty: Penalty, theta: Floats) -> float:
    """What a penalty has beside the part that bends, which the oracle adds."""
    return penalty.value(theta) - penalty.quadratic(theta)


MEMORY = 5  # steps that the objective may take to fall


def spectral(oracle: Oracle, theta: Floats) -> Iterator[Iterate]:
    """θ₊ = prox(θ - g / (α D)), D the diagonal of the metric, α from the last step: SpaRSA. Of any penalty.

    α = sᵀΔg / sᵀD s for the step s (Barzilai & Borwein 1988; Wright, Nowak & Figueiredo 2009): no matrix,
    one pass a step.
    """
    penalty = oracle.penalty
    D = penalty.shared(oracle.diagonal())
    f, g = oracle.gradient(theta)
    F, alpha, step = f + corners(penalty, theta), 1.0, 0.0
    last = [F]
    while True:
        here = Iterate(theta, F, _size(penalty.residual(theta, g), D), step, g)
        yield here
        for _ in range(60):
            u = penalty.corner_prox(theta - g / (alpha * D), alpha * D)
            s = u - theta
            size = float(s @ (D * s))
            f, ahead = oracle.gradient(u)
            if enough(max(last), f + corners(penalty, u), -alpha * size):
                break
            alpha *= 2
        else:
            yield here._replace(stuck=NO_STEP)
            return
        step = 1 / alpha
        if size > 0:
            alpha = float(np.clip(s @ (ahead - g) / size, 1e-10, 1e10))
        theta, g, F = u, ahead, f + corners(penalty, u)
        last = [*last[1 - MEMORY :], F]
