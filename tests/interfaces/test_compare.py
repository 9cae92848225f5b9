"""Models side by side: figures, who takes part, what is shown."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.covariance import EmpiricalCovariance
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression as SkLinear
from sklearn.linear_model import Ridge as SkRidge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB as SkGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import likelier as lk
from likelier.comparison.models import classifiers


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def all_of_wine(wine):
    return lk.compare(*wine)


def by_name(comparison):
    return {result.model: result for result in comparison.results}


# ---- figures -------------------------------------------------------------------------------------
def test_figures_are_those_of_scikit_learns_cross_validation(wine):
    X, y = wine
    tree = DecisionTreeClassifier(random_state=0)
    found = by_name(lk.compare(X, y, {"nb": lk.GaussianNB(), "tree": tree}, cv=4, random_state=3))
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    for name, model in {"nb": lk.GaussianNB(), "tree": tree}.items():
        accuracy = cross_val_score(model, X, y, cv=folds)
        np.testing.assert_allclose(found[name].figures("error"), 1 - accuracy, atol=1e-12)
        auc = cross_val_score(model, X, y, cv=folds, scoring="roc_auc_ovr")
        np.testing.assert_allclose(found[name].figures("auc"), auc, rtol=1e-12)
    loss = -cross_val_score(lk.GaussianNB(), X, y, cv=folds, scoring="neg_log_loss")
    np.testing.assert_allclose(found["nb"].figures("log_loss"), loss, rtol=1e-9)
    assert found["nb"].mean("log_loss") == pytest.approx(loss.mean())
    assert 0 < found["nb"].seconds("fit") < 1


def test_two_classes_have_one_auc_and_margins_will_do(wine):
    X, y = load_breast_cancer(return_X_y=True)
    found = by_name(lk.compare(X, y, ["lda", "linear-svc"], random_state=1))
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    auc = cross_val_score(lk.LinearDiscriminantAnalysis(), X, y, cv=folds, scoring="roc_auc")
    np.testing.assert_allclose(found["LDA"].figures("auc"), auc, rtol=1e-12)
    scaled = make_pipeline(StandardScaler(), lk.LinearSVC())
    auc = cross_val_score(scaled, X, y, cv=folds, scoring="roc_auc")
    np.testing.assert_allclose(found["LinearSVC"].figures("auc"), auc, rtol=1e-6)
    assert found["LinearSVC"].P is None
    for figure in ("log_loss", "brier", "calibration_error"):
        assert np.isnan(found["LinearSVC"].mean(figure))
    line = next(line for line in str(lk.compare(X, y, ["linear-svc"])).split("\n") if " LinearSVC" in line)
    assert line.split().count("-") == 3


@settings(max_examples=15)
@given(
    counts=st.lists(st.integers(4, 30), min_size=2, max_size=6),
    F=st.integers(2, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_baseline_is_scikit_learns_dummy_on_the_same_folds(counts, F, seed):
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    X = np.random.default_rng(0).normal(size=(len(y), 1))
    found = by_name(lk.compare(X, y, models={}, cv=F, random_state=seed))["(majority class)"]
    assert found.baseline
    folds = StratifiedKFold(F, shuffle=True, random_state=seed)
    loss = -cross_val_score(DummyClassifier(), X, y, cv=folds, scoring="neg_log_loss")
    np.testing.assert_allclose(found.figures("log_loss"), loss, rtol=1e-12)
    error = []
    for train, test in folds.split(X, y):
        shares = np.bincount(y[train], minlength=len(counts))
        error.append(np.mean(y[test] != shares.argmax()))
    np.testing.assert_allclose(found.figures("error"), error, atol=1e-12)


def test_numbers_are_compared_by_rmse_with_the_mean():
    X, y = load_diabetes(return_X_y=True)
    models = [lk.LinearRegression(), SkRidge(), DummyRegressor(), DecisionTreeRegressor(max_depth=2)]
    comparison = lk.compare(X, y, models, random_state=1)
    found = by_name(comparison)
    folds = KFold(5, shuffle=True, random_state=1)
    for name, model in {
        "LinearRegression": SkLinear(),
        "Ridge": SkRidge(),
        "(mean)": DummyRegressor(),
        "DummyRegressor": DummyRegressor(),
    }.items():
        rmse = -cross_val_score(model, X, y, cv=folds, scoring="neg_root_mean_squared_error")
        np.testing.assert_allclose(found[name].figures("rmse"), rmse, rtol=1e-10)
        np.testing.assert_allclose(
            found[name].figures("r2"), cross_val_score(model, X, y, cv=folds), atol=1e-10
        )
        mae = -cross_val_score(model, X, y, cv=folds, scoring="neg_mean_absolute_error")
        np.testing.assert_allclose(found[name].figures("mae"), mae, rtol=1e-9)
    heading = str(comparison).splitlines()[2].split()
    assert heading == ["model", "RMSE", "MAE", "R²", "fit", "predict", "params"]
    assert comparison.best.model == "LinearRegression"
    np.testing.assert_allclose(np.sqrt(np.mean((comparison.best.predicted - y) ** 2)), 54, atol=1.5)


def test_what_held_out_rows_were_told_is_kept(wine, all_of_wine):
    X, y = wine
    found = all_of_wine.result("LDA")
    assert found.P.shape == (178, 3)
    np.testing.assert_allclose(found.P.sum(axis=1), 1, atol=1e-5)
    assert np.mean(found.predicted != y) == pytest.approx(found.overall.error)
    assert found.overall.rows == 178
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    train, test = next(folds.split(X, y))
    P = lk.LinearDiscriminantAnalysis().fit(X[train], y[train]).predict_proba(X[test])
    np.testing.assert_allclose(found.P[test], P, atol=1e-6)
    assert roc_auc_score(y[test], P, multi_class="ovr") == pytest.approx(found.figures("auc")[0])


def test_weights_are_repetition():
    X, y = load_iris(return_X_y=True)
    w = np.where(np.arange(150) % 3 == 0, 2.0, 1.0)
    found = by_name(
        lk.compare(X, y, ["gaussian-nb", "logistic-regression"], sample_weight=w, random_state=5)
    )
    errors = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=5).split(X, y):
        model = lk.GaussianNB().fit(X[train], y[train], sample_weight=w[train])
        errors.append(1 - model.score(X[test], y[test], sample_weight=w[test]))
    np.testing.assert_allclose(found["GaussianNB"].figures("error"), errors, atol=1e-12)
    assert found["(majority class)"].folds[0].weight == pytest.approx(w.sum() / 5, rel=0.1)


class Unweighed(ClassifierMixin, BaseEstimator):
    """Takes no weights, gives neither probabilities nor scores, and knows the first class alone."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_an_estimator_needs_no_more_than_fit_and_predict(wine):
    found = by_name(lk.compare(*wine, models=[Unweighed()]))["Unweighed"]
    assert found.mean("error") == pytest.approx(1 - 59 / 178, abs=0.01)
    assert all(np.isnan(found.mean(name)) for name in ("log_loss", "brier", "auc"))
    weighted = by_name(lk.compare(*wine, models=[Unweighed()], sample_weight=np.full(178, 2.0)))[
        "Unweighed"
    ]
    assert weighted.skipped == "its fit takes no sample weights, but these rows have some"


