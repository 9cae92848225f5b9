"""How columns become what a model takes: design matrices, learned from the training rows of a fold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from likelier.array_types import Floats, Indices
from likelier.comparison.rows import Column, Rows
from likelier.data import CSR, Arrays, Columns, Source
from likelier.data.design import AsIs, BinTerm, CategoryTerm, CodeTerm, Design, LeftOut, Term
from likelier.data.documents import WordsTerm
from likelier.data.table_columns import TableColumn
from likelier.estimators.tables import surveyed
from likelier.states.design_survey import DesignSettings

Apply = Callable[[Indices], Any]  # these rows, as the model takes them

BINS = 10  # that numbers are cut into
MOST_LEVELS = 50  # of a column whose indicators have covariances: more are hardly ever seen
MOST_DENSE = 200  # columns, beyond which indicators and words are sparse


class SkippedModel(ValueError):
    """Why a model cannot take part."""


@dataclass(frozen=True)
class Prepared:
    """What a model is given of any rows; and the columns that are left.

    design: by which a table becomes that; None: it is a sparse matrix.
    """

    serve: Apply
    p: int  # columns as the model sees them
    leaves: tuple[Column, ...] = ()
    names: Sequence[str] = ()  # of these columns; a sparse matrix has none
    design: Design | None = None

    def __call__(self, at: Indices) -> Any:
        return self.serve(at)


Preprocessor = Callable[[Rows, Indices], Prepared]  # all rows, and those to learn from
Change = Callable[[Column, Term], Term]  # how a column is encoded otherwise


class Recipe(NamedTuple):
    """Which columns a model takes, and how they are encoded; the others are left."""

    columns: tuple[Column, ...]
    settings: DesignSettings
    leaves: tuple[Column, ...] = ()
    change: Change | None = None
    words: tuple[WordsTerm, ...] = ()  # of the last columns

    def learned(self, source: Source, table: Sequence[TableColumn]) -> Design:
        """The design that these rows make; table: what their columns are, in the order of `columns`."""
        terms: tuple[Term, ...] = ()
        cells, sparse = len(table) - len(self.words), bool(self.words)
        if cells:
            found = surveyed(source, table[:cells], self.settings).design(self.settings)
            terms, sparse = found.terms, sparse or found.sparse
        change = self.change
        if change is not None:
            pairs = zip(self.columns[:cells], terms, strict=True)
            terms = tuple(t if isinstance(t, LeftOut) else change(c, t) for c, t in pairs)
        design = Design(tuple(table), (*terms, *self.words), sparse)
        return replace(design, sparse=sparse and design.p > MOST_DENSE)


AS_NUMBERS = DesignSettings(missing="keep", sparse=False)


# ---- recipes ---------------------------------------------------------------------------------------
def numbers_of(rows: Rows, train: Indices) -> Recipe:
    """Columns of numbers, as they are, NaN where one is missing."""
    if not rows.of("number"):
        raise SkippedModel("needs numbers, but no column holds any")
    return Recipe(rows.of("number"), AS_NUMBERS, rows.of("category", "text"))


def table_of(rows: Rows, train: Indices) -> Recipe:
    """Numbers and categories, each as it is."""
    held = rows.of("number", "category")
    if not held:
        raise SkippedModel("needs numbers or categories, but no column holds any")
    return Recipe(held, AS_NUMBERS, rows.of("text"), lambda column, term: AsIs(column.name))


def design_of(rows: Rows, train: Indices) -> Recipe:
    """Numbers less their mean, over their deviation, 0 where missing; indicators of missing cells and of
    all categories.
    """
    return Recipe(rows.of("number", "category"), DesignSettings(standardize=True))


def contrasts_of(rows: Rows, train: Indices) -> Recipe:
    """The same less the first category of each column, which an intercept stands for."""
    return Recipe(rows.of("number", "category"), DesignSettings(drop="first", standardize=True))


def plain_of(rows: Rows, train: Indices) -> Recipe:
    """Numbers as they are, the mean where missing; indicators: for estimators of any kind."""
    return Recipe(rows.of("number", "category"), DesignSettings())


def numbers_and_indicators_of(rows: Rows, train: Indices) -> Recipe:
    """Numbers as they are, missing ones too; of each column of categories, if they are not too many,
    indicators of all but one.
    """
    if not rows.of("category"):
        return numbers_of(rows, train)
    many = [column for column in rows.of("category") if len(column.values.levels) > MOST_LEVELS]
    wide = {column.name for column in many}
    held = tuple(column for column in rows.of("number", "category") if column.name not in wide)
    settings = DesignSettings(drop="first", missing="keep", sparse=False)
    return Recipe(held, settings, (*many, *rows.of("text")))


def bins_of(rows: Rows, train: Indices) -> Recipe:
    """Categories by number; numbers as the tenth of the training rows that they are in. NaN: missing."""
    held = rows.of("number", "category")
    if not held:
        raise SkippedModel("needs categories, but no column holds any")

    def change(column: Column, term: Term) -> Term:
        if column.kind == "number":
            return BinTerm(column.name, _cuts(column.values[train], BINS))
        assert isinstance(term, CategoryTerm)
        return CodeTerm(column.name, term.levels)

    return Recipe(held, AS_NUMBERS, rows.of("text"), change)


def booleans_of(rows: Rows, train: Indices) -> Recipe:
    """Indicators of categories; numbers as whether they are above the median. NaN: missing."""

    def change(column: Column, term: Term) -> Term:
        if column.kind == "number":
            return BinTerm(column.name, _cuts(column.values[train], 2), " above its median")
        return term

    held = rows.of("number", "category")
    return Recipe(held, DesignSettings(missing="keep"), change=change)


def counts_of(rows: Rows, train: Indices) -> Recipe:
    """Columns of whole numbers from 0 on, and how often each word stands in a text."""
    X, words = rows.numbers, bool(rows.of("text"))
    there = X[~np.isnan(X)]
    whole = bool(X.shape[1]) and bool((there >= 0).all()) and bool((there == np.floor(there)).all())
    if not words and not whole:
        fault = (
            "some numeric columns are not non-negative integers" if X.shape[1] else "no column holds any"
        )
        raise SkippedModel(f"needs counts, but {fault}")
    leaves = rows.of("category", *(() if whole else ("number",)))
    recipe = Recipe(rows.of("number") if whole else (), AS_NUMBERS, leaves)
    return with_texts(recipe, rows, train, weighted=False) if words else recipe


RECIPES: dict[str, Callable[[Rows, Indices], Recipe]] = {
    "numbers": numbers_of,
    "table": table_of,
    "design": design_of,
    "contrasts": contrasts_of,
    "plain": plain_of,
    "numbers_and_indicators": numbers_and_indicators_of,
    "bins": bins_of,
    "booleans": booleans_of,
    "counts": counts_of,
}
WORDS: dict[str, bool] = {"design": True, "contrasts": True, "plain": True, "booleans": False}  # weighted


# ---- preprocessors ----------------------------------------------------------------------------------
def nothing(rows: Rows, train: Indices) -> Prepared:
    """A column of zeros, for models that know y alone."""
    return Prepared(lambda at: np.zeros((len(at), 1)), 0)


def numbers(rows: Rows, train: Indices) -> Prepared:
    """Columns of numbers."""
    return _sparse(rows) if rows.sparse is not None else _prepared(rows, train, numbers_of(rows, train))


def table(rows: Rows, train: Indices) -> Prepared:
    """Numbers and categories, as a table of Arrow's."""
    if rows.sparse is not None:
        return _sparse(rows)
    import pyarrow as pa

    recipe = table_of(rows, train)
    prepared = _prepared(rows, train, recipe)
    whole = pa.table({column.name: _arrow(column) for column in recipe.columns})
    return replace(prepared, serve=whole.take, p=len(recipe.columns), names=_named(recipe.columns))


