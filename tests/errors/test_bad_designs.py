"""Tables that cannot become a design matrix, or not the one that was learned: refused by column."""

import numpy as np
import pandas as pd
import pytest

import likelier as lk
from likelier.data import DegenerateWarning

FIT = pd.DataFrame(
    {
        "age": [20.0, 30.0, 40.0],
        "sex": ["m", "f", "m"],
        "code": pd.Categorical([1, 2, 1]),
        "when": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
    }
)
CHANGED = [
    ("age", ["a", "b", "c"], r"categories in column 'age', such as 'a', which held numbers in fit"),
    ("sex", [1, 2, 3], r"numbers in column 'sex', such as 1, .* of another type, such as 'f'"),
    ("code", ["1", "2", "1"], r"'1' in column 'code', whose categories .* of another type, such as 1"),
    ("when", [1.0, 2.0, 3.0], r"numbers in column 'when', which held dates in fit"),
    ("when", ["a", "b", "c"], r"categories in column 'when', such as 'a', which held dates in fit"),
    ("when", FIT["when"].dt.tz_localize("UTC"), r"column 'when' that had a time zone now \(UTC\)"),
    ("age", FIT["when"], r"dates in column 'age', which held numbers in fit"),
]


@pytest.mark.parametrize(("column", "values", "said"), CHANGED)
def test_types_that_changed_since_fit(column, values, said):
    design = lk.DesignMatrix().fit(FIT)
    with pytest.raises(ValueError, match=said):
        design.transform(FIT.assign(**{column: values}))


def test_columns_without_a_value_may_change_their_type():
    design = lk.DesignMatrix(sparse=False).fit(FIT)
    empty = pd.DataFrame({name: [None] for name in FIT})
    Z = design.transform(empty)
    assert Z[0, 0] == 30
    assert np.isfinite(Z).all()


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (pd.DataFrame({"a": ["x", 1, 2.5]}), r"'a' \(object of float and int and str, such as 'x'\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "several columns of one name"),
        (pd.DataFrame({"a": [1.0, np.inf]}), r"row 1, column 0 \('a'\) is inf"),
        (pd.DataFrame({"a": [[1], [2]]}), "'a'"),
        (pd.DataFrame({"a": []}), "Found array with 0 sample"),
    ],
)
def test_tables_that_are_none(X, said):
    with pytest.raises(ValueError, match=said):
        lk.DesignMatrix().fit(X)


def test_infinite_cells_at_prediction():
    design = lk.DesignMatrix().fit(FIT)
    with pytest.raises(ValueError, match=r"row 2, column 0 \('age'\) is inf"):
        design.transform(FIT.assign(age=[1.0, 2.0, np.inf]))


def test_a_column_without_any_value_is_left_out():
    X = FIT.assign(nothing=np.nan, none=None)
    with pytest.warns(DegenerateWarning, match="column 'nothing', 'none' has no value in any row"):
        design = lk.DesignMatrix().fit(X)
    assert not any(name.startswith("no") for name in design.get_feature_names_out())
    design.transform(X.assign(none="text", nothing=5.0))


def test_columns_that_are_absent():
    design = lk.DesignMatrix().fit(FIT)
    with pytest.raises(ValueError, match="now missing:\n- sex"):
        design.transform(FIT.drop(columns="sex"))
    with pytest.raises(ValueError, match="X has 2 features, but DesignMatrix is expecting 4"):
        design.transform([[1, 2]])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"drop": "last"}, "drop must be None or 'first'; got 'last'"),
        ({"min_count": -1}, "min_count must be"),
        ({"standardize": "yes"}, "standardize must be True or False"),
        ({"parts": "moon"}, "parts must be some of year, .*; got 'moon'"),
        ({"parts": {"age of": "year"}}, "parts: no column named 'age of'"),
        ({"missing": "drop"}, "missing must be 'indicator' or 'keep'"),
        ({"sparse": "maybe"}, "sparse must be 'auto', True or False"),
    ],
)
def test_hyper_parameters(how, said):
    with pytest.raises(ValueError, match=said):
        lk.DesignMatrix(**how).fit(FIT)


def test_designs_that_cannot_be_merged():
    one, other = lk.DesignMatrix().fit(FIT), lk.DesignMatrix().fit(FIT.assign(age=["a", "b", "c"]))
    with pytest.raises(ValueError, match="column 'age' differs: number in one table, category"):
        one.merge(other)
    with pytest.raises(ValueError, match="hyper-parameters differ"):
        one.merge(lk.DesignMatrix(drop="first").fit(FIT))


def test_inverse_of_what_is_not_kept():
    X = FIT.assign(sex=["m", "m", "f"])
    design = lk.DesignMatrix(min_count=2, parts="month").fit(X)
    Z = design.transform(X)
    with pytest.raises(ValueError, match="rare levels of column 'sex' are pooled"):
        design.inverse(Z, "sex")
    with pytest.raises(ValueError, match="do not say which date"):
        design.inverse(Z, "when")
    with pytest.raises(ValueError, match="no column named 'size'"):
        design.inverse(Z, "size")


def test_before_fit():
    with pytest.raises(ValueError, match="not fitted yet"):
        lk.DesignMatrix().transform(FIT)
