"""Better with more rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likelier.comparing import Comparison, compare
from likelier.comparing.growing import LearningCurve, grown
from likelier.plot.axes import MUTED, axes, color, ink, marker

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
    seed: int = 0,
    ax: Any = None,
) -> Any:
    """How good models are on rows held out, against the number of rows that they learn from.

    models: an estimator, a list or dict of them, names as in `lk.compare`, a `Comparison`, or a
    `LearningCurve`, which is drawn as it is. Bands: a standard error to either side of the mean over `cv`
    folds, corrected for their overlap. Dashed: the answer that knows y alone. metric: by default the share
    of mistakes, or the RMSE. sizes: by default seven, up to all that folds leave.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> ax = lk.plot.learning_curve([lk.GaussianNB(), lk.LinearDiscriminantAnalysis()], X, y)
    >>> ax.get_xlabel()
    'rows learned from'
    """
    found = _found(models, X, y, sizes, metric, cv, seed)
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
        ax.axhline(found.baseline, label="knows y alone", **style)
    ax.set_xscale("log")
    ax.set_xticks(found.sizes, [f"{size:,}" for size in found.sizes])
    ax.minorticks_off()
    ax.set_xlabel("rows learned from")
    ax.set_ylabel(NAMES.get(found.metric, found.metric))
    ax.legend(framealpha=0.9)
    return ax


def _found(
    models: Any, X: Any, y: Any, sizes: Sequence[int] | None, metric: str | None, cv: int, seed: int
) -> LearningCurve:
    if isinstance(models, LearningCurve | Comparison) and (X is not None or y is not None):
        raise ValueError(
            f"a {type(models).__name__} has its rows: X and y are for models that are not judged"
        )
    if isinstance(models, LearningCurve):
        return models
    if not isinstance(models, Comparison):
        if X is None:
            raise ValueError("X is None: models learn from rows, give X and y")
        single = not isinstance(models, Mapping | Sequence) or isinstance(models, str)
        models = compare(X, y, [models] if single else models, cv, seed=seed)
    usual = "rmse" if models.classes is None else "error"
    return grown(models, sizes=sizes, metric=usual if metric is None else metric.replace("-", "_"))
