"""The linear scores of Gaussian classes that share a covariance, and the axes that separate them best.

scikit-learn has three ways to them, which agree where Σ has full rank. They differ in where the weights
have their origin, in how the axes are scaled, and in what becomes of a Σ that has not.
"""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from scipy import linalg

from likelier.array_types import Floats
from likelier.data import Chunk, Dense
from likelier.families.gaussian import OneCovariance
from likelier.families.missing import by_pattern, share_out
from likelier.scores import Affine, Scores, TermWithConstant


@dataclass(frozen=True)
class Discriminants:
    """a_k(x) = W_k (x - c) + b_k, with W_k = Σ⁻¹(m_k - c) and b_k = -½ (m_k - c)ᵀΣ⁻¹(m_k - c).

    Centred scores keep their digits however far the data are from 0. What scikit-learn shows is W + w₀,
    where w₀ = Σ⁻¹c, or 0 (svd): it adds to every class the same.
    """

    centre: Floats  # (p,)
    W: Floats  # (K, p)
    b: Floats  # (K,)
    origin: Floats  # (p,), w₀
    scalings: Floats | None = None  # (p, r), the axes
    explained: Floats | None = None  # (r,), their shares of the variance between the classes

    def scores(self) -> Scores:
        """Enough for a posterior."""
        return Scores((Affine(self.b, self.W, self.centre),))

    def shown(self) -> Scores:
        """The scores as scikit-learn has them: X coefᵀ + intercept."""
        lifted = self.b + 0.5 * self.centre @ self.origin
        return Scores((Affine(lifted, self.coef, self.centre),))

    @property
    def coef(self) -> Floats:
        return np.ascontiguousarray(self.W + self.origin)

    @property
    def intercept(self) -> Floats:
        return np.asarray(self.b + 0.5 * self.centre @ self.origin - self.coef @ self.centre)


def parts_about(params: OneCovariance, lines: Discriminants, X: Floats) -> Floats:
    """ln p(x | C_k) as a sum over the columns that are there, linear in x but for what classes share."""
    out, c = np.zeros((len(X), *params.shape)), lines.centre
    for rows, here, gone in by_pattern(X):
        A = params.whitening_of(here)
        d, e = X[np.ix_(rows, here)] - c[here], (params.mean - c)[:, here]
        W = e @ A.T @ A if len(gone) else lines.W
        shared = -0.5 * d * (d @ A.T @ A)
        out[np.ix_(rows, np.arange(len(W)), here)] = W * (d[:, None, :] - 0.5 * e) + shared[:, None, :]
    Z = np.empty(out.shape[:2])
    params.scores().write(Chunk(Dense(X)), Z)
    share_out(out, Z, X)
    return out


def _fixed(axes: Floats) -> Floats:
    """Axes with the sign that makes their largest loading positive: the same on every machine."""
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0, keepdims=True), axis=0)
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0))


def by_svd(params: OneCovariance, prior: Floats, tol: float) -> Discriminants:
    """Whiten, then take the axes of the whitened means. A direction without variance is left out.

    tol: axes along which the means are closer than this share of the longest are left out as well.
    """
    centre = prior @ params.mean
    D = params.whitened(params.mean - centre)  # (K, r)
    between = np.sqrt(prior)[:, None] * D
    _, S, Vt = np.linalg.svd(between, full_matrices=False)
    rank = int((S > tol * S[:1].sum()).sum())
    scalings = _fixed(np.ascontiguousarray(params.directions(Vt[:rank]).T))
    total = (S**2).sum()
    if tol > 0:
        D = D @ Vt[:rank].T @ Vt[:rank]
    return Discriminants(
        centre=centre,
        W=np.ascontiguousarray(params.directions(D)),
        b=-0.5 * (D**2).sum(axis=1),
        origin=np.zeros_like(centre),
        scalings=scalings,
        explained=S**2 / (total if total > 0 else 1.0),
    )


def by_least_squares(params: OneCovariance) -> Discriminants:
    """Solve Σ W = m, over the directions in which Σ has variance. No axes."""
    centre = _middle(params)
    D = params.mean - centre
    A = params.whitening
    W = np.ascontiguousarray(D @ A.T @ A)
    return Discriminants(centre, W, -0.5 * (D * W).sum(axis=1), centre @ A.T @ A)


def _middle(params: OneCovariance) -> Floats:
    """A point among the class means; the median, so that one class far away does not move it far."""
    return np.asarray(np.median(params.mean, axis=0))


def by_eigen(params: OneCovariance, prior: Floats, between: Floats | None) -> Discriminants:
    """The axes that maximise the variance between the classes over that within (Fisher 1936).

    If Σ is singular there is no largest such ratio: directions without variance are left out first.
    """
    centre = _middle(params)
    D = params.mean - centre
    if between is None:
        spread = params.mean - prior @ params.mean
        between = (prior[:, None] * spread).T @ spread
    try:
        values, axes = linalg.eigh(between, params.cov)
    except linalg.LinAlgError:
        return by_svd(params, prior, params.tol)
    falling = np.argsort(values)[::-1]
    axes = _fixed(axes[:, falling])
    total = values.sum()
    W = np.ascontiguousarray(D @ axes @ axes.T)
    return Discriminants(
        centre=centre,
        W=W,
        b=-0.5 * (D * W).sum(axis=1),
        origin=centre @ axes @ axes.T,
        scalings=axes,
        explained=np.sort(values / (total if total != 0 else 1.0))[::-1],  # a shrunk total may be < 0
    )


# Models whose linear scores are known, and whose covariance is not.

NO_COVARIANCE = (
    "this needs the covariance of the classes, and the model has none: scikit-learn's "
    "LinearDiscriminantAnalysis(solver='svd') keeps it only with store_covariance=True. Fit it so, or with "
    "solver='lsqr'."
)


@dataclass(frozen=True)
class NoDensity(TermWithConstant):
    """In place of ln p(x | C_k), where it is not known."""

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        raise ValueError(NO_COVARIANCE)


@dataclass(frozen=True)
class LinearOnly(OneCovariance):
    """Class means alone: enough where discriminants are known, and complete rows are asked about."""

    def _unknown(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(NO_COVARIANCE)

    cov = property(_unknown)
    variances = property(_unknown)
    _factors = property(_unknown)
    _law = property(_unknown)
    whitening_of = expect = marginal = _rest = parts = _unknown

    def scores(self) -> Scores:
        term = NoDensity(np.zeros(self.shape[0]))
        return Scores((term,), term)
