"""Spark: estimators fitted to data frames, and predictions as a function of columns."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from likelier import optional
from likelier.data.spark import SparkTable, rows_of_table
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
    the same parts. The columns that are needed are kept in memory (`persist`) while the fit reads them, and
    released when it ends.

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
    places = {name: f"c{i}" for i, name in enumerate(names)}
    frame = _placed(df, places)
    kept = not df.is_cached
    frame = frame.persist() if kept else frame
    try:
        lengths, few = _counted(frame)
        few = few.rename_columns(list(places))
        table = SparkTable(frame, places, tuple(taken), targets, weight, lengths)
        estimator.fit(rows_of_table(table, few))  # type: ignore[attr-defined]
    finally:
        if kept:
            frame.unpersist()
    return estimator


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _placed(df: Any, places: dict[str, str]) -> Any:
    """The columns under names of their places: PySpark does not quote those that it maps."""
    from pyspark.sql import functions

    return df.select(*(functions.col(_quoted(name)).alias(place) for name, place in places.items()))


def _counted(frame: Any) -> tuple[tuple[int, ...], pa.Table]:
    """How many rows each partition has, and some of them."""
    found = {
        row[0]: (row[1], bytes(row[2])) for row in frame.mapInArrow(_rows_of_partition, COUNTS).collect()
    }
    some = [content for rows, content in found.values() if rows]
    if not some:
        raise ValueError("the data frame has no rows to fit to.")
    count = max(found) + 1
    return tuple(found.get(i, (0, b""))[0] for i in range(count)), pa.ipc.open_stream(some[0]).read_all()


COUNTS = "number long, rows long, some binary"
FEW = 4  # rows that say what columns are


def _rows_of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    rows, content = 0, b""
    for batch in batches:
        rows += batch.num_rows
        if not content and batch.num_rows:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch.slice(0, FEW))
            content = sink.getvalue().to_pybytes()
    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    arrays = [
        pa.array([number], pa.int64()),
        pa.array([rows], pa.int64()),
        pa.array([content], pa.binary()),
    ]
    yield pa.RecordBatch.from_arrays(arrays, names=["number", "rows", "some"])


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
