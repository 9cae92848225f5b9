"""What delimited text says of itself: its encoding, what stands between cells, the names of columns."""

import codecs
import csv
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from likelier.data.places import stream

UTF8 = "utf-8"
_WIDE = {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # the marks that such files begin with
_OTHERS = ";\t|"  # what else programs write between cells
_SOME = 1 << 12  # bytes, among which a binary file has a zero
_UNREADABLE = "\ufffd"  # what stands for bytes that are no text


class Dialect(NamedTuple):
    """How lines are made: what stands between cells, as was `said` or by the format, and if the first line
    names the columns."""

    delimiter: str
    said: bool = False
    header: bool = True


def delimited_by(delimiter: Any) -> str:
    """A delimiter, checked."""
    if not (isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()):
        raise ValueError(
            f"delimiter must be one ASCII character, such as ';', '|' or '\\t'; got {delimiter!r}."
        )
    if delimiter in '"\r\n\0':
        raise ValueError(
            f"delimiter={delimiter!r}: quotation marks and line ends have another meaning in CSV."
        )
    return delimiter


class Heading(NamedTuple):
    """The first record of a file, and how it was read."""

    names: tuple[str, ...]
    delimiter: str
    encoding: str


def heading(path: str, how: Dialect, encoding: str | None) -> Heading:
    """The names of the columns; no encoding: UTF-16 by its mark, else UTF-8.

    Unless the delimiter was said, a first line without commas that has semicolons, tabs or bars is split at
    these. Columns of a file without a header are called "0", "1", "2", ...
    """
    code, delimiter = _encoding(path, encoding), how.delimiter
    names = _first(path, delimiter, code)
    if not names and not how.header:
        raise ValueError(f"{path}: the file is empty: nobody can tell how many columns it has.")
    if not names:
        raise ValueError(f"{path}: the file is empty: it needs a line with the names of its columns.")
    sure = how.said or delimiter != "," or len(names) > 1
    other = next((one for one in _OTHERS if not sure and one in names[0]), None)
    if other is not None:
        names, delimiter = _first(path, other, code), other
    if not how.header:
        return Heading(tuple(map(str, range(len(names)))), delimiter, code)
    if any(_UNREADABLE in name for name in names):
        raise ValueError(
            f"{path}: the names of its columns are not {code.upper()} text: say how it is written, as in "
            "encoding='latin-1'."
        )
    return Heading(names, delimiter, code)


def _encoding(path: str, given: str | None) -> str:
    with stream(path) as file:
        start = file.read(_SOME)
    marked = next((name for mark, name in _WIDE.items() if start.startswith(mark)), None)
    if given is None and marked is None and b"\0" in start:
        line = start[: start.index(0)].count(b"\n") + 1
        raise ValueError(
            f"{path}, line {line}: a zero byte: this is no text. Say what the file is by its name or by "
            "format=; text of another encoding needs encoding='utf-16'."
        )
    try:
        return codecs.lookup(given or marked or UTF8).name
    except LookupError:
        raise ValueError(
            f"encoding={given!r}: there is none of this name; some are 'utf-8', 'latin-1', 'cp1252' and "
            "'utf-16'"
        ) from None


def _first(path: str, delimiter: str, encoding: str) -> tuple[str, ...]:
    return tuple(next(records(path, delimiter, encoding), (0, []))[1])


def records(path: str, delimiter: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The header and all rows, each with the line on which it begins; blank lines are none."""
    code = "utf-8-sig" if encoding == UTF8 else encoding
    with stream(path) as raw, io.TextIOWrapper(raw, encoding=code, errors="replace", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter)
        line = 1
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
