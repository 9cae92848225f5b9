"""Families of counts and of numbers from 0 on: Bernoulli, Poisson, geometric, exponential, multinomial."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from likelier import scores as terms
from likelier.array_types import Floats
from likelier.data import Chunk, refuse_cells, row_sums
from likelier.families.base import (
    Columns,
    Conditioned,
    Independent,
    Range,
    Support,
    given_and_rest,
    log_density,
)
from likelier.scores import Affine, Scores, TermWithConstant
from likelier.states import RULES, Sums

# What families of counts and booleans share: sums by class to rates, scores that are affine in x.

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
class Factorials(TermWithConstant):
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


# Booleans: columns that are 0 or 1, independent in each class.


@dataclass(frozen=True)
class Bernoullis(AffineColumns):
    """ln p(x | C_k) = Σ_j x_j ln p_kj + (1 - x_j) ln(1 - p_kj).

    With a threshold, x_j stands for 1[x_j > threshold]. Affine in it: W = ln p/(1 - p).
    """

    log_yes: Floats  # (K, p), ln p
    log_no: Floats  # (K, p), ln(1 - p)
    threshold: float | None = None

    @property
    def support(self) -> Support | None:
        return range_of("bernoulli") if self.threshold is None else None

    @property
    def constant(self) -> Floats:
        return np.maximum(self.log_no, np.log(TINY))

    @property
    def W(self) -> Floats:
        return np.asarray(np.maximum(self.log_yes, np.log(TINY)) - self.constant)

    @property
    def expected(self) -> Floats:
        return np.asarray(np.exp(self.log_yes) * self._true)

    @property
    def _true(self) -> float:
        """A value that is above the threshold."""
        return 1.0 if self.threshold is None or self.threshold < 1 else float(np.floor(self.threshold) + 1)

    def _affine(self) -> Scores:
        above = -np.inf if self.threshold is None else self.threshold
        return Scores((terms.Additive(np.zeros(self.shape[0]), self.W, self.constant, above),))

    def each(self, x: Floats) -> Floats:
        return super().each(x if self.threshold is None else np.where(np.isnan(x), x, x > self.threshold))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        drawn = rng.random((len(codes), self.shape[1])) < np.exp(self.log_yes)[codes]
        return np.asarray(drawn * self._true)

    def marginal(self, columns: Columns) -> Self:
        return replace(self, log_yes=self.log_yes[:, columns], log_no=self.log_no[:, columns])


@dataclass(frozen=True)
class Bernoulli:
    """p = (Σx + α) / (n + 2α): as if α rows more were 1 and as many were 0."""

    alpha: float | Floats = 1.0  # or of each column, (p,)
    binarize: float | None = None

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "bernoulli" if self.binarize is None else "numbers", self.binarize)

    def estimate(self, stats: Sums, among: Sums | None = None) -> Bernoullis:
        total, seen = counted(stats)
        whole = seen + 2 * np.asarray(self.alpha)
        yes, no = (ratio(part + self.alpha, whole, 0.5) for part in (total, np.maximum(seen - total, 0.0)))
        return Bernoullis(log_of(yes), log_of(no), self.binarize)


# Counts and waiting times: Poisson, geometric and exponential columns, independent in each class.

LEAST = 1e-150  # of a rate or a mean: neither it nor its inverse overflows


@dataclass(frozen=True)
class Poissons(AffineColumns):
    """ln p(x | C_k) = Σ_j x_j ln λ_kj - λ_kj - ln x_j!."""

    rule = "poisson"

    rate: Floats  # (K, p), λ

    @property
    def constant(self) -> Floats:
        return -self.rate

    @property
    def W(self) -> Floats:
        return np.asarray(np.log(self.rate))

    @property
    def expected(self) -> Floats:
        return self.rate

    def base(self) -> terms.Term | None:
        return Factorials(np.zeros(self.shape[0]))

    def each(self, x: Floats) -> Floats:
        return np.asarray(super().each(x) - gammaln(x + 1))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return rng.poisson(self.rate[codes]).astype(np.float64)


@dataclass(frozen=True)
class Poisson:
    """λ_k = (Σx + α m) / (n + α): α rows more, of the mean m = (Σx + α) / (n + α) over all classes.

    The mean of a gamma posterior (shape α m, rate α a priori): a rate is 0 only if α is, and then it is
    taken for a very small one.
    """

    alpha: float | Floats = 1.0  # or of each column, (p,)

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "poisson")

    def estimate(self, stats: Sums, among: Sums | None = None) -> Poissons:
        (total, seen), every = counted(stats), stats if among is None else among
        of_all = ratio(every.total.sum(axis=0) + self.alpha, every.seen().sum(axis=0) + self.alpha, 1.0)
        rate = ratio(total + self.alpha * of_all, seen + np.asarray(self.alpha), 1.0)
        return Poissons(np.maximum(rate, LEAST))


@dataclass(frozen=True)
class Geometrics(AffineColumns):
    """p(x_j | C_k) = q_kj (1 - q_kj)^x_j: how often nothing happens before something does."""

    rule = "geometric"

    odds: Floats  # (K, p), (1 - q)/q: the mean

    @property
    def constant(self) -> Floats:
        return -np.log1p(self.odds)

    @property
    def W(self) -> Floats:
        return -np.log1p(1 / self.odds)

    @property
    def expected(self) -> Floats:
        return self.odds

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return rng.geometric(1 / (1 + self.odds[codes])).astype(np.float64) - 1


@dataclass(frozen=True)
class Geometric:
    """q = (n + α) / (n + Σx + 2α), the mean of a beta posterior: as if α rows more had been 1 each."""

    alpha: float = 1.0

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "geometric")

    def estimate(self, stats: Sums, among: Sums | None = None) -> Geometrics:
        total, seen = counted(stats)
        return Geometrics(np.maximum(ratio(total + self.alpha, seen + self.alpha, 1.0), LEAST))


@dataclass(frozen=True)
class Exponentials(AffineColumns):
    """ln p(x | C_k) = Σ_j -ln m_kj - x_j / m_kj."""

    rule = "exponential"

    mean: Floats  # (K, p)

    @property
    def constant(self) -> Floats:
        return -np.log(self.mean)

    @property
    def W(self) -> Floats:
        return -1 / self.mean

    @property
    def expected(self) -> Floats:
        return self.mean

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return rng.exponential(self.mean[codes])


@dataclass(frozen=True)
class Exponential:
    """m_k = (Σx + α m) / (n + α): α rows more, of the mean m over all classes."""

    alpha: float = 1.0

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "exponential")

    def estimate(self, stats: Sums, among: Sums | None = None) -> Exponentials:
        (total, seen), every = counted(stats), stats if among is None else among
        of_all = ratio(every.total.sum(axis=0), every.seen().sum(axis=0), 1.0)
        mean = ratio(total + self.alpha * of_all, seen + self.alpha, 1.0)
        # In units of the column. (A mean below 1e-307 would have an inverse that overflows.)
        least = LEAST * np.where(of_all > 0, of_all, 1.0)
        return Exponentials(np.maximum(mean, np.maximum(least, 1e-307)))


# Counts of words: a row is N draws, each with the same chances.

BLOCK = 1 << 22  # cells at once, of rows that lack some


@dataclass(frozen=True)
class DrawsGaps(TermWithConstant):
    """b_k + Σ_j x_j ln(θ_kj / Σ θ_ki) over the columns that are there, i among them as well.

    exact: and the number of orders in which the draws can come.
    """

    by_class = ("b", "log_theta")
    shared = ("exact",)

    log_theta: Floats  # (K, p)
    exact: bool = False

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        n, p = chunk.X.shape
        theta, height = np.exp(self.log_theta), max(1, BLOCK // max(p, 1))
        for start in range(0, n, height):
            X = chunk.X.take(slice(start, start + height)).to_array()
            refuse_cells(X, gaps=True, first=chunk.first + start)
            there = ~np.isnan(X)
            x = np.where(there, X, 0.0)
            share = np.maximum(there @ theta.T, TINY)  # (n, K)
            z = self.b + x @ self.log_theta.T - x.sum(axis=1, keepdims=True) * np.log(share)
            rows = slice(start, start + height)
            Z[rows] = Z[rows] + z if add else z
        if self.exact:
            Factorials(np.zeros_like(self.b), drawn=True).write(chunk, Z, add=True)


@dataclass(frozen=True)
class Multinomials:
    """ln p(x | C_k, N) = ln N!/Πx_j! + Σ_j x_j ln θ_kj, given the total N = Σ_j x_j of the row.

    Of some columns alone it is the same with θ made to sum to 1 over them, given the total of these: so
    cells that are missing are dealt with. How many draws fall to which columns is not part of the model.
    """

    log_theta: Floats  # (K, p); may be -inf
    length: Floats  # (K,), the mean total of a row

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.log_theta.shape
        return K, p

    @property
    def support(self) -> Support | None:
        return range_of("multinomial")

    @property
    def free(self) -> int:
        K, p = self.shape
        return K * (p - 1)

    @property
    def W(self) -> Floats:
        return np.maximum(self.log_theta, np.log(TINY))

    @property
    def constant(self) -> Floats:
        return np.zeros(self.shape)

    def discriminants(self) -> Scores:
        zero, W = np.zeros(self.shape[0]), self.W
        return Scores((Affine(zero, W, np.zeros(self.shape[1])),), DrawsGaps(zero, W))

    def scores(self) -> Scores:
        """With the number of orders in which the draws can come."""
        zero, W = np.zeros(self.shape[0]), self.W
        line, orders = Affine(zero, W, np.zeros(self.shape[1])), Factorials(zero, drawn=True)
        return Scores((line, orders), DrawsGaps(zero, W, exact=True))

    def parts(self, X: Floats) -> Floats:
        """x_j ln θ_kj, column by column (n, K, p), θ over what is there; 0 where x_j is missing."""
        there = ~np.isnan(X)
        share = np.log(np.maximum(there @ np.exp(self.W).T, TINY))  # (n, K)
        own = self.W - np.where(there.all(axis=1, keepdims=True), 0.0, share)[:, :, None]
        return np.asarray(np.nan_to_num(X[:, None, :] * own, nan=0.0))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Rows of the mean total of their class, rounded."""
        theta = np.exp(self.log_theta)
        theta /= theta.sum(axis=1, keepdims=True)
        N = np.maximum(np.rint(self.length), 0).astype(np.int64)
        return rng.multinomial(N[codes], theta[codes]).astype(np.float64)

    def marginal(self, columns: Columns) -> "Multinomials":
        W = self.W[:, columns]
        share = np.exp(W).sum(axis=1)
        return Multinomials(W - np.log(share)[:, None], self.length * share)

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        """Each given the total of its own columns: p(given | its total), and p(rest | its total)."""
        columns, values, rest = given_and_rest(given, self.shape[1])
        if len(columns) == 0:
            return Conditioned(self, np.zeros(self.shape[0]))
        return Conditioned(self.marginal(rest), log_density(self.marginal(columns), values))

    def fill(self, X: Floats, P: Floats) -> Floats:
        """As many as the rest of the row leads one to expect: N θ_kj / Σ θ_ki, N and i of what is there.

        Of a row of which nothing is there, those of a row of mean length.
        """
        refuse_cells(X, gaps=True)
        there, theta = ~np.isnan(X), np.exp(self.log_theta)
        some = there.any(axis=1, keepdims=True)
        share = np.maximum(there @ theta.T, TINY)  # (n, K)
        draws = np.where(some, np.where(there, X, 0.0).sum(axis=1, keepdims=True) / share, self.length)
        return np.where(there, X, (P * draws) @ theta)


