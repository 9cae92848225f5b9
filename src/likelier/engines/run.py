"""Engines: absorb every part into a state of its own, merge the states in the order of the parts."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from likelier.cores import cores
from likelier.data import Part, Source
from likelier.data.wrapped import Beside, cluster_of, within
from likelier.states import State, Together

S = TypeVar("S", bound=State)


class Engine(Protocol):
    """Runs a pass: a state per part, merged."""

    def __call__(self, source: Source, start: Callable[[], S], /) -> S: ...


def absorb(start: Callable[[], S], part: Part) -> S:
    """One state carried through all chunks of a part."""
    state = start()
    for chunk in part():
        state.update(chunk)
    return state


def merge_in_order(states: Iterable[S]) -> S:
    """Merge as a binary counter does: a tree fixed by the numbers of the parts, whoever read them.

    At most log2 of their count wait at any time, and rounding errors grow as slowly.
    """
    waiting: list[S] = []
    for number, state in enumerate(states, 1):
        while number % 2 == 0:
            left = waiting.pop()
            left.merge(state)
            state, number = left, number // 2
        waiting.append(state)
    while len(waiting) > 1:
        right = waiting.pop()
        waiting[-1].merge(right)
    return waiting[0]


def serial(source: Source, start: Callable[[], S]) -> S:
    """One part after another, here."""
    parts = source.parts(start().nbytes)
    return merge_in_order(absorb(start, part) for part in parts)


def _in_flight(
    pool: ThreadPoolExecutor, work: Callable[[Part], S], parts: Sequence[Part], most: int
) -> Iterator[S]:
    """Results in order, with at most `most` parts begun and not yet merged."""
    running: deque[Future[S]] = deque()
    try:
        for part in parts:
            if len(running) == most:
                yield running.popleft().result()
            running.append(pool.submit(work, part))
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()


def threads(count: int) -> Engine:
    """`count` threads (the kernels release the GIL), two parts in flight for each."""

    def engine(source: Source, start: Callable[[], S]) -> S:
        parts = source.parts(start().nbytes)
        work = partial(absorb, start)
        if count == 1 or len(parts) == 1:  # a small table must not pay for a pool
            return merge_in_order(map(work, parts))
        with ThreadPoolExecutor(min(count, len(parts))) as pool:
            return merge_in_order(_in_flight(pool, work, parts, 2 * count))

    return engine


def engine_of(source: Source) -> Engine:
    """Who has the rows runs the pass: a Dask cluster, or the cores of this machine."""
    cluster = cluster_of(source)
    if cluster is None:
        return threads(cores())
    from likelier.engines.cluster import passing  # Dask is an extra, and slow to load

    return passing(cluster)


def run(source: Source, start: Callable[[], S]) -> S:
    """Run a pass where its data is."""
    engine, beside = engine_of(source), within(source, Beside)
    if beside is None:
        return engine(source, start)
    both = engine(source, partial(Together.start, (start, beside.start)))
    found: S
    found, other = both.states
    beside.take(other)
    return found
