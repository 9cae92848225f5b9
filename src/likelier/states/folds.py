"""One state for each fold, and what is left when a fold is left out."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from likelier.data import Chunk
from likelier.data.folds import Assignment, runs
from likelier.states.base import State

S = TypeVar("S", bound=State)
Start = Callable[[], Any]


@dataclass
class Together:
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
