"""What classifiers share: labels, scores, decisions of linear models, class weights."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from likelier import links
from likelier.array_types import Floats
from likelier.data import Arrays, Chunk, Source, code, levels_of
from likelier.data.transforms import ByClass, times
from likelier.engines import run
from likelier.estimators import validation
from likelier.estimators.base import Decisions, InNotebooks, column_names
from likelier.estimators.predictions import found_share, itself
from likelier.estimators.priors import adapted_to, warn_of_priors
from likelier.estimators.sources import by_block, gathered, stored
from likelier.links import Link
from likelier.model import ask, levels, log_of, surveyed
from likelier.scores import Affine, Scores
from likelier.warning_location import outside

# What every linear classifier answers.


class LinearScores:
    """Labels and scores; a subclass asks its own scores (`_ask`)."""

    _takes_blocks = True  # of chunks, in place of X
    classes_: Any

    def _ask(self, X: Any, link: Link) -> NDArray[Any]:
        raise NotImplementedError

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes, linear in the columns.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. A source is the result of `likelier.scan`; a Dask collection gives a lazy result.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for binary problems
            For binary problems the score of classes_[1]; it is predicted where the score is positive.
        """
        Z = self._ask(X, links.identity)
        return np.asarray(Z[:, 1] - Z[:, 0]) if len(self.classes_) == 2 else Z

    @by_block
    def predict(self, X: Any) -> NDArray[Any]:
        """Label of the largest score for each row.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. A source is the result of `likelier.scan`; a Dask collection gives a lazy result.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        found = self._ask(X, links.argmax)  # refuses to answer before `fit`
        return np.asarray(self.classes_[found])


class LinearProbabilities(Decisions, LinearScores):
    """And probabilities: the softmax of the scores.

    Other class priors turn p(C_k | x) into p(C_k | x) π_k / π⁰_k, made to sum to 1, π⁰ being the shares of
    the classes among the training rows.
    """

    @by_block
    def predict(self, X: Any, priors: Any = None) -> NDArray[Any]:
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. A source is the result of `likelier.scan`; a Dask collection gives a lazy result.
        priors : array-like of shape (n_classes,) or dict, default=None
            Class priors to use in place of the class frequencies of the training rows, in the order of
            `classes_` or as {label: prior}; they must sum to 1.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        if priors is None:
            return super().predict(X)
        best = self._with_priors(X, priors).argmax(axis=1)  # refuses to answer before `fit`
        return np.asarray(self.classes_[best])

    @by_block
    def predict_proba(self, X: Any, priors: Any = None) -> Floats:
        """Class probabilities p(C_k | x) of each row, the softmax of the scores.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. A source is the result of `likelier.scan`; a Dask collection gives a lazy result.
        priors : array-like of shape (n_classes,) or dict, default=None
            Class priors to use in place of the class frequencies of the training rows, in the order of
            `classes_` or as {label: prior}; they must sum to 1.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`; rows sum to 1.

        Raises
        ------
        ValueError
            If `priors` are given and the model does not keep the class frequencies of its training rows.
        """
        if priors is None:
            return self._ask(X, links.softmax)
        Z = self._with_priors(X, priors)
        links.softmax.apply(Z, Z)
        return Z

    @by_block
    def predict_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """Natural logarithm of the class probabilities of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. A source is the result of `likelier.scan`; a Dask collection gives a lazy result.
        priors : array-like of shape (n_classes,) or dict, default=None
            Class priors to use in place of the class frequencies of the training rows, in the order of
            `classes_` or as {label: prior}; they must sum to 1.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`.
        """
        if priors is None:
            return self._ask(X, links.log_softmax)
        Z = self._with_priors(X, priors)
        links.log_softmax.apply(Z, Z)
        return Z

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """Estimate the class priors of new rows without labels, under label shift.

        For rows in which the classes look as before but have other frequencies. Only the class
        probabilities are needed, which should be calibrated [1]_. Pass the result to `predict_proba`; the
        model is not changed.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. A source is the result of `likelier.scan`; a Dask collection gives a lazy result.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        tol : float, default=1e-10
            Largest distance of the log-likelihood per row from its maximum.
        max_iter : int, default=1000
            Largest number of steps.

        Returns
        -------
        priors : ndarray of shape (n_classes,)
            Estimated priors, in the order of `classes_`.

        Warns
        -----
        DegenerateWarning
            If `tol` was not reached within `max_iter` steps.

        References
        ----------
        .. [1] Saerens, M., Latinne, P. and Decaestecker, C. (2002). Adjusting the outputs of a classifier
           to new a priori probabilities. Neural Computation 14, 21-41.
        """
        validation.number("tol", tol, 0.0)
        most = int(validation.number("max_iter", max_iter, 1, whole=True))
        logs = self._ask(X, links.log_softmax)
        w = validation.weights_of(sample_weight, len(logs))
        if w is not None:
            validation.weighty(w)
        found = adapted_to(logs, self._training_shares(), w, tol, most)
        warn_of_priors(self, found, tol, most)
        return found.prior

    def _with_priors(self, X: Any, priors: Any) -> Floats:
        """Scores whose softmax are the posteriors under other priors."""
        Z = self._ask(X, links.log_softmax)
        new = validation.priors_of(priors, len(self.classes_), classes=self.classes_)
        return np.asarray(Z + log_of(new) - log_of(self._training_shares()))

    def _training_shares(self) -> Floats:
        """(K,) of the classes, by weight, among the rows of the fit."""
        n = getattr(getattr(self, "_statistics", None), "n", None)
        if n is None:
            raise ValueError(
                f"Other priors are relative to the class frequencies of the training rows, which this "
                f"{type(self).__name__} does not keep: use a LogisticRegression that was fitted to them, "
                "or saved with its statistics."
            )
        return np.asarray(n / n.sum())


# A linear classifier, however it was come by.


class LinearClassifier(LinearProbabilities, ClassifierMixin, InNotebooks):
    """Linear classifier with given weights: scores X coef_ᵀ + intercept_, and their softmax.

    It is the result of `to_linear()` of another model, already fitted, and has nothing to learn.

    Parameters
    ----------
    coef : array-like of shape (n_classes, n_features), or (1, n_features) for binary problems
        Weights of the columns.
    intercept : array-like of shape (n_classes,), or (1,) for binary problems
        Constant terms of the scores.
    classes : array-like of shape (n_classes,)
        Class labels.
    feature_names : array-like of shape (n_features,), default=None
        Column names; None: the columns have none.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features_in_), or (1, n_features_in_) for binary problems
        Weights of the columns.
    intercept_ : ndarray of shape (n_classes,), or (1,) for binary problems
        Constant terms of the scores.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names; only if they are known.

    Examples
    --------
    >>> from likelier import MultinomialNB
    >>> model = MultinomialNB().fit([[3, 0], [0, 2]], ["a", "b"])
    >>> model.to_linear().predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    def __init__(self, coef: Any, intercept: Any, classes: Any, feature_names: Any = None) -> None:
        self.coef = coef
        self.intercept = intercept
        self.classes = classes
        self.feature_names = feature_names

    @property
    def coef_(self) -> Floats:
        """Weights of the columns, (n_classes, n_features), or (1, n_features) for binary problems."""
        return np.atleast_2d(np.asarray(self.coef, dtype=np.float64))

    @property
    def intercept_(self) -> Floats:
        """Constant terms of the scores, (n_classes,), or (1,) for binary problems."""
        return np.atleast_1d(np.asarray(self.intercept, dtype=np.float64))

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels, (n_classes,)."""
        return np.asarray(self.classes)

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return int(self.coef_.shape[1])

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Column names, if they are known."""
        if self.feature_names is None:
            raise AttributeError("fitted without feature names")
        return np.asarray(self.feature_names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _scores(self) -> Scores:
        W, b = self.coef_, self.intercept_
        if len(W) == 1 and len(self.classes_) == 2:  # sigma(a) is the softmax of (0, a)
            W, b = np.vstack([np.zeros_like(W), W]), np.array([0.0, b[0]])
        return Scores((Affine(b, np.ascontiguousarray(W), np.zeros(W.shape[1])),))

    def _ask(self, X: Any, link: Link) -> NDArray[Any]:
        rows = validation.known_rows(self, X)
        with validation.naming(rows):
            return ask(self._scores(), rows, link).out


class _Terms(NamedTuple):
    values: Floats  # (n, K, p)
    base: Floats  # (K,)


class Contributions(_Terms):
    """Contribution of each column to the score of each class: base + values.sum(axis=2) is the score.

    A named tuple of two arrays. `np.asarray` of it is `values`.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_classes, n_features)
        Contribution of each column.
    base : ndarray of shape (n_classes,)
        Score of a row without any value.
    classes : ndarray of shape (n_classes,)
        Class labels.
    names : list of str
        Column names.
    """

    classes: NDArray[Any]
    names: list[str]

    @classmethod
    def of(cls, model: Any, values: Floats, base: Floats) -> Self:
        """Of a fitted model."""
        new = cls(values, base)
        names = column_names(model)
        new.classes = model.classes_
        new.names = [f"x{j}" for j in range(values.shape[2])] if names is None else list(map(str, names))
        return new

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def to_frame(self) -> Any:
        """The contributions as a pandas DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            One line for each row and class; columns are "(base)" and the columns of X.
        """
        import pandas as pd

        n, K, p = self.values.shape
        index = pd.MultiIndex.from_product([range(n), self.classes], names=["row", "class"])
        cells = np.column_stack([np.tile(self.base, n), self.values.reshape(n * K, p)])
        return pd.DataFrame(cells, index=index, columns=["(base)", *self.names])


# Weights by class.


@dataclass
class ClassTotals:
    """The weight of each class's rows, (K,)."""

    n: Floats

    @property
    def nbytes(self) -> int:
        return self.n.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        known = chunk.y >= 0
        w = None if chunk.w is None else chunk.w[known]
        self.n = self.n + np.bincount(chunk.y[known], w, len(self.n))

    def merge(self, other: Self) -> None:
        self.n = self.n + other.n


def class_totals(source: Source, K: int) -> Floats:
    """The weight of each class, from labels and weights alone."""
    if stored(source):
        source = source.taking([], y=True)
    return run(source, lambda: ClassTotals(np.zeros(K))).n


def weights_by_class(class_weight: Any, classes: NDArray[Any], n: Floats) -> Floats | None:
    """scikit-learn's `class_weight`: None, a number for each label (1 if not named), or "balanced"."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be None, 'balanced' or a dict {{label: weight}}; got {class_weight!r}."
            )
        seen = n > 0  # `partial_fit` may know of classes that have not come yet
        return np.where(seen, n.sum() / (len(n) * np.where(seen, n, 1.0)), 0.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict {{label: weight}}; got {class_weight!r}."
        )
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    missed = [label for label in known if label not in class_weight]
    if unknown and missed:  # a label misspelt, most likely
        raise ValueError(
            f"The classes, {missed}, are not in class_weight, which has {unknown} that y does not have"
        )
    found = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    if not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(f"class_weight must have finite weights >= 0; got {class_weight!r}.")
    return found


def weighted(source: Source, totals: Floats, factor: Floats | None) -> tuple[Source, Floats]:
    """Rows and class weights, times a number by class; of rows in memory once and for all passes."""
    if factor is None:
        return source, totals
    if isinstance(source, Arrays):
        return replace(source, w=times(factor, source.y, source.w)), totals * factor
    return ByClass(source, factor), totals * factor


def warn_of_many(K: int, n: int) -> None:
    """As scikit-learn does, where most rows have a class of their own."""
    if n > 20 and K > n / 2:
        warnings.warn(
            f"The number of unique classes is greater than 50% of the number of samples: {K} classes in "
            f"{n} rows. `y` could represent a regression problem, not a classification problem, "
            "or it is an id.",
            UserWarning,
            stacklevel=outside(),
        )


# What all classifiers do with labels: find the classes, and judge by them.


def classes_in(source: Source) -> NDArray[Any]:
    """The classes of a source."""
    y = source.y if isinstance(source, Arrays) else None
    if isinstance(source, Arrays) and y is not None and len(source.parts(0)) == 1:
        # Labels of one part are at hand: a pass would cost more than to look at them.
        found, rows = levels_of(y if source.w is None else y[source.w > 0]), len(y)
    else:
        found, rows = surveyed(source)
    validation.weighty(len(found))
    warn_of_many(len(found), rows)
    return found


def check_sound(statistics: Any) -> None:
    """Refuse statistics of no rows, and those that have overflowed."""
    validation.weighty(statistics.n)
    if not statistics.finite():
        raise ValueError(
            "Input X, y or sample_weight contains values so large that their sums of squares overflow: "
            "divide such columns."
        )


def known_classes(estimator: Any, classes: Any) -> NDArray[Any]:
    """All labels that can ever come to a `partial_fit`, which says them at its first call."""
    given = None if classes is None else validation.classes_of(estimator, classes)
    if "_model" not in vars(estimator):
        if given is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return given
    known: NDArray[Any] = estimator._target
    if given is not None and not np.array_equal(known, given):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}"
        )
    return known


def share_found(estimator: Any, of_arrays: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """The share of rows whose class is found; of_arrays: scikit-learn's `score`, for rows in memory."""
    X, y, sample_weight = gathered(X, y, sample_weight)
    if not stored(X):
        return float(of_arrays(X, y, sample_weight))
    validation.fitted(estimator)
    source = validation.training(estimator, X, y, sample_weight, known=True)
    return found_share(estimator, source, itself)


def refuse_new(source: Source, known: NDArray[Any]) -> NDArray[Any]:
    """The classes of a source, of which those that are none of the known ones are refused."""
    found = levels(source)
    new = found[code(found, known) < 0]
    if len(new):
        raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {known}")
    return found
