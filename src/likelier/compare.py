"""Models side by side on one table, cross-validated on the same folds."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm

from likelier.estimators.linear_discriminant import LinearDiscriminantAnalysis
from likelier.estimators.naive_bayes import GaussianNB
from likelier.estimators.quadratic_discriminant import QuadraticDiscriminantAnalysis

HEADINGS = ("model", "error", "log-loss", "fit", "assumes")


def suited() -> dict[str, Any]:
    """The models that a plain numeric table is compared on."""
    return {
        "GaussianNB": GaussianNB(),
        "LDA": LinearDiscriminantAnalysis(),
        "LDA, shrunk": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "QDA": QuadraticDiscriminantAnalysis(),
        "QDA, shrunk": QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    }


@dataclass(frozen=True)
class Result:
    """One model over the folds; means, and `fit` in seconds. NaN where a model could not say."""

    model: str
    error: float
    log_loss: float
    fit: float
    assumes: str
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """The results, best log-loss first; prints as a table."""

    results: tuple[Result, ...]
    rows: int
    columns: int
    classes: int
    folds: int

    def __str__(self) -> str:
        table = [HEADINGS, *(_cells(r) for r in self.results)]
        widths = [max(len(row[i]) for row in table) for i in range(len(HEADINGS))]
        lines = ["  ".join(map(_aligned, row, widths, range(len(HEADINGS)))) for row in table]
        lines.insert(1, "  ".join("-" * width for width in widths))
        head = (
            f"{self.rows} rows, {self.columns} columns, {self.classes} classes; "
            f"{self.folds}-fold cross-validation"
        )
        notes = [f"{r.model}: {r.note}" for r in self.results if r.note]
        return "\n".join([head, "", *(line.rstrip() for line in lines), *([""] if notes else []), *notes])

    def to_frame(self) -> Any:
        """The results as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([vars(r) for r in self.results]).set_index("model")


def _cells(r: Result) -> tuple[str, ...]:
    def shown(value: float, form: str) -> str:
        return "-" if np.isnan(value) else form.format(value)

    return (
        r.model,
        shown(100 * r.error, "{:.2f} %"),
        shown(r.log_loss, "{:.4f}"),
        shown(1e3 * r.fit, "{:.2f} ms"),
        r.assumes,
    )


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if 0 < column < len(HEADINGS) - 1 else cell.ljust(width)


def compare(
    X: Any,
    y: Any,
    models: Mapping[str, Any] | Sequence[Any] | None = None,
    cv: int = 5,
    seed: int = 0,
    progress: bool = False,
) -> Comparison:
    """Cross-validate models on the same stratified folds: error, log-loss, time to fit.

    models: {name: estimator} or a list of estimators, any with scikit-learn's interface; by default all
    of likelier's that suit.
    """
    X, y = np.asarray(X), np.asarray(y)
    entrants = suited() if models is None else _named(models)
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"the target has one value only ({classes[0]!r}): nothing to classify")
    if counts.min() < cv:
        rare = classes[counts.argmin()]
        raise ValueError(f"class {rare!r} has {counts.min()} rows, fewer than the {cv} folds: lower cv")
    folds = list(StratifiedKFold(cv, shuffle=True, random_state=seed).split(X, y))
    with tqdm(total=len(entrants) * cv, disable=None if progress else True, leave=False) as bar:
        results = [_result(name, model, X, y, folds, bar) for name, model in entrants.items()]
    results.sort(key=lambda r: (np.isnan(r.log_loss), r.log_loss, r.error))
    n, p = X.shape
    return Comparison(tuple(results), n, p, len(classes), cv)


def _named(models: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if isinstance(models, Mapping):
        return dict(models)
    return {type(model).__name__: model for model in models}


def _result(name: str, model: Any, X: NDArray[Any], y: NDArray[Any], folds: list[Any], bar: Any) -> Result:
    assumes = getattr(model, "assumes", "")
    bar.set_description(name)
    figures = []
    for train, test in folds:
        try:
            figures.append(_fold(model, X, y, train, test))
        except (ValueError, np.linalg.LinAlgError) as sits_out:
            bar.update(len(folds) - len(figures))
            return Result(name, np.nan, np.nan, np.nan, assumes, note=str(sits_out))
        bar.update()
    error, loss, seconds = np.mean(figures, axis=0).tolist()
    return Result(name, error, loss, seconds, assumes)


def _fold(
    model: Any, X: NDArray[Any], y: NDArray[Any], train: NDArray[Any], test: NDArray[Any]
) -> tuple[float, float, float]:
    """Error, log-loss and seconds to fit on one fold."""
    new = clone(model)
    start = time.perf_counter()
    new.fit(X[train], y[train])
    seconds = time.perf_counter() - start
    error = float(np.mean(new.predict(X[test]) != y[test]))
    loss = np.nan
    if hasattr(new, "predict_proba"):
        loss = float(log_loss(y[test], new.predict_proba(X[test]), labels=new.classes_))
    return error, loss, seconds
