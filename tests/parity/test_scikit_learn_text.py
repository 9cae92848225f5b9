"""The vectorizers of documents, cell for cell beside scikit-learn's."""

import pickle
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction import text as peer
from sklearn.pipeline import make_pipeline

import likelier as lk

NAMES = ["CountVectorizer", "TfidfVectorizer"]
# Letters whose lower case is longer or depends on neighbours, marks, joiners, spaces of all kinds, digits
# that are no decimals, and any character at all.
LETTERS = st.one_of(
    st.sampled_from("aAbB  \n\t\x0b\x1c\x85\u00a0\u2028\u3000_-'.9²½①Ⅷ"),
    st.sampled_from("ΣσςΑα.'\u0301\u00ad:İıßẞǅĲﬁéÉÜ中文한국ب،\u200d👍🏽"),
    st.characters(exclude_categories=()),
)
DOCUMENTS = st.lists(st.text(LETTERS, max_size=40), min_size=1, max_size=12)
SETTINGS = st.fixed_dictionaries(
    {
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 2), (2, 5), (3, 4)]),
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "unicode", "ascii"]),
        "binary": st.booleans(),
        "stop_words": st.sampled_from([None, "english", ["aa", "ab", "σα"]]),
        "token_pattern": st.sampled_from([r"(?u)\b\w\w+\b", r"(?u)\b\w+\b"]),
    }
)
LIMITS = st.fixed_dictionaries(
    {
        "max_features": st.sampled_from([None, 1, 7, 1000]),
        "min_df": st.sampled_from([1, 2, 0.2]),
        "max_df": st.sampled_from([1.0, 0.5, 3]),
    }
)


def outcome(action):
    """The result, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return action()
        except (ValueError, UnicodeError) as problem:
            return type(problem), str(problem)


def assert_same(ours, theirs):
    """The same cells; sums of squares are added up in another order by scikit-learn's fits."""
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    assert (ours.shape, ours.dtype, ours.nnz, type(ours)) == (
        theirs.shape,
        theirs.dtype,
        theirs.nnz,
        type(theirs),
    )
    np.testing.assert_allclose(
        ours.toarray(), theirs.toarray(), rtol=1e-14 if ours.dtype.kind == "f" else 0
    )


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150)
@given(documents=DOCUMENTS, others=DOCUMENTS, how=SETTINGS, limits=LIMITS)
def test_counts_are_the_same(name, documents, others, how, limits):
    ours, theirs = getattr(lk, name)(**how, **limits), getattr(peer, name)(**how, **limits)
    expected = outcome(lambda: theirs.fit_transform(documents))
    assert_same(outcome(lambda: ours.fit_transform(documents)), expected)
    if isinstance(expected, tuple):
        return
    assert ours.vocabulary_ == theirs.vocabulary_
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert_same(ours.transform(others), theirs.transform(others))
    given_one = getattr(lk, name)(**how, vocabulary=theirs.vocabulary_)
    if name == "CountVectorizer":
        assert_same(given_one.transform(others), theirs.transform(others))


@settings(max_examples=150)
@given(
    documents=DOCUMENTS,
    how=SETTINGS,
    width=st.sampled_from([1, 7, 2**20, 2**31 - 1]),
    norm=st.sampled_from([None, "l1", "l2"]),
    alternate=st.booleans(),
)
def test_hashes_are_the_same(documents, how, width, norm, alternate):
    how = {**how, "n_features": width, "norm": norm, "alternate_sign": alternate}
    ours, theirs = (kind(**how) for kind in (lk.HashingVectorizer, peer.HashingVectorizer))
    A, B = outcome(lambda: ours.transform(documents)), outcome(lambda: theirs.transform(documents))
    if isinstance(B, tuple):
        assert A == B
        return
    assert (A.shape, A.dtype, A.nnz) == (B.shape, B.dtype, B.nnz)
    for one in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(A, one), getattr(B, one))


