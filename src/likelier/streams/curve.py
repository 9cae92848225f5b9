"""Figures over time: at doubling numbers of rows, and in windows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likelier.streams.figures import Codes, Figures, Floats, mean_error, mean_loss

MOST = 512  # windows kept; so many are made half as many, twice as wide


class Snapshot(NamedTuple):
    """Figures of all rows so far, and of those since the last snapshot."""

    rows: int
    log_loss: float
    log_loss_since: float
    error: float
    error_since: float
    auc: float
    calibration_error: float
    mistakes: float


class Windows(NamedTuple):
    """Figures of rows up to `rows`, from where the window before ends; `mistakes` from the beginning."""

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
            raise ValueError(f"window={window}: a window has one row at least")
        self.window = window  # rows, as wide as they are now
        self.figures = Figures.start()
        self.snapshots: list[Snapshot] = []  # at 1, 2, 4, 8, ... rows
        self._watch = watch
        self._last = self.figures.totals.copy()  # at the last snapshot
        self._began = self.figures.totals.copy()  # where the open window began
        self._sums: list[Floats] = []  # of each closed window

    def update(self, P: Floats, codes: Codes, weights: ArrayLike | None = None) -> None:
        """Rows in the order in which they were answered. The figures of those before a wrong one stay."""
        w = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
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
