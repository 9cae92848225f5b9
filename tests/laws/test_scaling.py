"""The law of scaling: the power of two in which columns are counted changes no answer of a density."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import likelier as lk
from likelier.families import DiagonalGaussian, FullGaussian, ProductKernel, TiedGaussian

LDA, QDA = lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
POWERS = [10, -10, 100, -100, 300, -300, 600, -600, 1000, -1000]
quiet = pytest.mark.filterwarnings(
    "ignore::likelier.DegenerateWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
pytestmark = quiet

# A new generative model joins here, if its answers do not depend on the units of any column.
BY_COLUMN = [
    lk.GaussianNB(var_smoothing=0),
    LDA(),
    LDA("lsqr"),
    LDA("eigen"),
    LDA("lsqr", "auto"),
    LDA("eigen", "auto"),
    QDA(),
    QDA(solver="eigen", shrinkage="auto"),
    lk.MixtureDiscriminantAnalysis(2, reg_covar=0, random_state=0),
    lk.MixtureDiscriminantAnalysis(2, covariance_type="diag", reg_covar=0, random_state=0),
    lk.MixtureDiscriminantAnalysis(2, covariance_type="tied", reg_covar=0, random_state=0),
    lk.KernelDensityClassifier(),
    lk.KernelDensityClassifier("silverman"),
    lk.KernelDensityClassifier("cv"),
    lk.NaiveBayes("gaussian"),
    lk.NaiveBayes("kernel"),
    lk.NaiveBayes("histogram"),
    lk.NaiveBayes("gamma"),
    lk.NaiveBayes("exponential"),
    lk.NaiveBayes({(0, 1): "gaussian-full", 2: "gaussian"}),
    lk.NaiveBayes({(0, 2): "gaussian-full", 1: "histogram"}),
    lk.BayesClassifier(FullGaussian()),
    lk.BayesClassifier(TiedGaussian()),
    lk.BayesClassifier(DiagonalGaussian(by_column=True)),
    lk.BayesClassifier(ProductKernel()),
]
# And here, if all columns must be counted in the same unit.
TOGETHER = [
    lk.GaussianNB(),
    LDA("lsqr", 0.3),
    QDA(solver="eigen", shrinkage=0.3),
    lk.BayesClassifier(DiagonalGaussian()),
    lk.GaussianMixture(2, reg_covar=0, random_state=0),
    lk.GaussianMixture(3, covariance_type="diag", reg_covar=0, random_state=0),
    lk.GaussianMixture(2, covariance_type="tied", reg_covar=0, random_state=0),
    lk.GaussianMixture(2, covariance_type="spherical", reg_covar=0, random_state=0),
    lk.GaussianMixture(3, select="bic", covariance_type="all", reg_covar=0, random_state=0),
    lk.Mixture(2, random_state=0),
    lk.Mixture(2, families=FullGaussian(), random_state=0),
]


def rows(gaps):
    """Positive numbers, three classes; the first row of each class is complete."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = np.exp(0.3 * (rng.standard_normal((90, 3)) @ (np.eye(3) + 0.4) + 1.5 * y[:, None]))
    if gaps:
        X[3:][rng.random((87, 3)) < 0.1] = np.nan
    return X, y


def answers(model, X):
    found = {"predict_proba": model.predict_proba(X), "score_samples": model.score_samples(X)}
    if (
        hasattr(model, "is_outlier") and not np.isnan(X).any()
    ):  # (densities of fewer columns have other units)
        found["is_outlier"] = model.is_outlier(X, 0.1)
    return found


def assert_the_same(model, X, y, units):
    """units: powers of two by which the columns are multiplied."""
    scaled = np.ldexp(X, units)
    one, other = clone(model).fit(X, y), clone(model).fit(scaled, y)
    ours, theirs = answers(one, X), answers(other, scaled)
    np.testing.assert_allclose(theirs["predict_proba"], ours["predict_proba"], rtol=1e-9, atol=1e-12)
    shift = ~np.isnan(X) @ (np.log(2) * units)
    np.testing.assert_allclose(theirs["score_samples"] + shift, ours["score_samples"], rtol=0, atol=1e-9)
    if "is_outlier" in ours:
        np.testing.assert_array_equal(theirs["is_outlier"], ours["is_outlier"])
    if hasattr(model, "impute") and "histogram" not in repr(model):  # whose means are sums of squares
        filled = np.ldexp(other.impute(scaled), -units)
        np.testing.assert_allclose(filled, one.impute(X), rtol=1e-8)
    drawn = np.ldexp(other.sample(20, random_state=0)[0], -units)
    np.testing.assert_allclose(drawn, one.sample(20, random_state=0)[0], rtol=1e-8)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("k", POWERS)
@pytest.mark.parametrize("model", [*BY_COLUMN, *TOGETHER], ids=lambda model: repr(model).replace("\n", ""))
def test_the_unit_of_all_columns_changes_no_answer(model, k, gaps):
    X, y = rows(gaps)
    assert_the_same(model, X, y, np.full(3, k))


