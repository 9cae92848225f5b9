"""Work on many parts at once, whose results come in the order of the parts."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Full, Queue
from threading import Event
from typing import Any, NamedTuple

HELD = 64  # results of a part that wait until the parts before it are done with
PATIENCE = 0.1  # seconds, after which whoever waits looks whether all has ended


class _Last(NamedTuple):
    """No more comes of a part; or it failed."""

    problem: BaseException | None = None


def in_order(parts: Sequence[Callable[[], Iterable[Any]]], count: int) -> Iterator[Any]:
    """What the parts yield, one part after another, each run by one of `count` threads.

    So many parts and one more are begun and not yet over, of each of which some results wait at most. If
    whoever takes them stops, all ends with what it is at.
    """
    ended = Event()
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[Queue[Any]] = deque()
        left = iter(parts)
        try:
            while True:
                while len(waiting) <= count and (part := next(left, None)) is not None:
                    waiting.append(Queue(HELD))
                    pool.submit(_work, part, waiting[-1], ended)
                if not waiting:
                    return
                yield from _taken(waiting[0])
                waiting.popleft()
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)


def _work(part: Callable[[], Iterable[Any]], out: "Queue[Any]", ended: Event) -> None:
    last = _Last()
    try:
        for item in part():
            if not _handed(item, out, ended):
                return
    except BaseException as problem:
        last = _Last(problem)
    _handed(last, out, ended)


def _handed(item: Any, out: "Queue[Any]", ended: Event) -> bool:
    """Whether anybody still wants it."""
    while not ended.is_set():
        try:
            out.put(item, timeout=PATIENCE)
        except Full:
            continue
        return True
    return False


def _taken(out: "Queue[Any]") -> Iterator[Any]:
    while not isinstance(item := out.get(), _Last):
        yield item
    if item.problem is not None:
        raise item.problem
