"""Frames in, frames out: what is imputed, drawn and contributed keeps names and types of columns."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import likelier as lk

rng = np.random.default_rng(0)
Y = np.arange(90) % 3
NUMBERS = pd.DataFrame(
    {
        "whole": rng.integers(0, 9, 90) + Y,
        "half": (rng.normal(size=90) + Y).astype(np.float32),
        "double": rng.normal(size=90),
    },
    index=[f"row {i}" for i in range(90)],
)
MIXED = NUMBERS.assign(
    colour=np.array(["red", "green", "blue"])[(Y + (rng.random(90) < 0.3)) % 3],
    level=pd.Categorical(np.array(["low", "high"])[(Y > 0).astype(int)], categories=["low", "mid", "high"]),
)
GAPS = {"half": [0, 5], "double": [1]}
GENERATIVE = [
    lk.GaussianNB(),
    lk.NaiveBayes("gaussian"),
    lk.LinearDiscriminantAnalysis(),
    lk.QuadraticDiscriminantAnalysis(),
    lk.KernelDensityClassifier(),
    lk.GaussianMixture(2, random_state=0),
    lk.MixtureDiscriminantAnalysis(1, random_state=0),
]


def gappy(frame, gaps):
    out = frame.copy()
    for name, rows in gaps.items():
        out.loc[out.index[rows], name] = None
    return out


@pytest.mark.parametrize("model", GENERATIVE, ids=lambda m: type(m).__name__)
def test_a_frame_is_imputed_as_a_frame(model):
    model = clone(model).fit(NUMBERS, Y)
    table = gappy(NUMBERS, GAPS)
    before = table.copy()
    found = model.impute(table)
    pd.testing.assert_frame_equal(table, before)  # is left as it was
    assert list(found.columns) == list(table.columns)
    assert (found.index == table.index).all()
    assert (found.dtypes == table.dtypes).all()
    pd.testing.assert_series_equal(found["whole"], table["whole"])
    plain = clone(model).fit(NUMBERS.to_numpy(), Y)
    as_array = plain.impute(table.to_numpy(dtype=float))
    assert isinstance(as_array, np.ndarray)
    np.testing.assert_allclose(found.to_numpy(dtype=float), as_array, rtol=1e-6)
    pd.testing.assert_frame_equal(model.impute(NUMBERS), NUMBERS)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_keep_their_types_in_every_library(kind):
    model = lk.NaiveBayes({"whole": "gaussian", "half": "gaussian", "double": "gaussian"} | CATEGORIES)
    model.fit(MIXED, Y)
    table = gappy(MIXED, GAPS | {"colour": [3], "level": [4]})
    expected = model.impute(table)
    make = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[kind]
    given = make(table.reset_index(drop=True))
    found = model.impute(given)
    assert type(found) is type(given)
    plain = pd.DataFrame(
        {name: list(found[name].to_pylist() if kind == "pyarrow" else found[name]) for name in table}
    )
    assert plain.notna().all().all()
    np.testing.assert_allclose(plain[["half", "double"]], expected[["half", "double"]], rtol=1e-6)
    for name in ("colour", "level"):
        assert plain[name].astype(str).tolist() == expected[name].astype(str).tolist()
        assert plain[name][3] in ("red", "green", "blue", "low", "mid", "high")
    if kind == "pandas":
        assert (found.dtypes == given.dtypes).all()
    if kind == "polars":
        assert found.schema == given.schema
    if kind == "pyarrow":
        assert found.schema.field("half").type == pa.float32()


CATEGORIES = {"colour": "categorical", "level": "categorical"}


def test_whole_numbers_with_gaps_become_floats():
    table = pd.DataFrame({"a": pd.array([1, None, 3, 5, 2] * 4, dtype="Int64"), "b": np.arange(20)})
    model = lk.GaussianNB().fit(table, np.arange(20) % 2)
    found = model.impute(table)
    assert found["a"].dtype.kind == "f"
    assert found["a"].iloc[1] == pytest.approx(model.impute(table.astype(float))["a"].iloc[1])
    assert found["b"].dtype == table["b"].dtype
    frame = pl.DataFrame({"a": [1, None, 3, 5, 2] * 4, "b": range(20)})
    assert model.impute(frame).schema == {"a": pl.Float64, "b": pl.Int64}


def test_dask_frames_are_imputed_as_such():
    dd = pytest.importorskip("dask.dataframe")
    model = lk.GaussianNB().fit(NUMBERS, Y)
    table = gappy(NUMBERS, GAPS).reset_index(drop=True)
    found = model.impute(dd.from_pandas(table, npartitions=3))
    pd.testing.assert_frame_equal(found.compute(), model.impute(table))


# ---- samples -------------------------------------------------------------------------------------
@pytest.mark.parametrize("output", ["pandas", "polars", "pyarrow"])
def test_samples_as_frames(output):
    model = lk.NaiveBayes({"whole": "gaussian", "half": "gaussian", "double": "gaussian"} | CATEGORIES)
    model.fit(MIXED, Y)
    rows, labels = model.sample(50, random_state=0)
    assert isinstance(rows, np.ndarray)
    frame, same = model.sample(50, random_state=0, output=output)
    np.testing.assert_array_equal(labels, same)
    found = frame if output == "pandas" else frame.to_pandas()
    assert list(found.columns) == list(MIXED.columns)
    assert [found[name].dtype.kind for name in ("whole", "half", "double")] == ["f", "f", "f"]
    assert (found.to_numpy(dtype=object) == rows).all()
    assert (model.predict(frame) == model.predict(found)).all()  # what is drawn can be asked about
    with pytest.raises(
        ValueError, match="output must be None or one of pandas, polars, pyarrow; got 'csv'"
    ):
        model.sample(output="csv")


def test_whole_numbers_that_are_categories_stay_numbers():
    table = pd.DataFrame({"level": [1.0, 2.0, np.nan, 4.0] * 20, "colour": ["red", "blue"] * 40})
    model = lk.NaiveBayes().fit(table, np.arange(80) % 2)
    assert model.families_["level"].family == "categorical"
    found = model.impute(table)
    assert found["level"].dtype == np.float64
    assert set(found["level"]) <= {1.0, 2.0, 4.0}
    assert model.sample(9, output="pandas")[0]["level"].dtype.kind in "if"
    assert model.impute(pl.from_pandas(table))["level"].dtype == pl.Float64


def test_columns_without_names_are_numbered():
    X = load_iris().data
    assert list(lk.GaussianMixture(2).fit(X).sample(3, output="pandas")[0].columns) == [
        "x0",
        "x1",
        "x2",
        "x3",
    ]


# ---- contributions -------------------------------------------------------------------------------
ADDITIVE = [lk.GaussianNB(), lk.LinearDiscriminantAnalysis(), lk.LogisticRegression(), lk.NaiveBayes()]


@pytest.mark.parametrize("model", ADDITIVE, ids=lambda m: type(m).__name__)
def test_contributions_know_their_names(model):
    table = NUMBERS
    model = clone(model).fit(table, Y)
    found = model.contributions(table)
    values, base = found
    assert values.shape == (90, 3, 3)
    np.testing.assert_array_equal(np.asarray(found), values)
    frame = found.to_frame()
    assert list(frame.columns) == ["(base)", "whole", "half", "double"]
    assert frame.index.names == ["row", "class"]
    scores = frame.sum(axis=1).unstack()
    np.testing.assert_allclose(scores, values.sum(axis=2) + base, rtol=1e-12)
    np.testing.assert_array_equal(scores.columns, model.classes_)
    again = pickle.loads(pickle.dumps(found))
    pd.testing.assert_frame_equal(again.to_frame(), frame)
