"""Naive Bayes for one kind of column: GaussianNB, and models of counts and booleans."""

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.array_types import Floats
from likelier.data import Dense
from likelier.estimators import validation
from likelier.estimators.base import Names
from likelier.estimators.generative.base import Scaling, prior_of
from likelier.estimators.generative.one_pass import OnePassClassifier
from likelier.estimators.linear_classifier import LinearClassifier
from likelier.estimators.predictions import Contributions
from likelier.estimators.sources import by_block
from likelier.families import (
    Bernoulli,
    Bernoullis,
    Complement,
    Diagonal,
    DiagonalGaussian,
    Multinomial,
    Multinomials,
    Poisson,
    Poissons,
)
from likelier.model import Bayes, UnweightedBayes, log_of

# Naive Bayes for counts and booleans.

LEAST_ALPHA = 1e-10  # unless force_alpha


def lifted(estimator: Any) -> Iterator[str]:
    """What there is to say of an alpha that is raised."""
    if not estimator.force_alpha and np.min(estimator.alpha) < LEAST_ALPHA:
        yield (
            f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. Use "
            "`force_alpha=True` to keep alpha unchanged."
        )


def smoothing(alpha: Any) -> float | Floats:
    """alpha, a number from 0 on or an array of them, one for each column."""
    if np.ndim(alpha) == 0:
        return validation.number("alpha", alpha, 0.0)
    given = np.asarray(alpha, dtype=np.float64)
    if given.ndim != 1 or not np.isfinite(given).all():
        raise ValueError(f"alpha must be a number, or a list of finite numbers; got shape {given.shape}")
    if (given < 0).any():
        j = int(np.argmax(given < 0))
        raise ValueError(f"All values in alpha must be greater than 0. alpha[{j}] is {given[j]}.")
    return given


