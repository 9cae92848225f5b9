"""How good classifiers are: calibration, ROC curves, confusion matrices, learning curves and mistakes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from likelier.array_types import Floats, row_weights
from likelier.comparison import Comparison, Result, compare
from likelier.comparison.cross_validate import (
    LearningCurve,
    commonest,
    gathered,
    grow_training_rows,
    roc_points,
)
from likelier.data import code
from likelier.estimators.evaluate import evaluate
from likelier.evaluation import LabelEvaluation
from likelier.evaluation.mistake_bounds import MistakeBound
from likelier.plot.axes import MUTED, axes, color, ink, marker, mixed, tint, titled
from likelier.streams.figures import GROUPS, Figures

# How well probabilities were meant.

SHARES = 20  # bars for the share of rows, along the axis of probabilities
HIGH = 0.2  # of the axes, for the highest of them
FEW = 3  # models up to which intervals are drawn by default
NORMAL = 1.959964  # between ± so many deviations are 95 % of a Gaussian


def calibration(
    found: Any,
    X: Any = None,
    y: Any = None,
    *,
    groups: int = GROUPS,
    positive: Any = None,
    intervals: bool | None = None,
    ax: Any = None,
) -> Any:
    """Draw calibration curves: the observed frequency against the predicted probability.

    A calibrated model lies on the diagonal. The steps at the bottom show the distribution of the predicted
    probabilities; the highest is a fifth of the height of the axes.

    Parameters
    ----------
    found : classifier, LabelEvaluation, Progressive, Pending, Comparison, or dict of these
        A fitted classifier, evaluated on X and y; what `lk.evaluate`, `lk.progressive` or `lk.compare`
        returned; a `Pending`; or several of these, by name.
    X : array, data frame or scan, default=None
        The rows on which fitted classifiers are evaluated.
    y : array of shape (n,), default=None
        The labels of the rows of X.
    groups : int, default=15
        The number of points, each of rows of about equal weight.
    positive : label, default=None
        The class whose probability is drawn, for binary problems; None is the larger label. For more
        classes it is the probability that the most likely class is correct.
    intervals : bool, default=None
        Whether to draw a 95 % interval (Wilson 1927) for each group. None draws them for up to three
        models.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    See Also
    --------
    roc : ROC curves of the same models.
    likelier.evaluate : The calibration error as a number.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = lk.GaussianNB().fit(X[::2], y[::2])
    >>> ax = lk.plot.calibration({"naive Bayes": model}, X[1::2], y[1::2])
    """
    several = _calibrated(found, X, y)
    first = next(iter(several.values()))
    two = first.figures.K == 2
    if two and positive is None and first.classes:
        positive = _larger(first.classes)
    ax = axes(ax)
    ax.plot([0, 1], [0, 1], color=ink(ax, MUTED), linewidth=1, linestyle="--")
    for i, (name, each) in enumerate(several.items()):
        if two and positive not in each.classes:
            raise ValueError(
                f"positive must be one of the classes {list(each.classes)} of {name}; got {positive!r}."
            )
        code = each.classes.index(positive) if two else 1
        points = each.figures.calibration(groups, positive=code)
        label = f"{name}: ECE {each.figures.calibration_error:.4f}"
        ax.plot(points.p, points.rate, color=color(i), marker=marker(i), markersize=5, label=label)
        if intervals or (intervals is None and len(several) <= FEW):
            ends = wilson(points.rate, points.weight)
            ax.vlines(points.p, *ends, color=color(i), linewidth=1, alpha=0.6)
        _shares(ax, i, each.figures, code, alone=len(several) == 1)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_xlabel(f"predicted probability of {positive}" if two else "probability of the predicted class")
    ax.set_ylabel(f"observed frequency of {positive}" if two else "share of correct predictions")
    ax.legend(framealpha=0.9, loc="upper left")
    return titled(ax, "Calibration")


# ---- what is drawn -------------------------------------------------------------------------------
class EvaluatedRows(NamedTuple):
    """Sums over evaluated rows, and the classes that they number."""

    figures: Figures
    classes: tuple[Any, ...]


def _calibrated(found: Any, X: Any, y: Any) -> dict[str, EvaluatedRows]:
    if isinstance(found, Comparison):
        able = [result for result in found.results if result.P is not None and not result.baseline]
        found = {result.model: result for result in able}
    return {name: _rows(name, evaluated(name, each, X, y)) for name, each in by_name(found).items()}


def _rows(name: str, each: Any) -> EvaluatedRows:
    if isinstance(each, LabelEvaluation):
        if not each.probable:
            raise ValueError(f"{name} gives no probabilities: there is nothing to calibrate")
        found = EvaluatedRows(each.sums.figures, tuple(each.classes.tolist()))
    elif isinstance(getattr(each, "figures", None), Figures):
        found = EvaluatedRows(each.figures, tuple(each.classes))
    else:
        raise TypeError(f"a {type(each).__name__} has no metrics: draw a fitted classifier, or {RETURNED}")
    if not found.figures.rows:
        raise ValueError(f"{name} was evaluated on no row: there is nothing to draw")
    return found


def _larger(classes: tuple[Any, ...]) -> Any:
    """Of two labels; the second where they have no order."""
    try:
        return max(classes)
    except TypeError:
        return classes[-1]


# ---- how it looks --------------------------------------------------------------------------------
def wilson(rate: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Between which shares 95 % of samples of n rows have such a rate (Wilson 1927)."""
    z2 = NORMAL**2
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL / (1 + z2 / n) * np.sqrt(rate * (1 - rate) / n + z2 / (4 * n**2))
    return middle - half, middle + half


