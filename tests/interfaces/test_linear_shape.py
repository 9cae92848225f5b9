"""The shape of linear estimators: few classes above each, abstract ones enforced, a fit to read at once."""

import inspect
from abc import ABC

import numpy as np
import pytest

import likelier as lk
from likelier.estimators.discriminative.base import LinearModel, PenalisedModel
from likelier.estimators.discriminative.logistic import LogisticModel
from likelier.estimators.discriminative.sgd_base import SGDModel

LINEAR = (
    lk.LinearSVC,
    lk.LogisticRegression,
    lk.LogisticRegressionCV,
    lk.OnlineClassifier,
    lk.Perceptron,
    lk.SGDClassifier,
)
MOST_CLASSES, MOST_LINES = 4, 40


@pytest.mark.parametrize("kind", LINEAR)
def test_few_classes_stand_above_an_estimator(kind):
    ours = [each.__name__ for each in kind.__mro__ if each.__module__.startswith("likelier")]
    assert len(ours) <= MOST_CLASSES, ours


@pytest.mark.parametrize("kind", LINEAR)
def test_fit_is_one_method_of_one_class_and_short(kind):
    (first, *_) = [each for each in kind.__mro__ if "fit" in vars(each)]
    assert len([each for each in kind.__mro__ if "fit" in vars(each)]) == 1
    fit = inspect.unwrap(vars(first)["fit"])
    lines = len(inspect.getsource(fit).splitlines()) - len(fit.__doc__.splitlines())
    assert lines <= MOST_LINES


@pytest.mark.parametrize("kind", [PenalisedModel, LogisticModel, SGDModel])
def test_what_a_subclass_must_say_is_enforced(kind):
    assert issubclass(kind, ABC)
    assert issubclass(kind, LinearModel)
    with pytest.raises(TypeError, match="abstract"):
        kind()


def test_a_subclass_that_says_it_is_an_estimator():
    class Cautious(lk.LogisticRegression):
        """With a stronger penalty than it is asked for."""

        def _strength(self):
            C, ratio = super()._strength()
            return type(super()._strength())(C / 100, ratio)

    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] > 0
    assert np.abs(Cautious().fit(X, y).coef_).sum() < np.abs(lk.LogisticRegression().fit(X, y).coef_).sum()
