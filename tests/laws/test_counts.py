"""The laws of naive Bayes for counts and truths: one answer from any cut, and all that densities say."""

import copy
import pickle
from io import BytesIO
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.special import gammaln, logsumexp
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.generators import SEEDS
from laws.parts import parts_of
from likelier.data import Chunk, Dense, SkippedWarning, block
from likelier.families import Multinomial, Multinomials
from likelier.families.base import log_density
from likelier.saving import format
from likelier.saving.models import _estimator, content_of
from likelier.scores import Affine, Scores

ALPHAS = np.array([0.1, 1.0, 2.0, 0.5, 3.0])
P = len(ALPHAS)

# A new estimator of counts joins here.
COUNTS = [
    lk.BernoulliNB(),
    lk.BernoulliNB(alpha=0.3, binarize=1.0),
    lk.BernoulliNB(alpha=ALPHAS, fit_prior=False),
    lk.MultinomialNB(),
    lk.MultinomialNB(alpha=ALPHAS),
    lk.MultinomialNB(alpha=1e-3, class_prior=[0.2, 0.5, 0.3]),
    lk.ComplementNB(),
    lk.ComplementNB(norm=True, alpha=ALPHAS),
    lk.PoissonNB(),
    lk.PoissonNB(alpha=ALPHAS),
]
DENSE = [model for model in COUNTS if not isinstance(model, lk.ComplementNB)]  # that have a density
every_model = pytest.mark.parametrize("estimator", COUNTS, ids=repr)
every_density = pytest.mark.parametrize("estimator", DENSE, ids=repr)
fewer = settings(max_examples=max(10, settings.default.max_examples // 5))


def counts(seed: int = 0, n: int = 120, K: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    rates = rng.gamma(1.0, 1.5, (K, P)) + 0.05
    return rng.poisson(rates[y]).astype(np.float64), np.array(["a", "b", "c", "d"])[:K][y]


def gappy(X: np.ndarray, seed: int = 0, share: float = 0.2) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def shown(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_same(a: Any, b: Any, X: Any, exactly: bool = False) -> None:
    assert shown(a).keys() == shown(b).keys()
    close = np.testing.assert_array_equal if exactly else _close
    for name, value in shown(b).items():
        close(np.asarray(getattr(a, name)), np.asarray(value))
    for ask in ("predict_log_proba", "predict_joint_log_proba", "score_samples"):
        if hasattr(b, ask):
            close(getattr(a, ask)(X), getattr(b, ask)(X))


def _close(a: Any, b: Any) -> None:
    if np.asarray(a).dtype.kind == "f":
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
    else:
        np.testing.assert_array_equal(a, b)


# ---- scikit-learn --------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@parametrize_with_checks([lk.BernoulliNB(), lk.MultinomialNB(), lk.ComplementNB()])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


# ---- one answer ----------------------------------------------------------------------------------
@every_model
@fewer
@given(seed=SEEDS, pieces=st.integers(1, 5), gaps=st.booleans())
def test_any_cut_gives_the_fit_of_all_rows(estimator, seed, pieces, gaps):
    X, y = counts(seed)
    X = gappy(X, seed) if gaps else X
    rng, classes = np.random.default_rng(seed), np.unique(y)
    cuts = np.split(rng.permutation(len(y)), np.sort(rng.choice(len(y) - 1, pieces, False) + 1))
    whole, stepwise, models = clone(estimator).fit(X, y), clone(estimator), []
    for rows in cuts:
        stepwise.partial_fit(X[rows], y[rows], classes=classes)
        models.append(clone(estimator).partial_fit(X[rows], y[rows], classes=classes))
    assert_same(stepwise, whole, X)
    assert_same(lk.merge(models), whole, X)


@every_model
@fewer
@given(seed=SEEDS, gaps=st.booleans())
def test_a_weight_is_a_number_of_repetitions(estimator, seed, gaps):
    X, y = counts(seed)
    X = gappy(X, seed) if gaps else X
    w = np.random.default_rng(seed).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), w)
    X[w == 0] = -7.5  # whatever is in a row that is not there
    at = w > 0
    weighted = clone(estimator).fit(X, y, sample_weight=w)
    assert_same(weighted, clone(estimator).fit(X[rows], y[rows]), X[at])


@every_model
@fewer
@given(seed=SEEDS, gaps=st.booleans())
def test_sparse_and_dense_and_frames_agree(estimator, seed, gaps):
    X, y = counts(seed)
    X = gappy(X, seed) if gaps else X
    model = clone(estimator).fit(X, y)
    for table in (sparse.csr_array(X), sparse.csc_matrix(X), np.asfortranarray(X), X.astype(np.float32)):
        assert_same(clone(estimator).fit(table, y), model, X)
        for ask in ("predict_log_proba", "predict_joint_log_proba", "score_samples"):
            if hasattr(model, ask):
                _close(getattr(model, ask)(table), getattr(model, ask)(X))
    frame = pd.DataFrame({f"x{j}": X[:, j] for j in range(P)})
    _close(clone(estimator).fit(frame, y).predict_log_proba(frame), model.predict_log_proba(X))


@every_model
def test_threads_do_not_change_a_bit(estimator, monkeypatch):
    X, y = counts(n=3000)
    X[::7, 2] = np.nan
    models = []
    with parts_of(512):
        for count in ("1", "2", "3"):
            monkeypatch.setenv("LIKELIER_THREADS", count)
            models.append(clone(estimator).fit(X, y))
            assert_same(models[-1], models[0], X, exactly=True)


@every_model
def test_saved_and_pickled_models_are_the_same(estimator):
    X, y = counts()
    for rows in (X, gappy(X)):
        model = clone(estimator).fit(rows, y)
        archive = format.Archive(BytesIO(content_of(model, statistics=True)))
        for loaded in (_estimator(archive), pickle.loads(pickle.dumps(model))):
            assert_same(loaded, model, rows, exactly=True)
            assert_same(loaded.merge(loaded), model.merge(model), rows, exactly=True)
        lean = _estimator(format.Archive(BytesIO(content_of(model, statistics=False))))
        np.testing.assert_array_equal(lean.predict_proba(rows), model.predict_proba(rows))


@every_density
def test_derived_models_can_be_saved(estimator):
    X, y = counts()
    model = clone(estimator).fit(X, y)
    for derived, rows in (
        (model.marginal([3, 0]), X[:, [3, 0]]),
        (model.condition({1: 2.0}), X[:, [0, 2, 3, 4]]),
    ):
        loaded = _estimator(format.Archive(BytesIO(content_of(derived, statistics=True))))
        assert_same(loaded, derived, rows, exactly=True)


@every_model
def test_models_of_different_classes_merge_to_their_union(estimator):
    if getattr(estimator, "class_prior", None) is not None:
        estimator = clone(estimator).set_params(class_prior=None)
    X, y = counts()
    first = (y == "a") | ((y == "b") & (np.arange(len(y)) % 2 == 0))
    a, b = (clone(estimator).fit(X[rows], y[rows]) for rows in (first, ~first))
    before = copy.deepcopy(a)
    assert_same(a.merge(b, classes="union"), clone(estimator).fit(X, y), X)
    assert_same(a, before, X, exactly=True)


# ---- cross-validation ----------------------------------------------------------------------------
GRIDS = [
    (lk.BernoulliNB(), {"alpha": [0.0, 0.5, ALPHAS], "binarize": [0.0, 2.0]}),
    (lk.MultinomialNB(), {"alpha": [1e-3, 1.0, ALPHAS], "fit_prior": [True, False]}),
    (lk.ComplementNB(), {"alpha": [1e-3, 1.0], "norm": [True, False]}),
    (lk.PoissonNB(), {"alpha": [0.0, 1.0, 10.0]}),
]


@pytest.mark.parametrize(("estimator", "grid"), GRIDS, ids=str)
@pytest.mark.parametrize("kind", ["dense", "gappy", "sparse"])
def test_cross_validation_equals_fitting_anew(estimator, grid, kind):
    X, y = counts(1)
    X = {"dense": X, "gappy": gappy(X), "sparse": sparse.csr_array(X)}[kind]
    cv = StratifiedKFold(4)
    found = clone(estimator).cross_validate(X, y, cv=cv, param_grid=grid)
    points = list(ParameterGrid(grid))
    for v, (f, (train, test)) in product(range(len(points)), enumerate(cv.split(np.zeros(len(y)), y))):
        model = clone(estimator).set_params(**points[v]).fit(X[train], y[train])
        P = model.predict_log_proba(X[test])
        loss = -P[np.arange(len(test)), np.searchsorted(model.classes_, y[test])].mean()
        np.testing.assert_allclose(found.scores["log_loss"][v, f], loss, rtol=1e-10)


# ---- weights -------------------------------------------------------------------------------------
def as_weighed(model: Any, X: np.ndarray) -> np.ndarray:
    """X as the weights of a model take it."""
    return X > model.binarize if isinstance(model, lk.BernoulliNB) else X


@every_model
@pytest.mark.parametrize("K", [2, 3])
def test_the_linear_reading_predicts_the_same(estimator, K):
    if K == 2 and getattr(estimator, "class_prior", None) is not None:
        estimator = clone(estimator).set_params(class_prior=[0.3, 0.7])
    X, y = counts(3, K=K)
    model = clone(estimator).fit(X, y)
    T = as_weighed(model, X).astype(np.float64)
    linear = model.to_linear()
    np.testing.assert_array_equal(linear.predict(T), model.predict(X))
    _close(linear.predict_log_proba(T), model.predict_log_proba(X))
    assert model.coef_.shape == ((1 if K == 2 else K), P)
    by_hand = T @ model.coef_.T + model.intercept_
    _close(by_hand[:, 0] if K == 2 else by_hand, model.decision_function(X))
    with pytest.raises(AttributeError, match="not fitted"):
        _ = clone(model).coef_


@every_model
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_contributions_sum_to_the_joint_score(estimator, share):
    X, y = counts(4)
    X = gappy(X, share=share)
    model = clone(estimator).fit(X, y)
    values, base = model.contributions(X)
    assert values.shape == (len(y), 3, P)
    _close(base + values.sum(axis=2), model.predict_joint_log_proba(X))
    assert (values.transpose(0, 2, 1)[np.isnan(X)] == 0).all()


# ---- densities -----------------------------------------------------------------------------------
@every_density
def test_probabilities_follow_bayes_rule(estimator):
    X, y = counts(5)
    X[:40] = gappy(X[:40])
    model = clone(estimator).fit(X, y)
    joint = model.predict_joint_log_proba(X)
    _close(model.predict_log_proba(X), joint - logsumexp(joint, axis=1, keepdims=True))
    prior = np.array([0.1, 0.2, 0.7])
    old = model.class_prior_ if isinstance(model, lk.PoissonNB) else np.exp(model.class_log_prior_)
    Q = model.predict_proba(X) * prior / old
    _close(model.predict_proba(X, priors=prior), Q / Q.sum(axis=1, keepdims=True))


def laws_by_hand(model: Any, X: np.ndarray) -> np.ndarray:
    """ln p(x | C_k), (n, K), from what is shown, by SciPy."""
    if isinstance(model, lk.PoissonNB):
        return stats.poisson.logpmf(X[:, None, :], model.rate_).sum(axis=2)
    if isinstance(model, lk.BernoulliNB):
        p = np.exp(model.feature_log_prob_)
        return stats.bernoulli.logpmf((X > model.binarize)[:, None, :], p).sum(axis=2)
    theta = np.exp(model.feature_log_prob_)
    theta /= theta.sum(axis=1, keepdims=True)
    return np.array([stats.multinomial.logpmf(X, X.sum(axis=1).astype(int), t) for t in theta]).T


@every_density
def test_densities_are_those_of_scipy(estimator):
    X, y = counts(6)
    model = clone(estimator).fit(X, y)
    log_prior = np.log(model.class_prior_) if hasattr(model, "class_prior_") else model.class_log_prior_
    np.testing.assert_allclose(
        model.score_samples(X), logsumexp(laws_by_hand(model, X) + log_prior, axis=1), rtol=1e-9
    )


@every_density
def test_missing_columns_are_integrated_out(estimator):
    X, y = counts(7)
    model = clone(estimator).fit(X, y)
    some = X.copy()
    some[:, [1, 4]] = np.nan
    left = model.marginal([0, 2, 3])
    for ask in ("score_samples", "predict_log_proba"):
        _close(getattr(model, ask)(some), getattr(left, ask)(X[:, [0, 2, 3]]))
        _close(getattr(model, ask)(sparse.csr_array(some)), getattr(left, ask)(X[:, [0, 2, 3]]))


@every_density
def test_samples_are_of_their_class(estimator):
    X, y = counts(8)
    model = clone(estimator).fit(X, y)
    drawn, labels = model.sample(6000, y="b", random_state=0)
    assert set(labels) == {"b"}
    k = 1
    if isinstance(model, lk.PoissonNB):
        expected, spread = model.rate_[k], model.rate_[k]
    elif isinstance(model, lk.BernoulliNB):
        expected = np.exp(model.feature_log_prob_[k])
        drawn, spread = drawn > model.binarize, expected * (1 - expected)
    else:
        N, theta = drawn[0].sum(), np.exp(model.feature_log_prob_[k])
        assert (drawn.sum(axis=1) == N).all()
        assert N == np.rint(X[y == "b"].sum(axis=1).mean())
        expected, spread = N * theta, N * theta * (1 - theta)
    assert (np.abs(drawn.mean(axis=0) - expected) <= 5 * np.sqrt(spread / len(drawn)) + 1e-9).all()


def test_missing_cells_are_filled_with_what_is_expected():
    X, y = counts(9)
    some = X.copy()
    some[:, 2] = np.nan
    some[0] = np.nan
    for model in (lk.BernoulliNB(), lk.PoissonNB(), lk.MultinomialNB()):
        model.fit(X, y)
        R, filled = model.predict_proba(some), model.impute(some)
        np.testing.assert_array_equal(filled[1:, [0, 1, 3, 4]], X[1:, [0, 1, 3, 4]])
        if isinstance(model, lk.MultinomialNB):  # N θ_2 / Σ θ, N and Σ over the columns that are there
            theta = np.exp(model.feature_log_prob_)
            draws = some[1:, [0, 1, 3, 4]].sum(axis=1)[:, None]
            expected = (R[1:] * draws * theta[:, 2] / (1 - theta[:, 2])).sum(axis=1)
            length = np.array([X[y == k].sum(axis=1).mean() for k in model.classes_])
            _close(filled[0], (R[0] * length) @ theta)
        else:
            mean = model.rate_ if isinstance(model, lk.PoissonNB) else np.exp(model.feature_log_prob_)
            expected = R[1:] @ mean[:, 2]
        _close(filled[1:, 2], expected)


# ---- the multinomial -----------------------------------------------------------------------------
def multinomial(K: int = 3) -> Multinomials:
    X, y = counts(2, K=K)
    state = Multinomial(0.5).stats(K, P)
    state.update(Chunk(Dense(X), np.searchsorted(np.unique(y), y).astype(np.int32)))
    return Multinomial(0.5).estimate(state)


def test_a_multinomial_sums_to_1_over_all_rows_of_a_total():
    params = multinomial().marginal(np.arange(3))
    rows = np.array([(i, j, 6 - i - j) for i in range(7) for j in range(7 - i)], dtype=np.float64)
    Z = np.array([log_density(params, row) for row in rows])
    np.testing.assert_allclose(np.exp(Z).sum(axis=0), 1, rtol=1e-12)


def test_the_joint_is_given_times_rest_times_how_the_total_is_shared():
    """p(x | N) = p(x_G | N_G) p(x_R | N_R) Bin(N_G; N, Σ θ_G): the last is no part of the model."""
    params, x = multinomial(), np.array([3.0, 0.0, 2.0, 1.0, 4.0])
    rest, seen = params.condition({2: 2.0, 0: 3.0})
    share = np.exp(params.log_theta[:, [0, 2]]).sum(axis=1)
    shared = stats.binom.logpmf(5, 10, share)
    _close(seen + log_density(rest, x[[1, 3, 4]]) + shared, log_density(params, x))


def test_the_estimate_of_a_multinomial_is_the_likeliest():
    X, y = counts(2)
    codes = np.searchsorted(np.unique(y), y)
    state = Multinomial(0.0).stats(3, P)
    state.update(Chunk(Dense(X), codes.astype(np.int32)))
    best = Multinomial(0.0).estimate(state).log_theta
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = best + 1e-3 * rng.standard_normal(best.shape)
        moved -= logsumexp(moved, axis=1, keepdims=True)
        assert (X * moved[codes]).sum() < (X * best[codes]).sum()


def test_fractional_counts_have_fractional_factorials():
    params, x = multinomial(), np.array([0.5, 0.0, 1.25, 2.0, 0.0])
    by_hand = gammaln(x.sum() + 1) - gammaln(x + 1).sum() + params.log_theta @ x
    _close(log_density(params, x), by_hand)


# ---- what has no density -------------------------------------------------------------------------
def test_complements_have_no_density_and_say_so():
    X, y = counts()
    model = lk.ComplementNB().fit(X, y)
    for name in (
        "score_samples",
        "sample",
        "impute",
        "marginal",
        "condition",
        "adapt_priors",
        "is_outlier",
    ):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"has no '{name}', since its weights are not"):
            getattr(model, name)


# ---- bad input -----------------------------------------------------------------------------------
TABLES = {"dense": np.array, "sparse": sparse.csr_array, "frame": lambda X: pd.DataFrame(X).add_prefix("x")}


@pytest.mark.parametrize("kind", list(TABLES))
@pytest.mark.parametrize(
    ("model", "value", "said"),
    [
        (lk.MultinomialNB(), -1.0, "multinomial takes counts"),
        (lk.ComplementNB(), -0.5, "complement takes counts"),
        (lk.PoissonNB(), 0.5, "poisson takes whole numbers"),
        (lk.PoissonNB(), -2.0, "poisson takes whole numbers"),
        (lk.BernoulliNB(binarize=None), 2.0, "bernoulli takes 0 and 1"),
        (lk.BernoulliNB(), np.inf, "infinity"),
        (lk.MultinomialNB(), np.inf, "infinity"),
    ],
    ids=str,
)
def test_values_outside_the_support_are_named(model, value, said, kind):
    X, y = counts()
    X = np.minimum(X, 1)
    good = TABLES[kind](X)
    fitted = clone(model).fit(good, y)
    before = copy.deepcopy(fitted)
    X[17, 3] = value
    bad = TABLES[kind](X)
    named = " ('x3')" if kind == "frame" else ""
    for attempt in (fitted.fit, fitted.partial_fit):
        with pytest.raises(
            ValueError, match=said if said == "infinity" else f"{value:g}.*{said}"
        ) as refused:
            attempt(bad, y)
        assert f"row 17, column 3{named}" in str(refused.value)
        assert_same(fitted, before, good, exactly=True)
    if np.isinf(value):
        with pytest.raises(ValueError, match=r"infinity.*row 17, column 3"):
            fitted.predict(bad)
        return
    X[17, 3] = np.nan
    with pytest.warns(SkippedWarning, match="1 of column"):
        skipped = fitted.predict_proba(bad)
    np.testing.assert_allclose(skipped, fitted.predict_proba(TABLES[kind](X)), rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lk.MultinomialNB(alpha=-1.0), r"alpha must be .*; got -1.0"),
        (lk.MultinomialNB(alpha="x"), r"alpha must be .*; got 'x'"),
        (lk.BernoulliNB(alpha=[1.0, 2.0]), "2 elements instead of 5"),
        (lk.ComplementNB(alpha=[1.0, -2.0, 1.0, 1.0, 1.0]), r"alpha\[1\] is -2"),
        (lk.PoissonNB(alpha=[[1.0]]), "alpha"),
        (lk.PoissonNB(alpha=[1.0]), "each of the 5 columns; got 1"),
        (lk.BernoulliNB(binarize=-1.0), "binarize must be a finite number >= 0; got -1.0"),
        (lk.MultinomialNB(class_prior=[0.5, 0.5]), "Number of priors must match"),
        (lk.MultinomialNB(fit_prior="no"), r"fit_prior must be .*; got 'no'"),
        (lk.ComplementNB(norm=2), r"norm must be .*; got 2"),
        (lk.PoissonNB(priors=[1, 1, -1]), "non-negative"),
    ],
    ids=str,
)
def test_wrong_hyper_parameters_are_named(model, said):
    X, y = counts()
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)
    assert not shown(model)