def test_jobs_change_nothing_but_time(wine, all_of_wine, recwarn):
    apart = lk.compare(*wine, models=["lda", "kernel-density", "poisson-nb"], n_jobs=2)
    for ours in apart.results:
        theirs = all_of_wine.result(ours.model)
        assert (ours.notes, ours.skipped) == (theirs.notes, theirs.skipped)
        np.testing.assert_array_equal(ours.figures("error"), theirs.figures("error"))
    assert len(apart.results) == 4
    assert not recwarn.list


# ---- who takes part ------------------------------------------------------------------------------
def test_all_that_suit_take_part(all_of_wine):
    assert {r.model for r in all_of_wine.results} == {"(majority class)", *(e.name for e in classifiers())}
    out = [result.model for result in all_of_wine.results if result.skipped]
    assert sorted(out) == ["ComplementNB", "MultinomialNB", "PoissonNB"]  # wine is not counted


def test_models_are_named_as_anyone_would(wine):
    asked = ["gaussian-nb", "LDA", "lda-shrunk", "QuadraticDiscriminantAnalysis", "Logistic Regression CV"]
    found = by_name(lk.compare(*wine, models=asked, cv=2))
    names = {"(majority class)", "GaussianNB", "LDA", "LDA, shrunk", "QDA", "LogisticRegressionCV"}
    assert set(found) == names
    assert set(by_name(lk.compare(*wine, models="lda", cv=2))) == {"(majority class)", "LDA"}
    with pytest.raises(
        ValueError,
        match=r"models must be among NaiveBayes; .*; got 'gausian-nb'\. Did you mean GaussianNB\?",
    ):
        lk.compare(*wine, models=["gausian-nb"])


