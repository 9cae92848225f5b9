"""Validation: everything that a user passes in is checked here, and nowhere below."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_feature_names,
    check_array,
    column_or_1d,
)

from likelier.array_types import rows_that_count
from likelier.data import Arrays, BadCell, Block, Source, block, code, frames, levels_of, refuse_cells
from likelier.data.dask import is_collection
from likelier.data.design import encoding_threads
from likelier.display import some_of
from likelier.engines import chunks
from likelier.estimators.base import column_names
from likelier.estimators.sources import (
    as_fitted,
    brought,
    gathered,
    stored,
    takes_categories,
    unaccompanied,
)
from likelier.estimators.tables import feature_names as feature_names
from likelier.estimators.tables import known_columns, learned_frame
from likelier.estimators.tables import opened as opened
from likelier.model import levels
from likelier.warning_location import outside

# The door: everything a user hands in is checked here, and nowhere below.
#
# The common cases (a 2-D NumPy array of numbers, a CSR matrix) pass in a few microseconds and are never
# copied; whether their cells are finite is checked by the first kernel that reads them. Frames are read
# column by column, where they lie. All else (lists, other sparse matrices, wrong inputs) goes through
# scikit-learn's own checks.

CSR_MATRICES = (csr_array, csr_matrix)


def _plain(X: Any) -> bool:
    """Numbers in a 2-D array or in CSR, with rows and columns: no conversion is needed, and no names."""
    if type(X) is np.ndarray or type(X) in CSR_MATRICES:
        return X.ndim == 2 and X.dtype.char in "dfbBhHiIlLqQe?" and min(X.shape) > 0
    return False


def no_name(y: Any) -> None:
    """Refuse the name of a column for the column."""
    if isinstance(y, str):
        raise ValueError(
            f"y should be a 1d array, got a string instead: y={y!r:.80}. If it names a column of X, hand "
            f"in the column: fit(X.drop(columns={y!r:.80}), X[{y!r:.80}])."
        )


def rows_of(estimator: Any, X: Any) -> Block:
    """X to train on, opened."""
    if _plain(X):
        return block(X)
    if isinstance(X, nw.DataFrame):
        return _frame_rows(estimator, X)
    if takes_categories(estimator) and _objects(X):
        return frames.of_objects(X)
    _no_mask(X, "X")
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False, estimator=estimator, input_name="X")
    if X.dtype.kind in "mM":
        raise ValueError("Input X contains dates or times: convert them to numbers.")
    if X.dtype.kind not in "fiub" or X.dtype.char == "g":
        X = X.astype(np.float64)
    return block(X)


def _frame_rows(estimator: Any, X: frames.Frame) -> Block:
    for size, what in zip(X.shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required by "
                f"{type(estimator).__name__}."
            )
    return frames.columns(X, categories=takes_categories(estimator))


def _objects(X: Any) -> bool:
    """A table of objects or strings, with rows and columns."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "OU" and X.size > 0


