"""The tables and the pairs of classes that are compared."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import discriminant_analysis, linear_model, mixture, naive_bayes, svm

import likelier as lk

# Rows, columns, classes. Small, wide, square, tall; few classes and many.
DENSE = (
    (50, 4, 3),
    (57, 1500, 2),
    (60, 30, 12),
    (120, 500, 4),
    (150, 13, 3),
    (300, 3000, 2),
    (450, 280, 6),
    (500, 1000, 2),
    (700, 41, 2),
    (1000, 50, 2),
    (1000, 1000, 2),
    (2000, 64, 10),
    (3000, 3, 2),
    (5000, 20, 26),
    (8000, 120, 3),
    (20000, 10, 2),
    (20000, 200, 5),
    (100000, 30, 2),
)
SPARSE = (
    (200, 3000, 4),
    (900, 840, 2),
    (1000, 10000, 2),
    (1000, 10000, 20),
    (5000, 2000, 5),
    (12000, 400, 3),
    (20000, 30000, 10),
)
CELLS_A_ROW = 30  # of sparse tables, some of which meet in one place
REGRESSIONS = ("Ridge", "LinearRegression")


@dataclass(frozen=True)
class Table:
    """Rows and their classes."""

    name: str
    X: Any
    y: np.ndarray

    @property
    def sparse(self) -> bool:
        """Is it a CSR matrix?"""
        return sparse.issparse(self.X)


@dataclass(frozen=True)
class Pair:
    """A class of likelier, the class of scikit-learn that it replaces, and the tables that both take."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    sparse: bool = False
    positive: bool = False
    most_columns: int = 100_000
    least_rows_per_column: float = 0.0  # scikit-learn refuses some tables with fewer rows

    def takes(self, table: Table) -> bool:
        """Can both fit this table?"""
        n, p = table.X.shape
        fits = p <= self.most_columns and n >= self.least_rows_per_column * p
        return fits and (self.sparse or not table.sparse)

    def data(self, table: Table) -> tuple[Any, np.ndarray]:
        """Rows and target as this pair takes them."""
        X = np.abs(table.X) if self.positive and not table.sparse else table.X
        return X, table.y.astype(float) if self.name in REGRESSIONS else table.y


def _same(
    name: str, module: Any, /, sparse: bool = False, positive: bool = False, **parameters: Any
) -> Pair:
    """Both classes by their common name, with the same parameters."""
    ours, theirs = getattr(lk, name), getattr(module, name)
    said = "".join(f" {key}={value}" for key, value in parameters.items() if key != "random_state")
    return Pair(name + said, lambda: ours(**parameters), lambda: theirs(**parameters), sparse, positive)


PAIRS = (
    _same("LogisticRegression", linear_model, sparse=True),
    _same("LogisticRegression", linear_model, sparse=True, C=100),
    _same("LinearSVC", svm, sparse=True),
    _same("LinearSVC", svm, sparse=True, loss="hinge"),
    _same("Ridge", linear_model, sparse=True),
    _same("LinearRegression", linear_model),
    _same("GaussianNB", naive_bayes),
    _same("BernoulliNB", naive_bayes, sparse=True),
    _same("MultinomialNB", naive_bayes, sparse=True, positive=True),
    Pair(
        "LinearDiscriminantAnalysis",
        lk.LinearDiscriminantAnalysis,
        discriminant_analysis.LinearDiscriminantAnalysis,
        most_columns=3000,
    ),
    Pair(
        "QuadraticDiscriminantAnalysis",
        lambda: lk.QuadraticDiscriminantAnalysis(reg_param=0.1),
        lambda: discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1),
        least_rows_per_column=15.0,
    ),
    _same("SGDClassifier", linear_model, sparse=True, random_state=0),
    _same("Perceptron", linear_model, sparse=True, random_state=0),
    Pair(
        "GaussianMixture",
        lambda: lk.GaussianMixture(3, random_state=0),
        lambda: mixture.GaussianMixture(3, random_state=0),
        most_columns=100,
    ),
)


def tables(named: Sequence[str] = ()) -> Iterator[Table]:
    """Gaussian classes that overlap, and CSR matrices of small counts; all, or those of these names."""
    for size in DENSE:
        name = "{} × {}, {}".format(*size)
        if not named or any(text in name for text in named):
            yield _dense(name, *size)
    for size in SPARSE:
        name = "CSR {} × {}, {}".format(*size)
        if not named or any(text in name for text in named):
            yield _sparse(name, *size)


def _dense(name: str, n: int, p: int, K: int) -> Table:
    rng = np.random.default_rng([n, p, K])
    y = _classes(rng, n, K)
    return Table(name, rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(K, p))[y], y)


def _sparse(name: str, n: int, p: int, K: int) -> Table:
    rng = np.random.default_rng([n, p, K])
    # Indices of 32 bits: LIBLINEAR takes no others.
    rows = np.repeat(np.arange(n, dtype=np.int32), CELLS_A_ROW)
    columns = rng.integers(0, p, n * CELLS_A_ROW).astype(np.int32)
    X = sparse.csr_array((rng.integers(1, 4, len(rows)).astype(float), (rows, columns)), shape=(n, p))
    return Table(name, X, _classes(rng, n, K))


def _classes(rng: np.random.Generator, n: int, K: int) -> np.ndarray:
    """Labels at random, at least two rows of each class."""
    y = rng.integers(0, K, n)
    y[: 2 * K] = np.repeat(np.arange(K), 2)
    return y
