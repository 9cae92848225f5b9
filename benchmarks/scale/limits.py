"""The limits of this machine, measured: memory, multiplication, files, Parquet, CSV, tasks of Dask."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race.measures import timed
from benchmarks.race.scale_contenders import CSV, PARQUET
from benchmarks.race.tables import P, Tables
from benchmarks.scale.costs import NUMBER

REPEATS = 5
BLOCK = 1 << 24  # bytes that are read at a time


def best(call: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Seconds of the fastest call."""
    return min(timed(call) for _ in range(repeats))


def side_by_side(call: Callable[[Any], Any], items: list[Any], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(call, items):
            pass


def memory(threads: int) -> float:
    """Bytes of an array that lies in no cache, read by the second."""
    arrays = [np.ones(1 << 25) for _ in range(threads)]
    return threads * arrays[0].nbytes / best(lambda: side_by_side(np.sum, arrays, threads))


def flops(size: int = 2000) -> float:
    """Multiplications and additions of matrices, by the second; as many threads as the library has."""
    A = np.random.default_rng(0).standard_normal((size, size))
    return 2 * size**3 / best(lambda: A @ A)


def gather(threads: int) -> float:
    """Numbers from random places of 8 MB, by the second."""
    values, rng = np.ones(1 << 20), np.random.default_rng(0)
    places = [rng.integers(len(values), size=1 << 22) for _ in range(threads)]
    return threads * len(places[0]) / best(lambda: side_by_side(values.take, places, threads))


def through(path: str) -> None:
    """A file, byte by byte, and nothing of it kept."""
    room = bytearray(BLOCK)
    with Path(path).open("rb", buffering=0) as file:
        while file.readinto(room):
            pass


def size(files: list[str]) -> int:
    return sum(Path(path).stat().st_size for path in files)


def cached(files: list[str], threads: int) -> float:
    """Bytes of files that were just read, by the second."""
    return size(files) / best(lambda: side_by_side(through, files, threads))


def stored(files: list[str], threads: int) -> float:
    """The same of files that the system was asked to forget: what lies below may remember them."""
    for path in files:
        with Path(path).open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return size(files) / timed(lambda: side_by_side(through, files, threads))


def decoding(tables: Tables) -> float:
    """Bytes of numbers by the second, by the fastest of pyarrow's ways."""
    numbers = tables.n * NUMBER * (P + 1)
    return numbers / min(best(partial(read, tables), 3) for read in PARQUET.values())


def parsing(tables: Tables) -> float:
    """Bytes of text by the second."""
    return size(tables.files) / min(best(partial(read, tables), 3) for read in CSV.values())


# ---- workers -----------------------------------------------------------------------------------------
TASKS = 1000
STATE = 1 << 23  # bytes: the gradient of a million weights


def nothing(number: int) -> int:
    return number


def state_of(number: int) -> Any:
    return np.zeros(STATE // NUMBER)


def task(client: Any) -> float:
    """Seconds that a task takes which does nothing, among many."""
    return best(lambda: client.gather(client.map(nothing, range(TASKS), pure=False)), 3) / TASKS


def transfer(client: Any) -> float:
    """Bytes of states by the second, from workers to whoever asked."""
    states = client.map(state_of, range(8), pure=False)
    client.gather(client.map(len, states))
    return len(states) * STATE / best(lambda: client.gather(states), 3)
