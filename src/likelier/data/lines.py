"""Text files in which a line is a row: cut at the ends of lines, read in blocks of whole lines."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from likelier import _core
from likelier.data.places import Stamp, is_url, opened, packing, stream
from likelier.data.stored import Span, ahead, joined, reading

UNIT = 1 << 20  # a file can be cut after the line that ends so many bytes
LONGEST = 1 << 30  # bytes of a line

_MARK = b"\xef\xbb\xbf"  # of UTF-8, which some programs write first


class Census(NamedTuple):
    """What a first look at a file has found: where its pieces begin, the rows of each, and the indices."""

    starts: tuple[int, ...]
    rows: tuple[int, ...]
    lowest: int | None = None  # None: there is no index
    highest: int | None = None

    def spans(self, rows: int) -> list[Span]:
        """Pieces, joined until they have so many rows."""
        starts = self.starts
        return [Span(first, starts[i], starts[j]) for first, i, j in joined(self.rows, rows)]


# Kept: each fit asks for it, and a file that has not changed need not be read for that.
@lru_cache(maxsize=1 << 16)
def census(path: str, seen: Stamp, indices: bool, unit: int = UNIT) -> Census:
    """One reading; indices: those of svmlight's format are looked at, too."""
    starts, rows, low, high, end = [], [], [], [], 0
    with reading(path, seen):
        for at, block in ahead(blocks(path, 0, None, unit)):
            n, lowest, highest = _core.survey_lines(block, indices)
            starts.append(at)
            rows.append(n)
            end = at + len(block)
            if lowest <= highest:
                low.append(lowest)
                high.append(highest)
    return Census((*starts, end), tuple(rows), min(low, default=None), max(high, default=None))


def can_be_cut(path: str) -> bool:
    """Whether reading can begin at any place at once."""
    return packing(path) is None and not is_url(path)


def read(path: str, seen: Stamp, span: Span, size: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines of a span, about `size` bytes at a time, each block with the byte at which it begins."""
    with reading(path, seen):
        if span.stop:  # pieces are read side by side already
            yield from blocks(path, span.start, span.stop, size)
        else:
            yield from ahead(blocks(path, 0, None, size))


def blocks(path: str, start: int, stop: int | None, size: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines from one byte to another, about `size` bytes at a time, each with where it begins."""
    with opened(path) if can_be_cut(path) else stream(path) as file:
        if start:
            file.seek(start)
        at, held = start, b""
        while block := file.read(size if stop is None else min(size, stop - at - len(held))):
            cut = block.rfind(b"\n") + 1
            if cut:
                yield _unmarked(at, held + block[:cut])
                at, held = at + len(held) + cut, block[cut:]
            else:
                held += block
            if len(held) > LONGEST:
                raise ValueError(f"{path}: a line is longer than {LONGEST >> 30} GB.")
        if held:
            yield _unmarked(at, held)


def _unmarked(at: int, block: bytes) -> tuple[int, bytes]:
    """A block, and where it begins: behind a mark, or where the block ends would be wrong."""
    marked = at == 0 and block.startswith(_MARK)
    return (len(_MARK), block[len(_MARK) :]) if marked else (at, block)


def line_at(path: str, offset: int) -> int:
    """The number, from 1, of the line that begins at this byte."""
    return 1 + sum(block.count(b"\n") for at, block in blocks(path, 0, offset, UNIT) if at < offset)


def row_line(path: str, row: int, comment: bytes = b"") -> int | None:
    """The number, from 1, of the line that is this row, blank lines and comments being none."""
    number = 0
    for _, block in blocks(path, 0, None, UNIT):
        for line in block.split(b"\n")[: block.count(b"\n") + (not block.endswith(b"\n"))]:
            number += 1
            if (line.split(comment, 1)[0] if comment else line).strip(b" \t\r"):
                if row == 0:
                    return number
                row -= 1
    return None
