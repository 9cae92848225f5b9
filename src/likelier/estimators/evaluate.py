"""`evaluate`: how good a fitted model is on rows whose y is known."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from likelier.data import Source, levels_of
from likelier.estimators import validation
from likelier.estimators.linear_regression import LeastSquares, _targets_of
from likelier.estimators.online.classifier import OnlineClassifier
from likelier.estimators.online.rows import hashable
from likelier.estimators.predictions import (
    ClassCodes,
    Opening,
    class_predictions,
    evaluated_by_label,
    evaluated_by_value,
    in_memory,
    itself,
    probable,
    takes_blocks,
    unknown,
)
from likelier.estimators.sources import brought, gathered, numeric, stored
from likelier.evaluation import Evaluation, LabelEvaluation, LabelSums, ValueEvaluation, ValueSums


def evaluate(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Evaluation:
    """Evaluate a fitted model on rows whose y is known, in one pass.

    For a classifier the metrics are the error, log-loss, Brier score, AUC, calibration and confusion
    matrix; for a regression RMSE, MAE and R². Only sums are kept of the rows.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regression of likelier or scikit-learn.
    X : array, data frame, sparse matrix, Dask collection or scan
        The features, of any kind that the model can predict. A scan (`lk.scan`) contains y and the weights.
    y : array of shape (n,) or (n, q), default=None
        The true labels or values. Leave it out if X is a scan.
    sample_weight : array of shape (n,), default=None
        Weights of the rows; a weight of 2 counts the row twice.

    Returns
    -------
    LabelEvaluation or ValueEvaluation
        The metrics of a classifier, or of a regression; prints as a table.

    Raises
    ------
    TypeError
        If the model is not a classifier or a regression, or has several targets of classes.

    See Also
    --------
    compare : Cross-validate several models.
    progressive : Evaluate an online model on a stream.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = lk.GaussianNB().fit(X[::2], y[::2])
    >>> found = lk.evaluate(model, X[1::2], y[1::2])
    >>> found.rows
    89
    >>> round(found.accuracy, 2)
    0.93
    """
    if not hasattr(model, "predict") or not (is_classifier(model) or is_regressor(model)):
        raise TypeError(
            f"model must be a fitted classifier or regression; got a {type(model).__name__}, which "
            "predicts no y."
        )
    check_is_fitted(model)
    how = _labels if is_classifier(model) else _values
    return how(model, *gathered(X, y, sample_weight))


# ---- classifiers ---------------------------------------------------------------------------------
def _labels(model: Any, X: Any, y: Any, sample_weight: Any) -> LabelEvaluation:
    name, classes = type(model).__name__, model.classes_
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        raise TypeError(f"model must have one target; got a {name} of several: evaluate a model of each.")
    if stored(X) or takes_blocks(model):
        source, opening = _to_judge(model, X, y, sample_weight)
        sums = evaluated_by_label(model, source, opening)
        others = unknown(model, source, sums)
    else:
        sums, others = _at_once(model, X, y, sample_weight)
    return LabelEvaluation(name, classes, probable(model), others, sums=sums)


def _to_judge(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Source, Opening]:
    """Rows to read chunk by chunk, and how the model takes them."""
    if not stored(X) or takes_blocks(model):
        return validation.training(model, X, y, sample_weight, known=True), itself
    if isinstance(model, OnlineClassifier):
        return hashable(model, X, y, sample_weight)
    return _of_numbers(model, X, y, sample_weight)


def _of_numbers(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Source, Opening]:
    """For a model that is not likelier's: the columns that it knows, as arrays."""
    names = getattr(model, "feature_names_in_", None)
    source = brought(model, X, y, sample_weight, known=hasattr(model, "n_features_in_"))
    return source, partial(in_memory, None if names is None else [str(name) for name in names])


def _at_once(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[LabelSums, tuple[Any, ...]]:
    """Rows in memory, of whatever kind the model takes."""
    naming, labels = ClassCodes.of(model), validation.labels_of(model, y)
    w = validation.weights_of(sample_weight, len(labels))
    sums = LabelSums.start(naming.K, apart=True)
    answers = class_predictions(model, naming, X, partial(_rows, X))
    check_consistent_length(answers.best, labels)
    codes = naming.codes(labels)
    sums.add(answers, codes, w)
    validation.weighty(sums.weight)
    there = labels if w is None else labels[w > 0]
    return sums, naming.unknown(levels_of(there))


def _rows(X: Any, rows: NDArray[np.intp]) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


# ---- regressions ---------------------------------------------------------------------------------
def _values(model: Any, X: Any, y: Any, sample_weight: Any) -> ValueEvaluation:
    name = type(model).__name__
    if isinstance(model, LeastSquares):
        source = model._source(X, y, sample_weight, known=True)
        sums = evaluated_by_value(model, source, itself)
        return ValueEvaluation(name, _named(source, len(sums.squares)), sums=sums)
    if stored(X):
        source, opening = _of_numbers(model, X, y, sample_weight)
        assert stored(source)
        numeric(model, source, source.targets)
        sums = evaluated_by_value(model, source, opening)
        return ValueEvaluation(name, source.targets, sums=sums)
    if y is None:
        raise ValueError(f"evaluate needs the y of these rows: evaluate(model, X, y) for a {name}")
    Y = _targets_of(model, y)
    if not np.isfinite(Y).all():
        raise ValueError("Input y contains NaN or infinity.")
    sums = ValueSums.start(int(np.prod(Y.shape[1:])))
    answers = np.asarray(model.predict(X))
    check_consistent_length(answers, Y)
    sums.add(answers, Y, validation.weights_of(sample_weight, len(Y)))
    validation.weighty(sums.weight)
    return ValueEvaluation(name, tuple(f"y{j}" for j in range(len(sums.squares))), sums=sums)


def _named(source: Source, q: int) -> tuple[str, ...]:
    """The targets."""
    return source.targets if stored(source) else tuple(f"y{j}" for j in range(q))
