"""How likely the rows were that a model was fitted to."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST = 8192  # rows whose scores are kept


@dataclass
class Typical:
    """ln p(x) and weight of the training rows, or, of more than MOST, of those with the least keys.

    Keys are hashes of the rows' numbers, so that those kept are a sample of all, and merging keeps it one.
    `rows`: how many there were, to number the next ones from.
    """

    keys: NDArray[np.uint64]
    scores: Floats
    w: Floats
    rows: int

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.scores.nbytes + self.w.nbytes

    def merge(self, other: Self) -> None:
        held = [np.concatenate(pair) for pair in zip(self._held, other._held, strict=True)]
        # By all that is known of a row: which ones stay must not depend on who merges with whom.
        order = np.lexsort((held[2], held[1], held[0]))[:MOST]
        self.keys, self.scores, self.w = (each[order] for each in held)
        self.rows += other.rows

    @property
    def _held(self) -> tuple[NDArray[np.uint64], Floats, Floats]:
        return self.keys, self.scores, self.w

    def limit(self, quantile: float) -> float:
        """The least score with which the weight of the rows up to it exceeds this share of all.

        A row whose score is as good as that is not below it: rounding must not tell.
        """
        order = np.argsort(self.scores)
        w = np.cumsum(self.w[order])
        over = np.flatnonzero(w > quantile * w[-1] * (1 + 1e-12))
        if len(over) == 0:
            return np.inf
        found = float(self.scores[order[over[0]]])
        return found - 1e-9 * (1 + abs(found)) if np.isfinite(found) else found
