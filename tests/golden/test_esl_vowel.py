"""Error rates on the vowel data, The Elements of Statistical Learning, 2nd ed., Table 4.1."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import likelier as lk


@pytest.fixture
def vowel(data_file):
    frame = pd.read_csv(data_file("vowel.csv"))
    training = frame["train_or_test"] == "Train"
    X, y = frame.filter(like="feature_").to_numpy(), frame["class"].to_numpy()
    assert X[training].shape == (528, 10)
    assert X[~training].shape == (462, 10)
    return X[training], y[training], X[~training], y[~training]


@pytest.fixture
def reference(data_file):
    return json.loads(data_file("reference_logistic.json").read_text())["vowel"]


class Unbiased(BaseEstimator):
    """The covariance with divisor n - 1, as the book has it."""

    def fit(self, X):
        self.covariance_ = np.cov(X, rowvar=False)
        return self


MODELS = {
    "lda": [lk.LinearDiscriminantAnalysis(solver=solver) for solver in ("svd", "lsqr", "eigen")],
    "qda": [lk.QuadraticDiscriminantAnalysis(solver=solver) for solver in ("svd", "eigen")],
}
BY_NAME = [pytest.param(name, model, id=str(model)) for name, models in MODELS.items() for model in models]


def errors(model, X, y):
    return int((model.predict(X) != y).sum())


@pytest.mark.parametrize(("name", "model"), BY_NAME)
def test_published_error_rates(vowel, reference, name, model):
    X, y, X_test, y_test = vowel
    model.fit(X, y)
    rates = reference["published"]["error_rate"][name]
    assert round(errors(model, X, y) / len(y), 2) == rates["train"]
    assert round(errors(model, X_test, y_test) / len(y_test), 2) == rates["test"]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        *(("lda", model) for model in MODELS["lda"]),  # of one covariance, the divisor changes no answer
        ("qda", lk.QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=Unbiased())),
    ],
    ids=str,
)
def test_numbers_of_errors(vowel, reference, name, model):
    X, y, X_test, y_test = vowel
    model.fit(X, y)
    counted = reference["computed"]["errors"]
    assert errors(model, X, y) == counted[f"{name}_train"]
    assert errors(model, X_test, y_test) == counted[f"{name}_test"]
