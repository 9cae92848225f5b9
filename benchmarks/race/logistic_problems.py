"""The problems of logistic regression: rows whose labels are drawn from a known model of their kind."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, softmax

from benchmarks.race.logistic_measures import (
    L1_RATIO,
    C,
    few,
    minimising,
    path_values,
    pathing,
    summarising,
)
from benchmarks.race.penalised import minima
from benchmarks.race.registry import Data, problem


def split(X: Any, y: NDArray[np.int64], n: int) -> Data:
    """The first n rows to train on, the others held out."""
    return Data(X[:n], y[:n], X[n:], y[n:])


def sizes(scale: float, n: int, n_test: int) -> tuple[int, int]:
    """Rows to train on, and all rows."""
    n, n_test = (max(5000, round(size * scale)) for size in (n, n_test))
    return n, n + n_test


def with_minimum(data: Data) -> Data:
    """The rows, and the least that the penalised objective can be."""
    return data._replace(least=minima(data.X, data.y, [C]))


def skewed(scale: float) -> Data:
    """Two classes, one of them rare, and directions of very unequal variance."""
    n, N = sizes(scale, 500_000, 50_000)
    p, rng = 50, np.random.default_rng(1)
    spread = np.geomspace(0.1, 10, p)  # the covariance has condition 1e4
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    direction = rng.standard_normal(p)
    Z = rng.standard_normal((N, p))
    z = 1.49 * Z @ direction / np.linalg.norm(direction) - 2.946  # one label in ten is positive
    y = (rng.random(len(z)) < expit(z)).astype(np.int64)
    X = (Z * spread) @ turn.T
    return split(X, y, n)


@problem(
    "logistic",
    title="500k x 50 rows, 2 classes, 10% positive, covariance of condition 1e4; L2, C = 1",
    measure=minimising,
)
def _(scale: float) -> Data:
    return with_minimum(skewed(scale))


@problem(
    "errors",
    title="the rows of `logistic`, no penalty: fit and table of standard errors",
    measure=summarising,
)
def _(scale: float) -> Data:
    return skewed(scale)


@problem(
    "multinomial",
    title="200k x 54 rows, 7 classes, 10 scaled numbers, and categories as 4 + 40 columns; L2, C = 1",
    measure=minimising,
)
def _(scale: float) -> Data:
    n, N = sizes(scale, 200_000, 20_000)
    K, p, rng = 7, 54, np.random.default_rng(2)
    mix = np.eye(10) + 0.3 * rng.standard_normal((10, 10))
    W = 0.71 * rng.standard_normal((K, p))
    blocks = [rng.standard_normal((N, 10)) @ mix / np.linalg.norm(mix, axis=0)]
    for levels in (4, 40):
        rarity = 1 / np.arange(1, levels + 1)
        blocks.append(np.eye(levels)[rng.choice(levels, size=N, p=rarity / rarity.sum())])
    X = np.column_stack(blocks)
    frequency = np.array([0.365, 0.488, 0.062, 0.005, 0.016, 0.03, 0.034])
    P = softmax(X @ W.T + np.log(frequency), axis=1)
    y = (rng.random((N, 1)) > P.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return with_minimum(split(X, y, n))


def documents(scale: float) -> tuple[Any, NDArray[np.int64], int]:
    """Tf-idf of words as common as Zipf has it; some are a topic's own, some those of one of two sides."""
    n, N = sizes(scale, 200_000, 20_000)
    p, K, drawn, rng = 100_000, 20, 115, np.random.default_rng(7)
    chances = np.cumsum(1 / np.arange(1, p + 1))
    y = rng.integers(K, size=N)
    words = np.searchsorted(chances / chances[-1], rng.random((N, drawn)))
    of_topic, of_side = ((words * m + (y % m)[:, None]) % p for m in (K, 2))
    kind = rng.random(words.shape)
    words = np.select([kind < 0.102, kind < 0.182], [of_topic, of_side], words)
    starts = np.arange(0, words.size + 1, drawn, dtype=np.int32)
    X = sparse.csr_array((np.ones(words.size), words.ravel().astype(np.int32), starts), shape=(N, p))
    X.sum_duplicates()
    X.data *= (1 - np.log((1 + np.bincount(X.indices, minlength=p)) / (1 + N)))[X.indices]
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X, y, n


@problem(
    "text",
    title="CSR 200k x 100k rows of tf-idf, 94 non-zeros a row, 2 classes; L2, C = 1",
    measure=minimising,
)
def _(scale: float) -> Data:
    X, y, n = documents(scale)
    return with_minimum(split(X, y % 2, n))


@problem("topics", title="the rows of `text`, 20 classes; L2, C = 1", measure=minimising)
def _(scale: float) -> Data:
    return with_minimum(split(*documents(scale)))


@problem(
    "net",
    title="100k x 200 rows, 2 classes, 20 columns matter: elastic net, l1_ratio 0.5, 20 values of C",
    measure=pathing,
)
def _(scale: float) -> Data:
    n, N = sizes(scale, 100_000, 10_000)
    p, rng = 200, np.random.default_rng(3)
    w, loadings = np.zeros(p), 0.5 * rng.standard_normal((10, p))
    w[rng.choice(p, 20, replace=False)] = 0.5 * rng.standard_normal(20)
    X = rng.standard_normal((N, p)) + rng.standard_normal((N, 10)) @ loadings
    y = (rng.random(N) < expit(X @ w)).astype(np.int64)
    data = split(X, y, n)
    return data._replace(least=minima(data.X, data.y, path_values(data.X, data.y), L1_RATIO))


def standardised(load: Any, n: int) -> Data:
    """A small data set, of which n rows are trained on, to the unit of each column."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    return with_minimum(split((X - X[:n].mean(axis=0)) / X[:n].std(axis=0), y, n))


@problem("small-iris", title="100 x 4 scaled rows, 3 classes: what a call costs; L2, C = 1", measure=few)
def _(scale: float) -> Data:
    from sklearn.datasets import load_iris

    return standardised(load_iris, 100)


@problem("small-wine", title="118 x 13 scaled rows, 3 classes: what a call costs; L2, C = 1", measure=few)
def _(scale: float) -> Data:
    from sklearn.datasets import load_wine

    return standardised(load_wine, 118)
