"""Columns in units of powers of two: whatever their magnitude, squares neither overflow nor vanish."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data.chunk import Arrays, Chunk, Part, Source
from likelier.data.labels import Factor
from likelier.data.matrix import CSR, Block, Columns, Dense
from likelier.data.transforms import Wrapped

Units = NDArray[np.int64]  # (p,): x is counted in 2^u

FAR = 200  # powers of two from 1 up to which a column stays as it is: fourth powers of it are numbers
MOST = 1e300  # stands for what is too large to be counted


def in_units(x: NDArray[Any], units: Any) -> Floats:
    """x / 2^u, to the last bit; what is finite stays so."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore"):
        found = np.ldexp(x, np.negative(units))
    return np.asarray(np.where(np.isinf(found) & np.isfinite(x), np.copysign(MOST, x), found))


def block_in_units(X: Block, units: Units) -> Block:
    """The same rows, counted in these units. (Categories have none.)"""
    if isinstance(X, CSR):
        return replace(X, values=in_units(X.values, units[X.columns]))
    if isinstance(X, Columns):
        pairs = zip(X.arrays, units.tolist(), strict=True)
        return Columns(tuple(x if isinstance(x, Factor) or u == 0 else in_units(x, u) for x, u in pairs))
    return Dense(in_units(X.array, units))


def magnitudes(X: Block) -> Floats:
    """The largest |x| of each column, (p,); 0 if it has none. (Categories have none.)"""
    if isinstance(X, CSR):
        found, at = np.zeros(X.p), slice(X.starts[0], X.starts[-1])
        np.fmax.at(found, X.columns[at], np.abs(X.values[at].astype(np.float64, copy=False)))
        return found
    if isinstance(X, Columns):
        each = (np.zeros(1) if isinstance(x, Factor) else np.abs(x.astype(np.float64)) for x in X.arrays)
        return np.array([np.fmax.reduce(x, initial=0.0) for x in each])
    return np.asarray(np.fmax.reduce(np.abs(X.to_array()), axis=0, initial=0.0))


def log_units(X: Block, units: Units) -> Floats:
    """ln of the units of the cells that are there, (n,): by how much densities in them are larger."""
    logs = np.log(2.0) * units
    if isinstance(X, CSR) and not X.gappy().any():
        return np.full(X.shape[0], logs.sum())
    return np.asarray(~np.isnan(X.to_array()) @ logs)


@dataclass(frozen=True)
class InUnits(Wrapped):
    """The same rows, counted in these units."""

    units: Units

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(X=block_in_units(chunk.X, self.units))


def source_in_units(source: Source, units: Units) -> Source:
    """A source in these units; of rows in memory once and for all passes."""
    if isinstance(source, Arrays):
        return replace(source, X=block_in_units(source.X, units))
    return InUnits(source, units)


def needed(most: Floats, *, together: bool) -> Units | None:
    """The units of columns with these largest magnitudes (p,), if any is so far from 1 that it needs one.

    together: one unit for all columns, for models that compare variances of different columns.
    """
    exponents = np.where(np.isfinite(most) & (most > 0), np.frexp(np.where(most > 0, most, 1.0))[1], 0)
    if together and len(exponents):
        known = exponents[most > 0]
        exponents = np.full(len(exponents), known.max() if len(known) else 0)
    units = np.where(np.abs(exponents) > FAR, np.minimum(exponents, 1023), 0).astype(np.int64)
    return units if units.any() else None


def largest(X: Block) -> Floats:
    """The largest |x| of each column, (p,)."""
    if not isinstance(X, CSR):
        rows = X.to_array()
        return np.asarray(np.fmax(rows.max(axis=0, initial=0.0), -rows.min(axis=0, initial=0.0)))
    at = slice(X.starts[0], X.starts[-1])
    found = np.zeros(X.p)
    np.fmax.at(found, X.columns[at], np.abs(X.values[at], dtype=np.float64))
    return found