def test_others_join_in_each_under_a_name_of_its_own(wine):
    also = [SkGaussianNB(), DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=2)]
    found = by_name(lk.compare(*wine, models=["gaussian-nb"], also=also))
    tree = "DecisionTreeClassifier"
    names = {"(majority class)", "GaussianNB", "GaussianNB (sklearn)", tree, f"{tree} 2"}
    assert set(found) == names
    ours, theirs = (found[name].mean("log_loss") for name in ("GaussianNB", "GaussianNB (sklearn)"))
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert found[tree].parameters == 6  # a column, a threshold, and two shares in each of two leaves
    with pytest.raises(TypeError, match=r"is a class: pass an estimator, as in GaussianNB\(\)"):
        lk.compare(*wine, also=[SkGaussianNB])
    with pytest.raises(TypeError, match="a StandardScaler is not a classifier or regressor"):
        lk.compare(*wine, also=[StandardScaler()])


def test_a_model_that_cannot_take_the_data_sits_out_and_says_why():
    X = np.array([[1.0], [2.0], [3.0], [4.5]] * 3)
    y = np.array([0, 1, 0, 1] * 3)
    bad = lk.LinearDiscriminantAnalysis(n_components=3)
    shown = lk.compare(X, y, {"bad": bad, "nb": lk.GaussianNB()}, cv=3)
    assert shown.results[-1].model == "bad"
    assert shown.results[-1].skipped.startswith("n_components")
    assert any(line.startswith("bad: skipped: n_components") for line in str(shown).splitlines())
    assert not any(line.startswith("   bad") for line in str(shown).splitlines())


@pytest.mark.parametrize("task", ["classify", "regress"])
def test_models_of_the_other_kind_sit_out(wine, task):
    models = {"nb": lk.GaussianNB(), "line": lk.LinearRegression(), "tree": DecisionTreeClassifier()}
    found = by_name(lk.compare(*wine, models=models, task=task))
    out = {name for name, result in found.items() if result.skipped}
    assert out == ({"line"} if task == "classify" else {"nb", "tree"})


def test_a_covariance_estimator_is_refitted(wine):
    own = lk.LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=EmpiricalCovariance())
    found = by_name(lk.compare(*wine, models={"own": own, "lda": lk.LinearDiscriminantAnalysis()}))
    assert found["own"].mean("log_loss") == pytest.approx(found["lda"].mean("log_loss"), rel=1e-6)


# ---- the best ------------------------------------------------------------------------------------
def test_the_best_comes_first_by_any_metric(wine):
    for metric, rising in (("error", False), ("brier", False), ("auc", True), ("log-loss", False)):
        comparison = lk.compare(*wine, models=["lda", "gaussian-nb", "perceptron"], metric=metric)
        key = metric.replace("-", "_")
        values = np.array([result.mean(key) for result in comparison.results])
        there = values[~np.isnan(values)]
        assert (np.diff(there) <= 0 if rising else np.diff(there) >= 0).all()
        assert np.isnan(values[len(there) :]).all()  # what has none is ranked after
        assert comparison.best is comparison.results[0]
    with pytest.raises(
        ValueError, match=r"metric must be one of 'error', 'log_loss', .* for classes; got 'rmse'"
    ):
        lk.compare(*wine, metric="rmse")


