"""Which family each column has, settled once: by what users say, or by the rows themselves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data.chunk import Source
from likelier.data.recoded import Recoded
from likelier.families import MixedFamily
from likelier.families.base import Family
from likelier.families.named import OF_GROUPS, Settled, Smoothing, family_of
from likelier.model import Bayes
from likelier.states import Parts

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """What "auto" picked for a column, with each candidate's −ln p(y | x_j) on rows left out, in nats.

    These are the losses of the column alone. The pick may be another than the least of them: one that does
    better together with the other columns, or that does nearly as well and has heavier tails.
    """

    column: Any  # its number, or its name
    kind: str
    picked: str
    losses: dict[str, float]  # "pooled": of a family that is the same in all classes, whichever it is
    chance: float | None = None  # of the χ² of a pooled column, if it is the same in all classes

    @property
    def gain(self) -> float:
        """What the column tells of the class, in nats a row."""
        return self.losses["pooled"] - self.losses[self.picked]

    @property
    def margin(self) -> float:
        """By how much the pick beats the next best alone; below 0 if it is not the best alone."""
        others = [loss for name, loss in self.losses.items() if name != self.picked]
        return min(others) - self.losses[self.picked]

    def __str__(self) -> str:
        losses = ", ".join(f"{name} {loss:.4f}" for name, loss in self.losses.items())
        how = f"by {self.margin:.4f}" if self.margin >= 0 else "beside the other columns"
        return f"column {self.column} ({self.kind}): {self.picked} {how} ({losses})"


class Part(NamedTuple):
    """Columns that one family is for: what is settled of each, and the `Family`, if users gave one."""

    columns: NDArray[np.intp]
    settled: tuple[Settled, ...]
    own: Any = None

    def family(self, how: Smoothing) -> Family:
        """That of these columns."""
        return family_of(self.settled[0].family, self.settled, how) if self.own is None else self.own

    def same(self, other: "Part") -> bool:
        """Whether they say the same of the same columns."""
        same: bool = self.settled == other.settled and self.own == other.own
        return same and np.array_equal(self.columns, other.columns)


@dataclass(frozen=True)
class Plan:
    """The families of all columns, and how they were chosen."""

    parts: tuple[Part, ...]
    choices: tuple[Choice, ...] = ()
    unit: float = 1.0  # the weight of a row among the first, at most 1

    @property
    def levels(self) -> dict[int, NDArray[Any]]:
        """Of each column of categories."""
        return {j: s.levels for j, s in self.settled() if s.levels is not None}

    def settled(self) -> list[tuple[int, Settled]]:
        """Each column, and what is settled of it."""
        each = (zip(part.columns.tolist(), part.settled, strict=True) for part in self.parts)
        return sorted(chain.from_iterable(each), key=itemgetter(0))

    def families(self, named: Callable[[int], Any]) -> dict[Any, Any]:
        """As users say it: {column: what is settled, (column, column): of a group}."""
        found: list[tuple[int, Any, Any]] = []
        for part in self.parts:
            columns, first = part.columns.tolist(), part.settled[0]
            if part.own is None and first.family not in OF_GROUPS:
                found += ((j, named(j), one) for j, one in zip(columns, part.settled, strict=True))
            else:
                key = tuple(named(j) for j in columns)
                alone = part.own is not None and len(key) == 1
                found.append((min(columns), key[0] if alone else key, part.own or first))
        return {key: family for _, key, family in sorted(found, key=itemgetter(0))}

    def family(self, how: Smoothing) -> MixedFamily:
        """All of them, as one."""
        how = replace(how, unit=self.unit)
        return MixedFamily(tuple((part.columns, part.family(how)) for part in self.parts))

    def same(self, other: "Plan") -> bool:
        """Whether statistics by either can be merged."""
        ours, theirs = self.parts, other.parts
        return len(ours) == len(theirs) and all(a.same(b) for a, b in zip(ours, theirs, strict=True))

    def marginal(self, columns: NDArray[np.intp]) -> "Plan":
        """Of these columns alone."""
        place = {int(j): i for i, j in enumerate(columns)}
        parts = []
        for part in self.parts:
            kept = [i for i, j in enumerate(part.columns) if int(j) in place]
            if kept:
                at = np.array([place[int(part.columns[i])] for i in kept], dtype=np.intp)
                parts.append(Part(at, tuple(part.settled[i] for i in kept), part.own))
        held = (choice for choice in self.choices if choice.column in place)
        return Plan(tuple(parts), tuple(replace(c, column=place[c.column]) for c in held), self.unit)


@dataclass(frozen=True)
class Planned(Recoded):
    """Rows as a plan has them: categories coded by its levels."""

    plan: Plan = field(kw_only=True)

    @classmethod
    def by(cls, source: Source, plan: Plan) -> Self:
        levels = plan.levels
        return cls(source, frozenset(levels), levels, plan=plan)


@dataclass
class PlannedParts(Parts):
    """Statistics, and the plan by which they were counted."""

    plan: Plan

    @classmethod
    def start(cls, plan: Plan, how: Smoothing, K: int, p: int) -> Self:
        parts = plan.family(how).stats(K, p)
        return cls(parts.columns, parts.states, plan)

    def mergeable(self, other: Any) -> bool:
        return super().mergeable(other) and self.plan.same(other.plan)

    def unlike(self, other: Any, names: NDArray[Any] | None = None) -> str:
        """Why they cannot be merged."""
        ours, theirs = dict(self.plan.settled()), dict(other.plan.settled())
        j = next((j for j in ours if ours[j] != theirs.get(j)), 0)
        which = str(j) if names is None else repr(str(names[j]))
        return (
            f"families differ: of column {which}, {_settled(ours[j], theirs.get(j))}. What the first rows "
            "settled is for all: fit the others with families=first.families_"
        )

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        return replace(self, states=tuple(state.widened(K, at) for state in self.states))


def _settled(ours: Settled, theirs: Settled | None) -> str:
    """How two columns are settled, in words that differ."""
    if repr(ours) != repr(theirs) or theirs is None:
        return f"{ours!r} and {theirs!r}"
    if ours.levels is not None and theirs.levels is not None:
        known, met = ours.levels.tolist(), theirs.levels.tolist()
        only = [level for level in (*met, *known) if not (level in known and level in met)]
        return f"the levels {', '.join(repr(level) for level in only[:5])} are known to one alone"
    return f"{ours!r} of both, with other edges" if ours.bins is not None else f"{ours!r} in other groups"


@dataclass(frozen=True)
class PlannedBayes(Bayes):
    """The model, and the plan by which rows are read."""

    plan: Plan = field(kw_only=True)

    def marginal(self, columns: NDArray[np.intp]) -> Bayes:
        new = super().marginal(columns)
        plan = self.plan.marginal(columns)
        return PlannedBayes(new.params, new.log_prior, units=new.units, plan=plan)

    def condition(self, given: Mapping[int, float]) -> Bayes:
        new = super().condition(given)
        rest = np.array([j for j in range(self.params.shape[1]) if j not in given], dtype=np.intp)
        return PlannedBayes(new.params, new.log_prior, units=new.units, plan=self.plan.marginal(rest))


def grouped(
    settled: Mapping[int, Settled], groups: Sequence[tuple[Sequence[int], str, Any]]
) -> tuple[Part, ...]:
    """Columns of one family together; and the groups that have one family among them."""
    parts = []
    for kind in dict.fromkeys((s.family, s.pooled) for s in settled.values()):
        columns = sorted(j for j, s in settled.items() if (s.family, s.pooled) == kind)
        parts.append(Part(np.array(columns, dtype=np.intp), tuple(settled[j] for j in columns)))
    for group, name, family in groups:
        parts.append(Part(np.array(group, dtype=np.intp), (Settled(name),) * len(group), family))
    return tuple(parts)
