"""Clients of a Dask cluster: whether its workers can run a pass, and what it is to wait for one."""

import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from likelier.callers import outside

CHECKED: WeakSet[Any] = WeakSet()
CLOSED = ("closing", "closed")


def is_client(cluster: Any) -> bool:
    """A connection to a cluster; else a scheduler of this machine, which takes a graph and keys."""
    return hasattr(cluster, "submit")


def check_workers(client: Any) -> None:
    """Once for each client: refuse workers without likelier; warn of those that would give other bits."""
    if client.status in CLOSED:
        raise RuntimeError("the Dask client is closed: connect to a cluster anew, and pass that client.")
    if client in CHECKED:
        return

    def installed() -> tuple[str, str] | None:  # sent as it is: a worker may have nothing to look it up in
        try:
            import likelier
            from likelier import _core
        except ImportError:
            return None
        return likelier.__version__, _core.ISA

    found = client.run(installed)
    without = sorted(worker for worker, has in found.items() if has is None)
    if without:
        raise RuntimeError(
            f"likelier is not installed on worker {without[0]}"
            + (f" and {len(without) - 1} others" if len(without) > 1 else "")
            + ": install the same version there as here."
        )
    kinds = {has: worker for worker, has in sorted(found.items())}
    if len(kinds) > 1:
        shown = "; ".join(f"{version} at level {level} on {at}" for (version, level), at in kinds.items())
        warnings.warn(
            f"workers differ in version or instruction level: likelier {shown}. Results agree up to "
            "rounding, and not bit for bit. Set LIKELIER_ISA to the lowest level on all workers.",
            stacklevel=outside(),
        )
    if found:  # there may be no workers yet
        CHECKED.add(client)


@contextmanager
def waiting() -> Iterator[None]:
    """A fit within a task of the cluster frees its thread for the tasks that it waits for."""
    from distributed import rejoin, secede

    try:
        secede()
    except (ValueError, KeyError):  # it is none, or is free already
        yield
        return
    try:
        yield
    finally:
        rejoin()


@contextmanager
def connected(client: Any) -> Iterator[None]:
    """What fails since a client is closed says so."""
    try:
        yield
    except Exception as problem:
        if not isinstance(problem, CancelledError) and client.status not in CLOSED:
            raise
        raise RuntimeError(
            "the pass was cancelled: was the Dask client, or its cluster, closed meanwhile? Connect anew, "
            "and fit again."
        ) from problem
