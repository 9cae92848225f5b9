"""What a comparison found, and how it is shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.comparing.apart import indistinct, standard_error
from likelier.comparing.assumptions import Checks, check
from likelier.comparing.catalogue import Nature
from likelier.comparing.rows import Rows
from likelier.evaluation import Evaluation

Floats = NDArray[np.float64]
WIDTH = 118  # of notes: about that of the table


class Metric(NamedTuple):
    """A figure by which models are judged; a column of the table."""

    name: str
    heading: str
    shown: Callable[[float], str]
    rising: bool = False  # whether more is better


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _four(value: float) -> str:
    return f"{value:.4f}" if value < 1000 else f"{value:.3g}"


LABELS = (
    Metric("error", "error %", _percent),
    Metric("log_loss", "log-loss", _four),
    Metric("brier", "Brier", _four),
    Metric("calibration_error", "calibr.", _four),
    Metric("auc", "AUC", _four, rising=True),
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
    nature: Nature = Nature()
    folds: tuple[Evaluation, ...] = field(default=(), repr=False)  # one each, of the rows held out
    P: NDArray[np.float32] | None = field(default=None, repr=False)  # (n, K) of rows when held out
    said: NDArray[Any] | None = field(default=None, repr=False)  # (n,) class numbers, or values
    fit: Floats = field(default_factory=lambda: np.empty(0), repr=False)  # seconds, of each fold
    predict: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    parameters: int | None = None
    notes: tuple[str, ...] = ()
    sits_out: str | None = None
    online: bool = False
    baseline: bool = False

    def figures(self, metric: str) -> Floats:
        """(F,) of each fold; NaN where there is none."""
        found = [getattr(each, metric) for each in self.folds]
        return np.array(found, dtype=np.float64)

    def mean(self, metric: str) -> float:
        """Over folds; NaN: it has none."""
        return float(np.mean(self.figures(metric))) if self.folds else float("nan")

    def error_of(self, metric: str) -> float:
        """The standard error of that mean, corrected for the overlap of training sets."""
        return standard_error(self.figures(metric)) if self.folds else float("nan")

    @property
    def overall(self) -> Any:
        """One evaluation of all rows, each as it was held out."""
        first, *others = self.folds
        for other in others:
            first = first.merge(other)
        return first


@dataclass(frozen=True)
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
        """Whether it could be as good as the best: their difference may be luck of the folds."""
        if result is self.best or not result.folds:
            return result is self.best
        return indistinct(self.best.figures(self.metric), result.figures(self.metric))

    def result(self, model: str) -> Result:
        """That of a model by name."""
        for result in self.results:
            if result.model == model:
                return result
        raise KeyError(f"{model}: compared were {', '.join(r.model for r in self.results)}")

    def __str__(self) -> str:
        running = [result for result in self.results if not result.sits_out]
        lines = [self._head(), "", *_aligned([self._headings(), *map(self._cells, running)])]
        lines += ["", *_aligned([NATURE, *(_nature(result) for result in running)], left=5)]
        notes = [fill(note, WIDTH, subsequent_indent="  ") for note in self._remarks()]
        return "\n".join([*(line.rstrip() for line in lines), *([""] if notes else []), *notes])

    def _head(self) -> str:
        kind = "a target of numbers" if self.classes is None else counted(len(self.classes), "class")
        return (
            f"{counted(len(self.rows), 'row')}, {counted(self.rows.p, 'column')}, {kind}; {self.cv}-fold "
            f"cross-validation, seed {self.seed}; by {self.metric.replace('_', '-')}, mean ± standard error"
        )

    def _headings(self) -> list[str]:
        return ["", "model", *(m.heading for m in self.metrics), "fit", "predict", "numbers"]

    def _cells(self, result: Result) -> list[str]:
        mark = "*" if result is self.best else "=" if self.is_tied(result) else ""
        cells = [mark, result.model]
        for metric in self.metrics:
            value, error = result.mean(metric.name), result.error_of(metric.name)
            if np.isnan(value):
                cells.append("-")
            elif np.isnan(error):
                cells.append(metric.shown(value))
            else:
                cells.append(f"{metric.shown(value)} ± {metric.shown(error)}")
        times = [seconds(float(np.mean(each))) if len(each) else "-" for each in (result.fit, result.predict)]
        return [*cells, *times, "-" if result.parameters is None else f"{result.parameters:,}"]

    def _remarks(self) -> list[str]:
        """What a reader should know; what the models have to say, each remark once."""
        said = ["* best; = not told apart from it (corrected t-test, 5 %)", *self.rows.notes]
        makers: dict[str, list[str]] = {}
        for result in self.results:
            for note in ((f"sits out: {result.sits_out}",) if result.sits_out else ()) + result.notes:
                makers.setdefault(note, []).append(result.model)
        return said + [f"{'; '.join(models)}: {note}" for note, models in makers.items()]

    def checks(self) -> Checks:
        """Whether the data bear out what each model assumes. See docs/assumptions.md."""
        return self._checks

    @cached_property
    def _checks(self) -> "Checks":
        from likelier.comparing.assumptions import (
            check,  # it knows the catalogue, whose models are slow to load
        )

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
        found["fit"] = float(np.mean(result.fit)) if len(result.fit) else np.nan
        found["predict"] = float(np.mean(result.predict)) if len(result.predict) else np.nan
        nature = {name: getattr(result.nature, name) for name in ("kind", "models", "independent", "boundary")}
        tied = self.is_tied(result)
        return found | {"parameters": result.parameters, "best": result is self.best, "tied": tied} | nature | {
            "sits_out": result.sits_out,
            "notes": result.notes,
        }

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        head = {"rows": len(self.rows), "columns": self.rows.p, "target": self.rows.target, "name": self.name}
        head |= {"metric": self.metric, "cv": self.cv, "seed": self.seed, "seconds": self.seconds}
        classes = None if self.classes is None else self.classes.tolist()
        records = [_plain(self._record(result)) for result in self.results]
        return head | {"classes": classes, "notes": list(self.rows.notes), "results": records}

    def to_html(self, path: str | Path) -> Path:
        """A report in one file, with pictures, that opens without a network. See docs/comparing.md."""
        from likelier.reporting import written  # matplotlib is an extra, and slow to load

        return written(self, Path(path))


NATURE = ["model", "kind", "models", "independent columns", "boundary"]


def _nature(result: Result) -> list[str]:
    nature = result.nature
    return [result.model, nature.kind, nature.models, nature.independent, nature.boundary]


def _aligned(table: Sequence[Sequence[str]], left: int = 2) -> list[str]:
    """As lines: the first columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    sides = [str.ljust if i < left else str.rjust for i in range(len(widths))]
    lines = ["  ".join(side(cell, w) for side, cell, w in zip(sides, row, widths, strict=True)) for row in table]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """Without what JSON does not have."""
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in record.items()
    }


def seconds(value: float) -> str:
    """A time, in words."""
    return f"{1e3 * value:.2f} ms" if value < 1 else f"{value:.2f} s"


def counted(n: int, noun: str) -> str:
    """So many of them, in words."""
    return f"{n:,} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"
