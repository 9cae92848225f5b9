"""Gamma, beta and Dirichlet columns, and the gamma functions that their maximum likelihood needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from likelier import _core
from likelier.array_types import Floats
from likelier.data import Block, Chunk, Dense, NonFinite, OutOfSupport, refuse_cells
from likelier.data.matrix import Cells
from likelier.families.base import (
    LEAST,
    Columns,
    Conditioned,
    Independent,
    Range,
    Support,
    given_and_rest,
    log_density,
    refuse_outside,
)
from likelier.families.gaussian import predictive
from likelier.families.missing import Gaps, Marginals
from likelier.scores import Scores, TermWithConstant
from likelier.states.sums import PositiveMoments, Positives, blocks, excess

# Gamma functions without cancellation, and the maximum likelihood equations that they make.


_LARGE = 15.0  # from here on a few terms of Stirling's series are exact
# B_2i, the numbers of Bernoulli, from the last one needed to the first.
_BERNOULLI = np.array([7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6])
_TWICE = 2.0 * np.arange(len(_BERNOULLI), 0, -1)  # 2i
_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
_MOST_STEPS = 100
_TOL = 1e-13


def _by_size(a: Floats, small: Callable[[Floats], Floats], large: Callable[[Floats], Floats]) -> Floats:
    """Of each number below _LARGE what `small` says, else `large`: one of them alone, wherever it can."""
    below = a < _LARGE
    if below.all():
        return small(a)
    if not below.any():
        return large(a)
    return np.where(below, small(np.minimum(a, _LARGE)), large(np.maximum(a, _LARGE)))


def log_gap(a: Floats) -> Floats:
    """ln a - ψ(a) = 1/2a + Σ B_2i / (2i a^2i): falls from infinity to 0."""

    def series(a: Floats) -> Floats:
        x = np.square(1 / a)
        return np.asarray(np.polyval(_BERNOULLI / _TWICE, x) * x + 0.5 / a)

    with np.errstate(divide="ignore"):
        return _by_size(a, lambda a: np.log(a) - digamma(a), series)


def _derivative_series(a: Floats) -> Floats:
    x = np.square(1 / a)
    return np.asarray(-(np.polyval(_BERNOULLI, x) / a + 0.5) * x)


def log_gap_derivative(a: Floats) -> Floats:
    """1/a - ψ'(a) = -1/2a² - Σ B_2i / a^(2i+1)."""
    return _by_size(a, lambda a: 1 / a - trigamma(a), _derivative_series)


def trigamma(a: Floats) -> Floats:
    """ψ'(a) = Σ_k 1 / (a + k)², by the series from _LARGE on: vectors throughout, as polygamma is not."""
    far = a + _LARGE
    found = 1 / far - _derivative_series(far)
    with np.errstate(over="ignore", divide="ignore"):
        for k in range(int(_LARGE) - 1, -1, -1):  # the smallest first
            found += np.square(1 / (a + k))
    return np.asarray(found)


def stirling(a: Floats) -> Floats:
    """a ln a - a - ln Γ(a) = ½ ln(a / 2π) - Σ B_2i / (2i (2i-1) a^(2i-1))."""

    def series(a: Floats) -> Floats:
        rest = np.polyval(_BERNOULLI / (_TWICE * (_TWICE - 1)), np.square(1 / a)) / a
        return np.asarray(0.5 * np.log(a) - _HALF_LOG_2PI - rest)

    return _by_size(a, lambda a: a * np.log(a) - a - gammaln(a), series)


def gamma_shape(s: Floats) -> Floats:
    """a with ln a - ψ(a) = s, by Newton's steps in 1/a (Minka 2002)."""
    a = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(_MOST_STEPS):
        new = 1 / (1 / a + (log_gap(a) - s) / (a * a * log_gap_derivative(a)))
        done = np.abs(new - a) <= _TOL * a
        a = new
        if done.all():
            break
    return np.asarray(a)


