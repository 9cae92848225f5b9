"""Models that are one and the same, come by in different ways."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as Liblinear

import likelier as lk
from laws.test_estimators import problem

LINEAR = [
    lk.LinearDiscriminantAnalysis(),
    lk.LogisticRegression(),
    lk.LinearSVC(),
    lk.LinearSVC(loss="hinge"),
]
COUNTED = [lk.BernoulliNB(binarize=None), lk.MultinomialNB()]


@pytest.fixture(scope="module")
def two():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def test_the_squared_hinge_is_liblinears(two):
    """Its column for the intercept as large as its own accuracy bears."""
    ours = lk.LinearSVC(tol=1e-8).fit(*two)
    theirs = Liblinear(dual=False, intercept_scaling=1e3, tol=1e-10, max_iter=10**6).fit(*two)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-6)


def test_the_hinge_in_batch_is_libsvms(two):
    ours = lk.LinearSVC(loss="hinge", C=0.1, tol=1e-7).fit(*two)
    theirs = SVC(kernel="linear", C=0.1, tol=1e-9).fit(*two)
    np.testing.assert_allclose(ours.decision_function(two[0]), theirs.decision_function(two[0]), atol=1e-4)


def test_subgradient_descent_on_the_hinge_comes_near_the_same(two):
    sharp = lk.LinearSVC(loss="hinge", C=0.1).fit(*two)
    steps = lk.LinearSVC(loss="hinge", C=0.1, solver="gradient", tol=0.03, max_iter=20_000).fit(*two)
    assert sharp.trace_[-1, 0] <= steps.trace_[-1, 0] <= sharp.trace_[-1, 0] * 1.02


def test_the_criterion_in_batch_is_a_step_for_the_mean_of_all_mistakes():
    """By hand, in units in which the rows' second moments are 1."""
    X, y = load_iris(return_X_y=True)
    X, t = X[50:] - X[50:].mean(axis=0), np.where(y[50:] == 2, 1, -1)
    X = X @ np.linalg.inv(np.linalg.cholesky(X.T @ X / len(X))).T
    model = lk.LinearSVC(loss="perceptron", fit_intercept=False, max_iter=500).fit(X, t)
    w, seen = np.zeros(4), []
    for _ in range(model.n_iter_ + 1):
        wrong = t * (X @ w) <= 0
        seen.append((wrong.mean(), w))
        w = w + (t[wrong] @ X[wrong]) / len(t)
    fewest, best = min(seen, key=lambda each: each[0])
    np.testing.assert_allclose(model.coef_[0], best, rtol=1e-6)
    np.testing.assert_allclose(model.trace_[-1, 1] ** 2 / 2, fewest)


@pytest.mark.parametrize("estimator", [*LINEAR, *COUNTED], ids=repr)
def test_what_is_linear_predicts_the_same_from_its_weights(estimator):
    data = problem(K=3)
    X = np.abs(np.round(data.X))
    X = (X > 3).astype(float) if isinstance(estimator, lk.BernoulliNB) else X
    model = estimator.fit(X, data.y)
    linear = model.to_linear()
    np.testing.assert_array_equal(linear.predict(X), model.predict(X))
    Z = X @ linear.coef_.T + linear.intercept_
    np.testing.assert_array_equal(model.classes_[Z.argmax(axis=1)], model.predict(X))
