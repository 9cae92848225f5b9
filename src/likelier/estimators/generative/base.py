"""What every generative model offers once it is fitted: probabilities, densities, samples and more."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from likelier import links
from likelier.array_types import Floats
from likelier.data import Dense, SkippedWarning, Source
from likelier.estimators import validation
from likelier.estimators.base import Names, attributes_of, publish, with_caption
from likelier.estimators.frames import check_library, filled_in, is_frame, new_frame
from likelier.estimators.generative.outliers import scored
from likelier.estimators.priors import adapted, warn_of_priors
from likelier.estimators.sources import by_block
from likelier.families import Support
from likelier.links import Link
from likelier.model import Bayes, ask, log_of
from likelier.scores import Scores
from likelier.warning_location import outside


def seen_only(prior: Floats, n: Floats) -> Floats:
    """Priors without the classes that have no rows, their sum 1 again."""
    left = np.where(n > 0, prior, 0.0)
    if not left.any():
        raise ValueError("the priors leave no class of which a row has been seen")
    return np.asarray(left / left.sum())


def prior_of(given: Any, n: Floats, classes: NDArray[Any], **how: Any) -> Floats:
    """Class priors: those that are given, of the classes that have rows; by default the shares of rows."""
    if given is None:
        return np.asarray(n / n.sum())
    return seen_only(validation.priors_of(given, len(n), classes=classes, **how), n)


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


class GenerativeModel(BaseEstimator, ABC):
    """Classes, or components, as densities: p(C_k | x) ∝ p(C_k) p(x | C_k), and all that follows.

    NaN in X is a missing cell, in a row to train on as in one to answer: what is not known is integrated
    out, never guessed.
    """

    assumes: ClassVar[str]  # in a sentence
    _takes_blocks = True  # of chunks, in place of X
    # What is of single precision where the rows were: fitted attributes, and answers by their method.
    _single_shown: ClassVar[frozenset[str]] = frozenset()
    _single_answers: ClassVar[frozenset[str]] = frozenset()
    # Of a fitted one: the model, what it was counted from (None: not kept), and the classes.
    _model: Bayes
    _statistics: Any
    _target: NDArray[Any]
    n_features_in_: int
    _given_columns: dict[str, Any]  # what `condition` was told, of what marginal() and condition() made

    # ---- what a subclass says ----------------------------------------------------------------------
    @abstractmethod
    def _shown(self, model: Any, statistics: Any | None, target: Any) -> dict[str, Any]:
        """The fitted attributes, scikit-learn's."""

    @abstractmethod
    def _remarks(self, model: Any, statistics: Any, target: Any, names: Names) -> Iterator[str]:
        """What the rows left open, and what was done about it: a warning each."""

    def _settings(self) -> Iterator[str]:
        """Hyper-parameters that were not taken as they are, whatever the rows: a warning each."""
        yield from ()

    def _publish(self, model: Any, statistics: Any | None, target: Any, names: Names) -> Self:
        """Become fitted, all at once."""
        publish(self, attributes_of(self, model, statistics, target, names))
        return self

    def _html_repr(self) -> str:
        return with_caption(super()._html_repr(), self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
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
