"""The file formats that likelier reads: one table for `scan`, for `likelier stream` and for their help."""

from typing import Any, NamedTuple


class FileFormat(NamedTuple):
    """A format of files. How `scan` opens them: `READERS` in data/files/scan.py.

    parser: which of the core's text parsers reads its rows in a stream; None: it is not text.
    delimiter: what stands between cells, for the formats that have one.
    """

    endings: tuple[str, ...]  # of the names of files
    parser: str | None = None
    delimiter: str | None = None
    sparse: bool = False  # lines of index:value: columns have no names, and the target is first
    scanned: bool = True  # whether `scan` takes it, too


# By the names that format= and --format take.
FORMATS: dict[str, FileFormat] = {
    "parquet": FileFormat((".parquet", ".pq")),
    "csv": FileFormat((".csv",), "csv", ","),
    "tsv": FileFormat((".tsv", ".tab"), "csv", "\t"),
    "jsonl": FileFormat((".jsonl", ".ndjson"), "json"),
    "json": FileFormat((".json",), "json", scanned=False),  # a file of this name may be one JSON value
    "svmlight": FileFormat((".svm", ".svmlight", ".libsvm"), "svmlight", sparse=True),
    "vw": FileFormat((".vw",), "vw", sparse=True),
}


def scanned() -> dict[str, FileFormat]:
    """The formats of `scan`."""
    return {name: kind for name, kind in FORMATS.items() if kind.scanned}


def delimited_by(delimiter: Any) -> str:
    """A delimiter, checked."""
    if not (isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()):
        raise ValueError(
            f"delimiter must be one ASCII character, such as ';', '|' or '\\t'; got {delimiter!r}."
        )
    if delimiter in '"\r\n\0':
        raise ValueError(
            f"delimiter must not be a quotation mark or a line end, which have another meaning in CSV; got "
            f"{delimiter!r}."
        )
    return delimiter
