"""Gaussian classes: independent columns, full, tied and shrunk covariances."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from likelier import scores as terms
from likelier.array_types import Floats
from likelier.data import Chunk, Dense
from likelier.families.base import (
    Columns,
    Conditioned,
    Family,
    Independent,
    Params,
    Support,
    given_and_rest,
    log_density,
)
from likelier.families.covariance import (
    Factors,
    PrincipalAxes,
    RowSpan,
    common_deviations,
    deviations,
    exceeds,
    factors,
    lifted,
    of_full_rank,
    regress,
    shrunk,
    upper_whitenings,
)
from likelier.families.missing import (
    Countable,
    Gaps,
    GaussianMarginals,
    Marginals,
    by_pattern,
    completed,
    share_out,
)
from likelier.scores import Scores
from likelier.states import ColumnMoments, Deviations, HigherMoments, PatternMoments, ShrinkageMoments
from likelier.states.moments import LEAST

# Gaussian classes with independent columns, and what all Gaussian classes share.

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Gaussian(ABC):
    """N(x; m_k, ·): means, and what follows from a subclass's covariances."""

    mean: Floats  # (K, p)

    @property
    def shape(self) -> tuple[int, int]:
        K, p = self.mean.shape
        return K, p

    @property
    def support(self) -> Support | None:
        return None

    @property
    @abstractmethod
    def free(self) -> int: ...

    def discriminants(self) -> Scores | None:
        return None

    @abstractmethod
    def scores(self) -> Scores: ...

    @abstractmethod
    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats: ...

    @abstractmethod
    def marginal(self, columns: Columns) -> Params: ...

    @abstractmethod
    def fill(self, X: Floats, P: Floats) -> Floats: ...

    @abstractmethod
    def _rest(self, rest: Columns, given: Columns, values: Floats) -> Params: ...

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        columns, values, rest = given_and_rest(given, self.shape[1])
        if len(columns) == 0:
            return Conditioned(self, np.zeros(self.shape[0]))
        seen = log_density(self.marginal(columns), values)
        return Conditioned(self._rest(rest, columns, values), seen)


@dataclass(frozen=True)
class Diagonal(Independent):
    """N(x_j; m_kj, v_kj) for every column j."""

    mean: Floats  # (K, p)
    var: Floats  # (K, p)

    @property
    def expected(self) -> Floats:
        return self.mean

    def scores(self) -> Scores:
        scale = 1 / np.sqrt(self.var)
        constant = np.log(scale) - 0.5 * LOG_2PI
        gaps = terms.DiagonalGaps(np.zeros(self.shape[0]), self.mean, scale, constant)
        return Scores((terms.Diagonal(constant.sum(axis=1), self.mean, scale),), gaps)

    def each(self, x: Floats) -> Floats:
        z = ((x - self.mean) / np.sqrt(self.var)) ** 2
        return np.asarray(-0.5 * (z + np.log(self.var) + LOG_2PI))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal((len(codes), self.shape[1]))
        return np.asarray(self.mean[codes] + np.sqrt(self.var[codes]) * noise)


@dataclass(frozen=True)
class DiagonalGaussian:
    """Means and variances by class; to each variance is added a share of the largest one of all rows.

    With r = `prior_rows`, v_k = (1 + 1/N_k) (S_k + r v) / (N_k - 1 + r): the variance of a further row of
    the class, its mean known from N_k rows, its variance from these and from r rows that vary by v, as
    all classes do about their means. Of a class of one row this is 2 v. (The predictive density under a
    conjugate prior, with a Gaussian of its spread for Student's t: Gelman et al. 2013, 3.3.)
    """

    var_smoothing: float = 1e-9
    by_column: bool = False  # a share of each column's own variance instead
    prior_rows: float = 0.0
    unit: float = 1.0  # the weight of a row

    def stats(self, K: int, p: int) -> ColumnMoments:
        return ColumnMoments.start(K, p)

    def floor(self, stats: ColumnMoments) -> float | Floats:
        """var_smoothing times the largest column variance of all rows (1 if all columns are constant)."""
        total, _, S = stats.pooled()
        return self._floor(total, S)

    def _floor(self, total: Floats, S: Floats) -> float | Floats:
        """The same from the weight and scatter of each column."""
        var = np.divide(S, total, out=np.zeros_like(S), where=total > 0)
        if self.by_column:
            return np.asarray(self.var_smoothing * np.where(var > 0, var, 1.0))
        top = float(var.max())
        return self.var_smoothing * (top if top > 0 else 1.0)

    def estimate(self, stats: ColumnMoments, among: ColumnMoments | None = None) -> Diagonal:
        """A class without a cell of a column has that of all classes: it says nothing of the class.

        among: the statistics of all classes, if `stats` are not.
        """
        among = stats if among is None else among
        total, pooled, S = among.pooled()
        spread = np.divide(S, total, out=np.ones_like(S), where=total > 0)
        seen = stats.seen > 0
        mean = np.where(seen, stats.mean, pooled)
        N = np.where(seen, stats.seen, 1.0)
        own = stats.S / N
        if self.prior_rows:
            v = within(among, spread, self.unit)
            own = predictive(stats.S, N, self.prior_rows * self.unit, v, self.unit)
        var = np.where(seen, own, spread) + self._floor(total, S)
        return Diagonal(mean, above_nothing(var, spread))  # without smoothing it may be 0


