"""Fitting by one pass: fit, partial_fit and merge are the same statistics, differently come by."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from likelier.data import Source
from likelier.engines import run
from likelier.engines.numbering import numbered
from likelier.estimators import crossing, door, splits
from likelier.estimators.alike import Named
from likelier.estimators.checkpoints import Resumable, resumable
from likelier.estimators.precision import single
from likelier.estimators.publishing import Names as Names
from likelier.estimators.publishing import Publishing
from likelier.evaluation import Card, CrossValidation
from likelier.scores import Scores
from likelier.states.units import plain

UNLIKE = "hyper-parameters that need other statistics were changed since the first rows: fit anew"
Start = Callable[[], Any]


class OnePass(Resumable, Publishing):
    """Estimators that are a function of statistics which absorb rows and merge.

    A subclass says what rows and target it takes (`_source`, `_target_of`: the classes, or the shape of a
    row of y), which statistics it counts, which model they make, what of it is shown, and what the rows
    left open.
    """

    _card: ClassVar[type[Card]]  # how its predictions are judged
    _settled: ClassVar[tuple[str, ...]] = ()  # hyper-parameters that statistics have the last word on

    @abstractmethod
    def _source(self, X: Any, y: Any, sample_weight: Any, *, known: bool) -> Source:
        """All that `fit` takes, checked; known: the columns are those of an earlier fit."""

    @abstractmethod
    def _target_of(self, source: Source) -> Any:
        """What y is."""

    @abstractmethod
    def _start(self, source: Source, target: Any) -> Start:
        """Makes statistics of no rows yet; the hyper-parameters that decide which are checked here."""

    @abstractmethod
    def _labelled(self, source: Source, target: Any) -> Source:
        """The rows as statistics take them."""

    @abstractmethod
    def _scores(self, model: Any) -> Scores:
        """What a model predicts from."""

    @abstractmethod
    def _model_of(self, statistics: Any) -> Any:
        """The model that statistics make, under the hyper-parameters, which are checked here."""

    def _count(self, source: Source, target: Any) -> Any:
        """The statistics of these rows."""
        return run(self._labelled(source, target), self._start(source, target))

    def _fitted(self, source: Source, target: Any) -> tuple[Any, Any | None]:
        """Model and statistics of all rows."""
        statistics = self._count(source, target)
        self._check_enough(statistics, source, target)
        return self._sound_model(statistics), statistics

    def _found(self, source: Source) -> tuple[Any, tuple[Any, Any | None]]:
        """What y is, and model and statistics of all rows."""
        target = self._target_of(source)
        with door.of_classes(target):
            return target, self._fitted(source, target)

    def _check_enough(self, statistics: Any, source: Source, target: Any) -> None:
        """Refuse rows that are too few to fit."""

    @resumable
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit to rows X and their y, or to a source that has both, from scratch.

        checkpoint: a file for what is done so far: a fit that was cut off goes on from there.
        """
        source = self._source(X, y, sample_weight, known=False)
        with door.naming(source, type(self).__name__):
            target, (model, statistics) = self._found(source)
        model = replace(model, single=single(source))
        self._warn(model, statistics, target, source.names)
        return self._publish(model, statistics, target, source.names)

    def cross_validate(
        self,
        X: Any,
        y: Any = None,
        cv: Any = 5,
        grid: Any = None,
        *,
        metric: str | None = None,
        groups: Any = None,
        sample_weight: Any = None,
        random_state: int | None = None,
        return_predictions: bool = False,
    ) -> CrossValidation:
        """Every fold predicted from all others, for every point of a grid of hyper-parameters.

        Equal to fitting anew each time, from two passes over the rows: statistics of each fold, merged
        into those of all but one; then the scores of all models of a fold.

        cv: the number of folds (as scikit-learn cuts arrays; by a hash of the row's number, `random_state`
        its seed, for rows that are not in memory), a splitter of scikit-learn's, or a list of (train,
        test), in which each row is tested once and trained on in all other folds. grid: as scikit-learn's
        `param_grid`. metric: what the best point is best in. return_predictions: keep what the best point
        predicts of each row, from the other folds; that takes a third pass.
        """
        source = numbered(self._source(X, y, sample_weight, known=False))
        stratify = self._card.stratified
        folds = splits.folds_of(cv, source, (X, y, groups), stratify=stratify, seed=random_state)
        points = splits.points_of(self, grid)
        self._warn_of_folds(source)
        how = crossing.Plan(folds, self._card.metric_of(metric), return_predictions)
        with door.naming(source):
            return crossing.cross_validate(self, source, points, how)

    def _warn_of_folds(self, source: Source) -> None:
        """Say what rows that are held out have decided nevertheless."""

    def _take_in(self, source: Source, target: Any) -> Self:
        """The fit to these rows and all before them, without warnings: more may come."""
        with door.naming(source, type(self).__name__):
            statistics = self._count(source, target)
        names, all_single = source.names, single(source)
        if "_model" in vars(self):
            statistics = _merged([self._statistics, statistics])
            names = getattr(self, "feature_names_in_", None)
            all_single = all_single and self._model.single
        with door.of_classes(target):
            model = replace(self._sound_model(statistics), single=all_single)
        return self._publish(model, statistics, target, names)

    @abstractmethod
    def _join(self, models: Sequence[Named], classes: Any = None) -> Self:
        """A new estimator, equal to one fitted to the rows of all these; self is the first of them."""

    def _merge(self, models: Sequence[Named], states: Sequence[Any], target: Any) -> Self:
        """A new estimator of the same kind, with these statistics of the models."""
        statistics = _merged(states)
        new: Self = clone(self)
        names = getattr(self, "feature_names_in_", None)
        all_single = all(one.model._model.single for one in models)
        with door.of_classes(target):
            model = replace(new._sound_model(statistics), single=all_single)
        new._warn(model, statistics, target, names)
        return new._publish(model, statistics, target, names)

    def _sound_model(self, statistics: Any) -> Any:
        door.weighty(statistics.n)
        if not statistics.finite():
            raise ValueError(
                "Input X, y or sample_weight contains values so large that their sums of squares overflow: "
                "divide such columns."
            )
        return self._model_of(plain(statistics))

    def _needs_statistics(self, what: str) -> None:
        if self._statistics is None:
            raise ValueError(
                f"{what} needs the statistics of the rows, and this {type(self).__name__} keeps none: "
                "it came from marginal() or condition(), was saved without them, or was fitted with a "
                "covariance_estimator or to rows in which cells are missing in more ways than can be "
                "counted."
            )


def _merged(states: Sequence[Any]) -> Any:
    """One state out of several, which stay as they are."""
    total = copy.deepcopy(states[0])
    for state in states[1:]:
        if not total.mergeable(state):
            raise ValueError(UNLIKE)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by _sound_model
            total.merge(state)
    return total
