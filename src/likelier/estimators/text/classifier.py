"""TextClassifier: a vectoriser and a linear model of its terms in one estimator of raw strings."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from likelier.array_types import Floats
from likelier.estimators import validation
from likelier.estimators.discriminative.linear_svc import LinearSVC
from likelier.estimators.discriminative.logistic import LogisticRegression
from likelier.estimators.discriminative.perceptron import Perceptron
from likelier.estimators.generative.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from likelier.estimators.predictions import share_found
from likelier.estimators.sources import stored
from likelier.estimators.text.counting import NO_STRING
from likelier.estimators.text.explanation import Explanation, TopFeatures, explained, top_terms
from likelier.estimators.text.merging import merged_models
from likelier.estimators.text.nb_svm import LogCountSVM
from likelier.estimators.text.vectorizers import CountVectorizer, HashingVectorizer, TfidfVectorizer


class Recipe(NamedTuple):
    """A model of the terms of documents, and how these are weighted for it."""

    make: Callable[["TextClassifier"], Any]
    weighting: str  # by default


def _bayes(cls: Any) -> Callable[["TextClassifier"], Any]:
    return lambda given: cls(alpha=given.alpha)


RECIPES: dict[str, Recipe] = {
    "naive-bayes": Recipe(_bayes(MultinomialNB), "count"),
    "bernoulli": Recipe(_bayes(BernoulliNB), "binary"),
    "complement": Recipe(_bayes(ComplementNB), "count"),
    "logistic": Recipe(lambda given: LogisticRegression(C=given.C), "tf-idf"),
    "svm": Recipe(lambda given: LinearSVC(C=given.C), "tf-idf"),
    "perceptron": Recipe(
        lambda given: Perceptron(weights="average", random_state=given.random_state), "tf-idf"
    ),
    "nb-svm": Recipe(lambda given: LogCountSVM(C=given.C, alpha=given.alpha), "binary"),
}
WEIGHTINGS = ("count", "binary", "tf-idf")
COUNTING = ("naive-bayes", "complement", "bernoulli", "nb-svm")  # whose terms have no negative numbers


def _has(name: str) -> Callable[["TextClassifier"], bool]:
    """Whether the model has a method: before the fit by its name, then itself."""

    def check(self: "TextClassifier") -> bool:
        held = vars(self).get("model_")
        if held is None and self.model in RECIPES:
            held = RECIPES[self.model].make(self)
        if not hasattr(held, name):
            raise AttributeError(f"TextClassifier(model={self.model!r}) has no {name}")
        return True

    return check


class TextClassifier(ClassifierMixin, BaseEstimator):
    """Documents in, classes out: a vectoriser and a linear model in one estimator of raw strings.

    The score of class k is b_k + Σ_j w_kj x_j, where x_j says how often, or how tellingly, the document has
    term j. For naive Bayes the bias is the log prior ratio and the weights are log likelihood ratios; the
    other models fit both.

    Parameters
    ----------
    model : {"naive-bayes", "bernoulli", "complement", "logistic", "svm", "perceptron", "nb-svm"}, \