def test_those_that_are_not_told_apart_are_marked(all_of_wine):
    assert not all_of_wine.is_tied(all_of_wine.result("(majority class)"))
    assert all_of_wine.is_tied(all_of_wine.result("LDA"))
    assert not all_of_wine.is_tied(all_of_wine.result("LinearSVC"))  # has no log-loss
    marks = {
        line[3:21].strip(): line[0] for line in str(all_of_wine).split("\n") if line[:3] in ("*  ", "=  ")
    }
    assert marks[all_of_wine.best.model] == "*"
    assert marks["LDA"] == "="


# ---- what is shown -------------------------------------------------------------------------------
def test_prints_as_tables_that_fit(all_of_wine):
    lines = str(all_of_wine).splitlines()
    assert lines[0].startswith(
        "178 rows, 13 columns, 3 classes; 5-fold cross-validation, seed 0; by log-loss"
    )
    heading = ["model", "error", "%", "log-loss", "Brier", "calibr.", "AUC", "fit", "predict", "params"]
    assert lines[2].split() == heading
    for width in (122, 110, 100, 80, 60, 40):
        shown = all_of_wine.text(width)
        assert max(map(len, shown.splitlines())) <= width
        assert "log-loss" in shown
        assert not re.search(r"[^\S\n]$", shown, re.M)
    assert "generative      Gaussian classes, one covariance" in str(all_of_wine)
    assert "skipped: needs counts, but some numeric columns are not non-negative integers" in str(
        all_of_wine
    )


def test_becomes_a_frame_and_plain_values(all_of_wine):
    frame = all_of_wine.to_frame()
    assert frame.loc["LDA", "error"] == all_of_wine.result("LDA").mean("error")
    assert frame["best"].sum() == 1
    found = json.loads(json.dumps(all_of_wine.to_dict(), allow_nan=False))
    assert [result["model"] for result in found["results"]] == list(frame.index)
    assert found["classes"] == [0, 1, 2]
    assert found["metric"] == "log_loss"
    results = {result["model"]: result for result in found["results"]}
    assert results["LinearSVC"]["log_loss"] is None
    assert results["LDA"]["kind"] == "generative"
    assert "needs counts" in results["PoissonNB"]["skipped"]
    with pytest.raises(KeyError, match="compared were"):
        all_of_wine.result("nobody")


def test_a_loss_that_is_infinite_is_shown_so(wine):
    tree = lk.compare(*wine, models=[DecisionTreeClassifier(random_state=0)])
    assert tree.result("DecisionTreeClassifier").mean("log_loss") == np.inf
    assert "inf" in str(tree)
    assert tree.to_dict()["results"][-1]["log_loss"] == "inf"
    assert not tree.is_tied(tree.result("DecisionTreeClassifier"))


def test_warnings_are_notes_each_once(all_of_wine, recwarn):
    assert len(all_of_wine.result("KernelDensity").notes) == 1  # of five folds, whose numbers differ
    X, y = load_wine(return_X_y=True)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    shown = " ".join(str(lk.compare(X, y, ["lda", "qda"])).split())
    assert not recwarn.list
    assert shown.count("LDA: within the classes, the 14 columns vary in 13 directions only") == 1
    assert "Drop such columns" not in shown  # the first sentence of each


def test_a_bad_cell_is_counted_among_all_rows(wine):
    rows = pd.DataFrame({"a": np.where(np.arange(178) == 77, 0.5, np.arange(178) % 5), "b": wine[1] % 2})
    found = by_name(lk.compare(rows, wine[1], {"counts": lk.NaiveBayes("poisson")}))["counts"]
    assert "row 77, column 0" in found.skipped


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("the moon is full")


def test_an_estimator_that_fails_in_its_own_way_sits_out_and_others_go_on(wine):
    found = lk.compare(*wine, models=["LDA"], also={"failing": Failing()})
    assert found.result("failing").skipped == "RuntimeError: the moon is full"
    assert found.best.model == "LDA"


def test_covariances_of_many_columns_with_gaps_would_take_too_long():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 201)), np.arange(40) % 2
    X[3, 5] = np.nan
    found = lk.compare(X, y, models=["LDA", "GaussianNB"])
    assert found.result("LDA").skipped == "it would take too long on 201 columns with gaps (at most 200)"
    assert found.result("GaussianNB").folds
    assert lk.compare(np.nan_to_num(X), y, models=["LDA"]).result("LDA").folds
