"""The family of each column: declared by the user, or chosen by held-out performance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Block, Columns, Source
from likelier.data.transforms import Recoded
from likelier.engines import run
from likelier.engines.run import numbered
from likelier.estimators.generative.family_evaluation import FamilyEvaluator, JointScores
from likelier.families import MixedFamily
from likelier.families.base import Family
from likelier.families.registry import (
    COARSE,
    FAMILIES,
    ColumnFamily,
    Smoothing,
    candidates,
    family_names,
    is_grouped,
    is_table,
    mixed_family,
)
from likelier.model import Bayes
from likelier.states import Extent, Levels, Parts, RowSample, StateGroup
from likelier.states.counts import Bins, bins_for, edges_of_each

# Which family each column has, settled once: by what users say, or by the rows themselves.


@dataclass(frozen=True)
class Choice:
    """The family that "auto" chose for a column, with the held-out log loss of each candidate.

    The losses, −ln p(y | x_j) in nats, are those of the column alone. The choice may be another than the
    least of them: one that does better together with the other columns, or nearly as well with heavier
    tails.

    Attributes
    ----------
    column : int or str
        Number or name of the column.
    kind : str
        Type of its values.
    picked : str
        Name of the chosen family; "pooled" if the column is ignored because it does not help.
    losses : dict
        Log loss of each candidate family; "pooled" is that of ignoring the column.
    chance : float or None
        p-value of a χ² test of independence from the class, for pooled columns.
    weight : float or None
        Weight of the column in class probabilities, if columns have any; 0: it is left out.
    """

    column: Any  # its number, or its name
    kind: str
    picked: str
    losses: dict[str, float]  # "pooled": of a family that is the same in all classes, whichever it is
    chance: float | None = None  # of the χ² of a pooled column, if it is the same in all classes
    weight: float | None = None

    @property
    def gain(self) -> float:
        """Information about the class, in nats per row: the decrease of the log loss by the column."""
        return self.losses["pooled"] - self.losses[self.picked]

    @property
    def margin(self) -> float:
        """Lead of the choice over the next best family alone, in nats; it may be negative."""
        others = [loss for name, loss in self.losses.items() if name != self.picked]
        return min(others) - self.losses[self.picked]

    def __str__(self) -> str:
        losses = ", ".join(f"{name} {loss:.4f}" for name, loss in self.losses.items())
        how, weight = f"by {self.margin:.4f}", ""
        if self.margin < 0:
            how = "beside the other columns" if self.weight is None else "within a standard error"
        if self.weight is not None:
            weight = f", weight {self.weight:.2f}" if self.weight > 0 else ", weight 0: left out"
        return f"column {self.column} ({self.kind}): {self.picked} {how} ({losses}){weight}"


class Part(NamedTuple):
    """Columns that one family is for: what is settled of each, and the `Family`, if users gave one."""

    columns: NDArray[np.intp]
    settled: tuple[ColumnFamily, ...]
    own: Any = None

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

    def settled(self) -> list[tuple[int, ColumnFamily]]:
        """Each column, and what is settled of it."""
        each = (zip(part.columns.tolist(), part.settled, strict=True) for part in self.parts)
        return sorted(chain.from_iterable(each), key=itemgetter(0))

    def families(self, named: Callable[[int], Any]) -> dict[Any, Any]:
        """As users say it: {column: what is settled, (column, column): of a group}."""
        found: list[tuple[int, Any, Any]] = []
        grouped = [part.own is not None or is_grouped(part.settled[0].family) for part in self.parts]
        for part, together in zip(self.parts, grouped, strict=True):
            columns, first = part.columns.tolist(), part.settled[0]
            if not together:
                found += ((j, named(j), one) for j, one in zip(columns, part.settled, strict=True))
            else:
                key = tuple(named(j) for j in columns)
                alone = part.own is not None and len(key) == 1
                found.append((min(columns), key[0] if alone else key, part.own or first))
        return {key: family for _, key, family in sorted(found, key=itemgetter(0))}

    def family(self, how: Smoothing) -> MixedFamily:
        """All of them, as one."""
        how = replace(how, unit=self.unit)
        return mixed_family(self.parts, how)

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


def recoded(source: Source, plan: Plan) -> Recoded:
    """Rows as a plan has them: categories coded by its levels."""
    levels = plan.levels
    return Recoded(source, frozenset(levels), levels)


@dataclass
class PlannedParts(Parts):
    """Statistics, and the plan by which they were counted."""

    plan: Plan

    @classmethod
    def start(cls, plan: Plan, how: Smoothing, K: int, p: int) -> Self:
        parts = plan.family(how).stats(K, p)
        return cls(parts.columns, parts.states, plan)

    def mergeable(self, other: Any) -> bool:
        return type(other) is type(self) and super().mergeable(other) and self.plan.same(other.plan)

    def unlike(self, other: Any, names: NDArray[Any] | None = None) -> str:
        """Why they cannot be merged."""
        if type(other) is not type(self):
            return "only one of them was counted with weighting='discriminative'"
        ours, theirs = dict(self.plan.settled()), dict(other.plan.settled())
        j = next((j for j in ours if ours[j] != theirs.get(j)), 0)
        which = str(j) if names is None else repr(str(names[j]))
        return (
            f"families differ: of column {which}, {_settled(ours[j], theirs.get(j))}. What the first rows "
            "settled is for all: fit the others with families=first.families_"
        )

    def widened(self, K: int, at: NDArray[np.intp]) -> Self:
        return replace(self, states=tuple(state.widened(K, at) for state in self.states))


def _settled(ours: ColumnFamily, theirs: ColumnFamily | None) -> str:
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
    settled: Mapping[int, ColumnFamily], groups: Sequence[tuple[Sequence[int], str, Any]]
) -> tuple[Part, ...]:
    """Columns of one family together; and the groups that have one family among them."""
    parts = []
    for kind in dict.fromkeys((s.family, s.pooled) for s in settled.values()):
        columns = sorted(j for j, s in settled.items() if (s.family, s.pooled) == kind)
        parts.append(Part(np.array(columns, dtype=np.intp), tuple(settled[j] for j in columns)))
    for group, name, family in groups:
        parts.append(Part(np.array(group, dtype=np.intp), (ColumnFamily(name),) * len(group), family))
    return tuple(parts)


# The choice of a family for each column: what its numbers allow, and which tells most of the class.

MOST_VALUES = 20  # of whole numbers that may be categories
MOST_WEIGHT = 1e12  # of a row, where bins are made: more rows do not make more of them
MOST_ROWS = 1 << 14  # by which families are evaluated, and bins made: a sample of all

LEAST_SHARE = 2.0**-4  # of the largest: far below 1 a beta density is a gamma density, which has no unit

OF_NUMBERS = ("counts", "positive numbers", "numbers")
COARSE_BINS = 2


class FamilyRequest(NamedTuple):
    """What users say of families."""

    columns: Mapping[int, str | ColumnFamily]  # "auto" for those of which nothing is said
    groups: Sequence[tuple[Sequence[int], str, Family | None]]


def asked_for(families: Any, p: int, number_of: Any) -> FamilyRequest:
    """`families`, checked: a name for all columns, or {column or columns: name or `Family`}.

    number_of: a column's number from its name or number.
    """
    if isinstance(families, str):
        _known(families, "families")
        return FamilyRequest(dict.fromkeys(range(p), families), ())
    if not isinstance(families, Mapping):
        raise ValueError(
            "families must be 'auto', the name of a family, or a dict {column: family, (column, column): "
            f"family}}; got {families!r:.80}."
        )
    columns: dict[int, str | ColumnFamily] = dict.fromkeys(range(p), "auto")
    groups: list[tuple[Sequence[int], str, Family | None]] = []
    named: set[int] = set()
    for key, family in families.items():
        at = number_of(list(key) if isinstance(key, tuple) else key).tolist()
        if not at:
            raise ValueError(f"families: {key!r} names no column")
        if named.intersection(at):
            raise ValueError(f"families: a column of {key!r} has two families")
        named.update(at)
        name = family.family if isinstance(family, ColumnFamily) else family
        if hasattr(family, "stats") and hasattr(family, "estimate") and not isinstance(family, type):
            groups.append((at, type(family).__name__, family))
        elif isinstance(key, tuple) and is_grouped(name):
            groups.append((at, name, None))
        else:
            _known(name, f"families[{key!r}]")
            columns.update(dict.fromkeys(at, family))
            continue
        for j in at:
            del columns[j]
    return FamilyRequest(columns, groups)


def _known(name: Any, where: str) -> None:
    alone, together = (family_names(grouped=grouped) for grouped in (False, True))
    if isinstance(name, str) and (name == "auto" or name in alone):
        return
    if is_grouped(name):
        raise ValueError(f"{where}: {name!r} is for several columns: {{(column, column): {name!r}}}")
    known = f"{', '.join(['auto', *alone])}; of several columns together: {', '.join(together)}"
    raise ValueError(f"{where}: the family must be one of {known}; got {name!r:.80}.")


def plan_of(
    source: Source, classes: NDArray[Any], asked: FamilyRequest, how: Smoothing, *, joint: bool = True
) -> Plan:
    """The families of all columns, from one pass over the rows: what they can be, levels, and a sample.

    joint: whether families are chosen by what columns say together, after what each says alone.
    """
    as_categories = frozenset(j for j, name in asked.columns.items() if name == "categorical")
    rows = Recoded(source, as_categories).coded(classes)
    starts = (partial(Extent.start, source.p), Levels, partial(RowSample, MOST_ROWS))
    extent, levels, sample = run(numbered(rows), partial(StateGroup.start, starts)).states
    if sample.rows() is None or not np.isfinite(extent.n):  # the pass that counts will say so
        return Plan(grouped({j: ColumnFamily("gaussian") for j in asked.columns}, asked.groups))
    keys, some = sample.drawn()
    some = some._replace(X=_levelled(some.X, levels.levels))
    for group, kind, _ in asked.groups:
        for j in levels.levels.keys() & set(group):
            raise _no_categories(source, j, kind)
    unit = 1.0 if some.w is None else min(1.0, _typical(some.w))
    evaluator = FamilyEvaluator(some, len(classes), replace(how, unit=unit), keys)
    chooser = Chooser(evaluator, extent, levels.levels, joint)
    settled: dict[int, ColumnFamily] = {}
    for j, family in asked.columns.items():
        if isinstance(family, ColumnFamily):
            settled[j] = family
        elif family == "auto":
            continue
        elif j in levels.levels and family != "categorical":
            raise _no_categories(source, j, family)
        else:
            settled[j] = chooser.settled(family, j)
    chosen = chooser.choices([j for j, family in asked.columns.items() if family == "auto"])
    settled |= {choice.column: one for one, choice in chosen}
    return Plan(grouped(settled, asked.groups), tuple(choice for _, choice in chosen), unit)


def _typical(w: NDArray[np.float64]) -> float:
    """The weight of a row, Σw²/Σw: rows of next to no weight count for next to nothing."""
    shares = w / w.max()
    return float(w.max() * (shares @ shares) / shares.sum())


def _no_categories(source: Source, j: int, family: str) -> ValueError:
    name = j if source.names is None else repr(str(source.names[j]))
    return ValueError(f"families: column {name} holds categories, and cannot be {family}")


def _levelled(X: Block, levels: Mapping[int, NDArray[Any]]) -> Block:
    return X.coded(levels) if isinstance(X, Columns) else X


def whole(extent: Extent, j: int) -> bool:
    """Whether the numbers of column j are whole: where all doubles are, that says nothing of them."""
    return bool(extent.whole[j] and max(-extent.low[j], extent.high[j]) < 2.0**52)


def kind_of(extent: Extent, j: int) -> str:
    """What the numbers of column j are."""
    low, high = extent.low[j], extent.high[j]
    if low > high:
        return "nothing"
    if whole(extent, j) and low >= 0:
        return "booleans" if high <= 1 else "counts"
    if low > 0:
        return "shares" if LEAST_SHARE <= high < 1 else "positive numbers"
    return "numbers"


@dataclass(frozen=True)
class Chooser:
    """The families that columns could have, and which of them tells most of the class."""

    evaluator: FamilyEvaluator
    extent: Extent
    levels: Mapping[int, NDArray[Any]]  # of columns of categories
    joint: bool = True  # columns have no weights, so that families must not be too sure together

    @cached_property
    def weight(self) -> float:
        """Of the sample."""
        return float(self.evaluator.every.sum())

    @cached_property
    def grown(self) -> float:
        """How many times the weight of the sample all rows have."""
        found = self.extent.n / self.weight
        return found if np.isfinite(found) else 1.0

    def settled(self, name: str, j: int) -> ColumnFamily:
        """With levels or bins, if it needs any."""
        if name == "categorical":
            return ColumnFamily(name, self.levels[j] if j in self.levels else self._values(j))
        return ColumnFamily(name, bins=self.bins([j])[j]) if name == "histogram" else ColumnFamily(name)

    def bins(self, columns: Sequence[int]) -> dict[int, Bins]:
        """As many of each column as all rows can fill.

        A weight above 1 is so many rows; rows that weigh less are still rows.
        """
        w = self.evaluator.every
        w = np.minimum(w / self.evaluator.how.unit, MOST_WEIGHT)
        found: dict[int, Bins] = {}
        for block in self.evaluator.blocks(columns):
            X = self._numbers(block)
            most = [bins_for(float(rows) * self.grown) for rows in w @ ~np.isnan(X)]
            found |= zip(block, edges_of_each(X, w, most), strict=True)
        return found

    def _numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        return self.evaluator.rows.X.select(np.array(columns, dtype=np.intp)).to_array()

    def _values(self, j: int) -> NDArray[Any]:
        """The numbers that a column has, as the levels of categories."""
        x = self._numbers([j])[:, 0]
        found = np.unique(x[~np.isnan(x)] + 0.0).tolist()
        levels = np.empty(len(found), dtype=object)
        levels[:] = [int(v) if v == int(v) else v for v in found]
        return levels

    def _names(self, j: int, kind: str, suited: tuple[str, ...]) -> tuple[str, ...]:
        """The candidates of a column, the simplest first; suited: those of its kind."""
        with np.errstate(invalid="ignore"):  # infinite numbers will be refused
            few = self.extent.high[j] - self.extent.low[j] < MOST_VALUES
        if kind != "booleans" and kind in OF_NUMBERS and whole(self.extent, j) and few:
            return (*suited, "categorical")
        return suited

    def _candidates(
        self, kinds: Mapping[int, str], suited: Mapping[str, tuple[str, ...]]
    ) -> dict[tuple[int, str], ColumnFamily]:
        """By column and name."""
        names = {j: self._names(j, kind, suited[kind]) for j, kind in kinds.items()}
        bins = self.bins([j for j in kinds if "histogram" in names[j]])
        return {
            (j, name): ColumnFamily(name, bins=bins[j]) if name == "histogram" else self.settled(name, j)
            for j in kinds
            for name in names[j]
        }

    def choices(self, columns: Sequence[int]) -> list[tuple[ColumnFamily, Choice]]:
        """The family of each of these columns, by its held-out −ln p(y | x_j): it has no unit.

        (Densities change with the unit of x, and cannot be compared with the masses of counts.) If no
        family does better than none, the most flexible, pooled: the column tells nothing of the class.
        Those that are left are evaluated together: families that are sharp alone may be too sure together.
        If they still are, coarse histograms are tried as well.
        """
        kinds = {j: "categories" if j in self.levels else kind_of(self.extent, j) for j in columns}
        suited = {kind: candidates(kind) for kind in dict.fromkeys(kinds.values())}
        settled = self._candidates(kinds, suited)
        excess = {key: self._excess(one, key[0]) for key, one in settled.items()}
        rows = self.evaluator.some(len(settled))
        losses, together = self._evaluated(settled, excess, self._risks(settled), rows)
        picked = self._picked(losses, together)
        if self.joint and together is not None and together.too_sure(picked):
            picked = self._coarser(picked, settled, losses, together)
        ignored = {j: settled[j, suited[kind][-1]] for j, kind in kinds.items() if j not in picked}
        chances = self._chances(ignored)
        result = []
        for j, kind in kinds.items():
            one = replace(ignored[j], pooled=True) if j in ignored else settled[j, picked[j]]
            every = losses[j] | {"pooled": self.evaluator.without}
            result.append((one, Choice(j, kind, picked.get(j, "pooled"), every, chances.get(j))))
        return result

    def _picked(
        self, losses: Mapping[int, Mapping[str, float]], together: JointScores | None
    ) -> dict[int, str]:
        """The family of each column that tells something: alone, and then beside the others."""
        telling = {
            j: {name: loss for name, loss in found.items() if loss < self.evaluator.without}
            for j, found in losses.items()
        }
        if together is None:
            return {j: min(found, key=found.__getitem__) for j, found in telling.items() if found}
        picked = together.safer(together.alone(telling), telling)
        if not self.joint:
            return picked
        told = sorted(picked, key=lambda j: losses[j][picked[j]])
        return together.improved(picked, {j: tuple(losses[j]) for j in told if len(losses[j]) > 1})

    def _coarser(
        self,
        picked: Mapping[int, str],
        settled: dict[tuple[int, str], ColumnFamily],
        losses: dict[int, dict[str, float]],
        together: JointScores,
    ) -> dict[int, str]:
        """The families, some of them coarse histograms: of many columns that share what they know of the
        class, each is to say less. Those that are picked join `settled` and `losses`."""
        bins = {j: one.bins for (j, name), one in settled.items() if name == "histogram" and j in picked}
        coarse = self._coarse({j: own for j, own in bins.items() if own is not None})
        if not coarse:
            return dict(picked)
        excess = {key: self._excess(one, key[0]) for key, one in coarse.items()}
        alone, held = self._evaluated(coarse, excess, {}, together.rows)
        assert held is not None
        every = replace(
            together,
            scores={**together.scores, **held.scores},
            excess={**together.excess, **excess},
        )
        told = sorted(alone, key=lambda j: losses[j][picked[j]])
        found = every.improved(picked, dict.fromkeys(told, (COARSE,)))
        for j in (j for j, name in found.items() if name == COARSE):
            settled[j, COARSE], losses[j][COARSE] = coarse[j, COARSE], alone[j][COARSE]
        return found

    def _coarse(self, bins: Mapping[int, Bins]) -> dict[tuple[int, str], ColumnFamily]:
        """Histograms of fewer bins than these."""
        fine = [j for j, one in bins.items() if len(one) > COARSE_BINS]
        asked = self.evaluator.asked  # enough to find a value that parts them in halves
        w = np.minimum(self.evaluator.w / self.evaluator.how.unit, MOST_WEIGHT)
        found: dict[tuple[int, str], ColumnFamily] = {}
        for block in self.evaluator.blocks(fine):
            made = edges_of_each(self._numbers(block)[asked], w, [COARSE_BINS] * len(block))
            found |= {
                (j, COARSE): ColumnFamily("histogram", bins=one)
                for j, one in zip(block, made, strict=True)
                if len(one) < len(bins[j])
            }
        return found

    def _chances(self, ignored: Mapping[int, ColumnFamily]) -> dict[int, float | None]:
        """Of columns that tell nothing: how likely their χ² is, if they truly do not."""
        found: dict[int, float | None] = {}
        for name in ("categorical", "histogram"):
            for block in self.evaluator.blocks([j for j, one in ignored.items() if one.family == name]):
                found |= zip(block, self.evaluator.chance(block, [ignored[j] for j in block]), strict=True)
        return found

    def _risks(self, settled: Mapping[tuple[int, str], ColumnFamily]) -> dict[tuple[int, str], float]:
        """What curves lose, more than tables, at values that a class has not shown yet, in nats a row.

        Of columns whose values are few. Rows left out cannot show it: none of them has such a value.
        """
        few = {
            j: one.levels
            for (j, _), one in settled.items()
            if one.levels is not None and j not in self.levels
        }
        found: dict[tuple[int, str], float] = {}
        for name in dict.fromkeys(name for j, name in settled if j in few and not is_table(name)):
            columns = [j for j, other in settled if other == name and j in few]
            for block in self.evaluator.blocks(columns):
                risks = self.evaluator.risks(
                    block, [settled[j, name] for j in block], [few[j] for j in block]
                )
                found |= {(j, name): risk for j, risk in zip(block, risks, strict=True)}
        return found

    def _evaluated(
        self,
        settled: Mapping[tuple[int, str], ColumnFamily],
        excess: Mapping[tuple[int, str], float],
        risks: Mapping[tuple[int, str], float],
        rows: NDArray[np.intp] | None,
    ) -> "tuple[dict[int, dict[str, float]], JointScores | None]":
        """The losses of candidates, by column and name; and their scores of these rows, if given."""
        evaluator = self.evaluator
        losses: dict[int, dict[str, float]] = {j: {} for j, _ in settled}
        for j, name in settled:  # in the order of the candidates
            losses[j][name] = 0.0
        kept: dict[tuple[int, str], NDArray[np.float64]] = {}
        for name in dict.fromkeys(name for _, name in settled):
            for block in evaluator.blocks([j for j, other in settled if other == name]):
                Z = evaluator.scores(block, [settled[j, name] for j in block])
                found = evaluator.mean(evaluator.losses(Z + evaluator.prior[:, :, None])).tolist()
                for i, j in enumerate(block):
                    losses[j][name] = found[i] - excess[j, name]
                    if rows is not None:
                        kept[j, name] = Z[rows, :, i]
        return losses, None if rows is None else JointScores(evaluator, rows, kept, excess, risks)

    def _excess(self, settled: ColumnFamily, j: int) -> float:
        """How much of the loss is due to the sample: d parameters cost d/2m nats, if m rows estimate them.

        All rows are more: n in the end. Of categories only those count that five rows have: how many are so
        rare that more rows bring more of them, the sample cannot say.
        """
        m, n = self.weight, self.extent.n
        if n <= m * (1 + 1e-9):
            return 0.0
        d = FAMILIES[settled.family].parameters
        if settled.bins is not None:
            d = len(settled.bins) - 1
        elif settled.levels is not None and j in self.levels:
            codes = self._numbers([j])[:, 0]
            d = max(int((np.bincount(codes[codes >= 0].astype(np.intp)) >= 5).sum()) - 1, 0)
        elif settled.levels is not None:
            d = len(settled.levels) - 1
        return (self.evaluator.K - 1) * d / 2 * (1 / m - 1 / n)
