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
from likelier.estimators.base import Decisions, InNotebooks
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
        """The score of each class, (n, K); of two classes their difference, (n,)."""
        Z = self._ask(X, links.identity)
        return np.asarray(Z[:, 1] - Z[:, 0]) if len(self.classes_) == 2 else Z

    @by_block
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of the largest score."""
        found = self._ask(X, links.argmax)  # refuses to answer before `fit`
        return np.asarray(self.classes_[found])


class LinearProbabilities(Decisions, LinearScores):
    """And probabilities: the softmax of the scores.

    Other class priors turn p(C_k | x) into p(C_k | x) π_k / π⁰_k, made to sum to 1, π⁰ being the shares of
    the classes among the training rows.
    """

    @by_block
    def predict(self, X: Any, priors: Any = None) -> NDArray[Any]:
        """The label of the largest score; under other class priors if they are given."""
        if priors is None:
            return super().predict(X)
        best = self._reweighed(X, priors).argmax(axis=1)  # refuses to answer before `fit`
        return np.asarray(self.classes_[best])

    @by_block
    def predict_proba(self, X: Any, priors: Any = None) -> Floats:
        """p(C_k | x), (n, K); under other class priors, K of them or {label: prior}, if they are given."""
        if priors is None:
            return self._ask(X, links.softmax)
        Z = self._reweighed(X, priors)
        links.softmax.apply(Z, Z)
        return Z

    @by_block
    def predict_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """ln p(C_k | x), (n, K); under other class priors if they are given."""
        if priors is None:
            return self._ask(X, links.log_softmax)
        Z = self._reweighed(X, priors)
        links.log_softmax.apply(Z, Z)
        return Z

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """The class priors (K,) under which rows without labels are likeliest; pass them to predict_proba.

        For rows in which the classes come as before, but not as often (label shift); it needs the
        posteriors alone (Saerens, Latinne & Decaestecker 2002), and they must be calibrated. The likelihood
        per row is within `tol` of the best. The model stays as it is.
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

    def _reweighed(self, X: Any, priors: Any) -> Floats:
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
    """Scores X coef_ᵀ + intercept_: the reading of a model as weights, with nothing else in it.

    It comes from `to_linear()`, fitted. Two classes are one weight vector, as in scikit-learn, or two.
    """

    def __init__(self, coef: Any, intercept: Any, classes: Any, feature_names: Any = None) -> None:
        self.coef = coef
        self.intercept = intercept
        self.classes = classes
        self.feature_names = feature_names

    @property
    def coef_(self) -> Floats:
        return np.atleast_2d(np.asarray(self.coef, dtype=np.float64))

    @property
    def intercept_(self) -> Floats:
        return np.atleast_1d(np.asarray(self.intercept, dtype=np.float64))

    @property
    def classes_(self) -> NDArray[Any]:
        return np.asarray(self.classes)

    @property
    def n_features_in_(self) -> int:
        return int(self.coef_.shape[1])

    @property
    def feature_names_in_(self) -> NDArray[Any]:
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
    """What each column adds to each class's score: base + values.sum(axis=2) is the score.

    A pair of arrays, `values` (n, K, p) and `base` (K,), which know the `classes` (K,) and the `names` of
    the columns (p,). As an array it is `values`.
    """

    classes: NDArray[Any]
    names: list[str]

    @classmethod
    def of(cls, model: Any, values: Floats, base: Floats) -> Self:
        """Of a fitted model."""
        new = cls(values, base)
        names = getattr(model, "feature_names_in_", None)
        new.classes = model.classes_
        new.names = [f"x{j}" for j in range(values.shape[2])] if names is None else list(map(str, names))
        return new

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def to_frame(self) -> Any:
        """A pandas frame: a line for each row and class, the base and each column beside each other."""
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


def weighed(source: Source, totals: Floats, factor: Floats | None) -> tuple[Source, Floats]:
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