def test_every_character_is_cut_as_there():
    """Each character that there is, alone and between letters, lowered and stripped.

    Of code points that are not assigned or for private use, which are most, some of every range.
    """
    codes = [c for c in range(0x110000) if c % 61 == 0 or unicodedata.category(chr(c)) not in ("Cn", "Co")]
    assert len(codes) > 140_000
    documents = [f"ab{chr(code)}cd {chr(code)}{chr(code)}" for code in codes]
    for accents in (None, "unicode", "ascii"):
        ours, theirs = (kind(strip_accents=accents) for kind in (lk.CountVectorizer, peer.CountVectorizer))
        A, B = ours.fit_transform(documents), theirs.fit_transform(documents)
        B.sort_indices()
        assert ours.vocabulary_ == theirs.vocabulary_
        for one in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(A, one), getattr(B, one))


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_threads_and_batches_change_nothing(threads, monkeypatch):
    rng = np.random.default_rng(0)
    documents = [" ".join(map(str, rng.geometric(0.01, 20) + 10)) for _ in range(20_000)]
    expected = peer.CountVectorizer().fit(documents)
    monkeypatch.setenv("LIKELIER_THREADS", threads)
    found = lk.CountVectorizer()
    X = found.fit_transform(iter(documents))
    assert found.vocabulary_ == expected.vocabulary_
    B = expected.transform(documents)
    for A in (X, found.transform(documents)):
        for one in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(A, one), getattr(B, one))


@pytest.mark.parametrize(
    "documents",
    [
        pd.Series(["one two", "two three"]),
        pd.Series(["one two", "two three"], dtype="string[pyarrow]"),
        np.array(["one two", "two three"]),
        (b"one two", b"two three"),
        (document for document in ["one two", "two three"]),
    ],
    ids=["series", "arrow", "array", "bytes", "generator"],
)
def test_documents_come_as_they_are(documents):
    found = lk.CountVectorizer()
    assert found.fit_transform(documents).toarray().tolist() == [[1, 0, 1], [0, 1, 1]]
    assert found.get_feature_names_out().tolist() == ["one", "three", "two"]


@pytest.mark.parametrize(
    ("documents", "how"),
    [
        ("one string", {}),
        (["a text", None], {}),
        (["a text", np.nan], {}),
        (["a text", 3], {}),
        ([b"\xff\xfe text"], {}),
        ([], {}),
        (["", " "], {}),
        (["the and of"], {"stop_words": "english"}),
        (["a text"], {"ngram_range": (2, 1)}),
        (["one text"], {"min_df": 2, "max_df": 1}),
        (["one", "two"], {"min_df": 2}),
        (["a text"], {"min_df": -1}),
        (["a text"], {"analyzer": "wrong"}),
        (["a text"], {"vocabulary": {}}),
        (["a text"], {"vocabulary": ["text", "text"]}),
        (np.array("one text"), {}),
        (["a text"], {"ngram_range": (1.0, 2.0)}),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_errors_are_those_of_scikit_learn(name, documents, how):
    with pytest.raises(Exception) as expected:
        getattr(peer, name)(**how).fit_transform(documents)
    with pytest.raises(expected.type) as found:
        getattr(lk, name)(**how).fit_transform(documents)
    assert str(found.value).replace("likelier", "sklearn") == str(expected.value)


def test_signs_need_a_type_that_has_them():
    for of in (lk, peer):
        with pytest.raises(OverflowError, match="Python integer -1 out of bounds for uint8"):
            of.HashingVectorizer(dtype=np.uint8).transform(["one two three four five"])


@pytest.mark.parametrize(
    "how",
    [
        {"tokenizer": str.split, "token_pattern": None},
        {"preprocessor": str.upper},
        {"analyzer": str.split},
        {"token_pattern": r"[a-z]{3}"},
        {"strip_accents": lambda text: text.replace("a", "")},
    ],
)
def test_steps_of_ones_own_are_taken(how):
    documents = ["Banana bread, BREAD", "a bandana"]
    for name in NAMES:
        ours, theirs = getattr(lk, name)(**how), getattr(peer, name)(**how)
        assert_same(ours.fit_transform(documents), theirs.fit_transform(documents))
        assert_same(ours.transform(documents), theirs.transform(documents))
        assert ours.vocabulary_ == theirs.vocabulary_


def test_a_method_that_is_overridden_is_called():
    class Reversed(lk.CountVectorizer):
        def build_tokenizer(self):
            return lambda text: text[::-1].split()

    assert sorted(Reversed().fit(["abc def"]).vocabulary_) == ["cba", "fed"]


def test_a_long_document_and_an_empty_one():
    documents = ["word " * 2_000_000, "", "word"]
    assert lk.CountVectorizer().fit_transform(documents).toarray().tolist() == [[2_000_000], [0], [1]]


@pytest.mark.parametrize("name", [*NAMES, "HashingVectorizer"])
def test_copies_and_pipelines(name):
    documents, y = ["good film", "bad film", "good play", "bad play"], [1, 0, 1, 0]
    model = make_pipeline(getattr(lk, name)(), lk.LogisticRegression())
    model.fit(documents, y)
    assert model.predict(documents).tolist() == y
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(documents) == model.predict_proba(documents)).all()
    assert clone(model).fit(documents, y).predict(documents).tolist() == y
