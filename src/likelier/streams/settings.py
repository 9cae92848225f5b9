"""What an online model is told before its first row."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Any

from likelier import _core

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
            raise ValueError(f"bits={self.bits!r}: it is a whole number from 1 to 30")
        object.__setattr__(self, "bits", int(self.bits))
        for name in ("learning_rate", "half_life", "power", "l1", "l2", "beta"):
            value, above = getattr(self, name), name in ("learning_rate", "half_life")
            if value is not None or not above:
                object.__setattr__(self, name, _number(name, value, above=above))
        for name in ("normalised", "invariant"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r}: it is True or False")
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
        raise ValueError(f"{name}={value!r}: it is one of {', '.join(map(repr, known))}")


def _number(name: str, value: Any, *, above: bool) -> float:
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < 0 or (above and value == 0):
        raise ValueError(f"{name}={value!r}: it is a finite number{' above 0' if above else ' from 0'}")
    return float(value)


def _interactions(given: Any) -> tuple[tuple[str, ...], ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ValueError(f"interactions={given!r}: it is a list of tuples of names, as in [('user', 'ad')]")
    for names in given:
        good = not isinstance(names, str) and isinstance(names, Sequence) and len(names) >= 2
        if not good or not all(type(name) in (str, int) for name in names):
            raise ValueError(
                f"interactions holds {names!r}: each is a tuple of two names or more, as in ('user', 'ad')"
            )
    return tuple(tuple(str(name) for name in names) for names in given)


def _check_class_weight(given: Any) -> None:
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping):
        raise ValueError(f"class_weight={given!r}: it is None, 'balanced' or a dict of weights by label")
    for label, weight in given.items():
        _number(f"class_weight[{label!r}]", weight, above=False)
