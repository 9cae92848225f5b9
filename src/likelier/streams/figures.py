"""Metrics of a stream: totals, at doubling numbers of rows, and in windows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from likelier import _core
from likelier.array_types import Codes, Floats, row_weights

# How well probabilities predicted the labels that came after them.


BINS = _core.figure_bins
GROUPS = 15  # of a calibration


class Calibration(NamedTuple):
    """A calibration curve: groups of rows of about equal weight, sorted by predicted probability.

    Attributes
    ----------
    p : ndarray
        The mean predicted probability of each group.
    rate : ndarray
        The observed frequency in each group.
    weight : ndarray
        The total weight of each group.
    """

    p: Floats  # mean probability
    rate: Floats  # how often it came to pass
    weight: Floats


@dataclass(eq=False)
class Figures:
    """Metrics of a stream (log-loss, mistakes, Brier score, AUC, calibration) from sums that can be merged.

    A weight of 2 counts the row twice; rows of weight 0 or with a negative class number are ignored. A
    label that has no column of probabilities had the probability 0. Binary problems are evaluated by the
    probability of the second class, others by that of the most likely class. It is counted in 4096 fixed
    bins, each at most 1/64 of min(p, 1 - p) wide, from which AUC and calibration are computed.

    Attributes
    ----------
    totals : ndarray of shape (6,)
        Rows, weight, loss, mistakes, squared errors and clipped weight.
    classes : ndarray of shape (K, 3)
        By class: weight, Σ w p_k and mistakes.
    bins : ndarray of shape (BINS, 3)
        By bin of the probability: weight of failures, weight of successes, Σ w p.
    """

    totals: Floats  # rows, weight, loss, mistakes, squares, clipped
    classes: Floats  # (K, 3): weight, Σ w p_k, mistakes
    bins: Floats  # (BINS, 3): weight where it did not come to pass, where it did, Σ w p

    @classmethod
    def start(cls, K: int = 2) -> Self:
        """Metrics of no rows yet.

        Parameters
        ----------
        K : int, default=2
            The number of classes.

        Returns
        -------
        Figures
            All sums 0.
        """
        return cls(np.zeros(6), np.zeros((max(K, 2), 3)), np.zeros((BINS, 3)))

    def update(self, P: ArrayLike, codes: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Add rows whose labels are known now.

        Parameters
        ----------
        P : array of shape (n, K)
            The predicted probabilities.
        codes : array of shape (n,)
            The class numbers of the true labels.
        weights : array of shape (n,), default=None
            The sample weights.

        Raises
        ------
        ValueError
            If probabilities are negative or do not sum to 1, or a weight is negative or not finite.
        """
        P = np.ascontiguousarray(P, dtype=np.float64)
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        w = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        if P.ndim != 2 or codes.shape != P.shape[:1] or (w is not None and w.shape != codes.shape):
            shapes = P.shape, codes.shape, None if w is None else w.shape
            raise ValueError(
                "P, codes and weights have shapes {}, {} and {}: (n, K), (n,), (n,)".format(*shapes)
            )
        if P.shape[1] < 2:
            P = np.hstack([P, np.zeros((len(P), 2 - P.shape[1]))])
        before = self.classes, self.bins
        self.grow(max(P.shape[1], int(codes.max(initial=-1)) + 1))
        bad = _core.figures(P, codes, w, self.totals, self.classes, self.bins)
        if bad >= 0:
            self.classes, self.bins = before
            weight = 1.0 if w is None else w[bad]
            raise ValueError(
                f"row {bad} cannot be evaluated: its probabilities {P[bad].tolist()} must be at "
                f"least 0 and sum to 1, its weight {weight} must be finite and at least 0"
            )

    def grow(self, K: int) -> None:
        """Make room for more classes.

        Parameters
        ----------
        K : int
            The new number of classes.
        """
        if K > self.K:
            if self.K == 2:
                self.bins = _folded(self.bins)
            self.classes = np.vstack([self.classes, np.zeros((K - self.K, 3))])

    def merge(self, other: Self) -> None:
        """Add the rows of other metrics to these.

        Parameters
        ----------
        other : Figures
            Metrics of other rows, with the classes in the same order.
        """
        self.grow(other.K)
        self.totals += other.totals
        self.classes[: other.K] += other.classes
        self.bins += _folded(other.bins) if self.K > other.K == 2 else other.bins

    @property
    def nbytes(self) -> int:
        """The memory of the sums, in bytes."""
        return self.totals.nbytes + self.classes.nbytes + self.bins.nbytes

    @property
    def K(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.totals[0])

    @property
    def weight(self) -> float:
        """The total weight of the rows."""
        return float(self.totals[1])

    @property
    def log_loss(self) -> float:
        """Mean of -ln p_y, where p_y < 1e-15 counts as 1e-15; `clipped` is their weight."""
        return mean_loss(self.totals)

    @property
    def clipped(self) -> float:
        """The weight of the rows whose label had a probability below 1e-15."""
        return float(self.totals[5])

    @property
    def mistakes(self) -> float:
        """The weight of the rows whose label was not the most likely class (the first of several)."""
        return float(self.totals[3])

    @property
    def error(self) -> float:
        """The share of rows whose label was not the most likely class."""
        return mean_error(self.totals)

    @property
    def brier(self) -> float:
        """The mean of Σ_k (p_k - [y = k])² (Brier 1950), halved for binary problems."""
        return _ratio(self.totals[4], self.totals[1]) / (2 if self.K == 2 else 1)

    @property
    def rates(self) -> Floats:
        """The relative frequency (K,) of each class."""
        return self.classes[:, 0] / self.weight if self.weight else np.full(self.K, np.nan)

    @property
    def expected(self) -> Floats:
        """The mean predicted probability (K,) of each class."""
        return self.classes[:, 1] / self.weight if self.weight else np.full(self.K, np.nan)

    @property
    def errors(self) -> Floats:
        """The share of mistakes (K,) among the rows of each class."""
        n = self.classes[:, 0]
        return np.asarray(np.divide(self.classes[:, 2], n, out=np.full(self.K, np.nan), where=n > 0))

    @property
    def auc(self) -> float:
        """The area under the ROC curve of binary problems, accurate to `auc_error`; NaN for more classes.

        Pairs of rows within one bin count half (Hanley & McNeil 1982).
        """
        below = np.cumsum(self.bins[:, 0]) - self.bins[:, 0] / 2
        return _ratio(below @ self.bins[:, 1], self._pairs)

    @property
    def auc_error(self) -> float:
        """A bound on the error of `auc` through binning: half the share of pairs within one bin."""
        return _ratio(self.bins[:, 0] @ self.bins[:, 1] / 2, self._pairs)

    @property
    def _pairs(self) -> float:
        return float(np.prod(self.bins[:, :2].sum(axis=0))) if self.K == 2 else 0.0

    def calibration(self, groups: int = GROUPS, *, positive: int = 1) -> Calibration:
        """The calibration curve, for groups of neighbouring bins of about equal weight.

        For binary problems the probability is that of the class `positive`; for more classes that of the
        most likely class, and the rate is how often this class was correct.

        Parameters
        ----------
        groups : int, default=15
            The number of groups.
        positive : int, default=1
            The number of the positive class, 0 or 1, for binary problems.

        Returns
        -------
        Calibration
            The mean probability, observed frequency and weight of each group.
        """
        misses, hits, p = self.bins.T
        n = misses + hits
        place = ((np.cumsum(n) - n / 2) * groups / max(self.weight, 1e-300)).astype(int)
        N, H, Q = (np.bincount(place, each).astype(np.float64) for each in (n, hits, p))
        there = N > 0
        rate, p = H[there] / N[there], Q[there] / N[there]
        if positive == 0 and self.K == 2:
            return Calibration(1 - p[::-1], 1 - rate[::-1], N[there][::-1])
        return Calibration(p, rate, N[there])

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: the mean over groups of |rate - mean p| (Naeini et al. 2015)."""
        found = self.calibration()
        return _ratio(found.weight @ np.abs(found.rate - found.p), self.weight)


def mean_loss(totals: Floats) -> float:
    """-ln p_y, of sums or of the difference of two."""
    return _ratio(totals[2], totals[1])


def mean_error(totals: Floats) -> float:
    """Mistakes, of sums or of the difference of two."""
    return _ratio(totals[3], totals[1])


def _ratio(sum_: Any, weight: Any) -> float:
    return float(sum_) / float(weight) if weight else float("nan")


def _folded(bins: Floats) -> Floats:
    """Bins by the second of two classes as bins by the likelier: the lower half is of the first class."""
    half = BINS // 2
    lower = bins[:half][::-1]  # p there is 1 - p of the first
    first = np.column_stack([lower[:, 1], lower[:, 0], lower[:, 0] + lower[:, 1] - lower[:, 2]])
    return np.vstack([np.zeros((half, 3)), bins[half:] + first])


# Figures over time: at doubling numbers of rows, and in windows.

MOST = 512  # windows kept; so many are made half as many, twice as wide


class Snapshot(NamedTuple):
    """Metrics of all rows so far, and (`_since`) of the rows since the previous snapshot.

    Attributes
    ----------
    rows : int
        The number of rows so far.
    log_loss : float
        The log-loss of all rows so far.
    log_loss_since : float
        The log-loss since the previous snapshot.
    error : float
        The share of mistakes so far.
    error_since : float
        The share of mistakes since the previous snapshot.
    auc : float
        The AUC so far; NaN for more than two classes.
    calibration_error : float
        The expected calibration error so far.
    mistakes : float
        The weight of the mistakes so far.
    """

    rows: int
    log_loss: float
    log_loss_since: float
    error: float
    error_since: float
    auc: float
    calibration_error: float
    mistakes: float


class Windows(NamedTuple):
    """Metrics of consecutive windows of rows.

    Attributes
    ----------
    rows : ndarray
        The number of rows up to the end of each window.
    weight : ndarray
        The weight of each window.
    log_loss : ndarray
        The log-loss of each window.
    error : ndarray
        The share of mistakes in each window.
    mistakes : ndarray
        The weight of all mistakes up to the end of each window.
    """

    rows: Floats
    weight: Floats
    log_loss: Floats
    error: Floats
    mistakes: Floats


HEADINGS = ("rows", "log-loss", "since last", "error", "since last", "AUC", "calibration", "mistakes")
WIDTHS = (11, 9, 11, 8, 11, 8, 12, 10)
HEADING = " ".join(map(str.rjust, HEADINGS, WIDTHS))


def cells(at: Snapshot) -> tuple[str, ...]:
    """A snapshot as a row of the table under HEADINGS."""
    return (
        f"{at.rows}",
        f"{at.log_loss:.4f}",
        f"{at.log_loss_since:.4f}",
        f"{100 * at.error:.2f} %",
        f"{100 * at.error_since:.2f} %",
        "-" if np.isnan(at.auc) else f"{at.auc:.4f}",
        f"{at.calibration_error:.4f}",
        f"{at.mistakes:.10g}",
    )


def line(at: Snapshot) -> str:
    """The same as text: lines that come one by one have widths that are known before."""
    return " ".join(map(str.rjust, cells(at), WIDTHS))


class Curve:
    """Figures that remember how they came about.

    watch: told of each snapshot when it is made.
    """

    def __init__(self, window: int = 1000, watch: Callable[[Snapshot], None] | None = None) -> None:
        if window < 1:
            raise ValueError(f"window must be an integer >= 1 (a number of rows); got {window!r}.")
        self.window = window  # rows, as wide as they are now
        self.figures = Figures.start()
        self.snapshots: list[Snapshot] = []  # at 1, 2, 4, 8, ... rows
        self._watch = watch
        self._last = self.figures.totals.copy()  # at the last snapshot
        self._began = self.figures.totals.copy()  # where the open window began
        self._sums: list[Floats] = []  # of each closed window

    def update(self, P: Floats, codes: Codes, weights: ArrayLike | None = None) -> None:
        """Rows in the order in which they were answered. The figures of those before a wrong one stay."""
        w = row_weights(weights, len(codes))
        judged = (codes >= 0) & (w != 0)
        if not judged.all():
            P, codes, w = P[judged], codes[judged], w[judged]
        while len(codes):
            fit = self._room()
            self.figures.update(P[:fit], codes[:fit], w[:fit])
            self._mark()
            P, codes, w = P[fit:], codes[fit:], w[fit:]

    def _room(self) -> int:
        """Rows until the next snapshot, or the end of the window."""
        rows = self.figures.rows
        return min((1 << len(self.snapshots)) - rows, int(self._began[0]) + self.window - rows)

    def _mark(self) -> None:
        totals = self.figures.totals
        if totals[0] == 1 << len(self.snapshots):
            self.snapshots.append(self.now())
            self._last = totals.copy()
            if self._watch is not None:
                self._watch(self.snapshots[-1])
        if totals[0] == self._began[0] + self.window:
            self._sums.append(totals - self._began)
            self._began = totals.copy()
            if len(self._sums) == MOST:
                self._sums = [a + b for a, b in zip(self._sums[::2], self._sums[1::2], strict=True)]
                self.window *= 2

    def now(self) -> Snapshot:
        """All rows so far, and those since the last snapshot."""
        figures, since = self.figures, self.figures.totals - self._last
        return Snapshot(
            figures.rows,
            figures.log_loss,
            mean_loss(since),
            figures.error,
            mean_error(since),
            figures.auc,
            figures.calibration_error,
            figures.mistakes,
        )

    def table(self) -> list[Snapshot]:
        """The snapshots, and where it stands if rows came since."""
        behind = self.figures.rows > (self.snapshots[-1].rows if self.snapshots else 0)
        return [*self.snapshots, self.now()] if behind else list(self.snapshots)

    @property
    def windows(self) -> Windows:
        """At most 512 windows; the last may not be full."""
        rest = self.figures.totals - self._began
        sums = np.array([*self._sums, *([rest] if rest[0] else [])]).reshape(-1, 6)
        n, w, loss, wrong = sums.T[:4]
        return Windows(np.cumsum(n), w, loss / w, wrong / w, np.cumsum(wrong))
