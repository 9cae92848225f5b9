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


# ---- rows with missing cells (NaN) ---------------------------------------------------------------
def column_moments(X: Array, R: Array) -> tuple[Array, Array, Array, Array]:
    """Weights (K,); of the cells that are there weights, means and central scatters, (K, p) each."""
    there = ~np.isnan(X)
    x = np.where(there, X, 0.0)
    seen = R.T @ there
    mean = (R.T @ x) / np.where(seen > 0, seen, 1)
    S = np.stack([(R[:, [k]] * there * (x - mean[k]) ** 2).sum(axis=0) for k in range(R.shape[1])])
    return R.sum(axis=0), seen, mean, S


def diagonal_gaps(X: Array, mean: Array, scale: Array, constant: Array, b: Array) -> Array:
    each = constant - 0.5 * ((X[:, None, :] - mean) * scale) ** 2  # (n, K, p)
    return b + np.nansum(each, axis=2)


def completed(x: Array, mean: Array, cov: Array) -> tuple[Array, Array]:
    """A row with what is expected of its missing cells, and their covariance among zeros (p, p)."""
    gone, here = np.flatnonzero(np.isnan(x)), np.flatnonzero(~np.isnan(x))
    gain = np.linalg.solve(cov[np.ix_(here, here)], cov[np.ix_(here, gone)]).T
    full, rest = x.copy(), np.zeros_like(cov)
    full[gone] = mean[gone] + gain @ (x - mean)[here]
    rest[np.ix_(gone, gone)] = cov[np.ix_(gone, gone)] - gain @ cov[np.ix_(here, gone)]
    return full, rest


def log_density(x: Array, mean: Array, cov: Array) -> float:
    """ln N(x_o; m_o, Σ_oo) of what is there."""
    here = np.flatnonzero(~np.isnan(x))
    S, d = cov[np.ix_(here, here)], (x - mean)[here]
    square = d @ np.linalg.solve(S, d)
    return float(-0.5 * (square + np.linalg.slogdet(S)[1] + len(here) * np.log(2 * np.pi)))


# ---- tables --------------------------------------------------------------------------------------
def places(X: Array, sizes: Array, last: bool) -> Array:
    """The row of a table for each cell, (n, p); missing ones have the row after the last."""
    first = np.cumsum(sizes) - sizes
    beyond = first + sizes - 1 if last else np.full(len(sizes), sizes.sum())
    known = np.where(X < sizes, first + np.nan_to_num(X), beyond)
    return np.where(np.isnan(X), sizes.sum(), known).astype(int)


def counts(X: Array, sizes: Array, R: Array, last: bool) -> Array:
    """The weight of each class's cells in each row of the table, (Σ sizes, K)."""
    table = np.zeros((sizes.sum() + 1, R.shape[1]))
    for at in places(X, sizes, last).T:
        np.add.at(table, at, R)
    return table[:-1]


def look_up(X: Array, sizes: Array, table: Array, last: bool) -> Array:
    return table[places(X, sizes, last)].sum(axis=1)


def summed(X: Array, threshold: float) -> Array:
    """x, or 1[x > threshold]; missing cells as they are."""
    return X if threshold == -np.inf else np.where(np.isnan(X), np.nan, X > threshold)


def sums(X: Array, R: Array, threshold: float) -> tuple[Array, Array, Array]:
    """Weights (K,), sums (K, p), and the weight of missing cells (K, p)."""
    return R.sum(axis=0), R.T @ np.nan_to_num(summed(X, threshold)), R.T @ np.isnan(X)


def additive(X: Array, W: Array, c: Array, b: Array, threshold: float) -> Array:
    X, there = np.nan_to_num(summed(X, threshold)), ~np.isnan(X)
    return b + there @ c.T + X @ W.T


