"""A stream of clicks, made up: 13 skewed counts, 26 categories with long tails, about one click in four.

Seeded, and block by block: the first rows are the same however many are asked for. The same rows come as
TSV with a header (a missing cell is empty), as text for Vowpal Wabbit and as dicts (a missing cell is left
out).

    python -m benchmarks.race.clicks clicks.tsv 1000000
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

BLOCK = 50_000
COUNTS, CATEGORIES = 13, 26
LARGEST = 65_535  # no count is above it
NUMBERS = [f"n{j + 1}" for j in range(COUNTS)]
WORDS = [f"c{j + 1}" for j in range(CATEGORIES)]
# Levels of each category: from a few to more than there are rows, of which most are met once or never.
LEVELS = np.geomspace(4, 2_000_000, CATEGORIES).astype(np.int64)
SHARE_MISSING = 0.2  # of the cells of the column with the most gaps; every third column has none
TAIL = 1.1  # level r is as common as r**-TAIL
BASE = -1.56  # gives about one click in four
OF_COUNTS, OF_WORDS = 0.11, 0.45  # how far a count and a category move the score, one standard deviation
SILENT = 3  # every third category says nothing


class Clicks(NamedTuple):
    """Some rows: labels, counts (-1: missing) and categories as 32-bit words (0: missing)."""

    y: NDArray[np.int8]  # (n,)
    counts: NDArray[np.int32]  # (n, 13)
    words: NDArray[np.uint32]  # (n, 26)


class _Law(NamedTuple):
    """What rows are drawn by; drawn itself, once."""

    order: NDArray[np.int64]  # (26,) which column has how many levels
    effects: list[NDArray[np.float32]]  # by category: what each level adds to the score
    slopes: NDArray[np.float64]  # (13,)
    centre: NDArray[np.float64]  # (13,) of the logarithm of a count
    spread: NDArray[np.float64]  # (13,)
    missing: NDArray[np.float64]  # (39,)


def _law(rng: np.random.Generator) -> _Law:
    order = rng.permutation(CATEGORIES)
    effects = []
    for j in range(CATEGORIES):
        size = 0.0 if j % SILENT == 0 else OF_WORDS
        effects.append((size * rng.standard_normal(LEVELS[order[j]], dtype=np.float32)).astype(np.float32))
    missing = SHARE_MISSING * rng.random(COUNTS + CATEGORIES) ** 2
    missing[::3] = 0.0
    return _Law(
        order=order,
        effects=effects,
        slopes=OF_COUNTS * rng.standard_normal(COUNTS),
        centre=rng.uniform(-0.5, 2.0, COUNTS),
        spread=rng.uniform(0.5, 1.0, COUNTS),
        missing=missing,
    )


def _levels(u: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Level 0 to size - 1 with chances as r**-TAIL: the inverse of the integral of that power."""
    power = 1 - TAIL
    drawn = (1 + u * ((size + 1.0) ** power - 1)) ** (1 / power)
    return np.minimum(drawn.astype(np.int64) - 1, size - 1)


def _word(column: int, levels: NDArray[np.int64]) -> NDArray[np.uint32]:
    """A word that no level of any column is likely to share, never 0 (Wellons' lowbias32)."""
    x = levels.astype(np.uint32) + np.uint32((column * 0x9E3779B1) & 0xFFFFFFFF)
    x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
    return np.maximum(x ^ (x >> 16), np.uint32(1))


def _draw(n: int, law: _Law, rng: np.random.Generator) -> Clicks:
    logs = law.centre + law.spread * rng.standard_normal((n, COUNTS))
    counts = np.minimum(np.exp(logs) - 0.5, LARGEST).clip(0).astype(np.int32)
    z = BASE + ((logs - law.centre) / law.spread) @ law.slopes
    words = np.empty((n, CATEGORIES), dtype=np.uint32)
    for j, effects in enumerate(law.effects):
        levels = _levels(rng.random(n), len(effects))
        words[:, j] = _word(j, levels)
        z += effects[levels]
    gaps = rng.random((n, COUNTS + CATEGORIES), dtype=np.float32) < law.missing
    counts[gaps[:, :COUNTS]] = -1
    words[gaps[:, COUNTS:]] = 0
    return Clicks((rng.random(n) < expit(z)).astype(np.int8), counts, words)


