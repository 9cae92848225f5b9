"""The contenders of scale: models over files and on workers, and readers that drop what they read.

Each is a function of the files or of the collection that does, in a context, what comes before the pass,
and says what is to be timed.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.race.clusters import Shared, arrays_of, cluster, frame_of
from benchmarks.race.registry import contender
from benchmarks.race.scale_measures import Pass, Ready
from benchmarks.race.scale_problems import SIZES
from benchmarks.race.tables import NAMES, TARGET, Tables

BATCH = 1 << 15  # rows of 30 numbers: 8 MB


def at_once(run: Callable[[Any], Any]) -> Ready:
    """A pass with nothing before it."""

    @contextmanager
    def ready(rows: Any) -> Iterator[Pass]:
        yield partial(run, rows)

    return ready


class Model:
    """A model of likelier's by its name, and parameters; labelled: it learns from a target."""

    def __init__(self, name: str, *, labelled: bool = True, **params: Any) -> None:
        self._name, self.labelled, self._params = name, labelled, params

    def __call__(self) -> Any:
        return getattr(import_module("likelier"), self._name)(**self._params)


def scanned(tables: Tables) -> Any:
    from likelier import scan

    return scan(tables.files, target=TARGET)


NEWTON = Model("LogisticRegression", solver="newton")
ONE_PASS = {"GaussianNB": Model("GaussianNB"), "LDA": Model("LinearDiscriminantAnalysis")}


# ---- files -------------------------------------------------------------------------------------------
for name, model in ONE_PASS.items():

    @contender(problem=("parquet", "csv"), library="likelier", name=name)
    def _(model: Model = model) -> Ready:
        import_module("likelier")
        return at_once(lambda tables: model().fit(scanned(tables)))


# Readers say how many rows they have met, and keep none of them.
Reader = Callable[[Tables], int]


def by_threads(read: Callable[[str, int, Any], int], tables: Tables) -> int:
    """Row groups, each by one of as many threads as Arrow has."""
    import pyarrow as pa
    from pyarrow import parquet

    footers = [(path, parquet.read_metadata(path)) for path in tables.files]
    groups = [(path, i, footer) for path, footer in footers for i in range(footer.num_row_groups)]
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        return sum(pool.map(lambda group: read(*group), groups))


def _group(path: str, number: int, footer: Any, **how: Any) -> int:
    from pyarrow import parquet

    with parquet.ParquetFile(path, metadata=footer, **how) as file:
        return int(file.read_row_group(number, use_threads=False).num_rows)


def _batches(path: str, number: int, footer: Any, **how: Any) -> int:
    from pyarrow import parquet

    with parquet.ParquetFile(path, metadata=footer, **how) as file:
        batches = file.iter_batches(batch_size=BATCH, row_groups=[number], use_threads=False)
        return sum(batch.num_rows for batch in batches)


def _file_by_file(tables: Tables) -> int:
    from pyarrow import parquet

    met = 0
    for path in tables.files:
        with parquet.ParquetFile(path) as file:
            met += sum(batch.num_rows for batch in file.iter_batches(batch_size=BATCH, use_threads=True))
    return met


def _dataset(format: str, tables: Tables) -> int:
    from pyarrow import dataset

    return sum(batch.num_rows for batch in dataset.dataset(tables.files, format=format).to_batches())


SMALL = {"pre_buffer": False, "buffer_size": 1 << 18}
PARQUET: Mapping[str, Reader] = {
    "row groups by threads": partial(by_threads, _group),
    "batches by threads": partial(by_threads, _batches),
    "batches by threads, small buffers": partial(by_threads, partial(_batches, **SMALL)),
    "batches by threads, mapped": partial(by_threads, partial(_batches, memory_map=True)),
    "columns by threads": _file_by_file,
    "dataset": partial(_dataset, "parquet"),
}


def _whole_csv(tables: Tables) -> int:
    from pyarrow import csv

    return sum(csv.read_csv(path).num_rows for path in tables.files)


def _streamed_csv(tables: Tables) -> int:
    from pyarrow import csv

    return sum(batch.num_rows for path in tables.files for batch in csv.open_csv(path))


CSV: Mapping[str, Reader] = {
    "read_csv": _whole_csv,
    "open_csv": _streamed_csv,
    "dataset": partial(_dataset, "csv"),
}

