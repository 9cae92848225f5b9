"""Dense tables of which nearly all cells are 0 are fitted by their other cells alone."""

import numpy as np
import pytest
from scipy import sparse

import likelier as lk
from likelier.data import CSR, Arrays, Dense
from likelier.data.chunk import compressed

MODELS = {
    "logistic": lambda: lk.LogisticRegression(tol=1e-7, max_iter=500),
    "squared_hinge": lambda: lk.LinearSVC(tol=1e-7, max_iter=5000),
    "hinge": lambda: lk.LinearSVC(loss="hinge", tol=1e-7, max_iter=5000),
    "crammer_singer": lambda: lk.LinearSVC(multi_class="crammer_singer", tol=1e-4, max_iter=5000),
}


def indicators(n: int = 150, p: int = 700, K: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 10 columns that are 1, some of them more often than others."""
    rng = np.random.default_rng(0)
    X = np.zeros((n, p))
    X[np.arange(n)[:, None], (p * rng.random((n, 10)) ** 3).astype(int)] = 1.0
    y = (X @ rng.normal(size=(p, K))).argmax(axis=1)
    y[:K] = np.arange(K)
    return X, y


@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_it_holds_the_same_cells(order, dtype):
    X, y = indicators()
    X = X.astype(dtype)
    given = np.repeat(X, 2, axis=1)[:, ::2] if order == "strided" else np.asarray(X, order=order)
    found = compressed(Arrays(Dense(given), y)).X
    assert isinstance(found, CSR)
    again = sparse.csr_array((found.values, found.columns, found.starts), shape=found.shape)
    np.testing.assert_array_equal(again.toarray(), X)
    assert len(found.values) == np.count_nonzero(X)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_that_of_sparse_rows(name, K):
    X, y = indicators(K=K)
    dense, other = MODELS[name]().fit(X, y), MODELS[name]().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, other.coef_, atol=1e-3 if name == "crammer_singer" else 1e-5)


def test_tables_that_are_full_or_narrow_stay():
    X, y = indicators()
    full = Arrays(Dense(X + 1.0), y)
    narrow = Arrays(Dense(X[:, :100].copy()), y)
    deceptive = Arrays(Dense(np.where(np.arange(len(X))[:, None] % 4 == 0, X, 1.0)), y)  # where it looks
    assert compressed(full) is full
    assert compressed(narrow) is narrow
    assert isinstance(compressed(narrow, 64).X, CSR)
    assert compressed(deceptive) is deceptive


@pytest.mark.parametrize("cell", [np.nan, np.inf])
def test_a_cell_that_is_no_number_is_named(cell):
    X, y = indicators()
    X[37, 411] = cell
    with pytest.raises(ValueError, match="row 37"):
        lk.LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="row 37"):
        lk.LinearSVC(loss="hinge").fit(X, y)


def test_single_precision_and_weights_are_kept():
    X, y = indicators()
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    model = lk.LogisticRegression(tol=1e-7).fit(X.astype(np.float32), y, sample_weight=w)
    other = lk.LogisticRegression(tol=1e-7).fit(
        np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int))
    )
    assert model.coef_.dtype == np.float32
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)