def _shares(ax: Any, i: int, figures: Figures, code: int, *, alone: bool) -> None:
    misses, hits, Q = figures.bins.T
    n = misses + hits
    there = n > 0
    p = Q[there] / n[there]
    share = np.histogram(1 - p if code == 0 and figures.K == 2 else p, SHARES, (0, 1), weights=n[there])[0]
    edges, heights = np.linspace(0, 1, SHARES + 1), HIGH * share / share.max()
    if alone:
        ax.stairs(heights, edges, fill=True, color=tint(ax, i, 0.25), zorder=0)
    else:
        ax.stairs(heights, edges, color=tint(ax, i, 0.6), linewidth=0.8, zorder=0)


# Better with more rows.

NAMES = {
    "error": "share of mistakes",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "auc": "AUC",
    "rmse": "RMSE",
    "mae": "mean absolute error",
    "r2": "R²",
}


def learning_curve(
    models: Any,
    X: Any = None,
    y: Any = None,
    *,
    sizes: Sequence[int] | None = None,
    metric: str | None = None,
    cv: int = 5,
    random_state: int = 0,
    ax: Any = None,
) -> Any:
    """Draw learning curves: a metric on held-out rows against the number of training rows.

    Bands are one standard error to either side of the mean over folds, corrected for the overlap of the
    training sets. The dashed line is a baseline that ignores the features.

    Parameters
    ----------
    models : estimator, str, list or dict of these, Comparison or LearningCurve
        The models, as in `lk.compare`; or what it returned; or a `LearningCurve`, which is drawn as it is.
    X : array, data frame or scan, default=None
        The rows, for models that have not been compared yet.
    y : array of shape (n,), default=None
        The labels or values of the rows of X.
    sizes : list of int, default=None
        The numbers of training rows. None takes seven, up to all rows that the folds leave.
    metric : str, default=None
        The metric, as in `lk.compare`. None is "error" for classes and "rmse" for numbers.
    cv : int, default=5
        The number of folds.
    random_state : int, default=0
        The seed for shuffling the folds.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    See Also
    --------
    likelier.compare : Cross-validate models on all rows.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> ax = lk.plot.learning_curve([lk.GaussianNB(), lk.LinearDiscriminantAnalysis()], X, y)
    >>> ax.get_xlabel()
    'training rows'
    """
    found = _found(models, X, y, sizes, metric, cv, random_state)
    ax = axes(ax)
    mean, error = found.mean, found.error
    for m, name in enumerate(found.models):
        there = np.isfinite(mean[m])
        if not there.any():
            continue
        x, middle, e = found.sizes[there], mean[m, there], np.nan_to_num(error[m, there])
        ax.fill_between(x, middle - e, middle + e, color=color(m), alpha=0.15, linewidth=0)
        ax.plot(x, middle, color=color(m), marker=marker(m), markersize=5, label=name)
    if not ax.get_legend_handles_labels()[0]:
        raise ValueError(f"none of {', '.join(found.models)} has a finite {found.metric}: nothing to draw")
    if np.isfinite(found.baseline):
        style = {"color": ink(ax, MUTED), "linestyle": "--", "linewidth": 1, "zorder": 0}
        ax.axhline(found.baseline, label="baseline", **style)
    ax.set_xscale("log")
    ax.set_xticks(found.sizes, [f"{size:,}" for size in found.sizes])
    ax.minorticks_off()
    ax.set_xlabel("training rows")
    ax.set_ylabel(NAMES.get(found.metric, found.metric))
    ax.legend(framealpha=0.9)
    return titled(ax, "Learning curve")


