"""What comparisons rest on: corrected errors, ranks, how many numbers a model has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import likelier as lk
from likelier.comparison.cross_validate import auc, mean_auc, parameters
from likelier.comparison.result import indistinct, p_value, standard_error
from likelier.data import Factor

SEEDS = st.integers(0, 2**32 - 1)


# ---- Nadeau and Bengio ---------------------------------------------------------------------------
def test_the_corrected_error_by_hand():
    """Five folds 1, 2, 3, 4, 5: s² = 2.5, and (1/5 + 1/4) 2.5 = 1.125; t = 3 / √1.125 with 4 degrees."""
    figures = np.array([1.0, 2, 3, 4, 5])
    assert standard_error(figures) == pytest.approx(np.sqrt(1.125))
    assert p_value(figures, np.zeros(5)) == pytest.approx(2 * stats.t.sf(3 / np.sqrt(1.125), 4))
    assert p_value(figures, figures) == 1.0
    assert p_value(figures, figures + 1) == 0.0
    assert np.isnan(standard_error(np.array([1.0])))
    assert np.isnan(p_value(figures, np.array([1, 2, np.inf, 4, 5])))
    assert not indistinct(figures, np.full(5, np.nan))


@given(d=hnp.arrays(np.float64, st.integers(2, 10), elements=st.floats(-5, 5, width=16)), seed=SEEDS)
def test_the_test_has_no_sides(d, seed):
    base = np.random.default_rng(seed).normal(size=len(d))
    assert p_value(base + d, base) == pytest.approx(p_value(base, base + d), abs=1e-9)
    assert 0 <= p_value(base + d, base) <= 1


def test_two_models_that_are_as_good_are_rarely_told_apart():
    """Two rules, equally wrong in truth, each with a weight that is learned: the naive t-test, which takes
    folds for independent, sees a difference more often than the corrected one, which keeps to its 5 %.
    """
    rng, trials, k, n = np.random.default_rng(0), 400, 5, 60
    naive = corrected = 0
    for _ in range(trials):
        X = rng.normal(size=(n, 2))
        y = (X.sum(axis=1) + rng.normal(size=n) > 0).astype(float)
        fold = rng.permutation(np.arange(n) % k)
        d = np.empty(k)
        for f in range(k):
            train, test = fold != f, fold == f
            losses = []
            for j in range(2):
                A = np.column_stack([np.ones(n), X[:, j]])
                b = np.linalg.lstsq(A[train], y[train], rcond=None)[0]
                losses.append(np.mean((A[test] @ b - y[test]) ** 2))
            d[f] = losses[0] - losses[1]
        naive += stats.ttest_1samp(d, 0).pvalue < 0.05
        corrected += p_value(d, np.zeros(k)) < 0.05
    assert corrected < naive
    assert corrected / trials < 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)


class Wavering(ClassifierMixin, BaseEstimator):
    """Right to the last in some fits and wrong to the last in others: its figures vary beyond measure."""

    def fit(self, X, y):
        self.classes_, self.right_ = np.unique(y), np.asarray(X)[:, 0].mean() > 14.13
        self.model_ = lk.GaussianNB().fit(X, y)
        return self

    def predict_proba(self, X):
        sure = np.where(self.model_.predict_proba(X) > 0.5, 1 - 1e-15, 1e-15)
        return sure if self.right_ else sure[:, ::-1]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_what_is_worse_than_the_majority_is_no_tie_however_much_it_varies():
    X, y = load_breast_cancer(return_X_y=True)
    found = lk.compare(X, y, models={"lda": lk.LinearDiscriminantAnalysis(), "wavering": Wavering()}, cv=4)
    best, wavering, base = (found.result(name) for name in ("lda", "wavering", "(majority class)"))
    assert indistinct(best.figures("log_loss"), wavering.figures("log_loss"))
    assert wavering.mean("log_loss") > base.mean("log_loss")
    assert found.is_tied(best)
    assert not found.is_tied(wavering)
    assert not found.is_tied(base)


# ---- ranks ---------------------------------------------------------------------------------------
@given(
    scores=hnp.arrays(np.float64, st.integers(4, 40), elements=st.integers(-3, 3).map(float)),
    seed=SEEDS,
    weighted=st.booleans(),
)
def test_auc_is_scikit_learns(scores, seed, weighted):
    rng = np.random.default_rng(seed)
    positive = rng.random(len(scores)) < 0.5
    positive[:2] = True, False
    w = rng.integers(1, 4, len(scores)).astype(float) if weighted else None
    assert auc(scores, positive, w) == pytest.approx(roc_auc_score(positive, scores, sample_weight=w))
    assert auc(-scores, positive, w) == pytest.approx(1 - auc(scores, positive, w))
    assert np.isnan(auc(scores, np.ones(len(scores), dtype=bool)))


@given(seed=SEEDS, K=st.integers(3, 5))
def test_of_more_classes_it_is_the_mean_of_each_against_the_rest(seed, K):
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(K), rng.integers(0, K, 30)]
    P = rng.dirichlet(np.ones(K), len(codes))
    assert mean_auc(P, codes) == pytest.approx(roc_auc_score(codes, P, multi_class="ovr"))
    assert mean_auc(P[:, :2], codes % 2) == pytest.approx(auc(P[:, 1], codes % 2 == 1))
    there = codes != 0  # a class without rows says nothing
    each = [auc(P[there][:, k], codes[there] == k) for k in range(1, K)]
    assert mean_auc(P[there], codes[there]) == pytest.approx(np.mean(each))


# ---- how many numbers ----------------------------------------------------------------------------
K, p = 3, 4
TABLE = np.random.default_rng(0).normal(size=(90, p)) + 3 * np.repeat(np.arange(K), 30)[:, None]
CODES = np.repeat(np.arange(K), 30)
COUNTS = np.random.default_rng(1).integers(0, 5, (90, p))


@pytest.mark.parametrize(
    ("model", "X", "free"),
    [
        (lk.GaussianNB(), TABLE, 2 * K * p + K - 1),
        (lk.LinearDiscriminantAnalysis(), TABLE, K * p + p * (p + 1) // 2 + K - 1),
        (lk.QuadraticDiscriminantAnalysis(), TABLE, K * (p + p * (p + 1) // 2) + K - 1),
        (lk.BernoulliNB(binarize=1.0), TABLE, K * p + K - 1),
        (lk.PoissonNB(), COUNTS, K * p + K - 1),
        (lk.MultinomialNB(), COUNTS, K * (p - 1) + K - 1),
        (lk.ComplementNB(), COUNTS, K * p + K - 1),
        (lk.CategoricalNB(min_categories=5), COUNTS, K * p * (5 - 1) + K - 1),
        (lk.KernelDensityClassifier(), TABLE, 90 * p + K - 1),
        (lk.NaiveBayes("gaussian"), TABLE, 2 * K * p + K - 1),
        (lk.NaiveBayes({0: "poisson", 1: "gamma", 2: "poisson", 3: "gaussian"}), COUNTS + 1, K * 6 + K - 1),
        (lk.LogisticRegression(), TABLE, K * (p + 1)),
        (lk.LinearSVC(), TABLE, K * (p + 1)),
        (lk.OnlineClassifier(), TABLE, K * (p + 1)),
        (lk.LinearRegression(), TABLE, p + 1),
        (lk.LinearRegression(fit_intercept=False), TABLE, p),
        (SkLogistic(), TABLE, K * (p + 1)),
        (make_pipeline(StandardScaler(), lk.GaussianNB()), TABLE, 2 * K * p + K - 1),
        (DecisionTreeRegressor(max_depth=1), TABLE, 2 + 2),
        (KNeighborsClassifier(), TABLE, None),
    ],
)
def test_models_say_how_many_numbers_were_free(model, X, free):
    assert parameters(clone(model).fit(X, CODES)) == free


@pytest.mark.parametrize(
    ("shape", "cov"),
    [("full", 6 * p * (p + 1) // 2), ("tied", p * (p + 1) // 2), ("diag", 6 * p), ("spherical", 6)],
)
def test_mixtures_have_means_covariances_shares_and_priors(shape, cov):
    model = lk.MixtureDiscriminantAnalysis(2, covariance_type=shape, random_state=0).fit(TABLE, CODES)
    assert parameters(model) == 6 * p + cov + (6 - K) + (K - 1)


def test_weights_that_are_0_are_no_parameters():
    X = np.column_stack([TABLE, np.random.default_rng(2).normal(size=90)])
    model = lk.LogisticRegression(C=0.05, l1_ratio=1.0).fit(X, CODES > 0)
    assert parameters(model) == np.count_nonzero(model.coef_) + 1 < 6


def test_a_forest_is_the_sum_of_its_trees():
    model = RandomForestClassifier(3, max_depth=1, random_state=0).fit(TABLE, CODES)
    assert parameters(model) == 3 * (2 + 2 * (K - 1))


# ---- categories of a sample ----------------------------------------------------------------------
@given(codes=hnp.arrays(np.int32, st.integers(0, 20), elements=st.integers(-1, 6)))
def test_a_compact_factor_says_the_same(codes):
    factor = Factor(codes, np.array(list("abcdefg"), dtype=object))
    compact = factor.compact()
    assert list(compact.levels) == sorted(set(factor.levels[codes[codes >= 0]]))
    said = [None if c < 0 else factor.levels[c] for c in codes]
    assert [None if c < 0 else compact.levels[c] for c in compact.codes] == said
