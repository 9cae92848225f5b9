"""Wrong folds and grids: refused, saying what is wrong, where, and what to do."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

import likelier as lk
from errors.conftest import X, Y, inside
from laws.test_cross_validation import read_oddly

LDA, QDA = lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
ROWS = np.arange(60)


def halves(train, test):
    """Two folds, of which the first is (train, test)."""
    return [(train, test), (ROWS[:30], ROWS[30:])]


BAD_FOLDS = {
    "one": (1, "requires at least one train/test split by setting cv=2 or more, got cv=1"),
    "none": (0, "got cv=0"),
    "negative": (-3, "got cv=-3"),
    "more than rows": (61, "cv=61 greater than the number of samples: 60"),
    "more than the rows of any class": (21, "n_splits=21 cannot be greater than the number of members"),
    "half": (2.5, r"cv must be a number of folds, a splitter, or a list of .*; got 2\.5"),
    "truth": (True, "cv must be a number of folds, .*; got True"),
    "a word": ("5", "cv must be a number of folds, .*; got '5'"),
    "a list of numbers": ([1, 2, 3], "or a list of .train, test."),
    "a list of three": ([(ROWS, ROWS, ROWS)], "or a list of .train, test."),
    "nothing": (None, "cv must be a number of folds, .*; got None"),
    "random test sets": (ShuffleSplit(3, test_size=0.4, random_state=0), "use scikit-learn's GridSearchCV"),
    "the past only": (TimeSeriesSplit(3), "row 30 is neither trained on nor tested in fold 0"),
    "repeated": (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), "tested more than once .fold 3"),
    "groups missing": (GroupKFold(3), "'groups' parameter should not be None"),
    "no split": ([], "cv yields 0 splits: it takes at least 2"),
    "one split": ([(ROWS[:30], ROWS[30:])], "cv yields 1 splits"),
    "overlapping": (halves(ROWS[35:], ROWS[:35]), "row 30 is tested more than once .fold 1"),
    "a row twice": (halves(ROWS[30:], [*ROWS[:30], 7]), "row 7 is tested more than once .fold 0"),
    "a row left out": (halves(ROWS[30:], ROWS[:29]), "row 29 is neither trained on nor tested in fold 0"),
    "trained and tested": (halves(ROWS[25:], ROWS[:30]), "row 25 is trained on in fold 0"),
    "never tested": (
        [(ROWS[10:], ROWS[:10]), (np.setdiff1d(ROWS, ROWS[10:20]), ROWS[10:20])],
        "row 20 is in no test set",
    ),
    "trained on twice": (halves([*ROWS[30:], 40], ROWS[:30]), "row 40 is trained on in fold 0"),
    "outside": (halves(ROWS[30:], ROWS[:30] + 31), "fold 0 of cv names rows outside 0 to 59"),
    "not numbers": (
        halves(ROWS[30:], ROWS[:30] + 0.5),
        "fold 0 of cv: train and test must be lists of row",
    ),
    "a mask too short": (halves(ROWS[30:], np.ones(59, dtype=bool)), "lists of row numbers"),
}


@pytest.mark.parametrize("name", BAD_FOLDS)
def test_bad_folds_are_refused(watched, name):
    model, watch = watched
    cv, message = BAD_FOLDS[name]
    check = watch()
    with pytest.raises(ValueError, match=message):
        model.cross_validate(X, Y, cv=cv)
    check()


BAD_GRIDS = {
    "unknown name": (lk.GaussianNB(), {"smoothing": [1.0]}, "Invalid parameter 'smoothing'"),
    "no points": (lk.GaussianNB(), [], "param_grid has no points"),
    "no values": (lk.GaussianNB(), {"var_smoothing": []}, "non-empty sequence"),
    "a bare value": (lk.GaussianNB(), {"var_smoothing": 1.0}, "needs to be a list or a numpy array"),
    "bad value": (
        lk.GaussianNB(),
        {"var_smoothing": [1e-9, -1.0]},
        "var_smoothing must be a finite number >= 0; got -1.0",
    ),
    "bad shrinkage": (
        LDA(solver="lsqr"),
        {"shrinkage": [2.0]},
        "shrinkage must be a finite number from 0 to 1; got 2.0",
    ),
    "bad solver": (QDA(), {"solver": ["lsqr"]}, "solver must be one of 'svd', 'eigen'; got 'lsqr'"),
    "no statistics": (
        QDA(solver="eigen"),
        {"covariance_estimator": [None, LedoitWolf()]},
        "a covariance_estimator keeps none",
    ),
    "bad alpha": (lk.Ridge(), {"alpha": [1.0, -1.0]}, "alpha must be finite and >= 0; got -1.0"),
}


@pytest.mark.parametrize("name", BAD_GRIDS)
def test_bad_grids_are_refused_as_a_fit_would(name):
    estimator, grid, message = BAD_GRIDS[name]
    model = clone(estimator)
    before = inside(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model.cross_validate(X, Y, param_grid=grid)
    assert inside(model) == before


def test_shrinkage_by_svd_is_refused_as_in_a_fit():
    with pytest.raises(NotImplementedError, match="shrinkage not supported"):
        LDA().cross_validate(X, Y, param_grid={"shrinkage": [0.1]})


@pytest.mark.parametrize(
    ("estimator", "metric"), [(lk.GaussianNB(), "mse"), (lk.Ridge(), "log_loss"), (LDA(), "f1")]
)
def test_a_metric_of_another_kind_is_refused(estimator, metric):
    with pytest.raises(ValueError, match=f"scoring must be one of .*; got '{metric}'"):
        estimator.cross_validate(X, Y, scoring=metric)


def test_a_class_with_fewer_rows_than_folds_is_warned_of_as_in_scikit_learn():
    y = Y.copy()
    y[y == 2] = 0
    y[:3] = 2
    message = "The least populated class in y has only 3 members, which is less than n_splits=5"
    with pytest.warns(UserWarning, match=message):
        ours = lk.GaussianNB().cross_validate(X, y, cv=5)
    with pytest.warns(UserWarning, match=message):
        theirs = lk.GaussianNB().cross_validate(X, y, cv=StratifiedKFold(5))
    assert ours.scores["log_loss"].tolist() == theirs.scores["log_loss"].tolist()


def test_groups_without_a_splitter_are_refused():
    with pytest.raises(ValueError, match="groups are for splitters"):
        lk.GaussianNB().cross_validate(X, Y, cv=3, groups=ROWS // 6)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        lk.GaussianNB().cross_validate(X, Y, cv=GroupKFold(3), groups=ROWS[:9])


def test_a_seed_for_folds_that_are_not_drawn_is_refused():
    with pytest.raises(ValueError, match="give a splitter, such as cv=StratifiedKFold"):
        lk.GaussianNB().cross_validate(X, Y, cv=3, random_state=0)


def test_rows_not_in_memory_take_a_number_of_folds_and_a_whole_seed():
    model = read_oddly(lk.GaussianNB(), 7)
    with pytest.raises(
        ValueError, match=r"cv must be a number of folds for rows that are not in memory; got KFold\("
    ):
        model.cross_validate(X, Y, cv=KFold(3))
    with pytest.raises(ValueError, match="got cv=1"):
        model.cross_validate(X, Y, cv=1)
    with pytest.raises(
        ValueError, match=r"random_state must be an integer from 0 to 9\.22337e\+18; got -1"
    ):
        model.cross_validate(X, Y, cv=3, random_state=-1)
    with pytest.raises(ValueError, match="of 60 has no rows, or none with a weight: use fewer folds"):
        model.cross_validate(X, Y, cv=60)


@pytest.mark.parametrize("estimator", [lk.GaussianNB(), lk.Ridge()], ids=str)
def test_a_fold_or_its_complement_without_weight_is_refused(estimator):
    with pytest.raises(ValueError, match="fold 1 of 3 has no rows, or none with a weight"):
        estimator.cross_validate(X, Y, cv=KFold(3), sample_weight=np.repeat([1.0, 0.0, 1.0], 20))
    with pytest.raises(ValueError, match="there is no row to fit") as refused:
        estimator.cross_validate(X, Y, cv=KFold(3), sample_weight=np.repeat([1.0, 0.0, 0.0], 20))
    assert refused.value.__notes__ == ["while fitting without fold 0 of 3"]


def test_one_class_is_what_it_is_in_a_fit():
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        QDA().cross_validate(X, np.zeros(60, int))
    with pytest.warns(lk.DegenerateWarning, match="all rows are of class 0"):
        found = lk.GaussianNB().cross_validate(X, np.zeros(60, int))
    assert found.mean("log_loss") == found.mean("error") == 0


@pytest.mark.parametrize("estimator", [lk.GaussianNB(), LDA(), lk.LinearRegression()], ids=str)
@pytest.mark.parametrize("cv", [KFold(3), KFold(3, shuffle=True, random_state=0), LeaveOneOut()], ids=str)
def test_a_bad_cell_is_named_by_its_row_and_column(estimator, cv):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[41, "b"] = np.inf
    with pytest.raises(ValueError, match=r"row 41, column 1 \('b'\) is inf"):
        estimator.cross_validate(frame, Y, cv=cv)


def test_a_bad_target_is_named_by_its_row():
    y = Y.astype(float)
    y[41] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN: row 41"):
        lk.Ridge().cross_validate(X, y, cv=KFold(3, shuffle=True, random_state=0))


def test_what_fit_refuses_is_refused():
    with pytest.raises(ValueError, match="X has 60 rows, y has 59"):
        lk.GaussianNB().cross_validate(X, Y[:59])
    with pytest.raises(ValueError, match="requires y to be passed"):
        lk.GaussianNB().cross_validate(X, None)
    with pytest.raises(ValueError, match=r"row 3 has -1\.0"):
        lk.GaussianNB().cross_validate(X, Y, sample_weight=np.where(ROWS == 3, -1.0, 1.0))
