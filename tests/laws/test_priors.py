"""Class priors by label, in every place that takes priors, and other priors in every prediction."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import likelier as lk

X, CODES = load_iris(return_X_y=True)
Y = np.array(["setosa", "versicolor", "virginica"])[CODES]
NUMBERS = [0.2, 0.3, 0.5]
BY_LABEL = {"virginica": 0.5, "setosa": 0.2, "versicolor": 0.3}  # in an order of its own

GENERATIVE = [
    lk.GaussianNB(),
    lk.NaiveBayes("gaussian"),
    lk.LinearDiscriminantAnalysis(),
    lk.QuadraticDiscriminantAnalysis(),
    lk.KernelDensityClassifier(),
    lk.MixtureDiscriminantAnalysis(1, random_state=0),
    lk.BayesClassifier(lk.GaussianMixture()),
    lk.PoissonNB(),
    lk.MultinomialNB(),
    lk.BernoulliNB(),
    lk.CategoricalNB(),
]
TAKES_PRIORS = [model for model in GENERATIVE if "priors" in model.get_params()]
TAKES_CLASS_PRIOR = [model for model in GENERATIVE if "class_prior" in model.get_params()]


def rows(model):
    return X.round() if type(model).__name__ in ("PoissonNB", "CategoricalNB") else X


@pytest.mark.parametrize("model", GENERATIVE, ids=lambda m: type(m).__name__)
def test_priors_by_label_are_those_in_order(model):
    table = rows(model)
    model.fit(table, Y)
    for ask in ("predict_proba", "predict_log_proba", "predict"):
        asked = getattr(model, ask)
        np.testing.assert_array_equal(asked(table, priors=BY_LABEL), asked(table, priors=NUMBERS))
    np.testing.assert_array_equal(
        model.predict(table, priors=NUMBERS),
        model.classes_[model.predict_proba(table, priors=NUMBERS).argmax(axis=1)],
    )
    assert (model.predict(table, priors=[0, 0, 1]) == "virginica").all()


@pytest.mark.parametrize("model", TAKES_PRIORS + TAKES_CLASS_PRIOR, ids=lambda m: type(m).__name__)
def test_priors_of_a_fit_by_label(model):
    name = "priors" if "priors" in model.get_params() else "class_prior"
    table = rows(model)
    by_label = model.set_params(**{name: BY_LABEL}).fit(table, Y).predict_proba(table)
    in_order = model.set_params(**{name: NUMBERS}).fit(table, Y).predict_proba(table)
    np.testing.assert_array_equal(by_label, in_order)
    for wrong, message in (
        ({"setosa": 1.0}, "'versicolor' has none"),
        (BY_LABEL | {"x": 0}, "as keys; got 'x'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.set_params(**{name: wrong}).fit(table, Y)
        with pytest.raises(ValueError, match=message):
            model.predict_proba(table, priors=wrong)
    model.set_params(**{name: None})


def test_priors_by_label_in_batches_merges_and_folds():
    def model():
        return lk.GaussianNB(priors=BY_LABEL)

    whole = model().fit(X, Y)
    first = model().partial_fit(X[::2], Y[::2], classes=np.unique(Y))
    other = model().fit(X[1::2], Y[1::2])
    np.testing.assert_allclose(
        first.merge(other).predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-300
    )
    found = whole.cross_validate(X, Y, cv=3)
    same = lk.GaussianNB(priors=NUMBERS).cross_validate(X, Y, cv=3)
    assert str(found) == str(same)


def test_condition_names_the_column():
    frame = pd.DataFrame(X[:, :2], columns=["age", "height"])
    model = lk.GaussianNB().fit(frame, Y)
    with pytest.raises(ValueError, match=r"column 'age' holds numbers, and 'old' is not a number"):
        model.condition({"age": "old"})
    with pytest.raises(ValueError, match=r"column 'age' is not"):
        model.condition({"age": np.nan})


# ---- of posteriors alone ---------------------------------------------------------------------------
def test_logistic_regression_under_other_priors():
    """σ(z) is reweighed as by the odds: a fit to rows in which the classes come so often is the same."""
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.5
    x = rng.normal(size=(4000, 2)) + 1.5 * y[:, None]
    model = lk.LogisticRegression(C=np.inf).fit(x, y)
    shares = np.array([1 - y.mean(), y.mean()])
    P = model.predict_proba(x)
    by_hand = P * [0.9, 0.1] / shares
    by_hand /= by_hand.sum(axis=1, keepdims=True)
    for priors in ([0.9, 0.1], {True: 0.1, False: 0.9}):
        np.testing.assert_allclose(model.predict_proba(x, priors=priors), by_hand, rtol=1e-12)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(x, priors=priors)), by_hand, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(x, priors=priors), by_hand[:, 1] > by_hand[:, 0])
    np.testing.assert_allclose(model.predict_proba(x, priors=shares), P, rtol=1e-12)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0, 2: 0.5}])
def test_logistic_regression_finds_how_often_classes_come(class_weight):
    rng = np.random.default_rng(1)

    def rows(n, share):
        y = rng.choice(3, n, p=share)
        return rng.normal(size=(n, 2)) + np.array([[0, 0], [3, 0], [0, 3]])[y], y

    model = lk.LogisticRegression(C=100, class_weight=class_weight).fit(*rows(3000, [0.3, 0.3, 0.4]))
    shifted, y = rows(3000, [0.7, 0.1, 0.2])
    found = model.adapt_priors(shifted)
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, np.bincount(y) / len(y), atol=0.03)
    # The likeliest priors give back themselves: each is the mean of its class's posteriors.
    np.testing.assert_allclose(model.predict_proba(shifted, priors=found).mean(axis=0), found, atol=1e-6)
    assert model.score(shifted, y) < np.mean(model.predict(shifted, priors=found) == y)
    doubled = model.adapt_priors(np.repeat(shifted, 2, axis=0))
    np.testing.assert_allclose(
        model.adapt_priors(shifted, sample_weight=np.full(3000, 2.0)), doubled, atol=1e-8
    )


def test_who_does_not_know_the_training_shares_says_so():
    linear = lk.LogisticRegression().fit(X, Y).to_linear()
    with pytest.raises(ValueError, match="class frequencies of the training rows"):
        linear.predict_proba(X, priors=NUMBERS)
    with pytest.raises(ValueError, match="class frequencies of the training rows"):
        linear.adapt_priors(X)


def test_what_is_left_says_what_it_is():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = lk.GaussianNB().fit(frame, Y)
    assert repr(model) == "GaussianNB()"
    left = model.condition({"c": 5.0})
    assert repr(left) == "GaussianNB() of column 'a', 'b', 'd', given 'c' = 5.0"
    assert (
        repr(left.condition({"a": 6}).marginal(["b"]))
        == "GaussianNB() of column 'b', given 'c' = 5.0, 'a' = 6"
    )
    assert repr(model.marginal(["b"])) == "GaussianNB() of column 'b'"
    assert repr(left.fit(frame, Y)) == "GaussianNB()"  # a fit of its own
    numbered = lk.GaussianMixture(2, random_state=0).fit(X)
    assert repr(numbered.condition({0: 5.0})).endswith(" of 3 columns, given 0 = 5.0")
    assert "_given_columns" not in vars(clone(left))
