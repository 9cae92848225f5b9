"""Documents to the native core: how they are cut and handed over, and which terms are kept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.feature_extraction import text as peer

from likelier import _core
from likelier.data.documents import Texts, characters, strings_of
from likelier.threads import cores

BATCH = 8192  # documents that are handed over at a time
UNITS = {"word": 0, "char": 1, "char_wb": 2}
SHORTEST = {r"(?u)\b\w\w+\b": 2, r"(?u)\b\w+\b": 1}  # characters of a word, by the pattern that says so
# Whoever overrides one of these wants it to be called.
STEPS = ("build_analyzer", "build_preprocessor", "build_tokenizer", "decode", "get_stop_words")
NO_STRING = "Iterable over raw text documents expected, string object received."


def analysis_of(vectorizer: Any) -> "_core.Analysis | None":
    """How the core cuts documents for it; None: scikit-learn has to do it."""
    v = vectorizer
    least, most = v.ngram_range
    plain = (
        isinstance(v.analyzer, str)
        and v.preprocessor is None
        and (v.analyzer != "word" or (v.tokenizer is None and v.token_pattern in SHORTEST))
        and v.strip_accents in (None, "ascii", "unicode")
        and least >= 1
        and all(getattr(type(v), name) is getattr(peer.CountVectorizer, name) for name in STEPS)
    )
    if not plain:
        return None
    v.build_analyzer()  # which warns of stop words that cannot be found
    ignored = v.get_stop_words() if v.analyzer == "word" else None
    return _core.Analysis(
        UNITS[v.analyzer],
        index(least),
        index(most),
        SHORTEST.get(v.token_pattern, 1),
        characters(lower=bool(v.lowercase), accents=v.strip_accents),
        sorted(word for word in ignored or () if isinstance(word, str)),
    )


def batches(vectorizer: Any, documents: Iterable[Any]) -> Iterator[list[str] | Texts]:
    """The documents as strings, some thousands at a time; text columns of Arrow as they are."""
    if vectorizer.input == "content":
        texts = strings_of(documents)
        if texts is not None:
            yield texts
            return
    if isinstance(documents, np.ndarray) and documents.dtype.kind == "U" and documents.ndim == 1:
        documents = documents.tolist()
    rest = iter(documents)
    while batch := list(islice(rest, BATCH)):
        if vectorizer.input != "content" or not all(type(document) is str for document in batch):
            batch = [_string(vectorizer, document) for document in batch]
        yield batch


def _string(vectorizer: Any, document: Any) -> str:
    decoded = vectorizer.decode(document)
    if isinstance(decoded, bytearray):
        raise TypeError("cannot use a string pattern on a bytes-like object: pass bytes(document).")
    if not isinstance(decoded, str):
        raise AttributeError(f"{type(decoded).__name__!r} object has no attribute 'lower'")
    return str(decoded)


def counted(
    vectorizer: Any, analysis: "_core.Analysis", vocabulary: "_core.Terms | None", documents: Any
) -> "_core.DocumentCounts":
    """How often each document has each term."""
    counts = _core.DocumentCounts(analysis, vocabulary)
    for batch in batches(vectorizer, documents):
        if isinstance(batch, Texts):
            counts.add_utf8(batch.bytes, batch.ends, cores())
        else:
            counts.add(batch, cores())
    counts.finish()
    return counts


@dataclass
class TermList:
    """Terms in the order of their columns, one after the other; a table of them when it is needed."""

    bytes: NDArray[np.uint8]
    ends: NDArray[np.int64]
    _table: "_core.Terms | None" = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_table": None}

    @property
    def table(self) -> "_core.Terms":
        """What documents are looked up in."""
        if self._table is None:
            self._table = _core.Terms(self.bytes, self.ends)
        return self._table

    def columns(self) -> dict[str, int]:
        """The column of each term."""
        return _core.columns_by_term(self.bytes, self.ends)


def kept(
    vectorizer: Any, documents: NDArray[np.int64], times: NDArray[np.int64], rows: int
) -> NDArray[np.bool_]:
    """Which terms are in so many documents as are asked for, and often enough."""
    most, least = (
        share if isinstance(share, int | np.integer) else share * rows
        for share in (vectorizer.max_df, vectorizer.min_df)
    )
    if not len(documents):
        raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
    if most < least:
        raise ValueError("max_df corresponds to < documents than min_df")
    keep: NDArray[np.bool_] = (documents <= most) & (documents >= least)
    limit = vectorizer.max_features
    if limit is not None and keep.sum() > limit:
        often = (-times[keep]).argsort()[:limit]  # ties fall as in scikit-learn, by the same sort
        keep[np.delete(np.flatnonzero(keep), often)] = False
    if not keep.any():
        raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
    return keep


def matrix(counts: "_core.DocumentCounts", columns: Any, width: int, vectorizer: Any, threads: int) -> Any:
    """The counts as a sparse matrix; columns: of each term its column, -1: it is left out."""
    dtype = np.dtype(vectorizer.dtype)
    found = counts.matrix(columns, dtype.name, bool(vectorizer.binary), threads)
    return as_sparse(_of_type(found[0], dtype), found[1], found[2], width)


def hashed(documents: "_core.HashedDocuments", vectorizer: Any, threads: int) -> Any:
    """Hashed counts as a sparse matrix, rows divided by their norm."""
    dtype, norm = np.dtype(vectorizer.dtype), vectorizer.norm
    native = dtype.name in ("float64", "float32")
    found = documents.matrix(dtype.name, bool(vectorizer.binary), (norm or "") * native, threads)
    if dtype.kind == "u" and (found[0] < 0).any():
        raise OverflowError(f"Python integer -1 out of bounds for {dtype}: pass alternate_sign=False.")
    rows = as_sparse(_of_type(found[0], dtype), found[1], found[2], vectorizer.n_features)
    return rows if native or norm is None else peer.normalize(rows, norm=norm, copy=False)


def _of_type(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """A view where the bytes are right: the core's int64 is another of C's types than NumPy's."""
    return values.view(dtype) if values.dtype == dtype else values.astype(dtype)


def as_sparse(values: Any, indices: Any, starts: Any, width: int) -> Any:
    """A sparse matrix of the kind that scikit-learn is set to, whose rows are sorted."""
    arrays = get_config().get("sparse_interface") == "sparray"
    X = (sparse.csr_array if arrays else sparse.csr_matrix)((len(starts) - 1, width), dtype=values.dtype)
    X.data, X.indices, X.indptr = values, indices, starts
    X.has_sorted_indices = X.has_canonical_format = True
    return X
