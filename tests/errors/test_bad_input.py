"""What cannot be used is refused in words, by fit, partial_fit and every answer; nothing is half-fitted."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import discriminant_analysis, naive_bayes
from sklearn.base import clone
from sklearn.covariance import OAS
from sklearn.exceptions import DataConversionWarning, NotFittedError

import likelier as lk
from errors.conftest import X, Y, inside

KDC = lk.KernelDensityClassifier
NB, LDA, QDA = lk.GaussianNB, lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
ANSWERS = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "decision_function",
    "score_samples",
    "decide",
]


def holding(value, dtype=float):
    """X with one cell replaced: row 4, column 1."""
    table = X.astype(dtype)
    table[4, 1] = value
    return table


def frame_holding(value):
    return pd.DataFrame(holding(value), columns=["a", "b", "c"])


def with_column(values):
    return FRAME.assign(b=values)


# ---- X ---------------------------------------------------------------------------------------------
BAD_X = {
    "text": (np.full((60, 3), "word"), "string"),
    "text in an object array": (holding("word", object), "string.*'word'"),
    "a column of text": (with_column(["word"] * 60), r"not numbers: 'b' \(.*'word'"),
    "a categorical column": (
        with_column(pd.Categorical(["u", "v", "w"] * 20)),
        r"not numbers: 'b' \(category.*'u'",
    ),
    "infinity": (holding(np.inf), "infinity.*row 4, column 1"),
    "minus infinity": (holding(-np.inf, np.float32), "infinity.*row 4, column 1"),
    "infinity in a frame": (frame_holding(np.inf), r"infinity.*row 4, column 1 \('b'\)"),
    "infinity in CSR": (sparse.csr_array(holding(np.inf)), "infinity.*row 4, column 1"),
    "infinity and minus infinity": (
        np.where(np.arange(60)[:, None] == 5, np.inf, holding(-np.inf)),
        "infinity.*row 4, column 1",
    ),
    "no rows": (X[:0], "0 sample"),
    "no rows in CSR": (sparse.csr_array(X[:0]), "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "complex": (X + 1j, "(?i)complex"),
    "one dimension": (X[:, 0], "2D array, got 1D"),
    "three dimensions": (X[:, :, None], "dim 3"),
    "a number": (np.float64(3), "2D array, got scalar"),
    "nothing": (None, "2D array, got scalar"),
    "lists of many lengths": ([[1.0, 2.0, 3.0], [4.0]] * 30, "inhomogeneous"),
    "hidden cells": (np.ma.masked_array(X, X > 7), "(?i)mask|NaN|missing"),
    "dates": (X.astype("i8").astype("M8[D]"), "(?i)date"),
    "infinity beside NaN": (
        np.where(np.arange(60)[:, None] < 4, np.nan, holding(np.inf)),
        "infinity.*row 4, column 1",
    ),
    "minus infinity beside NaN in CSR": (
        sparse.csr_array(np.where(np.arange(3) == 0, np.nan, holding(-np.inf))),
        "infinity.*row 4, column 1",
    ),
    "infinity in a row of NaN in a frame": (
        pd.DataFrame(holding(np.inf), columns=["a", "b", "c"]).mask(
            (np.arange(60) == 4)[:, None] & (np.arange(3) != 1)
        ),
        r"infinity.*row 4, column 1 \('b'\)",
    ),
}
# To a generative model NaN is a missing cell; where all columns are needed at once it is refused.
GAPS = {
    "NaN": (holding(np.nan), "NaN.*row 4, column 1"),
    "NaN in float32": (holding(np.nan, np.float32), "NaN.*row 4, column 1"),
    "NaN in Fortran order": (np.asfortranarray(holding(np.nan)), "NaN.*row 4, column 1"),
    "NaN in a frame": (frame_holding(np.nan), r"NaN.*row 4, column 1 \('b'\)"),
    "NaN in CSR": (sparse.csr_array(holding(np.nan)), "NaN.*row 4, column 1"),
    "None": (holding(None, object), "NaN.*row 4, column 1"),
    "pandas NA": (with_column(pd.array([1, 2, 3, 4, None] + [5] * 55, dtype="Int64")), r"NaN.*\('b'\)"),
}


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", BAD_X)
def test_bad_X_is_refused_and_leaves_nothing_behind(watched, kind, how):
    table, message = BAD_X[kind]
    model, watch = watched
    check = watch(FRAME if isinstance(table, pd.DataFrame) else X)
    y = Y[:0] if kind.startswith("no rows") else Y
    classes = {"classes": [0, 1, 2]} if how == "partial_fit" else {}
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(model, how)(table, y, **classes)
    check()


@pytest.mark.parametrize("kind", BAD_X)
def test_bad_X_is_refused_by_every_answer(model, kind):
    table, message = BAD_X[kind]
    model.fit(FRAME if isinstance(table, pd.DataFrame) else X, Y)
    for answer in ANSWERS:
        with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
            getattr(model, answer)(table)


LINEAR_ANSWERS = {
    "transform": lambda model, table: model.transform(table),
    "contributions": lambda model, table: model.contributions(table),
    "to_linear": lambda model, table: model.to_linear().predict_proba(table),
}


BAD_FOR_ALL = ["infinity", "text", "no rows", "one dimension"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        *((answer, kind) for answer in LINEAR_ANSWERS for kind in BAD_FOR_ALL),
        *((answer, kind) for answer in ("to_linear",) for kind in GAPS),
        *(("transform", kind) for kind in BAD_X if "NaN" in kind),
    ],
)
def test_bad_X_is_refused_by_the_answers_of_lda(kind, answer):
    table, message = (GAPS | BAD_X)[kind]
    if answer == "to_linear":  # scikit-learn's own LogisticRegression, which names no cell
        message = "NaN|infinity" if kind in GAPS or "infinity" in kind else message
    model = LDA().fit(FRAME if isinstance(table, pd.DataFrame) else X, Y)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        LINEAR_ANSWERS[answer](model, table)


@pytest.mark.parametrize("model", [LDA, QDA], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("kind", GAPS)
def test_gaps_are_refused_by_a_covariance_estimator(model, kind):
    table, message = GAPS[kind]
    model = model(solver="eigen", covariance_estimator=OAS())
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.fit(table, Y)
    assert set(vars(model)) == set(model.get_params(deep=False))


@pytest.mark.parametrize("model", [lk.LinearRegression(encode=False), lk.Ridge(encode=False)], ids=str)
@pytest.mark.parametrize("kind", GAPS)
def test_gaps_are_refused_by_least_squares(model, kind):
    table, message = GAPS[kind]
    target = np.arange(60.0)
    model = clone(model)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.fit(table, target)
    model.fit(FRAME if isinstance(table, pd.DataFrame) else X, target)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.predict(table)


@pytest.mark.parametrize("make", [np.array, np.asfortranarray, np.float32, sparse.csr_array])
def test_the_bad_cell_of_a_large_table_is_named_by_its_row_in_all(model, make):
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(300_000, 4)), rng.integers(0, 3, size=300_000)  # more than one part
    table[250_001, 3], table[[7, 250_001], 2] = np.inf, np.nan
    with pytest.raises(ValueError, match="row 250001, column 3"):
        model.fit(make(table), y)
    model.fit(table[:1000], y[:1000])
    with pytest.raises(ValueError, match="row 250001, column 3"):
        model.predict(make(table))


@pytest.mark.parametrize("dtype", ["U", "S"])
@pytest.mark.parametrize("model", [NB(), QDA()], ids=str)
def test_numbers_written_as_text_are_refused_where_scikit_learn_refuses_them(model, dtype):
    with pytest.raises(ValueError, match="string"):
        model.fit(X.astype(dtype), Y)


# ---- columns ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fitted_on", "table", "message"),
    [
        (X, X[:, :2], "X has 2 features.*expecting 3"),
        (X, sparse.csr_array(np.hstack([X, X])), "X has 6 features.*expecting 3"),
        (FRAME, FRAME[["b", "a", "c"]], "same order"),
        (FRAME, FRAME.rename(columns={"a": "z"}), "unseen at fit time:\n- z"),
        (FRAME, FRAME[["a", "b"]], "now missing:\n- c"),
    ],
    ids=["fewer", "more", "reordered", "renamed", "missing"],
)
def test_other_columns_at_prediction_are_refused(model, fitted_on, table, message):
    model.fit(fitted_on, Y)
    for answer in ANSWERS:
        with pytest.raises(ValueError, match=f"(?s){message}"):
            getattr(model, answer)(table)


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (X, X[:, :2], "X has 2 features.*expecting 3"),
        (FRAME, FRAME[["b", "a", "c"]], "same order"),
        (FRAME, FRAME.rename(columns={"a": "z"}), "unseen at fit time:\n- z"),
    ],
    ids=["fewer", "reordered", "renamed"],
)
def test_other_columns_in_a_later_batch_are_refused(model, first, later, message):
    model.partial_fit(first, Y, classes=[0, 1, 2])
    before = model.predict_proba(first)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.partial_fit(later, Y)
    np.testing.assert_array_equal(model.predict_proba(first), before)


def test_names_on_one_side_only_are_warned_of(model):
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        without = model.fit(FRAME, Y).predict(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        model.fit(X, Y).predict(FRAME)
    np.testing.assert_array_equal(without, model.predict(X))


@pytest.mark.parametrize("columns", [["a", "a", "c"], ["a", 1, "c"]], ids=["twice", "mixed"])
def test_column_names_that_name_nothing_are_refused(watched, columns):
    model, watch = watched
    check = watch()
    with pytest.raises((ValueError, TypeError), match=r"(?i)unique column names|string names"):
        model.fit(pd.DataFrame(X, columns=columns), Y)
    check()


# ---- y ---------------------------------------------------------------------------------------------
SOME_MISSING = [None if i == 4 else str(i % 3) for i in range(60)]
BAD_Y = {
    "fewer labels": (Y[:-1], "inconsistent.*60.*59"),
    "more labels": (np.append(Y, 0), "inconsistent.*60.*61"),
    "none": (None, "requires y"),
    "continuous": (Y + 0.5, "continuous"),
    "NaN": (np.where(Y == 1, np.nan, Y), "y contains NaN"),
    "infinity": (np.where(Y == 1, np.inf, Y), "y contains infinity"),
    "None": (np.where(Y == 1, None, Y), "y contains NaN"),
    "NaN among objects": (np.where(Y == 1, np.nan, Y.astype(object)), "y contains NaN"),
    "a series with None": (pd.Series(SOME_MISSING), "y contains NaN"),
    "a string series with NA": (pd.Series(SOME_MISSING, dtype="string"), "y contains NaN"),
    "a categorical with NaN": (pd.Series(pd.Categorical(SOME_MISSING)), "y contains NaN"),
    "an integer series with NA": (pd.Series(SOME_MISSING).astype("Int64"), "y contains NaN"),
    "no date": (np.array(["2020-01-01", "2020-01-02", "NaT"] * 20, dtype="M8[D]"), "y contains NaT|NaN"),
    "two columns": (np.column_stack([Y, Y]), r"1d array.*\(60, 2\)"),
    "one-hot rows": (np.eye(3)[Y], r"1d array.*\(60, 3\)"),
    "a scalar": (3, "1d array"),
    "complex": (Y + 1j, "(?i)complex"),
    "mixed types": (np.where(Y == 1, "one", Y.astype(object)), "mixed types.*int, str"),
    "sparse": (sparse.csr_array(Y[:, None]), "(?i)sparse"),
    "unhashable": ([{}] * 60, "unhashable"),
    "hidden labels": (np.ma.masked_array(Y, Y == 1), "(?i)mask|NaN|missing"),
}


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", BAD_Y)
def test_bad_y_is_refused_and_leaves_nothing_behind(watched, kind, how):
    model, watch = watched
    check = watch()
    labels, message = BAD_Y[kind]
    classes = {"classes": [0, 1, 2]} if how == "partial_fit" else {}
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(model, how)(X, labels, **classes)
    check()


@pytest.mark.parametrize("labels", [Y[:, None], pd.DataFrame({"y": Y})], ids=["array", "frame"])
def test_a_column_of_labels_is_taken_as_a_vector_with_a_warning(model, labels):
    with pytest.warns(DataConversionWarning, match="column-vector"):
        told = model.fit(X, labels).predict_proba(X)
    np.testing.assert_array_equal(told, model.fit(X, Y).predict_proba(X))


# ---- weights ---------------------------------------------------------------------------------------
BAD_WEIGHTS = {
    "one negative": (np.where(np.arange(60) == 3, -1.0, 1.0), "(?i)negative.*row 3"),
    "NaN": (np.where(np.arange(60) == 3, np.nan, 1.0), "sample_weight contains NaN"),
    "infinity": (np.full(60, np.inf), "sample_weight contains.*infinity"),
    "too few": (np.ones(59), r"\(59,\), expected \(60,\)"),
    "none at all": (np.ones(0), r"\(0,\), expected \(60,\)"),
    "a column": (np.ones((60, 1)), "1D"),
    "text": (["heavy"] * 60, "string"),
    "a negative scalar": (-1.0, "(?i)negative"),
    "a NaN scalar": (np.nan, "NaN"),
    "hidden weights": (np.ma.masked_array(np.ones(60), Y == 1), "(?i)mask|NaN|missing"),
}


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_bad_weights_are_refused_and_leave_nothing_behind(watched, kind, how):
    model, watch = watched
    check = watch()
    weights, message = BAD_WEIGHTS[kind]
    classes = {"classes": [0, 1, 2]} if how == "partial_fit" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a refusal is asked for, not a warning before it
        with pytest.raises(ValueError, match=f"(?s){message}"):
            getattr(model, how)(X, Y, **classes, sample_weight=weights)
    check()


@pytest.mark.parametrize("weights", [np.zeros(60), 0.0], ids=["array", "scalar"])
def test_weights_that_leave_no_row_are_refused(watched, weights):
    model, watch = watched
    check = watch()
    with pytest.raises(ValueError, match="all zero"):
        model.fit(X, Y, weights)
    check()
    if not hasattr(model, "classes_"):
        with pytest.raises(ValueError, match="all zero"):
            model.partial_fit(X, Y, classes=[0, 1, 2], sample_weight=weights)
        check()


def test_a_class_without_weight_is_absent(model):
    model.fit(X, Y, (Y != 1).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 2])
    told = model.predict_proba(X)
    np.testing.assert_allclose(
        told, model.fit(X[Y != 1], Y[Y != 1]).predict_proba(X), rtol=1e-10, atol=1e-14
    )


# ---- too little to learn from ----------------------------------------------------------------------
@pytest.mark.parametrize("model", [NB(), LDA(), LDA(solver="lsqr"), LDA(solver="eigen")], ids=str)
def test_one_class_has_probability_one_and_a_warning(model):
    with pytest.warns(lk.DegenerateWarning, match="all rows are of class 7"):
        model.fit(X, np.full(60, 7))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((60, 1)))
    np.testing.assert_array_equal(model.predict(X), 7)


def test_qda_refuses_one_class():
    with pytest.raises(ValueError, match="classes has to be greater than one"):
        QDA().fit(X, np.full(60, 7))


@pytest.mark.parametrize(
    ("rows", "message"), [(3, "more than the number of classes"), (1, r"1 sample|number of samples")]
)
def test_lda_refuses_no_more_rows_than_classes_as_scikit_learn_does(rows, message):
    with pytest.raises(ValueError, match=r"more than the number of classes|1 sample"):
        discriminant_analysis.LinearDiscriminantAnalysis().fit(X[:rows], Y[:rows])
    with pytest.raises(ValueError, match=message):
        LDA().fit(X[:rows], Y[:rows])


LITTLE = {
    "a class of one row": (X, np.append(Y[:-1], 9)),
    "two rows of all classes but one": (X[:24], np.repeat([0, 1, 2], [20, 2, 2])),
    "a constant column": (np.column_stack([X, np.full(60, 3.5)]), Y),
    "a column constant in one class": (np.column_stack([X, np.where(Y == 1, 7.0, np.arange(60) % 7)]), Y),
    "all columns constant": (np.full((60, 3), 0.1), Y),
    "columns twice": (np.hstack([X, X]), Y),
    "a column that is the sum of others": (np.column_stack([X, X.sum(axis=1)]), Y),
    "more columns than rows": (np.random.default_rng(1).normal(size=(12, 40)), np.arange(12) % 3),
}


SAME = ["a constant column", "columns twice", "a column that is the sum of others"]
FEWER = [*SAME, "all columns constant", "more columns than rows"]  # directions than columns
STILL = [
    "a class of one row",
    "a constant column",
    "a column constant in one class",
    "all columns constant",
]


def fit_with_warning(model, table, y, message):
    """Fit; `message` is that of the one warning, None stands for no warning."""
    if message is None:
        return clone(model).fit(table, y)
    with pytest.warns(lk.DegenerateWarning, match=f"^{type(model).__name__}: .*{message}") as caught:
        fitted = clone(model).fit(table, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # it points to the line that called fit
    return fitted


def check_finite(model, table, y):
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1, rtol=1e-12)
    assert np.isfinite(model.predict_joint_log_proba(table)).all()
    assert np.isin(model.predict(table), y).all()


@pytest.mark.parametrize("kind", LITTLE)
def test_columns_that_do_not_vary_in_a_class_are_warned_of_by_nb(kind):
    table, y = LITTLE[kind]
    model = fit_with_warning(
        NB(), table, y, "columns do not vary.*var_smoothing" if kind in STILL else None
    )
    check_finite(model, table, y)


@pytest.mark.parametrize("kind", LITTLE)
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_directions_without_variance_are_warned_of_by_lda(solver, kind):
    table, y = LITTLE[kind]
    message = "directions only.*shrinkage" if kind in FEWER else None
    model = fit_with_warning(LDA(solver=solver), table, y, message)
    check_finite(model, table, y)
    if kind in SAME:  # columns that say nothing new change no answer
        expected = LDA(solver=solver).fit(X, Y).predict_proba(X)
        np.testing.assert_allclose(model.predict_proba(table), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", LITTLE)
@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_a_class_without_full_rank_is_warned_of_by_qda(solver, kind):
    table, y = LITTLE[kind]
    way = "reg_param" if solver == "svd" else "shrinkage"
    model = fit_with_warning(QDA(solver=solver), table, y, f"not full rank.*lifted to tol=0.0001.*{way}")
    check_finite(model, table, y)


@pytest.mark.parametrize("kind", [kind for kind in LITTLE if kind != "all columns constant"])
@pytest.mark.parametrize(
    "model",
    [
        LDA(solver="lsqr", shrinkage=0.1),
        LDA(solver="eigen", shrinkage=0.1),
        QDA(solver="eigen", shrinkage=0.5),
        QDA(reg_param=0.5),
    ],
    ids=str,
)
def test_shrinkage_takes_the_warning_away(model, kind):
    table, y = LITTLE[kind]
    if isinstance(model, QDA) and kind == "a class of one row" and model.solver == "eigen":
        fit_with_warning(model, table, y, "class 9 is not full rank")  # no variance at all to share out
    else:
        check_finite(fit_with_warning(model, table, y, None), table, y)


@pytest.mark.parametrize("model", [NB(), LDA(), LDA(solver="lsqr"), QDA()], ids=str)
def test_columns_that_are_all_constant_leave_the_priors(model):
    table, y = np.full((60, 3), 0.1), np.repeat([0, 1, 2], [30, 20, 10])
    with pytest.warns(lk.DegenerateWarning):
        model.fit(table, y)
    np.testing.assert_allclose(model.predict_proba(table), np.tile([3 / 6, 2 / 6, 1 / 6], (60, 1)))


# ---- hyper-parameters ------------------------------------------------------------------------------
FULL, SHRUNK = {"solver": "eigen"}, {"solver": "lsqr"}
BAD_PARAMETERS = [
    (NB, {"var_smoothing": -1e-9}, "var_smoothing"),
    (NB, {"var_smoothing": np.nan}, "var_smoothing"),
    (NB, {"var_smoothing": "much"}, "var_smoothing"),
    (NB, {"priors": [0.5, 0.5]}, "(?i)number of priors.*3 classes"),
    (NB, {"priors": [[0.2, 0.3, 0.5]]}, "(?i)number of priors"),
    (NB, {"priors": [0.6, 0.6, -0.2]}, "non-negative"),
    (NB, {"priors": [0.2, 0.2, 0.2]}, "sum of the priors"),
    (NB, {"priors": [np.nan, 0.5, 0.5]}, "(?i)priors"),
    *(
        (kind, given, message)
        for kind in (LDA, QDA)
        for given, message in [
            ({"solver": "newton"}, r"solver must be .*; got 'newton'"),
            ({"solver": None}, r"solver must be .*; got None"),
            ({**FULL, "shrinkage": -0.1}, r"shrinkage must be .*; got -0.1"),
            ({**FULL, "shrinkage": 1.1}, r"shrinkage must be .*; got 1.1"),
            ({**FULL, "shrinkage": np.nan}, r"shrinkage must be .*; got nan"),
            ({**FULL, "shrinkage": True}, r"shrinkage must be .*; got True"),
            ({**FULL, "shrinkage": "some"}, r"shrinkage must be .*; got 'some'"),
            ({"tol": -1.0}, r"tol must be .*; got -1"),
            ({"tol": np.nan}, r"tol must be .*; got nan"),
            ({"tol": "small"}, "tol"),
            ({"priors": [0.5, 0.5]}, "(?i)number of priors.*3 classes"),
            ({"priors": [0.6, 0.6, -0.2]}, "non-negative"),
            ({"priors": [0.0, 0.0, 0.0]}, "sum of the priors"),
            ({"covariance_estimator": OAS()}, "covariance.estimator.*svd"),
            ({**FULL, "shrinkage": 0.1, "covariance_estimator": OAS()}, "Only one of the two"),
            ({**FULL, "covariance_estimator": object}, "(?i)estimator"),
        ]
    ),
    (LDA, {"n_components": 3}, "n_components cannot be larger"),
    (LDA, {"n_components": 0}, "n_components"),
    (LDA, {"n_components": -1}, "n_components"),
    (LDA, {"n_components": 1.5}, "n_components"),
    (LDA, {**SHRUNK, "n_components": 3}, "n_components cannot be larger"),
    (QDA, {"solver": "lsqr"}, r"solver must be .*; got 'lsqr'"),
    (QDA, {"reg_param": -0.1}, r"reg_param must be .*; got -0.1"),
    (QDA, {"reg_param": 1.1}, r"reg_param must be .*; got 1.1"),
    (QDA, {"reg_param": np.nan}, r"reg_param must be .*; got nan"),
    (QDA, {"reg_param": None}, "reg_param"),
    *(
        (KDC, {"bandwidth": h}, f"bandwidth must be a finite number > 0; got {h}")
        for h in (0, -1.0, np.nan, np.inf)
    ),
    *(
        (KDC, {"bandwidth": h}, f"bandwidth must be a .*number > 0.*; got {h!r}")
        for h in (None, "wide", True)
    ),
    (KDC, {"kernel": "tophat"}, "kernel must be 'gaussian'; got 'tophat'"),
    (KDC, {"priors": [0.5, 0.5]}, "(?i)number of priors.*3 classes"),
]


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("kind", "given", "message"), BAD_PARAMETERS, ids=[f"{k.__name__}-{g}" for k, g, _ in BAD_PARAMETERS]
)
def test_bad_hyper_parameters_are_refused_in_fit(kind, given, message, how):
    if how == "partial_fit" and "covariance_estimator" in given:
        assert not hasattr(kind(**given), how)  # which needs statistics: it keeps none, whatever it is
        return
    classes = {"classes": [0, 1, 2]} if how == "partial_fit" else {}
    model = kind(**given)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(model, how)(X, Y, **classes)
    assert set(vars(model)) == set(model.get_params(deep=False))
    fitted = kind().fit(X, Y)
    before = fitted.predict_proba(X)
    held = inside(fitted.set_params(**given))
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(fitted, how)(X, Y)
    assert inside(fitted) == held
    np.testing.assert_array_equal(fitted.predict_proba(X), before)


@pytest.mark.parametrize("kind", [LDA, QDA])
@pytest.mark.parametrize("shrinkage", ["auto", 0.1, 0.0])
def test_shrinkage_with_svd_is_not_implemented(kind, shrinkage):
    with pytest.raises(NotImplementedError, match="shrinkage not supported with 'svd'"):
        kind(shrinkage=shrinkage).fit(X, Y)


@pytest.mark.parametrize("kind", [LDA, QDA])
def test_priors_that_do_not_sum_to_one_are_made_to_with_a_warning(kind):
    with pytest.warns(UserWarning, match="do not sum to 1") as caught:
        model = kind(priors=[2.0, 2.0, 4.0]).fit(X, Y)
    assert len(caught) == 1
    np.testing.assert_allclose(model.priors_, [0.25, 0.25, 0.5])


def test_lsqr_does_not_transform():
    with pytest.raises(NotImplementedError, match="lsqr"):
        LDA(solver="lsqr").fit(X, Y).transform(X)


def test_a_prior_of_zero_rules_a_class_out():
    for model in (NB(priors=[0, 0.5, 0.5]), LDA(priors=[0, 0.5, 0.5]), QDA(priors=[0, 0.5, 0.5])):
        P = model.fit(X, Y).predict_proba(X)
        assert (P[:, 0] == 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1)


# ---- before fit ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "ask",
    [
        *(lambda model, answer=answer: getattr(model, answer)(X) for answer in ANSWERS),
        lambda model: model.predict_proba(X, priors=[0.2, 0.3, 0.5]),
        lambda model: model.sample(),
        lambda model: model.marginal([0]),
        lambda model: model.condition({0: 1.0}),
        lambda model: model.merge(model),
        lambda model: clone(model).fit(X, Y).merge(model),
        lambda model: model.score(X, Y),
    ],
    ids=[*ANSWERS, "priors", "sample", "marginal", "condition", "merge", "merge with", "score"],
)
def test_nothing_is_answered_before_fit(model, ask):
    with pytest.raises(NotFittedError, match=f"{type(model).__name__} instance is not fitted yet"):
        ask(model)


@pytest.mark.parametrize("ask", ["transform", "contributions"])
def test_lda_answers_nothing_more_before_fit(ask):
    with pytest.raises(NotFittedError):
        getattr(LDA(), ask)(X)
    with pytest.raises(NotFittedError):
        LDA().to_linear()


# ---- questions -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("priors", "message"),
    [([0.5, 0.5], "3 classes"), ([1.5, -0.5, 0], "non-negative"), ([1, 1, 1], "sum of the priors")],
)
@pytest.mark.parametrize("answer", ["predict_proba", "predict_log_proba"])
def test_bad_priors_at_prediction(model, answer, priors, message):
    with pytest.raises(ValueError, match=message):
        getattr(model.fit(X, Y), answer)(X, priors=priors)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["z"], "no column named 'z'.*'a', 'b', 'c'"),
        ([3], "no column 3"),
        ([-1], "no column -1"),
        ([1.0], "no column 1.0"),
        (["a", "a"], "twice"),
        (["a", 0], "twice"),
        ([], "at least one column"),
        (None, "NoneType"),
    ],
    ids=str,
)
def test_bad_columns_of_a_marginal(model, columns, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(FRAME, Y).marginal(columns)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"z": 1.0}, "no column named 'z'"),
        ({3: 1.0}, "no column 3"),
        ({"a": 1.0, 0: 1.0}, "twice"),
        ({"a": np.nan}, "finite"),
        ({"a": np.inf}, "finite"),
        ({"a": "word"}, "column 'a' .* 'word' is not a number"),
        ({"a": None}, "column 'a' .* None is not a number"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, "leaves no column.*predict_proba"),
    ],
    ids=str,
)
def test_bad_condition(model, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(FRAME, Y).condition(given)


def test_condition_on_nothing_is_the_model_itself(model, capfd):
    model.fit(X, Y)
    same = model.condition({})
    np.testing.assert_allclose(same.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    assert capfd.readouterr() == ("", "")  # LAPACK complains there of matrices without rows


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_samples": 0}, "Invalid value for 'n_samples': 0"),
        ({"n_samples": -1}, "Invalid value for 'n_samples': -1"),
        ({"n_samples": 1.5}, "1.5"),
        ({"y": 9}, r"classes \[0, 1, 2\]; got 9"),
        ({"y": "word"}, "got 'word'"),
        ({"y": [0, 9], "n_samples": 2}, "got 9"),
        ({"y": [0, 1], "n_samples": 3}, "one label, or n_samples=3 of them; got 2"),
        ({"random_state": "chance"}, "chance"),
    ],
    ids=str,
)
def test_bad_sample(model, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, Y).sample(**given)


@pytest.mark.parametrize(
    "costs",
    [np.eye(2), np.ones(3), np.ones((3, 2)), np.full((3, 3), np.nan)],
    ids=["2x2", "3", "3x2", "NaN"],
)
def test_bad_costs(model, costs):
    with pytest.raises(ValueError, match=r"costs must be a finite \(3, 3\) table"):
        model.fit(X, Y).decide(X, costs=costs)


def test_reject_gives_none_where_all_cost_more(model):
    P = model.fit(X, Y).predict_proba(X)
    decided = model.decide(X, reject=0.3)
    np.testing.assert_array_equal([label is None for label in decided], 1 - P.max(axis=1) > 0.3)
    assert all(label is None for label in model.decide(X, reject=-1.0))


# ---- merge -----------------------------------------------------------------------------------------
OTHER = {NB: {"var_smoothing": 0.1}, LDA: {"tol": 0.1}, QDA: {"tol": 0.001}, KDC: {"bandwidth": 2.0}}


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (lambda m: clone(m).set_params(**OTHER[type(m)]).fit(X, Y), ValueError, "hyper-parameters differ"),
        (
            lambda m: clone(m).fit(X[:, :2], Y),
            ValueError,
            "columns differ: this model has 3 columns.*model 1 2 columns",
        ),
        (lambda m: clone(m).fit(FRAME, Y), ValueError, "columns differ"),
        (lambda m: clone(m).fit(X, Y + 1), ValueError, "classes differ.*union"),
        (lambda m: (LDA() if type(m) is NB else NB()).fit(X, Y), TypeError, "cannot merge"),
        (lambda m: clone(m).fit(X, Y).marginal([0, 1, 2]), ValueError, "needs the statistics"),
        (
            lambda m: clone(m).fit(np.column_stack([X, Y]), Y).condition({3: 1}),
            ValueError,
            "the statistics",
        ),
        (lambda m: naive_bayes.GaussianNB().fit(X, Y), TypeError, "merge"),
        (lambda m: None, TypeError, "merge"),
    ],
    ids=[
        "parameters",
        "columns",
        "names",
        "classes",
        "type",
        "marginal",
        "condition",
        "scikit-learn",
        "None",
    ],
)
def test_what_does_not_belong_together_is_not_merged(model, other, error, message):
    before = model.fit(X, Y).predict_log_proba(X)
    held = inside(model)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", lk.DegenerateWarning
        )  # the label as a column does not vary in a class
        stranger = other(model)
    with pytest.raises(error, match=message):
        model.merge(stranger)
    assert inside(model) == held
    np.testing.assert_array_equal(model.predict_log_proba(X), before)


@pytest.mark.parametrize("kind", [LDA, QDA])
def test_a_covariance_estimator_keeps_no_statistics(kind):
    model = kind(solver="eigen", covariance_estimator=OAS()).fit(X, Y)
    assert not hasattr(model, "merge")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match="statistics"):
        lk.merge([model, model])
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, Y, np.ones(60))


def test_merge_knows_one_way_to_join_classes(model):
    with pytest.raises(ValueError, match=r"classes must be None .*or 'union'; got 'all'"):
        model.fit(X, Y).merge(clone(model).fit(X, Y), classes="all")
    with pytest.raises(ValueError, match="at least one model"):
        lk.merge([])