def table_or_words(rows: Rows, train: Indices) -> Prepared:
    """Numbers and categories as they are; where there is text, as weights of words, all as numbers."""
    return design(rows, train) if rows.of("text") else table(rows, train)


def design(rows: Rows, train: Indices) -> Prepared:
    """Standardised numbers, indicators of all categories, words by tf-idf."""
    return _with_words(rows, train, design_of)


def contrasts(rows: Rows, train: Indices) -> Prepared:
    """The same less the first category of each column."""
    return _with_words(rows, train, contrasts_of)


def plain(rows: Rows, train: Indices) -> Prepared:
    """Numbers as they are, the mean where missing; indicators; words: for estimators of any kind."""
    return _with_words(rows, train, plain_of)


def numbers_and_indicators(rows: Rows, train: Indices) -> Prepared:
    """Numbers as they are, and indicators of few categories."""
    if rows.sparse is not None:
        return _sparse(rows)
    return _prepared(rows, train, numbers_and_indicators_of(rows, train))


def bins(rows: Rows, train: Indices) -> Prepared:
    """Categories by number, numbers by the tenth that they are in."""
    if rows.sparse is not None:
        raise SkippedModel("needs categories, but the rows are a sparse matrix of numbers")
    return _prepared(rows, train, bins_of(rows, train))


