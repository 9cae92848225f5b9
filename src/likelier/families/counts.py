"""What families of counts and truths share: sums by class to rates, scores that are affine in x."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from likelier import scores as terms
from likelier.data import Chunk, row_sums
from likelier.families.base import Floats, Range, Support
from likelier.families.independent import Independent
from likelier.scores import Based, Scores
from likelier.states import RULES, Sums

TINY = float(np.finfo(np.float64).tiny)  # what stands for a probability of 0: its logarithm is -708


def range_of(family: str) -> Range:
    """The support of a family, by the rule of its statistics."""
    rule = RULES[family]
    return Range(family, rule.values, rule.low, rule.high, rule.whole)


def log_of(p: Floats) -> Floats:
    """ln p, of 0 as well."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def counted(stats: Sums) -> tuple[Floats, Floats]:
    """Sums (K, p), and the weight of the cells they are of: (K, p), or (K, 1) if no cell is missing.

    A class without a cell of a column has those of all classes: the column says nothing of it.
    """
    seen, total = stats.seen(), stats.total
    never = (seen == 0) & (stats.n > 0)[:, None]
    if stats.gone is None or not never.any():
        return total, seen
    return np.where(never, total.sum(axis=0), total), np.where(never, seen.sum(axis=0), seen)


def ratio(a: Floats, b: Floats, otherwise: float) -> Floats:
    """a / b, where b is above 0."""
    a, b = np.broadcast_arrays(a, b)
    return np.asarray(np.divide(a, b, out=np.full(a.shape, otherwise), where=b > 0))


SMALL = gammaln(np.arange(1.0, 257.0))  # ln x! of the counts that most cells have


def log_factorial(x: Floats) -> Floats:
    """ln Γ(x + 1); most are whole and small, and need no more than a look."""
    with np.errstate(invalid="ignore"):  # what is missing is no number, and any will do
        at = x.astype(np.uint8)
    if np.array_equal(at, x):
        return np.asarray(SMALL[at])
    return np.asarray(gammaln(x + 1))


@dataclass(frozen=True)
class Factorials(Based):
    """-Σ_j ln Γ(x_j + 1), of each class the same; `drawn`: and + ln Γ(Σ_j x_j + 1)."""

    by_class = ("b",)
    shared = ("drawn",)

    drawn: bool = False

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        found = -row_sums(chunk.X, log_factorial)
        if self.drawn:
            found += gammaln(row_sums(chunk.X, lambda x: x) + 1)
        z = found[:, None] + self.b
        Z[...] = Z + z if add else z


@dataclass(frozen=True)
class AffineColumns(Independent):
    """ln p(x_j | C_k) = c_kj + W_kj x_j + h(x_j): columns of one exponential family with T(x) = x."""

    rule: ClassVar[str]  # which values it takes, of those that sums know

    @property
    @abstractmethod
    def W(self) -> Floats:
        """(K, p)."""

    @property
    @abstractmethod
    def constant(self) -> Floats:
        """c, (K, p)."""

    def base(self) -> terms.Term | None:
        """Σ_j h(x_j); None: it is 0."""
        return None

    @property
    def support(self) -> Support | None:
        return range_of(self.rule)

    @property
    def free(self) -> int:
        K, p = self.shape
        return K * p

    def _affine(self) -> Scores:
        return Scores((terms.Additive(np.zeros(self.shape[0]), self.W, self.constant),))

    def scores(self) -> Scores:
        affine, base = self._affine(), self.base()
        return affine if base is None else Scores((*affine.terms, base))

    def discriminants(self) -> Scores | None:
        return None if self.base() is None else self._affine()

    def each(self, x: Floats) -> Floats:
        return np.asarray(self.constant + self.W * x)
