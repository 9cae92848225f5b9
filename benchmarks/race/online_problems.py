"""The problems of online learning: rows that are passed over once, in their order."""

import csv
import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from benchmarks.race import clicks, wabbit
from benchmarks.race.logistic_problems import documents, sizes, split
from benchmarks.race.online_measures import one_pass, row_by_row, streaming
from benchmarks.race.registry import Data, problem
from benchmarks.race.runner import ROOT

Rows = list[tuple[dict[str, Any], int]]


@dataclass(frozen=True)
class Written:
    """Rows as arrays, and those to learn from also as a file for Vowpal Wabbit."""

    data: Data
    vw: Path = Path()

    def save(self, folder: Path) -> None:
        self.data.save(folder)
        wabbit.write(folder / "rows.vw", self.data.X, self.data.y)

    @classmethod
    def load(cls, folder: Path) -> "Written":
        return cls(Data.load(folder), folder / "rows.vw")


def dense(n: int, n_test: int) -> Data:
    """Columns on different scales, and labels by a linear score that leaves one row in six uncertain."""
    p, rng = 20, np.random.default_rng(8)
    mix = np.eye(p) + 0.2 * rng.standard_normal((p, p))
    X = wabbit.rounded(rng.standard_normal((n + n_test, p)) @ mix)
    w = rng.standard_normal(p)
    z = 0.25 + 2.64 * X @ w / np.linalg.norm(w @ mix.T)
    y = (rng.random(len(z)) < expit(z)).astype(np.int64)
    return split(X, y, n)


@problem(
    "dense-online",
    title="1M x 20 rows, 2 classes: one pass",
    measure=one_pass,
    load=Written.load,
)
def _(scale: float) -> Written:
    n, N = sizes(scale, 1_000_000, 50_000)
    return Written(dense(n, N - n))


@problem(
    "sparse-online",
    title="CSR 200k x 100k rows of tf-idf, 94 non-zeros a row, 2 classes: one pass",
    measure=one_pass,
    load=Written.load,
)
def _(scale: float) -> Written:
    X, y, n = documents(scale)
    X.data = np.maximum(wabbit.rounded(X.data), 10.0**-wabbit.DECIMALS)
    return Written(split(X, y % 2, n))


# ---- clicks ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ClickFiles:
    """The first n rows of the stream of clicks, as TSV and for Vowpal Wabbit."""

    n: int
    tsv: Path = Path()
    vw: Path = Path()

    def save(self, folder: Path) -> None:
        for kind in ("tsv", "vw"):
            clicks.write(folder / f"clicks-{self.n}.{kind}", self.n)

    @classmethod
    def load(cls, folder: Path) -> "ClickFiles":
        (tsv,) = folder.glob("clicks-*.tsv")
        return cls(int(tsv.stem.partition("-")[2]), tsv, tsv.with_suffix(".vw"))


@problem(
    "clicks",
    title="a file of 1M clicks, 13 counts and 26 categories: one pass, from the start of the program",
    measure=one_pass,
    load=ClickFiles.load,
)
def _(scale: float) -> ClickFiles:
    return ClickFiles(max(5000, round(1_000_000 * scale)))


# ---- dicts -------------------------------------------------------------------------------------------
class Count(NamedTuple):
    """How many rows; the processes of the contenders make them."""

    n: int

    def save(self, folder: Path) -> None:
        (folder / "rows").write_text(str(self.n))

    @classmethod
    def load(cls, folder: Path) -> "Count":
        return cls(int((folder / "rows").read_text()))


def number_dicts(folder: Path) -> Rows:
    data = dense(Count.load(folder).n, 0)
    names = [f"x{j}" for j in range(data.X.shape[1])]
    dicts = (dict(zip(names, x, strict=True)) for x in data.X.tolist())
    return list(zip(dicts, data.y.tolist(), strict=True))


def click_dicts(folder: Path) -> Rows:
    return list(clicks.dicts(clicks.blocks(Count.load(folder).n)))


@problem(
    "one-row", title="learn_one: 100k dicts of 20 numbers, 2 classes", measure=row_by_row, load=number_dicts
)
def _(scale: float) -> Count:
    return Count(max(2000, round(100_000 * scale)))


@problem(
    "one-row-clicks",
    title="learn_one: 20k dicts of 13 counts and 26 strings, hashed",
    measure=row_by_row,
    load=click_dicts,
)
def _(scale: float) -> Count:
    return Count(max(2000, round(20_000 * scale)))


