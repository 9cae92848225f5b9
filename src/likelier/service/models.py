"""Models as a service asks them: rows are JSON, and every row is checked against the model's columns."""

import hashlib
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from likelier.estimators.online.classifier import OnlineClassifier
from likelier.saving.models import content_of, load
from likelier.saving.online import Kept
from likelier.saving.online import content_of as online_content
from likelier.service.events import features_of
from likelier.streams.model import Online, Settings
from likelier.streams.reader import NUMBER, WORD


class RefusedRow(ValueError):
    """A row that the model cannot take."""


class Served:
    """A classifier, with the methods that `Waiting` asks for: rows are bytes of JSON."""

    def __init__(self, classifier: Any, sha: str | None = None) -> None:
        if not hasattr(classifier, "predict_proba"):
            raise ValueError(
                f"a {type(classifier).__name__} has no class probabilities: only classifiers can be served"
            )
        self.classifier, self.sha = classifier, sha
        self.learns = hasattr(classifier, "learn_one")
        names = getattr(classifier, "feature_names_in_", None)
        self.columns: list[str] | None = None if names is None else [str(name) for name in names]
        if self.columns is None and not self.learns:
            self.columns = [str(j) for j in range(classifier.n_features_in_)]
        self._known = None if self.columns is None else frozenset(self.columns)
        model = vars(classifier).get("_model") if self.learns else None
        kinds = model.reading.get("columns", {}) if model is not None else {}
        self._kinds = {name: kind for name, kind in kinds.items() if kind in (NUMBER, WORD)}

    # ---- rows ----------------------------------------------------------------------------------------
    def row(self, raw: bytes) -> dict[str, Any]:
        """The features of a row, from its JSON, checked."""
        return self.checked(features_of(raw))

    def checked(self, x: dict[str, Any]) -> dict[str, Any]:
        """A row as the model takes it; raises a `RefusedRow` for one that it cannot take."""
        if self._known is not None and not self._known.issuperset(x):
            self._refuse(next(name for name in x if name not in self._known))
        return self._typed(x) if self._kinds else x

    def _refuse(self, name: str) -> None:
        assert self.columns is not None
        near = get_close_matches(name, self.columns, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": it has {', '.join(self.columns[:20])}"
        raise RefusedRow(f"the model has no column {name!r:.200}{hint}")

    def _typed(self, x: dict[str, Any]) -> dict[str, Any]:
        """Cells as the model's text columns were read: numbers are numbers, and all else words."""
        for name, value in x.items():
            kind = self._kinds.get(name)
            if kind == WORD and isinstance(value, int | float) and not isinstance(value, bool):
                x[name] = str(value)
            elif kind == NUMBER and isinstance(value, str):
                raise RefusedRow(f"column {name!r} is a column of numbers; got the string {value!r:.80}")
        return x

    # ---- one row, as `Waiting` asks ------------------------------------------------------------------
    def predict_proba_one(self, raw: Any) -> dict[Any, float]:
        return self.answers([self.row(raw)])[0]

    def learn_one(self, raw: Any, y: Any, sample_weight: float = 1.0) -> None:
        self.classifier.learn_one(self.row(raw), y, sample_weight)

    # ---- many ----------------------------------------------------------------------------------------
    @property
    def labels(self) -> list[Any]:
        """The classes that are known."""
        if self.learns:
            return list(vars(self.classifier).get("_labels", ()))
        return list(self.classifier.classes_.tolist())

    def answer(self, x: dict[str, Any]) -> dict[Any, float]:
        """The probabilities of one row."""
        if self.learns:
            return self.classifier.predict_proba_one(x) if self.labels else {}
        return self.answers([x])[0]

    def answers(self, rows: Sequence[dict[str, Any]]) -> list[dict[Any, float]]:
        """The probabilities of each row by label; empty before anything was learned."""
        labels, P = self.probabilities(rows)
        return [dict(zip(labels, p, strict=True)) for p in P]

    def probabilities(self, rows: Sequence[dict[str, Any]]) -> tuple[list[Any], list[list[float]]]:
        """Labels, and for each row the probability of each of them."""
        labels = self.labels
        if not self.learns:
            return labels, self._table_probabilities(rows)
        if len(labels) < 2:
            return labels, [[1.0] * len(labels)] * len(rows)
        model: Online = self.classifier._model
        P = model.learner.predict(model.intake.dicts(list(rows), None, None))
        return labels, P[:, : len(labels)].tolist()

    def _table_probabilities(self, rows: Sequence[dict[str, Any]]) -> list[list[float]]:
        import pyarrow as pa

        assert self.columns is not None
        cells = {name: [row.get(name) for row in rows] for name in self.columns}
        try:
            if hasattr(self.classifier, "feature_names_in_"):
                X: Any = pa.table({name: pa.array(_numbers(column)) for name, column in cells.items()})
            else:
                X = np.array([_floats(column) for column in cells.values()], dtype=np.float64).T
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                P = self.classifier.predict_proba(X)
        except (ValueError, TypeError, NotImplementedError, pa.ArrowException) as problem:
            raise RefusedRow(f"the model cannot take this row: {problem}") from None
        if not np.isfinite(P).all():
            raise RefusedRow("the model has no finite probabilities for this row")
        found: list[list[float]] = P.tolist()
        return found


def _numbers(column: list[Any]) -> list[Any]:
    """Whole numbers among fractions are numbers as these are."""
    if any(isinstance(value, list | dict) for value in column):
        raise RefusedRow("the model takes numbers, strings and booleans; got a list or an object")
    numbers = all(value is None or isinstance(value, int | float) for value in column)
    mixed = numbers and not any(isinstance(value, bool) for value in column)
    return [None if value is None else float(value) for value in column] if mixed else column


def _floats(column: list[Any]) -> list[float]:
    for value in column:
        if not (value is None or isinstance(value, int | float)) or isinstance(value, bool):
            raise RefusedRow(f"the model takes numbers; got {value!r:.80}")
    return [np.nan if value is None else float(value) for value in column]


# ---- models as bytes ---------------------------------------------------------------------------------
def new_content(settings: Mapping[str, Any]) -> bytes:
    """The file of an OnlineClassifier that has learned nothing."""
    return online_content(Kept(Online(Settings(**settings))))


def file_content(served: Served) -> bytes:
    """The file of a model that is served."""
    if served.learns and "_model" not in vars(served.classifier):
        return new_content(vars(served.classifier._settings()))
    return content_of(served.classifier, statistics=True)


def sha_of(content: bytes) -> str:
    """The name of a model file."""
    return hashlib.sha256(content).hexdigest()


def served_of(content: bytes) -> Served:
    """The model in a file's bytes: parsed and checked, never executed."""
    with tempfile.NamedTemporaryFile(suffix=".lk") as file:
        file.write(content)
        file.flush()
        try:
            classifier = load(file.name)
        except ValueError as problem:
            raise ValueError(str(problem).replace(file.name, "the file")) from None
    return Served(classifier, sha_of(content))


def blank(served: Served) -> bool:
    """Whether it has learned nothing yet."""
    return served.learns and not served.labels


def load_file(path: str) -> bytes:
    """The bytes of a model file."""
    return Path(path).read_bytes()


def unfit(new: Served, old: Served) -> str | None:
    """Why a model cannot take another's place; None: it can."""
    if old.columns is not None and new.columns is not None and set(old.columns) != set(new.columns):
        missing = sorted(set(old.columns) - set(new.columns)) + sorted(set(new.columns) - set(old.columns))
        return f"the model has other columns than the one that is served: {', '.join(missing[:10])}"
    labels, others = set(old.labels), set(new.labels)
    if labels and others and not labels & others:
        return (
            f"the model has the classes {sorted(map(str, others))[:10]}, and the one that is served "
            f"{sorted(map(str, labels))[:10]}: they have none in common"
        )
    return None


def is_online(served: Served) -> bool:
    """Whether it is likelier's own online model, whose weights can be shown."""
    return isinstance(served.classifier, OnlineClassifier)
