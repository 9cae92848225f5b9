"""How columns become what a model takes, learned from the rows of a training fold alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from likelier.array_types import Floats, Indices
from likelier.comparison.rows import Column, Rows

Apply = Callable[[Indices], Any]  # these rows, as the model takes them

BINS = 10  # that numbers are cut into
MOST_LEVELS = 50  # of a column whose indicators have covariances: more are hardly ever seen
MOST_DENSE = 200  # columns, beyond which indicators and words are sparse


class SkippedModel(ValueError):
    """Why a model cannot take part."""


@dataclass(frozen=True)
class Prepared:
    """What a model is given of any rows; and the columns that are left."""

    serve: Apply
    p: int  # columns as the model sees them
    leaves: tuple[Column, ...] = ()
    names: Sequence[str] = ()  # of these columns; a sparse matrix has none

    def __call__(self, at: Indices) -> Any:
        return self.serve(at)


Preprocessor = Callable[[Rows, Indices], Prepared]  # all rows, and those to learn from


# ---- diets ---------------------------------------------------------------------------------------
def nothing(rows: Rows, train: Indices) -> Prepared:
    """A column of zeros, for models that know y alone."""
    return Prepared(lambda at: np.zeros((len(at), 1)), 0)


def numbers(rows: Rows, train: Indices) -> Prepared:
    """Columns of numbers, as they are, NaN where one is missing."""
    if rows.sparse is not None:
        return _sparse(rows)
    if not rows.of("number"):
        raise SkippedModel("needs numbers, but no column holds any")
    names = _named(rows.of("number"))
    return Prepared(lambda at: rows.numbers[at], len(names), rows.of("category", "text"), names)


def table(rows: Rows, train: Indices) -> Prepared:
    """Numbers and categories, each as it is."""
    if rows.sparse is not None:
        return _sparse(rows)
    import pyarrow as pa

    held = rows.of("number", "category")
    if not held:
        raise SkippedModel("needs numbers or categories, but no column holds any")
    whole = pa.table({column.name: _arrow(column) for column in held})
    return Prepared(whole.take, len(held), rows.of("text"), _named(held))


def table_or_words(rows: Rows, train: Indices) -> Prepared:
    """Numbers and categories as they are; where there is text, as weights of words, all as numbers."""
    return design(rows, train) if rows.of("text") else table(rows, train)


def design(rows: Rows, train: Indices) -> Prepared:
    """Numbers less their mean, over their deviation, 0 where missing; indicators of missing cells and of
    all categories; words by tf-idf.
    """
    if rows.sparse is not None:
        return _sparse(rows)
    return _joined(rows, [*_filled(rows, train, scaled=True), *_others(rows, train, 0)])


def contrasts(rows: Rows, train: Indices) -> Prepared:
    """The same less the first category of each column, which an intercept stands for."""
    if rows.sparse is not None:
        return _sparse(rows)
    return _joined(rows, [*_filled(rows, train, scaled=True), *_others(rows, train, 1)])


def plain(rows: Rows, train: Indices) -> Prepared:
    """Numbers as they are, the mean where missing; indicators; words: for estimators of any kind."""
    if rows.sparse is not None:
        return _sparse(rows)
    return _joined(rows, [*_filled(rows, train, scaled=False), *_others(rows, train, 0)])


def numbers_and_indicators(rows: Rows, train: Indices) -> Prepared:
    """Numbers as they are, missing ones too; of each column of categories, if they are not too many,
    indicators of all but one.
    """
    if rows.sparse is not None or not rows.of("category"):
        return numbers(rows, train)
    blocks = [_Block(_named(rows.of("number")), lambda at: rows.numbers[at])] if rows.of("number") else []
    few = [column for column in rows.of("category") if len(column.values.levels) <= MOST_LEVELS]
    many = tuple(column for column in rows.of("category") if len(column.values.levels) > MOST_LEVELS)
    blocks += [_indicators(column, train, 1) for column in few]
    return _joined(rows, blocks, (*many, *rows.of("text")))


def bins(rows: Rows, train: Indices) -> Prepared:
    """Categories by number; numbers as the tenth of the training rows that they are in. NaN: missing."""
    if rows.sparse is not None:
        raise SkippedModel("needs categories, but the rows are a sparse matrix of numbers")
    held = rows.of("number", "category")
    if not held:
        raise SkippedModel("needs categories, but no column holds any")
    cuts = [None if c.kind == "category" else _cuts(c.values[train], BINS) for c in held]

    def serve(at: Indices) -> Floats:
        return np.column_stack([_binned(c.values[at], cut) for c, cut in zip(held, cuts, strict=True)])

    return Prepared(serve, len(held), rows.of("text"), _named(held))


def booleans(rows: Rows, train: Indices) -> Prepared:
    """Indicators of categories; numbers as whether they are above the median. NaN: missing."""
    if rows.sparse is not None:
        return _sparse(rows)
    held = rows.of("number")
    middles = [_cuts(column.values[train], 2) for column in held]

    def above(at: Indices) -> Floats:
        return np.column_stack([_binned(c.values[at], m) for c, m in zip(held, middles, strict=True)])

    blocks = [_Block([f"{name} above its median" for name in _named(held)], above)] if held else []
    blocks += [_indicators(column, train, 0) for column in rows.of("category")]
    return _joined(rows, [*blocks, *(_counted_words(rows, column, train) for column in rows.of("text"))])


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
    blocks = [_Block(_named(rows.of("number")), lambda at: X[at])] if whole else []
    return _joined(rows, [*blocks, *words], rows.of("category", *(() if whole else ("number",))))


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


def _joined(rows: Rows, blocks: Sequence[_Block], leaves: tuple[Column, ...] = ()) -> Prepared:
    """Side by side: dense, unless they are many and mostly 0."""
    if not blocks:
        raise SkippedModel("no column has a type that it can use")
    names = [name for block in blocks for name in block.names]
    p = len(names)

    def serve(at: Indices) -> Any:
        found = [block.serve(at) for block in blocks]
        if not any(sparse.issparse(each) for each in found):
            return np.hstack(found)
        whole = sparse.hstack([sparse.csr_matrix(each) for each in found], format="csr")
        return whole if p > MOST_DENSE else whole.toarray()

    return Prepared(serve, p, leaves, names)


def _others(rows: Rows, train: Indices, skip: int) -> list[_Block]:
    categories = [_indicators(column, train, skip) for column in rows.of("category")]
    return [*categories, *(_tfidf(rows, column, train) for column in rows.of("text"))]


def _filled(rows: Rows, train: Indices, *, scaled: bool) -> list[_Block]:
    """Numbers with the mean where one is missing, and whether it was."""
    X = rows.numbers
    if not X.shape[1]:
        return []
    some = X[train]
    missing = np.isnan(some)
    n = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, some).sum(axis=0) / n
    spread = np.sqrt(np.where(missing, 0.0, (some - mean) ** 2).sum(axis=0) / n)
    shift, scale = (mean, np.where(spread > 0, spread, 1.0)) if scaled else (0.0, 1.0)
    gappy = np.flatnonzero(missing.any(axis=0))

    def filled(at: Indices) -> Floats:
        there = X[at]
        return np.asarray((np.where(np.isnan(there), mean, there) - shift) / scale)

    names = _named(rows.of("number"))
    missed = [f"{names[j]} missing" for j in gappy]
    gaps = _Block(missed, lambda at: np.isnan(X[np.ix_(at, gappy)]).astype(np.float64))
    return [_Block(names, filled), *([gaps] if len(gappy) else [])]


def _indicators(column: Column, train: Indices, skip: int) -> _Block:
    """A column for each category of the training rows, and for missing cells, less the first `skip`."""
    codes = column.values.codes
    known = np.unique(codes[train])[skip:]

    def serve(at: Indices) -> Any:
        place = np.searchsorted(known, codes[at])
        hit = np.append(known, -2)[place] == codes[at]  # no code is -2
        row = np.flatnonzero(hit)
        return sparse.csr_matrix((np.ones(len(row)), (row, place[row])), (len(at), len(known)))

    levels = column.values.levels
    names = [f"{column.name} missing" if k < 0 else f"{column.name} = {levels[k]}" for k in known]
    return _Block(names, serve)


def _cuts(values: Floats, parts: int) -> Floats:
    """Quantiles between parts, each below the largest value: some rows lie above."""
    there = values[~np.isnan(values)]
    below = there[there < there.max()] if len(there) else there
    if not len(below):
        return np.empty(0)
    return np.unique(np.minimum(np.quantile(there, np.arange(1, parts) / parts), below.max()))


def _binned(values: Any, cuts: Floats | None) -> Floats:
    if cuts is None:
        return np.asarray(values.numbers())
    return np.where(np.isnan(values), np.nan, np.searchsorted(cuts, values))


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
    from sklearn.feature_extraction.text import TfidfTransformer

    C, known, words = _known_words(rows, column, train)
    weigh = TfidfTransformer(sublinear_tf=True).fit(C[train][:, known])
    return _Block(words, lambda at: weigh.transform(C[at][:, known]))


def _known_words(rows: Rows, column: Column, train: Indices) -> tuple[Any, Indices, list[str]]:
    C, words = rows.words[column.name]
    known = np.unique(C[train].indices)
    if not len(known):
        raise SkippedModel(f"the texts of column {column.name} contain no words")
    return C, known.astype(np.intp), [f"{column.name}: {word}" for word in words[known]]
