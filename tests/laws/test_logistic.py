"""Logistic regression: scikit-learn's answers, and what it adds to them."""

import pickle
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.generators import SEEDS
from laws.parts import parts_of
from likelier.choose_solver import SolverChoice
from likelier.estimators import validation
from likelier.solve import Terms, solve
from likelier.solvers import Solution

Logistic = lk.LogisticRegression
fewer = settings(max_examples=max(10, settings.default.max_examples // 5))


@parametrize_with_checks([Logistic()])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


def problem(seed: int = 0, K: int = 3, p: int = 4, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * 10 ** rng.uniform(-1, 1, p) + rng.uniform(-3, 3, p)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal((p, K)) + rng.gumbel(size=(n, K))
    y = Z.argmax(axis=1)
    y[:K] = np.arange(K)
    return X, y


def objective(model, X, y, w=None, offset=None) -> float:
    """scikit-learn's, from its formula: Σ w loss + penalty / C."""
    W, b = model.coef_, model.intercept_
    Z = X @ W.T + b
    if len(W) == 1:
        Z = np.column_stack([np.zeros(len(X)), Z[:, 0] if offset is None else Z[:, 0] + offset])
    elif offset is not None:
        Z = Z + offset
    codes = np.searchsorted(model.classes_, y)
    loss = -log_softmax(Z, axis=1)[np.arange(len(y)), codes]
    ratio = model.l1_ratio or 0.0
    penalty = (1 - ratio) * (W**2).sum() / 2 + ratio * np.abs(W).sum()
    return float((loss if w is None else w * loss).sum() + penalty / model.C)


PROBLEMS = st.builds(problem, seed=SEEDS, K=st.sampled_from([2, 3, 5]), p=st.sampled_from([1, 2, 4, 9]))


# ---- someone else's numbers ----------------------------------------------------------------------
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("how", [{}, {"C": 0.01}, {"C": 100.0}, {"fit_intercept": False}])
def test_weights_are_scikit_learns(load, how):
    X, y = load(return_X_y=True)
    X = X / X.std(axis=0)  # scikit-learn's solvers need it, ours do not
    peer = Peer(solver="newton-cholesky", tol=1e-12, max_iter=10_000, **how).fit(X, y)
    model = Logistic(tol=1e-6, **how).fit(X, y)
    assert model.converged_
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6 * np.abs(peer.coef_).max())
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 2: 3.0}])
def test_class_weights_are_scikit_learns(class_weight):
    X, y = problem()
    w = np.random.default_rng(0).uniform(0.2, 3, len(y))
    how = {"class_weight": class_weight, "tol": 1e-8}
    peer = Peer(solver="newton-cholesky", max_iter=1000, **how).fit(X, y, sample_weight=w)
    model = Logistic(**how).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-7)


def test_no_penalty_is_scikit_learns():
    X, y = problem(n=500)
    peer = Peer(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(X, y)
    model = Logistic(C=np.inf, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)


# ---- one answer ----------------------------------------------------------------------------------
@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_a_weight_is_a_number_of_repetitions(data, seed):
    X, y = data
    w = np.random.default_rng(seed).integers(0, 4, len(y))
    w[: y.max() + 1] += 1
    rows = np.repeat(np.arange(len(y)), w)
    model, again = Logistic(tol=1e-8).fit(X, y, sample_weight=w), Logistic(tol=1e-8).fit(X[rows], y[rows])
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-9)


@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_relabelling_permutes_the_columns(data, seed):
    X, y = data
    order = np.random.default_rng(seed).permutation(y.max() + 1)
    model, other = Logistic(tol=1e-8).fit(X, y), Logistic(tol=1e-8).fit(X, order[y])
    np.testing.assert_allclose(other.predict_proba(X)[:, order], model.predict_proba(X), atol=1e-9)


@fewer
@given(data=PROBLEMS, seed=SEEDS)
def test_no_other_weights_are_better(data, seed):
    """The objective, from its formula, at and around what was found."""
    X, y = data
    model = Logistic(C=0.7).fit(X, y)
    best = objective(model, X, y)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-1):
        other = pickle.loads(pickle.dumps(model))
        other.coef_ = model.coef_ + size * rng.standard_normal(model.coef_.shape)
        assert objective(other, X, y) >= best - 1e-9 * abs(best)


