"""The covariance of the weights of a fit by maximum likelihood, and of combinations of them."""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from likelier.array_types import Floats
from likelier.engines import run
from likelier.inference.clusters import Clusters, ClusterScores
from likelier.inference.information import POWERS, Information, Meat, Root
from likelier.inference.least_squares import Covariance
from likelier.objective import Objective

EPS = float(np.finfo(np.float64).eps)
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
