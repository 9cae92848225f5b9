"""Workers on this machine, and collections on them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.race.registry import Data
from benchmarks.race.tables import TARGET, P, Tables, rows

CHUNK = 1 << 17  # rows in a chunk of an array
MOST = "4GB"  # memory of a worker


@contextmanager
def cluster() -> Iterator[Any]:
    """A scheduler and worker processes on loopback, as many as others have threads, of one thread each."""
    from distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": MOST}
    count = int(os.environ.get("LIKELIER_THREADS", "2"))
    with LocalCluster(n_workers=count, processes=True, **settings) as local, Client(local) as client:
        client.run(_load)
        yield client


def _load() -> None:
    """What takes a worker a second when it is first asked, and is no part of any pass."""
    for name in ("likelier.estimators.generative.base", "pyarrow.parquet", "pandas"):
        import_module(name)


def frame_of(tables: Tables) -> Any:
    """The files as a frame of a partition for each row group: the parts that a scan has."""
    import dask.dataframe as dd

    return dd.read_parquet(tables.files, split_row_groups=1)


def arrays_of(tables: Tables) -> tuple[Any, Any]:
    """The same rows as arrays, a chunk for each row group, in the memory of the workers."""
    import dask.array as da
    from dask import delayed
    from pyarrow import parquet

    X, y = [], []
    for path in tables.files:
        footer = parquet.read_metadata(path)
        for i in range(footer.num_row_groups):
            n, group = footer.row_group(i).num_rows, delayed(_group, nout=2)(path, i)
            X.append(da.from_delayed(group[0], (n, P), np.float64))
            y.append(da.from_delayed(group[1], (n,), np.int64))
    return held(da.concatenate(X), da.concatenate(y))


def held(X: Any, y: Any) -> tuple[Any, Any]:
    """The same, computed and kept where Dask keeps it; all of it, when this returns."""
    import dask
    from distributed import futures_of, wait

    found = dask.persist(X, y)
    if coming := futures_of(found):
        wait(coming)
    return found


def _group(path: str, number: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """X, row by row, and y."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        table = file.read_row_group(number)
    y = table.column(TARGET).to_numpy()
    return np.column_stack([column.to_numpy() for column in table.drop_columns([TARGET]).columns]), y


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
        return held(*(_chunked(self.folder / f"{name}.npy") for name in ("X", "y")))


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
