"""A folder of documents, one a file, in a folder for each class: `scan_folder`."""

import fnmatch
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from likelier.data.files.base import Span
from likelier.data.files.columns import Roles
from likelier.data.files.scan import Scan

TEXT, LABEL = "text", "label"
ERRORS = ("strict", "ignore", "replace")


@dataclass(frozen=True)
class Folder:
    """Documents and the names of their folders, as a table of two columns."""

    path: str
    documents: tuple[str, ...]  # paths below that of the folder
    labels: tuple[str, ...]  # (): there are none
    encoding: str
    decode_error: str

    @property
    def names(self) -> tuple[str, ...]:
        return (TEXT, LABEL) if self.labels else (TEXT,)

    @property
    def types(self) -> Mapping[str, Any]:
        return dict.fromkeys(self.names, pa.string())

    @property
    def index(self) -> tuple[str, ...]:
        return ()

    @property
    def rows(self) -> int:
        return len(self.documents)

    def counted(self) -> int:
        return self.rows

    def count(self) -> int:
        return self.rows

    def spans(self, rows: int) -> list[Span]:
        """Runs of files."""
        pieces = range(0, self.rows, max(1, rows // 8))  # a file takes longer than a row of a table
        return [Span(start, start, min(self.rows, start + pieces.step)) for start in pieces]

    def read(
        self, numbers: Sequence[str], labels: Sequence[str], span: Span, size: int, rows: int
    ) -> Iterator[Any]:
        wanted = iter(range(span.start, span.stop or self.rows))
        while some := list(islice(wanted, rows)):
            held = {LABEL: [self.labels[i] for i in some]} if LABEL in labels else {}
            if TEXT in labels:
                held[TEXT] = [self._text(i) for i in some]
            cells = [pa.array(held[name], pa.string()) for name in labels]
            yield pa.record_batch(cells, names=list(labels))

    def _text(self, i: int) -> str:
        path = Path(self.path, self.documents[i])
        try:
            return path.read_bytes().decode(self.encoding, self.decode_error)
        except UnicodeDecodeError as problem:
            raise ValueError(
                f"{path}: {problem}. Pass encoding='latin-1', or whatever it is in, or "
                "decode_error='replace'."
            ) from None
        except OSError as problem:
            raise OSError(f"{path}: cannot be read: {problem.strerror}") from problem

    def verbatim(self, names: Sequence[str]) -> Self:
        return self

    def described(self, name: str) -> str:
        return "string"

    def place(self, row: int) -> str:
        return f"row {row} ({Path(self.path, self.documents[row])})"


def scan_folder(
    path: str | os.PathLike[str],
    *,
    pattern: str = "*",
    encoding: str = "utf-8",
    decode_error: str = "strict",
) -> Scan:
    """Open a folder of documents, each in a file of its own, as one data source.

    The folder has a folder for each class, whose name is the label of all files in it. The files are read
    in parts, in parallel, and need not fit into memory.

    Parameters
    ----------
    path : str or path-like
        The folder. If it has files and no folders, these are documents without labels.
    pattern : str, default="*"
        Which files are meant, as in "*.txt". Names that begin with a dot are left out.
    encoding : str, default="utf-8"
        The encoding of the files.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What happens to bytes that cannot be decoded: an error, or they are left out or replaced.

    Returns
    -------
    Scan
        A source of documents: pass it to `TextClassifier`, or to a vectoriser.

    Raises
    ------
    FileNotFoundError
        If there is no such folder, or it has no documents.
    ValueError
        If documents lie beside the folders of the classes.

    See Also
    --------
    scan : Documents in a column of a table: Parquet, CSV or JSON lines.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import likelier as lk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for label, text in (("ham", "lunch at noon"), ("spam", "cheap pills"), ("spam", "win money")):
    ...         Path(folder, label).mkdir(exist_ok=True)
    ...         _ = Path(folder, label, text.replace(" ", "-")).write_text(text)
    ...     model = lk.TextClassifier().fit(lk.scan_folder(folder))
    >>> model.predict(["cheap money"]).tolist()
    ['spam']
    """
    if decode_error not in ERRORS:
        raise ValueError(
            f"decode_error must be one of {', '.join(map(repr, ERRORS))}; got {decode_error!r}."
        )
    try:
        "".encode(encoding)
    except LookupError:
        raise ValueError(f"encoding={encoding!r} is not a known encoding.") from None
    root = Path(path).expanduser()
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}")
    found = sorted(_below(root, pattern))
    if not found:
        raise FileNotFoundError(f"{root}: the folder has no files that match {pattern!r}.")
    alone = [name for name in found if len(Path(name).parts) == 1]
    if alone and len(alone) < len(found):
        raise ValueError(
            f"{root}: {alone[0]} lies beside the folders of the classes, so it has no label. Move it, or "
            "pass a pattern that leaves it out."
        )
    labels = () if alone else tuple(Path(name).parts[0] for name in found)
    folder = Folder(str(root), tuple(found), labels, encoding, decode_error)
    targets = (LABEL,) if labels else ()
    return Scan((folder,), Roles((TEXT,), targets, text=True))


def _below(root: Path, pattern: str) -> Iterator[str]:
    """The files below a folder, as paths from there."""
    for place, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and fnmatch.fnmatch(name, pattern):
                yield str(Path(place, name).relative_to(root))
