"""Models side by side, in Python and on the command line."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

import likelier as lk


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def test_figures_are_those_of_scikit_learns_cross_validation(wine):
    X, y = wine
    (result,) = (
        r for r in lk.compare(X, y, models={"nb": lk.GaussianNB()}, cv=4, seed=3).results if r.model == "nb"
    )
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    accuracy = cross_val_score(lk.GaussianNB(), X, y, cv=folds)
    loss = -cross_val_score(lk.GaussianNB(), X, y, cv=folds, scoring="neg_log_loss")
    assert result.error == pytest.approx(1 - accuracy.mean())
    assert result.log_loss == pytest.approx(loss.mean())
    assert 0 < result.fit < 1


def test_prints_as_a_table_with_the_best_first(wine):
    comparison = lk.compare(*wine)
    lines = str(comparison).splitlines()
    assert lines[0] == "178 rows, 13 columns, 3 classes; 5-fold cross-validation"
    assert lines[2].split() == ["model", "error", "log-loss", "fit", "assumes"]
    losses = [result.log_loss for result in comparison.results]
    assert losses == sorted(losses)
    assert len({line.index("generative") for line in lines[4:] if "generative" in line}) == 1


def test_becomes_a_frame(wine):
    frame = lk.compare(*wine, models=[lk.GaussianNB()]).to_frame()
    assert frame.loc["GaussianNB", "error"] < 0.1


def test_takes_any_scikit_learn_estimator(wine):
    models = {"tree": DecisionTreeClassifier(max_depth=2, random_state=0), "nb": lk.GaussianNB()}
    assert {r.model for r in lk.compare(*wine, models=models).results} == {"tree", "nb", "(majority class)"}


def test_a_model_that_cannot_take_the_data_sits_out_and_says_why():
    X = np.array([[1.0], [2.0], [3.0], [4.0]] * 3)
    y = np.array([0, 1, 0, 1] * 3)
    bad = lk.LinearDiscriminantAnalysis(n_components=3)
    shown = lk.compare(X, y, models={"bad": bad, "nb": lk.GaussianNB()}, cv=3)
    assert shown.results[-1].model == "bad"
    assert str(shown).splitlines()[-1].startswith("bad: sits out: n_components")


@pytest.mark.parametrize(
    ("y", "message"), [([0] * 10, "one value only"), ([0] * 8 + [1] * 2, "fewer than the 5 folds")]
)
def test_targets_that_cannot_be_compared_on(y, message):
    with pytest.raises(ValueError, match=message):
        lk.compare(np.arange(10.0)[:, None], y)
