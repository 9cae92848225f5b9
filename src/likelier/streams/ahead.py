"""Reading and hashing in one thread, while another learns."""

from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Queue
from threading import Thread
from typing import TypeVar

from likelier._core import HashedRows

Told = TypeVar("Told")
# Puts rows in, or has others in their place; and tells what is to be known of them.
Fill = Callable[[HashedRows], tuple[HashedRows, Told]]


def ahead(fills: Iterable[Fill[Told]], spare: Iterable[HashedRows]) -> Iterator[tuple[HashedRows, Told]]:
    """Batches in their order, filled by a thread of its own before they are asked for.

    There are as many as `spare`, and each is filled again once the next has been asked for: memory does not
    grow, however much faster one side is. What goes wrong there is raised here, after the batches that came
    before it.
    """
    free: Queue[HashedRows | None] = Queue()
    full: Queue[tuple[HashedRows, Told] | BaseException | None] = Queue()

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
