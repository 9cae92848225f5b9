"""Vectorisers over sources: a vocabulary as a State, and documents that become numbers as they are read."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from likelier import _core
from likelier.data import Chunk, Part, Stored
from likelier.data import block as block_of
from likelier.data.documents import Documents, Texts
from likelier.data.transforms import Wrapped
from likelier.engines import run
from likelier.estimators.text.counting import TermList, analysis_of


def documents_of(vectorizer: Any, source: Stored) -> Stored:
    """A source of documents, or an error that says how to make one."""
    roles = getattr(source, "roles", None)
    if not getattr(roles, "text", False):
        raise ValueError(
            f"{type(vectorizer).__name__} takes documents, and this source is a table: name its column of "
            "text, as in scan(path, text='body', target='label')."
        )
    if vectorizer.input != "content":
        raise ValueError(
            f"a source holds the documents themselves: input='content'; got {vectorizer.input!r}."
        )
    return source


@dataclass
class Vocabulary:
    """The terms of documents: how many documents have each, and how often they do. A State.

    Whatever the documents come in, chunks, files or partitions, the terms and their numbers are the same.
    """

    vectorizer: Any  # which says how documents are cut
    terms: TermList = field(default_factory=lambda: TermList(np.empty(0, np.uint8), np.zeros(1, np.int64)))
    documents: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    times: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    rows: int = 0
    _counts: Any = field(default=None, repr=False)

    @classmethod
    def start(cls, vectorizer: Any) -> Self:
        return cls(vectorizer)

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        return dict(vars(self))

    @property
    def nbytes(self) -> int:
        return self.terms.bytes.nbytes + 24 * len(self.terms)

    def update(self, chunk: Chunk) -> None:
        assert isinstance(chunk.X, Documents)
        self.add(chunk.X)

    def add(self, documents: Documents, threads: int = 1) -> None:
        """Count the terms of these."""
        if self._counts is None:
            analysis = analysis_of(self.vectorizer)
            if analysis is None:
                self._join(*_in_python(self.vectorizer, documents))
                return
            self._counts = _core.DocumentCounts(analysis, None, False)
        texts = documents.texts()
        self._counts.add_utf8(texts.bytes, texts.ends, threads)

    def merge(self, other: Self) -> None:
        self.settle()
        other.settle()
        self._join(other.terms, other.documents, other.times, other.rows)

    def settle(self) -> Self:
        """Sort what was counted last into what was counted before."""
        if self._counts is not None:
            self._counts.finish()
            documents, times = self._counts.totals()
            terms = TermList(*self._counts.terms(np.ones(len(times), np.uint8)))
            rows, self._counts = self._counts.rows, None
            self._join(terms, documents, times, rows)
        return self

    def _join(
        self, terms: TermList, documents: NDArray[np.int64], times: NDArray[np.int64], rows: int
    ) -> None:
        if len(self.terms) == 0:
            self.terms, self.documents, self.times = terms, documents, times
        elif len(terms):
            held, ends, ours, theirs = _core.joined_terms(
                self.terms.bytes, self.terms.ends, terms.bytes, terms.ends
            )
            self.terms = TermList(held, ends)
            self.documents = _added(len(ends) - 1, (ours, self.documents), (theirs, documents))
            self.times = _added(len(ends) - 1, (ours, self.times), (theirs, times))
        self.rows += rows

    def only(self, keep: NDArray[np.bool_]) -> TermList:
        """Some of the terms."""
        texts = self.terms.bytes, self.terms.ends
        if keep.all():
            return TermList(*texts)
        sizes = np.diff(self.terms.ends)
        inside = np.repeat(keep, sizes)
        return TermList(texts[0][inside], np.concatenate([[0], np.cumsum(sizes[keep])]))


def _added(n: int, *pieces: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.int64]:
    total = np.zeros(n, np.int64)
    for places, counts in pieces:
        total[places] += counts
    return total


def _in_python(vectorizer: Any, documents: Documents) -> tuple[TermList, Any, Any, int]:
    """The same by an analyzer of Python."""
    analyze, times, held = vectorizer.build_analyzer(), Counter[str](), Counter[str]()
    texts = documents.column.to_pylist()
    for text in texts:
        found = Counter(analyze(text))
        times.update(found)
        held.update(found.keys())
    names = sorted(times)
    strings = texts_of(names)
    counts = (np.array([of[name] for name in names], np.int64) for of in (held, times))
    return TermList(*strings), *counts, len(texts)  # type: ignore[return-value]


def texts_of(names: Sequence[str]) -> Texts:
    """Strings as bytes."""
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.concatenate([[0], np.cumsum([len(one) for one in encoded], dtype=np.int64)]).astype(np.int64)
    return Texts(np.frombuffer(b"".join(encoded), np.uint8), ends)


def vocabulary_of(vectorizer: Any, source: Stored) -> Vocabulary:
    """The terms of all documents of a source, from one pass."""
    documents = documents_of(vectorizer, source)
    rows = documents.taking([str(name) for name in documents.names], y=False)  # type: ignore[union-attr]
    found: Vocabulary = run(rows, partial(Vocabulary.start, clone(vectorizer)))
    return found.settle()


@dataclass(frozen=True)
class Vectorized(Wrapped):
    """The documents of a source as rows of numbers, made as they are read."""

    vectorizer: Any
    width: int

    @property
    def p(self) -> int:
        """The number of columns: terms, or hashes of terms."""
        return self.width

    @property
    def names(self) -> None:
        return None

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the columns of y."""
        found: tuple[str, ...] = self.source.targets  # type: ignore[attr-defined]
        return found

    @property
    def sparse(self) -> bool:
        """Most cells are 0: their number says little of memory."""
        return True

    def taking(self, features: Sequence[Any], *, y: bool) -> Any:
        """The same rows with all columns or none as X, with or without y and weights."""
        if len(features) not in (0, self.p):
            raise ValueError("columns of a vectorised source have no names, so they cannot be selected.")
        held: Any = self.source
        text = [str(name) for name in held.names]
        return replace(self, source=held.taking(text, y=y)) if len(features) else held.taking([], y=y)

    def partly(self) -> Self:
        """The same rows, of which some may lack a label."""
        return replace(self, source=self.source.partly())  # type: ignore[attr-defined]

    def others(self, columns: Sequence[str]) -> Mapping[str, str]:
        """All columns are numbers."""
        return {}

    def texts(self, columns: Sequence[str]) -> frozenset[str]:
        return frozenset()

    def categorised(self, columns: Collection[str]) -> Self:
        return self

    def worded(self) -> Self:
        return self

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(X=self._rows(chunk.X)) if isinstance(chunk.X, Documents) else chunk

    def _rows(self, X: Documents) -> Any:
        column = X.column
        if not len(column):
            return block_of(self.vectorizer.transform([""])).rows(0, 0)
        return block_of(self.vectorizer.transform(column))
