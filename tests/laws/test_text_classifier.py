"""TextClassifier: the same as its parts, explained, saved, merged and continued; sources of documents."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import text as peer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import likelier as lk

MODELS = ["naive-bayes", "bernoulli", "complement", "logistic", "svm", "perceptron", "nb-svm"]
LABELS = np.array(["ham", "news", "spam"])


def documents(n=300, classes=3, seed=0):
    """Words by class; an empty document, accents, other scripts and a lone surrogate among them."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    words = np.array([f"word{i}" for i in range(60)] + ["naïve", "中文", "ΟΔΟΣ", "a\ud800b", "Ünï"])
    weights = rng.dirichlet(np.full(len(words), 0.3), classes)
    texts = [" ".join(rng.choice(words, rng.integers(0, 20), p=weights[k])) for k in y]
    texts[5] = ""
    return texts, LABELS[y]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("n_features", [None, 2**12])
@pytest.mark.parametrize("model", MODELS)
def test_explanations_add_up_to_the_scores(model, n_features, classes):
    texts, y = documents(classes=classes)
    fitted = lk.TextClassifier(model, n_features=n_features, ngram_range=(1, 2), random_state=0).fit(
        texts, y
    )
    Z = fitted.decision_function(texts)
    for i in range(0, 300, 30):
        found = fitted.explain(texts[i])
        np.testing.assert_allclose(
            found.scores - found.scores.mean() * (classes > 2),
            np.atleast_1d(Z[i]) - Z[i].mean() * (classes > 2),
            atol=1e-9,
        )
        assert found.label == fitted.predict([texts[i]])[0]
        # What the words of the text are shaded by is what the terms added.
        words = sum((added for _, _, added in found.words), np.zeros(len(found.bias)))
        np.testing.assert_allclose(words, found.contributions.sum(axis=0), atol=1e-9)
        assert len(found.to_frame()) == len(found.terms) + 1
        assert str(found.label) in str(found)


@pytest.mark.parametrize("n_features", [None, 2**12])
@pytest.mark.parametrize("model", MODELS)
def test_files_and_pickles_hold_all_of_it(model, n_features, tmp_path):
    texts, y = documents()
    fitted = lk.TextClassifier(model, n_features=n_features, random_state=0, min_df=2).fit(texts, y)
    lk.save(fitted, tmp_path / "m.lk")
    for again in (lk.load(tmp_path / "m.lk"), pickle.loads(pickle.dumps(fitted))):
        assert again.get_params() == fitted.get_params()
        np.testing.assert_array_equal(again.decision_function(texts), fitted.decision_function(texts))
        if n_features is None:
            assert again.vectorizer_.vocabulary_ == fitted.vectorizer_.vocabulary_
            assert str(again.top_features(5)) == str(fitted.top_features(5))
    assert not hasattr(clone(fitted), "model_")


@pytest.mark.parametrize(
    ("model", "n_features"),
    [("naive-bayes", None), ("complement", None), *((name, 2**12) for name in MODELS[:3])],
)
def test_merged_models_are_those_of_all_documents(model, n_features):
    texts, y = documents()
    make = lk.TextClassifier(model, n_features=n_features)
    whole = clone(make).fit(texts, y)
    parts = [clone(make).fit(texts[at], y[at]) for at in (slice(0, 90), slice(90, 200), slice(200, None))]
    merged = parts[0].merge(*parts[1:])
    np.testing.assert_allclose(
        merged.predict_log_proba(texts), whole.predict_log_proba(texts), rtol=1e-10, atol=1e-10
    )
    if n_features is None:
        assert merged.vectorizer_.vocabulary_ == whole.vectorizer_.vocabulary_


