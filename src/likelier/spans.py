"""Fewer rows than columns: with an l2 penalty the weights lie in the span of the rows."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from likelier.data import CSR, Arrays, Dense
from likelier.objective import Objective
from likelier.penalties import Penalty

Floats = NDArray[np.float64]


class Span(NamedTuple):
    """The same problem in as many columns as there are rows, and the way back to all of them."""

    objective: Objective
    back: Floats  # (r, p)

    @classmethod
    def of(cls, objective: Objective) -> "Span | None":
        """None: rows are not in memory, or sparse, or no fewer than columns; or a weight has no l2 penalty.

        With A the rows about their shift, in columns of unit penalty, and A Aᵀ = V S Vᵀ, W = Aᵀ V S^-½ v
        has the scores V S^½ v, and the same penalty as v.
        """
        source, setting = objective.source, objective.setting
        l2 = objective.penalty.l2[: setting.p]
        if not isinstance(source, Arrays) or isinstance(source.X, CSR) or len(source) >= setting.p:
            return None
        if not (l2 > 0).all() or not objective.penalty.smooth:
            return None
        scale = 1 / np.sqrt(l2)
        A = (source.X.to_array() - setting.shift) * scale
        s, V = eigh(A @ A.T, check_finite=False)
        kept = s > len(s) * np.finfo(np.float64).eps * s[-1]
        if not kept.any():
            return None
        root = np.sqrt(s[kept])
        r = len(root)
        few = replace(
            objective,
            source=replace(source, X=Dense(np.ascontiguousarray(V[:, kept] * root)), names=None),
            setting=replace(setting, shift=np.zeros(r), unit=None),
            penalty=Penalty.of(setting.q, r, 1.0, 0.0),
            passes=0,
            _gauge=None,
        )
        return cls(few, (V[:, kept] / root).T @ A * scale)

    def lifted(self, theta: Floats) -> Floats:
        """θ of the whole problem."""
        T = theta.reshape(self.objective.setting.q, -1)
        return np.column_stack([T[:, :-1] @ self.back, T[:, -1]]).ravel()
