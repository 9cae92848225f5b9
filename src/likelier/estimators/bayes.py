"""Bayes' rule over densities of one's own."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from likelier import links
from likelier.callers import outside
from likelier.data import SkippedWarning, code, levels_of
from likelier.data.collected import is_collection
from likelier.estimators import door
from likelier.estimators.collections import by_block
from likelier.estimators.decisions import Decisions
from likelier.estimators.densities import Densities, FamilyDensities, OwnDensities, is_family
from likelier.estimators.generative import seen_only
from likelier.estimators.notebook import InNotebooks
from likelier.estimators.shift import Belonging, likeliest, warn_of_priors
from likelier.estimators.sources import stored
from likelier.model import log_of

Floats = NDArray[np.float64]


class BayesClassifier(Decisions, ClassifierMixin, InNotebooks):
    """p(C_k | x) ∝ p(C_k) p(x | C_k) for any density: anything with `fit` and `score_samples`.

    density: such an object, fitted anew to the rows of each class; a dict {class: density} for different
    ones; or a `Family` of likelier's. score_samples(X) must be ln p(x) of each row. X is handed on as it is
    (all that is asked of it is a length and rows by number), so that rows may be sequences, texts, or
    whatever the density takes.

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
        """A density for the rows of each class; rows of weight 0 are not handed on."""
        if stored(X) or is_collection(X):
            what = "source" if stored(X) else "Dask collection"
            raise ValueError(f"X is a {what}, and BayesClassifier takes rows in memory: load them first.")
        labels, n = door.labels_of(self, y), _num_samples(X)
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
        w = door.weights_of(sample_weight, n)
        there = np.ones(n, dtype=np.bool_) if w is None else w > 0
        door.weighty(there)
        classes = levels_of(labels[there])
        codes = np.where(there, code(labels, classes), -1).astype(np.int32)
        weights = np.ones(n) if w is None else w
        counts = np.asarray(np.bincount(codes[there], weights[there], len(classes)), dtype=np.float64)
        prior = counts / counts.sum()
        if self.priors is not None:
            prior = seen_only(door.priors_of(self.priors, len(classes), classes=classes), counts)
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
        kind: Any = FamilyDensities if is_family(self.density) else OwnDensities
        fitted: Densities = kind.fitted(self.density, X, codes, w, classes)
        return fitted

    @property
    def densities_(self) -> Any:
        """The density of each class; of a family, the parameters of all of them."""
        if "_model" not in vars(self):
            raise AttributeError("not fitted yet")
        return self._model.shown

    # ---- answers -----------------------------------------------------------------------------------
    @by_block
    def predict(self, X: Any, priors: Any = None) -> NDArray[Any]:
        """The most probable class of each row; under other class priors if they are given."""
        best = self._posterior(X, priors).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @by_block
    def predict_proba(self, X: Any, priors: Any = None) -> Floats:
        """p(C_k | x), (n, K); under other class priors if they are given."""
        Z = self._posterior(X, priors)
        links.softmax.apply(Z, Z)
        return Z

    @by_block
    def predict_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """ln p(C_k | x), (n, K)."""
        Z = self._posterior(X, priors)
        links.log_softmax.apply(Z, Z)
        return Z

    @by_block
    def predict_joint_log_proba(self, X: Any) -> Floats:
        """ln p(x, C_k), (n, K)."""
        door.fitted(self)
        return self._model.logs(X, self) + log_of(self.class_prior_)

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes, (n, K); of two classes a_1 - a_0, (n,)."""
        Z = self._posterior(X, None)
        if len(self.classes_) != 2:
            return Z
        links.log_softmax.apply(Z, Z)
        return np.asarray(Z[:, 1] - Z[:, 0])

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """The class priors (K,) under which rows without labels are likeliest; pass them to predict_proba.

        The likelihood per row is within `tol` of the best; X is scored once. The model stays as it is.
        """
        door.fitted(self)
        door.number("tol", tol, 0.0)
        most = int(door.number("max_iter", max_iter, 1, whole=True))
        L = self._model.logs(X, self)
        w = door.weights_of(sample_weight, len(L))
        if w is not None:
            door.weighty(w)

        def look(prior: Floats) -> Belonging:
            seen = Belonging()
            seen.absorb(L + log_of(prior), w)
            return seen

        found = likeliest(look, self.class_prior_, tol, most)
        warn_of_priors(self, found, tol, most)
        return found.prior

    @by_block
    def score_samples(self, X: Any) -> Floats:
        """ln p(x) = ln Σ_k p(C_k) p(x | C_k), (n,)."""
        Z = self.predict_joint_log_proba(X)
        out = np.empty(len(Z))
        links.log_sum_exp.apply(Z, out)
        return out

    def sample(
        self, n_samples: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        """New rows and their labels, from all classes or from class y, where the densities can draw."""
        door.fitted(self)
        door.number("n_samples", n_samples, 1, whole=True)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        if y is None:
            codes = np.sort(rng.choice(len(self.classes_), size=n_samples, p=self.class_prior_))
        else:
            if np.ndim(y) != 0:
                raise ValueError(f"y={y!r:.80}: it is one class")
            found = code(np.asarray([y]), self.classes_)[0]
            if found < 0:
                raise ValueError(f"no class {y!r}; classes: {self.classes_.tolist()}")
            codes = np.full(n_samples, found)
        return self._model.sample(codes, rng), self.classes_[codes]

    def _posterior(self, X: Any, priors: Any) -> Floats:
        """Scores whose softmax is p(C_k | x). Rows that no class can have tell nothing: the priors stay."""
        door.fitted(self)
        known = self.classes_
        prior = self.class_prior_ if priors is None else door.priors_of(priors, len(known), classes=known)
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
