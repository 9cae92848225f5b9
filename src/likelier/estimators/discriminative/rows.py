"""The rows of a discriminative fit: their classes, found and counted from one reading of the labels."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import Arrays, Source, code, levels_of
from likelier.data.labels import sums_by_code, tallied
from likelier.engines import run
from likelier.engines.row_numbers import counting
from likelier.estimators import validation
from likelier.estimators.common import warn_of_many
from likelier.states import LabelRows, LabelTotals, RowCount, Together


class LabelledRows(NamedTuple):
    """Rows whose labels are codes, their classes, and what there is of each."""

    source: Source
    classes: NDArray[Any]  # (K,), sorted
    n: Floats  # (K,), the weight of their rows
    rows: Floats  # (K,), how many they are, whatever their weights


def labelled(source: Source) -> LabelledRows:
    """The classes of the rows that have a weight, and their labels as places among them."""
    if isinstance(source, Arrays):
        assert source.y is not None
        codes, classes, n, rows = tallied(source.y, source.w)
        found, count = LabelledRows(replace(source, y=codes, levels=None), classes, n, rows), len(codes)
    else:
        start = partial(Together.start, (LabelTotals, LabelRows, RowCount))
        totals, by_label, every = run(source.labels(), start, counting(source)).states
        classes, count = totals.levels, every.rows
        found = LabelledRows(source.coded(classes), classes, totals.n, by_label.of(classes))
    validation.weighty(len(classes))
    warn_of_many(len(classes), count)
    return found


def labelled_as(source: Source, known: NDArray[Any]) -> LabelledRows:
    """The same by known classes: another label, of a row with a weight, is refused."""
    K = len(known)
    if isinstance(source, Arrays):
        assert source.y is not None
        codes = code(source.y, known)
        at = codes + 1  # 0: another label
        n = sums_by_code(at, source.w, K + 1)
        new = levels_of(source.y[_unknown(codes, source.w)]) if n[0] else np.empty(0)
        coded: Source = replace(source, y=codes, levels=None)
        n, rows = n[1:], sums_by_code(at, None, K + 1)[1:]
    else:
        start = partial(Together.start, (LabelTotals, LabelRows))
        totals, by_label = run(source.labels(), start).states
        at = code(totals.levels, known)
        new, coded, rows = totals.levels[at < 0], source.coded(known), by_label.of(known)
        n = sums_by_code(at[at >= 0], totals.n[at >= 0], K)
    if len(new):
        raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {known}")
    return LabelledRows(coded, known, n, rows)


def _unknown(codes: NDArray[np.int32], w: Floats | None) -> NDArray[np.bool_]:
    return codes < 0 if w is None else (codes < 0) & (w > 0)


def with_offset(rows: LabelledRows, offset: Any) -> LabelledRows:
    """Rows with something known added to their scores."""
    source = rows.source
    if not isinstance(source, Arrays):
        raise ValueError("offset goes with rows in memory, and X is a source: load its rows first.")
    known = np.ascontiguousarray(offset, dtype=np.float64)
    n, K = len(source), len(rows.classes)
    if known.shape != (n,) and known.shape != (n, K):
        raise ValueError(
            f"offset has shape {known.shape}: it is ({n},), or ({n}, {K}) with a number for each class"
        )
    if not np.isfinite(known).all():
        raise ValueError("offset contains NaN or infinity.")
    if K == 2 and known.ndim == 2:
        known = np.ascontiguousarray(known[:, 1] - known[:, 0])
    if K > 2 and known.ndim == 1:
        raise ValueError(f"offset (n,) says nothing of {K} classes: give it as ({n}, {K})")
    return rows._replace(source=replace(source, offset=known))
