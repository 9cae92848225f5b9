"""Bayes' rule over class densities of any kind."""

import copy
import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples, has_fit_parameter

from likelier import links
from likelier.array_types import Floats
from likelier.data import Arrays, SkippedWarning, code, levels_of
from likelier.data.dask import is_collection
from likelier.data.transforms import Units, source_in_units
from likelier.engines import run
from likelier.estimators import exports, posteriors, validation
from likelier.estimators.base import Estimator
from likelier.estimators.generative.base import scaling_of, seen_only, units_for, warn_of_skipped
from likelier.estimators.priors import PosteriorSums, likeliest, warn_of_priors
from likelier.estimators.sources import by_block, stored
from likelier.export.describe import Scored
from likelier.export.program import NotExpressible
from likelier.families import Family, Params
from likelier.links import identity
from likelier.model import Bayes, ask, log_of
from likelier.warning_location import outside

# Densities that are not made of likelier's statistics, one for each class, asked together.


class Densities(Protocol):
    """ln p(x | C_k) for K classes, of rows of whatever kind."""

    @property
    def shown(self) -> Any: ...

    @property
    def columns(self) -> dict[str, Any]:
        """What is known of the columns of X, as scikit-learn names it."""

    def logs(self, X: Any, asker: Any) -> Floats:
        """(n, K); `asker` is the fitted estimator, whose columns X must have if they are known."""

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Any:
        """A row of each of these classes, which are sorted."""


def is_family(density: Any) -> bool:
    """Whether it is a family of likelier's: statistics, and an estimate from them."""
    methods = (getattr(density, name, None) for name in ("stats", "estimate"))
    return not inspect.isclass(density) and all(map(callable, methods))


# ---- likelier's own ------------------------------------------------------------------------------
@dataclass
class FamilyDensities:
    """A family's: rows are counted by class, as by the estimators that are made of it."""

    params: Params
    names: NDArray[Any] | None
    units: Units | None = None  # of the columns of params

    @classmethod
    def fitted(
        cls, family: Family, X: Any, codes: NDArray[np.int32], w: Floats | None, classes: NDArray[Any]
    ) -> Self:
        X = validation.opened(X)
        rows, K = validation.rows_of(family, X), len(classes)
        source = Arrays(rows, codes, w, names=validation.feature_names(X))
        with validation.naming(source):
            units = units_for(source, scaling_of(family))
            inside = source if units is None else source_in_units(source, units)
            found = run(inside, lambda: family.stats(K, rows.shape[1]))
        if not found.finite():
            raise ValueError("Input X contains values so large that their sums of squares overflow.")
        return cls(family.estimate(found), source.names, units)

    @property
    def _model(self) -> Bayes:
        return Bayes(self.params, np.zeros(self.params.shape[0]), units=self.units)

    @property
    def shown(self) -> Params:
        return self.params

    @property
    def columns(self) -> dict[str, Any]:
        names = {} if self.names is None else {"feature_names_in_": self.names}
        return {"n_features_in_": self.params.shape[1], **names}

    def logs(self, X: Any, asker: Any) -> Floats:
        source, support = validation.known_rows(asker, X), self.params.support
        with validation.naming(source):
            Z, skipped = ask(self._model.joint, source, identity, support)
        if skipped and support is not None:
            warn_of_skipped(asker, skipped, support)
        return Z

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return self._model.sample(codes, rng)


# ---- others --------------------------------------------------------------------------------------
@dataclass
class UserDensities:
    """Objects with `fit` and `score_samples`, one for each class."""

    each: list[Any]

    @classmethod
    def fitted(
        cls, density: Any, X: Any, codes: NDArray[np.int32], w: Floats | None, classes: NDArray[Any]
    ) -> Self:
        each = _for_classes(density, classes)
        for one, label in zip(each, classes, strict=True):
            _check(one, f"class {label}" if isinstance(density, Mapping) else None)
        if w is not None:
            for one in each:
                _weight_name(one)
        X = _by_rows(X)
        for k, one in enumerate(each):
            rows = np.flatnonzero(codes == k)
            how = {} if w is None else {_weight_name(one): w[rows]}
            try:
                one.fit(_safe_indexing(X, rows), **how)
            except Exception as problem:
                name = type(one).__name__
                problem.add_note(f"while fitting {name} to the {len(rows)} rows of class {classes[k]}")
                raise
        return cls(each)

    @property
    def shown(self) -> list[Any]:
        return self.each

    @property
    def columns(self) -> dict[str, Any]:
        return {}

    def logs(self, X: Any, asker: Any) -> Floats:
        n = _num_samples(X)
        Z = np.empty((n, len(self.each)))
        for k, one in enumerate(self.each):
            Z[:, k] = _checked(one.score_samples(X), n, type(one).__name__)
        return Z

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Any:
        counts = zip(*np.unique(codes, return_counts=True), strict=True)
        pieces = [_drawn(self.each[k], int(n), int(rng.integers(2**31))) for k, n in counts]
        if all(isinstance(piece, np.ndarray) for piece in pieces):
            return np.concatenate(pieces)
        return [row for piece in pieces for row in piece]


