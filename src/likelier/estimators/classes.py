"""Classifiers by one pass: their target is the list of classes."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Source, levels_of
from likelier.data.foreseen import Foreseen
from likelier.engines.journal import Refused
from likelier.estimators import door
from likelier.estimators.alike import Named, check, check_statistics, numbered
from likelier.estimators.onepass import Names, OnePass, Start
from likelier.estimators.scoring import Scoring, refuse_new
from likelier.evaluation import LabelCard
from likelier.families import Family
from likelier.model import Bayes, glimpse
from likelier.scores import Scores


class OnePassClassifier(Scoring, OnePass):
    """Statistics by class: the survey pass finds the classes, the counting pass does the rest."""

    _card = LabelCard
    _model: Bayes
    _target: NDArray[Any]  # the classes

    @abstractmethod
    def _family(self, K: int) -> Family:
        """The family that the hyper-parameters describe, which are checked here."""

    def _source(self, X: Any, y: Any, sample_weight: Any, *, known: bool) -> Source:
        return door.training(self, X, y, sample_weight, known=known)

    def _start(self, source: Source, target: NDArray[Any]) -> Start:
        K = len(target)
        return partial(self._family(K).stats, K, source.p)

    def _found(self, source: Source) -> tuple[NDArray[Any], tuple[Any, Any | None]]:
        """One pass where the survey would cost another, if a glimpse has shown all classes."""
        try:
            guess = glimpse(source)
            if guess is not None:
                with door.of_classes(guess):
                    return guess, self._fitted(Foreseen(source), guess)
        except Refused:
            raise
        except ValueError:  # which may be the guess's fault: after the survey it would not be
            pass
        return super()._found(source)

    def _labelled(self, source: Source, target: NDArray[Any]) -> Source:
        return source.coded(target)

    def _scores(self, model: Bayes) -> Scores:
        return model.posterior

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        return {"classes_": target, "n_features_in_": model.params.shape[1]}

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        if len(target) == 1:
            yield f"all rows are of class {target[0]}: every answer will be that class"

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take in more rows: the result is that of one fit to all rows so far.

        `classes`, all labels that can ever come, are needed at the first call. What the rows so far leave
        open is dealt with as in `fit`, but without a warning: more may come.
        """
        first = "_model" not in vars(self)
        known = self._known_classes(classes)
        if not first:
            self._needs_statistics("partial_fit")
        self._warn_of_settings()
        source = self._source(X, y, sample_weight, known=not first)
        refuse_new(source, known)
        return self._take_in(source, known)

    def merge(self, *others: Self, classes: Literal["union"] | None = None) -> Self:
        """A new estimator, equal to one fitted to the rows of this one and of all `others`.

        Hyper-parameters, columns and classes must be the same; classes="union" joins the classes.
        """
        return self._join(numbered(self, others), classes)

    def _join(self, models: Sequence[Named], classes: Any = None) -> Self:
        check(models)
        if classes not in (None, "union"):
            raise ValueError(f"classes={classes!r}: it is None (they must match) or 'union'")
        joint = self._target
        for one in models[1:]:
            theirs = one.model._target
            if np.array_equal(joint, theirs):
                continue
            if classes is None:
                raise ValueError(
                    f"classes differ: {models[0].name} has {joint}, {one.name} {theirs}; merge with "
                    "classes='union' to join them"
                )
            joint = _union(joint, theirs, one.name)
        check_statistics(models)
        counted = [(model._statistics, np.searchsorted(joint, model._target)) for _, model in models]
        return self._merge(models, [state.widened(len(joint), at) for state, at in counted], joint)


def _union(a: NDArray[Any], b: NDArray[Any], name: str) -> NDArray[Any]:
    """The labels of both, which must be of one kind: numbers and strings are not made into each other."""
    both = np.concatenate([a.astype(object), b.astype(object)])
    kind = np.result_type(a.dtype, b.dtype) if a.dtype.kind == b.dtype.kind else None
    if kind is None and not {a.dtype.kind, b.dtype.kind} <= set("iu"):
        raise ValueError(
            f"labels of different kinds cannot be joined: those of {name} are {b.dtype}, others {a.dtype}"
        )
    joint = levels_of(both)
    return joint if kind is None else joint.astype(kind)
