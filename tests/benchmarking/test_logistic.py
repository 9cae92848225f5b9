"""The problems of logistic regression at small sizes, and what is measured on them."""

import numpy as np
import pytest
from benchmarks.race import cli, logistic_measures, penalised
from benchmarks.race.logistic_measures import L1_RATIO, path_values
from benchmarks.race.logistic_problems import documents, skewed
from benchmarks.race.registry import CONTENDERS, PROBLEMS, Data
from benchmarks.race.targets import TARGETS
from benchmarks.race.trial import run
from scipy import sparse


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(penalised, "CACHE", tmp_path / "optima")


def test_targets_are_about_contenders():
    for target in TARGETS:
        assert target.ours in CONTENDERS
        assert target.theirs is None or cli.chosen([target.theirs])


def test_rows_are_as_they_are_called():
    data = skewed(0.04)
    assert data.y.mean() == pytest.approx(0.1, abs=0.01)
    assert np.linalg.cond(np.cov(data.X.T)) == pytest.approx(1e4, rel=0.2)
    X, y, n = documents(0.01)
    assert X.shape == (2 * n, 100_000)
    assert X.nnz / len(y) == pytest.approx(94, abs=1)
    np.testing.assert_allclose(sparse.linalg.norm(X, axis=1), 1)


@pytest.mark.parametrize("least", [None, np.array([1.5, 2.5])])
def test_data_come_back_from_their_folder(tmp_path, least):
    X = sparse.csr_array(np.eye(3))
    Data(X, np.arange(3), np.eye(3), np.arange(3), least).save(tmp_path)
    back = Data.load(tmp_path)
    np.testing.assert_array_equal(back.X.toarray(), np.eye(3))
    np.testing.assert_array_equal(back.X_test, np.eye(3))
    assert back.least is least is None or np.array_equal(back.least, least)


def test_gap_of_a_small_fit(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.race.measures.ON_FEW", 3)
    PROBLEMS["small-wine"].make(1.0).save(tmp_path)
    figures = run("small-wine/scikit-learn/lbfgs", tmp_path)["figures"]
    assert 0 < figures["gap"] < 1e-4
    assert 0 < figures["log_loss"] < 0.2


def test_gap_of_a_path_is_its_widest(monkeypatch):
    monkeypatch.setattr(logistic_measures, "ON_MANY", 1)
    monkeypatch.setattr(logistic_measures, "VALUES", 3)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 6))
    y = (X[:, 0] + rng.logistic(size=2000) > 1).astype(int)
    least = penalised.minima(X, y, path_values(X, y), L1_RATIO)
    data, rate = Data(X, y, X, y, least), y.mean()
    weights, start = np.zeros((3, 6)), np.full(3, np.log(rate / (1 - rate)))
    figures = logistic_measures.pathing(lambda: lambda X, y, Cs: (weights, start), data)
    constant = -len(y) * (rate * np.log(rate) + (1 - rate) * np.log1p(-rate))
    assert figures["gap"] == pytest.approx(constant / least.min() - 1, rel=1e-9)
    assert constant / least[0] - 1 < 1e-3  # all weights but one are 0 at the first


def test_errors_that_are_off_are_seen(monkeypatch):
    monkeypatch.setattr(logistic_measures, "ON_MANY", 1)
    data = skewed(0.01)

    def summarise(X, y):
        from scipy.special import expit
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(X, y)
        A = np.column_stack([np.ones(len(X)), X])
        theta = np.append(model.intercept_, model.coef_)
        P = expit(A @ theta)
        errors = np.sqrt(np.diag(np.linalg.inv((A.T * (P * (1 - P))) @ A)))
        errors[3] *= 1.01
        return theta, errors

    figures = logistic_measures.summarising(lambda: summarise, data)
    assert figures["errors_off"] == pytest.approx(0.01, rel=1e-6)
    assert 0 <= figures["gap"] < 1e-12
