"""Rows and labels, each at its moment: what would have happened."""

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain
from typing import Any

import numpy as np

from likelier.evaluation.arriving import Many, One
from likelier.streams.asking import check_label, check_weight
from likelier.streams.judging import Judge
from likelier.streams.waiting import Waiting

Moment = str | Callable[[Any], Any] | None
Delay = Any  # a number, a feature's name, or a function of (x, y, moment)


@dataclass
class Counts:
    """What became of the rows."""

    rows: int = 0
    learned: int = 0
    expired: int = 0
    late: int = 0
    unanswered: int = 0
    backwards: int = 0


class Rows:
    """Rows and labels, each at its moment."""

    def __init__(self, waiting: Waiting, judge: Judge, moment: Moment, delay: Delay) -> None:
        self.waiting, self.judge, self.counts = waiting, judge, Counts()
        self.moment, self.delay = moment, delay
        self.coming: list[tuple[Any, int, Any]] = []  # labels: when, of which row, what

    def run(self, items: Iterator[One | Many]) -> Counts:
        for row in chain.from_iterable(each.rows() for each in items):
            with _naming(self.counts.rows):
                self._row(self.counts.rows, row)
            self.counts.rows += 1
        self._labels(lambda when: True)
        if self.waiting.horizon is not None:
            self._expire(self.waiting.rest())
        self.counts.backwards = self.waiting.backwards
        return self.counts

    def _row(self, t: int, row: One) -> None:
        """Labels of earlier moments are learned first; those of this one wait until it has passed."""
        x, y = row.x, None if row.y is None or row.y != row.y else row.y
        if y is not None:
            check_label(y)
        check_weight(row.weight)
        at, x = self._moment(t, x)
        delay, x = self._delay(x, y, at)
        waiting = self.waiting
        self._labels(lambda when: when < at)
        at = self._go(at)
        asked = waiting.answer(t, x, row.weight)
        self._expire(waiting.crowded())
        comes = y is not None and delay is not None
        truth = y if comes else waiting.default if waiting.horizon is not None else None
        if truth is not None:
            self.judge.add(asked.answer, truth, row.weight, new=waiting.new(asked, truth))
        if comes:
            heappush(self.coming, (at if delay == 0 else at + delay, t, y))
        elif waiting.horizon is None:
            waiting.rows.pop(t, None)  # nothing will ever be learned from it
        if self.moment is None:
            self._labels(lambda when: when <= at)  # there is but one row to a moment

    def _labels(self, due: Callable[[Any], bool]) -> None:
        """Learns the labels whose time has come."""
        while self.coming and due(self.coming[0][0]):
            when, t, y = heappop(self.coming)
            self._go(when)
            if self.waiting.waits(t):
                with _naming(t):
                    self.waiting.join(t, y)
                self.counts.learned += 1
            else:
                self.counts.late += 1

    def _go(self, at: Any) -> Any:
        at = self.waiting.go(at)
        self._expire(self.waiting.expired())
        return at

    def _expire(self, rows: Iterator[Any]) -> None:
        self.counts.expired += sum(1 for _ in rows)

    def _moment(self, t: int, x: Any) -> tuple[Any, Any]:
        if self.moment is None:
            return t, x
        return (self.moment(x), x) if callable(self.moment) else _taken(x, self.moment)

    def _delay(self, x: Any, y: Any, at: Any) -> tuple[Any, Any]:
        if self.delay is None:
            return 0, x
        delay = self.delay
        if callable(delay):
            delay = delay(x, y, at)
        elif isinstance(delay, str):
            delay, x = _taken(x, delay)
        if delay is None or delay != delay or delay == math.inf:
            return None, x
        if delay < type(delay)(0):
            raise ValueError(f"a delay of {delay}: labels cannot come before their rows")
        return delay, x


@contextmanager
def _naming(t: int) -> Iterator[None]:
    """What goes wrong here is about this row, unless that is known already."""
    try:
        yield
    except Exception as error:
        if not getattr(error, "__notes__", ()):
            error.add_note(f"at row {t} of the stream")
        raise


def _taken(x: dict[Any, Any], name: str) -> tuple[Any, dict[Any, Any]]:
    """A feature, and the others."""
    if name not in x:
        raise ValueError(f"the row has no feature {name!r}, which moment= or delay= names")
    return x[name], {each: value for each, value in x.items() if each != name}


class Batches:
    """Rows that a model answers together, and learns together once all their labels have come."""

    def __init__(self, model: Any, judge: Judge, delay: float, classes: Any) -> None:
        if not hasattr(model, "partial_fit"):
            raise TypeError(
                f"{type(model).__name__} has no learn_one and no partial_fit: it cannot learn on"
            )
        self.model, self.judge, self.counts = model, judge, Counts()
        self.delay, self.classes = delay, classes
        self.coming: deque[tuple[float, Many]] = deque()  # when the last label comes
        # In the order in which they were first learned; what a model knew before may be any of its classes.
        self.learned = dict.fromkeys(np.asarray(getattr(model, "classes_", ())).tolist())

    def run(self, items: Iterator[One | Many]) -> Counts:
        for some in items:
            if isinstance(some, One):
                raise TypeError(
                    f"{type(self.model).__name__} learns arrays and frames, and a row came: cut the stream "
                    f"into batches (X, y), or give a model with learn_one"
                )
            if hasattr(self.model, "classes_"):
                P, labels = _answers(self.model, some.X)
                self.judge.add_many(P, labels, some.labels(), some.weights, learned=self.learned)
            else:
                self.counts.unanswered += len(some.y)
            self.counts.rows += len(some.y)
            self.coming.append((self.counts.rows - 1 + self.delay, some))
            self._labels(self.counts.rows)
        self._labels(math.inf)
        return self.counts

    def _labels(self, before: float) -> None:
        """Learns the batches whose labels have come before that moment."""
        while self.coming and self.coming[0][0] < before:
            _, some = self.coming.popleft()
            settings = {} if some.weights is None else {"sample_weight": some.weights}
            if self.classes is not None and not hasattr(self.model, "classes_"):
                settings["classes"] = self.classes
            self.model.partial_fit(some.X, some.y, **settings)
            if not hasattr(self.model, "classes_"):
                raise TypeError(f"{type(self.model).__name__} has no classes_: it is no classifier")
            self.counts.learned += len(some.y)
            y, w = some.labels(), some.weights
            self.learned |= dict.fromkeys(
                y if w is None else (one for one, a in zip(y, w, strict=True) if a)
            )


def _answers(model: Any, X: Any) -> tuple[Any, list[Any]]:
    """P, and the labels of its columns; a model that foretells labels only is taken to be sure of them."""
    labels = np.asarray(model.classes_).tolist()
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64), labels
    found = np.asarray(model.predict(X))
    return (found[:, None] == np.asarray(model.classes_)).astype(np.float64), labels


def is_number(delay: Any) -> bool:
    """Or none."""
    return delay is None or (isinstance(delay, int | float | np.number) and not math.isnan(delay))
