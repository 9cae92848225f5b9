"""Cluster-robust errors, odds ratios, marginal effects, tests of terms and prediction intervals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.sparse import csr_matrix
from scipy.special import softmax

import likelier as lk

NEAR = {"rtol": 1e-8, "atol": 1e-11}
SHARP = {"C": np.inf, "tol": 1e-10}
NEWTON = {"disp": 0, "method": "newton", "tol": 1e-14, "maxiter": 100}
TERMS = {"a": [0], "bc": ["x1", 2], "all": [0, 1, 2, 3]}


def rows(K: int = 2, n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of 25 clusters that share an effect, two columns of indicators, and one far from 0."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 25, n)
    X = np.column_stack([rng.normal(size=n), 3 * rng.normal(size=n) + 10, rng.random((n, 2)) < 0.4])
    shared = rng.normal(size=(25, K))[groups] * 0.7
    Z = (X - [0, 10, 0, 0]) @ rng.normal(size=(4, K)) * 0.5 + shared + rng.gumbel(size=(n, K))
    return X, Z.argmax(axis=1), groups


def logit(X: np.ndarray, y: np.ndarray, **how: Any) -> Any:
    """The fit of statsmodels."""
    model = sm.Logit if y.max() == 1 else sm.MNLogit
    return model(y, sm.add_constant(X)).fit(**NEWTON, **how)


def clustered(groups: np.ndarray) -> dict[str, Any]:
    return {"cov_type": "cluster", "cov_kwds": {"groups": groups}}


def assert_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), **NEAR)


# ---- logistic regression -------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("names", [int, str])
def test_errors_of_clusters(K, names):
    X, y, groups = rows(K)
    theirs = logit(X, y, **clustered(groups))
    model = lk.LogisticRegression(**SHARP).fit(X, y)
    found = model.summary(X, y, cov="cluster", groups=[names(g) for g in groups])
    shape = np.shape(theirs.params)[::-1]
    assert_close(found.errors.reshape(shape).T, theirs.bse)
    assert_close(found.p.reshape(shape).T, theirs.pvalues)
    if K == 2:
        assert_close(np.column_stack([found.low, found.high]), theirs.conf_int())
        assert_close(found.wald, theirs.wald_test(np.eye(5)[1:], scalar=True).statistic)
    assert found.clusters == 25
    assert "errors of 25 clusters" in str(found)


def test_odds_ratios():
    X, y, _ = rows()
    model, theirs = lk.LogisticRegression(**SHARP).fit(X, y), logit(X, y)
    plain, found = model.summary(), model.summary(exp=True)
    assert_close(found.estimates, np.exp(theirs.params))
    assert_close(np.column_stack([found.low, found.high]), np.exp(theirs.conf_int()))
    assert_close(found.errors, np.exp(theirs.params) * theirs.bse)
    np.testing.assert_array_equal(found.p, plain.p)
    assert "odds ratio" in found.to_frame()
    assert "odds of 1 against 0" in str(found)
    assert "log odds" not in str(found)


@pytest.mark.parametrize("at", ["overall", "mean"])
@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("robust", [False, True])
def test_marginal_effects_of_two_classes(at, discrete, robust):
    X, y, groups = rows()
    theirs = logit(X, y, **(clustered(groups) if robust else {})).get_margeff(at=at, dummy=discrete)
    how = {"cov": "cluster", "groups": groups} if robust else {}
    model = lk.LogisticRegression(**SHARP).fit(X, y)
    found = model.marginal_effects(X, y, at=at, discrete=discrete, **how)
    assert_close(found.effects[0], theirs.margeff)
    assert_close(found.errors[0], theirs.margeff_se)
    assert_close(np.column_stack([found.low[0], found.high[0]]), theirs.conf_int())
    assert_close(found.p[0], theirs.pvalues)
    if not robust:
        assert_close(model.marginal_effects(csr_matrix(X), at=at, discrete=discrete).errors, found.errors)


@pytest.mark.parametrize("at", ["overall", "mean"])
def test_marginal_effects_of_three_classes(at):
    X, y, _ = rows(3)
    theirs = logit(X, y).get_margeff(at=at)
    found = lk.LogisticRegression(**SHARP).fit(X, y).marginal_effects(X, at=at)
    assert_close(found.effects.T, theirs.margeff)
    assert_close(found.errors.T, theirs.margeff_se)
    assert_close(found.effects.sum(axis=0), 0.0)  # probabilities sum to 1
    assert list(found.to_frame().index)[:2] == ["0: x0", "0: x1"]


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_marginal_effects_by_differences(K, intercept):
    """Discrete effects, with an offset and without an intercept, which statsmodels does not have."""
    X, y, _ = rows(K)
    rng = np.random.default_rng(1)
    offset = rng.normal(size=len(X) if K == 2 else (len(X), K)) / 2
    X, w = X - [0, 10, 0, 0], rng.integers(1, 4, len(X)).astype(float)
    model = lk.LogisticRegression(fit_intercept=intercept, **SHARP)
    model.fit(X, y, sample_weight=w, offset=offset)
    how = {"sample_weight": w, "offset": offset}
    found = model.marginal_effects(X, y, discrete=True, **how)
    summary = model.summary(X, y, cov="HC0", **how)
    robust = model.marginal_effects(X, y, cov="HC0", discrete=True, **how)
    b = summary.estimates
    base = np.column_stack([np.zeros(len(X)), offset]) if K == 2 else offset

    def effects(flat: np.ndarray) -> np.ndarray:
        """From the coefficients as shown, all of which are less those of the first class."""
        T = flat.reshape(K - 1, -1)
        at, W = (T[:, 0], T[:, 1:]) if intercept else (np.zeros(K - 1), T)

        def mean(j: int, value: float) -> np.ndarray:
            Z = X.copy()
            Z[:, j] += value
            if j > 1:
                Z[:, j] = value > 0
            scores = np.column_stack([np.zeros(len(X)), Z @ W.T + at]) + base
            return np.average(softmax(scores, axis=1), axis=0, weights=w)

        h = 1e-5
        each = [
            (mean(j, h) - mean(j, -h)) / (2 * h) if j < 2 else mean(j, 1) - mean(j, -1) for j in range(4)
        ]
        return np.array(each).T[1 if K == 2 else 0 :]

    np.testing.assert_allclose(found.effects, effects(b), rtol=1e-6, atol=1e-9)
    J = np.array([(effects(b + 1e-4 * e) - effects(b - 1e-4 * e)) / 2e-4 for e in np.eye(len(b))])
    for cov, each in (("classical", found), ("HC0", robust)):
        V = coefficient_covariance(X, y, w, base, b, K, intercept, cov)
        expected = np.sqrt(np.einsum("aij,ab,bij->ij", J, V, J))
        np.testing.assert_allclose(each.errors, expected, rtol=1e-4)


def coefficient_covariance(
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    base: np.ndarray,
    b: np.ndarray,
    K: int,
    intercept: bool,
    cov: str,
) -> np.ndarray:
    """Written out: of the coefficients less those of the first class."""
    A = np.column_stack([np.ones(len(X)), X]) if intercept else X
    P = softmax(np.column_stack([np.zeros(len(X)), A @ b.reshape(K - 1, -1).T]) + base, axis=1)[:, 1:]
    middle = np.einsum("nk,kl->nkl", P, np.eye(K - 1)) - P[:, :, None] * P[:, None, :]
    m = len(b)
    H = np.einsum("n,nkl,ni,nj->kilj", w, middle, A, A).reshape(m, m)
    S = ((P - (y[:, None] == np.arange(1, K)))[:, :, None] * A[:, None, :]).reshape(len(X), m)
    inverse = np.linalg.inv(H)
    return inverse if cov == "classical" else inverse @ ((S.T * w) @ S) @ inverse


@pytest.mark.parametrize("K", [2, 3])
def test_terms_by_likelihood_ratio_and_wald(K):
    X, y, groups = rows(K)
    model, theirs = lk.LogisticRegression(**SHARP).fit(X, y), logit(X, y)
    found = model.term_tests(X, y, terms=TERMS)
    for i, drop in enumerate(([0], [1, 2], [0, 1, 2, 3])):
        rest = np.setdiff1d(np.arange(4), drop)
        less = logit(X[:, rest], y).llf if len(rest) else theirs.llnull
        assert_close(found.lr[i], 2 * (theirs.llf - less))
        assert found.df[i] == len(drop) * (K - 1)
    if K == 2:
        robust = model.term_tests(X, y, terms=TERMS, cov="cluster", groups=groups)
        for fit, mine in ((theirs, found), (logit(X, y, **clustered(groups)), robust)):
            tests = [
                fit.wald_test(np.eye(5)[[1 + j for j in at]], scalar=True) for at in ([0], [1, 2], range(4))
            ]
            assert_close(mine.wald, [test.statistic for test in tests])
            assert_close(mine.wald_p, [test.pvalue for test in tests])
        assert np.isnan(robust.lr).all()
    assert "LR χ²" in str(found)


# ---- least squares -------------------------------------------------------------------------------
def regression() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, _, groups = rows()
    rng = np.random.default_rng(3)
    y = X @ [0.8, -0.1, 1.0, 0.0] + rng.normal(size=25)[groups] + rng.normal(size=len(X))
    return X, y, groups


@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_with_clusters(intercept):
    X, y, groups = regression()
    A = sm.add_constant(X) if intercept else X
    theirs = sm.OLS(y, A).fit(use_t=True, **clustered(groups))
    model = lk.LinearRegression(fit_intercept=intercept).fit(X, y)
    found = model.summary(X, y, cov="cluster", groups=groups)
    assert_close(found.errors, theirs.bse)
    assert_close(found.p, theirs.pvalues)
    assert_close(np.column_stack([found.low, found.high]), theirs.conf_int())
    W = np.eye(A.shape[1])[int(intercept) :]
    assert_close(found.F, np.squeeze(theirs.f_test(W).fvalue))
    assert_close(found.F_p, theirs.f_test(W).pvalue)
    assert found.F_df == (4, 24)
    terms = model.term_tests(X, y, terms=TERMS, cov="cluster", groups=groups)
    tests = [theirs.f_test(W[at]) for at in ([0], [1, 2], [0, 1, 2, 3])]
    assert_close(terms.wald, [np.squeeze(test.fvalue) for test in tests])
    assert_close(terms.wald_p, [test.pvalue for test in tests])


@pytest.mark.parametrize("intercept", [True, False])
def test_terms_of_least_squares(intercept):
    X, y, _ = regression()
    A = sm.add_constant(X) if intercept else X
    theirs = sm.OLS(y, A).fit()
    found = lk.LinearRegression(fit_intercept=intercept).fit(X, y).term_tests(terms=TERMS)
    for i, drop in enumerate(([0], [1, 2])):
        less = sm.OLS(y, np.delete(A, [int(intercept) + j for j in drop], axis=1)).fit()
        assert_close([found.wald[i], found.wald_p[i]], theirs.compare_f_test(less)[:2])
        assert_close([found.lr[i], found.lr_p[i]], theirs.compare_lr_test(less)[:2])
    summary = lk.LinearRegression(fit_intercept=intercept).fit(X, y).summary()
    assert_close(found.wald[2], summary.F)


@pytest.mark.parametrize("intercept", [True, False])
def test_prediction_intervals(intercept):
    X, y, _ = regression()
    new = np.random.default_rng(5).normal(size=(9, 4)) * [2, 5, 1, 1] + [0, 10, 0, 0]
    A, B = ((sm.add_constant(Z, has_constant="add") if intercept else Z) for Z in (X, new))
    theirs = sm.OLS(y, A).fit().get_prediction(B).summary_frame(alpha=0.1)
    model = lk.LinearRegression(fit_intercept=intercept).fit(X, y)
    found = model.prediction_interval(new, level=0.9)
    for mine, name in (
        (found.mean, "mean"),
        (found.error, "mean_se"),
        (found.mean_low, "mean_ci_lower"),
        (found.mean_high, "mean_ci_upper"),
        (found.low, "obs_ci_lower"),
        (found.high, "obs_ci_upper"),
    ):
        assert_close(mine, theirs[name])
    assert found.to_frame().shape == (9, 6)
    twice = lk.LinearRegression(fit_intercept=intercept).fit(X, np.column_stack([y, -y]))
    both = twice.prediction_interval(new, level=0.9)
    assert_close(both.low, np.column_stack([found.low, -found.high]))
    with pytest.raises(ValueError, match="one target; these are 2"):
        both.to_frame()


# ---- laws ----------------------------------------------------------------------------------------
def test_weights_are_repetitions():
    X, y, groups = rows()
    w = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    often = np.repeat(np.arange(len(X)), w.astype(int))
    target = X @ [1.0, -1, 0, 2] + groups % 3 + np.sin(np.arange(len(X)))
    one, many = lk.LogisticRegression(**SHARP), lk.LogisticRegression(**SHARP)
    one.fit(X, y, sample_weight=w)
    many.fit(X[often], y[often])
    how, them = {"cov": "cluster", "groups": groups, "sample_weight": w}, {"cov": "cluster"}
    them = {"cov": "cluster", "groups": groups[often]}
    a, b = one.summary(X, y, **how), many.summary(X[often], y[often], **them)
    np.testing.assert_allclose(a.errors, b.errors, rtol=1e-7)
    a, b = one.marginal_effects(X, y, **how), many.marginal_effects(X[often], y[often], **them)
    np.testing.assert_allclose([a.effects, a.errors], [b.effects, b.errors], rtol=1e-7)
    a, b = one.term_tests(X, y, sample_weight=w), many.term_tests(X[often], y[often])
    np.testing.assert_allclose([a.wald, a.lr], [b.wald, b.lr], rtol=1e-6)
    one, many = lk.LinearRegression(), lk.LinearRegression()
    one.fit(X, target, sample_weight=w)
    many.fit(X[often], target[often])
    a, b = one.summary(X, target, **how), many.summary(X[often], target[often], **them)
    np.testing.assert_allclose([a.errors, a.p], [b.errors, b.p], rtol=1e-8)
    np.testing.assert_allclose(one.prediction_interval(X).low, many.prediction_interval(X).low, rtol=1e-9)


@pytest.mark.parametrize("power", [300, -300])
def test_units_of_columns(power):
    X, y, _ = rows(3)
    unit = np.array([1.0, 2.0**power, 1, 1])
    one, other = (lk.LogisticRegression(**SHARP).fit(X * u, y) for u in (np.ones(4), unit))
    a, b = one.marginal_effects(X, y, discrete=True), other.marginal_effects(X * unit, y, discrete=True)
    np.testing.assert_allclose(a.effects, b.effects * unit, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(a.errors, b.errors * unit, rtol=1e-7)
    target = X @ [1.0, -1, 0, 2] + np.sin(np.arange(len(X)))
    a, b = (lk.LinearRegression().fit(X * u, target) for u in (np.ones(4), unit))
    assert_close(a.prediction_interval(X).low, b.prediction_interval(X * unit).low)
    assert_close(a.term_tests().wald, b.term_tests().wald)


def test_clusters_of_one_row_are_robust_errors():
    """HC0, but for the factor n / (n - k) of clusters that are rows."""
    X, y, _ = rows()
    n = len(X)
    for model, target in ((lk.LogisticRegression(**SHARP), y), (lk.LinearRegression(), X[:, 0] + y)):
        A = X[:, 1:]
        fit = model.fit(A, target)
        each = fit.summary(A, target, cov="cluster", groups=np.arange(n))
        plain = fit.summary(A, target, cov="HC1")
        np.testing.assert_allclose(each.errors, plain.errors, rtol=1e-9)


def test_terms_are_the_columns_of_the_table():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "port": rng.choice(list("abc"), 200)})
    df["age"] = rng.normal(size=200)
    y = rng.normal(size=200) + (df.port == "a")
    found = lk.LinearRegression().fit(df, y).term_tests()
    assert found.names == ("sex", "port", "age")
    np.testing.assert_array_equal(found.df, [1, 2, 1])
    model = lk.LogisticRegression(C=np.inf).fit(df, y > 0)
    np.testing.assert_array_equal(model.term_tests(df, y > 0).df, [1, 2, 1])
    assert model.marginal_effects(df).names == ("sex=m", "port=b", "port=c", "age")


def test_columns_that_follow_from_others():
    """What the rows determine has its numbers, and what they leave open is NaN."""
    X, y, _ = rows()
    A = np.column_stack([X, X[:, 0] + X[:, 1]])
    whole, more = lk.LogisticRegression(**SHARP).fit(X, y), lk.LogisticRegression(**SHARP).fit(A, y)
    a, b = whole.marginal_effects(X), more.marginal_effects(A, y)
    assert np.isnan(b.errors[0, [0, 1, 4]]).all()
    np.testing.assert_allclose(b.errors[0, [2, 3]], a.errors[0, [2, 3]], rtol=1e-6)
    a, b = whole.term_tests(X, y, {"t": [0, 1]}), more.term_tests(A, y, {"t": [0, 1, 4]})
    np.testing.assert_allclose([b.df, b.wald, b.lr], [a.df, a.wald, a.lr], rtol=1e-6)
    with pytest.warns(lk.DegenerateWarning):
        line = lk.LinearRegression().fit(A, y)
    new = np.array([[1.0, 10, 0, 0, 11], [1.0, 10, 0, 0, 5]])
    with pytest.warns(lk.DegenerateWarning, match="predictions of 1 of 2 rows"):
        found = line.prediction_interval(new)
    assert_close(found.low[0], lk.LinearRegression().fit(X, y).prediction_interval(new[:1, :4]).low[0])
    assert np.isnan([found.low[1], found.high[1], found.error[1]]).all()


def test_a_penalty_has_effects_and_intervals_but_no_tests():
    X, y, _ = rows()
    found = lk.LogisticRegression(C=1.0).fit(X, y).marginal_effects(X)
    assert np.isfinite([found.effects, found.errors]).all()
    assert np.isnan(found.p).all()
    assert "posterior sd" in found.to_frame()
    assert np.isfinite(lk.Ridge().fit(X, y).prediction_interval(X).low).all()


# ---- bad input -----------------------------------------------------------------------------------
X, Y, G = rows()
FITTED = lk.LogisticRegression(**SHARP).fit(X, Y)
LINE = lk.LinearRegression().fit(X, Y)


@pytest.mark.parametrize("model", [FITTED, LINE], ids=["logistic", "least squares"])
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"cov": "cluster"}, "requires groups=, the cluster of each row"),
        ({"groups": G}, "requires groups=, the cluster of each row"),
        ({"cov": "HC1", "groups": G}, "requires groups=, the cluster of each row"),
        ({"cov": "cluster", "groups": G[:-1]}, r"each of the 300 rows of X; got shape \(299,\)"),
        ({"cov": "cluster", "groups": np.zeros(300)}, "at least 2 clusters"),
        ({"cov": "cluster", "groups": np.where(np.arange(300) == 7, np.nan, G)}, "missing value in row 7"),
        ({"cov": "cluster", "groups": np.array([*G[:-1], None], dtype=object)}, "missing value in row 299"),
        ({"cov": "clusters", "groups": G}, "cov must be one of 'classical', .* 'cluster'; got 'clusters'"),
    ],
)
def test_groups_that_do_not_do(model, how, message):
    for call in (model.summary, model.term_tests):
        with pytest.raises(ValueError, match=message):
            call(X, Y, **how)


@pytest.mark.parametrize("model", [FITTED, LINE], ids=["logistic", "least squares"])
@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({}, "terms must be a dict"),
        (["x0"], "terms must be a dict"),
        ({"t": "sex"}, "'t' names column 'sex', which the model does not have; it has 'x0'"),
        ({"t": [0, 4]}, "names column 4, which the model does not have"),
        ({"t": [0, "x0"]}, "columns, each once"),
        ({"t": []}, "columns, each once"),
    ],
)
def test_terms_that_do_not_do(model, terms, message):
    with pytest.raises(ValueError, match=message):
        model.term_tests(X, Y, terms=terms)


def test_fits_without_these_statistics():
    with pytest.raises(ValueError, match="other residuals"):
        LINE.summary(X[::-1], Y, cov="cluster", groups=G)
    with pytest.raises(ValueError, match="not the rows that were fitted"):
        FITTED.summary(X[::-1], Y, cov="cluster", groups=G)
    with pytest.raises(ValueError, match="is not defined with a penalty"):
        lk.LogisticRegression().fit(X, Y).term_tests(X, Y)
    with pytest.raises(ValueError, match="is not defined with a penalty"):
        lk.Ridge().fit(X, Y).term_tests()
    with pytest.raises(ValueError, match="robust errors are for fits without a penalty"):
        lk.LogisticRegression().fit(X, Y).marginal_effects(X, Y, cov="cluster", groups=G)
    with pytest.raises(ValueError, match="positive=True"):
        lk.LinearRegression(positive=True).fit(X, Y).prediction_interval(X)
    with pytest.raises(ValueError, match="at must be 'overall' or 'mean'; got 'median'"):
        FITTED.marginal_effects(X, at="median")
    with pytest.raises(ValueError, match=r"level must be a number between 0 and 1; got 95"):
        LINE.prediction_interval(X, level=95)
    with pytest.raises(ValueError, match="needs the rows of the fit: marginal_effects"):
        FITTED.marginal_effects(X, cov="HC0")
    with pytest.raises(ValueError, match="X has 3 features"):
        FITTED.marginal_effects(X[:, :3])


def test_too_few_clusters_determine_no_joint_test():
    few = G % 3
    found = FITTED.summary(X, Y, cov="cluster", groups=few)
    assert np.isfinite(found.errors).all()
    assert np.isnan(found.wald)
    assert np.isnan(LINE.summary(X, Y, cov="cluster", groups=few).F)


def test_rows_without_degrees_of_freedom_have_no_intervals():
    A = np.random.default_rng(0).normal(size=(8, 4))
    model = lk.LinearRegression().fit(A[:5], A[:5, 0])
    with pytest.warns(lk.DegenerateWarning, match="0 degrees of freedom"):
        found = model.prediction_interval(A)
    assert np.isnan([found.low, found.high, found.error]).all()
