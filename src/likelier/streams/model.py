"""An online model: settings, labels, weights and counters; and the average of several."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats, row_weights
from likelier.warning_location import outside

# What an online model is told before its first row.

LOSSES = ("log_loss", "hinge", "squared_hinge", "perceptron", "modified_huber")
OPTIMIZERS = ("adagrad", "ftrl", "sgd")
NON_FINITE = ("skip", "raise")


@dataclass(frozen=True)
class Settings:
    """How weights move and what rows are made of; None: what suits the optimizer."""

    loss: str = "log_loss"
    optimizer: str = "adagrad"
    bits: int = 18
    learning_rate: float | None = None
    power: float = 0.5
    l1: float = 0.0
    l2: float = 0.0
    beta: float = 1.0
    normalised: bool = True
    invariant: bool = True
    interactions: tuple[tuple[str, ...], ...] = ()
    half_life: float | None = None
    class_weight: Any = None  # None, "balanced" or a dict of weights by label
    non_finite: str = "skip"

    def __post_init__(self) -> None:
        _one_of("loss", self.loss, LOSSES)
        _one_of("optimizer", self.optimizer, OPTIMIZERS)
        _one_of("non_finite", self.non_finite, NON_FINITE)
        if not isinstance(self.bits, Integral) or isinstance(self.bits, bool) or not 1 <= self.bits <= 30:
            raise ValueError(f"bits must be an integer from 1 to 30; got {self.bits!r}.")
        object.__setattr__(self, "bits", int(self.bits))
        for name in ("learning_rate", "half_life", "power", "l1", "l2", "beta"):
            value, above = getattr(self, name), name in ("learning_rate", "half_life")
            if value is not None or not above:
                object.__setattr__(self, name, _number(name, value, above=above))
        for name in ("normalised", "invariant"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}.")
        object.__setattr__(self, "interactions", _interactions(self.interactions))
        _check_class_weight(self.class_weight)

    @property
    def balanced(self) -> bool:
        """Whether classes weigh the less the more often they came."""
        return isinstance(self.class_weight, str)

    def factor(self, label: Any) -> float:
        """How much a row of this label counts."""
        return float(self.class_weight.get(label, 1.0)) if isinstance(self.class_weight, Mapping) else 1.0

    def learner(self) -> "_core.Learner":
        """Weights that have learned nothing yet."""
        held: dict[str, Any] = asdict(self)
        rate, half_life = held.pop("learning_rate"), held.pop("half_life")
        for name in ("interactions", "class_weight", "non_finite"):
            del held[name]
        if rate is not None:
            held["rate"] = float(rate)
        return _core.Learner(**held, half_life=float(half_life or 0.0))

    def intake(self) -> "_core.Intake":
        """What reads and counts rows."""
        crosses = [list(names) for names in self.interactions]
        return _core.Intake(crosses, self.non_finite == "raise", self.balanced)


def _one_of(name: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}.")


def _number(name: str, value: Any, *, above: bool) -> float:
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < 0 or (above and value == 0):
        raise ValueError(f"{name} must be a finite number {'>' if above else '>='} 0; got {value!r}.")
    return float(value)


def _interactions(given: Any) -> tuple[tuple[str, ...], ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ValueError(
            f"interactions must be a list of tuples of names, as in [('user', 'ad')]; got {given!r}."
        )
    for names in given:
        good = not isinstance(names, str) and isinstance(names, Sequence) and len(names) >= 2
        if not good or not all(type(name) in (str, int) for name in names):
            raise ValueError(
                "interactions must be tuples of at least two column names, as in ('user', 'ad'); got "
                f"{names!r}."
            )
    return tuple(tuple(str(name) for name in names) for names in given)


def _check_class_weight(given: Any) -> None:
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict {{label: weight}}; got {given!r}."
        )
    for label, weight in given.items():
        _number(f"class_weight[{label!r}]", weight, above=False)


# An online model: settings, the labels met so far, weights, and the count of what came.


class ClippedWarning(UserWarning):
    """Updates of an online model were clipped because they would have diverged.

    Lower `learning_rate` or rescale the features to avoid it; `clipped_` counts the clipped updates.
    """


@dataclass
class Online:
    """Answers rows and learns from them: classes are the labels, in this order.

    reading: what a reader of text has found, in plain words and numbers, for the next to read alike.
    """

    settings: Settings
    labels: list[Any] = field(default_factory=list)
    reading: dict[str, Any] = field(default_factory=dict)
    learner: "_core.Learner" = field(init=False)
    intake: "_core.Intake" = field(init=False)
    codes: dict[Any, int] = field(init=False)
    warned: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.learner, self.intake = self.settings.learner(), self.settings.intake()
        given, self.labels, self.codes = self.labels, [], {}
        for label in given:
            self.meet(label)
        self._room()

    def _room(self) -> None:
        """Scores for all classes that are known; one class alone needs none."""
        if self.K > 1:
            self.learner.grow(self.K)

    @property
    def K(self) -> int:
        return len(self.labels)

    @property
    def free(self) -> int:
        """How many weights have a feature, and intercepts: two classes have one score, more one each."""
        used: int = self.learner.counters["used"]
        return (used + 1) * (1 if self.K <= 2 else self.K)

    def meet(self, label: Any) -> int:
        """The code of a label, which may be new."""
        if label not in self.codes:
            self.codes[label] = len(self.labels)
            self.labels.append(label)
            self.intake.factors = [*self.intake.factors, self.settings.factor(label)]
        return self.codes[label]

    def name(self, labels: list[Any]) -> None:
        """Other names for the classes, in their order."""
        self.labels[:] = labels
        self.codes.clear()
        self.codes.update({label: code for code, label in enumerate(labels)})
        self.intake.factors = [self.settings.factor(label) for label in labels]

    def learn(self, rows: "_core.HashedRows") -> Floats:
        """A step at each row; the probabilities from before it, (n, K)."""
        before = self.learner.counters["clipped"]
        self.intake.weigh(rows)
        P = self.learner.learn(rows)
        self.intake.judge(rows, P)
        if self.learner.counters["clipped"] != before:
            self.warn_of_clipping()
        return P

    def warn_of_clipping(self) -> None:
        """Say once that a step was cut short."""
        if not self.warned:
            self.warned = True
            warnings.warn(
                "An update was clipped because the weights would have diverged: lower learning_rate, or "
                "rescale the features or sample weights. The model stays finite; such updates are counted.",
                ClippedWarning,
                stacklevel=outside(),
            )

    # ---- kept ----------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """All that it has learned, as plain numbers and arrays."""
        kept = self.learner.state()
        kept["counts"] = np.array(self.intake.counts, dtype=np.float64)
        return kept | {"mistakes": self.intake.mistakes, "skipped": self.intake.skipped}

    @classmethod
    def of(cls, settings: Settings, labels: Iterable[Any], reading: dict[str, Any], state: Any) -> Self:
        """The model that had this state."""
        kept = dict(state)
        made = cls(settings, list(labels), dict(reading))
        made.intake.counts = [float(n) for n in kept.pop("counts")]
        made.intake.mistakes, made.intake.skipped = kept.pop("mistakes"), kept.pop("skipped")
        made.learner.restore(kept)
        made._room()
        return made

    def copy(self) -> Self:
        return type(self).of(self.settings, self.labels, self.reading, self.state())

    def __reduce__(self) -> Any:
        state = self.state()
        few = few_slots(state.pop("table"), state.pop("tags"))
        return _unpickled, (self.settings, self.labels, self.reading, state, few)


def _unpickled(settings: Settings, labels: list[Any], reading: Any, state: Any, few: Any) -> Online:
    return Online.of(settings, labels, reading, state | all_slots(**few))


# ---- the table, of which few slots are in use ----------------------------------------------------------
def few_slots(table: NDArray[np.float32], tags: NDArray[np.uint32]) -> dict[str, Any]:
    """The rows of the table that hold anything, and which they are; all of them if that is no more.

    They are those that a feature has taken, and the intercept's, which is the last.
    """
    taken = tags[:, 0] != 0
    taken[-1] = True
    there = np.flatnonzero(taken).astype(np.uint32)
    if len(there) * (table.shape[1] + 2) < len(table) * (table.shape[1] + 1):
        return {"slots": len(table), "at": there, "cells": table[there], "tags": tags[there]}
    return {"slots": len(table), "at": None, "cells": table, "tags": tags}


def all_slots(slots: int, at: Any, cells: NDArray[np.float32], tags: NDArray[np.uint32]) -> dict[str, Any]:
    """The whole table again."""
    if at is None:
        return {"table": np.ascontiguousarray(cells), "tags": np.ascontiguousarray(tags)}
    table, held = np.zeros((slots, cells.shape[1]), np.float32), np.zeros((slots, 1), np.uint32)
    table[at], held[at] = cells, tags
    return {"table": table, "tags": held}


def plain_label(y: Any) -> Any:
    """A label as Python has it: a string, a boolean or a number."""
    moment = isinstance(y, np.datetime64 | np.timedelta64)  # of which `item` may make a plain integer
    label = y.item() if isinstance(y, np.generic) and not moment else y
    if label is None or (isinstance(label, float) and math.isnan(label)):
        raise ValueError("a row to learn from needs a label, and y is missing (None or NaN)")
    if not isinstance(label, str | bytes | bool | int | float):
        raise TypeError(
            f"y must be a string, a number or a boolean; got {label!r:.80} of type {type(label).__name__}."
        )
    return label


def labels_array(labels: list[Any]) -> NDArray[Any]:
    """Labels as an array: of their own type if it is one, else of objects."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds <= {str, bool, int, float}:
        unsigned = kinds == {int} and min(labels) >= 0 and max(labels) >> 63 == 1
        found = np.array(labels, dtype=np.uint64 if unsigned else None)
        if found.tolist() == labels:  # not beyond 64 bits, and no zeros at the end of strings
            return found
    held = np.empty(len(labels), dtype=object)
    held[:] = labels
    return held


