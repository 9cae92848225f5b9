"""Where a file of delimited text can be cut into pieces: at the ends of rows."""

import codecs
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from likelier import _core
from likelier.cores import cores
from likelier.data.heading import UTF8
from likelier.data.places import Stamp
from likelier.data.stored import Span, joined, reading

UNIT = 4 << 20  # a file can be cut after the first row that ends in each block of so many bytes

_MARK = b"\xef\xbb\xbf"  # of UTF-8, which some programs write first
_OUTSIDE = 0  # of quotation marks


class Cuts(NamedTuple):
    """Where the pieces of a file begin, and the last one ends; the rows of each."""

    starts: tuple[int, ...]
    rows: tuple[int, ...]

    def spans(self, rows: int) -> list[Span]:
        """Pieces, joined until they have so many rows."""
        starts = self.starts
        return [Span(first, starts[i], starts[j]) for first, i, j in joined(self.rows, rows)]


class _Ends(NamedTuple):
    """What is in a block: how many rows end, where the first of them does, and whether quotes are open."""

    rows: int
    first: int  # -1: none ends
    quotes: int


# Kept: each pass asks for it, and a file that has not changed need not be looked at again.
@lru_cache(maxsize=4096)
def cuts(path: str, seen: Stamp, delimiter: str, unit: int, header: bool = True) -> Cuts:
    """One look at all bytes of a file, by several threads; what is found depends on the file alone."""
    with reading(path, seen), Path(path).open("rb") as file:
        begin = len(_MARK) if file.read(len(_MARK)) == _MARK else 0
        blocks = _Blocks(file.fileno(), delimiter, begin, seen[0], unit)
        return blocks.cuts(header)


def count(file: BinaryIO, delimiter: str, encoding: str, header: bool) -> int:
    """The rows of a file that can only be read from beginning to end."""
    rows, before, quotes = 0, ord("\n"), _OUTSIDE
    for block in _in_utf8(file, encoding):
        found = _Ends(*_core.row_ends(np.frombuffer(block, np.uint8), delimiter, before, quotes))
        rows, before, quotes = rows + found.rows, block[-1], found.quotes
    return max(0, rows + (before not in b"\r\n") - header)


def _in_utf8(file: BinaryIO, encoding: str) -> Iterator[bytes]:
    """The text of a file as UTF-8, a block at a time, none of them empty."""
    mark, decoder = _MARK, codecs.getincrementaldecoder(encoding)(errors="replace")
    while block := file.read(UNIT):
        if encoding != UTF8:
            block = decoder.decode(block).encode()
        block, mark = block.removeprefix(mark), b""
        if block:
            yield block


class _Blocks(NamedTuple):
    """A file, a block at a time."""

    file: int
    delimiter: str
    begin: int
    end: int
    unit: int

    def cuts(self, header: bool) -> Cuts:
        places, behind, rows, quotes = [], [], 0, _OUTSIDE
        blocks = range(self.begin, self.end, self.unit)
        for at, ends in zip(blocks, self._guessed(blocks), strict=True):
            if quotes != _OUTSIDE:
                ends = self._look(at, quotes)
            if ends.first >= 0:
                places.append(at + ends.first)
                behind.append(rows + 1)  # so many rows
            rows, quotes = rows + ends.rows, ends.quotes
        rows += self._unended()
        if behind and behind[-1] == rows:  # nothing but blank lines
            places, behind = places[:-1], behind[:-1]
        if not header:  # the first row ends where the first cut would be
            places, behind = [self.begin, *places], [0, *behind]
        return Cuts((*places, self.end), tuple(np.diff([*behind, rows]).tolist()))

    def _guessed(self, blocks: range) -> list[_Ends]:
        """As if each block began outside of quotation marks: so that they can be looked at side by side."""
        if len(blocks) < 2:
            return [self._look(at) for at in blocks]
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(self._look, blocks))

    def _look(self, at: int, quotes: int = _OUTSIDE) -> _Ends:
        """What is in a block depends on the byte before it, too."""
        before = b"\n" if at == self.begin else os.pread(self.file, 1, at - 1)
        text = np.empty(min(self.unit, self.end - at), np.uint8)
        if os.preadv(self.file, [text.data], at) < len(text):
            raise OSError("it ends before all of it is read")
        return _Ends(*_core.row_ends(text, self.delimiter, before[0], quotes))

    def _unended(self) -> bool:
        """Whether the last row lacks a line end."""
        return self.end > self.begin and os.pread(self.file, 1, self.end - 1) not in (b"\n", b"\r")
