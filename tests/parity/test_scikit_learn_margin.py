"""LinearSVC beside scikit-learn's: the same face, and with a free intercept the same numbers."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likelier as lk

# LIBLINEAR penalises the intercept, less the larger the column that stands for it.
FREE = {"intercept_scaling": 1e4, "tol": 1e-10, "max_iter": 1_000_000}


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_the_constructor_is_scikit_learns_and_a_solver():
    wanted = list(inspect.signature(svm.LinearSVC).parameters.values())
    found = list(inspect.signature(lk.LinearSVC).parameters.values())
    assert [(p.name, p.kind, p.default) for p in found[: len(wanted)]] == [
        (p.name, p.kind, p.default) for p in wanted
    ]
    assert [p.name for p in found[len(wanted) :]] == ["solver", "encode"]


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 1: 0.5}])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_squared_hinge_has_scikit_learns_optimum(table, name, class_weight, C):
    X, y = table(name)
    X, w = scaled(X), np.random.default_rng(0).uniform(0.5, 2, len(y))
    how = {"C": C, "class_weight": class_weight}
    ours = lk.LinearSVC(**how, tol=1e-8).fit(X, y, w)
    theirs = svm.LinearSVC(**how, dual=False, **FREE).fit(X, y, w)
    # LIBLINEAR's own distance from the optimum, with a column of 1e4: see the law that our gradient is 0.
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=5e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=5e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if len(ours.classes_) == 2 and class_weight is None:
        F = [objective(squared_hinge, model, X, y, C, w) for model in (ours, theirs)]
        assert F[0] <= F[1] <= F[0] * (1 + 1e-6)
    assert isinstance(ours.n_iter_, int)
    assert ours.n_iter_ < 25


def test_without_an_intercept(table):
    X, y = table("wine")
    ours = lk.LinearSVC(fit_intercept=False, tol=1e-8).fit(scaled(X), y)
    theirs = svm.LinearSVC(fit_intercept=False, dual=False, tol=1e-10, max_iter=100_000).fit(scaled(X), y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert not ours.intercept_.any()


@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_hinge_has_the_optimum_of_libsvm_which_leaves_the_intercept_alone(table, name, C):
    X, y = table(name)
    X, y = (scaled(X[y > 0]), y[y > 0] - 1) if name == "iris" else (scaled(X), y)
    ours = lk.LinearSVC(loss="hinge", C=C, tol=1e-7).fit(X, y)
    theirs = svm.SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    # LIBSVM stops where it does; of both the better weights are ours, and the dual below is its own.
    bound = np.abs(theirs.dual_coef_).sum() - (theirs.coef_**2).sum() / 2
    F = [objective(hinge, model, X, y, C) for model in (ours, theirs)]
    assert F[0] <= F[1] * (1 + 1e-14)
    assert bound <= F[0] + 1e-9 * bound
    assert F[0] - bound <= 1e-5 * F[0]


def test_hinge_has_the_optimum_of_liblinear(table):
    X, y = table("breast_cancer")
    X = scaled(X)
    ours = lk.LinearSVC(loss="hinge", C=0.1, tol=1e-7).fit(X, y)
    theirs = svm.LinearSVC(loss="hinge", C=0.1, tol=1e-8, dual=True, intercept_scaling=100, max_iter=10**7)
    theirs.fit(X, y)
    assert objective(hinge, ours, X, y, 0.1) <= objective(hinge, theirs, X, y, 0.1)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def hinge(m):
    return np.maximum(1 - m, 0)


def squared_hinge(m):
    return hinge(m) ** 2


def objective(loss, model, X, y, C, sample_weight=1.0):
    t = np.where(y == model.classes_[1], 1, -1)
    w, b = model.coef_[0], model.intercept_[0]
    return C * (sample_weight * loss(t * (X @ w + b))).sum() + w @ w / 2


def test_in_a_grid_search(table):
    X, y = table("wine")
    grid = {"linearsvc__C": [0.01, 1.0], "linearsvc__loss": ["hinge", "squared_hinge"]}
    found = GridSearchCV(make_pipeline(StandardScaler(), lk.LinearSVC()), grid).fit(X, y)
    assert found.best_score_ > 0.95


@pytest.mark.parametrize(
    "model", [lk.LinearSVC(penalty="l1", C=0.1), lk.LogisticRegression(C=0.1, l1_ratio=1)]
)
def test_weights_can_be_sparse_as_scikit_learns(model, tmp_path):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        clone(model).sparsify()
    before = model.fit(X, y).coef_
    assert model.sparsify() is model
    assert sparse.issparse(model.coef_)
    lk.save(model, tmp_path / "model.lk")
    np.testing.assert_array_equal(lk.load(tmp_path / "model.lk").coef_, before)
    np.testing.assert_array_equal(lk.load(tmp_path / "model.lk").predict(X), model.predict(X))
    for _ in range(2):
        np.testing.assert_array_equal(model.densify().coef_, before)


# ---- several classes at once -----------------------------------------------------------------------
def crammer_singer_objective(model, X, y, C, w=1.0):
    """|W|²/2 + C Σ w (max_j (z_j + [j ≠ y]) - z_y), in plain numpy."""
    Z, at = X @ model.coef_.T + model.intercept_, (np.arange(len(y)), y)
    asked = Z + 1.0
    asked[at] -= 1.0
    return 0.5 * (model.coef_**2).sum() + C * (w * (asked.max(axis=1) - Z[at])).sum()


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_crammer_and_singer(load, C, weighted):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    w = np.random.default_rng(0).uniform(0.2, 2.0, len(y)) if weighted else np.ones(len(y))
    how = {"multi_class": "crammer_singer", "fit_intercept": False, "C": C}
    ours = lk.LinearSVC(**how).fit(X, y, sample_weight=w)
    theirs = svm.LinearSVC(**how, tol=1e-7, max_iter=200_000).fit(X, y, sample_weight=w)
    assert ours.coef_.shape == theirs.coef_.shape
    F, least = (crammer_singer_objective(model, X, y, C, w) for model in (ours, theirs))
    assert F - least <= 1e-4 * C * w.sum()  # tol, of the mean loss
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    # With an intercept, which is free here: no worse than any that is penalised.
    how["fit_intercept"] = True
    ours = lk.LinearSVC(**how).fit(X, y, sample_weight=w)
    theirs = svm.LinearSVC(**how, max_iter=200_000).fit(X, y, sample_weight=w)
    F, least = (crammer_singer_objective(model, X, y, C, w) for model in (ours, theirs))
    assert F <= least + 1e-4 * C * w.sum()


def test_crammer_and_singer_for_two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    how = {"multi_class": "crammer_singer", "fit_intercept": False, "C": 0.1}
    ours, theirs = lk.LinearSVC(**how).fit(X, y), svm.LinearSVC(**how, tol=1e-8, max_iter=10**6).fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape == (1, 30)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_crammer_and_singer_needs_rows_in_memory(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.assign(y=y).to_csv(tmp_path / "iris.csv", index=False)
    with pytest.raises(ValueError, match=r"needs the rows in memory.*use multi_class='ovr'"):
        lk.LinearSVC(multi_class="crammer_singer").fit(lk.scan(tmp_path / "iris.csv", target="y"))
    with pytest.raises(ValueError, match="multi_class must be 'ovr' or 'crammer_singer'; got 'ovo'"):
        lk.LinearSVC(multi_class="ovo").fit(X, y)
