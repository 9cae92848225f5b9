"""Weights of columns, with intervals where there are any."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from likelier.array_types import Floats
from likelier.plot.axes import MUTED, color, ink, label_rows, marker, pyplot, titled

SPREAD = 0.6  # of the distance between two columns, for the classes of one
NORMAL = 1.959964  # between ± so many standard errors are 95 % of a Gaussian
LINE = 0.27  # inches for each column of the table
WIDEST = 44  # letters of a line below the axes


class Series(NamedTuple):
    """The weights of all columns for one class, or target."""

    label: str
    estimates: Floats  # (p,)
    low: Floats | None = None
    high: Floats | None = None

    def times(self, unit: Floats) -> "Series":
        ends = (None if end is None else end * unit for end in (self.low, self.high))
        return Series(self.label, self.estimates * unit, *ends)


class CoefficientTable(NamedTuple):
    """What is drawn: names, weights, and what they are."""

    names: list[str]
    series: list[Series]
    what: str


def coefficients(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    top: int = 20,
    per_deviation: bool = False,
    intervals: bool = True,
    ax: Any = None,
) -> Any:
    """Draw the coefficients of a fitted model, the largest first, with confidence intervals.

    For more than two classes there is one point per class; for generative models, whose scores have a part
    that all classes share, the mean over the classes is subtracted.

    Parameters
    ----------
    model : estimator
        A fitted linear model, or one with `contributions`, such as naive Bayes with Gaussian columns. For
        the latter, what is drawn for each class is how much a column adds, on average over the rows of the
        class, to its score, less the mean of what it adds to the other classes.
    X : array or data frame, default=None
        The rows of the fit. They are needed for models without coefficients, for `per_deviation`, and for
        intervals of fits that keep too little (`LogisticRegression` with solvers other than Newton's).
    y : array of shape (n,), default=None
        The labels or values of the rows of X.
    top : int, default=20
        The number of columns to draw.
    per_deviation : bool, default=False
        Whether to multiply the coefficients by the standard deviation of their column in X, which makes
        them comparable.
    intervals : bool, default=True
        Whether to draw 95 % confidence intervals where the model has a `summary`. For very many
        coefficients they take long.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> ax = lk.plot.coefficients(lk.LinearRegression().fit(X, y), top=5)
    >>> [label.get_text() for label in ax.get_yticklabels()][:2]
    ['s1', 's5']
    """
    check_is_fitted(model)
    if top < 1:
        raise ValueError(f"top must be an integer >= 1 (a number of columns); got {top!r}.")
    if X is not None and y is not None:
        check_consistent_length(X, y)
    summarised = _summarised(model, X, y) if intervals else None
    found = summarised or _weighted(model) or _contributed(model, X, y)
    if per_deviation:
        unit = _deviations(model, X, len(found.names))
        series = [each.times(unit) for each in found.series]
        found = CoefficientTable(found.names, series, f"{found.what} per standard deviation of the column")
    return _drawn(found, top, ax)


# ---- what a model says ---------------------------------------------------------------------------
def _names(model: Any, p: int) -> list[str]:
    for kind in ("statistic_names_", "feature_names_in_"):
        names = getattr(model, kind, None)
        if names is not None and len(names) == p:
            return [str(name) for name in names]
    return [f"x{j}" for j in range(p)]


def _labels(model: Any, rows: int) -> list[str]:
    """What each row of weights speaks for."""
    if not is_classifier(model):
        return [""] if rows == 1 else [f"target {t}" for t in range(rows)]
    classes = [str(label) for label in model.classes_]
    return classes if rows == len(classes) else [f"{classes[1]} against {classes[0]}"]


def _summarised(model: Any, X: Any, y: Any) -> CoefficientTable | None:
    """Estimates with intervals, less the intercepts; None: the model has none, or not of such a fit."""
    if not hasattr(model, "summary"):
        return None
    try:
        found = model.summary() if X is None or y is None else model.summary(X, y)
    except ValueError:  # a penalty that selects, separation, no rows: the weights alone are left
        return None
    tables = found if isinstance(found, list) else [found]
    p, labels = model.n_features_in_, _against_first(model, len(tables))
    values = [
        block[-p:]  # an intercept comes first
        for table in tables
        for block in np.split(
            np.stack([table.estimates, table.low, table.high], axis=1), len(labels) // len(tables)
        )
    ]
    series = [Series(label, *block.T) for label, block in zip(labels, values, strict=True)]
    return CoefficientTable(_names(model, p), series, f"weight, {100 * tables[0].level:g} % interval")


def _against_first(model: Any, tables: int) -> list[str]:
    """What the rows of a summary speak for: of classes, each but the first."""
    if not is_classifier(model):
        return _labels(model, tables)
    first, *others = (str(label) for label in model.classes_)
    return [f"{other} against {first}" for other in others]


def _weighted(model: Any) -> CoefficientTable | None:
    W = getattr(model, "coef_", None)
    if W is None:
        return None
    W = np.atleast_2d(W.toarray() if sparse.issparse(W) else np.asarray(W, dtype=np.float64))
    what = "weight"
    if len(W) > 1 and hasattr(model, "predict_joint_log_proba"):
        W, what = W - W.mean(axis=0), "weight, less the mean of all classes"
    series = [Series(label, w) for label, w in zip(_labels(model, len(W)), W, strict=True)]
    return CoefficientTable(_names(model, W.shape[1]), series, what)


def _contributed(model: Any, X: Any, y: Any) -> CoefficientTable:
    """The mean over the rows of each class of c_kj - mean of the others' c_lj, with its interval."""
    if not hasattr(model, "contributions"):
        raise ValueError(
            f"a {type(model).__name__} has no weights to read: neither coef_ nor contributions of columns"
        )
    if X is None or y is None:
        raise ValueError(
            f"this {type(model).__name__} has no weights; what columns contribute depends on the rows: "
            "give X and y"
        )
    C = model.contributions(X).values  # (n, K, p)
    labels, K = label_rows(y, len(C), np.asarray(model.classes_)), C.shape[1]
    series = []
    for k, label in enumerate(model.classes_):
        own = C[labels == label]
        if len(own) == 0:
            continue
        gain = (own[:, k] - (own.sum(axis=1) - own[:, k]) / (K - 1)) if K > 1 else own[:, k]
        mean, n = gain.mean(axis=0), len(gain)
        error = gain.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(mean), np.nan)
        series.append(Series(str(label), mean, mean - NORMAL * error, mean + NORMAL * error))
    return CoefficientTable(_names(model, C.shape[2]), series, "mean contribution to the right class, nats")


