"""Which of the rows and labels that arrive become events, and which are refused or repeated."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from likelier.service.events import encode, features_of, label_json, label_of
from likelier.service.live import Live
from likelier.service.store import Draft, Known, Store

MANY = 8  # rows of a request that are first looked at together


class Item(NamedTuple):
    """A row to predict (x, in JSON), a label (y), or both."""

    id: str | None
    x: bytes | None = None
    y: Any = None


class Refusal(Exception):
    """Why a request is refused; none of its rows is an event."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Decided(NamedTuple):
    """For each item the number of its draft, or None if the log has the item already."""

    places: list[int | None]


class Batch:
    """Requests that share a commit: each is decided as if those before it were in the log already."""

    def __init__(self, store: Store, live: Live, requests: Iterable[Sequence[Item]], now: float) -> None:
        self._live, self._now, self.drafts = live, now, list[Draft]()
        self._shared = store.shared
        self.until = math.inf  # event time after which one of the labels would be too late
        ids = {item.id for items in requests for item in items if item.id is not None}
        # Where others write as well, the log may have what is not learned yet.
        unsure = [id for id in ids if self._shared or id not in live.waiting.rows]
        self._known: dict[str, Known] = store.known(unsure) if unsure else {}
        self._labels = set(live.served.labels)
        self._rows: set[str] = set()  # ids of rows that are drafts of this batch

    def add(self, items: Sequence[Item]) -> Decided:
        """Decide a request; raises a `Refusal`, and then nothing of it is kept."""
        before, drafts, labels = {}, list[Draft](), set(self._labels)
        places: list[int | None] = []
        first = len(self.drafts)
        if len(items) >= MANY and self.add_complete(items):
            return Decided(list(range(first, len(self.drafts))))
        try:
            for i, item in enumerate(items):
                where = f"row {i}: " if len(items) > 1 else ""
                if item.id is not None and item.id not in before:
                    before[item.id] = self._known.get(item.id)
                fresh = self._decide(item, where)
                if fresh and item.y is not None:
                    self._meet(item.y, labels, where)
                places.append(len(self.drafts) + len(drafts) if fresh else None)
                if fresh:
                    drafts.append(self._draft(item))
                    self._remember(item)
        except Refusal:
            for id, known in before.items():
                if known is None:
                    self._known.pop(id, None)
                else:
                    self._known[id] = known
            raise
        self.drafts += drafts
        self._labels = labels
        self._rows |= {draft.id for draft in drafts if draft.id is not None and draft.x is not None}
        return Decided(places)

    def add_complete(self, items: Sequence[Item]) -> bool:
        """Accept all items at once if each has a row and a label of a known class, and none is in the log.

        This is what most requests are, and decides the same as one after another.
        """
        ids = [id for id, _, _ in items if id is not None]
        distinct, labels = set(ids), self._labels
        if (
            len(distinct) != len(ids)
            or not distinct.isdisjoint(self._known)
            or not (self._shared or distinct.isdisjoint(self._live.waiting.rows))
            or not all(x is not None and y in labels for _, x, y in items)
        ):
            return False
        self.drafts += [Draft(id, x, label_json(y)) for id, x, y in items]
        self._known |= {id: Known(x, self._now, label_json(y)) for id, x, y in items if id is not None}
        self._rows |= distinct
        return True

    def _draft(self, item: Item) -> Draft:
        """The event of an item: a row that the log has already is not entered again, only its label."""
        there = item.id is not None and self._seen(item.id).x is not None
        return Draft(item.id, None if there else item.x, None if item.y is None else label_json(item.y))

    def _remember(self, item: Item) -> None:
        if item.id is None:
            return
        known = self._seen(item.id)
        self._known[item.id] = Known(
            known.x if item.x is None else item.x,
            self._now if item.x is not None else known.at,
            known.y if item.y is None else label_json(item.y),
        )

    def _seen(self, id: str) -> Known:
        """The row and label of an id, from this batch, the log, or the waiting rows."""
        if id in self._known:
            return self._known[id]
        row = None if self._shared else self._live.waiting.rows.get(id)
        if row is None:
            return Known(None, None, None)
        held = self._live.waiting.held.get(id)
        return Known(row.x, row.made, None if held is None else encode(held[0]))

    def _decide(self, item: Item, where: str) -> bool:
        """Whether the item becomes an event, rather than being a repetition."""
        if item.id is None:
            return True
        known = self._seen(item.id)
        if item.y is None:
            return self._decide_row(item, known, where)
        if known.y is not None:
            return self._compare(item, label_of(known.y), where)
        if item.x is not None:
            if known.x is None:
                return True
            _same_row(item, known, where)
        return self._decide_label(item, known, where)

    def _decide_row(self, item: Item, known: Known, where: str) -> bool:
        if known.x is None:
            return True
        _same_row(item, known, where)
        return False

    def _compare(self, item: Item, first: Any, where: str) -> bool:
        if first == item.y and isinstance(first, bool) == isinstance(item.y, bool):
            return False
        raise Refusal(
            409,
            f"{where}id {item.id!r} has the label {_shown(first)} already; got {_shown(item.y)}. The first "
            "one is kept.",
        )

    def _decide_label(self, item: Item, known: Known, where: str) -> bool:
        live = self._live
        if known.x is None:
            if live.config.keep_unknown:
                return True
            raise Refusal(
                404,
                f"{where}no row with id {item.id!r} was predicted: send the row with its label, as "
                '{"x": ..., "y": ..., "id": ...}, or start the server with --keep-unknown-labels.',
            )
        # A row that waits may be past its horizon: it expires at the next event, which this one would be.
        there = self._shared or item.id in live.waiting.rows or item.id in self._rows
        if there and self._in_time(known):
            return True
        default = live.config.default
        if default is not None and default == item.y:
            return False
        what = "was forgotten" if default is None else f"counts as {_shown(default)}"
        raise Refusal(
            410,
            f"{where}the label of id {item.id!r} comes too late: its row {what}, after --label-horizon or "
            "because more than --max-waiting rows waited.",
        )

    def _in_time(self, known: Known) -> bool:
        """Whether a label comes within the horizon of its row."""
        horizon = self._live.config.horizon
        if horizon is None or known.at is None:
            return True
        if known.at + horizon < self._now:
            return False
        self.until = min(self.until, known.at + horizon)
        return True

    def _meet(self, y: Any, labels: set[Any], where: str) -> None:
        most = self._live.config.max_classes
        if y not in labels and len(labels) >= most:
            raise Refusal(
                422, f"{where}label {_shown(y)} would be class {most + 1}: at most --max-classes={most}."
            )
        labels.add(y)


def _same_row(item: Item, known: Known, where: str) -> None:
    if known.x is not None and item.x != known.x and features_of(item.x or b"{}") != features_of(known.x):
        raise Refusal(
            409, f"{where}id {item.id!r} is of another row already: give each row an id of its own."
        )


def _shown(label: Any) -> str:
    return encode(label).decode()[:80]
