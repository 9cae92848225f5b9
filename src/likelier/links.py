"""From scores Z (n, K) to answers. Those that keep the shape work in place."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats


@dataclass(frozen=True)
class Link:
    """`apply(Z, out)`; in place (out is Z) unless `dtype` says what one number per row it makes."""

    apply: Callable[[Floats, NDArray[Any]], None]
    dtype: type | None = None
    compares: bool = False  # whether only differences between the scores of a row matter

    def start(self, n: int, K: int) -> NDArray[Any]:
        """Room for the answers to n rows."""
        return np.empty((n, K)) if self.dtype is None else np.empty(n, dtype=self.dtype)


# Functions with names: links travel to wherever rows are.
def _identity(Z: Floats, out: NDArray[Any]) -> None:
    """As they are."""


def _softmax(Z: Floats, out: NDArray[Any]) -> None:
    _core.softmax(Z)


def _log_softmax(Z: Floats, out: NDArray[Any]) -> None:
    _core.log_softmax(Z)


def _log_sum_exp(Z: Floats, out: NDArray[Any]) -> None:
    _core.log_sum_exp(Z, out)


def _argmax(Z: Floats, out: NDArray[Any]) -> None:
    _core.argmax(Z, out)


identity = Link(_identity)
softmax = Link(_softmax, compares=True)  # P_k = e^{z_k} / Σ e^z
log_softmax = Link(_log_softmax, compares=True)
log_sum_exp = Link(_log_sum_exp, np.float64)  # ln Σ_k e^{z_k}
argmax = Link(_argmax, np.int64, compares=True)
