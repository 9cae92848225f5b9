"""LinearRegression and Ridge beside scikit-learn's: the same face and the same numbers."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.base import is_regressor
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import likelier as lk

PAIRS = [(lk.LinearRegression, linear_model.LinearRegression), (lk.Ridge, linear_model.Ridge)]
pairs = pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=[a.__name__ for a, _ in PAIRS])
X, Y = load_diabetes(return_X_y=True, scaled=False)
TARGETS = {"flat": Y, "a column": Y[:, None], "three": np.column_stack([Y, np.sqrt(Y), -(Y**2)])}
WEIGHTS = {"none": None, "a number": 2.0, "rows": np.random.default_rng(0).exponential(size=len(Y))}


def assert_agree(a, b, rows, rtol=1e-9):
    for name in ("coef_", "intercept_"):
        ours, value = getattr(a, name), getattr(b, name)
        assert np.shape(ours) == np.shape(value), name
        scale = np.max(np.abs(np.atleast_1d(value)), axis=-1, keepdims=True)
        assert (np.abs(ours - value) <= rtol * scale).all(), name
    assert a.predict(rows).shape == b.predict(rows).shape
    np.testing.assert_allclose(a.predict(rows), b.predict(rows), rtol=rtol)


# ---- the face --------------------------------------------------------------------------------------
@pairs
def test_constructor_has_the_same_parameters_defaults_and_kinds(ours, theirs):
    wanted, found = (list(inspect.signature(model).parameters.values()) for model in (theirs, ours))
    assert [(p.name, p.kind, p.default) for p in wanted] == [
        (p.name, p.kind, p.default) for p in found[: len(wanted)]
    ]
    assert [p.name for p in found[len(wanted) :]] == ["encode"]
    assert repr(ours()) == repr(theirs())


@pairs
def test_every_public_method_and_attribute_exists(ours, theirs):
    for name, _ in inspect.getmembers(theirs, callable):
        assert name.startswith("_") or callable(getattr(ours, name, None)), name
    a, b = ours().fit(X, Y), theirs().fit(X, Y)
    fitted = {name for name in vars(b) if name.endswith("_") and not name.startswith("_")}
    assert all(hasattr(a, name) for name in fitted)
    assert is_regressor(a)


@pairs
def test_feature_names_are_kept_and_checked(ours, theirs):
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    model = ours().fit(frame, Y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["c", "a", "b"]])
    np.testing.assert_array_equal(model.predict(frame), ours().fit(X[:, :3], Y).predict(X[:, :3]))


@pairs
def test_a_place_in_scikit_learns_machinery(ours, theirs):
    a, b = (make_pipeline(StandardScaler(), model()) for model in (ours, theirs))
    np.testing.assert_allclose(cross_val_score(a, X, Y), cross_val_score(b, X, Y), rtol=1e-9)
    np.testing.assert_allclose(ours().fit(X, Y).score(X, Y), theirs().fit(X, Y).score(X, Y), rtol=1e-10)
    with pytest.raises(NotFittedError):
        check_is_fitted(ours())


def test_grid_search_over_the_penalty():
    grid = {"alpha": [0.1, 1.0, 10.0, 100.0]}
    a, b = (GridSearchCV(model(), grid).fit(X, Y) for model in (lk.Ridge, linear_model.Ridge))
    assert a.best_params_ == b.best_params_


# ---- numbers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("how", [{}, {"fit_intercept": False}, {"positive": True}], ids=str)
def test_linear_regression_has_the_same_numbers(how, weights, targets):
    T, w = TARGETS[targets], WEIGHTS[weights]
    a, b = (m.LinearRegression(**how).fit(X, T, w) for m in (lk, linear_model))
    assert_agree(a, b, X)
    if "positive" not in how:
        assert a.rank_ == b.rank_ == X.shape[1]
        np.testing.assert_allclose(a.singular_, b.singular_, rtol=1e-10)


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e4])
def test_ridge_has_the_same_numbers(alpha, intercept, weights, targets):
    T, w = TARGETS[targets], WEIGHTS[weights]
    how = {"alpha": alpha, "fit_intercept": intercept}
    ours = lk.Ridge(**how).fit(X, T, w)
    assert_agree(ours, linear_model.Ridge(**how, solver="svd").fit(X, T, w), X)


def test_ridge_takes_a_penalty_for_each_target():
    a, b = (m.Ridge(alpha=[0.0, 1.0, 50.0]).fit(X, TARGETS["three"]) for m in (lk, linear_model))
    assert_agree(a, b, X)


@pytest.mark.parametrize("solver", ["svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"])
def test_every_solver_of_ridge_is_the_exact_one(solver):
    ours = lk.Ridge(solver=solver, max_iter=3, tol=0.1, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(ours.coef_, lk.Ridge().fit(X, Y).coef_)


def test_deficient_rows_have_scikit_learns_solution():
    wide = np.random.default_rng(1).normal(size=(10, 25))
    twice = np.column_stack([X, X[:, 2] - X[:, 3], np.full(len(X), 7.0)])
    for table in (wide, twice):
        y = Y[: len(table)]
        with pytest.warns(lk.DegenerateWarning):
            a = lk.LinearRegression().fit(table, y)
        b = linear_model.LinearRegression().fit(table, y)
        assert_agree(a, b, table)
        assert a.rank_ == b.rank_
        np.testing.assert_allclose(a.singular_[: a.rank_], b.singular_[: b.rank_], rtol=1e-10)


@pytest.mark.parametrize("gap", [1e-9, 1e-3])
@pytest.mark.parametrize("tol", [0.0, 1e-5, 1e-2])
def test_tol_decides_which_columns_count_as_dependent(tol, gap):
    """On columns of one length: there scikit-learn's `cond` and ours are the same."""
    rng = np.random.default_rng(2)
    table = rng.normal(size=(200, 3))
    table[:, 2] = table[:, 1] + gap * table[:, 2]
    y = table @ [1.0, 2.0, 3.0] + rng.normal(size=200)
    theirs = linear_model.LinearRegression(tol=tol).fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.DegenerateWarning)
        ours = lk.LinearRegression(tol=tol).fit(table, y)
    assert ours.rank_ == theirs.rank_ == 2 + (gap > tol)
    np.testing.assert_allclose(
        ours.coef_, theirs.coef_, rtol=1e-6 if ours.rank_ == 3 else 1e-2 * gap + 1e-9
    )
    np.testing.assert_allclose(ours.predict(table), theirs.predict(table), rtol=0, atol=1e-6)
    assert ours.summary().df == 200 - 1 - ours.rank_


@pairs
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_are_dense_rows(ours, theirs, dtype):
    table = sparse.random_array(
        (400, 9), density=0.3, rng=np.random.default_rng(0), dtype=dtype, format="csr"
    )
    y = np.random.default_rng(1).normal(size=400)
    a, b = ours().fit(table, y), theirs().fit(table.toarray().astype(float), y)
    single = dtype == np.float32  # then coefficients are shown, and predictions made, in single precision
    assert_agree(a, b, table.toarray().astype(float), rtol=1e-6 if single else 1e-9)
    np.testing.assert_allclose(a.predict(table), a.predict(table.toarray()), rtol=1e-12)


@pairs
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
def test_other_numbers_are_taken_as_they_are(ours, theirs, dtype):
    table = np.random.default_rng(0).integers(0, 9 if dtype is not bool else 2, size=(90, 4)).astype(dtype)
    y = Y[:90].astype(np.float32)
    a, b = ours().fit(table, y), theirs().fit(table.astype(float), y.astype(float))
    assert_agree(a, b, table, rtol=1e-6 if dtype is np.float32 else 1e-9)
