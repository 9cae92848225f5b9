"""How good predictions are, where the labels are known: what `likelier predict` reports at the end."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import frames
from likelier.display import counted
from likelier.estimators.predictions import ClassCodes, probable
from likelier.evaluation import (
    ClassPredictions,
    Evaluation,
    LabelEvaluation,
    LabelSums,
    ValueEvaluation,
    ValueSums,
)

# How good answers are, where the labels are known: what is reported of it at the end.


class Evaluator(Protocol):
    """Adds up how good answers are; one for each part, merged."""

    def start(self) -> Any:
        """Sums of no rows yet."""

    def add(self, sums: Any, predicted: Any, target: Any, /) -> None:
        """Rows without a label or value are left out."""

    def found(self, sums: Any, /) -> Evaluation: ...


class LabelEvaluator:
    """Of labels; one that the model does not know is an error."""

    def __init__(self, model: Any, naming: ClassCodes) -> None:
        self.model, self.naming = model, naming

    def start(self) -> LabelSums:
        return LabelSums.start(self.naming.K, apart=True)

    def add(self, sums: LabelSums, predicted: ClassPredictions, target: Any) -> None:
        there = frames.encoded(target)[0] >= 0
        codes = self.naming.places[frames.recoded(target, self.naming.sorted)] if there.any() else -1
        sums.add(predicted, np.where(there, codes, -1))

    def found(self, sums: LabelSums) -> LabelEvaluation:
        return LabelEvaluation(
            type(self.model).__name__, self.model.classes_, probable(self.model), sums=sums
        )


class ValueEvaluator:
    """Of values."""

    def __init__(self, model: Any, target: str) -> None:
        self.model, self.target = model, target

    def start(self) -> ValueSums:
        return ValueSums.start(1)

    def add(self, sums: ValueSums, predicted: NDArray[Any], target: Any) -> None:
        y = np.asarray(frames.arrow_numbers(target), dtype=np.float64)
        sums.add(predicted, np.where(np.isfinite(y), y, np.nan))

    def found(self, sums: ValueSums) -> ValueEvaluation:
        return ValueEvaluation(type(self.model).__name__, (self.target,), sums=sums)


def in_words(found: Evaluation) -> str:
    """One line."""
    if found.rows == 0:
        what = "a label" if isinstance(found, LabelEvaluation) else "a value"
        return f"no row has {what}: how good the answers are is not known"
    figures = dict(found.figures)
    if isinstance(found, LabelEvaluation) and len(found.classes) == 2:
        figures["auc_deviation"] = auc_deviation(found.sums.figures.bins)
    shown = [_figure(name, figures) for name in figures]
    text = f"{', '.join(filter(None, shown))} on {counted(found.rows, 'row')}"
    if not isinstance(found, LabelEvaluation) or not found.unknown:
        return text
    unknown = counted(found.unknown, "label")
    return f"{text} ({unknown} that the model does not know: counted as errors, and in no other metric)"


def auc_deviation(bins: Floats) -> float:
    """The standard error of the AUC (DeLong, DeLong and Clarke-Pearson 1988); bins: rows of two classes.

    The share of the rows of the other class that a row is on the right side of varies from row to row: with
    n rows of one class and m of the other, Var = var(first shares) / n + var(second shares) / m.
    """
    n, m = bins[:, 0], bins[:, 1]
    if min(n.sum(), m.sum()) <= 1:
        return float("nan")
    below = (np.cumsum(n) - n / 2) / n.sum()  # of the first class, for a row of the second
    above = 1 - (np.cumsum(m) - m / 2) / m.sum()
    spread = [w @ (v - w @ v / w.sum()) ** 2 / (w.sum() - 1) / w.sum() for w, v in ((m, below), (n, above))]
    return float(np.sqrt(sum(spread)))


def _figure(name: str, figures: Mapping[str, float]) -> str | None:
    value = figures[name]
    if np.isnan(value):
        return None
    if name == "error":
        return f"error {100 * value:.2f} %"
    if name == "auc":
        off = figures.get("auc_deviation", np.nan)
        return f"AUC {value:.4f}" + (f" ± {off:.4f}" if np.isfinite(off) else "")
    words = {"log_loss": "log-loss", "calibration_error": "calibration error"}
    if name in words:
        return f"{words[name]} {value:.4f}"
    words = {"rmse": "RMSE", "mae": "MAE", "r2": "R²"}
    return f"{words[name]} {value:.6g}" if name in words else None


def written(labels: Any) -> list[str]:
    """Labels as they stand in the column of answers: 2, where svmlight's are 2.0."""
    return list(pa.array(labels).cast(pa.string()).to_pylist())


def as_json(found: Evaluation) -> dict[str, Any]:
    """All figures, by their names; those that are not finite are null."""
    figures: dict[str, Any] = {"model": found.model, "rows": found.rows, "weight": found.weight}
    figures |= {name: value if np.isfinite(value) else None for name, value in found.figures.items()}
    if isinstance(found, LabelEvaluation):
        figures |= {
            "classes": written(found.classes),
            "confusion": found.confusion.tolist(),
            "unknown": found.unknown,
        }
    return figures
