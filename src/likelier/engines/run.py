"""Engines run passes: a state for each part, merged in the order of the parts; rows and their numbers."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import islice
from threading import Event, Lock
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from likelier.data import CSR, Arrays, Chunk, Dense, Part, Source
from likelier.data.chunk import UNNUMBERED
from likelier.data.transforms import Head, Wrapped, cluster_of, innermost, is_session
from likelier.engines.checkpoint import JOURNAL, current
from likelier.states import State, StateGroup
from likelier.states.base import Tree
from likelier.threads import cores

# How far a fit has come: an observer hears of every pass, whoever runs its parts.


class Pass(NamedTuple):
    """What is known of a pass before it begins."""

    state: type  # what absorbs the rows; `Chunk`: they are taken as they come
    rows: int | None  # None: not known
    parts: int


def kind_of(state: Any) -> type:
    """What a state is, for whoever watches a pass: of those kept together, the first."""
    return type(state.states[0] if isinstance(state, StateGroup) else state)


class Done(Protocol):
    """Says that so much more is done; from any thread."""

    def __call__(self, *, parts: int = 0, rows: int = 0) -> None: ...


class Observer(Protocol):
    """Whoever wants to know. One pass at a time, one call at a time."""

    def begin(self, what: Pass, /) -> None:
        """A pass begins."""

    def done(self, *, parts: int, rows: int) -> None:
        """So many more parts, and rows, are done."""

    def end(self) -> None:
        """The pass is over, or has failed."""

    def reached(self, figure: str, value: float, /) -> None:
        """What an iterative fit has come to: its objective, its log-likelihood."""


OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def watching(observer: Observer | None) -> Iterator[None]:
    """All passes that begin here, in this thread, are observed; None: by nobody."""
    before = OBSERVER.set(observer)
    try:
        yield
    finally:
        OBSERVER.reset(before)


def observed() -> bool:
    """Whether somebody wants to know."""
    return OBSERVER.get() is not None


@contextmanager
def passing(what: Pass) -> Iterator[Done]:
    """A pass, which says what it has done."""
    observer = OBSERVER.get()
    if observer is None:
        yield unheard
        return
    lock = Lock()

    def done(*, parts: int = 0, rows: int = 0) -> None:
        with lock:
            observer.done(parts=parts, rows=rows)

    observer.begin(what)
    try:
        yield done
    finally:
        observer.end()


def reached(figure: str, value: float) -> None:
    """Say what an iterative fit has come to."""
    observer = OBSERVER.get()
    if observer is not None:
        observer.reached(figure, value)


def unheard(*, parts: int = 0, rows: int = 0) -> None:
    """Nobody listens."""


# Rows themselves, wherever they are: for what cannot be a state.

T = TypeVar("T")


def chunks(source: Source) -> Iterator[Chunk]:
    """All rows in order, a chunk at a time; from a cluster they are fetched, part by part."""
    parts = source.parts(0)
    with passing(Pass(Chunk, source.rows, len(parts))) as done:
        for chunk in _read(source, parts, done):
            yield chunk
            done(rows=chunk.X.shape[0])


def scattered(
    source: Source, rng: np.random.RandomState, cut: Callable[[Chunk], Iterator[T]], most: int
) -> Iterator[T]:
    """Pieces of chunks from all over: of up to so many parts in turn, which begin in a random order."""
    parts = source.parts(0)
    # One part draws nothing: its rows are then mixed as those of an array are.
    order = rng.permutation(len(parts)) if len(parts) > 1 else range(len(parts))
    waiting, turns = iter(order), deque[Iterator[T]]()
    with passing(Pass(Chunk, source.rows, len(parts))) as done:
        while True:
            turns.extend(_pieces(parts[number], cut, done) for number in islice(waiting, most - len(turns)))
            if not turns:
                return
            one = turns.popleft()
            for piece in islice(one, 1):
                yield piece
                turns.append(one)


def _pieces(part: Part, cut: Callable[[Chunk], Iterator[T]], done: Done) -> Iterator[T]:
    for chunk in part():
        yield from cut(chunk)
        done(rows=chunk.X.shape[0])
    done(parts=1)


def _read(source: Source, parts: Sequence[Part], done: Done) -> Iterator[Chunk]:
    cluster = cluster_of(source)
    for chunks_of_part in _runner_of(cluster).fetched(cluster, source, parts):
        yield from chunks_of_part
        done(parts=1)


def first_chunk(source: Source, most: int = 1 << 12) -> Chunk:
    """The first rows, at most so many: not worth an observer's while."""
    few = Head(source, most)
    return next(chunk for chunk in _read(few, few.parts(0), unheard) if chunk.X.shape[0])


