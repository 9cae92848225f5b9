"""scikit-learn's vectorizers of documents, with cutting, counting and hashing done in the native core.

Parameters, matrices and names of features are scikit-learn's, cell for cell. What the core does not know (a
tokenizer, preprocessor, analyzer or pattern of one's own) is left to scikit-learn's Python.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.feature_extraction import text as peer
from sklearn.preprocessing import normalize

from likelier import _core
from likelier.estimators.text.characters import characters
from likelier.threads import cores

BATCH = 8192  # documents that are encoded at a time
UNITS = {"word": 0, "char": 1, "char_wb": 2}
SHORTEST = {r"(?u)\b\w\w+\b": 2, r"(?u)\b\w+\b": 1}  # characters of a word, by the pattern that says so
# Whoever overrides one of these wants it to be called.
STEPS = ("build_analyzer", "build_preprocessor", "build_tokenizer", "decode", "get_stop_words")
NO_STRING = "Iterable over raw text documents expected, string object received."


def _analysis(vectorizer: Any) -> "_core.Analysis | None":
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
        least,
        most,
        SHORTEST.get(v.token_pattern, 1),
        characters(lower=bool(v.lowercase), accents=v.strip_accents),
        sorted(word for word in ignored or () if isinstance(word, str)),
    )


def _batches(vectorizer: Any, documents: Iterable[Any]) -> Iterator[list[str]]:
    """The documents as strings, some thousands at a time."""
    rest = iter(documents)
    while batch := list(islice(rest, BATCH)):
        if vectorizer.input != "content" or not all(type(document) is str for document in batch):
            batch = [_string(vectorizer, document) for document in batch]
        yield batch


def _string(vectorizer: Any, document: Any) -> str:
    decoded = vectorizer.decode(document)
    if not isinstance(decoded, str):
        raise AttributeError(f"{type(decoded).__name__!r} object has no attribute 'lower'")
    return str(decoded)


class CountVectorizer(peer.CountVectorizer):
    """Documents as counts of their terms: words, runs of words, or runs of characters.

    Drop-in for scikit-learn's class: the same parameters, the same matrix, the same names of features. The
    columns of each row are in rising order.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What the documents are handed in as: texts, names of files, or open files.
    encoding : str, default="utf-8"
        How bytes are decoded.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What happens to bytes that cannot be decoded.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Remove accents: "ascii" leaves ASCII alone, "unicode" drops combining marks.
    lowercase : bool, default=True
        Whether texts are lowered before they are cut.
    preprocessor : callable, default=None
        In place of `strip_accents` and `lowercase`; Python is called for every document.
    tokenizer : callable, default=None
        In place of `token_pattern`; Python is called for every document.
    stop_words : {"english"} or list, default=None
        Words that do not count.
    token_pattern : str or None, default=r"(?u)\\b\\w\\w+\\b"
        What a word is. Other patterns than this one and r"(?u)\\b\\w+\\b" are left to Python.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        How many words, or characters, a term has.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Whether terms are words, runs of characters, or runs of characters within words.
    max_df : float or int, default=1.0
        Leave out terms in more documents than this share, or number, of them.
    min_df : float or int, default=1
        Leave out terms in fewer documents than this share, or number, of them.
    max_features : int, default=None
        Keep that many terms at most: the most frequent.
    vocabulary : mapping or iterable, default=None
        Terms that are known beforehand; None: those of the documents.
    binary : bool, default=False
        Whether a term counts once in a document.
    dtype : dtype, default=np.int64
        Of the matrix.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.

    Examples
    --------
    >>> import likelier as lk
    >>> counts = lk.CountVectorizer()
    >>> counts.fit_transform(["rain and wind", "sun and sun"]).toarray()
    array([[1, 1, 0, 1],
           [1, 0, 2, 0]])
    >>> counts.get_feature_names_out().tolist()
    ['and', 'rain', 'sun', 'wind']
    """

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and count its terms.

        Parameters
        ----------
        raw_documents : iterable
            The documents, as `input` says: strings, file names or open files.
        y : None, default=None
            Ignored; it is here for pipelines.

        Returns
        -------
        sparse matrix of shape (n_documents, n_terms)
            The counts.

        Raises
        ------
        ValueError
            If no term is left.
        """
        if isinstance(raw_documents, str):
            raise ValueError(NO_STRING)
        self._validate_params()
        self._validate_ngram_range()
        analysis = None if self.vocabulary is not None else _analysis(self)
        if analysis is None:  # a vocabulary that is given needs nothing but its checks, and `transform`
            return super().fit_transform(raw_documents, y)
        self._warn_for_unused_params()
        self._validate_vocabulary()
        counts = _counted(self, analysis, None, raw_documents)
        documents, times = counts.totals()
        if not len(documents):
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        keep = _kept(self, documents, documents if self.binary else times, counts.rows)
        X = _matrix(counts, np.where(keep, np.cumsum(keep) - 1, -1), int(keep.sum()), self)
        self.vocabulary_ = {term: j for j, term in enumerate(counts.texts(keep.view(np.uint8)))}
        return X

    def fit(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary.

        Parameters
        ----------
        raw_documents : iterable
            The documents, as `input` says: strings, file names or open files.
        y : None, default=None
            Ignored; it is here for pipelines.

        Returns
        -------
        CountVectorizer
            The vectorizer itself.
        """
        self.fit_transform(raw_documents)
        return self

    def _count_vocab(self, raw_documents: Any, fixed_vocab: bool) -> Any:
        """Count the terms of a vocabulary that is known; scikit-learn calls this in `transform`."""
        analysis = _analysis(self) if fixed_vocab else None
        if analysis is None or not all(type(term) is str for term in self.vocabulary_):
            return super()._count_vocab(raw_documents, fixed_vocab)
        counts = _counted(self, analysis, _core.Terms(list(self.vocabulary_)), raw_documents)
        columns = np.fromiter(self.vocabulary_.values(), np.int64, len(self.vocabulary_))
        return self.vocabulary_, _matrix(counts, columns, len(columns), self)


def _counted(vectorizer: Any, analysis: "_core.Analysis", vocabulary: Any, documents: Any) -> Any:
    counts = _core.DocumentCounts(analysis, vocabulary)
    for batch in _batches(vectorizer, documents):
        counts.add(batch, cores())
    counts.finish()
    return counts


def _kept(
    vectorizer: Any, documents: NDArray[np.int64], times: NDArray[np.int64], rows: int
) -> NDArray[np.bool_]:
    """Which terms are in so many documents as are asked for, and often enough."""
    most, least = (
        share if isinstance(share, int | np.integer) else share * rows
        for share in (vectorizer.max_df, vectorizer.min_df)
    )
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


def _matrix(counts: Any, columns: NDArray[np.int64], width: int, vectorizer: Any) -> Any:
    dtype = np.dtype(vectorizer.dtype)
    values, indices, starts = counts.matrix(columns, dtype.name, bool(vectorizer.binary), cores())
    # A view where the bytes are right: the core's int64 is another of C's types than NumPy's.
    same = values.view(dtype) if values.dtype == dtype else values.astype(dtype)
    return _sparse(same, indices, starts, width)


def _sparse(values: Any, indices: Any, starts: Any, width: int) -> Any:
    arrays = get_config().get("sparse_interface") == "sparray"
    X = (sparse.csr_array if arrays else sparse.csr_matrix)((len(starts) - 1, width), dtype=values.dtype)
    X.data, X.indices, X.indptr = values, indices, starts
    X.has_sorted_indices = X.has_canonical_format = True
    return X


class HashingVectorizer(peer.HashingVectorizer):
    """Documents as counts of the hashes of their terms: nothing is learned, and nothing is kept.

    Drop-in for scikit-learn's class: the same parameters, and every term in the same column.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What the documents are handed in as: texts, names of files, or open files.
    encoding : str, default="utf-8"
        How bytes are decoded.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What happens to bytes that cannot be decoded.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Remove accents: "ascii" leaves ASCII alone, "unicode" drops combining marks.
    lowercase : bool, default=True
        Whether texts are lowered before they are cut.
    preprocessor : callable, default=None
        In place of `strip_accents` and `lowercase`; Python is called for every document.
    tokenizer : callable, default=None
        In place of `token_pattern`; Python is called for every document.
    stop_words : {"english"} or list, default=None
        Words that do not count.
    token_pattern : str or None, default=r"(?u)\\b\\w\\w+\\b"
        What a word is. Other patterns than this one and r"(?u)\\b\\w+\\b" are left to Python.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        How many words, or characters, a term has.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Whether terms are words, runs of characters, or runs of characters within words.
    n_features : int, default=2**20
        Columns. Terms whose hashes fall into one column share it.
    binary : bool, default=False
        Whether every cell that is not empty is 1.
    norm : {"l1", "l2"}, default="l2"
        The norm that each row is divided by; None: none.
    alternate_sign : bool, default=True
        Whether half of the terms count as -1, so that terms that share a column cancel on average.
    dtype : dtype, default=np.float64
        Of the matrix.

    Examples
    --------
    >>> import likelier as lk
    >>> lk.HashingVectorizer(n_features=2**10, norm=None).transform(["rain and wind", "sun"]).nnz
    4
    """

    def transform(self, X: Any) -> Any:
        """Count the terms of documents, in columns that are chosen by the hashes of the terms.

        Parameters
        ----------
        X : iterable
            The documents, as `input` says: strings, file names or open files.

        Returns
        -------
        sparse matrix of shape (n_documents, n_features)
            The counts, divided by the norm of each row.
        """
        if isinstance(X, str):
            raise ValueError(NO_STRING)
        self._validate_ngram_range()
        analysis = _analysis(self)
        if analysis is None:
            return super().transform(X)
        found = []
        for batch in _batches(self, X):
            try:
                part = _core.hash_documents(
                    analysis, batch, self.n_features, bool(self.alternate_sign), cores()
                )
            except UnicodeEncodeError:  # scikit-learn's is about the term, not the document
                return super().transform(batch)
            found.append(part)
        values = np.concatenate([np.zeros(0, np.int32), *(part[0] for part in found)]).astype(self.dtype)
        if self.binary:
            values.fill(1)
        indices = np.concatenate([np.zeros(0, np.int32), *(part[1] for part in found)])
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part[2], prepend=0) for part in found)])
        starts = np.cumsum(sizes)
        if starts[-1] <= np.iinfo(np.int32).max:
            starts = starts.astype(np.int32)
        else:
            indices = indices.astype(np.int64)
        rows = _sparse(values, indices, starts, self.n_features)
        return rows if self.norm is None else normalize(rows, norm=self.norm, copy=False)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The same as `transform`: there is nothing to learn.

        Parameters
        ----------
        X : iterable
            The documents, as `input` says: strings, file names or open files.
        y : None, default=None
            Ignored; it is here for pipelines.

        Returns
        -------
        sparse matrix of shape (n_documents, n_features)
            The counts, divided by the norm of each row.
        """
        return self.fit(X, y).transform(X)


class TfidfTransformer(peer.TfidfTransformer, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Counts of terms, weighted by how few documents have them. Drop-in for scikit-learn's class.

    Parameters
    ----------
    norm : {"l1", "l2"} or None, default="l2"
        The norm that each row is divided by.
    use_idf : bool, default=True
        Whether counts are multiplied by ln(n / df) + 1: n documents, of which df have the term.
    smooth_idf : bool, default=True
        Whether n and df are one more each, as if one more document had every term.
    sublinear_tf : bool, default=False
        Whether a count c becomes 1 + ln c.

    Attributes
    ----------
    idf_ : ndarray of shape (n_features,)
        What the counts of each column are multiplied by.
    n_features_in_ : int
        Columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, if the matrix was a frame.
    """


class TfidfVectorizer(peer.TfidfVectorizer, CountVectorizer):
    """Documents as counts of their terms, weighted by how few documents have them.

    Drop-in for scikit-learn's class: the same parameters, the same matrix, the same names of features. The
    same as `CountVectorizer` and `TfidfTransformer`, one after the other.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What the documents are handed in as: texts, names of files, or open files.
    encoding : str, default="utf-8"
        How bytes are decoded.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What happens to bytes that cannot be decoded.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Remove accents: "ascii" leaves ASCII alone, "unicode" drops combining marks.
    lowercase : bool, default=True
        Whether texts are lowered before they are cut.
    preprocessor : callable, default=None
        In place of `strip_accents` and `lowercase`; Python is called for every document.
    tokenizer : callable, default=None
        In place of `token_pattern`; Python is called for every document.
    stop_words : {"english"} or list, default=None
        Words that do not count.
    token_pattern : str or None, default=r"(?u)\\b\\w\\w+\\b"
        What a word is. Other patterns than this one and r"(?u)\\b\\w+\\b" are left to Python.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        How many words, or characters, a term has.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Whether terms are words, runs of characters, or runs of characters within words.
    max_df : float or int, default=1.0
        Leave out terms in more documents than this share, or number, of them.
    min_df : float or int, default=1
        Leave out terms in fewer documents than this share, or number, of them.
    max_features : int, default=None
        Keep that many terms at most: the most frequent.
    vocabulary : mapping or iterable, default=None
        Terms that are known beforehand; None: those of the documents.
    binary : bool, default=False
        Whether a term counts once in a document.
    dtype : dtype, default=np.float64
        Of the matrix.
    norm : {"l1", "l2"} or None, default="l2"
        The norm that each row is divided by.
    use_idf : bool, default=True
        Whether counts are multiplied by ln(n / df) + 1: n documents, of which df have the term.
    smooth_idf : bool, default=True
        Whether n and df are one more each, as if one more document had every term.
    sublinear_tf : bool, default=False
        Whether a count c becomes 1 + ln c.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    idf_ : ndarray of shape (n_features,)
        What the counts of each term are multiplied by.

    Examples
    --------
    >>> import likelier as lk
    >>> words = lk.TfidfVectorizer()
    >>> words.fit_transform(["rain and wind", "sun and sun"]).shape
    (2, 4)
    >>> words.idf_.round(3).tolist()
    [1.0, 1.405, 1.405, 1.405]
    """
