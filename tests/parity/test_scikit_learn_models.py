"""Fitted models go from scikit-learn to likelier and back: the same predictions, and each one's methods."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import text
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    Ridge,
    SGDClassifier,
)
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import likelier as lk

X, y = load_wine(return_X_y=True)
Z = StandardScaler().fit_transform(X)
COUNTS, WORDS, TWO = np.floor(X[:, :5]), np.array(["red", "white", "rosé"])[y], y == 1
VALUES = load_diabetes(return_X_y=True)
LDA, QDA = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")

MODELS = {
    "gaussian": (GaussianNB(), X, WORDS),
    "gaussian-priors": (GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=1e-3), X, y),
    "gaussian-single": (GaussianNB(), X.astype(np.float32), y),
    "bernoulli": (BernoulliNB(binarize=2.0, alpha=0.5), X, y),
    "bernoulli-booleans": (BernoulliNB(binarize=None), X > X.mean(axis=0), TWO),
    "multinomial": (MultinomialNB(), COUNTS, WORDS),
    "multinomial-even": (MultinomialNB(alpha=np.arange(1.0, 6.0), fit_prior=False), COUNTS, y),
    "complement": (ComplementNB(), COUNTS, y),
    "complement-normed": (ComplementNB(norm=True), COUNTS, TWO),
    "categorical": (CategoricalNB(min_categories=40), np.floor(X[:, :4]).astype(int), y),
    "lda": (LDA(), X, WORDS),
    "lda-two": (LDA(), X, TWO),
    "lda-one-axis": (LDA(n_components=1), X, y),
    "lda-covariance": (LDA(store_covariance=True), X, y),
    "lda-lsqr": (LDA(solver="lsqr", shrinkage=0.2), X, y),
    "lda-eigen": (LDA(solver="eigen", shrinkage="auto", priors=[0.2, 0.3, 0.5]), X, y),
    "qda": (QDA(), Z, WORDS),
    "qda-lifted": (QDA(reg_param=0.2, store_covariance=True), X, TWO),
    **{
        f"mixture-{shape}": (GaussianMixture(3, covariance_type=shape, random_state=0), Z, None)
        for shape in ("full", "tied", "diag", "spherical")
    },
    "logistic": (LogisticRegression(), Z, WORDS),
    "logistic-two": (LogisticRegression(solver="liblinear"), Z, TWO),
    "logistic-single": (LogisticRegression(), Z.astype(np.float32), y),
    "logistic-cv": (
        LogisticRegressionCV(Cs=3, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy"),
        Z,
        WORDS,
    ),
    "logistic-cv-legacy": (
        LogisticRegressionCV(Cs=3, l1_ratios=(0.0,), use_legacy_attributes=True, scoring="accuracy"),
        Z,
        TWO,
    ),
    "svc": (LinearSVC(), Z, WORDS),
    "svc-two": (LinearSVC(C=0.1), Z, TWO),
    "perceptron": (Perceptron(), Z, WORDS),
    "sgd": (SGDClassifier(loss="log_loss", random_state=0), Z, y),
    "sgd-average": (SGDClassifier(average=True, random_state=0), Z, TWO),
    "sgd-huber": (SGDClassifier(loss="modified_huber", random_state=0), Z, TWO),
    "least-squares": (LinearRegression(), *VALUES),
    "least-squares-two": (
        LinearRegression(fit_intercept=False),
        VALUES[0],
        np.c_[VALUES[1], VALUES[1] ** 2],
    ),
    "ridge": (Ridge(alpha=0.1), *VALUES),
    "ridge-column": (Ridge(), VALUES[0], VALUES[1][:, None]),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(model).fit(rows, target) for name, (model, rows, target) in MODELS.items()}


def answers(model, rows):
    found = {}
    for name in ANSWERS:
        try:
            with np.errstate(divide="ignore"):  # ln 0, where classes are cut off
                found[name] = getattr(model, name)(rows)
        except (AttributeError, NotImplementedError):
            continue
    return found


def assert_same(ours, theirs, rows):
    expected, found = answers(theirs, rows), answers(ours, rows)
    assert "predict" in expected
    for name in expected.keys() & found.keys():
        single = rows.dtype == np.float32
        if expected[name].dtype.kind in "US":
            assert np.array_equal(found[name], expected[name])
        else:
            np.testing.assert_allclose(
                found[name], expected[name], *((1e-3, 1e-3) if single else (1e-7, 1e-8))
            )


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_the_same_there_and_back(name, fitted, tmp_path):
    theirs, rows = fitted[name], MODELS[name][1]
    ours = lk.from_sklearn(theirs)
    assert type(ours) is getattr(lk, type(theirs).__name__)
    assert_same(ours, theirs, rows)
    back = ours.to_sklearn()
    assert type(back) is type(theirs)
    assert back.get_params() == theirs.get_params() or name == "multinomial-even"
    assert_same(back, theirs, rows)
    lk.save(ours, tmp_path / "m.lk")
    assert_same(lk.load(tmp_path / "m.lk"), theirs, rows)


@pytest.mark.parametrize("name", MODELS)
def test_scikit_learn_can_go_on_with_what_comes_back(name, fitted):
    (_, rows, target), back = MODELS[name], lk.from_sklearn(fitted[name]).to_sklearn()
    assert np.isfinite(back.score(rows, target))
    again = clone(back).fit(rows, target)  # its hyper-parameters are scikit-learn's
    assert_same(again, fitted[name], rows)


@pytest.mark.parametrize(
    "model",
    [
        lk.GaussianNB(priors={"red": 0.5, "rosé": 0.25, "white": 0.25}),
        lk.QuadraticDiscriminantAnalysis(),
        lk.LogisticRegression(solver="newton"),
        lk.LinearSVC(loss="perceptron", max_iter=10_000),
        lk.Perceptron(weights="average"),
        lk.SGDClassifier("log_loss", learning_rate="adagrad", eta0=0.1, random_state=0),
        lk.GaussianMixture(3, select="bic", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_settings_of_likelier_alone_stay_behind(model):
    rows, target = Z[:, :4], WORDS
    back = model.fit(rows, target).to_sklearn()
    assert_same(model, back, rows)
    clone(back).fit(rows, target if hasattr(back, "classes_") else None)


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "multinomial", "complement", "categorical"])
def test_models_that_count_merge_and_take_more_rows(name):
    model, rows, target = MODELS[name]
    halves = [clone(model).fit(rows[half::2], target[half::2]) for half in (0, 1)]
    whole = getattr(lk, type(model).__name__)(**model.get_params()).fit(rows, target)
    merged = lk.merge([lk.from_sklearn(half) for half in halves])
    np.testing.assert_allclose(merged.predict_proba(rows), whole.predict_proba(rows), 1e-9, 1e-12)
    more = lk.from_sklearn(halves[0]).partial_fit(rows[1::2], target[1::2])
    np.testing.assert_allclose(more.predict_proba(rows), whole.predict_proba(rows), 1e-9, 1e-12)
    back = lk.from_sklearn(halves[0]).to_sklearn()
    if name != "gaussian":  # whose partial_fit takes the variances of the last batch alone
        theirs = clone(model).fit(rows, target)
        back.partial_fit(rows[1::2], target[1::2])
        np.testing.assert_allclose(back.predict_proba(rows), theirs.predict_proba(rows), 1e-9, 1e-12)


@pytest.mark.parametrize(
    "name", ["gaussian", "bernoulli", "categorical", "lda-covariance", "qda", "mixture-full"]
)
def test_what_likelier_does_besides_works(name, fitted):
    rows = np.array(MODELS[name][1], dtype=float)
    model = lk.from_sklearn(fitted[name])
    drawn, _ = model.sample(20, random_state=0)
    assert drawn.shape == (20, rows.shape[1])
    gaps = rows.copy()
    gaps[:, 1] = np.nan
    columns = [0, 2, 3]
    np.testing.assert_allclose(
        model.predict_proba(gaps[:, :4])[:5]
        if rows.shape[1] == 4
        else model.marginal([0, *range(2, rows.shape[1])]).predict_proba(np.delete(rows, 1, axis=1))[:5],
        model.predict_proba(gaps)[:5],
        atol=1e-9,
    )
    assert model.marginal(columns).predict_proba(rows[:, columns]).shape[0] == len(rows)
    assert np.isfinite(model.condition({0: rows[0, 0]}).predict_proba(rows[:, 1:])).all()
    assert np.isfinite(model.score_samples(gaps)).all()


@pytest.mark.parametrize("name", ["perceptron", "sgd", "sgd-average"])
def test_stochastic_models_continue_training(name, fitted):
    """A further epoch in the same order of rows: the same steps from the same weights in both."""
    _, rows, target = MODELS[name]
    theirs = clone(fitted[name]).set_params(shuffle=False).fit(rows, target)
    ours = lk.from_sklearn(theirs).partial_fit(rows, target)
    back = lk.from_sklearn(theirs).to_sklearn().partial_fit(rows, target)
    theirs.partial_fit(rows, target)
    np.testing.assert_allclose(back.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)


def test_names_of_columns_travel():
    frame = load_wine(as_frame=True).data
    ours = lk.from_sklearn(GaussianNB().fit(frame, y))
    assert list(ours.feature_names_in_) == list(frame.columns)
    assert ours.condition({"alcohol": 13.0}).n_features_in_ == 12
    assert list(ours.to_sklearn().feature_names_in_) == list(frame.columns)


def test_pipelines_keep_the_steps_that_have_no_counterpart():
    frame = pd.DataFrame({"colour": WORDS, "grape": np.where(X[:, 0] > 13, "a", "b")})
    theirs = make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler(), LogisticRegression()).fit(
        frame, y
    )
    ours = lk.from_sklearn(theirs)
    assert isinstance(ours[-1], lk.LogisticRegression)
    assert ours[0] is theirs[0]
    np.testing.assert_allclose(ours.predict_proba(frame), theirs.predict_proba(frame), atol=1e-12)
    assert cross_val_score(ours, frame, y, cv=3).shape == (3,)


DOCUMENTS = ["good wine", "bad wine, bad cork", "good cheese", "cheese and wine"]


@pytest.mark.parametrize("name", ["CountVectorizer", "HashingVectorizer", "TfidfVectorizer"])
def test_vectorizers_keep_their_vocabulary(name):
    theirs = getattr(text, name)(ngram_range=(1, 2)).fit(DOCUMENTS)
    ours = lk.from_sklearn(theirs)
    back = ours.to_sklearn()
    for each in (ours, back):
        assert (each.transform(DOCUMENTS) != theirs.transform(DOCUMENTS)).nnz == 0
    assert type(back) is type(theirs)
    if name != "HashingVectorizer":
        assert list(back.get_feature_names_out()) == list(theirs.get_feature_names_out())


def test_a_text_pipeline_is_converted_as_a_whole():
    theirs = make_pipeline(text.CountVectorizer(), text.TfidfTransformer(), MultinomialNB())
    theirs.fit(DOCUMENTS, [1, 0, 1, 0])
    ours = lk.from_sklearn(theirs)
    assert [type(step).__module__.split(".")[0] for step in ours] == ["likelier"] * 3
    np.testing.assert_allclose(ours.predict_proba(DOCUMENTS), theirs.predict_proba(DOCUMENTS), atol=1e-12)
    assert type(ours[1].to_sklearn()) is text.TfidfTransformer


def test_tables_with_categories_become_a_pipeline():
    frame = pd.DataFrame({"x": Z[:, 0], "colour": WORDS})
    model = lk.LogisticRegression().fit(frame, TWO)
    pipeline = model.to_sklearn()
    np.testing.assert_allclose(pipeline.predict_proba(frame), model.predict_proba(frame), atol=1e-12)


def test_linear_forms_become_logistic_regressions():
    model = lk.PoissonNB().fit(COUNTS, WORDS)
    back = model.to_linear().to_sklearn()
    assert type(back) is LogisticRegression
    np.testing.assert_allclose(back.predict_proba(COUNTS), model.predict_proba(COUNTS), atol=1e-10)


# ---- what cannot be converted ----------------------------------------------------------------------
class Mine(GaussianNB):
    """A subclass."""


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        (GaussianNB(), NotFittedError, "GaussianNB instance is not fitted yet"),
        (text.TfidfVectorizer(), NotFittedError, "not fitted"),
        (GaussianNB, TypeError, "got the class GaussianNB"),
        (Mine().fit(X, y), TypeError, "Mine is a subclass of scikit-learn's GaussianNB"),
        (
            RandomForestClassifier(),
            TypeError,
            "RandomForestClassifier has no counterpart .* GaussianNB, Ber",
        ),
        (lk.GaussianNB().fit(X, y), TypeError, "likelier's own already"),
        (make_pipeline(StandardScaler()), TypeError, "no step of this Pipeline .* StandardScaler"),
        ("a model", TypeError, "str has no counterpart"),
    ],
    ids=str,
)
def test_what_cannot_be_converted_says_why(model, kind, words):
    with pytest.raises(kind, match=words):
        lk.from_sklearn(model)


def test_attributes_of_another_version_are_missed_by_name(fitted):
    old = clone(fitted["gaussian"]).fit(X, y)
    old.sigma_ = old.var_
    del old.var_
    with pytest.raises(ValueError, match=r"this GaussianNB has no attribute 'var_', which scikit-learn \d"):
        lk.from_sklearn(old)


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        (lk.GaussianNB(), NotFittedError, "not fitted yet"),
        (lk.CountVectorizer(), NotFittedError, "not fitted yet"),
        (lk.NaiveBayes(), TypeError, "NaiveBayes has no counterpart"),
        (lk.PoissonNB(), TypeError, r"PoissonNB has no counterpart .* to_linear\(\).to_sklearn"),
        (lk.SGDClassifier("softmax"), TypeError, "loss='softmax'"),
        (lk.Perceptron(weights="voted"), TypeError, "weights='voted'"),
        (lk.OnlineClassifier(), TypeError, "OnlineClassifier has no counterpart"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_scikit_learn_has_not_says_so(model, kind, words):
    with pytest.raises(kind, match=words):
        model.to_sklearn()


def test_a_covariance_that_nobody_kept_is_asked_for(fitted):
    model = lk.from_sklearn(fitted["lda"])
    for ask in (
        lambda: model.score_samples(X),
        lambda: model.sample(3),
        lambda: model.marginal([0]),
        lambda: model.predict(np.where(X > 13, np.nan, X)),
    ):
        with pytest.raises(ValueError, match="store_covariance=True"):
            ask()


@pytest.mark.parametrize("name", ["lda-covariance", "qda"])
def test_merging_needs_statistics_that_scikit_learn_keeps_not(name, fitted):
    model = lk.from_sklearn(fitted[name])
    with pytest.raises(ValueError, match="a model of scikit-learn that keeps none"):
        model.merge(model)
