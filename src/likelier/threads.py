"""How many cores there are to work with, and how few small factorisations should use."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from ctypes import c_int
from functools import cache
from threading import Lock
from typing import Any


def cores() -> int:
    """The cores this process may use; `LIKELIER_THREADS` sets another number."""
    asked = os.environ.get("LIKELIER_THREADS")
    if asked is not None:
        if not asked.isdecimal() or int(asked) < 1:
            raise ValueError(
                f"LIKELIER_THREADS must be an integer >= 1 (a number of threads); got {asked!r}."
            )
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Blas:
    """A BLAS library, and how many threads it may use."""

    def __init__(self, library: Any) -> None:
        self._library = library
        # From its version 3.8 on threadpoolctl lets only that thread set OpenBLAS's number which did so
        # first, until it gives that up: here the last one may be another.
        self._give_up = getattr(library, "clear_controlling_thread", _nothing_held)
        self._running = self._number = None
        if library.internal_api == "openblas" and library.threading_layer == "pthreads":
            try:
                self._running = c_int.in_dll(library.dynlib, "blas_server_avail")
                self._number = c_int.in_dll(library.dynlib, "blas_cpu_number")
            except ValueError:  # built without them
                pass

    @property
    def threads(self) -> int:
        return int(self._library.get_num_threads())

    def use(self, threads: int) -> None:
        """Set the number of threads.

        A forked process has none of OpenBLAS's threads, and its own function would start them: they spin
        for a tenth of a second, on a core that others need. There the number alone is written.
        """
        if self._running is not None and self._number is not None and self._running.value == 0:
            self._number.value = threads
        else:
            self._give_up(force=True)
            self._library.set_num_threads(threads)
            self._give_up(force=True)


def _nothing_held(*, force: bool) -> None:
    """Before version 3.8 any thread sets the number."""


@cache
def _blas() -> list[_Blas]:
    """NumPy's BLAS and SciPy's; found once, since that takes milliseconds."""
    # Late: streams, which start fast, need none of it. Only a BLAS that is loaded is found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return [_Blas(library) for library in ThreadpoolController().select(user_api="blas").lib_controllers]


class _BlasHold:
    """BLAS on one thread for as long as anyone wants it so.

    The number of threads belongs to the process: of fits that run at the same time the first sets it to
    one, and the last sets it back. If each restored what it had found, it could stay at one for good.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._wanted = 0
        self._before: list[int] = []

    @contextmanager
    def one(self) -> Iterator[None]:
        with self._lock:
            if self._wanted == 0:
                self._before = [library.threads for library in _blas()]
                _set([1] * len(self._before))
            self._wanted += 1
        try:
            yield
        finally:
            with self._lock:
                self._wanted -= 1
                if self._wanted == 0:
                    _set(self._before)


def _set(threads: list[int]) -> None:
    for library, number in zip(_blas(), threads, strict=True):
        library.use(number)


_held = _BlasHold()


def one_blas_thread() -> AbstractContextManager[None]:
    """Within it BLAS and LAPACK use one thread: to wake others takes longer than a small factorisation."""
    return _held.one()


def one_thread_if(small: bool) -> AbstractContextManager[None]:
    """The same for work that is small, and nothing for other work."""
    return one_blas_thread() if small else nullcontext()
