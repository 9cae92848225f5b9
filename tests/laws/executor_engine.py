"""A third engine: passes on any `concurrent.futures.Executor` whose tasks may be functions of any kind."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

from likelier.data import Chunk, Part, Source
from likelier.engines import Engine, Runner, absorb
from likelier.engines.run import Pass, kind_of, passing
from likelier.states import State
from likelier.states.base import Tree


def on_executor(pool: Executor) -> Engine:
    """A task for each part; states come back, and are merged in the order of the parts."""

    def engine(source: Source, start: Callable[[], State], tree: Tree | None = None) -> State:
        empty, tree = start(), tree or Tree()
        parts = source.parts(empty.nbytes)
        with passing(Pass(kind_of(empty), source.rows, len(parts))) as done:
            done(parts=tree.count)
            for state in results(pool, absorb, [(start, part) for part in parts[tree.count :]]):
                tree.add(state)
                done(parts=1)
        return tree.merged()

    return engine


def fetched(pool: Executor, source: Source, parts: Sequence[Part]) -> Iterator[list[Chunk]]:
    """The chunks of each part, read by the processes."""
    return results(pool, listed, [(part,) for part in parts])


def listed(part: Part) -> list[Chunk]:
    return list(part())


def results(pool: Executor, work: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """In order; after a failure nothing else begins."""
    futures = [pool.submit(work, *each) for each in given]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


EXECUTORS = Runner(lambda cluster: isinstance(cluster, Executor), on_executor, fetched)