def dirichlet_alpha(mean: Floats, s: Floats) -> Floats:
    """α (…, q) with ψ(α_j) - ψ(A) = ln m_j - s_j, A = Σ α_j; Σ m_j = 1 and s > 0.

    Newton's steps, by the inverse of a diagonal and a rank-one matrix (Minka 2000): concave, so shorter
    ones wherever a step would go too far. Kept are A and α_j / (A m_j) - 1, for α large the small one.
    """
    # The numbers of one α lie apart: sums of few that adjoin would take longer than all else.
    mean, s = (np.ascontiguousarray(np.moveaxis(each, -1, 0)) for each in (mean, s))
    mean = np.maximum(mean, 1e-250)  # its inverse times a share must not overflow
    A = (len(mean) - 1) / (2 * (mean * s).sum(axis=0, keepdims=True))
    alpha = np.maximum(A * mean, 1 / (10 + 2 * (s - np.log(mean))))  # for α small -ψ(α) is about 1/α
    A = alpha.sum(axis=0, keepdims=True)
    off = alpha / (A * mean) - 1
    off -= (mean * off).sum(axis=0, keepdims=True)  # 0 but for rounding, which steps would keep
    g = _derivatives(A, mean, off, s)
    for _ in range(_MOST_STEPS):
        alpha = A * mean * (1 + off)
        step = _newton(alpha, A, g)
        least = (step / alpha).min(axis=0, keepdims=True)
        size = np.abs(step / alpha).max(axis=0, keepdims=True)
        t = np.minimum(1.0, np.divide(-0.9, least, out=np.ones_like(A), where=least < 0))
        while True:  # as far as the way goes up
            new = A + t * step.sum(axis=0, keepdims=True)
            moved = (A * off + t * (step / mean - step.sum(axis=0, keepdims=True))) / new
            ahead = _derivatives(new, mean, moved, s)
            slope, was = ((each * step).sum(axis=0, keepdims=True) for each in (ahead, g))
            # Near the end steps are right, and slopes are rounding.
            beyond = (slope < -0.5 * np.abs(was)) & (t * size > 1e-6)
            if not beyond.any():
                break
            t = np.where(beyond, t / 2, t)
        A, off, g = new, moved, ahead
        if (t * size <= _TOL).all():
            break
    return np.asarray(np.moveaxis(A * mean * (1 + off), 0, -1))


def _derivatives(A: Floats, mean: Floats, off: Floats, s: Floats) -> Floats:
    """The slopes of the likelihood, (q, …)."""
    return np.asarray(log_gap(A * mean * (1 + off)) - log_gap(A) - np.log1p(off) - s)


def _newton(alpha: Floats, A: Floats, g: Floats) -> Floats:
    """-H⁻¹ g of H = -diag ψ'(α) + ψ'(A) 1 1ᵀ.

    With r(a) = a - 1/ψ'(a):  1/ψ'(A) - Σ 1/ψ'(α_j) = Σ r(α_j) - r(A), of which nothing cancels.
    """
    r, whole = ((-a * a * d / (1 - a * d)) for a, d in ((a, log_gap_derivative(a)) for a in (alpha, A)))
    inverse = alpha - r  # 1/ψ'(α)
    shared = (inverse * g).sum(axis=0, keepdims=True) / (r.sum(axis=0, keepdims=True) - whole)
    return np.asarray(inverse * (g + shared))


# Densities of positive numbers by how far they are from a mean in ratio: gamma, beta and Dirichlet.

_HUGE = 1e290  # stands for what is larger
_STILL = 1e-28  # a gap like this is rounding: the column does not vary


@dataclass(frozen=True)
class Ratios(TermWithConstant):
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
    prior_rows = np.where(within > floor * total, within, total)
    N = np.where(seen, stats.seen, 1.0)
    if rows:
        free = np.maximum(among.seen - unit, 0.0).sum(axis=0)
        of_all = (among.gap.sum(axis=0) + unit * total) / (free + unit)
        gap = predictive(stats.gap, N, rows * unit, of_all, unit)
    else:
        gap = (stats.gap + smoothing * prior_rows) / (N + smoothing)
    gap = np.maximum(gap, floor * total)
    mean = np.where(every.seen[0] > 0, every.mean[0], 1.0)
    return np.where(seen, stats.mean, mean), np.where(seen, gap, total)


# Beta columns: numbers between 0 and 1, independent given the class.

MOST = float(np.nextafter(1.0, 0.0))
BETA_SUPPORT = Range("beta", "numbers above 0 and below 1", low=LEAST, high=MOST)


