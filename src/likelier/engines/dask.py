"""Passes on a Dask cluster: parts are tasks, states travel, rows do not."""

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4
from weakref import WeakSet

import cloudpickle
import dask
from dask.optimization import cull

from likelier.data import Chunk, Part, Source
from likelier.data.transforms import Partitions, at_hand, partitions_of
from likelier.engines.run import Done, Engine, absorb, kind_of
from likelier.engines.run import Pass as What
from likelier.engines.run import passing as observed
from likelier.states import State
from likelier.states.base import Tree, merge_in_order
from likelier.warning_location import outside

# Clients of a Dask cluster: whether its workers can run a pass, and what it is to wait for one.

CHECKED: WeakSet[Any] = WeakSet()
CLOSED = ("closing", "closed")


def is_client(cluster: Any) -> bool:
    """A connection to a cluster; else a scheduler of this machine, which takes a graph and keys."""
    return hasattr(cluster, "submit")


def check_workers(client: Any) -> None:
    """Once for each client: refuse workers without likelier; warn of those that would give other bits."""
    if client.status in CLOSED:
        raise RuntimeError("the Dask client is closed: connect to a cluster again, and pass that client.")
    if client in CHECKED:
        return

    def installed() -> tuple[str, str] | None:  # sent as it is: a worker may have nothing to look it up in
        try:
            import likelier
            from likelier import _core
        except ImportError:
            return None
        return likelier.__version__, _core.ISA

    found = client.run(installed)
    without = sorted(worker for worker, has in found.items() if has is None)
    if without:
        raise RuntimeError(
            f"likelier is not installed on worker {without[0]}"
            + (f" and {len(without) - 1} others" if len(without) > 1 else "")
            + ": install the same version there as here."
        )
    kinds = {has: worker for worker, has in sorted(found.items())}
    if len(kinds) > 1:
        shown = "; ".join(f"{version} at level {level} on {at}" for (version, level), at in kinds.items())
        warnings.warn(
            f"workers differ in version or instruction level: likelier {shown}. Results agree up to "
            "rounding, and not bit for bit. Set LIKELIER_ISA to the lowest level on all workers.",
            stacklevel=outside(),
        )
    if found:  # there may be no workers yet
        CHECKED.add(client)


@contextmanager
def waiting() -> Iterator[None]:
    """A fit within a task of the cluster frees its thread for the tasks that it waits for."""
    from distributed import rejoin, secede

    try:
        secede()
    except (ValueError, KeyError):  # it is none, or is free already
        yield
        return
    try:
        yield
    finally:
        rejoin()


@contextmanager
def connected(client: Any) -> Iterator[None]:
    """What fails since a client is closed says so."""
    try:
        yield
    except Exception as problem:
        if not isinstance(problem, CancelledError) and client.status not in CLOSED:
            raise
        raise RuntimeError(
            "the pass was cancelled: was the Dask client, or its cluster, closed meanwhile? Connect again, "
            "and fit again."
        ) from problem


# Passes on Dask: parts are tasks, states travel, rows do not.
#
# The tree of merges is that of all engines (`Tree`), so the result is the same, bit for bit. A run of 2^k
# parts whose first number is a multiple of 2^k is a subtree of it, and one task: the choice of k changes
# no bit. Every task can be run again, where its worker is lost.

S = TypeVar("S", bound=State)
Start = Callable[[], Any]
Graph = dict[Any, Any]

TASKS = 4  # for each thread of the cluster, so that those that are done early find more to do
MOST_PARTS = 32  # of a task: some tenths of a second, where the scheduler takes a millisecond for each
MERGED = 8  # states by one task, a power of 2: fewer would be more tasks, more would wait for each other
MOST_SENT = 1 << 14  # bytes that go along with every task; what is larger goes to each worker once


