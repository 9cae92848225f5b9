"""Metrics as sums over rows: of one model, and of the models of all folds at once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.array_types import Codes, Floats, row_weights, rows_that_count
from likelier.data import Assignment, Chunk, Dense, Source, runs
from likelier.engines import run
from likelier.links import Link
from likelier.scores import Scores
from likelier.states import ColumnMoments
from likelier.states.moments import weights
from likelier.streams.figures import Figures

# How good predictions were, where the label is known: sums over rows, whose size does not grow with them.


CLIP = 1e-15  # p_y below it has its logarithm taken anew: `Figures` cuts it off
OCTAVES = 32  # of p <= 1/2 that `Figures` distinguishes
MOST_APART = 100  # classes that have bins of their own, 0.1 MB each
LEAST, MOST = -24, 40  # powers of 2 between which margins are distinguished


class ClassPredictions(NamedTuple):
    """What a classifier says of rows: the class that it decides for, and by how much."""

    best: NDArray[Any]  # (n,) the number of the class
    P: Floats | None = None  # (n, K)
    margin: Floats | None = None  # where there is no P: (n,) the score of the second of two classes; (n, K)
    logs: Callable[[NDArray[np.intp]], Floats] | None = None  # ln P of some rows, where P is too small


@dataclass
class LabelSums:
    """Mistakes by class, and what probabilities lost: of K classes, (K + 1)·K sums and 4096 bins.

    `apart`: of more than two classes, as many bins for each class against all others, for AUC and ROC.

    Codes are numbers of classes; K is a label that the model does not know, a mistake whose probability is
    not evaluated; a negative code is a row without a label, and absent, as is one of weight 0.
    """

    confusion: Floats  # (K + 1, K): weight of rows by true and predicted class
    figures: Figures
    rows: NDArray[np.int64]  # (1,) that have a weight and a label
    excess: Floats  # (1,) Σ w (-ln p_y + ln CLIP) where p_y < CLIP
    apart: list[Figures] = field(default_factory=list)  # (K,) or none

    @classmethod
    def start(cls, K: int, *, apart: bool = False) -> Self:
        each = [Figures.start(2) for _ in range(K)] if apart and 2 < K <= MOST_APART else []
        sums = np.zeros((K + 1, K)), Figures.start(K), np.zeros(1, dtype=np.int64), np.zeros(1)
        return cls(*sums, each)

    @property
    def nbytes(self) -> int:
        return self.confusion.nbytes + self.figures.nbytes + sum(each.nbytes for each in self.apart)

    def add(self, said: ClassPredictions, codes: NDArray[Any], w: Floats | None = None) -> None:
        K = self.confusion.shape[1]
        there = rows_that_count(codes >= 0, w)
        self.rows += np.count_nonzero(there)
        cells = codes[there].astype(np.int64) * K + said.best[there]
        counted = np.bincount(cells, None if w is None else w[there], (K + 1) * K)
        self.confusion += counted.reshape(K + 1, K)
        known = np.where(there & (codes < K), codes, -1).astype(np.int32)
        if said.P is not None:
            self.figures.update(said.P, known, w)
            self._add_excess(said, known, w)
            self._add_apart(said.P, _beside_rest, known, w)
        elif said.margin is not None and said.margin.ndim == 2:
            self._add_apart(said.margin, ranked, known, w)
        elif said.margin is not None:
            self.figures.update(ranked(said.margin), known, w)

    def _add_apart(
        self, Z: Floats, paired: Callable[[Floats], Floats], known: Codes, w: Floats | None
    ) -> None:
        """Each class, by its column of Z (n, K), against all others."""
        for k, figures in enumerate(self.apart):
            figures.update(paired(Z[:, k]), np.where(known < 0, -1, known == k), w)

    def _add_excess(self, said: ClassPredictions, known: Codes, w: Floats | None) -> None:
        assert said.P is not None
        at = np.flatnonzero(known >= 0)
        at = at[said.P[at, known[at]] < CLIP]
        if len(at):
            with np.errstate(divide="ignore"):
                L = np.log(said.P[at]) if said.logs is None else said.logs(at)
            lost = log(CLIP) - L[np.arange(len(at)), known[at]]
            self.excess += lost.sum() if w is None else w[at] @ lost

    def merge(self, other: Self) -> None:
        self.confusion += other.confusion
        self.figures.merge(other.figures)
        self.rows += other.rows
        self.excess += other.excess
        for mine, theirs in zip(self.apart, other.apart, strict=False):
            mine.merge(theirs)

    @property
    def weight(self) -> float:
        return float(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of rows whose class is found."""
        return float(np.trace(self.confusion[:-1])) / self.weight if self.weight else float("nan")


