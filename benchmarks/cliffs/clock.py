"""The best time of a call, in a process of its own that is ended at a limit."""

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

LIMIT = 30.0  # seconds: what takes longer is ended, and counts as that long
ENOUGH = 2.0  # seconds of repeats in one process
TASKS = ("fit", "predict", "one")

# A forked process has the table and the libraries at once; no thread has been started before.
_FORK = multiprocessing.get_context("fork")


def seconds(make: Callable[[], Any], X: Any, y: np.ndarray, task: str) -> float:
    """Best time of fitting, of predicting all rows or of predicting one, or the limit."""
    here, there = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_send, args=(make, X, y, task, there))
    child.start()
    there.close()
    try:
        found = here.recv() if here.poll(LIMIT) else LIMIT
    except EOFError:
        found = RuntimeError("the process died")
    child.kill()
    child.join()
    if isinstance(found, Exception):
        raise found
    return float(found)


def both(pair: Any, table: Any, task: str, rounds: int = 2) -> tuple[float, float]:
    """Times of likelier and of scikit-learn, in turns, the best of the rounds each."""
    X, y = pair.data(table)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(seconds(pair.ours, X, y, task))
        theirs.append(seconds(pair.theirs, X, y, task))
        if ours[-1] + theirs[-1] > ENOUGH:
            break
    return min(ours), min(theirs)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _send(make: Callable[[], Any], X: Any, y: np.ndarray, task: str, pipe: Connection) -> None:
    warnings.simplefilter("ignore")
    try:
        pipe.send(_best(make, X, y, task))
    except Exception as error:
        pipe.send(RuntimeError(f"{type(error).__name__}: {error}"))


def _best(make: Callable[[], Any], X: Any, y: np.ndarray, task: str) -> float:
    call = _call(make, X, y, task)
    best, spent = np.inf, 0.0
    for _ in range(200 if task == "one" else 7):
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
        if spent > ENOUGH:
            break
    return best


def _call(make: Callable[[], Any], X: Any, y: np.ndarray, task: str) -> Callable[[], Any]:
    if task == "fit":
        return lambda: make().fit(X, y)
    model = make().fit(X, y)
    ask = getattr(model, "predict_proba", model.predict)
    rows = X[:1] if task == "one" else X
    ask(rows)
    return lambda: ask(rows)
