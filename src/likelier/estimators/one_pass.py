"""Fitting in one pass: fit, partial_fit and merge compute the same statistics."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from likelier.data import Source
from likelier.data.chunk import single
from likelier.engines import run
from likelier.engines.run import numbered
from likelier.estimators import cross_validation, validation
from likelier.estimators.base import NOT_ROUTED, FittedMixin, column_names, repeated_for_gaps, resumable
from likelier.estimators.base import Names as Names
from likelier.estimators.validation import check_sound
from likelier.evaluation import CrossValidation, FoldMetrics
from likelier.scores import Scores
from likelier.states.base import plain

# Whether models that were fitted separately can be merged; and if not, which of them, and why.


class NamedModel(NamedTuple):
    """A fitted model, and what messages call it."""

    name: str
    model: Any


def numbered_models(first: Any, others: Sequence[Any]) -> list[NamedModel]:
    """Models by their places in a call of `merge`."""
    return [
        NamedModel("this model", first),
        *(NamedModel(f"model {i}", one) for i, one in enumerate(others, 1)),
    ]


def check(models: Sequence[NamedModel]) -> None:
    """Refuse what was not fitted alike: another kind, other hyper-parameters or columns, no statistics."""
    first = models[0]
    for one in models:
        _check_kind(first, one)
        validation.fitted(one.model)
    for one in models:
        _check_kept(one)
        _check_hyper_parameters(first, one)
        _check_columns(first, one)


def check_statistics(models: Sequence[NamedModel]) -> None:
    """Refuse statistics that count other things."""
    first = models[0]
    for one in models[1:]:
        ours, theirs = first.model._statistics, one.model._statistics
        if not ours.mergeable(theirs):
            names = column_names(first.model)
            why = ours.unlike(theirs, names) if hasattr(ours, "unlike") else _UNLIKE
            raise ValueError(f"{first.name} and {one.name} keep other statistics: {why}")


_UNLIKE = (
    "hyper-parameters that need others were changed since their first rows, or one of them was fitted by "
    "an earlier version: fit it anew"
)


def _check_kind(first: NamedModel, one: NamedModel) -> None:
    ours, theirs = (type(each.model).__name__ for each in (first, one))
    if type(one.model) is not type(first.model):
        raise TypeError(
            f"cannot merge {ours} with {theirs}: {first.name} is a {ours}, {one.name} a {theirs}"
        )


def _check_kept(one: NamedModel) -> None:
    try:
        needs_statistics(one.model, "merge")
    except ValueError as problem:
        raise ValueError(f"{one.name}: {problem}") from None


def _check_hyper_parameters(first: NamedModel, one: NamedModel) -> None:
    mine, settled = first.model.get_params(deep=False), first.model._settled
    for name, value in one.model.get_params(deep=False).items():
        if name not in settled and not _same(mine[name], value):
            raise ValueError(
                f"hyper-parameters differ: {name} is {mine[name]!r} in {first.name} and {value!r} in "
                f"{one.name}. Fit both models with the same hyper-parameters."
            )


def _same(a: Any, b: Any) -> bool:
    return a is b or np.array_equal(np.asarray(a), np.asarray(b))


def _check_columns(first: NamedModel, one: NamedModel) -> None:
    ours, theirs = (_columns(each.model) for each in (first, one))
    if ours == theirs:
        _check_designs(first, one)
        return
    both = isinstance(ours, list) and isinstance(theirs, list)
    if not both:
        said = f"{first.name} has {_counted(ours)}, {one.name} {_counted(theirs)}"
    elif sorted(ours) == sorted(theirs):
        j = next(j for j, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
        said = (
            f"{one.name} has those of {first.name} in another order (column {j} is {theirs[j]!r}, not "
            f"{ours[j]!r}): fit it with them in that order"
        )
    else:
        gone, new = (set(a) - set(b) for a, b in ((ours, theirs), (theirs, ours)))
        what = [f"lacks {_some(gone)}"] if gone else []
        what += [f"has {_some(new)}, which {first.name} has not"] if new else []
        said = f"{one.name} {' and '.join(what)}"
    raise ValueError(f"columns differ: {said}")


def _check_designs(first: NamedModel, one: NamedModel) -> None:
    """Refuse tables that became other columns: their statistics are of different things."""
    designs = [vars(each.model).get("_design") for each in (first, one)]
    if designs[0] is None and designs[1] is None:
        return
    said = "one was fitted to numbers, the other to a table with categories"
    if designs[0] is not None and designs[1] is not None:
        found = designs[0].unlike(designs[1])
        if found is None:
            return
        said = found
    raise ValueError(
        f"{first.name} and {one.name} were fitted to different design matrices: {said}. Learn one for all "
        "rows first (DesignMatrix, partial_fit or merge), and fit to design.transform(X); or continue one "
        "model on the other rows by partial_fit, which keeps its design matrix."
    )


def _columns(model: Any) -> Any:
    """Their names, or how many they are."""
    return list(getattr(model, "feature_names_in_", ())) or model.n_features_in_


def _some(names: set[str]) -> str:
    shown = [repr(name) for name in sorted(names)]
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")


def _counted(columns: Any) -> str:
    if isinstance(columns, list):
        return f"{len(columns)} named columns"
    return f"{columns} columns without names"


# Fitting by one pass: fit, partial_fit and merge are the same statistics, differently come by.

UNLIKE = "hyper-parameters that need other statistics were changed since the first rows: fit anew"
Start = Callable[[], Any]


class OnePass(FittedMixin):
    """Estimators that are a function of statistics which absorb rows and merge.

    A subclass says what rows and target it takes (`_source`, `_target_of`: the classes, or the shape of a
    row of y), which statistics it counts, which model they make, what of it is shown, and what the rows
    left open.
    """

    __metadata_request__fit: ClassVar[dict[str, str]] = NOT_ROUTED
    _card: ClassVar[type[FoldMetrics]]  # how its predictions are evaluated
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

    @resumable
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit to rows and their target, from scratch, in one pass.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Training rows, in memory, as a Dask collection, or as a source of `likelier.scan`, which is read
            in chunks.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Target. Leave out if X is a source with a target column.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row given twice. None: all weights are 1.
        checkpoint : str or path, default=None
            File in which the progress is saved until the fit is complete. If the process stops, the same
            call resumes from it.

        Returns
        -------
        self : estimator
            The fitted estimator itself.
        """
        source = self._source(X, y, sample_weight, known=False)
        with validation.naming(source, type(self).__name__):
            target = self._target_of(source)
            statistics = self._count(source, target)
            model = replace(self._estimate(statistics, target), single=single(source))
        self._warn(model, statistics, target, source.names)
        return self._publish(model, statistics, target, source.names)

    @repeated_for_gaps
    def cross_validate(
        self,
        X: Any,
        y: Any = None,
        cv: Any = 5,
        param_grid: Any = None,
        *,
        scoring: str | None = None,
        groups: Any = None,
        sample_weight: Any = None,
        random_state: int | None = None,
        return_predictions: bool = False,
    ) -> CrossValidation:
        """Cross-validation, and grid search, in two passes over the rows.

        The result is the same as that of a separate fit for each fold and each point of the grid. The
        statistics of each fold are computed once and merged into those of all folds but one.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Training rows, in memory, as a Dask collection, or as a source of `likelier.scan`, which is read
            in chunks.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Target. Leave out if X is a source with a target column.
        cv : int, cross-validation splitter or iterable of (train, test), default=5
            Number of folds, a splitter of scikit-learn, or index pairs. Each row must be in exactly one
            test set and in the training sets of all other folds. An int cuts arrays as scikit-learn does,
            and rows that are not in memory by a hash of the row number.
        param_grid : dict or list of dict, default=None
            Values to try for each hyper-parameter, as `param_grid` of scikit-learn's GridSearchCV. None:
            only the estimator as it is.
        scoring : {"mse", "r2", "neg_mean_squared_error"} or None, default=None
            Metric by which the best point is chosen; None is "mse".
        groups : array-like of shape (n_samples,), default=None
            Group of each row, for splitters that keep groups together.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row given twice. None: all weights are 1.
        random_state : int, default=None
            Seed of the folds of rows that are not in memory; for arrays use a splitter with a seed.
        return_predictions : bool, default=False
            Whether to keep the out-of-fold predictions of the best point; this takes a third pass.

        Returns
        -------
        result : CrossValidation
            Scores of every point on every fold, `best_params_`, `best_score_`, `best_estimator_` (fitted to
            all rows) and, if requested, `predictions`. Prints as a table.
        """
        source = numbered(self._source(X, y, sample_weight, known=False))
        asked = cross_validation.CrossValidationRequest(
            cv, param_grid, scoring, groups, random_state, return_predictions
        )
        return cross_validation.validated(self, source, (X, y), asked)

    def _survey(self, source: Source, *, every: bool = False) -> Any:
        """What is known before rows are counted: what y is."""
        return self._target_of(source)

    def _warn_of_folds(self, survey: Any) -> None:
        """Say what rows that are held out have decided nevertheless."""

    def _take_in(self, source: Source, target: Any) -> Self:
        """The fit to these rows and all before them, without warnings: more may come."""
        with validation.naming(source, type(self).__name__):
            statistics = self._count(source, target)
        names, all_single = source.names, single(source)
        if "_model" in vars(self):
            statistics = merged([self._statistics, statistics])
            names = column_names(self)
            all_single = all_single and self._model.single
        model = replace(self._estimate(statistics, target), single=all_single)
        return self._publish(model, statistics, target, names)

    @abstractmethod
    def _join(self, models: Sequence[NamedModel], classes: Any = None) -> Self:
        """A new estimator, equal to one fitted to the rows of all these; self is the first of them."""

    def _merge(self, models: Sequence[NamedModel], states: Sequence[Any], target: Any) -> Self:
        """A new estimator of the same kind, with these statistics of the models."""
        statistics = merged(states)
        new: Self = clone(self)
        names = column_names(self)
        all_single = all(one.model._model.single for one in models)
        model = replace(new._estimate(statistics, target), single=all_single)
        new._warn(model, statistics, target, names)
        return new._publish(model, statistics, target, names)

    def _estimate(self, statistics: Any, target: Any) -> Any:
        """The model that statistics make, which are checked."""
        check_sound(statistics)
        return self._model_of(plain(statistics))

    def _needs_statistics(self, what: str) -> None:
        needs_statistics(self, what)


def needs_statistics(estimator: Any, what: str) -> None:
    """Refuse what a model can do only as long as it keeps its statistics."""
    if estimator._statistics is None:
        raise ValueError(
            f"{what} needs the statistics of the rows, and this {type(estimator).__name__} keeps none: "
            "it came from marginal(), condition() or a model of scikit-learn that keeps none, was saved "
            "without them, or was fitted with a covariance_estimator or to rows in which cells are missing "
            "in more ways than can be counted."
        )


def merged(states: Sequence[Any]) -> Any:
    """One state out of several, which stay as they are."""
    total = copy.deepcopy(states[0])
    for state in states[1:]:
        if not total.mergeable(state):
            raise ValueError(UNLIKE)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by check_sound
            total.merge(state)
    return total