@pytest.mark.parametrize("model", ["naive-bayes", "bernoulli", "complement"])
def test_batches_are_one_fit(model):
    texts, y = documents()
    make = lk.TextClassifier(model, n_features=2**12)
    whole, continued = clone(make).fit(texts, y), clone(make)
    for start in range(0, 300, 100):
        continued.partial_fit(texts[start : start + 100], y[start : start + 100], classes=LABELS)
    np.testing.assert_allclose(
        continued.predict_log_proba(texts), whole.predict_log_proba(texts), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize(
    ("model", "pipeline"),
    [
        ("naive-bayes", make_pipeline(peer.CountVectorizer(), MultinomialNB())),
        ("bernoulli", make_pipeline(peer.CountVectorizer(binary=True), BernoulliNB())),
        ("complement", make_pipeline(peer.CountVectorizer(), ComplementNB())),
        ("logistic", make_pipeline(peer.TfidfVectorizer(), LogisticRegression(tol=1e-10, max_iter=10_000))),
    ],
)
def test_probabilities_are_those_of_scikit_learn(model, pipeline):
    texts, y = documents()
    ours = lk.TextClassifier(model).fit(texts, y)
    np.testing.assert_allclose(
        ours.predict_proba(texts), pipeline.fit(texts, y).predict_proba(texts), atol=1e-4
    )
    if model != "logistic":
        np.testing.assert_allclose(ours.predict_proba(texts), pipeline.predict_proba(texts), atol=1e-10)


def test_naive_bayes_is_a_log_prior_ratio_and_log_likelihood_ratios():
    """The formulas of the page, by hand: binary, count and complement."""
    texts, y = ["a b b", "b c", "a a c"], ["p", "q", "q"]
    how = {"token_pattern": r"(?u)\b\w+\b"}
    X = peer.CountVectorizer(**how).fit_transform(texts).toarray()
    own = np.array(y) == "q"
    texts = [" ".join(2 * letter for letter in text.split()) for text in texts]  # words of two letters
    counts = np.array([X[~own].sum(axis=0), X[own].sum(axis=0)]) + 1.0
    theta = counts / counts.sum(axis=1, keepdims=True)
    W, b = lk.TextClassifier("naive-bayes").fit(texts, y).linear_weights()
    np.testing.assert_allclose(W[0], np.log(theta[1] / theta[0]))
    np.testing.assert_allclose(b[0], np.log(2 / 1))
    shares = (np.array([(X[~own] > 0).sum(axis=0), (X[own] > 0).sum(axis=0)]) + 1) / np.array([[3], [4]])
    W, b = lk.TextClassifier("bernoulli").fit(texts, y).linear_weights()
    np.testing.assert_allclose(W[0], np.log(shares[1] / (1 - shares[1]) / (shares[0] / (1 - shares[0]))))
    np.testing.assert_allclose(b[0], np.log(2) + np.log((1 - shares[1]) / (1 - shares[0])).sum())
    W, _ = lk.TextClassifier("complement").fit(texts, y).linear_weights()
    np.testing.assert_allclose(W[0], np.log(theta[1] / theta[0]))  # of two classes the rest is the other


def test_log_count_ratios_scale_the_columns():
    texts, y = documents(classes=2)
    fitted = lk.TextClassifier("nb-svm", alpha=0.5).fit(texts, y)
    X = peer.CountVectorizer(binary=True, dtype=np.float64).fit_transform(texts)
    own = y == fitted.classes_[1]
    p, q = 0.5 + X[own].sum(axis=0).A1, 0.5 + X[~own].sum(axis=0).A1
    ratio = np.log(p / p.sum() / (q / q.sum()))
    model = lk.LinearSVC().fit(X.multiply(ratio).tocsr(), own)
    np.testing.assert_allclose(fitted.model_.coef_[0], model.coef_[0] * ratio, atol=1e-10)


def as_frames(texts):
    good = [text.encode("utf-8", "replace").decode() for text in texts]
    return [
        np.array(good),
        np.array(good, dtype=object),
        pd.Series(good),
        pd.Series(good, dtype="string[pyarrow]"),
        pd.DataFrame({"text": good}),
        pl.Series(good),
        pa.array(good),
        pa.chunked_array([good[:7], good[7:]]),
        pa.array(good).dictionary_encode(),
        tuple(good),
        [text.encode() for text in good],
    ]


def test_documents_come_in_any_column():
    texts, y = documents()
    columns = as_frames(texts)
    expected = lk.TextClassifier().fit(list(columns[0]), y).predict_proba(list(columns[0]))
    for column in columns:
        found = lk.TextClassifier().fit(column, y).predict_proba(column)
        np.testing.assert_array_equal(found, expected)


def write(folder: Path, texts, y):
    """The same documents in every kind of file."""
    table = pa.table({"n": range(len(texts)), "body": texts, "label": y.tolist()})
    pq.write_table(table, folder / "a.parquet", row_group_size=40)
    table.to_pandas().to_csv(folder / "a.csv", index=False)
    rows = [json.dumps({"label": k, "body": text}) for text, k in zip(texts, y, strict=True)]
    (folder / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    for i, (text, k) in enumerate(zip(texts, y, strict=True)):
        (folder / "documents" / k).mkdir(parents=True, exist_ok=True)
        (folder / "documents" / k / f"{i:04}.txt").write_text(text, encoding="utf-8")


@pytest.fixture
def small_parts(monkeypatch):
    """Sources in many parts."""
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", 20 << 10)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl", "documents"])
def test_sources_are_documents_in_memory(name, tmp_path, small_parts):
    texts, y = documents()
    texts = [text.replace("\ud800", "") or "nothing" for text in texts]
    write(tmp_path, texts, y)
    path = tmp_path / name
    rows = lk.scan_folder(path) if name == "documents" else lk.scan(path, text="body", target="label")
    assert rows.p == 1
    assert len(rows.parts(0)) > (1 if name in ("a.parquet", "documents") else 0)
    for kind in (lk.CountVectorizer, lk.TfidfVectorizer):
        here, there = kind(min_df=2, max_features=40).fit(texts), kind(min_df=2, max_features=40).fit(rows)
        assert there.vocabulary_ == here.vocabulary_
        if kind is lk.TfidfVectorizer:
            np.testing.assert_array_equal(there.idf_, here.idf_)
    custom = lk.CountVectorizer(tokenizer=str.split, token_pattern=None)
    assert clone(custom).fit(rows).vocabulary_ == clone(custom).fit(texts).vocabulary_
    for settings in ({}, {"n_features": 2**12}, {"model": "logistic"}, {"model": "bernoulli"}):
        here, there = (lk.TextClassifier(**settings).fit(*given) for given in ((texts, y), (rows,)))
        near = 1e-4 if "model" in settings else 1e-10  # solvers end where their tolerance lets them
        np.testing.assert_allclose(there.predict_proba(texts), here.predict_proba(texts), atol=near)
        order = np.argsort(y, kind="stable") if name == "documents" else np.arange(len(y))
        P = here.predict_proba(texts)[order]
        np.testing.assert_allclose(there.predict_proba(rows), P, atol=near)
        assert there.score(rows) == pytest.approx(here.score(texts, y), abs=0.01)
    online = make_pipeline(lk.HashingVectorizer(n_features=2**12), lk.OnlineClassifier(random_state=0))
    assert online.fit(rows).score(texts, y) > 0.7


