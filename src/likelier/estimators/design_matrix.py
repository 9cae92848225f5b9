"""The design matrix of a mixed table: as a transformer, and as what models made of their tables."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from likelier.array_types import Floats
from likelier.data import CSR, Arrays, Dense, Source
from likelier.data.dask import is_collection
from likelier.data.design import CategoryTerm, Design, LeftOut, NumberTerm, encoding_threads
from likelier.data.documents import WordsTerm
from likelier.data.table_columns import DATE_PARTS, DAYS
from likelier.estimators import tables, validation
from likelier.estimators.base import NOT_ROUTED
from likelier.estimators.sources import by_block, gathered, stored
from likelier.states.design_survey import DesignSettings, DesignSurvey


class DesignMatrix(TransformerMixin, BaseEstimator):
    """A table of numbers, categories, dates and text as the numbers that linear and Gaussian models take.

    Numbers stay as they are or are standardised; categories become indicators (one-hot), ordered categories
    their ranks, dates days since 1970 or parts such as the month; a missing value becomes the mean of its
    column, and an indicator says that it was missing. All of it is learned in one pass. The linear and
    Gaussian models of this package apply it by themselves to tables that need it.

    Parameters
    ----------
    drop : {"first"} or None, default=None
        Whether the first level of each column of categories gets no indicator, as in models with an
        intercept and without a penalty. None: all levels have one.
    min_count : float, default=1
        Levels with a smaller total weight of rows share one indicator, "is rare", which unseen levels then
        get as well.
    standardize : bool, default=False
        Whether numbers are shifted to mean 0 and divided by their standard deviation.
    parts : sequence of str or dict, default=None
        Parts of dates that get a column each, of "year", "quarter", "month", "week", "day", "weekday"
        (Monday is 0), "yearday", "hour", "minute" and "days" (since 1970); by the clock of their time zone,
        if they have one. A dict {column: parts} names them by column. None: the number of days since 1970.
    missing : {"indicator", "keep"}, default="indicator"
        "indicator": a missing number becomes the mean, and if any was missing in `fit`, a further column
        marks those rows. "keep": it stays NaN.
    sparse : {"auto"} or bool, default="auto"
        Whether `transform` returns a sparse matrix. "auto": if it is smaller. With `set_output` the result
        is dense.
    text : str or sequence of str, default=None
        Columns of text. Each word gets a column, in lower case and of two characters or more, with the
        weight (1 + ln c) (1 + ln (1 + n) / (1 + n_j)) if it stands c times in the row and in n_j of n rows,
        and the weights of a row have length 1. Words with a smaller weight of rows than `min_count` are
        left out. None: strings are categories.

    Attributes
    ----------
    levels_ : dict
        The levels of each column of categories that were found in `fit`.
    means_ : dict
        The mean of each column of numbers, of the values that are not missing.
    kinds_ : dict
        What each column was taken for: "number", "bool", "category", "ordered", "date" or "text".
    words_ : dict
        The words of each column of text.
    sparse_ : bool
        Whether `transform` returns a sparse matrix.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of the table; only if it has names.

    See Also
    --------
    LogisticRegression : Takes tables directly, by way of a design matrix.
    NaiveBayes : Takes tables as they are, with a density for each column.

    Notes
    -----
    A level that was not in `fit` has no indicator: all are 0 (or "is rare" is 1, if levels were pooled),
    and a warning says so once. The columns can come in any order and from any library of data frames;
    others are ignored. A column that is missing in every row of `fit` is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from likelier import DesignMatrix
    >>> X = pd.DataFrame(
    ...     {"age": [22.0, None, 35.0], "fare": [7.5, 8.0, 53.0], "sex": ["male", "female", "female"]}
    ... )
    >>> design = DesignMatrix().fit(X)
    >>> design.get_feature_names_out().tolist()
    ['age', 'age is missing', 'fare', 'sex=female', 'sex=male']
    >>> design.transform(X)
    array([[22. ,  0. ,  7.5,  0. ,  1. ],
           [28.5,  1. ,  8. ,  1. ,  0. ],
           [35. ,  0. , 53. ,  1. ,  0. ]])
    """

    __metadata_request__fit = NOT_ROUTED
    _design: Design
    _survey: DesignSurvey | None

    def __init__(
        self,
        *,
        drop: str | None = None,
        min_count: float = 1,
        standardize: bool = False,
        parts: Any = None,
        missing: str = "indicator",
        sparse: Any = "auto",
        text: Any = None,
    ) -> None:
        self.drop = drop
        self.min_count = min_count
        self.standardize = standardize
        self.parts = parts
        self.missing = missing
        self.sparse = sparse
        self.text = text

    # ---- fitting -----------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn means, levels and which columns have missing values, in one pass.

        Parameters
        ----------
        X : DataFrame, array-like or source of shape (n_samples, n_features)
            The table: a data frame of pandas, polars or pyarrow, an array of numbers or objects, a source
            of `likelier.scan`, or a Dask DataFrame.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A source has its own.

        Returns
        -------
        self : DesignMatrix
            The fitted transformer.
        """
        self._learn(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to a table, and return its design matrix; the table is read once.

        Parameters
        ----------
        X : DataFrame, array-like or source of shape (n_samples, n_features)
            The table.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A source has its own.

        Returns
        -------
        Z : ndarray or sparse matrix of shape (n_samples, n_columns)
            The design matrix, as of `transform`.
        """
        source = self._learn(X, sample_weight)
        return self._encoded(source) if isinstance(source, Arrays) else self.transform(X)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those of earlier calls. Means, levels and with them the columns may change.

        Parameters
        ----------
        X : DataFrame, array-like or source of shape (n_samples, n_features)
            Further rows of the table.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : DesignMatrix
            The transformer itself.
        """
        before = vars(self).get("_survey")
        if before is None:
            return self.fit(X, y, sample_weight)
        names = getattr(self, "feature_names_in_", None)
        if stored(X) or is_collection(X):
            source, table, _ = opened_table(self, X, sample_weight)
        else:
            columns, table = tables.known_columns(self, self._design, X), before.table
            source = Arrays(columns, None, validation.weights_of(sample_weight, columns.shape[0]))
        with validation.naming(source):
            new = tables.surveyed(source, table, self._settings())
        return self._publish(_merged([before, new]), names)

    def merge(self, *others: "DesignMatrix") -> "DesignMatrix":
        """A transformer equal to one that was fitted to the rows of all these.

        Parameters
        ----------
        *others : DesignMatrix
            Others, fitted to rows with the same columns.

        Returns
        -------
        merged : DesignMatrix
            A new transformer.
        """
        for one in (self, *others):
            one._check_fitted()
            if one.get_params() != self.get_params():
                raise ValueError(
                    "hyper-parameters differ: fit designs with the same hyper-parameters to merge them."
                )
        new = DesignMatrix(**self.get_params())
        names = getattr(self, "feature_names_in_", None)
        return new._publish(_merged([one._survey for one in (self, *others)]), names)

    def _learn(self, X: Any, sample_weight: Any) -> Source:
        """Become fitted; the rows as a source of the table."""
        settings = self._settings()
        source, table, names = opened_table(self, X, sample_weight)
        _check_names(settings, [column.name for column in table])
        with validation.naming(source):
            found = tables.surveyed(source, table, settings)
        self._publish(found, names)
        return source

    def _settings(self) -> DesignSettings:
        return settings_of(self)

    def _publish(self, survey: DesignSurvey, names: NDArray[Any] | None) -> Self:
        validation.weighty(survey.n)
        if not np.isfinite(survey.moments.S).all():
            raise ValueError("Input X contains values so large that their sums of squares overflow.")
        design = survey.design(self._settings())
        tables.warn_of_left_out(self, design)
        self._design, self._survey = design, survey
        self.n_features_in_ = len(design.table)
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    @classmethod
    def _of(cls, design: Design, settings: DesignSettings) -> "DesignMatrix":
        """The transformer of a design that a model has learned; it keeps no statistics."""
        sparse = "auto" if settings.sparse is None else settings.sparse
        new = cls(
            drop=settings.drop,
            min_count=settings.min_count,
            standardize=settings.standardize,
            missing=settings.missing,
            sparse=sparse,
            text=list(settings.text) or None,
        )
        new._design, new._survey = design, None
        new.n_features_in_ = len(design.table)
        if design.named:
            new.feature_names_in_ = np.array(design.names_in, dtype=object)
        return new

    def _check_fitted(self) -> Design:
        if "_design" not in vars(self):
            raise NotFittedError(
                "This DesignMatrix instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )
        return self._design

    # ---- what was found ----------------------------------------------------------------------------
    @property
    def levels_(self) -> dict[str, list[Any]]:
        """The levels of each column of categories."""
        terms = self._check_fitted().terms
        return {term.name: list(term.levels) for term in terms if isinstance(term, CategoryTerm)}

    @property
    def means_(self) -> dict[str, float]:
        """The mean of each column of numbers."""
        terms = self._check_fitted().terms
        return {t.name: t.fill * t.scale + t.shift for t in terms if isinstance(t, NumberTerm)}

    @property
    def words_(self) -> dict[str, list[str]]:
        """The words of each column of text."""
        terms = self._check_fitted().terms
        return {term.name: list(term.words) for term in terms if isinstance(term, WordsTerm)}

    @property
    def kinds_(self) -> dict[str, str]:
        """What each column was taken for."""
        return {column.name: column.kind for column in self._check_fitted().table}

    @property
    def sparse_(self) -> bool:
        """Whether the design matrix is sparse."""
        return self._check_fitted().sparse

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of the design matrix.

        Parameters
        ----------
        input_features : array-like of str, default=None
            The columns of the table; checked against those of `fit`.

        Returns
        -------
        names : ndarray of str
            Such as "age", "age is missing", "sex=male" and "when.month".
        """
        design = self._check_fitted()
        if input_features is not None:
            given, p = [str(name) for name in input_features], len(design.table)
            if len(given) != p:
                raise ValueError(f"input_features should have length equal to number of features ({p})")
            if hasattr(self, "feature_names_in_") and given != design.names_in:
                raise ValueError("input_features is not equal to feature_names_in_")
            if not hasattr(self, "feature_names_in_"):
                return np.asarray(design.renamed(given).names)
        return np.asarray(design.names)

    # ---- rows --------------------------------------------------------------------------------------
    @by_block
    def transform(self, X: Any) -> Any:
        """The design matrix of a table.

        Parameters
        ----------
        X : DataFrame, array-like or source of shape (n_samples, n_features)
            A table with the columns of `fit`, by name and in any order. Of a Dask DataFrame, the result is
            lazy; of a source of `likelier.scan`, it is a source that reads and encodes its rows in parts.

        Returns
        -------
        Z : ndarray or sparse matrix of shape (n_samples, n_columns)
            The design matrix.

        Warns
        -----
        SkippedWarning
            If a column has a level that was not in `fit`.
        """
        design = self._check_fitted()
        if stored(X):
            return tables.known_source(self, design, X, y=bool(X.targets))
        return self._encoded(Arrays(tables.known_columns(self, design, X)))

    def _encoded(self, source: Arrays) -> Any:
        sparse = False if self._framed else None
        threads = encoding_threads(len(source))
        found = self._design.rows(source.X, sparse=sparse, threads=threads)  # type: ignore[arg-type]
        return found.array if isinstance(found, Dense) else _matrix(found)  # type: ignore[arg-type]

    @property
    def _framed(self) -> bool:
        """Whether results are to be frames, which are dense."""
        from sklearn.utils._set_output import _get_output_config

        return bool(_get_output_config("transform", self)["dense"] != "default")

    def inverse(self, Z: Any, column: str) -> NDArray[Any]:
        """The values of one column of the table, from a design matrix.

        Parameters
        ----------
        Z : array-like, sparse matrix or DataFrame of shape (n_samples, n_columns)
            A design matrix.
        column : str
            The name of a column of the table.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Numbers, NaN where missing; or levels, None where missing and where none is indicated (with
            `drop="first"`: the level that has no indicator). Dates are days since 1970.

        Raises
        ------
        ValueError
            If there is no such column, or the design does not keep it: rare levels that are pooled, parts
            of dates without "days", a column that was left out.
        """
        design = self._check_fitted()
        if column not in design.names_in:
            raise ValueError(f"no column named {column!r}; columns: {', '.join(design.names_in)}")
        return inverse_of(design, design.names_in.index(column), Z)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.requires_fit = True
        return tags


def opened_table(estimator: Any, X: Any, sample_weight: Any) -> tuple[Source, Any, NDArray[Any] | None]:
    """Rows of a table as a source, what its columns are, and their names."""
    X, _, sample_weight = gathered(X, None, sample_weight)
    if stored(X):
        if sample_weight is not None:
            raise ValueError(
                "X is a source, which includes weights: name their column, as in scan(path, weight='w')."
            )
        table, source = tables.table_in_parts(X)
        return source, table, source.names
    found = tables.table_in_memory(estimator, X)
    w = validation.weights_of(sample_weight, found.columns.shape[0])
    return Arrays(found.columns, None, w, names=found.names), found.table, found.names


def settings_of(given: DesignMatrix) -> DesignSettings:
    """The hyper-parameters, checked."""
    if given.drop not in (None, "first"):
        raise ValueError(f"drop must be None or 'first'; got {given.drop!r}.")
    if given.missing not in ("indicator", "keep"):
        raise ValueError(f"missing must be 'indicator' or 'keep'; got {given.missing!r}.")
    if given.sparse != "auto" and not isinstance(given.sparse, bool | np.bool_):
        raise ValueError(f"sparse must be 'auto', True or False; got {given.sparse!r}.")
    return DesignSettings(
        given.drop,  # type: ignore[arg-type]
        validation.number("min_count", given.min_count, 0.0),
        validation.boolean("standardize", given.standardize),
        _parts(given.parts),
        given.missing,  # type: ignore[arg-type]
        None if isinstance(given.sparse, str) else bool(given.sparse),
        _names("text", given.text),
    )


def _names(parameter: str, names: Any) -> tuple[str, ...]:
    """Names of columns: none, one, or several."""
    if names is None or isinstance(names, str):
        return () if names is None else (names,)
    found = tuple(names) if isinstance(names, Iterable) else (names,)
    wrong = [name for name in found if not isinstance(name, str)]
    if wrong:
        raise ValueError(f"{parameter} must be names of columns; got {wrong[0]!r}.")
    return found


def _parts(parts: Any) -> Any:
    if parts is None:
        return ()
    if isinstance(parts, Mapping):
        return tuple((str(name), _parts(some)) for name, some in parts.items())
    listed = (parts,) if isinstance(parts, str) else tuple(parts)
    unknown = [part for part in listed if part not in DATE_PARTS and part != DAYS]
    if unknown:
        raise ValueError(f"parts must be some of {', '.join([*DATE_PARTS, DAYS])}; got {unknown[0]!r}.")
    return listed


def _check_names(settings: DesignSettings, names: list[str]) -> None:
    """Whether there are the columns that the settings name."""
    dated = [str(part[0]) for part in settings.parts] if settings.by_column else []
    for parameter, named in (("parts", dated), ("text", settings.text)):
        unknown = [name for name in named if name not in names]
        if unknown:
            raise ValueError(
                f"{parameter}: no column named {unknown[0]!r}; columns: {', '.join(map(str, names))}"
            )


def _merged(surveys: list[Any]) -> DesignSurvey:
    if any(survey is None for survey in surveys):
        raise ValueError(
            "this DesignMatrix keeps no statistics, so that it can be neither merged nor updated."
        )
    total: DesignSurvey = copy.deepcopy(surveys[0])
    for survey in surveys[1:]:
        total.merge(survey)
    return total


def _matrix(X: CSR) -> Any:
    return csr_matrix((X.values, X.columns, X.starts), shape=X.shape)


def inverse_of(design: Design, j: int, Z: Any) -> NDArray[Any]:
    """The values of column j of the table."""
    given = Z if isinstance(Z, csr_array | csr_matrix) else np.asarray(Z)
    if given.ndim != 2 or given.shape[1] != design.p:
        raise ValueError(f"Z must be a design matrix of {design.p} columns; got shape {given.shape}.")
    at = np.flatnonzero(design.owners == j)
    piece = given[:, at]
    cells: Floats = piece.toarray() if not isinstance(piece, np.ndarray) else piece.astype(np.float64)
    column, terms = design.table[j], design.by_column[j]
    if column.parts:
        if DAYS not in column.parts:
            raise ValueError(f"the parts of column {column.name!r} do not say which date it is.")
        k = column.parts.index(DAYS)
        start = sum(len(term.names) for term in terms[:k])
        cells, terms = cells[:, start : start + len(terms[k].names)], terms[k : k + 1]
    (term,) = terms
    if isinstance(term, LeftOut):
        raise ValueError(f"column {column.name!r} has no value in any row of fit, and was left out.")
    if isinstance(term, WordsTerm):
        raise ValueError(f"column {column.name!r} is text, of which the order of words is not kept.")
    if isinstance(term, NumberTerm):
        values = cells[:, 0] * term.scale + term.shift
        if term.gaps:
            values = np.where(cells[:, 1] == 1, np.nan, values)
        return _named_ranks(values, column.order) if column.order else values
    assert isinstance(term, CategoryTerm)
    return _levels(term, cells)


def _named_ranks(ranks: Floats, order: tuple[Any, ...]) -> NDArray[Any]:
    names = np.array([*order, None], dtype=object)
    places = np.where(np.isnan(ranks), len(order), np.nan_to_num(ranks)).round().astype(np.intp)
    return np.asarray(names[np.clip(places, 0, len(order))])


def _levels(term: CategoryTerm, cells: Floats) -> NDArray[Any]:
    if term.rare >= 0:
        raise ValueError(f"rare levels of column {term.name!r} are pooled: which one it was is not kept.")
    own = term.places >= 0
    names = np.full(cells.shape[1] + 1, None, dtype=object)
    names[term.places[own]] = term.levels[own]
    if not own.all():
        names[-1] = term.levels[~own][0]  # the level that was dropped
    if not cells.shape[1]:
        return np.full(len(cells), names[-1], dtype=object)
    hit = cells.argmax(axis=1)
    return np.asarray(names[np.where(cells.max(axis=1) > 0, hit, cells.shape[1])])


# Models that take mixed tables: the design matrix that the table of a fit became.


def fitted_design(estimator: Any) -> DesignMatrix:
    """The design matrix that the table of `fit` became; only if it became one."""
    design: Design | None = vars(estimator).get("_design")
    if design is None:
        raise AttributeError(f"{type(estimator).__name__!r} object has no attribute 'design_'")
    return DesignMatrix._of(design, estimator._design_settings())


def dense_settings(_: Any) -> DesignSettings:
    """How tables become design matrices for covariances: dense, of full rank, missing numbers kept."""
    return DesignSettings(drop="first", missing="keep", sparse=False)