def _found(
    models: Any, X: Any, y: Any, sizes: Sequence[int] | None, metric: str | None, cv: int, seed: int
) -> LearningCurve:
    if isinstance(models, LearningCurve | Comparison) and (X is not None or y is not None):
        raise ValueError(
            f"a {type(models).__name__} already contains its rows: X and y are for models that "
            "have not been evaluated"
        )
    if isinstance(models, LearningCurve):
        return models
    if not isinstance(models, Comparison):
        if X is None:
            raise ValueError("X is None: training needs rows; give X and y")
        single = not isinstance(models, Mapping | Sequence) or isinstance(models, str)
        models = compare(X, y, [models] if single else models, cv, random_state=seed)
    usual = "rmse" if models.classes is None else "error"
    return grow_training_rows(
        models, sizes=sizes, metric=usual if metric is None else metric.replace("-", "_")
    )


# Mistakes over time.


def mistakes(found: Any, *, bound: Any = None, ax: Any = None) -> Any:
    """Draw the number of mistakes so far against the number of rows so far.

    The flatter the line, the better the model has become.

    Parameters
    ----------
    found : Perceptron, Progressive, Pending, or dict of the latter two
        A fitted `Perceptron`, with a line for each of its binary problems; what `lk.progressive` returned;
        a `Pending`; or several of these, by name.
    bound : MistakeBound, default=None
        For a perceptron, what its `mistake_bound` returned: drawn as dashed levels that the mistakes stay
        below.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    See Also
    --------
    likelier.progressive : Evaluate an online model on a stream.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = lk.Perceptron(random_state=0).fit(X, y)
    >>> ax = lk.plot.mistakes(model, bound=model.mistake_bound(X, y))
    """
    if isinstance(found, BaseEstimator):
        return _of_perceptron(found, bound, axes(ax))
    if bound is not None:
        raise ValueError("bound: there is one for the mistakes of a Perceptron, and for no other model")
    return _of_streams(found, axes(ax))


