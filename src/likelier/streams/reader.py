"""Text from files and pipes as batches of hashed rows, read in a thread of its own; a stream to its end."""

import codecs
import errno
import os
import re
import select
import signal
import stat
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import chain
from pathlib import Path, PurePath
from queue import Empty, Queue
from shlex import quote
from threading import Thread
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Protocol, Self, TypeVar

from likelier._core import HashedRows, TextParser
from likelier.array_types import Floats
from likelier.streams.delayed import with_room
from likelier.streams.figures import Curve
from likelier.streams.formats import FORMATS
from likelier.streams.model import Online

# Reading and hashing in one thread, while another learns.

Found = TypeVar("Found")
# Puts rows in, or has others in their place; and tells what is to be known of them.
Fill = Callable[[HashedRows], tuple[HashedRows, Found]]


def ahead(fills: Iterable[Fill[Found]], spare: Iterable[HashedRows]) -> Iterator[tuple[HashedRows, Found]]:
    """Batches in their order, filled by a thread of its own before they are asked for.

    There are as many as `spare`, and each is filled again once the next has been asked for: memory does not
    grow, however much faster one side is. What goes wrong there is raised here, after the batches that came
    before it.
    """
    free: Queue[HashedRows | None] = Queue()
    full: Queue[tuple[HashedRows, Found] | BaseException | None] = Queue()

    def work() -> None:
        end: BaseException | None = None
        try:
            for fill in fills:
                if (rows := free.get()) is None:
                    return
                rows.clear()
                full.put(fill(rows))
        except BaseException as problem:
            end = problem
        full.put(end)

    for rows in spare:
        free.put(rows)
    # A daemon: nothing wakes it where standard input is silent, and the program may end all the same.
    Thread(target=work, name="reading", daemon=True).start()
    try:
        while (batch := full.get()) is not None:
            if isinstance(batch, BaseException):
                raise batch
            yield batch
            free.put(batch[0])
    finally:
        _stop(free)


def _stop(free: "Queue[HashedRows | None]") -> None:
    """No batch is filled any more but the one that is being filled."""
    try:
        while True:
            free.get_nowait()
    except Empty:
        free.put(None)


# Text from files and pipes, in blocks as they come, and which format it has.

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

        What is wrong with a compressed file is raised when all that could be decompressed has been yielded.
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
                "--encoding must be the name of a codec, such as utf-8, latin-1, cp1252 or utf-16; got "
                f"{encoding!r}."
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


_BY_ENDING = {
    ending: Format(kind.parser, kind.delimiter or ",")
    for kind in FORMATS.values()
    if kind.parser is not None
    for ending in kind.endings
}
_NUMBER = rb"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
_SVMLIGHT = re.compile(
    rb"\s*(?:" + _NUMBER + rb"\s+)?(?:qid:\S+\s+)?(?:\d+:" + _NUMBER + rb"(?:\s+|$))+(?:#.*)?$"
)
# Up to three numbers and a tag, a bar, and the name of a namespace or none.
_VW = re.compile(rb"\s*(?:" + _NUMBER + rb"\s+){0,3}(?:'?[^\s|,\t]*)\|[^\s|]*(?:[ \t]|$)")


def format_of(name: str, start: bytes) -> Format:
    """By the ending of the name (`.gz` left out), or by the first line."""
    endings = [ending.lower() for ending in PurePath(name).suffixes]
    ending = next((ending for ending in reversed(endings) if ending != ".gz"), "")
    found = _BY_ENDING.get(ending) or _by_line(name, start)
    line = _first_line(start)
    if found.kind == "csv" and found.delimiter.encode() not in line:
        found = next((Format("csv", d) for d in "\t;|" if d.encode() in line), found)
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


# Files and pipes of text as batches of hashed rows, all read alike.

NUMBER, WORD = "number", "word"  # what a column can be


