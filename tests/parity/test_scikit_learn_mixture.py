"""GaussianMixture goes scikit-learn's way: the same starts, the same steps, the same numbers."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Theirs

import likelier as lk

SHAPES = ["full", "tied", "diag", "spherical"]
INITS = ["kmeans", "k-means++", "random", "random_from_data"]
ARRAYS = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", "lower_bounds_"]
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::likelier.DegenerateWarning"
)


@pytest.fixture(params=["iris", "faithful", "seeded"])
def X(request):
    if request.param == "iris":
        return load_iris().data
    if request.param == "faithful":
        return pd.read_csv(request.getfixturevalue("data_file")("faithful.csv")).to_numpy()
    rng = np.random.default_rng(0)
    return rng.standard_normal((400, 5)) @ rng.standard_normal((5, 5)) + rng.integers(0, 4, (400, 1)) * 2


def both(X, **how):
    return lk.GaussianMixture(3, **how).fit(X), Theirs(3, **how).fit(X)


def assert_same(ours, theirs, tolerance=1e-9):
    for name in ARRAYS:
        a, b = np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max(), err_msg=name)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.converged_ == theirs.converged_


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("shape", SHAPES)
def test_twenty_steps_from_the_same_start(X, shape, init):
    if shape == "tied" and init in ("k-means++", "random_from_data"):
        pytest.skip("there scikit-learn starts with the second moments of all rows about 0")
    ours, theirs = both(X, covariance_type=shape, init_params=init, tol=0, max_iter=20, random_state=1)
    if init in ("k-means++", "random_from_data"):
        # Weights of its start are 1/n; and variances E[x²] - E[x]², which for a single row that weighs
        # 1 + 10 ε, as there, is 10 ε x² and not 0.
        first = theirs.lower_bounds_[0] - np.log(3 / len(X))
        lost = 12 * np.finfo(float).eps * (X**2).max() / 1e-6  # of a variance that is reg_covar
        np.testing.assert_allclose(ours.lower_bounds_[0], first, rtol=1e-9 + lost)
        theirs.lower_bounds_[0] = ours.lower_bounds_[0]
    assert_same(ours, theirs)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_best_of_three_starts(X, shape):
    """Starts that end at the same optimum tie up to rounding, with components in another order."""
    ours, theirs = both(X, covariance_type=shape, n_init=3, random_state=0)
    np.testing.assert_allclose(ours.lower_bound_, theirs.lower_bound_, rtol=1e-9)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)
    a, b = (np.lexsort(model.means_.round(6).T) for model in (ours, theirs))
    for name in ("weights_", "means_"):
        np.testing.assert_allclose(getattr(ours, name)[a], getattr(theirs, name)[b], rtol=1e-7)


@pytest.mark.parametrize("shape", SHAPES)
def test_to_the_same_end(X, shape):
    ours, theirs = both(X, covariance_type=shape, random_state=0)
    assert_same(ours, theirs)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)
    for ask in ("score", "aic", "bic"):
        np.testing.assert_allclose(getattr(ours, ask)(X), getattr(theirs, ask)(X), rtol=1e-9)
    np.testing.assert_array_equal(clone(ours).fit_predict(X), clone(theirs).fit_predict(X))


@pytest.mark.parametrize("shape", SHAPES)
def test_from_a_given_start(X, shape):
    begun = Theirs(3, covariance_type=shape, random_state=0, max_iter=1).fit(X)
    given = {"means_init": begun.means_, "precisions_init": begun.precisions_}
    how = {"covariance_type": shape, "tol": 0, "max_iter": 10, "random_state": 0}
    assert_same(*both(X, **how, **given))
    assert_same(*both(X, **how, **given, weights_init=begun.weights_))
    assert_same(*both(X, **how, weights_init=[0.2, 0.3, 0.5]))


def test_warm_starts(X):
    pair = both(X, max_iter=2, random_state=0, warm_start=True)
    for _ in range(4):
        for model in pair:
            model.fit(X)
    assert_same(*pair)


def test_no_steps(X):
    ours, theirs = both(X, max_iter=0, random_state=0)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-12)
    assert ours.lower_bound_ == theirs.lower_bound_ == -np.inf


def test_the_constructor_is_the_same_but_for_what_is_new():
    ours = inspect.signature(lk.GaussianMixture).parameters
    theirs = inspect.signature(Theirs).parameters
    assert {**ours}.keys() - theirs.keys() == {"select", "encode"}
    for name, parameter in theirs.items():
        assert (ours[name].default, ours[name].kind) == (parameter.default, parameter.kind)


def test_it_has_all_that_theirs_has(X):
    ours, theirs = both(X, random_state=0)
    for name in dir(theirs):
        assert name.startswith("_") or hasattr(ours, name), name


def test_too_few_steps_are_said_in_the_same_words(X):
    with pytest.warns(ConvergenceWarning, match="Best performing initialization did not converge"):
        lk.GaussianMixture(3, tol=0, max_iter=2, random_state=0).fit(X)
