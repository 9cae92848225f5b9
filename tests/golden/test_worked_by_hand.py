"""METHODS.md B1 to B4 on numbers small enough to check with a pencil."""

from math import log, pi

import numpy as np
import pytest
from scipy.special import expit

import likelier as lk

# Offsets (±1, ±1), (±1, 0): covariance [[1, ½], [½, ½]], inverse [[2, -2], [-2, 4]], determinant ¼.
OFFSETS = np.array([[1, 1], [-1, -1], [1, 0], [-1, 0]], dtype=float)
MEANS = np.array([[1.0, 2.0], [4.0, 3.0]])
X = np.concatenate([MEANS[0] + OFFSETS, MEANS[1] + OFFSETS, MEANS[1] + OFFSETS])
Y = np.repeat([0, 1], [4, 8])  # φ = 8/12
ROWS = np.array([[0.0, 0.0], [1.0, 2.0], [4.0, 3.0], [2.5, 2.5], [-7.0, 11.0]])


# ---- B2: w = Σ⁻¹(μ₁ - μ₀), w₀ = -½ μ₁ᵀΣ⁻¹μ₁ + ½ μ₀ᵀΣ⁻¹μ₀ + ln φ/(1-φ) ------------------------------
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_lda_of_two_classes(solver):
    model = lk.LinearDiscriminantAnalysis(solver=solver).fit(X, Y)
    np.testing.assert_allclose(model.means_, MEANS, rtol=1e-15)
    np.testing.assert_allclose(model.priors_, [1 / 3, 2 / 3], rtol=1e-15)
    np.testing.assert_allclose(model.coef_, [[4.0, -2.0]], rtol=1e-13)
    np.testing.assert_allclose(model.intercept_, [-10 + 5 + log(2)], rtol=1e-13)
    a = ROWS @ [4.0, -2.0] - 5 + log(2)
    np.testing.assert_allclose(model.decision_function(ROWS), a, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(ROWS)[:, 1], expit(a), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(ROWS), (a > 0).astype(int))


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_covariance_is_the_maximum_likelihood_one(solver):
    model = lk.LinearDiscriminantAnalysis(solver=solver).fit(X, Y)
    np.testing.assert_allclose(model.covariance_, [[1, 0.5], [0.5, 0.5]], rtol=1e-15)


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_lda_of_three_classes(solver):
    """w_k = Σ⁻¹μ_k, w_k0 = -½ μ_kᵀΣ⁻¹μ_k + ln p(C_k); the third class has its mean at (0, 0)."""
    model = lk.LinearDiscriminantAnalysis(solver=solver).fit(np.concatenate([X, OFFSETS]), [*Y, 2, 2, 2, 2])
    np.testing.assert_allclose(model.coef_, [[-2.0, 6.0], [2.0, 4.0], [0.0, 0.0]], atol=1e-13)
    np.testing.assert_allclose(
        model.intercept_, [-5 + log(1 / 4), -10 + log(1 / 2), log(1 / 4)], rtol=1e-13
    )


def test_lda_density_is_the_gaussian_one():
    """At the mean of class 1: ln p(x, C_1) = ln 2/3 - ½ ln ¼ - ln 2π; (μ₁-μ₀)ᵀΣ⁻¹(μ₁-μ₀) = 10."""
    joint = lk.LinearDiscriminantAnalysis().fit(X, Y).predict_joint_log_proba(MEANS[1:])
    peak = -0.5 * log(1 / 4) - log(2 * pi)
    np.testing.assert_allclose(joint, [[log(1 / 3) + peak - 5, log(2 / 3) + peak]], rtol=1e-13)


