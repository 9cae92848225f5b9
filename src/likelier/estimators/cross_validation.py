"""Cross-validation in two passes: statistics by fold, then the scores of all models at once."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from likelier.data import (
    Arrays,
    Assignment,
    DegenerateWarning,
    HashedFolds,
    ListedFolds,
    Source,
    consecutive,
    first_seen,
    stratified,
)
from likelier.data.transforms import innermost
from likelier.engines import run
from likelier.estimators import validation
from likelier.evaluation import CrossValidation, FoldMetrics, Trial, predictions
from likelier.scores import Scores, stacked
from likelier.states import Folds, StateGroup, all_but_one
from likelier.states.base import merge_in_order
from likelier.warning_location import outside

# Cross-validation in two passes: statistics fold by fold, then the scores of all models at once.

Point = dict[str, Any]
ROUNDING = 1e-12  # what two cuts of the same rows may differ by, which is not to decide which point is best


class CrossValidationRequest(NamedTuple):
    """What users say of a cross-validation: see `OnePassClassifier.cross_validate`."""

    cv: Any
    grid: Any
    metric: str | None
    groups: Any
    random_state: int | None
    return_predictions: bool


class Plan(NamedTuple):
    """How to cross-validate."""

    folds: Assignment
    metric: str
    return_predictions: bool


class GridCandidates(NamedTuple):
    """An estimator for each point of the grid, and the statistics it needs: `starts[which[v]]`."""

    estimators: list[Any]
    starts: list[Any]
    which: list[int]

    @classmethod
    def of(cls, estimator: Any, points: Sequence[Point], rows: Source, survey: Any) -> "GridCandidates":
        """Points whose statistics could be merged share them."""
        found = cls([clone(estimator).set_params(**point) for point in points], [], [])
        empty: list[Any] = []
        for candidate_model in found.estimators:
            start = candidate_model._start(rows, survey)
            new = start()
            alike = [i for i, other in enumerate(empty) if other.mergeable(new)]
            if not alike:
                empty.append(new)
                found.starts.append(start)
            found.which.append(alike[0] if alike else len(empty) - 1)
        return found

    def start(self) -> StateGroup:
        return StateGroup.start(self.starts)

    def trial(self, counted: Folds, some: Sequence[int], target: Any) -> Trial:
        """Some of the candidates, fitted without each fold, to be evaluated on it."""
        scores = []
        for fold, statistics in enumerate(all_but_one(counted.states, self.start)):
            with _noting(f"while fitting without fold {fold} of {counted.folds.count}"):
                scores.append(stacked([self._scores(statistics, v, target) for v in some]))
        return Trial(counted.folds, scores, len(some))

    def _scores(self, statistics: StateGroup, v: int, target: Any) -> Scores:
        candidate_model = self.estimators[v]
        scores: Scores = candidate_model._scores(
            candidate_model._estimate(statistics.states[self.which[v]], target)
        )
        return scores


def validated(
    estimator: Any, source: Source, given: tuple[Any, Any], asked: CrossValidationRequest
) -> CrossValidation:
    """An estimator by one pass, cross-validated; given: X and y as the user handed them in."""
    card, seed = estimator._card, asked.random_state
    folds = folds_of(asked.cv, source, (*given, asked.groups), stratify=card.stratified, seed=seed)
    points = points_of(estimator, asked.grid)
    plan = Plan(folds, card.metric_of(asked.metric), asked.return_predictions)
    with validation.naming(source):
        return _cross_validated(estimator, source, points, plan)


def _cross_validated(
    estimator: Any, source: Source, points: Sequence[Point], plan: Plan
) -> CrossValidation:
    """The survey, the two passes, and a third if predictions are wanted."""
    survey = estimator._survey(source, every=True)
    target = getattr(survey, "classes", survey)  # of a regression all that is known is the shape of y
    estimator._warn_of_folds(survey)
    rows = estimator._labelled(source, survey)
    candidate_models = GridCandidates.of(estimator, points, rows, survey)
    counted = run(rows, partial(Folds.start, plan.folds, candidate_models.start))
    trial = candidate_models.trial(counted, range(len(points)), target)
    card = run(rows, partial(estimator._card.start, trial))
    figures = _figures(card)
    best = _best(figures[plan.metric], rising=plan.metric in card.rising)
    out = None
    if plan.return_predictions:
        P = predictions(candidate_models.trial(counted, [best], target), rows, card.link)
        out = card.shaped(P, source.y_shape)
    fitted = _fitted(candidate_models, best, counted.states, target, source)
    return CrossValidation(tuple(points), card.rows, figures, plan.metric, best, fitted, out)


@contextmanager
def _noting(where: str) -> Iterator[None]:
    """What goes wrong says where."""
    try:
        yield
    except ValueError as wrong:
        wrong.add_note(where)
        raise


def _figures(card: FoldMetrics) -> dict[str, Any]:
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
            "a splitter that stratifies, or choose by scoring='error'.",
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


def _fitted(
    candidate_models: GridCandidates, v: int, states: Sequence[StateGroup], target: Any, source: Source
) -> Any:
    """Candidate v, fitted to all rows: the merger of all folds."""
    best = candidate_models.estimators[v]
    statistics = merge_in_order(states).states[candidate_models.which[v]]
    model = best._estimate(statistics, target)
    best._warn(model, statistics, target, source.names)
    return best._publish(model, statistics, target, source.names)


# What a user says of folds and grids, checked.

ONCE = (
    "cross_validate fits the rows outside a fold from the statistics of all other folds, so each row must "
    "be in one test set, and in the training set of every other fold; for other splits use scikit-learn's "
    "GridSearchCV."
)


def points_of(estimator: Any, grid: Any) -> list[dict[str, Any]]:
    """The points of a grid, in scikit-learn's order; None: the estimator as it is."""
    if grid is None:
        return [{}]
    from sklearn.model_selection import ParameterGrid  # slow to load

    points = list(ParameterGrid(grid))
    if not points:
        raise ValueError("param_grid has no points: give at least one value of one parameter")
    settled = {name for point in points for name in point if name in estimator._settled}
    if settled:
        raise ValueError(
            f"param_grid: {', '.join(settled)} is settled once, before any fold is held out; to choose "
            "it, call cross_validate for each, or use scikit-learn's GridSearchCV"
        )
    for point in points:
        clone(estimator).set_params(**point)  # names that it does not have are refused before any pass
    return points


