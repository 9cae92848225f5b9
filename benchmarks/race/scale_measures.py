"""How passes over files and collections are measured: the whole call, and what memory it holds."""

import gc
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from benchmarks.race.logistic_measures import gap
from benchmarks.race.measures import LONG, ON_MANY, quality, timed
from benchmarks.race.meters import PeakMemory, peak, workers
from benchmarks.race.registry import Data, Figures, Make

# What a contender makes: everything before the pass itself (workers, rows in memory) is done on entering.
Pass = Callable[[], Any]
Ready = Callable[[Any], AbstractContextManager[Pass]]


def called(run: Pass) -> tuple[list[float], Any]:
    """Seconds of some calls, two at least unless one takes minutes, and what the last returned.

    The first may be alone in reading what is not yet in the page cache, or in loading code on workers.
    """
    times, found = list[float](), list[Any]()
    while len(times) < ON_MANY and sum(times) < (LONG if len(times) > 1 else 6 * LONG):
        found.clear()
        times.append(timed(lambda: found.append(run())))
    return times, found[0]


def passing(make: Make, tables: Any) -> Figures:
    """A call that passes over all rows; the quality of the model, if it ends in one."""
    ready: Ready = make()
    with ready(tables) as run:
        gc.collect()
        memory = PeakMemory()
        times, found = called(run)
        figures = {"fit": min(times), "fit_mb": memory.megabytes()}
        return figures | (quality(found, tables) if hasattr(found, "predict_proba") else {})


def minimising_together(make: Make, shared: Any) -> Figures:
    """The same on a collection, whose rows are also at hand: how far from the minimum a fit ends."""
    ready: Ready = make()
    with ready(shared) as run:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of exp(1000), and of steps that were not enough
            times, found = called(run)
        return {"fit": min(times)} | _padded(found, shared.data)


def _padded(model: Any, data: Data) -> Figures:
    """The quality of a model that may not know of all classes; the gap of one that has weights for each."""
    K = int(data.y_test.max()) + 1
    known = _Known(model, K)
    whole = np.atleast_2d(getattr(model, "coef_", np.zeros(0))).shape == (
        1 if K == 2 else K,
        data.X.shape[1],
    )
    return quality(known, data) | (gap(model, data) if data.least is not None and whole else {})


class _Known:
    """Answers with a column for each class: 0 for those that the model has none for."""

    def __init__(self, model: Any, K: int) -> None:
        self._model, self._K = model, K

    def predict_proba(self, X: Any) -> Any:
        P = np.asarray(self._model.predict_proba(X))
        return np.pad(P, ((0, 0), (0, self._K - P.shape[1])))


def resident(make: Make, tables: Any) -> Figures:
    """The most memory that the process held during one call, all of it; and the fullest of its workers."""
    ready: Ready = make()
    with ready(tables) as run, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few steps do not converge, and are not meant to
        PeakMemory()  # sets the mark back
        figures = {"fit": timed(run), "rss_mb": peak()}
        held = [peak(pid) for pid in workers()]
        return figures | ({"workers_mb": max(held)} if held else {})
