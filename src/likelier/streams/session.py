"""A stream followed to its end: each row is answered, judged and learned from."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, Self

from likelier.array_types import Floats
from likelier.streams.delayed import with_room
from likelier.streams.figures import Curve
from likelier.streams.model import Online
from likelier.streams.reader import Fill, Told, ahead

SPARE = 4  # batches that are read ahead


class Feed(Protocol):
    """Where rows come from."""

    def fills(self) -> Iterator[Fill[Told]]: ...


class BadLine(ValueError):
    """A line that could not be read, where none may be."""


@dataclass
class Session:
    """A model, and what has become of the rows that came."""

    model: Online
    curve: Curve = field(default_factory=Curve)
    learning: bool = True
    strict: bool = False  # the first line that cannot be read ends it
    told: Told | None = None
    rows: int = 0
    cells: int = 0
    # Told of each batch: the probabilities, and what has been found so far.
    watch: Callable[[Floats, Told], None] | None = None

    def follow(self, feed: Feed) -> None:
        """All rows of a feed, in their order. Ctrl-C ends it between two batches, and is raised then."""
        batches = ahead(feed.fills(), [self.model.intake.rows() for _ in range(SPARE)])
        with Patience() as patience:
            while True:
                with patience.waiting():
                    batch = next(batches, None)
                if batch is None:
                    return
                self._take(*batch)

    def _take(self, rows: Any, told: Told) -> None:
        if self.strict and told.bad:
            raise BadLine(f"{told.first_bad[0]}. Without --strict such lines are counted and passed over.")
        self.told = told
        if self.learning:
            meet(self.model, told.labels[self.model.K :])
        self.rows += len(rows)
        self.cells += rows.cells
        codes, weights = rows.codes, rows.weights
        P = self.model.learn(rows) if self.learning else self.model.learner.predict(rows)
        if len(codes):
            known = P if self.learning else with_room(P, codes, list(range(self.model.K)))
            self.curve.update(known, codes, weights)
        if self.watch is not None:
            self.watch(P, told)


class Patience:
    """Ctrl-C and the wish to end are heard while it waits, and at no other time."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._waiting, self._heard = False, 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others hear no signals
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *problem: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._waiting = True
        try:
            if self._heard:
                self._end()
            yield
        finally:
            self._waiting = False

    def _hear(self, number: int, frame: object) -> None:
        self._heard = number
        if self._waiting:
            self._end()

    def _end(self) -> NoReturn:
        """As whoever listened before would have it; where nobody did, as Ctrl-C."""
        before = self._before[self._heard]
        if callable(before):
            before(self._heard, None)
        raise KeyboardInterrupt


def meet(model: Online, texts: Sequence[str]) -> None:
    """Labels that are new, as they are written; whole numbers are numbers, as long as all labels are."""
    for text in texts:
        numbers = all(isinstance(label, int) for label in model.labels)
        if numbers and _whole(text):
            model.meet(int(text))
            continue
        if numbers:
            model.name([str(label) for label in model.labels])
        model.meet(text)


def _whole(text: str) -> bool:
    try:
        return str(int(text)) == text
    except ValueError:
        return False
