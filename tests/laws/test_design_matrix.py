"""Tables as design matrices: the same by any library, cut or order; means and levels exact."""

import warnings
from itertools import pairwise

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from likelier.data import SkippedWarning


def mixed(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "visits": rng.poisson(3, n),
            "city": rng.choice(["Ulm", "Bonn", "Köln"], n),
            "member": rng.random(n) < 0.4,
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D"),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "city"] = None
    return frame


def dense(Z):
    return Z.toarray() if issparse(Z) else np.asarray(Z)


def same(Z, other):
    np.testing.assert_allclose(dense(Z), dense(other), rtol=1e-12, atol=1e-12)


def test_what_becomes_of_each_column():
    X = pd.DataFrame(
        {
            "age": [22.0, None, 35.0, 27.0],
            "sex": ["male", "female", None, "male"],
            "ok": [True, False, True, True],
            "when": pd.to_datetime(["1970-01-02", "1970-01-01", None, "1970-02-01"]),
            "size": pd.Categorical(["S", "L", "M", "S"], ["S", "M", "L"], ordered=True),
        }
    )
    design = lk.DesignMatrix(sparse=False).fit(X)
    names = ["age", "age is missing", "sex=female", "sex=male", "sex is missing", "ok", "when"]
    assert design.get_feature_names_out().tolist() == [*names, "when is missing", "size"]
    expected = [
        [22, 0, 0, 1, 0, 1, 1, 0, 0],
        [28, 1, 1, 0, 0, 0, 0, 0, 2],
        [35, 0, 0, 0, 1, 1, 32 / 3, 1, 1],
        [27, 0, 0, 1, 0, 1, 31, 0, 0],
    ]
    same(design.transform(X), np.array(expected))
    assert design.kinds_["size"] == "ordered"
    assert design.means_["age"] == 28
    assert design.levels_ == {"sex": ["female", "male"]}


def test_parts_of_dates_go_by_the_clock_of_their_zone():
    when = pd.to_datetime(["2024-02-29 23:30", "2024-12-31 00:15", None]).tz_localize("Europe/Berlin")
    X = pd.DataFrame({"when": when, "n": [1, 2, 3]})
    parts = ("year", "quarter", "month", "week", "day", "weekday", "yearday", "hour", "minute", "days")
    Z = lk.DesignMatrix(parts=parts, sparse=False).fit(X)
    found = pd.DataFrame(Z.transform(X), columns=Z.get_feature_names_out())
    there = when[:2]
    for part, name in [
        ("weekday", "day_of_week"),
        ("yearday", "day_of_year"),
        *((p, p) for p in parts[:3]),
    ]:
        np.testing.assert_array_equal(found[f"when.{part}"][:2], getattr(there, name))
    np.testing.assert_array_equal(found["when.hour"][:2], [23, 0])
    np.testing.assert_array_equal(found["when.minute"][:2], [30, 15])
    np.testing.assert_array_equal(found["when.week"][:2], there.isocalendar().week)
    np.testing.assert_allclose(found["when.days"][:2], there.tz_convert("UTC").view("int64") / 86_400e6)
    assert found["when is missing"].tolist() == [0, 0, 1]
    only = lk.DesignMatrix(parts={"when": ["month"]}).fit(X)
    assert only.get_feature_names_out().tolist() == ["when.month", "when is missing", "n"]


def test_equals_scikit_learns_pipeline():
    X = mixed()[["age", "visits", "city"]]
    X["city"] = X["city"].astype(object).where(X["city"].notna(), "missing")
    peer = make_column_transformer(
        (make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True)), ["age"]),
        (StandardScaler(), ["visits"]),
        (OneHotEncoder(), ["city"]),
    )
    same(lk.DesignMatrix(standardize=True).fit_transform(X), peer.fit_transform(X))


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
def test_any_library_and_any_order_of_columns(library):
    X = mixed()
    design = lk.DesignMatrix().fit(X)
    same(design.transform(library(X[X.columns[::-1]])), design.transform(X))
    again = lk.DesignMatrix().fit(library(X.drop(columns="size")))
    same(again.transform(X), lk.DesignMatrix().fit_transform(X.drop(columns="size")))
    same(design.transform(X.assign(more=1)), design.transform(X))


