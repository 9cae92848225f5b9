"""Which files are meant, and which columns they must have."""

import glob
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

from likelier.data import places
from likelier.data.arrow import same_kind
from likelier.data.stored import File

Format = Literal["parquet", "csv", "tsv", "jsonl", "svmlight", "vw"]

_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
}


def find(path: Any, format: Format | None) -> tuple[list[str], Format]:
    """The files that are meant, sorted, and their format."""
    if format is not None and format not in get_args(Format):
        raise ValueError(f"format={format!r}: it is one of {', '.join(get_args(Format))}")
    if not isinstance(path, str | os.PathLike | Iterable):
        raise TypeError(f"path={path!r}: it is a file, a folder, a glob, or a list of them")
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    paths = sorted({file for one in given for file in _matches(os.fspath(one), format)})
    if not paths:
        raise ValueError("no files: the list is empty")
    if format is not None:
        return paths, format
    formats = {file: _format_of(file) for file in paths}
    unclear = [file for file, kind in formats.items() if kind is None]
    if unclear:
        raise ValueError(
            f"{unclear[0]}: the name does not say what is in it: pass format=, one of "
            f"{', '.join(map(repr, get_args(Format)))}."
        )
    kinds = {kind: file for file, kind in formats.items() if kind is not None}
    if len(kinds) > 1:
        raise ValueError(f"files of several formats: {', '.join(kinds.values())}. Scan one at a time.")
    return paths, next(iter(kinds))


def _matches(path: str, format: Format | None) -> list[str]:
    path = places.plain(path)
    if places.is_folder(path):
        found = [file for file in places.below(path) if format is not None or _format_of(file) is not None]
        if not found:
            endings = ", ".join(_ENDINGS)
            raise FileNotFoundError(f"{path}: the folder has no files whose names end with {endings}.")
        return found
    if places.is_file(path):
        return [path]
    found = places.matching(path)
    if not found:
        raise FileNotFoundError(f"no file matches {path!r}{_hint(path)}")
    return found


def _format_of(path: str) -> Format | None:
    endings = [ending.lower() for ending in Path(places.name_of(path)).suffixes]
    if endings and endings[-1] in places.PACKINGS:
        endings.pop()
    return _ENDINGS.get(endings[-1]) if endings else None


def _hint(path: str) -> str:
    if places.is_url(path):
        return ""
    folder, name = Path(path).parent, Path(path).name
    if not folder.is_dir():
        return "" if glob.has_magic(str(folder)) else f": there is no folder {folder}"
    near = get_close_matches(name, [file.name for file in folder.iterdir()], n=3)
    return f"; near it: {', '.join(near)}" if near else ""


def known_columns(files: Sequence[File], columns: Sequence[str]) -> None:
    """Refuse a column that a file has not, has twice, or has of another type than the first file."""
    first = files[0]
    for file in files:
        counts = Counter(file.names)
        for name in columns:
            if counts[name] == 0:
                raise ValueError(f"{file.path}: no column named {name!r}{_near(name, file.names)}")
            if counts[name] > 1:
                raise ValueError(
                    f"{file.path}: {counts[name]} columns named {name!r}. Each needs a name of its own; in "
                    "CSV they stand on the first line."
                )
            if not same_kind(file.types[name], first.types[name]):
                raise unlike(file, first, name)


def unlike(file: File, first: File, name: str) -> ValueError:
    """A column has another type in one file than in the first."""
    return ValueError(
        f"{file.path}: column {name!r} is of type {file.types[name]}, and in {first.path} of type "
        f"{first.types[name]}. Write it with one type everywhere."
    )


def _near(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, n=3)
    if near:
        return f"; near it: {', '.join(map(repr, near))}"
    some = ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"; columns: {some}"
