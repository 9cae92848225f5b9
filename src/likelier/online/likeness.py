"""The Hessian of some rows, brought to the Gram matrix of all rows."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular

from likelier.objective import Objective
from likelier.solvers import FullMetric, Iterate
from likelier.states import Gram, Squares

Floats = NDArray[np.float64]

ALIKE = 2.0  # times the variance of all rows, or a part of it: no more than chance makes of a few rows
NOTHING = 1e-4  # the size of a combination of columns of size 1 that depend on each other
LACKING = 0.01  # of the variance of all rows: with less than this, a few rows say nothing of a direction


def metric_like(
    objective: Objective, gram: Gram | Squares, few: Objective, gram_few: Gram | Squares, last: Iterate
) -> tuple[FullMetric, bool]:
    """A metric for all rows from the Hessian of a few, (m, m), where these have their solution.

    And whether the few are like all rows: whether a column varies among them about as much.

    Whitened by the Gram matrix G of all rows, that of the few is UΛUᵀ. Were the few rows x moved to
    G^½ U Λ^-½ Uᵀ G^-½ x, they would have the Gram matrix of all rows, and J H Jᵀ is their Hessian.
    Directions that the few rows lack have the mean curvature of the others. So the metric is bounded as
    every Hessian is, and singular only where all rows leave a direction open.
    """
    q, P = objective.setting.q, objective.width
    moved = np.eye(P)  # from rows about the shift of the few to rows about that of all
    moved[:-1, -1] = few.setting.shift - objective.setting.shift
    G, G_few = _matrix(gram) / objective.n, moved @ (_matrix(gram_few) / few.n) @ moved.T
    unit = np.sqrt(np.diagonal(G))
    unit = np.where(unit > 0, unit, 1.0)
    L = cholesky(G / np.outer(unit, unit) + 1e-10 * np.eye(P), lower=True)
    s, U = eigh(_whitened(L, G_few / np.outer(unit, unit)))
    there = s > LACKING
    kept, gone = U[:, there], U[:, ~there]
    rows = kept / np.sqrt(s[there]) @ kept.T
    J = unit[:, None] * (L @ rows @ solve_triangular(L, np.eye(P), lower=True)) / unit @ moved
    assert last.hessian is not None
    blocks = few.curvature(last.hessian).reshape(q, P, q, P)
    M = np.einsum("ia,kalb,jb->kilj", J, blocks, J, optimize=True)
    inverse = solve_triangular(L, np.diag(1 / unit), lower=True)
    mean = np.einsum("ai,kilj,aj->kl", inverse, M, inverse, optimize=True) / max(1, there.sum())
    N = unit[:, None] * (L @ gone)
    M += np.einsum("kl,ia,ja->kilj", mean, N, N, optimize=True)
    alike = bool(((s > 1 / ALIKE) & (s < ALIKE) | (_lengths(L, U) < NOTHING)).all())
    return objective.metric_of(M.reshape(q * P, q * P)), alike


def _matrix(found: Gram | Squares) -> Floats:
    assert isinstance(found, Gram)
    assert found.H is not None
    return found.H


def _whitened(L: Floats, A: Floats) -> Floats:
    """L⁻¹ A L⁻ᵀ."""
    half = solve_triangular(L, A, lower=True)
    return np.asarray(solve_triangular(L, half.T, lower=True))


def _lengths(L: Floats, U: Floats) -> Floats:
    """Of the combinations of columns that U's directions are, with weights of length 1."""
    weights = solve_triangular(L, U, lower=True, trans="T")
    return np.asarray(1 / np.linalg.norm(weights, axis=0))
