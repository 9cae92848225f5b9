"""Rows that were answered and wait for their labels."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

from likelier.streams.asking import Answer, Asked, check_label, check_weight

PLAIN = frozenset([str, int, float, bool, bytes, type(None)])  # cannot change, and need no copy


class Row(NamedTuple):
    """A row as it was when it was answered."""

    x: Any
    answer: Answer
    made: Any  # the moment
    weight: float
    known: int  # labels that the model had learned by then


class Waiting:
    """Rows in the order in which they came. Each leaves with its label, or expires.

    A row expires when its moment is more than `horizon` ago, or when more than `most` wait and it is the
    oldest; it is then learned as the class `default`, or, if there is none, not at all. Time does not run
    backwards: an earlier moment than the latest is taken for the latest.

    in_order: labels are learned in the order of their rows. One that comes early is held until no row
    before its own waits any more.
    """

    def __init__(
        self,
        model: Asked,
        horizon: Any = None,
        default: Any = None,
        most: int | None = None,
        in_order: bool = False,
    ) -> None:
        if most is not None and most < 1:
            raise ValueError(f"most={most}: room for one row is needed at least")
        if horizon is not None and not horizon >= type(horizon)(0):
            raise ValueError(f"horizon={horizon}: labels cannot come before their rows")
        if default is not None:
            check_label(default)
        if in_order and horizon is None:
            raise ValueError(
                "in_order=True needs a horizon: a label that never comes would hold back all that follow"
            )
        self.in_order = in_order
        self.held: dict[Hashable, tuple[Any, float]] = {}  # labels that have come before their turn
        self.model, self.horizon, self.default, self.most = model, horizon, default, most
        self.rows: OrderedDict[Hashable, Row] = OrderedDict()
        self.now: Any = None
        self.backwards = 0  # moments that were taken for later ones

    def go(self, at: Any) -> Any:
        """To this moment; what is the moment then."""
        if at != at or at is None:
            raise ValueError(f"{at!r} is no moment")
        if self.now is None and self.horizon is not None:
            _check_units(at, self.horizon)
        if self.now is None or at >= self.now:
            self.now = at
        else:
            self.backwards += 1
        return self.now

    def answer(self, id: Hashable, x: Any, weight: float = 1.0) -> Row:
        """Asks the model, and keeps the row as it is at this moment."""
        x = _copied(x)
        row = Row(x, self.model.ask(x), self.now, weight, len(self.model.taught))
        self.rows[id] = row
        return row

    def waits(self, id: Hashable) -> bool:
        """Whether there is a row of this name whose label has not come."""
        return id in self.rows and id not in self.held

    def join(self, id: Hashable, y: Any, weight: float | None = None) -> Row:
        """Learns the label of a row that waits, or holds it until its turn."""
        row = self.rows[id]
        weight = row.weight if weight is None else weight
        if self.in_order:
            check_label(y)
            check_weight(weight)
            self.held[id] = y, weight
            self._release()
        else:
            self.model.teach(row.x, y, weight)
            del self.rows[id]
        return row

    def _release(self) -> None:
        """Learns labels whose turn it is: those before the first row that waits."""
        while self.rows and (id := next(iter(self.rows))) in self.held:
            self.model.teach(self.rows[id].x, *self.held.pop(id))  # a label that is refused may come again
            del self.rows[id]

    def new(self, row: Row, y: Any) -> bool:
        """Whether the model had never learned this label when it answered."""
        return self.model.taught.get(y, row.known) >= row.known

    def expired(self) -> Iterator[tuple[Hashable, Row]]:
        """Lets rows expire whose time has run out, oldest first; each when it is asked for."""
        if self.horizon is not None:
            while self.rows and next(iter(self.rows.values())).made + self.horizon < self.now:
                yield self._expire()

    def crowded(self) -> Iterator[tuple[Hashable, Row]]:
        """Lets rows expire for which there is no room, oldest first."""
        while self.most is not None and len(self.rows) > self.most:
            yield self._expire()

    def rest(self) -> Iterator[tuple[Hashable, Row]]:
        """Lets all rows expire, oldest first."""
        while self.rows:
            yield self._expire()

    def _expire(self) -> tuple[Hashable, Row]:
        id, row = next(iter(self.rows.items()))
        if self.default is not None:
            self.model.teach(row.x, self.default, row.weight)
        del self.rows[id]  # not before: a model that refuses the class loses no row
        self._release()
        return id, row


def _check_units(at: Any, horizon: Any) -> None:
    """Refuse a horizon that cannot be added to moments, before any row waits for it."""
    try:
        at + horizon
    except TypeError:
        raise TypeError(
            f"horizon={horizon!r} cannot be added to a moment such as {at!r}: give it in the units of the "
            "moments, as a number of seconds for time.time(), or a timedelta for datetimes"
        ) from None


def _copied(x: Any) -> Any:
    """As it is now, whatever becomes of it."""
    if not isinstance(x, dict):
        return deepcopy(x)
    return {name: value if type(value) in PLAIN else deepcopy(value) for name, value in x.items()}
