"""The laws of CategoricalNB: one answer from any cut, Bayes' rule throughout, and codes of all kinds."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws import comparing
from laws.generators import SEEDS
from laws.test_cross_validation import SPLITTERS, WEIGHTS, assert_equals_refits
from laws.test_estimators import shown
from laws.test_saving import bytes_again
from likelier.data import SkippedWarning

fewer = settings(max_examples=max(10, settings.default.max_examples // 5))
MODELS = [
    lk.CategoricalNB(),
    lk.CategoricalNB(alpha=0.0),
    lk.CategoricalNB(alpha=0.1, fit_prior=False, min_categories=7),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)
may_be_degenerate = pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
RESULTS = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "predict_joint_log_proba",
]


def problem(seed: int = 0, K: int = 3, p: int = 4, rows: int = 40, gaps: float = 0.0) -> Any:
    """Codes of up to 6 categories, the largest of them rare, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.append(np.arange(K * rows) % K, np.zeros(rows, int)))
    X = rng.binomial(np.arange(p) % 5 + 1, (1 + y[:, None]) / (K + 2)).astype(np.float64)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, np.array([f"class {chr(97 + k)}" for k in range(K)])[y]


PROBLEMS = st.builds(
    problem,
    seed=SEEDS,
    K=st.sampled_from([2, 3, 9]),
    p=st.sampled_from([2, 3, 9]),
    rows=st.integers(5, 40),
    gaps=st.sampled_from([0.0, 0.1, 0.7]),
)


def assert_same(a: Any, b: Any, X: Any) -> None:
    """Counts are sums of ones: bit for bit."""
    assert shown(a).keys() == shown(b).keys()
    for name, value in shown(b).items():
        ours = getattr(a, name)
        if isinstance(value, list):
            assert len(ours) == len(value)
            for one, same in zip(ours, value, strict=True):
                np.testing.assert_array_equal(one, same, err_msg=name)
        else:
            np.testing.assert_array_equal(ours, value, err_msg=name)
    for ask in RESULTS:
        np.testing.assert_array_equal(getattr(a, ask)(X), getattr(b, ask)(X), err_msg=ask)


# ---- scikit-learn --------------------------------------------------------------------------------
BETWEEN = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_classifiers_one_label_sample_weights",
        "check_decision_proba_consistency",
        "check_positive_only_tag_during_fit",
    ),
    "its rows are no codes: numbers between whole ones, which scikit-learn cuts off, are refused",
)


@may_be_degenerate
@parametrize_with_checks([lk.CategoricalNB()], expected_failed_checks=lambda model: BETWEEN)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# ---- cuts ----------------------------------------------------------------------------------------
@may_be_degenerate
@every_model
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_batches_and_merges_equal_one_fit(model, data, seed):
    X, y = data
    whole, classes = clone(model).fit(X, y), np.unique(y)
    order = np.random.default_rng(seed).permutation(len(y))
    batches, apart = clone(model), []
    for rows in np.array_split(order, 3):
        batches.partial_fit(X[rows], y[rows], classes=classes)
        apart.append(clone(model).fit(X[rows], y[rows]))
    assert_same(batches, whole, X)
    assert_same(apart[0].merge(*apart[1:], classes="union"), whole, X)
    assert_same(lk.merge(apart[::-1], classes="union"), whole, X)


@may_be_degenerate
@every_model
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_a_weight_is_so_many_rows(model, data, seed):
    X, y = data
    w = np.random.default_rng(seed).integers(0, 3, len(y))
    if not w.any():
        return
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_same(clone(model).fit(X, y, sample_weight=w), repeated, X)


@every_model
@fewer
@given(seed=SEEDS, splitter=st.sampled_from(list(SPLITTERS)), weights=st.sampled_from(list(WEIGHTS)))
@may_be_degenerate
def test_cross_validation_equals_fitting_anew(model, seed, splitter, weights):
    X, y = problem(seed, rows=60, gaps=0.1)
    cv, w = SPLITTERS[splitter](seed, len(y)), WEIGHTS[weights](np.random.default_rng(seed), len(y))
    found = model.cross_validate(X, y, cv=cv, param_grid={"alpha": [0.1, 1.0, 3.0]}, sample_weight=w)
    assert_equals_refits(found, model, X, y, cv.split(X, y), w)