default="naive-bayes"
        "naive-bayes" is the multinomial model of counts, "bernoulli" that of which terms there are and
        which not, "complement" estimates each class by the documents of all others; "logistic", "svm" and
        "perceptron" (the averaged one) are linear models of tf-idf weights; "nb-svm" is a linear SVM of
        log count ratios [1]_.
    weighting : {"count", "binary", "tf-idf"}, default=None
        What x_j is: a count, whether there is one, or the count times the inverse document frequency, rows
        of length 1. None is what suits the model: "count" for "naive-bayes" and "complement", "binary" for
        "bernoulli" and "nb-svm", "tf-idf" for the others.
    alpha : float, default=1.0
        Smoothing of the naive Bayes models and of "nb-svm": added to each count.
    C : float, default=1.0
        Inverse strength of the penalty of "logistic", "svm" and "nb-svm".
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        How many words, or characters, a term has.
    analyzer : {"word", "char", "char_wb"}, default="word"
        Whether terms are words, runs of characters, or runs of characters within words.
    lowercase : bool, default=True
        Whether texts are lowered.
    strip_accents : {"ascii", "unicode"}, default=None
        Whether accents are removed.
    stop_words : {"english"} or list, default=None
        Words that do not count.
    min_df : float or int, default=1
        Leave out terms in fewer documents than this share, or number, of them.
    max_df : float or int, default=1.0
        Leave out terms in more documents than this share, or number, of them.
    max_features : int, default=None
        Keep that many terms at most: the most frequent.
    n_features : int, default=None
        Hash terms into so many columns, with no vocabulary: memory is constant, and `partial_fit` works.
        None: a vocabulary is learned.
    random_state : int, default=None
        Seed of the order of documents, for "perceptron".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    vectorizer_ : CountVectorizer, TfidfVectorizer or HashingVectorizer
        What turns documents into rows.
    model_ : estimator
        The fitted model of these rows.

    See Also
    --------
    CountVectorizer : The rows alone.
    scan : Documents in a column of files larger than memory.
    scan_folder : Documents in files of their own.

    References
    ----------
    .. [1] Wang, S. and Manning, C. D. (2012). Baselines and bigrams: simple, good sentiment and topic
       classification. ACL.

    Examples
    --------
    >>> import likelier as lk
    >>> texts = ["cheap pills, cheap!", "meeting at noon", "win cheap money", "lunch at noon?"]
    >>> model = lk.TextClassifier().fit(texts, ["spam", "ham", "spam", "ham"])
    >>> model.predict(["cheap lunch money"]).tolist()
    ['spam']
    >>> print(model.explain("cheap lunch money"))
    spam: probability 0.8, log odds of spam against ham 1.39
    <BLANKLINE>
    term    count  spam against ham
    cheap       1              1.39
    lunch       1            -0.693
    money       1             0.693
    (bias)                        0
    """

    classes_: NDArray[Any]

    model: str
    weighting: str | None
    alpha: float
    C: float
    n_features: int | None
    random_state: Any

    def __init__(
        self,
        model: str = "naive-bayes",
        *,
        weighting: str | None = None,
        alpha: float = 1.0,
        C: float = 1.0,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: str = "word",
        lowercase: bool = True,
        strip_accents: str | None = None,
        stop_words: Any = None,
        min_df: Any = 1,
        max_df: Any = 1.0,
        max_features: int | None = None,
        n_features: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.weighting = weighting
        self.alpha = alpha
        self.C = C
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.n_features = n_features
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    # ---- fitting -----------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to labelled documents.

        Parameters
        ----------
        X : list of str, array, Series or source of shape (n_documents,)
            The documents: strings, or bytes in UTF-8; or a source of `scan(path, text=...)` or
            `scan_folder`, which need not fit into memory.
        y : array-like of shape (n_documents,), default=None
            Class labels. Leave out if X is a source.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents. A source has its own.

        Returns
        -------
        self : TextClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a document is missing or no string, or no term is left.
        """
        vectorizer, model = self._vectorizer(), self._recipe().make(self)
        documents = documents_in(X)
        if not stored(documents):
            y = validation.labels_of(self, y)
            _check_lengths(documents, y)
        rows = vectorizer.fit_transform(documents)
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        model.fit(rows, y, **given)
        return self._publish(vectorizer, model)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add more documents. Terms must be hashed (`n_features`), since a vocabulary would change.

        Parameters
        ----------
        X : list of str, array, Series or source of shape (n_documents,)
            Further documents.
        y : array-like of shape (n_documents,), default=None
            Class labels. Leave out if X is a source.
        classes : array-like of shape (n_classes,), default=None
            All labels that can occur; required at the first call.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.

        Returns
        -------
        self : TextClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If terms are not hashed, or the model cannot continue.
        """
        if self.n_features is None:
            raise ValueError(
                "partial_fit needs hashed terms, since a vocabulary would change with every batch: "
                "TextClassifier(n_features=2**20)."
            )
        first = "model_" not in vars(self)
        vectorizer = self._vectorizer() if first else self.vectorizer_
        model = self._recipe().make(self) if first else self.model_
        if not hasattr(model, "partial_fit"):
            raise ValueError(f"model={self.model!r} cannot continue training: fit it to all documents.")
        documents = documents_in(X)
        if not stored(documents):
            y = validation.labels_of(self, y)
            _check_lengths(documents, y)
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        model.partial_fit(vectorizer.transform(documents), y, classes=classes, **given)
        return self._publish(vectorizer, model)

    def merge(self, *others: "TextClassifier") -> "TextClassifier":
        """Combine models that were fitted to different documents into one, as if fitted to all of them.

        Parameters
        ----------
        *others : TextClassifier
            Fitted naive Bayes models with the same parameters and classes.

        Returns
        -------
        model : TextClassifier
            A new fitted estimator; the given ones are not changed.

        Raises
        ------
        ValueError
            If parameters differ, terms were left out by `min_df`, `max_df` or `max_features`, or the model
            is not a sum over documents.
        """
        for one in (self, *others):
            one._check_fitted()
            if one.get_params() != self.get_params():
                raise ValueError(
                    "parameters differ: fit the models with the same parameters to merge them."
                )
        vectorizer, model = merged_models([self, *others])
        return TextClassifier(**self.get_params())._publish(vectorizer, model)

    def _recipe(self) -> Recipe:
        if self.model not in RECIPES:
            known = ", ".join(map(repr, RECIPES))
            raise ValueError(f"model must be one of {known}; got {self.model!r}.")
        if self.weighting not in (None, *WEIGHTINGS):
            known = ", ".join(map(repr, WEIGHTINGS))
            raise ValueError(f"weighting must be None or one of {known}; got {self.weighting!r}.")
        return RECIPES[self.model]

    def _vectorizer(self) -> Any:
        """An unfitted one, as the parameters say."""
        weighting = self.weighting or self._recipe().weighting
        how = {
            "ngram_range": self.ngram_range,
            "analyzer": self.analyzer,
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "stop_words": self.stop_words,
            "binary": weighting == "binary",
        }
        if self.n_features is not None:
            norm = "l2" if weighting == "tf-idf" else None
            signs = self.model not in COUNTING
            return HashingVectorizer(n_features=self.n_features, norm=norm, alternate_sign=signs, **how)
        how |= {"min_df": self.min_df, "max_df": self.max_df, "max_features": self.max_features}
        if weighting == "tf-idf":
            return TfidfVectorizer(sublinear_tf=False, **how)
        return CountVectorizer(dtype=np.float64, **how)

    def _publish(self, vectorizer: Any, model: Any) -> Self:
        self.vectorizer_, self.model_, self.classes_ = vectorizer, model, model.classes_
        return self

    def _check_fitted(self) -> None:
        if "model_" not in vars(self):
            raise NotFittedError(
                "This TextClassifier instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    # ---- answers -----------------------------------------------------------------------------------
    def _rows(self, X: Any) -> Any:
        self._check_fitted()
        documents = documents_in(X)
        if stored(documents) and documents.targets:
            documents = documents.taking([str(name) for name in documents.names], y=False)  # type: ignore[union-attr]
        return self.vectorizer_.transform(documents)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class, or that of the largest score, of each document.

        Parameters
        ----------
        X : list of str, array, Series or source of shape (n_documents,)
            Documents.

        Returns
        -------
        labels : ndarray of shape (n_documents,)
            Predicted labels.
        """
        rows = self._rows(X)
        return np.asarray(self.model_.predict(rows))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the classes; "svm", "perceptron" and "nb-svm" have none.

        Parameters
        ----------
        X : list of str, array, Series or source of shape (n_documents,)
            Documents.

        Returns
        -------
        p : ndarray of shape (n_documents, n_classes)
            Probabilities, in the order of `classes_`.
        """
        rows = self._rows(X)
        return np.asarray(self.model_.predict_proba(rows))

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : list of str, array, Series or source of shape (n_documents,)
            Documents.

        Returns
        -------
        log_p : ndarray of shape (n_documents, n_classes)
            Logarithms, in the order of `classes_`.
        """
        rows = self._rows(X)
        return np.asarray(self.model_.predict_log_proba(rows))

    def decision_function(self, X: Any) -> Floats:
        """The scores of the classes.

        Parameters
        ----------
        X : list of str, array, Series or source of shape (n_documents,)
            Documents.

        Returns
        -------
        scores : ndarray of shape (n_documents, n_classes), or (n_documents,) for binary problems
            For binary problems the score of classes_[1] against classes_[0].
        """
        rows = self._rows(X)
        return np.asarray(self.model_.decision_function(rows))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy: the share of documents whose class is predicted correctly.

        Parameters
        ----------
        X : list of str, array, Series or source of shape (n_documents,)
            Documents.
        y : array-like of shape (n_documents,), default=None
            True labels. Leave out if X is a source.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.

        Returns
        -------
        accuracy : float
            From 0 to 1.
        """
        if stored(X):
            self._check_fitted()
            found: float = share_found(self.model_, super().score, self.vectorizer_.transform(X), y, None)
            return found
        return float(super().score(X, y, sample_weight))

    # ---- what it has learned -------------------------------------------------------------------------
    def linear_weights(self) -> tuple[Floats, Floats]:
        """Weights and biases of the scores, (K, p) and (K,); of binary problems (1, p) and (1,).

        Returns
        -------
        weights : ndarray of shape (n_classes, n_columns) or (1, n_columns)
            The weight of each term. For naive Bayes with several classes, each is less the mean of all
            classes, which changes no difference between them.
        biases : ndarray of shape (n_classes,) or (1,)
            The constant terms: for naive Bayes log priors, or their ratio.
        """
        self._check_fitted()
        if not hasattr(self.model_, "to_linear"):
            return np.atleast_2d(self.model_.coef_), np.atleast_1d(self.model_.intercept_)
        linear = self.model_.to_linear()
        W, b = linear.coef_, linear.intercept_
        return (W, b) if len(b) == 1 else (W - W.mean(axis=0), b - b.mean())

    def explain(self, text: str) -> Explanation:
        """What each term of a document added to the score of each class.

        Parameters
        ----------
        text : str
            One document.

        Returns
        -------
        explanation : Explanation
            Prints as a table; `.to_frame()` is a pandas frame, `.to_html()` the text with its words shaded.
        """
        if not isinstance(text, str):
            raise TypeError(f"explain takes one document, a string; got {type(text).__name__}.")
        self._check_fitted()
        return explained(self, text)

    def top_features(self, k: int = 10) -> TopFeatures:
        """The terms that speak most for each class.

        Parameters
        ----------
        k : int, default=10
            How many terms of each class.

        Returns
        -------
        terms : TopFeatures
            Prints as a table; `.to_frame()` is a pandas frame.

        Raises
        ------
        ValueError
            If terms are hashed: which they were is not kept.
        """
        self._check_fitted()
        validation.number("k", k, 1, whole=True)
        return top_terms(self, int(k))


def documents_in(X: Any) -> Any:
    """Documents as vectorisers take them: all strings; the first that is not a string is reported."""
    if isinstance(X, str | bytes) or (isinstance(X, np.ndarray) and X.ndim == 0):
        raise ValueError(NO_STRING)
    if stored(X):
        return X
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 2:
        if shape[1] != 1:
            raise ValueError(
                f"X has {shape[1]} columns: documents are one, such as frame['text']. For tables with text "
                "in them, see likelier.compare."
            )
        X = X.ravel() if isinstance(X, np.ndarray) else X[next(iter(X.columns))]
    if isinstance(X, np.ndarray):
        X = X.tolist()
    if hasattr(X, "null_count") or type(X).__module__.startswith(("polars", "pyarrow")):
        return X
    if not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of documents; got {type(X).__name__}.")
    found = list(X)
    if all(type(document) is str for document in found):
        return found
    return [_string(i, document) for i, document in enumerate(found)]


def _string(i: int, document: Any) -> str:
    if isinstance(document, bytes | bytearray):
        try:
            return document.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise ValueError(
                f"document {i} is not UTF-8 ({problem}): decode it first, as in document.decode('latin-1')."
            ) from None
    if not isinstance(document, str):
        what = (
            "missing" if document is None or document != document else f"of type {type(document).__name__}"
        )
        raise ValueError(
            f"document {i} is {what} ({document!r:.40}): documents are strings. Leave it out, or fill in "
            "''."
        )
    return str(document)


def _check_lengths(documents: Any, y: NDArray[Any]) -> None:
    if len(documents) != len(y):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{[len(documents), len(y)]}: X has {len(documents)} documents, y has {len(y)} labels."
        )
    if not len(y):
        raise ValueError("Found array with 0 sample(s): no document is there to fit.")
