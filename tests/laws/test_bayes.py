"""Bayes' rule over densities of one's own: scikit-learn's, a hidden Markov model's, likelier's families."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likelier as lk
from likelier.data import SkippedWarning
from likelier.families import Diagonal, DiagonalGaussian, FullGaussian, Kernel, ProductKernel, Range
from likelier.families.base import LEAST

X, Y = load_iris(return_X_y=True)
WORDS = np.array(["setosa", "versicolor", "virginica"])[Y]
DENSITIES = [
    KernelDensity(bandwidth=0.4),
    GaussianMixture(2, random_state=0),
    make_pipeline(StandardScaler(), PCA(2), KernelDensity(bandwidth=0.4)),
]
every_density = pytest.mark.parametrize("density", DENSITIES, ids=lambda d: type(d).__name__)


# ---- a density of sequences ----------------------------------------------------------------------
class TwoStates:
    """A hidden Markov model of two states over 0 and 1: ln p of a sequence by the forward recursion.

    Each state prefers a symbol; `fit` counts how often neighbours are the same, from which follows how
    often the state stays. It has no get_params: it is copied, not cloned.
    """

    sure = 0.95

    def fit(self, sequences):
        pairs = [(a, b) for s in sequences for a, b in pairwise(s)]
        same = np.mean([a == b for a, b in pairs])
        clear = self.sure**2 + (1 - self.sure) ** 2  # two cells of one state are the same so often
        self.stay = float(np.clip((same - 1 + clear) / (2 * clear - 1), 0.01, 0.99))
        return self

    def score_samples(self, sequences):
        move = np.log([[self.stay, 1 - self.stay], [1 - self.stay, self.stay]])
        shown = np.log([[self.sure, 1 - self.sure], [1 - self.sure, self.sure]])
        found = []
        for s in sequences:
            a = np.log([0.5, 0.5]) + shown[:, s[0]]
            for symbol in s[1:]:
                a = logsumexp(a[:, None] + move, axis=0) + shown[:, symbol]
            found.append(logsumexp(a))
        return np.array(found)

    def sample(self, n, random_state=None):
        rng = np.random.default_rng(random_state)
        return [drawn(rng, self.stay) for _ in range(n)]


def drawn(rng, stay):
    states = np.cumsum(np.append(rng.integers(2), rng.random(rng.integers(15, 40)) > stay)) % 2
    return [int(s) for s in np.where(rng.random(len(states)) < 0.95, states, 1 - states)]


def sequences(n=120, seed=0):
    """Sequences of different lengths, of which some change their state seldom, others often."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    return [drawn(rng, (0.9, 0.4)[k]) for k in y], np.array(["seldom", "often"])[y]


def test_sequences_are_classified_by_a_hidden_markov_model():
    rows, y = sequences()
    model = lk.BayesClassifier(TwoStates()).fit(rows[:80], y[:80])
    assert model.score(rows[80:], y[80:]) > 0.85
    often, seldom = model.densities_
    assert abs(seldom.stay - 0.9) < 0.05
    assert abs(often.stay - 0.4) < 0.1
    total = sum(
        np.exp(seldom.score_samples([[int(c) for c in f"{i:04b}"]])[0]) for i in range(16)
    )  # of all sequences of one length
    np.testing.assert_allclose(total, 1)
    drawn_rows, labels = model.sample(10, y="often", random_state=0)
    assert len(drawn_rows) == 10
    assert set(labels) == {"often"}
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


# ---- scikit-learn's ------------------------------------------------------------------------------
@every_density
@pytest.mark.parametrize("y", [Y, WORDS], ids=["numbers", "words"])
def test_probabilities_follow_from_the_densities_by_hand(density, y):
    model = lk.BayesClassifier(density).fit(X[::2], y[::2])
    joint = np.column_stack(
        [
            clone(density).fit(X[::2][y[::2] == k]).score_samples(X) + np.log(np.mean(y[::2] == k))
            for k in model.classes_
        ]
    )
    total = logsumexp(joint, axis=1)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-12)
    np.testing.assert_allclose(model.score_samples(X), total, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), joint - total[:, None], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(joint - total[:, None]), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[joint.argmax(axis=1)])
    np.testing.assert_array_equal(model.decide(X), model.predict(X))
    np.testing.assert_allclose(model.decision_function(X), joint, rtol=1e-12)


@every_density
def test_other_priors_follow_bayes_rule(density):
    model, priors = lk.BayesClassifier(density).fit(X, Y), np.array([0.1, 0.2, 0.7])
    P = model.predict_proba(X) * priors / model.class_prior_
    P /= P.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X, priors=priors), P, rtol=1e-9, atol=1e-300)
    given = lk.BayesClassifier(density, priors=priors).fit(X, Y)
    np.testing.assert_allclose(given.predict_proba(X), P, rtol=1e-9, atol=1e-300)


def test_two_classes_have_one_decision():
    some = Y < 2
    model = lk.BayesClassifier(KernelDensity()).fit(X[some], Y[some])
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(model.decision_function(X), joint[:, 1] - joint[:, 0], rtol=1e-9)


