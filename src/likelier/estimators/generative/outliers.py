"""How likely the training rows are: a sample of them, drawn while a fit reads them."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from math import sqrt
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np

from likelier import _core
from likelier.array_types import Floats
from likelier.data import Arrays, Block, Chunk, Source, code
from likelier.data.transforms import block_in_units
from likelier.engines import SideState, run
from likelier.families import Family, Mixture, TiedGaussian
from likelier.families.leave_one_out import Rows, change
from likelier.links import identity, log_sum_exp
from likelier.model import Bayes, Query
from likelier.states import ReferenceScores, RowSample
from likelier.states.base import plain
from likelier.states.rows import MOST

AT_ONCE = 1 << 20  # cells or scores that are computed together
SPARE = 6  # standard deviations by which a sample is drawn larger than it has to be
MOST_BYTES = 1 << 25  # of rows that are kept until their scores are asked for


class RowSampler:
    """How a sample is drawn from rows, of which the first has the number `before`: makes its states.

    Rows with hashes from `below` on are among so many no more: known by whichever state of this process
    found it out, and by all that it makes from then on. That spares work, and changes no sample.
    """

    def __init__(self, before: int, most: int, rows: int | None = None) -> None:
        self.before, self.most, self.below = before, most, 1 << 64
        self.enough = self.below if rows is None else self.least(rows)  # where each row has a weight

    def __call__(self) -> "RowSampleState":
        return RowSampleState(self, RowSample(self.most, below=self.below))

    def of_all(self, rows: Chunk, classes: Any = None) -> "RowSampleState":
        """Rows in memory need not pass by: that would cost more than to pick them."""
        n = rows.X.shape[0] if rows.w is None else int(np.count_nonzero(rows.w))
        found = RowSampleState(
            self, RowSample(self.most, below=min(self.below, self.least(n))), classes=classes
        )
        found.update(rows)
        return found

    def least(self, n: int) -> int:
        """The hash below which there are `most` of n rows: too few of them but once in 10⁹ times."""
        share = (self.most + SPARE * sqrt(self.most)) / max(n, 1)
        return 1 << 64 if share >= 1 else int(share * 2.0**64)


@dataclass
class RowSampleState:
    """A sample of rows, and how many rows there were: a state."""

    drawing: RowSampler
    sample: RowSample
    rows: int = 0
    classes: Any = None  # that y are labels of; None: they are codes

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


class LazyReferenceScores:
    """`ReferenceScores` that are computed when first used: most fits never need them."""

    def __init__(self, rows: int, score: Callable[[], ReferenceScores]) -> None:
        self.rows = rows
        self._score: Callable[[], ReferenceScores] | None = score
        self._lock = Lock()

    @cached_property
    def scored(self) -> ReferenceScores:
        with self._lock:
            return self._scored()

    def _scored(self) -> ReferenceScores:
        if self._score is None:  # another thread was here
            return self.scored
        found = self._score()
        self.__dict__["scored"] = found
        self._score = None  # rows are no longer needed
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """In files and copies: the scores."""
        held = self.scored
        return ReferenceScores, (held.keys, held.scores, held.w, held.rows)


class CountedModel(NamedTuple):
    """What a model was estimated from: a row can be taken out of it again."""

    family: Family
    statistics: Any

    def joint(self, model: Bayes, rows: Chunk) -> Floats:
        """ln p(x, C_k) (n, K), each row left out of its class: once, if its weight is more than 1."""
        assert rows.y is not None
        Z, stats = np.empty((len(rows.y), len(model.log_prior))), plain(self.statistics)
        Query(model.joint, identity, model.params.support).answer(rows, Z)
        known = np.flatnonzero(rows.y >= 0)
        some = rows if len(known) == len(rows.y) else rows.take(known)
        w = np.ones(len(known)) if some.w is None else np.minimum(some.w, 1.0)
        X = some.X if model.units is None else block_in_units(some.X, model.units)
        assert some.y is not None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            moved = change(self.family, stats, model.params, Rows(X, some.y, w))
            own, n = (known, some.y), stats.n
            if moved is not None and moved.ndim == 2:
                Z[known] += moved
            elif moved is not None:
                Z[own] += moved
            left = n[some.y] - w
            if np.allclose(model.prior, n / n.sum(), rtol=1e-9, atol=0):  # not as users gave them
                Z[own] += np.log(np.maximum(left, 0.0) / n[some.y])
                Z[known] -= np.log1p(-w / n.sum())[:, None]
            Z[own] = np.where(left > 1e-9 * w, Z[own], -np.inf)  # of a class of one row nothing is left
        return Z


@dataclass(frozen=True)
class ExpectedModel:
    """What a mixture was estimated from: a row is taken out of each component by its responsibility.

    Responsibilities stay as they are: to fit anew without each row would take a fit for each.
    """

    family: Family
    statistics: Any
    scale: float = 1.0  # of the weights of rows, as the statistics count them

    def joint(self, model: Bayes, rows: Chunk) -> Floats:
        """ln p(x, m) (n, M) of components."""
        parts, n = by_component(model), self.statistics.n
        Z = np.empty((rows.X.shape[0], len(n)))
        Query(parts.joint, identity, parts.params.support).answer(rows, Z)
        R = Z.copy()
        owner = getattr(model.params, "owner", None)
        if owner is not None and rows.y is not None:
            R[(rows.y[:, None] >= 0) & (rows.y[:, None] != owner)] = -np.inf
        _core.responsibilities(R, np.empty(len(R)))
        w = np.full(len(R), self.scale) if rows.w is None else self.scale * np.minimum(rows.w, 1.0)
        R = np.minimum(R * w[:, None], n * (1 - 1e-9))
        X = rows.X if model.units is None else block_in_units(rows.X, model.units)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._take_out(parts, X, R, Z)
            Z += np.log1p(-R / n) - np.log1p(-w / n.sum())[:, None]
        return Z

    def _take_out(self, parts: Bayes, X: Block, R: Floats, Z: Floats) -> None:
        """Each row out of each component; if these share a covariance, out of the likeliest alone."""
        each = np.arange(len(R))
        if isinstance(self.family, TiedGaussian):
            y = R.argmax(axis=1)
            moved = change(self.family, self.statistics, parts.params, Rows(X, y, R[each, y]))
            Z += 0.0 if moved is None else moved
            return
        for m in range(R.shape[1]):
            some = Rows(X, np.full(len(R), m), R[:, m])
            moved = change(self.family, self.statistics, parts.params, some)
            Z[:, m] += 0.0 if moved is None else moved


def by_component(model: Bayes) -> Bayes:
    """A mixture, or classes that are mixtures, as components with weights of their own."""
    if not isinstance(model.params, Mixture):
        return model
    params = model.params
    return Bayes(params.components, params.log_weight + model.log_prior[params.owner], units=model.units)


def _scores(
    draw: Callable[[], RowSampleState], model: Bayes, counted: CountedModel | ExpectedModel | None
) -> ReferenceScores:
    drawn = draw()
    if not drawn.sample.pieces:
        return ReferenceScores(np.empty(0, np.uint64), np.empty(0), np.empty(0), drawn.rows)
    keys, chunk = drawn.sample.drawn()
    if drawn.classes is not None and chunk.y is not None:
        chunk = chunk._replace(y=code(chunk.y, drawn.classes))
    scores = np.empty(len(keys))
    if counted is None or (chunk.y is None and isinstance(counted, CountedModel)):
        Query(model.joint, log_sum_exp, model.params.support).answer(chunk, scores)
    else:
        step = max(1, AT_ONCE // len(model.log_prior))
        for i in range(0, len(keys), step):
            some = slice(i, i + step)
            log_sum_exp.apply(counted.joint(model, chunk.take(some)), scores[some])
    w = np.ones(len(keys)) if chunk.w is None else np.asarray(chunk.w, dtype=np.float64)
    good = ~np.isnan(scores)  # densities that have overflowed say nothing
    return ReferenceScores(keys[good], scores[good], w[good], drawn.rows)


def scored(kept: Any) -> ReferenceScores | None:
    """The scores, whether or not they have been asked for before; None: they were not kept."""
    return kept.scored if isinstance(kept, LazyReferenceScores) else kept


class RowSampling:
    """A sample of the rows of a source, drawn while a fit reads them.

    kept: of earlier rows, among whose sample these may take a place. classes: those that the y of rows in
    memory are labels of. Such rows are picked when the fit is done, or, if they are few, copied then and
    picked when somebody asks; of all others the pass that reads them keeps a sample beside what it counts
    (`beside`).
    """

    def __init__(self, source: Source, kept: ReferenceScores | None = None, classes: Any = None) -> None:
        self.source, self.kept, self.classes = source, kept, classes
        self._last: RowSampleState | None = None  # of the last pass

    @cached_property
    def most(self) -> int:
        """How many rows are kept."""
        width = self.source.X.row_bytes if isinstance(self.source, Arrays) else 8 * self.source.p
        return min(MOST, max(1, MOST_BYTES // max(1, width)))

    @cached_property
    def drawing(self) -> RowSampler:
        """How it is drawn."""
        kept = self.kept
        found = RowSampler(0 if kept is None else kept.rows, self.most, self.source.rows)
        if kept is not None and len(kept.keys) >= MOST:
            found.below = int(kept.keys.max()) + 1
        return found

    @property
    def beside(self) -> SideState | None:
        """What a pass has to keep; None: the rows are in memory."""
        return None if isinstance(self.source, Arrays) else SideState(self.drawing, self._take)

    def _take(self, drawn: RowSampleState) -> None:
        self._last = drawn

    def typical(self, model: Bayes, counted: CountedModel | ExpectedModel | None) -> LazyReferenceScores:
        """How likely the sample is under a model; each row without itself, if its statistics are known."""
        draw, rows = self._drawn()
        return LazyReferenceScores(rows, partial(_scores, draw, model, counted))

    def _drawn(self) -> tuple[Callable[[], RowSampleState], int]:
        """What gives the sample, and the number of rows; where no pass has kept one, it takes one."""
        source = self.source
        if not isinstance(source, Arrays):
            last = run(source, self.drawing) if self._last is None else self._last
            return lambda: last, last.rows
        rows, most, n = Chunk(source.X, source.y, source.w), self.most, source.rows
        if n <= most + SPARE * sqrt(most):  # all: a copy takes less time than a sample, for which few ask
            rows = rows.take(np.arange(n))
            return partial(self.drawing.of_all, rows, self.classes), n
        found = self.drawing.of_all(rows, self.classes)
        return lambda: found, n


def joined(kept: Sequence[Any]) -> ReferenceScores | None:
    """The scores of all; None: some were not kept."""
    found = [each for each in map(scored, kept) if each is not None]
    if len(found) < len(kept):
        return None
    total = deepcopy(found[0])
    for each in found[1:]:
        total.merge(each)
    return total
