"""The problems of scale: files larger than a pass should hold, and rows on workers."""

from benchmarks.race.clusters import Shared, classes
from benchmarks.race.logistic_problems import with_minimum
from benchmarks.race.registry import problem
from benchmarks.race.scale_measures import minimising_together, passing, resident
from benchmarks.race.tables import FILE_ROWS, GROUP, Tables

LEAST = 5000  # rows, however small the scale
SIZES = (1, 4, 10)  # GB
FILES = 20  # of 10 GB


def some(n: int, scale: float) -> int:
    return max(LEAST, round(n * scale))


@problem(
    "parquet",
    title="Parquet, 20M x 30 numbers and a label, 2 classes: one fit, from opening the files",
    measure=passing,
    load=Tables.load,
)
def _(scale: float) -> Tables:
    return Tables(some(20_000_000, scale))


@problem(
    "csv",
    title="one CSV file, 2M x 30 numbers of 6 decimals and a label, 2 classes: one fit, from opening it",
    measure=passing,
    load=Tables.load,
)
def _(scale: float) -> Tables:
    return Tables(some(2_000_000, scale), "csv")


@problem(
    "files-logistic",
    title="Parquet, 4M x 30, 2 classes: a pass for gradient and Hessian, and whole fits",
    measure=passing,
    load=Tables.load,
)
def _(scale: float) -> Tables:
    return Tables(some(4_000_000, scale))


@problem(
    "dask",
    title="4M x 30, 2 classes, in parts of 131k rows: worker processes beside threads",
    measure=passing,
    load=Tables.load,
)
def _(scale: float) -> Tables:
    return Tables(some(4_000_000, scale), group=1 << 17)


def _shared(scale: float, K: int) -> Shared:
    n = some(1_000_000, scale)
    return Shared(with_minimum(classes(n, max(LEAST, n // 20), K, 20)))


@problem(
    "dask-ml-bayes",
    title="a Dask array of 8M x 20 on two workers, 2 classes",
    measure=minimising_together,
    load=Shared.load,
)
def _(scale: float) -> Shared:
    n = some(8_000_000, scale)
    return Shared(classes(n, max(LEAST, n // 100), 2, 20))


@problem(
    "dask-ml",
    title="a Dask array of 1M x 20 on two workers, 2 classes; L2, C = 1",
    measure=minimising_together,
    load=Shared.load,
)
def _(scale: float) -> Shared:
    return _shared(scale, 2)


@problem(
    "dask-ml-classes",
    title="a Dask array of 1M x 20 on two workers, 5 classes; L2, C = 1",
    measure=minimising_together,
    load=Shared.load,
)
def _(scale: float) -> Shared:
    return _shared(scale, 5)


def _large(scale: float, group: int) -> Tables:
    """As many files as at full size, each of fewer rows."""
    n = some(FILES * FILE_ROWS, scale)
    return Tables(n, group=group, file_rows=-(-n // FILES))


for name, group, words in (("memory", GROUP, "1M"), ("memory-64k", 1 << 16, "64k")):

    @problem(
        name,
        title=f"Parquet of 1, 4 and 10 GB (42M x 30), row groups of {words} rows: memory held by a fit",
        measure=resident,
        load=Tables.load,
        apart=True,
    )
    def _(scale: float, group: int = group) -> Tables:
        return _large(scale, group)
