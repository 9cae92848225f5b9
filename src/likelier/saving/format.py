"""The file of a model: an archive, whose header says so, and of which version it is."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

from numpy.typing import NDArray

from likelier.storing import files
from likelier.storing.files import DIGEST as DIGEST
from likelier.storing.files import HEADER as HEADER
from likelier.storing.files import dtype_of as dtype_of
from likelier.storing.files import place_for as place_for
from likelier.storing.files import replacing as replacing
from likelier.storing.files import require as require
from likelier.storing.files import write as write

FORMAT, VERSION = "likelier model", 1


def packed(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """A whole file: equal contents are equal bytes."""
    return files.packed({"format": FORMAT, "version": VERSION, **header}, arrays)


class Archive(files.Archive):
    """A model's, of a version that can be read."""

    def _check(self) -> None:
        header = self.header
        require(header.get("format") == FORMAT, "its header is not a model's")
        version: Any = header.get("version")
        require(type(version) is int and version > 0, f"its format version is {version!r:.80}")
        if version > VERSION:
            raise ValueError(
                f"it has format version {version}, and this likelier reads up to {VERSION}: it was written "
                f"by a newer likelier ({header.get('likelier')!r:.80}). Upgrade likelier"
            )
        # A header of an earlier version is brought up to date here: all else knows one version only.


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """A file to read. Whatever is wrong with it, here or in the block, is a ValueError that names it."""
    path.stat()
    files.ordinary(path)
    with path.open("rb") as file:
        try:
            yield Archive(file)
        # The readers of zip, JSON and dtypes have many ways to say no, and none of them is news here.
        except Exception as problem:
            if isinstance(problem, BadZipFile) and not is_zipfile(path):
                raise ValueError(
                    f"{path} is not a likelier model file: it is not a model that can be loaded. Were the "
                    "arguments swapped?"
                ) from problem
            kind = "" if isinstance(problem, ValueError) else f"{type(problem).__name__}: "
            raise ValueError(f"{path} is not a model that can be loaded: {kind}{problem}") from problem
