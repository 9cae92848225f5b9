"""What must be known of a table before it becomes a design matrix: means, levels and missing cells."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data import Chunk, Columns, Factor, levels_of
from likelier.data.design import CategoryTerm, Design, LeftOut, NumberTerm, Term, as_columns, gap_name
from likelier.data.documents import WordsTerm, learned_words
from likelier.data.table_columns import CODED, TableColumn, of_strings
from likelier.states.moments import ColumnMoments


@dataclass(frozen=True)
class DesignSettings:
    """How columns become those of a design matrix: the hyper-parameters of `DesignMatrix`."""

    drop: Literal["first"] | None = None
    min_count: float = 1
    standardize: bool = False
    parts: tuple[str, ...] | tuple[tuple[str, tuple[str, ...]], ...] = ()
    missing: Literal["indicator", "keep"] = "indicator"
    sparse: bool | None = None  # None: as is smaller
    text: tuple[str, ...] = ()  # columns whose words are counted

    def parts_of(self, name: str) -> tuple[str, ...]:
        """The parts of the dates in a column."""
        return dict(self.parts).get(name, ()) if self.by_column else self.parts  # type: ignore[arg-type,return-value]

    @property
    def by_column(self) -> bool:
        """Whether parts are named for each column."""
        return bool(self.parts) and not isinstance(self.parts[0], str)


@dataclass
class LevelCounts:
    """The levels of a column of categories, sorted, and the weight of the rows of each."""

    levels: NDArray[Any]
    n: Floats  # (L + 1,), the last: rows where it is missing

    @classmethod
    def of(cls, factor: Factor, w: Floats | None) -> Self:
        L = len(factor.levels)
        counts = np.bincount(factor.codes + 1, w, L + 2)[: L + 1].astype(np.float64)
        return cls(factor.levels, np.append(counts[1:], counts[0]))

    @classmethod
    def of_words(cls, factor: Factor, w: Floats | None) -> Self:
        """The words of texts, and the weight of the rows whose text has each."""
        texts = cls.of(factor, w)
        X, words = learned_words([str(level) for level in texts.levels])
        n = np.bincount(X.columns, np.repeat(texts.n[:-1], np.diff(X.starts)), len(words))
        return cls(np.array(words, dtype=object), np.append(n, texts.n[-1]))

    def merge(self, other: Self) -> None:
        if self.levels is other.levels or np.array_equal(self.levels, other.levels):
            self.n = self.n + other.n
            return
        levels = levels_of(np.concatenate([self.levels, other.levels]))
        place = {level: i for i, level in enumerate(levels)}
        total = np.zeros(len(levels) + 1)
        for one in (self, other):
            total[[*(place[level] for level in one.levels), -1]] += one.n
        self.levels, self.n = levels, total


@dataclass
class DesignSurvey:
    """Weight, mean and scatter of columns of numbers, levels of those of categories, words of texts.

    table: what the columns are. The state absorbs chunks of the table; what is computed of a column (parts
    of dates, ranks of ordered categories) is what it counts.
    """

    table: tuple[TableColumn, ...]
    moments: ColumnMoments
    levels: dict[int, LevelCounts] = field(default_factory=dict)

    @classmethod
    def start(cls, table: Sequence[TableColumn]) -> Self:
        columns = sum(len(c.derived_names) for c in table if c.kind not in CODED)
        return cls(tuple(table), ColumnMoments.start(1, columns))

    @property
    def nbytes(self) -> int:
        return self.moments.nbytes + sum(one.n.nbytes for one in self.levels.values())

    @property
    def n(self) -> float:
        """The weight of the rows."""
        return float(self.moments.n[0])

    def update(self, chunk: Chunk) -> None:
        X, n = as_columns(chunk.X), chunk.X.shape[0]
        w = None if chunk.w is None else np.ascontiguousarray(chunk.w, dtype=np.float64)
        numbers: list[Any] = []
        for j, (column, values) in enumerate(zip(self.table, X.arrays, strict=True)):
            if column.kind in CODED:
                count = LevelCounts.of_words if column.kind == "text" else LevelCounts.of
                self._count(j, count(_factor(column.name, values), w))
            else:
                numbers += [_number(column.name, each) for each in column.derived(values)]
        labels = np.zeros(n, dtype=np.int32)
        if numbers:
            self.moments.update(chunk._replace(X=Columns(tuple(numbers)), y=labels, w=w))
        else:
            self.moments.n = self.moments.n + (float(n) if w is None else w.sum())

    def _count(self, j: int, new: LevelCounts) -> None:
        if j in self.levels:
            self.levels[j].merge(new)
        else:
            self.levels[j] = new

    def merge(self, other: Self) -> None:
        if not self.mergeable(other):
            raise ValueError(self.unlike(other))
        self.moments.merge(other.moments)
        for j, theirs in other.levels.items():
            self._count(j, LevelCounts(theirs.levels, theirs.n))

    def mergeable(self, other: Any) -> bool:
        """Whether `other` surveys the same columns."""
        return isinstance(other, DesignSurvey) and self.table == other.table

    def unlike(self, other: Self) -> str:
        """What differs between two surveys."""
        pairs = zip(self.table, other.table, strict=False)
        different = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if different is None:
            return f"one table has {len(self.table)} columns, the other {len(other.table)}."
        ours, theirs = different
        if ours.name != theirs.name:
            return f"one table has a column {ours.name!r} where the other has {theirs.name!r}."
        return f"column {ours.name!r} differs: {_said(ours)} in one table, {_said(theirs)} in the other."

    # ---- the design ------------------------------------------------------------------------------
    def design(self, settings: DesignSettings) -> Design:
        """The design that these rows and the settings make."""
        terms: list[Term] = []
        at, total = 0, self.n
        for j, column in enumerate(self.table):
            if column.kind == "text":
                terms.append(_text(column.name, self.levels.get(j), total, settings))
                continue
            if column.kind == "category":
                terms.append(_category(column.name, self.levels.get(j), settings))
                continue
            for i, name in enumerate(column.derived_names):
                seen, mean, S = (float(a[0, at]) for a in _columns(self.moments))
                gaps = gap_name(column.name) if i == 0 and total - seen > 1e-12 * total else ""
                terms.append(_number_term(name, gaps, (seen, mean, S), settings))
                at += 1
        design = Design(self.table, tuple(terms), bool(settings.sparse))
        if settings.sparse is None and 12 * self._stored(design) + 4 < 8 * design.p:
            design = replace(design, sparse=True)
        return design

    def _stored(self, design: Design) -> float:
        """How many cells of a row are stored if zeros are not: every number, and the indicators met."""
        gone = self.n - self.moments.seen[0]
        stored, at = 0.0, 0
        for j, (column, terms) in enumerate(zip(self.table, design.by_column, strict=True)):
            for term in terms:
                if isinstance(term, CategoryTerm):
                    stored += _indicated(term, self.levels[j].n) / self.n
                elif isinstance(term, WordsTerm):
                    stored += float(self.levels[j].n[:-1].sum()) / self.n
                elif isinstance(term, NumberTerm):
                    stored += 1 + (float(gone[at]) / self.n if term.gaps else 0.0)
                at += column.kind not in CODED
        return stored


def _indicated(term: CategoryTerm, n: Floats) -> float:
    """The weight of rows with an indicator; n: of the levels that were met, and of missing cells."""
    levels = n[:-1][n[:-1] > 0]
    return float(levels[term.places >= 0].sum() + (n[-1] if term.missing >= 0 else 0.0))


def _columns(moments: ColumnMoments) -> tuple[Floats, Floats, Floats]:
    return moments.seen, moments.mean, moments.S


def _said(column: TableColumn) -> str:
    zone = f" in zone {column.zone}" if column.zone else ""
    order = f" from {column.order[0]!r} to {column.order[-1]!r}" if column.order else ""
    return f"{column.kind}{zone}{order}"


def _factor(name: str, values: Any) -> Factor:
    """A column of categories."""
    return of_strings(
        values,
        lambda x: (
            f"Input X has numbers and strings in column {name!r}, such as {x:g}: make all of its "
            "values strings."
        ),
    )


def _number(name: str, values: Any) -> Any:
    if not isinstance(values, Factor):
        return values
    used = values.used()
    if len(used):
        raise ValueError(
            f"Input X has numbers and strings in column {name!r}, such as {used[0]!r}: make all of its "
            "values numbers, or all of them strings."
        )
    return np.full(len(values), np.nan)


def _number_term(
    name: str, gaps: str, found: tuple[float, float, float], settings: DesignSettings
) -> NumberTerm | LeftOut:
    seen, mean, S = found
    if seen <= 0:
        return LeftOut(name)
    shift, scale = 0.0, 1.0
    if settings.standardize:
        deviation = float(np.sqrt(S / seen))
        shift = mean
        # As scikit-learn's StandardScaler has it: what varies by rounding alone is constant.
        tiny = 10 * np.finfo(np.float64).eps * abs(mean)
        scale = deviation if deviation > tiny else 1.0
    if settings.missing == "keep":
        return NumberTerm(name, shift, scale, float("nan"))
    return NumberTerm(name, shift, scale, (mean - shift) / scale, gaps)


def _category(name: str, found: LevelCounts | None, settings: DesignSettings) -> CategoryTerm | LeftOut:
    """Levels that some row has, in order; rare ones share a column, the last one is for missing cells."""
    if found is None or not (found.n[:-1] > 0).any():
        return LeftOut(name)
    some = found.n[:-1] > 0
    levels, n, gone = found.levels[some], found.n[:-1][some], float(found.n[-1])
    rare = n < settings.min_count
    if rare.sum() == 0:
        rare[:] = False
    places = np.full(len(levels), -1, dtype=np.int32)
    own = np.flatnonzero(~rare)
    kept = own[1:] if settings.drop == "first" and len(own) else own
    places[kept] = np.arange(len(kept))
    labels = [f"={level}" for level in levels[kept]]
    pooled = missing = -1
    if rare.any():
        pooled = len(labels)
        labels.append(" is rare")
        places[rare] = pooled
    if gone > 0:
        missing = len(labels)
        labels.append(" is missing")
    return CategoryTerm(name, levels, places, pooled, missing, tuple(labels))


def _text(
    name: str, found: LevelCounts | None, rows: float, settings: DesignSettings
) -> WordsTerm | LeftOut:
    """The words that enough rows have, with idf = 1 + ln (1 + n) / (1 + n_j): n_j of n rows have word j."""
    if found is None:
        return LeftOut(name)
    n = found.n[:-1]
    known = (n > 0) & (n >= settings.min_count)
    if not known.any():
        return LeftOut(name)
    return WordsTerm(name, found.levels[known], 1 + np.log((1 + rows) / (1 + n[known])))


def declared(table: Sequence[TableColumn], settings: DesignSettings) -> tuple[TableColumn, ...]:
    """The columns as the settings have them: which are text, and the parts of dates."""
    return tuple(_declared(column, settings) for column in table)


def _declared(column: TableColumn, settings: DesignSettings) -> TableColumn:
    if column.name in settings.text:
        if column.kind not in (*CODED, "ordered"):
            raise ValueError(
                f"text: column {column.name!r} holds {column.kind}s, not strings. Leave it out of text."
            )
        return TableColumn(column.name, "text")
    if column.kind == "date":
        return replace(column, parts=settings.parts_of(column.name))
    return column
