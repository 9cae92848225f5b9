"""Checkpoints: the results of the passes of a fit, and the states of the one in progress, in a file.

A fit is a function of the results of its passes, and every pass goes through `run`. So a fit that begins
again is handed the results that it had, and goes on with the pass that was cut off, to the same bits.
"""

import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import get_ident
from typing import Any, NamedTuple

from likelier.data import Source
from likelier.data.wrapped import innermost
from likelier.engines.identity import Digests
from likelier.engines.keeping import RECORDS, Changes, changes, restored
from likelier.engines.tree import Tree
from likelier.storing.disk import Archive, packed, require
from likelier.storing.frames import Frames
from likelier.storing.values import Unsaveable, decode, encode

MAGIC = b"likelier checkpoint 1\n"
EVERY = 5.0  # seconds at least from one writing to the next
PAUSE = 9.0  # and so many times as long as the last one took: a tenth of the time at most

Start = Callable[[], Any]
About = dict[str, Any]

OTHER = {
    "state": "finds something else",
    "rows": "reads other rows or columns",
    "parts": "is cut into other parts",
    "start": "starts from other numbers (is random_state None, or has warm_start another model?)",
}


class Refused(ValueError):
    """A checkpoint that is not of this fit, or of none: no other way to fit makes up for it."""


class Entry(NamedTuple):
    """A pass: what it is, and how many of its parts these states are of.

    None: of all, in one state; or in none, where it failed or no file can hold it: it has to be run again.
    """

    about: About
    parts: int | None
    states: list[Changes]


