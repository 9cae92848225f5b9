"""What a regression cannot use is refused in words, and nothing is half-fitted."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import likelier as lk

MODELS = [lk.LinearRegression(encode=False), lk.Ridge(encode=False)]
X = np.random.default_rng(0).normal(size=(40, 3))
Y = X @ [1.0, -2.0, 0.5] + np.random.default_rng(1).normal(size=40)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.fixture(params=MODELS, ids=str)
def model(request):
    return clone(request.param)


@pytest.fixture(params=["fresh", "fitted"])
def watched(request, model):
    """The model, fitted or not, and a check that it is as it was."""
    if request.param == "fitted":
        model.fit(X, Y)
    before = pickle.dumps(vars(model))

    def check():
        assert pickle.dumps(vars(model)) == before

    return model, check


def holding(value, of=X, at=(4, 1)):
    table = of.copy()
    table[at] = value
    return table


BAD = {
    "NaN": (holding(np.nan), Y, "X contains NaN: row 4, column 1"),
    "infinity": (holding(-np.inf), Y, "X contains infinity.*row 4, column 1"),
    "NaN in CSR": (sparse.csr_array(holding(np.nan)), Y, "X contains NaN: row 4, column 1"),
    "text": (np.full((40, 3), "word"), Y, "string"),
    "one dimension": (X[:, 0], Y, "2D array, got 1D"),
    "no rows": (X[:0], Y[:0], "0 sample"),
    "no columns": (X[:, :0], Y, "0 feature"),
    "NaN in y": (X, holding(np.nan, Y, 7), "y contains NaN: row 7"),
    "infinity in y": (X, holding(np.inf, Y, 7), "y contains infinity.*row 7"),
    "NaN in a y of integers as objects": (X, holding(None, Y.astype(object), 7), "y contains NaN: row 7"),
    "no y": (X, None, "requires y to be passed"),
    "y of text": (X, np.full(40, "word"), "(?i)string"),
    "complex y": (X, Y + 1j, "(?i)complex"),
    "another length": (X, Y[:30], "inconsistent numbers of samples"),
    "y in three dimensions": (X, Y[:, None, None], r"(?i)dim|shape"),
    "y without columns": (X, np.empty((40, 0)), "shape"),
    "hidden targets": (X, np.ma.masked_array(Y, Y > 0), "masked"),
    "dates for targets": (X, np.arange(40).astype("M8[D]"), "dates"),
}


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_rows_are_refused_and_leave_nothing_behind(watched, kind, how):
    table, y, message = BAD[kind]
    model, check = watched
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(model, how)(table, y)
    check()


@pytest.mark.parametrize("kind", ["NaN", "infinity", "NaN in CSR", "text", "one dimension", "no rows"])
def test_bad_rows_are_refused_by_predict(model, kind):
    table, _, message = BAD[kind]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.fit(X, Y).predict(table)


def test_the_column_is_named(model):
    table = FRAME.assign(b=holding(np.nan)[:, 1])
    with pytest.raises(ValueError, match=r"column 1 \('b'\)"):
        model.fit(table, Y)
    with pytest.raises(ValueError, match=r"column 1 \('b'\)"):
        model.fit(FRAME, Y).predict(table)


WEIGHTS = {
    "negative": (holding(-1.0, np.ones(40), 3), "Negative values.*row 3"),
    "NaN": (holding(np.nan, np.ones(40), 3), "NaN"),
    "all 0": (np.zeros(40), "all zero"),
    "too few": (np.ones(39), "expected"),
    "a table": (np.ones((40, 2)), "1D"),
}


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_bad_weights_are_refused(model, kind, how):
    w, message = WEIGHTS[kind]
    with pytest.raises(ValueError, match=message):
        getattr(model, how)(X, Y, sample_weight=w)
    assert "_model" not in vars(model)


def test_weightless_rows_after_rows_change_nothing(model):
    model.fit(X, Y)
    before = model.coef_
    np.testing.assert_array_equal(model.partial_fit(1e6 * X, Y, np.zeros(40)).coef_, before)


PARAMETERS = [
    (lk.Ridge(alpha=-1.0), "alpha"),
    (lk.Ridge(alpha=np.nan), "alpha"),
    (lk.Ridge(alpha=[1.0, 2.0]), "penalties do not correspond: 2 != 1"),
    (lk.Ridge(alpha=[[1.0]]), "alpha"),
    (lk.Ridge(solver="magic"), "solver.*svd"),
    (lk.LinearRegression(tol=-1.0), "tol"),
]


@pytest.mark.parametrize(("model", "message"), PARAMETERS, ids=[str(m) for m, _ in PARAMETERS])
def test_bad_parameters_are_refused_by_fit(model, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, Y)


# ---- later ---------------------------------------------------------------------------------------
def test_nothing_is_answered_before_fit(model):
    for ask in (lambda: model.predict(X), model.summary, lambda: model.merge(model)):
        with pytest.raises(NotFittedError):
            ask()


def test_columns_and_targets_stay_what_they_were(model):
    model.fit(FRAME, Y)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(FRAME.rename(columns={"a": "z"}), Y)
    with pytest.raises(ValueError, match=r"got \(2,\)"):
        model.partial_fit(FRAME, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="2 features"):
        clone(model).fit(X, Y).predict(X[:, :2])


MISMATCHES = {
    "kind": (lk.Ridge().fit(X, Y), TypeError, "cannot merge"),
    "parameters": (lk.LinearRegression(fit_intercept=False).fit(X, Y), ValueError, "fit_intercept"),
    "columns": (lk.LinearRegression().fit(X[:, :2], Y), ValueError, "columns differ"),
    "names": (lk.LinearRegression().fit(FRAME, Y), ValueError, "columns differ"),
    "targets": (lk.LinearRegression().fit(X, np.column_stack([Y, Y])), ValueError, "targets differ"),
}


@pytest.mark.parametrize("kind", MISMATCHES)
def test_what_was_not_fitted_alike_is_not_merged(kind):
    other, error, message = MISMATCHES[kind]
    with pytest.raises(error, match=message):
        lk.LinearRegression().fit(X, Y).merge(other)


def test_a_regression_has_no_classes_to_join(model):
    with pytest.raises(TypeError, match="classes"):
        model.fit(X, Y).merge(model, classes="union")


# ---- rows that leave the model open --------------------------------------------------------------
def test_dependent_columns_are_named():
    table = FRAME.assign(d=FRAME.a - FRAME.b, e=0.1)
    with pytest.warns(lk.DegenerateWarning, match=r"3 of 5 columns \('a', 'b', 'd'\).*Rank 3"):
        model = lk.LinearRegression().fit(table, Y)
    assert model.coef_[4] == 0
    with pytest.warns(lk.DegenerateWarning, match=r"3 of 5 columns \(0, 1, 3\)"):
        lk.LinearRegression().fit(table.to_numpy(), Y)


def test_many_dependent_columns_are_counted():
    with pytest.warns(lk.DegenerateWarning, match="30 of 30 columns.*and 20 more"):
        lk.LinearRegression().fit(np.random.default_rng(0).normal(size=(8, 30)), Y[:8])


def test_more_rows_may_come_so_partial_fit_does_not_warn():
    model = lk.LinearRegression()
    for row in range(40):
        model.partial_fit(X[[row]], Y[[row]])
    np.testing.assert_allclose(model.coef_, lk.LinearRegression().fit(X, Y).coef_, rtol=1e-12)


def test_a_penalty_determines_every_column():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lk.Ridge().fit(np.column_stack([X, X]), Y)
    with pytest.warns(lk.DegenerateWarning, match="Ridge"):
        lk.Ridge(alpha=0.0).fit(np.column_stack([X, X]), Y)


def test_one_row_and_one_value_have_a_defined_result(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.DegenerateWarning)
        one, same = clone(model).fit(X[:1], Y[:1]), clone(model).fit(np.ones((5, 2)), Y[:5])
    np.testing.assert_array_equal(one.coef_, 0)
    np.testing.assert_allclose(one.predict(X[:1]), Y[:1])
    np.testing.assert_allclose(same.predict(np.ones((1, 2))), Y[:5].mean())


# ---- summary -------------------------------------------------------------------------------------
def test_bad_questions_to_a_summary_are_refused():
    model = lk.LinearRegression().fit(X, Y)
    for arguments, message in [
        ({"cov": "HC4"}, "HC3"),
        ({"level": 95}, "level"),
        ({"cov": "HC1"}, "needs the rows"),
        ({"X": X[:20], "y": Y[:20], "cov": "HC1"}, "not the rows"),
        ({"X": X, "y": -Y, "cov": "HC1"}, "not the rows"),
        ({"X": X, "y": Y, "cov": "HC1", "sample_weight": np.arange(40.0)}, "not the rows"),
        ({"X": holding(np.nan), "y": Y, "cov": "HC1"}, "NaN or infinity: row 4"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.summary(**arguments)
    with pytest.raises(ValueError, match="positive"):
        lk.LinearRegression(positive=True).fit(X, Y).summary()
    with pytest.raises(ValueError, match="penalty"):
        lk.Ridge().fit(X, Y).summary(X, Y, cov="HC0")


def test_the_summary_of_a_penalised_fit_says_what_it_is():
    assert "Approximate" in str(lk.Ridge().fit(X, Y).summary())
    assert "Approximate" not in str(lk.Ridge(alpha=0.0).fit(X, Y).summary())


def test_no_degree_of_freedom_leaves_no_errors():
    model = lk.LinearRegression().fit(X[:4], Y[:4])
    with pytest.warns(lk.DegenerateWarning, match="0 degrees of freedom"):
        summary = model.summary()
    assert np.isnan(summary.errors).all()
    assert np.isnan(summary.p).all()
    np.testing.assert_allclose(summary.r2, 1.0)


def test_a_row_of_leverage_1_has_no_hc3():
    table = np.column_stack([X, np.arange(40) == 17])
    model = lk.LinearRegression().fit(table, Y)
    with pytest.raises(ValueError, match=r"row 17.*leverage 1"):
        model.summary(table, Y, cov="HC3")
    assert np.isfinite(model.summary(table, Y, cov="HC1").errors).all()


def test_the_summary_of_deficient_rows_is_that_of_the_shortest_solution():
    """Var b = σ² (XᵀX)⁺, with as many degrees of freedom as the rank leaves."""
    table = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(lk.DegenerateWarning):
        model = lk.LinearRegression().fit(table, Y)
    summary, plain = model.summary(), lk.LinearRegression().fit(X, Y).summary()
    Z = np.column_stack([np.ones(40), table])
    C = table - table.mean(axis=0)
    np.testing.assert_allclose([summary.df, summary.sigma], [plain.df, plain.sigma], rtol=1e-12)
    np.testing.assert_allclose(
        summary.errors[1:], summary.sigma * np.sqrt(np.diag(np.linalg.pinv(C.T @ C))), rtol=1e-9
    )
    e = Y - Z @ summary.estimates
    middle = np.linalg.pinv(C) * e
    robust = model.summary(table, Y, cov="HC0").errors[1:]
    np.testing.assert_allclose(robust, np.sqrt(np.diag(middle @ middle.T)), rtol=1e-9)


def test_summary_as_a_table_and_as_a_frame():
    summary = lk.LinearRegression().fit(FRAME, Y).summary(level=0.9)
    frame = summary.to_frame()
    assert list(frame.index) == ["intercept", "a", "b", "c"]
    assert list(frame.columns) == ["estimate", "std. error", "t", "p", "5 %", "95 %"]
    np.testing.assert_array_equal(frame["estimate"], summary.estimates)
    printed = str(summary).splitlines()
    assert printed[0] == "40 rows, 36 residual degrees of freedom; classical errors"
    assert [line.split()[0] for line in printed[2:6]] == ["intercept", "a", "b", "c"]
    both = lk.LinearRegression().fit(FRAME, np.column_stack([Y, Y])).summary()
    np.testing.assert_allclose(both[1].errors, both[0].errors)


@pytest.mark.parametrize("cov", ["classical", "HC0", "HC1"])
def test_constant_columns_leave_nothing_to_test(cov):
    table = np.ones((40, 2))
    with pytest.warns(lk.DegenerateWarning):
        model = lk.LinearRegression().fit(table, Y)
    summary = model.summary(table, Y, cov=cov)
    np.testing.assert_allclose(summary.estimates, [Y.mean(), 0, 0])
    np.testing.assert_allclose(summary.r2, 0, atol=1e-15)
    assert np.isnan(summary.F_p)
    assert summary.df == 39


def test_no_degree_of_freedom_leaves_no_robust_errors_either():
    with pytest.warns(lk.DegenerateWarning, match="0 degrees of freedom"):
        summary = lk.LinearRegression().fit(X[:4], Y[:4]).summary(X[:4], Y[:4], cov="HC1")
    assert np.isnan(summary.errors).all()
    assert np.isnan(summary.F)


@pytest.mark.parametrize("model", [lk.LinearRegression(positive=True), lk.Ridge(positive=True)], ids=repr)
def test_one_row_has_no_slope_that_is_not_negative(model):
    """Centred it says nothing, and there is nothing to solve: weights are 0, not memory as it was found."""
    for _ in range(20):
        assert (np.full(7, -1e231) < 0).all()  # leaves memory behind that is no 0
        model.fit([[1.0, 2.0, 3.0]], [4.0])
        np.testing.assert_array_equal(model.coef_, 0.0)
        np.testing.assert_array_equal(model.predict([[9.0, 9.0, 9.0]]), 4.0)