def _by_rows(X: Any) -> Any:
    """X, or, if its rows cannot be taken by number, the same rows so that they can."""
    if issparse(X):
        return X.tocsr()
    return X if hasattr(X, "__getitem__") or hasattr(X, "take") else np.asarray(X)


def _for_classes(density: Any, classes: NDArray[Any]) -> list[Any]:
    """An unfitted density for each class."""
    if not isinstance(density, Mapping):
        return [_unfitted(density) for _ in classes]
    labels = classes.tolist()
    without = [label for label in labels if label not in density]
    unknown = [label for label in density if label not in labels]
    if without or unknown:
        which = f"none for class {without[0]!r}" if without else f"one for {unknown[0]!r}, which y has not"
        raise ValueError(f"density must have one entry for each class of y; it has {which}.")
    return [_unfitted(density[label]) for label in labels]


def _unfitted(density: Any) -> Any:
    try:
        return clone(density)
    except TypeError:  # it has no get_params
        return copy.deepcopy(density)


def _check(density: Any, where: str | None) -> None:
    """Refuse what is no density."""
    if inspect.isclass(density):
        name = density.__name__
        raise TypeError(f"density is the class {name}: give an object, {name}(...).")
    lacks = [name for name in ("fit", "score_samples") if not hasattr(density, name)]
    if lacks:
        raise TypeError(
            f"density{'' if where is None else f' of {where}'} is {density!r:.200}, which has no "
            f"{' and no '.join(lacks)}: it must be an object with fit(X) and score_samples(X), ln p(x) of "
            "each row (scikit-learn's KernelDensity or GaussianMixture, for example), a dict of such "
            "objects by class, or a Family of likelier's."
        )


def _weight_name(density: Any) -> str:
    """By which name its `fit` takes weights; refused if it takes none."""
    last, prefix = density, ""
    while isinstance(last, Pipeline):
        name, last = last.steps[-1]
        prefix += f"{name}__"
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(last).__name__}.fit takes no sample_weight: leave the weights out, or take a density "
            "that knows of them (scikit-learn's KernelDensity, a Family of likelier's)."
        )
    return prefix + "sample_weight"


def _checked(z: Any, n: int, name: str) -> Floats:
    """What score_samples must be."""
    found = np.asarray(z, dtype=np.float64)
    if found.shape != (n,):
        raise ValueError(
            f"{name}.score_samples must give ln p(x) of each row: shape ({n},), not {found.shape}."
        )
    bad = np.flatnonzero(np.isnan(found) | (found == np.inf))
    if len(bad):
        row = bad[0]
        raise ValueError(
            f"{name}.score_samples gives {found[row]} for row {row}: that is not a log density."
        )
    return found


def _drawn(density: Any, n: int, seed: int) -> Any:
    """n rows of a density that can draw some."""
    if not hasattr(density, "sample"):
        raise ValueError(
            f"{type(density).__name__} has no method `sample`, so that no rows can be drawn from it."
        )
    if "random_state" in inspect.signature(density.sample).parameters:
        drawn = density.sample(n, random_state=seed)
    elif "random_state" in getattr(density, "get_params", dict)():
        drawn = copy.copy(density).set_params(random_state=seed).sample(n)
    else:
        drawn = density.sample(n)
    return drawn[0] if isinstance(drawn, tuple) else drawn


# Bayes' rule over custom densities.


