"""The problems. A new one is a seeded generator that takes the share of the rows and returns Data."""

import warnings

import numpy as np

from benchmarks.race.measures import (
    LONG,
    ON_MANY,
    WARM_ROWS,
    importing,
    latency,
    searching,
    throughput,
    timed,
)
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