def within(stats: ColumnMoments, spread: Floats, unit: float = 1.0) -> Floats:
    """The variance within classes (p,), about their own means, with `spread`, that of all rows, for a row.

    So few rows as classes, or classes that do not vary at all, leave what is known: how all rows vary.
    """
    free = np.maximum(stats.seen - unit, 0.0).sum(axis=0)
    return np.asarray((stats.S.sum(axis=0) + unit * spread) / (free + unit))


def predictive(S: Floats, N: Floats, prior_rows: float, v: Floats, unit: float = 1.0) -> Floats:
    """The variance of a new row about the mean of rows of weight N, scatter S; v: that of `prior_rows`."""
    N = np.maximum(N, unit)
    return np.asarray((1 + unit / N) * (S + prior_rows * v) / (N - unit + prior_rows))


def above_nothing(var: Floats, spread: Floats) -> Floats:
    """Variances (K, p) above 0: at least 1e-150 of the variance (p,) of all rows in the column."""
    least = 1e-150 * np.where(spread > 0, spread, 1.0)
    return np.maximum(var, np.maximum(least, np.finfo(np.float64).tiny))


# Shrinkage whose strength the rows themselves call for.


def ledoit_wolf(stats: ShrinkageMoments) -> Floats:
    """Covariances (K, p, p), each shrunk by as much as its own rows call for, on standardised columns.

    With z the standardised rows, C = Σ zzᵀ/n and μ = tr C / p, the strength is β/δ, where
    β = (Σ_ij (Σ z_i² z_j² / n - C_ij²)) / (n p) is the variance of C, and δ = |C - μI|² / p
    (Ledoit & Wolf 2004). Where cells are missing, C is the most likely one, and incomplete rows count in
    the variance of zzᵀ as rows of a Gaussian do: Σ_ij (1 + C_ij²). Rows with nothing in them do not
    count: they say nothing of C.
    """
    rows = completed(stats)
    K, p = rows.mean.shape
    cov, told = np.zeros((K, p, p)), stats.n - stats.gaps.blank
    for k in np.flatnonzero(rows.n > 0):
        C, scale = _correlation(rows.S[k] / rows.n[k])
        mu = np.trace(C) / p
        delta = ((C - mu * np.eye(p)) ** 2).sum() / p
        n = told[k] if told[k] > 0 else rows.n[k]
        whole = stats.higher.n[k] / n
        variance = whole * _variance(stats.higher, int(k)) + (1 - whole) * (1 + C**2).sum()
        beta = min(variance / (n * p), delta)
        strength = beta / delta if beta > 0 else 0.0
        cov[k] = shrunk(C, strength) * scale
    return cov


def _correlation(cov: Floats) -> tuple[Floats, Floats]:
    """C and the scale that makes it the covariance again."""
    sd = deviations(cov)
    scale = np.outer(sd, sd)
    return cov / scale, scale


def _variance(higher: HigherMoments, k: int) -> float:
    """Σ_ij (Σ z_i² z_j² / n - C_ij²) of the complete rows of a class; 0 if there are none."""
    n = higher.n[k]
    if n == 0:
        return 0.0
    C, scale = _correlation(higher.S[k] / n)
    return float((higher.Q[k] / scale**2).sum() / n - (C**2).sum())


