"""How good answers are, where the truth is known: added up batch by batch."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from likelier.cli.words import counted
from likelier.data import arrow


class Judge(Protocol):
    """Adds up how good answers are."""

    def add(self, model: Any, X: Any, answers: NDArray[Any], truth: Any, /) -> None: ...

    def said(self) -> str: ...


@dataclass
class LabelJudge:
    """Errors and -ln p(C_y | x) of rows that have a label; one that the model does not know is an error."""

    rows: int = 0
    wrong: int = 0
    unknown: int = 0
    loss: float = 0.0

    def add(self, model: Any, X: Any, answers: NDArray[Any], truth: Any) -> None:
        codes, values = arrow.encoded(truth)
        labelled = codes >= 0
        order = np.argsort(model.classes_)  # of a model that learned row by row they are as they came
        y = arrow.recoded(truth, model.classes_[order]) if len(values) else codes
        at = np.flatnonzero(y >= 0)
        y[at] = order[y[at]]
        self.rows += int(labelled.sum())
        self.unknown += int(labelled.sum()) - len(at)
        self.wrong += int((answers[at] != model.classes_[y[at]]).sum())
        if hasattr(model, "predict_log_proba"):
            self.loss -= float(model.predict_log_proba(X)[at, y[at]].sum())
        else:
            self.loss = np.nan

    def said(self) -> str:
        if self.rows == 0:
            return "no row has a label: how good the answers are is not known"
        error = f"error {100 * (self.wrong + self.unknown) / self.rows:.2f} %"
        known = self.rows - self.unknown
        loss = f", log-loss {self.loss / known:.4f}" if known and not np.isnan(self.loss) else ""
        unknown = (
            f" ({counted(self.unknown, 'label')} that the model does not know: errors, without a log-loss)"
            if self.unknown
            else ""
        )
        return f"{error}{loss} on {counted(self.rows, 'row')}{unknown}"


@dataclass
class ValueJudge:
    """The squared errors of rows whose value is known."""

    rows: int = 0
    squares: float = 0.0

    def add(self, model: Any, X: Any, answers: NDArray[Any], truth: Any) -> None:
        y = np.asarray(arrow.numbers(truth), dtype=np.float64)
        there = np.isfinite(y)
        self.rows += int(there.sum())
        self.squares += float(((answers - y)[there] ** 2).sum())

    def said(self) -> str:
        if self.rows == 0:
            return "no row has a value: how good the answers are is not known"
        return f"RMSE {np.sqrt(self.squares / self.rows):.6g} on {counted(self.rows, 'row')}"