def test_vocabularies_travel_and_merge(tmp_path):
    """As on a cluster: states of parts are pickled, merged in any tree, and are the same."""
    from likelier.data import Chunk
    from likelier.data.documents import Documents
    from likelier.estimators.text.streaming import Vocabulary

    texts = [text.replace("\ud800", "") for text in documents()[0]]
    parts = []
    for start in range(0, 300, 75):
        state = Vocabulary.start(lk.CountVectorizer(ngram_range=(1, 2)))
        for at in range(start, start + 75, 25):
            state.update(Chunk(Documents(pa.array(texts[at : at + 25]))))
        parts.append(pickle.dumps(state))
    a, b, c, d = map(pickle.loads, parts)
    d.merge(a)
    c.merge(b)
    d.merge(c)
    counts = peer.CountVectorizer(ngram_range=(1, 2))
    X = counts.fit_transform(texts)
    assert list(d.terms.columns()) == counts.get_feature_names_out().tolist()
    np.testing.assert_array_equal(d.times, X.sum(axis=0).A1)
    np.testing.assert_array_equal(d.documents, (X > 0).sum(axis=0).A1)
    assert d.rows == 300


def test_grids_are_searched():
    texts, y = documents()
    search = GridSearchCV(
        lk.TextClassifier(), {"model": ["naive-bayes", "logistic"], "min_df": [1, 3]}, cv=2
    )
    assert search.fit(texts, y).best_score_ > 0.7


def test_html_escapes_the_text():
    texts, y = documents()
    fitted = lk.TextClassifier().fit([*texts, "<script> word1"], [*y, "spam"])
    page = fitted.explain("word1 <script>alert('x')</script> & word2").to_html()
    assert "<script>" not in page
    assert "&lt;" in page
    assert "background:rgba(" in page
