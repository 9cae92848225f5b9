"""Text classifiers to files and back: the terms, their weights, and the file of the model within."""

from collections.abc import Mapping
from importlib.metadata import version
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.estimators.linear_classifier import LinearClassifier
from likelier.estimators.text.classifier import TextClassifier
from likelier.estimators.text.counting import TermList
from likelier.estimators.text.nb_svm import LogCountSVM
from likelier.estimators.text.vectorizers import HashingVectorizer, TfidfVectorizer
from likelier.saving import format
from likelier.saving.format import Archive, require
from likelier.storage import decode, encode

NAME = "TextClassifier"
PARTS = {"target", "n_features", "feature_names", "model", "statistics", "within", "terms", "ends", "idf"}
WITHIN = {
    "naive-bayes": "MultinomialNB",
    "bernoulli": "BernoulliNB",
    "complement": "ComplementNB",
    "logistic": "LogisticRegression",
    "svm": "LinearSVC",
    "perceptron": "Perceptron",
    "nb-svm": "LinearClassifier",
}


def content_of(estimator: TextClassifier, inner: Any, about: Mapping[str, Any] | None) -> bytes:
    """The bytes of a file; inner: of an estimator the bytes of its own."""
    estimator._check_fitted()
    model, vectorizer = estimator.model_, estimator.vectorizer_
    if isinstance(model, LogCountSVM):
        model = LinearClassifier(model.coef_, model.intercept_, model.classes_)
    terms = None if isinstance(vectorizer, HashingVectorizer) else vectorizer._terms_in_order()
    arrays: dict[str, NDArray[Any]] = {}
    fitted = {
        "target": estimator.classes_,
        "n_features": int(np.atleast_2d(estimator.model_.coef_).shape[1]),
        "feature_names": None,
        "model": None,
        "statistics": None,
        "within": np.frombuffer(inner(model), np.uint8),
        "terms": None if terms is None else terms.bytes,
        "ends": None if terms is None else terms.ends,
        "idf": vectorizer.idf_ if isinstance(vectorizer, TfidfVectorizer) else None,
    }
    params = estimator.get_params(deep=False)
    header = {
        "likelier": version("likelier"),
        "estimator": NAME,
        "rows": None,
        **({} if about is None else {"about": dict(about)}),
        "params": {key: encode(value, f"params/{key}", arrays, {}) for key, value in params.items()},
        "fitted": {key: encode(value, key, arrays, {}) for key, value in fitted.items()},
    }
    return format.packed(header, arrays)


def classifier_in(archive: Archive, estimator_in: Any) -> TextClassifier:
    """What an open file holds, checked; estimator_in: the estimator of a file within."""
    left = archive.names

    def take(array: str) -> NDArray[Any]:
        require(array in left, f"array {array!r:.80} is not there, or is used twice")
        left.remove(array)
        return archive.array(array)

    params = {key: decode(value, take, {}) for key, value in archive.section("params").items()}
    unknown = params.keys() - set(TextClassifier._get_param_names())
    require(not unknown, f"{NAME} has no hyper-parameter {', '.join(sorted(unknown)):.80}")
    parts = {key: decode(value, take, {}) for key, value in archive.section("fitted").items()}
    require(parts.keys() == PARTS, f"its parts are not {', '.join(sorted(PARTS))}")
    require(not left, f"nothing refers to array {', '.join(sorted(left)):.80}")
    estimator = TextClassifier(**params)
    within = parts["within"]
    require(type(within) is np.ndarray and within.dtype == np.uint8, "there is no model within")
    model = estimator_in(Archive(BytesIO(within.tobytes())))
    wanted = WITHIN.get(estimator.model)
    require(type(model).__name__ == wanted, f"the model within is a {type(model).__name__}, not {wanted}")
    same = np.array_equal(model.classes_, parts["target"])
    require(same, "the classes are not those of the model within")
    if isinstance(model, LinearClassifier):
        model = LogCountSVM(estimator.C, estimator.alpha)._become(model)
    width = int(np.atleast_2d(model.coef_).shape[1])
    return estimator._publish(_vectorizer(estimator, parts, width), model)


def _vectorizer(estimator: TextClassifier, parts: dict[str, Any], width: int) -> Any:
    vectorizer = estimator._vectorizer()
    if isinstance(vectorizer, HashingVectorizer):
        require(estimator.n_features == width, f"terms are hashed into {width} columns")
        return vectorizer
    texts, ends, idf = (parts[key] for key in ("terms", "ends", "idf"))
    good = type(texts) is np.ndarray and texts.dtype == np.uint8 and texts.ndim == 1
    good = good and type(ends) is np.ndarray and ends.dtype == np.int64 and ends.ndim == 1
    good = good and len(ends) == width + 1 and ends[0] == 0 and ends[-1] == len(texts)
    require(good and bool((np.diff(ends) >= 0).all()), f"the terms are not {width} strings")
    terms = TermList(texts, ends)
    require(len(terms.columns()) == width, "a term is there twice")
    vectorizer._learned(terms)
    vectorizer.fixed_vocabulary_ = False
    if isinstance(vectorizer, TfidfVectorizer):
        weighed = type(idf) is np.ndarray and idf.shape == (width,) and idf.dtype == np.float64
        require(weighed and bool(np.isfinite(idf).all()), "the weights of terms are not valid")
        vectorizer._tfidf = vectorizer._transformer()
        vectorizer._tfidf.idf_ = idf
        vectorizer._tfidf.n_features_in_ = width
    return vectorizer
