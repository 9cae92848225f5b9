"""Errors, tests and intervals of logistic regression."""

import warnings
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit, log_softmax

import likelier as lk
from likelier.inference import information

SHARP = {"C": np.inf, "tol": 1e-8}
COVS = ["classical", "HC0", "HC1", "HC2", "HC3"]
seeds = st.integers(0, 2**32 - 1)
NUMBERS = ("estimates", "errors", "z", "p", "low", "high", "log_likelihood", "null_log_likelihood", "lr")
NUMBERS += ("lr_p", "wald", "wald_p", "df", "n", "parameters", "aic", "bic", "cox_snell", "nagelkerke")


def drawn(seed=0, n=200, p=3, K=2):
    """Rows whose classes overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    W = rng.normal(size=(K, p)) / 2
    return X, np.argmax(X @ W.T + rng.gumbel(size=(n, K)), axis=1)


def same(a, b, rtol=1e-7, but=()):
    for name in NUMBERS:
        if name not in but:
            np.testing.assert_allclose(
                getattr(a, name), getattr(b, name), rtol=rtol, atol=1e-9, err_msg=name
            )


# ---- the formulas, written out -------------------------------------------------------------------
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("cov", COVS)
def test_two_classes_against_the_formulas(cov, intercept):
    X, y = drawn()
    w = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    model = lk.LogisticRegression(fit_intercept=intercept, **SHARP).fit(X, y, sample_weight=w)
    found = model.summary(X, y, cov=cov, sample_weight=w)
    A = np.column_stack([np.ones(len(X)), X]) if intercept else X
    P = expit(A @ found.estimates)
    B = np.linalg.inv((A.T * (w * P * (1 - P))) @ A)
    h = P * (1 - P) * np.einsum("ni,ij,nj->n", A, B, A)
    n, k = w.sum(), A.shape[1]
    g = {"HC0": 1.0, "HC1": n / (n - k), "HC2": 1 / (1 - h), "HC3": 1 / (1 - h) ** 2}.get(cov)
    V = B if cov == "classical" else B @ ((A.T * (w * g * (y - P) ** 2)) @ A) @ B
    np.testing.assert_allclose(found.errors, np.sqrt(np.diagonal(V)), rtol=1e-8)
    b, Vb = found.estimates[int(intercept) :], V[int(intercept) :, int(intercept) :]
    assert found.wald == pytest.approx(b @ np.linalg.solve(Vb, b), rel=1e-8)
    assert found.log_likelihood == pytest.approx(w @ np.log(np.where(y == 1, P, 1 - P)), rel=1e-12)
    share = (w @ y) / n if intercept else 0.5
    null = w @ np.log(np.where(y == 1, share, 1 - share))
    assert found.null_log_likelihood == pytest.approx(null, rel=1e-12)
    assert found.cox_snell == pytest.approx(1 - np.exp(2 * (null - found.log_likelihood) / n), rel=1e-10)
    assert found.nagelkerke == pytest.approx(found.cox_snell / (1 - np.exp(2 * null / n)), rel=1e-10)
    assert (found.parameters, found.df) == (k, X.shape[1])


def numeric_hessian(f, x, h=1e-4):
    E = h * np.eye(len(x))
    ends = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]
    H = [[sum(s * f(x + a * i + b * j) for a, b, s in ends) for j in E] for i in E]
    return np.array(H) / (4 * h * h)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_a_penalised_fit_shows_its_posterior(K, C):
    """The covariance is that of θ under the Hessian of C Σ loss + ½|w|², here by differences."""
    X, y = drawn(3, n=60, p=2, K=K)
    model = lk.LogisticRegression(C=C, tol=1e-8).fit(X, y)
    q, P = model.coef_.shape[0], 3

    def cost(flat):
        T = flat.reshape(q, P)
        Z = X @ T[:, 1:].T + T[:, 0]
        Z = np.column_stack([np.zeros(len(X)), Z]) if K == 2 else Z
        return -log_softmax(Z, axis=1)[np.arange(len(y)), y].sum()

    at = np.column_stack([model.intercept_, model.coef_]).ravel()
    H = numeric_hessian(cost, at)
    prior = np.tile([0.0, 1 / C, 1 / C], q)
    V = np.linalg.pinv(H + np.diag(prior), rcond=1e-7)
    T = np.eye(P) if K == 2 else np.kron([[-1, 1, 0], [-1, 0, 1]], np.eye(P))
    found = model.summary()
    np.testing.assert_allclose(found.estimates, T @ at, rtol=1e-9)
    np.testing.assert_allclose(found.errors, np.sqrt(np.diagonal(T @ V @ T.T)), rtol=1e-5)
    assert found.parameters == pytest.approx(np.trace(H @ V), rel=1e-5)
    assert found.aic == pytest.approx(2 * cost(at) + 2 * found.parameters, rel=1e-9)
    assert np.isnan([*found.z, *found.p, found.lr_p, found.wald_p]).all()
    assert "Laplace" in str(found)
    assert "z" not in found.to_frame()


@settings(max_examples=20)
@given(seeds)
def test_penalties_that_vanish_leave_the_classical_errors(seed):
    X, y = drawn(seed, K=3)
    plain = lk.LogisticRegression(**SHARP).fit(X, y).summary()
    slight = lk.LogisticRegression(C=1e9, tol=1e-8).fit(X, y).summary()
    np.testing.assert_allclose(slight.errors, plain.errors, rtol=1e-6)
    assert slight.parameters == pytest.approx(plain.parameters, rel=1e-6)


# ---- laws ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("cov", COVS)
@pytest.mark.parametrize("K", [2, 3])
@settings(max_examples=12)
@given(seed=seeds)
def test_weights_are_repetitions_and_order_does_not_matter(seed, K, cov):
    if K == 3 and cov in ("HC2", "HC3"):
        return
    X, y = drawn(seed, K=K)
    rng = np.random.default_rng(seed)
    w = rng.integers(0, 4, len(X)).astype(float)
    often = rng.permutation(np.repeat(np.arange(len(X)), w.astype(int)))
    one = lk.LogisticRegression(**SHARP).fit(X, y, sample_weight=w)
    many = lk.LogisticRegression(**SHARP).fit(X[often], y[often])
    same(one.summary(X, y, cov=cov, sample_weight=w), many.summary(X[often], y[often], cov=cov))


@settings(max_examples=20)
@given(seeds)
def test_the_first_class_is_only_a_point_of_view(seed):
    """With another first class estimates are differences of the same, and tests are as they were."""
    X, y = drawn(seed, K=3)
    ours = lk.LogisticRegression(**SHARP).fit(X, y).summary()
    swapped = lk.LogisticRegression(**SHARP).fit(X, np.array([1, 0, 2])[y]).summary()
    a, b = ours.estimates.reshape(2, -1), swapped.estimates.reshape(2, -1)
    np.testing.assert_allclose(b, [-a[0], a[1] - a[0]], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(swapped.errors.reshape(2, -1)[0], ours.errors.reshape(2, -1)[0], rtol=1e-7)
    np.testing.assert_allclose([swapped.lr, swapped.wald], [ours.lr, ours.wald], rtol=1e-7)


@pytest.mark.parametrize("K", [2, 3])
def test_units_and_distance_of_columns(K):
    """Errors have the unit of their coefficient; a column far from 0 loses no digits."""
    X, y = drawn(5, K=K)
    X = np.round(X * 2**20) / 2**20
    unit, far = np.array([2.0**20, 2.0**-20, 1.0]), np.array([0.0, 0.0, 2.0**26])
    near = lk.LogisticRegression(**SHARP).fit(X, y).summary()
    moved = lk.LogisticRegression(**SHARP).fit((X + far) * unit, y).summary()
    a, b = (s.errors.reshape(K - 1, -1)[:, 1:] for s in (near, moved))
    np.testing.assert_allclose(b * unit, a, rtol=1e-8)
    np.testing.assert_allclose(moved.wald, near.wald, rtol=1e-8)


@pytest.mark.parametrize("cov", COVS)
def test_sparse_rows_say_the_same(cov):
    X, y = drawn(6)
    X[np.abs(X) < 0.5] = 0
    dense = lk.LogisticRegression(**SHARP).fit(X, y)
    sparse = lk.LogisticRegression(**SHARP).fit(csr_matrix(X), y)
    same(dense.summary(X, y, cov=cov), sparse.summary(csr_matrix(X), y, cov=cov))
    same(dense.summary(X, y, cov=cov), dense.summary(csr_matrix(X), y, cov=cov))


@pytest.mark.parametrize("K", [2, 3])
def test_rows_give_what_the_fit_kept(K, monkeypatch):
    X, y = drawn(7, K=K)
    kept = lk.LogisticRegression(**SHARP).fit(X, y)
    same(kept.summary(), kept.summary(X, y))
    monkeypatch.setattr(information, "KEPT", 0)
    bare = lk.LogisticRegression(**SHARP).fit(X, y)
    with pytest.raises(ValueError, match="needs the rows of the fit"):
        bare.summary()
    same(bare.summary(X, y), kept.summary())


# ---- offsets -------------------------------------------------------------------------------------
def test_offsets_of_one_constant_move_the_intercept_alone():
    X, y = drawn(8)
    plain = lk.LogisticRegression(**SHARP).fit(X, y).summary()
    moved = lk.LogisticRegression(**SHARP).fit(X, y, offset=np.full(len(y), 0.7)).summary()
    same(plain, moved, but=("estimates", "z", "p", "low", "high"))
    np.testing.assert_allclose(moved.estimates - plain.estimates, [-0.7, 0, 0, 0], atol=1e-8)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_likelihood_without_columns_keeps_the_offsets(K, intercept):
    X, y = drawn(9, K=K)
    offset = np.random.default_rng(9).normal(size=(len(X), K))
    known = lk.LogisticRegression(fit_intercept=intercept, **SHARP).fit(X, y, offset=offset)
    found = known.summary()

    def cost(b):
        return -log_softmax(offset + np.append(0.0, b), axis=1)[np.arange(len(y)), y].sum()

    null = -minimize(cost, np.zeros(K - 1), tol=1e-12).fun if intercept else -cost(np.zeros(K - 1))
    assert found.null_log_likelihood == pytest.approx(null, rel=1e-9)
    same(found, known.summary(X, y, offset=offset))
    with pytest.raises(ValueError, match="not the rows that were fitted"):
        known.summary(X, y)


# ---- what the rows leave open --------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("how", ["twice", "sum", "constant"])
def test_columns_that_rows_do_not_determine(K, how):
    X, y = drawn(10, K=K)
    more = {"twice": X[:, 0] * 3, "sum": X[:, 0] + X[:, 1], "constant": np.full(len(X), 0.1)}[how]
    table = pd.DataFrame(np.column_stack([X, more]), columns=["a", "b", "c", how])
    plain = lk.LogisticRegression(**SHARP).fit(X, y).summary()
    model = lk.LogisticRegression(**SHARP).fit(table, y)
    with pytest.warns(lk.DegenerateWarning, match=f"'{how}'"):
        found = model.summary()
    lost = {"twice": [1, 4], "sum": [1, 2, 4], "constant": [0, 4]}[how]
    errors = found.errors.reshape(K - 1, -1)
    assert np.isnan(errors[:, lost]).all()
    rest = np.setdiff1d(np.arange(4), lost)
    np.testing.assert_allclose(errors[:, rest], plain.errors.reshape(K - 1, -1)[:, rest], rtol=1e-7)
    for name in ("lr", "wald", "df"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-7)


def test_a_penalty_determines_them():
    X, y = drawn(11)
    found = lk.LogisticRegression().fit(np.column_stack([X, X[:, 0]]), y).summary()
    assert np.isfinite(found.errors).all()
    assert found.parameters < 5


# ---- refusals ------------------------------------------------------------------------------------
def test_what_has_no_summary_says_why():
    X, y = drawn(12, K=3)
    model = lk.LogisticRegression(**SHARP).fit(X, y)
    ridge = lk.LogisticRegression().fit(X, y)
    for call, why in {
        (lambda: model.summary(cov="HC9")): "cov must be one of 'classical', 'HC0'",
        (lambda: model.summary(level=1.0)): "between 0 and 1",
        (lambda: model.summary(cov="HC0")): "needs the rows",
        (lambda: model.summary(X, y, cov="HC3")): "for more than two classes",
        (lambda: ridge.summary(X, y, cov="HC0")): "without a penalty",
        (lambda: model.summary(X)): "pass y with X",
        (lambda: model.summary(X, y + 1)): "in fit it had",
        (lambda: model.summary(X[::-1], y)): "not the rows that were fitted",
        (lambda: model.summary(X[:-1], y[:-1])): "not the rows that were fitted",
        (lambda: lk.LogisticRegression().summary()): "not fitted yet",
    }.items():
        with pytest.raises(ValueError, match=why):
            call()


def test_the_hyper_parameters_of_the_fit_count():
    """Not those that were set since."""
    X, y = drawn(14)
    model = lk.LogisticRegression(C=0.5, tol=1e-8).fit(X, y)
    before = model.summary()
    same(model.set_params(C=5.0).summary(), before, but=("z", "p", "lr", "lr_p", "wald", "wald_p"))
    same(model.summary(X, y), before, but=("z", "p", "lr", "lr_p", "wald", "wald_p"))


@pytest.mark.parametrize("intercept", [True, False])
def test_the_intercept_of_the_fit_counts(intercept):
    X, y = drawn()
    model = lk.LogisticRegression(fit_intercept=intercept, **SHARP).fit(X + 3.0, y)
    before = model.summary(X + 3.0, y, cov="HC0")
    same(model.set_params(fit_intercept=not intercept).summary(X + 3.0, y, cov="HC0"), before)


@pytest.mark.parametrize("name", ["y", "sample_weight", "offset"])
def test_what_goes_with_rows_is_refused_without_them(name):
    X, y = drawn()
    with pytest.raises(ValueError, match="pass y, sample_weight and offset together with X"):
        lk.LogisticRegression(**SHARP).fit(X, y).summary(**{name: y})


def test_the_table_says_which_class_the_odds_are_of():
    X, y = drawn()
    two = lk.LogisticRegression(**SHARP).fit(X, np.array(["no", "yes"])[y]).summary()
    assert str(two).splitlines()[0].endswith("log odds of yes against no")


def test_a_fit_that_did_not_converge_says_so():
    X, y = drawn(15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lk.LogisticRegression(C=np.inf, max_iter=1).fit(X, y)
    assert "had not converged" in str(model.summary())


def test_the_frame_and_the_text_have_all_coefficients():
    X, y = drawn(16, K=3)
    labels = np.array(["ash", "elm", "oak"])[y]
    found = lk.LogisticRegression(**SHARP).fit(pd.DataFrame(X, columns=list("abc")), labels).summary()
    frame, text = found.to_frame(), str(found)
    assert list(frame.index) == list(found.names)
    assert found.names[0] == "ash→elm: intercept"
    assert found.names[-1] == "ash→oak: c"
    assert all(name in text for name in found.names)
    np.testing.assert_array_equal(frame["std. error"], found.errors)


# ---- files ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_saved_model_says_the_same(tmp_path, K, C):
    X, y = drawn(17, K=K)
    model = lk.LogisticRegression(C=C).fit(X, y)
    lk.save(model, tmp_path / "model.lk")
    again = lk.load(tmp_path / "model.lk")
    assert str(again.summary()) == str(model.summary())
    same(again.summary(X, y), model.summary(X, y))
    lk.save(model, tmp_path / "lean.lk", statistics=False)
    with pytest.raises(ValueError, match="keeps none"):
        lk.load(tmp_path / "lean.lk").summary()


def test_a_saved_model_remembers_its_separation(tmp_path):
    X, _ = drawn(18)
    with pytest.warns(lk.SeparationWarning):
        model = lk.LogisticRegression(C=np.inf).fit(X, X[:, 0] > 0)
    lk.save(model, tmp_path / "model.lk")
    assert lk.load(tmp_path / "model.lk").separation_ == model.separation_


# ---- columns that are nearly alike ---------------------------------------------------------------
def exact_errors(X: Any, model: Any) -> Any:
    """√ of the diagonal of the inverse information, in fractions: exact but for the probabilities."""
    W = np.column_stack([model.intercept_, model.coef_])
    W = np.vstack([0 * W, W]) if len(W) == 1 else W - W[0]
    D = np.column_stack([np.ones(len(X)), X])
    Z = D @ W.T
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    q, c = len(W) - 1, D.shape[1]
    m = q * c
    A = [[Fraction(0)] * m + [Fraction(i == j) for j in range(m)] for i in range(m)]
    for row, chances in zip(D.tolist(), P[:, 1:].tolist(), strict=True):
        x, p = [Fraction(v) for v in row], [Fraction(v) for v in chances]
        for k, o in product(range(q), range(q)):
            curvature = p[k] * ((k == o) - p[o])
            for i, j in product(range(c), range(c)):
                A[c * k + i][c * o + j] += curvature * x[i] * x[j]
    for i in range(m):
        A[i] = [v / A[i][i] for v in A[i]]
        for r in range(m):
            if r != i:
                factor = A[r][i]
                A[r] = [a - factor * b for a, b in zip(A[r], A[i], strict=True)]
    return np.sqrt([float(A[i][m + i]) for i in range(m)])


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(("apart", "rtol"), [(1e-3, 1e-9), (1e-6, 1e-8)])
def test_errors_of_columns_that_are_nearly_alike(apart, rtol, K):
    rng = np.random.default_rng(K)
    x = rng.standard_normal(60)
    X = np.column_stack([x, x + apart * rng.standard_normal(60), rng.standard_normal(60)])
    y = (0.5 * x[:, None] * np.arange(K) + rng.gumbel(size=(60, K))).argmax(axis=1)
    model = lk.LogisticRegression(C=np.inf).fit(X, y)
    exact = exact_errors(X, model)
    np.testing.assert_allclose(model.summary(X, y).errors, exact, rtol=rtol)
    without = model.summary()  # the Hessian alone has fewer digits, and that is said
    np.testing.assert_allclose(without.errors, exact, rtol=apart**-2 * 1e-14)
    assert ("nearly alike" in without.note) == (apart == 1e-6)
