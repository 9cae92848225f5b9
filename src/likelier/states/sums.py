"""Weights and sums by class and column."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Chunk, NonFinite, OutOfSupport
from likelier.states.moments import Floats, memberships, weights


class Rule(NamedTuple):
    """Which values are summed: from low to high, both included; whole: whole numbers only."""

    values: str  # in words
    low: float = 0.0
    high: float = np.inf
    whole: bool = False


# By family. Each rule allows 0: what a sparse matrix does not store need not be looked at.
RULES = {
    "numbers": Rule("finite numbers", low=-np.inf),
    "bernoulli": Rule("0 and 1 (or any numbers, with binarize)", high=1.0, whole=True),
    "multinomial": Rule("counts, which are 0 or more"),
    "complement": Rule("counts, which are 0 or more"),
    "poisson": Rule("whole numbers from 0 on", whole=True),
    "geometric": Rule("whole numbers from 0 on", whole=True),
    "exponential": Rule("numbers from 0 on"),
}


@dataclass
class Sums:
    """Weight n (K,) of the rows, Σ w x (K, p), and the weight of missing cells, once there is one.

    With a threshold t it is Σ w 1[x > t]. Sums of whole numbers are exact below 2^53.
    """

    n: Floats
    total: Floats
    gone: Floats | None = None  # None: no cell is missing
    rule: str = "numbers"
    threshold: float | None = None

    @classmethod
    def start(cls, K: int, p: int, rule: str = "numbers", threshold: float | None = None) -> Self:
        return cls(np.zeros(K), np.zeros((K, p)), None, rule, threshold)

    @property
    def nbytes(self) -> int:
        return self.n.nbytes + self.total.nbytes + (0 if self.gone is None else self.gone.nbytes)

    def update(self, chunk: Chunk) -> None:
        """A second reading, if a cell is missing: most rows need no room for that."""
        new = self._empty()
        where = new._add(chunk)
        if where is not None and np.isnan(chunk.X.cell(*where)):
            new = self._empty()
            new.gone = np.zeros_like(new.total)
            where = new._add(chunk)
        if where is not None:
            self._refuse(chunk, *where)
        if new.gone is not None and not new.gone.any():
            new.gone = None
        if self.n.any():
            self.merge(new)
        else:  # a merge with nothing is what is new
            self.n, self.total, self.gone = new.n, new.total, new.gone

    def _empty(self) -> Self:
        K, p = self.total.shape
        return type(self).start(K, p, self.rule, self.threshold)

    def _add(self, chunk: Chunk) -> tuple[int, int] | None:
        codes, R = memberships(chunk)
        rule, threshold = RULES[self.rule], -np.inf if self.threshold is None else self.threshold
        how = (rule.low, rule.high), rule.whole, threshold
        held = self.n, self.total, self.gone
        return _core.sums(chunk.X.native(), codes, R, weights(chunk), *how, *held)

    def _refuse(self, chunk: Chunk, row: int, column: int) -> None:
        value = chunk.X.cell(row, column)
        if np.isinf(value):
            raise NonFinite(chunk.first + row, column, value)
        why = f"{self.rule} takes {RULES[self.rule].values}"
        raise OutOfSupport(chunk.first + row, column, value, why=why)

    def merge(self, other: Self) -> None:
        self.total += other.total
        self.n = self.n + other.n
        if other.gone is not None:
            self.gone = other.gone.copy() if self.gone is None else self.gone + other.gone

    def mergeable(self, other: Any) -> bool:
        """Whether `other` counts the same things."""
        return isinstance(other, Sums) and (self.rule, self.threshold) == (other.rule, other.threshold)

    def finite(self) -> bool:
        """False if sums or weights have overflowed."""
        return all(np.isfinite(a).all() for a in (self.n, self.total, self.gone) if a is not None)

    def seen(self) -> Floats:
        """The weight of the cells that are there: (K, p), or (K, 1) if that is all of them."""
        n = self.n[:, None]
        return n if self.gone is None else np.asarray(np.maximum(n - self.gone, 0.0))

    def without(self, X: Floats, codes: NDArray[Any], w: Floats) -> Self:
        """Of each row (n of them stand for classes), its class's statistics but for w of itself."""
        missing = np.isnan(X)
        counted = X if self.threshold is None else X > self.threshold
        total = self.total[codes] - np.where(missing, 0.0, counted) * w[:, None]
        gone = None
        if self.gone is not None:
            gone = np.maximum(self.gone[codes] - missing * w[:, None], 0.0)
        total = np.maximum(total, RULES[self.rule].low)  # rounding must not lead out of the support
        return replace(self, n=np.maximum(self.n[codes] - w, 0.0), total=total, gone=gone)

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        """The same among K classes, in which ours stand at `at`."""
        wide = type(self).start(K, self.total.shape[1], self.rule, self.threshold)
        wide.n[at], wide.total[at] = self.n, self.total
        if self.gone is not None:
            wide.gone = np.zeros_like(wide.total)
            wide.gone[at] = self.gone
        return wide