def test_columns_in_any_unit_and_from_any_origin_get_the_same_answers():
    X, y = problem(K=2, n=500)
    X = X / X.std(axis=0)
    scale, origin = 10.0 ** np.array([-6, -2, 3, 6]), np.array([0.0, 1e4, -1e5, 1e8])
    model = Logistic(C=np.inf, tol=1e-8).fit(X, y)
    moved = Logistic(C=np.inf, tol=1e-8).fit(X * scale + origin, y)
    assert moved.converged_
    np.testing.assert_allclose(moved.coef_ * scale, model.coef_, rtol=1e-5)
    np.testing.assert_allclose(moved.predict_proba(X * scale + origin), model.predict_proba(X), atol=1e-6)


def test_threads_do_not_change_a_bit(monkeypatch):
    X, y = problem(n=3000)
    found = []
    with parts_of(4096):
        for count in ("1", "2", "3"):
            monkeypatch.setenv("LIKELIER_THREADS", count)
            found.append(Logistic().fit(X, y).coef_)
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, np.asfortranarray, np.float32, list])
def test_every_kind_of_table_gets_the_same_answers(kind):
    X, y = problem()
    gone = np.random.default_rng(0).random(X.shape) < 0.5
    X = np.where(gone, 0.0, X.astype(np.float32)).astype(np.float64)  # digits that every type holds
    table = X.tolist() if kind is list else X.astype(np.float32) if kind is np.float32 else kind(X)
    model, same = Logistic(tol=1e-8).fit(X, y), Logistic(tol=1e-8).fit(table, y)
    np.testing.assert_allclose(same.predict_proba(table), model.predict_proba(X), atol=1e-7)
    assert same.coef_.dtype == (np.float32 if kind is np.float32 else np.float64)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_files_get_the_weights_of_arrays(tmp_path, class_weight):
    X, y = problem(n=1000)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "y": y}), tmp_path / "rows.parquet", row_group_size=100)
    source = lk.scan(tmp_path / "rows.parquet", target="y")
    how = {"tol": 1e-8, "class_weight": class_weight}
    model, same = Logistic(**how).fit(X, y), Logistic(**how).fit(source)
    np.testing.assert_allclose(same.coef_, model.coef_, atol=1e-9)
    np.testing.assert_allclose(same.predict_proba(source), model.predict_proba(X), atol=1e-10)
    assert same.score(source) == model.score(X, y)


# ---- offset, start, penalties by column ----------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
def test_an_offset_is_a_column_whose_weight_is_known(K):
    """Rows whose scores are shifted by what a model knows leave that model nothing to learn."""
    X, y = problem(K=K, n=2000)
    model = Logistic(C=np.inf, tol=1e-9).fit(X, y)
    Z = model.decision_function(X)
    rest = Logistic(C=np.inf, tol=1e-9).fit(X, y, offset=Z)
    spread = X.std(axis=0)
    assert np.abs(rest.coef_ * spread).max() < 1e-6
    half = Logistic(C=np.inf, tol=1e-9).fit(X, y, offset=Z / 2)
    np.testing.assert_allclose(half.decision_function(X) + Z / 2 - Z, 0, atol=1e-5)


def test_an_offset_of_the_wrong_shape_is_refused():
    X, y = problem()
    for offset in (np.zeros(len(y)), np.zeros((len(y), 2)), np.full((len(y), 3), np.nan)):
        with pytest.raises(ValueError, match="offset"):
            Logistic().fit(X, y, offset=offset)


def test_a_warm_start_needs_few_steps():
    X, y = problem()
    model = Logistic(warm_start=True).fit(X, y)
    cold = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] < min(3, cold)
    assert Logistic(C=1.1, warm_start=True).fit(X, y).n_iter_[0] == Logistic(C=1.1).fit(X, y).n_iter_[0]


def test_a_warm_start_forgets_an_intercept_that_is_no_longer_wanted():
    X, y = problem(K=2)
    model = Logistic(warm_start=True, tol=1e-8).fit(X + 5, y).set_params(fit_intercept=False)
    without = Logistic(fit_intercept=False, tol=1e-8).fit(X + 5, y)
    np.testing.assert_allclose(model.fit(X + 5, y).coef_, without.coef_, rtol=1e-6)
    assert model.intercept_ == 0
    for first in (Logistic().fit(X + 5, y), Logistic().partial_fit(X + 5, y, classes=[0, 1])):
        assert first.set_params(fit_intercept=False).partial_fit(X + 5, y).intercept_ == 0


