"""Rows themselves, wherever they are: for what cannot be a state."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from likelier.data import CSR, Arrays, Chunk, Dense, Part, Source
from likelier.data.spread import Few
from likelier.data.wrapped import cluster_of
from likelier.engines.watching import Done, Pass, passing, unheard

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
    if cluster is None:
        for part in parts:
            yield from part()
            done(parts=1)
        return
    from likelier.engines.cluster import fetched  # Dask is an extra, and slow to load

    yield from fetched(cluster, source, parts)
    done(parts=len(parts))


def first_chunk(source: Source, most: int = 1 << 12) -> Chunk:
    """The first rows, at most so many: not worth an observer's while."""
    few = Few(source, most)
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