# The average of models that learned separately: an approximation, as steps depend on those before them.

_HEAD = 4  # of a slot: the largest |x|, the weight of its rows, the means of x and of x²
_COUNTS = ("steps", "cells", "collisions", "clipped", "mistakes", "skipped")


def averaged(models: Sequence[Online], weights: Sequence[float] | None = None) -> Online:
    """One model: each weight the mean of theirs, by what each has learned of the feature.

    w = Σ a_i G_i w_i / Σ a_i G_i, with G_i the squared gradients that model i met there: one that never
    met a feature has no say in it (as Vowpal Wabbit averages). FTRL's sums z and n, and all other sums,
    are plain means Σ a_i s_i, so that the next steps are those of one model, not of a crowd; counts of rows
    are added up. Σ a_i = 1, by default all alike. The average of equal models is that model.
    """
    shares = _shares(weights, len(models))
    _check_alike(models)
    first, states = models[0], [model.state() for model in models]
    sums = {
        name: float(sum(a * s[name] / s["inflation"] for a, s in zip(shares, states, strict=True)))
        for name in ("total", "norms")
    }
    state: dict[str, Any] = {name: sum(s[name] for s in states) for name in _COUNTS}
    state |= sums | {"K": states[0]["K"], "inflation": 1.0, "counts": _counts(states)}
    proximal = first.settings.optimizer == "ftrl"
    state["table"] = _table(
        [s["table"] for s in states], [s["inflation"] for s in states], shares, proximal
    )
    state["tags"] = np.copy(states[0]["tags"])
    for s in states[1:]:
        np.copyto(state["tags"], s["tags"], where=state["tags"] == 0)
    state["used"] = int(np.count_nonzero(state["tags"]))
    return Online.of(first.settings, first.labels, first.reading, state)


