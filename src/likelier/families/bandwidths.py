"""How wide the kernels of a density are."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from likelier.data.units import Units
from likelier.states import ColumnMoments

Floats = NDArray[np.float64]
NAMES = ("scott", "silverman", "cv")
WIDEST = 1e6  # deviations: kernels as wide as this do not tell rows apart


def scott(n: Floats, p: int) -> Floats:
    """n^(-1/(p+4)) (Scott 1992)."""
    return np.asarray(np.maximum(n, 1.0) ** (-1 / (p + 4)))


def silverman(n: Floats, p: int) -> Floats:
    """(n (p+2)/4)^(-1/(p+4)) (Silverman 1986)."""
    return scott(np.maximum(n, 1.0) * (p + 2) / 4, p)


class Spread(NamedTuple):
    """The deviation of each column, by class; where a class has none, that of all rows."""

    sd: Floats  # (K, p), above 0
    borrowed: NDArray[np.bool_]  # (K, p): the class's own rows do not vary
    constant: NDArray[np.bool_]  # (p,): nor do all rows: 1 stands for the deviation

    @classmethod
    def of(cls, moments: ColumnMoments, units: Units) -> "Spread":
        """Of columns that are counted in these units."""
        total, _, S = moments.pooled()
        pooled = np.sqrt(np.divide(S, total, out=np.zeros_like(S), where=total > 0))
        own = np.divide(moments.S, moments.seen, out=np.zeros_like(moments.S), where=moments.seen > 0)
        sd = np.sqrt(own)
        borrowed, constant = sd == 0, pooled == 0
        sd = np.ldexp(np.where(borrowed, pooled, sd), units)
        return cls(np.where(constant, 1.0, sd), borrowed, constant)

    def times(self, factor: Floats) -> Floats:
        """Bandwidths (K, p) from a factor of each class; a constant column has the same for all classes."""
        return np.where(self.constant, 1.0, factor[:, None] * self.sd)


def resolution(X: Floats, sd: Floats) -> float:
    """The smallest step between different values of a column, in its deviations; the least of all.

    Values that are the same but for rounding are not different.
    """
    least = np.inf
    for x, s in zip(X.T, sd, strict=True):
        known = np.sort(x[~np.isnan(x)])
        steps = np.diff(known)
        steps = steps[steps > 1e-9 * (known[-1] - known[0])] if len(known) else steps
        if len(steps):
            least = min(least, float(steps.min()) / s)
    return least


def likeliest(loss: Callable[[float], float], start: float, least: float) -> float:
    """The factor, from `least` on, at which a loss is least: by doublings of `start`, then bracketed.

    Further doublings are tried for as long as the largest factor is the best one.
    """
    low = max(least, start / 256) if np.isfinite(least) else start / 256
    grid = np.unique(np.clip(start * 2.0 ** np.arange(-8, 4), low, None))
    losses = [loss(t) for t in grid]
    while np.argmin(losses) == len(grid) - 1 and grid[-1] < WIDEST:
        grid = np.append(grid, 2 * grid[-1])
        losses.append(loss(grid[-1]))
    best = int(np.argmin(losses))
    around = grid[[max(best - 1, 0), min(best + 1, len(grid) - 1)]]
    found = minimize_scalar(
        lambda u: loss(float(np.exp(u))), bounds=np.log(around), method="bounded", options={"xatol": 1e-3}
    )
    return float(np.exp(found.x)) if found.fun < losses[best] else float(grid[best])
