"""From probabilities to decisions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.estimators.collections import by_block


class Decisions:
    """Decisions by least expected cost."""

    @by_block
    def decide(self, X: Any, costs: Any = None, reject: float | None = None) -> NDArray[Any]:
        """The label of least expected cost for each row.

        costs: (K, K), what it costs to decide column k when the truth is row j; by default 1 for every
        mistake. reject: the cost of not deciding; a row for which every label is expected to cost more
        gets None.
        """
        P = self.predict_proba(X)  # type: ignore[attr-defined]
        classes: NDArray[Any] = self.classes_  # type: ignore[attr-defined]
        K = len(classes)
        C = 1.0 - np.eye(K) if costs is None else np.asarray(costs, dtype=np.float64)
        if C.shape != (K, K) or not np.isfinite(C).all():
            raise ValueError(
                f"costs must be a finite ({K}, {K}) table [truth, decision]; got shape {C.shape}"
            )
        expected = P @ C  # (n, K)
        labels = classes[expected.argmin(axis=1)]
        if reject is None:
            return np.asarray(labels)
        if not np.isfinite(reject):
            raise ValueError(f"reject={reject!r}: it is a cost")
        decided = labels.astype(object)
        decided[~(expected.min(axis=1) <= reject)] = None  # also where nothing is known: NaN
        return np.asarray(decided)
