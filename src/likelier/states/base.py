"""The two things that may touch data."""

from typing import Any, Protocol, Self

from likelier.data import Chunk


class Fold(Protocol):
    """Absorbs chunks; their order may matter. Returns the scores from before it learned, or nothing."""

    def update(self, chunk: Chunk, /) -> Any: ...


class State(Fold, Protocol):
    """Absorbs chunks in any order and merges with its like: update(a); update(b) = a merged with b."""

    def merge(self, other: Self, /) -> None: ...

    @property
    def nbytes(self) -> int: ...
