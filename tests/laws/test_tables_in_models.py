"""Linear and Gaussian models take tables of numbers, categories, dates and missing values directly."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import likelier as lk
from likelier.data import DegenerateWarning, NonFinite, SkippedWarning

RNG = np.random.default_rng(0)
N = 240
LINEAR = {
    "LogisticRegression": lk.LogisticRegression(max_iter=500),
    "LogisticRegressionCV": lk.LogisticRegressionCV(
        Cs=[1.0], cv=2, l1_ratios=(0.0,), max_iter=500, scoring="accuracy", use_legacy_attributes=False
    ),
    "LinearSVC": lk.LinearSVC(max_iter=5000),
    "SGDClassifier": lk.SGDClassifier(random_state=0, max_iter=20, tol=None),
    "Perceptron": lk.Perceptron(random_state=0, max_iter=20, tol=None),
    "LinearRegression": lk.LinearRegression(),
    "Ridge": lk.Ridge(),
}
GAUSSIAN = {
    "LDA": lk.LinearDiscriminantAnalysis(),
    "QDA": lk.QuadraticDiscriminantAnalysis(),
    "MDA": lk.MixtureDiscriminantAnalysis(1, random_state=0),
    "GaussianMixture": lk.GaussianMixture(2, random_state=0),
}
MODELS = LINEAR | GAUSSIAN
SUPERVISED = [name for name in MODELS if name != "GaussianMixture"]


@pytest.fixture
def table():
    """A table with one column of each kind, and its labels."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, N)
    df = pd.DataFrame(
        {
            "size": rng.normal(y, 1.0),
            "colour": rng.choice(["red", "green", "blue"], N),
            "new": rng.random(N) < 0.3 + 0.4 * y,
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, N), "D"),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], N), ["low", "mid", "high"], ordered=True
            ),
        }
    )
    return df, y


def fitted(name, X, y, **settings):
    model = clone(MODELS[name]).set_params(**settings)
    return model.fit(X) if name == "GaussianMixture" else model.fit(X, y)


def learned(model):
    return np.asarray(getattr(model, "coef_", getattr(model, "means_", None)))


@pytest.mark.parametrize("name", MODELS)
def test_a_table_is_fitted_as_its_design_matrix(name, table):
    X, y = table
    model = fitted(name, X, y)
    how = {"drop": "first", "missing": "keep"} if name in GAUSSIAN else {}
    how |= {"standardize": True} if name in ("SGDClassifier", "Perceptron") else {}
    how |= {"drop": "first"} if name == "LinearRegression" else {}
    design = lk.DesignMatrix(sparse=False, **how).fit(X)
    Z = design.transform(X)
    there = fitted(name, Z, y)
    np.testing.assert_allclose(learned(model), learned(there), rtol=1e-6, atol=1e-8)
    assert np.array_equal(model.predict(X), there.predict(Z)) or name in ("LinearRegression", "Ridge")
    assert model.design_.get_feature_names_out().tolist() == design.get_feature_names_out().tolist()
    assert model.n_features_in_ == 5
    assert model.feature_names_in_.tolist() == list(X.columns)


