"""Penalties on weights, beside the mean loss: a smooth part, ½ Σ l2 θ², and one with corners."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from likelier.array_types import Floats

LEAST = 1e-280  # of a penalty, that its sums with others stay numbers


class Penalty(Protocol):
    """What weights cost beside the mean loss: ½ Σ l2 θ², which objectives add, and what has corners.

    Whoever writes one says how its corners are stepped around: the `spectral` solver takes any. θ is flat.
    """

    @property
    def l2(self) -> Floats:
        """(m,), of the part that bends; 0 for the intercepts."""

    @property
    def l1(self) -> Floats:
        """(m,), of |θ| for each entry; 0 where its corners are others."""

    @property
    def smooth(self) -> bool:
        """Whether it has no corners."""

    @property
    def by_entry(self) -> bool:
        """Whether its corners are those of |θ|, entry by entry: some solvers are for these alone."""

    def scaled(self, unit: Floats | None) -> "Penalty":
        """The same of weights of columns divided by `unit` (p,)."""

    def quadratic(self, theta: Floats) -> float:
        """The part that bends."""

    def value(self, theta: Floats) -> float:
        """All of it."""

    def shared(self, scale: Floats) -> Floats:
        """Curvatures (m,), no smaller than these, that `corner_prox` can take: it may want some alike."""

    def corner_prox(self, v: Floats, scale: Floats) -> Floats:
        """argmin over θ of Σ ½ scale (θ - v)² + the part with corners."""

    def residual(self, theta: Floats, gradient: Floats) -> Floats:
        """The least subgradient, from the gradient of all that has one: 0 at an optimum."""


def elastic_net(
    q: int, p: int, n: float, *, C: float, ratio: float, columns: Floats | None = None
) -> "ElasticNet":
    """The penalty of scikit-learn's C beside the mean loss of rows that weigh n; `ratio` of it is l1."""
    return ElasticNet.of(q, p, *shares(C, n, ratio), columns)


def shares(C: float, n: float, ratio: float) -> tuple[float, float]:
    """1/(C n), which the penalty is beside the mean loss of n rows: its part l2, and l1 (`ratio` of it)."""
    total = C * n
    if total < np.finfo(np.float64).tiny:
        raise ValueError(
            f"C={C:g} times the sum of the sample weights, {n:g}, is too small a number for float64: "
            "multiply the weights, or C."
        )
    return (1 - ratio) / total, ratio / total


@dataclass(frozen=True)
class ElasticNet:
    """Σ ½ l2 θ² + l1 |θ|: ridge (Hoerl & Kennard 1970), lasso (Tibshirani 1996), both (Zou & Hastie 2005).

    A weight for each entry of θ, flat; 0 for the intercepts.
    """

    l2: Floats  # (m,)
    l1: Floats  # (m,)
    by_entry: ClassVar[bool] = True

    @classmethod
    def of(cls, q: int, p: int, l2: float, l1: float, columns: Floats | None = None) -> "ElasticNet":
        """Over q rows of p weights and an intercept; `columns` (p,): how much of it each column bears."""
        each = np.append(np.ones(p) if columns is None else columns, 0.0)
        every = np.tile(each, q)
        return cls(l2 * every, l1 * every)

    def scaled(self, unit: Floats | None) -> "ElasticNet":
        """The same of weights of columns divided by `unit` (p,); what there is of it stays more than 0."""
        if unit is None:
            return self
        each = np.tile(np.append(unit, 1.0), len(self.l2) // (len(unit) + 1))
        with np.errstate(over="ignore", under="ignore"):
            l2, l1 = self.l2 / each / each, self.l1 / each
        return ElasticNet(
            *(
                np.where(old > 0, np.clip(new, LEAST, 1 / LEAST), 0.0)
                for old, new in ((self.l2, l2), (self.l1, l1))
            )
        )

    @property
    def smooth(self) -> bool:
        """No |θ| in it."""
        return not self.l1.any()

    def value(self, theta: Floats) -> float:
        return self.quadratic(theta) + float(self.l1 @ np.abs(theta))

    def quadratic(self, theta: Floats) -> float:
        """The part that bends."""
        with np.errstate(over="ignore"):  # infinite: a step this long is refused
            return float(self.l2 @ theta**2 / 2)

    def shared(self, scale: Floats) -> Floats:
        return scale

    def corner_prox(self, v: Floats, scale: Floats) -> Floats:
        """Soft thresholds: shrunk towards 0, and set to it when small."""
        return np.asarray(np.sign(v) * np.maximum(np.abs(v) - self.l1 / scale, 0.0))

    def residual(self, theta: Floats, gradient: Floats) -> Floats:
        """The least subgradient of f + l1|θ|, from that of f: 0 at an optimum."""
        at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0.0)
        return np.where(theta != 0, gradient + self.l1 * np.sign(theta), at_zero)