def loaded(source: Source, most: float = np.inf) -> Arrays:
    """All rows of a source of numbers, read into memory; refused beyond so many cells."""
    if isinstance(source, Arrays):
        return source
    held: list[Chunk] = []
    cells = 0
    for chunk in chunks(source):
        cells += len(chunk.X.values) if isinstance(chunk.X, CSR) else chunk.X.shape[0] * chunk.X.shape[1]
        if cells > most:
            raise ValueError(f"these rows have more than {most:,.0f} cells: too many to read into memory")
        held.append(chunk)
    sparse = [chunk.X for chunk in held if isinstance(chunk.X, CSR)]
    X = CSR.stack(sparse) if sparse else Dense(np.concatenate([chunk.X.to_array() for chunk in held]))
    y, w = (_joined([getattr(chunk, name) for chunk in held]) for name in ("y", "w"))
    return Arrays(X, y, w, names=source.names)


def _joined(pieces: list[Any]) -> Any:
    return None if pieces[0] is None else np.concatenate(pieces)


# Engines: absorb every part into a state of its own, merge the states in the order of the parts.

S = TypeVar("S", bound=State)


class Engine(Protocol):
    """Runs a pass: a state per part, merged; with a tree, from where that tree has come to."""

    def __call__(self, source: Source, start: Callable[[], S], tree: Tree | None = None, /) -> S: ...


def absorb(start: Callable[[], S], part: Part, go_on: Callable[[int], bool] | None = None) -> S:
    """One state carried through all chunks of a part; `go_on` hears of each one's rows, and may end it."""
    state = start()
    for chunk in part():
        state.update(chunk)
        if go_on is not None and not go_on(chunk.X.shape[0]):
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
            return absorb(lambda: empty, parts[0], None)
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


# Who runs a pass, by where the rows are: `threads` and Dask are entries, others are added by `register`.

Fetched = Iterator[Iterable[Chunk]]


class Runner(NamedTuple):
    """Runs passes on one kind of cluster. A cluster is what a source has as `cluster`; None: this process.

    fetched: the chunks of each part in order, for the few passes whose rows must come here.
    """

    accepts: Callable[[Any], bool]
    engine: Callable[[Any], Engine]
    fetched: Callable[[Any, Source, Sequence[Part]], Fetched]


def _on_dask(cluster: Any) -> Engine:
    from likelier.engines.dask import passing as on_dask  # Dask is an extra, and slow to load

    return on_dask(cluster)


def _fetched_by_dask(cluster: Any, source: Source, parts: Sequence[Part]) -> Fetched:
    from likelier.engines.dask import fetched

    return fetched(cluster, source, parts)


def _is_dask(cluster: Any) -> bool:
    """A `distributed.Client`, or a scheduler of Dask's, which is a function of a graph and keys."""
    return hasattr(cluster, "scheduler_info") or callable(cluster)


def _on_spark(session: Any) -> Engine:
    from likelier.engines.spark import on_spark  # Spark is an extra

    return on_spark(session)


def _fetched_by_spark(session: Any, source: Source, parts: Sequence[Part]) -> Fetched:
    from likelier.engines.spark import fetched

    return fetched(session, source, parts)


