"""Average marginal effects: by how much probabilities change with a column."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from likelier.array_types import Floats, row_weights
from likelier.data import Chunk
from likelier.display import Displayable, Part
from likelier.inference import least_squares
from likelier.inference.information import WeightsCovariance
from likelier.inference.least_squares import Covariance, kind_of_errors

CELLS = 1 << 20  # products of a block of rows


@dataclass(frozen=True)
class MarginalEffects(Displayable):
    """The result of `marginal_effects()`: the change of class probabilities with each column.

    The effect of column j on class k is the mean over rows of ∂p_k/∂x_j = p_k (w_kj - Σ_l p_l w_lj); of a
    column of zeros and ones, under `discrete=True`, that of p_k at x_j = 1 less p_k at x_j = 0. Standard
    errors are by the delta method.

    Attributes
    ----------
    names : tuple of str
        The names of the columns.
    classes : tuple
        The classes whose probabilities change: the second of two, all of more.
    effects : ndarray of shape (classes, columns)
        The effects, in probability per unit of the column.
    errors : ndarray of shape (classes, columns)
        Their standard errors.
    z : ndarray of shape (classes, columns)
        The z statistics.
    p : ndarray of shape (classes, columns)
        Their two-sided p-values.
    low : ndarray of shape (classes, columns)
        The lower ends of the confidence intervals.
    high : ndarray of shape (classes, columns)
        The upper ends of the confidence intervals.
    level : float
        The confidence level of the intervals.
    at : {"overall", "mean"}
        Whether effects are averages over rows or those of one row, their mean.
    n : float
        The number of rows, or their total weight.
    cov : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}
        The estimator of the covariance of the coefficients.
    clusters : int
        The number of clusters, with `cov="cluster"`.
    penalised : bool
        Whether the fit has a penalty: errors are then posterior standard deviations, without tests.
    """

    names: tuple[str, ...]
    classes: tuple[Any, ...]
    effects: Floats
    errors: Floats
    z: Floats
    p: Floats
    low: Floats
    high: Floats
    level: float
    at: str
    n: float
    cov: Covariance
    clusters: int = 0
    penalised: bool = False

    @property
    def _rows(self) -> tuple[str, ...]:
        if len(self.classes) == 1:
            return self.names
        return tuple(f"{label}: {name}" for label in self.classes for name in self.names)

    @property
    def _columns(self) -> least_squares.Columns:
        ends = dict(zip(least_squares.interval(self.level), (self.low, self.high), strict=True))
        found = {"effect": self.effects, "std. error": self.errors, "z": self.z, "p": self.p, **ends}
        if self.penalised:
            found = {"effect": self.effects, "posterior sd": self.errors, **ends}
        return {heading: values.ravel() for heading, values in found.items()}

    def to_frame(self) -> Any:
        """The effects as a pandas data frame, one row for each class and column.

        Returns
        -------
        pandas.DataFrame
            Effects, standard errors, z statistics, p-values and confidence intervals.
        """
        return least_squares.frame(self._rows, self._columns)

    def _parts(self) -> list[Part]:
        rows = (
            f"average over {self.n:g} rows" if self.at == "overall" else f"at the mean of {self.n:g} rows"
        )
        of = f" of {self.classes[0]}" if len(self.classes) == 1 else ""
        kind = "approximate posterior" if self.penalised else kind_of_errors(self.cov, self.clusters)
        above = f"marginal effects on the probability{of}, {rows}; {kind}"
        return [above, least_squares.cells(self._rows, self._columns)]


class Weights(NamedTuple):
    """θ (q, p + 1) about a shift, and which classes have probabilities to change."""

    theta: Floats
    shift: Floats
    intercept: bool
    unit: Floats | None  # (p,), by which columns are divided

    @property
    def of_classes(self) -> Floats:
        """(K, p + 1): of two classes the first has 0."""
        return np.vstack([np.zeros_like(self.theta), self.theta]) if len(self.theta) == 1 else self.theta

    @property
    def first(self) -> int:
        """The first class of interest, which is also the first whose weights are free."""
        return int(len(self.theta) == 1)


class Sums(NamedTuple):
    """Sums over rows: effects (k, p), their slopes in θ (k, p, m), and the weight of the rows."""

    effects: Floats
    slopes: Floats
    n: float

    def plus(self, other: "Sums") -> "Sums":
        return Sums(self.effects + other.effects, self.slopes + other.slopes, self.n + other.n)


def effect_sums(weights: Weights, chunk: Chunk, discrete: NDArray[np.bool_]) -> Sums:
    """Of some rows; `discrete` (p,): which columns change from 0 to 1."""
    theta, first = weights.of_classes, weights.first
    K, P = theta.shape
    k = K - first
    effects, slopes, n = np.zeros((k, P - 1)), np.zeros((k, P - 1, k, P)), 0.0
    step = max(1, CELLS // (k * k * P))
    for start in range(0, chunk.X.shape[0], step):
        rows = chunk.take(slice(start, start + step))
        unit = 1.0 if weights.unit is None else weights.unit
        X = np.column_stack([rows.X.to_array() / unit - weights.shift, np.ones(rows.X.shape[0])])
        offset = _offsets(rows.offset, K)
        w = row_weights(rows.w, len(X))
        n += float(w.sum())
        for j in range(P - 1):
            work = _stepped if discrete[j] else _differentiated
            E, J = work(weights, X, offset, w, j)
            effects[:, j] += E
            slopes[:, j] += J
    if not weights.intercept:
        slopes[..., -1] = 0.0
    return Sums(effects, slopes.reshape(k, P - 1, -1), n)


def _offsets(offset: Floats | None, K: int) -> Floats | float:
    """To be added to the scores of all classes."""
    if offset is None:
        return 0.0
    return np.column_stack([np.zeros(len(offset)), offset]) if K == 2 else offset


def _probabilities(Z: Floats) -> Floats:
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def _differentiated(
    weights: Weights, X: Floats, offset: Floats | float, w: Floats, j: int
) -> tuple[Floats, Floats]:
    """Σ w ∂p_c/∂x_j (k,), and its slopes in θ (k, k, p + 1).

    With d = θ_cj - Σ p θ_j the effect of class c is p_c d_c; p_c moves with z_l by p_c (δ - p_l).
    """
    theta, first = weights.of_classes, weights.first
    P = _probabilities(X @ theta.T + offset)
    D = theta[:, j] - (P @ theta[:, j])[:, None]  # (n, K)
    E = w @ (P * D)
    K, eye = len(theta), np.eye(len(theta))
    slopes = np.empty((K, K, theta.shape[1]))
    for c in range(first, K):
        moved = P[:, [c]] * (eye[c] - P)  # (n, K), ∂p_c/∂z
        by_score = moved * D[:, [c]] - P[:, [c]] * P * D
        slopes[c] = (by_score * w[:, None]).T @ X
        slopes[c, :, j] += w @ moved
    return E[first:], slopes[first:, first:]


def _stepped(
    weights: Weights, X: Floats, offset: Floats | float, w: Floats, j: int
) -> tuple[Floats, Floats]:
    """Σ w (p_c at x_j = 1 less p_c at x_j = 0), and its slopes in θ."""
    theta, first = weights.of_classes, weights.first
    K, eye = len(theta), np.eye(len(theta))
    E, slopes = np.zeros(K), np.zeros((K, K, theta.shape[1]))
    unit = 1.0 if weights.unit is None else float(weights.unit[j])
    for value, sign in ((1.0, 1.0), (0.0, -1.0)):
        there = X.copy()
        there[:, j] = value / unit - weights.shift[j]
        P = _probabilities(there @ theta.T + offset)
        E += sign * (w @ P)
        for c in range(first, K):
            slopes[c] += sign * (P[:, [c]] * (eye[c] - P) * w[:, None]).T @ there
    return E[first:], slopes[first:, first:]


def total_effects(weights: Weights, rows: Iterator[Chunk], discrete: NDArray[np.bool_]) -> Sums:
    """Over all rows."""
    found: Sums | None = None
    for chunk in rows:
        new = effect_sums(weights, chunk, discrete)
        found = new if found is None else found.plus(new)
    assert found is not None
    return found


def marginal_effects(
    weights: Weights,
    sums: Sums,
    covariance: WeightsCovariance,
    discrete: NDArray[np.bool_],
    *,
    names: tuple[str, ...],
    classes: tuple[Any, ...],
    cov: Covariance,
    level: float,
    at: str,
    penalised: bool,
    n: float,
) -> MarginalEffects:
    """Means of the sums, with errors by the delta method; NaN where the rows of the fit leave them open."""
    unit = np.ones(len(names)) if weights.unit is None else weights.unit
    per = np.where(discrete, 1.0, unit)
    C = (sums.slopes / sums.n).reshape(-1, sums.slopes.shape[-1])
    V, away, _ = covariance.of(C)
    open_ = np.linalg.norm(away, axis=1) > 1e-6
    errors = np.where(open_, np.nan, np.sqrt(np.maximum(np.diagonal(V), 0.0)))
    effects, errors = sums.effects / sums.n / per, errors.reshape(sums.effects.shape) / per
    with np.errstate(divide="ignore", invalid="ignore"):
        z = effects / errors * (np.nan if penalised else 1.0)
    half = ndtri((1 + level) / 2) * errors
    return MarginalEffects(
        names=names,
        classes=classes,
        effects=effects,
        errors=errors,
        z=z,
        p=2 * ndtr(-np.abs(z)),
        low=effects - half,
        high=effects + half,
        level=level,
        at=at,
        n=n,
        cov=cov,
        clusters=covariance.groups,
        penalised=penalised,
    )
