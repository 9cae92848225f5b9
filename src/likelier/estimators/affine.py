"""Generative models whose scores are affine in x: weights to read, and what each column adds."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.data import Dense
from likelier.estimators import door
from likelier.estimators.generative import Contributions, Generative
from likelier.estimators.linear import LinearClassifier
from likelier.estimators.onepass import Names
from likelier.model import Bayes

Floats = NDArray[np.float64]


class AffineScores(Generative):
    """a_k(x) = w_k·x + b_k, and a term that all classes share; two classes are one weight vector."""

    def _offset(self, model: Bayes) -> Floats:
        """What a row of no columns would score, (K,): the log priors."""
        return model.log_prior

    def _lines(self) -> tuple[Floats, Floats]:
        """W (K, p) and b (K,); of two classes their differences, (1, p) and (1,)."""
        door.fitted(self)
        params: Any = self._model.params
        W, b = params.W, params.constant.sum(axis=1) + self._offset(self._model)
        return (W[1:] - W[:1], b[1:] - b[:1]) if len(b) == 2 else (W, b)

    @property
    def coef_(self) -> Floats:
        """The weights of the columns: (K, p), of two classes (1, p)."""
        return self._lines()[0]

    @property
    def intercept_(self) -> Floats:
        """(K,), of two classes (1,)."""
        return self._lines()[1]

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        never = (statistics.seen() == 0) & (statistics.n > 0)[:, None]  # (K, p)
        if never.any():
            k = int(never.any(axis=1).argmax())
            some = door.named(names, np.flatnonzero(never[k]))
            yield (
                f"in class {target[k]} every cell of column {some} is missing: counts there are those of "
                "all classes, so that the column says little for or against it."
            )

    def to_linear(self) -> LinearClassifier:
        """The weights alone, as a classifier that predicts the same."""
        W, b = self._lines()
        return LinearClassifier(W, b, self.classes_, getattr(self, "feature_names_in_", None))

    def contributions(self, X: Any) -> Contributions:
        """What each column adds to each class's score, (n, K, p), beside a base (K,).

        Together they are the joint log score. A missing cell contributes 0.
        """
        door.fitted(self)
        rows = door.dense_rows(self, X, gaps=True)
        params: Any = self._model.params
        return Contributions.of(self, params.parts(_possible(params, rows)), self._offset(self._model))


def _possible(params: Any, X: Floats) -> Floats:
    """X without the cells outside the support, which count as missing."""
    if params.support is None:
        return X
    return Dense(X).without(params.support.outside(Dense(X))).array
