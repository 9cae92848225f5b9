"""The thread that writes the log and learns: requests of all clients share a commit, then are applied."""

import asyncio
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

from likelier.service.decide import Batch, Decided, Item, Refusal
from likelier.service.events import Event, encode, features_of
from likelier.service.live import HELD, LEARNED, Live, Outcome
from likelier.service.snapshots import captured
from likelier.service.store import Draft, Store, StoreError, worth_keeping

DUPLICATE = "duplicate"
ROWS = 4096  # of a commit, at most
TICK = 0.5  # seconds
GATHERING, GATHERINGS = 0.0004, 8  # seconds to wait for more requests to share a commit; how often
OBSERVED = 0.1  # seconds between rows that are shown to those who watch


class Busy(Exception):
    """The queue is full."""


class Learned(NamedTuple):
    """The result of a `/learn` request, in numbers of labels."""

    learned: int
    duplicates: int
    waiting: int


class Answered(NamedTuple):
    """The answers to the rows of a request, and the version that gave them."""

    answers: list[dict[Any, float]]
    version: int


class Request(NamedTuple):
    """The rows of one request, and the future that receives their results."""

    items: Sequence[Item]
    future: "asyncio.Future[Any]"
    work: Callable[[], Any] | None = None  # in place of rows: something to do between two batches


class Clock:
    """Event time: it never runs backwards, and a wall clock that is set while it runs does not move it."""

    def __init__(self, last: float) -> None:
        self._base = max(last, time.time()) - time.monotonic()

    def now(self) -> float:
        return self._base + time.monotonic()


@dataclass
class Counted:
    """Counters of the writer since the start."""

    commits: int = 0
    commit_seconds: float = 0.0
    slowest_commit: float = 0.0
    failed_commits: int = 0
    events: int = 0
    snapshots: int = 0
    recent: list[dict[str, Any]] = field(default_factory=list)  # the newest events, for the page


