"""Bins: a column of numbers as one of few codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Chunk, Columns
from likelier.states.moments import Floats, refuse

MOST_BINS = 64
LEAST_ROWS = 5  # that a bin should have: fewer make no frequency


@dataclass(frozen=True)
class Bins:
    """Bins [e_b, e_b+1) of a column, the outermost of which also hold all that lies beyond their edges.

    Some are atoms: they hold one value alone, from that to the next number there is, and have a
    probability rather than a density. An edge belongs to the bin on its right.
    """

    edges: Floats  # (B + 1,), sorted; the inner ones differ
    atoms: NDArray[np.bool_]  # (B,)

    def __len__(self) -> int:
        return len(self.atoms)

    @property
    def cuts(self) -> Floats:
        """What parts the bins: a value's bin is the number of cuts that are at most it."""
        return self.edges[1:-1]

    @property
    def tail(self) -> float:
        """By how much beyond the outermost edges a density falls to 1/e of itself: a mean width."""
        low, high = self.edges[0], self.edges[-1]
        return float(high / len(self) - low / len(self)) or max(abs(float(low)), 1.0)

    @property
    def widths(self) -> Floats:
        """What a probability is to be divided by for the density at a bin's height; 1 for atoms."""
        wide = np.diff(self.edges)
        wide[0] += self.tail
        wide[-1] += self.tail
        return np.where(self.atoms, 1.0, wide)

    @property
    def means(self) -> Floats:
        """The mean of each bin: flat between its edges, and an exponential tail beyond the outermost."""
        left, right, tail = self.edges[:-1], self.edges[1:], self.tail
        middle = left + (right - left) / 2
        flat = np.diff(self.edges)
        mass, moment = flat.copy(), np.zeros(len(self))  # moments are about the middle
        for b, edge, way in ((0, left[0], -1.0), (-1, right[-1], 1.0)):
            mass[b] += tail
            moment[b] += tail * (edge + way * tail - middle[b])
        return np.where(self.atoms, left, middle + moment / np.where(self.atoms, 1.0, mass))


def codes_of(bins: Sequence[Bins], chunk: Chunk) -> Columns:
    """The bin of each cell, -1 where it is missing."""
    n, p = chunk.X.shape
    if len(bins) != p:  # a model file may say so, and the kernel would read on
        raise ValueError(f"bins of {len(bins)} columns, and rows of {p}")
    start = np.cumsum([0, *(len(one.cuts) for one in bins)], dtype=np.int64)
    cuts = np.concatenate([np.empty(0), *(one.cuts for one in bins)])
    codes = np.empty((p, n), dtype=np.int32)
    refuse(chunk, _core.find_bins(chunk.X.native(), cuts, start, codes))
    return Columns(tuple(codes))


def bins_for(rows: float) -> int:
    """How many bins suit so many rows: 3/2 times the cube root, 64 at most."""
    return int(min(round(1.5 * rows ** (1 / 3)), MOST_BINS))


def edges_of(x: NDArray[Any], w: Floats | None = None, bins: int | None = None) -> Bins:
    """About `bins` bins of equal weight, from values (those that are finite) and their weights.

    By default as many as suit the rows.

    A value that weighs more than a bin should, is an atom; the bins left share what is left, so that
    further values may become atoms (compressed histograms: Poosala, Ioannidis, Haas & Shekita 1996).
    Edges lie half-way between values; bins that would weigh less than 5 rows are not made.
    """
    values, weights = _distinct(np.asarray(x, dtype=np.float64), w)
    if len(values) == 0:
        return Bins(np.zeros(2), np.zeros(1, dtype=np.bool_))
    total = weights.sum()
    most = bins_for(total) if bins is None else bins
    wanted = int(np.clip(total // LEAST_ROWS, 1, max(most, 1)))
    alone = _heavy(weights, wanted)
    cuts = [values[alone], np.nextafter(values[alone], np.inf)]
    rest = max(wanted - int(alone.sum()), 1)
    cuts.append(_quantiles(values, np.where(alone, 0.0, weights), alone, rest))
    found = np.unique(np.concatenate(cuts))
    inner = found if len(found) else values
    ends = min(values[0], inner[0]), max(values[-1], inner[-1])
    edges = np.concatenate([ends[:1], found, ends[1:]])
    atoms = np.isin(edges[:-1], values[alone]) & (edges[1:] == np.nextafter(edges[:-1], np.inf))
    return Bins(edges, atoms)


def _distinct(x: Floats, w: Floats | None) -> tuple[Floats, Floats]:
    """The values that are there, sorted, and what each weighs."""
    there = np.isfinite(x) if w is None else np.isfinite(x) & (w > 0)
    values, at = np.unique(x[there], return_inverse=True)
    return values, np.bincount(at, None if w is None else w[there], len(values)).astype(np.float64)


def _heavy(weights: Floats, bins: int) -> NDArray[np.bool_]:
    """The values that weigh more than a bin should, once the heavier ones have one each."""
    order = np.argsort(-weights, kind="stable")[: bins - 1]
    heavier = np.cumsum(weights[order]) - weights[order]
    fair = (weights.sum() - heavier) / (bins - np.arange(len(order)))
    light = np.flatnonzero(weights[order] <= fair * (1 + 1e-9))
    heavy = order[: light[0]] if len(light) else order
    found = np.zeros(len(weights), dtype=np.bool_)
    found[heavy] = True
    return found


def _quantiles(values: Floats, weights: Floats, alone: NDArray[np.bool_], bins: int) -> Floats:
    """Cuts between values that make bins of about equal weight; where an atom parts them, none."""
    below = np.cumsum(weights)
    if bins == 1 or below[-1] == 0:
        return np.empty(0)
    targets = below[-1] * np.arange(1, bins) / bins
    at = np.searchsorted(below, targets * (1 - 1e-12))  # the cut is above this value
    nearer = (at > 0) & (targets - below[at - 1] < below[at] - targets)
    at = np.unique(np.where(nearer, at - 1, at))
    at = at[at + 1 < len(values)]
    at = at[~alone[at] & ~alone[at + 1]]
    middle = values[at] + (values[at + 1] - values[at]) / 2
    return np.asarray(np.where(middle > values[at], middle, values[at + 1]))
