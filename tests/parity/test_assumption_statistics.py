"""The statistics behind the checks of assumptions are those of SciPy, statsmodels and pandas."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats.contingency import association
from sklearn.datasets import load_diabetes, load_iris, load_wine
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.diagnostic import het_breuschpagan, normal_ad
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.multivariate import test_cov_diagonal as cov_diagonal
from statsmodels.stats.multivariate import test_cov_oneway as cov_oneway
from statsmodels.tools import add_constant

from likelier.comparison.assumptions import check
from likelier.comparison.assumptions.columns import (
    CHANCE,
    bartlett,
    correlation_ratio,
    correlations,
    cramer,
    gaussian,
)
from likelier.comparison.assumptions.covariances import box_m, mardia
from likelier.comparison.assumptions.sample import holm
from likelier.comparison.rows import opened

SHAPES = {
    "normal": lambda rng, n: rng.normal(5, 3, n),
    "skewed": lambda rng, n: rng.gamma(2, size=n),
    "heavy": lambda rng, n: rng.standard_t(3, n),
    "rounded": lambda rng, n: rng.normal(0, 3, n).round(),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [8, 50, 3000])
def test_shape_of_a_column(shape, n):
    x = SHAPES[shape](np.random.default_rng(n), n)
    skewness, kurtosis, distance, p = gaussian(x)
    assert skewness == pytest.approx(stats.skew(x), abs=1e-12)
    assert kurtosis == pytest.approx(stats.kurtosis(x), abs=1e-12)
    ks = stats.kstest(x, stats.norm(x.mean(), x.std(ddof=1)).cdf).statistic
    assert distance == pytest.approx(max(ks - CHANCE / np.sqrt(n), 0), abs=1e-12)
    assert p == pytest.approx(
        normal_ad(x)[1], rel=1e-6, abs=1e-30
    )  # theirs takes ln(1 - Φ), and ends at 13


def test_holm():
    p = np.random.default_rng(0).uniform(size=(4, 5)) ** 3
    expected = multipletests(p.ravel(), method="holm")[1].reshape(p.shape)
    np.testing.assert_allclose(holm(p), expected)
    with_gap = np.append(p.ravel(), np.nan)
    np.testing.assert_allclose(holm(with_gap)[:-1], expected.ravel())
    assert np.isnan(holm(with_gap)[-1])


def test_correlations_of_pairs_that_are_there():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4))
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    R, n = correlations(X)
    np.testing.assert_allclose(R, pd.DataFrame(X).corr(), rtol=1e-12)
    assert n[0, 1] == (~np.isnan(X[:, :2])).all(axis=1).sum()


def test_bartlett_and_box_on_iris():
    X, y = load_iris(return_X_y=True)
    blocks = [X[y == k] for k in range(3)]
    for block in blocks:
        assert bartlett(correlations(block)[0], 50) == pytest.approx(
            cov_diagonal(np.cov(block.T), 50).pvalue, rel=1e-9
        )
    theirs = cov_oneway([np.cov(block.T) for block in blocks], [50] * 3)
    M, df, c, _ = box_m(blocks)
    assert M == pytest.approx(theirs.statistic_base)
    assert (1 - c) * M == pytest.approx(theirs.statistic_chi2)
    assert df == theirs.df_chi2
    assert pytest.approx(146.66, abs=0.005) == M  # SPSS, R (biotools, heplots)


def test_mardia_on_iris():
    X, y = load_iris(return_X_y=True)
    setosa = mardia("setosa", X[y == 0])
    # R, MVN::mvn(iris[1:50, 1:4], mvnTest = "mardia"): 25.66435 = n b₁/6, 1.294992 = (b₂ - 24)/√(8·24/n)
    assert 50 * setosa.skewness / 6 == pytest.approx(25.66435, abs=1e-5)
    assert (setosa.kurtosis - 24) / np.sqrt(8 * 24 / 50) == pytest.approx(1.294992, abs=1e-6)


def test_dependence_of_categories_and_of_numbers_on_them():
    rng = np.random.default_rng(0)
    one = rng.integers(0, 3, 200)
    other = np.where(rng.uniform(size=200) < 0.4, one, rng.integers(0, 4, 200))
    table = pd.crosstab(one, other).to_numpy()
    V, square, p = cramer(one, other)
    assert pytest.approx(association(table, "cramer")) == V
    assert p == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue)
    assert 0 < square < V**2
    x = rng.normal(size=200) + one
    eta, square, p = correlation_ratio(x, one)
    fit = OLS(x, pd.get_dummies(one).to_numpy(dtype=float)).fit()
    assert eta**2 == pytest.approx(fit.rsquared)
    assert square == pytest.approx(fit.rsquared_adj)
    assert p == pytest.approx(stats.f_oneway(*(x[one == k] for k in range(3))).pvalue)


def test_residuals():
    data = load_diabetes(as_frame=True)
    left = check(opened(data.data, data.target), None).residuals
    design = add_constant(data.data)
    fit = OLS(data.target, design).fit()
    assert left.adjusted_r2 == pytest.approx(fit.rsquared_adj)
    assert left.linear_p == pytest.approx(fit.f_pvalue)
    assert left.uneven_p == pytest.approx(het_breuschpagan(fit.resid, design)[1])
    assert left.skewness == pytest.approx(stats.skew(fit.resid))
    Z = data.data.drop(columns="sex")  # a bend of a column of two values is a slope
    more = OLS(data.target, design.join((Z - Z.median()).abs().add_suffix(" bent"))).fit()
    assert left.nonlinear_p == pytest.approx(more.compare_f_test(fit)[1])


def test_poisson_counts_by_their_index():
    X, y = load_wine(return_X_y=True)
    counts = np.floor(X[:, [4, 12]])
    found = check(opened(counts, y), np.arange(3)).poisson
    x = counts[y == 1, 0]
    assert found.index[1, 0] == pytest.approx(x.var(ddof=1) / x.mean())
