"""Spark: estimators fitted to data frames, and predictions as a function of columns."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, TypeVar
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from likelier import optional
from likelier.data.files.scan import scan
from likelier.data.spark import FEW, NUMBER, ROWS, SparkTable, packed, packed_schema, rows_of_table
from likelier.estimators import validation
from likelier.saving.models import content_of, estimator_of

M = TypeVar("M")
OUTPUTS = ("proba", "label", "value")

# Fits: the rows stay where Spark has them.


def fit_spark(
    estimator: M, df: Any, *, target: Any = None, weight: str | None = None, features: Any = None
) -> M:
    """Fit an estimator to a Spark data frame: rows stay on the cluster, statistics come back.

    A partition is a part, as for files and Dask: the result is the same, bit for bit, as that of threads on
    the same parts. The columns that are needed are kept in memory (`persist`), as blocks of rows in
    Arrow's format, while the fit reads them, and released when it ends. Of a data frame that is nothing but
    Parquet files with `file:` paths the tasks read the files themselves: it is fitted as
    `scan(paths).on(session)`.

    Parameters
    ----------
    estimator : estimator
        An estimator of likelier that takes sources; it is fitted in place.
    df : pyspark.sql.DataFrame
        The rows.
    target : str or list of str, default=None
        Column of the labels or numbers to predict; a list for several targets of a regression. None: the
        estimator learns without a target.
    weight : str, default=None
        Column of sample weights.
    features : list of str, default=None
        Columns of X. None: all that are neither target nor weight.

    Returns
    -------
    estimator : estimator
        The estimator itself, fitted.

    Raises
    ------
    TypeError
        If `df` is not a Spark data frame.
    ValueError
        If a column does not exist, or there are no rows.

    See Also
    --------
    spark_udf : Predictions on Spark.
    scan : Files; `scan(path).on(session)` reads them by the workers of Spark.

    Examples
    --------
    >>> import likelier as lk
    >>> lk.fit_spark(lk.GaussianNB(), [[1.0]], target="y")
    Traceback (most recent call last):
    ...
    TypeError: fit_spark takes a Spark data frame; got list of builtins.
    """
    kind = type(df)
    if kind.__name__ != "DataFrame" or not kind.__module__.startswith("pyspark.sql."):
        raise TypeError(f"fit_spark takes a Spark data frame; got {kind.__name__} of {kind.__module__}.")
    targets = () if target is None else (target,) if isinstance(target, str) else tuple(target)
    own = () if weight is None else (weight,)
    known = tuple(df.columns)
    taken = [name for name in known if name not in (*targets, *own)] if features is None else list(features)
    for name in (*targets, *own, *taken):
        if name not in known:
            raise ValueError(
                f"the data frame has no column {name!r}: it has {', '.join(map(repr, known))}."
            )
    if not taken:
        raise ValueError("there are no features: the data frame has no columns beside target and weight.")
    names = dict.fromkeys((*taken, *targets, *own))
    if (paths := _own_files(df, names)) is not None:
        rows = scan(paths, target=target, weight=weight, features=taken)
        estimator.fit(rows.on(df.sparkSession))  # type: ignore[attr-defined]
        return estimator
    places = {name: f"c{i}" for i, name in enumerate(names)}
    frame = _placed(df, places).mapInArrow(_pack, packed_schema(places.values())).persist()
    try:
        lengths, few = _counted(frame)
        few = few.rename_columns(list(places))
        table = SparkTable(frame, places, tuple(taken), targets, weight, lengths)
        estimator.fit(rows_of_table(table, few))  # type: ignore[attr-defined]
    finally:
        frame.unpersist()
    return estimator


# What a column of a file is, for Spark and for Arrow alike.
SAME_TYPES = {
    "double": pa.float64(),
    "float": pa.float32(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "boolean": pa.bool_(),
    "string": pa.string(),
}


def _own_files(df: Any, names: Iterable[str]) -> list[str] | None:
    """The files of a data frame that is nothing but these; None: it has to be computed by Spark.

    They are Parquet in a file system that executors read as local, so that tasks can read them without
    Java, and have all the columns as the data frame has them.
    """
    frame = getattr(df, "_jdf", None)  # Spark Connect has none
    if frame is None:
        return None
    plan = frame.queryExecution().optimizedPlan()
    if plan.getClass().getSimpleName() != "LogicalRelation":
        return None
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation" or (
        relation.fileFormat().toString() != "Parquet" or relation.partitionSchema().length()
    ):
        return None
    types = dict(df.dtypes)
    wanted = {name: SAME_TYPES.get(types[name]) for name in names}
    found = [urlparse(uri) for uri in df.inputFiles()]
    if None in wanted.values() or not found or any(each.scheme != "file" for each in found):
        return None
    paths = sorted(unquote(each.path) for each in found)
    held = (dict(zip(schema.names, schema.types, strict=True)) for schema in map(pq.read_schema, paths))
    return paths if all(wanted.items() <= each.items() for each in held) else None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _placed(df: Any, places: dict[str, str]) -> Any:
    """The columns under names of their places: PySpark does not quote those that it maps."""
    from pyspark.sql import functions

    return df.select(*(functions.col(_quoted(name)).alias(place) for name, place in places.items()))


def _pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    return packed(batches, 0 if context is None else context.partitionId())


def _counted(frame: Any) -> tuple[tuple[int, ...], pa.Table]:
    """How many rows each partition has, and some of them."""
    found: dict[int, int] = {}
    some: list[bytes] = []
    for number, rows, few in frame.select(NUMBER, ROWS, FEW).collect():
        found[number] = found.get(number, 0) + rows
        if few is not None:
            some.append(bytes(few))
    if not found:
        raise ValueError("the data frame has no rows to fit to.")
    return tuple(found.get(i, 0) for i in range(max(found) + 1)), pa.ipc.open_stream(some[0]).read_all()


# Predictions: a function of columns, which brings the model along as the content of its file.


def spark_udf(model: Any, output: str | None = None) -> Any:
    """The predictions of a fitted model as a function of Spark columns.

    Each Python worker of Spark loads the model once, and predicts batches of rows. The model travels as the
    content of its file (`save`), which runs no code; one that cannot be saved is pickled.

    Parameters
    ----------
    model : estimator
        A fitted classifier, mixture or regression of likelier.
    output : {"proba", "label", "value"} or None, default=None
        "proba": an array with the probability of each class, in the order of `classes_`; "label": the
        predicted class; "value": the predicted number, or an array of them. None: the first of these that
        the model has.

    Returns
    -------
    predict : callable
        Takes columns, or their names, in the order of the fit, and returns a column. Without arguments it
        takes the columns by the names of the fit.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If the model has no such output.

    See Also
    --------
    fit_spark : Fits on Spark.

    Examples
    --------
    >>> import likelier as lk
    >>> model = lk.GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> predict = lk.spark_udf(model)  # df.withColumn("p", predict("x"))
    """
    if "_model" not in vars(model) and type(model).__name__ != "LinearClassifier":
        validation.fitted(model)
    output = _output_of(model, output)
    try:
        content, saved = content_of(model, statistics=False), True
    except (TypeError, ValueError):
        content, saved = _cloudpickle().dumps(model), False
    names = getattr(model, "feature_names_in_", None)
    kept = None if names is None else tuple(map(str, names))
    return SparkPredictions(content, saved, output, kept, _type_of(model, output))


class SparkPredictions:
    """A function of Spark columns that predicts."""

    def __init__(
        self, content: bytes, saved: bool, output: str, names: tuple[str, ...] | None, kind: str
    ) -> None:
        self.content, self.saved, self.output, self.names, self.kind = content, saved, output, names, kind

    def __call__(self, *columns: Any) -> Any:
        """The column of predictions."""
        optional.load("pandas", "functions of Spark columns need", "likelier[spark]")
        import pandas as pd
        from pyspark.sql import functions

        if not columns and self.names is None:
            raise ValueError(
                "the model was fitted without names: give its columns, in the order of the fit."
            )
        given = columns or tuple(map(_quoted, self.names or ()))
        model, names, output, saved = self.content, self.names, self.output, self.saved

        def predict(batches: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
            for batch in batches:
                yield pd.Series(predicted(model, saved, names, output, batch))

        # By their types Spark knows what kind of function it is.
        predict.__annotations__ = {"batches": Iterator[pd.DataFrame], "return": Iterator[pd.Series]}
        cells = [functions.col(each) if isinstance(each, str) else each for each in given]
        named = functions.struct(*(cell.alias(f"c{j}") for j, cell in enumerate(cells)))
        return functions.pandas_udf(predict, self.kind)(named)


def _cloudpickle() -> Any:
    return optional.load("cloudpickle", "models that `lk.save` cannot write need", "likelier[spark]")


@cache
def _loaded(content: bytes, saved: bool) -> Any:
    """The model, once for each worker."""
    return estimator_of(content) if saved else _cloudpickle().loads(content)


def predicted(content: bytes, saved: bool, names: tuple[str, ...] | None, output: str, batch: Any) -> Any:
    """The predictions of a batch, a value or a list for each row."""
    model = _loaded(content, saved)
    X = batch.set_axis(list(names), axis=1) if names is not None else batch.to_numpy()
    if output == "proba":
        return model.predict_proba(X).tolist()
    return np.asarray(model.predict(X)).tolist()


def _output_of(model: Any, output: str | None) -> str:
    held = ["proba"] if hasattr(model, "predict_proba") else []
    held += (
        ["value"]
        if getattr(model, "_estimator_type", None) == "regressor" or _regresses(model)
        else ["label"]
    )
    if output is None:
        return held[0]
    if output not in OUTPUTS:
        raise ValueError(f"output must be one of {', '.join(map(repr, OUTPUTS))}; got {output!r}.")
    if output not in held:
        has = " and ".join(map(repr, held))
        raise ValueError(f"{type(model).__name__} has no output {output!r}; it has {has}.")
    return output


def _regresses(model: Any) -> bool:
    return hasattr(model, "coef_") and not hasattr(model, "classes_")


def _type_of(model: Any, output: str) -> str:
    """The type of the column, in Spark's words."""
    if output == "proba":
        return "array<double>"
    if output == "value":
        return "double" if model._target == () else "array<double>"
    kind = np.asarray(getattr(model, "classes_", np.arange(1))).dtype.kind
    return {"b": "boolean", "i": "long", "u": "long", "f": "double"}.get(kind, "string")