def _of_perceptron(model: Any, bound: Any, ax: Any) -> Any:
    check_is_fitted(model)
    if not hasattr(model, "mistake_curve_"):
        raise ValueError(
            f"this {type(model).__name__} has no mistake_curve_: a Perceptron has, unless it was saved "
            "without its statistics. Of others draw what lk.progressive returned."
        )
    turns, *counts = model.mistake_curve_.T
    classes = [str(label) for label in model.classes_][-len(counts) :]
    if bound is not None and not isinstance(bound, MistakeBound):
        raise TypeError(f"bound must be what mistake_bound(X, y) of the model returned; got {bound!r:.80}.")
    levels: Any = [] if bound is None else np.atleast_1d(bound.bound)
    for k, (label, count) in enumerate(zip(classes, counts, strict=True)):
        style = {"color": color(k), "marker": marker(k), "markersize": 4}
        ax.plot(turns, count, label=f"{label} against the rest", **style)
        if len(levels):
            bounded = f"bound, {label}: {levels[k]:.4g}"
            ax.axhline(levels[k], color=color(k), linestyle="--", linewidth=1, label=bounded)
    ax.plot(turns, turns, color=ink(ax, MUTED), linewidth=1, label="always mistaken", zorder=0)
    ax.set(xscale="log", yscale="log", xlabel="rows seen", ylabel="mistakes")
    ax.legend(frameon=False)
    return titled(ax, "Mistakes over time")


def _of_streams(found: Any, ax: Any) -> Any:
    for i, (name, each) in enumerate(_named(found).items()):
        curve = each.curve
        if not len(curve.rows):
            raise ValueError(f"{name} was evaluated on no row: there is nothing to draw")
        label = f"{name}: {curve.mistakes[-1]:.10g} mistakes, {100 * each.figures.error:.2f} %"
        ax.plot([0, *curve.rows], [0, *curve.mistakes], color=color(i), label=label)
    ax.set(xlabel="rows", ylabel="mistakes")
    ax.set_ylim(bottom=0)
    ax.legend(framealpha=0.9)
    return titled(ax, "Mistakes over time")


def _named(found: Any) -> Mapping[str, Any]:
    """Results by name, checked: one alone is that of the model."""
    several = by_name(found)
    for each in several.values():
        if not (hasattr(each, "figures") and hasattr(each, "curve")):
            raise TypeError(f"a {type(each).__name__} has no metrics: draw what lk.progressive returned")
    return several


# What is drawn as an evaluation: fitted classifiers with rows, and results, by name.

RETURNED = "what lk.evaluate, lk.progressive or lk.compare returned"


def by_name(found: Any) -> Mapping[str, Any]:
    """Several results as they were passed; one alone under the name of its model."""
    several = found if isinstance(found, Mapping) else {_name(found): found}
    if not several:
        raise ValueError("there is nothing to draw: pass at least one result")
    return {str(name): each for name, each in several.items()}


def _name(found: Any) -> str:
    if isinstance(found, Result | LabelEvaluation):
        return found.model
    return type(found).__name__ if isinstance(found, BaseEstimator) else "the model"


def evaluated(name: str, each: Any, X: Any, y: Any) -> Any:
    """The evaluation of a classifier on rows, or of a result; other objects as they are."""
    if isinstance(each, BaseEstimator) and is_classifier(each):
        if X is None:
            raise ValueError(f"{name} is a classifier, which is evaluated on rows; give X and y.")
        return evaluate(each, X, y)
    if X is not None or y is not None:
        raise ValueError(f"{name} has been evaluated: X and y are for fitted classifiers")
    if isinstance(each, Result):
        if each.skipped is not None:
            raise ValueError(f"{name} was skipped: {each.skipped}")
        return each.overall
    return each


# How well a classifier distinguishes classes: ROC curves and confusion matrices.

MOST_CURVES = 10  # classes of one model that have curves: the commonest
MOST_SQUARES = 20  # classes of a matrix; the others are one
MOST_NUMBERS = 12  # classes up to which the cells of a matrix have room for numbers
STYLES = ("-", "--", "-.", ":")