def test_ordered_categories_of_polars_and_arrow():
    kind = pl.Enum(["low", "mid", "high"])
    X = pl.DataFrame({"a": pl.Series(["high", "low", None, "mid"], dtype=kind)})
    expected = np.array([[2, 0], [0, 0], [1, 1], [1, 0.0]])
    same(lk.DesignMatrix().fit_transform(X), expected)
    same(lk.DesignMatrix().fit(X).transform(pd.DataFrame({"a": ["high", "low", None, "mid"]})), expected)


@pytest.mark.parametrize("sparse", [True, False])
def test_files_chunks_and_dask(tmp_path, sparse):
    X = mixed(500).drop(columns="size")
    whole = lk.DesignMatrix(standardize=True, sparse=sparse).fit(X)
    X.to_parquet(tmp_path / "x.parquet", row_group_size=60)
    X.to_csv(tmp_path / "x.csv", index=False)
    for name in ("x.parquet", "x.csv"):
        source = lk.scan(tmp_path / name)
        design = lk.DesignMatrix(standardize=True, sparse=sparse).fit(source)
        assert design.kinds_ == whole.kinds_ | {"member": "number"}
        same(design.transform(X), whole.transform(X))
        rows = [chunk.X.to_array() for part in design.transform(source).parts(0) for chunk in part()]
        same(np.concatenate(rows), whole.transform(X))
    parts = dd.from_pandas(X, npartitions=3)
    by_dask = lk.DesignMatrix(standardize=True, sparse=sparse).fit(parts)
    same(by_dask.transform(X), whole.transform(X))


@given(st.integers(0, 1000), st.lists(st.integers(0, 60), max_size=4), st.booleans())
@settings(max_examples=25, deadline=None)
def test_merged_is_whole(seed, cuts, standardize):
    X = mixed(60, seed)
    w = np.random.default_rng(seed).integers(0, 3, 60).astype(float)
    w[0] = 1
    ends = [0, *sorted(cuts), 60]
    how = {"standardize": standardize, "min_count": 5.0, "drop": "first"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pieces may lack a column, or weigh nothing
        whole = lk.DesignMatrix(**how).fit(X, sample_weight=w)
        pieces = [slice(a, b) for a, b in pairwise(ends)]
        pieces = [at for at in pieces if w[at].sum() > 0]
        merged, *others = [lk.DesignMatrix(**how).fit(X[at], sample_weight=w[at]) for at in pieces]
        merged = merged.merge(*others)
        stepwise = lk.DesignMatrix(**how)
        for at in pieces:
            stepwise.partial_fit(X[at], sample_weight=w[at])
        repeated = lk.DesignMatrix(**how).fit(X.loc[np.repeat(np.arange(60), w.astype(int))])
    for one in (merged, stepwise, repeated):
        assert one.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
        same(one.transform(X[w > 0]), whole.transform(X[w > 0]))


def test_sparse_is_dense_and_threads_change_nothing(monkeypatch):
    X = pd.concat([mixed(30_000, seed) for seed in range(2)], ignore_index=True)
    monkeypatch.setenv("LIKELIER_THREADS", "1")
    one = dense(lk.DesignMatrix(standardize=True, sparse=False).fit_transform(X))
    monkeypatch.setenv("LIKELIER_THREADS", "3")
    for sparse in (True, False):
        Z = lk.DesignMatrix(standardize=True, sparse=sparse).fit_transform(X)
        assert issparse(Z) == sparse
        np.testing.assert_array_equal(dense(Z), one)
    assert Z.shape == one.shape


def test_sparse_where_it_is_smaller():
    many = pd.DataFrame({"a": [f"level {i % 40}" for i in range(100)]})
    few = pd.DataFrame({"a": [f"level {i % 2}" for i in range(100)], "b": np.arange(100.0)})
    assert lk.DesignMatrix().fit(many).sparse_
    assert not lk.DesignMatrix().fit(few).sparse_
    Z = lk.DesignMatrix().fit_transform(many)
    assert Z.data.nbytes + Z.indices.nbytes + Z.indptr.nbytes < 8 * Z.shape[0] * Z.shape[1]
    assert Z.has_canonical_format


def test_rare_levels_are_pooled_and_unseen_ones_join_them():
    X = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 5 + ["z", "u"]})
    design = lk.DesignMatrix(min_count=3, sparse=False).fit(X)
    assert design.get_feature_names_out().tolist() == ["a=x", "a=y", "a is rare"]
    same(design.transform(X[-2:]), [[0, 0, 1], [0, 0, 1]])
    with pytest.warns(SkippedWarning, match=r"'a' \(such as 'new'\): counted as rare"):
        same(design.transform(pd.DataFrame({"a": ["new"]})), [[0, 0, 1]])