for problems, readers in ((("parquet", "files-logistic"), PARQUET), (("csv",), CSV)):
    for name, read in readers.items():

        @contender(problem=problems, library="pyarrow", name=name)
        def _(read: Reader = read) -> Ready:
            import_module("pyarrow")
            return at_once(read)


# ---- several passes ----------------------------------------------------------------------------------
def in_memory(tables: Tables) -> tuple[Any, Any]:
    """X, row by row, and y."""
    from pyarrow import parquet

    table = parquet.read_table(tables.files)
    y = table.column(TARGET).to_numpy()
    table = table.drop_columns([TARGET])
    X = np.empty(table.shape)
    for j, column in enumerate(table.columns):
        X[:, j] = column.to_numpy()
    return X, y


def step(source: Any) -> Pass:
    """Loss, gradient and Hessian at 0: a step of Newton's method, by one pass over the rows."""
    from likelier.losses import logistic
    from likelier.objective import Objective
    from likelier.penalties import ElasticNet
    from likelier.states import Setting

    setting = Setting(logistic, 1, np.zeros(source.p))
    objective = Objective(source, setting, ElasticNet.of(1, source.p, 1e-6, 0.0), float(source.rows))
    return partial(objective.hessian, np.zeros(objective.size))


@contender(problem="files-logistic", library="likelier", name="a pass over files")
def _() -> Ready:
    import_module("likelier")

    @contextmanager
    def ready(tables: Tables) -> Iterator[Pass]:
        yield step(scanned(tables).coded(np.arange(2)))

    return ready


@contender(problem="files-logistic", library="likelier", name="a pass in memory")
def _() -> Ready:
    from likelier.data import Arrays, Dense, code

    @contextmanager
    def ready(tables: Tables) -> Iterator[Pass]:
        X, y = in_memory(tables)
        yield step(Arrays(Dense(X), code(y, np.arange(2))))

    return ready


@contender(problem="files-logistic", library="likelier", name="LogisticRegression, files")
def _() -> Ready:
    import_module("likelier")
    return at_once(lambda tables: NEWTON().fit(scanned(tables)))


@contender(problem="files-logistic", library="likelier", name="LogisticRegression, memory")
def _() -> Ready:
    import_module("likelier")

    @contextmanager
    def ready(tables: Tables) -> Iterator[Pass]:
        X, y = in_memory(tables)
        yield lambda: NEWTON().fit(X, y)

    return ready


# ---- workers -----------------------------------------------------------------------------------------
@contextmanager
def _threads(model: Model, tables: Tables) -> Iterator[Pass]:
    yield lambda: model().fit(scanned(tables))


@contextmanager
def _workers(model: Model, tables: Tables) -> Iterator[Pass]:
    with cluster() as client:
        yield lambda: model().fit(scanned(tables).on(client))


@contextmanager
def _array(model: Model, tables: Tables) -> Iterator[Pass]:
    X, y = in_memory(tables)
    yield lambda: model().fit(X, y)


@contextmanager
def _dask_array(model: Model, tables: Tables) -> Iterator[Pass]:
    with cluster():
        X, y = arrays_of(tables)
        yield lambda: model().fit(X, y)


@contextmanager
def _dask_frame(model: Model, tables: Tables) -> Iterator[Pass]:
    with cluster():
        frame = frame_of(tables)
        yield lambda: model().fit(frame.drop(columns=TARGET), frame[TARGET])


PLACES = {
    "threads": _threads,
    "workers": _workers,
    "array": _array,
    "Dask array": _dask_array,
    "Dask frame": _dask_frame,
}
for name, model in ONE_PASS.items():

    @contender(problem="parquet", library="likelier", name=f"{name}, workers")
    def _(model: Model = model) -> Ready:
        import_module("likelier")
        import_module("distributed")
        return partial(_workers, model)


ON_WORKERS = {**ONE_PASS, "LogisticRegression": NEWTON}
for name, model in ON_WORKERS.items():
    for place, ready in PLACES.items():

        @contender(problem="dask", library="likelier", name=f"{name}, {place}")
        def _(model: Model = model, ready: Any = ready) -> Ready:
            import_module("likelier")
            import_module("distributed")
            return partial(ready, model)


@contender(problem="dask", library="dask", name="reading the frame")
def _() -> Ready:
    import_module("distributed")

    @contextmanager
    def ready(tables: Tables) -> Iterator[Pass]:
        with cluster():
            frame = frame_of(tables)
            yield lambda: frame.map_partitions(len).compute()

    return ready


