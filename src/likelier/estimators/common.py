"""What classifiers share: labels, scores, decisions of linear models, class weights."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import optional
from likelier.array_types import Floats
from likelier.data import Arrays, Source, code, levels_of
from likelier.data.transforms import ByClass, times
from likelier.estimators import validation
from likelier.estimators.base import column_names
from likelier.estimators.predictions import found_share, itself
from likelier.estimators.sources import gathered, stored
from likelier.model import levels, surveyed
from likelier.warning_location import outside


class _Terms(NamedTuple):
    values: Floats  # (n, K, p)
    base: Floats  # (K,)


class Contributions(_Terms):
    """Contribution of each column to the score of each class: base + values.sum(axis=2) is the score.

    A named tuple of two arrays. `np.asarray` of it is `values`.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_classes, n_features)
        Contribution of each column.
    base : ndarray of shape (n_classes,)
        Score of a row without any value.
    classes : ndarray of shape (n_classes,)
        Class labels.
    names : list of str
        Column names.
    """

    classes: NDArray[Any]
    names: list[str]

    @classmethod
    def of(cls, model: Any, values: Floats, base: Floats) -> Self:
        """Of a fitted model."""
        new = cls(values, base)
        names = column_names(model)
        new.classes = model.classes_
        new.names = [f"x{j}" for j in range(values.shape[2])] if names is None else list(map(str, names))
        return new

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def to_frame(self) -> Any:
        """The contributions as a pandas DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            One line for each row and class; columns are "(base)" and the columns of X.
        """
        pd = optional.pandas()

        n, K, p = self.values.shape
        index = pd.MultiIndex.from_product([range(n), self.classes], names=["row", "class"])
        cells = np.column_stack([np.tile(self.base, n), self.values.reshape(n * K, p)])
        return pd.DataFrame(cells, index=index, columns=["(base)", *self.names])


# Weights by class.


def weights_by_class(class_weight: Any, classes: NDArray[Any], n: Floats) -> Floats | None:
    """scikit-learn's `class_weight`: None, a number for each label (1 if not named), or "balanced"."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be None, 'balanced' or a dict {{label: weight}}; got {class_weight!r}."
            )
        seen = n > 0  # `partial_fit` may know of classes that have not come yet
        return np.where(seen, n.sum() / (len(n) * np.where(seen, n, 1.0)), 0.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict {{label: weight}}; got {class_weight!r}."
        )
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    missed = [label for label in known if label not in class_weight]
    if unknown and missed:  # a label misspelt, most likely
        raise ValueError(
            f"The classes, {missed}, are not in class_weight, which has {unknown} that y does not have"
        )
    found = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    if not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(f"class_weight must have finite weights >= 0; got {class_weight!r}.")
    return found


def weighted(source: Source, totals: Floats, factor: Floats | None) -> tuple[Source, Floats]:
    """Rows and class weights, times a number by class; of rows in memory once and for all passes."""
    if factor is None:
        return source, totals
    if isinstance(source, Arrays):
        return replace(source, w=times(factor, source.y, source.w)), totals * factor
    return ByClass(source, factor), totals * factor


def warn_of_many(K: int, n: int) -> None:
    """As scikit-learn does, where most rows have a class of their own."""
    if n > 20 and K > n / 2:
        warnings.warn(
            f"The number of unique classes is greater than 50% of the number of samples: {K} classes in "
            f"{n} rows. `y` could represent a regression problem, not a classification problem, "
            "or it is an id.",
            UserWarning,
            stacklevel=outside(),
        )


# What all classifiers do with labels: find the classes, and judge by them.


def classes_in(source: Source) -> NDArray[Any]:
    """The classes of a source."""
    y = source.y if isinstance(source, Arrays) else None
    if isinstance(source, Arrays) and y is not None and len(source.parts(0)) == 1:
        # Labels of one part are at hand: a pass would cost more than to look at them.
        found, rows = levels_of(y if source.w is None else y[source.w > 0]), len(y)
    else:
        found, rows = surveyed(source)
    validation.weighty(len(found))
    warn_of_many(len(found), rows)
    return found


def check_sound(statistics: Any) -> None:
    """Refuse statistics of no rows, and those that have overflowed."""
    validation.weighty(statistics.n)
    if not statistics.finite():
        raise ValueError(
            "Input X, y or sample_weight contains values so large that their sums of squares overflow: "
            "rescale such columns."
        )


def known_classes(estimator: Any, classes: Any) -> NDArray[Any]:
    """All labels that can ever come to a `partial_fit`, which says them at its first call."""
    given = None if classes is None else validation.classes_of(estimator, classes)
    if "_model" not in vars(estimator):
        if given is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return given
    known: NDArray[Any] = estimator._target
    if given is not None and not np.array_equal(known, given):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}"
        )
    return known


def share_found(estimator: Any, of_arrays: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """The share of rows whose class is found; of_arrays: scikit-learn's `score`, for rows in memory."""
    X, y, sample_weight = gathered(X, y, sample_weight)
    if not stored(X):
        return float(of_arrays(X, y, sample_weight))
    validation.fitted(estimator)
    source = validation.training(estimator, X, y, sample_weight, known=True)
    return found_share(estimator, source, itself)


def refuse_new(source: Source, known: NDArray[Any]) -> NDArray[Any]:
    """The classes of a source, of which those that are none of the known ones are refused."""
    found = levels(source)
    new = found[code(found, known) < 0]
    if len(new):
        raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {known}")
    return found
