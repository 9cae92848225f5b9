"""X in every way that it may lie in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]


def _strided(X: Array) -> Array:
    """Every third row and second column of an array that holds NaN elsewhere: none may be read."""
    n, p = X.shape
    wide = np.full((3 * n, 2 * p), np.nan, dtype=X.dtype)
    wide[1::3, 1::2] = X
    return wide[1::3, 1::2]


def _wide(X: Array) -> Array:
    """Rows that adjoin in memory, but not to each other: C order with a gap."""
    n, p = X.shape
    wide = np.full((n, p + 3), np.nan, dtype=X.dtype)
    wide[:, 2 : 2 + p] = X
    return wide[:, 2 : 2 + p]


DENSE: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": _strided,
    "wide": _wide,
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
}


def _csr(core: Any, X: Array, kind: Any) -> Any:
    """The cells that are not 0, as rows of a larger matrix: the starts do not begin at 0."""
    before = sparse.csr_array(np.ones((2, X.shape[1]), dtype=X.dtype))
    found = sparse.csr_array(X)
    values = np.concatenate([before.data, found.data])
    columns = np.concatenate([before.indices, found.indices]).astype(kind)
    starts = (found.indptr + before.nnz).astype(kind)
    return core.Matrix.csr(values, columns, starts, X.shape[1])


SPARSE = {"CSR, 32 bit": np.int32, "CSR, 64 bit": np.int64}


def _among_others(x: Array, step: int) -> Array:
    """A column whose cells lie `step` apart in rows from the middle of a longer one."""
    longer = np.full(abs(step) * len(x) + 7, 99, dtype=x.dtype)
    view = longer[3 : 3 + abs(step) * len(x) : abs(step)][:: 1 if step > 0 else -1]
    view[:] = x
    return view


def _mixed(X: Array) -> tuple[Array, ...]:
    """Every other column as it is, at various strides; the others in the smallest type that holds them."""
    found = []
    for j, x in enumerate(X.T):
        whole = np.isfinite(x).all() and (x == np.round(x)).all()
        kinds = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
        fits = [kind for kind in kinds if whole and (x.astype(kind).astype(x.dtype) == x).all()]
        kind = fits[j % len(fits)] if fits and j % 2 else (np.float64, np.float32, x.dtype)[j % 3]
        found.append(_among_others(x.astype(kind), (1, 3, -1, 2, -2)[j % 5]))
    return tuple(found)


COLUMNS: dict[str, Callable[[Array], tuple[Array, ...]]] = {
    "columns": lambda X: tuple(x.copy() for x in X.T),
    "columns of C order": lambda X: tuple(np.ascontiguousarray(X).T),
    "columns of Fortran order": lambda X: tuple(np.asfortranarray(X).T),
    "mixed columns": _mixed,
}
LAYOUTS = [(layout, dtype) for layout in [*DENSE, *SPARSE, *COLUMNS] for dtype in (np.float64, np.float32)]


def name_of(layout: tuple[str, Any]) -> str:
    return f"{layout[0]} {layout[1].__name__}"


def matrix(core: Any, X: Array, layout: tuple[str, Any] = ("C", np.float64)) -> Any:
    """X as the kernels take it."""
    name, dtype = layout
    X = X.astype(dtype)
    if name in COLUMNS:
        return core.Matrix.columns(COLUMNS[name](X))
    return core.Matrix.dense(DENSE[name](X)) if name in DENSE else _csr(core, X, SPARSE[name])