RUNNERS: dict[str, Runner] = {
    "threads": Runner(
        lambda cluster: cluster is None,
        lambda cluster: threads(),
        lambda cluster, source, parts: (part() for part in parts),
    ),
    "dask": Runner(_is_dask, _on_dask, _fetched_by_dask),
    "spark": Runner(is_session, _on_spark, _fetched_by_spark),
}


def register(name: str, runner: Runner) -> None:
    """Add an engine: sources whose `cluster` it accepts are run by it from now on."""
    RUNNERS[name] = runner


def _runner_of(cluster: Any) -> Runner:
    for runner in reversed(RUNNERS.values()):  # the latest has the first say
        if runner.accepts(cluster):
            return runner
    raise TypeError(f"no engine can run on a {type(cluster).__name__}; engines: {', '.join(RUNNERS)}")


def engine_of(source: Source) -> Engine:
    """Who has the rows runs the pass: the cores of this machine, a Dask cluster, or an engine of a user."""
    cluster = None if isinstance(source, Arrays) else cluster_of(source)
    return _runner_of(cluster).engine(cluster)


class SideState(NamedTuple):
    """A second state that a pass keeps of the rows that it reads: what makes it, and who is handed it."""

    start: Callable[[], Any]
    take: Callable[[Any], None]


def run(source: Source, start: Callable[[], S], beside: SideState | None = None) -> S:
    """Run a pass where its data is; beside: what else is kept of the same rows, from the same reading."""
    if beside is None and type(source) is Arrays and JOURNAL.get() is None and OBSERVER.get() is None:
        chunk = source.whole
        if chunk is not None:  # a small table must not pay for the rest
            state = start()
            state.update(chunk)
            return state
    found: S
    if beside is None:
        found = _kept(source, start, start)
        return found
    found, other = _kept(source, partial(StateGroup.start, (start, beside.start)), start).states
    beside.take(other)
    return found


def _kept(source: Source, start: Callable[[], Any], plain: Callable[[], Any]) -> Any:
    """A pass, or what is known of it from before."""
    engine, journal = engine_of(source), current()
    return engine(source, start) if journal is None else journal.run(engine, source, start, plain)


# The true numbers of rows: those before each file or partition are counted, where nobody knows them.

Rows = TypeVar("Rows", bound=Source)


@dataclass
class PieceRowCounts:
    """How many rows each piece of a source has, by the number of the piece; what is not there has none."""

    rows: dict[int, int] = field(default_factory=dict)
    nbytes: int = 0

    def update(self, chunk: Chunk) -> None:
        self._add(chunk.first // UNNUMBERED - 1, chunk.X.shape[0])

    def merge(self, other: Self) -> None:
        for piece, n in other.rows.items():
            self._add(piece, n)

    def _add(self, piece: int, n: int) -> None:
        self.rows[piece] = self.rows.get(piece, 0) + n


def numbered(source: Rows) -> Rows:
    """The same source, its rows numbered as in the whole table: for whatever is drawn by row numbers.

    Plain text on this machine is counted while it is cut, and Parquet says how many rows it has. Compressed
    files, files elsewhere and Dask frames are read for it, once, and only if there are several.
    """
    if isinstance(source, Wrapped):
        return replace(source, source=numbered(source.source))
    pieces: Any = source
    if not getattr(pieces, "provisional", False):
        return source
    unknown = pieces.uncounted()
    if unknown is not None:
        pieces.counted(engine_of(unknown)(unknown, PieceRowCounts).rows)
    found: Rows = pieces.numbered()
    return found


def counting(source: Source) -> SideState | None:
    """What a survey of the labels keeps beside them: how many rows there are, if nobody knows."""
    held: Any = innermost(source)
    if not getattr(held, "provisional", False):
        return None
    return SideState(PieceRowCounts, lambda found: held.counted(found.rows))