class FeedProgress(NamedTuple):
    """What has been found so far, when a batch was filled."""

    labels: Sequence[str]  # in the order of their codes
    columns: dict[str, str]
    bad: int  # lines that could not be read
    first_bad: Sequence[str]  # what was wrong with the first of them
    changed: int  # cells of number columns that were words
    read: int  # bytes, as they lie on disk
    doubts: Sequence[str] = ()  # columns that are words for the sake of a few cells


class ReadOptions(NamedTuple):
    """What of the text is what."""

    format: Format | None = None  # None: as names and contents say
    target: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None
    ignored: Sequence[str] = ()
    crosses: Sequence[Sequence[str]] = ()
    finite: bool = False  # numbers that are not finite make a bad line
    header: bool | None = None
    learning: bool = True
    missing: Sequence[str] = ()  # cells that stand for none; none of them: NA and its like, of numbers
    encoding: str | None = None  # None: UTF-8

    def check(self, name: str, columns: Sequence[str] | None = None) -> None:
        """Refuse a table without the columns that are named; None: it has no list of them."""
        if self.learning and self.target is None:
            some = f" It has the columns {', '.join(columns[:20])}." if columns else ""
            raise ValueError(f"{name}: which column is to be predicted? Name it with --target.{some}")
        if self.target is not None and self.target == self.weight:
            raise ValueError(f"{name}: column {self.target!r} cannot be both target and weight")
        if columns is None:
            return
        for column in (self.target, self.weight, *(self.features or []), *self.ignored):
            if column is not None and column not in columns:
                near = get_close_matches(column, columns, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f": it has {', '.join(columns[:20])}"
                raise ValueError(f"{name} has no column {column!r}{hint}")


@dataclass
class TextFeed:
    """Files one after another. What was found of columns and labels holds for those that follow."""

    paths: Sequence[str]
    read_options: ReadOptions
    labels: Sequence[str] = ()
    columns: dict[str, str] = field(default_factory=dict)
    _bad: int = 0
    _first: list[str] = field(default_factory=list)
    _changed: int = 0
    _read: int = 0
    _doubts: list[str] = field(default_factory=list)

    @property
    def size(self) -> int | None:
        """Bytes of all files; None where one is a pipe."""
        files = [Path(path) for path in self.paths]
        return sum(file.stat().st_size for file in files) if all(file.is_file() for file in files) else None

    def fills(self) -> Iterator[Fill[FeedProgress]]:
        """Each puts the next rows into a batch."""
        for path in self.paths:
            with Text(path, encoding=self.read_options.encoding) as text:
                parser = self._parser(text)
                try:
                    for block in text.blocks():
                        yield partial(self._fill, text, parser, block, False)
                except ValueError:  # a compressed file that is damaged: what was held back is all there is
                    yield partial(self._fill, text, parser, b"", False)
                    raise
                yield partial(self._fill, text, parser, b"", True)
            self._bad += parser.bad
            self._first += _said(text, parser)
            self._doubts += _doubted(text, parser)
            self._changed += parser.changed
            self._read += text.position

    def _parser(self, text: Text) -> TextParser:
        read_options = self.read_options
        kind, delimiter = read_options.format or format_of(text.name, text.start)
        if kind in ("csv", "json"):
            read_options.check(text.name)
        by_kind = {
            kind: [name for name, is_ in self.columns.items() if is_ == kind] for kind in (NUMBER, WORD)
        }
        return TextParser(
            kind,
            target=read_options.target,
            weight=read_options.weight,
            features=read_options.features,
            ignored=read_options.ignored,
            crosses=read_options.crosses,
            labels=self.labels,
            finite=read_options.finite,
            delimiter=delimiter,
            quotes=delimiter != "\t",
            header=read_options.header,
            numbers=by_kind[NUMBER],
            words=by_kind[WORD],
            missing=read_options.missing,
            weightless=False,  # a row that weighs nothing is not learned from: its label has not come
        )

    def _fill(
        self, text: Text, parser: TextParser, block: bytes, last: bool, rows: HashedRows
    ) -> tuple[HashedRows, FeedProgress]:
        try:
            parser.parse(block, rows, last)
        except ValueError as problem:
            raise ValueError(f"{text.name}: {problem}") from None
        self.labels = parser.labels
        if not self.columns or last:
            self.columns |= dict.fromkeys(parser.numbers, NUMBER) | dict.fromkeys(parser.words, WORD)
        first = [*self._first, *_said(text, parser)]
        return rows, FeedProgress(
            self.labels,
            self.columns,
            self._bad + parser.bad,
            first,
            self._changed + parser.changed,
            self._read + text.position,
            [*self._doubts, *_doubted(text, parser)],
        )


def _said(text: Text, parser: TextParser) -> list[str]:
    return [f"{text.name}, line {line}: {what}: {shown}" for line, what, shown in parser.first_bad]


def _doubted(text: Text, parser: TextParser) -> list[str]:
    return [
        f"{text.name}, line {line}: {cell!r} is not a number, so column {name!r} is read as categories, "
        f"though {numbers} of its first {numbers + others} cells are numbers. If {cell!r} marks a missing "
        f"value: --missing {quote(cell)}; if the column is numbers all the same: --types {name}=number"
        for name, line, cell, numbers, others in parser.doubtful
    ]


# A stream followed to its end: each row is predicted, evaluated and learned from.

SPARE = 4  # batches that are read ahead


class Feed(Protocol):
    """Where rows come from."""

    def fills(self) -> Iterator[Fill[FeedProgress]]: ...


class BadLine(ValueError):
    """A line that could not be read, where none may be."""


@dataclass
class Session:
    """A model, and what has become of the rows that came."""

    model: Online
    curve: Curve = field(default_factory=Curve)
    learning: bool = True
    strict: bool = False  # the first line that cannot be read ends it
    progress: FeedProgress | None = None
    rows: int = 0
    cells: int = 0
    # Told of each batch: the probabilities, and what has been found so far.
    watch: Callable[[Floats, FeedProgress], None] | None = None

    def follow(self, feed: Feed) -> None:
        """All rows of a feed, in their order. Ctrl-C ends it between two batches, and is raised then."""
        batches = ahead(feed.fills(), [self.model.intake.rows() for _ in range(SPARE)])
        with Patience() as patience:
            while True:
                with patience.waiting():
                    batch = next(batches, None)
                if batch is None:
                    return
                self._take(*batch)

    def _take(self, rows: Any, progress: FeedProgress) -> None:
        if self.strict and progress.bad:
            raise BadLine(f"{progress.first_bad[0]}. Without --strict such lines are counted and skipped.")
        self.progress = progress
        if self.learning:
            meet(self.model, progress.labels[self.model.K :])
        self.rows += len(rows)
        self.cells += rows.cells
        codes, weights = rows.codes, rows.weights
        P = self.model.learn(rows) if self.learning else self.model.learner.predict(rows)
        if len(codes):
            known = P if self.learning else with_room(P, codes, list(range(self.model.K)))
            self.curve.update(known, codes, weights)
        if self.watch is not None:
            self.watch(P, progress)


class Patience:
    """Ctrl-C and the wish to end are heard while it waits, and at no other time."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._waiting, self._heard = False, 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others hear no signals
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *problem: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._waiting = True
        try:
            if self._heard:
                self._end()
            yield
        finally:
            self._waiting = False

    def _hear(self, number: int, frame: object) -> None:
        self._heard = number
        if self._waiting:
            self._end()

    def _end(self) -> NoReturn:
        """As whoever listened before would have it; where nobody did, as Ctrl-C."""
        before = self._before[self._heard]
        if callable(before):
            before(self._heard, None)
        raise KeyboardInterrupt


def meet(model: Online, texts: Sequence[str]) -> None:
    """Labels that are new, as they are written; whole numbers are numbers, as long as all labels are."""
    for text in texts:
        numbers = all(isinstance(label, int) for label in model.labels)
        if numbers and _whole(text):
            model.meet(int(text))
            continue
        if numbers:
            model.name([str(label) for label in model.labels])
        model.meet(text)


def _whole(text: str) -> bool:
    try:
        return str(int(text)) == text
    except ValueError:
        return False
