"""Documents: columns of text, the characters in them, and counts of known words."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data.labels import Factor
from likelier.data.matrix import CSR, Rows


class Texts(NamedTuple):
    """Texts in UTF-8, one after the other: the i-th from ends[i] to ends[i + 1]."""

    bytes: NDArray[np.uint8]
    ends: NDArray[np.int64]


def strings_of(documents: Any) -> Texts | None:
    """A text column of Arrow, of polars or of pandas (if Arrow holds it) as bytes; None: it is none."""
    column = _arrow(documents)
    if column is None:
        return None
    if column.null_count:
        i = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(
            "np.nan is an invalid document, expected byte or unicode string: document "
            f"{i} is missing. Leave it out, or fill in '', an empty text."
        )
    return texts_in(column)


def _arrow(documents: Any) -> Any:
    """The column as one array of Arrow's strings, or None."""
    if type(documents).__module__.startswith("polars") and hasattr(documents, "to_arrow"):
        documents = documents.to_arrow()
    elif type(documents).__module__.startswith("pandas"):
        held = getattr(documents, "array", None)
        documents = getattr(held, "_pa_array", None)
    if isinstance(documents, pa.ChunkedArray):
        documents = documents.combine_chunks()
    if not isinstance(documents, pa.Array):
        return None
    if pa.types.is_dictionary(documents.type):
        documents = documents.dictionary_decode()
    if pa.types.is_string_view(documents.type):
        documents = documents.cast(pa.large_string())
    known = pa.types.is_string(documents.type) or pa.types.is_large_string(documents.type)
    return documents if known else None


def texts_in(column: Any) -> Texts:
    """The bytes of a column of Arrow's strings; missing ones are empty."""
    kind = np.int32 if pa.types.is_string(column.type) else np.int64
    _, ends, held = column.buffers()
    n, start = len(column), column.offset
    if n == 0:
        return Texts(np.empty(0, np.uint8), np.zeros(1, np.int64))
    found = np.frombuffer(ends, kind)[start : start + n + 1].astype(np.int64)
    data = np.empty(0, np.uint8) if held is None else np.frombuffer(held, np.uint8)
    return Texts(data[found[0] : found[-1]], found - found[0])


