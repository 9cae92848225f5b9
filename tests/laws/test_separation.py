"""Classes that columns separate: found, named, and never found where they overlap."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import likelier as lk
from likelier.choose_solver import SOLVER_SPECS
from likelier.inference import separation

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(params=["by programming", "by curvature"])
def way(request, monkeypatch):
    """Few rows, and as if they were many."""
    if request.param == "by curvature":
        monkeypatch.setattr(separation, "EXACT", -1)
    return request.param


def overlapping(seed, n=150, p=3, K=2):
    """Rows of which each class has some at nearly every place."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.argmax(X @ rng.normal(size=(K, p)).T / 2 + rng.gumbel(size=(n, K)), axis=1), rng


def separated(X, y, **how):
    """A fit to separated rows, after what it must hold of each."""
    with pytest.warns(lk.SeparationWarning) as said:
        model = lk.LogisticRegression(C=np.inf).fit(X, y, **how)
    assert len(said) == 1
    assert not model.converged_
    assert "separation" in model.stop_reason_
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    with pytest.raises(ValueError, match="separate"):
        model.summary()
    return model.separation_, str(said[0].message)


def test_one_column_separates_completely(way):
    X, _, _ = overlapping(0)
    found, said = separated(X, np.where(X[:, 1] > 0.1, "yes", "no"))
    assert found.kind == "complete"
    assert "completely" in said
    assert found.columns == (1,) if way == "by programming" else 1 in found.columns


def test_two_columns_separate_together(way):
    X, _, _ = overlapping(1)
    found, _ = separated(X, X[:, 0] > X[:, 2])
    assert found.kind == "complete"
    assert found.columns == (0, 2) if way == "by programming" else {0, 2} <= set(found.columns)


@pytest.mark.parametrize("label", [0, 1])
@settings(max_examples=10)
@given(seed=seeds)
def test_a_dummy_column_separates_in_part(label, seed):
    """All rows that have it are of one class: what others leave undetected."""
    X, y, rng = overlapping(seed)
    dummy = (rng.random(len(y)) < 0.1) & (y == label)
    dummy[np.argmax(y == label)] = True
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(smoker=dummy.astype(float))
    for exact in (1_000_000, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(separation, "EXACT", exact)
            found, said = separated(table, np.array(["ill", "well"])[y])
        assert (found.kind, found.columns, found.classes) == ("quasi-complete", (3,), (label,))
        assert "'smoker'" in said
        assert repr(["ill", "well"][label]) in said


@pytest.mark.usefixtures("way")
def test_two_dummies_are_both_named():
    X, y, rng = overlapping(2)
    one, other = ((rng.random(len(y)) < 0.2) & (y == k) for k in (0, 1))
    found, _ = separated(np.column_stack([X, one, other]).astype(float), y)
    assert (found.kind, found.columns, found.classes) == ("quasi-complete", (3, 4), (0, 1))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("label", [0, 1, 2])
def test_one_of_three_classes(label):
    X, y, rng = overlapping(3, K=3)
    dummy = (rng.random(len(y)) < 0.2) & (y == label)
    found, said = separated(np.column_stack([X, dummy]).astype(float), y)
    assert (found.kind, found.columns, found.classes) == ("quasi-complete", (3,), (label,))
    assert "column 3 " in said


def test_iris_setosa(way):
    X, y = load_iris(return_X_y=True, as_frame=True)
    found, said = separated(X, np.array(["setosa", "versicolor", "virginica"])[y])
    assert found.kind == "quasi-complete"
    assert 0 in found.classes
    assert "'setosa'" in said
    if way == "by programming":  # petals alone do
        assert found.columns in ((2,), (3,))
        assert found.classes == (0,)


@pytest.mark.usefixtures("way")
def test_three_classes_completely():
    X, _, _ = overlapping(4)
    found, _ = separated(X, np.argmax(X, axis=1))
    assert (found.kind, found.columns, found.classes) == ("complete", (0, 1, 2), (0, 1, 2))


@pytest.mark.usefixtures("way")
def test_rows_without_weight_do_not_overlap():
    X, _, _ = overlapping(5)
    y = (X[:, 0] > 0).astype(int)
    weight = np.ones(len(y))
    y[:5], weight[:5] = 1 - y[:5], 0.0
    found, _ = separated(X, y, sample_weight=weight)
    assert found.kind == "complete"
    assert lk.LogisticRegression(C=np.inf).fit(X, y).separation_ is None


@pytest.mark.usefixtures("way")
def test_units_and_distance_do_not_matter():
    X, y, _ = overlapping(6)
    dummy = np.where((y == 1) & (X[:, 0] > 0.5), 1e-3, 0.0) + 1e3
    found, _ = separated(np.column_stack([X * [1e6, 1e-6, 1.0] + [0, 1.0, 1e4], dummy]), y)
    assert (found.kind, found.columns, found.classes) == ("quasi-complete", (3,), (1,))


def test_without_an_intercept():
    """Nothing separates but what does so about 0."""
    X, y, _ = overlapping(7)
    with pytest.warns(lk.SeparationWarning):
        about_0 = lk.LogisticRegression(C=np.inf, fit_intercept=False).fit(X, X[:, 0] > 0)
    assert about_0.separation_.columns == (0,)
    one_class_there = np.abs(X[:, :1]) + 1
    model = lk.LogisticRegression(C=np.inf, fit_intercept=False).fit(one_class_there, y)
    assert model.separation_ is None


# ---- no false alarm ------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
def test_no_alarm_where_classes_overlap(K):
    """Warnings are errors here."""
    for seed in range(100):
        X, y, _ = overlapping(seed, n=40 * K, p=2, K=K)
        model = lk.LogisticRegression(C=np.inf).fit(X, y)
        assert model.separation_ is None
        assert model.converged_


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("gap", [1.0, 1e-3])
def test_one_row_on_the_other_side_is_enough(gap):
    x = np.linspace(-1, 1, 60)
    y = (x > 0).astype(int)
    y[29], y[30] = 1, 0  # beside the boundary, and across it
    model = lk.LogisticRegression(C=np.inf).fit(gap * x[:, None], y)
    assert model.converged_
    assert model.separation_ is None
    assert np.isfinite(model.summary().errors).all()


@pytest.mark.usefixtures("way")
def test_dependent_columns_are_not_separation():
    X, y, _ = overlapping(8)
    assert lk.LogisticRegression(C=np.inf).fit(np.column_stack([X, X[:, 0]]), y).separation_ is None


def test_a_rare_class_is_not_separation():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(20_000, 2))
    y = rng.random(len(X)) < 1e-3
    assert lk.LogisticRegression(C=np.inf).fit(X, y).separation_ is None