class AffineNB(OnePassClassifier):
    """a_k(x) = w_k·x + b_k, and a term that all classes share; two classes are one weight vector."""

    alpha: Any

    def _offset(self, model: Bayes) -> Floats:
        """What a row of no columns would score, (K,): the log priors."""
        return model.log_prior

    def _lines(self) -> tuple[Floats, Floats]:
        """W (K, p) and b (K,); of two classes their differences, (1, p) and (1,)."""
        validation.fitted(self)
        params: Any = self._model.params
        W, b = params.W, params.constant.sum(axis=1) + self._offset(self._model)
        return (W[1:] - W[:1], b[1:] - b[:1]) if len(b) == 2 else (W, b)

    @property
    def coef_(self) -> Floats:
        """Weights of the columns, (n_classes, n_features), or (1, n_features) for binary problems."""
        return self._lines()[0]

    @property
    def intercept_(self) -> Floats:
        """Constant terms of the scores, (n_classes,), or (1,) for binary problems."""
        return self._lines()[1]

    def to_linear(self) -> LinearClassifier:
        """The model as a linear classifier with the same predictions on rows without missing values.

        Returns
        -------
        model : LinearClassifier
            Fitted linear classifier with `coef_` and `intercept_`, and without densities.
        """
        W, b = self._lines()
        return LinearClassifier(W, b, self.classes_, getattr(self, "feature_names_in_", None))

    def contributions(self, X: Any) -> Contributions:
        """How much each column adds to the score of each class.

        Base and contributions add up to the joint log score of the class. A missing value contributes 0.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        contributions : Contributions
            Named tuple of `values` (n_samples, n_classes, n_features) and `base` (n_classes,);
            base + values.sum(axis=2) is the score of each class. `to_frame()` gives a pandas table.
        """
        validation.fitted(self)
        rows = validation.dense_rows(self, X, gaps=True)
        params: Any = self._model.params
        return Contributions.of(self, params.parts(_possible(params, rows)), self._offset(self._model))

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        never = (statistics.seen() == 0) & (statistics.n > 0)[:, None]  # (K, p)
        if never.any():
            k = int(never.any(axis=1).argmax())
            some = validation.named(names, np.flatnonzero(never[k]))
            yield (
                f"in class {target[k]} every cell of column {some} is missing: counts there are those of "
                "all classes, so that the column says little for or against it."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _possible(params: Any, X: Floats) -> Floats:
    """X without the cells outside the support, which count as missing."""
    if params.support is None:
        return X
    return Dense(X).without(params.support.outside(Dense(X))).array


# What scikit-learn's three count models share: parameters out of sums, to which alpha is added.


def added(estimator: Any) -> float | Floats:
    """The alpha that a count model adds to its sums; its hyper-parameters are checked."""
    for name in ("force_alpha", "fit_prior"):
        validation.boolean(name, getattr(estimator, name))
    alpha = smoothing(estimator.alpha)
    return alpha if estimator.force_alpha else np.maximum(alpha, LEAST_ALPHA)


def count_model(estimator: Any, statistics: Any, classes: NDArray[Any]) -> Bayes:
    """Its parameters and priors, from sums."""
    n, p = statistics.n, statistics.total.shape[1]
    if np.ndim(estimator.alpha) == 1 and len(estimator.alpha) != p:
        raise ValueError(
            "When alpha is an array, it should contains `n_features`. "
            f"Got {len(estimator.alpha)} elements instead of {p}."
        )
    params = estimator._family(classes).estimate(statistics)
    if estimator.class_prior is not None:
        prior = validation.priors_of(estimator.class_prior, len(n), strict=False, classes=classes)
        return Bayes(params, log_of(prior))
    log_prior = log_of(n / n.sum()) if estimator.fit_prior else np.full(len(n), -np.log(len(n)))
    return Bayes(params, log_prior)


def count_attributes(model: Bayes, log_prob: Floats, statistics: Any | None) -> dict[str, Any]:
    """What it shows, as scikit-learn's."""
    shown = {"feature_log_prob_": log_prob, "class_log_prior_": model.log_prior}
    if statistics is not None:
        shown |= {"class_count_": statistics.n.copy(), "feature_count_": statistics.total.copy()}
    return shown


class OnceFitted:
    """In place of a method: it is there only once a model is fitted.

    scikit-learn's check of decision functions hands negative numbers to whatever model has one.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        validation.fitted(instance)
        return self.method.__get__(instance, owner)


class BernoulliNB(AffineNB):
    """Bernoulli naive Bayes for booleans: a_k(x) = ln p(C_k) + Σ_j x_j ln p_kj + (1 - x_j) ln(1 - p_kj).

    Drop-in for scikit-learn's class, with missing values, merging, sampling and conditional models. The
    scores are linear in the columns: `coef_` is the log-odds ln p/(1 - p), and `to_linear()` predicts the
    same for rows of 0 and 1.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace or Lidstone) smoothing: pseudo-counts added to the counts of every class, the same
        for all columns or one number for each. 0 is no smoothing.
    force_alpha : bool, default=True
        If False, values of alpha below 1e-10 are raised to 1e-10; if True, alpha is used as it is.
    binarize : float or None, default=0.0
        Threshold: a value above it is true. None: the columns are 0 or 1 already, and other values are
        refused in `fit`.
    fit_prior : bool, default=True
        Whether the class priors are the class frequencies of the training rows; if False, all classes have
        the same prior. Ignored if `class_prior` is given.
    class_prior : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; rescaled to sum to 1. None: as
        `fit_prior` says.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of the training rows of each class. Missing on models without statistics, such
        as those returned by `condition` and `marginal`.
    class_log_prior_ : ndarray of shape (n_classes,)
        Natural logarithm of the class priors.
    feature_count_ : ndarray of shape (n_classes, n_features_in_)
        Weighted sum of each column within each class, before smoothing. Missing on models without
        statistics.
    feature_log_prob_ : ndarray of shape (n_classes, n_features_in_)
        ln p(x_j is true | C_k), with smoothing.
    coef_ : ndarray of shape (n_classes, n_features_in_), or (1, n_features_in_) for binary problems
        Weights of the columns in the linear scores.
    intercept_ : ndarray of shape (n_classes,), or (1,) for binary problems
        Constant terms of the linear scores.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    NaiveBayes : A family of distributions for each column, chosen automatically.
    CategoricalNB : For columns with more than two categories.
    MultinomialNB : For word counts instead of word occurrence.

    References
    ----------
    .. [1] McCallum, A. and Nigam, K. (1998). A comparison of event models for naive Bayes text
       classification. AAAI-98 Workshop on Learning for Text Categorization, 41-48.

    Examples
    --------
    >>> import numpy as np
    >>> from likelier import BernoulliNB
    >>> X, y = np.array([[1, 0], [1, 1], [0, 1], [0, 1]]), np.array([0, 0, 1, 1])
    >>> BernoulliNB().fit(X, y).predict_proba([[1, 0], [np.nan, 1]]).round(3)
    array([[0.857, 0.143],
           [0.4  , 0.6  ]])
    """

    assumes = "generative; columns that are true or false, independent in each class; linear boundary"

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _family(self, classes: NDArray[Any]) -> Bernoulli:
        threshold = None if self.binarize is None else validation.number("binarize", self.binarize, 0.0)
        return Bernoulli(added(self), threshold)

    def _model_of(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        return count_model(self, statistics, classes)

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        assert isinstance(model.params, Bernoullis)
        shown = super()._shown(model, statistics, target)
        return shown | count_attributes(model, model.params.log_yes, statistics)

    def _settings(self) -> Iterator[str]:
        yield from lifted(self)


class MultinomialNB(AffineNB):
    """Multinomial naive Bayes for word counts: a_k(x) = ln p(C_k) + Σ_j x_j ln θ_kj.

    Drop-in for scikit-learn's class. A row is a document of N = Σ_j x_j draws, N given, and x_j is the
    count of term j. `score_samples` is the exact ln p(x | N), with the multinomial coefficient;
    `predict_joint_log_proba` leaves the coefficient out, as scikit-learn does.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace or Lidstone) smoothing: pseudo-counts added to the counts of every class, the same
        for all columns or one number for each. 0 is no smoothing.
    force_alpha : bool, default=True
        If False, values of alpha below 1e-10 are raised to 1e-10; if True, alpha is used as it is.
    fit_prior : bool, default=True
        Whether the class priors are the class frequencies of the training rows; if False, all classes have
        the same prior. Ignored if `class_prior` is given.
    class_prior : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; rescaled to sum to 1. None: as
        `fit_prior` says.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of the training rows of each class. Missing on models without statistics, such
        as those returned by `condition` and `marginal`.
    class_log_prior_ : ndarray of shape (n_classes,)
        Natural logarithm of the class priors.
    feature_count_ : ndarray of shape (n_classes, n_features_in_)
        Weighted sum of each column within each class, before smoothing. Missing on models without
        statistics.
    feature_log_prob_ : ndarray of shape (n_classes, n_features_in_)
        ln θ_kj, the log probability of each term in each class, with smoothing.
    coef_ : ndarray of shape (n_classes, n_features_in_), or (1, n_features_in_) for binary problems
        Weights of the columns in the linear scores.
    intercept_ : ndarray of shape (n_classes,), or (1,) for binary problems
        Constant terms of the linear scores.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    ComplementNB : Often better if the classes are imbalanced.
    BernoulliNB : For word occurrence instead of word counts.
    PoissonNB : For counts that are not draws from one vocabulary.

    References
    ----------
    .. [1] McCallum, A. and Nigam, K. (1998). A comparison of event models for naive Bayes text
       classification. AAAI-98 Workshop on Learning for Text Categorization, 41-48.

    Examples
    --------
    >>> import numpy as np
    >>> from likelier import MultinomialNB
    >>> X, y = np.array([[3, 0, 1], [2, 1, 0], [0, 2, 2], [0, 3, 1]]), np.array([0, 0, 1, 1])
    >>> MultinomialNB().fit(X, y).predict_proba([[1, 0, 0], [0, 2, 0]]).round(3)
    array([[0.868, 0.132],
           [0.119, 0.881]])
    """

    assumes = "generative; a row is draws of words, the chances those of its class; linear boundary"

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    decision_function: Any = OnceFitted(AffineNB.decision_function)

    def _family(self, classes: NDArray[Any]) -> Multinomial:
        return Multinomial(added(self))

    def _model_of(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        return count_model(self, statistics, classes)

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        assert isinstance(model.params, Multinomials)
        shown = super()._shown(model, statistics, target)
        return shown | count_attributes(model, model.params.log_theta, statistics)

    def _settings(self) -> Iterator[str]:
        yield from lifted(self)

    @by_block
    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Joint log score Σ_j x_j ln θ_kj + ln p(C_k): ln p(x, C_k) without the multinomial coefficient.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            The joint log score of each class, in the order of `classes_`.
        """
        return self._ask(X, "posterior", links.identity)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class NoDensity:
    """In place of a method: there is none, and `hasattr` says so."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        raise AttributeError(
            f"{owner.__name__} has no {self.name!r}, since its weights are not those of a density"
        )


class ComplementNB(AffineNB):
    """Complement naive Bayes for word counts: a_k(x) = -Σ_j x_j ln θ̃_kj, θ̃_k from all other classes.

    Drop-in for scikit-learn's class. The scores are neither densities nor probabilities, so that the
    methods that need a density (`sample`, `score_samples`, `condition`, `impute` and others) do not exist.
    A missing value adds nothing to any class.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace or Lidstone) smoothing: pseudo-counts added to the counts of every class, the same
        for all columns or one number for each. 0 is no smoothing.
    force_alpha : bool, default=True
        If False, values of alpha below 1e-10 are raised to 1e-10; if True, alpha is used as it is.
    fit_prior : bool, default=True
        Whether `class_log_prior_` holds the class frequencies of the training rows. The scores do not
        depend on it.
    class_prior : array-like of shape (n_classes,) or dict, default=None
        Class priors to show in `class_log_prior_`. The scores do not depend on them.
    norm : bool, default=False
        Whether the weights of each class are divided by their sum, the second normalisation of [1]_.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of the training rows of each class. Missing on models without statistics, such
        as those returned by `condition` and `marginal`.
    class_log_prior_ : ndarray of shape (n_classes,)
        Natural logarithm of the class priors.
    feature_count_ : ndarray of shape (n_classes, n_features_in_)
        Weighted sum of each column within each class, before smoothing. Missing on models without
        statistics.
    feature_all_ : ndarray of shape (n_features_in_,)
        Weighted sum of each column over all classes. Missing on models without statistics.
    feature_log_prob_ : ndarray of shape (n_classes, n_features_in_)
        Weights of the columns, from the other classes.
    coef_ : ndarray of shape (n_classes, n_features_in_), or (1, n_features_in_) for binary problems
        Weights of the columns in the linear scores.
    intercept_ : ndarray of shape (n_classes,), or (1,) for binary problems
        Constant terms of the linear scores.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    MultinomialNB : The model with a density and class priors.

    References
    ----------
    .. [1] Rennie, J. D. M., Shih, L., Teevan, J. and Karger, D. R. (2003). Tackling the poor assumptions of
       naive Bayes text classifiers. ICML, 616-623.

    Examples
    --------
    >>> import numpy as np
    >>> from likelier import ComplementNB
    >>> X, y = np.array([[3, 0, 1], [2, 1, 0], [0, 2, 2], [0, 3, 1]]), np.array([0, 0, 1, 1])
    >>> ComplementNB().fit(X, y).predict([[1, 0, 0], [0, 2, 0]])
    array([0, 1])
    """

    assumes = "words of all other classes tell against a class; linear boundary"

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm

    decision_function: Any = OnceFitted(AffineNB.decision_function)
    score_samples: Any = NoDensity()
    sample: Any = NoDensity()
    impute: Any = NoDensity()
    marginal: Any = NoDensity()
    condition: Any = NoDensity()
    adapt_priors: Any = NoDensity()
    is_outlier: Any = NoDensity()

    @by_block
    def predict(self, X: Any) -> NDArray[Any]:  # type: ignore[override]
        """Label of the largest score for each row.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        codes = self._ask(X, "posterior", links.argmax)
        return np.asarray(self._target[codes])

    @by_block
    def predict_proba(self, X: Any) -> Floats:  # type: ignore[override]
        """Softmax of the scores. It ranks the classes of a row; it is not a calibrated probability.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`; rows sum to 1.
        """
        return self._ask(X, "posterior", links.softmax)

    @by_block
    def predict_log_proba(self, X: Any) -> Floats:  # type: ignore[override]
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`.
        """
        return self._ask(X, "posterior", links.log_softmax)

    def _family(self, classes: NDArray[Any]) -> Complement:
        return Complement(added(self), validation.boolean("norm", self.norm))

    def _model_of(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        found = count_model(self, statistics, classes)
        return UnweightedBayes(found.params, found.log_prior)

    def _offset(self, model: Bayes) -> Floats:
        return np.zeros(len(model.log_prior))

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        params: Any = model.params
        shown = super()._shown(model, statistics, target) | count_attributes(model, params.W, statistics)
        if statistics is not None:
            shown["feature_all_"] = statistics.total.sum(axis=0)
        return shown

    def _settings(self) -> Iterator[str]:
        yield from lifted(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class PoissonNB(AffineNB):
    """Poisson naive Bayes for counts: a_k(x) = ln p(C_k) + Σ_j x_j ln λ_kj - λ_kj - ln x_j!.

    Each column is a count, independent of the others within a class. The rate of class k in column j is
    (Σx + α m) / (n + α), with m the mean of the column over all rows.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing: the number of pseudo-rows added to each class with the mean count of all rows, the same
        for all columns or one number for each. 0 is no smoothing.
    priors : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; they must sum to 1. None: the class
        frequencies of the training rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of the training rows of each class. Missing on models without statistics, such
        as those returned by `condition` and `marginal`.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probability of each class.
    rate_ : ndarray of shape (n_classes, n_features_in_)
        Poisson rate λ of each column in each class.
    coef_ : ndarray of shape (n_classes, n_features_in_), or (1, n_features_in_) for binary problems
        Weights of the columns in the linear scores.
    intercept_ : ndarray of shape (n_classes,), or (1,) for binary problems
        Constant terms of the linear scores.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    MultinomialNB : For counts that are draws from one vocabulary.
    NaiveBayes : A family of distributions for each column, chosen automatically.

    Examples
    --------
    >>> import numpy as np
    >>> from likelier import PoissonNB
    >>> X, y = np.array([[3, 0], [2, 1], [0, 2], [1, 5]]), np.array([0, 0, 1, 1])
    >>> PoissonNB().fit(X, y).predict_proba([[2, 0], [0, 3]]).round(2)
    array([[0.93, 0.07],
           [0.06, 0.94]])
    """

    assumes = "generative; Poisson counts, independent in each class; linear boundary"

    def __init__(self, *, alpha: Any = 1.0, priors: Any = None) -> None:
        self.alpha = alpha
        self.priors = priors

    def _family(self, classes: NDArray[Any]) -> Poisson:
        return Poisson(smoothing(self.alpha))

    def _model_of(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        p = statistics.total.shape[1]
        if np.ndim(self.alpha) == 1 and len(self.alpha) != p:
            raise ValueError(
                f"alpha must be a number, or one for each of the {p} columns; got {len(self.alpha)}."
            )
        prior = prior_of(self.priors, statistics.n, classes)
        return Bayes(self._family(classes).estimate(statistics), log_of(prior))

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        assert isinstance(model.params, Poissons)
        shown = super()._shown(model, statistics, target)
        shown |= {"rate_": model.params.rate, "class_prior_": model.prior}
        if statistics is not None:
            shown["class_count_"] = statistics.n.copy()
        return shown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


# Naive Bayes: columns independent given the class.


class GaussianNB(OnePassClassifier):
    """Gaussian naive Bayes for real columns: a_k(x) = ln p(C_k) + Σ_j ln N(x_j; m_kj, v_kj).

    Drop-in for scikit-learn's class, with sparse input, missing values, merging, sampling and conditional
    models. `epsilon_` is computed from all rows so far, so that one `fit` and many calls of `partial_fit`
    agree.

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; they must sum to 1. None: the class
        frequencies of the training rows.
    var_smoothing : float, default=1e-9
        Share of the largest column variance that is added to every variance for numerical stability.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of the training rows of each class. Missing on models without statistics, such
        as those returned by `condition` and `marginal`.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probability of each class.
    theta_ : ndarray of shape (n_classes, n_features_in_)
        Mean of each column in each class.
    var_ : ndarray of shape (n_classes, n_features_in_)
        Variance of each column in each class, with `epsilon_` added.
    epsilon_ : float
        The amount added to the variances. Missing on models without statistics.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    NaiveBayes : A family of distributions for each column, chosen automatically.
    LinearDiscriminantAnalysis : Correlated columns, with one covariance for all classes.
    QuadraticDiscriminantAnalysis : Correlated columns, with a covariance for each class.

    References
    ----------
    .. [1] Chan, T. F., Golub, G. H. and LeVeque, R. J. (1979). Updating formulae and a pairwise algorithm
       for computing sample variances. Stanford University, STAN-CS-79-773.

    Examples
    --------
    >>> from likelier import GaussianNB
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> model.predict(X[[0, 70]])
    array([0, 2])
    >>> model.condition({2: 5.0}).predict_proba([[5.8, 3.0, 1.8]]).round(2)
    array([[0.  , 0.11, 0.89]])
    """

    assumes = "generative; Gaussian columns, independent in each class; quadratic boundary"
    _single_shown = frozenset({"class_count_", "class_prior_", "epsilon_", "theta_", "var_"})
    _single_answers = frozenset({"predict_proba", "predict_log_proba", "predict_joint_log_proba"})

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _family(self, classes: NDArray[Any]) -> DiagonalGaussian:
        return DiagonalGaussian(validation.number("var_smoothing", self.var_smoothing, 0.0))

    def _scaling(self) -> Scaling:
        return "together" if self.var_smoothing else "column"

    def _model_of(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        prior = prior_of(self.priors, statistics.n, classes)
        return Bayes(self._family(classes).estimate(statistics), log_of(prior))

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        params = model.params
        assert isinstance(params, Diagonal)
        shown = super()._shown(model, statistics, target)
        if statistics is not None:
            floor = DiagonalGaussian(self.var_smoothing).floor(statistics)
            # With smoothing, all columns are in one unit.
            shown["epsilon_"] = float(model.outside(np.full_like(params.mean[0], floor), 2)[0])
            shown["class_count_"] = statistics.n.copy()
        theta, var = model.outside(params.mean), model.outside(params.var, 2)
        return shown | {"theta_": theta, "var_": var, "class_prior_": model.prior}

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        still = (statistics.S == 0) & (statistics.seen > 0)  # (K, p)
        if still.any():
            k = int(still.any(axis=1).argmax())
            columns = np.flatnonzero(still[k])
            yield (
                f"in class {target[k]}, {len(columns)} of {still.shape[1]} columns do not vary "
                f"({validation.named(names, columns)}): "
                "their variance there is epsilon_, a small share of the "
                "largest. Drop columns that are constant, or raise var_smoothing."
            )

    def contributions(self, X: Any) -> Contributions:
        """How much each column adds to the score of each class: ln N(x_j; m_kj, v_kj).

        The base is ln p(C_k); base and contributions add up to ln p(x, C_k). A missing value contributes 0.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        contributions : Contributions
            Named tuple of `values` (n_samples, n_classes, n_features) and `base` (n_classes,);
            base + values.sum(axis=2) is the score of each class. `to_frame()` gives a pandas table.
        """
        validation.fitted(self)
        params = self._model.params
        assert isinstance(params, Diagonal)
        rows = validation.dense_rows(self, X, gaps=True)
        return Contributions.of(self, self._model.parts(rows, params.parts), self._model.log_prior)
