"""The rows of files through a fitted model, in order, on all cores: `likelier predict`."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from queue import Full, Queue
from threading import Event
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likelier.cli.arguments import check_columns, say
from likelier.cli.predict_output import Evaluator, LabelEvaluator, Output, ValueEvaluator, written
from likelier.data import CSR, BadCell, Chunk, Columns, Part, frames
from likelier.data.design import Designed
from likelier.data.files.columns import days
from likelier.data.files.scan import Batches, Scan, find, names_in, scan
from likelier.data.files.svmlight import TARGET, KeyedRows, SparseScan
from likelier.display import counted
from likelier.estimators.online.classifier import OnlineClassifier
from likelier.estimators.online.rows import worded
from likelier.estimators.predictions import ClassCodes, class_predictions, decided, probable, takes_blocks
from likelier.estimators.sources import as_fitted, as_learned, completed, integrates, usable
from likelier.estimators.tables import known_source
from likelier.evaluation import (
    Evaluation,
)
from likelier.streams.formats import FORMATS
from likelier.threads import cores

# Work on many parts at once, whose results come in the order of the parts.

HELD = 64  # results of a part that wait until the parts before it are done with
PATIENCE = 0.1  # seconds, after which whoever waits looks whether all has ended


class _PartEnd(NamedTuple):
    """No more comes of a part; or it failed."""

    problem: BaseException | None = None


def in_order(parts: Sequence[Callable[[], Iterable[Any]]], count: int) -> Generator[Any, None, None]:
    """What the parts yield, one part after another, each run by one of `count` threads.

    So many parts and one more are begun and not yet over, of each of which some results wait at most. If
    whoever takes them stops, all ends with what it is at.
    """
    ended = Event()
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[Queue[Any]] = deque()
        left = iter(parts)
        try:
            while True:
                while len(waiting) <= count and (part := next(left, None)) is not None:
                    waiting.append(Queue(HELD))
                    pool.submit(_work, part, waiting[-1], ended)
                if not waiting:
                    return
                yield from _taken(waiting[0])
                waiting.popleft()
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)


def _work(part: Callable[[], Iterable[Any]], out: "Queue[Any]", ended: Event) -> None:
    last = _PartEnd()
    try:
        for item in part():
            if not _handed(item, out, ended):
                return
    except BaseException as problem:
        last = _PartEnd(problem)
    _handed(last, out, ended)


def _handed(item: Any, out: "Queue[Any]", ended: Event) -> bool:
    """Whether anybody still wants it."""
    while not ended.is_set():
        try:
            out.put(item, timeout=PATIENCE)
        except Full:
            continue
        return True
    return False


def _taken(out: "Queue[Any]") -> Iterator[Any]:
    while not isinstance(item := out.get(), _PartEnd):
        yield item
    if item.problem is not None:
        raise item.problem


# Sparse rows of files to be answered: batches as those of a table, with a label and no names.


class SparseBatch(NamedTuple):
    """A chunk, asked as a record batch is."""

    chunk: Chunk
    words: bool

    @property
    def num_rows(self) -> int:
        return int(self.chunk.X.shape[0])

    def select(self, names: Sequence[str]) -> Any:
        """X, whole."""
        return self.chunk.X

    def column(self, name: str) -> Any:
        """The labels, null where a line has none."""
        assert name == TARGET
        labels = pa.array(self.chunk.y, from_pandas=True)
        if not self.words:
            return labels
        return pa.array([None if y is None else f"{y:.15g}" for y in labels.to_pylist()], pa.string())


class SparseRows(NamedTuple):
    """Rows with all columns that a model knows; words: its labels are, as those of a stream."""

    source: SparseScan
    words: bool = False
    names: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return self.source.rows

    def batches(
        self, others: Sequence[str], verbatim: Sequence[str]
    ) -> Sequence[Callable[[], Iterator[tuple[int, SparseBatch]]]]:
        """Parts as batches, with the number of each one's first row."""
        return [partial(_batches, part, self.words) for part in self.source.partly().parts(0)]

    def place(self, row: int) -> str:
        return self.source.place(row)


def _batches(part: Part, words: bool) -> Iterator[tuple[int, SparseBatch]]:
    for chunk in part():
        yield chunk.first, SparseBatch(chunk, words)


# What a model answers to the rows of files.


class Plan(NamedTuple):
    """Which columns are read, and what for."""

    source: Scan | SparseRows
    keep: list[str]
    target: str | None
    designed: Designed | None = None  # the source, where rows become those of a design matrix


