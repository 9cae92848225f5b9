"""Fitted models as ONNX files: `to_onnx`."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import storage
from likelier.data.table_columns import DAY
from likelier.estimators.exports import described
from likelier.export import onnx
from likelier.export import onnx_columns as columns
from likelier.export.program import Input


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: str = "float64",
    overwrite: bool = False,
) -> Any:
    """A fitted model as an ONNX model, with the same labels and probabilities in any ONNX runtime.

    Parameters
    ----------
    model : estimator
        A fitted classifier, mixture or regression of likelier.
    path : str, path or None, default=None
        File to write the ONNX model to; None writes none.
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that go in and of those that come out. The arithmetic is in double precision
        with either.
    overwrite : bool, default=False
        Whether a file that exists is replaced. False: it is refused.

    Returns
    -------
    proto : onnx.ModelProto
        The ONNX model; `proto.SerializeToString()` is the content of its file.

    Raises
    ------
    NotExpressible
        If ONNX operators cannot express the model; the message says why. It is a ValueError.
    FileExistsError
        If the file exists, and `overwrite` is not set.
    ImportError
        If the package `onnx` is not installed: it comes with likelier[onnx].

    Notes
    -----
    A model of numbers has one input `X` of shape (n, p). A model of a table with categories has an input of
    shape (n, 1) for each column, by its name: numbers, booleans as 0 and 1, dates as days since 1970,
    categories as strings (or whole numbers, if they were such). NaN and the empty string are missing
    values; a category that the fit has not seen is treated as in `predict`.

    The outputs are `label` (n,) and `probabilities` (n, K); for classifiers without probabilities `scores`
    (n, K) in their place; for regressions `prediction` (n, q) alone. A row that a linear model cannot
    answer because a value is missing has NaN for an answer.

    Examples
    --------
    >>> import likelier as lk
    >>> model = lk.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> [output.name for output in lk.to_onnx(model).graph.output]
    ['label', 'probabilities']
    """
    if dtype not in onnx.TYPES:
        raise ValueError(f"dtype must be one of {', '.join(map(repr, onnx.TYPES))}; got {dtype!r}.")
    if path is not None and not overwrite and Path(path).exists():
        raise FileExistsError(f"{os.fspath(path)} exists: give another path, or overwrite=True.")
    program = described(model)
    try:
        proto = onnx.model_of(program, dtype)
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ImportError("to_onnx needs the package onnx: pip install 'likelier[onnx]'") from None
    if path is not None:
        storage.write(Path(path), proto.SerializeToString())
    return proto


def inputs_of(model: Any, X: Any, dtype: str = "float64") -> dict[str, Any]:
    """The rows of a pandas data frame, or of an array, as the inputs of the ONNX model."""
    program = described(model)
    if columns.one_matrix(program):
        held = X if hasattr(X, "columns") else {name.name: X[:, j] for j, name in enumerate(program.inputs)}
        return {
            columns.TABLE: np.stack([_numbers(held[each.name], dtype) for each in program.inputs], axis=1)
        }
    return {each.name: _cells(each, X[each.name], dtype)[:, None] for each in program.inputs}


def _numbers(cells: Any, dtype: str) -> NDArray[Any]:
    """Numbers, NaN where missing; of dates the days since 1970."""
    values = np.asarray(cells)
    if values.dtype.kind == "M":
        ticks = values.astype("datetime64[us]")
        return np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / DAY).astype(dtype)
    if values.dtype.kind == "O":
        values = np.array([np.nan if value is None else float(value) for value in values])
    return values.astype(dtype)


def _cells(each: Input, cells: Any, dtype: str) -> NDArray[Any]:
    if each.kind != "category":
        return _numbers(cells, dtype)
    kind = columns.kind_of_levels(each)
    if kind == "STRING":
        held = [columns.MISSING if value is None or value != value else str(value) for value in cells]
        return np.array(held, dtype=object)
    if kind == "INT64":
        return np.asarray(cells).astype(np.int64)
    return np.asarray(cells).astype(bool) if kind == "BOOL" else _numbers(cells, "float64")
