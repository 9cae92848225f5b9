"""Rows to learn from in a random order, whether they are in memory or come from files.

Where the hashed cells of all rows are not too many, they are shuffled as a whole. Of more rows in memory,
short runs are taken from all over, and mixed some thousand rows at a time. Files of many parts are read at
several places at once, the parts in a random order, and what comes is mixed in a pool of bounded size; a
file of few parts is read several times, each time for a random part of its runs.
"""

from collections.abc import Iterator
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from likelier import _core
from likelier.data import CSR, Chunk
from likelier.data.files.svmlight import KeyedRows
from likelier.engines import chunks, scattered
from likelier.estimators.online.rows import (
    ROWS,
    Batches,
    BatchReader,
    HashableRows,
    RowLabels,
    ScannedRows,
    SparseRows,
    TableRows,
    cuts,
)

POOL = 1 << 23  # cells that are held hashed at once: 128 MB
RUN = 32  # rows that stay together until they are mixed
OPEN = 16  # parts of files that are read at once
MOST_ROUNDS = 16  # in which a file of fewer parts is read

Intake = _core.Intake
Draws = np.random.RandomState


def shuffled(rows: HashableRows, intake: Intake, marks: RowLabels, rng: Draws) -> Batches:
    """Batches of all rows, each once, in a random order."""
    if isinstance(rows, ScannedRows):
        return _of_files(rows, intake, rng)
    if isinstance(rows, TableRows | SparseRows) and rows.cells > POOL:
        return _of_runs(rows, intake, marks, rng)
    return _dealt(list(rows.hashed(intake, marks)), intake, rng)


def pooled(batches: Batches, intake: Intake, rng: Draws, most: int | None = None) -> Batches:
    """Batches, each mixed with as many others as there is room for."""
    most = POOL if most is None else most
    held: list[_core.HashedRows] = []
    cells = 0
    for batch in batches:
        held.append(batch)
        cells += batch.cells
        if cells > most:
            yield from _dealt(held, intake, rng)
            held, cells = [], 0
    yield from _dealt(held, intake, rng)


def _dealt(held: list[_core.HashedRows], intake: Intake, rng: Draws) -> Batches:
    """The rows of these batches, in a random order."""
    intake.skipped += sum(batch.skipped for batch in held)
    order = rng.permutation(sum(map(len, held)))
    for start, stop in cuts(len(order)):
        yield _core.dealt(held, order[start:stop])


def _of_runs(rows: TableRows | SparseRows, intake: Intake, marks: RowLabels, rng: Draws) -> Batches:
    read, runs = rows.reader(intake, marks), list(cuts(rows.n, RUN))
    order = rng.permutation(len(runs))
    for start, stop in cuts(len(order), ROWS // RUN):
        yield from _dealt([read(*runs[i]) for i in order[start:stop]], intake, rng)


# ---- files -----------------------------------------------------------------------------------------
def _of_files(rows: ScannedRows, intake: Intake, rng: Draws) -> Batches:
    source, batching = rows.coded, rows.batching
    known = None if source.rows is None else source.rows * source.p
    many = len(source.parts(0)) >= OPEN
    cells = known or 0
    if cells <= POOL and not (many and known is None):
        held, cells = _held(rows, intake)
        if cells <= POOL:  # as rows in memory, to the bit
            yield from _dealt(held, intake, rng)
            return
    if many:
        yield from pooled(
            scattered(source, rng, partial(batching.hashed, intake=intake), OPEN), intake, rng
        )
        return
    rounds, seed = min(ceil(cells / POOL), MOST_ROUNDS), int(rng.randint(1 << 31))
    for now in range(rounds):
        some = partial(_some, batching, intake, seed, rounds, now)
        yield from pooled(scattered(source, rng, some, OPEN), intake, rng, 2 * POOL)


def _held(rows: ScannedRows, intake: Intake) -> tuple[list[_core.HashedRows], int]:
    """All rows, if there is room for them; and how many cells they have."""
    held: list[_core.HashedRows] = []
    cells, batching = 0, rows.batching
    for chunk in chunks(rows.coded):
        cells += _cells(chunk.X)
        if cells > POOL:
            held.clear()
        else:
            held.extend(batching.hashed(chunk, intake))
    return held, cells


def _cells(X: Any) -> int:
    if isinstance(X, KeyedRows):
        return len(X.keys)
    n, p = X.shape
    return int(X.starts[-1] - X.starts[0]) if isinstance(X, CSR) else n * p


def _some(
    batching: BatchReader, intake: Intake, seed: int, rounds: int, now: int, chunk: Chunk
) -> Iterator[_core.HashedRows]:
    """The runs of a chunk whose round it is."""
    rows, marks = batching.rows(chunk), batching.marks(chunk)
    draws = np.random.default_rng([seed, chunk.first])
    if isinstance(rows, TableRows | SparseRows):
        read, runs = rows.reader(intake, marks), list(cuts(rows.n, RUN))
        chosen = np.flatnonzero(draws.integers(rounds, size=len(runs)) == now)
        yield from (read(*runs[i]) for i in chosen)
        return
    skipped = intake.skipped
    for batch in rows.hashed(intake, marks):
        yield _core.dealt([batch], np.flatnonzero(draws.integers(rounds, size=len(batch)) == now))
    if now:
        intake.skipped = skipped  # they were counted in the first round
