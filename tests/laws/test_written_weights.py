"""Weights that users write to: the next answer is that of the weights that are shown."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import likelier as lk

CLASSIFIERS = {
    "logistic": lambda: lk.LogisticRegression(),
    "svc": lambda: lk.LinearSVC(),
    "sgd": lambda: lk.SGDClassifier(random_state=0),
    "perceptron": lambda: lk.Perceptron(random_state=0),
}
REGRESSIONS = {"ridge": lambda: lk.Ridge(), "ols": lambda: lk.LinearRegression()}
KINDS = {
    "dense": lambda X: X,
    "far": lambda X: X + 1000.0,
    "fortran": np.asfortranarray,
    "single": lambda X: X.astype(np.float32),
    "sparse": lambda X: sparse.csr_array(X * (X > 0)),
}


def table(kind: str, K: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(3)
    y = np.arange(60) % K
    return KINDS[kind](rng.normal(size=(60, 5)) + rng.normal(size=(K, 5))[y]), y


def scores(model: Any, X: Any) -> np.ndarray:
    """As scikit-learn has them: X coefᵀ + intercept."""
    return np.asarray(X @ np.asarray(model.coef_, dtype=np.float64).T + model.intercept_)


def held(model: Any, X: Any) -> None:
    """Answers to all rows, and to one, are those of the weights as they are."""
    ask = (
        model.predict if hasattr(model, "rank_") or isinstance(model, lk.Ridge) else model.decision_function
    )
    expected, found = scores(model, X), ask(X)
    room = 1e-5 if X.dtype == np.float32 else 1e-9
    if expected.ndim == 2 and found.ndim == 1:
        expected = expected[:, 0]
    np.testing.assert_allclose(found, expected, rtol=room, atol=room * np.abs(expected).max())
    np.testing.assert_array_equal(ask(X[7:8]), found[7:8])


def wrote(model: Any) -> list[Any]:
    """Each way of writing to weights, one after another; all are done to the model itself."""

    def in_place() -> None:
        model.coef_[..., 1] = 0.0

    def all_in_place() -> None:
        model.coef_ *= -0.5

    def other() -> None:
        model.coef_ = np.asarray(model.coef_) + 0.25

    def intercept() -> None:
        model.intercept_ = model.intercept_ + 1.5

    def in_place_again() -> None:
        model.coef_[..., 2] = 3.0

    return [in_place, all_in_place, other, intercept, in_place_again]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_answer_by_the_weights_that_are_shown(name, kind, K):
    X, y = table(kind, K)
    model = CLASSIFIERS[name]().fit(X, y)
    held(model, X)
    for write in wrote(model):
        before = model.decision_function(X)
        write()
        held(model, X)
        assert not np.array_equal(before, model.decision_function(X)), write.__name__


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("name", REGRESSIONS)
def test_regressions_answer_by_the_weights_that_are_shown(name, kind, targets):
    X, y = table(kind, 3)
    Y = y + 0.5 * np.asarray(X[:, [0]].todense() if sparse.issparse(X) else X[:, [0]])[:, 0]
    Y = Y if targets == 1 else np.column_stack([Y, Y**2, y])
    model = REGRESSIONS[name]().fit(X, Y)
    held(model, X)
    for write in wrote(model):
        before = model.predict(X)
        write()
        held(model, X)
        assert not np.array_equal(before, model.predict(X)), write.__name__


@pytest.mark.parametrize("kind", ["dense", "single", "sparse"])
@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSIONS])
def test_copies_have_weights_of_their_own(name, kind, again):
    X, y = table(kind, 3)
    model = (CLASSIFIERS | REGRESSIONS)[name]().fit(X, y)
    before = model.predict(X)
    model.predict(X[:1])
    other = again(model)
    np.testing.assert_array_equal(other.predict(X), before)
    other.coef_[..., 1] = 5.0
    held(other, X)
    np.testing.assert_array_equal(model.predict(X), before)