def blocks(n: int, seed: int = 11) -> Iterator[Clicks]:
    """The first n rows of the stream, some at a time."""
    law = _law(np.random.default_rng(seed))
    for number, start in enumerate(range(0, n, BLOCK)):
        rows = _draw(BLOCK, law, np.random.default_rng([seed, number]))
        yield Clicks(*(part[: n - start] for part in rows))


# ---- as text -----------------------------------------------------------------------------------------
# A block of text is a matrix of bytes, a row for each row, in which cells have a fixed width; bytes that
# are 0 are no text, and taken out at the end.
_HEX = np.frombuffer(b"".join(b"%04x" % i for i in range(65536)), dtype=np.uint32)
_DIGITS = np.array([b"%d" % i for i in range(LARGEST + 1)] + [b""], dtype="S5")


def _cells(rows: Clicks) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Counts (n, 13, 5) and words (n, 26, 8) as bytes; missing ones are all 0."""
    n = len(rows.y)
    counts = _DIGITS[rows.counts].view(np.uint8).reshape(n, COUNTS, 5)  # -1 is the last: empty
    halves = np.stack([_HEX[rows.words >> 16], _HEX[rows.words & 0xFFFF]], axis=-1)
    halves[rows.words == 0] = 0
    return counts, halves.view(np.uint8).reshape(n, CATEGORIES, 8)


def _before(text: list[bytes], cells: NDArray[np.uint8], always: bool) -> NDArray[np.uint8]:
    """A text before each cell of a column: always, or only where the cell is not missing."""
    n = len(cells)
    width = max(map(len, text))
    each = np.array(text, dtype=f"S{width}").view(np.uint8).reshape(1, len(text), width)
    there = np.ones((n, len(text), 1), bool) if always else cells[:, :, :1] != 0
    return np.concatenate([each * there, cells], axis=2).reshape(n, -1)


def _lines(*parts: NDArray[np.uint8]) -> bytes:
    end = np.full((len(parts[0]), 1), ord("\n"), dtype=np.uint8)
    text = np.concatenate([*parts, end], axis=1)
    return text[text != 0].tobytes()


def _constant(text: bytes, n: int) -> NDArray[np.uint8]:
    return np.broadcast_to(np.frombuffer(text, dtype=np.uint8), (n, len(text)))


HEADER = "\t".join(["click", *NUMBERS, *WORDS]).encode() + b"\n"


def tsv(rows: Clicks) -> bytes:
    """Label, counts and words between tabs; the header is HEADER."""
    counts, words = _cells(rows)
    label = (rows.y[:, None] + ord("0")).astype(np.uint8)
    return _lines(
        label, _before([b"\t"] * COUNTS, counts, True), _before([b"\t"] * CATEGORIES, words, True)
    )


def vw(rows: Clicks) -> bytes:
    """`1 |n n1:3 n2:17 |c c1=68fd1e64`: Vowpal Wabbit's labels are 1 and -1."""
    counts, words = _cells(rows)
    n = len(rows.y)
    label = np.where(
        rows.y[:, None] == 1, np.frombuffer(b"\x001", np.uint8), np.frombuffer(b"-1", np.uint8)
    )
    return _lines(
        label,
        _constant(b" |n", n),
        _before([f" {name}:".encode() for name in NUMBERS], counts, False),
        _constant(b" |c", n),
        _before([f" {name}=".encode() for name in WORDS], words, False),
    )


def write(path: Path, n: int) -> Path:
    """The first n rows, in the format that the name ends in (.tsv or .vw); left alone if it is there."""
    if not path.exists():
        text = {".tsv": tsv, ".vw": vw}[path.suffix]
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            file.write(HEADER if path.suffix == ".tsv" else b"")
            for rows in blocks(n):
                file.write(text(rows))
        partial.rename(path)
    return path


def dicts(rows: Iterable[Clicks]) -> Iterator[tuple[dict[str, Any], int]]:
    """Row by row: a dict of numbers and strings, without what is missing, and the label."""
    for block in rows:
        for y, counts, words in zip(*(part.tolist() for part in block), strict=True):
            x: dict[str, Any] = {k: v for k, v in zip(NUMBERS, counts, strict=True) if v >= 0}
            x |= {k: f"{v:08x}" for k, v in zip(WORDS, words, strict=True) if v}
            yield x, y


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), int(sys.argv[2])))
