"""What all pictures share."""

from typing import Any, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COLORS = (
    "tab:blue",
    "tab:orange",
    "tab:green",
    "tab:red",
    "tab:purple",
    "tab:brown",
    "tab:pink",
    "tab:olive",
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")  # classes differ without colours, too


def axes(ax: Any = None) -> Any:
    """Those given, or the axes of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'likelier[plot]'") from error
    return plt.subplots(layout="constrained")[1]


class Table(NamedTuple):
    """Columns of numbers, and how to make more rows of the same kind."""

    values: Floats  # (n, p)
    names: list[str] | None
    frame: Any = None

    @classmethod
    def of(cls, X: Any) -> Self:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return cls(_numbers(X.toarray() if hasattr(X, "toarray") else X), None)
        return cls(_numbers(frame.to_numpy()), frame.columns, frame)

    def rows(self, values: Floats) -> Any:
        """As what X was: a frame of the same names, or an array."""
        if self.frame is None:
            return values
        namespace = nw.get_native_namespace(self.frame)
        return nw.from_numpy(values, schema=self.names, backend=namespace).to_native()


def _numbers(values: Any) -> Floats:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X is drawn by its numbers, and has cells that are none: {error}") from None
    if not found.size:
        raise ValueError(f"X has shape {found.shape}: there is nothing to draw")
    if np.isinf(found).any():
        raise ValueError("X contains infinity: such rows have no place in a picture")
    return found