# ---- tasks ---------------------------------------------------------------------------------------
class Task:
    """Unlike all others: Dask need not look into what it holds to tell."""

    @cached_property
    def token(self) -> str:
        return uuid4().hex

    def __dask_tokenize__(self) -> str:
        return self.token


@dataclass(frozen=True)
class SharedInputs(Task):
    """What all tasks of a pass need, as a task: it goes to each worker once, and is never lost."""

    start: Start

    def __call__(self) -> Start:
        return self.start


@dataclass(frozen=True)
class AbsorbTask(Task):
    """A run of parts, each into a state of its own, merged.

    start: what makes a state, or None: it is the first that is given. What follows are the rows of a
    partition, if it is one.
    """

    parts: Sequence[Part]
    start: Start | None = None

    def __call__(self, *given: Any) -> Any:
        start, rows = (given[0], given[1:]) if self.start is None else (self.start, given)
        with at_hand(rows):
            return merge_in_order(absorb(start, part) for part in self.parts)


@dataclass(frozen=True)
class ListTask(Task):
    """The chunks of a part."""

    part: Part

    def __call__(self, *rows: Any) -> list[Chunk]:
        with at_hand(rows):
            return list(self.part())


class TaskError(NamedTuple):
    """What became of a task instead."""

    error: Exception


@dataclass(frozen=True)
class GuardedTask(Task):
    """A task whose error is its result: a scheduler of Dask's own would raise whichever comes first."""

    task: Callable[..., Any]

    def __call__(self, *given: Any) -> Any:
        try:
            return self.task(*given)
        except Exception as error:
            return TaskError(error)


def merged(*states: Any) -> Any:
    """All as one; they stay as they are, since a task may be run again."""
    failed = next((state for state in states if isinstance(state, TaskError)), None)
    return merge_in_order(map(deepcopy, states)) if failed is None else failed


# ---- the graph of a pass -------------------------------------------------------------------------
@dataclass
class Pass:
    """Tasks, of which some absorb parts, in order, and one makes the result."""

    graph: Graph
    leaves: list[Any] = field(default_factory=list)
    root: Any = None

    @classmethod
    def of(cls, source: Source, start: Start, threads: int, task: Callable[[Any], Any]) -> "Pass":
        """task: what becomes of those that absorb."""
        parts, partitions = source.parts(start().nbytes), partitions_of(source)
        new, token = cls({}), uuid4().hex
        given: tuple[Any, ...] = ()
        if len(cloudpickle.dumps(start)) > MOST_SENT:
            given = (f"likelier-start-{token}",)
            new.graph[given[0]] = (SharedInputs(start),)
        # A partition is where it is: to absorb several by one task would move them.
        length = 1 if partitions is not None else run_length(len(parts), threads)
        for number, first in enumerate(range(0, len(parts), length)):
            key, run = (f"likelier-absorb-{token}", number), tuple(parts[first : first + length])
            rows = () if partitions is None else partitions.keys[first]
            absorbing = AbsorbTask(run) if given else AbsorbTask(run, start)
            new.graph[key] = (task(absorbing), *given, *rows)
            new.leaves.append(key)
        new.root = merging(new.graph, new.leaves)
        if partitions is not None:
            new.graph |= partitions.graph
        return new


def merging(graph: Graph, keys: Sequence[Any]) -> Any:
    """The key of the merged states of these: tasks of 2^k of them, which are subtrees of the tree."""
    while len(keys) > 1:
        groups = [tuple(keys[first : first + MERGED]) for first in range(0, len(keys), MERGED)]
        keys = [f"likelier-merge-{uuid4().hex}" if len(group) > 1 else group[0] for group in groups]
        graph |= {key: (merged, *group) for key, group in zip(keys, groups, strict=True) if len(group) > 1}
    return keys[0]


def run_length(parts: int, threads: int) -> int:
    """2^k parts a task: as many as leave each thread its tasks."""
    length = 1
    while length < MOST_PARTS and parts >= 2 * length * TASKS * max(1, threads):
        length *= 2
    return length