def test_a_column_without_a_penalty_is_scaled_freely():
    X, y = problem(K=2)
    free = np.array([0.0, 1.0, 1.0, 1.0])
    scale = np.array([1e3, 1, 1, 1])
    model = Logistic(penalty_weights=free, C=0.1, tol=1e-8).fit(X, y)
    scaled = Logistic(penalty_weights=free, C=0.1, tol=1e-8).fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, model.coef_, rtol=1e-6)
    with pytest.raises(ValueError, match="penalty_weights"):
        Logistic(penalty_weights=[1.0]).fit(X, y)


def wide() -> tuple[sparse.csr_array, np.ndarray]:
    """Sparse rows of 600 columns, of sizes from 1e-3 to 1e3."""
    rng = np.random.default_rng(0)
    X = sparse.random(1000, 600, density=0.02, random_state=0, format="csr")
    y = (X @ rng.normal(size=600) * 3 + rng.logistic(size=1000) > 0).astype(int)
    return sparse.csr_array(X @ sparse.diags_array(10 ** rng.uniform(-3, 3, 600))), y


def handed_on(first: str, then: str, C: float, X: Any, y: np.ndarray, most: int = 100) -> Solution:
    """By one solver, and where that is too slow by another."""
    model = Logistic(C=C)
    posed = model._objective(model._rows(validation.training(model, X, y, None)))
    terms = Terms(1e-4, most)
    return solve(posed, np.zeros(posed.size), SolverChoice(first, "it was told to", then), terms)


@pytest.mark.parametrize(("first", "C", "rows"), [("dual", 1.0, 150), ("lbfgs", 1e4, 1000)])
def test_where_the_first_solver_is_too_slow_the_best_is_another(first, C, rows):
    X, y = (each[:rows] for each in wide())
    model, sure = Logistic(C=C).fit(X, y), Logistic(C=C, solver="lbfgs", max_iter=1000).fit(X, y)
    assert model.converged_
    best = objective(sure, X.toarray(), y)
    assert objective(model, X.toarray(), y) == pytest.approx(best, abs=1e-7 * len(y))
    assert model.solver_ == "newton-cg"
    found = handed_on(first, "newton-cg", C, X, y)
    assert found.converged
    assert found.solver == "newton-cg"
    assert "too slow" in found.why
    assert found.last.value == pytest.approx(model.trace_[-1, 0], abs=2e-8)
    assert found.trace.shape == (found.iterations + 1, 3)
    short = handed_on(first, "newton-cg", C, X, y, most=12)
    assert not short.converged
    assert short.iterations == 12


def test_no_steps_leave_the_weights_at_0():
    X, y = problem(K=2, n=120_000)  # so many that a few of them would be begun with
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        assert not Logistic(max_iter=0).fit(X, y).coef_.any()


def test_fits_are_the_same_each_time():
    X, y = wide()
    fits = [Logistic(solver="dual", tol=0.1, C=1e-4).fit(X, y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*fits)


# ---- what it says --------------------------------------------------------------------------------
def test_the_course_of_the_solver_is_told():
    model = Logistic().fit(*problem())
    assert model.trace_.shape == (model.n_iter_[0] + 1, 3)
    assert (np.diff(model.trace_[:, 0]) <= 1e-15).all()
    assert model.converged_
    assert "tol" in model.stop_reason_
    assert model.solver_reason_


def test_too_few_steps_are_told_with_the_gradient():
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter=2 .* gradient norm .*Increase the number of iterations"
    ):
        model = Logistic(max_iter=2).fit(*problem())
    assert not model.converged_
    assert np.isfinite(model.coef_).all()


def test_contributions_sum_to_the_scores():
    for K in (2, 3):
        X, y = problem(K=K)
        model = Logistic().fit(X, y)
        found = model.contributions(X)
        Z = found.values.sum(axis=2) + found.base
        shown = Z[:, 1] - Z[:, 0] if K == 2 else Z
        np.testing.assert_allclose(shown, model.decision_function(X), rtol=1e-9, atol=1e-9)


def test_the_linear_reading_predicts_the_same():
    X, y = problem(K=2)
    model = Logistic().fit(X, y)
    np.testing.assert_allclose(model.to_linear().predict_proba(X), model.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(
        expit(model.decision_function(X)), model.predict_proba(X)[:, 1], rtol=1e-12, atol=1e-300
    )


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"C": 0.0}, r"C must be .*; got 0"),
        ({"C": -1.0}, r"C must be .*; got -1"),
        ({"C": "1"}, r"C must be .*; got '1'"),
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"tol": -1e-3}, "tol"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"solver": "simplex"}, "newton.*lbfgs"),
        ({"class_weight": "even"}, "balanced"),
        ({"class_weight": {7: 1.0}}, r"\[0, 1, 2\], are not in class_weight"),
        ({"class_weight": {0: 1.0, 7: 1.0}}, r"\[1, 2\], are not in class_weight, which has \[7\]"),
        ({"fit_intercept": "no"}, "fit_intercept"),
        ({"l1_ratio": 0.5, "solver": "newton"}, "l1 part.*proximal"),
    ],
)
def test_wrong_hyper_parameters_are_refused_before_any_work(how, said):
    with pytest.raises(ValueError, match=said):
        Logistic(**how).fit(*problem())


