"""The writer of a log that several processes share: one learns, and the others follow its snapshots."""

import math
import time
from collections.abc import Sequence
from typing import Any

from likelier.service.events import Event
from likelier.service.live import LEARNED, Live, Outcome
from likelier.service.postgres_store import Conflict, PostgresStore
from likelier.service.recovery import models_of, recovered
from likelier.service.snapshots import captured, restored
from likelier.service.store import Draft, StoreError
from likelier.service.writer import Request, Writer

POLL = 0.05  # seconds between two looks at what others have written
ELECTION = 0.5  # seconds between two attempts to lead, and between two looks for a new snapshot
PUBLISH = 1.0  # seconds between two snapshots, by which others follow
ATTEMPTS = 20  # at a batch that others interfere with


class SharedWriter(Writer):
    """Every process appends; the one that holds the leader's lock applies, and publishes the model.

    The state is a function of the log: if two processes should ever believe that they lead, both learn the
    same. The lock saves work, and nothing depends on it.
    """

    tick = POLL
    store: PostgresStore

    def __init__(self, *arguments: Any, **how: Any) -> None:
        super().__init__(*arguments, **how | {"snapshot_seconds": PUBLISH})
        self._leads, self._looked, self._caught = False, 0.0, 0.0

    @property
    def role(self) -> str:
        return "leader" if self._leads else "follower"

    # ---- batches -------------------------------------------------------------------------------------
    def _commit(self, requests: list[Request], results: list[tuple[Request, Any]]) -> None:
        for _ in range(ATTEMPTS):
            try:
                super()._commit(requests, results)
                return
            except Conflict:  # decide once more, with what has come meanwhile
                results.clear()
        raise StoreError("other processes keep writing the same ids: try again")

    def _now(self) -> float:
        return max(super()._now(), self.store.latest)

    def _append(
        self, drafts: Sequence[Draft], at: float, until: float = math.inf
    ) -> tuple[list[Event], list[Outcome]]:
        events = self.store.append(drafts, at, until)
        if not (self._leads and self.store.leads):
            return events, [self._foreseen(event) for event in events]
        found = self._catch_up()
        return events, [found[event.seq] for event in events]

    def _foreseen(self, event: Event) -> Outcome:
        """The result that a follower reports: its own prediction, and that the label will be learned."""
        answer = None if event.x is None else self.live.predict_proba_one(event.x)
        return Outcome(answer, None if event.y is None else LEARNED)

    def _catch_up(self) -> dict[int, Outcome]:
        """Apply the new events of all processes; their results by event number."""
        events = list(self.store.after(self.live.version))
        self._caught = time.monotonic()
        return (
            {event.seq: one for event, one in zip(events, self._apply(events), strict=True)}
            if events
            else {}
        )

    # ---- leading and following -----------------------------------------------------------------------
    def _tick(self) -> None:
        try:
            self._lead_or_follow(time.monotonic())
        except StoreError:  # the database is away: those who ask are answered 503 meanwhile
            self._leads = False

    def _lead_or_follow(self, now: float) -> None:
        if self._leads and not self.store.leads:
            self._leads = False
        if self._leads:
            if now - self._caught >= POLL:
                self._catch_up()
            self._maybe_snapshot()
        elif now - self._looked >= ELECTION:
            self._looked = now
            if self.store.lead():
                self._take_over()
            else:
                self._follow()

    def _take_over(self) -> None:
        """Become the leader: recover the state from snapshot and log, and learn from now on."""
        self._become(recovered(self.store))
        self._saved, self._leads = 0, True

    def _follow(self) -> None:
        """Serve the newest snapshot of the leader."""
        self.snapshots = versions = self.store.snapshots()
        if versions and versions[0] > self.live.version:
            content = self.store.snapshot(versions[0])
            self._become(restored(content, models_of(self.store), None))

    def _become(self, live: Live) -> None:
        self.live = live
        self._saved = live.version

    def stop(self) -> None:
        """End the thread. The leader publishes its model first."""
        if not self._leads:
            self._saved = self.live.version
        super().stop()

    def snapshot_now(self) -> None:
        if self._leads:
            super().snapshot_now()

    def snapshot(self) -> None:
        """Publish, unless a snapshot is being written."""
        if self._saving is None or self._saving.done():
            content, version = captured(self.live), self.live.version
            self._saving = self._saver.submit(self.save, content, version)
            self._saved, self._saved_at = version, time.monotonic()
