"""Classes that were guessed: a pass by them goes on for as long as they are all there are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from likelier.data.chunk import Chunk, Part
from likelier.data.wrapped import Wrapped


class Unforeseen(ValueError):
    """A row has a label, or lacks one, that is none of the classes."""


@dataclass(frozen=True)
class Foreseen(Wrapped):
    """The same rows, coded; one whose label is no class ends the pass."""

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(_foreseen, part) for part in self.source.parts(state_bytes)]


def _foreseen(part: Part) -> Iterator[Chunk]:
    for chunk in part():
        assert chunk.y is not None
        if len(chunk.y) and chunk.y.min() < 0:
            raise Unforeseen("a label that is none of the classes")
        yield chunk