# ---- who runs it ---------------------------------------------------------------------------------
def passing(cluster: Any) -> Engine:
    """The engine of a Dask client, or of a scheduler."""

    def on_cluster(source: Source, start: Callable[[], S], tree: Tree | None = None) -> S:
        check_workers(cluster)
        threads = sum(cluster.nthreads().values())
        tasks = Pass.of(source, start, threads, lambda task: task)
        with connected(cluster), observed(What(kind_of(start()), source.rows, len(tasks.leaves))) as done:
            found: S = computed(cluster, source, tasks, done)
        return found

    def here(source: Source, start: Callable[[], S], tree: Tree | None = None) -> S:
        tasks = Pass.of(source, start, 1, GuardedTask)
        found: S | TaskError = cluster(tasks.graph, tasks.root)
        if isinstance(found, TaskError):
            raise found.error
        return found

    return on_cluster if is_client(cluster) else here


def computed(client: Any, source: Source, tasks: Pass, done: Done) -> Any:
    """The result of a pass; nothing of it is left on the cluster, whatever happens."""
    *leaves, root = submitted(client, source, tasks.graph, [*tasks.leaves, tasks.root])
    try:
        with waiting():
            if len(leaves) == 1:  # which is the root: nobody else need hold it
                found = root.result()
                done(parts=1)
                return found
            with client.as_current():
                watch(leaves, done)
            return root.result()
    finally:
        for future in (*leaves, root):
            future.release()


def submitted(client: Any, source: Source, graph: Graph, keys: list[Any]) -> list[Any]:
    """Futures of these keys. Weights of some MB are for every worker, once: no reason for a warning."""
    settings = {"distributed.admin.large-graph-warning-threshold": "1TB"}
    with dask.config.set({} if partitions_of(source) is not None else settings):
        futures: list[Any] = client.get(graph, keys, sync=False)
    return futures


def watch(leaves: Sequence[Any], done: Done) -> None:
    """Until all parts are absorbed; if some fail, the earliest is raised, and those after it are off."""
    from distributed import as_completed, wait

    numbers = {future.key: number for number, future in enumerate(leaves)}
    left = dict(enumerate(leaves))
    for future in as_completed(leaves):
        number = numbers[future.key]
        if future.status == "finished":
            left.pop(number).release()  # the tree holds it as long as it is needed
            done(parts=1)
            continue
        for later in [n for n in left if n > number]:
            left.pop(later).release()
        wait(list(left.values()))
        raise next(error for n in sorted(left) if (error := left[n].exception()) is not None)


def fetched(cluster: Any, source: Source, parts: Sequence[Part]) -> Iterator[list[Chunk]]:
    """The chunks of each part, in order; the next part is read while one is in use."""
    partitions = partitions_of(source)
    if not is_client(cluster):
        for number, part in enumerate(parts):
            yield cluster(*alone(partitions, number, part))
        return
    check_workers(cluster)
    running: deque[Any] = deque()
    try:
        for number, part in enumerate(parts):
            graph, key = alone(partitions, number, part)
            running.extend(submitted(cluster, source, graph, [key]))
            if len(running) == 2:
                yield taken(running)
        while running:
            yield taken(running)
    finally:
        for future in running:
            future.release()


def taken(running: deque[Any]) -> list[Chunk]:
    """What the first of some futures has found."""
    future = running.popleft()
    try:
        with connected(future.client), waiting():
            found: list[Chunk] = future.result()
        return found
    finally:
        future.release()


def alone(partitions: Partitions | None, number: int, part: Part) -> tuple[Graph, Any]:
    """All that is needed to read a part, and the key of its chunks."""
    key = f"likelier-read-{uuid4().hex}"
    if partitions is None:
        return {key: (ListTask(part),)}, key
    keys = partitions.keys[number]
    return cull(partitions.graph, list(keys))[0] | {key: (ListTask(part), *keys)}, key
