"""The weight vectors of a perceptron, all of them, as the rows at which it was mistaken."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import CSR, Chunk
from likelier.data.matrix import Block
from likelier.scores import Based
from likelier.states.moments import refuse

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Epoch:
    """What one epoch of one problem changed: a step at each mistake."""

    turns: int  # how many rows had their turn
    at: Numbers  # (m,), the turns at which a step was taken, from 1 on
    rows: Numbers  # (m,), whose turn it was


@dataclass(frozen=True)
class Voters:
    """w_k = start + Σ_{i <= k} steps_i x_i, and for how many turns each of them lasted.

    The lasting of all add up to the number of turns and 1: those before the first turn are weights, too.
    """

    start: Floats  # (p,)
    intercept: float  # beside start
    rows: Numbers  # (m,), among those that are kept
    steps: Floats  # (m,)
    lasting: Floats  # (m + 1,)

    @classmethod
    def of(cls, start: Floats, intercept: float) -> Self:
        """Before the first turn."""
        return cls(start, intercept, np.empty(0, dtype=np.int64), np.empty(0), np.ones(1))

    def after(self, epoch: Epoch, rows: Numbers, steps: Floats) -> Self:
        """With the steps of an epoch, each at a row that is kept."""
        ends = np.append(epoch.at, epoch.turns + 1)
        lasting = np.concatenate([self.lasting, np.diff(ends).astype(np.float64)])
        lasting[len(self.rows)] += ends[0] - 1
        rows, steps = np.append(self.rows, rows), np.append(self.steps, steps)
        return replace(self, rows=rows, steps=steps, lasting=lasting)

    def without_first(self, d: int, moved: Floats, decay: float) -> Self:
        """The first d steps, which have `moved` the start, and the votes before the last of them gone."""
        intercept = self.intercept + decay * float(self.steps[:d].sum())
        return type(self)(self.start + moved, intercept, self.rows[d:], self.steps[d:], self.lasting[d:])


@dataclass(frozen=True)
class Votes(Based):
    """Σ_k lasting_k sign(w_k·x) / Σ_k lasting_k: the mean vote of all weights (Freund & Schapire 1999).

    A score of 0 is no vote. Of two classes the first scores 0.
    """

    kept: CSR
    voters: tuple[Voters, ...]  # one for two classes, or one for each
    decay: float  # of the intercept's steps

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        X, kept = chunk.X.native(), self.kept.native()
        if not add:
            Z[:] = 0.0
        Z += self.b
        votes = np.empty(chunk.X.shape[0])
        for k, one in enumerate(self.voters, self.K - len(self.voters)):
            told = (one.start, one.intercept, one.rows, one.steps, one.lasting)
            refuse(chunk, _core.votes(X, kept, *told, self.decay, votes))
            Z[:, k] += votes / one.lasting.sum()


def weighted_sum(X: Block, rows: Numbers, a: Floats) -> Floats:
    """Σ_i a_i x_i, (p,)."""
    by_row = np.bincount(rows, a, X.shape[0])
    if isinstance(X, CSR):
        at, stored = X._stored()
        cells = by_row[at] * X.values[stored]
        return np.asarray(np.bincount(X.columns[stored], cells, X.p), dtype=np.float64)
    used = np.flatnonzero(by_row)
    return np.asarray(by_row[used] @ X.take(used).to_array())


def sparse(X: Block) -> CSR:
    """Rows as the cells that are not 0."""
    if isinstance(X, CSR):
        at = X._stored()[1]
        values, columns, starts = X.values[at], X.columns[at], X.starts - X.starts[0]
    else:
        cells = X.to_array()
        rows, columns = np.nonzero(cells)
        values, starts = cells[rows, columns], np.searchsorted(rows, np.arange(len(cells) + 1))
    return CSR(values.astype(np.float64), columns.astype(np.int32), starts.astype(np.int32), X.shape[1])


def none_kept(p: int) -> CSR:
    """No rows yet."""
    return CSR(np.empty(0), np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int32), p)


def gathered(kept: CSR, X: Block, voters: Sequence[Voters]) -> tuple[CSR, tuple[Voters, ...]]:
    """The rows that voters need, of `kept` and, numbered on, of X; and the voters that know them so.

    Rows lie as they are first needed: kernels read what adjoins.
    """
    needed = np.concatenate([one.rows for one in voters])
    if needed.max(initial=-1) < kept.shape[0]:  # no mistake since
        return kept, tuple(voters)
    used, first, place = np.unique(needed, return_index=True, return_inverse=True)
    order = np.argsort(first)
    old = int(np.searchsorted(used, kept.shape[0]))
    new = sparse(X.take((used[old:] - kept.shape[0]).astype(np.intp)))
    rows = CSR.stack([kept.take(used[:old]), new]).take(order)
    place = np.argsort(order)[place]
    ends = np.cumsum([len(one.rows) for one in voters])[:-1]
    return rows, tuple(
        replace(one, rows=own) for one, own in zip(voters, np.split(place, ends), strict=True)
    )
