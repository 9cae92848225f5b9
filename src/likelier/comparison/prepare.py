"""How columns become what a model takes: design matrices, learned from the training rows of a fold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from likelier.array_types import Floats, Indices
from likelier.comparison.rows import Column, Rows
from likelier.data import CSR, Arrays, Source
from likelier.data.design import (
    AsIs,
    BinTerm,
    CategoryTerm,
    CodeTerm,
    Design,
    LeftOut,
    TableColumn,
    Term,
)
from likelier.estimators.encoding import surveyed
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

    design: by which a table becomes that; None: it is a sparse matrix, or some of it are words.
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

    def learned(self, source: Source, table: Sequence[TableColumn]) -> Design:
        """The design that these rows make; table: what their columns are, in the order of `columns`."""
        design = surveyed(source, table, self.settings).design(self.settings)
        change = self.change
        if change is not None:
            pairs = zip(self.columns, design.terms, strict=True)
            terms = tuple(t if isinstance(t, LeftOut) else change(c, t) for c, t in pairs)
            design = replace(design, terms=terms)
        return replace(design, sparse=design.sparse and design.p > MOST_DENSE)


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


RECIPES: dict[str, Callable[[Rows, Indices], Recipe]] = {
    "numbers": numbers_of,
    "table": table_of,
    "design": design_of,
    "contrasts": contrasts_of,
    "plain": plain_of,
    "numbers_and_indicators": numbers_and_indicators_of,
    "bins": bins_of,
    "booleans": booleans_of,
}


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
    return _with_words(rows, train, design_of, _tfidf)


def contrasts(rows: Rows, train: Indices) -> Prepared:
    """The same less the first category of each column."""
    return _with_words(rows, train, contrasts_of, _tfidf)


def plain(rows: Rows, train: Indices) -> Prepared:
    """Numbers as they are, the mean where missing; indicators; words: for estimators of any kind."""
    return _with_words(rows, train, plain_of, _tfidf)


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
    return _with_words(rows, train, booleans_of, _counted_words)


def counts(rows: Rows, train: Indices) -> Prepared:
    """Whole numbers from 0 on, and how often each word stands in a text."""
    if rows.sparse is not None:
        if (rows.sparse.data < 0).any():
            raise SkippedModel("needs counts, but some numbers are negative")
        return _sparse(rows)
    words = [_counted_words(rows, column, train) for column in rows.of("text")]
    X = rows.numbers
    there = X[~np.isnan(X)]
    whole = bool(X.shape[1]) and bool((there >= 0).all()) and bool((there == np.floor(there)).all())
    if not words and not whole:
        fault = (
            "some numeric columns are not non-negative integers" if X.shape[1] else "no column holds any"
        )
        raise SkippedModel(f"needs counts, but {fault}")
    leaves = rows.of("category", *(() if whole else ("number",)))
    if not words:
        return _prepared(rows, train, numbers_of(rows, train)._replace(leaves=leaves))
    blocks = [_Block(_named(rows.of("number")), lambda at: X[at])] if whole else []
    return _joined([*blocks, *words], leaves)


# ---- parts ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Block:
    """Some columns of what a model is given."""

    names: Sequence[str]
    serve: Apply


def _named(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns]


def _sparse(rows: Rows) -> Prepared:
    return Prepared(lambda at: rows.sparse[at], rows.p)


def _prepared(rows: Rows, train: Indices, recipe: Recipe) -> Prepared:
    """Columns as a design matrix, learned from the training rows."""
    known, X = rows.table(recipe.columns)
    source = Arrays(X.take(train), None, None if rows.w is None else rows.w[train])
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
    rows: Rows,
    train: Indices,
    recipe: Callable[[Rows, Indices], Recipe],
    words: Callable[[Rows, Column, Indices], _Block],
) -> Prepared:
    """Numbers and categories as a design matrix; texts beside it, word by word."""
    if rows.sparse is not None:
        return _sparse(rows)
    others = rows.of("number", "category")
    prepared = _prepared(rows, train, recipe(rows, train)) if others else None
    if not rows.of("text"):
        if prepared is None:
            raise SkippedModel("no column has a type that it can use")
        return prepared
    blocks = [] if prepared is None else [_Block(prepared.names, prepared.serve)]
    return _joined([*blocks, *(words(rows, column, train) for column in rows.of("text"))])


def _joined(blocks: Sequence[_Block], leaves: tuple[Column, ...] = ()) -> Prepared:
    """Side by side: dense, unless they are many and mostly 0."""
    names = [name for block in blocks for name in block.names]
    p = len(names)

    def serve(at: Indices) -> Any:
        found = [block.serve(at) for block in blocks]
        whole = sparse.hstack([sparse.csr_matrix(each) for each in found], format="csr")
        return whole if p > MOST_DENSE else whole.toarray()

    return Prepared(serve, p, leaves, names)


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
def _counted_words(rows: Rows, column: Column, train: Indices) -> _Block:
    """How often each word of the training rows stands in a cell."""
    C, known, words = _known_words(rows, column, train)
    return _Block(words, lambda at: C[at][:, known])


def _tfidf(rows: Rows, column: Column, train: Indices) -> _Block:
    """(1 + ln count) (1 + ln (1 + n) / (1 + n_j)), rows of length 1: tf-idf, n_j of n training rows."""
    from likelier.estimators.text.vectorizers import TfidfTransformer

    C, known, words = _known_words(rows, column, train)
    weigh = TfidfTransformer(sublinear_tf=True).fit(C[train][:, known])
    return _Block(words, lambda at: weigh.transform(C[at][:, known]))


def _known_words(rows: Rows, column: Column, train: Indices) -> tuple[Any, Indices, list[str]]:
    C, words = rows.words[column.name]
    known = np.unique(C[train].indices)
    if not len(known):
        raise SkippedModel(f"the texts of column {column.name} contain no words")
    return C, known.astype(np.intp), [f"{column.name}: {word}" for word in words[known]]
