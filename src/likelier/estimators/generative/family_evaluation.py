"""How well families predict the classes of rows that they were not fitted to, alone and together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from likelier.array_types import Floats
from likelier.data import Chunk, Columns, Factor
from likelier.data.labels import numbers_among
from likelier.data.transforms import block_in_units, magnitudes
from likelier.data.transforms import needed as needed_units
from likelier.families.categorical import Categorical, Histogram
from likelier.families.leave_one_out import Rows, each_left_out
from likelier.families.registry import ColumnFamily, Smoothing, is_table, named_family

AT_ONCE = 1 << 20  # scores that are computed together: they stay in the cache
MOST_ASKED = 1 << 12  # rows whose classes are told, by the statistics of all
MOST_SCORES = 1 << 21  # rows times classes: of more than 512 classes fewer rows are asked
MOST_KEPT = 1 << 23  # scores that are kept, to be added up in many ways: 64 MB
FREQUENT = 5.0  # rows that a level or a bin must have of each class for a χ² test
FEWEST = 256  # rows by which columns are evaluated together; if not so many can be kept, they are not
LESS = 0.5  # of what columns say of the class
# By how many standard errors a family must do better, together with all other columns, than another.
SURE = 1.0
DARING = 1.5  # if it is a curve, and the other a table
SAFE = 0.5  # if it is a table, and the other a curve


@dataclass(frozen=True)
class FamilyEvaluator:
    """Rows by which families are evaluated: each by the statistics of all others.

    Nothing but the rows decides: neither their order, nor how a column stands among others. A row of
    weight 2 is there twice, and one of the two is left out.
    """

    rows: Chunk
    K: int
    how: Smoothing
    keys: NDArray[np.uint64]  # hashes of the rows' numbers

    @cached_property
    def asked(self) -> Any:
        """The rows whose classes are to be told; if there are many, those with the least hashes."""
        most = max(FEWEST, min(MOST_ASKED, MOST_SCORES // self.K))
        if len(self.keys) <= most:
            return slice(None)
        return np.sort(np.argsort(self.keys, kind="stable")[:most])

    @cached_property
    def every(self) -> Floats:
        """The weights of all rows."""
        n = self.rows.X.shape[0]
        return np.ones(n) if self.rows.w is None else np.asarray(self.rows.w, dtype=np.float64)

    @cached_property
    def y(self) -> NDArray[np.intp]:
        """The classes to be told."""
        return np.asarray(np.asarray(self.rows.y, dtype=np.intp)[self.asked])

    @cached_property
    def w(self) -> Floats:
        """The weights of the rows that are asked."""
        return np.asarray(self.every[self.asked])

    @cached_property
    def prior(self) -> Floats:
        """ln p(C_k), (n, K), by the other rows. A class that is not among them: as if it had this row."""
        n = np.bincount(np.asarray(self.rows.y, dtype=np.intp), self.every, self.K)
        out, own = np.minimum(self.w, 1.0), (np.arange(len(self.y)), self.y)
        rest = n[self.y] - out
        left = np.where(rest > 1e-9 * out, rest, out)
        with np.errstate(divide="ignore"):
            logs = np.log(n) - np.log(n.sum() - n[self.y] + left)[:, None]
            logs[own] += np.log(left / n[self.y])
        return np.asarray(logs)

    @cached_property
    def without(self) -> float:
        """The loss of the priors alone."""
        return float(self.mean(self.losses(self.prior)))

    def losses(self, Z: Floats, rows: Any = slice(None)) -> Floats:
        """−ln p(C_y | x) from joint scores (n, K, …) of these rows: (n, …)."""
        top = Z.max(axis=1, keepdims=True)
        total = np.log(np.exp(Z - top).sum(axis=1)) + top[:, 0]
        return np.asarray(total - Z[np.arange(len(Z)), self.y[rows]])

    def mean(self, losses: Floats) -> Any:
        """Of all rows, by their weights."""
        return self.w @ losses / self.w.sum()

    def scores(self, columns: Sequence[int], settled: Sequence[ColumnFamily]) -> Floats:
        """ln p(x_j | C_k) (n, K, q) by one family, but for what all classes share."""
        rows = self.rows._replace(X=self._cells(columns, settled))
        family: Any = named_family(settled[0].family, settled, self.how)
        stats: Any = family.stats(self.K, len(columns))
        stats.update(rows)
        asked = rows if isinstance(self.asked, slice) else rows.take(self.asked)
        found = each_left_out(family, stats, Rows(asked.X, self.y, np.minimum(self.w, 1.0)))
        assert found is not None  # families of a column each
        return found

    def risks(
        self, columns: Sequence[int], settled: Sequence[ColumnFamily], values: Sequence[NDArray[Any]]
    ) -> list[float]:
        """What a family loses, more than a table, at values (q of them) that a class has not shown yet.

        A class of N rows shows such a value next with probability 1/(N + 1), by the rule of succession;
        which one, as often as it is met in other classes. What is lost is how much likelier the value is
        in the likeliest class.
        """
        X = self._cells(columns, settled)
        family: Any = named_family(settled[0].family, settled, self.how)
        stats = family.stats(self.K, len(columns))
        stats.update(self.rows._replace(X=X))
        cells = np.full((max(map(len, values)), len(columns)), np.nan)
        for i, some in enumerate(values):
            cells[: len(some), i] = some.astype(np.float64)
        Z: Floats = family.estimate(stats).parts(cells)  # (V, K, q)
        cells_of, y = X.to_array(), np.asarray(self.rows.y, dtype=np.intp)
        return [
            _risk(_crossed(cells_of[:, i], some, y, self.every, self.K), Z[: len(some), :, i])
            for i, some in enumerate(values)
        ]

    def _cells(self, columns: Sequence[int], settled: Sequence[ColumnFamily]) -> Any:
        """The cells of these columns, numbers as codes where they are categories."""
        X: Any = self.rows.X.select(np.array(columns, dtype=np.intp))
        if settled[0].family == "gaussian":  # squares are numbers; what a unit adds, classes share
            units = needed_units(magnitudes(X), together=False)
            return X if units is None else block_in_units(X, units)
        if settled[0].levels is None:
            return X
        arrays = X.arrays if isinstance(X, Columns) else X.to_array().T
        return Columns(tuple(_coded(x, one.levels) for x, one in zip(arrays, settled, strict=True)))

    def chance(self, columns: Sequence[int], settled: Sequence[ColumnFamily]) -> list[float | None]:
        """Of the χ² of each column's levels or bins and the classes, if these have nothing to do with it.

        Levels that are rare are taken together, and classes that are rare are left out. None: too few rows.
        """
        family: Any = named_family(settled[0].family, settled, self.how)
        if not isinstance(family, Categorical | Histogram):
            return [None] * len(columns)
        stats: Any = family.stats(self.K, len(columns))
        stats.update(self.rows._replace(X=self._cells(columns, settled)))
        found = stats.counts if isinstance(family, Histogram) else stats
        return [_chance(table) for table in np.split(found.counts, np.cumsum(found.sizes)[:-1])]

    def blocks(self, columns: Sequence[int]) -> Iterator[Sequence[int]]:
        """Columns, as many at once as fit."""
        step = max(1, AT_ONCE // (len(self.y) * self.K))
        return (columns[i : i + step] for i in range(0, len(columns), step))

    def some(self, candidates: int) -> NDArray[np.intp] | None:
        """Rows by which this many candidates are evaluated together; None: there is no room for enough."""
        n, room = len(self.y), MOST_KEPT // (self.K * max(candidates, 1))
        if room < min(n, FEWEST):
            return None
        keys = self.keys[self.asked]
        return np.arange(n) if room >= n else np.sort(np.argsort(keys, kind="stable")[:room])


def _crossed(x: Floats, values: NDArray[Any], y: NDArray[np.intp], w: Floats, K: int) -> Floats:
    """How often each class has each of these values, (V, K)."""
    there = ~np.isnan(x)
    at = np.searchsorted(values.astype(np.float64), x[there])
    cells = np.minimum(at, len(values) - 1) * K + y[there]
    found = np.bincount(cells, w[there], len(values) * K).astype(np.float64)
    return found.reshape(len(values), K)


def _risk(N: Floats, Z: Floats) -> float:
    """From counts and scores of values by class, (V, K) both."""
    n, every = N.sum(axis=0), N.sum(axis=1)
    new = np.where((N == 0) & (n > 0), every[:, None], 0.0)  # as often as others have it
    share = new / np.maximum(new.sum(axis=0), np.finfo(np.float64).tiny)
    tables = np.log((N + 1) / (n + len(N)))
    lost, allowed = (S.max(axis=1, keepdims=True) - S for S in (Z, tables))
    each = (share * np.maximum(lost - allowed, 0.0)).sum(axis=0) / (n + 1)
    return float(n @ each / max(n.sum(), np.finfo(np.float64).tiny))


def _chance(N: Floats) -> float | None:
    """How likely a table (B, K) of independent rows and columns is to have a χ² as large (Pearson 1900)."""
    N = N[:, N.sum(axis=0) >= FREQUENT]
    least = FREQUENT * N.shape[1]
    rare = N.sum(axis=1) < least
    N = np.vstack([N[~rare], N[rare].sum(axis=0)])
    N = N[N.sum(axis=1) >= least]
    if min(N.shape) < 2:
        return None
    expected = N.sum(axis=1, keepdims=True) * (N.sum(axis=0) / N.sum())
    chi2 = float(((N - expected) ** 2 / np.where(expected > 0, expected, 1.0)).sum())
    return float(chdtrc((N.shape[0] - 1) * (N.shape[1] - 1), chi2))


def _coded(x: Any, levels: Any) -> Factor:
    if isinstance(x, Factor):
        return x
    found = numbers_among(x, levels)
    assert found is not None  # these levels were made of numbers
    return found


@dataclass
class JointScores:
    """Scores of candidates, those of a column in one sum with those of all others."""

    evaluator: FamilyEvaluator
    rows: NDArray[np.intp]
    scores: Mapping[tuple[int, str], Floats]  # (rows, K), by column and family
    excess: Mapping[tuple[int, str], float]  # how much of the loss is due to the sample
    risks: Mapping[tuple[int, str], float]  # how much more there will be than rows left out have shown

    @cached_property
    def _tables(self) -> set[str]:
        """The families whose scores are those of a table."""
        return {name for name in dict.fromkeys(name for _, name in self.scores) if is_table(name)}

    def improved(self, picked: Mapping[int, str], names: Mapping[int, Sequence[str]]) -> dict[int, str]:
        """Families that tell more together, from those that tell most alone; of columns that have others.

        Begun with all columns alike if that is better; then column by column, those first that `names` has
        first, until none is better by `SURE` standard errors.
        """
        best, held = dict(picked), self._losses(picked)
        for family in dict.fromkeys(name for column in names.values() for name in column):
            alike = {j: family if family in names.get(j, ()) else name for j, name in picked.items()}
            found = self._losses(alike)
            difference = found - held + self._excess(alike) - self._excess(best)
            if self._better(difference, SAFE if family in self._tables else DARING):
                best, held = alike, found
        S = self._sum(best)
        held = self.evaluator.losses(S, self.rows)
        for _ in range(3):
            before = dict(best)
            for j, candidates in names.items():
                held = self._exchange(S, held, best, j, candidates)
            if before == best:
                break
        return best

    def too_sure(self, picked: Mapping[int, str]) -> bool:
        """Whether these families together would lose less if they said half as much.

        What is due to the sample, all rows will not lose.
        """
        prior, S = self.evaluator.prior[self.rows], self._sum(picked)
        shy = self.evaluator.losses(prior + LESS * (S - prior), self.rows)
        held = self.evaluator.losses(S, self.rows) + self._excess(picked)
        return bool(self._better(shy - held, SURE))

    def alone(self, losses: Mapping[int, Mapping[str, float]]) -> dict[int, str]:
        """The families that tell most alone, of columns that have any."""
        return {
            j: min(found, key=lambda name: found[name] + self.risks.get((j, name), 0.0))
            for j, found in losses.items()
            if found
        }

    def safer(self, alone: Mapping[int, str], losses: Mapping[int, Mapping[str, float]]) -> dict[int, str]:
        """The families that tell most alone; a table, if one tells nearly as much."""
        tables = {
            j: min(some, key=losses[j].__getitem__)
            for j, best in alone.items()
            if best not in self._tables and (some := [name for name in losses[j] if name in self._tables])
        }
        found = dict(alone)
        for block in self.evaluator.blocks(list(tables)):
            curves, others = (self._losses_alone(block, names) for names in (alone, tables))
            risks = np.array([self.risks.get((j, alone[j]), 0.0) for j in block])
            better = self._better(curves - others + risks, SURE)
            found |= {j: tables[j] for j, sure in zip(block, better.tolist(), strict=True) if not sure}
        return found

    def _losses_alone(self, columns: Sequence[int], names: Mapping[int, str]) -> Floats:
        """Of each of these columns by itself, (rows, q)."""
        Z = np.stack([self.scores[j, names[j]] for j in columns], axis=2)
        return self.evaluator.losses(Z + self.evaluator.prior[self.rows][:, :, None], self.rows)

    def _exchange(
        self, S: Floats, held: Floats, best: dict[int, str], j: int, candidates: Sequence[str]
    ) -> Floats:
        """The family of column j, given those of all others; `held`, the losses of S, as they then are."""
        name = best[j]
        rest = S - self.scores[j, name]
        gains = {
            other: self.evaluator.losses(rest + self.scores[j, other], self.rows)
            - held
            + (self._more(j, other) - self._more(j, name))
            for other in candidates
            if other != name
        }
        sure = [other for other, gain in gains.items() if self._better(gain, self._needed(name, other))]
        if not sure:
            return held
        best[j] = min(sure, key=lambda other: float(self._w @ gains[other]))
        S += self.scores[j, best[j]] - self.scores[j, name]
        return self.evaluator.losses(S, self.rows)

    def _needed(self, held: str, other: str) -> float:
        """By how many standard errors another family must be better than the one that is held.

        A curve may be sure, far from all rows, of what no row has shown; a table is not.
        """
        if (held in self._tables) == (other in self._tables):
            return SURE
        return SAFE if other in self._tables else DARING

    def _better(self, difference: Floats, errors: float) -> Any:
        """Whether losses (rows, …) differ for the better, by so many standard errors."""
        w = self._w
        mean = w @ difference / w.sum()
        variance = w @ (difference - mean) ** 2 / w.sum()
        return (mean < 0) & (mean * mean * w.sum() > errors * errors * variance)

    @cached_property
    def _w(self) -> Floats:
        return self.evaluator.w[self.rows]

    def _sum(self, picked: Mapping[int, str]) -> Floats:
        S = self.evaluator.prior[self.rows].copy()
        for j, name in picked.items():
            S += self.scores[j, name]
        return S

    def _losses(self, picked: Mapping[int, str]) -> Floats:
        return self.evaluator.losses(self._sum(picked), self.rows)

    def _excess(self, picked: Mapping[int, str]) -> float:
        return sum(self._more(j, name) for j, name in picked.items())

    def _more(self, j: int, name: str) -> float:
        """By how much the loss will be more than that of rows left out."""
        return self.risks.get((j, name), 0.0) - self.excess[j, name]
