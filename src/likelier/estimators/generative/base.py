"""What every generative model offers once it is fitted: probabilities, densities, samples and more."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from likelier import links
from likelier.array_types import Floats
from likelier.data import Arrays, Dense, SkippedWarning, Source
from likelier.data.transforms import FAR, Units, cluster_of, magnitudes, needed
from likelier.engines import run
from likelier.engines.run import first_chunk
from likelier.estimators import exports, validation
from likelier.estimators.base import Names, publish, warn, with_caption
from likelier.estimators.generative.outliers import scored
from likelier.estimators.priors import adapted, warn_of_priors
from likelier.estimators.sources import by_block
from likelier.estimators.tables import check_library, filled_in, is_frame, new_frame, selected_columns
from likelier.estimators.to_sklearn import to_sklearn
from likelier.export.describe import Scored
from likelier.families import DiagonalGaussian, FullGaussian, Support, TiedGaussian
from likelier.families.gaussian import RidgedDiagonal, RidgedSpherical
from likelier.links import Link
from likelier.model import Bayes, ask, log_of
from likelier.scores import Scores
from likelier.states.base import Magnitudes, Scaled
from likelier.warning_location import outside


def seen_only(prior: Floats, n: Floats) -> Floats:
    """Priors without the classes that have no rows, their sum 1 again."""
    left = np.where(n > 0, prior, 0.0)
    if not left.any():
        raise ValueError(
            "the priors are 0 for every class that has training rows: give one of them a prior > 0."
        )
    return np.asarray(left / left.sum())


def prior_of(given: Any, n: Floats, classes: NDArray[Any], **how: Any) -> Floats:
    """Class priors: those that are given, of the classes that have rows; by default the shares of rows."""
    if given is None:
        return np.asarray(n / n.sum())
    return seen_only(validation.priors_of(given, len(n), classes=classes, **how), n)


def warn_of_skipped(estimator: Any, skipped: Mapping[int, int], support: Support) -> None:
    """Say which cells counted as missing, because their families cannot have such values."""
    names = getattr(estimator, "feature_names_in_", None)
    counts = (
        f"{skipped[j]} of column {validation.named(names, [j])} ({support.described(j)})" for j in skipped
    )
    warnings.warn(
        f"{type(estimator).__name__}: cells outside the support of their family count as missing: "
        f"{', '.join(counts)}.",
        SkippedWarning,
        stacklevel=outside(),
    )


class GenerativeModel(BaseEstimator, ABC):
    """Classes, or components, as densities: p(C_k | x) ∝ p(C_k) p(x | C_k), and all that follows.

    NaN in X is a missing value, in training rows as in rows to predict: it is integrated out, not imputed.
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
        counted = statistics.state if isinstance(statistics, Scaled) else statistics
        publish(self, self._shown(model, counted, target), model, statistics, target, names)
        return self

    def _warn(self, model: Any, statistics: Any | None, target: Any, names: Names) -> None:
        """Warn of hyper-parameters that were not taken as they are, and of what the rows left open."""
        counted = statistics.state if isinstance(statistics, Scaled) else statistics
        remarks = [*self._settings(), *self._remarks(model, counted, target, names)]
        if remarks:
            warn(self, remarks)

    def _html_repr(self) -> str:
        return with_caption(super()._html_repr(), self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    to_sklearn = to_sklearn

    # ---- answers -----------------------------------------------------------------------------------
    @by_block
    def predict(self, X: Any, priors: Any = None) -> NDArray[Any]:
        """Most probable class (for mixtures: component) of each row.

        Missing values are integrated out.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.
        priors : array-like of shape (n_classes,) or dict, default=None
            Class priors to use in place of the fitted ones, in the order of `classes_` or as {label:
            prior}; they must sum to 1.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.

        Examples
        --------
        >>> from likelier import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
        >>> model.predict([[1.4]]).tolist(), model.predict([[1.4]], priors={"a": 0.1, "b": 0.9}).tolist()
        (['a'], ['b'])
        """
        codes = self._posterior(X, priors, links.argmax)
        return np.asarray(self._target[codes])

    @by_block
    def predict_proba(self, X: Any, priors: Any = None) -> Floats:
        """Class probabilities p(C_k | x) of each row.

        Missing values are integrated out; a row without any value gets the priors.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.
        priors : array-like of shape (n_classes,) or dict, default=None
            Class priors to use in place of the fitted ones, in the order of `classes_` or as {label:
            prior}; they must sum to 1.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`; rows sum to 1.

        Raises
        ------
        ValueError
            If X has other columns than in `fit`, or the priors do not fit the classes.
        """
        return self._posterior(X, priors, links.softmax)

    @by_block
    def predict_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """Natural logarithm of the class probabilities, exact where the probability itself would underflow.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.
        priors : array-like of shape (n_classes,) or dict, default=None
            Class priors to use in place of the fitted ones, in the order of `classes_` or as {label:
            prior}; they must sum to 1.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`.
        """
        return self._posterior(X, priors, links.log_softmax)

    @by_block
    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Joint log probability ln p(x, C_k) of each row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of `classes_`.
        """
        return self._ask(X, "joint", links.identity)

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes, whose softmax are the class probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for binary problems
            For binary problems the log-odds of classes_[1].
        """
        Z = self._ask(X, "posterior", links.identity)
        return np.asarray(Z[:, 1] - Z[:, 0]) if len(self._target) == 2 else Z

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """Estimate the class priors of new rows without labels, under label shift.

        For rows in which the classes look as before but have other frequencies. Finds the priors under
        which the rows have the largest likelihood; pass them to `predict_proba`. The model is not changed.
        A class whose prior is 0 keeps it.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        tol : float, default=1e-10
            Largest distance of the log-likelihood per row from its maximum.
        max_iter : int, default=1000
            Largest number of steps; each is a pass over the rows.

        Returns
        -------
        priors : ndarray of shape (n_classes,)
            Estimated priors, in the order of `classes_`.

        Warns
        -----
        DegenerateWarning
            If `tol` was not reached within `max_iter` steps.

        References
        ----------
        .. [1] Saerens, M., Latinne, P. and Decaestecker, C. (2002). Adjusting the outputs of a classifier
           to new a priori probabilities. Neural Computation 14, 21-41.

        Examples
        --------
        >>> from likelier import GaussianNB
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().fit(X, y)
        >>> model.adapt_priors(X[:100]).round(2)
        array([0.5, 0.5, 0. ])
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
        """Log density of each row, ln p(x) = ln Σ_k p(C_k) p(x | C_k).

        Missing values are integrated out: the density is that of the values that are present.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            ln p(x) of each row.
        """
        return self._ask(X, "joint", links.log_sum_exp)

    @by_block
    def is_outlier(self, X: Any, quantile: float = 0.01) -> NDArray[np.bool_]:
        """Rows with a lower density than all but a given share of the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.
        quantile : float, default=0.01
            Share of the training rows that are below the limit, from 0 to 1.

        Returns
        -------
        outlier : ndarray of bool of shape (n_samples,)
            Whether ln p(x) of the row is below the limit.

        Raises
        ------
        ValueError
            If the model keeps no scores of its training rows: it came from `marginal`, `condition` or
            `cross_validate`, or was fitted with a `covariance_estimator`.

        Notes
        -----
        Each training row is scored by the density of all others, so that about this share of new rows from
        the same distribution is flagged, even if there are few rows for the number of columns. (A row that
        was part of the fit has a larger density: fewer of the training rows themselves are flagged.) The
        limit is the weighted quantile over all rows up to 8192 (or 32 MB of them), and over a random sample
        of this size beyond. After `partial_fit` or `merge`, the score of each row is that under the model
        of its time. The density of a row with missing values is that of the values that are present, which
        is not on the scale of complete rows: compare such rows by `marginal` models.

        Examples
        --------
        >>> from likelier import GaussianNB
        >>> from sklearn.datasets import load_iris
        >>> model = GaussianNB().fit(*load_iris(return_X_y=True))
        >>> model.is_outlier([[5.0, 3.4, 1.5, 0.2], [5.0, 9.0, 1.5, 0.2]])
        array([False,  True])
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
        """Draw new rows and their labels from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        y : label or array-like of shape (n_samples,), default=None
            Class to draw from, or one for each row. None: classes are drawn by their priors, and the rows
            are sorted by class.
        random_state : int, RandomState or None, default=None
            Seed; an int gives the same rows each time.
        output : {"pandas", "polars", "pyarrow"} or None, default=None
            Library of the table to return, with column names and a type for each column. None: an array, of
            objects if there are categories.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            The new rows.
        y : ndarray of shape (n_samples,)
            Their labels.

        Raises
        ------
        ValueError
            If y is not a known class, or `n_samples` is not a positive integer.

        Examples
        --------
        >>> from likelier import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
        >>> rows, labels = model.sample(3, y="a", random_state=0)
        >>> rows.shape, labels.tolist()
        ((3, 1), ['a', 'a', 'a'])
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
        self._of_table("sample")
        rows = self._shown_rows(self._model.sample(codes, rng))
        if output is not None:
            rows = new_frame(rows, getattr(self, "feature_names_in_", None), output)
        return rows, self._target[codes]

    @by_block
    def impute(self, X: Any) -> Any:
        """Fill in missing values by their expectation, Σ_k p(C_k | x) E[x_j | x, C_k], x the present ones.

        Categories are filled in by the most probable one. Values that are present are not changed.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            The rows without missing values. A table (pandas, polars, Arrow) is returned as one, with its
            names and index: columns without missing values as they are, others with the type that they had,
            except for integers and booleans, which become floats. All else is an array, of objects if there
            are categories.

        Examples
        --------
        >>> import numpy as np
        >>> from likelier import QuadraticDiscriminantAnalysis
        >>> from sklearn.datasets import load_iris
        >>> model = QuadraticDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
        >>> model.impute([[5.1, 3.5, 1.4, np.nan]]).round(2)
        array([[5.1 , 3.5 , 1.4 , 0.24]])
        """
        self._of_table("impute")
        design = vars(self).get("_design")
        if design is not None and is_frame(X):  # which may have more columns
            X = selected_columns(X, design.names_in)
        filled, missing = self._imputed(X)
        return filled_in(X, filled, missing) if is_frame(X) else filled

    def _class_shares(self, X: Any) -> Floats:
        """p(C_k | x) (n, K), by which expectations of the classes are averaged."""
        return self.predict_proba(X)

    def _imputed(self, X: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """(n, p) all cells as users know them, and which of them were missing."""
        P = self._class_shares(X)
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
        """The same model restricted to some columns; the others are integrated out.

        Parameters
        ----------
        columns : int, str or list of these
            Columns to keep, by number or by name, in the order of the new model.

        Returns
        -------
        model : estimator
            Fitted estimator of the same class for these columns. It has no statistics, so that
            `partial_fit` and `merge` are not possible.

        Raises
        ------
        ValueError
            If a column is unknown or listed twice, or there is none.

        Examples
        --------
        >>> from likelier import GaussianNB
        >>> from sklearn.datasets import load_iris
        >>> model = GaussianNB().fit(*load_iris(return_X_y=True))
        >>> model.marginal([2, 3]).predict([[1.4, 0.2]])
        array([0])
        """
        validation.fitted(self)
        self._of_table("marginal")
        at = validation.columns_of(self, columns)
        if len(at) == 0:
            raise ValueError("marginal needs at least one column")
        return self._derived(self._model.marginal(at), at, {})

    def condition(self, given: Mapping[Any, Any]) -> Self:
        """The model of the remaining columns, given the values of some columns: p(x_rest, C_k | x_given).

        Parameters
        ----------
        given : dict
            {column: value}, columns by number or by name. Values of categorical columns are the categories
            as in `fit`. Leave out columns whose values are unknown.

        Returns
        -------
        model : estimator
            Fitted estimator of the same class for the remaining columns, in their order, with the posterior
            probabilities p(C_k | given) as class priors. It has no statistics, so that `partial_fit` and
            `merge` are not possible. Call `predict_proba`, `sample`, `score_samples` and others as usual.

        Raises
        ------
        ValueError
            If a column is unknown, a value is not finite or not possible for the family of its column, or
            no column remains (use `predict_proba` for the class given all columns).

        See Also
        --------
        marginal : Leave columns out without knowing their values.

        Examples
        --------
        >>> from likelier import LinearDiscriminantAnalysis
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = LinearDiscriminantAnalysis().fit(X, y)
        >>> given = model.condition({"petal length (cm)": 5.0, "petal width (cm)": 1.7})
        >>> given.feature_names_in_.tolist()
        ['sepal length (cm)', 'sepal width (cm)']
        >>> given.priors_.round(2)
        array([0.  , 0.33, 0.67])
        """
        validation.fitted(self)
        self._of_table("condition")
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
    def _of_table(self, what: str) -> None:
        """Refuse what is about columns of X where these became others."""
        design = vars(self).get("_design")
        if design is not None and not design.same_columns:
            raise ValueError(
                f"{what} is about the columns that a model was fitted to, and this {type(self).__name__} "
                "was fitted to the design matrix of a table with categories or dates: fit it to "
                "DesignMatrix(drop='first').fit_transform(X), or take NaiveBayes, which has a density for "
                "each column of the table."
            )

    def _ask(self, X: Any, which: Literal["posterior", "joint"], link: Link) -> NDArray[Any]:
        validation.fitted(self)
        scores: Scores = getattr(self._model, which)
        return self._answers(scores, X, link)

    to_sql = exports.to_sql

    def _scored(self) -> Scored:
        """For exports."""
        return Scored(self._model.posterior, "softmax", self._model.params.support)

    def _posterior(self, X: Any, priors: Any, link: Link) -> NDArray[Any]:
        if priors is None:
            return self._ask(X, "posterior", link)
        validation.fitted(self)
        given = validation.priors_of(priors, len(self._target), classes=self._target)
        scores = self._model.with_priors(log_of(self._of_seen(given)))
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
        return validation.weighted_rows(self, X, sample_weight)

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
                raise ValueError(
                    f"condition: column {name} cannot be {row[0, j]:g}; {support.described(j)}"
                )

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
            raise ValueError(f"y must be among the classes {self._target.tolist()}; got {missing[0]!r}.")
        codes = np.array([known[v] for v in labels.tolist()], dtype=np.intp)
        if self._statistics is not None and not (self._statistics.n[codes] > 0).all():
            raise ValueError("the training data had no row of that class: it cannot be sampled")
        if len(codes) not in (1, n):
            raise ValueError(f"y must have one label, or n_samples={n} of them; got {len(codes)}.")
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


# In which units the columns of a fit are counted.

# Whether a change of units changes no answer: of any column, of all columns together, or not even so.
Scaling = Literal["none", "column", "together"]
LOOKED_AT = 256  # rows that show whether a column is of an ordinary magnitude


def units_of(source: Source, *, together: bool, columns: NDArray[np.bool_] | None = None) -> Units | None:
    """The units of these columns, or of all, if some rows are so large or small that they need any.

    All rows are read only then: columns of ordinary numbers are counted as they are.
    """
    in_memory = isinstance(source, Arrays)
    if (not in_memory and cluster_of(source) is not None) or (columns is not None and not columns.any()):
        return None
    few = source.X.rows(0, LOOKED_AT) if isinstance(source, Arrays) else first_chunk(source, LOOKED_AT).X
    seen = magnitudes(few)
    usual = (seen < 2.0**FAR) & ((seen > 2.0**-FAR) | (seen == 0))
    if usual.all() or (columns is not None and usual[columns].all()):
        return None
    most = run(source, partial(Magnitudes.start, source.p)).most
    return needed(most if columns is None else np.where(columns, most, 0.0), together=together)


def scaling_of(family: Any) -> Scaling:
    """That of a family. What is added to variances is in units of its own, so that these matter."""
    if isinstance(family, RidgedDiagonal):
        if family.ridge:
            return "none"
        return "together" if isinstance(family, RidgedSpherical) else "column"
    if isinstance(family, DiagonalGaussian):
        return "column" if family.by_column or not family.var_smoothing else "together"
    if isinstance(family, FullGaussian | TiedGaussian):
        if family.ridge or getattr(family, "lift", 0.0):
            return "none"
        return "column" if family.shrinkage in (None, "auto") else "together"
    return "none"


def least(scalings: Iterable[Scaling]) -> Scaling:
    """What all of these allow."""
    return min(scalings, key=("none", "together", "column").index)


def units_for(source: Source, scaling: Scaling, columns: NDArray[np.bool_] | None = None) -> Units | None:
    """The units of all columns, or of some, as far as a change of them changes no answer."""
    if scaling == "none":
        return None
    return units_of(source, together=scaling == "together", columns=columns)
