"""An online model: settings, the labels met so far, weights, and the count of what came."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.callers import outside
from likelier.streams.settings import Settings

Floats = NDArray[np.float64]


class ClippedWarning(UserWarning):
    """Steps of an online model were cut short."""


@dataclass
class Online:
    """Answers rows and learns from them: classes are the labels, in this order.

    reading: what a reader of text has found, in plain words and numbers, for the next to read alike.
    """

    settings: Settings
    labels: list[Any] = field(default_factory=list)
    reading: dict[str, Any] = field(default_factory=dict)
    learner: "_core.Learner" = field(init=False)
    intake: "_core.Intake" = field(init=False)
    codes: dict[Any, int] = field(init=False)
    warned: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.learner, self.intake = self.settings.learner(), self.settings.intake()
        given, self.labels, self.codes = self.labels, [], {}
        for label in given:
            self.meet(label)
        self._room()

    def _room(self) -> None:
        """Scores for all classes that are known; one alone is nothing to tell apart."""
        if self.K > 1:
            self.learner.grow(self.K)

    @property
    def K(self) -> int:
        return len(self.labels)

    @property
    def free(self) -> int:
        """How many weights have a feature, and intercepts: two classes have one score, more one each."""
        used: int = self.learner.counters["used"]
        return (used + 1) * (1 if self.K <= 2 else self.K)

    def meet(self, label: Any) -> int:
        """The code of a label, which may be new."""
        if label not in self.codes:
            self.codes[label] = len(self.labels)
            self.labels.append(label)
            self.intake.factors = [*self.intake.factors, self.settings.factor(label)]
        return self.codes[label]

    def name(self, labels: list[Any]) -> None:
        """Other names for the classes, in their order."""
        self.labels[:] = labels
        self.codes.clear()
        self.codes.update({label: code for code, label in enumerate(labels)})
        self.intake.factors = [self.settings.factor(label) for label in labels]

    def learn(self, rows: "_core.HashedRows") -> Floats:
        """A step at each row; the probabilities from before it, (n, K)."""
        before = self.learner.counters["clipped"]
        self.intake.weigh(rows)
        P = self.learner.learn(rows)
        self.intake.judge(rows, P)
        if self.learner.counters["clipped"] != before:
            self.warn_of_clipping()
        return P

    def warn_of_clipping(self) -> None:
        """Say once that a step was cut short."""
        if not self.warned:
            self.warned = True
            warnings.warn(
                "a step was cut short, lest weights run away: learning_rate is too large for these rows, "
                "or a value or weight of a row is. The model is finite; the count of such steps goes on.",
                ClippedWarning,
                stacklevel=outside(),
            )

    # ---- kept ----------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """All that it has learned, as plain numbers and arrays."""
        kept = self.learner.state()
        kept["counts"] = np.array(self.intake.counts, dtype=np.float64)
        return kept | {"mistakes": self.intake.mistakes, "skipped": self.intake.skipped}

    @classmethod
    def of(cls, settings: Settings, labels: Iterable[Any], reading: dict[str, Any], state: Any) -> Self:
        """The model that had this state."""
        kept = dict(state)
        made = cls(settings, list(labels), dict(reading))
        made.intake.counts = [float(n) for n in kept.pop("counts")]
        made.intake.mistakes, made.intake.skipped = kept.pop("mistakes"), kept.pop("skipped")
        made.learner.restore(kept)
        made._room()
        return made

    def copy(self) -> Self:
        return type(self).of(self.settings, self.labels, self.reading, self.state())

    def __reduce__(self) -> Any:
        state = self.state()
        few = few_slots(state.pop("table"), state.pop("tags"))
        return _unpickled, (self.settings, self.labels, self.reading, state, few)


def _unpickled(settings: Settings, labels: list[Any], reading: Any, state: Any, few: Any) -> Online:
    return Online.of(settings, labels, reading, state | all_slots(**few))


# ---- the table, of which few slots are in use ----------------------------------------------------------
def few_slots(table: NDArray[np.float32], tags: NDArray[np.uint32]) -> dict[str, Any]:
    """The rows of the table that hold anything, and which they are; all of them if that is no more.

    They are those that a feature has taken, and the intercept's, which is the last.
    """
    taken = tags[:, 0] != 0
    taken[-1] = True
    there = np.flatnonzero(taken).astype(np.uint32)
    if len(there) * (table.shape[1] + 2) < len(table) * (table.shape[1] + 1):
        return {"slots": len(table), "at": there, "cells": table[there], "tags": tags[there]}
    return {"slots": len(table), "at": None, "cells": table, "tags": tags}


def all_slots(slots: int, at: Any, cells: NDArray[np.float32], tags: NDArray[np.uint32]) -> dict[str, Any]:
    """The whole table again."""
    if at is None:
        return {"table": np.ascontiguousarray(cells), "tags": np.ascontiguousarray(tags)}
    table, held = np.zeros((slots, cells.shape[1]), np.float32), np.zeros((slots, 1), np.uint32)
    table[at], held[at] = cells, tags
    return {"table": table, "tags": held}


def plain_label(y: Any) -> Any:
    """A label as Python has it: a string, a truth or a number."""
    label = y.item() if isinstance(y, np.generic) else y
    if label is None or (isinstance(label, float) and math.isnan(label)):
        raise ValueError("a row to learn from needs a label, and y is missing (None or NaN)")
    if not isinstance(label, str | bytes | bool | int | float):
        raise TypeError(
            f"y is {label!r:.80}, of type {type(label).__name__}: a label is a string, a number or a truth"
        )
    return label


def labels_array(labels: list[Any]) -> NDArray[Any]:
    """Labels as an array: of their own type if it is one, else of objects."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds <= {str, bool, int, float}:
        found = np.array(labels)
        if found.tolist() == labels:  # not beyond 64 bits, and no zeros at the end of strings
            return found
    held = np.empty(len(labels), dtype=object)
    held[:] = labels
    return held
