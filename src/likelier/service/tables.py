"""Classifiers that were fitted on tables; they are served without learning."""

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from likelier.saving.models import load
from likelier.service.models import RefusedRow, Served


class TableModel(Served):
    """A classifier that does not learn row by row."""

    def __init__(self, classifier: Any, content: bytes, sha: str) -> None:
        self.name = type(classifier).__name__
        if not hasattr(classifier, "predict_proba"):
            raise ValueError(
                f"a {self.name} has no class probabilities: only classifiers that have can be served"
            )
        names = getattr(classifier, "feature_names_in_", None)
        self._named = names is not None
        p = range(classifier.n_features_in_)
        super().__init__([str(name) for name in (p if names is None else names)], sha)
        self.classifier, self._content = classifier, content

    @classmethod
    def of(cls, content: bytes, sha: str) -> Self:
        """The model in a file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.lk"
            path.write_bytes(content)
            try:
                classifier = load(path)
            except ValueError as problem:
                raise ValueError(str(problem).replace(f"{path} is", "it is")) from None
        return cls(classifier, content, sha)

    @property
    def labels(self) -> list[Any]:
        return list(self.classifier.classes_.tolist())

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.classifier.get_params(deep=False))

    def content(self) -> bytes:
        return self._content

    def probabilities(self, rows: Sequence[dict[str, Any]]) -> tuple[list[Any], list[list[float]]]:
        assert self.columns is not None
        cells = {name: [row.get(name) for row in rows] for name in self.columns}
        try:
            if self._named:
                X: Any = pa.table({name: pa.array(_cells(column)) for name, column in cells.items()})
            else:
                X = np.array([_floats(column) for column in cells.values()], dtype=np.float64).T
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                P = self.classifier.predict_proba(X)
        except (ValueError, TypeError, NotImplementedError, pa.ArrowException) as problem:
            raise RefusedRow(f"the model cannot take this row: {problem}") from None
        if not np.isfinite(P).all():
            raise RefusedRow("the model has no finite probabilities for this row")
        return self.labels, P.tolist()


def _cells(column: list[Any]) -> list[Any]:
    """A column with integers converted to floats if it has both."""
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
