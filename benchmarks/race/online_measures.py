"""How online learners are measured: one pass over all rows, row by row, and progressive loss on streams.

A progressive loss is that of every row, answered before it is learned from.
"""

import gc
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from benchmarks.race.measures import LONG, ON_MANY, WARM_ROWS, quality, timed
from benchmarks.race.registry import Figures, Make

LEAST = 1e-15  # a probability is taken to be no smaller


def loss(P: Any) -> float:
    """Mean of -ln P of the labels that came."""
    return float(-np.log(np.clip(P, LEAST, 1)).mean())


# ---- one pass over all rows --------------------------------------------------------------------------
class Entrant(Protocol):
    """What passes once over rows; of a slow one, the time for a `share` of them is scaled up to all."""

    share: float

    def warm(self, rows: Any) -> None: ...
    def run(self, rows: Any) -> None: ...
    def figures(self, rows: Any) -> Figures: ...


def one_pass(make: Make, rows: Any) -> Figures:
    """Passes over all rows, each by a new learner: the best; make returns an Entrant."""
    candidate_model: Entrant = make()
    candidate_model.warm(rows)
    gc.collect()
    times = [timed(candidate_model.run, rows)]
    while len(times) < ON_MANY and sum(times) < LONG:
        times.append(timed(candidate_model.run, rows))
    return {"fit": min(times) / candidate_model.share} | candidate_model.figures(rows)


class Fits:
    """An estimator that is fitted to arrays: `rows.data`."""

    share = 1.0

    def __init__(self, new: Callable[[], Any], *, classes: Sequence[int] | None = None) -> None:
        self._new = new
        self._classes = classes  # where they are given, rows are learned from by partial_fit

    def _learn(self, X: Any, y: Any) -> Any:
        model = self._new()
        return model.fit(X, y) if self._classes is None else model.partial_fit(X, y, classes=self._classes)

    def warm(self, rows: Any) -> None:
        self._learn(rows.data.X[:WARM_ROWS], rows.data.y[:WARM_ROWS])

    def run(self, rows: Any) -> None:
        self._model = self._learn(rows.data.X, rows.data.y)

    def figures(self, rows: Any) -> Figures:
        if hasattr(self._model, "predict_proba"):
            return quality(self._model, rows.data)
        right = self._model.predict(rows.data.X_test) == rows.data.y_test
        return {"accuracy": float(right.mean())}


class Program:
    """A command line, and where in its output the progressive loss is; its start counts."""

    def __init__(
        self, command: Callable[[Any], Sequence[str]], loss: re.Pattern[str], share: float = 1.0
    ) -> None:
        self._command, self._loss, self.share = command, loss, share

    def warm(self, rows: Any) -> None:
        """Nothing: whoever starts a program pays for its start; the file was just written."""

    def run(self, rows: Any) -> None:
        done = subprocess.run(self._command(rows), capture_output=True, text=True, check=False)
        self._said = done.stdout + done.stderr
        if done.returncode:
            raise RuntimeError(self._said.strip().splitlines()[-1])

    def figures(self, rows: Any) -> Figures:
        return {"progressive": float(self._loss.findall(self._said)[-1])}


class Answers:
    """A function of the first rows of a stream that answers each of them before it learns from it."""

    def __init__(self, pass_over: Callable[[Any, int], Iterable[float]], n: int) -> None:
        self._pass_over, self._n = pass_over, n

    def warm(self, rows: Any) -> None:
        self.share = min(self._n, rows.n) / rows.n

    def run(self, rows: Any) -> None:
        self._P = list(self._pass_over(rows, self._n))

    def figures(self, rows: Any) -> Figures:
        return {"progressive": loss(self._P)}


# ---- row by row --------------------------------------------------------------------------------------
class OneByOne(NamedTuple):
    """learn(x, y), and the probability of label 1 by chance(x); x is a dict."""

    learn: Callable[[dict[str, Any], int], Any]
    chance: Callable[[dict[str, Any]], float]


def progressive(learner: OneByOne, rows: Iterable[tuple[dict[str, Any], int]]) -> float:
    """Each row answered, then learned from."""
    P = []
    for x, y in rows:
        p = learner.chance(x)
        P.append(p if y else 1 - p)
        learner.learn(x, y)
    return loss(P)


def row_by_row(make: Make, rows: Sequence[tuple[dict[str, Any], int]]) -> Figures:
    """Seconds to learn a row, by calls of learn alone; make returns OneByOne. The dicts are made before."""

    def learn_all(learn: Callable[[dict[str, Any], int], Any]) -> None:
        for x, y in rows:
            learn(x, y)

    gc.collect()
    gc.freeze()  # the collector need not walk over the rows again and again
    times = [timed(learn_all, make().learn) for _ in range(ON_MANY)]
    gc.unfreeze()
    return {"row": min(times) / len(rows), "progressive": progressive(make(), rows)}


# ---- streams -----------------------------------------------------------------------------------------
def streaming(make: Make, streams: Mapping[str, Any]) -> Figures:
    """The progressive loss on each; make returns a function of a Stream."""
    run = make()
    return {name: run(stream) for name, stream in streams.items()}
