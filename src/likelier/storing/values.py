"""Values as plain data: what JSON has stays as it is, arrays go beside it, all else has a tag.

null, true, 3, 0.5, "word", [...]                as they are
{"float": "nan"}                                 a number that JSON has not: nan, inf, -inf
{"bytes": "00ff"}                                bytes, in hexadecimal
{"scalar": "<f4", "bytes": "0000803f"}           a NumPy scalar: dtype and bytes
{"tuple": [...]}  {"dict": [[key, value], ...]}
{"objects": [...], "shape": [3]}                 an array of Python's strings, numbers and truths
{"array": "model/params/mean"}                   an array of this name; each is named once
{"record": "states.Moments", "fields": {...}}    a class of the closed table of records
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.storing.files import dtype_of, require

Take = Callable[[str], NDArray[Any]]
_CELLS = (str, bytes, int, float, np.generic)  # of an array of objects


class Unsaveable(ValueError):
    """A value that no file can hold."""

    def __init__(self, path: str, value: Any) -> None:
        self.path, self.value = path, value
        super().__init__(
            f"{path.replace('/', '.')} is {value!r:.200}, of class {type(value).__name__}: a file holds "
            "numbers, strings, lists and NumPy arrays of them, and no other objects."
        )


def field_names(cls: type) -> list[str]:
    """Of a dataclass or a NamedTuple: what it is made from, not what it has worked out since."""
    return list(getattr(cls, "_fields", ())) or [f.name for f in fields(cls) if f.init]


# ---- out -----------------------------------------------------------------------------------------
def encode(value: Any, path: str, arrays: dict[str, NDArray[Any]], records: Mapping[str, type]) -> Any:
    """Plain data for a value; its arrays are added to `arrays`, named by their place, `path`."""
    names = {cls: name for name, cls in records.items()}

    def plain(value: Any, path: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if kind is bytes:
            return {"bytes": value.hex()}
        if isinstance(value, np.generic):
            return _scalar(value, path)
        if kind is np.ndarray:
            return array(value, path)
        if kind in (list, tuple):
            cells = each(value, path)
            return cells if kind is list else {"tuple": cells}
        if isinstance(value, dict):
            pairs = zip(each(value.keys(), f"{path}/key"), each(value.values(), path), strict=True)
            return {"dict": [list(pair) for pair in pairs]}
        if kind in names:
            held = {name: plain(getattr(value, name), f"{path}/{name}") for name in field_names(kind)}
            return {"record": names[kind], "fields": held}
        raise Unsaveable(path, value)

    def each(values: Any, path: str) -> list[Any]:
        return [plain(v, f"{path}/{i}") for i, v in enumerate(values)]

    def array(value: NDArray[Any], path: str) -> Any:
        if value.dtype.kind == "O":
            for cell in value.flat:
                if not isinstance(cell, _CELLS):
                    raise Unsaveable(path, cell)
            return {"objects": each(value.ravel().tolist(), path), "shape": list(value.shape)}
        _check_dtype(value, path)
        arrays[path] = value
        return {"array": path}

    return plain(value, path)


def _check_dtype(value: Any, path: str) -> None:
    try:
        dtype_of(value.dtype.str)
    except ValueError:
        raise Unsaveable(path, value) from None


def _scalar(value: np.generic, path: str) -> Any:
    cell = np.asarray(value)
    _check_dtype(cell, path)
    return {"scalar": cell.dtype.str, "bytes": cell.tobytes().hex()}


# ---- in ------------------------------------------------------------------------------------------
def decode(data: Any, take: Take, records: Mapping[str, type]) -> Any:
    """The value that plain data stand for; `take` gives an array by its name."""

    def each(cells: Any) -> list[Any]:
        require(isinstance(cells, list), f"{cells!r:.80} is not a list")
        return [value(cell) for cell in cells]

    def value(data: Any) -> Any:
        if isinstance(data, list):
            return each(data)
        if not isinstance(data, dict):
            return data
        read = _TAGS.get("+".join(sorted(map(str, data))))
        if read is not None:
            return read(data, each)
        if data.keys() == {"array"}:
            return take(str(data["array"]))
        require(data.keys() == {"record", "fields"}, f"{data!r:.80} is no value")
        return _record(data, value, records)

    return value(data)


def _record(data: dict[str, Any], value: Callable[[Any], Any], records: Mapping[str, type]) -> Any:
    name, held = data["record"], data["fields"]
    require(isinstance(name, str) and name in records, f"there is no kind of record {name!r:.80}")
    require(isinstance(held, dict), f"{name} has no fields")
    cls = records[name]
    unknown = held.keys() - set(field_names(cls))
    require(not unknown, f"{name} has no field {', '.join(sorted(unknown)):.80}")
    # A field that is not there came into being later: its default says what there was before.
    return cls(**{key: value(cell) for key, cell in held.items()})


def _float(data: Any, each: Any) -> float:
    require(data["float"] in ("nan", "inf", "-inf"), f"{data!r:.80} is no number")
    return float(data["float"])


def _numpy_scalar(data: Any, each: Any) -> Any:
    dtype, content = dtype_of(data["scalar"]), bytes.fromhex(data["bytes"])
    require(len(content) == dtype.itemsize > 0, f"{data!r:.80} has not the size of its dtype")
    return np.frombuffer(content, dtype)[0]


def _objects(data: Any, each: Any) -> NDArray[Any]:
    cells, shape = each(data["objects"]), data["shape"]
    good = all(isinstance(cell, _CELLS) for cell in cells)
    require(good and isinstance(shape, list), f"{data!r:.80}: an array of objects holds plain ones")
    flat = np.empty(len(cells), dtype=object)
    flat[:] = cells
    return flat.reshape([int(size) for size in shape])


def _dict(data: Any, each: Any) -> dict[Any, Any]:
    pairs = each(data["dict"])
    require(all(isinstance(p, list) and len(p) == 2 for p in pairs), f"{data!r:.80} is not a list of pairs")
    return dict(pairs)


_TAGS: dict[str, Callable[[Any, Any], Any]] = {
    "float": _float,
    "bytes": lambda data, each: bytes.fromhex(data["bytes"]),
    "bytes+scalar": _numpy_scalar,
    "tuple": lambda data, each: tuple(each(data["tuple"])),
    "dict": _dict,
    "objects+shape": _objects,
}
