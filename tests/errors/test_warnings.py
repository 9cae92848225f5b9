"""Warnings point at the line of whoever called the library, and come once."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import likelier as lk

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.arange(60) % 3
CONSTANT = np.column_stack([X[:, :2], np.ones(60)])
SEPARATE = np.where(Y == 0, X[:, 0] - 100, X[:, 0] + 100)[:, None]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
POSITIVE = np.abs(X)


def scanned(folder):
    FRAME.assign(y=Y).to_csv(folder / "t.csv", index=False)
    return lk.scan(folder / "t.csv", target="y")


# What provokes each kind of warning, and a word of it.
PROVOKED = {
    "constant column": (lambda at: lk.GaussianNB().fit(CONSTANT, Y), "Degenerate"),
    "in a pipeline": (lambda at: make_pipeline(lk.GaussianNB()).fit(CONSTANT, Y), "Degenerate"),
    "in a search": (
        lambda at: GridSearchCV(lk.GaussianNB(), {"var_smoothing": [1e-9]}, cv=3).fit(CONSTANT, Y),
        "Degenerate",
    ),
    "one class": (lambda at: lk.NaiveBayes().fit(FRAME, np.zeros(60, int)), "Degenerate"),
    "dependent columns": (lambda at: lk.LinearRegression().fit(X[:, [0, 1, 0]], X[:, 1]), "Degenerate"),
    "no degrees of freedom": (
        lambda at: lk.LinearRegression().fit(X[:3], X[:3, 0]).summary(),
        "Degenerate",
    ),
    "separation": (lambda at: lk.LogisticRegression(C=np.inf).fit(SEPARATE, Y == 0), "Separation"),
    "few steps": (
        lambda at: lk.LogisticRegression(solver="lbfgs", max_iter=1, tol=1e-12).fit(X, Y),
        "Convergence",
    ),
    "few epochs": (lambda at: lk.SGDClassifier(max_iter=1).fit(X, Y), "Convergence"),
    "few steps of EM": (lambda at: lk.GaussianMixture(3, max_iter=1, tol=1e-12).fit(X), "Convergence"),
    "outside the support": (
        lambda at: lk.NaiveBayes("gamma").fit(POSITIVE, Y).predict_proba(-POSITIVE[:2]),
        "Skipped",
    ),
    "outside the support, predict": (
        lambda at: lk.NaiveBayes("gamma").fit(POSITIVE, Y).predict(-POSITIVE[:2]),
        "Skipped",
    ),
    "folds choose": (lambda at: lk.NaiveBayes().cross_validate(X, Y, cv=2), "Degenerate"),
    "few members": (
        lambda at: lk.GaussianNB().cross_validate(X, np.where(np.arange(60) < 2, 5, Y), cv=3),
        "User",
    ),
    "names of a source": (lambda at: lk.GaussianNB().fit(X, Y).predict(scanned(at)), "User"),
    "priors": (lambda at: lk.LogisticRegression().fit(X, Y).adapt_priors(X, max_iter=1), "Degenerate"),
}


@pytest.mark.parametrize("name", PROVOKED)
def test_warnings_point_at_the_line_of_the_caller_once(tmp_path, name):
    provoke, kind = PROVOKED[name]
    if name == "priors" and not hasattr(lk.LogisticRegression, "adapt_priors"):
        model = lk.GaussianNB().fit(X, Y)
        provoke = lambda at: model.adapt_priors(X, max_iter=1, tol=1e-15)  # noqa: E731
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        provoke(tmp_path)
    ours = [found for found in caught if kind in found.category.__name__]
    assert ours
    assert {found.filename for found in ours} == {__file__}
    if name != "in a search":  # which fits several times
        messages = [str(found.message) for found in ours]
        assert len(messages) == len(set(messages))


def test_no_warning_counts_frames_by_hand():
    """Levels that are written down are wrong as soon as a function is called from another one."""
    source = Path(lk.__file__).parent
    found = [
        f"{path.name}: {line.strip()}"
        for path in source.rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"stacklevel=(?!outside\(\))", line)
    ]
    assert found == []
