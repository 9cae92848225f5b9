"""scikit-learn's own test modules, with likelier's classes in the place of the classes of the same name.

`make compat` runs them. A test that does not apply is listed, with its reason, in `exceptions.py`; a listed
test that passes is a failure too, so that the list stays true.
"""

import functools
from collections import Counter, defaultdict
from importlib import import_module
from typing import Any

import pytest

import likelier

REPLACED = {
    "sklearn.naive_bayes": ["GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"],
    "sklearn.discriminant_analysis": ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"],
    "sklearn.mixture": ["GaussianMixture"],
    "sklearn.linear_model": [
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "Ridge",
        "SGDClassifier",
    ],
    "sklearn.svm": ["LinearSVC"],
}
OUTCOMES = ("passed", "failed", "listed", "skipped", "without likelier")
made: list[str] = []  # the classes of likelier's that the test under way has made


def _noted(cls: type) -> None:
    """Let each new object of a class be noted: a test that makes none says nothing of likelier."""
    init = cls.__init__  # type: ignore[misc]

    @functools.wraps(init)
    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        made.append(cls.__name__)
        init(self, *args, **kwargs)

    cls.__init__ = noting  # type: ignore[misc]


def pytest_configure(config: pytest.Config) -> None:
    for module, names in REPLACED.items():
        for name in names:
            ours = getattr(likelier, name)
            _noted(ours)
            setattr(import_module(module), name, ours)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    made.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append(("likelier", sorted(set(made))))
