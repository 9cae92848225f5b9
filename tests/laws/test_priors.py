"""Class priors by label, in every place that takes priors, and other priors in every prediction."""

import numpy as np
import pandas as pd
import pytest
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
        (BY_LABEL | {"x": 0}, "no class 'x'"),
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