def booleans(rows: Rows, train: Indices) -> Prepared:
    """Indicators of categories, of numbers above the median, of words."""
    return _with_words(rows, train, booleans_of, weighted=False)


def counts(rows: Rows, train: Indices) -> Prepared:
    """Whole numbers from 0 on, and how often each word stands in a text."""
    if rows.sparse is not None:
        if (rows.sparse.data < 0).any():
            raise SkippedModel("needs counts, but some numbers are negative")
        return _sparse(rows)
    return _prepared(rows, train, counts_of(rows, train))


# ---- parts ---------------------------------------------------------------------------------------
def _named(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns]


def _sparse(rows: Rows) -> Prepared:
    return Prepared(lambda at: rows.sparse[at], rows.p)


def _prepared(rows: Rows, train: Indices, recipe: Recipe) -> Prepared:
    """Columns as a design matrix, learned from the training rows."""
    known, X = rows.table(recipe.columns)
    cells = len(recipe.columns) - len(recipe.words)
    some = Columns(X.arrays[:cells]).take(train) if cells else X
    source = Arrays(some, None, None if rows.w is None else rows.w[train])
    design = recipe.learned(source, known)
    if not design.p:
        raise SkippedModel("no column has a type that it can use")

    def serve(at: Indices) -> Any:
        found = design.rows(X.take(at), quiet=True)
        if isinstance(found, CSR):
            return sparse.csr_matrix((found.values, found.columns, found.starts), shape=found.shape)
        return found.to_array()

    return Prepared(serve, design.p, recipe.leaves, list(design.names), design)


def _with_words(
    rows: Rows, train: Indices, recipe: Callable[[Rows, Indices], Recipe], *, weighted: bool = True
) -> Prepared:
    """Numbers and categories as a design matrix, and beside them the words of texts."""
    if rows.sparse is not None:
        return _sparse(rows)
    return _prepared(rows, train, with_texts(recipe(rows, train), rows, train, weighted=weighted))


def _cuts(values: Floats, parts: int) -> Floats:
    """Quantiles between parts, each below the largest value: some rows lie above."""
    there = values[~np.isnan(values)]
    below = there[there < there.max()] if len(there) else there
    if not len(below):
        return np.empty(0)
    return np.unique(np.minimum(np.quantile(there, np.arange(1, parts) / parts), below.max()))


def _arrow(column: Column) -> Any:
    import pyarrow as pa

    if column.kind == "number":
        return pa.array(column.values, from_pandas=True)
    codes = pa.array(column.values.codes, mask=column.values.codes < 0)
    return pa.DictionaryArray.from_arrays(codes, pa.array([str(level) for level in column.values.levels]))


# ---- text ----------------------------------------------------------------------------------------
def with_texts(recipe: Recipe, rows: Rows, train: Indices, *, weighted: bool) -> Recipe:
    """The recipe, and the words of texts that stand in the training rows; weighted: by tf-idf."""
    words = tuple(_words(rows, column, train, weighted=weighted) for column in rows.of("text"))
    leaves = tuple(column for column in recipe.leaves if column.kind != "text")
    return recipe._replace(columns=(*recipe.columns, *rows.of("text")), leaves=leaves, words=words)


def _words(rows: Rows, column: Column, train: Indices, *, weighted: bool) -> WordsTerm:
    """The words of the training rows; idf is 1 + ln (1 + n) / (1 + n_j), n_j of n rows with the word."""
    counts, words = rows.words[column.name]
    held = counts.take(train).columns
    often = np.bincount(held, minlength=len(words))
    known = np.flatnonzero(often)
    if not len(known):
        raise SkippedModel(f"the texts of column {column.name} contain no words")
    idf = 1 + np.log((1 + len(train)) / (1 + often[known])) if weighted else None
    return WordsTerm(column.name, np.array(words, dtype=object)[known], idf)