@pytest.mark.parametrize("how", [{"C": 1.0}, {"C": 1e6}])
def test_penalties_hold_the_weights(how):
    X, _, _ = overlapping(10)
    model = lk.LogisticRegression(**how).fit(X, X[:, 0] > 0)
    assert model.converged_
    assert model.separation_ is None


def test_columns_that_bear_no_penalty_may_separate():
    X, y, rng = overlapping(11)
    dummy = ((rng.random(len(y)) < 0.2) & (y == 1)).astype(float)
    with pytest.warns(lk.SeparationWarning, match="column 3 "):
        lk.LogisticRegression(penalty_weights=[1, 1, 1, 0]).fit(np.column_stack([X, dummy]), y)


# ---- every solver --------------------------------------------------------------------------------
SOLVERS = [name for name, able in SOLVER_SPECS.items() if not (able.l2 or able.in_memory)]


@pytest.mark.parametrize("solver", SOLVERS)
def test_whatever_the_solver(solver):
    X, y, rng = overlapping(15)
    dummy = ((rng.random(len(y)) < 0.2) & (y == 1)).astype(float)
    with pytest.warns(lk.SeparationWarning, match="column 3 "):
        model = lk.LogisticRegression(C=np.inf, solver=solver).fit(np.column_stack([X, dummy]), y)
    assert not model.converged_
    apart = lk.LogisticRegression(C=np.inf, solver=solver, tol=1e-3, max_iter=2000).fit(X, y)
    assert apart.separation_ is None
    exact = lk.LogisticRegression(C=np.inf).fit(X, y).summary()
    # Without a penalty the end of every solver is checked by the Hessian there: errors need no rows.
    np.testing.assert_allclose(apart.summary().errors, exact.errors, rtol=0.01)
    np.testing.assert_allclose(apart.summary(X, y).errors, exact.errors, rtol=0.01)