@pytest.mark.parametrize("name", MODELS)
def test_columns_come_in_any_order_and_from_any_library(name, table):
    X, y = table
    model = fitted(name, X, y)
    answer = model.predict(X)
    others = pl.from_pandas(X)[:, ::-1], pa.Table.from_pandas(X.assign(more=1.0))
    for other in others:
        assert np.array_equal(model.predict(other), answer)


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_knows_its_design(name, table, tmp_path):
    X, y = table
    model = fitted(name, X, y)
    lk.save(model, tmp_path / "m.lk")
    for again in (lk.load(tmp_path / "m.lk"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict(X), model.predict(X))
        names = again.design_.get_feature_names_out()
        assert names.tolist() == model.design_.get_feature_names_out().tolist()
    lk.save(again, tmp_path / "again.lk")


@pytest.mark.parametrize("name", SUPERVISED)
def test_a_file_is_fitted_as_the_frame_that_it_holds(name, table, tmp_path):
    X, y = table
    X = X.drop(columns="grade").assign(y=y)  # files of text know no order
    X.to_parquet(tmp_path / "t.parquet")
    source = lk.scan(tmp_path / "t.parquet", target="y")
    model, there = fitted(name, source, None), fitted(name, X.drop(columns="y"), y)
    if name not in ("SGDClassifier", "Perceptron"):  # which read files in another order
        np.testing.assert_allclose(learned(model), learned(there), rtol=1e-6, atol=1e-8)
        assert np.array_equal(model.predict(source), there.predict(X))
    assert len(model.predict(source)) == N


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("kind", ["frame", "file", "dask"])
def test_a_missing_number_is_its_mean_and_an_indicator(name, kind, tmp_path):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    y = (X.a + rng.normal(size=N) > 0).astype(int)
    X.loc[150::7, "b"] = np.nan
    given = {"X": X, "y": y}
    if kind == "file":
        X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
        given = {"X": lk.scan(tmp_path / "t.csv", target="y")}
    elif kind == "dask":
        dd = pytest.importorskip("dask.dataframe")
        given = {"X": dd.from_pandas(X, npartitions=2), "y": dd.from_pandas(y, npartitions=2)}
    model = clone(LINEAR[name]).fit(**given)
    assert model.design_.get_feature_names_out().tolist() == ["a", "b", "b is missing"]
    assert model.design_.means_["b"] == pytest.approx(X.b.mean())
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("name", GAUSSIAN)
def test_generative_models_integrate_missing_numbers_out(name, table):
    X, y = table
    X.loc[::9, "size"] = np.nan
    model = fitted(name, X, y)
    assert "size is missing" not in model.design_.get_feature_names_out()
    assert len(model.predict(X)) == N


@pytest.mark.parametrize("name", MODELS)
def test_arrays_and_frames_of_numbers_are_as_before(name):
    X, y = RNG.normal(size=(N, 3)), RNG.integers(0, 2, N)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    plain, named = fitted(name, X, y, encode=False), fitted(name, frame, y)
    assert np.array_equal(learned(plain), learned(fitted(name, X, y)))
    assert np.array_equal(learned(plain), learned(named))
    assert not hasattr(named, "design_")
    assert not hasattr(plain, "design_")


@pytest.mark.parametrize("name", MODELS)
def test_a_table_is_refused_where_it_is_not_to_be_encoded(name, table):
    with pytest.raises(ValueError, match="colour"):
        fitted(name, *table, encode=False)
    with pytest.raises(ValueError, match="encode must be True or False; got 'yes'"):
        fitted(name, *table, encode="yes")


@pytest.mark.parametrize("name", LINEAR)
def test_missing_cells_of_arrays_are_refused_as_in_scikit_learn(name):
    X, y = RNG.normal(size=(N, 2)), RNG.integers(0, 2, N)
    X[5, 1] = np.nan
    with pytest.raises(NonFinite, match="row 5, column 1"):
        fitted(name, X, y)
    with pytest.raises(NonFinite, match=r"column 1 \('b'\)"):
        fitted(name, pd.DataFrame(X, columns=["a", "b"]), y, encode=False)


def test_new_fits_forget_the_design(table):
    X, y = table
    model = lk.LogisticRegression(max_iter=500).fit(X, y)
    model.fit(X[["size"]], y)
    assert not hasattr(model, "design_")
    assert model.n_features_in_ == 1
    assert not hasattr(clone(fitted("LDA", X, y)), "design_")


@pytest.mark.parametrize("name", ["LogisticRegression", "SGDClassifier", "LinearRegression", "LDA", "QDA"])
def test_partial_fit_keeps_the_first_design(name, table):
    X, y = table
    X["colour"] = np.where(np.arange(N) < 20, "red", X["colour"])
    model, given = clone(MODELS[name]), {} if name == "LinearRegression" else {"classes": [0, 1]}
    model.partial_fit(X[:100], y[:100], **given)
    before = model.design_.get_feature_names_out().tolist()
    later = X[100:].assign(colour=X.colour[100:].replace("blue", "mauve"))
    with pytest.warns(SkippedWarning, match="'colour' \\(such as 'mauve'\\)"):
        model.partial_fit(later, y[100:])
    assert model.design_.get_feature_names_out().tolist() == before


def test_one_pass_models_continue_as_one_fit(table):
    X, y = table
    X = X.drop(columns="colour").assign(colour=np.tile(["red", "green", "blue"], N // 3))
    whole = lk.LinearDiscriminantAnalysis().fit(X, y)
    parts = lk.LinearDiscriminantAnalysis().partial_fit(X[:90], y[:90], classes=[0, 1])
    parts.partial_fit(X[90:], y[90:])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8)
    halves = [lk.LinearDiscriminantAnalysis().fit(X[i::2], y[i::2]) for i in (0, 1)]
    merged = lk.merge(halves)
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-8)
    assert np.array_equal(merged.predict(X), whole.predict(X))


def test_models_of_other_levels_are_not_merged(table):
    X, y = table
    one = lk.LinearDiscriminantAnalysis().fit(X, y)
    other = lk.LinearDiscriminantAnalysis().fit(X[X.colour != "red"], y[X.colour != "red"])
    with pytest.raises(ValueError, match="column 'colour' had other levels"):
        lk.merge([one, other])
    numbers = lk.LinearDiscriminantAnalysis().fit(X.apply(lambda cells: RNG.normal(size=N)), y)
    with pytest.raises(ValueError, match="design matri"):
        lk.merge([one, numbers])


def test_names_reach_the_summary_and_contributions(table):
    X, y = table
    model = lk.LogisticRegression(C=np.inf, max_iter=500).fit(X[["size", "colour"]], y)
    assert model.summary().names == ("intercept", "size", "colour=green", "colour=red")
    again = model.summary(X[["size", "colour"]], y, cov="HC0")
    assert again.names == model.summary().names
    parts = model.contributions(X)
    assert parts.names == ["size", "colour=green", "colour=red"]
    scores = parts.base + parts.values.sum(axis=2)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], model.decision_function(X))
    line = lk.LinearRegression().fit(X[["size", "colour"]], y)
    assert line.summary().names == ("intercept", "size", "colour=green", "colour=red")
    assert "colour=green" in model._repr_html_()


