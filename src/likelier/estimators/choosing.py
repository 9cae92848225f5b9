"""The choice of a family for each column: what its numbers allow, and which tells most of the class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Block, Chunk, Columns, Listed, Source, stratified
from likelier.data.recoded import Recoded
from likelier.engines import run
from likelier.engines.numbering import numbered
from likelier.estimators.plan import Choice, Plan, grouped
from likelier.families.base import Family
from likelier.families.named import BY_COLUMN, OF_GROUPS, Settled, Smoothing, family_of
from likelier.links import log_softmax
from likelier.model import Bayes, log_of
from likelier.states import Extent, Levels, Sample, Together
from likelier.states.bins import bins_for, edges_of

FOLDS = 5
PARAMETERS = {"gaussian": 2, "gamma": 2, "beta": 2}  # of each class; of other families that have no bins: 1
MOST_ROWS = 1 << 14  # of which families are judged, and bins made: a sample of all

# What the numbers of a column can be, and the families that could fit such, the simplest first.
CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "categories": ("categorical",),
    "truths": ("bernoulli",),
    "counts": ("poisson", "geometric", "gaussian", "histogram"),
    "shares": ("beta", "gaussian", "histogram"),
    "positive numbers": ("exponential", "gamma", "gaussian", "histogram"),
    "numbers": ("gaussian", "histogram"),
    "nothing": ("gaussian",),
}


class Asked(NamedTuple):
    """What users say of families."""

    columns: Mapping[int, str | Settled]  # "auto" for those of which nothing is said
    groups: Sequence[tuple[Sequence[int], str, Family | None]]


def asked_for(families: Any, p: int, number_of: Any) -> Asked:
    """`families`, checked: a name for all columns, or {column or columns: name or `Family`}.

    number_of: a column's number from its name or number.
    """
    if isinstance(families, str):
        _known(families, "families")
        return Asked(dict.fromkeys(range(p), families), ())
    if not isinstance(families, Mapping):
        raise ValueError(
            f"families={families!r:.80}: it is 'auto', the name of a family, or a dict "
            "{column: family, (column, column): family}"
        )
    columns: dict[int, str | Settled] = dict.fromkeys(range(p), "auto")
    groups: list[tuple[Sequence[int], str, Family | None]] = []
    named: set[int] = set()
    for key, family in families.items():
        at = number_of(list(key) if isinstance(key, tuple) else key).tolist()
        if not at:
            raise ValueError(f"families: {key!r} names no column")
        if named.intersection(at):
            raise ValueError(f"families: a column of {key!r} has two families")
        named.update(at)
        name = family.family if isinstance(family, Settled) else family
        if hasattr(family, "stats") and hasattr(family, "estimate") and not isinstance(family, type):
            groups.append((at, type(family).__name__, family))
        elif isinstance(key, tuple) and isinstance(name, str) and name in OF_GROUPS:
            groups.append((at, name, None))
        else:
            _known(name, f"families[{key!r}]")
            columns.update(dict.fromkeys(at, family))
            continue
        for j in at:
            del columns[j]
    return Asked(columns, groups)


def _known(name: Any, where: str) -> None:
    if isinstance(name, str) and (name == "auto" or name in BY_COLUMN):
        return
    if isinstance(name, str) and name in OF_GROUPS:
        raise ValueError(f"{where}: {name!r} is for several columns: {{(column, column): {name!r}}}")
    known = f"{', '.join(['auto', *BY_COLUMN])}; of several columns together: {', '.join(OF_GROUPS)}"
    raise ValueError(f"{where}: there is no family {name!r:.80}; there are: {known}")


def plan_of(source: Source, classes: NDArray[Any], asked: Asked, how: Smoothing) -> Plan:
    """The families of all columns, from one pass over the rows: what they can be, levels, and a sample."""
    as_categories = frozenset(j for j, name in asked.columns.items() if name == "categorical")
    rows = Recoded(source, as_categories).coded(classes)
    starts = (partial(Extent.start, source.p), Levels, partial(Sample, MOST_ROWS))
    extent, levels, sample = run(numbered(rows), partial(Together.start, starts)).states
    some = sample.rows()
    if some is None:
        return Plan(grouped({j: Settled("gaussian") for j in asked.columns}, asked.groups))
    some = some._replace(X=_levelled(some.X, levels.levels))
    judge = Judge(some, len(classes), how, extent.n)
    for group, kind, _ in asked.groups:
        for j in levels.levels.keys() & set(group):
            raise _no_categories(source, j, kind)
    settled: dict[int, Settled] = {}
    choices = []
    for j, family in asked.columns.items():
        known = levels.levels.get(j)
        if isinstance(family, Settled):
            settled[j] = family
        elif family == "auto":
            kind = kind_of(extent, j) if known is None else "categories"
            settled[j], choice = judge.choice(j, kind, known)
            choices.append(choice)
        elif known is not None and family != "categorical":
            raise _no_categories(source, j, family)
        else:
            settled[j] = judge.settled(family, j, known)
    return Plan(grouped(settled, asked.groups), tuple(choices))


def _no_categories(source: Source, j: int, family: str) -> ValueError:
    name = j if source.names is None else repr(str(source.names[j]))
    return ValueError(f"families: column {name} holds categories, and cannot be {family}")


def _levelled(X: Block, levels: Mapping[int, NDArray[Any]]) -> Block:
    return X.coded(levels) if isinstance(X, Columns) else X


def kind_of(extent: Extent, j: int) -> str:
    """What the numbers of column j are."""
    low, high, whole = extent.low[j], extent.high[j], extent.whole[j]
    if low > high:
        return "nothing"
    if whole and low >= 0:
        return "truths" if high <= 1 else "counts"
    if low > 0:
        return "shares" if high < 1 else "positive numbers"
    return "numbers"


def content_keys(rows: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A number for each row, from all its cells: multiplied and folded, so that like ones lie apart."""
    found = np.zeros(len(rows), dtype=np.uint64)
    for cells in rows.view(np.uint64).T:
        found = (found ^ cells) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(32)
    return found


