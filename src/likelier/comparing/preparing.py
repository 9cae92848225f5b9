"""How columns become what a model takes, learned from the rows of a training fold alone."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likelier.comparing.columns import Column
from likelier.comparing.rows import Floats, Indices, Rows

Serve = Callable[[Indices], Any]  # these rows, as the model takes them
Diet = Callable[[Rows, Indices], Serve]  # all rows, and those to learn from

BINS = 10  # that numbers are cut into
DENSE = 1 << 24  # cells, beyond which indicators are sparse


class SitsOut(ValueError):
    """Why a model cannot take part."""


def numbers(rows: Rows, train: Indices) -> Serve:
    """Columns of numbers, as they are."""
    if rows.sparse is not None:
        return lambda at: rows.sparse[at]
    if not rows.of("number"):
        raise SitsOut("it takes numbers, and no column holds any")
    return lambda at: rows.numbers[at]


def table(rows: Rows, train: Indices) -> Serve:
    """Numbers and categories, each as it is."""
    if rows.sparse is not None:
        return numbers(rows, train)
    import pyarrow as pa

    held = rows.of("number", "category")
    if not held:
        raise SitsOut("it takes numbers and categories, and no column holds any")
    arrays = {column.name: _arrow(column) for column in held}
    whole = pa.table(arrays)
    return lambda at: whole.take(at)


def _arrow(column: Column) -> Any:
    import pyarrow as pa

    if column.kind == "number":
        return pa.array(column.values, from_pandas=True)
    codes = pa.array(column.values.codes, mask=column.values.codes < 0)
    return pa.DictionaryArray.from_arrays(codes, pa.array([str(level) for level in column.values.levels]))


def design(rows: Rows, train: Indices) -> Serve:
    """Numbers less their mean, over their deviation, the mean where missing; indicators of missing cells
    and of categories; words by tf-idf.
    """
    if rows.sparse is not None:
        return numbers(rows, train)
    blocks = [*_standardised(rows, train), *(_indicators(c, train, 0) for c in rows.of("category"))]
    blocks += [_weighed_words(column, train) for column in rows.of("text")]
    return _joined(rows, blocks)


def plain(rows: Rows, train: Indices) -> Serve:
    """Numbers as they are, the mean where missing; indicators; words: for estimators of any kind."""
    return design(rows, train)


def numbers_and_indicators(rows: Rows, train: Indices) -> Serve:
    """Numbers as they are, missing ones too; of each column of categories indicators of all but one."""
    if rows.sparse is not None or not rows.of("category"):
        return numbers(rows, train)
    blocks: list[Serve] = [lambda at: rows.numbers[at]] if rows.of("number") else []
    return _joined(rows, [*blocks, *(_indicators(c, train, 1) for c in rows.of("category"))])


def bins(rows: Rows, train: Indices) -> Serve:
    """Categories by number; numbers as the tenth of the training rows that they are in. NaN: missing."""
    if rows.sparse is not None:
        raise SitsOut("it takes categories, and these rows are a sparse matrix of numbers")
    held = rows.of("number", "category")
    if not held:
        raise SitsOut("it takes categories, and no column holds any")
    cuts = [None if c.kind == "category" else _cuts(c.values[train], BINS) for c in held]

    def serve(at: Indices) -> Floats:
        return np.column_stack([_binned(c.values[at], cut) for c, cut in zip(held, cuts, strict=True)])

    return serve


def truths(rows: Rows, train: Indices) -> Serve:
    """Indicators of categories; numbers as whether they are above the median. NaN: missing."""
    if rows.sparse is not None:
        return numbers(rows, train)
    middles = [_cuts(c.values[train], 2) for c in rows.of("number")]
    blocks: list[Serve] = []
    if middles:
        blocks.append(
            lambda at: np.column_stack(
                [_binned(c.values[at], m) > 0.5 for c, m in zip(rows.of("number"), middles, strict=True)]
            ).astype(float)
        )
    blocks += [_indicators(c, train, 0) for c in rows.of("category")]
    blocks += [_counted_words(column, train) for column in rows.of("text")]
    return _joined(rows, blocks)


def counts(rows: Rows, train: Indices) -> Serve:
    """Whole numbers from 0 on, and how often each word stands in a text."""
    if rows.sparse is not None:
        if rows.sparse.data.size and (rows.sparse.data < 0).any():
            raise SitsOut("it takes counts, and some numbers are negative")
        return numbers(rows, train)
    words = [_counted_words(column, train) for column in rows.of("text")]
    X = rows.numbers
    there = X[~np.isnan(X)]
    whole = bool(X.shape[1]) and bool((there >= 0).all()) and bool((there == np.floor(there)).all())
    if not words and not whole:
        raise SitsOut("it takes counts, and the columns are not all of whole numbers from 0 on")
    return _joined(rows, [*([lambda at: X[at]] if whole else []), *words])


# ---- parts ---------------------------------------------------------------------------------------
def _joined(rows: Rows, blocks: Sequence[Serve]) -> Serve:
    if not blocks:
        raise SitsOut("no column is of a kind that it takes")

    def serve(at: Indices) -> Any:
        found = [block(at) for block in blocks]
        if len(found) == 1:
            return found[0]
        if any(sparse.issparse(each) for each in found):
            return sparse.hstack([sparse.csr_matrix(each) for each in found], format="csr")
        return np.hstack(found)

    return serve


def _standardised(rows: Rows, train: Indices) -> list[Serve]:
    X = rows.numbers
    if not X.shape[1]:
        return []
    some = X[train]
    missing = np.isnan(some)
    n = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, some).sum(axis=0) / n
    spread = np.sqrt(np.where(missing, 0.0, (some - mean) ** 2).sum(axis=0) / n)
    spread[spread == 0] = 1.0
    gappy = missing.any(axis=0)

    def scaled(at: Indices) -> Floats:
        return np.nan_to_num((X[at] - mean) / spread, nan=0.0)

    return [scaled] + ([lambda at: np.isnan(X[at][:, gappy]).astype(float)] if gappy.any() else [])


def _indicators(column: Column, train: Indices, skip: int) -> Serve:
    """A column for each category of the training rows, and for missing cells, less the first `skip`."""
    codes = column.values.codes
    known = np.unique(codes[train])[skip:]
    wide = len(codes) * len(known) > DENSE

    def serve(at: Indices) -> Any:
        place = np.searchsorted(known, codes[at])
        hit = known[np.minimum(place, len(known) - 1)] == codes[at] if len(known) else codes[at] < -1
        row = np.flatnonzero(hit)
        found = sparse.csr_matrix((np.ones(len(row)), (row, place[row])), (len(at), len(known)))
        return found if wide else found.toarray()

    return serve


def _cuts(values: Floats, parts: int) -> Floats:
    there = values[~np.isnan(values)]
    if not len(there):
        return np.empty(0)
    return np.unique(np.quantile(there, np.arange(1, parts) / parts))


def _binned(values: Any, cuts: Floats | None) -> Floats:
    if cuts is None:
        return np.asarray(values.numbers())
    return np.where(np.isnan(values), np.nan, np.searchsorted(cuts, values, side="right"))


def _texts(column: Column) -> NDArray[Any]:
    held = np.array([*map(str, column.values.levels), ""], dtype=object)
    return np.asarray(held[column.values.codes])


def _counted_words(column: Column, train: Indices) -> Serve:
    from sklearn.feature_extraction.text import CountVectorizer

    return _words(CountVectorizer(), column, train)


def _weighed_words(column: Column, train: Indices) -> Serve:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return _words(TfidfVectorizer(sublinear_tf=True), column, train)


def _words(vectorizer: Any, column: Column, train: Indices) -> Serve:
    held = _texts(column)
    try:
        vectorizer.fit(held[train])
    except ValueError as problem:
        raise SitsOut(f"column {column.name}: {problem}") from None
    return lambda at: vectorizer.transform(held[at])
