"""What scikit-learn 1.9 still takes with a warning is taken, with its warning, and means the same."""

import warnings

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

import likelier as lk


def data(load=load_wine):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def told(model, X, y):
    """The warnings of a fit, and the lines that they point at."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [each for each in caught if issubclass(each.category, FutureWarning | UserWarning)]


GIVEN = [
    {"penalty": "l2"},
    {"penalty": "l2", "C": 0.1},
    {"penalty": "l1", "l1_ratio": 1},
    {"penalty": "l1", "C": 0.2},
    {"penalty": "l1", "l1_ratio": 0.5},
    {"penalty": "elasticnet", "l1_ratio": 0.5},
    {"penalty": None, "C": 0.2},
    {"n_jobs": 2, "C": 0.1},
    {"l1_ratio": None, "C": 0.1},
]
NOW = [
    {"C": 1.0},
    {"C": 0.1},
    {"l1_ratio": 1},
    {"C": 0.2, "l1_ratio": 1},
    {"l1_ratio": 1},
    {"l1_ratio": 0.5},
]
NOW += [{"C": np.inf}, {"C": 0.1}, {"C": 0.1}]


@pytest.mark.parametrize(("given", "now"), list(zip(GIVEN, NOW, strict=True)), ids=map(str, GIVEN))
def test_the_warnings_and_the_model_are_scikit_learns(given, now):
    X, y = data(load_iris)
    y = y == 1  # not separable
    ours = lk.LogisticRegression(**given)
    mine = told(ours, X, y)
    theirs = told(linear_model.LogisticRegression(solver="saga", max_iter=10_000, **given), X, y)
    assert [(each.category, str(each.message)) for each in mine] == [
        (each.category, str(each.message)) for each in theirs
    ]
    assert {each.filename for each in mine} == {__file__}
    np.testing.assert_array_equal(ours.coef_, lk.LogisticRegression(**now).fit(X, y).coef_)


def test_penalty_may_be_the_first_argument_and_is_a_parameter_like_any_other():
    model = lk.LogisticRegression("l1", C=0.5)
    assert model.get_params()["penalty"] == "l1"
    assert "penalty='l1'" in repr(model)
    assert clone(model).penalty == "l1"
    assert model.set_params(penalty=None).penalty is None
    assert "penalty" not in repr(lk.LogisticRegression())


@pytest.mark.filterwarnings("ignore:'penalty' was deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:Inconsistent values:UserWarning", "ignore:Setting penalty=None")
@pytest.mark.filterwarnings("ignore::likelier.SeparationWarning")
def test_grid_search_over_penalties():
    X, y = data()
    grid = {"penalty": ["l1", "l2", None], "C": [0.1, 1.0]}
    ours = GridSearchCV(lk.LogisticRegression(solver="saga"), grid, scoring="accuracy", cv=3).fit(X, y)
    theirs = GridSearchCV(
        linear_model.LogisticRegression(solver="saga", max_iter=5000, random_state=0),
        grid,
        scoring="accuracy",
        cv=3,
    ).fit(X, y)
    penalised = np.array([each is not None for each in ours.cv_results_["param_penalty"]])
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"][penalised], theirs.cv_results_["mean_test_score"][penalised]
    )


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"penalty": "l3"}, "'penalty' parameter of LogisticRegression must be a str among .* Got 'l3'"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be specified when penalty is elastic"),
    ],
)
@pytest.mark.filterwarnings("ignore:'penalty' was deprecated:FutureWarning")
def test_penalties_that_are_refused(given, fault):
    with pytest.raises(ValueError, match=fault):
        lk.LogisticRegression(**given).fit(*data())


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"penalty": "l1"},
        {"penalty": "l2", "l1_ratios": (0.0,)},
        {"penalty": "elasticnet", "l1_ratios": (0.2, 0.8)},
        {"l1_ratios": None, "scoring": "accuracy"},
    ],
    ids=str,
)
def test_cross_validation_warns_and_chooses_as_scikit_learns(given):
    X, y = data()
    how = {"Cs": [0.05, 0.5], "cv": 3, **given}
    ours = lk.LogisticRegressionCV(tol=1e-8, **how)
    theirs = linear_model.LogisticRegressionCV(
        solver="saga", tol=1e-6, max_iter=5000, random_state=0, **how
    )
    said, expected = ([str(each.message) for each in told(model, X, y)] for model in (ours, theirs))
    # Two of its messages lack a space.
    assert sorted(text.replace(" ", "") for text in said) == sorted(
        text.replace(" ", "") for text in expected
    )
    np.testing.assert_array_equal(ours.C_, theirs.C_)
    for label in theirs.scores_:
        np.testing.assert_allclose(ours.scores_[label], theirs.scores_[label])
        assert ours.coefs_paths_[label].shape == theirs.coefs_paths_[label].shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_cross_validation_has_no_penalty_none():
    with pytest.raises(ValueError, match=r"Got None instead: for no penalty use Cs=\(np.inf,\)"):
        lk.LogisticRegressionCV(penalty=None).fit(*data())


def test_a_negative_power_of_sgd():
    X, y = data()
    how = {"learning_rate": "invscaling", "eta0": 1e-6, "power_t": -0.5, "random_state": 0, "max_iter": 5}
    how["tol"] = None
    with pytest.warns(FutureWarning, match="Negative values for `power_t` are deprecated"):
        ours = lk.SGDClassifier(**how).fit(X, y)
    with pytest.warns(FutureWarning):
        theirs = linear_model.SGDClassifier(**how).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
