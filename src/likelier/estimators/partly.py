"""The door for labels of which some are missing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from likelier.data import Arrays, Source, code, frames, levels_of
from likelier.estimators import door
from likelier.estimators.collections import gathered
from likelier.estimators.sources import brought, stored
from likelier.model import levels


def training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, unlabelled: Any
) -> tuple[Source, NDArray[Any]]:
    """Rows whose y are codes of classes, -1 where there is no label; and the classes."""
    X, y, sample_weight = gathered(X, y, sample_weight)
    if stored(X):
        brought(estimator, X, y, sample_weight, known=False)
        classes = _without(levels(X.partly()), unlabelled)
        _check_some(classes)
        return X.coded(classes), classes
    y, known = _labels(estimator, y, unlabelled)
    rows = door.supervised(estimator, X, y, sample_weight, known=False)
    counts = known if rows.w is None else known & (rows.w > 0)
    if rows.w is not None:
        door.weighty(rows.w)
    classes = levels_of(y[counts])
    _check_some(classes)
    codes = np.full(len(y), -1, dtype=np.int32)
    codes[known] = code(y[known], classes)
    return Arrays(rows.X, codes, rows.w, names=rows.names), classes


def _labels(estimator: Any, y: Any, unlabelled: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Raw labels, and which of them are labels."""
    if y is None:
        door.labels_of(estimator, y)
    door.no_name(y)
    door._no_mask(y, "y")
    y = _listed(frames.values_of(y))
    if not (type(y) is np.ndarray and y.ndim == 1):
        y = np.asarray(column_or_1d(y, warn=True))
    known = ~missing(y)
    if not door._unlabelled(unlabelled):
        known[known] = np.asarray(y[known] != unlabelled, dtype=np.bool_)
    y = _numbers(y, known)
    if known.any():
        door.labels_of(estimator, y[known])
    return y, known


def _listed(y: Any) -> Any:
    """A list of which some are missing as objects: NumPy would make text of NaN among names."""
    if not isinstance(y, list | tuple):
        return y
    objects = np.asarray(y, dtype=object)
    return objects if objects.ndim == 1 and missing(objects).any() else y


def _numbers(y: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Labels that are numbers but for the missing ones as numbers: 0 stands for those."""
    if y.dtype.kind != "O" or not known.any():
        return y
    some = np.array(y[known].tolist())
    if some.ndim != 1 or some.dtype.kind not in "biuf":
        return y
    numbers = np.zeros(len(y), dtype=some.dtype)
    numbers[known] = some
    return numbers


def missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Of which rows the label is: None, NaN, NaT or NA."""
    if y.dtype.kind == "O":
        return np.fromiter(map(door._unlabelled, y), np.bool_, len(y))
    if y.dtype.kind in "mM":
        return np.asarray(np.isnat(y))
    return np.asarray(np.isnan(y)) if y.dtype.kind in "fc" else np.zeros(len(y), dtype=np.bool_)


def _without(classes: NDArray[Any], unlabelled: Any) -> NDArray[Any]:
    return classes if door._unlabelled(unlabelled) else classes[np.asarray(classes != unlabelled)]


def _check_some(classes: NDArray[Any]) -> None:
    if len(classes) == 0:
        raise ValueError(
            "no row has a label: with none at all there are no classes to learn. For rows without labels "
            "use GaussianMixture."
        )
