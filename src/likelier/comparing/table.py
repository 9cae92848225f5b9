"""What a comparison found, and how it is shown."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import fill
from typing import Any, ClassVar, NamedTuple

import numpy as np

WIDTH = 118  # of notes: about that of the table


class Figure(NamedTuple):
    """A column of the table."""

    field: str
    heading: str
    shown: Callable[[float], str]


def _seconds(value: float) -> str:
    return f"{1e3 * value:.2f} ms" if value < 1 else f"{value:.2f} s"


FIT = Figure("fit", "fit", _seconds)


@dataclass(frozen=True, kw_only=True)
class Result:
    """One model: means over the folds, and `fit`, the seconds of a fit to all rows. NaN: it has none."""

    figures: ClassVar[tuple[Figure, ...]]

    model: str
    assumes: str = ""
    fit: float = np.nan
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ClassResult(Result):
    """How well classes are found."""

    figures = (
        Figure("error", "error", lambda value: f"{100 * value:.2f} %"),
        Figure("log_loss", "log-loss", lambda value: f"{value:.4f}" if value < 1000 else f"{value:.3g}"),
    )

    error: float = np.nan
    log_loss: float = np.nan


@dataclass(frozen=True, kw_only=True)
class ValueResult(Result):
    """How well numbers are found."""

    figures = (Figure("rmse", "RMSE", "{:.5g}".format), Figure("r2", "R²", "{:.4f}".format))

    rmse: float = np.nan
    r2: float = np.nan


@dataclass(frozen=True)
class Comparison:
    """The results, best first; prints as a table."""

    results: tuple[Result, ...]
    rows: int
    columns: int
    target: str  # what is found, in words
    folds: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        columns = (*self.results[0].figures, FIT)
        table = [("model", *(c.heading for c in columns), "assumes")]
        table += [(r.model, *(_cell(r, c) for c in columns), r.assumes) for r in self.results]
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        # Words to the left, numbers to the right.
        sides = [str.ljust, *(str.rjust for _ in columns), str.ljust]
        lines = ["  ".join(map(_aligned, sides, row, widths)) for row in table]
        lines.insert(1, "  ".join("-" * width for width in widths))
        head = (
            f"{counted(self.rows, 'row')}, {counted(self.columns, 'column')}, {self.target}; "
            f"{self.folds}-fold cross-validation"
        )
        notes = [fill(note, WIDTH, subsequent_indent="  ") for note in (*self.notes, *self._remarks())]
        return "\n".join([head, "", *(line.rstrip() for line in lines), *([""] if notes else []), *notes])

    def _remarks(self) -> list[str]:
        """What the models have to say, each remark once, after the names of all that make it."""
        makers: dict[str, list[str]] = {}
        for result in self.results:
            for note in result.notes:
                makers.setdefault(_first_sentence(note), []).append(result.model)
        return [f"{'; '.join(models)}: {note}" for note, models in makers.items()]

    def to_frame(self) -> Any:
        """The results as a pandas frame."""
        import pandas as pd

        fields = ["model", *(f.field for f in self.results[0].figures), "fit", "assumes", "notes"]
        table = [{field: getattr(result, field) for field in fields} for result in self.results]
        return pd.DataFrame(table).set_index("model")


def counted(n: int, noun: str) -> str:
    """So many of them, in words."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _first_sentence(note: str) -> str:
    """Without the advice: beside a table it is enough to know what happened."""
    return re.split(r"(?<=[^.])\.\s+(?=[A-Z])", note, maxsplit=1)[0].rstrip(".")


def _cell(result: Result, column: Figure) -> str:
    value = getattr(result, column.field)
    return "-" if np.isnan(value) else column.shown(value)


def _aligned(side: Callable[[str, int], str], cell: str, width: int) -> str:
    return side(cell, width)
