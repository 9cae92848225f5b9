"""Rows by the keys of their features, as a stream of the same text has them."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data.matrix import CSR, Rows


@dataclass(frozen=True, slots=True)
class Keyed:
    """Cells by 64-bit keys, row after row; only online models can use them."""

    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    starts: NDArray[np.int64]  # (n + 1,)
    skipped: int = 0  # cells that were no finite numbers

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts) - 1, 0

    def take(self, rows: Rows) -> Self:
        places = np.arange(len(self.keys))
        some = CSR(self.values, places, self.starts, len(places)).take(rows)
        at = some.columns[some.starts[0] : some.starts[-1]]
        return type(self)(self.keys[at], self.values[at], some.starts - some.starts[0])

    def hashed(self, codes: NDArray[np.int32] | None, w: NDArray[np.float64] | None) -> "_core.HashedRows":
        """For a learner; codes: of labels, None where there are none."""
        n = len(self.starts) - 1
        rows = _core.HashedRows()
        rows.extend(
            self.keys,
            self.values,
            self.starts,
            np.full(n, -1, dtype=np.int32) if codes is None else codes,
            np.ones(n) if w is None else w,
        )
        return rows


def keyed(kind: str, block: bytes, crosses: Any, finite: bool) -> tuple[Any, ...]:
    """Labels (NaN: none), weights and rows of whole lines, and what is wrong with the first that is."""
    parser = _core.TextParser(kind, crosses=crosses, finite=finite)
    rows = _core.HashedRows()
    parser.parse(block, rows, True)
    keys, values, starts, codes, weights = _core.cells_of(rows)
    bad = parser.first_bad[0] if parser.first_bad else None
    try:
        numbers = [float(label) for label in parser.labels]
    except ValueError as problem:
        bad = bad or (1, f"a label is not a number ({problem})", "")
        numbers = [np.nan for _ in parser.labels]
    y = np.array([*numbers, np.nan])[codes]
    return y, weights, Keyed(keys, values, starts, rows.skipped), bad