def test_one_class_and_missing_cells_are_refused():
    X, y = problem()
    with pytest.raises(ValueError, match="one class"):
        Logistic().fit(X, np.zeros(len(y)))
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"row 7, column 2 is nan.*generative"):
        Logistic().fit(X, y)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "dual", "sgd", "proximal"])
def test_an_infinite_cell_is_named_whoever_meets_it(solver):
    X, y = problem()
    X[7, 2] = np.inf
    with pytest.raises(ValueError, match="row 7, column 2 is inf"):
        Logistic(solver=solver).fit(X, y)


@pytest.mark.parametrize("solver", ["lbfgs", "sgd", "newton-cg"])
def test_cells_whose_squares_overflow_have_units_of_their_own(solver):
    X, y = problem()
    free = Logistic(solver=solver, C=np.inf).fit(X, y)
    assert Logistic(solver=solver).fit(X * 2.0**600, y).score(X * 2.0**600, y) == pytest.approx(
        free.score(X, y), abs=0.02
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_far_origin_that_hides_the_curvature_is_no_optimum(kind):
    """Without an intercept, or where rows stay sparse, no shift takes it away."""
    X, y = problem(K=2)
    X = X / X.std(axis=0) + 1e8
    with pytest.warns(ConvergenceWarning, match="newton failed to converge"):
        model = Logistic(solver="newton", fit_intercept=kind is sparse.csr_array).fit(kind(X), y)
    assert not model.converged_
    best = Logistic(solver="newton", fit_intercept=False).fit(X - 1e8, y).trace_[-1, 0]
    assert model.trace_[-1, 0] < 0.5 * (best + np.log(2))


def test_sparse_coefficients_are_shown_and_change_nothing():
    X, y = problem()
    model = Logistic(l1_ratio=1.0, C=0.1).fit(X, y)
    coef, P = model.coef_, model.predict_proba(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.predict_proba(X), P)
    np.testing.assert_array_equal(model.densify().coef_, coef)
    with pytest.raises(ValueError, match="not fitted"):
        Logistic().sparsify()


def test_digits_with_their_constant_columns_are_no_trouble():
    X, y = load_digits(return_X_y=True)
    model = Logistic().fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.99
    assert not model.coef_[:, X.std(axis=0) == 0].any()


def test_classes_that_are_nearly_separated_are_handed_on_to_newton():
    """The metric bounds the Hessian, which is far below it there."""
    X, y = (part[:400] for part in load_digits(return_X_y=True))
    model = Logistic().fit(X, y)
    assert model.converged_
    best = Logistic(solver="newton").fit(X, y)
    assert objective(model, X, y) == pytest.approx(objective(best, X, y))
    found = handed_on("lbfgs", "newton", 1.0, X, y)
    assert found.converged
    assert found.solver == "newton"
    assert "steps of lbfgs" in found.why
    assert len(found.trace) == found.iterations + 1
    assert found.last.value == pytest.approx(best.trace_[-1, 0], abs=1e-8)


def test_a_failed_fit_leaves_the_last_one():
    X, y = problem()
    model = Logistic().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(len(y)))
    np.testing.assert_array_equal(model.coef_, before)


