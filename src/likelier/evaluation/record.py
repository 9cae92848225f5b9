"""What a cross-validation found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.shown import Part, Shown, Table

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CrossValidation(Shown):
    """Figures of V points of a grid on F folds; prints as a table, the best point marked.

    Means over folds are unweighted and deviations are those of the folds (ddof 0), as in scikit-learn's
    GridSearchCV.
    """

    params: tuple[dict[str, Any], ...]  # V
    rows: NDArray[np.int64]  # (F,) tested, of those that have a weight
    scores: Mapping[str, Floats]  # by metric, (V, F)
    metric: str
    best_index_: int
    best_estimator_: Any = field(repr=False)  # fitted to all rows
    predictions: Floats | None = field(default=None, repr=False)  # by the best, each row without its fold

    @property
    def best_params_(self) -> dict[str, Any]:
        return self.params[self.best_index_]

    @property
    def best_score_(self) -> float:
        return float(self.mean()[self.best_index_])

    def mean(self, metric: str | None = None) -> Floats:
        """Over folds, (V,)."""
        return np.asarray(self.scores[metric or self.metric].mean(axis=1))

    def std(self, metric: str | None = None) -> Floats:
        """Over folds, (V,)."""
        with np.errstate(invalid="ignore"):  # infinite losses have no deviation
            return np.asarray(self.scores[metric or self.metric].std(axis=1))

    def to_frame(self) -> Any:
        """A row per point: parameters, mean and deviation of each metric, and its value on each fold."""
        import pandas as pd

        names = list(dict.fromkeys(name for point in self.params for name in point))
        columns: dict[str, Any] = {
            f"param_{name}": [point.get(name) for point in self.params] for name in names
        }
        for metric, values in self.scores.items():
            columns |= {f"mean_{metric}": self.mean(metric), f"std_{metric}": self.std(metric)}
            columns |= {f"split{fold}_{metric}": values[:, fold] for fold in range(values.shape[1])}
        return pd.DataFrame(columns)

    def _parts(self) -> list[Part]:
        names = list(dict.fromkeys(name for point in self.params for name in point))
        table = [["", *names, *self.scores]]
        for v, point in enumerate(self.params):
            mark = "*" if v == self.best_index_ else ""
            shown = [_shown(point[name]) if name in point else "" for name in names]
            figures = [f"{self.mean(m)[v]:.6g} ± {self.std(m)[v]:.2g}" for m in self.scores]
            table.append([mark, *shown, *figures])
        head = f"{self.rows.sum()} rows in {len(self.rows)} folds; * best {self.metric}"
        return [head, "", Table(table, left=len(table[0]))]


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
