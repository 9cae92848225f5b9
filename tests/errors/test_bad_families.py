"""Families that are not there, and columns that cannot have them: what is wrong, where, and what to do."""

import numpy as np
import pandas as pd
import pytest

import likelier as lk
from likelier.families import DiagonalGaussian

X = pd.DataFrame({"size": [1.0, 2.5, 3.0, 4.0] * 5, "word": ["a", "b", "a", None] * 5})
Y = np.arange(20) % 2

WRONG = {
    "no such family": (
        {"size": "gausian"},
        r"families\['size'\]: the family must be one of .*; got 'gausian'",
    ),
    "no such family for all": ("normal", "the family must be one of .*; got 'normal'"),
    "no families at all": (3, "families must be 'auto', the name of a family, or a dict .*; got 3"),
    "no such column": ({"siez": "gaussian"}, "no column named 'siez'"),
    "several for one": ({"size": "gaussian-full"}, "'gaussian-full' is for several columns"),
    "no columns": ({(): "gaussian-full"}, r"families: \(\) names no column"),
    "a class of families": ({"size": DiagonalGaussian}, "the family must be one of .*; got <class"),
    "two for one column": ({"size": "gaussian", ("size",): "histogram"}, "has two families"),
    "categories as numbers": (
        {"word": "gaussian"},
        "column 'word' holds categories, and cannot be",
    ),
    "categories in a group": (
        {("size", "word"): "gaussian-full"},
        "column 'word' holds categories, and cannot be gaussian-full",
    ),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_wrong_families_are_refused(wrong):
    families, message = WRONG[wrong]
    model = lk.NaiveBayes(families)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", -1.0),
        ("alpha", "x"),
        ("alpha", np.inf),
        ("var_smoothing", -1e-9),
        ("var_smoothing", np.inf),
    ],
)
def test_wrong_smoothing_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a finite number .*; got {value!r}"):
        lk.NaiveBayes(**{name: value}).fit(X, Y)


def test_categories_where_numbers_were_are_refused():
    model = lk.NaiveBayes().fit(X, Y)
    with pytest.raises(ValueError, match="categories in column 'size', such as 'big', which held numbers"):
        model.predict(X.assign(size="big"))


def test_numbers_where_text_was_and_text_where_numbers_were_are_refused():
    """All of them would be unknown categories."""
    model = lk.NaiveBayes().fit(X, Y)
    with pytest.raises(ValueError, match=r"has 1 in column 'word', .* another type, such as 'a'"):
        model.predict(X.assign(word=1))
    assert np.isfinite(model.predict_proba(X.assign(word=np.nan))).all()
    numbers = lk.NaiveBayes("categorical").fit(X[["size"]], Y)
    with pytest.raises(ValueError, match=r"has 'b' in column 'size', .* another type, such as 1\.0"):
        numbers.predict(pd.DataFrame({"size": ["b"]}))
    assert np.isfinite(numbers.predict_proba(pd.DataFrame({"size": [True]}))).all()


@pytest.mark.parametrize(
    "odd", [pd.cut(X["size"], 2), pd.Categorical(["a", 1] * 10)], ids=["ranges", "mixed"]
)
def test_categories_that_are_neither_text_nor_numbers_are_refused(odd):
    with pytest.raises(ValueError, match=r"'odd' \(category of .* such as .* strings, for NaiveBayes"):
        lk.NaiveBayes().fit(X.assign(odd=odd), Y)


def test_a_grid_of_families_is_refused():
    with pytest.raises(ValueError, match="param_grid: families is settled once"):
        lk.NaiveBayes().cross_validate(X, Y, cv=2, param_grid={"families": ["auto", "gaussian"]})


def test_an_unknown_category_is_no_obstacle_and_a_known_one_is_asked_for():
    model = lk.NaiveBayes({"word": "categorical"}).fit(X, Y)
    assert np.isfinite(model.predict_proba(X.assign(word="zebra"))).all()
    assert np.isfinite(model.predict_proba(X.assign(word=np.nan))).all()
    with pytest.raises(ValueError, match="column 'word' has no category 'zebra'; it has 'a', 'b'"):
        model.condition({"word": "zebra"})


def test_models_whose_families_differ_are_not_merged():
    one = lk.NaiveBayes({"size": "gaussian"}).fit(X, Y)
    bins = lk.NaiveBayes("auto").fit(X[["size"]], Y)
    other = lk.NaiveBayes({"size": "gaussian"}).fit(X.assign(word="c"), Y)
    with pytest.raises(ValueError, match=r"families differ.*families=first.families_"):
        one.merge(other)
    with pytest.raises(ValueError, match=r"columns differ|families"):
        one.merge(bins)


def test_dates_and_mixed_objects_are_refused_by_name():
    with pytest.raises(ValueError, match="'day'"):
        lk.NaiveBayes().fit(X.assign(day=pd.Timestamp("2020-01-01")), Y)
    with pytest.raises(ValueError, match="column 0 holds float, str"):
        lk.NaiveBayes().fit(np.array([[1.0], ["a"]] * 10, dtype=object), Y)


def test_infinite_numbers_are_refused_by_name():
    with pytest.raises(ValueError, match=r"infinity.*\('size'\)"):
        lk.NaiveBayes().fit(X.assign(size=np.inf), Y)


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning", "ignore::likelier.SkippedWarning")
def test_one_row_one_class_and_empty_columns_are_fitted():
    lk.NaiveBayes().fit(X[:1], Y[:1]).predict(X)
    lk.NaiveBayes().fit(X, np.zeros(20, int)).predict(X)
    model = lk.NaiveBayes().fit(X.assign(size=np.nan, word=None), Y)
    np.testing.assert_allclose(model.predict_proba(X.assign(size=np.nan, word=None)), 0.5)


def test_a_mark_among_numbers_is_pointed_out():
    X = pd.DataFrame({"size": [*map(str, range(30)), "?", "?"]})
    with pytest.warns(lk.DegenerateWarning, match=r"column 'size' holds text.*numbers except '\?'"):
        lk.NaiveBayes().fit(X, np.arange(32) % 2)
    lk.NaiveBayes().fit(X.replace("?", None), np.arange(32) % 2)  # codes of numbers, and meant so
