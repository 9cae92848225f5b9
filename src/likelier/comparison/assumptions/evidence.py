"""All that was found out about the columns of a table."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.comparison.assumptions.columns import Dispersion, Pairs, Shapes
from likelier.comparison.assumptions.covariances import Joint, Spread
from likelier.comparison.assumptions.linearity import Bends, Residuals


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Figures; a string in their place says why there are none. Of a target of numbers there are residuals
    alone, of classes all the rest.
    """

    names: tuple[str, ...]  # of columns of numbers
    categories: tuple[str, ...]
    texts: tuple[str, ...]
    groups: tuple[str, ...]  # classes
    sizes: NDArray[np.int64]  # (K,) rows of each class that were looked at
    shapes: Shapes | None = field(default=None, repr=False)
    joint: tuple[Joint, ...] = field(default=(), repr=False)
    pairs: Pairs | None = field(default=None, repr=False)
    spread: Spread | str = ""
    bends: Bends | str = ""
    poisson: Dispersion | None = field(default=None, repr=False)
    multinomial: Dispersion | None = field(default=None, repr=False)
    residuals: Residuals | str = ""
    notes: tuple[str, ...] = ()  # what was left out

    def table(self) -> list[dict[str, Any]]:
        """A record for each class and column of numbers."""
        if self.shapes is None:
            return []
        s = self.shapes
        return [
            {
                "column": name,
                "class": group,
                "n": int(s.n[k, j]),
                "mean": float(s.mean[k, j]),
                "deviation": float(s.deviation[k, j]),
                "skewness": float(s.skewness[k, j]),
                "kurtosis": float(s.kurtosis[k, j]),
                "distance": float(s.distance[k, j]),
                "p": float(s.p[k, j]),
                "gaussian": bool(s.checked[k, j] and not s.departs[k, j]),
            }
            for j, name in enumerate(self.names)
            for k, group in enumerate(self.groups)
        ]
