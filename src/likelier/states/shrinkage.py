"""What shrinkage by the rows' own judgement needs of them."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk, NonFinite, by_gaps
from likelier.states.higher import HigherMoments
from likelier.states.moments import Floats, Moments
from likelier.states.patterns import PatternMoments


@dataclass
class ShrinkageMoments:
    """Moments to the fourth order of the complete rows; of incomplete ones those of their patterns."""

    higher: HigherMoments
    gaps: PatternMoments  # its complete rows are none

    @classmethod
    def start(cls, K: int, p: int) -> Self:
        return cls(HigherMoments.start(K, p), PatternMoments.start(K, p, "full"))

    @property
    def nbytes(self) -> int:
        return self.higher.nbytes + self.gaps.nbytes

    @property
    def n(self) -> Floats:
        """The weight of all rows, (K,)."""
        return self.higher.n + self.gaps.n

    def update(self, chunk: Chunk) -> None:
        self.gaps.solved = None
        try:
            self.higher.update(chunk)
        except NonFinite as bad:
            if not np.isnan(bad.value):
                raise
            self._take_apart(chunk)

    def _take_apart(self, chunk: Chunk) -> None:
        whole, some, _ = by_gaps(chunk)
        rows = self.gaps.apart(some)
        self.higher.update(whole)
        self.gaps.merge(rows)

    def merge(self, other: Self) -> None:
        self.higher.merge(other.higher)
        self.gaps.merge(other.gaps)

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, ShrinkageMoments)

    def finite(self) -> bool:
        """False if fourth powers or weights have overflowed."""
        return self.higher.finite() and self.gaps.finite()

    def joint(self) -> PatternMoments:
        """All rows, to the second order."""
        h = self.higher
        return replace(self.gaps, whole=Moments(h.n, h.mean, h.S, "full"))

    def pooled(self) -> Self:
        """All classes as one."""
        return type(self)(self.higher.pooled(), self.gaps.pooled())

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        return type(self)(self.higher.widened(K, at), self.gaps.widened(K, at))
