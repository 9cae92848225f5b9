"""Files that are written whole or not at all: archives of arrays, and files of frames."""

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
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

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
            require(max(content[len(prefix) :], default=0) <= 1, f"array {name}: a truth is 0 or 1")
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
    require(isinstance(header, dict), "its header is no header")
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