def kernels(
    X: Array, cells: Array, log_w: Array, log_v: Array, start: Array, scale: Array, constant: Array,
    own: Array | None, less: Array | None, b: Array,
) -> Array:  # fmt: skip
    """b_k + ln Σ_i w_i Π_j N(x_j; c_ij, h_kj²); a cell of a point that is infinite is missing."""
    Z = np.empty((len(X), len(scale)))
    for k in range(len(scale)):
        at = slice(start[k], start[k + 1])
        a = np.repeat(log_w[None, at], len(X), axis=0)
        if own is not None:
            here = np.flatnonzero((own >= at.start) & (own < at.stop))
            a[here, own[here] - at.start] += less[here]
        for j in range(X.shape[1]):
            c = cells[at, j]
            part = constant[k, j] - ((X[:, j, None] - c) * scale[k, j]) ** 2
            gone = np.isinf(c)
            if gone.any():
                v = np.exp(log_v[at][~gone])
                part[:, gone] = np.log(np.exp(part[:, ~gone]) @ (v / v.sum()))[:, None]
            a += np.where(np.isnan(X[:, j, None]), 0.0, part)
        top = a.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            total = top + np.log(np.exp(a - top).sum(axis=1, keepdims=True))
        Z[:, k] = np.where(np.isneginf(top), -np.inf, total)[:, 0]
    return Z + b


def centred_sums(
    X: Array, R: Array, w: Array | None, centres: Array, tied: bool
) -> tuple[Array, Array, Array]:
    """Σ w, Σ w d and Σ w ddᵀ, d about the centre of each component."""
    R = memberships(None, R, w, *R.shape)
    d = X[:, None] - centres
    second = np.einsum("nk,nki,nkj->kij", R, d, d)
    return R.sum(axis=0), np.einsum("nk,nki->ki", R, d), second.sum(axis=0) if tied else second


def hashed(first: int, n: int, seed: int) -> Array:
    """splitmix64 of the numbers of rows, in whole numbers of any length."""
    keys = []
    for number in range(first + 1, first + 1 + n):
        z = (number * 0x9E3779B97F4A7C15 + seed) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        keys.append(z ^ (z >> 31))
    return np.array(keys, dtype=np.uint64)


# ---- losses ----------------------------------------------------------------------------------------
def _margin(value: Any, slope: Any, bend: Any) -> Any:
    def of(Z: Array, codes: Array, positive: int) -> tuple[Array, Array, Array]:
        t = np.where(codes == positive, 1.0, -1.0)
        m = t * Z[:, 0]
        return value(m), (t * slope(m))[:, None], (bend(m) * np.ones_like(m))[:, None, None]

    return of


def _softmax_loss(Z: Array, codes: Array, positive: int) -> tuple[Array, Array, Array]:
    L, own = log_softmax(Z), np.arange(Z.shape[1]) == codes[:, None]
    P = np.exp(L)
    return -(L * own).sum(axis=1), P - own, P[:, :, None] * (np.eye(Z.shape[1]) - P[:, None, :])


def _sigmoid(m: Array) -> Array:
    """1 / (1 + e^-m)."""
    return np.exp(-np.logaddexp(0, -m))


# By number: value (n,), slope (n, q) and bend (n, q, q) by the scores.
LOSSES = [
    _margin(lambda m: np.logaddexp(0, -m), lambda m: -_sigmoid(-m), lambda m: _sigmoid(m) * _sigmoid(-m)),
    _softmax_loss,
    _margin(lambda m: np.maximum(1 - m, 0), lambda m: -1.0 * (m <= 1), lambda m: 0.0),
    _margin(
        lambda m: np.maximum(1 - m, 0) ** 2, lambda m: -2 * np.maximum(1 - m, 0), lambda m: 2.0 * (m < 1)
    ),
    _margin(lambda m: np.maximum(-m, 0), lambda m: -1.0 * (m <= 0), lambda m: 0.0),
    _margin(lambda m: (m - 1) ** 2 / 2, lambda m: m - 1, lambda m: 1.0),
    _margin(lambda m: 1.0 * (m <= 0), lambda m: np.nan * m, lambda m: np.nan),
    _margin(
        lambda m: np.where(m < 0, 0.5 - m, np.maximum(1 - m, 0) ** 2 / 2),
        lambda m: -np.clip(1 - m, 0, 1),
        lambda m: 1.0 * ((m >= 0) & (m < 1)),
    ),
]