@dataclass(frozen=True)
class Multinomial:
    """θ = (Σx + α) / Σ_j (Σx + α): as if every word had been met α times more (Lidstone 1920).

    Where cells are missing, Σx is what it would be if they had been like those that are there.
    """

    alpha: float | Floats = 1.0  # or of each column, (p,)

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "multinomial")

    def estimate(self, stats: Sums, among: Sums | None = None) -> Multinomials:
        total = completed_counts(stats)
        smoothed = total + self.alpha
        whole = smoothed.sum(axis=1, keepdims=True)
        # A class without a count, and nothing to smooth it: all words alike.
        theta = smoothed / whole if whole.all() else ratio(smoothed, whole, 1 / total.shape[1])
        return Multinomials(log_of(theta), ratio(total.sum(axis=1), stats.n, 0.0))


def completed_counts(stats: Sums) -> Floats:
    """Σx as it would be if missing cells had been like those that are there."""
    if stats.gone is None:
        return stats.total
    total, seen = counted(stats)
    return total * ratio(stats.n[:, None], seen, 0.0)


@dataclass(frozen=True)
class Complements:
    """Weights -ln θ̃_kj from the words of all other classes; no density (Rennie et al. 2003)."""

    W: Floats  # (K, p)

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.W.shape
        return K, p

    @property
    def support(self) -> Support | None:
        return range_of("complement")

    @property
    def free(self) -> int:
        return self.W.size

    @property
    def constant(self) -> Floats:
        return np.zeros_like(self.W)

    def scores(self) -> Scores:
        """Σ_j W_kj x_j over the cells that are there."""
        return Scores((terms.Additive(np.zeros(self.shape[0]), self.W, self.constant),))

    def discriminants(self) -> Scores | None:
        return None

    def parts(self, X: Floats) -> Floats:
        return np.asarray(np.nan_to_num(self.W * X[:, None, :], nan=0.0))

    def _none(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AttributeError("complement naive Bayes has weights, and no density")

    sample = marginal = condition = fill = _none


@dataclass(frozen=True)
class Complement:
    """θ̃_k = (Σx of all other classes + α) / its sum; `norm`: the weights of a class made to sum to 1."""

    alpha: float | Floats = 1.0  # or of each column, (p,)
    norm: bool = False

    def stats(self, K: int, p: int) -> Sums:
        return Sums.start(K, p, "complement")

    def estimate(self, stats: Sums) -> Complements:
        total = completed_counts(stats)
        others = np.maximum(total.sum(axis=0) - total, 0.0) + self.alpha
        theta = ratio(others, others.sum(axis=1, keepdims=True), 1 / total.shape[1])
        W = -np.log(np.maximum(theta, TINY))
        if self.norm:
            W = ratio(W, W.sum(axis=1, keepdims=True), 0.0)
        return Complements(W)