@dataclass(frozen=True, slots=True)
class Documents:
    """Rows of one column, of text: a block that vectorisers turn into one of numbers."""

    column: Any  # an array of Arrow's strings

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.column), 1

    @property
    def single(self) -> bool:
        """Text has no precision."""
        return False

    @property
    def row_bytes(self) -> int:
        return max(1, int(self.column.nbytes) // max(1, len(self.column)))

    def rows(self, start: int, stop: int) -> Self:
        return type(self)(self.column.slice(start, stop - start))

    def take(self, rows: Rows) -> Self:
        if isinstance(rows, slice):
            return self.rows(*rows.indices(len(self.column))[:2])
        return type(self)(self.column.take(pa.array(rows)))

    def texts(self) -> Texts:
        """All of them as bytes."""
        return texts_in(self.column)


# Texts as counts of known words, or as weights of them by tf-idf.

WORDS, SHORTEST = 0, 2  # of the core: the unit of terms, and the least characters of one


def analysis() -> "_core.Analysis":
    """How texts are cut into words: in lower case, words of two characters or more."""
    return _core.Analysis(WORDS, 1, 1, SHORTEST, characters(lower=True, accents=None), [])


def learned_words(texts: Sequence[str]) -> tuple[CSR, list[str]]:
    """How often each word stands in each text, and the words, sorted."""
    counts = _core.DocumentCounts(analysis(), None)
    counts.add(list(texts), 1)
    counts.finish()
    documents, _ = counts.totals()
    words = counts.texts(np.ones(len(documents), dtype=np.uint8))
    return _matrix(counts, len(words)), words


def _matrix(counts: Any, p: int) -> CSR:
    values, columns, starts = counts.matrix(np.arange(p, dtype=np.int64), "float64", False, 1)
    return CSR(np.asarray(values, dtype=np.float64), columns, starts.astype(columns.dtype), p)


@dataclass(frozen=True)
class WordsTerm:
    """Known words of a text: counts c, or with `idf` (1 + ln c) idf, of each row the length 1."""

    name: str
    words: NDArray[Any]  # (m,), strings
    idf: Floats | None = None  # (m,)

    @property
    def names(self) -> list[str]:
        return [f"{self.name}: {word}" for word in self.words]

    @cached_property
    def _terms(self) -> "_core.Terms":
        return _core.Terms(self.words.tolist())

    def __getstate__(self) -> dict[str, Any]:
        """What it is made of, not what it has worked out since."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def rows(self, factor: Factor) -> CSR:
        """A row for each text; one that is missing has no words."""
        used, place = np.unique(factor.codes, return_inverse=True)
        texts = ["" if code < 0 else str(factor.levels[code]) for code in used.tolist()]
        counts = _core.DocumentCounts(analysis(), self._terms)
        counts.add(texts, 1)
        counts.finish()
        held = _matrix(counts, len(self.words))
        if self.idf is not None:
            held = _weighted(held, self.idf)
        return held.take(place)


def _weighted(X: CSR, idf: Floats) -> CSR:
    values = (1 + np.log(X.values)) * idf[X.columns]
    sizes = np.diff(X.starts)
    of_row = np.repeat(np.arange(len(sizes)), sizes)
    squares = np.bincount(of_row, values**2, len(sizes))
    return CSR(values / np.sqrt(squares)[of_row], X.columns, X.starts, X.p)


def beside(blocks: Sequence[CSR]) -> CSR:
    """Rows of several blocks side by side."""
    n = blocks[0].shape[0]
    sizes = np.array([np.diff(block.starts) for block in blocks])  # (blocks, n)
    kind: Any = np.int32 if max(sizes.sum(), sum(block.p for block in blocks)) < 2**31 else np.int64
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(sizes.sum(axis=0), out=starts[1:])
    values, columns = np.empty(starts[-1]), np.empty(starts[-1], dtype=kind)
    begin, shift = starts[:-1].copy(), 0
    for block, size in zip(blocks, sizes, strict=True):
        at = np.repeat(begin - block.starts[:-1], size) + np.arange(len(block.values))
        values[at], columns[at] = block.values, block.columns + shift
        begin += size
        shift += block.p
    return CSR(values, columns, starts.astype(kind), shift)


# What this Python knows of characters, as tables for the native core.

CODE_POINTS = 0x110000
WORD, SPACE, CASED, CASE_IGNORABLE = 1, 2, 4, 8
# In lower case the first is two characters, and the second depends on its neighbours.
DOTTED_I, CAPITAL_SIGMA = "\u0130", "\u03a3"


@cache
def characters(*, lower: bool, accents: str | None) -> _core.Characters:
    """Tables that lower the case and strip accents ("unicode", "ascii" or None), as scikit-learn does."""
    before = _every_character()
    after = _lowered() if lower else before
    if accents is not None:
        after = _stripped(after, accents)
    changed = [code for code, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    return _core.Characters(
        _flags(),
        np.array(changed, np.uint32),
        np.cumsum([len(after[code]) for code in changed], dtype=np.int64),
        _codes("".join([after[code] for code in changed])),
        lower,
    )


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _text(codes: NDArray[np.uint32]) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _every_character() -> str:
    """All of them; surrogates too, which are no part of words and no spaces."""
    return _text(np.arange(CODE_POINTS, dtype=np.uint32))


@cache
def _flags() -> NDArray[np.uint8]:
    """For each code point: is it part of words, a space, cased, or ignored where case is looked at?"""
    flags = np.zeros(CODE_POINTS, np.uint8)
    for what, pattern in ((WORD, r"\w+"), (SPACE, r"\s+")):
        for run in re.finditer(pattern, _every_character()):
            flags[run.start() : run.end()] |= what
    cased = _before_sigma("\n")
    flags[cased] |= CASED
    flags[_before_sigma("A") & ~cased] |= CASE_IGNORABLE
    return flags


def _before_sigma(first: str) -> NDArray[np.bool_]:
    """For each code point, whether a capital sigma after `first` and it becomes a final one.

    Python does not say which characters are cased or ignorable, but that sigma depends on it.
    """
    lines = np.empty((CODE_POINTS, 4), np.uint32)
    lines[:] = [ord(first), 0, ord(CAPITAL_SIGMA), ord("\n")]
    lines[:, 1] = np.arange(CODE_POINTS)
    lines[ord(DOTTED_I), 1] = ord("I")  # as cased, and of one character
    final: NDArray[np.bool_] = _codes(_text(lines.ravel()).lower())[2::4] == ord("\u03c2")
    return final


def _lowered() -> list[str]:
    """Each character in lower case."""
    lowered = list(_every_character().replace(DOTTED_I, "I").replace(CAPITAL_SIGMA, "\u03c3").lower())
    lowered[ord(DOTTED_I)] = DOTTED_I.lower()
    return lowered


def _stripped(texts: Sequence[str], accents: str) -> list[str]:
    """What scikit-learn's `strip_accents_unicode` or `strip_accents_ascii` make of each."""
    normal = unicodedata.normalize("NFKD", "\0".join(texts)).split("\0")
    normal[0:2] = ["\0"]  # which is itself among the characters
    if accents == "ascii":
        return [text if text.isascii() else text.encode("ascii", "ignore").decode() for text in normal]
    marks = {c for c in _every_character() if unicodedata.combining(c)}
    return [
        text if text not in marks and len(text) == 1 else "".join([c for c in text if c not in marks])
        for text in normal
    ]