def expansion(
    loss: int, X: Array, codes: Array, weights: Array | None, offset: Array | None, positive: int,
    W: Array, b: Array, shift: Array,
) -> tuple[float, Array, Array]:  # fmt: skip
    """f, g (q, p + 1) and H (m, m), m = q (p + 1): Σ w ℓ and its derivatives."""
    w = np.where(codes >= 0, 1.0 if weights is None else weights, 0.0)
    here = np.flatnonzero(w)
    D = np.column_stack([X - shift, np.ones(len(X))])[here]
    Z = D @ np.column_stack([W, b]).T + (0.0 if offset is None else offset[here])
    value, slope, bend = LOSSES[loss](Z, codes[here], positive)
    w, m = w[here], W.size + b.size
    H = np.einsum("n,nkl,ni,nj->kilj", w, bend, D, D, optimize=True).reshape(m, m)
    return w @ value, np.einsum("n,nk,nj->kj", w, slope, D), H


# ---- rows one at a time ----------------------------------------------------------------------------
def dual_sums(Z: Array, y: Array, w: Array, a: Array, loss: int) -> tuple[float, float]:
    """Σ w ℓ, and Σ (w ℓ + its conjugate - a z), of rows that weigh something."""
    known = w > 0
    Z, y, w, a = Z[known], y[known], w[known], a[known]
    value = w * LOSSES[loss](Z, y, 1)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        if loss == 1:
            gap = w * np.where(a > 0, a * (np.log(a) - log_softmax(Z)), 0).sum(axis=1)
        else:
            a, m = a[:, 0], np.where(y == 1, 1.0, -1.0) * Z[:, 0]
            s = a / w
            entropy = np.where(s > 0, s * np.log(s), 0) + np.where(s < 1, (1 - s) * np.log1p(-s), 0)
            conjugate = {0: w * entropy, 2: -a, 3: a**2 / (4 * w) - a, 5: a**2 / (2 * w) - a}[loss]
            gap = value + conjugate + a * m
    return float(value.sum()), float(gap.sum())


def sgd(X: Array, y: Array, squares: Array, loss: int, *, W: Array, **task: Any) -> tuple[Any, ...]:
    """Weights (p + 1, q), their mean, the losses before each step, and the number of steps."""
    W, total, since, way, t = W.copy(), 0.0, 0, 0.0, task["taken"]
    mean, averaged = np.zeros_like(W), 0
    l1, l2 = (np.append(task[name], 0.0)[:, None] for name in ("l1", "l2"))
    order = [i for i in task["order"] if task["weights"] is None or task["weights"][i] > 0]
    for turn, i in enumerate(order):
        w = 1.0 if task["weights"] is None else task["weights"][i]
        x = np.append(X[i], 1.0)
        Z = (x @ W + (0.0 if task["offset"] is None else task["offset"][i]))[None]
        total += w * LOSSES[loss](Z, y[i : i + 1], 1)[0][0]
        rate = w * task["rate"] / (1 + t / task["horizon"]) ** task["power"]
        way += rate
        square = squares[i] + task["intercept"]
        if task["bound"] * square * rate > 1:
            rate = 1 / (task["bound"] * square)
        x[-1] = task["intercept"]
        W -= rate * x[:, None] * LOSSES[loss](Z, y[i : i + 1], 1)[1]
        t, since = t + 1, since + 1
        if since == task["every"] or turn == len(order) - 1:
            W = np.sign(W) * np.maximum(np.abs(W) - way * l1, 0) / (1 + way * l2)
            averaged += since
            mean += (W - mean) * since / averaged
            since, way = 0, 0.0
    return W, mean, total, t


def votes(X: Array, kept: Array, *, start: Array, intercept: float, **told: Any) -> Array:
    """How long the weight vectors that say yes have lasted, less those that say no; one by one."""
    rows, steps, lasting = told["rows"], told["steps"], told["lasting"]
    w, b = start.copy(), intercept
    total = lasting[0] * np.sign(X @ w + b)
    for i, s, lasted in zip(rows, steps, lasting[1:], strict=True):
        w, b = w + s * kept[i], b + s * told["decay"]
        total += lasted * np.sign(X @ w + b)
    return np.asarray(total)