@dataclass(frozen=True)
class TwoShares:
    """A cell x as two positive numbers, x and 1 - x: those of all columns, one after the other."""

    def width(self, p: int) -> int:
        return 2 * p

    def of(self, X: Block) -> Floats:
        x = X.to_array()
        return np.hstack([x, 1 - x])

    def refuse(self, chunk: Chunk) -> None:
        refuse_numbers(BETA_SUPPORT, chunk)


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
        return BETA_SUPPORT

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
    that of all rows. With `prior_rows` rows, as `DiagonalGaussian` lends them, in their place.
    """

    smoothing: float = 1.0
    floor: float = 1e-9
    prior_rows: float = 0.0
    unit: float = 1.0  # the weight of a row

    def stats(self, K: int, p: int) -> PositiveMoments:
        return PositiveMoments.start(K, p, TwoShares())

    def estimate(self, stats: PositiveMoments, among: PositiveMoments | None = None) -> Betas:
        found = spreads(
            stats, self.smoothing, self.floor, rows=self.prior_rows, unit=self.unit, among=among
        )
        mean, gap = (np.stack(np.hsplit(u, 2), axis=-1) for u in found)
        alpha = dirichlet_alpha(mean / mean.sum(axis=-1, keepdims=True), gap)  # (K, p, 2)
        return Betas(np.ascontiguousarray(alpha[..., 0]), np.ascontiguousarray(alpha[..., 1]))


# Gamma columns: numbers above 0, independent given the class.

GAMMA_SUPPORT = Range("gamma", "numbers above 0", low=LEAST)


@dataclass(frozen=True)
class SinglePart:
    """A cell is its own positive number."""

    def width(self, p: int) -> int:
        return p

    def of(self, X: Block) -> Floats:
        return X.to_array()

    def refuse(self, chunk: Chunk) -> None:
        refuse_numbers(GAMMA_SUPPORT, chunk)


@dataclass(frozen=True)
class Gammas(Independent):
    """x_j^(a-1) e^(-a x_j/m) (a/m)^a / Γ(a): shapes a_kj and means m_kj, of which m/a is the scale.

    ln p = stirling(a) - a (x/m - 1 - ln x/m) - ln x, so that no shape is too large.
    """

    a: Floats  # (K, p)
    mean: Floats  # (K, p)

    @property
    def support(self) -> Support:
        return GAMMA_SUPPORT

    @property
    def expected(self) -> Floats:
        return self.mean

    @property
    def _held(self) -> tuple[Floats, Floats, Floats, Floats, SinglePart]:
        return np.zeros(self.shape[0]), self.a, self.mean, stirling(self.a), SinglePart()

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
    that of all rows. With `prior_rows` rows, as `DiagonalGaussian` lends them, in their place.
    """

    smoothing: float = 1.0
    floor: float = 1e-9
    prior_rows: float = 0.0
    unit: float = 1.0  # the weight of a row

    def stats(self, K: int, p: int) -> PositiveMoments:
        return PositiveMoments.start(K, p, SinglePart())

    def estimate(self, stats: PositiveMoments, among: PositiveMoments | None = None) -> Gammas:
        mean, gap = spreads(
            stats, self.smoothing, self.floor, rows=self.prior_rows, unit=self.unit, among=among
        )
        return Gammas(gamma_shape(gap), mean)


# Dirichlet columns: shares of a whole.

ROUNDING = 1e-6  # by how much a row's sum may be off


