"""How likely the training rows are: a sample of them, drawn while a fit reads them."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from math import sqrt
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from likelier.data import Arrays, Chunk, Part, Source
from likelier.data.wrapped import Wrapped
from likelier.links import log_sum_exp
from likelier.model import Bayes, Question
from likelier.states import Sample, Typical
from likelier.states.typical import MOST

Fitted = TypeVar("Fitted")
MOST_BYTES = 1 << 25  # of rows that are kept until their scores are asked for


class Drawing:
    """A sample of rows, the first of which has the number `before`, from one or more readings of them."""

    def __init__(self, before: int, most: int) -> None:
        self.before = before
        self.most = most
        self.lock = Lock()
        self.begin()

    def begin(self, below: int = 1 << 64) -> None:
        self.sample, self.rows = Sample(self.most, below=below), 0

    def all_of(self, source: Arrays) -> None:
        """Rows in memory need not pass by: that would cost more than to pick them."""
        n = len(source) if source.w is None else int(np.count_nonzero(source.w))
        share = (self.most + 6 * sqrt(self.most)) / max(n, 1)  # too few of them but once in 10⁹ times
        self.begin(1 << 64 if share >= 1 else int(share * 2.0**64))
        self.sample.update(Chunk(source.X, None, source.w, self.before))
        self.rows = len(source)

    def of_part(self, part: Part) -> Iterator[Chunk]:
        own, n = Sample(self.most, below=self.sample.below), 0
        for chunk in part():
            own.update(chunk._replace(first=self.before + chunk.first))
            n += chunk.X.shape[0]
            yield chunk
        with self.lock:
            self.sample.merge(own)
            self.rows += n

    def typical(self, model: Bayes) -> "Unscored":
        """How likely the sample is under a model."""
        return Unscored(self.sample, self.rows, model)


class Unscored:
    """What a `Typical` is, once somebody asks: to score the sample takes a share of a fit that few need."""

    def __init__(self, sample: Sample, rows: int, model: Bayes) -> None:
        self.rows = rows
        self._sample: Sample | None = sample
        self._model: Bayes | None = model
        self._lock = Lock()

    @cached_property
    def scored(self) -> Typical:
        with self._lock:
            return self._scored()

    def _scored(self) -> Typical:
        sample, model = self._sample, self._model
        if sample is None or model is None:  # another thread was here
            return self.scored
        found = _scores(sample, self.rows, model)
        self.__dict__["scored"] = found
        self._sample = self._model = None  # rows are no longer needed
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


@dataclass(frozen=True)
class Watched(Wrapped):
    """A source whose rows are drawn from as they are read: by the last pass over them."""

    drawing: Drawing

    def parts(self, state_bytes: int) -> Sequence[Part]:
        self.drawing.begin()
        return [partial(self.drawing.of_part, part) for part in self.source.parts(state_bytes)]


def watching(
    fit: Callable[[Source], Fitted], source: Source, before: int = 0
) -> tuple[Fitted, Callable[[Bayes], Unscored]]:
    """What a fit makes of a source, and what finds how likely its rows are under a model."""
    width = source.X.row_bytes if isinstance(source, Arrays) else 8 * source.p
    drawing = Drawing(before, min(MOST, max(1, MOST_BYTES // max(1, width))))
    if not isinstance(source, Arrays):
        return fit(Watched(source, drawing)), drawing.typical
    fitted = fit(source)
    drawing.all_of(source)
    return fitted, drawing.typical


def joined(kept: Sequence[Any]) -> Typical | None:
    """The scores of all; None: some were not kept."""
    found = [each for each in map(scored, kept) if each is not None]
    if len(found) < len(kept):
        return None
    total = deepcopy(found[0])
    for each in found[1:]:
        total.merge(each)
    return total
