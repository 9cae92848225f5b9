"""The kernels once more, in plain NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def memberships(codes: Array | None, R: Array | None, w: Array | None, n: int, K: int) -> Array:
    """(n, K), weights included; code -1 belongs nowhere."""
    R = (codes[:, None] == np.arange(K)).astype(float) if R is None else R
    return R * (np.ones(n) if w is None else w)[:, None]


def moments(X: Array, R: Array) -> tuple[Array, Array, Array]:
    """Weights (K,), means (K, p) and central scatters (K, p, p)."""
    n = R.sum(axis=0)
    mean = (R.T @ X) / np.where(n > 0, n, 1)[:, None]
    S = np.zeros((len(n), X.shape[1], X.shape[1]))
    for k in range(len(n)):
        c = X - mean[k]
        S[k] = (R[:, k, None] * c).T @ c
    return n, mean, S


def higher_moments(X: Array, R: Array, mean: Array) -> tuple[Array, Array]:
    """Σ w c² cᵀ and Σ w c² (c²)ᵀ, each (K, p, p)."""
    T, Q = (np.zeros((len(mean), X.shape[1], X.shape[1])) for _ in range(2))
    for k in range(len(mean)):
        c, w = X - mean[k], R[:, k, None]
        T[k], Q[k] = (w * c**2).T @ c, (w * c**2).T @ c**2
    return T, Q


def affine(X: Array, W: Array, b: Array, shift: Array) -> Array:
    return (X - shift) @ W.T + b


def diagonal(X: Array, mean: Array, scale: Array, b: Array) -> Array:
    return np.stack([b[k] - 0.5 * (((X - mean[k]) * scale[k]) ** 2).sum(axis=1) for k in range(len(b))], 1)


def quadratic(X: Array, shift: Array, U: Array, at: Array, b: Array) -> Array:
    d = X - shift
    return np.stack([b[k] - 0.5 * ((d @ U[k].T - at[k]) ** 2).sum(axis=1) for k in range(len(b))], 1)


def log_sum_exp(Z: Array) -> Array:
    top = Z.max(axis=1)
    return top + np.log(np.exp(Z - top[:, None]).sum(axis=1))


def log_softmax(Z: Array) -> Array:
    return Z - log_sum_exp(Z)[:, None]


def softmax(Z: Array) -> Array:
    return np.exp(log_softmax(Z))


def code(y: Array) -> tuple[Array, Array]:
    """Codes by first appearance, and the rows in which they first appear."""
    _, first, at = np.unique(y, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[at], first[order]
