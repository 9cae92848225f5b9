"""Naive Bayes for counts and truths: every fitted attribute and every answer equals scikit-learn's."""

import gzip
import json
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets, naive_bayes
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

import likelier as lk

PAIRS = {
    "bernoulli": (lk.BernoulliNB, naive_bayes.BernoulliNB),
    "multinomial": (lk.MultinomialNB, naive_bayes.MultinomialNB),
    "complement": (lk.ComplementNB, naive_bayes.ComplementNB),
}
SHOWN = ["classes_", "class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"]
SHOWN += ["n_features_in_"]


def seeded():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    return rng.poisson(rng.gamma(1.0, 1.0, (4, 30))[y]).astype(np.float64), np.array(list("abcd"))[y]


@cache
def _sms(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        y, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    return CountVectorizer().fit_transform(texts), np.array(y)


@cache
def _news(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines][::4]
    X = CountVectorizer().fit_transform([row["text"] for row in found])
    return X, np.array([row["group"] for row in found])


@pytest.fixture
def rows(request):
    """X and y of a set by its name; text is counted, and stays sparse."""

    def read(name):
        if name in ("sms_spam", "newsgroups20"):
            file = {"sms_spam": "sms_spam.tsv.gz", "newsgroups20": "newsgroups20_train.jsonl.gz"}[name]
            path = request.getfixturevalue("data_file")(file)
            return _sms(path) if name == "sms_spam" else _news(path)
        X, y = seeded() if name.startswith("seeded") else datasets.load_digits(return_X_y=True)
        return (sparse.csr_array(X) if name.endswith("sparse") else X), y

    return read


every_pair = pytest.mark.parametrize("pair", list(PAIRS))
every_set = pytest.mark.parametrize(
    "name", ["seeded", "seeded, sparse", "digits", "digits, sparse", "sms_spam", "newsgroups20"]
)
CHANGES = [
    {},
    {"alpha": 0.01},
    {"alpha": 0.5, "fit_prior": False},
    {"class_prior": "skewed"},
]


def both(pair, y, **changes):
    if "class_prior" in changes:
        K = len(np.unique(y))
        changes = {"class_prior": np.arange(1, K + 1) / (K * (K + 1) / 2)}
    return tuple(cls(**changes) for cls in PAIRS[pair])


def assert_equal(ours, theirs, X):
    for name in SHOWN + (["feature_all_"] if hasattr(theirs, "feature_all_") else []):
        close(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    joint = theirs.predict_joint_log_proba(X)
    # A posterior is a difference of joint scores, sums of up to thousands of terms: good to 1e-12 of these.
    size = np.abs(np.where(np.isfinite(joint), joint, 0)).max(axis=1, keepdims=True)
    for ask in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        close(getattr(ours, ask)(X), getattr(theirs, ask)(X), size)


def close(a, b, size=1.0):
    a, b = np.asarray(a), np.asarray(b)
    if b.dtype.kind != "f":
        np.testing.assert_array_equal(a, b)
        return
    known = np.isfinite(b)
    np.testing.assert_array_equal(a[~known], b[~known])
    room = np.broadcast_to(1e-12 * np.maximum(size, 1.0), b.shape)[known]
    gap = np.abs(a[known] - b[known]) - 1e-12 * np.abs(b[known])
    assert (gap <= room).all(), gap.max()


@every_pair
@every_set
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_a_fit_is_the_same(pair, name, changes, rows):
    X, y = rows(name)
    ours, theirs = both(pair, y, **changes)
    assert_equal(ours.fit(X, y), theirs.fit(X, y), X[:500])


@every_set
@pytest.mark.filterwarnings("ignore:.*alpha too small")
def test_a_small_alpha_is_raised_the_same(name, rows):
    """Of the others, scikit-learn's 1 - e^(ln p) and Σ + alpha - Σ keep no digits of so small an alpha."""
    X, y = rows(name)
    ours, theirs = both("multinomial", y, alpha=1e-12, force_alpha=False)
    assert_equal(ours.fit(X, y), theirs.fit(X, y), X[:500])


@every_pair
@every_set
def test_a_weighted_fit_is_the_same(pair, name, rows):
    X, y = rows(name)
    w = np.random.default_rng(0).exponential(size=len(y))
    ours, theirs = both(pair, y)
    assert_equal(ours.fit(X, y, sample_weight=w), theirs.fit(X, y, sample_weight=w), X[:500])


@every_pair
@every_set
def test_partial_fits_are_the_same_after_each(pair, name, rows):
    X, y = rows(name)
    ours, theirs = both(pair, y)
    classes = np.unique(y)
    order = np.argsort(y[:600], kind="stable")  # the first pieces lack classes
    for some in np.array_split(order, 3):
        w = np.linspace(0.5, 2, len(some))
        ours.partial_fit(X[some], y[some], classes=classes, sample_weight=w)
        with np.errstate(divide="ignore"):
            theirs.partial_fit(X[some], y[some], classes=classes, sample_weight=w)
        assert_equal(ours, theirs, X[:200])


@pytest.mark.parametrize("pair", ["multinomial", "complement"])
@pytest.mark.parametrize("name", ["seeded", "digits"])
def test_an_alpha_for_each_column_is_the_same(pair, name, rows):
    X, y = rows(name)
    ours, theirs = both(pair, y, alpha=np.linspace(0.1, 3, X.shape[1]))
    assert_equal(ours.fit(X, y), theirs.fit(X, y), X)


@pytest.mark.parametrize("threshold", [0.0, 2.0, 7.5])
@pytest.mark.parametrize("name", ["digits", "digits, sparse"])
def test_binarize_is_the_same(threshold, name, rows):
    X, y = rows(name)
    ours, theirs = both("bernoulli", y, binarize=threshold)
    assert_equal(ours.fit(X, y), theirs.fit(X, y), X)


def test_truths_need_no_threshold(rows):
    X, y = rows("digits")
    ours, theirs = both("bernoulli", y, binarize=None)
    assert_equal(ours.fit(X > 4, y), theirs.fit(X > 4, y), X > 4)


@pytest.mark.parametrize("name", ["seeded", "digits", "sms_spam"])
def test_normed_complements_are_the_same(name, rows):
    X, y = rows(name)
    ours, theirs = both("complement", y, norm=True)
    assert_equal(ours.fit(X, y), theirs.fit(X, y), X)


@pytest.mark.parametrize("name", ["sms_spam", "newsgroups20"])
@every_pair
def test_tf_idf_is_the_same(pair, name, rows):
    X, y = rows(name)
    X = TfidfTransformer().fit_transform(X)
    ours, theirs = both(pair, y)
    assert_equal(ours.fit(X, y), theirs.fit(X, y), X[:500])


@pytest.mark.parametrize("pair", ["bernoulli", "multinomial"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_without_smoothing_it_is_the_same_where_scikit_learns_is_a_number(pair, rows):
    """A column that a class never has is -inf there; of a row that has it, the class is excluded."""
    X, y = rows("digits, sparse")
    ours, theirs = (model.fit(X, y) for model in both(pair, y, alpha=0.0))
    close(ours.feature_log_prob_, theirs.feature_log_prob_)
    assert np.isneginf(ours.feature_log_prob_).any()
    expected = theirs.predict_proba(X)
    known = np.isfinite(expected).all(axis=1)
    assert known.any() == (pair == "multinomial")
    np.testing.assert_allclose(ours.predict_proba(X)[known], expected[known], rtol=1e-9, atol=1e-12)
    assert np.isfinite(ours.predict_proba(X)).all()


@every_pair
def test_one_class_is_the_same(pair, rows):
    X, _ = rows("seeded")
    y = np.zeros(len(X), dtype=int)
    ours, theirs = both(pair, y)
    with pytest.warns(lk.DegenerateWarning, match="all rows are of class 0"):
        ours.fit(X, y)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.fit(X, y).predict_proba(X))
