"""Densities of training rows column by column, each row left out of its own class."""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import Chunk, Columns, Factor
from likelier.families.base import Columns as Numbers
from likelier.families.base import Independent
from likelier.families.categorical import Categorical, Histogram, left_out
from likelier.families.kernel import Kernel
from likelier.families.leave_one_out import Rows, change
from likelier.families.mixed import Mixed, MixedFamily, PooledFamily
from likelier.states.counts import codes_of, resized

AT_ONCE = 1 << 18  # cells of a class that are estimated together: they stay in the cache


class Block(NamedTuple):
    """ln p of some columns: one density for each, or one for all of them together."""

    columns: Numbers
    values: Floats  # (n, K, q), or (n, K, 1) if the columns have one density together; 0 where missing

    @property
    def joint(self) -> bool:
        """Whether the columns have one density together."""
        return bool(self.values.shape[2] != len(self.columns))


class NotByRow(ValueError):
    """A family out of whose statistics no row can be taken."""

    def __init__(self, columns: Sequence[int]) -> None:
        super().__init__(f"columns {list(columns)}")
        self.columns = list(columns)


def blocks_left_out(family: MixedFamily, stats: Any, params: Mixed, rows: Rows) -> list[Block]:
    """ln p(x | C_k) of all columns that differ between classes, in the order of the groups.

    In its own class each row is left out, with the weight that `rows` says.
    """
    found = []
    for (columns, own), state, group in zip(family.groups, stats.states, params.groups, strict=True):
        if isinstance(own, PooledFamily):
            continue
        some = rows._replace(X=rows.X.select(columns))
        values = each_left_out(own, state, some)
        if values is None:
            values = _together(own, state, group.params, some, columns)
        found.append(Block(columns, values))
    return found


def _together(family: Any, stats: Any, params: Any, rows: Rows, columns: Numbers) -> Floats:
    """One density of all columns, (n, K, 1)."""
    Z = np.empty((len(rows.y), params.shape[0]))
    params.scores().write(Chunk(rows.X), Z)
    moved = change(family, stats, params, rows)
    if moved is None:
        raise NotByRow(columns.tolist())
    if moved.ndim == 2:
        Z += moved
    else:
        Z[np.arange(len(Z)), rows.y] += moved
    return Z[:, :, None]


@singledispatch
def each_left_out(family: Any, stats: Any, rows: Rows) -> Floats | None:
    """ln p(x_j | C_k) (n, K, q), each row left out of its own class; 0 where a cell is missing.

    None: the columns have one density together.
    """
    if not hasattr(stats, "without"):
        return None
    params = family.estimate(stats)
    if not isinstance(params, Independent):
        return None
    Z, q = np.empty((len(rows.y), *params.shape)), params.shape[1]
    step = max(1, AT_ONCE // max(q, 1))
    for first in range(0, len(Z), step):
        some = rows.take(slice(first, first + step))
        X = some.X.to_array()
        z = params.parts(X)
        own = family.estimate(stats.without(X, some.y, some.w), stats).each(X)
        z[np.arange(len(z)), some.y] = np.nan_to_num(own, nan=0.0)
        Z[first : first + step] = z
    return Z


@each_left_out.register
def _(family: Categorical, stats: Any, rows: Rows) -> Floats:
    sizes = np.maximum(stats.sizes, np.maximum(family.least, 1)).astype(np.int64)
    counts = replace(stats, counts=resized(stats.counts, stats.sizes, sizes), sizes=sizes)
    codes = _codes(rows.X)
    beyond = sizes - 1 if stats.beyond == "last" else -1
    return left_out(family, counts, _places(np.where(codes >= sizes, beyond, codes), sizes), rows.y, rows.w)


@each_left_out.register
def _(family: Histogram, stats: Any, rows: Rows) -> Floats:
    codes = _codes(codes_of(family.bins, Chunk(rows.X)))
    return left_out(family, stats.counts, _places(codes, stats.counts.sizes), rows.y, rows.w)


@each_left_out.register
def _(family: Kernel, stats: Any, rows: Rows) -> Floats:
    each = family._columns(len(stats.states))
    blocks = blocks_left_out(each, stats, each.estimate(stats), rows)
    Z = np.empty((len(rows.y), blocks[0].values.shape[1], len(blocks)))
    for block in blocks:
        Z[:, :, block.columns] = block.values
    return Z


def _codes(X: Any) -> NDArray[np.int64]:
    """Cells as codes (n, q), -1 where one is missing."""
    arrays = X.arrays if isinstance(X, Columns) else X.to_array().T
    return np.stack([x.codes if isinstance(x, Factor) else _whole(x) for x in arrays], axis=1).astype(
        np.int64
    )


def _whole(x: NDArray[Any]) -> NDArray[np.int64]:
    return np.where(np.isnan(x), -1, x).astype(np.int64) if x.dtype.kind == "f" else x.astype(np.int64)


def _places(codes: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where cells stand in a table, (n, q); -1: missing."""
    return np.where(codes < 0, -1, codes + (np.cumsum(sizes) - sizes))
