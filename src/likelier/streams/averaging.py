"""The average of models that learned apart: an approximation, as steps depend on those before them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.streams.model import Online

Floats = NDArray[np.float64]
_HEAD = 4  # of a slot: the largest |x|, the weight of its rows, the means of x and of x²
_COUNTS = ("steps", "cells", "collisions", "clipped", "mistakes", "skipped")


def averaged(models: Sequence[Online], weights: Sequence[float] | None = None) -> Online:
    """One model: each weight the mean of theirs, by what each has learned of the feature.

    w = Σ a_i G_i w_i / Σ a_i G_i, with G_i the squared gradients that model i met there: one that never
    met a feature has no say in it (as Vowpal Wabbit averages). FTRL's sums z and n, and all other sums,
    are plain means Σ a_i s_i, so that the next steps are those of one model, not of a crowd; counts of rows
    are added up. Σ a_i = 1, by default all alike. The average of equal models is that model.
    """
    shares = _shares(weights, len(models))
    _check_alike(models)
    first, states = models[0], [model.state() for model in models]
    sums = {
        name: float(sum(a * s[name] / s["inflation"] for a, s in zip(shares, states, strict=True)))
        for name in ("total", "norms")
    }
    state: dict[str, Any] = {name: sum(s[name] for s in states) for name in _COUNTS}
    state |= sums | {"K": states[0]["K"], "inflation": 1.0, "counts": _counts(states)}
    proximal = first.settings.optimizer == "ftrl"
    state["table"] = _table(
        [s["table"] for s in states], [s["inflation"] for s in states], shares, proximal
    )
    state["tags"] = np.copy(states[0]["tags"])
    for s in states[1:]:
        np.copyto(state["tags"], s["tags"], where=state["tags"] == 0)
    state["used"] = int(np.count_nonzero(state["tags"]))
    return Online.of(first.settings, first.labels, first.reading, state)


def recounted(model: Online, base: Online, times: int) -> Online:
    """An average of so many models that learned on from the same one: what that had counted, once."""
    state, before = model.state(), base.state()
    for name in _COUNTS:
        state[name] -= (times - 1) * before[name]
    had = before["counts"]
    state["counts"][: len(had)] -= (times - 1) * had
    return Online.of(model.settings, model.labels, model.reading, state)


def _table(
    tables: list[Any], inflations: list[float], shares: Floats, proximal: bool
) -> NDArray[np.float32]:
    """The slots, a row each: their head, then a pair (w, G) for each score; FTRL's (z, n)."""
    n, width = tables[0].shape
    found, W = np.zeros((n, width)), slice(_HEAD, None, 2)
    seen, by_seen = np.zeros((n, 1)), np.zeros((n, 2))
    by_G, plain, G = (np.zeros((n, (width - _HEAD) // 2)) for _ in range(3))
    for table, inflation, a in zip(tables, inflations, shares, strict=True):
        T = table.astype(np.float64)
        np.maximum(found[:, :1], T[:, :1], out=found[:, :1])
        rows = a * T[:, 1:2] / inflation
        seen += rows
        by_seen += rows * T[:, 2:4]
        sums = a * T[:, _HEAD + 1 :: 2] / inflation
        G += sums
        by_G += sums * T[:, W] / inflation
        plain += a * T[:, W] / inflation
    found[:, 1:2] = seen
    found[:, 2:4] = _divided(by_seen, np.broadcast_to(seen, by_seen.shape), 0.0)
    found[:, W] = plain if proximal else _divided(by_G, G, plain)
    found[:, _HEAD + 1 :: 2] = G
    return found.astype(np.float32)


def _divided(a: Floats, b: Floats, otherwise: Any) -> Floats:
    out = np.empty_like(a)
    out[...] = otherwise
    return np.divide(a, b, out=out, where=b > 0)


def _counts(states: list[dict[str, Any]]) -> Floats:
    total = np.zeros(max(len(s["counts"]) for s in states))
    for s in states:
        total[: len(s["counts"])] += s["counts"]
    return total


def _shares(weights: Sequence[float] | None, m: int) -> Floats:
    if m == 0:
        raise ValueError("average needs at least one model")
    a = np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64)
    if a.shape != (m,) or not all(math.isfinite(x) and x >= 0 for x in a) or not a.sum() > 0:
        raise ValueError(f"weights={weights!r}: they are {m} numbers from 0, one for each model, not all 0")
    return np.asarray(a / a.sum())


def _check_alike(models: Sequence[Online]) -> None:
    first = models[0]
    for i, other in enumerate(models[1:], 1):
        if other.settings != first.settings:
            raise ValueError(
                f"model {i} has other settings than model 0: {other.settings} and {first.settings}"
            )
        if other.labels != first.labels:
            raise ValueError(
                f"model {i} has classes {other.labels}, and model 0 {first.labels}: they must be the same, "
                "in the same order. Give them to partial_fit, as classes=, before the first row."
            )
