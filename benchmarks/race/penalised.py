"""The objective that logistic regressions minimise, and its minimum, known well enough to measure against.

F(W, b) = Σ_i ℓ(W x_i + b, y_i) + (1/C) ((1 - ρ)/2 |W|² + ρ |W|₁), as scikit-learn has it: the intercept is
not penalised. One row in W: two classes, ℓ = ln(1 + exp(-t z)) with t = ±1; a row for each class: softmax.
"""

import hashlib
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, logsumexp, softmax

Floats = NDArray[np.float64]

CACHE = Path(__file__).resolve().parents[2] / "results" / "optima"
CERTAIN = 1e-10  # how far above the minimum (relative) a stored one may be
TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-12)
STEPS, SWEEPS = 50, 1000


def objective(X: Any, y: Any, W: Floats, b: Floats, C: float, l1_ratio: float = 0.0) -> float:
    """F at weights (q, p) and intercepts (q,)."""
    Z = X @ W.T + b  # (n, q)
    if len(W) == 1:
        loss = np.logaddexp(0, np.where(y == 1, -1.0, 1.0) * Z[:, 0]).sum()
    else:
        loss = (logsumexp(Z, axis=1) - Z[np.arange(len(y)), y]).sum()
    penalty = (1 - l1_ratio) / 2 * np.vdot(W, W) + l1_ratio * np.abs(W).sum()
    return float(loss + penalty / C)


def slopes(X: Any, y: Any, W: Floats, b: Floats, C: float, l1_ratio: float = 0.0) -> Floats:
    """The shortest subgradient of F, (q, p + 1), that of the intercepts last."""
    Z = X @ W.T + b
    if len(W) == 1:
        R = expit(Z) - (y == 1)[:, None]
    else:
        R = softmax(Z, axis=1)
        R[np.arange(len(y)), y] -= 1
    G = np.asarray((X.T @ R).T) + (1 - l1_ratio) / C * W
    l1 = l1_ratio / C
    at_zero = np.sign(G) * np.maximum(np.abs(G) - l1, 0)
    return np.column_stack([np.where(W == 0, at_zero, G + l1 * np.sign(W)), R.sum(axis=0)])


def excess(X: Any, y: Any, W: Floats, b: Floats, C: float, l1_ratio: float = 0.0) -> float:
    """At most so much is F above its minimum: |∂F|² / 2μ, for F bends by μ = (1 - ρ)/C or more.

    (The penalty does not bend the intercepts, but the rows do, and by far more than μ where there are many
    and no class is sure.) Nesterov, Lectures on Convex Optimization, theorem 2.1.10.
    """
    G = slopes(X, y, W, b, C, l1_ratio)
    return float(np.vdot(G, G) * C / (2 * (1 - l1_ratio)))


def minima(X: Any, y: Any, Cs: Sequence[float], l1_ratio: float = 0.0) -> Floats:
    """min F for each C, from the cache if it was found before."""
    path = CACHE / f"{_digest(X, y, np.asarray(Cs, dtype=float), np.array([l1_ratio]))}.npy"
    if not path.exists():
        find = _ridge if l1_ratio == 0 else _elastic
        found = np.array(find(X, y, Cs, l1_ratio))
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as file:
            np.save(file, found)
        part.replace(path)
    return np.asarray(np.load(path))


def _digest(*arrays: Any) -> str:
    """A name for these numbers: other rows, labels or penalties have another minimum."""
    told = hashlib.blake2b(digest_size=16)
    for array in arrays:
        for piece in (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,):
            told.update(f"{piece.shape} {piece.dtype}".encode())
            told.update(np.ascontiguousarray(piece).data)
    return told.hexdigest()


def _checked(F: float, above: float, C: float) -> float:
    if above > CERTAIN * F:
        raise RuntimeError(
            f"the minimum for C = {C:g} is known to {above / F:.0e} only, not to {CERTAIN:g}"
        )
    return F


def _ridge(X: Any, y: Any, Cs: Sequence[float], l1_ratio: float) -> list[float]:
    """By scikit-learn's Newton steps, ever closer until the bound is met."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    found = []
    for C in Cs:
        solver = "newton-cg" if sparse.issparse(X) else "newton-cholesky"
        model = LogisticRegression(C=C, solver=solver, max_iter=1000, warm_start=True)
        for tol in TOLERANCES:
            with warnings.catch_warnings():
                # Steps that no longer lower F for its last digits: the bound says whether it is enough.
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.filterwarnings("ignore", module="scipy|sklearn")
                model.set_params(tol=tol).fit(X, y)
            theta = model.coef_, model.intercept_
            above = excess(X, y, *theta, C)
            F = objective(X, y, *theta, C)
            if above <= CERTAIN * F:
                break
        found.append(_checked(F, above, C))
    return found


def _elastic(X: Any, y: Any, Cs: Sequence[float], l1_ratio: float) -> list[float]:
    """Two classes, dense: proximal Newton steps, from one C to the next."""
    found = []
    W, b = np.zeros((1, X.shape[1])), np.zeros(1)
    for C in Cs:
        F = objective(X, y, W, b, C, l1_ratio)
        for _ in range(STEPS):
            above = excess(X, y, W, b, C, l1_ratio)
            if above <= CERTAIN * F:
                break
            D = _step(X, y, W, b, C, l1_ratio)
            size, new = 1.0, np.inf
            while new > F and size > 1e-6:
                W_new, b_new = W + size * D[:-1], b + size * D[-1:]
                new, size = objective(X, y, W_new, b_new, C, l1_ratio), size / 2
            W, b, F = W_new, b_new, new
        found.append(_checked(F, above, C))
    return found


def _step(X: Floats, y: Any, W: Floats, b: Floats, C: float, l1_ratio: float) -> Floats:
    """argmin_D g·D + ½ D·H D + l1 |W + D|₁, coordinate by coordinate.

    Friedman, Hastie, Tibshirani: Regularization paths ... via coordinate descent, J. Stat. Softw. 2010.
    """
    P = expit(X @ W[0] + b)
    V = (P * (1 - P))[:, None]
    A = np.column_stack([X, np.ones(len(X))])
    H = A.T @ (V * A)
    l2, l1 = (np.append(np.full(X.shape[1], share / C), 0.0) for share in (1 - l1_ratio, l1_ratio))
    H[np.diag_indices_from(H)] += l2
    start = np.append(W[0], b)
    slope = A.T @ (P - (y == 1)) + l2 * start  # of the smooth part, at theta
    theta, bends = start.copy(), np.diag(H).copy()
    for _ in range(SWEEPS):
        before = theta.copy()
        for j in range(len(theta)):
            aim = theta[j] - slope[j] / bends[j]
            new = np.sign(aim) * max(abs(aim) - l1[j] / bends[j], 0.0)
            if new != theta[j]:
                slope += (new - theta[j]) * H[j]
                theta[j] = new
        if np.abs(theta - before).max() <= 1e-12 * np.abs(theta).max():
            break
    return theta - start