@pytest.mark.parametrize("units", [(0, 600, 0), (1000, -1000, 0), (-600, 0, -300), (-1000, 5, 1000)])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("model", BY_COLUMN, ids=lambda model: repr(model).replace("\n", ""))
def test_nor_that_of_each_column(model, gaps, units):
    X, y = rows(gaps)
    assert_the_same(model, X, y, np.array(units))


# ---- what else is known of them ------------------------------------------------------------------
@pytest.mark.parametrize("k", [600, -600])
@pytest.mark.parametrize("model", [lk.GaussianNB(), LDA(), QDA(), lk.NaiveBayes("gaussian")], ids=repr)
def test_batches_mergers_files_and_marginals_are_in_the_same_units(model, k, tmp_path):
    X, y = rows(gaps=True)
    scaled = X * 2.0**k
    whole = clone(model).fit(scaled, y)
    P = clone(model).fit(X, y).predict_proba(X)
    batches = clone(model)
    for some in np.array_split(np.arange(90), 3):
        batches.partial_fit(scaled[some], y[some], classes=[0, 1, 2])
    near = {"rtol": 1e-6, "atol": 1e-9}
    np.testing.assert_allclose(batches.predict_proba(scaled), P, **near)
    halves = [clone(model).fit(scaled[some], y[some]) for some in (slice(0, 45), slice(45, 90))]
    units = [half._statistics.units for half in halves]
    if np.array_equal(*units) and model.get_params().get("families") is None:
        np.testing.assert_allclose(lk.merge(halves).predict_proba(scaled), P, **near)
    lk.save(whole, tmp_path / "model.lk")
    again = lk.load(tmp_path / "model.lk")
    np.testing.assert_array_equal(again.predict_proba(scaled), whole.predict_proba(scaled))
    np.testing.assert_array_equal(copy.deepcopy(whole).score_samples(scaled), whole.score_samples(scaled))
    plain = clone(model).fit(X, y)
    ours, theirs = whole.marginal([2, 0]), plain.marginal([2, 0])
    np.testing.assert_allclose(
        ours.predict_proba(scaled[:, [2, 0]]), theirs.predict_proba(X[:, [2, 0]]), rtol=1e-9
    )
    ours, theirs = whole.condition({1: 2.0 * 2.0**k}), plain.condition({1: 2.0})
    np.testing.assert_allclose(
        ours.predict_proba(scaled[:, [0, 2]]), theirs.predict_proba(X[:, [0, 2]]), rtol=1e-9
    )


