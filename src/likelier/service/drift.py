"""Whether rows and labels still look as they did: recent rows against all."""

import math
from typing import Any

from likelier.service.events import label_text

RATE = 1 / 500  # of forgetting, in what is recent
COLUMNS, VALUES = 100, 50  # that are followed
MOST = 1 - 1e-9  # share of what comes at once
LARGE = 1e100  # a sum of weights that is scaled back


class Numbers:
    """Mean and deviation of all rows, and the mean of recent ones."""

    def __init__(self) -> None:
        self.n, self.mean, self.scatter, self.recent = 0, 0.0, 0.0, 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        self.n += 1
        step = value - self.mean
        self.mean += step / self.n
        self.scatter += step * (value - self.mean)
        self.recent += (value - self.recent) * max(RATE, 1 / self.n)

    @property
    def shift(self) -> float:
        """How many standard deviations the recent mean is from that of all rows."""
        deviation = math.sqrt(self.scatter / self.n) if self.n > 1 else 0.0
        return (self.recent - self.mean) / deviation if deviation > 0 else 0.0


class Shares:
    """Shares of values among all rows, and among recent ones."""

    def __init__(self) -> None:
        self.n = 0
        self.all: dict[str, int] = {}
        # Each value weighs more than the one before, in place of all those before losing weight.
        self._weights: dict[str, float] = {}
        self._total = 0.0

    def add(self, value: str, n: int = 1) -> None:
        """Add a value n times. Values beyond the first 50 distinct ones are counted together."""
        key = value if value in self.all or len(self.all) < VALUES else "…"
        self.n += n
        self.all[key] = self.all.get(key, 0) + n
        share = min(max(1 - (1 - RATE) ** n, n / self.n), MOST)
        weight = self._total * share / (1 - share) if self._total else 1.0
        self._weights[key] = self._weights.get(key, 0.0) + weight
        self._total += weight
        if self._total > LARGE:
            self._weights = {known: one / self._total for known, one in self._weights.items()}
            self._total = 1.0

    @property
    def recent(self) -> dict[str, float]:
        """The share of each value, of which a row counts the less the longer ago it was."""
        return {key: weight / self._total for key, weight in list(self._weights.items())}

    @property
    def shift(self) -> float:
        """The total variation distance of the two, from 0 to 1."""
        recent = self.recent
        return sum(abs(recent.get(key, 0.0) - n / self.n) for key, n in list(self.all.items())) / 2


class Drift:
    """Columns and classes, recent against all."""

    def __init__(self) -> None:
        self.numbers: dict[str, Numbers] = {}
        self.words: dict[str, Shares] = {}
        self.labels = Shares()

    def row(self, x: dict[str, Any]) -> None:
        """Add the cells of a row."""
        for name, value in x.items():
            if isinstance(value, str | bool):
                held: Any = _of(self.words, name, Shares)
                cell: Any = str(value)
            elif isinstance(value, int | float) and abs(value) < 1e100:
                held, cell = _of(self.numbers, name, Numbers), float(value)
            else:
                continue
            if held is not None:
                held.add(cell)

    def classes(self, counts: dict[Any, float]) -> None:
        """How many rows of each class there are by now, those included whose label did not come."""
        for label, count in counts.items():
            name = label_text(label)
            new = round(count) - self.labels.all.get(name, 0)
            if new > 0:
                self.labels.add(name, new)

    def summary(self) -> dict[str, Any]:
        """The columns and class rates, those that changed most first."""
        found = [
            *(
                {"column": name, "kind": "number", "shift": one.shift}
                for name, one in list(self.numbers.items())
            ),
            *(
                {"column": name, "kind": "words", "shift": one.shift}
                for name, one in list(self.words.items())
            ),
        ]
        found.sort(key=lambda one: -abs(float(str(one["shift"]))))
        labels, recent = self.labels, self.labels.recent
        rates = {
            name: {"all": n / labels.n, "recent": recent.get(name, 0.0)}
            for name, n in list(labels.all.items())
        }
        return {"columns": found[:12], "labels": rates, "rows": labels.n}


def _of(held: dict[str, Any], name: str, make: type[Any]) -> Any:
    """The statistics of a column; None beyond the maximum number of columns."""
    if name not in held and len(held) < COLUMNS:
        held[name] = make()
    return held.get(name)
