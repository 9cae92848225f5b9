"""Ridge regression of sparse rows by conjugate gradients, against NumPy's solution for dense rows."""

import numpy as np
import pytest
from scipy import sparse


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(("n", "p"), [(40, 90), (90, 40), (7, 7)])
@pytest.mark.parametrize("threads", [1, 3])
def test_steps_end_at_the_solution(core, n, p, index, dtype, threads):
    rng = np.random.default_rng(n)
    X = sparse.random(n, p, 0.2, format="csr", random_state=0)
    dense = X.toarray().astype(dtype).astype(np.float64)
    X.sort_indices()
    rows = core.Matrix.csr(X.data.astype(dtype), X.indices.astype(index), X.indptr.astype(index), p)
    w, y, alpha = rng.uniform(0.5, 2, n), rng.standard_normal(n), 0.5
    mean, squares = np.zeros((2, p))
    core.sparse_spread(rows, w, True, mean, squares)
    np.testing.assert_allclose(mean, w @ dense / w.sum(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(squares, w @ (dense - mean) ** 2, rtol=1e-12, atol=1e-15)
    A = np.sqrt(w)[:, None] * (dense - mean)
    b, r, d, now = np.zeros(p), y.copy(), np.zeros(min(n, p) if n < p else p), np.full(5, -1.0)
    gains = np.array([1e-8, 1e-11, 1e-9])
    taken = core.ridge_steps(
        rows, np.sqrt(w), mean, squares, alpha, n < p, 500, gains, b, r, d, now, threads
    )
    assert -500 <= taken < 0
    wanted = np.linalg.solve(A.T @ A + alpha * np.eye(p), A.T @ y)
    np.testing.assert_allclose(b, wanted, rtol=1e-7, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_the_gram_matrix_of_stored_cells(core, index, dtype):
    X = sparse.random(50, 20, 0.3, format="csr", random_state=0)
    X.sort_indices()
    w, G = np.random.default_rng(0).uniform(0.5, 2, 50), np.zeros((20, 20))
    core.sparse_gram(
        core.Matrix.csr(X.data.astype(dtype), X.indices.astype(index), X.indptr.astype(index), 20), w, G
    )
    dense = X.toarray().astype(dtype).astype(np.float64)
    np.testing.assert_allclose(G, np.triu(dense.T @ (w[:, None] * dense)), rtol=1e-12, atol=1e-14)
