"""How logistic regressions are measured: time beside the distance from the minimum that they stop at."""

import gc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.race.measures import LONG, ON_MANY, WARM_ROWS, latency, quality, timed
from benchmarks.race.meters import PeakMemory
from benchmarks.race.penalised import objective
from benchmarks.race.registry import Data, Figures, Make

C = 1.0
L1_RATIO = 0.5
VALUES = 20  # of C, in a path


def best_call(call: Callable[..., Any], *arguments: Any) -> Figures:
    """The best of some calls (a long one is made once), and the memory of the first."""
    gc.collect()
    memory = PeakMemory()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some stop at a cap of steps: the gap says how far they came
        times = [timed(call, *arguments)]
        figures = {"fit_mb": memory.megabytes()}
        while len(times) < ON_MANY and sum(times) < LONG:
            times.append(timed(call, *arguments))
    return {"fit": min(times)} | figures


def gap(model: Any, data: Data) -> Figures:
    """(F - min F) / min F of the penalised objective; none where the classes were fitted one by one."""
    assert data.least is not None
    if not hasattr(model, "coef_"):
        return {}
    F = objective(data.X, data.y, np.asarray(model.coef_), np.asarray(model.intercept_), C)
    return {"gap": float(F / data.least[0] - 1)}


def minimising(make: Make, data: Data | None) -> Figures:
    """Fits to all rows, the gap they leave, and predict_proba of the rows held out."""
    assert data is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make().fit(data.X[:WARM_ROWS], data.y[:WARM_ROWS])
    model = make()
    figures = best_call(model.fit, data.X, data.y)
    return figures | gap(model, data) | quality(model, data)


def few(make: Make, data: Data | None) -> Figures:
    """Many fits to few rows, and the gap they leave."""
    assert data is not None
    return latency(make, data) | gap(make().fit(data.X, data.y), data)


def path_values(X: NDArray[np.float64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Values of C: all weights are 0 up to 1.01 times less than the first; the last is 1000 times it."""
    slope = np.abs(X.T @ (y - y.mean())).max()
    return np.asarray(np.geomspace(1, 1000, VALUES) * 1.01 * L1_RATIO / slope)


def pathing(make: Make, data: Data | None) -> Figures:
    """A fit for each C, from the strongest penalty; the gap is the widest of them.

    make: a function of X, y and the values of C that returns weights (VALUES, p) and intercepts (VALUES,).
    """
    assert data is not None
    assert data.least is not None
    walk, Cs = make(), path_values(data.X, data.y)
    found: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        walk(data.X[:WARM_ROWS], data.y[:WARM_ROWS], Cs * len(data.y) / WARM_ROWS)
    figures = best_call(lambda: found.append(walk(data.X, data.y, Cs)))
    gaps = [
        objective(data.X, data.y, w[None], b, each, L1_RATIO) / least - 1
        for w, b, each, least in zip(*found[-1], Cs, data.least, strict=True)
    ]
    return figures | {"gap": float(max(gaps))}


def summarising(make: Make, data: Data | None) -> Figures:
    """A fit without a penalty and its standard errors; how far they are from those of its own weights.

    make: a function of X and y that returns estimates and errors (p + 1,), the intercept first. The gap is
    that of the next Newton step, ½ gᵀH⁻¹g / F.
    """
    assert data is not None
    summarise = make()
    summarise(data.X[:WARM_ROWS], data.y[:WARM_ROWS])
    found: list[Any] = []
    figures = best_call(lambda: found.append(summarise(data.X, data.y)))
    theta, errors = (np.asarray(each) for each in found[-1])
    A = np.column_stack([np.ones(len(data.X)), data.X])
    P = expit(A @ theta)
    slope, H = A.T @ (P - data.y), A.T @ ((P * (1 - P))[:, None] * A)
    F = objective(data.X, data.y, theta[None, 1:], theta[:1], np.inf)
    expected = np.sqrt(np.diag(np.linalg.inv(H)))
    return figures | {
        "gap": float(slope @ np.linalg.solve(H, slope) / 2 / F),
        "errors_off": float(np.abs(errors / expected - 1).max()),
    }
