"""What classifiers make of scores and posteriors: labels, decisions by cost, other class priors."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.array_types import Floats
from likelier.estimators import validation
from likelier.estimators.priors import adapted_to, warn_of_priors, weights_by_class
from likelier.estimators.sources import by_block
from likelier.model import log_of

# From probabilities to decisions. Functions of an estimator, which classes take as methods.


def cheapest(P: NDArray[Any], classes: NDArray[Any], costs: Any, reject: float | None) -> NDArray[Any]:
    """The label of least expected cost for each row, from p(C_k | x), (n, K); see `decide`."""
    K = len(classes)
    C = 1.0 - np.eye(K) if costs is None else np.asarray(costs, dtype=np.float64)
    if C.shape != (K, K) or not np.isfinite(C).all():
        raise ValueError(
            f"costs must be a finite ({K}, {K}) table [true class, decision]; got shape {C.shape}"
        )
    expected = P @ C  # (n, K)
    labels = classes[expected.argmin(axis=1)]
    if reject is None:
        return np.asarray(labels)
    if not np.isfinite(reject):
        raise ValueError(f"reject must be a finite number (a cost); got {reject!r}.")
    decided = labels.astype(object)
    decided[~(expected.min(axis=1) <= reject)] = None  # also where nothing is known: NaN
    return np.asarray(decided)


@by_block
def decide(self: Any, X: Any, costs: Any = None, reject: float | None = None) -> NDArray[Any]:
    """Label with the least expected cost for each row, given the probabilities of `predict_proba`.

    Parameters
    ----------
    X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
        Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
        collection gives a lazy result.
    costs : array-like of shape (n_classes, n_classes), default=None
        costs[j, k] is the cost of deciding for class k when the true class is j, in the order of
        `classes_`. None: 0 for a correct decision and 1 for every error.
    reject : float, default=None
        Cost of leaving a row undecided. Rows for which every label has a larger expected cost get None.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        The chosen labels; an object array if `reject` is given.

    Raises
    ------
    ValueError
        If `costs` is not a finite matrix of that shape, or `reject` is not finite.
    """
    return cheapest(self.predict_proba(X), self.classes_, costs, reject)


# Linear scores, which an estimator gives by `_ask(X, link)`, and their softmax.
#
# Other class priors turn p(C_k | x) into p(C_k | x) π_k / π⁰_k, normalised to sum to 1,
# where π⁰ are the class frequencies of the training rows (`_training_shares`).


@by_block
def decision_function(self: Any, X: Any) -> Floats:
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
def predict(self: Any, X: Any, priors: Any = None) -> NDArray[Any]:
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
    best = self._ask(X, links.argmax) if priors is None else _with_priors(self, X, priors).argmax(axis=1)
    return np.asarray(self.classes_[best])


@by_block
def predict_proba(self: Any, X: Any, priors: Any = None) -> Floats:
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
        return np.asarray(self._ask(X, links.softmax))
    Z = _with_priors(self, X, priors)
    links.softmax.apply(Z, Z)
    return Z


@by_block
def predict_log_proba(self: Any, X: Any, priors: Any = None) -> Floats:
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
        return np.asarray(self._ask(X, links.log_softmax))
    Z = _with_priors(self, X, priors)
    links.log_softmax.apply(Z, Z)
    return Z


def adapt_priors(
    self: Any, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
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
    logs = partial(self._ask, X, links.log_softmax)
    return priors_for(self, logs, self._training_shares, sample_weight, tol, max_iter)


def _with_priors(self: Any, X: Any, priors: Any) -> Floats:
    """Scores whose softmax are the posteriors under other priors."""
    Z = self._ask(X, links.log_softmax)
    new = validation.priors_of(priors, len(self.classes_), classes=self.classes_)
    return np.asarray(Z + log_of(new) - log_of(self._training_shares()))


def training_shares(self: Any) -> Floats:
    """(K,) of the classes, by weight, among the rows of the fit."""
    n = getattr(getattr(self, "_statistics", None), "n", None)
    if n is None:
        raise ValueError(
            f"Other priors are relative to the class frequencies of the training rows, which this "
            f"{type(self).__name__} does not keep: use a LogisticRegression that was fitted to them, "
            "or saved with its statistics."
        )
    return np.asarray(n / n.sum())


# The class priors of rows without labels, by classifiers that know posteriors alone.


def priors_for(
    estimator: Any,
    log_posteriors: Callable[[], Floats],
    shares: Callable[[], Floats],
    sample_weight: Any,
    tol: float,
    max_iter: int,
) -> Floats:
    """`adapt_priors` of a classifier that knows posteriors alone, (n, K), and the shares of its classes."""
    validation.number("tol", tol, 0.0)
    most = int(validation.number("max_iter", max_iter, 1, whole=True))
    logs = log_posteriors()
    w = validation.weights_of(sample_weight, len(logs))
    if w is not None:
        validation.weighty(w)
    found = adapted_to(logs, shares(), w, tol, most)
    warn_of_priors(estimator, found, tol, most)
    return found.prior


def learned_shares(estimator: Any, n: Floats | None) -> Floats:
    """(K,) of the classes, by weight, class_weight included, among the rows that were learned from.

    n: the weight of each class's rows; None: it is not known.
    """
    if n is None:
        raise ValueError(
            f"Other priors are relative to the class frequencies of the training rows, which this "
            f"{type(estimator).__name__} does not keep: fit it again, or save it with its statistics."
        )
    factor = weights_by_class(getattr(estimator, "class_weight", None), estimator.classes_, n)
    shares = n if factor is None else n * factor
    return np.asarray(shares / shares.sum())
