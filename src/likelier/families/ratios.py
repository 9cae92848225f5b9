"""Densities of positive numbers by how far they are from a mean in ratio: gamma, beta and Dirichlet."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from likelier import _core
from likelier.data import Chunk, Dense, NonFinite, refuse_cells
from likelier.families.base import Floats, Support, refuse_outside
from likelier.families.gaussian import predictive
from likelier.scores import Based
from likelier.states.positive import PositiveMoments, Positives, blocks, excess

_HUGE = 1e290  # stands for what is larger
_STILL = 1e-28  # a gap like this is rounding: the column does not vary


@dataclass(frozen=True)
class Ratios(Based):
    """b_k + Σ_j (c_kj - a_kj (u_j/m_kj - 1 - ln u_j/m_kj) - ln u_j), u the positive numbers of a row.

    As columns d_j = u_j/o_j - 1 and e_j = d_j - ln(u_j/o_j) about an origin o amid the means it is affine:
    with r = o/m,  u/m - 1 - ln u/m = e + (r - 1) d + (r - 1 - ln r)  and  ln u = ln o + d - e.
    """

    by_class: ClassVar[tuple[str, ...]] = ("b", "a", "mean", "constant")
    shared = ("positives",)

    a: Floats  # (K, q)
    mean: Floats  # (K, q)
    constant: Floats  # (K, q), c
    positives: Positives

    @cached_property
    def _affine(self) -> tuple[Floats, Floats, Floats]:
        """Origin (q,), weights (K, 2q) and constants (K, q)."""
        o = np.exp(np.log(self.mean).mean(axis=0))
        W = np.hstack([-self.a * (o - self.mean) / self.mean - 1, 1 - self.a])
        return o, W, self.constant - self.a * excess(o, self.mean) - np.log(o)

    def _columns(self, chunk: Chunk) -> Floats:
        """d and e, (n, 2q)."""
        U, o = self.positives.of(chunk.X), self._affine[0]
        T = np.empty((len(U), 2 * len(o)))
        for rows in blocks(*U.shape):
            with np.errstate(over="ignore"):
                T[rows, : len(o)] = (U[rows] - o) / o
            T[rows, len(o) :] = excess(U[rows], o)
        return T

    def _add_up(self, T: Floats, Z: Floats, *, add: bool) -> tuple[int, int] | None:
        _, W, constant = self._affine
        b = self.b + constant.sum(axis=1)
        return _core.affine(Dense(T).native(), W, b, np.zeros(T.shape[1]), Z, add)

    def each(self, X: Floats) -> Floats:
        """What each number adds, (n, K, q); NaN where it is missing."""
        (_, W, constant), T = self._affine, self._columns(Chunk(Dense(X)))
        d, e = np.hsplit(np.clip(T, -_HUGE, _HUGE), 2)
        for_d, for_e = np.hsplit(W, 2)
        return np.asarray(d[:, None, :] * for_d + e[:, None, :] * for_e + constant)

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        T, z = self._columns(chunk), np.empty_like(Z) if add else Z
        bad = self._add_up(T, z, add=False)
        if bad is not None:
            refuse_cells(chunk.X.to_array(), gaps=False, first=chunk.first)
        if bad is not None or not np.isfinite(z).all():  # ratios or sums of them overflow
            self._add_up(np.clip(T, -_HUGE, _HUGE), z, add=False)
        if add:
            Z += z


@dataclass(frozen=True)
class RatioGaps(Ratios):
    """The same over the numbers that are not missing."""

    by_class: ClassVar[tuple[str, ...]] = ()

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        refuse_cells(chunk.X.to_array(), gaps=True, first=chunk.first)
        T = self._columns(chunk)
        gone = np.isnan(T)
        z = np.empty_like(Z)
        self._add_up(np.clip(np.where(gone, 0.0, T), -_HUGE, _HUGE), z, add=False)
        z -= gone[:, : self.a.shape[1]] @ self._affine[2].T
        Z[...] = Z + z if add else z


def refuse_numbers(support: Support, chunk: Chunk) -> None:
    """Raise at the first cell that is infinite or outside a support."""
    where = _core.infinite(chunk.X.native())
    if where is not None:
        raise NonFinite(chunk.first + where[0], where[1], chunk.X.cell(*where))
    refuse_outside(support, chunk)


def spreads(
    stats: PositiveMoments,
    smoothing: float,
    floor: float,
    *,
    together: bool = False,
    rows: float = 0.0,
    unit: float = 1.0,
    among: PositiveMoments | None = None,
) -> tuple[Floats, Floats]:
    """Means and gaps (K, q), a gap being ln mean u - mean ln u, with what rows leave open made up for.

    Each class has besides its own rows `smoothing` rows with the gap of all classes (each about its own
    mean), so that a class of one row has a density. No gap is below `floor` times that of all rows about
    one mean, and a class without numbers has these. `together`: the numbers are those of one density, in
    which a column that does not vary among others that do varies as the least of these. `rows`: so many
    instead of `smoothing`, and the gap is that of a further row of a class whose mean N rows have told, as
    `DiagonalGaussian` has it. `among`: the statistics of all classes, if `stats` are not.
    """
    among = stats if among is None else among
    every, seen = among.pooled(), stats.seen > 0
    N = np.maximum(every.seen[0], np.finfo(np.float64).tiny)
    total = every.gap[0] / N
    varies = total > _STILL
    least = total[varies].min() if together and varies.any() else 1.0
    total = np.where(varies, total, least)
    within = among.gap.sum(axis=0) / N
    lent = np.where(within > floor * total, within, total)
    N = np.where(seen, stats.seen, 1.0)
    if rows:
        free = np.maximum(among.seen - unit, 0.0).sum(axis=0)
        of_all = (among.gap.sum(axis=0) + unit * total) / (free + unit)
        gap = predictive(stats.gap, N, rows * unit, of_all, unit)
    else:
        gap = (stats.gap + smoothing * lent) / (N + smoothing)
    gap = np.maximum(gap, floor * total)
    mean = np.where(every.seen[0] > 0, every.mean[0], 1.0)
    return np.where(seen, stats.mean, mean), np.where(seen, gap, total)
