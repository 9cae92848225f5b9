"""The door for sources, such as `scan` makes, which bring y and weights along."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard, TypeVar

from likelier.callers import outside
from likelier.data import SkippedWarning, Stored, Widening, columns_of
from likelier.data.files import Scan

S = TypeVar("S", bound=Stored)


def stored(X: Any) -> TypeGuard[Stored]:
    """Whether X is a source."""
    return hasattr(type(X), "parts") and isinstance(X, Stored)  # of a frame, the latter asks all columns


def brought(estimator: Any, X: Stored, y: Any, sample_weight: Any, *, known: bool) -> Stored:
    """A source to train on, checked; `known`: the columns are those of an earlier fit."""
    if y is not None or sample_weight is not None:
        raise ValueError(
            "X is a source, and brings y and weights along: name their columns, as in "
            "scan(path, target='y', weight='w'), and pass neither y nor sample_weight."
        )
    if not X.targets:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the source has no "
            "target: name its column, as in scan(path, target='y')."
        )
    return as_fitted(estimator, X, y=True) if known else usable(estimator, X)


def unaccompanied(estimator: Any, X: Stored, sample_weight: Any, *, known: bool) -> Stored:
    """A source of rows without y, checked; `known`: the columns are those of an earlier fit."""
    if sample_weight is not None:
        raise ValueError(
            "X is a source, and brings weights along: name their column, as in scan(path, weight='w')."
        )
    if X.targets:
        raise ValueError(
            f"{type(estimator).__name__} learns without a target, and the source has one "
            f"({', '.join(X.targets)}): scan it without, as in scan(path, features=[...])."
        )
    return as_fitted(estimator, X, y=True) if known else usable(estimator, X)


def as_fitted(estimator: Any, X: Stored, *, y: bool) -> Stored:
    """The columns that were fitted, by their names; others are not read."""
    kind, p = type(estimator).__name__, estimator.n_features_in_
    names = getattr(estimator, "feature_names_in_", None)
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
    some = ", ".join(map(repr, lost[:10])) + (f" and {len(lost) - 10} more" if len(lost) > 10 else "")
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
    return source.told(dict.fromkeys(texts, "number")) if texts else source


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
        some = [f"{name!r} ({kind})" for name, kind in others.items()]
        which = ", ".join(some[:10]) + (f" and {len(some) - 10} more" if len(some) > 10 else "")
        raise ValueError(
            f"{type(estimator).__name__} takes numbers, and these columns hold none: {which}. Leave them "
            "out, as in scan(path, features=[...]), or turn them into numbers first."
        )