# Gaussian classes with a covariance: one for all classes, or one for each.

Shrinkage = float | Literal["auto"] | None


@dataclass(frozen=True)
class _CorrelatedGaussian(Gaussian):
    """Columns that know of each other: what is missing is expected, or integrated out, given the rest."""

    @abstractmethod
    def expect(self, rest: Columns, given: Columns, X: Floats) -> Floats: ...

    @abstractmethod
    def whitening_of(self, columns: Columns, k: int = 0) -> Floats:
        """A (r, c) with A Σ Aᵀ = I, Σ being the covariance of these columns in class k."""

    @property
    @abstractmethod
    def _law(self) -> Marginals:
        """Kept: so are the factors that it makes."""

    @property
    def gaps(self) -> Gaps:
        """The scores of rows with missing cells; what each pattern needs is found once, and kept here."""
        return Gaps(np.zeros(self.shape[0]), self._law)

    def fill(self, X: Floats, P: Floats) -> Floats:
        return self._law.fill(X, P)

    def parts(self, X: Floats) -> Floats:
        """What each column adds to ln p(x | C_k), (n, K, p); 0 where it is missing.

        With d = x - m_k over the columns that are there, -½ d_j (Σ⁻¹d)_j, and an equal share of the
        constant: together they are the density of these columns.
        """
        out = np.zeros((len(X), *self.shape))
        for rows, here, _ in by_pattern(X):
            for k, mean in enumerate(self.mean):
                A = self.whitening_of(here, k)
                d = X[np.ix_(rows, here)] - mean[here]
                out[rows[:, None], k, here] = -0.5 * d * (d @ A.T @ A)
        Z = np.empty(out.shape[:2])
        self.scores().write(Chunk(Dense(X)), Z)
        share_out(out, Z, X)
        return out


# ---- one covariance for all ----------------------------------------------------------------------
class OneCovariance(_CorrelatedGaussian):
    """N(x; m_k, Σ). Directions in which Σ vanishes are left out: the density is on the others."""

    cov: Floats  # (p, p)
    tol: float  # smallest standard deviation, of standardised columns, that counts

    @property
    @abstractmethod
    def variances(self) -> Floats:
        """The diagonal of Σ, (p,)."""

    @property
    @abstractmethod
    def _factors(self) -> Factors: ...

    @property
    def free(self) -> int:
        K, p = self.shape
        return K * p + p * (p + 1) // 2

    @property
    def rank(self) -> int:
        """Of Σ, the number r of directions that count."""
        return len(self._factors.A)

    @property
    def whitening(self) -> Floats:
        """A (r, p) with A Σ Aᵀ = I."""
        return self._factors.A

    def whitened(self, D: Floats) -> Floats:
        """D Aᵀ, of rows D (n, p)."""
        return np.asarray(D @ self.whitening.T)

    def directions(self, C: Floats) -> Floats:
        """C A, of rows C (n, r): weights of columns whose scores have the covariance C Cᵀ."""
        return np.asarray(C @ self.whitening)

    def scores(self) -> Scores:
        (A, _, log_det), shift = self._factors, self.mean.mean(axis=0)
        b = np.full(self.shape[0], -0.5 * (log_det + len(A) * LOG_2PI))
        return Scores((terms.Whitened(b, A, shift, (self.mean - shift) @ A.T),), self.gaps)

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        F = self._factors.F
        return np.asarray(self.mean[codes] + rng.standard_normal((len(codes), F.shape[1])) @ F.T)


@dataclass(frozen=True)
class Tied(OneCovariance):
    """Σ as a matrix."""

    cov: Floats  # (p, p)
    tol: float = 1e-7

    @property
    def variances(self) -> Floats:
        return np.diagonal(self.cov)

    @cached_property
    def _factors(self) -> Factors:
        return factors(self.cov, self.tol)

    def whitening_of(self, columns: Columns, k: int = 0) -> Floats:
        return factors(self.cov[np.ix_(columns, columns)], self.tol).A

    @cached_property
    def _law(self) -> GaussianMarginals:
        return GaussianMarginals(self, self.cov[None], self.tol)

    def expect(self, rest: Columns, given: Columns, X: Floats) -> Floats:
        gain, _ = regress(self.cov, rest, given, self.tol)
        d = X - self.mean[:, None, given]  # (K, n, given)
        return np.asarray(self.mean[:, None, rest] + d @ gain.T)

    def marginal(self, columns: Columns) -> "Tied":
        return Tied(self.mean[:, columns], self.cov[np.ix_(columns, columns)], self.tol)

    def _rest(self, rest: Columns, given: Columns, values: Floats) -> "Tied":
        gain, cov = regress(self.cov, rest, given, self.tol)
        return Tied(self.mean[:, rest] + (values - self.mean[:, given]) @ gain.T, cov, self.tol)


