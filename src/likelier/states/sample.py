"""A sample of rows: all of them while they are few, then some, drawn by a hash of their numbers."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Chunk, Columns, Factor
from likelier.data.folds import keys_of
from likelier.data.numbering import check


@dataclass
class Sample:
    """The `most` rows, of those that have a weight, whose numbers have the least hashes (bottom-k).

    Which rows those are depends on nothing else: not on cuts, order or merges.
    """

    most: int
    seed: int = 0
    pieces: list[tuple[NDArray[np.uint64], NDArray[np.int64], Chunk]] = field(default_factory=list)
    below: int = 1 << 64  # rows with hashes from here on are no longer wanted

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        check(chunk.first)
        n = chunk.X.shape[0]
        rows = np.empty(n, dtype=np.int64)
        rows = rows[: _core.drawn(chunk.first, self.seed, self.below - 1, rows)]
        if chunk.w is not None:
            rows = rows[chunk.w[rows] > 0]
        if len(rows):
            numbers = chunk.first + rows
            every = slice(None) if len(rows) == n else rows.astype(np.intp, copy=False)
            some = _some(chunk, every)._replace(first=0)
            self.pieces.append((keys_of(numbers, self.seed), numbers, some))
            self._thin()

    def merge(self, other: Self) -> None:
        self.pieces += other.pieces
        self.below = min(self.below, other.below)
        self._thin()

    def _thin(self) -> None:
        """Once there are twice as many as wanted, let go of the rest."""
        if sum(len(keys) for keys, _, _ in self.pieces) < 2 * self.most:
            return
        keys = np.concatenate([keys for keys, _, _ in self.pieces])
        self.below = int(np.partition(keys, self.most - 1)[self.most - 1]) + 1
        thinned = []
        for some, numbers, chunk in self.pieces:
            rows = np.flatnonzero(some <= np.uint64(self.below - 1))
            if len(rows):
                thinned.append((some[rows], numbers[rows], _some(chunk, rows)))
        self.pieces = thinned

    def __getstate__(self) -> dict[str, Any]:
        """What travels is one piece of no more rows than wanted: many small arrays would take longer."""
        held = self.__dict__.copy()
        if len(self.pieces) > 1:
            held["pieces"] = [self._least()]
        return held

    def rows(self) -> Chunk | None:
        """The sampled rows, in the order of their numbers; None: there are none."""
        return None if not self.pieces else self.drawn()[1]

    def drawn(self) -> tuple[NDArray[np.uint64], Chunk]:
        """The hashes of the sampled rows, of which there are some, and the rows."""
        keys, _, chunk = self._least()
        return keys, chunk

    def _least(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], Chunk]:
        """Hashes, numbers and rows of those that are wanted, in the order of their numbers."""
        keys = np.concatenate([keys for keys, _, _ in self.pieces])
        numbers = np.concatenate([numbers for _, numbers, _ in self.pieces])
        order = np.arange(len(keys))
        if len(keys) > self.most:
            order = np.flatnonzero(keys <= np.partition(keys, self.most - 1)[self.most - 1])
        order = order[np.argsort(numbers[order], kind="stable")][: self.most]
        return keys[order], numbers[order], _stacked([chunk for _, _, chunk in self.pieces]).take(order)


def _some(chunk: Chunk, rows: Any) -> Chunk:
    """Some of the rows, and of the categories those that they have: else all text that was read stays."""
    taken = chunk.take(rows)
    if not isinstance(taken.X, Columns):
        return taken
    arrays = tuple(x.compact() if isinstance(x, Factor) else x for x in taken.X.arrays)
    return taken._replace(X=Columns(arrays))


def _stacked(chunks: list[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    kind: Any = type(chunks[0].X)
    labels: list[Any] = [chunk.y for chunk in chunks]
    y = None if labels[0] is None else np.concatenate(labels)
    w = None
    if any(chunk.w is not None for chunk in chunks):
        w = np.concatenate([np.ones(chunk.X.shape[0]) if chunk.w is None else chunk.w for chunk in chunks])
    return Chunk(kind.stack([chunk.X for chunk in chunks]), y, w)
