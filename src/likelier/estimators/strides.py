"""Where steps lead: of each class against the rest, or of all at once; in memory, or part by part."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from likelier.data import Source
from likelier.engines import chunks
from likelier.estimators.weights import Course as Way
from likelier.online.stochastic import Course, Rows, Stand, Task, Walk, Watch, walk_all

Floats = NDArray[np.float64]

SEEDS = np.iinfo(np.int32).max  # scikit-learn draws its seeds below this
NEVER = 1 << 62  # epochs without a gain, of who is not to end


@dataclass(frozen=True)
class Strides:
    """What further steps go on from."""

    theta: Floats  # (q, p + 1)
    mean: Floats | None  # (q, p + 1)
    squares: Floats | None  # (q, p + 1), Σg²
    t: float  # the next turn
    n: Floats  # (K,), rows of each class so far
    mistakes: int

    def stands(self, apart: bool) -> list[Stand]:
        """Of one problem, or of one for each class."""
        parts = [slice(k, k + 1) for k in range(len(self.theta))] if apart else [slice(None)]

        def of(array: Floats | None, part: slice) -> Floats | None:
            return None if array is None else np.ascontiguousarray(array[part])

        return [
            Stand(self.theta[part].copy(), of(self.mean, part), of(self.squares, part), self.t)
            for part in parts
        ]

    def after(self, walks: Sequence[Walk], turns: int) -> "Strides":
        def all_of(arrays: list[Floats | None]) -> Floats | None:
            kept = [array for array in arrays if array is not None]
            return np.concatenate(kept) if kept else None

        return replace(
            self,
            theta=np.concatenate([walk.stand.theta for walk in walks]),
            mean=all_of([walk.stand.mean for walk in walks]),
            squares=all_of([walk.stand.squares for walk in walks]),
            t=self.t + turns,
            mistakes=self.mistakes + int(sum(walk.mistakes.sum() for walk in walks)),
        )


class Journey(NamedTuple):
    """Where epochs have led, the mean loss of each, and whether they ended by themselves."""

    strides: Strides
    losses: Floats
    ended: bool
    clipped: int  # steps that had to be cut
    steps: int  # rows that moved weights
    pooled: bool = False  # each part by itself, averaged
    way: Way | None = None  # of a solver that went on from there
    walks: Sequence[Walk] = ()  # of each problem, over rows in memory

    @classmethod
    def of(cls, start: Strides, rows: Rows, walks: Sequence[Walk]) -> "Journey":
        """Over rows in memory."""
        losses = mean_losses([walk.losses for walk in walks if len(walk.losses)])
        strides = start.after(walks, len(losses) * rows.coded)
        ended, clipped = all(walk.ended for walk in walks), sum(walk.clipped for walk in walks)
        steps = int(sum(walk.steps.sum() for walk in walks))
        return cls(strides, losses, ended, clipped, steps, walks=walks)


def mean_losses(of_problems: Sequence[Any]) -> Floats:
    """By epoch; a problem that ended before others keeps its last."""
    padded = np.empty((len(of_problems), max(map(len, of_problems))))
    for row, losses in zip(padded, of_problems, strict=True):
        row[: len(losses)], row[len(losses) :] = losses, losses[-1]
    return np.asarray(padded.mean(axis=0))


@dataclass
class Ending:
    """Of one problem whose epochs are read part by part: when it ends, as over rows in memory."""

    course: Course
    stepped: Any = None  # as in `Stand`
    losses: list[float] = field(default_factory=list)  # by epoch
    best: float = np.inf
    idle: int = 0
    ended: bool = False
    loss: float = 0.0  # sums over the epoch so far
    objective: float = 0.0
    steps: int = 0

    def add(self, walk: Walk, rows: int) -> None:
        """The steps at some rows of an epoch."""
        if self.ended:
            return
        self.stepped = walk.stand.stepped
        self.loss += float(walk.losses[0]) * rows
        self.objective += walk.objective
        self.steps += int(walk.steps[0])

    def close(self, rows: int) -> None:
        """The epoch is over: so many rows had their turn."""
        if self.ended:
            return
        cost, course = self.objective / rows, self.course
        gained = course.tol is None or not cost > self.best - course.tol
        self.idle = 0 if gained else self.idle + 1
        self.best = min(self.best, cost)
        if self.idle >= course.patience:
            self.ended = course.rate != "adaptive" or course.eta0 <= 1e-6
            self.course, self.idle = replace(course, eta0=course.eta0 / 5), 0
        self.ended = self.ended or (course.still and self.steps == 0)
        self.losses.append(self.loss / rows)
        self.loss, self.objective, self.steps = 0.0, 0.0, 0


Reading = Callable[["Route", Strides], Journey]  # of all rows, once


# Source, where to start, a seed for each problem, the most epochs, and who wants to hear of each.
Epochs = Callable[[Source, Strides, Sequence[int], int, Watch | None], "Journey"]


@dataclass(frozen=True)
class Route:
    """Problems, and how they are gone about."""

    course: Course
    K: int
    apart: bool
    factor: Floats | None  # (K,)
    workers: int
    endings: Sequence[Ending] = field(default=(), kw_only=True)  # of the problems, read part by part

    @property
    def courses(self) -> list[Course]:
        """Of each problem. Those that are read part by part end when their epoch is over, not before."""
        if self.endings:
            return [replace(one.course, patience=NEVER) for one in self.endings]
        return [self.course] * (self.K if self.apart else 1)

    def begun(self, stands: list[Stand]) -> list[Stand]:
        """With what is left over from steps at rows before these."""
        if not self.endings:
            return stands
        return [replace(s, stepped=one.stepped) for s, one in zip(stands, self.endings, strict=True)]

    def epochs_of(self, most: int) -> list[int]:
        """Of each problem, how many at most."""
        if self.endings:
            return [0 if one.ended else most for one in self.endings]
        return [most] * (self.K if self.apart else 1)

    def tasks(self, seeds: Sequence[int]) -> list[Task]:
        factor = np.ones(self.K) if self.factor is None else self.factor
        if self.apart:  # as in scikit-learn, the weight of a class counts where it is the one
            return [Task(seed, k, (1.0, float(factor[k]))) for k, seed in enumerate(seeds)]
        return [Task(seed, 1, tuple(factor.tolist())) for seed in seeds]

    def whole(
        self, rows: Rows, start: Strides, seeds: Sequence[int], most: int, watch: Watch | None
    ) -> Journey:
        """Epochs over rows in memory."""
        stands, tasks = self.begun(start.stands(self.apart)), self.tasks(seeds)
        walks = walk_all(rows, self.courses, stands, tasks, self.epochs_of(most), self.workers, watch)
        return Journey.of(start, rows, walks)

    def by_parts(
        self, source: Source, start: Strides, seeds: Sequence[int], most: int, watch: Watch | None
    ) -> Journey:
        """Epochs over rows that are read part by part, and shuffled within a part; each problem ends by
        itself, as it does over rows in memory.
        """
        rngs = [check_random_state(seed) for seed in seeds]
        endings = [Ending(self.course) for _ in seeds]
        once, strides, clipped, steps = replace(self, endings=endings), start, 0, 0
        while not all(one.ended or len(one.losses) == most for one in endings):
            found = once.one_reading(source, strides, rngs)
            strides, clipped, steps = found.strides, clipped + found.clipped, steps + found.steps
            if watch is not None:
                watch(float(np.mean([one.losses[-1] for one in endings])))
        ended = all(one.ended for one in endings)
        return Journey(strides, mean_losses([one.losses for one in endings]), ended, clipped, steps)

    def epochs(self, reading: Reading, start: Strides, most: int, watch: Watch | None) -> Journey:
        """Readings of all rows, each an epoch, until nothing more is gained."""
        course, strides, losses, values = self.course, start, list[float](), list[float]()
        idle, ended, clipped, steps = 0, False, 0, 0
        while len(losses) < most and not ended:
            once = replace(self, course=replace(course, tol=None))
            found = reading(once, strides)
            strides, clipped, steps = found.strides, clipped + found.clipped, steps + found.steps
            losses.append(float(found.losses[0]))
            values.append(losses[-1] + self.penalty(strides))
            if watch is not None:
                watch(losses[-1])
            ended = course.still and not found.steps
            gained = course.tol is None or not values[-1] > min(values[:-1], default=np.inf) - course.tol
            idle = 0 if gained else idle + 1
            if idle >= course.patience:
                ended = ended or course.rate != "adaptive" or course.eta0 <= 1e-6
                course, idle = replace(course, eta0=course.eta0 / 5), 0
        return Journey(strides, np.array(losses), ended, clipped, steps)

    def one_reading(self, source: Source, strides: Strides, rngs: Sequence[Any]) -> Journey:
        """An epoch, each part in an order of its own."""
        n, clipped, steps = 0, 0, 0
        for chunk in chunks(source):
            seeds = [int(rng.randint(SEEDS)) for rng in rngs]
            rows = Rows.of(chunk)
            if not rows.coded:
                continue
            found = self.whole(rows, strides, seeds, 1, None)
            strides, clipped, steps = found.strides, clipped + found.clipped, steps + found.steps
            n += rows.coded
            for one, walk in zip(self.endings, found.walks, strict=True):
                one.add(walk, rows.coded)
        for one in self.endings:
            one.close(n)
        return Journey(strides, np.empty(0), False, clipped, steps)

    def penalty(self, strides: Strides) -> float:
        """Of the weights as they are: the mean of the problems', as their losses are."""
        W, course = strides.theta[:, :-1], self.course
        whole = course.strength * (course.l2 / 2 * np.sum(W**2) + course.l1 * np.abs(W).sum())
        return float(whole) / (len(W) if self.apart else 1)
