"""Gamma columns: numbers above 0, independent given the class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likelier.data import Block, Chunk
from likelier.families.base import LEAST, Floats, Range, Support
from likelier.families.digamma import gamma_shape, stirling
from likelier.families.independent import Independent
from likelier.families.ratios import RatioGaps, Ratios, refuse_numbers, spreads
from likelier.scores import Scores
from likelier.states.positive import PositiveMoments, excess

SUPPORT = Range("gamma", "numbers above 0", low=LEAST)


@dataclass(frozen=True)
class Itself:
    """A cell is its own positive number."""

    def width(self, p: int) -> int:
        return p

    def of(self, X: Block) -> Floats:
        return X.to_array()

    def refuse(self, chunk: Chunk) -> None:
        refuse_numbers(SUPPORT, chunk)


@dataclass(frozen=True)
class Gammas(Independent):
    """x_j^(a-1) e^(-a x_j/m) (a/m)^a / Γ(a): shapes a_kj and means m_kj, of which m/a is the scale.

    ln p = stirling(a) - a (x/m - 1 - ln x/m) - ln x, so that no shape is too large.
    """

    a: Floats  # (K, p)
    mean: Floats  # (K, p)

    @property
    def support(self) -> Support:
        return SUPPORT

    @property
    def expected(self) -> Floats:
        return self.mean

    @property
    def _held(self) -> tuple[Floats, Floats, Floats, Floats, Itself]:
        return np.zeros(self.shape[0]), self.a, self.mean, stirling(self.a), Itself()

    def scores(self) -> Scores:
        return Scores((Ratios(*self._held),), RatioGaps(*self._held))

    def parts(self, X: Floats) -> Floats:
        return np.nan_to_num(Ratios(*self._held).each(X), nan=0.0)

    def each(self, x: Floats) -> Floats:
        return np.asarray(stirling(self.a) - self.a * excess(x, self.mean) - np.log(x))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        drawn = rng.standard_gamma(self.a[codes]) * (self.mean / self.a)[codes]
        return np.maximum(drawn, np.finfo(np.float64).tiny)  # small shapes come nearer to 0 than numbers


@dataclass(frozen=True)
class Gamma:
    """The most likely shapes and means: m = mean x, ln a - ψ(a) = ln m - mean ln x (Minka 2002).

    `smoothing` rows are added to each class that vary as all classes do; no spread is below `floor` times
    that of all rows. With `lent` rows, as `DiagonalGaussian` lends them, in their place.
    """

    smoothing: float = 1.0
    floor: float = 1e-9
    lent: float = 0.0
    unit: float = 1.0  # the weight of a row

    def stats(self, K: int, p: int) -> PositiveMoments:
        return PositiveMoments.start(K, p, Itself())

    def estimate(self, stats: PositiveMoments, among: PositiveMoments | None = None) -> Gammas:
        mean, gap = spreads(stats, self.smoothing, self.floor, rows=self.lent, unit=self.unit, among=among)
        return Gammas(gamma_shape(gap), mean)
