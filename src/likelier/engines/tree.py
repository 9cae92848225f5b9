"""In which order states merge."""

from collections.abc import Iterable
from typing import Any, TypeVar

from likelier.states import State

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
