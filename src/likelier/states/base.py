"""States: what a pass computes from rows, how it is merged by fold and group, and in which units."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import BadCell, Chunk
from likelier.data.row_numbers import Assignment, runs
from likelier.data.transforms import Units, block_in_units, magnitudes

# The two things that may touch data.


class Fold(Protocol):
    """Absorbs chunks; their order may matter. Returns the scores from before it learned, or nothing."""

    def update(self, chunk: Chunk, /) -> Any: ...


class State(Fold, Protocol):
    """Absorbs chunks in any order and merges with its like: update(a); update(b) = a merged with b."""

    def merge(self, other: Self, /) -> None: ...

    @property
    def nbytes(self) -> int: ...


@runtime_checkable
class Statistics(State, Protocol):
    """A state of which a family estimates its parameters: all that fits, merges and files ask of one."""

    @property
    def n(self) -> Floats:
        """The weight of each class's rows, (K,)."""

    def finite(self) -> bool:
        """False if sums or weights have overflowed."""

    def mergeable(self, other: Any, /) -> bool:
        """Whether `other`, of as many columns and whatever classes, counts the same things."""

    def widened(self, K: int, at: NDArray[np.intp], /) -> Self:
        """The same among K classes, in which ours stand at `at`; of the others there are no rows."""


# In which order states merge.

S = TypeVar("S", bound=State)


class Tree:
    """Merges as a binary counter does: a tree fixed by the numbers of the parts, whoever read them.

    At most log2 of their count wait at any time, and rounding errors grow as slowly. What waits after
    `count` parts is all that the parts to come need to know of them.
    """

    def __init__(self, waiting: Iterable[Any] = (), count: int = 0) -> None:
        self.waiting, self.count = list(waiting), count

    def add(self, state: Any) -> None:
        """The state of the next part."""
        self.count += 1
        number = self.count
        while number % 2 == 0:
            left = self.waiting.pop()
            left.merge(state)
            state, number = left, number // 2
        self.waiting.append(state)

    def merged(self) -> Any:
        """All of them as one."""
        while len(self.waiting) > 1:
            right = self.waiting.pop()
            self.waiting[-1].merge(right)
        return self.waiting[0]


def merge_in_order(states: Iterable[S]) -> S:
    """One state out of those of all parts."""
    tree = Tree()
    for state in states:
        tree.add(state)
    found: S = tree.merged()
    return found


# One state for each fold, and what is left when a fold is left out.

Start = Callable[[], Any]


@dataclass
class StateGroup:
    """Several states of the same rows, from one reading of them."""

    states: tuple[Any, ...]

    @classmethod
    def start(cls, starts: Sequence[Start]) -> Self:
        return cls(tuple(start() for start in starts))

    @property
    def nbytes(self) -> int:
        return sum(state.nbytes for state in self.states)

    def update(self, chunk: Chunk) -> None:
        for state in self.states:
            state.update(chunk)

    def merge(self, other: Self) -> None:
        for state, like in zip(self.states, other.states, strict=True):
            state.merge(like)


@dataclass
class Folds:
    """A state for each fold, which absorbs the rows of that fold alone."""

    folds: Assignment
    empty: Start
    states: list[Any]

    @classmethod
    def start(cls, folds: Assignment, empty: Start) -> Self:
        return cls(folds, empty, [empty() for _ in range(folds.count)])

    @property
    def nbytes(self) -> int:
        return sum(state.nbytes for state in self.states)

    def update(self, chunk: Chunk) -> None:
        try:
            for fold, rows in runs(chunk, self.folds):
                self.states[fold].update(chunk.take(rows))
        except ValueError:
            self.empty().update(chunk)  # whose message has the row's own number
            raise

    def merge(self, other: Self) -> None:
        for state, like in zip(self.states, other.states, strict=True):
            state.merge(like)


