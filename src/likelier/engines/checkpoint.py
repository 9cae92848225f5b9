"""Checkpoints: the results of completed passes, and the states of the one in progress, in a file."""

import copy
import hashlib
import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from likelier.data import CSR, Chunk, Columns, Dense, Source
from likelier.data.labels import Factor
from likelier.data.transforms import innermost
from likelier.families.missing import Sums
from likelier.states import Triangle
from likelier.states.base import Tree
from likelier.storage import Archive, Frames, Unsaveable, decode, encode, field_names, packed, require

# What a pass is: a digest of all that its result depends on.

LARGE = 1 << 20  # bytes of an array from which on it is summed up before it is hashed
WORDS = 8192  # that make one sum
ROWS = 8 << 20  # bytes of an array that are looked at at a time


class Digests:
    """Digests of values, those of large arrays kept while they are asked for again and again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ref[NDArray[Any]], bytes]] = {}

    def of(self, value: Any) -> str:
        """Equal for values that are equal in all their fields, bit for bit."""
        found = hashlib.blake2b(digest_size=16)
        self._feed(found.update, value)
        return found.hexdigest()

    def _feed(self, update: Callable[[bytes], None], value: Any) -> None:
        kind = type(value)
        update(f"{kind.__module__}.{kind.__qualname__}(".encode())
        if isinstance(value, np.ndarray):
            update(self._array(value))
        elif isinstance(value, np.generic | bytes | str | int | float | None):
            update(value.tobytes() if isinstance(value, np.generic) else repr(value).encode())
        else:
            for part in _contents(value):
                self._feed(update, part)
        update(b")")

    def _array(self, array: NDArray[Any]) -> bytes:
        if array.nbytes < LARGE:
            return _hashed(array)
        known = self._known.get(id(array))
        if known is None or known[0]() is not array:  # another one may have had its id
            self._known[id(array)] = known = ref(array), _hashed(array)
        return known[1]


def _contents(value: Any) -> list[Any]:
    """What a value is made of; of what is only a name, that."""
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value) if field.init and field.compare]
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if hasattr(value, "get_params") and not isinstance(value, type):
        return [value.get_params(deep=False)]
    if type(value).__module__.partition(".")[0] == "pyarrow":
        return [str(value)]
    return [getattr(value, "__module__", ""), getattr(value, "__qualname__", "")]


def _scattered(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """High bits into low ones, where small numbers as floats have none: the same words for no others."""
    mixed: NDArray[np.uint64] = words ^ (words >> np.uint64(32))
    return mixed


# Odd, so that no change of one word leaves a sum as it was, and unlike: nor do two that swap places.
WEIGHTS = _scattered(np.arange(1, WORDS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
WEIGHTS = _scattered(WEIGHTS * np.uint64(0xBF58476D1CE4E5B9)) | np.uint64(1)


def _hashed(array: NDArray[Any]) -> bytes:
    """Of a large array Σ_i weight_i word_i for runs of words, modulo 2^64: no cell can change unseen."""
    found = hashlib.blake2b(f"{array.dtype.str}{array.shape}".encode(), digest_size=16)
    if array.dtype.kind == "O":
        found.update(repr(array.tolist()).encode())
        return found.digest()
    step = len(array) if array.nbytes < LARGE else max(1, ROWS * len(array) // array.nbytes)
    for start in range(0, len(array) if array.ndim else 0, max(1, step)):
        cells = np.ascontiguousarray(array[start : start + step]).reshape(-1).view(np.uint8)
        whole = 0 if array.nbytes < LARGE else len(cells) // (8 * WORDS) * WORDS
        words = cells[: 8 * whole].view(np.uint64)
        found.update(np.einsum("ij,j->i", _scattered(words).reshape(-1, WORDS), WEIGHTS).tobytes())
        found.update(cells[8 * whole :].tobytes())
    if not array.ndim:
        found.update(array.tobytes())
    return found.digest()


# States as plain data: what they hold beyond an empty one of their kind.
#
# Nothing in a file says what a state is: `start` does, as it did when the state was kept. A file only
# fills in the numbers, and whatever it says, no code of its choice runs.

# What a state may gather that an empty one has no example of: rows, and what is expected of them.
RECORDS: Mapping[str, type] = {
    "chunk": Chunk,
    "dense": Dense,
    "csr": CSR,
    "columns": Columns,
    "factor": Factor,
    "sums": Sums,
    "triangle": Triangle,
}
Changes = dict[str, Any]  # by the path of a field


def changes(state: Any, empty: Any) -> Changes:
    """Copies of all that differs from an empty state."""
    return {path: copy.deepcopy(value) for path, value in _changed(state, empty, "")}


def _changed(value: Any, like: Any, path: str) -> Iterator[tuple[str, Any]]:
    if value is like or (type(value) is type(like) and not _holds(value)):
        return
    parts, others = _named_parts(value), _named_parts(like)
    if type(value) is not type(like) or parts is None or others is None or parts.keys() != others.keys():
        yield path, value
        return
    for name, part in parts.items():
        yield from _changed(part, others[name], f"{path}/{name}")


def _holds(value: Any) -> bool:
    """Whether a value is data; else it is what the pass is about, such as a loss, and stays the same."""
    return isinstance(value, bool | int | float | str | bytes | np.generic | np.ndarray | dict) or (
        _named_parts(value) is not None
    )


def _named_parts(value: Any) -> dict[str, Any] | None:
    """Fields of a record, places of a list; None: it is neither."""
    if type(value) in (list, tuple):
        return {str(i): part for i, part in enumerate(value)}
    if hasattr(value, "__dataclass_fields__") or hasattr(value, "_fields"):
        return {name: getattr(value, name) for name in field_names(type(value))}
    return None


def restored(empty: Any, found: Changes) -> Any:
    """An empty state that has become what it was."""
    left = dict(found)
    state = _filled(empty, left, "")
    require(not left, f"a {type(empty).__name__} has no {', '.join(left):.80}")
    return state


def _filled(like: Any, left: Changes, path: str) -> Any:
    if path in left:
        return _sound(left.pop(path), like, path)
    parts = _named_parts(like) if any(other.startswith(f"{path}/") for other in left) else None
    if parts is None:
        return like
    parts = {name: _filled(part, left, f"{path}/{name}") for name, part in parts.items()}
    if type(like) in (list, tuple):
        return type(like)(parts.values())
    if hasattr(like, "_replace"):
        return like._replace(**parts)
    filled = copy.copy(like)
    for name, part in parts.items():
        object.__setattr__(filled, name, part)  # some are frozen
    return filled


def _sound(value: Any, like: Any, path: str) -> Any:
    """As what an empty state has, but for rows that it had none of yet: kernels take sizes on trust."""
    if isinstance(like, np.ndarray):
        good = type(value) is np.ndarray and value.dtype == like.dtype and value.ndim == like.ndim
        good = good and (
            value.shape == like.shape or (len(like) == 0 and value.shape[1:] == like.shape[1:])
        )
        require(good, f"{path} is not an array like that of an empty state")
    elif isinstance(like, int | float | np.number):
        require(isinstance(value, int | float | np.number), f"{path} is not a number")
    elif like is not None:
        require(type(value) is type(like), f"{path} is not of type {type(like).__name__}")
    return value


# Checkpoints: the results of the passes of a fit, and the states of the one in progress, in a file.
#
# A fit is a function of the results of its passes, and every pass goes through `run`. So a fit that
# begins again is handed the results that it had, and continues with the pass that was cut off, to the same
# bits.

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


class CheckpointMismatch(ValueError):
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
        self._current: CheckpointedTree | None = None
        self._written, self._took, self._writing = time.monotonic(), 0.0, False
        self._refused: CheckpointMismatch | None = None
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
        except CheckpointMismatch as why:
            self._refused = why
            raise
        if found.parts is None:
            return known[0] if known else engine(source, start)
        self._current = CheckpointedTree(self, found, start, known)
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
            require(said.keys() == OTHER.keys(), f"pass {number + 1} is not valid")
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
        raise CheckpointMismatch(
            f"{self.path} is the checkpoint of another fit: {why}. Fit as before to continue from it, "
            "remove it, or name another."
        )


class CheckpointedTree(Tree):
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
        raise CheckpointMismatch(
            f"{path} is not a checkpoint that can be read: {kind}{problem}"
        ) from problem


JOURNAL: ContextVar[Journal | None] = ContextVar("journal", default=None)


def current() -> Journal | None:
    """Where passes of this thread are kept: side by side, they have no order."""
    book = JOURNAL.get()
    return book if book is None or book.thread == get_ident() else None


@contextmanager
def journal(path: Any, of: Mapping[str, Any]) -> Iterator[None]:
    """Passes that run here are kept in this file until all is done; those that it holds are not run again.

    of: what makes this fit the one that it is, as plain data.
    """
    book = Journal(Path(path), of)
    before = JOURNAL.set(book)
    try:
        yield
    except BaseException as why:
        book.leave(why)
        raise
    else:
        book.remove()
    finally:
        JOURNAL.reset(before)
