"""Workers on this machine, and collections on them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.race.registry import Data
from benchmarks.race.tables import TARGET, Tables, rows

CHUNK = 1 << 16  # rows in a chunk of an array
MOST = "4GB"  # memory of a worker


@contextmanager
def cluster() -> Iterator[Any]:
    """A scheduler and worker processes on loopback, as many as others have threads, of one thread each."""
    from distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": MOST}
    count = int(os.environ.get("LIKELIER_THREADS", "2"))
    with LocalCluster(n_workers=count, processes=True, **settings) as local, Client(local) as client:
        yield client


def frame_of(tables: Tables) -> Any:
    """The files as a frame of a partition for each row group: the parts that a scan has."""
    import dask.dataframe as dd

    return dd.read_parquet(tables.files, split_row_groups=1)


def arrays_of(tables: Tables) -> tuple[Any, Any]:
    """The same rows as arrays, in the memory of the workers."""
    import dask
    from distributed import wait

    frame = frame_of(tables)
    sizes = tuple(frame.map_partitions(len).compute())
    X = frame.drop(columns=TARGET).to_dask_array(lengths=sizes)
    X, y = dask.persist(X, frame[TARGET].to_dask_array(lengths=sizes))
    wait([X, y])
    return X, y


@dataclass(frozen=True)
class Shared:
    """Arrays, and the folder in which workers find them."""

    data: Data
    folder: Path = Path()

    def save(self, folder: Path) -> None:
        self.data.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "Shared":
        return cls(Data.load(folder), folder)

    def collected(self) -> tuple[Any, Any]:
        """X and y as Dask arrays, in the memory of the workers."""
        import dask
        from distributed import wait

        found = dask.persist(*(_chunked(self.folder / f"{name}.npy") for name in ("X", "y")))
        wait(found)
        return found


def _chunked(path: Path) -> Any:
    """An array whose chunks are read by whoever holds them."""
    import dask.array as da
    from dask import delayed

    whole = np.load(path, mmap_mode="r")
    n, rest = len(whole), whole.shape[1:]
    cuts = [(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]
    blocks = [
        da.from_delayed(delayed(_read)(path, start, stop), (stop - start, *rest), whole.dtype)
        for start, stop in cuts
    ]
    return da.concatenate(blocks)


def _read(path: Path, start: int, stop: int) -> NDArray[Any]:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def classes(n: int, n_test: int, K: int, p: int) -> Data:
    """The rows of tables, in memory."""
    X, y = rows(n + n_test, K, 0, p)
    X = np.ascontiguousarray(X.T)
    return Data(X[:n], y[:n], X[n:], y[n:])
