"""Dense rows of which nearly all cells are 0, such as indicators of categories, as a compressed matrix."""

from dataclasses import replace

import numpy as np

from likelier import _core
from likelier.data.chunk import Arrays, Source
from likelier.data.matrix import CSR, Dense

FEW_COLUMNS = 500  # up to which rows are small enough as they are
FULL = 0.05  # of the cells, from which on dense rows are faster
GLANCED = 32  # rows that are looked at before all are


def compressed(source: Source, few_columns: int = FEW_COLUMNS) -> Source:
    """The same rows, where that makes passes over them cheaper; else the source itself."""
    if not isinstance(source, Arrays) or not isinstance(source.X, Dense):
        return source
    n, p = source.X.shape
    if p <= few_columns or n == 0 or not _mostly_zero(source.X.array[:: max(1, n // GLANCED)]):
        return source
    counts, native = np.empty(n, dtype=np.int64), source.X.native()
    _core.count_stored(native, counts)
    stored = int(counts.sum())
    if stored > FULL * n * p or stored > np.iinfo(np.int32).max:
        return source
    values, columns = np.empty(stored), np.empty(stored, dtype=np.int32)
    _core.store_cells(native, values, columns)
    starts = np.append(0, np.cumsum(counts)).astype(np.int32)
    return replace(source, X=CSR(values, columns, starts, p))


def _mostly_zero(rows: np.ndarray) -> bool:
    return bool(np.count_nonzero(rows) <= FULL * rows.size)
