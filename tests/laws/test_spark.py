"""Spark as an engine: the same bits as threads on the same parts; predictions as functions of columns."""

import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import likelier as lk
from laws.comparing import assert_same_model

pytestmark = [  # of PySpark itself, beside pandas 3
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
]


@pytest.fixture(scope="module")
def session():
    """Spark in this process, on two cores."""
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not there")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)  # or else the first python3 of the path
        found = builder.getOrCreate()
        found.sparkContext.setLogLevel("OFF")
        yield found
        found.stop()


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(rng.normal(size=(n, 3)) + y[:, None], columns=["a", "b", "it's `c`"])
    frame["colour"] = rng.choice(["red", "green"], n)
    frame["w"] = rng.integers(1, 4, n).astype(float)
    frame["y"] = np.array(["u", "v", "w"])[y]
    return frame


NUMBERS = ["a", "b", "it's `c`"]


@pytest.fixture(scope="module")
def df(session):
    """Three partitions with rows, and one without."""
    frame = session.createDataFrame(table())
    return frame.repartitionByRange(3, "a").union(frame.filter("a > 1e9").coalesce(1))


@pytest.fixture(scope="module")
def files(df, tmp_path_factory):
    """The same partitions as files, which are parts of their own."""
    from pyspark.sql import functions

    rows = df.withColumn("part", functions.spark_partition_id()).toPandas()
    folder = tmp_path_factory.mktemp("partitions")
    paths = []
    for number, own in rows.groupby("part"):
        paths.append(folder / f"{number}.parquet")
        own.drop(columns="part").to_parquet(paths[-1], index=False)
    assert len(paths) == 3
    return paths


@pytest.mark.parametrize(
    ("model", "features"),
    [
        (lk.GaussianNB(), NUMBERS),
        (lk.LogisticRegression(tol=0.1), NUMBERS),
        (lk.NaiveBayes(), [*NUMBERS, "colour"]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_fits_to_data_frames_are_those_of_threads_bit_for_bit(model, features, df, files):
    source = lk.scan(files, target="y", features=features, weight="w")
    one = clone(model).fit(source)
    other = lk.fit_spark(clone(model), df, target="y", weight="w", features=features)
    assert_same_model(one, other)
    assert list(other.feature_names_in_) == features


def test_a_data_frame_of_parquet_files_is_read_by_the_tasks_themselves(session, df, tmp_path, monkeypatch):
    folder = tmp_path / "a folder"
    df.write.parquet(str(folder))
    held = session.read.parquet(str(folder))

    def fitted(frame):
        return lk.fit_spark(lk.NaiveBayes(), frame, target="y", weight="w", features=[*NUMBERS, "colour"])

    source = lk.scan(
        sorted(folder.glob("*.parquet")), target="y", features=[*NUMBERS, "colour"], weight="w"
    )
    by_threads = lk.NaiveBayes().fit(source)
    by_rows = fitted(held.filter("w > 0"))  # computed by Spark

    def computed(*given):
        raise AssertionError("the rows came through Spark")

    monkeypatch.setattr("likelier.spark._counted", computed)
    assert_same_model(by_threads, fitted(held))
    for other in (held.filter("w > 1"), held.withColumn("b", held["a"] * 2), held.union(held)):
        with pytest.raises(AssertionError, match="came through Spark"):
            fitted(other)
    P = [model.predict_proba(table()[[*NUMBERS, "colour"]]) for model in (by_rows, by_threads)]
    np.testing.assert_allclose(*P, rtol=1e-9)


def test_files_are_read_by_tasks_and_merged_by_them_bit_for_bit(session, tmp_path, monkeypatch):
    from likelier.engines import spark

    monkeypatch.setattr(spark, "MOST_HERE", 2)
    monkeypatch.setattr(spark, "MOST_PARTS", 1)
    for number, rows in enumerate(np.array_split(np.arange(600), 20)):
        table().iloc[rows][[*NUMBERS, "y"]].to_csv(tmp_path / f"{number:02}.csv", index=False)
    source = lk.scan(tmp_path, target="y")
    assert len(source.parts(0)) > 2 * spark.MERGED
    one, other = lk.GaussianNB().fit(source), lk.GaussianNB().fit(source.on(session))
    assert_same_model(one, other)
    assert np.array_equal(one.predict_proba(source), other.predict_proba(source.on(session)))


def test_regressions_take_several_targets(df):
    model = lk.fit_spark(lk.Ridge(), df, target=["a", "b"], features=["it's `c`", "w"])
    rows = df.toPandas()
    expected = lk.Ridge().fit(rows[["it's `c`", "w"]], rows[["a", "b"]])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)


def test_predictions_are_those_of_the_model(df):
    rows = table()
    model = lk.NaiveBayes().fit(rows[[*NUMBERS, "colour"]], rows["y"])
    plain = lk.LinearRegression().fit(rows[["a", "b"]].to_numpy(), rows["w"])
    found = (
        df.withColumn("p", lk.spark_udf(model)())
        .withColumn("label", lk.spark_udf(model, "label")("a", "b", df["`it's ``c```"], "colour"))
        .withColumn("value", lk.spark_udf(plain)("a", "b"))
        .toPandas()
    )
    X = found[[*NUMBERS, "colour"]]
    np.testing.assert_array_equal(np.stack(found["p"]), model.predict_proba(X))
    assert found["label"].tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(found["value"], plain.predict(found[["a", "b"]].to_numpy()))


def test_a_bad_cell_is_named_with_its_error(session):
    frame = session.createDataFrame(pd.DataFrame({"a": [1.0, np.inf, 2.0], "y": [0, 1, 0]}))
    with pytest.raises(ValueError, match="infinity"):
        lk.fit_spark(lk.GaussianNB(), frame.coalesce(1), target="y")


def test_wrong_columns_and_tables_say_so(df):
    with pytest.raises(ValueError, match="the data frame has no column 'z': it has 'a', 'b'"):
        lk.fit_spark(lk.GaussianNB(), df, target="z")
    with pytest.raises(ValueError, match="no rows to fit to"):
        lk.fit_spark(lk.GaussianNB(), df.filter("a > 1e9"), target="y", features=["a"])


def test_what_is_no_data_frame_or_model_says_so():
    with pytest.raises(TypeError, match="fit_spark takes a Spark data frame; got DataFrame"):
        lk.fit_spark(lk.GaussianNB(), table(), target="y")
    with pytest.raises(NotFittedError):
        lk.spark_udf(lk.GaussianNB())
    model = lk.GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="output must be one of 'proba', 'label', 'value'; got 'score'"):
        lk.spark_udf(model, "score")
    with pytest.raises(ValueError, match="GaussianNB has no output 'value'; it has 'proba' and 'label'"):
        lk.spark_udf(model, "value")