class BayesClassifier(ClassifierMixin, Estimator):
    """Bayes classifier with any class density: p(C_k | x) ∝ p(C_k) p(x | C_k).

    X is passed on to the density as it is (only its length and row indexing are used), so that rows may be
    sequences, texts, or whatever the density takes.

    Parameters
    ----------
    density : object, dict or Family
        Object with `fit(X)` and `score_samples(X)`, which returns ln p(x) of each row; a copy is fitted to
        the rows of each class. A dict {label: density} gives each class its own, and a `Family` of likelier
        is fitted to all classes in one pass.
    priors : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; they must sum to 1. None: the class
        frequencies of the training rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of the training rows of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probability of each class.
    densities_ : list of n_classes objects
        The fitted density of each class; for a `Family`, the parameters of all classes.
    n_features_in_ : int
        Number of columns seen in `fit`; only for a `Family`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only for a `Family`, and if X has names.

    See Also
    --------
    KernelDensityClassifier : Kernel densities, with merging and bandwidth selection.
    MixtureDiscriminantAnalysis : A mixture for each class.
    NaiveBayes : A family of distributions for each column.

    Examples
    --------
    >>> from likelier import BayesClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.mixture import GaussianMixture
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesClassifier(GaussianMixture(2, random_state=0)).fit(X, y)
    >>> model.predict(X[[0, 70]])
    array([0, 1])
    """

    def __init__(self, density: Any, *, priors: Any = None) -> None:
        self.density = density
        self.priors = priors

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit a density to the rows of each class. Rows of weight 0 are left out.

        Parameters
        ----------
        X : sequence of length n_samples
            Training rows in memory, in a form that the density takes.
        y : array-like of shape (n_samples,), default=None
            Class labels; required.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; the density's `fit` must take them.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Raises
        ------
        TypeError
            If `density` has no `fit` or no `score_samples`.
        ValueError
            If X is a source or a Dask collection, or `density` takes no sample weights.
        """
        if stored(X) or is_collection(X):
            what = "source" if stored(X) else "Dask collection"
            raise ValueError(f"X is a {what}, and BayesClassifier takes rows in memory: load them first.")
        labels, n = validation.labels_of(self, y), _num_samples(X)
        if len(labels) != n:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"X has {n} rows, y has {len(labels)}."
            )
        if n == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape={np.shape(X)}) while a minimum of 1 is required by "
                "BayesClassifier."
            )
        w = validation.weights_of(sample_weight, n)
        there = np.ones(n, dtype=np.bool_) if w is None else w > 0
        validation.weighty(there)
        classes = levels_of(labels[there])
        codes = np.where(there, code(labels, classes), -1).astype(np.int32)
        weights = np.ones(n) if w is None else w
        counts = np.asarray(np.bincount(codes[there], weights[there], len(classes)), dtype=np.float64)
        prior = counts / counts.sum()
        if self.priors is not None:
            prior = seen_only(validation.priors_of(self.priors, len(classes), classes=classes), counts)
        densities = self._densities(X, codes, w, classes)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(densities.columns)
        self.classes_, self.class_count_, self.class_prior_ = classes, counts, prior
        self._model = densities
        return self

    def _densities(
        self, X: Any, codes: NDArray[np.int32], w: Floats | None, classes: NDArray[Any]
    ) -> Densities:
        kind: Any = FamilyDensities if is_family(self.density) else UserDensities
        fitted: Densities = kind.fitted(self.density, X, codes, w, classes)
        return fitted

    @property
    def densities_(self) -> Any:
        """The fitted density of each class; for a family, the parameters of all classes."""
        if "_model" not in vars(self):
            raise AttributeError("not fitted yet")
        return self._model.shown

    # ---- answers -----------------------------------------------------------------------------------
    @by_block
    def predict(self, X: Any, priors: Any = None) -> NDArray[Any]:
        """Most probable class of each row.

        Parameters
        ----------
        X : sequence of length n_samples
            Rows, in a form that the density takes.
        priors : array-like of shape (n_classes,) or dict, default=None
            Class priors to use in place of the fitted ones, in the order of `classes_` or as {label:
            prior}; they must sum to 1.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        best = self._posterior(X, priors).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @by_block
    def predict_proba(self, X: Any, priors: Any = None) -> Floats:
        """Class probabilities p(C_k | x) of each row.

        A row with density 0 in every class gets the priors, with a warning.

        Parameters
        ----------
        X : sequence of length n_samples
            Rows, in a form that the density takes.
        priors : array-like of shape (n_classes,) or dict, default=None
            Class priors to use in place of the fitted ones, in the order of `classes_` or as {label:
            prior}; they must sum to 1.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`; rows sum to 1.
        """
        Z = self._posterior(X, priors)
        links.softmax.apply(Z, Z)
        return Z

    @by_block
    def predict_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """Natural logarithm of the class probabilities of each row.

        Parameters
        ----------
        X : sequence of length n_samples
            Rows, in a form that the density takes.
        priors : array-like of shape (n_classes,) or dict, default=None
            Class priors to use in place of the fitted ones, in the order of `classes_` or as {label:
            prior}; they must sum to 1.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`.
        """
        Z = self._posterior(X, priors)
        links.log_softmax.apply(Z, Z)
        return Z

    @by_block
    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Joint log probability ln p(x, C_k) of each row and class.

        Parameters
        ----------
        X : sequence of length n_samples
            Rows, in a form that the density takes.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`.
        """
        validation.fitted(self)
        return self._model.logs(X, self) + log_of(self.class_prior_)

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes, up to a term that all classes share.

        Parameters
        ----------
        X : sequence of length n_samples
            Rows, in a form that the density takes.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for binary problems
            For binary problems the log-odds of classes_[1].
        """
        Z = self._posterior(X, None)
        if len(self.classes_) != 2:
            return Z
        links.log_softmax.apply(Z, Z)
        return np.asarray(Z[:, 1] - Z[:, 0])

    decide = posteriors.decide

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """Estimate the class priors of new rows without labels, under label shift.

        Finds the priors under which the rows have the largest likelihood; pass them to `predict_proba`. The
        rows are scored once, and the model is not changed.

        Parameters
        ----------
        X : sequence of length n_samples
            Rows without labels, in a form that the density takes.
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
        """
        validation.fitted(self)
        validation.number("tol", tol, 0.0)
        most = int(validation.number("max_iter", max_iter, 1, whole=True))
        L = self._model.logs(X, self)
        w = validation.weights_of(sample_weight, len(L))
        if w is not None:
            validation.weighty(w)

        def look(prior: Floats) -> PosteriorSums:
            seen = PosteriorSums()
            seen.absorb(L + log_of(prior), w)
            return seen

        found = likeliest(look, self.class_prior_, tol, most)
        warn_of_priors(self, found, tol, most)
        return found.prior

    @by_block
    def score_samples(self, X: Any) -> Floats:
        """Log density of each row, ln p(x) = ln Σ_k p(C_k) p(x | C_k).

        Parameters
        ----------
        X : sequence of length n_samples
            Rows, in a form that the density takes.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            ln p(x) of each row.
        """
        Z = self.predict_joint_log_proba(X)
        out = np.empty(len(Z))
        links.log_sum_exp.apply(Z, out)
        return out

    def sample(
        self, n_samples: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        """Draw new rows and their labels, if the densities have a `sample` method.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        y : label, default=None
            Class to draw from. None: classes are drawn by their priors.
        random_state : int, RandomState or None, default=None
            Seed; an int gives the same rows each time.

        Returns
        -------
        X : ndarray or list of length n_samples
            The new rows, sorted by class.
        y : ndarray of shape (n_samples,)
            Their labels.

        Raises
        ------
        ValueError
            If a density has no `sample`, or y is not one of `classes_`.
        """
        validation.fitted(self)
        validation.number("n_samples", n_samples, 1, whole=True)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        if y is None:
            codes = np.sort(rng.choice(len(self.classes_), size=n_samples, p=self.class_prior_))
        else:
            if np.ndim(y) != 0:
                raise ValueError(f"y must be a single class label; got {y!r:.80}.")
            found = code(np.asarray([y]), self.classes_)[0]
            if found < 0:
                raise ValueError(f"y must be among the classes {self.classes_.tolist()}; got {y!r}.")
            codes = np.full(n_samples, found)
        return self._model.sample(codes, rng), self.classes_[codes]

    to_sql = exports.to_sql

    def _scored(self) -> Scored:
        """For exports."""
        densities = self._model
        if not isinstance(densities, FamilyDensities):
            raise NotExpressible(
                f"BayesClassifier of {self.density!r:.80} cannot be exported: its densities are objects of "
                "another library, of which no export knows how they are computed."
            )
        model = replace(densities._model, log_prior=log_of(self.class_prior_))
        return Scored(model.posterior, "softmax", model.params.support, draws_near=False)

    def _posterior(self, X: Any, priors: Any) -> Floats:
        """Scores whose softmax is p(C_k | x). Rows that no class can have tell nothing: the priors stay."""
        validation.fitted(self)
        known = self.classes_
        prior = (
            self.class_prior_ if priors is None else validation.priors_of(priors, len(known), classes=known)
        )
        Z = self._model.logs(X, self)
        Z += log_of(prior)
        nowhere = np.flatnonzero(np.isneginf(Z).all(axis=1))
        if len(nowhere):
            warnings.warn(
                f"BayesClassifier: {len(nowhere)} rows (the first: row {nowhere[0]}) have density 0 in "
                "every class; their probabilities are the priors.",
                SkippedWarning,
                stacklevel=outside(),
            )
            Z[nowhere] = log_of(prior)
        return Z

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = is_family(self.density)
        tags.no_validation = not family
        tags.input_tags.sparse = tags.input_tags.allow_nan = family
        return tags