def _no_mask(values: Any, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise ValueError(f"Input {name} contains masked cells: drop or fill them in first.")


def known_rows(estimator: Any, X: Any) -> Source:
    """X to predict: columns as they were in `fit`."""
    X, _, _ = gathered(X)
    if stored(X):
        return as_fitted(estimator, X, y=False)
    if isinstance(X, Block):  # of a chunk: it has been here before
        return Arrays(X, names=column_names(estimator))
    return Arrays(_known_block(estimator, opened(X)), names=column_names(estimator))


def weighted_rows(estimator: Any, X: Any, sample_weight: Any) -> Source:
    """X to predict, some rows more than others."""
    if is_collection(X):
        return as_fitted(estimator, gathered(X, None, sample_weight)[0], y=True)
    rows = known_rows(estimator, X)
    if sample_weight is None:
        return rows
    if not isinstance(rows, Arrays):
        raise ValueError("sample_weight requires rows in memory, but X is a source: load its rows first.")
    w = weights_of(sample_weight, len(rows))
    weighty(w)
    return replace(rows, w=w)


def _known_block(estimator: Any, X: Any) -> Block:
    design = vars(estimator).get("_design")
    if design is not None:
        columns = known_columns(estimator, design, X)
        return design.rows(columns, threads=encoding_threads(columns.shape[0]))  # type: ignore[no-any-return]
    _check_names(estimator, X)
    rows = rows_of(estimator, X)
    _check_width(estimator, rows.shape[1])
    return rows


def _check_names(estimator: Any, X: Any) -> None:
    """Names and order as in `fit`. (scikit-learn's check opens a frame once more: 80 µs.)"""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None and _plain(X):
        return
    if names is None or not isinstance(X, nw.DataFrame) or X.columns != list(names):
        _check_feature_names(estimator, X, reset=False)


def dense_rows(estimator: Any, X: Any, *, gaps: bool = False) -> NDArray[np.float64]:
    """X to predict, as an array of float64, each cell finite or, with gaps, missing: for NumPy code."""
    source = known_rows(estimator, X)
    with naming(source):
        return all_rows(source, gaps=gaps)


def all_rows(source: Source, *, gaps: bool) -> NDArray[np.float64]:
    """X as one array of float64, each cell finite or, with gaps, missing."""
    pieces = []
    for chunk in chunks(source):
        X = chunk.X.to_array()
        refuse_cells(X, gaps=gaps, first=chunk.first)
        pieces.append(X)
    return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]


def fitted(estimator: Any) -> None:
    """Refuse to answer before `fit`. (scikit-learn's check reads all tags first: 20 µs a call.)"""
    if "_model" not in vars(estimator):
        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate "
            "arguments before using this estimator."
        )