class Journal:
    """The passes of a fit, in order."""

    def __init__(self, path: Path, of: Mapping[str, Any]) -> None:
        self.path, self.of = path, dict(of)  # plain data: as it comes back from JSON
        self._digests = Digests()
        self._next = 0  # the number of the next pass
        self._ended: list[Entry] = []  # since the file was written
        self._current: Kept | None = None
        self._written, self._took, self._writing = time.monotonic(), 0.0, False
        self._refused: Refused | None = None
        self.thread = get_ident()
        with _refusing(path):
            self._file = Frames(path, MAGIC)
            last = self._read(len(self._file) - 1) if len(self._file) > 1 else {}
            self._partial = last.get("parts") is not None
            self._head: About = self._read(0) if len(self._file) else {}
            then = self._head.get("of", self.of)
            require(isinstance(then, dict), "it does not say what it is of")
        self._compare(then, self.of)

    @property
    def _known(self) -> int:
        """How many passes of the file are done."""
        return max(0, len(self._file) - 1 - self._partial)

    def run(self, engine: Any, source: Source, start: Start, plain: Start) -> Any:
        """What an engine makes of a pass; plain: its start without what is drawn beside it."""
        empty = start()
        if not getattr(empty, "lasting", True):
            return engine(source, start)
        about = {
            "state": type(plain()).__qualname__,
            "parts": len(source.parts(empty.nbytes)),
            "rows": self._digests.of(source),
            "start": self._digests.of(plain()),
        }
        if self._refused is not None:  # a fit may take it for another problem, and try in another way
            raise self._refused
        try:
            found = self._begun(source, about)
            known = self._restored(start, found)
        except Refused as why:
            self._refused = why
            raise
        if found.parts is None:
            return known[0] if known else engine(source, start)
        self._current = Kept(self, found, start, known)
        state = engine(source, start, self._current)
        self._current = None
        self._ended.append(Entry(about, None, [changes(state, empty)]))
        self.beat()
        return state

    def _begun(self, source: Source, about: About) -> Entry:
        """The next pass, as far as it is known."""
        if self._current is not None:  # it has failed, and the fit knows what to do about it
            self._ended.append(Entry(self._current.about, None, []))
            self._current = None
        number = self._next
        self._next += 1
        if number == 0:
            self._meet(source)
        return self._found(number, about) if number < len(self._file) - 1 else Entry(about, 0, [])

    # ---- out ---------------------------------------------------------------------------------------
    def beat(self) -> None:
        """Write if it is time."""
        if time.monotonic() - self._written >= max(EVERY, PAUSE * self._took):
            self.write()

    def write(self) -> None:
        """All passes that are done, and the one in progress."""
        began, self._writing = time.monotonic(), True
        keep = 1 + self._known if len(self._file) else 0
        more = [] if keep else [packed(self._head, {})]
        more += [_frame(entry) for entry in self._ended]
        going = None if self._current is None else self._current.entry()
        if going is not None:
            more.append(_frame(going))
        self._file.rewrite(keep, more)
        self._partial = going is not None
        self._ended.clear()
        self._written = time.monotonic()
        self._took, self._writing = self._written - began, False

    def leave(self, why: BaseException) -> None:
        """The fit was cut off: keep what it has."""
        going = None if self._current is None else self._current.entry()
        if self._refused or self._writing:  # whose file is another's, or is whole already
            return
        if not (self._ended or going):
            return
        try:
            self.write()
        except OSError as problem:
            why.add_note(f"The checkpoint could not be written: {problem}")

    def remove(self) -> None:
        """The fit has succeeded."""
        self._file.remove()

    # ---- in ----------------------------------------------------------------------------------------
    def _read(self, i: int) -> About:
        return Archive(io.BytesIO(self._file[i])).header

    def _found(self, number: int, about: About) -> Entry:
        with _refusing(self.path):
            archive = Archive(io.BytesIO(self._file[number + 1]))
            said, parts = archive.section("about"), archive.header.get("parts")
            require(said.keys() == OTHER.keys(), f"pass {number + 1} is none")
            states = decode(archive.header.get("states"), archive.array, RECORDS)
            good = isinstance(states, list) and all(isinstance(state, dict) for state in states)
            require(good and (parts is None or type(parts) is int), f"pass {number + 1} holds no states")
            if parts is not None:
                good = 0 < parts <= about["parts"] and len(states) == parts.bit_count()
                require(good, f"pass {number + 1} holds {len(states)} states of {parts} parts")
        for key, what in OTHER.items():
            if said[key] != about[key]:
                self._refuse(f"pass {number + 1} of this fit {what}")
        return Entry(about, parts, states)

    def _restored(self, start: Start, found: Entry) -> list[Any]:
        with _refusing(self.path):
            return [restored(start(), state) for state in found.states]

    # ---- whether it is the same fit ----------------------------------------------------------------
    def _meet(self, source: Source) -> None:
        """The first rows of a fit say what it is a fit to."""
        data = _data(innermost(source))
        then = self._head.get("data", data)
        self._compare(then if isinstance(then, dict) else {}, data)
        self._head = {"of": self.of, "data": data}

    def _compare(self, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        for key in [*now, *(set(then) - set(now))]:
            if then.get(key) != now.get(key):
                self._refuse(f"{key} was {then.get(key, 'not there')}, and is {now.get(key, 'not there')}")

    def _refuse(self, why: str) -> None:
        raise Refused(
            f"{self.path} is the checkpoint of another fit: {why}. Fit as before to go on from it, remove "
            "it, or name another."
        )


class Kept(Tree):
    """A tree of merges that is written from time to time."""

    def __init__(self, journal: Journal, begun: Entry, start: Start, waiting: list[Any]) -> None:
        assert begun.parts is not None
        super().__init__(waiting, begun.parts)
        self.journal, self.about, self.start = journal, begun.about, start
        self.sound = False

    def add(self, state: Any) -> None:
        self.sound = False  # whoever interrupts a merge leaves half of one
        super().add(state)
        self.sound = True
        self.journal.beat()

    def merged(self) -> Any:
        self.sound = False
        return super().merged()

    def entry(self) -> Entry | None:
        """The states that wait; None: there is nothing new, or nothing whole."""
        if not self.sound:
            return None
        return Entry(self.about, self.count, [changes(state, self.start()) for state in self.waiting])


def _frame(entry: Entry) -> bytes:
    """A pass as bytes; one that no file can hold is marked by a lack of states, and will be run again."""
    arrays: dict[str, Any] = {}
    try:
        states = encode(entry.states, "state", arrays, RECORDS)
    except Unsaveable:
        return packed({"about": entry.about, "parts": None, "states": []}, {})
    return packed({"about": entry.about, "parts": entry.parts, "states": states}, arrays)


def _data(source: Any) -> dict[str, Any]:
    """What rows are known by: files by their sizes and dates, arrays by theirs."""
    found = {"rows": source.rows}
    for file in getattr(source, "files", ()):
        found[f"the stamp of {file.path}"] = list(getattr(file, "seen", ()))
    return found


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file is a ValueError that names it."""
    try:
        yield
    except OSError:
        raise
    # The readers of archives have many ways to say no, and none of them is news here.
    except Exception as problem:
        kind = "" if isinstance(problem, ValueError) else f"{type(problem).__name__}: "
        raise Refused(f"{path} is not a checkpoint that can be read: {kind}{problem}") from problem


_journal: ContextVar[Journal | None] = ContextVar("journal", default=None)


def current() -> Journal | None:
    """Where passes of this thread are kept: side by side, they have no order."""
    book = _journal.get()
    return book if book is None or book.thread == get_ident() else None


@contextmanager
def journal(path: Any, of: Mapping[str, Any]) -> Iterator[None]:
    """Passes that run here are kept in this file until all is done; those that it holds are not run again.

    of: what makes this fit the one that it is, as plain data.
    """
    book = Journal(Path(path), of)
    before = _journal.set(book)
    try:
        yield
    except BaseException as why:
        book.leave(why)
        raise
    else:
        book.remove()
    finally:
        _journal.reset(before)
