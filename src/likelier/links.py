"""From scores Z (n, K) to answers. Those that keep the shape work in place."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import _core

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """`apply(Z, out)`; in place (out is Z) unless `dtype` says what one number per row it makes."""

    apply: Callable[[Floats, NDArray[Any]], None]
    dtype: type | None = None

    def start(self, n: int, K: int) -> NDArray[Any]:
        """Room for the answers to n rows."""
        return np.empty((n, K)) if self.dtype is None else np.empty(n, dtype=self.dtype)


identity = Link(lambda Z, out: None)
softmax = Link(lambda Z, out: _core.softmax(Z))  # P_k = e^{z_k} / Σ e^z
log_softmax = Link(lambda Z, out: _core.log_softmax(Z))
log_sum_exp = Link(_core.log_sum_exp, np.float64)  # ln Σ_k e^{z_k}
argmax = Link(_core.argmax, np.int64)