def test_each_class_may_have_a_density_of_its_own():
    each = {0: KernelDensity(bandwidth=0.5), 1: GaussianMixture(2, random_state=0), 2: GaussianMixture()}
    model = lk.BayesClassifier(each).fit(X, Y)
    assert [type(one) for one in model.densities_] == [type(each[k]) for k in range(3)]
    assert not hasattr(each[0], "tree_")  # those that were given stay unfitted
    assert model.score(X, Y) > 0.95


def test_weights_are_handed_on_where_they_are_taken():
    w = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    for density in (KernelDensity(bandwidth=0.3), make_pipeline(StandardScaler(), KernelDensity())):
        weighted = lk.BayesClassifier(density).fit(X, Y, sample_weight=w)
        assert np.isclose(weighted.class_count_, [w[Y == k].sum() for k in range(3)]).all()
    rows = np.repeat(np.arange(len(Y)), w.astype(int))
    plain = lk.BayesClassifier(KernelDensity(bandwidth=0.3))
    weighted, repeated = clone(plain).fit(X, Y, w), clone(plain).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match=r"GaussianMixture\.fit takes no sample_weight"):
        lk.BayesClassifier(GaussianMixture()).fit(X, Y, sample_weight=w)


def test_it_works_in_a_search():
    search = GridSearchCV(lk.BayesClassifier(KernelDensity()), {"density__bandwidth": [0.1, 0.5]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0.9


TABLES = [X, X.tolist(), pd.DataFrame(X, columns=list("abcd")), np.asfortranarray(X)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: type(table).__name__)
def test_rows_are_taken_from_tables_of_any_kind(table):
    model = lk.BayesClassifier(GaussianMixture(random_state=0)).fit(table, Y)
    expected = lk.BayesClassifier(GaussianMixture(random_state=0)).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(table), expected, rtol=1e-9)


@every_density
def test_samples_are_drawn_where_densities_can(density):
    model = lk.BayesClassifier(density).fit(X, Y)
    if not hasattr(density, "sample"):
        with pytest.raises(ValueError, match="Pipeline has no method `sample`"):
            model.sample(5)
        return
    (rows, y), (same, labels) = (model.sample(200, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(rows, same)
    np.testing.assert_array_equal(y, labels)
    assert rows.shape == (200, 4)
    assert model.score(rows, y) > 0.9
    assert set(model.sample(4, y=1)[1]) == {1}
    with pytest.raises(ValueError, match=r"y must be a single class label; got \[0, 1\]"):
        model.sample(2, y=[0, 1])
    with pytest.raises(ValueError, match=r"y must be among the classes .*; got 7"):
        model.sample(4, y=7)


# ---- likelier's ----------------------------------------------------------------------------------
def test_a_family_is_the_classifier_that_is_made_of_it():
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for family, estimator in (
        (DiagonalGaussian(1e-9), lk.GaussianNB()),
        (FullGaussian(floor=1e-4), lk.QuadraticDiscriminantAnalysis()),
        (ProductKernel(), lk.KernelDensityClassifier()),
    ):
        for table in (X, gaps, pd.DataFrame(X, columns=list("abcd"))):
            ours, theirs = lk.BayesClassifier(family).fit(table, WORDS), clone(estimator).fit(table, WORDS)
            for ask in ("predict_joint_log_proba", "predict_proba", "score_samples"):
                said, expected = getattr(ours, ask)(table), getattr(theirs, ask)(table)
                np.testing.assert_allclose(said, expected, rtol=1e-12)
            np.testing.assert_array_equal(ours.predict(table), theirs.predict(table))


def test_a_family_takes_weights_draws_and_names_what_is_wrong():
    w = np.arange(150) % 3.0
    model = lk.BayesClassifier(Kernel()).fit(X, Y, sample_weight=w)
    rows = np.repeat(np.arange(150), (np.arange(150) % 3))
    same = lk.BayesClassifier(Kernel()).fit(X[rows], Y[rows])
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=1e-10)
    assert model.sample(6, random_state=0)[0].shape == (6, 4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    bad = frame.copy()
    bad.loc[7, "c"] = np.inf
    named = lk.BayesClassifier(Kernel()).fit(frame, Y)
    assert list(named.feature_names_in_) == list("abcd")
    for attempt in (lambda: lk.BayesClassifier(Kernel()).fit(bad, Y), lambda: named.predict(bad)):
        with pytest.raises(ValueError, match=r"row 7, column 2 \('c'\)"):
            attempt()
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(X[:, :3])


class Positive(Diagonal):
    """Gaussian columns that are said to be above 0."""

    @property
    def support(self):
        return Range("positive", "numbers above 0", low=LEAST)


class PositiveFamily(DiagonalGaussian):
    def estimate(self, stats):
        found = super().estimate(stats)
        return Positive(found.mean, found.var)


def test_cells_that_a_family_cannot_have_count_as_missing_and_are_named():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = lk.BayesClassifier(PositiveFamily()).fit(frame, Y)
    odd, gone = frame.copy(), frame.copy()
    odd.loc[3, "b"], gone.loc[3, "b"] = -1.0, np.nan
    with pytest.warns(SkippedWarning, match=r"1 of column 'b' \(positive takes numbers above 0"):
        P = model.predict_proba(odd)
    np.testing.assert_array_equal(P, model.predict_proba(gone))


# ---- what is no density --------------------------------------------------------------------------
class Odd:
    """Says of every row what it was made with."""

    def __init__(self, said):
        self.said = said

    def fit(self, X):
        return self

    def score_samples(self, X):
        return self.said(X)


@pytest.mark.parametrize(
    ("density", "error", "message"),
    [
        (None, TypeError, "None, which has no fit and no score_samples"),
        ("kde", TypeError, "'kde'.*no fit"),
        (LogisticRegression(), TypeError, r"LogisticRegression\(\), which has no score_samples"),
        (KernelDensity, TypeError, r"the class KernelDensity: give an object"),
        (DiagonalGaussian, TypeError, r"the class DiagonalGaussian: give an object"),
        ({0: KernelDensity(), 1: KernelDensity()}, ValueError, "none for class 2"),
        ({k: KernelDensity() for k in range(4)}, ValueError, "one for 3, which y has not"),
        ({0: KernelDensity(), 1: 7, 2: KernelDensity()}, TypeError, "density of class 1 is 7"),
    ],
)
def test_what_is_no_density_is_refused(density, error, message):
    model = lk.BayesClassifier(density)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda X: np.zeros((len(X), 2)), r"shape \(150,\), not \(150, 2\)"),
        (lambda X: 0.0, r"shape \(150,\), not \(\)"),
        (lambda X: np.where(np.arange(len(X)) == 9, np.nan, 0.0), "gives nan for row 9"),
        (lambda X: np.full(len(X), np.inf), "gives inf for row 0"),
    ],
)
def test_what_is_no_log_density_is_refused(said, message):
    model = lk.BayesClassifier(Odd(said)).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict_proba(X)


