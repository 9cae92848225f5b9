"""Columns that bend: |x - m|, beside x, lets a slope change at m."""

import numpy as np
from numpy.typing import NDArray

from likelier.comparing.assumptions.sample import Sample

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def kinks(sample: Sample, held: Indices) -> tuple[Floats, list[str]]:
    """(n, q) of those of the columns that have values on both sides of their middle, and their names.

    Less their mean, which stands where a cell is missing. Of others a bend would be one more slope.
    """
    found, names = [], []
    for j in held:
        z = sample.Z[:, j]
        middle = _middle(z[~np.isnan(z)])
        if middle is not None:
            kink = np.abs(z - middle)
            found.append(np.nan_to_num(kink - np.nanmean(kink)))
            names.append(sample.names[j])
    return np.column_stack(found) if found else np.empty((len(sample.Z), 0)), names


def _middle(z: Floats) -> float | None:
    """The median; where that is the least or the largest value, the median of the others."""
    low, high = z.min(), z.max()
    middle = np.median(z)
    if middle in (low, high) and low < high:
        middle = np.median(z[z != middle])
    return float(middle) if low < middle < high else None
