"""Rows that are less likely than the training rows are."""

import copy
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris

import likelier as lk
from laws.generators import SEEDS
from likelier.data import Chunk, Dense
from likelier.estimators.generative.outliers import RowSampler, scored
from likelier.states import ReferenceScores
from likelier.states.rows import MOST

MODELS = [
    lk.GaussianNB(),
    lk.LinearDiscriminantAnalysis(),
    lk.QuadraticDiscriminantAnalysis(reg_param=0.01),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def drawn(n: int, p: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.standard_normal((n, p)) + y[:, None], y


def typical(seed: int, rows: int) -> ReferenceScores:
    rng = np.random.default_rng(seed)
    keys = rng.permutation(4 * MOST)[: min(rows, MOST)].astype(np.uint64)
    return ReferenceScores(keys, rng.standard_normal(len(keys)), rng.exponential(size=len(keys)), rows)


# ---- of fresh rows -------------------------------------------------------------------------------
QDA, LDA = lk.QuadraticDiscriminantAnalysis, lk.LinearDiscriminantAnalysis


def gaussians(n, p, K, rng):
    y = np.arange(n) % K
    return rng.standard_normal((n, p)) + 0.7 * y[:, None], y


def ordinals(n, p, K, rng):
    y = np.arange(n) % K
    return np.minimum(rng.poisson(0.5 + 0.5 * y[:, None], (n, p)), 4).astype(float), y


def booleans(n, p, K, rng):
    y = np.arange(n) % K
    return (rng.random((n, p)) < 0.2 + 0.2 * y[:, None]).astype(float), y


def positives(n, p, K, rng):
    y = np.arange(n) % K
    return rng.gamma(1 + y[:, None], size=(n, p)), y


FEW_ROWS = {
    "QDA 120x50": (QDA(), gaussians, 120, 50, 2),
    "QDA 120x50 reg_param": (QDA(reg_param=0.1), gaussians, 120, 50, 2),
    "QDA 40x50 reg_param": (QDA(reg_param=0.1), gaussians, 40, 50, 2),
    "QDA 40x50 shrinkage": (QDA(solver="eigen", shrinkage=0.2), gaussians, 40, 50, 2),
    "QDA 60x20 Ledoit-Wolf": (QDA(solver="eigen", shrinkage="auto"), gaussians, 60, 20, 2),
    "QDA 30x20 lifted": (QDA(), gaussians, 30, 20, 2),
    "LDA 200x10": (LDA(), gaussians, 200, 10, 3),
    "LDA 100x60": (LDA(), gaussians, 100, 60, 3),
    "LDA 50x60 shrinkage": (LDA(solver="lsqr", shrinkage=0.1), gaussians, 50, 60, 3),
    "GaussianNB 60x4": (lk.GaussianNB(), gaussians, 60, 4, 2),
    "GaussianNB 30x40": (lk.GaussianNB(), gaussians, 30, 40, 3),
    "PoissonNB": (lk.PoissonNB(), ordinals, 60, 30, 2),
    "MultinomialNB": (lk.MultinomialNB(), ordinals, 60, 30, 2),
    "BernoulliNB": (lk.BernoulliNB(), booleans, 60, 30, 2),
    "CategoricalNB": (lk.CategoricalNB(min_categories=5), ordinals, 60, 30, 2),
    "NaiveBayes gaussian": (lk.NaiveBayes("gaussian"), gaussians, 60, 30, 2),
    "NaiveBayes gamma": (lk.NaiveBayes("gamma"), positives, 60, 30, 2),
    "NaiveBayes categorical": (lk.NaiveBayes("categorical"), ordinals, 60, 30, 2),
    "NaiveBayes geometric": (lk.NaiveBayes("geometric"), ordinals, 60, 30, 2),
}


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@pytest.mark.parametrize("quantile", [0.05, 0.2])
@pytest.mark.parametrize("case", FEW_ROWS)
def test_so_many_fresh_rows_are_outliers_however_few_were_learned(case, quantile):
    """Of m rows of the same kind, one is below the (k+1)-th of the others with probability (k+1)/(m+1)."""
    model, draw, n, p, K = FEW_ROWS[case]
    shares = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows, fresh = draw(n, p, K, rng), draw(400, p, K, rng)[0]
        shares.append(model.fit(*rows).is_outlier(fresh, quantile).mean())
    expected = (np.floor(quantile * n + 1e-9) + 1) / (n + 1)
    error = np.sqrt(expected * (1 - expected) * (1 / (10 * n) + 1 / 4000))
    # Ten fits are ten draws of one model each: its rows go up and down together.
    assert abs(np.mean(shares) - expected) < 4 * error + 0.25 * expected


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_fresh_rows_of_mixtures_are_outliers_at_most_twice_as_often():
    """Responsibilities stay as they are when a row is left out: EM anew for each would take too long."""
    for model in (lk.GaussianMixture(2, random_state=0), lk.MixtureDiscriminantAnalysis(2, random_state=0)):
        shares = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            rows, fresh = gaussians(120, 5, 2, rng), gaussians(400, 5, 2, rng)[0]
            fitted = clone(model).fit(*rows)
            shares.append(fitted.is_outlier(fresh, 0.1).mean())
        assert 0.07 < np.mean(shares) < 0.2


WITHOUT = {
    "GaussianNB": (lk.GaussianNB(), gaussians, 1e-8),
    "QDA": (QDA(), gaussians, 1e-10),
    "QDA reg_param": (QDA(reg_param=0.3), gaussians, 1e-10),
    "QDA shrinkage": (QDA(solver="eigen", shrinkage=0.3), gaussians, 1e-10),
    "LDA": (LDA(), gaussians, 1e-10),
    "LDA priors": (LDA(priors=[0.2, 0.3, 0.5]), gaussians, 1e-10),
    "LDA shrinkage": (LDA(solver="lsqr", shrinkage=0.2), gaussians, 1e-10),
    "BernoulliNB": (lk.BernoulliNB(binarize=1.5), ordinals, 1e-10),
    "MultinomialNB": (lk.MultinomialNB(), ordinals, 1e-10),
    "CategoricalNB": (lk.CategoricalNB(min_categories=5), ordinals, 1e-10),
    "geometric": (lk.NaiveBayes("geometric"), ordinals, 1e-10),
    "gaussian-full": (lk.NaiveBayes({(0, 1, 2, 3): "gaussian-full"}), gaussians, 1e-10),
    # What classes lend each other is that of all rows.
    "PoissonNB": (lk.PoissonNB(), ordinals, 0.02),
    "gaussian": (lk.NaiveBayes("gaussian"), gaussians, 0.05),
    "gamma": (lk.NaiveBayes("gamma"), positives, 0.05),
    "exponential": (lk.NaiveBayes("exponential"), positives, 0.02),
    "kernel": (lk.NaiveBayes("kernel"), gaussians, 0.05),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", WITHOUT)
def test_training_rows_are_scored_as_models_without_them_do(case, weighted):
    model, draw, tol = WITHOUT[case]
    rng = np.random.default_rng(0)
    X, y = draw(45, 4, 3, rng)
    w = rng.integers(1, 4, 45).astype(float) if weighted else np.ones(45)
    whole = clone(model).fit(X, y, sample_weight=w)
    found, within = scored(whole._model.typical).scores, whole.score_samples(X)  # in the order of rows
    for i in range(0, 45, 4):
        less = w.copy()
        less[i] -= 1
        one = clone(model).fit(X[less > 0], y[less > 0], sample_weight=less[less > 0])
        without = one.score_samples(X[[i]])[0]
        assert abs(found[i] - without) <= (tol if tol < 1e-6 else tol + 0.4 * abs(within[i] - without))


@pytest.mark.parametrize("model", [lk.BernoulliNB(), lk.PoissonNB(), lk.MultinomialNB(alpha=0.3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_are_scored_as_dense_ones(model, weighted):
    rng = np.random.default_rng(0)
    X, y = (rng.random((80, 12)) < 0.3).astype(float), np.arange(80) % 3
    w = 0.75 * rng.integers(1, 3, 80) if weighted else None
    dense, thin = (
        scored(clone(model).fit(rows, y, sample_weight=w)._model.typical).scores
        for rows in (X, sparse.csr_matrix(X))
    )
    np.testing.assert_allclose(thin, dense, rtol=1e-12)


def test_a_class_of_one_row_does_not_stand_up_for_it():
    X, y = drawn(40)
    X, y = np.vstack([X, [[50.0, 50.0, 50.0]]]), np.append(y, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lk.GaussianNB().fit(X, y)
    scores = scored(model._model.typical).scores
    assert scores[-1] < scores[:-1].min() - 100


# ---- of the training rows ------------------------------------------------------------------------
@every_model
@pytest.mark.parametrize("quantile", [0.0, 0.01, 0.07, 0.29, 0.5, 1.0])
def test_about_so_many_of_many_training_rows_are_outliers(model, quantile):
    """Each was judged without itself: with itself it is a little likelier."""
    X, y = drawn(5000)
    found = model.fit(X, y).is_outlier(X, quantile).sum()
    assert quantile * 5000 - 30 <= found <= round(quantile * 5000)


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@pytest.mark.parametrize("bandwidth", ["scott", "cv", 0.5])
@pytest.mark.parametrize("p", [1, 5, 10])
def test_fresh_rows_are_outliers_to_kernels_as_often_as_they_should(p, bandwidth):
    """Under its own kernel a training row is likelier than a fresh one, by far in many columns."""
    shares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = lk.KernelDensityClassifier(bandwidth).fit(rng.standard_normal((500, p)), np.arange(500) % 2)
        shares.append(model.is_outlier(rng.standard_normal((1000, p))).mean())
    assert 0.004 < np.mean(shares) < 0.02


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@pytest.mark.parametrize("priors", [None, [0.3, 0.4, 0.3]])
def test_kernels_compare_with_rows_as_models_without_them_see_them(priors):
    X, y = drawn(40)
    X[::7, 1] = np.nan
    model = lk.KernelDensityClassifier(0.7, priors=priors).fit(X, y)
    found = np.sort(scored(model._model.typical).scores)
    each = []
    for i in range(40):
        rest = np.arange(40) != i
        without = lk.KernelDensityClassifier(0.7, priors=priors).fit(X[rest], y[rest])
        each.append(without.score_samples(X[[i]])[0])
    np.testing.assert_allclose(found, np.sort(each), rtol=1e-10)
    parts = [
        lk.KernelDensityClassifier(0.7, priors=priors).fit(X[s], y[s]) for s in np.split(np.arange(40), 2)
    ]
    merged = parts[0].merge(parts[1])
    np.testing.assert_allclose(np.sort(scored(merged._model.typical).scores), found, rtol=1e-10)
    batches = parts[0].partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(np.sort(scored(batches._model.typical).scores), found, rtol=1e-10)
    again = copy.deepcopy(model)
    np.testing.assert_array_equal(again.is_outlier(X, 0.2), model.is_outlier(X, 0.2))


def test_data_that_repeat_stay_below_the_share():
    X, y = load_iris(return_X_y=True)
    model = lk.GaussianNB().fit(X, y)
    for quantile in (0.01, 0.1, 0.3):
        flagged = int(model.is_outlier(X, quantile).sum())
        assert quantile * 150 - 8 <= flagged <= quantile * 150


@every_model
def test_a_larger_share_has_the_outliers_of_a_smaller_one(model):
    X, y = load_breast_cancer(return_X_y=True)
    model = model.fit(X, y)
    sets = [model.is_outlier(X, q) for q in (0, 0.001, 0.01, 0.05, 0.4, 1)]
    assert all((small <= large).all() for small, large in pairwise(sets))
    assert not sets[0].any()
    assert sets[-1].all()
    far = X[:3] + 100 * X.std(axis=0)
    assert model.is_outlier(far, 0.0).all()


def test_weights_are_repetitions():
    X, y = drawn(300)
    w = np.random.default_rng(1).integers(0, 4, 300)
    weighted = lk.GaussianNB().fit(X, y, sample_weight=w)
    repeated = lk.GaussianNB().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    for quantile in (0.01, 0.1, 0.5):
        np.testing.assert_array_equal(weighted.is_outlier(X, quantile), repeated.is_outlier(X, quantile))


def test_more_rows_than_are_kept_are_judged_by_a_sample():
    X, y = drawn(60_000)
    model = lk.GaussianNB().fit(X, y)
    assert len(scored(model._model.typical).scores) == MOST
    for quantile in (0.01, 0.2):
        error = np.sqrt(quantile * (1 - quantile) / MOST)
        assert abs(model.is_outlier(X, quantile).mean() - quantile) < 5 * error


def test_rows_that_lack_cells_are_judged_by_what_is_there():
    X, y = drawn(500)
    X[::5, 1] = np.nan
    model = lk.GaussianNB().fit(X, y)
    assert 45 <= model.is_outlier(X, 0.1).sum() <= 50
    assert model.is_outlier([[np.nan, np.nan, 40.0]]).all()
    assert not model.is_outlier([[np.nan, np.nan, 1.0]]).any()


# ---- however they came ---------------------------------------------------------------------------
def test_arrays_frames_and_files_keep_the_same_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = drawn(30_000)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1000)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    kept = [
        scored(model._model.typical)
        for model in (
            lk.GaussianNB().fit(X, y),
            lk.GaussianNB().fit(frame[["a", "b", "c"]], y),
            lk.GaussianNB().fit(lk.scan(tmp_path / "rows.parquet", target="y")),
            lk.GaussianNB().fit(lk.scan(tmp_path / "rows.csv", target="y")),
        )
    ]
    for one in kept:
        assert one.rows == 30_000
        np.testing.assert_array_equal(one.keys, kept[0].keys)
        np.testing.assert_allclose(one.scores, kept[0].scores, rtol=1e-9)


@every_model
def test_batches_and_mergers_keep_all_their_rows(model):
    X, y = drawn(3000)
    cuts = [slice(0, 1000), slice(1000, 1800), slice(1800, 3000)]
    whole = clone(model).fit(X, y)
    batches = clone(model)
    for rows in cuts:
        batches.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    first, *others = [clone(model).fit(X[rows], y[rows]) for rows in cuts]
    np.testing.assert_array_equal(
        np.sort(scored(batches._model.typical).keys), np.sort(scored(whole._model.typical).keys)
    )  # numbered on
    for one in (batches, first.merge(*others)):
        assert scored(one._model.typical).rows == 3000
        assert len(scored(one._model.typical).scores) == 3000
        assert one.is_outlier(X, 0.1).sum() == pytest.approx(300, abs=60)  # scores of models of their time
    assert scored(first._model.typical).rows == 1000  # a merger leaves its parts as they were


SIZES = st.sampled_from([0, 1, 50, MOST, 20_000])


@given(seeds=st.tuples(SEEDS, SEEDS, SEEDS), rows=st.tuples(SIZES, SIZES, SIZES))
def test_merging_keeps_the_least_keys_in_any_order(seeds, rows):
    a, b, c = map(typical, seeds, rows)
    one, other, right = copy.deepcopy(a), copy.deepcopy(c), copy.deepcopy(b)
    one.merge(b)
    one.merge(c)
    right.merge(a)
    other.merge(right)
    for name in ("keys", "scores", "w", "rows"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    every = np.concatenate([a.keys, b.keys, c.keys])
    np.testing.assert_array_equal(one.keys, np.sort(every)[:MOST])


def test_saved_models_judge_alike(tmp_path):
    X, y = drawn(500)
    model = lk.GaussianNB().fit(X, y)
    for statistics in (True, False):
        lk.save(model, tmp_path / "model.lk", statistics=statistics)
        again = lk.load(tmp_path / "model.lk")
        np.testing.assert_array_equal(again.is_outlier(X, 0.1), model.is_outlier(X, 0.1))


@pytest.mark.parametrize("rows", [300, MOST + 200, 3 * MOST])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
def test_rows_that_change_after_the_fit_change_nothing(rows, kind):
    """The scores of training rows are put off: what they are made of must not be the caller's arrays."""
    X, y = drawn(rows)
    fresh, w = drawn(200, seed=1)[0] * 2, np.ones(rows)
    expected = lk.GaussianNB().fit(X, y, w).is_outlier(fresh)
    given, labels, weights = kind(X), y.copy(), w.copy()
    model = lk.GaussianNB().fit(given, labels, weights)
    if kind is np.array:
        given *= 1e3
    else:
        given.data *= 1e3
    labels[:], weights[:] = 0, 1e-9
    np.testing.assert_array_equal(model.is_outlier(fresh), expected)


def test_rows_without_weight_are_not_drawn():
    X, _ = drawn(20_000)
    w = (np.arange(20_000) < 100).astype(np.float64)
    keys, rows = RowSampler(0, MOST).of_all(Chunk(Dense(X), None, w)).sample.drawn()
    assert len(keys) == 100
    np.testing.assert_array_equal(rows.X.to_array(), X[:100])


# ---- what is refused -----------------------------------------------------------------------------
def test_a_share_is_a_number_from_0_to_1():
    X, y = drawn(50)
    model = lk.GaussianNB().fit(X, y)
    for bad in (-0.1, 1.5, np.nan, "0.1", None):
        with pytest.raises(ValueError, match="quantile must be a finite number from 0 to 1; got"):
            model.is_outlier(X, bad)


def test_models_without_training_rows_say_so():
    X, y = drawn(50)
    model = lk.GaussianNB().fit(X, y)
    for one in (model.marginal([0]), model.condition({1: 0.0, 2: 0.0})):
        with pytest.raises(ValueError, match=r"keeps none: it came from marginal"):
            one.is_outlier(X[:, :1])
