"""Sums of kernels as terms of a score: in full, or, of many points of one column, looked up."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.cores import cores
from likelier.data import Chunk, Dense, refuse_cells
from likelier.families.base import Floats
from likelier.families.gaussian import LOG_2PI
from likelier.scores import Based
from likelier.states.moments import refuse

ALONE = 1 << 20  # kernels that are not worth a second thread
MANY = 1024  # points of a single column from which on its density is tabulated
STEPS = 32  # of the table, in a bandwidth
REACH = 10  # bandwidths about a point that the table covers
MOST_CELLS = 1 << 14  # of a bandwidth each, that a table covers
ROWS = 1 << 16  # looked up at a time

LeftOut = tuple[NDArray[np.int64], Floats]  # a point for each row, and ln of the share of it that stays


@dataclass(frozen=True)
class KernelSum(Based):
    """b_k + ln Σ_i w_i Π_j N(x_j; c_ij, h_kj²) over the points i of class k.

    A missing cell of a row leaves its column out of the product. Where a point lacks a cell (inf), it has
    the density of that column alone, of the points of its class that have one.
    """

    cells: Floats  # (m, p)
    log_w: Floats  # (m,)
    log_v: Floats  # (m,)
    start: NDArray[np.int64]  # (K + 1,)
    h: Floats  # (K, p)

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        n, p = chunk.X.shape
        if p > 1 or n < 2:
            self.ask(chunk, Z, add=add)
            return
        x = chunk.X.to_array()
        refuse_cells(x, gaps=True, first=chunk.first)
        # Points of one column are sorted: rows that are, too, see but those that are near.
        order = np.argsort(x[:, 0], kind="stable")
        z = np.empty_like(Z)
        self.ask(Chunk(Dense(x[order])), z, add=False)
        if add:
            Z[order] += z
        else:
            Z[order] = z

    def ask(self, chunk: Chunk, Z: Floats, *, add: bool, left_out: LeftOut | None = None) -> None:
        """The kernel itself; `left_out`: each row without a point."""
        own, less = (None, None) if left_out is None else left_out
        threads = cores() if len(Z) * len(self.log_w) > ALONE else 1
        h = np.maximum(self.h, np.finfo(np.float64).tiny)  # of a lesser one there is no inverse
        scale, constant = 1 / (np.sqrt(2) * h), -np.log(h) - 0.5 * LOG_2PI
        points = (self.cells, self.log_w, self.log_v, self.start, scale, constant)
        refuse(chunk, _core.kernels(chunk.X.native(), *points, own, less, self.b, Z, add, threads))

    def of_class(self, k: int) -> "KernelSum":
        """The same of one class, without its constant."""
        own = slice(int(self.start[k]), int(self.start[k + 1]))
        start = np.array([0, own.stop - own.start])
        return KernelSum(
            np.zeros(1), self.cells[own], self.log_w[own], self.log_v[own], start, self.h[k : k + 1]
        )


@dataclass(frozen=True)
class Tabulated(KernelSum):
    """The same for many points of one column: ln f_k by cubics through its values, 1/32 bandwidth apart.

    The table covers what lies within 10 bandwidths of a point; elsewhere the sum itself answers. A cubic
    is off by at most 0.0234 δ⁴ times the fourth derivative: with δ = h/32, less than 2e-7 of the largest
    density.
    """

    cell: Floats  # (c,): cells of one bandwidth, numbered from a class's first point, class by class
    cell_start: NDArray[np.int64]  # (K + 1,)
    values: Floats  # (c, STEPS + 3): from one step before the cell to one after it

    @classmethod
    def of(cls, sum: KernelSum) -> Self:
        cells, values = [], []
        for k in range(len(sum.b)):
            one = sum.of_class(k)
            at = _covered(one)
            cells.append(at)
            x = one.cells[0, 0] + (at[:, None] + np.arange(-1, STEPS + 2) / STEPS) * one.h[0, 0]
            found = np.empty((x.size, 1))
            one.write(Chunk(Dense(x.reshape(-1, 1))), found, add=False)
            values.append(found.reshape(x.shape))
        start = np.cumsum([0, *map(len, cells)])
        held = {f.name: getattr(sum, f.name) for f in fields(sum)}
        return cls(**held, cell=np.concatenate(cells), cell_start=start, values=np.concatenate(values))

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        x = chunk.X.to_array()
        refuse_cells(x, gaps=True, first=chunk.first)
        for first in range(0, len(x), ROWS):
            self._look_up(x[first : first + ROWS, 0], Z[first : first + ROWS], add)

    def _look_up(self, x: Floats, Z: Floats, add: bool) -> None:
        z, found = np.zeros_like(Z), np.zeros(Z.shape, dtype=np.bool_)
        for k in range(len(self.b)):
            z[:, k], found[:, k] = self._of_class(k, x)
        found |= np.isnan(x)[:, None]
        rest = np.flatnonzero(~found.all(axis=1))
        if len(rest):
            exact = np.empty((len(rest), z.shape[1]))
            super().write(Chunk(Dense(x[rest, None])), exact, add=False)
            z[rest] = np.where(found[rest], z[rest], exact - self.b)
        z += self.b
        Z[...] = Z + z if add else z

    def _of_class(self, k: int, x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """ln f_k and whether the table has it; 0 where not."""
        own = slice(int(self.cell_start[k]), int(self.cell_start[k + 1]))
        cell = self.cell[own]
        if len(cell) == 0:
            return np.zeros_like(x), np.zeros(len(x), dtype=np.bool_)
        u = (x - self.cells[self.start[k], 0]) / self.h[k, 0]
        whole = np.floor(u)
        at = np.minimum(np.searchsorted(cell, whole), len(cell) - 1)
        found = cell[at] == whole
        t = np.where(found, (u - whole) * STEPS, 0.0)
        i = np.minimum(t.astype(np.intp), STEPS - 1)
        s, row = t - i, own.start + at
        weights = (
            -s * (s - 1) * (s - 2) / 6,
            (s + 1) * (s - 1) * (s - 2) / 2,
            -(s + 1) * s * (s - 2) / 2,
            (s + 1) * s * (s - 1) / 6,
        )
        z = sum(weight * self.values[row, i + o] for o, weight in enumerate(weights))
        return np.where(found, z, 0.0), found


def _covered(one: KernelSum) -> Floats:
    """The cells within reach of a point; none if the points are few or too far apart for a table."""
    x, h = one.cells[:, 0], one.h[0, 0]
    near = np.unique(np.floor((x - x[0]) / h))
    if len(x) <= MANY or len(near) * (2 * REACH + 1) > 8 * MOST_CELLS:
        return np.empty(0)
    cells = np.unique(near[:, None] + np.arange(-REACH, REACH + 1))
    return np.asarray(cells if len(cells) <= MOST_CELLS else np.empty(0))
