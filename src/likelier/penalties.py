"""Penalties on weights: Σ_j ½ l2_j θ_j² + l1_j |θ_j|, on the scale of the mean loss."""

from dataclasses import dataclass

import numpy as np

from likelier.array_types import Floats

LEAST = 1e-280  # of a penalty, that its sums with others stay numbers


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
class Penalty:
    """Ridge (Hoerl & Kennard 1970), lasso (Tibshirani 1996), or both: the elastic net (Zou & Hastie 2005).

    A weight for each entry of θ, flat; 0 for the intercepts.
    """

    l2: Floats  # (m,)
    l1: Floats  # (m,)

    @classmethod
    def of(cls, q: int, p: int, l2: float, l1: float, columns: Floats | None = None) -> "Penalty":
        """Over q rows of p weights and an intercept; `columns` (p,): how much of it each column bears."""
        each = np.append(np.ones(p) if columns is None else columns, 0.0)
        every = np.tile(each, q)
        return cls(l2 * every, l1 * every)

    def scaled(self, unit: Floats | None) -> "Penalty":
        """The same of weights of columns divided by `unit` (p,); what there is of it stays more than 0."""
        if unit is None:
            return self
        each = np.tile(np.append(unit, 1.0), len(self.l2) // (len(unit) + 1))
        with np.errstate(over="ignore", under="ignore"):
            l2, l1 = self.l2 / each / each, self.l1 / each
        return Penalty(
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
        return float(self.l2 @ theta**2 / 2)

    def prox(self, v: Floats, step: Floats | float) -> Floats:
        """argmin over θ of |θ - v|²/2 + step · penalty(θ): shrunk towards 0, and set to it when small."""
        shrunk = np.maximum(np.abs(v) - step * self.l1, 0.0) / (1 + step * self.l2)
        return np.asarray(np.sign(v) * shrunk)

    def residual(self, theta: Floats, gradient: Floats) -> Floats:
        """The least subgradient of f + l1|θ|, from that of f: 0 at an optimum."""
        at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0.0)
        return np.where(theta != 0, gradient + self.l1 * np.sign(theta), at_zero)