# ---- answers -------------------------------------------------------------------------------------
@may_be_degenerate
@every_model
@fewer
@given(data=PROBLEMS)
def test_answers_follow_from_the_tables(model, data):
    X, y = data
    fitted = clone(model).fit(X, y)
    Z = np.tile(fitted.class_log_prior_, (len(X), 1))
    for j, table in enumerate(fitted.feature_log_prob_):
        there = ~np.isnan(X[:, j])
        Z[there] += table[:, X[there, j].astype(int)].T
    parts = fitted.contributions(X)
    for found, expected in (
        (fitted.predict_joint_log_proba(X), Z),
        (fitted.score_samples(X), logsumexp(Z, axis=1)),
        (parts.base + parts.values.sum(axis=2), Z),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@may_be_degenerate
@every_model
@fewer
@given(data=PROBLEMS)
def test_the_linear_reading_predicts_exactly_the_same(model, data):
    X, y = data
    fitted = clone(model).fit(X, y)
    new = X + np.where(np.arange(len(X))[:, None] % 7 == 0, 5, 0)  # some categories are unknown
    T, linear = fitted.statistics(new), fitted.to_linear()
    assert sparse.issparse(T)
    assert T.shape == (len(X), fitted.n_categories_.sum()) == (len(X), len(fitted.statistic_names_))
    np.testing.assert_array_equal(linear.predict(T), fitted.predict(new))
    np.testing.assert_array_equal(linear.predict_proba(T), fitted.predict_proba(new))
    Z = T @ fitted.coef_.T + fitted.intercept_
    Z = Z[:, 0] if len(fitted.classes_) == 2 else Z
    np.testing.assert_allclose(Z, fitted.decision_function(new), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(bytes_again(linear, statistics=True).predict(T), fitted.predict(new))


def test_statistics_are_named_by_column_and_code():
    X, y = problem(p=2)
    assert lk.CategoricalNB().fit(X, y).statistic_names_.tolist() == [
        "x0=0",
        "x0=1",
        "x1=0",
        "x1=1",
        "x1=2",
    ]
    frame = pd.DataFrame(X.astype(int), columns=["size", "colour"])
    assert lk.CategoricalNB().fit(frame, y).statistic_names_[-1] == "colour=2"


def test_a_category_that_no_row_had_says_nothing():
    X, y = problem(gaps=0.1)
    model = lk.CategoricalNB().fit(X, y)
    new, gone = X[:5].copy(), X[:5].copy()
    new[:, 2], gone[:, 2] = 99, np.nan
    np.testing.assert_array_equal(model.predict_log_proba(new), model.predict_log_proba(gone))
    assert not model.contributions(new).values[:, :, 2].any()


def test_what_is_missing_is_filled_with_the_likeliest_category():
    X, y = problem(gaps=0.2)
    model = lk.CategoricalNB().fit(X, y)
    filled, P = model.impute(X), model.predict_proba(X)
    gone = np.isnan(X)
    np.testing.assert_array_equal(filled[~gone], X[~gone])
    for i, j in np.argwhere(gone)[:40]:
        assert filled[i, j] == np.argmax(P[i] @ np.exp(model.feature_log_prob_[j]))


def test_marginal_and_condition_agree_with_the_joint():
    X, y = problem(p=5)
    model = lk.CategoricalNB().fit(X, y)
    some, rest = model.marginal([4, 1]), model.condition({3: 2, 0: 1})
    gone = X.copy()
    gone[:, [0, 2, 3]] = np.nan
    np.testing.assert_allclose(some.predict_proba(X[:, [4, 1]]), model.predict_proba(gone), rtol=1e-12)
    given_ = X.copy()
    given_[:, [3, 0]] = 2, 1
    np.testing.assert_allclose(rest.predict_proba(X[:, [1, 2, 4]]), model.predict_proba(given_), rtol=1e-10)
    assert not hasattr(some, "category_count_")


def test_samples_have_the_frequencies_of_their_class():
    X, y = problem(rows=200)
    model = lk.CategoricalNB().fit(X, y)
    n = 20_000
    drawn, labels = model.sample(n, y="class b", random_state=0)
    assert set(labels) == {"class b"}
    for j, table in enumerate(model.feature_log_prob_):
        found = np.bincount(drawn[:, j].astype(int), minlength=table.shape[1]) / n
        np.testing.assert_allclose(found, np.exp(table[1]), atol=5 * np.sqrt(0.25 / n))


def test_other_priors_reweigh_the_posterior():
    X, y = problem()
    model, other = lk.CategoricalNB().fit(X, y), [0.1, 0.2, 0.7]
    same = lk.CategoricalNB(class_prior=other).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X, priors=other), same.predict_proba(X), rtol=1e-12)


# ---- keeping -------------------------------------------------------------------------------------
@may_be_degenerate
@every_model
@fewer
@given(data=PROBLEMS)
def test_a_loaded_model_answers_learns_and_merges_the_same(model, data):
    X, y = data
    fitted = clone(model).fit(X, y)
    loaded = bytes_again(fitted, statistics=True)
    assert_same(loaded, fitted, X)
    comparing.assert_same_bits(loaded._statistics, fitted._statistics)
    assert_same(loaded.merge(loaded), fitted.merge(fitted), X)
    larger = X[::2] + 3
    assert_same(loaded.partial_fit(larger, y[::2]), fitted.partial_fit(larger, y[::2]), X)
    lean = bytes_again(fitted, statistics=False)
    for ask in RESULTS:
        np.testing.assert_array_equal(getattr(lean, ask)(X), getattr(fitted, ask)(X))
    some = fitted.marginal([1, 0])
    assert_same(bytes_again(some, statistics=True), some, X[:, [1, 0]])