def test_a_small_alpha_is_raised_unless_it_is_forced():
    X, y = counts()
    with pytest.warns(lk.DegenerateWarning, match="alpha too small"):
        raised = lk.MultinomialNB(alpha=0.0, force_alpha=False).fit(X, y)
    assert_same(raised, lk.MultinomialNB(alpha=1e-10).fit(X, y), X)


def test_without_smoothing_every_answer_is_still_a_number():
    """A word that one class never uses, and a row of such words: neither NaN nor -inf throughout."""
    X = np.array([[2.0, 0, 1], [1, 0, 0], [0, 3, 1], [0, 1, 0]])
    y = np.array([0, 0, 1, 1])
    for model in (lk.MultinomialNB(alpha=0.0), lk.BernoulliNB(alpha=0.0), lk.PoissonNB(alpha=0.0)):
        model.fit(X, y)
        for rows in (X, sparse.csr_array(X), np.array([[1.0, 1.0, 0.0]])):
            assert np.isfinite(model.predict_log_proba(rows)).all()
            assert np.isfinite(model.score_samples(rows)).all()
        np.testing.assert_array_equal(model.predict(X), y)


def test_a_column_that_a_class_never_shows_says_nothing_of_it():
    X, y = counts()
    X[y == "a", 1] = np.nan
    for model in (lk.MultinomialNB(), lk.BernoulliNB(), lk.PoissonNB()):
        with pytest.warns(lk.DegenerateWarning, match="class a every cell of column 1 is missing"):
            model.fit(X, y)
        assert np.isfinite(model.predict_log_proba(X)).all()


