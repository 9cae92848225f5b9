"""Arithmetic on covariance matrices: factors, conditioning, shrinkage."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from likelier.array_types import Floats
from likelier.threads import one_thread_if

SMALL = 1.5e9  # operations: for fewer a second thread of BLAS gains nothing, or costs time
TINY = 16  # columns, up to which BLAS wakes none
WELL_ENOUGH = 1e-4  # reciprocal condition of products of rows up to which ten digits and more are left
PART = 128  # columns of many that are looked at first


Work = TypeVar("Work", bound=Callable[..., Any])


def on_one_thread(work: Work) -> Work:
    """A function of a matrix (p, p), or of a stack of them, that leaves BLAS one thread if they are small.

    On two threads factors of up to 1000 columns take no less time, and where another program has one of
    two cores those of 300 take up to a hundred times as long: each step waits for the thread without one.
    """

    @wraps(work)
    def alone(cov: Floats, *args: Any, **kwargs: Any) -> Any:
        p = cov.shape[-1]
        with one_thread_if(p > TINY and p**3 < SMALL):
            return work(cov, *args, **kwargs)

    return cast(Work, alone)


class Factors(NamedTuple):
    """Σ = F Fᵀ and A Σ Aᵀ = I, over the r directions that have variance."""

    A: Floats  # (r, p)
    F: Floats  # (p, r)
    log_det: float  # ln|Σ| over those directions


def deviations(cov: Floats) -> Floats:
    """Standard deviations of the columns, 1 for a constant one: what to divide by."""
    sd = np.sqrt(np.diagonal(cov, axis1=-2, axis2=-1))
    return np.where(sd > 0, sd, 1.0)


def exceeds(cov: Floats, floor: float) -> bool:
    """Whether every eigenvalue is above `floor`: a Cholesky factor of the rest exists just then.

    That of a part is no smaller (Cauchy's interlacing): of far fewer rows than columns a part shows enough.
    """
    p = len(cov)
    if p > 4 * PART and not all(exceeds(cov[:q, :q], floor) for q in (PART, p // 4)):
        return False
    rest = cov.copy()
    rest.flat[:: p + 1] -= floor
    # A matrix and its transpose are one, and LAPACK takes the transpose without another copy.
    return bool(lapack.dpotrf(rest.T, lower=1, clean=0, overwrite_a=1)[1] == 0)


def of_full_rank(cov: Floats) -> bool:
    """Whether every eigenvalue, columns standardised, is above what rounding makes."""
    sd = deviations(cov)
    return exceeds(cov / np.outer(sd, sd), 8 * len(cov) * np.finfo(float).eps)


@on_one_thread
def lifted(cov: Floats, floor: float, sd: Floats) -> Floats:
    """Σ with eigenvalues, in units of these deviations, at or below `floor` lifted to it.

    In units of the columns, or else the result would depend on these. What rounding makes is lifted too.
    """
    eps = len(cov) * np.finfo(float).eps
    values, axes = np.linalg.eigh(cov / np.outer(sd, sd))
    least = max(floor, 64 * eps * values[-1], np.finfo(float).tiny)  # factors of it keep some digits
    lift = (axes * np.maximum(values, least)) @ axes.T
    # Above rounding, in whatever order columns are eliminated.
    return np.asarray((lift + np.diag(16 * eps * np.diagonal(lift))) * np.outer(sd, sd))


def common_deviations(mean: Floats, cov: Floats) -> Floats:
    """What to measure the columns of all classes by, (p,): deviations within, or else between; or 1."""
    within = np.sqrt(np.diagonal(cov, axis1=-2, axis2=-1).mean(axis=0))
    between = np.abs(mean - mean[0]).max(axis=0)
    return np.where(within > 0, within, np.where(between > 1e-150, between, 1.0))  # its square is a number


@on_one_thread
def factors(cov: Floats, tol: float) -> Factors:
    """Factors of Σ without the directions whose deviation, columns standardised, is at most `tol`.

    Where Σ has full rank they are triangular. Where it has not, a pivoted Cholesky factor (p, r) finds
    its range first, so that rows far fewer than columns cost p r² and not p³.
    """
    sd = deviations(cov)
    C = cov / sd
    C /= sd[:, None]
    if exceeds(C, tol**2):
        L = lapack.dpotrf(C, lower=1)[0]
        A = np.ascontiguousarray(lapack.dtrtri(L, lower=1)[0] / sd)
        roots = np.diagonal(L)
        F = sd[:, None] * np.tril(L)
    else:
        L, pivots, rank, _ = lapack.dpstrf(C.T, tol=len(C) * np.finfo(float).eps, lower=1, overwrite_a=1)
        range_ = np.empty((len(C), rank))
        range_[pivots - 1] = np.tril(L[:, :rank])
        values, axes = np.linalg.eigh(range_.T @ range_)
        keep = values > tol**2
        roots = np.sqrt(values[keep])
        U = range_ @ axes[:, keep] / roots  # (p, r), orthonormal
        A = np.ascontiguousarray((U / roots).T / sd)
        F = sd[:, None] * U * roots
    return Factors(A, F, 2 * float(np.log(sd).sum() + np.log(roots).sum()))


@dataclass(frozen=True)
class RowSpan:
    """Σ = DᵀD by way of the products of its rows, D (n, p), n < p: nothing of p² cells.

    Columns standardised, D Dᵀ = LLᵀ, L (n, r) by Cholesky with pivots; of the r rows that these choose,
    U = L₁⁻¹ D₁ is orthonormal, and Σ = Uᵀ(LᵀL)U. With LᵀL = MMᵀ, A = M⁻¹U whitens.
    """

    D: Floats  # (r, p), the rows chosen, standardised
    L: Floats  # (r, r)
    M: Floats  # (r, r)
    sd: Floats  # (p,)

    @classmethod
    def of(cls, D: Floats, tol: float) -> "RowSpan | PrincipalAxes":
        """Without directions whose deviation, columns standardised, is at most `tol`.

        Where there are such, or products of rows would cost digits, by singular values.
        """
        sd = np.sqrt(np.einsum("ij,ij->j", D, D))
        sd[sd == 0] = 1.0
        Z = D / sd
        with one_thread_if(Z.size * len(Z) < SMALL):
            return cls._of(Z, max(tol**2, Z.shape[1] * np.finfo(float).eps), sd)

    @classmethod
    def _of(cls, Z: Floats, least: float, sd: Floats) -> "RowSpan | PrincipalAxes":
        G = Z @ Z.T
        L, pivots, rank, _ = lapack.dpstrf(G, tol=least / 4, lower=1)
        L = np.tril(L[:, :rank])
        M = L.T @ L
        if rank and exceeds(M, least):
            size = np.abs(M).sum(axis=0).max()
            half = lapack.dpotrf(M, lower=1)[0]
            if lapack.dpocon(half, size, uplo="L")[0] > WELL_ENOUGH:
                return cls(Z[pivots[:rank] - 1], L[:rank], half, sd)
        return PrincipalAxes.of(Z, np.sqrt(least), sd)

    @property
    def rank(self) -> int:
        return len(self.D)

    def whitened(self, D: Floats) -> Floats:
        """D Aᵀ."""
        inner = lapack.dtrtrs(self.L, self.D @ (D / self.sd).T, lower=1)[0]
        return np.asarray(lapack.dtrtrs(self.M, inner, lower=1)[0].T)

    def directions(self, C: Floats) -> Floats:
        """C A."""
        outer = lapack.dtrtrs(self.M, C.T, lower=1, trans=1)[0]
        weights = lapack.dtrtrs(self.L, outer, lower=1, trans=1)[0].T @ self.D
        weights /= self.sd
        return np.asarray(weights)

    def whitening(self) -> Floats:
        """A (r, p)."""
        return self.directions(np.eye(self.rank))

    @property
    def log_det(self) -> float:
        """ln|Σ| over the directions that count."""
        return 2 * float(np.log(self.sd).sum() + np.log(np.diagonal(self.M)).sum())


@dataclass(frozen=True)
class PrincipalAxes:
    """The same by singular values, D = V S Uᵀ: A = S⁻¹Uᵀ."""

    U: Floats  # (r, p)
    roots: Floats  # (r,)
    sd: Floats  # (p,)

    @classmethod
    def of(cls, Z: Floats, least: float, sd: Floats) -> "PrincipalAxes":
        _, roots, U = np.linalg.svd(Z, full_matrices=False)
        keep = roots > least
        return cls(np.ascontiguousarray(U[keep]), roots[keep], sd)

    @property
    def rank(self) -> int:
        return len(self.roots)

    def whitened(self, D: Floats) -> Floats:
        return np.asarray((D / self.sd) @ self.U.T / self.roots)

    def directions(self, C: Floats) -> Floats:
        return np.asarray((C / self.roots) @ self.U / self.sd)

    def whitening(self) -> Floats:
        return np.ascontiguousarray(self.U / self.roots[:, None] / self.sd)

    @property
    def log_det(self) -> float:
        return 2 * float(np.log(self.sd).sum() + np.log(self.roots).sum())


@on_one_thread
def upper_whitenings(cov: Floats) -> tuple[Floats, Floats]:
    """U_k (K, p, p), upper triangular, with |U d|² = dᵀΣ⁻¹d, and ln|Σ_k| (K,).

    Σ = LLᵀ, both ways round reversed, so that L⁻¹ comes out upper triangular. Cholesky's error does not
    depend on the scales of the columns, as that of an eigendecomposition does.
    """
    U, log_det = np.empty_like(cov), np.empty(len(cov))
    for k, S in enumerate(cov):
        L = np.linalg.cholesky(S[::-1, ::-1])
        U[k] = lapack.dtrtri(L, lower=1)[0][::-1, ::-1]
        log_det[k] = 2 * np.log(np.diagonal(L)).sum()
    return U, log_det


@on_one_thread
def regress(
    cov: Floats, rest: NDArray[np.intp], given: NDArray[np.intp], tol: float
) -> tuple[Floats, Floats]:
    """B = Σ_RG Σ_GG⁺ and Σ_RR - B Σ_GR: the mean moves by B, the covariance shrinks to the second.

    Σ_GG⁺ = AᵀA by its whitening A, which does not depend on the units of the columns.
    """
    if len(given) == 0:
        return np.zeros((len(rest), 0)), cov[np.ix_(rest, rest)]
    A = factors(cov[np.ix_(given, given)], tol).A
    half = cov[np.ix_(rest, given)] @ A.T
    return half @ A, cov[np.ix_(rest, rest)] - half @ half.T


WELL = 1e-9  # reciprocal condition, of standardised columns, from which on an inverse is to be trusted


@on_one_thread
def precision(cov: Floats, least: float = WELL) -> tuple[Floats, float] | None:
    """Σ⁻¹ and ln|Σ|; None where Σ is so nearly singular that the inverse would be rounding errors."""
    if len(cov) == 0:
        return cov, 0.0
    if not (np.diagonal(cov) > 0).all():
        return None
    sd = deviations(cov)
    C = cov / np.outer(sd, sd)
    L, info = lapack.dpotrf(C, lower=1)
    if info != 0 or (least > 0 and lapack.dpocon(L, np.abs(C).sum(axis=0).max(), uplo="L")[0] < least):
        return None
    # Not dpotri: OpenBLAS runs it on all threads however small, and on a busy machine waits for them.
    half = np.tril(lapack.dtrtri(L, lower=1)[0])
    inverse = half.T @ half
    log_det = 2 * float(np.log(np.diagonal(L)).sum() + np.log(sd).sum())
    return np.ascontiguousarray(inverse / np.outer(sd, sd)), log_det


def steady_precision(cov: Floats) -> tuple[Floats, float] | None:
    """`precision`, if need be of Σ with as small a share of its variances added as makes it one to be
    trusted: rows that are too few, or columns that depend on each other, leave Σ singular. None: Σ is no
    covariance.

    C of p standardised columns, its least eigenvalue λ: |C⁻¹|₁ ≤ √p / λ, so that the last share is enough.
    """
    if (np.diagonal(cov) < 0).any():
        return None
    sure = precision(cov)
    if sure is not None:
        return sure
    sd = deviations(cov)
    size = np.abs(cov / np.outer(sd, sd)).sum(axis=0).max()
    shares = (3 * WELL * size * root for root in (1.0, np.sqrt(len(cov))))
    lifts = (precision(cov + np.diag(share * sd**2)) for share in shares)
    return next((found for found in lifts if found is not None), None)


def shrunk(cov: Floats, strength: float) -> Floats:
    """(1 - s) Σ + s (tr Σ / p) I, for one matrix or a stack of them."""
    p = cov.shape[-1]
    level = np.trace(cov, axis1=-2, axis2=-1) / p
    return np.asarray((1 - strength) * cov + strength * level[..., None, None] * np.eye(p))
