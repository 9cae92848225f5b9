"""The problems. A new one is a seeded generator that takes the share of the rows and returns Data."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.race.measures import (
    LONG,
    ON_MANY,
    WARM_ROWS,
    importing,
    latency,
    quality,
    searching,
    throughput,
    timed,
)
from benchmarks.race.meters import PeakMemory
from benchmarks.race.registry import PROBLEMS, Data, Figures, Make, problem


def classes(n: int, n_test: int, p: int, K: int, rng: np.random.Generator) -> Data:
    """Gaussian classes with correlated columns and a covariance each."""
    # Directions of very unequal length make naive Bayes wrong; how far the classes' factors differ from
    # the common one decides how much QDA gains on LDA.
    common = np.linalg.qr(rng.standard_normal((p, p)))[0] * np.geomspace(1 / 3, 3, p)
    factors = common + 0.1 * rng.standard_normal((K, p, p)) / np.sqrt(p)
    means = 0.26 * rng.standard_normal((K, p)) @ common.T
    y = rng.integers(K, size=n + n_test)
    X = rng.standard_normal((n + n_test, p))
    for k in range(K):
        X[y == k] = X[y == k] @ factors[k].T + means[k]
    return Data(X[:n], y[:n], X[n:], y[n:])


@problem(
    "gaussian",
    title="1M x 50 rows, 10 classes, correlated columns, a covariance each; predict_proba of all rows",
    measure=throughput,
)
def _(scale: float) -> Data:
    n, n_test = (max(5000, round(size * scale)) for size in (1_000_000, 100_000))
    return classes(n, n_test, 50, 10, np.random.default_rng(4))


@problem(
    "folds",
    title="200k x 50 rows, 10 classes: 10 folds x 10 values of a hyper-parameter, best by log-loss",
    measure=searching,
)
def _(scale: float) -> Data:
    return classes(max(5000, round(200_000 * scale)), 1000, 50, 10, np.random.default_rng(4))


@problem(
    "gaps",
    title="100k x 20 rows, 10 classes, as above, and one cell in ten missing; predict_proba of all rows",
    measure=throughput,
)
def _(scale: float) -> Data:
    n, n_test = (max(5000, round(size * scale)) for size in (100_000, 20_000))
    rng = np.random.default_rng(6)
    data = classes(n, n_test, 20, 10, rng)
    for X in (data.X, data.X_test):
        X[rng.random(X.shape) < 0.1] = np.nan
    return data


def held_out(make: Make, data: Data | None) -> Figures:
    """Fits, and predict_probas of the rows held out: the best call of each; long ones are made once."""
    assert data is not None
    model, figures = make(), Figures()
    steps = {"fit": (model.fit, data.X, data.y), "predict": (model.predict_proba, data.X_test)}
    for name, step in steps.items():
        times = [timed(*step)]
        while len(times) < ON_MANY and sum(times) < LONG:
            times.append(timed(*step))
        figures[name] = min(times)
    return figures | quality(model, data)


@problem(
    "kernels",
    title="20k x 5 rows, 3 classes, a kernel about each row; predict_proba of 5k others",
    measure=held_out,
)
def _(scale: float) -> Data:
    n, n_test = (max(500, round(size * scale)) for size in (20_000, 5_000))
    return classes(n, n_test, 5, 3, np.random.default_rng(7))


@problem(
    "counts",
    title="CSR 200k x 100k word counts, 94 non-zeros a row, 20 classes; predict_proba of all rows",
    measure=throughput,
)
def _(scale: float) -> Data:
    """Words as common as Zipf has it, one in ten of those that a class has to itself."""
    n, n_test = (max(5000, round(size * scale)) for size in (200_000, 20_000))
    p, K, drawn, rng = 100_000, 20, 114, np.random.default_rng(7)
    chances = np.cumsum(1 / np.arange(1, p + 1))
    y = rng.integers(K, size=n + n_test)
    words = np.searchsorted(chances / chances[-1], rng.random((len(y), drawn)))
    own = rng.random(words.shape) < 0.1
    words = np.where(own, (words * K + y[:, None]) % p, words)
    starts = np.arange(0, words.size + 1, drawn, dtype=np.int32)
    ones = np.ones(words.size)
    X = sparse.csr_array((ones, words.ravel().astype(np.int32), starts), shape=(len(y), p))
    X.sum_duplicates()
    return Data(X[:n], y[:n], X[n:], y[n:])


def regression(make: Make, data: Data | None) -> Figures:
    """Fits to, and predictions of, all rows: the best call of each."""
    assert data is not None
    model = make().fit(data.X[:WARM_ROWS], data.y[:WARM_ROWS])
    return {
        "fit": min(timed(model.fit, data.X, data.y) for _ in range(ON_MANY)),
        "predict": min(timed(model.predict, data.X) for _ in range(ON_MANY)),
    }


@problem("line", title="1M x 50 rows, one target; predict of all rows", measure=regression)
def _(scale: float) -> Data:
    n, p, rng = max(5000, round(1_000_000 * scale)), 50, np.random.default_rng(5)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.1 * rng.standard_normal((p, p))) + 10
    y = X @ rng.standard_normal(p) + rng.standard_normal(n)
    return Data(X, y, X[:1000], y[:1000])


def mixing(make: Make, data: Data | None) -> Figures:
    """Some steps of EM from one start, components of all rows, and the mean of -ln p(x)."""
    assert data is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few steps do not converge, and are not meant to
        make().fit(data.X[:WARM_ROWS])
        model, times = make(), list[float]()
        while len(times) < ON_MANY and sum(times) < LONG:
            times.append(timed(model.fit, data.X))
    predict = min(timed(model.predict, data.X) for _ in range(ON_MANY))
    return {"fit": min(times), "predict": predict, "log_loss": -float(model.score(data.X))}


@problem(
    "mixture", title="200k x 20 rows, 10 full Gaussians, 20 steps of EM from one start", measure=mixing
)
def _(scale: float) -> Data:
    n, p, M, rng = max(5000, round(200_000 * scale)), 20, 10, np.random.default_rng(7)
    factors = np.eye(p) + 0.5 * rng.standard_normal((M, p, p))
    y = rng.integers(M, size=n)
    X = rng.standard_normal((n, p))
    for m, mean in enumerate(1.5 * rng.standard_normal((M, p))):
        X[y == m] = X[y == m] @ factors[m].T + mean
    return Data(X, y, X[:1000], y[:1000])


def framed(make: Make, data: Data | None) -> Figures:
    """The same of rows in a frame, which is made before and not counted; make: the model, and how."""
    assert data is not None
    model, frame = make()
    X = frame(data.X)
    model.fit(X[:WARM_ROWS], data.y[:WARM_ROWS])
    ask = getattr(model, "predict_proba", model.predict)
    return {
        "fit": min(timed(model.fit, X, data.y) for _ in range(ON_MANY)),
        "predict": min(timed(ask, X) for _ in range(ON_MANY)),
    }


@problem("frames", title="1M x 50 rows, 10 classes: a frame beside its array", measure=framed)
def _(scale: float) -> Data | None:
    return PROBLEMS["gaussian"].make(scale)


@problem("iris", title="100 x 4 rows, 3 classes: what a call costs", measure=latency)
def _(scale: float) -> Data:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:100], order[100:]
    return Data(X[train], y[train], X[test], y[test])


@problem("import", title="wall time of python -c '...', and less that of python -c pass", measure=importing)
def _(scale: float) -> None:
    return None


def tabled(make: Make, data: Data | None) -> Figures:
    """A fit to, and a predict_proba of, a frame with strings in it; making the frame is not counted."""
    assert data is not None
    X, X_test = _table(data.X), _table(data.X_test)
    make().fit(X[:WARM_ROWS], data.y[:WARM_ROWS]).predict_proba(X[:WARM_ROWS])
    model = make()
    figures: Figures = {"frame_mb": X.memory_usage(deep=True).sum() / 2**20}
    steps = {"fit": partial(model.fit, X, data.y), "predict": partial(model.predict_proba, X)}
    for name, step in steps.items():
        memory = PeakMemory()
        times = [timed(step)]
        figures[f"{name}_mb"] = memory.megabytes()
        while len(times) < ON_MANY and sum(times) < LONG:
            times.append(timed(step))
        figures[name] = min(times)
    figures["both"] = figures["fit"] + figures["predict"]
    return figures | quality(model, data._replace(X_test=X_test))


def _table(X: np.ndarray) -> Any:
    """Columns 10 to 19 as strings, None where missing; all else as numbers."""
    import pandas as pd

    columns = {f"x{j}": X[:, j].copy() for j in range(30)}
    words = np.array([*(f"category {i}" for i in range(50)), None], dtype=object)
    for j in range(10, 20):
        columns[f"x{j}"] = words[np.nan_to_num(X[:, j], nan=50).astype(np.intp)]
    return pd.DataFrame(columns)


@problem(
    "table",
    title="1M rows of 10 numbers, 10 columns of strings, 10 counts, one cell in 20 missing; 2 classes",
    measure=tabled,
)
def _(scale: float) -> Data:
    n, n_test = (max(5000, round(size * scale)) for size in (1_000_000, 20_000))
    rng = np.random.default_rng(7)
    y = rng.integers(2, size=n + n_test)
    X = np.empty((n + n_test, 30))
    for j in range(10):  # skewed, and not of any family
        X[:, j] = np.exp((0.5 + 0.1 * j) * rng.standard_normal(len(y)) + 0.15 * y) * (j + 1)
        X[:, 10 + j] = np.minimum(rng.geometric((0.1 + 0.02 * j) * np.where(y, 1.1, 1.0)) - 1, 49)
        X[:, 20 + j] = rng.poisson((1 + j) * np.where(y, 1.1, 1.0) * rng.gamma(2, 0.5, len(y)))
    X[rng.random(X.shape) < 0.05] = np.nan
    return Data(X[:n], y[:n], X[n:], y[n:])
