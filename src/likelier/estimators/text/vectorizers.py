"""scikit-learn's vectorisers of documents, with cutting, counting and hashing done in the native core.

Parameters, matrices and names of features are scikit-learn's, cell for cell. What the core does not know (a
custom tokenizer, preprocessor, analyzer or pattern) is left to scikit-learn's Python.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import text as peer
from sklearn.utils.validation import check_is_fitted, validate_data

from likelier import _core
from likelier.data.documents import Texts
from likelier.estimators.sources import stored
from likelier.estimators.text.counting import (
    NO_STRING,
    TermList,
    analysis_of,
    batches,
    counted,
    hashed,
    kept,
    matrix,
)
from likelier.estimators.text.streaming import Vectorized, documents_of, texts_of, vocabulary_of
from likelier.estimators.to_sklearn import to_sklearn
from likelier.threads import cores


class CountVectorizer(peer.CountVectorizer):
    """Documents as counts of their terms: words, runs of words, or runs of characters.

    Drop-in for scikit-learn's class: the same parameters, the same matrix, the same names of features. The
    columns of each row are in rising order.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What the documents are passed as: texts, names of files, or open files.
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

    to_sklearn = to_sklearn

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
        if stored(raw_documents):
            return self.fit(raw_documents).transform(raw_documents)
        self._validate_params()
        self._validate_ngram_range()
        analysis = None if self.vocabulary is not None else analysis_of(self)
        if analysis is None:  # a vocabulary that is given needs nothing but its checks, and `transform`
            return super().fit_transform(raw_documents, y)
        self._warn_for_unused_params()
        self._validate_vocabulary()
        counts = counted(self, analysis, None, raw_documents)
        documents, times = counts.totals()
        keep = kept(self, documents, documents if self.binary else times, counts.rows)
        terms = TermList(*counts.terms(keep.view(np.uint8)))
        X = matrix(counts, np.where(keep, np.cumsum(keep) - 1, -1), len(terms), self, cores())
        self._learned(terms)
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
            The vectoriser itself.
        """
        if stored(raw_documents):
            self._learn_of(raw_documents)
        else:
            self.fit_transform(raw_documents)
        return self

    def transform(self, raw_documents: Any) -> Any:
        """Count the terms of the vocabulary.

        Parameters
        ----------
        raw_documents : iterable or source
            The documents, as `input` says: strings, file names or open files; or a source of documents.

        Returns
        -------
        sparse matrix of shape (n_documents, n_terms) or source
            The counts; of a source, one that counts them as it is read.
        """
        if not stored(raw_documents):
            return super().transform(raw_documents)
        self._check_vocabulary()
        return Vectorized(documents_of(self, raw_documents), self, self._width())

    def _learn_of(self, source: Any) -> tuple[Any, int]:
        """Find the vocabulary of a source; how many documents have each of its terms, and all documents."""
        self._validate_params()
        self._validate_ngram_range()
        self._warn_for_unused_params()
        self._validate_vocabulary()
        found = vocabulary_of(self, source)
        if self.fixed_vocabulary_:
            known = self.vocabulary_
            counts = np.zeros(len(known), np.int64)
            held = found.terms.columns()
            for term, column in known.items():
                counts[column] = found.documents[held[term]] if term in held else 0
            return counts, found.rows
        keep = kept(self, found.documents, found.documents if self.binary else found.times, found.rows)
        self._learned(found.only(keep))
        return found.documents[keep], found.rows

    def _width(self) -> int:
        terms = vars(self).get("_terms")
        return len(self.vocabulary_ if terms is None else terms)

    # ---- the vocabulary: a dict once somebody asks for it -------------------------------------------
    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term."""
        held = self.__dict__
        if "_vocabulary" not in held:
            if "_terms" not in held:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute 'vocabulary_'")
            held["_vocabulary"] = held["_terms"].columns()
        found: dict[str, int] = held["_vocabulary"]
        return found

    @vocabulary_.setter
    def vocabulary_(self, columns: dict[str, int]) -> None:
        self.__dict__.pop("_terms", None)
        self.__dict__["_vocabulary"] = columns

    @vocabulary_.deleter
    def vocabulary_(self) -> None:
        for name in ("_terms", "_vocabulary"):
            self.__dict__.pop(name, None)

    def _learned(self, terms: TermList) -> None:
        """Become fitted."""
        del self.vocabulary_
        self.__dict__["_terms"] = terms

    def _terms_in_order(self) -> TermList:
        """The terms by their columns."""
        terms: TermList | None = vars(self).get("_terms")
        if terms is None:
            terms = TermList(*texts_of(sorted(self.vocabulary_, key=self.vocabulary_.__getitem__)))
        return terms

    def _known(self) -> "tuple[_core.Terms, Any]":
        """The table of the vocabulary, and the column of each of its terms."""
        held = vars(self)
        terms, columns = held.get("_terms"), held.get("_vocabulary")
        if terms is not None and (columns is None or len(columns) == len(terms)):
            return terms.table, np.arange(len(terms))
        columns = self.vocabulary_
        return _core.Terms(list(columns)), np.fromiter(columns.values(), np.int64, len(columns))

    def _check_vocabulary(self) -> None:
        """scikit-learn's check, without a dict that nobody has asked for."""
        if "_terms" not in vars(self):
            super()._check_vocabulary()

    def _count_vocab(self, raw_documents: Any, fixed_vocab: bool) -> Any:
        """Count the terms of a vocabulary that is known; scikit-learn calls this in `transform`."""
        analysis = analysis_of(self) if fixed_vocab else None
        own = "_terms" in vars(self)
        if analysis is None or not (own or all(type(term) is str for term in self.vocabulary_)):
            return super()._count_vocab(raw_documents, fixed_vocab)
        table, columns = self._known()
        counts = counted(self, analysis, table, raw_documents)
        return None, matrix(counts, columns, len(columns), self, cores())


