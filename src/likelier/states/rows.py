"""Rows that are kept: all of them, a sample by class or by number, or the densities of training rows."""

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats, row_weights
from likelier.data import Chunk, Columns, Dense, Factor, NonFinite
from likelier.data.row_numbers import check, keys_of
from likelier.data.transforms import Units, in_units, magnitudes, needed
from likelier.states.missing import members
from likelier.states.moments import ColumnMoments

# The rows themselves, for densities that are made of them.


@dataclass
class StoredRows:
    """Rows X (m, p), NaN where a cell is missing, each with class and weight; merge: one after another."""

    K: int
    X: Floats
    codes: NDArray[np.int32]  # (m,)
    w: Floats  # (m,), all above 0

    @classmethod
    def start(cls, K: int, p: int) -> Self:
        return cls(K, np.zeros((0, p)), np.zeros(0, dtype=np.int32), np.zeros(0))

    @property
    def n(self) -> Floats:
        """The weight of each class's rows, (K,)."""
        return np.asarray(np.bincount(self.codes, self.w, self.K), dtype=np.float64)

    @property
    def nbytes(self) -> int:
        return self.X.nbytes + self.codes.nbytes + self.w.nbytes

    def update(self, chunk: Chunk) -> None:
        rows, codes, w = members(chunk)
        X = chunk.X.to_array()[rows] + 0.0  # -0 is 0: they are one value
        bad = np.argwhere(np.isinf(X))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            raise NonFinite(chunk.first + int(rows[row]), column, float(X[row, column]))
        self._append(X, codes, w)

    def merge(self, other: Self) -> None:
        self._append(other.X, other.codes, other.w)

    def _append(self, X: Floats, codes: NDArray[np.int32], w: Floats) -> None:
        self.X = np.concatenate([self.X, X])
        self.codes = np.concatenate([self.codes, codes])
        self.w = np.concatenate([self.w, w])

    def distinct(self) -> Self:
        """The same rows sorted by class, then by column, equal ones as one: whatever order they came in."""
        order = np.lexsort((*self.X.T[::-1], self.codes))
        X, codes = self.X[order], self.codes[order]
        same = (X[1:] == X[:-1]) | (np.isnan(X[1:]) & np.isnan(X[:-1]))
        first = np.flatnonzero(np.append(True, ~same.all(axis=1) | (codes[1:] != codes[:-1])))
        if len(codes) == 0:
            return replace(self)
        return replace(self, X=X[first], codes=codes[first], w=np.add.reduceat(self.w[order], first))

    def moments(self) -> tuple[ColumnMoments, Units]:
        """Weight, mean and scatter by class and column, of the columns in the units that they need."""
        p = self.X.shape[1]
        found, units = ColumnMoments.start(self.K, p), np.zeros(p, dtype=np.int64)
        if len(self.w):
            wanted = needed(magnitudes(Dense(self.X)), together=False)
            X = self.X if wanted is None else in_units(self.X, wanted)
            units = units if wanted is None else wanted
            found.update(Chunk(Dense(X), self.codes, self.w))
        return found, units

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, StoredRows)

    def finite(self) -> bool:
        """False if weights overflow; squares are taken in units of the columns."""
        return bool(np.isfinite(self.n).all())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return replace(self, K=K, codes=np.asarray(at, dtype=np.int32)[self.codes])


# A sample of rows: all of them while they are few, then some, drawn by a hash of their numbers.


@dataclass
class RowSample:
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
        w = np.concatenate([row_weights(chunk.w, chunk.X.shape[0]) for chunk in chunks])
    return Chunk(kind.stack([chunk.X for chunk in chunks]), y, w)


# How likely the rows were that a model was fitted to.


MOST = 8192  # rows whose scores are kept


@dataclass
class ReferenceScores:
    """ln p(x) and weight of the training rows, or, of more than MOST, of those with the least keys.

    Keys are hashes of the rows' numbers, so that those kept are a sample of all, and merging keeps it one.
    `rows`: how many there were, to number the next ones from.
    """

    keys: NDArray[np.uint64]
    scores: Floats
    w: Floats
    rows: int

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.scores.nbytes + self.w.nbytes

    def merge(self, other: Self) -> None:
        held = [np.concatenate(pair) for pair in zip(self._held, other._held, strict=True)]
        # By all that is known of a row: which ones stay must not depend on who merges with whom.
        order = np.lexsort((held[2], held[1], held[0]))[:MOST]
        self.keys, self.scores, self.w = (each[order] for each in held)
        self.rows += other.rows

    @property
    def _held(self) -> tuple[NDArray[np.uint64], Floats, Floats]:
        return self.keys, self.scores, self.w

    def limit(self, quantile: float) -> float:
        """The least score with which the weight of the rows up to it exceeds this share of all.

        A row whose score is as good as that is not below it: rounding must not tell.
        """
        order = np.argsort(self.scores)
        w = np.cumsum(self.w[order])
        over = np.flatnonzero(w > quantile * w[-1] * (1 + 1e-12))
        if len(over) == 0:
            return np.inf
        found = float(self.scores[order[over[0]]])
        return found - 1e-9 * (1 + abs(found)) if np.isfinite(found) else found


