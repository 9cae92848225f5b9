"""Texts as counts of known words, or as weights of them by tf-idf."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data.characters import characters
from likelier.data.labels import Factor
from likelier.data.matrix import CSR

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