def test_unseen_levels_are_zeros_and_said_once():
    design = lk.DesignMatrix(sparse=False).fit(pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}))
    rows = pd.DataFrame({"a": ["x", "new"], "b": ["u", None]})
    with pytest.warns(SkippedWarning, match=r"column 'a' \(such as 'new'\): all of their indicators are 0"):
        Z = design.transform(rows)
    same(Z, [[1, 0, 1, 0], [0, 0, 0, 0]])
    same(design.transform(rows), Z)  # a second warning would be an error here


def test_dropped_level_and_inverse():
    X = mixed().drop(columns="when")
    for drop in (None, "first"):
        design = lk.DesignMatrix(drop=drop, standardize=True).fit(X)
        Z = design.transform(X)
        np.testing.assert_allclose(design.inverse(Z, "age"), X["age"], rtol=1e-12)
        np.testing.assert_allclose(design.inverse(Z, "visits"), X["visits"], atol=1e-12)
        assert design.inverse(Z, "city").tolist() == [None if c != c else c for c in X["city"]]
        assert design.inverse(Z, "size").tolist() == X["size"].tolist()
    names = lk.DesignMatrix(drop="first").fit(X).get_feature_names_out().tolist()
    assert "city=Bonn" not in names
    assert "city=Köln" in names


def test_frames_out():
    X = mixed()
    for library in ("pandas", "polars"):
        Z = lk.DesignMatrix().set_output(transform=library).fit(X).transform(X)
        assert list(Z.columns) == lk.DesignMatrix().fit(X).get_feature_names_out().tolist()
    assert lk.DesignMatrix().set_output(transform="pandas").fit_transform(X).shape == Z.shape


def test_a_hundred_thousand_levels():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": rng.integers(0, 100_000, 150_000).astype(str), "x": rng.normal(size=150_000)})
    Z = lk.DesignMatrix().fit_transform(X)
    assert Z.shape == (150_000, 1 + X["id"].nunique())
    assert Z.nnz == 300_000
    pooled = lk.DesignMatrix(min_count=5).fit_transform(X)
    counts = X["id"].value_counts()
    assert pooled.shape[1] == (counts >= 5).sum() + 2


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows_and_odd_columns(n):
    X = pd.DataFrame({"a": ["x"] * n, "b": [3] * n, "c": [True] * n})
    Z = lk.DesignMatrix(standardize=True).fit_transform(X)
    same(Z, [[1, 0, 0]] * n)
    array = np.array([["x", 1.5], [None, 2.5]], dtype=object)
    same(lk.DesignMatrix(sparse=False).fit_transform(array), [[1, 0, 1.5], [0, 1, 2.5]])
    same(lk.DesignMatrix().fit_transform([[1, np.nan], [3, 4.0]]), [[1, 4, 1], [3, 4, 0.0]])


def test_names_that_would_come_twice():
    X = pd.DataFrame({"a": ["x", "y"], "a=x": [1.0, 2.0]})
    assert lk.DesignMatrix().fit(X).get_feature_names_out().tolist() == ["a=x", "a=y", "a=x (2)"]


@parametrize_with_checks([lk.DesignMatrix(), lk.DesignMatrix(drop="first", standardize=True)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
