"""SGDClassifier beside scikit-learn's: for the same random_state the same steps, to the last bit or two."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likelier as lk
from likelier.row_solvers import sklearn_sgd

LOSSES = [loss for loss in sklearn_sgd.LOSSES if loss != "softmax"]
BITS = {"rtol": 1e-12, "atol": 1e-13}  # steps as large as the default's enlarge any difference
CALM = {"learning_rate": "invscaling", "eta0": 0.02}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def scaled(table, name, kind="dense"):
    X, y = table(name)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + (X.std(axis=0) == 0))
    return (X if kind == "dense" else sparse.csr_matrix(np.where(np.abs(X) > 0.6, X, 0))), y


def both(X, y, fit=None, **how):
    how = {"random_state": 3, **how}
    return [
        model(**how).fit(X, y, **(fit or {})) for model in (lk.SGDClassifier, linear_model.SGDClassifier)
    ]


def assert_same(ours, theirs, **close):
    close = close or BITS
    np.testing.assert_allclose(ours.coef_, theirs.coef_, **close)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, **close)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.t_ == theirs.t_
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert ours.coef_.shape == theirs.coef_.shape


kinds = pytest.mark.parametrize("kind", ["dense", "sparse"])


def test_the_face_is_scikit_learns():
    theirs = linear_model.SGDClassifier
    kinds = (theirs, lk.SGDClassifier)
    wanted, found = (list(inspect.signature(kind).parameters.values()) for kind in kinds)
    assert [(p.name, p.kind, p.default) for p in found[: len(wanted)]] == [
        (p.name, p.kind, p.default) for p in wanted
    ]
    assert [p.name for p in found[len(wanted) :]] == ["encode"]
    for name in ("fit", "partial_fit"):
        found = inspect.signature(getattr(lk.SGDClassifier, name)).parameters
        assert list(found) == list(inspect.signature(getattr(theirs, name)).parameters)
    for loss in sklearn_sgd.LOSSES:
        ours = lk.SGDClassifier(loss)
        if loss != "softmax":
            assert hasattr(ours, "predict_proba") == hasattr(theirs(loss), "predict_proba")


@kinds
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_rate_penalty_and_mean_takes_the_same_steps(table, loss, kind):
    X, y = scaled(table, "breast_cancer", kind)
    X, y = X[:250], y[:250]
    rates = ["constant", "optimal", "invscaling", "adaptive", *["pa1", "pa2"] * (loss == "hinge")]
    for rate in rates:
        for penalty in ("l2", "l1", "elasticnet", None):
            for average in (False, True, 300):
                how = {"penalty": penalty, "learning_rate": rate, "average": average, "l1_ratio": 0.3}
                assert_same(*both(X, y, loss=loss, max_iter=5, n_iter_no_change=2, **how))


@kinds
@pytest.mark.parametrize("name", ["iris", "digits"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"loss": "log_loss", "class_weight": "balanced"},
        {"loss": "modified_huber", "average": 50, "class_weight": {0: 3.0}},
        {"early_stopping": True, "validation_fraction": 0.2},
        {"early_stopping": True, "loss": "log_loss", "n_iter_no_change": 2},
        {"shuffle": False, "fit_intercept": False},
        {"learning_rate": "adaptive", "eta0": 0.1, "tol": 1e-2},
        {"tol": None},
    ],
    ids=repr,
)
def test_many_classes_are_scikit_learns_problems(table, name, kind, how):
    X, y = scaled(table, name, kind)
    w = np.random.default_rng(0).uniform(0.2, 2, len(y))
    ours, theirs = both(X, y, {"sample_weight": w}, max_iter=12, **how)
    assert_same(ours, theirs)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    if hasattr(theirs, "predict_proba"):
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    else:
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
def test_a_generator_is_drawn_from_as_scikit_learn_does(table, name, early_stopping):
    X, y = scaled(table, name)
    states = [np.random.RandomState(5) for _ in range(2)]
    models = (lk.SGDClassifier, linear_model.SGDClassifier)
    for _ in range(2):  # the second fit goes on with what the first has left
        ours, theirs = (
            model(random_state=state, early_stopping=early_stopping).fit(X, y)
            for model, state in zip(models, states, strict=True)
        )
        assert_same(ours, theirs)


@kinds
@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
def test_learning_on_and_starting_warm(table, name, kind):
    X, y = scaled(table, name, kind)
    n = X.shape[0]
    models = [
        model("log_loss", random_state=1, penalty="elasticnet", warm_start=True, max_iter=4, tol=None)
        for model in (lk.SGDClassifier, linear_model.SGDClassifier)
    ]
    for model in models:
        for part in (slice(0, n, 2), slice(1, n, 2), slice(0, n)):
            model.partial_fit(X[part], y[part], classes=np.unique(y))
    assert_same(*models)
    for model in models:
        model.fit(X, y).fit(X, y)
    assert_same(*models)
    for model in models:
        model.partial_fit(X[:50], y[:50], sample_weight=np.linspace(0, 1, 50))
    assert_same(*models)
    W, b = models[1].coef_ + 0.1, models[1].intercept_ - 0.1
    for model in models:
        model.fit(X, y, coef_init=W.copy(), intercept_init=b.copy())
    assert_same(*models)


@kinds
@pytest.mark.parametrize("name", ["iris", "breast_cancer", "digits"])
def test_many_rows_are_summed_by_vectors_to_rounding(table, name, kind, monkeypatch):
    monkeypatch.setattr(sklearn_sgd, "IN_ORDER", 0)
    X, y = scaled(table, name, kind)
    for how in (
        {},
        {"loss": "log_loss", "average": True},
        {"loss": "modified_huber", "penalty": "elasticnet"},
    ):
        assert_same(*both(X, y, max_iter=5, tol=None, **how, **CALM), rtol=1e-9, atol=1e-10)
    assert_same(*both(X, y, max_iter=5, tol=None), rtol=1e-9, atol=1e-10)


def test_single_precision_is_shown_and_is_near(table):
    X, y = scaled(table, "breast_cancer")
    ours, theirs = both(X.astype(np.float32), y, loss="log_loss", max_iter=5, tol=None, **CALM)
    assert ours.coef_.dtype == theirs.coef_.dtype == np.float32
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)


def test_probabilities_of_a_row_that_all_refuse(table):
    X, y = scaled(table, "iris")
    far = np.vstack([X, 1e3 * X, -1e3 * X])
    for loss in ("modified_huber", "log_loss"):
        ours, theirs = both(X, y, loss=loss, max_iter=5, tol=None)
        P = ours.predict_proba(far)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        np.testing.assert_allclose(P, theirs.predict_proba(far), atol=1e-9)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(
                ours.predict_log_proba(far)[: len(X)], np.log(P[: len(X)]), atol=1e-9
            )


def test_probabilities_where_every_sigmoid_is_0_are_those_in_the_limit(table):
    X, y = scaled(table, "iris")
    still = {"learning_rate": "constant", "eta0": 1e-300, "penalty": None, "max_iter": 1, "tol": None}
    b = np.array([-2000.0, -1001.0, -1000.0])
    ours, theirs = both(X, y, {"intercept_init": b.copy()}, loss="log_loss", **still)
    np.testing.assert_allclose(theirs.predict_proba(X[:1]), 1 / 3)
    np.testing.assert_allclose(ours.predict_proba(X[:1]), [[0, 1 / (1 + np.e), np.e / (1 + np.e)]])


def test_in_a_pipeline(table):
    X, y = table("breast_cancer")
    models = [
        make_pipeline(StandardScaler(), model("log_loss", random_state=0)).fit(X, y)
        for model in (lk.SGDClassifier, linear_model.SGDClassifier)
    ]
    np.testing.assert_allclose(*(model.predict_proba(X) for model in models), atol=1e-9)
