"""Tables in files, larger than the rows of other problems: Gaussian classes, made file by file."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

P = 30  # columns of X
NAMES = [f"x{j}" for j in range(P)]
TARGET = "label"
GROUP = 1 << 20  # rows in a row group: what pyarrow's writer has by default
FILE_ROWS = 1 << 21  # half a gigabyte of numbers
TEST_ROWS = 20_000

Format = Literal["parquet", "csv"]


def rows(n: int, K: int, number: int, p: int = P) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """X by columns, (p, n), and y; of one file, by its number. The classes differ in their means alone."""
    means = np.random.default_rng([K, p]).standard_normal((K, p)) * (1.6 / np.sqrt(p))
    rng = np.random.default_rng([7, K, number])
    y = rng.integers(K, size=n)
    X = rng.standard_normal((p, n))
    for j in range(p):
        X[j] += means[y, j]
    return X, y


@dataclass(frozen=True)
class Tables:
    """n rows of K classes in files of one format; held out: as many as no file has."""

    n: int
    format: Format = "parquet"
    group: int = GROUP
    file_rows: int = FILE_ROWS
    K: int = 2
    folder: str = ""

    def save(self, folder: Path) -> None:
        """The files, as their writers write them by default; two at a time."""
        with ThreadPoolExecutor(2) as pool:
            for _ in pool.map(lambda i: self._write(folder, i), range(-(-self.n // self.file_rows))):
                pass
        (folder / "about.json").write_text(json.dumps(asdict(self) | {"folder": str(folder)}))

    @classmethod
    def load(cls, folder: Path) -> "Tables":
        return cls(**json.loads((folder / "about.json").read_text()))

    def _write(self, folder: Path, number: int) -> None:
        import pyarrow as pa
        from pyarrow import csv, parquet

        n = min(self.file_rows, self.n - number * self.file_rows)
        X, y = rows(n, self.K, number)
        path = folder / f"rows-{number:03}.{self.format}"
        if self.format == "csv":
            np.round(X, 6, out=X)
        table = pa.table(_named(X) | {TARGET: y})
        if self.format == "csv":
            csv.write_csv(table, path)
        else:
            parquet.write_table(table, path, row_group_size=self.group)

    @property
    def files(self) -> list[str]:
        return [str(path) for path in sorted(Path(self.folder).glob(f"rows-*.{self.format}"))]

    # ---- rows held out, as the measures of quality take them ------------------------------------------
    @cached_property
    def _held_out(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return rows(TEST_ROWS, self.K, 1 << 20)

    @property
    def X_test(self) -> Any:
        """With the names of the columns: those who learned from files know them by name."""
        import pyarrow as pa

        return pa.table(_named(self._held_out[0]))

    @property
    def y_test(self) -> NDArray[np.int64]:
        return self._held_out[1]


def _named(X: NDArray[np.float64]) -> Mapping[str, NDArray[np.float64]]:
    return dict(zip(NAMES, X, strict=True))
