"""How well scores put the rows of a class before those of the others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def auc(scores: Floats, positive: NDArray[np.bool_], w: Floats | None = None) -> float:
    """P(score of a row of the class > that of another), a tie being half (Mann and Whitney 1947).

    NaN: there are no rows of the class, or no others.
    """
    values, at = np.unique(scores, return_inverse=True)
    v = np.ones(len(scores)) if w is None else w
    hits = np.bincount(at, np.where(positive, v, 0.0), len(values))
    misses = np.bincount(at, np.where(positive, 0.0, v), len(values))
    pairs = hits.sum() * misses.sum()
    if not pairs:
        return float("nan")
    return float(hits @ (np.cumsum(misses) - misses / 2) / pairs)


def roc_points(scores: NDArray[Any], hit: NDArray[np.bool_], w: Floats) -> tuple[Floats, Floats]:
    """False and true positive rates at each threshold, from (0, 0) to (1, 1)."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)  # rows of one score come together
    fall, rise = (np.cumsum(np.where(each, w, 0.0)[order])[last] for each in (~hit, hit))
    return np.append(0.0, fall / fall[-1]), np.append(0.0, rise / rise[-1])


def commonest(weight: Floats, most: int) -> NDArray[np.intp]:
    """The numbers of the classes of most weight, in order."""
    return np.sort(np.argsort(-weight, kind="stable")[:most])


def gathered(confusion: Floats, shown: NDArray[np.intp]) -> Floats:
    """A confusion matrix of some classes; all others share a last row and column."""
    K = len(confusion)
    if K == len(shown):
        return confusion
    place = np.full(K, len(shown))
    place[shown] = np.arange(len(shown))
    rows = np.zeros((len(shown) + 1, K))
    np.add.at(rows, place, confusion)
    out = np.zeros((len(shown) + 1, len(shown) + 1))
    np.add.at(out.T, place, rows.T)
    return out


def mean_auc(Z: Any, codes: NDArray[Any], w: Floats | None = None) -> float:
    """Of two classes that of the second, Z (n,) or (n, 2); of more the mean of each against the rest.

    Classes without rows are left out of the mean.
    """
    Z = np.asarray(Z, dtype=np.float64)
    if Z.ndim == 1 or Z.shape[1] == 2:
        return auc(Z if Z.ndim == 1 else Z[:, 1], codes == 1, w)
    each = np.array([auc(Z[:, k], codes == k, w) for k in range(Z.shape[1])])
    there = each[~np.isnan(each)]
    return float(there.mean()) if len(there) else float("nan")