# ---- fits that end early -------------------------------------------------------------------------
def test_a_fit_cut_short_is_told_from_one_without_end():
    X, y, _ = overlapping(12)
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as said:
        cut = lk.LogisticRegression(C=np.inf, max_iter=1).fit(X, y)
    assert len(said) == 1
    assert cut.separation_ is None
    with pytest.warns(lk.SeparationWarning) as said:
        endless = lk.LogisticRegression(C=np.inf, max_iter=3).fit(X, X[:, 0] > 0)
    assert len(said) == 1
    assert endless.n_iter_[0] == 3


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("tol", [0.0, 1e-12, 1e-2])
def test_no_weight_is_ever_lost(tol):
    """However far a fit is driven, weights are finite and separation is what ended it."""
    X, _, _ = overlapping(13)
    with pytest.warns(lk.SeparationWarning):
        model = lk.LogisticRegression(C=np.inf, tol=tol, max_iter=1000).fit(X, X[:, 0] > 0)
    assert np.isfinite(model.coef_).all()
    assert not model.converged_
    assert model.score(X, X[:, 0] > 0) == 1.0


def test_refused_warnings_leave_the_estimator_as_it_was():
    X, _, _ = overlapping(14)
    model = lk.LogisticRegression(C=np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(lk.SeparationWarning):
            model.fit(X, X[:, 0] > 0)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("k", [1, 100])
def test_a_rare_dummy_among_many_rows(k, monkeypatch):
    """Rows that lack it have nothing but rounding on either side of the direction."""
    monkeypatch.setattr(separation, "EXACT", -1)
    X, y, _ = overlapping(7, n=10_000)
    ones = np.flatnonzero(y == 1)
    rare = np.zeros(len(y))
    rare[ones[ones % 10 > 0][:k]] = 1  # where rows are not looked at for the shift: it is 0
    found, _ = separated(np.column_stack([X, rare]), y)
    assert (found.kind, found.columns, found.classes) == ("quasi-complete", (3,), (1,))


def test_both_classes_are_not_told_from_others():
    found, said = separated(np.r_[0:5, 4:9].astype(float)[:, None], np.repeat([0, 1], 5))
    assert found.classes == (0, 1)
    assert "in part (quasi-complete separation). The likelihood" in said


# ---- by how little classes overlap ---------------------------------------------------------------
@pytest.mark.parametrize("overlap", [1e-5, 1e-6, 2e-9, 1e-12])
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e6])
def test_classes_that_overlap_by_however_little_have_a_maximum(overlap, unit):
    rng = np.random.default_rng(0)
    x = np.r_[rng.uniform(-1, -0.01, 50), rng.uniform(0.01, 1, 50), overlap / 2, -overlap / 2]
    y = np.r_[np.zeros(50), np.ones(50), 0, 1].astype(int)
    model = lk.LogisticRegression(C=np.inf, max_iter=1000).fit(x[:, None] * unit, y)
    assert model.separation_ is None
    assert model.converged_
    x[-2:] = -x[-2:]  # no longer
    with pytest.warns(lk.SeparationWarning, match="completely"):
        lk.LogisticRegression(C=np.inf).fit(x[:, None] * unit, y)


@pytest.mark.parametrize("at", [0.0, 0.1, 1 / 3, 10.1])
def test_rows_of_both_classes_on_the_boundary_separate_in_part(at):
    rng = np.random.default_rng(1)
    x = np.r_[rng.uniform(-1, -0.01, 50), rng.uniform(0.01, 1, 50), 0, 0, 0, 0] + at
    y = np.r_[np.zeros(50), np.ones(50), 0, 1, 0, 1].astype(int)
    other = np.r_[rng.standard_normal(100), 0.3, 0.1, -0.4, -0.2]  # overlaps on the boundary
    for X in (x[:, None], np.column_stack([x + 0.25 * other, other])):
        with pytest.warns(lk.SeparationWarning, match="in part"):
            found = lk.LogisticRegression(C=np.inf).fit(X, y).separation_
        assert found.kind == "quasi-complete"
        assert found.columns == tuple(range(X.shape[1]))
