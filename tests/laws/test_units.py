"""The units of columns, from 2^-900 to 2^900, change no answer of a model that ignores them."""

from functools import cache
from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import likelier as lk

POWERS = st.sampled_from([-900, -600, -300, -199, -40, 40, 199, 300, 600, 900])


def table(seed: int, K: int, n: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) + 1
    return X, (X @ rng.standard_normal((3, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)


FORMS = {
    "array": np.asarray,
    "csr": sparse.csr_array,
    "dask": lambda X: da.from_array(X, chunks=(50, -1)),
}


@cache  # all examples are held to one fit
def without_a_penalty(solver, form, K, powers=0):
    """Fitted to columns in units of these powers of two."""
    X, y = table(3, K)
    rows, labels = FORMS[form], (lambda y: da.from_array(y, chunks=50)) if form == "dask" else np.asarray
    model = lk.LogisticRegression(C=np.inf, solver=solver, tol=1e-7)
    return model.fit(rows(X * np.exp2(powers)), labels(y))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("form", ["array", "csr", "dask"])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "newton-cg"])
@given(powers=st.tuples(POWERS, POWERS, st.just(0)))
def test_without_a_penalty_weights_are_inverse_to_units(solver, form, K, powers):
    X, _ = table(3, K)
    unit = np.exp2(powers)
    plain = without_a_penalty(solver, form, K)
    coef, P = plain.coef_, plain.predict_proba(X)
    other = without_a_penalty(solver, form, K, powers)
    assert other.converged_
    np.testing.assert_allclose(other.coef_ * unit, coef, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(other.predict_proba(X * unit), P, rtol=0, atol=1e-7)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("k", [-450, -250, 250, 450])
def test_a_penalty_in_the_units_of_its_columns_is_the_same(k, K):
    X, y = table(5, K)
    unit = 2.0**k
    for make, power in (
        (lambda C: lk.LogisticRegression(C=C), 2),
        (lambda C: lk.LogisticRegression(C=C, l1_ratio=1.0), 1),
        (lambda C: lk.LogisticRegression(C=C, solver="lbfgs"), 2),
        (lambda C: lk.LogisticRegression(C=C, solver="dual", max_iter=3000), 2),
        (lambda C: lk.LinearSVC(C=C), 2),
        (lambda C: lk.LinearSVC(C=C, loss="hinge"), 2),
    ):
        plain, other = make(0.1).fit(X, y), make(0.1 * unit**-power).fit(X * unit, y)
        np.testing.assert_allclose(other.coef_ * unit, plain.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(other.intercept_, plain.intercept_, rtol=1e-6, atol=1e-9)


# Without the defaults that scikit-learn is about to change, and warns of.
CROSS_VALIDATED = {
    "Cs": 3,
    "cv": 3,
    "l1_ratios": (0.0,),
    "use_legacy_attributes": False,
    "scoring": "neg_log_loss",
}


@pytest.mark.parametrize("scale", [1e160, 1e200, 1e300])
def test_cells_whose_squares_are_no_numbers_make_a_penalty_weightless(scale):
    """The optimum is that without a penalty, up to 1e-300, and not chance."""
    X, y = table(0, 3)
    free = lk.LogisticRegression(C=np.inf, tol=1e-7).fit(X, y)
    model = lk.LogisticRegression(tol=1e-7).fit(X * scale, y)
    np.testing.assert_allclose(model.predict_proba(X * scale), free.predict_proba(X), atol=1e-6)
    chosen = lk.LogisticRegressionCV(
        Cs=3, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="neg_log_loss"
    ).fit(X * scale, y)
    np.testing.assert_allclose(chosen.predict_proba(X * scale), free.predict_proba(X), atol=1e-3)
    assert lk.LinearSVC().fit(X * scale, y).score(X * scale, y) > 0.6


@pytest.mark.parametrize("scale", [1e-160, 1e-200, 1e-300])
def test_cells_whose_squares_are_0_leave_a_penalised_model_at_the_priors(scale):
    X, y = table(0, 3)
    for model in (
        lk.LogisticRegression(),
        lk.LogisticRegressionCV(
            Cs=3, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="neg_log_loss"
        ),
    ):
        P = model.fit(X * scale, y).predict_proba(X * scale)
        np.testing.assert_allclose(P, np.tile(np.bincount(y) / len(y), (len(y), 1)), atol=1e-3)


@pytest.mark.parametrize("k", [-700, 700])
def test_errors_are_in_the_units_of_the_columns(k):
    X, y = table(1, 2)
    unit = np.array([1.0, 2.0**k, 1.0])
    plain = lk.LogisticRegression(C=np.inf).fit(X, y).summary(X, y)
    other = lk.LogisticRegression(C=np.inf).fit(X * unit, y).summary(X * unit, y)
    shown = np.append(1.0, unit)
    for name in ("estimates", "errors", "low", "high"):
        np.testing.assert_allclose(getattr(other, name) * shown, getattr(plain, name), rtol=1e-9)
    np.testing.assert_allclose(other.z, plain.z, rtol=1e-9)
    assert other.wald == pytest.approx(plain.wald)
