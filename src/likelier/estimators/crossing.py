"""Cross-validation in two passes: statistics fold by fold, then the scores of all models at once."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from likelier.callers import outside
from likelier.data import Assignment, DegenerateWarning, Source
from likelier.engines import run
from likelier.engines.tree import merge_in_order
from likelier.estimators import door
from likelier.evaluation import Card, CrossValidation, Trial, predictions
from likelier.scores import Scores, abreast
from likelier.states import Folds, Together, all_but_one

Point = dict[str, Any]
ROUNDING = 1e-12  # what two cuts of the same rows may differ by: it is not to decide which point is best


class Plan(NamedTuple):
    """How to cross-validate."""

    folds: Assignment
    metric: str
    return_predictions: bool


class Entrants(NamedTuple):
    """An estimator for each point of the grid, and the statistics it needs: `starts[which[v]]`."""

    estimators: list[Any]
    starts: list[Any]
    which: list[int]

    @classmethod
    def of(cls, estimator: Any, points: Sequence[Point], source: Source, target: Any) -> "Entrants":
        """Points whose statistics could be merged share them."""
        found = cls([clone(estimator).set_params(**point) for point in points], [], [])
        empty: list[Any] = []
        for entrant in found.estimators:
            start = entrant._start(source, target)
            new = start()
            alike = [i for i, other in enumerate(empty) if other.mergeable(new)]
            if not alike:
                empty.append(new)
                found.starts.append(start)
            found.which.append(alike[0] if alike else len(empty) - 1)
        return found

    def start(self) -> Together:
        return Together.start(self.starts)

    def trial(self, counted: Folds, some: Sequence[int]) -> Trial:
        """Some of the entrants, fitted without each fold, to be judged on it."""
        scores = []
        for fold, statistics in enumerate(all_but_one(counted.states, self.start)):
            with _noting(f"while fitting without fold {fold} of {counted.folds.count}"):
                scores.append(abreast([self._scores(statistics, v) for v in some]))
        return Trial(counted.folds, scores, len(some))

    def _scores(self, statistics: Together, v: int) -> Scores:
        entrant = self.estimators[v]
        scores: Scores = entrant._scores(entrant._sound_model(statistics.states[self.which[v]]))
        return scores


def cross_validate(estimator: Any, source: Source, points: Sequence[Point], plan: Plan) -> CrossValidation:
    """The two passes, and a third if predictions are wanted."""
    target = estimator._target_of(source)
    with door.of_classes(target):
        return _cross_validated(estimator, source, target, points, plan)


def _cross_validated(
    estimator: Any, source: Source, target: Any, points: Sequence[Point], plan: Plan
) -> CrossValidation:
    entrants = Entrants.of(estimator, points, source, target)
    rows = estimator._labelled(source, target)
    counted = run(rows, partial(Folds.start, plan.folds, entrants.start))
    trial = entrants.trial(counted, range(len(points)))
    card = run(rows, partial(estimator._card.start, trial))
    figures = _figures(card)
    best = _best(figures[plan.metric], rising=plan.metric in card.rising)
    out = None
    if plan.return_predictions:
        P = predictions(entrants.trial(counted, [best]), rows, card.link)
        out = card.shaped(P, source.y_shape)
    fitted = _fitted(entrants, best, counted.states, target, source)
    return CrossValidation(tuple(points), card.rows, figures, plan.metric, best, fitted, out)


@contextmanager
def _noting(where: str) -> Iterator[None]:
    """What goes wrong says where."""
    try:
        yield
    except ValueError as wrong:
        wrong.add_note(where)
        raise


def _figures(card: Card) -> dict[str, Any]:
    """By metric, (V, F); a fold without rows has none, and is refused."""
    empty = np.flatnonzero(card.rows == 0)
    if len(empty):
        raise ValueError(
            f"fold {empty[0]} of {len(card.rows)} has no rows, or none with a weight: use fewer folds."
        )
    figures = card.figures()
    endless = np.flatnonzero(np.any([np.isinf(f).any(axis=0) for f in figures.values()], axis=0))
    if len(endless):
        warnings.warn(
            f"the loss on fold {', '.join(map(str, endless))} is infinite: a class of its rows does not "
            "occur in the other folds, or its prior is 0, so that it has probability 0. Use fewer folds, "
            "a splitter that stratifies, or choose by metric='error'.",
            DegenerateWarning,
            stacklevel=outside(),
        )
    return figures


def _best(values: Any, *, rising: bool) -> int:
    """The first of the points with the best mean (V, F), be they apart by rounding; NaN is the worst."""
    mean = -values.mean(axis=1) if rising else values.mean(axis=1)
    mean[np.isnan(mean)] = np.inf
    least = mean.min()
    return int(np.argmax(mean <= least + ROUNDING * abs(least)))


def _fitted(entrants: Entrants, v: int, states: Sequence[Together], target: Any, source: Source) -> Any:
    """Entrant v, fitted to all rows: the merger of all folds."""
    best = entrants.estimators[v]
    statistics = merge_in_order(states).states[entrants.which[v]]
    model = best._sound_model(statistics)
    best._warn(model, statistics, target, source.names)
    return best._publish(model, statistics, target, source.names)
