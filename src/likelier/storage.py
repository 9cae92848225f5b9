"""Values and arrays in files that are written whole or not at all."""

import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

# Values as plain data: what JSON has stays as it is, arrays go beside it, all else has a tag.

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
        require(data.keys() == {"record", "fields"}, f"{data!r:.80} is not a value")
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
    require(data["float"] in ("nan", "inf", "-inf"), f"{data!r:.80} is not a number")
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


# Files that are whole or not there; and archives: a zip of uncompressed .npy arrays and a JSON header.
#
# Each has a checksum. Nothing is compressed: statistics hardly shrink, equal contents are equal bytes
# everywhere, and no file can ask for more memory than its own length.

HEADER, DIGEST = "header.json", "header.sha256"

# No objects, records or subarrays: nothing that is more than its bytes.
_DTYPE = re.compile(r"[<>|][biufSU]\d{1,9}|[<>][mM]8(\[\d{0,9}[a-zA-Z]{1,2}\])?")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of which systems do not say where
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can say: the same for every file


def require(condition: Any, reason: str) -> None:
    """Refuse a file for a reason."""
    if not condition:
        raise ValueError(reason)


def dtype_of(text: Any) -> np.dtype[Any]:
    """The dtype that a header names."""
    require(isinstance(text, str) and _DTYPE.fullmatch(text), f"arrays of dtype {text!r} are not read")
    dtype: np.dtype[Any] = np.dtype(text)
    return dtype


# ---- writing -------------------------------------------------------------------------------------
def packed(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """A whole archive: equal contents are equal bytes."""
    entries, members = {}, {}
    for name, array in arrays.items():
        axes = _axes(array)
        stored = np.array(array.transpose(axes), order="C")
        members[name] = _prefix(stored.dtype, stored.shape) + stored.tobytes()
        entries[name] = {"dtype": stored.dtype.str, "shape": list(stored.shape)}
        if axes != sorted(axes):
            entries[name]["axes"] = np.argsort(axes).tolist()
        entries[name]["sha256"] = hashlib.sha256(members[name]).hexdigest()
    text = json.dumps({**header, "arrays": entries}, indent=1, allow_nan=False).encode("ascii")
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, HEADER, text)
        _add(archive, DIGEST, hashlib.sha256(text).hexdigest().encode("ascii"))
        for name, content in members.items():
            _add(archive, f"{name}.npy", content)
    return out.getvalue()


def _axes(array: NDArray[Any]) -> list[int]:
    """The axes from the slowest to the fastest: sums over an array that lies otherwise round otherwise."""
    if array.flags.c_contiguous:
        return list(range(array.ndim))
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


def _prefix(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """What precedes the cells in a .npy file, version 1.0: up to a multiple of 64 bytes."""
    text = f"{{'descr': {dtype.str!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    length = -(-(10 + len(text) + 1) // 64) * 64 - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1).encode() + b"\n"


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, _DATE)
    member.create_system, member.external_attr = 3, 0o644 << 16  # the same on every system
    archive.writestr(member, content)


def write(path: Path, content: bytes) -> None:
    """All of it under this name, or, whatever fails, all as it was."""
    with replacing(path) as file:
        file.write(content)