def all_but_one(states: Sequence[S], empty: Callable[[], S]) -> Iterator[S]:
    """For each state the merger of all others: those before it with those after it.

    3F merges for F states; nothing is subtracted, which would cost digits.
    """
    after = [empty()]
    for state in reversed(states[1:]):
        after.append(_merged(state, after[-1]))
    before = empty()
    for state in states:
        yield _merged(before, after.pop())
        before = _merged(before, state)


def _merged(a: S, b: S) -> S:
    """Both as one; they stay as they are."""
    total = copy.deepcopy(a)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused when it is used
        total.merge(b)
    return total


# A state for each of several groups of columns.


@dataclass
class Parts:
    """Statistics of groups of columns, each of a kind of its own, from one reading of the rows."""

    columns: tuple[NDArray[np.intp], ...]
    states: tuple[Any, ...]

    @property
    def n(self) -> Floats:
        """The weight of each class's rows, (K,)."""
        n: Floats = self.states[0].n
        return n

    @property
    def nbytes(self) -> int:
        return sum(state.nbytes for state in self.states)

    def update(self, chunk: Chunk) -> None:
        for columns, state in zip(self.columns, self.states, strict=True):
            try:
                state.update(chunk._replace(X=chunk.X.select(columns)))
            except BadCell as bad:
                raise bad.among(columns) from None

    def merge(self, other: Self) -> None:
        for state, like in zip(self.states, other.states, strict=True):
            state.merge(like)

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return (
            isinstance(other, Parts)
            and len(self.columns) == len(other.columns)
            and all(map(np.array_equal, self.columns, other.columns))
            and all(a.mergeable(b) for a, b in zip(self.states, other.states, strict=True))
        )

    def finite(self) -> bool:
        """False if squares or weights have overflowed."""
        return all(state.finite() for state in self.states)

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return type(self)(self.columns, tuple(state.widened(K, at) for state in self.states))


# Statistics of columns that are counted in units of powers of two.


@dataclass
class Scaled:
    """The statistics that rows have in these units."""

    units: Units  # (p,)
    state: Any

    @property
    def n(self) -> Floats:
        n: Floats = self.state.n
        return n

    @property
    def nbytes(self) -> int:
        return int(self.state.nbytes)

    def update(self, chunk: Chunk) -> None:
        self.state.update(chunk._replace(X=block_in_units(chunk.X, self.units)))

    def merge(self, other: Self) -> None:
        self.state.merge(other.state)

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things, in the same units."""
        same = isinstance(other, Scaled) and np.array_equal(self.units, other.units)
        return same and bool(self.state.mergeable(other.state))

    def unlike(self, other: Any, names: NDArray[Any] | None = None) -> str:
        """Why they cannot be merged."""
        if not isinstance(other, Scaled) or not np.array_equal(self.units, other.units):
            return (
                "columns differ in magnitude: those of one model are so large or small that they were "
                "counted in units of their own. Multiply such columns by one power of two in all rows"
            )
        found: str = self.state.unlike(other.state, names)
        return found

    def finite(self) -> bool:
        return bool(self.state.finite())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return replace(self, state=self.state.widened(K, at))


@dataclass
class Magnitudes:
    """The largest magnitude in each column, of all rows that have a weight."""

    most: Floats  # (p,)

    @classmethod
    def start(cls, p: int) -> Self:
        return cls(np.zeros(p))

    @property
    def nbytes(self) -> int:
        return self.most.nbytes

    def update(self, chunk: Chunk) -> None:
        if chunk.w is not None and not chunk.w.all():
            chunk = chunk.take(np.flatnonzero(chunk.w))
        self.most = np.maximum(self.most, magnitudes(chunk.X))

    def merge(self, other: Self) -> None:
        self.most = np.maximum(self.most, other.most)


def plain(statistics: Any) -> Any:
    """The statistics themselves, in whatever units."""
    return statistics.state if isinstance(statistics, Scaled) else statistics