@dataclass
class ValueSums:
    """Weight and spread of q targets, and their squared and absolute errors."""

    spread: ColumnMoments  # of y: one class, targets as columns
    squares: Floats  # (q,)
    sizes: Floats  # (q,) Σ w |y - ŷ|
    rows: NDArray[np.int64]  # (1,) that have a weight

    @classmethod
    def start(cls, q: int) -> Self:
        return cls(ColumnMoments.start(1, q), np.zeros(q), np.zeros(q), np.zeros(1, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.spread.nbytes + 2 * self.squares.nbytes

    def add(self, said: NDArray[Any], y: NDArray[Any], w: Floats | None = None) -> None:
        """said: ŷ. Rows whose y is NaN are absent."""
        n, q = len(y), len(self.squares)
        Y, F = (np.asarray(one, dtype=np.float64).reshape(n, q) for one in (y, said))
        there = rows_that_count(np.asarray(~np.isnan(Y).any(axis=1)), w)
        Y, D = Y[there], Y[there] - F[there]
        v = np.ones(len(Y)) if w is None else w[there]
        self.spread.update(Chunk(Dense(Y), np.zeros(len(Y), dtype=np.int32), v))
        self.squares += v @ D**2
        self.sizes += v @ np.abs(D)
        self.rows += len(Y)

    def merge(self, other: Self) -> None:
        self.spread.merge(other.spread)
        self.squares += other.squares
        self.sizes += other.sizes
        self.rows += other.rows

    @property
    def weight(self) -> float:
        return float(self.spread.n[0])

    @property
    def r2(self) -> Floats:
        """1 - Σ(y - ŷ)² / Σ(y - ȳ)², (q,).

        Where y does not vary, 1 if it is hit exactly and 0 if not; of a single row, NaN.
        """
        if self.rows[0] < 2:
            return np.full(len(self.squares), np.nan)
        S = self.spread.S[0]
        share = np.divide(self.squares, S, out=np.zeros_like(S), where=S > 0)
        return np.where(S > 0, 1 - share, np.where(self.squares > 0, 0.0, 1.0))


Sums = LabelSums | ValueSums


@dataclass
class EvaluationState:
    """A pass: rows are answered where they are read; what travels is the sums alone."""

    sums: Any  # `LabelSums` or `ValueSums`
    answer: Callable[[Chunk], Any] | None = field(compare=False)
    places: NDArray[np.int32] | None = None  # (K + 1,) the class of each code, the last: of no class

    @property
    def nbytes(self) -> int:
        return int(self.sums.nbytes)

    def update(self, chunk: Chunk) -> None:
        assert self.answer is not None
        assert chunk.y is not None
        y = chunk.y if self.places is None else self.places[chunk.y]
        self.sums.add(self.answer(chunk), y, chunk.w)

    def merge(self, other: Self) -> None:
        self.sums.merge(other.sums)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "answer": None}


def _beside_rest(p: Floats) -> Floats:
    """(n, 2): the probabilities of all other classes together, and of this one."""
    p = np.clip(p, 0.0, 1.0)
    return np.column_stack([1 - p, p])


def ranked(margin: Floats) -> Floats:
    """Margins as P (n, 2) in the same order, for bins: those of 64 octaves to either side of 0."""
    with np.errstate(divide="ignore"):
        size = np.clip(np.log2(np.abs(margin)), LEAST, MOST)
    rest = np.exp2(-1 - (OCTAVES - 1) * (size - LEAST) / (MOST - LEAST))
    second = np.where(margin > 0, 1 - rest, rest)
    return np.column_stack([np.where(margin > 0, rest, 1 - rest), second])


def unranked(p: Floats) -> Floats:
    """The margins that `ranked` made p, the second column, of."""
    rest = np.minimum(p, 1 - p)
    size = np.exp2(LEAST - (np.log2(rest) + 1) * (MOST - LEAST) / (OCTAVES - 1))
    return np.where(p > 0.5, size, -size)


# What models that were fitted without a fold make of its rows: a state, added up chunk by chunk.

PIECE_BYTES = 1 << 20  # rows and their scores that stay in the second-level cache while they are evaluated


class Trial(NamedTuple):
    """The models and rows of each fold: `scores[f]` has those of V models, K classes each, side by side."""

    folds: Assignment
    scores: Sequence[Scores]
    V: int

    @property
    def K(self) -> int:
        return self.scores[0].K // self.V


class FoldPredictions(NamedTuple):
    """Rows of one fold that have a weight, and what each model says of them."""

    fold: int
    y: NDArray[Any]
    w: Floats  # (m,)
    Z: Floats  # (m, V, K)


def _fold_predictions(trial: Trial, chunk: Chunk) -> Iterator[FoldPredictions]:
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
            w_piece = row_weights(None if w is None else w[start : start + m], m)
            yield FoldPredictions(fold, piece.y, w_piece, Z.reshape(m, trial.V, trial.K))


# scikit-learn's scorers, and the metrics that rank in the same order.
SCORERS = {"accuracy": "error", "neg_log_loss": "log_loss", "neg_mean_squared_error": "mse"}


@dataclass
class FoldMetrics(ABC):
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
    def _add(self, predictions_of_fold: FoldPredictions) -> None: ...

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
        for predictions_of_fold in _fold_predictions(self.trial, chunk):
            self.rows[predictions_of_fold.fold] += len(predictions_of_fold.w)
            self._add(predictions_of_fold)

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
        """The metric to choose by, by its own name or that of scikit-learn's scorer; None: the first."""
        if asked is None:
            return cls.metrics[0]
        name = SCORERS.get(asked, asked)
        if name not in cls.metrics:
            raise ValueError(f"scoring must be one of {', '.join(map(repr, cls.metrics))}; got {asked!r}.")
        return name


@dataclass
class LabelFoldMetrics(FoldMetrics):
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

    def _add(self, predictions_of_fold: FoldPredictions) -> None:
        fold, y, w, Z = predictions_of_fold
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
class ValueFoldMetrics(FoldMetrics):
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

    def _add(self, predictions_of_fold: FoldPredictions) -> None:
        fold, y, w, Z = predictions_of_fold
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
