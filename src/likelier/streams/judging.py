"""What the answers of a model were worth, once the labels are known."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.streams.asking import Answer
from likelier.streams.curve import Curve

Floats = NDArray[np.float64]

AT_ONCE = 256  # rows that are judged together
UNDER = 1 - 2.0**-40  # a label that could not be named is not the likeliest, not even among equals


def with_room(P: Floats, codes: NDArray[np.int32], learned: list[int]) -> Floats:
    """P (n, K'), in which a label that was not learned has 1/(K+1) beside the K that were: see `Judge`."""
    new = np.flatnonzero((codes >= 0) & ~np.isin(codes, learned))
    if not (len(new) and learned):
        return P
    K, wide = len(learned), np.zeros((len(P), max(P.shape[1], int(codes.max()) + 1, 2)))
    wide[:, : P.shape[1]] = P
    named = np.zeros((len(new), wide.shape[1]))
    named[:, learned] = wide[new][:, learned]
    total = named.sum(axis=1, keepdims=True)
    # A model that was told all classes beforehand may name one that it has not learned, and no other.
    named[np.ix_(total[:, 0] == 0, learned)] = 1.0
    wide[new] = named / named.sum(axis=1, keepdims=True) * (K / (K + 1))
    wide[new, codes[new]] = UNDER / (K + 1)
    return wide


class Judge:
    """Holds answers against labels, in the order in which it is told of them.

    An answer that says nothing is taken for equal probabilities of all labels met so far, at least two. A
    label that the answer does not name had the probability 0; but if the model had never learned it, then
    1/(K+1) beside K labels named, whose probabilities are scaled down: it could not be known.
    """

    def __init__(self, curve: Curve) -> None:
        self.labels: dict[Any, int] = {}  # codes, in the order of appearance
        self._curve = curve
        self._rows: list[list[float]] = []
        self._codes: list[int] = []
        self._weights: list[float] = []

    def add(self, answer: Answer, y: Any, weight: float, *, new: bool) -> None:
        """One row. new: the model had never learned this label when it answered."""
        if weight == 0:
            return  # it is not there, nor is its label
        known = self.labels
        for label in answer:
            known.setdefault(label, len(known))
        code = known.setdefault(y, len(known))
        K, width = len(answer), max(len(known), 2)
        if K:
            row = [0.0] * width
            unknown = new and y not in answer
            for label, p in answer.items():
                row[known[label]] = p * (K / (K + 1)) if unknown else p
            if unknown:
                row[code] = UNDER / (K + 1)
        else:
            row = [1 / width] * width
        self._rows.append(row)
        self._codes.append(code)
        self._weights.append(weight)
        if len(self._rows) == AT_ONCE:
            self.settle()

    def add_many(
        self, P: Floats, labels: list[Any], y: list[Any], weights: Any, *, learned: Iterable[Any]
    ) -> None:
        """Rows answered together with P, a column for each of `labels`, by who has learned some of them."""
        known = self.labels
        columns = [known.setdefault(label, len(known)) for label in labels]
        there = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        codes = np.array(
            [known.setdefault(label, len(known)) if w else -1 for label, w in zip(y, there, strict=True)],
            dtype=np.int32,
        )
        wide = np.zeros((len(P), max(len(known), 2)))
        wide[:, columns] = P
        self.settle().update(with_room(wide, codes, [known[label] for label in learned]), codes, weights)

    def settle(self) -> Curve:
        """The curve, with all that was added."""
        if self._rows:
            P = np.zeros((len(self._rows), max(map(len, self._rows))))
            for i, row in enumerate(self._rows):
                P[i, : len(row)] = row
            codes, weights = np.array(self._codes, dtype=np.int32), np.array(self._weights)
            self._rows, self._codes, self._weights = [], [], []
            self._curve.update(P, codes, weights)
        return self._curve