# ---- a peer on workers -------------------------------------------------------------------------------
def on_collection(fit: Callable[[Any, Any], Any]) -> Ready:
    @contextmanager
    def ready(shared: Shared) -> Iterator[Pass]:
        with cluster():
            X, y = shared.collected()
            yield lambda: fit(X, y)

    return ready


COUNTED = ("dask-ml-bayes", "dask-ml-classes")  # where naive Bayes takes part: few rows are too few
COLLECTED = ("dask-ml", "dask-ml-classes")
for problems, name, model in (
    (COUNTED, "GaussianNB", ONE_PASS["GaussianNB"]),
    (COLLECTED, "LogisticRegression", NEWTON),
):

    @contender(problem=problems, library="likelier", name=name)
    def _(model: Model = model) -> Ready:
        import_module("likelier")
        import_module("distributed")
        return on_collection(lambda X, y: model().fit(X, y))


@contender(problem=COUNTED, library="scikit-learn", name="GaussianNB")
def _() -> Ready:
    from sklearn.naive_bayes import GaussianNB

    return at_once(lambda shared: GaussianNB().fit(shared.data.X, shared.data.y))


@contender(problem=COLLECTED, library="scikit-learn", name="LogisticRegression newton-cholesky")
def _() -> Ready:
    from sklearn.linear_model import LogisticRegression

    new = partial(LogisticRegression, solver="newton-cholesky")
    return at_once(lambda shared: new().fit(shared.data.X, shared.data.y))


@contender(problem=COUNTED, library="dask-ml", name="GaussianNB")
def _() -> Ready:
    from dask_ml.naive_bayes import GaussianNB

    def fit(X: Any, y: Any) -> Any:
        """Its fit only says what is to be done: means, variances and counts are what a fit is."""
        import dask

        model = GaussianNB().fit(X, y)
        found = dask.compute(model.theta_, model.sigma_, model.class_prior_)
        model.theta_, model.sigma_, model.class_prior_ = found
        return model

    return on_collection(fit)


# Its default is admm. Of more than two classes it takes the labels for numbers: two solvers show that.
for solver in ("admm", "lbfgs", "newton", "gradient_descent", "proximal_grad"):
    problems = COLLECTED if solver in ("lbfgs", "newton") else COLLECTED[:1]

    @contender(problem=problems, library="dask-ml", name=f"LogisticRegression {solver}")
    def _(solver: str = solver) -> Ready:
        from dask_ml.linear_model import LogisticRegression

        def fit(X: Any, y: Any) -> Any:
            model = LogisticRegression(C=1.0, solver=solver).fit(X, y)
            w, b = np.asarray(model.coef_)[None], np.atleast_1d(model.intercept_)
            return SimpleNamespace(coef_=w, intercept_=b, predict_proba=model.predict_proba)

        return on_collection(fit)


# ---- memory ------------------------------------------------------------------------------------------
FEW = {"max_iter": 2}
HELD = {
    **ONE_PASS,
    "LogisticRegression": Model("LogisticRegression", solver="newton", **FEW),
    "NaiveBayes": Model("NaiveBayes"),
    "GaussianMixture": Model("GaussianMixture", labelled=False, n_components=3, random_state=0, **FEW),
}
MEMORY = ("memory", "memory-64k")


def first(tables: Tables, size: int, *, labelled: bool) -> Any:
    """So much of all files."""
    from likelier import scan

    files = tables.files[: len(tables.files) * size // max(SIZES)]
    return scan(files, target=TARGET) if labelled else scan(files, features=NAMES)


for name, model in HELD.items():
    for size in SIZES:

        @contender(problem=MEMORY, library="likelier", name=f"{name}, {size} GB")
        def _(model: Model = model, size: int = size) -> Ready:
            import_module("likelier")
            return at_once(lambda tables: model().fit(first(tables, size, labelled=model.labelled)))


for name in ("GaussianNB", "LogisticRegression"):
    for size in (min(SIZES), max(SIZES)):

        @contender(problem=MEMORY, library="likelier", name=f"{name}, {size} GB, workers")
        def _(model: Model = HELD[name], size: int = size) -> Ready:
            import_module("likelier")
            import_module("distributed")

            @contextmanager
            def ready(tables: Tables) -> Iterator[Pass]:
                with cluster() as client:
                    yield lambda: model().fit(first(tables, size, labelled=model.labelled).on(client))

            return ready
