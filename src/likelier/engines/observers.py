"""How far a fit has come: an observer hears of every pass, whoever runs its parts."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, NamedTuple, Protocol

from likelier.states import StateGroup


class Pass(NamedTuple):
    """What is known of a pass before it begins."""

    state: type  # what absorbs the rows; `Chunk`: they are taken as they come
    rows: int | None  # None: not known
    parts: int


def kind_of(state: Any) -> type:
    """What a state is, for whoever watches a pass: of those kept together, the first."""
    return type(state.states[0] if isinstance(state, StateGroup) else state)


class Done(Protocol):
    """Says that so much more is done; from any thread."""

    def __call__(self, *, parts: int = 0, rows: int = 0) -> None: ...


class Observer(Protocol):
    """Whoever wants to know. One pass at a time, one call at a time."""

    def begin(self, what: Pass, /) -> None:
        """A pass begins."""

    def done(self, *, parts: int, rows: int) -> None:
        """So many more parts, and rows, are done."""

    def end(self) -> None:
        """The pass is over, or has failed."""

    def reached(self, figure: str, value: float, /) -> None:
        """What an iterative fit has come to: its objective, its log-likelihood."""


OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def watching(observer: Observer | None) -> Iterator[None]:
    """All passes that begin here, in this thread, are observed; None: by nobody."""
    before = OBSERVER.set(observer)
    try:
        yield
    finally:
        OBSERVER.reset(before)


def observed() -> bool:
    """Whether somebody wants to know."""
    return OBSERVER.get() is not None


@contextmanager
def passing(what: Pass) -> Iterator[Done]:
    """A pass, which says what it has done."""
    observer = OBSERVER.get()
    if observer is None:
        yield unheard
        return
    lock = Lock()

    def done(*, parts: int = 0, rows: int = 0) -> None:
        with lock:
            observer.done(parts=parts, rows=rows)

    observer.begin(what)
    try:
        yield done
    finally:
        observer.end()


def reached(figure: str, value: float) -> None:
    """Say what an iterative fit has come to."""
    observer = OBSERVER.get()
    if observer is not None:
        observer.reached(figure, value)


def unheard(*, parts: int = 0, rows: int = 0) -> None:
    """Nobody listens."""
