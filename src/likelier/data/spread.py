"""A few rows of a source, to begin with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from likelier.data.chunk import Chunk, Part
from likelier.data.wrapped import P, Wrapped

RUN = 512  # rows side by side: enough to be worth a call


@dataclass(frozen=True)
class Spread(Wrapped):
    """Of every `apart` runs of rows the first."""

    apart: int

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            for start in range(0, chunk.X.shape[0], RUN * self.apart):
                yield chunk.take(slice(start, start + RUN))


@dataclass(frozen=True)
class Few(Wrapped):
    """Of every part the first rows, so many of its first chunk at most."""

    most: int

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in islice(part(), 1):
            yield chunk.take(slice(0, min(self.most, chunk.X.shape[0])))


@dataclass(frozen=True)
class Thinned(Wrapped):
    """Of every `apart` parts one, from the middle of them: the others are not read."""

    apart: int

    @property
    def rows(self) -> int | None:
        return None

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return self.kept(self.source.parts(state_bytes))

    def kept(self, parts: Sequence[P]) -> Sequence[P]:
        return parts[min(self.apart // 2, len(parts) - 1) :: self.apart]
