"""Text classifiers made of several: naive Bayes over the union of their vocabularies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from likelier import _core
from likelier.estimators.generative.naive_bayes import ComplementNB, MultinomialNB
from likelier.estimators.text.counting import TermList


def merged_models(given: Sequence[Any]) -> tuple[Any, Any]:
    """The vectoriser and the model of all their documents."""
    first = given[0]
    if not hasattr(first.model_, "merge"):
        raise ValueError(f"model={first.model!r} is not a sum over documents: it cannot be merged.")
    if first.n_features is not None:
        return first.vectorizer_, first.model_.merge(*(one.model_ for one in given[1:]))
    if not isinstance(first.model_, MultinomialNB | ComplementNB) or first.weighting == "tf-idf":
        raise ValueError(
            f"model={first.model!r} with these weights is merged if terms are hashed: n_features=2**20."
        )
    if first.min_df != 1 or first.max_df != 1.0 or first.max_features is not None:
        raise ValueError(
            "min_df, max_df and max_features leave out terms that the others may have: merge models of all "
            "terms, or hash them (n_features=2**20)."
        )
    labels = [one.classes_.tolist() for one in given]
    if any(own != labels[0] for own in labels):
        raise ValueError("classes differ: fit the models to be merged on documents of the same classes.")
    terms = _union([one.vectorizer_._terms_in_order() for one in given])
    vectorizer = clone(first.vectorizer_)
    vectorizer._learned(terms)
    vectorizer.fixed_vocabulary_ = False
    columns = vectorizer.vocabulary_
    model = clone(first.model_)
    for one in given:
        places = np.array([columns[term] for term in one.vectorizer_.vocabulary_])
        old = np.fromiter(one.vectorizer_.vocabulary_.values(), np.int64, len(places))
        rows, w = _as_rows(one.model_, places[np.argsort(old)], len(columns))
        model.partial_fit(rows, np.repeat(one.classes_, 2), classes=one.classes_, sample_weight=w)
    return vectorizer, model


def _union(lists: Sequence[TermList]) -> TermList:
    total = lists[0]
    for one in lists[1:]:
        total = TermList(*_core.joined_terms(total.bytes, total.ends, one.bytes, one.ends)[:2])
    return total


def _as_rows(model: Any, places: Any, width: int) -> tuple[Any, Any]:
    """Two rows of each class that count as all of its documents: one of its terms, and an empty one."""
    n = model.class_count_
    some = np.where((n > 0) & (n < 1), n, 1.0)  # the weight of the first
    counts = sparse.csr_matrix(model.feature_count_ / some[:, None])
    rows = sparse.csr_matrix((counts.data, places[counts.indices], counts.indptr), (len(n), width))
    empty = sparse.csr_matrix((len(n), width))
    both = sparse.vstack([rows, empty], format="csr")[np.arange(2 * len(n)).reshape(2, -1).T.ravel()]
    weights = np.column_stack([np.where(n > 0, some, 0.0), np.maximum(n - some, 0.0)])
    return both, weights.ravel()