def place_for(path: Path) -> Path:
    """Where a file of this name comes to lie; refused if none can."""
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to save in: make it first")
    if path.exists():
        ordinary(path)
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"the folder {path.parent} may not be written to: {path} cannot be made")
    return path


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which has its name once it is whole; whatever fails, all is as it was."""
    path = place_for(path)
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        # Not tempfile: its files can be read by their owner alone, whatever the umask says.
        with _new(beside, path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException as problem:
        beside.unlink(missing_ok=True)
        if isinstance(problem, OSError) and problem.errno in _FULL and problem.filename is None:
            raise _unwritten(problem, path) from None
        raise


def _new(beside: Path, path: Path) -> IO[bytes]:
    """A file that was not there; an error speaks of the name that it is to have."""
    try:
        return beside.open("xb")
    except OSError as problem:
        raise _unwritten(problem, path) from None


def _unwritten(problem: OSError, path: Path) -> OSError:
    return OSError(problem.errno, f"cannot be written: {problem.strerror}", str(path))


def ordinary(path: Path) -> None:
    """Refuse what is no file."""
    kind = path.stat().st_mode
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(f"{path} is a folder: name a file, for example {path / 'model.lk'}")
    if not stat.S_ISREG(kind):
        raise OSError(f"{path} is not an ordinary file")


# ---- reading -------------------------------------------------------------------------------------
class Archive:
    """A file that is open: its header, checked, and its arrays, each checked when it is asked for."""

    def __init__(self, file: IO[bytes]) -> None:
        length = file.seek(0, os.SEEK_END)
        self._zip = zipfile.ZipFile(file)
        members = self._zip.infolist()
        self._members = {member.filename: member for member in members}
        require(HEADER in self._members, f"it has no {HEADER}")
        require(len(self._members) == len(members), "two of its members have one name")
        stored = all(m.compress_type == 0 and m.compress_size == m.file_size for m in members)
        require(stored and sum(m.file_size for m in members) <= length, "a member has a wrong size")
        self.header = _parsed(self._read(HEADER), self._read(DIGEST))
        self._check()
        require(isinstance(self.header.get("arrays"), dict), "its header lists no arrays")
        self._entries: dict[str, Any] = self.header["arrays"]
        wanted = {HEADER, DIGEST, *(f"{name}.npy" for name in self._entries)}
        require(self._members.keys() == wanted, "its members are not those that its header lists")

    def _check(self) -> None:
        """Refuse a header that is not what it should be."""

    @property
    def names(self) -> set[str]:
        """Of the arrays."""
        return set(self._entries)

    def section(self, name: str) -> dict[str, Any]:
        """A part of the header by names."""
        found = self.header.get(name)
        require(isinstance(found, dict), f"its header has no {name}")
        return dict(found or {})

    def array(self, name: str) -> NDArray[Any]:
        """One of the arrays, lying in memory as it did."""
        require(name in self._entries, f"there is no array {name!r}")
        entry = self._entries[name]
        dtype, shape = dtype_of(entry["dtype"]), _whole(entry["shape"])
        axes = _whole(entry.get("axes", list(range(len(shape)))))
        require(sorted(axes) == list(range(len(shape))), f"array {name}: axes {list(axes)} are no order")
        prefix = _prefix(dtype, shape)
        size = len(prefix) + math.prod(shape) * dtype.itemsize
        require(self._members[f"{name}.npy"].file_size == size, f"array {name} has not the size of {shape}")
        content = self._read(f"{name}.npy")
        _compare(name, content, entry["sha256"])
        require(content.startswith(prefix), f"array {name} is not the .npy that the header describes")
        if dtype.kind == "b":
            require(max(content[len(prefix) :], default=0) <= 1, f"array {name}: booleans must be 0 or 1")
        flat = np.frombuffer(content, np.uint8, offset=len(prefix))
        cells = np.empty(shape, dtype)
        cells.reshape(-1).view(np.uint8)[...] = flat
        return cells.transpose(axes)

    def _read(self, name: str) -> bytes:
        require(name in self._members, f"it has no {name}")
        return self._zip.read(self._members[name])


def _compare(name: str, content: bytes, digest: Any) -> None:
    found = hashlib.sha256(content).hexdigest()
    require(found == digest, f"{name} has been changed since it was saved: its checksum differs")


def _whole(numbers: Any) -> tuple[int, ...]:
    good = isinstance(numbers, list) and all(type(n) is int and 0 <= n < 2**48 for n in numbers)
    require(good and len(numbers) <= 8, f"{numbers!r:.80} is not a list of sizes")
    return tuple(numbers)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _parsed(text: bytes, digest: bytes) -> dict[str, Any]:
    _compare(HEADER, text, digest.decode("ascii"))
    header: dict[str, Any] = json.loads(text.decode("ascii"), parse_constant=_no_constant)
    require(isinstance(header, dict), "its header is not valid")
    return header


# A file of frames, one after another, written anew as a whole whenever some are added.

BLOCK = 1 << 20
LENGTH, DIGEST_BYTES = 8, 32  # bytes that say how long a frame is; of the checksum of all, at the end


class Frames:
    """Pieces of bytes under one name: all of them or, whatever fails, those that were there before."""

    def __init__(self, path: Path, magic: bytes) -> None:
        self.path, self.magic = place_for(path), magic
        self._ends = [len(magic)]  # of the magic, then of each frame
        self._mine = self._there()  # what is under the name, if nobody else puts anything there
        if self._mine is not None:
            self._open()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, i: int) -> bytes:
        self._check_mine()
        with self.path.open("rb") as file:
            file.seek(self._ends[i] + LENGTH)
            return file.read(self._ends[i + 1] - self._ends[i] - LENGTH)

    def rewrite(self, keep: int, more: Sequence[bytes]) -> None:
        """The first `keep` frames, then these."""
        self._check_mine()
        total, ends = hashlib.sha256(), self._ends[: keep + 1]
        with replacing(self.path) as file:

            def put(content: bytes) -> None:
                file.write(content)
                total.update(content)

            if keep:
                with self.path.open("rb") as old:
                    _each_block(old, ends[-1], put)
            else:
                put(self.magic)
            for frame in more:
                put(len(frame).to_bytes(LENGTH, "little"))
                put(frame)
                ends.append(ends[-1] + LENGTH + len(frame))
            file.write(total.digest())
        self._ends, self._mine = ends, self._there()

    def remove(self) -> None:
        """They are no longer needed; what somebody else has put in their place may be."""
        if self._there() == self._mine:
            self.path.unlink(missing_ok=True)

    def _there(self) -> tuple[int, ...] | None:
        """What tells one file of this name from another; None: there is none."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _check_mine(self) -> None:
        if self._there() != self._mine:
            raise OSError(
                f"{self.path} was written or removed meanwhile: another process uses it, too. Name a file "
                "of its own for each."
            )

    def _open(self) -> None:
        """Where the frames are. A file that is not as it was written is refused as a whole."""
        length, total = self.path.stat().st_size, hashlib.sha256()
        with self.path.open("rb") as file:
            require(file.read(len(self.magic)) == self.magic, "it does not begin as one")
            file.seek(0)
            _each_block(file, max(0, length - DIGEST_BYTES), total.update)
            require(file.read() == total.digest(), "it is cut short or was changed: its checksum differs")
            while self._ends[-1] < length - DIGEST_BYTES:
                file.seek(self._ends[-1])
                self._ends.append(self._ends[-1] + LENGTH + int.from_bytes(file.read(LENGTH), "little"))
        require(self._ends[-1] == length - DIGEST_BYTES, "its frames do not fit into it")


def _each_block(file: IO[bytes], left: int, take: Callable[[bytes], object]) -> None:
    while left and (block := file.read(min(left, BLOCK))):
        take(block)
        left -= len(block)
