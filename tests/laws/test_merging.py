"""Fits made apart, merged in any order and tree, are the fit to all rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier

import likelier as lk
from laws.generators import SEEDS

ROWS = 240


def rows(seed, K=3):
    """Counts and numbers; every class is in every third of the rows."""
    rng = np.random.default_rng(seed)
    y = np.arange(ROWS) % K
    X = rng.normal(size=(ROWS, 4)) + y[:, None] * [1.0, 0.5, 0.0, -1.0]
    return X, y


def counts(X):
    return np.floor(np.abs(X))


EVERY = [
    (lk.GaussianNB(), None),
    (lk.BernoulliNB(), counts),
    (lk.MultinomialNB(), counts),
    (lk.ComplementNB(), counts),
    (lk.PoissonNB(), counts),
    (lk.CategoricalNB(), counts),
    (lk.LinearDiscriminantAnalysis(), None),
    (lk.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), None),
    (lk.QuadraticDiscriminantAnalysis(), None),
    (lk.NaiveBayes("gaussian"), None),
    (lk.KernelDensityClassifier(bandwidth=0.5), None),
    (lk.LinearRegression(), None),
    (lk.Ridge(alpha=0.3), None),
]


def answers(model, X):
    return model.predict_log_proba(X) if is_classifier(model) else model.predict(X)


@pytest.mark.filterwarnings("ignore:KernelDensityClassifier.*few for kernels")
@pytest.mark.parametrize(("estimator", "view"), EVERY, ids=[str(one) for one, _ in EVERY])
@settings(max_examples=8)
@given(seed=SEEDS, data=st.data())
def test_any_order_and_tree_of_merges_is_one_fit(estimator, view, seed, data):
    X, y = rows(seed)
    X = X if view is None else view(X)
    own = np.random.default_rng(seed).integers(0, 5, ROWS)
    own[:15] = np.arange(15) // 3  # each site has met every class
    models = [clone(estimator).fit(X[own == site], y[own == site]) for site in range(5)]
    whole = clone(estimator).fit(X, y)
    while len(models) > 1:  # a tree: several at a time, in any order
        models = data.draw(st.permutations(models))
        some = data.draw(st.integers(2, len(models)))
        models = [lk.merge(models[:some]), *models[some:]]
    np.testing.assert_allclose(answers(models[0], X), answers(whole, X), rtol=1e-12, atol=1e-12)


def test_merging_takes_generators_dicts_and_one_model():
    X, y = rows(0)
    whole = lk.GaussianNB().fit(X, y)
    halves = [lk.GaussianNB().fit(X[i::2], y[i::2]) for i in range(2)]
    for found in (
        lk.merge(model for model in halves),
        lk.merge({"north": halves[0], "south": halves[1]}),
        halves[0].merge(halves[1]),
    ):
        np.testing.assert_allclose(found.var_, whole.var_, rtol=1e-12)
    alone = lk.merge([whole])
    assert alone is not whole
    np.testing.assert_array_equal(alone.theta_, whole.theta_)
    np.testing.assert_array_equal(alone.partial_fit(X, y).class_count_, 2 * whole.class_count_)
    np.testing.assert_array_equal(whole.class_count_, [80, 80, 80])


def test_tables_settled_alike_merge_by_names():
    X, y = rows(1)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(sky=np.where(X[:, 2] > 0, "clear", "clouds"))
    first = lk.NaiveBayes().fit(frame[::2], y[::2])
    other = lk.NaiveBayes(first.families_).fit(frame[1::2], y[1::2])
    whole = lk.NaiveBayes(first.families_).fit(frame, y)
    for pair in ([first, other], [other, first]):
        found = lk.merge(pair).predict_proba(frame)
        np.testing.assert_allclose(found, whole.predict_proba(frame), rtol=1e-12)


def test_saved_models_merge_as_those_at_hand(tmp_path):
    X, y = rows(2)
    models = [lk.LinearDiscriminantAnalysis().fit(X[i * 80 :][:80], y[i * 80 :][:80]) for i in range(3)]
    for i, model in enumerate(models):
        lk.save(model, tmp_path / f"{i}.lk")
    found = lk.merge(lk.load(path) for path in sorted(tmp_path.iterdir()))
    np.testing.assert_array_equal(found.predict_proba(X), lk.merge(models).predict_proba(X))
