"""How many cores there are to work with, and how few small factorisations should use."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any


def cores() -> int:
    """The cores this process may use; `LIKELIER_THREADS` sets another number."""
    asked = os.environ.get("LIKELIER_THREADS")
    if asked is not None:
        if not asked.isdecimal() or int(asked) < 1:
            raise ValueError(f"LIKELIER_THREADS={asked!r} is not a number of threads")
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _blas() -> Any:
    """What sets the threads of NumPy's BLAS and SciPy's; found once, since that takes milliseconds."""
    # Late: streams, which start fast, need none of it. Only a BLAS that is loaded is found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


class _Held:
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
                self._before = [library.get_num_threads() for library in _blas().lib_controllers]
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
    for library, number in zip(_blas().lib_controllers, threads, strict=True):
        # From its version 3.8 on threadpoolctl lets only that thread set OpenBLAS's number which did so
        # first: here the last one may be another.
        getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


_held = _Held()


def one_blas_thread() -> AbstractContextManager[None]:
    """Within it BLAS and LAPACK use one thread: to wake others takes longer than a small factorisation."""
    return _held.one()


def one_thread_if(small: bool) -> AbstractContextManager[None]:
    """The same for work that is small, and nothing for other work."""
    return one_blas_thread() if small else nullcontext()
