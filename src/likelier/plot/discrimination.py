"""How well a classifier distinguishes classes: ROC curves and confusion matrices."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from likelier.array_types import Floats, row_weights
from likelier.comparison import Comparison, Result
from likelier.comparison.cross_validate import commonest, gathered, roc_points
from likelier.data import code
from likelier.evaluation import LabelEvaluation
from likelier.plot.axes import MUTED, axes, color, ink, mixed, titled
from likelier.plot.results import by_name, evaluated

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
    share = _shares(C, C.sum(axis=1, keepdims=True))
    whole = {"true": C.sum(axis=1, keepdims=True), "pred": C.sum(axis=0, keepdims=True), "all": C.sum()}
    numbers = C if normalize is None else _shares(C, whole[normalize])
    ground = ax.get_facecolor()
    ax.imshow([[mixed(color(0), ground, s) for s in row] for row in share])
    if len(C) <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(numbers):
            text = f"{value:,.10g}" if normalize is None else f"{value:.2f}"
            on = "white" if share[i, j] > 0.5 else ink(ax)
            ax.text(j, i, text, ha="center", va="center", color=on)
    ax.grid(visible=False)


def _shares(C: Floats, whole: Any) -> Floats:
    return np.asarray(np.divide(C, whole, out=np.zeros_like(C), where=np.broadcast_to(whole, C.shape) > 0))
