"""Online models that learn where the rows are: one for each part, averaged."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from likelier.callers import outside
from likelier.data import Chunk, DegenerateWarning
from likelier.engines import run
from likelier.estimators.shuffled import pooled
from likelier.estimators.streamed import Batching, Scanned
from likelier.streams.averaging import averaged, recounted
from likelier.streams.model import Online

HEAD, PAIR = 16, 8  # bytes of a slot: what it knows of its feature, and of each score


@dataclass
class Taught:
    """A model that the rows of a part have taught, each from the same start; merged: their average.

    Models count by their rows. Merging is associative up to rounding (of single precision); what comes out
    depends on how the rows are cut into parts, and is not what one model would have learned from all.
    """

    model: Online
    batching: Batching
    seed: int | None = None  # of the order in which the rows of a chunk are taken; None: as they come
    rows: int = 0
    parts: int = 0
    met: frozenset[int] = frozenset()  # classes of the rows of this part
    sorted_: int = 0  # parts merged so far that had rows of one class alone

    @classmethod
    def start(cls, batching: Batching, model: Online, seed: int | None = None) -> Self:
        return cls(model.copy(), batching, seed)

    @property
    def nbytes(self) -> int:
        K = self.model.K
        return (HEAD + PAIR * (K if K > 2 else 1)) << self.model.settings.bits

    def update(self, chunk: Chunk) -> None:
        batches = self.batching.hashed(chunk, self.model.intake)
        if self.seed is not None:
            seed = np.random.SeedSequence([self.seed, chunk.first]).generate_state(1)
            batches = pooled(batches, self.model.intake, np.random.RandomState(seed))
        for batch in batches:
            self.model.learn(batch)
        self.rows += chunk.X.shape[0]
        self.parts = 1
        assert chunk.y is not None
        self.met |= set(np.unique(chunk.y).tolist())

    @property
    def alone(self) -> int:
        """Parts that had rows of one class alone."""
        return self.sorted_ + (len(self.met) == 1)

    def merge(self, other: Self) -> None:
        if not (self.rows and other.rows):
            self.model = self.model if self.rows else other.model.copy()
        else:
            self.model = averaged([self.model, other.model], [self.rows, other.rows])
        self.rows += other.rows
        self.parts += other.parts
        self.sorted_, self.met = self.alone + other.alone, frozenset()


def taught(scanned: Scanned, model: Online, passes: int, rng: np.random.RandomState | None) -> Online:
    """The average of what all parts have taught; of further passes, each from that of the one before."""
    for _ in range(passes):
        seed = None if rng is None else int(rng.randint(np.iinfo(np.int32).max))
        found = run(scanned.coded, partial(Taught.start, scanned.batching, model, seed))
        model = recounted(found.model, model, found.parts)
    if model.K > 1 and 2 * found.alone > found.parts:
        warnings.warn(
            f"{found.alone} of {found.parts} parts have rows of one class alone, and each part teaches a "
            "model of its own: their average is worse than that of shuffled rows. Shuffle the rows before "
            "they are cut into partitions, or call partial_fit, which fetches them in their order.",
            DegenerateWarning,
            stacklevel=outside(),
        )
    return model
