"""Wrong input to mixtures: what is wrong, where, and what to do; and nothing is half fitted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import likelier as lk
from likelier.families import FullGaussian, Gamma
from likelier.saving import schema

GM, MDA = lk.GaussianMixture, lk.MixtureDiscriminantAnalysis
X = np.random.default_rng(0).standard_normal((60, 3)) + np.arange(60)[:, None] % 3 * 3
Y = np.arange(60) % 3
MIXTURES = [GM(2, random_state=0), lk.Mixture(2, random_state=0), MDA(2, random_state=0)]
every_mixture = pytest.mark.parametrize("mixture", MIXTURES, ids=lambda m: type(m).__name__)


def refused(mixture, X, y=None, match="", **how):
    before = set(vars(mixture))
    with pytest.raises(ValueError, match=match):
        mixture.fit(X, y, **how)
    assert set(vars(mixture)) == before


@every_mixture
def test_infinite_cells_are_named(mixture):
    bad = pd.DataFrame(X, columns=["a", "b", "c"])
    bad.loc[7, "b"] = np.inf
    refused(mixture, bad, Y, match=r"row 7, column 1 \('b'\) is inf")


@every_mixture
def test_weights_must_be_weights(mixture):
    refused(mixture, X, Y, "all zero", sample_weight=np.zeros(60))
    refused(mixture, X, Y, "row 3 has -1", sample_weight=np.where(np.arange(60) == 3, -1.0, 1.0))
    refused(mixture, X, Y, "expected", sample_weight=np.ones(59))


@every_mixture
def test_values_whose_squares_overflow_are_refused_where_reg_covar_is_a_number(mixture):
    if hasattr(mixture, "reg_covar"):
        refused(mixture, X * 1e200, Y, match="overflow|infinity|too large")
        mixture = clone(mixture).set_params(reg_covar=0)
    P = clone(mixture).fit(X, Y).predict_proba(X)
    scaled = X * 2.0**700
    np.testing.assert_allclose(clone(mixture).fit(scaled, Y).predict_proba(scaled), P, rtol=1e-6, atol=1e-9)


@every_mixture
def test_it_answers_nothing_before_fit(mixture):
    with pytest.raises(NotFittedError):
        mixture.predict(X)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"n_components": 0}, "n_components must be an integer >= 1; got 0"),
        ({"n_components": 2.5}, "n_components must be an integer >= 1; got 2.5"),
        ({"covariance_type": "round"}, "one of 'full', 'tied', 'diag', 'spherical'; got 'round'"),
        ({"covariance_type": ["full"]}, "one of 'full', 'tied', 'diag', 'spherical'; got .'full'."),
        ({"tol": -1}, "tol"),
        ({"max_iter": -1}, "max_iter"),
        ({"n_init": 0}, "n_init"),
        ({"reg_covar": -1e-6}, "reg_covar"),
        ({"init_params": "best"}, "init_params must be one of .*; got 'best'"),
        ({"select": "hqc"}, "select must be None, 'bic' or 'aic'; got 'hqc'"),
        ({"select": "bic", "covariance_type": []}, "'all' or some of 'full'"),
        ({"select": "bic", "covariance_type": "round"}, "'all' or some of 'full'"),
        ({"select": "bic", "covariance_type": None}, "'all' or some of 'full'"),
        ({"select": "bic", "means_init": X[:2]}, "leave out means_init"),
        ({"select": "bic", "warm_start": True}, "leave out warm_start"),
        ({"weights_init": [0.5, 0.6]}, "normalized"),
        ({"weights_init": [1.5, -0.5]}, "range"),
        ({"weights_init": [1.0]}, "shape"),
        ({"means_init": X[:3]}, "shape"),
        ({"means_init": np.full((2, 3), np.nan)}, "NaN"),
        ({"precisions_init": np.eye(3)}, "shape"),
        ({"precisions_init": -np.stack([np.eye(3)] * 2)}, "positive-definite"),
        ({"precisions_init": [[1, 1, 0]] * 2, "covariance_type": "diag"}, "positive"),
    ],
)
def test_hyper_parameters_are_checked(how, match):
    refused(GM(**{"n_components": 2, **how}), X, match=match)


def test_more_components_than_rows_or_different_rows():
    refused(GM(61), X, match="Expected n_samples >= n_components but got n_components = 61, n_samples = 60")
    same = np.repeat(X[:2], 20, axis=0)
    refused(GM(3), same, match="only 2 different rows.*Use n_components=2 or fewer")
    w = np.where(np.arange(60) < 2, 1.0, 0.0)
    refused(GM(3), X, match="n_samples = 2", sample_weight=w)
    refused(MDA(30), X, Y, match="n_components = 30, n_samples = 20 of class 0")


def test_a_collapsed_component_is_said():
    rows = np.concatenate([X, np.repeat(X[:1] + 50, 3, axis=0)])
    with pytest.warns(lk.DegenerateWarning, match="collapsed onto a few rows"):
        GM(4, random_state=0).fit(rows)


def test_constant_columns_are_said():
    rows = np.column_stack([X, np.ones(60)])
    with pytest.warns(lk.DegenerateWarning, match="columns are constant"):
        model = GM(2, random_state=0).fit(rows)
    assert np.isfinite(model.score_samples(rows)).all()


def test_a_warm_start_goes_on_from_the_same_mixture():
    model = GM(2, warm_start=True, random_state=0).fit(X)
    model.set_params(n_components=3)
    before = model.means_.copy()
    with pytest.raises(ValueError, match="continues from 2 full components, and 3 full ones"):
        model.fit(X)
    np.testing.assert_array_equal(model.means_, before)


def test_batches_of_other_columns_are_refused():
    model = GM(2, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.partial_fit(X[:, :2])
    with pytest.raises(ValueError, match="continues from statistics"):
        model.marginal([0, 1]).partial_fit(X[:, :2])


def test_categories_are_refused_by_name():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=["x", "y"] * 30)
    refused(GM(2, encode=False), frame, match="'d'")


# ---- sources -------------------------------------------------------------------------------------
@pytest.fixture
def path(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y, w=1.0)
    frame.to_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_a_source_is_fitted_as_its_rows_are(path):
    ours = GM(2, random_state=0).fit(lk.scan(path, features=["a", "b", "c"], weight="w"))
    theirs = GM(2, random_state=0).fit(X)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-9)
    labelled = MDA(2, random_state=0).fit(lk.scan(path, target="y", features=["a", "b", "c"]))
    np.testing.assert_allclose(labelled.means_, MDA(2, random_state=0).fit(X, Y).means_, rtol=1e-9)
    partly = MDA(1, unlabelled=2).fit(lk.scan(path, target="y", features=["a", "b", "c"]))
    assert partly.classes_.tolist() == [0, 1]


def test_a_source_with_a_target_is_refused(path):
    refused(GM(2), lk.scan(path, target="y"), match=r"scan it without, as in scan\(path, features")
    source = lk.scan(path, features=["a", "b", "c"])
    refused(GM(2), source, match="includes weights", sample_weight=np.ones(60))


# ---- labels --------------------------------------------------------------------------------------
def test_rows_without_any_label_are_for_gaussian_mixture():
    for y in ([None] * 60, np.full(60, np.nan), np.full(60, -1)):
        refused(MDA(1, unlabelled=-1), X, y, match="use GaussianMixture")


@pytest.mark.parametrize(
    ("count", "match"),
    [
        ({0: 1, 1: 2}, "nothing for class 2"),
        ({0: 1, 1: 2, 2: 1, 3: 1}, "no class 3"),
        ([1, 2], "lists 2 numbers for 3 classes"),
        (0, r"n_components must be .*; got 0"),
        ("two", r"n_components must be .*; got 'two'"),
    ],
)
def test_numbers_of_components_are_for_the_classes_there_are(count, match):
    refused(MDA(count), X, Y, match=match)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"covariance_type": "round"}, "covariance_type must be one of 'full', .*; got 'round'"),
        ({"families": "round"}, "must be a Family, one of bernoulli.*got 'round'"),
        ({"families": "auto"}, "got 'auto'.*name one family for each column, 'categorical' for codes"),
        ({"priors": [0.5, 0.5]}, "Number of priors"),
        ({"max_iter": -1}, "max_iter"),
    ],
)
def test_hyper_parameters_of_classes_are_checked(how, match):
    refused(MDA(1, **how), X, Y, match=match)


def test_a_class_that_has_rows_has_a_prior():
    refused(MDA(1, priors=[0.5, 0.5, 0]), X, Y, match="that of class 2 is 0, and there are rows of it")


@pytest.mark.parametrize("mixture", [lk.Mixture(2, families=Gamma), MDA(2, families=Gamma)])
def test_a_family_is_an_object(mixture):
    refused(mixture, X, Y, match="must be a Family, one of bernoulli")


@pytest.mark.parametrize("mixture", [GM(2, random_state=0), lk.Mixture(2, random_state=0)])
def test_batches_that_no_component_allows_are_refused(mixture):
    mixture.fit(X)
    before = mixture.score_samples(X)
    with pytest.raises(ValueError, match="squares overflow"):
        mixture.partial_fit(np.full((1, 3), 1e200))
    np.testing.assert_array_equal(mixture.score_samples(X), before)


def test_columns_that_depend_on_each_other_without_reg_covar():
    rng = np.random.default_rng(1)
    for _ in range(20):
        Z = rng.standard_normal((40, 3))
        Z = np.hstack([Z, Z @ rng.standard_normal((3, 2))]) * 10.0 ** rng.integers(-3, 4, 5)
        with pytest.warns(
            lk.DegenerateWarning,
            match=r"covariance of a component is \(nearly\) singular and was held up by reg_covar",
        ):
            assert np.isfinite(GM(2, reg_covar=0, random_state=0).fit(Z).score(Z))
        lk.BayesClassifier(FullGaussian()).fit(Z, np.arange(40) % 2).predict(Z)
    tied = GM(2, covariance_type="tied", reg_covar=0, random_state=0)
    with pytest.warns(lk.DegenerateWarning):
        refused(tied, np.hstack([X, np.ones((60, 1))]), match="ill-defined empirical covariance")


def test_labels_must_be_labels():
    refused(MDA(1), X, Y + 0.5, match="Unknown label type")
    refused(MDA(1), X, Y[:50], match="inconsistent numbers")
    refused(MDA(1), X, None, match="requires y")


# ---- files ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "wrong",
    [
        {"owner": np.array([0, 2, 2])},
        {"owner": np.array([1, 1, 2])},
        {"owner": np.array([0, 1, 0])},
        {"owner": np.array([0, 1])},
        {"owner": np.array([-1, 0, 1])},
        {"log_weight": np.zeros(3)},
        {"log_weight": np.full(3, np.nan)},
    ],
    ids=str,
)
def test_components_in_a_file_belong_to_the_classes_there_are(wrong):
    """Kernels read them by their owners."""
    mixture = MDA([1, 2], random_state=0).fit(X, Y > 0)._model.params
    schema.check(mixture, {"K": 2, "p": 3})
    with pytest.raises(ValueError, match=r"Mixture|Full"):
        schema.check(replace(mixture, **wrong), {"K": 2, "p": 3})


def test_a_file_with_priors_for_other_classes_is_refused():
    model = MDA([1, 2], random_state=0).fit(X, Y > 0)._model
    one = replace(model, params=replace(model.params, owner=np.zeros(3, dtype=np.intp),
                                        log_weight=np.log(np.full(3, 1 / 3))))  # fmt: skip
    with pytest.raises(ValueError, match="contradict"):
        schema.check(one, {"K": 2, "p": 3})