@dataclass(frozen=True)
class Judge:
    """Rows by which families are judged, one column at a time."""

    rows: Chunk
    K: int
    how: Smoothing
    n: float  # the weight of all rows, of which these are a sample

    @property
    def weight(self) -> float:
        """Of the sample."""
        return float(self.rows.X.shape[0] if self.rows.w is None else self.rows.w.sum())

    @cached_property
    def folds(self) -> Listed:
        """Rows that are the same are in one fold, as if they were one of more weight.

        Which fold it is, what a row holds decides: in another order, the rows are judged alike.
        """
        y = np.asarray(self.rows.y)
        cells = np.column_stack([self.rows.X.to_array() + 0.0, y])  # + 0: there is one zero
        codes, first = _core.code_bytes(np.ascontiguousarray(cells).view(np.uint8))
        order = np.argsort(content_keys(cells[first]), kind="stable")
        numbers = np.empty_like(codes)
        numbers[order] = stratified(y[first][order], FOLDS).numbers
        return Listed(numbers[codes], FOLDS)

    @cached_property
    def without(self) -> float:
        """The loss of the priors alone."""
        return self._loss(Settled("gaussian", pooled=True), 0)

    def settled(self, name: str, j: int, levels: NDArray[Any] | None) -> Settled:
        """With levels or bins, if it needs any."""
        if name != "histogram":
            return Settled(name, levels)
        x = self.rows.X.select(np.array([j])).to_array()[:, 0]
        w = np.ones(len(x)) if self.rows.w is None else self.rows.w
        bins = bins_for(w[~np.isnan(x)].sum() * self.n / self.weight)  # as many as all rows can fill
        return Settled(name, bins=edges_of(x, self.rows.w, bins))

    def choice(self, j: int, kind: str, levels: NDArray[Any] | None) -> tuple[Settled, Choice]:
        """The family whose held-out −ln p(y | x_j) is the least: it has no unit, as likelihood has.

        (Densities change with the unit of x, and cannot be compared with the masses of counts.) If no
        family does better than none, the most flexible, pooled: the column tells nothing of the class.
        """
        settled = {name: self.settled(name, j, levels) for name in CANDIDATES[kind] if name in BY_COLUMN}
        losses = {name: self._loss(one, j) - self._excess(one, j) for name, one in settled.items()}
        settled["pooled"] = replace(settled[CANDIDATES[kind][-1]], pooled=True)
        losses["pooled"] = self.without
        picked = min(losses, key=losses.__getitem__)
        return settled[picked], Choice(j, kind, picked, losses)

    def _excess(self, settled: Settled, j: int) -> float:
        """How much of the loss is due to the sample: d parameters cost d/2m nats, if m rows estimate them.

        All rows are more: m is what the folds leave, and n in the end. Of categories only those count that
        five rows have: how many are so rare that more rows bring more of them, the sample cannot say.
        """
        if self.n <= self.weight * (1 + 1e-9):
            return 0.0
        d = PARAMETERS.get(settled.family, 1)
        if settled.bins is not None:
            d = len(settled.bins) - 1
        elif settled.levels is not None:
            codes = self.rows.X.select(np.array([j])).to_array()[:, 0]
            d = max(int((np.bincount(codes[codes >= 0].astype(np.intp)) >= 5).sum()) - 1, 0)
        m = self.weight * (1 - 1 / FOLDS)
        return (self.K - 1) * d / 2 * (1 / m - 1 / self.n)

    def _loss(self, settled: Settled, j: int) -> float:
        """Of the rows of each fold, by the other folds."""
        family = family_of(settled.family, [settled], self.how)
        rows = self.rows._replace(X=self.rows.X.select(np.array([j])))
        parts = [rows.take(np.flatnonzero(self.folds.numbers == fold)) for fold in range(FOLDS)]
        counted = [family.stats(self.K, 1) for _ in parts]
        for state, part in zip(counted, parts, strict=True):
            state.update(part)
        loss = weight = 0.0
        for fold, test in enumerate(parts):
            stats: Any = family.stats(self.K, 1)
            for other in (*counted[:fold], *counted[fold + 1 :]):
                stats.merge(other)
            n = stats.n
            if test.X.shape[0] == 0 or not n.any():
                continue
            # A class that the other folds lack: as if it had a row among them.
            prior = np.maximum(n, 1.0)
            model = Bayes(family.estimate(stats), log_of(prior / prior.sum()))
            Z = np.empty((test.X.shape[0], self.K))
            model.posterior.write(test, Z)
            log_softmax.apply(Z, Z)
            w = np.ones(len(Z)) if test.w is None else test.w
            loss -= float(w @ Z[np.arange(len(Z)), np.asarray(test.y)])
            weight += float(w.sum())
        return loss / weight if weight else 0.0  # one row alone: nothing to judge by
