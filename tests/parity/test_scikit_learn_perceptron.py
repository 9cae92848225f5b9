"""Perceptron beside scikit-learn's: the same face, and the same weights for the same random_state."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likelier as lk

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TABLES = {
    "two": (load_iris().data[50:], load_iris().target[50:]),
    "three": load_iris(return_X_y=True),
    "ten": tuple(a[:600] for a in load_digits(return_X_y=True)),
}
tables = pytest.mark.parametrize("table", TABLES)


def both(X, y, w=None, **how):
    ours = lk.Perceptron(**how).fit(X, y, sample_weight=w)
    return ours, linear_model.Perceptron(**how).fit(X, y, sample_weight=w)


def assert_same(ours, theirs):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-9)


def test_the_constructor_is_scikit_learns_and_more():
    wanted = list(inspect.signature(linear_model.Perceptron).parameters.values())
    found = list(inspect.signature(lk.Perceptron).parameters.values())
    assert [(p.name, p.default, p.kind) for p in found[: len(wanted)]] == [
        (p.name, p.default, p.kind) for p in wanted
    ]
    assert [p.name for p in found[len(wanted) :]] == ["weights", "max_mistakes", "encode"]
    for method in ("fit", "partial_fit"):
        one, other = (
            list(inspect.signature(getattr(c, method)).parameters)
            for c in (lk.Perceptron, linear_model.Perceptron)
        )
        assert one == other


@tables
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("seed", [0, 7])
def test_same_weights(table, form, seed):
    X, y = TABLES[table]
    ours, theirs = both(form(X), y, random_state=seed)
    assert_same(ours, theirs)
    assert ours.n_iter_ <= theirs.n_iter_  # an epoch without a mistake ends it
    np.testing.assert_array_equal(ours.predict(form(X)), theirs.predict(form(X)))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-7, atol=1e-7)
    assert set(vars(theirs)) - {"_expanded_class_weight", "_loss_function_"} <= set(vars(ours)) | {
        "loss", "learning_rate", "epsilon", "power_t", "average"
    }  # fmt: skip


@pytest.mark.parametrize(
    "how",
    [
        {"penalty": "l2", "alpha": 0.01, "max_iter": 20},
        {"penalty": "l1", "alpha": 0.001, "max_iter": 20},
        {"penalty": "elasticnet", "l1_ratio": 0.4, "max_iter": 20},
        {"fit_intercept": False},
        {"shuffle": False, "max_iter": 30},
        {"tol": None, "max_iter": 12},
        {"tol": 0.1, "n_iter_no_change": 2},
        {"eta0": 0.3},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 2: 0.5}},
        {"early_stopping": True, "validation_fraction": 0.3, "max_iter": 40},
        {"early_stopping": True, "random_state": 3, "n_iter_no_change": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("table", ["two", "three"])
def test_same_weights_by_setting(table, how):
    X, y = TABLES[table]
    if isinstance(how.get("class_weight"), dict) and table == "two":
        how = {"class_weight": {1: 3.0, 2: 0.5}}
    assert_same(*both(X, y, **how))


def test_same_weights_of_weighted_rows():
    X, y = TABLES["three"]
    w = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(y))
    assert_same(*both(X, y, w))


@tables
def test_same_weights_in_batches(table):
    X, y = TABLES[table]
    pair = lk.Perceptron(random_state=2), linear_model.Perceptron(random_state=2)
    order = np.random.default_rng(0).permutation(len(y))
    for rows in np.array_split(order, 5):
        for model in pair:
            model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    assert_same(*pair)
    assert pair[0].t_ == pair[1].t_
    assert pair[0].n_iter_ == pair[1].n_iter_ == 1


def test_same_weights_from_weights_and_warm():
    X, y = TABLES["two"]
    start = {"coef_init": np.array([[1.0, -1.0, 2.0, 0.5]]), "intercept_init": np.array([3.0])}
    pair = [P(max_iter=5, tol=None, warm_start=True) for P in (lk.Perceptron, linear_model.Perceptron)]
    for model in pair:
        model.fit(X, y, **start)
    assert_same(*pair)
    for model in pair:
        model.fit(X, y)
    assert_same(*pair)


def test_a_warm_start_balances_the_classes_of_its_own_rows():
    X, y = TABLES["two"]
    rows = np.random.default_rng(0).permutation(len(y))
    few = np.setdiff1d(rows[:50], np.flatnonzero(y == 2)[:35])  # few of one class
    pair = [
        P(class_weight="balanced", warm_start=True, max_iter=4, tol=None)
        for P in (lk.Perceptron, linear_model.Perceptron)
    ]
    for model in pair:
        model.fit(X[few], y[few]).fit(X[rows[50:]], y[rows[50:]])
    assert_same(*pair)


def test_single_precision_is_kept_and_computed_in_double():
    X, y = TABLES["three"]
    ours, theirs = both(X.astype(np.float32), y, max_iter=5)
    assert ours.coef_.dtype == theirs.coef_.dtype == np.float32
    again = lk.Perceptron(max_iter=5).fit(X.astype(np.float32).astype(np.float64), y)
    np.testing.assert_allclose(ours.coef_, again.coef_, rtol=1e-6)


def test_in_a_pipeline_and_a_search():
    X, y = TABLES["three"]
    grid = {"perceptron__weights": ["last", "average", "voted", "random"]}
    found = GridSearchCV(make_pipeline(StandardScaler(), lk.Perceptron(max_iter=20)), grid).fit(X, y)
    assert found.best_score_ > 0.9