# ---- streams -----------------------------------------------------------------------------------------
class Stream(NamedTuple):
    """A file as rows, and as text for Vowpal Wabbit."""

    rows: Rows
    vw: Path


class Table(NamedTuple):
    """A CSV file: a column is of numbers if all its cells are, or of strings; empty cells are missing."""

    file: str
    target: str
    delimiter: str = ","
    header: tuple[str, ...] = ()  # of a file without one
    words: tuple[str, ...] = ()  # columns of strings, whatever they look like

    def rows(self, folder: Path) -> Rows:
        with _opened(folder / self.file) as file:
            lines = csv.reader(file, delimiter=self.delimiter)
            names = list(self.header) or next(lines)
            cells = list(lines)
        columns = dict(zip(names, zip(*cells, strict=True), strict=True))
        y = [int(label) for label in columns.pop(self.target)]
        typed = [c if name in self.words else _numbers(c) for name, c in columns.items()]
        return [
            ({k: v for k, v in zip(columns, x, strict=True) if v != ""}, label)
            for x, label in zip(zip(*typed, strict=True), y, strict=True)
        ]

    def write(self, folder: Path, path: Path) -> None:
        path.write_text("".join(wabbit.line(x, y) + "\n" for x, y in self.rows(folder)))


class Wabbit(NamedTuple):
    """A file in Vowpal Wabbit's format, one namespace, labels above 0 or not."""

    file: str

    def _lines(self, folder: Path) -> Iterator[tuple[int, str]]:
        with _opened(folder / self.file) as file:
            for line in file:
                label, _, cells = line.partition(" ")
                yield int(float(label) > 0), cells

    def rows(self, folder: Path) -> Rows:
        split = ((label, cells.split()[1:]) for label, cells in self._lines(folder))
        return [({k: float(v) for k, v in (c.split(":") for c in cells)}, label) for label, cells in split]

    def write(self, folder: Path, path: Path) -> None:
        path.write_text("".join(f"{1 if label else -1} {cells}" for label, cells in self._lines(folder)))


def _opened(path: Path) -> Any:
    return gzip.open(path, "rt") if path.suffix == ".gz" else path.open()


def _numbers(cells: tuple[str, ...]) -> tuple[Any, ...]:
    try:
        return tuple(float(cell) if cell else "" for cell in cells)
    except ValueError:
        return cells


CRITEO = ("click", *clicks.NUMBERS, *clicks.WORDS)
STREAMS: dict[str, Table | Wabbit] = {
    "elec2": Table("elec2.csv.gz", "class"),
    "phishing": Table("phishing_river.csv", "is_phishing"),
    "sea": Table("sea.csv.gz", "class"),
    "weather": Table("weather.csv.gz", "target"),
    "criteo": Table("criteo_8k.tsv.gz", "click", "\t", CRITEO, tuple(clicks.WORDS)),
    "open_bandit": Table("open_bandit_random_10k.csv.gz", "click"),
    "rcv1": Wabbit("rcv1_small.vw.gz"),
    "vw_0001": Wabbit("vw_0001.vw.gz"),
}


def data_folder() -> Path:
    """As the tests look for it: $LIKELIER_DATA, or shared/data beside the repository."""
    return Path(os.environ.get("LIKELIER_DATA", ROOT.parent / "shared" / "data"))


class StreamFiles(NamedTuple):
    """All streams, those that are not Vowpal Wabbit's own written as its text."""

    source: Path

    def save(self, folder: Path) -> None:
        for name, stream in STREAMS.items():
            stream.write(self.source, folder / f"{name}.vw")

    @staticmethod
    def load(folder: Path) -> dict[str, Stream]:
        source = data_folder()
        return {
            name: Stream(stream.rows(source), folder / f"{name}.vw") for name, stream in STREAMS.items()
        }


@problem(
    "streams",
    title="progressive log-loss on streams of data sets, all settings at their defaults",
    measure=streaming,
    load=StreamFiles.load,
)
def _(scale: float) -> StreamFiles:
    folder = data_folder()
    absent = [stream.file for stream in STREAMS.values() if not (folder / stream.file).exists()]
    if absent:
        raise FileNotFoundError(f"no {', '.join(absent)} in {folder}: set LIKELIER_DATA")
    return StreamFiles(folder)
