"""What models that were fitted without a fold make of its rows: a state, added up chunk by chunk."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.data import Assignment, Chunk, Dense, Source, runs
from likelier.engines import run
from likelier.links import Link
from likelier.scores import Scores
from likelier.states import ColumnMoments
from likelier.states.moments import weights

Floats = NDArray[np.float64]
PIECE_BYTES = 1 << 20  # rows and their scores that stay in the second-level cache while they are judged


class Trial(NamedTuple):
    """Who is judged on which rows: `scores[f]` holds those of V models, K classes each, side by side."""

    folds: Assignment
    scores: Sequence[Scores]
    V: int

    @property
    def K(self) -> int:
        return self.scores[0].K // self.V


class Judged(NamedTuple):
    """Rows of one fold that have a weight, and what each model says of them."""

    fold: int
    y: NDArray[Any]
    w: Floats  # (m,)
    Z: Floats  # (m, V, K)


def _judged(trial: Trial, chunk: Chunk) -> Iterator[Judged]:
    """The rows of a chunk, fold by fold, in pieces."""
    width = chunk.X.shape[1] + trial.V * trial.K
    height = max(64, PIECE_BYTES // (8 * width))
    for fold, rows in runs(chunk, trial.folds):
        part = chunk.take(rows)
        w = weights(part)
        if w is not None and not w.all():
            part, w = part.take(np.flatnonzero(w)), w[w != 0]
        for start in range(0, part.X.shape[0], height):
            piece = part.take(slice(start, min(start + height, part.X.shape[0])))
            m = piece.X.shape[0]
            Z = np.empty((m, trial.V * trial.K))
            trial.scores[fold].write(piece, Z)
            assert piece.y is not None
            w_piece = np.ones(m) if w is None else w[start : start + m]
            yield Judged(fold, piece.y, w_piece, Z.reshape(m, trial.V, trial.K))


@dataclass
class Card(ABC):
    """Sums by fold; a subclass says what of, and which figures they make."""

    metrics: ClassVar[tuple[str, ...]]  # the first is what models are chosen by
    rising: ClassVar[frozenset[str]] = frozenset()  # those of which more is better
    stratified: ClassVar[bool]
    link: ClassVar[Link]  # from scores to predictions

    trial: Trial
    rows: NDArray[np.int64]  # (F,) how many have a weight

    @classmethod
    @abstractmethod
    def start(cls, trial: Trial) -> Self: ...

    @abstractmethod
    def _add(self, judged: Judged) -> None: ...

    @abstractmethod
    def _sums(self) -> tuple[Any, ...]:
        """All that is added up, besides rows."""

    @abstractmethod
    def figures(self) -> dict[str, Floats]:
        """By metric, (V, F)."""

    @property
    def nbytes(self) -> int:
        return sum(int(one.nbytes) for one in self._sums())

    def update(self, chunk: Chunk) -> None:
        for judged in _judged(self.trial, chunk):
            self.rows[judged.fold] += len(judged.w)
            self._add(judged)

    def merge(self, other: Self) -> None:
        self.rows += other.rows
        for mine, theirs in zip(self._sums(), other._sums(), strict=True):
            if isinstance(mine, ColumnMoments):
                mine.merge(theirs)
            else:
                mine += theirs

    @staticmethod
    def shaped(P: Floats, y_shape: tuple[int, ...]) -> Floats:
        """Predictions as the estimator's own have them."""
        return P

    @classmethod
    def metric_of(cls, asked: str | None) -> str:
        """The metric to choose by; None stands for the first."""
        if asked is None:
            return cls.metrics[0]
        if asked not in cls.metrics:
            raise ValueError(f"metric={asked!r}: it is one of {', '.join(cls.metrics)}")
        return asked