def features_of(model: Any) -> list[str]:
    """The names of the columns that it was fitted to; none of one that was fitted to an array."""
    return [str(name) for name in getattr(model, "feature_names_in_", ())]


def plan(
    model: Any,
    paths: list[str],
    format: Any,
    keep: list[str],
    target: str | None,
    known: str | None,
    how: Mapping[str, Any],
) -> Plan:
    """The rows to answer; known: the target's name in training, looked for where none is given; how: what
    `scan` is told of text."""
    features = features_of(model)
    if FORMATS[find(paths, format)[1]].sparse:
        return _sparse(model, paths, format, keep, target, how)
    here = set(names_in(paths, format, how)) if integrates(model) else set(features)
    there = [name for name in features if name in here]
    told = how.get("types") or {}
    how = {**how, "types": {x: kind for x, kind in told.items() if x in here or x not in features} or None}
    table = scan(paths, target, there or features or None, format=format, **how)
    assert isinstance(table, Scan)
    held, fitted = table.files[0].names, bool(features)
    table = completed(model, table, features)
    target = target or (known if known in held else None)
    if not features:  # fitted to an array, or to rows of any names: all columns that are nothing else
        p = getattr(model, "n_features_in_", None)
        features = [name for name in table.names if name not in (*keep, target)]
        if p is not None and len(features) != p:
            raise ValueError(
                f"DATA has {counted(len(features), 'column')}, but {type(model).__name__} is expecting "
                f"{p}: --keep and --target name those that are not features"
            )
    source = table.taking(features, y=False)
    design = vars(model).get("_design")
    as_is = design is None or design.passes
    source = as_learned(model, source) if fitted and as_is else source
    source.taking([*dict.fromkeys([*features, *keep])], y=False)  # refuses columns that are not there
    if as_is:
        check_columns(source, features, model, chosen=True)
    if target is not None and not _comparable(model, table, target):
        say(f"note: {target!r} has labels that the model does not know: no metrics are computed")
        target = None
    if as_is:
        return Plan(usable(model, source), keep, target)
    absent = frozenset(j for j, name in enumerate(design.names_in) if fitted and name not in held)
    designed = replace(known_source(model, design, source, y=False), absent=absent)
    assert isinstance(designed.source, Scan)
    return Plan(designed.source, keep, target, designed)


def _sparse(
    model: Any, paths: list[str], format: Any, keep: list[str], target: str | None, how: Mapping[str, Any]
) -> Plan:
    """Rows of svmlight's or VW's format: all columns, and the labels, where lines have them."""
    if keep:
        raise ValueError(f"--keep {keep[0]}: the columns of these files have no names")
    table = scan(paths, target, format=format, **how)
    assert isinstance(table, SparseScan)
    online = isinstance(model, OnlineClassifier)
    source = worded(model, table) if online else as_fitted(model, table, y=True)
    assert isinstance(source, SparseScan)
    return Plan(SparseRows(source, _has_text(model)), [], TARGET)


def _comparable(model: Any, table: Scan, target: str) -> bool:
    """Whether the labels of a file can be those of the model: both are numbers, or both text."""
    file = table.files[0]
    if not _classifies(model):
        return frames.is_number(file.types[target])
    if _has_text(model):
        return frames.is_text(file.verbatim([target]).types[target])
    return frames.is_number(file.types[target]) == (model.classes_.dtype.kind in "fiub")


def _classifies(model: Any) -> bool:
    return hasattr(model, "classes_")


def _has_text(model: Any) -> bool:
    """Whether its labels are words."""
    return _classifies(model) and model.classes_.dtype.kind in "UO"


Watch = Callable[[int, float], Any]  # so many rows more are answered, and this share of all parts


class PredictedPiece(NamedTuple):
    """Some answers, ready to be written."""

    ready: Any
    rows: int


