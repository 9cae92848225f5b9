"""How many cores there are to work with, and how few small factorisations should use."""

import os
from contextlib import AbstractContextManager, nullcontext
from functools import cache
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
    """What sets the threads of NumPy's BLAS and SciPy's; found once, since that takes milliseconds.

    SciPy's is among them if scipy.linalg was imported before the first call.
    """
    # Late: streams, which start fast, need none of it.
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


def one_blas_thread() -> AbstractContextManager[Any]:
    """Within it BLAS and LAPACK use one thread: to wake others takes longer than a small factorisation."""
    found: AbstractContextManager[Any] = _blas().limit(limits=1)
    return found


def one_thread_if(small: bool) -> AbstractContextManager[Any]:
    """The same for work that is small, and nothing for other work."""
    return one_blas_thread() if small else nullcontext()