@dataclass(frozen=True)
class Shares:
    """Cells as shares of their row's whole. `rest`: of a whole that has more to it, the rest as well.

    Also the support: numbers above 0 whose sum is the whole, or, if there is a rest or a cell is missing,
    less. The whole of a row is 1, or what is left of it.
    """

    whole: float = 1.0
    rest: bool = False

    def width(self, p: int) -> int:
        return p + self.rest

    def of(self, X: Block) -> Floats:
        """Of rows that lack a cell, none."""
        x = X.to_array()
        if self.rest:
            left = np.maximum(self.whole - x.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            return np.hstack([x, left]) / self.whole
        return np.asarray(x / x.sum(axis=1, keepdims=True))

    def refuse(self, chunk: Chunk) -> None:
        refuse_numbers(Range("dirichlet", self._said(), low=LEAST), chunk)
        rows = np.flatnonzero(self._off(chunk.X.to_array()))
        if len(rows):
            row = int(rows[0])
            total = np.nansum(chunk.X.take(rows[:1]).to_array())
            why = f"dirichlet takes {self._said()}; those of this row come to {total:g}"
            raise OutOfSupport(chunk.first + row, 0, chunk.X.cell(row, 0), why=why)

    def outside(self, X: Block) -> Cells:
        """Cells that are not above 0; if the sum of the others is off, all of the row."""
        x = X.to_array()
        bad = x <= 0
        bad |= self._off(np.where(bad, np.nan, x))[:, None] & ~np.isnan(x)
        rows, columns = np.nonzero(bad)
        return rows, columns

    def described(self, column: int) -> str:
        return f"dirichlet takes {self._said()}"

    def _said(self) -> str:
        return f"numbers above 0 whose sum over its columns is {self.whole:g}"

    def _off(self, x: Floats) -> NDArray[np.bool_]:
        some = np.isnan(x).any(axis=1) | self.rest
        total = np.nansum(x, axis=1) / self.whole
        return np.asarray(np.where(some, total >= 1, np.abs(total - 1) > ROUNDING))


@dataclass(frozen=True)
class Dirichlets:
    """Γ(A) Π_j x_j^(α_j-1) / Γ(α_j), A = Σ α_j, over the rows whose sum is 1, as a density of all but one.

    Some of the columns have, with what is left to 1 as one more, again such a density, and so have the
    others, knowing some, as shares of what these leave: `rest` is the α of what is not among the columns
    (0: there is no such thing), `whole` what the columns and the rest sum to.
    """

    alpha: Floats  # (K, p)
    rest: Floats  # (K,)
    whole: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.alpha.shape
        return K, p

    @property
    def support(self) -> Shares:
        return Shares(self.whole, bool(self.rest.any()))

    @property
    def free(self) -> int:
        return self.alpha.size + int(np.count_nonzero(self.rest))

    def scores(self) -> Scores:
        """By shares of the whole, whose density has the whole's power besides."""
        alpha = np.hstack([self.alpha, self.rest[:, None]]) if self.support.rest else self.alpha
        A = alpha.sum(axis=1)
        b = -stirling(A) - (alpha.shape[1] - 1) * np.log(self.whole)
        term = Ratios(b, alpha, alpha / A[:, None], stirling(alpha), self.support)
        return Scores((term,), Gaps(np.zeros(self.shape[0]), Marginals(self)))

    def discriminants(self) -> Scores | None:
        return None

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Gamma numbers, by their logarithms, as shares: of a small α they would round to 0."""
        alpha = np.hstack([self.alpha, self.rest[:, None]])[codes]
        with np.errstate(divide="ignore"):  # of no rest, nothing: ln 0
            logs = np.log(rng.standard_gamma(alpha + 1)) + np.log1p(-rng.random(alpha.shape)) / alpha
        u = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares = (u / u.sum(axis=1, keepdims=True))[:, : self.shape[1]]
        return np.asarray(np.maximum(shares, np.finfo(np.float64).tiny) * self.whole)

    def marginal(self, columns: Columns) -> "Dirichlets":
        others = np.setdiff1d(np.arange(self.shape[1]), columns)
        return replace(
            self, alpha=self.alpha[:, columns], rest=self.rest + self.alpha[:, others].sum(axis=1)
        )

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        columns, values, rest = given_and_rest(given, self.shape[1])
        if len(columns) == 0:
            return Conditioned(self, np.zeros(self.shape[0]))
        left = replace(self, alpha=self.alpha[:, rest], whole=self.whole - float(values.sum()))
        return Conditioned(left, log_density(self.marginal(columns), values))

    def expect(self, rest: Columns, given: Columns, X: Floats) -> Floats:
        """E[x_rest | x_given, C_k] of rows X (n, given): (K, n, rest), shares of what is left."""
        alpha = self.alpha[:, rest]
        share = alpha / (alpha.sum(axis=1) + self.rest)[:, None]
        return np.asarray((self.whole - X.sum(axis=1))[:, None] * share[:, None, :])

    def fill(self, X: Floats, P: Floats) -> Floats:
        refuse_cells(X, gaps=True)
        return Marginals(self).fill(X, P)


@dataclass(frozen=True)
class Dirichlet:
    """The most likely α: ψ(α_j) - ψ(A) = mean ln x_j, by Newton's steps (Minka 2000), of complete rows.

    `smoothing` rows are added to each class that vary as all classes do; no spread is below `floor` times
    that of all rows.
    """

    smoothing: float = 1.0
    floor: float = 1e-9

    def stats(self, K: int, p: int) -> PositiveMoments:
        return PositiveMoments.start(K, p, Shares())

    def estimate(self, stats: PositiveMoments, among: PositiveMoments | None = None) -> Dirichlets:
        mean, gap = spreads(stats, self.smoothing, self.floor, together=True, among=among)
        alpha = dirichlet_alpha(mean / mean.sum(axis=1, keepdims=True), gap)
        return Dirichlets(alpha, np.zeros(len(alpha)))
