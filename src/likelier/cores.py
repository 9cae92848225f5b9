"""How many cores there are to work with."""

import os


def cores() -> int:
    """The cores this process may use; `LIKELIER_THREADS` sets another number."""
    asked = os.environ.get("LIKELIER_THREADS")
    if asked is not None:
        if not asked.isdecimal() or int(asked) < 1:
            raise ValueError(f"LIKELIER_THREADS={asked!r} is not a number of threads")
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