def _deviations(model: Any, X: Any, p: int) -> Floats:
    if X is None:
        raise ValueError("per_deviation needs X: the deviations of its columns")
    T = model.statistics(X) if hasattr(model, "statistics") else X
    T = np.asarray(T.toarray() if sparse.issparse(T) else T, dtype=np.float64)
    if T.shape[1] != p:
        raise ValueError(f"X must have a column for each of the {p} weights; got {T.shape[1]}.")
    return np.asarray(np.nanstd(T, axis=0))


# ---- how it looks --------------------------------------------------------------------------------
def _drawn(found: CoefficientTable, top: int, ax: Any) -> Any:
    size = np.max([np.abs(np.nan_to_num(each.estimates)) for each in found.series], axis=0)
    order = np.argsort(-size, kind="stable")[:top]
    if ax is None:
        height = 1.2 + LINE * len(order) * max(1.0, len(found.series) / 3)
        ax = pyplot().subplots(figsize=(6.4, height), layout="constrained")[1]
    places = np.arange(len(order), dtype=np.float64)
    ax.axvline(0, color=ink(ax, MUTED), linewidth=0.8, zorder=0)
    for i, each in enumerate(found.series):
        _points(ax, each, order, places + _offset(i, len(found.series)), i)
    ax.set_yticks(places, [found.names[j] for j in order])
    ax.set_ylim(len(order) - 0.5, -0.5)  # the largest on top
    ax.set_xlabel(fill(found.what, WIDEST))
    if found.series[0].label:
        ax.legend(framealpha=0.9)
    largest = f": the {len(order)} largest of {len(size)}" if len(order) < len(size) else ""
    return titled(ax, f"Coefficients{largest}")


def _offset(i: int, count: int) -> float:
    return (i - (count - 1) / 2) * SPREAD / count


def _points(ax: Any, each: Series, order: NDArray[np.intp], places: Floats, i: int) -> None:
    at = each.estimates[order]
    if each.low is not None and each.high is not None:
        ends: Sequence[Floats] = (each.low[order], each.high[order])
        ax.hlines(places, *ends, color=color(i), linewidth=1.4)
    ax.plot(at, places, color=color(i), marker=marker(i), markersize=5, linestyle="none", label=each.label)
