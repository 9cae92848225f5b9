"""Reading and hashing in one thread, while another learns."""

from collections.abc import Callable, Iterator, Sequence
from queue import Empty, Queue
from threading import Thread

from likelier._core import HashedRows

Fill = Callable[[HashedRows], bool]  # puts the next rows in; False: there are no more


def ahead(fill: Fill, spare: Sequence[HashedRows]) -> Iterator[HashedRows]:
    """Batches in their order, filled by a thread of its own before they are asked for.

    There are as many as `spare`, and each is filled again once the next has been taken: memory does not
    grow, however much faster one side is. What goes wrong in `fill` is raised here, after the batches that
    came before it.
    """
    free: Queue[HashedRows | None] = Queue()
    full: Queue[HashedRows | BaseException | None] = Queue()

    def work() -> None:
        end: BaseException | None = None
        try:
            while (rows := free.get()) is not None:
                rows.clear()
                more = fill(rows)
                full.put(rows)
                if not more:
                    break
        except BaseException as problem:  # noqa: BLE001 - it is raised where the batches are taken
            end = problem
        full.put(end)

    for rows in spare:
        free.put(rows)
    # A daemon: where standard input is silent, nothing can wake it, and the program may end all the same.
    Thread(target=work, name="reading", daemon=True).start()
    try:
        while (batch := full.get()) is not None:
            if isinstance(batch, BaseException):
                raise batch
            yield batch
            free.put(batch)
    finally:
        _stop(free)


def _stop(free: "Queue[HashedRows | None]") -> None:
    """No batch is filled any more but the one that is being filled."""
    try:
        while True:
            free.get_nowait()
    except Empty:
        free.put(None)