def test_clone_and_pickle():
    X, y = problem()
    model = Logistic(C=3.0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_verbose_shows_progress(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Logistic(verbose=1).fit(*problem())
    assert "objective" in capsys.readouterr().err


# ---- files ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("how", [{}, {"C": np.inf}, {"solver": "lbfgs"}, {"l1_ratio": 0.5}])
def test_a_loaded_model_says_the_same(tmp_path, K, how):
    X, y = problem(K=K)
    model = Logistic(**how).fit(X, y)
    lk.save(model, tmp_path / "m.lk")
    again = lk.load(tmp_path / "m.lk")
    for ask in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(again, ask)(X), getattr(model, ask)(X))
    for name, value in vars(model).items():
        if name.endswith("_"):
            np.testing.assert_equal(getattr(again, name), value)
    if how == {"C": np.inf}:
        np.testing.assert_array_equal(again.summary().errors, model.summary().errors)


# ---- learning on ---------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_steps_come_near_the_fit(K, kind):
    X, y = problem(K=K, n=20_000)
    whole, model = Logistic().fit(X, y), Logistic()
    for rows in np.array_split(np.arange(len(y)), 50):
        model.partial_fit(kind(X[rows]), y[rows], classes=np.arange(K))
    assert objective(model, X, y) < 1.01 * objective(whole, X, y)
    assert model.score(X, y) > whole.score(X, y) - 0.01
    assert model.trace_.shape == (51, 3)
    assert model.trace_[40:, 0].mean() < 1.1 * objective(whole, X, y) / len(y)
    assert not model.converged_


def test_steps_after_a_fit_go_on_from_it():
    X, y = problem(n=5000)
    fitted = Logistic().fit(X, y)
    best = objective(fitted, X, y)
    on = pickle.loads(pickle.dumps(fitted)).partial_fit(X[:500], y[:500])
    assert objective(on, X, y) < 1.01 * best
    assert not np.array_equal(on.coef_, fitted.coef_)
    assert on.fit(X, y).coef_ == pytest.approx(fitted.coef_)


def test_a_refused_batch_leaves_the_model_as_it_was():
    X, y = problem()
    model = Logistic().partial_fit(X, y, classes=[0, 1, 2])
    before = model.coef_.copy()
    for bad, labels, said in [
        (np.full((3, 4), np.nan), y[:3], "NaN"),
        (X[:3], [0, 1, 7], "do not exist"),
        (X[:3, :2], y[:3], "features"),
    ]:
        with pytest.raises(ValueError, match=said):
            model.partial_fit(bad, labels)
        np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match="classes must be passed"):
        Logistic().partial_fit(X, y)
    with pytest.raises(ValueError, match="2 classes"):
        Logistic().partial_fit(X, np.zeros(len(y)), classes=[0])


@pytest.mark.parametrize("K", [2, 3])
def test_steps_go_on_from_a_file_as_if_there_were_none(tmp_path, K):
    X, y = problem(K=K)
    model = Logistic().partial_fit(X, y, classes=np.arange(K))
    lk.save(model, tmp_path / "m.lk")
    again = lk.load(tmp_path / "m.lk").partial_fit(X[:9], y[:9])
    np.testing.assert_array_equal(again.coef_, model.partial_fit(X[:9], y[:9]).coef_)
    np.testing.assert_array_equal(again.trace_, model.trace_)
    assert again.stop_reason_ == model.stop_reason_
    with pytest.raises(ValueError, match="needs the statistics of `fit`"):
        again.summary()


def test_a_class_that_has_not_come_yet_is_no_trouble(tmp_path):
    X, y = problem(K=2)
    model = Logistic(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    assert np.isfinite(model.predict_proba(X)).all()
    lk.save(model, tmp_path / "m.lk", statistics=False)
    np.testing.assert_array_equal(lk.load(tmp_path / "m.lk").coef_, model.coef_)


def test_steps_that_lead_to_no_numbers_are_refused():
    X, y = problem(K=2)
    model = Logistic().partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="Rescale"), np.errstate(all="ignore"):
        model.partial_fit(X * 1e200, y)
    np.testing.assert_array_equal(model.coef_, before)


def test_balance_goes_by_the_classes_so_far():
    X, y = problem(K=2, n=20_000)
    rare = (y == 0) | (np.arange(len(y)) % 10 == 0)
    X, y = X[rare], y[rare]
    whole, model = Logistic(class_weight="balanced").fit(X, y), Logistic(class_weight="balanced")
    for rows in np.array_split(np.arange(len(y)), 20):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    share = [m.predict(X).mean() for m in (whole, model, Logistic().fit(X, y))]
    assert abs(share[1] - share[0]) < 0.05 < share[0] - share[2]


def test_heavy_rows_do_not_stop_what_is_learned_on():
    X, y = problem(n=2000)
    light, heavy = (Logistic().fit(X, y, sample_weight=np.full(len(y), w)) for w in (1.0, 1e12))
    before = heavy.coef_.copy()
    assert np.abs(heavy.partial_fit(X, y[::-1]).coef_ - before).max() > 1e-4
    assert np.isfinite(light.partial_fit(X, y[::-1]).coef_).all()


def test_logistic_regressions_are_not_merged():
    model = Logistic().fit(*problem())
    with pytest.raises(TypeError, match="LogisticRegression cannot be merged"):
        lk.merge([model, model])
