"""partial_fit: the result is that of one fit to all rows so far, and what does not fit in is refused."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import likelier as lk
from errors.conftest import X, Y, inside

NB, LDA, QDA = lk.GaussianNB, lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
MORE = [
    NB(),
    NB(priors=[0.2, 0.3, 0.5]),
    LDA(),
    LDA(priors=[0.2, 0.3, 0.5], store_covariance=True),
    LDA(solver="lsqr", priors=[0.2, 0.3, 0.5]),
    LDA(solver="eigen", shrinkage=0.1),
    LDA(solver="lsqr", shrinkage="auto"),
    LDA(n_components=1),
    QDA(),
    QDA(reg_param=0.1, store_covariance=True),
    QDA(solver="eigen", shrinkage="auto"),
]
many = pytest.mark.parametrize("model", MORE, ids=str)


def in_batches(model, cuts, order=slice(None), weights=None):
    model = clone(model)
    rows = np.arange(len(X))[order]
    for first, last in pairwise([0, *cuts, len(X)]):
        at = rows[first:last]
        w = None if weights is None else weights[at]
        model.partial_fit(X[at], Y[at], classes=[0, 1, 2], sample_weight=w)
    return model


def same(a, b):
    """Every fitted attribute and answer, to rounding."""
    shown = {name for name in vars(a) if name.endswith("_") and not name.startswith("_")}
    assert shown == {name for name in vars(b) if name.endswith("_") and not name.startswith("_")}
    for name in shown:
        one, other = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        if name == "rotations_":
            one, other = np.abs(one), np.abs(other)
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X), rtol=1e-8, atol=1e-11)


@many
@pytest.mark.parametrize("cuts", [[], [20, 40], [7, 8, 30], [59]], ids=str)
def test_batches_equal_one_fit(model, cuts):
    same(in_batches(model, cuts), clone(model).fit(X, Y))


@many
def test_batches_of_one_row_equal_one_fit(model):
    same(in_batches(model, range(1, 60)), clone(model).fit(X, Y))


@many
def test_batches_of_one_class_equal_one_fit(model):
    same(in_batches(model, [20, 40], order=np.argsort(Y, kind="stable")), clone(model).fit(X, Y))


@many
def test_weighted_batches_equal_one_weighted_fit(model):
    weights = np.random.default_rng(0).integers(0, 4, size=60).astype(float)
    same(in_batches(model, [7, 30], weights=weights), clone(model).fit(X, Y, weights))


@many
def test_batches_go_on_after_fit(model):
    same(clone(model).fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:]), clone(model).fit(X, Y))


@many
def test_fit_forgets_the_batches_before(model):
    same(in_batches(model, [10]).fit(X[:40], Y[:40]), clone(model).fit(X[:40], Y[:40]))


def test_the_first_batch_needs_classes(model):
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, Y)
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize(
    ("classes", "labels", "message"),
    [
        ([0, 1], Y, r"label.*\[2\].*do not exist.*\[0 1\]"),
        ([0, 1, 2], Y + 1, r"label.*\[3\].*do not exist"),
        ([0, 1, 2], Y.astype(str), "label.*'0'.*do not exist"),
        (["0", "1", "2"], Y, "label.*0.*do not exist"),
        ([], Y, "do not exist"),
    ],
    ids=["fewer", "other", "text for numbers", "numbers for text", "none"],
)
def test_an_unknown_label_is_refused(model, classes, labels, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.partial_fit(X, labels, classes=classes)
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize(
    "labels", [np.full(60, 3), np.where(Y == 2, 9, Y), Y.astype(str)], ids=["all", "some", "text"]
)
def test_an_unknown_label_in_a_later_batch_is_refused(model, labels):
    model.partial_fit(X, Y, classes=[0, 1, 2]).predict_log_proba(X)
    held = inside(model)
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        model.partial_fit(X, labels)
    assert inside(model) == held


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([0, 1, np.nan], "NaN"),
        ([0, 1, None], "(?i)NaN|None|mixed"),
        ([[0, 1, 2]], "(?i)1d|one-dim|dimension"),
        ({0, 1, 2}, "(?i)classes|1d"),
    ],
    ids=["NaN", "None", "two dimensions", "set"],
)
def test_classes_that_are_no_list_of_labels_are_refused(model, classes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.partial_fit(X[Y < 2], Y[Y < 2], classes=classes)
    assert set(vars(model)) == set(model.get_params())


def test_classes_may_be_repeated_in_any_order_but_not_changed(model):
    model.partial_fit(X, Y, classes=[2, 0, 1, 1])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    model.partial_fit(X, Y, classes=[1, 0, 2])
    held = inside(model)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, Y, classes=[0, 1])
    assert inside(model) == held


def test_a_later_batch_without_weight_changes_nothing(model):
    model.partial_fit(X, Y, classes=[0, 1, 2])
    before = model.predict_log_proba(X)
    model.partial_fit(X[::-1] + 5, Y, sample_weight=np.zeros(60))
    np.testing.assert_array_equal(model.predict_log_proba(X), before)


def test_a_first_batch_without_weight_is_refused(model):
    with pytest.raises(ValueError, match="all zero"):
        model.partial_fit(X, Y, classes=[0, 1, 2], sample_weight=np.zeros(60))
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize("rows", [1, 30])
def test_a_class_not_seen_yet_has_probability_zero(model, rows):
    seen = np.flatnonzero(Y != 1)[:rows]
    model.partial_fit(X[seen], Y[seen], classes=[0, 1, 2])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    P = model.predict_proba(X)
    np.testing.assert_array_equal(P[:, 1], 0)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert (model.predict_log_proba(X)[:, 1] == -np.inf).all()
    assert not (model.predict(X) == 1).any()
    assert np.isfinite(model.score_samples(X)).all()


def test_what_the_rows_so_far_leave_open_is_warned_of_by_fit_alone(model):
    """More rows may come: a batch says nothing (a warning would be an error here)."""
    few = slice(0, 4)
    model.partial_fit(X[few], Y[few], classes=[0, 1, 2])
    told = model.predict_proba(X)
    with pytest.warns(lk.DegenerateWarning):
        model.fit(X[few], Y[few])
    np.testing.assert_allclose(model.predict_proba(X), told, rtol=1e-10)


@pytest.mark.parametrize("shapeless", [X[:0], X[:, :0]], ids=["no rows", "no columns"])
def test_an_empty_batch_is_refused(model, shapeless):
    model.fit(X, Y).predict_log_proba(X)
    held = inside(model)
    with pytest.raises(ValueError, match=r"0 sample|0 feature|features"):
        model.partial_fit(shapeless, Y[: len(shapeless)])
    assert inside(model) == held


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (LDA(), {"solver": "lsqr", "shrinkage": "auto"}),
        (LDA(), {"solver": "lsqr", "priors": [0.2, 0.3, 0.5]}),
        (LDA(solver="lsqr", shrinkage="auto"), {"shrinkage": 0.1}),
        (QDA(solver="eigen"), {"shrinkage": "auto"}),
        (QDA(solver="eigen", shrinkage="auto"), {"shrinkage": None}),
    ],
    ids=str,
)
def test_parameters_that_need_other_statistics_cannot_be_changed_between_batches(model, change):
    model = clone(model).partial_fit(X, Y, classes=[0, 1, 2])
    held = inside(model.set_params(**change))
    with pytest.raises(ValueError, match=r"(?i)statistics|parameters"):
        model.partial_fit(X, Y)
    assert inside(model) == held


@pytest.mark.parametrize("asked", [lambda m: m.marginal([0, 1, 2]), lambda m: m.condition({0: 1.0})])
def test_a_derived_model_learns_no_more(model, asked):
    derived = asked(model.fit(X, Y))
    with pytest.raises(ValueError, match="partial_fit needs the statistics"):
        derived.partial_fit(X[:, : derived.n_features_in_], Y)
