"""Sources whose rows are on a cluster, and what can happen to them there. Workers import this."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from likelier.data import Arrays, Chunk, Part
from likelier.data.transforms import Wrapped


@dataclass(frozen=True)
class Elsewhere(Arrays):
    """Arrays whose parts are tasks of a client's, or of a scheduler's."""

    cluster: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"cluster": None}

    @classmethod
    def of(cls, chunk: Chunk, cluster: Any) -> "Elsewhere":
        return cls(chunk.X, chunk.y, chunk.w, cluster=cluster)


@dataclass(frozen=True)
class Numbered(Wrapped):
    """The same rows; what happens at a part depends on its number."""

    folder: Path  # what has happened is marked here, for all processes

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, i, part) for i, part in enumerate(self.source.parts(state_bytes))]

    def _read(self, number: int, part: Part) -> Iterator[Chunk]:
        self.at(number)
        yield from part()

    def at(self, number: int) -> None:
        raise NotImplementedError

    def mark(self, name: str) -> bool:
        """True for the first who comes."""
        try:
            (self.folder / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


@dataclass(frozen=True)
class Deadly(Numbered):
    """Whoever is the first to read one of these parts is killed."""

    numbers: tuple[int, ...]

    def at(self, number: int) -> None:
        if number in self.numbers and self.mark(f"killed at {number}"):
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Failing(Numbered):
    """Some parts fail, the earliest of them last; all that are begun are marked."""

    numbers: tuple[int, ...]

    def at(self, number: int) -> None:
        self.mark(f"begun {number}")
        time.sleep(0.02)
        if number == min(self.numbers):
            time.sleep(0.2)
        if number in self.numbers:
            raise OSError(f"part {number}")


@dataclass(frozen=True)
class Slow(Numbered):
    """Every part takes a while."""

    def at(self, number: int) -> None:
        self.mark(f"begun {number}")
        time.sleep(0.05)


@dataclass
class Heavy:
    """A state whose start has weights of some MB."""

    weights: np.ndarray
    total: float = 0.0
    nbytes: int = 0

    def update(self, chunk: Chunk) -> None:
        self.total += float(self.weights[0]) * chunk.X.shape[0]

    def merge(self, other: "Heavy") -> None:
        self.total += other.total


class Light:
    """The same, without them once made."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def __call__(self) -> Heavy:
        return Heavy(self.weights[:1])


def nothing_left(client: Any) -> bool:
    """Whether the scheduler forgets all tasks, given a little time, and the client holds none."""

    def tasks(dask_scheduler: Any) -> int:
        return len(dask_scheduler.tasks)

    end = time.monotonic() + 20
    while client.run_on_scheduler(tasks):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return not client.futures


def counting(folder: Path, block: Any) -> Any:
    """Mark each time that a block is computed."""
    (folder / uuid4().hex).touch()
    return block
