"""What a comparison found, and how it is shown."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.comparing.apart import indistinct, standard_error
from likelier.comparing.assumptions import Checks, check
from likelier.comparing.catalogue import Entrant, Nature
from likelier.comparing.rows import Rows
from likelier.comparing.showing import WIDTH, notebook, seconds, text
from likelier.evaluation import Evaluation

__all__ = ["LABELS", "VALUES", "Comparison", "Metric", "Result", "seconds"]

Floats = NDArray[np.float64]


class Metric(NamedTuple):
    """A figure by which models are judged; a column of the table."""

    name: str
    heading: str
    shown: Callable[[float], str]
    rising: bool = False  # whether more is better


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _four(value: float) -> str:
    return f"{value:.4f}" if value < 100 else f"{value:.4g}"


def _three(value: float) -> str:
    return f"{value:.3f}"


LABELS = (
    Metric("error", "error %", _percent),
    Metric("log_loss", "log-loss", _four),
    Metric("brier", "Brier", _three),
    Metric("calibration_error", "calibr.", _three),
    Metric("auc", "AUC", _three, rising=True),
)
VALUES = (
    Metric("rmse", "RMSE", "{:.5g}".format),
    Metric("mae", "MAE", "{:.5g}".format),
    Metric("r2", "R²", "{:.4f}".format, rising=True),
)


@dataclass(frozen=True)
class Result:
    """One model on all folds, or why it sits out."""

    model: str
    nature: Nature = field(default_factory=Nature)
    folds: tuple[Evaluation, ...] = field(default=(), repr=False)  # one each, of the rows held out
    aucs: Floats = field(default_factory=lambda: np.empty(0), repr=False)  # of each fold
    P: NDArray[np.float32] | None = field(default=None, repr=False)  # (n, K) of rows when held out
    said: NDArray[Any] | None = field(default=None, repr=False)  # (n,) class numbers, or values
    fit: Floats = field(default_factory=lambda: np.empty(0), repr=False)  # seconds, of each fold
    predict: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    parameters: int | None = None
    notes: tuple[str, ...] = ()
    sits_out: str | None = None
    online: bool = False
    baseline: bool = False
    entrant: Entrant | None = field(default=None, repr=False)  # what was judged, not fitted

    def figures(self, metric: str) -> Floats:
        """(F,) of each fold; NaN where there is none."""
        if metric == "auc":
            return self.aucs
        return np.array([getattr(each, metric) for each in self.folds], dtype=np.float64)

    def mean(self, metric: str) -> float:
        """Over folds; NaN: it has none."""
        return float(np.mean(self.figures(metric))) if self.folds else float("nan")

    def error_of(self, metric: str) -> float:
        """The standard error of that mean, corrected for the overlap of training sets."""
        return standard_error(self.figures(metric)) if self.folds else float("nan")

    def seconds(self, what: Literal["fit", "predict"]) -> float:
        """The mean over folds; NaN: it sits out."""
        found: Floats = getattr(self, what)
        return float(found.mean()) if len(found) else float("nan")

    @property
    def overall(self) -> Any:
        """One evaluation of all rows, each as it was held out."""
        first, *others = self.folds
        for other in others:
            first = first.merge(other)
        return first


@dataclass(frozen=True, repr=False)
class Comparison:
    """Models on the same folds of one table, best first; prints as a table."""

    results: tuple[Result, ...]
    rows: Rows = field(repr=False)
    classes: NDArray[Any] | None  # None: numbers are to be found
    metric: str
    cv: int
    seed: int
    name: str | None = None  # of the data
    seconds: float = float("nan")

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The figures that there are for such a target."""
        return VALUES if self.classes is None else LABELS

    @cached_property
    def best(self) -> Result:
        """The best by the metric."""
        return self.results[0]

    def is_tied(self, result: Result) -> bool:
        """Whether it could be as good as the best: their difference may be luck of the folds.

        One that is worse than what knows y alone is no choice, however much its figures vary.
        """
        if result is self.best or not result.folds:
            return result is self.best
        base = next((each for each in self.results if each.baseline), None)
        if base is not None and self._apart(base) and self._worse(result, base):
            return False
        return not self._apart(result)

    def _apart(self, result: Result) -> bool:
        """Whether the best is better by more than luck."""
        return not indistinct(self.best.figures(self.metric), result.figures(self.metric))

    def _worse(self, one: Result, other: Result) -> bool:
        """By their means."""
        rising = next(metric.rising for metric in self.metrics if metric.name == self.metric)
        less, more = (other, one) if rising else (one, other)
        return less.mean(self.metric) > more.mean(self.metric)

    def result(self, model: str) -> Result:
        """That of a model by name."""
        for result in self.results:
            if result.model == model:
                return result
        raise KeyError(f"{model}: compared were {', '.join(r.model for r in self.results)}")

    def __repr__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """The table in words, for so many letters a line."""
        return text(self, width)

    def _repr_html_(self) -> str:
        return notebook(self)

    def checks(self) -> Checks:
        """Whether the data bear out what each model assumes. See docs/assumptions.md."""
        return self._checks

    @cached_property
    def _checks(self) -> Checks:
        return check(self.rows, self.classes, self.seed)

    def to_frame(self) -> Any:
        """The results as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([self._record(result) for result in self.results]).set_index("model")

    def _record(self, result: Result) -> dict[str, Any]:
        found: dict[str, Any] = {"model": result.model}
        for metric in self.metrics:
            found[metric.name] = result.mean(metric.name)
            found[f"{metric.name}_se"] = result.error_of(metric.name)
        found |= {"fit": result.seconds("fit"), "predict": result.seconds("predict")}
        found |= {
            "parameters": result.parameters,
            "best": result is self.best,
            "tied": self.is_tied(result),
        }
        return found | asdict(result.nature) | {"sits_out": result.sits_out, "notes": list(result.notes)}

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON: what there is not is None, what is infinite "inf"."""
        rows = self.rows
        head: dict[str, Any] = {"name": self.name, "rows": len(rows), "columns": rows.p}
        head |= {"target": rows.target, "classes": None if self.classes is None else self.classes.tolist()}
        head |= {"metric": self.metric, "cv": self.cv, "seed": self.seed, "seconds": self.seconds}
        results = [_plain(self._record(result)) for result in self.results]
        return {**head, "notes": list(rows.notes), "results": results}

    def to_html(self, path: str | Path) -> Path:
        """A report in one file, with pictures, that opens without a network. See docs/comparing.md."""
        reporting = import_module("likelier.reporting")  # which is built on comparisons, and slow to load
        written: Path = reporting.written(self, Path(path))
        return written


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """Without what JSON does not have."""
    return {
        name: (None if np.isnan(value) else str(value)) if _odd(value) else value
        for name, value in record.items()
    }


def _odd(value: Any) -> bool:
    return isinstance(value, float) and not np.isfinite(value)
