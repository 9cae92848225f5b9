"""How a contender is measured: functions of (make, data) that return figures, run in a process each."""

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.race.meters import PeakMemory
from benchmarks.race.registry import Data, Figures, Make

WARM_ROWS = 2000  # an untimed fit to so many rows: threads are started and code is loaded by then
ON_MANY = 3  # calls in a process, on a large problem
ON_FEW = 300  # on a small one
LONG = 10  # seconds after which a call is not repeated
STARTS = 4  # of an interpreter in each process; times the repeats


def timed(call: Callable[..., Any], *arguments: Any) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def quality(model: Any, data: Data) -> Figures:
    """Mean log-loss (probabilities cut off at the machine's epsilon) and accuracy on the rows held out."""
    P = np.asarray(model.predict_proba(data.X_test))
    of_label = P[np.arange(len(P)), data.y_test]
    log_loss = -np.log(np.maximum(of_label, np.finfo(np.float64).eps)).mean()
    return {"log_loss": float(log_loss), "accuracy": float((P.argmax(axis=1) == data.y_test).mean())}


def throughput(make: Make, data: Data | None) -> Figures:
    """Fits and predict_probas of all rows: the best call, and the memory of the first.

    More than one call in a process: where a virtual machine hands free memory back to its host, the first
    to touch a page pays a price that has nothing to do with the model.
    """
    assert data is not None
    make().fit(data.X[:WARM_ROWS], data.y[:WARM_ROWS]).predict_proba(data.X[:WARM_ROWS])
    model = make()
    steps = {"fit": (model.fit, data.X, data.y), "predict": (model.predict_proba, data.X)}
    figures: Figures = {}
    for name, step in steps.items():
        gc.collect()
        memory = PeakMemory()
        first = timed(*step)
        figures[f"{name}_mb"] = memory.megabytes()
        figures[f"{name}_first"] = first
        figures[name] = min(first, *(timed(*step) for _ in range(ON_MANY - 1)))
    return figures | quality(model, data)


def searching(make: Make, data: Data | None) -> Figures:
    """Cross-validations of all rows: the best call (long ones are made once), and the log-loss it finds."""
    assert data is not None
    search = make()
    search(data.X[:WARM_ROWS], data.y[:WARM_ROWS])
    times: list[float] = []
    found: list[float] = []
    gc.collect()
    memory = PeakMemory()
    while len(times) < ON_MANY and sum(times) < LONG:
        times.append(timed(lambda: found.append(search(data.X, data.y))))
    return {"search": min(times), "fit_mb": memory.megabytes(), "log_loss": found[-1]}


def latency(make: Make, data: Data | None) -> Figures:
    """Many fits to few rows, and many predictions of one row: the best and the median call."""
    assert data is not None
    models = [make() for _ in range(ON_FEW)]
    row = data.X_test[:1]
    models[0].fit(data.X, data.y).predict(row)
    fits = [timed(model.fit, data.X, data.y) for model in models[1:]]
    rows = [timed(models[-1].predict, row) for _ in range(ON_FEW)]
    figures = {"fit": min(fits), "fit_median": median(fits)}
    figures |= {"one_row": min(rows), "one_row_median": median(rows)}
    return figures | quality(models[-1], data)


def importing(make: Make, data: Data | None) -> Figures:
    """The start of an interpreter that runs a statement, by turns with one that runs nothing."""
    statement = make()

    def start(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    start(statement)
    times = [(timed(start, statement), timed(start, "pass")) for _ in range(STARTS)]
    wall, bare = (min(column) for column in zip(*times, strict=True))
    return {"wall": wall, "net": wall - bare}
