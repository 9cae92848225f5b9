"""Formulas: the columns of formulaic, cell for cell, and models that are those of the matrix they make."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from formulaic import model_matrix

import likelier as lk
from likelier.data import SkippedWarning
from likelier.estimators.tables import known_columns


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "label": rng.choice(["no", "yes"], n),
            "sex": rng.choice(["m", "f"], n),
            "town": rng.choice(list("abc"), n),
            "rooms": rng.integers(1, 4, n),
            "fare": rng.gamma(2, size=n),
            "owner": rng.random(n) > 0.5,
            "size": pd.Categorical(rng.choice(["S", "L"], n), ["S", "L"]),
            "grade": pd.Categorical(rng.choice(["low", "high"], n), ["low", "high"], ordered=True),
        }
    )
    data["a b"] = rng.normal(size=n)
    return data


def columns(model, data):
    return model._design.rows(known_columns(model, model._design, data)).to_array()


FORMULAS = (
    "y ~ sex * rooms + log(fare + 1)",
    "y ~ sex:town + owner",
    "y ~ 0 + sex:rooms + np.log(fare) + owner + I(fare > 3) + C(rooms):fare",
    "y ~ poly(fare, 3) + bs(fare, df=5) + center(rooms) + scale(fare)",
    "y ~ town * size * owner",
    "y ~ (sex + town + owner)**2 - sex:owner",
    "y ~ C(town, contr.sum) * C(sex, contr.treatment('m'))",
    "y ~ `a b` + town:fare - 1",
    "y ~ bs(fare, df=5, include_intercept=True) + sex",
    "y ~ cr(fare, df=4):sex",
    "y ~ {fare**2 + rooms} + 3:fare",
    "y ~ C(town, contr.helmert) + C(rooms, contr.poly) + C(sex, Treatment(reference='m'))",
    "y ~ . - y - label",
    "y ~ sex - 1",
    "y ~ town:sex - 1 + rooms:owner + standardize(fare)",
    "y ~ C(town, contr.diff):rooms + grade",
    "y ~ town / fare + rooms %in% sex",
)


@pytest.mark.parametrize("formula", FORMULAS)
def test_columns_and_their_names_are_those_of_formulaic(formula):
    data = table()
    theirs = model_matrix(formula, data).rhs
    names = [name for name in theirs.columns if name != "Intercept"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that depend on each other
        model = lk.LinearRegression.from_formula(formula, data)
    assert list(model._design.names) == names
    assert np.array_equal(columns(model, data), theirs[names].to_numpy(float))
    assert model.fit_intercept == ("Intercept" in theirs.columns)
    # What functions have learned is that of the fit, whatever rows are predicted.
    assert np.allclose(model.predict(data[:5]), model.predict(data)[:5], rtol=1e-12)
    terms = model._design.by_name
    assert sorted(j for some in terms.values() for j in some) == list(range(len(names)))


@pytest.mark.parametrize("formula", FORMULAS[:8])
def test_models_are_those_of_the_matrix(formula):
    data = table()
    ours = lk.Ridge.from_formula(formula, data, alpha=2.0)
    theirs = lk.Ridge(alpha=2.0, fit_intercept=ours.fit_intercept).fit(columns(ours, data), data["y"])
    assert np.array_equal(ours.coef_, theirs.coef_)
    assert ours.formula_ == formula


def test_estimates_and_errors_are_those_of_statsmodels():
    smf = pytest.importorskip("statsmodels.formula.api")
    data = table(400)
    data["won"] = (data["label"] == "yes").astype(int)
    terms = "sex * rooms + np.log(fare + 1) + town"
    theirs = smf.logit(f"won ~ {terms}", data).fit(disp=0, tol=1e-12)
    model = lk.LogisticRegression.from_formula(f"label ~ {terms}", data, C=np.inf, tol=1e-10)
    ours = model.summary()
    names = [name.replace("intercept", "Intercept") for name in ours.names]
    assert np.allclose(ours.estimates, theirs.params[names], rtol=1e-7)
    assert np.allclose(ours.errors, theirs.bse[names], rtol=1e-7)
    tests = model.term_tests(data, data["label"])
    assert tests.names == ("sex", "rooms", "np.log(fare + 1)", "town", "sex:rooms")
    theirs = smf.ols("np.log(fare) ~ sex * town", data).fit()
    ours = lk.LinearRegression.from_formula("log(fare) ~ sex * town", data).summary(cov="classical")
    names = [name.replace("intercept", "Intercept") for name in ours.names]
    assert np.allclose(ours.estimates, theirs.params[names], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("formula", FORMULAS[:8])
def test_a_saved_model_predicts_the_same(formula, tmp_path):
    data = table()
    model = lk.LogisticRegression.from_formula(formula.replace("y ~", "label ~"), data)
    lk.save(model, tmp_path / "m.lk")
    again = lk.load(tmp_path / "m.lk")
    assert np.array_equal(again.predict_proba(data), model.predict_proba(data))
    assert again.formula_ == model.formula_
    assert again.summary().names == model.summary().names


def test_any_library_of_frames_and_any_order_of_columns():
    data = table().drop(columns=["size", "grade"])
    model = lk.LogisticRegression.from_formula("label ~ sex * rooms + log(fare + 1) + owner", data)
    expected = model.predict_proba(data)
    for other in (pl.from_pandas(data), pa.Table.from_pandas(data), data[data.columns[::-1]]):
        assert np.array_equal(model.predict_proba(other), expected)
        again = lk.LogisticRegression.from_formula(model.formula_, other)
        assert np.allclose(again.coef_, model.coef_, rtol=1e-12)
    assert list(model.feature_names_in_) == ["sex", "rooms", "fare", "owner"]


def test_files_and_dask_are_predicted_in_parts(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    data = table().drop(columns=["size", "grade"])
    data.to_csv(tmp_path / "t.csv", index=False)
    data.to_parquet(tmp_path / "t.parquet")
    model = lk.LogisticRegression.from_formula("label ~ C(owner) * rooms + poly(fare, 2) + town", data)
    expected = model.predict_proba(data)
    assert np.allclose(model.predict_proba(lk.scan(tmp_path / "t.parquet")), expected, rtol=1e-12)
    assert np.allclose(model.predict_proba(lk.scan(tmp_path / "t.csv")), expected, rtol=1e-9)
    parts = dd.from_pandas(data, npartitions=3)
    assert np.allclose(np.asarray(model.predict_proba(parts)), expected, rtol=1e-12)


def test_rows_that_lack_a_value_are_left_out_and_said():
    data = table()
    gaps = data.copy()
    gaps.loc[3, "fare"], gaps.loc[[5, 9], "sex"], gaps.loc[11, "y"] = np.nan, None, np.nan
    gaps.loc[20, "a b"] = np.nan  # which the formula does not need
    rest = data.drop(index=[3, 5, 9, 11])
    w = np.arange(1.0, len(data) + 1)
    with pytest.warns(SkippedWarning, match=r"4 of 120 rows have no value in column 'sex', 'fare', 'y'"):
        model = lk.LinearRegression.from_formula("y ~ sex + fare", gaps, sample_weight=w)
    theirs = lk.LinearRegression.from_formula("y ~ sex + fare", rest, sample_weight=w[rest.index])
    assert np.array_equal(model.coef_, theirs.coef_)


def test_sparse_columns_are_the_dense_ones():
    data = table(300)
    data["street"] = [f"s{i}" for i in np.random.default_rng(1).integers(0, 80, len(data))]
    model = lk.Ridge.from_formula("y ~ street + fare + street:sex", data)
    design = model._design
    assert design.sparse
    held = known_columns(model, design, data)
    assert np.array_equal(design.rows(held).to_array(), design.rows(held, sparse=False).to_array())


def test_unseen_levels_are_said_once():
    data = table()
    model = lk.Ridge.from_formula("y ~ town + fare", data)
    other = data.assign(town="elsewhere")
    with pytest.warns(SkippedWarning, match="'town'.*'elsewhere'"):
        found = model.predict(other)
    assert np.array_equal(found, model.predict(other))  # warnings are errors
    assert np.allclose(found, model.predict(data.assign(town="a")))  # all of its indicators are 0


def test_models_of_one_formula_and_the_same_levels_are_merged():
    data = table()
    halves = [lk.LinearRegression.from_formula("y ~ sex * town + fare", data[i::2]) for i in (0, 1)]
    merged = halves[0].merge(halves[1])
    whole = lk.LinearRegression.from_formula("y ~ sex * town + fare", data)
    assert np.allclose(merged.coef_, whole.coef_)
    other = lk.LinearRegression.from_formula("y ~ sex * town + rooms", data)
    with pytest.raises(ValueError, match="columns differ"):
        halves[0].merge(other)
    scaled = [lk.LinearRegression.from_formula("y ~ scale(fare)", data[i::2]) for i in (0, 1)]
    with pytest.raises(ValueError, match="learned something else"):
        scaled[0].merge(scaled[1])


def test_rows_are_added_by_partial_fit():
    data = table()
    model = lk.LinearRegression.from_formula("y ~ sex * town + fare", data[:60])
    model.partial_fit(data[60:], data["y"][60:])
    whole = lk.LinearRegression.from_formula("y ~ sex * town + fare", data)
    assert np.allclose(model.coef_, whole.coef_)
