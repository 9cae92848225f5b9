"""The face is scikit-learn's: signatures, methods, attributes, and a place in its machinery."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context, discriminant_analysis, naive_bayes
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.covariance import OAS
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import likelier as lk

PAIRS = [
    (lk.GaussianNB, naive_bayes.GaussianNB),
    (lk.LinearDiscriminantAnalysis, discriminant_analysis.LinearDiscriminantAnalysis),
    (lk.QuadraticDiscriminantAnalysis, discriminant_analysis.QuadraticDiscriminantAnalysis),
]
# Parameters that scikit-learn's class does not have.
NEW = {
    lk.GaussianNB: [],
    lk.CategoricalNB: [],
    lk.LinearDiscriminantAnalysis: ["encode"],
    lk.QuadraticDiscriminantAnalysis: ["encode"],
}
pairs = pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=[a.__name__ for a, _ in PAIRS])
ours_only = pytest.mark.parametrize("ours", [a for a, _ in PAIRS], ids=[a.__name__ for a, _ in PAIRS])


# ---- names -----------------------------------------------------------------------------------------
@pairs
def test_constructor_has_the_same_parameters_defaults_and_kinds(ours, theirs):
    wanted = list(inspect.signature(theirs).parameters.values())
    found = list(inspect.signature(ours).parameters.values())
    assert [(p.name, p.kind, p.default) for p in wanted] == [
        (p.name, p.kind, p.default) for p in found[: len(wanted)]
    ]
    assert [p.name for p in found[len(wanted) :]] == NEW[ours]
    assert {**theirs().get_params(), **dict.fromkeys(NEW[ours], True)} == ours().get_params()
    assert repr(ours()) == repr(theirs())


@pairs
def test_every_public_method_exists(ours, theirs):
    public = {name for name, _ in inspect.getmembers(theirs, callable) if not name.startswith("_")}
    assert {"fit", "predict", "score", "set_params", "set_fit_request"} <= public | {"set_fit_request"}
    assert not {name for name in public if not callable(getattr(ours, name, None))}


@pairs
def test_methods_take_scikit_learns_arguments_in_scikit_learns_places(ours, theirs):
    for name, method in inspect.getmembers(theirs, inspect.isfunction):
        if not name.startswith(("_", "set_")):
            wanted = list(inspect.signature(method).parameters.values())
            found = list(inspect.signature(getattr(ours, name)).parameters.values())
            # y may be left out where X is a source that brings it along.
            places = [(p.name, None if p.name == "y" else p.default) for p in wanted]
            assert [(p.name, p.default) for p in found][: len(places)] == places, name


def documented_attributes(model):
    """Names in the Attributes section of a class docstring."""
    section = inspect.getdoc(model).split("Attributes\n----------\n")[1].split("\nSee Also\n")[0]
    return {line.split(" :")[0] for line in section.splitlines() if " : " in line and line[0] != " "}


@pairs
def test_every_documented_attribute_exists_under_some_setting(ours, theirs):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "c"])
    y = np.arange(40) % 3
    settings = [{}] if ours is lk.GaussianNB else [{"store_covariance": True}, {"solver": "eigen"}]
    fitted = [ours(**given).fit(frame, y) for given in settings]
    wanted = documented_attributes(theirs)
    assert {"classes_", "n_features_in_", "feature_names_in_"} <= wanted
    assert not {name for name in wanted if not any(hasattr(model, name) for model in fitted)}
    assert not {name for name in wanted if hasattr(ours(), name)}


# ---- machinery -------------------------------------------------------------------------------------
SPECS = [
    (0, {}),
    (0, {"var_smoothing": 1e-6}),
    (1, {}),
    (1, {"solver": "lsqr", "shrinkage": "auto"}),
    (1, {"solver": "eigen", "shrinkage": 0.1}),
    (2, {"reg_param": 0.1}),
    (2, {"solver": "eigen", "shrinkage": "auto"}),
]
both = pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pytest.param(PAIRS[i][0](**given), PAIRS[i][1](**given), id=str(PAIRS[i][0](**given)))
        for i, given in SPECS
    ],
)


@both
def test_pipeline_and_cross_validation_give_the_same_numbers(table, ours, theirs):
    X, y = table("wine")
    one, other = make_pipeline(StandardScaler(), ours), make_pipeline(StandardScaler(), theirs)
    np.testing.assert_array_equal(cross_val_score(one, X, y), cross_val_score(other, X, y))
    for method in ("predict_proba", "predict_log_proba"):
        P, Q = (cross_val_predict(m, X, y, method=method) for m in (one, other))
        np.testing.assert_allclose(P, Q, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("pair", "grid"),
    [
        (PAIRS[0], {"var_smoothing": [1e-9, 1e-3, 1e-1]}),
        (
            PAIRS[1],
            [{"solver": ["svd"], "tol": [1e-4, 1e-2]}, {"solver": ["lsqr"], "shrinkage": [0.1, 0.5]}],
        ),
        (PAIRS[2], {"reg_param": [0.0, 0.1, 0.5], "priors": [None, [0.2, 0.3, 0.5]]}),
    ],
    ids=["NB", "LDA", "QDA"],
)
def test_grid_search_finds_the_same(table, pair, grid):
    X, y = table("wine")
    one, other = (GridSearchCV(m(), grid, scoring="neg_log_loss", cv=3).fit(X, y) for m in pair)
    assert one.best_params_ == other.best_params_
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], rtol=1e-8
    )


@pytest.mark.parametrize("pair", PAIRS[1:], ids=["LDA", "QDA"])
def test_calibration_gives_the_same_probabilities(table, pair):
    X, y = table("pima")
    P, Q = (CalibratedClassifierCV(m(), cv=3).fit(X, y).predict_proba(X) for m in pair)
    np.testing.assert_allclose(P, Q, atol=1e-6)  # what its own optimiser stops at


@ours_only
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_works(table, ours, method):
    X, y = table("banknote")
    P = CalibratedClassifierCV(ours(), cv=3, method=method).fit(X, y).predict_proba(X)
    assert log_loss(y, P) <= log_loss(y, ours().fit(X, y).predict_proba(X)) + 0.01


@ours_only
def test_bagging_passes_weights(table, ours):
    X, y = table("wine")
    bag = BaggingClassifier(ours(), n_estimators=5, random_state=0).fit(X, y)
    assert bag.score(X, y) > 0.95
    assert not np.array_equal(bag.estimators_[0].predict_proba(X), bag.estimators_[1].predict_proba(X))


@ours_only
def test_voting_and_one_versus_rest_work(table, ours):
    X, y = table("wine")
    vote = VotingClassifier([("a", ours()), ("b", clone(ours()))], voting="soft").fit(X, y)
    np.testing.assert_allclose(vote.predict_proba(X), ours().fit(X, y).predict_proba(X), rtol=1e-12)
    assert OneVsRestClassifier(ours()).fit(X, y).score(X, y) > 0.95


@both
def test_clone_copies_parameters_and_nothing_else(table, ours, theirs):
    model = clone(ours).fit(*table("iris"))
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.get_params() == {**theirs.get_params(), **dict.fromkeys(NEW[type(ours)], True)}
    assert set(vars(copy)) == set(copy.get_params())
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    check_is_fitted(model)
    assert is_classifier(model)


@both
def test_pickle_keeps_every_bit(table, ours, theirs):
    X, y = table("iris")
    model = clone(ours).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_log_proba(X), model.predict_log_proba(X))
    more = [m.partial_fit(X, y).predict_log_proba(X) for m in (model, again)]
    np.testing.assert_array_equal(*more)


@pytest.mark.parametrize("given", [{}, {"solver": "eigen"}, {"n_components": 1}], ids=str)
def test_lda_set_output_pandas(table, given):
    X, y = table("wine")
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(13)], index=np.arange(178) + 7)
    one, other = (m(**given).set_output(transform="pandas") for m in PAIRS[1])
    a, b = one.fit_transform(frame, y), other.fit_transform(frame, y)
    a.columns = [name.replace("lineardiscriminantanalysis", "") for name in a.columns]
    b.columns = [name.replace("lineardiscriminantanalysis", "") for name in b.columns]
    pd.testing.assert_frame_equal(a.abs(), b.abs(), rtol=1e-9)
    np.testing.assert_array_equal(one.get_feature_names_out(), other.get_feature_names_out())


@both
def test_feature_names_are_kept(table, ours, theirs):
    X, y = table("iris")
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = clone(ours).fit(frame, y)
    np.testing.assert_array_equal(model.feature_names_in_, clone(theirs).fit(frame, y).feature_names_in_)
    assert model.feature_names_in_.dtype == object
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@ours_only
def test_metadata_routing_of_weights(table, ours):
    X, y = table("iris")
    w = np.random.default_rng(0).exponential(size=len(y))
    with config_context(enable_metadata_routing=True):
        model = ours().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipe.fit(X, y, sample_weight=w)
        Z = StandardScaler().fit_transform(X)
        np.testing.assert_array_equal(pipe.predict_proba(X), ours().fit(Z, y, w).predict_proba(Z))
        assert not np.allclose(pipe.predict_proba(X), ours().fit(Z, y).predict_proba(Z))
        scores = cross_validate(pipe, X, y, params={"sample_weight": w})["test_score"]
        assert scores.mean() > 0.85
        with pytest.raises(ValueError, match="sample_weight"):  # neither requested nor refused
            make_pipeline(StandardScaler(), ours()).fit(X, y, sample_weight=w)


@pytest.mark.parametrize("pair", PAIRS[1:], ids=["LDA", "QDA"])
def test_the_users_covariance_estimator_stays_as_it_was(table, pair):
    estimator = OAS()
    pair[0](solver="eigen", covariance_estimator=estimator).fit(*table("iris"))
    assert not hasattr(estimator, "covariance_")