def test_pipelines_searches_and_cross_validation_learn_the_design_in_each_fit(table):
    X, y = table
    scores = cross_val_score(lk.LogisticRegression(max_iter=500), X, y, cv=3)
    assert scores.mean() > 0.6
    search = GridSearchCV(lk.LogisticRegression(max_iter=500), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.design_.n_features_in_ == 5
    piped = make_pipeline(lk.DesignMatrix(standardize=True), lk.LogisticRegression()).fit(X, y)
    assert piped.score(X, y) > 0.6
    assert lk.LinearDiscriminantAnalysis().cross_validate(X, y, cv=3).best_score_ < 0.7


def test_weights_are_rows_repeated(table):
    X, y = table
    w = np.arange(N) % 3
    X.loc[::5, "size"] = np.nan
    model = lk.LogisticRegression(max_iter=500, tol=1e-9).fit(X, y, sample_weight=w)
    twice = X.loc[np.repeat(X.index, w)].reset_index(drop=True)
    there = lk.LogisticRegression(max_iter=500, tol=1e-9).fit(twice, np.repeat(y, w))
    np.testing.assert_allclose(model.coef_, there.coef_, rtol=1e-5, atol=1e-7)


def test_an_unseen_level_is_said_once_and_is_all_zeros(table):
    X, y = table
    model = lk.LogisticRegression(max_iter=500).fit(X, y)
    other = X.assign(colour="mauve")
    with pytest.warns(SkippedWarning, match="mauve"):
        scores = model.decision_function(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.decision_function(other), scores)


def test_an_absent_column_of_a_file_is_integrated_out(table, tmp_path):
    X, y = table
    X = X.drop(columns="grade")
    model = lk.LinearDiscriminantAnalysis().fit(X, y)
    X.drop(columns=["colour", "size"]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(SkippedWarning, match="no column named '(size|colour)'"):
        found = model.predict_proba(lk.scan(tmp_path / "t.csv"))
    Z = model.design_.transform(X)
    names = model.design_.get_feature_names_out()
    Z[:, [name == "size" or name.startswith("colour") for name in names]] = np.nan
    plain = lk.LinearDiscriminantAnalysis().fit(model.design_.transform(X), y)
    np.testing.assert_allclose(found, plain.predict_proba(Z), rtol=1e-8)
    with pytest.raises(ValueError, match="size"):
        lk.LogisticRegression(max_iter=500).fit(X, y).predict(lk.scan(tmp_path / "t.csv"))


# ---- bad input -------------------------------------------------------------------------------------
CHANGED = {
    "a number for a category": ({"colour": 1.5}, "numbers in column 'colour'"),
    "a category for a number": ({"size": "big"}, "'size'"),
    "a number for a date": ({"when": 3.5}, "numbers in column 'when'"),
    "a zone for none": ({"when": pd.Timestamp("2024-01-01", tz="UTC")}, "time zone"),
    "infinity": ({"size": np.inf}, "'size'"),
}


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("name", ["LogisticRegression", "LDA", "Ridge"])
def test_a_column_that_changed_is_named(name, change, table):
    X, y = table
    cells, says = CHANGED[change]
    with pytest.raises(ValueError, match=says):
        fitted(name, X, y).predict(X.assign(**cells))


def test_a_column_that_is_not_there_is_named(table):
    X, y = table
    with pytest.raises(ValueError, match="now missing:\n- colour"):
        fitted("LogisticRegression", X, y).predict(X.drop(columns="colour"))


def test_a_bad_cell_of_a_file_is_named_with_its_line(table, tmp_path):
    X, y = table
    model = lk.LogisticRegression(max_iter=500).fit(X[["size", "colour"]], y)
    (tmp_path / "t.csv").write_text("size,colour\n1.5,red\ntwelve,blue\n")
    with pytest.raises(ValueError, match=r"line 3, column 'size': 'twelve'"):
        model.predict(lk.scan(tmp_path / "t.csv"))


def test_very_many_levels(table):
    X, y = table
    n = 100_000
    wide = pd.DataFrame({"id": np.char.add("u", np.arange(n).astype(str)), "x": np.tile(X["size"], n)[:n]})
    labels = np.tile(y, n)[:n]
    with pytest.raises(ValueError, match=r"column 'id' has 100,000 levels.*min_count"):
        lk.LinearDiscriminantAnalysis().fit(wide, labels)
    with pytest.warns(DegenerateWarning, match="'id' has 100,000 levels in 100,000 rows: is it an ident"):
        model = lk.SGDClassifier(max_iter=1, tol=None).fit(wide, labels)
    assert model.design_.sparse_


def test_a_level_of_one_class_is_named_by_the_separation(table):
    X, y = table
    X = X.assign(colour=np.where((y == 1) & (X.colour == "red"), "gold", "blue"))[["size", "colour"]]
    with pytest.warns(lk.SeparationWarning, match="'colour=gold'"):
        lk.LogisticRegression(C=np.inf, max_iter=500).fit(X, y)


def test_mixed_types_duplicates_and_empty_columns(table):
    X, y = table
    mixed = X.assign(colour=[1, "red"] * (N // 2))
    with pytest.raises(ValueError, match="'colour'"):
        lk.LogisticRegression().fit(mixed, y)
    twice = pd.concat([X, X[["colour"]]], axis=1)
    with pytest.raises(ValueError, match="colour"):
        lk.LogisticRegression().fit(twice, y)
    empty = X.assign(none=np.nan, nothing=pd.Series([None] * N, dtype=object))
    with pytest.warns(DegenerateWarning, match="no value in any row"):
        model = lk.LogisticRegression(max_iter=500).fit(empty, y)
    assert not any(name.startswith("no") for name in model.design_.get_feature_names_out())


@pytest.mark.parametrize("what", ["sample", "impute", "marginal", "condition"])
def test_what_is_about_columns_is_refused_for_those_of_a_design(what, table):
    X, y = table
    model = lk.LinearDiscriminantAnalysis().fit(X, y)
    given = {"sample": (3,), "impute": (X,), "marginal": (["size"],), "condition": ({"size": 1.0},)}[what]
    with pytest.raises(ValueError, match=f"{what} is about the columns"):
        getattr(model, what)(*given)
