"""Hashed rows as Python sees them: the keys of features, and rows as lists of cells."""

from itertools import pairwise
from typing import Any

A, B, C = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F
MASK = 2**64 - 1

Cells = list[tuple[int, float]]
Row = tuple[Cells, int, float]  # cells, code, weight


def folded(a: int, b: int) -> int:
    return (a * b & MASK) ^ (a * b >> 64)


def hash_of(text: bytes, seed: int) -> int:
    h, left = seed ^ A, text
    while len(left) > 16:
        h = folded(int.from_bytes(left[:8], "little") ^ h, int.from_bytes(left[8:16], "little") ^ B)
        left = left[16:]
    h = folded(int.from_bytes(left[:8], "little") ^ h, int.from_bytes(left[8:], "little") ^ B)
    return folded(h ^ len(text), C)


def name_key(name: str | bytes) -> int:
    return hash_of(as_bytes(name), 0)


def word_key(name: str | bytes, value: str | bytes) -> int:
    return hash_of(as_bytes(value), name_key(name))


def cross_key(a: int, b: int) -> int:
    return folded(a ^ C, (b << 32 & MASK | b >> 32) ^ A)


def as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def number(name: str | bytes, value: float) -> Cells:
    return [(name_key(name), value)] if value else []


def word(name: str | bytes, value: str | bytes) -> Cells:
    return [(word_key(name, value), 1.0)]


def rows_of(core: Any, rows: Any) -> list[Row]:
    """What is in hashed rows."""
    keys, values, starts, codes, weights = (array.tolist() for array in core.cells_of(rows))
    cells = list(zip(keys, values, strict=True))
    spans = zip(starts[:-1], starts[1:], codes, weights, strict=True)
    return [(cells[begin:end], code, weight) for begin, end, code, weight in spans]


def parsed(core: Any, parser: Any, text: bytes, cuts: Any = ()) -> list[Row]:
    """The rows of a text that comes in pieces."""
    rows, places = core.HashedRows(), [0, *sorted(cuts), len(text)]
    for begin, end in pairwise(places):
        if end > begin:
            parser.parse(text[begin:end], rows)
    parser.parse(b"", rows, True)
    return rows_of(core, rows)
