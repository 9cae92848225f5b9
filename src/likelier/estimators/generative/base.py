"""What every generative classifier offers once it is fitted, and those with affine scores."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from likelier import links
from likelier.array_types import Floats
from likelier.data import Dense, SkippedWarning, Source
from likelier.data.units import Units
from likelier.em import completed_by_passes
from likelier.estimators import validation
from likelier.estimators.base import Decisions, Names, Publishing
from likelier.estimators.common import Contributions, LinearClassifier
from likelier.estimators.frames import check_library, filled_in, is_frame, new_frame
from likelier.estimators.generative.outliers import Counted, joined, scored, watching
from likelier.estimators.generative.units import Scaling as Scaling
from likelier.estimators.generative.units import units_for
from likelier.estimators.one_pass import Named, OnePassClassifier, Start
from likelier.estimators.priors import adapted, warn_of_priors
from likelier.estimators.sources import by_block
from likelier.families import Completed, Support, completed
from likelier.links import Link
from likelier.model import Bayes, ask, log_of
from likelier.scores import Scores
from likelier.states import ColumnMoments, PatternMoments, ShrinkageMoments, TooManyPatterns
from likelier.states.units import Scaled
from likelier.warning_location import outside

# What every generative classifier can do once it is fitted.


def seen_only(prior: Floats, n: Floats) -> Floats:
    """Priors without the classes that have no rows, their sum 1 again."""
    left = np.where(n > 0, prior, 0.0)
    if not left.any():
        raise ValueError("the priors leave no class of which a row has been seen")
    return np.asarray(left / left.sum())


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


def warn_of_skipped(estimator: Any, skipped: Mapping[int, int], support: Support) -> None:
    """Say which cells counted as missing, because their families cannot have such values."""
    names = getattr(estimator, "feature_names_in_", None)
    counts = (f"{skipped[j]} of column {validation.named(names, [j])} ({support.said(j)})" for j in skipped)
    warnings.warn(
        f"{type(estimator).__name__}: cells outside the support of their family count as missing: "
        f"{', '.join(counts)}.",
        SkippedWarning,
        stacklevel=outside(),
    )


class Answering(Publishing):
    """Classes, or components, as densities: p(C_k | x) ∝ p(C_k) p(x | C_k), and all that follows.

    NaN in X is a missing cell, in a row to train on as in one to answer: what is not known is integrated
    out, never guessed.
    """

    _takes_blocks = True  # of chunks, in place of X
    _model: Bayes
    _target: NDArray[Any]  # the classes
    n_features_in_: int
    _given_columns: dict[
        str, Any
    ]  # what `condition` was told; only of what marginal() and condition() made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # ---- answers -----------------------------------------------------------------------------------
    @by_block
    def predict(self, X: Any, priors: Any = None) -> NDArray[Any]:
        """The most probable class of each row; under other class priors if they are given."""
        codes = self._posterior(X, priors, links.argmax)
        return np.asarray(self._target[codes])

    @by_block
    def predict_proba(self, X: Any, priors: Any = None) -> Floats:
        """p(C_k | x), (n, K); under other class priors, K of them or {label: prior}, if they are given."""
        return self._posterior(X, priors, links.softmax)

    @by_block
    def predict_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """ln p(C_k | x), (n, K), exact where the probability itself is too small to hold."""
        return self._posterior(X, priors, links.log_softmax)

    @by_block
    def predict_joint_log_proba(self, X: Any) -> Floats:
        """ln p(x, C_k), (n, K)."""
        return self._ask(X, "joint", links.identity)

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes, (n, K); of two classes a_1 - a_0, (n,)."""
        Z = self._ask(X, "posterior", links.identity)
        return np.asarray(Z[:, 1] - Z[:, 0]) if len(self._target) == 2 else Z

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """The class priors (K,) under which rows without labels are likeliest; pass them to predict_proba.

        For rows in which the classes come as before, but not as often (label shift). The likelihood per
        row is within `tol` of the best; each of at most `max_iter` steps is a pass over the rows. A class
        whose prior is 0 keeps it. The model stays as it is.
        """
        validation.fitted(self)
        validation.number("tol", tol, 0.0)
        validation.number("max_iter", max_iter, 1, whole=True)
        rows = self._known_rows(X, sample_weight)
        with validation.naming(rows):
            found = adapted(self._model, rows, tol, int(max_iter))
        self._warn_of_skipped(found.skipped)
        warn_of_priors(self, found, tol, max_iter)
        return found.prior

    # ---- density -----------------------------------------------------------------------------------
    @by_block
    def score_samples(self, X: Any) -> Floats:
        """ln p(x) = ln Σ_k p(C_k) p(x | C_k), (n,)."""
        return self._ask(X, "joint", links.log_sum_exp)

    @by_block
    def is_outlier(self, X: Any, quantile: float = 0.01) -> NDArray[np.bool_]:
        """Which rows are less likely, by ln p(x), than all but this share of the training rows, (n,).

        Each training row is judged by the density of all others, so that about this share of fresh rows of
        the same kind is found, also where rows are few for their columns. (Under a density that it was
        part of a row is likelier: of the training rows themselves fewer are outliers.) The limit is the
        least such ln p(x) that rows of more than this share of all weight have at most. It is that of all
        rows up to 8192 (or 32 MB of them), and that of a random sample of so many beyond. After
        `partial_fit` or `merge` the score of each row is that under the model of its time. A row that
        lacks cells is judged by the density of what is there, which is not on the scale of a whole row's:
        compare such rows by `marginal` models where that matters.
        """
        validation.fitted(self)
        validation.number("quantile", quantile, 0.0, 1.0)
        typical = scored(self._model.typical)
        if typical is None or len(typical.scores) == 0:
            raise ValueError(
                f"is_outlier needs the scores of the training rows, and this {type(self).__name__} keeps "
                "none: it came from marginal(), condition() or cross_validate(), was saved by an earlier "
                "version, or was fitted with a covariance_estimator. Compare score_samples of these rows "
                "and of typical ones instead."
            )
        return np.asarray(self.score_samples(X) < typical.limit(quantile))

    def sample(
        self, n_samples: int = 1, y: Any = None, random_state: Any = None, *, output: str | None = None
    ) -> tuple[Any, NDArray[Any]]:
        """New rows and their labels: from all classes, from class y, or, y a list, one for each.

        output: "pandas", "polars" or "pyarrow" for rows as a frame, with the names of the columns and a
        type for each; by default they are an array, of objects if there are categories.
        """
        validation.fitted(self)
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(
                f"Invalid value for 'n_samples': {n_samples!r}. The sampling requires at least one sample, "
                "and a whole number of them."
            )
        seed = check_random_state(random_state).randint(2**31)
        rng = np.random.default_rng(seed)
        if y is None:
            codes = np.sort(rng.choice(len(self._target), size=n_samples, p=self._shares()))
        else:
            codes = self._class_numbers(y, n_samples)
        check_library(output)
        rows = self._shown_rows(self._model.sample(codes, rng))
        if output is not None:
            rows = new_frame(rows, getattr(self, "feature_names_in_", None), output)
        return rows, self._target[codes]

    @by_block
    def impute(self, X: Any) -> Any:
        """X with what is missing filled in: Σ_k p(C_k | x) E[x_j | x, C_k], x being what is there.

        Categories are filled in by the likeliest one. A frame (pandas, polars, Arrow) comes back as one,
        with its names and its index: columns without missing values as they are, others of the type that
        they had, but for whole numbers and booleans, which become floats. All else is an array, of objects
        if there are categories.
        """
        filled, missing = self._imputed(X)
        return filled_in(X, filled, missing) if is_frame(X) else filled

    def _imputed(self, X: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """(n, p) all cells as users know them, and which of them were missing."""
        P = self.predict_proba(X)
        rows = self._known_rows(X)
        with validation.naming(rows):
            given, support = validation.all_rows(rows, gaps=True), self._model.params.support
            known = given.copy()
            if support is not None:
                known[support.outside(Dense(given))] = np.nan  # counts as missing, and stays
            filled = self._model.fill(known, P)
        missing = np.isnan(given)
        return np.where(missing, filled, given), missing

    def marginal(self, columns: Any) -> Self:
        """The same model of these columns alone: a fitted estimator, which keeps no statistics."""
        validation.fitted(self)
        at = validation.columns_of(self, columns)
        if len(at) == 0:
            raise ValueError("marginal needs at least one column")
        return self._derived(self._model.marginal(at), at, {})

    def condition(self, given: Mapping[Any, Any]) -> Self:
        """The model of the other columns once these are known: {column: value}.

        A fitted estimator whose priors are p(C_k | given); it keeps no statistics.
        """
        validation.fitted(self)
        at, names = validation.columns_of(self, given.keys()), getattr(self, "feature_names_in_", None)
        values = [self._number(j, v) for j, v in zip(at.tolist(), given.values(), strict=True)]
        if not np.isfinite(values).all():
            name = validation.named(names, at[~np.isfinite(values)])
            raise ValueError(
                f"condition needs finite values, and that of column {name} is not: leave out columns that "
                "are not known"
            )
        self._check_possible(at, values)
        rest = np.setdiff1d(np.arange(self.n_features_in_), at)
        if len(rest) == 0:
            raise ValueError(
                "condition leaves no column; for the class given all columns, use predict_proba"
            )
        known = {validation.named(names, [j]): v for j, v in zip(at.tolist(), given.values(), strict=True)}
        return self._derived(
            self._model.condition(dict(zip(at.tolist(), values, strict=True))), rest, known
        )

    # ---- how ---------------------------------------------------------------------------------------
    def _ask(self, X: Any, which: Literal["posterior", "joint"], link: Link) -> NDArray[Any]:
        validation.fitted(self)
        scores: Scores = getattr(self._model, which)
        return self._answers(scores, X, link)

    def _posterior(self, X: Any, priors: Any, link: Link) -> NDArray[Any]:
        if priors is None:
            return self._ask(X, "posterior", link)
        validation.fitted(self)
        given = validation.priors_of(priors, len(self._target), classes=self._target)
        scores = self._model.reweighed(log_of(self._of_seen(given)))
        return self._answers(scores, X, link)

    def _number(self, column: int, value: Any) -> float:
        """A value of a column as densities take it."""
        try:
            return float(value)
        except (TypeError, ValueError):
            name = validation.named(getattr(self, "feature_names_in_", None), [column])
            raise ValueError(
                f"condition: column {name} holds numbers, and {value!r:.80} is not a number"
            ) from None

    def _shown_rows(self, X: Floats) -> NDArray[Any]:
        """Rows as users know them."""
        return X

    def _known_rows(self, X: Any, sample_weight: Any = None) -> Source:
        """Rows to answer, as the model takes them."""
        return validation.weighed_rows(self, X, sample_weight)

    def _answers(self, scores: Scores, X: Any, link: Link) -> NDArray[Any]:
        rows = self._known_rows(X)
        with validation.naming(rows):
            answers, skipped = ask(scores, rows, link, self._model.params.support)
        self._warn_of_skipped(skipped)
        return answers

    def _warn_of_skipped(self, skipped: Mapping[int, int]) -> None:
        """Say which cells counted as missing, because their families cannot have such values."""
        support = self._model.params.support
        if skipped and support is not None:
            warn_of_skipped(self, skipped, support)

    def _check_possible(self, columns: NDArray[np.intp], values: list[float]) -> None:
        """Refuse to know what a family cannot have."""
        support = self._model.params.support
        if support is not None:
            row = np.full((1, self.n_features_in_), np.nan)
            row[0, columns] = values
            for j in support.outside(Dense(row))[1][:1].tolist():
                name = validation.named(getattr(self, "feature_names_in_", None), [j])
                raise ValueError(f"condition: column {name} cannot be {row[0, j]:g}; {support.said(j)}")

    def _of_seen(self, prior: Floats) -> Floats:
        """A class of which no row has been seen has no density: no prior can make it likely."""
        if self._statistics is None:
            return prior
        return seen_only(prior, self._statistics.n)

    def _shares(self) -> Floats:
        prior = self._model.prior
        return np.asarray(prior / prior.sum())  # exp(ln p) sums to 1 only up to rounding

    def _class_numbers(self, y: Any, n: int) -> NDArray[np.intp]:
        labels = np.atleast_1d(np.asarray(y))
        known = {label: k for k, label in enumerate(self._target.tolist())}
        missing = [v for v in labels.tolist() if v not in known]
        if missing:
            raise ValueError(f"no class {missing[0]!r}; classes: {self._target.tolist()}")
        codes = np.array([known[v] for v in labels.tolist()], dtype=np.intp)
        if self._statistics is not None and not (self._statistics.n[codes] > 0).all():
            raise ValueError("no row of that class has been seen: there is nothing to draw from")
        if len(codes) not in (1, n):
            raise ValueError(f"y lists {len(codes)} labels for n_samples={n}")
        return np.broadcast_to(codes, n) if len(codes) == 1 else codes

    def _derived(self, model: Bayes, columns: NDArray[np.intp], given: Mapping[str, Any]) -> Self:
        """The model of some columns, which says what it is of and what it knows; a new fit forgets that."""
        names = getattr(self, "feature_names_in_", None)
        kept = None if names is None else names[columns]
        new: Self = clone(self)._publish(model, None, self._target, kept)
        new._given_columns = {**vars(self).get("_given_columns", {}), **given}
        return new

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = str(super().__repr__(N_CHAR_MAX))
        if "_given_columns" not in vars(self):
            return shown
        names, p = getattr(self, "feature_names_in_", None), self.n_features_in_
        of = (
            f"{p} column{'s'[: p != 1]}" if names is None else f"column {validation.named(names, range(p))}"
        )
        known = ", ".join(f"{name} = {value!r}" for name, value in self._given_columns.items())
        return f"{shown} of {of}" + (f", given {known}" if known else "")


class Generative(Decisions, Answering, OnePassClassifier):
    """Classifiers by densities that one pass counts."""

    _goes_on = False  # whether rows are taken in beside earlier ones

    def _scaling(self) -> Scaling:
        """Whether a change of units changes no answer: of any column, of all together, or not so."""
        return "none"

    def _start(self, source: Source, target: NDArray[Any]) -> Start:
        return self._in_units(self._labelled(source, target), super()._start(source, target))

    def _in_units(self, source: Source, start: Start) -> Start:
        """Statistics of the columns in the units that they need, or that earlier rows had."""
        if self._goes_on:
            units = self._statistics.units if isinstance(self._statistics, Scaled) else None
        else:
            units = units_for(source, self._scaling(), self._scalable(source))
        return start if units is None else partial(_started, units, start)

    def _scalable(self, source: Source) -> NDArray[np.bool_]:
        """Which columns may have units, (p,)."""
        return np.ones(source.p, dtype=np.bool_)

    def _fitted(self, source: Source, target: NDArray[Any]) -> tuple[Bayes, Any | None]:
        (model, statistics), typical = watching(partial(self._fitted_to, target), source, classes=target)
        return replace(model, typical=typical(model, self._counted(model, statistics))), statistics

    def _counted(self, model: Bayes, statistics: Any) -> Counted | None:
        """What rows can be taken out of; None: no statistics were kept."""
        return None if statistics is None else Counted(self._family(len(model.log_prior)), statistics)

    def _take_in(self, source: Source, target: NDArray[Any]) -> Self:
        kept = [scored(self._model.typical)] if "_model" in vars(self) else []
        self._goes_on = bool(kept)
        try:
            _, typical = watching(
                lambda rows: super(Generative, self)._take_in(rows, target),
                source,
                kept[0] if kept else None,
                target,
            )
        finally:
            del self._goes_on
        now = typical(self._model, self._counted(self._model, self._statistics))
        self._model = replace(self._model, typical=joined([*kept, now]))
        return self

    def _join(self, models: Sequence[Named], classes: Any = None) -> Self:
        new = super()._join(models, classes)
        new._model = replace(new._model, typical=joined([one._model.typical for _, one in models]))
        return new

    def _fitted_to(self, target: NDArray[Any], source: Source) -> tuple[Bayes, Any | None]:
        try:
            return super()._fitted(source, target)
        except TooManyPatterns:
            # To keep what a merge would need is to keep the rows: read them again instead.
            counted = self._family(len(target)).stats(len(target), source.p)
            if not isinstance(counted, PatternMoments):
                raise
            rows = completed_by_passes(source.coded(target), len(target), counted.shape)
            return self._sound_model(rows), None

    def _sound_model(self, statistics: Any) -> Bayes:
        model: Bayes = super()._sound_model(statistics)
        return replace(model, units=statistics.units) if isinstance(statistics, Scaled) else model

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
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


def _started(units: Units, start: Start) -> Scaled:
    return Scaled(units, start())


# Generative models whose scores are affine in x: weights to read, and what each column adds.


class AffineScores(Generative):
    """a_k(x) = w_k·x + b_k, and a term that all classes share; two classes are one weight vector."""

    def _offset(self, model: Bayes) -> Floats:
        """What a row of no columns would score, (K,): the log priors."""
        return model.log_prior

    def _lines(self) -> tuple[Floats, Floats]:
        """W (K, p) and b (K,); of two classes their differences, (1, p) and (1,)."""
        validation.fitted(self)
        params: Any = self._model.params
        W, b = params.W, params.constant.sum(axis=1) + self._offset(self._model)
        return (W[1:] - W[:1], b[1:] - b[:1]) if len(b) == 2 else (W, b)

    @property
    def coef_(self) -> Floats:
        """The weights of the columns: (K, p), of two classes (1, p)."""
        return self._lines()[0]

    @property
    def intercept_(self) -> Floats:
        """(K,), of two classes (1,)."""
        return self._lines()[1]

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        never = (statistics.seen() == 0) & (statistics.n > 0)[:, None]  # (K, p)
        if never.any():
            k = int(never.any(axis=1).argmax())
            some = validation.named(names, np.flatnonzero(never[k]))
            yield (
                f"in class {target[k]} every cell of column {some} is missing: counts there are those of "
                "all classes, so that the column says little for or against it."
            )

    def to_linear(self) -> LinearClassifier:
        """The weights alone, as a classifier that predicts the same."""
        W, b = self._lines()
        return LinearClassifier(W, b, self.classes_, getattr(self, "feature_names_in_", None))

    def contributions(self, X: Any) -> Contributions:
        """What each column adds to each class's score, (n, K, p), beside a base (K,).

        Together they are the joint log score. A missing cell contributes 0.
        """
        validation.fitted(self)
        rows = validation.dense_rows(self, X, gaps=True)
        params: Any = self._model.params
        return Contributions.of(self, params.parts(_possible(params, rows)), self._offset(self._model))


def _possible(params: Any, X: Floats) -> Floats:
    """X without the cells outside the support, which count as missing."""
    if params.support is None:
        return X
    return Dense(X).without(params.support.outside(Dense(X))).array