class HashingVectorizer(peer.HashingVectorizer):
    """Documents as counts of the hashes of their terms: nothing is learned, and nothing is kept.

    Drop-in for scikit-learn's class: the same parameters, and every term in the same column.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What the documents are passed as: texts, names of files, or open files.
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

    to_sklearn = to_sklearn

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
        if stored(X):
            return Vectorized(documents_of(self, X), self, self.n_features)
        analysis = analysis_of(self)
        if analysis is None:
            return super().transform(X)
        found = _core.HashedDocuments(analysis, self.n_features, bool(self.alternate_sign))
        for batch in batches(self, X):
            if isinstance(batch, Texts):
                found.add_utf8(batch.bytes, batch.ends, cores())
                continue
            try:
                # Words have no lone surrogates; runs of characters that have some cannot be hashed.
                found.add(batch, self.analyzer != "word", cores())
            except UnicodeEncodeError:  # scikit-learn's is about the term, not the document
                return super().transform(batch)
        return hashed(found, self, cores())

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

    to_sklearn = to_sklearn

    def transform(self, X: Any, copy: bool = True) -> Any:
        """Weigh counts.

        Parameters
        ----------
        X : sparse matrix of shape (n_samples, n_features)
            Counts of terms.
        copy : bool, default=True
            Whether X is left as it is; False works on its own values, where X is a CSR matrix of floats.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            The weights.
        """
        check_is_fitted(self)
        idf = getattr(self, "idf_", None)
        found = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], copy=copy, reset=False
        )
        if not hasattr(found, "indptr") or (idf is not None and idf.dtype != found.dtype):
            return super().transform(X, copy=copy)
        weighed = self._weighed(found)
        as_set: Callable[[Any], Any] = getattr(peer, "_align_api_if_sparse", lambda X: X)
        return as_set(weighed)

    def _learn(self, documents: Any, rows: int, dtype: Any) -> None:
        """Become fitted to counts that were made before: of `rows` documents, so many have each term."""
        dtype = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)
        df = documents.astype(dtype) + dtype.type(self.smooth_idf)
        self.idf_ = np.log(np.full_like(df, rows + int(self.smooth_idf)) / df) + dtype.type(1)
        self.n_features_in_ = len(df)

    def _weighed(self, X: Any) -> Any:
        """The same matrix, its values replaced."""
        if self.sublinear_tf:
            np.log(X.data, X.data)
            X.data += 1.0
        factors = getattr(self, "idf_", np.empty(0, X.dtype))
        _core.weigh_terms(X.data, X.indices, X.indptr, factors, self.norm or "", cores())
        return X


class TfidfVectorizer(peer.TfidfVectorizer, CountVectorizer):
    """Documents as counts of their terms, weighted by how few documents have them.

    Drop-in for scikit-learn's class: the same parameters, the same matrix, the same names of features. The
    same as `CountVectorizer` and `TfidfTransformer`, one after the other.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What the documents are passed as: texts, names of files, or open files.
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

    to_sklearn = to_sklearn

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the vocabulary, and how many documents have each term.

        Parameters
        ----------
        raw_documents : iterable
            The documents, as `input` says: strings, file names or open files.
        y : None, default=None
            Ignored; it is here for pipelines.

        Returns
        -------
        TfidfVectorizer
            The vectoriser itself.
        """
        if stored(raw_documents):
            self._check_params()
            self._tfidf = self._transformer()
            documents, rows = self._learn_of(raw_documents)
            if self.use_idf:
                self._tfidf._learn(documents, rows, np.dtype(self.dtype))
        else:
            self.fit_transform(raw_documents)
        return self

    def transform(self, raw_documents: Any) -> Any:
        """Weigh the terms of documents.

        Parameters
        ----------
        raw_documents : iterable or source
            The documents, as `input` says: strings, file names or open files; or a source of documents.

        Returns
        -------
        sparse matrix of shape (n_documents, n_terms) or source
            The weights; of a source, one that makes them as it is read.
        """
        if stored(raw_documents):
            check_is_fitted(self, msg="The TF-IDF vectorizer is not fitted")
            return CountVectorizer.transform(self, raw_documents)
        return super().transform(raw_documents)

    def _transformer(self) -> "TfidfTransformer":
        return TfidfTransformer(
            norm=self.norm, use_idf=self.use_idf, smooth_idf=self.smooth_idf, sublinear_tf=self.sublinear_tf
        )

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary, and weigh the terms of the documents.

        Parameters
        ----------
        raw_documents : iterable
            The documents, as `input` says: strings, file names or open files.
        y : None, default=None
            Ignored; it is here for pipelines.

        Returns
        -------
        sparse matrix of shape (n_documents, n_terms)
            The weights.
        """
        if stored(raw_documents):
            return self.fit(raw_documents).transform(raw_documents)
        self._check_params()
        self._tfidf = self._transformer()
        X = CountVectorizer.fit_transform(self, raw_documents)
        if self.use_idf:
            self._tfidf._learn(_documents_of_terms(X), X.shape[0], X.dtype)
        else:
            self._tfidf.fit(X)
        return self._tfidf.transform(X, copy=False)


CELLS_AT_ONCE = 1 << 20


def _documents_of_terms(X: Any) -> NDArray[np.int64]:
    """How many rows have each column; a part at a time, since `bincount` copies what it counts."""
    found = np.zeros(X.shape[1], dtype=np.int64)
    for start in range(0, len(X.indices), CELLS_AT_ONCE):
        found += np.bincount(X.indices[start : start + CELLS_AT_ONCE], minlength=X.shape[1])
    return found
