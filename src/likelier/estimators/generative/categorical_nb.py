"""Naive Bayes of categories."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likelier.array_types import Floats
from likelier.data import Dense, Source
from likelier.estimators import validation
from likelier.estimators.generative.base import prior_of
from likelier.estimators.generative.naive_bayes import LEAST_ALPHA, lifted
from likelier.estimators.generative.one_pass import OnePassClassifier, Survey
from likelier.estimators.linear_classifier import LinearClassifier
from likelier.estimators.one_pass import Names, Start
from likelier.estimators.predictions import Contributions
from likelier.families import Categorical, Categories
from likelier.model import Bayes, log_of
from likelier.states import Counts
from likelier.states.counts import resized


class CategoricalNB(OnePassClassifier):
    """Categorical naive Bayes: p(x_j = l | C_k) = (N_kl + α) / (N_k + α L_j), L_j categories in column j.

    Drop-in for scikit-learn's class. Columns hold category codes, integers from 0 on; NaN is a missing
    value. A code that occurs in no training row counts as missing, where scikit-learn raises an error.
    `partial_fit` and `merge` add new codes. The scores are linear in the indicators of the categories: see
    `statistics` and `to_linear`. For columns of strings use `NaiveBayes`.

    Parameters
    ----------
    alpha : float, default=1.0
        Additive (Laplace or Lidstone) smoothing: pseudo-counts added to each category. 0 is replaced by
        1e-300, so that logarithms stay finite.
    force_alpha : bool, default=True
        If False, values of alpha below 1e-10 are raised to 1e-10; if True, alpha is used as it is.
    fit_prior : bool, default=True
        Whether the class priors are the class frequencies of the training rows; if False, all classes have
        the same prior. Ignored if `class_prior` is given.
    class_prior : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; rescaled to sum to 1. None: as
        `fit_prior` says.
    min_categories : int or array-like of shape (n_features,), default=None
        Least number of categories of each column, for categories that may not occur in the training rows.
        None: the largest code seen, plus 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of the training rows of each class. Missing on models without statistics, such
        as those returned by `condition` and `marginal`.
    class_log_prior_ : ndarray of shape (n_classes,)
        Natural logarithm of the class priors.
    n_categories_ : ndarray of shape (n_features_in_,)
        Number of categories of each column.
    category_count_ : list of ndarray of shape (n_classes, n_categories_[j])
        For each column, the total weight of each category in each class. Missing on models without
        statistics.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories_[j])
        For each column, ln p(category | class), with smoothing.
    statistic_names_ : ndarray of shape (sum of n_categories_,)
        Names of the columns of `statistics`, such as "x0=2".
    coef_ : ndarray of shape (n_classes, sum of n_categories_), or (1, ...) for binary problems
        Weights of the indicators in the linear scores.
    intercept_ : ndarray of shape (n_classes,), or (1,) for binary problems
        Constant terms of the linear scores.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    NaiveBayes : Categories as strings, beside columns of other types.
    BernoulliNB : For boolean columns.

    Examples
    --------
    >>> from likelier import CategoricalNB
    >>> X, y = [[0, 1], [0, 2], [1, 2], [1, 0]], ["no", "no", "yes", "yes"]
    >>> model = CategoricalNB().fit(X, y)
    >>> model.predict([[0, 0], [1, 9]]).tolist()
    ['no', 'yes']
    >>> model.predict_proba([[float("nan"), 2]])
    array([[0.5, 0.5]])
    """

    assumes = "generative; categories, independent in each class; linear in their indicators"

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories

    # ---- fitting -----------------------------------------------------------------------------------
    def _family(self, classes: NDArray[Any]) -> Categorical:
        for name in ("force_alpha", "fit_prior"):
            validation.boolean(name, getattr(self, name))
        alpha = validation.number("alpha", self.alpha, 0.0, 1e100)
        least = 0 if self.min_categories is None else np.asarray(self.min_categories)
        return Categorical(None, alpha if self.force_alpha else max(alpha, LEAST_ALPHA), False, least)

    def _start(self, rows: Source, survey: Survey, earlier: Any = None) -> Start:
        self._check_least(rows.p)
        return super()._start(rows, survey, earlier)

    def _check_least(self, p: int) -> None:
        if self.min_categories is None:
            return
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu":
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.shape not in ((), (p,)):
            raise ValueError(
                f"'min_categories' should have shape ({p},) when an array-like is provided. Got "
                f"{least.shape} instead."
            )
        if (least < 1).any():
            raise ValueError(f"min_categories must be >= 1; got {self.min_categories!r}.")

    def _model_of(self, statistics: Counts, classes: NDArray[Any]) -> Bayes:
        K = len(classes)
        given = np.full(K, 1 / K) if self.class_prior is None and not self.fit_prior else self.class_prior
        prior = prior_of(given, statistics.n, classes, strict=False)
        return Bayes(self._family(classes).estimate(statistics), log_of(prior))

    def _shown(self, model: Bayes, statistics: Counts | None, target: NDArray[Any]) -> dict[str, Any]:
        params = model.params
        assert isinstance(params, Categories)
        columns = range(params.shape[1])
        shown = super()._shown(model, statistics, target)
        shown["n_categories_"] = params.levels
        shown["class_log_prior_"] = model.log_prior
        shown["feature_log_prob_"] = [np.ascontiguousarray(params.log_p[params.rows(j)].T) for j in columns]
        if statistics is not None:
            counts = resized(statistics.counts, statistics.sizes, params.levels)
            shown["class_count_"] = statistics.n.copy()
            shown["category_count_"] = [np.ascontiguousarray(counts[params.rows(j)].T) for j in columns]
        return shown

    def _settings(self) -> Iterator[str]:
        yield from lifted(self)

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        unseen = (statistics.seen() == 0) & (statistics.n > 0)[:, None]  # (K, p)
        if unseen.any():
            k = int(unseen.any(axis=1).argmax())
            yield (
                f"in class {target[k]} every cell of column "
                f"{validation.named(names, np.flatnonzero(unseen[k]))} "
                "is missing: frequencies there are those of all classes, so that the column says little "
                "for or against it."
            )

    # ---- reading -----------------------------------------------------------------------------------
    def contributions(self, X: Any) -> Contributions:
        """How much each column adds to the score of each class: ln p(x_j | C_k).

        The base is ln p(C_k); base and contributions add up to ln p(x, C_k). A missing value or an unknown
        category contributes 0.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows of category codes to explain.

        Returns
        -------
        contributions : Contributions
            Named tuple of `values` (n_samples, n_classes, n_features) and `base` (n_classes,);
            base + values.sum(axis=2) is the score of each class. `to_frame()` gives a pandas table.
        """
        rows, params = self._codes(X), self._params
        return Contributions.of(self, params.parts(rows), self._model.log_prior)

    def statistics(self, X: Any) -> Any:
        """One-hot encoding of the rows, in which the scores are linear.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows of category codes.

        Returns
        -------
        T : sparse array of shape (n_samples, sum of n_categories_)
            Indicators of the categories, named by `statistic_names_`. A missing value or an unknown
            category has none.
        """
        rows, sizes = self._codes(X), self._params.levels
        known = (rows >= 0) & (rows < sizes)  # NaN is neither
        at = (np.cumsum(sizes) - sizes + np.where(known, rows, 0)).astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        return sparse.csr_array((np.ones(ends[-1]), at[known], ends), shape=(len(rows), int(sizes.sum())))

    @property
    def statistic_names_(self) -> NDArray[Any]:
        """Names of the columns of `statistics`: "x0=2" is category 2 of the first column."""
        sizes = self._params.levels
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(len(sizes))])
        pairs = zip(names, sizes, strict=True)
        return np.array([f"{name}={code}" for name, size in pairs for code in range(size)], dtype=object)

    @property
    def coef_(self) -> Floats:
        """Weights of `statistics`, (n_classes, Σ L_j), or (1, Σ L_j) for binary problems."""
        W = self._params.log_p.T
        return np.ascontiguousarray(W[1:] - W[:1] if len(W) == 2 else W)

    @property
    def intercept_(self) -> Floats:
        """Constant terms of the scores, ln p(C_k), (n_classes,), or (1,) for binary problems."""
        validation.fitted(self)
        b = self._model.log_prior
        return np.asarray(b[1:] - b[:1] if len(b) == 2 else b)

    def to_linear(self) -> LinearClassifier:
        """The model as a linear classifier of the rows of `statistics`, with the same predictions.

        Returns
        -------
        model : LinearClassifier
            Fitted linear classifier with `coef_` and `intercept_`, and without densities.
        """
        W = np.ascontiguousarray(self._params.log_p.T)
        return LinearClassifier(W, self._model.log_prior, self.classes_)

    @property
    def _params(self) -> Categories:
        validation.fitted(self)
        params = self._model.params
        assert isinstance(params, Categories)
        return params

    def _codes(self, X: Any) -> Floats:
        """Rows of codes; what is none is missing, as in every answer, and is said."""
        validation.fitted(self)
        rows = Dense(validation.dense_rows(self, X, gaps=True))
        support = self._params.support
        assert support is not None
        cells = support.outside(rows)
        if len(cells[0]):
            columns, counts = np.unique(cells[1], return_counts=True)
            self._warn_of_skipped(dict(zip(columns.tolist(), counts.tolist(), strict=True)))
        return rows.without(cells).array if len(cells[0]) else rows.array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
