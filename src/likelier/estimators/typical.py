"""How likely the training rows are: a sample of them, drawn while a fit reads them."""

from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import sqrt
from threading import Lock
from typing import Any, Self, TypeVar

import numpy as np

from likelier.data import Arrays, Chunk, Dense, Source
from likelier.data.wrapped import Beside
from likelier.engines.numbering import numbered
from likelier.links import log_sum_exp
from likelier.model import Bayes, Question
from likelier.states import Sample, Typical
from likelier.states.typical import MOST

Fitted = TypeVar("Fitted")
MOST_BYTES = 1 << 25  # of rows that are kept until their scores are asked for


class Drawing:
    """How a sample is drawn from rows, of which the first has the number `before`: makes its states.

    Rows with hashes from `below` on are among so many no more: known by whichever state of this process
    found it out, and by all that it makes from then on. That spares work, and changes no sample.
    """

    def __init__(self, before: int, most: int, rows: int | None = None) -> None:
        self.before, self.most, self.below = before, most, 1 << 64
        self.enough = self.below if rows is None else self.least(rows)  # where each row has a weight

    def __call__(self) -> "Drawn":
        return Drawn(self, Sample(self.most, below=self.below))

    def of_all(self, source: Arrays) -> "Drawn":
        """Rows in memory need not pass by: that would cost more than to pick them."""
        n = len(source) if source.w is None else int(np.count_nonzero(source.w))
        found = Drawn(self, Sample(self.most, below=self.least(n)))
        found.update(Chunk(source.X, None, source.w))
        return found

    def every(self, source: Arrays, model: Bayes) -> "Unscored":
        """Of rows so few that all are in the sample, which stays where it is until somebody asks."""
        rows = replace(source, y=None, levels=None, offset=None)
        return Unscored(len(source), lambda: _scores(self.of_all(rows).sample, len(rows), model))

    def least(self, n: int) -> int:
        """The hash below which there are so many of n rows: too few of them but once in 10⁹ times."""
        share = (self.most + 6 * sqrt(self.most)) / max(n, 1)
        return 1 << 64 if share >= 1 else int(share * 2.0**64)


@dataclass
class Drawn:
    """A sample of rows, and how many rows there were: a state."""

    drawing: Drawing
    sample: Sample
    rows: int = 0

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        if chunk.w is None:
            self.sample.below = min(self.sample.below, self.drawing.enough)
        self.sample.update(chunk._replace(first=self.drawing.before + chunk.first))
        self.rows += chunk.X.shape[0]
        self._tell()

    def merge(self, other: Self) -> None:
        self.sample.merge(other.sample)
        self.rows += other.rows
        self._tell()

    def _tell(self) -> None:
        if self.sample.below < self.drawing.below:
            self.drawing.below = self.sample.below

    def typical(self, model: Bayes) -> "Unscored":
        """How likely the sample is under a model."""
        return Unscored(self.rows, partial(_scores, self.sample, self.rows, model))


class Unscored:
    """What a `Typical` is, once somebody asks: to score rows takes a share of a fit that few need."""

    def __init__(self, rows: int, score: Callable[[], Typical]) -> None:
        self.rows = rows
        self._score: Callable[[], Typical] | None = score
        self._lock = Lock()

    @cached_property
    def scored(self) -> Typical:
        with self._lock:
            return self._scored()

    def _scored(self) -> Typical:
        if self._score is None:  # another thread was here
            return self.scored
        found = self._score()
        self.__dict__["scored"] = found
        self._score = None  # rows are no longer needed
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """In files and copies: the scores."""
        held = self.scored
        return Typical, (held.keys, held.scores, held.w, held.rows)


def _scores(sample: Sample, rows: int, model: Bayes) -> Typical:
    if not sample.pieces:
        return Typical(np.empty(0, np.uint64), np.empty(0), np.empty(0), rows)
    keys, chunk = sample.drawn()
    scores = np.empty(len(keys))
    Question(model.joint, log_sum_exp, model.params.support).answer(chunk, scores)
    w = np.ones(len(keys)) if chunk.w is None else np.asarray(chunk.w, dtype=np.float64)
    good = ~np.isnan(scores)  # densities that have overflowed say nothing
    return Typical(keys[good], scores[good], w[good], rows)


def scored(kept: Any) -> Typical | None:
    """The scores, whether or not they have been asked for before; None: they were not kept."""
    return kept.scored if isinstance(kept, Unscored) else kept


def watching(
    fit: Callable[[Source], Fitted], source: Source, before: int = 0
) -> tuple[Fitted, Callable[[Bayes], Unscored]]:
    """What a fit makes of a source, and what finds how likely its rows are under a model."""
    width = source.X.row_bytes if isinstance(source, Arrays) else 8 * source.p
    drawing = Drawing(before, min(MOST, max(1, MOST_BYTES // max(1, width))), source.rows)
    if isinstance(source, Arrays):
        if source.w is None and len(source) <= drawing.most and isinstance(source.X, Dense):
            return fit(source), partial(drawing.every, source)
        return fit(source), drawing.of_all(source).typical
    last: deque[Drawn] = deque(maxlen=1)  # of the last pass
    fitted = fit(Beside(numbered(source), drawing, last.append))
    return fitted, last[0].typical


def joined(kept: Sequence[Any]) -> Typical | None:
    """The scores of all; None: some were not kept."""
    found = [each for each in map(scored, kept) if each is not None]
    if len(found) < len(kept):
        return None
    total = deepcopy(found[0])
    for each in found[1:]:
        total.merge(each)
    return total
