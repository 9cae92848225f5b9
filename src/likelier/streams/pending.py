"""Predictions that wait for their labels, in live use."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from copy import deepcopy
from threading import RLock
from typing import Any, Literal

from likelier.shown import Table, html
from likelier.streams.asking import Answer, Asked
from likelier.streams.curve import HEADING, HEADINGS, Curve, Snapshot, Windows, cells, line
from likelier.streams.figures import Figures
from likelier.streams.judging import Judge
from likelier.streams.waiting import Row, Waiting


class UnknownRow(KeyError):
    """A label for a row that does not wait."""

    def __str__(self) -> str:
        return str(self.args[0])


class Pending:
    """Answers rows at once, and learns each when its label comes: `predict(id, x)`, later `learn(id, y)`.

    What is learned is the row as it was when it was answered. A row whose label has not come `horizon`
    after it (in the units of `clock`) counts as the class `default` from then on: it is learned and judged
    as that, in the order of time, at the next call of any method. Without a default it is forgotten. At
    most `most` rows wait; the oldest leave early, as if expired. Labels that come exactly at the horizon
    are in time. Moments (`at=`) earlier than the latest one are taken for the latest.

    unknown: a label for a row that does not wait is counted and not learned ("count"), or an `UnknownRow`
    error ("raise"). As many ids as may wait are remembered after they left, so that a `late` label, whose
    row expired, is told from one of an `unknown` id.

    in_order: labels are learned in the order of their rows, each once no earlier row waits. Where no event
    is a class (`default`), labels of the other classes come first, and rows of the default class a horizon
    later: a new model would know nothing else for that long, and take every row for a click. So it learns
    all rows of a time together, a horizon later.

    All methods may be called from any thread: one runs at a time.
    """

    def __init__(
        self,
        model: Any,
        *,
        horizon: Any = None,
        default: Any = None,
        most: int = 100_000,
        clock: Callable[[], Any] = time.time,
        unknown: Literal["raise", "count"] = "count",
        window: int = 1000,
        in_order: bool = False,
    ) -> None:
        if unknown not in ("raise", "count"):
            raise ValueError(f"unknown={unknown!r}: 'raise' or 'count'")
        self._waiting = Waiting(Asked(model), horizon, default, most, in_order)
        self._clock, self._unknown, self._most = clock, unknown, most
        self._judge = Judge(Curve(window))
        self._left: OrderedDict[Hashable, str] = OrderedDict()  # how the last rows left
        self.joined = 0  # rows that left with their label
        self.expired = 0  # rows that left without
        self.crowded = 0  # those of them that left early
        self.late = 0  # labels that came after their row expired
        self.unknown = 0  # other labels of rows that did not wait
        self._lock = RLock()

    @property
    def model(self) -> Any:
        return self._waiting.model.model

    def predict(self, id: Hashable, x: Any, at: Any = None) -> Answer:
        """The probability of each label that the model knows; the row waits for its own."""
        with self._lock:
            self._go(at)
            if id in self._waiting.rows:
                raise ValueError(f"id {id!r} waits for its label already: give each row an id of its own")
            row = self._waiting.answer(id, x)
            self._left.pop(id, None)
            for each in self._waiting.crowded():
                self.crowded += 1
                self._expire(*each)
            return dict(row.answer)

    def learn(self, id: Hashable, y: Any, at: Any = None, sample_weight: float = 1.0) -> bool:
        """The label of a row that was answered; whether it was learned, or will be when its turn comes."""
        with self._lock:
            self._go(at)
            if not self._waiting.waits(id):
                return self._refuse(id)
            row = self._waiting.join(id, y, sample_weight)
            self.joined += 1
            self._leave(id, "was labelled")
            self._judge.add(row.answer, y, sample_weight, new=self._waiting.new(row, y))
            return True

    def expire(self, at: Any = None) -> int:
        """Lets rows expire whose time has run out; how many did."""
        with self._lock:
            before = self.expired
            self._go(at)
            return self.expired - before

    def __len__(self) -> int:
        return len(self._waiting.rows) - len(self._waiting.held)

    def __contains__(self, id: Hashable) -> bool:
        return self._waiting.waits(id)

    @property
    def waiting(self) -> int:
        return len(self)

    @property
    def figures(self) -> Figures:
        """Of rows that left until now: with their label, or as the default class."""
        with self._lock:
            return deepcopy(self._judge.settle().figures)

    @property
    def table(self) -> tuple[Snapshot, ...]:
        """Figures at 1, 2, 4, ... rows and now, of rows in the order in which they left."""
        with self._lock:
            return tuple(self._judge.settle().table())

    @property
    def curve(self) -> Windows:
        """Figures of each window of such rows."""
        with self._lock:
            return self._judge.settle().windows

    @property
    def classes(self) -> tuple[Any, ...]:
        """In the order of the classes of `figures`."""
        return tuple(self._judge.labels)

    def _head(self) -> str:
        counts = {
            "waiting": self.waiting,
            "joined": self.joined,
            "expired": self.expired,
            "late": self.late,
            "unknown": self.unknown,
        }
        return ", ".join(f"{n} {what}" for what, n in counts.items())

    def __str__(self) -> str:
        return "\n".join([self._head(), "", HEADING, *map(line, self.table)])

    def _repr_html_(self) -> str:
        return html([self._head(), Table([HEADINGS, *map(cells, self.table)], left=0)])

    # ---- keeping it --------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """All but the model and the settings: rows that wait, counters, figures. For `restore`."""
        with self._lock:
            waiting = self._waiting
            return deepcopy(
                {name: getattr(self, name) for name in _KEPT}
                | {"rows": waiting.rows, "now": waiting.now, "taught": waiting.model.taught}
                | {"backwards": waiting.backwards, "held": waiting.held}
            )

    def restore(self, state: dict[str, Any]) -> None:
        """As it was when `state` was called."""
        state = deepcopy(state)
        with self._lock:
            for name in _KEPT:
                setattr(self, name, state[name])
            for name in ("rows", "now", "backwards"):
                setattr(self._waiting, name, state[name])
            self._waiting.held = state.get("held", {})
            self._waiting.model.taught = state["taught"]

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = RLock()

    # ---- rows that leave ---------------------------------------------------------------------------
    def _go(self, at: Any) -> None:
        self._waiting.go(self._clock() if at is None else at)
        for each in self._waiting.expired():
            self._expire(*each)

    def _expire(self, id: Hashable, row: Row) -> None:
        self.expired += 1
        self._leave(id, "expired")
        default = self._waiting.default
        if default is not None:
            self._judge.add(row.answer, default, 1.0, new=self._waiting.new(row, default))

    def _leave(self, id: Hashable, how: str) -> None:
        self._left[id] = how
        if len(self._left) > self._most:
            self._left.popitem(last=False)

    def _refuse(self, id: Hashable) -> bool:
        how = self._left.get(id)
        if how == "expired":
            self.late += 1
        else:
            self.unknown += 1
        if self._unknown == "raise":
            why = f"it {how}" if how else "no prediction was made for it, or it left long ago"
            raise UnknownRow(f"id {id!r} waits for no label: {why}. unknown='count' lets such labels pass")
        return False


_KEPT = ("_judge", "_left", "joined", "expired", "crowded", "late", "unknown")
