"""The laws of margin losses: one optimum, however the rows come, and as near to it as is claimed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.generators import SEEDS
from laws.test_estimators import PROBLEMS, fewer, problem

EVERY = [lk.LinearSVC(), lk.LinearSVC(loss="hinge"), lk.LinearSVC(loss="perceptron")]
every = pytest.mark.parametrize("estimator", EVERY, ids=lambda e: e.loss)
SHARP = {"squared_hinge": 1e-8, "hinge": 1e-6, "perceptron": 1e-4}


def fit(estimator, X, y, w=None, **how):
    model = lk.LinearSVC(loss=estimator.loss, tol=SHARP[estimator.loss], **how)
    return model.fit(X, y, w)


def assert_close(a, b, tolerance=1e-6):
    size = max(1.0, np.abs(b.coef_).max(), np.abs(b.intercept_).max())
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=0, atol=tolerance * size)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=0, atol=tolerance * size)


@parametrize_with_checks(EVERY)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# ---- the optimum -----------------------------------------------------------------------------------
@st.composite
def hinge_problems(draw):
    """Few rows and many, on grid points and off, apart and mixed, one class much larger."""
    rng = np.random.default_rng(draw(SEEDS))
    n, p = draw(st.integers(2, 80)), draw(st.integers(1, 6))
    X = rng.standard_normal((n, p)) * draw(st.sampled_from([0.3, 1.0, 5.0]))
    X = np.round(X) if draw(st.booleans()) else X
    share = draw(st.sampled_from([0.0, 0.1, 1.0]))
    y = (X[:, 0] + share * rng.standard_normal(n) > draw(st.sampled_from([0.0, 1.0]))).astype(int)
    y[:2] = 0, 1
    return X, y, draw(st.sampled_from([1e-3, 0.1, 1.0, 30.0]))


@given(hinge_problems())
def test_hinge_is_as_near_its_optimum_as_it_says(data):
    X, y, C = data
    model = lk.LinearSVC(loss="hinge", C=C, tol=1e-5).fit(X, y)
    t, n = 2 * y - 1, len(y)
    w = model.coef_[0]
    F = np.maximum(1 - t * (X @ w + model.intercept_[0]), 0).mean() + w @ w / (2 * C * n)
    np.testing.assert_allclose(model.trace_[-1, 0], F, rtol=1e-9, atol=1e-12)
    assert model.converged_
    assert model.trace_[-1, 1] <= 1e-5
    # Any point of the dual bounds the optimum from below: here that of LIBSVM.
    other = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    bound = (np.abs(other.dual_coef_).sum() - (other.coef_**2).sum() / 2) / (C * n)
    v = other.coef_[0]
    theirs = np.maximum(1 - t * (X @ v + other.intercept_[0]), 0).mean() + v @ v / (2 * C * n)
    assert F <= theirs + 1e-10
    assert bound <= F + 1e-10


@given(hinge_problems())
def test_the_gradient_of_the_squared_hinge_is_0(data):
    X, y, C = data
    model = lk.LinearSVC(C=C, tol=1e-8).fit(X, y)
    t, w = 2 * y - 1, model.coef_[0]
    pull = 2 * t * np.maximum(1 - t * (X @ w + model.intercept_[0]), 0)  # (n,)
    size = 1 + np.abs(X).sum()
    np.testing.assert_allclose(C * X.T @ pull, w, atol=1e-9 * size)
    np.testing.assert_allclose(pull.sum(), 0, atol=1e-9 * size)


@given(SEEDS, st.sampled_from([0.0, 0.2]))
def test_the_criterion_ends_without_mistakes_where_a_line_parts_the_classes(seed, gap):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3)) * [1.0, 1e3, 1e-3] + [0.0, 5e3, 0.0]
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal(3)
    X, y = X[np.abs(z) > gap], (z > 0)[np.abs(z) > gap]
    model = lk.LinearSVC(loss="perceptron").fit(X, y)
    assert model.score(X, y) == 1
    assert model.converged_
    assert model.trace_[-1, 1] == 0


def test_the_criterion_keeps_the_fewest_mistakes_of_its_path():
    data = problem(K=2)
    model = lk.LinearSVC(loss="perceptron").fit(data.X, data.y)
    shares = model.trace_[:, 1] ** 2 / 2
    assert shares[-1] == shares.min() == pytest.approx(1 - model.score(data.X, data.y))
    assert (np.diff(model.trace_[:, 1]) <= 0).all()
    assert not model.converged_
    assert "no fewer mistakes" in model.stop_reason_
    assert model.score(data.X, data.y) >= lk.LinearSVC().fit(data.X, data.y).score(data.X, data.y) - 0.05


def test_the_first_step_of_the_criterion_is_the_mean_of_tx():
    """At weights of 0 every row is on the boundary, and counts as a mistake."""
    X, y = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 1])
    model = lk.LinearSVC(loss="perceptron", fit_intercept=False).fit(X, y)
    metric = X.T @ X / 2
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(metric, [-1.0, 0.5]), rtol=1e-8)
    assert model.n_iter_ == 1


# ---- the same rows, otherwise ----------------------------------------------------------------------
@every
@fewer
@given(data=PROBLEMS)
def test_more_classes_are_each_against_the_rest(estimator, data):
    model = fit(estimator, data.X, data.y)
    if len(model.classes_) == 2:
        assert model.coef_.shape == (1, data.X.shape[1])
        return
    assert model.coef_.shape == (len(model.classes_), data.X.shape[1])
    each = [fit(estimator, data.X, data.y == label) for label in model.classes_]
    np.testing.assert_allclose(model.coef_, np.vstack([one.coef_ for one in each]), rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, np.hstack([one.intercept_ for one in each]), rtol=1e-9)
    longest = max(each, key=lambda one: one.n_iter_)
    assert model.n_iter_ == longest.n_iter_
    np.testing.assert_allclose(model.trace_[-1], longest.trace_[-1], rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.to_linear().predict(data.X), model.predict(data.X))


@every
def test_a_weight_is_a_repetition_and_0_an_absence(estimator):
    data = problem(K=3)
    w = np.arange(len(data.y)) % 3
    rows = np.repeat(np.arange(len(w)), w)
    a, b = fit(estimator, data.X, data.y, w), fit(estimator, data.X[rows], data.y[rows])
    assert_close(a, b, 1e-5)


@every
def test_sparse_rows_and_files_are_rows(estimator, tmp_path):
    data = problem(K=3, names="strings")
    # The path of the criterion depends on the shift, which sparse rows have not: they start elsewhere.
    model = fit(estimator, data.X, data.y)
    if estimator.loss != "perceptron":
        assert_close(fit(estimator, sparse.csr_array(data.X), data.y), model, 1e-5)
    table = pd.DataFrame(data.X, columns=list("abcd")).assign(y=data.y)
    table.to_csv(tmp_path / "rows.csv", index=False)
    assert_close(fit(estimator, lk.scan(tmp_path / "rows.csv", target="y"), None), model, 1e-5)


@pytest.mark.parametrize("estimator", EVERY[:2], ids=lambda e: e.loss)
def test_far_columns_lose_nothing(estimator):
    data = problem(K=2)
    near, far = (fit(estimator, data.X + shift, data.y) for shift in (0, 1e6))
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-5)


@every
@pytest.mark.parametrize("K", [2, 3])
def test_from_a_file_it_is_as_it_was(estimator, K, tmp_path):
    data = problem(K=K)
    model = fit(estimator, data.X, data.y)
    lk.save(model, tmp_path / "model.lk")
    again = lk.load(tmp_path / "model.lk")
    np.testing.assert_array_equal(again.decision_function(data.X), model.decision_function(data.X))
    assert again.n_iter_ == model.n_iter_
    np.testing.assert_array_equal(again.trace_, model.trace_)


# ---- what does not go together ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"loss": "hinge", "penalty": "l1"}, r"does not go with loss='hinge' .* Those that do: l2 with"),
        ({"loss": "perceptron", "penalty": "l1"}, r"l2 with squared_hinge, l1 with squared_hinge, l2 with"),
        ({"loss": "log"}, r"loss must be one of 'squared_hinge', 'hinge', 'perceptron'; got 'log'"),
        ({"multi_class": "ovo"}, r"multi_class must be 'ovr' or 'crammer_singer'; got 'ovo'"),
        ({"loss": "hinge", "solver": "newton"}, r"has no curvature. Those that do: .*smoothing"),
        ({"loss": "perceptron", "solver": "smoothing"}, r"for the losses hinge. Those that do: gradient"),
        (
            {"loss": "hinge", "C": np.inf, "solver": "smoothing"},
            r"it needs an l2 penalty on every column. Those that do: grad",
        ),
        ({"C": 0}, r"C must be a number > 0 \(np\.inf for no penalty\); got 0"),
        ({"C": -1.0, "loss": "perceptron"}, r"C must be a number > 0 .*; got -1\.0"),
        ({"solver": "newtom"}, r"solver must be one of 'auto', .*; got 'newtom'"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(how, message):
    data, model = problem(K=2), lk.LinearSVC(**how)
    with pytest.raises(ValueError, match=message):
        model.fit(data.X, data.y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_too_few_steps_are_said():
    data = problem(K=3)
    with pytest.warns(ConvergenceWarning, match="smoothing failed to converge .* max_iter=2 steps done"):
        model = lk.LinearSVC(loss="hinge", solver="smoothing", max_iter=2).fit(data.X, data.y)
    assert model.n_iter_ == 2
    assert not model.converged_


# ---- wide faces of sparse rows -----------------------------------------------------------------------
def thin_rows(n, p, cells, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, p), density=cells / p, rng=rng, format="csr")
    X.data[:] = 1 + np.floor(3 * X.data)
    return X, rng.integers(0, 2, n)


def test_a_face_of_many_sparse_rows_ends_an_ascent():
    """Some 700 rows have the margin 1: an ascent alone takes well over a hundred rounds."""
    X, y = thin_rows(1200, 1000, 30)
    model = lk.LinearSVC(loss="hinge", solver="dual").fit(X, y)
    assert model.converged_
    assert model.n_iter_ < 80
    other = lk.LinearSVC(loss="hinge", solver="semismooth").fit(X, y)
    assert model.trace_[-1, 0] == pytest.approx(other.trace_[-1, 0], abs=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rows_that_are_there_twice_leave_the_optimum_as_it_is(loss):
    """Rows on a face then depend on each other; together they count as one of twice the weight."""
    X, y = thin_rows(300, 260, 12, seed=1)
    twice = lk.LinearSVC(loss=loss, C=0.5).fit(sparse.vstack([X, X], format="csr"), np.tile(y, 2))
    once = lk.LinearSVC(loss=loss, C=1.0).fit(X, y)
    assert twice.converged_
    assert once.converged_
    np.testing.assert_allclose(twice.coef_, once.coef_, atol=2e-3)


def test_about_as_many_sparse_rows_as_columns_are_left_to_the_dual():
    X, y = thin_rows(900, 840, 30)
    assert lk.LinearSVC(loss="hinge").fit(X, y).solver_ == "dual"
    X, y = thin_rows(1400, 600, 30)
    assert lk.LinearSVC(loss="hinge").fit(X, y).solver_ == "semismooth"