# Labelled rows that are kept: all of them while they are few, then a sample of fixed size.

EVERY = 1 << 64  # above all hashes


@dataclass
class Reservoir:
    """The `most` rows with a class and a weight whose numbers have the least hashes (bottom-k).

    X (m, p) has categories as codes, and NaN where a cell is missing. Which rows are kept depends neither
    on cuts nor on threads. `before` is the number of the first row, `rows` how many rows there were;
    `enough` is a hash below which there are almost surely `most` of the rows to come.
    """

    K: int
    most: int
    keys: NDArray[np.uint64]  # (m,)
    X: Floats  # (m, p)
    codes: NDArray[np.int32]  # (m,)
    w: Floats  # (m,), all above 0
    before: int = 0
    rows: int = 0
    enough: int = EVERY

    @classmethod
    def start(cls, K: int, p: int, most: int, before: int = 0, expected: int | None = None) -> Self:
        """Room for `most` rows; expected: how many rows there will be, if that is known."""
        keys, codes = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int32)
        enough = EVERY if expected is None else _enough(most, expected)
        return cls(K, most, keys, np.empty((0, p)), codes, np.empty(0), before, 0, enough)

    @property
    def n(self) -> Floats:
        """The weight of each class's rows, (K,)."""
        return np.asarray(np.bincount(self.codes, self.w, self.K), dtype=np.float64)

    @property
    def nbytes(self) -> int:
        """Nothing: rows are cut into the same parts with and without it."""
        return 0

    def update(self, chunk: Chunk) -> None:
        check(chunk.first)
        n, first = chunk.X.shape[0], self.before + chunk.first
        self.rows += n
        below = self._below if chunk.w is not None else min(self._below, self.enough)
        rows = np.empty(n, dtype=np.int64)
        rows = rows[: _core.drawn(first, 0, below - 1, rows)]
        codes = np.asarray(chunk.y)[rows].astype(np.int32)
        w = row_weights(None if chunk.w is None else chunk.w[rows], len(rows))
        good = (codes >= 0) & (w > 0)
        some = rows[good].astype(np.intp)
        if len(some):
            X = chunk.X.take(slice(None) if len(some) == n else some).to_array().astype(np.float64)
            self._add(keys_of(first + some), X, codes[good], np.asarray(w[good], dtype=np.float64))

    def merge(self, other: Self) -> None:
        self.rows += other.rows
        self._add(other.keys, other.X, other.codes, other.w)

    def _add(self, keys: NDArray[np.uint64], X: Floats, codes: NDArray[np.int32], w: Floats) -> None:
        self.keys, self.X = np.concatenate([self.keys, keys]), np.concatenate([self.X, X])
        self.codes, self.w = np.concatenate([self.codes, codes]), np.concatenate([self.w, w])
        if len(self.keys) > self.most:
            self._keep(self._order()[: self.most])

    def _order(self) -> NDArray[np.intp]:
        """By all that is known of a row: which ones stay must not depend on who merges with whom."""
        return np.lexsort((np.nansum(self.X, axis=1), self.w, self.codes, self.keys))

    def _keep(self, order: NDArray[np.intp]) -> None:
        self.keys, self.X = self.keys[order], self.X[order]
        self.codes, self.w = self.codes[order], self.w[order]

    @property
    def _below(self) -> int:
        """The hash from which on a row is among so many no more."""
        return int(self.keys.max()) + 1 if len(self.keys) >= self.most else EVERY

    def in_order(self) -> Self:
        """The same rows, whatever order they came in."""
        found = replace(self)
        found._keep(self._order())
        return found

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, Reservoir) and self.X.shape[1] == other.X.shape[1]

    def finite(self) -> bool:
        """False if weights have overflowed."""
        return bool(np.isfinite(self.n).all())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return replace(self, K=K, codes=np.asarray(at, dtype=np.int32)[self.codes])


def _enough(most: int, rows: int) -> int:
    """The hash below which there are `most` of so many rows: too few of them but once in 10⁹ times."""
    share = (most + 6 * sqrt(most)) / max(rows, 1)
    return EVERY if share >= 1 else int(share * 2.0**64)