def _check_width(estimator: Any, p: int) -> None:
    if p != estimator.n_features_in_:
        raise ValueError(
            f"X has {p} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )


def weighty(n: Any) -> None:
    """Refuse weights that leave no row; n: what was counted."""
    if not (n.any() if isinstance(n, np.ndarray) else n):
        raise ValueError("Sample weights are all zero: there is no row to fit.")


def check_sound(statistics: Any) -> None:
    """Refuse statistics of no rows, and those that have overflowed."""
    weighty(statistics.n)
    if not statistics.finite():
        raise ValueError(
            "Input X, y or sample_weight contains values so large that their sums of squares overflow: "
            "rescale such columns."
        )


def labels_of(estimator: Any, y: Any) -> NDArray[Any]:
    """Raw labels, one per row."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    if type(y) is not np.ndarray:
        no_name(y)
        _no_mask(y, "y")
        y = frames.values_of(y)
    plain = type(y) is np.ndarray and y.ndim == 1
    labels: NDArray[Any] = y if plain else np.asarray(column_or_1d(y, warn=True))
    _check_labels(labels)
    return labels


def _check_labels(labels: NDArray[Any]) -> None:
    """Refuse numbers that are not whole, and rows without a label."""
    kind = labels.dtype.kind
    if kind in "fc":
        _check_float_labels(labels)
    elif (kind == "O" and any(map(_unlabelled, labels))) or (kind in "mM" and np.isnat(labels).any()):
        raise ValueError("Input y contains NaN: every row to train on needs a label.")


def _unlabelled(label: Any) -> bool:
    """None, NaN, NaT or pandas' NA: what does not equal itself, or does not say."""
    if label is None:
        return True
    same = label == label
    return not (isinstance(same, bool | np.bool_) and same)


def classes_of(estimator: Any, classes: Any) -> NDArray[Any]:
    """The labels that can come, sorted, each once."""
    if isinstance(classes, str | bytes | set | frozenset | dict):
        raise ValueError(f"classes must be a list of labels, a 1d array; got {type(classes).__name__}")
    if np.ndim(classes) != 1:
        raise ValueError("classes must be a list of labels: a 1d array")
    return levels_of(labels_of(estimator, np.asarray(classes)))


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


def known_classes(estimator: Any, classes: Any) -> NDArray[Any]:
    """All labels that can ever come to a `partial_fit`, which says them at its first call."""
    given = None if classes is None else classes_of(estimator, classes)
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


def refuse_new(source: Source, known: NDArray[Any]) -> NDArray[Any]:
    """The classes of a source, of which those that are none of the known ones are refused."""
    found = levels(source)
    new = found[code(found, known) < 0]
    if len(new):
        raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {known}")
    return found


def _check_float_labels(y: NDArray[Any]) -> None:
    if not np.isfinite(y).all():
        what = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(f"Input y contains {what}: every row to train on needs a label.")
    if y.dtype.kind == "c" or (y != np.floor(y)).any():
        raise ValueError(
            f"Unknown label type: {type_of_target(y, input_name='y')}. Maybe you are trying to fit a "
            "classifier, which expects discrete classes, on a regression target with continuous values."
        )


LEAST_WEIGHT = 1e-300  # of all rows: what is below has fewer digits


def weights_of(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """Weights, one per row, not negative: weight 2 is the row twice, weight 0 the row absent."""
    if sample_weight is None:
        return None
    _no_mask(sample_weight, "sample_weight")
    w = np.asarray(frames.values_of(sample_weight), dtype=np.float64)
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if w.shape != (n,):
        raise ValueError(f"sample_weight.shape == {w.shape}, expected ({n},)!")
    if not np.isfinite(w).all():
        raise ValueError("Input sample_weight contains NaN or infinity.")
    if (w < 0).any():
        row = int(np.argmax(w < 0))
        raise ValueError(f"Negative values in data passed to `sample_weight`: row {row} has {w[row]}.")
    with np.errstate(over="ignore"):
        total = float(w.sum())
    if not np.isfinite(total) or 0 < total < LEAST_WEIGHT:
        how = (
            "large that their sum overflows: divide"
            if total > 1
            else "small that digits are lost: multiply"
        )
        raise ValueError(f"Input sample_weight contains values so {how} all weights by one number.")
    return w


def same_length(rows: Block, labels: NDArray[Any]) -> None:
    """Refuse labels for another number of rows."""
    _same_rows(rows.shape[0], len(labels))


def _same_rows(of_X: int, of_y: int) -> None:
    if of_X != of_y:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {of_X} rows, y has {of_y}."
        )


def training(estimator: Any, X: Any, y: Any, sample_weight: Any, *, known: bool = False) -> Source:
    """All that `fit` takes, checked, as a source; `known`: the columns are those of an earlier fit."""
    if not known and type(y) is np.ndarray and y.ndim == 1 and _plain(X) and sample_weight is None:
        _check_labels(y)  # arrays need no further questions
        _same_rows(X.shape[0], len(y))
        return Arrays(block(X), y)
    if type(X) is not np.ndarray or type(y) is not np.ndarray or sample_weight is not None:
        X, y, sample_weight = gathered(X, y, sample_weight)
    if type(X) is not np.ndarray and stored(X):
        source = brought(estimator, X, y, sample_weight, known=known)
        if len(source.targets) > 1:
            raise ValueError(f"{type(estimator).__name__} has one target; got {', '.join(source.targets)}.")
        return source
    if y is None:
        labels_of(estimator, y)
    labels = labels_of(estimator, y)
    return supervised(estimator, X, labels, sample_weight, known=known)


def unlabelled(estimator: Any, X: Any, sample_weight: Any, *, known: bool) -> Source:
    """Rows without y, checked, as a source; `known`: the columns are those of an earlier fit."""
    X, _, sample_weight = gathered(X, None, sample_weight)
    if stored(X):
        return unaccompanied(estimator, X, sample_weight, known=known)
    X = opened(X)
    if not known and isinstance(X, nw.DataFrame):
        found = learned_frame(estimator, X, weights_of(sample_weight, X.shape[0]))
        if found is not None:
            return found
    rows = _known_block(estimator, X) if known else rows_of(estimator, X)
    names = column_names(estimator) if known else feature_names(X)
    return Arrays(rows, None, weights_of(sample_weight, rows.shape[0]), names=names)


def supervised(estimator: Any, X: Any, y: NDArray[Any], sample_weight: Any, *, known: bool) -> Arrays:
    """Rows with a y that is checked already."""
    if isinstance(X, Arrays):  # of a formula: columns that are made already
        return replace(X, y=y, w=weights_of(sample_weight, len(y)))
    X = opened(X)
    if not known and isinstance(X, nw.DataFrame) and X.shape[0] == len(y):
        found = learned_frame(estimator, X, weights_of(sample_weight, len(y)))
        if found is not None:
            return replace(found, y=y)
    rows = _known_block(estimator, X) if known else rows_of(estimator, X)
    if rows.shape[0] != len(y):
        same_length(rows, y)
    names = column_names(estimator) if known else feature_names(X)
    return Arrays(rows, y, weights_of(sample_weight, len(y)), names=names)


def _by_label(priors: Mapping[Any, Any], classes: NDArray[Any] | None) -> list[Any]:
    """{label: prior} in the order of the classes, each of which must have one."""
    labels = [] if classes is None else classes.tolist()
    unknown = [label for label in priors if label not in labels]
    missing = [label for label in labels if label not in priors]
    if unknown:
        raise ValueError(f"priors must have the classes {labels} as keys; got {unknown[0]!r}.")
    if missing:
        raise ValueError(
            f"priors must have an entry for each of the classes {labels}; {missing[0]!r} has none."
        )
    return [priors[label] for label in labels]


def priors_of(
    priors: Any,
    K: int,
    *,
    strict: bool = True,
    name: str = "Priors",
    classes: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Class priors: K of them, or {label: prior}; not negative, their sum 1 (strict), or else made so."""
    if isinstance(priors, Mapping):
        priors = _by_label(priors, classes)
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != (K,):
        raise ValueError(
            f"Number of priors must match number of classes: got shape {given.shape} for {K} classes."
        )
    if not (given >= 0).all():
        raise ValueError(f"{name} must be non-negative; got {given.min():g}.")
    total = given.sum()
    if not np.isfinite(total) or total == 0 or (strict and abs(total - 1.0) > 1e-5):
        raise ValueError(f"The sum of the priors should be 1; got {total:g}.")
    return np.asarray(given / total)


def number(name: str, value: Any, low: float, high: float = np.inf, *, whole: bool = False) -> float:
    """A hyper-parameter that is a number from `low` to `high`."""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    fits = isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high
    if not fits or value == np.inf:
        raise ValueError(f"{name} must be {_range(low, high, whole=whole)}; got {value!r}.")
    return float(value)


def _range(low: float, high: float, *, whole: bool) -> str:
    """Words for the numbers from `low` to `high`; the extremes of float64 stand for 0 and no bound."""
    limits = np.finfo(np.float64)
    kind = "an integer" if whole else "a finite number"
    if low == -np.inf:
        return kind
    if high < limits.max:
        return f"{kind} from {low:g} to {high:g}"
    return f"{kind} > 0" if low == limits.tiny else f"{kind} >= {low:g}"


def allowance(name: str, value: Any) -> float:
    """What losses weigh against a penalty: above 0; infinite, there is none."""
    kinds = (int, float, np.integer, np.floating)
    if not isinstance(value, kinds) or isinstance(value, bool) or not value >= np.finfo(np.float64).tiny:
        raise ValueError(f"{name} must be a number > 0 (np.inf for no penalty); got {value!r}.")
    return float(value)


def boolean(name: str, value: Any) -> bool:
    """A hyper-parameter that is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def columns_of(estimator: Any, columns: Any) -> NDArray[np.intp]:
    """Column numbers from numbers or names; each known, none twice."""
    return numbers_of(estimator.n_features_in_, getattr(estimator, "feature_names_in_", None), columns)


def numbers_of(p: int, of_columns: NDArray[Any] | None, columns: Any) -> NDArray[np.intp]:
    """Column numbers from numbers or names, of p columns that may have names."""
    names = [] if of_columns is None else list(of_columns)
    listed = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    known = ", ".join(repr(str(name)) for name in names) or f"0 to {p - 1}"
    found = []
    for column in listed:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"no column named {column!r}; columns: {known}")
            found.append(names.index(column))
        elif isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < p:
            found.append(int(column))
        else:
            raise ValueError(f"no column {column!r}; columns: {known}")
    if len(set(found)) != len(found):
        raise ValueError(f"a column is named twice in {listed}")
    return np.array(found, dtype=np.intp)


def named(names: NDArray[Any] | None, columns: Iterable[int]) -> str:
    """Some columns for a message: by name if they have one, and not more than ten."""
    return some_of([str(j) if names is None else repr(str(names[j])) for j in columns])


@contextmanager
def naming(source: Source, whom: str = "") -> Iterator[None]:
    """Errors about a cell of X say the column's name, if it has one, how to find the row, and for whom."""
    try:
        yield
    except BadCell as bad:
        name = bad.name
        if name is None and source.names is not None:
            name = str(source.names[bad.column])
        raise bad.named(name, source.place(bad.row), whom) from None


# The door for labels of which some are missing.


def partly_labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any, unlabelled: Any
) -> tuple[Source, NDArray[Any]]:
    """Rows whose y are codes of classes, -1 where there is no label; and the classes."""
    X, y, sample_weight = gathered(X, y, sample_weight)
    if stored(X):
        X = brought(estimator, X, y, sample_weight, known=False)
        classes = _without(levels(X.partly()), unlabelled)
        _check_some(classes)
        return X.coded(classes), classes
    y, known = _labels(estimator, y, unlabelled)
    rows = supervised(estimator, X, y, sample_weight, known=False)
    counts = rows_that_count(known, rows.w)
    if rows.w is not None:
        weighty(rows.w)
    classes = levels_of(y[counts])
    _check_some(classes)
    codes = np.full(len(y), -1, dtype=np.int32)
    codes[known] = code(y[known], classes)
    return Arrays(rows.X, codes, rows.w, names=rows.names), classes


