"""Generative classifiers by one pass: fit, partial_fit and merge compute the same statistics."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone

from likelier.data import Arrays, Source, levels_of
from likelier.data.chunk import single
from likelier.data.transforms import KnownLabelsOnly, Units, UnknownLabel
from likelier.em import completed_by_passes
from likelier.engines import run
from likelier.engines.run import numbered
from likelier.estimators import cross_validation, posteriors, validation
from likelier.estimators.base import (
    NOT_ROUTED,
    Names,
    column_names,
    resumable,
    warn,
)
from likelier.estimators.generative.base import GenerativeModel, Scaling, units_for
from likelier.estimators.generative.outliers import CountedModel, RowSampling, joined, scored
from likelier.estimators.one_pass import (
    NamedModel,
    Start,
    check,
    check_statistics,
    merged,
    needs_statistics,
    numbered_models,
)
from likelier.estimators.predictions import share_found
from likelier.evaluation import CrossValidation, LabelFoldMetrics
from likelier.families import Completed, Family, completed
from likelier.model import Bayes, glimpse, surveyed
from likelier.scores import Scores
from likelier.states import ColumnMoments, PatternMoments, ShrinkageMoments, TooManyPatterns
from likelier.states.base import Scaled, plain


class Survey(NamedTuple):
    """What is known before rows are counted."""

    classes: NDArray[Any]
    plan: Any = None  # of families, where the rows decide which they are
    guessed: bool = False  # the classes are those of some rows: others may have further ones


class Count(NamedTuple):
    """What a pass has found."""

    statistics: Any  # of which the model is a function
    kept: Any  # the same, or None where they can neither absorb more rows nor merge
    sample: RowSampling | None  # of the rows
    single: bool  # the rows are in memory, in single precision


class OnePassClassifier(ClassifierMixin, GenerativeModel):
    """Class densities that are a function of statistics, which absorb rows and merge.

    A subclass says which family its hyper-parameters describe, which model the statistics make, which
    attributes are shown (`_shown`), and what the rows left open (`_remarks`).
    """

    __metadata_request__fit: ClassVar[dict[str, str]] = NOT_ROUTED
    _card = LabelFoldMetrics  # how its predictions are evaluated
    _settled: ClassVar[tuple[str, ...]] = ()  # hyper-parameters that statistics have the last word on

    # ---- what a subclass says ----------------------------------------------------------------------
    @abstractmethod
    def _family(self, classes: NDArray[Any]) -> Family:
        """The family that the hyper-parameters describe, which are checked here."""

    @abstractmethod
    def _model_of(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        """The model that statistics make, under the hyper-parameters, which are checked here."""

    def _scaling(self) -> Scaling:
        """Whether a change of units changes no answer: of any column, of all together, or not so."""
        return "none"

    def _scalable(self, survey: Survey) -> NDArray[np.bool_] | None:
        """Which columns may have units, (p,); None: all."""
        return None

    def _plan_for(self, source: Source, classes: NDArray[Any]) -> Any:
        """What else the rows decide before they are counted."""
        return None

    def _check_enough(self, statistics: Any, source: Source, classes: NDArray[Any]) -> None:
        """Refuse rows that are too few to fit."""

    # ---- fitting -----------------------------------------------------------------------------------
    @resumable
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit to labelled rows, from scratch, in one pass.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Training rows, in memory, as a Dask collection, or as a source of `likelier.scan`, which is read
            in chunks. NaN and None are missing values.
        y : array-like of shape (n_samples,), default=None
            Class labels. Leave out if X is a source with a target column.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row given twice. None: all weights are 1.
        checkpoint : str or path, default=None
            File in which the progress is saved until the fit is complete. If the process stops, the same
            call resumes from it.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Raises
        ------
        ValueError
            If X, y and sample_weight do not fit together, or a hyper-parameter is not valid.

        Warns
        -----
        DegenerateWarning
            If the rows do not determine the model, for example because a column is constant.
        """
        source = self._source(X, y, sample_weight, known=False)
        with validation.naming(source, type(self).__name__):
            survey = self._survey(source)
            try:
                count = self._count(source, survey, final=True)
            except UnknownLabel:  # of a row that the survey did not look at
                survey = self._survey(source, every=True)
                count = self._count(source, survey, final=True)
            self._check_enough(count.statistics, source, survey.classes)
            model = self._estimate(count.statistics, survey.classes)
        typical = self._typical(model, count.kept, survey.classes, count.sample)
        model = replace(model, single=count.single, typical=typical)
        self._warn(model, count.kept, survey.classes, source.names)
        return self._publish(model, count.kept, survey.classes, source.names)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add more rows: the result is the same as that of one `fit` to all rows so far.

        Unlike `fit` it does not warn of rows that do not determine the model, since more may follow.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Training rows, in memory, as a Dask collection, or as a source of `likelier.scan`, which is read
            in chunks. NaN and None are missing values.
        y : array-like of shape (n_samples,), default=None
            Class labels. Leave out if X is a source with a target column.
        classes : array-like of shape (n_classes,), default=None
            All labels that can occur; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row given twice. None: all weights are 1.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Raises
        ------
        ValueError
            If `classes` is missing in the first call or differs later, y has a label that is not among
            them, or the model keeps no statistics.

        Examples
        --------
        >>> from likelier import GaussianNB
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB()
        >>> for part in (slice(0, 80), slice(80, 150)):
        ...     model = model.partial_fit(X[part], y[part], classes=[0, 1, 2])
        >>> model.class_count_
        array([50., 50., 50.])
        """
        first = "_model" not in vars(self)
        known = validation.known_classes(self, classes)
        if not first:
            needs_statistics(self, "partial_fit")
        warn(self, self._settings())
        source = self._source(X, y, sample_weight, known=not first)
        found = validation.refuse_new(source, known)
        with validation.naming(source, type(self).__name__):
            survey = Survey(known, self._plan_for(source, found) if first else self._known_plan())
            statistics, _, sample, all_single = self._count(source, survey, None if first else self)
        names, before = source.names, []
        if not first:
            statistics = merged([self._statistics, statistics])
            names = column_names(self)
            all_single, before = all_single and self._model.single, [self._model.typical]
        model = self._estimate(statistics, known)
        typical = self._typical(model, statistics, known, sample, before)
        return self._publish(replace(model, typical=typical, single=all_single), statistics, known, names)

    def merge(self, *others: Self, classes: Literal["union"] | None = None) -> Self:
        """Combine models that were fitted to different rows into one, as if fitted to all of them.

        Parameters
        ----------
        *others : estimator
            Fitted models of the same class, with the same hyper-parameters and columns.
        classes : {"union"} or None, default=None
            "union" combines different sets of classes; None requires them to be the same.

        Returns
        -------
        model : estimator
            A new fitted estimator; the given ones are not changed.

        Raises
        ------
        TypeError
            If the models are not of the same class.
        ValueError
            If hyper-parameters, columns or classes differ, or a model keeps no statistics.

        Examples
        --------
        >>> from likelier import GaussianNB
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> even, odd = GaussianNB().fit(X[::2], y[::2]), GaussianNB().fit(X[1::2], y[1::2])
        >>> even.merge(odd).class_count_
        array([50., 50., 50.])
        """
        return self._join(numbered_models(self, others), classes)

    def _join(self, models: Sequence[NamedModel], classes: Any = None) -> Self:
        """A new estimator, equal to one fitted to the rows of all these; self is the first of them."""
        check(models)
        joint = _joint_classes(models, classes)
        check_statistics(models)
        counted = [(model._statistics, np.searchsorted(joint, model._target)) for _, model in models]
        statistics = merged([state.widened(len(joint), at) for state, at in counted])
        new: Self = clone(self)
        names = column_names(self)
        model = new._estimate(statistics, joint)
        model = replace(model, single=all(one._model.single for _, one in models))
        new._warn(model, statistics, joint, names)
        typical = new._typical(model, statistics, joint, None, [one._model.typical for _, one in models])
        return new._publish(replace(model, typical=typical), statistics, joint, names)

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
            in chunks. NaN and None are missing values.
        y : array-like of shape (n_samples,), default=None
            Class labels. Leave out if X is a source with a target column.
        cv : int, cross-validation splitter or iterable of (train, test), default=5
            Number of folds, a splitter of scikit-learn, or index pairs. Each row must be in exactly one
            test set and in the training sets of all other folds. An int cuts arrays as scikit-learn does,
            and rows that are not in memory by a hash of the row number.
        param_grid : dict or list of dict, default=None
            Values to try for each hyper-parameter, as `param_grid` of scikit-learn's GridSearchCV. None:
            only the estimator as it is.
        scoring : {"log_loss", "error", "neg_log_loss", "accuracy"} or None, default=None
            Metric by which the best point is chosen; None is "log_loss".
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

        Raises
        ------
        ValueError
            If `cv`, `param_grid` or `scoring` is not valid, or a fold has no rows.

        Examples
        --------
        >>> from likelier import GaussianNB
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> result = GaussianNB().cross_validate(X, y, param_grid={"var_smoothing": [1e-9, 1e-2]})
        >>> result.best_params_, round(result.best_score_, 3)
        ({'var_smoothing': 0.01}, 0.126)
        """
        source = numbered(self._source(X, y, sample_weight, known=False))
        asked = cross_validation.CrossValidationRequest(
            cv, param_grid, scoring, groups, random_state, return_predictions
        )
        return cross_validation.validated(self, source, (X, y), asked)

    # ---- how ---------------------------------------------------------------------------------------
    def _source(self, X: Any, y: Any, sample_weight: Any, *, known: bool) -> Source:
        """All that `fit` takes, checked; known: the columns are those of an earlier fit."""
        return validation.training(self, X, y, sample_weight, known=known)

    def _survey(self, source: Source, *, every: bool = False) -> Survey:
        """The classes: of some rows, where to look at every row would take another pass."""
        some = None if every or isinstance(source, Arrays) else glimpse(source)
        if some is not None and self._may_be(some):
            return Survey(some, guessed=True)
        classes = classes_in(source)
        return Survey(classes, self._plan_for(source, classes))

    def _may_be(self, classes: NDArray[Any]) -> bool:
        """Whether these could be all classes, as far as the hyper-parameters say."""
        given = getattr(self, "priors", None)
        given = getattr(self, "class_prior", None) if given is None else given
        if isinstance(given, Mapping):
            return set(given) == set(classes.tolist())
        return len(classes) > 1 and (given is None or np.size(given) == len(classes))

    def _warn_of_folds(self, survey: Survey) -> None:
        """Say what rows that are held out have decided nevertheless."""

    def _known_plan(self) -> Any:
        """What earlier rows decided."""
        return None

    def _labelled(self, source: Source, survey: Survey) -> Source:
        """The rows as statistics take them."""
        rows = source.coded(survey.classes)
        return KnownLabelsOnly(rows) if survey.guessed else rows

    def _start(self, rows: Source, survey: Survey, earlier: Any = None) -> Start:
        """Makes statistics of no rows yet; the hyper-parameters that decide which are checked here.

        earlier: the fitted estimator whose statistics these are to be added to.
        """
        family = self._family(survey.classes)
        units = self._units_of(rows, survey, earlier)
        return in_units(units, partial(family.stats, len(survey.classes), rows.p))

    def _units_of(self, rows: Source, survey: Survey, earlier: Any) -> Units | None:
        """The units that the columns need, or that they had in earlier rows."""
        if earlier is not None:
            return earlier._statistics.units if isinstance(earlier._statistics, Scaled) else None
        return units_for(rows, self._scaling(), self._scalable(survey))

    def _count(self, source: Source, survey: Survey, earlier: Any = None, *, final: bool = False) -> Count:
        """The statistics of all rows, from one pass, and a sample of them.

        final: no rows will follow, so that statistics which cannot be kept are enough.
        """
        rows, in_single = self._labelled(source, survey), single(source)
        sample = self._sampling(source, survey, earlier)
        beside = None if sample is None else sample.beside
        start = self._start(rows, survey, earlier)
        if beside is not None:
            rows = numbered(rows)
        try:
            statistics = run(rows, start, beside)
        except TooManyPatterns:
            counted = plain(start())
            if not final or not isinstance(counted, PatternMoments):
                raise
            # To keep what a merge would need is to keep the rows: read them again instead.
            rows_of_all = completed_by_passes(rows, len(survey.classes), counted.shape, beside)
            return Count(rows_of_all, None, sample, in_single)
        return Count(statistics, statistics, sample, in_single)

    def _estimate(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        """The model that statistics make, which are checked."""
        validation.check_sound(statistics)
        if isinstance(statistics, Scaled):
            return replace(self._model_of(statistics.state, classes), units=statistics.units)
        return self._model_of(statistics, classes)

    def _scores(self, model: Bayes) -> Scores:
        """What a model predicts from."""
        return model.posterior

    # ---- how likely the training rows are ------------------------------------------------------------
    def _sampling(self, source: Source, survey: Survey, earlier: Any) -> RowSampling | None:
        """Draws the rows by whose scores `is_outlier` decides; None: they are not needed."""
        kept = None if earlier is None else scored(earlier._model.typical)
        return RowSampling(source, kept, survey.classes)

    def _typical(
        self,
        model: Bayes,
        statistics: Any,
        classes: NDArray[Any],
        sample: RowSampling | None,
        before: Sequence[Any] = (),
    ) -> Any:
        """The scores of the sample under a model, with those that were kept before."""
        if sample is None:
            return joined(before)
        now = sample.typical(model, self._counted(model, statistics, classes))
        return joined([*before, now]) if before else now

    def _counted(self, model: Bayes, statistics: Any, classes: NDArray[Any]) -> CountedModel | None:
        """What rows can be taken out of; None: no statistics were kept."""
        return None if statistics is None else CountedModel(self._family(classes), statistics)

    # ---- what is shown -------------------------------------------------------------------------------
    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        return {"classes_": target, "n_features_in_": model.params.shape[1]}

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        if len(target) == 1:
            yield f"all rows are of class {target[0]}: every answer will be that class"
        if isinstance(statistics, PatternMoments | ShrinkageMoments):
            rows = completed(statistics)
            if isinstance(rows, Completed) and not rows.converged:
                yield (
                    f"the most likely means and covariances of rows with missing cells were not found in "
                    f"{rows.steps} steps: too little is there to tell them apart. Drop columns with few "
                    "values."
                )
            joint = statistics.joint() if isinstance(statistics, ShrinkageMoments) else statistics
            if not joint.complete:
                yield from _unseen(joint.columns(), target, names)
        elif isinstance(statistics, ColumnMoments):
            yield from _unseen(statistics, target, names)

    # ---- answers -------------------------------------------------------------------------------------
    decide = posteriors.decide

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy: the share of rows whose class is predicted correctly.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.
        y : array-like of shape (n_samples,), default=None
            True labels. Leave out if X is a source with a target column.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        accuracy : float
            From 0 to 1.
        """
        return share_found(self, super().score, X, y, sample_weight)


def classes_in(source: Source) -> NDArray[Any]:
    """The classes of a source."""
    y = source.y if isinstance(source, Arrays) else None
    if isinstance(source, Arrays) and y is not None and len(source.parts(0)) == 1:
        # Labels of one part are at hand: a pass would cost more than to look at them.
        found, rows = levels_of(y if source.w is None else y[source.w > 0]), len(y)
    else:
        found, rows = surveyed(source)
    validation.weighty(len(found))
    validation.warn_of_many(len(found), rows)
    return found


def in_units(units: Units | None, start: Start) -> Start:
    """Statistics of columns in these units; None: as they are."""
    return start if units is None else partial(_started, units, start)


def _started(units: Units, start: Start) -> Scaled:
    return Scaled(units, start())


def _unseen(columns: ColumnMoments, target: NDArray[Any], names: Names) -> Iterator[str]:
    """Columns of which a class has no cell."""
    unseen = (columns.seen == 0) & (columns.n > 0)[:, None]  # (K, p)
    if unseen.any():
        k = int(unseen.any(axis=1).argmax())
        some = validation.named(names, np.flatnonzero(unseen[k]))
        yield (
            f"in class {target[k]} every cell of column {some} is missing: mean and variance there are "
            "those of all classes, so that the column says little for or against it."
        )


def _joint_classes(models: Sequence[NamedModel], classes: Any) -> NDArray[Any]:
    """The classes of all models: the same, or, asked for, their union."""
    if classes not in (None, "union"):
        raise ValueError(f"classes must be None (all models have the same) or 'union'; got {classes!r}.")
    joint: NDArray[Any] = models[0].model._target
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
    return joint


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