class Writer:
    """Writes the log and updates the model in one thread, for requests from an event loop."""

    tick = TICK

    def __init__(
        self,
        store: Store,
        live: Live,
        *,
        most: int = 10_000,
        snapshot_events: int = 100_000,
        snapshot_seconds: float = 60.0,
    ) -> None:
        self.store, self.live, self.most = store, live, most
        self.counted = Counted()
        self.broken: str | None = None  # why it no longer writes
        self._snapshot_events, self._snapshot_seconds = snapshot_events, snapshot_seconds
        self._queue: queue.SimpleQueue[list[Request] | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._arrived: list[Request] = []  # in this turn of the event loop
        self._left: deque[Request | None] = deque()  # taken from the queue, and not dealt with
        self._submitted = self._done = 0  # rows; each is counted by one thread alone
        self._clock = Clock(store.last()[1])
        self._thread = threading.Thread(target=self._run, name="likelier-writer", daemon=True)
        self._saver = ThreadPoolExecutor(1, "likelier-snapshots")
        self._saving: Future[None] | None = None
        self.snapshots = store.snapshots()  # their versions, newest first
        self._saved = max((version for version in self.snapshots if version <= live.version), default=0)
        self._saved_at = time.monotonic()
        self._stopping = False
        self._observed = 0.0
        self.observers: list[Callable[[list[dict[str, Any]]], None]] = []

    @property
    def role(self) -> str:
        """`leader` if this process learns, else `follower`."""
        return "leader"

    def start(self) -> None:
        """Start the thread that serves requests."""
        self._thread.start()

    # ---- the event loop's side -----------------------------------------------------------------------
    @property
    def backlog(self) -> int:
        """The number of rows that have been submitted and not processed yet."""
        return self._submitted - self._done

    def submit(self, items: Sequence[Item]) -> "asyncio.Future[Any]":
        """Submit rows. The future receives a `Learned`, an `Answered` or a `Refusal`."""
        if self.backlog + len(items) > self.most and self.backlog:
            raise Busy
        if self._stopping or self.broken is not None:
            raise StoreError(self.broken or "the server is shutting down")
        self._submitted += len(items)
        return self._enter(items, None)

    def call(self, work: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Run a function in the thread of the writer, between two batches."""
        if self._stopping or self.broken is not None:
            raise StoreError(self.broken or "the server is shutting down")
        return self._enter((), work)

    def _enter(self, items: Sequence[Item], work: Callable[[], Any] | None) -> "asyncio.Future[Any]":
        """Queue a request. All requests of one iteration of the event loop wake the thread once."""
        loop = self._loop
        if loop is None or loop.is_closed():  # asked for once: it takes a system call before Python 3.12
            loop = self._loop = asyncio.get_running_loop()
        future = loop.create_future()
        if not self._arrived:
            loop.call_soon(self._hand_over)
        self._arrived.append(Request(items, future, work))
        return future

    def _hand_over(self) -> None:
        arrived, self._arrived = self._arrived, []
        if arrived:
            self._queue.put(arrived)

    def stop(self) -> None:
        """Process all submitted requests, take a snapshot, and end the thread."""
        self._stopping = True
        self._hand_over()
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        self._saver.shutdown()
        if self.broken is None and self.live.version > self._saved:
            self.save(captured(self.live), self.live.version)

    # ---- the thread ----------------------------------------------------------------------------------
    def _run(self) -> None:
        while True:
            batch, work, ended = self._take()
            if batch:
                self._deal(batch)
            if work is not None:
                self._work(work)
            self._tick()
            if ended:
                return

    def _take(self) -> tuple[list[Request], Request | None, bool]:
        """The next requests that share a commit, a function to run, and whether to end."""
        self._receive()
        batch: list[Request] = []
        rows = 0
        while self._left and rows < ROWS:
            request = self._left.popleft()
            if request is None:
                return batch, None, True
            if request.work is not None:
                return batch, request, False
            batch.append(request)
            rows += len(request.items)
        return batch, None, False

    def _receive(self) -> None:
        """Take everything from the queue; wait if there is nothing to do."""
        try:
            some = self._queue.get(timeout=self.tick) if not self._left else self._queue.get_nowait()
            self._gather()
            while True:
                self._left.extend([None] if some is None else some)
                some = self._queue.get_nowait()
        except queue.Empty:
            return

    def _gather(self) -> None:
        """Wait as long as requests keep coming, for a few milliseconds: they share one fsync."""
        for _ in range(GATHERINGS):
            before = self._submitted
            time.sleep(GATHERING)
            if self._submitted == before or self.backlog >= ROWS:
                return

    def _deal(self, requests: list[Request]) -> None:
        results: list[tuple[Request, Any]] = []
        try:
            self._commit(requests, results)
        except StoreError as problem:
            self.counted.failed_commits += 1
            results = [(request, problem) for request in requests]
        except Exception as problem:  # a defect: those who wait are answered, whatever it is
            results = [(request, problem) for request in requests]
        self._done += sum(len(request.items) for request in requests)
        _resolve(results)

    def _commit(self, requests: list[Request], results: list[tuple[Request, Any]]) -> None:
        items = [request.items for request in requests]
        now = self._now()  # of the decisions and of the events: a label that is in time stays so
        batch = Batch(self.store, self.live, items, now)
        if batch.add_complete([*chain.from_iterable(items)]):
            done = iter(self._write(batch, now))
            results += [(request, self._result(request.items, done)) for request in requests]
            return
        accepted: list[tuple[Request, Decided]] = []
        for request in requests:
            try:
                accepted.append((request, batch.add(request.items)))
            except Refusal as refusal:
                results.append((request, refusal))
        outcomes = self._write(batch, now)
        for request, decided in accepted:
            found = [None if place is None else outcomes[place] for place in decided.places]
            results.append((request, self._result(request.items, iter(found))))

    def _write(self, batch: Batch, at: float) -> list[Outcome]:
        """Write and apply the events of a batch; their results."""
        if not batch.drafts:
            return []
        start = time.perf_counter()
        events, outcomes = self._append(batch.drafts, at, batch.until)
        seconds = time.perf_counter() - start
        counted = self.counted
        counted.commits += 1
        counted.commit_seconds += seconds
        counted.slowest_commit = max(counted.slowest_commit, seconds)
        counted.events += len(events)
        counted.recent = [*counted.recent, *map(_brief, events[-12:])][-12:]
        self._observe(events)
        return outcomes

    def _now(self) -> float:
        """The event time."""
        return self._clock.now()

    def _append(
        self, drafts: Sequence[Draft], at: float, until: float = math.inf
    ) -> tuple[list[Event], list[Outcome]]:
        """Write events to the log, then apply them. until: the last moment at which their labels count."""
        events = self.store.append(drafts, at)
        return events, self._apply(events)

    def _observe(self, events: Sequence[Event]) -> None:
        """Pass a sample of the rows to the observers: at most about 160 per second."""
        now = time.monotonic()
        if now - self._observed < OBSERVED:
            return
        self._observed = now
        some = [features_of(event.x) for event in events[:16] if event.x is not None]
        for observer in self.observers:
            observer(some)

    def _result(self, items: Sequence[Item], found: Iterator[Any]) -> Any:
        """The answer to a request, whose outcomes come next."""
        if items and items[0].y is None:
            answers = [
                self._answer(item, one) for item, one in zip(items, islice(found, len(items)), strict=True)
            ]
            return Answered(answers, self.live.version)
        kinds = [DUPLICATE if one is None else one.label for one in islice(found, len(items))]
        return Learned(kinds.count(LEARNED), kinds.count(DUPLICATE), kinds.count(HELD))

    def _answer(self, item: Item, found: Outcome | None) -> dict[Any, float]:
        if found is not None:
            return found.answer or {}
        row = self.live.waiting.rows.get(item.id)
        return dict(row.answer) if row is not None else self.live.predict_proba_one(item.x or b"{}")

    def _work(self, request: Request) -> None:
        assert request.work is not None
        try:
            result: Any = request.work()
        except Exception as problem:
            result = problem
        _resolve([(request, result)])

    def act(self, action: Any) -> Event:
        """Log an action and apply it: for work in this thread."""
        events, _ = self._append([Draft(None, action=encode(action))], self._now())
        return events[0]

    def _apply(self, events: Sequence[Event]) -> list[Outcome]:
        """Apply events of the log. After a failure nothing more is accepted, as the state is wrong."""
        try:
            return self.live.apply(events)
        except Exception as problem:
            self.broken = (
                f"event {events[0].seq} or one after it could not be applied ({type(problem).__name__}: "
                f"{problem}): the state is no longer that of the log, and nothing more is accepted"
            )
            raise StoreError(self.broken) from problem

    def _tick(self) -> None:
        """Do what is due between two batches."""
        self._maybe_snapshot()

    # ---- snapshots -----------------------------------------------------------------------------------
    def _maybe_snapshot(self) -> None:
        behind = self.live.version - self._saved
        due = time.monotonic() - self._saved_at >= self._snapshot_seconds
        if behind and self.broken is None and (behind >= self._snapshot_events or due):
            self.snapshot()

    def snapshot(self) -> None:
        """Begin a snapshot, unless one is being written."""
        if self._saving is None or self._saving.done():
            content, version = captured(self.live), self.live.version
            self._saving = self._saver.submit(self.save, content, version)
            self._saved, self._saved_at = version, time.monotonic()

    def snapshot_now(self) -> None:
        """Take a snapshot at once, in this thread: before the model is exchanged."""
        if self.live.version > self._saved:
            version = self.live.version
            self.store.put_snapshot(version, captured(self.live)())
            self.counted.snapshots += 1
            self._saved, self._saved_at = version, time.monotonic()
            self.snapshots = self.store.snapshots()

    def save(self, content: Callable[[], bytes], version: int) -> None:
        """Write a snapshot. A failure is only reported, because the log alone is enough to recover."""
        try:
            self.store.put_snapshot(version, content())
            self.counted.snapshots += 1
            there = [version, *self.snapshots]
            self.snapshots = sorted(worth_keeping(there), reverse=True)
        except (OSError, ValueError) as problem:
            self.counted.failed_commits += 1
            print(f"likelier: note: no snapshot was taken: {problem}", flush=True)


def _brief(event: Event) -> dict[str, Any]:
    kind = (
        "action"
        if event.action
        else "label"
        if event.x is None
        else "row"
        if event.y is None
        else "row, label"
    )
    label = None if event.y is None else event.y.decode()[:40]
    return {"version": event.seq, "at": event.at, "kind": kind, "id": (event.id or "")[:40], "y": label}


def _resolve(results: list[tuple[Request, Any]]) -> None:
    """Hand results to their event loops, all at once."""
    by_loop: dict[Any, list[tuple[Any, Any]]] = {}
    for request, result in results:
        by_loop.setdefault(request.future.get_loop(), []).append((request.future, result))
    for loop, some in by_loop.items():
        try:
            loop.call_soon_threadsafe(_set, some)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _set(some: list[tuple[Any, Any]]) -> None:
    for future, result in some:
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
