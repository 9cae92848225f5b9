"""When two states are the same: bit for bit, or as near as rounding allows."""

from dataclasses import fields
from typing import Any

import numpy as np

from laws.generators import Array, Table

UNIT = np.finfo(np.float64).eps / 2  # the most that one rounding moves a number, relatively
PROMISED = 1e-12


def arrays_of(state: Any) -> dict[str, Array]:
    """All that a state holds, by name."""
    held = {f.name: getattr(state, f.name) for f in fields(state)}
    for name in [name for name, value in held.items() if isinstance(value, dict)]:
        held |= {f"{name}[{key}]": value for key, value in sorted(held.pop(name).items())}
    return {name: np.asarray(value) for name, value in held.items()}


def assert_same_bits(a: Any, b: Any) -> None:
    ours, theirs = arrays_of(a), arrays_of(b)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value.dtype == theirs[name].dtype, name
        np.testing.assert_array_equal(value, theirs[name], err_msg=name, strict=True)
        if value.dtype.kind != "O":
            assert value.tobytes() == theirs[name].tobytes(), name


def assert_close(a: Any, b: Any, rows: Table) -> None:
    """Equal up to rounding, as states of `rows`; what has no tolerance must be equal."""
    ours, theirs, allowed = arrays_of(a), arrays_of(b), tolerances(rows)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if name not in allowed:
            np.testing.assert_array_equal(value, theirs[name], err_msg=name)
            continue
        assert np.isfinite(value).all(), name
        room = _kept(allowed[name], a) + np.finfo(np.float64).tiny  # products may underflow
        excess = np.abs(value - theirs[name]) - room
        assert (excess <= 0).all(), f"{name} differs by {excess.max():g} more than rounding explains"


def _kept(room: Array, state: Any) -> Array:
    """The tolerance of sums (K, p, p), for a state that keeps a part of them."""
    shape = getattr(state, "shape", "full")
    if room.ndim < 3 or shape == "full":
        return room
    return room.sum(axis=0) if shape == "tied" else np.einsum("kii->ki", room)


def tolerances(rows: Table) -> dict[str, Array]:
    """How far rounding alone may part two states of the same rows, whatever their order and cut.

    The weights, and every sum relative to the size of its terms, keep the promised 1e-12. Beyond that,
    a mean m is held to no better than u|m|, and a sum of n terms adds up to n such errors: each sum is
    one about a centre that is d = (n + 16) u max|x| off. A product of centred cells, none larger than a,
    moves from a·a to (a + d)·(a + d). For columns near 0 this is nothing; at a mean of 1e8 it is still
    10 digits better than E[x²] - E[x]² can be.
    """
    K, p, w = rows.K, rows.p, rows.weights
    n, mean, size = np.zeros(K), np.zeros((K, p)), np.zeros((K, p))
    for k in range(K):
        at = (rows.y == k) & (w > 0)
        if not at.any():
            continue
        X, n[k] = rows.X[at], w[at].sum()
        middle = X[0] + np.average(X - X[0], axis=0, weights=w[at])
        size[k] = np.abs(X - middle).max(axis=0)
        mean[k] = (len(X) + 16) * UNIT * np.abs(X).max(axis=0)
    i, j = (slice(None), slice(None), None), (slice(None), None, slice(None))
    a, b, total = size, size + mean, n[:, None, None]
    return {
        "n": PROMISED * n,
        "mean": 2 * mean,
        "S": 2 * total * (b[i] * b[j] - (1 - PROMISED) * a[i] * a[j]),
        "T": 4 * total * (b[i] ** 2 * b[j] - (1 - PROMISED) * a[i] ** 2 * a[j]),
        "Q": 8 * total * (b[i] ** 2 * b[j] ** 2 - (1 - PROMISED) * a[i] ** 2 * a[j] ** 2),
    }
