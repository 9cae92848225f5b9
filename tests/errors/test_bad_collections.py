"""Wrong Dask collections: what is wrong is said, and where, before or while rows are read."""

from typing import Any

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import likelier as lk


@pytest.fixture(autouse=True)
def in_this_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def rows(n: int = 40, chunks: Any = 10) -> tuple[da.Array, da.Array]:
    X = np.random.default_rng(0).normal(size=(n, 2))
    return da.from_array(X, chunks=(chunks, 2)), da.from_array(np.arange(n) % 2, chunks=chunks)


def frame(n: int = 40, npartitions: int = 4) -> dd.DataFrame:
    X, y = (a.compute() for a in rows(n))
    return dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(y=y), npartitions=npartitions)


def refused(
    said: str, *given: Any, model: Any = None, kind: type[Exception] = ValueError, **named: Any
) -> None:
    model = lk.GaussianNB() if model is None else model
    with pytest.raises(kind, match=said):
        model.fit(*given, **named)
    assert "_model" not in vars(model)


# ---- partitions ----------------------------------------------------------------------------------
def test_partitions_that_do_not_go_together_are_named():
    X, y = rows()
    refused("X has 4 partitions, y has 2: both need the same ones", X, y.rechunk(20))
    refused("in partition 1, X has 10 rows, y has 5", X, y.rechunk(((10, 5, 15, 10),)))
    refused(
        "in partition 3, X has 10 rows, sample_weight has 9", X, y, sample_weight=da.ones(39, chunks=10)
    )
    there = frame()
    refused("in partition 2, X has 10 rows, y has", there[["a", "b"]], there["y"].map_partitions(shortened))


def shortened(part: pd.Series) -> pd.Series:
    return part[part.index != 25]


def test_blocks_that_are_not_as_long_as_they_say():
    X, y = rows()
    short = X.map_blocks(lambda block: block[1:], dtype=float, meta=np.empty((0, 2)))
    refused("partition 0, X has 9 rows, y has 10|partition 0 has 9 rows", short, y)


def test_what_is_in_memory_does_not_go_with_what_is_not():
    X, y = rows()
    refused(r"X is a Dask collection, and y is not \(ndarray\): give it", X, y.compute(), kind=TypeError)
    refused("and sample_weight is not", X, y, sample_weight=np.ones(40), kind=TypeError)
    refused("y is a Dask collection, and X is not: compute it first", X.compute(), y, kind=TypeError)
    refused(
        "sample_weight is a Dask collection, and X is not",
        X.compute(),
        y.compute(),
        sample_weight=da.ones(40, chunks=10),
        kind=TypeError,
    )


def test_what_has_no_rows_and_columns():
    X, y = rows()
    refused("Input X is a Dask Array: it must be a Dask DataFrame", X[:, 0], y, kind=TypeError)
    refused("Input X is a Dask Bag", dask.bag.from_sequence([1, 2]), y, kind=TypeError)
    refused("Input X is a Dask Delayed", dask.delayed(np.eye(2)), y, kind=TypeError)
    refused(
        "sample_weight must be a Dask Series or an array of shape .n,.; got a Dask Array of 2",
        X,
        y,
        sample_weight=X,
    )
    unknown = X.map_blocks(sp.csr_matrix, chunks=((10,) * 4, (np.nan,)), dtype=float)
    refused("unknown number of columns: call compute_chunk_sizes", unknown, y)


def test_no_y_and_no_rows():
    X, y = rows()
    refused("requires y to be passed", X)
    with pytest.raises(ValueError, match="Sample weights are all zero"):
        lk.GaussianNB().fit(X, y, sample_weight=da.zeros(40, chunks=10))


# ---- labels and weights --------------------------------------------------------------------------
def test_labels_that_are_none_are_found():
    X, y = rows()
    gone = da.where(da.arange(40, chunks=10) == 23, np.nan, y)
    refused("row 3 of partition 2: y is nan. Input y contains NaN", X, gone)
    refused("row 3 of partition 2: y is inf.*infinity", X, da.where(np.isnan(gone), np.inf, gone))
    refused("row 1 of partition 0: y is 0.5. Unknown label type: continuous", X, y / 2)
    words = np.array(["a", "b"], dtype=object)[y.compute()]
    words[12] = None
    refused("row 2 of partition 1: y is None", X, da.from_array(words, chunks=10))
    there = frame().assign(y=frame()["y"].where(frame()["a"] > -1.5))
    refused("of partition .*: y is nan", there[["a", "b"]], there["y"])


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_that_are_none_are_found(bad):
    X, y = rows()
    w = da.where(da.arange(40, chunks=10) == 37, bad, 1.0)
    refused(f"row 7 of partition 3: sample_weight is {bad}. Weights must be finite", X, y, sample_weight=w)


def test_targets_of_a_regression():
    X, y = rows()
    refused(
        "row 4 of partition 1: y is nan. Input y contains NaN or infinity",
        X,
        da.where(da.arange(40, chunks=10) == 14, np.nan, y),
        model=lk.LinearRegression(),
    )
    words = da.from_array(np.array(["a", "b"], dtype=object)[y.compute()], chunks=10)
    message = "partition 0: y is of type object: a regression needs a numeric target"
    refused(message, X, words, model=lk.Ridge())


# ---- cells ---------------------------------------------------------------------------------------
def test_bad_cells_are_named_by_row_and_column():
    X, y = rows()
    bad = da.where((da.arange(40, chunks=10) == 33)[:, None], np.inf, X)
    refused("row 33, column 0 is inf", bad, y)
    refused("row 33, column 0 is inf", bad, y, model=lk.LogisticRegression())
    there = frame()
    there = there.assign(b=there["b"].where(there["b"] < 1, np.inf))
    refused(r"row \d of partition \d, column 1 \('b'\) is inf", there[["a", "b"]], there["y"])


def test_columns_that_are_no_numbers_are_refused_by_name():
    there = frame().assign(c="x", d=pd.Timestamp("2020-01-01"))
    refused(
        "GaussianNB takes numbers, and these columns hold none: 'c' .*, 'd'",
        there[["a", "c", "d"]],
        there["y"],
    )
    refused("these columns hold none: 'd'", there[["a", "c", "d"]], there["y"], model=lk.NaiveBayes())
    X, y = rows()
    refused("could not convert string|takes numbers", X.astype(str), y)
    refused("takes numbers|dates", X.astype("M8[s]"), y)


def test_a_partition_of_another_type_is_named():
    def spoilt(part: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
        return part.assign(a="x") if partition_info and partition_info["number"] == 2 else part

    there = frame()
    odd = there.map_partitions(spoilt, meta=there._meta, enforce_metadata=False)
    refused("partition 2: Input X has columns that are not numbers: 'a'", odd[["a", "b"]], there["y"])


# ---- answers -------------------------------------------------------------------------------------
def test_answers_are_refused_at_once_where_columns_are_wrong():
    X, y = rows()
    model = lk.GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but GaussianNB is expecting 2"):
        model.predict(da.ones((10, 3), chunks=5))
    with pytest.raises(ValueError, match="X has 3 features, but GaussianNB is expecting 2"):
        model.score(da.ones((10, 3), chunks=5), da.ones(10, chunks=5))
    named = lk.GaussianNB().fit(frame()[["a", "b"]], frame()["y"])
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame()[["a"]])
    with pytest.raises(NotFittedError, match="not fitted"):
        lk.GaussianNB().predict(X)
    with pytest.warns(
        UserWarning, match="X does not have valid feature names, but GaussianNB was fitted with"
    ):
        assert 0 <= named.score(X, y) <= 1
