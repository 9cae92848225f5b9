"""Fitting by one pass: fit, partial_fit and merge are the same statistics, differently come by."""

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from likelier.data import Arrays, DegenerateWarning, levels_of
from likelier.estimators import door
from likelier.families import Family
from likelier.model import Bayes, count, levels

Floats = NDArray[np.float64]


class OnePass(BaseEstimator):
    """Estimators that are a function of statistics which absorb rows and merge.

    A subclass says which family its parameters describe (`_family`), and what a model built from
    statistics is (`_model_of`) and shows (`_shown`). Whatever fails, fails before the first attribute
    is set: an estimator is fitted, or as it was.
    """

    _model: Bayes
    _statistics: Any  # None: not kept

    @abstractmethod
    def _family(self, K: int) -> Family:
        """The family that the hyper-parameters describe, which are checked here."""

    @abstractmethod
    def _model_of(self, statistics: Any) -> Bayes:
        """The model that statistics make, under the hyper-parameters."""

    @abstractmethod
    def _shown(self, model: Bayes, statistics: Any | None) -> dict[str, Any]:
        """scikit-learn's fitted attributes."""

    def _remarks(self, model: Bayes, statistics: Any, classes: NDArray[Any]) -> Iterator[str]:
        """What the rows left open, and what was done about it: a warning each."""
        if len(classes) == 1:
            yield f"all rows are of class {classes[0]}: every answer will be that class"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and labels y, from scratch."""
        source = door.training(self, X, y, sample_weight)
        door.positive_total(source.w)
        names = door.feature_names(X)
        classes = levels(source)
        with door.naming(names):
            model, statistics = self._fitted(source, classes)
        self._warn(model, statistics, classes)
        return self._publish(model, statistics, classes, names)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take in more rows: the result is that of one fit to all rows so far.

        `classes`, all labels that can ever come, are needed at the first call. What the rows so far leave
        open is dealt with as in `fit`, but without a warning: more may come.
        """
        first = not hasattr(self, "classes_")
        known = self._known_classes(classes)
        names = door.feature_names(X) if first else getattr(self, "feature_names_in_", None)
        if not first:
            self._needs_statistics("partial_fit")
        source = door.training(self, X, y, sample_weight, known=not first)
        new = np.setdiff1d(levels(source), known)
        if len(new):
            raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {known}")
        with door.naming(names):
            added = self._count(source, known)
        if first:
            statistics = added
        else:
            statistics = copy.deepcopy(self._statistics)
            self._check_kind(statistics, added)
            statistics.merge(added)
        if not statistics.n.any():
            raise ValueError("Sample weights are all zero so far: no row is left to fit.")
        model = self._model_of(statistics)
        return self._publish(model, statistics, known, names)

    def merge(self, *others: Self, classes: Literal["union"] | None = None) -> Self:
        """A new estimator, equal to one fitted to the rows of this one and of all `others`.

        Hyper-parameters, columns and classes must be the same; classes="union" joins the classes.
        """
        models = [self, *others]
        for model in models:
            if type(model) is not type(self):
                raise TypeError(f"cannot merge {type(self).__name__} with {type(model).__name__}")
            door.fitted(model)
            model._needs_statistics("merge")
        self._check_alike(others)
        if classes not in (None, "union"):
            raise ValueError(f"classes={classes!r}: it is None (they must match) or 'union'")
        joint = self.classes_
        for other in others:
            if not np.array_equal(joint, other.classes_):
                if classes is None:
                    raise ValueError(
                        f"classes differ: {joint} and {other.classes_}; merge with classes='union' "
                        "to join them"
                    )
                joint = levels_of(np.concatenate([joint, other.classes_]))
        K = len(joint)
        wide = [m._statistics.widened(K, np.searchsorted(joint, m.classes_)) for m in models]
        total = wide[0]
        for statistics in wide[1:]:
            self._check_kind(total, statistics)
            total.merge(statistics)
        new: Self = clone(self)
        names = getattr(self, "feature_names_in_", None)
        merged = new._model_of(total)
        self._warn(merged, total, joint)
        return new._publish(merged, total, joint, names)

    # ---- how ---------------------------------------------------------------------------------------
    def _warn(self, model: Bayes, statistics: Any | None, classes: NDArray[Any]) -> None:
        for remark in self._remarks(model, statistics, classes):
            warnings.warn(f"{type(self).__name__}: {remark}", DegenerateWarning, stacklevel=3)

    def _fitted(self, source: Arrays, classes: NDArray[Any]) -> tuple[Bayes, Any | None]:
        """Model and statistics of all rows."""
        statistics = self._count(source, classes)
        return self._model_of(statistics), statistics

    def _count(self, source: Arrays, classes: NDArray[Any]) -> Any:
        K = len(classes)
        return count(source.coded(classes), self._family(K), K, source.X.shape[1])

    def _known_classes(self, classes: Any) -> NDArray[Any]:
        given = None if classes is None else door.classes_of(self, classes)
        if not hasattr(self, "classes_"):
            if given is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            return given
        known: NDArray[Any] = self.classes_
        if given is not None and not np.array_equal(known, given):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}"
            )
        return known

    def _needs_statistics(self, what: str) -> None:
        if self._statistics is None:
            raise ValueError(
                f"{what} needs the statistics of the rows, and this {type(self).__name__} keeps none: "
                "it came from marginal() or condition(), or was fitted with a covariance_estimator."
            )

    def _check_kind(self, statistics: Any, added: Any) -> None:
        if type(statistics) is not type(added) or statistics.S.shape != added.S.shape:
            raise ValueError(
                "hyper-parameters that need other statistics were changed between batches: fit anew"
            )

    def _check_alike(self, others: tuple[Self, ...]) -> None:
        mine = self.get_params()
        for other in others:
            for name, value in other.get_params().items():
                if not np.array_equal(np.asarray(mine[name]), np.asarray(value)):
                    raise ValueError(f"hyper-parameters differ: {name} is {mine[name]!r} and {value!r}")
            if self.n_features_in_ != other.n_features_in_:
                raise ValueError(
                    f"columns differ: {self.n_features_in_} and {other.n_features_in_} of them"
                )
            names = [list(getattr(m, "feature_names_in_", ())) for m in (self, other)]
            if names[0] != names[1]:
                raise ValueError(f"columns differ: {names[0]} and {names[1]}")

    def _publish(
        self, model: Bayes, statistics: Any | None, classes: NDArray[Any], names: NDArray[Any] | None
    ) -> Self:
        """Become fitted, all at once."""
        shown = self._shown(model, statistics)
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)
        self.__dict__.update(shown)
        self.classes_, self.n_features_in_ = classes, model.params.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        self._model, self._statistics = model, statistics
        return self
