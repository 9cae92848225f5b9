"""What a pass is: a digest of all that its result depends on."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 20  # bytes of an array from which on it is summed up before it is hashed
WORDS = 8192  # that make one sum
ROWS = 8 << 20  # bytes of an array that are looked at at a time


class Digests:
    """Digests of values, those of large arrays kept while they are asked for again and again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ref[NDArray[Any]], bytes]] = {}

    def of(self, value: Any) -> str:
        """Equal for values that are equal in all their fields, bit for bit."""
        found = hashlib.blake2b(digest_size=16)
        self._feed(found.update, value)
        return found.hexdigest()

    def _feed(self, update: Callable[[bytes], None], value: Any) -> None:
        kind = type(value)
        update(f"{kind.__module__}.{kind.__qualname__}(".encode())
        if isinstance(value, np.ndarray):
            update(self._array(value))
        elif isinstance(value, np.generic | bytes | str | int | float | None):
            update(value.tobytes() if isinstance(value, np.generic) else repr(value).encode())
        else:
            for part in _parts(value):
                self._feed(update, part)
        update(b")")

    def _array(self, array: NDArray[Any]) -> bytes:
        if array.nbytes < LARGE:
            return _hashed(array)
        known = self._known.get(id(array))
        if known is None or known[0]() is not array:  # another one may have had its id
            self._known[id(array)] = known = ref(array), _hashed(array)
        return known[1]


def _parts(value: Any) -> list[Any]:
    """What a value is made of; of what is only a name, that."""
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value) if field.init and field.compare]
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if hasattr(value, "get_params") and not isinstance(value, type):
        return [value.get_params(deep=False)]
    if type(value).__module__.partition(".")[0] == "pyarrow":
        return [str(value)]
    return [getattr(value, "__module__", ""), getattr(value, "__qualname__", "")]


def _scattered(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """High bits into low ones, where small numbers as floats have none: the same words for no others."""
    mixed: NDArray[np.uint64] = words ^ (words >> np.uint64(32))
    return mixed


# Odd, so that no change of one word leaves a sum as it was, and unlike: nor do two that swap places.
WEIGHTS = _scattered(np.arange(1, WORDS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
WEIGHTS = _scattered(WEIGHTS * np.uint64(0xBF58476D1CE4E5B9)) | np.uint64(1)


def _hashed(array: NDArray[Any]) -> bytes:
    """Of a large array Σ_i weight_i word_i for runs of words, modulo 2^64: no cell can change unseen."""
    found = hashlib.blake2b(f"{array.dtype.str}{array.shape}".encode(), digest_size=16)
    if array.dtype.kind == "O":
        found.update(repr(array.tolist()).encode())
        return found.digest()
    step = len(array) if array.nbytes < LARGE else max(1, ROWS * len(array) // array.nbytes)
    for start in range(0, len(array) if array.ndim else 0, max(1, step)):
        cells = np.ascontiguousarray(array[start : start + step]).reshape(-1).view(np.uint8)
        whole = 0 if array.nbytes < LARGE else len(cells) // (8 * WORDS) * WORDS
        words = cells[: 8 * whole].view(np.uint64)
        found.update(np.einsum("ij,j->i", _scattered(words).reshape(-1, WORDS), WEIGHTS).tobytes())
        found.update(cells[8 * whole :].tobytes())
    if not array.ndim:
        found.update(array.tobytes())
    return found.digest()
