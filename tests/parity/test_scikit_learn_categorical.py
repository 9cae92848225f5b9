"""CategoricalNB equals scikit-learn's: names, numbers and errors."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn import naive_bayes
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import OrdinalEncoder

import likelier as lk
from parity import test_scikit_learn_face as face

FILES = {
    "car": ("car.csv", "class"),
    "kr_vs_kp": ("kr_vs_kp.csv.gz", "class"),
    "mushroom": ("mushroom.csv.gz", "class"),
    "balance_scale": ("balance_scale.csv", "class"),
}
SEEDED = [(200, 3, 2), (500, 7, 3), (60, 1, 5), (300, 12, 9)]
SPECS = [
    {},
    {"alpha": 0.1},
    {"alpha": 1e-10},
    {"alpha": 50.0, "fit_prior": False},
    {"min_categories": 30},
    {"alpha": 1e-12, "force_alpha": True},
]


@cache
def _read(path, target):
    frame = pd.read_csv(path, keep_default_na=False, dtype=str)
    y = frame.pop(target).to_numpy()
    return OrdinalEncoder().fit_transform(frame).astype(np.int64), y


@pytest.fixture
def coded(request):
    """Codes and labels: of a file, or seeded."""

    def read(name):
        if name in FILES:
            file, target = FILES[name]
            return _read(request.getfixturevalue("data_file")(file), target)
        n, p, K = name
        rng = np.random.default_rng(name)
        y = rng.integers(0, K, n)
        return rng.binomial(np.arange(p) % 6, (1 + y[:, None]) / (K + 1), (n, p)), y

    return read


def both(spec, X, y, **how):
    return lk.CategoricalNB(**spec).fit(X, y, **how), naive_bayes.CategoricalNB(**spec).fit(X, y, **how)


def assert_same(ours, theirs, X):
    for name in ("class_count_", "class_log_prior_", "n_categories_", "n_features_in_", "classes_"):
        a, b = getattr(ours, name), getattr(theirs, name)
        if np.asarray(b).dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(a, b)
    for name in ("category_count_", "feature_log_prob_"):
        for a, b in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=name)
    for ask in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, ask)(X), getattr(theirs, ask)(X), rtol=1e-12, atol=1e-12)
    P = theirs.predict_proba(X)
    clear = np.diff(np.sort(P, axis=1)[:, -2:], axis=1)[:, 0] > 1e-12  # ties are decided by rounding
    np.testing.assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])


def test_the_face_is_scikit_learns():
    pair = lk.CategoricalNB, naive_bayes.CategoricalNB
    face.test_constructor_has_the_same_parameters_defaults_and_kinds(*pair)
    face.test_every_public_method_exists(*pair)
    face.test_methods_take_scikit_learns_arguments_in_scikit_learns_places(*pair)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("name", [*FILES, *SEEDED], ids=str)
def test_numbers_are_the_same(coded, name, spec):
    X, y = coded(name)
    assert_same(*both(spec, X, y), X)


@pytest.mark.parametrize("name", ["car", "mushroom", *SEEDED], ids=str)
def test_weights_and_priors_are_the_same(coded, name):
    X, y = coded(name)
    rng = np.random.default_rng(0)
    K = len(np.unique(y))
    spec = {"class_prior": rng.dirichlet(np.ones(K)), "min_categories": X.max(axis=0) + 2}
    assert_same(*both(spec, X, y, sample_weight=rng.exponential(size=len(y))), X)


@pytest.mark.parametrize("name", ["kr_vs_kp", *SEEDED], ids=str)
def test_batches_are_the_same(coded, name):
    """With codes that only a later batch has: sorted, the largest come last."""
    X, y = coded(name)
    order = np.argsort(X.sum(axis=1), kind="stable")
    least = X.max(axis=0) + 1  # or scikit-learn's n_categories_ would be those of the last batch
    ours, theirs = lk.CategoricalNB(), naive_bayes.CategoricalNB()
    for rows in np.array_split(order, 4):
        ours.partial_fit(X[rows], y[rows], classes=np.unique(y))
        theirs.partial_fit(X[rows], y[rows], classes=np.unique(y))
    np.testing.assert_array_equal(ours.n_categories_, least)
    theirs.n_categories_ = ours.n_categories_
    assert_same(ours, theirs, X)


def test_cross_validation_finds_the_same_alpha(coded):
    X, y = coded("car")
    grid = {"alpha": [0.01, 0.1, 1.0, 10.0]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = lk.CategoricalNB().cross_validate(X, y, cv=folds, param_grid=grid)
    theirs = GridSearchCV(naive_bayes.CategoricalNB(), grid, cv=folds, scoring="neg_log_loss").fit(X, y)
    np.testing.assert_allclose(
        found.scores["log_loss"].mean(axis=1), -theirs.cv_results_["mean_test_score"], rtol=1e-12
    )
    assert found.best_params_ == theirs.best_params_


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"min_categories": [[2, 3]]}, r"should have shape \(2,\)"),
        ({"min_categories": [2.0, 3.0]}, "should have integral type"),
        ({"class_prior": [0.2, 0.3, 0.5]}, "Number of priors must match number of classes"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": "much"}, "alpha"),
    ],
    ids=str,
)
def test_both_refuse(spec, message):
    X, y = np.array([[0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1])
    for kind in (lk.CategoricalNB, naive_bayes.CategoricalNB):
        with pytest.raises((ValueError, TypeError), match=message):
            kind(**spec).fit(X, y)


def test_a_small_alpha_is_raised_unless_forced():
    X, y = np.array([[0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1])
    with pytest.warns(UserWarning, match=r"setting alpha = 1.0e-10"):
        ours = lk.CategoricalNB(alpha=1e-30, force_alpha=False).fit(X, y)
    with pytest.warns(UserWarning, match=r"setting alpha = 1.0e-10"):
        theirs = naive_bayes.CategoricalNB(alpha=1e-30, force_alpha=False).fit(X, y)
    assert_same(ours, theirs, X)