# ---- sparse scores -------------------------------------------------------------------------------
@given(seed=SEEDS, K=st.sampled_from([1, 2, 7, 8, 9, 20, 65, 130]))
def test_affine_scores_of_sparse_rows_are_those_of_dense_ones(seed, K):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 11)) * (rng.random((30, 11)) < 0.3)
    term = Affine(rng.standard_normal(K), rng.standard_normal((K, 11)), rng.standard_normal(11))
    Z, same = np.empty((2, 30, K))
    Scores((term,)).write(Chunk(Dense(X)), Z)
    Scores((term,)).write(Chunk(block(sparse.csr_array(X))), same)
    np.testing.assert_allclose(same, Z, rtol=1e-12, atol=1e-12)


def test_wide_sparse_rows_are_never_made_dense():
    """A million columns: dense, the rows would take 24 GB."""
    rng = np.random.default_rng(0)
    n, p = 3000, 1_000_000
    places = np.repeat(np.arange(n), 5), rng.integers(0, p, n * 5)
    X = sparse.csr_array((np.ones(n * 5), places), shape=(n, p))
    y = np.arange(n) % 2
    for model in (lk.MultinomialNB(), lk.BernoulliNB(), lk.ComplementNB(), lk.PoissonNB()):
        assert model.fit(X, y).predict_proba(X).shape == (n, 2)
        if hasattr(model, "score_samples"):
            assert np.isfinite(model.score_samples(X)).all()


# ---- more columns than a cache holds -------------------------------------------------------------
def wide(rows: int = 300, K: int = 10, p: int = 20_000) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sparse.random_array((rows, p), density=0.002, rng=rng, format="csr")
    X.data = np.ceil(9 * X.data)
    return X, rng.integers(K, size=rows)


def test_wide_rows_are_summed_class_by_class_to_the_same():
    X, y = wide()
    model = lk.MultinomialNB().fit(X, y)
    np.testing.assert_array_equal(model.feature_count_, (np.eye(10)[y].T @ X))
    halves = lk.MultinomialNB().fit(X[:150], y[:150]).merge(lk.MultinomialNB().fit(X[150:], y[150:]))
    np.testing.assert_array_equal(halves.feature_count_, model.feature_count_)


@pytest.mark.parametrize("value", [-1.0, np.inf])
def test_the_bad_cell_of_wide_rows_that_is_named_is_the_first(value):
    X, y = wide()
    y = np.arange(len(y))[::-1] % 10  # the first bad row is of a late class
    for row in (200, 40, 41):
        X.data[X.indptr[row]] = value
    with pytest.raises(ValueError, match="row 40, column"):
        lk.MultinomialNB().fit(X, y)