@pytest.mark.parametrize("k", [600, -600])
def test_what_is_shown_is_in_the_units_of_the_columns(k):
    X, y = rows(gaps=False)
    scaled, unit = X * 2.0**k, 2.0**k
    one, other = lk.GaussianNB().fit(X, y), lk.GaussianNB().fit(scaled, y)
    np.testing.assert_allclose(other.theta_ / unit, one.theta_, rtol=1e-12)
    assert (other.var_ == (np.inf if k > 0 else 0)).all()  # no number is as large or small
    for solver in ("svd", "eigen"):
        one, other = LDA(solver).fit(X, y), LDA(solver).fit(scaled, y)
        np.testing.assert_allclose(other.coef_ * unit, one.coef_, rtol=1e-9)
        np.testing.assert_allclose(other.intercept_, one.intercept_, rtol=1e-9)
        np.testing.assert_allclose(other.means_ / unit, one.means_, rtol=1e-12)
        np.testing.assert_allclose(other.transform(scaled), one.transform(X), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(other.decision_function(scaled), one.decision_function(X), rtol=1e-8)
        np.testing.assert_allclose(other.to_linear().predict_proba(scaled), one.predict_proba(X), rtol=1e-8)
    for model in (lk.GaussianNB(), LDA()):
        one, other = clone(model).fit(X, y), clone(model).fit(scaled, y)
        values = other.contributions(scaled).values + k * np.log(2)
        np.testing.assert_allclose(values, one.contributions(X).values, rtol=0, atol=1e-9)
    one, other = QDA().fit(X, y), QDA().fit(scaled, y)
    np.testing.assert_allclose(np.abs(other.rotations_), np.abs(one.rotations_), rtol=1e-7, atol=1e-9)
    one = lk.GaussianMixture(3, select="bic", reg_covar=0, random_state=0).fit(X)
    other = lk.GaussianMixture(3, select="bic", reg_covar=0, random_state=0).fit(scaled)
    np.testing.assert_allclose(other.means_ / unit, one.means_, rtol=1e-9)
    np.testing.assert_allclose(other.lower_bound_ + 3 * k * np.log(2), one.lower_bound_, rtol=1e-9)
    np.testing.assert_allclose(
        other.selection_["bic"][len(other.weights_) - 1], other.bic(scaled), rtol=1e-9
    )


@pytest.mark.parametrize("k", [600, -600])
@pytest.mark.parametrize("model", [lk.GaussianNB(), LDA(), QDA()], ids=repr)
def test_in_frames_sparse_matrices_files_and_folds_too(model, k, tmp_path):
    X, y = rows(gaps=False)
    P, scaled = clone(model).fit(X, y).predict_proba(X), X * 2.0**k
    frame = pd.DataFrame(scaled, columns=list("abc"))
    for given in (frame, sparse.csr_matrix(scaled)):
        np.testing.assert_allclose(clone(model).fit(given, y).predict_proba(given), P, rtol=1e-9)
    frame.assign(y=np.array(["a", "b", "c"])[y]).to_parquet(tmp_path / "rows.parquet")
    source = lk.scan(tmp_path / "rows.parquet", target="y")
    np.testing.assert_allclose(clone(model).fit(source).predict_proba(frame), P, rtol=1e-9)
    ours, theirs = (clone(model).cross_validate(each, y, cv=3) for each in (scaled, X))
    np.testing.assert_allclose(ours.scores["log_loss"], theirs.scores["log_loss"], rtol=1e-8)


def test_a_covariance_of_deficient_rank_is_lifted_in_the_units_of_its_columns():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    X[:, 2] = np.where(y == 0, X[:, 0] + X[:, 1], X[:, 2])
    P = QDA().fit(X, y).predict_proba(X)
    for units in ((5, -7, 0), (20, 20, 20), (-30, 0, 12)):
        scaled = np.ldexp(X, units)
        np.testing.assert_allclose(QDA().fit(scaled, y).predict_proba(scaled), P, rtol=1e-5, atol=1e-9)


def test_small_numbers_do_not_vary_without_a_warning_only_if_they_are_constant():
    X, y = rows(gaps=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (lk.GaussianNB(), LDA(), QDA(), lk.NaiveBayes("gaussian")):
            clone(model).fit(X * 1e-200, y)
    with pytest.warns(lk.DegenerateWarning, match="constant"):
        LDA().fit(np.column_stack([X * 1e-200, np.full(90, 1e-200)]), y)


# ---- weights -------------------------------------------------------------------------------------
# Models without pseudo-counts: what all weights are multiplied by changes no answer.
WEIGHED = [
    lk.GaussianNB(),
    LDA(),
    LDA("lsqr", 0.2),
    LDA("eigen"),
    QDA(),
    lk.MixtureDiscriminantAnalysis(2, random_state=0),
    lk.GaussianMixture(2, random_state=0),
    lk.GaussianMixture(2, select="bic", covariance_type=["diag", "full"], random_state=0),
    lk.Mixture(2, random_state=0),
    lk.KernelDensityClassifier("cv"),
    lk.KernelDensityClassifier(0.4),
    lk.NaiveBayes({(0, 1, 2): "gaussian-full"}),
    lk.BayesClassifier(FullGaussian()),
]


@pytest.mark.parametrize("k", [-900, -300, -40, 1, 40, 300, 900])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("model", WEIGHED, ids=lambda model: repr(model).replace("\n", ""))
def test_the_scale_of_weights_changes_no_answer(model, gaps, k):
    X, y = rows(gaps)
    w = np.random.default_rng(1).exponential(size=90) + 0.1
    one, other = clone(model).fit(X, y, sample_weight=w), clone(model).fit(X, y, sample_weight=w * 2.0**k)
    if not isinstance(one, lk.GaussianMixture) or one.select is None:  # (BIC counts weights as rows)
        np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.score_samples(X), one.score_samples(X), rtol=1e-9, atol=1e-9)


# ---- far from everything -------------------------------------------------------------------------
NUMBERS = [model for model in [*BY_COLUMN, *TOGETHER] if "histogram" not in repr(model)]
# (BayesClassifier gives rows that no class allows the priors, and says so.)
OF_ROWS = [model for model in NUMBERS if not isinstance(model, lk.BayesClassifier)]


@pytest.mark.parametrize("model", OF_ROWS, ids=lambda model: repr(model).replace("\n", ""))
def test_rows_far_from_everything_have_probabilities(model):
    """ln p may be -inf, there is no such number; which class it would be is as it is somewhat nearer."""
    X, y = rows(gaps=False)
    model = clone(model).fit(X, y)
    far = np.array([[1e300, 1.0, 2.0], [1e300, 1e308, 1e307], [1.0, 1e160, 1e5], [1e307, 1.0, 1e307]])
    P = model.predict_proba(far)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(P[0], model.predict_proba(far[:1] * 1e-180)[0], rtol=1e-6, atol=1e-9)
    assert not np.isnan(model.score_samples(far)).any()
    if hasattr(model, "impute"):
        lacking = np.where([False, False, True], np.nan, far)
        assert np.isfinite(model.impute(lacking)).all()


@pytest.mark.parametrize("model", NUMBERS, ids=lambda model: repr(model).replace("\n", ""))
@pytest.mark.parametrize(("w", "message"), [(1e307, "sum overflows: divide"), (5e-324, "lost: multiply")])
def test_weights_that_no_sum_can_hold_are_refused(model, w, message):
    X, y = rows(gaps=False)
    with pytest.raises(ValueError, match=f"sample_weight contains values so .*{message}"):
        clone(model).fit(X, y, sample_weight=np.full(90, w))
