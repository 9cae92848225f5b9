"""Text from files and pipes, in blocks as they come, and which format it has."""

import codecs
import errno
import os
import re
import select
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import PurePath
from types import TracebackType
from typing import NamedTuple, Self

# So much text that what Python does for each block is little beside it, and so little that the cells which
# are made of it stay in cache.
BLOCK_BYTES = 1 << 19
# So long nothing may come through a pipe before what has come is taken for all there is for now.
PAUSE = 0.1

_STANDARD_INPUT = 0
_LONGEST = 1 << 20  # bytes that are waited for if no line ends

_GZIP = b"\x1f\x8b"
_ZLIB_GZIP = 31  # zlib's number for gzip members
_OTHERS = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"PK\x03\x04": "a zip archive",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"\xff\xfe": "text in UTF-16 (say so: --encoding utf-16)",
    b"\xfe\xff": "text in UTF-16 (say so: --encoding utf-16)",
}


class Format(NamedTuple):
    """How rows are written: csv, json, svmlight or vw, and what stands between the cells of a csv."""

    kind: str
    delimiter: str = ","


class Text:
    """The text of a file, or of standard input (`-`), unpacked if it is gzip; `start` is its beginning."""

    def __init__(
        self, path: str | os.PathLike[str], size: int = BLOCK_BYTES, encoding: str | None = None
    ) -> None:
        self.name = "standard input" if path == "-" else os.fspath(path)
        self.position = 0  # bytes that have been read, as they lie on disk
        self._size = size
        self._owned = path != "-"
        self._file = os.open(path, os.O_RDONLY) if self._owned else _STANDARD_INPUT
        try:
            mode = os.fstat(self._file).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.name)
            self._waits = not stat.S_ISREG(mode)
            self._blocks = self._unpacked() if encoding is None else self._decoded(encoding)
            self.start = b""
            while b"\n" not in self.start and (more := next(filter(None, self._blocks), None)):
                self.start += more
                if len(self.start) > _LONGEST:
                    break
            _must_be_text(self.name, self.start)
        except BaseException:
            self.close()
            raise

    def blocks(self) -> Iterator[bytes]:
        """All of the text, once; an empty block says that nothing has come for a while.

        What is wrong with a packed file is raised when all that could be unpacked has been yielded.
        """
        if self.start:
            yield self.start
        yield from self._blocks

    def close(self) -> None:
        if self._owned and self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> Iterator[bytes]:
        """What is there, as it comes."""
        while True:
            if self._waits and not select.select([self._file], [], [], PAUSE)[0]:
                yield b""
                select.select([self._file], [], [])
            block = os.read(self._file, self._size)
            if not block:
                return
            self.position += len(block)
            yield block

    def _unpacked(self) -> Iterator[bytes]:
        blocks = self._read()
        start = b""
        while len(start) < len(_GZIP) and (more := next(filter(None, blocks), None)):
            start += more
        if start.startswith(_GZIP):
            yield from self._members(chain([start], blocks))
        elif start:
            yield start
            yield from blocks

    def _decoded(self, encoding: str) -> Iterator[bytes]:
        """Text of another encoding, as UTF-8."""
        try:
            decoder = codecs.getincrementaldecoder(encoding)()
        except LookupError:
            raise ValueError(
                f"--encoding {encoding}: there is none of this name; some are utf-8, latin-1, cp1252 and "
                "utf-16"
            ) from None
        try:
            for block in self._unpacked():
                yield decoder.decode(block).encode()
            yield decoder.decode(b"", final=True).encode()
        except UnicodeDecodeError as problem:
            raise ValueError(f"{self.name}: this is not {encoding} text ({problem.reason})") from None

    def _members(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The members of a gzip file, one after another; zeros may follow them."""
        member, done = None, False
        for block in blocks:
            packed = block
            if not packed:
                yield packed
            while packed:
                if member is None:
                    packed = packed.lstrip(b"\0") if done else packed
                    if not packed:
                        break
                    member = zlib.decompressobj(_ZLIB_GZIP)
                with self._unpacking():
                    text = member.decompress(packed, self._size)
                if text:
                    yield text
                packed = member.unused_data if member.eof else member.unconsumed_tail
                if member.eof:
                    member, done = None, True
        if member is not None:
            with self._unpacking():
                text = member.flush()
            if text:
                yield text
            if not member.eof:
                raise ValueError(
                    f"{self.name}: the gzip file is cut short: what came before its end was read."
                )

    @contextmanager
    def _unpacking(self) -> Iterator[None]:
        try:
            yield
        except zlib.error as problem:
            raise ValueError(
                f"{self.name}: the gzip file is damaged ({problem}): what came before that was read."
            ) from None


def _must_be_text(name: str, start: bytes) -> None:
    for magic, what in _OTHERS.items():
        if start.startswith(magic):
            raise ValueError(
                f"{name}: this is {what}; what can be read is text in UTF-8, plain or gzip: "
                "CSV, TSV, JSON lines, svmlight, VW."
            )
    zeros = start.count(0)
    if b"\0" in _first_line(start) or zeros > len(start) // 100:
        line = start[: start.index(0)].count(b"\n") + 1
        raise ValueError(
            f"{name}, line {line}: a zero byte: this is not text, but binary data. Text of another "
            "encoding needs --encoding, for example utf-16."
        )


_BY_NAME = {
    "csv": Format("csv"),
    "tsv": Format("csv", "\t"),
    "tab": Format("csv", "\t"),
    "json": Format("json"),
    "jsonl": Format("json"),
    "ndjson": Format("json"),
    "svm": Format("svmlight"),
    "libsvm": Format("svmlight"),
    "svmlight": Format("svmlight"),
    "vw": Format("vw"),
}
_NUMBER = rb"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
_SVMLIGHT = re.compile(
    rb"\s*(?:" + _NUMBER + rb"\s+)?(?:qid:\S+\s+)?(?:\d+:" + _NUMBER + rb"(?:\s+|$))+(?:#.*)?$"
)
# Up to three numbers and a tag, a bar, and the name of a namespace or none.
_VW = re.compile(rb"\s*(?:" + _NUMBER + rb"\s+){0,3}(?:'?[^\s|,\t]*)\|[^\s|]*(?:[ \t]|$)")


def format_of(name: str, start: bytes) -> Format:
    """By the ending of the name (`.gz` left out), or by the first line."""
    endings = [ending.lstrip(".").lower() for ending in PurePath(name).suffixes]
    ending = next((ending for ending in reversed(endings) if ending != "gz"), "")
    found = _BY_NAME.get(ending) or _by_line(name, start)
    line = _first_line(start)
    if found.kind == "csv" and found.delimiter.encode() not in line:
        found = next((Format("csv", d) for d in "\t;" if d.encode() in line), found)
    return found


def _by_line(name: str, start: bytes) -> Format:
    line = _first_line(start)
    if line.startswith(b"{"):
        return Format("json")
    if line.startswith(b"["):
        raise ValueError(f"{name}: this is a JSON array: JSON lines, with one object a line, can be read.")
    if _SVMLIGHT.match(line):
        return Format("svmlight")
    if _VW.match(line):
        return Format("vw")
    return Format("csv", "\t" if b"\t" in line else ",")


def _first_line(start: bytes) -> bytes:
    """The first line that is neither blank nor a comment of svmlight's."""
    lines = (line.strip(b" \r") for line in start.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    return next((line for line in lines if line and not line.startswith(b"#")), b"")