@pytest.mark.filterwarnings("ignore:.*Gaussian classes describe:likelier.DegenerateWarning")
def test_priors_of_rows_without_labels_are_those_of_the_same_kernels():
    rows, w = X[:120], np.arange(120) % 3
    ours = lk.KernelDensityClassifier(0.3).fit(X, Y).adapt_priors(rows, sample_weight=w)
    model = lk.BayesClassifier(KernelDensity(bandwidth=0.3)).fit(X, Y)
    np.testing.assert_allclose(model.adapt_priors(rows, sample_weight=w), ours, atol=1e-8)
    family = lk.BayesClassifier(ProductKernel(0.3)).fit(X, Y)
    np.testing.assert_allclose(family.adapt_priors(rows, sample_weight=w), ours, atol=1e-8)
    with pytest.warns(lk.DegenerateWarning, match="not within tol"):
        model.adapt_priors(rows, max_iter=1)
    with pytest.raises(ValueError, match="all zero"):
        model.adapt_priors(rows, sample_weight=np.zeros(120))


def test_rows_that_no_class_can_have_keep_the_priors():
    model = lk.BayesClassifier(Odd(lambda X: np.where(np.asarray(X)[:, 0] > 5, -np.inf, 0.0))).fit(X, Y)
    with pytest.warns(SkippedWarning, match="have density 0 in every class"):
        P = model.predict_proba(X, priors=[0.2, 0.3, 0.5])
    np.testing.assert_allclose(P, np.tile([0.2, 0.3, 0.5], (150, 1)))
    assert np.isneginf(model.score_samples(X[[51]])).all()


def test_files_are_refused_in_words(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame(X).assign(y=Y).to_csv(path, index=False)
    with pytest.raises(ValueError, match="takes rows in memory"):
        lk.BayesClassifier(KernelDensity()).fit(lk.scan(path, target="y"))


def test_a_density_that_fails_says_in_which_class():
    with pytest.raises(ValueError) as failed:
        lk.BayesClassifier(GaussianMixture(60)).fit(X, WORDS)
    assert failed.value.__notes__ == ["while fitting GaussianMixture to the 50 rows of class setosa"]


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = lk.BayesClassifier(KernelDensity()).fit(X, Y)
    before = copy.deepcopy(model).predict_proba(X)
    bad = X.copy()
    bad[100, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(bad, Y)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, Y[:-1])
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_sparse_rows_go_to_densities_that_take_them():
    class Poissons:
        def fit(self, X):
            self.rate = np.asarray(X.mean(axis=0)).ravel() + 0.1
            return self

        def score_samples(self, X):
            return stats.poisson.logpmf(X.toarray(), self.rate).sum(axis=1)

    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    counts = sparse.coo_array(rng.poisson(np.where(y[:, None] == 0, [0.2, 2.0], [2.0, 0.2])))
    model = lk.BayesClassifier(Poissons()).fit(counts, y)
    assert model.score(counts, y) > 0.85
