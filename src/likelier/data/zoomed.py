"""Rows whose margins are looked at closely about 1."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from likelier.data.chunk import Chunk, Part
from likelier.data.wrapped import Wrapped


@dataclass(frozen=True)
class Zoomed(Wrapped):
    """The same rows with an offset: at θ / width the margin is 1 + (m - 1) / width, m that at θ.

    t z / width + 1 - 1 / width = t (z / width + t (1 - 1 / width)), as t² = 1.
    """

    width: float
    positive: int  # the code of t = 1

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            far = 1 - 1 / self.width
            offset = np.where(chunk.y == self.positive, far, -far)  # (n,)
            if chunk.offset is not None:
                offset += chunk.offset / self.width
            yield chunk._replace(offset=offset)
