"""The laws of mixtures: EM is the EM of the textbook, never goes down, and reads rows as any pass does."""

import copy
import pickle
import warnings
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.generators import SEEDS
from laws.parts import parts_of
from likelier.data import Arrays, Chunk, Dense
from likelier.em import EMProblem, StoppingRule
from likelier.families import (
    DiagonalGaussian,
    Exponential,
    FullGaussian,
    Gamma,
    Geometric,
    MixedFamily,
    Poisson,
    ridged,
)
from likelier.saving import format
from likelier.saving.models import _estimator, content_of

GM, MDA = lk.GaussianMixture, lk.MixtureDiscriminantAnalysis
SHAPES = ["full", "tied", "diag", "spherical"]
every_shape = pytest.mark.parametrize("shape", SHAPES)
fewer = settings(max_examples=max(10, settings.default.max_examples // 5))
# What EM comes to is not the matter of these tests, nor that it had few steps or rows.
may_stop_early = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::likelier.DegenerateWarning"
)
pytestmark = may_stop_early

# A new mixture joins here.
MIXTURES = [
    *(GM(2, covariance_type=shape, random_state=0) for shape in SHAPES),
    GM(2, init_params="k-means++", random_state=1),
    GM(3, select="bic", covariance_type=["full", "diag"], random_state=0),
    lk.Mixture(2, families="gaussian", random_state=0),
    lk.Mixture(2, families="gaussian-full", init_params="random", random_state=0),
]
DISCRIMINANTS = [MDA(1), MDA(2, random_state=0), MDA(2, covariance_type="tied", random_state=0)]
every_mixture = pytest.mark.parametrize("mixture", [*MIXTURES, *DISCRIMINANTS], ids=repr)


# ---- rows ----------------------------------------------------------------------------------------
def rows(seed: int = 0, n: int = 120, p: int = 3, M: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clusters of different shapes and units, and which one each row is of."""
    rng = np.random.default_rng(seed)
    z = rng.permutation(np.arange(n) % M)
    mix = np.eye(p) + 0.5 * rng.uniform(-1, 1, (M, p, p))
    X = np.einsum("nij,nj->ni", mix[z], rng.standard_normal((n, p))) + 2 * rng.standard_normal((M, p))[z]
    return X * 10 ** rng.uniform(-0.5, 0.5, p) + 3, z


def gappy(X: np.ndarray, seed: int, share: float = 0.2) -> np.ndarray:
    gone = np.random.default_rng(seed).random(X.shape) < share
    gone[0] = True  # nothing is known of a row
    return np.where(gone, np.nan, X)


def given_start(X: np.ndarray, shape: str, M: int = 3) -> dict[str, Any]:
    """A start that depends on no random numbers."""
    p, complete = X.shape[1], np.nan_to_num(X, nan=float(np.nanmean(X)))
    precision = np.diag(1 / complete.var(axis=0))
    each = {
        "full": np.repeat(precision[None], M, axis=0),
        "tied": precision,
        "diag": np.repeat(np.diagonal(precision)[None], M, axis=0),
        "spherical": np.full(M, np.diagonal(precision).mean()),
    }
    return {
        "weights_init": np.arange(1, M + 1) / np.arange(1, M + 1).sum(),
        "means_init": complete[1 : 1 + M] + 0.01 * np.arange(M * p).reshape(M, p),
        "precisions_init": each[shape],
    }


# ---- the textbook --------------------------------------------------------------------------------
COLLAPSED = 1e-4  # a variance that no component is left at


def textbook(
    X: np.ndarray, w: np.ndarray, shape: str, start: dict[str, Any], steps: int
) -> tuple[list[float], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """EM in plain NumPy, row by row: ln p(rows) before each step, and weights, means, covariances."""
    M, p = start["means_init"].shape
    pi, mean = start["weights_init"], start["means_init"]
    inverse = start["precisions_init"]
    cov = {
        "full": lambda: np.linalg.inv(inverse),
        "tied": lambda: np.repeat(np.linalg.inv(inverse)[None], M, axis=0),
        "diag": lambda: np.stack([np.diag(1 / v) for v in inverse]),
        "spherical": lambda: np.stack([np.eye(p) / v for v in inverse]),
    }[shape]()
    trace = []
    for _ in range(steps):
        if np.linalg.eigvalsh(cov).min() < COLLAPSED:
            break  # rounding has the last word from here on, and determinants may be negative
        Z = np.zeros((len(X), M))
        filled, spread = np.zeros((len(X), M, p)), np.zeros((len(X), M, p, p))
        for i, x in enumerate(X):
            o, g = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
            for m in range(M):
                filled[i, m, o] = x[o]
                gain = np.zeros((len(g), len(o)))
                if len(o):
                    S = cov[m][np.ix_(o, o)]
                    inverse, d = np.linalg.inv(S), x[o] - mean[m][o]
                    Z[i, m] = -0.5 * (d @ inverse @ d + np.log(np.linalg.det(2 * np.pi * S)))
                    gain = cov[m][np.ix_(g, o)] @ inverse
                filled[i, m, g] = mean[m][g] + gain @ (x[o] - mean[m][o])
                spread[i, m][np.ix_(g, g)] = cov[m][np.ix_(g, g)] - gain @ cov[m][np.ix_(o, g)]
        Z += np.log(pi)
        total = logsumexp(Z, axis=1)
        trace.append(w @ total / w.sum())
        R = np.exp(Z - total[:, None]) * w[:, None]
        n = R.sum(axis=0)
        pi = n / n.sum()
        if shape in ("diag", "spherical"):  # what is there is enough: nothing needs to be filled in
            there = np.einsum("nm,nj->mj", R, ~np.isnan(X))
            mean = R.T @ np.nan_to_num(X) / there
            S = np.einsum("nm,nmj->mj", R, np.nan_to_num((X[:, None] - mean) ** 2))
            v = S / there if shape == "diag" else np.outer(S.sum(axis=1) / there.sum(axis=1), np.ones(p))
            cov = np.stack([np.diag(each) for each in v])
            continue
        mean = np.einsum("nm,nmj->mj", R, filled) / n[:, None]
        d = filled - mean
        S = np.einsum("nm,nmi,nmj->mij", R, d, d) + np.einsum("nm,nmij->mij", R, spread)
        tied = np.repeat(S.sum(axis=0)[None] / n.sum(), M, axis=0)
        cov = S / n[:, None, None] if shape == "full" else tied
    return trace, (pi, mean, cov)


def as_matrices(model: Any) -> np.ndarray:
    cov, (M, p) = model.covariances_, model.means_.shape
    match model.covariance_type_:
        case "tied":
            return np.repeat(cov[None], M, axis=0)
        case "diag":
            return np.stack([np.diag(v) for v in cov])
        case "spherical":
            return np.stack([v * np.eye(p) for v in cov])
    return cov


@every_shape
@pytest.mark.parametrize("share", [0.0, 0.2])
@fewer
@given(seed=st.integers(0, 1000))
def test_em_is_that_of_the_textbook(shape, share, seed):
    X = gappy(rows(seed, n=40)[0], seed, share) if share else rows(seed, n=40)[0]
    w = np.random.default_rng(seed).exponential(size=len(X))
    start = given_start(X, shape)
    model = GM(3, covariance_type=shape, reg_covar=0, tol=0, max_iter=6, **start).fit(X, sample_weight=w)
    trace, (pi, mean, cov) = textbook(X, w, shape, start, 6)
    if np.linalg.eigvalsh(cov).min() < COLLAPSED:
        return  # a component collapses
    np.testing.assert_allclose(model.lower_bounds_, trace, rtol=1e-9)
    np.testing.assert_allclose(model.weights_, pi, rtol=1e-8)
    np.testing.assert_allclose(model.means_, mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(as_matrices(model), cov, rtol=1e-8, atol=1e-8 * np.abs(cov).max())


# ---- never down ----------------------------------------------------------------------------------
@every_shape
@given(seed=SEEDS, share=st.sampled_from([0.0, 0.15, 0.4]), M=st.integers(1, 4))
def test_the_likelihood_never_falls(shape, seed, share, M):
    X = rows(seed % 1000, n=80)[0]
    X = gappy(X, seed, share) if share else X
    model = GM(M, covariance_type=shape, reg_covar=1e-9, tol=0, max_iter=25, random_state=seed % 7).fit(X)
    falls = np.diff(model.trace_["log_likelihood"]) < -1e-9
    assert not falls[~model.trace_["floored"][:-1]].any()


@pytest.mark.parametrize(
    "family", [Gamma(), Geometric(), Poisson(), Exponential(), Geometric(5.0)], ids=repr
)
@pytest.mark.parametrize("classes", [False, True])
def test_steps_in_which_pseudo_counts_make_rows_less_likely_are_marked(family, classes):
    marked = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.floor(rng.gamma(2.0, 1 + 6 * (np.arange(60) % 3 == 0)[:, None], (60, 2)) + 1)
        if classes:
            model = MDA(3, families=family, tol=0, max_iter=60, random_state=0).fit(X, np.arange(60) % 2)
        else:
            model = lk.Mixture(3, families=family, tol=0, max_iter=60, random_state=0).fit(X)
        falls = np.diff(model.trace_["log_likelihood"]) < 0
        np.testing.assert_array_equal(falls, model.trace_["floored"][:-1])
        marked += int(falls.sum())
    assert marked > 0


@pytest.mark.parametrize(
    "family",
    [
        DiagonalGaussian(0.0),
        FullGaussian(),
        MixedFamily(((np.array([1]), DiagonalGaussian(0.0)), (np.array([2, 0]), FullGaussian()))),
    ],
    ids=["gaussian", "gaussian-full", "mixed"],
)
@fewer
@given(seed=st.integers(0, 1000))
def test_nor_that_of_any_family(family, seed):
    X = gappy(rows(seed)[0], seed, 0.1)
    model = lk.Mixture(2, families=family, tol=0, max_iter=15, random_state=0).fit(X)
    assert np.diff(model.trace_["log_likelihood"]).min() > -1e-9


def test_a_mixture_of_a_mixed_family_is_that_of_its_parts():
    """Groups that are full Gaussians get what is missing as expected, as a full Gaussian itself does."""
    X = gappy(rows(3)[0], 3)
    mixed = MixedFamily(((np.arange(3), FullGaussian()),))
    ours = lk.Mixture(2, families=mixed, tol=0, max_iter=10, random_state=0).fit(X)
    theirs = lk.Mixture(2, families=FullGaussian(), tol=0, max_iter=10, random_state=0).fit(X)
    np.testing.assert_allclose(ours.lower_bounds_[3:], theirs.lower_bounds_[3:], rtol=0.05)
    assert np.diff(ours.trace_["log_likelihood"]).min() > -1e-9


def test_a_fall_is_flagged():
    """A floor as large as the variances: the step is not the most likely one any more."""
    X = rows(0)[0]
    model = GM(3, reg_covar=0.5, tol=0, max_iter=40, random_state=0).fit(X)
    assert model.trace_["floored"].all()
    assert not GM(3, reg_covar=1e-9, max_iter=5, random_state=0).fit(X).trace_["floored"].any()


# ---- weights, cuts, names ------------------------------------------------------------------------
@every_shape
@fewer
@given(seed=st.integers(0, 1000), share=st.sampled_from([0.0, 0.2]))
def test_weights_mean_repetition(shape, seed, share):
    X = rows(seed)[0]
    X = gappy(X, seed, share) if share else X
    w = np.random.default_rng(seed).integers(0, 4, len(X))
    how = {"covariance_type": shape, "tol": 0, "max_iter": 8, **given_start(X, shape)}
    ours, theirs = GM(3, **how).fit(X, sample_weight=w), GM(3, **how).fit(np.repeat(X, w, axis=0))
    assert_close(ours, theirs)


def test_a_row_without_weight_may_be_anything():
    X, _ = rows()
    w = np.ones(len(X))
    w[:5] = 0
    for init in ("kmeans", "k-means++", "random", "random_from_data"):
        mixture = GM(3, init_params=init, random_state=0)
        odd = X.copy()
        odd[:5] = 1e200
        assert_close(clone(mixture).fit(odd, sample_weight=w), clone(mixture).fit(X[5:]))


def assert_close(a: Any, b: Any, tolerance: float = 1e-9) -> None:
    for name in ("weights_", "means_", "covariances_", "lower_bound_"):
        ours, theirs = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        room = tolerance * np.abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=room, err_msg=name)


ASKED = ("predict", "predict_proba", "predict_log_proba", "score_samples")


def assert_same_bits(a: Any, b: Any, X: np.ndarray) -> None:
    def shown(model: Any) -> dict[str, Any]:
        return {name: value for name, value in vars(model).items() if name.endswith("_")}

    assert shown(a).keys() == shown(b).keys()
    for name, value in shown(b).items():
        ours = getattr(a, name)
        pairs = [(ours[key], value[key]) for key in value] if isinstance(value, dict) else [(ours, value)]
        for one, other in pairs:
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=name)
    for ask in ASKED:
        np.testing.assert_array_equal(getattr(a, ask)(X), getattr(b, ask)(X), err_msg=ask)


@every_mixture
def test_threads_change_no_bit(mixture, monkeypatch):
    X, z = rows(n=3000)
    X[::7, 0] = np.nan
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("LIKELIER_THREADS", threads)
        with parts_of(2000):
            found.append(clone(mixture).fit(X, z))
    assert_same_bits(*found, X)


@every_shape
def test_cuts_change_nothing_that_counts(shape):
    X = gappy(rows(n=2000)[0], 0)
    mixture = GM(3, covariance_type=shape, tol=0, max_iter=10, **given_start(X, shape))
    whole = clone(mixture).fit(X)
    with parts_of(1500):
        assert_close(clone(mixture).fit(X), whole)


@every_shape
def test_components_may_be_renumbered(shape):
    X = rows()[0]
    start, order = given_start(X, shape), np.array([2, 0, 1])
    shared = ["precisions_init"] if shape == "tied" else []
    moved = {name: value if name in shared else value[order] for name, value in start.items()}
    a = GM(3, covariance_type=shape, **start).fit(X)
    b = GM(3, covariance_type=shape, **moved).fit(X)
    np.testing.assert_allclose(b.weights_, a.weights_[order], rtol=1e-9)
    np.testing.assert_allclose(b.predict_proba(X), a.predict_proba(X)[:, order], atol=1e-9)


@pytest.mark.parametrize("container", [np.asfortranarray, pd.DataFrame, sparse.csr_array])
def test_rows_may_lie_in_any_way(container):
    X = rows()[0]
    ours = GM(3, tol=0, max_iter=10, **given_start(X, "full")).fit(container(X))
    assert_close(ours, GM(3, tol=0, max_iter=10, **given_start(X, "full")).fit(X))


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_far_from_0_keep_their_variance(shape):
    X = rows(n=500)[0]
    far = (X + 1e6).astype(np.float32)
    near = far.astype(np.float64) - 1e6
    how = {"covariance_type": shape, "reg_covar": 0, "random_state": 0, "tol": 0, "max_iter": 20}
    how |= {"init_params": "random"}
    a, b = GM(3, **how).fit(far), GM(3, **how).fit(near)
    assert (np.linalg.eigvalsh(as_matrices(a)) > 0).all()
    np.testing.assert_allclose(as_matrices(a), as_matrices(b), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(a.lower_bound_, b.lower_bound_, rtol=1e-7)


def test_a_mean_that_starts_far_off_costs_no_digits():
    """Sums about the old mean would lose them: such rows are counted from scratch."""
    X = rows()[0]
    start = given_start(X, "full", M=1) | {"means_init": X[:1] + 1e9}
    model = GM(1, reg_covar=0, tol=0, max_iter=1, **start).fit(X)
    np.testing.assert_allclose(model.covariances_[0], np.cov(X.T, bias=True), rtol=1e-10)


# ---- scikit-learn --------------------------------------------------------------------------------
def expected_failures(estimator: Any) -> dict[str, str]:
    if isinstance(estimator, MDA):
        return {}
    why = "the check asks the classifier's tags of whatever has predict_proba"
    return {"check_estimator_sparse_array": why, "check_estimator_sparse_matrix": why}


@parametrize_with_checks(
    [GM(), GM(covariance_type="tied"), lk.Mixture(), MDA(1)], expected_failed_checks=expected_failures
)
def test_scikit_learn_takes_it_for_its_own(estimator, check):
    check(estimator)


# ---- files ---------------------------------------------------------------------------------------
@every_mixture
def test_a_loaded_mixture_is_the_same(mixture):
    X, z = rows()
    X[3, 1] = np.nan
    model = clone(mixture).fit(X, z)
    loaded = _estimator(format.Archive(BytesIO(content_of(model, statistics=True))))
    assert_same_bits(loaded, model, X)
    if hasattr(model, "partial_fit"):
        assert_same_bits(loaded.partial_fit(X[::2]), model.partial_fit(X[::2]), X)
    less, given_ = model.marginal([0, 2]), model.condition({1: 0.5})
    for derived in (less, given_):
        again = _estimator(format.Archive(BytesIO(content_of(derived, statistics=True))))
        assert_same_bits(again, derived, X[:, :2])


@every_mixture
def test_it_can_be_pickled_and_copied(mixture):
    X, z = rows()
    model = clone(mixture).fit(X, z)
    assert_same_bits(pickle.loads(pickle.dumps(model)), model, X)
    assert_same_bits(copy.deepcopy(model), model, X)


@every_mixture
def test_a_merge_is_refused_with_a_reason(mixture):
    X, z = rows()
    model = clone(mixture).fit(X, z)
    with pytest.raises(TypeError, match="each step of EM depends on all rows"):
        model.merge(model)
    with pytest.raises(TypeError, match="cannot be merged: its fit is not a sum over rows"):
        lk.merge([model, model])


# ---- densities -----------------------------------------------------------------------------------
@every_mixture
def test_marginal_and_condition_agree_with_the_joint(mixture):
    """p(x) = p(x_1) p(x_0, x_2 | x_1), and a cell that is missing is integrated out."""
    X, z = rows()
    model = clone(mixture).fit(X, z)
    for x in X[:5]:
        seen = model.marginal([1]).score_samples(x[None, [1]])
        rest = model.condition({1: x[1]}).score_samples(x[None, [0, 2]])
        np.testing.assert_allclose(seen + rest, model.score_samples(x[None]), rtol=1e-9)
        gone = np.array([[np.nan, x[1], np.nan]])
        np.testing.assert_allclose(model.score_samples(gone), seen, rtol=1e-9)
        posterior = model.condition({1: x[1]}).predict_proba(x[None, [0, 2]])
        np.testing.assert_allclose(posterior, model.predict_proba(x[None]), atol=1e-9)


@every_mixture
def test_samples_have_the_moments(mixture):
    X, z = rows(n=300)
    model = clone(mixture).fit(X, z)
    drawn, labels = model.sample(40_000, random_state=0)
    room = 5 * X.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - X.mean(axis=0)) < room + 1e-3).all()
    shares = np.array([(labels == label).mean() for label in model._target])
    np.testing.assert_allclose(shares, model._model.prior, atol=0.02)


@every_mixture
def test_imputed_cells_are_expected_values(mixture):
    """Σ_k p(C_k | x_o) E[x_j | x_o, C_k] is the mean of what is drawn given the rest."""
    X, z = rows(n=300)
    model = clone(mixture).fit(X, z)
    x = np.array([[X[0, 0], np.nan, X[0, 2]]])
    rest, _ = model.condition({0: x[0, 0], 2: x[0, 2]}).sample(40_000, random_state=0)
    assert abs(model.impute(x)[0, 1] - rest.mean()) < 5 * rest.std() / 200
    np.testing.assert_array_equal(model.impute(X), X)


@every_mixture
def test_the_density_integrates_to_1(mixture):
    X, z = rows()
    model = clone(mixture).fit(X, z)
    for j in range(3):
        low, high = X[:, j].min(), X[:, j].max()
        grid = np.linspace(low - 3 * (high - low), high + 3 * (high - low), 20_001)
        density = np.exp(model.marginal([j]).score_samples(grid[:, None]))
        assert abs(density.sum() * (grid[1] - grid[0]) - 1) < 1e-6


# ---- batches -------------------------------------------------------------------------------------
@every_shape
def test_batches_come_near_to_a_fit(shape):
    X = rows(1, n=6000)[0]
    mixture = GM(3, covariance_type=shape, random_state=0)
    model = clone(mixture)
    for batch in np.array_split(X, 30):
        model.partial_fit(batch)
    assert model.score(X) > clone(mixture).fit(X).score(X) - 0.05
    assert "29 batches" in model.stop_reason_


def test_batches_from_files_say_how_likely_they_were(tmp_path):
    X, _ = rows(0)
    path = tmp_path / "rows.csv"
    pd.DataFrame(X).to_csv(path, index=False)
    names = [str(j) for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    filed = GM(2, random_state=0).fit(frame).partial_fit(lk.scan(path))
    held = GM(2, random_state=0).fit(frame).partial_fit(frame)
    np.testing.assert_array_equal(filed.is_outlier(frame, 0.1), held.is_outlier(frame, 0.1))


def test_batches_follow_rows_that_change():
    X = rows(1, n=600)[0]
    model = GM(1).partial_fit(X)
    for _ in range(60):
        model.partial_fit(X + 10)
    assert np.abs(model.means_[0] - X.mean(axis=0) - 10).max() < 0.5


def test_a_batch_of_the_same_rows_leaves_a_fit_where_it_is():
    X = rows(1)[0]
    model = GM(2, random_state=0, tol=1e-12, max_iter=2000).fit(X)
    before = model.means_.copy()
    np.testing.assert_allclose(model.partial_fit(X).means_, before, rtol=1e-5)


# ---- choosing ------------------------------------------------------------------------------------
def test_the_chosen_mixture_has_the_least_bic():
    X = rows(2, n=150)[0]
    model = GM(4, select="bic", covariance_type="all", random_state=0).fit(X)
    table = model.selection_
    assert len(table["bic"]) == 16
    for i, (M, shape) in enumerate(zip(table["n_components"], table["covariance_type"], strict=True)):
        one = GM(int(M), covariance_type=shape, random_state=0).fit(X)
        np.testing.assert_allclose(table["bic"][i], one.bic(X), rtol=1e-12)
        np.testing.assert_allclose(table["aic"][i], one.aic(X), rtol=1e-12)
        np.testing.assert_allclose(table["log_likelihood"][i], one.score(X), rtol=1e-12)
    best = table["bic"].argmin()
    assert len(model.weights_) == table["n_components"][best]
    assert model.covariance_type_ == table["covariance_type"][best]
    lines = repr(table).splitlines()  # a line for each, the best marked
    assert len(lines) == 1 + 16 + 1
    assert [line.startswith("*") for line in lines[1:17]].index(True) == best
    assert table.to_frame()["bic"].argmin() == best
    by_aic = GM(4, select="aic", covariance_type="all", random_state=0).fit(X)
    assert len(by_aic.weights_) == table["n_components"][table["aic"].argmin()]
    assert by_aic.covariance_type_ == table["covariance_type"][table["aic"].argmin()]


@pytest.mark.parametrize("seed", [19, 20, 21])
def test_what_em_would_still_gain_does_not_count_against_more_components(seed):
    """The likelihood before the last step is too small by up to n tol: enough to choose one for two."""
    rng = np.random.default_rng(seed)
    half = rng.standard_normal(2000)
    X = np.concatenate([half, 1.3 * rng.standard_normal(2000) + rng.uniform(0.5, 1.2)])[:, None]
    model = GM(2, select="bic", random_state=0).fit(X)
    each = [GM(M, random_state=0).fit(X).bic(X) for M in (1, 2)]
    np.testing.assert_allclose(model.selection_["bic"], each, rtol=1e-12)
    assert len(model.weights_) == 1 + int(np.argmin(each))


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**-8, 2.0**40])
def test_a_component_has_collapsed_by_rows_and_not_by_the_scale_of_weights(scale):
    X, z = rows(2, n=150)
    w = np.full(150, scale)
    with warnings.catch_warnings():
        warnings.simplefilter("error", lk.DegenerateWarning)
        for model in (GM(3, random_state=0), lk.Mixture(2, random_state=0)):
            one, scaled = clone(model).fit(X), clone(model).fit(X, sample_weight=w)
            np.testing.assert_allclose(scaled.weights_, one.weights_, rtol=1e-12)
        MDA(2, random_state=0).fit(X, z, sample_weight=w)


# ---- classes of components -----------------------------------------------------------------------
@fewer
@given(seed=st.integers(0, 1000))
def test_one_component_for_each_class_is_discriminant_analysis(seed):
    X, z = rows(seed)
    same = {
        "full": lk.QuadraticDiscriminantAnalysis(tol=0),
        "tied": lk.LinearDiscriminantAnalysis(solver="lsqr"),
        "diag": lk.GaussianNB(var_smoothing=0),
    }
    for shape, theirs in same.items():
        ours = MDA(1, covariance_type=shape, reg_covar=0).fit(X, z)
        theirs.fit(X, z)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)


@fewer
@given(seed=st.integers(0, 1000))
def test_unlabelled_rows_are_marked_in_any_way(seed):
    X, z = rows(seed)
    names = np.array(["a", "b", "c"], dtype=object)[z]
    gone = np.random.default_rng(seed).random(len(z)) < 0.5
    gone[:9] = False
    how = {"n_components": 1, "max_iter": 10, "tol": 0}
    by_none, floats = names.copy(), z.astype(float)
    by_none[gone], floats[gone] = None, np.nan
    found = [
        MDA(**how).fit(X, by_none),
        MDA(**how).fit(X, floats),
        MDA(**how, unlabelled=-1).fit(X, np.where(gone, -1, z)),
        MDA(**how, unlabelled="?").fit(X, np.where(gone, "?", names).astype(str)),
    ]
    for one in found[1:]:
        np.testing.assert_array_equal(one.predict_proba(X), found[0].predict_proba(X))
    assert np.diff(found[0].trace_["log_likelihood"]).min() > -1e-8
    assert found[0].classes_.tolist() == ["a", "b", "c"]
    assert MDA(**how).fit(X, np.where(gone, -1, z)).classes_.tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["a", "b", np.nan] * 20, ["a", "b"]),
        (["a", "b", None] * 20, ["a", "b"]),
        ([0, 1, np.nan] * 20, [0, 1]),
        ((0, 1, None) * 20, [0, 1]),
        (np.array([[True, False, None] * 20], dtype=object).T, [False, True]),
        (pd.DataFrame({"y": ["a", "b", None] * 20}), ["a", "b"]),
        (np.array(["a", "b", pd.NA] * 20, dtype=object), ["a", "b"]),
    ],
    ids=["nan among names", "names", "nan among numbers", "tuple", "column", "frame", "NA"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_missing_labels_are_missing_in_whatever_they_come(y, classes):
    X = np.random.default_rng(0).standard_normal((60, 2)) + np.arange(60)[:, None] % 3
    model = MDA(1, unlabelled="?").fit(X, y)
    assert model.classes_.tolist() == MDA(1, unlabelled=pd.NA).fit(X, y).classes_.tolist() == classes
    assert np.isfinite(model.score(X, np.resize(np.array(classes), 60)))  # by labels that it can compare


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
@pytest.mark.parametrize("labels", [["a", "b", None], [0.0, 1.0, np.nan]], ids=["names", "numbers"])
def test_missing_labels_in_files_are_missing(tmp_path, name, labels):
    X = np.random.default_rng(0).standard_normal((60, 2)) + np.arange(60)[:, None] % 3
    frame = pd.DataFrame(X, columns=["u", "v"])
    table, path = frame.assign(y=labels * 20, w=np.arange(60) % 4), tmp_path / name
    table.to_csv(path, index=False) if name.endswith("csv") else table.to_parquet(path)
    filed = MDA(1).fit(lk.scan(path, target="y", weight="w"))
    held = MDA(1).fit(frame, table["y"], sample_weight=table["w"])
    assert filed.classes_.tolist() == held.classes_.tolist() == labels[:2]
    np.testing.assert_array_equal(filed.predict_proba(frame), held.predict_proba(frame))
    with pytest.raises(ValueError, match="every row needs a label"):
        lk.GaussianNB().fit(lk.scan(path, target="y"))


def test_unlabelled_rows_take_part():
    """Few labels, many rows: the clusters that rows make move the classes, and the answers are better."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 2000)
    X = rng.standard_normal((2000, 5)) + 1.5 * z[:, None] * [1, 1, 0, 0, 1]
    y = np.where(np.arange(2000) < 20, z, -1)
    model = MDA(1, unlabelled=-1).fit(X, y)
    alone = MDA(1).fit(X[:20], z[:20])
    assert model.score(X[20:], z[20:]) > alone.score(X[20:], z[20:])


def test_without_classes_to_tell_apart_it_is_a_gaussian_mixture():
    """The E-step over all components of all classes is that of one mixture of them."""
    X, z = rows()
    y = np.where(np.arange(len(z)) < 6, z, -1)
    model = MDA(1, unlabelled=-1, tol=1e-3).fit(X, y)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(logsumexp(joint, axis=1), model.score_samples(X), rtol=1e-12)


def test_classes_may_have_different_numbers_of_components():
    X, z = rows(n=300)
    names = np.array(["a", "b", "c"])[z]
    model = MDA({"a": 1, "b": 3, "c": 2}, random_state=0).fit(X, names)
    assert model.component_classes_.tolist() == ["a", "b", "b", "b", "c", "c"]
    np.testing.assert_allclose(model.weights_[1:4].sum(), 1)
    listed = MDA([1, 3, 2], random_state=0).fit(X, names)
    np.testing.assert_array_equal(listed.predict_proba(X), model.predict_proba(X))


def test_given_priors_stay():
    X, z = rows()
    y = np.where(np.arange(len(z)) < 60, z, -1)
    priors = np.array([0.5, 0.3, 0.2])
    model = MDA(2, priors=priors, unlabelled=-1, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.priors_, priors, rtol=1e-12)
    other = model.predict_proba(X, priors=[0.2, 0.3, 0.5])
    ratio = model.predict_proba(X) * [0.2 / 0.5, 1, 0.5 / 0.2]
    np.testing.assert_allclose(other, ratio / ratio.sum(axis=1, keepdims=True), atol=1e-12)


# ---- the parts of it -----------------------------------------------------------------------------
def test_expectations_merge():
    X = gappy(rows(n=200)[0], 0)
    family = ridged("full", 1e-6)
    problem = EMProblem(Arrays(Dense(X)), family, 3)
    stats = family.stats(3, 3)
    stats.update(Chunk(Dense(np.nan_to_num(X)), (np.arange(200) % 3).astype(np.int32)))
    at = problem.maximise(stats)
    whole = problem.expect(at)
    with parts_of(1):
        cut = problem.expect(at)
    np.testing.assert_allclose(cut.log_likelihood, whole.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(cut.stats.n, whole.stats.n, rtol=1e-12)
    np.testing.assert_allclose(cut.stats.whole.S, whole.stats.whole.S, rtol=1e-10, atol=1e-10)
    assert cut.weight == whole.weight == 200


def test_a_climb_says_why_it_stopped():
    X = rows()[0]
    assert "tol" in GM(2, random_state=0).fit(X).stop_reason_
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        model = GM(2, tol=0, max_iter=2, random_state=0).fit(X)
    assert model.stop_reason_ == "max_iter=2 steps were taken"
    assert not model.converged_
    assert (
        StoppingRule(0.0, 0)(EMProblem(Arrays(Dense(X)), ridged("full", 0), 2), model._model).way.converged
        is False
    )


# ---- latent classes ------------------------------------------------------------------------------
def test_columns_by_name_and_categories_find_latent_classes(tmp_path):
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 600)
    codes = np.where(rng.random((600, 5)) < 0.8, hidden[:, None], rng.integers(0, 3, (600, 5)))
    frame = pd.DataFrame(codes, columns=list("abcde")).assign(age=rng.normal(3.0 * hidden, 1.0))
    families = {("a", "b", "c", "d", "e"): "categorical", "age": "gaussian"}
    model = lk.Mixture(2, families=families, random_state=0).fit(frame)
    agree = np.mean(model.predict(frame) == hidden)
    assert max(agree, 1 - agree) > 0.97
    numbered = lk.Mixture(2, families={(0, 1, 2, 3, 4): "categorical", 5: "gaussian"}, random_state=0)
    np.testing.assert_allclose(numbered.fit(frame).predict_proba(frame), model.predict_proba(frame))
    assert 0.03 < model.is_outlier(frame, 0.1).mean() <= 0.1
    lk.save(model, tmp_path / "m.lk")
    again = lk.load(tmp_path / "m.lk")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    again.partial_fit(frame[:100])
    with pytest.raises(
        ValueError, match="must be names or numbers of columns, or tuples of them; got 'colour'"
    ):
        lk.Mixture(2, families={"colour": "categorical"}).fit(frame)
