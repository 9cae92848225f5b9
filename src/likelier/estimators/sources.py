"""Sources as input of estimators: `scan`, Dask collections, and what each estimator accepts."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial, wraps
from typing import Any, TypeGuard, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from likelier.data import SkippedWarning, Stored, Widening, columns_of
from likelier.data.dask import collected, is_collection, whole_rows
from likelier.data.design import Design, Designed
from likelier.data.files.scan import Scan
from likelier.data.formula import MADE_UP
from likelier.display import some_of
from likelier.estimators.tables import known_source, learned_source
from likelier.warning_location import outside

# The door for Dask collections: as sources to fit, and block by block, lazily, to answer.

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
        return _answer(self, method.__name__, X, method(self, X, *given, **named))

    return answering  # type: ignore[return-value]


def _answered(name: str, estimator: Any, given: Any, named: Any, X: Any) -> Any:
    """Answers to a block; where a filter has left none of its rows, none."""
    if X.shape[0] == 0:
        return _of_few(partial(_answered, name, estimator, given, named), X, X.shape[1])
    return getattr(estimator, name)(X, *given, **named)


def _mapped(answer: Callable[[Any], Any], X: Any) -> Any:
    """The answers to all blocks; nothing is computed but those to a row of ones: to know their shape."""
    import dask.array as da

    X = whole_rows(X)
    array = hasattr(X, "chunks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of made-up cells; of names and columns, each block warns
        like = _of_few(answer, X._meta, X.shape[1])
    if not array:  # a frame of answers, or an array
        return X.map_partitions(answer, meta=like)
    shape = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], like.shape[1:])}
    name = f"likelier-answer-{uuid4().hex}"
    return da.map_blocks(answer, X, dtype=like.dtype, meta=like, name=name, **shape)


def _of_few(answer: Callable[[Any], Any], X: Any, p: int) -> Any:
    """No answers, of the shape and type of those to rows like X, of p columns."""
    token = MADE_UP.set(True)
    try:
        return answer(_few(X, p))[:0]
    finally:
        MADE_UP.reset(token)


def _few(X: Any, p: int) -> Any:
    """A row of p ones, or, of a frame, such as Dask makes up, of the type of X."""
    if isinstance(X, np.ndarray):
        return np.ones((1, p), dtype=X.dtype)
    if hasattr(X, "tocsr"):
        return type(X)(np.ones((1, p), dtype=X.dtype))
    from dask.dataframe.utils import meta_nonempty

    return meta_nonempty(X)


# Validation of sources, such as those of `scan`, which include y and weights.

S = TypeVar("S", bound=Stored)


def stored(X: Any) -> TypeGuard[Stored]:
    """Whether X is a source."""
    return hasattr(type(X), "parts") and isinstance(X, Stored)  # of a frame, the latter asks all columns


def brought(estimator: Any, X: Stored, y: Any, sample_weight: Any, *, known: bool) -> Stored:
    """A source to train on, checked; `known`: the columns are those of an earlier fit."""
    if y is not None or sample_weight is not None:
        raise ValueError(
            "X is a source, which includes y and weights: name their columns, as in "
            "scan(path, target='y', weight='w'), and pass neither y nor sample_weight."
        )
    if not X.targets:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the source has no "
            "target: name its column, as in scan(path, target='y')."
        )
    return as_fitted(estimator, X, y=True) if known else _new(estimator, X)


def unaccompanied(estimator: Any, X: Stored, sample_weight: Any, *, known: bool) -> Stored:
    """A source of rows without y, checked; `known`: the columns are those of an earlier fit."""
    if sample_weight is not None:
        raise ValueError(
            "X is a source, which includes weights: name their column, as in scan(path, weight='w')."
        )
    if X.targets:
        raise ValueError(
            f"{type(estimator).__name__} learns without a target, and the source has one "
            f"({', '.join(X.targets)}): scan it without, as in scan(path, features=[...])."
        )
    return as_fitted(estimator, X, y=True) if known else _new(estimator, X)


def _new(estimator: Any, X: Stored) -> Stored:
    """A source to learn the columns from: as design matrices, if it holds more than numbers."""
    if isinstance(X, Designed):
        return X
    found = learned_source(estimator, X)
    return usable(estimator, X) if found is None else found


def as_fitted(estimator: Any, X: Stored, *, y: bool) -> Stored:
    """The columns that were fitted, by their names; others are not read."""
    kind, p = type(estimator).__name__, estimator.n_features_in_
    names = getattr(estimator, "feature_names_in_", None)
    design = vars(estimator).get("_design")
    if design is not None:
        return _as_designed(estimator, design, X, y=y)
    if names is not None and X.names is not None:
        columns = [str(name) for name in names]
        if y:  # to learn from, a table has all columns, as they were
            return usable(estimator, X.taking(columns, y=y))
        X = completed(estimator, X, columns).taking(columns, y=y)
        return usable(estimator, as_learned(estimator, X))
    if isinstance(X, Widening) and X.p < p:
        X = X.widened(p)
    if X.p != p:
        raise ValueError(f"X has {X.p} features, but {kind} is expecting {p} features as input.")
    if names is not None:
        warnings.warn(
            f"X does not have valid feature names, but {kind} was fitted with feature names",
            stacklevel=outside(),
        )
    elif X.names is not None:
        warnings.warn(
            f"X has feature names, but {kind} was fitted without feature names", stacklevel=outside()
        )
    return usable(estimator, X.taking(columns_of(X), y=y))


def _as_designed(estimator: Any, design: Design, X: Stored, *, y: bool) -> Stored:
    """The columns of a table as the design matrix of `fit`; absent ones are missing, where they may be."""
    columns = design.names_in
    there = X if y or X.names is None else completed(estimator, X, columns)
    held = set(columns if there is X else columns_of(X))
    absent = frozenset(j for j, name in enumerate(columns) if name not in held)
    return replace(known_source(estimator, design, there, y=y), absent=absent)


def integrates(estimator: Any) -> bool:
    """Whether a model predicts from the columns that are there, the others integrated out."""
    return has_types(estimator) and bool(estimator.__sklearn_tags__().input_tags.allow_nan)


def has_types(estimator: Any) -> bool:
    """Whether the columns of a fit are numbers or categories for good."""
    return bool(getattr(type(estimator), "_columns_have_types", True))


def completed(estimator: Any, X: S, columns: list[str]) -> S:
    """The source with all columns that were fitted: a generative model integrates out what is not there."""
    if not (isinstance(X, Scan) and integrates(estimator)):
        return X
    texts = estimator._categories() if takes_categories(estimator) else ()
    found, lost = X.lacking(columns, texts)
    if not lost or len(lost) == len(columns):
        return X
    some = some_of([repr(name) for name in lost])
    warnings.warn(
        f"{X.files[0].path}: no column named {some}, which {type(estimator).__name__} was fitted with: its "
        "cells count as missing, and are integrated out.",
        SkippedWarning,
        stacklevel=outside(),
    )
    return found


def as_learned(estimator: Any, source: S) -> S:
    """The source with columns of CSV that look like text read as numbers, where the model knows numbers.

    A cell that is none is then named, with its line.
    """
    if not (isinstance(source, Scan) and source.delimited and has_types(estimator)):
        return source
    words = set(estimator._categories()) if takes_categories(estimator) else set()
    texts = [name for name in source.texts(list(source.names)) if name not in words]
    return source.with_types(dict.fromkeys(texts, "number")) if texts else source


def takes_categories(estimator: Any) -> bool:
    """Whether columns of text are categories to it; others take numbers only."""
    return bool(getattr(type(estimator), "_takes_categories", False))


def usable(estimator: Any, source: S) -> S:
    """The source with text as categories, if it may be; what cannot be used is refused, all at once."""
    columns = columns_of(source)
    others = source.others(columns)
    if takes_categories(estimator):
        texts = source.texts(columns) | {str(name) for name in estimator._categories()}
        source = source.categorised(texts) if texts else source
        others = {name: kind for name, kind in others.items() if name not in texts}
    _only_numbers(estimator, others)
    return source


def numeric(estimator: Any, source: Stored, columns: Iterable[str]) -> None:
    """Refuse columns that are no numbers."""
    _only_numbers(estimator, source.others(list(columns)))


def _only_numbers(estimator: Any, others: Mapping[str, str]) -> None:
    """Refuse columns that hold anything else, all of them at once."""
    if others:
        which = some_of([f"{name!r} ({kind})" for name, kind in others.items()])
        raise ValueError(
            f"{type(estimator).__name__} takes numbers, and these columns hold none: {which}. Leave them "
            "out, as in scan(path, features=[...]), or encode them as numbers first (see "
            "likelier.DesignMatrix)."
        )


# Single precision: float32 in, float32 out, where scikit-learn has it so. All arithmetic is in double.


def _answer(estimator: Any, method: str, X: Any, out: Any) -> Any:
    """What a method answers: in single precision if the rows of the fit and those of X are."""
    if method not in getattr(estimator, "_single_answers", ()):
        return out
    model = vars(estimator).get("_model")
    return rounded(out) if getattr(model, "single", False) and _is_single(X) else out


def _is_single(X: Any) -> bool:
    kinds = [X.dtype] if hasattr(X, "dtype") else list(getattr(X, "dtypes", ()))
    return bool(kinds) and all(kind == np.float32 for kind in kinds)


def rounded(value: Any) -> Any:
    """Numbers in single precision: arrays and lists of doubles, and single ones."""
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, float | np.floating):
        return _narrowed(np.asarray(value))[()]
    isfloat = isinstance(value, np.ndarray) and value.dtype == np.float64
    return _narrowed(value) if isfloat else value


def _narrowed(values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what is beyond its range is infinite there
        return values.astype(np.float32)
