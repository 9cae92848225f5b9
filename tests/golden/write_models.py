"""Writes the kept model files of this format version: run it once, when a version is new.

    .venv/bin/python tests/golden/write_models.py

Files that are there are never written again: they are what a user of that day may still have. An
estimator that is new joins `MODELS`, and gets a file in the folder of the current version.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

import likelier as lk
from likelier.saving.format import VERSION

FOLDER = Path(__file__).parent / "models"
NB, LDA, QDA = lk.GaussianNB, lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis


def iris(labels=None, names=False):
    X, y = load_iris(return_X_y=True)
    rows = pd.DataFrame(X, columns=["sepal length", "sepal width", "länge", "d"]) if names else X
    return rows, y if labels is None else np.asarray(labels)[y]


def gappy():
    """Some cells of every column missing, and all of one row."""
    X, y = iris()
    gone = np.random.default_rng(0).random(X.shape) < 0.15
    gone[::50] = True
    return np.where(gone, np.nan, X), y


def wine(names=False):
    data = load_wine()
    X = data.data[:, :5]
    return (pd.DataFrame(X, columns=data.feature_names[:5]) if names else X), data.data[:, 5:7]


def counts(words=True):
    """Whole numbers, some cells missing."""
    X, y = gappy()
    return np.floor(X), np.asarray(WORDS)[y] if words else y


WORDS = ["setosa", "versicolor", "virginica"]


def documents():
    """Iris in words: how long and how wide its petals are."""
    X, y = load_iris(return_X_y=True)
    sizes = np.array(["tiny", "short", "long", "huge"])[np.digitize(X[:, 2:], [1.5, 3.0, 5.0])]
    return np.array([f"{length} and {width} petals" for length, width in sizes]), np.asarray(WORDS)[y]


def categories():
    """Iris in codes of whole centimetres, some of them missing."""
    X, y = gappy()
    return np.floor(X), np.asarray(WORDS)[y]


MODELS = {
    "nb": (NB(), iris()),
    "nb-words-names": (NB(priors=np.array([0.2, 0.3, 0.5])), iris(WORDS, names=True)),
    "nb-objects": (NB(var_smoothing=1e-3), iris(np.array(WORDS, dtype=object))),
    "nb-small-integers": (NB(), iris(np.array([-1, 0, 7], dtype=np.int8))),
    "nb-dates": (NB(), iris(np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="M8[D]"))),
    "lda-svd": (LDA(), iris(WORDS)),
    "lda-svd-two": (LDA(store_covariance=True), iris([True, False, False], names=True)),
    "lda-lsqr": (LDA("lsqr", shrinkage=0.1), iris(names=True)),
    "lda-eigen": (LDA("eigen", n_components=1), iris([b"a", b"b", b"c"])),
    "lda-eigen-auto": (LDA("eigen", shrinkage="auto", priors=[0.5, 0.25, 0.25]), iris(WORDS)),
    "qda-svd": (QDA(store_covariance=True), iris()),
    "qda-eigen-auto": (QDA(solver="eigen", shrinkage="auto"), iris(WORDS, names=True)),
    "nb-gaps": (NB(), gappy()),
    "categorical": (lk.CategoricalNB(), categories()),
    "categorical-least": (lk.CategoricalNB(alpha=0.5, min_categories=[9, 5, 8, 4]), categories()),
    "lda-gaps": (LDA(), gappy()),
    "qda-gaps": (QDA(), gappy()),
    "qda-auto-gaps": (QDA(solver="eigen", shrinkage="auto"), gappy()),
    "bernoulli": (lk.BernoulliNB(binarize=2.0), counts()),
    "multinomial": (lk.MultinomialNB(alpha=np.array([0.5, 1.0, 2.0, 1.0])), counts()),
    "multinomial-unsmoothed": (lk.MultinomialNB(alpha=0.0), counts(words=False)),
    "complement": (lk.ComplementNB(norm=True), counts()),
    "poisson": (lk.PoissonNB(), counts()),
    "logistic": (lk.LogisticRegression(), iris(WORDS, names=True)),
    "logistic-two": (lk.LogisticRegression(C=np.inf), iris([True, True, False])),
    "logistic-net": (lk.LogisticRegression(C=0.2, l1_ratio=0.5), iris()),
    "logistic-cv": (
        lk.LogisticRegressionCV(
            Cs=3, cv=3, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
        ),
        iris(WORDS, names=True),
    ),
    "svc": (lk.LinearSVC(), iris(WORDS)),
    "svc-hinge-two": (lk.LinearSVC(loss="hinge"), iris([0, 1, 1], names=True)),
    "online": (lk.OnlineClassifier(bits=6), iris(WORDS)),
    "online-names": (
        lk.OnlineClassifier(
            optimizer="ftrl", l1=0.1, bits=10, interactions=[("d", "länge")], half_life=100.0, passes=2
        ),
        iris([True, True, False], names=True),
    ),
    "perceptron": (lk.Perceptron(max_iter=5, tol=None), iris(WORDS, names=True)),
    "perceptron-average": (lk.Perceptron(weights="average", max_iter=5, tol=None), iris()),
    "perceptron-voted": (lk.Perceptron(weights="voted", max_iter=5, tol=None), iris(WORDS, names=True)),
    "perceptron-random-two": (lk.Perceptron(weights="random", max_iter=5, tol=None), iris([0, 1, 1])),
    "sgd": (lk.SGDClassifier("log_loss", average=True, random_state=0), iris(WORDS, names=True)),
    "sgd-softmax": (lk.SGDClassifier("softmax", learning_rate="adagrad", random_state=0), iris()),
    "kernels": (lk.KernelDensityClassifier(), iris(WORDS, names=True)),
    "kernels-cv-gaps": (lk.KernelDensityClassifier("cv"), gappy()),
    "kernels-number": (lk.KernelDensityClassifier(0.2, priors=[0.5, 0.25, 0.25]), iris()),
    "mixture-full": (lk.GaussianMixture(3, random_state=0), iris(names=True)),
    "mixture-spherical-gaps": (lk.GaussianMixture(2, covariance_type="spherical", random_state=0), gappy()),
    "mixture-chosen": (
        lk.GaussianMixture(3, select="bic", covariance_type=["tied", "diag"], random_state=0),
        iris(),
    ),
    "mixture-any": (lk.Mixture(2, families="gaussian", random_state=0), iris()),
    "mda": (lk.MixtureDiscriminantAnalysis([1, 2, 2], random_state=0), iris(WORDS)),
    "mda-tied-gaps": (lk.MixtureDiscriminantAnalysis(2, covariance_type="tied", random_state=0), gappy()),
    "mixed": (lk.NaiveBayes(), iris(WORDS, names=True)),
    "mixed-named": (
        lk.NaiveBayes({0: "gamma", 1: "histogram", (2, 3): "gaussian-full"}, alpha=0.5),
        gappy(),
    ),
    "mixed-counts": (lk.NaiveBayes({0: "categorical", 1: "poisson", 2: "kernel"}), counts()),
    "lines": (lk.LinearRegression(), wine(names=True)),
    "line-positive": (lk.LinearRegression(positive=True), (wine()[0], wine()[1][:, 0])),
    "ridge": (lk.Ridge(alpha=np.array([0.5, 2.0])), wine()),
    "text": (lk.TextClassifier(), documents()),
    "text-svm": (lk.TextClassifier("svm"), documents()),
    "ridge-flat": (lk.Ridge(fit_intercept=False), (wine()[0], wine()[1][:, 0])),
}


def derived():
    """Models that were not fitted: of some columns, given others, and weights alone."""
    X, y = iris(WORDS, names=True)
    model, rows = QDA().fit(X, y), X.to_numpy()
    yield "qda-marginal", model.marginal(["d", "sepal length"]), rows[:, [3, 0]]
    yield "nb-given", NB().fit(X, y).condition({"länge": 4.0}), rows[:, [0, 1, 3]]
    yield "weights", LDA().fit(X, y).to_linear(), rows


def answers(model, X):
    """What a model says of rows, as JSON has it."""
    names = getattr(model, "feature_names_in_", None)
    rows = np.asarray(X) if names is None else pd.DataFrame(np.asarray(X), columns=names)
    asked = [ask for ask in ("predict_log_proba", "score_samples") if hasattr(model, ask)]
    said = {ask: getattr(model, ask)(rows).tolist() for ask in asked}
    labels = model.predict(rows)
    return said | {"predict": labels.tolist() if labels.dtype.kind == "f" else [str(v) for v in labels]}


def _learns_on(model):
    return hasattr(model, "learn_one") or getattr(model, "_statistics", None) is not None


def write(name, model, X, **how):
    path = FOLDER / f"v{VERSION}" / f"{name}.lk"
    if path.exists():
        print("kept", path.name)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    lk.save(model, path, **how)
    some = np.asarray(X)[::25]
    expected = {
        "estimator": type(model).__name__,
        "statistics": how.get("statistics", True) and _learns_on(model),
        "rows": some.tolist(),
        "answers": answers(model, some),
    }
    path.with_suffix(".json").write_text(json.dumps(expected) + "\n", encoding="utf-8")


def main():
    for name, (estimator, (X, y)) in MODELS.items():
        model = clone(estimator).fit(X, y)
        write(name, model, X)
        if name in ("nb-words-names", "lda-svd", "qda-svd", "lines"):
            write(f"{name}-lean", model, X, statistics=False)
    for name, model, X in derived():
        write(name, model, X)


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