@dataclass(frozen=True)
class Spanned(OneCovariance):
    """Σ = DᵀD, of fewer rows D than columns: nothing of p² cells is made unless it is asked for."""

    D: Floats  # (n, p)
    tol: float = 1e-7

    @cached_property
    def cov(self) -> Floats:  # type: ignore[override]
        return np.asarray(self.D.T @ self.D)

    @property
    def variances(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->j", self.D, self.D))

    @cached_property
    def _span(self) -> RowSpan | PrincipalAxes:
        return RowSpan.of(self.D, self.tol)

    @cached_property
    def _factors(self) -> Factors:
        return Factors(self._span.whitening(), self.D.T, self._span.log_det)

    @property
    def rank(self) -> int:
        return self._span.rank

    def whitened(self, D: Floats) -> Floats:
        return self._span.whitened(D)

    def directions(self, C: Floats) -> Floats:
        return self._span.directions(C)

    def whitening_of(self, columns: Columns, k: int = 0) -> Floats:
        return self.marginal(columns).whitening

    @cached_property
    def _law(self) -> Marginals:
        return Marginals(self)

    def marginal(self, columns: Columns) -> OneCovariance:
        mean, D = self.mean[:, columns], np.ascontiguousarray(self.D[:, columns])
        return Spanned(mean, D, self.tol) if len(D) < len(columns) else Tied(mean, D.T @ D, self.tol)

    def _known(self, given: Columns) -> tuple[Floats, Floats]:
        """A of columns that are known, and D Aᵀ (n, r), orthonormal."""
        A = self.whitening_of(given)
        return A, self.D[:, given] @ A.T

    def expect(self, rest: Columns, given: Columns, X: Floats) -> Floats:
        A, Q = self._known(given)
        d = X - self.mean[:, None, given]  # (K, n, given)
        return np.asarray(self.mean[:, None, rest] + d @ A.T @ (Q.T @ self.D[:, rest]))

    def _rest(self, rest: Columns, given: Columns, values: Floats) -> "Spanned":
        A, Q = self._known(given)
        D = self.D[:, rest]
        half = Q.T @ D
        mean = self.mean[:, rest] + (values - self.mean[:, given]) @ A.T @ half
        return Spanned(mean, D - Q @ half, self.tol)


@dataclass(frozen=True)
class TiedGaussian:
    """Means by class, one covariance: Σ_k weight_k Σ_k, each Σ_k shrunk.

    weights: None stands for the classes' own shares. Ledoit-Wolf ("auto") and other weights need a
    scatter per class; all else is linear in Σ_k, and one scatter does.
    """

    shrinkage: Shrinkage = None
    weights: Floats | None = None  # (K,), sum 1
    tol: float = 1e-7
    by_class: bool = False  # keep a scatter per class in any case
    ridge: float = 0.0  # added to every variance
    rows: bool = False  # fewer rows than columns stay rows

    def stats(self, K: int, p: int) -> PatternMoments | ShrinkageMoments:
        if self.shrinkage == "auto":
            return ShrinkageMoments.start(K, p)
        if self.weights is not None or self.by_class:
            return PatternMoments.start(K, p, "full")
        return PatternMoments.start(K, p, "tied", rows=self.rows and p >= LEAST)

    def estimate(self, stats: Countable) -> OneCovariance:
        rows = completed(stats)
        if self.rows and isinstance(rows, Deviations) and rows.scatter is None:
            return Spanned(rows.mean.copy(), rows.rows() / np.sqrt(rows.n.sum()), self.tol)
        return Tied(rows.mean.copy(), self.within(stats), self.tol)

    def within(self, stats: Countable) -> Floats:
        """The covariance of rows about their class means."""
        weights = _shares(stats) if self.weights is None else self.weights
        if isinstance(stats, ShrinkageMoments):
            return np.asarray(np.tensordot(weights, ledoit_wolf(stats), axes=1))
        rows = completed(stats)
        if rows.shape == "tied":
            cov = rows.S / rows.n.sum()
        else:
            share = np.divide(weights, rows.n, out=np.zeros_like(rows.n), where=rows.n > 0)
            cov = np.tensordot(share, rows.S, axes=1)
        if self.ridge:
            cov = cov + self.ridge * np.eye(len(cov))
        return cov if self.shrinkage is None else shrunk(cov, float(self.shrinkage))

    def total(self, stats: Countable) -> Floats:
        """The covariance of all rows, classes forgotten, shrunk in the same way."""
        if isinstance(stats, ShrinkageMoments):
            return np.asarray(ledoit_wolf(stats.pooled())[0])
        rows = completed(stats)
        cov = (rows.within() + rows.between()) / rows.n.sum()
        return cov if self.shrinkage is None else shrunk(cov, float(self.shrinkage))


def _shares(stats: Countable) -> Floats:
    """The classes' shares (K,) of the rows that have anything in them."""
    gaps = stats.gaps if isinstance(stats, ShrinkageMoments) else stats
    n = stats.n - gaps.blank if isinstance(gaps, PatternMoments) else stats.n
    n = n if n.any() else stats.n
    return np.asarray(n / n.sum())


# ---- a covariance each ---------------------------------------------------------------------------
@dataclass(frozen=True)
class Full(_CorrelatedGaussian):
    """N(x; m_k, Σ_k)."""

    cov: Floats  # (K, p, p), each of full rank
    deficient: tuple[int, ...] = ()  # classes whose covariance was not, and had to be lifted

    def whitening_of(self, columns: Columns, k: int = 0) -> Floats:
        return factors(self.cov[k][np.ix_(columns, columns)], 0.0).A

    @property
    def free(self) -> int:
        K, p = self.shape
        return K * (p + p * (p + 1) // 2)

    @classmethod
    def of(cls, mean: Floats, cov: Floats, floor: float = 0.0) -> Self:
        """Covariances of full rank: of those that are not, eigenvalues are lifted to `floor`.

        The floor is in units of the deviations that the columns have on average over the classes.
        """
        deficient = tuple(k for k, S in enumerate(cov) if not of_full_rank(S))
        if deficient:
            cov, sd = cov.copy(), common_deviations(mean, cov)
            for k in deficient:
                cov[k] = lifted(cov[k], floor, sd)
        return cls(mean, cov, deficient)

    @cached_property
    def spectrum(self) -> tuple[Floats, Floats]:
        """Variances (K, p), falling, along the axes (K, p, p)."""
        values, axes = np.linalg.eigh(self.cov)
        return values[:, ::-1], axes[:, :, ::-1]

    def scores(self) -> Scores:
        U, log_det = upper_whitenings(self.cov)
        b = -0.5 * (log_det + self.shape[1] * LOG_2PI)
        shift = self.mean.mean(axis=0)
        at = (U @ (self.mean - shift)[:, :, None])[:, :, 0]
        if np.abs(at).max() > 1e5:  # deviations
            return Scores((terms.CentredQuadratic(b, np.ascontiguousarray(self.mean), U),), self.gaps)
        return Scores((terms.Quadratic(b, shift, U, np.ascontiguousarray(at)),), self.gaps)

    @cached_property
    def _law(self) -> GaussianMarginals:
        return GaussianMarginals(self, self.cov)

    def expect(self, rest: Columns, given: Columns, X: Floats) -> Floats:
        gains = np.stack([regress(S, rest, given, tol=0.0)[0] for S in self.cov])
        d = X - self.mean[:, None, given]
        return np.asarray(self.mean[:, None, rest] + d @ gains.transpose(0, 2, 1))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        X = rng.standard_normal((len(codes), self.shape[1]))
        for k in np.unique(codes):
            at = codes == k
            X[at] = self.mean[k] + X[at] @ np.linalg.cholesky(self.cov[k]).T
        return X

    def marginal(self, columns: Columns) -> "Full":
        return Full.of(self.mean[:, columns], self.cov[:, columns[:, None], columns])

    def _rest(self, rest: Columns, given: Columns, values: Floats) -> "Full":
        parts = [regress(S, rest, given, tol=0.0) for S in self.cov]
        moved = [gain @ (values - m) for (gain, _), m in zip(parts, self.mean[:, given], strict=True)]
        return Full.of(self.mean[:, rest] + np.stack(moved), np.stack([S for _, S in parts]))


@dataclass(frozen=True)
class FullGaussian:
    """Means and covariances by class, shrunk, or lifted: (1 - lift) Σ + (lift + ridge) I."""

    shrinkage: Shrinkage = None
    lift: float = 0.0
    floor: float = 0.0
    ridge: float = 0.0

    def stats(self, K: int, p: int) -> PatternMoments | ShrinkageMoments:
        if self.shrinkage == "auto":
            return ShrinkageMoments.start(K, p)
        return PatternMoments.start(K, p, "full")

    def estimate(self, stats: Countable) -> Full:
        rows = completed(stats)
        if isinstance(stats, ShrinkageMoments):
            cov = ledoit_wolf(stats)
        else:
            n = np.where(rows.n > 0, rows.n, 1.0)
            cov = rows.S / n[:, None, None]
            if self.shrinkage is not None:
                cov = shrunk(cov, float(self.shrinkage))
        if self.lift or self.ridge:
            cov = (1 - self.lift) * cov + (self.lift + self.ridge) * np.eye(cov.shape[1])
        return Full.of(rows.mean.copy(), cov, self.floor)


# Gaussians of four shapes, to whose every variance a constant is added: what Gaussian mixtures are of.

CovarianceType = Literal["full", "tied", "diag", "spherical"]
SHAPES: tuple[CovarianceType, ...] = get_args(CovarianceType)


@dataclass(frozen=True)
class RidgedDiagonal:
    """N(x_j; m_kj, S_kj / n_kj + ridge); a class without a cell of a column has that of all classes."""

    ridge: float = 0.0

    def stats(self, K: int, p: int) -> ColumnMoments:
        return ColumnMoments.start(K, p)

    def estimate(self, stats: ColumnMoments, among: ColumnMoments | None = None) -> Diagonal:
        among = stats if among is None else among
        mean, var = self._moments(stats, among)
        total, _, S = among.pooled()
        spread = np.divide(S, total, out=np.ones_like(S), where=total > 0)
        return Diagonal(mean, above_nothing(var + self.ridge, spread))  # without a ridge it may be 0

    def _moments(self, stats: ColumnMoments, among: ColumnMoments) -> tuple[Floats, Floats]:
        total, pooled, S = among.pooled()
        spread = np.divide(S, total, out=np.ones_like(S), where=total > 0)
        seen = stats.seen > 0
        var = np.where(seen, stats.S / np.where(seen, stats.seen, 1.0), spread)
        return np.where(seen, stats.mean, pooled), var


@dataclass(frozen=True)
class RidgedSpherical(RidgedDiagonal):
    """N(x; m_k, v_k I), v_k = Σ_j S_kj / Σ_j n_kj + ridge: one variance for all columns of a class."""

    def _moments(self, stats: ColumnMoments, among: ColumnMoments) -> tuple[Floats, Floats]:
        mean, spread = super()._moments(stats, among)
        seen = stats.seen.sum(axis=1)
        own = np.divide(stats.S.sum(axis=1), seen, out=spread.mean(axis=1), where=seen > 0)
        return mean, np.repeat(own[:, None], mean.shape[1], axis=1)


def ridged(shape: CovarianceType, ridge: float) -> Family:
    """The family of a covariance shape."""
    family: Family
    match shape:
        case "full":
            family = FullGaussian(ridge=ridge)
        case "tied":
            family = TiedGaussian(ridge=ridge)
        case "diag":
            family = RidgedDiagonal(ridge)
        case "spherical":
            family = RidgedSpherical(ridge)
    return family


def variances_exceed(params: Any, floor: float) -> bool:
    """Whether the variance in every direction of every class is above `floor`."""
    if isinstance(params, Diagonal):
        return bool((params.var > floor).all())
    return all(exceeds(S, floor) for S in params.cov.reshape(-1, *params.cov.shape[-2:]))
