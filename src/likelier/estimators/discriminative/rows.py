"""The rows of a discriminative fit: which classes they have, their labels as codes, offsets."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.data import Arrays, Source, code
from likelier.estimators import validation
from likelier.estimators.common import warn_of_many
from likelier.model import surveyed


def classes_in(source: Source) -> NDArray[Any]:
    """The classes of a source, sorted."""
    found, rows = surveyed(source)
    validation.weighty(len(found))
    warn_of_many(len(found), rows)
    return found


def precoded(source: Source, found: NDArray[Any]) -> Source:
    """Labels as codes; of rows in memory once and for all passes."""
    if isinstance(source, Arrays):
        assert source.y is not None
        return replace(source, y=code(source.y, found), levels=None)
    return source.coded(found)


def with_offset(source: Source, offset: Any, found: NDArray[Any]) -> Source:
    """Rows with something known added to their scores."""
    if not isinstance(source, Arrays):
        raise ValueError("offset goes with rows in memory, and X is a source: load its rows first.")
    known = np.ascontiguousarray(offset, dtype=np.float64)
    n, K = len(source), len(found)
    if known.shape != (n,) and known.shape != (n, K):
        raise ValueError(
            f"offset has shape {known.shape}: it is ({n},), or ({n}, {K}) with a number for each class"
        )
    if not np.isfinite(known).all():
        raise ValueError("offset contains NaN or infinity.")
    if K == 2 and known.ndim == 2:
        known = np.ascontiguousarray(known[:, 1] - known[:, 0])
    if K > 2 and known.ndim == 1:
        raise ValueError(f"offset (n,) says nothing of {K} classes: give it as ({n}, {K})")
    return replace(source, offset=known)
