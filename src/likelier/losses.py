"""Losses ℓ(z, y): what it costs to score z where the label is y. Pointwise in the scores.

For two classes there is one score z, and a loss is a function of the margin m = t z, where t = 1 for
the positive class and -1 for the other. For K classes there are K scores.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from likelier.array_types import Floats


class Loss(Protocol):
    """A loss, with its derivatives by the scores."""

    name: ClassVar[str]  # the one that scikit-learn has, for batch solvers, steps and streams alike
    number: ClassVar[int]  # by which the kernels know it
    bound: ClassVar[float]  # the bend is nowhere above it; inf: there is none
    smooth: ClassVar[bool]  # has a slope everywhere
    curved: ClassVar[bool]  # has a bend that Newton's method can use
    by_class: ClassVar[bool]  # has a score for each class; else one, of two classes

    def value(self, Z: Floats, y: NDArray[Any]) -> Floats:
        """(n,), of scores (n, q) and codes (n,)."""

    def gradient(self, Z: Floats, y: NDArray[Any]) -> Floats:
        """By each score, (n, q)."""

    def curvature(self, Z: Floats, y: NDArray[Any]) -> Floats:
        """By each pair of scores, (n, q, q)."""


@dataclass(frozen=True)
class Margin:
    """Two classes and one score: a subclass says what a margin costs. The positive code is 1."""

    name: ClassVar[str]
    number: ClassVar[int]
    bound: ClassVar[float] = np.inf
    smooth: ClassVar[bool] = True
    curved: ClassVar[bool] = True
    by_class: ClassVar[bool] = False

    def value(self, Z: Floats, y: NDArray[Any]) -> Floats:
        return self.cost(_signs(y) * Z[:, 0])

    def gradient(self, Z: Floats, y: NDArray[Any]) -> Floats:
        t = _signs(y)
        return np.asarray((t * self.cost_gradient(t * Z[:, 0]))[:, None])

    def curvature(self, Z: Floats, y: NDArray[Any]) -> Floats:
        return self.cost_curvature(_signs(y) * Z[:, 0])[:, None, None]

    def cost(self, m: Floats) -> Floats:
        raise NotImplementedError

    def cost_gradient(self, m: Floats) -> Floats:
        raise NotImplementedError

    def cost_curvature(self, m: Floats) -> Floats:
        raise NotImplementedError


def _signs(y: NDArray[Any]) -> Floats:
    return np.where(y == 1, 1.0, -1.0)


class Logistic(Margin):
    """ln(1 + e^-m): minus the log of Pr(y | x) = 1 / (1 + e^-m) (Berkson 1944)."""

    name, number, bound = "log_loss", 0, 0.25

    def cost(self, m: Floats) -> Floats:
        return np.asarray(np.logaddexp(0.0, -m))

    def cost_gradient(self, m: Floats) -> Floats:
        return np.asarray(-expit(-m))  # minus the doubt Pr(-y | x)

    def cost_curvature(self, m: Floats) -> Floats:
        return np.asarray(expit(m) * expit(-m))


class Softmax:
    """ln Σ_k e^{z_k} - z_y: minus the log of Pr(y | x) = e^{z_y} / Σ e^z."""

    name: ClassVar[str] = "softmax"
    number: ClassVar[int] = 1
    bound: ClassVar[float] = 0.5  # (Böhning 1992), where the scores' sum is fixed
    smooth: ClassVar[bool] = True
    curved: ClassVar[bool] = True
    by_class: ClassVar[bool] = True

    def value(self, Z: Floats, y: NDArray[Any]) -> Floats:
        return np.asarray(logsumexp(Z, axis=1) - Z[np.arange(len(y)), y])

    def gradient(self, Z: Floats, y: NDArray[Any]) -> Floats:
        P = softmax(Z, axis=1)
        P[np.arange(len(y)), y] -= 1
        return np.asarray(P)

    def curvature(self, Z: Floats, y: NDArray[Any]) -> Floats:
        P = softmax(Z, axis=1)
        return np.asarray(P[:, :, None] * np.eye(Z.shape[1]) - P[:, :, None] * P[:, None, :])


class Hinge(Margin):
    """(1 - m)₊ (Cortes & Vapnik 1995). At the corner, of all slopes: -1."""

    name, number, smooth, curved = "hinge", 2, False, False

    def cost(self, m: Floats) -> Floats:
        return np.asarray(np.maximum(1 - m, 0.0))

    def cost_gradient(self, m: Floats) -> Floats:
        return np.where(m <= 1, -1.0, 0.0)

    def cost_curvature(self, m: Floats) -> Floats:
        return np.zeros_like(m)


class SquaredHinge(Margin):
    """(1 - m)₊²: smooth, and its bend is 2 within the margin and 0 beyond."""

    name, number, bound = "squared_hinge", 3, 2.0

    def cost(self, m: Floats) -> Floats:
        return np.asarray(np.maximum(1 - m, 0.0) ** 2)

    def cost_gradient(self, m: Floats) -> Floats:
        return np.asarray(-2 * np.maximum(1 - m, 0.0))

    def cost_curvature(self, m: Floats) -> Floats:
        return np.where(m < 1, 2.0, 0.0)


class Criterion(Margin):
    """(-m)₊, the perceptron criterion (Rosenblatt 1958). A row on the boundary counts as a mistake."""

    name, number, smooth, curved = "perceptron", 4, False, False

    def cost(self, m: Floats) -> Floats:
        return np.asarray(np.maximum(-m, 0.0))

    def cost_gradient(self, m: Floats) -> Floats:
        return np.where(m <= 0, -1.0, 0.0)

    def cost_curvature(self, m: Floats) -> Floats:
        return np.zeros_like(m)


class Squared(Margin):
    """½ (1 - m)² = ½ (z - t)²: least squares to the labels ±1."""

    name, number, bound = "squared_error", 5, 1.0

    def cost(self, m: Floats) -> Floats:
        return np.asarray((1 - m) ** 2 / 2)

    def cost_gradient(self, m: Floats) -> Floats:
        return np.asarray(m - 1)

    def cost_curvature(self, m: Floats) -> Floats:
        return np.ones_like(m)


class Mistakes(Margin):
    """1[m <= 0]: to count them. It has no slope to follow."""

    name, number, smooth, curved = "mistakes", 6, False, False

    def cost(self, m: Floats) -> Floats:
        return np.where(m <= 0, 1.0, 0.0)


class SmoothHinge(Margin):
    """The hinge with its corner rounded: ½ (1 - m)² for m from 0 to 1 (Rennie & Srebro 2005)."""

    name, number, bound = "smooth_hinge", 7, 1.0

    def cost(self, m: Floats) -> Floats:
        u = np.maximum(1 - m, 0.0)
        return np.where(u < 1, u**2 / 2, u - 0.5)

    def cost_gradient(self, m: Floats) -> Floats:
        return np.asarray(-np.clip(1 - m, 0.0, 1.0))

    def cost_curvature(self, m: Floats) -> Floats:
        return np.where((m >= 0) & (m < 1), 1.0, 0.0)


logistic, softmaxed, hinge, squared_hinge = Logistic(), Softmax(), Hinge(), SquaredHinge()
criterion, squared, mistakes, smooth_hinge = Criterion(), Squared(), Mistakes(), SmoothHinge()

# A new loss joins here.
LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (logistic, softmaxed, hinge, squared_hinge, criterion, squared, smooth_hinge)
}
