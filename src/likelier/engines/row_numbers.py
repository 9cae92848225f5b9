"""The true numbers of rows: those before each file or partition are counted, where nobody knows them."""

from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from likelier.data import Chunk, Source
from likelier.data.chunk import UNNUMBERED
from likelier.data.transforms import Wrapped, innermost
from likelier.engines.run import SideState, engine_of

S = TypeVar("S", bound=Source)


@dataclass
class PieceRowCounts:
    """How many rows each piece of a source has, by the number of the piece; what is not there has none."""

    rows: dict[int, int] = field(default_factory=dict)
    nbytes: int = 0

    def update(self, chunk: Chunk) -> None:
        self._add(chunk.first // UNNUMBERED - 1, chunk.X.shape[0])

    def merge(self, other: Self) -> None:
        for piece, n in other.rows.items():
            self._add(piece, n)

    def _add(self, piece: int, n: int) -> None:
        self.rows[piece] = self.rows.get(piece, 0) + n


def numbered(source: S) -> S:
    """The same source, its rows numbered as in the whole table: for whatever is drawn by row numbers.

    Plain text on this machine is counted while it is cut, and Parquet says how many rows it has. Compressed
    files, files elsewhere and Dask frames are read for it, once, and only if there are several.
    """
    if isinstance(source, Wrapped):
        return replace(source, source=numbered(source.source))
    pieces: Any = source
    if not getattr(pieces, "provisional", False):
        return source
    unknown = pieces.uncounted()
    if unknown is not None:
        pieces.counted(engine_of(unknown)(unknown, PieceRowCounts).rows)
    found: S = pieces.numbered()
    return found


def counting(source: Source) -> SideState | None:
    """What a survey of the labels keeps beside them: how many rows there are, if nobody knows."""
    held: Any = innermost(source)
    if not getattr(held, "provisional", False):
        return None
    return SideState(PieceRowCounts, lambda found: held.counted(found.rows))
