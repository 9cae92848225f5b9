"""The passes of models that are fitted step by step. Bytes: one reading of X and the codes. Flops: what the
formulas need at least, without the loss itself."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.kernels.conftest import K, N, P
from likelier import _core

LOGISTIC, SOFTMAX = 0, 1
LOSSES = {"logistic": (LOGISTIC, 1), "softmax": (SOFTMAX, K)}
by_loss = pytest.mark.parametrize("loss", LOSSES)
ROWS, WORDS, DRAWN = 20_000, 100_000, 114


def point(q: int, p: int) -> tuple[NDArray[np.float64], ...]:
    """W, b and shift."""
    return np.random.default_rng(4).standard_normal((q, p)) / np.sqrt(p), np.zeros(q), np.zeros(p)


def told(X: _core.Matrix, codes: NDArray[np.int32], loss: str, p: int) -> tuple[Any, ...]:
    """What every pass is told: rows, loss and weights. Of two classes the first is against the others."""
    number, q = LOSSES[loss]
    return X, codes, None, None, number, 0, *point(q, p)


def sums(q: int, p: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.zeros(1), np.zeros((q, p + 1))


@by_loss
def test_gradient(rate, matrix, codes, loss):
    q = LOSSES[loss][1]
    rows = told(matrix, codes, loss, P)
    work = {"B": N * (8 * P + 4), "FLOP": 4 * N * P * q}
    assert rate(_core.expand, lambda: (*rows, *sums(q, P), None), **work) is None


@by_loss
def test_hessian(rate, matrix, codes, loss):
    q = LOSSES[loss][1]
    m, rows = q * (P + 1), told(matrix, codes, loss, P)
    work = {"B": N * (8 * P + 4), "FLOP": N * P * (P + 1) * q * (q + 1) // 2}
    assert rate(_core.expand, lambda: (*rows, *sums(q, P), np.zeros((m, m))), **work) is None


@by_loss
def test_values(rate, matrix, codes, loss):
    """Of four points at once: a line search."""
    q = LOSSES[loss][1]
    *rows, W, b, shift = told(matrix, codes, loss, P)
    at = np.stack([W] * 4), np.stack([b] * 4), shift
    work = {"B": N * (8 * P + 4), "FLOP": 8 * N * P * q}
    assert rate(_core.loss_values, lambda: (*rows, *at, np.zeros(4)), **work) is None


@by_loss
def test_product(rate, matrix, codes, loss):
    q = LOSSES[loss][1]
    rows, (V, v, _) = told(matrix, codes, loss, P), point(q, P)
    work = {"B": N * (8 * P + 4), "FLOP": 6 * N * P * q}
    assert rate(_core.curvature_product, lambda: (*rows, V, v, np.zeros((q, P + 1))), **work) is None


# ---- CSR -------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def words() -> sparse.csr_array:
    """As common as Zipf has it, some 100 a row."""
    rng = np.random.default_rng(7)
    chances = np.cumsum(1 / np.arange(1, WORDS + 1))
    at = np.searchsorted(chances / chances[-1], rng.random((ROWS, DRAWN))).astype(np.int32)
    starts = np.arange(0, at.size + 1, DRAWN, dtype=np.int32)
    found = sparse.csr_array((rng.random(at.size), at.ravel(), starts), shape=(ROWS, WORDS))
    found.sum_duplicates()
    return found


@by_loss
def test_sparse_gradient(rate, words, codes, loss):
    q = LOSSES[loss][1]
    X = _core.Matrix.csr(words.data, words.indices, words.indptr, WORDS)
    rows = told(X, codes[:ROWS], loss, WORDS)
    work = {"B": 12 * words.nnz, "cell": words.nnz}
    assert rate(_core.expand, lambda: (*rows, *sums(q, WORDS), None), **work) is None