@dataclass
class LabelCard(Card):
    """log_loss: mean of -ln p(C_y | x), nothing cut off, infinite where p is 0; error: share of mistakes.

    The logarithm is taken in one with the softmax, so that a probability too small to hold has its own.
    """

    metrics = ("log_loss", "error")
    stratified = True
    link = links.softmax

    weight: Floats  # (F,)
    loss: Floats  # (V, F)
    wrong: Floats  # (V, F)

    @classmethod
    def start(cls, trial: Trial) -> Self:
        V, F = trial.V, trial.folds.count
        return cls(trial, np.zeros(F, dtype=np.int64), np.zeros(F), np.zeros((V, F)), np.zeros((V, F)))

    def _sums(self) -> tuple[Any, ...]:
        return self.weight, self.loss, self.wrong

    def _add(self, judged: Judged) -> None:
        fold, y, w, Z = judged
        m, V, K = Z.shape
        flat = Z.reshape(m * V, K)
        of_y = np.take_along_axis(Z, y[:, None, None].astype(np.intp), axis=2)[:, :, 0]  # (m, V)
        total, best = np.empty(m * V), np.empty(m * V, dtype=np.int64)
        links.log_sum_exp.apply(flat, total)
        links.argmax.apply(flat, best)
        self.weight[fold] += w.sum()
        self.loss[:, fold] += w @ (total.reshape(m, V) - of_y)
        self.wrong[:, fold] += w @ (best.reshape(m, V) != y[:, None])

    def figures(self) -> dict[str, Floats]:
        return {"log_loss": self.loss / self.weight, "error": self.wrong / self.weight}


@dataclass
class ValueCard(Card):
    """mse: mean of (y - ŷ)²; r2: 1 - Σ(y - ŷ)² / Σ(y - ȳ)², ȳ the fold's own; means over the targets.

    Where a fold's y does not vary, r2 is 1 if it is hit exactly and 0 if not; of a single row, NaN.
    """

    metrics = ("mse", "r2")
    rising = frozenset({"r2"})
    stratified = False
    link = links.identity

    spread: ColumnMoments  # of y: folds as classes, targets as columns
    squares: Floats  # (V, F, q)

    @classmethod
    def start(cls, trial: Trial) -> Self:
        F, q = trial.folds.count, trial.K
        spread = ColumnMoments.start(F, q)
        return cls(trial, np.zeros(F, dtype=np.int64), spread, np.zeros((trial.V, F, q)))

    def _sums(self) -> tuple[Any, ...]:
        return self.spread, self.squares

    def _add(self, judged: Judged) -> None:
        fold, y, w, Z = judged
        m, _, q = Z.shape
        Y = np.asarray(y, dtype=np.float64).reshape(m, q)
        self.spread.update(Chunk(Dense(Y), np.full(m, fold, dtype=np.int32), w))
        self.squares[:, fold] += np.tensordot(w, (Z - Y[:, None, :]) ** 2, axes=1)

    @staticmethod
    def shaped(P: Floats, y_shape: tuple[int, ...]) -> Floats:
        return P.reshape(len(P), *y_shape)

    def figures(self) -> dict[str, Floats]:
        n, S = self.spread.n, self.spread.S
        still = np.where(self.squares > 0, 0.0, 1.0)
        share = np.divide(self.squares, S, out=np.zeros_like(self.squares), where=S > 0)
        r2 = np.where(S > 0, 1 - share, still).mean(axis=2)
        return {
            "mse": (self.squares / n[:, None]).mean(axis=2),
            "r2": np.where(self.rows > 1, r2, np.nan),
        }


@dataclass
class _Predictions:
    """Each row's prediction by the model that did not see its fold."""

    trial: Trial
    link: Link
    pieces: list[tuple[int, Floats]]  # number of the first row, and (m, K)

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        P = np.empty((chunk.X.shape[0], self.trial.K))
        for fold, rows in runs(chunk, self.trial.folds):
            part = chunk.take(rows)
            Z = np.empty((part.X.shape[0], self.trial.K))
            self.trial.scores[fold].write(part, Z)
            self.link.apply(Z, Z)
            P[rows] = Z
        self.pieces.append((chunk.first, P))

    def merge(self, other: Self) -> None:
        self.pieces += other.pieces


def predictions(trial: Trial, source: Source, link: Link) -> Floats:
    """What the one model of each fold says of its rows, (n, K), in the order of the rows."""
    found = run(source, lambda: _Predictions(trial, link, []))
    return np.concatenate([P for _, P in sorted(found.pieces, key=itemgetter(0))])
