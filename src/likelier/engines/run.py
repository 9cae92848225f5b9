"""Engines: absorb every part into a state of its own, merge the states in the order of the parts."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from threading import Event
from typing import Any, Protocol, TypeVar

from likelier.cores import cores
from likelier.data import Part, Source
from likelier.data.wrapped import Beside, cluster_of, within
from likelier.engines.journal import current
from likelier.engines.tree import Tree
from likelier.engines.watching import Done, Pass, kind_of, observed, passing
from likelier.states import State, Together

S = TypeVar("S", bound=State)


class Engine(Protocol):
    """Runs a pass: a state per part, merged; with a tree, from where that tree has come to."""

    def __call__(self, source: Source, start: Callable[[], S], tree: Tree | None = None, /) -> S: ...


def absorb(start: Callable[[], S], part: Part, go_on: Callable[[int], bool] = lambda rows: True) -> S:
    """One state carried through all chunks of a part; `go_on` hears of each one's rows, and may end it."""
    state = start()
    for chunk in part():
        state.update(chunk)
        if not go_on(chunk.X.shape[0]):
            break
    return state


def serial(source: Source, start: Callable[[], S], tree: Tree | None = None) -> S:
    """One part after another, here."""
    return threads(1)(source, start, tree)


def _in_flight(
    pool: ThreadPoolExecutor, work: Callable[[Part], S], parts: Sequence[Part], most: int
) -> Iterator[S]:
    """Results in order, with at most `most` parts begun and not yet merged."""
    running: deque[Future[S]] = deque()
    for part in parts:
        if len(running) == most:
            yield running.popleft().result()
        running.append(pool.submit(work, part))
    while running:
        yield running.popleft().result()


@cache  # a small table must not pay for making it
def threads(count: int | None = None) -> Engine:
    """`count` threads (the kernels release the GIL), by default one for each core; two parts in flight."""

    def engine(source: Source, start: Callable[[], S], tree: Tree | None = None) -> S:
        empty = start()
        parts = source.parts(empty.nbytes)
        if len(parts) == 1 and tree is None and not observed():  # a small table must not pay for the rest
            return absorb(lambda: empty, parts[0], lambda rows: True)
        tree = tree or Tree()
        with passing(Pass(kind_of(empty), source.rows, len(parts))) as done:
            done(parts=tree.count)
            return _pooled(parts[tree.count :], start, tree, done, count or cores())

    return engine


def _pooled(parts: Sequence[Part], start: Callable[[], S], tree: Tree, done: Done, count: int) -> S:
    """These parts, absorbed by so many threads, and merged with those before them."""
    ended = Event()

    def go_on(rows: int) -> bool:
        done(rows=rows)
        return not ended.is_set()

    work = partial(absorb, start, go_on=go_on)
    if count == 1 or len(parts) <= 1:
        return _merged(tree, map(work, parts), done)
    with ThreadPoolExecutor(min(count, len(parts))) as pool:
        try:
            return _merged(tree, _in_flight(pool, work, parts, 2 * count), done)
        finally:  # after a failure what runs ends with its chunk, and nothing else begins
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _merged(tree: Tree, states: Iterable[S], done: Done) -> S:
    for state in states:
        tree.add(state)
        done(parts=1)
    found: S = tree.merged()
    return found


def engine_of(source: Source) -> Engine:
    """Who has the rows runs the pass: a Dask cluster, or the cores of this machine."""
    cluster = cluster_of(source)
    if cluster is None:
        return threads()
    from likelier.engines.cluster import passing as on_dask  # Dask is an extra, and slow to load

    return on_dask(cluster)


def run(source: Source, start: Callable[[], S]) -> S:
    """Run a pass where its data is."""
    beside = within(source, Beside)
    found: S
    if beside is None:
        found = _kept(source, start, start)
        return found
    found, other = _kept(source, partial(Together.start, (start, beside.start)), start).states
    beside.take(other)
    return found


def _kept(source: Source, start: Callable[[], Any], plain: Callable[[], Any]) -> Any:
    """A pass, or what is known of it from before."""
    engine, journal = engine_of(source), current()
    return engine(source, start) if journal is None else journal.run(engine, source, start, plain)
