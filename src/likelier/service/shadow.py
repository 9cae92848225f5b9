"""A model that predicts and learns beside the served one, without answering, and how they compare."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from likelier.array_types import Floats
from likelier.service.events import Event
from likelier.streams.figures import Curve

if TYPE_CHECKING:
    from likelier.service.live import Live

SMALLEST = 1e-15  # a probability below it counts as this, as in log-losses everywhere here
BATCHES = 64  # means that are kept: then neighbours are joined
FEWEST = 8  # batches without which there is no test
FIRST = 16  # rows of a batch, at first
TOGETHER = 4096  # events that the shadow applies at a time


class LossCurve(Curve):
    """A curve that also keeps the loss of each row, where that is wanted."""

    losses: list[float] | None = None

    def update(self, P: Floats, codes: Any, weights: Any = None) -> None:
        if self.losses is not None:
            p = P[np.arange(len(P)), codes]
            self.losses += (-np.log(np.maximum(p, SMALLEST))).tolist()
        super().update(P, codes, weights)


class PairedLosses:
    """The losses of two models on the same rows: their means, and a test of the difference.

    The differences are averaged over batches of consecutive rows, and a t-test takes these means as
    independent. A model changes slowly, so that rows next to each other are not independent: batches are,
    once they are long. There are 32 to 64 of them, which grow with the number of rows.
    """

    def __init__(self) -> None:
        self.rows, self.live, self.shadow = 0, 0.0, 0.0  # sums of losses
        self.size, self.open, self.filled = FIRST, 0.0, 0
        self.means: list[float] = []

    def add(self, live: float, shadow: float) -> None:
        """Add the losses of one row."""
        self.rows += 1
        self.live += live
        self.shadow += shadow
        self.open += shadow - live
        self.filled += 1
        if self.filled == self.size:
            self.means.append(self.open / self.size)
            self.open, self.filled = 0.0, 0
            if len(self.means) == BATCHES:
                self.means = [(a + b) / 2 for a, b in zip(self.means[::2], self.means[1::2], strict=True)]
                self.size *= 2

    @property
    def p_value(self) -> float:
        """The two-sided p-value of the hypothesis of no difference; NaN with too few rows."""
        n = len(self.means)
        if n < FEWEST:
            return math.nan
        from scipy.special import stdtr  # only now: it takes a while to load

        d = np.array(self.means)
        error = float(d.std(ddof=1)) / math.sqrt(n)
        mean = float(d.mean())
        if error == 0:
            return 1.0 if mean == 0 else 0.0
        return float(2 * stdtr(n - 1, -abs(mean) / error))

    def state(self) -> dict[str, Any]:
        """The state as plain values."""
        return dict(vars(self))

    @classmethod
    def of(cls, state: dict[str, Any]) -> "PairedLosses":
        """Restore a saved state."""
        made = cls()
        vars(made).update({name: state[name] for name in vars(made)})
        return made


class Shadow:
    """A second learner on the same events.

    live: the learner, which takes everything from the log but models. losses: of the rows that both have
    answered since the shadow began, or since the served model was last exchanged.
    """

    def __init__(self, live: "Live", losses: PairedLosses | None = None) -> None:
        self.live, self.losses = live, losses or PairedLosses()
        self.events: list[Event] = []  # that it has yet to apply

    @property
    def full(self) -> bool:
        """Whether it is time to apply what has come."""
        return len(self.events) >= TOGETHER

    def follow(self, served: "Live") -> None:
        """Apply the new events, and pair the losses of both models on the same rows."""
        events, self.events = self.events, []
        self.live.apply(events)
        ours, theirs = _scored(self.live), _scored(served)
        known = dict(ours)
        for id, loss in theirs:
            if id in known:
                self.losses.add(loss, known[id])

    def summary(self) -> dict[str, Any]:
        """The losses of both models and the test of their difference."""
        losses, n = self.losses, max(self.losses.rows, 1)
        found = {
            "live_log_loss": losses.live / n,
            "log_loss": losses.shadow / n,
            "difference": (losses.shadow - losses.live) / n,
            "p_value": losses.p_value,
        }
        good = {
            name: value if losses.rows and math.isfinite(value) else None for name, value in found.items()
        }
        return {"estimator": self.live.served.name, "rows": losses.rows} | good


def record(live: "Live") -> None:
    """Record the losses of rows by their ids from now on."""
    live.judge.settle()
    live.scored, live.curve_.losses = [], []


def _scored(live: "Live") -> Sequence[tuple[str, float]]:
    """Ids and losses of the rows since the last call."""
    live.judge.settle()
    ids, losses = live.scored or [], live.curve_.losses or []
    record(live)
    return list(zip(ids, losses, strict=True))