def roc(found: Any, X: Any = None, y: Any = None, *, positive: Any = None, ax: Any = None) -> Any:
    """Draw ROC curves: the true positive rate against the false positive rate, for all thresholds.

    Parameters
    ----------
    found : classifier, LabelEvaluation, Comparison, or dict of these
        A fitted classifier, evaluated on X and y; what `lk.evaluate` returned; a `Comparison`, each row as
        it was predicted when held out (models without probabilities for binary problems only); or several
        of these, by name.
    X : array, data frame or scan, default=None
        The rows on which fitted classifiers are evaluated.
    y : array of shape (n,), default=None
        The labels of the rows of X.
    positive : label, default=None
        The class that counts as positive, against all others. None is the second of two classes; for more
        classes and one model, each of them has a curve (the ten most frequent).
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    See Also
    --------
    calibration : Calibration curves of the same models.
    confusion_matrix : The predictions at one threshold.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = lk.GaussianNB().fit(X[::2], y[::2])
    >>> ax = lk.plot.roc({"naive Bayes": model}, X[1::2], y[1::2])
    """
    several = _several(found, X, y)
    ax = axes(ax)
    ax.plot([0, 1], [0, 1], color=ink(ax, MUTED), linewidth=1, linestyle="--")
    drawn = 0
    for name, each in several.items():
        for curve in _curves(name, each, positive, alone=len(several) == 1):
            label = f"{curve.label} (AUC {np.trapezoid(curve.rise, curve.fall):.3f})"
            style = STYLES[drawn // 8 % len(STYLES)]  # there are eight colours
            ax.plot(curve.fall, curve.rise, color=color(drawn), linestyle=style, label=label)
            drawn += 1
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.legend(framealpha=0.9, loc="lower right")
    return titled(ax, "ROC curve")


def confusion_matrix(
    found: Any,
    X: Any = None,
    y: Any = None,
    *,
    normalize: Literal["true", "pred", "all"] | None = None,
    ax: Any = None,
) -> Any:
    """Draw a confusion matrix: rows are true classes, columns predicted ones.

    Parameters
    ----------
    found : classifier, LabelEvaluation, Comparison or Result
        A fitted classifier, evaluated on X and y; what `lk.evaluate` returned; a `Comparison`, of which the
        best model is drawn, or one of its results.
    X : array, data frame or scan, default=None
        The rows on which a fitted classifier is evaluated.
    y : array of shape (n,), default=None
        The labels of the rows of X.
    normalize : {"true", "pred", "all"}, default=None
        Cells as shares of their row, of their column, or of all rows. None shows counts (weights).
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    See Also
    --------
    roc : The trade-off over all thresholds.

    Notes
    -----
    Colours are shares of the true class, whatever the numbers are, so that rare classes are visible as
    well. For more than 20 classes, the 20 most frequent are drawn, and all others as one.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> ax = lk.plot.confusion_matrix(lk.GaussianNB().fit(X[::2], y[::2]), X[1::2], y[1::2])
    """
    if normalize not in (None, "true", "pred", "all"):
        raise ValueError(f"normalize must be None, 'true', 'pred' or 'all'; got {normalize!r}.")
    if isinstance(found, Mapping):
        raise TypeError("a confusion matrix is drawn of one model: give that one, not a dict of several")
    each = next(iter(_several(found.best if isinstance(found, Comparison) else found, X, y).values()))
    shown = commonest(each.evaluation.confusion.sum(axis=1), MOST_SQUARES)
    labels = [str(label) for label in each.evaluation.classes[shown]]
    C = gathered(each.evaluation.confusion, shown)
    labels += ["others"] if len(C) > len(labels) else []
    ax = axes(ax)
    _squares(ax, C, normalize)
    at = range(len(C))
    slanted = {"rotation": 45, "ha": "right"} if max(map(len, labels)) * len(labels) > 40 else {}
    ax.set_xticks(at, labels, **slanted)
    ax.set_yticks(at, labels)
    ax.set_xlabel("predicted class")
    ax.set_ylabel("true class")
    return titled(ax, "Confusion matrix")


# ---- what is drawn -------------------------------------------------------------------------------
class EvaluatedModel(NamedTuple):
    """An evaluation, and what it was made of, where that was kept."""

    evaluation: LabelEvaluation
    P: Any = None  # (n, K)
    codes: Any = None  # (n,)
    w: Any = None  # (n,)


class Curve(NamedTuple):
    """False and true positive rates."""

    label: str
    fall: Floats
    rise: Floats


def _several(found: Any, X: Any, y: Any) -> dict[str, EvaluatedModel]:
    if isinstance(found, Comparison):
        if found.classes is None:
            raise TypeError("these are regressions: there are no classes to distinguish")
        two = len(found.classes) == 2  # more have curves only where there are probabilities
        running = [each for each in found.results if each.folds and not each.baseline]
        running = [each for each in running if two or each.P is not None]
        return {each.model: _held_out(found, each) for each in running}
    return {name: _predicted(name, evaluated(name, each, X, y)) for name, each in by_name(found).items()}


def _held_out(comparison: Comparison, result: Result) -> EvaluatedModel:
    rows, classes = comparison.rows, comparison.classes
    assert classes is not None
    w = row_weights(rows.w, len(rows))
    return EvaluatedModel(result.overall, result.P, code(rows.y, classes), w)


def _predicted(name: str, each: Any) -> EvaluatedModel:
    if not isinstance(each, LabelEvaluation):
        raise TypeError(
            f"{name}: a {type(each).__name__} is not an evaluation: draw a fitted classifier, or what "
            "lk.evaluate or lk.compare returned"
        )
    return EvaluatedModel(each)


def _curves(name: str, each: EvaluatedModel, positive: Any, *, alone: bool) -> Iterator[Curve]:
    classes = each.evaluation.classes.tolist()
    if positive is not None and positive not in classes:
        raise ValueError(f"positive must be one of the classes {classes} of {name}; got {positive!r}.")
    if positive is not None or len(classes) == 2:
        chosen = positive if positive is not None else classes[1]
        yield Curve(name, *_points(name, each, chosen))
        return
    if not alone:
        raise ValueError(f"positive must be one of the classes, to draw several models: {classes}")
    for k in commonest(each.evaluation.confusion.sum(axis=1), MOST_CURVES).tolist():
        if each.evaluation.confusion[k].any():
            yield Curve(str(classes[k]), *_points(name, each, classes[k]))


def _points(name: str, each: EvaluatedModel, label: Any) -> tuple[Floats, Floats]:
    """Exact where the predictions are at hand; else from the bins of an evaluation."""
    k = each.evaluation.classes.tolist().index(label)
    if each.P is not None:
        return roc_points(each.P[:, k], each.codes == k, each.w)
    try:
        found = each.evaluation.roc(label)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return found.false_positive, found.true_positive


# ---- how it looks --------------------------------------------------------------------------------
def _squares(ax: Any, C: Floats, normalize: str | None) -> None:
    """Colours by the share of the true class; numbers where there is room."""
    share = _share_of(C, C.sum(axis=1, keepdims=True))
    whole = {"true": C.sum(axis=1, keepdims=True), "pred": C.sum(axis=0, keepdims=True), "all": C.sum()}
    numbers = C if normalize is None else _share_of(C, whole[normalize])
    ground = ax.get_facecolor()
    ax.imshow([[mixed(color(0), ground, s) for s in row] for row in share])
    if len(C) <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(numbers):
            text = f"{value:,.10g}" if normalize is None else f"{value:.2f}"
            on = "white" if share[i, j] > 0.5 else ink(ax)
            ax.text(j, i, text, ha="center", va="center", color=on)
    ax.grid(visible=False)


def _share_of(C: Floats, whole: Any) -> Floats:
    return np.asarray(np.divide(C, whole, out=np.zeros_like(C), where=np.broadcast_to(whole, C.shape) > 0))
