"""Where files are: on this machine, or on any filesystem that Arrow or fsspec knows by the URL.

A file goes by one string throughout, its path or its URL, so that parts stay small and any process can open
it. Credentials are found as those libraries find them.
"""

import fnmatch
import glob
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

Stamp = tuple[int, int]

# What the names of compressed files end with, and what their content begins with.
PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4"}
_MAGIC = {"gzip": b"\x1f\x8b", "bz2": b"BZh", "zstd": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18"}

_BY_ARROW = ("s3", "gs", "gcs", "hdfs", "viewfs")
# A URL in three: the filesystem, the path on it, and what it is itself found in (zip://a.csv::s3://b/c.zip)
# or how it is to be opened (s3://b/a.csv?region=eu-west-1).
_URL = re.compile(r"((?:[\w+.-]+::)*([A-Za-z][\w+.-]+)://)(.*?)((?:::|\?[\w.]+=).*)?$", re.S)


class _Split(NamedTuple):
    """A URL, taken apart."""

    head: str
    scheme: str
    path: str
    rest: str

    def at(self, path: str) -> str:
        """The URL of another file of the same filesystem."""
        return f"{self.head}{path}{self.rest}"


def _split(path: str) -> _Split | None:
    found = _URL.match(path)
    return None if found is None else _Split(found[1], found[2].lower(), found[3], found[4] or "")


def is_url(path: str) -> bool:
    """Whether a path is a URL; file:// is none by the time that files are found."""
    return _split(path) is not None


def plain(path: str) -> str:
    """The same with ~ as the home folder, and file:// as the path that it is."""
    url = _split(path)
    if url is None:
        return os.path.expanduser(path)  # noqa: PTH111
    return unquote(url.path + url.rest) if url.head.lower() == "file://" else path


def name_of(path: str) -> str:
    """The name of a file, which says what is in it."""
    url = _split(path)
    return Path(path if url is None else url.path).name


def packing(path: str) -> str | None:
    """How a file is compressed, by the end of its name."""
    return PACKINGS.get(Path(name_of(path)).suffix.lower())


# ---- filesystems -------------------------------------------------------------------------------------
def _located(path: str) -> tuple[Any, str]:
    """The filesystem of a URL, as Arrow's, and the path on it."""
    url = _split(path)
    assert url is not None
    host, _, inner = url.path.partition("/")
    arrow = url.scheme in _BY_ARROW and url.head.lower() == f"{url.scheme}://"
    try:
        if arrow:
            system, root = _arrow_system(url.at(f"{host}/x"))
            return system, root.removesuffix("x") + inner
        within = url.rest if url.rest.startswith("::") else ""
        system = _fsspec_system(f"{url.head}{host}/{within}")
    except (OSError, ValueError, ImportError) as error:
        kind = next(kind for kind in (OSError, ImportError, ValueError) if isinstance(error, kind))
        raise kind(f"{path}: cannot be reached: {_first_line(error)}") from error
    one = url.head.split("::")[-1] + url.path + url.rest.removesuffix(within)
    return system, str(system.handler.fs._strip_protocol(one))


# Kept, since to connect takes longer than to read a small file, and since files of fsspec do not keep what
# they are read from.
@lru_cache(maxsize=64)
def _arrow_system(root: str) -> tuple[Any, str]:
    system, inner = fs.FileSystem.from_uri(root)
    return system, inner


@lru_cache(maxsize=64)
def _fsspec_system(root: str) -> Any:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError("fsspec is not installed: pip install fsspec") from None
    return fs.PyFileSystem(fs.FSSpecHandler(url_to_fs(root)[0]))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# ---- one file ----------------------------------------------------------------------------------------
def stamp(path: str) -> Stamp:
    """Size, and what else changes when a file does."""
    if not is_url(path):
        known = Path(path).stat()
        return known.st_size, known.st_mtime_ns
    system, inner = _located(path)
    if isinstance(system, fs.PyFileSystem):
        real = system.handler.fs
        real.invalidate_cache()
        return real.info(inner).get("size") or 0, real.checksum(inner)
    about = system.get_file_info(inner)
    if about.type == fs.FileType.NotFound:
        raise FileNotFoundError(path)
    return about.size or 0, about.mtime_ns or 0


def opened(path: str) -> Any:
    """A file that can be read at any place, packed as it is."""
    if not is_url(path):
        return pa.OSFile(path)
    system, inner = _located(path)
    return system.open_input_file(inner)


def stream(path: str) -> Any:
    """A file read from beginning to end, unpacked as its name says."""
    if not is_url(path):
        return pa.input_stream(path, compression=packing(path))
    system, inner = _located(path)
    return system.open_input_stream(inner, compression=packing(path))


def check_packing(path: str) -> None:
    """Refuse a file that is packed in another way than its name says."""
    with opened(path) as file:
        start = file.read(4)
    named = packing(path)
    packed = next((kind for kind, magic in _MAGIC.items() if start.startswith(magic)), None)
    if not start or named == packed:
        return
    if named is None:
        ending = next(ending for ending, kind in PACKINGS.items() if kind == packed)
        raise ValueError(
            f"{path}: the file is compressed by {packed}, and its name does not end with {ending}: rename "
            "it."
        )
    found = "not compressed" if packed is None else f"compressed by {packed}"
    raise ValueError(
        f"{path}: the name ends as that of a {named} file, but the file is {found}: rename it."
    )


# ---- many files --------------------------------------------------------------------------------------
def is_folder(path: str) -> bool:
    """Whether there are files below it."""
    if not is_url(path):
        return Path(path).is_dir()
    return bool(_about(path).type == fs.FileType.Directory)


def is_file(path: str) -> bool:
    """Whether it is a file itself, whatever its name looks like."""
    if not is_url(path):
        return Path(path).exists()
    return bool(_about(path).type == fs.FileType.File)


def _about(path: str) -> Any:
    system, inner = _located(path)
    try:
        return system.get_file_info(inner)
    except Exception as error:  # whatever a filesystem raises
        raise OSError(f"{path}: cannot be reached: {_first_line(error)}") from error


def below(path: str) -> list[str]:
    """All files of a folder and its folders, less what is hidden."""
    if not is_url(path):
        at = Path(path)
        return [str(file) for file in at.rglob("*") if _visible(file.relative_to(at)) and file.is_file()]
    return [url for inner, url in _listed(path, deep=True) if _visible(Path(inner))]


def matching(path: str) -> list[str]:
    """The files that a glob stands for; `**` goes through folders."""
    if not is_url(path):
        return [file for file in glob.glob(path, recursive=True) if Path(file).is_file()]  # noqa: PTH207
    url = _split(path)
    assert url is not None
    steps = url.path.split("/")
    fixed = next((i for i, step in enumerate(steps) if glob.has_magic(step)), len(steps))
    if fixed == len(steps):
        return []
    pattern = steps[fixed:]
    base = url.at("/".join(steps[:fixed]))
    found = _listed(base, deep=len(pattern) > 1)
    return [file for inner, file in found if _fits(inner.split("/"), pattern)]


def _visible(path: Path) -> bool:
    """Not hidden, and no note that a program left beside its data (_SUCCESS, _metadata)."""
    return not any(part.startswith((".", "_")) for part in path.parts)


def _listed(folder: str, *, deep: bool) -> list[tuple[str, str]]:
    """The files of a folder: their paths from there, and their URLs."""
    url, (system, base) = _split(folder), _located(folder)
    assert url is not None
    try:
        held = system.get_file_info(fs.FileSelector(base, allow_not_found=True, recursive=deep))
    except Exception as error:
        raise OSError(f"{folder}: cannot be listed: {_first_line(error)}") from error
    root, start = base.strip("/"), url.path.rstrip("/")
    found = []
    for one in held:
        if one.type == fs.FileType.File:
            inner = one.path.strip("/").removeprefix(root).strip("/")
            found.append((inner, url.at(f"{start}/{inner}" if start else inner)))
    return found


def _fits(steps: list[str], pattern: list[str]) -> bool:
    """Whether a path, step by step, is one that a glob means; hidden files only if it says so."""
    if not pattern:
        return not steps
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return _fits(steps, rest or ["*"]) or (
            bool(steps) and not steps[0].startswith(".") and _fits(steps[1:], pattern)
        )
    if not steps or (steps[0].startswith(".") and not first.startswith(".")):
        return False
    return fnmatch.fnmatchcase(steps[0], first) and _fits(steps[1:], rest)