def recounted(model: Online, base: Online, times: int) -> Online:
    """An average of so many models that learned on from the same one: what that had counted, once."""
    state, before = model.state(), base.state()
    for name in _COUNTS:
        state[name] -= (times - 1) * before[name]
    had = before["counts"]
    state["counts"][: len(had)] -= (times - 1) * had
    return Online.of(model.settings, model.labels, model.reading, state)


def _table(
    tables: list[Any], inflations: list[float], shares: Floats, proximal: bool
) -> NDArray[np.float32]:
    """The slots, a row each: their head, then a pair (w, G) for each score; FTRL's (z, n)."""
    n, width = tables[0].shape
    found, W = np.zeros((n, width)), slice(_HEAD, None, 2)
    seen, by_seen = np.zeros((n, 1)), np.zeros((n, 2))
    by_G, plain, G = (np.zeros((n, (width - _HEAD) // 2)) for _ in range(3))
    for table, inflation, a in zip(tables, inflations, shares, strict=True):
        T = table.astype(np.float64)
        np.maximum(found[:, :1], T[:, :1], out=found[:, :1])
        rows = a * T[:, 1:2] / inflation
        seen += rows
        by_seen += rows * T[:, 2:4]
        sums = a * T[:, _HEAD + 1 :: 2] / inflation
        G += sums
        by_G += sums * T[:, W] / inflation
        plain += a * T[:, W] / inflation
    found[:, 1:2] = seen
    found[:, 2:4] = _divided(by_seen, np.broadcast_to(seen, by_seen.shape), 0.0)
    found[:, W] = plain if proximal else _divided(by_G, G, plain)
    found[:, _HEAD + 1 :: 2] = G
    return found.astype(np.float32)


def _divided(a: Floats, b: Floats, otherwise: Any) -> Floats:
    out = np.empty_like(a)
    out[...] = otherwise
    return np.divide(a, b, out=out, where=b > 0)


def _counts(states: list[dict[str, Any]]) -> Floats:
    total = np.zeros(max(len(s["counts"]) for s in states))
    for s in states:
        total[: len(s["counts"])] += s["counts"]
    return total


def _shares(weights: Sequence[float] | None, m: int) -> Floats:
    if m == 0:
        raise ValueError("average needs at least one model")
    a = row_weights(weights, m)
    if a.shape != (m,) or not all(math.isfinite(x) and x >= 0 for x in a) or not a.sum() > 0:
        raise ValueError(
            f"weights must be {m} numbers >= 0, one for each model and not all 0; got {weights!r}."
        )
    return np.asarray(a / a.sum())


def _check_alike(models: Sequence[Online]) -> None:
    first = models[0]
    for i, other in enumerate(models[1:], 1):
        if other.settings != first.settings:
            raise ValueError(
                f"model {i} has other settings than model 0: {other.settings} and {first.settings}"
            )
        if other.labels != first.labels:
            raise ValueError(
                f"model {i} has classes {other.labels}, and model 0 {first.labels}: they must be the same, "
                "in the same order. Give them to partial_fit, as classes=, before the first row."
            )
