"""In which units the columns of a fit are counted."""

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likelier.data import Arrays, Source
from likelier.data.transforms import cluster_of
from likelier.data.units import FAR, Units, magnitudes, needed
from likelier.engines import run
from likelier.engines.run import first_chunk
from likelier.families import DiagonalGaussian, FullGaussian, TiedGaussian
from likelier.families.gaussian import RidgedDiagonal, RidgedSpherical
from likelier.states.units import Magnitudes

# Whether a change of units changes no answer: of any column, of all columns together, or not even so.
Scaling = Literal["none", "column", "together"]
LOOKED_AT = 256  # rows that show whether a column is of an ordinary magnitude


def units_of(source: Source, *, together: bool, columns: NDArray[np.bool_] | None = None) -> Units | None:
    """The units of these columns, or of all, if some rows are so large or small that they need any.

    All rows are read only then: columns of ordinary numbers are counted as they are.
    """
    in_memory = isinstance(source, Arrays)
    if (not in_memory and cluster_of(source) is not None) or (columns is not None and not columns.any()):
        return None
    few = source.X.rows(0, LOOKED_AT) if isinstance(source, Arrays) else first_chunk(source, LOOKED_AT).X
    seen = magnitudes(few)
    usual = (seen < 2.0**FAR) & ((seen > 2.0**-FAR) | (seen == 0))
    if usual.all() or (columns is not None and usual[columns].all()):
        return None
    most = run(source, partial(Magnitudes.start, source.p)).most
    return needed(most if columns is None else np.where(columns, most, 0.0), together=together)


def scaling_of(family: Any) -> Scaling:
    """That of a family. What is added to variances is in units of its own, so that these matter."""
    if isinstance(family, RidgedDiagonal):
        if family.ridge:
            return "none"
        return "together" if isinstance(family, RidgedSpherical) else "column"
    if isinstance(family, DiagonalGaussian):
        return "column" if family.by_column or not family.var_smoothing else "together"
    if isinstance(family, FullGaussian | TiedGaussian):
        if family.ridge or getattr(family, "lift", 0.0):
            return "none"
        return "column" if family.shrinkage in (None, "auto") else "together"
    return "none"


def least(scalings: Iterable[Scaling]) -> Scaling:
    """What all of these allow."""
    return min(scalings, key=("none", "together", "column").index)


def units_for(source: Source, scaling: Scaling, columns: NDArray[np.bool_] | None = None) -> Units | None:
    """The units of all columns, or of some, as far as a change of them changes no answer."""
    if scaling == "none":
        return None
    return units_of(source, together=scaling == "together", columns=columns)
