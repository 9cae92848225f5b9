"""Passes on Spark: partitions and parts are absorbed by its tasks, states travel, rows do not.

The tree of merges is that of all engines (`Tree`), so the result is the same, bit for bit, as that of
threads on the same parts. Tasks are functions of record batches (`mapInArrow`), which Spark Connect has
as well; they and their states are pickled by cloudpickle, which comes with PySpark.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import cloudpickle
import pyarrow as pa

from likelier.data import Chunk, Part, Source
from likelier.data.spark import unpacked
from likelier.data.transforms import at_hand, partitions_of
from likelier.engines.run import Engine, Pass, absorb, kind_of, passing
from likelier.states import State
from likelier.states.base import Tree, merge_in_order

S = TypeVar("S", bound=State)
Batches = Iterable[pa.RecordBatch]

RUNS = 4  # for each core, at least: of runs of parts, so that tasks can share them evenly
MOST_PARTS = 32  # of a run
WORTH_A_TASK = 16  # parts: to begin a task takes Spark about as long as it takes to read three of them
MERGED = 8  # states by one task, a power of 2: a subtree of the tree of merges
MOST_HERE = 64  # states that come to the driver to be merged
SCHEMA = "number long, content binary"


# ---- tasks ---------------------------------------------------------------------------------------
class TaskError(Exception):
    """What became of a task instead: Spark would tell of it in text alone."""


def row_of(number: int, content: Any) -> pa.RecordBatch:
    """A result, by its number."""
    arrays = [pa.array([number], pa.int64()), pa.array([cloudpickle.dumps(content)], pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["number", "content"])


def guarded(number: int, work: Callable[[], Any]) -> pa.RecordBatch:
    """The result of some work, or its error."""
    try:
        return row_of(number, work())
    except Exception as error:
        return row_of(number, TaskError(error))


@dataclass(frozen=True)
class RunOfParts:
    """Parts that read themselves, a run of 2^k of them for each number."""

    parts: Sequence[Part]
    length: int
    work: Callable[[Sequence[Part]], Any]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                run = self.parts[number * self.length : (number + 1) * self.length]
                yield guarded(number, partial(self.work, run))


@dataclass(frozen=True)
class OnePartition:
    """The part of the partition that is brought."""

    parts: dict[int, tuple[int, Part]]  # by the number of the partition: that of the part
    reader: Callable[[pa.Table], tuple[Any, ...]]
    work: Callable[[Sequence[Part]], Any]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        held = self.parts.get(-1 if context is None else context.partitionId())
        rows = list(batches) if held is not None else []
        if held is None or not rows:
            return
        number, part = held
        with at_hand(self.reader(unpacked(rows))):
            yield guarded(number, partial(self.work, [part]))


@dataclass(frozen=True)
class Absorb:
    """Parts, each into a state of its own, merged."""

    start: Callable[[], Any]

    def __call__(self, parts: Sequence[Part]) -> Any:
        return merge_in_order(absorb(self.start, part) for part in parts)


def listed(parts: Sequence[Part]) -> list[Chunk]:
    """The chunks of parts."""
    return [chunk for part in parts for chunk in part()]


@dataclass(frozen=True)
class MergeGroups:
    """States that come sorted by their numbers, merged in groups; one that is not there is empty."""

    start: Callable[[], Any]
    count: int  # of the states

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for group, pairs in groupby(self._pairs(batches), lambda pair: pair[0] // MERGED):
            yield guarded(group, partial(self._merged, group, dict(pairs)))

    def _pairs(self, batches: Batches) -> Iterator[tuple[int, Any]]:
        for batch in batches:
            for number, content in zip(*(column.to_pylist() for column in batch.columns[:2]), strict=True):
                yield number, cloudpickle.loads(content)

    def _merged(self, group: int, held: dict[int, Any]) -> Any:
        for number in sorted(held):
            if isinstance(held[number], TaskError):
                return held[number]
        numbers = range(group * MERGED, min((group + 1) * MERGED, self.count))
        return merge_in_order(held[number] if number in held else self.start() for number in numbers)


# ---- passes --------------------------------------------------------------------------------------
def on_spark(session: Any) -> Engine:
    """The engine of a SparkSession."""

    def engine(source: Source, start: Callable[[], S], tree: Tree | None = None) -> S:
        empty, tree = start(), tree or Tree()
        done_before = tree.count
        parts = source.parts(empty.nbytes)
        with passing(Pass(kind_of(empty), source.rows, len(parts))) as done:
            done(parts=done_before)
            results, count, length = submitted(session, source, parts, Absorb(start), done_before)
            while not done_before and count > MOST_HERE:
                results, count = merged_there(results, start, count), -(-count // MERGED)
                length *= MERGED
            states = taken(results)
            for number in range(count):
                tree.add(states[number] if number in states else start())
                done(parts=min(length, len(parts) - number * length))
        found: S = tree.merged()
        return found

    return engine


def submitted(
    session: Any, source: Source, parts: Sequence[Part], work: Callable[..., Any], first: int = 0
) -> tuple[Any, int, int]:
    """A data frame of the results of all parts from `first` on, how many there are, and parts of each."""
    left, partitions = parts[first:], partitions_of(source)
    if partitions is not None:
        brought: Any = partitions.graph
        numbers = [key for (key,) in partitions.keys][first:]
        held = {own: (i, part) for i, (own, part) in enumerate(zip(numbers, left, strict=True))}
        return brought.frame.mapInArrow(OnePartition(held, brought.reader, work), SCHEMA), len(left), 1
    # A tree that has come some way goes on part by part.
    length = 1 if first or work is listed else run_length(len(left), cores_of(session))
    count = -(-len(left) // length)
    ids = session.range(0, count, 1, tasks_of(len(left), count, cores_of(session)))
    return ids.mapInArrow(RunOfParts(tuple(left), length, work), SCHEMA), count, length


def cores_of(session: Any) -> int:
    """How many tasks run at once."""
    return int(
        session.conf.get("spark.default.parallelism", None) or session.sparkContext.defaultParallelism
    )


def run_length(parts: int, cores: int) -> int:
    """2^k parts a run, which become one state: as many as leave each core its runs."""
    length = 1
    while length < MOST_PARTS and parts >= 2 * length * RUNS * max(1, cores):
        length *= 2
    return length


def tasks_of(parts: int, runs: int, cores: int) -> int:
    """How many tasks share the runs: one for each core, or more if there are parts enough for them."""
    return max(1, min(runs, max(cores, parts // WORTH_A_TASK)))


def merged_there(results: Any, start: Callable[[], Any], count: int) -> Any:
    """States merged by tasks, in groups that are subtrees of the tree."""
    from pyspark.sql import functions

    groups = -(-count // MERGED)
    group = functions.floor(functions.col("number") / MERGED)
    together = results.repartition(groups, group).sortWithinPartitions("number")
    return together.mapInArrow(MergeGroups(start, count), SCHEMA)


def taken(results: Any) -> dict[int, Any]:
    """The results by their numbers; of errors the first is raised."""
    found = {number: cloudpickle.loads(bytes(content)) for number, content in _collected(results)}
    for number in sorted(found):
        if isinstance(found[number], TaskError):
            raise found[number].args[0]
    return found


def _collected(results: Any) -> list[tuple[int, Any]]:
    try:
        return [(row[0], row[1]) for row in results.collect()]
    except Exception as error:
        if "No module named 'likelier'" in str(error):
            raise RuntimeError(
                "likelier is not installed where Spark runs its Python tasks: install the same version "
                "there as here, or let PYSPARK_PYTHON name an interpreter that has it."
            ) from None
        raise


def fetched(session: Any, source: Source, parts: Sequence[Part]) -> Iterator[list[Chunk]]:
    """The chunks of each part, in order; the next partition is computed while one is in use."""
    results, count, _ = submitted(session, source, parts, listed)
    next_ = 0
    for row in results.toLocalIterator(prefetchPartitions=True):
        number, chunks = row[0], cloudpickle.loads(bytes(row[1]))
        if isinstance(chunks, TaskError):
            raise chunks.args[0]
        while next_ < number:  # partitions without rows
            yield []
            next_ += 1
        yield chunks
        next_ += 1
    for _ in range(next_, count):
        yield []
