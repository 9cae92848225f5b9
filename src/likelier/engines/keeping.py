"""States as plain data: what they hold beyond an empty one of their kind.

Nothing in a file says what a state is: `start` does, as it did when the state was kept. A file only fills
in the numbers, and whatever it says, no code of its choice runs.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from likelier.data import CSR, Chunk, Columns, Dense
from likelier.data.factors import Factor
from likelier.families.missing import Sums
from likelier.states import Triangle
from likelier.storing.disk import require
from likelier.storing.values import field_names

# What a state may gather that an empty one has no example of: rows, and what is expected of them.
RECORDS: Mapping[str, type] = {
    "chunk": Chunk,
    "dense": Dense,
    "csr": CSR,
    "columns": Columns,
    "factor": Factor,
    "sums": Sums,
    "triangle": Triangle,
}
Changes = dict[str, Any]  # by the path of a field


def changes(state: Any, empty: Any) -> Changes:
    """Copies of all that differs from an empty state."""
    return {path: copy.deepcopy(value) for path, value in _changed(state, empty, "")}


def _changed(value: Any, like: Any, path: str) -> Iterator[tuple[str, Any]]:
    if value is like or (type(value) is type(like) and not _holds(value)):
        return
    parts, others = _parts(value), _parts(like)
    if type(value) is not type(like) or parts is None or others is None or parts.keys() != others.keys():
        yield path, value
        return
    for name, part in parts.items():
        yield from _changed(part, others[name], f"{path}/{name}")


def _holds(value: Any) -> bool:
    """Whether a value is data; else it is what the pass is about, such as a loss, and stays the same."""
    return isinstance(value, bool | int | float | str | bytes | np.generic | np.ndarray | dict) or (
        _parts(value) is not None
    )


def _parts(value: Any) -> dict[str, Any] | None:
    """Fields of a record, places of a list; None: it is neither."""
    if type(value) in (list, tuple):
        return {str(i): part for i, part in enumerate(value)}
    if hasattr(value, "__dataclass_fields__") or hasattr(value, "_fields"):
        return {name: getattr(value, name) for name in field_names(type(value))}
    return None


def restored(empty: Any, found: Changes) -> Any:
    """An empty state that has become what it was."""
    left = dict(found)
    state = _filled(empty, left, "")
    require(not left, f"a {type(empty).__name__} has no {', '.join(left):.80}")
    return state


def _filled(like: Any, left: Changes, path: str) -> Any:
    if path in left:
        return _sound(left.pop(path), like, path)
    parts = _parts(like) if any(other.startswith(f"{path}/") for other in left) else None
    if parts is None:
        return like
    parts = {name: _filled(part, left, f"{path}/{name}") for name, part in parts.items()}
    if type(like) in (list, tuple):
        return type(like)(parts.values())
    if hasattr(like, "_replace"):
        return like._replace(**parts)
    filled = copy.copy(like)
    for name, part in parts.items():
        object.__setattr__(filled, name, part)  # some are frozen
    return filled


def _sound(value: Any, like: Any, path: str) -> Any:
    """As what an empty state has, but for rows that it had none of yet: kernels take sizes on trust."""
    if isinstance(like, np.ndarray):
        good = type(value) is np.ndarray and value.dtype == like.dtype and value.ndim == like.ndim
        good = good and (
            value.shape == like.shape or (len(like) == 0 and value.shape[1:] == like.shape[1:])
        )
        require(good, f"{path} is not an array like that of an empty state")
    elif isinstance(like, int | float | np.number):
        require(isinstance(value, int | float | np.number), f"{path} is not a number")
    elif like is not None:
        require(type(value) is type(like), f"{path} is not of type {type(like).__name__}")
    return value
