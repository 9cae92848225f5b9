"""What must be true of a record of a model file before it is used: types, sizes, finite numbers."""

import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.saving.format import require
from likelier.storage import field_names

Sizes = dict[str, int]  # of the letters: K classes, p columns, q targets


class Kind(NamedTuple):
    """A class of records. Sizes as in the formulas: "K p", "1+p+q"; a whole number may be a size, too.

    K, p and q are the same throughout a file, other letters within one array.
    """

    cls: type
    sizes: dict[str, str | Callable[[Any], str]]
    holds: Callable[[Any], Any] = lambda record: True
    logs: tuple[str, ...] = ()  # logarithms, which may be -inf
    gaps: tuple[str, ...] = ()  # which may be NaN: all other numbers are finite
    # Records in it for which some letters mean another size, and these; None: the letters are the same.
    within: Callable[[Any], list[tuple[Any, Sizes]]] | None = None


Kinds = Mapping[type, Kind]


def check_fields(record: Any, sizes: Sizes, kinds: Kinds) -> None:
    """Refuse a record whose fields are not of their types, or do not fit each other and `sizes`."""
    kind, name = kinds[type(record)], type(record).__name__
    held = {field: getattr(record, field) for field in field_names(kind.cls)}
    for field, value in held.items():
        if not _fits(value, _hints(kind.cls)[field], kinds):  # to write out every value takes long
            raise ValueError(f"{name}.{field} is of a wrong type: {value!r:.80}")
    # Whole numbers first: what they say, the sizes of arrays can be held against.
    for field in sorted(held, key=lambda field: type(held[field]) is not int):
        for part in _parts(held[field]):
            if isinstance(part, np.ndarray):
                _finite(part, f"{name}.{field}", kind, field)
                _size(part.shape, kind, record, field, sizes)
            elif type(part) is int and field in kind.sizes:
                _size((part,), kind, record, field, sizes)
            elif isinstance(part, float):
                _finite(np.asarray(part), f"{name}.{field}", kind, field)
            elif type(part) in kinds and kind.within is None:
                check_fields(part, sizes, kinds)
    for part, other in [] if kind.within is None else kind.within(record):
        check_fields(part, {**sizes, **other}, kinds)
    require(kind.holds(record), f"the numbers of {name} contradict each other")


def _parts(value: Any) -> Iterator[Any]:
    """What a field holds, out of its tuples, lists and dicts."""
    if type(value) in (tuple, list, dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _parts(part)
    else:
        yield value


def _finite(array: NDArray[Any], where: str, kind: Kind, field: str) -> None:
    if array.dtype.kind == "f":
        good = np.isfinite(array)
        good |= (field in kind.logs) & (array == -np.inf)
        good |= (field in kind.gaps) & np.isnan(array)
        require(good.all(), f"{where} contains NaN or infinity")


# ---- sizes ---------------------------------------------------------------------------------------
def _size(shape: tuple[int, ...], kind: Kind, record: Any, field: str, sizes: Sizes) -> None:
    said, own = kind.sizes[field], dict[str, int]()
    wanted = (said if isinstance(said, str) else said(record)).split()
    good = len(wanted) == len(shape) and all(
        _matches(letters, n, sizes, own) for letters, n in zip(wanted, shape, strict=True)
    )
    known = ", ".join(f"{letter}={n}" for letter, n in sizes.items())
    where = f"{type(record).__name__}.{field}"
    require(good, f"{where} has shape {shape}, which is not ({', '.join(wanted)}) with {known}")


def _matches(letters: str, n: int, sizes: Sizes, own: Sizes) -> bool:
    """Whether n is this sum; a letter not met before gets what is left."""
    open_, rest = [], n
    for term in letters.split("+"):
        here = sizes if term in "Kpq" else own
        if term.isdigit() or term in here:
            rest -= int(term) if term.isdigit() else here[term]
        else:
            open_.append((here, term))
    if open_:
        here, term = open_.pop()
        here[term], rest = rest, min(rest, 0)
    return rest == 0 and not open_


# ---- types ---------------------------------------------------------------------------------------
@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _unaliased(hint: Any) -> Any:
    """An annotation without the alias that it may go by: NDArray is one from NumPy 2.5 on."""
    alias = getattr(typing.get_origin(hint) or hint, "__value__", None)
    if alias is None:
        return hint
    args = typing.get_args(hint)
    return alias[args] if args else alias


def _fits(value: Any, hint: Any, kinds: Kinds) -> bool:
    """Whether a value is what an annotation of ours says."""
    hint = _unaliased(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, one, kinds) for one in args)
    if origin is typing.Literal:
        return any(type(value) is type(one) and value == one for one in args)
    if origin is np.ndarray:
        (cell,) = typing.get_args(args[1])
        return type(value) is np.ndarray and (cell is Any or value.dtype == np.dtype(cell))
    if origin is tuple:
        return type(value) is tuple and all(_fits(part, args[0], kinds) for part in value)
    if origin is list:
        return type(value) is list and all(_fits(part, args[0], kinds) for part in value)
    if origin is dict:
        return type(value) is dict and all(
            _fits(k, args[0], kinds) and _fits(v, args[1], kinds) for k, v in value.items()
        )
    if getattr(hint, "_is_protocol", False):
        asked = [name for name in vars(hint) if not name.startswith("_")]
        return type(value) in kinds and all(hasattr(type(value), name) for name in asked)
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))
