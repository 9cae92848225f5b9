"""Perceptron and SGDClassifier from a file end where they end on the same rows in memory."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

import likelier as lk

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(seed, K, n=400, p=3):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    return rng.normal(size=(n, p)) + rng.normal(size=(K, p))[y], y, rng.choice([0.5, 1.0, 2.0], n)


def scanned(X, y, w, path):
    names = [f"c{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    frame.assign(y=y, w=w).to_parquet(path)
    return frame, lk.scan(path, target="y", features=names, weight="w")


WAYS = [
    lk.Perceptron(shuffle=False),
    lk.Perceptron(shuffle=False, penalty="l2", alpha=0.001),
    lk.Perceptron(shuffle=False, weights="average"),
    lk.SGDClassifier(shuffle=False),
    lk.SGDClassifier("log_loss", shuffle=False, penalty=None, n_iter_no_change=2),
    lk.SGDClassifier("log_loss", shuffle=False, penalty="l1", alpha=0.01),
    lk.SGDClassifier("modified_huber", shuffle=False, penalty="elasticnet", average=True, alpha=0.003),
    lk.SGDClassifier("log_loss", shuffle=False, learning_rate="adaptive", eta0=0.1, max_iter=60),
    lk.SGDClassifier("softmax", shuffle=False),
    lk.SGDClassifier("log_loss", shuffle=False, learning_rate="adagrad", eta0=0.1, max_iter=50),
    lk.SGDClassifier("hinge", shuffle=False, tol=None, max_iter=7),
    lk.SGDClassifier("hinge", shuffle=False, class_weight="balanced", tol=1e-2),
]


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("model", WAYS, ids=lambda model: str(model).replace("\n", ""))
def test_a_file_takes_the_epochs_that_an_array_takes(tmp_path, model, K):
    for seed in (45, 7):
        X, y, w = rows(seed, K)
        weights = np.ones(len(y)) if seed == 45 else w
        frame, source = scanned(X, y, weights, tmp_path / f"{seed}.parquet")
        params = model.get_params()
        array = type(model)(**params).fit(frame, y, sample_weight=weights)
        file = type(model)(**params).fit(source)
        assert file.n_iter_ == array.n_iter_
        np.testing.assert_allclose(file.coef_, array.coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(file.intercept_, array.intercept_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(file.trace_[:, 0], array.trace_[:, 0], rtol=1e-9)
        assert file.t_ == array.t_
        assert file.mistakes_ == array.mistakes_
        assert file.converged_ == array.converged_


def test_sparse_files_too(tmp_path):
    X, y, _ = rows(3, 4)
    X *= np.random.default_rng(0).random(X.shape) < 0.7
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"), zero_based=False)
    source = lk.scan(tmp_path / "t.svm")
    for model in (lk.Perceptron(shuffle=False), lk.SGDClassifier("log_loss", shuffle=False, alpha=0.01)):
        array, file = (type(model)(**model.get_params()) for _ in range(2))
        array.fit(csr_array(X), y)
        file.fit(source)
        assert file.n_iter_ == array.n_iter_
        np.testing.assert_allclose(file.coef_, array.coef_, rtol=1e-6, atol=1e-8)


def test_classes_end_one_by_one(tmp_path):
    """One class is easy, two are not: the easy one takes fewer turns, from a file as from an array."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = np.column_stack([np.where(y == 0, 9.0, -9.0), rng.normal(size=300), rng.normal(size=300)])
    _, source = scanned(X, y, np.ones(300), tmp_path / "t.parquet")
    array, file = lk.Perceptron(shuffle=False).fit(X, y), lk.Perceptron(shuffle=False).fit(source)
    assert file.class_mistakes_.tolist() == array.class_mistakes_.tolist()
    np.testing.assert_array_equal(file.mistake_curve_, array.mistake_curve_)
    turns = [tally.turns for tally in file._statistics.tallies]
    assert turns[0] < max(turns)
