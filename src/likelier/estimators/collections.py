"""The door for Dask collections: as sources to fit, and block by block, lazily, to answer."""

import warnings
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from likelier.data.collected import collected, is_collection, whole_rows
from likelier.estimators.precision import answer

M = TypeVar("M", bound=Callable[..., Any])


def gathered(X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """X, y and weights as they are; of Dask collections, a source that brings y and weights along."""
    if is_collection(X):
        return collected(X, y, sample_weight), None, None
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if is_collection(given):
            raise TypeError(
                f"{name} is a Dask collection, and X is not: compute it first, or make X one of the same "
                "partitions."
            )
    return X, y, sample_weight


def by_block(method: M) -> M:
    """A method that answers rows one by one: of a Dask collection, a lazy array of answers."""

    @wraps(method)
    def answering(self: Any, X: Any, *given: Any, **named: Any) -> Any:
        if is_collection(X):
            return _mapped(partial(_answered, method.__name__, self, given, named), X)
        return answer(self, method.__name__, X, method(self, X, *given, **named))

    return answering  # type: ignore[return-value]


def _answered(name: str, estimator: Any, given: Any, named: Any, X: Any) -> Any:
    """Answers to a block; where a filter has left none of its rows, none."""
    if X.shape[0] == 0:
        return getattr(estimator, name)(_few(X, X.shape[1]), *given, **named)[:0]
    return getattr(estimator, name)(X, *given, **named)


def _mapped(answer: Callable[[Any], Any], X: Any) -> Any:
    """The answers to all blocks; nothing is computed but those to a row of ones: to know their shape."""
    import dask.array as da

    X = whole_rows(X)
    array = hasattr(X, "chunks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of made-up cells; of names and columns, each block warns
        like = answer(_few(X._meta, X.shape[1]))[:0]
    if not array:  # a frame of answers, or an array
        return X.map_partitions(answer, meta=like)
    shape = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], like.shape[1:])}
    name = f"likelier-answer-{uuid4().hex}"
    return da.map_blocks(answer, X, dtype=like.dtype, meta=like, name=name, **shape)


def _few(X: Any, p: int) -> Any:
    """A row of p ones, or, of a frame, such as Dask makes up, of the type of X."""
    if isinstance(X, np.ndarray):
        return np.ones((1, p), dtype=X.dtype)
    if hasattr(X, "tocsr"):
        return type(X)(np.ones((1, p), dtype=X.dtype))
    from dask.dataframe.utils import meta_nonempty

    return meta_nonempty(X)