# ---- codes of all kinds --------------------------------------------------------------------------
KINDS = {
    "int8": lambda X: X.astype(np.int8),
    "bool": lambda X: X > 1,
    "uint64": lambda X: X.astype(np.uint64),
    "float32": lambda X: X.astype(np.float32),
    "Fortran": np.asfortranarray,
    "sparse": sparse.csr_array,
    "lists": lambda X: X.tolist(),
    "frame": lambda X: pd.DataFrame(X.astype(np.int16), columns=list("abcd")),
    "mixed frame": lambda X: pd.DataFrame({"a": X[:, 0] > 0, "b": X[:, 1].astype(np.uint8), "c": X[:, 2]}),
    "nullable frame": lambda X: pd.DataFrame(X.astype(np.int64), columns=list("abcd")).astype("Int32"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_codes_may_be_of_any_type(kind):
    X, y = problem()
    held = KINDS[kind](X)
    plain = np.asarray(held.todense() if sparse.issparse(held) else held).astype(np.float64)
    ours, same = lk.CategoricalNB().fit(held, y), lk.CategoricalNB().fit(plain, y)
    np.testing.assert_array_equal(ours.predict_log_proba(held), same.predict_log_proba(plain))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, r"row 7, column 2 \('c'\) is -1; categories are .*OrdinalEncoder"),
        (1.5, r"row 7, column 2 \('c'\) is 1.5; categories are whole numbers"),
        (1e9, r"row 7, column 2 \('c'\) is 1e\+09; categories are whole numbers from 0 to 9,999,999"),
        (np.inf, r"infinity .*row 7, column 2 \('c'\) is inf"),
        (-np.inf, r"row 7, column 2 \('c'\) is -inf"),
    ],
)
@pytest.mark.parametrize("seen", [False, True], ids=["fresh", "fitted"])
def test_what_is_no_code_is_refused_by_name_and_nothing_changes(value, message, seen):
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = lk.CategoricalNB()
    if seen:
        model.fit(frame, y)
    before = dict(vars(model))
    bad = frame.copy()
    bad.loc[7, "c"] = value
    for train in (model.fit, lambda X, y: model.partial_fit(X, y, classes=np.unique(y))):
        with pytest.raises(ValueError, match=message):
            train(bad, y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is held for name, held in before.items())


def test_a_row_of_weight_0_may_hold_anything():
    X, y = problem()
    bad, w = X.copy(), np.ones(len(y))
    bad[3], w[3] = [-1, 0.5, np.inf, 1e12], 0
    assert_same(lk.CategoricalNB().fit(bad, y, w), lk.CategoricalNB().fit(X, y, w), X)


def test_rows_to_answer_may_hold_no_codes_and_that_is_said():
    X, y = problem()
    model = lk.CategoricalNB().fit(X, y)
    bad, gone = X[:4].copy(), X[:4].copy()
    bad[1, 2], bad[2, 0], gone[1, 2], gone[2, 0] = -1, 0.5, np.nan, np.nan
    for ask in RESULTS:
        with pytest.warns(SkippedWarning, match=r"1 of column 0 .*whole numbers from 0 on"):
            found = getattr(model, ask)(bad)
        np.testing.assert_array_equal(found, getattr(model, ask)(gone))
    with pytest.warns(SkippedWarning):
        T = model.statistics(bad)
    assert (T != model.statistics(gone)).nnz == 0
    bad[3, 3] = np.inf
    with pytest.raises(ValueError, match="row 3, column 3 is inf"):
        model.predict(bad)


def test_strings_are_refused_with_advice():
    frame = pd.DataFrame({"a": [0, 1, 0], "b": ["x", "y", "x"]})
    with pytest.raises(ValueError, match=r"'b' \(.*encode categories .*OrdinalEncoder for CategoricalNB"):
        lk.CategoricalNB().fit(frame, [0, 1, 1])


def test_a_class_without_cells_of_a_column_has_the_frequencies_of_all():
    X, y = problem(K=2)
    X[y == "class b", 1] = np.nan
    with pytest.warns(lk.DegenerateWarning, match=r"in class class b every cell of column 1 is missing"):
        model = lk.CategoricalNB().fit(X, y)
    np.testing.assert_allclose(model.feature_log_prob_[1][0], model.feature_log_prob_[1][1], rtol=1e-14)


def test_files_are_read_as_arrays_are(tmp_path):
    X, y = problem(gaps=0.1)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = lk.CategoricalNB().fit(lk.scan(tmp_path / "rows.csv", target="y"))
    rows = frame[list("abcd")]
    assert_same(model, lk.CategoricalNB().fit(rows, y), rows)