def folds_of(
    cv: Any, source: Source, given: tuple[Any, Any, Any], *, stratify: bool, seed: int | None
) -> Assignment:
    """The folds that `cv` stands for; given: X, y and groups as the user handed them in."""
    source, whole = innermost(source), isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    if given[2] is not None and not hasattr(cv, "split"):
        raise ValueError("groups are for splitters that keep them together, such as cv=GroupKFold(5).")
    if not isinstance(source, Arrays):
        if not whole:
            raise ValueError(f"cv must be a number of folds for rows that are not in memory; got {cv!r}.")
        return HashedFolds(_fold_count(int(cv), source.rows), 0 if seed is None else _seed(seed))
    if seed is not None:
        raise ValueError(
            "random_state is the seed of folds of rows that are not in memory; for arrays give a splitter, "
            "such as cv=StratifiedKFold(5, shuffle=True, random_state=0)."
        )
    if whole:
        count = _fold_count(int(cv), len(source))
        return _stratified(source.y, count) if stratify else consecutive(len(source), count)
    return _partition(_splits(cv, given), len(source))


def _splits(cv: Any, given: tuple[Any, Any, Any]) -> list[Any]:
    """Pairs (train, test)."""
    if not isinstance(cv, str):
        pairs = cv.split(*given) if hasattr(cv, "split") else cv
        splits = list(pairs) if isinstance(pairs, Iterable) else [None]
        if all(isinstance(split, Sequence) and len(split) == 2 for split in splits):
            return splits
    raise ValueError(
        f"cv must be a number of folds, a splitter, or a list of (train, test) pairs; got {cv!r}."
    )


def _seed(seed: Any) -> int:
    return int(validation.number("random_state", seed, 0, 2**63 - 1, whole=True))


def _fold_count(count: int, n: int | None) -> int:
    if count < 2:
        raise ValueError(
            "k-fold cross-validation requires at least one train/test split by setting cv=2 or more, "
            f"got cv={count}."
        )
    if n is not None and count > n:
        raise ValueError(
            f"Cannot have number of splits cv={count} greater than the number of samples: {n}."
        )
    return count


def _stratified(y: NDArray[Any] | None, count: int) -> ListedFolds:
    """As scikit-learn, which warns where a class has fewer rows than there are folds."""
    assert y is not None
    codes = first_seen(y)[0]
    sizes = np.bincount(codes)
    if count > sizes.max():
        raise ValueError(f"n_splits={count} cannot be greater than the number of members in each class.")
    if count > sizes.min():
        warnings.warn(
            f"The least populated class in y has only {sizes.min()} members, which is less than "
            f"n_splits={count}.",
            UserWarning,
            stacklevel=outside(),
        )
    return stratified(codes, count)


def _partition(splits: Sequence[Any], n: int) -> ListedFolds:
    """Fold numbers out of (train, test) pairs."""
    if len(splits) < 2:
        raise ValueError(f"cv yields {len(splits)} splits: it takes at least 2")
    numbers = np.full(n, -1, dtype=np.int32)
    for fold, split in enumerate(splits):
        train, test = (_row_numbers(rows, n, fold) for rows in split)
        times = np.bincount(test, minlength=n) + (numbers >= 0)
        if (times > 1).any():
            row = int(np.argmax(times > 1))
            raise ValueError(f"row {row} is tested more than once (fold {fold} of cv). {ONCE}")
        numbers[test] = fold
        rest = np.ones(n, dtype=bool)
        rest[test] = False
        trained = np.bincount(train, minlength=n)
        if not np.array_equal(trained, rest):
            row = int(np.argmax(trained != rest))
            says = "trained on" if trained[row] else "neither trained on nor tested"
            raise ValueError(f"row {row} is {says} in fold {fold} of cv. {ONCE}")
    if (numbers < 0).any():
        raise ValueError(f"row {int(np.argmax(numbers < 0))} is in no test set of cv. {ONCE}")
    return ListedFolds(numbers, len(splits))


def _row_numbers(rows: Any, n: int, fold: int) -> NDArray[np.intp]:
    """Row numbers, or a mask of n rows, as numbers within 0 to n - 1."""
    at = np.asarray(rows)
    if at.dtype == bool and at.shape == (n,):
        at = np.flatnonzero(at)
    if at.ndim != 1 or (at.size and at.dtype.kind not in "iu"):
        raise ValueError(f"fold {fold} of cv: train and test must be lists of row numbers; got {rows!r}.")
    at = at.astype(np.intp)
    if at.size and (at.min() < -n or at.max() >= n):
        raise ValueError(f"fold {fold} of cv names rows outside 0 to {n - 1}")
    return np.where(at < 0, at + n, at)