class PredictionTables:
    """What a model says of all rows: tables of answers, and how good they are."""

    def __init__(self, model: Any, plan: Plan, only: str | None) -> None:
        self.model, self.plan, self.only = model, plan, only
        classes = getattr(model, "classes_", None)
        if classes is None and only is not None:
            raise ValueError(
                f"--only {only}: {type(model).__name__} is a regression, which predicts values only"
            )
        if classes is not None and not probable(model):
            if only == "probabilities":
                raise ValueError(f"--only {only}: {type(model).__name__} predicts labels only")
            self.only = "labels"
        flat = classes is not None or model.coef_.ndim == 1
        self.classes = None if classes is None else pa.array(classes)
        self.naming = None if classes is None else ClassCodes.of(model)
        self.evaluator: Evaluator | None = None
        if plan.target is not None and flat:
            self.evaluator = (
                ValueEvaluator(model, plan.target)
                if self.naming is None
                else LabelEvaluator(model, self.naming)
            )
        clash = [name for name in plan.keep if name in self.columns()]
        if clash:
            raise ValueError(
                f"--keep {clash[0]}: the predictions have a column of this name, too; rename it in DATA"
            )

    def columns(self) -> Sequence[str]:
        """The names of the answers."""
        if self.classes is None:
            q = len(self.model.coef_) if self.model.coef_.ndim > 1 else 1
            return ["value"] if self.model.coef_.ndim == 1 else [f"value_{j}" for j in range(q)]
        probabilities = [f"p_{label}" for label in written(self.classes)]
        return {None: ["label", *probabilities], "labels": ["label"], "probabilities": probabilities}[
            self.only
        ]

    def written(self, out: Output, watch: Watch) -> Evaluation | None:
        """Answer all rows, several parts at a time; how good the answers are, if that is known."""
        source, keep, target, _ = self.plan
        others = [
            name for name in dict.fromkeys([*keep, target]) if name is not None and name not in source.names
        ]
        verbatim = [name for name in others if name != target or _has_text(self.model)]
        batches = source.batches(others, verbatim)
        parts = [partial(self._part, out, number, part) for number, part in enumerate(batches)]
        total = None if self.evaluator is None else self.evaluator.start()
        done = 0
        # Closed at once if this is interrupted: the threads must not write to a folder that is removed.
        with closing(in_order(parts, cores())) as items:
            for item in items:
                if isinstance(item, PredictedPiece):
                    out.write(item.ready)
                    watch(item.rows, done / len(parts))
                    continue
                done += 1
                if total is not None:
                    total.merge(item)
        return None if self.evaluator is None else self.evaluator.found(total)

    def _part(self, out: Output, number: int, batches: Batches) -> Iterator[Any]:
        """The answers to a part, and in the end their sums."""
        sums = None if self.evaluator is None else self.evaluator.start()
        with out.part(number) as ready:
            for first, batch in batches():
                if batch.num_rows:
                    try:
                        table = self._table(batch, sums)
                    except BadCell as bad:
                        raise bad.named(bad.name, self.plan.source.place(first + bad.row)) from None
                    yield PredictedPiece(ready(table), batch.num_rows)
        yield sums

    def _table(self, batch: Any, sums: Any) -> Any:
        source, keep, target, _ = self.plan
        X = self._opened(batch.select(list(source.names)))
        found, answers = self._values(X) if self.naming is None else self._labels(X)
        if self.evaluator is not None:
            self.evaluator.add(sums, answers, batch.column(target))
        kept = [frames.plain(batch.column(name)) for name in keep]
        return pa.table([*kept, *found], names=[*keep, *self.columns()])

    def _values(self, X: Any) -> tuple[list[Any], Any]:
        values = np.asarray(self.model.predict(X))
        return list(np.atleast_2d(values.T)), values

    def _labels(self, X: Any) -> tuple[list[Any], Any]:
        assert self.naming is not None
        assert self.classes is not None
        speak = decided if self.evaluator is None and self.only == "labels" else class_predictions
        answers = speak(self.model, self.naming, X, X.take)
        found = [] if self.only == "probabilities" else [self.classes.take(pa.array(answers.best))]
        if self.only != "labels":
            assert answers.P is not None
            found += [np.ascontiguousarray(p) for p in answers.P.T]
        return found, answers

    def _opened(self, X: Any) -> Any:
        """Rows as the model takes them."""
        if isinstance(X, CSR | KeyedRows) or not takes_blocks(self.model):  # an online one knows names
            return X
        assert isinstance(self.plan.source, Scan)
        words = self.plan.source.roles.categories
        found = Columns(
            tuple(
                frames.arrow_factor(column) if name in words else _numbers(column)
                for name, column in zip(X.schema.names, X.columns, strict=True)
            )
        )
        return found if self.plan.designed is None else self.plan.designed.encoded(found)


def _numbers(column: Any) -> NDArray[Any]:
    """Numbers; of dates, days since 1970."""
    return frames.arrow_numbers(days(column) if frames.is_date(column.type) else column)
