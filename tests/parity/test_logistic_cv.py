"""LogisticRegressionCV against scikit-learn's."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV as Peer
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk

NEW = {"use_legacy_attributes": False}
# The defaults that scikit-learn has announced, in the place of those that bring a warning.
Ours = partial(lk.LogisticRegressionCV, l1_ratios=(0.0,), scoring="neg_log_loss", **NEW)


@parametrize_with_checks([Ours(Cs=[0.1, 1.0], cv=2, tol=1e-8)])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


def data(load):
    X, y = load(return_X_y=True)
    return scale(X), y


def both(X, y, w=None, **how):
    l1 = any(how.get("l1_ratios", (0.0,)))
    tight = {"tol": 1e-8, "max_iter": 200_000, "solver": "saga" if l1 else "lbfgs"}
    peer = Peer(**tight, **{"l1_ratios": (0.0,), **NEW, **how})
    return Ours(tol=1e-8, **how).fit(X, y, sample_weight=w), peer.fit(X, y, sample_weight=w)


def gauged(model, name):
    """An attribute, intercepts of K classes about 0: one number more in all of them says nothing."""
    values = np.array(getattr(model, name))
    if len(model.classes_) > 2 and model.fit_intercept:
        if name == "intercept_":
            values -= values.mean()
        if name == "coefs_paths_":
            values[..., -1] -= values[..., -1].mean(axis=-1, keepdims=True)
    return values


def assert_same(ours, peer, atol=1e-4):
    assert ours.C_ == peer.C_
    assert ours.l1_ratio_ == peer.l1_ratio_
    for name in ("Cs_", "l1_ratios_", "scores_", "coefs_paths_", "coef_", "intercept_"):
        mine, theirs = gauged(ours, name), gauged(peer, name)
        assert mine.shape == theirs.shape, name
        np.testing.assert_allclose(mine, theirs, atol=atol, err_msg=name)
    assert ours.n_iter_.shape == peer.n_iter_.shape


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy", "neg_brier_score"])
def test_the_choice_is_scikit_learns(load, scoring):
    X, y = data(load)
    ours, peer = both(X, y, Cs=[0.01, 0.1, 1.0], scoring=scoring)
    assert_same(ours, peer)
    assert ours.score(X, y) == pytest.approx(peer.score(X, y), abs=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_the_choice_among_l1_ratios_is_scikit_learns(load):
    X, y = data(load)
    ours, peer = both(X[::2], y[::2], Cs=[0.3, 0.1], l1_ratios=[0.2, 0.8], cv=3, scoring="neg_log_loss")
    assert_same(ours, peer, atol=1e-3)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_without_refit_it_is_the_mean_of_the_folds(load):
    X, y = data(load)
    ours, peer = both(X, y, Cs=[0.01, 0.1, 1.0], cv=3, refit=False, scoring="neg_log_loss")
    assert_same(ours, peer)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 1.0, 2: 0.5}])
def test_weights(class_weight):
    X, y = data(load_iris)
    w = np.random.default_rng(0).uniform(0.2, 2, len(y))
    how = {"Cs": [0.1, 1.0], "cv": 3, "class_weight": class_weight, "scoring": "neg_log_loss"}
    assert_same(*both(X, y, w, **how))
    assert_same(*both(X, y, w, **how, fit_intercept=False))


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("ratios", [None, (0.0,)])
@pytest.mark.filterwarnings("ignore:'l1_ratios=None':FutureWarning")
def test_the_attributes_of_scikit_learn_1_9(load, ratios):
    X, y = data(load)
    how = {"Cs": [0.1, 1.0], "cv": 3, "l1_ratios": ratios, "use_legacy_attributes": True}
    ours = Ours(tol=1e-8, **how, scoring=None).fit(X, y)
    peer = Peer(tol=1e-8, max_iter=10_000, **how, scoring=None).fit(X, y)
    for name in ("C_", "l1_ratio_", "l1_ratios_", "n_iter_"):
        mine, theirs = getattr(ours, name), getattr(peer, name)
        assert mine.shape == theirs.shape, name
        if name != "n_iter_":
            np.testing.assert_array_equal(mine, theirs)
    for name in ("scores_", "coefs_paths_"):
        mine, theirs = getattr(ours, name), getattr(peer, name)
        assert list(mine) == list(theirs)
        for label in mine:
            np.testing.assert_allclose(mine[label], theirs[label], atol=1e-4)


def test_under_the_announced_defaults():
    X, y = data(load_iris)
    ours = Ours().fit(X, y)
    peer = Peer(tol=1e-8, max_iter=10_000, scoring="neg_log_loss", l1_ratios=(0.0,), **NEW).fit(X, y)
    assert ours.C_ == peer.C_
    np.testing.assert_array_equal(ours.Cs_, peer.Cs_)
    assert ours.scores_.shape == (5, 1, 10)
    np.testing.assert_allclose(ours.scores_, peer.scores_, atol=1e-3)


def test_the_order_of_cs_is_kept():
    X, y = data(load_wine)
    a = Ours(Cs=[0.1, 10.0, 0.01], cv=3).fit(X, y)
    b = Ours(Cs=[0.01, 0.1, 10.0], cv=3).fit(X, y)
    np.testing.assert_allclose(a.scores_[:, :, [2, 0, 1]], b.scores_, rtol=1e-6)
    assert a.C_ == b.C_


SPLITTERS = [StratifiedKFold(3, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0)]


@pytest.mark.parametrize("cv", SPLITTERS)
def test_any_splitter(cv):
    X, y = data(load_iris)
    assert_same(*both(X, y, Cs=[0.1, 1.0], cv=cv, scoring="neg_log_loss"))


def test_groups_stay_together():
    X, y = data(load_iris)
    groups = np.arange(len(y)) % 7
    folds = list(GroupKFold(3).split(X, y, groups))
    a = Ours(Cs=[0.1, 1.0], cv=GroupKFold(3)).fit(X, y, groups=groups)
    b = Ours(Cs=[0.1, 1.0], cv=folds).fit(X, y)
    np.testing.assert_array_equal(a.scores_, b.scores_)


def test_a_scorer_of_ones_own():
    X, y = load_iris(return_X_y=True, as_frame=True)
    seen = []

    def scorer(model, rows, labels):
        seen.append((type(rows), list(model.classes_)))
        return float(model.score(rows, labels))

    Ours(Cs=[1.0], cv=2, scoring=scorer).fit(X, y)
    assert seen == [(np.ndarray, [0, 1, 2])] * 2
    recall = make_scorer(recall_score, average="macro")
    assert Ours(Cs=[1.0], cv=2, scoring=recall).fit(X, y).scores_.shape == (2, 1, 1)


KINDS = [csr_matrix, np.asfortranarray, pd.DataFrame, np.float32]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_any_kind(kind):
    X, y = data(load_breast_cancer)
    ours, same = (Ours(Cs=[0.01, 0.1], cv=3).fit(rows, y) for rows in (kind(X), X))
    np.testing.assert_allclose(ours.coef_, same.coef_, atol=1e-4)
    assert ours.C_ == same.C_
    assert ours.coef_.dtype == np.float64  # so in scikit-learn


def test_any_number_of_threads_gives_the_same():
    X, y = data(load_wine)
    a = Ours(Cs=4, n_jobs=1).fit(X, y)
    b = Ours(Cs=4, n_jobs=4).fit(X, y)
    np.testing.assert_array_equal(a.coefs_paths_, b.coefs_paths_)
    np.testing.assert_array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"Cs": 0}, "Cs must be an integer >= 1; got 0"),
        ({"Cs": [1.0, -1.0]}, "Cs must be a number > 0 .*; got -1.0"),
        ({"Cs": []}, "Cs is empty"),
        ({"l1_ratios": [0.5, 2]}, "l1_ratios must be a finite number from 0 to 1; got 2"),
        ({"l1_ratios": []}, "l1_ratios is empty"),
        ({"l1_ratios": 0.5}, "l1_ratios must be a list of numbers; got 0.5"),
        ({"l1_ratios": "some"}, "l1_ratios must be a list of numbers; got 'some'"),
        ({"scoring": "nonsense"}, "nonsense"),
        ({"scoring": 3}, "scoring must be None, the name of a scorer .*; got 3"),
        ({"refit": "yes"}, "refit must be True or False; got 'yes'"),
        ({"cv": 1}, "k-fold cross-validation requires at least one"),
        ({"cv": 100}, "cannot be greater than the number of members"),
        ({"class_weight": {"a": 1}}, "not in class_weight"),
        ({"tol": -1}, r"tol must be .*; got -1"),
        ({"solver": "magic"}, r"solver must be .*; got 'magic'"),
        ({"solver": "newton", "l1_ratios": [0.0, 0.5]}, "the penalty has an l1 part"),
    ],
)
def test_wrong_parameters_are_refused(how, message):
    X, y = data(load_iris)
    model = Ours(**how)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_wrong_rows_are_refused():
    X, y = data(load_iris)
    with pytest.raises(ValueError, match="only one class"):
        Ours().fit(X[:50], y[:50])
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        Ours().fit(X, y)


def test_a_fold_without_weight_is_refused():
    X, y = data(load_iris)
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    with pytest.raises(ValueError, match="weights are all zero"):
        Ours(cv=folds).fit(X, y, sample_weight=np.arange(150) % 2)


def test_a_limit_too_low_is_warned_of_once_for_all_folds():
    X, y = data(load_iris)
    with pytest.warns(ConvergenceWarning) as caught:
        Ours(Cs=[1.0, 100.0], cv=3, max_iter=1, tol=1e-10).fit(X, y)
    assert len(caught) == 2
    assert "6 of 6 fits on folds did not converge" in str(caught[0].message)


def test_it_can_be_cloned_and_knows_its_classes_by_name():
    X, y = data(load_iris)
    names = np.array(["a", "b", "c"])[y]
    model = clone(Ours(Cs=3, cv=3)).fit(X, names)
    assert set(model.predict(X)) == {"a", "b", "c"}
    assert model.score(X, names) == pytest.approx(-0.05, abs=0.1)


def test_a_file_is_read_as_the_rows_that_it_has(tmp_path):
    X, y = data(load_iris)
    w = np.arange(len(y)) % 3 + 1.0
    table = pd.DataFrame(X, columns=list("abcd"))
    table.assign(y=np.array(["s", "c", "v"])[y], w=w).to_csv(tmp_path / "rows.csv", index=False)
    source = lk.scan(tmp_path / "rows.csv", target="y", weight="w")
    model = Ours(Cs=3, cv=3).fit(source)
    other = Ours(Cs=3, cv=3).fit(table, np.array(["s", "c", "v"])[y], sample_weight=w)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.scores_, other.scores_, rtol=1e-9)
    assert list(model.feature_names_in_) == list("abcd")
    assert model.score(source) == pytest.approx(other.score(table, np.array(["s", "c", "v"])[y], w))
