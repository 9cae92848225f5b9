"""One pass of each model, and nothing else: through the engine that a fit goes through."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.race.scale_contenders import in_memory, scanned
from benchmarks.race.tables import Tables
from likelier.data import CSR, Arrays, Dense, Source, code
from likelier.em import EMProblem
from likelier.engines import run
from likelier.families import FullGaussian, TiedGaussian
from likelier.families.gaussian import DiagonalGaussian
from likelier.losses import logistic, softmaxed
from likelier.states import Expansion, Setting


def counting(family: Any) -> Callable[[Source, int], Any]:
    """Statistics by class."""
    return lambda source, K: run(source, partial(family.stats, K, source.p))


def expanding(*, curved: bool) -> Callable[[Source, int], Any]:
    """Loss, gradient, and, curved, the Hessian, of logistic regression at 0."""

    def expand(source: Source, K: int) -> Any:
        q, loss = (1, logistic) if K == 2 else (K, softmaxed)
        setting = Setting(loss, q, np.zeros(source.p))
        return run(source, partial(Expansion.start, setting, np.zeros((q, source.p + 1)), curved=curved))

    return expand


def expecting(source: Source, K: int) -> Any:
    """A step of EM, from the Gaussians that the first rows of each class make."""
    part = source.parts(0)[0]
    some, family = next(iter(part())), FullGaussian()
    stats = family.stats(K, source.p)
    stats.update(some)
    problem = EMProblem(source, family, K)
    return problem.expect(problem.maximise(stats))


# By the names of the cost model.
PASSES: dict[str, Callable[[Source, int], Any]] = {
    "GaussianNB": counting(DiagonalGaussian()),
    "LDA": counting(TiedGaussian()),
    "QDA": counting(FullGaussian()),
    "LogisticRegression, newton": expanding(curved=True),
    "LogisticRegression, lbfgs": expanding(curved=False),
    "GaussianMixture, K components": expecting,
}
SPARSE_PASS = "LogisticRegression, lbfgs, sparse"


# ---- the same rows, in three places ------------------------------------------------------------------
def in_files(tables: Tables) -> Source:
    found: Source = scanned(tables).coded(np.arange(tables.K))
    return found


def at_hand(tables: Tables) -> Source:
    X, y = in_memory(tables)
    return Arrays(Dense(X), code(y, np.arange(tables.K)))


def sparse_rows(n: int, p: int, cells: int) -> Source:
    """Rows of ones at columns drawn at random: no column is in the cache when it is asked for."""
    rng = np.random.default_rng(5)
    columns = rng.integers(p, size=n * cells, dtype=np.int32)
    starts = np.arange(0, n * cells + 1, cells, dtype=np.int32)
    return Arrays(CSR(np.ones(n * cells), columns, starts, p), rng.integers(2, size=n).astype(np.int32))
