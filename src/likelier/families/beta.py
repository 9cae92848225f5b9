"""Beta columns: numbers between 0 and 1, independent given the class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likelier.data import Block, Chunk
from likelier.families.base import LEAST, Floats, Range, Support
from likelier.families.digamma import dirichlet_alpha, stirling
from likelier.families.independent import Independent
from likelier.families.ratios import RatioGaps, Ratios, refuse_numbers, spreads
from likelier.scores import Scores
from likelier.states.positive import PositiveMoments, excess

MOST = float(np.nextafter(1.0, 0.0))
SUPPORT = Range("beta", "numbers above 0 and below 1", low=LEAST, high=MOST)


@dataclass(frozen=True)
class TwoShares:
    """A cell x as two positive numbers, x and 1 - x: those of all columns, one after the other."""

    def width(self, p: int) -> int:
        return 2 * p

    def of(self, X: Block) -> Floats:
        x = X.to_array()
        return np.hstack([x, 1 - x])

    def refuse(self, chunk: Chunk) -> None:
        refuse_numbers(SUPPORT, chunk)


@dataclass(frozen=True)
class Betas(Independent):
    """x_j^(a-1) (1-x_j)^(b-1) Γ(a+b) / Γ(a)Γ(b), with a_kj and b_kj.

    With c = a+b, m = a/c and n = b/c:  ln p = stirling(a) + stirling(b) - stirling(c) - ln x - ln(1-x)
    - a (x/m - 1 - ln x/m) - b ((1-x)/n - 1 - ln (1-x)/n).
    """

    a: Floats  # (K, p)
    b: Floats  # (K, p)

    @property
    def support(self) -> Support:
        return SUPPORT

    @property
    def expected(self) -> Floats:
        return self.a / (self.a + self.b)

    @property
    def _terms(self) -> tuple[Floats, Floats, Floats]:
        """Weights, means and constants of x and of 1 - x, (K, 2p)."""
        both, c = np.hstack([self.a, self.b]), self.a + self.b
        constant = stirling(both)
        constant[:, : self.shape[1]] -= stirling(c)
        return both, both / np.hstack([c, c]), constant

    @property
    def _held(self) -> tuple[Floats, Floats, Floats, Floats, TwoShares]:
        return np.zeros(self.shape[0]), *self._terms, TwoShares()

    def scores(self) -> Scores:
        return Scores((Ratios(*self._held),), RatioGaps(*self._held))

    def parts(self, X: Floats) -> Floats:
        found = np.nan_to_num(Ratios(*self._held).each(X), nan=0.0)
        return np.asarray(found[:, :, : self.shape[1]] + found[:, :, self.shape[1] :])

    def each(self, x: Floats) -> Floats:
        u = np.concatenate([x, 1 - x], axis=-1)
        a, mean, constant = self._terms
        found = constant - a * excess(u, mean) - np.log(u)
        return np.asarray(found[..., : self.shape[1]] + found[..., self.shape[1] :])

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        drawn = rng.beta(self.a[codes], self.b[codes])
        return np.clip(drawn, np.finfo(np.float64).tiny, MOST)  # what rounds to 0 or 1 lies beside it


@dataclass(frozen=True)
class Beta:
    """The most likely a and b: ψ(a) - ψ(a+b) = mean ln x, ψ(b) - ψ(a+b) = mean ln(1-x), by Newton's steps.

    `smoothing` rows are added to each class that vary as all classes do; no spread is below `floor` times
    that of all rows. With `lent` rows, as `DiagonalGaussian` lends them, in their place.
    """

    smoothing: float = 1.0
    floor: float = 1e-9
    lent: float = 0.0
    unit: float = 1.0  # the weight of a row

    def stats(self, K: int, p: int) -> PositiveMoments:
        return PositiveMoments.start(K, p, TwoShares())

    def estimate(self, stats: PositiveMoments, among: PositiveMoments | None = None) -> Betas:
        found = spreads(stats, self.smoothing, self.floor, rows=self.lent, unit=self.unit, among=among)
        mean, gap = (np.stack(np.hsplit(u, 2), axis=-1) for u in found)
        alpha = dirichlet_alpha(mean / mean.sum(axis=-1, keepdims=True), gap)  # (K, p, 2)
        return Betas(np.ascontiguousarray(alpha[..., 0]), np.ascontiguousarray(alpha[..., 1]))
