"""Formulas that are wrong, or unsafe: each is refused by its fault."""

import numpy as np
import pandas as pd
import pytest

import likelier as lk

DATA = pd.DataFrame(
    {
        "y": [0, 1, 0, 1, 1, 0],
        "fare": [1.0, 2.0, 0.0, 4.0, 5.0, 2.5],
        "age": [30.0, np.nan, 20.0, 41.0, 33.0, 52.0],
        "sex": ["m", "f", "m", "f", "f", "m"],
    }
)

UNSAFE = (
    "y ~ {__import__('os').system('true')}",
    "y ~ sex.upper()",
    "y ~ fare[0]",
    "y ~ {().__class__}",
    "y ~ {[x for x in fare]}",
    "y ~ {(lambda: fare)()}",
    "y ~ open(fare)",
    "y ~ np.load(fare)",
    "y ~ np.lib.format(fare)",
    "y ~ log.__class__(fare)",
    "y ~ eval(fare)",
    "y ~ C(fare, eval('1'))",
    "y ~ C(fare, contr.__class__)",
    "y ~ poly(fare, eval('1'))",
    "y ~ {fare if fare else 1}",
    "{open('x')} ~ fare",
)


@pytest.mark.parametrize("formula", UNSAFE)
def test_only_known_functions_are_evaluated(formula):
    with pytest.raises(ValueError, match=r"not a known function|not allowed|C\(\) takes|plain values"):
        lk.LogisticRegression.from_formula(formula, DATA)


BAD = {
    "y ~ sexx": r"names column 'sexx', which the table does not have. Did you mean 'sex'\?",
    "y ~ {eval}": "names column 'eval'",
    "y ~ lg(fare)": "'lg'.* is not a known function; did you mean 'log'",
    "y ~ log(sex)": "'log.sex.' needs numbers; got categories such as",
    "~ sex": "must be a response and terms",
    "sex": "must be a response and terms",
    "y ~ 1": "has no terms",
    "y + fare ~ sex": "one response",
    "y ~ sex | fare": "one list of terms",
    "y ~ sex +": "is not valid",
    "y ~ log(fare": "is not valid",
    "y ~ log(fare)": r"'log\(fare\)' has no finite value where fare = 0.0, as in row 2. Drop such rows",
    "y ~ C(sex, treatment2)": r"C\(\) takes one of contr.treatment",
    "y ~ log(C(sex))": "must be the whole factor",
    "y ~ bs(fare, df=2)": "Invalid value for `df`",
    "y ~ sex + offset(fare)": "offset",
    "y ~ I(sex < fare)": "compared with one of them",
    "y ~ {1 / 0}": "names no column",
    "y ~ log(fare, base=2)": "lacks an argument, or has others",
    "fare ~ sex": "Unknown label type",
    "log(fare) ~ sex": r"'log\(fare\)' is -inf in row 2",
}


@pytest.mark.parametrize("formula", list(BAD))
def test_a_formula_is_refused_by_its_fault(formula):
    with pytest.raises(ValueError, match=BAD[formula]):
        lk.LogisticRegression.from_formula(formula, DATA)


def test_tables_without_names_or_out_of_memory(tmp_path):
    DATA.to_csv(tmp_path / "t.csv")
    with pytest.raises(TypeError, match="a data frame of pandas, polars or pyarrow"):
        lk.LinearRegression.from_formula("y ~ fare", DATA[["y", "fare"]].to_numpy())
    with pytest.raises(TypeError, match="takes a table in memory"):
        lk.LinearRegression.from_formula("y ~ fare", lk.scan(tmp_path / "t.csv"))
    with pytest.raises(TypeError, match="formula must be a string"):
        lk.LinearRegression.from_formula(3, DATA)
    with pytest.raises(ValueError, match="no row has a value in each of the columns"):
        lk.LinearRegression.from_formula("y ~ fare", DATA[:0])
    with pytest.raises(ValueError, match="the formula says whether there is an intercept"):
        lk.LinearRegression.from_formula("y ~ fare", DATA, fit_intercept=False)
    with pytest.raises(AttributeError, match="formula_"):
        _ = lk.LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0]).formula_


def test_rows_to_predict_that_have_no_value():
    model = lk.Ridge.from_formula("y ~ log(fare + 1) + sex", DATA)
    with pytest.raises(ValueError, match=r"row 1, column 0 \('fare'\) is nan"):
        model.predict(DATA.assign(fare=[1.0, np.nan, 2.0, 3.0, 4.0, 5.0]))
    with pytest.raises(ValueError, match=r"no finite value where fare = -3\.0, as in row 2"):
        model.predict(DATA.assign(fare=[1.0, 2.0, -3.0, 3.0, 4.0, 5.0]))
    with pytest.raises(ValueError, match=r"categories in column 'fare'.*held numbers in fit"):
        model.predict(DATA.assign(fare=list("abcdef")))
    with pytest.raises(ValueError, match=r"numbers in column 'sex'"):
        model.predict(DATA.assign(sex=1.5))
    with pytest.raises(ValueError, match=r"now missing:\n- fare"):
        model.predict(DATA.drop(columns="fare"))
