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
        with np.errstate(over="ignore"):
            wide = np.diff(self.edges)
            wide[0] += self.tail
            wide[-1] += self.tail
        return np.where(self.atoms, 1.0, np.minimum(wide, np.finfo(np.float64).max))

    @property
    def means(self) -> Floats:
        """The mean of each bin: flat between its edges, and an exponential tail beyond the outermost."""
        largest = max(abs(self.edges[0]), abs(self.edges[-1]), self.tail)
        unit = np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)
        edges, tail = self.edges / unit, self.tail / unit  # at most 2: no product of two overflows
        left, right = edges[:-1], edges[1:]
        middle = left + (right - left) / 2
        mass, moment = np.diff(edges), np.zeros(len(self))  # moments are about the middle
        for b, edge, way in ((0, left[0], -1.0), (-1, right[-1], 1.0)):
            mass[b] += tail
            moment[b] += tail * (edge + way * tail - middle[b])
        mean = middle + moment / np.where(self.atoms | (mass == 0), 1.0, mass)
        return np.where(self.atoms, self.edges[:-1], mean * unit)


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
    wanted = _wanted(weights.sum(), bins)
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


def edges_of_each(X: Floats, w: Floats | None, bins: Sequence[int]) -> list[Bins]:
    """`edges_of` of each column, those together that have nothing but different values.

    Of these the same places are cut, which takes no longer for a thousand columns than for one.
    """
    n, p = X.shape
    S = np.sort(X, axis=0)
    alike = n > 0 and (w is None or bool((w == w[0]).all()))
    ends = np.isfinite(S[:1]) & np.isfinite(S[-1:])
    plain: list[int] = np.flatnonzero((S[1:] > S[:-1]).all(axis=0) & ends.all(axis=0) & alike).tolist()
    found: dict[int, Bins] = {}
    for most in {bins[j] for j in plain}:
        columns = np.array([j for j in plain if bins[j] == most])
        weights = np.ones(n) if w is None else w
        wanted, none = _wanted(weights.sum(), most), np.zeros(n, dtype=np.bool_)
        V = S[:, columns]
        edges = np.vstack([V[:1], _between(V, _places(weights, none, wanted)), V[-1:]])
        for j, own in zip(columns.tolist(), np.ascontiguousarray(edges.T), strict=True):
            found[j] = Bins(own, np.zeros(len(own) - 1, dtype=np.bool_))
    return [found[j] if j in found else edges_of(X[:, j], w, bins[j]) for j in range(p)]


def _wanted(total: float, bins: int | None) -> int:
    """How many bins are to be made of this weight."""
    most = bins_for(total) if bins is None else bins
    return int(np.clip(total // LEAST_ROWS, 1, max(most, 1)))


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
    return _between(values, _places(weights, alone, bins))


def _places(weights: Floats, alone: NDArray[np.bool_], bins: int) -> NDArray[np.intp]:
    """After which of the sorted values there is a cut."""
    below = np.cumsum(weights)
    if bins == 1 or below[-1] == 0:
        return np.empty(0, dtype=np.intp)
    targets = below[-1] * (np.arange(1, bins) / bins)
    at = np.searchsorted(below, targets * (1 - 1e-12))  # the cut is above this value
    nearer = (at > 0) & (targets - below[at - 1] < below[at] - targets)
    at = np.unique(np.where(nearer, at - 1, at))
    at = at[at + 1 < len(weights)]
    return np.asarray(at[~alone[at] & ~alone[at + 1]], dtype=np.intp)


def _between(values: Floats, at: NDArray[np.intp]) -> Floats:
    """Half-way from these sorted values to the next."""
    middle = values[at] + (values[at + 1] - values[at]) / 2
    return np.asarray(np.where(middle > values[at], middle, values[at + 1]))
