"""Rows as the native row loops take them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import CSR, Arrays, Dense
from likelier.data.chunk import Chunk
from likelier.data.matrix import Block
from likelier.data.problems import NonFinite
from likelier.states import Setting

Floats = NDArray[np.float64]


class Laid(NamedTuple):
    """Rows that adjoin in memory, with labels and weights: those without a label weigh nothing."""

    X: Dense | CSR
    shift: Floats  # (p,)
    codes: NDArray[np.int32]  # (n,); for one score 1 and 0
    w: Floats | None  # (n,)
    offset: Floats | None  # (n, q)
    squares: Floats  # (n,), ‖x - shift‖²

    @classmethod
    def of(cls, source: Arrays, setting: Setting, scale: Floats | None = None) -> "Laid":
        """All rows of a source, their columns times `scale`."""
        (chunk,) = source.parts(len(source) * source.X.row_bytes)[0]()
        return cls.from_chunk(chunk, setting, scale)

    @classmethod
    def from_chunk(cls, chunk: Chunk, setting: Setting, scale: Floats | None = None) -> "Laid":
        """The rows of one chunk."""
        assert chunk.y is not None
        X, shift = adjoining(chunk.X), setting.shift
        if scale is not None:
            X, shift = _scaled(X, scale), shift * scale
        squares = np.empty(X.shape[0])
        _core.square_norms(X.native(), shift, squares)
        if not np.isfinite(squares).all():
            _refuse(chunk)
        codes = chunk.y if setting.q > 1 else (chunk.y == setting.positive).astype(np.int32)
        w = chunk.w
        if (chunk.y < 0).any():
            w = np.where(chunk.y < 0, 0.0, 1.0 if w is None else w)
            codes = np.maximum(codes, 0)
        return cls(X, shift, codes, w, chunk.offset, squares)


def adjoining(X: Block) -> Dense | CSR:
    """The same, its rows runs of memory."""
    if isinstance(X, CSR):
        return X
    if isinstance(X, Dense) and X.array.flags.c_contiguous:
        return X
    return Dense(np.ascontiguousarray(X.array if isinstance(X, Dense) else X.to_array()))


def _scaled(X: Dense | CSR, scale: Floats) -> Dense | CSR:
    with np.errstate(invalid="ignore"):  # cells that are no numbers are refused where they are squared
        if isinstance(X, CSR):
            return CSR(X.values * scale[X.columns], X.columns, X.starts, X.p)
        return Dense(X.array * scale)


def _refuse(chunk: Chunk) -> None:
    """Name the first cell that is not a number; there is none where a square was too large."""
    rows, columns = chunk.X.where(lambda x: ~np.isfinite(x))
    if len(rows):
        row, column = int(rows[0]), int(columns[0])
        raise NonFinite(chunk.first + row, column, chunk.X.cell(row, column))


def on_line(*shape: int) -> Floats:
    """Zeros that begin on a cache line: a column's weights then straddle no more of them than they must."""
    size, line = int(np.prod(shape)), 8
    room = np.zeros(size + line)
    first = (-room.ctypes.data // room.itemsize) % line
    return room[first : first + size].reshape(shape)
