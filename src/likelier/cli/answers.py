"""What a model answers to the rows of files."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from likelier.cli.judging import Judge, LabelJudge, ValueJudge
from likelier.cli.words import check_columns, counted, say
from likelier.data import BadCell, arrow
from likelier.data.files import Scan, scan
from likelier.estimators.sources import usable


class Plan(NamedTuple):
    """Which columns are read, and what for."""

    source: Scan
    keep: list[str]
    truth: str | None


def plan(
    model: Any, paths: list[str], format: Any, keep: list[str], target: str | None, known: str | None
) -> Plan:
    """The rows to answer; known: the target's name in training, looked for where none is given."""
    features = [str(name) for name in getattr(model, "feature_names_in_", ())]
    table = scan(paths, target, features or None, format=format)
    assert isinstance(table, Scan)
    held = table.files[0].names
    truth = target or (known if known in held else None)
    if not features:  # fitted to an array, or to rows of any names: all columns that are nothing else
        p = getattr(model, "n_features_in_", None)
        features = [name for name in table.names if name not in (*keep, truth)]
        if p is not None and len(features) != p:
            raise ValueError(
                f"{type(model).__name__} takes {counted(p, 'column')}, and here are {len(features)}"
            )
    source = table.taking(features, y=False)
    source.taking([*dict.fromkeys([*features, *keep])], y=False)  # refuses columns that are not there
    check_columns(source, features, model)
    if truth is not None and not _comparable(model, table, truth):
        say(f"note: {truth!r} has other labels than the model: how good the answers are is not said")
        truth = None
    return Plan(usable(model, source), keep, truth)


def _comparable(model: Any, table: Scan, truth: str) -> bool:
    """Whether the labels of a file can be those of the model: both are numbers, or both text."""
    file = table.files[0]
    if not _classifies(model):
        return arrow.is_number(file.types[truth])
    if _has_text(model):
        return arrow.is_text(file.verbatim([truth]).types[truth])
    return arrow.is_number(file.types[truth]) == (model.classes_.dtype.kind in "fiub")


def _classifies(model: Any) -> bool:
    return hasattr(model, "classes_")


def _has_text(model: Any) -> bool:
    """Whether its labels are words."""
    return _classifies(model) and model.classes_.dtype.kind in "UO"


class Answers:
    """Tables of answers, one for each batch of rows."""

    def __init__(self, model: Any, plan: Plan, only: str | None) -> None:
        self.model, self.plan, self.only = model, plan, only
        classes = getattr(model, "classes_", None)
        if classes is None and only is not None:
            raise ValueError(f"--only {only}: a {type(model).__name__} has values, no {only}")
        if classes is not None and not hasattr(model, "predict_proba"):
            if only == "probabilities":
                raise ValueError(f"--only {only}: a {type(model).__name__} has labels, and no {only}")
            self.only = "labels"
        flat = classes is not None or model.coef_.ndim == 1
        self.classes = None if classes is None else pa.array(classes)
        self.judge: Judge | None = None
        if plan.truth is not None and flat:
            self.judge = ValueJudge() if classes is None else LabelJudge()
        clash = [name for name in plan.keep if name in self.columns()]
        if clash:
            raise ValueError(f"--keep {clash[0]}: the answers have a column of this name")

    def columns(self) -> Sequence[str]:
        """The names of the answers."""
        if self.classes is None:
            q = len(self.model.coef_) if self.model.coef_.ndim > 1 else 1
            return ["value"] if self.model.coef_.ndim == 1 else [f"value_{j}" for j in range(q)]
        probabilities = [f"p_{label}" for label in self.classes.to_pylist()]
        return {None: ["label", *probabilities], "labels": ["label"], "probabilities": probabilities}[
            self.only
        ]

    def __iter__(self) -> Iterator[Any]:
        source, keep, truth = self.plan
        others = [
            name for name in dict.fromkeys([*keep, truth]) if name is not None and name not in source.names
        ]
        verbatim = [name for name in others if name != truth or _has_text(self.model)]
        for first, batch in source.batches(others, verbatim):
            if batch.num_rows:
                try:
                    yield self._table(batch)
                except BadCell as bad:
                    raise bad.named(bad.name, source.place(first + bad.row)) from None

    def _table(self, batch: Any) -> Any:
        source, keep, truth = self.plan
        X = batch.select(list(source.names))
        if hasattr(self.model, "n_features_in_") and not hasattr(self.model, "feature_names_in_"):
            X = np.column_stack([arrow.numbers(column) for column in X.columns])
        found: list[Any] = []
        answers = None
        if self.only != "probabilities" or self.judge is not None:
            answers = self.model.predict(X)
        if self.classes is None:
            found += list(np.atleast_2d(np.asarray(answers).T))
        elif self.only != "probabilities":
            found.append(pa.array(answers, self.classes.type))
        if self.classes is not None and self.only != "labels":
            found += list(np.asarray(self.model.predict_proba(X)).T)
        if self.judge is not None and answers is not None:
            self.judge.add(self.model, X, answers, batch.column(truth))
        kept = [_plain(batch.column(name)) for name in keep]
        return pa.table([*kept, *found], names=[*keep, *self.columns()])


def _plain(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