def _labels(estimator: Any, y: Any, unlabelled: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Raw labels, and which of them are labels."""
    if y is None:
        labels_of(estimator, y)
    no_name(y)
    _no_mask(y, "y")
    y = _listed(frames.values_of(y))
    if not (type(y) is np.ndarray and y.ndim == 1):
        y = np.asarray(column_or_1d(y, warn=True))
    known = ~missing(y)
    if not _unlabelled(unlabelled):
        known[known] = np.asarray(y[known] != unlabelled, dtype=np.bool_)
    y = _numbers(y, known)
    if known.any():
        labels_of(estimator, y[known])
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
        return np.fromiter(map(_unlabelled, y), np.bool_, len(y))
    if y.dtype.kind in "mM":
        return np.asarray(np.isnat(y))
    return np.asarray(np.isnan(y)) if y.dtype.kind in "fc" else np.zeros(len(y), dtype=np.bool_)


def _without(classes: NDArray[Any], unlabelled: Any) -> NDArray[Any]:
    return classes if _unlabelled(unlabelled) else classes[np.asarray(classes != unlabelled)]


def _check_some(classes: NDArray[Any]) -> None:
    if len(classes) == 0:
        raise ValueError(
            "no row has a label: with none at all there are no classes to learn. For rows without labels "
            "use GaussianMixture."
        )