# ---- B3 --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_qda_of_one_column(solver):
    """N(0, 1) and N(3, 4), priors ½: a = -½ ln 4 - (x-3)²/8 + x²/2, which is (3x² + 6x - 9 - 4 ln 4)/8."""
    x = np.array([-1.0, 1.0, 1.0, 5.0])[:, None]
    model = lk.QuadraticDiscriminantAnalysis(solver=solver).fit(x, [0, 0, 1, 1])
    np.testing.assert_allclose(np.concatenate(model.scalings_), [1.0, 4.0], rtol=1e-15)
    rows = np.linspace(-5, 5, 11)[:, None]
    a = -0.5 * log(4) - (rows[:, 0] - 3) ** 2 / 8 + rows[:, 0] ** 2 / 2
    np.testing.assert_allclose(model.decision_function(rows), a, rtol=1e-13)
    ends = np.roots([3, 6, -9 - 4 * log(4)])
    np.testing.assert_allclose(model.decision_function(ends[:, None]), 0, atol=1e-12)
    inside = [[ends.min() + 1e-6], [ends.max() - 1e-6]]
    np.testing.assert_array_equal(model.predict(inside), [0, 0])
    np.testing.assert_array_equal(model.predict([[ends.min() - 1e-6], [ends.max() + 1e-6]]), [1, 1])


def test_qda_of_two_columns():
    """Class 1 twice as wide: Σ₁ = 4 Σ₀, so that ln|Σ₁| = ln|Σ₀| + 2 ln 4."""
    rows = np.concatenate([OFFSETS, 2 * OFFSETS])
    model = lk.QuadraticDiscriminantAnalysis(store_covariance=True).fit(rows, np.repeat([0, 1], 4))
    np.testing.assert_allclose(model.covariance_, [[[1, 0.5], [0.5, 0.5]], [[4, 2], [2, 2]]], rtol=1e-13)
    # (1, 1): xᵀΣ₀⁻¹x = 2 - 4 + 4 = 2, a quarter of it under Σ₁
    np.testing.assert_allclose(model.decision_function([[1.0, 1.0]]), [1 - 0.25 - log(4)], rtol=1e-13)


# ---- B4 --------------------------------------------------------------------------------------------
def test_gaussian_nb_adds_up_log_odds_by_column():
    """Each column of X has variances 1 and ½ in both classes: w_j = (μ₁j - μ₀j)/v_j = (3, 2)."""
    model = lk.GaussianNB(var_smoothing=0.0).fit(X, Y)
    np.testing.assert_allclose(model.var_, [[1, 0.5], [1, 0.5]], rtol=1e-15)
    a = 3 * ROWS[:, 0] + 2 * ROWS[:, 1] - (16 - 1) / 2 - (9 - 4) + log(2)
    np.testing.assert_allclose(model.predict_proba(ROWS)[:, 1], expit(a), rtol=1e-12)
    parts = model.contributions(ROWS).values
    np.testing.assert_allclose(parts[:, 1, 0] - parts[:, 0, 0], 3 * ROWS[:, 0] - 7.5, rtol=1e-12)
    np.testing.assert_allclose(parts[:, 1, 1] - parts[:, 0, 1], 2 * ROWS[:, 1] - 5, rtol=1e-12)


def test_gaussian_nb_smoothing_is_a_share_of_the_largest_variance():
    """Column 0 of all rows: mean 3, mean square (4·(1+1) + 8·(16+1))/12 = 12, variance 3."""
    model = lk.GaussianNB(var_smoothing=0.1).fit(X, Y)
    np.testing.assert_allclose(model.epsilon_, 0.3, rtol=1e-14)
    np.testing.assert_allclose(model.var_, [[1.3, 0.8], [1.3, 0.8]], rtol=1e-14)


# ---- B1 --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "model", [lk.GaussianNB(), lk.LinearDiscriminantAnalysis(), lk.QuadraticDiscriminantAnalysis()], ids=str
)
def test_bayes_rule(model):
    """p(C_k | x) is the softmax of ln p(x, C_k), of two classes σ(a); the answer is the largest."""
    joint = model.fit(X, Y).predict_joint_log_proba(ROWS)
    P = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(ROWS), P, rtol=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(ROWS)[:, 1], expit(joint[:, 1] - joint[:, 0]), rtol=1e-12
    )
    np.testing.assert_allclose(model.decision_function(ROWS), joint[:, 1] - joint[:, 0], rtol=1e-11)
    np.testing.assert_array_equal(model.predict(ROWS), joint.argmax(axis=1))
    np.testing.assert_allclose(model.score_samples(ROWS), np.logaddexp.reduce(joint, axis=1), rtol=1e-13)
